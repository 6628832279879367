/* SPDX-License-Identifier: Apache-2.0
 * Records in a bucket. The newest number is found by one LIST after the last number known; known.json keeps what the last
 * command knew (object_known.c), so that an unchanged partition costs a LIST and a HEAD and no GET. */
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

static int64_t largest_of(const struct bucket_page *page, size_t skip)
{
	int64_t largest = 0;
	for (size_t i = 0; i < page->count; i++) {
		const char *name = page->at[i].key + skip;
		if (!strchr(name, '/') && number_of(name) > largest)
			largest = number_of(name);
	}
	return largest;
}

recloser_status object_newest(struct dataset *dataset, struct object_part *part, bool again, recloser_error *error)
{
	struct bucket *bucket = dataset->bucket;
	if (part->listed && !again)
		return RECLOSER_OK;
	struct arena *arena = arena_new(dataset->objects->arena);
	const char *folder = arena_printf(
		arena, "%s/", object_key(dataset, path_in(arena, path_control(dataset, arena, "ledger"), part->partition, "")));
	struct bucket_listing what = {.prefix = folder};
	struct bucket_page page;
	int64_t largest = part->number;
	enum bucket_answer answer;
	if (part->number)
		what.after = object_record_key(dataset, arena, part->partition, part->number);
	do {
		answer = bucket->ops->list(bucket, arena, &what, &page, error);
		int64_t found = answer == BUCKET_DONE ? largest_of(&page, strlen(folder)) : 0;
		largest = found > largest ? found : largest;
		what.next = answer == BUCKET_DONE ? page.next : NULL;
	} while (what.next);
	recloser_status status = answer == BUCKET_DONE ? RECLOSER_OK : object_failed(dataset, answer, "list", folder, error);
	arena_free(arena);
	RC_TRY(status);
	part->listed = true;
	if (largest == part->number)
		return RECLOSER_OK;
	struct record *record;
	RC_TRY(object_ledger_read(dataset, dataset->objects->arena, part->partition, largest, &record, error));
	if (record)
		object_learn(dataset, part, record);
	return RECLOSER_OK;
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
	struct bucket *bucket = dataset->bucket;
	const char *folder = object_key(dataset, path_control(dataset, arena, "ledger/"));
	struct bucket_listing what = {.prefix = folder};
	const char *last = NULL;
	do {
		struct bucket_page page;
		enum bucket_answer answer = bucket->ops->list(bucket, arena, &what, &page, error);
		if (answer != BUCKET_DONE)
			return object_failed(dataset, answer, "list", folder, error);
		for (size_t i = 0; i < page.count; i++) {
			const char *relative = page.at[i].key + strlen(folder), *slash = strrchr(relative, '/');
			const char *partition = slash ? arena_strndup(arena, relative, (size_t)(slash - relative)) : "";
			if (number_of(slash ? slash + 1 : relative) == 0 || !is_partition_path(partition))
				continue;
			if (last && strcmp(last, partition) == 0)
				continue;
			strings_add(arena, out, last = partition);
		}
		what.next = page.next;
	} while (what.next);
	strings_sort(out);
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
