/* SPDX-License-Identifier: Apache-2.0
 * Retention. A version goes only when every rule that was given lets it go, and never when it is the newest of its
 * partition, pinned by a tag, named by an open commit, or when its file serves a record that stays. Records stay for ever.
 *
 * `older_than` asks when a version was replaced, not when it was loaded: what was live at that time and later can still be
 * had afterwards, so every as-of from then on keeps working. */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "history/history.h"

enum { LINES_SHOWN = 20 };

struct doomed {
	struct record *record;
	const char *archive; /* relative to the control directory */
	struct fs_stat stat;
	bool spared; /* a tag or a commit came between */
};

struct pruning {
	struct history *h;
	const recloser_prune_options *options;
	const char *run, *at;
	int64_t cutoff; /* microseconds; INT64_MAX: not given */
	struct tags tags;
	json_t *open;
	struct doomed *doomed;
	size_t count, capacity;
	struct strings kept_files;
	uint64_t tagged, kept, freed, bytes;
};

static recloser_status read_rules(struct pruning *p, recloser_error *error)
{
	const char *given = p->options->older_than;
	p->cutoff = INT64_MAX;
	if (!given && p->options->keep <= 0) {
		error_set(error, RECLOSER_USAGE, "prune.rule", "prune needs a rule: what may go?");
		return error_hint(error,
						  "--keep N keeps the newest N versions of each partition; --older-than 2026-01-01 or \"6 months\" "
						  "lets go what was replaced before then");
	}
	if (!given || when_begin(given, &p->cutoff) || when_before(given, clock_now_us(), &p->cutoff))
		return RECLOSER_OK;
	error_set(error, RECLOSER_USAGE, "prune.older_than", "\"%s\" is neither a date nor a span", given);
	return error_hint(error, "for instance 2026-01-01, \"90 days\", \"6 months\", 2y");
}

/* By number or by bytes: the file of a version may be all that is left of another one that a tag pins. */
static bool is_tagged(const struct tags *tags, const struct record *record)
{
	for (size_t i = 0; i < tags->count; i++)
		for (size_t k = 0; k < tags->at[i].count; k++) {
			const struct pin *pin = &tags->at[i].at[k];
			if ((pin->seq == record->seq || strcmp(pin->sha256, record->sha256) == 0) && strcmp(pin->partition, record->partition) == 0)
				return true;
		}
	return false;
}

/* Its own version or the one it is built on. */
static bool is_open(const json_t *entries, const struct record *record)
{
	for (size_t i = 0; i < json_array_size(entries); i++) {
		const json_t *entry = json_array_get(entries, i);
		const char *partition = json_get_text(entry, "partition");
		if (partition && strcmp(partition, record->partition) == 0 &&
			(json_get_int(entry, "seq", 0) == record->seq ||
			 json_get_int(json_object_get(entry, "base"), "seq", 0) == record->seq))
			return true;
	}
	return false;
}

static bool may_go(const struct pruning *p, const struct versions *versions, size_t at)
{
	size_t rank = versions->count - at; /* the newest is 1 */
	if (rank == 1 || (p->options->keep > 0 && rank <= (uint64_t)p->options->keep))
		return false;
	if (p->cutoff == INT64_MAX)
		return true;
	const char *replaced = versions->at[at + 1]->loaded_at;
	int64_t time = replaced ? clock_parse(replaced) : -1;
	return time >= 0 && time < p->cutoff;
}

static void condemn(struct pruning *p, struct record *record, const char *archive, const struct fs_stat *stat)
{
	if (p->count == p->capacity) {
		size_t capacity = p->capacity ? p->capacity * 2 : 64;
		p->doomed = arena_grow(p->h->arena, p->doomed, p->count * sizeof *p->doomed, capacity * sizeof *p->doomed);
		p->capacity = capacity;
	}
	p->doomed[p->count++] = (struct doomed){.record = record, .archive = archive, .stat = *stat};
}

static recloser_status judge(struct pruning *p, const char *partition, recloser_error *error)
{
	struct history *h = p->h;
	struct versions versions;
	RC_TRY(versions_of(h->dataset, h->arena, partition, &versions, error));
	for (size_t i = 0; i < versions.count; i++) {
		struct record *record = versions.at[i];
		const char *place;
		struct fs_stat stat;
		bool there = false;
		RC_TRY(version_place(h->dataset, h->arena, record, NULL, &place, error));
		if (place)
			RC_TRY(file_look(h->dataset, place, &stat, &there, error));
		if (!there)
			continue; /* went before, or is live and has no archived copy yet (in a bucket) */
		const char *archive = place + strlen(h->dataset->control) + 1;
		bool goes = may_go(p, &versions, i), tagged = goes && is_tagged(&p->tags, record);
		p->tagged += tagged;
		if (goes && !tagged && !is_open(p->open, record)) {
			condemn(p, record, archive, &stat);
			continue;
		}
		p->kept++;
		strings_add(h->arena, &p->kept_files, archive);
	}
	return RECLOSER_OK;
}

static void spare_shared(struct pruning *p)
{
	size_t left = 0;
	for (size_t i = 0; i < p->count; i++)
		if (!strings_has(&p->kept_files, p->doomed[i].archive))
			p->doomed[left++] = p->doomed[i];
	p->kept += p->count - left;
	p->count = left;
}

/* Bytes come free only with the last name of a file: a restored version shares them with the one it was restored from. */
static void sum_up(struct pruning *p)
{
	p->freed = p->bytes = 0;
	for (size_t i = 0; i < p->count; i++) {
		const struct fs_stat *stat = &p->doomed[i].stat;
		uint32_t names = 0;
		bool first = true;
		if (p->doomed[i].spared)
			continue;
		for (size_t k = 0; k < p->count; k++) {
			if (p->doomed[k].spared || (k != i && (stat->inode == 0 || p->doomed[k].stat.inode != stat->inode)))
				continue; /* objects have no inode: each is its own */
			names++;
			first &= k >= i;
		}
		p->bytes += stat->bytes;
		if (first && names >= stat->links)
			p->freed += stat->bytes;
	}
}

/* ---- telling ---- */

static json_t *versions_json(const struct pruning *p)
{
	struct arena *arena = p->h->arena;
	json_t *list = json_new_array(arena);
	for (size_t i = 0; i < p->count; i++) {
		const struct record *record = p->doomed[i].record;
		if (p->doomed[i].spared)
			continue;
		json_t *json = json_new_object(arena);
		json_put_text(arena, json, "partition", record->partition);
		json_put_int(arena, json, "seq", record->seq);
		json_put_text(arena, json, "loaded_at", record->loaded_at);
		json_put_text(arena, json, "sha256", record->sha256);
		json_put_int(arena, json, "bytes", (int64_t)record->bytes);
		json_put_text(arena, json, "archive", p->doomed[i].archive);
		json_add(arena, list, json);
	}
	return list;
}

static void put_rules(const struct pruning *p, json_t *json)
{
	struct arena *arena = p->h->arena;
	if (p->options->keep > 0)
		json_put_int(arena, json, "keep", p->options->keep);
	json_put_text(arena, json, "older_than", p->options->older_than);
	if (p->cutoff != INT64_MAX)
		json_put_text(arena, json, "replaced_before", clock_text(arena, p->cutoff));
}

static void tell(struct pruning *p, const char *outcome)
{
	struct history *h = p->h;
	struct arena *arena = h->arena;
	json_t *versions = versions_json(p);
	size_t count = json_array_size(versions), shown = 0;
	bool done = p->options->yes;
	json_put_text(arena, h->json, "dataset", h->dataset->name);
	json_put_text(arena, h->json, "outcome", outcome);
	json_put_text(arena, h->json, "run", done && count ? p->run : NULL);
	put_rules(p, h->json);
	json_put(arena, h->json, "versions", versions);
	json_put_int(arena, h->json, "bytes", (int64_t)p->bytes);
	json_put_int(arena, h->json, "freed_bytes", (int64_t)p->freed);
	json_put_int(arena, h->json, "kept", (int64_t)p->kept);
	json_put_int(arena, h->json, "kept_by_tags", (int64_t)p->tagged);
	text_addf(&h->text, "%s  %s\n", h->dataset->name, count ? done ? "pruned" : "what would go" : "nothing to prune");
	for (size_t i = 0; i < p->count; i++) {
		const struct record *record = p->doomed[i].record;
		if (!p->doomed[i].spared && shown++ < LINES_SHOWN)
			text_addf(&h->text, "  %s   seq %" PRId64 "   %s   %s\n", partition_shown(record->partition), record->seq,
					  when_shown(arena, record->loaded_at), text_bytes(arena, record->bytes));
	}
	if (shown > LINES_SHOWN)
		text_addf(&h->text, "  ... and %zu more\n", shown - LINES_SHOWN);
	text_addf(&h->text, "%zu version%s %s, %s %s; %s stay%s", count, count == 1 ? "" : "s", done ? "gone" : "would go",
			  text_bytes(arena, p->freed), done ? "freed" : "would come free", text_count(arena, p->kept),
			  p->tagged ? arena_printf(arena, ", %s of them for a tag", text_count(arena, p->tagged)) : "");
	text_add(&h->text, done || count == 0 ? "\n" : "   --yes does it\n");
}

/* ---- doing ---- */

static recloser_status write_prune(struct pruning *p, const char *state, recloser_error *error)
{
	struct arena *arena = p->h->arena;
	json_t *json = json_new_object(arena);
	json_put_text(arena, json, "run", p->run);
	json_put_text(arena, json, "at", p->at);
	json_put_text(arena, json, "state", state);
	put_rules(p, json);
	json_put_int(arena, json, "freed_bytes", (int64_t)p->freed);
	json_put(arena, json, "versions", versions_json(p));
	const char *text = json_text(arena, json);
	return control_write(p->h->dataset, arena, arena_printf(arena, "prunes/%s.json", p->run), text, strlen(text), error);
}

/* What an earlier prune announced and did not finish is no longer about to go: only what is gone stays on its list. */
static recloser_status settle(struct pruning *p, json_t *prune, recloser_error *error)
{
	struct history *h = p->h;
	struct arena *arena = h->arena;
	const char *state = json_get_text(prune, "state"), *run = json_get_text(prune, "run");
	const json_t *versions = json_object_get(prune, "versions");
	json_t *gone = json_new_array(arena);
	if (!state || strcmp(state, "announced") != 0 || !run)
		return RECLOSER_OK;
	for (size_t i = 0; i < json_array_size(versions); i++) {
		json_t *version = json_array_get(versions, i);
		const char *archive = json_get_text(version, "archive");
		struct fs_stat stat;
		bool there = true;
		if (archive)
			RC_TRY(file_look(h->dataset, path_control(h->dataset, arena, archive), &stat, &there, error));
		if (!there)
			json_add(arena, gone, version);
	}
	json_put_text(arena, prune, "state", "cut short");
	json_put(arena, prune, "versions", gone);
	const char *text = json_text(arena, prune);
	return control_write(h->dataset, arena, arena_printf(arena, "prunes/%s.json", run), text, strlen(text), error);
}

static recloser_status settle_earlier(struct pruning *p, recloser_error *error)
{
	json_t *prunes;
	RC_TRY(prunes_read(p->h->dataset, p->h->arena, &prunes, error));
	for (size_t i = 0; i < json_array_size(prunes); i++)
		RC_TRY(settle(p, json_array_get(prunes, i), error));
	return RECLOSER_OK;
}

/* Tags and commits again, now that everybody can see what is about to go. */
static recloser_status look_again(struct pruning *p, recloser_error *error)
{
	RC_TRY(tags_read(p->h->dataset, p->h->arena, &p->tags, error));
	RC_TRY(commit_open_entries(p->h->dataset, p->h->arena, &p->open, error));
	for (size_t i = 0; i < p->count; i++) {
		bool tagged = is_tagged(&p->tags, p->doomed[i].record);
		p->doomed[i].spared = tagged || is_open(p->open, p->doomed[i].record);
		p->kept += p->doomed[i].spared;
		p->tagged += tagged;
	}
	return RECLOSER_OK;
}

static recloser_status delete_all(struct pruning *p, recloser_error *error)
{
	for (size_t i = 0; i < p->count; i++) {
		if (p->doomed[i].spared || control_remove(p->h->dataset, p->h->arena, p->doomed[i].archive, error) == RECLOSER_OK)
			continue;
		return error_hint(error, "what was removed before stays removed; prune again when it is put right");
	}
	return RECLOSER_OK;
}

static recloser_status carry_out(struct pruning *p, recloser_error *error)
{
	RC_TRY(settle_earlier(p, error));
	RC_TRY(write_prune(p, "announced", error));
	RC_TRY(look_again(p, error));
	sum_up(p);
	RC_TRY(delete_all(p, error));
	return write_prune(p, "done", error);
}

recloser_status prune(struct history *h, const recloser_prune_options *options, recloser_error *error)
{
	struct pruning p = {
		.h = h, .options = options, .run = clock_run_id(h->arena), .at = clock_text(h->arena, clock_now_us())};
	struct strings partitions = {0};
	struct recovery recovery = {0};
	RC_TRY(read_rules(&p, error));
	if (options->yes)
		RC_TRY(recover(h->dataset, h->arena, false, &recovery, error));
	RC_TRY(tags_read(h->dataset, h->arena, &p.tags, error));
	RC_TRY(commit_open_entries(h->dataset, h->arena, &p.open, error));
	RC_TRY(ledger_partitions(h->dataset, h->arena, &partitions, error));
	for (size_t i = 0; i < partitions.count; i++)
		RC_TRY(judge(&p, partitions.at[i], error));
	spare_shared(&p);
	sum_up(&p);
	if (options->yes && p.count)
		RC_TRY(carry_out(&p, error));
	tell(&p, !options->yes ? "dry_run" : p.count ? "pruned" : "unchanged");
	return RECLOSER_OK;
}
