/* SPDX-License-Identifier: Apache-2.0
 * Long values in the join of a comparison. A join holds the values of one of its sides; where both together take more than an
 * eighth of the memory, a long text or geometry goes through it as its place in a file, and is compared by its digest. */
#ifndef RECLOSER_HISTORY_DIFF_LONG_H
#define RECLOSER_HISTORY_DIFF_LONG_H

#include "engine/engine.h"

/* One side of the join. */
struct joined_side {
	const char *alias, *relation; /* SQL */
	const struct rows *schema;    /* name and type of its columns */
	const bool *aside;            /* which of them stand aside */
};

/* Fill in `aside` of both; `key` never stands aside. */
recloser_status joined_measure(struct engine *engine, struct arena *arena, const char *key, struct joined_side *older,
							   struct joined_side *newer, recloser_error *error) RC_CHECKED;
/* The relation as it is joined. */
const char *joined_relation(struct arena *arena, const struct joined_side *side);
bool joined_is_aside(const struct joined_side *side, const char *name);
/* A value after the join, and its digest. */
const char *joined_value(struct arena *arena, const struct joined_side *side, const char *name);
const char *joined_sum(struct arena *arena, const struct joined_side *side, const char *name);

#endif
