/* SPDX-License-Identifier: Apache-2.0
 * Step 9: what the run did, as JSON and as text. The numbers add up: rows_in is the sum of what became of the rows. */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "report/result.h"
#include "run/run.h"

enum { LINES_SHOWN = 12 };

const char *part_outcome_word(enum part_outcome outcome)
{
	static const char *const words[] = {"new", "replaced", "unchanged", "held", "frozen", "conflict"};
	return words[outcome];
}

void run_progress(const struct run *run, const char *phase, uint64_t rows, uint64_t parts, uint64_t parts_total)
{
	ticker_tell(run->ticker, &(recloser_progress){.phase = phase, .rows = rows, .partitions = parts, .partitions_total = parts_total});
}

/* Held are good rows that did not go live, whatever kept them: a policy, another writer, or the refusal of the whole run. */
static void add_up(struct run *run, bool wrote)
{
	const struct batch *batch = run->batch;
	run->rows_written = run->rows_unchanged = run->held = run->frozen = 0;
	if (!wrote) {
		run->carried = 0; /* they are where they were */
		run->held = batch ? batch->rows_in - batch->superseded - batch->collapsed - batch->filtered - batch->quarantined : 0;
		return;
	}
	for (size_t i = 0; i < run->part_count; i++) {
		const struct run_part *part = &run->parts[i];
		uint64_t rows = part->part.batch_part->rows;
		switch (part->outcome) {
		case PART_NEW:
		case PART_REPLACED:
			run->rows_written += rows;
			break;
		case PART_UNCHANGED:
			run->rows_unchanged += rows;
			break;
		case PART_HELD:
		case PART_CONFLICT:
			run->held += rows;
			break;
		case PART_FROZEN:
			run->frozen += rows;
			break;
		}
	}
}

static json_t *part_json(struct run *run, const struct run_part *part)
{
	struct arena *arena = run->arena;
	const struct part *p = &part->part;
	bool wrote = part->outcome == PART_NEW || part->outcome == PART_REPLACED;
	json_t *json = json_new_object(arena);
	json_put_text(arena, json, "partition", p->batch_part->path);
	json_put_text(arena, json, "outcome", part_outcome_word(part->outcome));
	json_put_int(arena, json, "rows_in", (int64_t)p->batch_part->rows_in);
	json_put_int(arena, json, "rows_written", wrote ? (int64_t)p->batch_part->rows : 0);
	json_put_int(arena, json, "rows", (int64_t)p->batch_part->rows);
	json_put_int(arena, json, "superseded", (int64_t)p->batch_part->superseded);
	json_put_int(arena, json, "collapsed", (int64_t)p->batch_part->collapsed);
	json_put_int(arena, json, "disappeared", (int64_t)part->gone);
	json_put_int(arena, json, "new_keys", (int64_t)part->fresh);
	json_put_int(arena, json, "revised", (int64_t)part->revised);
	json_put_int(arena, json, "carried", (int64_t)part->carried);
	if (part->changed)
		json_put(arena, json, "changed", part->changed);
	if (part->reference && !part->reference->own)
		json_put_text(arena, json, "compared_with", part->reference->path);
	json_put_text(arena, json, "target", live_path(run->dataset, arena, p->batch_part->path));
	json_put_int(arena, json, "seq", part->seq);
	json_put_text(arena, json, "sha256", wrote ? p->sha256 : part->base ? part->base->sha256 : NULL);
	json_put_int(arena, json, "bytes", wrote ? (int64_t)p->bytes : part->base ? (int64_t)part->base->bytes : 0);
	json_put_text(arena, json, "content_fingerprint", p->content.fingerprint);
	if (part->totals)
		json_put(arena, json, "totals", part->totals);
	if (part->guards)
		json_put(arena, json, "guards", part->guards);
	if (part->held_by)
		json_put_text(arena, json, "held_by", part->held_by);
	if (part->outcome == PART_FROZEN)
		json_put_bool(arena, json, "differs", part->differs);
	return json;
}

static void put_counts(struct run *run, json_t *report)
{
	struct arena *arena = run->arena;
	const struct batch *batch = run->batch;
	const struct { const char *name; uint64_t value; } counts[] = {
		{"rows_in", batch ? batch->rows_in : 0}, {"rows_written", run->rows_written}, {"rows_unchanged", run->rows_unchanged},
		{"superseded", batch ? batch->superseded : 0}, {"collapsed", batch ? batch->collapsed : 0}, {"filtered", batch ? batch->filtered : 0},
		{"quarantined", batch ? batch->quarantined : 0}, {"held", run->held}, {"frozen", run->frozen}, {"ties", batch ? batch->ties : 0},
		{"disappeared", run->disappeared}, {"moved", run->moved}, {"carried", run->carried},
	};
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		json_put_int(arena, report, counts[i].name, (int64_t)counts[i].value);
}

/* A publication of ten years has hundreds of months that are frozen: that is one thing to say, not hundreds. */
static void warn_frozen(struct run *run)
{
	enum { SHOWN = 3 };
	struct strings differ = {0}, named = {0};
	for (size_t i = 0; i < run->part_count; i++)
		if (run->parts[i].outcome == PART_FROZEN && run->parts[i].differs)
			strings_add(run->arena, &differ, run->parts[i].part.batch_part->path);
	for (size_t i = 0; i < differ.count && i < SHOWN; i++)
		strings_add(run->arena, &named, differ.at[i]);
	if (differ.count)
		run_warn(run, arena_printf(run->arena, "%zu partition%s before the freshness window differ%s in the source: %s%s; --backfill loads %s",
		                           differ.count, differ.count == 1 ? "" : "s", differ.count == 1 ? "s" : "",
		                           strings_join(run->arena, &named, ", "), differ.count > SHOWN ? ", ..." : "",
		                           differ.count == 1 ? "it" : "them"));
}

static void put_warnings(struct run *run, json_t *report)
{
	warn_frozen(run);
	if (run->batch)
		for (size_t i = 0; i < run->batch->warnings.count; i++)
			if (!strings_has(&run->warnings, run->batch->warnings.at[i]))
				strings_add(run->arena, &run->warnings, run->batch->warnings.at[i]);
	json_put(run->arena, report, "warnings", result_strings(run->arena, run->warnings.at, run->warnings.count));
}

/* What the object store was asked for so far; nothing on a file system. */
void run_report_store(const struct run *run, json_t *report)
{
	struct arena *arena = run->arena;
	const struct bucket *bucket = run->dataset ? run->dataset->bucket : NULL;
	if (!bucket)
		return;
	json_t *store = json_new_object(arena);
	json_put_text(arena, store, "server", bucket->server);
	json_put_int(arena, store, "requests", (int64_t)bucket->counts->requests);
	json_put_int(arena, store, "retries", (int64_t)bucket->counts->retries);
	json_put_int(arena, store, "bytes_sent", (int64_t)bucket->counts->bytes_sent);
	json_put_int(arena, store, "bytes_received", (int64_t)bucket->counts->bytes_received);
	json_put(arena, report, "store", store);
}

/* A run skipped whole repeats the figures of the run it equals, with nothing written. */
static json_t *repeated_report(struct run *run)
{
	struct arena *arena = run->arena;
	json_t *report = json_on(arena, json_deep_copy(run->repeated));
	json_t *partitions = json_object_get(report, "partitions");
	int64_t rows = json_get_int(report, "rows_written", 0) + json_get_int(report, "rows_unchanged", 0);
	json_put_text(arena, report, "run", run->id);
	json_put_text(arena, report, "outcome", "unchanged");
	json_put_text(arena, report, "equals_run", run->equals_run);
	json_put_int(arena, report, "rows_written", 0);
	json_put_int(arena, report, "rows_unchanged", rows);
	for (size_t i = 0; i < json_array_size(partitions); i++) {
		json_t *part = json_array_get(partitions, i);
		json_put_text(arena, part, "outcome", "unchanged");
		json_put_int(arena, part, "rows_written", 0);
	}
	json_put(arena, report, "warnings", json_new_array(arena));
	run_report_store(run, report);
	return report;
}

json_t *run_report(struct run *run, const char *outcome)
{
	struct arena *arena = run->arena;
	if (run->repeated)
		return repeated_report(run);
	bool wrote = strcmp(outcome, "refused") != 0 && strcmp(outcome, "failed") != 0;
	add_up(run, wrote);
	json_t *report = json_new_object(arena), *partitions = json_new_array(arena), *sources = json_new_array(arena);
	json_put_text(arena, report, "run", run->id);
	json_put_text(arena, report, "dataset", run->spec ? run->spec->dataset : NULL);
	json_put_text(arena, report, "outcome", outcome);
	put_counts(run, report);
	json_put(arena, report, "absent", result_strings(arena, run->absent.at, run->absent.count));
	json_put(arena, report, "accepted", result_strings(arena, run->accepted.at, run->accepted.count));
	for (size_t i = 0; i < run->part_count && wrote; i++)
		json_add(arena, partitions, part_json(run, &run->parts[i]));
	json_put(arena, report, "partitions", partitions);
	put_warnings(run, report);
	for (size_t i = 0; i < run->input_count; i++) {
		json_t *source = json_new_object(arena);
		json_put_text(arena, source, "name", run->inputs[i].name);
		json_put_text(arena, source, "path", run->inputs[i].path);
		json_put_text(arena, source, "source", run->inputs[i].source ? run->inputs[i].source->name : NULL);
		json_put_text(arena, source, "sha256", run->inputs[i].sha256);
		if (run->inputs[i].etag)
			json_put_text(arena, source, "etag", run->inputs[i].etag);
		json_put_int(arena, source, "bytes", (int64_t)run->inputs[i].bytes);
		json_add(arena, sources, source);
	}
	if (run->lookup) {
		json_t *source = json_new_object(arena);
		json_put_text(arena, source, "name", run->lookup->name);
		json_put_text(arena, source, "path", run->lookup->path);
		json_put_text(arena, source, "role", "lookup");
		json_put_text(arena, source, "sha256", run->lookup->sha256);
		json_put_int(arena, source, "bytes", (int64_t)run->lookup->bytes);
		json_add(arena, sources, source);
	}
	json_put(arena, report, "sources", sources);
	json_put_text(arena, report, "quarantine", run->quarantine_path);
	json_put_text(arena, report, "disappeared_file", run->disappeared_path);
	bool done = strcmp(outcome, "loaded") == 0 || strcmp(outcome, "unchanged") == 0 || strcmp(outcome, "held") == 0;
	json_put_text(arena, report, "loaded_at", run->commit.loaded_at ? run->commit.loaded_at : done ? clock_text(arena, clock_now_us()) : NULL);
	json_put_int(arena, report, "commit", run->commit.number);
	json_put_text(arena, report, "spec_sha256", run->spec ? run->spec->text_sha256 : NULL);
	json_put_text(arena, report, "engine", engine_version());
	json_put_text(arena, report, "recloser", RECLOSER_VERSION);
	run_report_store(run, report);
	return report;
}

/* ---- text ---- */

static void head_line(struct run *run, struct text *out)
{
	text_addf(out, "%s", run->spec->dataset);
	bool one = run->input_count > 0 && run->spec->source_count > 1; /* source, of several: its name says whose rows these are */
	for (size_t i = 0; i < run->input_count && one; i++)
		one = run->inputs[i].source && run->inputs[i].source->name && run->inputs[i].source == run->inputs[0].source;
	if (one)
		text_addf(out, "  %s", run->inputs[0].source->name);
	if (run->batch)
		text_addf(out, "  %s row%s from %s", text_count(run->arena, run->batch->rows_in), run->batch->rows_in == 1 ? "" : "s",
		          run->input_count ? run->inputs[0].name : "nothing");
	if (run->input_count > 1)
		text_addf(out, " and %zu more file%s", run->input_count - 1, run->input_count == 2 ? "" : "s");
	text_add(out, "\n");
}

/* Which columns changed how often, the most changed first: the news of a publication in one line. */
static void changed_line(struct run *run, const struct run_part *part, struct text *out)
{
	enum { SHOWN = 6 };
	size_t count = part->changed ? json_object_size(part->changed) : 0;
	if (count == 0)
		return;
	text_addf(out, "    changed%s%s:", part->reference->own ? "" : " against ", part->reference->own ? "" : part->reference->path);
	int64_t below = INT64_MAX;
	for (size_t said = 0; said < SHOWN && said < count;) {
		int64_t most = 0;
		const char *name;
		json_t *value;
		json_object_foreach(part->changed, name, value)
			if (json_integer_value(value) > most && json_integer_value(value) < below)
				most = json_integer_value(value);
		json_object_foreach(part->changed, name, value)
			if (json_integer_value(value) == most && said < SHOWN)
				text_addf(out, "%s %s %s", said++ ? "," : "", text_count(run->arena, (uint64_t)most), name);
		below = most;
	}
	text_add(out, count > SHOWN ? ", ...\n" : "\n");
}

static void part_line(struct run *run, const struct run_part *part, struct text *out)
{
	const struct part *p = &part->part;
	text_addf(out, "  %s   %s   %s row%s", *p->batch_part->path ? p->batch_part->path : "(one file)", part_outcome_word(part->outcome),
	          text_count(run->arena, p->batch_part->rows), p->batch_part->rows == 1 ? "" : "s");
	if (part->outcome == PART_NEW || part->outcome == PART_REPLACED)
		text_addf(out, "   %s", text_bytes(run->arena, p->bytes));
	if (part->seq)
		text_addf(out, "   seq %" PRId64, part->seq);
	if (part->gone || part->fresh || part->revised)
		text_addf(out, "   %s gone, %s new, %s revised", text_count(run->arena, part->gone), text_count(run->arena, part->fresh),
		          text_count(run->arena, part->revised));
	if (part->held_by)
		text_addf(out, "   by %s", part->held_by);
	text_add(out, "\n");
	changed_line(run, part, out);
}

static void part_lines(struct run *run, struct text *out)
{
	size_t counts[6] = {0};
	for (size_t i = 0; i < run->part_count; i++) {
		counts[run->parts[i].outcome]++;
		if (i < LINES_SHOWN)
			part_line(run, &run->parts[i], out);
	}
	if (run->part_count <= LINES_SHOWN)
		return;
	text_addf(out, "  ... %s partitions in all:", text_count(run->arena, run->part_count));
	for (size_t i = 0, said = 0; i < 6; i++)
		if (counts[i])
			text_addf(out, "%s %s %s", said++ ? "," : "", text_count(run->arena, counts[i]), part_outcome_word((enum part_outcome)i));
	text_add(out, "\n");
}

static void sum_line(struct run *run, bool dry, struct text *out)
{
	const struct batch *batch = run->batch;
	const struct { uint64_t value; const char *word; } terms[] = {
		{run->rows_written, dry ? "to be written" : "written"}, {run->rows_unchanged, "unchanged"}, {batch->superseded, "superseded"},
		{batch->collapsed, "collapsed"}, {batch->filtered, "filtered"}, {batch->quarantined, "quarantined"}, {run->held, "held"},
		{run->frozen, "frozen"},
	};
	text_addf(out, "%s in", text_count(run->arena, batch->rows_in));
	if (run->carried)
		text_addf(out, " + %s carried", text_count(run->arena, run->carried));
	text_add(out, " =");
	size_t said = 0;
	for (size_t i = 0; i < sizeof terms / sizeof *terms; i++)
		if (terms[i].value)
			text_addf(out, "%s %s %s", said++ ? " +" : "", text_count(run->arena, terms[i].value), terms[i].word);
	if (!said)
		text_add(out, " 0");
	text_addf(out, "   %.1f s", clock_monotonic() - run->started);
	if (run->dataset->bucket)
		text_addf(out, "   %s requests, %s sent", text_count(run->arena, run->dataset->bucket->counts->requests),
		          text_bytes(run->arena, run->dataset->bucket->counts->bytes_sent));
	text_add(out, "\n");
}

static const char *date_of(struct arena *arena, const char *loaded_at)
{
	return loaded_at ? arena_strndup(arena, loaded_at, strcspn(loaded_at, "T")) : "an earlier day";
}

const char *run_report_text(struct run *run, const char *outcome, const json_t *report)
{
	struct text out = text_on(run->arena);
	if (!run->spec)
		return "";
	if (run->repeated) {
		text_addf(&out, "%s  unchanged: %s loaded on %s as run %s   %.2f s\n", run->spec->dataset,
		          run->input_count > 1 ? "these files were" : "this file was", date_of(run->arena, json_get_text(report, "loaded_at")),
		          run->equals_run, clock_monotonic() - run->started);
		return out.at;
	}
	if (!run->batch || strcmp(outcome, "refused") == 0 || strcmp(outcome, "failed") == 0)
		return "";
	head_line(run, &out);
	part_lines(run, &out);
	struct strings lines = {0};
	recloser_error ignored = {0};
	if (quarantine_summary(run->batch, 6, &lines, &ignored) == RECLOSER_OK)
		for (size_t i = 0; i < lines.count; i++)
			text_addf(&out, "  %s\n", lines.at[i]);
	if (run->quarantine_path)
		text_addf(&out, "  quarantine: %s/%s\n", run->dataset->control, run->quarantine_path);
	if (run->disappeared_path)
		text_addf(&out, "  %s key%s disappeared: %s/%s\n", text_count(run->arena, run->disappeared), run->disappeared == 1 ? "" : "s",
		          run->dataset->control, run->disappeared_path);
	for (size_t i = 0; i < run->warnings.count; i++)
		text_addf(&out, "  warning: %s\n", run->warnings.at[i]);
	for (size_t i = 0; i < run->absent.count && i < LINES_SHOWN; i++)
		text_addf(&out, "  no longer in the source: %s\n", *run->absent.at[i] ? run->absent.at[i] : "(one file)");
	sum_line(run, strcmp(outcome, "dry_run") == 0, &out);
	return out.at;
}
