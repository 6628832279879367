/* SPDX-License-Identifier: Apache-2.0
 * The versions of one partition, from its records. */
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "history/history.h"

const char *partition_shown(const char *partition)
{
	return *partition ? partition : "(one file)";
}

recloser_status versions_of(struct dataset *dataset, struct arena *arena, const char *partition, struct versions *out,
							recloser_error *error)
{
	memset(out, 0, sizeof *out);
	RC_TRY(ledger_newest(dataset, arena, partition, &out->newest, error));
	if (!out->newest)
		return RECLOSER_OK;
	out->at = arena_array(arena, (size_t)out->newest->seq, sizeof *out->at);
	for (int64_t seq = 1; seq < out->newest->seq; seq++) {
		struct record *record;
		RC_TRY(ledger_read(dataset, arena, partition, seq, &record, error));
		if (record && strcmp(record->kind, "void") != 0)
			out->at[out->count++] = record;
	}
	out->at[out->count++] = out->newest;
	return RECLOSER_OK;
}

/* ---- naming a partition ---- */

/* Does the path have every part of `wanted`, in any order? */
static bool has_parts(const char *path, const char *wanted)
{
	while (*wanted) {
		size_t length = strcspn(wanted, "/");
		bool there = false;
		for (const char *at = path; *at && !there;) {
			size_t part = strcspn(at, "/");
			there = part == length && strncmp(at, wanted, length) == 0;
			at += part + (at[part] == '/');
		}
		if (!there)
			return false;
		wanted += length + (wanted[length] == '/');
	}
	return true;
}

recloser_status partition_named(struct dataset *dataset, struct arena *arena, const char *wanted, const char **out,
								recloser_error *error)
{
	struct strings all = {0}, hits = {0};
	struct ledger_heads heads;
	size_t length = strlen(wanted);
	while (length > 0 && wanted[length - 1] == '/')
		length--;
	wanted = arena_strndup(arena, wanted, length);
	RC_TRY(live_heads(dataset, arena, &heads, error));
	for (size_t i = 0; i < heads.count; i++)
		strings_add(arena, &all, heads.at[i].partition);
	for (size_t i = 0; i < all.count; i++) {
		if (strcmp(all.at[i], wanted) == 0) {
			*out = all.at[i];
			return RECLOSER_OK;
		}
		if (*wanted && has_parts(all.at[i], wanted))
			strings_add(arena, &hits, all.at[i]);
	}
	if (hits.count == 1) {
		*out = hits.at[0];
		return RECLOSER_OK;
	}
	if (hits.count > 1) {
		error_set(error, RECLOSER_USAGE, "cli.partition", "%s is %zu partitions", wanted, hits.count);
		return error_hint(error, "name one, for instance %s or %s", hits.at[0], hits.at[1]);
	}
	if (!*wanted && all.count == 1) {
		*out = all.at[0];
		return RECLOSER_OK;
	}
	if (!*wanted && all.count) {
		error_set(error, RECLOSER_USAGE, "cli.partition", "the dataset has %zu partitions: which one?", all.count);
		return error_hint(error, "name one, for instance %s; recloser status lists all", all.at[0]);
	}
	if (*wanted)
		error_set(error, RECLOSER_USAGE, "cli.partition", "the dataset has no partition %s", wanted);
	else
		error_set(error, RECLOSER_USAGE, "cli.partition", "the dataset has no partitions");
	const char *near = text_nearest(wanted, all.at, all.count);
	if (all.count == 0)
		return error_hint(error, "nothing was loaded into it yet");
	return error_hint(error, "it has, for instance, %s; recloser status lists all",
					  near ? near : partition_shown(all.at[0]));
}

/* ---- the bytes ---- */

recloser_status version_sound(struct dataset *dataset, const struct record *record, const char *file, recloser_error *error)
{
	char hex[SHA256_HEX];
	int failed = dataset->fs->ops->digest(dataset->fs, file, hex, NULL);
	if (failed)
		return error_errno(error, "store.read", failed, "read", file);
	if (strcmp(hex, record->sha256) == 0)
		return RECLOSER_OK;
	error_set(error, RECLOSER_FAULT, "archive.damaged", "the file of seq %" PRId64 " has SHA-256 %s, its record says %s",
			  record->seq, hex, record->sha256);
	error_where(error, "%s", file);
	return error_hint(error, "somebody wrote into it, or the disk did; a backup of the file can be put in its place");
}

/* ---- in words ---- */

static const char *source_names(struct arena *arena, const json_t *sources)
{
	struct text out = text_on(arena);
	size_t count = json_array_size(sources);
	for (size_t i = 0; i < count && i < 3; i++) {
		const char *name = json_get_text(json_array_get(sources, i), "name");
		text_addf(&out, "%s%s", i ? ", " : "", name ? name : "an unnamed source");
	}
	if (count > 3)
		text_addf(&out, " and %zu more", count - 3);
	return out.length ? out.at : NULL;
}

static const char *keys_text(struct arena *arena, const struct record *record)
{
	static const struct {
		const char *member, *word;
	} terms[] = {{"new_keys", "new"}, {"disappeared", "gone"}, {"revised", "revised"}};
	struct text out = text_on(arena);
	for (size_t i = 0; i < 3; i++) {
		int64_t value = json_get_int(record->json, terms[i].member, 0);
		if (value > 0)
			text_addf(&out, "%s%s %s", out.length ? ", " : "", text_count(arena, (uint64_t)value), terms[i].word);
	}
	return out.length ? arena_printf(arena, "keys: %s", out.at) : NULL;
}

const char *version_reason(struct arena *arena, const struct record *record)
{
	const json_t *restored = json_object_get(record->json, "restored_from");
	const char *names = source_names(arena, json_object_get(record->json, "sources"));
	int64_t reappeared = json_get_int(record->json, "reappeared", 0);
	if (json_is_object(restored))
		return arena_printf(arena, "restored from seq %" PRId64, json_get_int(restored, "seq", 0));
	if (strcmp(record->kind, "restored") == 0)
		return "restored";
	if (strcmp(record->kind, "adopted") == 0 && reappeared)
		return arena_printf(arena, "adopted: another program put the bytes of seq %" PRId64 " back", reappeared);
	if (strcmp(record->kind, "adopted") == 0)
		return "adopted: another program put this file here";
	if (json_get_bool(record->json, "rebuilt", false))
		return "known by its archived file only: its record was made again";
	const char *keys = record->seq == 1 ? "first version" : keys_text(arena, record);
	return arena_printf(arena, "%s%s%s", keys ? keys : "keys unchanged", names ? ", from " : "", names ? names : "");
}

/* Of bytes that another program put there and that can't be read, nobody knows how many rows they are. */
static bool version_rows_known(const struct record *record)
{
	return json_is_integer(json_object_get(json_object_get(record->json, "file"), "rows"));
}

const char *version_rows_shown(struct arena *arena, const struct record *record)
{
	if (!version_rows_known(record))
		return "unknown rows";
	return arena_printf(arena, "%s row%s", text_count(arena, record->rows), record->rows == 1 ? "" : "s");
}

json_t *version_json(struct arena *arena, const struct record *record)
{
	json_t *json = json_new_object(arena);
	json_put_int(arena, json, "seq", record->seq);
	json_put_text(arena, json, "kind", record->kind);
	json_put_text(arena, json, "loaded_at", record->loaded_at);
	json_put_text(arena, json, "run", record->run);
	json_put(arena, json, "rows", version_rows_known(record) ? json_on(arena, json_integer((json_int_t)record->rows)) : json_null());
	json_put_int(arena, json, "bytes", (int64_t)record->bytes);
	json_put_text(arena, json, "sha256", record->sha256);
	json_put_text(arena, json, "content_fingerprint", record->content_fingerprint);
	return json;
}

/* ---- the command ---- */

static void put_counts(struct arena *arena, json_t *json, const struct record *record)
{
	static const char *const names[] = {"rows_in", "superseded", "collapsed", "new_keys", "disappeared", "revised", "carried"};
	static const char *const kept[] = {"sources", "restored_from", "compared_with", "changed", "totals", "guards", "accepted"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		json_t *value = json_object_get(record->json, names[i]);
		if (json_is_integer(value))
			json_put(arena, json, names[i], value);
	}
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
		json_t *value = json_object_get(record->json, kept[i]);
		if (value)
			json_put(arena, json, kept[i], value);
	}
	json_put_text(arena, json, "spec_sha256", json_get_text(record->json, "spec_sha256"));
	json_put_text(arena, json, "engine", json_get_text(record->json, "engine"));
	json_put_text(arena, json, "recloser", json_get_text(record->json, "recloser"));
}

static json_t *tag_names(struct arena *arena, const struct tags *tags, const struct record *record, struct text *shown)
{
	json_t *names = json_new_array(arena);
	for (size_t i = 0; i < tags->count; i++)
		if (tag_pins(&tags->at[i], record->partition, record->seq)) {
			json_add_text(arena, names, tags->at[i].name);
			text_addf(shown, "   tag %s", tags->at[i].name);
		}
	return names;
}

struct context {
	struct tags tags;
	json_t *prunes;
	int64_t live; /* the version that is, 0: none of them */
};

/* What was said when it went live, and what was let pass. */
static void tell_guards(struct history *h, const struct record *record)
{
	const json_t *guards = json_object_get(record->json, "guards");
	for (size_t i = 0; i < json_array_size(guards); i++) {
		const json_t *guard = json_array_get(guards, i);
		const char *name = json_get_text(guard, "guard"), *did = json_get_text(guard, "did"), *what = json_get_text(guard, "what");
		if (name && did && what)
			text_addf(&h->text, "        %s %s: %s\n", name, did, what);
	}
}

static recloser_status tell_version(struct history *h, struct record *record, const struct versions *versions,
									const struct context *context, json_t *out, recloser_error *error)
{
	struct arena *arena = h->arena;
	const char *pruned = NULL;
	struct text tagged = text_on(arena);
	struct kept kept;
	bool is_live = record->seq == context->live;
	RC_TRY(version_kept(h->dataset, arena, record, versions->newest, versions, &kept, error));
	if (kept.record != record)
		pruned = pruned_how(arena, context->prunes, record->partition, record->seq);
	json_t *json = version_json(arena, record);
	json_put_text(arena, json, "why", version_reason(arena, record));
	put_counts(arena, json, record);
	json_put_text(arena, json, "archive", record->archive);
	json_put_text(arena, json, "file", kept.file);
	if (kept.record && kept.record != record)
		json_put_int(arena, json, "kept_as", kept.record->seq);
	json_put_bool(arena, json, "live", is_live);
	json_put_bool(arena, json, "finished", !record->unfinished);
	json_put_text(arena, json, "pruned", pruned);
	json_put(arena, json, "tags", tag_names(arena, &context->tags, record, &tagged));
	json_add(arena, out, json);
	text_addf(&h->text, "  seq %" PRId64 "   %s   %s   %s   %s%s%s%s%s\n", record->seq,
			  when_shown(arena, record->loaded_at), version_rows_shown(arena, record), text_bytes(arena, record->bytes),
			  version_reason(arena, record), is_live ? "   live" : "", record->unfinished ? ", not finished" : "",
			  kept.record == record ? ""
			  : pruned              ? arena_printf(arena, "   %s%s", pruned, kept_shown(arena, record, &kept))
									: arena_printf(arena, "   its file is lost%s", kept_shown(arena, record, &kept)),
			  tagged.length ? tagged.at : "");
	text_addf(&h->text, "        run %s   sha256 %s\n", record->run ? record->run : "unknown", record->sha256);
	tell_guards(h, record);
	return RECLOSER_OK;
}

/* With the one that is live and has no record in the ledger yet. */
static recloser_status versions_and_open(struct history *h, const char *partition, struct record *newest, struct versions *out,
										 recloser_error *error)
{
	RC_TRY(versions_of(h->dataset, h->arena, partition, out, error));
	if (!newest || !newest->unfinished || (out->newest && out->newest->seq >= newest->seq))
		return RECLOSER_OK;
	struct record **all = arena_array(h->arena, out->count + 1, sizeof *all);
	if (out->count)
		memcpy(all, out->at, out->count * sizeof *all);
	all[out->count++] = out->newest = newest;
	out->at = all;
	return RECLOSER_OK;
}

recloser_status history_of(struct history *h, const char *wanted, recloser_error *error)
{
	static const char *const states[] = {"none", "sound", "foreign", "missing"};
	struct arena *arena = h->arena;
	const char *partition;
	struct versions versions;
	struct record *newest;
	struct context context = {0};
	struct open_run open;
	enum live_state live;
	RC_TRY(partition_named(h->dataset, arena, wanted, &partition, error));
	RC_TRY(live_newest(h->dataset, arena, partition, &newest, &live, error)); /* versions may be newer, not older */
	RC_TRY(versions_and_open(h, partition, newest, &versions, error));
	open_run_find(h->dataset, arena, &open);
	context.live = newest && live == LIVE_SOUND ? newest->seq : 0;
	RC_TRY(tags_read(h->dataset, arena, &context.tags, error));
	RC_TRY(prunes_read(h->dataset, arena, &context.prunes, error));
	json_t *list = json_new_array(arena);
	json_put_text(arena, h->json, "dataset", h->dataset->name);
	json_put_text(arena, h->json, "partition", partition);
	json_put_text(arena, h->json, "target", live_path(h->dataset, arena, partition));
	json_put_text(arena, h->json, "live", states[live]);
	json_put_text(arena, h->json, "open_run", open.run);
	text_addf(&h->text, "%s  %s   %zu version%s\n", h->dataset->name, partition_shown(partition), versions.count,
			  versions.count == 1 ? "" : "s");
	for (size_t i = versions.count; i > 0; i--)
		RC_TRY(tell_version(h, versions.at[i - 1], &versions, &context, list, error));
	if (open.run)
		text_addf(&h->text, "  %s\n", open_run_told(arena, &open));
	if (live == LIVE_FOREIGN)
		text_add(&h->text, "  the live file is none of these: another program put it there; the next load adopts it\n");
	if (live == LIVE_MISSING)
		text_addf(&h->text, "  the live file is missing: recloser restore %s %s %" PRId64 " brings it back\n", h->spec->path,
				  partition, versions.newest->seq);
	json_put(arena, h->json, "versions", list);
	return RECLOSER_OK;
}
