/* SPDX-License-Identifier: Apache-2.0
 * The commit protocol on an object store: what a load leaves when a process dies between any two requests, when an answer is
 * lost, when a PUT acts long after its sender has gone, and when two writers meet at any two requests. The part files are
 * any bytes, since the commit layer never looks into them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "bucket_memory.h"
#include "commit/object.h"

static const char partition[] = "state=TX";
static const char live_key[] = "queue/state=TX/part.parquet";
static unsigned runs; /* run ids are unique */
static size_t page;   /* of the stores that tests make: 0, the ledger is listed whole; 1, it is too large for that */

struct loaded {
	recloser_status status;
	recloser_error error;
	struct entry entry;
	unsigned requests;
};

static recloser_status stage(struct arena *arena, struct staging *staging, struct dataset *dataset, const char *content,
							 struct entry *entry, recloser_error *error)
{
	const char *path;
	struct record *base;
	enum live_state state;
	RC_TRY(staging_file(staging, partition, &path, error));
	FILE *file = fopen(path, "wb");
	assert_non_null(file);
	fputs(content, file);
	fclose(file);
	const char *content_fingerprint = arena_printf(arena, "test:%s", content), *live;
	RC_TRY(staging_hold(staging, partition, error));
	live_expect(dataset, partition, content_fingerprint);
	RC_TRY(ledger_newest(dataset, arena, partition, &base, error));
	RC_TRY(live_state(dataset, arena, partition, base, &state, error));
	if (base && state == LIVE_SOUND &&
		(!base->content_fingerprint || strcmp(base->content_fingerprint, content_fingerprint) != 0))
		RC_TRY(version_file(dataset, arena, base, &live, error)); /* which the guards read */
	*entry = (struct entry){
		.partition = partition, .kind = "version", .bytes = strlen(content), .base_seen = base ? base->seq : 0};
	sha256_of(content, strlen(content), entry->sha256);
	entry->content_fingerprint = content_fingerprint;
	entry->record = json_new_object(arena);
	json_put_int(arena, entry->record, "rows_in", 3);
	return RECLOSER_OK;
}

static json_t *config_of(struct arena *arena)
{
	json_t *config = json_new_object(arena);
	json_put_int(arena, config, "format_version", DATASET_FORMAT_VERSION);
	return config;
}

static recloser_status open_dataset(struct arena *arena, struct memory_store *store, struct memory_faults *faults,
									struct dataset **out, recloser_error *error)
{
	struct bucket_retry_options quick = {3, 1e-5};
	struct bucket *bucket = bucket_retry(arena, bucket_memory(arena, store, faults), &quick);
	return dataset_open_bucket(arena, fs_posix(arena), bucket, NULL, "s3://lake", "queue", out, error);
}

/* What a load puts in the place of its plan. */
static recloser_status write_report(struct dataset *dataset, struct arena *arena, const char *run, const struct entry *entry,
									recloser_error *error)
{
	const char *text = arena_printf(
		arena,
		"{\"run\": \"%s\", \"partitions\": [{\"partition\": \"%s\", \"outcome\": \"%s\", \"seq\": %d, \"sha256\": \"%s\"}]}",
		run, entry->partition, entry->outcome == ENTRY_NEW ? "new" : "replaced", (int)entry->seq, entry->sha256);
	return control_write(dataset, arena, arena_printf(arena, "runs/%s.json", run), text, strlen(text), error);
}

static recloser_status steps(struct arena *arena, struct memory_store *store, const char *content,
							 struct memory_faults *faults, struct loaded *out)
{
	struct dataset *dataset;
	struct staging *staging;
	struct recovery recovery;
	struct commit_report report;
	struct commit_options options = {0};
	RC_TRY(open_dataset(arena, store, faults, &dataset, &out->error));
	RC_TRY(recover(dataset, arena, false, &recovery, &out->error));
	RC_TRY(staging_begin(dataset, arena, arena_printf(arena, "run-%u", ++runs), &staging, &out->error));
	RC_TRY(stage(arena, staging, dataset, content, &out->entry, &out->error));
	options.config = dataset->config ? NULL : config_of(arena);
	options.reported = true;
	const char *run = staging->run;
	recloser_status status = commit_run(staging, arena, &out->entry, 1, &options, &report, &out->error);
	if (status == RECLOSER_OK && out->entry.outcome != ENTRY_UNCHANGED)
		status = write_report(dataset, arena, run, &out->entry, &out->error);
	dataset_keep(dataset, arena);
	return status;
}

/* One load of one partition, as the program does it. */
static struct loaded load(struct memory_store *store, const char *content, struct memory_faults *faults)
{
	struct memory_faults none = {0};
	struct loaded out = {0};
	struct arena *arena = arena_new(NULL);
	if (!faults)
		faults = &none;
	out.status = steps(arena, store, content, faults, &out);
	out.requests = faults->sent;
	arena_free(arena);
	out.entry.record = NULL;
	return out;
}

static void must_load(struct memory_store *store, const char *content)
{
	struct loaded done = load(store, content, NULL);
	if (done.status != RECLOSER_OK)
		fail_msg("load of %s: %d %s (%s)", content, (int)done.status, done.error.what, done.error.where);
}

/* ---- what must hold ---- */

static bool kept_somewhere(const struct memory_store *store, const char *content)
{
	const struct memory_object *live = memory_find(store, live_key);
	if (live && strcmp(live->bytes, content) == 0)
		return true;
	for (size_t i = 0; i < store->count; i++)
		if (store->objects[i].there && strstr(store->objects[i].key, "/archive/") &&
			strcmp(store->objects[i].bytes, content) == 0)
			return true;
	return false;
}

/* The contents that were live, in their order, are those of the records 1, 2, 3 ..., and each is archived or live; `lost` is
 * the number of one that another program has overwritten, or 0. */
static void check_but(struct memory_store *store, size_t lost, const char *story)
{
	struct arena *arena = arena_new(NULL);
	struct dataset *dataset;
	struct recovery recovery;
	recloser_error error = {0};
	assert_int_equal(open_dataset(arena, store, NULL, &dataset, &error), RECLOSER_OK);
	assert_int_equal(recover(dataset, arena, true, &recovery, &error), RECLOSER_OK);
	if (recovery.foreign.count || recovery.missing.count || recovery.adoptable.count)
		fail_msg("%s: something unexplained is left", story);
	for (size_t i = 0; i < store->live_count; i++) {
		const char *content = strchr(store->live[i], ' ') + 1, *file;
		char sha256[SHA256_HEX];
		struct record *record;
		sha256_of(content, strlen(content), sha256);
		assert_int_equal(ledger_read(dataset, arena, partition, (int64_t)i + 1, &record, &error), RECLOSER_OK);
		if (!record)
			fail_msg("%s: version %zu (%s) has no record", story, i + 1, content);
		if (strcmp(record->sha256, sha256) != 0)
			fail_msg("%s: record %zu is not of %s", story, i + 1, content);
		if (i + 1 == lost)
			continue;
		if (!kept_somewhere(store, content))
			fail_msg("%s: version %zu (%s) is lost", story, i + 1, content);
		if (version_file(dataset, arena, record, &file, &error) != RECLOSER_OK)
			fail_msg("%s: version %zu can't be had: %s", story, i + 1, error.what);
	}
	struct record *more;
	assert_int_equal(ledger_read(dataset, arena, partition, (int64_t)store->live_count + 1, &more, &error), RECLOSER_OK);
	if (more)
		fail_msg("%s: record %zu is of a version that never was live", story, store->live_count + 1);
	arena_free(arena);
}

static void check(struct memory_store *store, const char *story)
{
	check_but(store, 0, story);
}

static void assert_live(struct memory_store *store, const char *content)
{
	const struct memory_object *live = memory_find(store, live_key);
	assert_non_null(live);
	assert_string_equal(live->bytes, content);
}

static size_t count_of(const struct memory_store *store, const char *part)
{
	size_t count = 0;
	for (size_t i = 0; i < store->count; i++)
		count += store->objects[i].there && strstr(store->objects[i].key, part);
	return count;
}

static size_t open_plans(const struct memory_store *store)
{
	size_t count = 0;
	for (size_t i = 0; i < store->count; i++)
		count += store->objects[i].there && strstr(store->objects[i].key, "/runs/") &&
				 strstr(store->objects[i].bytes, "\"entries\"");
	return count;
}

/* A store in which versions "one" .. of these were loaded; the probe's result is cached. */
static struct memory_store *empty_store(struct arena *arena)
{
	struct memory_store *store = memory_store(arena);
	store->page = page;
	return store;
}

static struct memory_store *store_with(struct arena *arena, const char *const *contents)
{
	struct memory_store *store = empty_store(arena);
	for (; *contents; contents++)
		must_load(store, *contents);
	return store;
}
#define STORE(arena, ...) store_with(arena, (const char *const[]){__VA_ARGS__, NULL})

/* ---- plain loads ---- */

static void test_versions(void **state)
{
	struct arena *arena = arena_new(NULL);
	struct memory_store *store = STORE(arena, "one", "two", "three");
	(void)state;
	assert_live(store, "three");
	check(store, "three loads");
	struct loaded same = load(store, "three", NULL);
	assert_int_equal(same.status, RECLOSER_OK);
	assert_int_equal(same.entry.outcome, ENTRY_UNCHANGED);
	assert_int_equal(same.entry.seq, 3);
	assert_int_equal(store->live_count, 3);
	must_load(store, "one"); /* the bytes of version 1 again are version 4 */
	assert_int_equal(store->live_count, 4);
	check(store, "back to the first bytes");
	assert_int_equal(open_plans(store), 0);
	assert_int_equal(count_of(store, "/archive/"), 3);
	arena_free(arena);
}

/* known.json, the ledger; what is live, its copy, the new one, read back, recorded; and the run's plan, report, known.json.
 */
static void test_requests(void **state)
{
	enum { OPEN = 2, RUN = 3 };
	struct arena *arena = arena_new(NULL);
	struct memory_store *store = STORE(arena, "one");
	(void)state;
	struct loaded replaced = load(store, "two", NULL);
	assert_int_equal(replaced.requests, OPEN + 5 + RUN);
	struct loaded unchanged = load(store, "two", NULL);
	assert_int_equal(unchanged.requests, OPEN + 1);
	/* A ledger of more than a page, which is found out by one more request: known.json tells what is live. */
	store->page = 1;
	replaced = load(store, "three", NULL);
	assert_int_equal(replaced.requests, OPEN + 5 + RUN);
	unchanged = load(store, "three", NULL);
	assert_int_equal(unchanged.requests, OPEN + 1);
	arena_free(arena);
}

static void test_first_requests(void **state)
{
	struct arena *arena = arena_new(NULL);
	struct memory_store *store = memory_store(arena);
	(void)state;
	struct loaded probing = load(store, "one", NULL);
	store = STORE(arena, "other");
	assert_int_equal(probing.status, RECLOSER_OK);
	/* known.json, dataset.json; the probe: looked for, 3 conditions, 3 HEADs of its races (which are not counted here),
	 * checksum, copy, list, 4 removals, list, kept; the ledger; 3 the partition; dataset.json; 3 as above. */
	assert_int_equal(probing.requests, 2 + 1 + 3 + 3 + 1 + 1 + 1 + 4 + 1 + 1 + 1 + 3 + 1 + 3);
	arena_free(arena);
}

static void test_foreign(void **state)
{
	struct arena *arena = arena_new(NULL);
	struct memory_store *store = STORE(arena, "one");
	(void)state;
	memory_put(store, live_key, "by hand");
	must_load(store, "two");
	assert_live(store, "two");
	assert_int_equal(store->live_count, 3);
	check_but(store, 1, "a foreign object is adopted"); /* it overwrote version 1, which nobody could archive */
	struct memory_store *other = memory_store(arena);
	memory_put(other, live_key, "by hand"); /* before anything was loaded */
	struct loaded same = load(other, "by hand", NULL);
	assert_int_equal(same.status, RECLOSER_OK);
	assert_int_equal(same.entry.seq, 1); /* as announced, whoever put it */
	check(other, "equal to a foreign object");
	struct memory_store *third = memory_store(arena);
	memory_put(third, live_key, "by hand");
	must_load(third, "one");
	assert_live(third, "one");
	assert_int_equal(third->live_count, 2);
	check(third, "a foreign object before anything was loaded");
	arena_free(arena);
}

static void test_gone(void **state)
{
	struct arena *arena = arena_new(NULL);
	struct memory_store *store = STORE(arena, "one", "two");
	(void)state;
	for (size_t i = 0; i < store->count; i++)
		if (strcmp(store->objects[i].key, live_key) == 0)
			store->objects[i].there = false;
	must_load(store, "two");
	assert_live(store, "two");
	arena_free(arena);
}

static void test_copy_variants(void **state)
{
	struct arena *arena = arena_new(NULL);
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct memory_store *store = memory_store(arena);
		store->no_copy = i == 0;
		store->other_copy_tokens = i == 1;
		must_load(store, "one");
		must_load(store, "two");
		check(store, i ? "tokens of copies differ" : "no copy in the store");
	}
	arena_free(arena);
}

/* Nothing but the listing tells then. */
static void forget_known(struct memory_store *store)
{
	for (size_t i = 0; i < store->count; i++)
		if (strstr(store->objects[i].key, "known.json"))
			store->objects[i].there = false;
}

static void test_stale_listing(void **state)
{
	struct arena *arena = arena_new(NULL);
	struct memory_store *store = STORE(arena, "one", "two");
	(void)state;
	forget_known(store);
	store->list_lag = 1;
	must_load(store, "three");
	forget_known(store);
	store->list_lag = 5;
	must_load(store, "four");
	forget_known(store);
	must_load(store, "one"); /* as it was before, which no listing tells */
	assert_live(store, "one");
	assert_int_equal(store->live_count, 5);
	store->list_lag = 0;
	check(store, "listings that lag");
	arena_free(arena);
}

static const char *known_of(const struct memory_store *store)
{
	for (size_t i = 0; i < store->count; i++)
		if (strstr(store->objects[i].key, "known.json"))
			return store->objects[i].bytes;
	return "";
}

/* After a load that was to die at request n: the next one ends well, and all is there once. True: the first needed no more
 * requests than that. */
static bool lives_on(struct memory_store *store, const char *again, const char *story, const struct loaded *dead, unsigned n)
{
	must_load(store, again);
	assert_live(store, again);
	check(store, story);
	if (dead->requests > n)
		return false;
	assert_int_equal(dead->status, RECLOSER_OK);
	return true;
}

/* known.json of long ago, which by chance names what is live again: versions 1 and 3 have the same bytes. */
static void test_old_known(void **state)
{
	(void)state;
	for (unsigned n = 1;; n++) {
		struct arena *arena = arena_new(NULL);
		struct memory_store *store = STORE(arena, "one");
		const char *old = known_of(store);
		must_load(store, "two");
		must_load(store, "one");
		memory_put(store, "_recloser/queue/known.json", old);
		struct memory_faults faults = {.stop_after = n};
		struct loaded dead = load(store, "four", &faults);
		const char *story = arena_printf(arena, "known.json of version 1, dead after %u requests", n);
		memory_put(store, "_recloser/queue/known.json", old);
		bool ended = lives_on(store, "four", story, &dead, n);
		arena_free(arena);
		if (ended)
			break;
	}
}

static void test_unsafe(void **state)
{
	struct arena *arena = arena_new(NULL);
	struct memory_store *store = memory_store(arena);
	(void)state;
	store->no_conditions = true;
	struct loaded refused = load(store, "one", NULL);
	assert_int_equal(refused.status, RECLOSER_IO);
	assert_string_equal(refused.error.code, "store.unsafe");
	assert_non_null(strstr(refused.error.what, "If-Match"));
	assert_non_null(strstr(refused.error.hint, "single_writer"));
	assert_int_equal(count_of(store, "queue/"), 0); /* the probe took its objects away, and nothing else was written */
	arena_free(arena);
}

/* ---- death between any two requests ---- */

static void kill_everywhere(const char *first, const char *again)
{
	for (unsigned n = 1;; n++) {
		struct arena *arena = arena_new(NULL);
		struct memory_store *store = first ? STORE(arena, first) : empty_store(arena);
		struct memory_faults faults = {.stop_after = n};
		struct loaded dead = load(store, "two", &faults);
		const char *story = arena_printf(arena, "dead after %u requests, then %s", n, again);
		bool ended = lives_on(store, again, story, &dead, n);
		arena_free(arena);
		if (ended)
			break;
	}
}

static void test_death(void **state)
{
	(void)state;
	kill_everywhere("one", "two");
	kill_everywhere("one", "three");
	kill_everywhere("one", "one");
	kill_everywhere(NULL, "two");
	kill_everywhere(NULL, "three");
}

/* ---- answers that do not come ---- */

static void fault_everywhere(enum memory_fault kind)
{
	for (unsigned n = 1;; n++) {
		struct arena *arena = arena_new(NULL);
		struct memory_store *store = STORE(arena, "one");
		store->blind_copies = true;
		struct memory_faults faults = {.at = n, .kind = kind};
		struct loaded done = load(store, "two", &faults);
		if (done.status != RECLOSER_OK)
			fail_msg("fault %d at request %u: %d %s", (int)kind, n, (int)done.status, done.error.what);
		assert_live(store, "two");
		check(store, arena_printf(arena, "fault %d at request %u", (int)kind, n));
		memory_act_late(store);
		if (open_plans(store))
			fail_msg("fault %d at request %u: a plan took the place of its report", (int)kind, n);
		check(store, arena_printf(arena, "late, request %u", n));
		must_load(store, "three");
		check(store, arena_printf(arena, "late, then the next load; request %u", n));
		unsigned sent = done.requests;
		arena_free(arena);
		if (n >= sent)
			break;
	}
}

static void test_lost_answers(void **state)
{
	(void)state;
	fault_everywhere(FAULT_LOSE_ANSWER);
	fault_everywhere(FAULT_DROP);
	fault_everywhere(FAULT_BUSY);
	fault_everywhere(FAULT_LATE);
}

/* The sender of a PUT dies, others go on, and then it acts, or does not, as its condition says. */
static void test_late_put(void **state)
{
	static const char *const stories[][4] = {
		{"three", NULL}, {"three", "one", NULL}, {"one", NULL}, {"three", "one", "four", NULL}};
	(void)state;
	for (size_t i = 0; i < sizeof stories / sizeof *stories; i++) {
		struct arena *arena = arena_new(NULL);
		struct memory_store *store = STORE(arena, "one");
		struct memory_faults faults = {.at = 1, .kind = FAULT_LATE, .puts_only = true, .stop_after = 1};
		(void)load(store, "two", &faults); /* its second PUT is refused: dead */
		assert_int_equal(store->late_count, 1);
		for (const char *const *content = stories[i]; *content; content++)
			must_load(store, *content);
		memory_act_late(store); /* where "one" is live again, it lands, and is the next version */
		must_load(store, "five");
		check(store, arena_printf(arena, "a late PUT, story %zu", i));
		arena_free(arena);
	}
}

/* ---- two writers ---- */

struct meeting {
	struct memory_store *store;
	unsigned at, stop_after;
	const char *content;
	bool met;
	struct loaded second;
};

static void meet(void *arg, unsigned request)
{
	struct meeting *meeting = arg;
	if (meeting->met || request != meeting->at)
		return;
	meeting->met = true;
	struct memory_faults faults = {.stop_after = meeting->stop_after};
	meeting->second = load(meeting->store, meeting->content, &faults);
}

/* The second writer runs before request `at` of the first, whole or until it dies. */
static unsigned two_writers(unsigned at, unsigned stop_after, const char *content, bool old, unsigned *second_requests)
{
	struct arena *arena = arena_new(NULL);
	struct memory_store *store = STORE(arena, "zero");
	const char *known = known_of(store);
	must_load(store, "one");
	if (old) /* both begin with what was known before */
		memory_put(store, "_recloser/queue/known.json", known);
	struct meeting meeting = {.store = store, .at = at, .stop_after = stop_after, .content = content};
	struct memory_faults faults = {.before = meet, .arg = &meeting};
	struct loaded first = load(store, "two", &faults);
	const char *story = arena_printf(arena, "meeting at %u, second (%s) ends at %u", at, content, stop_after);
	if (first.status != RECLOSER_OK && first.status != RECLOSER_CONFLICT)
		fail_msg("%s: %d %s", story, (int)first.status, first.error.what);
	if (meeting.met && stop_after == 0 && meeting.second.status != RECLOSER_OK)
		fail_msg("%s: the second: %d %s", story, (int)meeting.second.status, meeting.second.error.what);
	check(store, story);
	if (first.status == RECLOSER_OK) { /* what was called loaded is in the ledger */
		bool found = false;
		for (size_t i = 0; i < store->live_count; i++)
			found |= strcmp(strchr(store->live[i], ' ') + 1, "two") == 0;
		assert_true(found);
	}
	if (second_requests)
		*second_requests = meeting.second.requests;
	unsigned requests = meeting.met ? first.requests : 0;
	arena_free(arena);
	return requests;
}

struct put_back {
	struct memory_store *store;
	unsigned after;
};

/* Another program overwrites the live object and puts it back. */
static void put_back(void *arg, unsigned request)
{
	const struct put_back *story = arg;
	if (request == story->after + 1)
		memory_put(story->store, live_key, "other");
	if (request == story->after + 2)
		memory_put(story->store, live_key, "one");
}

/* A copy that does not answer and acts when all is over must not act on what was archived since, also where the store does not look
 * at a copy's condition and the same version was archived twice: a name is for one request. */
static void test_late_copy(void **state)
{
	(void)state;
	for (unsigned n = 1, sent = 1; n <= sent; n++) {
		struct arena *arena = arena_new(NULL);
		struct memory_store *store = STORE(arena, "one");
		store->blind_copies = true;
		struct put_back story = {store, n};
		struct memory_faults faults = {.at = n, .kind = FAULT_LATE, .before = put_back, .arg = &story};
		sent = load(store, "two", &faults).requests;
		memory_act_late(store);
		if (!kept_somewhere(store, "one"))
			fail_msg("request %u late: the first version is lost", n);
		arena_free(arena);
	}
}

static void test_two_writers(void **state)
{
	static const char *const contents[] = {"three", "two", "one"};
	(void)state;
	for (size_t c = 0; c < 3; c++)
		for (unsigned at = 1, old = 0; old < 2; at++) {
			unsigned second;
			if (two_writers(at, 0, contents[c], old, &second) == 0) {
				at = 0;
				old++;
				continue;
			}
			for (unsigned stop = 1; stop < second; stop++)
				(void)two_writers(at, stop, contents[c], old, NULL);
		}
}

/* ---- records that are gone ---- */

static void lose(struct memory_store *store, const char *part)
{
	for (size_t i = 0; i < store->count; i++)
		if (strstr(store->objects[i].key, part))
			store->objects[i].there = false;
}

static void refused_as_lost(struct memory_store *store, const char *story)
{
	size_t lives = store->live_count;
	struct loaded refused = load(store, "five", NULL);
	if (refused.status != RECLOSER_IO || strcmp(refused.error.code, "ledger.lost") != 0)
		fail_msg("%s: %d %s", story, (int)refused.status, refused.error.what);
	assert_non_null(strstr(refused.error.hint, "recover --rebuild"));
	assert_int_equal(store->live_count, lives);
	assert_int_equal(open_plans(store), 0);
}

static void rebuild(struct memory_store *store)
{
	struct arena *arena = arena_new(NULL);
	struct dataset *dataset;
	struct recovery recovery;
	recloser_error error = {0};
	assert_int_equal(open_dataset(arena, store, NULL, &dataset, &error), RECLOSER_OK);
	assert_int_equal(recover_rebuild(dataset, arena, &recovery, &error), RECLOSER_OK);
	arena_free(arena);
}

static void test_lost_records(void **state)
{
	static const char *const gone[] = {"/ledger/state=TX/00000003.json", "/ledger/state=TX/00000002.json",
									   "/ledger/state=TX/00000001.json", "/ledger/"};
	(void)state;
	for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
		for (int cached = 1; cached >= 0; cached--) {
			struct arena *arena = arena_new(NULL);
			struct memory_store *store = STORE(arena, "one", "two", "three");
			if (i == 3 && !cached)
				continue; /* nothing tells of them but reports, which a load looks at only for what is live */
			if (!cached)
				forget_known(store);
			lose(store, gone[i]);
			refused_as_lost(store, arena_printf(arena, "%s, %s", gone[i], cached ? "known" : "not known"));
			rebuild(store);
			must_load(store, "five");
			check(store, gone[i]);
			arena_free(arena);
		}
}

/* Where the ledger is too large to be listed: what known.json does not vouch for. */
static void test_lost_record_of_many(void **state)
{
	struct arena *arena = arena_new(NULL);
	struct memory_store *store = STORE(arena, "one", "two", "three");
	(void)state;
	store->page = 1;
	forget_known(store);
	lose(store, "/ledger/state=TX/00000003.json");
	refused_as_lost(store, "the newest");
	rebuild(store);
	must_load(store, "five");
	check(store, "the newest of many");
	arena_free(arena);
}

static int small(void **state)
{
	(void)state;
	page = 0;
	return 0;
}

static int large(void **state)
{
	(void)state;
	page = 1;
	return 0;
}

int main(void)
{
	const struct CMUnitTest many[] = {
		cmocka_unit_test(test_versions),      cmocka_unit_test(test_foreign),       cmocka_unit_test(test_gone),
		cmocka_unit_test(test_copy_variants), cmocka_unit_test(test_stale_listing), cmocka_unit_test(test_death),
		cmocka_unit_test(test_lost_answers),  cmocka_unit_test(test_late_put),      cmocka_unit_test(test_two_writers),
		cmocka_unit_test(test_late_copy),
		cmocka_unit_test(test_old_known),
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions),       cmocka_unit_test(test_requests),
		cmocka_unit_test(test_first_requests), cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_gone),           cmocka_unit_test(test_copy_variants),
		cmocka_unit_test(test_unsafe),         cmocka_unit_test(test_stale_listing),
		cmocka_unit_test(test_death),          cmocka_unit_test(test_lost_answers),
		cmocka_unit_test(test_late_put),       cmocka_unit_test(test_two_writers),
		cmocka_unit_test(test_late_copy),
		cmocka_unit_test(test_lost_records),   cmocka_unit_test(test_lost_record_of_many),
		cmocka_unit_test(test_old_known),
	};
	return cmocka_run_group_tests_name("a ledger of one page", tests, small, NULL) +
		   cmocka_run_group_tests_name("a larger one", many, large, NULL);
}
