/* SPDX-License-Identifier: Apache-2.0
 * rc_scan(id): a table function that lets a statement read an offered source.
 *
 * Its columns are _row, _line, _offset and _fault, then the source's own as c0, c1, ... whatever the header says. Columns
 * that a statement does not name are not stored. A failure of the reader ends the statement; the reader's own error is kept
 * with the source and found again by the id in the message (scan_failure). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/chunk_fill.h"
#include "source/source.h"

static const char FAILED[] = "rc_scan(%llu) failed";
static const char FAILED_START[] = "rc_scan(";

static struct offered *find(struct engine_shared *shared, uint64_t id)
{
	pthread_mutex_lock(&shared->lock);
	struct offered *at = shared->offered;
	while (at && at->id != id)
		at = at->next;
	pthread_mutex_unlock(&shared->lock);
	return at;
}

recloser_status engine_offer(struct engine *engine, struct source *source, uint64_t *id, recloser_error *error)
{
	struct engine_shared *shared = engine->shared;
	struct offered *offered = calloc(1, sizeof *offered);
	if (!offered)
		return error_set(error, RECLOSER_IO, "memory", "out of memory");
	offered->shared = shared;
	offered->source = source;
	pthread_mutex_lock(&shared->lock);
	offered->id = *id = ++shared->last_id;
	offered->next = shared->offered;
	shared->offered = offered;
	pthread_mutex_unlock(&shared->lock);
	return RECLOSER_OK;
}

static void keep_failure(struct offered *offered, const recloser_error *failure)
{
	pthread_mutex_lock(&offered->shared->lock);
	if (offered->failure.status == RECLOSER_OK)
		offered->failure = *failure;
	pthread_mutex_unlock(&offered->shared->lock);
}

bool scan_failure(struct engine_shared *shared, const char *message, recloser_error *error)
{
	const char *at = strstr(message, FAILED_START);
	if (!at)
		return false;
	struct offered *offered = find(shared, strtoull(at + strlen(FAILED_START), NULL, 10));
	if (!offered)
		return false;
	pthread_mutex_lock(&shared->lock);
	bool failed = offered->failure.status != RECLOSER_OK;
	if (failed && error && error->status == RECLOSER_OK)
		*error = offered->failure;
	error_clear(&offered->failure); /* the next scan starts anew */
	pthread_mutex_unlock(&shared->lock);
	return failed;
}

/* ---- bind: the columns ---- */

static const enum cell_type fixed_types[SOURCE_FIXED] = {CELL_INTEGER, CELL_INTEGER, CELL_INTEGER, CELL_TEXT};
static const char *const fixed_names[SOURCE_FIXED] = {"_row", "_line", "_offset", "_fault"};

static duckdb_type engine_type(enum cell_type type)
{
	switch (type) {
	case CELL_TEXT:
		return DUCKDB_TYPE_VARCHAR;
	case CELL_INTEGER:
		return DUCKDB_TYPE_BIGINT;
	case CELL_DOUBLE:
		return DUCKDB_TYPE_DOUBLE;
	case CELL_BOOLEAN:
		return DUCKDB_TYPE_BOOLEAN;
	case CELL_DATE:
		return DUCKDB_TYPE_DATE;
	case CELL_TIMESTAMP:
		return DUCKDB_TYPE_TIMESTAMP;
	case CELL_TIMESTAMPTZ:
		return DUCKDB_TYPE_TIMESTAMP_TZ;
	case CELL_TIME:
		return DUCKDB_TYPE_TIME;
	case CELL_BLOB:
	case CELL_GEOMETRY:
		return DUCKDB_TYPE_BLOB;
	}
	return DUCKDB_TYPE_VARCHAR;
}

static enum cell_type cell_type_of(const struct source *source, size_t column)
{
	return column < SOURCE_FIXED ? fixed_types[column] : source->columns[column - SOURCE_FIXED].type;
}

static void bind(duckdb_bind_info info)
{
	struct engine_shared *shared = duckdb_bind_get_extra_info(info);
	duckdb_value value = duckdb_bind_get_parameter(info, 0);
	int64_t id = duckdb_get_int64(value);
	duckdb_destroy_value(&value);
	struct offered *offered = find(shared, (uint64_t)id);
	if (!offered) {
		duckdb_bind_set_error(info, "rc_scan: no source was offered under this number");
		return;
	}
	for (size_t i = 0; i < SOURCE_FIXED + offered->source->column_count; i++) {
		char name[24];
		snprintf(name, sizeof name, "c%zu", i - SOURCE_FIXED);
		duckdb_logical_type type = duckdb_create_logical_type(engine_type(cell_type_of(offered->source, i)));
		duckdb_bind_add_result_column(info, i < SOURCE_FIXED ? fixed_names[i] : name, type);
		duckdb_destroy_logical_type(&type);
	}
	duckdb_bind_set_bind_data(info, offered, NULL);
}

/* ---- the scan: which columns are read, shared by its threads; then one reader a thread ---- */

struct scan {
	size_t projected;
	idx_t columns[]; /* the logical column of each vector */
};

struct reader {
	struct offered *offered;
	void *own;
	bool started, ended;
	recloser_error error;
	struct chunk chunk;
};

static void start_scan(duckdb_init_info info)
{
	struct offered *offered = duckdb_init_get_bind_data(info);
	size_t projected = duckdb_init_get_column_count(info);
	struct scan *scan = malloc(sizeof *scan + projected * sizeof *scan->columns);
	if (!scan) {
		duckdb_init_set_error(info, "out of memory");
		return;
	}
	scan->projected = projected;
	for (size_t i = 0; i < projected; i++)
		scan->columns[i] = duckdb_init_get_column_index(info, i);
	duckdb_init_set_init_data(info, scan, free);
	enum { MANY = 1024 }; /* the engine has fewer threads than this */
	duckdb_init_set_max_threads(info, offered->source->ops->parallel ? MANY : 1);
}

static void stop_reader(void *pointer)
{
	struct reader *reader = pointer;
	const struct source_ops *ops = reader->offered->source->ops;
	if (reader->started && ops->stop)
		ops->stop(reader->offered->source, reader->own);
	free(reader);
}

static void start_reader(duckdb_init_info info)
{
	struct offered *offered = duckdb_init_get_bind_data(info);
	struct source *source = offered->source;
	size_t columns = SOURCE_FIXED + source->column_count;
	struct reader *reader = calloc(1, sizeof *reader + columns * sizeof *reader->chunk.columns);
	if (!reader) {
		duckdb_init_set_error(info, "out of memory");
		return;
	}
	reader->offered = offered;
	reader->chunk.column_count = columns;
	for (size_t i = 0; i < columns; i++)
		reader->chunk.columns[i].type = cell_type_of(source, i);
	if (source->ops->start) {
		reader->own = source->ops->start(source);
		if (!reader->own) {
			free(reader);
			duckdb_init_set_error(info, "out of memory");
			return;
		}
	}
	reader->started = true;
	duckdb_init_set_init_data(info, reader, stop_reader);
}

static void attach(struct chunk *chunk, const struct scan *scan, duckdb_data_chunk output)
{
	for (size_t i = 0; i < scan->projected; i++) {
		if (scan->columns[i] >= chunk->column_count)
			continue; /* the engine's stand-in for "no column at all", as in count(*) */
		struct chunk_column *column = &chunk->columns[scan->columns[i]];
		column->vector = duckdb_data_chunk_get_vector(output, i);
		column->data = duckdb_vector_get_data(column->vector);
		column->validity = NULL;
	}
}

static void read_chunk(duckdb_function_info info, duckdb_data_chunk output)
{
	struct reader *reader = duckdb_function_get_local_init_data(info);
	struct source *source = reader->offered->source;
	if (reader->ended) {
		duckdb_data_chunk_set_size(output, 0);
		return;
	}
	attach(&reader->chunk, duckdb_function_get_init_data(info), output);
	size_t rows = source->ops->next(source, reader->own, &reader->chunk, &reader->error);
	reader->ended = rows == 0;
	__atomic_fetch_add(&source->reached.rows, rows, __ATOMIC_RELAXED);
	if (reader->error.status != RECLOSER_OK) {
		char message[64];
		snprintf(message, sizeof message, FAILED, (unsigned long long)reader->offered->id);
		keep_failure(reader->offered, &reader->error);
		reader->ended = true;
		duckdb_data_chunk_set_size(output, 0);
		duckdb_function_set_error(info, message);
		return;
	}
	duckdb_data_chunk_set_size(output, rows);
}

recloser_status scan_register(struct engine *engine, recloser_error *error)
{
	duckdb_table_function function = duckdb_create_table_function();
	duckdb_logical_type id = duckdb_create_logical_type(DUCKDB_TYPE_BIGINT);
	duckdb_table_function_set_name(function, "rc_scan");
	duckdb_table_function_add_parameter(function, id);
	duckdb_table_function_set_extra_info(function, engine->shared, NULL);
	duckdb_table_function_set_bind(function, bind);
	duckdb_table_function_set_init(function, start_scan);
	duckdb_table_function_set_local_init(function, start_reader);
	duckdb_table_function_set_function(function, read_chunk);
	duckdb_table_function_supports_projection_pushdown(function, true);
	duckdb_state state = duckdb_register_table_function(engine->connection, function);
	duckdb_destroy_logical_type(&id);
	duckdb_destroy_table_function(&function);
	if (state == DuckDBError)
		return error_set(error, RECLOSER_IO, "engine.open", "could not add rc_scan to the engine");
	return RECLOSER_OK;
}
