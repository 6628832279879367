/* SPDX-License-Identifier: Apache-2.0
 * Step 5, keys that moved: gone from one partition and new in another of the same load, or new in one while the partition they
 * stand in is not mentioned any more (which leaves them in both). Partitions that differ in the series column hold the same
 * keys by nature, so only those of one month are looked at together. */
#include <inttypes.h>
#include <string.h>

#include "base/hive.h"
#include "run/run.h"

enum { ABSENT_READ = 200 }; /* files of absent partitions that are opened to look for keys */

static struct run_part *part_at(struct run *run, const char *path)
{
	for (size_t i = 0; i < run->part_count; i++)
		if (strcmp(run->parts[i].part.batch_part->path, path) == 0)
			return &run->parts[i];
	return NULL;
}

static bool goes_live(const struct run_part *part)
{
	return part->outcome == PART_NEW || part->outcome == PART_REPLACED;
}

/* Are partitions that are not mentioned looked into? Only where something new goes live, and not in an object store: there each
 * would be a download, and a load's requests must not grow with the partitions that exist. */
static bool looks_elsewhere(const struct run *run)
{
	bool new_keys = false;
	for (size_t i = 0; i < run->part_count; i++)
		new_keys |= goes_live(&run->parts[i]) && (!run->parts[i].reference || run->parts[i].fresh);
	return run->absent.count && new_keys && !run->dataset->bucket;
}

/* The keys of the partitions that the source no longer mentions, into the table `elsewhere`. */
static recloser_status read_absent(struct run *run, recloser_error *error)
{
	struct arena *arena = run->arena;
	const char *key = sql_name(arena, run->spec->key_column);
	RC_TRY(engine_runf(run->engine, "make the list of keys elsewhere", error, "CREATE TABLE elsewhere (%s VARCHAR, path VARCHAR)", key));
	for (size_t i = 0; i < run->absent.count && i < ABSENT_READ; i++) {
		const char *path = run->absent.at[i], *file;
		struct record *record;
		enum live_state live;
		RC_TRY(live_newest(run->dataset, arena, path, &record, &live, error));
		if (!record || live != LIVE_SOUND)
			continue;
		struct reference reference = {.path = path, .record = record, .schema = json_object_get(record->json, "schema")};
		if (!reference_has(&reference, run->spec->key_column))
			continue;
		RC_TRY(version_file(run->dataset, arena, record, &file, error));
		RC_TRY(engine_runf(run->engine, "read the keys of a partition that is no longer mentioned", error,
		                   "INSERT INTO elsewhere SELECT %s, %s FROM read_parquet(%s, hive_partitioning=false)", key, sql_text(arena, path),
		                   sql_text(arena, file)));
	}
	return RECLOSER_OK;
}

/* SQL: path and series value of the batch's rows, those carried over left out. */
static const char *places(struct run *run)
{
	struct arena *arena = run->arena;
	const char *series = run->spec->series;
	return arena_printf(arena, "(SELECT %s, %s AS path, %s AS series FROM batch WHERE _rc_src >= 0)", sql_name(arena, run->spec->key_column),
	                    batch_path_sql(arena, &run->spec->partition),
	                    series ? arena_printf(arena, "CAST(%s AS VARCHAR)", sql_name(arena, series)) : "''");
}

/* One row a pair of partitions: to, from (where the key stood), home (the partition of this load that lost it, or from). */
static recloser_status find_pairs(struct run *run, struct rows *rows, recloser_error *error)
{
	struct arena *arena = run->arena;
	const char *key = sql_name(arena, run->spec->key_column);
	struct text candidates = text_on(arena);
	if (run->disappeared)
		text_addf(&candidates, "SELECT %s, \"partition\" AS origin, _rc_in AS home, _rc_series AS series FROM disappeared", key);
	if (looks_elsewhere(run))
		text_addf(&candidates, "%sSELECT %s, path AS origin, path AS home, NULL AS series FROM elsewhere", candidates.length ? " UNION ALL " : "", key);
	return engine_query(run->engine, arena, "look for keys that moved", arena_printf(arena,
	    "SELECT b.path, c.origin, c.home, count(*) FROM (%s) c JOIN %s b ON c.%s = b.%s"
	    " WHERE b.path <> c.home AND (c.series IS NULL OR c.series = b.series) GROUP BY ALL ORDER BY 1, 2, 3",
	    candidates.at, places(run), key, key), rows, error);
}

/* Of the keys of a pair, those that `to` did not have before. */
static recloser_status count_new(struct run *run, const struct run_part *to, const char *origin, const char *home, uint64_t *count,
                                 recloser_error *error)
{
	struct arena *arena = run->arena;
	const char *key = sql_name(arena, run->spec->key_column);
	bool absent = strcmp(origin, home) == 0 && !part_at(run, home);
	struct rows rows;
	if (!to->reference)
		return RECLOSER_OK;
	const char *from = absent ? arena_printf(arena, "SELECT %s FROM elsewhere WHERE path = %s", key, sql_text(arena, origin))
	                          : arena_printf(arena, "SELECT %s FROM disappeared WHERE \"partition\" = %s AND _rc_in = %s", key,
	                                         sql_text(arena, origin), sql_text(arena, home));
	RC_TRY(engine_query(run->engine, arena, "look where keys have been", arena_printf(arena,
	    "SELECT count(*) FROM (%s) c SEMI JOIN %s b ON c.%s = b.%s ANTI JOIN %s l ON c.%s = l.%s", from, run_own_rows(run, to), key, key,
	    run_reference_table(run, to->reference), key, key), &rows, error));
	*count = (uint64_t)rows_int(&rows, 0, 0);
	return RECLOSER_OK;
}

/* The two go together: of a moved key, one that is held alone would leave it in neither partition, or in both. */
static void hold_both(struct run_part *to, struct run_part *from)
{
	if (to->outcome != PART_HELD || !from || !goes_live(from))
		return;
	from->outcome = PART_HELD;
	from->held_by = "moved";
}

/* Months of a series have keys in common by nature. */
static bool same_month(struct run *run, const struct run_part *part, const char *path)
{
	const struct strings *columns = &run->spec->partition;
	const char **values = partition_values(run->arena, columns, path);
	for (size_t c = 0; c < columns->count && values && run->spec->series; c++)
		if (strcmp(columns->at[c], run->spec->series) == 0)
			return strcmp(values[c], part->part.batch_part->values[c]) == 0;
	return true;
}

static void say_torn(struct run *run, const struct run_part *to, const struct run_part *from, const char *origin, uint64_t count)
{
	const char *keys = arena_printf(run->arena, "%s key%s", text_count(run->arena, count), count == 1 ? "" : "s");
	if (!from && goes_live(to) && same_month(run, to, origin))
		run_warn(run, arena_printf(run->arena, "%s %s in %s, which the source no longer mentions, and in %s", keys,
		                           count == 1 ? "is now" : "are now", origin, to->part.batch_part->path));
	else if (from && goes_live(from) && !goes_live(to))
		run_warn(run, arena_printf(run->arena, "%s of %s %s in no partition while %s is held", keys, origin, count == 1 ? "is" : "are",
		                           to->part.batch_part->path));
	else if (from && !goes_live(from) && goes_live(to))
		run_warn(run, arena_printf(run->arena, "%s %s in both %s and %s while the former is held", keys, count == 1 ? "is" : "are", origin,
		                           to->part.batch_part->path));
}

recloser_status run_guard_moves(struct run *run, recloser_error *error)
{
	const struct guard *guard = &run->spec->moved;
	struct arena *arena = run->arena;
	struct rows rows;
	bool elsewhere = looks_elsewhere(run);
	if ((run->disappeared == 0 && !elsewhere) || guard->policy == POLICY_ALLOW)
		return RECLOSER_OK;
	if (elsewhere)
		RC_TRY(read_absent(run, error));
	RC_TRY(find_pairs(run, &rows, error));
	for (size_t r = 0; r < rows.row_count; r++) {
		const char *origin = rows_at(&rows, r, 1), *home = rows_at(&rows, r, 2);
		struct run_part *to = part_at(run, rows_at(&rows, r, 0)), *from = part_at(run, home);
		uint64_t count = (uint64_t)rows_int(&rows, r, 3);
		if (!to || to->outcome == PART_UNCHANGED || to->outcome == PART_FROZEN)
			continue; /* it had them before, or does not get them */
		RC_TRY(count_new(run, to, origin, home, &count, error));
		if (count == 0)
			continue;
		run->moved += count;
		if (threshold_exceeded(&guard->max, count, to->part.batch_part->rows)) {
			const char *what = arena_printf(arena, "%s key%s moved from %s to %s", text_count(arena, count), count == 1 ? "" : "s", origin,
			                                to->part.batch_part->path);
			run->saying = &to->said_of_moves;
			recloser_status status = run_apply_policy(run, to, "moved", guard->policy, what, error);
			run->saying = NULL;
			RC_TRY(status);
			if (guard->policy == POLICY_HOLD)
				hold_both(to, from);
		}
		say_torn(run, to, from, origin, count);
	}
	return RECLOSER_OK;
}
