#define _GNU_SOURCE /* statx, renameat2, syncfs */
/* SPDX-License-Identifier: Apache-2.0
 * The real file system, on Linux. Calls that a signal interrupts are made again and short writes are continued; nothing
 * else is ever repeated, a failed fsync least of all: the kernel reports a lost page once and calls it clean afterwards.
 * Traits of a mounted file system are in fs_linux.c. */
#include "store/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/fs_linux.h"

enum { BLOCK = 1 << 18, OPEN_FLAGS = O_CLOEXEC | O_NOCTTY };

struct fs_file {
	int descriptor;
};

struct fs_lock {
	int descriptor;
};

static int open_retrying(const char *path, int flags, unsigned mode)
{
	int descriptor;
	do
		descriptor = open(path, flags | OPEN_FLAGS, (mode_t)mode);
	while (descriptor < 0 && errno == EINTR);
	return descriptor;
}

/* Linux has released the descriptor even when close says EINTR, so that is no failure; EIO and ENOSPC (NFS) are. */
static int close_checked(int descriptor)
{
	return close(descriptor) == 0 || errno == EINTR ? 0 : errno;
}

static int posix_stat(struct fs *fs, const char *path, struct fs_stat *out)
{
	(void)fs;
	return linux_stat(path, out);
}

/* By the effective user: that is who renames and links. */
static int posix_may_write(struct fs *fs, const char *directory)
{
	(void)fs;
	return faccessat(AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

/* ---- reading ---- */

static void close_directory(void *slot)
{
	DIR **directory = slot;
	if (*directory)
		closedir(*directory);
	*directory = NULL;
}

static int posix_list(struct fs *fs, const char *path, struct arena *arena, struct strings *names)
{
	(void)fs;
	DIR **directory = arena_alloc(arena, sizeof *directory);
	arena_defer(arena, close_directory, directory); /* running out of memory below leaves by longjmp */
	*directory = opendir(path);
	if (!*directory)
		return errno;
	int failed = 0;
	for (;;) {
		errno = 0;
		const struct dirent *entry = readdir(*directory);
		if (!entry) {
			failed = errno;
			break;
		}
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			strings_add(arena, names, arena_strdup(arena, entry->d_name));
	}
	close_directory(directory);
	strings_sort(names);
	return failed;
}

static ssize_t read_retrying(int descriptor, char *at, size_t count)
{
	ssize_t got;
	do
		got = read(descriptor, at, count);
	while (got < 0 && errno == EINTR);
	return got;
}

static void free_slot(void *slot)
{
	free(*(char **)slot);
}

static int read_all(int descriptor, char **slot, size_t *count)
{
	size_t size = 4096, used = 0;
	*slot = malloc(size);
	while (*slot) {
		ssize_t got = read_retrying(descriptor, *slot + used, size - used - 1);
		if (got < 0)
			return errno;
		if (got == 0) {
			(*slot)[used] = '\0';
			*count = used;
			return 0;
		}
		used += (size_t)got;
		if (size - used > 1)
			continue;
		char *larger = realloc(*slot, size *= 2);
		if (!larger)
			return ENOMEM;
		*slot = larger;
	}
	return ENOMEM;
}

static int posix_read(struct fs *fs, const char *path, struct arena *arena, char **bytes, size_t *count)
{
	(void)fs;
	char **slot = arena_alloc(arena, sizeof *slot);
	arena_defer(arena, free_slot, slot);
	int descriptor = open_retrying(path, O_RDONLY, 0);
	if (descriptor < 0)
		return errno;
	int failed = read_all(descriptor, slot, count);
	close(descriptor);
	if (failed == ENOMEM)
		arena_out_of_memory(arena);
	*bytes = *slot;
	return failed;
}

static int digest_all(int descriptor, char *buffer, struct sha256 *digest, uint64_t *bytes)
{
	for (;;) {
		ssize_t got = read_retrying(descriptor, buffer, BLOCK);
		if (got <= 0)
			return got == 0 ? 0 : errno;
		sha256_add(digest, buffer, (size_t)got);
		*bytes += (uint64_t)got;
	}
}

static int posix_digest(struct fs *fs, const char *path, char hex[SHA256_HEX], uint64_t *bytes)
{
	(void)fs;
	int descriptor = open_retrying(path, O_RDONLY, 0);
	if (descriptor < 0)
		return errno;
	char *buffer = malloc(BLOCK);
	struct sha256 *digest = sha256_new();
	uint64_t total = 0;
	int failed = buffer && digest ? digest_all(descriptor, buffer, digest, &total) : ENOMEM;
	if (failed == 0) {
		uint8_t out[32];
		sha256_end(digest, out);
		hex_of(out, sizeof out, hex);
		if (bytes)
			*bytes = total;
	}
	sha256_free(digest);
	free(buffer);
	close(descriptor);
	return failed;
}

static int posix_describe(struct fs *fs, const char *path, struct fs_traits *out)
{
	(void)fs;
	return linux_describe(path, out);
}

/* ---- writing and syncing ---- */

static int write_all(int descriptor, const char *bytes, size_t count)
{
	while (count > 0) {
		ssize_t written = write(descriptor, bytes, count);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return errno;
		bytes += written;
		count -= (size_t)written;
	}
	return 0;
}

/* Hands the descriptor over to the caller, or closes it. */
static int keep_or_close(int descriptor, struct fs_file **keep)
{
	if (!keep)
		return close_checked(descriptor);
	*keep = malloc(sizeof **keep);
	if (!*keep) {
		close(descriptor);
		return ENOMEM;
	}
	(*keep)->descriptor = descriptor;
	return 0;
}

static int posix_write(struct fs *fs, const char *path, const void *bytes, size_t count, unsigned mode,
					   struct fs_file **keep)
{
	(void)fs;
	int descriptor = open_retrying(path, O_WRONLY | O_CREAT | O_EXCL, mode);
	if (descriptor < 0)
		return errno;
	int failed = write_all(descriptor, bytes, count);
	if (failed)
		close(descriptor);
	else
		failed = keep_or_close(descriptor, keep);
	if (failed)
		unlink(path); /* ours alone: it was created here */
	return failed;
}

static int posix_open(struct fs *fs, const char *path, bool create, struct fs_file **out)
{
	(void)fs;
	int descriptor = open_retrying(path, create ? O_RDWR | O_CREAT | O_EXCL : O_RDONLY, 0666);
	return descriptor < 0 ? errno : keep_or_close(descriptor, out);
}

static int posix_sync(struct fs *fs, struct fs_file *file)
{
	(void)fs;
	return fsync(file->descriptor) == 0 ? 0 : errno;
}

static void posix_close(struct fs *fs, struct fs_file *file)
{
	(void)fs;
	if (!file)
		return;
	close(file->descriptor);
	free(file);
}

static int posix_sync_directory(struct fs *fs, const char *path)
{
	(void)fs;
	int descriptor = open_retrying(path, O_RDONLY | O_DIRECTORY, 0);
	if (descriptor < 0)
		return errno;
	int failed = fsync(descriptor) == 0 ? 0 : errno;
	close(descriptor);
	return failed;
}

static int posix_sync_all(struct fs *fs, struct fs_file *file)
{
	(void)fs;
	if (!linux_syncfs_reports(file->descriptor))
		return ENOSYS;
	return syncfs(file->descriptor) == 0 ? 0 : errno;
}

/* ---- names ---- */

static int posix_make_directory(struct fs *fs, const char *path)
{
	(void)fs;
	return mkdir(path, 0777) == 0 ? 0 : errno;
}

static int posix_link(struct fs *fs, const char *from, const char *to)
{
	(void)fs;
	return linkat(AT_FDCWD, from, AT_FDCWD, to, 0) == 0 ? 0 : errno;
}

static int posix_rename(struct fs *fs, const char *from, const char *to)
{
	(void)fs;
	return rename(from, to) == 0 ? 0 : errno;
}

static int posix_rename_new(struct fs *fs, const char *from, const char *to)
{
	(void)fs;
	return renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0 ? 0 : errno;
}

static int copy_bytes(int from, int to)
{
	if (ioctl(to, FICLONE, from) == 0)
		return 0;
	char *buffer = malloc(BLOCK);
	if (!buffer)
		return ENOMEM;
	ssize_t got;
	int failed = 0;
	while (failed == 0 && (got = read_retrying(from, buffer, BLOCK)) != 0)
		failed = got < 0 ? errno : write_all(to, buffer, (size_t)got);
	free(buffer);
	return failed;
}

static int posix_copy(struct fs *fs, const char *from, const char *to)
{
	(void)fs;
	struct stat stat;
	int source = open_retrying(from, O_RDONLY, 0);
	if (source < 0)
		return errno;
	int failed = fstat(source, &stat) == 0 ? 0 : errno;
	int target = failed ? -1 : open_retrying(to, O_WRONLY | O_CREAT | O_EXCL, stat.st_mode & 0777);
	if (failed == 0 && target < 0)
		failed = errno;
	if (target >= 0) {
		failed = copy_bytes(source, target);
		int closed = close_checked(target);
		failed = failed ? failed : closed;
		if (failed)
			unlink(to);
	}
	close(source);
	return failed;
}

static int posix_unlink(struct fs *fs, const char *path)
{
	(void)fs;
	return unlink(path) == 0 ? 0 : errno;
}

static int posix_remove_directory(struct fs *fs, const char *path)
{
	(void)fs;
	return rmdir(path) == 0 ? 0 : errno;
}

static int posix_chmod(struct fs *fs, const char *path, unsigned mode)
{
	(void)fs;
	return chmod(path, (mode_t)mode) == 0 ? 0 : errno;
}

/* ---- locks ---- */

/* Another user's lock file may not be writable; flock does not mind. */
static int open_lock(const char *path, bool *writable)
{
	int descriptor = open_retrying(path, O_RDWR | O_CREAT, 0666);
	*writable = descriptor >= 0;
	if (descriptor < 0 && (errno == EACCES || errno == EROFS))
		descriptor = open_retrying(path, O_RDONLY, 0);
	return descriptor;
}

/* Whoever unlinks a lock file holds it, so a lock counts only while the name still leads to the locked file. */
static int take_lock(int descriptor, const char *path)
{
	struct stat held, named;
	int failed;
	do
		failed = flock(descriptor, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
	while (failed == EINTR);
	if (failed)
		return failed;
	if (fstat(descriptor, &held) != 0)
		return errno;
	if (stat(path, &named) != 0)
		return errno == ENOENT ? ESTALE : errno;
	return held.st_ino == named.st_ino && held.st_dev == named.st_dev ? 0 : ESTALE;
}

static int posix_lock(struct fs *fs, const char *path, const char *text, struct fs_lock **out)
{
	(void)fs;
	for (;;) {
		bool writable;
		int descriptor = open_lock(path, &writable);
		if (descriptor < 0)
			return errno;
		int failed = take_lock(descriptor, path);
		if (failed == 0 && !(*out = malloc(sizeof **out)))
			failed = ENOMEM;
		if (failed) {
			close(descriptor);
			if (failed == ESTALE)
				continue;
			return failed;
		}
		if (text && writable && ftruncate(descriptor, 0) == 0)
			(void)write_all(descriptor, text, strlen(text)); /* for people only */
		(*out)->descriptor = descriptor;
		return 0;
	}
}

static void posix_unlock(struct fs *fs, struct fs_lock *lock)
{
	(void)fs;
	if (!lock)
		return;
	close(lock->descriptor);
	free(lock);
}

static const struct fs_ops posix_ops = {
	.name = "posix",
	.stat = posix_stat,
	.list = posix_list,
	.read = posix_read,
	.digest = posix_digest,
	.describe = posix_describe,
	.may_write = posix_may_write,
	.write = posix_write,
	.open = posix_open,
	.sync = posix_sync,
	.close = posix_close,
	.sync_directory = posix_sync_directory,
	.sync_all = posix_sync_all,
	.make_directory = posix_make_directory,
	.link = posix_link,
	.rename = posix_rename,
	.rename_new = posix_rename_new,
	.copy = posix_copy,
	.unlink = posix_unlink,
	.remove_directory = posix_remove_directory,
	.chmod = posix_chmod,
	.lock = posix_lock,
	.unlock = posix_unlock,
};

struct fs *fs_posix(struct arena *arena)
{
	struct fs *fs = arena_alloc(arena, sizeof *fs);
	fs->ops = &posix_ops;
	return fs;
}
