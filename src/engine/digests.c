/* SPDX-License-Identifier: Apache-2.0
 * Digests are as good as random, so one pass over a byte splits them evenly: a radix sort in place, from the highest byte
 * down, with insertion at the end. It needs no memory beside the digests themselves, which a hash set would.
 *
 * A heap that may not grow any more is sorted and put into the room's file as a run. Doubles are then counted for one first
 * byte after the other, over the stretches that it has in all runs: a 256th of the digests at a time, so a hundred million of
 * them are counted in six megabytes. Of equal digests a run keeps two, which is all that counting needs; else a file with one
 * key in every row would be one stretch. */
#include "engine/digests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/digest_room.h"

enum { FEW = 48, FIRST = 8 };

/* ---- sorting ---- */

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

/* Who wants to know of doubles, and how many there were. */
struct counting {
	uint64_t doubled;
	digest_doubled tell;
	void *to;
};

/* The different ones of these that occur more than once. Sorts them. */
static int count_doubled(struct digest128 *at, size_t count, struct counting *counting)
{
	int failed = 0;
	sort(at, count, 0);
	for (size_t i = 1; i < count && !failed; i++) {
		bool same = !less(&at[i - 1], &at[i]);
		bool counted = i > 1 && !less(&at[i - 2], &at[i - 1]);
		if (!same || counted)
			continue;
		counting->doubled++;
		if (counting->tell)
			failed = counting->tell(counting->to, &at[i]);
	}
	return failed;
}

/* ---- runs ---- */

/* Of equal ones two are left. Sorted before and after. */
static size_t thin_out(struct digest128 *at, size_t count)
{
	size_t kept = 0;
	for (size_t i = 0; i < count; i++)
		if (kept < 2 || less(&at[kept - 2], &at[i]))
			at[kept++] = at[i];
	return kept;
}

/* Everything in memory becomes a run; the memory stays for what comes next. */
static int put_aside(struct digests *digests)
{
	struct digest_run *run;
	if (digests->count == 0)
		return 0;
	sort(digests->at, digests->count, 0);
	size_t kept = thin_out(digests->at, digests->count), start[257] = {0};
	for (size_t i = 0; i < kept; i++)
		start[byte_of(&digests->at[i], 0) + 1]++;
	for (int b = 0; b < 256; b++)
		start[b + 1] += start[b];
	int failed = digest_room_put(digests->room, digests->at, start, &run);
	if (failed)
		return failed;
	run->next = digests->runs;
	digests->runs = run;
	digests->count = 0;
	return 0;
}

/* Room for `count` in memory. False: they are more than the bound leaves this heap, or there is no memory. */
static int reserve(struct digests *digests, size_t count, bool *granted)
{
	*granted = true;
	if (count <= digests->capacity)
		return 0;
	size_t larger = digests->capacity ? digests->capacity : FIRST;
	while (larger < count)
		larger *= 2;
	*granted = digest_room_take(digests->room, larger, larger - digests->capacity);
	if (!*granted)
		return 0;
	struct digest128 *at = realloc(digests->at, larger * sizeof *at);
	if (!at) {
		digest_room_give(digests->room, larger - digests->capacity);
		return ENOMEM;
	}
	digests->at = at;
	digests->capacity = larger;
	return 0;
}

static void release_memory(struct digests *digests)
{
	if (digests->capacity)
		digest_room_give(digests->room, digests->capacity);
	free(digests->at);
	digests->at = NULL;
	digests->count = digests->capacity = 0;
}

/* ---- the heap ---- */

int digests_add(struct digests *digests, struct digest128 digest)
{
	if (digests->count == digests->capacity) {
		bool granted;
		int failed = reserve(digests, digests->count + 1, &granted);
		if (failed == 0 && !granted)
			failed = put_aside(digests);
		if (failed)
			return failed;
	}
	digests->at[digests->count++] = digest;
	return 0;
}

static void join_runs(struct digests *to, struct digests *from)
{
	struct digest_run **last = &from->runs;
	while (*last)
		last = &(*last)->next;
	*last = to->runs;
	to->runs = from->runs;
	from->runs = NULL;
}

int digests_move(struct digests *to, struct digests *from)
{
	bool granted = true;
	int failed = 0;
	if (!to->count) {
		struct digests swapped = *to;
		to->at = from->at, to->count = from->count, to->capacity = from->capacity;
		from->at = swapped.at, from->count = 0, from->capacity = swapped.capacity;
	} else if (from->count) {
		failed = reserve(to, to->count + from->count, &granted);
		if (failed == 0 && !granted)
			failed = put_aside(from);
		if (failed)
			return failed;
		if (granted)
			memcpy(to->at + to->count, from->at, from->count * sizeof *from->at);
		to->count += from->count; /* 0 when they were put aside */
	}
	join_runs(to, from);
	release_memory(from);
	return 0;
}

/* The stretches of all runs whose first byte is this one. */
static int count_byte(const struct digests *digests, int byte, struct digest128 *buffer, struct counting *counting)
{
	size_t count = 0;
	for (const struct digest_run *run = digests->runs; run; run = run->next) {
		size_t more = run->start[byte + 1] - run->start[byte];
		int failed = digest_room_get(digests->room, run, run->start[byte], more, buffer + count);
		if (failed)
			return failed;
		count += more;
	}
	return count_doubled(buffer, count, counting);
}

static int count_runs(struct digests *digests, struct counting *counting)
{
	size_t most = 1;
	int failed = put_aside(digests);
	if (failed)
		return failed;
	release_memory(digests);
	for (int byte = 0; byte < 256; byte++) {
		size_t count = 0;
		for (const struct digest_run *run = digests->runs; run; run = run->next)
			count += run->start[byte + 1] - run->start[byte];
		most = count > most ? count : most;
	}
	struct digest128 *buffer = malloc(most * sizeof *buffer);
	if (!buffer)
		return ENOMEM;
	for (int byte = 0; byte < 256 && failed == 0; byte++)
		failed = count_byte(digests, byte, buffer, counting);
	free(buffer);
	return failed;
}

int digests_doubled(struct digests *digests, uint64_t *doubled, digest_doubled tell, void *to)
{
	struct counting counting = {.tell = tell, .to = to};
	int failed = digests->runs ? count_runs(digests, &counting) : count_doubled(digests->at, digests->count, &counting);
	*doubled = counting.doubled;
	return failed;
}

void digests_free(struct digests *digests)
{
	while (digests->runs) {
		struct digest_run *run = digests->runs;
		digests->runs = run->next;
		digest_room_drop(digests->room, run);
	}
	release_memory(digests);
}
