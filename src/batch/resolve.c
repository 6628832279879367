/* SPDX-License-Identifier: Apache-2.0
 * One row a key. Whether a key occurs twice is decided on a number a row; only the rows of such keys are looked at, and of their
 * values only those that decide.
 *
 * Of the rows with one key in one partition, equal ones, by the digest of all their values, collapse to the last of them; of the
 * rest the latest revision wins, and where revisions tie (or the spec names none) the later row of the source does. */
#include <inttypes.h>
#include <string.h>

#include "batch/batch.h"

static const char *names(struct arena *arena, const struct strings *list)
{
	struct text out = text_on(arena);
	for (size_t i = 0; i < list->count; i++)
		text_addf(&out, "%s%s", i ? ", " : "", sql_name(arena, list->at[i]));
	return out.at;
}

static const char *identity_columns(const struct batch *batch)
{
	const struct spec *spec = batch->context->spec;
	struct text out = text_on(batch->arena);
	for (size_t i = 0; i < spec->identity_count; i++) {
		const char *name = spec->identity[i].column ? sql_name(batch->arena, spec->identity[i].column)
		                                            : arena_printf(batch->arena, "_rc_i%zu", i);
		text_addf(&out, "%s%s", i ? ", " : "", name);
	}
	return out.at;
}

/* The group of a row: partition and key. */
static const char *group_columns(const struct batch *batch)
{
	const struct spec *spec = batch->context->spec;
	const char *key = sql_name(batch->arena, spec->key_column);
	if (spec->partition.count == 0 || batch->part_count <= 1)
		return key;
	return arena_printf(batch->arena, "%s, %s", names(batch->arena, &spec->partition), key);
}

/* SQL that gives the numbers of groups which several rows are in, as _rc_group; NULL when there are none. */
static recloser_status groups_twice(struct batch *batch, const char **out, recloser_error *error)
{
	struct rows rows;
	RC_TRY(engine_run(batch->context->engine, "look for groups of rows", "CREATE TEMP TABLE rc_twice AS SELECT rc_twice(_rc_group) AS list FROM batch",
	                  error));
	RC_TRY(engine_query(batch->context->engine, batch->arena, "look for groups of rows", "SELECT list IS NULL, list = '' FROM rc_twice", &rows, error));
	const char *none = rows_at(&rows, 0, 1);
	*out = none && strcmp(none, "true") == 0 ? NULL
		: none ? "SELECT CAST(unnest(string_split(list, ',')) AS UBIGINT) AS _rc_group FROM rc_twice"
		       : "SELECT _rc_group FROM batch GROUP BY _rc_group HAVING count(*) > 1";
	return RECLOSER_OK;
}

/* The rows of keys that occur twice, in the columns that decide, as the table rc_double. The narrow numbers are grouped; the
 * text of a key is looked at only where they are equal. */
static recloser_status find_doubles(struct batch *batch, uint64_t *rows_found, recloser_error *error)
{
	const struct spec *spec = batch->context->spec;
	struct arena *arena = batch->arena;
	struct strings columns = {0};
	for (size_t i = 0; i < spec->partition.count; i++)
		strings_add(arena, &columns, spec->partition.at[i]);
	strings_add(arena, &columns, spec->key_column);
	if (spec->revision && !strings_has(&columns, spec->revision))
		strings_add(arena, &columns, spec->revision);
	struct text list = text_on(arena);
	text_add(&list, names(arena, &columns));
	for (size_t i = 0; i < spec->identity_count; i++) {
		const char *column = spec->identity[i].column;
		if (!column)
			text_addf(&list, ", _rc_i%zu", i);
		else if (!strings_has(&columns, column))
			text_addf(&list, ", %s", sql_name(arena, column));
	}
	struct rows rows;
	const char *groups;
	RC_TRY(groups_twice(batch, &groups, error));
	*rows_found = 0;
	if (!groups)
		return RECLOSER_OK;
	RC_TRY(engine_runf(batch->context->engine, "look for keys that occur twice", error,
	    "CREATE TEMP TABLE rc_double AS SELECT _rc_src, _rc_row, _rc_digest, %s FROM batch SEMI JOIN (%s) d USING (_rc_group)"
	    " QUALIFY count(*) OVER (PARTITION BY %s) > 1", list.at, groups, group_columns(batch)));
	RC_TRY(engine_query(batch->context->engine, arena, "count keys that occur twice", "SELECT count(*) FROM rc_double", &rows, error));
	*rows_found = (uint64_t)rows_int(&rows, 0, 0);
	return RECLOSER_OK;
}

static recloser_status refuse_collisions(struct batch *batch, recloser_error *error)
{
	const struct spec *spec = batch->context->spec;
	if (spec->key_id)
		return RECLOSER_OK;
	struct arena *arena = batch->arena;
	struct rows rows;
	const char *key = sql_name(arena, spec->key_column), *identity = identity_columns(batch);
	RC_TRY(engine_query(batch->context->engine, arena, "look for two identities with one key", arena_printf(arena,
	    "SELECT _rc_k, string_agg(DISTINCT CAST(row(%s) AS VARCHAR), ' and '), string_agg(DISTINCT CAST(_rc_row AS VARCHAR), ', ') FROM rc_double"
	    " JOIN (SELECT min(_rc_k) AS _rc_k FROM (SELECT _rc_k FROM (SELECT DISTINCT %s AS _rc_k, row(%s) FROM rc_double) GROUP BY 1"
	    " HAVING count(*) > 1)) ON %s = _rc_k GROUP BY 1", identity, key, identity, key), &rows, error));
	if (rows.row_count == 0)
		return RECLOSER_OK;
	error_set(error, RECLOSER_REFUSED, "batch.collision", "two identities give one key: %s", rows_at(&rows, 0, 1));
	error_where(error, "key %s, rows %s", rows_at(&rows, 0, 0), rows_at(&rows, 0, 2));
	return error_hint(error, "a `|` inside a value makes them read the same; write key: {identity: [...], escape: true}");
}

/* A revision that is text is compared letter by letter, which is an order in time only for ISO dates of one form: "9/28/2026"
 * would stand after "10/1/2026", and "9" after "10". */
static recloser_status refuse_unordered(struct batch *batch, recloser_error *error)
{
	const char *name = batch->context->spec->revision;
	struct arena *arena = batch->arena;
	struct rows rows;
	bool text = false;
	for (size_t i = 0; i < batch->column_count && name && !text; i++)
		text = strcmp(batch->columns[i].name, name) == 0 && strcmp(batch->columns[i].type, "VARCHAR") == 0;
	if (!text)
		return RECLOSER_OK;
	RC_TRY(engine_query(batch->context->engine, arena, "look whether revisions have an order", arena_printf(arena,
	    "SELECT first(v ORDER BY iso, n, v), bool_and(iso) FROM (SELECT b.%s AS v, min(_rc_row) AS n,"
	    " regexp_full_match(v, '[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?)?') AS iso FROM rc_double b GROUP BY 1)"
	    " WHERE v IS NOT NULL HAVING NOT bool_and(iso) OR count(DISTINCT substr(v, 11, 1)) FILTER (WHERE length(v) > 10) > 1",
	    sql_name(arena, name)), &rows, error));
	if (rows.row_count == 0)
		return RECLOSER_OK;
	error_set(error, RECLOSER_REFUSED, "batch.revision", "keys occur more than once, and %s can't say which row is later: it is text that is not %s",
	          name, strcmp(rows_at(&rows, 0, 1), "true") == 0 ? "in one ISO form" : "an ISO date");
	error_where(error, "%s: \"%s\"", name, rows_at(&rows, 0, 0));
	return error_hint(error, "declare what it is: columns: {%s: {type: timestamp, format: \"%%m/%%d/%%Y\"}}, or {type: integer} for a number", name);
}

static recloser_status rank_rows(struct batch *batch, recloser_error *error)
{
	const char *revision = batch->context->spec->revision, *group = group_columns(batch), *later = "_rc_src DESC, _rc_row DESC";
	return engine_runf(batch->context->engine, "rank revisions", error,
	    "CREATE TEMP TABLE rc_rank AS\n"
	    "WITH copies AS (SELECT *, %s AS _rc_rev, row_number() OVER (PARTITION BY %s, _rc_digest ORDER BY %s) AS _rc_copy FROM rc_double)\n"
	    "SELECT *, CASE WHEN _rc_copy > 1 THEN NULL ELSE\n"
	    "       row_number() OVER (PARTITION BY %s, _rc_copy > 1 ORDER BY _rc_rev DESC NULLS LAST, %s) END AS _rc_rank\n"
	    "FROM copies",
	    revision ? sql_name(batch->arena, revision) : "NULL", group, later, group, later);
}

static recloser_status refuse_ties(struct batch *batch, const char *tied, recloser_error *error)
{
	const struct spec *spec = batch->context->spec;
	struct arena *arena = batch->arena;
	struct rows rows;
	const char *identity = identity_columns(batch);
	RC_TRY(engine_query(batch->context->engine, arena, "list ties", arena_printf(arena,
	    "SELECT %s, count(*), array_to_string(list_sort(list(_rc_row))[:10], ', ') FROM rc_double JOIN (%s) USING (%s) GROUP BY ALL ORDER BY min(_rc_src), min(_rc_row) LIMIT 3",
	    identity, tied, group_columns(batch)), &rows, error));
	struct text list = text_on(arena);
	for (size_t r = 0; r < rows.row_count; r++) {
		text_add(&list, r ? "; " : "");
		for (size_t i = 0; i < spec->identity_count; i++)
			text_addf(&list, "%s%s %s", i ? ", " : "", spec->identity[i].column ? spec->identity[i].column : spec->identity[i].sql,
			          rows_at(&rows, r, i));
		text_addf(&list, " occurs %s times, in rows %s", rows_at(&rows, r, spec->identity_count), rows_at(&rows, r, spec->identity_count + 1));
	}
	error_set(error, RECLOSER_REFUSED, "batch.ties", "%s key%s occur%s more than once and no revision decides", text_count(arena, batch->ties),
	          batch->ties == 1 ? "" : "s", batch->ties == 1 ? "s" : "");
	error_where(error, "%s", list.at);
	return error_hint(error, "add the field that tells them apart to `key: {identity: [...]}`, name a `revision:` column, or allow `ties: last`");
}

static recloser_status count_ties(struct batch *batch, recloser_error *error)
{
	const struct spec *spec = batch->context->spec;
	struct arena *arena = batch->arena;
	const char *group = group_columns(batch);
	const char *tied = arena_printf(arena,
	    "SELECT %s FROM rc_rank WHERE _rc_rank <= 2 GROUP BY %s HAVING count(*) = 2 AND %s",
	    group, group, spec->revision ? "(count(_rc_rev) = 0 OR (count(_rc_rev) = 2 AND min(_rc_rev) = max(_rc_rev)))" : "TRUE");
	struct rows rows;
	RC_TRY(engine_query(batch->context->engine, arena, "count ties", arena_printf(arena, "SELECT count(*) FROM (%s)", tied), &rows, error));
	batch->ties = (uint64_t)rows_int(&rows, 0, 0);
	if (batch->ties == 0)
		return RECLOSER_OK;
	if (spec->ties_refuse)
		return refuse_ties(batch, tied, error);
	if (!spec->revision)
		strings_add(arena, &batch->warnings, arena_printf(arena,
		    "%s keys occur more than once with different content and the spec names no revision column; the later row was kept",
		    text_count(arena, batch->ties)));
	return RECLOSER_OK;
}

static recloser_status take_losers_out(struct batch *batch, recloser_error *error)
{
	struct rows rows;
	RC_TRY(engine_query(batch->context->engine, batch->arena, "count revisions",
	    "SELECT count(*) FILTER (WHERE _rc_copy > 1), count(*) FILTER (WHERE _rc_rank > 1) FROM rc_rank", &rows, error));
	batch->collapsed += (uint64_t)rows_int(&rows, 0, 0);
	batch->superseded += (uint64_t)rows_int(&rows, 0, 1);
	return batch_take_out(batch, "take superseded rows out", "rc_rank WHERE _rc_copy > 1 OR _rc_rank > 1", NULL, error);
}

/* Which partition lost how many to what. */
static recloser_status count_per_part(struct batch *batch, recloser_error *error)
{
	const struct strings *partition = &batch->context->spec->partition;
	struct arena *arena = batch->arena;
	bool one = partition->count == 0 || batch->part_count <= 1;
	struct rows rows;
	RC_TRY(engine_query(batch->context->engine, arena, "count rows by partition", arena_printf(arena,
	    "SELECT %s, count(*) FILTER (WHERE _rc_copy > 1), count(*) FILTER (WHERE _rc_rank > 1) FROM rc_rank GROUP BY 1",
	    one ? "''" : batch_path_sql(arena, partition)), &rows, error));
	for (size_t r = 0; r < rows.row_count; r++)
		for (size_t i = 0; i < batch->part_count; i++)
			if (one || strcmp(batch->parts[i].path, rows_at(&rows, r, 0)) == 0) {
				batch->parts[i].collapsed = (uint64_t)rows_int(&rows, r, 1);
				batch->parts[i].superseded = (uint64_t)rows_int(&rows, r, 2);
				batch->parts[i].rows = batch->parts[i].rows_in - batch->parts[i].collapsed - batch->parts[i].superseded;
				break;
			}
	return RECLOSER_OK;
}

/* A key in two partitions of one batch: allowed (a project listed under two states), but said. */
static recloser_status note_wanderers(struct batch *batch, recloser_error *error)
{
	const struct spec *spec = batch->context->spec;
	if (batch->part_count <= 1)
		return RECLOSER_OK;
	for (size_t p = 0, inside = 0; p < spec->partition.count; p++) {
		for (size_t i = 0; i < spec->identity_count; i++)
			inside += spec->identity[i].column && strcmp(spec->identity[i].column, spec->partition.at[p]) == 0;
		if (inside == spec->partition.count)
			return RECLOSER_OK; /* every partition column is part of the identity: a key can't be in two */
	}
	struct rows rows;
	const char *key = sql_name(batch->arena, spec->key_column), *number = batch->key_sql ? identity_columns(batch) : key;
	/* By a number of each key first: mostly none is there twice, and the text of all keys is a lot to group. */
	RC_TRY(engine_query(batch->context->engine, batch->arena, "look for keys in two partitions",
	                    arena_printf(batch->arena, "SELECT rc_twice(hash(%s)) = '' FROM batch", number), &rows, error));
	if (rows_at(&rows, 0, 0) && strcmp(rows_at(&rows, 0, 0), "true") == 0)
		return RECLOSER_OK;
	RC_TRY(engine_query(batch->context->engine, batch->arena, "look for keys in two partitions", arena_printf(batch->arena,
	    "SELECT count(*) FROM (SELECT 1 FROM batch GROUP BY %s HAVING count(*) > 1)", key), &rows, error));
	int64_t count = rows_int(&rows, 0, 0);
	if (count > 0 && !spec->series)
		strings_add(batch->arena, &batch->warnings, arena_printf(batch->arena, "%s key%s in more than one partition of this load",
		    text_count(batch->arena, (uint64_t)count), count == 1 ? " is" : "s are"));
	return RECLOSER_OK;
}

recloser_status batch_resolve(struct batch *batch, recloser_error *error)
{
	uint64_t doubles;
	RC_TRY(find_doubles(batch, &doubles, error));
	if (doubles > 0) {
		RC_TRY(refuse_collisions(batch, error));
		RC_TRY(refuse_unordered(batch, error));
		RC_TRY(rank_rows(batch, error));
		RC_TRY(count_ties(batch, error));
		RC_TRY(take_losers_out(batch, error));
		RC_TRY(count_per_part(batch, error));
	}
	return note_wanderers(batch, error);
}
