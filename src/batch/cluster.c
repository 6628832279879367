/* SPDX-License-Identifier: Apache-2.0
 * Bring the rows of each partition that has changed together, so that comparing and writing one of many partitions reads its
 * rows and not the whole batch: the engine keeps smallest and largest values of each stretch of a table and passes over
 * stretches that can't match. Partitions that are as they were are not moved. */
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

/* Without any other partition left the gathered rows take the batch's place. */
static recloser_status gather(struct batch *batch, bool all, recloser_error *error)
{
	struct arena *arena = batch->arena;
	const struct strings *partition = &batch->context->spec->partition;
	struct text same = text_on(arena);
	for (size_t c = 0; c < partition->count; c++)
		text_addf(&same, "%sCAST(b.%s AS VARCHAR) = p.v%zu", c ? " AND " : "", sql_name(arena, partition->at[c]), c);
	return engine_runf(batch->context->engine, "bring the rows of each partition together", error,
	    "CREATE TABLE rc_clustered AS SELECT b.*, p._rc_part FROM batch b JOIN rc_parts p ON %s ORDER BY p._rc_part%s", same.at,
	    all ? "; DROP TABLE batch; ALTER TABLE rc_clustered RENAME TO batch" : "");
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
	if (moved) {
		RC_TRY(number_parts(batch, wanted, error));
		RC_TRY(gather(batch, all, error));
	}
	for (size_t i = 0; i < batch->part_count && moved; i++) {
		if (wanted && !wanted[i])
			continue;
		batch->parts[i].number = (int64_t)i;
		batch->parts[i].rows_sql = arena_printf(batch->arena, "%s WHERE _rc_part = %zu", all ? "batch" : "rc_clustered", i);
	}
	return !all && holes_weigh(batch) ? copy_without_holes(batch, error) : RECLOSER_OK;
}
