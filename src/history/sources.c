/* SPDX-License-Identifier: Apache-2.0
 * Inputs kept beside the versions that were made of them, by their content: sources-archive/<sha256>. */
#include <string.h>

#include "history/history.h"

static const char *place_of(struct arena *arena, const char *sha256)
{
	return arena_printf(arena, "sources-archive/%s", sha256);
}

const char *source_archived(struct dataset *dataset, struct arena *arena, const char *sha256)
{
	struct fs_stat stat;
	bool there = false;
	recloser_error ignored = {0};
	const char *path = path_control(dataset, arena, place_of(arena, sha256));
	return file_look(dataset, path, &stat, &there, &ignored) == RECLOSER_OK && there ? path : NULL;
}

recloser_status source_archive(struct dataset *dataset, struct arena *arena, const char *file, const char *sha256,
							   const char *scratch, recloser_error *error)
{
	struct fs *fs = dataset->fs;
	const char *staged = path_in(arena, scratch, arena_printf(arena, "source-%.16s", sha256), "");
	char hex[SHA256_HEX];
	if (source_archived(dataset, arena, sha256))
		return RECLOSER_OK;
	(void)fs->ops->unlink(fs, staged);
	int failed = fs->ops->copy(fs, file, staged);
	if (failed)
		return error_errno(error, "source.archive", failed, "copy to the archive", file);
	failed = fs->ops->digest(fs, staged, hex, NULL);
	if (failed)
		return error_errno(error, "source.archive", failed, "read", staged);
	if (strcmp(hex, sha256) != 0) {
		error_set(error, RECLOSER_IO, "source.changed", "the file changed while it was being loaded");
		error_where(error, "%s", file);
		return error_hint(error, "nothing was made live; run the load again when nobody writes the file");
	}
	(void)fs->ops->chmod(fs, staged, 0444);
	return control_adopt(dataset, arena, staged, place_of(arena, sha256), error);
}
