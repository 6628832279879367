/* SPDX-License-Identifier: Apache-2.0
 * recloser_load: the steps in their order, and what the caller gets to know however they end. */
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "commit/commit.h"
#include "history/history.h"
#include "report/result.h"
#include "run/call.h"
#include "run/run.h"

static const char *outcome_of(const struct run *run)
{
	bool changed = false, held = false, conflict = false;
	if (run->repeated)
		return "unchanged";
	if (run->options->dry_run)
		return "dry_run";
	for (size_t i = 0; i < run->part_count; i++) {
		enum part_outcome outcome = run->parts[i].outcome;
		changed |= outcome == PART_NEW || outcome == PART_REPLACED;
		held |= outcome == PART_HELD;
		conflict |= outcome == PART_CONFLICT;
	}
	return conflict ? "conflict" : held ? "held" : changed ? "loaded" : "unchanged";
}

/* A dry run finishes nothing: it compares with what is live, and so with what an unfinished run has made live. */
static recloser_status tell_open_run(struct run *run)
{
	struct open_run open;
	open_run_find(run->dataset, run->arena, &open);
	if (open.run)
		strings_add(run->arena, &run->warnings, open_run_told(run->arena, &open));
	return RECLOSER_OK;
}

static recloser_status open_dataset(struct run *run, recloser_error *error)
{
	struct recovery recovery = {0};
	RC_TRY(spec_read(run->arena, run->options->common.spec_path, &run->spec, error));
	RC_TRY(call_dataset(run->arena, run->spec, &run->dataset, error));
	run->level = dataset_level(run->dataset, run->arena);
	if (run->options->dry_run && !run->dataset->bucket)
		return tell_open_run(run);
	RC_TRY(recover(run->dataset, run->arena, false, &recovery, error));
	if (recovery.finished)
		strings_add(run->arena, &run->warnings, "an earlier run was cut short after its decision; it is finished now");
	for (size_t i = 0; i < recovery.warnings.count; i++)
		strings_add(run->arena, &run->warnings, recovery.warnings.at[i]);
	return RECLOSER_OK;
}

static bool anything_to_write(const struct run *run)
{
	for (size_t i = 0; i < run->part_count; i++)
		if (run->parts[i].outcome == PART_NEW || run->parts[i].outcome == PART_REPLACED)
			return true;
	return false;
}

static recloser_status refuse_nothing_left(const struct run *run, recloser_error *error)
{
	struct strings reasons = {0};
	strings_add(run->arena, &reasons, run->inputs[0].path);
	RC_TRY(quarantine_summary(run->batch, 6, &reasons, error));
	error_set(error, RECLOSER_REFUSED, "batch.nothing_left", "no row is left to load: %llu filtered, %llu quarantined of %llu",
	          (unsigned long long)run->batch->filtered, (unsigned long long)run->batch->quarantined, (unsigned long long)run->batch->rows_in);
	error_where(error, "%s", strings_join(run->arena, &reasons, "\n"));
	return error_hint(error, "nothing was changed; an empty load replaces nothing, and --allow-empty says that it is meant");
}

/* Before the commit: a version whose sources are to be kept is never live without them. */
static recloser_status archive_sources(struct run *run, recloser_error *error)
{
	for (size_t i = 0; i < run->input_count && run->spec->archive_sources; i++)
		RC_TRY(source_archive(run->dataset, run->arena, run->inputs[i].read_path, run->inputs[i].sha256,
		                      staging_directory(run->staging), error));
	return RECLOSER_OK;
}

/* The version that a dry run would have made, unless another writer comes first; a file to be adopted takes a number as well. */
static void number_ahead(struct run *run)
{
	for (size_t i = 0; i < run->part_count; i++) {
		struct run_part *part = &run->parts[i];
		if (part->outcome == PART_NEW || part->outcome == PART_REPLACED)
			part->seq = (part->base ? part->base->seq : 0) + (part->live == LIVE_FOREIGN) + 1;
	}
}

static recloser_status steps(struct run *run, recloser_error *error)
{
	RC_TRY(open_dataset(run, error));                      /* 1 */
	RC_TRY(run_check_config(run, error));
	RC_TRY(run_check_accept(run, error));
	RC_TRY(run_check_backfill(run, error));
	run_progress(run, "hash", 0, 0, 0);
	RC_TRY(run_inputs(run, error));                        /* 2 */
	RC_TRY(run_recall(run, error));
	if (run->repeated)
		return RECLOSER_OK;
	RC_TRY(run_read(run, error));                          /* 3, 4 */
	if (run->batch->part_count == 0 && !run->options->allow_empty)
		return refuse_nothing_left(run, error);
	RC_TRY(run_compare(run, error));                       /* 5 */
	RC_TRY(run_stage(run, error));                         /* 6, 7 */
	if (run->options->dry_run) {
		number_ahead(run);
		return RECLOSER_OK;
	}
	if (anything_to_write(run))
		RC_TRY(archive_sources(run, error));
	if (anything_to_write(run) || run->batch->quarantined)
		RC_TRY(run_commit(run, error));                    /* 8 */
	else
		RC_TRY(run_write_disappeared(run, error));         /* held: what is gone is what one has to look at */
	return RECLOSER_OK;
}

static const char *failure_word(recloser_status status)
{
	switch (status) {
	case RECLOSER_REFUSED: return "refused";
	case RECLOSER_HELD: return "held";
	case RECLOSER_CONFLICT: return "conflict";
	default: return "failed";
	}
}

/* Another writer was first in some partitions, or the end is not durable yet: what was decided keeps its quarantine, and a report
 * that names it. Best effort; the status tells what is wrong already. */
static void remember_decided(struct run *run, json_t *report)
{
	recloser_error ignored = {0};
	if (run_remember(run, report, false, &ignored) != RECLOSER_OK)
		return;
}

/* The run's own files are not all there; what it did stands. */
static recloser_status report_missing(recloser_error *error)
{
	char cause[sizeof error->hint];
	snprintf(cause, sizeof cause, "%s", error->hint);
	error->status = RECLOSER_UNCLEAR;
	return error_hint(error, "what was loaded is live and recorded, only the report of this run could not be kept%s%.900s", *cause ? ": " : "", cause);
}

static recloser_status load(struct arena *arena, const recloser_load_options *options, volatile int *decided, recloser_result **out,
                            recloser_error *error)
{
	struct run *run = arena_alloc(arena, sizeof *run);
	*run = (struct run){.arena = arena, .options = options, .started = clock_monotonic(), .id = clock_run_id(arena), .decided = decided};
	run->ticker = ticker_start(arena, &options->common);
	recloser_status status = steps(run, error);
	bool known = status == RECLOSER_OK || (status == RECLOSER_UNCLEAR && run->commit.number); /* decided, if not yet durable */
	const char *outcome = known ? outcome_of(run) : failure_word(status);
	if (run->dataset)
		recover_warnings(run->dataset, arena, &run->warnings);
	json_t *report = run_report(run, outcome);
	if (status == RECLOSER_OK && !run->repeated && !options->dry_run) {
		status = run_remember(run, report, true, error);
		if (status == RECLOSER_OK)
			status = run_close_window(run, error);
		if (status != RECLOSER_OK)
			status = report_missing(error);
	}
	if (known && !options->dry_run && !run->repeated)
		dataset_keep(run->dataset, arena);
	run_report_store(run, report); /* with the requests that remembered it */
	const char *text = run_report_text(run, outcome, report);
	if (run->staging)
		staging_abandon(run->staging);
	if (status != RECLOSER_OK)
		result_add_error(arena, report, error);
	if (status != RECLOSER_OK && run->commit.number)
		remember_decided(run, report);
	if (run->level && (status != RECLOSER_OK || options->dry_run) && status != RECLOSER_UNCLEAR)
		dataset_unmake(run->dataset, arena, run->level);
	*out = result_new(arena, report, text);
	if (status == RECLOSER_OK && strcmp(outcome, "held") == 0)
		return RECLOSER_HELD;
	return status;
}

static recloser_status guarded(struct arena *arena, const recloser_load_options *options, recloser_result **out, recloser_error *error)
{
	volatile int decided = 0;
	if (setjmp(*arena_guard(arena)) == 0)
		return load(arena, options, &decided, out, error);
	error_set(error, decided ? RECLOSER_UNCLEAR : RECLOSER_IO, "memory", "out of memory");
	return error_hint(error, decided ? "the commit may be decided: run again, the next command finishes it" : "nothing was changed");
}

recloser_status recloser_load(const recloser_load_options *options, recloser_result **out, recloser_error *error)
{
	recloser_error own;
	recloser_error *told = error ? error : &own;
	error_clear(told);
	*out = NULL;
	struct arena *arena = arena_new(NULL);
	if (!arena)
		return error_set(told, RECLOSER_IO, "memory", "out of memory");
	recloser_status status = guarded(arena, options, out, told);
	arena_free(arena);
	return status;
}
