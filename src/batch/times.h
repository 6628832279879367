/* SPDX-License-Identifier: Apache-2.0
 * Dates and times from text, as SQL. See convert.h for why each cast is guarded. */
#ifndef RECLOSER_BATCH_TIMES_H
#define RECLOSER_BATCH_TIMES_H

#include "base/arena.h"
#include "source/source.h"
#include "spec/spec.h"

/* A TIMESTAMP over `text` by the column's formats (ISO when it has none), in local time of the column's zone when one is
 * declared and the text has an offset; NULL when no format fits. */
const char *times_timestamp(struct arena *arena, const struct column *column, const struct source_facts *facts, const char *text);
/* TIMESTAMP WITH TIME ZONE: an offset in the text, or the column's zone. */
const char *times_timestamptz(struct arena *arena, const struct column *column, const struct source_facts *facts, const char *text);
const char *times_time(struct arena *arena, const char *text);
/* The formats in words, for a reason: "%m/%d/%Y or iso". */
const char *times_formats(struct arena *arena, const struct column *column);

#endif
