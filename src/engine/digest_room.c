#define _GNU_SOURCE /* mkostemp */
/* SPDX-License-Identifier: Apache-2.0
 * The file has no name, so that a killed command leaves none behind, and it is emptied whenever its last run is dropped: a
 * command that checks one large partition after another needs the room of the largest. */
#include "engine/digest_room.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A heap this small is not put aside, whatever the others hold: a file full of tiny runs would be read in tiny pieces. */
enum { SMALL = 16384 };

struct digest_room {
	pthread_mutex_t lock; /* over everything below but the directory's name */
	uint64_t most, held;
	char *directory;
	bool made_directory;
	int descriptor; /* -1: not made yet */
	uint64_t end;
	size_t runs;
};

struct digest_room *digest_room_new(uint64_t most, const char *directory)
{
	struct digest_room *room = calloc(1, sizeof *room);
	if (!room)
		return NULL;
	room->most = most;
	room->descriptor = -1;
	room->directory = directory ? strdup(directory) : NULL;
	if (directory && !room->directory) {
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
	if (room->descriptor >= 0)
		close(room->descriptor);
	if (room->made_directory)
		(void)rmdir(room->directory); /* kept if something else is in it by now */
	pthread_mutex_destroy(&room->lock);
	free(room->directory);
	free(room);
}

bool digest_room_take(struct digest_room *room, size_t whole, size_t more)
{
	pthread_mutex_lock(&room->lock);
	bool granted = !room->directory || whole <= SMALL || room->held + more <= room->most;
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

static int open_file(struct digest_room *room)
{
	static const char leaf[] = "/digests-XXXXXX";
	size_t size = strlen(room->directory) + sizeof leaf;
	char *name = malloc(size);
	if (!name)
		return ENOMEM;
	snprintf(name, size, "%s%s", room->directory, leaf);
	room->made_directory = mkdir(room->directory, 0700) == 0 || room->made_directory;
	room->descriptor = mkostemp(name, O_CLOEXEC);
	int failed = room->descriptor < 0 ? errno : 0;
	if (failed == 0)
		unlink(name);
	free(name);
	return failed;
}

/* A place of this many bytes at the file's end. */
static int reserve(struct digest_room *room, uint64_t bytes, uint64_t *offset)
{
	pthread_mutex_lock(&room->lock);
	int failed = room->descriptor < 0 ? open_file(room) : 0;
	if (failed == 0) {
		*offset = room->end;
		room->end += bytes;
		room->runs++;
	}
	pthread_mutex_unlock(&room->lock);
	return failed;
}

static int write_at(int descriptor, const char *bytes, size_t count, uint64_t offset)
{
	while (count > 0) {
		ssize_t put = pwrite(descriptor, bytes, count, (off_t)offset);
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return put < 0 ? errno : ENOSPC;
		bytes += put;
		count -= (size_t)put;
		offset += (uint64_t)put;
	}
	return 0;
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
	failed = write_at(room->descriptor, (const char *)at, start[256] * sizeof *at, run->offset);
	if (failed)
		digest_room_drop(room, run);
	else
		*out = run;
	return failed;
}

int digest_room_get(struct digest_room *room, const struct digest_run *run, size_t from, size_t count, struct digest128 *out)
{
	uint64_t offset = run->offset + from * sizeof *out;
	size_t left = count * sizeof *out;
	for (char *at = (char *)out; left > 0;) {
		ssize_t got = pread(room->descriptor, at, left, (off_t)offset);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? errno : EIO; /* shorter than it was written */
		at += got;
		left -= (size_t)got;
		offset += (uint64_t)got;
	}
	return 0;
}

void digest_room_drop(struct digest_room *room, struct digest_run *run)
{
	free(run);
	pthread_mutex_lock(&room->lock);
	if (--room->runs == 0 && ftruncate(room->descriptor, 0) == 0)
		room->end = 0;
	pthread_mutex_unlock(&room->lock);
}
