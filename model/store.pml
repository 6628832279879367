/* SPDX-License-Identifier: Apache-2.0
 * The commit protocol on an object store: writers that race, die and come back, and requests that act at any time after they
 * were sent, also when their sender is dead or has sent them again. Labels are the steps of src/commit/object_commit.c.
 *
 * One partition, two writers, each with a second life as a new run after it dies, the server, and at the end the next command,
 * which settles and looks at everything. One step is one request; a death may happen before each. The token of an object is a
 * function of its bytes, so equal bytes have equal tokens.
 *
 * Contents are numbers: 1 is what was live before, a run's own content is OF(run).
 *
 * Leave a step out to see what it is for:
 *   NO_SETTLE      2: what is live is replaced whether it has a record or not
 *   NO_ARCHIVE     3 is left out
 *   ONE_NAME       3: a copy that was not answered is sent again to the same name; the store does not look at its condition
 *   NO_CONDITION   5: the PUT acts on whatever is live
 *   NO_EXCL_RECORD 6: a record replaces another one under its number
 *   NO_INFER       2: a plan on another base is taken for one on this
 *   NO_FALLBACK    2: only the plans of runs that have archived the newest version are read
 *   EARLY_DELETE   7: one's own copy goes though the PUT may act still
 *   PLAN_ALWAYS    4: the plan is put without a condition
 *   KNOWN OLD_LOOK 2: and where that tells nothing, what was live before the records were listed is taken for what is live after
 * These must hold all the same:
 *   LATE_REQUESTS  3, 4: the first writer's copy and plan get no answer, are sent again, and act at any time
 *   KNOWN          2: the newest record is any that has the bytes that are live (known.json of long ago)
 *   AGAIN          the second writer then brings the first content back */
#ifndef DEATHS
#define DEATHS 1
#endif
#ifdef LATE_REQUESTS
#define LATE(id) (id == 0)
#else
#define LATE(id) false
#endif
#define RUNS 4
#define VERSIONS 10
#if defined(AGAIN)
#define OF(id) (id == 3 && back -> 1 : id + 2)
#else
#define OF(id) (id + 2)
#endif

byte live = 1, record[VERSIONS];
byte copied[RUNS * 4], copy_of[RUNS];              /* archived copies, four names for each run, and the number they say */
byte object[RUNS], plan[RUNS], plan_base[RUNS];    /* runs/<run>.json: 0 none, 1 the plan, 2 the report */
byte want[RUNS], bytes[RUNS], answer[RUNS];        /* the PUT: its condition, its bytes (0: none on its way), 1 done 2 refused */
byte copy_late[RUNS];                              /* sent, and to act at any time: to which name, + 1 */
bool plan_late[RUNS];                              /* the same of the plan */
byte was_live[VERSIONS], versions = 1;             /* ghost */
bool succeeded[RUNS], lost_report;
byte base[RUNS], brought[RUNS], deaths, ended;

#define MAY_DIE if :: true :: deaths < DEATHS -> deaths++; goto died fi

inline newest_record(out) { /* inside a d_step or atomic */
	out = VERSIONS - 1;
	do :: out > 0 && record[out] == 0 -> out-- :: else -> break od
}
inline is_kept(content, out) {
	out = live == content;
	v = 0;
	do :: v == RUNS * 4 -> break :: else -> out = out || copied[v] == content; v++ od;
	v = 0
}
inline is_recorded(content, from, out) {
	out = false;
	v = from;
	do :: v >= VERSIONS -> break :: else -> out = out || record[v] == content; v++ od;
	v = 0
}

inline serve(i) {
	if
#ifdef NO_CONDITION
	:: true ->
#else
	:: live == want[i] ->
#endif
		d_step {
			v = 0; good = false; /* what is replaced is archived and recorded */
			do :: v == RUNS * 4 -> break :: else -> good = good || copied[v] == live; v++ od;
			assert(good);
			is_recorded(live, 1, good);
			assert(good);
			live = bytes[i];
			versions++;
			was_live[versions] = live;
			answer[i] = 1
		}
	:: else -> answer[i] = 2
	fi;
	bytes[i] = 0
}
inline plan_acts(i) {
#ifdef PLAN_ALWAYS
	lost_report = lost_report || object[i] == 2;
	object[i] = 1;
#else
	if :: object[i] == 0 -> object[i] = 1 :: else fi;
#endif
	plan_late[i] = false
}

#define PUT_OF(i) :: atomic { bytes[i] != 0 -> serve(i) }
#define COPY_OF(i) :: atomic { copy_late[i] != 0 -> copied[copy_late[i] - 1] = live; copy_late[i] = 0 }
#define PLAN_OF(i) :: atomic { plan_late[i] -> plan_acts(i) }
active proctype Server() {
	byte v;
	bool good;
end:	do
	PUT_OF(0) PUT_OF(1) PUT_OF(2) PUT_OF(3)
	COPY_OF(0) COPY_OF(1) COPY_OF(2) COPY_OF(3)
	PLAN_OF(0) PLAN_OF(1) PLAN_OF(2) PLAN_OF(3)
	od
}

inline find_plan(content, on, number, out) { /* on: content of the base, 0: any; number: of the copies that are listed, 0: all */
	out = 0;
	do
	:: out == RUNS -> break
	:: else ->
		if
		:: object[out] == 1 && plan[out] == content && (on == 0 || plan_base[out] == on) && (number == 0 || copy_of[out] == number) -> break
		:: else -> out++
		fi
	od
}
/* Create record k for `content`, or for what was live between, if nobody has. */
inline create_record(k, content) {
	d_step {
		find_plan(content, record[k - 1], k - 1, x);
#ifndef NO_FALLBACK
		if :: x == RUNS -> find_plan(content, record[k - 1], 0, x) :: else fi;
		if :: x == RUNS -> find_plan(content, 0, 0, x) :: else fi;
#endif
		if
#ifdef NO_EXCL_RECORD
		:: true ->
#else
		:: record[k] == 0 ->
#endif
			record[k] = content;
#ifndef NO_INFER
			if :: x < RUNS && plan_base[x] != record[k - 1] -> record[k] = plan_base[x] :: else fi
#endif
#ifndef NO_EXCL_RECORD
		:: else
#endif
		fi;
		x = 0
	}
}

proctype Writer(byte me) {
	byte id = me, n, seen, slot, turn, content, x, v;
	bool sent, good, back;
birth:	skip;
	content = OF(id);
	sent = false;
	turn = 0;
	MAY_DIE;
STEP_2:	skip;
#ifdef KNOWN
	if
	:: !sent ->
		seen = live;
		atomic {
			x = 1;
			do
			:: x < VERSIONS && record[x] == seen -> n = x; goto settled
			:: x < VERSIONS -> x++
			:: x >= VERSIONS -> break
			od;
			x = 0
		};
		MAY_DIE
	:: true
	fi;
#endif
	d_step { newest_record(n); x = 0 };
#ifdef OLD_LOOK
	if :: sent -> seen = live :: else fi;
#else
	seen = live;
#endif
#ifndef NO_SETTLE
	if :: seen != record[n] -> MAY_DIE; create_record(n + 1, seen); goto STEP_2 :: else fi;
#endif
settled:
	MAY_DIE;
	if
	:: sent -> goto look
	:: !sent && content == seen -> succeeded[id] = true; base[id] = n - 1; brought[id] = content; goto after
	:: else
	fi;
#ifndef NO_ARCHIVE
STEP_3:	skip;
	if
	:: turn == 2 -> goto after /* the code tries once more; that adds nothing here */
	:: turn < 2 -> atomic { slot = id * 4 + turn * 2; copied[slot] = live }
	:: turn < 2 && LATE(id) && copy_late[id] == 0 -> atomic { slot = id * 4 + turn * 2; copy_late[id] = slot + 1 };
		MAY_DIE;
#ifndef ONE_NAME
		slot++;
#endif
		copied[slot] = live
	fi;
#ifndef ONE_NAME
	turn++;
#endif
	copy_of[id] = n;
	MAY_DIE;
	if :: copied[slot] != seen -> goto STEP_2 :: else fi;
#endif
	MAY_DIE;
STEP_4:	skip;
	d_step { plan[id] = content; plan_base[id] = seen; base[id] = n; brought[id] = content };
	if
	:: object[id] = 1
	:: LATE(id) -> plan_late[id] = true; MAY_DIE; object[id] = 1
	fi;
	MAY_DIE;
STEP_5:	skip;
	d_step { want[id] = seen; answer[id] = 0; bytes[id] = content };
	MAY_DIE;
	if :: answer[id] != 0 :: true fi; /* or no answer */
	sent = true;
	MAY_DIE;
	goto STEP_2;
look:	skip; /* a record after the base with these bytes */
	d_step { is_recorded(content, base[id] + 1, good); succeeded[id] = good };
	MAY_DIE;
STEP_7:
	if
	:: succeeded[id] -> object[id] = 2
#ifdef EARLY_DELETE
	:: !succeeded[id] -> d_step { copied[slot] = 0; object[id] = 0 }
#else
	:: !succeeded[id] && answer[id] == 2 -> d_step { copied[slot] = 0; object[id] = 0 }
	:: else /* unclear: all stays */
#endif
	fi;
after:
#ifdef AGAIN
	if :: id == 1 -> back = true; id = 3; goto birth :: else fi;
#endif
	ended++;
	goto gone;
died:
	if :: id < 2 -> id = id + 2; goto birth :: else -> ended++ fi;
gone:	skip
}

#define QUIET(i) (bytes[i] == 0 && copy_late[i] == 0 && !plan_late[i])
active proctype Next() {
	byte n, x, v, u, y;
	bool good, back;
	atomic {
		ended == 2 && QUIET(0) && QUIET(1) && QUIET(2) && QUIET(3) ->
		newest_record(n);
		do
		:: record[n] == live -> break
		:: else -> create_record(n + 1, live); newest_record(n)
		od;
		assert(!lost_report);
		u = 1;
		do /* every version is kept, recorded, and in its order */
		:: u > versions -> break
		:: else ->
			is_kept(was_live[u], good);
			assert(good);
			assert(record[u] == was_live[u]);
			u++
		od;
		assert(n == versions);
		u = 0;
		do /* no success without the version */
		:: u == RUNS -> break
		:: else ->
			if
			:: succeeded[u] -> is_recorded(brought[u], base[u] + 1, good); assert(good)
			:: else
			fi;
			u++
		od
	}
}
init {
	atomic {
		record[1] = 1;
		was_live[1] = 1;
		run Writer(0);
		run Writer(1)
	}
}
