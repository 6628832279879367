/* SPDX-License-Identifier: Apache-2.0
 * fs_recording and fs_failing: hooks for fs_wrap. */
#include "fs_test.h"

static const char *const names[CALL_KINDS] = {
	"stat",   "list",       "read",           "digest",   "describe",         "may_write", "write",
	"open",   "sync",       "sync_directory", "sync_all", "make_directory",   "link",
	"rename", "rename_new", "copy",           "unlink",   "remove_directory", "chmod",
	"lock",
};

/* ---- recording ---- */

static int record(void *arg, enum fs_call call, const char *path, const char *to)
{
	struct fs_recording *r = arg;
	r->counts[call]++;
	strings_add(r->arena, &r->calls, arena_printf(r->arena, "%s %s%s%s", names[call], path, to ? " " : "", to ? to : ""));
	return 0;
}

struct fs *fs_recording(struct arena *arena, struct fs *inner, struct fs_recording *recording)
{
	struct fs_hook hook = {recording, record, NULL};
	*recording = (struct fs_recording){.arena = arena};
	return fs_wrap(arena, inner, &hook);
}

unsigned fs_recording_syncs(const struct fs_recording *recording)
{
	return recording->counts[CALL_SYNC] + recording->counts[CALL_SYNC_DIRECTORY] + recording->counts[CALL_SYNC_ALL];
}

/* ---- failing ---- */

static bool changes(enum fs_call call)
{
	return call >= CALL_WRITE && call != CALL_OPEN && call != CALL_LOCK;
}

static bool names_only(enum fs_call call)
{
	return call == CALL_LINK || call == CALL_RENAME || call == CALL_RENAME_NEW;
}

static bool due(const struct fs_failing *f)
{
	return f->at && (f->calls == f->at || (f->and_after && f->calls > f->at));
}

static int fail_before(void *arg, enum fs_call call, const char *path, const char *to)
{
	struct fs_failing *f = arg;
	(void)path;
	(void)to;
	if (f->changes_only && !changes(call))
		return 0;
	f->calls++;
	return due(f) && !(f->lies && names_only(call)) ? f->number : 0;
}

static int fail_after(void *arg, enum fs_call call, const char *path, const char *to, int result)
{
	struct fs_failing *f = arg;
	(void)path;
	(void)to;
	return due(f) && f->lies && names_only(call) ? f->number : result;
}

struct fs *fs_failing(struct arena *arena, struct fs *inner, struct fs_failing *failing)
{
	struct fs_hook hook = {failing, fail_before, fail_after};
	return fs_wrap(arena, inner, &hook);
}
