/* SPDX-License-Identifier: Apache-2.0
 * Bring the rows of each partition together, so that writing one of many partitions reads its rows and not the whole batch:
 * the engine keeps smallest and largest values of each stretch of a table and passes over stretches that can't match. */
#include <string.h>

#include "batch/batch.h"

/* Below this many partitions a scan of the whole batch for each is cheaper than one more copy of it. */
enum { WORTH_IT = 4 };

/* Of deleted rows the engine keeps a time for each row of their stretch of the table, eight bytes, in memory that it can't spill:
 * a few in every stretch of a hundred million rows are 800 MB of whatever it was given. */
enum { STRETCH = 2048, STRETCH_BYTES = 8 * STRETCH, TOLERATED_PART = 64 };

static bool holes_weigh(const struct batch *batch)
{
	uint64_t deleted = batch->quarantined + batch->filtered + batch->superseded + batch->collapsed;
	uint64_t stretches = batch->rows_in / STRETCH + 1;
	return (deleted < stretches ? deleted : stretches) * STRETCH_BYTES > engine_memory(batch->context->engine) / TOLERATED_PART;
}

static recloser_status copy_without_holes(struct batch *batch, recloser_error *error)
{
	return engine_run(batch->context->engine, "close the gaps of rows that were taken out",
	                  "CREATE TABLE rc_whole AS SELECT * FROM batch; DROP TABLE batch; ALTER TABLE rc_whole RENAME TO batch", error);
}

static recloser_status number_parts(struct batch *batch, recloser_error *error)
{
	struct arena *arena = batch->arena;
	const struct strings *partition = &batch->context->spec->partition;
	struct text rows = text_on(arena), columns = text_on(arena);
	for (size_t i = 0; i < batch->part_count; i++) {
		text_addf(&rows, "%s(%zu", i ? ", " : "", i);
		for (size_t c = 0; c < partition->count; c++)
			text_addf(&rows, ", %s", sql_text(arena, batch->parts[i].values[c]));
		text_add(&rows, ")");
	}
	for (size_t c = 0; c < partition->count; c++)
		text_addf(&columns, ", v%zu", c);
	return engine_runf(batch->context->engine, "number the partitions", error,
	    "CREATE TABLE rc_parts AS SELECT * FROM (VALUES %s) t(_rc_part%s)", rows.at, columns.at);
}

recloser_status batch_cluster(struct batch *batch, recloser_error *error)
{
	struct arena *arena = batch->arena;
	const struct strings *partition = &batch->context->spec->partition;
	if (batch->part_count < WORTH_IT)
		return holes_weigh(batch) ? copy_without_holes(batch, error) : RECLOSER_OK;
	RC_TRY(number_parts(batch, error));
	struct text same = text_on(arena);
	for (size_t c = 0; c < partition->count; c++)
		text_addf(&same, "%sCAST(b.%s AS VARCHAR) = p.v%zu", c ? " AND " : "", sql_name(arena, partition->at[c]), c);
	RC_TRY(engine_runf(batch->context->engine, "bring the rows of each partition together", error,
	    "CREATE TABLE rc_clustered AS SELECT b.*, p._rc_part FROM batch b JOIN rc_parts p ON %s ORDER BY p._rc_part;"
	    "DROP TABLE batch; ALTER TABLE rc_clustered RENAME TO batch", same.at));
	for (size_t i = 0; i < batch->part_count; i++) {
		batch->parts[i].number = (int64_t)i;
		batch->parts[i].where = arena_printf(arena, "_rc_part = %zu", i);
	}
	return RECLOSER_OK;
}
