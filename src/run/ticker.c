/* SPDX-License-Identifier: Apache-2.0
 * One thread that wakes four times a second. It looks only at counters that are made for it (engine_progress,
 * struct source_reached), and at what was told last, under the lock. */
#include "run/ticker.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TICK_NS = 250000000, MOST_SOURCES = 64 };

struct ticker {
	const recloser_common *common;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
	bool running, ending;
	recloser_progress last; /* as it was told; its note is not kept */
	struct engine *engine;
	const struct source *sources[MOST_SOURCES];
	size_t source_count;
};

/* What was told, with what the watched have to add. Under the lock. */
static recloser_progress look(const struct ticker *ticker)
{
	recloser_progress now = ticker->last;
	uint64_t rows = 0, bytes = 0, total = 0;
	for (size_t i = 0; i < ticker->source_count; i++) {
		rows += __atomic_load_n(&ticker->sources[i]->reached.rows, __ATOMIC_RELAXED);
		bytes += __atomic_load_n(&ticker->sources[i]->reached.bytes, __ATOMIC_RELAXED);
		total += ticker->sources[i]->facts.bytes;
	}
	if (now.rows == 0)
		now.rows = rows;
	/* Reading is one statement; of phases that are several, the share of one would mislead. */
	double engine = ticker->engine && ticker->source_count == 1 ? engine_progress(ticker->engine) : -1;
	if (now.partitions_total > 1)
		now.done = (double)now.partitions / (double)now.partitions_total;
	else if (bytes > 0 && total > 0)
		now.done = bytes < total ? (double)bytes / (double)total : 1;
	else if (engine > 0 && engine <= 1)
		now.done = engine;
	if (now.bytes_total == 0 && total > 0 && now.done > 0) {
		now.bytes_total = total;
		now.bytes = (uint64_t)(now.done * (double)total);
	}
	return now;
}

static void *tick(void *pointer)
{
	struct ticker *ticker = pointer;
	pthread_mutex_lock(&ticker->lock);
	while (!ticker->ending) {
		struct timespec until;
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += TICK_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		int woken = 0;
		while (!ticker->ending && woken != ETIMEDOUT)
			woken = pthread_cond_timedwait(&ticker->wake, &ticker->lock, &until);
		if (ticker->ending || !ticker->last.phase)
			continue;
		recloser_progress now = look(ticker);
		ticker->common->progress(ticker->common->progress_arg, &now);
	}
	pthread_mutex_unlock(&ticker->lock);
	return NULL;
}

static void end(void *pointer)
{
	struct ticker *ticker = pointer;
	pthread_mutex_lock(&ticker->lock);
	ticker->ending = true;
	pthread_cond_signal(&ticker->wake);
	pthread_mutex_unlock(&ticker->lock);
	if (ticker->running)
		pthread_join(ticker->thread, NULL);
	pthread_cond_destroy(&ticker->wake);
	pthread_mutex_destroy(&ticker->lock);
}

struct ticker *ticker_start(struct arena *arena, const recloser_common *common)
{
	if (!common->progress)
		return NULL;
	struct ticker *ticker = arena_alloc(arena, sizeof *ticker);
	*ticker = (struct ticker){.common = common};
	pthread_mutex_init(&ticker->lock, NULL);
	pthread_condattr_t attributes;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&ticker->wake, &attributes);
	pthread_condattr_destroy(&attributes);
	/* Without a thread only what is told is told. */
	ticker->running = pthread_create(&ticker->thread, NULL, tick, ticker) == 0;
	arena_defer(arena, end, ticker);
	return ticker;
}

static void watch(struct ticker *ticker, struct engine *engine)
{
	pthread_mutex_lock(&ticker->lock);
	ticker->engine = engine;
	pthread_mutex_unlock(&ticker->lock);
}

static void unwatch(void *ticker)
{
	watch(ticker, NULL);
}

void ticker_watch_engine(struct ticker *ticker, struct arena *arena, struct engine *engine)
{
	if (!ticker)
		return;
	engine_watched(engine);
	watch(ticker, engine);
	arena_defer(arena, unwatch, ticker); /* after the connection's own entry, so it runs before */
}

/* Sources of a call that ended half-way go with the arena's blocks, after its entries: the thread has ended by then. */
void ticker_watch_source(struct ticker *ticker, const struct source *source)
{
	if (!ticker)
		return;
	pthread_mutex_lock(&ticker->lock);
	if (ticker->source_count < MOST_SOURCES)
		ticker->sources[ticker->source_count++] = source;
	pthread_mutex_unlock(&ticker->lock);
}

void ticker_tell(struct ticker *ticker, const recloser_progress *what)
{
	if (!ticker)
		return;
	pthread_mutex_lock(&ticker->lock);
	if (!ticker->last.phase || strcmp(ticker->last.phase, what->phase) != 0)
		ticker->source_count = 0;
	ticker->last = *what;
	recloser_progress now = look(ticker);
	ticker->common->progress(ticker->common->progress_arg, &now);
	ticker->last.note = NULL; /* not ours to keep */
	pthread_mutex_unlock(&ticker->lock);
}
