/* SPDX-License-Identifier: Apache-2.0
 * Opening the engine, and running statements in it.
 *
 * Every connection works on an in-memory database: what is on disk are the files that statements name and what is spilled.
 * Row order is promised by ORDER BY alone. The engine's own keeping of insertion order is off: it would put every scan of
 * a source on one thread, and would hide a forgotten ORDER BY until rows come from several threads. A statement that has an
 * ORDER BY at its end keeps it, COPY included, whatever the setting. Once a run's rows lie in a table in the order of their
 * files, the setting is on, and they are read as they lie (batch/cluster.c). */
#include "engine/engine.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "base/spill.h"
#include "batch/pystr.h"
#include "engine/duck.h"

/* ---- opening ---- */

static void shared_release(struct engine_shared *shared)
{
	pthread_mutex_lock(&shared->lock);
	bool last = --shared->connections == 0;
	pthread_mutex_unlock(&shared->lock);
	if (!last)
		return;
	duckdb_close(&shared->database);
	while (shared->offered) {
		struct offered *next = shared->offered->next;
		free(shared->offered);
		shared->offered = next;
	}
	while (shared->content_names) {
		struct content_name *next = shared->content_names->next;
		free(shared->content_names->name);
		free(shared->content_names->schema);
		free(shared->content_names);
		shared->content_names = next;
	}
	digest_room_free(shared->digests); /* content passes went with the database, and so did who put values aside */
	spill_free(shared->aside);
	pthread_mutex_destroy(&shared->lock);
	pthread_mutex_destroy(&shared->adding);
	free(shared);
}

static void disconnect(void *pointer)
{
	struct engine *engine = pointer;
	duckdb_disconnect(&engine->connection);
	shared_release(engine->shared);
}

/* Memory that this process may use: the machine's, or its control group's where that is less. */
static uint64_t machine_bytes(void)
{
	uint64_t bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	FILE *file = fopen("/sys/fs/cgroup/memory.max", "re");
	if (file) {
		char line[32] = "";
		if (fgets(line, sizeof line, file) && line[0] >= '0' && line[0] <= '9') {
			uint64_t limit = strtoull(line, NULL, 10);
			bytes = limit > 0 && limit < bytes ? limit : bytes;
		}
		fclose(file);
	}
	return bytes;
}

/* What a thread needs to sort, join and encode with the rest on disk: its buffers are pinned, so with less the engine gives up
 * however much it could spill. Fewer threads cost time and change no byte. */
static const uint64_t BYTES_A_THREAD = 256 * 1000000ull;

/* Threads to ask for; 0: what the engine takes by itself. */
static int threads_for(const struct engine_options *options, uint64_t bytes)
{
	uint64_t most = bytes / BYTES_A_THREAD;
	most = most < 1 ? 1 : most;
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	if (options->threads > 0)
		return most < (uint64_t)options->threads ? (int)most : options->threads;
	return processors > 0 && most < (uint64_t)processors ? (int)most : 0;
}

/* Of the memory given this part is for the digests of the keys that are checked for doubles. */
enum { DIGESTS_PART = 32 };

/* The engine's pool is the rest, but for what the engine keeps outside of it: buffers of encoding, and lists of a table's stretches and
 * of spilled blocks, some three bytes a row. With more than this little there are rows in such numbers, or several threads. */
static uint64_t pool_of(uint64_t bytes)
{
	const uint64_t little = 300 * 1000000ull;
	uint64_t beside = bytes / DIGESTS_PART + (bytes > little ? (bytes - little) / 6 : 0);
	return bytes - beside;
}

/* With no more than this the allocator gives back at once what was freed, for which it has a thread of its own: up to 200 MB of
 * wide rows otherwise stay with threads that have moved on. */
static const uint64_t SCARCE_BYTES = 2000 * 1000000ull;

static uint64_t budget_of(const struct engine_options *options)
{
	return options->memory_bytes ? options->memory_bytes : machine_bytes() / 2;
}

static bool configure(duckdb_config config, const struct engine_options *options)
{
	char threads[16], memory[32];
	uint64_t bytes = budget_of(options), pool = pool_of(bytes);
	int wanted = threads_for(options, bytes);
	snprintf(threads, sizeof threads, "%d", wanted);
	snprintf(memory, sizeof memory, "%llu B", (unsigned long long)pool);
	const char *settings[][2] = {
		{"memory_limit", memory},
		{"temp_directory", options->spill ? options->spill : ""},
		{"preserve_insertion_order", "false"},
		{"allocator_background_threads", bytes <= SCARCE_BYTES ? "true" : "false"},
		{"autoinstall_known_extensions", "false"},
		{"autoload_known_extensions", "false"},
		{"allow_community_extensions", "false"},
		{"allow_persistent_secrets", "false"},
	};
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
		if (duckdb_set_config(config, settings[i][0], settings[i][1]) == DuckDBError)
			return false;
	return wanted == 0 || duckdb_set_config(config, "threads", threads) == DuckDBSuccess;
}

static recloser_status open_database(duckdb_database *database, const struct engine_options *options, recloser_error *error)
{
	duckdb_config config;
	if (duckdb_create_config(&config) == DuckDBError)
		return error_set(error, RECLOSER_IO, "engine.open", "could not open the engine: out of memory");
	char *message = NULL;
	recloser_status status = RECLOSER_OK;
	if (!configure(config, options))
		status =
			error_set(error, RECLOSER_IO, "engine.open", "could not open the engine: it does not know a setting of ours");
	else if (duckdb_open_ext(NULL, database, config, &message) == DuckDBError)
		status =
			error_set(error, RECLOSER_IO, "engine.open", "could not open the engine: %s", message ? message : "unknown");
	duckdb_free(message);
	duckdb_destroy_config(&config);
	return status;
}

/* Takes over one count of `shared`, also when it fails. */
static recloser_status connect_to(struct arena *arena, struct engine_shared *shared, struct engine **out,
								  recloser_error *error)
{
	struct engine *engine = arena_alloc(arena, sizeof *engine);
	engine->shared = shared;
	arena_defer(arena, disconnect, engine);
	if (duckdb_connect(shared->database, &engine->connection) == DuckDBError)
		return error_set(error, RECLOSER_IO, "engine.open", "could not connect to the engine");
	*out = engine;
	return RECLOSER_OK;
}

recloser_status engine_open(struct arena *arena, const struct engine_options *options, struct engine **out,
							recloser_error *error)
{
	struct engine_shared *shared = calloc(1, sizeof *shared);
	if (!shared)
		arena_out_of_memory(arena);
	shared->memory_bytes = budget_of(options);
	shared->digests = digest_room_new(shared->memory_bytes / DIGESTS_PART / sizeof(struct digest128), options->spill);
	shared->aside = options->spill ? spill_new(options->spill) : NULL;
	bool rooms = shared->digests && (shared->aside || !options->spill);
	recloser_status status = rooms ? open_database(&shared->database, options, error) : RECLOSER_IO;
	if (status != RECLOSER_OK) {
		digest_room_free(shared->digests);
		spill_free(shared->aside);
		free(shared);
		if (!rooms)
			arena_out_of_memory(arena);
		return status;
	}
	pthread_mutex_init(&shared->lock, NULL);
	pthread_mutex_init(&shared->adding, NULL);
	shared->connections = 1;
	struct engine *engine;
	RC_TRY(connect_to(arena, shared, &engine, error));
	RC_TRY(engine_run(engine, "set the engine's zone to UTC", "SET GLOBAL TimeZone = 'UTC'", error));
	struct rows rows;
	RC_TRY(engine_query(engine, arena, "count the engine's threads", "SELECT CAST(current_setting('threads') AS BIGINT)", &rows, error));
	shared->threads = rows_int(&rows, 0, 0);
	RC_TRY(scan_register(engine, error));
	*out = engine;
	return RECLOSER_OK;
}

recloser_status engine_connect(struct arena *arena, struct engine *engine, struct engine **out, recloser_error *error)
{
	pthread_mutex_lock(&engine->shared->lock);
	engine->shared->connections++;
	pthread_mutex_unlock(&engine->shared->lock);
	return connect_to(arena, engine->shared, out, error);
}

void engine_interrupt(struct engine *engine)
{
	duckdb_interrupt(engine->connection);
}

/* The engine counts only where a bar could be drawn, which it is told not to do. A version that knows no such settings tells
 * nothing, and that is all. */
void engine_watched(struct engine *engine)
{
	recloser_error ignored = {0};
	(void)!engine_run(engine, "count progress", "SET enable_progress_bar_print = false; SET enable_progress_bar = true; SET progress_bar_time = 0",
					  &ignored);
}

double engine_progress(struct engine *engine)
{
	double percent = duckdb_query_progress(engine->connection).percentage;
	return percent < 0 ? -1 : percent / 100;
}

size_t engine_threads(const struct engine *engine)
{
	return engine->shared->threads > 0 ? (size_t)engine->shared->threads : 1;
}

bool engine_spills(const struct engine *engine)
{
	return engine->shared->aside != NULL;
}

uint64_t engine_memory(const struct engine *engine)
{
	return engine->shared->memory_bytes;
}

const char *engine_version(void)
{
	return duckdb_library_version();
}

/* ---- failures ---- */

static const struct advice {
	const char *sign; /* in the engine's message */
	const char *code, *hint;
} advice[] = {
	{"No space left on device", "engine.disk", "free space where the engine spills and where it writes, then run again"},
	{"max_temp_directory_size", "engine.disk",
	 "the engine has spilled as much as the disk allows; free space there, or give it more memory with --memory"},
	{"Out of Memory Error", "engine.memory",
	 "give the engine more with --memory SIZE, or fewer threads with --threads N; with room to spill on disk it needs less"},
	{"out of memory", "engine.memory", "free memory on this machine, then run again"}, /* a function of ours */
	{"GDAL can't be loaded", "gdal.missing", "install GDAL; it is needed for geometry"}, /* a function of ours */
	{"INTERRUPT Error", "engine.interrupted", ""},
	{"Interrupted", "engine.interrupted", ""},
};

recloser_status engine_failed(struct engine *engine, const char *doing, const char *message, recloser_error *error)
{
	if (!message || !*message)
		message = "it gave no reason";
	if (scan_failure(engine->shared, message, error))
		return error ? error->status : RECLOSER_IO;
	const struct advice *found = NULL;
	for (size_t i = 0; i < sizeof advice / sizeof *advice && !found; i++)
		if (strstr(message, advice[i].sign))
			found = &advice[i];
	int line = (int)strcspn(message, "\n");
	recloser_status status =
		error_set(error, RECLOSER_IO, found ? found->code : "engine.failed", "could not %s: %.*s", doing, line, message);
	if (found && *found->hint)
		error_hint(error, "%s", found->hint);
	return status;
}

/* ---- statements ---- */

recloser_status engine_run(struct engine *engine, const char *doing, const char *sql, recloser_error *error)
{
	duckdb_result result;
	duckdb_state state = duckdb_query(engine->connection, sql, &result);
	recloser_status status = RECLOSER_OK;
	if (state == DuckDBError)
		status = engine_failed(engine, doing, duckdb_result_error(&result), error);
	duckdb_destroy_result(&result);
	return status;
}

recloser_status engine_runf(struct engine *engine, const char *doing, recloser_error *error, const char *format, ...)
{
	struct arena *arena = arena_new(NULL);
	if (!arena)
		return error_set(error, RECLOSER_IO, "memory", "out of memory");
	if (setjmp(*arena_guard(arena)) != 0) {
		arena_free(arena);
		return error_set(error, RECLOSER_IO, "memory", "out of memory");
	}
	va_list args;
	va_start(args, format);
	const char *sql = arena_vprintf(arena, format, args);
	va_end(args);
	recloser_status status = engine_run(engine, doing, sql, error);
	arena_free(arena);
	return status;
}

/* ---- results ---- */

static void free_prepared(void *pointer)
{
	duckdb_destroy_prepare(pointer);
}

static void free_result(void *pointer)
{
	duckdb_destroy_result(pointer);
}

/* A type whose cells are read here; everything else is turned into text by the engine. Doubles must be among them, since the
 * engine's text of three powers of two is wrong. */
static bool read_here(duckdb_type type)
{
	switch (type) {
	case DUCKDB_TYPE_VARCHAR:
	case DUCKDB_TYPE_BOOLEAN:
	case DUCKDB_TYPE_INTEGER:
	case DUCKDB_TYPE_BIGINT:
	case DUCKDB_TYPE_UBIGINT:
	case DUCKDB_TYPE_HUGEINT:
	case DUCKDB_TYPE_DOUBLE:
		return true;
	default:
		return false;
	}
}

/* The statement with casts around the columns that are not read here, or the same when there are none. */
static const char *with_casts(struct arena *arena, const char *sql, duckdb_prepared_statement prepared)
{
	idx_t count = duckdb_prepared_statement_column_count(prepared);
	bool needed = false;
	for (idx_t i = 0; i < count; i++)
		needed |= !read_here(duckdb_prepared_statement_column_type(prepared, i));
	if (!needed || duckdb_prepared_statement_type(prepared) != DUCKDB_STATEMENT_TYPE_SELECT)
		return sql;
	struct text list = text_on(arena), names = text_on(arena);
	for (idx_t i = 0; i < count; i++) {
		const char *between = i ? ", " : "";
		char *name = (char *)duckdb_prepared_statement_column_name(prepared, i);
		bool plain = read_here(duckdb_prepared_statement_column_type(prepared, i));
		text_addf(&list, plain ? "%sc%llu AS %s" : "%sCAST(c%llu AS VARCHAR) AS %s", between, (unsigned long long)i,
				  sql_name(arena, name));
		text_addf(&names, "%sc%llu", between, (unsigned long long)i);
		duckdb_free(name);
	}
	size_t length = strlen(sql);
	while (length > 0 && strchr("; \t\r\n", sql[length - 1]))
		length--;
	return arena_printf(arena, "SELECT %s FROM (\n%.*s\n) AS q(%s)", list.at, (int)length, sql, names.at);
}

static recloser_status prepare(struct engine *engine, struct arena *arena, const char *doing, const char *sql,
							   duckdb_prepared_statement *out, recloser_error *error)
{
	duckdb_prepared_statement *prepared = arena_alloc(arena, sizeof *prepared);
	arena_defer(arena, free_prepared, prepared);
	if (duckdb_prepare(engine->connection, sql, prepared) == DuckDBError)
		return engine_failed(engine, doing, duckdb_prepare_error(*prepared), error);
	*out = *prepared;
	return RECLOSER_OK;
}

static const char *cell_text(struct arena *arena, duckdb_vector vector, duckdb_type type, idx_t row)
{
	if (!valid_at(duckdb_vector_get_validity(vector), row))
		return NULL;
	void *data = duckdb_vector_get_data(vector);
	char text[PYSTR_MAX];
	switch (type) {
	case DUCKDB_TYPE_VARCHAR: {
		duckdb_string_t *string = (duckdb_string_t *)data + row;
		return arena_strndup(arena, duckdb_string_t_data(string), duckdb_string_t_length(*string));
	}
	case DUCKDB_TYPE_BOOLEAN:
		return ((bool *)data)[row] ? "true" : "false";
	case DUCKDB_TYPE_INTEGER:
		pystr_int(((int32_t *)data)[row], text);
		break;
	case DUCKDB_TYPE_BIGINT:
		pystr_int(((int64_t *)data)[row], text);
		break;
	case DUCKDB_TYPE_UBIGINT:
		pystr_uint(((uint64_t *)data)[row], text);
		break;
	case DUCKDB_TYPE_HUGEINT: {
		__int128 value;
		memcpy(&value, (char *)data + 16 * row, 16);
		pystr_int128(value, text);
		break;
	}
	case DUCKDB_TYPE_DOUBLE:
		number_shortest(((double *)data)[row], text);
		break;
	default:
		return NULL;
	}
	return arena_strdup(arena, text);
}

struct fetched {
	duckdb_data_chunk chunk;
};

static void free_chunk(void *pointer)
{
	struct fetched *fetched = pointer;
	if (fetched->chunk)
		duckdb_destroy_data_chunk(&fetched->chunk);
}

static void read_rows(struct arena *arena, struct arena *scratch, duckdb_result *result, struct rows *out)
{
	size_t columns = out->column_count, capacity = 0;
	duckdb_type *types = arena_array(scratch, columns, sizeof *types);
	for (size_t c = 0; c < columns; c++)
		types[c] = duckdb_column_type(result, c);
	struct fetched *fetched = arena_alloc(scratch, sizeof *fetched);
	arena_defer(scratch, free_chunk, fetched);
	while ((fetched->chunk = duckdb_fetch_chunk(*result)) != NULL) {
		size_t rows = duckdb_data_chunk_get_size(fetched->chunk), used = out->row_count;
		if (used + rows > capacity) {
			size_t larger = capacity * 2 > used + rows ? capacity * 2 : used + rows;
			out->cells =
				arena_grow(arena, out->cells, used * columns * sizeof *out->cells, larger * columns * sizeof *out->cells);
			capacity = larger;
		}
		for (size_t c = 0; c < columns; c++) {
			duckdb_vector vector = duckdb_data_chunk_get_vector(fetched->chunk, c);
			for (size_t r = 0; r < rows; r++)
				out->cells[(used + r) * columns + c] = cell_text(arena, vector, types[c], r);
		}
		out->row_count += rows;
		free_chunk(fetched);
	}
}

static void describe_columns(struct arena *arena, duckdb_prepared_statement prepared, struct rows *out)
{
	out->column_count = duckdb_prepared_statement_column_count(prepared);
	out->names = arena_array(arena, out->column_count, sizeof *out->names);
	out->types = arena_array(arena, out->column_count, sizeof *out->types);
	for (size_t i = 0; i < out->column_count; i++) {
		char *name = (char *)duckdb_prepared_statement_column_name(prepared, i);
		out->names[i] = arena_strdup(arena, name ? name : "");
		duckdb_free(name);
		duckdb_logical_type type = duckdb_prepared_statement_column_logical_type(prepared, i);
		out->types[i] = logical_name(arena, type);
		duckdb_destroy_logical_type(&type);
	}
}

static recloser_status query_into(struct engine *engine, struct arena *arena, struct arena *scratch, const char *doing,
								  const char *sql, struct rows *out, recloser_error *error)
{
	duckdb_prepared_statement prepared;
	RC_TRY(prepare(engine, scratch, doing, sql, &prepared, error));
	describe_columns(arena, prepared, out);
	const char *cast = with_casts(scratch, sql, prepared);
	if (cast != sql)
		RC_TRY(prepare(engine, scratch, doing, cast, &prepared, error));
	duckdb_result *result = arena_alloc(scratch, sizeof *result);
	duckdb_state state = duckdb_execute_prepared(prepared, result);
	arena_defer(scratch, free_result, result);
	if (state == DuckDBError)
		return engine_failed(engine, doing, duckdb_result_error(result), error);
	/* What a statement that is no query gives need not be what its preparation announced. */
	if (duckdb_column_count(result) == out->column_count)
		read_rows(arena, scratch, result, out);
	return RECLOSER_OK;
}

recloser_status engine_query(struct engine *engine, struct arena *arena, const char *doing, const char *sql,
							 struct rows *out, recloser_error *error)
{
	*out = (struct rows){0};
	struct arena *scratch = arena_new(arena);
	recloser_status status = query_into(engine, arena, scratch, doing, sql, out, error);
	arena_free(scratch);
	return status;
}

/* As many threads from outside as there may be at all: none is left for the engine to start. It plans its memory by their number. */
recloser_status engine_share(struct engine *engine, size_t connections, recloser_error *error)
{
	size_t threads = connections ? connections : engine_threads(engine), outside = connections ? connections : 1;
	return engine_runf(engine, "share the threads out", error,
					   "SET GLOBAL external_threads = 1; SET GLOBAL threads = %zu; SET GLOBAL external_threads = %zu", threads, outside);
}

const char *rows_at(const struct rows *rows, size_t row, size_t column)
{
	return row < rows->row_count && column < rows->column_count ? rows->cells[row * rows->column_count + column] : NULL;
}

int64_t rows_int(const struct rows *rows, size_t row, size_t column)
{
	const char *text = rows_at(rows, row, column);
	return text ? strtoll(text, NULL, 10) : 0;
}

recloser_status engine_describe(struct engine *engine, struct arena *arena, const char *select, struct rows *out,
								recloser_error *error)
{
	struct arena *scratch = arena_new(arena);
	const char *sql = arena_printf(scratch, "SELECT column_name, column_type FROM (DESCRIBE %s\n)", select);
	recloser_status status = engine_query(engine, arena, "read the columns of a query", sql, out, error);
	arena_free(scratch);
	return status;
}
