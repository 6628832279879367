/* SPDX-License-Identifier: Apache-2.0
 * Spelled values that drift: a fuel code that was OTH and is BAT for one month. Only columns with few values are looked at;
 * a value that is new, or gone, is followed through the keys that both publications have to the value that these rows had,
 * or got. Where it is mostly one, the code was respelled; otherwise the world has changed, and it is only counted. */
#include <inttypes.h>
#include <string.h>

#include "history/doctor.h"

enum { FEW_VALUES = 40, ROWS_A_VALUE = 5, LEAST_ROWS = 3, VALUES_SHOWN = 8 };

static const char *table_of(struct arena *arena, const char *file)
{
	return arena_printf(arena, "read_parquet(%s, hive_partitioning = false)", sql_text(arena, file));
}

static bool is_identity(const struct spec *spec, const char *name)
{
	for (size_t i = 0; i < spec->identity_count; i++)
		if (spec->identity[i].column && strcmp(spec->identity[i].column, name) == 0)
			return true;
	return false;
}

/* Few values, and each of many rows: a code, not a date or a name that happens to be rare. */
static bool is_code(const struct rows *counts, size_t row, size_t column)
{
	int64_t values = rows_int(counts, row, 2 * column), rows = rows_int(counts, row, 2 * column + 1);
	return values <= FEW_VALUES && rows >= values * ROWS_A_VALUE;
}

/* Text columns that both have, and that are codes in both. */
static recloser_status few_valued(struct doctor *doctor, const char *older, const char *newer, struct strings *out,
								  recloser_error *error)
{
	struct history *h = doctor->h;
	struct arena *arena = h->arena;
	struct rows left, right, counts;
	struct strings names = {0};
	RC_TRY(engine_describe(h->engine, arena, arena_printf(arena, "SELECT * FROM %s", older), &left, error));
	RC_TRY(engine_describe(h->engine, arena, arena_printf(arena, "SELECT * FROM %s", newer), &right, error));
	struct text calls = text_on(arena);
	for (size_t i = 0; i < left.row_count; i++) {
		const char *name = rows_at(&left, i, 0);
		bool both = false;
		for (size_t k = 0; k < right.row_count && !both; k++)
			both = strcmp(rows_at(&right, k, 0), name) == 0 && strcmp(rows_at(&right, k, 1), "VARCHAR") == 0;
		if (!both || strcmp(rows_at(&left, i, 1), "VARCHAR") != 0 || strcmp(name, h->spec->key_column) == 0 ||
			strings_has(&h->spec->partition, name) || is_identity(h->spec, name))
			continue;
		strings_add(arena, &names, name);
		text_addf(&calls, "%sapprox_count_distinct(%s), count(%s)", calls.length ? ", " : "", sql_name(arena, name),
				  sql_name(arena, name));
	}
	if (names.count == 0)
		return RECLOSER_OK;
	RC_TRY(
		engine_query(h->engine, arena, "count spelled values",
					 arena_printf(arena, "SELECT %s FROM %s UNION ALL SELECT %s FROM %s", calls.at, older, calls.at, newer),
					 &counts, error));
	for (size_t i = 0; i < names.count; i++)
		if (is_code(&counts, 0, i) && is_code(&counts, 1, i) &&
			rows_int(&counts, 0, 2 * i) + rows_int(&counts, 1, 2 * i) > 0)
			strings_add(arena, out, names.at[i]);
	return RECLOSER_OK;
}

/* A permit's column holds "Not Required" in most rows and a day in some: a day is no code. */
#define DAY "\\s*([0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{2,4})([ T][0-9:.]+Z?)?\\s*"

/* For each value that is in `here` and not in `there`: its rows, and the value that most of them have over there. */
static const char *strange(struct doctor *doctor, const char *name, const char *way, const char *here, const char *there)
{
	struct arena *arena = doctor->h->arena;
	const char *key = sql_name(arena, doctor->h->spec->key_column), *column = sql_name(arena, name);
	return arena_printf(
		arena,
		"SELECT %s AS name, '%s' AS way, value, CAST(sum(n) AS BIGINT) AS rows, arg_max(other, n) FILTER (WHERE other IS "
		"NOT NULL) AS mostly,\n"
		"  CAST(max(n) FILTER (WHERE other IS NOT NULL) AS BIGINT) AS many FROM (\n"
		"  SELECT h.%s AS value, t.%s AS other, count(*) AS n FROM %s h LEFT JOIN %s t ON h.%s = t.%s\n"
		"  WHERE h.%s IS NOT NULL AND NOT regexp_full_match(h.%s, '" DAY "') AND h.%s NOT IN (SELECT %s FROM %s WHERE %s IS NOT NULL)\n"
		"  GROUP BY ALL) GROUP BY value",
		sql_text(arena, name), way, column, column, here, there, key, key, column, column, column, column, there, column);
}

/* Most of its rows had, or got, one other value: the same thing under another name. */
static bool respelled(const struct rows *rows, size_t i)
{
	return rows_at(rows, i, 4) && rows_int(rows, i, 5) >= LEAST_ROWS && rows_int(rows, i, 5) * 2 > rows_int(rows, i, 3);
}

/* A respelling seen from its new code and from the one that is gone is one. */
static void note_respelled(struct doctor *doctor, const struct pair *pair, const struct rows *rows, size_t i)
{
	struct arena *arena = doctor->h->arena;
	bool fresh = strcmp(rows_at(rows, i, 1), "new") == 0;
	const char *name = rows_at(rows, i, 0), *value = rows_at(rows, i, 2), *mostly = rows_at(rows, i, 4);
	const char *from = fresh ? mostly : value, *to = fresh ? value : mostly;
	struct respelling *its = NULL;
	for (size_t k = 0; k < doctor->respelled_count && !its; k++) {
		struct respelling *at = &doctor->respelled[k];
		if (at->pair == pair->number && strcmp(at->column, name) == 0 && strcmp(at->from, from) == 0 && strcmp(at->to, to) == 0)
			its = at;
	}
	if (!its) {
		size_t count = doctor->respelled_count, size = sizeof *doctor->respelled;
		doctor->respelled = arena_grow(arena, doctor->respelled, count * size, (count + 1) * size);
		its = &doctor->respelled[doctor->respelled_count++];
		*its = (struct respelling){.column = name, .from = from, .to = to, .older = pair->older, .newer = pair->newer,
		                           .pair = pair->number, .rows = rows_int(rows, i, 5)};
	}
	*(fresh ? &its->fresh : &its->gone) = true;
	*(fresh ? &its->of_to : &its->of_from) = rows_int(rows, i, 3);
}

/* The rows from `first` on that are of one column and go one way, but for those that were respelled, in one sentence. */
static size_t tell_rest(struct doctor *doctor, const struct pair *pair, const struct rows *rows, size_t first)
{
	struct text values = text_on(doctor->h->arena);
	size_t i = first, said = 0;
	for (; i < rows->row_count && strcmp(rows_at(rows, i, 0), rows_at(rows, first, 0)) == 0 &&
		   strcmp(rows_at(rows, i, 1), rows_at(rows, first, 1)) == 0;
		 i++) {
		if (respelled(rows, i))
			note_respelled(doctor, pair, rows, i);
		else if (said++ < VALUES_SHOWN)
			text_addf(&values, "%s\"%s\" (%s)", said > 1 ? ", " : "", rows_at(rows, i, 2), rows_at(rows, i, 3));
	}
	if (said)
		doctor_say(doctor, "values", FINDING_FACT, NULL, "%s: %s in %s, with rows: %s%s", rows_at(rows, first, 0),
				   rows_at(rows, first, 1), pair->newer, values.at, said > VALUES_SHOWN ? " ..." : "");
	return i;
}

recloser_status doctor_values(struct doctor *doctor, const struct pair *pair, recloser_error *error)
{
	struct history *h = doctor->h;
	const char *older = table_of(h->arena, pair->older_file), *newer = table_of(h->arena, pair->newer_file);
	struct strings names = {0};
	struct text sql = text_on(h->arena);
	struct rows rows;
	RC_TRY(few_valued(doctor, older, newer, &names, error));
	for (size_t i = 0; i < names.count; i++)
		text_addf(&sql, "%s%s\nUNION ALL %s", i ? "\nUNION ALL " : "", strange(doctor, names.at[i], "new", newer, older),
				  strange(doctor, names.at[i], "gone", older, newer));
	if (names.count == 0)
		return RECLOSER_OK;
	RC_TRY(engine_query(h->engine, h->arena, "compare spelled values",
						arena_printf(h->arena, "SELECT * FROM (%s) ORDER BY name, way DESC, rows DESC, value", sql.at),
						&rows, error));
	for (size_t i = 0; i < rows.row_count;)
		i = tell_rest(doctor, pair, &rows, i);
	return RECLOSER_OK;
}
