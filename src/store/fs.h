/* SPDX-License-Identifier: Apache-2.0
 * Every side effect on a dataset that lies on a file system goes through this table, so that tests can count, record, fail
 * or replay it: fs_posix is the real one, fs_memory keeps a tree in memory with the crash semantics of a journalled file
 * system, fs_recording and fs_failing wrap another.
 *
 * Paths are absolute or relative to the working directory, as the caller has them. Every call returns 0 or an errno;
 * deciding what an errno means is the caller's affair. */
#ifndef RECLOSER_STORE_FS_H
#define RECLOSER_STORE_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/text.h"

struct fs_stat {
	uint64_t bytes, inode, device, mount; /* mount: statx mount id, 0 where the kernel has none */
	int64_t mtime_ns;
	uint32_t links, mode, owner;
	bool is_directory;
};

/* What a file system is, as far as that can be told without trying; commit/probe.c tries the rest. */
struct fs_traits {
	char type[32];     /* "ext4", "nfs4"; "" where the kernel does not say */
	unsigned name_max; /* longest name of one file */
	bool syncfs;       /* sync_all writes everything and reports what failed */
	bool journal;      /* a rename survives a power cut whole or not at all */
};

struct fs_file; /* an open descriptor */
struct fs_lock;

struct fs {
	const struct fs_ops *ops;
	void *impl;
};

struct fs_ops {
	const char *name;
	int (*stat)(struct fs *, const char *path, struct fs_stat *out);
	int (*list)(struct fs *, const char *directory, struct arena *arena,
				struct strings *names); /* sorted, without . and .. */
	int (*read)(struct fs *, const char *path, struct arena *arena, char **bytes,
				size_t *count); /* whole small files; a NUL follows */
	int (*digest)(struct fs *, const char *path, char hex[SHA256_HEX], uint64_t *bytes);
	int (*describe)(struct fs *, const char *path, struct fs_traits *out);
	int (*may_write)(struct fs *, const char *directory); /* may this user change names in it; EACCES, EROFS */
	/* Create exclusively, write all, close. `keep` (may be NULL) receives a descriptor that stays open for sync. */
	int (*write)(struct fs *, const char *path, const void *bytes, size_t count, unsigned mode, struct fs_file **keep);
	/* A file that others write, or a directory, to sync it. `create`: exclusively. */
	int (*open)(struct fs *, const char *path, bool create, struct fs_file **out);
	int (*sync)(struct fs *, struct fs_file *file);
	void (*close)(struct fs *, struct fs_file *file);
	int (*sync_directory)(struct fs *, const char *path);
	int (*sync_all)(struct fs *, struct fs_file *file); /* syncfs; ENOSYS where its report can't be trusted */
	int (*make_directory)(struct fs *, const char *path);
	int (*link)(struct fs *, const char *from, const char *to);
	int (*rename)(struct fs *, const char *from, const char *to);
	int (*rename_new)(struct fs *, const char *from, const char *to); /* RENAME_NOREPLACE */
	int (*copy)(struct fs *, const char *from, const char *to);       /* exclusive, reflink where possible */
	int (*unlink)(struct fs *, const char *path);
	int (*remove_directory)(struct fs *, const char *path);
	int (*chmod)(struct fs *, const char *path, unsigned mode);
	/* Advisory, by flock; never waits. EWOULDBLOCK: held by another. ENOLCK, ENOSYS, EOPNOTSUPP: no locks here. The file is
	 * made when absent and is still the one at `path` when this returns; `text` (may be NULL) replaces its content. */
	int (*lock)(struct fs *, const char *path, const char *text, struct fs_lock **out);
	void (*unlock)(struct fs *, struct fs_lock *lock);
};

struct fs *fs_posix(struct arena *arena);

#endif
