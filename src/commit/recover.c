/* SPDX-License-Identifier: Apache-2.0
 * Step 3 by itself, and the sweeping of what dead runs left. Nobody needs to call this for safety: every writing command
 * finishes the newest commit first. */
#include "commit/object.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

static void warn(struct arena *arena, struct recovery *out, const char *text)
{
	strings_add(arena, &out->warnings, text);
}

/* ---- finish ---- */

static recloser_status finish_open(struct session *session, struct arena *arena, struct recovery *out, recloser_error *error)
{
	int64_t number;
	const char *loaded_at;
	struct plan *plan;
	RC_TRY(finish_newest(session, arena, &number, &loaded_at, &plan, error));
	open_forget(session->dataset);
	if (!plan)
		return RECLOSER_OK;
	out->finished = number;
	for (size_t i = 0; i < plan->count; i++)
		if (!strings_has(&out->finished_partitions, plan->at[i].partition))
			strings_add(arena, &out->finished_partitions, arena_strdup(arena, plan->at[i].partition));
	return RECLOSER_OK;
}

/* ---- sweep ---- */

/* Looked at while the dead run's `alive` is held by us: it can't decide any more. */
static recloser_status is_open_commit(struct dataset *dataset, struct arena *arena, const char *run, bool *open,
									  recloser_error *error)
{
	int64_t number;
	struct plan *plan = NULL;
	RC_TRY(commits_newest(dataset, arena, &number, error));
	if (number > 0)
		RC_TRY(commit_read(dataset, arena, number, &plan, error));
	*open = plan && strcmp(plan->run, run) == 0;
	return RECLOSER_OK;
}

/* Its quarantine and its list of keys that disappeared, which lie in their places before a run decides: a run that never did,
 * and has no report, leaves nobody who names them. */
static void sweep_lists(struct dataset *dataset, struct arena *arena, const char *run)
{
	struct fs *fs = dataset->fs;
	struct fs_stat stat;
	if (fs->ops->stat(fs, path_control(dataset, arena, arena_printf(arena, "runs/%s.json", run)), &stat) != ENOENT)
		return;
	(void)fs->ops->unlink(fs, path_control(dataset, arena, arena_printf(arena, "quarantine/%s.pq", run)));
	(void)fs->ops->unlink(fs, path_control(dataset, arena, arena_printf(arena, "disappeared/%s.pq", run)));
}

static recloser_status sweep_run(struct dataset *dataset, struct arena *arena, const char *run, struct recovery *out,
								 recloser_error *error)
{
	struct fs *fs = dataset->fs;
	struct fs_lock *alive = NULL;
	const char *directory = path_staging(dataset, arena, run);
	bool open = true;
	int failed = fs->ops->lock(fs, path_in(arena, directory, "alive", ""), NULL, &alive);
	if (failed == EWOULDBLOCK || failed == EAGAIN) {
		strings_add(arena, &out->living, run);
		return RECLOSER_OK;
	}
	if (means_no_locks(failed)) {
		warn(arena, out,
			 arena_printf(arena, "no locks here: can't tell whether run %s is alive; remove %s by hand when it is not", run,
						  directory));
		return RECLOSER_OK;
	}
	if (failed == ENOENT || failed == ENOTDIR)
		return RECLOSER_OK; /* just ended */
	if (failed)
		return error_errno(error, "store.lock", failed, "lock the staging of", directory);
	recloser_status status = is_open_commit(dataset, arena, run, &open, error);
	if (status == RECLOSER_OK && !open) {
		sweep_lists(dataset, arena, run);
		remove_tree(fs, arena, directory, "alive");
		strings_add(arena, &out->swept, run);
	}
	fs->ops->unlock(fs, alive);
	return status;
}

/* A day is more than any command needs between a temporary file and its rename. */
static void sweep_temporary(struct dataset *dataset, struct arena *arena)
{
	static const int64_t day_ns = (int64_t)24 * 3600 * 1000000000;
	struct fs *fs = dataset->fs;
	struct strings names = {0};
	const char *directory = path_control(dataset, arena, "tmp");
	(void)fs->ops->list(fs, directory, arena, &names);
	for (size_t i = 0; i < names.count; i++) {
		const char *path = path_in(arena, directory, names.at[i], "");
		struct fs_stat stat;
		if (fs->ops->stat(fs, path, &stat) == 0 && clock_now_us() * 1000 - stat.mtime_ns > day_ns)
			(void)fs->ops->unlink(fs, path);
	}
}

static recloser_status sweep(struct dataset *dataset, struct arena *arena, const char *own, struct recovery *out,
							 recloser_error *error)
{
	struct strings runs = {0};
	const char *directory = path_control(dataset, arena, "staging");
	int failed = dataset->fs->ops->list(dataset->fs, directory, arena, &runs);
	if (failed && failed != ENOENT)
		return error_errno(error, "store.list", failed, "list", directory);
	for (size_t i = 0; i < runs.count; i++)
		if (strcmp(runs.at[i], own) != 0)
			RC_TRY(sweep_run(dataset, arena, runs.at[i], out, error));
	sweep_temporary(dataset, arena);
	return RECLOSER_OK;
}

/* ---- the tree ---- */

/* The partition columns of dataset.json, where it names them, must be the ones of the path. */
static bool is_own_path(const struct dataset *dataset, const char *partition)
{
	const json_t *columns = json_object_get(dataset->config, "partition");
	if (!is_partition_path(partition))
		return false;
	if (!json_is_array(columns))
		return true;
	for (size_t i = 0; i < json_array_size(columns); i++) {
		const char *name = json_string_value(json_array_get(columns, i));
		size_t length = name ? strlen(name) : 0;
		if (name && (strncmp(partition, name, length) != 0 || partition[length] != '='))
			return false;
		partition += strcspn(partition, "/");
		partition += *partition == '/';
	}
	return *partition == '\0';
}

/* What the walk over the tree goes by, and what it finds. */
struct walking {
	struct dataset *dataset;
	struct arena *arena;              /* of what is found */
	const struct ledger_heads *known; /* sorted; their files are looked at with their records */
	struct recovery *out;
};

static int by_partition(const void *partition, const void *head)
{
	return strcmp(partition, ((const struct ledger_head *)head)->partition);
}

/* `known` is sorted. */
static bool is_known(const struct ledger_heads *known, const char *partition)
{
	return known->count && bsearch(partition, known->at, known->count, sizeof *known->at, by_partition);
}

/* A file that may have been put here without a record; one that has gone meanwhile is none. */
static recloser_status look_at_part(struct walking *walking, const char *partition, recloser_error *error)
{
	struct record *newest;
	enum live_state state;
	struct arena *arena = walking->arena;
	if (!is_own_path(walking->dataset, partition)) {
		strings_add(arena, &walking->out->foreign, path_in(arena, partition, "part.parquet", ""));
		return RECLOSER_OK;
	}
	RC_TRY(live_newest(walking->dataset, arena, partition, &newest, &state, error));
	if (state == LIVE_FOREIGN)
		strings_add(arena, &walking->out->adoptable, arena_strdup(arena, partition));
	return RECLOSER_OK;
}

static recloser_status walk_into(struct walking *walking, const char *relative, recloser_error *error);

static recloser_status walk_name(struct walking *walking, struct arena *scratch, const char *relative, const char *leaf,
								 recloser_error *error)
{
	struct dataset *dataset = walking->dataset;
	const char *name = *relative ? path_in(scratch, relative, leaf, "") : leaf;
	bool is_part = strcmp(leaf, "part.parquet") == 0;
	struct fs_stat stat;
	bool there;
	if (is_part && is_known(walking->known, relative))
		return RECLOSER_OK;
	RC_TRY(file_look(dataset, path_in(scratch, dataset->tree, name, ""), &stat, &there, error));
	if (there && stat.is_directory)
		return walk_into(walking, name, error);
	if (is_part)
		return look_at_part(walking, relative, error);
	strings_add(walking->arena, &walking->out->foreign, arena_strdup(walking->arena, name));
	return RECLOSER_OK;
}

static recloser_status walk_into(struct walking *walking, const char *relative, recloser_error *error)
{
	struct dataset *dataset = walking->dataset;
	struct arena *scratch = arena_new(walking->arena);
	struct strings names = {0};
	const char *directory = path_in(scratch, dataset->tree, relative, "");
	int failed = dataset->fs->ops->list(dataset->fs, directory, scratch, &names);
	recloser_status status = RECLOSER_OK;
	if (failed && failed != ENOENT)
		status = error_errno(error, "store.list", failed, "list", directory);
	for (size_t i = 0; i < names.count && status == RECLOSER_OK; i++)
		status = walk_name(walking, scratch, relative, names.at[i], error);
	arena_free(scratch);
	return status;
}

static recloser_status walk(struct dataset *dataset, struct arena *arena, const struct ledger_heads *known, struct recovery *out,
							recloser_error *error)
{
	struct walking walking = {dataset, arena, known, out};
	return walk_into(&walking, "", error);
}

/* `scratch` is for the records; what is found hangs on `arena`. */
static recloser_status look_at_ledger(struct dataset *dataset, struct arena *arena, struct arena *scratch, const struct ledger_head *head,
									  struct recovery *out, recloser_error *error)
{
	const char *partition = head->partition;
	struct record *newest, *record;
	enum live_state state;
	RC_TRY(live_newest(dataset, scratch, partition, &newest, &state, error));
	int64_t number = newest && newest->seq > head->number ? newest->seq : head->number;
	if (state == LIVE_MISSING)
		strings_add(arena, &out->missing, partition);
	if (state == LIVE_FOREIGN)
		strings_add(arena, &out->adoptable, partition);
	for (int64_t seq = 1; seq < number; seq++) {
		RC_TRY(ledger_read(dataset, scratch, partition, seq, &record, error));
		if (!record)
			warn(arena, out,
				 arena_printf(arena, "%s: record %" PRId64 " of %" PRId64 " is gone; recover --rebuild makes it again",
							  partition, seq, number));
	}
	return RECLOSER_OK;
}

static recloser_status look_deep(struct dataset *dataset, struct arena *arena, struct recovery *out, recloser_error *error)
{
	struct ledger_heads known;
	bool lost;
	RC_TRY(ledger_is_lost(dataset, arena, &lost, error));
	if (lost)
		warn(arena, out, "the ledger is gone; recover --rebuild makes it again, and nothing is loaded before");
	RC_TRY(ledger_heads(dataset, arena, &known, error));
	RC_TRY(walk(dataset, arena, &known, out, error));
	for (size_t i = 0; i < known.count; i++) {
		struct arena *scratch = arena_new(arena);
		recloser_status status = look_at_ledger(dataset, arena, scratch, &known.at[i], out, error);
		arena_free(scratch);
		RC_TRY(status);
	}
	strings_sort(&out->adoptable);
	live_remember(dataset, arena);
	return RECLOSER_OK;
}

recloser_status recover_strays(struct dataset *dataset, struct arena *arena, const struct ledger_heads *known,
							   struct recovery *out, recloser_error *error)
{
	memset(out, 0, sizeof *out);
	if (!dataset->bucket)
		return walk(dataset, arena, known, out, error);
	struct recovery all;
	RC_TRY(object_recover_look(dataset, arena, &all, error));
	out->foreign = all.foreign;
	for (size_t i = 0; i < all.adoptable.count; i++)
		if (!is_known(known, all.adoptable.at[i]))
			strings_add(arena, &out->adoptable, all.adoptable.at[i]);
	return RECLOSER_OK;
}

recloser_status recover_look(struct dataset *dataset, struct arena *arena, struct recovery *out, recloser_error *error)
{
	if (dataset->bucket)
		return object_recover_look(dataset, arena, out, error);
	memset(out, 0, sizeof *out);
	return look_deep(dataset, arena, out, error);
}

recloser_status commit_open_entries(struct dataset *dataset, struct arena *arena, json_t **out, recloser_error *error)
{
	if (dataset->bucket)
		return object_open_entries(dataset, arena, out, error);
	int64_t number;
	json_t *plan = NULL;
	struct fs_stat stat;
	bool there;
	*out = NULL;
	RC_TRY(commits_newest(dataset, arena, &number, error));
	if (number > 0)
		RC_TRY(file_read_json(dataset, arena, path_commit(dataset, arena, number), &plan, error));
	const char *run = plan ? json_get_text(plan, "run") : NULL;
	if (!run)
		return RECLOSER_OK;
	RC_TRY(file_look(dataset, path_staging(dataset, arena, run), &stat, &there, error));
	if (there)
		*out = json_object_get(plan, "entries");
	return RECLOSER_OK;
}

/* ---- together ---- */

/* Holds the lock for `work` if it is free. Somebody who holds it is about to finish what is open, or will when it ends. */
static recloser_status with_lock(struct staging *own, struct arena *arena, bool must,
								 recloser_status (*work)(struct session *, struct arena *, struct recovery *,
														 recloser_error *),
								 struct recovery *out, recloser_error *error)
{
	struct session *session = &own->session;
	struct commit_options now = {0};
	struct fs_lock *lock = NULL;
	recloser_error problem = {0};
	recloser_status status = lock_take(session, own->run, &now, &lock, &problem);
	if (status == RECLOSER_OK)
		status = work(session, arena, out, &problem);
	else if (status == RECLOSER_CONFLICT && !must) {
		warn(arena, out, arena_printf(arena, "%s; what is open is left to it", problem.what));
		status = RECLOSER_OK;
	}
	if (lock)
		session->dataset->fs->ops->unlock(session->dataset->fs, lock);
	if (status != RECLOSER_OK && error && error->status == RECLOSER_OK)
		*error = problem;
	return status;
}

static recloser_status scratch_begin(struct dataset *dataset, struct arena *arena, struct staging **out,
									 recloser_error *error)
{
	struct staging *own = arena_alloc(arena, sizeof *own);
	RC_TRY(staging_make(dataset, arena, clock_run_id(arena), own, error));
	recloser_status status = session_open(dataset, arena, own->directory, &own->session, error);
	if (status != RECLOSER_OK)
		staging_abandon(own);
	*out = own;
	return status;
}

static recloser_status is_there(struct dataset *dataset, bool *there, recloser_error *error)
{
	struct fs_stat stat;
	return file_look(dataset, dataset->control, &stat, there, error);
}

/* An open commit has its staging, and so has every run that was cut short. Where there is none, there is nothing to finish
 * or sweep, and nothing is written: a load that finds everything unchanged leaves no trace, not even in the lock's text. */
static recloser_status anything_staged(struct dataset *dataset, struct arena *arena, bool *any, recloser_error *error)
{
	struct strings runs = {0};
	const char *directory = path_control(dataset, arena, "staging");
	int failed = dataset->fs->ops->list(dataset->fs, directory, arena, &runs);
	if (failed && failed != ENOENT)
		return error_errno(error, "store.list", failed, "list", directory);
	*any = runs.count > 0;
	return RECLOSER_OK;
}

void recover_warnings(struct dataset *dataset, struct arena *arena, struct strings *warnings)
{
	if (dataset->bucket)
		object_recorded(dataset, arena, warnings);
}

recloser_status recover(struct dataset *dataset, struct arena *arena, bool deep, struct recovery *out, recloser_error *error)
{
	if (dataset->bucket)
		return object_recover(dataset, arena, deep, out, error);
	struct staging *own;
	bool there, staged = false;
	memset(out, 0, sizeof *out);
	RC_TRY(is_there(dataset, &there, error));
	if (!there)
		return deep ? walk(dataset, arena, &(struct ledger_heads){0}, out, error) : RECLOSER_OK;
	RC_TRY(anything_staged(dataset, arena, &staged, error));
	if (!staged) {
		sweep_temporary(dataset, arena);
		return deep ? look_deep(dataset, arena, out, error) : RECLOSER_OK;
	}
	RC_TRY(scratch_begin(dataset, arena, &own, error));
	recloser_status status = with_lock(own, arena, false, finish_open, out, error);
	if (status == RECLOSER_OK)
		status = sweep(dataset, arena, own->run, out, error);
	if (status == RECLOSER_OK && deep)
		status = look_deep(dataset, arena, out, error);
	staging_abandon(own);
	return status;
}

recloser_status recover_rebuild(struct dataset *dataset, struct arena *arena, struct recovery *out, recloser_error *error)
{
	if (dataset->bucket)
		return object_recover_rebuild(dataset, arena, out, error);
	struct staging *own;
	memset(out, 0, sizeof *out);
	RC_TRY(scratch_begin(dataset, arena, &own, error));
	recloser_status status = with_lock(own, arena, true, rebuild_commits, out, error);
	if (status == RECLOSER_OK)
		status = with_lock(own, arena, true, finish_open, out, error);
	if (status == RECLOSER_OK)
		status = with_lock(own, arena, true, rebuild_ledger, out, error);
	if (status == RECLOSER_OK)
		status = look_deep(dataset, arena, out, error);
	staging_abandon(own);
	return status;
}

recloser_status dataset_guarantees(struct dataset *dataset, struct arena *arena, json_t **out, recloser_error *error)
{
	if (dataset->bucket)
		return object_guarantees(dataset, arena, out, error);
	struct guarantees can;
	struct staging *own;
	bool there;
	*out = NULL;
	RC_TRY(is_there(dataset, &there, error));
	if (!there)
		return RECLOSER_OK;
	if (!probe_cached(dataset, arena, &can)) {
		RC_TRY(scratch_begin(dataset, arena, &own, error));
		can = own->session.can;
		staging_abandon(own);
	}
	*out = guarantees_json(arena, &can);
	return RECLOSER_OK;
}
