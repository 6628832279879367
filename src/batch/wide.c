/* SPDX-License-Identifier: Apache-2.0
 * Wide rows. The engine sorts in stretches of a fixed number of rows, and each thread holds all values of its stretch, whatever could
 * be spilled: 500 MB where a row has 4 kB. So where that is more than there is, long texts and geometries go through the sort as their
 * places in a file (engine/functions_aside.c). What can't, lists and structs, is sorted by fewer threads at a time; and where one is
 * too many, the error says what would do. None of it changes a byte of what is written. */
#include <inttypes.h>
#include <string.h>

#include "batch/batch.h"

/* Rows of a stretch; what a value without a length of its own takes, and a place; and from which length on a row is
 * wide. Rows are crowded where the stretches that are sorted at a time take more than this part of the memory:
 * to put their values aside costs less than it does to come near to the end of it. */
enum { CROWDED_PART = 3 };
/* What the engine takes at a time whatever the rows are, and, measured, how many times over. */
enum { VECTOR_ROWS = 2048, VECTORS_HELD = 5 };
enum { STRETCH_ROWS = 122880, VALUE_BYTES = 8, PLACE_BYTES = 16, WIDE_BYTES = 400 };

/* Measured: what a thread takes that encodes wide rows, half of it outside the engine's pool. */
static const double WRITER_BYTES = 512e6;

/* ---- how long values are ---- */

/* "DOUBLE[]": a list of values of fixed length. */
static bool is_flat_list(const char *type)
{
	const char *bracket = strchr(type, '[');
	return bracket && strcmp(bracket, "[]") == 0 && !text_starts(type, "VARCHAR") && !text_starts(type, "BLOB") && !strchr(type, '(');
}

const char *batch_length_sql(struct arena *arena, const char *name, const char *type)
{
	if (strcmp(type, "VARCHAR") == 0)
		return arena_printf(arena, "strlen(%s)", name);
	if (strcmp(type, "BLOB") == 0)
		return arena_printf(arena, "octet_length(%s)", name);
	if (is_flat_list(type))
		return arena_printf(arena, "len(%s) * %d", name, VALUE_BYTES);
	if (strchr(type, '[') || text_starts(type, "STRUCT") || text_starts(type, "MAP"))
		return arena_printf(arena, "strlen(CAST(%s AS VARCHAR))", name);
	return NULL;
}

/* The key is not looked at, as it may have to be made for it. */
static const char *length_of(struct arena *arena, const struct batch_column *column)
{
	return column->partition || column->key ? NULL : batch_length_sql(arena, sql_name(arena, column->name), column->type);
}

const char *batch_lengths_sql(struct arena *arena, const struct batch *batch)
{
	struct text out = text_on(arena);
	text_add(&out, "count(*)");
	for (size_t i = 0; i < batch->column_count; i++) {
		const char *length = length_of(arena, &batch->columns[i]);
		if (length)
			text_addf(&out, ", CAST(sum(%s) AS BIGINT)", length);
	}
	return out.at;
}

void batch_take_lengths(struct arena *arena, const struct batch *batch, const struct rows *rows, size_t row, size_t from,
                        struct batch_widths *out)
{
	*out = (struct batch_widths){.rows = (uint64_t)rows_int(rows, row, from++), .bytes = arena_array(arena, batch->column_count + 1, sizeof *out->bytes)};
	for (size_t i = 0; i < batch->column_count; i++) {
		if (length_of(arena, &batch->columns[i]))
			out->bytes[i] = (uint64_t)rows_int(rows, row, from++);
	}
}

recloser_status batch_widths(const struct batch *batch, const bool *wanted, struct batch_widths *out, recloser_error *error)
{
	struct arena *arena = batch->arena;
	struct rows rows;
	if (!batch->part_count || !batch->parts[0].widths.bytes) { /* rows that are still to be carried over are not counted */
		RC_TRY(engine_query(batch->context->engine, arena, "measure the rows", arena_printf(arena, "SELECT %s FROM batch",
		    batch_lengths_sql(arena, batch)), &rows, error));
		batch_take_lengths(arena, batch, &rows, 0, 0, out);
		return RECLOSER_OK;
	}
	*out = (struct batch_widths){.bytes = arena_array(arena, batch->column_count + 1, sizeof *out->bytes)};
	for (size_t k = 0; k < batch->part_count; k++) {
		const struct batch_widths *part = &batch->parts[k].widths;
		if (wanted && !wanted[k])
			continue;
		out->rows += part->rows;
		for (size_t i = 0; i < batch->column_count; i++)
			out->bytes[i] += part->bytes[i];
	}
	return RECLOSER_OK;
}

/* ---- what goes through a sort ---- */

static double mean_of(const struct batch_widths *widths, size_t column)
{
	return widths->rows ? (double)widths->bytes[column] / (double)widths->rows : 0;
}

double batch_row_bytes(const struct batch *batch, const struct batch_widths *widths)
{
	double bytes = 0;
	for (size_t i = 0; i < batch->column_count; i++)
		bytes += mean_of(widths, i);
	return bytes;
}

static double stretch_bytes(double row_bytes, uint64_t rows)
{
	return row_bytes * (double)(rows < STRETCH_ROWS ? rows : STRETCH_ROWS);
}

/* Measured: a stretch takes a tenth more than its values, and a third of the budget is not the sort's. */
static double needed_for(double row_bytes, uint64_t rows)
{
	return stretch_bytes(row_bytes, rows) * 1.1 / 0.65;
}

bool batch_crowded(const struct batch *batch, const struct batch_widths *widths)
{
	struct engine *engine = batch->context->engine;
	double row = batch_row_bytes(batch, widths) + (double)batch->column_count * VALUE_BYTES;
	return stretch_bytes(row, widths->rows) * (double)engine_threads(engine) * CROWDED_PART > (double)engine_memory(engine);
}

bool batch_is_long(const struct batch *batch, const struct batch_widths *widths, size_t column)
{
	const char *type = batch->columns[column].type;
	return (strcmp(type, "VARCHAR") == 0 || strcmp(type, "BLOB") == 0) && mean_of(widths, column) >= BATCH_LONG_BYTES;
}

const char *batch_aside_type(const struct batch *batch, const struct batch_widths *widths, size_t column)
{
	if (!batch_is_long(batch, widths, column) || !engine_spills(batch->context->engine) || !batch_crowded(batch, widths))
		return NULL;
	return strcmp(batch->columns[column].type, "BLOB") == 0 ? "bytes" : "text";
}

static bool sorted_by(const struct batch *batch, const char *column)
{
	const struct spec *spec = batch->context->spec;
	for (size_t i = 0; i < spec->identity_count; i++)
		if (spec->identity[i].column && strcmp(spec->identity[i].column, column) == 0)
			return true;
	return false;
}

/* A row as it goes through the sort: what it is sorted by is there itself, whatever stands aside. */
static double sorted_bytes(const struct batch *batch, const struct batch_widths *widths)
{
	double bytes = 0;
	for (size_t i = 0; i < batch->column_count; i++) {
		bool aside = batch_aside_type(batch, widths, i) != NULL;
		bytes += aside ? PLACE_BYTES : mean_of(widths, i) + VALUE_BYTES;
		bytes += aside && sorted_by(batch, batch->columns[i].name) ? mean_of(widths, i) : 0;
	}
	return bytes;
}

size_t batch_writes_at_once(const struct batch *batch, const struct batch_widths *widths)
{
	double needed = needed_for(sorted_bytes(batch, widths), widths->rows);
	if (batch_row_bytes(batch, widths) >= WIDE_BYTES && needed < WRITER_BYTES)
		needed = WRITER_BYTES;
	double fit = (double)engine_memory(batch->context->engine) / (needed + 1);
	return fit < 1 ? 1 : fit > 1024 ? 1024 : (size_t)fit;
}

recloser_status batch_blame_width(const struct batch *batch, const struct batch_widths *widths, recloser_status status, recloser_error *error)
{
	if (status != RECLOSER_IO || !error || strcmp(error->code, "engine.memory") != 0)
		return status;
	double sorted = sorted_bytes(batch, widths), whole = batch_row_bytes(batch, widths), bytes = sorted, needed = needed_for(sorted, widths->rows);
	uint64_t held = widths->rows < STRETCH_ROWS ? widths->rows : STRETCH_ROWS;
	if (sorted < WIDE_BYTES) { /* what it sorts is not much: it is what it takes at a time, of which it holds several */
		held = widths->rows < VECTOR_ROWS ? widths->rows : VECTOR_ROWS;
		bytes = whole;
		needed = VECTORS_HELD * whole * (double)held;
	}
	if (bytes < WIDE_BYTES || needed < (double)engine_memory(batch->context->engine))
		return status;
	return error_hint(error, "its rows are wide, %.0f bytes each: the engine holds %" PRIu64 " of them (%.0f MB) in each thread that sorts, and can't "
	                  "spill them; run again with --memory %.0fMB --threads 1, or partition further", bytes, held, bytes * (double)held / 1e6,
	                  needed / 1e6 + 1);
}
