/* SPDX-License-Identifier: Apache-2.0
 * A table of the engine as a sorted Parquet file: what a run leaves beside the data (quarantine, disappeared rows, differences). Its
 * rows may be as wide as the data's own, so long texts stand aside while it is sorted, and a row group is small. */
#include "engine/engine.h"

enum { GROUP_ROWS = 10240 };

/* ` REPLACE (rc_text_at("row") AS "row")`, or "" where nothing can stand aside. */
static const char *replacing(struct engine *engine, struct arena *arena, const char *function, const char *const *longs)
{
	struct text out = text_on(arena);
	for (; engine_spills(engine) && *longs; longs++)
		text_addf(&out, "%s%s(%s) AS %s", out.length ? ", " : " REPLACE (", function, sql_name(arena, *longs), sql_name(arena, *longs));
	if (out.length)
		text_add(&out, ")");
	return out.length ? out.at : "";
}

recloser_status engine_copy_sorted(struct engine *engine, struct arena *arena, const char *doing, const struct sorted_copy *copy,
								   recloser_error *error)
{
	const char *hidden = copy->hidden ? arena_printf(arena, " EXCLUDE (%s)", copy->hidden) : "";
	return engine_run(engine, doing, arena_printf(arena,
		"COPY (SELECT *%s%s FROM (SELECT *%s FROM %s ORDER BY %s)) TO %s (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE %d)", hidden,
		replacing(engine, arena, "rc_text_at", copy->longs), replacing(engine, arena, "rc_aside_text", copy->longs), copy->table, copy->order,
		sql_text(arena, copy->file), GROUP_ROWS), error);
}
