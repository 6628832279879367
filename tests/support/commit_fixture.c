/* SPDX-License-Identifier: Apache-2.0 */
#include "commit_fixture.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"

json_t *test_config(struct arena *arena)
{
	json_t *config = json_new_object(arena);
	json_put_int(arena, config, "format_version", DATASET_FORMAT_VERSION);
	return config;
}

static recloser_status stage(struct fs *fs, struct arena *arena, struct staging *staging, struct dataset *dataset,
							 const struct batch *batch, const struct run_options *options, struct entry *entry,
							 recloser_error *error)
{
	const char *path;
	struct record *base;
	json_t *file = json_new_object(arena);
	RC_TRY(staging_file(staging, batch->partition, &path, error));
	int failed = fs->ops->write(fs, path, batch->content, strlen(batch->content), 0666, NULL);
	if (failed)
		return error_errno(error, "test.write", failed, "write", path);
	RC_TRY(staging_hold(staging, batch->partition, error));
	RC_TRY(ledger_newest(dataset, arena, batch->partition, &base, error));
	entry->partition = batch->partition;
	entry->kind = "version";
	entry->bytes = strlen(batch->content);
	sha256_of(batch->content, strlen(batch->content), entry->sha256);
	entry->content_fingerprint = arena_printf(arena, "test:%s", batch->content);
	entry->base_seen = options && options->base_seen ? options->base_seen(batch->partition) : base ? base->seq : 0;
	entry->record = json_new_object(arena);
	json_put_int(arena, entry->record, "rows_in", 3);
	json_put_int(arena, file, "rows", 3);
	json_put(arena, entry->record, "file", file);
	return RECLOSER_OK;
}

static recloser_status run_all(struct fs *fs, struct arena *arena, const char *root, const char *run,
							   const struct batch *batches, size_t count, const struct run_options *options,
							   struct outcome *out)
{
	struct dataset *dataset;
	struct staging *staging;
	struct commit_options commit = {0};
	RC_TRY(dataset_open(arena, fs, root, "queue", &dataset, &out->error));
	RC_TRY(staging_begin(dataset, arena, run, &staging, &out->error));
	recloser_status status = RECLOSER_OK;
	for (size_t i = 0; status == RECLOSER_OK && i < count; i++)
		status = stage(fs, arena, staging, dataset, &batches[i], options, &out->entries[i], &out->error);
	if (status != RECLOSER_OK) {
		staging_abandon(staging);
		return status;
	}
	if (options && options->before_commit)
		options->before_commit(options->arg, dataset);
	out->count = count;
	commit.wait_seconds = options ? options->wait_seconds : 0;
	commit.config = options && options->config ? test_config(arena) : NULL;
	return commit_run(staging, arena, out->entries, count, &commit, &out->report, &out->error);
}

void run_batches(struct fs *fs, struct arena *arena, const char *root, const char *run, const struct batch *batches,
				 size_t count, const struct run_options *options, struct outcome *out)
{
	memset(out, 0, sizeof *out);
	out->status = run_all(fs, arena, root, run, batches, count, options, out);
}

const char *live_content(struct fs *fs, struct arena *arena, const char *root, const char *partition)
{
	char *bytes;
	size_t count;
	const char *path = arena_printf(arena, "%s/queue/%s%spart.parquet", root, partition, *partition ? "/" : "");
	return fs->ops->read(fs, path, arena, &bytes, &count) == 0 ? bytes : NULL;
}

/* ---- invariants ---- */

struct check {
	struct fs *fs;
	struct arena *arena;
	struct dataset *dataset;
};

static const char *check_version(const struct check *c, const struct record *record)
{
	char hex[SHA256_HEX];
	if (strcmp(record->kind, "void") == 0)
		return NULL;
	const char *path = arena_printf(c->arena, "%s/%s", c->dataset->control, record->archive);
	int failed = c->fs->ops->digest(c->fs, path, hex, NULL);
	if (failed)
		return arena_printf(c->arena, "%s seq %d: archived file: errno %d", record->partition, (int)record->seq, failed);
	if (strcmp(hex, record->sha256) != 0)
		return arena_printf(c->arena, "%s seq %d: archived file has other bytes", record->partition, (int)record->seq);
	return NULL;
}

static const char *check_partition(const struct check *c, const char *partition)
{
	recloser_error error = {0};
	struct record *newest, *record;
	enum live_state state;
	struct strings names = {0};
	const char *fault = NULL, *directory = arena_printf(c->arena, "%s/ledger/%s", c->dataset->control, partition);
	if (ledger_newest(c->dataset, c->arena, partition, &newest, &error) != RECLOSER_OK)
		return arena_strdup(c->arena, error.what);
	c->fs->ops->list(c->fs, directory, c->arena, &names);
	for (size_t i = 0; i < names.count && !fault; i++) {
		if (!text_ends(names.at[i], ".json"))
			continue;
		if (strcmp(names.at[i], arena_printf(c->arena, "%08zu.json", i + 1)) != 0)
			return arena_printf(c->arena, "%s: the ledger has a gap at %s", partition, names.at[i]);
		if (ledger_read(c->dataset, c->arena, partition, (int64_t)i + 1, &record, &error) != RECLOSER_OK || !record)
			return arena_printf(c->arena, "%s: record %zu can't be read: %s", partition, i + 1, error.what);
		fault = check_version(c, record);
	}
	if (fault)
		return fault;
	if (live_state(c->dataset, c->arena, partition, newest, &state, &error) != RECLOSER_OK)
		return arena_strdup(c->arena, error.what);
	if (newest ? state != LIVE_SOUND : state != LIVE_NONE)
		return arena_printf(c->arena, "%s: the ledger does not describe the live file (state %d)", partition, (int)state);
	return NULL;
}

static const char *check_tree(const struct check *c, const char *directory)
{
	struct strings names = {0};
	if (c->fs->ops->list(c->fs, directory, c->arena, &names) != 0)
		return NULL;
	for (size_t i = 0; i < names.count; i++) {
		struct fs_stat stat;
		const char *fault = NULL, *path = arena_printf(c->arena, "%s/%s", directory, names.at[i]);
		if (c->fs->ops->stat(c->fs, path, &stat) != 0)
			return arena_printf(c->arena, "%s vanished", path);
		if (stat.is_directory)
			fault = check_tree(c, path);
		else if (strcmp(names.at[i], "part.parquet") != 0)
			fault = arena_printf(c->arena, "%s is in the tree", path);
		if (fault)
			return fault;
	}
	return NULL;
}

const char *check_dataset(struct fs *fs, struct arena *arena, const char *root)
{
	struct check c = {fs, arena, NULL};
	recloser_error error = {0};
	struct strings partitions = {0}, staged = {0};
	if (dataset_open(arena, fs, root, "queue", &c.dataset, &error) != RECLOSER_OK ||
		ledger_partitions(c.dataset, arena, &partitions, &error) != RECLOSER_OK)
		return arena_strdup(arena, error.what);
	for (size_t i = 0; i < partitions.count; i++) {
		const char *fault = check_partition(&c, partitions.at[i]);
		if (fault)
			return fault;
	}
	fs->ops->list(fs, arena_printf(arena, "%s/staging", c.dataset->control), arena, &staged);
	if (staged.count)
		return arena_printf(arena, "staging/%s is left", staged.at[0]);
	return check_tree(&c, c.dataset->tree);
}
