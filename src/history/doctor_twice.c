/* SPDX-License-Identifier: Apache-2.0
 * Keys that are live in more than one partition. A load says so of the partitions that it touches or compares, once; the old
 * partition stays live when the source does not mention it any more, and from then on every sum over the tree counts those
 * rows twice. Partitions of a series are meant to have the same keys: only those of one step are looked at together.
 *
 * One aggregate over the key column of all of them, by the number of the file; the engine spills. In a bucket the files come
 * and go one by one, and their keys are put into a table that spills as well. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hive.h"
#include "base/json.h"
#include "history/doctor.h"

enum { SHOWN = 3 };

/* Partitions that may not share a key. */
struct together {
	const char *step; /* value of the series, "" without */
	const struct live_part **at;
	size_t count;
};

/* Where every column that tells two of them apart is in the identity, they can't. */
static bool key_tells_apart(const struct spec *spec)
{
	for (size_t c = 0; c < spec->partition.count; c++) {
		bool found = spec->series && strcmp(spec->partition.at[c], spec->series) == 0;
		for (size_t i = 0; i < spec->identity_count && !found; i++)
			found = spec->identity[i].column && strcmp(spec->identity[i].column, spec->partition.at[c]) == 0;
		if (!found)
			return false;
	}
	return true;
}

static const char *step_of(struct history *h, const char *partition)
{
	const char **values = partition_values(h->arena, &h->spec->partition, partition);
	for (size_t c = 0; values && h->spec->series && c < h->spec->partition.count; c++)
		if (strcmp(h->spec->partition.at[c], h->spec->series) == 0)
			return values[c];
	return "";
}

static bool has_key(const struct history *h, const struct record *record)
{
	const json_t *schema = json_object_get(record->json, "schema");
	for (size_t i = 0; i < json_array_size(schema); i++) {
		const char *name = json_get_text(json_array_get(schema, i), "name");
		if (name && strcmp(name, h->spec->key_column) == 0)
			return true;
	}
	return false;
}

/* ---- what is looked at together ---- */

struct stepped {
	const char *step;
	const struct live_part *part;
};

static int by_step(const void *one, const void *other)
{
	const struct stepped *a = one, *b = other;
	int order = strcmp(a->step, b->step);
	return order ? order : strcmp(a->part->partition, b->part->partition);
}

/* The newest versions that are live, with their steps, in order. */
static recloser_status live_parts(struct doctor *doctor, struct stepped **out, size_t *count, recloser_error *error)
{
	struct history *h = doctor->h;
	*out = arena_array(h->arena, doctor->part_count + 1, sizeof **out);
	*count = 0;
	for (size_t i = 0; i < doctor->part_count; i++) {
		const struct live_part *part = &doctor->parts[i];
		struct record *newest;
		enum live_state live;
		struct arena *scratch = arena_new(h->arena);
		recloser_status status = live_brief(h->dataset, scratch, part->partition, part->record->seq, &newest, &live, error);
		bool same = status == RECLOSER_OK && live == LIVE_SOUND && newest && newest->seq == part->record->seq;
		arena_free(scratch);
		RC_TRY(status);
		if (same && has_key(h, part->record))
			(*out)[(*count)++] = (struct stepped){step_of(h, part->partition), part};
	}
	qsort(*out, *count, sizeof **out, by_step);
	return RECLOSER_OK;
}

/* ---- one step ---- */

/* SQL: a relation of `key` and `part`, the index in `together`. */
static recloser_status keys_of(struct doctor *doctor, const struct together *together, const char **out, recloser_error *error)
{
	struct history *h = doctor->h;
	struct text files = text_on(h->arena);
	const char *key = sql_name(h->arena, h->spec->key_column);
	if (h->dataset->bucket)
		RC_TRY(engine_run(h->engine, "make room for keys", "CREATE OR REPLACE TEMP TABLE recloser_keys (key VARCHAR, part UBIGINT)", error));
	for (size_t i = 0; i < together->count; i++) {
		const char *file;
		RC_TRY(version_file(h->dataset, h->arena, together->at[i]->record, &file, error));
		if (h->dataset->bucket) {
			RC_TRY(engine_runf(h->engine, "read keys", error,
							   "INSERT INTO recloser_keys SELECT %s, %zu FROM read_parquet(%s, hive_partitioning = false)", key, i,
							   sql_text(h->arena, file)));
			partition_forget(h->dataset, together->at[i]->partition);
		}
		text_addf(&files, "%s%s", i ? ", " : "", sql_text(h->arena, file));
	}
	*out = h->dataset->bucket ? "recloser_keys"
							  : arena_printf(h->arena, "(SELECT %s AS key, file_index AS part FROM read_parquet([%s], hive_partitioning = false))",
											 key, files.at);
	return RECLOSER_OK;
}

static recloser_status look_together(struct doctor *doctor, const struct together *together, recloser_error *error)
{
	struct history *h = doctor->h;
	struct arena *arena = h->arena;
	struct text examples = text_on(arena);
	struct rows rows;
	const char *keys;
	RC_TRY(keys_of(doctor, together, &keys, error));
	RC_TRY(engine_query(h->engine, arena, "look for keys in more than one partition",
						arena_printf(arena,
									 "SELECT key, min(part) AS one, max(part) AS other, count(*) OVER () FROM %s WHERE key IS NOT NULL "
									 "GROUP BY key HAVING min(part) <> max(part) ORDER BY key LIMIT %d",
									 keys, SHOWN),
						&rows, error));
	for (size_t i = 0; i < rows.row_count; i++)
		text_addf(&examples, "%s%s in %s and %s", i ? "; " : "", rows_at(&rows, i, 0),
				  partition_shown(together->at[rows_int(&rows, i, 1)]->partition),
				  partition_shown(together->at[rows_int(&rows, i, 2)]->partition));
	if (rows.row_count == 0)
		return RECLOSER_OK;
	uint64_t count = (uint64_t)rows_int(&rows, 0, 3);
	doctor_say(doctor, "keys", FINDING_ADVICE,
			   h->spec->series
				   ? "a partition that the source does not mention any more stays live: docs/guards.md, absent partitions, has what to do"
				   : "a partition that the source does not mention any more stays live: docs/guards.md, absent partitions, has what to "
					 "do; where partitions follow each other on purpose, name their column as `series`",
			   "%s key%s live in more than one partition%s%s: %s", text_count(arena, count), count == 1 ? " is" : "s are",
			   *together->step ? " of " : "", together->step, examples.at);
	return RECLOSER_OK;
}

recloser_status doctor_twice(struct doctor *doctor, recloser_error *error)
{
	struct stepped *parts;
	size_t count;
	if (doctor->quick || key_tells_apart(doctor->h->spec))
		return RECLOSER_OK;
	RC_TRY(live_parts(doctor, &parts, &count, error));
	for (size_t first = 0, last; first < count; first = last) {
		struct together together = {.step = parts[first].step, .at = arena_array(doctor->h->arena, count - first, sizeof(void *))};
		for (last = first; last < count && strcmp(parts[last].step, parts[first].step) == 0; last++)
			together.at[together.count++] = parts[last].part;
		if (together.count > 1)
			RC_TRY(look_together(doctor, &together, error));
	}
	return RECLOSER_OK;
}
