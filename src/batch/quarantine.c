/* SPDX-License-Identifier: Apache-2.0
 * Rows that must not be loaded, kept with their reasons. Each bad row carries its faults as JSON (layout.h); here they become
 * the table `quarantine`, one row a reason, the limit is applied, and the report's lines are made. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "batch/batch.h"

#define FAULT_SHAPE                                                                                                                \
	"'{\"line\":\"BIGINT\",\"offset\":\"BIGINT\",\"faults\":[{\"reason\":\"VARCHAR\",\"column\":\"VARCHAR\",\"value\":\"VARCHAR\"}],\"row\":\"JSON\"}'"

static recloser_status make_table(struct batch *batch, recloser_error *error)
{
	const char *path = batch_path_sql(batch->arena, &batch->context->spec->partition);
	return engine_runf(batch->context->engine, "set bad rows aside", error,
	    "CREATE TABLE quarantine AS\n"
	    "SELECT f.reason, f.\"column\", f.\"value\", s.name AS source, s.sheet, b._rc_row AS row_number, j.line, j.\"offset\" AS byte_offset,\n"
	    "       b.partition, CAST(j.\"row\" AS VARCHAR) AS \"row\", b._rc_src\n"
	    "FROM (SELECT _rc_src, _rc_row, %s AS partition, from_json(_rc_fault, " FAULT_SHAPE ") AS j FROM batch WHERE _rc_fault IS NOT NULL) b\n"
	    "JOIN rc_sources s ON s.src = b._rc_src, LATERAL (SELECT unnest(b.j.faults) AS f)\n"
	    "WHERE f IS NOT NULL", path);
}

/* A reason with its column, where it does not name that itself. */
static const char *with_column(struct arena *arena, const char *column, const char *reason)
{
	return column && !strstr(reason, column) ? arena_printf(arena, "%s: %s", column, reason) : reason;
}

/* What lets rows in whose only fault is that they have no geometry; else "". */
static const char *way_in(const char *reason)
{
	bool bare = text_starts(reason, "geometry is missing") || text_starts(reason, "the geometry is empty") || text_starts(reason, "no feature of ");
	return bare ? "; geometry: {missing: allow} keeps such rows" : "";
}

static void say_more(struct arena *arena, const struct rows *rows, size_t total_at, struct strings *out)
{
	int64_t more = rows->row_count ? rows_int(rows, 0, total_at) - (int64_t)rows->row_count : 0;
	if (more > 0)
		strings_add(arena, out, arena_printf(arena, "and %" PRId64 " more", more));
}

/* ---- what would accept the values ---- */

/* How a number may be spelled: with a point or with a comma before its fraction, thousands apart or not; and one with something
 * around it, such as "10%", "$9" or "12.5 MW". Brackets are left out, which mean less than nothing to accountants, and ranges. */
#define BY_POINT "'[-+]?([0-9]+|[0-9]{1,3}([, ''][0-9]{3})+)(\\.[0-9]+)?'"
#define BY_COMMA "'[-+]?([0-9]+|[0-9]{1,3}([. ''][0-9]{3})+)(,[0-9]+)?'"
#define BESIDES  "'[^-+0-9A-Za-z.,()]*[-+]?[0-9]+(\\.[0-9]+)?[^-+0-9.,()]*'"
#define THE_NUMBER "[-+]?[0-9.]+"
#define ITS_MATCH THE_NUMBER "|^[^0-9]*$" /* what has no digits stays whole: `match` is asked before `missing` */
#define A_FACTOR "'[0-9] ?[kKmMbBgG]$'"

/* What `spellings` selects. */
enum {
	COLUMN, REASON, ROWS, SHOWN, WORDS, GROUPS,
	SPELLED,  /* different values with digits, and how many of them are a number */
	POINTS, COMMAS, BESIDE,
	ALIKE,    /* what is beside the number is the same in all */
	FRACTION, /* one of them has a point */
	SIGN,     /* between thousands: the one that all of them have, or NULL */
	EXAMPLE, NUMBER
};

/* All values with digits are numbers: how they are to be read. NULL: no field of the spec does it. */
static const char *way_of_numbers(struct arena *arena, const struct rows *rows, size_t i)
{
	const char *sign = rows_at(rows, i, SIGN), *example = rows_at(rows, i, EXAMPLE), *number = rows_at(rows, i, NUMBER);
	int64_t all = rows_int(rows, i, SPELLED);
	bool points = rows_int(rows, i, POINTS) == all, commas = rows_int(rows, i, COMMAS) == all;
	bool whole = text_starts(rows_at(rows, i, REASON), "not a whole number");
	if (points && commas && sign && *sign == ',')
		return arena_printf(arena, "thousands: \",\" reads %s as %s, decimal: \",\" reads it as a fraction", example, number);
	if (points && sign)
		return arena_printf(arena, "thousands: \"%s\" reads them", sign);
	if (points && whole)
		return strcmp(rows_at(rows, i, FRACTION), "true") == 0 ? "type: double reads them" : "type: text keeps every digit";
	if (commas && !points)
		return arena_printf(arena, "decimal: \",\"%s reads them", sign && *sign != ',' ? arena_printf(arena, ", thousands: \"%s\"", sign) : "");
	if (rows_int(rows, i, BESIDE) == all && strcmp(rows_at(rows, i, ALIKE), "true") == 0)
		return arena_printf(arena, "match: \"" ITS_MATCH "\" takes the number out of them, %s of %s", number, example);
	return NULL;
}

static const char *way_of_digits(struct arena *arena, const struct rows *rows, size_t i)
{
	const char *reason = rows_at(rows, i, REASON);
	if (rows_int(rows, i, SPELLED) == 0)
		return NULL;
	if (text_starts(reason, "not a date") || text_starts(reason, "not a timestamp"))
		return "say how they are spelled: format: \"%m/%d/%Y\" or the like";
	return text_starts(reason, "not a number") || text_starts(reason, "not a whole number") ? way_of_numbers(arena, rows, i) : NULL;
}

/* "capacity_mw: not a number: TBD (2), I/S (1); missing: [TBD, I/S] would accept them". Whatever has digits says something, and
 * is never offered as missing: it would be gone without a word. */
static const char *spelling_line(struct arena *arena, const struct rows *rows, size_t i)
{
	const char *reason = with_column(arena, rows_at(rows, i, COLUMN), rows_at(rows, i, REASON)), *values = rows_at(rows, i, SHOWN);
	const char *words = rows_at(rows, i, WORDS), *digits = way_of_digits(arena, rows, i);
	struct text line = text_on(arena);
	text_addf(&line, values ? "%s: %s" : "%s (%s)", reason, values ? values : rows_at(rows, i, ROWS));
	if (digits)
		text_addf(&line, "; %s", digits);
	if (words && text_starts(rows_at(rows, i, REASON), "neither"))
		text_addf(&line, "; true: [...] and false: [...] say what they mean, missing: [%s] that they mean nothing", words);
	else if (words)
		text_addf(&line, "; missing: [%s] would accept %s", words, rows_int(rows, i, SPELLED) ? "the words" : "them");
	text_add(&line, way_in(rows_at(rows, i, REASON)));
	return line.at;
}

static recloser_status spellings(struct batch *batch, struct strings *out, recloser_error *error)
{
	struct rows rows;
	RC_TRY(engine_query(batch->context->engine, batch->arena, "sum up bad values",
	    "WITH v AS (SELECT \"column\", reason, \"value\", count(*) AS n, coalesce(left(\"value\", 40), 'missing') AS shown,\n"
	    "                  '\"' || replace(\"value\", '\"', '\\\"') || '\"' AS quoted, trim(\"value\") AS t, regexp_matches(\"value\", '[0-9]') AS digits,\n"
	    "                  row_number() OVER (PARTITION BY \"column\", reason ORDER BY count(*) DESC, \"value\") AS rank\n"
	    "           FROM quarantine GROUP BY 1, 2, 3),\n"
	    "w AS (SELECT *, regexp_full_match(t, " BY_POINT ") AS point, regexp_full_match(t, " BY_COMMA ") AS comma,\n"
	    "             regexp_full_match(t, " BESIDES ") AND NOT regexp_matches(t, " A_FACTOR ") AS beside,\n"
	    "             regexp_replace(t, '[-+0-9. ]+', '') AS around, nullif(regexp_extract(t, '^[-+]?[0-9]{1,3}([., ''])[0-9]{3}([^0-9]|$)', 1), '') AS sign FROM v)\n"
	    "SELECT \"column\", reason, sum(n)::BIGINT,\n"
	    "       CASE WHEN count(\"value\") > 0 THEN string_agg(CASE WHEN rank <= 8 THEN shown || ' (' || n || ')' END, ', ' ORDER BY rank) END,\n"
	    "       string_agg(CASE WHEN rank <= 8 THEN quoted END, ', ' ORDER BY rank) FILTER (NOT digits AND (reason LIKE 'not %' OR reason LIKE 'neither%')),\n"
	    "       count(*) OVER (), count(*) FILTER (digits), count(*) FILTER (digits AND point), count(*) FILTER (digits AND comma),\n"
	    "       count(*) FILTER (digits AND beside), count(DISTINCT around) FILTER (digits) = 1, coalesce(bool_or(contains(t, '.')) FILTER (digits), false),\n"
	    "       CASE WHEN min(sign) = max(sign) THEN min(sign) END, arg_min(shown, rank) FILTER (digits),\n"
	    "       arg_min(CASE WHEN point THEN regexp_replace(t, '[, '']', '', 'g') ELSE regexp_extract(t, '" THE_NUMBER "') END, rank) FILTER (digits)\n"
	    "FROM w GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 6", &rows, error));
	for (size_t i = 0; i < rows.row_count; i++)
		strings_add(batch->arena, out, spelling_line(batch->arena, &rows, i));
	say_more(batch->arena, &rows, GROUPS, out);
	return RECLOSER_OK;
}

static recloser_status over_the_limit(struct batch *batch, bool swapped, recloser_error *error)
{
	struct arena *arena = batch->arena;
	const struct threshold *max = &batch->context->spec->quarantine.max;
	struct strings lines = {0};
	RC_TRY(spellings(batch, &lines, error));
	const char *limit = max->count >= 0 ? arena_printf(arena, "%" PRId64 " rows", max->count)
	                                    : arena_printf(arena, "%g %%", max->share * 100);
	error_set(error, RECLOSER_REFUSED, "batch.quarantine", "%s of %s rows would be quarantined, more than the limit of %s",
	          text_count(arena, batch->quarantined), text_count(arena, batch->rows_in), limit);
	error_where(error, "%s", strings_join(arena, &lines, "\n"));
	if (swapped)
		return error_hint(error, "%s", batch->warnings.at[batch->warnings.count - 1]);
	return error_hint(error, "say how values are spelled (`decimal:`, `format:`, `match:`), which words mean none (`missing:`), leave rows out with `skip:`, or raise "
	                  "`quarantine: {max: ...}`");
}

/* Are most of the coordinates that are outside inside once they are exchanged? Then that is what happened, and it is said. */
static recloser_status suspect_swap(struct batch *batch, bool *suspected, recloser_error *error)
{
	struct rows rows;
	const struct geometry_spec *geometry = &batch->context->spec->geometry;
	RC_TRY(engine_query(batch->context->engine, batch->arena, "look for exchanged coordinates",
	    "SELECT count(*) FILTER (contains(_rc_fault, '" SWAPPED_WORDS "')), count(*) FROM batch WHERE contains(_rc_fault, ' is outside ')", &rows, error));
	int64_t swapped = rows_int(&rows, 0, 0), outside = rows_int(&rows, 0, 1);
	*suspected = swapped >= 2 && swapped * 10 >= outside * 9;
	if (!*suspected)
		return RECLOSER_OK;
	const char *advice = geometry->from == GEOMETRY_LON_LAT
		? arena_printf(batch->arena, "geometry: {from: {lon: %s, lat: %s}} would take them the other way round", geometry->parts[1], geometry->parts[0])
		: "the file has them the other way round than its CRS says";
	strings_add(batch->arena, &batch->warnings, arena_printf(batch->arena,
	    "%s rows lie outside of the CRS's bounds and inside with x and y exchanged: are longitude and latitude swapped? %s",
	    text_count(batch->arena, (uint64_t)swapped), advice));
	return RECLOSER_OK;
}

recloser_status batch_quarantine(struct batch *batch, recloser_error *error)
{
	struct rows rows;
	struct engine *engine = batch->context->engine;
	RC_TRY(engine_query(engine, batch->arena, "count bad rows", "SELECT count(*) FROM batch WHERE _rc_fault IS NOT NULL", &rows, error));
	batch->quarantined = (uint64_t)rows_int(&rows, 0, 0);
	if (batch->quarantined == 0)
		return RECLOSER_OK;
	bool swapped = false;
	if (batch->has_geometry)
		RC_TRY(suspect_swap(batch, &swapped, error));
	RC_TRY(make_table(batch, error));
	const struct guard *guard = &batch->context->spec->quarantine;
	if (threshold_exceeded(&guard->max, batch->quarantined, batch->rows_in)) {
		if (guard->policy == POLICY_REFUSE)
			return over_the_limit(batch, swapped, error);
		if (guard->policy != POLICY_ALLOW)
			strings_add(batch->arena, &batch->warnings, "more rows are quarantined than the spec's limit");
	}
	return batch_take_out(batch, "take bad rows out", "batch WHERE _rc_fault IS NOT NULL", NULL, error);
}

recloser_status quarantine_summary(struct batch *batch, size_t most, struct strings *out, recloser_error *error)
{
	if (batch->quarantined == 0)
		return RECLOSER_OK;
	struct arena *arena = batch->arena;
	struct rows rows;
	RC_TRY(engine_query(batch->context->engine, arena, "sum up quarantine", arena_printf(arena,
	    "SELECT count(*), \"column\", reason, CASE WHEN count(DISTINCT \"value\") = 1 AND count(\"value\") = count(*) THEN left(min(\"value\"), 60) END,\n"
	    "       array_to_string(list_sort(list(row_number))[:5], ', '), count(*) > 5, count(*) OVER ()\n"
	    "FROM quarantine GROUP BY \"column\", reason, \"value\" ORDER BY 1 DESC, 2, 3, 4 LIMIT %zu", most), &rows, error));
	for (size_t i = 0; i < rows.row_count; i++) {
		const char *count = rows_at(&rows, i, 0), *column = rows_at(&rows, i, 1), *value = rows_at(&rows, i, 3);
		bool one = strcmp(count, "1") == 0, more = rows_at(&rows, i, 5) && strcmp(rows_at(&rows, i, 5), "true") == 0;
		const char *what = value && column ? arena_printf(arena, "%s is \"%s\": %s", column, value, rows_at(&rows, i, 2))
		                                 : with_column(arena, column, rows_at(&rows, i, 2));
		strings_add(arena, out, arena_printf(arena, "%s row%s quarantined: %s (row%s %s%s)%s", count, one ? "" : "s", what, one ? "" : "s",
		                                     rows_at(&rows, i, 4), more ? ", ..." : "", way_in(rows_at(&rows, i, 2))));
	}
	say_more(arena, &rows, 6, out);
	return RECLOSER_OK;
}

recloser_status quarantine_write(struct batch *batch, const char *path, recloser_error *error)
{
	static const char *const longs[] = {"value", "row", NULL};
	const struct sorted_copy copy = {.table = "quarantine", .hidden = "_rc_src", .order = "_rc_src, row_number, \"column\", reason",
	                                 .longs = longs, .file = path};
	return engine_copy_sorted(batch->context->engine, batch->arena, "write the quarantine file", &copy, error);
}
