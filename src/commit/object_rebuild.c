/* SPDX-License-Identifier: Apache-2.0
 * Records that were lost, made again in a bucket. What knows of versions, best first: known.json, which has the newest
 * records whole; plans of runs that died, which have those they were to make; the reports of runs; the names and bytes of
 * archived objects; the live objects, each of which is its partition's newest version. What none of them tells is null, or a
 * void record where only the number is sure. Records that are there are never touched, since each is made on the condition
 * that there is none; so a writer at work at the same time loses nothing by it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "commit/object.h"

struct archived {
	const char *partition, *key, *day;
	int64_t seq;
	uint64_t bytes;
};

struct rebuild {
	struct dataset *dataset;
	struct arena *arena;
	json_t *numbers; /* {partition: {"seq": true}}: the records that are there */
	json_t *told;    /* {"partition seq": record} by plans and reports, checked by digest before it is used */
	struct archived *at;
	size_t count, room;
	struct recovery *out;
};

static const char *number_text(struct arena *arena, int64_t seq)
{
	return arena_printf(arena, "%" PRId64, seq);
}

/* ---- what is there ---- */

/* All below a folder of the control directory, or of the tree where `relative` is NULL. */
static recloser_status for_each(struct rebuild *r, const char *relative, object_visit *visit, recloser_error *error)
{
	const char *directory = relative ? path_control(r->dataset, r->arena, relative) : r->dataset->tree;
	struct bucket_listing what = object_below(r->dataset, r->arena, directory);
	return object_each(r->dataset, r->arena, &what, visit, r, error);
}

/* "a/b/c" -> "a/b", "c"; the folder is "" where there is none. */
static const char *split(struct arena *arena, const char *relative, const char **leaf)
{
	const char *slash = strrchr(relative, '/');
	*leaf = slash ? slash + 1 : relative;
	return slash ? arena_strndup(arena, relative, (size_t)(slash - relative)) : "";
}

static void note_number(struct rebuild *r, const char *partition, int64_t seq)
{
	json_t *numbers = json_object_get(r->numbers, partition);
	if (!numbers) {
		numbers = json_new_object(r->arena);
		json_put(r->arena, r->numbers, partition, numbers);
	}
	json_put_bool(r->arena, numbers, number_text(r->arena, seq), true);
}

static bool has_number(struct rebuild *r, const char *partition, int64_t seq)
{
	return json_object_get(json_object_get(r->numbers, partition), number_text(r->arena, seq)) != NULL;
}

static recloser_status note_record(void *arg, const char *relative, const struct bucket_object *object,
								   recloser_error *error)
{
	struct rebuild *r = arg;
	const char *leaf, *partition = split(r->arena, relative, &leaf);
	(void)object;
	(void)error;
	if (number_of(leaf) > 0 && is_partition_path(partition))
		note_number(r, partition, number_of(leaf));
	return RECLOSER_OK;
}

/* load_date=2026-07-15/state=TX/month=2026-07/part.parquet.00000002.RUN, of the run that archived it. */
static recloser_status note_archived(void *arg, const char *relative, const struct bucket_object *object,
									 recloser_error *error)
{
	struct rebuild *r = arg;
	static const char day[] = "load_date=", part[] = "part.parquet.";
	const char *leaf, *folder = split(r->arena, relative, &leaf);
	size_t length = strcspn(folder, "/");
	const char *partition = folder[length] ? folder + length + 1 : "";
	(void)error;
	if (!text_starts(folder, day) || !text_starts(leaf, part) || !is_partition_path(partition))
		return RECLOSER_OK;
	int64_t seq = strtoll(leaf + strlen(part), NULL, 10);
	if (seq <= 0)
		return RECLOSER_OK;
	if (r->count == r->room) {
		size_t room = r->room ? r->room * 2 : 64;
		r->at = arena_grow(r->arena, r->at, r->count * sizeof *r->at, room * sizeof *r->at);
		r->room = room;
	}
	r->at[r->count++] = (struct archived){.partition = partition,
										  .key = object->key,
										  .day = arena_strndup(r->arena, folder + strlen(day), length - strlen(day)),
										  .seq = seq,
										  .bytes = object->bytes};
	return RECLOSER_OK;
}

/* ---- what plans and reports tell ---- */

static void tell(struct rebuild *r, const char *partition, int64_t seq, json_t *record)
{
	if (partition && seq > 0)
		json_put(r->arena, r->told, arena_printf(r->arena, "%s %" PRId64, partition, seq), record);
}

static void tell_plan(struct rebuild *r, const json_t *plan)
{
	const json_t *entries = json_object_get(plan, "entries");
	for (size_t i = 0; i < json_array_size(entries); i++) {
		const json_t *entry = json_array_get(entries, i);
		int64_t seq = json_get_int(json_object_get(entry, "base"), "seq", 0) + 1;
		if (json_is_object(json_object_get(entry, "record")))
			tell(r, json_get_text(entry, "partition"), seq, object_record_of(r->arena, entry, seq, NULL));
	}
}

static json_t *sources_without_paths(struct arena *arena, const json_t *report)
{
	const json_t *sources = json_object_get(report, "sources");
	json_t *out = json_new_array(arena);
	for (size_t i = 0; i < json_array_size(sources); i++) {
		json_t *source = json_on(arena, json_deep_copy(json_array_get(sources, i)));
		json_object_del(source, "path");
		json_add(arena, out, source);
	}
	return out;
}

/* Not the content fingerprint: it is of typed columns, which a report does not tell. Whoever needs it makes it of the file.
 */
static void tell_report(struct rebuild *r, const json_t *report)
{
	static const char *const same[] = {"rows_in",     "rows_written", "superseded", "collapsed",
									   "disappeared", "new_keys",     "revised"};
	const json_t *parts = json_object_get(report, "partitions");
	for (size_t i = 0; i < json_array_size(parts); i++) {
		const json_t *part = json_array_get(parts, i);
		const char *outcome = json_get_text(part, "outcome");
		if (!outcome || (strcmp(outcome, "new") != 0 && strcmp(outcome, "replaced") != 0))
			continue;
		json_t *record = json_new_object(r->arena), *file = json_new_object(r->arena);
		json_put_text(r->arena, record, "kind", "version");
		json_put_text(r->arena, record, "run", json_get_text(report, "run"));
		json_put_text(r->arena, record, "loaded_at", json_get_text(report, "loaded_at"));
		json_put(r->arena, record, "sources", sources_without_paths(r->arena, report));
		for (size_t k = 0; k < sizeof same / sizeof *same; k++)
			if (json_object_get(part, same[k]))
				json_put(r->arena, record, same[k], json_object_get(part, same[k]));
		json_put_text(r->arena, file, "sha256", json_get_text(part, "sha256"));
		json_put_int(r->arena, file, "rows", json_get_int(part, "rows", 0));
		json_put(r->arena, record, "file", file);
		tell(r, json_get_text(part, "partition"), json_get_int(part, "seq", 0), record);
	}
}

static recloser_status tell_run(void *arg, const char *relative, const struct bucket_object *object,
								recloser_error *error)
{
	struct rebuild *r = arg;
	json_t *json;
	recloser_error unreadable = {0};
	(void)relative;
	(void)error;
	if (object_read_json(r->dataset, r->arena, object->key, &json, &unreadable) != RECLOSER_OK || !json)
		return RECLOSER_OK; /* one report less */
	tell_report(r, json);
	tell_plan(r, json); /* of a run that died there is a plan */
	return RECLOSER_OK;
}

/* ---- records ---- */

static json_t *bare_record(struct arena *arena, const char *kind, const char *loaded_at)
{
	json_t *record = json_new_object(arena);
	json_put_text(arena, record, "kind", kind);
	json_put_text(arena, record, "run", NULL);
	json_put_text(arena, record, "loaded_at", loaded_at);
	json_put_text(arena, record, "content_fingerprint", NULL);
	return record;
}

/* What is told of this version if its bytes are these; else what the file itself tells. */
static json_t *record_of(struct rebuild *r, const char *partition, int64_t seq, const struct bucket_found *found,
						 const char *sha256, const char *loaded_at)
{
	struct arena *arena = r->arena;
	json_t *told = json_object_get(r->told, arena_printf(arena, "%s %" PRId64, partition, seq));
	const char *bytes = json_get_text(json_object_get(told, "file"), "sha256");
	bool known = bytes && strcmp(bytes, sha256) == 0;
	json_t *record = known ? json_on(arena, json_deep_copy(told)) : bare_record(arena, "version", loaded_at);
	json_t *file = json_object_get(record, "file");
	if (!file) {
		file = json_new_object(arena);
		json_put(arena, record, "file", file);
	}
	json_put_text(arena, file, "sha256", sha256);
	json_put_int(arena, file, "bytes", (int64_t)found->bytes);
	if (*found->token)
		json_put_text(arena, file, "etag", found->token);
	else
		json_object_del(file, "etag");
	if (!json_get_text(record, "loaded_at"))
		json_put_text(arena, record, "loaded_at", loaded_at);
	return record;
}

static recloser_status put_record(struct rebuild *r, const char *partition, int64_t seq, json_t *record, bool whole,
								  recloser_error *error)
{
	struct bucket *bucket = r->dataset->bucket;
	struct bucket_body body;
	recloser_error problem = {0};
	const char *key = object_record_key(r->dataset, r->arena, partition, seq);
	json_put_int(r->arena, record, "seq", seq);
	json_put_text(r->arena, record, "partition", partition);
	if (!whole)
		json_put_bool(r->arena, record, "rebuilt", true);
	const char *text = json_text(r->arena, record);
	bucket_body_bytes(&body, text, strlen(text));
	enum bucket_answer answer = bucket->ops->put(bucket, key, &body, BUCKET_IF_ABSENT, NULL, NULL, &problem);
	if (answer == BUCKET_FAILED || answer == BUCKET_UNKNOWN) {
		if (error && error->status == RECLOSER_OK)
			*error = problem;
		return object_failed(r->dataset, answer, "write a record", key, error);
	}
	note_number(r, partition, seq);
	if (answer == BUCKET_DONE && !strings_has(&r->out->finished_partitions, partition))
		strings_add(r->arena, &r->out->finished_partitions, partition);
	return RECLOSER_OK;
}

static recloser_status from_known(struct rebuild *r, recloser_error *error)
{
	const char *partition;
	json_t *record;
	json_object_foreach(r->dataset->objects->known.records, partition, record)
	{
		int64_t seq = json_get_int(record, "seq", 0);
		if (seq > 0 && is_partition_path(partition) && !has_number(r, partition, seq))
			RC_TRY(put_record(r, partition, seq, json_on(r->arena, json_deep_copy(record)), true, error));
	}
	return RECLOSER_OK;
}

static recloser_status from_archive(struct rebuild *r, const struct archived *archived, recloser_error *error)
{
	struct bucket *bucket = r->dataset->bucket;
	struct bucket_sink sink = {.arena = r->arena, .file = "/dev/null"};
	struct bucket_found found;
	if (has_number(r, archived->partition, archived->seq))
		return RECLOSER_OK;
	enum bucket_answer answer = bucket->ops->get(bucket, archived->key, NULL, &sink, &found, error);
	if (answer == BUCKET_ABSENT)
		return RECLOSER_OK; /* pruned at this moment */
	if (answer != BUCKET_DONE)
		return object_failed(r->dataset, answer, "read", archived->key, error);
	found = (struct bucket_found){.bytes = archived->bytes}; /* its token is not the live object's */
	const char *loaded_at = arena_printf(r->arena, "%sT00:00:00.000000Z", archived->day);
	return put_record(r, archived->partition, archived->seq,
					  record_of(r, archived->partition, archived->seq, &found, sink.sha256, loaded_at), false, error);
}

/* A live object that the newest record does not describe is the version after it. */
static recloser_status from_live(void *arg, const char *relative, const struct bucket_object *object,
								 recloser_error *error)
{
	struct rebuild *r = arg;
	enum { TRIES = 5 };
	const char *leaf, *partition = split(r->arena, relative, &leaf);
	bool moved = true;
	if (strcmp(leaf, "part.parquet") != 0 || !is_partition_path(partition))
		return RECLOSER_OK;
	struct object_part *part = object_part(r->dataset, partition);
	for (int i = 0; moved && i < TRIES; i++) {
		RC_TRY(object_newest(r->dataset, part, true, error));
		RC_TRY(object_look(r->dataset, part, error));
		RC_TRY(object_judge(r->dataset, part, &moved, error));
	}
	if (moved || part->state != LIVE_FOREIGN)
		return RECLOSER_OK;
	const char *previous = part->newest ? part->newest->loaded_at : NULL;
	const char *changed = clock_text(r->arena, object->changed_us ? object->changed_us : clock_now_us());
	const char *loaded_at = previous && strcmp(previous, changed) > 0 ? previous : changed;
	return put_record(r, partition, part->number + 1,
					  record_of(r, partition, part->number + 1, &part->live, part->file_sha256, loaded_at), false, error);
}

/* Numbers that nothing knows of become void, so that the ledger stays contiguous. */
static recloser_status fill_gaps(struct rebuild *r, recloser_error *error)
{
	const char *partition, *number;
	json_t *numbers, *there;
	struct strings partitions = {0};
	json_object_foreach(r->numbers, partition, numbers) strings_add(r->arena, &partitions, partition);
	for (size_t i = 0; i < partitions.count; i++) {
		int64_t newest = 0;
		json_object_foreach(json_object_get(r->numbers, partitions.at[i]), number, there) if (atoll(number) > newest)
			newest = atoll(number);
		for (int64_t seq = 1; seq < newest; seq++)
			if (!has_number(r, partitions.at[i], seq))
				RC_TRY(put_record(r, partitions.at[i], seq, bare_record(r->arena, "void", NULL), false, error));
	}
	return RECLOSER_OK;
}

static recloser_status keep_config(struct rebuild *r, recloser_error *error)
{
	struct bucket *bucket = r->dataset->bucket;
	struct bucket_body body;
	if (!r->dataset->config)
		return RECLOSER_OK; /* the next load makes it of its spec */
	const char *text = json_text(r->arena, r->dataset->config);
	const char *key = object_key(r->dataset, path_control(r->dataset, r->arena, "dataset.json"));
	bucket_body_bytes(&body, text, strlen(text));
	recloser_error problem = {0};
	enum bucket_answer answer = bucket->ops->put(bucket, key, &body, BUCKET_IF_ABSENT, NULL, NULL, &problem);
	if (answer != BUCKET_FAILED && answer != BUCKET_UNKNOWN)
		return RECLOSER_OK;
	if (error && error->status == RECLOSER_OK)
		*error = problem;
	return object_failed(r->dataset, answer, "write", key, error);
}

recloser_status object_recover_rebuild(struct dataset *dataset, struct arena *arena, struct recovery *out,
									   recloser_error *error)
{
	struct rebuild r = {.dataset = dataset, .arena = arena, .out = out};
	struct recovery after;
	memset(out, 0, sizeof *out);
	r.numbers = json_new_object(arena);
	r.told = json_new_object(arena);
	RC_TRY(for_each(&r, "ledger", note_record, error));
	RC_TRY(from_known(&r, error));
	RC_TRY(for_each(&r, "runs", tell_run, error));
	RC_TRY(for_each(&r, "archive", note_archived, error));
	for (size_t i = 0; i < r.count; i++)
		RC_TRY(from_archive(&r, &r.at[i], error));
	object_ledger_forget(dataset);
	RC_TRY(for_each(&r, NULL, from_live, error));
	RC_TRY(fill_gaps(&r, error));
	RC_TRY(keep_config(&r, error));
	object_ledger_forget(dataset);
	RC_TRY(object_recover(dataset, arena, true, &after, error));
	struct strings rebuilt = out->finished_partitions;
	*out = after;
	for (size_t i = 0; i < rebuilt.count; i++)
		if (!strings_has(&out->finished_partitions, rebuilt.at[i]))
			strings_add(arena, &out->finished_partitions, rebuilt.at[i]);
	return RECLOSER_OK;
}
