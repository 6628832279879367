/* SPDX-License-Identifier: Apache-2.0
 * Step 7: what was decided is brought about, by its writer or by whoever comes next. Any number of processes may be in here
 * for the same commit, at any line, and may die at any line; each line can be done again.
 *
 * The staged name of a partition is a token: it can be renamed once. Whoever finds it gone knows that somebody else went
 * past F2. F0, F1 and F2 are made for all partitions, then F3 for all, so that a file system without a journal can have
 * its extra sync between. */
#include "commit/protocol.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

struct finisher {
	struct session *session;
	struct dataset *dataset;
	struct fs *fs;
	struct arena *arena; /* of one partition */
	struct plan *plan;
	struct touched touched;
};

/* ---- F0 ---- */

static recloser_status make_touched(struct finisher *f, const char *path, recloser_error *error)
{
	RC_TRY(make_directory(f->dataset, f->arena, path, error));
	touch(f->session, &f->touched, f->session->everything ? path : arena_strdup(f->session->arena, path));
	return RECLOSER_OK;
}

static recloser_status make_places(struct finisher *f, const struct planned *planned, recloser_error *error)
{
	RC_TRY(make_touched(f, path_in(f->arena, path_control(f->dataset, f->arena, "ledger"), planned->partition, ""), error));
	RC_TRY(make_touched(f, path_parent(f->arena, path_control(f->dataset, f->arena, planned->archive)), error));
	return make_touched(f, path_in(f->arena, f->dataset->tree, planned->partition, ""), error);
}

/* The first run brings dataset.json. Another first run cannot have decided before: commit 1 has one owner. */
static recloser_status place_config(struct finisher *f, recloser_error *error)
{
	enum placed placed;
	if (!f->plan->config)
		return RECLOSER_OK;
	const char *staged = path_in(f->arena, path_staging(f->dataset, f->arena, f->plan->run), "dataset.json", "");
	return place(f->session, staged, path_control(f->dataset, f->arena, "dataset.json"), &placed, error);
}

/* What is live, by one look: a choice that rests on two looks can miss what happened between them. */
enum standing { STANDS_NEW, STANDS_BASE, STANDS_OTHER };

static recloser_status look_at_standing(struct finisher *f, const struct planned *planned, enum standing *out,
										recloser_error *error)
{
	const struct identity *candidates[] = {&planned->file, &planned->base.file};
	size_t which;
	bool there;
	RC_TRY(
		file_which(f->dataset, live_path(f->dataset, f->arena, planned->partition), candidates, 2, &which, &there, error));
	*out = !there || which == 1 ? STANDS_BASE : which == 0 ? STANDS_NEW : STANDS_OTHER;
	return RECLOSER_OK;
}

/* ---- F1 ---- */

/* Another run's record under our number, or other bytes under our archive name: the plan was made on a stale listing. */
static recloser_status drop_stale(struct finisher *f, struct planned *planned, const char *staged, recloser_error *error)
{
	int failed = f->fs->ops->unlink(f->fs, staged);
	if (failed && failed != ENOENT)
		return error_errno(error, "store.unlink", failed, "remove the outdated", staged);
	planned->result = RESULT_STALE;
	return RECLOSER_OK;
}

static recloser_status number_is_taken(struct finisher *f, const struct planned *planned, bool *taken, bool *ours,
									   recloser_error *error)
{
	struct record *record;
	RC_TRY(ledger_read(f->dataset, f->arena, planned->partition, planned->seq, &record, error));
	*ours = record && record->run && strcmp(record->run, f->plan->run) == 0;
	*taken = record && !*ours;
	return RECLOSER_OK;
}

static recloser_status archive_staged(struct finisher *f, struct planned *planned, const char *staged, bool *go_on,
									  recloser_error *error)
{
	enum placed placed;
	bool taken, ours;
	*go_on = false;
	RC_TRY(number_is_taken(f, planned, &taken, &ours, error));
	if (taken)
		return drop_stale(f, planned, staged, error);
	RC_TRY(place(f->session, staged, path_control(f->dataset, f->arena, planned->archive), &placed, error));
	if (placed == PLACED_OTHER)
		return drop_stale(f, planned, staged, error);
	*go_on = placed != PLACED_NO_SOURCE;
	return RECLOSER_OK;
}

/* A power cut can keep the rename and lose the archive's link. */
static recloser_status archive_live(struct finisher *f, const struct planned *planned, recloser_error *error)
{
	const char *archive = path_control(f->dataset, f->arena, planned->archive);
	const char *live = live_path(f->dataset, f->arena, planned->partition);
	struct fs_stat stat;
	enum placed placed;
	bool archived, there, same;
	RC_TRY(file_look(f->dataset, archive, &stat, &archived, error));
	if (archived)
		return RECLOSER_OK;
	RC_TRY(file_is(f->dataset, live, &planned->file, &there, &same, error));
	return same ? place(f->session, live, archive, &placed, error) : RECLOSER_OK;
}

/* ---- F2 ---- */

/* Neither base nor new: somebody replaced the file behind our back. Its bytes are kept and the record names them. */
static recloser_status note_foreign(struct finisher *f, const struct planned *planned, const char *sha256,
									const char *archive, recloser_error *error)
{
	const char *path = path_staged_record(f->dataset, f->arena, f->plan->run, planned->partition, planned->kind), *temporary;
	json_t *record, *note = json_new_object(f->arena);
	RC_TRY(file_read_json(f->dataset, f->arena, path, &record, error));
	if (!record)
		return RECLOSER_OK; /* somebody else has finished */
	json_put_text(f->arena, note, "sha256", sha256);
	json_put_text(f->arena, note, "archive", archive);
	json_put(f->arena, record, "replaced_foreign", note);
	const char *text = json_text(f->arena, record);
	RC_TRY(write_temporary(f->dataset, f->arena, text, strlen(text), 0444, &temporary, error));
	int failed = rename_over(f->fs, temporary, path);
	if (failed)
		(void)f->fs->ops->unlink(f->fs, temporary);
	return failed && failed != ENOENT ? error_errno(error, "store.rename", failed, "replace", path) : RECLOSER_OK;
}

static recloser_status save_foreign(struct finisher *f, const struct planned *planned, const char *live,
									recloser_error *error)
{
	char hex[SHA256_HEX];
	enum placed placed;
	int failed = f->fs->ops->digest(f->fs, live, hex, NULL);
	if (failed == ENOENT)
		return RECLOSER_OK;
	if (failed)
		return error_errno(error, "store.read", failed, "read", live);
	const char *archive = arena_printf(f->arena, "archive/foreign/%s", hex);
	const char *path = path_control(f->dataset, f->arena, archive);
	RC_TRY(make_touched(f, path_parent(f->arena, path), error));
	RC_TRY(place(f->session, live, path, &placed, error));
	return note_foreign(f, planned, hex, archive, error);
}

/* rename can do its work and report a failure (a server that answered too late): the inode tells. */
static recloser_status rename_over_live(struct finisher *f, struct planned *planned, const char *staged, uint64_t inode,
										const char *live, recloser_error *error)
{
	struct fs_stat stat;
	bool there;
	int failed = f->fs->ops->rename(f->fs, staged, live);
	planned->renamed = failed == 0;
	if (failed == 0)
		return RECLOSER_OK;
	RC_TRY(file_look(f->dataset, staged, &stat, &there, error));
	if (!there) {
		/* Somebody did it, perhaps we. */
		RC_TRY(file_look(f->dataset, live, &stat, &there, error));
		planned->renamed = there && stat.inode == inode;
		return RECLOSER_OK;
	}
	return error_errno(error, "store.rename", failed, "replace", live);
}

static recloser_status make_live(struct finisher *f, struct planned *planned, const char *staged, uint64_t inode,
								 recloser_error *error)
{
	const char *live = live_path(f->dataset, f->arena, planned->partition);
	struct fs_stat stat;
	enum standing standing;
	bool there;
	RC_TRY(file_look(f->dataset, live, &stat, &there, error));
	if (there && stat.inode == inode) {
		/* One file with two names (a restored version, or a rename whose answer was lost): rename would do nothing. */
		int failed = f->fs->ops->unlink(f->fs, staged);
		planned->renamed = true;
		return failed && failed != ENOENT ? error_errno(error, "store.unlink", failed, "remove", staged) : RECLOSER_OK;
	}
	RC_TRY(look_at_standing(f, planned, &standing, error));
	if (standing == STANDS_OTHER)
		RC_TRY(save_foreign(f, planned, live, error));
	return rename_over_live(f, planned, staged, inode, live, error);
}

/* Staged gone, archived, not recorded, and live is still the base: a power cut kept half of the rename, or staging was
 * swept. What is decided is finished, so the staged name is made again from the archive. Two finishers may do that at once:
 * both names lead to the same bytes, and once the commit is closed there is no directory to make it in. */
static recloser_status stage_again(struct finisher *f, const struct planned *planned, const char *staged, bool *again,
								   recloser_error *error)
{
	const char *archive = path_control(f->dataset, f->arena, planned->archive);
	recloser_error closed = {0};
	enum placed placed;
	bool there, same, taken, ours;
	*again = false;
	RC_TRY(file_is(f->dataset, archive, &planned->file, &there, &same, error));
	if (!same)
		return RECLOSER_OK;
	RC_TRY(number_is_taken(f, planned, &taken, &ours, error));
	if (!taken && !ours)
		*again = place(f->session, archive, staged, &placed, &closed) == RECLOSER_OK && placed != PLACED_NO_SOURCE;
	return RECLOSER_OK;
}

static recloser_status step_names(struct finisher *f, struct planned *planned, recloser_error *error)
{
	const char *staged = path_staged(f->dataset, f->arena, f->plan->run, planned->partition, planned->kind);
	bool adopted = strcmp(planned->kind, "adopted") == 0, there, go_on;
	enum standing standing;
	struct fs_stat stat;
	RC_TRY(make_places(f, planned, error));
	RC_TRY(file_look(f->dataset, staged, &stat, &there, error));
	if (!there && !adopted) {
		RC_TRY(archive_live(f, planned, error));
		RC_TRY(look_at_standing(f, planned, &standing, error));
		if (standing == STANDS_BASE)
			RC_TRY(stage_again(f, planned, staged, &there, error));
		if (there)
			RC_TRY(file_look(f->dataset, staged, &stat, &there, error));
	}
	if (!there)
		return RECLOSER_OK;
	RC_TRY(archive_staged(f, planned, staged, &go_on, error));
	if (!go_on)
		return planned->result == RESULT_STALE || adopted ? RECLOSER_OK : archive_live(f, planned, error);
	if (!adopted)
		return make_live(f, planned, staged, stat.inode, error);
	/* Adopted bytes are live or were; now they are ours to protect. Not our file: it stays as it is. */
	(void)f->fs->ops->chmod(f->fs, path_control(f->dataset, f->arena, planned->archive), 0444);
	return RECLOSER_OK;
}

/* ---- F3 ---- */

static recloser_status write_late_record(struct finisher *f, struct planned *planned, const char *kind, const char *why,
										 recloser_error *error)
{
	const char *path = path_record(f->dataset, f->arena, planned->partition, planned->seq), *temporary;
	json_t *record = record_from_plan(f->arena, f->plan, planned, kind);
	enum placed placed;
	json_put_text(f->arena, record, "reason", why);
	const char *text = json_text(f->arena, record);
	RC_TRY(write_temporary(f->dataset, f->arena, text, strlen(text), 0444, &temporary, error));
	recloser_status status = place(f->session, temporary, path, &placed, error);
	(void)f->fs->ops->unlink(f->fs, temporary);
	return status;
}

/* Did the version become live? Nobody renames over it before its record exists, so a look at live, then at the record,
 * can't miss it; only a foreign program can. A staged file that vanished is made again rather than called void, for
 * another finisher may be about to make it live. */
static recloser_status went_live(struct finisher *f, struct planned *planned, bool *yes, recloser_error *error)
{
	const char *staged = path_staged(f->dataset, f->arena, f->plan->run, planned->partition, planned->kind);
	enum standing standing = STANDS_NEW;
	struct fs_stat stat;
	bool again = true;
	if (strcmp(planned->kind, "adopted") == 0)
		return file_look(f->dataset, path_control(f->dataset, f->arena, planned->archive), &stat, yes, error);
	while (again && !planned->renamed) {
		again = false;
		RC_TRY(look_at_standing(f, planned, &standing, error));
		if (standing == STANDS_BASE)
			RC_TRY(stage_again(f, planned, staged, &again, error));
		if (again)
			RC_TRY(step_names(f, planned, error));
	}
	*yes = planned->renamed || standing == STANDS_NEW;
	return RECLOSER_OK;
}

static recloser_status record_version(struct finisher *f, struct planned *planned, recloser_error *error)
{
	const char *staged = path_staged_record(f->dataset, f->arena, f->plan->run, planned->partition, planned->kind);
	const char *path = path_record(f->dataset, f->arena, planned->partition, planned->seq);
	enum placed placed;
	bool taken, ours;
	RC_TRY(place(f->session, staged, path, &placed, error));
	if (placed == PLACED)
		return RECLOSER_OK;
	RC_TRY(number_is_taken(f, planned, &taken, &ours, error));
	if (taken || ours)
		return RECLOSER_OK;
	return write_late_record(f, planned, planned->kind, "the staged record was lost; this one was made from the plan",
							 error);
}

static recloser_status read_result(struct finisher *f, struct planned *planned, recloser_error *error)
{
	struct record *record;
	RC_TRY(ledger_read(f->dataset, f->arena, planned->partition, planned->seq, &record, error));
	if (!record || !record->run || strcmp(record->run, f->plan->run) != 0)
		planned->result = RESULT_STALE;
	else
		planned->result = strcmp(record->kind, "void") == 0 ? RESULT_VOID : RESULT_RECORDED;
	return RECLOSER_OK;
}

/* A stale plan's number has a record as a rule, of the run that was first. Where it has none (a ledger that lost records),
 * the void one keeps later runs from the same archive name. */
static recloser_status step_record(struct finisher *f, struct planned *planned, recloser_error *error)
{
	bool live = false, stale = planned->result == RESULT_STALE, taken, ours;
	if (!stale)
		RC_TRY(went_live(f, planned, &live, error));
	if (live)
		RC_TRY(record_version(f, planned, error));
	RC_TRY(number_is_taken(f, planned, &taken, &ours, error));
	if (!taken && !ours)
		RC_TRY(write_late_record(
			f, planned, "void",
			stale ? "its archive name was taken by other bytes" : "the staged file was gone before it became live", error));
	return read_result(f, planned, error);
}

/* ---- all of them ---- */

/* One partition that can't be finished now (its file is held open on SMB, say) does not keep the others from it. */
static recloser_status for_each(struct finisher *f,
								recloser_status (*step)(struct finisher *, struct planned *, recloser_error *),
								recloser_error *error)
{
	recloser_status status = RECLOSER_OK;
	for (size_t i = 0; i < f->plan->count; i++) {
		f->arena = arena_new(f->session->arena);
		recloser_status one = step(f, &f->plan->at[i], error);
		status = status == RECLOSER_OK ? one : status;
		arena_free(f->arena);
		f->arena = f->session->arena;
	}
	return status;
}

recloser_status finish(struct session *session, struct plan *plan, recloser_error *error)
{
	struct dataset *dataset = session->dataset;
	struct finisher f = {session, dataset, dataset->fs, session->arena, plan, {{0}, {0}}};
	/* SYNC2, again where another took the decision: it may have died before its own, and no live name may become durable
	 * before the decision is. */
	RC_TRY(sync_commits(session, error));
	RC_TRY(place_config(&f, error));
	RC_TRY(for_each(&f, step_names, error));
	if (!session->can.journal)
		RC_TRY(sync_touched(session, &f.touched, error));
	RC_TRY(for_each(&f, step_record, error));
	touch(session, &f.touched, dataset->control);
	RC_TRY(sync_touched(session, &f.touched, error));                                                    /* SYNC3 */
	remove_tree(dataset->fs, session->arena, path_staging(dataset, session->arena, plan->run), "alive"); /* F4 */
	return RECLOSER_OK;
}

/* ---- step 3 ---- */

static const char *user_name(struct arena *arena, uint32_t id)
{
	struct passwd entry, *found = NULL;
	char room[1024];
	if (getpwuid_r(id, &entry, room, sizeof room, &found) == 0 && found)
		return arena_strdup(arena, found->pw_name);
	return arena_printf(arena, "user %u", id);
}

static recloser_status cannot_finish(struct session *session, const struct plan *plan, const struct fs_stat *staging,
									 const recloser_error *reason, recloser_error *error)
{
	error_set(error, RECLOSER_IO, "commit.unfinished", "commit %lld of run %s is decided but can't be finished: %s",
			  (long long)plan->number, plan->run, reason->what);
	error_where(error, "%s", path_staging(session->dataset, session->arena, plan->run));
	return error_hint(error, "it was made by %s; let that user run recloser recover, or remove the cause",
					  user_name(session->arena, staging->owner));
}

recloser_status finish_newest(struct session *session, struct arena *arena, int64_t *number, const char **loaded_at,
							  struct plan **finished, recloser_error *error)
{
	struct dataset *dataset = session->dataset;
	recloser_error reason = {0};
	struct plan *plan;
	struct fs_stat stat;
	bool open;
	*loaded_at = NULL;
	*finished = NULL;
	RC_TRY(commits_newest(dataset, arena, number, error));
	if (*number == 0)
		return RECLOSER_OK;
	RC_TRY(commit_read(dataset, arena, *number, &plan, error));
	if (!plan)
		return error_set(error, RECLOSER_CONFLICT, "commit.gone", "commit %lld disappeared", (long long)*number);
	*loaded_at = plan->loaded_at;
	RC_TRY(file_look(dataset, path_staging(dataset, arena, plan->run), &stat, &open, error));
	if (!open)
		return RECLOSER_OK;
	*finished = plan;
	if (finish(session, plan, &reason) != RECLOSER_OK)
		return cannot_finish(session, plan, &stat, &reason, error);
	return RECLOSER_OK;
}
