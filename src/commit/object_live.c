/* SPDX-License-Identifier: Apache-2.0
 * What is live, compared with what the ledger says: by token, which is the same for equal bytes; else by SHA-256 of a
 * download. What was downloaded is kept for the run, since the engine reads local files. */
#include <string.h>
#include <time.h>

#include "commit/object.h"

enum { LOOKS = 4 };

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

void object_forget(struct dataset *dataset, struct object_part *part)
{
	struct strings *fetched = &dataset->objects->fetched;
	forget_file(dataset, part);
	for (size_t i = 0; i < fetched->count; i++)
		(void)dataset->fs->ops->unlink(dataset->fs, fetched->at[i]);
	fetched->count = 0;
	part->stale = true;
	part->looked = false;
}

static void take_file(struct object_part *part, const struct bucket_sink *sink)
{
	part->file = sink->file;
	memcpy(part->file_token, part->live.token, sizeof part->file_token);
	memcpy(part->file_sha256, sink->sha256, sizeof part->file_sha256);
	part->live.bytes = sink->count;
}

/* Look and read in one request. Some servers hand out one version's bytes under the next one's token for a moment. */
static recloser_status look_by_reading(struct dataset *dataset, struct object_part *part, recloser_error *error)
{
	struct bucket *bucket = dataset->bucket;
	struct bucket_sink sink = {.arena = dataset->objects->arena};
	const char *key = object_live_key(dataset, dataset->objects->arena, part->partition);
	enum bucket_answer answer = BUCKET_ABSENT;
	forget_file(dataset, part);
	RC_TRY(object_scratch_file(dataset, &sink.file, error));
	for (int i = 0; i < LOOKS; i++) {
		if (i > 0)
			nanosleep(&(struct timespec){0, 30 * 1000 * 1000}, NULL);
		answer = bucket->ops->get(bucket, key, NULL, &sink, &part->live, error);
		if (answer != BUCKET_DONE || !bucket_token_denies(&dataset->objects->can, part->live.token, sink.md5))
			break;
	}
	if (answer != BUCKET_DONE && answer != BUCKET_ABSENT)
		return object_failed(dataset, answer, "read", key, error);
	part->looked = true;
	part->there = answer == BUCKET_DONE;
	if (part->there)
		take_file(part, &sink);
	return RECLOSER_OK;
}

recloser_status object_look_expecting(struct dataset *dataset, struct object_part *part, recloser_error *error)
{
	const char *content = part->newest ? part->newest->content_fingerprint : NULL;
	if (part->expected && part->number == 0)
		return RECLOSER_OK; /* taken for absent: the put's condition finds out */
	if (part->expected && (!content || strcmp(part->expected, content) != 0))
		return look_by_reading(dataset, part, error);
	return object_look(dataset, part, error);
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
	take_file(part, &sink);
	return RECLOSER_OK;
}

bool object_token_is_newest(const struct object_part *part)
{
	const char *token = part->newest ? json_get_text(json_object_get(part->newest->json, "file"), "etag") : NULL;
	return token && *token && strcmp(token, part->live.token) == 0;
}

recloser_status object_judge(struct dataset *dataset, struct object_part *part, bool *moved, recloser_error *error)
{
	const struct record *newest = part->newest;
	*moved = false;
	part->state = newest ? LIVE_MISSING : LIVE_NONE;
	if (!part->there)
		return RECLOSER_OK;
	part->state = LIVE_SOUND;
	if (object_token_is_newest(part))
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

recloser_status object_open_live(struct dataset *dataset, const char *partition, struct record **record, enum live_state *state,
								 recloser_error *error)
{
	struct objects *objects = dataset->objects;
	struct object_part *part = object_part(dataset, partition);
	if (objects->writing || part->state != LIVE_FOREIGN || !*part->file_sha256)
		return RECLOSER_OK;
	RC_TRY(object_plans_read(dataset, part, error));
	const json_t *entry = object_plan_find(dataset, partition, part->file_sha256, part->newest ? part->newest->sha256 : "");
	if (!entry)
		entry = object_plan_find(dataset, partition, part->file_sha256, NULL);
	if (!entry)
		return RECLOSER_OK;
	*record = record_from_json(objects->arena, object_record_of(objects->arena, entry, part->number + 1, part->live.token), partition,
							   part->number + 1);
	(*record)->unfinished = true;
	objects->unfinished = (*record)->run;
	*state = LIVE_SOUND;
	return RECLOSER_OK;
}

/* ---- many at once ---- */

/* What the keys of all of them begin with. */
static const char *common_prefix(struct dataset *dataset, struct arena *arena, const struct version_at *at, size_t count)
{
	const char *first = object_live_key(dataset, arena, at[0].partition);
	size_t length = strlen(first);
	for (size_t i = 1; i < count; i++) {
		const char *key = object_live_key(dataset, arena, at[i].partition);
		size_t same = 0;
		while (same < length && key[same] == first[same])
			same++;
		length = same;
	}
	return arena_strndup(arena, first, length);
}

/* {live key: token} of the versions that are asked for, as the records say; NULL where known.json does not tell them. */
static json_t *tokens_of(struct dataset *dataset, struct arena *arena, const struct version_at *at, size_t count)
{
	json_t *tokens = json_new_object(arena);
	for (size_t i = 0; i < count; i++) {
		const struct object_part *part = object_part(dataset, at[i].partition);
		const char *token = part->newest ? json_get_text(json_object_get(part->newest->json, "file"), "etag") : NULL;
		if (!token || part->number != at[i].seq)
			return NULL;
		json_put_text(arena, tokens, object_live_key(dataset, arena, at[i].partition), token);
	}
	return tokens;
}

static size_t strike_out(json_t *tokens, const struct bucket_page *page)
{
	size_t found = 0;
	for (size_t i = 0; i < page->count; i++) {
		const char *token = json_get_text(tokens, page->at[i].key);
		found += token && strcmp(token, page->at[i].token) == 0;
	}
	return found;
}

/* A token that is the record's says that its bytes are live, whatever came in between. Pages are read as long as that takes
 * fewer requests than to ask for each. */
recloser_status object_versions_listed(struct dataset *dataset, const struct version_at *at, size_t count, bool *told,
									   recloser_error *error)
{
	struct bucket *bucket = dataset->bucket;
	struct arena *arena = arena_new(dataset->objects->arena);
	json_t *tokens = count && dataset->objects->can.list_current ? tokens_of(dataset, arena, at, count) : NULL;
	size_t found = 0;
	recloser_status status = RECLOSER_OK;
	if (tokens) {
		struct bucket_listing what = {.prefix = common_prefix(dataset, arena, at, count)};
		size_t pages = 0;
		do {
			struct bucket_page page;
			enum bucket_answer answer = bucket->ops->list(bucket, arena, &what, &page, error);
			if (answer != BUCKET_DONE)
				status = object_failed(dataset, answer, "list", what.prefix, error);
			found += answer == BUCKET_DONE ? strike_out(tokens, &page) : 0;
			what.next = answer == BUCKET_DONE ? page.next : NULL;
		} while (what.next && ++pages < count - found);
	}
	*told = tokens && found == count;
	arena_free(arena);
	return status;
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

struct search {
	const char *path; /* NULL: not found yet */
	bool altered;     /* there was one, of other bytes */
	const char *where;
	char sha256[SHA256_HEX];
};

static recloser_status fetch(struct dataset *dataset, const char *key, const char *sha256, struct search *search,
							 recloser_error *error)
{
	struct bucket *bucket = dataset->bucket;
	struct bucket_sink sink = {.arena = dataset->objects->arena};
	RC_TRY(object_scratch_file(dataset, &sink.file, error));
	enum bucket_answer answer = bucket->ops->get(bucket, key, NULL, &sink, NULL, error);
	if (answer == BUCKET_ABSENT)
		return RECLOSER_OK;
	if (answer != BUCKET_DONE)
		return object_failed(dataset, answer, "read", key, error);
	if (strcmp(sink.sha256, sha256) == 0) {
		search->path = sink.file;
		strings_add(dataset->objects->arena, &dataset->objects->fetched, sink.file);
		return RECLOSER_OK;
	}
	(void)dataset->fs->ops->unlink(dataset->fs, sink.file);
	search->altered = true;
	search->where = arena_strdup(dataset->objects->arena, key);
	memcpy(search->sha256, sink.sha256, sizeof search->sha256);
	return RECLOSER_OK;
}

static recloser_status not_to_be_had(struct dataset *dataset, const struct record *record, const char *prefix,
									 const struct search *search, recloser_error *error)
{
	if (search->altered) {
		error_set(error, RECLOSER_IO, "archive.altered", "the archived file of seq %lld has SHA-256 %s, its record says %s",
				  (long long)record->seq, search->sha256, record->sha256);
		return error_where(error, "%s/%s", dataset->root, search->where);
	}
	error_set(error, RECLOSER_IO, "archive.gone", "the bytes of seq %lld are neither archived nor live",
			  (long long)record->seq);
	return error_where(error, "%s/%s*", dataset->root, prefix);
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
	struct search search = {0}, elsewhere = {0};
	do {
		enum bucket_answer answer = bucket->ops->list(bucket, arena, &what, &page, error);
		if (answer != BUCKET_DONE)
			return object_failed(dataset, answer, "list", what.prefix, error);
		for (size_t i = 0; i < page.count && !search.path; i++)
			RC_TRY(fetch(dataset, page.at[i].key, record->sha256, &search, error));
		what.next = page.next;
	} while (what.next && !search.path);
	if (!search.path) { /* a PUT that came late replaced equal bytes, and was archived for an earlier version */
		struct record *next;
		RC_TRY(object_ledger_read(dataset, arena, record->partition, record->seq + 1, &next, error));
		const char *name = next ? json_get_text(json_object_get(next->json, "base"), "archive") : NULL;
		const char *key = name ? object_key(dataset, path_control(dataset, arena, name)) : NULL;
		if (key && !text_starts(key, what.prefix))
			RC_TRY(fetch(dataset, key, record->sha256, &elsewhere, error));
		search.path = elsewhere.path;
	}
	if (!search.path) {
		RC_TRY(fetch(dataset, object_live_key(dataset, arena, record->partition), record->sha256, &elsewhere, error));
		search.path = elsewhere.path;
	}
	*path = search.path;
	return search.path ? RECLOSER_OK : not_to_be_had(dataset, record, what.prefix, &search, error);
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
	do {
		enum bucket_answer answer = bucket->ops->list(bucket, arena, &what, &page, error);
		if (answer != BUCKET_DONE)
			return object_failed(dataset, answer, "list", what.prefix, error);
		for (size_t i = 0; i < page.count && !*out; i++)
			if (page.at[i].bytes == record->bytes)
				*out = arena_printf(arena, "%s/%s", dataset->root, page.at[i].key);
		what.next = page.next;
	} while (what.next && !*out);
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
