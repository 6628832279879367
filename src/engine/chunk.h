/* SPDX-License-Identifier: Apache-2.0
 * What a source fills: up to CHUNK_ROWS rows of typed columns. A thin face over the engine's data chunk, so that sources
 * need not know the engine. Called from the engine's threads: nothing here allocates on an arena or jumps. */
#ifndef RECLOSER_ENGINE_CHUNK_H
#define RECLOSER_ENGINE_CHUNK_H

#include <stddef.h>
#include <stdint.h>

enum { CHUNK_ROWS = 2048 };

/* Types that a source can hand over. A source that knows only texts uses CELL_TEXT. */
enum cell_type {
	CELL_TEXT,
	CELL_INTEGER, /* int64 */
	CELL_DOUBLE,
	CELL_BOOLEAN,
	CELL_DATE,        /* days since 1970 */
	CELL_TIMESTAMP,   /* microseconds since 1970, no zone */
	CELL_TIMESTAMPTZ, /* microseconds since 1970, UTC */
	CELL_TIME,        /* microseconds of the day */
	CELL_BLOB,
	CELL_GEOMETRY /* ISO WKB bytes; arrives in the engine as BLOB */
};

struct chunk;
/* A value not put stays undefined: every cell of every row in the chunk must be put, or put as null. */
void chunk_put_null(struct chunk *chunk, size_t column, size_t row);
void chunk_put_text(struct chunk *chunk, size_t column, size_t row, const char *bytes,
					size_t count);                                                 /* valid UTF-8; BLOB and GEOMETRY too */
void chunk_put_int(struct chunk *chunk, size_t column, size_t row, int64_t value); /* INTEGER, DATE, TIMESTAMP(TZ), TIME */
void chunk_put_double(struct chunk *chunk, size_t column, size_t row, double value);
void chunk_put_bool(struct chunk *chunk, size_t column, size_t row, int value);

#endif
