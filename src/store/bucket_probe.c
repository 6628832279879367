/* SPDX-License-Identifier: Apache-2.0
 * What a store honours, found out by trying: servers that speak S3 answer 200 to conditions they never looked at. Creating
 * one object from several connections at once tells a server that looks first and writes then from one that does both in
 * one step. */
#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "store/bucket.h"

enum { RACERS = 6, ROUNDS = 3 };

struct racer {
	struct bucket *bucket;
	struct arena *arena;
	struct bucket_body body;
	const char *key, *token; /* token NULL: the object is to be made */
	struct gate *gate;
	enum bucket_answer answer;
	recloser_error error;
};

/* Holds the racers until all of them are there. */
struct gate {
	pthread_mutex_t mutex;
	pthread_cond_t opened;
	bool open;
};

static void *race(void *pointer)
{
	struct racer *racer = pointer;
	pthread_mutex_lock(&racer->gate->mutex);
	while (!racer->gate->open)
		pthread_cond_wait(&racer->gate->opened, &racer->gate->mutex);
	pthread_mutex_unlock(&racer->gate->mutex);
	if (setjmp(*arena_guard(racer->arena)) == 0)
		racer->answer =
			racer->bucket->ops->put(racer->bucket, racer->key, &racer->body,
									racer->token ? BUCKET_IF_MATCH : BUCKET_IF_ABSENT, racer->token, NULL, &racer->error);
	return NULL;
}

static recloser_status cant(enum bucket_answer answer, const struct bucket *bucket, recloser_error *error)
{
	if (error && error->status != RECLOSER_OK)
		return error->status;
	error_set(error, RECLOSER_IO, "store.probe", "the object store could not be tried out (answer %d)", (int)answer);
	return error_where(error, "%s", bucket->server);
}

/* One round: how many of the racers were told that they made the object, or replaced it. */
static recloser_status run_race(struct bucket *bucket, struct arena *arena, struct racer *racers, const char *key,
								const char *token, int *winners, recloser_error *error)
{
	pthread_t threads[RACERS];
	struct gate gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};
	int running = 0;
	*winners = 0;
	for (int i = 0; i < RACERS; i++) {
		racers[i].key = key;
		racers[i].token = token;
		racers[i].gate = &gate;
		racers[i].answer = BUCKET_FAILED;
		bucket_body_bytes(&racers[i].body, arena_printf(arena, "%s%d", token ? "match" : "make", i), token ? 6 : 5);
	}
	while (running < RACERS && pthread_create(&threads[running], NULL, race, &racers[running]) == 0)
		running++;
	pthread_mutex_lock(&gate.mutex);
	gate.open = true;
	pthread_cond_broadcast(&gate.opened);
	pthread_mutex_unlock(&gate.mutex);
	for (int i = running; i < RACERS; i++) /* no more threads: one after the other tells less */
		race(&racers[i]);
	for (int i = 0; i < running; i++)
		pthread_join(threads[i], NULL);
	bool doubtful = false;
	for (int i = 0; i < RACERS; i++) {
		*winners += racers[i].answer == BUCKET_DONE;
		doubtful |= racers[i].answer == BUCKET_BUSY || racers[i].answer == BUCKET_UNKNOWN;
		if (racers[i].answer == BUCKET_FAILED) {
			if (error && error->status == RECLOSER_OK)
				*error = racers[i].error;
			return cant(racers[i].answer, bucket, error);
		}
	}
	if (*winners == 0 && doubtful)
		*winners = 1; /* the one that was not answered */
	return RECLOSER_OK;
}

/* Both conditions: a server may look at one in the same step as it writes, and at the other before. */
static recloser_status race_once(struct bucket *bucket, struct arena *arena, struct racer *racers, const char *key,
								 struct bucket_abilities *out, recloser_error *error)
{
	struct bucket_found found;
	int makers, replacers;
	RC_TRY(run_race(bucket, arena, racers, key, NULL, &makers, error));
	enum bucket_answer answer = bucket->ops->head(bucket, key, &found, error);
	if (answer != BUCKET_DONE)
		return cant(answer, bucket, error);
	RC_TRY(run_race(bucket, arena, racers, key, found.token, &replacers, error));
	out->create_once &= makers == 1;
	out->match &= replacers == 1;
	return RECLOSER_OK;
}

static recloser_status try_races(struct bucket *bucket, struct arena *arena, const char *prefix,
								 struct bucket_abilities *out, recloser_error *error)
{
	struct racer racers[RACERS];
	recloser_status status = RECLOSER_OK;
	memset(racers, 0, sizeof racers);
	for (int i = 0; i < RACERS; i++) {
		racers[i].arena = arena_new(NULL); /* each with a guard of its own */
		if (!racers[i].arena)
			arena_out_of_memory(arena);
		racers[i].bucket = bucket->ops->again(bucket, racers[i].arena);
	}
	out->create_once = true;
	for (int round = 0; round < ROUNDS && status == RECLOSER_OK; round++)
		status = race_once(bucket, arena, racers, arena_printf(arena, "%srace-%d", prefix, round), out, error);
	for (int i = 0; i < RACERS; i++) {
		bucket->counts->requests += racers[i].bucket->counts->requests;
		bucket->counts->bytes_sent += racers[i].bucket->counts->bytes_sent;
		arena_free(racers[i].arena);
	}
	return status;
}

static recloser_status try_match(struct bucket *bucket, const char *key, struct bucket_abilities *out, recloser_error *error)
{
	struct bucket_body first, second, third;
	struct bucket_found was, is;
	bucket_body_bytes(&first, "first", 5);
	bucket_body_bytes(&second, "second", 6);
	bucket_body_bytes(&third, "third", 5);
	enum bucket_answer answer = bucket->ops->put(bucket, key, &first, BUCKET_ALWAYS, NULL, &was, error);
	if (answer != BUCKET_DONE)
		return cant(answer, bucket, error);
	answer = bucket->ops->put(bucket, key, &second, BUCKET_IF_MATCH, was.token, &is, error);
	if (answer == BUCKET_FAILED || answer == BUCKET_UNKNOWN)
		return cant(answer, bucket, error);
	bool right = answer == BUCKET_DONE;
	char md5[33];
	hex_of(first.md5, sizeof first.md5, md5);
	out->md5_tokens = strlen(was.token) == 34 && memcmp(was.token + 1, md5, 32) == 0;
	answer = bucket->ops->put(bucket, key, &third, BUCKET_IF_MATCH, was.token, NULL, error);
	if (answer == BUCKET_FAILED || answer == BUCKET_UNKNOWN)
		return cant(answer, bucket, error);
	out->match = right && (answer == BUCKET_LOST || answer == BUCKET_LOOK);
	return RECLOSER_OK;
}

/* A body under the digests of another one of its length. Not acted on is right, whatever the words. */
static void try_checksum(struct bucket *bucket, const char *key, struct bucket_abilities *out)
{
	recloser_error ignored = {0};
	struct bucket_body body;
	bucket_body_bytes(&body, "right", 5);
	body.bytes = "wrong";
	out->checksum = bucket->ops->put(bucket, key, &body, BUCKET_ALWAYS, NULL, NULL, &ignored) != BUCKET_DONE;
}

static void try_copy(struct bucket *bucket, struct arena *arena, const char *prefix, struct bucket_abilities *out)
{
	recloser_error ignored = {0};
	struct bucket_found found;
	if (!bucket->ops->copy)
		return;
	enum bucket_answer answer =
		bucket->ops->copy(bucket, arena_printf(arena, "%smatch", prefix), "\"0123456789abcdef0123456789abcdef\"",
						  arena_printf(arena, "%scopy", prefix), &found, &ignored);
	out->copy_checks = answer == BUCKET_LOST || answer == BUCKET_LOOK;
}

static recloser_status look(struct bucket *bucket, struct arena *arena, const char *prefix, struct bucket_page *page,
							recloser_error *error)
{
	struct bucket_listing what = {.prefix = prefix};
	enum bucket_answer answer = bucket->ops->list(bucket, arena, &what, page, error);
	return answer == BUCKET_DONE ? RECLOSER_OK : cant(answer, bucket, error);
}

static recloser_status try_list(struct bucket *bucket, struct arena *arena, const char *prefix, struct bucket_abilities *out,
								recloser_error *error)
{
	struct bucket_page page;
	bool race_seen = false, match_seen = false;
	RC_TRY(look(bucket, arena, prefix, &page, error));
	for (size_t i = 0; i < page.count; i++) {
		race_seen |= text_ends(page.at[i].key, "race-0");
		match_seen |= text_ends(page.at[i].key, "match");
		enum bucket_answer answer = bucket->ops->remove(bucket, page.at[i].key, error);
		if (answer != BUCKET_DONE)
			return cant(answer, bucket, error);
	}
	RC_TRY(look(bucket, arena, prefix, &page, error));
	out->list_current = race_seen && match_seen && page.count == 0;
	return RECLOSER_OK;
}

recloser_status bucket_probe(struct bucket *bucket, struct arena *arena, const char *prefix, struct bucket_abilities *out,
							 recloser_error *error)
{
	memset(out, 0, sizeof *out);
	RC_TRY(try_match(bucket, arena_printf(arena, "%smatch", prefix), out,
					 error)); /* first: it tells what is wrong with the store */
	RC_TRY(try_races(bucket, arena, prefix, out, error));
	try_checksum(bucket, arena_printf(arena, "%schecksum", prefix), out);
	try_copy(bucket, arena, prefix, out);
	return try_list(bucket, arena, prefix, out, error);
}

bool bucket_token_denies(const struct bucket_abilities *can, const char *token, const char *md5)
{
	return can->md5_tokens && strlen(token) == 34 && *token == '"' && strspn(token + 1, "0123456789abcdef") == 32 &&
		   memcmp(token + 1, md5, 32) != 0;
}

/* ---- as JSON ---- */

static const struct {
	const char *name;
	size_t at;
	const char *missing;
} members[] = {
	{"create_once", offsetof(struct bucket_abilities, create_once),
	 "several writers can create one object at once (If-None-Match is not looked at in one step): two loads can lose each "
	 "other's version"},
	{"match", offsetof(struct bucket_abilities, match),
	 "a stale writer can replace a newer object (If-Match is not honoured): two loads can lose each other's version"},
	{"checksum", offsetof(struct bucket_abilities, checksum),
	 "the store keeps a body that is not what its checksum says: readers could see bytes that were altered on the way, until "
	 "they are read back"},
	{"list_current", offsetof(struct bucket_abilities, list_current),
	 "a listing may be older than the last write; a record that is not listed is found when it can't be created"},
	{"copy_checks", offsetof(struct bucket_abilities, copy_checks), NULL},
	{"md5_tokens", offsetof(struct bucket_abilities, md5_tokens), NULL},
};

json_t *bucket_abilities_json(struct arena *arena, const struct bucket *bucket, const struct bucket_abilities *can)
{
	json_t *json = json_new_object(arena), *sentences = json_new_array(arena);
	json_put_text(arena, json, "server", bucket->server);
	for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
		bool has = *((const bool *)((const char *)can + members[i].at));
		json_put_bool(arena, json, members[i].name, has);
		if (!has && members[i].missing)
			json_add_text(arena, sentences, members[i].missing);
	}
	json_put(arena, json, "sentences", sentences);
	return json;
}

bool bucket_abilities_read(const json_t *json, const struct bucket *bucket, struct bucket_abilities *out)
{
	const char *server = json_get_text(json, "server");
	memset(out, 0, sizeof *out);
	if (!server || strcmp(server, bucket->server) != 0)
		return false;
	for (size_t i = 0; i < sizeof members / sizeof *members; i++)
		*((bool *)((char *)out + members[i].at)) = json_get_bool(json, members[i].name, false);
	return true;
}
