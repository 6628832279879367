/* SPDX-License-Identifier: Apache-2.0
 * A decided plan as it lies in commits/. It tells enough to finish the run without its writer, and to make a lost ledger
 * again. Immutable, and its number is never used twice. */
#include "commit/protocol.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static json_t *base_to_json(struct arena *arena, const struct planned *planned)
{
	json_t *base = json_new_object(arena);
	json_put_int(arena, base, "seq", planned->base.seq);
	json_put_text(arena, base, "sha256", planned->base.file.sha256);
	json_put_int(arena, base, "bytes", (int64_t)planned->base.file.bytes);
	json_put_int(arena, base, "inode", (int64_t)planned->base.file.inode);
	json_put_int(arena, base, "mtime_ns", planned->base.file.mtime_ns);
	if (planned->base.missing)
		json_put_bool(arena, base, "missing", true);
	return base;
}

static json_t *entry_to_json(struct arena *arena, const struct planned *planned)
{
	json_t *entry = json_new_object(arena);
	json_put_text(arena, entry, "partition", planned->partition);
	json_put_text(arena, entry, "kind", planned->kind);
	json_put_int(arena, entry, "seq", planned->seq);
	json_put_text(arena, entry, "sha256", planned->file.sha256);
	json_put_int(arena, entry, "bytes", (int64_t)planned->file.bytes);
	json_put_int(arena, entry, "inode", (int64_t)planned->file.inode);
	json_put_int(arena, entry, "mtime_ns", planned->file.mtime_ns);
	json_put_text(arena, entry, "content_fingerprint", planned->content_fingerprint);
	json_put(arena, entry, "base",
			 planned->base.seq || planned->base.file.sha256 ? base_to_json(arena, planned) : json_null());
	json_put_text(arena, entry, "archive", planned->archive);
	json_put(arena, entry, "counts", planned->counts);
	return entry;
}

json_t *plan_to_json(struct arena *arena, const struct plan *plan)
{
	json_t *json = json_new_object(arena), *entries = json_new_array(arena);
	json_put_text(arena, json, "run", plan->run);
	json_put_int(arena, json, "commit", plan->number);
	json_put_text(arena, json, "loaded_at", plan->loaded_at);
	if (plan->config)
		json_put_bool(arena, json, "config", true);
	for (size_t i = 0; i < plan->count; i++)
		json_add(arena, entries, entry_to_json(arena, &plan->at[i]));
	json_put(arena, json, "entries", entries);
	return json;
}

static struct identity identity_of(const json_t *json)
{
	return (struct identity){
		.sha256 = json_get_text(json, "sha256"),
		.bytes = (uint64_t)json_get_int(json, "bytes", 0),
		.inode = (uint64_t)json_get_int(json, "inode", 0),
		.mtime_ns = json_get_int(json, "mtime_ns", 0),
	};
}

static bool entry_from_json(json_t *json, struct planned *out)
{
	const json_t *base = json_object_get(json, "base");
	out->partition = json_get_text(json, "partition");
	out->kind = json_get_text(json, "kind");
	out->seq = json_get_int(json, "seq", 0);
	out->file = identity_of(json);
	out->base.seq = json_get_int(base, "seq", 0);
	out->base.file = identity_of(base);
	out->base.missing = json_get_bool(base, "missing", false);
	out->archive = json_get_text(json, "archive");
	out->content_fingerprint = json_get_text(json, "content_fingerprint");
	out->counts = json_object_get(json, "counts");
	return out->partition && is_partition_path(out->partition) && out->kind && out->seq > 0 && out->file.sha256 &&
		   out->archive;
}

recloser_status plan_from_json(struct arena *arena, json_t *json, const char *path, struct plan **out, recloser_error *error)
{
	struct plan *plan = arena_alloc(arena, sizeof *plan);
	const json_t *entries = json_object_get(json, "entries");
	bool good = json_is_array(entries);
	plan->run = json_get_text(json, "run");
	plan->loaded_at = json_get_text(json, "loaded_at");
	plan->number = json_get_int(json, "commit", 0);
	plan->config = json_get_bool(json, "config", false);
	plan->count = json_array_size(entries);
	plan->at = arena_array(arena, plan->count, sizeof *plan->at);
	for (size_t i = 0; good && i < plan->count; i++)
		good = entry_from_json(json_array_get(entries, i), &plan->at[i]);
	*out = plan;
	if (good && plan->run && plan->loaded_at && plan->number > 0)
		return RECLOSER_OK;
	error_set(error, RECLOSER_IO, "commit.malformed", "a decided plan can't be read");
	return error_where(error, "%s", path);
}

recloser_status commit_read(struct dataset *dataset, struct arena *arena, int64_t number, struct plan **out,
							recloser_error *error)
{
	const char *path = path_commit(dataset, arena, number);
	json_t *json;
	*out = NULL;
	recloser_status status = file_read_json(dataset, arena, path, &json, error);
	if (status == RECLOSER_OK && json)
		status = plan_from_json(arena, json, path, out, error);
	if (status == RECLOSER_OK)
		return RECLOSER_OK;
	return hint_damaged(error, "put the file back from a backup, or run recloser recover --rebuild: it sets the file "
							   "aside and makes records again from what else there is");
}

json_t *record_from_plan(struct arena *arena, const struct plan *plan, const struct planned *planned, const char *kind)
{
	json_t *record = json_new_object(arena), *file = json_new_object(arena);
	json_put_int(arena, record, "seq", planned->seq);
	json_put_text(arena, record, "partition", planned->partition);
	json_put_text(arena, record, "kind", kind);
	json_put_text(arena, record, "run", plan->run);
	json_put_int(arena, record, "commit", plan->number);
	json_put_text(arena, record, "loaded_at", plan->loaded_at);
	json_put(arena, record, "base",
			 planned->base.seq || planned->base.file.sha256 ? base_to_json(arena, planned) : json_null());
	json_put_text(arena, record, "archive", planned->archive);
	json_put_text(arena, record, "content_fingerprint", planned->content_fingerprint);
	json_put_int(arena, file, "bytes", (int64_t)planned->file.bytes);
	json_put_text(arena, file, "sha256", planned->file.sha256);
	const json_t *rows = json_object_get(planned->counts, "rows");
	json_put(arena, file, "rows", rows ? (json_t *)rows : json_null());
	json_put_int(arena, file, "inode", (int64_t)planned->file.inode);
	json_put_int(arena, file, "mtime_ns", planned->file.mtime_ns);
	json_put(arena, record, "file", file);
	const char *name;
	json_t *value;
	json_object_foreach((json_t *)planned->counts, name, value) if (strcmp(name, "rows") != 0)
		json_put(arena, record, name, value);
	return record;
}
