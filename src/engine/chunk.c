/* SPDX-License-Identifier: Apache-2.0
 * Putting cells into the engine's vectors. */
#include "engine/chunk_fill.h"

void chunk_put_null(struct chunk *chunk, size_t column, size_t row)
{
	struct chunk_column *to = &chunk->columns[column];
	if (!to->vector)
		return;
	if (!to->validity) {
		duckdb_vector_ensure_validity_writable(to->vector);
		to->validity = duckdb_vector_get_validity(to->vector);
	}
	to->validity[row >> 6] &= ~((uint64_t)1 << (row & 63));
}

void chunk_put_text(struct chunk *chunk, size_t column, size_t row, const char *bytes, size_t count)
{
	struct chunk_column *to = &chunk->columns[column];
	if (to->vector)
		duckdb_unsafe_vector_assign_string_element_len(to->vector, row, bytes, count);
}

void chunk_put_int(struct chunk *chunk, size_t column, size_t row, int64_t value)
{
	struct chunk_column *to = &chunk->columns[column];
	if (!to->vector)
		return;
	if (to->type == CELL_DATE)
		((int32_t *)to->data)[row] = (int32_t)value;
	else
		((int64_t *)to->data)[row] = value;
}

void chunk_put_double(struct chunk *chunk, size_t column, size_t row, double value)
{
	struct chunk_column *to = &chunk->columns[column];
	if (to->vector)
		((double *)to->data)[row] = value;
}

void chunk_put_bool(struct chunk *chunk, size_t column, size_t row, int value)
{
	struct chunk_column *to = &chunk->columns[column];
	if (to->vector)
		((bool *)to->data)[row] = value != 0;
}
