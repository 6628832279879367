/* SPDX-License-Identifier: Apache-2.0
 * Announced plans. A plan tells what a run is about to put on what base, so that anybody can write the record of a version
 * whose writer died after its PUT. It never blocks anybody. */
#include <string.h>

#include "commit/object.h"

static recloser_status read_plan(struct dataset *dataset, const struct bucket_object *object, recloser_error *error)
{
	struct objects *objects = dataset->objects;
	for (struct object_plan *plan = objects->plans; plan; plan = plan->next)
		if (strcmp(plan->key, object->key) == 0 && plan->own)
			return RECLOSER_OK;
	json_t *json;
	RC_TRY(object_read_json(dataset, objects->arena, object->key, &json, error));
	if (!json || !json_get_text(json, "run") || !json_is_array(json_object_get(json, "entries")))
		return RECLOSER_OK; /* just ended, or not one of ours */
	struct object_plan *plan = arena_alloc(objects->arena, sizeof *plan);
	*plan = (struct object_plan){.key = arena_strdup(objects->arena, object->key),
								 .run = json_get_text(json, "run"),
								 .json = json,
								 .changed_us = object->changed_us,
								 .next = objects->plans};
	objects->plans = plan;
	return RECLOSER_OK;
}

/* All that are announced now; one's own stays. A plan may have been written anew by its run since it was read. */
recloser_status object_plans_read(struct dataset *dataset, recloser_error *error)
{
	struct objects *objects = dataset->objects;
	struct bucket *bucket = dataset->bucket;
	struct arena *arena = arena_new(objects->arena);
	const char *folder = object_key(dataset, path_control(dataset, arena, "plans/"));
	struct bucket_listing what = {.prefix = folder};
	recloser_status status = RECLOSER_OK;
	struct object_plan *own = NULL;
	for (struct object_plan *plan = objects->plans; plan && !own; plan = plan->next)
		own = plan->own ? plan : NULL;
	if (own)
		own->next = NULL;
	objects->plans = own;
	do {
		struct bucket_page page;
		enum bucket_answer answer = bucket->ops->list(bucket, arena, &what, &page, error);
		what.next = answer == BUCKET_DONE ? page.next : NULL;
		if (answer != BUCKET_DONE)
			status = object_failed(dataset, answer, "list", folder, error);
		for (size_t i = 0; status == RECLOSER_OK && i < page.count; i++)
			status = read_plan(dataset, &page.at[i], error);
	} while (status == RECLOSER_OK && what.next);
	arena_free(arena);
	return status;
}

json_t *object_plan_find(struct dataset *dataset, const char *partition, const char *sha256, const char *base_sha256)
{
	for (struct object_plan *plan = dataset->objects->plans; plan; plan = plan->next) {
		json_t *entries = json_object_get(plan->json, "entries");
		for (size_t i = 0; i < json_array_size(entries); i++) {
			json_t *entry = json_array_get(entries, i);
			const char *there = json_get_text(entry, "partition"), *bytes = json_get_text(entry, "sha256");
			const char *base = json_get_text(json_object_get(entry, "base"), "sha256");
			if (there && bytes && strcmp(there, partition) == 0 && strcmp(bytes, sha256) == 0 &&
				(!base_sha256 || strcmp(base ? base : "", base_sha256) == 0))
				return entry;
		}
	}
	return NULL;
}

json_t *object_record_of(struct arena *arena, const json_t *entry, int64_t seq, const char *token)
{
	const json_t *complete = json_object_get(entry, "record");
	json_t *record = json_new_object(arena), *file = json_on(arena, json_deep_copy(json_object_get(complete, "file")));
	const char *name;
	json_t *value;
	json_put_int(arena, record, "seq", seq);
	json_object_foreach((json_t *)complete, name, value) if (strcmp(name, "file") != 0 && strcmp(name, "seq") != 0)
		json_put(arena, record, name, value);
	json_put_text(arena, file, "etag", token);
	json_put(arena, record, "file", file);
	return record;
}
