/* SPDX-License-Identifier: Apache-2.0
 * Step 2, and all of recovery: make the newest record describe what is live. Everybody may do it at any time, since a
 * record's number is taken by whoever creates it first. */
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "commit/object.h"

enum { ROUNDS = 50 };

recloser_status object_record_put(struct dataset *dataset, struct object_part *part, json_t *json, int64_t seq, bool *ours,
								  recloser_error *error)
{
	struct objects *objects = dataset->objects;
	struct bucket *bucket = dataset->bucket;
	recloser_error problem = {0};
	struct bucket_body body;
	const char *key = object_record_key(dataset, objects->arena, part->partition, seq);
	const char *text = json_text(objects->arena, json);
	bucket_body_bytes(&body, text, strlen(text));
	enum bucket_answer answer = bucket->ops->put(bucket, key, &body, BUCKET_IF_ABSENT, NULL, NULL, &problem);
	*ours = answer == BUCKET_DONE;
	if (*ours) {
		object_learn(dataset, part, record_from_json(objects->arena, json, part->partition, seq));
		return RECLOSER_OK;
	}
	if (answer == BUCKET_FAILED) {
		if (error && error->status == RECLOSER_OK)
			*error = problem;
		return object_failed(dataset, answer, "write a record", key, error);
	}
	/* Whatever was answered, what stands under the number tells. */
	int64_t before = part->number;
	RC_TRY(object_advance(dataset, part, error));
	*ours = part->number >= seq && before < seq && json_equal(part->newest->json, json);
	return RECLOSER_OK;
}

/* ---- (c) what is live has no record ---- */

/* A plan put these bytes on base b, but the newest record is not b: b was live in between, and nobody recorded it. */
static json_t *inferred_record(struct dataset *dataset, const struct object_part *part, const json_t *entry)
{
	struct arena *arena = dataset->objects->arena;
	const json_t *base = json_object_get(entry, "base");
	const char *sha256 = json_get_text(base, "sha256"), *token = json_get_text(base, "etag");
	const json_t *maker = object_plan_find(dataset, part->partition, sha256, NULL);
	json_t *record;
	if (maker) {
		record = object_record_of(arena, maker, part->number + 1, token);
	} else {
		json_t *file = json_new_object(arena);
		record = json_new_object(arena);
		json_put_int(arena, record, "seq", part->number + 1);
		json_put_text(arena, record, "partition", part->partition);
		json_put_text(arena, record, "kind", "adopted");
		json_put_text(arena, record, "loaded_at", json_get_text(json_object_get(entry, "record"), "loaded_at"));
		json_put_text(arena, file, "sha256", sha256);
		json_put_int(arena, file, "bytes", json_get_int(base, "bytes", 0));
		json_put_text(arena, file, "etag", token);
		json_put(arena, record, "file", file);
	}
	json_put_bool(arena, record, "inferred", true);
	return record;
}

static json_t *base_of(struct arena *arena, const struct record *newest)
{
	if (!newest)
		return json_null();
	json_t *base = json_new_object(arena);
	json_put_int(arena, base, "seq", newest->seq);
	json_put_text(arena, base, "sha256", newest->sha256);
	json_put_int(arena, base, "bytes", (int64_t)newest->bytes);
	return base;
}

static json_t *adopted_record(struct dataset *dataset, const struct object_part *part, const struct object_adopt *adopt)
{
	struct arena *arena = dataset->objects->arena;
	json_t *record = json_new_object(arena), *file = json_new_object(arena);
	recloser_error problem = {0};
	const char *now = clock_text(arena, clock_now_us());
	const char *previous = part->newest ? part->newest->loaded_at : NULL;
	json_put_int(arena, record, "seq", part->number + 1);
	json_put_text(arena, record, "partition", part->partition);
	json_put_text(arena, record, "kind", "adopted");
	json_put_text(arena, record, "run", adopt->run);
	json_put_text(arena, record, "loaded_at", previous && strcmp(previous, now) > 0 ? previous : now);
	json_put(arena, record, "base", base_of(arena, part->newest));
	json_put(arena, record, "earlier", object_earlier(arena, part->newest));
	json_put_text(arena, file, "sha256", part->file_sha256);
	json_put_int(arena, file, "bytes", (int64_t)part->live.bytes);
	json_put_text(arena, file, "etag", part->live.token);
	json_put(arena, record, "file", file);
	if (adopt->options->describe &&
		adopt->options->describe(adopt->options->arg, part->partition, part->file, record, &problem) != RECLOSER_OK)
		json_put_text(arena, record, "unreadable", problem.what);
	return record;
}

/* Which record is missing, or NULL: none that may be written here. */
static json_t *missing_record(struct dataset *dataset, struct object_part *part, const struct object_adopt *adopt,
							  bool *adopting)
{
	const char *newest = part->newest ? part->newest->sha256 : "";
	json_t *entry = object_plan_find(dataset, part->partition, part->file_sha256, newest);
	*adopting = false;
	if (entry)
		return object_record_of(dataset->objects->arena, entry, part->number + 1, part->live.token);
	entry = object_plan_find(dataset, part->partition, part->file_sha256, NULL);
	if (entry) {
		const char *base = json_get_text(json_object_get(entry, "base"), "sha256");
		return base ? inferred_record(dataset, part, entry)
					: object_record_of(dataset->objects->arena, entry, part->number + 1, part->live.token);
	}
	*adopting = adopt != NULL;
	return adopt ? adopted_record(dataset, part, adopt) : NULL;
}

/* A run that ended has reported this very version: its record was there. */
static recloser_status refuse_lost(struct dataset *dataset, struct object_part *part, recloser_error *error)
{
	int64_t before = part->number;
	if (!object_plan_reported(dataset, part->partition, part->file_sha256, part->number + 1))
		return RECLOSER_OK;
	RC_TRY(object_advance(dataset, part, error)); /* it may have come in between */
	return part->number != before ? RECLOSER_OK : object_ledger_lost(dataset, part, part->number + 1, error);
}

static recloser_status explain(struct dataset *dataset, struct object_part *part, const struct object_adopt *adopt,
							   bool *settled, recloser_error *error)
{
	struct objects *objects = dataset->objects;
	bool ours, adopting;
	*settled = false;
	int64_t before = part->number;
	RC_TRY(object_advance(dataset, part, error)); /* a listing may be old */
	if (part->number != before)
		return RECLOSER_OK;
	RC_TRY(object_plans_read(dataset, part, error));
	if (adopt) {
		RC_TRY(refuse_lost(dataset, part, error));
		if (part->number != before)
			return RECLOSER_OK;
	}
	json_t *record = missing_record(dataset, part, adopt, &adopting);
	if (!record) {
		*settled = true; /* LIVE_FOREIGN, and to stay so */
		return RECLOSER_OK;
	}
	RC_TRY(object_record_put(dataset, part, record, part->number + 1, &ours, error));
	if (!ours)
		return RECLOSER_OK;
	if (adopting && !strings_has(&adopt->report->adopted, part->partition))
		strings_add(objects->arena, &adopt->report->adopted, part->partition);
	else if (!adopting && !strings_has(&objects->recorded, part->partition))
		strings_add(objects->arena, &objects->recorded, part->partition);
	return RECLOSER_OK;
}

/* Of a ledger that is not listed whole known.json is taken for a listing that may be old: whoever would be misled by it is
 * refused, by the PUT's condition or under the record's number, and asks then. */
static recloser_status vouched(struct dataset *dataset, struct object_part *part, bool *settled, recloser_error *error)
{
	const struct objects *objects = dataset->objects;
	bool moved;
	*settled = false;
	RC_TRY(object_ledger_ask(dataset, error));
	if (part->listed || objects->listing == LEDGER_WHOLE || !objects->known.there)
		return RECLOSER_OK;
	if (part->number == 0) {
		*settled = part->expected && !objects->known.partial && !part->looked;
		part->state = LIVE_NONE;
		return RECLOSER_OK;
	}
	if (!part->looked)
		RC_TRY(object_look_expecting(dataset, part, error));
	if (!part->there || !object_token_is_newest(part))
		return RECLOSER_OK;
	RC_TRY(object_judge(dataset, part, &moved, error));
	*settled = true;
	return RECLOSER_OK;
}

recloser_status object_settle(struct dataset *dataset, struct object_part *part, const struct object_adopt *adopt,
							  bool again, recloser_error *error)
{
	bool settled = false;
	if (!again && dataset->objects->writing)
		RC_TRY(vouched(dataset, part, &settled, error));
	for (int round = 0; round < ROUNDS && !settled; round++) {
		bool moved, fresh = again || round > 0;
		RC_TRY(object_newest(dataset, part, again && round == 0, error)); /* (a) */
		if (fresh)
			RC_TRY(object_look(dataset, part, error));
		else if (!part->looked)
			RC_TRY(object_look_expecting(dataset, part, error));
		RC_TRY(object_judge(dataset, part, &moved, error)); /* (b) */
		if (moved) {
			RC_TRY(object_advance(dataset, part, error));
			continue;
		}
		if (part->state != LIVE_FOREIGN)
			return RECLOSER_OK;
		RC_TRY(explain(dataset, part, adopt, &settled, error)); /* (c) */
	}
	if (settled)
		return RECLOSER_OK;
	error_set(error, RECLOSER_CONFLICT, "commit.live_changed",
			  "the live object of %s is replaced faster than it can be recorded",
			  *part->partition ? part->partition : "the dataset");
	return error_where(error, "%s", live_path(dataset, dataset->objects->arena, part->partition));
}
