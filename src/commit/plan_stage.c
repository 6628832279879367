/* SPDX-License-Identifier: Apache-2.0
 * Step 5: records and plan are written beside the staged files, then SYNC1 makes all of it durable before anybody decides.
 *
 * After a failed sync the pages are called clean and may be anything, so the sync is not made again: the staged files are
 * written once more under new names, from what can be read and proved by its digest, and synced through a descriptor
 * opened before. If that fails, too, the run ends with nothing changed. */
#include "commit/protocol.h"

#include <errno.h>
#include <string.h>

enum { RECORD_MODE = 0444 };

static json_t *complete_record(struct arena *arena, const struct plan *plan, const struct planned *planned)
{
	json_t *record = record_from_plan(arena, plan, planned, planned->kind), *file = json_object_get(record, "file"), *value;
	const char *name;
	json_object_foreach(planned->record, name, value) if (strcmp(name, "file") != 0 && !json_object_get(record, name))
		json_put(arena, record, name, value);
	json_object_foreach(json_object_get(planned->record, "file"), name,
						value) if (!json_object_get(file, name) || strcmp(name, "rows") == 0)
		json_put(arena, file, name, value);
	return record;
}

static recloser_status write_staged(struct session *session, struct touched *touched, const char *path, const json_t *json,
									recloser_error *error)
{
	struct fs *fs = session->dataset->fs;
	struct arena *scratch = arena_new(session->arena);
	const char *text = json_text(scratch, json);
	(void)fs->ops->unlink(fs, path); /* of an earlier try; what is linked into commits/ or ledger/ keeps its inode */
	int failed = fs->ops->write(fs, path, text, strlen(text), RECORD_MODE, NULL);
	arena_free(scratch);
	strings_add(session->arena, &touched->files, path);
	return failed ? error_errno(error, "store.write", failed, "write", path) : RECLOSER_OK;
}

static recloser_status write_all(struct staging *staging, struct plan *plan, struct touched *touched, const json_t *config,
								 recloser_error *error)
{
	struct session *session = &staging->session;
	struct dataset *dataset = session->dataset;
	struct arena *arena = session->arena;
	for (size_t i = 0; i < plan->count; i++) {
		const struct planned *planned = &plan->at[i];
		const char *path = path_staged_record(dataset, arena, plan->run, planned->partition, planned->kind);
		RC_TRY(write_staged(session, touched, path, complete_record(arena, plan, planned), error));
		strings_add(arena, &touched->files, path_staged(dataset, arena, plan->run, planned->partition, planned->kind));
		touch(session, touched, path_parent(arena, path));
	}
	if (config)
		RC_TRY(write_staged(session, touched, path_in(arena, staging->directory, "dataset.json", ""), config, error));
	RC_TRY(write_staged(session, touched, path_in(arena, staging->directory, "plan.json", ""), plan_to_json(arena, plan),
						error));
	touch(session, touched, staging->directory);
	touch(session, touched, path_control(dataset, arena, "commits"));
	return RECLOSER_OK;
}

static recloser_status sync_held(struct staging *staging, recloser_error *error)
{
	struct fs *fs = staging->session.dataset->fs;
	for (size_t i = 0; i < staging->held_count; i++) {
		int failed = fs->ops->sync(fs, staging->held[i]);
		if (failed)
			return error_errno(error, "store.sync", failed, "sync the staged file of", staging->held_names.at[i]);
	}
	return RECLOSER_OK;
}

/* ---- once again ---- */

static recloser_status rewrite(struct staging *staging, struct planned *planned, recloser_error *error)
{
	struct session *session = &staging->session;
	struct fs *fs = session->dataset->fs;
	const char *path = path_staged(session->dataset, session->arena, staging->run, planned->partition, planned->kind);
	const char *again = arena_printf(session->arena, "%s.again", path);
	struct fs_stat stat;
	char hex[SHA256_HEX];
	int failed = fs->ops->copy(fs, path, again);
	if (failed == 0)
		failed = fs->ops->digest(fs, again, hex, NULL);
	if (failed == 0 && strcmp(hex, planned->file.sha256) != 0)
		failed = EIO;
	if (failed == 0)
		failed = rename_over(fs, again, path);
	if (failed == 0)
		failed = fs->ops->stat(fs, path, &stat);
	if (failed)
		return error_errno(error, "store.write", failed, "write again, after a failed sync,", path);
	if (strcmp(planned->kind, "adopted") != 0) { /* an adopted record tells inode and time of the live file */
		planned->file.inode = stat.inode;
		planned->file.mtime_ns = stat.mtime_ns;
	}
	return RECLOSER_OK;
}

static void release_held(struct staging *staging)
{
	struct fs *fs = staging->session.dataset->fs;
	for (size_t i = 0; i < staging->held_count; i++)
		fs->ops->close(fs, staging->held[i]);
	staging->held_count = 0;
}

static recloser_status rewrite_all(struct staging *staging, struct plan *plan, recloser_error *error)
{
	struct session *session = &staging->session;
	struct fs *fs = session->dataset->fs;
	release_held(staging);
	if (session->everything) {
		fs->ops->close(fs, session->everything);
		session->everything = NULL;
		int failed = fs->ops->open(fs, staging->directory, false, &session->everything);
		if (failed)
			return error_errno(error, "store.open", failed, "open", staging->directory);
	}
	for (size_t i = 0; i < plan->count; i++)
		RC_TRY(rewrite(staging, &plan->at[i], error));
	return RECLOSER_OK;
}

static recloser_status write_and_sync(struct staging *staging, struct plan *plan, const json_t *config, bool *sync_failed,
									  recloser_error *error)
{
	struct touched touched = {{0}, {0}};
	RC_TRY(write_all(staging, plan, &touched, config, error));
	recloser_status status = sync_held(staging, error);
	if (status == RECLOSER_OK)
		status = sync_staged(&staging->session, &touched, error);
	*sync_failed = status != RECLOSER_OK;
	return status;
}

recloser_status plan_stage(struct staging *staging, struct plan *plan, struct arena *arena, const json_t *config,
						   recloser_error *error)
{
	recloser_error first = {0};
	bool sync_failed = false;
	(void)arena;
	plan->config = config != NULL;
	recloser_status status = write_and_sync(staging, plan, config, &sync_failed, &first);
	if (status == RECLOSER_OK)
		return RECLOSER_OK;
	if (sync_failed && rewrite_all(staging, plan, &first) == RECLOSER_OK)
		return write_and_sync(staging, plan, config, &sync_failed, error);
	if (error && error->status == RECLOSER_OK)
		*error = first;
	return status;
}
