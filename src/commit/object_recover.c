/* SPDX-License-Identifier: Apache-2.0
 * Recovery in a bucket is settling: of all that is recorded or live where it is asked for, else of the partitions that a
 * load touches, when it touches them. A dead writer blocks nobody, so nothing has to be done ahead. */
#include <string.h>

#include "commit/object.h"

static recloser_status look_at_all(struct dataset *dataset, struct arena *arena, struct recovery *out, recloser_error *error)
{
	struct strings partitions = {0};
	RC_TRY(object_ledger_partitions(dataset, arena, &partitions, error));
	for (size_t i = 0; i < partitions.count; i++) {
		struct object_part *part = object_part(dataset, partitions.at[i]);
		RC_TRY(object_settle(dataset, part, NULL, true, error));
		if (part->state == LIVE_FOREIGN)
			strings_add(arena, &out->adoptable, partitions.at[i]);
		if (part->state == LIVE_MISSING)
			strings_add(arena, &out->missing, partitions.at[i]);
	}
	return RECLOSER_OK;
}

static recloser_status look_at_stray(struct dataset *dataset, struct arena *arena, const char *partition,
									 struct recovery *out, recloser_error *error)
{
	struct object_part *part = object_part(dataset, partition);
	if (part->number == 0 && dataset->objects->writing)
		RC_TRY(object_settle(dataset, part, NULL, true, error));
	if (part->number == 0 && !strings_has(&out->adoptable, partition))
		strings_add(arena, &out->adoptable, partition);
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
			if (named)
				RC_TRY(look_at_stray(dataset, arena, partition, out, error));
			else
				strings_add(arena, &out->foreign, relative);
		}
		what.next = page.next;
	} while (what.next);
	return RECLOSER_OK;
}

void object_recorded(struct dataset *dataset, struct arena *arena, struct strings *warnings)
{
	const struct strings *recorded = &dataset->objects->recorded;
	for (size_t i = 0; i < recorded->count; i++)
		strings_add(
			arena, warnings,
			arena_printf(arena,
						 "%s: an earlier run was cut short after it had replaced the live object; its record is written now",
						 *recorded->at[i] ? recorded->at[i] : "the one partition"));
}

recloser_status object_recover(struct dataset *dataset, struct arena *arena, bool deep, struct recovery *out,
							   recloser_error *error)
{
	struct objects *objects = dataset->objects;
	memset(out, 0, sizeof *out);
	objects->writing = true;
	if (!deep)
		return RECLOSER_OK;
	RC_TRY(look_at_all(dataset, arena, out, error));
	RC_TRY(look_at_tree(dataset, arena, out, error));
	for (size_t i = 0; i < objects->recorded.count; i++)
		strings_add(arena, &out->finished_partitions, objects->recorded.at[i]);
	object_recorded(dataset, arena, &out->warnings);
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
