/* SPDX-License-Identifier: Apache-2.0
 * Give a file a second name that must be free: the exclusive step that plans, archived versions and records go through.
 *
 * A hard link does it where there are hard links. Elsewhere a synced copy under a temporary name is renamed without
 * replacing; and where even that is missing the dataset's lock, which is then a true one, makes "look, then rename"
 * exclusive. In all three the new name leads to the whole file or is not there. What link and rename report is only a
 * hint: a server may have done the work and lost the answer, so after any failure the two names decide. */
#include "commit/protocol.h"

#include <errno.h>
#include <string.h>

/* link is refused for this file, this user or this file system, but a copy may do. */
static bool copy_instead(int number)
{
	return number == EPERM || number == EACCES || number == EMLINK || number == EOPNOTSUPP || number == ENOSYS ||
		   number == EXDEV;
}

static int copy_synced(struct session *session, const char *from, const char **temporary)
{
	struct dataset *dataset = session->dataset;
	struct fs *fs = dataset->fs;
	struct fs_file *file;
	int failed = make_path(fs, session->arena, path_control(dataset, session->arena, "tmp"));
	if (failed)
		return failed;
	do {
		*temporary = path_temporary(dataset, session->arena);
		failed = fs->ops->copy(fs, from, *temporary);
	} while (failed == EEXIST);
	if (failed)
		return failed;
	failed = fs->ops->open(fs, *temporary, false, &file);
	if (failed == 0) {
		failed = fs->ops->sync(fs, file);
		fs->ops->close(fs, file);
	}
	return failed;
}

static int rename_exclusively(struct session *session, const char *from, const char *to)
{
	struct fs *fs = session->dataset->fs;
	struct fs_stat stat;
	if (session->can.rename_new)
		return fs->ops->rename_new(fs, from, to);
	int failed = fs->ops->stat(fs, to, &stat);
	if (failed == ENOENT)
		return fs->ops->rename(fs, from, to);
	return failed ? failed : EEXIST;
}

static int place_copy(struct session *session, const char *from, const char *to)
{
	struct fs *fs = session->dataset->fs;
	const char *temporary = NULL;
	int failed = copy_synced(session, from, &temporary);
	if (failed == 0)
		failed = rename_exclusively(session, temporary, to);
	if (failed && temporary)
		(void)fs->ops->unlink(fs, temporary);
	return failed;
}

static int second_name(struct session *session, const char *from, const char *to)
{
	struct fs *fs = session->dataset->fs;
	if (session->can.hard_links) {
		int failed = fs->ops->link(fs, from, to);
		if (!copy_instead(failed))
			return failed;
	}
	return place_copy(session, from, to);
}

int rename_over(struct fs *fs, const char *from, const char *to)
{
	struct fs_stat before, after;
	int failed = fs->ops->stat(fs, from, &before);
	if (failed)
		return failed;
	failed = fs->ops->rename(fs, from, to);
	if (failed == 0 || fs->ops->stat(fs, from, &after) != ENOENT || fs->ops->stat(fs, to, &after) != 0)
		return failed;
	return after.inode == before.inode && after.device == before.device ? 0 : failed;
}

static recloser_status compare(struct session *session, const char *from, const struct fs_stat *first, const char *to,
							   const struct fs_stat *second, enum placed *out, recloser_error *error)
{
	struct fs *fs = session->dataset->fs;
	char left[SHA256_HEX], right[SHA256_HEX];
	*out = PLACED_SAME;
	if (first->inode == second->inode && first->device == second->device)
		return RECLOSER_OK;
	*out = PLACED_OTHER;
	if (first->bytes != second->bytes)
		return RECLOSER_OK;
	int failed = fs->ops->digest(fs, to, right, NULL);
	if (failed)
		return error_errno(error, "store.read", failed, "read", to);
	failed = fs->ops->digest(fs, from, left, NULL);
	if (failed == ENOENT)
		*out = PLACED_NO_SOURCE;
	else if (failed)
		return error_errno(error, "store.read", failed, "read", from);
	else if (strcmp(left, right) == 0)
		*out = PLACED_SAME;
	return RECLOSER_OK;
}

recloser_status place(struct session *session, const char *from, const char *to, enum placed *out, recloser_error *error)
{
	struct fs_stat first, second;
	bool has_first, has_second;
	int failed = second_name(session, from, to);
	*out = PLACED;
	if (failed == 0)
		return RECLOSER_OK;
	RC_TRY(file_look(session->dataset, to, &second, &has_second, error));
	RC_TRY(file_look(session->dataset, from, &first, &has_first, error));
	*out = PLACED_NO_SOURCE;
	if (!has_first)
		return RECLOSER_OK;
	if (has_second)
		return compare(session, from, &first, to, &second, out, error);
	return error_errno(error, "store.link", failed, "make", to);
}
