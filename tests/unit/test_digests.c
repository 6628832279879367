/* SPDX-License-Identifier: Apache-2.0
 * Heaps of digests: doubles are counted alike in memory and on disk, within the bound, and nothing stays behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

#include "engine/digest_room.h"

enum { BOUND = 40000 };

static char parent[64], directory[96];
static struct digest_room *room;

static int make_room(void **state)
{
	(void)state;
	snprintf(parent, sizeof parent, "/tmp/rc_digests_XXXXXX");
	if (!mkdtemp(parent))
		return -1;
	snprintf(directory, sizeof directory, "%s/spill", parent);
	room = digest_room_new(BOUND, directory);
	return room ? 0 : -1;
}

/* The directory was made by the room, and goes with it. */
static int free_room(void **state)
{
	(void)state;
	digest_room_free(room);
	return rmdir(parent);
}

/* As good as random, and the same for the same number. */
static struct digest128 digest_of(uint64_t number)
{
	struct digest128 out;
	uint64_t *parts[] = {&out.high, &out.low};
	for (int i = 0; i < 2; i++) {
		uint64_t z = number * 2 + (uint64_t)i + 0x9e3779b97f4a7c15u;
		z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
		z = (z ^ z >> 27) * 0x94d049bb133111ebu;
		*parts[i] = z ^ z >> 31;
	}
	return out;
}

static void add(struct digests *digests, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++)
		assert_int_equal(digests_add(digests, digest_of(i)), 0);
}

struct told {
	uint64_t count;
	struct digest128 last;
};

/* Each is told once, and in order. */
static int note(void *to, const struct digest128 *digest)
{
	struct told *told = to;
	const struct digest128 *last = &told->last;
	if (told->count++)
		assert_true(last->high != digest->high ? last->high < digest->high : last->low < digest->low);
	told->last = *digest;
	return 0;
}

static uint64_t doubled(struct digests *digests)
{
	uint64_t out;
	struct told told = {0};
	assert_int_equal(digests_doubled(digests, &out, note, &told), 0);
	assert_int_equal(told.count, out);
	return out;
}

static int refuse(void *to, const struct digest128 *digest)
{
	(void)digest;
	++*(int *)to;
	return ENOMEM;
}

/* Who is told may end it. */
static void the_telling_ends(void **state)
{
	(void)state;
	for (uint64_t rows = 1000; rows <= 1000000; rows *= 1000) {
		struct digests digests = {.room = room};
		uint64_t out;
		int calls = 0;
		add(&digests, 0, rows);
		add(&digests, 0, 10);
		assert_int_equal(digests_doubled(&digests, &out, refuse, &calls), ENOMEM);
		assert_int_equal(calls, 1);
		digests_free(&digests);
	}
}

static void within_the_bound(void **state)
{
	(void)state;
	struct digests digests = {.room = room};
	add(&digests, 0, BOUND / 2);
	assert_null(digests.runs);
	assert_int_equal(access(directory, F_OK), -1); /* nothing on disk before it is needed */
	add(&digests, 100, 107);
	assert_int_equal(doubled(&digests), 7);
	digests_free(&digests);
}

static void beyond_the_bound(void **state)
{
	(void)state;
	struct digests digests = {.room = room};
	add(&digests, 0, 1000000);
	assert_non_null(digests.runs);
	assert_true(digests.capacity <= BOUND);
	assert_int_equal(doubled(&digests), 0);
	digests_free(&digests);
	/* Doubles within one run, across runs, and three times. */
	add(&digests, 0, 1000000);
	add(&digests, 999990, 1000000);
	add(&digests, 0, 500000);
	add(&digests, 0, 3);
	assert_int_equal(doubled(&digests), 500010);
	digests_free(&digests);
	/* Those that differ in one half only are different. */
	for (uint64_t i = 0; i < 200000; i++)
		assert_int_equal(digests_add(&digests, (struct digest128){7, i}), 0);
	assert_int_equal(doubled(&digests), 0);
	digests_free(&digests);
}

/* One key in every row must not come back into memory as one stretch. */
static void one_digest_over_and_over(void **state)
{
	(void)state;
	struct digests digests = {.room = room};
	for (int i = 0; i < 3000000; i++)
		assert_int_equal(digests_add(&digests, digest_of(1)), 0);
	size_t kept = 0, runs = 0;
	for (const struct digest_run *run = digests.runs; run; run = run->next, runs++)
		kept += run->start[256];
	assert_true(runs > 10 && kept == 2 * runs);
	assert_int_equal(doubled(&digests), 1);
	digests_free(&digests);
}

static void heaps_are_moved(void **state)
{
	(void)state;
	struct digests one = {.room = room}, other = {.room = room}, empty = {.room = room};
	add(&one, 0, 300000);
	add(&other, 299000, 500000);
	assert_non_null(other.runs);
	assert_int_equal(digests_move(&one, &other), 0);
	assert_null(other.at);
	assert_null(other.runs);
	assert_int_equal(digests_move(&one, &empty), 0);
	assert_int_equal(digests_move(&empty, &one), 0);
	assert_int_equal(doubled(&empty), 1000);
	digests_free(&empty);
	digests_free(&one);
	/* Small ones add up to more than the bound. */
	for (uint64_t i = 0; i < 100; i++) {
		add(&other, i * 2000, i * 2000 + 2001);
		assert_int_equal(digests_move(&one, &other), 0);
		assert_true(one.capacity <= BOUND);
	}
	assert_non_null(one.runs);
	assert_int_equal(doubled(&one), 99);
	digests_free(&one);
}

/* What heaps hold is counted over all of them, and given back. */
static void the_bound_is_shared(void **state)
{
	(void)state;
	struct digests first = {.room = room}, second = {.room = room};
	add(&first, 0, 32768);
	assert_null(first.runs);
	add(&second, 0, 32768);
	assert_non_null(second.runs);
	digests_free(&first);
	digests_free(&second);
	add(&second, 0, 32768);
	assert_null(second.runs);
	digests_free(&second);
}

static void no_directory_no_bound(void **state)
{
	(void)state;
	struct digest_room *unbounded = digest_room_new(BOUND, NULL);
	struct digests digests = {.room = unbounded};
	add(&digests, 0, 500000);
	add(&digests, 0, 1);
	assert_null(digests.runs);
	assert_int_equal(doubled(&digests), 1);
	digests_free(&digests);
	digest_room_free(unbounded);
}

static void failures_are_told(void **state)
{
	(void)state;
	struct digest_room *nowhere = digest_room_new(BOUND, "/nonexistent/spill");
	struct digests digests = {.room = nowhere};
	int failed = 0;
	for (uint64_t i = 0; i < BOUND * 2 && failed == 0; i++)
		failed = digests_add(&digests, digest_of(i));
	assert_int_equal(failed, ENOENT);
	digests_free(&digests);
	digest_room_free(nowhere);
	/* No file may grow beyond a few blocks here. */
	struct rlimit was, little;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	little = (struct rlimit){.rlim_cur = 65536, .rlim_max = was.rlim_max};
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
	digests = (struct digests){.room = room};
	for (uint64_t i = failed = 0; i < BOUND * 2 && failed == 0; i++)
		failed = digests_add(&digests, digest_of(i));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	assert_int_equal(failed, EFBIG);
	digests_free(&digests);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(within_the_bound, make_room, free_room),
		cmocka_unit_test_setup_teardown(beyond_the_bound, make_room, free_room),
		cmocka_unit_test_setup_teardown(the_telling_ends, make_room, free_room),
		cmocka_unit_test_setup_teardown(one_digest_over_and_over, make_room, free_room),
		cmocka_unit_test_setup_teardown(heaps_are_moved, make_room, free_room),
		cmocka_unit_test_setup_teardown(the_bound_is_shared, make_room, free_room),
		cmocka_unit_test_setup_teardown(no_directory_no_bound, make_room, free_room),
		cmocka_unit_test_setup_teardown(failures_are_told, make_room, free_room),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
