/* SPDX-License-Identifier: Apache-2.0
 * A heap of 128-bit digests in which doubles are counted. malloc only: lives in engine threads. */
#ifndef RECLOSER_ENGINE_DIGESTS_H
#define RECLOSER_ENGINE_DIGESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct digest128 {
	uint64_t high, low;
};

/* Zero it first. */
struct digests {
	struct digest128 *at;
	size_t count, capacity;
};

bool digests_add(struct digests *digests, struct digest128 digest); /* false: no memory */
bool digests_move(struct digests *to, struct digests *from); /* `from` is empty then; false: no memory, nothing moved */
/* How many different digests occur more than once. Reorders them. */
uint64_t digests_doubled(struct digests *digests);
void digests_free(struct digests *digests);

#endif
