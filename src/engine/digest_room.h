/* SPDX-License-Identifier: Apache-2.0
 * What all heaps of digests of one engine share: the bound on how many are in memory, and the file for the rest. */
#ifndef RECLOSER_ENGINE_DIGEST_ROOM_H
#define RECLOSER_ENGINE_DIGEST_ROOM_H

#include "engine/digests.h"

/* Sorted digests in the file. */
struct digest_run {
	struct digest_run *next;
	uint64_t offset;   /* in bytes */
	size_t start[257]; /* where each first byte begins, and the end */
};

/* May a heap that is to hold `whole` take `more` into memory? Small heaps always may. */
bool digest_room_take(struct digest_room *room, size_t whole, size_t more);
void digest_room_give(struct digest_room *room, size_t count);

/* These give 0 or an errno. `start` as in a run. */
int digest_room_put(struct digest_room *room, const struct digest128 *at, const size_t start[257], struct digest_run **out);
int digest_room_get(struct digest_room *room, const struct digest_run *run, size_t from, size_t count, struct digest128 *out);
void digest_room_drop(struct digest_room *room, struct digest_run *run);

#endif
