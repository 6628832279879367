/* SPDX-License-Identifier: Apache-2.0
 * Two publications of one source, compared by each set of columns that identifies the rows of the first. The set under which
 * most rows are found again is the key; the columns whose values then differ change over time and never belong in one. */
#include <inttypes.h>
#include <string.h>

#include "init/init.h"

/* SQL: a.c1 = b.c1 AND ... */
static const char *same_key(struct arena *arena, const struct init_key *key)
{
	struct text out = text_on(arena);
	for (size_t i = 0; i < key->count; i++)
		text_addf(&out, "%sa.c%zu = b.c%zu", i ? " AND " : "", key->at[i], key->at[i]);
	return out.at;
}

static recloser_status count_matches(struct init *init, struct init_key *key, recloser_error *error)
{
	struct rows rows;
	RC_TRY(engine_query(init->engine, init->arena, "compare the two files", arena_printf(init->arena,
	    "SELECT count(*) FROM init_0 a SEMI JOIN init_1 b ON %s", same_key(init->arena, key)), &rows, error));
	key->matched = (uint64_t)rows_int(&rows, 0, 0);
	return RECLOSER_OK;
}

static recloser_status count_changes(struct init *init, const struct init_key *key, recloser_error *error)
{
	struct arena *arena = init->arena;
	struct text sql = text_on(arena);
	struct rows rows;
	text_add(&sql, "SELECT count(*)");
	for (size_t i = 0; i < init->column_count; i++)
		text_addf(&sql, ", count(*) FILTER (CAST(a.c%zu AS VARCHAR) IS DISTINCT FROM CAST(b.c%zu AS VARCHAR))", i, i);
	/* A key that the second file has twice is compared once. */
	struct text key_columns = text_on(arena);
	for (size_t i = 0; i < key->count; i++)
		text_addf(&key_columns, "%sc%zu", i ? ", " : "", key->at[i]);
	text_addf(&sql, " FROM init_0 a JOIN (SELECT DISTINCT ON (%s) * FROM init_1 ORDER BY %s, _row) b ON %s", key_columns.at, key_columns.at,
	          same_key(arena, key));
	RC_TRY(engine_query(init->engine, arena, "look for changes", sql.at, &rows, error));
	for (size_t i = 0; i < init->column_count; i++) {
		init->columns[i].compared = true;
		init->columns[i].changed = (uint64_t)rows_int(&rows, 0, i + 1);
	}
	struct text there = text_on(arena); /* rows without a key are headings and notes */
	for (size_t i = 0; i < key->count; i++)
		text_addf(&there, " AND c%zu IS NOT NULL", key->at[i]);
	RC_TRY(engine_query(init->engine, arena, "count the rows", arena_printf(arena, "SELECT count(*) FROM init_1 WHERE _fault IS NULL%s", there.at), &rows, error));
	init->matched = key->matched;
	init->only_old = init->rows - key->matched;
	uint64_t second = (uint64_t)rows_int(&rows, 0, 0);
	init->only_new = second > key->matched ? second - key->matched : 0;
	return RECLOSER_OK;
}

static bool has_changed(const struct init *init, const struct init_key *key)
{
	for (size_t i = 0; i < key->count; i++)
		if (init->columns[key->at[i]].changed)
			return true;
	return false;
}

recloser_status init_change(struct init *init, struct init_key *keys, size_t count, recloser_error *error)
{
	size_t best = 0, kept = 1;
	RC_TRY(init_rows(init, 1, error));
	for (size_t i = 0; i < count; i++) {
		RC_TRY(count_matches(init, &keys[i], error));
		if (keys[i].matched > keys[best].matched)
			best = i;
	}
	struct init_key chosen = keys[best];
	memmove(&keys[1], &keys[0], best * sizeof *keys);
	keys[0] = chosen;
	RC_TRY(count_changes(init, &keys[0], error));
	/* Sets with a column that changed are none; they are moved behind those that are left and keep their count of zero rows. */
	for (size_t i = 1; i < count; i++)
		if (!has_changed(init, &keys[i]))
			keys[kept++] = keys[i];
	for (size_t i = kept; i < count; i++)
		keys[i].count = 0;
	for (size_t i = 0; i < init->column_count; i++) {
		struct init_column *column = &init->columns[i];
		if (column->changed) {
			column->never = true;
			column->why_not = arena_printf(init->arena, "differs for %s of %s rows that are in both files", text_count(init->arena, column->changed),
			                               text_count(init->arena, init->matched));
		}
	}
	return RECLOSER_OK;
}
