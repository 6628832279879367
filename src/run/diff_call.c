/* SPDX-License-Identifier: Apache-2.0
 * recloser_diff. With `file` the newer side is a batch: the steps of a load up to there, by the same code, and nothing
 * after. */
#include <string.h>

#include "base/clock.h"
#include "base/hive.h"
#include "run/history_calls.h"
#include "run/call.h"
#include "run/run.h"

/* ---- a file that was not loaded ---- */

static const struct batch_part *part_of(const struct batch *batch, const char *partition)
{
	for (size_t i = 0; i < batch->part_count; i++)
		if (strcmp(batch->parts[i].path, partition) == 0)
			return &batch->parts[i];
	return NULL;
}

static recloser_status batch_side(struct run *run, const struct diff_side *older, struct diff_side *out,
								  recloser_error *error)
{
	struct text columns = text_on(run->arena);
	const struct batch_part *part = part_of(run->batch, older->partition);
	if (!part) {
		error_set(error, RECLOSER_USAGE, "diff.partition", "the file has no rows of %s", older->partition);
		error_where(error, "%s", run->inputs[0].path);
		return run->batch->part_count ? error_hint(error, "it has rows of %s", run->batch->parts[0].path) : RECLOSER_USAGE;
	}
	for (size_t i = 0; i < run->batch->column_count; i++)
		text_addf(&columns, "%s%s", i ? ", " : "", sql_name(run->arena, run->batch->columns[i].name));
	*out =
		(struct diff_side){.label = arena_printf(run->arena, "%s, not loaded", run->inputs[0].name),
						   .partition = older->partition,
						   .relation = arena_printf(run->arena, "(SELECT %s FROM %s)", columns.at, part->rows_sql)};
	return RECLOSER_OK;
}

/* Recognised, read, checked, and its revisions resolved, as a load would. */
static recloser_status read_batch(struct run *run, recloser_error *error)
{
	RC_TRY(run_inputs(run, error));
	return run_read(run, error);
}

static recloser_status against_file(struct history *h, const recloser_diff_options *options, recloser_error *error)
{
	struct diff_side older, newer;
	volatile int decided = 0;
	recloser_load_options load = {.common = options->common,
								  .files = &options->file,
								  .file_count = 1,
								  .source = options->source,
								  .settings = options->settings,
								  .setting_count = options->setting_count,
								  .dry_run = true};
	struct run *run = arena_alloc(h->arena, sizeof *run);
	*run = (struct run){.arena = h->arena,
						.options = &load,
						.started = clock_monotonic(),
						.id = clock_run_id(h->arena),
						.spec = (struct spec *)h->spec,
						.dataset = h->dataset,
						.decided = &decided};
	RC_TRY(diff_sides(h, options, &older, NULL, error));
	recloser_status status = read_batch(run, error);
	if (status == RECLOSER_OK)
		status = batch_side(run, &older, &newer, error);
	h->engine = run->engine;
	if (status == RECLOSER_OK)
		status = diff(h, options, &older, &newer, error);
	if (run->staging)
		staging_abandon(run->staging);
	return status;
}

/* ---- the call ---- */

static recloser_status compare_versions(struct history *h, const recloser_diff_options *options, recloser_error *error)
{
	struct diff_side older, newer;
	RC_TRY(diff_sides(h, options, &older, &newer, error));
	return diff(h, options, &older, &newer, error);
}

static recloser_status diff_work(struct arena *arena, const void *given, recloser_result **out, recloser_error *error)
{
	const recloser_diff_options *options = given;
	struct history h;
	RC_TRY(history_begin(arena, &options->common, !options->file, &h, error));
	return history_end(&h, options->file ? against_file(&h, options, error) : compare_versions(&h, options, error), out,
					   error);
}

recloser_status recloser_diff(const recloser_diff_options *options, recloser_result **out, recloser_error *error)
{
	return call_run(diff_work, options, out, error);
}
