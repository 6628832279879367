/* SPDX-License-Identifier: Apache-2.0
 * Many files of one schema verified together: four statements for all of them instead of four for each, since for files of a
 * few thousand rows it is the statements that cost. Whatever is out of the ordinary (a file that can't be read, a schema that
 * differs) sends the files through part_verify one by one, which names the fault. */
#include <inttypes.h>
#include <string.h>

#include "base/hive.h"
#include "partition/verify.h"

struct together {
	struct arena *arena;
	const struct part_check *checks;
	struct part_verdict *verdicts;
	size_t count;
	const char *files; /* SQL list */
};

static const char *file_list(struct arena *arena, const struct part_check *checks, size_t count)
{
	struct text out = text_on(arena);
	for (size_t i = 0; i < count; i++)
		text_addf(&out, "%s%s", i ? ", " : "[", sql_text(arena, checks[i].file));
	text_add(&out, "]");
	return out.at;
}

/* Rows come in the order of the list; `at` is where the last one was found. */
static size_t find_file(const struct together *all, const char *file, size_t at)
{
	for (size_t i = 0; i < all->count; i++) {
		size_t k = (at + i) % all->count;
		if (strcmp(all->checks[k].file, file) == 0)
			return k;
	}
	return SIZE_MAX;
}

/* One text a file that says all of its schema; equal texts, equal schemas. */
static recloser_status same_schema(struct together *all, bool *same, recloser_error *error)
{
	struct rows rows;
	RC_TRY(engine_query(all->checks[0].engine, all->arena, "compare the schemas", arena_printf(all->arena,
	    "SELECT count(*), count(DISTINCT s) FROM (SELECT file_name, md5(string_agg(concat_ws('|', name, type, type_length, repetition_type,"
	    " num_children, converted_type, scale, precision, field_id, logical_type), ',')) AS s FROM parquet_schema(%s) GROUP BY file_name)",
	    all->files), &rows, error));
	*same = rows_int(&rows, 0, 0) == (int64_t)all->count && rows_int(&rows, 0, 1) == 1;
	return RECLOSER_OK;
}

static recloser_status footers(struct together *all, recloser_error *error)
{
	struct rows rows;
	struct arena *arena = all->arena;
	const char **geo = arena_array(arena, all->count, sizeof *geo), **partition = arena_array(arena, all->count, sizeof *partition);
	RC_TRY(engine_query(all->checks[0].engine, arena, "read the footers", arena_printf(arena,
	    "SELECT file_name, decode(key), decode(value) FROM parquet_kv_metadata(%s) WHERE key IN ('geo'::BLOB, 'recloser:partition'::BLOB)",
	    all->files), &rows, error));
	size_t at = 0;
	for (size_t r = 0; r < rows.row_count; r++) {
		at = find_file(all, rows_at(&rows, r, 0), at);
		if (at == SIZE_MAX)
			return error_set(error, RECLOSER_IO, "engine.failed", "a footer of another file than asked for");
		*(strcmp(rows_at(&rows, r, 1), "geo") == 0 ? &geo[at] : &partition[at]) = rows_at(&rows, r, 2);
	}
	for (size_t i = 0; i < all->count; i++)
		verify_footer(arena, &all->checks[i], geo[i], partition[i], &all->verdicts[i].faults);
	RC_TRY(engine_query(all->checks[0].engine, arena, "read the footers", arena_printf(arena,
	    "SELECT file_name, num_row_groups FROM parquet_file_metadata(%s)", all->files), &rows, error));
	at = 0;
	for (size_t r = 0; r < rows.row_count; r++) {
		at = find_file(all, rows_at(&rows, r, 0), at);
		if (at != SIZE_MAX)
			all->verdicts[at].row_groups = (uint64_t)rows_int(&rows, r, 1);
	}
	return RECLOSER_OK;
}

static recloser_status contents(struct together *all, const struct rows *described, recloser_error *error)
{
	struct arena *arena = all->arena;
	const struct part_check *first = &all->checks[0];
	struct content_schema schema = verify_schema(arena, first, described);
	struct strings copies = {0};
	struct text spread = text_on(arena);
	const char *function;
	RC_TRY(verify_function(arena, first, &schema, &function, error));
	for (size_t c = 0; c < first->spec->partition.count; c++) {
		const char *name = first->spec->partition.at[c], *column = sql_name(arena, name);
		if (!verify_type(described, name))
			continue; /* in the path only */
		strings_add(arena, &copies, name);
		text_addf(&spread, ", min(CAST(%s AS VARCHAR)), max(CAST(%s AS VARCHAR)), count(*) - count(%s)", column, column, column);
	}
	struct rows rows;
	RC_TRY(engine_query(first->engine, arena, "read the files back", arena_printf(arena,
	    "SELECT filename, %s%s FROM read_parquet(%s, hive_partitioning=false, filename=true) GROUP BY filename",
	    content_call(arena, function, &schema), spread.at, all->files), &rows, error));
	size_t at = 0;
	for (size_t r = 0; r < rows.row_count; r++) {
		at = find_file(all, rows_at(&rows, r, 0), at);
		if (at == SIZE_MAX)
			return error_set(error, RECLOSER_IO, "engine.failed", "rows of another file than asked for");
		const struct part_check *check = &all->checks[at];
		struct part_verdict *verdict = &all->verdicts[at];
		const char **values = partition_values(arena, &check->spec->partition, check->path);
		for (size_t c = 0, k = 0; values && c < check->spec->partition.count; c++) {
			if (!strings_has(&copies, check->spec->partition.at[c]))
				continue;
			const char *low = rows_at(&rows, r, 2 + 3 * k), *high = rows_at(&rows, r, 3 + 3 * k);
			if (rows_int(&rows, r, 4 + 3 * k) || !low || strcmp(low, values[c]) != 0 || strcmp(high, values[c]) != 0)
				strings_add(arena, &verdict->faults, arena_printf(arena, "the file holds rows of another %s than %s", check->spec->partition.at[c], values[c]));
			k++;
		}
		RC_TRY(verify_content(arena, check, &schema, rows_at(&rows, r, 1), verdict, error));
		verdict->read = true;
	}
	for (size_t i = 0; i < all->count; i++)
		if (!all->verdicts[i].read) /* a file without rows makes no group */
			RC_TRY(verify_content(arena, &all->checks[i], &schema, NULL, &all->verdicts[i], error));
	return RECLOSER_OK;
}

static recloser_status all_together(struct together *all, bool *done, recloser_error *error)
{
	struct rows described;
	RC_TRY(same_schema(all, done, error));
	if (!*done)
		return RECLOSER_OK;
	RC_TRY(engine_describe(all->checks[0].engine, all->arena, arena_printf(all->arena,
	    "SELECT * FROM read_parquet(%s, hive_partitioning=false)", sql_text(all->arena, all->checks[0].file)), &described, error));
	for (size_t i = 0; i < all->count; i++) {
		verify_mark(all->arena, &all->checks[i], &all->verdicts[i].faults);
		verify_columns(all->arena, &all->checks[i], &described, &all->verdicts[i].faults);
		if (!verify_type(&described, all->checks[i].spec->key_column))
			*done = false;
	}
	if (!*done)
		return RECLOSER_OK;
	RC_TRY(footers(all, error));
	return contents(all, &described, error);
}

static bool can_go_together(const struct part_check *checks, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (checks[i].order || checks[i].has_geometry != checks[0].has_geometry || checks[i].engine != checks[0].engine)
			return false;
	return count > 1;
}

recloser_status parts_verify(struct arena *arena, const struct part_check *checks, size_t count, struct part_verdict *verdicts,
                             recloser_error *error)
{
	bool done = false;
	if (can_go_together(checks, count)) {
		struct together all = {.arena = arena, .checks = checks, .verdicts = verdicts, .count = count,
		                       .files = file_list(arena, checks, count)};
		recloser_error ignored = {0};
		recloser_status status = all_together(&all, &done, &ignored);
		done = done && status == RECLOSER_OK;
	}
	for (size_t i = 0; i < count && !done; i++) {
		verdicts[i] = (struct part_verdict){0};
		RC_TRY(part_verify(arena, &checks[i], &verdicts[i], error));
	}
	return RECLOSER_OK;
}
