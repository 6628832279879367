/* SPDX-License-Identifier: Apache-2.0
 * Records: immutable files with contiguous numbers, so that the newest is found by listing one directory. */
#include "commit/object.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/json_scan.h"

struct record *record_from_json(struct arena *arena, json_t *json, const char *partition, int64_t seq)
{
	struct record *record = arena_alloc(arena, sizeof *record);
	const json_t *file = json_object_get(json, "file");
	const char *sha256 = json_get_text(file, "sha256");
	record->partition = arena_strdup(arena, partition);
	record->seq = seq;
	record->kind = json_get_text(json, "kind");
	record->run = json_get_text(json, "run");
	record->loaded_at = json_get_text(json, "loaded_at");
	record->sha256 = sha256 ? sha256 : "";
	record->content_fingerprint = json_get_text(json, "content_fingerprint");
	record->archive = json_get_text(json, "archive");
	record->bytes = (uint64_t)json_get_int(file, "bytes", 0);
	record->rows = (uint64_t)json_get_int(file, "rows", 0);
	record->json = json;
	return record;
}

static const char how_to_mend[] = "recloser recover --rebuild sets the file aside and makes the record again";

static recloser_status take_record(struct arena *arena, json_t *json, const char *path, const char *partition, int64_t seq,
								   struct record **out, recloser_error *error)
{
	*out = NULL;
	if (!json)
		return RECLOSER_OK;
	if (json_get_int(json, "seq", 0) != seq || !json_get_text(json, "kind")) {
		error_set(error, RECLOSER_IO, "ledger.malformed", "the record is not one of version %" PRId64, seq);
		error_where(error, "%s", path);
		return error_hint(error, "%s", how_to_mend);
	}
	*out = record_from_json(arena, json, partition, seq);
	return RECLOSER_OK;
}

recloser_status ledger_read(struct dataset *dataset, struct arena *arena, const char *partition, int64_t seq,
							struct record **out, recloser_error *error)
{
	if (dataset->bucket)
		return object_ledger_read(dataset, arena, partition, seq, out, error);
	const char *path = path_record(dataset, arena, partition, seq);
	json_t *json;
	if (file_read_json(dataset, arena, path, &json, error) != RECLOSER_OK)
		return hint_damaged(error, how_to_mend);
	return take_record(arena, json, path, partition, seq, out, error);
}

static recloser_status newest_number(struct dataset *dataset, struct arena *arena, const char *directory, int64_t *out,
									 recloser_error *error)
{
	struct arena *scratch = arena_new(arena);
	struct strings names = {0};
	int failed = dataset->fs->ops->list(dataset->fs, directory, scratch, &names);
	*out = 0;
	for (size_t i = 0; failed == 0 && i < names.count; i++)
		if (number_of(names.at[i]) > *out)
			*out = number_of(names.at[i]);
	arena_free(scratch);
	if (failed == 0 || failed == ENOENT || failed == ENOTDIR)
		return RECLOSER_OK;
	return error_errno(error, "store.list", failed, "list", directory);
}

recloser_status commits_newest(struct dataset *dataset, struct arena *arena, int64_t *out, recloser_error *error)
{
	return newest_number(dataset, arena, path_control(dataset, arena, "commits"), out, error);
}

recloser_status ledger_look(struct dataset *dataset, struct arena *arena, const char *partition, int64_t *number,
							struct record **newest, recloser_error *error)
{
	const char *directory = path_in(arena, path_control(dataset, arena, "ledger"), partition, "");
	*newest = NULL;
	RC_TRY(newest_number(dataset, arena, directory, number, error));
	for (int64_t seq = *number; seq > 0; seq--) {
		RC_TRY(ledger_read(dataset, arena, partition, seq, newest, error));
		if (*newest && strcmp((*newest)->kind, "void") != 0)
			return RECLOSER_OK;
		*newest = NULL;
	}
	return RECLOSER_OK;
}

recloser_status ledger_newest(struct dataset *dataset, struct arena *arena, const char *partition, struct record **out,
							  recloser_error *error)
{
	if (dataset->bucket)
		return object_ledger_newest(dataset, partition, out, error);
	int64_t number;
	return ledger_look(dataset, arena, partition, &number, out, error);
}

/* ---- one of many ---- */

/* Puts a 0 in the place of long members that are not asked for: the parser would take most of its time for them. Text that is
 * not well-formed is left to it from where it is wrong. Returns the new length. */
static size_t shorten(char *bytes, size_t count)
{
	struct json_scan scan = json_scan_of(bytes, count);
	struct value name, value;
	json_scan_space(&scan);
	if (scan.at == scan.end || *scan.at++ != '{')
		return count;
	for (bool first = true; json_scan_member(&scan, first, &name); first = false) {
		bool unwanted = value_is(&name, "schema") || value_is(&name, "geo");
		json_scan_space(&scan);
		char *from = bytes + (scan.at - bytes);
		if (!json_scan_value(&scan, &value))
			break;
		if (!unwanted)
			continue;
		*from++ = '0';
		memmove(from, scan.at, (size_t)(scan.end - scan.at));
		scan.end -= scan.at - from;
		scan.at = from;
	}
	return (size_t)(scan.end - bytes);
}

static recloser_status read_brief(struct dataset *dataset, struct arena *arena, const char *partition, int64_t seq,
								  struct record **out, recloser_error *error)
{
	const char *path = path_record(dataset, arena, partition, seq);
	char *bytes;
	size_t count;
	json_t *json;
	*out = NULL;
	int failed = dataset->fs->ops->read(dataset->fs, path, arena, &bytes, &count);
	if (failed == ENOENT || failed == ENOTDIR)
		return RECLOSER_OK;
	if (failed)
		return error_errno(error, "store.read", failed, "read", path);
	if (json_parse(arena, bytes, shorten(bytes, count), path, &json, error) != RECLOSER_OK)
		return hint_damaged(error, how_to_mend);
	return take_record(arena, json, path, partition, seq, out, error);
}

/* Numbers are contiguous: the newest is the one after which there is none. */
recloser_status ledger_brief(struct dataset *dataset, struct arena *arena, const char *partition, int64_t near,
							 struct record **out, recloser_error *error)
{
	struct fs_stat stat;
	bool later;
	if (dataset->bucket || near <= 0)
		return ledger_newest(dataset, arena, partition, out, error);
	RC_TRY(file_look(dataset, path_record(dataset, arena, partition, near + 1), &stat, &later, error));
	if (!later)
		RC_TRY(read_brief(dataset, arena, partition, near, out, error));
	if (!later && *out && strcmp((*out)->kind, "void") != 0)
		return RECLOSER_OK;
	return ledger_newest(dataset, arena, partition, out, error);
}

/* ---- all of them ---- */

static void add_head(struct arena *arena, struct ledger_heads *heads, const char *partition, int64_t number)
{
	size_t count = heads->count;
	if ((count & (count - 1)) == 0)
		heads->at = arena_grow(arena, heads->at, count * sizeof *heads->at, (count ? count * 2 : 1) * sizeof *heads->at);
	heads->at[heads->count++] = (struct ledger_head){partition, number};
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(((const struct ledger_head *)a)->partition, ((const struct ledger_head *)b)->partition);
}

static recloser_status collect(struct dataset *dataset, struct arena *arena, const char *directory, const char *partition,
							   struct ledger_heads *out, recloser_error *error)
{
	struct arena *scratch = arena_new(arena);
	struct strings names = {0};
	int64_t newest = 0;
	int failed = dataset->fs->ops->list(dataset->fs, directory, scratch, &names);
	recloser_status status =
		failed == 0 || failed == ENOENT ? RECLOSER_OK : error_errno(error, "store.list", failed, "list", directory);
	for (size_t i = 0; status == RECLOSER_OK && i < names.count; i++) {
		int64_t number = number_of(names.at[i]);
		newest = number > newest ? number : newest;
		if (!strchr(names.at[i], '='))
			continue;
		status = collect(dataset, arena, path_in(scratch, directory, names.at[i], ""),
						 arena_printf(arena, "%s%s%s", partition, *partition ? "/" : "", names.at[i]), out, error);
	}
	if (newest)
		add_head(arena, out, partition, newest);
	arena_free(scratch);
	return status;
}

static bool has_source(const struct record *record, const struct strings *sha256s, size_t *which)
{
	const json_t *sources = json_object_get(record->json, "sources");
	for (size_t i = 0; i < json_array_size(sources); i++)
		for (size_t k = 0; k < sha256s->count; k++) {
			const char *sha256 = json_get_text(json_array_get(sources, i), "sha256");
			*which = k;
			if (sha256 && strcmp(sha256, sha256s->at[k]) == 0)
				return true;
		}
	return false;
}

recloser_status ledger_source(struct dataset *dataset, struct arena *arena, const struct record *base,
							  const struct strings *sha256s, int64_t *seq, size_t *which, recloser_error *error)
{
	enum { LOOKED_AT = 200 };
	*seq = 0;
	if (dataset->bucket) {
		object_source(base, sha256s, seq, which);
		return RECLOSER_OK;
	}
	for (int64_t k = base->seq - 1; k > 0 && k > base->seq - LOOKED_AT; k--) {
		struct record *record;
		RC_TRY(ledger_read(dataset, arena, base->partition, k, &record, error));
		if (!record || !has_source(record, sha256s, which))
			continue;
		*seq = k;
		return RECLOSER_OK;
	}
	return RECLOSER_OK;
}

recloser_status ledger_heads(struct dataset *dataset, struct arena *arena, struct ledger_heads *out, recloser_error *error)
{
	*out = (struct ledger_heads){0};
	if (dataset->bucket) {
		struct strings partitions = {0};
		RC_TRY(object_ledger_partitions(dataset, arena, &partitions, error));
		for (size_t i = 0; i < partitions.count; i++)
			add_head(arena, out, partitions.at[i], 0);
		return RECLOSER_OK;
	}
	RC_TRY(collect(dataset, arena, path_control(dataset, arena, "ledger"), "", out, error));
	if (out->count)
		qsort(out->at, out->count, sizeof *out->at, by_bytes);
	return RECLOSER_OK;
}

recloser_status partitions_beside(struct dataset *dataset, struct arena *arena, struct strings *out, recloser_error *error)
{
	if (dataset->bucket)
		return object_partitions(dataset, arena, out, error);
	return ledger_partitions(dataset, arena, out, error);
}

recloser_status ledger_partitions(struct dataset *dataset, struct arena *arena, struct strings *out, recloser_error *error)
{
	struct ledger_heads heads;
	if (dataset->bucket)
		return object_ledger_partitions(dataset, arena, out, error);
	RC_TRY(ledger_heads(dataset, arena, &heads, error));
	for (size_t i = 0; i < heads.count; i++)
		strings_add(arena, out, heads.at[i].partition);
	return RECLOSER_OK;
}
