/* SPDX-License-Identifier: Apache-2.0
 * The commit protocol where nothing goes wrong but what a user does: replacing, leaving alone, two writers, foreign files,
 * and file systems that lack something. */
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

static const char root[] = "lake";

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
	return 0;
}

static int teardown(void **state)
{
	struct state *s = *state;
	arena_free(s->arena);
	return 0;
}

static void assert_sound(struct state *s)
{
	const char *fault = check_dataset(s->fs, s->arena, root);
	if (fault)
		fail_msg("%s", fault);
}

static void assert_live(struct state *s, const char *partition, const char *content)
{
	assert_non_null(live_content(s->fs, s->arena, root, partition));
	assert_string_equal(live_content(s->fs, s->arena, root, partition), content);
}

static struct outcome load(struct state *s, const char *run, const struct batch *batches, size_t count)
{
	struct outcome out;
	run_batches(s->fs, s->arena, root, run, batches, count, NULL, &out);
	return out;
}

static struct record *record_at(struct state *s, const char *partition, int64_t seq)
{
	struct dataset *dataset;
	struct record *record;
	recloser_error error = {0};
	assert_int_equal(dataset_open(s->arena, s->fs, root, "queue", &dataset, &error), RECLOSER_OK);
	assert_int_equal(ledger_read(dataset, s->arena, partition, seq, &record, &error), RECLOSER_OK);
	return record;
}

static const struct batch one[] = {{"state=TX", "one"}}, two[] = {{"state=TX", "two"}}, three[] = {{"state=TX", "three"}};

/* ---- replacing ---- */

static void new_then_replaced(void **state)
{
	struct state *s = *state;
	struct outcome out = load(s, "r1", one, 1);
	assert_int_equal(out.status, RECLOSER_OK);
	assert_int_equal(out.entries[0].outcome, ENTRY_NEW);
	assert_int_equal(out.report.number, 1);
	assert_int_equal(out.entries[0].seq, 1);
	out = load(s, "r2", two, 1);
	assert_int_equal(out.entries[0].outcome, ENTRY_REPLACED);
	assert_int_equal(out.entries[0].seq, 2);
	assert_live(s, "state=TX", "two");
	struct record *record = record_at(s, "state=TX", 2);
	assert_string_equal(record->kind, "version");
	assert_string_equal(record->run, "r2");
	assert_int_equal(record->rows, 3);
	assert_int_equal(json_get_int(record->json, "rows_in", 0), 3);
	assert_int_equal(json_get_int(record->json, "commit", 0), 2);
	assert_int_equal(json_get_int(json_object_get(record->json, "base"), "seq", 0), 1);
	assert_string_equal(json_get_text(json_object_get(record->json, "base"), "sha256"), record_at(s, "state=TX", 1)->sha256);
	assert_sound(s);
}

static void two_partitions_one_unchanged(void **state)
{
	struct state *s = *state;
	const struct batch first[] = {{"state=TX/month=2026-07", "one"}, {"state=OK/month=2026-07", "uno"}};
	const struct batch second[] = {{"state=TX/month=2026-07", "two"}, {"state=OK/month=2026-07", "uno"}};
	load(s, "r1", first, 2);
	struct outcome out = load(s, "r2", second, 2);
	assert_int_equal(out.status, RECLOSER_OK);
	assert_int_equal(out.entries[0].outcome, ENTRY_REPLACED);
	assert_int_equal(out.entries[1].outcome, ENTRY_UNCHANGED);
	assert_null(record_at(s, "state=OK/month=2026-07", 2));
	assert_sound(s);
}

static void all_unchanged_decides_nothing(void **state)
{
	struct state *s = *state;
	load(s, "r1", one, 1);
	struct outcome out = load(s, "r2", one, 1);
	assert_int_equal(out.status, RECLOSER_OK);
	assert_int_equal(out.report.number, 0);
	assert_int_equal(out.entries[0].outcome, ENTRY_UNCHANGED);
	assert_null(record_at(s, "state=TX", 2));
	assert_sound(s);
}

static void unpartitioned(void **state)
{
	struct state *s = *state;
	const struct batch first[] = {{"", "one"}}, second[] = {{"", "two"}};
	load(s, "r1", first, 1);
	assert_int_equal(load(s, "r2", second, 1).status, RECLOSER_OK);
	assert_live(s, "", "two");
	assert_int_equal(record_at(s, "", 2)->seq, 2);
	assert_sound(s);
}

static void dataset_json_comes_with_the_first_commit(void **state)
{
	struct state *s = *state;
	struct run_options options = {.config = true};
	struct outcome out;
	struct dataset *dataset;
	recloser_error error = {0};
	run_batches(s->fs, s->arena, root, "r1", one, 1, &options, &out);
	assert_int_equal(out.status, RECLOSER_OK);
	assert_int_equal(dataset_open(s->arena, s->fs, root, "queue", &dataset, &error), RECLOSER_OK);
	assert_int_equal(json_get_int(dataset->config, "format_version", 0), 1);
	assert_sound(s);
}

static void newer_format_is_refused(void **state)
{
	struct state *s = *state;
	struct dataset *dataset;
	recloser_error error = {0};
	fs_memory_put(s->fs, "lake/_recloser/queue/dataset.json", "{\"format_version\": 2}");
	assert_int_equal(dataset_open(s->arena, s->fs, root, "queue", &dataset, &error), RECLOSER_USAGE);
	assert_string_equal(error.code, "dataset.newer");
}

static void time_does_not_run_backwards(void **state)
{
	struct state *s = *state;
	setenv("RECLOSER_TEST_NOW", "2026-08-02T04:12:00Z", 1);
	load(s, "r1", one, 1);
	setenv("RECLOSER_TEST_NOW", "2026-07-01T00:00:00Z", 1);
	struct outcome out = load(s, "r2", two, 1);
	unsetenv("RECLOSER_TEST_NOW");
	assert_string_equal(record_at(s, "state=TX", 2)->loaded_at, "2026-08-02T04:12:00.000000Z");
	assert_string_equal(record_at(s, "state=TX", 2)->archive, "archive/load_date=2026-08-02/state=TX/part.parquet.00000002");
	assert_int_equal(out.report.warnings.count, 1);
}

/* ---- three syncs ---- */

static unsigned syncs_of(size_t partitions, const struct fs_memory_lacks *lacks, struct fs_recording *recording)
{
	struct arena *arena = arena_new(NULL);
	struct fs *fs = fs_recording(arena, fs_memory(arena, lacks), recording);
	struct dataset *dataset;
	struct staging *staging;
	struct commit_options options = {.config = test_config(arena)};
	struct commit_report report;
	recloser_error error = {0};
	struct entry *entries = arena_array(arena, partitions, sizeof *entries);
	assert_int_equal(dataset_open(arena, fs, root, "queue", &dataset, &error), RECLOSER_OK);
	assert_int_equal(staging_begin(dataset, arena, "r1", &staging, &error), RECLOSER_OK);
	for (unsigned *count = recording->counts; count < recording->counts + CALL_KINDS; count++)
		*count = 0; /* the probe of a new dataset is not part of a run */
	for (size_t i = 0; i < partitions; i++) {
		const char *path;
		entries[i].partition = arena_printf(arena, "part=%zu", i);
		entries[i].kind = "version";
		entries[i].bytes = 3;
		sha256_of("abc", 3, entries[i].sha256);
		entries[i].record = json_new_object(arena);
		assert_int_equal(staging_file(staging, entries[i].partition, &path, &error), RECLOSER_OK);
		assert_int_equal(fs->ops->write(fs, path, "abc", 3, 0666, NULL), 0);
		assert_int_equal(staging_hold(staging, entries[i].partition, &error), RECLOSER_OK);
	}
	assert_int_equal(commit_run(staging, arena, entries, partitions, &options, &report, &error), RECLOSER_OK);
	unsigned syncs = fs_recording_syncs(recording);
	arena_free(arena);
	return syncs;
}

static void three_syncs_for_any_number(void **state)
{
	struct fs_recording recording;
	(void)state;
	assert_int_equal(syncs_of(1, NULL, &recording), 3);
	assert_int_equal(recording.counts[CALL_SYNC_ALL], 2);
	assert_int_equal(recording.counts[CALL_SYNC_DIRECTORY], 1);
	assert_int_equal(syncs_of(612, NULL, &recording), 3);
	assert_int_equal(recording.counts[CALL_RENAME], 612);
	assert_int_equal(recording.counts[CALL_COPY], 0);
}

static void one_by_one_without_syncfs(void **state)
{
	struct fs_memory_lacks lacks = {.syncfs = true};
	struct fs_recording recording;
	(void)state;
	unsigned syncs = syncs_of(3, &lacks, &recording);
	assert_int_equal(recording.counts[CALL_SYNC_ALL], 0);
	/* three staged files by their held descriptors and again by name with their records, plan and dataset.json */
	assert_int_equal(recording.counts[CALL_SYNC], 3 + 3 + 3 + 2);
	assert_true(syncs > 3 + 3 + 3 + 2);
}

/* ---- two writers ---- */

struct rival {
	struct state *s;
	const struct batch *batches;
	size_t count;
};

static void rival_loads(void *arg, struct dataset *dataset)
{
	struct rival *rival = arg;
	struct outcome out;
	(void)dataset;
	run_batches(rival->s->fs, rival->s->arena, root, "rival", rival->batches, rival->count, NULL, &out);
	assert_int_equal(out.status, RECLOSER_OK);
}

static void the_later_one_is_the_next_version(void **state)
{
	struct state *s = *state;
	struct rival rival = {s, two, 1};
	struct run_options options = {.before_commit = rival_loads, .arg = &rival};
	struct outcome out;
	load(s, "r1", one, 1);
	run_batches(s->fs, s->arena, root, "r2", three, 1, &options, &out);
	assert_int_equal(out.status, RECLOSER_OK);
	assert_int_equal(out.entries[0].seq, 3);
	assert_live(s, "state=TX", "three");
	assert_string_equal(record_at(s, "state=TX", 2)->run, "rival");
	assert_sound(s);
}

static void lock_names_its_holder(void **state)
{
	struct state *s = *state;
	struct fs_lock *lock;
	load(s, "r1", one, 1);
	assert_int_equal(s->fs->ops->lock(s->fs, "lake/_recloser/queue/lock", "host h, pid 7, run other, since now\n", &lock),
					 0);
	struct outcome out = load(s, "r2", two, 1);
	assert_int_equal(out.status, RECLOSER_CONFLICT);
	assert_string_equal(out.error.code, "commit.locked");
	assert_non_null(strstr(out.error.what, "host h, pid 7, run other"));
	assert_live(s, "state=TX", "one");
	s->fs->ops->unlock(s->fs, lock);
	assert_sound(s);
}

/* Takes commit number `take` away from the run under test, just before it would link its plan, as often as told. */
struct thief {
	struct fs *inner;
	struct arena *arena;
	unsigned left;
};

static int steal(void *arg, enum fs_call call, const char *path, const char *to)
{
	struct thief *thief = arg;
	if (call != CALL_LINK || !text_ends(path, "plan.json") || thief->left == 0 || !strstr(path, "r2"))
		return 0;
	thief->left--;
	const struct batch batch[] = {{"state=TX", arena_printf(thief->arena, "stolen %u", thief->left)}};
	struct outcome out;
	(void)to;
	run_batches(thief->inner, thief->arena, root, arena_printf(thief->arena, "thief%u", thief->left), batch, 1, NULL, &out);
	assert_int_equal(out.status, RECLOSER_OK);
	return 0;
}

static struct outcome load_with_thief(struct state *s, unsigned times)
{
	struct fs_memory_lacks lacks = {.locks = true};
	struct outcome out;
	s->fs = fs_memory(s->arena, &lacks);
	struct thief thief = {s->fs, s->arena, times};
	struct fs_hook hook = {&thief, steal, NULL};
	load(s, "r1", one, 1);
	run_batches(fs_wrap(s->arena, s->fs, &hook), s->arena, root, "r2", two, 1, NULL, &out);
	assert_int_equal(thief.left, 0);
	return out;
}

static void taken_number_is_tried_again(void **state)
{
	struct state *s = *state;
	struct outcome out = load_with_thief(s, 2);
	assert_int_equal(out.status, RECLOSER_OK);
	assert_int_equal(out.report.number, 4);
	assert_int_equal(out.entries[0].seq, 4);
	assert_live(s, "state=TX", "two");
	assert_sound(s);
}

static void taken_three_times_is_a_conflict(void **state)
{
	struct state *s = *state;
	struct outcome out = load_with_thief(s, 3);
	assert_int_equal(out.status, RECLOSER_CONFLICT);
	assert_string_equal(out.error.code, "commit.overtaken");
	assert_live(s, "state=TX", "stolen 0");
	assert_sound(s);
}

/* ---- the guards look again ---- */

struct guard {
	unsigned asked;
	int64_t base;
	bool refuse, unchanged;
};

static recloser_status guard_again(void *arg, struct entry *entry, const struct record *base, recloser_error *error)
{
	struct guard *guard = arg;
	guard->asked++;
	guard->base = base ? base->seq : 0;
	if (guard->unchanged)
		entry->outcome = ENTRY_UNCHANGED;
	return guard->refuse ? error_set(error, RECLOSER_HELD, "guard.test", "held") : RECLOSER_OK;
}

static recloser_status commit_guarded(struct state *s, int64_t base_seen, struct guard *guard, struct entry *entry,
									  recloser_error *error)
{
	struct dataset *dataset;
	struct staging *staging;
	const char *path;
	struct commit_options options = {.look_again = guard_again, .arg = guard};
	struct commit_report report;
	*entry = (struct entry){.partition = "state=TX", .kind = "version", .bytes = 3, .base_seen = base_seen};
	sha256_of("two", 3, entry->sha256);
	entry->record = json_new_object(s->arena);
	RC_TRY(dataset_open(s->arena, s->fs, root, "queue", &dataset, error));
	RC_TRY(staging_begin(dataset, s->arena, "guarded", &staging, error));
	RC_TRY(staging_file(staging, "state=TX", &path, error));
	assert_int_equal(s->fs->ops->write(s->fs, path, "two", 3, 0666, NULL), 0);
	return commit_run(staging, s->arena, entry, 1, &options, &report, error);
}

static void guards_are_asked_only_when_the_base_moved(void **state)
{
	struct state *s = *state;
	struct guard guard = {0};
	struct entry entry;
	recloser_error error = {0};
	load(s, "r1", one, 1);
	assert_int_equal(commit_guarded(s, 1, &guard, &entry, &error), RECLOSER_OK);
	assert_int_equal(guard.asked, 0);
	load(s, "r3", three, 1);
	assert_int_equal(commit_guarded(s, 2, &guard, &entry, &error), RECLOSER_OK);
	assert_int_equal(guard.asked, 1);
	assert_int_equal(guard.base, 3);
	assert_int_equal(entry.seq, 4);
	assert_sound(s);
}

static void guards_may_refuse_or_leave_out(void **state)
{
	struct state *s = *state;
	struct guard guard = {.refuse = true};
	struct entry entry;
	recloser_error error = {0};
	load(s, "r1", one, 1);
	assert_int_equal(commit_guarded(s, 0, &guard, &entry, &error), RECLOSER_HELD);
	assert_live(s, "state=TX", "one");
	guard = (struct guard){.unchanged = true};
	memset(&error, 0, sizeof error);
	assert_int_equal(commit_guarded(s, 0, &guard, &entry, &error), RECLOSER_OK);
	assert_int_equal(entry.outcome, ENTRY_UNCHANGED);
	assert_live(s, "state=TX", "one");
	assert_sound(s);
}

/* ---- foreign bytes ---- */

static void foreign_bytes_are_adopted_first(void **state)
{
	struct state *s = *state;
	load(s, "r1", one, 1);
	fs_memory_put(s->fs, "lake/queue/state=TX/part.parquet", "rsync was here");
	struct outcome out = load(s, "r2", two, 1);
	assert_int_equal(out.status, RECLOSER_OK);
	assert_int_equal(out.report.adopted.count, 1);
	assert_int_equal(out.entries[0].seq, 3);
	struct record *adopted = record_at(s, "state=TX", 2);
	assert_string_equal(adopted->kind, "adopted");
	assert_int_equal(adopted->bytes, strlen("rsync was here"));
	assert_int_equal(json_get_int(json_object_get(record_at(s, "state=TX", 3)->json, "base"), "seq", 0), 2);
	assert_live(s, "state=TX", "two");
	assert_sound(s);
}

static void a_tree_without_a_ledger_is_adopted(void **state)
{
	struct state *s = *state;
	fs_memory_put(s->fs, "lake/queue/state=TX/part.parquet", "old");
	struct outcome out = load(s, "r1", one, 1);
	assert_int_equal(out.status, RECLOSER_OK);
	assert_string_equal(record_at(s, "state=TX", 1)->kind, "adopted");
	assert_int_equal(out.entries[0].seq, 2);
	assert_int_equal(out.entries[0].outcome, ENTRY_REPLACED);
	assert_sound(s);
}

static void neighbours_are_reported_and_left_alone(void **state)
{
	struct state *s = *state;
	struct dataset *dataset;
	struct recovery found;
	recloser_error error = {0};
	const char *stale = "lake/queue/state=TX/.staging-aaaa.parquet", *mark = "lake/queue/state=TX/_SUCCESS";
	fs_memory_put(s->fs, stale, "half");
	fs_memory_put(s->fs, mark, "");
	load(s, "r1", one, 1);
	assert_int_equal(dataset_open(s->arena, s->fs, root, "queue", &dataset, &error), RECLOSER_OK);
	assert_int_equal(recover(dataset, s->arena, true, &found, &error), RECLOSER_OK);
	assert_int_equal(found.foreign.count, 2);
	assert_string_equal(found.foreign.at[0], "state=TX/.staging-aaaa.parquet");
	assert_string_equal(found.foreign.at[1], "state=TX/_SUCCESS");
	struct fs_stat stat;
	assert_int_equal(s->fs->ops->stat(s->fs, stale, &stat), 0);
	assert_int_equal(s->fs->ops->stat(s->fs, mark, &stat), 0);
}

static void a_copied_tree_is_sound_and_remembered(void **state)
{
	struct state *s = *state;
	struct dataset *dataset;
	struct recovery found;
	recloser_error error = {0};
	load(s, "r1", one, 1);
	fs_memory_put(s->fs, "lake/queue/state=TX/part.parquet", "one"); /* another inode, the same bytes */
	assert_int_equal(dataset_open(s->arena, s->fs, root, "queue", &dataset, &error), RECLOSER_OK);
	assert_int_equal(recover(dataset, s->arena, true, &found, &error), RECLOSER_OK);
	assert_int_equal(found.adoptable.count, 0);
	struct fs_recording recording;
	struct fs *fs = fs_recording(s->arena, s->fs, &recording);
	assert_int_equal(dataset_open(s->arena, fs, root, "queue", &dataset, &error), RECLOSER_OK);
	assert_int_equal(recover(dataset, s->arena, true, &found, &error), RECLOSER_OK);
	assert_int_equal(found.adoptable.count, 0);
	assert_int_equal(recording.counts[CALL_DIGEST], 0);
}

static void a_missing_file_is_reported_and_replaced(void **state)
{
	struct state *s = *state;
	struct dataset *dataset;
	struct recovery found;
	recloser_error error = {0};
	load(s, "r1", one, 1);
	s->fs->ops->unlink(s->fs, "lake/queue/state=TX/part.parquet");
	assert_int_equal(dataset_open(s->arena, s->fs, root, "queue", &dataset, &error), RECLOSER_OK);
	assert_int_equal(recover(dataset, s->arena, true, &found, &error), RECLOSER_OK);
	assert_int_equal(found.missing.count, 1);
	struct outcome out = load(s, "r2", one, 1); /* not "unchanged": nothing is live */
	assert_int_equal(out.entries[0].outcome, ENTRY_REPLACED);
	assert_true(json_get_bool(json_object_get(record_at(s, "state=TX", 2)->json, "base"), "missing", false));
	assert_sound(s);
}

/* ---- restoring ---- */

static void restored_is_a_new_version(void **state)
{
	struct state *s = *state;
	struct dataset *dataset;
	struct staging *staging;
	struct commit_options options = {0};
	struct commit_report report;
	recloser_error error = {0};
	load(s, "r1", one, 1);
	load(s, "r2", two, 1);
	struct record *old = record_at(s, "state=TX", 1);
	struct entry entry = {.partition = "state=TX",
						  .kind = "restored",
						  .bytes = old->bytes,
						  .base_seen = 2,
						  .record = json_new_object(s->arena)};
	memcpy(entry.sha256, old->sha256, sizeof entry.sha256);
	assert_int_equal(dataset_open(s->arena, s->fs, root, "queue", &dataset, &error), RECLOSER_OK);
	assert_int_equal(staging_begin(dataset, s->arena, "r3", &staging, &error), RECLOSER_OK);
	assert_int_equal(staging_link(staging, "state=TX", old->archive, &error), RECLOSER_OK);
	assert_int_equal(commit_run(staging, s->arena, &entry, 1, &options, &report, &error), RECLOSER_OK);
	assert_int_equal(entry.outcome, ENTRY_RESTORED);
	assert_int_equal(entry.seq, 3);
	assert_string_equal(record_at(s, "state=TX", 3)->kind, "restored");
	assert_live(s, "state=TX", "one");
	assert_sound(s);
	assert_int_equal(load(s, "r4", two, 1).status, RECLOSER_OK);
	assert_live(s, "state=TX", "two");
	assert_sound(s);
}

/* ---- looking at many ---- */

static struct record *brief_at(struct state *s, int64_t near)
{
	struct dataset *dataset;
	struct record *record;
	recloser_error error = {0};
	assert_int_equal(dataset_open(s->arena, s->fs, root, "queue", &dataset, &error), RECLOSER_OK);
	assert_int_equal(ledger_brief(dataset, s->arena, "state=TX", near, &record, &error), RECLOSER_OK);
	return record;
}

static void a_brief_record_is_the_newest(void **state)
{
	struct state *s = *state;
	load(s, "r1", one, 1);
	load(s, "r2", two, 1);
	load(s, "r3", three, 1);
	for (int64_t near = 0; near < 9; near++) { /* not known, long ago, right, and never there */
		struct record *record = brief_at(s, near);
		assert_int_equal(record->seq, 3);
		assert_string_equal(record->sha256, record_at(s, "state=TX", 3)->sha256);
	}
	/* Long members are not there, whatever is in them; what is like them elsewhere is. */
	fs_memory_put(s->fs, "lake/_recloser/queue/ledger/state=TX/00000004.json",
				  "{\"schema\": [{\"name\": \"a]}\\\"\", \"type\": \"VARCHAR\"}], \"seq\": 4,\"kind\":\"adopted\","
				  "\"g\\u0065o\" : \"{\\\"a\\\":1}\", \"totals\": {\"geo\": 7, \"schema\": [1]}, \"file\": {\"bytes\": 5}, \"geo_\": null}\n");
	struct record *record = brief_at(s, 4);
	assert_int_equal(record->seq, 4);
	assert_int_equal(record->bytes, 5);
	assert_string_equal(record->kind, "adopted");
	assert_false(json_is_array(json_object_get(record->json, "schema")));
	assert_null(json_get_text(record->json, "geo"));
	assert_int_equal(json_get_int(json_object_get(record->json, "totals"), "geo", 0), 7);
	assert_int_equal(json_array_size(json_object_get(json_object_get(record->json, "totals"), "schema")), 1);
	assert_true(json_is_null(json_object_get(record->json, "geo_")));
	/* A void is no version: the one before it. */
	fs_memory_put(s->fs, "lake/_recloser/queue/ledger/state=TX/00000005.json", "{\"seq\": 5, \"kind\": \"void\"}");
	assert_int_equal(brief_at(s, 5)->seq, 4);
}

static void a_broken_record_is_told(void **state)
{
	struct state *s = *state;
	static const char *const broken[] = {"", "[]", "{", "{\"seq\": 2, \"kind\": \"version\"", "{\"seq\": 2, \"kind\": \"version\", \"schema\": [}",
	                                     "{\"seq\": 2, \"schema\": [1], \"kind\": tru}", "{\"schema\": 1} {\"seq\": 2}",
	                                     "{\"seq\": 3, \"kind\": \"version\"}", "{\"seq\": 2}"};
	load(s, "r1", one, 1);
	for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
		struct dataset *dataset;
		struct record *record;
		recloser_error brief = {0}, whole = {0};
		fs_memory_put(s->fs, "lake/_recloser/queue/ledger/state=TX/00000002.json", broken[i]);
		assert_int_equal(dataset_open(s->arena, s->fs, root, "queue", &dataset, &brief), RECLOSER_OK);
		assert_int_equal(ledger_brief(dataset, s->arena, "state=TX", 2, &record, &brief), RECLOSER_IO);
		assert_int_equal(ledger_newest(dataset, s->arena, "state=TX", &record, &whole), RECLOSER_IO);
		assert_string_equal(brief.code, whole.code);
		assert_non_null(strstr(brief.where, "00000002.json"));
	}
}

static void heads_are_sorted_by_their_bytes(void **state)
{
	struct state *s = *state;
	const struct batch many[] = {{"state=TX-1/month=2", "a"}, {"state=TX/month=10", "b"}, {"state=TX/month=2", "c"}}, again[] = {{"state=TX/month=2", "d"}};
	struct dataset *dataset;
	struct ledger_heads heads;
	struct strings names = {0};
	recloser_error error = {0};
	load(s, "r1", many, 3);
	load(s, "r2", again, 1);
	assert_int_equal(dataset_open(s->arena, s->fs, root, "queue", &dataset, &error), RECLOSER_OK);
	assert_int_equal(ledger_heads(dataset, s->arena, &heads, &error), RECLOSER_OK);
	assert_int_equal(ledger_partitions(dataset, s->arena, &names, &error), RECLOSER_OK);
	assert_int_equal(heads.count, 3);
	assert_int_equal(names.count, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(heads.at[i].partition, many[i].partition);
		assert_string_equal(names.at[i], many[i].partition);
		assert_int_equal(heads.at[i].number, i == 2 ? 2 : 1);
	}
	/* What no record tells of is a stray; a file that has a record is looked at with it. */
	struct recovery found;
	fs_memory_put(s->fs, "lake/queue/state=TX/month=10/part.parquet", "other bytes");
	fs_memory_put(s->fs, "lake/queue/state=TX/month=2/notes.txt", "x");
	assert_int_equal(make_directory(dataset, s->arena, "lake/queue/state=OK/month=1", &error), RECLOSER_OK);
	fs_memory_put(s->fs, "lake/queue/state=OK/month=1/part.parquet", "y");
	assert_int_equal(recover_strays(dataset, s->arena, &heads, &found, &error), RECLOSER_OK);
	assert_int_equal(found.adoptable.count, 1);
	assert_string_equal(found.adoptable.at[0], "state=OK/month=1");
	assert_int_equal(found.foreign.count, 1);
	assert_string_equal(found.foreign.at[0], "state=TX/month=2/notes.txt");
	assert_int_equal(recover_look(dataset, s->arena, &found, &error), RECLOSER_OK);
	assert_int_equal(found.adoptable.count, 2);
	assert_string_equal(found.adoptable.at[1], "state=TX/month=10");
}

/* ---- what a file system lacks ---- */

static void works_without(void **state)
{
	struct state *s = *state;
	const struct fs_memory_lacks all[] = {
		{.hard_links = true},
		{.hard_links = true, .rename_new = true},
		{.locks = true},
		{.directory_sync = true, .syncfs = true},
		{.syncfs = true, .journal = true},
		{.hard_links = true, .locks = true, .syncfs = true, .journal = true, .directory_sync = true},
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		s->fs = fs_memory(s->arena, &all[i]);
		assert_int_equal(load(s, "r1", one, 1).status, RECLOSER_OK);
		fs_memory_put(s->fs, "lake/queue/state=TX/part.parquet", "foreign");
		assert_int_equal(load(s, "r2", two, 1).status, RECLOSER_OK);
		assert_int_equal(load(s, "r3", two, 1).entries[0].outcome, ENTRY_UNCHANGED);
		assert_string_equal(record_at(s, "state=TX", 2)->kind, "adopted");
		assert_live(s, "state=TX", "two");
		assert_sound(s);
	}
}

static void nothing_exclusive_is_refused(void **state)
{
	struct state *s = *state;
	struct fs_memory_lacks lacks = {.hard_links = true, .rename_new = true, .locks = true};
	s->fs = fs_memory(s->arena, &lacks);
	struct outcome out = load(s, "r1", one, 1);
	assert_int_equal(out.status, RECLOSER_IO);
	assert_string_equal(out.error.code, "store.unsafe");
}

static void guarantees_are_told(void **state)
{
	struct state *s = *state;
	struct fs_memory_lacks lacks = {.hard_links = true};
	struct dataset *dataset;
	json_t *told;
	recloser_error error = {0};
	s->fs = fs_memory(s->arena, &lacks);
	load(s, "r1", one, 1);
	struct fs_recording recording;
	assert_int_equal(dataset_open(s->arena, fs_recording(s->arena, s->fs, &recording), root, "queue", &dataset, &error),
					 RECLOSER_OK);
	assert_int_equal(dataset_guarantees(dataset, s->arena, &told, &error), RECLOSER_OK);
	assert_false(json_get_bool(told, "hard_links", true));
	assert_true(json_get_bool(told, "rename_new", false));
	assert_int_equal(json_array_size(json_object_get(told, "sentences")), 1);
	assert_int_equal(recording.counts[CALL_LINK], 0); /* from the cache */
}

static int fail_links(void *arg, enum fs_call call, const char *path, const char *to)
{
	(void)path;
	(void)to;
	return call == CALL_LINK ? *(int *)arg : 0;
}

/* A full disk is no answer to "are there hard links?", and is not remembered as one. EPERM is. */
static void a_failed_trial_is_not_remembered(void **state)
{
	struct state *s = *state;
	int number = ENOSPC;
	struct fs_hook hook = {&number, fail_links, NULL};
	struct outcome out;
	run_batches(fs_wrap(s->arena, s->fs, &hook), s->arena, root, "r1", one, 1, NULL, &out);
	assert_int_equal(out.status, RECLOSER_IO);
	assert_string_equal(out.error.code, "store.probe");
	assert_int_equal(load(s, "r2", one, 1).status, RECLOSER_OK);
	s->fs = fs_memory(s->arena, NULL);
	number = EPERM;
	run_batches(fs_wrap(s->arena, s->fs, &hook), s->arena, root, "r1", one, 1, NULL, &out);
	assert_int_equal(out.status, RECLOSER_OK);
	assert_sound(s);
}

static void other_mounts_are_refused_before_anything_changes(void **state)
{
	struct state *s = *state;
	const char *mounts[] = {"lake/queue", "lake/_recloser", "lake/queue/state=TX", "lake/_recloser/queue/archive"};
	for (size_t i = 0; i < sizeof mounts / sizeof *mounts; i++) {
		s->fs = fs_memory(s->arena, NULL);
		fs_memory_put(s->fs, arena_printf(s->arena, "%s/.keep", mounts[i]), "");
		fs_memory_mount(s->fs, mounts[i], i % 2 == 1);
		struct outcome out = load(s, "r1", one, 1);
		assert_int_equal(out.status, RECLOSER_IO);
		assert_string_equal(out.error.code, "store.other_file_system");
		assert_null(live_content(s->fs, s->arena, root, "state=TX"));
	}
}

static void long_names_are_refused(void **state)
{
	struct state *s = *state;
	char value[300];
	memset(value, 'x', sizeof value - 1);
	value[sizeof value - 1] = '\0';
	const struct batch batch[] = {{arena_printf(s->arena, "state=%s", value), "one"}};
	struct outcome out = load(s, "r1", batch, 1);
	assert_int_equal(out.status, RECLOSER_IO);
	assert_string_equal(out.error.code, "store.name_too_long");
}

static void case_clash_is_refused_where_case_folds(void **state)
{
	struct state *s = *state;
	struct fs_memory_lacks lacks = {.case_sensitive = true};
	const struct batch lower[] = {{"state=tx", "two"}};
	load(s, "r1", one, 1);
	assert_int_equal(load(s, "r2", lower, 1).status, RECLOSER_OK);
	s->fs = fs_memory(s->arena, &lacks);
	load(s, "r1", one, 1);
	struct outcome out = load(s, "r2", lower, 1);
	assert_int_equal(out.status, RECLOSER_REFUSED);
	assert_string_equal(out.error.code, "partition.case");
	assert_live(s, "state=TX", "one");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(new_then_replaced),
		TEST(two_partitions_one_unchanged),
		TEST(all_unchanged_decides_nothing),
		TEST(unpartitioned),
		TEST(dataset_json_comes_with_the_first_commit),
		TEST(newer_format_is_refused),
		TEST(time_does_not_run_backwards),
		TEST(three_syncs_for_any_number),
		TEST(one_by_one_without_syncfs),
		TEST(the_later_one_is_the_next_version),
		TEST(lock_names_its_holder),
		TEST(taken_number_is_tried_again),
		TEST(taken_three_times_is_a_conflict),
		TEST(guards_are_asked_only_when_the_base_moved),
		TEST(guards_may_refuse_or_leave_out),
		TEST(foreign_bytes_are_adopted_first),
		TEST(a_tree_without_a_ledger_is_adopted),
		TEST(neighbours_are_reported_and_left_alone),
		TEST(a_copied_tree_is_sound_and_remembered),
		TEST(a_missing_file_is_reported_and_replaced),
		TEST(restored_is_a_new_version),
		TEST(a_brief_record_is_the_newest),
		TEST(a_broken_record_is_told),
		TEST(heads_are_sorted_by_their_bytes),
		TEST(works_without),
		TEST(nothing_exclusive_is_refused),
		TEST(guarantees_are_told),
		TEST(a_failed_trial_is_not_remembered),
		TEST(other_mounts_are_refused_before_anything_changes),
		TEST(long_names_are_refused),
		TEST(case_clash_is_refused_where_case_folds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
