/* SPDX-License-Identifier: Apache-2.0
 * What verification asks of one file, apart from how it was read: shared by verify.c (one file) and verify_many.c. */
#ifndef RECLOSER_PARTITION_VERIFY_H
#define RECLOSER_PARTITION_VERIFY_H

#include "partition/part.h"

/* The engine's type of a column of the file, or NULL. `described`: rows of name and type. */
const char *verify_type(const struct rows *described, const char *column);
void verify_mark(struct arena *arena, const struct part_check *check, struct strings *faults);
/* The file's columns against those expected. */
void verify_columns(struct arena *arena, const struct part_check *check, const struct rows *described, struct strings *faults);
/* The footer's entries (NULL: not there) against the path and what was to be written. */
void verify_footer(struct arena *arena, const struct part_check *check, const char *geo, const char *partition, struct strings *faults);
/* The schema of the content pass over the file: the covering stays out, partition columns are not in the fingerprint. */
struct content_schema verify_schema(struct arena *arena, const struct part_check *check, const struct rows *described);
/* Register the content pass for this schema under a name of its own; one a schema, however many files have it. */
recloser_status verify_function(struct arena *arena, const struct part_check *check, const struct content_schema *schema,
                                const char **name, recloser_error *error) RC_CHECKED;
/* What the pass returned against what is expected. */
recloser_status verify_content(struct arena *arena, const struct part_check *check, const struct content_schema *schema,
                               const char *returned, struct part_verdict *verdict, recloser_error *error) RC_CHECKED;

#endif
