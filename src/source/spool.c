#define _GNU_SOURCE /* mkostemp */
/* SPDX-License-Identifier: Apache-2.0
 * Spool files and maps whose lifetime is an arena's. */
#include "source/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void close_boxed(void *pointer)
{
	int descriptor = *(int *)pointer;
	if (descriptor >= 0)
		close(descriptor);
}

int *descriptor_on(struct arena *arena)
{
	int *box = arena_alloc(arena, sizeof *box);
	*box = -1;
	arena_defer(arena, close_boxed, box);
	return box;
}

struct map {
	void *at;
	size_t count;
};

static void unmap(void *pointer)
{
	struct map *map = pointer;
	if (map->at != MAP_FAILED)
		munmap(map->at, map->count);
}

recloser_status map_descriptor(struct arena *arena, int descriptor, size_t count, const char *path, const char **at,
							   recloser_error *error)
{
	*at = "";
	if (count == 0)
		return RECLOSER_OK; /* mmap refuses a length of 0 */
	struct map *map = arena_alloc(arena, sizeof *map);
	map->at = MAP_FAILED;
	arena_defer(arena, unmap, map);
	map->at = mmap(NULL, count, PROT_READ, MAP_PRIVATE, descriptor, 0);
	map->count = count;
	if (map->at == MAP_FAILED)
		return error_errno(error, "io.map", errno, "map", path);
	/* Only advice: a kernel that does not know it reads ahead by its own rules. */
	(void)posix_madvise(map->at, count, POSIX_MADV_SEQUENTIAL);
	*at = map->at;
	return RECLOSER_OK;
}

recloser_status write_all(int descriptor, const void *bytes, size_t count, const char *path, recloser_error *error)
{
	const char *at = bytes;
	while (count > 0) {
		ssize_t put = write(descriptor, at, count);
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return error_errno(error, "io.write", errno, "write a temporary file in", path);
		at += put;
		count -= (size_t)put;
	}
	return RECLOSER_OK;
}

const char *spool_directory(const char *directory)
{
	const char *system = getenv("TMPDIR");
	return directory ? directory : system && *system ? system : "/tmp";
}

recloser_status spool_open(struct arena *arena, const char *directory, struct spool *out, recloser_error *error)
{
	directory = spool_directory(directory);
	char *name = arena_printf(arena, "%s/spool-XXXXXX", directory);
	int *descriptor = descriptor_on(arena);
	*descriptor = mkostemp(name, O_CLOEXEC);
	if (*descriptor < 0)
		return error_errno(error, "io.spool", errno, "make a temporary file in", directory);
	unlink(name);
	*out = (struct spool){.descriptor = *descriptor, .directory = directory};
	return RECLOSER_OK;
}

recloser_status spool_add(struct spool *spool, const void *bytes, size_t count, recloser_error *error)
{
	RC_TRY(write_all(spool->descriptor, bytes, count, spool->directory, error));
	spool->bytes += count;
	return RECLOSER_OK;
}

recloser_status spool_map(struct arena *arena, struct spool *spool, const char **at, size_t *count, recloser_error *error)
{
	*count = (size_t)spool->bytes;
	return map_descriptor(arena, spool->descriptor, *count, spool->directory, at, error);
}
