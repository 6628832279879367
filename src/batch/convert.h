/* SPDX-License-Identifier: Apache-2.0
 * From the text of a source to the value of a declared type, as SQL expressions.
 *
 * The engine's casts are too kind: 12.7 becomes 13, "2026-07-01x" a date, "1_000" a thousand, and a zone named in one row
 * leaks into the next. So every cast here stands behind a pattern that admits exactly the spellings documented in
 * docs/spec.md, and what it does not admit becomes NULL with a reason, never a near value. */
#ifndef RECLOSER_BATCH_CONVERT_H
#define RECLOSER_BATCH_CONVERT_H

#include "base/arena.h"
#include "source/source.h"
#include "spec/spec.h"

struct conversion {
	const char *value;  /* SQL over the cleaned text: the value (of a date: the moment), or NULL when it does not convert */
	const char *reason; /* "not a number"; NULL when it can't fail */
};

/* The text after space, match, map, missing, default and pad, over the raw text `raw`. */
const char *convert_clean(struct arena *arena, const struct column *column, const struct block *block, const char *raw);
/* The typed value over the cleaned text `text`. `facts` tells whether numbers may be serial days. */
struct conversion convert_text(struct arena *arena, const struct column *column, enum column_type type,
                               const struct source_facts *facts, const char *text);
/* The last step, over a name for what convert_text gave: a number that `missing:` names becomes NULL, a moment a day (NULL when
 * it has a time of day that may not be dropped). Returns `value` itself where there is nothing to do. */
const char *convert_refine(struct arena *arena, const struct column *column, enum column_type type,
                           const struct source_facts *facts, const char *value);
/* The cleaned, typed value where the source has a type of its own (`engine_type`, as engine_describe names it) and the spec
 * wants `column->type`: direct where nothing can be lost, else through the text of the value. */
const char *convert_plain_text(struct arena *arena, const char *engine_type, const char *value);
/* SQL: the value as JSON. What JSON has no number for stands as text, `"nan"`, `"inf"`, `"-inf"`, as in quarantine; a list or struct that
 * holds one stands as the text of the whole. */
const char *convert_json(struct arena *arena, const char *engine_type, const char *value);
bool convert_is_direct(const char *engine_type, enum column_type type);

/* The engine's name of a declared type: "BIGINT", "DECIMAL(12,3)". */
const char *convert_engine_type(struct arena *arena, const struct column *column, enum column_type type);
/* Does a column of this engine type survive the Parquet writer? NULL, or what to do: "declare it as text or decimal". */
const char *convert_unstorable(const char *engine_type);

#endif
