/* SPDX-License-Identifier: Apache-2.0
 * Steps 0 and 1: a directory of this run's own, on the file system of the dataset, with an `alive` lock that tells the
 * sweeper of another run that this one still works. */
#include "commit/object.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "store/scratch.h"

enum { MOST_HELD = 256, PART_MODE = 0444, TRIES = 100 };

/* ---- step 0: one file system, and the right to write there ---- */

static recloser_status existing_level(struct dataset *dataset, struct arena *arena, const char *path, struct fs_stat *out,
									  const char **found, recloser_error *error)
{
	for (;;) {
		bool there;
		RC_TRY(file_look(dataset, path, out, &there, error));
		*found = path;
		const char *parent = path_parent(arena, path);
		if (there || strcmp(parent, path) == 0)
			return RECLOSER_OK;
		path = parent;
	}
}

/* Mount ids, too: a bind mount and a btrfs subvolume look alike by device or by mount alone, and refuse link and rename. */
static recloser_status same_file_system(struct dataset *dataset, struct arena *arena, const char *one, const char *other,
										recloser_error *error)
{
	struct fs_stat first, second;
	const char *first_level, *second_level;
	RC_TRY(existing_level(dataset, arena, one, &first, &first_level, error));
	RC_TRY(existing_level(dataset, arena, other, &second, &second_level, error));
	if (first.device == second.device && first.mount == second.mount)
		return RECLOSER_OK;
	error_set(error, RECLOSER_IO, "store.other_file_system", "%s and %s are not on one file system", first_level,
			  second_level);
	error_where(error, "%s", other);
	return error_hint(error,
					  "a version goes live by one rename, which can't cross mounts: keep <root>/%s and <root>/_recloser "
					  "on the same mount",
					  dataset->name);
}

/* Asked before anything is decided: a partition whose directory belongs to somebody else would stop a decided run half way. */
static recloser_status writable(struct dataset *dataset, struct arena *arena, const char *path, recloser_error *error)
{
	struct fs_stat stat;
	const char *level;
	RC_TRY(existing_level(dataset, arena, path, &stat, &level, error));
	int failed = stat.is_directory ? dataset->fs->ops->may_write(dataset->fs, level) : ENOTDIR;
	if (failed == 0 || failed == ENOENT)
		return RECLOSER_OK;
	error_errno(error, "store.not_writable", failed, "write into", level);
	return error_where(error, "%s", path);
}

static recloser_status check_places(struct dataset *dataset, struct arena *arena, const char *partition,
									recloser_error *error)
{
	const char *today = clock_text(arena, clock_now_us()); /* a run over midnight is archived a day later */
	const char *others[] = {
		path_in(arena, dataset->tree, partition, ""),
		path_in(arena, path_control(dataset, arena, "ledger"), partition, ""),
		path_parent(arena, path_control(dataset, arena, archive_name(arena, today, partition, 1))),
		path_control(dataset, arena, "commits"),
	};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		RC_TRY(same_file_system(dataset, arena, path_control(dataset, arena, "staging"), others[i], error));
		RC_TRY(writable(dataset, arena, others[i], error));
	}
	return RECLOSER_OK;
}

/* ---- step 1 ---- */

static void release_staging(void *pointer)
{
	struct staging *staging = pointer;
	struct fs *fs = staging->session.dataset->fs;
	for (size_t i = 0; i < staging->held_count; i++)
		fs->ops->close(fs, staging->held[i]);
	staging->held_count = 0;
	if (staging->alive)
		fs->ops->unlock(fs, staging->alive);
	staging->alive = NULL;
}

/* A sweeper may meet the new directory before it is locked, and take it away: then make it again. */
recloser_status staging_make(struct dataset *dataset, struct arena *arena, const char *run, struct staging *staging,
							 recloser_error *error)
{
	struct fs *fs = dataset->fs;
	staging->session.dataset = dataset;
	staging->run = arena_strdup(arena, run);
	staging->directory = path_staging(dataset, arena, run);
	const char *alive = path_in(arena, staging->directory, "alive", ""), *text = lock_text(arena, run);
	arena_defer(arena, release_staging, staging);
	for (int i = 0; i < TRIES; i++) {
		RC_TRY(make_directory(dataset, arena, staging->directory, error));
		int failed = fs->ops->lock(fs, alive, text, &staging->alive);
		if (failed == 0 || means_no_locks(failed))
			return RECLOSER_OK;
		if (failed != EWOULDBLOCK && failed != EAGAIN && failed != ENOENT)
			return error_errno(error, "store.lock", failed, "lock", alive);
		nanosleep(&(struct timespec){0, 10 * 1000 * 1000}, NULL);
	}
	error_set(error, RECLOSER_CONFLICT, "commit.run_in_use", "another process works under the run id %s", run);
	return error_where(error, "%s", alive);
}

recloser_status staging_begin(struct dataset *dataset, struct arena *arena, const char *run, struct staging **out,
							  recloser_error *error)
{
	if (dataset->bucket)
		return object_staging_begin(dataset, arena, run, out, error);
	static const char *const parts[] = {"commits", "ledger", "archive", "tmp"};
	struct staging *staging = arena_alloc(arena, sizeof *staging);
	RC_TRY(check_places(dataset, arena, "", error));
	RC_TRY(staging_make(dataset, arena, run, staging, error));
	RC_TRY(session_open(dataset, arena, staging->directory, &staging->session, error));
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		RC_TRY(make_directory(dataset, arena, path_control(dataset, arena, parts[i]), error));
	RC_TRY(check_places(dataset, arena, "", error)); /* a part may be a mount of its own, now that it can be seen */
	*out = staging;
	return RECLOSER_OK;
}

/* A dry run and a comparison with a file that is not loaded: on a read-only mount, or in somebody else's dataset. */
recloser_status staging_try(struct dataset *dataset, struct arena *arena, const char *run, const char *temp, struct staging **out,
							recloser_error *error)
{
	recloser_error refused = {0};
	const char *directory;
	if (dataset->bucket || check_places(dataset, arena, "", &refused) == RECLOSER_OK || strcmp(refused.code, "store.not_writable") != 0)
		return staging_begin(dataset, arena, run, out, error);
	RC_TRY(scratch_make(arena, temp, &directory, error));
	struct staging *staging = arena_alloc(arena, sizeof *staging);
	*staging = (struct staging){.session = {.dataset = dataset, .arena = arena}, .run = run, .directory = directory, .aside = true};
	*out = staging;
	return RECLOSER_OK;
}

const char *staging_directory(const struct staging *staging)
{
	return staging->directory;
}

recloser_status staging_file(struct staging *staging, const char *partition, const char **path, recloser_error *error)
{
	if (staging->session.dataset->bucket)
		return object_staging_file(staging, partition, path, error);
	struct session *session = &staging->session;
	struct dataset *dataset = session->dataset;
	if (staging->aside) {
		*path = path_in(session->arena, staging->directory, partition, "part");
		return make_directory(dataset, session->arena, path_parent(session->arena, *path), error);
	}
	RC_TRY(path_lengths(dataset, session->arena, staging->run, partition, session->can.name_max, error));
	RC_TRY(check_places(dataset, session->arena, partition, error));
	RC_TRY(make_directory(dataset, session->arena, path_in(session->arena, staging->directory, partition, ""), error));
	*path = path_staged(dataset, session->arena, staging->run, partition, "version");
	return RECLOSER_OK;
}

/* syncfs reports errors of files that nobody holds; without it a descriptor is kept, as far as descriptors go, because an
 * error is lost with the inode's last descriptor when the inode leaves the cache. */
static recloser_status keep_open(struct staging *staging, const char *partition, const char *path, recloser_error *error)
{
	struct arena *arena = staging->session.arena;
	struct fs *fs = staging->session.dataset->fs;
	if (staging->session.everything || staging->held_count == MOST_HELD || strings_has(&staging->held_names, partition))
		return RECLOSER_OK;
	if (!staging->held)
		staging->held = arena_array(arena, MOST_HELD, sizeof *staging->held);
	strings_add(arena, &staging->held_names, arena_strdup(arena, partition));
	int failed = fs->ops->open(fs, path, false, &staging->held[staging->held_count]);
	if (failed)
		return error_errno(error, "store.open", failed, "open", path);
	staging->held_count++;
	return RECLOSER_OK;
}

recloser_status staging_hold(struct staging *staging, const char *partition, recloser_error *error)
{
	if (staging->session.dataset->bucket || staging->aside)
		return RECLOSER_OK; /* what is local goes with the command */
	struct fs *fs = staging->session.dataset->fs;
	const char *path = path_staged(staging->session.dataset, staging->session.arena, staging->run, partition, "version");
	RC_TRY(keep_open(staging, partition, path, error));
	/* Version and archive share an inode, so an editor that writes in place would destroy both. 0444 stops all but root. */
	int failed = fs->ops->chmod(fs, path, PART_MODE);
	if (failed && failed != EPERM && failed != ENOSYS && failed != EOPNOTSUPP)
		return error_errno(error, "store.chmod", failed, "protect", path);
	return RECLOSER_OK;
}

recloser_status staging_link(struct staging *staging, const char *partition, const char *archived, recloser_error *error)
{
	if (staging->session.dataset->bucket)
		return object_staging_link(staging, partition, archived, error);
	struct session *session = &staging->session;
	const char *path, *from = path_control(session->dataset, session->arena, archived);
	enum placed placed;
	RC_TRY(staging_file(staging, partition, &path, error));
	RC_TRY(place(session, from, path, &placed, error));
	if (placed == PLACED || placed == PLACED_SAME)
		return RECLOSER_OK;
	error_set(error, RECLOSER_IO, "archive.gone",
			  placed == PLACED_NO_SOURCE ? "the archived version is not there"
										 : "another file is staged for this partition already");
	return error_where(error, "%s", placed == PLACED_NO_SOURCE ? from : path);
}

recloser_status staging_drop(struct staging *staging, const char *partition, recloser_error *error)
{
	if (staging->session.dataset->bucket)
		return object_staging_drop(staging, partition, error);
	static const char *const kinds[] = {"version", "adopted"};
	struct session *session = &staging->session;
	struct fs *fs = session->dataset->fs;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const char *path = path_staged(session->dataset, session->arena, staging->run, partition, kinds[i]);
		int failed = fs->ops->unlink(fs, path);
		if (failed && failed != ENOENT)
			return error_errno(error, "store.unlink", failed, "remove", path);
		(void)fs->ops->unlink(fs, path_staged_record(session->dataset, session->arena, staging->run, partition, kinds[i]));
	}
	return RECLOSER_OK;
}

void staging_abandon(struct staging *staging)
{
	if (staging->session.dataset->bucket) {
		object_staging_abandon(staging);
		return;
	}
	struct dataset *dataset = staging->session.dataset;
	if (staging->decided || staging->gone || staging->aside) /* a scratch directory goes with the arena */
		return;
	remove_tree(dataset->fs, staging->session.arena, staging->directory, "alive");
	staging->gone = true;
	release_staging(staging);
}
