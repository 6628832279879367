/* SPDX-License-Identifier: Apache-2.0
 * Bring the rows of each partition that has changed together, so that comparing and writing one of many partitions reads its
 * rows and not the whole batch: the engine keeps smallest and largest values of each stretch of a table and passes over
 * stretches that can't match. Partitions that are as they were are not moved. */
#include <string.h>

#include "batch/batch.h"

/* Below this many partitions a scan of the whole batch for each is cheaper than one more copy of it. */
enum { WORTH_IT = 4 };

static recloser_status number_parts(struct batch *batch, const bool *wanted, recloser_error *error)
{
	struct arena *arena = batch->arena;
	const struct strings *partition = &batch->context->spec->partition;
	struct text rows = text_on(arena), columns = text_on(arena);
	for (size_t i = 0; i < batch->part_count; i++) {
		if (wanted && !wanted[i])
			continue;
		text_addf(&rows, "%s(%zu", rows.length ? ", " : "", i);
		for (size_t c = 0; c < partition->count; c++)
			text_addf(&rows, ", %s", sql_text(arena, batch->parts[i].values[c]));
		text_add(&rows, ")");
	}
	for (size_t c = 0; c < partition->count; c++)
		text_addf(&columns, ", v%zu", c);
	return engine_runf(batch->context->engine, "number the partitions", error,
	    "CREATE TABLE rc_parts AS SELECT * FROM (VALUES %s) t(_rc_part%s)", rows.at, columns.at);
}

/* The order of a part's rows in its file, where it can be had of all parts at once: rows that are carried over come later, and
 * a space-filling curve lies otherwise in each part. */
static const char *common_order(const struct batch *batch)
{
	const struct spec *spec = batch->context->spec;
	if (spec->disappeared.policy == POLICY_CARRY || spec->order == ORDER_HILBERT)
		return NULL;
	return spec->order == ORDER_SOURCE ? "_rc_src, _rc_row" : batch_order_sql(batch->arena, batch);
}

/* What is not moved: what the rows were judged by, and a key that is made again. Rows that are carried over come with a digest still
 * to be made, and with their keys. */
static const char *left_behind(const struct batch *batch)
{
	const struct spec *spec = batch->context->spec;
	struct text out = text_on(batch->arena);
	text_add(&out, "_rc_fault, _rc_group");
	if (spec->disappeared.policy != POLICY_CARRY)
		text_add(&out, ", _rc_digest");
	if (batch->key_sql)
		text_addf(&out, ", %s", sql_name(batch->arena, spec->key_column));
	return out.at;
}

static uint64_t all_rows(const struct batch *batch)
{
	uint64_t rows = 0;
	for (size_t i = 0; i < batch->part_count; i++)
		rows += batch->parts[i].rows;
	return rows;
}

/* Without any other partition left the gathered rows take the batch's place. Rows that stand in their order are read in it from
 * then on: that is what the engine's setting is for, which costs a scan of a source its threads and is off until here. */
static recloser_status gather(struct batch *batch, bool all, const char *order, recloser_error *error)
{
	struct arena *arena = batch->arena;
	const struct strings *partition = &batch->context->spec->partition;
	struct text same = text_on(arena);
	for (size_t c = 0; c < partition->count; c++)
		text_addf(&same, "%sCAST(b.%s AS VARCHAR) = p.v%zu", c ? " AND " : "", sql_name(arena, partition->at[c]), c);
	const char *old = !all ? "" : batch->holed ? "DROP VIEW batch; DROP TABLE rc_rows;" : "DROP TABLE batch;";
	const char *name = all ? "batch" : "rc_clustered", *table = batch->key_sql ? "rc_keyless" : name;
	const char *with_key = !batch->key_sql ? "" : arena_printf(arena, "CREATE VIEW %s AS SELECT *, %s AS %s FROM rc_keyless", name,
	    batch->key_sql, sql_name(arena, batch->context->spec->key_column));
	struct engine *engine = batch->context->engine;
	uint64_t rows = all_rows(batch);
	size_t at_once;
	RC_TRY(batch_sorts_at_once(batch, rows, &at_once, error));
	bool alone = at_once < engine_threads(engine);
	if (alone)
		RC_TRY(engine_share(engine, false, error));
	recloser_status status = engine_runf(engine, "bring the rows of each partition together", error,
	    "SET GLOBAL preserve_insertion_order = %s;"
	    "CREATE TABLE rc_gathering AS SELECT b.* EXCLUDE (%s), p._rc_part FROM batch b JOIN rc_parts p ON %s ORDER BY p._rc_part%s%s;"
	    "%s ALTER TABLE rc_gathering RENAME TO %s; %s",
	    order ? "true" : "false", left_behind(batch), same.at, order ? ", " : "", order ? order : "", old, table, with_key);
	RC_TRY(batch_blame_width(batch, engine, arena, "batch", rows, status, error));
	if (alone)
		RC_TRY(engine_share(engine, true, error));
	batch->holed &= !all;
	batch->gathered = true;
	return RECLOSER_OK;
}

recloser_status batch_cluster(struct batch *batch, const bool *wanted, recloser_error *error)
{
	size_t count = 0;
	for (size_t i = 0; i < batch->part_count; i++)
		count += !wanted || wanted[i];
	if (batch->clustered || count == 0)
		return RECLOSER_OK;
	batch->clustered = true;
	bool moved = batch->part_count >= WORTH_IT, all = moved && count == batch->part_count;
	const char *order = common_order(batch);
	if (moved) {
		RC_TRY(number_parts(batch, wanted, error));
		RC_TRY(gather(batch, all, order, error));
	}
	for (size_t i = 0; i < batch->part_count && moved; i++) {
		if (wanted && !wanted[i])
			continue;
		batch->parts[i].number = (int64_t)i;
		batch->parts[i].sorted = order != NULL;
		batch->parts[i].rows_sql = arena_printf(batch->arena, "%s WHERE _rc_part = %zu", all ? "batch" : "rc_clustered", i);
	}
	return RECLOSER_OK;
}
