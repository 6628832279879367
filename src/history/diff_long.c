/* SPDX-License-Identifier: Apache-2.0 */
#include "history/diff_long.h"

#include <string.h>

#include "batch/batch.h"

enum { ASIDE_PART = 8 };

/* With the column's number in its side's schema. */
#define PLACE "_rc_place_"
#define SUM "_rc_sum_"

/* ---- measuring ---- */

/* Parquet's own type, of `geoparquet: 2.0`. */
static bool is_geometry(const char *type)
{
	return text_starts(type, "GEOMETRY");
}

/* "text" or "bytes"; NULL: a value of this type can't stand aside. */
static const char *kind_of(const char *type)
{
	return strcmp(type, "VARCHAR") == 0 ? "text" : strcmp(type, "BLOB") == 0 || is_geometry(type) ? "bytes" : NULL;
}

/* SQL of what is put aside and digested. */
static const char *put(struct arena *arena, const char *value, const char *type)
{
	return is_geometry(type) ? arena_printf(arena, "CAST(st_asbinary(%s) AS BLOB)", value) : value;
}

/* Which columns of a side are long; and how much all that could be long take together. */
static recloser_status measure(struct engine *engine, struct arena *arena, const char *key, const struct joined_side *side, bool *is_long,
							   double *bytes, recloser_error *error)
{
	struct text lengths = text_on(arena);
	struct rows rows;
	for (size_t i = 0; i < side->schema->row_count; i++) {
		const char *type = rows_at(side->schema, i, 1);
		if (kind_of(type))
			text_addf(&lengths, ", CAST(sum(%s) AS BIGINT)", batch_length_sql(arena, put(arena, sql_name(arena, rows_at(side->schema, i, 0)), type),
																		 is_geometry(type) ? "BLOB" : type));
	}
	RC_TRY(engine_query(engine, arena, "measure the values",
						arena_printf(arena, "SELECT count(*)%s FROM %s", lengths.length ? lengths.at : "", side->relation), &rows, error));
	double count = (double)rows_int(&rows, 0, 0);
	for (size_t i = 0, at = 1; i < side->schema->row_count; i++) {
		if (!kind_of(rows_at(side->schema, i, 1)))
			continue;
		double sum = (double)rows_int(&rows, 0, at++);
		*bytes += sum;
		is_long[i] = sum >= count * BATCH_LONG_BYTES && strcmp(rows_at(side->schema, i, 0), key) != 0;
	}
	return RECLOSER_OK;
}

recloser_status joined_measure(struct engine *engine, struct arena *arena, const char *key, struct joined_side *older,
							   struct joined_side *newer, recloser_error *error)
{
	struct joined_side *const sides[2] = {older, newer};
	bool *is_long[2];
	double bytes = 0;
	for (int i = 0; i < 2; i++) {
		is_long[i] = arena_array(arena, sides[i]->schema->row_count + 1, sizeof(bool));
		RC_TRY(measure(engine, arena, key, sides[i], is_long[i], &bytes, error));
	}
	bool many = engine_spills(engine) && bytes * ASIDE_PART > (double)engine_memory(engine);
	for (int i = 0; i < 2; i++)
		sides[i]->aside = many ? is_long[i] : arena_array(arena, sides[i]->schema->row_count + 1, sizeof(bool));
	return RECLOSER_OK;
}

/* ---- SQL ---- */

const char *joined_relation(struct arena *arena, const struct joined_side *side)
{
	struct text without = text_on(arena), with = text_on(arena);
	for (size_t i = 0; i < side->schema->row_count; i++) {
		if (!side->aside[i])
			continue;
		const char *name = sql_name(arena, rows_at(side->schema, i, 0)), *type = rows_at(side->schema, i, 1), *value = put(arena, name, type);
		text_addf(&without, "%s%s", without.length ? ", " : "", name);
		text_addf(&with, ", rc_aside_%s(%s) AS " PLACE "%zu, md5_number(%s) AS " SUM "%zu", kind_of(type), value, i, value, i);
	}
	return without.length ? arena_printf(arena, "(SELECT * EXCLUDE (%s)%s FROM %s)", without.at, with.at, side->relation) : side->relation;
}

/* The number of a column that stands aside, or -1. */
static long place_of(const struct joined_side *side, const char *name)
{
	for (size_t i = 0; i < side->schema->row_count; i++)
		if (side->aside[i] && strcmp(rows_at(side->schema, i, 0), name) == 0)
			return (long)i;
	return -1;
}

bool joined_is_aside(const struct joined_side *side, const char *name)
{
	return place_of(side, name) >= 0;
}

const char *joined_value(struct arena *arena, const struct joined_side *side, const char *name)
{
	long place = place_of(side, name);
	if (place < 0)
		return arena_printf(arena, "%s.%s", side->alias, sql_name(arena, name));
	const char *type = rows_at(side->schema, (size_t)place, 1);
	const char *value = arena_printf(arena, "rc_%s_at(%s." PLACE "%ld)", kind_of(type), side->alias, place);
	return is_geometry(type) ? arena_printf(arena, "CAST(st_geomfromwkb(%s) AS %s)", value, type) : value;
}

static const char *type_in(const struct joined_side *side, const char *name)
{
	for (size_t i = 0; i < side->schema->row_count; i++)
		if (strcmp(rows_at(side->schema, i, 0), name) == 0)
			return rows_at(side->schema, i, 1);
	return "";
}

const char *joined_sum(struct arena *arena, const struct joined_side *side, const char *name)
{
	long place = place_of(side, name);
	if (place >= 0)
		return arena_printf(arena, "%s." SUM "%ld", side->alias, place);
	return arena_printf(arena, "md5_number(%s)", put(arena, arena_printf(arena, "%s.%s", side->alias, sql_name(arena, name)), type_in(side, name)));
}
