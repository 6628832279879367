/* SPDX-License-Identifier: Apache-2.0
 * Partition paths as Hive writes them: Hive's `column=value/...` with every byte outside A-Za-z0-9_-.~ percent-encoded, upper-case hex. */
#ifndef RECLOSER_BASE_HIVE_H
#define RECLOSER_BASE_HIVE_H

#include "base/arena.h"
#include "base/text.h"

/* "state=TX%2FOK/month=2026-07"; "" for no columns. The values "." and ".." can't leave: the path has `column=` before them. */
const char *partition_path(struct arena *arena, const struct strings *columns, const char *const *values);
/* One name or value, percent-encoded. */
const char *partition_encoded(struct arena *arena, const char *text);
/* The values of a path, or NULL when it does not name exactly these columns. */
const char **partition_values(struct arena *arena, const struct strings *columns, const char *path);
/* Why a value can't be a partition, or NULL: "is empty", "is the word that Hive keeps for a missing value",
 * "is longer than a file name can be". */
const char *partition_value_fault(const char *column, const char *value);
/* Does some common reader take this text for another type when it stands in a path? NULL, or what it takes it for: "a number",
 * "a date", "true or false", "a missing value". */
const char *partition_lookalike(const char *value);
/* Arrow takes a level of a path for numbers (32 bits) when all its values are; then pandas, geopandas and pyarrow refuse files
 * that hold it as text. PADDED: a number from which the text can't be had back, such as 01, -0 or 0x1F. */
enum numeral { NUMERAL_NONE, NUMERAL_PLAIN, NUMERAL_PADDED };
enum numeral partition_numeral(const char *value);
/* Does `path` lie in `wanted` (equal, or below it at a `/`)? */
bool partition_within(const char *path, const char *wanted);

#endif
