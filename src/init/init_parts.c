/* SPDX-License-Identifier: Apache-2.0
 * What could partition: columns of few values whose names say where or who, and the period that stands in the file's name. */
#include <inttypes.h>
#include <regex.h>
#include <string.h>

#include "init/init.h"

enum { VALUES_MOST = 400, OFFERED = 6 };

/* In the order in which they are preferred. */
static const char *const part_words[] = {"state", "province", "provincia", "bundesland", "estado", "country", "iso", "rto", "balancing", "continent", "region", NULL};

/* ---- the period in the file's name ---- */

#define MONTHS "(January|February|March|April|May|June|July|August|September|October|November|December)"
#define MONTHS_SHORT "(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
#define YEAR "(19|20)[0-9][0-9]"
#define EDGE "(^|[^0-9])"

static const struct {
	const char *seen;    /* POSIX: `whole` is the group that is the period */
	int whole;
	const char *column, *pattern, *format;
} periods[] = {
	{EDGE "(" YEAR "-[0-1][0-9]-[0-3][0-9])([^0-9]|$)", 2, "month", "([0-9]{4}-[0-9]{2}-[0-9]{2})", "%Y-%m-%d"},
	{EDGE "(" YEAR "[0-1][0-9][0-3][0-9])([^0-9]|$)", 2, "month", "([0-9]{4})([0-9]{2})[0-9]{2}", "%Y %m"},
	{"(" MONTHS "[ _-]?" YEAR ")([^0-9]|$)", 1, "month", "([A-Za-z]+)[ _-]?([0-9]{4})", "%B %Y"},
	{"(" MONTHS_SHORT "[ _-]?" YEAR ")([^0-9]|$)", 1, "month", "([A-Za-z]{3})[ _-]?([0-9]{4})", "%b %Y"},
	{EDGE "(" YEAR "[-_](0[1-9]|1[0-2]))([^0-9]|$)", 2, "month", "([0-9]{4})[-_]([0-9]{2})", "%Y %m"},
	{EDGE "(" YEAR "(0[1-9]|1[0-2]))([^0-9]|$)", 2, "month", "([0-9]{4})([0-9]{2})", "%Y %m"},
	{EDGE "(" YEAR "-" YEAR ")([^0-9]|$)", 2, "period", "([0-9]{4}-[0-9]{4})", NULL},
	{EDGE "(" YEAR ")([^0-9]|$)", 2, "year", "([0-9]{4})", NULL},
};
enum { PERIODS = sizeof periods / sizeof *periods };

static int find_period(const char *text, size_t *from, size_t *to)
{
	for (int i = 0; i < PERIODS; i++) {
		regex_t regex;
		regmatch_t match[8];
		if (regcomp(&regex, periods[i].seen, REG_EXTENDED | REG_ICASE) != 0)
			continue;
		bool found = regexec(&regex, text, 8, match, 0) == 0;
		regfree(&regex);
		if (found) {
			*from = (size_t)match[periods[i].whole].rm_so;
			*to = (size_t)match[periods[i].whole].rm_eo;
			return i;
		}
	}
	return -1;
}

static const char *period_line(struct arena *arena, int period, const char *origin)
{
	const char *format = periods[period].format;
	bool number = strcmp(periods[period].column, "year") == 0; /* to readers of a path it is one, whatever the file says */
	return arena_printf(arena, "%s: {%s: %s%s}", periods[period].column, origin, init_scalar(arena, periods[period].pattern),
	                    format ? arena_printf(arena, ", format: %s, as: \"%%Y-%%m\"", init_scalar(arena, format)) : number ? ", type: integer" : "");
}

static struct init_part *add_part(struct init *init)
{
	if (!init->parts)
		init->parts = arena_array(init->arena, init->column_count + PERIODS + 1, sizeof *init->parts);
	return &init->parts[init->part_count++];
}

/* The same name next month, as a pattern: the period becomes `*`, and so does what is a sign of patterns. */
static const char *file_pattern(struct arena *arena, const char *name, size_t from, size_t to)
{
	struct text out = text_on(arena);
	for (size_t i = 0; name[i]; i++) {
		if (i == from && to > from) {
			text_add(&out, "*");
			i = to - 1;
		} else if (strchr("*?[]|\\", name[i]))
			text_add(&out, "?");
		else
			text_add_n(&out, name + i, 1);
	}
	return out.at;
}

/* A word for the dataset: the file's name without extension and period. */
static const char *dataset_name(struct arena *arena, const char *name, size_t from, size_t to)
{
	size_t stem = strcspn(name, ".");
	struct text words = text_on(arena), out = text_on(arena);
	for (size_t i = 0; i < stem; i++)
		text_add_n(&words, i >= from && i < to ? "_" : name + i, 1);
	for (const char *p = text_snake(arena, words.length ? words.at : "dataset"); *p; p++)
		if ((*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') || *p == '_')
			text_add_n(&out, p, 1);
	const char *at = out.length ? out.at + strspn(out.at, "_0123456789") : "";
	return *at ? at : "dataset";
}

void init_name(struct init *init)
{
	struct arena *arena = init->arena;
	const char *name = init->inputs[0].name, *path = init->inputs[0].path;
	size_t from = 0, to = 0;
	int period = find_period(name, &from, &to);
	init->files = file_pattern(arena, name, from, to);
	init->dataset = init->options->dataset ? init->options->dataset : dataset_name(arena, name, from, to);
	if (period >= 0) {
		struct init_part *part = add_part(init);
		*part = (struct init_part){.column = periods[period].column, .index = SIZE_MAX, .line = period_line(arena, period, "name"), .values = 1, .chosen = true};
		return;
	}
	const char *slash = strrchr(path, '/');
	const char *folder = slash ? arena_strndup(arena, path, (size_t)(slash - path)) : "";
	period = find_period(folder, &from, &to);
	if (period >= 0)
		strings_add(arena, &init->hints, arena_printf(arena, "columns: {%s}   # the file's path says %.*s; then add %s to partition",
		            period_line(arena, period, "path"), (int)(to - from), folder + from, periods[period].column));
}

/* ---- columns ---- */

static recloser_status measure(struct init *init, struct init_part *part, recloser_error *error)
{
	struct rows rows;
	RC_TRY(engine_query(init->engine, init->arena, "measure partitions", arena_printf(init->arena,
	    "SELECT count(*), min(n), max(n) FROM (SELECT count(*) AS n FROM init_0 GROUP BY c%zu)", part->index), &rows, error));
	part->values = (uint64_t)rows_int(&rows, 0, 0);
	part->least = (uint64_t)rows_int(&rows, 0, 1);
	part->most = (uint64_t)rows_int(&rows, 0, 2);
	RC_TRY(engine_query(init->engine, init->arena, "look at the values", arena_printf(init->arena,
	    "SELECT DISTINCT coalesce(CAST(c%zu AS VARCHAR), 'unknown') FROM init_0", part->index), &rows, error));
	part->numeral = NUMERAL_PLAIN;
	for (size_t r = 0; r < rows.row_count && part->numeral != NUMERAL_NONE; r++) {
		enum numeral one = partition_numeral(rows_at(&rows, r, 0));
		part->numeral = one == NUMERAL_PLAIN ? part->numeral : one;
	}
	return RECLOSER_OK;
}

static bool may_partition(const struct init *init, const struct init_column *column)
{
	return !column->geometry && !column->coordinate && !column->row_number && column->distinct >= 2 && column->distinct <= VALUES_MOST
	    && column->distinct * 2 <= init->rows && column->filled * 10 >= init->rows * 9
	    && (column->text || column->type == TYPE_INTEGER) && column->type != TYPE_DATE && column->type != TYPE_TIMESTAMP && column->type != TYPE_DOUBLE
	    && column->type != TYPE_TIMESTAMPTZ && column->type != TYPE_BOOLEAN;
}

static bool offered(const struct init *init, size_t index)
{
	bool known = false;
	for (size_t k = 0; k < init->part_count; k++)
		known |= init->parts[k].index == index;
	return known;
}

static recloser_status offer(struct init *init, size_t index, recloser_error *error)
{
	struct init_part *part = add_part(init);
	const struct init_column *column = &init->columns[index];
	*part = (struct init_part){.column = column->name, .index = index, .blank = init->rows - column->filled};
	return measure(init, part, error);
}

/* Values that are spelled out where the others are codes: for a map, which only the user can write. */
static recloser_status hint_map(struct init *init, const struct init_column *column, recloser_error *error)
{
	struct rows rows;
	struct text list = text_on(init->arena);
	RC_TRY(engine_query(init->engine, init->arena, "look at the spellings", arena_printf(init->arena,
	    "WITH v AS (SELECT c%zu AS v, count(*) AS n FROM init_0 WHERE c%zu IS NOT NULL GROUP BY 1)"
	    " SELECT v, n FROM v WHERE NOT regexp_matches(v, '^[A-Z]{2,4}$') AND (SELECT sum(n) FILTER (regexp_matches(v, '^[A-Z]{2,4}$')) >= 0.8 * sum(n) FROM v)"
	    " ORDER BY n DESC, v LIMIT 5", column->index, column->index), &rows, error));
	for (size_t r = 0; r < rows.row_count; r++)
		text_addf(&list, "%s%s: ...", r ? ", " : "", init_scalar(init->arena, rows_at(&rows, r, 0)));
	if (rows.row_count)
		strings_add(init->arena, &init->hints, arena_printf(init->arena, "%s: {map: {%s}}   # under columns; these are no codes as the others are",
		            column->name, list.at));
	return RECLOSER_OK;
}

static recloser_status choose(struct init *init, size_t index, recloser_error *error)
{
	struct init_column *column = &init->columns[index];
	struct init_part *part = &init->parts[init->part_count - 1];
	part->chosen = column->listed = true;
	/* A partition column is text; one of numbers only would be a number to readers of the path, and the two would not meet. */
	column->type = TYPE_UNSET;
	if (part->numeral == NUMERAL_PLAIN) {
		column->type = TYPE_INTEGER;
		column->typed = true;
		column->rule = (struct column){.name = "v", .type = TYPE_INTEGER};
	}
	column->reason = NULL;
	if (part->blank) {
		column->otherwise = "unknown";
		column->reason = arena_printf(init->arena, "%s none; without a default: quarantined", init_rows_have(init->arena, part->blank));
	}
	return column->text ? hint_map(init, column, error) : RECLOSER_OK;
}

static void hint_revision(struct init *init)
{
	static const char *const words[] = {"updated", "update", "modified", "published", "edited", NULL};
	for (size_t i = 0; i < init->column_count; i++) {
		const struct init_column *column = &init->columns[i];
		bool time = column->type == TYPE_DATE || column->type == TYPE_TIMESTAMP || column->type == TYPE_TIMESTAMPTZ;
		if (time && init_name_has(init->arena, column->label, words)) {
			strings_add(init->arena, &init->hints, arena_printf(init->arena, "revision: %s   # if it says which of two rows with one key is later; %s to %s",
			            init_scalar(init->arena, column->name), column->low, column->high));
			return;
		}
	}
}

static void hint_zone(struct init *init)
{
	for (size_t i = 0; i < init->column_count; i++)
		if (init->columns[i].text && init->columns[i].type == TYPE_TIMESTAMP) {
			strings_add(init->arena, &init->hints, arena_printf(init->arena, "%s: {zone: America/Chicago, ...}   # times without an offset: the zone, if it is known",
			            init_scalar(init->arena, init->columns[i].name)));
			return;
		}
}

recloser_status init_parts(struct init *init, recloser_error *error)
{
	bool chosen = false;
	strings_add(init->arena, &init->hints, "publisher: {column: publisher, value: ...}   # who issues this file");
	for (size_t w = 0; part_words[w]; w++)
		for (size_t i = 0; i < init->column_count; i++) {
			struct init_column *column = &init->columns[i];
			if (!may_partition(init, column) || !init_name_is(init->arena, column->label, part_words[w]) || init->part_count >= OFFERED)
				continue;
			if (offered(init, i))
				continue;
			RC_TRY(offer(init, i, error));
			if (!chosen && !column->changed && init->parts[init->part_count - 1].numeral != NUMERAL_PADDED) {
				RC_TRY(choose(init, i, error));
				chosen = true;
			}
		}
	for (size_t i = 0; i < init->column_count && init->part_count < OFFERED && !chosen; i++)
		if (!offered(init, i) && may_partition(init, &init->columns[i]) && init->columns[i].distinct <= 60 && init->columns[i].filled == init->rows)
			RC_TRY(offer(init, i, error));
	hint_revision(init);
	hint_zone(init);
	return RECLOSER_OK;
}
