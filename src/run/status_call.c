/* SPDX-License-Identifier: Apache-2.0
 * recloser_status_of and recloser_recover: what the ledger says, and what is to be put in order. */
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "report/result.h"
#include "run/call.h"

static const char *state_word(enum live_state state)
{
	static const char *const words[] = {"none", "sound", "foreign", "missing"};
	return words[state];
}

struct summing {
	struct arena *arena;
	struct dataset *dataset;
	struct text text;
	json_t *partitions;
	uint64_t rows, bytes;
	size_t strange; /* live files that are not what the record says */
};

/* `arena` is for what this partition needs; what is told of it hangs on sum->arena or on its own memory. */
static recloser_status add_partition(struct summing *sum, struct arena *arena, const struct ledger_head *head, recloser_error *error)
{
	const char *partition = head->partition;
	struct record *record;
	enum live_state live;
	RC_TRY(live_brief(sum->dataset, arena, partition, head->number, &record, &live, error));
	if (!record)
		return RECLOSER_OK;
	const json_t *source = json_array_get(json_object_get(record->json, "sources"), 0);
	const char *name = json_get_text(source, "name"), *loaded = record->loaded_at ? record->loaded_at : "";
	text_addf(&sum->text, "  %s   %s rows   %s   seq %" PRId64 "   %.10s   %s%s%s%s\n", *partition ? partition : "(one file)",
	          text_count(arena, record->rows), text_bytes(arena, record->bytes), record->seq, loaded, name ? name : "",
	          live == LIVE_SOUND ? "" : "   live file ", live == LIVE_SOUND ? "" : state_word(live), record->unfinished ? "   not finished" : "");
	json_t *json = json_new_object(arena);
	json_put_text(arena, json, "partition", partition);
	json_put_int(arena, json, "seq", record->seq);
	json_put_text(arena, json, "kind", record->kind);
	json_put_int(arena, json, "rows", (int64_t)record->rows);
	json_put_int(arena, json, "bytes", (int64_t)record->bytes);
	json_put_text(arena, json, "loaded_at", record->loaded_at);
	json_put_text(arena, json, "run", record->run);
	json_put_text(arena, json, "sha256", record->sha256);
	json_put_text(arena, json, "content_fingerprint", record->content_fingerprint);
	json_put_text(arena, json, "live", state_word(live));
	json_put_bool(arena, json, "finished", !record->unfinished);
	json_put_text(arena, json, "target", live_path(sum->dataset, arena, partition));
	json_t *sources = json_object_get(record->json, "sources");
	if (sources)
		json_put(arena, json, "sources", sources);
	json_add(arena, sum->partitions, json);
	sum->rows += record->rows;
	sum->bytes += record->bytes;
	sum->strange += live != LIVE_SOUND;
	return RECLOSER_OK;
}

/* Nothing is read here: of a file that no record describes nobody knows how many rows it has. */
static const char *as_recorded(const struct summing *sum)
{
	if (sum->strange == 0)
		return "";
	return arena_printf(sum->arena, "   by the records: %s live file%s not what its record says, recloser verify reads",
	                    text_count(sum->arena, sum->strange), sum->strange == 1 ? " is" : "s are");
}

static recloser_status status_of(struct arena *arena, const void *given, recloser_result **out, recloser_error *error)
{
	const recloser_common *common = given;
	struct spec *spec;
	struct summing sum = {.arena = arena, .text = text_on(arena)};
	struct ledger_heads heads;
	struct open_run open;
	RC_TRY(call_open(arena, common->spec_path, &spec, &sum.dataset, error));
	RC_TRY(live_heads(sum.dataset, arena, &heads, error));
	sum.partitions = json_new_array(arena);
	for (size_t i = 0; i < heads.count; i++) {
		struct arena *scratch = arena_new(arena);
		recloser_status status = add_partition(&sum, scratch, &heads.at[i], error);
		arena_free(scratch);
		RC_TRY(status);
	}
	open_run_find(sum.dataset, arena, &open);
	size_t count = json_array_size(sum.partitions);
	json_t *json = json_new_object(arena);
	json_put_text(arena, json, "dataset", spec->dataset);
	json_put_text(arena, json, "tree", sum.dataset->tree);
	json_put_int(arena, json, "rows", (int64_t)sum.rows);
	json_put_int(arena, json, "bytes", (int64_t)sum.bytes);
	json_put_int(arena, json, "not_as_recorded", (int64_t)sum.strange);
	json_put_text(arena, json, "open_run", open.run);
	json_put(arena, json, "partitions", sum.partitions);
	const char *text = count == 0 ? arena_printf(arena, "%s  nothing loaded yet (%s)\n", spec->dataset, sum.dataset->tree)
	    : arena_printf(arena, "%s  %zu partition%s   %s rows   %s%s\n%s", spec->dataset, count, count == 1 ? "" : "s",
	                   text_count(arena, sum.rows), text_bytes(arena, sum.bytes), as_recorded(&sum), sum.text.at);
	if (open.run)
		text = arena_printf(arena, "%s  %s\n", text, open_run_told(arena, &open));
	*out = result_new(arena, json, text);
	return RECLOSER_OK;
}

recloser_status recloser_status_of(const recloser_common *common, recloser_result **out, recloser_error *error)
{
	return call_run(status_of, common, out, error);
}

/* ---- recover ---- */

struct recovering {
	const recloser_common *common;
	bool rebuild;
};

static void list(struct arena *arena, struct text *text, json_t *json, const char *name, const char *what, const struct strings *items)
{
	json_put(arena, json, name, result_strings(arena, items->at, items->count));
	for (size_t i = 0; i < items->count; i++)
		text_addf(text, "  %s: %s\n", what, *items->at[i] ? items->at[i] : "(one file)");
}

static recloser_status recover_now(struct arena *arena, const void *given, recloser_result **out, recloser_error *error)
{
	const struct recovering *options = given;
	struct spec *spec;
	struct dataset *dataset;
	struct recovery found = {0};
	RC_TRY(call_open(arena, options->common->spec_path, &spec, &dataset, error));
	if (options->rebuild)
		RC_TRY(recover_rebuild(dataset, arena, &found, error));
	else
		RC_TRY(recover(dataset, arena, true, &found, error));
	json_t *json = json_new_object(arena);
	struct text text = text_on(arena);
	json_put_text(arena, json, "dataset", spec->dataset);
	json_put_int(arena, json, "finished_commit", found.finished);
	if (found.finished)
		text_addf(&text, "  commit %" PRId64 " was decided but cut short; it is finished now\n", found.finished);
	list(arena, &text, json, "finished_partitions", "finished", &found.finished_partitions);
	list(arena, &text, json, "swept", "staging of a dead run removed", &found.swept);
	list(arena, &text, json, "living", "a run that is still going on", &found.living);
	list(arena, &text, json, "foreign", "not ours, left alone", &found.foreign);
	list(arena, &text, json, "adoptable", "bytes without a record, adopted by the next load", &found.adoptable);
	list(arena, &text, json, "missing", "live file missing", &found.missing);
	list(arena, &text, json, "warnings", "warning", &found.warnings);
	*out = result_new(arena, json, arena_printf(arena, "%s\n%s", spec->dataset, text.length ? text.at : "  nothing to recover\n"));
	return RECLOSER_OK;
}

recloser_status recloser_recover(const recloser_common *common, bool rebuild, recloser_result **out, recloser_error *error)
{
	struct recovering options = {common, rebuild};
	return call_run(recover_now, &options, out, error);
}
