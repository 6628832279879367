/* SPDX-License-Identifier: Apache-2.0
 * Steps 6 and 7: write aside, read back and assert.
 *
 * A few workers take partitions in turn, each over a connection and with an arena of its own, so that one partition is
 * verified while another is encoded. The bytes of a partition depend on neither their number nor their turn. */
#include <pthread.h>
#include <string.h>

#include "run/run.h"

enum { MOST_WORKERS = 16, LONGEST_STRETCH = 32 };

/* What the workers share; `lock` is over `next` and `error`. */
struct staging_floor {
	struct run *run;
	struct run_part **parts;
	const char **files;
	size_t count, next;
	size_t stretch; /* partitions a turn */
	pthread_mutex_t lock;
	recloser_error error; /* of the first that failed */
};

struct worker {
	struct staging_floor *floor;
	struct arena *arena;
	struct engine *engine;
	pthread_t thread;
	bool started;
};

static bool to_write(const struct run_part *part)
{
	return part->outcome == PART_NEW || part->outcome == PART_REPLACED;
}

static struct part_check check_of(const struct worker *worker, const struct run_part *part)
{
	const struct run *run = worker->floor->run;
	const struct part *staged = &part->part;
	return (struct part_check){
		.engine = worker->engine, .spec = run->spec, .file = staged->file, .path = staged->batch_part->path, .columns = run->batch->columns,
		.column_count = run->batch->column_count, .rows = (int64_t)staged->batch_part->rows, .fingerprint = staged->content.fingerprint,
		.geo = staged->geo, .crs_id = run->format.schema.crs_id, .has_geometry = run->batch->has_geometry};
}

static recloser_status verify_staged(const struct worker *worker, struct arena *arena, size_t from, size_t to, recloser_error *error)
{
	struct staging_floor *floor = worker->floor;
	size_t count = to - from;
	struct part_check *checks = arena_array(arena, count, sizeof *checks);
	struct part_verdict *verdicts = arena_array(arena, count, sizeof *verdicts);
	for (size_t i = 0; i < count; i++)
		checks[i] = check_of(worker, floor->parts[from + i]);
	RC_TRY(parts_verify(arena, checks, count, verdicts, error));
	for (size_t i = 0; i < count; i++) {
		floor->parts[from + i]->part.row_groups = verdicts[i].row_groups;
		if (verdicts[i].faults.count == 0)
			continue;
		error_set(error, RECLOSER_IO, "stage.verify", "the staged file does not hold what was to be written: %s",
		          strings_join(arena, &verdicts[i].faults, "; "));
		error_where(error, "%s", checks[i].path);
		return error_hint(error, "nothing was made live; the disk or the memory of this machine may be at fault: run again, and run `recloser verify`");
	}
	return RECLOSER_OK;
}

static recloser_status stage_parts(const struct worker *worker, struct arena *arena, size_t from, size_t to, recloser_error *error)
{
	struct staging_floor *floor = worker->floor;
	for (size_t i = from; i < to; i++) {
		struct arena *scratch = arena_new(arena);
		recloser_status status = part_write(&floor->run->format, worker->engine, scratch, &floor->parts[i]->part, floor->files[i], error);
		arena_free(scratch);
		RC_TRY(status);
	}
	return verify_staged(worker, arena, from, to, error);
}

/* The next few partitions: enough that verifying them together pays, few enough that all workers have something to do. */
static bool take_turn(struct staging_floor *floor, size_t *from, size_t *to)
{
	pthread_mutex_lock(&floor->lock);
	*from = *to = floor->next;
	if (floor->error.status == RECLOSER_OK) {
		*to += floor->stretch;
		if (*to > floor->count)
			*to = floor->count;
	}
	floor->next = *to;
	if (*from < *to)
		run_progress(floor->run, "stage", floor->parts[*from]->part.batch_part->rows, *from, floor->count);
	pthread_mutex_unlock(&floor->lock);
	return *from < *to;
}

static void give_up(struct staging_floor *floor, const recloser_error *error)
{
	pthread_mutex_lock(&floor->lock);
	if (floor->error.status == RECLOSER_OK)
		floor->error = *error;
	pthread_mutex_unlock(&floor->lock);
}

static void work(struct worker *worker)
{
	recloser_error error = {0};
	size_t from, to;
	while (take_turn(worker->floor, &from, &to)) {
		struct arena *arena = arena_new(worker->arena); /* what a stretch of partitions needs goes when it is done */
		recloser_status status = stage_parts(worker, arena, from, to, &error);
		arena_free(arena);
		if (status != RECLOSER_OK) {
			give_up(worker->floor, &error);
			return;
		}
	}
}

/* Memory that runs out must not leave through the guard of another thread: each worker has a root arena of its own. */
static void *worker_main(void *pointer)
{
	struct worker *worker = pointer;
	if (setjmp(*arena_guard(worker->arena)) == 0) {
		work(worker);
	} else {
		recloser_error error = {0};
		error_set(&error, RECLOSER_IO, "memory", "out of memory");
		give_up(worker->floor, &error);
	}
	return NULL;
}

static void free_worker_arena(void *arena)
{
	arena_free(arena);
}

static recloser_status hire(struct run *run, struct staging_floor *floor, struct worker *worker, recloser_error *error)
{
	worker->floor = floor;
	worker->arena = arena_new(NULL);
	if (!worker->arena)
		return error_set(error, RECLOSER_IO, "memory", "out of memory");
	arena_defer(run->arena, free_worker_arena, worker->arena);
	return engine_connect(run->arena, run->engine, &worker->engine, error);
}

static size_t worker_count(const struct run *run, size_t parts, size_t at_once)
{
	size_t wanted = engine_threads(run->engine); /* as many as the memory is enough for */
	wanted = wanted < parts ? wanted : parts;
	wanted = wanted < at_once ? wanted : at_once;
	return wanted < MOST_WORKERS ? wanted : MOST_WORKERS;
}

static uint64_t most_rows(const struct staging_floor *floor)
{
	uint64_t most = 0;
	for (size_t i = 0; i < floor->count; i++) {
		uint64_t rows = floor->parts[i]->part.batch_part->rows;
		most = rows > most ? rows : most;
	}
	return most;
}

/* Where each worker has enough partitions of its own to do, the engine's threads would only wait for one another: each
 * connection's statement then runs on the worker that gave it. Not where one partition holds most of the rows. */
static bool workers_alone(const struct staging_floor *floor, size_t workers)
{
	uint64_t all = 0;
	for (size_t i = 0; i < floor->count; i++)
		all += floor->parts[i]->part.batch_part->rows;
	return workers > 1 && most_rows(floor) <= all / (4 * workers);
}

/* How many of these partitions may be sorted at a time, by the widest of them. */
static size_t writes_at_once(const struct run *run, const struct staging_floor *floor)
{
	size_t least = MOST_WORKERS;
	for (size_t i = 0; i < floor->count; i++) {
		size_t fit = batch_writes_at_once(run->batch, &floor->parts[i]->part.batch_part->widths);
		least = fit < least ? fit : least;
	}
	return least;
}

static recloser_status stage_all(struct run *run, struct staging_floor *floor, recloser_error *error)
{
	size_t at_once = writes_at_once(run, floor);
	size_t count = worker_count(run, floor->count, at_once);
	struct worker *workers = arena_array(run->arena, count + 1, sizeof *workers);
	size_t each = count ? floor->count / (2 * count) : 1;
	floor->stretch = each < 1 ? 1 : each > LONGEST_STRETCH ? LONGEST_STRETCH : each;
	for (size_t i = 0; i < count; i++)
		RC_TRY(hire(run, floor, &workers[i], error));
	bool alone = workers_alone(floor, count) || at_once < engine_threads(run->engine);
	if (alone)
		RC_TRY(engine_share(run->engine, count, error));
	for (size_t i = 1; i < count; i++)
		workers[i].started = pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]) == 0;
	if (count)
		worker_main(&workers[0]); /* this thread is the first worker, and the only one where threads can't be had */
	for (size_t i = 1; i < count; i++)
		if (workers[i].started)
			pthread_join(workers[i].thread, NULL);
	if (alone && floor->error.status == RECLOSER_OK)
		RC_TRY(engine_share(run->engine, 0, error));
	if (floor->error.status == RECLOSER_OK)
		return RECLOSER_OK;
	if (error && error->status == RECLOSER_OK)
		*error = floor->error;
	return floor->error.status;
}

recloser_status run_stage(struct run *run, recloser_error *error)
{
	struct staging_floor floor = {.run = run, .parts = arena_array(run->arena, run->part_count + 1, sizeof *floor.parts),
	                              .files = arena_array(run->arena, run->part_count + 1, sizeof *floor.files)};
	for (size_t i = 0; i < run->part_count; i++)
		if (to_write(&run->parts[i])) {
			RC_TRY(staging_file(run->staging, run->parts[i].part.batch_part->path, &floor.files[floor.count], error));
			floor.parts[floor.count++] = &run->parts[i];
		}
	RC_TRY(batch_lighten(run->batch, error));
	pthread_mutex_init(&floor.lock, NULL);
	recloser_status status = stage_all(run, &floor, error);
	pthread_mutex_destroy(&floor.lock);
	RC_TRY(status);
	for (size_t i = 0; i < floor.count; i++)
		RC_TRY(staging_hold(run->staging, floor.parts[i]->part.batch_part->path, error));
	return RECLOSER_OK;
}
