/* SPDX-License-Identifier: Apache-2.0
 * The commit protocol on an object store. docs/protocol.md maps each step to code, model and tests; model/store.pml checks
 * it.
 *
 * What it must survive. Processes may be killed or stopped at any instruction. A request may fail, or its answer be lost, or
 * act at any later time, also after its sender has died. Two writers may work at once. Other programs may replace live
 * objects. The store makes conditional puts in one step, and its reads see the last write.
 *
 * What it keeps. The conditional PUT of the live object decides, partition by partition; a dead writer blocks nobody.
 * Nobody replaces live bytes that have no record and no verified archived copy, so nothing that was ever live is lost.
 *
 *   1   stage and verify, locally                                                                          object_staging.c
 *   2   settle: newest record n (a LIST, of the whole ledger while a page has it, or known.json where that names what is
 *       live); HEAD live = e; live is not n: create record n+1 from the plan                                object_settle.c
 *       with these bytes on base n; or first a record for the base that a plan names; or as adopted
 *   3   archive: copy live to a name of this run's own, and look at the copy: not n: back to 2
 *   4   PUT the plan as runs/<run>.json: base and archived base of every partition                        object_plan.c
 *   5   PUT live, If-Match e or If-None-Match: *; the decision
 *   6   whatever the answer: read back; create record n+1; not ours any more, or no answer: settle, and see whether a record
 *       after the base has these bytes
 *   7   all settled: the caller PUTs the report over the plan (a run without one DELETEs it); one's own archive copy goes
 *       only after a plain refusal of the only PUT that was sent
 *
 * Step 2 was done when the guards looked, and is done again only when a PUT is refused: its condition holds for exactly the
 * bytes that the guards saw. Where the guards are going to read those bytes a GET takes the place of the HEAD; where there
 * is no record nothing is asked, since "nothing is there" is what the condition of the PUT is for (object_look_expecting).
 */
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "commit/object.h"

enum { ATTEMPTS = 3 };

/* One partition on its way. */
struct going {
	struct entry *entry;
	struct object_part *part;
	struct bucket_body body;
	struct record *base; /* NULL: none */
	char base_token[BUCKET_TOKEN];
	bool base_there;     /* the base is live, not only recorded */
	bool presumed;       /* "no base" is what a listing said, and nobody has looked */
	const char *archive; /* of the base, relative to control; NULL: nothing to archive */
	json_t *planned;     /* its entry in the plan */
	unsigned sent, copies;
	bool prepared, done, doubtful; /* doubtful: a PUT may still act */
};

struct committing {
	struct dataset *dataset;
	struct staging *staging;
	struct arena *arena;
	const struct commit_options *options;
	struct commit_report *report;
	struct object_adopt adopt;
	struct going *at;
	size_t count;
	struct object_plan *plan;
	struct strings needless; /* archived copies of PUTs that were refused */
	bool put_any;            /* at least one PUT of a live object was sent */
};

/* ---- steps 2 and 3 ---- */

static bool equal(const char *one, const char *other)
{
	return one && other && strcmp(one, other) == 0;
}

static recloser_status judge(struct committing *c, struct going *going, recloser_error *error)
{
	struct entry *entry = going->entry;
	const struct record *base = going->base;
	bool seen = base ? entry->base_seen == base->seq || equal(entry->base_sha256, base->sha256) : entry->base_seen == 0;
	if (base && going->base_there &&
		(equal(entry->sha256, base->sha256) || equal(entry->content_fingerprint, base->content_fingerprint))) {
		entry->outcome = ENTRY_UNCHANGED;
		entry->seq = base->seq;
		return RECLOSER_OK;
	}
	if (!seen && c->options->look_again)
		return c->options->look_again(c->options->arg, entry, base, error);
	return RECLOSER_OK;
}

/* Where the store has no copy of its own: through here, and under the digest of what was read. */
static enum bucket_answer copy_through(struct committing *c, struct going *going, const char *to, struct bucket_found *found,
									   recloser_error *error)
{
	struct bucket *bucket = c->dataset->bucket;
	struct bucket_body body;
	bool moved;
	if (object_download(c->dataset, going->part, &moved, error) != RECLOSER_OK)
		return BUCKET_FAILED;
	if (moved)
		return BUCKET_LOST;
	if (bucket_body_file(&body, going->part->file, error) != RECLOSER_OK)
		return BUCKET_FAILED;
	enum bucket_answer answer = bucket->ops->put(bucket, to, &body, BUCKET_ALWAYS, NULL, found, error);
	if (answer == BUCKET_DONE && strcmp(body.sha256, going->base->sha256) != 0)
		return BUCKET_LOST;
	if (answer == BUCKET_DONE) /* the digest went with the bytes: this is the base */
		memcpy(found->token, going->base_token, sizeof found->token);
	return answer;
}

/* Is the copy the base's bytes? By its token where the store makes tokens of bytes, else by reading it. */
static recloser_status check_copy(struct committing *c, struct going *going, const char *key,
								  const struct bucket_found *found, bool *right, recloser_error *error)
{
	struct bucket *bucket = c->dataset->bucket;
	struct bucket_sink sink = {.arena = c->arena, .file = "/dev/null"};
	*right = *found->token && strcmp(found->token, going->base_token) == 0;
	if (*right)
		return RECLOSER_OK;
	enum bucket_answer answer = bucket->ops->get(bucket, key, NULL, &sink, NULL, error);
	if (answer != BUCKET_DONE && answer != BUCKET_ABSENT)
		return object_failed(c->dataset, answer, "read", key, error);
	*right = answer == BUCKET_DONE && strcmp(sink.sha256, going->base->sha256) == 0;
	return RECLOSER_OK;
}

static recloser_status archive_base(struct committing *c, struct going *going, bool *again, recloser_error *error)
{
	struct bucket *bucket = c->dataset->bucket;
	struct bucket_found found = {{0}, 0, 0};
	bool right;
	*again = false;
	going->archive = NULL;
	if (!going->base_there)
		return RECLOSER_OK;
	/* A name is used for one request only, since that may act late. */
	const char *mark = going->copies++ ? arena_printf(c->arena, ".again%u", going->copies - 1) : "";
	const char *name = arena_printf(c->arena, "%s%s", object_archive_name(c->arena, going->base, c->staging->run), mark);
	const char *key = object_key(c->dataset, path_control(c->dataset, c->arena, name));
	const char *live = object_live_key(c->dataset, c->arena, going->entry->partition);
	enum bucket_answer answer = bucket->ops->copy ? bucket->ops->copy(bucket, live, going->base_token, key, &found, error)
												  : copy_through(c, going, key, &found, error);
	*again = answer == BUCKET_LOST || answer == BUCKET_LOOK || answer == BUCKET_ABSENT;
	if (*again)
		return RECLOSER_OK;
	if (answer != BUCKET_DONE)
		return object_failed(c->dataset, answer, "archive", live, error);
	name = bucket_copy_name(c->arena, name, found.turn);
	key = bucket_copy_name(c->arena, key, found.turn);
	RC_TRY(check_copy(c, going, key, &found, &right, error));
	*again = !right;
	going->archive = right ? name : NULL;
	return RECLOSER_OK;
}

static json_t *planned_base(struct committing *c, const struct going *going)
{
	const struct record *base = going->base;
	if (!base)
		return json_null();
	json_t *json = json_new_object(c->arena);
	json_put_int(c->arena, json, "seq", base->seq);
	json_put_text(c->arena, json, "sha256", base->sha256);
	json_put_int(c->arena, json, "bytes", (int64_t)base->bytes);
	json_put_text(c->arena, json, "etag", going->base_token);
	json_put_text(c->arena, json, "archive", going->archive);
	if (!going->base_there)
		json_put_bool(c->arena, json, "missing", true);
	return json;
}

static void plan_entry(struct committing *c, struct going *going)
{
	struct arena *arena = c->arena;
	const struct entry *entry = going->entry;
	json_t *planned = json_new_object(arena), *record = json_on(arena, json_deep_copy(entry->record));
	json_t *base = planned_base(c, going), *file = json_object_get(record, "file");
	char md5[33];
	const char *now = clock_text(arena, clock_now_us()), *previous = going->base ? going->base->loaded_at : NULL;
	going->entry->loaded_at = previous && strcmp(previous, now) > 0 ? previous : now; /* time never runs backwards here */
	if (!c->report->loaded_at || strcmp(going->entry->loaded_at, c->report->loaded_at) > 0)
		c->report->loaded_at = going->entry->loaded_at;
	if (!file)
		json_put(arena, record, "file", file = json_new_object(arena));
	json_put_text(arena, file, "sha256", entry->sha256);
	json_put_int(arena, file, "bytes", (int64_t)entry->bytes);
	json_put_text(arena, record, "partition", entry->partition);
	json_put_text(arena, record, "kind", entry->kind);
	json_put_text(arena, record, "run", c->staging->run);
	json_put_text(arena, record, "loaded_at", going->entry->loaded_at);
	json_put(arena, record, "base", base);
	json_put(arena, record, "earlier", object_earlier(arena, going->base));
	json_put_text(arena, record, "content_fingerprint", entry->content_fingerprint);
	hex_of(going->body.md5, sizeof going->body.md5, md5);
	json_put_text(arena, planned, "partition", entry->partition);
	json_put_text(arena, planned, "kind", entry->kind);
	json_put_text(arena, planned, "sha256", entry->sha256);
	json_put_text(arena, planned, "md5", md5);
	json_put_int(arena, planned, "bytes", (int64_t)entry->bytes);
	json_put(arena, planned, "base", base);
	json_put(arena, planned, "record", record);
	going->planned = planned;
}

static recloser_status check_staged(struct committing *c, struct going *going, recloser_error *error)
{
	const char *file = path_in(c->arena, c->staging->directory, going->entry->partition, "part");
	RC_TRY(bucket_body_file(&going->body, file, error));
	if (strcmp(going->body.sha256, going->entry->sha256) == 0)
		return RECLOSER_OK;
	error_set(error, RECLOSER_IO, "commit.staged_changed", "the staged file of %s has changed since it was verified",
			  going->entry->partition);
	return error_where(error, "%s", file);
}

static recloser_status check_token(const struct committing *c, const struct going *going, recloser_error *error)
{
	if (!going->base_there || *going->base_token)
		return RECLOSER_OK;
	error_set(error, RECLOSER_IO, "store.no_token", "the store does not say by an ETag which state of an object is live");
	error_where(error, "%s", live_path(c->dataset, c->arena, going->entry->partition));
	return error_hint(error, "nothing was changed; without one it can't be replaced on a condition");
}

static recloser_status prepare(struct committing *c, struct going *going, bool again, recloser_error *error)
{
	for (int i = 0; i < ATTEMPTS; i++) {
		RC_TRY(object_settle(c->dataset, going->part, &c->adopt, again || i > 0, error)); /* 2 */
		going->base = going->part->newest;
		going->base_there = going->part->there;
		going->presumed = !going->part->looked;
		memcpy(going->base_token, going->part->live.token, sizeof going->base_token);
		RC_TRY(object_ledger_sound(c->dataset, going->part, error));
		RC_TRY(judge(c, going, error));
		if (going->entry->outcome == ENTRY_UNCHANGED) {
			going->done = true;
			return RECLOSER_OK;
		}
		bool moved;
		RC_TRY(check_token(c, going, error));
		RC_TRY(archive_base(c, going, &moved, error)); /* 3 */
		if (moved)
			continue;
		plan_entry(c, going);
		going->prepared = true;
		return RECLOSER_OK;
	}
	error_set(error, RECLOSER_CONFLICT, "commit.overtaken", "%s is being replaced by other writers",
			  going->entry->partition);
	return error_hint(error, "run the same load again");
}

/* ---- step 4 ---- */

static recloser_status announce(struct committing *c, recloser_error *error)
{
	struct objects *objects = c->dataset->objects;
	json_t *json = json_new_object(objects->arena), *entries = json_new_array(objects->arena);
	json_put_text(objects->arena, json, "run", c->staging->run);
	json_put_text(objects->arena, json, "loaded_at", c->report->loaded_at);
	for (size_t i = 0; i < c->count; i++)
		if (c->at[i].planned)
			json_add(objects->arena, entries, c->at[i].planned);
	json_put(objects->arena, json, "entries", entries);
	if (!c->plan) {
		c->plan = arena_alloc(objects->arena, sizeof *c->plan);
		c->plan->own = true;
		c->plan->run = c->staging->run;
		c->plan->next = objects->plans;
		objects->plans = c->plan;
	}
	c->plan->json = json;
	return object_plan_put(c->dataset, c->arena, c->plan, error);
}

/* ---- steps 5 and 6 ---- */

/* A record after the base with these bytes: they were live. Without a base that was looked at, this run's own only: the same
 * bytes may have been live before, under a record that a late listing did not show. */
static recloser_status find_record(struct committing *c, struct going *going, recloser_error *error)
{
	struct object_part *part = going->part;
	int64_t from = going->base ? going->base->seq + 1 : 1;
	for (int64_t seq = part->number; seq >= from && !going->done; seq--) {
		struct record *record = part->newest;
		if (seq != part->number)
			RC_TRY(object_ledger_read(c->dataset, c->arena, part->partition, seq, &record, error));
		if (!record || strcmp(record->sha256, going->entry->sha256) != 0)
			continue;
		if (going->presumed && !equal(record->run, c->staging->run))
			continue;
		going->done = true;
		going->entry->seq = seq;
	}
	return RECLOSER_OK;
}

/* After a plain success: what landed is read, then recorded. */
static recloser_status read_back(struct committing *c, struct going *going, const char *token, recloser_error *error)
{
	struct bucket *bucket = c->dataset->bucket;
	struct object_part *part = going->part;
	struct bucket_sink sink = {.arena = c->arena, .file = "/dev/null"};
	struct bucket_found found;
	const char *key = object_live_key(c->dataset, c->arena, part->partition);
	enum bucket_answer answer;
	for (int i = 0; i < ATTEMPTS; i++) {
		answer = bucket->ops->get(bucket, key, NULL, &sink, &found, error);
		if (answer != BUCKET_DONE && answer != BUCKET_ABSENT)
			return object_failed(c->dataset, answer, "read back", key, error);
		if (answer == BUCKET_ABSENT || !bucket_token_denies(&c->dataset->objects->can, found.token, sink.md5))
			break;
		nanosleep(&(struct timespec){0, 50 * 1000 * 1000}, NULL); /* bytes and token of two versions */
	}
	if (answer == BUCKET_DONE && strcmp(sink.sha256, going->entry->sha256) == 0) {
		bool ours;
		int64_t seq = going->base ? going->base->seq + 1 : 1;
		part->live = found;
		part->looked = part->there = true;
		part->state = LIVE_SOUND;
		json_t *record = object_record_of(c->dataset->objects->arena, going->planned, seq, found.token);
		RC_TRY(object_record_put(c->dataset, part, record, seq, &ours, error));
		if (ours) {
			going->done = true;
			going->entry->seq = seq;
			return RECLOSER_OK;
		}
	} else if (answer == BUCKET_DONE && *token && strcmp(found.token, token) == 0) {
		error_set(error, RECLOSER_UNCLEAR, "store.altered", "the store keeps other bytes than were put");
		error_where(error, "%s/%s", c->dataset->root, key);
		return error_hint(error, "the version before is archived; do not trust this store before that is explained");
	}
	RC_TRY(object_settle(c->dataset, part, &c->adopt, true, error));
	return find_record(c, going, error);
}

static recloser_status unclear(struct committing *c, struct going *going, const recloser_error *last, recloser_error *error)
{
	error_set(error, RECLOSER_UNCLEAR, "store.unclear", "the store has not answered whether %s was replaced%s%s",
			  *going->entry->partition ? going->entry->partition : "the file", *last->what ? ": " : "", last->what);
	error_where(error, "%s", live_path(c->dataset, c->arena, going->entry->partition));
	return error_hint(error, "run the same load again: it looks, and does what is missing");
}

static recloser_status put_live(struct committing *c, struct going *going, recloser_error *error)
{
	struct bucket *bucket = c->dataset->bucket;
	const char *key = object_live_key(c->dataset, c->arena, going->entry->partition);
	enum bucket_when when = going->base_there ? BUCKET_IF_MATCH : BUCKET_IF_ABSENT;
	for (;;) {
		recloser_error problem = {0};
		struct bucket_found found = {{0}, 0, 0};
		bool put_before = c->put_any;
		uint64_t retries = bucket->counts->retries;
		c->put_any = true;
		going->sent++;
		enum bucket_answer answer =
			bucket->ops->put(bucket, key, &going->body, when, going->base_token, &found, &problem); /* 5 */
		if (answer == BUCKET_DONE)
			return read_back(c, going, found.token, error); /* 6 */
		if (answer == BUCKET_FAILED) {
			if (strcmp(problem.code, "store.refused") == 0 && bucket->counts->retries == retries)
				c->put_any = put_before; /* said to the only request that was sent: it has not acted */
			if (error && error->status == RECLOSER_OK)
				*error = problem;
			return object_failed(c->dataset, answer, "write", key, error);
		}
		going->doubtful |= answer != BUCKET_LOST;
		RC_TRY(object_settle(c->dataset, going->part, &c->adopt, true, error));
		RC_TRY(find_record(c, going, error));
		const struct object_part *part = going->part;
		bool still = part->there == going->base_there &&
					 (!part->there || strcmp(part->live.token, going->base_token) == 0) &&
					 part->number == (going->base ? going->base->seq : 0);
		if (going->done || answer == BUCKET_LOST || !still)
			return RECLOSER_OK;
		if (going->sent == OBJECT_SENDS)
			return unclear(c, going, &problem, error);
	}
}

/* A plain refusal of the only PUT: what was copied for it is needed by nobody. */
static void give_up_archive(struct committing *c, const struct going *going)
{
	if (going->archive && going->sent == 1 && !going->doubtful)
		strings_add(c->arena, &c->needless, going->archive);
}

/* At the end, when nothing is copied to these names any more: a DELETE may act late as well. */
static void drop_archives(struct committing *c)
{
	struct bucket *bucket = c->dataset->bucket;
	for (size_t i = 0; i < c->needless.count; i++) {
		recloser_error ignored = {0};
		bool used = false;
		for (size_t k = 0; k < c->count && !used; k++)
			used =
				c->at[k].archive && (c->at[k].done || c->at[k].doubtful) && strcmp(c->at[k].archive, c->needless.at[i]) == 0;
		if (!used)
			(void)bucket->ops->remove(bucket, object_key(c->dataset, path_control(c->dataset, c->arena, c->needless.at[i])),
									  &ignored);
	}
}

static enum entry_outcome outcome_of(const struct going *going)
{
	if (going->entry->outcome == ENTRY_UNCHANGED)
		return ENTRY_UNCHANGED;
	if (!going->done)
		return ENTRY_CONFLICT;
	if (strcmp(going->entry->kind, "restored") == 0)
		return ENTRY_RESTORED;
	return going->base ? ENTRY_REPLACED : ENTRY_NEW;
}

/* Steps 2 to 6 for what is not done. *left: how many partitions another writer was first in. */
static recloser_status attempt(struct committing *c, bool again, size_t *left, recloser_error *error)
{
	size_t prepared = 0;
	*left = 0;
	for (size_t i = 0; i < c->count; i++) {
		struct going *going = &c->at[i];
		going->prepared = false;
		if (going->done || going->doubtful)
			continue;
		RC_TRY(prepare(c, going, again, error));
		prepared += going->prepared;
	}
	if (prepared)
		RC_TRY(announce(c, error)); /* 4 */
	for (size_t i = 0; i < c->count; i++) {
		struct going *going = &c->at[i];
		if (!going->prepared)
			continue;
		RC_TRY(put_live(c, going, error));
		if (going->done)
			continue;
		give_up_archive(c, going);
		if (!going->doubtful) {
			going->sent = 0;
			going->planned = NULL;
		}
		++*left;
	}
	return RECLOSER_OK;
}

static recloser_status conflict(const struct committing *c, recloser_error *error)
{
	for (size_t i = 0; i < c->count; i++)
		if (!c->at[i].done)
			error_set(error, RECLOSER_CONFLICT, "commit.overtaken", "another writer was first in %s%s",
					  *c->at[i].entry->partition ? c->at[i].entry->partition : "the dataset",
					  c->at[i].doubtful ? ", and one request of this run was not answered" : "");
	return error_hint(error, "run the same load again");
}

static recloser_status run(struct committing *c, recloser_error *error)
{
	size_t left = 0;
	if (c->options->config)
		RC_TRY(object_write_config(c->dataset, c->arena, c->options->config, error));
	for (size_t i = 0; i < c->count; i++)
		RC_TRY(check_staged(c, &c->at[i], error));
	for (int i = 0; i < ATTEMPTS && (i == 0 || left); i++)
		RC_TRY(attempt(c, i > 0, &left, error));
	return left ? conflict(c, error) : RECLOSER_OK;
}

/* The plan stays while a PUT of it may act, and until the run's report takes its place. */
static void finish_plan(struct committing *c, bool reported)
{
	recloser_error ignored = {0};
	struct bucket *bucket = c->dataset->bucket;
	for (size_t i = 0; i < c->count; i++)
		if (c->at[i].planned && !c->at[i].done)
			return;
	if (c->plan && !reported)
		(void)bucket->ops->remove(bucket, object_run_key(c->dataset, c->arena, c->staging->run), &ignored);
}

recloser_status object_commit_run(struct staging *staging, struct arena *arena, struct entry *entries, size_t count,
								  const struct commit_options *options, struct commit_report *report, recloser_error *error)
{
	struct committing c = {.dataset = staging->session.dataset,
						   .staging = staging,
						   .arena = arena,
						   .options = options,
						   .report = report,
						   .count = count};
	memset(report, 0, sizeof *report);
	c.adopt = (struct object_adopt){options, report, staging->run};
	c.at = arena_array(arena, count + 1, sizeof *c.at);
	c.dataset->objects->writing = true;
	for (size_t i = 0; i < count; i++) {
		c.at[i].entry = &entries[i];
		c.at[i].part = object_part(c.dataset, entries[i].partition);
	}
	recloser_status status = run(&c, error);
	bool any = false;
	for (size_t i = 0; i < count; i++) {
		if (status == RECLOSER_OK || status == RECLOSER_CONFLICT || c.at[i].done)
			entries[i].outcome = outcome_of(&c.at[i]);
		any |= c.at[i].done && entries[i].outcome != ENTRY_UNCHANGED;
	}
	/* Not "nothing was changed" once something may have been. */
	if (status == RECLOSER_IO && c.put_any) {
		status = RECLOSER_UNCLEAR;
		if (error)
			error->status = status;
		error_hint(error,
				   any ? "some partitions are live, others are not: run the same load again" : "run the same load again");
	}
	drop_archives(&c);
	if (status == RECLOSER_OK || status == RECLOSER_CONFLICT)
		finish_plan(&c, status == RECLOSER_OK && options->reported);
	object_staging_abandon(staging);
	return status;
}
