/* SPDX-License-Identifier: Apache-2.0
 * Step 4: what the run will do, judged against what is live now. */
#include "commit/protocol.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"

struct look {
	int64_t number; /* newest seq in use, void or not */
	struct record *newest;
	struct live live;
};

static struct planned *add(struct plan *plan, const char *partition, const char *kind)
{
	struct planned *planned = &plan->at[plan->count++];
	planned->partition = partition;
	planned->kind = kind;
	return planned;
}

/* ---- adopting ---- */

static recloser_status earlier_version(struct dataset *dataset, struct arena *arena, const char *partition,
									   const struct look *look, json_t *record, recloser_error *error)
{
	for (int64_t seq = look->number; seq > 0; seq--) {
		struct record *old;
		RC_TRY(ledger_read(dataset, arena, partition, seq, &old, error));
		if (!old || strcmp(old->kind, "void") == 0 || strcmp(old->sha256, look->live.sha256) != 0)
			continue;
		json_put_int(arena, record, "reappeared", seq);
		return RECLOSER_OK;
	}
	return RECLOSER_OK;
}

static void describe(const struct plan_request *request, struct arena *arena, const char *partition, const char *path,
					 json_t *record)
{
	recloser_error problem = {0};
	if (request->options->describe &&
		request->options->describe(request->options->arg, partition, path, record, &problem) != RECLOSER_OK)
		json_put_text(arena, record, "unreadable", problem.what);
}

/* The live file gets a second name in staging, so that it can be archived even if it is replaced before the decision. */
static recloser_status stage_foreign(struct session *session, const char *from, const char *to, bool *gone,
									 recloser_error *error)
{
	enum placed placed;
	(void)session->dataset->fs->ops->unlink(session->dataset->fs, to); /* of an earlier try */
	RC_TRY(make_directory(session->dataset, session->arena, path_parent(session->arena, to), error));
	RC_TRY(place(session, from, to, &placed, error));
	*gone = placed == PLACED_NO_SOURCE;
	return RECLOSER_OK;
}

static recloser_status adopt(const struct plan_request *request, struct arena *arena, struct plan *plan,
							 const char *partition, struct look *look, recloser_error *error)
{
	struct session *session = &request->staging->session;
	struct dataset *dataset = session->dataset;
	const char *staged = path_staged(dataset, arena, plan->run, partition, "adopted");
	struct planned *planned = add(plan, partition, "adopted");
	struct fs_stat stat;
	char hex[SHA256_HEX];
	bool gone;
	RC_TRY(stage_foreign(session, live_path(dataset, arena, partition), staged, &gone, error));
	int failed = gone ? ENOENT : dataset->fs->ops->digest(dataset->fs, staged, hex, NULL);
	if (failed == 0)
		failed = dataset->fs->ops->stat(dataset->fs, staged, &stat);
	if (failed && failed != ENOENT)
		return error_errno(error, "store.read", failed, "read", staged);
	if (failed || strcmp(hex, look->live.sha256) != 0)
		return error_set(error, RECLOSER_CONFLICT, "commit.live_changed",
						 "the live file of %s is being replaced by another program", partition);
	planned->seq = look->number + 1;
	planned->file = (struct identity){arena_strdup(arena, hex), stat.bytes, look->live.stat.inode, look->live.stat.mtime_ns};
	planned->archive = archive_name(arena, plan->loaded_at, partition, planned->seq);
	planned->counts = json_new_object(arena);
	planned->record = json_new_object(arena);
	if (look->newest) {
		planned->base.seq = look->newest->seq;
		planned->base.file.sha256 = look->newest->sha256;
		planned->base.file.bytes = look->newest->bytes;
	}
	RC_TRY(earlier_version(dataset, arena, partition, look, planned->record, error));
	describe(request, arena, partition, staged, planned->record);
	planned->content_fingerprint = json_get_text(planned->record, "content_fingerprint");
	strings_add(session->arena, &request->report->adopted, arena_strdup(session->arena, partition));
	return RECLOSER_OK;
}

/* The adopted version as the base that the guards look at; its bytes are the live file. */
static struct record *adopted_record(struct arena *arena, const struct plan *plan, const struct planned *planned)
{
	struct record *record = arena_alloc(arena, sizeof *record);
	*record = (struct record){
		.partition = planned->partition,
		.seq = planned->seq,
		.kind = planned->kind,
		.run = plan->run,
		.loaded_at = plan->loaded_at,
		.sha256 = planned->file.sha256,
		.content_fingerprint = planned->content_fingerprint,
		.archive = planned->archive,
		.bytes = planned->file.bytes,
		.rows = (uint64_t)json_get_int(json_object_get(planned->record, "file"), "rows", 0),
		.json = planned->record,
	};
	return record;
}

/* ---- one's own entries ---- */

static bool same_bytes(const char *one, const char *other)
{
	return one && other && strcmp(one, other) == 0;
}

static recloser_status judge(const struct plan_request *request, struct entry *entry, const struct record *base, bool live,
							 recloser_error *error)
{
	bool seen = base ? entry->base_seen == base->seq || same_bytes(entry->base_sha256, base->sha256) : entry->base_seen == 0;
	entry->outcome = ENTRY_PENDING;
	if (live && base &&
		(same_bytes(entry->sha256, base->sha256) || same_bytes(entry->content_fingerprint, base->content_fingerprint)))
		entry->outcome = ENTRY_UNCHANGED;
	else if (!seen && request->options->look_again)
		RC_TRY(request->options->look_again(request->options->arg, entry, base, error));
	return RECLOSER_OK;
}

static json_t *counts_of(struct arena *arena, json_t *record)
{
	json_t *counts = json_new_object(arena), *value;
	const char *name;
	json_object_foreach(record, name, value) if (json_is_integer(value)) json_put(arena, counts, name, value);
	const json_t *rows = json_object_get(json_object_get(record, "file"), "rows");
	if (json_is_integer(rows))
		json_put_int(arena, counts, "rows", json_integer_value(rows));
	return counts;
}

static recloser_status plan_own(const struct plan_request *request, struct arena *arena, struct plan *plan,
								struct entry *entry, const struct record *base, const struct look *look,
								recloser_error *error)
{
	struct dataset *dataset = request->staging->session.dataset;
	struct planned *planned = add(plan, entry->partition, entry->kind);
	const char *staged = path_staged(dataset, arena, plan->run, entry->partition, entry->kind);
	struct fs_stat stat;
	int failed = dataset->fs->ops->stat(dataset->fs, staged, &stat);
	if (failed)
		return error_errno(error, "store.stat", failed, "look at the staged file", staged);
	if (stat.bytes != entry->bytes)
		return error_set(error, RECLOSER_IO, "commit.staged_changed",
						 "the staged file of %s has changed since it was verified", entry->partition);
	planned->entry = entry;
	planned->seq = base && base->seq > look->number ? base->seq + 1 : look->number + 1;
	planned->file = (struct identity){entry->sha256, stat.bytes, stat.inode, stat.mtime_ns};
	planned->archive = archive_name(arena, plan->loaded_at, entry->partition, planned->seq);
	planned->content_fingerprint = entry->content_fingerprint;
	planned->record = entry->record;
	planned->counts = counts_of(arena, entry->record);
	if (base) {
		planned->base.seq = base->seq;
		planned->base.file = (struct identity){base->sha256, base->bytes, look->live.stat.inode, look->live.stat.mtime_ns};
		planned->base.missing = look->live.state == LIVE_MISSING;
	}
	return RECLOSER_OK;
}

static recloser_status plan_entry(const struct plan_request *request, struct arena *arena, struct plan *plan,
								  struct entry *entry, recloser_error *error)
{
	struct dataset *dataset = request->staging->session.dataset;
	struct look look;
	RC_TRY(ledger_look(dataset, arena, entry->partition, &look.number, &look.newest, error));
	RC_TRY(live_look(dataset, arena, entry->partition, look.newest, &look.live, error));
	const struct record *base = look.newest;
	if (look.live.state == LIVE_FOREIGN) {
		RC_TRY(adopt(request, arena, plan, entry->partition, &look, error));
		base = adopted_record(arena, plan, &plan->at[plan->count - 1]);
	}
	RC_TRY(judge(request, entry, base, look.live.state == LIVE_SOUND || look.live.state == LIVE_FOREIGN, error));
	return entry->outcome == ENTRY_UNCHANGED ? RECLOSER_OK : plan_own(request, arena, plan, entry, base, &look, error);
}

/* ---- case ---- */

static recloser_status case_clash(const char *one, const char *other, recloser_error *error)
{
	error_set(error, RECLOSER_REFUSED, "partition.case",
			  "two partitions differ only by case, and this file system takes them for one");
	error_where(error, "%s and %s", one, other);
	return error_hint(error, "map the values to one spelling in the spec, or use a file system that tells case");
}

static recloser_status check_case(const struct plan_request *request, struct arena *arena, recloser_error *error)
{
	struct strings known = {0};
	if (request->staging->session.can.case_sensitive)
		return RECLOSER_OK;
	RC_TRY(ledger_partitions(request->staging->session.dataset, arena, &known, error));
	for (size_t i = 0; i < request->count; i++)
		strings_add(arena, &known, request->entries[i].partition);
	for (size_t i = 0; i < request->count; i++)
		for (size_t j = 0; j < known.count; j++)
			if (strcmp(known.at[j], request->entries[i].partition) != 0 &&
				text_equal_nocase(known.at[j], request->entries[i].partition))
				return case_clash(known.at[j], request->entries[i].partition, error);
	return RECLOSER_OK;
}

/* Time never runs backwards in a ledger, whatever the clock says. */
static const char *time_after(const struct plan_request *request, struct arena *arena)
{
	int64_t now = clock_now_us(), previous = request->previous ? clock_parse(request->previous) : -1;
	if (previous - now > (int64_t)60 * 1000000)
		strings_add(
			request->staging->session.arena, &request->report->warnings,
			arena_printf(request->staging->session.arena, "the clock is behind the previous load of %s", request->previous));
	return previous > now ? request->previous : clock_text(arena, now);
}

recloser_status plan_make(const struct plan_request *request, struct arena *arena, struct plan **out, recloser_error *error)
{
	struct plan *plan = arena_alloc(arena, sizeof *plan);
	plan->run = request->staging->run;
	plan->number = request->number;
	plan->loaded_at = time_after(request, arena);
	plan->at = arena_array(arena, request->count * 2, sizeof *plan->at);
	request->report->adopted.count = 0;
	RC_TRY(check_case(request, arena, error));
	for (size_t i = 0; i < request->count; i++)
		RC_TRY(plan_entry(request, arena, plan, &request->entries[i], error));
	*out = plan;
	return RECLOSER_OK;
}
