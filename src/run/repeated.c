/* SPDX-License-Identifier: Apache-2.0
 * Step 5, a file that comes again under another name: last month's, copied and renamed, or loaded with another --set. What a
 * partition column takes from the caller, the spec or the file's name is no word of the rows; so the same bytes that are live with
 * one such value and come with another are one publication twice. inputs/<sha256>.json, an index that may be lost, tells the
 * run that loaded these bytes last. */
#include <string.h>

#include "base/hive.h"
#include "base/json.h"
#include "run/run.h"

/* The rows have no say in it. */
static bool is_told_by(const struct column *column)
{
	switch (column->origin) {
	case ORIGIN_NAME:
	case ORIGIN_PATH:
	case ORIGIN_VALUE:
	case ORIGIN_SET: return true;
	default: return column->sql && strstr(column->sql, "source_");
	}
}

bool run_is_told(const struct spec *spec, const struct source_spec *source, const char *name)
{
	if (spec->publisher_column && strcmp(spec->publisher_column, name) == 0)
		return true;
	for (size_t b = 0; b < source->block_count; b++)
		for (size_t c = 0; c < source->blocks[b].column_count; c++)
			if (strcmp(source->blocks[b].columns[c].name, name) == 0 && is_told_by(&source->blocks[b].columns[c]))
				return true;
	return false;
}

/* The partitions of the run that loaded these bytes last; NULL: none did, as far as is known. */
static recloser_status earlier_partitions(struct run *run, const struct input *input, const json_t **out, recloser_error *error)
{
	json_t *index, *report;
	*out = NULL;
	RC_TRY(run_read_json(run, arena_printf(run->arena, "inputs/%s.json", input->sha256), &index, error));
	report = index;
	if (json_get_text(index, "run") && !json_object_get(index, "partitions"))
		RC_TRY(run_read_json(run, arena_printf(run->arena, "runs/%s.json", json_get_text(index, "run")), &report, error));
	*out = json_object_get(report, "partitions");
	return RECLOSER_OK;
}

/* Of one input, found out when it is first asked for. */
struct repeated {
	bool known;
	bool *told;               /* of each partition column; NULL: of none */
	const json_t *partitions; /* where its bytes have been loaded */
};

static recloser_status get_to_know(struct run *run, const struct input *input, struct repeated *repeated, recloser_error *error)
{
	const struct strings *columns = &run->spec->partition;
	bool any = false;
	if (repeated->known)
		return RECLOSER_OK;
	repeated->known = true;
	bool *told = arena_array(run->arena, columns->count + 1, sizeof *told);
	for (size_t c = 0; c < columns->count; c++)
		any |= told[c] = run_is_told(run->spec, input->source, columns->at[c]);
	if (!any)
		return RECLOSER_OK;
	repeated->told = told;
	return earlier_partitions(run, input, &repeated->partitions, error);
}

static bool same_told(const struct strings *columns, const bool *told, const char **one, const char **other)
{
	for (size_t c = 0; c < columns->count; c++)
		if (told[c] && strcmp(one[c], other[c]) != 0)
			return false;
	return true;
}

/* "month=2025-06" of "state=TX/month=2025-06". */
static const char *told_shown(struct arena *arena, const struct strings *columns, const bool *told, const char **values)
{
	struct strings names = {0};
	const char **shown = arena_array(arena, columns->count + 1, sizeof *shown);
	for (size_t c = 0; c < columns->count; c++)
		if (told[c]) {
			shown[names.count] = values[c];
			strings_add(arena, &names, columns->at[c]);
		}
	return partition_path(arena, &names, shown);
}

/* A partition whose live version came of these bytes under other words than `part`'s. None where one came under the same: the rest
 * of a publication, by another spec or --only. */
static recloser_status find_earlier(struct run *run, const struct run_part *part, const struct input *input, const struct repeated *repeated,
                                    const struct record **out, recloser_error *error)
{
	enum { FILE_LOOKS = 1000, BUCKET_LOOKS = 16 };
	const struct strings *columns = &run->spec->partition;
	int looks = run->dataset->bucket ? BUCKET_LOOKS : FILE_LOOKS;
	*out = NULL;
	for (size_t i = 0; i < json_array_size(repeated->partitions) && looks > 0; i++) {
		const char *path = json_get_text(json_array_get(repeated->partitions, i), "partition");
		const char **values = path ? partition_values(run->arena, columns, path) : NULL;
		bool same = values && same_told(columns, repeated->told, values, part->part.batch_part->values);
		struct record *record;
		if (!values || (*out && !same))
			continue;
		looks--;
		RC_TRY(ledger_newest(run->dataset, run->arena, path, &record, error));
		if (!record || !run_is_source(record, input))
			continue;
		*out = same ? NULL : record;
		if (same)
			return RECLOSER_OK;
	}
	return RECLOSER_OK;
}

static const char *words(struct run *run, const struct run_part *part, const struct input *input, const struct repeated *repeated,
                         const struct record *record)
{
	const struct strings *columns = &run->spec->partition;
	const char **before = partition_values(run->arena, columns, record->partition);
	return arena_printf(run->arena, "%s: these bytes were loaded as %s on %.10s (run %s) and are live there; now they come as %s", input->name,
	                    told_shown(run->arena, columns, repeated->told, before), record->loaded_at ? record->loaded_at : "a day unknown",
	                    record->run ? record->run : "unknown", told_shown(run->arena, columns, repeated->told, part->part.batch_part->values));
}

recloser_status run_guard_repeated(struct run *run, struct run_part *part, recloser_error *error)
{
	const struct guard *guard = &run->spec->repeated;
	const struct batch_part *batch = part->part.batch_part;
	if (guard->policy == POLICY_ALLOW || part->base || part->live != LIVE_NONE || !run->dataset->config)
		return RECLOSER_OK;
	if (!run->repetitions)
		run->repetitions = arena_array(run->arena, run->input_count, sizeof *run->repetitions);
	for (size_t i = 0; i < batch->input_count; i++) {
		const struct input *input = batch->inputs[i];
		struct repeated *repeated = &run->repetitions[input - run->inputs];
		const struct record *record;
		RC_TRY(get_to_know(run, input, repeated, error));
		if (!repeated->partitions)
			continue;
		RC_TRY(find_earlier(run, part, input, repeated, &record, error));
		if (record)
			return run_apply_policy(run, part, "repeated", guard->policy, words(run, part, input, repeated, record), error);
	}
	return RECLOSER_OK;
}
