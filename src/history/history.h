/* SPDX-License-Identifier: Apache-2.0
 * Versions over time: what was live when, what changed between two versions, why a version came to be, bringing one back,
 * letting old ones go. Nothing here writes into the dataset tree: an earlier version becomes live by the commit protocol
 * like any other, and prune removes archived files only.
 *
 * Each function takes a `struct history` and adds what it has to say to its `json` and `text`; the public calls
 * (src/run/history_calls.c) make the result of it, also when the status is not OK. */
#ifndef RECLOSER_HISTORY_HISTORY_H
#define RECLOSER_HISTORY_HISTORY_H

#include "commit/commit.h"
#include "engine/engine.h"
#include "spec/spec.h"

struct history {
	struct arena *arena;
	const struct spec *spec;
	struct dataset *dataset;
	struct engine *engine; /* NULL where the function needs none */
	json_t *json;          /* an object */
	struct text text;
};

/* ---- times (when.c) ---- */

/* The end of what is written, in microseconds: "2026-07-31" is the whole day, "2026-07-31T12:00Z" the whole minute; a blank
 * for the T and a missing Z are fine. *out is the last microsecond inside. False: not a time. */
bool when_end(const char *text, int64_t *out);
/* The beginning of the same. */
bool when_begin(const char *text, int64_t *out);
/* "90 days", "6 months", "2w", "1 year" before `now`; months and years by the calendar, the day cut to the month's last. */
bool when_before(const char *span, int64_t now, int64_t *out);
/* "2026-07-31 04:12", for people; "" for NULL. */
const char *when_shown(struct arena *arena, const char *loaded_at);

/* ---- versions (versions.c) ---- */

struct versions {
	struct record **at; /* seq 1 first, void ones and holes left out */
	size_t count;
	struct record *newest;
};
recloser_status versions_of(struct dataset *dataset, struct arena *arena, const char *partition, struct versions *out,
							recloser_error *error) RC_CHECKED;
/* The one partition that `wanted` means: its path, or enough of its parts. RECLOSER_USAGE with what there is. */
recloser_status partition_named(struct dataset *dataset, struct arena *arena, const char *wanted, const char **out,
								recloser_error *error) RC_CHECKED;
/* Where the bytes of a version are to be had (kept.c): its own archived file, else that of another version of the partition that
 * has the same bytes, as a restored one has. The live file only when nothing archived has them: the next load replaces it. */
struct kept {
	struct record *record; /* whose file it is; NULL: the bytes are nowhere any more */
	const char *file;      /* path or URL, for people and views; version_file(kept.record) gives a local one */
	bool live;
};
/* `newest` of its partition. `versions`: all of them, where they were read already; NULL: they are, when they are needed. */
recloser_status version_kept(struct dataset *dataset, struct arena *arena, struct record *record, struct record *newest,
							 const struct versions *versions, struct kept *out, recloser_error *error) RC_CHECKED;
/* "; its bytes are kept as seq 3", or "" where it has a file of its own or none. */
const char *kept_shown(struct arena *arena, const struct record *record, const struct kept *kept);
/* RECLOSER_FAULT unless the local file has the SHA-256 of the record. version_kept and version_file (commit.h) find it. */
recloser_status version_sound(struct dataset *dataset, const struct record *record, const char *file,
							  recloser_error *error) RC_CHECKED;
/* Why it came to be, in words: "40 new, 25 gone and 214 revised keys, from july.csv", "restored from seq 3". */
const char *version_reason(struct arena *arena, const struct record *record);
/* "1,879 rows" */
const char *version_rows_shown(struct arena *arena, const struct record *record);
/* {seq, kind, loaded_at, run, rows, bytes, sha256, content_fingerprint}. */
json_t *version_json(struct arena *arena, const struct record *record);
/* The text for a partition where one stands alone: its path, "(one file)" for "". */
const char *partition_shown(const char *partition);
recloser_status history_of(struct history *h, const char *partition, recloser_error *error) RC_CHECKED;

/* ---- what was pruned (prunes.c): prunes/<run>.json ---- */

/* All of them, as one array, the newest last. */
recloser_status prunes_read(struct dataset *dataset, struct arena *arena, json_t **out, recloser_error *error) RC_CHECKED;
/* "pruned on 2026-08-01 by run ...", or NULL when no prune says so. */
const char *pruned_how(struct arena *arena, const json_t *prunes, const char *partition, int64_t seq);
/* Is a prune at work that means to delete it? */
bool prune_announced(const json_t *prunes, const char *partition, int64_t seq);

/* ---- tags (tags.c) ---- */

struct pin {
	const char *partition, *sha256;
	int64_t seq;
};
struct tag {
	const char *name, *made_at;
	struct pin *at;
	size_t count;
};
struct tags {
	struct tag *at;
	size_t count;
};
bool tag_name_good(const char *name);
/* NULL when there is none of this name. */
recloser_status tag_read(struct dataset *dataset, struct arena *arena, const char *name, struct tag **out,
						 recloser_error *error) RC_CHECKED;
recloser_status tags_read(struct dataset *dataset, struct arena *arena, struct tags *out, recloser_error *error) RC_CHECKED;
const struct pin *tag_pins(const struct tag *tag, const char *partition, int64_t seq); /* NULL: it does not */
recloser_status tag_make(struct history *h, const char *name, const char *at, recloser_error *error) RC_CHECKED;
recloser_status tag_remove(struct history *h, const char *name, recloser_error *error) RC_CHECKED;
recloser_status tag_list(struct history *h, recloser_error *error) RC_CHECKED;

/* ---- as-of (as_of.c, as_of_out.c) ---- */

struct moment_version {
	struct record *record, *newest;
	struct kept kept;
	const char *lost; /* why it is not to be had; NULL: it is */
};
struct moment {
	const char *shown; /* "2026-07-31", "tag q2-filing" */
	struct moment_version *at;
	size_t count;
};
/* RECLOSER_USAGE when `at` is neither a time nor a tag. A version that is not to be had is told in its `lost`. */
recloser_status as_of_select(struct dataset *dataset, struct arena *arena, const char *at, struct moment *out,
							 recloser_error *error) RC_CHECKED;
const char *as_of_sql(const struct history *h, const struct moment *moment);
/* Copies, each proved by SHA-256; the directory appears when it is whole. */
recloser_status as_of_copy(struct history *h, const struct moment *moment, const char *directory,
						   recloser_error *error) RC_CHECKED;
recloser_status as_of(struct history *h, const recloser_as_of_options *options, recloser_error *error) RC_CHECKED;

/* ---- diff (diff.c, diff_sql.c) ---- */

struct diff_side {
	const char *label; /* "seq 3", "live, seq 4", "july.csv" */
	const char *partition;
	const char *relation;  /* SQL: a table of the engine */
	int64_t seq;           /* 0: a file that was not loaded */
	const char *loaded_at; /* or NULL */
};
/* The two versions that the options mean. With `file` only the older side is filled in. */
recloser_status diff_sides(struct history *h, const recloser_diff_options *options, struct diff_side *older,
						   struct diff_side *newer, recloser_error *error) RC_CHECKED;
recloser_status diff(struct history *h, const recloser_diff_options *options, const struct diff_side *older,
					 const struct diff_side *newer, recloser_error *error) RC_CHECKED;

/* ---- the rest, one file each ---- */

recloser_status restore(struct history *h, const recloser_restore_options *options, recloser_error *error) RC_CHECKED;
recloser_status prune(struct history *h, const recloser_prune_options *options, recloser_error *error) RC_CHECKED;
/* `datasets` are looked at one after another; h->dataset and h->spec are not used. */
recloser_status why(struct history *h, const char *file, struct dataset *const *datasets, size_t count,
					recloser_error *error) RC_CHECKED;
/* The datasets below the roots that `why` looks at when no spec is named. */
recloser_status why_datasets(struct arena *arena, struct fs *fs, const char *file, const char *root, struct dataset ***out,
							 size_t *count, recloser_error *error) RC_CHECKED;
recloser_status doctor(struct history *h, bool quick, recloser_error *error) RC_CHECKED;

/* ---- sources (sources.c) ---- */

/* `archive: {sources: true}`: keep the bytes of an input under sources-archive/<sha256>, whole or not at all; once for all
 * that load them. `file` is where to read it, `scratch` a directory of this run's own on the dataset's file system. */
recloser_status source_archive(struct dataset *dataset, struct arena *arena, const char *file, const char *sha256,
							   const char *scratch, recloser_error *error) RC_CHECKED;
/* Its path when it is there, else NULL. */
const char *source_archived(struct dataset *dataset, struct arena *arena, const char *sha256);

/* ---- series (series.c) ---- */

enum series_kind { SERIES_NONE, SERIES_YEAR, SERIES_QUARTER, SERIES_MONTH, SERIES_DAY, SERIES_MONTH_DIGITS, SERIES_DAY_DIGITS };
/* "2026" a year, "2026-Q3", "2026-07", "2026-07-31", "202607", "20260731". *ordinal counts in units of the kind. */
enum series_kind series_value(const char *value, int64_t *ordinal);
const char *series_text(struct arena *arena, enum series_kind kind, int64_t ordinal);
/* One line of partitions that differ in the series column only, in its order. */
struct line {
	const char *group; /* the other columns: "iso=ercot/state=TX" */
	const char **partitions, **values;
	size_t count;
};
/* Without a series column each partition is a line of its own. */
recloser_status series_lines(struct dataset *dataset, struct arena *arena, const struct spec *spec, struct line **out,
							 size_t *count, recloser_error *error) RC_CHECKED;
/* Values that are missing between the first and the last, at the line's own step (monthly, quarterly, weekly). */
void series_gaps(struct arena *arena, const struct line *line, struct strings *out);

#endif
