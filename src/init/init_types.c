/* SPDX-License-Identifier: Apache-2.0
 * Types for columns of text. A column gets a type when every value converts by the conversion that a load would use, but for
 * a few words that say that there is none ("N/A"), which are then declared as missing. Values that name things stay text
 * however much they look like numbers: leading zeros, more digits than a number holds, ids and codes. */
#include <inttypes.h>
#include <string.h>

#include "batch/convert.h"
#include "init/init.h"

enum { WORDS_MOST = 8, FORMATS_MOST = 4, SAMPLE = 4000, OUTLIERS_SHARE = 500, ALL_OUTLIERS_SHARE = 200 };

struct candidate {
	enum column_type type;
	const char *format, *thousands, *decimal;
	bool day_first; /* contradicts its neighbour, the month first */
};
static const struct candidate numbers[] = {
	{TYPE_BOOLEAN, NULL, NULL, NULL, false},
	{TYPE_INTEGER, NULL, NULL, NULL, false},
	{TYPE_DOUBLE, NULL, NULL, NULL, false},
	{TYPE_INTEGER, NULL, ",", NULL, false},
	{TYPE_DOUBLE, NULL, ",", NULL, false},
	{TYPE_DOUBLE, NULL, NULL, ",", false},
	{TYPE_DOUBLE, NULL, ".", ",", false},
	{TYPE_UUID, NULL, NULL, NULL, false},
	{TYPE_TIME, NULL, NULL, NULL, false},
};
static const struct candidate times[] = {
	{TYPE_TIMESTAMP, "iso", NULL, NULL, false},
	{TYPE_TIMESTAMP, "%m/%d/%Y", NULL, NULL, false},
	{TYPE_TIMESTAMP, "%d/%m/%Y", NULL, NULL, true},
	{TYPE_TIMESTAMP, "%m/%d/%y", NULL, NULL, false},
	{TYPE_TIMESTAMP, "%d/%m/%y", NULL, NULL, true},
	{TYPE_TIMESTAMP, "%m/%d/%Y %H:%M", NULL, NULL, false},
	{TYPE_TIMESTAMP, "%d/%m/%Y %H:%M", NULL, NULL, true},
	{TYPE_TIMESTAMP, "%m/%d/%Y %H:%M:%S", NULL, NULL, false},
	{TYPE_TIMESTAMP, "%d/%m/%Y %H:%M:%S", NULL, NULL, true},
	{TYPE_TIMESTAMP, "%m/%d/%Y %I:%M:%S %p", NULL, NULL, false},
	{TYPE_TIMESTAMP, "%m/%d/%Y %I:%M %p", NULL, NULL, false},
	{TYPE_TIMESTAMP, "%d.%m.%Y", NULL, NULL, false},
	{TYPE_TIMESTAMP, "%Y/%m/%d", NULL, NULL, false},
	{TYPE_TIMESTAMP, "%Y/%m/%d %H:%M:%S", NULL, NULL, false},
	{TYPE_TIMESTAMP, "%d-%b-%Y", NULL, NULL, false},
	{TYPE_TIMESTAMP, "%d-%b-%y", NULL, NULL, false},
	{TYPE_TIMESTAMP, "%b %d, %Y", NULL, NULL, false},
	{TYPE_TIMESTAMP, "%B %d, %Y", NULL, NULL, false},
};
enum { NUMBERS = sizeof numbers / sizeof *numbers, TIMES = sizeof times / sizeof *times };

static const char *const naming_words[] = {"id", "ids", "code", "codes", "number", "no", "nr", "num", "zip", "zipcode", "postcode", "postal",
                                           "plz", "fips", "key", "phone", "fax", "ein", "cik", "nerc", "orispl", "inr", "geoid", "uid", NULL};
static const char *const place_words[] = {"lat", "lon", "lng", "latitude", "longitude", NULL};

static struct column column_as(struct arena *arena, const struct candidate *candidate)
{
	struct column column = {.name = "v", .type = candidate->type, .thousands = candidate->thousands, .decimal = candidate->decimal};
	if (candidate->format)
		strings_add(arena, &column.format, candidate->format);
	return column;
}

/* SQL: the value that a load would make of the text v. Numbers of a sheet are never taken for days here. */
static const char *value_as(struct arena *arena, const struct column *column)
{
	static const struct source_facts plain;
	const char *value = convert_text(arena, column, column->type, &plain, "v").value;
	return column->type == TYPE_DATE ? convert_refine(arena, column, TYPE_DATE, &plain, arena_printf(arena, "(%s)", value)) : value;
}

/* How many values convert: counts[i] of candidates[i], and in *filled of how many. `v` comes from `from`. */
static recloser_status count_fits(struct init *init, const char *from, const struct candidate *candidates, size_t count, const bool *wanted,
                                  uint64_t *counts, uint64_t *filled, recloser_error *error)
{
	struct text sql = text_on(init->arena);
	text_add(&sql, "SELECT coalesce(sum(n), 0)");
	for (size_t i = 0; i < count; i++) {
		struct column column = column_as(init->arena, &candidates[i]);
		text_addf(&sql, ", %s", wanted && !wanted[i] ? "0"
		          : arena_printf(init->arena, "coalesce(sum(n) FILTER ((%s) IS NOT NULL), 0)", value_as(init->arena, &column)));
	}
	struct rows rows;
	RC_TRY(engine_query(init->engine, init->arena, "try types", arena_printf(init->arena, "%s FROM %s", sql.at, from), &rows, error));
	*filled = (uint64_t)rows_int(&rows, 0, 0);
	for (size_t i = 0; i < count; i++)
		counts[i] = (uint64_t)rows_int(&rows, 0, i + 1);
	return RECLOSER_OK;
}

static const char *values_of(struct arena *arena, const struct init_column *column, bool sample)
{
	return arena_printf(arena, "(SELECT v, count(*) AS n FROM (SELECT c%zu AS v FROM init_0 WHERE c%zu IS NOT NULL%s) GROUP BY v)", column->index,
	                    column->index, sample ? arena_printf(arena, " LIMIT %d", SAMPLE) : "");
}

/* The texts that do not convert, if they are few and words: they say that there is no value. */
static recloser_status rest_of(struct init *init, const struct init_column *column, const struct column *rule, struct strings *words,
                               const char **told, bool *odd, recloser_error *error)
{
	struct rows rows;
	struct text list = text_on(init->arena);
	RC_TRY(engine_query(init->engine, init->arena, "look at the rest", arena_printf(init->arena,
	    "SELECT v, n, regexp_matches(v, '[1-9]'), count(*) OVER () FROM %s WHERE (%s) IS NULL ORDER BY n DESC, v LIMIT %d",
	    values_of(init->arena, column, false), value_as(init->arena, rule), WORDS_MOST + 1), &rows, error));
	*odd = rows.row_count > WORDS_MOST;
	for (size_t r = 0; r < rows.row_count && r < WORDS_MOST; r++) {
		const char *v = rows_at(&rows, r, 0);
		*odd |= strcmp(rows_at(&rows, r, 2), "true") == 0 || strlen(v) > 40 || strchr(v, '\n');
		strings_add(init->arena, words, v);
		if (r < 4)
			text_addf(&list, "%s%.*s (%s)", r ? ", " : "", (int)strcspn(arena_printf(init->arena, "%.40s", v), "\r\n"), v, rows_at(&rows, r, 1));
	}
	if (rows.row_count > 4)
		text_add(&list, ", ...");
	*told = list.at;
	return RECLOSER_OK;
}

static const char *shape_of(const struct column *rule)
{
	switch (rule->type) {
	case TYPE_BOOLEAN: return "true or false";
	case TYPE_INTEGER: return "whole numbers";
	case TYPE_DOUBLE: return "numbers";
	case TYPE_UUID: return "UUIDs";
	case TYPE_TIME: return "times of day";
	case TYPE_DATE: return "dates";
	default: return "times";
	}
}

/* The rule fits all but the rest: declare the rest as missing, or leave the column text and say why. */
static recloser_status settle(struct init *init, struct init_column *column, const struct column *rule, uint64_t fits, uint64_t filled,
                              recloser_error *error)
{
	struct strings words = {0};
	const char *told = "";
	bool odd = false;
	uint64_t rest = filled - fits;
	RC_TRY(rest_of(init, column, rule, &words, &told, &odd, error));
	if (odd && (rest * OUTLIERS_SHARE <= filled || (rest == 1 && filled >= 100)) && (init->outliers + rest) * ALL_OUTLIERS_SHARE <= init->rows) {
		init->outliers += rest;
		column->type = rule->type;
		column->rule = *rule;
		column->reason = arena_printf(init->arena, "%s but for %s, which is quarantined", shape_of(rule), told);
		return RECLOSER_OK;
	}
	if (odd) {
		if (fits * 2 >= filled)
			column->reason = arena_printf(init->arena, "text: %s of %s are %s, but not %s", text_count(init->arena, fits),
			                              text_count(init->arena, filled), shape_of(rule), told);
		return RECLOSER_OK;
	}
	column->type = rule->type;
	column->rule = *rule;
	column->rule.missing = words;
	if (words.count)
		column->reason = arena_printf(init->arena, "%s but for %s", shape_of(rule), told);
	return RECLOSER_OK;
}

/* ---- numbers ---- */

/* Why numbers stay text, or NULL. */
static recloser_status names_things(struct init *init, const struct init_column *column, const char **why, recloser_error *error)
{
	struct rows rows;
	const char *name = column->source_name[0] ? column->source_name : column->name;
	*why = NULL;
	RC_TRY(engine_query(init->engine, init->arena, "look at the digits", arena_printf(init->arena,
	    "SELECT coalesce(sum(n) FILTER (regexp_matches(v, '^0[0-9]')), 0), coalesce(sum(n) FILTER (length(regexp_replace(v, '[^0-9]', '', 'g')) > 15"
	    " AND regexp_matches(v, '^[0-9]+$')), 0) FROM %s", values_of(init->arena, column, false)), &rows, error));
	if (rows_int(&rows, 0, 0) > 0)
		*why = arena_printf(init->arena, "text: %s values begin with a zero", text_count(init->arena, (uint64_t)rows_int(&rows, 0, 0)));
	else if (rows_int(&rows, 0, 1) > 0)
		*why = arena_printf(init->arena, "text: %s values have more than 15 digits", text_count(init->arena, (uint64_t)rows_int(&rows, 0, 1)));
	else if ((init_name_has(init->arena, name, naming_words) || strchr(name, '#')) && !init_name_has(init->arena, name, place_words))
		*why = "text: numbers that name things";
	return RECLOSER_OK;
}

/* 45203 in a column of dates: a text file that was saved from a spreadsheet. */
static bool serial_days(struct init *init, const struct init_column *column)
{
	static const char *const words[] = {"date", NULL};
	return !init->sheet && init_name_has(init->arena, column->label, words) && column->low && strlen(column->low) == 5 && strlen(column->high) == 5
	    && strcmp(column->low, "20000") >= 0 && strcmp(column->high, "80000") < 0;
}

static recloser_status try_numbers(struct init *init, struct init_column *column, bool *taken, recloser_error *error)
{
	uint64_t counts[NUMBERS], filled;
	bool wanted[NUMBERS], any = false;
	*taken = false;
	RC_TRY(count_fits(init, values_of(init->arena, column, true), numbers, NUMBERS, NULL, counts, &filled, error));
	for (size_t i = 0; i < NUMBERS; i++)
		any |= wanted[i] = counts[i] * 10 >= filled * 3 && filled > 0;
	if (!any)
		return RECLOSER_OK;
	RC_TRY(count_fits(init, values_of(init->arena, column, false), numbers, NUMBERS, wanted, counts, &filled, error));
	size_t best = 0;
	for (size_t i = 1; i < NUMBERS; i++)
		if (counts[i] > counts[best])
			best = i;
	if (counts[best] * 10 < filled * 3)
		return RECLOSER_OK;
	/* "F" alone is a code, not false. */
	if (numbers[best].type == TYPE_BOOLEAN && (column->distinct != 2 || counts[best] < filled))
		return RECLOSER_OK;
	*taken = true;
	bool numeric = numbers[best].type == TYPE_INTEGER || numbers[best].type == TYPE_DOUBLE;
	if (numeric && !numbers[best].thousands && !numbers[best].decimal) {
		RC_TRY(names_things(init, column, &column->reason, error));
		if (column->reason)
			return RECLOSER_OK;
	}
	struct column rule = column_as(init->arena, &numbers[best]);
	if (numbers[best].type == TYPE_INTEGER && serial_days(init, column)) {
		rule = (struct column){.name = "v", .type = TYPE_DATE};
		strings_add(init->arena, &rule.format, "excel");
		column->reason = "serial days of a spreadsheet";
	}
	const char *name = column->source_name[0] ? column->source_name : column->name;
	if (rule.type == TYPE_INTEGER && init_name_has(init->arena, name, place_words))
		rule.type = TYPE_DOUBLE;
	return settle(init, column, &rule, counts[best], filled, error);
}

/* ---- times ---- */

static bool month_or_day(const struct candidate *candidate)
{
	return candidate->day_first;
}

/* The formats that are needed together, the commonest first. Of month/day and day/month the one that a value decides. */
static void choose_formats(struct init *init, const uint64_t *counts, struct column *rule, bool *undecided)
{
	bool out[TIMES] = {false};
	*undecided = false;
	for (size_t i = 1; i < TIMES; i++)
		if (month_or_day(&times[i])) {
			*undecided |= counts[i] && counts[i] == counts[i - 1];
			out[counts[i] > counts[i - 1] ? i - 1 : i] = true;
		}
	for (size_t round = 0; round < FORMATS_MOST; round++) {
		size_t best = TIMES;
		for (size_t i = 0; i < TIMES; i++)
			if (!out[i] && counts[i] && (best == TIMES || counts[i] > counts[best]))
				best = i;
		if (best == TIMES)
			return;
		strings_add(init->arena, &rule->format, times[best].format);
		out[best] = true;
	}
}

static recloser_status count_rule(struct init *init, const struct init_column *column, const struct column *rule, uint64_t *count,
                                  recloser_error *error)
{
	struct rows rows;
	RC_TRY(engine_query(init->engine, init->arena, "try the formats", arena_printf(init->arena,
	    "SELECT coalesce(sum(n), 0) FROM %s WHERE (%s) IS NOT NULL", values_of(init->arena, column, false), value_as(init->arena, rule)), &rows, error));
	*count = (uint64_t)rows_int(&rows, 0, 0);
	return RECLOSER_OK;
}

/* Offsets in the text, or several formats: the day alone, the moment, the moment with its offset; whichever all values have. */
static recloser_status settle_time(struct init *init, struct init_column *column, struct column *rule, uint64_t filled, recloser_error *error)
{
	static const enum column_type kinds[] = {TYPE_DATE, TYPE_TIMESTAMP, TYPE_TIMESTAMPTZ};
	uint64_t counts[3], best = 0;
	if (rule->format.count == 1 && strcmp(rule->format.at[0], "iso") == 0)
		rule->format = (struct strings){0};
	for (size_t i = 0; i < 3; i++) {
		rule->type = kinds[i];
		RC_TRY(count_rule(init, column, rule, &counts[i], error));
	}
	for (size_t i = 1; i < 3; i++)
		if (counts[i] > counts[best])
			best = i;
	if (counts[best] * 2 < filled)
		return RECLOSER_OK;
	rule->type = kinds[best];
	RC_TRY(settle(init, column, rule, counts[best], filled, error));
	if (column->type == TYPE_TIMESTAMP && counts[0] > 0 && !column->reason)
		column->reason = arena_printf(init->arena, "%s of %s are at midnight; {type: date, time: drop} cuts the time off", text_count(init->arena, counts[0]),
		                              text_count(init->arena, counts[best]));
	return RECLOSER_OK;
}

static recloser_status try_times(struct init *init, struct init_column *column, recloser_error *error)
{
	uint64_t counts[TIMES], filled, any = 0;
	bool undecided;
	struct column rule = {.name = "v"}, zoned = {.name = "v", .type = TYPE_TIMESTAMPTZ};
	RC_TRY(count_fits(init, values_of(init->arena, column, true), times, TIMES, NULL, counts, &filled, error));
	for (size_t i = 0; i < TIMES; i++)
		any += counts[i];
	if (any * 10 < filled * 3) {
		RC_TRY(count_rule(init, column, &zoned, &any, error));
		return any * 2 >= column->filled && any ? settle_time(init, column, &rule, column->filled, error) : RECLOSER_OK;
	}
	RC_TRY(count_fits(init, values_of(init->arena, column, false), times, TIMES, NULL, counts, &filled, error));
	choose_formats(init, counts, &rule, &undecided);
	if (undecided) {
		column->reason = "text: no value decides between month/day and day/month; then type: date, format: \"%m/%d/%Y\" or \"%d/%m/%Y\"";
		return RECLOSER_OK;
	}
	return settle_time(init, column, &rule, filled, error);
}

/* ---- the columns ---- */

static void own_type(struct init_column *column)
{
	const char *type = column->engine_type;
	if (convert_is_direct(type, TYPE_INTEGER))
		column->type = TYPE_INTEGER;
	else if (strcmp(type, "DOUBLE") == 0 || strcmp(type, "FLOAT") == 0)
		column->type = TYPE_DOUBLE;
	else if (strcmp(type, "DATE") == 0)
		column->type = TYPE_DATE;
	else if (text_starts(type, "TIMESTAMP"))
		column->type = TYPE_TIMESTAMP;
	else if (strcmp(type, "BOOLEAN") == 0)
		column->type = TYPE_BOOLEAN;
}

recloser_status init_types(struct init *init, recloser_error *error)
{
	for (size_t i = 0; i < init->column_count; i++) {
		struct init_column *column = &init->columns[i];
		if (column->geometry || column->filled == 0)
			continue;
		/* Of JSON, what a column of texts holds where its values were all of one narrow kind. */
		enum column_type narrow = init->source->columns[i].narrowest;
		bool narrowed = column->text && narrow != TYPE_UNSET && narrow != TYPE_TEXT;
		if (!column->text || narrowed) {
			own_type(column);
			if (narrowed)
				column->type = narrow;
			continue;
		}
		bool taken;
		RC_TRY(try_numbers(init, column, &taken, error));
		if (!taken)
			RC_TRY(try_times(init, column, error));
		column->listed = column->type != TYPE_UNSET;
	}
	return RECLOSER_OK;
}
