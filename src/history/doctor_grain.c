/* SPDX-License-Identifier: Apache-2.0
 * Are the files of a size that readers like? Between 128 MB and 1 GB an object store and an engine with many threads are
 * both at ease; much smaller files cost an opening each, much larger ones are rewritten whole for one changed row. A dataset
 * that is small altogether is at ease with any grain, as long as its files are not thousands. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hive.h"
#include "history/doctor.h"

static const uint64_t SMALL = 128 * (uint64_t)1000000, LARGE = 1000 * (uint64_t)1000000;
enum { MANY_FILES = 1000, SOME_FILES = 20, MOST_DISTINCT = 1000, CANDIDATES = 3 };

static int by_size(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
	return (a > b) - (a < b);
}

/* How many partitions there would be without one of the columns. */
static size_t without_column(struct doctor *doctor, size_t left_out)
{
	struct arena *arena = doctor->h->arena;
	const struct strings *columns = &doctor->h->spec->partition;
	struct strings rest = {0};
	for (size_t i = 0; i < doctor->part_count; i++) {
		const char **values = partition_values(arena, columns, doctor->parts[i].partition);
		struct text path = text_on(arena);
		for (size_t c = 0; values && c < columns->count; c++)
			if (c != left_out)
				text_addf(&path, "%s/", partition_encoded(arena, values[c]));
		strings_add(arena, &rest, path.at);
	}
	strings_sort(&rest);
	size_t distinct = 0;
	for (size_t i = 0; i < rest.count; i++)
		distinct += i == 0 || strcmp(rest.at[i], rest.at[i - 1]) != 0;
	return distinct;
}

static void coarser(struct doctor *doctor, uint64_t total, bool wanted)
{
	const struct strings *columns = &doctor->h->spec->partition;
	for (size_t c = 0; c < columns->count; c++) {
		size_t count = without_column(doctor, c);
		if (count >= doctor->part_count)
			continue;
		doctor_say(doctor, "grain", wanted ? FINDING_ADVICE : FINDING_FACT, NULL,
				   "coarser: without %s there would be %zu partition%s of %s on average", columns->at[c], count,
				   count == 1 ? "" : "s", text_bytes(doctor->h->arena, total / count));
	}
}

/* ---- finer ---- */

static bool may_partition(const char *type)
{
	return strcmp(type, "VARCHAR") == 0 || strcmp(type, "DATE") == 0 || text_starts(type, "TIMESTAMP");
}

static const char *value_sql(struct arena *arena, const char *name, const char *type)
{
	const char *column = sql_name(arena, name);
	return strcmp(type, "VARCHAR") == 0 ? column : arena_printf(arena, "strftime(%s, '%%Y-%%m')", column);
}

/* The columns of the largest file with few values, as they would divide it. */
static recloser_status finer(struct doctor *doctor, const struct live_part *largest, bool wanted, recloser_error *error)
{
	struct history *h = doctor->h;
	struct arena *arena = h->arena;
	const char *file, *table;
	struct rows schema, rows;
	struct text sql = text_on(arena);
	RC_TRY(version_place(h->dataset, arena, largest->record, largest->record, &file, error));
	if (doctor->quick || !file)
		return RECLOSER_OK;
	RC_TRY(version_file(h->dataset, arena, largest->record, &file, error));
	table = arena_printf(arena, "read_parquet(%s, hive_partitioning = false)", sql_text(arena, file));
	RC_TRY(engine_describe(h->engine, arena, arena_printf(arena, "SELECT * FROM %s", table), &schema, error));
	for (size_t i = 0; i < schema.row_count; i++) {
		const char *name = rows_at(&schema, i, 0), *type = rows_at(&schema, i, 1);
		if (!may_partition(type) || strcmp(name, h->spec->key_column) == 0 || strings_has(&h->spec->partition, name))
			continue;
		const char *value = value_sql(arena, name, type);
		text_addf(
			&sql,
			"%sSELECT %s AS name, approx_count_distinct(%s) AS n, count(*) FILTER (WHERE %s IS NULL) AS missing FROM %s",
			sql.length ? " UNION ALL " : "",
			sql_text(arena, strcmp(type, "VARCHAR") == 0 ? name : arena_printf(arena, "month of %s", name)), value, value,
			table);
	}
	if (!sql.length)
		return RECLOSER_OK;
	RC_TRY(engine_query(h->engine, arena, "look for a finer grain",
						arena_printf(arena,
									 "SELECT name, n FROM (%s) WHERE n BETWEEN 2 AND %d AND missing = 0 ORDER BY n LIMIT %d",
									 sql.at, MOST_DISTINCT, CANDIDATES),
						&rows, error));
	for (size_t i = 0; i < rows.row_count; i++)
		doctor_say(doctor, "grain", wanted ? FINDING_ADVICE : FINDING_FACT, NULL,
				   "finer: by %s the largest would be about %s files of %s on average", rows_at(&rows, i, 0),
				   rows_at(&rows, i, 1), text_bytes(arena, largest->record->bytes / (uint64_t)rows_int(&rows, i, 1)));
	return RECLOSER_OK;
}

recloser_status doctor_grain(struct doctor *doctor, recloser_error *error)
{
	struct arena *arena = doctor->h->arena;
	uint64_t total = 0, *sizes = arena_array(arena, doctor->part_count, sizeof *sizes), rows = 0;
	const struct live_part *largest = &doctor->parts[0];
	size_t small = 0;
	for (size_t i = 0; i < doctor->part_count; i++) {
		const struct record *record = doctor->parts[i].record;
		sizes[i] = record->bytes;
		total += record->bytes;
		rows += record->rows;
		small += record->bytes < SMALL;
		if (record->bytes > largest->record->bytes)
			largest = &doctor->parts[i];
	}
	qsort(sizes, doctor->part_count, sizeof *sizes, by_size);
	uint64_t median = sizes[doctor->part_count / 2];
	bool too_small = median < SMALL && ((total >= SMALL && small >= SOME_FILES) || doctor->part_count >= MANY_FILES);
	bool too_large = largest->record->bytes > LARGE;
	doctor_say(doctor, "grain", FINDING_FACT, NULL, "%s partition%s, %s rows, %s; the median is %s, the largest %s (%s)",
			   text_count(arena, doctor->part_count), doctor->part_count == 1 ? "" : "s", text_count(arena, rows),
			   text_bytes(arena, total), text_bytes(arena, median), text_bytes(arena, largest->record->bytes),
			   partition_shown(largest->partition));
	if (too_small)
		doctor_say(doctor, "grain", FINDING_ADVICE,
				   "128 MB to 1 GB a file is a good size; a coarser grain makes fewer and larger ones",
				   "%zu of %zu files are smaller than 128 MB, and each costs a reader an opening", small,
				   doctor->part_count);
	if (too_large)
		doctor_say(doctor, "grain", FINDING_ADVICE, "a finer grain rewrites less for one changed row",
				   "%s is larger than 1 GB", partition_shown(largest->partition));
	coarser(doctor, total, too_small);
	return finer(doctor, largest, too_large, error);
}
