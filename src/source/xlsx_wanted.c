/* SPDX-License-Identifier: Apache-2.0
 * Which columns a load looks at. An error cell sends its row to quarantine, which is right where the column is loaded and
 * absurd where it is dropped: workbooks carry look-up columns full of #N/A beside the table. */
#include "source/xlsx.h"

#include <string.h>

/* Expressions are not parsed here: a column whose name occurs in one may be used by it. */
static bool named_in(struct arena *arena, const char *name, const char *expression)
{
	return expression && *name && strstr(text_squeezed(arena, expression), text_squeezed(arena, name));
}

static void want(struct arena *arena, const struct source *source, const char *name, bool *wanted)
{
	int index = name ? source_find(arena, source, name) : -1;
	if (index >= 0)
		wanted[index] = true;
}

static void want_column(struct arena *arena, const struct source *source, const struct column *column, bool *wanted)
{
	if (column->origin == ORIGIN_AT && column->at >= 1 && (size_t)column->at <= source->column_count)
		wanted[column->at - 1] = true;
	for (size_t i = 0; column->origin == ORIGIN_FROM && i < column->from.count; i++)
		want(arena, source, column->from.at[i], wanted);
}

const bool *xlsx_wanted(struct arena *arena, const struct source_request *request, const struct source *source)
{
	const struct spec *spec = request->spec;
	const struct block *block = request->block;
	bool *wanted = arena_array(arena, source->column_count + 1, sizeof *wanted);
	if (spec->other_columns_keep) {
		memset(wanted, true, source->column_count);
		return wanted;
	}
	for (size_t i = 0; i < block->column_count; i++)
		want_column(arena, source, &block->columns[i], wanted);
	for (size_t i = 0; i < sizeof spec->geometry.parts / sizeof *spec->geometry.parts; i++)
		want(arena, source, spec->geometry.parts[i], wanted);
	for (size_t c = 0; c < source->column_count; c++) {
		const char *name = *source->columns[c].name ? source->columns[c].name : source->columns[c].letter;
		for (size_t i = 0; i < block->column_count && !wanted[c]; i++)
			wanted[c] = block->columns[i].origin == ORIGIN_SQL && named_in(arena, name, block->columns[i].sql);
		for (size_t i = 0; i < spec->identity_count && !wanted[c]; i++)
			wanted[c] = named_in(arena, name, spec->identity[i].sql);
		wanted[c] = wanted[c] || named_in(arena, name, block->skip);
	}
	return wanted;
}
