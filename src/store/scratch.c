#define _GNU_SOURCE
/* SPDX-License-Identifier: Apache-2.0
 * Scratch directories hold a file `alive` that their owner keeps locked: a directory whose lock is free is a dead one's. */
#include "store/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char stem[] = "recloser-scratch-";

struct scratch {
	char *path;
	int alive;
};

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
	(void)status;
	(void)kind;
	(void)walk;
	(void)remove(path);
	return 0;
}

static void remove_all(const char *path)
{
	(void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

static void end(void *pointer)
{
	struct scratch *scratch = pointer;
	remove_all(scratch->path);
	if (scratch->alive >= 0)
		close(scratch->alive);
}

/* A minute's grace: a directory is made before it is locked. */
static bool is_dead(const char *path)
{
	struct stat status;
	char alive[4096];
	if (lstat(path, &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != geteuid() ||
		time(NULL) - status.st_mtime < 60)
		return false;
	if ((size_t)snprintf(alive, sizeof alive, "%s/alive", path) >= sizeof alive)
		return false;
	int descriptor = open(alive, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (descriptor < 0)
		return errno == ENOENT;
	bool dead = flock(descriptor, LOCK_EX | LOCK_NB) == 0;
	close(descriptor);
	return dead;
}

static void sweep(struct arena *arena, const char *parent)
{
	DIR *directory = opendir(parent);
	struct arena *scratch = arena_new(arena);
	for (struct dirent *entry; directory && (entry = readdir(directory));) {
		if (strncmp(entry->d_name, stem, strlen(stem)) != 0)
			continue;
		const char *path = arena_printf(scratch, "%s/%s", parent, entry->d_name);
		if (is_dead(path))
			remove_all(path);
	}
	arena_free(scratch);
	if (directory)
		closedir(directory);
}

recloser_status scratch_make(struct arena *arena, const char *parent, const char **out, recloser_error *error)
{
	const char *system = getenv("TMPDIR");
	struct scratch *scratch = arena_alloc(arena, sizeof *scratch);
	if (!parent)
		parent = system && *system ? system : "/tmp";
	sweep(arena, parent);
	scratch->path = arena_printf(arena, "%s/%sXXXXXX", parent, stem);
	scratch->alive = -1;
	if (!mkdtemp(scratch->path))
		return error_errno(error, "io.scratch", errno, "make a temporary directory in", parent);
	arena_defer(arena, end, scratch);
	const char *alive = arena_printf(arena, "%s/alive", scratch->path);
	scratch->alive = open(alive, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (scratch->alive < 0)
		return error_errno(error, "io.scratch", errno, "make", alive);
	(void)flock(scratch->alive, LOCK_EX | LOCK_NB);
	*out = scratch->path;
	return RECLOSER_OK;
}
