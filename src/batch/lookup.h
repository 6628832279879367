/* SPDX-License-Identifier: Apache-2.0
 * Geometry looked up from a reference layer: each row takes the geometry of the one feature whose columns have the row's
 * values, compared as they are or after what the spec declares (case, accents, words left out); never by likeness.
 *
 * The layer is read once a run, into the table `rc_lookup`: one row a feature, its compared values as k0, k1, ..., its
 * geometry as the spec wants it (whole, a point on it, its centroid) in the layer's CRS. */
#ifndef RECLOSER_BATCH_LOOKUP_H
#define RECLOSER_BATCH_LOOKUP_H

#include "batch/layout.h"

/* Open the layer and fill the table, the first time; context->lookup_input and context->spool are set. RECLOSER_REFUSED when
 * the layer has no geometry or not the columns, or when two features would answer to the same values. */
recloser_status lookup_open(struct arena *arena, struct layout_context *context, recloser_error *error) RC_CHECKED;

/* SQL: what is compared, over the SQL of a value and its engine type. */
const char *lookup_compared(struct arena *arena, const struct layout_context *context, const char *value, const char *type);
/* SQL: "state=TX, county=Foo", over the fields' values as texts, in the order of `on`. */
const char *lookup_told(struct arena *arena, const struct lookup *lookup, const char *const *texts);

/* A warning with the count of the rows that found no feature and the commonest of their values. */
recloser_status lookup_report(struct arena *arena, const struct layout_context *context, struct strings *warnings,
                              recloser_error *error) RC_CHECKED;

#endif
