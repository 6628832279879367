/* SPDX-License-Identifier: Apache-2.0
 * The rows of a file in the table init_<n>, read as the block says, texts without blanks at their ends and empty ones as
 * NULL; what stands above and below the rows taken off; and the counts of every column. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "batch/convert.h"
#include "init/init.h"

enum { HEADING_MOST = 10, FOOTER_MOST = 30, SHORT = 40 };

/* ---- names ---- */

bool init_name_has(struct arena *arena, const char *name, const char *const *words)
{
	/* "QueueDate" and "queue_date" both have "date". */
	struct text spaced = text_on(arena);
	text_add(&spaced, "_");
	for (const char *p = name; *p; p++) {
		bool capital = *p >= 'A' && *p <= 'Z', after_small = p > name && p[-1] >= 'a' && p[-1] <= 'z';
		if (capital && after_small)
			text_add(&spaced, "_");
		text_add_n(&spaced, p, 1);
	}
	const char *snake = arena_printf(arena, "_%s_", text_snake(arena, spaced.at));
	for (size_t i = 0; words[i]; i++)
		if (strstr(snake, arena_printf(arena, "_%s_", words[i])))
			return true;
	return false;
}

bool init_name_is(struct arena *arena, const char *name, const char *word)
{
	const char *snake = text_snake(arena, name);
	return strcmp(snake, word) == 0 || text_starts(snake, arena_printf(arena, "%s_", word)) || text_ends(snake, arena_printf(arena, "_%s", word));
}

const char *init_rows_text(struct arena *arena, uint64_t count)
{
	return arena_printf(arena, "%s row%s", text_count(arena, count), count == 1 ? "" : "s");
}

const char *init_rows_have(struct arena *arena, uint64_t count)
{
	return arena_printf(arena, "%s row%s", text_count(arena, count), count == 1 ? " has" : "s have");
}

static bool name_free(const struct init *init, size_t before, const char *name)
{
	if (text_equal_nocase(name, init->key_column) || text_equal_nocase(name, "geometry") || text_equal_nocase(name, "bbox"))
		return false;
	for (size_t i = 0; i < before; i++)
		if (text_equal_nocase(init->columns[i].name, name))
			return false;
	return true;
}

static void name_column(struct init *init, struct init_column *column, size_t i)
{
	struct arena *arena = init->arena;
	const struct source_column *source = &init->source->columns[i];
	column->source_name = source->name;
	if (!source->name[0] || source_find(arena, init->source, source->name) != (int)i)
		column->at = source->letter ? source->letter : arena_printf(arena, "%zu", i + 1);
	const char *base = source->name[0] ? text_snake(arena, source->name)
	                   : arena_printf(arena, "column_%s", source->letter ? text_squeezed(arena, source->letter) : column->at);
	column->name = column->geometry ? "geometry" : base;
	for (int n = 2; !column->geometry && !name_free(init, i, column->name); n++)
		column->name = arena_printf(arena, "%s_%d", base, n);
	column->label = source->name[0] ? arena_printf(arena, "%s", text_squeezed(arena, source->name)) : column->name;
	if (!column->geometry && source->name[0] && strcmp(source->name, column->name) != 0)
		init->snake = true;
}

/* ---- rows ---- */

static recloser_status list_columns(struct init *init, const char *scan, recloser_error *error)
{
	struct rows types;
	RC_TRY(engine_describe(init->engine, init->arena, arena_printf(init->arena, "SELECT * FROM %s", scan), &types, error));
	init->column_count = init->source->column_count;
	init->columns = arena_array(init->arena, init->column_count + 1, sizeof *init->columns);
	init->key_column = "asset_key";
	for (size_t i = 0; i < init->column_count; i++)
		if (strcmp(text_snake(init->arena, init->source->columns[i].name), init->key_column) == 0)
			init->key_column = "row_key"; /* theirs is theirs */
	for (size_t i = 0; i < init->column_count; i++) {
		struct init_column *column = &init->columns[i];
		column->index = i;
		column->engine_type = rows_at(&types, i + SOURCE_FIXED, 1);
		column->text = strcmp(column->engine_type, "VARCHAR") == 0;
		column->geometry = (int)i == init->source->facts.geometry_column;
		name_column(init, column, i);
	}
	return RECLOSER_OK;
}

static const char *cleaned(struct arena *arena, const char *value)
{
	static const struct block trimming = {.space = SPACE_TRIM};
	return arena_printf(arena, "nullif(%s, '')", convert_clean(arena, NULL, &trimming, value));
}

recloser_status init_rows(struct init *init, size_t which, recloser_error *error)
{
	struct arena *arena = init->arena;
	struct source *source;
	const char *scan;
	RC_TRY(init_scan(init, which, &init->block, &source, &scan, error));
	if (which == 0) {
		init->source = source;
		init->format = source->facts.format;
		RC_TRY(list_columns(init, scan, error));
	}
	recloser_status status = engine_runf(init->engine, "read the file", error, "CREATE TABLE init_raw AS SELECT * FROM %s", scan);
	RC_TRY(source_blame(&init->inputs[which], status, error));
	struct text select = text_on(arena), blanks = text_on(arena);
	for (size_t i = 0; i < init->column_count; i++) {
		struct init_column *column = &init->columns[i];
		int there = which == 0 ? (int)i : column->at ? (i < source->column_count ? (int)i : -1) : source_find(arena, source, column->source_name);
		const char *value = there < 0 ? "NULL" : arena_printf(arena, "c%d", there);
		if (column->text && there >= 0) {
			if (which)
				value = arena_printf(arena, "CAST(%s AS VARCHAR)", value);
			text_addf(&blanks, "%scount(*) FILTER (%s <> coalesce(%s, ''))", blanks.length ? " + " : "", value, cleaned(arena, value));
			value = cleaned(arena, value);
		}
		text_addf(&select, ", %s AS c%zu", value, i);
	}
	struct rows spaces;
	RC_TRY(engine_query(init->engine, arena, "look at the blanks", arena_printf(arena, "SELECT %s FROM init_raw WHERE _fault IS NULL",
	                    blanks.length ? blanks.at : "0"), &spaces, error));
	if (which == 0)
		init->space = rows_int(&spaces, 0, 0) > 0;
	return engine_runf(init->engine, "read the rows", error,
	    "CREATE TABLE init_%zu AS SELECT _row, _fault%s FROM init_raw; DROP TABLE init_raw", which, select.at);
}

/* ---- above and below ---- */

/* SQL: how many of the columns that nearly every row has are blank, and how many there are. */
static recloser_status common_columns(struct init *init, const char **blank, size_t *count, recloser_error *error)
{
	struct arena *arena = init->arena;
	struct text counts = text_on(arena), sum = text_on(arena);
	struct rows rows;
	text_add(&counts, "SELECT count(*)");
	for (size_t i = 0; i < init->column_count; i++)
		text_addf(&counts, ", count(c%zu)", i);
	/* Of a short table the first and the last row, which may be no data, would weigh too much. */
	text_addf(&counts, " FROM init_0 WHERE _fault IS NULL AND ((SELECT count(*) FROM init_0) >= %d"
	          " OR _row NOT IN (SELECT unnest([min(_row), max(_row)]) FROM init_0))", SHORT);
	RC_TRY(engine_query(init->engine, arena, "count filled cells", counts.at, &rows, error));
	int64_t total = rows_int(&rows, 0, 0);
	*count = 0;
	for (size_t i = 0; i < init->column_count; i++)
		if (total >= 2 && rows_int(&rows, 0, i + 1) * 100 >= total * 97) {
			text_addf(&sum, "%s(c%zu IS NULL)::INTEGER", *count ? " + " : "", i);
			(*count)++;
		}
	*blank = *count ? sum.at : "0";
	return RECLOSER_OK;
}

static recloser_status take_off_headings(struct init *init, const char *blank, size_t common, recloser_error *error)
{
	struct rows rows;
	RC_TRY(engine_query(init->engine, init->arena, "look for heading rows", arena_printf(init->arena,
	    "WITH first AS (SELECT _row, 4 * (%s) > %zu AS odd FROM init_0 ORDER BY _row LIMIT %d)"
	    " SELECT count(*), max(_row) FROM first WHERE _row < coalesce((SELECT min(_row) FROM first WHERE NOT odd), 0)", blank, common,
	    HEADING_MOST), &rows, error));
	int64_t count = rows_int(&rows, 0, 0);
	if (count == 0)
		return RECLOSER_OK;
	init->heading_rows = !init->sheet;
	if (init->heading_rows)
		init_read_line(init, "data: first_key", "rows under the header that explain it are passed over");
	strings_add(init->arena, &init->said, arena_printf(init->arena, "%" PRId64 " row%s under the header explain%s it; data begin at row %" PRId64 ".",
	            count, count == 1 ? "" : "s", count == 1 ? "s" : "", rows_int(&rows, 0, 1) + 1));
	return engine_runf(init->engine, "take off heading rows", error, "DELETE FROM init_0 WHERE _row <= %s", rows_at(&rows, 0, 1));
}

/* What will stand in that row next month, too: digits change, and what is a sign of a pattern is any sign. */
static const char *end_pattern(struct arena *arena, const char *cell)
{
	char *pattern = arena_printf(arena, "%.40s*", cell);
	size_t length = strlen(pattern);
	while (length > 1 && (pattern[length - 2] & 0xC0) == 0x80 && strlen(cell) > 40) { /* not in the middle of a character */
		pattern[length - 2] = '*';
		pattern[--length] = '\0';
	}
	for (size_t i = 0; i + 1 < length; i++)
		if ((pattern[i] >= '0' && pattern[i] <= '9') || strchr("*?[]|\\", pattern[i]) || (unsigned char)pattern[i] < 0x20)
			pattern[i] = '?';
	return pattern;
}

static recloser_status take_off_footers(struct init *init, const char *blank, size_t common, recloser_error *error)
{
	struct arena *arena = init->arena;
	struct rows rows;
	struct text first = text_on(arena);
	for (size_t i = 0; i < init->column_count; i++)
		if (init->columns[i].text)
			text_addf(&first, "%sc%zu", first.length ? ", " : "", i);
	if (!first.length)
		return RECLOSER_OK;
	RC_TRY(engine_query(init->engine, arena, "look for footers", arena_printf(arena,
	    "WITH last AS (SELECT _row, 2 * (%s) > %zu AS odd, coalesce(%s) AS cell FROM init_0 ORDER BY _row DESC LIMIT %d)"
	    " SELECT _row, cell, count(*) OVER () FROM last WHERE _row > coalesce((SELECT max(_row) FROM last WHERE NOT odd), 9e18::BIGINT)"
	    " ORDER BY _row LIMIT 1", blank, common, first.at, FOOTER_MOST), &rows, error));
	if (rows.row_count == 0 || !rows_at(&rows, 0, 1))
		return RECLOSER_OK;
	const char *pattern = end_pattern(arena, rows_at(&rows, 0, 1)), *count = rows_at(&rows, 0, 2);
	bool one = strcmp(count, "1") == 0;
	init_read_line(init, arena_printf(arena, "end: {find: %s}", init_scalar(arena, pattern)),
	               arena_printf(arena, "the last %s%s %s no data", one ? "row" : count, one ? "" : " rows", one ? "is" : "are"));
	return engine_runf(init->engine, "take off footers", error, "DELETE FROM init_0 WHERE _row >= %s", rows_at(&rows, 0, 0));
}

/* ---- counts ---- */

static recloser_status count_columns(struct init *init, recloser_error *error)
{
	struct arena *arena = init->arena;
	enum { AT_ONCE = 25 };
	for (size_t from = 0; from < init->column_count; from += AT_ONCE) {
		struct text sql = text_on(arena);
		struct rows rows;
		size_t to = from + AT_ONCE < init->column_count ? from + AT_ONCE : init->column_count;
		for (size_t i = from; i < to; i++)
			text_addf(&sql, "%scount(c%zu), count(DISTINCT c%zu), %s, %s, %s", i > from ? ", " : "SELECT ", i, i,
			          init->columns[i].geometry ? "NULL" : arena_printf(arena, "left(CAST(min(c%zu) AS VARCHAR), 60)", i),
			          init->columns[i].geometry ? "NULL" : arena_printf(arena, "left(CAST(max(c%zu) AS VARCHAR), 60)", i),
			          init->columns[i].text ? arena_printf(arena, "max(length(c%zu))", i) : "0");
		text_add(&sql, " FROM init_0");
		RC_TRY(engine_query(init->engine, arena, "count values", sql.at, &rows, error));
		for (size_t i = from; i < to; i++) {
			struct init_column *column = &init->columns[i];
			column->filled = (uint64_t)rows_int(&rows, 0, (i - from) * 5);
			column->distinct = (uint64_t)rows_int(&rows, 0, (i - from) * 5 + 1);
			column->low = rows_at(&rows, 0, (i - from) * 5 + 2);
			column->high = rows_at(&rows, 0, (i - from) * 5 + 3);
			column->longest = (uint64_t)rows_int(&rows, 0, (i - from) * 5 + 4);
		}
	}
	return RECLOSER_OK;
}

static recloser_status measure(struct init *init, recloser_error *error)
{
	const char *path = arena_printf(init->arena, "%s/rows.parquet", init->spool);
	struct rows rows;
	struct stat st;
	RC_TRY(engine_query(init->engine, init->arena, "count rows", "SELECT count(*) FROM init_0", &rows, error));
	init->rows = (uint64_t)rows_int(&rows, 0, 0);
	RC_TRY(engine_query(init->engine, init->arena, "count different rows",
	                    "SELECT count(*) FROM (SELECT DISTINCT * EXCLUDE (_row, _fault) FROM init_0)", &rows, error));
	init->distinct_rows = (uint64_t)rows_int(&rows, 0, 0);
	RC_TRY(engine_runf(init->engine, "measure the rows", error, "COPY (SELECT * EXCLUDE (_row, _fault) FROM init_0) TO %s (FORMAT parquet, COMPRESSION zstd)",
	                   sql_text(init->arena, path)));
	init->bytes = stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
	return RECLOSER_OK;
}

recloser_status init_survey(struct init *init, recloser_error *error)
{
	const char *blank;
	size_t common;
	struct rows faults;
	RC_TRY(init_rows(init, 0, error));
	RC_TRY(common_columns(init, &blank, &common, error));
	if (common >= 2) {
		RC_TRY(take_off_headings(init, blank, common, error));
		RC_TRY(take_off_footers(init, blank, common, error));
	}
	RC_TRY(engine_query(init->engine, init->arena, "look for faults",
	    "SELECT count(*), any_value(split_part(_fault, chr(31), 1) ORDER BY _row), min(_row) FROM init_0 WHERE _fault IS NOT NULL", &faults, error));
	if (rows_int(&faults, 0, 0) > 0)
		init->first_fault = rows_at(&faults, 0, 1);
	if (rows_int(&faults, 0, 0) > 0)
		strings_add(init->arena, &init->said, arena_printf(init->arena, "%s faults of reading and will be quarantined, the first is row %s: %s.",
		            init_rows_have(init->arena, (uint64_t)rows_int(&faults, 0, 0)), rows_at(&faults, 0, 2), rows_at(&faults, 0, 1)));
	RC_TRY(engine_run(init->engine, "leave out faulty rows", "DELETE FROM init_0 WHERE _fault IS NOT NULL", error));
	RC_TRY(measure(init, error));
	return count_columns(init, error);
}
