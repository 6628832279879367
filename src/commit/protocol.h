/* SPDX-License-Identifier: Apache-2.0
 * What the parts of src/commit share. The protocol itself is told at the top of commit.c. */
#ifndef RECLOSER_COMMIT_PROTOCOL_H
#define RECLOSER_COMMIT_PROTOCOL_H

#include "base/json.h"
#include "commit/commit.h"

/* ---- the dataset (dataset.c) ---- */

/* Names and paths, nothing read; and the check of what dataset.json says once it is. */
recloser_status dataset_make(struct arena *arena, struct fs *fs, const char *root, const char *name, struct dataset **out,
							 recloser_error *error) RC_CHECKED;
recloser_status dataset_check_format(const struct dataset *dataset, const char *path, recloser_error *error) RC_CHECKED;

/* ---- where things are (layout.c) ---- */

const char *path_commit(const struct dataset *dataset, struct arena *arena, int64_t number);
const char *path_record(const struct dataset *dataset, struct arena *arena, const char *partition, int64_t seq);
const char *path_staging(const struct dataset *dataset, struct arena *arena, const char *run);
/* A file that is adopted is staged beside the run's own version of the same partition. */
const char *path_staged(const struct dataset *dataset, struct arena *arena, const char *run, const char *partition,
						const char *kind);
const char *path_staged_record(const struct dataset *dataset, struct arena *arena, const char *run, const char *partition,
							   const char *kind);
const char *archive_name(struct arena *arena, const char *loaded_at, const char *partition,
						 int64_t seq);                                          /* relative to control */
const char *path_temporary(const struct dataset *dataset, struct arena *arena); /* in <control>/tmp, a name of its own */
const char *path_parent(struct arena *arena, const char *path);
/* RECLOSER_IO when a name or path that this partition leads to is longer than the file system takes. */
recloser_status path_lengths(const struct dataset *dataset, struct arena *arena, const char *run, const char *partition,
							 unsigned name_max, recloser_error *error) RC_CHECKED;
/* True for "" and for "a=1/b=2". */
bool is_partition_path(const char *relative);

/* ---- small operations (files.c) ---- */

int make_path(struct fs *fs, struct arena *arena, const char *path); /* with parents; 0 or an errno */
/* Write under a temporary name, sync that file, and give it back by its name. */
recloser_status write_temporary(struct dataset *dataset, struct arena *arena, const void *bytes, size_t count, unsigned mode,
								const char **path, recloser_error *error) RC_CHECKED;

/* ---- one writing command on one dataset (session.c, probe.c) ---- */

struct guarantees {
	bool hard_links, rename_new, locks, directory_sync, syncfs, journal, case_sensitive, open_rename;
	unsigned name_max;
	char type[32];
};

struct session {
	struct dataset *dataset;
	struct arena *arena;
	struct guarantees can;
	struct fs_file *everything; /* syncfs's descriptor; NULL: files and directories are synced one by one */
};
/* `directory`: a scratch directory of this run's own, for trying things in. */
recloser_status session_open(struct dataset *dataset, struct arena *arena, const char *directory, struct session *out,
							 recloser_error *error) RC_CHECKED;
recloser_status probe(struct dataset *dataset, struct arena *arena, const char *directory, struct guarantees *out,
					  recloser_error *error) RC_CHECKED;
bool probe_cached(struct dataset *dataset, struct arena *arena, struct guarantees *out);
json_t *guarantees_json(struct arena *arena, const struct guarantees *can);

/* Rename `from`, a file of this run's own, over `to`, which may be there. 0 or an errno; after a failure that is none
 * (a server did it and lost the answer) the names decide, and this is 0 (place.c). */
int rename_over(struct fs *fs, const char *from, const char *to);

/* Give `from` a second name `to` that must be free (place.c). */
enum placed { PLACED, PLACED_SAME, PLACED_OTHER, PLACED_NO_SOURCE };
recloser_status place(struct session *session, const char *from, const char *to, enum placed *out,
					  recloser_error *error) RC_CHECKED;

/* ---- syncs (sync.c); names as in commit.c ---- */

struct touched { /* directories that have new names in them, and files that have to be synced one by one */
	struct strings directories, files;
};
/* Every level from `path` up to the directory that holds the root. */
void touch(struct session *session, struct touched *touched, const char *path);
recloser_status sync_staged(struct session *session, struct touched *touched, recloser_error *error) RC_CHECKED;  /* SYNC1 */
recloser_status sync_commits(struct session *session, recloser_error *error) RC_CHECKED;                          /* SYNC2 */
recloser_status sync_touched(struct session *session, struct touched *touched, recloser_error *error) RC_CHECKED; /* SYNC3 */

/* ---- versions ---- */

struct record *record_from_json(struct arena *arena, json_t *json, const char *partition, int64_t seq);

/* Newest number in use (0: none) and newest record that is no void (NULL: none). */
recloser_status ledger_look(struct dataset *dataset, struct arena *arena, const char *partition, int64_t *number,
							struct record **newest, recloser_error *error) RC_CHECKED;

struct live {
	enum live_state state;
	struct fs_stat stat;
	char sha256[SHA256_HEX]; /* "" when it was not needed */
};
recloser_status live_look(struct dataset *dataset, struct arena *arena, const char *partition, const struct record *record,
						  struct live *out, recloser_error *error) RC_CHECKED;
void live_remember(struct dataset *dataset, struct arena *arena); /* writes what live_look proved; best effort */
struct identity {
	const char *sha256; /* NULL: nothing */
	uint64_t bytes, inode;
	int64_t mtime_ns;
};
/* Which of the candidates is the file at `path`, by one look? By size, inode and time where they agree; else by digest.
 * *which is `count` when it is none of them or not there. */
recloser_status file_which(struct dataset *dataset, const char *path, const struct identity *const *candidates, size_t count,
						   size_t *which, bool *there, recloser_error *error) RC_CHECKED;
recloser_status file_is(struct dataset *dataset, const char *path, const struct identity *expected, bool *there, bool *same,
						recloser_error *error) RC_CHECKED;

/* ---- plans (plan.c, plan_json.c) ---- */

struct planned {
	const char *partition, *kind;
	int64_t seq;
	struct identity file; /* of the staged file: rename keeps inode and time */
	struct {
		int64_t seq; /* 0: none */
		struct identity file;
		bool missing; /* there was a record but no file */
	} base;
	const char *archive, *content_fingerprint;
	json_t *counts;
	json_t *record;                                                          /* only while planning */
	struct entry *entry;                                                     /* only while planning; NULL for adopted ones */
	enum { RESULT_OPEN, RESULT_RECORDED, RESULT_VOID, RESULT_STALE } result; /* of finish */
	bool renamed;                                                            /* by this process */
};

struct plan {
	const char *run, *loaded_at;
	int64_t number;
	bool config; /* dataset.json is staged */
	struct planned *at;
	size_t count;
};
json_t *plan_to_json(struct arena *arena, const struct plan *plan);
recloser_status plan_from_json(struct arena *arena, json_t *json, const char *path, struct plan **out,
							   recloser_error *error) RC_CHECKED;
/* A record as good as the plan can tell it, when the staged one is lost. */
json_t *record_from_plan(struct arena *arena, const struct plan *plan, const struct planned *planned, const char *kind);

/* A live file that is not the newest record's: is it what an open commit has put there? Then its record, and LIVE_SOUND (open.c). */
recloser_status open_live(struct dataset *dataset, struct arena *arena, const char *partition, struct record **record,
						  enum live_state *state, recloser_error *error) RC_CHECKED;
void open_forget(struct dataset *dataset); /* it was finished */

/* Newest commit number (0: none). */
recloser_status commits_newest(struct dataset *dataset, struct arena *arena, int64_t *out, recloser_error *error) RC_CHECKED;
recloser_status commit_read(struct dataset *dataset, struct arena *arena, int64_t number, struct plan **out,
							recloser_error *error) RC_CHECKED;

/* ---- the steps ---- */

struct staging {
	struct session session;
	const char *run, *directory;
	struct fs_lock *alive;
	struct strings held_names;
	struct fs_file **held; /* one a partition, as long as there are descriptors and the session has no syncfs */
	size_t held_count;
	bool decided, gone;
	bool aside; /* in a scratch directory elsewhere, never to be committed */
};
/* Run id and directory only: no check, no probe. `recover` uses it for a scratch directory. */
recloser_status staging_make(struct dataset *dataset, struct arena *arena, const char *run, struct staging *staging,
							 recloser_error *error) RC_CHECKED;

/* The lock on the dataset (lock.c). *out NULL: this file system has no locks. */
recloser_status lock_take(struct session *session, const char *run, const struct commit_options *options,
						  struct fs_lock **out, recloser_error *error) RC_CHECKED;
const char *lock_holder(struct dataset *dataset, struct arena *arena);
const char *lock_text(struct arena *arena, const char *run);
bool means_no_locks(int number);

/* Step 4. `previous` is the loaded_at of the newest commit or NULL. Everything unchanged gives a plan without entries. */
struct plan_request {
	struct staging *staging;
	struct entry *entries;
	size_t count;
	const struct commit_options *options;
	struct commit_report *report;
	int64_t number;
	const char *previous;
};
recloser_status plan_make(const struct plan_request *request, struct arena *arena, struct plan **out,
						  recloser_error *error) RC_CHECKED;
/* Step 5. */
recloser_status plan_stage(struct staging *staging, struct plan *plan, struct arena *arena, const json_t *config,
						   recloser_error *error) RC_CHECKED;
/* Steps F0 to F4. Anything but OK leaves the commit open. */
recloser_status finish(struct session *session, struct plan *plan, recloser_error *error) RC_CHECKED;
/* Step 3: *number is the newest commit, *loaded_at its time (or NULL), *finished whether it was open. */
recloser_status finish_newest(struct session *session, struct arena *arena, int64_t *number, const char **loaded_at,
							  struct plan **finished, recloser_error *error) RC_CHECKED;
/* Records are lost as a whole: there are commits and archived files, but no record of any partition (rebuild.c). */
recloser_status ledger_is_lost(struct dataset *dataset, struct arena *arena, bool *lost, recloser_error *error) RC_CHECKED;
/* Under the lock (rebuild.c). The first before finish_newest: a newest commit that can't be read is moved away. */
recloser_status rebuild_commits(struct session *session, struct arena *arena, struct recovery *out,
								recloser_error *error) RC_CHECKED;
recloser_status rebuild_ledger(struct session *session, struct arena *arena, struct recovery *out,
							   recloser_error *error) RC_CHECKED;

#endif
