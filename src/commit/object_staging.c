/* SPDX-License-Identifier: Apache-2.0
 * Step 1 for a dataset in a bucket: staging is a local directory, and goes with the command. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "commit/object.h"

enum { LONGEST_KEY = 1024 }; /* of S3, Google and Azure alike, in bytes */

recloser_status object_staging_begin(struct dataset *dataset, struct arena *arena, const char *run, struct staging **out,
									 recloser_error *error)
{
	struct staging *staging = arena_alloc(arena, sizeof *staging);
	const char *scratch;
	RC_TRY(object_check_store(dataset, arena, run, error));
	RC_TRY(object_scratch(dataset, &scratch, error));
	staging->session.dataset = dataset;
	staging->session.arena = arena;
	staging->run = arena_strdup(arena, run);
	staging->directory = path_in(arena, scratch, staging->run, "");
	RC_TRY(make_directory(dataset, arena, staging->directory, error));
	*out = staging;
	return RECLOSER_OK;
}

static recloser_status check_key(const struct dataset *dataset, const char *path, recloser_error *error)
{
	/* The prefix inside the bucket counts as well; the root's scheme and bucket make up for it. */
	if (strlen(path) <= LONGEST_KEY)
		return RECLOSER_OK;
	(void)dataset;
	error_set(error, RECLOSER_IO, "store.name_too_long", "a key is longer than an object store takes (%d bytes)",
			  (int)LONGEST_KEY);
	error_where(error, "%s", path);
	return error_hint(error, "use shorter partition values, or a root with a shorter prefix");
}

recloser_status object_staging_file(struct staging *staging, const char *partition, const char **path, recloser_error *error)
{
	struct arena *arena = staging->session.arena;
	struct dataset *dataset = staging->session.dataset;
	struct record any = {.partition = partition, .seq = 1, .loaded_at = "0000-00-00"};
	RC_TRY(check_key(dataset, path_control(dataset, arena, object_archive_name(arena, &any, staging->run)), error));
	RC_TRY(check_key(dataset, path_record(dataset, arena, partition, 1), error));
	RC_TRY(make_directory(dataset, arena, path_in(arena, staging->directory, partition, ""), error));
	*path = path_in(arena, staging->directory, partition, "part");
	return RECLOSER_OK;
}

recloser_status object_staging_link(struct staging *staging, const char *partition, const char *archived,
									recloser_error *error)
{
	struct dataset *dataset = staging->session.dataset;
	struct bucket *bucket = dataset->bucket;
	struct bucket_sink sink = {.arena = staging->session.arena};
	RC_TRY(object_staging_file(staging, partition, &sink.file, error));
	const char *key = object_key(dataset, path_control(dataset, staging->session.arena, archived));
	enum bucket_answer answer = bucket->ops->get(bucket, key, NULL, &sink, NULL, error);
	if (answer == BUCKET_DONE)
		return RECLOSER_OK;
	if (answer != BUCKET_ABSENT)
		return object_failed(dataset, answer, "read", key, error);
	error_set(error, RECLOSER_IO, "archive.gone", "the archived version is not there");
	return error_where(error, "%s/%s", dataset->root, key);
}

recloser_status object_staging_drop(struct staging *staging, const char *partition, recloser_error *error)
{
	struct fs *fs = staging->session.dataset->fs;
	const char *path = path_in(staging->session.arena, staging->directory, partition, "part");
	int failed = fs->ops->unlink(fs, path);
	return failed && failed != ENOENT ? error_errno(error, "store.unlink", failed, "remove", path) : RECLOSER_OK;
}

void object_staging_abandon(struct staging *staging)
{
	if (staging->gone)
		return;
	remove_tree(staging->session.dataset->fs, staging->session.arena, staging->directory, NULL);
	staging->gone = true;
}

/* ---- what the store can do ---- */

static bool conditions_hold(const struct objects *objects)
{
	return objects->can.create_once && objects->can.match;
}

static recloser_status probe_now(struct dataset *dataset, struct arena *arena, const char *key, const char *run,
								 recloser_error *error)
{
	struct objects *objects = dataset->objects;
	const char *prefix = object_key(dataset, path_control(dataset, arena, arena_printf(arena, "probe/%s/", run)));
	RC_TRY(bucket_probe(objects->bucket, arena, prefix, &objects->can, error));
	objects->probed = objects->known.changed = true;
	/* What is refused is tried again by the next load; so is what could not be kept, perhaps because another first load
	 * keeps its own at this moment. */
	recloser_error kept = {0};
	if (!conditions_hold(objects) || !objects->can.checksum)
		return RECLOSER_OK;
	if (object_write_json(dataset, arena, key, bucket_abilities_json(arena, objects->bucket, &objects->can), &kept) ==
		RECLOSER_OK)
		objects->probe_made = arena_strdup(objects->arena, key);
	else
		objects->known.changed = false;
	return RECLOSER_OK;
}

/* A first load that was refused, or only tried, leaves nothing. */
void object_unmake(struct dataset *dataset)
{
	struct objects *objects = dataset->objects;
	struct bucket *bucket = dataset->bucket;
	recloser_error ignored = {0};
	if (objects->probe_made && !objects->known.config)
		(void)bucket->ops->remove(bucket, objects->probe_made, &ignored);
}

/* NULL: this store does. Else what the spec has to say for a load to go on all the same. */
static const char *not_honoured(const struct dataset *dataset, recloser_error *error)
{
	const struct objects *objects = dataset->objects;
	if (!dataset->single_writer && !conditions_hold(objects)) {
		error_set(error, RECLOSER_IO, "store.unsafe", "this object store does not honour %s%s%s%s",
				  objects->can.create_once ? "" : "If-None-Match",
				  objects->can.create_once || objects->can.match ? "" : " and ", objects->can.match ? "" : "If-Match",
				  objects->can.checksum ? "" : ", nor checksums");
		return "two loads at once could lose a version; if there is only ever one writer, say so in the spec: "
			   "store: {single_writer: true}";
	}
	if (!dataset->no_checksums && !objects->can.checksum) {
		error_set(error, RECLOSER_IO, "store.unsafe", "this object store does not honour checksums");
		return "readers could see what was altered on the way, until it is read back; if nothing alters it, say so in the "
			   "spec: store: {no_checksums: true}";
	}
	return NULL;
}

recloser_status object_check_store(struct dataset *dataset, struct arena *arena, const char *run, recloser_error *error)
{
	struct objects *objects = dataset->objects;
	char hex[SHA256_HEX];
	json_t *json;
	if (!objects->probed) {
		sha256_of(objects->bucket->server, strlen(objects->bucket->server), hex);
		const char *key = object_key(dataset, path_control(dataset, arena, arena_printf(arena, "probe/%.16s.json", hex)));
		RC_TRY(object_read_json(dataset, arena, key, &json, error));
		objects->probed = json && bucket_abilities_read(json, objects->bucket, &objects->can);
		if (objects->probed)
			objects->known.changed = true;
		else
			RC_TRY(probe_now(dataset, arena, key, run, error));
	}
	const char *way_out = not_honoured(dataset, error);
	if (!way_out)
		return RECLOSER_OK;
	error_where(error, "%s", objects->bucket->server);
	return error_hint(error, "%s", way_out);
}

recloser_status object_guarantees(struct dataset *dataset, struct arena *arena, json_t **out, recloser_error *error)
{
	struct objects *objects = dataset->objects;
	recloser_error problem = {0};
	*out = NULL;
	if (!dataset->config)
		return RECLOSER_OK;
	recloser_status status = object_check_store(dataset, arena, clock_run_id(arena), &problem);
	if (status != RECLOSER_OK && !objects->probed) {
		if (error && error->status == RECLOSER_OK)
			*error = problem;
		return status;
	}
	*out = bucket_abilities_json(arena, objects->bucket, &objects->can);
	return RECLOSER_OK;
}
