/* SPDX-License-Identifier: Apache-2.0
 * Step 5, keys that moved: gone from one partition and new in another of the same load, or new in one while the partition they
 * stand in is not mentioned, any more or at all (which leaves them in both). Partitions that differ in the series column hold the same
 * keys by nature, so only those of one month are looked at together. */
#include <inttypes.h>
#include <string.h>

#include "base/hive.h"
#include "run/run.h"

enum { ELSEWHERE_READ = 200 }; /* files of partitions that the source does not mention that are opened to look for keys */

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

/* Where keys are looked for beside the load's own partitions. Not in an object store: there each would be a download, and a load's
 * requests must not grow with the partitions that exist. */
struct elsewhere {
	bool any;
	struct strings others;  /* partitions that no load mentioned together with these */
	struct strings columns; /* in which such a one and the new one are equal */
};

static recloser_status look_elsewhere(struct run *run, struct elsewhere *elsewhere, recloser_error *error)
{
	bool new_keys = false;
	if (run->dataset->bucket || !run->dataset->config)
		return RECLOSER_OK;
	for (size_t i = 0; i < run->part_count; i++)
		new_keys |= goes_live(&run->parts[i]) && (!run->parts[i].reference || run->parts[i].fresh);
	if (new_keys)
		RC_TRY(run_find_others(run, &elsewhere->columns, &elsewhere->others, error));
	elsewhere->any = new_keys && run->absent.count + elsewhere->others.count > 0;
	return RECLOSER_OK;
}

/* SQL: the file that holds the partition's keys; NULL: none does. */
static recloser_status keys_of(struct run *run, const char *path, const char **file, recloser_error *error)
{
	struct record *record;
	enum live_state live;
	*file = NULL;
	RC_TRY(live_newest(run->dataset, run->arena, path, &record, &live, error));
	if (!record || live != LIVE_SOUND)
		return RECLOSER_OK;
	struct reference reference = {.path = path, .record = record, .schema = json_object_get(record->json, "schema")};
	return reference_has(&reference, run->spec->key_column) ? version_file(run->dataset, run->arena, record, file, error) : RECLOSER_OK;
}

/* A file that this load does not touch is damaged. That is no reason to refuse the load where the guard would only have warned. */
static recloser_status unread(struct run *run, recloser_status status, recloser_error *problem, recloser_error *error)
{
	bool damaged = status == RECLOSER_IO && strcmp(problem->code, "engine.failed") == 0;
	if (damaged && run->spec->moved.policy == POLICY_WARN) {
		run_warn(run, arena_printf(run->arena, "keys in other partitions were not looked for, since a live file can't be read: %s; `recloser verify` "
		                           "names it", problem->what));
		return RECLOSER_OK;
	}
	if (damaged) {
		error_where(problem, "%s", run->dataset->tree);
		error_hint(problem, "nothing was changed; `recloser verify` names the file, `recloser restore` brings a version of it back; or load with guards: {moved: warn}");
	}
	if (error && error->status == RECLOSER_OK)
		*error = *problem;
	return status;
}

/* The keys of such partitions, into the table `elsewhere`: of all files in one statement, since each has few. */
static recloser_status read_elsewhere(struct run *run, const struct elsewhere *elsewhere, recloser_error *error)
{
	struct arena *arena = run->arena;
	const char *key = sql_name(arena, run->spec->key_column);
	struct text files = text_on(arena), paths = text_on(arena);
	RC_TRY(engine_runf(run->engine, "make the list of keys elsewhere", error, "CREATE TABLE elsewhere (%s VARCHAR, path VARCHAR, publication VARCHAR)", key));
	for (size_t i = 0; i < run->absent.count + elsewhere->others.count && i < ELSEWHERE_READ; i++) {
		bool absent = i < run->absent.count;
		const char *path = absent ? run->absent.at[i] : elsewhere->others.at[i - run->absent.count], *file;
		RC_TRY(keys_of(run, path, &file, error));
		if (!file)
			continue;
		const char **values = partition_values(arena, &run->spec->partition, path), **of = arena_array(arena, elsewhere->columns.count + 1, sizeof *of);
		for (size_t c = 0, count = 0; c < run->spec->partition.count && values; c++)
			if (strings_has(&elsewhere->columns, run->spec->partition.at[c]))
				of[count++] = values[c];
		text_addf(&files, "%s%s", files.length ? ", " : "", sql_text(arena, file));
		text_addf(&paths, "%s(%s, %s, %s)", paths.length ? ", " : "", sql_text(arena, file), sql_text(arena, path),
		          absent ? "NULL" : sql_text(arena, partition_path(arena, &elsewhere->columns, of)));
	}
	if (files.length == 0)
		return RECLOSER_OK;
	recloser_error problem = {0};
	recloser_status status = engine_runf(run->engine, "read the keys of partitions that the source does not mention", &problem,
	                   "INSERT INTO elsewhere SELECT r.%s, p.path, p.publication FROM read_parquet([%s], hive_partitioning=false, filename='_rc_file') r"
	                   " JOIN (VALUES %s) p(file, path, publication) ON r._rc_file = p.file", key, files.at, paths.at);
	return status == RECLOSER_OK ? RECLOSER_OK : unread(run, status, &problem, error);
}

/* SQL: path, series value and publication of the batch's rows, those carried over left out. */
static const char *places(struct run *run, const struct elsewhere *elsewhere)
{
	struct arena *arena = run->arena;
	const char *series = run->spec->series;
	return arena_printf(arena, "(SELECT %s, %s AS path, %s AS series, %s AS publication FROM batch WHERE _rc_src >= 0)",
	                    sql_name(arena, run->spec->key_column), batch_path_sql(arena, &run->spec->partition),
	                    series ? arena_printf(arena, "CAST(%s AS VARCHAR)", sql_name(arena, series)) : "''",
	                    batch_path_sql(arena, &elsewhere->columns));
}

/* One row a pair of partitions: to, from (where the key stood), home (the partition of this load that lost it, or from). */
static recloser_status find_pairs(struct run *run, const struct elsewhere *elsewhere, struct rows *rows, recloser_error *error)
{
	struct arena *arena = run->arena;
	const char *key = sql_name(arena, run->spec->key_column);
	struct text candidates = text_on(arena);
	if (run->disappeared)
		text_addf(&candidates, "SELECT %s, \"partition\" AS origin, _rc_in AS home, _rc_series AS series, CAST(NULL AS VARCHAR) AS publication FROM disappeared", key);
	if (elsewhere->any)
		text_addf(&candidates, "%sSELECT %s, path AS origin, path AS home, CAST(NULL AS VARCHAR) AS series, publication FROM elsewhere",
		          candidates.length ? " UNION ALL " : "", key);
	return engine_query(run->engine, arena, "look for keys that moved", arena_printf(arena,
	    "SELECT b.path, c.origin, c.home, count(*) FROM (%s) c JOIN %s b ON c.%s = b.%s"
	    " WHERE b.path <> c.home AND (c.series IS NULL OR c.series = b.series) AND (c.publication IS NULL OR c.publication = b.publication)"
	    " GROUP BY ALL ORDER BY 1, 2, 3", candidates.at, places(run, elsewhere), key, key), rows, error);
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
		run_warn(run, arena_printf(run->arena, "%s %s in %s, which the source %s, and in %s", keys, count == 1 ? "is now" : "are now", origin,
		                           strings_has(&run->absent, origin) ? "no longer mentions" : "does not mention", to->part.batch_part->path));
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
	struct elsewhere elsewhere = {0};
	if (guard->policy == POLICY_ALLOW)
		return RECLOSER_OK;
	RC_TRY(look_elsewhere(run, &elsewhere, error));
	if (run->disappeared == 0 && !elsewhere.any)
		return RECLOSER_OK;
	if (elsewhere.any)
		RC_TRY(read_elsewhere(run, &elsewhere, error));
	RC_TRY(find_pairs(run, &elsewhere, &rows, error));
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
