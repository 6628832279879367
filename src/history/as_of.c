/* SPDX-License-Identifier: Apache-2.0
 * What was live then: of each partition the newest version that was loaded at or before the end of what was asked for. The
 * order is that of seq; loaded_at never runs backwards in a ledger. */
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "base/clock.h"
#include "history/history.h"

static recloser_status add(struct dataset *dataset, struct arena *arena, struct moment *moment, struct record *record,
						   struct record *newest, const json_t *prunes, recloser_error *error)
{
	struct moment_version *version = &moment->at[moment->count++];
	version->record = record;
	version->newest = newest;
	RC_TRY(version_kept(dataset, arena, record, newest, NULL, &version->kept, error));
	if (version->kept.file)
		return RECLOSER_OK;
	version->lost = pruned_how(arena, prunes, record->partition, record->seq);
	if (!version->lost)
		version->lost = "its archived file is gone, and no prune removed it";
	return RECLOSER_OK;
}

static recloser_status by_time(struct dataset *dataset, struct arena *arena, int64_t end, const json_t *prunes,
							   struct moment *moment, recloser_error *error)
{
	struct strings partitions = {0};
	RC_TRY(ledger_partitions(dataset, arena, &partitions, error));
	moment->at = arena_array(arena, partitions.count + 1, sizeof *moment->at);
	for (size_t i = 0; i < partitions.count; i++) {
		struct record *newest, *found = NULL;
		RC_TRY(ledger_newest(dataset, arena, partitions.at[i], &newest, error));
		for (int64_t seq = newest ? newest->seq : 0; seq > 0 && !found; seq--) {
			struct record *record = newest;
			if (seq != newest->seq)
				RC_TRY(ledger_read(dataset, arena, partitions.at[i], seq, &record, error));
			int64_t loaded = record && record->loaded_at ? clock_parse(record->loaded_at) : -1;
			if (record && strcmp(record->kind, "void") != 0 && loaded >= 0 && loaded <= end)
				found = record;
		}
		if (found)
			RC_TRY(add(dataset, arena, moment, found, newest, prunes, error));
	}
	return RECLOSER_OK;
}

static recloser_status by_tag(struct dataset *dataset, struct arena *arena, const struct tag *tag, const json_t *prunes,
							  struct moment *moment, recloser_error *error)
{
	moment->at = arena_array(arena, tag->count + 1, sizeof *moment->at);
	for (size_t i = 0; i < tag->count; i++) {
		const struct pin *pin = &tag->at[i];
		struct record *record, *newest;
		RC_TRY(ledger_newest(dataset, arena, pin->partition, &newest, error));
		RC_TRY(ledger_read(dataset, arena, pin->partition, pin->seq, &record, error));
		if (!record || strcmp(record->sha256, pin->sha256) != 0) {
			error_set(error, RECLOSER_FAULT, "tag.record",
					  "the record of seq %" PRId64 " is not the version that the tag pins", pin->seq);
			return error_where(error, "%s, tag %s", partition_shown(pin->partition), tag->name);
		}
		RC_TRY(add(dataset, arena, moment, record, newest, prunes, error));
	}
	return RECLOSER_OK;
}

recloser_status as_of_select(struct dataset *dataset, struct arena *arena, const char *at, struct moment *out,
							 recloser_error *error)
{
	int64_t end;
	json_t *prunes;
	struct tag *tag;
	memset(out, 0, sizeof *out);
	out->shown = arena_strdup(arena, at);
	RC_TRY(prunes_read(dataset, arena, &prunes, error));
	if (when_end(at, &end))
		return by_time(dataset, arena, end, prunes, out, error);
	RC_TRY(tag_read(dataset, arena, at, &tag, error));
	if (tag) {
		out->shown = arena_printf(arena, "tag %s", tag->name);
		return by_tag(dataset, arena, tag, prunes, out, error);
	}
	error_set(error, RECLOSER_USAGE, "as_of.when", "\"%s\" is neither a time nor a tag of this dataset", at);
	return error_hint(error,
					  "a date such as 2026-07-31, a time such as 2026-07-31T12:00Z, or a name from recloser tag --list");
}

static json_t *entry_json(struct arena *arena, const struct moment_version *version)
{
	json_t *json = json_new_object(arena);
	json_t *of = version_json(arena, version->record), *value;
	const char *name;
	json_put_text(arena, json, "partition", version->record->partition);
	json_object_foreach(of, name, value) json_put(arena, json, name, value);
	json_put_text(arena, json, "file", version->kept.file);
	json_put_bool(arena, json, "live_file", version->kept.live);
	json_put_bool(arena, json, "newest", version->record == version->newest || version->record->seq == version->newest->seq);
	json_put_text(arena, json, "lost", version->lost);
	return json;
}

static const char *file_shown(struct arena *arena, const struct moment_version *version)
{
	return arena_printf(arena, "%s%s", version->kept.file,
						version->kept.live ? "   the live file, which the next load of the partition replaces" : "");
}

static recloser_status tell(struct history *h, const struct moment *moment, bool sql, recloser_error *error)
{
	struct arena *arena = h->arena;
	json_t *list = json_new_array(arena);
	uint64_t rows = 0, bytes = 0;
	size_t lost = 0;
	for (size_t i = 0; i < moment->count; i++) {
		const struct moment_version *version = &moment->at[i];
		json_add(arena, list, entry_json(arena, version));
		rows += version->record->rows;
		bytes += version->record->bytes;
		lost += version->kept.file == NULL;
		if (!sql)
			text_addf(&h->text, "  %s   seq %" PRId64 "   %s   %s   %s\n", partition_shown(version->record->partition),
					  version->record->seq, when_shown(arena, version->record->loaded_at),
					  version_rows_shown(arena, version->record), version->lost ? version->lost : file_shown(arena, version));
	}
	json_put_text(arena, h->json, "dataset", h->dataset->name);
	json_put_text(arena, h->json, "as_of", moment->shown);
	json_put_int(arena, h->json, "rows", (int64_t)rows);
	json_put_int(arena, h->json, "bytes", (int64_t)bytes);
	json_put(arena, h->json, "partitions", list);
	if (!sql)
		text_addf(&h->text, "%s as of %s: %zu partition%s, %s rows, %s\n", h->dataset->name, moment->shown, moment->count,
				  moment->count == 1 ? "" : "s", text_count(arena, rows), text_bytes(arena, bytes));
	if (!lost)
		return RECLOSER_OK;
	error_set(error, RECLOSER_FAULT, "version.lost", "%zu of %zu versions that were live then are not to be had any more",
			  lost, moment->count);
	for (size_t i = 0; i < moment->count; i++)
		if (moment->at[i].lost) {
			error_where(error, "%s, seq %" PRId64 ": %s", partition_shown(moment->at[i].record->partition),
						moment->at[i].record->seq, moment->at[i].lost);
			break;
		}
	return error_hint(error, "their records are there still: recloser history");
}

recloser_status as_of(struct history *h, const recloser_as_of_options *options, recloser_error *error)
{
	struct moment moment;
	struct open_run open;
	open_run_find(h->dataset, h->arena, &open);
	RC_TRY(as_of_select(h->dataset, h->arena, options->at, &moment, error));
	RC_TRY(tell(h, &moment, options->sql, error));
	json_put_text(h->arena, h->json, "open_run", open.run);
	if (open.run)
		text_addf(&h->text, "%s%s; its versions are not among these\n", options->sql ? "-- " : "  ", open_run_told(h->arena, &open));
	if (moment.count == 0 && (options->sql || options->directory)) {
		error_set(error, RECLOSER_USAGE, "as_of.nothing", "nothing was live at %s", moment.shown);
		return error_hint(error, "recloser history tells from when on a partition has versions");
	}
	if (options->sql) {
		const char *sql = as_of_sql(h, &moment);
		json_put_text(h->arena, h->json, "sql", sql);
		text_add(&h->text, sql);
	}
	if (!options->directory)
		return RECLOSER_OK;
	RC_TRY(as_of_copy(h, &moment, options->directory, error));
	json_put_text(h->arena, h->json, "directory", options->directory);
	if (!options->sql)
		text_addf(&h->text, "copied to %s, every file proved by its SHA-256\n", options->directory);
	return RECLOSER_OK;
}
