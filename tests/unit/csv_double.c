/* SPDX-License-Identifier: Apache-2.0 */
#include "csv_double.h"

#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct chunk {
	struct cell *cells;
	size_t columns;
};

static void put(struct chunk *chunk, size_t column, size_t row, const char *bytes, size_t count)
{
	if (column >= chunk->columns || row >= CHUNK_ROWS)
		abort();
	struct cell *cell = &chunk->cells[row * chunk->columns + column];
	free(cell->at);
	cell->at = malloc(count + 1);
	memcpy(cell->at, bytes, count);
	cell->at[count] = '\0';
	cell->count = count;
}

void chunk_put_null(struct chunk *chunk, size_t column, size_t row)
{
	if (column >= chunk->columns || row >= CHUNK_ROWS)
		abort();
	free(chunk->cells[row * chunk->columns + column].at);
	chunk->cells[row * chunk->columns + column] = (struct cell){NULL, 0};
}

void chunk_put_text(struct chunk *chunk, size_t column, size_t row, const char *bytes, size_t count)
{
	if (text_utf8_fault(bytes, count) != SIZE_MAX)
		abort();
	put(chunk, column, row, bytes, count);
}

void chunk_put_int(struct chunk *chunk, size_t column, size_t row, int64_t value)
{
	char text[32];
	put(chunk, column, row, text, (size_t)snprintf(text, sizeof text, "%" PRId64, value));
}

void chunk_put_double(struct chunk *chunk, size_t column, size_t row, double value)
{
	char text[32];
	put(chunk, column, row, text, (size_t)snprintf(text, sizeof text, "%g", value));
}

void chunk_put_bool(struct chunk *chunk, size_t column, size_t row, int value)
{
	put(chunk, column, row, value ? "true" : "false", value ? 4 : 5);
}

struct reader {
	pthread_mutex_t *lock;
	struct source *source;
	struct table *table;
	recloser_error error;
};

static void *run(void *pointer)
{
	struct reader *reader = pointer;
	struct source *source = reader->source;
	size_t columns = source->column_count + SOURCE_FIXED;
	struct chunk chunk = {calloc(CHUNK_ROWS * columns, sizeof(struct cell)), columns};
	void *own = source->ops->start ? source->ops->start(source) : NULL;
	for (size_t rows; (rows = source->ops->next(source, own, &chunk, &reader->error)) > 0;) {
		pthread_mutex_lock(reader->lock);
		struct table *table = reader->table;
		table->cells = realloc(table->cells, (table->rows + rows) * columns * sizeof(struct cell));
		memcpy(table->cells + table->rows * columns, chunk.cells, rows * columns * sizeof(struct cell));
		table->rows += rows;
		pthread_mutex_unlock(reader->lock);
		memset(chunk.cells, 0, rows * columns * sizeof(struct cell));
	}
	/* A chunk that failed half-way keeps cells. */
	for (size_t i = 0; i < CHUNK_ROWS * columns; i++)
		free(chunk.cells[i].at);
	free(chunk.cells);
	if (source->ops->stop)
		source->ops->stop(source, own);
	return NULL;
}

static int by_row(const void *a, const void *b)
{
	long long x = atoll(((const struct cell *)a)->at), y = atoll(((const struct cell *)b)->at);
	return x < y ? -1 : x > y;
}

struct table read_all(struct source *source, int threads, recloser_error *error)
{
	struct table table = {NULL, source->column_count + SOURCE_FIXED, 0};
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct reader readers[16] = {{0}};
	pthread_t ids[16];
	for (int i = 0; i < threads; i++) {
		readers[i] = (struct reader){.lock = &lock, .source = source, .table = &table};
		if (pthread_create(&ids[i], NULL, run, &readers[i]) != 0)
			abort();
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(ids[i], NULL);
		if (readers[i].error.status != RECLOSER_OK && error && error->status == RECLOSER_OK)
			*error = readers[i].error;
	}
	if (table.rows)
		qsort(table.cells, table.rows, table.columns * sizeof(struct cell), by_row);
	if (error && error->status != RECLOSER_OK)
		table_free(&table);
	return table;
}

void table_free(struct table *table)
{
	for (size_t i = 0; i < table->rows * table->columns; i++)
		free(table->cells[i].at);
	free(table->cells);
	*table = (struct table){NULL, table->columns, 0};
}

const char *cell_text(const struct table *table, size_t row, size_t column)
{
	const char *at = table->cells[row * table->columns + column].at;
	return at ? at : "(null)";
}
