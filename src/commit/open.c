/* SPDX-License-Identifier: Apache-2.0
 * What was decided and is not finished, for those who only read. A finisher makes all of a run's files live before it writes
 * their records; when it dies in between, those files have no record in the ledger, and still they are no strangers: the
 * newest commit names their bytes, and their records lie in staging. Nothing is finished here: that is left to who writes. */
#define _GNU_SOURCE
#include "commit/object.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

/* ---- the newest commit ---- */

/* The plan of thousands of partitions is parsed only when it is one of a run that still has staging. */
static bool names_one_of(const char *bytes, size_t count, const struct strings *runs)
{
	for (size_t i = 0; i < runs->count; i++)
		if (memmem(bytes, count, runs->at[i], strlen(runs->at[i])))
			return true;
	return false;
}

static recloser_status look_for_plan(struct dataset *dataset, struct arena *scratch, struct plan **out, recloser_error *error)
{
	struct strings runs = {0};
	struct fs_stat stat;
	int64_t number;
	char *bytes;
	size_t count;
	bool there;
	*out = NULL;
	RC_TRY(control_list(dataset, scratch, "staging", &runs, error));
	if (runs.count == 0)
		return RECLOSER_OK;
	RC_TRY(commits_newest(dataset, scratch, &number, error));
	if (number == 0 || dataset->fs->ops->read(dataset->fs, path_commit(dataset, scratch, number), scratch, &bytes, &count) != 0 ||
		!names_one_of(bytes, count, &runs))
		return RECLOSER_OK;
	if (dataset->open && dataset->open->number == number)
		*out = dataset->open;
	else
		RC_TRY(commit_read(dataset, dataset->arena, number, out, error));
	if (!*out)
		return RECLOSER_OK;
	RC_TRY(file_look(dataset, path_staging(dataset, scratch, (*out)->run), &stat, &there, error));
	if (!there)
		*out = NULL;
	return RECLOSER_OK;
}

/* A commit that can't be read is no answer here: recover tells of it. */
static struct plan *open_plan(struct dataset *dataset, bool again)
{
	recloser_error ignored = {0};
	if (dataset->open_known && !again)
		return dataset->open;
	struct arena *scratch = arena_new(dataset->arena);
	dataset->open_known = true;
	if (look_for_plan(dataset, scratch, &dataset->open, &ignored) != RECLOSER_OK)
		dataset->open = NULL;
	arena_free(scratch);
	return dataset->open;
}

void open_forget(struct dataset *dataset)
{
	dataset->open_known = false;
	dataset->open = NULL;
}

static bool is_alive(struct dataset *dataset, struct arena *arena, const char *run)
{
	struct fs *fs = dataset->fs;
	struct fs_lock *lock = NULL;
	struct fs_stat stat;
	const char *alive = path_in(arena, path_staging(dataset, arena, run), "alive", "");
	if (fs->ops->stat(fs, alive, &stat) != 0)
		return false;
	int failed = fs->ops->lock(fs, alive, NULL, &lock);
	if (failed == 0)
		fs->ops->unlock(fs, lock);
	return failed == EWOULDBLOCK || failed == EAGAIN;
}

void open_run_find(struct dataset *dataset, struct arena *arena, struct open_run *out)
{
	*out = (struct open_run){.run = dataset->bucket ? dataset->objects->unfinished : NULL};
	const struct plan *plan = dataset->bucket ? NULL : open_plan(dataset, true);
	if (plan)
		*out = (struct open_run){plan->run, plan->loaded_at, is_alive(dataset, arena, plan->run)};
}

const char *open_run_told(struct arena *arena, const struct open_run *run)
{
	if (run->alive)
		return arena_printf(arena, "run %s was decided and is being finished at this moment", run->run);
	return arena_printf(arena, "run %s was decided and is not finished: `recloser recover` or the next load finishes it", run->run);
}

/* ---- one partition ---- */

static const struct planned *planned_of(const struct plan *plan, const char *partition)
{
	for (size_t i = 0; plan && i < plan->count; i++)
		if (strcmp(plan->at[i].kind, "adopted") != 0 && strcmp(plan->at[i].partition, partition) == 0)
			return &plan->at[i];
	return NULL;
}

static recloser_status is_made_live(struct dataset *dataset, struct arena *arena, const struct planned *planned, bool *yes,
									recloser_error *error)
{
	bool there;
	return file_is(dataset, live_path(dataset, arena, planned->partition), &planned->file, &there, yes, error);
}

/* The ledger's when it came meanwhile, else the staged one, else what the plan tells. */
static recloser_status record_of(struct dataset *dataset, struct arena *arena, const struct plan *plan, const struct planned *planned,
								 struct record **out, recloser_error *error)
{
	recloser_error unreadable = {0};
	json_t *json = NULL;
	RC_TRY(ledger_read(dataset, arena, planned->partition, planned->seq, out, error));
	if (*out)
		return RECLOSER_OK;
	const char *staged = path_staged_record(dataset, arena, plan->run, planned->partition, planned->kind);
	if (file_read_json(dataset, arena, staged, &json, &unreadable) != RECLOSER_OK || !json_is_object(json))
		json = record_from_plan(arena, plan, planned, planned->kind);
	*out = record_from_json(arena, json, planned->partition, planned->seq);
	(*out)->unfinished = true;
	return RECLOSER_OK;
}

recloser_status open_live(struct dataset *dataset, struct arena *arena, const char *partition, struct record **record,
						  enum live_state *state, recloser_error *error)
{
	bool live;
	const struct plan *plan = open_plan(dataset, false);
	const struct planned *planned = planned_of(plan, partition);
	if (!planned) {
		plan = open_plan(dataset, true); /* it may have been decided since */
		planned = planned_of(plan, partition);
	}
	if (!planned || planned->seq <= (*record ? (*record)->seq : 0))
		return RECLOSER_OK;
	RC_TRY(is_made_live(dataset, arena, planned, &live, error));
	if (!live)
		return RECLOSER_OK;
	RC_TRY(record_of(dataset, arena, plan, planned, record, error));
	*state = LIVE_SOUND;
	return RECLOSER_OK;
}

/* ---- all of them ---- */

static int by_partition(const void *one, const void *other)
{
	return strcmp(((const struct ledger_head *)one)->partition, ((const struct ledger_head *)other)->partition);
}

recloser_status live_heads(struct dataset *dataset, struct arena *arena, struct ledger_heads *out, recloser_error *error)
{
	RC_TRY(ledger_heads(dataset, arena, out, error));
	const struct plan *plan = dataset->bucket ? NULL : open_plan(dataset, false);
	if (!plan)
		return RECLOSER_OK;
	size_t known = out->count;
	struct ledger_head *all = arena_array(arena, known + plan->count + 1, sizeof *all);
	if (known)
		memcpy(all, out->at, known * sizeof *all);
	out->at = all;
	for (size_t i = 0; i < plan->count; i++) {
		const struct planned *planned = &plan->at[i];
		struct ledger_head head = {arena_strdup(arena, planned->partition), 0};
		bool live;
		if (strcmp(planned->kind, "adopted") == 0 || bsearch(&head, all, known, sizeof head, by_partition))
			continue;
		RC_TRY(is_made_live(dataset, arena, planned, &live, error));
		if (live)
			all[out->count++] = head;
	}
	qsort(all, out->count, sizeof *all, by_partition);
	return RECLOSER_OK;
}
