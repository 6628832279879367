/* SPDX-License-Identifier: Apache-2.0
 * What is live, compared with what the ledger says: by token, which is the same for equal bytes; else by SHA-256 of a
 * download. What was downloaded is kept for the run, since the engine reads local files. */
#include <string.h>
#include <time.h>

#include "commit/object.h"

recloser_status object_look(struct dataset *dataset, struct object_part *part, recloser_error *error)
{
	struct bucket *bucket = dataset->bucket;
	struct arena *arena = arena_new(dataset->objects->arena);
	const char *key = object_live_key(dataset, arena, part->partition);
	enum bucket_answer answer = bucket->ops->head(bucket, key, &part->live, error);
	recloser_status status = RECLOSER_OK;
	if (answer != BUCKET_DONE && answer != BUCKET_ABSENT)
		status = object_failed(dataset, answer, "look at", key, error);
	part->looked = status == RECLOSER_OK;
	part->there = answer == BUCKET_DONE;
	arena_free(arena);
	return status;
}

static void forget_file(struct dataset *dataset, struct object_part *part)
{
	if (part->file)
		(void)dataset->fs->ops->unlink(dataset->fs, part->file);
	part->file = NULL;
	*part->file_token = '\0';
}

static recloser_status download_once(struct dataset *dataset, struct object_part *part, struct bucket_sink *sink,
									 bool *moved, recloser_error *error)
{
	struct bucket *bucket = dataset->bucket;
	struct bucket_found found;
	const char *key = object_live_key(dataset, dataset->objects->arena, part->partition);
	enum bucket_answer answer = bucket->ops->get(bucket, key, part->live.token, sink, &found, error);
	*moved = answer == BUCKET_LOST || answer == BUCKET_LOOK || answer == BUCKET_ABSENT;
	return *moved || answer == BUCKET_DONE ? RECLOSER_OK : object_failed(dataset, answer, "read", key, error);
}

/* Some servers hand out one version's bytes under the next one's token for a moment. What stays so has been altered in the
 * store, and is taken as it is. */
recloser_status object_download(struct dataset *dataset, struct object_part *part, bool *moved, recloser_error *error)
{
	enum { LOOKS = 4 };
	struct bucket_sink sink = {.arena = dataset->objects->arena};
	*moved = false;
	if (part->file && strcmp(part->file_token, part->live.token) == 0)
		return RECLOSER_OK;
	forget_file(dataset, part);
	RC_TRY(object_scratch_file(dataset, &sink.file, error));
	for (int i = 0; i < LOOKS; i++) {
		if (i > 0)
			nanosleep(&(struct timespec){0, 30 * 1000 * 1000}, NULL);
		RC_TRY(download_once(dataset, part, &sink, moved, error));
		if (*moved || !bucket_token_denies(&dataset->objects->can, part->live.token, sink.md5))
			break;
	}
	if (*moved)
		return RECLOSER_OK;
	part->file = sink.file;
	memcpy(part->file_token, part->live.token, sizeof part->file_token);
	memcpy(part->file_sha256, sink.sha256, sizeof part->file_sha256);
	return RECLOSER_OK;
}

recloser_status object_judge(struct dataset *dataset, struct object_part *part, bool *moved, recloser_error *error)
{
	const struct record *newest = part->newest;
	const char *token = newest ? json_get_text(json_object_get(newest->json, "file"), "etag") : NULL;
	*moved = false;
	part->state = newest ? LIVE_MISSING : LIVE_NONE;
	if (!part->there)
		return RECLOSER_OK;
	part->state = LIVE_SOUND;
	if (token && strcmp(token, part->live.token) == 0)
		return RECLOSER_OK;
	RC_TRY(object_download(dataset, part, moved, error));
	if (!*moved && (!newest || strcmp(part->file_sha256, newest->sha256) != 0))
		part->state = LIVE_FOREIGN;
	return RECLOSER_OK;
}

recloser_status object_live_state(struct dataset *dataset, struct arena *arena, const char *partition,
								  const struct record *record, enum live_state *out, recloser_error *error)
{
	enum { TRIES = 10 };
	struct object_part *part = object_part(dataset, partition);
	bool moved = true;
	(void)arena;
	(void)record; /* the newest record is known here */
	if (dataset->objects->writing) {
		RC_TRY(object_settle(dataset, part, NULL, false, error));
		*out = part->state;
		return RECLOSER_OK;
	}
	for (int i = 0; moved && i < TRIES; i++) {
		RC_TRY(object_newest(dataset, part, i > 0, error));
		if (!part->looked || i > 0)
			RC_TRY(object_look(dataset, part, error));
		RC_TRY(object_judge(dataset, part, &moved, error));
	}
	*out = part->state;
	if (!moved)
		return RECLOSER_OK;
	error_set(error, RECLOSER_CONFLICT, "commit.live_changed", "%s is being replaced faster than it can be read", partition);
	return error_where(error, "%s", live_path(dataset, arena, partition));
}

recloser_status object_live_file(struct dataset *dataset, struct arena *arena, const char *partition, const char **path,
								 recloser_error *error)
{
	enum { TRIES = 10 };
	struct object_part *part = object_part(dataset, partition);
	(void)arena;
	for (int i = 0; i < TRIES; i++) {
		bool moved;
		if (!part->looked || i > 0)
			RC_TRY(object_look(dataset, part, error));
		if (!part->there) {
			error_set(error, RECLOSER_IO, "store.absent", "the live object is not there");
			return error_where(error, "%s", live_path(dataset, arena, partition));
		}
		RC_TRY(object_download(dataset, part, &moved, error));
		if (!moved) {
			*path = part->file;
			return RECLOSER_OK;
		}
	}
	error_set(error, RECLOSER_CONFLICT, "commit.live_changed", "%s is being replaced faster than it can be read", partition);
	return error_where(error, "%s", live_path(dataset, arena, partition));
}

/* ---- earlier versions ---- */

static recloser_status fetch(struct dataset *dataset, const char *key, const char *sha256, const char **path,
							 recloser_error *error)
{
	struct bucket *bucket = dataset->bucket;
	struct bucket_sink sink = {.arena = dataset->objects->arena};
	*path = NULL;
	RC_TRY(object_scratch_file(dataset, &sink.file, error));
	enum bucket_answer answer = bucket->ops->get(bucket, key, NULL, &sink, NULL, error);
	if (answer == BUCKET_ABSENT)
		return RECLOSER_OK;
	if (answer != BUCKET_DONE)
		return object_failed(dataset, answer, "read", key, error);
	if (strcmp(sink.sha256, sha256) == 0)
		*path = sink.file;
	else
		(void)dataset->fs->ops->unlink(dataset->fs, sink.file);
	return RECLOSER_OK;
}

/* A version is archived by whoever replaced it, under that run's name, so the names of its number are listed; only bytes
 * that are the record's count. */
recloser_status object_version_file(struct dataset *dataset, struct arena *arena, const struct record *record,
									const char **path, recloser_error *error)
{
	struct bucket *bucket = dataset->bucket;
	struct object_part *part = object_part(dataset, record->partition);
	struct bucket_listing what = {0};
	struct bucket_page page;
	bool moved = true;
	if (part->looked && part->there && part->state == LIVE_SOUND && part->number == record->seq)
		RC_TRY(object_download(dataset, part, &moved, error));
	if (!moved && strcmp(part->file_sha256, record->sha256) == 0) {
		*path = part->file;
		return RECLOSER_OK;
	}
	what.prefix = object_key(dataset, path_control(dataset, arena, object_archive_name(arena, record, "")));
	enum bucket_answer answer = bucket->ops->list(bucket, arena, &what, &page, error);
	if (answer != BUCKET_DONE)
		return object_failed(dataset, answer, "list", what.prefix, error);
	*path = NULL;
	for (size_t i = 0; i < page.count && !*path; i++)
		RC_TRY(fetch(dataset, page.at[i].key, record->sha256, path, error));
	if (!*path) { /* a PUT that came late replaced equal bytes, and was archived for an earlier version */
		struct record *next;
		RC_TRY(object_ledger_read(dataset, arena, record->partition, record->seq + 1, &next, error));
		const char *name = next ? json_get_text(json_object_get(next->json, "base"), "archive") : NULL;
		if (name)
			RC_TRY(fetch(dataset, object_key(dataset, path_control(dataset, arena, name)), record->sha256, path, error));
	}
	if (!*path)
		RC_TRY(fetch(dataset, object_live_key(dataset, arena, record->partition), record->sha256, path, error));
	if (*path)
		return RECLOSER_OK;
	error_set(error, RECLOSER_IO, "archive.gone", "the bytes of seq %lld are neither archived nor live",
			  (long long)record->seq);
	return error_where(error, "%s/%s*", dataset->root, what.prefix);
}

/* The same names without their bytes: the first of the right size, or what the record after it says it archived. */
recloser_status object_version_place(struct dataset *dataset, struct arena *arena, const struct record *record,
									 const struct record *newest, const char **out, recloser_error *error)
{
	struct bucket *bucket = dataset->bucket;
	struct bucket_listing what = {
		.prefix = object_key(dataset, path_control(dataset, arena, object_archive_name(arena, record, "")))};
	struct bucket_page page;
	struct record *next;
	struct fs_stat stat;
	enum live_state live;
	bool there = false;
	*out = NULL;
	enum bucket_answer answer = bucket->ops->list(bucket, arena, &what, &page, error);
	if (answer != BUCKET_DONE)
		return object_failed(dataset, answer, "list", what.prefix, error);
	for (size_t i = 0; i < page.count && !*out; i++)
		if (page.at[i].bytes == record->bytes)
			*out = arena_printf(arena, "%s/%s", dataset->root, page.at[i].key);
	if (*out)
		return RECLOSER_OK;
	RC_TRY(object_ledger_read(dataset, arena, record->partition, record->seq + 1, &next, error));
	const char *name = next ? json_get_text(json_object_get(next->json, "base"), "archive") : NULL;
	if (name) {
		*out = path_control(dataset, arena, name);
		RC_TRY(object_file_look(dataset, *out, &stat, &there, error));
		if (there && stat.bytes == record->bytes)
			return RECLOSER_OK;
	}
	*out = NULL;
	if (!newest || strcmp(newest->sha256, record->sha256) != 0)
		return RECLOSER_OK;
	RC_TRY(object_live_state(dataset, arena, record->partition, newest, &live, error));
	if (live == LIVE_SOUND)
		*out = live_path(dataset, arena, record->partition);
	return RECLOSER_OK;
}
