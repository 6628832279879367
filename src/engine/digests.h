/* SPDX-License-Identifier: Apache-2.0
 * A heap of 128-bit digests in which doubles are counted. However many there are, those in memory stay within a bound that all
 * heaps of an engine share; the rest lies sorted in one nameless file. malloc only: lives in engine threads. */
#ifndef RECLOSER_ENGINE_DIGESTS_H
#define RECLOSER_ENGINE_DIGESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct digest128 {
	uint64_t high, low;
};

/* The bound, and the file. Outlives the heaps that use it. */
struct digest_room;
/* `most`: digests in memory. `directory`: where the file is made when it is needed, itself made if it is not there; NULL: no
 * file, and no bound. NULL: no memory. */
struct digest_room *digest_room_new(uint64_t most, const char *directory);
void digest_room_free(struct digest_room *room);

/* Zero it first, and name its room. */
struct digests {
	struct digest_room *room;
	struct digest128 *at;
	size_t count, capacity;
	struct digest_run *runs; /* what was put into the file */
};

/* These give 0, or an errno: ENOMEM, ENOSPC and what else a file may say. */
int digests_add(struct digests *digests, struct digest128 digest);
int digests_move(struct digests *to, struct digests *from); /* of one room; `from` is empty then. Failed: both hold what is left */
/* Told of each digest that occurs more than once, in their order; 0 to go on, else an errno that ends the telling. */
typedef int (*digest_doubled)(void *to, const struct digest128 *digest);
/* How many different digests occur more than once, each told to `tell` where that is not NULL. Reorders them, and moves them
 * into the file if some are there already. */
int digests_doubled(struct digests *digests, uint64_t *doubled, digest_doubled tell, void *to);
void digests_free(struct digests *digests);

#endif
