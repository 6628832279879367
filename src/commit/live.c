/* SPDX-License-Identifier: Apache-2.0
 * What is live, compared with what the ledger says. A record holds size, inode and time of its file as they were staged,
 * and rename keeps all three, so most looks cost one stat. A file that was copied (cp, rsync, a restored backup) has the
 * bytes but not the inode: it is hashed once, and seen.json remembers how it looks now. That file is a cache, it may be
 * lost. */
#include "commit/object.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define LOOK_AGAIN 0.02 /* seconds */

const char *live_path(struct dataset *dataset, struct arena *arena, const char *partition)
{
	return path_in(arena, dataset->tree, partition, "part.parquet");
}

static bool looks_like(const struct fs_stat *stat, const json_t *file)
{
	return stat->bytes == (uint64_t)json_get_int(file, "bytes", -1) &&
		   stat->inode == (uint64_t)json_get_int(file, "inode", -1) && stat->mtime_ns == json_get_int(file, "mtime_ns", -1);
}

/* Of a file that may be replaced at any moment: the answer belongs to `stat`. */
static recloser_status digest_stable(struct dataset *dataset, const char *path, struct fs_stat *stat, char *hex, bool *there,
									 recloser_error *error)
{
	for (;;) {
		struct fs_stat after;
		int failed = dataset->fs->ops->digest(dataset->fs, path, hex, NULL);
		if (failed && failed != ENOENT && failed != ESTALE)
			return error_errno(error, "store.read", failed, "read", path);
		RC_TRY(file_look(dataset, path, &after, there, error));
		if (!*there)
			return RECLOSER_OK;
		bool same = after.inode == stat->inode && after.bytes == stat->bytes && after.mtime_ns == stat->mtime_ns;
		*stat = after;
		if (same && failed == 0)
			return RECLOSER_OK;
	}
}

static void load_seen(struct dataset *dataset)
{
	if (dataset->seen)
		return;
	recloser_error ignored = {0};
	const char *path = path_control(dataset, dataset->arena, "seen.json");
	if (file_read_json(dataset, dataset->arena, path, &dataset->seen, &ignored) != RECLOSER_OK ||
		!json_is_object(dataset->seen))
		dataset->seen = json_new_object(dataset->arena);
}

static void see(struct dataset *dataset, const char *partition, const struct live *live)
{
	json_t *file = json_new_object(dataset->arena);
	json_put_int(dataset->arena, file, "bytes", (int64_t)live->stat.bytes);
	json_put_int(dataset->arena, file, "inode", (int64_t)live->stat.inode);
	json_put_int(dataset->arena, file, "mtime_ns", live->stat.mtime_ns);
	json_put_text(dataset->arena, file, "sha256", live->sha256);
	json_put(dataset->arena, dataset->seen, partition, file);
	dataset->seen_changed = true;
}

void live_remember(struct dataset *dataset, struct arena *arena)
{
	recloser_error ignored = {0};
	if (!dataset->seen_changed)
		return;
	const char *text = json_text(arena, dataset->seen);
	if (control_write(dataset, arena, "seen.json", text, strlen(text), &ignored) == RECLOSER_OK)
		dataset->seen_changed = false;
}

recloser_status live_look(struct dataset *dataset, struct arena *arena, const char *partition, const struct record *record,
						  struct live *out, recloser_error *error)
{
	const char *path = live_path(dataset, arena, partition);
	bool there;
	memset(out, 0, sizeof *out);
	RC_TRY(file_look(dataset, path, &out->stat, &there, error));
	out->state = record ? LIVE_MISSING : LIVE_NONE;
	if (!there)
		return RECLOSER_OK;
	out->state = LIVE_SOUND;
	if (record && looks_like(&out->stat, json_object_get(record->json, "file")))
		return RECLOSER_OK;
	load_seen(dataset);
	const json_t *seen = json_object_get(dataset->seen, partition);
	if (seen && looks_like(&out->stat, seen) && json_get_text(seen, "sha256")) {
		memccpy(out->sha256, json_get_text(seen, "sha256"), '\0', sizeof out->sha256 - 1);
	} else {
		RC_TRY(digest_stable(dataset, path, &out->stat, out->sha256, &there, error));
		if (!there) {
			out->state = record ? LIVE_MISSING : LIVE_NONE;
			return RECLOSER_OK;
		}
		see(dataset, partition, out);
	}
	if (!record || strcmp(out->sha256, record->sha256) != 0)
		out->state = LIVE_FOREIGN;
	return RECLOSER_OK;
}

recloser_status live_state(struct dataset *dataset, struct arena *arena, const char *partition, const struct record *record,
						   enum live_state *out, recloser_error *error)
{
	if (dataset->bucket)
		return object_live_state(dataset, arena, partition, record, out, error);
	struct live live;
	RC_TRY(live_look(dataset, arena, partition, record, &live, error));
	*out = live.state;
	return RECLOSER_OK;
}

static bool somebody_stages(struct dataset *dataset, struct arena *arena)
{
	struct strings names = {0};
	return dataset->fs->ops->list(dataset->fs, path_control(dataset, arena, "staging"), arena, &names) == 0 && names.count > 0;
}

/* `near` as for ledger_brief; -1: the whole record. */
static recloser_status newest_and_live(struct dataset *dataset, struct arena *arena, const char *partition, int64_t near,
									   struct record **record, enum live_state *state, recloser_error *error)
{
	for (;;) {
		if (near < 0)
			RC_TRY(ledger_newest(dataset, arena, partition, record, error));
		else
			RC_TRY(ledger_brief(dataset, arena, partition, near, record, error));
		RC_TRY(live_state(dataset, arena, partition, *record, state, error));
		if (*state == LIVE_FOREIGN)
			RC_TRY(dataset->bucket ? object_open_live(dataset, partition, record, state, error)
								   : open_live(dataset, arena, partition, record, state, error));
		if (*state != LIVE_FOREIGN || dataset->bucket || dataset->patience <= 0 || !somebody_stages(dataset, arena))
			return RECLOSER_OK;
		nanosleep(&(struct timespec){0, (long)(LOOK_AGAIN * 1e9)}, NULL);
		dataset->patience -= LOOK_AGAIN;
	}
}

recloser_status live_newest(struct dataset *dataset, struct arena *arena, const char *partition, struct record **record,
							enum live_state *state, recloser_error *error)
{
	return newest_and_live(dataset, arena, partition, -1, record, state, error);
}

recloser_status live_brief(struct dataset *dataset, struct arena *arena, const char *partition, int64_t near,
						   struct record **record, enum live_state *state, recloser_error *error)
{
	return newest_and_live(dataset, arena, partition, near, record, state, error);
}

const char *version_path(struct dataset *dataset, struct arena *arena, const struct record *record)
{
	struct fs_stat stat;
	if (record->archive) {
		const char *path = path_control(dataset, arena, record->archive);
		if (dataset->fs->ops->stat(dataset->fs, path, &stat) == 0)
			return path;
	}
	return live_path(dataset, arena, record->partition);
}

recloser_status live_file(struct dataset *dataset, struct arena *arena, const char *partition, const char **path,
						  recloser_error *error)
{
	if (dataset->bucket)
		return object_live_file(dataset, arena, partition, path, error);
	*path = live_path(dataset, arena, partition);
	return RECLOSER_OK;
}

recloser_status version_file(struct dataset *dataset, struct arena *arena, const struct record *record, const char **path,
							 recloser_error *error)
{
	if (dataset->bucket)
		return object_version_file(dataset, arena, record, path, error);
	*path = version_path(dataset, arena, record);
	return RECLOSER_OK;
}

void partition_forget(struct dataset *dataset, const char *partition)
{
	if (dataset->bucket)
		object_forget(dataset, object_part(dataset, partition));
}

const char *version_archive(struct dataset *dataset, struct arena *arena, const struct record *record)
{
	if (dataset->bucket)
		return object_archive_name(arena, record, "*");
	return record->archive ? record->archive : "its record names none";
}

recloser_status version_place(struct dataset *dataset, struct arena *arena, const struct record *record,
							  const struct record *newest, const char **out, recloser_error *error)
{
	struct fs_stat stat;
	enum live_state live;
	bool there = false;
	if (dataset->bucket)
		return object_version_place(dataset, arena, record, newest, out, error);
	*out = record->archive ? path_control(dataset, arena, record->archive) : NULL;
	if (*out)
		RC_TRY(file_look(dataset, *out, &stat, &there, error));
	if (there && stat.bytes == record->bytes)
		return RECLOSER_OK;
	*out = NULL;
	if (!newest || strcmp(newest->sha256, record->sha256) != 0)
		return RECLOSER_OK;
	RC_TRY(live_state(dataset, arena, record->partition, newest, &live, error));
	if (live == LIVE_SOUND)
		*out = live_path(dataset, arena, record->partition);
	return RECLOSER_OK;
}

recloser_status live_neighbours(struct dataset *dataset, struct arena *arena, const char *partition, struct strings *out,
								recloser_error *error)
{
	if (dataset->bucket)
		return RECLOSER_OK; /* a listing for each partition is left to `recover` */
	struct strings names = {0};
	const char *directory = path_in(arena, dataset->tree, partition, "");
	int failed = dataset->fs->ops->list(dataset->fs, directory, arena, &names);
	if (failed && failed != ENOENT && failed != ENOTDIR)
		return error_errno(error, "store.list", failed, "list", directory);
	for (size_t i = 0; i < names.count; i++) {
		struct fs_stat stat;
		bool there;
		if (strcmp(names.at[i], "part.parquet") == 0)
			continue;
		RC_TRY(file_look(dataset, path_in(arena, directory, names.at[i], ""), &stat, &there, error));
		if (there && !stat.is_directory)
			strings_add(arena, out, names.at[i]);
	}
	return RECLOSER_OK;
}

recloser_status file_which(struct dataset *dataset, const char *path, const struct identity *const *candidates, size_t count,
						   size_t *which, bool *there, recloser_error *error)
{
	struct fs_stat stat;
	char hex[SHA256_HEX];
	bool hash = false;
	*which = count;
	RC_TRY(file_look(dataset, path, &stat, there, error));
	for (size_t i = 0; *there && i < count; i++) {
		if (!candidates[i]->sha256 || stat.bytes != candidates[i]->bytes)
			continue;
		hash = true;
		if (stat.inode != candidates[i]->inode || stat.mtime_ns != candidates[i]->mtime_ns)
			continue;
		*which = i;
		return RECLOSER_OK;
	}
	if (!hash) /* absent, or of no candidate's size */
		return RECLOSER_OK;
	RC_TRY(digest_stable(dataset, path, &stat, hex, there, error));
	for (size_t i = 0; *there && i < count && *which == count; i++)
		if (candidates[i]->sha256 && strcmp(hex, candidates[i]->sha256) == 0)
			*which = i;
	return RECLOSER_OK;
}

recloser_status file_is(struct dataset *dataset, const char *path, const struct identity *expected, bool *there, bool *same,
						recloser_error *error)
{
	size_t which;
	RC_TRY(file_which(dataset, path, &expected, 1, &which, there, error));
	*same = which == 0;
	return RECLOSER_OK;
}

/* ---- for a run as a whole ---- */

void live_expect(struct dataset *dataset, const char *partition, const char *content_fingerprint)
{
	if (dataset->bucket)
		object_part(dataset, partition)->expected = arena_strdup(dataset->objects->arena, content_fingerprint);
}

static recloser_status is_live(struct dataset *dataset, struct arena *arena, const struct version_at *at, bool *out,
							   recloser_error *error)
{
	struct record *record;
	enum live_state live;
	*out = false;
	RC_TRY(ledger_brief(dataset, arena, at->partition, at->seq, &record, error));
	if (!record || record->seq != at->seq)
		return RECLOSER_OK;
	RC_TRY(live_state(dataset, arena, at->partition, record, &live, error));
	*out = live == LIVE_SOUND;
	return RECLOSER_OK;
}

recloser_status versions_live(struct dataset *dataset, struct arena *arena, const struct version_at *at, size_t count,
							  bool *out, recloser_error *error)
{
	*out = false;
	if (dataset->bucket)
		RC_TRY(object_versions_listed(dataset, at, count, out, error));
	if (*out)
		return RECLOSER_OK;
	*out = true;
	for (size_t i = 0; i < count && *out; i++) {
		struct arena *scratch = arena_new(arena);
		recloser_status status = is_live(dataset, scratch, &at[i], out, error);
		arena_free(scratch);
		RC_TRY(status);
	}
	return RECLOSER_OK;
}

void dataset_keep(struct dataset *dataset, struct arena *arena)
{
	if (dataset->bucket)
		object_known_write(dataset, arena);
	else
		live_remember(dataset, arena);
}
