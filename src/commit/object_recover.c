/* SPDX-License-Identifier: Apache-2.0
 * Recovery in a bucket is settling the partitions of announced plans. Plans whose every entry is recorded, and old ones,
 * are moved to runs/. */
#include <string.h>

#include "base/clock.h"
#include "commit/object.h"

static const int64_t PLAN_LIFE_US = INT64_C(7) * 24 * 3600 * 1000000;

/* Is there nothing of this entry that a record would still have to be written for? */
static recloser_status entry_settled(struct dataset *dataset, const struct object_plan *plan, const json_t *entry, bool *out,
									 recloser_error *error)
{
	const char *partition = json_get_text(entry, "partition"), *sha256 = json_get_text(entry, "sha256");
	*out = true;
	if (!partition || !sha256 || !is_partition_path(partition))
		return RECLOSER_OK;
	struct object_part *part = object_part(dataset, partition);
	RC_TRY(object_settle(dataset, part, NULL, false, error));
	int64_t seq = json_get_int(json_object_get(entry, "base"), "seq", 0) + 1;
	struct record *record = part->newest;
	if (part->number > seq)
		RC_TRY(object_ledger_read(dataset, dataset->objects->arena, partition, seq, &record, error));
	*out = record && record->seq >= seq && record->run && strcmp(record->run, plan->run) == 0;
	return RECLOSER_OK;
}

static recloser_status close_plan(struct dataset *dataset, struct arena *arena, const struct object_plan *plan,
								  recloser_error *error)
{
	struct bucket *bucket = dataset->bucket;
	struct bucket_body body;
	recloser_error ignored = {0};
	const char *text = json_text(arena, plan->json);
	const char *key = object_key(dataset, path_control(dataset, arena, arena_printf(arena, "runs/%s.json", plan->run)));
	bucket_body_bytes(&body, text, strlen(text));
	/* The run's own report stands there if it came that far. */
	enum bucket_answer answer = bucket->ops->put(bucket, key, &body, BUCKET_IF_ABSENT, NULL, NULL, &ignored);
	if (answer == BUCKET_FAILED || answer == BUCKET_UNKNOWN)
		return RECLOSER_OK; /* the plan stays, and the next command tries again */
	answer = bucket->ops->remove(bucket, plan->key, error);
	return answer == BUCKET_DONE ? RECLOSER_OK : object_failed(dataset, answer, "remove", plan->key, error);
}

static recloser_status recover_plan(struct dataset *dataset, struct arena *arena, const struct object_plan *plan,
									recloser_error *error)
{
	const json_t *entries = json_object_get(plan->json, "entries");
	bool all = true;
	for (size_t i = 0; i < json_array_size(entries); i++) {
		bool settled;
		RC_TRY(entry_settled(dataset, plan, json_array_get(entries, i), &settled, error));
		all = all && settled;
	}
	bool old = plan->changed_us > 0 && clock_now_us() - plan->changed_us > PLAN_LIFE_US;
	return all || old ? close_plan(dataset, arena, plan, error) : RECLOSER_OK;
}

/* ---- the whole dataset ---- */

static recloser_status look_at_all(struct dataset *dataset, struct arena *arena, struct recovery *out, recloser_error *error)
{
	struct strings partitions = {0};
	RC_TRY(object_ledger_partitions(dataset, arena, &partitions, error));
	for (size_t i = 0; i < partitions.count; i++) {
		struct object_part *part = object_part(dataset, partitions.at[i]);
		RC_TRY(object_settle(dataset, part, NULL, false, error));
		if (part->state == LIVE_FOREIGN)
			strings_add(arena, &out->adoptable, partitions.at[i]);
		if (part->state == LIVE_MISSING)
			strings_add(arena, &out->missing, partitions.at[i]);
	}
	return RECLOSER_OK;
}

static recloser_status look_at_tree(struct dataset *dataset, struct arena *arena, struct recovery *out,
									recloser_error *error)
{
	struct bucket *bucket = dataset->bucket;
	const char *folder = arena_printf(arena, "%s/", object_key(dataset, dataset->tree));
	struct bucket_listing what = {.prefix = folder};
	do {
		struct bucket_page page;
		enum bucket_answer answer = bucket->ops->list(bucket, arena, &what, &page, error);
		if (answer != BUCKET_DONE)
			return object_failed(dataset, answer, "list", folder, error);
		for (size_t i = 0; i < page.count; i++) {
			const char *relative = page.at[i].key + strlen(folder), *slash = strrchr(relative, '/');
			const char *partition = slash ? arena_strndup(arena, relative, (size_t)(slash - relative)) : "";
			bool named = strcmp(slash ? slash + 1 : relative, "part.parquet") == 0 && is_partition_path(partition);
			if (!named)
				strings_add(arena, &out->foreign, relative);
			else if (object_part(dataset, partition)->number == 0 && !strings_has(&out->adoptable, partition))
				strings_add(arena, &out->adoptable, partition);
		}
		what.next = page.next;
	} while (what.next);
	return RECLOSER_OK;
}

recloser_status object_recover(struct dataset *dataset, struct arena *arena, bool deep, struct recovery *out,
							   recloser_error *error)
{
	struct objects *objects = dataset->objects;
	memset(out, 0, sizeof *out);
	objects->writing = true;
	if (!dataset->config && !deep)
		return RECLOSER_OK; /* nothing was ever loaded: a plan comes after dataset.json */
	RC_TRY(object_plans_read(dataset, error));
	/* Settling may read the plans anew: the list of now is walked. */
	struct object_plan *plans = objects->plans;
	for (const struct object_plan *plan = plans; plan; plan = plan->next)
		RC_TRY(recover_plan(dataset, arena, plan, error));
	if (deep) {
		RC_TRY(look_at_all(dataset, arena, out, error));
		RC_TRY(look_at_tree(dataset, arena, out, error));
	}
	for (size_t i = 0; i < objects->recorded.count; i++) {
		strings_add(arena, &out->finished_partitions, objects->recorded.at[i]);
		strings_add(
			arena, &out->warnings,
			arena_printf(arena,
						 "%s: an earlier run was cut short after it had replaced the live object; its record is written now",
						 *objects->recorded.at[i] ? objects->recorded.at[i] : "the one partition"));
	}
	object_known_write(dataset, arena);
	return RECLOSER_OK;
}

recloser_status object_recover_look(struct dataset *dataset, struct arena *arena, struct recovery *out,
									recloser_error *error)
{
	struct strings partitions = {0};
	memset(out, 0, sizeof *out);
	RC_TRY(object_ledger_partitions(dataset, arena, &partitions, error));
	for (size_t i = 0; i < partitions.count; i++) {
		struct record *record;
		enum live_state state;
		RC_TRY(ledger_newest(dataset, arena, partitions.at[i], &record, error));
		RC_TRY(live_state(dataset, arena, partitions.at[i], record, &state, error));
		if (state == LIVE_FOREIGN)
			strings_add(arena, &out->adoptable, partitions.at[i]);
		if (state == LIVE_MISSING)
			strings_add(arena, &out->missing, partitions.at[i]);
	}
	return look_at_tree(dataset, arena, out, error);
}

recloser_status object_open_entries(struct dataset *dataset, struct arena *arena, json_t **out, recloser_error *error)
{
	*out = NULL;
	RC_TRY(object_plans_read(dataset, error));
	for (const struct object_plan *plan = dataset->objects->plans; plan; plan = plan->next) {
		const json_t *entries = json_object_get(plan->json, "entries");
		for (size_t i = 0; i < json_array_size(entries); i++) {
			if (!*out)
				*out = json_new_array(arena);
			json_add(arena, *out, json_array_get(entries, i));
		}
	}
	return RECLOSER_OK;
}
