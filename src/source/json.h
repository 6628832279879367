/* SPDX-License-Identifier: Apache-2.0
 * The JSON source inside: where the records are in the text, walking them, and the columns they give.
 *
 * Two passes go over the mapped text. The first finds the columns with their kinds, counts the records and leaves a
 * checkpoint every CHUNK_ROWS of them; the second fills chunks, each from its checkpoint, so that several threads may. */
#ifndef RECLOSER_SOURCE_JSON_H
#define RECLOSER_SOURCE_JSON_H

#include <pthread.h>

#include "base/json_scan.h"
#include "source/bytes.h"
#include "source/source.h"

/* Where the records of a text are. */
struct json_place {
	const char *begin, *end; /* the whole text */
	const char *records;     /* behind the bracket of their array, or at the first of a sequence */
	bool array;              /* else a sequence of values: JSON lines */
	bool whole;              /* the array is the whole text, so what follows it is still unread */
	bool features;           /* GeoJSON features */
	struct value crs;        /* of a FeatureCollection; `at` NULL: no such member */
};
recloser_status json_find(struct arena *arena, const struct source_request *request, const struct bytes *bytes,
						  struct json_place *out, recloser_error *error) RC_CHECKED;
/* RECLOSER_REFUSED with line and byte offset of `at`. */
recloser_status json_refuse(const struct source_request *request, const struct json_place *place, const char *at,
							const char *what, const char *hint, recloser_error *error);

/* A walk over the records. */
struct json_cursor {
	const struct json_place *place;
	struct json_scan scan;
	bool first;
	uint64_t number, line; /* of the record, from 1 */
	const char *start;     /* where the record begins */
	const char *counted;   /* line breaks are counted up to here */
};
struct json_cursor json_cursor_of(const struct json_place *place);
/* To the next record, which the caller must then visit; false: the end, or cursor->scan.wrong. */
bool json_cursor_next(struct json_cursor *cursor);
uint64_t json_cursor_line(struct json_cursor *cursor); /* of where the scan is */
/* After a broken record of JSON lines: to the end of its line. */
void json_cursor_skip_line(struct json_cursor *cursor);

/* What a record holds is told to a visitor; a value's texts point into the source. Every function must be given. */
struct json_visitor {
	void *arg;
	void (*member)(void *arg, struct json_scan *scan, const struct value *name, const struct value *value);
	void (*geometry)(void *arg, const struct value *value); /* of a feature; not called when absent */
	void (*id)(void *arg, struct json_scan *scan, const struct value *value);
	void (*foreign)(void *arg, const struct value *name); /* another member of a feature */
};
/* Scan the record at the cursor. A static text says what is wrong with it as a record; NULL: nothing. Check scan.wrong. */
const char *json_visit(struct json_scan *scan, bool features, const struct json_visitor *visitor);

/* The columns: members in the order in which they first appeared. */
enum {
	KIND_INTEGER = 1,
	KIND_NUMBER = 2,
	KIND_BOOLEAN = 4,
	KIND_TEXT = 8,     /* texts, objects and arrays */
	KIND_INEXACT = 16, /* a number that a double cannot hold as spelled, or an integer beyond 64 bits */
	KIND_LONG = 32     /* an integer that only a BIGINT can hold */
};
struct json_column {
	const char *name;
	size_t count;
	unsigned kinds;
	uint64_t seen; /* the last record that had it */
};
struct json_columns {
	struct json_column *at;
	size_t count, capacity;
	uint32_t *slots; /* open addressing; column index + 1 */
	size_t slot_count;
};
/* SIZE_MAX: none. `guess` is tried first: members mostly come in the same order. */
size_t json_column_find(const struct json_columns *columns, const char *name, size_t count, size_t guess);
size_t json_column_add(struct arena *arena, struct json_columns *columns, const char *name, size_t count);
void json_column_note(struct json_column *column, const struct value *value);
enum column_type json_column_type(unsigned kinds);

/* A place in the text from which a chunk can be read. */
struct json_checkpoint {
	const char *at;
	uint64_t line;
};

struct json_source {
	struct source source;
	struct source_request request;
	struct json_place place;
	struct json_columns columns;
	size_t id_column, geometry_column; /* SIZE_MAX: none; they come after `columns` */
	unsigned id_kinds;
	struct json_checkpoint *checkpoints;
	size_t checkpoint_count;
	uint64_t record_count;
	pthread_mutex_t lock; /* for `next` and the source's counts */
	size_t next;          /* the next checkpoint to hand out */
};
/* The first pass. */
recloser_status json_survey(struct arena *arena, struct json_source *source, recloser_error *error) RC_CHECKED;
/* The second. */
extern const struct source_ops json_ops;

#endif
