/* SPDX-License-Identifier: Apache-2.0
 * Spool files: bytes too many for the heap, written once and then mapped. They have no name in the file system (made and
 * unlinked at once), so that a killed run leaves nothing behind. */
#ifndef RECLOSER_SOURCE_SPOOL_H
#define RECLOSER_SOURCE_SPOOL_H

#include "base/arena.h"

#include <stdint.h>

struct spool {
	int descriptor;
	const char *directory;
	uint64_t bytes;
};

/* `directory`, or where the system keeps temporary files when that is NULL (nothing staged yet). */
const char *spool_directory(const char *directory);
/* An empty spool file in spool_directory(directory); closed with the arena. */
recloser_status spool_open(struct arena *arena, const char *directory, struct spool *out, recloser_error *error) RC_CHECKED;
/* Append. RECLOSER_IO when the disk is full. */
recloser_status spool_add(struct spool *spool, const void *bytes, size_t count, recloser_error *error) RC_CHECKED;
/* Map all of it for reading; the map lives as long as the arena. An empty file gives "" and 0. */
recloser_status spool_map(struct arena *arena, struct spool *spool, const char **at, size_t *count,
						  recloser_error *error) RC_CHECKED;

/* Write all of `count` bytes to a descriptor; `path` is for the message. */
recloser_status write_all(int descriptor, const void *bytes, size_t count, const char *path,
						  recloser_error *error) RC_CHECKED;
/* Map the first `count` bytes of a descriptor until the arena goes; the descriptor may be closed before. */
recloser_status map_descriptor(struct arena *arena, int descriptor, size_t count, const char *path, const char **at,
							   recloser_error *error) RC_CHECKED;
/* A place for a descriptor that is closed with the arena, -1 until then; made before the file is opened, so that running out
 * of memory leaves nothing open. */
int *descriptor_on(struct arena *arena);

#endif
