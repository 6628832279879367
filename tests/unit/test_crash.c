/* SPDX-License-Identifier: Apache-2.0
 * Power cuts, kills and failing calls, at every point of a run.
 *
 * Power: a run is played on fs_memory, which knows what was synced when. After each event the tree is built again for
 * subsets of the changes that were not synced: every subset while they are few, else a fixed choice of them (none, all,
 * each alone, all but each, each prefix, each pair, and some at random). Then a command recovers, the same run is made
 * again, and the invariants are looked at: each partition whole, the run whole, every version archived, the ledger
 * contiguous and describing what is live, nothing staged. CRASH_LONG=1 takes more random subsets and cuts recovery itself
 * everywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commit_fixture.h"
#include "fs_test.h"

enum { MOST_EVENTS = 4096, EXHAUSTIVE = 7 };

static const char root[] = "lake";
static const struct batch before[] = {{"state=TX", "one"}, {"state=OK", "uno"}};
static const struct batch after[] = {{"state=TX", "two"}, {"state=OK", "dos"}};

struct scene { /* what is looked at, and what may be lost */
	const struct fs_memory_lacks lacks;
	bool first_load; /* the run under test makes the dataset */
	bool may_void;   /* no journal: half a rename can leave a version void */
	unsigned long states;
	char where[160];
};

static unsigned random_state;

static unsigned random_below(unsigned bound)
{
	random_state = random_state * 1103515245U + 12345U;
	return (random_state >> 16) % bound;
}

static bool is_long(void)
{
	return getenv("CRASH_LONG") != NULL;
}

/* ---- one state ---- */

static bool same(const char *one, const char *other)
{
	return one == other || (one && other && strcmp(one, other) == 0);
}

static const char *check_whole(const struct scene *scene, struct fs *fs, struct arena *arena)
{
	const char *first = live_content(fs, arena, root, "state=TX"), *second = live_content(fs, arena, root, "state=OK");
	const char *old_first = scene->first_load ? NULL : before[0].content,
			   *old_second = scene->first_load ? NULL : before[1].content;
	bool is_old[] = {same(first, old_first), same(second, old_second)};
	bool is_new[] = {same(first, after[0].content), same(second, after[1].content)};
	if (!(is_old[0] || is_new[0]) || !(is_old[1] || is_new[1]))
		return "a partition is neither old nor new";
	if (!scene->may_void && is_new[0] != is_new[1])
		return "the run is not whole";
	return NULL;
}

static const char *recover_and_load(const struct scene *scene, struct fs *fs, struct arena *arena, bool told)
{
	struct dataset *dataset;
	struct recovery found;
	struct outcome out = {0};
	if (dataset_open(arena, fs, root, "queue", &dataset, &out.error) != RECLOSER_OK ||
		recover(dataset, arena, false, &found, &out.error) != RECLOSER_OK)
		return arena_strdup(arena, out.error.what);
	const char *fault = check_whole(scene, fs, arena);
	if (!fault)
		fault = check_dataset(fs, arena, root);
	if (!fault && told && !same(live_content(fs, arena, root, "state=OK"), after[1].content))
		fault = "a success that was told is lost";
	if (fault)
		return fault;
	struct run_options options = {.config = true};
	run_batches(fs, arena, root, "again", after, 2, &options, &out);
	if (out.status != RECLOSER_OK)
		return arena_strdup(arena, out.error.what);
	if (!same(live_content(fs, arena, root, "state=TX"), after[0].content))
		return "the same run again does not make its version live";
	return check_dataset(fs, arena, root);
}

static void look(struct scene *scene, struct fs *fs, size_t events, const bool *survives, bool told)
{
	for (int garbage = 0; garbage < 2; garbage++) {
		struct arena *arena = arena_new(NULL);
		struct fs *cut = fs_memory_cut(arena, fs, events, survives, garbage);
		const char *fault = recover_and_load(scene, cut, arena, told);
		if (fault) {
			struct text kept = text_on(arena);
			for (size_t i = 0; i < events; i++)
				if (survives[i])
					text_addf(&kept, " %zu", i);
			fail_msg("%s, event %zu, garbage %d, surviving%s: %s", scene->where, events, garbage, kept.at, fault);
		}
		arena_free(arena);
		scene->states++;
	}
}

/* ---- which changes survive ---- */

static void look_at_all_subsets(struct scene *scene, struct fs *fs, size_t events, const size_t *pending, size_t count,
								bool told)
{
	bool survives[MOST_EVENTS] = {false};
	for (unsigned mask = 0; mask < 1U << count; mask++) {
		for (size_t i = 0; i < count; i++)
			survives[pending[i]] = mask >> i & 1U;
		look(scene, fs, events, survives, told);
	}
}

static void set_all(bool *survives, const size_t *pending, size_t count, bool value)
{
	for (size_t i = 0; i < count; i++)
		survives[pending[i]] = value;
}

/* The newest changes are those whose loss or survival alone matters most; the older ones are tried in prefixes. */
static void look_at_chosen_subsets(struct scene *scene, struct fs *fs, size_t events, const size_t *pending, size_t count,
								   bool told, unsigned randoms)
{
	bool survives[MOST_EVENTS] = {false};
	for (size_t i = 0; i <= count; i++) { /* prefixes, with none and all among them */
		set_all(survives, pending, count, false);
		set_all(survives, pending, i, true);
		look(scene, fs, events, survives, told);
	}
	for (size_t i = 0; i < count; i++) {
		set_all(survives, pending, count, true);
		survives[pending[i]] = false;
		look(scene, fs, events, survives, told);
		set_all(survives, pending, count, false);
		survives[pending[i]] = true;
		look(scene, fs, events, survives, told);
	}
	for (size_t i = 0; is_long() && i < count; i++)
		for (size_t j = i + 1; j < count; j++) {
			set_all(survives, pending, count, true);
			survives[pending[i]] = survives[pending[j]] = false;
			look(scene, fs, events, survives, told);
		}
	for (unsigned i = 0; i < randoms; i++) {
		for (size_t j = 0; j < count; j++)
			survives[pending[j]] = random_below(2);
		look(scene, fs, events, survives, told);
	}
}

static void cut_at(struct scene *scene, struct fs *fs, size_t events, bool told, unsigned randoms)
{
	size_t pending[MOST_EVENTS];
	size_t count = fs_memory_pending(fs, events, pending, MOST_EVENTS);
	assert_true(count < MOST_EVENTS && events < MOST_EVENTS);
	if (count <= EXHAUSTIVE)
		look_at_all_subsets(scene, fs, events, pending, count, told);
	else
		look_at_chosen_subsets(scene, fs, events, pending, count, told, randoms);
}

/* ---- power cuts during a run ---- */

static void load_ok(struct fs *fs, struct arena *arena, const char *run, const struct batch *batches)
{
	struct run_options options = {.config = true};
	struct outcome out;
	run_batches(fs, arena, root, run, batches, 2, &options, &out);
	if (out.status != RECLOSER_OK)
		fail_msg("%s", out.error.what);
}

/* As an operator would leave it: the first load long ago is on the disk. */
static struct fs *begin(const struct scene *scene, struct arena *arena)
{
	struct fs *fs = fs_memory(arena, &scene->lacks);
	bool all[MOST_EVENTS];
	if (scene->first_load)
		return fs;
	load_ok(fs, arena, "r1", before);
	memset(all, true, sizeof all);
	return fs_memory_cut(arena, fs, fs_memory_events(fs), all, false);
}

static void power_cuts(struct scene *scene)
{
	struct arena *arena = arena_new(NULL);
	struct fs *fs = begin(scene, arena);
	size_t first = fs_memory_events(fs);
	load_ok(fs, arena, "r2", after);
	size_t last = fs_memory_events(fs);
	random_state = 1;
	for (size_t events = first; events <= last; events++)
		cut_at(scene, fs, events, events == last, is_long() ? 400 : 24);
	print_message("%s: %zu events, %lu states\n", scene->where, last - first, scene->states);
	arena_free(arena);
}

static void power_cut_while_replacing(void **state)
{
	struct scene scene = {.where = "replacing"};
	(void)state;
	power_cuts(&scene);
	assert_true(scene.states > 1000);
}

static void power_cut_while_loading_first(void **state)
{
	struct scene scene = {.first_load = true, .where = "first load"};
	(void)state;
	power_cuts(&scene);
	assert_true(scene.states > 1000);
}

static void power_cut_without_syncfs(void **state)
{
	struct scene scene = {.lacks = {.syncfs = true}, .where = "replacing, without syncfs"};
	struct scene first = {.lacks = {.syncfs = true}, .first_load = true, .where = "first load, without syncfs"};
	(void)state;
	power_cuts(&scene);
	power_cuts(&first);
}

static void power_cut_without_hard_links(void **state)
{
	struct scene scene = {.lacks = {.hard_links = true}, .where = "replacing, without hard links"};
	(void)state;
	power_cuts(&scene);
}

static void power_cut_without_journal(void **state)
{
	struct scene scene = {.lacks = {.journal = true}, .may_void = true, .where = "replacing, without a journal"};
	(void)state;
	power_cuts(&scene);
}

/* ---- killed, then recovered by another, then the power fails ---- */

struct countdown {
	unsigned at, calls;
};

static int die_at(void *arg, enum fs_call call, const char *path, const char *to)
{
	struct countdown *countdown = arg;
	(void)call;
	(void)path;
	(void)to;
	return ++countdown->calls >= countdown->at ? EIO : 0;
}

/* The run dies before call `at` without anything being lost. False: it made fewer calls. */
static bool killed_at(struct fs *fs, unsigned at, struct outcome *out)
{
	struct arena *arena = arena_new(NULL);
	struct countdown countdown = {at, 0};
	struct fs_hook hook = {&countdown, die_at, NULL};
	struct run_options options = {.config = true};
	run_batches(fs_wrap(arena, fs, &hook), arena, root, "r2", after, 2, &options, out);
	arena_free(arena);
	return countdown.calls >= at;
}

static void recover_fully(struct fs *fs)
{
	struct arena *arena = arena_new(NULL);
	struct dataset *dataset;
	struct recovery found;
	recloser_error error = {0};
	assert_int_equal(dataset_open(arena, fs, root, "queue", &dataset, &error), RECLOSER_OK);
	if (recover(dataset, arena, false, &found, &error) != RECLOSER_OK)
		fail_msg("%s", error.what);
	arena_free(arena);
}

static void kill_then_power_cut(void **state)
{
	struct scene scene = {.where = ""};
	bool more = true;
	(void)state;
	random_state = 2;
	for (unsigned at = 1; more; at++) {
		struct arena *arena = arena_new(NULL);
		struct fs *fs = begin(&scene, arena);
		struct outcome out;
		more = killed_at(fs, at, &out);
		snprintf(scene.where, sizeof scene.where, "killed at call %u", at);
		size_t first = fs_memory_events(fs);
		recover_fully(fs);
		size_t last = fs_memory_events(fs), pending[MOST_EVENTS];
		for (size_t events = first; events <= last; events++) {
			bool survives[MOST_EVENTS] = {false};
			size_t count = fs_memory_pending(fs, events, pending, MOST_EVENTS);
			unsigned tries = is_long() ? 64 : 4;
			for (unsigned i = 0; i < tries + 2; i++) {
				for (size_t j = 0; j < count; j++)
					survives[pending[j]] = i == 0 ? false : i == 1 ? true : random_below(4) > 0;
				look(&scene, fs, events, survives, false);
			}
		}
		arena_free(arena);
	}
	print_message("killed, recovered, power cut: %lu states\n", scene.states);
}

/* ---- the power fails again during recovery ---- */

/* Recover, and look at what a cut at any moment of that leaves: nothing, everything, and something of what is open. */
static void cut_recovery(struct scene *scene, struct fs *fs)
{
	size_t from = fs_memory_events(fs), pending[MOST_EVENTS];
	recover_fully(fs);
	for (size_t events = from; events <= fs_memory_events(fs); events++) {
		size_t count = fs_memory_pending(fs, events, pending, MOST_EVENTS);
		for (unsigned i = 0; i < 3; i++) {
			bool survives[MOST_EVENTS] = {false};
			for (size_t j = 0; j < count; j++)
				survives[pending[j]] = i == 0 || (i == 2 && random_below(2));
			look(scene, fs, events, survives, false);
		}
	}
}

static void cut_twice(struct scene *scene)
{
	struct arena *arena = arena_new(NULL);
	struct fs *fs = begin(scene, arena);
	size_t first = fs_memory_events(fs), pending[MOST_EVENTS];
	load_ok(fs, arena, "r2", after);
	size_t last = fs_memory_events(fs);
	random_state = 3;
	for (size_t events = first; events <= last; events++) {
		size_t count = fs_memory_pending(fs, events, pending, MOST_EVENTS);
		for (unsigned i = 0; i < (is_long() ? 12U : 3U); i++) {
			struct arena *inner = arena_new(NULL);
			bool survives[MOST_EVENTS] = {false};
			for (size_t j = 0; j < count; j++)
				survives[pending[j]] = i == 0 || random_below(2);
			cut_recovery(scene, fs_memory_cut(inner, fs, events, survives, true));
			arena_free(inner);
		}
	}
	print_message("%s, cut twice: %lu states\n", scene->where, scene->states);
	arena_free(arena);
}

static void power_cut_twice(void **state)
{
	struct scene scene = {.where = "replacing"};
	struct scene halves = {.lacks = {.journal = true}, .may_void = true, .where = "without a journal"};
	(void)state;
	cut_twice(&scene);
	cut_twice(&halves);
}

/* ---- calls that fail ---- */

static void check_status(const struct scene *scene, struct fs *fs, struct arena *arena, const struct outcome *out)
{
	bool old = same(live_content(fs, arena, root, "state=TX"), before[0].content) &&
			   same(live_content(fs, arena, root, "state=OK"), before[1].content);
	bool new = same(live_content(fs, arena, root, "state=TX"), after[0].content) &&
			   same(live_content(fs, arena, root, "state=OK"), after[1].content);
	if (out->status == RECLOSER_OK && !new)
		fail_msg("%s: success, but it is not live", scene->where);
	if (out->status == RECLOSER_IO && !old)
		fail_msg("%s: \"nothing changed\", but something did", scene->where);
	if (out->status != RECLOSER_OK && out->status != RECLOSER_IO && out->status != RECLOSER_UNCLEAR)
		fail_msg("%s: status %d: %s", scene->where, out->status, out->error.what);
	if (out->status != RECLOSER_OK && (!*out->error.what || !*out->error.code))
		fail_msg("%s: no reason given", scene->where);
}

static unsigned fail_everywhere(struct scene *scene, struct fs_failing failing)
{
	bool more = true;
	unsigned at;
	for (at = 1; more; at++) {
		struct arena *arena = arena_new(NULL), *dying = arena_new(NULL);
		struct run_options options = {.config = true};
		struct fs *fs = begin(scene, arena);
		struct outcome out;
		failing.at = at;
		failing.calls = 0;
		snprintf(scene->where, sizeof scene->where, "errno %d at call %u%s%s", failing.number, at,
				 failing.and_after ? " and after" : "", failing.lies ? ", lying" : "");
		run_batches(fs_failing(dying, fs, &failing), dying, root, "r2", after, 2, &options, &out);
		check_status(scene, fs, arena, &out);
		arena_free(dying);
		more = failing.calls >= at;
		const char *fault = recover_and_load(scene, fs, arena, out.status == RECLOSER_OK);
		if (fault)
			fail_msg("%s: %s", scene->where, fault);
		arena_free(arena);
		scene->states++;
	}
	return at;
}

static void calls_that_fail(void **state)
{
	static const int numbers[] = {EIO, ENOSPC, EDQUOT};
	struct scene scene = {.where = ""};
	struct scene slow = {.lacks = {.syncfs = true, .hard_links = true}, .where = ""};
	(void)state;
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		struct fs_failing once = {.number = numbers[i]};
		struct fs_failing full = {.number = numbers[i], .and_after = true, .changes_only = true};
		struct fs_failing lying = {.number = numbers[i], .lies = true};
		assert_true(fail_everywhere(&scene, once) > 60);
		fail_everywhere(&scene, full);
		fail_everywhere(&scene, lying);
		fail_everywhere(&slow, once);
		fail_everywhere(&slow, full);
	}
	print_message("failing calls: %lu runs\n", scene.states + slow.states);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(power_cut_while_replacing), cmocka_unit_test(power_cut_while_loading_first),
		cmocka_unit_test(power_cut_without_syncfs),  cmocka_unit_test(power_cut_without_hard_links),
		cmocka_unit_test(power_cut_without_journal), cmocka_unit_test(kill_then_power_cut),
		cmocka_unit_test(power_cut_twice),           cmocka_unit_test(calls_that_fail),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
