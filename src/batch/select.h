/* SPDX-License-Identifier: Apache-2.0
 * What the files of the SELECT share: the layers under construction. select.c says how they follow each other. */
#ifndef RECLOSER_BATCH_SELECT_H
#define RECLOSER_BATCH_SELECT_H

#include "batch/layout.h"

struct fault {
	const char *condition, *reason, *column, *value; /* SQL, text, text, SQL of the value as text or NULL */
};

struct layers {
	struct arena *arena;
	struct layout_context *context;
	struct layout *layout;
	const char *sql;
	struct fault *faults;
	size_t fault_count, fault_capacity;
	const char *written_geometry; /* the text a geometry is read from; NULL: it comes otherwise */
};

/* One more layer, which adds these columns (", expression AS name"...) to all below; "" adds none. */
void layers_wrap(struct layers *layers, const char *added);
/* A row for which `condition` is true goes to quarantine. `reason` NULL: the value is the reason. */
void layers_fault(struct layers *layers, const char *condition, const char *reason, const char *column, const char *value);
/* An expression of the spec, in `line`: only rows of the source, only what stands in the layers so far, and types that fit.
 * `with_sql`: fields that are expressions themselves may be named. RECLOSER_USAGE. */
recloser_status layers_check(struct layers *layers, const char *expression, const char *used_for, int line, bool with_sql,
                             recloser_error *error) RC_CHECKED;
/* Is the field converted from text? */
bool field_through_text(const struct field *field);
/* The engine's type of a field under its own name. */
const char *field_engine_type(struct arena *arena, const struct field *field);

/* The layers of select_geometry.c and select_faults.c, in their order. */
recloser_status layers_geometry(struct layers *layers, recloser_error *error) RC_CHECKED;
recloser_status layers_identity(struct layers *layers, recloser_error *error) RC_CHECKED;
void layers_required(struct layers *layers);
void layers_partition(struct layers *layers);
recloser_status layers_checks(struct layers *layers, recloser_error *error) RC_CHECKED;

#endif
