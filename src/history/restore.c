/* SPDX-License-Identifier: Apache-2.0
 * An earlier version becomes live again as a new version, through the commit protocol like any other: the archived file gets
 * a second name in staging, so no bytes are written, and the version that it replaces stays in the archive. */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "history/history.h"
#include "partition/part.h"

static recloser_status find(struct history *h, const char *partition, int64_t seq, struct record **out, struct kept *kept,
							recloser_error *error)
{
	struct record *newest;
	json_t *prunes;
	RC_TRY(ledger_newest(h->dataset, h->arena, partition, &newest, error));
	RC_TRY(ledger_read(h->dataset, h->arena, partition, seq, out, error));
	if (!*out || strcmp((*out)->kind, "void") == 0) {
		error_set(error, RECLOSER_USAGE, "restore.seq", "%s has no version %" PRId64, partition_shown(partition), seq);
		return error_hint(error, "recloser history %s %s lists them", h->spec->path, partition);
	}
	RC_TRY(version_kept(h->dataset, h->arena, *out, newest, NULL, kept, error));
	if (kept->file) {
		const char *local;
		RC_TRY(version_file(h->dataset, h->arena, kept->record, &local, error));
		return version_sound(h->dataset, *out, local, error);
	}
	RC_TRY(prunes_read(h->dataset, h->arena, &prunes, error));
	const char *how = pruned_how(h->arena, prunes, partition, seq);
	error_set(error, RECLOSER_FAULT, how ? "version.pruned" : "version.lost", "seq %" PRId64 " of %s is not to be had: %s",
			  seq, partition_shown(partition), how ? how : "its archived file is gone");
	return error_where(error, "%s", (*out)->archive ? path_control(h->dataset, h->arena, (*out)->archive) : partition);
}

/* What the record of the earlier version says of its bytes and where they came from holds for the new one; what it says of
 * the version before it does not. */
static json_t *record_of(struct history *h, const struct record *earlier, const char *run)
{
	static const char *const own[] = {"seq",       "partition",  "kind",    "run",          "commit",
									  "loaded_at", "base",       "archive", "disappeared",  "new_keys",
									  "revised",   "reappeared", "rebuilt", "restored_from", "guards",
									  "accepted",  "changed",    "compared_with"};
	struct arena *arena = h->arena;
	json_t *record = json_on(arena, json_deep_copy(earlier->json)), *from = json_new_object(arena);
	json_t *file = json_object_get(record, "file");
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		json_object_del(record, own[i]);
	json_t *totals = json_object_get(record, "totals"), *total;
	const char *column;
	json_object_foreach(totals, column, total) json_object_del(total, "before");
	json_object_del(file, "inode");
	json_object_del(file, "mtime_ns");
	json_put_text(arena, record, "run", run);
	json_put_int(arena, from, "seq", earlier->seq);
	json_put_text(arena, from, "loaded_at", earlier->loaded_at);
	json_put_text(arena, from, "run", earlier->run);
	json_put(arena, record, "restored_from", from);
	return record;
}

struct restoring {
	struct history *h;
	const recloser_common *common;
};

static recloser_status describe(void *arg, const char *partition, const char *path, json_t *record, recloser_error *error)
{
	const struct history *h = ((struct restoring *)arg)->h;
	(void)partition;
	return part_describe_adopted(h->arena, h->engine, path, record, error);
}

static void waiting(void *arg, const char *holder)
{
	const recloser_common *common = ((struct restoring *)arg)->common;
	if (common->progress)
		common->progress(common->progress_arg, &(recloser_progress){.phase = "wait", .note = holder});
}

/* Bytes of another program, adopted and now asked for: verify holds them against what recloser writes. */
static bool is_foreign(const struct record *earlier)
{
	return !json_get_text(earlier->json, "shape") && !json_get_bool(earlier->json, "rebuilt", false);
}

static void tell(struct history *h, const struct record *earlier, const char *run, const struct entry *entry,
				 const struct commit_report *report, const char *outcome)
{
	struct arena *arena = h->arena;
	bool changed = entry->outcome == ENTRY_RESTORED;
	json_t *warnings = json_new_array(arena);
	json_put_text(arena, h->json, "dataset", h->dataset->name);
	json_put_text(arena, h->json, "outcome", outcome);
	json_put_text(arena, h->json, "run", run);
	json_put_text(arena, h->json, "partition", earlier->partition);
	json_put_int(arena, h->json, "restored_from", earlier->seq);
	json_put_int(arena, h->json, "seq", changed ? entry->seq : earlier->seq);
	json_put_text(arena, h->json, "loaded_at", changed ? entry->loaded_at : earlier->loaded_at);
	json_put_text(arena, h->json, "sha256", earlier->sha256);
	json_put_int(arena, h->json, "rows", (int64_t)earlier->rows);
	json_put_int(arena, h->json, "bytes", (int64_t)earlier->bytes);
	json_put_text(arena, h->json, "target", live_path(h->dataset, arena, earlier->partition));
	for (size_t i = 0; i < report->warnings.count; i++)
		json_add_text(arena, warnings, report->warnings.at[i]);
	json_put(arena, h->json, "warnings", warnings);
	text_addf(&h->text, "%s  %s   %s", h->dataset->name, partition_shown(earlier->partition), outcome);
	if (changed)
		text_addf(&h->text, "   seq %" PRId64 " is seq %" PRId64 " of %s again   %s rows\n", entry->seq, earlier->seq,
				  when_shown(arena, earlier->loaded_at), text_count(arena, earlier->rows));
	else if (strcmp(outcome, "unchanged") == 0)
		text_addf(&h->text, ": the live version has the rows of seq %" PRId64 " already\n", earlier->seq);
	else
		text_add(&h->text, "\n");
	for (size_t i = 0; i < report->adopted.count; i++)
		text_addf(&h->text, "  the live file was not one that recloser wrote; it is archived and recorded as adopted\n");
	for (size_t i = 0; i < report->warnings.count; i++)
		text_addf(&h->text, "  warning: %s\n", report->warnings.at[i]);
}

static const char *outcome_word(recloser_status status, enum entry_outcome outcome)
{
	if (status == RECLOSER_CONFLICT)
		return "conflict";
	if (status != RECLOSER_OK)
		return "failed";
	return outcome == ENTRY_RESTORED ? "restored" : "unchanged";
}

recloser_status restore(struct history *h, const recloser_restore_options *options, recloser_error *error)
{
	struct arena *arena = h->arena;
	struct recovery recovery = {0};
	struct record *earlier, *newest;
	struct staging *staging;
	struct kept kept;
	const char *partition, *run = clock_run_id(arena);
	RC_TRY(recover(h->dataset, arena, false, &recovery, error));
	RC_TRY(partition_named(h->dataset, arena, options->partition, &partition, error));
	RC_TRY(find(h, partition, options->seq, &earlier, &kept, error));
	RC_TRY(ledger_newest(h->dataset, arena, partition, &newest, error));
	struct entry entry = {.partition = partition,
						  .kind = "restored",
						  .bytes = earlier->bytes,
						  .base_seen = newest->seq,
						  .content_fingerprint = earlier->content_fingerprint,
						  .record = record_of(h, earlier, run)};
	struct restoring restoring = {h, &options->common};
	struct commit_options commit = {.wait_seconds = options->common.wait_seconds == 0 ? 60 : options->common.wait_seconds,
									.waiting = waiting,
									.describe = describe,
									.arg = &restoring};
	struct commit_report report = {0};
	memcpy(entry.sha256, earlier->sha256, strlen(earlier->sha256) < SHA256_HEX ? strlen(earlier->sha256) + 1 : 0);
	if (kept.live) {
		/* The archived file is gone, but these bytes are live. */
		tell(h, earlier, run, &entry, &report, "unchanged");
		return RECLOSER_OK;
	}
	RC_TRY(staging_begin(h->dataset, arena, run, &staging, error));
	const char *archived = kept.file + strlen(h->dataset->control) + 1;
	recloser_status status = staging_link(staging, partition, archived, error);
	if (status != RECLOSER_OK) {
		staging_abandon(staging);
		return status;
	}
	status = commit_run(staging, arena, &entry, 1, &commit, &report, error);
	if (status == RECLOSER_OK && is_foreign(earlier))
		strings_add(arena, &report.warnings,
					arena_printf(arena, "seq %" PRId64 " was written by another program; recloser verify tells what it lacks", earlier->seq));
	dataset_keep(h->dataset, arena);
	tell(h, earlier, run, &entry, &report, outcome_word(status, entry.outcome));
	return status;
}
