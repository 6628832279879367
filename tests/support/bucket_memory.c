/* SPDX-License-Identifier: Apache-2.0 */
#include "bucket_memory.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct memory {
	struct memory_store *store;
	struct memory_faults *faults, none;
	struct arena *arena;
};

struct memory_store *memory_store(struct arena *arena)
{
	struct memory_store *store = arena_alloc(arena, sizeof *store);
	store->arena = arena;
	return store;
}

static struct memory_object *find(const struct memory_store *store, const char *key)
{
	for (size_t i = 0; i < store->count; i++)
		if (strcmp(store->objects[i].key, key) == 0)
			return &store->objects[i];
	return NULL;
}

const struct memory_object *memory_find(const struct memory_store *store, const char *key)
{
	const struct memory_object *object = find(store, key);
	return object && object->there ? object : NULL;
}

static void write_object(struct memory_store *store, const char *key, const char *bytes, size_t count)
{
	struct memory_object *object = find(store, key);
	struct bucket_body body;
	char md5[33];
	if (!object) {
		if (store->count == store->capacity) {
			size_t grown = store->capacity ? store->capacity * 2 : 64;
			store->objects = arena_grow(store->arena, store->objects, store->count * sizeof *store->objects,
										grown * sizeof *store->objects);
			store->capacity = grown;
		}
		object = &store->objects[store->count++];
		*object = (struct memory_object){.key = arena_strdup(store->arena, key)};
	}
	object->bytes = arena_alloc(store->arena, count + 1);
	memcpy(object->bytes, bytes, count);
	object->count = count;
	object->there = true;
	bucket_body_bytes(&body, bytes, count);
	hex_of(body.md5, sizeof body.md5, md5);
	snprintf(object->token, sizeof object->token, "\"%s\"", md5);
	if (text_ends(key, "/part.parquet")) {
		store->live = arena_grow(store->arena, store->live, store->live_count * sizeof *store->live,
								 (store->live_count + 1) * sizeof *store->live);
		store->live[store->live_count++] = arena_printf(store->arena, "%s %s", key, object->bytes);
	}
}

void memory_put(struct memory_store *store, const char *key, const char *content)
{
	write_object(store, key, content, strlen(content));
}

static bool holds(const struct memory_store *store, const char *key, enum bucket_when when, const char *token)
{
	const struct memory_object *object = memory_find(store, key);
	if (when == BUCKET_ALWAYS || store->no_conditions)
		return true;
	return when == BUCKET_IF_ABSENT ? !object : object && strcmp(object->token, token) == 0;
}

static void copy_late(struct memory_store *store, const struct memory_put *put)
{
	const struct memory_object *object = memory_find(store, put->from);
	if (object && (store->blind_copies || strcmp(object->token, put->token) == 0))
		write_object(store, put->key, object->bytes, object->count);
}

void memory_act_late(struct memory_store *store)
{
	for (size_t i = 0; i < store->late_count; i++) {
		const struct memory_put *put = &store->late[i];
		if (put->from)
			copy_late(store, put);
		else if (holds(store, put->key, put->when, put->token))
			write_object(store, put->key, put->bytes, put->count);
	}
	store->late_count = 0;
}

/* ---- requests ---- */

static enum bucket_answer say(enum bucket_answer answer, const char *what, recloser_error *error)
{
	error_set(error, RECLOSER_IO, "test.store", "%s", what);
	return answer;
}

/* What becomes of this request: FAULT_NONE and BUCKET_DONE to go on. */
static enum memory_fault begin(struct bucket *bucket, bool live_put, bool *dead)
{
	struct memory_faults *faults = ((struct memory *)bucket->impl)->faults;
	bucket->counts->requests++;
	faults->sent += !faults->puts_only || live_put;
	unsigned number = faults->sent;
	if (faults->before)
		faults->before(faults->arg, number);
	*dead = faults->stop_after && number > faults->stop_after;
	bool hit = faults->at && number == faults->at && (!faults->puts_only || live_put);
	return hit ? faults->kind : FAULT_NONE;
}

#define BEGIN(live_put)                                                                                                     \
	struct memory *memory = bucket->impl;                                                                                   \
	struct memory_store *store = memory->store;                                                                             \
	bool dead;                                                                                                              \
	enum memory_fault fault = begin(bucket, live_put, &dead);                                                               \
	if (dead)                                                                                                               \
		return say(BUCKET_FAILED, "the process is dead", error);                                                            \
	if (fault == FAULT_BUSY)                                                                                                \
		return say(BUCKET_BUSY, "come back later", error);                                                                  \
	if (fault == FAULT_DROP)                                                                                                \
	return say(BUCKET_UNKNOWN, "no answer", error)

static enum bucket_answer put_locked(struct memory_store *store, enum memory_fault fault, const char *key,
									 const struct bucket_body *body, enum bucket_when when, const char *token,
									 struct bucket_found *found, recloser_error *error)
{
	char *bytes = arena_alloc(store->arena, (size_t)body->count + 1);
	if (body->file) {
		FILE *file = fopen(body->file, "rb");
		if (!file || fread(bytes, 1, (size_t)body->count, file) != body->count)
			return say(BUCKET_FAILED, "can't read the file", error);
		fclose(file);
	} else {
		memcpy(bytes, body->bytes, (size_t)body->count);
	}
	struct bucket_body real;
	bucket_body_bytes(&real, bytes, (size_t)body->count);
	if (!store->no_checksums && strcmp(real.sha256, body->sha256) != 0)
		return say(BUCKET_FAILED, "400 BadDigest", error);
	if (fault == FAULT_LATE) {
		store->late[store->late_count++] = (struct memory_put){.key = arena_strdup(store->arena, key),
															   .bytes = bytes,
															   .token = token ? arena_strdup(store->arena, token) : NULL,
															   .count = (size_t)body->count,
															   .when = when};
		return say(BUCKET_UNKNOWN, "no answer", error);
	}
	if (!holds(store, key, when, token))
		return fault == FAULT_LOSE_ANSWER ? say(BUCKET_UNKNOWN, "no answer", error) : BUCKET_LOST;
	write_object(store, key, bytes, (size_t)body->count);
	if (fault == FAULT_LOSE_ANSWER)
		return say(BUCKET_UNKNOWN, "no answer", error);
	if (found) {
		memcpy(found->token, find(store, key)->token, sizeof found->token);
		found->bytes = body->count;
	}
	return BUCKET_DONE;
}

/* The probe puts from several threads at once. */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static enum bucket_answer put(struct bucket *bucket, const char *key, const struct bucket_body *body, enum bucket_when when,
							  const char *token, struct bucket_found *found, recloser_error *error)
{
	BEGIN(when != BUCKET_ALWAYS && text_ends(key, "/part.parquet"));
	pthread_mutex_lock(&one_at_a_time);
	enum bucket_answer answer = put_locked(store, fault, key, body, when, token, found, error);
	pthread_mutex_unlock(&one_at_a_time);
	return answer;
}

static enum bucket_answer get(struct bucket *bucket, const char *key, const char *token, struct bucket_sink *sink,
							  struct bucket_found *found, recloser_error *error)
{
	BEGIN(false);
	if (fault != FAULT_NONE)
		return say(BUCKET_UNKNOWN, "no answer", error);
	const struct memory_object *object = memory_find(store, key);
	if (!object)
		return BUCKET_ABSENT;
	if (token && strcmp(token, object->token) != 0)
		return BUCKET_LOST;
	sha256_of(object->bytes, object->count, sink->sha256);
	memcpy(sink->md5, object->token + 1, 32);
	sink->md5[32] = '\0';
	if (sink->file) {
		FILE *file = fopen(sink->file, "wb");
		if (!file || fwrite(object->bytes, 1, object->count, file) != object->count || fclose(file) != 0)
			return say(BUCKET_FAILED, "can't write the file", error);
	} else {
		sink->bytes = arena_strndup(sink->arena, object->bytes, object->count);
		sink->count = object->count;
	}
	if (found) {
		memcpy(found->token, object->token, sizeof found->token);
		found->bytes = object->count;
	}
	return BUCKET_DONE;
}

static enum bucket_answer head(struct bucket *bucket, const char *key, struct bucket_found *found, recloser_error *error)
{
	BEGIN(false);
	if (fault != FAULT_NONE)
		return say(BUCKET_UNKNOWN, "no answer", error);
	const struct memory_object *object = memory_find(store, key);
	if (!object)
		return BUCKET_ABSENT;
	memcpy(found->token, object->token, sizeof found->token);
	found->bytes = object->count;
	return BUCKET_DONE;
}

static int by_key(const void *one, const void *other)
{
	return strcmp(((const struct bucket_object *)one)->key, ((const struct bucket_object *)other)->key);
}

/* The last page is told by there being nothing on it. */
static void cut_page(struct arena *arena, const struct bucket_listing *what, size_t most, struct bucket_page *page)
{
	while (what->next && page->count && strcmp(page->at->key, what->next) <= 0)
		page->at++, page->count--;
	if (page->count > most)
		page->count = most;
	page->next = page->count ? arena_strdup(arena, page->at[page->count - 1].key) : NULL;
}

static enum bucket_answer list(struct bucket *bucket, struct arena *arena, const struct bucket_listing *what,
							   struct bucket_page *out, recloser_error *error)
{
	BEGIN(false);
	if (fault != FAULT_NONE)
		return say(BUCKET_UNKNOWN, "no answer", error);
	unsigned hidden = store->list_lag;
	memset(out, 0, sizeof *out);
	out->at = arena_array(arena, store->count + 1, sizeof *out->at);
	for (size_t i = store->count; i-- > 0;) {
		const struct memory_object *object = &store->objects[i];
		if (!object->there || !text_starts(object->key, what->prefix) ||
			(what->after && strcmp(object->key, what->after) <= 0))
			continue;
		if (strstr(object->key, "/ledger/") && hidden && hidden--)
			continue;
		out->at[out->count++] =
			(struct bucket_object){arena_strdup(arena, object->key), arena_strdup(arena, object->token), object->count, 0};
	}
	qsort(out->at, out->count, sizeof *out->at, by_key);
	if (store->page)
		cut_page(arena, what, store->page, out);
	return BUCKET_DONE;
}

static enum bucket_answer copy(struct bucket *bucket, const char *from, const char *token, const char *to,
							   struct bucket_found *found, recloser_error *error)
{
	BEGIN(false);
	const struct memory_object *object = memory_find(store, from);
	if (!object)
		return BUCKET_ABSENT;
	if (fault == FAULT_LATE) {
		store->late[store->late_count++] = (struct memory_put){.key = arena_strdup(store->arena, to),
															   .from = arena_strdup(store->arena, from),
															   .token = token ? arena_strdup(store->arena, token) : ""};
		return say(BUCKET_UNKNOWN, "no answer", error);
	}
	if (token && !store->no_conditions && !store->blind_copies && strcmp(token, object->token) != 0)
		return BUCKET_LOST;
	write_object(store, to, object->bytes, object->count);
	if (fault != FAULT_NONE)
		return say(BUCKET_UNKNOWN, "no answer", error);
	memcpy(found->token, find(store, to)->token, sizeof found->token);
	if (store->other_copy_tokens)
		found->token[1] = 'x';
	return BUCKET_DONE;
}

static enum bucket_answer remove_object(struct bucket *bucket, const char *key, recloser_error *error)
{
	BEGIN(false);
	struct memory_object *object = find(store, key);
	if (object)
		object->there = false;
	return fault == FAULT_NONE ? BUCKET_DONE : say(BUCKET_UNKNOWN, "no answer", error);
}

static struct bucket *again(struct bucket *bucket, struct arena *arena)
{
	return bucket_memory(arena, ((struct memory *)bucket->impl)->store, NULL);
}

static const struct bucket_ops with_copy = {"memory", put, get, head, list, copy, remove_object, again};
static const struct bucket_ops without_copy = {"memory", put, get, head, list, NULL, remove_object, again};

struct bucket *bucket_memory(struct arena *arena, struct memory_store *store, struct memory_faults *faults)
{
	struct bucket *bucket = arena_alloc(arena, sizeof *bucket);
	struct memory *memory = arena_alloc(arena, sizeof *memory);
	*memory = (struct memory){.store = store, .faults = faults ? faults : &memory->none, .arena = arena};
	*bucket = (struct bucket){store->no_copy ? &without_copy : &with_copy, memory, "s3://lake", "memory/lake",
							  arena_alloc(arena, sizeof *bucket->counts)};
	return bucket;
}
