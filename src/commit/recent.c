/* SPDX-License-Identifier: Apache-2.0
 * The versions that were recorded last. On a file system the commits tell, which are one file a run and in the order of time, so that
 * neither the ledger nor the tree is walked; in a bucket known.json does, which is in memory. */
#include <string.h>

#include "base/hive.h"
#include "base/json_scan.h"
#include "commit/object.h"

enum { COMMITS_READ = 64, RECORDS_READ = 16, BYTES_READ = 16 << 20 };

struct recent {
	struct dataset *dataset;
	struct arena *arena;
	const char *column;  /* versions are told apart by its value; NULL: they are not */
	size_t most, count;
	struct record **out;
	size_t records_read, bytes_read;
};

/* What stands behind "column=" in a partition's path, as it is spelled there. */
static const char *value_in(struct arena *arena, const char *partition, const char *column)
{
	const char *name = column ? arena_printf(arena, "%s=", partition_encoded(arena, column)) : NULL;
	for (const char *at = partition; name && *at; at += strcspn(at, "/"), at += *at == '/')
		if (text_starts(at, name))
			return arena_strndup(arena, at + strlen(name), strcspn(at, "/") - strlen(name));
	return "";
}

static struct record **found_of(const struct recent *recent, const char *partition)
{
	const char *value = value_in(recent->arena, partition, recent->column);
	for (size_t i = 0; i < recent->count; i++)
		if (strcmp(value_in(recent->arena, recent->out[i]->partition, recent->column), value) == 0)
			return &recent->out[i];
	return NULL;
}

static bool is_version(const char *kind)
{
	return kind && strcmp(kind, "version") == 0; /* what was restored or adopted tells what was once, or of others */
}

/* ---- commits ---- */

static recloser_status take_if_live(struct recent *recent, const char *partition, int64_t seq, recloser_error *error)
{
	struct record *record;
	enum live_state live = LIVE_NONE;
	recent->records_read++;
	RC_TRY(ledger_newest(recent->dataset, recent->arena, partition, &record, error));
	if (!record || record->seq != seq || !is_version(record->kind))
		return RECLOSER_OK;
	RC_TRY(live_state(recent->dataset, recent->arena, partition, record, &live, error));
	if (live == LIVE_SOUND)
		recent->out[recent->count++] = record;
	return RECLOSER_OK;
}

static const char *text_of(struct arena *arena, const struct value *value)
{
	char *text = arena_alloc(arena, value->count + 1);
	text[json_unescape(value, text)] = '\0';
	return text;
}

static recloser_status take_entry(struct recent *recent, struct arena *scratch, const struct value *entry, recloser_error *error)
{
	struct json_scan scan = json_scan_of(entry->at, entry->count);
	struct value name, value;
	const char *partition = NULL, *kind = NULL;
	int64_t seq = 0;
	scan.at++;
	for (bool first = true; (!partition || !kind || !seq) && json_scan_member(&scan, first, &name); first = false) {
		if (!json_scan_value(&scan, &value))
			break;
		if (value_is(&name, "partition") && value.kind == VALUE_TEXT)
			partition = text_of(scratch, &value);
		else if (value_is(&name, "kind") && value.kind == VALUE_TEXT)
			kind = text_of(scratch, &value);
		else if (value_is(&name, "seq") && value.kind == VALUE_INTEGER && !value_int64(&value, &seq))
			break;
	}
	bool wanted = partition && is_partition_path(partition) && is_version(kind) && seq > 0 && !found_of(recent, partition);
	return wanted ? take_if_live(recent, partition, seq, error) : RECLOSER_OK;
}

static bool enough(const struct recent *recent)
{
	return recent->count == recent->most || recent->records_read >= RECORDS_READ || recent->bytes_read >= BYTES_READ;
}

/* A commit may have thousands of entries of which the first tells all: it is scanned, not parsed. One that can't be read is
 * other commands' affair. */
static recloser_status take_commit(struct recent *recent, struct arena *scratch, int64_t number, recloser_error *error)
{
	struct dataset *dataset = recent->dataset;
	char *bytes;
	size_t count;
	struct value name, value, entry;
	if (dataset->fs->ops->read(dataset->fs, path_commit(dataset, scratch, number), scratch, &bytes, &count) != 0)
		return RECLOSER_OK;
	recent->bytes_read += count;
	struct json_scan scan = json_scan_of(bytes, count);
	json_scan_space(&scan);
	if (scan.at == scan.end || *scan.at++ != '{')
		return RECLOSER_OK;
	for (bool first = true; json_scan_member(&scan, first, &name); first = false) {
		if (!json_scan_value(&scan, &value))
			break;
		if (!value_is(&name, "entries") || value.kind != VALUE_ARRAY)
			continue;
		struct json_scan entries = json_scan_of(value.at, value.count);
		entries.at++;
		for (bool one = true; !enough(recent) && json_scan_element(&entries, one); one = false) {
			if (!json_scan_value(&entries, &entry) || entry.kind != VALUE_OBJECT)
				break;
			RC_TRY(take_entry(recent, scratch, &entry, error));
		}
	}
	return RECLOSER_OK;
}

static recloser_status from_commits(struct recent *recent, recloser_error *error)
{
	int64_t newest;
	RC_TRY(commits_newest(recent->dataset, recent->arena, &newest, error));
	for (int64_t number = newest; number > 0 && number > newest - COMMITS_READ && !enough(recent); number--) {
		struct arena *scratch = arena_new(recent->arena);
		recloser_status status = take_commit(recent, scratch, number, error);
		arena_free(scratch);
		RC_TRY(status);
	}
	return RECLOSER_OK;
}

/* ---- known.json ---- */

static void from_known(struct recent *recent)
{
	const char *partition;
	json_t *json;
	json_object_foreach(recent->dataset->objects->known.records, partition, json)
	{
		if (!is_version(json_get_text(json, "kind")) || !json_get_text(json, "loaded_at"))
			continue;
		struct record *record = record_from_json(recent->arena, json, partition, json_get_int(json, "seq", 0)), **found = found_of(recent, partition);
		if (!found && recent->count < recent->most)
			recent->out[recent->count++] = record;
		else if (found && strcmp((*found)->loaded_at, record->loaded_at) < 0)
			*found = record;
	}
}

/* known.json is lost: one record, of the last in the order of paths, is worth a request. */
static recloser_status from_listing(struct recent *recent, recloser_error *error)
{
	const char *partition, *last = NULL;
	int64_t number = 0;
	json_t *head;
	struct record *record = NULL;
	RC_TRY(object_ledger_ask(recent->dataset, error));
	if (recent->dataset->objects->listing != LEDGER_WHOLE)
		return RECLOSER_OK;
	json_object_foreach(recent->dataset->objects->heads, partition, head)
	{
		if (last && strcmp(partition, last) < 0)
			continue;
		last = partition;
		number = json_get_int(head, "newest", 0);
	}
	if (last)
		RC_TRY(object_ledger_read(recent->dataset, recent->arena, last, number, &record, error));
	if (record && is_version(record->kind))
		recent->out[recent->count++] = record;
	return RECLOSER_OK;
}

recloser_status versions_recent(struct dataset *dataset, struct arena *arena, const char *column, size_t most, struct record **out,
								size_t *count, recloser_error *error)
{
	struct recent recent = {.dataset = dataset, .arena = arena, .column = column, .most = most, .out = out};
	recloser_status status = RECLOSER_OK;
	if (!dataset->bucket) {
		status = from_commits(&recent, error);
	} else {
		from_known(&recent);
		if (recent.count == 0)
			status = from_listing(&recent, error);
	}
	*count = recent.count;
	return status;
}
