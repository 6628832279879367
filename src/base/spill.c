#define _GNU_SOURCE /* mkostemp */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct spill {
	pthread_mutex_t lock; /* over the making of the file, and its end */
	char *directory;
	bool made_directory;
	int descriptor; /* -1: not made yet */
	uint64_t end;
};

struct spill *spill_new(const char *directory)
{
	struct spill *spill = calloc(1, sizeof *spill);
	if (!spill)
		return NULL;
	spill->descriptor = -1;
	spill->directory = strdup(directory);
	if (!spill->directory) {
		free(spill);
		return NULL;
	}
	pthread_mutex_init(&spill->lock, NULL);
	return spill;
}

void spill_free(struct spill *spill)
{
	if (!spill)
		return;
	if (spill->descriptor >= 0)
		close(spill->descriptor);
	if (spill->made_directory)
		(void)rmdir(spill->directory); /* kept if something else is in it by now */
	pthread_mutex_destroy(&spill->lock);
	free(spill->directory);
	free(spill);
}

static int open_file(struct spill *spill)
{
	static const char leaf[] = "/spill-XXXXXX";
	size_t size = strlen(spill->directory) + sizeof leaf;
	char *name = malloc(size);
	if (!name)
		return ENOMEM;
	snprintf(name, size, "%s%s", spill->directory, leaf);
	spill->made_directory = mkdir(spill->directory, 0700) == 0 || spill->made_directory;
	spill->descriptor = mkostemp(name, O_CLOEXEC);
	int failed = spill->descriptor < 0 ? errno : 0;
	if (failed == 0)
		unlink(name);
	free(name);
	return failed;
}

int spill_reserve(struct spill *spill, uint64_t bytes, uint64_t *offset)
{
	pthread_mutex_lock(&spill->lock);
	int failed = spill->descriptor < 0 ? open_file(spill) : 0;
	if (failed == 0) {
		*offset = spill->end;
		spill->end += bytes;
	}
	pthread_mutex_unlock(&spill->lock);
	return failed;
}

int spill_put(struct spill *spill, const void *bytes, size_t count, uint64_t offset)
{
	for (const char *at = bytes; count > 0;) {
		ssize_t put = pwrite(spill->descriptor, at, count, (off_t)offset);
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return put < 0 ? errno : ENOSPC;
		at += put;
		count -= (size_t)put;
		offset += (uint64_t)put;
	}
	return 0;
}

int spill_get(struct spill *spill, void *bytes, size_t count, uint64_t offset)
{
	for (char *at = bytes; count > 0;) {
		ssize_t got = pread(spill->descriptor, at, count, (off_t)offset);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? errno : EIO;
		at += got;
		count -= (size_t)got;
		offset += (uint64_t)got;
	}
	return 0;
}

void spill_empty(struct spill *spill)
{
	pthread_mutex_lock(&spill->lock);
	if (spill->descriptor >= 0 && ftruncate(spill->descriptor, 0) == 0)
		spill->end = 0;
	pthread_mutex_unlock(&spill->lock);
}
