/* SPDX-License-Identifier: Apache-2.0
 * The commit protocol on a file system. docs/protocol.md maps each step to code, model and tests; model/ checks it.
 *
 * What it must survive. Processes may be killed or stopped at any instruction, and go on at any later time. Power may fail:
 * then data that was not synced is garbage, each name that was not synced survives or not by itself, and a rename survives
 * as a whole (a journalled file system). Two writers may work at once. Locks may be missing, or be lost by a living holder.
 * link and rename may report a failure of what they did. Other programs may replace live files. A file that is decided and
 * synced is never corrupted by the disk: verify looks for that, the protocol does not.
 *
 * What it keeps. Live bytes are the truth and the ledger explains them. Each partition is the old or the new version, whole;
 * a run is decided as a whole by one exclusive link, and nothing decided is undone: whoever comes next finishes it. No
 * safety rests on a lock, a lease or a clock. Every version is archived before it becomes live.
 *
 *   0   staging, archive, ledger and targets are on one mount, this user may write there, names fit; what this
 *       file system lacks is known                                                                               staging.c
 *   1   stage and verify, without the lock; `alive` is locked; syncfs's descriptor is open before the first byte
 *   2   take the lock, or wait, or exit 5; no locks here: go on                                                 lock.c
 *   3   m = newest commit; its run's staging is there: finish(m)                                                finish.c
 *   4   base = newest record, and live is it; live is something else: an adopted entry goes before one's own    plan.c
 *   5   write records and plan; SYNC1: staged data, records, plan and their directories                         plan_stage.c
 *   6   decide: link(plan.json, commits/m+1), exclusive; taken: back to 3; SYNC2: commits/
 *   7   finish(m+1)                                                                                             finish.c
 *       F0  make directories; dataset.json if this is the first commit
 *       F1  link(staged, archive k); taken by other bytes, or record k is another run's: stale plan, unlink staged
 *       F2  rename(staged, live); gone: somebody did it
 *       F3  link(record, ledger k); taken: fine
 *       SYNC3  all directories touched
 *       F4  remove staging/<run>, which closes the commit
 *   8   live is the verified inode or its bytes
 *   9   report what the ledger says
 *
 * A finisher begins with SYNC2 itself, because the writer may have died between its link and its sync. */
#include "commit/object.h"

#include <errno.h>
#include <string.h>

enum { ATTEMPTS = 3 };

/* ---- step 6 ---- */

static recloser_status decide(struct session *session, struct plan *plan, bool *decided, recloser_error *error)
{
	struct dataset *dataset = session->dataset;
	recloser_error problem = {0};
	enum placed placed;
	struct plan *found;
	const char *staged = path_in(session->arena, path_staging(dataset, session->arena, plan->run), "plan.json", "");
	recloser_status status = place(session, staged, path_commit(dataset, session->arena, plan->number), &placed, &problem);
	*decided = status == RECLOSER_OK && placed == PLACED;
	if (*decided)
		return RECLOSER_OK;
	/* Whatever was reported, the plan that stands there tells who decided. */
	RC_TRY(commit_read(dataset, session->arena, plan->number, &found, error));
	*decided = found && strcmp(found->run, plan->run) == 0;
	if (*decided || found)
		return RECLOSER_OK;
	if (error && status != RECLOSER_OK)
		*error = problem;
	return status != RECLOSER_OK
			   ? status
			   : error_set(error, RECLOSER_IO, "commit.staging_gone", "the staging of this run was removed");
}

/* ---- steps 8 and 9 ---- */

static recloser_status look_at_live(struct session *session, const struct planned *planned, struct commit_report *report,
									recloser_error *error)
{
	struct arena *arena = session->arena;
	bool there, same;
	const char *live = live_path(session->dataset, arena, planned->partition);
	RC_TRY(file_is(session->dataset, live, &planned->file, &there, &same, error));
	if (same)
		return RECLOSER_OK;
	struct record *newest;
	RC_TRY(ledger_newest(session->dataset, arena, planned->partition, &newest, error));
	if (!newest || newest->seq == planned->seq) /* a later version of ours would have a record */
		strings_add(arena, &report->warnings,
					arena_printf(arena,
								 "%s: version %lld was replaced by another program at once; it "
								 "is in the archive",
								 planned->partition, (long long)planned->seq));
	return RECLOSER_OK;
}

static enum entry_outcome outcome_of(const struct planned *planned)
{
	if (planned->result != RESULT_RECORDED)
		return ENTRY_CONFLICT;
	if (strcmp(planned->kind, "restored") == 0)
		return ENTRY_RESTORED;
	return planned->base.seq ? ENTRY_REPLACED : ENTRY_NEW;
}

static recloser_status report_entries(struct session *session, struct plan *plan, struct commit_report *report,
									  recloser_error *error)
{
	bool conflict = false;
	for (size_t i = 0; i < plan->count; i++) {
		struct planned *planned = &plan->at[i];
		if (!planned->entry)
			continue;
		planned->entry->loaded_at = plan->loaded_at;
		planned->entry->archive = planned->archive;
		planned->entry->outcome = outcome_of(planned);
		conflict = conflict || planned->entry->outcome == ENTRY_CONFLICT;
		if (planned->result == RESULT_RECORDED)
			RC_TRY(look_at_live(session, planned, report, error));
	}
	if (!conflict)
		return RECLOSER_OK;
	error_set(error, RECLOSER_CONFLICT, "commit.overtaken",
			  "another writer was first in some partitions, or staging was removed");
	return error_hint(error, "run the same load again");
}

static recloser_status unclear(const struct plan *plan, const recloser_error *reason, recloser_error *error)
{
	error_set(error, RECLOSER_UNCLEAR, "commit.not_durable",
			  "commit %lld is decided, but it is not known to be complete: %s", (long long)plan->number, reason->what);
	error_where(error, "%s", reason->where);
	return error_hint(error, "run any writing command again, for instance recloser recover: it finishes what was decided");
}

/* ---- the run ---- */

static recloser_status after_decision(struct staging *staging, struct plan *plan, struct commit_report *report,
									  recloser_error *error)
{
	recloser_error reason = {0};
	struct session *session = &staging->session;
	staging->decided = true;
	report->number = plan->number;
	report->loaded_at = plan->loaded_at;
	for (size_t i = 0; i < plan->count; i++) /* also of a run that can't be finished now */
		if (plan->at[i].entry)
			plan->at[i].entry->seq = plan->at[i].seq;
	if (finish(session, plan, &reason) != RECLOSER_OK)
		return unclear(plan, &reason, error);
	staging->gone = true;
	recloser_status status = report_entries(session, plan, report, &reason);
	if (status == RECLOSER_IO)
		return unclear(plan, &reason, error);
	if (error && status != RECLOSER_OK)
		*error = reason;
	return status;
}

static recloser_status config_to_write(struct session *session, const struct commit_options *options, const json_t **out,
									   recloser_error *error)
{
	json_t *there;
	const char *path = path_control(session->dataset, session->arena, "dataset.json");
	*out = options->config;
	if (!options->config)
		return RECLOSER_OK;
	RC_TRY(file_read_json(session->dataset, session->arena, path, &there, error));
	if (!there)
		return RECLOSER_OK;
	*out = NULL;
	if (json_equal(there, options->config))
		return RECLOSER_OK;
	error_set(error, RECLOSER_CONFLICT, "commit.config", "another first load has defined this dataset differently");
	error_where(error, "%s", path);
	return error_hint(error, "compare the specs of the two loads, then run again");
}

static recloser_status record_lost(const char *what, const char *path, recloser_error *error)
{
	error_set(error, RECLOSER_IO, "ledger.lost", "%s", what);
	error_where(error, "%s", path);
	return error_hint(error, "nothing was changed; recloser recover --rebuild makes it again");
}

/* A load would give away numbers that archived versions have, and they could not be restored by them any more. The newest
 * commit is finished, so that each of its versions has a record; older ones are left to recover. */
static recloser_status ledger_is_there(struct session *session, int64_t newest, recloser_error *error)
{
	struct dataset *dataset = session->dataset;
	struct arena *arena = session->arena;
	struct plan *plan = NULL;
	bool lost;
	RC_TRY(ledger_is_lost(dataset, arena, &lost, error));
	if (lost)
		return record_lost("the ledger is gone, but commits and archived versions are there",
						   path_control(dataset, arena, "ledger"), error);
	if (newest > 0)
		RC_TRY(commit_read(dataset, arena, newest, &plan, error));
	for (size_t i = 0; plan && i < plan->count; i++) {
		const struct planned *planned = &plan->at[i];
		const char *path = path_record(dataset, arena, planned->partition, planned->seq);
		struct fs_stat stat;
		bool there;
		RC_TRY(file_look(dataset, path, &stat, &there, error));
		if (!there)
			return record_lost("the record of a version that was committed is gone", path, error);
	}
	return RECLOSER_OK;
}

/* Steps 3 to 6. *plan NULL: nothing to be committed. */
static recloser_status attempt(struct plan_request *request, struct plan **plan, bool *decided, recloser_error *error)
{
	struct session *session = &request->staging->session;
	struct arena *arena = session->arena;
	struct plan *finished;
	const json_t *config;
	int64_t newest;
	*decided = false;
	RC_TRY(finish_newest(session, arena, &newest, &request->previous, &finished, error));
	RC_TRY(ledger_is_there(session, newest, error));
	RC_TRY(config_to_write(session, request->options, &config, error));
	request->number = newest + 1;
	RC_TRY(plan_make(request, arena, plan, error));
	if ((*plan)->count == 0) {
		*plan = NULL;
		return RECLOSER_OK;
	}
	RC_TRY(plan_stage(request->staging, *plan, arena, config, error));
	return decide(session, *plan, decided, error);
}

static recloser_status run_locked(struct plan_request *request, recloser_error *error)
{
	struct session *session = &request->staging->session;
	for (int i = 0; i < ATTEMPTS; i++) {
		struct plan *plan;
		bool decided;
		RC_TRY(attempt(request, &plan, &decided, error));
		if (!plan)
			return RECLOSER_OK;
		if (decided)
			return after_decision(request->staging, plan, request->report, error);
	}
	error_set(error, RECLOSER_CONFLICT, "commit.overtaken", "other writers were first %d times", (int)ATTEMPTS);
	error_where(error, "%s", path_control(session->dataset, session->arena, "commits"));
	return error_hint(error, "nothing was changed; run the same load again");
}

recloser_status commit_run(struct staging *staging, struct arena *arena, struct entry *entries, size_t count,
						   const struct commit_options *options, struct commit_report *report, recloser_error *error)
{
	if (staging->session.dataset->bucket)
		return object_commit_run(staging, arena, entries, count, options, report, error);
	struct session *session = &staging->session;
	struct plan_request request = {staging, entries, count, options, report, 0, NULL};
	struct fs_lock *lock = NULL;
	memset(report, 0, sizeof *report);
	session->arena = arena; /* what is told back lives as long as the caller's */
	recloser_status status = lock_take(session, staging->run, options, &lock, error);
	if (status == RECLOSER_OK) {
		status = run_locked(&request, error);
		live_remember(session->dataset, arena);
	}
	staging_abandon(staging);
	if (lock)
		session->dataset->fs->ops->unlock(session->dataset->fs, lock);
	return status;
}
