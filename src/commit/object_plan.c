/* SPDX-License-Identifier: Apache-2.0
 * Announced plans. A plan tells what a run is about to put on what base, so that anybody can write the record of a version
 * whose writer died after its PUT. It never blocks anybody. It is the first content of runs/<run>.json, and the run's report
 * takes its place once everything is recorded; so there is nothing to be removed, and a run that died is told of for ever.
 *
 * Nobody lists all runs. Whoever is about to replace a version has archived it under a name that ends with its run, so the
 * names of the newest version's copies tell whose plans to read. What that does not find (no version before, or a PUT that
 * came very late) is looked for among the runs that began in the days before the live object was written, newest first. */
#include <string.h>

#include "base/clock.h"
#include "commit/object.h"

enum { MOST_READ = 100 };
static const int64_t DAY_US = INT64_C(24) * 3600 * 1000000, PLAN_LIFE_US = 7 * DAY_US;

static struct object_plan *find_run(const struct objects *objects, const char *run)
{
	for (struct object_plan *plan = objects->plans; plan; plan = plan->next)
		if (strcmp(plan->run, run) == 0)
			return plan;
	return NULL;
}

static bool is_plan(const json_t *json)
{
	return json_get_text(json, "run") && json_is_array(json_object_get(json, "entries"));
}

/* A report is what it is; a plan may have become one since it was read, or have been announced anew. */
static void forget_plans(struct objects *objects)
{
	struct object_plan *kept = NULL, *next;
	for (struct object_plan *plan = objects->plans; plan; plan = next) {
		next = plan->next;
		if (!plan->own && is_plan(plan->json))
			continue;
		plan->next = kept;
		kept = plan;
	}
	objects->plans = kept;
}

static recloser_status read_run(struct dataset *dataset, const char *run, bool *asked, recloser_error *error)
{
	struct objects *objects = dataset->objects;
	const char *relative = arena_printf(objects->arena, "runs/%s.json", run);
	json_t *json = object_known_file(dataset, relative);
	recloser_error unreadable = {0};
	*asked = false;
	if (find_run(objects, run))
		return RECLOSER_OK;
	if (!json) {
		const char *key = object_run_key(dataset, objects->arena, run);
		*asked = true;
		recloser_status status = object_read_json(dataset, objects->arena, key, &json, &unreadable);
		if (status != RECLOSER_OK && strcmp(unreadable.code, "json.malformed") != 0) {
			if (error && error->status == RECLOSER_OK)
				*error = unreadable;
			return status;
		}
	}
	if (!json_is_object(json))
		return RECLOSER_OK; /* withdrawn since, or not one of ours */
	struct object_plan *plan = arena_alloc(objects->arena, sizeof *plan);
	*plan = (struct object_plan){.run = arena_strdup(objects->arena, run), .json = json, .next = objects->plans};
	objects->plans = plan;
	return RECLOSER_OK;
}

/* ---- one's own ---- */

const char *object_run_key(const struct dataset *dataset, struct arena *arena, const char *run)
{
	return object_key(dataset, path_control(dataset, arena, arena_printf(arena, "runs/%s.json", run)));
}

/* On a condition, so that one of its requests that acts late does not take the place of the run's report. Nobody else writes
 * under this name. */
recloser_status object_plan_put(struct dataset *dataset, struct arena *arena, struct object_plan *plan,
								recloser_error *error)
{
	struct bucket *bucket = dataset->bucket;
	const char *key = object_run_key(dataset, arena, plan->run), *text = json_text(arena, plan->json);
	enum bucket_when when = *plan->token ? BUCKET_IF_MATCH : BUCKET_IF_ABSENT;
	enum bucket_answer answer = BUCKET_UNKNOWN;
	recloser_error problem;
	struct bucket_body body;
	struct bucket_found found = {{0}, 0, 0};
	bucket_body_bytes(&body, text, strlen(text));
	for (int sent = 0; sent < OBJECT_SENDS && answer != BUCKET_DONE; sent++) {
		struct bucket_sink sink = {.arena = arena};
		error_clear(&problem);
		answer = bucket->ops->put(bucket, key, &body, when, plan->token, &found, &problem);
		if (answer == BUCKET_FAILED)
			break;
		if (answer == BUCKET_DONE && *found.token)
			continue;
		enum bucket_answer look = bucket->ops->get(bucket, key, NULL, &sink, &found, error); /* whatever was answered */
		if (look != BUCKET_DONE && look != BUCKET_ABSENT)
			return object_failed(dataset, look, "read", key, error);
		if (look == BUCKET_DONE && strcmp(sink.sha256, body.sha256) == 0)
			answer = BUCKET_DONE;
	}
	memcpy(plan->token, found.token, sizeof plan->token);
	if (answer == BUCKET_DONE)
		return RECLOSER_OK;
	if (error && error->status == RECLOSER_OK)
		*error = problem;
	return object_failed(dataset, answer, "write", key, error);
}

/* ---- those who have archived the newest version ---- */

/* "RUN", or "RUN.1", "RUN.again1.2" of copies that were sent again. */
static const char *run_of(struct arena *arena, const char *ending)
{
	return arena_strndup(arena, ending, strcspn(ending, "./"));
}

static recloser_status read_replacer(void *arg, const char *rest, const struct bucket_object *object, recloser_error *error)
{
	struct dataset *dataset = arg;
	struct arena *arena = arena_new(dataset->objects->arena);
	bool asked;
	(void)object;
	recloser_status status = read_run(dataset, run_of(arena, rest), &asked, error);
	arena_free(arena);
	return status;
}

static recloser_status read_replacers(struct dataset *dataset, const struct record *base, recloser_error *error)
{
	struct arena *arena = arena_new(dataset->objects->arena);
	const char *name = path_control(dataset, arena, object_archive_name(arena, base, ""));
	struct bucket_listing what = {.prefix = object_key(dataset, name)};
	recloser_status status = object_each(dataset, arena, &what, read_replacer, dataset, error);
	arena_free(arena);
	return status;
}

/* ---- those before a moment ---- */

/* As ids of runs begin; they sort by time. */
static const char *id_at(struct arena *arena, int64_t us)
{
	struct text out = text_on(arena);
	for (const char *at = clock_text(arena, us); *at && *at != '.'; at++)
		if (*at != '-' && *at != ':')
			text_add_n(&out, at, 1);
	return out.at;
}

struct runs {
	struct arena *arena;
	const char *last; /* ids from this one on are too late; NULL: none is */
	struct strings *out;
};

static recloser_status add_run(void *arg, const char *rest, const struct bucket_object *object, recloser_error *error)
{
	struct runs *runs = arg;
	(void)object;
	(void)error;
	if (text_ends(rest, ".json") && (!runs->last || strcmp(rest, runs->last) < 0))
		strings_add(runs->arena, runs->out, arena_strndup(runs->arena, rest, strlen(rest) - strlen(".json")));
	return RECLOSER_OK;
}

/* Ids of runs that began in the days before `us` (0: at any time), oldest first. */
static recloser_status runs_before(struct dataset *dataset, struct arena *arena, int64_t us, struct strings *out,
								   recloser_error *error)
{
	struct bucket_listing what = object_below(dataset, arena, path_control(dataset, arena, "runs"));
	struct runs runs = {.arena = arena, .last = us ? id_at(arena, us + DAY_US) : NULL, .out = out}; /* clocks differ */
	if (us > PLAN_LIFE_US)
		what.after = arena_printf(arena, "%s%s", what.prefix, id_at(arena, us - PLAN_LIFE_US));
	return object_each(dataset, arena, &what, add_run, &runs, error);
}

static recloser_status written_at(struct dataset *dataset, struct arena *arena, const char *partition, int64_t *us,
								  recloser_error *error)
{
	struct bucket *bucket = dataset->bucket;
	struct bucket_listing what = {.prefix = object_live_key(dataset, arena, partition), .most = 1};
	struct bucket_page page;
	enum bucket_answer answer = bucket->ops->list(bucket, arena, &what, &page, error);
	if (answer != BUCKET_DONE)
		return object_failed(dataset, answer, "list", what.prefix, error);
	*us = page.count ? page.at[0].changed_us : 0;
	return RECLOSER_OK;
}

static recloser_status read_earlier(struct dataset *dataset, struct arena *arena, const struct object_part *part,
									const char *base_sha256, recloser_error *error)
{
	struct strings runs = {0};
	int64_t us = 0;
	size_t read = 0;
	RC_TRY(written_at(dataset, arena, part->partition, &us, error));
	RC_TRY(runs_before(dataset, arena, us, &runs, error));
	for (size_t i = runs.count; i-- > 0 && read < MOST_READ;) {
		bool asked;
		RC_TRY(read_run(dataset, runs.at[i], &asked, error));
		read += asked;
		if (object_plan_find(dataset, part->partition, part->file_sha256, base_sha256))
			break;
	}
	return RECLOSER_OK;
}

recloser_status object_plans_read(struct dataset *dataset, const struct object_part *part, recloser_error *error)
{
	const char *base = part->newest ? part->newest->sha256 : "";
	forget_plans(dataset->objects);
	if (part->newest)
		RC_TRY(read_replacers(dataset, part->newest, error));
	if (object_plan_find(dataset, part->partition, part->file_sha256, base) ||
		object_plan_reported(dataset, part->partition, part->file_sha256, part->number + 1))
		return RECLOSER_OK;
	struct arena *arena = arena_new(dataset->objects->arena);
	recloser_status status = read_earlier(dataset, arena, part, base, error);
	arena_free(arena);
	return status;
}

bool object_plan_reported(struct dataset *dataset, const char *partition, const char *sha256, int64_t seq)
{
	for (struct object_plan *plan = dataset->objects->plans; plan; plan = plan->next) {
		const json_t *parts = json_object_get(plan->json, "partitions");
		for (size_t i = 0; i < json_array_size(parts); i++) {
			const json_t *part = json_array_get(parts, i);
			const char *name = json_get_text(part, "partition"), *bytes = json_get_text(part, "sha256");
			const char *outcome = json_get_text(part, "outcome");
			if (name && bytes && outcome && strcmp(name, partition) == 0 && strcmp(bytes, sha256) == 0 &&
				json_get_int(part, "seq", 0) == seq && (strcmp(outcome, "new") == 0 || strcmp(outcome, "replaced") == 0))
				return true;
		}
	}
	return false;
}

recloser_status object_open_entries(struct dataset *dataset, struct arena *arena, json_t **out, recloser_error *error)
{
	struct strings runs = {0};
	*out = NULL;
	forget_plans(dataset->objects);
	RC_TRY(runs_before(dataset, arena, clock_now_us(), &runs, error));
	for (size_t i = 0; i < runs.count; i++) {
		bool asked;
		RC_TRY(read_run(dataset, runs.at[i], &asked, error));
	}
	for (const struct object_plan *plan = dataset->objects->plans; plan; plan = plan->next) {
		const json_t *entries = json_object_get(plan->json, "entries");
		for (size_t i = 0; i < json_array_size(entries); i++) {
			if (!*out)
				*out = json_new_array(arena);
			json_add(arena, *out, json_array_get(entries, i));
		}
	}
	return RECLOSER_OK;
}

json_t *object_plan_find(struct dataset *dataset, const char *partition, const char *sha256, const char *base_sha256)
{
	for (struct object_plan *plan = dataset->objects->plans; plan; plan = plan->next) {
		json_t *entries = json_object_get(plan->json, "entries");
		for (size_t i = 0; i < json_array_size(entries); i++) {
			json_t *entry = json_array_get(entries, i);
			const char *there = json_get_text(entry, "partition"), *bytes = json_get_text(entry, "sha256");
			const char *base = json_get_text(json_object_get(entry, "base"), "sha256");
			if (there && bytes && strcmp(there, partition) == 0 && strcmp(bytes, sha256) == 0 &&
				(!base_sha256 || strcmp(base ? base : "", base_sha256) == 0))
				return entry;
		}
	}
	return NULL;
}

json_t *object_record_of(struct arena *arena, const json_t *entry, int64_t seq, const char *token)
{
	const json_t *complete = json_object_get(entry, "record");
	json_t *record = json_new_object(arena), *file = json_on(arena, json_deep_copy(json_object_get(complete, "file")));
	const char *name;
	json_t *value;
	json_put_int(arena, record, "seq", seq);
	json_object_foreach((json_t *)complete, name, value) if (strcmp(name, "file") != 0 && strcmp(name, "seq") != 0)
		json_put(arena, record, name, value);
	json_put_text(arena, file, "etag", token);
	json_put(arena, record, "file", file);
	return record;
}
