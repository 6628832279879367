/* SPDX-License-Identifier: Apache-2.0
 * A tag pins, for every partition, one version: tags/NAME.json. as-of and verify read it, prune keeps what it names.
 *
 * Prune and tag may run at once. Prune announces what it will delete, then reads the tags again; tag writes itself, then
 * looks whether what it names is still there and announced by nobody. So one of the two sees the other: either prune keeps
 * the file, or the tag is taken back with the word why. */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "history/history.h"

bool tag_name_good(const char *name)
{
	int64_t time;
	size_t length = strlen(name);
	if (length == 0 || length > 100 || *name == '.' || *name == '-' || when_begin(name, &time))
		return false;
	for (const char *at = name; *at; at++)
		if (!(*at >= '0' && *at <= '9') && !(*at >= 'A' && *at <= 'Z') && !(*at >= 'a' && *at <= 'z') && !strchr("._-", *at))
			return false;
	return true;
}

static const char *tag_path(struct arena *arena, const char *name)
{
	return arena_printf(arena, "tags/%s.json", name);
}

static recloser_status check_name(const char *name, recloser_error *error)
{
	if (tag_name_good(name))
		return RECLOSER_OK;
	error_set(error, RECLOSER_USAGE, "tag.name", "\"%s\" can't be the name of a tag", name);
	return error_hint(error, "letters, digits, '.', '_' and '-', and not a date");
}

recloser_status tag_read(struct dataset *dataset, struct arena *arena, const char *name, struct tag **out,
						 recloser_error *error)
{
	json_t *json;
	const char *path = path_control(dataset, arena, tag_path(arena, name));
	*out = NULL;
	if (!tag_name_good(name))
		return RECLOSER_OK;
	RC_TRY(file_read_json(dataset, arena, path, &json, error));
	if (!json)
		return RECLOSER_OK;
	struct tag *tag = arena_alloc(arena, sizeof *tag);
	const json_t *pins = json_object_get(json, "versions");
	tag->name = arena_strdup(arena, name);
	tag->made_at = json_get_text(json, "made_at");
	tag->at = arena_array(arena, json_array_size(pins) + 1, sizeof *tag->at);
	for (size_t i = 0; i < json_array_size(pins); i++) {
		const json_t *pin = json_array_get(pins, i);
		struct pin *to = &tag->at[tag->count++];
		*to = (struct pin){json_get_text(pin, "partition"), json_get_text(pin, "sha256"), json_get_int(pin, "seq", 0)};
		if (to->partition && to->sha256 && to->seq > 0)
			continue;
		error_set(error, RECLOSER_IO, "tag.malformed", "the tag %s can't be read", name);
		return error_where(error, "%s", path);
	}
	*out = tag;
	return RECLOSER_OK;
}

recloser_status tags_read(struct dataset *dataset, struct arena *arena, struct tags *out, recloser_error *error)
{
	struct strings names = {0};
	RC_TRY(control_list(dataset, arena, "tags", &names, error));
	out->count = 0;
	out->at = arena_array(arena, names.count + 1, sizeof *out->at);
	for (size_t i = 0; i < names.count; i++) {
		struct tag *tag;
		if (!text_ends(names.at[i], ".json"))
			continue;
		RC_TRY(
			tag_read(dataset, arena, arena_strndup(arena, names.at[i], strlen(names.at[i]) - strlen(".json")), &tag, error));
		if (tag)
			out->at[out->count++] = *tag;
	}
	return RECLOSER_OK;
}

const struct pin *tag_pins(const struct tag *tag, const char *partition, int64_t seq)
{
	for (size_t i = 0; i < tag->count; i++)
		if (tag->at[i].seq == seq && strcmp(tag->at[i].partition, partition) == 0)
			return &tag->at[i];
	return NULL;
}

/* ---- make ---- */

static json_t *tag_json(struct history *h, const char *name, const struct moment *moment)
{
	struct arena *arena = h->arena;
	json_t *json = json_new_object(arena), *pins = json_new_array(arena);
	json_put_text(arena, json, "tag", name);
	json_put_text(arena, json, "made_at", clock_text(arena, clock_now_us()));
	json_put_text(arena, json, "of", moment->shown);
	json_put_text(arena, json, "spec_sha256", h->spec->text_sha256);
	for (size_t i = 0; i < moment->count; i++) {
		const struct record *record = moment->at[i].record;
		json_t *pin = json_new_object(arena);
		json_put_text(arena, pin, "partition", record->partition);
		json_put_int(arena, pin, "seq", record->seq);
		json_put_text(arena, pin, "sha256", record->sha256);
		json_put_text(arena, pin, "content_fingerprint", record->content_fingerprint);
		json_add(arena, pins, pin);
	}
	json_put(arena, json, "versions", pins);
	return json;
}

static bool same_pins(const struct tag *tag, const struct moment *moment)
{
	bool same = tag->count == moment->count;
	for (size_t i = 0; i < moment->count && same; i++)
		same = tag_pins(tag, moment->at[i].record->partition, moment->at[i].record->seq) != NULL;
	return same;
}

static recloser_status refuse_lost(const struct moment_version *version, recloser_error *error)
{
	error_set(error, RECLOSER_FAULT, "tag.lost", "seq %" PRId64 " of %s is not to be had: %s", version->record->seq,
			  partition_shown(version->record->partition), version->lost);
	return error_hint(error, "a tag names versions that can be read again; nothing was tagged");
}

/* After the tag stands: is everything it names there, and on nobody's list of what is about to go? */
static recloser_status check_after(struct history *h, const struct moment *moment, recloser_error *error)
{
	json_t *prunes;
	RC_TRY(prunes_read(h->dataset, h->arena, &prunes, error));
	for (size_t i = 0; i < moment->count; i++) {
		struct record *record = moment->at[i].record;
		struct kept kept;
		RC_TRY(version_kept(h->dataset, h->arena, record, moment->at[i].newest, NULL, &kept, error));
		if (kept.file && !prune_announced(prunes, record->partition, kept.record->seq))
			continue;
		error_set(error, RECLOSER_CONFLICT, "tag.pruned", "seq %" PRId64 " of %s is being pruned at this moment",
				  record->seq, partition_shown(record->partition));
		return error_hint(error, "the tag was not made; run it again when prune is done");
	}
	return RECLOSER_OK;
}

static void tell_tag(struct history *h, const char *name, const char *outcome, size_t versions)
{
	json_put_text(h->arena, h->json, "dataset", h->dataset->name);
	json_put_text(h->arena, h->json, "tag", name);
	json_put_text(h->arena, h->json, "outcome", outcome);
	json_put_int(h->arena, h->json, "versions", (int64_t)versions);
	text_addf(&h->text, "%s  tag %s   %s   %zu version%s\n", h->dataset->name, name, outcome, versions,
			  versions == 1 ? "" : "s");
}

/* A tag pins records, and what a run has made live before it was killed has none: like every command that writes, finish it.
 * Where another is about to, this one does not wait. */
static recloser_status finish_first(struct history *h, recloser_error *error)
{
	struct recovery recovery = {0};
	struct open_run open;
	RC_TRY(recover(h->dataset, h->arena, false, &recovery, error));
	open_run_find(h->dataset, h->arena, &open);
	if (!open.run)
		return RECLOSER_OK;
	error_set(error, RECLOSER_CONFLICT, "tag.unfinished", "%s", open_run_told(h->arena, &open));
	return error_hint(error, "nothing was tagged; run it again when that is done");
}

/* What is live now, whatever the clock of this machine says: the newest record of every partition. */
static const char LATEST[] = "9999-12-31";

recloser_status tag_make(struct history *h, const char *name, const char *at, recloser_error *error)
{
	struct tag *there;
	struct moment moment;
	RC_TRY(check_name(name, error));
	RC_TRY(finish_first(h, error));
	RC_TRY(as_of_select(h->dataset, h->arena, at ? at : LATEST, &moment, error));
	if (!at)
		moment.shown = "live";
	if (moment.count == 0)
		return error_set(error, RECLOSER_USAGE, "tag.nothing", "there is no version to tag%s",
						 at ? " at that time" : " yet");
	for (size_t i = 0; i < moment.count; i++)
		if (moment.at[i].lost)
			return refuse_lost(&moment.at[i], error);
	RC_TRY(tag_read(h->dataset, h->arena, name, &there, error));
	if (there && same_pins(there, &moment)) {
		tell_tag(h, name, "unchanged", there->count);
		return RECLOSER_OK;
	}
	if (there) {
		error_set(error, RECLOSER_USAGE, "tag.taken", "the tag %s pins other versions already", name);
		return error_hint(error, "a tag does not move; remove it with --delete first, or take another name");
	}
	const char *text = json_text(h->arena, tag_json(h, name, &moment));
	RC_TRY(control_write(h->dataset, h->arena, tag_path(h->arena, name), text, strlen(text), error));
	recloser_status status = check_after(h, &moment, error);
	if (status != RECLOSER_OK) {
		recloser_error ignored = {0};
		(void)!control_remove(h->dataset, h->arena, tag_path(h->arena, name), &ignored);
		return status;
	}
	tell_tag(h, name, "tagged", moment.count);
	return RECLOSER_OK;
}

/* ---- remove, list ---- */

recloser_status tag_remove(struct history *h, const char *name, recloser_error *error)
{
	struct tag *tag;
	RC_TRY(check_name(name, error));
	RC_TRY(tag_read(h->dataset, h->arena, name, &tag, error));
	if (!tag) {
		error_set(error, RECLOSER_USAGE, "tag.unknown", "there is no tag %s", name);
		return error_hint(error, "recloser tag %s --list", h->spec->path);
	}
	RC_TRY(control_remove(h->dataset, h->arena, tag_path(h->arena, name), error));
	tell_tag(h, name, "removed", tag->count);
	return RECLOSER_OK;
}

recloser_status tag_list(struct history *h, recloser_error *error)
{
	struct arena *arena = h->arena;
	struct tags tags;
	RC_TRY(tags_read(h->dataset, arena, &tags, error));
	json_t *list = json_new_array(arena);
	text_addf(&h->text, "%s  %zu tag%s\n", h->dataset->name, tags.count, tags.count == 1 ? "" : "s");
	for (size_t i = 0; i < tags.count; i++) {
		const struct tag *tag = &tags.at[i];
		json_t *json = json_new_object(arena), *pins = json_new_array(arena);
		json_put_text(arena, json, "tag", tag->name);
		json_put_text(arena, json, "made_at", tag->made_at);
		for (size_t k = 0; k < tag->count; k++) {
			json_t *pin = json_new_object(arena);
			json_put_text(arena, pin, "partition", tag->at[k].partition);
			json_put_int(arena, pin, "seq", tag->at[k].seq);
			json_put_text(arena, pin, "sha256", tag->at[k].sha256);
			json_add(arena, pins, pin);
		}
		json_put(arena, json, "versions", pins);
		json_add(arena, list, json);
		text_addf(&h->text, "  %s   %s   %zu version%s\n", tag->name, when_shown(arena, tag->made_at), tag->count,
				  tag->count == 1 ? "" : "s");
	}
	json_put_text(arena, h->json, "dataset", h->dataset->name);
	json_put(arena, h->json, "tags", list);
	return RECLOSER_OK;
}
