/* SPDX-License-Identifier: Apache-2.0
 * What is left over, foreign or lost. The sweeping itself is recover's. */
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "history/doctor.h"

static void say_list(struct doctor *doctor, const struct strings *items, const char *area, enum finding finding,
					 const char *hint, const char *what)
{
	enum { SHOWN = 5 };
	for (size_t i = 0; i < items->count && i < SHOWN; i++)
		doctor_say(doctor, area, finding, i == 0 ? hint : NULL, "%s: %s", what, partition_shown(items->at[i]));
	if (items->count > SHOWN)
		doctor_say(doctor, area, finding, NULL, "%s: %zu more", what, items->count - SHOWN);
}

/* A run is alive as long as its `alive` is locked; one that can be locked is dead. The lock is given back at once. */
static recloser_status staging(struct doctor *doctor, recloser_error *error)
{
	struct history *h = doctor->h;
	struct fs *fs = h->dataset->fs;
	struct strings runs = {0}, dead = {0}, living = {0};
	const char *directory = path_control(h->dataset, h->arena, "staging");
	struct open_run open;
	open_run_find(h->dataset, h->arena, &open);
	RC_TRY(control_list(h->dataset, h->arena, "staging", &runs, error));
	for (size_t i = 0; i < runs.count; i++) {
		const char *alive = path_in(h->arena, directory, runs.at[i], "alive");
		struct fs_lock *lock = NULL;
		struct fs_stat stat;
		if (fs->ops->stat(fs, alive, &stat) != 0)
			continue; /* it ends at this moment */
		if (open.run && !open.alive && strcmp(runs.at[i], open.run) == 0)
			continue;
		int failed = fs->ops->lock(fs, alive, NULL, &lock);
		strings_add(h->arena, failed == 0 ? &dead : &living, runs.at[i]);
		if (failed == 0)
			fs->ops->unlock(fs, lock);
	}
	if (open.run && !open.alive)
		doctor_say(doctor, "leftover", h->dataset->bucket ? FINDING_ADVICE : FINDING_FAULT, /* there it may be at work elsewhere */
				   "recloser recover finishes it, and so does the next load; what is live stays as it is",
				   "run %s was decided and %s before it was finished", open.run, h->dataset->bucket ? "perhaps cut short" : "cut short");
	say_list(doctor, &dead, "leftover", FINDING_ADVICE, "recloser recover sweeps it, and so does the next load",
			 "staging of a run that died");
	say_list(doctor, &living, "leftover", FINDING_FACT, NULL, "a run that is going on");
	return RECLOSER_OK;
}

static recloser_status temporary(struct doctor *doctor, recloser_error *error)
{
	struct history *h = doctor->h;
	struct strings names = {0};
	const char *directory = path_control(h->dataset, h->arena, "tmp");
	RC_TRY(control_list(h->dataset, h->arena, "tmp", &names, error));
	if (names.count)
		doctor_say(doctor, "leftover", FINDING_FACT, NULL,
				   "%zu temporary file%s in %s; recover sweeps those older than a day", names.count,
				   names.count == 1 ? "" : "s", directory);
	return RECLOSER_OK;
}

/* Every version that was not pruned must still be had; on a file system the live one, too, has its archived name. */
static recloser_status archive(struct doctor *doctor, recloser_error *error)
{
	struct history *h = doctor->h;
	struct strings lost = {0};
	json_t *prunes;
	uint64_t versions_seen = 0, bytes = 0, pruned = 0, kept_elsewhere = 0;
	RC_TRY(prunes_read(h->dataset, h->arena, &prunes, error));
	for (size_t i = 0; i < doctor->part_count; i++) {
		struct versions versions;
		RC_TRY(versions_of(h->dataset, h->arena, doctor->parts[i].partition, &versions, error));
		for (size_t k = 0; k < versions.count; k++) {
			struct record *record = versions.at[k], *unarchived = h->dataset->bucket && record == versions.newest ? record : NULL;
			const char *place;
			struct kept kept = {0};
			versions_seen++;
			RC_TRY(version_place(h->dataset, h->arena, record, unarchived, &place, error));
			bytes += place ? record->bytes : 0;
			bool by_prune = !place && pruned_how(h->arena, prunes, record->partition, record->seq);
			if (by_prune)
				RC_TRY(version_kept(h->dataset, h->arena, record, versions.newest, &versions, &kept, error));
			pruned += by_prune;
			kept_elsewhere += kept.record != NULL;
			if (!by_prune && !place)
				strings_add(h->arena, &lost,
							arena_printf(h->arena, "%s, seq %" PRId64, partition_shown(record->partition), record->seq));
		}
	}
	doctor_say(doctor, "archive", FINDING_FACT, NULL, "%s versions, %s; %s were pruned%s", text_count(h->arena, versions_seen),
			   text_bytes(h->arena, bytes), text_count(h->arena, pruned),
			   kept_elsewhere ? arena_printf(h->arena, ", %s of them kept as another version of the same bytes",
											 text_count(h->arena, kept_elsewhere)) : "");
	say_list(doctor, &lost, "archive", FINDING_FAULT, "put the file back from a backup; recloser why tells which one it is",
			 "the archived file of a version is gone or has another size, and no prune removed it");
	return RECLOSER_OK;
}

recloser_status doctor_order(struct doctor *doctor, recloser_error *error)
{
	struct history *h = doctor->h;
	struct recovery found;
	RC_TRY(recover_look(h->dataset, h->arena, &found, error));
	say_list(doctor, &found.missing, "live", FINDING_FAULT, "recloser restore brings it back from the archive",
			 "the live file is missing");
	say_list(doctor, &found.adoptable, "live", FINDING_ADVICE, "the next load archives it and records it as adopted",
			 "a file that recloser did not write");
	say_list(doctor, &found.foreign, "foreign", FINDING_ADVICE,
			 "readers may stumble over it: the tree is meant to hold part.parquet files and nothing else",
			 "a file that is not of this dataset");
	say_list(doctor, &found.warnings, "ledger", FINDING_FAULT, NULL, "ledger");
	RC_TRY(staging(doctor, error));
	RC_TRY(temporary(doctor, error));
	return doctor->part_count ? archive(doctor, error) : RECLOSER_OK;
}
