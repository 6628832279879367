/* SPDX-License-Identifier: Apache-2.0
 * The control directory of one dataset, and the small files in it that are no part of the protocol. */
#include "commit/object.h"

#include <errno.h>
#include <string.h>

recloser_status dataset_check_format(const struct dataset *dataset, const char *path, recloser_error *error)
{
	if (!dataset->config)
		return RECLOSER_OK;
	int64_t version = json_get_int(dataset->config, "format_version", -1);
	if (version < 1) {
		error_set(error, RECLOSER_IO, "dataset.format", "dataset.json does not say its format_version");
		return error_where(error, "%s", path);
	}
	if (version > DATASET_FORMAT_VERSION) {
		error_set(error, RECLOSER_USAGE, "dataset.newer",
				  "the dataset has format %lld; this recloser knows formats up to %d", (long long)version,
				  DATASET_FORMAT_VERSION);
		error_where(error, "%s", path);
		return error_hint(error, "use a newer recloser; nothing was touched");
	}
	return RECLOSER_OK;
}

static const char *without_slash(struct arena *arena, const char *root)
{
	size_t length = strlen(root);
	while (length > 1 && root[length - 1] == '/')
		length--;
	return arena_strndup(arena, root, length);
}

recloser_status dataset_make(struct arena *arena, struct fs *fs, const char *root, const char *name, struct dataset **out,
							 recloser_error *error)
{
	struct dataset *dataset = arena_alloc(arena, sizeof *dataset);
	if (strcmp(name, "_recloser") == 0 || *name == '\0' || strchr(name, '/'))
		return error_set(error, RECLOSER_USAGE, "dataset.name", "\"%s\" can't be the name of a dataset", name);
	dataset->arena = arena;
	dataset->fs = fs;
	dataset->root = without_slash(arena, *root ? root : ".");
	dataset->name = arena_strdup(arena, name);
	const char *base = strcmp(dataset->root, "/") == 0 ? "" : dataset->root;
	dataset->tree = arena_printf(arena, "%s/%s", base, name);
	dataset->control = arena_printf(arena, "%s/_recloser/%s", base, name);
	*out = dataset;
	return RECLOSER_OK;
}

recloser_status dataset_open(struct arena *arena, struct fs *fs, const char *root, const char *name, struct dataset **out,
							 recloser_error *error)
{
	struct dataset *dataset;
	RC_TRY(dataset_make(arena, fs, root, name, &dataset, error));
	const char *path = path_control(dataset, arena, "dataset.json");
	if (file_read_json(dataset, arena, path, &dataset->config, error) != RECLOSER_OK)
		return hint_damaged(error, "put the file back from a backup, or move it away: the next load writes it again");
	RC_TRY(dataset_check_format(dataset, path, error));
	*out = dataset;
	return RECLOSER_OK;
}

/* Make `staged` visible under its name and durable. Directory sync is refused by some file systems: then the mount's own
 * promise is all there is. */
static recloser_status bring_in(struct dataset *dataset, struct arena *arena, const char *staged, const char *path,
								recloser_error *error)
{
	struct fs *fs = dataset->fs;
	int failed = rename_over(fs, staged, path);
	if (failed)
		return error_errno(error, "store.rename", failed, "write", path);
	failed = fs->ops->sync_directory(fs, path_parent(arena, path));
	if (failed && failed != EINVAL && failed != ENOSYS && failed != EOPNOTSUPP)
		return error_errno(error, "store.sync", failed, "sync the directory of", path);
	return RECLOSER_OK;
}

recloser_status control_write(struct dataset *dataset, struct arena *arena, const char *relative, const void *bytes,
							  size_t count, recloser_error *error)
{
	if (dataset->bucket)
		return object_control_write(dataset, arena, relative, bytes, count, error);
	const char *path = path_control(dataset, arena, relative), *temporary;
	RC_TRY(make_directory(dataset, arena, path_parent(arena, path), error));
	RC_TRY(write_temporary(dataset, arena, bytes, count, 0666, &temporary, error));
	recloser_status status = bring_in(dataset, arena, temporary, path, error);
	if (status != RECLOSER_OK)
		(void)dataset->fs->ops->unlink(dataset->fs, temporary); /* ENOENT where only the sync failed */
	return status;
}

recloser_status control_read(struct dataset *dataset, struct arena *arena, const char *relative, char **bytes, size_t *count,
							 recloser_error *error)
{
	if (dataset->bucket)
		return object_control_read(dataset, arena, relative, bytes, count, error);
	const char *path = path_control(dataset, arena, relative);
	*bytes = NULL;
	*count = 0;
	int failed = dataset->fs->ops->read(dataset->fs, path, arena, bytes, count);
	if (failed == 0)
		return RECLOSER_OK;
	*bytes = NULL;
	return failed == ENOENT || failed == ENOTDIR ? RECLOSER_OK : error_errno(error, "store.read", failed, "read", path);
}

recloser_status control_alias(struct dataset *dataset, struct arena *arena, const char *relative, const char *alias,
							  recloser_error *error)
{
	if (dataset->bucket) {
		object_known_alias(dataset, relative, alias);
		return RECLOSER_OK;
	}
	struct fs *fs = dataset->fs;
	const char *from = path_control(dataset, arena, relative), *to = path_control(dataset, arena, alias);
	const char *temporary = path_temporary(dataset, arena);
	RC_TRY(make_directory(dataset, arena, path_parent(arena, to), error));
	int failed = fs->ops->link(fs, from, temporary);
	if (failed)
		failed = fs->ops->copy(fs, from, temporary);
	if (failed == 0)
		failed = rename_over(fs, temporary, to);
	(void)fs->ops->unlink(fs, temporary); /* still there where both are names of one file */
	return failed ? error_errno(error, "store.link", failed, "give a second name to", from) : RECLOSER_OK;
}

recloser_status control_adopt(struct dataset *dataset, struct arena *arena, const char *staged, const char *relative,
							  recloser_error *error)
{
	if (dataset->bucket)
		return object_control_adopt(dataset, arena, staged, relative, error);
	struct fs *fs = dataset->fs;
	struct fs_file *file;
	const char *path = path_control(dataset, arena, relative);
	RC_TRY(make_directory(dataset, arena, path_parent(arena, path), error));
	int failed = fs->ops->open(fs, staged, false, &file);
	if (failed)
		return error_errno(error, "store.open", failed, "open", staged);
	failed = fs->ops->sync(fs, file);
	fs->ops->close(fs, file);
	if (failed)
		return error_errno(error, "store.sync", failed, "sync", staged);
	return bring_in(dataset, arena, staged, path, error);
}

recloser_status control_remove(struct dataset *dataset, struct arena *arena, const char *relative, recloser_error *error)
{
	if (dataset->bucket)
		return object_control_remove(dataset, arena, relative, error);
	const char *path = path_control(dataset, arena, relative);
	int failed = dataset->fs->ops->unlink(dataset->fs, path);
	return failed && failed != ENOENT ? error_errno(error, "store.unlink", failed, "remove", path) : RECLOSER_OK;
}

recloser_status control_list(struct dataset *dataset, struct arena *arena, const char *relative, struct strings *names,
							 recloser_error *error)
{
	if (dataset->bucket)
		return object_control_list(dataset, arena, relative, names, error);
	const char *path = path_control(dataset, arena, relative);
	int failed = dataset->fs->ops->list(dataset->fs, path, arena, names);
	return failed && failed != ENOENT ? error_errno(error, "store.list", failed, "list", path) : RECLOSER_OK;
}
