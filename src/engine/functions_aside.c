/* SPDX-License-Identifier: Apache-2.0
 * Values that stand aside. A sort of the engine holds the values of its rows whatever it could spill; a long text or geometry goes
 * through it as its place in a nameless file: sixteen bytes. The file lives as long as the engine. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/spill.h"
#include "engine/functions_parts.h"

/* Values are put in pieces of this size; a longer one by itself. */
enum { PIECE = 256 * 1024 };

void aside_failed(int failed, const char *what, char *out, size_t size)
{
	char reason[128];
	if (failed == ENOMEM) {
		snprintf(out, size, "Out of Memory Error: no memory for %s", what);
		return;
	}
	if (failed == ENOSPC || failed == EDQUOT)
		snprintf(reason, sizeof reason, "No space left on device");
	else if (strerror_r(failed, reason, sizeof reason) != 0)
		snprintf(reason, sizeof reason, "error %d", failed);
	snprintf(out, size, "can't put %s aside: %s", what, reason);
}

static void say_failed(duckdb_function_info info, int failed)
{
	char text[256];
	aside_failed(failed, "values", text, sizeof text);
	duckdb_scalar_function_set_error(info, text);
}

/* ---- putting ---- */

struct piece {
	struct spill *spill;
	char *at;
	size_t count;
	uint64_t offset; /* of its first byte in the file */
};

static int put_piece(struct piece *piece)
{
	int failed = piece->count ? spill_put(piece->spill, piece->at, piece->count, piece->offset) : 0;
	piece->offset += piece->count;
	piece->count = 0;
	return failed;
}

static int put_value(struct piece *piece, const char *bytes, size_t count)
{
	int failed = 0;
	if (count > PIECE - piece->count)
		failed = put_piece(piece);
	if (failed)
		return failed;
	if (count > PIECE) {
		failed = spill_put(piece->spill, bytes, count, piece->offset);
		piece->offset += count;
		return failed;
	}
	memcpy(piece->at + piece->count, bytes, count);
	piece->count += count;
	return 0;
}

static uint64_t all_bytes(const struct argument *values, idx_t rows)
{
	uint64_t bytes = 0;
	size_t count;
	for (idx_t row = 0; row < rows; row++)
		if (argument_bytes(values, row, &count))
			bytes += count;
	return bytes;
}

static int put_all(struct piece *piece, const struct argument *values, idx_t rows, duckdb_vector output)
{
	duckdb_uhugeint *places = duckdb_vector_get_data(output);
	int failed = spill_reserve(piece->spill, all_bytes(values, rows), &piece->offset);
	for (idx_t row = 0; row < rows && !failed; row++) {
		size_t count;
		const char *bytes = argument_bytes(values, row, &count);
		if (!bytes) {
			result_null(output, row);
			continue;
		}
		places[row] = (duckdb_uhugeint){.lower = piece->offset + piece->count, .upper = count};
		failed = put_value(piece, bytes, count);
	}
	return failed ? failed : put_piece(piece);
}

static void put_aside(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
	struct argument values = argument_at(input, 0);
	struct piece piece = {.spill = duckdb_scalar_function_get_extra_info(info), .at = malloc(PIECE)};
	int failed = piece.at ? put_all(&piece, &values, duckdb_data_chunk_get_size(input), output) : ENOMEM;
	free(piece.at);
	if (failed)
		say_failed(info, failed);
}

/* ---- getting ---- */

static int get_value(struct spill *spill, duckdb_uhugeint place, char **buffer, size_t *capacity)
{
	if (place.upper > *capacity) {
		char *larger = realloc(*buffer, place.upper);
		if (!larger)
			return ENOMEM;
		*buffer = larger;
		*capacity = place.upper;
	}
	return spill_get(spill, *buffer, place.upper, place.lower);
}

static void get_back(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
	struct spill *spill = duckdb_scalar_function_get_extra_info(info);
	struct argument places = argument_at(input, 0);
	char *buffer = malloc(1);
	size_t capacity = 1;
	int failed = buffer ? 0 : ENOMEM;
	for (idx_t row = 0; row < duckdb_data_chunk_get_size(input) && !failed; row++) {
		duckdb_uhugeint place = ((duckdb_uhugeint *)places.data)[row];
		if (!valid_at(places.validity, row)) {
			result_null(output, row);
			continue;
		}
		failed = get_value(spill, place, &buffer, &capacity);
		if (!failed)
			result_bytes(output, row, buffer, place.upper);
	}
	free(buffer);
	if (failed)
		say_failed(info, failed);
}

/* ---- registering ---- */

static recloser_status add(struct engine *engine, const char *name, duckdb_scalar_function_t call, duckdb_type from, duckdb_type to,
						   recloser_error *error)
{
	duckdb_scalar_function function = duckdb_create_scalar_function();
	duckdb_logical_type parameter = duckdb_create_logical_type(from), result = duckdb_create_logical_type(to);
	duckdb_scalar_function_set_name(function, name);
	duckdb_scalar_function_add_parameter(function, parameter);
	duckdb_scalar_function_set_return_type(function, result);
	duckdb_scalar_function_set_special_handling(function);
	duckdb_scalar_function_set_volatile(function); /* called where the statement says: getting is not moved before the sort */
	duckdb_scalar_function_set_function(function, call);
	duckdb_scalar_function_set_extra_info(function, engine->shared->aside, NULL);
	duckdb_state state = duckdb_register_scalar_function(engine->connection, function);
	duckdb_destroy_logical_type(&parameter);
	duckdb_destroy_logical_type(&result);
	duckdb_destroy_scalar_function(&function);
	if (state == DuckDBError)
		return error_set(error, RECLOSER_IO, "engine.open", "could not add %s to the engine", name);
	return RECLOSER_OK;
}

recloser_status aside_register(struct engine *engine, recloser_error *error)
{
	if (!engine->shared->aside)
		return RECLOSER_OK;
	RC_TRY(add(engine, "rc_aside_text", put_aside, DUCKDB_TYPE_VARCHAR, DUCKDB_TYPE_UHUGEINT, error));
	RC_TRY(add(engine, "rc_aside_bytes", put_aside, DUCKDB_TYPE_BLOB, DUCKDB_TYPE_UHUGEINT, error));
	RC_TRY(add(engine, "rc_text_at", get_back, DUCKDB_TYPE_UHUGEINT, DUCKDB_TYPE_VARCHAR, error));
	return add(engine, "rc_bytes_at", get_back, DUCKDB_TYPE_UHUGEINT, DUCKDB_TYPE_BLOB, error);
}
