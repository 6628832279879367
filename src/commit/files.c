/* SPDX-License-Identifier: Apache-2.0
 * Small operations on the store that turn an errno into an error with its path. */
#include "commit/object.h"

#include <errno.h>
#include <string.h>

recloser_status file_look(struct dataset *dataset, const char *path, struct fs_stat *out, bool *there, recloser_error *error)
{
	if (dataset->bucket && text_starts(path, dataset->root))
		return object_file_look(dataset, path, out, there, error);
	int failed = dataset->fs->ops->stat(dataset->fs, path, out);
	*there = failed == 0;
	if (failed == 0 || failed == ENOENT || failed == ENOTDIR)
		return RECLOSER_OK;
	return error_errno(error, "store.stat", failed, "look at", path);
}

recloser_status file_read_json(struct dataset *dataset, struct arena *arena, const char *path, json_t **out,
							   recloser_error *error)
{
	if (dataset->bucket && text_starts(path, dataset->root))
		return object_read_json(dataset, arena, object_key(dataset, path), out, error);
	char *bytes;
	size_t count;
	*out = NULL;
	int failed = dataset->fs->ops->read(dataset->fs, path, arena, &bytes, &count);
	if (failed == ENOENT || failed == ENOTDIR)
		return RECLOSER_OK;
	if (failed)
		return error_errno(error, "store.read", failed, "read", path);
	return json_parse(arena, bytes, count, path, out, error);
}

recloser_status hint_damaged(recloser_error *error, const char *hint)
{
	if (!error || error->hint[0])
		return error ? error->status : RECLOSER_IO;
	return error_hint(error, "%s", hint);
}

int make_path(struct fs *fs, struct arena *arena, const char *path)
{
	int failed = fs->ops->make_directory(fs, path);
	if (failed == ENOENT) {
		const char *parent = path_parent(arena, path);
		if (strcmp(parent, path) == 0 || strcmp(parent, ".") == 0)
			return failed;
		failed = make_path(fs, arena, parent);
		if (failed == 0)
			failed = fs->ops->make_directory(fs, path);
	}
	if (failed == 0 || failed == ENOENT)
		return failed;
	/* Some systems say EROFS or EACCES of a directory that is there: look. */
	struct fs_stat stat;
	return fs->ops->stat(fs, path, &stat) == 0 && stat.is_directory ? 0 : failed;
}

recloser_status make_directory(struct dataset *dataset, struct arena *arena, const char *path, recloser_error *error)
{
	int failed = make_path(dataset->fs, arena, path);
	return failed ? error_errno(error, "store.directory", failed, "make the directory", path) : RECLOSER_OK;
}

void remove_tree(struct fs *fs, struct arena *arena, const char *path, const char *last)
{
	struct arena *scratch = arena_new(arena);
	struct strings names = {0};
	(void)fs->ops->list(fs, path, scratch, &names);
	for (size_t i = 0; i < names.count; i++) {
		const char *name = path_in(scratch, path, names.at[i], "");
		struct fs_stat stat;
		if (last && strcmp(names.at[i], last) == 0)
			continue;
		if (fs->ops->stat(fs, name, &stat) == 0 && stat.is_directory)
			remove_tree(fs, scratch, name, NULL);
		else
			(void)fs->ops->unlink(fs, name);
	}
	if (last)
		(void)fs->ops->unlink(fs, path_in(scratch, path, last, ""));
	(void)fs->ops->remove_directory(fs, path);
	arena_free(scratch);
}

recloser_status write_temporary(struct dataset *dataset, struct arena *arena, const void *bytes, size_t count, unsigned mode,
								const char **path, recloser_error *error)
{
	struct fs *fs = dataset->fs;
	struct fs_file *file = NULL;
	int failed;
	RC_TRY(make_directory(dataset, arena, path_control(dataset, arena, "tmp"), error));
	do {
		*path = path_temporary(dataset, arena);
		failed = fs->ops->write(fs, *path, bytes, count, mode, &file);
	} while (failed == EEXIST);
	if (failed)
		return error_errno(error, "store.write", failed, "write", *path);
	failed = fs->ops->sync(fs, file);
	fs->ops->close(fs, file);
	if (failed == 0)
		return RECLOSER_OK;
	(void)fs->ops->unlink(fs, *path);
	return error_errno(error, "store.sync", failed, "sync", *path);
}
