/* SPDX-License-Identifier: Apache-2.0
 * Step 5: each partition against its live version. Equal content is unchanged and costs no encoding; otherwise the schema must
 * agree (schema.c), keys are counted against the reference (keys.c), and the guards are asked (guards.c). */
#include <inttypes.h>
#include <string.h>

#include "base/hive.h"
#include "base/json.h"
#include "run/run.h"

static const char *shown(const struct run_part *part)
{
	const char *path = part->part.batch_part->path;
	return *path ? path : "the one partition";
}

/* ---- one partition ---- */

/* A fingerprint of another kind, or none, is made again from the file, which is proved to be the record's. */
static recloser_status base_fingerprint(struct run *run, struct run_part *part, const char **out, recloser_error *error)
{
	*out = part->base->content_fingerprint;
	if (*out && text_starts(*out, "c1:"))
		return RECLOSER_OK;
	struct part_verdict verdict = {0};
	const char *file;
	RC_TRY(version_file(run->dataset, run->arena, part->base, &file, error));
	struct part_check check = {.engine = run->engine, .spec = run->spec, .path = part->part.batch_part->path, .rows = -1, .file = file,
	                           .crs_id = run->format.schema.crs_id, .has_geometry = run->batch->has_geometry};
	RC_TRY(part_verify(run->arena, &check, &verdict, error));
	*out = verdict.faults.count ? "" : arena_strdup(run->arena, verdict.content.fingerprint);
	return RECLOSER_OK;
}

/* Readers of a folder may take any file in it for data. */
static recloser_status warn_of_neighbours(struct run *run, const struct run_part *part, recloser_error *error)
{
	struct strings names = {0};
	RC_TRY(live_neighbours(run->dataset, run->arena, part->part.batch_part->path, &names, error));
	if (names.count)
		run_warn(run, arena_printf(run->arena, "%s: %s beside part.parquet %s not recloser's; left alone, but readers may take %s for data", shown(part),
		                       strings_join(run->arena, &names, ", "), names.count == 1 ? "is" : "are", names.count == 1 ? "it" : "them"));
	return RECLOSER_OK;
}

/* The live version of this partition as it stands. */
recloser_status run_locate(struct run *run, struct run_part *part, recloser_error *error)
{
	const char *path = part->part.batch_part->path;
	RC_TRY(live_newest(run->dataset, run->arena, path, &part->base, &part->live, error));
	part->gone = part->fresh = part->revised = 0;
	part->reference = NULL;
	part->changed = part->totals = part->guards = NULL;
	part->held_by = NULL;
	part->accepted = (struct strings){0};
	part->seq = part->base ? part->base->seq : 0;
	part->outcome = part->base || part->live == LIVE_FOREIGN ? PART_REPLACED : PART_NEW;
	return RECLOSER_OK;
}

static void say_of_live(struct run *run, const struct run_part *part)
{
	if (part->live == LIVE_FOREIGN)
		run_warn(run, arena_printf(run->arena, "%s: the live file is not one that recloser wrote; it is archived and recorded as adopted", shown(part)));
	if (part->live == LIVE_MISSING)
		run_warn(run, arena_printf(run->arena, "%s: the live file of seq %" PRId64 " is missing", shown(part), part->base->seq));
}

/* A version that recloser did not write (adopted, or restored after that) may have a record without columns: the file tells.
 * Where it has no key there is nothing to compare. */
static recloser_status refer(struct run *run, struct run_part *part, const struct reference *to, recloser_error *error)
{
	struct arena *arena = run->arena;
	struct reference *reference = arena_alloc(arena, sizeof *reference);
	*reference = *to;
	RC_TRY(version_file(run->dataset, arena, reference->record, &reference->file, error));
	reference->schema = json_object_get(reference->record->json, "schema");
	if (json_array_size(reference->schema) == 0)
		reference->schema = run_columns_of(run, reference->file);
	if (reference_has(reference, run->spec->key_column))
		part->reference = reference;
	else
		run_warn(run, arena_printf(arena, "%s: seq %" PRId64 " has no column %s; its keys can't be compared", shown(part),
		                           reference->record->seq, run->spec->key_column));
	return RECLOSER_OK;
}

recloser_status run_own_reference(struct run *run, struct run_part *part, recloser_error *error)
{
	const struct batch_part *batch_part = part->part.batch_part;
	return refer(run, part, &(struct reference){.path = batch_part->path, .values = batch_part->values, .record = part->base, .own = true}, error);
}

static recloser_status series_reference(struct run *run, struct run_part *part, recloser_error *error)
{
	const char *path, **values;
	struct record *record;
	enum live_state live;
	RC_TRY(run_find_before(run, part->part.batch_part, &path, &values, error));
	if (!path)
		return RECLOSER_OK;
	RC_TRY(live_newest(run->dataset, run->arena, path, &record, &live, error));
	if (live != LIVE_SOUND)
		return RECLOSER_OK;
	return refer(run, part, &(struct reference){.path = path, .values = values, .record = record}, error);
}

/* Is there something to do? Looks at the record and at the content, at no row. */
static recloser_status recognise(struct run *run, struct run_part *part, bool *changed, recloser_error *error)
{
	const char *fingerprint = "";
	*changed = false;
	if (!run->options->dry_run && !run->window_start) /* what is frozen is neither read nor put */
		live_expect(run->dataset, part->part.batch_part->path, part->part.content.fingerprint);
	RC_TRY(run_locate(run, part, error));
	RC_TRY(warn_of_neighbours(run, part, error));
	say_of_live(run, part);
	bool sound = part->base && part->live == LIVE_SOUND;
	if (sound)
		RC_TRY(base_fingerprint(run, part, &fingerprint, error));
	bool equal = strcmp(fingerprint, part->part.content.fingerprint) == 0;
	if (run_is_frozen(run, part)) {
		part->outcome = PART_FROZEN;
		part->differs = !equal;
		return RECLOSER_OK;
	}
	*changed = !sound || !equal;
	if (!*changed)
		part->outcome = PART_UNCHANGED;
	return RECLOSER_OK;
}

/* The rows of a partition that differs against those of its reference. */
static recloser_status ask(struct run *run, struct run_part *part, recloser_error *error)
{
	bool sound = part->base && part->live == LIVE_SOUND;
	if (!sound && !part->base)
		RC_TRY(series_reference(run, part, error));
	RC_TRY(run_check_schema(run, part, error));
	if (sound)
		RC_TRY(run_own_reference(run, part, error));
	if (part->reference)
		RC_TRY(run_count_keys(run, part, error));
	return run_guard_part(run, part, error);
}

static recloser_status judge(struct run *run, struct run_part *part, recloser_error *error)
{
	run->saying = &part->said;
	recloser_status status = ask(run, part, error);
	run->saying = NULL;
	return status;
}

recloser_status run_compare_part(struct run *run, struct run_part *part, recloser_error *error)
{
	bool changed;
	RC_TRY(recognise(run, part, &changed, error));
	return changed ? judge(run, part, error) : RECLOSER_OK;
}

static recloser_status compare_all(struct run *run, recloser_error *error)
{
	bool *changed = arena_array(run->arena, run->part_count + 1, sizeof *changed);
	for (size_t i = 0; i < run->part_count; i++)
		RC_TRY(recognise(run, &run->parts[i], &changed[i], error));
	RC_TRY(batch_cluster(run->batch, changed, error));
	for (size_t i = 0; i < run->part_count; i++)
		if (changed[i])
			RC_TRY(judge(run, &run->parts[i], error));
	return RECLOSER_OK;
}

recloser_status run_compare(struct run *run, recloser_error *error)
{
	const json_t *pinned = run->dataset->config ? json_object_get(run->dataset->config, "covering") : NULL;
	run->part_count = run->batch->part_count;
	run->parts = arena_array(run->arena, run->part_count + 1, sizeof *run->parts);
	struct part *parts = arena_array(run->arena, run->part_count + 1, sizeof *parts);
	RC_TRY(run_open_window(run, error));
	RC_TRY(run_carry(run, error));
	RC_TRY(part_format_make(run->batch, json_is_boolean(pinned) ? json_is_true(pinned) : -1, &run->format, error));
	RC_TRY(parts_content(&run->format, parts, error));
	for (size_t i = 0; i < run->part_count; i++)
		run->parts[i].part = parts[i];
	RC_TRY(compare_all(run, error));
	RC_TRY(run_find_absent(run, error));
	RC_TRY(run_guard_moves(run, error));
	return run_note_attempt(run, error);
}
