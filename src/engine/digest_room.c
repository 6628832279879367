/* SPDX-License-Identifier: Apache-2.0
 * The file is emptied whenever its last run is dropped: a command that checks one large partition after another needs the room
 * of the largest. */
#include "engine/digest_room.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/spill.h"

/* A heap this small is not put aside, whatever the others hold: a file full of tiny runs would be read in tiny pieces. */
enum { SMALL = 16384 };

struct digest_room {
	pthread_mutex_t lock; /* over the counts */
	uint64_t most, held;
	size_t runs;
	struct spill *file; /* NULL: no directory was given */
};

struct digest_room *digest_room_new(uint64_t most, const char *directory)
{
	struct digest_room *room = calloc(1, sizeof *room);
	if (!room)
		return NULL;
	room->most = most;
	room->file = directory ? spill_new(directory) : NULL;
	if (directory && !room->file) {
		free(room);
		return NULL;
	}
	pthread_mutex_init(&room->lock, NULL);
	return room;
}

void digest_room_free(struct digest_room *room)
{
	if (!room)
		return;
	spill_free(room->file);
	pthread_mutex_destroy(&room->lock);
	free(room);
}

bool digest_room_take(struct digest_room *room, size_t whole, size_t more)
{
	pthread_mutex_lock(&room->lock);
	bool granted = !room->file || whole <= SMALL || room->held + more <= room->most;
	if (granted)
		room->held += more;
	pthread_mutex_unlock(&room->lock);
	return granted;
}

void digest_room_give(struct digest_room *room, size_t count)
{
	pthread_mutex_lock(&room->lock);
	room->held -= count;
	pthread_mutex_unlock(&room->lock);
}

/* A place for a run. Not while the file is being emptied. */
static int reserve(struct digest_room *room, uint64_t bytes, uint64_t *offset)
{
	pthread_mutex_lock(&room->lock);
	int failed = spill_reserve(room->file, bytes, offset);
	room->runs += failed == 0;
	pthread_mutex_unlock(&room->lock);
	return failed;
}

int digest_room_put(struct digest_room *room, const struct digest128 *at, const size_t start[257], struct digest_run **out)
{
	struct digest_run *run = calloc(1, sizeof *run);
	if (!run)
		return ENOMEM;
	memcpy(run->start, start, sizeof run->start);
	int failed = reserve(room, start[256] * sizeof *at, &run->offset);
	if (failed) {
		free(run);
		return failed;
	}
	failed = spill_put(room->file, at, start[256] * sizeof *at, run->offset);
	if (failed)
		digest_room_drop(room, run);
	else
		*out = run;
	return failed;
}

int digest_room_get(struct digest_room *room, const struct digest_run *run, size_t from, size_t count, struct digest128 *out)
{
	return spill_get(room->file, out, count * sizeof *out, run->offset + from * sizeof *out);
}

void digest_room_drop(struct digest_room *room, struct digest_run *run)
{
	free(run);
	pthread_mutex_lock(&room->lock);
	if (--room->runs == 0)
		spill_empty(room->file);
	pthread_mutex_unlock(&room->lock);
}
