/* SPDX-License-Identifier: Apache-2.0
 *
 * The demonstration: one publication delivered twice, loaded in three ways, and what is left of it each time.
 *
 * The second delivery holds the same projects; seven rows of twelve carry a newer last_updated and nothing else changed.
 *   append                      every delivery is one more file of the partition: every row is there twice
 *   merge, last_updated in key  a touched row has a new key: it is there twice
 *   recloser                    the key is the project, last_updated says which revision wins: every row is there once
 * Then the second delivery is loaded again, one partition of 612 is read, and a batch with revisions is loaded.
 *
 * Everything that is printed is measured: rows and capacity by reading the files as any reader would, digests over their
 * bytes. The figures that must come out are known beforehand, and another one is a fault (demo_expect).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/json.h"
#include "base/number.h"
#include "engine/engine.h"
#include "report/result.h"
#include "run/call.h"
#include "run/demo_data.h"

struct demo {
	struct arena *arena;
	const recloser_demo_options *options;
	struct engine *engine;
	struct fs *fs;
	const char *directory;
	uint64_t rows;
	const char *first, *second; /* paths of the two deliveries */
	json_t *figures;            /* all that was measured */
	struct text faults;         /* figures that are not what they have to be */
	struct text told;           /* everything, for a caller without `say` */
};

/* What reading some files gave. */
struct measure {
	int64_t rows;
	const char *mw; /* "240,300,000.0" */
	double mw_number;
};

/* ---- telling ---- */

static void tell(struct demo *demo, const char *format, ...) RC_PRINTF(2, 3);
static void tell(struct demo *demo, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	const char *line = arena_vprintf(demo->arena, format, args);
	va_end(args);
	if (demo->options->say != NULL)
		demo->options->say(demo->options->say_arg, line);
	else
		text_add(&demo->told, line);
}

/* Hundredths of a second without the locale's comma. */
static const char *seconds_since(struct demo *demo, double start)
{
	long hundredths = (long)((clock_monotonic() - start) * 100 + 0.5);
	return arena_printf(demo->arena, "%ld.%02ld s", hundredths / 100, hundredths % 100);
}

static const char *count(struct demo *demo, int64_t number)
{
	return text_count(demo->arena, (uint64_t)number);
}

static void expect(struct demo *demo, const char *what, int64_t got, int64_t wanted)
{
	if (got != wanted)
		text_addf(&demo->faults, "%s: %" PRId64 ", has to be %" PRId64 "\n", what, got, wanted);
}

/* ---- doing ---- */

static const char *path_of(struct demo *demo, const char *name)
{
	return arena_printf(demo->arena, "%s/%s", demo->directory, name);
}

/* All directories of a path below the demonstration's folder. */
static recloser_status make_directories(struct demo *demo, const char *name, recloser_error *error)
{
	for (const char *end = name; end != NULL;) {
		end = strchr(end, '/');
		const char *path = path_of(demo, end != NULL ? arena_strndup(demo->arena, name, (size_t)(end - name)) : name);
		int number = demo->fs->ops->make_directory(demo->fs, path);
		if (number != 0 && number != EEXIST)
			return error_errno(error, "demo.folder", number, "make", path);
		if (end != NULL)
			end++;
	}
	return RECLOSER_OK;
}

static recloser_status write_text(struct demo *demo, const char *name, const char *text, recloser_error *error)
{
	const char *path = path_of(demo, name);
	int number = demo->fs->ops->write(demo->fs, path, text, strlen(text), 0644, NULL);
	return number == 0 ? RECLOSER_OK : error_errno(error, "demo.folder", number, "write", path);
}

/* Sorted, so that the demonstration's own digests are the same on every machine as well. */
static recloser_status write_parquet(struct demo *demo, const char *path, const char *select, recloser_error *error)
{
	return engine_runf(demo->engine, "write a file of the demonstration", error,
					   "COPY (FROM (%s) ORDER BY project_id, last_updated) TO %s (FORMAT parquet, COMPRESSION zstd)", select,
					   sql_text(demo->arena, path));
}

static const char *reading(struct demo *demo, const char *pattern)
{
	return arena_printf(demo->arena, "read_parquet(%s, hive_partitioning = true)",
						sql_text(demo->arena, path_of(demo, pattern)));
}

static recloser_status measure(struct demo *demo, const char *pattern, struct measure *out, recloser_error *error)
{
	struct rows rows;
	const char *sql =
		arena_printf(demo->arena, "SELECT count(*), format('{:,.1f}', sum(capacity_mw)), sum(capacity_mw)::VARCHAR FROM %s",
					 reading(demo, pattern));
	RC_TRY(engine_query(demo->engine, demo->arena, "count what is there", sql, &rows, error));
	const char *number = rows_at(&rows, 0, 2);
	*out = (struct measure){.rows = rows_int(&rows, 0, 0), .mw = rows_at(&rows, 0, 1)};
	if (number == NULL || !number_parse(number, strlen(number), &out->mw_number))
		*out = (struct measure){.rows = out->rows, .mw = "0.0"};
	return RECLOSER_OK;
}

/* Measure, print one line, keep the figures under `section`. */
static recloser_status report(struct demo *demo, const char *section, const char *step, const char *pattern,
							  const char *file, struct measure *out, recloser_error *error)
{
	char sha256[SHA256_HEX];
	RC_TRY(measure(demo, pattern, out, error));
	RC_TRY(sha256_file(path_of(demo, file), sha256, NULL, error));
	tell(demo, "  %-22s %9s rows  %16s MW   sha256 %.16s\n", step, count(demo, out->rows), out->mw, sha256);
	json_t *list = json_object_get(demo->figures, section);
	if (list == NULL) {
		list = json_new_array(demo->arena);
		json_put(demo->arena, demo->figures, section, list);
	}
	json_t *figure = json_new_object(demo->arena);
	json_put_text(demo->arena, figure, "step", step);
	json_put_int(demo->arena, figure, "rows", out->rows);
	json_put_real(demo->arena, figure, "capacity_mw", out->mw_number);
	json_put_text(demo->arena, figure, "file", file);
	json_put_text(demo->arena, figure, "sha256", sha256);
	json_add(demo->arena, list, figure);
	return RECLOSER_OK;
}

static void free_result(void *result)
{
	recloser_result_free(result);
}

/* The public call, as the command line makes it; its JSON. */
static recloser_status load(struct demo *demo, const char *spec, const char *file, json_t **out, recloser_error *error)
{
	recloser_load_options options = {.common = demo->options->common, .files = &file, .file_count = 1};
	options.common.spec_path = path_of(demo, spec);
	recloser_result *result = NULL;
	recloser_status status = recloser_load(&options, &result, error);
	if (result != NULL)
		arena_defer(demo->arena, free_result, result);
	if (status != RECLOSER_OK)
		return status;
	const char *json = recloser_result_json(result);
	return json_parse(demo->arena, json, strlen(json), "the result of load", out, error);
}

static const char *partition_text(const json_t *result, const char *member)
{
	const char *text = json_get_text(json_array_get(json_object_get(result, "partitions"), 0), member);
	return text != NULL ? text : "";
}

/* ---- the steps ---- */

static recloser_status publish(struct demo *demo, recloser_error *error)
{
	struct measure first;
	char sha256[SHA256_HEX];
	uint64_t bytes = 0;
	const char *const names[] = {"published/queue_2026-07-01.parquet", "published/queue_2026-07-15.parquet"};
	RC_TRY(make_directories(demo, "published", error));
	for (int i = 0; i < 2; i++) {
		RC_TRY(write_parquet(demo, path_of(demo, names[i]), demo_publication_sql(demo->arena, demo->rows, i == 1), error));
		RC_TRY(measure(demo, names[i], &first, error));
		if (i == 0)
			tell(demo, "A queue of %s projects, one state, one month: %s MW. Delivered twice.\n", count(demo, first.rows),
				 first.mw);
		RC_TRY(sha256_file(path_of(demo, names[i]), sha256, &bytes, error));
		tell(demo, "  %-36s %8s   sha256 %.16s\n", names[i], text_bytes(demo->arena, bytes), sha256);
	}
	demo->first = path_of(demo, names[0]);
	demo->second = path_of(demo, names[1]);
	int64_t touched = (int64_t)demo->rows / 12 * DEMO_TOUCHED_OF_12;
	tell(demo, "  in the second, %s rows carry a newer last_updated and nothing else changed\n\n", count(demo, touched));
	json_put_int(demo->arena, demo->figures, "rows", (int64_t)demo->rows);
	json_put_int(demo->arena, demo->figures, "touched", touched);
	return RECLOSER_OK;
}

static recloser_status by_append(struct demo *demo, recloser_error *error)
{
	static const char *const names[] = {"append/state=TX/month=2026-07/data-1.parquet",
										"append/state=TX/month=2026-07/data-2.parquet"};
	struct measure now;
	tell(demo, "1. Plain append: each delivery is one more file of the partition\n");
	RC_TRY(make_directories(demo, "append/state=TX/month=2026-07", error));
	for (int i = 0; i < 2; i++) {
		const char *from = arena_printf(demo->arena, "SELECT * EXCLUDE (state, month) FROM read_parquet(%s)",
										sql_text(demo->arena, i == 0 ? demo->first : demo->second));
		RC_TRY(write_parquet(demo, path_of(demo, names[i]), from, error));
		RC_TRY(report(demo, "append", i == 0 ? "after the first" : "after the second", "append/**/*.parquet", names[i], &now,
					  error));
	}
	tell(demo, "  every project is there twice; no reader can tell\n\n");
	expect(demo, "rows by append", now.rows, 2 * (int64_t)demo->rows);
	return RECLOSER_OK;
}

static recloser_status by_mutable_key(struct demo *demo, recloser_error *error)
{
	static const char name[] = "merge/state=TX/month=2026-07/part.parquet";
	struct measure now;
	const char *live = path_of(demo, name), *aside = path_of(demo, "merge.new");
	tell(demo, "2. Merge of new keys, with last_updated in the key\n");
	RC_TRY(make_directories(demo, "merge/state=TX/month=2026-07", error));
	RC_TRY(write_parquet(demo, live,
						 arena_printf(demo->arena, "SELECT * EXCLUDE (state, month) FROM read_parquet(%s)",
									  sql_text(demo->arena, demo->first)),
						 error));
	RC_TRY(report(demo, "merge", "after the first", "merge/**/*.parquet", name, &now, error));
	const char *merged =
		arena_printf(demo->arena,
					 "FROM read_parquet(%s, hive_partitioning = false)\n"
					 "UNION ALL BY NAME SELECT * EXCLUDE (state, month) FROM read_parquet(%s) AS delivered\n"
					 "ANTI JOIN read_parquet(%s, hive_partitioning = false) AS kept USING (project_id, last_updated)",
					 sql_text(demo->arena, live), sql_text(demo->arena, demo->second), sql_text(demo->arena, live));
	RC_TRY(write_parquet(demo, aside, merged, error));
	int number = demo->fs->ops->rename(demo->fs, aside, live);
	if (number != 0)
		return error_errno(error, "demo.folder", number, "rename", aside);
	RC_TRY(report(demo, "merge", "after the second", "merge/**/*.parquet", name, &now, error));
	int64_t touched = (int64_t)demo->rows / 12 * DEMO_TOUCHED_OF_12;
	tell(demo, "  a touched row has a new key: %s projects are there twice\n\n", count(demo, touched));
	expect(demo, "rows by merge", now.rows, (int64_t)demo->rows + touched);
	return RECLOSER_OK;
}

static recloser_status by_recloser(struct demo *demo, recloser_error *error)
{
	static const char name[] = "lake/queue/state=TX/month=2026-07/part.parquet";
	static const char *const steps[] = {"after the first", "after the second", "the second again"};
	static const char *const outcomes[] = {"new", "replaced", "unchanged"};
	struct measure now[3];
	char sha256[3][SHA256_HEX];
	tell(demo, "3. recloser: the key is project_id, last_updated says which revision wins\n");
	RC_TRY(write_text(demo, "queue.yaml", demo_queue_spec(), error));
	for (int i = 0; i < 3; i++) {
		json_t *result = NULL;
		double start = clock_monotonic();
		RC_TRY(load(demo, "queue.yaml", i == 0 ? demo->first : demo->second, &result, error));
		const char *took = seconds_since(demo, start);
		RC_TRY(report(demo, "recloser", steps[i], "lake/queue/**/*.parquet", name, &now[i], error));
		RC_TRY(sha256_file(path_of(demo, name), sha256[i], NULL, error));
		const char *outcome = i < 2 ? partition_text(result, "outcome") : json_get_text(result, "outcome");
		tell(demo, "  %22s %s in %s\n", "", outcome != NULL ? outcome : "?", took);
		if (outcome == NULL || strcmp(outcome, outcomes[i]) != 0)
			text_addf(&demo->faults, "%s: recloser said %s, has to be %s\n", steps[i], outcome != NULL ? outcome : "nothing",
					  outcomes[i]);
		expect(demo, steps[i], now[i].rows, (int64_t)demo->rows);
	}
	if (now[0].mw_number != now[1].mw_number)
		text_addf(&demo->faults, "capacity by recloser: %s MW, was %s MW\n", now[1].mw, now[0].mw);
	if (strcmp(sha256[1], sha256[2]) != 0)
		text_addf(&demo->faults, "the second load of one file changed the bytes: %s, was %s\n", sha256[2], sha256[1]);
	tell(demo, "  every project is there once; loading a file again changes no byte\n\n");
	return RECLOSER_OK;
}

/* "Scanning Files: 1/612" in the engine's account of a query. */
static bool files_opened(const struct rows *account, int *opened, int *of)
{
	for (size_t row = 0; row < account->row_count; row++) {
		for (size_t column = 0; column < account->column_count; column++) {
			const char *cell = rows_at(account, row, column);
			const char *at = cell != NULL ? strstr(cell, "Scanning Files: ") : NULL;
			if (at != NULL && sscanf(at, "Scanning Files: %d/%d", opened, of) == 2)
				return true;
		}
	}
	return false;
}

static recloser_status one_of_many(struct demo *demo, recloser_error *error)
{
	static const char file[] = "published/regions_2025.parquet";
	const int64_t partitions = (int64_t)DEMO_STATES * DEMO_MONTHS;
	json_t *result = NULL;
	tell(demo, "4. One partition of %s\n", count(demo, partitions));
	RC_TRY(write_text(demo, "regions.yaml", demo_regions_spec(), error));
	RC_TRY(write_parquet(demo, path_of(demo, file), demo_regions_sql(demo->arena), error));
	double start = clock_monotonic();
	RC_TRY(load(demo, "regions.yaml", path_of(demo, file), &result, error));
	expect(demo, "partitions of the tree", (int64_t)json_array_size(json_object_get(result, "partitions")), partitions);
	tell(demo, "  %d states x %d months: %s partitions by one load in %s\n", DEMO_STATES, DEMO_MONTHS,
		 count(demo, partitions), seconds_since(demo, start));
	const char *query =
		arena_printf(demo->arena, "SELECT count(*), sum(capacity_mw) FROM %s WHERE state = 'TX' AND month = '2025-07'",
					 reading(demo, "lake/regions/**/*.parquet"));
	struct rows rows, account;
	RC_TRY(engine_query(demo->engine, demo->arena, "read one partition", query, &rows, error));
	RC_TRY(engine_query(demo->engine, demo->arena, "read one partition",
						arena_printf(demo->arena, "EXPLAIN ANALYZE %s", query), &account, error));
	int opened = -1, of = -1;
	if (!files_opened(&account, &opened, &of))
		text_add(&demo->faults, "the engine did not say how many files it opened\n");
	tell(demo, "  WHERE state = 'TX' AND month = '2025-07': %s rows, %d of %d files opened\n\n",
		 count(demo, rows_int(&rows, 0, 0)), opened, of);
	expect(demo, "rows of one partition", rows_int(&rows, 0, 0), DEMO_ROWS_A_REGION);
	expect(demo, "files opened", opened, 1);
	expect(demo, "files there", of, partitions);
	json_t *figure = json_new_object(demo->arena);
	json_put_int(demo->arena, figure, "files", of);
	json_put_int(demo->arena, figure, "files_opened", opened);
	json_put_int(demo->arena, figure, "rows", rows_int(&rows, 0, 0));
	json_put(demo->arena, demo->figures, "pruning", figure);
	return RECLOSER_OK;
}

static recloser_status revisions(struct demo *demo, recloser_error *error)
{
	static const char file[] = "published/queue_2026-07_revised.parquet";
	json_t *result = NULL;
	tell(demo, "5. A batch with revisions in it\n");
	RC_TRY(write_parquet(demo, path_of(demo, file), demo_revisions_sql(demo->arena), error));
	RC_TRY(load(demo, "queue.yaml", path_of(demo, file), &result, error));
	static const struct {
		const char *name;
		int64_t wanted;
	} figures[] = {{"rows_in", DEMO_REVISED_ROWS},
				   {"rows_written", DEMO_REVISED_PROJECTS},
				   {"superseded", DEMO_SUPERSEDED},
				   {"collapsed", DEMO_COLLAPSED}};
	json_t *kept = json_new_object(demo->arena);
	int64_t got[4];
	for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
		got[i] = json_get_int(result, figures[i].name, -1);
		expect(demo, arena_printf(demo->arena, "%s of the revised batch", figures[i].name), got[i], figures[i].wanted);
		json_put_int(demo->arena, kept, figures[i].name, got[i]);
	}
	json_put(demo->arena, demo->figures, "revisions", kept);
	tell(demo, "  %s rows in = %s written + %s superseded by a later revision + %s exact duplicate\n", count(demo, got[0]),
		 count(demo, got[1]), count(demo, got[2]), count(demo, got[3]));
	struct rows rows;
	const char *sql = arena_printf(
		demo->arena,
		"SELECT format('{:.1f}', before.capacity_mw), format('{:.1f}', after.capacity_mw), format('{:.1f}', "
		"live.capacity_mw)\n"
		"FROM (FROM read_parquet(%1$s) ORDER BY project_id, last_updated LIMIT 1) AS before,\n"
		"  (FROM read_parquet(%1$s) WHERE project_id = 'OK-0000000' ORDER BY last_updated DESC LIMIT 1) AS after,\n"
		"  %2$s AS live WHERE live.project_id = 'OK-0000000'",
		sql_text(demo->arena, path_of(demo, file)), reading(demo, "lake/queue/state=OK/month=2026-07/part.parquet"));
	RC_TRY(engine_query(demo->engine, demo->arena, "look at a revised project", sql, &rows, error));
	expect(demo, "live rows of a revised project", (int64_t)rows.row_count, 1);
	if (rows.row_count > 0) {
		tell(demo, "  OK-0000000: %s MW on 2026-07-02, %s MW on 2026-07-09; live is %s MW\n\n", rows_at(&rows, 0, 0),
			 rows_at(&rows, 0, 1), rows_at(&rows, 0, 2));
		if (strcmp(rows_at(&rows, 0, 1), rows_at(&rows, 0, 2)) != 0)
			text_add(&demo->faults, "the live row of OK-0000000 is not its latest revision\n");
	}
	return RECLOSER_OK;
}

static recloser_status run(struct demo *demo, recloser_error *error)
{
	static recloser_status (*const steps[])(struct demo *, recloser_error *) = {publish,     by_append,   by_mutable_key,
																				by_recloser, one_of_many, revisions};
	for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
		RC_TRY(steps[i](demo, error));
	if (demo->faults.length > 0) {
		error_set(error, RECLOSER_FAULT, "demo.figure", "the demonstration did not come out as it has to");
		return error_where(error, "%s", demo->faults.at);
	}
	tell(demo,
		 "Every figure is what it has to be. SHA-256 are shown by their first 16 digits. To look around:\n  recloser status "
		 "%1$s/queue.yaml\n  recloser verify "
		 "%1$s/queue.yaml\n",
		 demo->directory);
	return RECLOSER_OK;
}

static recloser_status begin(struct demo *demo, recloser_error *error)
{
	const recloser_demo_options *options = demo->options;
	demo->directory = options->directory != NULL ? options->directory : "recloser-demo";
	demo->rows = options->rows != 0 ? options->rows : DEMO_ROWS;
	if (demo->rows < DEMO_ROWS_LEAST || demo->rows % 12 != 0 || demo->rows > 9999996) {
		error_set(error, RECLOSER_USAGE, "demo.rows", "the demonstration cannot have %" PRIu64 " rows", demo->rows);
		return error_hint(error, "a multiple of 12, from %d to 9999996", DEMO_ROWS_LEAST);
	}
	demo->fs = fs_posix(demo->arena);
	RC_TRY(demo_folder(demo->fs, demo->arena, demo->directory, error));
	demo->figures = json_new_object(demo->arena);
	demo->faults = text_on(demo->arena);
	demo->told = text_on(demo->arena);
	struct engine_options engine = {
		.threads = options->common.threads, .memory_bytes = options->common.memory_bytes, .spill = path_of(demo, "spill")};
	return engine_open(demo->arena, &engine, &demo->engine, error);
}

/* The result of a run that got as far as having figures, also when one of them is a fault. */
static recloser_status give(struct demo *demo, recloser_status status, recloser_result **out, recloser_error *error)
{
	if (demo->figures == NULL)
		return status;
	json_put_text(demo->arena, demo->figures, "outcome", status == RECLOSER_OK ? "done" : "failed");
	json_put_text(demo->arena, demo->figures, "directory", demo->directory);
	if (status != RECLOSER_OK)
		result_add_error(demo->arena, demo->figures, error);
	*out = result_of_texts(json_text(demo->arena, demo->figures), demo->told.at);
	if (*out == NULL && status == RECLOSER_OK)
		return error_set(error, RECLOSER_IO, "memory", "out of memory");
	return status;
}

static recloser_status demonstrate(struct arena *arena, const void *options, recloser_result **out, recloser_error *error)
{
	struct demo *demo = arena_alloc(arena, sizeof *demo);
	demo->arena = arena;
	demo->options = options;
	recloser_status status = begin(demo, error);
	if (status == RECLOSER_OK)
		status = run(demo, error);
	return give(demo, status, out, error);
}

recloser_status recloser_demo(const recloser_demo_options *options, recloser_result **out, recloser_error *error)
{
	return call_run(demonstrate, options, out, error);
}
