/* SPDX-License-Identifier: Apache-2.0
 * The story of a file, found by its content alone.
 *
 * The index is the commits themselves: every decided plan names the SHA-256 and the content fingerprint of each version that
 * it made, and there is one file a run, not one a version. They are searched as bytes and parsed on a hit. Records that no
 * commit tells of (a ledger that was rebuilt) are read one by one when nothing was found. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "history/history.h"
#include "partition/part.h"

struct hit {
	struct dataset *dataset;
	struct record *record;
};
struct asking {
	struct history *h;
	const char *file;
	char sha256[SHA256_HEX];
	uint64_t bytes;
	const char *fingerprint; /* of the rows, when the bytes are not known */
	struct hit *hits;
	size_t count, capacity;
};

/* ---- finding ---- */

static void add_hit(struct asking *asking, struct dataset *dataset, struct record *record)
{
	for (size_t i = 0; i < asking->count; i++)
		if (asking->hits[i].dataset == dataset && asking->hits[i].record->seq == record->seq &&
			strcmp(asking->hits[i].record->partition, record->partition) == 0)
			return;
	if (asking->count == asking->capacity) {
		size_t capacity = asking->capacity ? asking->capacity * 2 : 4;
		asking->hits = arena_grow(asking->h->arena, asking->hits, asking->count * sizeof *asking->hits,
								  capacity * sizeof *asking->hits);
		asking->capacity = capacity;
	}
	asking->hits[asking->count++] = (struct hit){dataset, record};
}

static bool is_it(const struct asking *asking, const char *sha256, const char *fingerprint)
{
	if (asking->fingerprint)
		return fingerprint && strcmp(fingerprint, asking->fingerprint) == 0;
	return sha256 && strcmp(sha256, asking->sha256) == 0;
}

/* Of a run that was decided and not finished: it is live, and no record is in the ledger. */
static recloser_status unfinished(struct dataset *dataset, struct arena *arena, const char *partition, int64_t seq, struct record **out,
								  recloser_error *error)
{
	struct record *newest;
	enum live_state live;
	RC_TRY(live_newest(dataset, arena, partition, &newest, &live, error));
	*out = newest && newest->unfinished && newest->seq == seq ? newest : NULL;
	return RECLOSER_OK;
}

static recloser_status read_commit(struct asking *asking, struct dataset *dataset, const char *path, struct arena *scratch,
								   recloser_error *error)
{
	const char *wanted = asking->fingerprint ? asking->fingerprint : asking->sha256;
	char *bytes;
	size_t count;
	json_t *plan;
	RC_TRY(control_read(dataset, scratch, path, &bytes, &count, error));
	if (!bytes || !memmem(bytes, count, wanted, strlen(wanted)))
		return RECLOSER_OK;
	RC_TRY(json_parse(scratch, bytes, count, path, &plan, error));
	const json_t *entries = json_object_get(plan, "entries");
	for (size_t i = 0; i < json_array_size(entries); i++) {
		const json_t *entry = json_array_get(entries, i);
		const char *partition = json_get_text(entry, "partition");
		struct record *record;
		if (!partition || !is_it(asking, json_get_text(entry, "sha256"), json_get_text(entry, "content_fingerprint")))
			continue;
		partition = arena_strdup(asking->h->arena, partition);
		RC_TRY(ledger_read(dataset, asking->h->arena, partition, json_get_int(entry, "seq", 0), &record, error));
		if (!record)
			RC_TRY(unfinished(dataset, asking->h->arena, partition, json_get_int(entry, "seq", 0), &record, error));
		if (record && strcmp(record->kind, "void") != 0)
			add_hit(asking, dataset, record);
	}
	return RECLOSER_OK;
}

static recloser_status search_commits(struct asking *asking, struct dataset *dataset, recloser_error *error)
{
	struct strings names = {0};
	struct arena *arena = asking->h->arena;
	RC_TRY(control_list(dataset, arena, "commits", &names, error));
	for (size_t i = names.count; i > 0; i--) {
		if (number_of(names.at[i - 1]) == 0)
			continue;
		struct arena *scratch = arena_new(arena);
		if (!scratch)
			arena_out_of_memory(arena);
		recloser_status status =
			read_commit(asking, dataset, path_in(arena, "commits", names.at[i - 1], ""), scratch, error);
		arena_free(scratch);
		RC_TRY(status);
	}
	return RECLOSER_OK;
}

static recloser_status search_ledger(struct asking *asking, struct dataset *dataset, recloser_error *error)
{
	struct strings partitions = {0};
	RC_TRY(ledger_partitions(dataset, asking->h->arena, &partitions, error));
	for (size_t i = 0; i < partitions.count; i++) {
		struct versions versions;
		RC_TRY(versions_of(dataset, asking->h->arena, partitions.at[i], &versions, error));
		for (size_t k = versions.count; k > 0; k--)
			if (is_it(asking, versions.at[k - 1]->sha256, versions.at[k - 1]->content_fingerprint))
				add_hit(asking, dataset, versions.at[k - 1]);
	}
	return RECLOSER_OK;
}

/* ---- by rows ---- */

/* What the content pass needs of a spec, as the dataset itself says it. */
static const struct spec *spec_of(struct arena *arena, const struct dataset *dataset)
{
	struct spec *spec = arena_alloc(arena, sizeof *spec);
	const json_t *columns = json_object_get(dataset->config, "partition");
	for (size_t i = 0; i < json_array_size(columns); i++)
		strings_add(arena, &spec->partition, json_string_value(json_array_get(columns, i)));
	spec->key_column = json_get_text(dataset->config, "key");
	spec->geometry.missing = GEOMETRY_ALLOW;
	spec->order = ORDER_SOURCE;
	return spec;
}

/* The geometry column's name in the file's own `geo` entry, or NULL. */
static recloser_status geometry_of(struct asking *asking, const char **out, recloser_error *error)
{
	struct arena *arena = asking->h->arena;
	struct rows rows;
	json_t *geo;
	recloser_error ignored = {0};
	*out = NULL;
	RC_TRY(engine_query(asking->h->engine, arena, "read the footer",
						arena_printf(arena, "SELECT decode(value) FROM parquet_kv_metadata(%s) WHERE decode(key) = 'geo'",
									 sql_text(arena, asking->file)),
						&rows, error));
	if (rows.row_count && rows_at(&rows, 0, 0) &&
		json_parse(arena, rows_at(&rows, 0, 0), strlen(rows_at(&rows, 0, 0)), "geo", &geo, &ignored) == RECLOSER_OK)
		*out = json_get_text(geo, "primary_column");
	return RECLOSER_OK;
}

/* crs_id as the dataset's own records have it. */
static recloser_status crs_of(struct dataset *dataset, struct arena *arena, const char **out, recloser_error *error)
{
	struct strings partitions = {0};
	*out = NULL;
	RC_TRY(ledger_partitions(dataset, arena, &partitions, error));
	for (size_t i = 0; i < partitions.count && !*out; i++) {
		struct record *newest;
		RC_TRY(ledger_newest(dataset, arena, partitions.at[i], &newest, error));
		*out = newest ? json_get_text(newest->json, "crs_id") : NULL;
	}
	return RECLOSER_OK;
}

/* A file that can't be read as rows has no fingerprint: that is an answer. */
static recloser_status fingerprint_for(struct asking *asking, struct dataset *dataset, recloser_error *error)
{
	struct arena *arena = asking->h->arena;
	struct part_verdict verdict = {0};
	const char *geometry, *crs_id;
	struct spec *spec = (struct spec *)spec_of(arena, dataset);
	asking->fingerprint = "";
	recloser_error problem = {0};
	if (!spec->key_column || geometry_of(asking, &geometry, &problem) != RECLOSER_OK)
		return RECLOSER_OK;
	RC_TRY(crs_of(dataset, arena, &crs_id, error));
	spec->geometry.column = geometry ? geometry : "";
	struct part_check check = {.engine = asking->h->engine,
							   .spec = spec,
							   .file = asking->file,
							   .path = "",
							   .rows = -1,
							   .crs_id = crs_id,
							   .has_geometry = geometry != NULL};
	RC_TRY(part_verify(arena, &check, &verdict, error));
	asking->fingerprint = arena_strdup(arena, verdict.content.fingerprint);
	return RECLOSER_OK;
}

static recloser_status search(struct asking *asking, struct dataset *const *datasets, size_t count, recloser_error *error)
{
	for (size_t i = 0; i < count; i++)
		RC_TRY(search_commits(asking, datasets[i], error));
	for (size_t i = 0; i < count && asking->count == 0; i++)
		RC_TRY(search_ledger(asking, datasets[i], error));
	for (size_t i = 0; i < count && asking->count == 0; i++) {
		RC_TRY(fingerprint_for(asking, datasets[i], error));
		if (!*asking->fingerprint)
			continue;
		RC_TRY(search_commits(asking, datasets[i], error));
		if (asking->count == 0)
			RC_TRY(search_ledger(asking, datasets[i], error));
	}
	return RECLOSER_OK;
}

/* ---- telling ---- */

static json_t *tell_sources(struct history *h, struct dataset *dataset, const struct record *record)
{
	struct arena *arena = h->arena;
	const json_t *sources = json_object_get(record->json, "sources");
	json_t *list = json_new_array(arena);
	for (size_t i = 0; i < json_array_size(sources); i++) {
		const json_t *source = json_array_get(sources, i);
		const char *sha256 = json_get_text(source, "sha256"), *name = json_get_text(source, "name");
		const char *kept = sha256 ? source_archived(dataset, arena, sha256) : NULL;
		json_t *json = json_on(arena, json_deep_copy(source));
		json_put_text(arena, json, "archived", kept);
		json_add(arena, list, json);
		text_addf(&h->text, "  made of %s   sha256 %s%s%s\n", name ? name : "an unnamed source", sha256 ? sha256 : "unknown",
				  kept ? "   kept as " : "", kept ? kept : "");
	}
	return list;
}

static void tell_replaced(struct history *h, const struct record *next, json_t *json)
{
	struct arena *arena = h->arena;
	json_t *after = version_json(arena, next);
	json_put_text(arena, after, "why", version_reason(arena, next));
	json_put(arena, json, "replaced_by", after);
	json_put_bool(arena, json, "live", false);
	text_addf(&h->text, "  replaced on %s by seq %" PRId64 ": %s%s\n", when_shown(arena, next->loaded_at), next->seq,
			  version_reason(arena, next), next->unfinished ? " (its run is not finished)" : "");
}

/* What went live after it. */
static recloser_status tell_successor(struct history *h, struct dataset *dataset, const struct record *record, json_t *json,
									  recloser_error *error)
{
	struct arena *arena = h->arena;
	struct versions versions;
	struct record *newest;
	enum live_state live;
	RC_TRY(live_newest(dataset, arena, record->partition, &newest, &live, error)); /* versions may be newer, not older */
	RC_TRY(versions_of(dataset, arena, record->partition, &versions, error));
	for (size_t i = 0; i < versions.count; i++) {
		const struct record *next = versions.at[i];
		if (next->seq <= record->seq)
			continue;
		tell_replaced(h, next, json);
		return RECLOSER_OK;
	}
	if (newest && newest->unfinished && newest->seq > record->seq) {
		tell_replaced(h, newest, json);
		return RECLOSER_OK;
	}
	json_put(arena, json, "replaced_by", json_null());
	json_put_bool(arena, json, "live", live == LIVE_SOUND);
	text_add(&h->text, record->unfinished   ? "  it is live, and its run is not finished: recloser recover or the next load finishes it\n"
					   : live == LIVE_SOUND ? "  it is live\n"
										  : "  it is the newest version, but not what is live: recloser verify tells\n");
	return RECLOSER_OK;
}

static recloser_status tell_place(struct history *h, struct dataset *dataset, struct record *record, json_t *json,
								  recloser_error *error)
{
	struct arena *arena = h->arena;
	struct record *newest;
	struct tags tags;
	struct kept kept;
	json_t *names = json_new_array(arena), *prunes;
	RC_TRY(ledger_newest(dataset, arena, record->partition, &newest, error));
	RC_TRY(version_kept(dataset, arena, record, newest, NULL, &kept, error));
	RC_TRY(tags_read(dataset, arena, &tags, error));
	RC_TRY(prunes_read(dataset, arena, &prunes, error));
	for (size_t i = 0; i < tags.count; i++)
		if (tag_pins(&tags.at[i], record->partition, record->seq)) {
			json_add_text(arena, names, tags.at[i].name);
			text_addf(&h->text, "  pinned by tag %s\n", tags.at[i].name);
		}
	bool own = kept.record && kept.record->seq == record->seq;
	const char *how = own ? NULL : pruned_how(arena, prunes, record->partition, record->seq);
	json_put(arena, json, "tags", names);
	json_put_text(arena, json, "file", kept.file);
	if (kept.record && !own)
		json_put_int(arena, json, "kept_as", kept.record->seq);
	json_put_text(arena, json, "pruned", how);
	if (how)
		text_addf(&h->text, "  %s%s\n", how, kept_shown(arena, record, &kept));
	if (kept.file || !how)
		text_addf(&h->text, "  kept as %s\n", kept.file ? kept.file : "nothing: its archived file is gone");
	return RECLOSER_OK;
}

static recloser_status tell_hit(struct history *h, const struct hit *hit, const char *by, json_t *list,
								recloser_error *error)
{
	struct arena *arena = h->arena;
	struct record *record = hit->record;
	json_t *json = json_new_object(arena), *of = version_json(arena, record), *value;
	const char *name, *spec = json_get_text(record->json, "spec_sha256");
	const char *engine = json_get_text(record->json, "engine"), *program = json_get_text(record->json, "recloser");
	json_put_text(arena, json, "dataset", hit->dataset->name);
	json_put_text(arena, json, "root", hit->dataset->root);
	json_put_text(arena, json, "partition", record->partition);
	json_object_foreach(of, name, value) json_put(arena, json, name, value);
	json_put_text(arena, json, "why", version_reason(arena, record));
	text_addf(&h->text, "%s  %s   seq %" PRId64 ", by its %s\n", hit->dataset->name, partition_shown(record->partition),
			  record->seq, by);
	text_addf(&h->text, "  loaded on %s by run %s: %s\n", when_shown(arena, record->loaded_at),
			  record->run ? record->run : "unknown", version_reason(arena, record));
	text_addf(&h->text, "  %s rows, %s   sha256 %s   content %s\n", text_count(arena, record->rows),
			  text_bytes(arena, record->bytes), record->sha256,
			  record->content_fingerprint ? record->content_fingerprint : "unknown");
	json_put(arena, json, "sources", tell_sources(h, hit->dataset, record));
	json_put_text(arena, json, "spec_sha256", spec);
	json_put_text(arena, json, "engine", engine);
	json_put_text(arena, json, "recloser", program);
	text_addf(&h->text, "  by spec %s, recloser %s, DuckDB %s\n", spec ? spec : "unknown", program ? program : "unknown",
			  engine ? engine : "unknown");
	RC_TRY(tell_successor(h, hit->dataset, record, json, error));
	RC_TRY(tell_place(h, hit->dataset, record, json, error));
	json_add(arena, list, json);
	return RECLOSER_OK;
}

recloser_status why(struct history *h, const char *file, struct dataset *const *datasets, size_t count,
					recloser_error *error)
{
	struct asking asking = {.h = h, .file = file};
	RC_TRY(sha256_file(file, asking.sha256, &asking.bytes, error));
	RC_TRY(search(&asking, datasets, count, error));
	json_t *list = json_new_array(h->arena);
	json_put_text(h->arena, h->json, "file", file);
	json_put_text(h->arena, h->json, "sha256", asking.sha256);
	json_put_int(h->arena, h->json, "bytes", (int64_t)asking.bytes);
	json_put_text(h->arena, h->json, "found_by", asking.count == 0 ? NULL : asking.fingerprint ? "rows" : "bytes");
	json_put(h->arena, h->json, "versions", list);
	for (size_t i = 0; i < asking.count; i++)
		RC_TRY(tell_hit(h, &asking.hits[i], asking.fingerprint ? "rows (another program wrote them again)" : "bytes", list,
						error));
	if (asking.count)
		return RECLOSER_OK;
	struct strings names = {0};
	for (size_t i = 0; i < count; i++)
		strings_add(h->arena, &names, datasets[i]->name);
	error_set(error, RECLOSER_FAULT, "why.unknown", "no version is known that has these bytes or these rows");
	error_where(error, "%s, sha256 %s", file, asking.sha256);
	return error_hint(error, "looked in: %s; --root DIR or --spec SPEC say where else",
					  names.count ? strings_join(h->arena, &names, ", ") : "no dataset");
}
