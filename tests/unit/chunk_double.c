/* SPDX-License-Identifier: Apache-2.0 */
#include "chunk_double.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct chunk {
	size_t columns;
	char **cells; /* column by column */
};

struct chunk *chunk_double_new(size_t columns)
{
	struct chunk *chunk = malloc(sizeof *chunk);
	chunk->columns = columns;
	chunk->cells = calloc(columns * CHUNK_ROWS, sizeof *chunk->cells);
	return chunk;
}

void chunk_double_free(struct chunk *chunk)
{
	for (size_t i = 0; i < chunk->columns * CHUNK_ROWS; i++)
		free(chunk->cells[i]);
	free(chunk->cells);
	free(chunk);
}

const char *chunk_double_at(const struct chunk *chunk, size_t column, size_t row)
{
	return chunk->cells[column * CHUNK_ROWS + row];
}

static void put(struct chunk *chunk, size_t column, size_t row, char *value)
{
	if (column >= chunk->columns || row >= CHUNK_ROWS)
		abort();
	char **cell = &chunk->cells[column * CHUNK_ROWS + row];
	free(*cell);
	*cell = value;
}

void chunk_put_null(struct chunk *chunk, size_t column, size_t row)
{
	put(chunk, column, row, NULL);
}

void chunk_put_text(struct chunk *chunk, size_t column, size_t row, const char *bytes, size_t count)
{
	char *copy = malloc(count + 1);
	memcpy(copy, bytes, count);
	copy[count] = '\0';
	put(chunk, column, row, copy);
}

static void put_printed(struct chunk *chunk, size_t column, size_t row, const char *text)
{
	chunk_put_text(chunk, column, row, text, strlen(text));
}

void chunk_put_int(struct chunk *chunk, size_t column, size_t row, int64_t value)
{
	char text[32];
	snprintf(text, sizeof text, "%" PRId64, value);
	put_printed(chunk, column, row, text);
}

void chunk_put_double(struct chunk *chunk, size_t column, size_t row, double value)
{
	char text[64];
	snprintf(text, sizeof text, "%.17g", value);
	put_printed(chunk, column, row, text);
}

void chunk_put_bool(struct chunk *chunk, size_t column, size_t row, int value)
{
	put_printed(chunk, column, row, value ? "true" : "false");
}
