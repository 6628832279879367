/* SPDX-License-Identifier: Apache-2.0
 * What this file system can do, found by trying it in a scratch directory, once per dataset, host and device. The answer is
 * kept in <control>/probe/<host>-<device>.json; it is a cache, and a different type or kernel of the same device tries
 * again. */
#include "commit/protocol.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static const char *host_name(struct arena *arena)
{
	struct utsname name;
	if (uname(&name) != 0)
		return "host";
	char *text = arena_strdup(arena, name.nodename);
	for (char *at = text; *at; at++)
		if (*at == '/')
			*at = '_';
	return text;
}

static const char *kernel_release(struct arena *arena)
{
	struct utsname name;
	return uname(&name) == 0 ? arena_strdup(arena, name.release) : "";
}

static const char *cache_path(struct dataset *dataset, struct arena *arena)
{
	struct fs_stat stat;
	if (dataset->fs->ops->stat(dataset->fs, dataset->control, &stat) != 0)
		return NULL;
	return arena_printf(arena, "%s/probe/%s-%" PRIx64 ".json", dataset->control, host_name(arena), stat.device);
}

/* ---- trying ---- */

struct trial {
	struct fs *fs;
	struct arena *arena;
	const char *directory;
};

static const char *in(const struct trial *trial, const char *name)
{
	return path_in(trial->arena, trial->directory, name, "");
}

/* Refused for what it is. Anything else (a full disk, a scratch directory that was swept) is no answer, and must not be
 * remembered as one. */
static bool refused(int number)
{
	return number == EPERM || number == EACCES || number == EINVAL || number == ENOSYS || number == EOPNOTSUPP ||
		   number == ENOLCK || number == EMLINK || number == EXDEV || number == EBUSY || number == ETXTBSY;
}

static int answer(int failed, bool *has)
{
	*has = failed == 0;
	return refused(failed) ? 0 : failed;
}

static int make(const struct trial *trial, const char *name)
{
	return trial->fs->ops->write(trial->fs, in(trial, name), name, strlen(name), 0666, NULL);
}

static int try_links(const struct trial *trial, struct guarantees *out)
{
	struct fs_stat first, second;
	struct fs *fs = trial->fs;
	int failed = make(trial, "linked");
	if (failed == 0)
		failed = answer(fs->ops->link(fs, in(trial, "linked"), in(trial, "link")), &out->hard_links);
	if (failed || !out->hard_links)
		return failed;
	failed = fs->ops->stat(fs, in(trial, "linked"), &first);
	if (failed == 0)
		failed = fs->ops->stat(fs, in(trial, "link"), &second);
	if (failed)
		return failed;
	/* Some emulate a link by a copy, or replace what is there. */
	out->hard_links = first.inode == second.inode && first.links == 2 &&
					  fs->ops->link(fs, in(trial, "linked"), in(trial, "link")) == EEXIST;
	return 0;
}

static int try_rename_new(const struct trial *trial, struct guarantees *out)
{
	struct fs *fs = trial->fs;
	int failed = make(trial, "first");
	if (failed == 0)
		failed = make(trial, "second");
	if (failed)
		return failed;
	int taken = fs->ops->rename_new(fs, in(trial, "first"), in(trial, "second"));
	if (taken != EEXIST)
		return answer(taken ? taken : EINVAL, &out->rename_new);
	return answer(fs->ops->rename_new(fs, in(trial, "first"), in(trial, "third")), &out->rename_new);
}

/* A lock that two can hold at once is none. */
static int try_locks(const struct trial *trial, struct guarantees *out)
{
	struct fs *fs = trial->fs;
	struct fs_lock *first = NULL, *second = NULL;
	int failed = answer(fs->ops->lock(fs, in(trial, "lock"), NULL, &first), &out->locks);
	if (failed || !out->locks)
		return failed;
	int again = fs->ops->lock(fs, in(trial, "lock"), NULL, &second);
	if (again == 0)
		fs->ops->unlock(fs, second);
	fs->ops->unlock(fs, first);
	out->locks = again == EWOULDBLOCK || again == EAGAIN;
	return again == 0 || out->locks ? 0 : again;
}

static int try_rename_over_open(const struct trial *trial, struct guarantees *out)
{
	struct fs *fs = trial->fs;
	struct fs_file *open = NULL;
	int failed = make(trial, "held");
	if (failed == 0)
		failed = make(trial, "new");
	if (failed == 0)
		failed = fs->ops->open(fs, in(trial, "held"), false, &open);
	if (failed)
		return failed;
	failed = answer(fs->ops->rename(fs, in(trial, "new"), in(trial, "held")), &out->open_rename);
	fs->ops->close(fs, open);
	return failed;
}

static int try_case(const struct trial *trial, struct guarantees *out)
{
	struct fs_stat stat;
	int failed = make(trial, "Case");
	if (failed)
		return failed;
	failed = trial->fs->ops->stat(trial->fs, in(trial, "cASE"), &stat);
	out->case_sensitive = failed == ENOENT;
	return failed == ENOENT ? 0 : failed;
}

static int try_directory_sync(const struct trial *trial, struct guarantees *out)
{
	return answer(trial->fs->ops->sync_directory(trial->fs, trial->directory), &out->directory_sync);
}

static int try_all(const struct trial *trial, struct guarantees *out)
{
	static int (*const trials[])(const struct trial *, struct guarantees *) = {
		try_links, try_rename_new, try_locks, try_rename_over_open, try_case, try_directory_sync,
	};
	int failed = 0;
	for (size_t i = 0; failed == 0 && i < sizeof trials / sizeof *trials; i++)
		failed = trials[i](trial, out);
	return failed;
}

/* ---- the answer as JSON ---- */

static const struct {
	const char *name;
	size_t at;
	const char *missing; /* what is done instead and what is left */
} members[] = {
	{"hard_links", offsetof(struct guarantees, hard_links),
	 "no hard links here: every version is copied into the archive; as safe, but slower and with bytes for each version"},
	{"rename_new", offsetof(struct guarantees, rename_new), NULL},
	{"locks", offsetof(struct guarantees, locks),
	 "no locks here: two writers at once end in a conflict instead of waiting, and staging of dead runs is not swept"},
	{"directory_sync", offsetof(struct guarantees, directory_sync),
	 "directories can't be synced here: safe when a process dies; a power cut keeps what the mount promises"},
	{"syncfs", offsetof(struct guarantees, syncfs), NULL},
	{"journal", offsetof(struct guarantees, journal),
	 "this file system has no journal: one more sync a run, and a power cut may leave a run void, never half a file"},
	{"case_sensitive", offsetof(struct guarantees, case_sensitive),
	 "names that differ only by case are one here: such partitions are refused"},
	{"open_rename", offsetof(struct guarantees, open_rename),
	 "a file that is open can't be replaced here: a load may end as decided but not yet live (exit 7) while somebody reads"},
};
enum { MEMBERS = sizeof members / sizeof *members };

json_t *guarantees_json(struct arena *arena, const struct guarantees *can)
{
	json_t *json = json_new_object(arena), *sentences = json_new_array(arena);
	json_put_text(arena, json, "type", can->type);
	for (size_t i = 0; i < MEMBERS; i++) {
		bool has = *((const bool *)((const char *)can + members[i].at));
		json_put_bool(arena, json, members[i].name, has);
		if (!has && members[i].missing)
			json_add_text(arena, sentences, members[i].missing);
	}
	json_put_int(arena, json, "name_max", can->name_max);
	json_put(arena, json, "sentences", sentences);
	return json;
}

bool probe_cached(struct dataset *dataset, struct arena *arena, struct guarantees *out)
{
	recloser_error ignored = {0};
	struct fs_traits traits;
	json_t *json = NULL;
	const char *path = cache_path(dataset, arena);
	if (!path || file_read_json(dataset, arena, path, &json, &ignored) != RECLOSER_OK || !json)
		return false;
	if (dataset->fs->ops->describe(dataset->fs, dataset->control, &traits) != 0)
		return false;
	const char *type = json_get_text(json, "type"), *kernel = json_get_text(json, "kernel");
	if (!type || strcmp(type, traits.type) != 0 || !kernel || strcmp(kernel, kernel_release(arena)) != 0)
		return false;
	memset(out, 0, sizeof *out);
	for (size_t i = 0; i < MEMBERS; i++)
		*((bool *)((char *)out + members[i].at)) = json_get_bool(json, members[i].name, false);
	out->name_max = (unsigned)json_get_int(json, "name_max", 255);
	memcpy(out->type, traits.type, sizeof out->type);
	return true;
}

static void remember(struct dataset *dataset, struct arena *arena, const struct guarantees *can)
{
	recloser_error ignored = {0};
	const char *path = cache_path(dataset, arena);
	json_t *json = guarantees_json(arena, can);
	json_put_text(arena, json, "kernel", kernel_release(arena));
	const char *text = json_text(arena, json);
	if (path) /* a failure only means that the next command tries again */
		(void)!control_write(dataset, arena, path + strlen(dataset->control) + 1, text, strlen(text), &ignored);
}

recloser_status probe(struct dataset *dataset, struct arena *arena, const char *directory, struct guarantees *out,
					  recloser_error *error)
{
	struct fs_traits traits;
	if (probe_cached(dataset, arena, out))
		return RECLOSER_OK;
	int failed = dataset->fs->ops->describe(dataset->fs, dataset->control, &traits);
	if (failed)
		return error_errno(error, "store.stat", failed, "look at", dataset->control);
	memset(out, 0, sizeof *out);
	out->syncfs = traits.syncfs;
	out->journal = traits.journal;
	out->name_max = traits.name_max;
	memcpy(out->type, traits.type, sizeof out->type);
	struct trial trial = {dataset->fs, arena, path_in(arena, directory, "probe", "")};
	RC_TRY(make_directory(dataset, arena, trial.directory, error));
	failed = try_all(&trial, out);
	remove_tree(dataset->fs, arena, trial.directory, NULL);
	if (failed)
		return error_errno(error, "store.probe", failed, "find out what the file system can do in", trial.directory);
	remember(dataset, arena, out);
	return RECLOSER_OK;
}
