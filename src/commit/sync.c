/* SPDX-License-Identifier: Apache-2.0
 * The three syncs of a run. With a syncfs that reports errors each is one call, whatever the number of partitions;
 * elsewhere every file and every directory on the way to it is synced by itself. No sync is repeated after an error. */
#include "commit/protocol.h"

#include <errno.h>
#include <string.h>

void touch(struct session *session, struct touched *touched, const char *path)
{
	const char *root = session->dataset->root;
	if (session->everything)
		return;
	while (strlen(path) > strlen(root) && text_starts(path, root)) {
		strings_add(session->arena, &touched->directories, path);
		path = path_parent(session->arena, path);
	}
	strings_add(session->arena, &touched->directories, path);
	strings_add(session->arena, &touched->directories, path_parent(session->arena, path)); /* the root may be new, too */
}

static recloser_status failed_sync(int number, const char *path, recloser_error *error)
{
	return error_errno(error, "store.sync", number, "sync", path);
}

static recloser_status sync_everything(struct session *session, recloser_error *error)
{
	struct fs *fs = session->dataset->fs;
	int failed = fs->ops->sync_all(fs, session->everything);
	return failed ? failed_sync(failed, session->dataset->root, error) : RECLOSER_OK;
}

static recloser_status sync_directory(struct session *session, const char *path, recloser_error *error)
{
	struct fs *fs = session->dataset->fs;
	if (!session->can.directory_sync)
		return RECLOSER_OK;
	int failed = fs->ops->sync_directory(fs, path);
	if (failed == 0 || failed == EACCES) /* a directory that can't even be read (above the root) is none that we wrote to */
		return RECLOSER_OK;
	return failed_sync(failed, path, error);
}

static recloser_status sync_directories(struct session *session, struct strings *directories, recloser_error *error)
{
	strings_sort(directories);
	for (size_t i = 0; i < directories->count; i++)
		if (i == 0 || strcmp(directories->at[i], directories->at[i - 1]) != 0)
			RC_TRY(sync_directory(session, directories->at[i], error));
	return RECLOSER_OK;
}

static recloser_status sync_file(struct session *session, const char *path, recloser_error *error)
{
	struct fs *fs = session->dataset->fs;
	struct fs_file *file;
	int failed = fs->ops->open(fs, path, false, &file);
	if (failed)
		return error_errno(error, "store.open", failed, "open", path);
	failed = fs->ops->sync(fs, file);
	fs->ops->close(fs, file);
	return failed ? failed_sync(failed, path, error) : RECLOSER_OK;
}

recloser_status sync_staged(struct session *session, struct touched *touched, recloser_error *error)
{
	if (session->everything)
		return sync_everything(session, error);
	for (size_t i = 0; i < touched->files.count; i++)
		RC_TRY(sync_file(session, touched->files.at[i], error));
	return sync_directories(session, &touched->directories, error);
}

recloser_status sync_commits(struct session *session, recloser_error *error)
{
	return sync_directory(session, path_control(session->dataset, session->arena, "commits"), error);
}

recloser_status sync_touched(struct session *session, struct touched *touched, recloser_error *error)
{
	return session->everything ? sync_everything(session, error) : sync_directories(session, &touched->directories, error);
}
