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

struct strays {
	struct dataset *dataset;
	struct arena *arena;
	struct recovery *out;
};

/* By a reader: put by a run that was cut short, or by another program? */
static recloser_status look_at_unrecorded(struct strays *strays, const char *partition, recloser_error *error)
{
	struct record *record;
	enum live_state state;
	RC_TRY(live_newest(strays->dataset, strays->arena, partition, &record, &state, error));
	if (state == LIVE_FOREIGN && !strings_has(&strays->out->adoptable, partition))
		strings_add(strays->arena, &strays->out->adoptable, partition);
	return RECLOSER_OK;
}

static recloser_status look_at_stray(void *arg, const char *rest, const struct bucket_object *object, recloser_error *error)
{
	struct strays *strays = arg;
	struct recovery *out = strays->out;
	const char *slash = strrchr(rest, '/');
	const char *partition = slash ? arena_strndup(strays->arena, rest, (size_t)(slash - rest)) : "";
	(void)object;
	if (strcmp(slash ? slash + 1 : rest, "part.parquet") != 0 || !is_partition_path(partition)) {
		strings_add(strays->arena, &out->foreign, rest);
		return RECLOSER_OK;
	}
	struct object_part *part = object_part(strays->dataset, partition);
	if (part->number == 0 && strays->dataset->objects->writing)
		RC_TRY(object_settle(strays->dataset, part, NULL, true, error));
	if (part->number == 0 && !strays->dataset->objects->writing)
		return look_at_unrecorded(strays, partition, error);
	if (part->number == 0 && !strings_has(&out->adoptable, partition))
		strings_add(strays->arena, &out->adoptable, partition);
	return RECLOSER_OK;
}

static recloser_status look_at_tree(struct dataset *dataset, struct arena *arena, struct recovery *out,
									recloser_error *error)
{
	struct bucket_listing what = object_below(dataset, arena, dataset->tree);
	struct strays strays = {dataset, arena, out};
	return object_each(dataset, arena, &what, look_at_stray, &strays, error);
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
		RC_TRY(live_newest(dataset, arena, partitions.at[i], &record, &state, error));
		if (state == LIVE_FOREIGN)
			strings_add(arena, &out->adoptable, partitions.at[i]);
		if (state == LIVE_MISSING)
			strings_add(arena, &out->missing, partitions.at[i]);
	}
	return look_at_tree(dataset, arena, out, error);
}
