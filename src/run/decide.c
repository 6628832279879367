/* SPDX-License-Identifier: Apache-2.0
 * Step 8: the records of what was staged and verified, and the commit. */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "report/result.h"
#include "run/run.h"

static bool to_write(const struct run_part *part)
{
	return part->outcome == PART_NEW || part->outcome == PART_REPLACED;
}

/* ---- records ---- */

static json_t *schema_json(struct run *run)
{
	json_t *schema = json_new_array(run->arena);
	for (size_t i = 0; i < run->batch->column_count; i++) {
		json_t *column = json_new_object(run->arena);
		json_put_text(run->arena, column, "name", run->batch->columns[i].name);
		json_put_text(run->arena, column, "type", run->batch->columns[i].type);
		if (run->batch->columns[i].mark)
			json_put_bool(run->arena, column, "mark", true);
		json_add(run->arena, schema, column);
	}
	return schema;
}

/* The files that gave this partition rows, of all that the run read. */
static json_t *sources_json(struct run *run, const struct batch_part *part)
{
	json_t *sources = json_new_array(run->arena);
	for (size_t i = 0; i < part->input_count; i++) {
		const struct input *input = part->inputs[i];
		json_t *source = json_new_object(run->arena);
		json_put_text(run->arena, source, "name", input->name);
		json_put_text(run->arena, source, "source", input->source->name);
		json_put_text(run->arena, source, "sha256", input->sha256);
		if (input->etag)
			json_put_text(run->arena, source, "etag", input->etag);
		json_put_int(run->arena, source, "bytes", (int64_t)input->bytes);
		json_add(run->arena, sources, source);
	}
	if (run->lookup) {
		json_t *source = json_new_object(run->arena);
		json_put_text(run->arena, source, "name", run->lookup->name);
		json_put_text(run->arena, source, "role", "lookup");
		json_put_text(run->arena, source, "sha256", run->lookup->sha256);
		json_put_int(run->arena, source, "bytes", (int64_t)run->lookup->bytes);
		json_add(run->arena, sources, source);
	}
	return sources;
}

/* Complete but for what only the commit knows: seq, base, loaded_at, archive, kind (commit.h). */
static json_t *record_of(struct run *run, const struct run_part *part)
{
	struct arena *arena = run->arena;
	const struct part *p = &part->part;
	json_t *record = json_new_object(arena), *file = json_new_object(arena);
	json_put_text(arena, record, "run", run->id);
	json_put(arena, record, "sources", sources_json(run, p->batch_part));
	json_put_text(arena, record, "spec_sha256", run->spec->text_sha256);
	json_put_text(arena, record, "shape", run->spec->shape);
	json_put(arena, record, "key", run_key_json(run));
	json_put_int(arena, record, "rows_in", (int64_t)p->batch_part->rows_in);
	json_put_int(arena, record, "rows_written", (int64_t)p->batch_part->rows);
	json_put_int(arena, record, "superseded", (int64_t)p->batch_part->superseded);
	json_put_int(arena, record, "collapsed", (int64_t)p->batch_part->collapsed);
	json_put_int(arena, record, "quarantined", (int64_t)run->batch->quarantined);
	json_put_int(arena, record, "disappeared", (int64_t)part->gone);
	json_put_int(arena, record, "new_keys", (int64_t)part->fresh);
	json_put_int(arena, record, "revised", (int64_t)part->revised);
	if (part->carried)
		json_put_int(arena, record, "carried", (int64_t)part->carried);
	if (part->changed)
		json_put(arena, record, "changed", part->changed);
	if (part->reference && !part->reference->own)
		json_put_text(arena, record, "compared_with", part->reference->path);
	if (part->totals)
		json_put(arena, record, "totals", part->totals);
	if (part->guards)
		json_put(arena, record, "guards", part->guards);
	if (part->accepted.count)
		json_put(arena, record, "accepted", result_strings(arena, part->accepted.at, part->accepted.count));
	json_put_text(arena, record, "content_fingerprint", p->content.fingerprint);
	json_put_text(arena, file, "sha256", p->sha256);
	json_put_int(arena, file, "bytes", (int64_t)p->bytes);
	json_put_int(arena, file, "rows", (int64_t)p->batch_part->rows);
	json_put_int(arena, file, "row_groups", (int64_t)p->row_groups);
	json_put(arena, record, "file", file);
	json_put(arena, record, "schema", schema_json(run));
	json_put_text(arena, record, "crs_id", run->batch->has_geometry ? run->format.schema.crs_id : NULL);
	json_put_text(arena, record, "geo", p->geo);
	json_put_text(arena, record, "engine", engine_version());
	json_put_text(arena, record, "recloser", RECLOSER_VERSION);
	return record;
}

/* dataset.json: what all partitions share and what must not drift between machines, the CRS's text above all. */
static json_t *config_of(struct run *run)
{
	struct arena *arena = run->arena;
	json_t *config = json_new_object(arena), *identity = json_new_array(arena), *crs = NULL;
	recloser_error ignored = {0};
	json_put_int(arena, config, "format_version", 1);
	json_put_text(arena, config, "dataset", run->spec->dataset);
	json_t *partition = json_new_array(arena);
	for (size_t i = 0; i < run->spec->partition.count; i++)
		json_add_text(arena, partition, run->spec->partition.at[i]);
	json_put(arena, config, "partition", partition);
	json_put_text(arena, config, "key", run->spec->key_column);
	for (size_t i = 0; i < run->spec->identity_count; i++)
		json_add_text(arena, identity, run->spec->identity[i].column ? run->spec->identity[i].column : run->spec->identity[i].sql);
	json_put(arena, config, "identity", identity);
	if (run->batch->has_geometry) {
		const char *text = run->format.crs.projjson;
		if (text && json_parse(arena, text, strlen(text), "crs", &crs, &ignored) == RECLOSER_OK)
			json_put(arena, config, "crs", crs);
		else
			json_put_text(arena, config, "crs", NULL);
		json_put_bool(arena, config, "covering", run->format.covering);
	}
	return config;
}

/* One tree has one layout: under other partition columns a load would lie beside the live files, and every row be there twice. */
recloser_status run_check_config(const struct run *run, recloser_error *error)
{
	const json_t *config = run->dataset->config, *columns = json_object_get(config, "partition");
	const struct strings *wanted = &run->spec->partition;
	struct strings there = {0};
	for (size_t i = 0; i < json_array_size(columns); i++)
		if (json_string_value(json_array_get(columns, i)))
			strings_add(run->arena, &there, json_string_value(json_array_get(columns, i)));
	bool same = there.count == wanted->count;
	for (size_t i = 0; same && i < there.count; i++)
		same = strcmp(there.at[i], wanted->at[i]) == 0;
	if (json_is_array(columns) && !same) {
		error_set(error, RECLOSER_USAGE, "dataset.partition", "%s is partitioned by [%s], the spec says [%s]", run->spec->dataset,
		          strings_join(run->arena, &there, ", "), strings_join(run->arena, wanted, ", "));
		error_where(error, "%s", run->spec->path);
		return error_hint(error, "nothing was changed; a new layout is a new dataset: give it another name with `dataset:` and load its files again");
	}
	const char *key = json_get_text(config, "key");
	if (!key || strcmp(key, run->spec->key_column) == 0)
		return RECLOSER_OK;
	error_set(error, RECLOSER_USAGE, "dataset.key", "the key column of %s is %s, the spec says %s", run->spec->dataset, key, run->spec->key_column);
	error_where(error, "%s", run->spec->path);
	return error_hint(error, "write key: {column: %s, ...}; with another one it is a new dataset: give it another name with `dataset:`", key);
}

/* ---- commit ---- */

struct committing {
	struct run *run;
	struct entry *entries;
	struct run_part **parts;
};

static void waiting(void *arg, const char *holder)
{
	const struct run *run = ((struct committing *)arg)->run;
	ticker_tell(run->ticker, &(recloser_progress){.phase = "wait", .note = holder});
}

/* Another run came between the guards and the lock: the same questions again, against what is live now. What is held, or has
 * come to lie before the freshness window, is left out of the commit and the rest goes on. */
static recloser_status look_again(void *arg, struct entry *entry, const struct record *base, recloser_error *error)
{
	struct committing *committing = arg;
	struct run *run = committing->run;
	struct run_part *part = committing->parts[entry - committing->entries];
	if (run->spec->disappeared.policy == POLICY_CARRY) { /* the staged rows are those carried from another version */
		error_set(error, RECLOSER_CONFLICT, "commit.carry", "another run has made a version of %s live after rows were carried over", entry->partition);
		return error_hint(error, "nothing was changed; run again, and the rows are carried from that version");
	}
	RC_TRY(run_forget_gone(run, part, error));
	run_unsay(run, part, false);
	RC_TRY(run_compare_part(run, part, error));
	if (run->disappeared || run->disappeared_path)
		RC_TRY(run_write_disappeared(run, error));
	if (!to_write(part)) {
		entry->outcome = ENTRY_UNCHANGED;
		return RECLOSER_OK; /* base_seen stays: if the commit begins anew, it is asked again */
	}
	entry->base_seen = base ? base->seq : 0;
	entry->record = record_of(run, part);
	return RECLOSER_OK;
}

static recloser_status describe_adopted(void *arg, const char *partition, const char *path, json_t *record, recloser_error *error)
{
	struct run *run = ((struct committing *)arg)->run;
	(void)partition;
	return part_describe_adopted(run->arena, run->engine, path, record, error);
}

static enum part_outcome outcome_of(enum entry_outcome outcome)
{
	switch (outcome) {
	case ENTRY_NEW: return PART_NEW;
	case ENTRY_UNCHANGED: return PART_UNCHANGED;
	case ENTRY_CONFLICT: return PART_CONFLICT;
	default: return PART_REPLACED;
	}
}

static recloser_status write_quarantine(struct run *run, recloser_error *error)
{
	if (run->batch->quarantined == 0)
		return RECLOSER_OK;
	const char *staged = arena_printf(run->arena, "%s/quarantine.pq", staging_directory(run->staging));
	RC_TRY(quarantine_write(run->batch, staged, error));
	run->quarantine_path = arena_printf(run->arena, "quarantine/%s.pq", run->id);
	return control_adopt(run->dataset, run->arena, staged, run->quarantine_path, error);
}

static void fill_entry(struct run *run, struct run_part *part, struct entry *entry)
{
	*entry = (struct entry){.partition = part->part.batch_part->path, .kind = "version", .bytes = part->part.bytes,
	                        .content_fingerprint = part->part.content.fingerprint, .base_seen = part->base ? part->base->seq : 0,
	                        .record = record_of(run, part)};
	memcpy(entry->sha256, part->part.sha256, sizeof entry->sha256);
}

/* What the ledger says of a partition in which this run wrote nothing after all: what is live there may have been adopted, or
 * be another writer's. Best effort, for the report. */
static void tell_live(struct run *run, struct run_part *part)
{
	recloser_error ignored = {0};
	struct record *newest;
	if (ledger_newest(run->dataset, run->arena, part->part.batch_part->path, &newest, &ignored) != RECLOSER_OK || !newest)
		return;
	part->base = newest;
	part->seq = newest->seq;
}

static void take_outcomes(struct run *run, const struct committing *committing, size_t count, recloser_status status)
{
	for (size_t i = 0; i < count; i++) {
		const struct entry *entry = &committing->entries[i];
		struct run_part *part = committing->parts[i];
		if (entry->outcome == ENTRY_PENDING && status == RECLOSER_CONFLICT) /* nothing was decided */
			part->outcome = PART_CONFLICT;
		else if (entry->outcome != ENTRY_PENDING && to_write(part))
			part->outcome = outcome_of(entry->outcome);
		if (part->outcome == PART_UNCHANGED)
			run_unsay(run, part, true); /* somebody was first with these rows: nothing of this run went live */
		if (to_write(part))
			part->seq = entry->seq ? entry->seq : part->seq;
		else if (part->outcome == PART_UNCHANGED || part->outcome == PART_CONFLICT)
			tell_live(run, part);
	}
}

/* A run without a decision leaves no files that no run names. */
static void take_back(struct run *run)
{
	recloser_error ignored = {0};
	const char **const paths[] = {&run->quarantine_path, &run->disappeared_path};
	for (size_t i = 0; i < 2; i++) {
		if (*paths[i] && control_remove(run->dataset, run->arena, *paths[i], &ignored) == RECLOSER_OK)
			*paths[i] = NULL;
	}
}

recloser_status run_commit(struct run *run, recloser_error *error)
{
	struct committing committing = {.run = run};
	size_t count = 0;
	committing.entries = arena_array(run->arena, run->part_count + 1, sizeof *committing.entries);
	committing.parts = arena_array(run->arena, run->part_count + 1, sizeof *committing.parts);
	for (size_t i = 0; i < run->part_count; i++)
		if (to_write(&run->parts[i])) {
			committing.parts[count] = &run->parts[i];
			fill_entry(run, &run->parts[i], &committing.entries[count++]);
		}
	recloser_status status = write_quarantine(run, error);
	if (status == RECLOSER_OK)
		status = run_write_disappeared(run, error);
	if (status != RECLOSER_OK) {
		take_back(run);
		return status;
	}
	struct commit_options options = {.wait_seconds = run->options->common.wait_seconds == 0 ? 60 : run->options->common.wait_seconds,
	                                 .look_again = look_again, .waiting = waiting, .describe = describe_adopted, .arg = &committing,
	                                 .config = run->dataset->config ? NULL : config_of(run), .reported = true};
	run_progress(run, "commit", 0, 0, count);
	*run->decided = 1;
	status = commit_run(run->staging, run->arena, committing.entries, count, &options, &run->commit, error);
	bool decided = status == RECLOSER_OK || status == RECLOSER_UNCLEAR || run->commit.number;
	for (size_t i = 0; i < count; i++) /* on an object store each partition is decided by itself */
		decided |= committing.entries[i].outcome == ENTRY_NEW || committing.entries[i].outcome == ENTRY_REPLACED;
	if (!decided)
		take_back(run);
	take_outcomes(run, &committing, count, status);
	for (size_t i = 0; i < run->commit.warnings.count; i++)
		if (!strings_has(&run->warnings, run->commit.warnings.at[i]))
			strings_add(run->arena, &run->warnings, run->commit.warnings.at[i]);
	return status;
}
