/* SPDX-License-Identifier: Apache-2.0
 * The commit protocol on an object store; it is told at the top of object_commit.c. */
#ifndef RECLOSER_COMMIT_OBJECT_H
#define RECLOSER_COMMIT_OBJECT_H

#include "commit/protocol.h"
#include "store/bucket.h"

enum { OBJECT_SENDS = 3 }; /* of a put on a condition that is not answered */

/* What this process knows of one partition. It may be old by the next line: what is decided is decided by conditions. */
struct object_part {
	const char *partition;
	int64_t number;        /* newest record seen, 0: none */
	struct record *newest; /* that record, or NULL */
	bool listed;           /* by this process, and not only remembered from an earlier one */
	bool stale;            /* ask again */
	int64_t missing;       /* a record that should be there and was not listed; 0: none */
	bool looked, there;    /* at the live object */
	struct bucket_found live;
	enum live_state state;                                  /* valid when looked and listed */
	char file_token[BUCKET_TOKEN], file_sha256[SHA256_HEX]; /* a local copy of the live object in this state */
	const char *file;
	const char *expected; /* content that this run brings and may put here, or NULL (live_expect) */
	struct object_part *next;
};

struct object_plan { /* runs/<run>.json as it was read: a plan, one's own included, or already a report */
	const char *run;
	json_t *json;
	bool own;
	char token[BUCKET_TOKEN]; /* of one's own as it was put; "": not yet */
	struct object_plan *next;
};

/* What one listing of the whole ledger has told, if one page has all of it. */
enum ledger_listing { LEDGER_UNASKED, LEDGER_WHOLE, LEDGER_LARGE };

/* known.json: what a command need not ask for, since the one before it knew. A cache: without it there are only more
 * requests. */
struct object_known {
	json_t *config;  /* dataset.json, or NULL */
	json_t *records; /* {partition: its newest record} */
	json_t *runs;    /* {run: its report}, of the latest */
	json_t *sources; /* {fingerprint of a load: {run}} */
	json_t *inputs;  /* {SHA-256 of an input: {run}} */
	uint64_t count;  /* of records in the ledger, as far as this tells */
	bool partial;    /* not every partition is in `records` */
	char token[BUCKET_TOKEN];
	bool there, changed;
};

struct objects {
	struct arena *arena;
	struct bucket *bucket;
	const char *scratch;    /* local directory; NULL until one is needed */
	unsigned files;         /* in it, for names */
	struct strings fetched; /* earlier versions in it */
	bool writing;           /* a command that writes: what a dead writer put is recorded when it is met */
	bool probed;
	const char *probe_made; /* key of the probe's result, if this command has written it; else NULL */
	struct bucket_abilities can;
	enum ledger_listing listing;
	json_t *heads; /* {partition: {"newest", "missing"}}, where LEDGER_WHOLE */
	struct object_part *parts;
	struct object_plan *plans;
	struct object_known known;
	const char *unfinished;  /* a run of which a reader has met a live object without a record, or NULL */
	struct strings recorded; /* what was written for dead writers: partitions */
};

/* ---- keys ---- */

const char *object_key(const struct dataset *dataset, const char *path); /* of a path that begins with the root */
const char *object_live_key(const struct dataset *dataset, struct arena *arena, const char *partition);
const char *object_record_key(const struct dataset *dataset, struct arena *arena, const char *partition, int64_t seq);
const char *object_archive_name(struct arena *arena, const struct record *base, const char *run); /* relative to control */

/* ---- small objects (object_dataset.c) ---- */

/* Turn an answer that is no success into a status; `error` was set by the bucket where it had something to say. */
recloser_status object_failed(const struct dataset *dataset, enum bucket_answer answer, const char *doing, const char *key,
							  recloser_error *error) RC_CHECKED;
recloser_status object_read_json(struct dataset *dataset, struct arena *arena, const char *key, json_t **out,
								 recloser_error *error) RC_CHECKED; /* NULL when there is none */
recloser_status object_write_json(struct dataset *dataset, struct arena *arena, const char *key, const json_t *json,
								  recloser_error *error) RC_CHECKED;
recloser_status object_write_config(struct dataset *dataset, struct arena *arena, json_t *config,
									recloser_error *error) RC_CHECKED;
recloser_status object_scratch(struct dataset *dataset, const char **directory, recloser_error *error) RC_CHECKED;
recloser_status object_scratch_file(struct dataset *dataset, const char **path, recloser_error *error) RC_CHECKED;
recloser_status object_control_write(struct dataset *dataset, struct arena *arena, const char *relative, const void *bytes,
									 size_t count, recloser_error *error) RC_CHECKED;
recloser_status object_control_read(struct dataset *dataset, struct arena *arena, const char *relative, char **bytes,
									size_t *count, recloser_error *error) RC_CHECKED;
recloser_status object_control_adopt(struct dataset *dataset, struct arena *arena, const char *staged, const char *relative,
									 recloser_error *error) RC_CHECKED;

recloser_status object_control_remove(struct dataset *dataset, struct arena *arena, const char *relative,
									  recloser_error *error) RC_CHECKED;
/* Told of each object of a listing; `rest` is its key behind the listing's prefix. */
typedef recloser_status object_visit(void *arg, const char *rest, const struct bucket_object *object, recloser_error *error);
/* All pages of a listing, one object after the other, until a visit fails. */
recloser_status object_each(struct dataset *dataset, struct arena *arena, const struct bucket_listing *what,
							object_visit *visit, void *arg, recloser_error *error) RC_CHECKED;
/* The listing of all that lies below a directory. */
struct bucket_listing object_below(const struct dataset *dataset, struct arena *arena, const char *directory);
recloser_status object_control_list(struct dataset *dataset, struct arena *arena, const char *relative,
									struct strings *names, recloser_error *error) RC_CHECKED;
recloser_status object_file_look(struct dataset *dataset, const char *path, struct fs_stat *out, bool *there,
								 recloser_error *error) RC_CHECKED;

/* ---- the ledger (object_ledger.c) ---- */

struct object_part *object_part(struct dataset *dataset, const char *partition);
/* Newest record, by one LIST of the whole ledger for all partitions where a page has it, else of this partition from the
 * last number known. Nothing when that was done already and `again` is false. */
recloser_status object_newest(struct dataset *dataset, struct object_part *part, bool again,
							  recloser_error *error) RC_CHECKED;
/* The same by asking for the next number until there is none: no listing can be too old for that. */
recloser_status object_advance(struct dataset *dataset, struct object_part *part, recloser_error *error) RC_CHECKED;
void object_learn(struct dataset *dataset, struct object_part *part, struct record *record);
recloser_status object_ledger_newest(struct dataset *dataset, const char *partition, struct record **out,
									 recloser_error *error) RC_CHECKED;
recloser_status object_ledger_read(struct dataset *dataset, struct arena *arena, const char *partition, int64_t seq,
								   struct record **out, recloser_error *error) RC_CHECKED;
/* Refuses to go on where the record of a version is gone; asks for it first. */
recloser_status object_ledger_sound(struct dataset *dataset, struct object_part *part, recloser_error *error) RC_CHECKED;
recloser_status object_ledger_lost(struct dataset *dataset, const struct object_part *part, int64_t seq,
								   recloser_error *error);
/* Lists the whole ledger, once, if one page has all of it as far as known.json tells. */
recloser_status object_ledger_ask(struct dataset *dataset, recloser_error *error) RC_CHECKED;
/* As partitions_beside. */
recloser_status object_partitions(struct dataset *dataset, struct arena *arena, struct strings *out,
								  recloser_error *error) RC_CHECKED;
void object_ledger_forget(struct dataset *dataset); /* what was known of it */
recloser_status object_ledger_partitions(struct dataset *dataset, struct arena *arena, struct strings *out,
										 recloser_error *error) RC_CHECKED;
/* Records in a bucket carry the sources of those before them, so that asking for one costs nothing (ledger_source). */
void object_source(const struct record *base, const struct strings *sha256s, int64_t *seq, size_t *which);
json_t *object_earlier(struct arena *arena, const struct record *base); /* for the record after `base` (may be NULL) */

/* ---- known.json (object_known.c) ---- */

recloser_status object_known_read(struct dataset *dataset, recloser_error *error) RC_CHECKED;
void object_known_write(struct dataset *dataset, struct arena *arena); /* best effort, if there is anything new */
/* A file of the control directory, relative to it, as known.json has it; NULL: ask. */
json_t *object_known_file(struct dataset *dataset, const char *relative);
/* Is it one that is kept in known.json only? `text` is its JSON; what else is worth it is kept as well. */
bool object_known_keep(struct dataset *dataset, const char *relative, const void *text, size_t count);
void object_known_alias(struct dataset *dataset, const char *relative, const char *alias); /* as control_alias */

/* ---- live objects (object_live.c) ---- */

recloser_status object_look(struct dataset *dataset, struct object_part *part,
							recloser_error *error) RC_CHECKED; /* one HEAD */
/* The same as live_expect allows: a GET where the bytes are going to be read, nothing where there is no record. */
recloser_status object_look_expecting(struct dataset *dataset, struct object_part *part, recloser_error *error) RC_CHECKED;
void object_forget(struct dataset *dataset, struct object_part *part); /* as partition_forget */
bool object_token_is_newest(const struct object_part *part);           /* the live object's is the newest record's */
/* part->state, by the token, else by a download that is kept. *moved: it is being replaced; look again. */
recloser_status object_judge(struct dataset *dataset, struct object_part *part, bool *moved,
							 recloser_error *error) RC_CHECKED;
/* A local copy of what is live, proved to be whole; *moved as above. */
recloser_status object_download(struct dataset *dataset, struct object_part *part, bool *moved,
								recloser_error *error) RC_CHECKED;
recloser_status object_live_file(struct dataset *dataset, struct arena *arena, const char *partition, const char **path,
								 recloser_error *error) RC_CHECKED;
recloser_status object_version_file(struct dataset *dataset, struct arena *arena, const struct record *record,
									const char **path, recloser_error *error) RC_CHECKED;
recloser_status object_version_place(struct dataset *dataset, struct arena *arena, const struct record *record,
									 const struct record *newest, const char **out, recloser_error *error) RC_CHECKED;
/* versions_live by listing, one request for 1,000 objects; *told false: it did not tell, ask for each. */
recloser_status object_versions_listed(struct dataset *dataset, const struct version_at *at, size_t count, bool *told,
									   recloser_error *error) RC_CHECKED;
/* As open_live, for those who only read: what a dead writer put is told as its version, and recorded by who writes. */
recloser_status object_open_live(struct dataset *dataset, const char *partition, struct record **record, enum live_state *state,
								 recloser_error *error) RC_CHECKED;
recloser_status object_live_state(struct dataset *dataset, struct arena *arena, const char *partition,
								  const struct record *record, enum live_state *out, recloser_error *error) RC_CHECKED;

/* ---- plans and settling (object_plan.c, object_settle.c) ---- */

const char *object_run_key(const struct dataset *dataset, struct arena *arena, const char *run);
recloser_status object_plan_put(struct dataset *dataset, struct arena *arena, struct object_plan *plan,
								recloser_error *error) RC_CHECKED;
/* Those that may tell who put what part->file is a copy of. */
recloser_status object_plans_read(struct dataset *dataset, const struct object_part *part, recloser_error *error) RC_CHECKED;
/* Does a report among them say that version `seq` was of these bytes? */
bool object_plan_reported(struct dataset *dataset, const char *partition, const char *sha256, int64_t seq);
/* An entry of some plan that puts these bytes on this base (NULL: any base; "": none). */
json_t *object_plan_find(struct dataset *dataset, const char *partition, const char *sha256, const char *base_sha256);
/* The record of version `seq`, which entry's PUT has made live as `token`. */
json_t *object_record_of(struct arena *arena, const json_t *entry, int64_t seq, const char *token);

/* Step 2. Until live is the newest record; what no plan explains is adopted if `adopt` is given, else left LIVE_FOREIGN. */
struct object_adopt {
	const struct commit_options *options;
	struct commit_report *report;
	const char *run;
};
recloser_status object_settle(struct dataset *dataset, struct object_part *part, const struct object_adopt *adopt,
							  bool again, recloser_error *error) RC_CHECKED;
/* Create record `seq`; *ours tells whether ours is there now. */
recloser_status object_record_put(struct dataset *dataset, struct object_part *part, json_t *json, int64_t seq, bool *ours,
								  recloser_error *error) RC_CHECKED;

/* ---- the rest ---- */

recloser_status object_staging_begin(struct dataset *dataset, struct arena *arena, const char *run, struct staging **out,
									 recloser_error *error) RC_CHECKED;
recloser_status object_staging_file(struct staging *staging, const char *partition, const char **path,
									recloser_error *error) RC_CHECKED;
recloser_status object_staging_link(struct staging *staging, const char *partition, const char *archived,
									recloser_error *error) RC_CHECKED;
recloser_status object_staging_drop(struct staging *staging, const char *partition, recloser_error *error) RC_CHECKED;
void object_staging_abandon(struct staging *staging);
recloser_status object_commit_run(struct staging *staging, struct arena *arena, struct entry *entries, size_t count,
								  const struct commit_options *options, struct commit_report *report,
								  recloser_error *error) RC_CHECKED;
recloser_status object_recover(struct dataset *dataset, struct arena *arena, bool deep, struct recovery *out,
							   recloser_error *error) RC_CHECKED;
void object_recorded(struct dataset *dataset, struct arena *arena, struct strings *warnings);
recloser_status object_recover_look(struct dataset *dataset, struct arena *arena, struct recovery *out,
									recloser_error *error) RC_CHECKED;
recloser_status object_recover_rebuild(struct dataset *dataset, struct arena *arena, struct recovery *out,
									   recloser_error *error) RC_CHECKED; /* object_rebuild.c */
/* What announced plans may still make live, as commit_open_entries gives it. */
recloser_status object_open_entries(struct dataset *dataset, struct arena *arena, json_t **out,
									recloser_error *error) RC_CHECKED;
recloser_status object_guarantees(struct dataset *dataset, struct arena *arena, json_t **out,
								  recloser_error *error) RC_CHECKED;
void object_unmake(struct dataset *dataset);
/* Refuses a store that ignores conditions, unless one writer is declared. */
recloser_status object_check_store(struct dataset *dataset, struct arena *arena, const char *run,
								   recloser_error *error) RC_CHECKED;

#endif
