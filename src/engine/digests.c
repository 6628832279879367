/* SPDX-License-Identifier: Apache-2.0
 * Digests are as good as random, so one pass over a byte splits them evenly: a radix sort in place, from the highest byte
 * down, with insertion at the end. It needs no memory beside the digests themselves, which a hash set would. */
#include "engine/digests.h"

#include <stdlib.h>
#include <string.h>

enum { FEW = 48, FIRST = 8 };

static bool reserve(struct digests *digests, size_t count)
{
	if (count <= digests->capacity)
		return true;
	size_t larger = digests->capacity ? digests->capacity : FIRST;
	while (larger < count)
		larger *= 2;
	struct digest128 *at = realloc(digests->at, larger * sizeof *at);
	if (!at)
		return false;
	digests->at = at;
	digests->capacity = larger;
	return true;
}

bool digests_add(struct digests *digests, struct digest128 digest)
{
	if (!reserve(digests, digests->count + 1))
		return false;
	digests->at[digests->count++] = digest;
	return true;
}

bool digests_move(struct digests *to, struct digests *from)
{
	if (!to->count) {
		struct digests empty = *to;
		*to = *from;
		*from = empty;
		return true;
	}
	if (!reserve(to, to->count + from->count))
		return false;
	if (from->count)
		memcpy(to->at + to->count, from->at, from->count * sizeof *from->at);
	to->count += from->count;
	digests_free(from);
	return true;
}

static bool less(const struct digest128 *a, const struct digest128 *b)
{
	return a->high != b->high ? a->high < b->high : a->low < b->low;
}

static void insert_all(struct digest128 *at, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct digest128 one = at[i];
		size_t to = i;
		for (; to > 0 && less(&one, &at[to - 1]); to--)
			at[to] = at[to - 1];
		at[to] = one;
	}
}

static unsigned byte_of(const struct digest128 *digest, int byte)
{
	return byte < 8 ? digest->high >> (56 - 8 * byte) & 255 : digest->low >> (120 - 8 * byte) & 255;
}

static void sort(struct digest128 *at, size_t count, int byte)
{
	if (count <= FEW || byte == 16) {
		if (byte < 16)
			insert_all(at, count);
		return; /* after the last byte all that are left are equal */
	}
	size_t start[257] = {0}, next[256];
	for (size_t i = 0; i < count; i++)
		start[byte_of(&at[i], byte) + 1]++;
	for (int b = 0; b < 256; b++) {
		start[b + 1] += start[b];
		next[b] = start[b];
	}
	for (int b = 0; b < 256; b++) {
		while (next[b] < start[b + 1]) {
			unsigned home = byte_of(&at[next[b]], byte);
			size_t to = next[home]++;
			if (home == (unsigned)b)
				continue;
			struct digest128 moved = at[to];
			at[to] = at[next[b]];
			at[next[b]] = moved;
		}
	}
	for (int b = 0; b < 256; b++)
		sort(at + start[b], start[b + 1] - start[b], byte + 1);
}

uint64_t digests_doubled(struct digests *digests)
{
	uint64_t doubled = 0;
	const struct digest128 *at = digests->at;
	sort(digests->at, digests->count, 0);
	for (size_t i = 1; i < digests->count; i++) {
		bool same = !less(&at[i - 1], &at[i]);
		bool counted = i > 1 && !less(&at[i - 2], &at[i - 1]);
		doubled += same && !counted;
	}
	return doubled;
}

void digests_free(struct digests *digests)
{
	free(digests->at);
	*digests = (struct digests){0};
}
