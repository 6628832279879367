/* SPDX-License-Identifier: Apache-2.0
 * Repeating what stores ask to repeat. Reading, listing, removing and unconditional puts may be sent again whatever happened
 * to the first, and a copy to another name. A conditional put may not, once the server may have acted on it: the
 * second would be refused because of the first. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/gdal.h"
#include "store/http.h"

enum { MOST_RETRIES = 1000 };
static const double LONGEST_PAUSE = 8;

struct retry {
	struct bucket *inner;
	struct arena *arena;
	struct bucket_retry_options options;
};

static struct retry *retry_of(struct bucket *bucket)
{
	return bucket->impl;
}

static void pause_before(struct bucket *bucket, int tried)
{
	const struct retry *retry = retry_of(bucket);
	double seconds = retry->options.first_pause;
	for (int i = 1; i < tried && seconds < LONGEST_PAUSE; i++)
		seconds *= 2;
	if (seconds > LONGEST_PAUSE)
		seconds = LONGEST_PAUSE;
	/* Two that were sent away together do not come back together. */
	double now = clock_monotonic();
	seconds *= 0.75 + 0.5 * (double)((uint64_t)(now * 1e6) % 997) / 997;
	struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
	bucket->counts->retries++;
	(void)nanosleep(&time, NULL);
}

static bool try_again(struct bucket *bucket, enum bucket_answer answer, int *tried)
{
	if ((answer != BUCKET_BUSY && answer != BUCKET_UNKNOWN) || ++*tried >= retry_of(bucket)->options.tries)
		return false;
	pause_before(bucket, *tried);
	return true;
}

/* Told to the caller: the last try's error, and how many there were. */
static enum bucket_answer end(struct bucket *bucket, enum bucket_answer answer, int tried, const recloser_error *last,
							  recloser_error *error)
{
	if (answer != BUCKET_BUSY && answer != BUCKET_UNKNOWN && answer != BUCKET_FAILED)
		return answer;
	if (error && error->status == RECLOSER_OK) {
		*error = *last;
		if (tried > 1 && !*error->hint)
			error_hint(error, "tried %d times; run again when the store is well", tried);
	}
	(void)bucket;
	return BUCKET_FAILED;
}

#define REPEATED(call)                                                                                                      \
	do {                                                                                                                    \
		recloser_error last;                                                                                                \
		enum bucket_answer answer;                                                                                          \
		int tried = 0;                                                                                                      \
		do {                                                                                                                \
			error_clear(&last);                                                                                             \
			answer = (call);                                                                                                \
		} while (try_again(bucket, answer, &tried));                                                                        \
		return end(bucket, answer, tried, &last, error);                                                                    \
	} while (0)

static enum bucket_answer put_on_condition(struct bucket *bucket, const char *key, const struct bucket_body *body,
										   enum bucket_when when, const char *token, struct bucket_found *found,
										   recloser_error *error)
{
	struct bucket *inner = retry_of(bucket)->inner;
	recloser_error last;
	enum bucket_answer answer;
	int tried = 0;
	if (when == BUCKET_IF_MATCH && !*token) { /* a server may take an empty condition for none */
		error_set(error, RECLOSER_IO, "store.no_token", "the store did not say which state of the object is to be replaced");
		error_where(error, "%s/%s", bucket->url, key);
		error_hint(error, "it gave no ETag that can be used");
		return BUCKET_FAILED;
	}
	do {
		error_clear(&last);
		answer = inner->ops->put(inner, key, body, when, token, found, &last);
	} while (answer == BUCKET_BUSY && try_again(bucket, answer, &tried));
	/* "Come back later" may have been said by something between us and the store. */
	if (answer == BUCKET_LOST && tried > 0)
		return BUCKET_LOOK;
	if (answer != BUCKET_UNKNOWN)
		return end(bucket, answer, tried, &last, error);
	if (error && error->status == RECLOSER_OK)
		*error = last;
	return BUCKET_UNKNOWN;
}

static enum bucket_answer put(struct bucket *bucket, const char *key, const struct bucket_body *body, enum bucket_when when,
							  const char *token, struct bucket_found *found, recloser_error *error)
{
	struct bucket *inner = retry_of(bucket)->inner;
	if (when != BUCKET_ALWAYS)
		return put_on_condition(bucket, key, body, when, token, found, error);
	REPEATED(inner->ops->put(inner, key, body, when, token, found, &last));
}

static enum bucket_answer get(struct bucket *bucket, const char *key, const char *token, struct bucket_sink *sink,
							  struct bucket_found *found, recloser_error *error)
{
	struct bucket *inner = retry_of(bucket)->inner;
	REPEATED(inner->ops->get(inner, key, token, sink, found, &last));
}

static enum bucket_answer head(struct bucket *bucket, const char *key, struct bucket_found *found, recloser_error *error)
{
	struct bucket *inner = retry_of(bucket)->inner;
	REPEATED(inner->ops->head(inner, key, found, &last));
}

static enum bucket_answer list(struct bucket *bucket, struct arena *arena, const struct bucket_listing *what,
							   struct bucket_page *out, recloser_error *error)
{
	struct bucket *inner = retry_of(bucket)->inner;
	REPEATED(inner->ops->list(inner, arena, what, out, &last));
}

static enum bucket_answer copy(struct bucket *bucket, const char *from, const char *token, const char *to,
							   struct bucket_found *found, recloser_error *error)
{
	struct bucket *inner = retry_of(bucket)->inner;
	recloser_error last;
	enum bucket_answer answer;
	int tried = 0;
	unsigned turn;
	do {
		struct arena *arena = arena_new(retry_of(bucket)->arena);
		turn = (unsigned)tried;
		error_clear(&last);
		answer = inner->ops->copy(inner, from, token, bucket_copy_name(arena, to, turn), found, &last);
		arena_free(arena);
	} while (try_again(bucket, answer, &tried));
	found->turn = turn;
	return end(bucket, answer, tried, &last, error);
}

const char *bucket_copy_name(struct arena *arena, const char *to, unsigned turn)
{
	return turn ? arena_printf(arena, "%s.%u", to, turn) : to;
}

static enum bucket_answer remove_object(struct bucket *bucket, const char *key, recloser_error *error)
{
	struct bucket *inner = retry_of(bucket)->inner;
	REPEATED(inner->ops->remove(inner, key, &last));
}

static struct bucket *again(struct bucket *bucket, struct arena *arena)
{
	struct retry *retry = retry_of(bucket);
	return bucket_retry(arena, retry->inner->ops->again(retry->inner, arena), &retry->options);
}

struct bucket *bucket_retry(struct arena *arena, struct bucket *inner, const struct bucket_retry_options *options)
{
	struct bucket *bucket = arena_alloc(arena, sizeof *bucket);
	struct retry *retry = arena_alloc(arena, sizeof *retry);
	struct bucket_ops *ops = arena_alloc(arena, sizeof *ops);
	const char *most = http_setting("GDAL_HTTP_MAX_RETRY"), *delay = http_setting("GDAL_HTTP_RETRY_DELAY");
	long retries = most ? strtol(most, NULL, 10) : 5;
	retry->inner = inner;
	retry->arena = arena;
	if (options)
		retry->options = *options;
	if (retry->options.tries <= 0)
		retry->options.tries = retries < 0 ? 1 : retries < MOST_RETRIES ? 1 + (int)retries : 1 + MOST_RETRIES;
	if (retry->options.first_pause <= 0)
		retry->options.first_pause = delay ? gdal()->CPLAtof(delay) : 0.3; /* whatever the locale */
	if (!(retry->options.first_pause > 0))
		retry->options.first_pause = 0.01;
	*ops = (struct bucket_ops){inner->ops->name, put, get, head, list, inner->ops->copy ? copy : NULL, remove_object, again};
	*bucket = *inner;
	bucket->ops = ops;
	bucket->impl = retry;
	return bucket;
}
