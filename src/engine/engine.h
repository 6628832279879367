/* SPDX-License-Identifier: Apache-2.0
 * The engine: DuckDB behind the few calls that the rest needs. Only this folder includes duckdb.h. */
#ifndef RECLOSER_ENGINE_ENGINE_H
#define RECLOSER_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/text.h"

struct engine;
struct source;

struct engine_options {
	int threads;           /* 0: one a processor; fewer where memory_bytes does not allow as many */
	uint64_t memory_bytes; /* 0: half of the machine's */
	const char *spill;     /* directory for spilling; made by the engine when it needs it; NULL: none */
};

/* In memory, no extensions loaded from outside, zone UTC. Closed with the arena. */
recloser_status engine_open(struct arena *arena, const struct engine_options *options, struct engine **out,
							recloser_error *error) RC_CHECKED;
/* A second connection to the same engine. */
recloser_status engine_connect(struct arena *arena, struct engine *engine, struct engine **out,
							   recloser_error *error) RC_CHECKED;

/* So many connections, each on a thread of its own, share the work from now on: they do not wait for one another, and a statement is
 * done by the thread that gives it. 0: as when the engine was opened, with threads of its own. No statement may be running. */
recloser_status engine_share(struct engine *engine, size_t connections, recloser_error *error) RC_CHECKED;

/* Run one or more statements. `doing` says what the step was for: "sort and write state=TX". */
recloser_status engine_run(struct engine *engine, const char *doing, const char *sql, recloser_error *error) RC_CHECKED;
recloser_status engine_runf(struct engine *engine, const char *doing, recloser_error *error, const char *format, ...)
	RC_PRINTF(4, 5) RC_CHECKED;

/* Small results, all as text; NULL cells are NULL. Hangs on the arena. */
struct rows {
	size_t row_count, column_count;
	const char **names;
	const char **types; /* the engine's type names */
	const char **cells; /* row by row */
};
recloser_status engine_query(struct engine *engine, struct arena *arena, const char *doing, const char *sql,
							 struct rows *out, recloser_error *error) RC_CHECKED;
const char *rows_at(const struct rows *rows, size_t row, size_t column);
int64_t rows_int(const struct rows *rows, size_t row, size_t column); /* NULL counts as 0 */

/* Names and types of a SELECT without running it. */
recloser_status engine_describe(struct engine *engine, struct arena *arena, const char *select, struct rows *out,
								recloser_error *error) RC_CHECKED; /* rows: name, type */

/* Make a source readable as `rc_scan(<id>)`; the id is given back. The source must outlive the engine's use of it. */
recloser_status engine_offer(struct engine *engine, struct source *source, uint64_t *id, recloser_error *error) RC_CHECKED;

/* Write a table as a sorted Parquet file (sorted.c). */
struct sorted_copy {
	const char *table, *order;  /* SQL */
	const char *hidden;         /* SQL: columns to leave out, or NULL */
	const char *const *longs;   /* text columns that may be long, none of them in `order`; ended by NULL */
	const char *file;
};
recloser_status engine_copy_sorted(struct engine *engine, struct arena *arena, const char *doing, const struct sorted_copy *copy,
								   recloser_error *error) RC_CHECKED;

/* Have the engine keep count on this connection. No statement may be running on it. */
void engine_watched(struct engine *engine);
/* How much of the statement that runs on this connection is done, 0 to 1; negative when the engine can't tell. From any thread. */
double engine_progress(struct engine *engine);
/* Stop a running statement from another thread or a signal handler's flag. */
void engine_interrupt(struct engine *engine);

/* SQL text, quoted: 'it''s' and "a ""b""". */
const char *sql_text(struct arena *arena, const char *value); /* NULL gives NULL */
const char *sql_name(struct arena *arena, const char *name);

/* Refuse an expression of a spec that is more than a function of one row: no subquery, no table, no window, no aggregate, no
 * function that is not pure. `columns` is what it may name; NULL: anything. RECLOSER_USAGE. */
recloser_status engine_check_expression(struct engine *engine, struct arena *arena, const char *expression,
										const struct strings *columns, recloser_error *error) RC_CHECKED;

size_t engine_threads(const struct engine *engine); /* that may be at work, those that give statements among them */
bool engine_spills(const struct engine *engine); /* it was given a directory for that */
uint64_t engine_memory(const struct engine *engine); /* what it was given, in bytes */
const char *engine_version(void); /* "v1.5.6" */

#endif
