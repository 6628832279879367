/* SPDX-License-Identifier: Apache-2.0
 * Where the bytes of a version are to be had. A version that was pruned may live on as another one of the same bytes: it was
 * restored, or the same publication came again. Whoever points at a file for longer than this call (a view, a tag) must not
 * be sent to the live one, for the next load puts other rows there. */
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "history/history.h"

/* Its own archived file, whatever is live. */
static recloser_status archived(struct dataset *dataset, struct arena *arena, struct record *record, struct kept *out,
								recloser_error *error)
{
	const char *file;
	RC_TRY(version_place(dataset, arena, record, NULL, &file, error));
	if (file)
		*out = (struct kept){.record = record, .file = file};
	return RECLOSER_OK;
}

static recloser_status archived_as_another(struct dataset *dataset, struct arena *arena, const struct record *record,
										   const struct versions *versions, struct kept *out, recloser_error *error)
{
	for (size_t i = versions->count; i > 0 && !out->file; i--) {
		struct record *other = versions->at[i - 1];
		if (other->seq != record->seq && strcmp(other->sha256, record->sha256) == 0)
			RC_TRY(archived(dataset, arena, other, out, error));
	}
	return RECLOSER_OK;
}

static recloser_status live_if_same(struct dataset *dataset, struct arena *arena, const struct record *record, struct record *newest,
									struct kept *out, recloser_error *error)
{
	const char *file;
	if (!newest || strcmp(newest->sha256, record->sha256) != 0)
		return RECLOSER_OK;
	RC_TRY(version_place(dataset, arena, newest, newest, &file, error));
	if (file)
		*out = (struct kept){.record = newest, .file = file, .live = strcmp(file, live_path(dataset, arena, newest->partition)) == 0};
	return RECLOSER_OK;
}

/* In a bucket the newest version has no archived copy before it is replaced, and each record is a request: of the others only
 * the one that it was restored from is asked for. */
static recloser_status newest_in_bucket(struct dataset *dataset, struct arena *arena, struct record *newest, struct kept *out,
										recloser_error *error)
{
	struct record *earlier = NULL;
	if (newest->unfinished) {
		*out = (struct kept){newest, live_path(dataset, arena, newest->partition), true};
		return RECLOSER_OK;
	}
	int64_t from = json_get_int(json_object_get(newest->json, "restored_from"), "seq", 0);
	if (from > 0 && from < newest->seq)
		RC_TRY(ledger_read(dataset, arena, newest->partition, from, &earlier, error));
	if (earlier && strcmp(earlier->sha256, newest->sha256) == 0)
		RC_TRY(archived(dataset, arena, earlier, out, error));
	return out->file ? RECLOSER_OK : live_if_same(dataset, arena, newest, newest, out, error);
}

recloser_status version_kept(struct dataset *dataset, struct arena *arena, struct record *record, struct record *newest,
							 const struct versions *versions, struct kept *out, recloser_error *error)
{
	struct versions read;
	*out = (struct kept){0};
	if (dataset->bucket && newest && record->seq == newest->seq)
		return newest_in_bucket(dataset, arena, record, out, error);
	RC_TRY(archived(dataset, arena, record, out, error));
	if (out->file)
		return RECLOSER_OK;
	if (!versions) {
		RC_TRY(versions_of(dataset, arena, record->partition, &read, error));
		versions = &read;
	}
	RC_TRY(archived_as_another(dataset, arena, record, versions, out, error));
	return out->file ? RECLOSER_OK : live_if_same(dataset, arena, record, newest, out, error);
}

const char *kept_shown(struct arena *arena, const struct record *record, const struct kept *kept)
{
	if (!kept->record || kept->record->seq == record->seq)
		return "";
	return arena_printf(arena, "; its bytes are kept as seq %" PRId64, kept->record->seq);
}
