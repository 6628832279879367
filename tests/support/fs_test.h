/* SPDX-License-Identifier: Apache-2.0
 * File systems for tests, behind the table of store/fs.h.
 *
 *   fs_memory   a tree in memory that remembers which changes were synced, so that every state which a power cut may leave
 *               can be built
 *   fs_wrap     calls another file system and lets a hook see, delay, refuse or falsify each call
 *   fs_recording, fs_failing   the two hooks that most tests need */
#ifndef RECLOSER_TESTS_FS_TEST_H
#define RECLOSER_TESTS_FS_TEST_H

#include "store/fs.h"

/* ---- fs_memory ---- */

/* What is missing, by name of the guarantee; all false is a good local file system. */
struct fs_memory_lacks {
	bool hard_links, rename_new, locks, directory_sync, syncfs, journal, case_sensitive;
};

struct fs *fs_memory(struct arena *arena, const struct fs_memory_lacks *lacks); /* `lacks` may be NULL */
/* Everything at and under `path` is on another mount: link and rename across give EXDEV. `device`: another st_dev, too. */
void fs_memory_mount(struct fs *fs, const char *path, bool device);
/* Replace a file as a foreign program would: a new inode, renamed over the old one. */
void fs_memory_put(struct fs *fs, const char *path, const char *content);

/* Changes and syncs so far are events 0 .. count - 1. */
size_t fs_memory_events(struct fs *fs);
/* After `events` events: which of them are changes of names that no sync has made durable. Fills at most `room`, gives all.
 */
size_t fs_memory_pending(struct fs *fs, size_t events, size_t *pending, size_t room);
/* The tree after a power cut at that point. survives[event] is asked for pending changes only. `garbage`: content that was
 * not synced is lost, whatever its name does; else all of it made it. */
struct fs *fs_memory_cut(struct arena *arena, struct fs *fs, size_t events, const bool *survives, bool garbage);

/* ---- fs_wrap ---- */

enum fs_call {
	CALL_STAT,
	CALL_LIST,
	CALL_READ,
	CALL_DIGEST,
	CALL_DESCRIBE,
	CALL_MAY_WRITE,
	CALL_WRITE,
	CALL_OPEN,
	CALL_SYNC,
	CALL_SYNC_DIRECTORY,
	CALL_SYNC_ALL,
	CALL_MAKE_DIRECTORY,
	CALL_LINK,
	CALL_RENAME,
	CALL_RENAME_NEW,
	CALL_COPY,
	CALL_UNLINK,
	CALL_REMOVE_DIRECTORY,
	CALL_CHMOD,
	CALL_LOCK,
	CALL_KINDS
};

struct fs_hook {
	void *arg;
	/* Not 0: the call is not made and gives this errno. */
	int (*before)(void *arg, enum fs_call call, const char *path, const char *to);
	/* What the call gave, and what to say instead. */
	int (*after)(void *arg, enum fs_call call, const char *path, const char *to, int result);
};
struct fs *fs_wrap(struct arena *arena, struct fs *inner, const struct fs_hook *hook);

struct fs_recording {
	struct arena *arena;
	unsigned counts[CALL_KINDS];
	struct strings calls; /* "rename a b", in order */
};
struct fs *fs_recording(struct arena *arena, struct fs *inner, struct fs_recording *recording);
unsigned fs_recording_syncs(const struct fs_recording *recording); /* of files, directories and everything */

struct fs_failing {
	unsigned at;       /* number of the call that fails, from 1; 0: none */
	bool and_after;    /* all later calls fail as well */
	bool lies;         /* link and rename do their work first */
	bool changes_only; /* count and fail only calls that write or sync */
	int number;        /* errno */
	unsigned calls;    /* out */
};
struct fs *fs_failing(struct arena *arena, struct fs *inner, struct fs_failing *failing);

#endif
