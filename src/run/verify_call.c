/* SPDX-License-Identifier: Apache-2.0
 * recloser_verify: what is live, read again, against what its records say. */
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "history/history.h"
#include "partition/part.h"
#include "report/result.h"
#include "run/call.h"
#include "run/ticker.h"

enum { MOST_LOOKS = 100 }; /* at a partition that is replaced all the time */

struct verifying {
	struct arena *arena;
	const recloser_verify_options *options;
	struct spec *spec;
	struct dataset *dataset;
	struct engine *engine; /* NULL: quick */
	json_t *partitions;
	struct text text;
	json_t *prunes; /* what may be missing; NULL: quick */
	uint64_t rows, bytes, faults, archived;
	uint64_t strange; /* live files that are not what the record says */
};

/* From the page cache a read proves what was written, not what the disk kept. */
static void drop_cache(const char *path)
{
	int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	if (descriptor < 0)
		return;
	posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
	close(descriptor);
}

static struct batch_column *record_columns(struct arena *arena, const struct spec *spec, const struct record *record, size_t *count,
                                           bool *geometry)
{
	const json_t *schema = json_object_get(record->json, "schema");
	struct batch_column *columns = arena_array(arena, json_array_size(schema) + 1, sizeof *columns);
	*count = json_array_size(schema);
	*geometry = json_get_text(record->json, "geo") != NULL;
	for (size_t i = 0; i < *count; i++) {
		const json_t *column = json_array_get(schema, i);
		columns[i] = (struct batch_column){.name = json_get_text(column, "name"), .type = json_get_text(column, "type")};
		columns[i].partition = strings_has(&spec->partition, columns[i].name);
		columns[i].geometry = *geometry && strcmp(columns[i].name, spec->geometry.column) == 0;
	}
	return *count ? columns : NULL;
}

/* What lies there: of the record, and of the file where it is another one or the record does not know. */
struct extent {
	uint64_t rows, bytes;
};

static recloser_status read_back(struct verifying *v, struct arena *arena, const struct record *record, const char *file, struct strings *faults,
                                 struct extent *extent, recloser_error *error)
{
	char sha256[SHA256_HEX] = "";
	uint64_t bytes = record->bytes;
	recloser_error problem = {0};
	if (v->options->cold)
		drop_cache(file);
	if (sha256_file(file, sha256, &bytes, &problem) != RECLOSER_OK)
		strings_add(arena, faults, arena_strdup(arena, problem.what));
	else if (strcmp(sha256, record->sha256) != 0)
		strings_add(arena, faults, arena_printf(arena, "SHA-256 is %s, the record says %s", sha256, record->sha256));
	else if (bytes != record->bytes)
		strings_add(arena, faults, arena_printf(arena, "%" PRIu64 " bytes, the record says %" PRIu64, bytes, record->bytes));
	struct part_check check = {.engine = v->engine, .spec = v->spec, .file = file, .path = record->partition, .rows = (int64_t)record->rows,
	                           .fingerprint = record->content_fingerprint, .geo = json_get_text(record->json, "geo"), .order = true,
	                           .crs_id = json_get_text(record->json, "crs_id")};
	if (json_is_true(json_object_get(record->json, "rebuilt")) || strcmp(record->kind, "adopted") == 0)
		check.rows = json_is_integer(json_object_get(json_object_get(record->json, "file"), "rows")) ? check.rows : -1;
	check.columns = record_columns(arena, v->spec, record, &check.column_count, &check.has_geometry);
	struct part_verdict verdict = {0};
	RC_TRY(part_verify(arena, &check, &verdict, error));
	for (size_t i = 0; i < verdict.faults.count; i++)
		strings_add(arena, faults, verdict.faults.at[i]);
	bool other = *sha256 && strcmp(sha256, record->sha256) != 0;
	if (other)
		extent->bytes = bytes;
	if (other || check.rows < 0)
		extent->rows = verdict.content.rows;
	return RECLOSER_OK;
}

static void note(struct verifying *v, const struct record *record, const char *partition, const struct extent *extent, const struct strings *faults)
{
	json_t *json = json_new_object(v->arena);
	json_put_text(v->arena, json, "partition", partition);
	json_put_text(v->arena, json, "outcome", faults->count ? "fault" : "sound");
	json_put_int(v->arena, json, "seq", record ? record->seq : 0);
	json_put_int(v->arena, json, "rows", (int64_t)extent->rows);
	json_put_int(v->arena, json, "bytes", (int64_t)extent->bytes);
	json_put_text(v->arena, json, "sha256", record ? record->sha256 : NULL);
	json_put(v->arena, json, "faults", result_strings(v->arena, faults->at, faults->count));
	json_add(v->arena, v->partitions, json);
	for (size_t i = 0; i < faults->count; i++)
		text_addf(&v->text, "  %s   %s\n", *partition ? partition : "(one file)", faults->at[i]);
	v->faults += faults->count;
	v->rows += extent->rows;
	v->bytes += extent->bytes;
}

struct look {
	struct record *record;
	enum live_state live;
	struct extent extent;
	uint64_t archived;
	struct strings faults;
};

/* ---- the archive ---- */

/* One version's file: there, of its size, and with --archive of its SHA-256 too. */
static recloser_status look_in_archive(struct verifying *v, struct arena *arena, const struct record *record, struct look *look,
                                       recloser_error *error)
{
	struct strings *faults = &look->faults;
	const char *place, *file;
	RC_TRY(version_place(v->dataset, arena, record, NULL, &place, error));
	if (!place && !pruned_how(arena, v->prunes, record->partition, record->seq))
		RC_TRY(prunes_read(v->dataset, v->arena, &v->prunes, error)); /* one may have begun since */
	if (!place && pruned_how(arena, v->prunes, record->partition, record->seq))
		return RECLOSER_OK;
	if (!place) {
		strings_add(arena, faults, arena_printf(arena, "the archived file of seq %" PRId64 " is missing or was cut, and no prune removed it: %s",
		                                        record->seq, version_archive(v->dataset, arena, record)));
		return RECLOSER_OK;
	}
	look->archived++;
	if (!v->options->archive)
		return RECLOSER_OK;
	char sha256[SHA256_HEX];
	uint64_t bytes;
	recloser_error problem = {0};
	recloser_status status = version_file(v->dataset, arena, record, &file, &problem);
	if (status != RECLOSER_OK && !text_starts(problem.code, "archive.")) {
		if (error)
			*error = problem; /* a store that does not answer is no fault of the dataset */
		return status;
	}
	if (status != RECLOSER_OK) {
		strings_add(arena, faults, arena_printf(arena, "%s: %s", problem.what, problem.where));
		return RECLOSER_OK;
	}
	if (v->options->cold)
		drop_cache(file);
	if (sha256_file(file, sha256, &bytes, &problem) != RECLOSER_OK)
		strings_add(arena, faults, arena_strdup(arena, problem.what));
	else if (strcmp(sha256, record->sha256) != 0)
		strings_add(arena, faults, arena_printf(arena, "the archived file of seq %" PRId64 " has SHA-256 %s, its record says %s: %s", record->seq,
		                                        sha256, record->sha256, version_archive(v->dataset, arena, record)));
	return RECLOSER_OK;
}

/* In a bucket the newest version is live and gets its archived copy when it is replaced. */
static recloser_status verify_archive(struct verifying *v, struct arena *arena, const char *partition, struct look *look,
                                      recloser_error *error)
{
	struct versions versions;
	RC_TRY(versions_of(v->dataset, arena, partition, &versions, error));
	size_t count = versions.count - (v->dataset->bucket && versions.count ? 1 : 0);
	for (size_t i = 0; i < count; i++)
		RC_TRY(look_in_archive(v, arena, versions.at[i], look, error));
	return RECLOSER_OK;
}

/* `all` is for what this partition needs; what is told of it has memory of its own. A quick look needs no columns. */
static recloser_status look_at(struct verifying *v, struct arena *all, const struct ledger_head *head, struct look *look, recloser_error *error)
{
	const char *partition = head->partition;
	*look = (struct look){0};
	if (v->engine)
		RC_TRY(live_newest(v->dataset, all, partition, &look->record, &look->live, error));
	else
		RC_TRY(live_brief(v->dataset, all, partition, head->number, &look->record, &look->live, error));
	const struct record *record = look->record;
	if (!record) {
		strings_add(all, &look->faults, "it has records, but none of a version that went live");
		return RECLOSER_OK;
	}
	if (look->live != LIVE_MISSING)
		look->extent = (struct extent){record->rows, record->bytes};
	if (look->live == LIVE_MISSING)
		strings_add(all, &look->faults,
		            arena_printf(all, "the live file is missing; `recloser restore` can bring seq %" PRId64 " back", record->seq));
	else if (look->live == LIVE_FOREIGN)
		strings_add(all, &look->faults,
		            arena_printf(all, "the live file is not the version of its newest record, seq %" PRId64, record->seq));
	if (v->engine && look->live != LIVE_MISSING) {
		const char *file;
		RC_TRY(live_file(v->dataset, all, partition, &file, error));
		RC_TRY(read_back(v, all, record, file, &look->faults, &look->extent, error));
	}
	return v->prunes ? verify_archive(v, all, partition, look, error) : RECLOSER_OK;
}

/* Has the version that was looked at been replaced meanwhile? */
static recloser_status is_overtaken(struct verifying *v, struct arena *all, const char *partition, const struct look *look, bool *out,
                                    recloser_error *error)
{
	struct record *now;
	enum live_state live;
	RC_TRY(live_newest(v->dataset, all, partition, &now, &live, error));
	*out = (now ? now->seq : 0) != (look->record ? look->record->seq : 0) || live != look->live;
	return RECLOSER_OK;
}

/* A record that can't be read as one is a fault of this partition; the others are still looked at. */
static recloser_status look_or_damage(struct verifying *v, struct arena *all, const struct ledger_head *head, struct look *look,
                                      bool *damaged, recloser_error *error)
{
	recloser_error problem = {0};
	recloser_status status = look_at(v, all, head, look, &problem);
	*damaged = status != RECLOSER_OK && (text_starts(problem.code, "ledger.") || text_starts(problem.code, "json."));
	if (*damaged) {
		strings_add(all, &look->faults, arena_printf(all, "%s; %s", problem.what, problem.hint));
		return RECLOSER_OK;
	}
	if (status != RECLOSER_OK && error)
		*error = problem;
	return status;
}

/* A replace that runs beside this reading makes the older version look wrong: a fault counts if its version is still the newest. */
static recloser_status verify_one(struct verifying *v, struct arena *all, const struct ledger_head *head, recloser_error *error)
{
	const char *partition = head->partition;
	struct look look;
	bool again = true;
	for (int i = 0; again && i < MOST_LOOKS; i++) {
		bool damaged;
		RC_TRY(look_or_damage(v, all, head, &look, &damaged, error));
		again = look.faults.count > 0 && !damaged;
		partition_forget(v->dataset, partition);
		if (again)
			RC_TRY(is_overtaken(v, all, partition, &look, &again, error));
	}
	v->archived += look.archived;
	v->strange += look.live == LIVE_FOREIGN;
	note(v, look.record, partition, &look.extent, &look.faults);
	return RECLOSER_OK;
}

/* ---- what a tag pins ---- */

static recloser_status verify_pinned(struct verifying *v, const struct moment_version *version, recloser_error *error)
{
	const struct record *record = version->record;
	struct extent extent = {0};
	struct strings faults = {0};
	const char *file;
	if (!version->lost)
		extent = (struct extent){record->rows, record->bytes};
	if (version->lost)
		strings_add(v->arena, &faults, arena_printf(v->arena, "seq %" PRId64 " is not to be had: %s", record->seq, version->lost));
	else if (v->engine) {
		RC_TRY(version_file(v->dataset, v->arena, version->kept.record, &file, error));
		RC_TRY(read_back(v, v->arena, record, file, &faults, &extent, error));
	}
	note(v, record, record->partition, &extent, &faults);
	return RECLOSER_OK;
}

static bool has_partition(const struct ledger_heads *heads, const char *partition)
{
	for (size_t i = 0; i < heads->count; i++)
		if (strcmp(heads->at[i].partition, partition) == 0)
			return true;
	return false;
}

static recloser_status verify_tagged(struct verifying *v, const struct ledger_heads *wanted, recloser_error *error)
{
	struct tag *tag;
	struct moment moment;
	RC_TRY(tag_read(v->dataset, v->arena, v->options->tag, &tag, error));
	if (!tag) {
		error_set(error, RECLOSER_USAGE, "tag.unknown", "there is no tag %s", v->options->tag);
		return error_hint(error, "recloser tag %s --list", v->spec->path);
	}
	RC_TRY(as_of_select(v->dataset, v->arena, v->options->tag, &moment, error));
	for (size_t i = 0; i < moment.count; i++)
		if (has_partition(wanted, moment.at[i].record->partition))
			RC_TRY(verify_pinned(v, &moment.at[i], error));
	return RECLOSER_OK;
}

static recloser_status verify_live(struct verifying *v, const struct ledger_heads *partitions, recloser_error *error)
{
	struct ticker *ticker = ticker_start(v->arena, &v->options->common);
	for (size_t i = 0; i < partitions->count; i++) {
		ticker_tell(ticker, &(recloser_progress){.phase = "verify", .rows = v->rows, .bytes = v->bytes, .partitions = i,
		                                         .partitions_total = partitions->count});
		struct arena *scratch = arena_new(v->arena);
		recloser_status status = verify_one(v, scratch, &partitions->at[i], error);
		arena_free(scratch);
		RC_TRY(status);
	}
	return RECLOSER_OK;
}

/* What readers of the tree meet that no record tells of. Files of other kinds (_SUCCESS, .DS_Store) are left to doctor. */
static recloser_status verify_unrecorded(struct verifying *v, const struct ledger_heads *partitions, recloser_error *error)
{
	struct recovery found;
	RC_TRY(recover_strays(v->dataset, v->arena, partitions, &found, error));
	for (size_t i = 0; i < found.adoptable.count; i++) {
		struct strings faults = {0};
		strings_add(v->arena, &faults, "part.parquet has no record: readers see rows that no load tells of; a load of the partition adopts it");
		note(v, NULL, found.adoptable.at[i], &(struct extent){0}, &faults);
	}
	for (size_t i = 0; i < found.foreign.count; i++) {
		struct strings faults = {0};
		if (!text_ends(found.foreign.at[i], ".parquet"))
			continue;
		strings_add(v->arena, &faults, "is not a file of this dataset, but readers of the tree read it: move it away");
		note(v, NULL, found.foreign.at[i], &(struct extent){0}, &faults);
	}
	return RECLOSER_OK;
}

static recloser_status verify(struct arena *arena, const void *given, recloser_result **out, recloser_error *error)
{
	struct verifying v = {.arena = arena, .options = given, .text = text_on(arena)};
	double started = clock_monotonic();
	struct ledger_heads partitions;
	struct open_run open;
	RC_TRY(call_open(arena, v.options->common.spec_path, &v.spec, &v.dataset, error));
	RC_TRY(call_partitions(arena, v.dataset, v.options->partitions, v.options->partition_count, &partitions, error));
	if (!v.options->quick) {
		RC_TRY(call_engine(arena, &v.options->common, v.spec->temp_directory, &v.engine, error));
		RC_TRY(prunes_read(v.dataset, arena, &v.prunes, error));
	}
	v.partitions = json_new_array(arena);
	if (v.options->tag)
		text_addf(&v.text, "%s  tag %s\n", v.spec->dataset, v.options->tag);
	else
		text_addf(&v.text, "%s  %zu partition%s\n", v.spec->dataset, partitions.count, partitions.count == 1 ? "" : "s");
	RC_TRY(v.options->tag ? verify_tagged(&v, &partitions, error) : verify_live(&v, &partitions, error));
	if (!v.options->tag && v.options->partition_count == 0)
		RC_TRY(verify_unrecorded(&v, &partitions, error));
	if (v.options->expect_rows >= 0 && (uint64_t)v.options->expect_rows != v.rows) {
		text_addf(&v.text, "  %" PRIu64 " rows, %" PRId64 " expected\n", v.rows, v.options->expect_rows);
		v.faults++;
	}
	open_run_find(v.dataset, arena, &open);
	if (open.run)
		text_addf(&v.text, "  %s%s\n", open_run_told(arena, &open), v.options->tag ? "" : "; what it has made live is verified as its versions");
	const char *archived = v.archived ? arena_printf(arena, "%s version%s in the archive%s, ", text_count(arena, v.archived),
	                                                 v.archived == 1 ? "" : "s", v.options->archive ? ", read" : "") : "";
	text_addf(&v.text, "%s row%s, %s%s, %s%s   %.1f s\n", text_count(arena, v.rows), v.rows == 1 ? "" : "s", text_bytes(arena, v.bytes),
	          v.options->quick && v.strange ? " by the records" : "", archived,
	          v.faults ? arena_printf(arena, "%" PRIu64 " fault%s", v.faults, v.faults == 1 ? "" : "s")
	                   : v.options->quick ? "sizes, times and inodes as recorded" : "all as recorded", clock_monotonic() - started);
	json_t *json = json_new_object(arena);
	json_put_text(arena, json, "dataset", v.spec->dataset);
	json_put_text(arena, json, "outcome", v.faults ? "fault" : "sound");
	if (v.options->tag)
		json_put_text(arena, json, "tag", v.options->tag);
	json_put_int(arena, json, "rows", (int64_t)v.rows);
	json_put_int(arena, json, "bytes", (int64_t)v.bytes);
	json_put_int(arena, json, "faults", (int64_t)v.faults);
	json_put_text(arena, json, "open_run", open.run);
	if (!v.options->quick && !v.options->tag)
		json_put_int(arena, json, "archived", (int64_t)v.archived);
	if (v.options->expect_rows >= 0)
		json_put_int(arena, json, "expected_rows", v.options->expect_rows);
	json_put(arena, json, "partitions", v.partitions);
	*out = result_new(arena, json, v.text.at);
	if (v.faults == 0)
		return RECLOSER_OK;
	error_set(error, RECLOSER_FAULT, "verify.fault", "%" PRIu64 " fault%s found in what is stored", v.faults, v.faults == 1 ? "" : "s");
	return error_hint(error, "the report names each with its partition; earlier versions are in the archive");
}

recloser_status recloser_verify(const recloser_verify_options *options, recloser_result **out, recloser_error *error)
{
	return call_run(verify, options, out, error);
}
