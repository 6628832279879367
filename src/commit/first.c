/* SPDX-License-Identifier: Apache-2.0
 * A first load that is refused, or only tried, shall leave nothing: not even the folders that it needed to find out. */
#include "commit/object.h"

#include <string.h>

const char *dataset_level(struct dataset *dataset, struct arena *arena)
{
	if (dataset->bucket)
		return dataset->control; /* there are no folders to be left */
	const char *path = dataset->control;
	struct fs_stat stat;
	while (dataset->fs->ops->stat(dataset->fs, path, &stat) != 0) {
		const char *parent = path_parent(arena, path);
		if (strcmp(parent, path) == 0)
			break;
		path = parent;
	}
	return path;
}

/* Folders that a run makes before it decides. What else is there was made by a run that came further. */
static bool made_early(const char *name)
{
	static const char *const names[] = {"staging", "commits", "ledger", "archive", "tmp", "probe", "lock"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* `staging` goes first, and only when it is empty: another first load that is under way has its folder in it, and keeps
 * everything. Nothing but empty folders, the probe's findings and the lock's text can go. */
void dataset_unmake(struct dataset *dataset, struct arena *arena, const char *level)
{
	struct fs *fs = dataset->fs;
	struct strings names = {0};
	if (dataset->bucket)
		object_unmake(dataset);
	if (strcmp(level, dataset->control) == 0 || fs->ops->list(fs, dataset->control, arena, &names) != 0)
		return;
	for (size_t i = 0; i < names.count; i++)
		if (!made_early(names.at[i]))
			return;
	if (strings_has(&names, "staging") && fs->ops->remove_directory(fs, path_control(dataset, arena, "staging")) != 0)
		return;
	for (size_t i = 0; i < names.count; i++) {
		const char *path = path_control(dataset, arena, names.at[i]);
		if (strcmp(names.at[i], "probe") == 0)
			remove_tree(fs, arena, path, NULL);
		else if (strcmp(names.at[i], "lock") == 0)
			(void)fs->ops->unlink(fs, path);
		else
			(void)fs->ops->remove_directory(fs, path);
	}
	for (const char *path = dataset->control; strcmp(path, level) != 0; path = path_parent(arena, path))
		if (fs->ops->remove_directory(fs, path) != 0)
			return;
}
