/* SPDX-License-Identifier: Apache-2.0
 * Records that were lost are made again: from the decided plans, which tell nearly all; for what no plan knows, from the
 * names, sizes and digests of the archived files. What a record can't know any more is null, and it says `rebuilt`. Records
 * that are there are never touched, but for a void one whose number belongs to other bytes that are in the archive. */
#include "commit/protocol.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct found { /* one version that something knows of */
	const char *partition;
	int64_t seq;
	const struct plan *plan; /* or NULL: known by its archived file only */
	const struct planned *planned;
	const char *archive, *load_date;
};

struct rebuild {
	struct session *session;
	struct dataset *dataset;
	struct arena *arena;
	struct found *at;
	size_t count, room;
	int64_t commits, newest_in_records;
	const char *newest_time;
	struct recovery *out;
};

static struct found *add_found(struct rebuild *r)
{
	if (r->count == r->room) {
		size_t room = r->room ? r->room * 2 : 64;
		r->at = arena_grow(r->arena, r->at, r->count * sizeof *r->at, room * sizeof *r->at);
		r->room = room;
	}
	return &r->at[r->count++];
}

/* ---- what knows of versions ---- */

static recloser_status from_commits(struct rebuild *r, recloser_error *error)
{
	RC_TRY(commits_newest(r->dataset, r->arena, &r->commits, error));
	for (int64_t number = 1; number <= r->commits; number++) {
		struct plan *plan;
		recloser_error problem = {0};
		if (commit_read(r->dataset, r->arena, number, &plan, &problem) != RECLOSER_OK || !plan) {
			strings_add(r->arena, &r->out->warnings,
						arena_printf(r->arena,
									 "commit %" PRId64 " is gone or can't be read; its versions are known by their files",
									 number));
			continue;
		}
		for (size_t i = 0; i < plan->count; i++)
			*add_found(r) =
				(struct found){plan->at[i].partition, plan->at[i].seq, plan, &plan->at[i], plan->at[i].archive, NULL};
	}
	return RECLOSER_OK;
}

static recloser_status from_archive(struct rebuild *r, const char *relative, const char *load_date, const char *partition,
									recloser_error *error)
{
	static const char prefix[] = "part.parquet.";
	struct strings names = {0};
	const char *directory = path_control(r->dataset, r->arena, relative);
	int failed = r->dataset->fs->ops->list(r->dataset->fs, directory, r->arena, &names);
	if (failed && failed != ENOENT)
		return error_errno(error, "store.list", failed, "list", directory);
	for (size_t i = 0; i < names.count; i++) {
		const char *name = names.at[i], *path = path_in(r->arena, relative, name, "");
		if (!load_date && text_starts(name, "load_date="))
			RC_TRY(from_archive(r, path, name + strlen("load_date="), "", error));
		else if (load_date && text_starts(name, prefix) && atoll(name + strlen(prefix)) > 0)
			*add_found(r) = (struct found){partition, atoll(name + strlen(prefix)), NULL, NULL, path, load_date};
		else if (load_date && strchr(name, '='))
			RC_TRY(from_archive(r, path, load_date, *partition ? path_in(r->arena, partition, name, "") : name, error));
	}
	return RECLOSER_OK;
}

/* By partition and number; what a plan tells comes before what a file name tells. */
static int by_version(const void *one, const void *other)
{
	const struct found *a = one, *b = other;
	int order = strcmp(a->partition, b->partition);
	if (order)
		return order;
	if (a->seq != b->seq)
		return a->seq < b->seq ? -1 : 1;
	return (a->plan == NULL) - (b->plan == NULL);
}

/* ---- records ---- */

static recloser_status add_file(struct rebuild *r, json_t *record, const char *archive, recloser_error *error)
{
	struct fs_stat stat;
	char hex[SHA256_HEX];
	const char *path = path_control(r->dataset, r->arena, archive);
	json_t *file = json_new_object(r->arena);
	int failed = r->dataset->fs->ops->stat(r->dataset->fs, path, &stat);
	if (failed == 0)
		failed = r->dataset->fs->ops->digest(r->dataset->fs, path, hex, NULL);
	if (failed)
		return error_errno(error, "store.read", failed, "read", path);
	json_put_int(r->arena, file, "bytes", (int64_t)stat.bytes);
	json_put_text(r->arena, file, "sha256", hex);
	json_put_text(r->arena, file, "rows", NULL);
	json_put_int(r->arena, file, "inode", (int64_t)stat.inode);
	json_put_int(r->arena, file, "mtime_ns", stat.mtime_ns);
	json_put(r->arena, record, "file", file);
	return RECLOSER_OK;
}

static json_t *bare_record(struct arena *arena, const char *partition, int64_t seq, const char *kind, const char *loaded_at)
{
	json_t *record = json_new_object(arena);
	json_put_int(arena, record, "seq", seq);
	json_put_text(arena, record, "partition", partition);
	json_put_text(arena, record, "kind", kind);
	json_put_text(arena, record, "run", NULL);
	json_put_text(arena, record, "loaded_at", loaded_at);
	json_put_text(arena, record, "content_fingerprint", NULL);
	return record;
}

static recloser_status write_record(struct rebuild *r, const char *partition, int64_t seq, json_t *record,
									recloser_error *error)
{
	const char *path = path_record(r->dataset, r->arena, partition, seq), *temporary;
	enum placed placed;
	json_put_bool(r->arena, record, "rebuilt", true);
	const char *text = json_text(r->arena, record);
	RC_TRY(make_directory(r->dataset, r->arena, path_parent(r->arena, path), error));
	RC_TRY(write_temporary(r->dataset, r->arena, text, strlen(text), 0444, &temporary, error));
	recloser_status status = place(r->session, temporary, path, &placed, error);
	(void)r->dataset->fs->ops->unlink(r->dataset->fs, temporary);
	if (!strings_has(&r->out->finished_partitions, partition))
		strings_add(r->arena, &r->out->finished_partitions, partition);
	return status;
}

/* One plan may name a number that another one took (it was stale when it was finished): the archived bytes tell whose it is.
 * *archived: where they are, NULL when nothing is archived. */
static recloser_status whose(struct rebuild *r, const struct found *at, size_t count, const struct found **owner,
							 const char **archived, recloser_error *error)
{
	*owner = &at[0];
	*archived = NULL;
	for (size_t i = 0; i < count; i++) {
		const char *path = path_control(r->dataset, r->arena, at[i].archive);
		struct fs_stat stat;
		bool there, same = true;
		if (at[i].plan)
			RC_TRY(file_is(r->dataset, path, &at[i].planned->file, &there, &same, error));
		else
			RC_TRY(file_look(r->dataset, path, &stat, &there, error));
		if (!there || !same)
			continue;
		*owner = &at[i];
		*archived = path;
		return RECLOSER_OK;
	}
	return RECLOSER_OK;
}

static recloser_status rebuild_version(struct rebuild *r, const struct found *found, bool archived, recloser_error *error)
{
	bool there, live = archived;
	if (found->plan) {
		if (!live)
			RC_TRY(file_is(r->dataset, live_path(r->dataset, r->arena, found->partition), &found->planned->file, &there,
						   &live, error));
		/* Neither archived nor live: it never was, or was pruned. Its bytes are not to be had. */
		return write_record(r, found->partition, found->seq,
							record_from_plan(r->arena, found->plan, found->planned, live ? found->planned->kind : "void"),
							error);
	}
	json_t *record = bare_record(r->arena, found->partition, found->seq, "version",
								 arena_printf(r->arena, "%sT00:00:00.000000Z", found->load_date));
	json_put_text(r->arena, record, "archive", found->archive);
	RC_TRY(add_file(r, record, found->archive, error));
	return write_record(r, found->partition, found->seq, record, error);
}

static recloser_status set_aside(struct rebuild *r, const char *path, const char *suffix, recloser_error *error)
{
	int failed = rename_over(r->dataset->fs, path, arena_printf(r->arena, "%s%s", path, suffix));
	return failed ? error_errno(error, "store.rename", failed, "set aside", path) : RECLOSER_OK;
}

/* A load that came after the loss and before this found the archive name taken, and called the number void. */
static recloser_status voided_after_loss(struct rebuild *r, const struct record *record, const char *archived, bool *out,
										 recloser_error *error)
{
	const struct identity own = {.sha256 = record->sha256, .bytes = record->bytes};
	bool there = false, same = false;
	if (archived && strcmp(record->kind, "void") == 0)
		RC_TRY(file_is(r->dataset, archived, &own, &there, &same, error));
	*out = there && !same;
	return RECLOSER_OK;
}

/* `at`: all that knows of one version. */
static recloser_status rebuild_one(struct rebuild *r, const struct found *at, size_t count, recloser_error *error)
{
	struct record *record;
	recloser_error problem = {0};
	const struct found *owner;
	const char *archived, *path = path_record(r->dataset, r->arena, at->partition, at->seq);
	bool voided = false;
	if (ledger_read(r->dataset, r->arena, at->partition, at->seq, &record, &problem) != RECLOSER_OK) {
		RC_TRY(set_aside(r, path, ".unreadable", error));
		record = NULL;
	}
	if (record && strcmp(record->kind, "void") != 0)
		return RECLOSER_OK;
	RC_TRY(whose(r, at, count, &owner, &archived, error));
	if (record)
		RC_TRY(voided_after_loss(r, record, archived, &voided, error));
	if (record && !voided)
		return RECLOSER_OK;
	if (voided)
		RC_TRY(set_aside(r, path, ".void", error));
	return rebuild_version(r, owner, archived != NULL, error);
}

static void note_newest(struct rebuild *r, const struct record *record)
{
	if (json_get_int(record->json, "commit", 0) > r->newest_in_records)
		r->newest_in_records = json_get_int(record->json, "commit", 0);
	if (record->loaded_at && strcmp(record->loaded_at, r->newest_time) > 0)
		r->newest_time = record->loaded_at;
}

/* Numbers that nothing knows of become void, so that the ledger stays contiguous. */
static recloser_status fill_gaps(struct rebuild *r, const char *partition, recloser_error *error)
{
	int64_t number;
	struct record *record;
	RC_TRY(ledger_look(r->dataset, r->arena, partition, &number, &record, error));
	for (int64_t seq = 1; seq <= number; seq++) {
		RC_TRY(ledger_read(r->dataset, r->arena, partition, seq, &record, error));
		if (!record)
			RC_TRY(write_record(r, partition, seq, bare_record(r->arena, partition, seq, "void", NULL), error));
		else
			note_newest(r, record);
	}
	return RECLOSER_OK;
}

/* Commit numbers are never used twice: where the files are lost, an empty one keeps the place of the newest. */
static recloser_status keep_number(struct rebuild *r, recloser_error *error)
{
	struct plan empty = {.run = "rebuilt", .loaded_at = r->newest_time, .number = r->newest_in_records};
	const char *temporary, *text = json_text(r->arena, plan_to_json(r->arena, &empty));
	enum placed placed;
	if (r->newest_in_records <= r->commits)
		return RECLOSER_OK;
	RC_TRY(make_directory(r->dataset, r->arena, path_control(r->dataset, r->arena, "commits"), error));
	RC_TRY(write_temporary(r->dataset, r->arena, text, strlen(text), 0444, &temporary, error));
	recloser_status status = place(r->session, temporary, path_commit(r->dataset, r->arena, empty.number), &placed, error);
	(void)r->dataset->fs->ops->unlink(r->dataset->fs, temporary);
	return status;
}

recloser_status rebuild_commits(struct session *session, struct arena *arena, struct recovery *out, recloser_error *error)
{
	struct dataset *dataset = session->dataset;
	struct rebuild r = {.session = session, .dataset = dataset, .arena = arena, .out = out};
	struct plan *plan;
	recloser_error problem = {0};
	char *bytes;
	size_t count;
	int64_t number;
	RC_TRY(commits_newest(dataset, arena, &number, error));
	if (number == 0 || commit_read(dataset, arena, number, &plan, &problem) == RECLOSER_OK)
		return RECLOSER_OK;
	const char *path = path_commit(dataset, arena, number);
	int failed = dataset->fs->ops->read(dataset->fs, path, arena, &bytes, &count);
	if (failed) /* not damaged: not to be read at all, now or by this user */
		return error_errno(error, "store.read", failed, "read", path);
	strings_add(arena, &out->warnings,
				arena_printf(arena, "commit %" PRId64 " can't be read and was set aside as %s.unreadable", number, path));
	return set_aside(&r, path, ".unreadable", error);
}

recloser_status ledger_is_lost(struct dataset *dataset, struct arena *arena, bool *lost, recloser_error *error)
{
	struct strings records = {0}, days = {0};
	int64_t commits;
	*lost = false;
	RC_TRY(control_list(dataset, arena, "ledger", &records, error));
	if (records.count > 0)
		return RECLOSER_OK;
	RC_TRY(commits_newest(dataset, arena, &commits, error));
	RC_TRY(control_list(dataset, arena, "archive", &days, error));
	*lost = commits > 0 && days.count > 0;
	return RECLOSER_OK;
}

recloser_status rebuild_ledger(struct session *session, struct arena *arena, struct recovery *out, recloser_error *error)
{
	struct rebuild r = {.session = session,
						.dataset = session->dataset,
						.arena = arena,
						.out = out,
						.newest_time = "1970-01-01T00:00:00.000000Z"};
	struct strings partitions = {0};
	struct touched touched = {{0}, {0}};
	RC_TRY(from_commits(&r, error));
	RC_TRY(from_archive(&r, "archive", NULL, "", error));
	if (r.count > 1)
		qsort(r.at, r.count, sizeof *r.at, by_version);
	for (size_t i = 0, next; i < r.count; i = next) {
		for (next = i + 1;
			 next < r.count && r.at[next].seq == r.at[i].seq && strcmp(r.at[next].partition, r.at[i].partition) == 0;)
			next++;
		RC_TRY(rebuild_one(&r, &r.at[i], next - i, error));
	}
	RC_TRY(ledger_partitions(r.dataset, arena, &partitions, error));
	for (size_t i = 0; i < partitions.count; i++) {
		RC_TRY(fill_gaps(&r, partitions.at[i], error));
		touch(session, &touched, path_parent(arena, path_record(r.dataset, arena, partitions.at[i], 1)));
	}
	RC_TRY(keep_number(&r, error));
	touch(session, &touched, path_control(r.dataset, arena, "commits"));
	return sync_touched(session, &touched, error);
}
