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

/* Long values of crowded rows are put aside here, once: the table has their places, and a view around it brings them back. */
static void put_aside(struct batch *batch, const struct batch_widths *widths, struct text *left, struct text *places, struct text *back)
{
	struct arena *arena = batch->arena;
	for (size_t i = 0; i < batch->column_count; i++) {
		struct batch_column *column = &batch->columns[i];
		const char *type = batch_aside_type(batch, widths, i), *name = sql_name(arena, column->name);
		if (!type)
			continue;
		column->aside = type;
		text_addf(left, ", %s", name);
		text_addf(places, ", rc_aside_%s(b.%s) AS " BATCH_PLACE "%zu", type, name, i);
		text_addf(back, ", rc_%s_at(" BATCH_PLACE "%zu) AS %s", type, i, name);
	}
}

/* Without any other partition left the gathered rows take the batch's place. Rows that stand in their order are read in it from
 * then on: that is what the engine's setting is for, which costs a scan of a source its threads and is off until here. */
static recloser_status gather(struct batch *batch, bool all, const char *order, const struct batch_widths *widths, recloser_error *error)
{
	struct arena *arena = batch->arena;
	const struct strings *partition = &batch->context->spec->partition;
	struct text same = text_on(arena), left = text_on(arena), places = text_on(arena), made = text_on(arena);
	for (size_t c = 0; c < partition->count; c++)
		text_addf(&same, "%sCAST(b.%s AS VARCHAR) = p.v%zu", c ? " AND " : "", sql_name(arena, partition->at[c]), c);
	text_add(&left, left_behind(batch));
	put_aside(batch, widths, &left, &places, &made);
	const char *key = batch->key_sql ? arena_printf(arena, ", %s AS %s", batch->key_sql, sql_name(arena, batch->context->spec->key_column)) : "";
	const char *old = !all ? "" : batch->holed ? "DROP VIEW batch; DROP TABLE rc_rows;" : "DROP TABLE batch;";
	bool around = made.length || *key; /* a key may be made of values that are brought back: it stands around them */
	const char *name = all ? "batch" : "rc_clustered", *table = around ? "rc_gathered" : name;
	const char *view = !around ? "" : arena_printf(arena, "CREATE VIEW %s AS SELECT *%s FROM (SELECT *%s FROM rc_gathered)", name, key,
	                                               made.length ? made.at : "");
	struct engine *engine = batch->context->engine;
	bool alone = batch_writes_at_once(batch, widths) < engine_threads(engine);
	if (alone)
		RC_TRY(engine_share(engine, 1, error));
	recloser_status status = engine_runf(engine, "bring the rows of each partition together", error,
	    "SET GLOBAL preserve_insertion_order = %s;"
	    "CREATE TABLE rc_gathering AS SELECT b.* EXCLUDE (%s)%s, p._rc_part FROM batch b JOIN rc_parts p ON %s ORDER BY p._rc_part%s%s;"
	    "%s ALTER TABLE rc_gathering RENAME TO %s; %s",
	    order ? "true" : "false", left.at, places.length ? places.at : "", same.at, order ? ", " : "", order ? order : "", old, table, view);
	RC_TRY(batch_blame_width(batch, widths, status, error));
	if (alone)
		RC_TRY(engine_share(engine, 0, error));
	batch->holed &= !all;
	batch->gathered = true;
	return RECLOSER_OK;
}

/* Rows that are carried over are put into the table later, which a view in its place would not let in. */
static bool worth_it(const struct batch *batch, const struct batch_widths *widths)
{
	bool carry = batch->context->spec->disappeared.policy == POLICY_CARRY;
	return batch->part_count >= WORTH_IT && !(carry && batch_crowded(batch, widths));
}

recloser_status batch_cluster(struct batch *batch, const bool *wanted, recloser_error *error)
{
	size_t count = 0;
	for (size_t i = 0; i < batch->part_count; i++)
		count += !wanted || wanted[i];
	if (batch->clustered || count == 0)
		return RECLOSER_OK;
	batch->clustered = true;
	struct batch_widths widths;
	RC_TRY(batch_widths(batch, wanted, &widths, error));
	bool moved = worth_it(batch, &widths), all = moved && count == batch->part_count;
	const char *order = common_order(batch);
	if (moved) {
		RC_TRY(number_parts(batch, wanted, error));
		RC_TRY(gather(batch, all, order, &widths, error));
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
