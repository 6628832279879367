/* SPDX-License-Identifier: Apache-2.0
 * Records that were lost are made again: from the decided plans, which tell nearly all; for what no plan knows, from the
 * names, sizes and digests of the archived files. What a record can't know any more is null, and it says `rebuilt`. Records
 * that are there are never touched. */
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

static recloser_status rebuild_version(struct rebuild *r, const struct found *found, recloser_error *error)
{
	struct fs_stat stat;
	bool there, live;
	if (found->plan) {
		RC_TRY(file_look(r->dataset, path_control(r->dataset, r->arena, found->archive), &stat, &there, error));
		live = there;
		if (!there)
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

static recloser_status rebuild_one(struct rebuild *r, const struct found *found, recloser_error *error)
{
	struct record *record;
	recloser_error problem = {0};
	if (ledger_read(r->dataset, r->arena, found->partition, found->seq, &record, &problem) != RECLOSER_OK) {
		const char *path = path_record(r->dataset, r->arena, found->partition, found->seq);
		int failed = rename_over(r->dataset->fs, path, arena_printf(r->arena, "%s.unreadable", path));
		if (failed)
			return error_errno(error, "store.rename", failed, "move away the unreadable", path);
		record = NULL;
	}
	return record ? RECLOSER_OK : rebuild_version(r, found, error);
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
	for (size_t i = 0; i < r.count; i++)
		RC_TRY(rebuild_one(&r, &r.at[i], error));
	RC_TRY(ledger_partitions(r.dataset, arena, &partitions, error));
	for (size_t i = 0; i < partitions.count; i++) {
		RC_TRY(fill_gaps(&r, partitions.at[i], error));
		touch(session, &touched, path_parent(arena, path_record(r.dataset, arena, partitions.at[i], 1)));
	}
	RC_TRY(keep_number(&r, error));
	touch(session, &touched, path_control(r.dataset, arena, "commits"));
	return sync_touched(session, &touched, error);
}
