/* SPDX-License-Identifier: Apache-2.0
 * How the files of this folder share the work: each reads one part of the spec into its struct (columns.c, blocks.c,
 * geometry_spec.c, policies.c), spec.c puts them together, validate.c holds the rules that need more than one part, and
 * spec_digest.c says what of it matters. Private to src/spec. */
#ifndef RECLOSER_SPEC_PARTS_H
#define RECLOSER_SPEC_PARTS_H

#include "spec/fields.h"

/* Apply a `columns:` mapping to a list: a column that is there already is restated field by field, others are appended.
 * Naming an origin replaces the one that was there. */
recloser_status columns_read(const struct reader *reader, const struct node *map, struct column **columns,
							 size_t *count) RC_CHECKED;
/* Append a column of this name that nothing more is said about; `mark` is the place that asks for it. */
struct column *column_append(struct arena *arena, struct column **columns, size_t *count, const char *name,
							 struct mark mark);
/* A list of one's own that column_append may go on with. */
struct column *columns_copy(struct arena *arena, const struct column *columns, size_t count);
/* The rules of a single column, and the type that follows where none is given. */
recloser_status columns_check(const struct reader *reader, struct block *block) RC_CHECKED;

/* `source:` and `sources:` with `common:` and the shared `columns:` merged in. */
recloser_status sources_read(const struct reader *reader, const struct node *top, struct spec *spec) RC_CHECKED;

recloser_status geometry_read(const struct reader *reader, const struct node *value,
							  struct geometry_spec *geometry) RC_CHECKED;

void policies_default(struct spec *spec);
field_reader field_guard;     /* struct guard: a policy, or {policy, max} */
field_reader field_carried;   /* the same, and `carry` */
field_reader field_guards;    /* struct spec */
field_reader field_totals;    /* struct spec */
field_reader field_freshness; /* struct freshness */

/* Complete the blocks with the columns that key, partition, revision and publisher ask for, then check what needs more
 * than one part. `top` gives the marks. */
recloser_status spec_validate(const struct reader *reader, const struct node *top, struct spec *spec) RC_CHECKED;

void spec_digest(struct arena *arena, const char *bytes, size_t count, struct spec *spec);

#endif
