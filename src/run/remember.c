/* SPDX-License-Identifier: Apache-2.0
 * Unchanged at the level of a run: the same bytes, the same meaning of the spec, the same words on the command line and the
 * same engine as a run that held nothing back, and every partition it made or found equal is still live. Its cost is the hash
 * of the input and a look at the records; no engine is started and nothing is written.
 *
 * sources/<fingerprint>.json and inputs/<sha256>.json are only indexes into runs/: they may be lost. */
#include <string.h>

#include "base/json.h"
#include "run/run.h"

static bool mentions_names(const struct spec *spec)
{
	for (size_t s = 0; s < spec->source_count; s++)
		for (size_t b = 0; b < spec->sources[s].block_count; b++) {
			const struct block *block = &spec->sources[s].blocks[b];
			if (block->skip && strstr(block->skip, "source_"))
				return true;
			for (size_t c = 0; c < block->column_count; c++) {
				const struct column *column = &block->columns[c];
				if (column->origin == ORIGIN_NAME || column->origin == ORIGIN_PATH
				    || (column->sql && strstr(column->sql, "source_")) || (column->check && strstr(column->check, "source_")))
					return true;
			}
		}
	return false;
}

static json_t *words(struct arena *arena, const char *const *at, size_t count)
{
	json_t *array = json_new_array(arena);
	for (size_t i = 0; i < count; i++)
		json_add_text(arena, array, at[i]);
	return array;
}

static const char *digest_of(struct arena *arena, const json_t *all)
{
	char *hex = arena_alloc(arena, SHA256_HEX);
	const char *text = json_compact(arena, all);
	sha256_of(text, strlen(text), hex);
	return hex;
}

static void take_fingerprints(struct run *run)
{
	struct arena *arena = run->arena;
	const recloser_load_options *options = run->options;
	bool names = mentions_names(run->spec);
	json_t *all = json_new_object(arena), *inputs = json_new_array(arena), *settings = json_new_array(arena);
	json_put_text(arena, all, "recloser", RECLOSER_VERSION);
	json_put_text(arena, all, "engine", engine_version());
	json_put_text(arena, all, "spec", run->spec->meaning);
	for (size_t i = 0; i < run->input_count; i++) {
		json_t *input = json_new_object(arena);
		json_put_text(arena, input, "sha256", run->inputs[i].sha256);
		json_put_text(arena, input, "source", run->inputs[i].source->name);
		if (names)
			json_put_text(arena, input, "path", run->inputs[i].path);
		json_add(arena, inputs, input);
	}
	json_put(arena, all, "inputs", inputs);
	for (size_t i = 0; i < options->setting_count; i++)
		json_add_text(arena, settings, arena_printf(arena, "%s=%s", options->settings[i].column, options->settings[i].value));
	json_put(arena, all, "settings", settings);
	if (run->lookup)
		json_put_text(arena, all, "lookup", run->lookup->sha256);
	run->attempt = digest_of(arena, all);
	json_put(arena, all, "only", words(arena, options->only, options->only_count));
	json_put(arena, all, "accept", words(arena, options->accept, options->accept_count));
	json_put_text(arena, all, "from", options->backfill_from);
	json_put_text(arena, all, "to", options->backfill_to);
	run->fingerprint = digest_of(arena, all);
}

recloser_status run_read_json(struct run *run, const char *relative, json_t **out, recloser_error *error)
{
	char *bytes;
	size_t count;
	*out = NULL;
	RC_TRY(control_read(run->dataset, run->arena, relative, &bytes, &count, error));
	return bytes ? json_parse(run->arena, bytes, count, relative, out, error) : RECLOSER_OK;
}

/* Is every partition of the earlier run what that run left? */
static recloser_status still_live(struct run *run, const json_t *report, bool *out, recloser_error *error)
{
	const json_t *partitions = json_object_get(report, "partitions");
	size_t count = json_array_size(partitions);
	struct version_at *at = arena_array(run->arena, count + 1, sizeof *at);
	for (size_t i = 0; i < count; i++) {
		const json_t *part = json_array_get(partitions, i);
		const char *partition = json_get_text(part, "partition");
		at[i] = (struct version_at){partition ? partition : "", json_get_int(part, "seq", -1)};
	}
	return versions_live(run->dataset, run->arena, at, count, out, error);
}

recloser_status run_recall(struct run *run, recloser_error *error)
{
	take_fingerprints(run);
	if (run->options->force || run->options->dry_run)
		return RECLOSER_OK;
	json_t *index, *report;
	RC_TRY(run_read_json(run, arena_printf(run->arena, "sources/%s.json", run->fingerprint), &index, error));
	const char *earlier = index ? json_get_text(index, "run") : NULL;
	if (!earlier)
		return RECLOSER_OK;
	RC_TRY(run_read_json(run, arena_printf(run->arena, "runs/%s.json", earlier), &report, error));
	if (!report || !json_get_bool(report, "complete", false))
		return RECLOSER_OK;
	bool live;
	RC_TRY(still_live(run, report, &live, error));
	if (live) {
		run->equals_run = earlier;
		run->repeated = report;
	}
	return RECLOSER_OK;
}

/* For the guard `repeated`: which run has made versions of these bytes last. The report gets a second name, which costs no sync;
 * in a bucket the run's stands in known.json. */
static void index_inputs(struct run *run, const char *report)
{
	recloser_error ignored = {0};
	bool wrote = false;
	for (size_t i = 0; i < run->part_count; i++)
		wrote |= run->parts[i].outcome == PART_NEW || run->parts[i].outcome == PART_REPLACED;
	for (size_t i = 0; i < run->input_count && wrote; i++)
		if (control_alias(run->dataset, run->arena, report, arena_printf(run->arena, "inputs/%s.json", run->inputs[i].sha256), &ignored) != RECLOSER_OK)
			return;
}

recloser_status run_remember(struct run *run, json_t *report, bool through, recloser_error *error)
{
	struct arena *arena = run->arena;
	bool complete = through && run->held == 0 && run->frozen == 0 && run->part_count > 0;
	for (size_t i = 0; i < run->part_count; i++)
		complete &= run->parts[i].outcome == PART_NEW || run->parts[i].outcome == PART_REPLACED || run->parts[i].outcome == PART_UNCHANGED;
	json_put_bool(arena, report, "complete", complete);
	const char *text = json_text(arena, report);
	const char *name = arena_printf(arena, "runs/%s.json", run->id);
	RC_TRY(control_write(run->dataset, arena, name, text, strlen(text), error));
	index_inputs(run, name);
	if (!complete)
		return RECLOSER_OK;
	json_t *index = json_new_object(arena);
	json_put_text(arena, index, "run", run->id);
	text = json_text(arena, index);
	return control_write(run->dataset, arena, arena_printf(arena, "sources/%s.json", run->fingerprint), text, strlen(text), error);
}
