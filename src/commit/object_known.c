/* SPDX-License-Identifier: Apache-2.0
 * known.json: one object that tells a command at its start what it would otherwise ask for one by one: dataset.json, the
 * probe's result, the newest records, the latest runs and which load each of them was. It is a cache. It may be lost, be
 * older than the ledger or of another writer, and only costs requests then: numbers are asked for after those it tells, and
 * a put's condition does not come from it. It is replaced on the condition that it is the one that was read, so that an old
 * writer does not bring back what a newer command has left out. */
#include <string.h>

#include "commit/object.h"

enum { MOST_RECORDS = 2000, MOST_RUNS = 8, MOST_SOURCES = 200, MOST_INPUTS = 500, LONGEST_REPORT = 1 << 17, LONGEST_RECORDS = 8 << 20 };

static const char *known_key(const struct dataset *dataset, struct arena *arena)
{
	return object_key(dataset, path_control(dataset, arena, "known.json"));
}

static json_t *member_or_new(struct arena *arena, const json_t *json, const char *name)
{
	json_t *member = json_object_get(json, name);
	return json_is_object(member) ? member : json_new_object(arena);
}

/* Whatever is wrong with it, it is not needed; but a store that can't be reached is not tried over and over. */
static recloser_status read_known(struct dataset *dataset, json_t **json, recloser_error *error)
{
	struct objects *objects = dataset->objects;
	struct bucket *bucket = dataset->bucket;
	recloser_error problem = {0}, ignored = {0};
	struct bucket_sink sink = {.arena = objects->arena};
	struct bucket_found found;
	const char *key = known_key(dataset, objects->arena);
	*json = NULL;
	enum bucket_answer answer = bucket->ops->get(bucket, key, NULL, &sink, &found, &problem);
	if (answer == BUCKET_FAILED &&
		(strcmp(problem.code, "store.unreachable") == 0 || strcmp(problem.code, "store.tls") == 0)) {
		if (error)
			*error = problem;
		return problem.status;
	}
	if (answer != BUCKET_DONE)
		return RECLOSER_OK;
	objects->known.there = true;
	memcpy(objects->known.token, found.token, sizeof found.token);
	if (json_parse(objects->arena, sink.bytes, sink.count, key, json, &ignored) != RECLOSER_OK)
		*json = NULL;
	return RECLOSER_OK;
}

recloser_status object_known_read(struct dataset *dataset, recloser_error *error)
{
	struct objects *objects = dataset->objects;
	json_t *json;
	RC_TRY(read_known(dataset, &json, error));
	json_t *config = json_object_get(json, "dataset"), *probe = json_object_get(json, "probe");
	objects->known.records = member_or_new(objects->arena, json, "records");
	objects->known.runs = member_or_new(objects->arena, json, "runs");
	objects->known.sources = member_or_new(objects->arena, json, "sources");
	objects->known.inputs = member_or_new(objects->arena, json, "inputs");
	objects->probed = json_is_object(probe) && bucket_abilities_read(probe, objects->bucket, &objects->can);
	objects->known.config = json_is_object(config) ? config : NULL;
	objects->known.partial = json_is_true(json_object_get(json, "partial"));
	const char *partition;
	json_t *record;
	json_object_foreach(objects->known.records, partition, record) objects->known.count +=
		(uint64_t)json_get_int(record, "seq", 0);
	return RECLOSER_OK;
}

/* ---- files of the control directory ---- */

/* "runs/X.json" -> "X" in `runs`. */
static json_t *table_of(struct dataset *dataset, const char *relative, const char **name)
{
	static const char ending[] = ".json";
	struct object_known *known = &dataset->objects->known;
	const char *slash = strchr(relative, '/');
	if (!slash || !text_ends(relative, ending))
		return NULL;
	*name = arena_strndup(dataset->objects->arena, slash + 1, strlen(slash + 1) - strlen(ending));
	return text_starts(relative, "runs/")      ? known->runs
		   : text_starts(relative, "sources/") ? known->sources
		   : text_starts(relative, "inputs/")  ? known->inputs
											   : NULL;
}

json_t *object_known_file(struct dataset *dataset, const char *relative)
{
	const char *name;
	json_t *table = table_of(dataset, relative, &name);
	return table ? json_object_get(table, name) : NULL;
}

/* Members come in the order in which they were put: the first is the oldest. */
static void shorten(json_t *table, size_t most)
{
	while (json_object_size(table) > most)
		(void)json_object_del(table, json_object_iter_key(json_object_iter(table)));
}

bool object_known_keep(struct dataset *dataset, const char *relative, const void *text, size_t count)
{
	struct objects *objects = dataset->objects;
	recloser_error ignored = {0};
	const char *name;
	json_t *json, *table = table_of(dataset, relative, &name);
	if (!table || json_parse(objects->arena, text, count, relative, &json, &ignored) != RECLOSER_OK)
		return false;
	bool only_here = table == objects->known.sources;
	if (!only_here && count > LONGEST_REPORT)
		return false;
	json_put(objects->arena, table, name, json);
	shorten(table, only_here ? MOST_SOURCES : MOST_RUNS);
	objects->known.changed = true;
	return only_here;
}

void object_known_alias(struct dataset *dataset, const char *relative, const char *alias)
{
	struct objects *objects = dataset->objects;
	const char *run, *name;
	if (!table_of(dataset, relative, &run) || table_of(dataset, alias, &name) != objects->known.inputs)
		return;
	json_t *json = json_new_object(objects->arena);
	json_put_text(objects->arena, json, "run", run);
	(void)json_object_del(objects->known.inputs, name); /* to be the newest */
	json_put(objects->arena, objects->known.inputs, name, json);
	shorten(objects->known.inputs, MOST_INPUTS);
	objects->known.changed = true;
}

/* ---- writing ---- */

/* Beyond the limits, those of this run. */
static json_t *records_to_keep(struct dataset *dataset, struct arena *arena)
{
	struct objects *objects = dataset->objects;
	json_t *kept = json_new_object(arena);
	size_t bytes = json_dumpb(objects->known.records, NULL, 0, JSON_COMPACT);
	if (json_object_size(objects->known.records) <= MOST_RECORDS && bytes <= LONGEST_RECORDS)
		return objects->known.records;
	objects->known.partial = true;
	bytes = 0;
	for (struct object_part *part = objects->parts; part && json_object_size(kept) < MOST_RECORDS; part = part->next) {
		if (!part->newest)
			continue;
		bytes += json_dumpb(part->newest->json, NULL, 0, JSON_COMPACT);
		if (bytes > LONGEST_RECORDS)
			break;
		json_put(arena, kept, part->partition, part->newest->json);
	}
	return kept;
}

void object_known_write(struct dataset *dataset, struct arena *arena)
{
	struct objects *objects = dataset->objects;
	struct bucket *bucket = dataset->bucket;
	recloser_error ignored = {0};
	struct bucket_found found = {{0}, 0, 0};
	struct bucket_body body;
	if (!objects->known.changed)
		return;
	json_t *json = json_new_object(arena);
	if (objects->known.config)
		json_put(arena, json, "dataset", objects->known.config);
	if (objects->probed)
		json_put(arena, json, "probe", bucket_abilities_json(arena, objects->bucket, &objects->can));
	json_put(arena, json, "records", records_to_keep(dataset, arena));
	if (objects->known.partial)
		json_put_bool(arena, json, "partial", true);
	json_put(arena, json, "runs", objects->known.runs);
	json_put(arena, json, "sources", objects->known.sources);
	json_put(arena, json, "inputs", objects->known.inputs);
	const char *text = json_compact(arena, json);
	bucket_body_bytes(&body, text, strlen(text));
	enum bucket_answer answer =
		bucket->ops->put(bucket, known_key(dataset, arena), &body, objects->known.there ? BUCKET_IF_MATCH : BUCKET_IF_ABSENT,
						 objects->known.token, &found, &ignored);
	objects->known.changed = false; /* one try: whoever was first has told as much */
	if (answer == BUCKET_DONE && *found.token) {
		objects->known.there = true;
		memcpy(objects->known.token, found.token, sizeof found.token);
	}
}
