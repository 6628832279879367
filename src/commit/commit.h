/* SPDX-License-Identifier: Apache-2.0
 * The commit protocol on a file system: stage, decide a whole run by one exclusive link, finish by whoever comes next.
 * The protocol, its crash model and the meaning of the step names are told once, at the top of commit.c.
 *
 *   dataset_open   the control directory of one dataset; creates nothing
 *   recover        step 3: finish the newest commit if it is open, sweep what dead runs left
 *   staging_*      step 1: a directory of this run's own
 *   commit_run     steps 2 to 8
 *   ledger_*, live_* what readers of the ledger need; no lock */
#ifndef RECLOSER_COMMIT_COMMIT_H
#define RECLOSER_COMMIT_COMMIT_H

#include <jansson.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/text.h"
#include "store/bucket.h"
#include "store/fs.h"

/* ---- the dataset ---- */

struct objects;
struct plan;
struct dataset {
	struct fs *fs; /* with a bucket: for local files, where runs stage */
	struct bucket *bucket; /* NULL on a file system */
	struct objects *objects; /* what object_*.c keep; NULL on a file system */
	const char *root, *name;
	const char *tree;    /* <root>/<name> */
	const char *control; /* <root>/_recloser/<name> */
	json_t *config;      /* dataset.json, or NULL before the first load */
	struct arena *arena; /* of dataset_open */
	json_t *seen;        /* live.c: what live files looked like when they were last proved by SHA-256 */
	bool seen_changed;
	struct plan *open; /* open.c: the newest commit while it is not finished; NULL: it is */
	bool open_known;
	double patience; /* seconds that live_newest may still wait for others; 0: it never does */
	bool single_writer; /* the user's word that there is only one: a bucket may ignore conditions */
	bool no_checksums;  /* the user's word that nothing is altered on the way: a bucket need not look */
	const char *temp;   /* directory for local files of a run on a bucket; NULL: the system's */
};
#define DATASET_FORMAT_VERSION 1 /* member "format_version" of dataset.json, which the maker of `config` puts there */
/* RECLOSER_USAGE for a dataset.json of a newer format version; RECLOSER_IO for one that can't be read. */
recloser_status dataset_open(struct arena *arena, struct fs *fs, const char *root, const char *name, struct dataset **out,
							 recloser_error *error) RC_CHECKED;
/* The same in a bucket; `root` is its URL. All that follows works on both, unless it says otherwise. */
struct dataset_options {
	bool single_writer, no_checksums;
	const char *temp;
};
recloser_status dataset_open_bucket(struct arena *arena, struct fs *local, struct bucket *bucket,
									const struct dataset_options *options, const char *root, const char *name,
									struct dataset **out, recloser_error *error) RC_CHECKED;
/* The deepest folder on the way to the control directory that is there, asked before a run makes any; and the removal of
 * what a first run has made below it when it ends without a decision. Best effort; does nothing on a dataset in use. */
const char *dataset_level(struct dataset *dataset, struct arena *arena);
void dataset_unmake(struct dataset *dataset, struct arena *arena, const char *level);

/* ---- versions ---- */

/* A record as the ledger has it; `json` is the whole, the rest is read out of it for convenience. */
struct record {
	const char *partition; /* "state=TX/month=2026-07", "" for an unpartitioned dataset */
	int64_t seq;
	const char *kind;                                                     /* version, restored, adopted, void */
	const char *run, *loaded_at, *sha256, *content_fingerprint, *archive; /* archive: relative to the control directory */
	uint64_t bytes, rows;
	json_t *json;
	bool unfinished; /* its run was decided and not finished: it is live, and this record is the one that it is going to get */
};

/* The newest record that is no void, or NULL. Records of adopted files may lack rows (0) and content_fingerprint (NULL). */
recloser_status ledger_newest(struct dataset *dataset, struct arena *arena, const char *partition, struct record **out,
							  recloser_error *error) RC_CHECKED;
recloser_status ledger_read(struct dataset *dataset, struct arena *arena, const char *partition, int64_t seq,
							struct record **out, recloser_error *error) RC_CHECKED; /* NULL when there is none */
/* The newest version before `base` (200 are looked at) that one of these sources, by SHA-256, had a part in: its number, and
 * which source. *seq 0: none. */
recloser_status ledger_source(struct dataset *dataset, struct arena *arena, const struct record *base,
							  const struct strings *sha256s, int64_t *seq, size_t *which, recloser_error *error) RC_CHECKED;
/* The same for those who look at thousands: `near` is a number that was the newest a moment ago, or once (0: not known), and the
 * record's json is without the columns and the footer's entry (`schema`, `geo`), four fifths of most records. */
recloser_status ledger_brief(struct dataset *dataset, struct arena *arena, const char *partition, int64_t near,
							 struct record **out, recloser_error *error) RC_CHECKED;
/* Partitions that a load is compared with besides its own: those of the ledger, or, where that takes a bucket fewer requests,
 * those that are live. */
recloser_status partitions_beside(struct dataset *dataset, struct arena *arena, struct strings *out,
								  recloser_error *error) RC_CHECKED;
/* All partitions that have a record, sorted; with the newest number of each, 0 where listing them did not tell (a bucket). */
recloser_status ledger_partitions(struct dataset *dataset, struct arena *arena, struct strings *out,
								  recloser_error *error) RC_CHECKED;
struct ledger_head {
	const char *partition;
	int64_t number;
};
struct ledger_heads {
	struct ledger_head *at;
	size_t count;
};
recloser_status ledger_heads(struct dataset *dataset, struct arena *arena, struct ledger_heads *out,
							 recloser_error *error) RC_CHECKED;

enum live_state {
	LIVE_NONE,    /* no record and no file */
	LIVE_SOUND,   /* the file is the newest record's version */
	LIVE_FOREIGN, /* a file that no record or not the newest record describes */
	LIVE_MISSING  /* a record, but no file */
};
/* Size, mtime and inode first, SHA-256 when they differ. `record` (may be NULL) is the newest record. */
recloser_status live_state(struct dataset *dataset, struct arena *arena, const char *partition, const struct record *record,
						   enum live_state *out, recloser_error *error) RC_CHECKED;
/* This run compares what is live in the partition with a batch of this content, and may put that there. What the commit's own
 * condition is going to decide, and what is going to be read anyway, a bucket need not be asked for beforehand. */
void live_expect(struct dataset *dataset, const char *partition, const char *content_fingerprint);
/* Is each of these the newest version of its partition, and live? */
struct version_at {
	const char *partition;
	int64_t seq;
};
recloser_status versions_live(struct dataset *dataset, struct arena *arena, const struct version_at *at, size_t count,
							  bool *out, recloser_error *error) RC_CHECKED;
/* In a bucket: what was fetched of this partition is removed, and who asks again is told what is there then. */
void partition_forget(struct dataset *dataset, const char *partition);
/* What a partition that is new is going to be read together with: for each value of the partition column `column` (NULL: for all of
 * them) the version that was recorded last, at most `most`, and no more than what the last few dozen runs made. On a file system
 * each is live; in a bucket known.json's word is taken for that, and nothing is asked for. */
recloser_status versions_recent(struct dataset *dataset, struct arena *arena, const char *column, size_t most, struct record **out,
								size_t *count, recloser_error *error) RC_CHECKED;
/* Where a version is kept, for people: "archive/..."; in a bucket the name is that of a run that replaced it. */
const char *version_archive(struct dataset *dataset, struct arena *arena, const struct record *record);
/* The newest record, and how the live file stands to it. Whoever finishes a run renames first and records then; in between, and
 * as long as nobody finishes what a killed run decided, the record is the one that the run staged (record.unfinished). A file
 * that no decided run explains is looked at again while a run is at work, for a second in all of one dataset. */
recloser_status live_newest(struct dataset *dataset, struct arena *arena, const char *partition, struct record **record,
							enum live_state *state, recloser_error *error) RC_CHECKED;
/* The run whose commit is open: decided, and not finished. Those who write finish it (recover), those who read tell of it. */
struct open_run {
	const char *run; /* NULL: there is none; in a bucket, where nobody lists them: none was met by what was read so far */
	const char *loaded_at;
	bool alive; /* it is at work on this machine */
};
void open_run_find(struct dataset *dataset, struct arena *arena, struct open_run *out);
/* "run ... was decided and is not finished: ...", for people. */
const char *open_run_told(struct arena *arena, const struct open_run *run);
/* ledger_heads, and the partitions of which the first version is live and not recorded yet, with number 0. */
recloser_status live_heads(struct dataset *dataset, struct arena *arena, struct ledger_heads *out,
						   recloser_error *error) RC_CHECKED;
/* The same with ledger_brief's record. */
recloser_status live_brief(struct dataset *dataset, struct arena *arena, const char *partition, int64_t near,
						   struct record **record, enum live_state *state, recloser_error *error) RC_CHECKED;
const char *live_path(struct dataset *dataset, struct arena *arena, const char *partition); /* or URL */
/* A local file with the bytes that are live: the live file itself, or a download that lasts as long as the dataset. */
recloser_status live_file(struct dataset *dataset, struct arena *arena, const char *partition, const char **path,
						  recloser_error *error) RC_CHECKED;
/* The same of a version: version_path below, or a download whose SHA-256 is the record's. */
recloser_status version_file(struct dataset *dataset, struct arena *arena, const struct record *record, const char **path,
							 recloser_error *error) RC_CHECKED;
/* Where to read the bytes of a version: its archived file, which nobody replaces. A reader that opens the live one twice, as
 * engines do, may meet two versions. The live one only where the archive has lost it. */
const char *version_path(struct dataset *dataset, struct arena *arena, const struct record *record);
/* Where the bytes of a version are kept, a path or URL: its archived file, or the live one where the newest record, `newest`, has
 * these bytes and live is that. NULL: nowhere any more. Size is looked at, the bytes are not. Below `control`: archived. */
recloser_status version_place(struct dataset *dataset, struct arena *arena, const struct record *record,
							  const struct record *newest, const char **out, recloser_error *error) RC_CHECKED;
/* Names of the other files in the folder of a partition: not ours, never touched. */
recloser_status live_neighbours(struct dataset *dataset, struct arena *arena, const char *partition, struct strings *out,
								recloser_error *error) RC_CHECKED;

/* ---- one run ---- */

struct staging;
/* Probe the file system once, make _recloser/<name>/staging/<run>/, take its `alive` lock, open the descriptor for syncfs.
 * RECLOSER_IO (exit 6) before anything changes when staging, archive, ledger and target do not lie on one file system. */
recloser_status staging_begin(struct dataset *dataset, struct arena *arena, const char *run, struct staging **out,
							  recloser_error *error) RC_CHECKED;
/* For a run that is not going to commit: where this user may not write into the dataset, everything is staged in a scratch
 * directory in `temp` (NULL: $TMPDIR, else /tmp), and nothing but that is written. Else the same as staging_begin. */
recloser_status staging_try(struct dataset *dataset, struct arena *arena, const char *run, const char *temp, struct staging **out,
							recloser_error *error) RC_CHECKED;
/* The path the engine writes the partition's file to; its directory is made. Call staging_hold when it is complete (or
 * before the first byte, with the file created) so that a write-back error can't be lost. */
recloser_status staging_file(struct staging *staging, const char *partition, const char **path,
							 recloser_error *error) RC_CHECKED;
recloser_status staging_hold(struct staging *staging, const char *partition, recloser_error *error) RC_CHECKED;
recloser_status staging_drop(struct staging *staging, const char *partition, recloser_error *error) RC_CHECKED;
/* Instead of staging_file and staging_hold: the staged file is an archived version (record.archive), for kind "restored". */
recloser_status staging_link(struct staging *staging, const char *partition, const char *archived,
							 recloser_error *error) RC_CHECKED;
const char *staging_directory(const struct staging *staging); /* for spilling and spooling */
/* Forget everything staged: after a refusal or a dry run. Best effort, never fails; does nothing once the run is decided. */
void staging_abandon(struct staging *staging);

enum entry_outcome { ENTRY_PENDING, ENTRY_NEW, ENTRY_REPLACED, ENTRY_RESTORED, ENTRY_UNCHANGED, ENTRY_CONFLICT };

struct entry {
	const char *partition;
	const char *kind; /* "version" or "restored" */
	char sha256[SHA256_HEX];
	uint64_t bytes;
	const char
		*content_fingerprint; /* equal to the base's: unchanged. NULL: equal bytes only, which is how a rewrite is forced */
	int64_t base_seen;        /* seq that the guards looked at; 0: none */
	const char
		*base_sha256; /* bytes that the guards looked at, where a file that no record describes was live; may be NULL */
	json_t *record;   /* complete but for seq, base, loaded_at, archive and kind, which the commit fills in */
	/* out */
	int64_t seq;
	const char *loaded_at, *archive;
	enum entry_outcome outcome;
};

struct commit_options {
	double wait_seconds;
	/* The base of `entry` is not what the guards saw: look again. `base` may be NULL. May set entry->outcome to
	 * ENTRY_UNCHANGED to leave it out, or return a status to give up the run. */
	recloser_status (*look_again)(void *arg, struct entry *entry, const struct record *base, recloser_error *error);
	void (*waiting)(void *arg, const char *holder); /* told once a second while the lock is held by another */
	/* A file that no record describes is to be recorded as adopted: add what reading it tells (rows, schema, totals,
	 * content_fingerprint) to `record`. May be NULL. A failure is noted in the record; the bytes are adopted all the same.
	 */
	recloser_status (*describe)(void *arg, const char *partition, const char *path, json_t *record, recloser_error *error);
	void *arg;
	json_t *config; /* dataset.json to be written before the first commit; NULL: there already */
	bool reported;  /* when this has ended well, the caller writes runs/<run>.json */
};

struct commit_report {
	int64_t number; /* commit number; 0: nothing was to be committed */
	const char *loaded_at;
	struct strings adopted; /* partitions whose foreign bytes were adopted */
	struct strings warnings;
};

/* Statuses: OK; CONFLICT (exit 5, staging gone); IO (exit 6, nothing changed); UNCLEAR (exit 7, decided but not yet durable
 * or not yet live). Each entry's outcome says what the ledger says. The staging directory is gone afterwards (but for
 * UNCLEAR), so control_adopt what else was staged there before. wait_seconds at or below 0: do not wait. */
recloser_status commit_run(struct staging *staging, struct arena *arena, struct entry *entries, size_t count,
						   const struct commit_options *options, struct commit_report *report,
						   recloser_error *error) RC_CHECKED;

/* ---- recovery ---- */

struct recovery {
	int64_t finished; /* commit number that was open and is finished now; 0: none */
	struct strings finished_partitions;
	struct strings swept;              /* runs whose staging was removed */
	struct strings living;             /* runs that are still going on */
	struct strings foreign;            /* files in the tree that are not ours */
	struct strings adoptable, missing; /* partitions */
	struct strings warnings;
};
/* What this file system can do, by trial (cached) and by its type: members hard_links, rename_new, locks, directory_sync,
 * syncfs, journal, case_sensitive, open_rename, type, name_max, and `sentences`, one for each thing that is missing. NULL
 * when nothing was loaded yet. */
recloser_status dataset_guarantees(struct dataset *dataset, struct arena *arena, json_t **out,
								   recloser_error *error) RC_CHECKED;

/* Finish and sweep; looks at the whole tree only when `deep`. Does nothing where there is no control directory, and leaves
 * an open commit to the writer that holds the lock (a warning says so). */
recloser_status recover(struct dataset *dataset, struct arena *arena, bool deep, struct recovery *out,
						recloser_error *error) RC_CHECKED;
/* What was recorded for dead writers since, as warnings: in a bucket that is done when it is met. */
void recover_warnings(struct dataset *dataset, struct arena *arena, struct strings *warnings);
/* What the deep look of `recover` finds, with nothing finished and nothing swept: foreign, adoptable, missing, warnings. */
recloser_status recover_look(struct dataset *dataset, struct arena *arena, struct recovery *out,
							 recloser_error *error) RC_CHECKED;
/* The part of it that no partition in `known` (sorted by their bytes) tells of: foreign, and adoptable of other partitions. */
recloser_status recover_strays(struct dataset *dataset, struct arena *arena, const struct ledger_heads *known,
							   struct recovery *out, recloser_error *error) RC_CHECKED;
/* The entries of the newest commit as they lie in commits/ ({partition, seq, base: {seq}}) while it is open, that is while
 * the staging of its run is there; NULL when none is open. Prune keeps what they name. */
recloser_status commit_open_entries(struct dataset *dataset, struct arena *arena, json_t **out,
									recloser_error *error) RC_CHECKED;
/* Make a lost ledger, or lost records, again from commits, archive names and live files. No other writer may be at work: the
 * lock must be free (RECLOSER_CONFLICT), and a file system without locks takes the caller's word. */
recloser_status recover_rebuild(struct dataset *dataset, struct arena *arena, struct recovery *out,
								recloser_error *error) RC_CHECKED;

/* ---- files of the control directory, for those who look at it without committing ---- */

const char *path_in(struct arena *arena, const char *base, const char *partition,
					const char *leaf); /* leaf, partition may be "" */
const char *path_control(const struct dataset *dataset, struct arena *arena, const char *relative);
/* "00000042.json" -> 42, 0 for any other name. */
int64_t number_of(const char *name);
/* Names directly in `<control>/<relative>`, sorted; none when there is no such folder. */
recloser_status control_list(struct dataset *dataset, struct arena *arena, const char *relative, struct strings *names,
							 recloser_error *error) RC_CHECKED;
/* Both treat "no such file" as an answer: *there false, *out NULL. */
recloser_status file_look(struct dataset *dataset, const char *path, struct fs_stat *out, bool *there,
						  recloser_error *error) RC_CHECKED;
recloser_status file_read_json(struct dataset *dataset, struct arena *arena, const char *path, json_t **out,
							   recloser_error *error) RC_CHECKED;
/* What to do about a file of ours that can't be read as what it should be; a hint that is there already stays. */
recloser_status hint_damaged(recloser_error *error, const char *hint);
recloser_status make_directory(struct dataset *dataset, struct arena *arena, const char *path,
							   recloser_error *error) RC_CHECKED; /* with parents */
/* Best effort: a directory and what is in it, the file `last` (may be NULL) of its top level after the rest. */
void remove_tree(struct fs *fs, struct arena *arena, const char *path, const char *last);

/* Once all of a run is written: keep what the next command may know without asking. Best effort. */
void dataset_keep(struct dataset *dataset, struct arena *arena);

/* ---- small files of a run that are not part of the protocol ---- */

/* Write `<control>/<relative>` whole or not at all (a temporary name, sync, rename); directories are made. */
recloser_status control_write(struct dataset *dataset, struct arena *arena, const char *relative, const void *bytes,
							  size_t count, recloser_error *error) RC_CHECKED;
recloser_status control_read(struct dataset *dataset, struct arena *arena, const char *relative, char **bytes, size_t *count,
							 recloser_error *error) RC_CHECKED; /* *bytes NULL when there is none */
/* A second name for such a file, in the place of what had that name: for an index that may be lost, so nothing is synced. In a
 * bucket known.json keeps it, for a number of names, as {"run"} of "runs/<run>.json". */
recloser_status control_alias(struct dataset *dataset, struct arena *arena, const char *relative, const char *alias,
							  recloser_error *error) RC_CHECKED;
/* Move a file that the engine wrote under staging to `<control>/<relative>`. */
recloser_status control_adopt(struct dataset *dataset, struct arena *arena, const char *staged, const char *relative,
							  recloser_error *error) RC_CHECKED;
/* Remove one; it need not be there. */
recloser_status control_remove(struct dataset *dataset, struct arena *arena, const char *relative, recloser_error *error) RC_CHECKED;

#endif
