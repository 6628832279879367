/* SPDX-License-Identifier: Apache-2.0 */
#include "grid_double.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

struct chunk {
	const struct source *source;
	struct grid_cell *cells; /* row by row */
	size_t columns;
};

static void break_off(const char *why)
{
	fprintf(stderr, "the source broke a rule: %s\n", why);
	abort();
}

static enum cell_type type_of(const struct source *source, size_t column)
{
	static const enum cell_type fixed[SOURCE_FIXED] = {CELL_INTEGER, CELL_INTEGER, CELL_INTEGER, CELL_TEXT};
	return column < SOURCE_FIXED ? fixed[column] : source->columns[column - SOURCE_FIXED].type;
}

static struct grid_cell *cell_at(struct chunk *chunk, size_t column, size_t row)
{
	if (column >= chunk->columns || row >= CHUNK_ROWS)
		break_off("a cell outside of the chunk");
	struct grid_cell *cell = &chunk->cells[row * chunk->columns + column];
	if (cell->put)
		break_off("a cell put twice");
	cell->put = true;
	return cell;
}

static void put(struct chunk *chunk, size_t column, size_t row, const char *bytes, size_t count)
{
	struct grid_cell *cell = cell_at(chunk, column, row);
	cell->at = malloc(count + 1);
	memcpy(cell->at, bytes, count);
	cell->at[count] = '\0';
	cell->count = count;
}

static void need(const struct chunk *chunk, size_t column, bool right)
{
	(void)chunk;
	(void)column;
	if (!right)
		break_off("a cell of another type than its column");
}

void chunk_put_null(struct chunk *chunk, size_t column, size_t row)
{
	cell_at(chunk, column, row);
}

void chunk_put_text(struct chunk *chunk, size_t column, size_t row, const char *bytes, size_t count)
{
	enum cell_type type = type_of(chunk->source, column);
	need(chunk, column, type == CELL_TEXT || type == CELL_BLOB || type == CELL_GEOMETRY);
	if (type == CELL_TEXT && text_utf8_fault(bytes, count) != SIZE_MAX)
		break_off("a text that is not UTF-8");
	put(chunk, column, row, bytes, count);
}

void chunk_put_int(struct chunk *chunk, size_t column, size_t row, int64_t value)
{
	enum cell_type type = type_of(chunk->source, column);
	need(chunk, column, type == CELL_INTEGER || (type >= CELL_DATE && type <= CELL_TIME));
	char text[32];
	put(chunk, column, row, text, (size_t)snprintf(text, sizeof text, "%" PRId64, value));
}

void chunk_put_double(struct chunk *chunk, size_t column, size_t row, double value)
{
	need(chunk, column, type_of(chunk->source, column) == CELL_DOUBLE);
	char text[40];
	put(chunk, column, row, text, (size_t)snprintf(text, sizeof text, "%.17g", value));
}

void chunk_put_bool(struct chunk *chunk, size_t column, size_t row, int value)
{
	need(chunk, column, type_of(chunk->source, column) == CELL_BOOLEAN);
	put(chunk, column, row, value ? "true" : "false", value ? 4 : 5);
}

struct reading {
	struct source *source;
	struct grid *grid;
	pthread_mutex_t *lock;
	recloser_error *error;
};

static void keep(struct reading *reading, const struct chunk *chunk, size_t rows)
{
	struct grid *grid = reading->grid;
	for (size_t i = 0; i < rows * chunk->columns; i++)
		if (!chunk->cells[i].put)
			break_off("a cell that was not put");
	pthread_mutex_lock(reading->lock);
	grid->cells = realloc(grid->cells, (grid->rows + rows + 1) * grid->columns * sizeof *grid->cells);
	memcpy(grid->cells + grid->rows * grid->columns, chunk->cells, rows * grid->columns * sizeof *grid->cells);
	grid->rows += rows;
	pthread_mutex_unlock(reading->lock);
}

static void *read_some(void *argument)
{
	struct reading *reading = argument;
	struct source *source = reading->source;
	struct chunk chunk = {.source = source, .columns = reading->grid->columns};
	void *own = source->ops->start ? source->ops->start(source) : NULL;
	recloser_error error = {0};
	for (;;) {
		chunk.cells = calloc(CHUNK_ROWS * chunk.columns, sizeof *chunk.cells);
		size_t rows = source->ops->next(source, own, &chunk, &error);
		if (rows > 0)
			keep(reading, &chunk, rows);
		else
			for (size_t i = 0; i < CHUNK_ROWS * chunk.columns; i++)
				free(chunk.cells[i].at);
		free(chunk.cells);
		if (rows == 0)
			break;
	}
	if (source->ops->stop)
		source->ops->stop(source, own);
	pthread_mutex_lock(reading->lock);
	if (error.status != RECLOSER_OK)
		*reading->error = error;
	pthread_mutex_unlock(reading->lock);
	return NULL;
}

static int by_number(const void *a, const void *b)
{
	int64_t one = strtoll(((const struct grid_cell *)a)->at, NULL, 10),
			other = strtoll(((const struct grid_cell *)b)->at, NULL, 10);
	return (one > other) - (one < other);
}

struct grid grid_read(struct source *source, int threads, recloser_error *error)
{
	struct grid grid = {.source = source, .columns = SOURCE_FIXED + source->column_count};
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct reading reading = {source, &grid, &lock, error};
	pthread_t others[16];
	if (threads > 1 && !source->ops->parallel)
		break_off("read by several threads");
	for (int i = 1; i < threads; i++)
		pthread_create(&others[i], NULL, read_some, &reading);
	read_some(&reading);
	for (int i = 1; i < threads; i++)
		pthread_join(others[i], NULL);
	if (error->status != RECLOSER_OK)
		grid_free(&grid);
	if (grid.rows)
		qsort(grid.cells, grid.rows, grid.columns * sizeof *grid.cells, by_number);
	return grid;
}

void grid_free(struct grid *grid)
{
	for (size_t i = 0; i < grid->rows * grid->columns; i++)
		free(grid->cells[i].at);
	free(grid->cells);
	grid->cells = NULL;
	grid->rows = 0;
}

const struct grid_cell *grid_cell(const struct grid *grid, size_t row, const char *column)
{
	for (size_t i = 0; row < grid->rows && i < grid->source->column_count; i++)
		if (strcmp(grid->source->columns[i].name, column) == 0)
			return &grid->cells[row * grid->columns + SOURCE_FIXED + i];
	return NULL;
}

const char *grid_at(const struct grid *grid, size_t row, const char *column)
{
	const struct grid_cell *cell = grid_cell(grid, row, column);
	return !cell ? "(no such column)" : cell->at ? cell->at : "(null)";
}

const char *grid_fixed(const struct grid *grid, size_t row, int column)
{
	struct grid_cell *cell = &grid->cells[row * grid->columns + (size_t)column];
	for (char *at = cell->at; at && *at; at++)
		if (*at == '\x1f')
			*at = '|';
	return cell->at ? cell->at : "(null)";
}

static const char *existing(const char *folder, const char *file, char *path, size_t size)
{
	snprintf(path, size, "%s/%s", folder, file);
	if (access(path, R_OK) == 0)
		return path;
	printf("skipped: %s is not there\n", path);
	return NULL;
}

const char *grid_real(const char *file, char *path, size_t size)
{
	const char *folder = getenv("RECLOSER_REAL_FILES");
	return existing(folder ? folder : TEST_SOURCE_DIR "/../../shared/real", file, path, size);
}

const char *grid_case(const char *file, char *path, size_t size)
{
	const char *folder = getenv("RECLOSER_CASES");
	return existing(folder ? folder : TEST_SOURCE_DIR "/../../shared/cases", file, path, size);
}
