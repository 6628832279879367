/* SPDX-License-Identifier: Apache-2.0
 * Publications that follow each other: the partitions of a series, or else the versions of a partition. What is missing
 * between them, and what drifts from one to the next. */
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "history/doctor.h"

enum { LAST_PUBLICATIONS = 24, MOST_PAIRS = 240 };

/* ---- gaps ---- */

static void gaps(struct doctor *doctor, const struct line *line)
{
	struct strings missing = {0}, shown = {0};
	series_gaps(doctor->h->arena, line, &missing);
	if (missing.count == 0)
		return;
	for (size_t i = 0; i < missing.count && i < 12; i++)
		strings_add(doctor->h->arena, &shown, missing.at[i]);
	doctor_say(doctor, "series", FINDING_ADVICE, "load what is missing, or note that it was never published",
			   "%s%s%zu %s missing between %s and %s: %s%s", line->group, *line->group ? ": " : "", missing.count,
			   missing.count == 1 ? "is" : "are", line->values[0], line->values[line->count - 1],
			   strings_join(doctor->h->arena, &shown, ", "), missing.count > shown.count ? " ..." : "");
}

/* ---- columns ---- */

static const char *type_in(const json_t *schema, const char *name)
{
	for (size_t i = 0; i < json_array_size(schema); i++) {
		const json_t *column = json_array_get(schema, i);
		const char *its = json_get_text(column, "name");
		if (its && strcmp(its, name) == 0)
			return json_get_text(column, "type");
	}
	return NULL;
}

static void columns_not_in(struct doctor *doctor, const json_t *these, const json_t *those, struct strings *out)
{
	for (size_t i = 0; i < json_array_size(these); i++) {
		const char *name = json_get_text(json_array_get(these, i), "name");
		if (name && !type_in(those, name))
			strings_add(doctor->h->arena, out, name);
	}
}

static void columns(struct doctor *doctor, const struct pair *pair)
{
	struct arena *arena = doctor->h->arena;
	const json_t *older = json_object_get(pair->older_record->json, "schema"),
				 *newer = json_object_get(pair->newer_record->json, "schema");
	struct strings gone = {0}, fresh = {0};
	if (!json_is_array(older) || !json_is_array(newer))
		return;
	columns_not_in(doctor, older, newer, &gone);
	columns_not_in(doctor, newer, older, &fresh);
	if (gone.count)
		doctor_say(doctor, "drift", FINDING_ADVICE,
				   fresh.count ? "a renamed column can be named both ways: from: [OLD, NEW]" : NULL,
				   "columns gone in %s: %s", pair->newer, strings_join(arena, &gone, ", "));
	if (fresh.count)
		doctor_say(doctor, "drift", FINDING_ADVICE, NULL, "columns new in %s: %s", pair->newer,
				   strings_join(arena, &fresh, ", "));
	for (size_t i = 0; i < json_array_size(older); i++) {
		const json_t *column = json_array_get(older, i);
		const char *name = json_get_text(column, "name"), *type = json_get_text(column, "type");
		const char *now = name ? type_in(newer, name) : NULL;
		if (now && type && strcmp(now, type) != 0)
			doctor_say(doctor, "drift", FINDING_ADVICE, "declare its type in the spec", "column %s is %s in %s and %s in %s",
					   name, type, pair->older, now, pair->newer);
	}
}

/* ---- keys ---- */

enum { LEAST_GONE = 5 };

/* How long keys last, over all steps of a line. */
struct health {
	size_t steps, bad;
	int64_t gone, fresh;      /* of the worst step */
	uint64_t of;
	const char *older, *newer;
	const char *named;        /* what the guard said of it when it was loaded, or NULL: it names the field */
};

/* As many new as gone, and many: the same things under other keys. Of a handful of rows this proves nothing. */
static bool churned(int64_t gone, int64_t fresh, const struct pair *pair)
{
	bool many = gone >= LEAST_GONE && (uint64_t)gone * 5 > pair->older_record->rows && (uint64_t)fresh * 5 > pair->newer_record->rows;
	return many && gone < 2 * fresh && fresh < 2 * gone;
}

/* The guard has compared the rows themselves, and is right also about a handful. */
static const char *guard_said(const struct record *record)
{
	const json_t *guards = json_object_get(record->json, "guards");
	for (size_t i = 0; i < json_array_size(guards); i++) {
		const char *guard = json_get_text(json_array_get(guards, i), "guard");
		if (guard && strcmp(guard, "key_churn") == 0)
			return json_get_text(json_array_get(guards, i), "what");
	}
	return NULL;
}

static void judge_keys(struct health *health, const struct pair *pair, int64_t gone, int64_t fresh)
{
	const char *named = guard_said(pair->newer_record);
	health->steps++;
	if (!named && !churned(gone, fresh, pair))
		return;
	health->bad++;
	health->named = named ? named : health->named;
	if (gone <= health->gone)
		return;
	health->gone = gone;
	health->fresh = fresh;
	health->of = pair->older_record->rows;
	health->older = pair->older;
	health->newer = pair->newer;
}

static void tell_health(struct doctor *doctor, const struct health *health)
{
	if (!health->bad)
		return;
	struct arena *arena = doctor->h->arena;
	doctor_say(doctor, "keys", FINDING_ADVICE,
			   health->named ? health->named : "does the identity hold a field that changes, such as a status or a date?",
			   "in %zu of %zu step%s many keys are gone and as many are new%s", health->bad, health->steps,
			   health->steps == 1 ? "" : "s",
			   !health->older ? "" : arena_printf(arena, ": %" PRId64 " of %" PRIu64 " keys of %s are gone in %s and %" PRId64 " are new%s",
				   health->gone, health->of, health->older, health->newer, health->fresh, health->bad > 1 ? ", the most" : ""));
}

static const char *table_of(struct arena *arena, const char *file)
{
	return arena_printf(arena, "read_parquet(%s, hive_partitioning = false)", sql_text(arena, file));
}

static recloser_status keys(struct doctor *doctor, const struct pair *pair, struct health *health, recloser_error *error)
{
	struct history *h = doctor->h;
	struct arena *arena = h->arena;
	struct rows rows;
	const char *key = sql_name(arena, h->spec->key_column);
	const json_t *base = json_object_get(pair->newer_record->json, "base");
	const json_t *gone = json_object_get(pair->newer_record->json, "disappeared"); /* a load has counted, a restore has not */
	if (json_is_integer(gone) && json_get_int(base, "seq", 0) == pair->older_record->seq &&
		strcmp(pair->older_record->partition, pair->newer_record->partition) == 0) {
		judge_keys(health, pair, json_integer_value(gone), json_get_int(pair->newer_record->json, "new_keys", 0));
		return RECLOSER_OK;
	}
	if (!pair->older_file || !pair->newer_file)
		return RECLOSER_OK;
	RC_TRY(
		engine_query(h->engine, arena, "compare keys",
					 arena_printf(arena,
								  "SELECT count(*) FILTER (WHERE n.%s IS NULL), count(*) FILTER (WHERE o.%s IS NULL) FROM "
								  "%s o FULL JOIN %s n ON o.%s = n.%s",
								  key, key, table_of(arena, pair->older_file), table_of(arena, pair->newer_file), key, key),
					 &rows, error));
	judge_keys(health, pair, rows_int(&rows, 0, 0), rows_int(&rows, 0, 1));
	return RECLOSER_OK;
}

/* ---- pairs ---- */

struct publication {
	const char *label;
	struct record *record;
	const char *file;
};

/* A local file of its rows; NULL: not to be had. */
static recloser_status file_of(struct history *h, struct record *record, struct record *newest, const struct versions *versions,
							   const char **out, recloser_error *error)
{
	struct kept kept;
	RC_TRY(version_kept(h->dataset, h->arena, record, newest, versions, &kept, error));
	*out = NULL;
	return kept.file ? version_file(h->dataset, h->arena, kept.record, out, error) : RECLOSER_OK;
}

static recloser_status publications(struct doctor *doctor, const struct line *line, struct publication **out, size_t *count,
									recloser_error *error)
{
	struct history *h = doctor->h;
	struct versions versions = {0};
	if (!h->spec->series)
		RC_TRY(versions_of(h->dataset, h->arena, line->partitions[0], &versions, error));
	size_t all = h->spec->series ? line->count : versions.count,
		   first = all > LAST_PUBLICATIONS ? all - LAST_PUBLICATIONS : 0;
	*out = arena_array(h->arena, all + 1, sizeof **out);
	*count = 0;
	for (size_t i = first; i < all; i++) {
		struct publication *publication = &(*out)[*count];
		struct record *newest = versions.newest;
		if (h->spec->series)
			RC_TRY(ledger_newest(h->dataset, h->arena, line->partitions[i], &newest, error));
		if (!newest)
			continue;
		publication->record = h->spec->series ? newest : versions.at[i];
		publication->label =
			h->spec->series && doctor->line_count == 1 ? arena_printf(h->arena, "%s=%s", h->spec->series, line->values[i])
			: h->spec->series
				? line->partitions[i]
				: arena_printf(h->arena, "%s seq %" PRId64, partition_shown(line->partitions[0]), publication->record->seq);
		if (!doctor->quick)
			RC_TRY(file_of(h, publication->record, newest, h->spec->series ? NULL : &versions, &publication->file, error));
		++*count;
	}
	return RECLOSER_OK;
}

static recloser_status look_at_line(struct doctor *doctor, const struct line *line, size_t *pairs, recloser_error *error)
{
	struct publication *at;
	size_t count;
	if (doctor->h->spec->series)
		gaps(doctor, line);
	struct health health = {0};
	RC_TRY(publications(doctor, line, &at, &count, error));
	for (size_t i = 1; i < count && *pairs < MOST_PAIRS; i++, ++*pairs) {
		struct pair pair = {.older = at[i - 1].label,
							.newer = at[i].label,
							.older_record = at[i - 1].record,
							.newer_record = at[i].record,
							.older_file = at[i - 1].file,
							.newer_file = at[i].file,
							.number = i};
		columns(doctor, &pair);
		RC_TRY(keys(doctor, &pair, &health, error));
		if (pair.older_file && pair.newer_file)
			RC_TRY(doctor_values(doctor, &pair, error));
	}
	tell_health(doctor, &health);
	doctor_tell_respelled(doctor);
	return RECLOSER_OK;
}

recloser_status doctor_series(struct doctor *doctor, recloser_error *error)
{
	size_t pairs = 0;
	for (size_t i = 0; i < doctor->line_count; i++)
		RC_TRY(look_at_line(doctor, &doctor->lines[i], &pairs, error));
	if (pairs == MOST_PAIRS)
		doctor_say(doctor, "drift", FINDING_FACT, NULL, "looked at the first %d pairs of publications only", MOST_PAIRS);
	return RECLOSER_OK;
}
