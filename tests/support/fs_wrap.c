/* SPDX-License-Identifier: Apache-2.0
 * A file system around another, with a hook before and after each call that can fail. */
#include "fs_test.h"

struct wrap {
	struct fs outer;
	struct fs *inner;
	struct fs_hook hook;
};

#define INNER                                                                                                               \
	struct wrap *w = fs->impl;                                                                                              \
	struct fs *in = w->inner

static int before(struct wrap *w, enum fs_call call, const char *path, const char *to)
{
	return w->hook.before ? w->hook.before(w->hook.arg, call, path, to) : 0;
}

static int after(struct wrap *w, enum fs_call call, const char *path, const char *to, int result)
{
	return w->hook.after ? w->hook.after(w->hook.arg, call, path, to, result) : result;
}

#define WRAPPED(call, path, to, expression)                                                                                 \
	do {                                                                                                                    \
		INNER;                                                                                                              \
		int refused = before(w, call, path, to);                                                                            \
		return refused ? refused : after(w, call, path, to, expression);                                                    \
	} while (0)

static int wrap_stat(struct fs *fs, const char *path, struct fs_stat *out)
{
	WRAPPED(CALL_STAT, path, NULL, in->ops->stat(in, path, out));
}

static int wrap_list(struct fs *fs, const char *path, struct arena *arena, struct strings *names)
{
	WRAPPED(CALL_LIST, path, NULL, in->ops->list(in, path, arena, names));
}

static int wrap_read(struct fs *fs, const char *path, struct arena *arena, char **bytes, size_t *count)
{
	WRAPPED(CALL_READ, path, NULL, in->ops->read(in, path, arena, bytes, count));
}

static int wrap_digest(struct fs *fs, const char *path, char hex[SHA256_HEX], uint64_t *bytes)
{
	WRAPPED(CALL_DIGEST, path, NULL, in->ops->digest(in, path, hex, bytes));
}

static int wrap_describe(struct fs *fs, const char *path, struct fs_traits *out)
{
	WRAPPED(CALL_DESCRIBE, path, NULL, in->ops->describe(in, path, out));
}

static int wrap_may_write(struct fs *fs, const char *directory)
{
	WRAPPED(CALL_MAY_WRITE, directory, NULL, in->ops->may_write(in, directory));
}

static int wrap_write(struct fs *fs, const char *path, const void *bytes, size_t count, unsigned mode, struct fs_file **keep)
{
	WRAPPED(CALL_WRITE, path, NULL, in->ops->write(in, path, bytes, count, mode, keep));
}

static int wrap_open(struct fs *fs, const char *path, bool create, struct fs_file **out)
{
	WRAPPED(CALL_OPEN, path, NULL, in->ops->open(in, path, create, out));
}

static int wrap_sync(struct fs *fs, struct fs_file *file)
{
	WRAPPED(CALL_SYNC, "", NULL, in->ops->sync(in, file));
}

static void wrap_close(struct fs *fs, struct fs_file *file)
{
	INNER;
	in->ops->close(in, file);
}

static int wrap_sync_directory(struct fs *fs, const char *path)
{
	WRAPPED(CALL_SYNC_DIRECTORY, path, NULL, in->ops->sync_directory(in, path));
}

static int wrap_sync_all(struct fs *fs, struct fs_file *file)
{
	WRAPPED(CALL_SYNC_ALL, "", NULL, in->ops->sync_all(in, file));
}

static int wrap_make_directory(struct fs *fs, const char *path)
{
	WRAPPED(CALL_MAKE_DIRECTORY, path, NULL, in->ops->make_directory(in, path));
}

static int wrap_link(struct fs *fs, const char *from, const char *to)
{
	WRAPPED(CALL_LINK, from, to, in->ops->link(in, from, to));
}

static int wrap_rename(struct fs *fs, const char *from, const char *to)
{
	WRAPPED(CALL_RENAME, from, to, in->ops->rename(in, from, to));
}

static int wrap_rename_new(struct fs *fs, const char *from, const char *to)
{
	WRAPPED(CALL_RENAME_NEW, from, to, in->ops->rename_new(in, from, to));
}

static int wrap_copy(struct fs *fs, const char *from, const char *to)
{
	WRAPPED(CALL_COPY, from, to, in->ops->copy(in, from, to));
}

static int wrap_unlink(struct fs *fs, const char *path)
{
	WRAPPED(CALL_UNLINK, path, NULL, in->ops->unlink(in, path));
}

static int wrap_remove_directory(struct fs *fs, const char *path)
{
	WRAPPED(CALL_REMOVE_DIRECTORY, path, NULL, in->ops->remove_directory(in, path));
}

static int wrap_chmod(struct fs *fs, const char *path, unsigned mode)
{
	WRAPPED(CALL_CHMOD, path, NULL, in->ops->chmod(in, path, mode));
}

static int wrap_lock(struct fs *fs, const char *path, const char *text, struct fs_lock **out)
{
	WRAPPED(CALL_LOCK, path, NULL, in->ops->lock(in, path, text, out));
}

static void wrap_unlock(struct fs *fs, struct fs_lock *lock)
{
	INNER;
	in->ops->unlock(in, lock);
}

static const struct fs_ops wrap_ops = {
	.name = "wrap",
	.stat = wrap_stat,
	.list = wrap_list,
	.read = wrap_read,
	.digest = wrap_digest,
	.describe = wrap_describe,
	.may_write = wrap_may_write,
	.write = wrap_write,
	.open = wrap_open,
	.sync = wrap_sync,
	.close = wrap_close,
	.sync_directory = wrap_sync_directory,
	.sync_all = wrap_sync_all,
	.make_directory = wrap_make_directory,
	.link = wrap_link,
	.rename = wrap_rename,
	.rename_new = wrap_rename_new,
	.copy = wrap_copy,
	.unlink = wrap_unlink,
	.remove_directory = wrap_remove_directory,
	.chmod = wrap_chmod,
	.lock = wrap_lock,
	.unlock = wrap_unlock,
};

struct fs *fs_wrap(struct arena *arena, struct fs *inner, const struct fs_hook *hook)
{
	struct wrap *w = arena_alloc(arena, sizeof *w);
	w->inner = inner;
	w->hook = *hook;
	w->outer = (struct fs){&wrap_ops, w};
	return &w->outer;
}
