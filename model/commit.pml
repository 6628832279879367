/* SPDX-License-Identifier: Apache-2.0
 * The commit protocol on a file system: writers that race, die and come back. Labels are the step names of
 * src/commit/commit.c. Power cuts are in power.pml.
 *
 * Two writers, each with a second life as a new run after it dies, a reader, and at the end an auditor that acts as the next
 * command: it finishes what is open and looks at everything. There is no lock in the model: no safety may rest on it. One step
 * is one system call, so everything between two calls can be interleaved, and a death may happen before every call.
 *
 * Contents are numbers: 1 is what was live before, a run's own content is OF(run). All partitions start with version 1.
 *
 * Leave a step out to see what it is for:
 *   NO_EXCLUSIVE   6: the plan replaces another one under its number
 *   NO_TOKEN       F2: the content is put over live by a finisher that found it staged, whether it still is or not
 *   NO_FINISH      3: an open commit is left to its writer
 *   NO_ARCHIVE     F1 is left out
 *   NO_EXCL_RECORD F3: a record replaces another one under its number
 *   EARLY_DROP     F4 before F3
 *   STALE          4: bases are read before the newest commit is looked for (a stale listing). Must hold all the same, by F1
 *   STALE NO_GUARD and F1 does not look at what it finds
 *   WIPE           a sweeper takes one staged file of a run that died. Must hold: finished from the archive, or void */
#ifndef PARTITIONS
#define PARTITIONS 2
#endif
#ifndef DEATHS
#define DEATHS 2
#endif
#define RUNS 5      /* two writers, their second lives, the auditor */
#define AUDITOR 4
#define VERSIONS 7
#define COMMITS 6
#define OF(run) ((run) + 2)

typedef Partition {
	byte live = 1;
	byte number = 1;           /* ghost: the version that is live */
	byte staged[RUNS];
	byte archive[VERSIONS];
	byte record[VERSIONS];     /* 0 none, 1 version, 2 void */
	byte record_run[VERSIONS]; /* run + 1 */
};
typedef Commit {
	byte owner; /* run + 1 */
	byte seq[PARTITIONS], base[PARTITIONS]; /* base: content that is replaced */
};
Partition part[PARTITIONS];
Commit commits[COMMITS];
bool staging[RUNS], succeeded[RUNS];
byte deaths, ended;

#define MAY_DIE if :: true :: (me != AUDITOR && deaths < DEATHS) -> deaths++; goto died fi

inline newest_commit(out) {
	d_step { out = COMMITS - 1; do :: out > 0 && commits[out].owner == 0 -> out-- :: else -> break od }
}
inline newest_record(p, out) { /* inside a d_step */
	out = VERSIONS - 1;
	do :: out > 0 && part[p].record[out] == 0 -> out-- :: else -> break od
}
inline is_archived(p, content, out) {
	d_step {
		out = false; v = 1;
		do
		:: v == VERSIONS -> break
		:: else -> out = out || part[p].archive[v] == content; v++
		od;
		v = 0
	}
}

proctype Writer(byte me) {
	byte p, k, v, n, newest, number, owner, seen, base[PARTITIONS], content[PARTITIONS];
	bool own, kept, recorded;
#ifdef NO_TOKEN
	bool found;
#endif
birth:	skip;
	d_step {
		p = 0;
		do :: p == PARTITIONS || me == AUDITOR -> break :: else -> part[p].staged[me] = OF(me); p++ od;
		p = 0;
		staging[me] = (me != AUDITOR)
	}
	MAY_DIE;

#ifdef STALE
	d_step { p = 0; do :: p == PARTITIONS -> break :: else -> newest_record(p, n); base[p] = n; content[p] = part[p].live; p++ od; p = 0; n = 0 }
	MAY_DIE;
#endif
STEP_3:	skip;
	newest_commit(newest);
	own = false;
#ifndef NO_FINISH
	if
	:: newest > 0 && staging[commits[newest].owner - 1] -> number = newest; goto STEP_F
	:: else
	fi;
#endif
STEP_4:
	if :: me == AUDITOR -> goto audit :: else fi;
#ifndef STALE
	d_step { p = 0; do :: p == PARTITIONS -> break :: else -> newest_record(p, n); base[p] = n; content[p] = part[p].live; p++ od; p = 0; n = 0 }
#endif
	MAY_DIE;
STEP_6: /* link(plan, commits/newest + 1) */
	atomic {
		if
#ifndef NO_EXCLUSIVE
		:: commits[newest + 1].owner != 0 -> goto conflict /* the code tries three times; that adds nothing here */
#endif
		:: else ->
			number = newest + 1;
			commits[number].owner = me + 1;
			p = 0;
			do
			:: p == PARTITIONS -> break
			:: else ->
				commits[number].seq[p] = base[p] + 1;
				commits[number].base[p] = content[p];
				base[p] = 0;
				content[p] = 0;
				p++
			od;
			p = 0;
			newest = 0
		fi
	}
	own = true;
	MAY_DIE;

STEP_F:
	owner = commits[number].owner - 1;
	p = 0;
	do
	:: p == PARTITIONS -> break
	:: else ->
		k = commits[number].seq[p];
#ifndef NO_GUARD
STEP_F1a: /* is record k another run's? */
		if
		:: part[p].record[k] != 0 && part[p].record_run[k] != owner + 1 -> part[p].staged[owner] = 0
		:: else
		fi;
		MAY_DIE;
#endif
#ifndef NO_ARCHIVE
STEP_F1: /* link(staged, archive k) */
		atomic {
			if
			:: part[p].staged[owner] != 0 && part[p].archive[k] == 0 -> part[p].archive[k] = part[p].staged[owner]
			:: else
			fi
		}
		MAY_DIE;
#ifndef NO_GUARD
		if
		:: part[p].staged[owner] != 0 && part[p].archive[k] != part[p].staged[owner] -> MAY_DIE; part[p].staged[owner] = 0
		:: else
		fi;
#endif
		/* Staged gone, archived, live still the base, not recorded: staged again, if its directory is there. */
		if
		:: part[p].staged[owner] == 0 && part[p].archive[k] == OF(owner) && part[p].live == commits[number].base[p] ->
			MAY_DIE;
			if
			:: part[p].record[k] == 0 ->
				MAY_DIE;
				atomic { if :: staging[owner] && part[p].staged[owner] == 0 -> part[p].staged[owner] = OF(owner) :: else fi }
			:: else
			fi
		:: else
		fi;
#endif
		MAY_DIE;
STEP_F2: /* rename(staged, live): the staged name is there once */
#ifdef NO_TOKEN
		found = part[p].staged[owner] != 0;
		MAY_DIE;
#endif
		atomic {
			if
#ifdef NO_TOKEN
			:: found ->
#else
			:: part[p].staged[owner] != 0 ->
#endif
				is_archived(p, part[p].live, kept);
				assert(kept);                        /* what is replaced can be had again */
				assert(part[p].number <= k);         /* never an older version over a newer one */
				assert(part[p].record[k] != 2);      /* nothing that was called void becomes live */
				part[p].live = OF(owner);
				part[p].number = k;
				is_archived(p, part[p].live, kept);
				assert(kept);                        /* archived before it is live */
				part[p].staged[owner] = 0
			:: else
			fi
		}
		MAY_DIE;
		p++
	od;
#ifdef EARLY_DROP
	staging[owner] = false;
	MAY_DIE;
#endif
	p = 0;
	do
	:: p == PARTITIONS -> break
	:: else ->
		k = commits[number].seq[p];
STEP_F3: /* look at live, then link(record, ledger k), or a void one if it can't be made live any more */
		seen = part[p].live;
		MAY_DIE;
		if
		:: seen == commits[number].base[p] && part[p].archive[k] == OF(owner) && part[p].record[k] == 0 && staging[owner] ->
			goto STEP_F
		:: else
		fi;
		MAY_DIE;
		atomic {
			if
#ifndef NO_EXCL_RECORD
			:: part[p].record[k] != 0
#endif
			:: else ->
				part[p].record[k] = (seen == OF(owner) -> 1 : 2);
				part[p].record_run[k] = owner + 1
			fi;
			seen = 0
		}
		MAY_DIE;
		p++
	od;
	p = 0;
STEP_F4: /* remove staging/<run>: the partition directories go first, so nothing can be staged again after */
	d_step {
		do :: p == PARTITIONS -> break :: else -> part[p].staged[owner] = 0; p++ od;
		p = 0;
		staging[owner] = false;
		k = 0;
		kept = false
	}
	if :: !own -> goto STEP_3 :: else fi;
STEP_9:
	d_step {
		recorded = true;
		do
		:: p == PARTITIONS -> break
		:: else ->
			k = commits[number].seq[p];
			recorded = recorded && part[p].record[k] == 1 && part[p].record_run[k] == me + 1;
			p++
		od;
		p = 0;
		succeeded[me] = recorded
	}
	goto end_of_life;
conflict:	skip;
	d_step {
		p = 0;
		do :: p == PARTITIONS -> break :: else -> part[p].staged[me] = 0; p++ od;
		p = 0;
		staging[me] = false
	}
	goto end_of_life;
died:
	if
	:: me < 2 -> me = me + 2; goto birth
	:: else
	fi;
end_of_life:
	ended++;
	goto gone;

audit:	skip;
	d_step {
		p = 0;
		do
		:: p == PARTITIONS -> break
		:: else ->
			newest_record(p, n);
			k = n;
			do :: part[p].record[k] == 2 -> k-- :: else -> break od;
			/* the newest record that is not void describes what is live */
			assert(part[p].live == (k == 1 -> 1 : OF(part[p].record_run[k] - 1)));
			v = 1;
			do
			:: v > n -> break
			:: else ->
				assert(part[p].record[v] != 0); /* contiguous */
				assert(part[p].record[v] == 2 || part[p].archive[v] == (v == 1 -> 1 : OF(part[p].record_run[v] - 1)));
				v++
			od;
			p++
		od;
		/* a success that was told stands; a decided run is whole */
		number = 1;
		do
		:: number == COMMITS || commits[number].owner == 0 -> break
		:: else ->
			owner = commits[number].owner - 1;
			p = 0; n = 0;
			do
			:: p == PARTITIONS -> break
			:: else ->
				k = commits[number].seq[p];
				n = n + (part[p].record[k] == 1 && part[p].record_run[k] == owner + 1 -> 1 : 0);
				p++
			od;
			assert(!succeeded[owner] || n == PARTITIONS);
#ifndef WIPE
#ifndef STALE
			assert(n == PARTITIONS);
#endif
			assert(n == 0 || n == PARTITIONS);
#endif
			number++
		od
	}
gone:
	skip
}

proctype Reader() {
	byte first;
	first = part[0].number;
	assert(part[0].live != 0 && part[0].number >= first)
}

#ifdef WIPE
active proctype Sweeper() {
end:	atomic { deaths > 0 -> if :: part[0].staged[0] = 0 :: part[0].staged[1] = 0 fi }
}
#endif

init {
	byte q;
	atomic {
		do
		:: q == PARTITIONS -> break
		:: else -> part[q].archive[1] = 1; part[q].record[1] = 1; q++
		od;
		run Writer(0);
		run Writer(1);
		run Reader()
	}
	ended == 2;
	run Writer(AUDITOR)
}
