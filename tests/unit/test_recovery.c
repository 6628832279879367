/* SPDX-License-Identifier: Apache-2.0
 * The recovery table of the commit protocol, one test a row; then two processes in each other's way at every single call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "commit_fixture.h"
#include "fs_test.h"

static const char root[] = "lake", live_part[] = "lake/queue/state=TX/part.parquet";
static const char staged_file[] = "lake/_recloser/queue/staging/r2/state=TX/part";
static const char staged_record[] = "lake/_recloser/queue/staging/r2/state=TX/record.json";
static const char record_file[] = "lake/_recloser/queue/ledger/state=TX/00000002.json";
static const char archive_file[] = "lake/_recloser/queue/archive/load_date=2026-08-02/state=TX/part.parquet.00000002";

struct state {
	struct arena *arena;
	struct fs *fs;
};

static int setup(void **state)
{
	struct arena *arena = arena_new(NULL);
	struct state *s = arena_alloc(arena, sizeof *s);
	*s = (struct state){arena, fs_memory(arena, NULL)};
	*state = s;
	setenv("RECLOSER_TEST_NOW", "2026-08-02T04:12:00Z", 1);
	return 0;
}

static int teardown(void **state)
{
	struct state *s = *state;
	arena_free(s->arena);
	unsetenv("RECLOSER_TEST_NOW");
	return 0;
}

static const struct batch one[] = {{"state=TX", "one"}}, two[] = {{"state=TX", "two"}}, three[] = {{"state=TX", "three"}};

static struct outcome load(struct state *s, const char *run, const struct batch *batches)
{
	struct outcome out;
	run_batches(s->fs, s->arena, root, run, batches, 1, NULL, &out);
	return out;
}

/* ---- a process that dies ---- */

struct death {
	enum fs_call call;
	const char *from, *to; /* parts of the two paths; NULL: any */
	bool before, dead;
};

static bool is_it(const struct death *death, enum fs_call call, const char *path, const char *to)
{
	return call == death->call && (!death->from || strstr(path, death->from)) &&
		   (!death->to || (to && strstr(to, death->to)));
}

static int die_before(void *arg, enum fs_call call, const char *path, const char *to)
{
	struct death *death = arg;
	if (death->before && is_it(death, call, path, to))
		death->dead = true;
	return death->dead ? EIO : 0;
}

static int die_after(void *arg, enum fs_call call, const char *path, const char *to, int result)
{
	struct death *death = arg;
	if (!death->before && is_it(death, call, path, to))
		death->dead = true;
	return death->dead ? EIO : result;
}

/* Run r2 up to that call; its locks go with it. */
static void load_and_die(struct state *s, struct death death)
{
	struct arena *arena = arena_new(NULL);
	struct fs_hook hook = {&death, die_before, die_after};
	struct outcome out;
	run_batches(fs_wrap(arena, s->fs, &hook), arena, root, "r2", two, 1, NULL, &out);
	assert_true(death.dead);
	assert_int_not_equal(out.status, RECLOSER_OK);
	arena_free(arena);
}

static const struct death after_decision = {.call = CALL_LINK, .from = "plan.json"};
static const struct death before_record = {.call = CALL_LINK, .from = "record.json", .before = true};

static struct recovery recovered(struct state *s)
{
	struct dataset *dataset;
	struct recovery found;
	recloser_error error = {0};
	assert_int_equal(dataset_open(s->arena, s->fs, root, "queue", &dataset, &error), RECLOSER_OK);
	if (recover(dataset, s->arena, true, &found, &error) != RECLOSER_OK)
		fail_msg("%s", error.what);
	return found;
}

static struct record *record_at(struct state *s, int64_t seq)
{
	struct dataset *dataset;
	struct record *record;
	recloser_error error = {0};
	assert_int_equal(dataset_open(s->arena, s->fs, root, "queue", &dataset, &error), RECLOSER_OK);
	assert_int_equal(ledger_read(dataset, s->arena, "state=TX", seq, &record, &error), RECLOSER_OK);
	return record;
}

static void assert_sound(struct state *s)
{
	const char *fault = check_dataset(s->fs, s->arena, root);
	if (fault)
		fail_msg("%s", fault);
}

static bool exists(struct state *s, const char *path)
{
	struct fs_stat stat;
	return s->fs->ops->stat(s->fs, path, &stat) == 0;
}

static void assert_live(struct state *s, const char *content)
{
	assert_non_null(live_content(s->fs, s->arena, root, "state=TX"));
	assert_string_equal(live_content(s->fs, s->arena, root, "state=TX"), content);
}

static void assert_finished(struct state *s)
{
	assert_int_equal(recovered(s).finished, 2);
	assert_live(s, "two");
	assert_string_equal(record_at(s, 2)->kind, "version");
	assert_sound(s);
	assert_int_equal(recovered(s).finished, 0);
}

/* ---- staged file there ---- */

static void row_base_is_live(void **state)
{
	struct state *s = *state;
	load(s, "r1", one);
	load_and_die(s, after_decision);
	assert_live(s, "one");
	assert_finished(s);
}

static void row_base_is_live_and_archived(void **state)
{
	struct state *s = *state;
	load(s, "r1", one);
	load_and_die(s, (struct death){.call = CALL_LINK, .from = "/part", .to = "archive"});
	assert_true(exists(s, archive_file));
	assert_live(s, "one");
	assert_finished(s);
}

static void row_base_is_live_and_recorded(void **state)
{
	struct state *s = *state;
	load(s, "r1", one);
	load_and_die(s, after_decision);
	assert_int_equal(s->fs->ops->link(s->fs, staged_record, record_file), 0);
	assert_finished(s);
}

static void row_same_inode(void **state)
{
	struct state *s = *state;
	load(s, "r1", one);
	load_and_die(s, after_decision);
	assert_int_equal(s->fs->ops->unlink(s->fs, live_part), 0);
	assert_int_equal(s->fs->ops->link(s->fs, staged_file, live_part), 0);
	assert_finished(s);
}

static void row_foreign_bytes(void **state)
{
	struct state *s = *state;
	char hex[SHA256_HEX];
	load(s, "r1", one);
	load_and_die(s, after_decision);
	fs_memory_put(s->fs, live_part, "foreign");
	assert_finished(s);
	sha256_of("foreign", 7, hex);
	const char *kept = arena_printf(s->arena, "archive/foreign/%s", hex);
	assert_true(exists(s, arena_printf(s->arena, "lake/_recloser/queue/%s", kept)));
	const json_t *note = json_object_get(record_at(s, 2)->json, "replaced_foreign");
	assert_string_equal(json_get_text(note, "archive"), kept);
	assert_string_equal(json_get_text(note, "sha256"), hex);
}

static void row_nothing_is_live(void **state)
{
	struct state *s = *state;
	load(s, "r1", one);
	load_and_die(s, after_decision);
	assert_int_equal(s->fs->ops->unlink(s->fs, live_part), 0);
	assert_finished(s);
}

/* ---- staged file gone ---- */

static void row_new_is_live_and_archived(void **state)
{
	struct state *s = *state;
	load(s, "r1", one);
	load_and_die(s, before_record);
	assert_false(exists(s, staged_file));
	assert_null(record_at(s, 2));
	assert_finished(s);
}

static void row_new_is_live_and_the_archive_link_lost(void **state)
{
	struct state *s = *state;
	load(s, "r1", one);
	load_and_die(s, before_record);
	assert_int_equal(s->fs->ops->unlink(s->fs, archive_file), 0);
	assert_finished(s);
	assert_true(exists(s, archive_file));
}

static void row_new_is_live_and_the_staged_record_lost(void **state)
{
	struct state *s = *state;
	load(s, "r1", one);
	load_and_die(s, before_record);
	assert_int_equal(s->fs->ops->unlink(s->fs, staged_record), 0);
	assert_finished(s);
	assert_int_equal(record_at(s, 2)->rows, 3); /* the plan knew */
}

static void row_other_is_live_and_recorded(void **state)
{
	struct state *s = *state;
	load(s, "r1", one);
	load_and_die(s, (struct death){.call = CALL_LINK, .from = "record.json"});
	fs_memory_put(s->fs, live_part, "foreign");
	struct recovery found = recovered(s);
	assert_int_equal(found.finished, 2);
	assert_int_equal(found.adoptable.count, 1);
	assert_live(s, "foreign");
	assert_string_equal(record_at(s, 2)->kind, "version");
	assert_int_equal(load(s, "r3", three).entries[0].seq, 4);
	assert_string_equal(record_at(s, 3)->kind, "adopted");
	assert_sound(s);
}

static void row_other_is_live_and_not_recorded(void **state)
{
	struct state *s = *state;
	load(s, "r1", one);
	load_and_die(s, after_decision);
	assert_int_equal(s->fs->ops->unlink(s->fs, staged_file), 0);
	assert_int_equal(recovered(s).finished, 2);
	assert_live(s, "one");
	assert_string_equal(record_at(s, 2)->kind, "void");
	assert_sound(s);
	assert_int_equal(load(s, "r3", three).entries[0].seq, 3);
	assert_sound(s);
}

static void row_half_a_rename_is_made_again(void **state)
{
	struct state *s = *state;
	load(s, "r1", one);
	load_and_die(s, (struct death){.call = CALL_LINK, .from = "/part", .to = "archive"});
	assert_int_equal(s->fs->ops->unlink(s->fs, staged_file), 0); /* archived, base is live: the decision stands */
	assert_finished(s);
}

/* ---- stale plans ---- */

static void row_archive_name_is_taken(void **state)
{
	struct state *s = *state;
	load(s, "r1", one);
	load_and_die(s, after_decision);
	fs_memory_put(s->fs, archive_file, "another run's");
	assert_int_equal(recovered(s).finished, 2);
	assert_live(s, "one");
	assert_string_equal(record_at(s, 2)->kind, "void");
	struct outcome out = load(s, "r3", three);
	assert_int_equal(out.status, RECLOSER_OK);
	assert_int_equal(out.entries[0].seq, 3);
	assert_sound(s);
}

/* A listing that is older than the directory, as NFS may give: the newest record is left out once. */
static int forget_newest(void *arg, enum fs_call call, const char *path, const char *to, int result)
{
	(void)arg;
	(void)to;
	return call == CALL_LIST && strstr(path, "ledger/state=TX") && result == 0 ? ENOENT : result;
}

static void row_record_is_another_runs(void **state)
{
	struct state *s = *state;
	struct fs_hook hook = {NULL, NULL, forget_newest};
	struct outcome out;
	load(s, "r1", one);
	load(s, "r1b", two);
	setenv("RECLOSER_TEST_NOW", "2026-08-03T00:00:00Z", 1); /* so the archive names do not meet */
	/* r2 believes that there is no version yet: its plan adopts live as 1 and adds 2. Both numbers are taken. */
	run_batches(fs_wrap(s->arena, s->fs, &hook), s->arena, root, "r2", three, 1, NULL, &out);
	assert_int_equal(out.status, RECLOSER_CONFLICT);
	assert_int_equal(out.entries[0].outcome, ENTRY_CONFLICT);
	assert_live(s, "two");
	assert_string_equal(record_at(s, 2)->run, "r1b");
	assert_sound(s);
	assert_int_equal(load(s, "r3", three).entries[0].seq, 3);
	assert_sound(s);
}

/* ---- lying calls ---- */

static int lie_once(void *arg, enum fs_call call, const char *path, const char *to, int result)
{
	bool *told = arg;
	(void)to;
	if (*told || call != CALL_RENAME || !text_ends(path, "/part"))
		return result;
	*told = true;
	return EIO;
}

static void rename_that_lies(void **state)
{
	struct state *s = *state;
	bool told = false;
	struct fs_hook hook = {&told, NULL, lie_once};
	struct outcome out;
	load(s, "r1", one);
	run_batches(fs_wrap(s->arena, s->fs, &hook), s->arena, root, "r2", two, 1, NULL, &out);
	assert_true(told);
	assert_int_equal(out.status, RECLOSER_OK);
	assert_int_equal(out.entries[0].outcome, ENTRY_REPLACED);
	assert_live(s, "two");
	assert_sound(s);
}

static int refuse_rename(void *arg, enum fs_call call, const char *path, const char *to)
{
	(void)to;
	(void)arg;
	return call == CALL_RENAME && text_ends(path, "/part") ? EBUSY : 0;
}

static void rename_that_is_refused_for_now(void **state)
{
	struct state *s = *state;
	struct fs_hook hook = {NULL, refuse_rename, NULL};
	struct outcome out;
	load(s, "r1", one);
	run_batches(fs_wrap(s->arena, s->fs, &hook), s->arena, root, "r2", two, 1, NULL, &out);
	assert_int_equal(out.status, RECLOSER_UNCLEAR);
	assert_live(s, "one");
	assert_null(record_at(s, 2)); /* it may still become live: nobody may say void */
	assert_finished(s);
}

/* ---- sweeping ---- */

static void sweeping(void **state)
{
	struct state *s = *state;
	struct dataset *dataset;
	struct staging *living, *dead;
	const char *path;
	recloser_error error = {0};
	struct arena *arena = arena_new(NULL);
	load(s, "r1", one);
	assert_int_equal(dataset_open(s->arena, s->fs, root, "queue", &dataset, &error), RECLOSER_OK);
	assert_int_equal(staging_begin(dataset, s->arena, "living", &living, &error), RECLOSER_OK);
	assert_int_equal(staging_begin(dataset, arena, "dead", &dead, &error), RECLOSER_OK);
	assert_int_equal(staging_file(dead, "state=TX", &path, &error), RECLOSER_OK);
	assert_int_equal(s->fs->ops->write(s->fs, path, "half", 4, 0666, NULL), 0);
	arena_free(arena); /* its locks are gone, its files are not */
	struct recovery found = recovered(s);
	assert_int_equal(found.swept.count, 1);
	assert_string_equal(found.swept.at[0], "dead");
	assert_int_equal(found.living.count, 1);
	assert_string_equal(found.living.at[0], "living");
	assert_true(exists(s, "lake/_recloser/queue/staging/living/alive"));
	assert_false(exists(s, "lake/_recloser/queue/staging/dead"));
	staging_abandon(living);
	assert_sound(s);
}

static void an_open_commit_is_never_swept(void **state)
{
	struct state *s = *state;
	struct fs_lock *lock;
	load(s, "r1", one);
	load_and_die(s, after_decision);
	assert_int_equal(s->fs->ops->lock(s->fs, "lake/_recloser/queue/lock", "somebody\n", &lock), 0);
	struct recovery found = recovered(s); /* can't finish: somebody else is about to */
	assert_int_equal(found.finished, 0);
	assert_int_equal(found.swept.count, 0);
	assert_true(found.warnings.count >= 1);
	s->fs->ops->unlock(s->fs, lock);
	assert_finished(s);
}

/* ---- rebuilding ---- */

static void drop(struct state *s, const char *relative)
{
	assert_int_equal(s->fs->ops->unlink(s->fs, arena_printf(s->arena, "lake/_recloser/queue/%s", relative)), 0);
}

static struct recovery rebuilt(struct state *s)
{
	struct dataset *dataset;
	struct recovery found;
	recloser_error error = {0};
	assert_int_equal(dataset_open(s->arena, s->fs, root, "queue", &dataset, &error), RECLOSER_OK);
	if (recover_rebuild(dataset, s->arena, &found, &error) != RECLOSER_OK)
		fail_msg("%s", error.what);
	return found;
}

static void ledger_is_rebuilt_from_commits(void **state)
{
	struct state *s = *state;
	load(s, "r1", one);
	load(s, "r2", two);
	drop(s, "ledger/state=TX/00000001.json");
	drop(s, "ledger/state=TX/00000002.json");
	struct recovery found = rebuilt(s);
	assert_int_equal(found.finished_partitions.count, 1);
	assert_true(json_get_bool(record_at(s, 2)->json, "rebuilt", false));
	assert_string_equal(record_at(s, 2)->run, "r2");
	assert_int_equal(record_at(s, 1)->rows, 3);
	assert_sound(s);
	assert_int_equal(load(s, "r3", three).entries[0].seq, 3);
	assert_sound(s);
}

static void ledger_is_rebuilt_from_the_archive(void **state)
{
	struct state *s = *state;
	load(s, "r1", one);
	load(s, "r2", two);
	drop(s, "ledger/state=TX/00000001.json");
	drop(s, "commits/00000001.json");
	drop(s, "commits/00000002.json");
	rebuilt(s);
	struct record *record = record_at(s, 1);
	assert_null(record->run);
	assert_string_equal(record->loaded_at, "2026-08-02T00:00:00.000000Z");
	assert_int_equal(record->bytes, 3);
	assert_false(json_get_bool(record_at(s, 2)->json, "rebuilt", false)); /* it was there */
	assert_sound(s);
	assert_int_equal(load(s, "r3", three).report.number, 3); /* never a number twice */
	assert_sound(s);
}

static void rebuilding_wants_the_lock(void **state)
{
	struct state *s = *state;
	struct dataset *dataset;
	struct recovery found;
	struct fs_lock *lock;
	recloser_error error = {0};
	load(s, "r1", one);
	assert_int_equal(s->fs->ops->lock(s->fs, "lake/_recloser/queue/lock", "somebody\n", &lock), 0);
	assert_int_equal(dataset_open(s->arena, s->fs, root, "queue", &dataset, &error), RECLOSER_OK);
	assert_int_equal(recover_rebuild(dataset, s->arena, &found, &error), RECLOSER_CONFLICT);
	s->fs->ops->unlock(s->fs, lock);
}

/* ---- at every call of one process, another does all it wants ---- */

struct meeting {
	struct fs *fs;
	unsigned at, calls;
	bool loads; /* else recovers */
	recloser_status status;
};

static void other_process(struct meeting *meeting)
{
	struct arena *arena = arena_new(NULL);
	struct dataset *dataset;
	struct recovery found;
	struct outcome out = {0};
	if (meeting->loads)
		run_batches(meeting->fs, arena, root, "other", three, 1, NULL, &out);
	else if (dataset_open(arena, meeting->fs, root, "queue", &dataset, &out.error) == RECLOSER_OK)
		out.status = recover(dataset, arena, false, &found, &out.error);
	meeting->status = out.status;
	arena_free(arena);
}

static int meet(void *arg, enum fs_call call, const char *path, const char *to)
{
	struct meeting *meeting = arg;
	(void)call;
	(void)path;
	(void)to;
	if (++meeting->calls == meeting->at)
		other_process(meeting);
	return 0;
}

static bool has_version(struct state *s, const char *run)
{
	struct record *record;
	for (int64_t seq = 1; (record = record_at(s, seq)) != NULL; seq++)
		if (record->run && strcmp(record->run, run) == 0 && strcmp(record->kind, "version") == 0)
			return true;
	return false;
}

/* True when the run made fewer calls than that. */
static bool meet_at(struct arena *parent, unsigned at, bool loads, bool locks)
{
	struct fs_memory_lacks lacks = {.locks = !locks};
	struct state s = {arena_new(parent), NULL};
	struct outcome out;
	s.fs = fs_memory(s.arena, &lacks);
	struct meeting meeting = {s.fs, at, 0, loads, RECLOSER_OK};
	struct fs_hook hook = {&meeting, meet, NULL};
	load(&s, "r1", one);
	run_batches(fs_wrap(s.arena, s.fs, &hook), s.arena, root, "r2", two, 1, NULL, &out);
	if (out.status != RECLOSER_OK && out.status != RECLOSER_CONFLICT)
		fail_msg("call %u: status %d, %s", at, out.status, out.error.what);
	if (meeting.status != RECLOSER_OK && meeting.status != RECLOSER_CONFLICT)
		fail_msg("call %u: the other: status %d", at, meeting.status);
	recovered(&s);
	assert_sound(&s);
	assert_int_equal(out.status == RECLOSER_OK, has_version(&s, "r2"));
	if (loads && meeting.calls >= at)
		assert_int_equal(meeting.status == RECLOSER_OK, has_version(&s, "other"));
	bool ended = meeting.calls < at;
	arena_free(s.arena);
	return ended;
}

static void another_at_every_call(void **state)
{
	struct state *s = *state;
	for (int loads = 0; loads < 2; loads++) {
		for (int locks = 0; locks < 2; locks++) {
			unsigned at = 1;
			while (!meet_at(s->arena, at, loads, locks))
				at++;
			assert_true(at > 60);
		}
	}
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(row_base_is_live),
		TEST(row_base_is_live_and_archived),
		TEST(row_base_is_live_and_recorded),
		TEST(row_same_inode),
		TEST(row_foreign_bytes),
		TEST(row_nothing_is_live),
		TEST(row_new_is_live_and_archived),
		TEST(row_new_is_live_and_the_archive_link_lost),
		TEST(row_new_is_live_and_the_staged_record_lost),
		TEST(row_other_is_live_and_recorded),
		TEST(row_other_is_live_and_not_recorded),
		TEST(row_half_a_rename_is_made_again),
		TEST(row_archive_name_is_taken),
		TEST(row_record_is_another_runs),
		TEST(rename_that_lies),
		TEST(rename_that_is_refused_for_now),
		TEST(sweeping),
		TEST(an_open_commit_is_never_swept),
		TEST(ledger_is_rebuilt_from_commits),
		TEST(ledger_is_rebuilt_from_the_archive),
		TEST(rebuilding_wants_the_lock),
		TEST(another_at_every_call),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
