/* SPDX-License-Identifier: Apache-2.0
 * The commit protocol and the disk: a run of two partitions that may be killed, or lose power, before every call, and then
 * is finished by a next command that may be killed or lose power in turn. Labels are the step names of src/commit/commit.c.
 *
 * Every name has two values: what the kernel shows and what is on the disk. A kill loses nothing. At a power cut each
 * name that was not synced survives or not, by itself; a rename survives as one unit, and not without the directory it went to;
 * content that was not synced is garbage. Partition 0 is replaced, partition 1 is new and with it its directory.
 *
 * Leave a step out to see what it is for: NO_SYNC1 NO_SYNC2 NO_SYNC2_AGAIN (a finisher relies on the writer's) NO_SYNC3
 * NO_REARCHIVE EARLY_DROP (F4 before SYNC3).
 * NO_JOURNAL: halves of a rename survive by themselves; with a sync more, a run may end as void but never as garbage. */
#ifndef FAULTS
#define FAULTS 3
#endif
#define OLD 1
#define NEW 2

byte staged_v[2], staged_d[2], live_v[2], live_d[2], archive_v[2], archive_d[2], record_v[2], record_d[2]; /* record: 1, 2 void */
bool commit_v, commit_d, staging_v, staging_d, directory_v, directory_d;
bool content_synced, garbage, told, is_writer = true;
byte faults, p;

inline sync_everything() {
	d_step {
		p = 0;
		do
		:: p == 2 -> break
		:: else ->
			staged_d[p] = staged_v[p]; live_d[p] = live_v[p]; archive_d[p] = archive_v[p]; record_d[p] = record_v[p]; p++
		od;
		p = 0;
		commit_d = commit_v; staging_d = staging_v; directory_d = directory_v
	}
}

#define SURVIVE(visible, disk) if :: visible = disk :: disk = visible fi

inline power_cut() {
	p = 0;
	SURVIVE(directory_v, directory_d);
	do
	:: p == 2 -> break
	:: else ->
#ifdef NO_JOURNAL
		SURVIVE(staged_v[p], staged_d[p]);
		SURVIVE(live_v[p], live_d[p]);
		if :: p == 1 && !directory_v -> live_v[p] = 0; live_d[p] = 0 :: else fi;
#else
		if
		:: staged_d[p] != 0 && staged_v[p] == 0 && live_v[p] == NEW && live_d[p] != NEW -> /* a rename */
			if
			:: staged_v[p] = staged_d[p]; live_v[p] = live_d[p]
			:: p == 0 || directory_v -> staged_d[p] = 0; live_d[p] = NEW
			fi
		:: else -> SURVIVE(staged_v[p], staged_d[p]); live_v[p] = live_d[p]
		fi;
#endif
		SURVIVE(archive_v[p], archive_d[p]);
		SURVIVE(record_v[p], record_d[p]);
		p++
	od;
	p = 0;
	SURVIVE(commit_v, commit_d);
	SURVIVE(staging_v, staging_d);
	garbage = garbage || !content_synced
}

#define FAULT if :: true :: faults < FAULTS -> faults++; goto next_command :: faults < FAULTS -> faults++; goto no_power fi

active proctype Command() {
	live_v[0] = OLD; live_d[0] = OLD;
	staging_v = true;
	FAULT;
	staged_v[0] = NEW;
	FAULT;
	staged_v[1] = NEW;
	FAULT;
SYNC1:
#ifndef NO_SYNC1
	content_synced = true;
	sync_everything();
	FAULT;
#endif
STEP_6:
	commit_v = true;
	FAULT;

STEP_F:
#ifdef NO_SYNC2_AGAIN
	if :: is_writer -> commit_d = commit_v :: else fi;
#else
#ifndef NO_SYNC2
SYNC2:
	commit_d = commit_v;
#endif
#endif
	FAULT;
	p = 0;
STEP_F0:
	directory_v = true;
	FAULT;
	do
	:: p == 2 -> break
	:: else ->
STEP_F1:
		atomic {
			if
			:: staged_v[p] == NEW -> archive_v[p] = NEW
#ifndef NO_REARCHIVE
			:: staged_v[p] == 0 && live_v[p] == NEW -> archive_v[p] = NEW
#endif
			:: staged_v[p] == 0 && live_v[p] != NEW && archive_v[p] == NEW && record_v[p] == 0 -> staged_v[p] = NEW
			:: else
			fi
		}
		FAULT;
STEP_F2:
		atomic {
			if
			:: staged_v[p] == NEW -> assert(!garbage); live_v[p] = NEW; staged_v[p] = 0
			:: else
			fi
		}
		FAULT;
		p++
	od;
	p = 0;
#ifdef NO_JOURNAL
	sync_everything();
	FAULT;
#endif
	do
	:: p == 2 -> break
	:: else ->
STEP_F3:
		atomic {
			if
			:: record_v[p] == 0 -> record_v[p] = (live_v[p] == NEW -> 1 : 2)
			:: else
			fi
		}
		FAULT;
		p++
	od;
	p = 0;
#ifdef EARLY_DROP
	staging_v = false;
	FAULT;
#endif
SYNC3:
#ifndef NO_SYNC3
	sync_everything();
#endif
	FAULT;
STEP_9:
	if :: is_writer -> told = true :: else fi;
	FAULT;
STEP_F4:
	staging_v = false;
	FAULT;
	goto look;

no_power:
	atomic { power_cut() }
next_command: /* nothing is decided: swept. Decided and staging there: finished. Staging gone: finished long ago. */
	is_writer = false;
	p = 0;
	if
	:: commit_v && staging_v -> assert(!garbage); goto STEP_F
	:: commit_v && !staging_v
	:: !commit_v -> staged_v[0] = 0; staged_v[1] = 0; staging_v = false
	fi;
look:	skip;
	d_step {
		assert(!garbage || (live_v[0] != NEW && live_v[1] != NEW)); /* a live file is whole */
		assert(live_v[0] != 0);
		assert(commit_v || (live_v[0] == OLD && live_v[1] == 0));   /* undecided: nothing happened */
		assert(!told || (live_v[0] == NEW && live_v[1] == NEW));    /* told is durable */
		p = 0;
		do
		:: p == 2 -> break
		:: else ->
			assert((live_v[p] == NEW) == (record_v[p] == 1));       /* the ledger describes what is live */
			assert(live_v[p] != NEW || archive_v[p] == NEW);        /* and it is archived */
			p++
		od;
#ifndef NO_JOURNAL
		assert(commit_v == (live_v[0] == NEW) && commit_v == (live_v[1] == NEW)) /* decided as a whole */
#endif
	}
}
