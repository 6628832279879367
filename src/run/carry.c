/* SPDX-License-Identifier: Apache-2.0
 * `disappeared: carry`: rows that the source no longer has are kept from the live version, marked. They are put into the batch
 * before its content is looked at, so that everything after treats them as rows of this version. A row that has moved to
 * another partition of the load is not carried: it would stand in both. */
#include <inttypes.h>
#include <string.h>

#include "run/run.h"

/* What a column of a carried row holds, or NULL: nothing that is known. */
static const char *carried_value(struct run *run, const struct batch_column *column, const struct batch_part *part,
                                 const struct reference *reference)
{
	struct arena *arena = run->arena;
	for (size_t p = 0; p < run->spec->partition.count; p++)
		if (strcmp(run->spec->partition.at[p], column->name) == 0)
			return arena_printf(arena, "CAST(%s AS %s)", sql_text(arena, part->values[p]), column->type);
	if (column->mark)
		return "TRUE";
	return reference_has(reference, column->name) ? arena_printf(arena, "l.%s", sql_name(arena, column->name)) : NULL;
}

static recloser_status carry_part(struct run *run, const struct batch_part *part, const struct reference *reference, uint64_t *carried,
                                  recloser_error *error)
{
	struct arena *arena = run->arena;
	struct text columns = text_on(arena), values = text_on(arena);
	const char *key = sql_name(arena, run->spec->key_column);
	for (size_t i = 0; i < run->batch->column_count; i++) {
		const char *value = carried_value(run, &run->batch->columns[i], part, reference);
		if (!value)
			continue;
		text_addf(&columns, ", %s", sql_name(arena, run->batch->columns[i].name));
		text_addf(&values, ", %s", value);
	}
	bool expressions = false;
	for (size_t i = 0; i < run->spec->identity_count; i++)
		if (run->spec->identity[i].sql) {
			expressions = true;
			text_addf(&columns, ", _rc_i%zu", i);
			text_addf(&values, ", (%s)", run->spec->identity[i].sql);
		}
	if (part->number >= 0) {
		text_add(&columns, ", _rc_part");
		text_addf(&values, ", %" PRId64, part->number);
	}
	struct rows rows;
	recloser_status status = engine_query(run->engine, arena, "carry rows over", arena_printf(arena,
	    "INSERT INTO batch (_rc_src, _rc_row%s) SELECT -1, 0%s FROM %s l ANTI JOIN (SELECT %s FROM %s) b ON l.%s = b.%s",
	    columns.at, values.at, run_reference_table(run, reference), key, part->rows_sql, key, key), &rows, error);
	if (status != RECLOSER_OK && expressions)
		return error_hint(error, "columns that an expression in the identity uses must be kept in the dataset for `disappeared: carry`");
	RC_TRY(status);
	*carried = (uint64_t)rows_int(&rows, 0, 0);
	return RECLOSER_OK;
}

static struct run_part *part_at(struct run *run, const char *path)
{
	for (size_t i = 0; i < run->part_count; i++)
		if (strcmp(run->parts[i].part.batch_part->path, path) == 0)
			return &run->parts[i];
	return NULL;
}

static void count_carried(struct run *run, struct run_part *part, int64_t rows)
{
	struct batch_part *batch_part = &run->batch->parts[part - run->parts];
	part->carried = (uint64_t)((int64_t)part->carried + rows);
	batch_part->rows = (uint64_t)((int64_t)batch_part->rows + rows);
	run->carried = (uint64_t)((int64_t)run->carried + rows);
}

/* Rows carried in `home` whose key has come to `to`, unless `to` had it all along. */
static recloser_status put_back(struct run *run, struct run_part *home, const struct run_part *to, recloser_error *error)
{
	struct arena *arena = run->arena;
	const char *key = sql_name(arena, run->spec->key_column);
	const char *known = to->reference ? arena_printf(arena, " AND %s NOT IN (SELECT %s FROM %s)", key, key, run_reference_table(run, to->reference)) : "";
	struct rows rows;
	RC_TRY(engine_query(run->engine, arena, "leave out rows that moved", arena_printf(arena,
	    "DELETE FROM %s AND _rc_src = -1 AND %s IN (SELECT %s FROM %s AND _rc_src >= 0)%s", home->part.batch_part->rows_sql,
	    key, key, to->part.batch_part->rows_sql, known), &rows, error));
	count_carried(run, home, -rows_int(&rows, 0, 0));
	return RECLOSER_OK;
}

static recloser_status leave_out_moved(struct run *run, recloser_error *error)
{
	struct arena *arena = run->arena;
	const char *key = sql_name(arena, run->spec->key_column), *path = batch_path_sql(arena, &run->spec->partition);
	const char *series = run->spec->series ? sql_name(arena, run->spec->series) : "0";
	struct rows rows;
	RC_TRY(engine_query(run->engine, arena, "look for carried rows that moved", arena_printf(arena,
	    "SELECT DISTINCT c.path, b.path FROM (SELECT %s AS k, %s AS path, %s AS series FROM batch WHERE _rc_src = -1) c"
	    " JOIN (SELECT %s AS k, %s AS path, %s AS series FROM batch WHERE _rc_src >= 0) b ON c.k = b.k AND c.series = b.series"
	    " WHERE c.path <> b.path ORDER BY 1, 2", key, path, series, key, path, series), &rows, error));
	for (size_t r = 0; r < rows.row_count; r++) {
		struct run_part *home = part_at(run, rows_at(&rows, r, 0)), *to = part_at(run, rows_at(&rows, r, 1));
		if (home && to && !run_is_frozen(run, to))
			RC_TRY(put_back(run, home, to, error));
	}
	return RECLOSER_OK;
}

/* Every row would be there twice, under its old key and its new one. */
static recloser_status refuse_other_identity(const struct run *run, const struct run_part *part, recloser_error *error)
{
	const char *words = run_other_identity(run, part->reference);
	if (!words)
		return RECLOSER_OK;
	error_set(error, RECLOSER_REFUSED, "carry.identity", "no row can be carried over: %s", words);
	error_where(error, "%s", *part->part.batch_part->path ? part->part.batch_part->path : "the one partition");
	return error_hint(error, "write the key as it was; or, if the change is meant, load once with disappeared: {policy: warn}");
}

recloser_status run_carry(struct run *run, recloser_error *error)
{
	if (run->spec->disappeared.policy != POLICY_CARRY)
		return RECLOSER_OK;
	RC_TRY(batch_cluster(run->batch, NULL, error)); /* every partition is compared with its live version here already */
	RC_TRY(batch_settle(run->batch, error));
	for (size_t i = 0; i < run->part_count; i++) {
		struct run_part *part = &run->parts[i];
		uint64_t carried = 0;
		part->part.batch_part = &run->batch->parts[i];
		RC_TRY(run_locate(run, part, error));
		if (!part->base || part->live != LIVE_SOUND || run_is_frozen(run, part))
			continue;
		RC_TRY(run_own_reference(run, part, error));
		if (!part->reference)
			continue;
		RC_TRY(refuse_other_identity(run, part, error));
		RC_TRY(carry_part(run, part->part.batch_part, part->reference, &carried, error));
		count_carried(run, part, (int64_t)carried);
	}
	if (run->carried == 0)
		return RECLOSER_OK;
	RC_TRY(leave_out_moved(run, error));
	return batch_digest_carried(run->batch, error);
}
