/* SPDX-License-Identifier: Apache-2.0
 * Wide rows. The engine sorts what does not fit in stretches of a fixed number of rows, and each thread that merges holds all
 * values of its stretch, whatever could be spilled: 500 MB where a row has 4 kB. So fewer threads sort at a time where that is
 * more than there is, which changes no byte of a file; and where one is too many, the error says what would do. */
#include <inttypes.h>
#include <string.h>

#include "batch/batch.h"

/* Rows of a stretch; the width is measured on as many. A value without a length of its own takes VALUE_BYTES. */
enum { STRETCH_ROWS = 122880, VALUE_BYTES = 8, WIDE_BYTES = 1024 };

/* Measured: a stretch takes a tenth more than its values, and a quarter of the budget is not the sort's. */
static double needed_for(double row_bytes, uint64_t rows)
{
	return row_bytes * (double)(rows < STRETCH_ROWS ? rows : STRETCH_ROWS) * 1.1 / 0.75;
}

/* The length of a value that has one; NULL: of the fixed ones. The key is not looked at, as it may have to be made for it. */
static const char *length_of(struct arena *arena, const struct batch_column *column)
{
	const char *name = sql_name(arena, column->name), *type = column->type;
	if (column->partition || column->key)
		return NULL;
	if (strcmp(type, "VARCHAR") == 0)
		return arena_printf(arena, "strlen(%s)", name);
	if (strcmp(type, "BLOB") == 0)
		return arena_printf(arena, "octet_length(%s)", name);
	if (strchr(type, '[') || text_starts(type, "STRUCT") || text_starts(type, "MAP"))
		return arena_printf(arena, "strlen(CAST(%s AS VARCHAR))", name);
	return NULL;
}

static recloser_status measure(const struct batch *batch, struct engine *engine, struct arena *arena, const char *rows_sql, double *out,
                               recloser_error *error)
{
	struct text lengths = text_on(arena), names = text_on(arena);
	size_t others = 0;
	struct rows rows;
	*out = (double)(batch->column_count * VALUE_BYTES);
	for (size_t i = 0; i < batch->column_count; i++) {
		const char *length = length_of(arena, &batch->columns[i]);
		if (length) {
			text_addf(&lengths, "%scoalesce(%s, 0)", lengths.length ? ", " : "", length);
			text_addf(&names, "%s%s", names.length ? ", " : "", sql_name(arena, batch->columns[i].name));
		} else {
			others++;
		}
	}
	if (lengths.length == 0)
		return RECLOSER_OK;
	/* A list, since thousands of columns are too deep a sum for the engine's parser. */
	RC_TRY(engine_query(engine, arena, "measure the rows", arena_printf(arena,
	    "SELECT CAST(coalesce(avg(list_sum([%s])), 0) AS BIGINT) FROM (SELECT %s FROM %s LIMIT %d)", lengths.at, names.at, rows_sql, STRETCH_ROWS), &rows,
	    error));
	*out = (double)rows_int(&rows, 0, 0) + (double)(others * VALUE_BYTES);
	return RECLOSER_OK;
}

recloser_status batch_sorts_at_once(struct batch *batch, uint64_t rows, size_t *out, recloser_error *error)
{
	struct engine *engine = batch->context->engine;
	if (batch->row_bytes == 0)
		RC_TRY(measure(batch, engine, batch->arena, "batch", &batch->row_bytes, error));
	double fit = (double)engine_memory(engine) / (needed_for(batch->row_bytes, rows) + 1);
	*out = fit < 1 ? 1 : fit > 1024 ? 1024 : (size_t)fit;
	return RECLOSER_OK;
}

recloser_status batch_blame_width(const struct batch *batch, struct engine *engine, struct arena *arena, const char *rows_sql, uint64_t rows,
                                  recloser_status status, recloser_error *error)
{
	double bytes;
	recloser_error ignored = {0};
	if (status != RECLOSER_IO || !error || strcmp(error->code, "engine.memory") != 0)
		return status;
	if (measure(batch, engine, arena, rows_sql, &bytes, &ignored) != RECLOSER_OK)
		bytes = batch->row_bytes; /* there may be no memory for that either */
	if (bytes < WIDE_BYTES)
		return status;
	uint64_t stretch = rows < STRETCH_ROWS ? rows : STRETCH_ROWS;
	return error_hint(error, "its rows are wide, %.0f bytes each: the engine holds %" PRIu64 " of them (%.0f MB) in each thread that sorts, and can't "
	                  "spill them; run again with --memory %.0fMB --threads 1, or partition further", bytes, stretch, bytes * (double)stretch / 1e6,
	                  needed_for(bytes, rows) / 1e6 + 1);
}
