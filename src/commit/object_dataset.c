/* SPDX-License-Identifier: Apache-2.0
 * A dataset in a bucket: opening it, and the small objects that are no part of the protocol. */
#include <stdio.h>
#include <string.h>

#include "commit/object.h"
#include "store/scratch.h"

const char *object_key(const struct dataset *dataset, const char *path)
{
	return path + strlen(dataset->root) + 1;
}

const char *object_live_key(const struct dataset *dataset, struct arena *arena, const char *partition)
{
	return object_key(dataset, path_in(arena, dataset->tree, partition, "part.parquet"));
}

const char *object_record_key(const struct dataset *dataset, struct arena *arena, const char *partition, int64_t seq)
{
	return object_key(dataset, path_record(dataset, arena, partition, seq));
}

/* The run's id makes the name this run's own. */
const char *object_archive_name(struct arena *arena, const struct record *base, const char *run)
{
	const char *loaded_at = base->loaded_at ? base->loaded_at : "0000-00-00";
	return arena_printf(arena, "%s.%s", archive_name(arena, loaded_at, base->partition, base->seq), run);
}

recloser_status object_failed(const struct dataset *dataset, enum bucket_answer answer, const char *doing, const char *key,
							  recloser_error *error)
{
	if (error && error->status != RECLOSER_OK)
		return error->status;
	error_set(error, RECLOSER_IO, "store.answer", "the object store's answer to \"%s\" is not one to go on with (%d)", doing,
			  (int)answer);
	return error_where(error, "%s/%s", dataset->root, key);
}

recloser_status object_read_json(struct dataset *dataset, struct arena *arena, const char *key, json_t **out,
								 recloser_error *error)
{
	struct bucket *bucket = dataset->bucket;
	struct bucket_sink sink = {.arena = arena};
	*out = NULL;
	enum bucket_answer answer = bucket->ops->get(bucket, key, NULL, &sink, NULL, error);
	if (answer == BUCKET_ABSENT)
		return RECLOSER_OK;
	if (answer != BUCKET_DONE)
		return object_failed(dataset, answer, "read", key, error);
	return json_parse(arena, sink.bytes, sink.count, arena_printf(arena, "%s/%s", dataset->root, key), out, error);
}

static recloser_status write_bytes(struct dataset *dataset, const char *key, const struct bucket_body *body,
								   recloser_error *error)
{
	struct bucket *bucket = dataset->bucket;
	enum bucket_answer answer = bucket->ops->put(bucket, key, body, BUCKET_ALWAYS, NULL, NULL, error);
	return answer == BUCKET_DONE ? RECLOSER_OK : object_failed(dataset, answer, "write", key, error);
}

recloser_status object_write_json(struct dataset *dataset, struct arena *arena, const char *key, const json_t *json,
								  recloser_error *error)
{
	struct bucket_body body;
	const char *text = json_text(arena, json);
	bucket_body_bytes(&body, text, strlen(text));
	return write_bytes(dataset, key, &body, error);
}

recloser_status object_scratch(struct dataset *dataset, const char **directory, recloser_error *error)
{
	struct objects *objects = dataset->objects;
	if (!objects->scratch)
		RC_TRY(scratch_make(objects->arena, dataset->temp, &objects->scratch, error));
	*directory = objects->scratch;
	return RECLOSER_OK;
}

recloser_status object_scratch_file(struct dataset *dataset, const char **path, recloser_error *error)
{
	const char *directory;
	RC_TRY(object_scratch(dataset, &directory, error));
	*path = arena_printf(dataset->objects->arena, "%s/%u.parquet", directory, dataset->objects->files++);
	return RECLOSER_OK;
}

recloser_status object_control_write(struct dataset *dataset, struct arena *arena, const char *relative, const void *bytes,
									 size_t count, recloser_error *error)
{
	struct bucket_body body;
	if (object_known_keep(dataset, relative, bytes, count))
		return RECLOSER_OK;
	bucket_body_bytes(&body, bytes, count);
	return write_bytes(dataset, object_key(dataset, path_control(dataset, arena, relative)), &body, error);
}

recloser_status object_control_read(struct dataset *dataset, struct arena *arena, const char *relative, char **bytes,
									size_t *count, recloser_error *error)
{
	struct bucket *bucket = dataset->bucket;
	const char *key = object_key(dataset, path_control(dataset, arena, relative));
	struct bucket_sink sink = {.arena = arena};
	const json_t *known = object_known_file(dataset, relative);
	*bytes = known ? (char *)json_text(arena, known) : NULL;
	*count = *bytes ? strlen(*bytes) : 0;
	if (*bytes || text_starts(relative, "sources/") || text_starts(relative, "inputs/"))
		return RECLOSER_OK;
	enum bucket_answer answer = bucket->ops->get(bucket, key, NULL, &sink, NULL, error);
	if (answer == BUCKET_ABSENT)
		return RECLOSER_OK;
	if (answer != BUCKET_DONE)
		return object_failed(dataset, answer, "read", key, error);
	*bytes = sink.bytes;
	*count = sink.count;
	return RECLOSER_OK;
}

recloser_status object_control_adopt(struct dataset *dataset, struct arena *arena, const char *staged, const char *relative,
									 recloser_error *error)
{
	struct bucket_body body;
	RC_TRY(bucket_body_file(&body, staged, error));
	RC_TRY(write_bytes(dataset, object_key(dataset, path_control(dataset, arena, relative)), &body, error));
	(void)dataset->fs->ops->unlink(dataset->fs, staged);
	return RECLOSER_OK;
}

recloser_status object_control_remove(struct dataset *dataset, struct arena *arena, const char *relative,
									  recloser_error *error)
{
	struct bucket *bucket = dataset->bucket;
	const char *key = object_key(dataset, path_control(dataset, arena, relative));
	enum bucket_answer answer = bucket->ops->remove(bucket, key, error);
	return answer == BUCKET_DONE ? RECLOSER_OK : object_failed(dataset, answer, "remove", key, error);
}

recloser_status object_file_look(struct dataset *dataset, const char *path, struct fs_stat *out, bool *there,
								 recloser_error *error)
{
	struct bucket *bucket = dataset->bucket;
	struct bucket_found found;
	const char *key = object_key(dataset, path);
	enum bucket_answer answer = bucket->ops->head(bucket, key, &found, error);
	memset(out, 0, sizeof *out);
	*there = answer == BUCKET_DONE;
	if (answer != BUCKET_DONE && answer != BUCKET_ABSENT)
		return object_failed(dataset, answer, "look at", key, error);
	out->bytes = *there ? found.bytes : 0;
	return RECLOSER_OK;
}

/* By the first load; another one may be writing it as well. */
recloser_status object_write_config(struct dataset *dataset, struct arena *arena, json_t *config, recloser_error *error)
{
	struct bucket *bucket = dataset->bucket;
	recloser_error problem;
	struct bucket_body body;
	json_t *there = NULL;
	enum bucket_answer answer = BUCKET_UNKNOWN;
	dataset->objects->known.config = config;
	const char *text = json_text(arena, config);
	const char *path = path_control(dataset, arena, "dataset.json"), *key = object_key(dataset, path);
	bucket_body_bytes(&body, text, strlen(text));
	for (int sent = 0; sent < OBJECT_SENDS; sent++) {
		error_clear(&problem);
		answer = bucket->ops->put(bucket, key, &body, BUCKET_IF_ABSENT, NULL, NULL, &problem);
		if (answer == BUCKET_DONE)
			return RECLOSER_OK;
		RC_TRY(object_read_json(dataset, arena, key, &there, error)); /* whatever was answered */
		if (there || answer != BUCKET_UNKNOWN)
			break;
	}
	if (there && json_equal(there, config))
		return RECLOSER_OK;
	if (!there) {
		if (error && error->status == RECLOSER_OK)
			*error = problem;
		return object_failed(dataset, answer, "write", key, error);
	}
	error_set(error, RECLOSER_CONFLICT, "commit.config", "another first load has defined this dataset differently");
	error_where(error, "%s", path);
	return error_hint(error, "compare the specs of the two loads, then run again");
}

recloser_status dataset_open_bucket(struct arena *arena, struct fs *local, struct bucket *bucket,
									const struct dataset_options *options, const char *root, const char *name,
									struct dataset **out, recloser_error *error)
{
	struct dataset *dataset;
	RC_TRY(dataset_make(arena, local, root, name, &dataset, error));
	dataset->bucket = bucket;
	dataset->single_writer = options && options->single_writer;
	dataset->no_checksums = options && options->no_checksums;
	dataset->temp = options ? options->temp : NULL;
	dataset->objects = arena_alloc(arena, sizeof *dataset->objects);
	dataset->objects->arena = arena;
	dataset->objects->bucket = bucket;
	RC_TRY(object_known_read(dataset, error));
	const char *path = path_control(dataset, arena, "dataset.json");
	if (!dataset->objects->known.config)
		RC_TRY(object_read_json(dataset, arena, object_key(dataset, path), &dataset->objects->known.config, error));
	dataset->config = dataset->objects->known.config;
	RC_TRY(dataset_check_format(dataset, path, error));
	*out = dataset;
	return RECLOSER_OK;
}

struct bucket_listing object_below(const struct dataset *dataset, struct arena *arena, const char *directory)
{
	return (struct bucket_listing){.prefix = arena_printf(arena, "%s/", object_key(dataset, directory))};
}

recloser_status object_each(struct dataset *dataset, struct arena *arena, const struct bucket_listing *what,
							object_visit *visit, void *arg, recloser_error *error)
{
	struct bucket *bucket = dataset->bucket;
	struct bucket_listing rest = *what;
	do {
		struct bucket_page page;
		enum bucket_answer answer = bucket->ops->list(bucket, arena, &rest, &page, error);
		if (answer != BUCKET_DONE)
			return object_failed(dataset, answer, "list", what->prefix, error);
		for (size_t i = 0; i < page.count; i++)
			RC_TRY(visit(arg, page.at[i].key + strlen(what->prefix), &page.at[i], error));
		rest.next = page.next;
	} while (rest.next);
	return RECLOSER_OK;
}

struct names {
	struct arena *arena;
	struct strings *at;
};

/* A folder is what keys have in common up to a slash; what lies deeper counts by its first part. */
static recloser_status add_name(void *arg, const char *rest, const struct bucket_object *object, recloser_error *error)
{
	struct names *names = arg;
	const char *name = arena_strndup(names->arena, rest, strcspn(rest, "/"));
	(void)object;
	(void)error;
	if (names->at->count == 0 || strcmp(names->at->at[names->at->count - 1], name) != 0)
		strings_add(names->arena, names->at, name);
	return RECLOSER_OK;
}

recloser_status object_control_list(struct dataset *dataset, struct arena *arena, const char *relative,
									struct strings *names, recloser_error *error)
{
	struct bucket_listing what = object_below(dataset, arena, path_control(dataset, arena, relative));
	struct names found = {arena, names};
	RC_TRY(object_each(dataset, arena, &what, add_name, &found, error));
	strings_sort(names);
	return RECLOSER_OK;
}
