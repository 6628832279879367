/* SPDX-License-Identifier: Apache-2.0
 * The rows of one run inside the engine, in the table `batch`, from all its sources; and what is taken out of them before
 * anything is written: bad rows, exact doubles, rows that lost to a later revision. What remains in `batch` is what will
 * stand in the files. Every row that leaves is counted; rows_in is the sum (design invariant I7). */
#ifndef RECLOSER_BATCH_BATCH_H
#define RECLOSER_BATCH_BATCH_H

#include "batch/layout.h"
#include "engine/content.h"

struct batch_column {
	const char *name, *type; /* type: the engine's */
	bool partition, key, geometry;
	bool mark;               /* CARRIED_COLUMN, added by `disappeared: carry`; not a column of the source that is called so */
	const char *aside;       /* gathered rows hold its place in a file, in the column BATCH_PLACE and its number: "text" or "bytes" by type */
};

/* Bytes of the values of some rows, over all of them: texts, geometries, lists of numbers, other lists and structs as text. */
struct batch_widths {
	uint64_t rows;
	uint64_t *bytes;         /* an element a column; NULL: not measured */
};

/* One partition of the batch. */
struct batch_part {
	const char *path;        /* "state=TX/month=2026-07" */
	const char **values;     /* in the order of the spec's partition columns, as text */
	const char *rows_sql;    /* its rows, as SQL behind FROM: a table with a condition, to which more may be added with AND */
	const struct input **inputs; /* the files that its rows came from, in the order of the run */
	size_t input_count;
	int64_t number;          /* the rows' _rc_part once they are clustered; -1 before */
	bool sorted;             /* rows_sql gives them in the order of the spec without being asked to */
	uint64_t rows_in;        /* good rows before doubles and revisions were taken out */
	uint64_t rows;           /* what will be written */
	uint64_t superseded, collapsed;
	struct batch_widths widths; /* of what will be written; known after the content pass */
};

struct batch {
	struct arena *arena;
	struct layout_context *context;
	struct layout **layouts;
	size_t layout_count;
	struct batch_column *columns; /* stored columns, in file order: key, listed, unlisted, geometry */
	size_t column_count;
	bool has_geometry;
	const char *key_sql;          /* `batch` makes its key column by this when it is asked for it; NULL: it is stored */
	bool clustered;               /* batch_cluster has been called */
	bool gathered;                /* and has put the rows of all or some partitions into a table of their own */
	bool holed;                   /* rows were taken out: `batch` is a view that leaves them out, and no table */
	struct batch_part *parts;     /* sorted by path */
	size_t part_count;
	uint64_t rows_in, filtered, quarantined, superseded, collapsed, ties;
	struct strings warnings;
};

/* Create `batch` from all layouts. Columns are united by name; RECLOSER_REFUSED when two sources give one column different types. */
recloser_status batch_read(struct arena *arena, struct layout_context *context, struct layout **layouts, size_t count,
                           struct batch **out, recloser_error *error) RC_CHECKED;

/* Take rows out: SQL behind FROM that gives their _rc_src and _rc_row. They are listed, not deleted: for each stretch of 2,048 rows
 * that lost one the engine would keep 16 kB that it can't spill. *count, where wanted, grows by their number. */
recloser_status batch_take_out(struct batch *batch, const char *doing, const char *rows_sql, uint64_t *count, recloser_error *error) RC_CHECKED;
/* Make `batch` a table again, for who changes its rows. */
recloser_status batch_settle(struct batch *batch, recloser_error *error) RC_CHECKED;

/* Move bad rows into the table `quarantine` and apply the limit. RECLOSER_REFUSED over it, with the failing spellings. */
recloser_status batch_quarantine(struct batch *batch, recloser_error *error) RC_CHECKED;
/* Lines for the report, "2 rows quarantined: capacity_mw is \"TBD\" (rows 412, 977)", at most `most`. */
recloser_status quarantine_summary(struct batch *batch, size_t most, struct strings *out, recloser_error *error) RC_CHECKED;
/* Write the table `quarantine` as Parquet. */
recloser_status quarantine_write(struct batch *batch, const char *path, recloser_error *error) RC_CHECKED;

/* Those of `wanted` in which, or below which, the source has no row, not even one in quarantine; *near is a partition that it has. */
recloser_status batch_has(struct batch *batch, const char *const *wanted, size_t count, struct strings *unknown, const char **near,
                          recloser_error *error) RC_CHECKED;
/* Keep only the partitions that are wanted (--only); the rest counts as filtered. */
recloser_status batch_only(struct batch *batch, const char *const *wanted, size_t count, recloser_error *error) RC_CHECKED;
/* Find the partitions; refuse two files for one where the spec does not allow it; report look-alike and clashing values. */
recloser_status batch_find_parts(struct batch *batch, recloser_error *error) RC_CHECKED;
/* Collapse exact doubles, let later revisions supersede, refuse two identities with one key. Fills in the parts' counts. */
recloser_status batch_resolve(struct batch *batch, recloser_error *error) RC_CHECKED;

/* Bring the rows of each of many partitions together (cluster.c): parts are selected cheaply from then on. `wanted` has an
 * element a partition; NULL: all. Done once. */
recloser_status batch_cluster(struct batch *batch, const bool *wanted, recloser_error *error) RC_CHECKED;

/* Before files are written: what only judged the rows goes, so that the sort has its room. Nothing may be judged after it. */
recloser_status batch_lighten(struct batch *batch, recloser_error *error) RC_CHECKED;

/* The columns as the content fingerprint sees them; `crs_id` goes into its schema text and is no part of a row's digest. */
struct content_schema batch_content_schema(const struct batch *batch, const char *crs_id);
/* Rows that were put into the batch from a live version (_rc_src -1) get their digests. */
recloser_status batch_digest_carried(struct batch *batch, recloser_error *error) RC_CHECKED;

/* ---- wide rows (wide.c) ---- */

/* From which length on, on average over some rows, texts and geometries are long: worth a place in a file, or a digest. */
enum { BATCH_LONG_BYTES = 256 };
/* SQL: the bytes of a value of this type, `name` being SQL as well; NULL: all values are of one length. */
const char *batch_length_sql(struct arena *arena, const char *name, const char *type);
/* SQL aggregates over rows of the batch: their number and the lengths of their values; and taking them from a result, from a column on. */
const char *batch_lengths_sql(struct arena *arena, const struct batch *batch);
void batch_take_lengths(struct arena *arena, const struct batch *batch, const struct rows *rows, size_t row, size_t from,
                        struct batch_widths *out);
/* Those of all wanted parts together (NULL: all), measured if the content pass has not been. */
recloser_status batch_widths(const struct batch *batch, const bool *wanted, struct batch_widths *out, recloser_error *error) RC_CHECKED;
/* Of a row, on average; values of fixed length not counted. */
double batch_row_bytes(const struct batch *batch, const struct batch_widths *widths);
/* A sort of these rows holds more than there is memory for. */
bool batch_crowded(const struct batch *batch, const struct batch_widths *widths);
/* A text or geometry that is long in these rows. */
bool batch_is_long(const struct batch *batch, const struct batch_widths *widths, size_t column);
/* A column that goes through the sort as its place in a file, since the rows are crowded and its values long: "text" or "bytes", of
 * which `rc_aside_text(value)` makes a place and `rc_text_at(place)` the value; else NULL. */
const char *batch_aside_type(const struct batch *batch, const struct batch_widths *widths, size_t column);
#define BATCH_PLACE "_rc_place_"
/* How many threads the memory is enough for that sort and write such rows; at least 1. */
size_t batch_writes_at_once(const struct batch *batch, const struct batch_widths *widths);
/* A sort of these rows failed with `status`: where it was for memory and the rows are wide, say what is held and what would do.
 * Gives the status back. */
recloser_status batch_blame_width(const struct batch *batch, const struct batch_widths *widths, recloser_status status, recloser_error *error);

/* Is this a type of which a value's text gives the value back, and the key of a value is the key of its text? */
bool batch_is_plain(const char *type);
/* SQL: the key from the identity's stored columns, each as `value` writes it (NULL: by its name); NULL where their text does not give
 * the key. */
typedef const char *batch_value(const void *context, const struct batch_column *column);
const char *batch_key_sql(struct arena *arena, const struct batch *batch, batch_value *value, const void *context);
/* SQL: the partition path of a row, NULL when a value is missing. */
const char *batch_path_sql(struct arena *arena, const struct strings *partition);
/* SQL: the identity fields or expressions as they stand in `batch`, without partition columns (constant inside a part):
 * what a part is sorted by. */
const char *batch_order_sql(struct arena *arena, const struct batch *batch);

#endif
