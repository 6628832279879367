/* SPDX-License-Identifier: Apache-2.0
 * Records in a bucket. While one page lists the whole ledger a command asks for it once; a larger one is asked for each
 * partition, from the last number known. known.json keeps what the last command knew (object_known.c), so that an unchanged
 * partition costs a HEAD and no GET. */
#include <stdlib.h>
#include <string.h>

#include "commit/object.h"

struct object_part *object_part(struct dataset *dataset, const char *partition)
{
	struct objects *objects = dataset->objects;
	for (struct object_part *part = objects->parts; part; part = part->next)
		if (strcmp(part->partition, partition) == 0)
			return part;
	struct object_part *part = arena_alloc(objects->arena, sizeof *part);
	part->partition = arena_strdup(objects->arena, partition);
	part->next = objects->parts;
	objects->parts = part;
	json_t *json = json_object_get(objects->known.records, partition);
	if (json) {
		json_on(objects->arena,
				json_incref(json)); /* a later record takes its place in known.json while others look at this one */
		part->number = json_get_int(json, "seq", 0);
		part->newest = part->number > 0 ? record_from_json(objects->arena, json, part->partition, part->number) : NULL;
	}
	return part;
}

void object_learn(struct dataset *dataset, struct object_part *part, struct record *record)
{
	struct objects *objects = dataset->objects;
	if (record->seq != part->number)
		part->looked = false; /* what was seen before is no news after it: a version is live before it has its record */
	part->number = record->seq;
	part->newest = record;
	json_put(objects->arena, objects->known.records, part->partition, record->json);
	objects->known.changed = true;
}

recloser_status object_ledger_read(struct dataset *dataset, struct arena *arena, const char *partition, int64_t seq,
								   struct record **out, recloser_error *error)
{
	const char *key = object_record_key(dataset, arena, partition, seq);
	json_t *json;
	*out = NULL;
	RC_TRY(object_read_json(dataset, arena, key, &json, error));
	if (!json)
		return RECLOSER_OK;
	if (json_get_int(json, "seq", 0) != seq || !json_get_text(json, "kind")) {
		error_set(error, RECLOSER_IO, "ledger.malformed", "the record is not one of version %lld", (long long)seq);
		return error_where(error, "%s/%s", dataset->root, key);
	}
	*out = record_from_json(arena, json, partition, seq);
	return RECLOSER_OK;
}

recloser_status object_advance(struct dataset *dataset, struct object_part *part, recloser_error *error)
{
	for (;;) {
		struct record *record;
		RC_TRY(object_ledger_read(dataset, dataset->objects->arena, part->partition, part->number + 1, &record, error));
		if (!record)
			return RECLOSER_OK;
		object_learn(dataset, part, record);
	}
}

/* ---- what is there ---- */

enum { SURE_OF_A_PAGE = 900 }; /* of 1,000 records, and what was added since known.json was written */

static const char *ledger_folder(const struct dataset *dataset, struct arena *arena)
{
	return object_key(dataset, path_control(dataset, arena, "ledger/"));
}

/* Keys come sorted, so numbers of one partition follow each other. */
static void note_head(struct objects *objects, const char *partition, int64_t seq)
{
	json_t *head = json_object_get(objects->heads, partition);
	int64_t newest = json_get_int(head, "newest", 0);
	if (!head) {
		head = json_new_object(objects->arena);
		json_put(objects->arena, objects->heads, partition, head);
	}
	if (seq > newest + 1 && !json_get_int(head, "missing", 0))
		json_put_int(objects->arena, head, "missing", newest + 1);
	if (seq > newest)
		json_put_int(objects->arena, head, "newest", seq);
}

static void note_page(struct objects *objects, struct arena *arena, const struct bucket_page *page, size_t skip)
{
	for (size_t i = 0; i < page->count; i++) {
		const char *relative = page->at[i].key + skip, *slash = strrchr(relative, '/');
		const char *partition = slash ? arena_strndup(arena, relative, (size_t)(slash - relative)) : "";
		int64_t seq = number_of(slash ? slash + 1 : relative);
		if (seq > 0 && is_partition_path(partition))
			note_head(objects, partition, seq);
	}
}

/* All of it, or (`one_page`) as much as one request tells. */
static recloser_status list_whole(struct dataset *dataset, bool one_page, recloser_error *error)
{
	struct objects *objects = dataset->objects;
	struct bucket *bucket = dataset->bucket;
	struct arena *arena = arena_new(objects->arena);
	const char *folder = ledger_folder(dataset, arena);
	struct bucket_listing what = {.prefix = folder};
	enum bucket_answer answer;
	objects->heads = json_new_object(objects->arena);
	do {
		struct bucket_page page;
		answer = bucket->ops->list(bucket, arena, &what, &page, error);
		what.next = answer == BUCKET_DONE ? page.next : NULL;
		if (answer == BUCKET_DONE)
			note_page(objects, arena, &page, strlen(folder));
	} while (what.next && !one_page);
	objects->listing = what.next ? LEDGER_LARGE : LEDGER_WHOLE;
	recloser_status status = answer == BUCKET_DONE ? RECLOSER_OK : object_failed(dataset, answer, "list", folder, error);
	if (status != RECLOSER_OK)
		objects->listing = LEDGER_UNASKED;
	arena_free(arena);
	return status;
}

/* From the last number known, which should be the first that is listed. */
static recloser_status list_part(struct dataset *dataset, struct object_part *part, int64_t *newest, recloser_error *error)
{
	struct bucket *bucket = dataset->bucket;
	struct arena *arena = arena_new(dataset->objects->arena);
	const char *folder = arena_printf(
		arena, "%s/", object_key(dataset, path_in(arena, path_control(dataset, arena, "ledger"), part->partition, "")));
	struct bucket_listing what = {.prefix = folder};
	enum bucket_answer answer;
	int64_t expected = part->number ? part->number : 1;
	*newest = 0;
	part->missing = 0;
	if (expected > 1)
		what.after = object_record_key(dataset, arena, part->partition, expected - 1);
	do {
		struct bucket_page page;
		answer = bucket->ops->list(bucket, arena, &what, &page, error);
		what.next = answer == BUCKET_DONE ? page.next : NULL;
		for (size_t i = 0; answer == BUCKET_DONE && i < page.count; i++) {
			const char *name = page.at[i].key + strlen(folder);
			int64_t seq = strchr(name, '/') ? 0 : number_of(name);
			if (seq < expected)
				continue;
			if (seq > expected && !part->missing)
				part->missing = expected;
			expected = seq + 1;
			*newest = seq;
		}
	} while (what.next);
	if (part->number && !*newest)
		part->missing = part->number;
	recloser_status status = answer == BUCKET_DONE ? RECLOSER_OK : object_failed(dataset, answer, "list", folder, error);
	arena_free(arena);
	return status;
}

static void look_in_heads(struct dataset *dataset, struct object_part *part, int64_t *newest)
{
	const json_t *head = json_object_get(dataset->objects->heads, part->partition);
	*newest = json_get_int(head, "newest", 0);
	part->missing = json_get_int(head, "missing", 0);
	if (!part->missing && *newest < part->number)
		part->missing = *newest + 1;
}

recloser_status object_ledger_ask(struct dataset *dataset, recloser_error *error)
{
	struct objects *objects = dataset->objects;
	if (objects->listing != LEDGER_UNASKED)
		return RECLOSER_OK;
	if (objects->known.count <= SURE_OF_A_PAGE && !objects->known.partial)
		return list_whole(dataset, true, error);
	objects->listing = LEDGER_LARGE;
	return RECLOSER_OK;
}

recloser_status object_newest(struct dataset *dataset, struct object_part *part, bool again, recloser_error *error)
{
	struct objects *objects = dataset->objects;
	int64_t newest;
	again |= part->stale;
	part->stale = false;
	if (part->listed && !again)
		return RECLOSER_OK;
	if (!again)
		RC_TRY(object_ledger_ask(dataset, error));
	if (!again && objects->listing == LEDGER_WHOLE)
		look_in_heads(dataset, part, &newest);
	else
		RC_TRY(list_part(dataset, part, &newest, error));
	part->listed = true;
	if (newest <= part->number)
		return RECLOSER_OK;
	struct record *record;
	RC_TRY(object_ledger_read(dataset, objects->arena, part->partition, newest, &record, error));
	if (record)
		object_learn(dataset, part, record);
	return RECLOSER_OK;
}

recloser_status object_ledger_lost(struct dataset *dataset, const struct object_part *part, int64_t seq,
								   recloser_error *error)
{
	error_set(error, RECLOSER_IO, "ledger.lost", "the record of a version that was live is gone");
	error_where(error, "%s", path_record(dataset, dataset->objects->arena, part->partition, seq));
	return error_hint(error, "nothing was changed; recloser recover --rebuild makes it again");
}

/* A listing may be old, but a record that is asked for and is not there is gone. */
static recloser_status is_gone(struct dataset *dataset, const char *partition, int64_t seq, bool *gone,
							   recloser_error *error)
{
	struct record *record;
	RC_TRY(object_ledger_read(dataset, dataset->objects->arena, partition, seq, &record, error));
	*gone = !record;
	return RECLOSER_OK;
}

recloser_status object_ledger_sound(struct dataset *dataset, struct object_part *part, recloser_error *error)
{
	struct objects *objects = dataset->objects;
	bool gone = false;
	if (part->missing) {
		RC_TRY(is_gone(dataset, part->partition, part->missing, &gone, error));
		if (gone)
			return object_ledger_lost(dataset, part, part->missing, error);
		part->missing = 0;
	}
	if (objects->listing != LEDGER_WHOLE || json_object_size(objects->heads) > 0)
		return RECLOSER_OK;
	/* Not one record: of a dataset that has none yet, or whose ledger is gone as a whole. */
	const char *partition;
	json_t *record;
	json_object_foreach(objects->known.records, partition, record)
	{
		const struct object_part *other = object_part(dataset, partition);
		if (other->listed && other->missing == 0)
			continue; /* of this run */
		RC_TRY(is_gone(dataset, partition, json_get_int(record, "seq", 0), &gone, error));
		return gone ? object_ledger_lost(dataset, other, json_get_int(record, "seq", 0), error) : RECLOSER_OK;
	}
	return RECLOSER_OK;
}

void object_ledger_forget(struct dataset *dataset)
{
	struct objects *objects = dataset->objects;
	for (struct object_part *part = objects->parts; part; part = part->next) {
		part->listed = part->looked = false;
		part->number = part->missing = 0;
		part->newest = NULL;
	}
	objects->known.records = json_new_object(objects->arena);
	objects->known.changed = true;
	objects->listing = LEDGER_UNASKED;
}

recloser_status object_ledger_newest(struct dataset *dataset, const char *partition, struct record **out,
									 recloser_error *error)
{
	struct object_part *part = object_part(dataset, partition);
	if (dataset->objects->writing)
		RC_TRY(object_settle(dataset, part, NULL, false, error));
	else
		RC_TRY(object_newest(dataset, part, false, error));
	*out = part->newest;
	return RECLOSER_OK;
}

recloser_status object_ledger_partitions(struct dataset *dataset, struct arena *arena, struct strings *out,
										 recloser_error *error)
{
	const char *partition;
	json_t *head;
	if (dataset->objects->listing != LEDGER_WHOLE)
		RC_TRY(list_whole(dataset, false, error));
	json_object_foreach(dataset->objects->heads, partition, head) strings_add(arena, out, arena_strdup(arena, partition));
	strings_sort(out);
	return RECLOSER_OK;
}

/* A live object that known.json does not tell of may be of a run whose known.json was not written, or not ours. */
static recloser_status has_record(struct dataset *dataset, const char *partition, bool *out, recloser_error *error)
{
	const struct objects *objects = dataset->objects;
	int64_t newest = 1;
	if (!json_object_get(objects->known.records, partition) && objects->known.there && !objects->known.partial)
		RC_TRY(list_part(dataset, object_part(dataset, partition), &newest, error));
	*out = newest > 0;
	return RECLOSER_OK;
}

struct live_partitions {
	struct dataset *dataset;
	struct arena *arena;
	struct strings *out;
};

static recloser_status add_live(void *arg, const char *rest, const struct bucket_object *object, recloser_error *error)
{
	static const char leaf[] = "/part.parquet";
	struct live_partitions *live = arg;
	bool recorded = false;
	(void)object;
	if (!text_ends(rest, leaf))
		return RECLOSER_OK;
	const char *partition = arena_strndup(live->arena, rest, strlen(rest) - strlen(leaf));
	if (is_partition_path(partition))
		RC_TRY(has_record(live->dataset, partition, &recorded, error));
	if (recorded)
		strings_add(live->arena, live->out, partition);
	return RECLOSER_OK;
}

recloser_status object_partitions(struct dataset *dataset, struct arena *arena, struct strings *out, recloser_error *error)
{
	struct strings live = {0};
	const char *partition;
	json_t *record;
	RC_TRY(object_ledger_ask(dataset, error));
	if (dataset->objects->listing == LEDGER_WHOLE)
		return object_ledger_partitions(dataset, arena, out, error);
	/* One request for 1,000 live objects, where that for 1,000 records would grow with all that ever was. */
	struct bucket_listing what = object_below(dataset, arena, dataset->tree);
	struct live_partitions found = {dataset, arena, &live};
	RC_TRY(object_each(dataset, arena, &what, add_live, &found, error));
	json_object_foreach(dataset->objects->known.records, partition, record) strings_add(arena, &live, partition);
	strings_sort(&live);
	for (size_t i = 0; i < live.count; i++)
		if (i == 0 || strcmp(live.at[i - 1], live.at[i]) != 0)
			strings_add(arena, out, live.at[i]);
	return RECLOSER_OK;
}

/* ---- sources of earlier versions ---- */

json_t *object_earlier(struct arena *arena, const struct record *base)
{
	enum { MOST = 200 };
	json_t *earlier = json_new_array(arena);
	if (!base)
		return earlier;
	const json_t *sources = json_object_get(base->json, "sources"), *before = json_object_get(base->json, "earlier");
	for (size_t i = 0; i < json_array_size(sources); i++) {
		json_t *one = json_new_object(arena);
		json_put_int(arena, one, "seq", base->seq);
		json_put_text(arena, one, "sha256", json_get_text(json_array_get(sources, i), "sha256"));
		json_add(arena, earlier, one);
	}
	for (size_t i = 0; i < json_array_size(before) && json_array_size(earlier) < MOST; i++)
		json_add(arena, earlier, json_array_get(before, i));
	return earlier;
}

void object_source(const struct record *base, const struct strings *sha256s, int64_t *seq, size_t *which)
{
	const json_t *earlier = json_object_get(base->json, "earlier");
	for (size_t i = 0; i < json_array_size(earlier); i++)
		for (size_t k = 0; k < sha256s->count; k++) {
			const char *sha256 = json_get_text(json_array_get(earlier, i), "sha256");
			if (!sha256 || strcmp(sha256, sha256s->at[k]) != 0)
				continue;
			*which = k;
			*seq = json_get_int(json_array_get(earlier, i), "seq", 0);
			return;
		}
}
