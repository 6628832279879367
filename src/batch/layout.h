/* SPDX-License-Identifier: Apache-2.0
 * How one open source becomes rows of the dataset: which source column feeds which dataset column, and the one SELECT that
 * picks, cleans, converts, builds the geometry and the key, and says of each bad row what is wrong with it.
 *
 * The SELECT gives, besides the dataset's columns under their own names:
 *   _rc_src    INTEGER   ordinal of the source in this run
 *   _rc_row    BIGINT    record number in the source
 *   _rc_fault  VARCHAR   NULL for a good row; else JSON {line, offset, faults: [{reason, column, value}], row: {...}}
 *   _rc_lookup VARCHAR   only where the geometry is looked up: the values that found no feature, else NULL
 * and the key under its own name. Rows that `skip` names are left out. */
#ifndef RECLOSER_BATCH_LAYOUT_H
#define RECLOSER_BATCH_LAYOUT_H

#include "engine/engine.h"
#include "geo/crs.h"
#include "recloser/recloser.h"
#include "source/source.h"
#include "spec/spec.h"

struct field {
	const char *name;             /* in the dataset */
	const struct column *column;  /* the spec's, or NULL when it is unlisted */
	enum column_type type;        /* declared, or what the source's kind of value gives */
	const char *source_name;      /* the source column's name, for messages */
	const char *raw;              /* SQL over the scan: c7, or a literal; NULL for `sql` columns */
	const char *raw_type;         /* the engine's type of `raw` */
	bool written;                 /* goes into the file */
};

struct layout {
	struct source *source;
	const struct input *input;
	const struct block *block;
	size_t ordinal;
	struct field *fields;
	size_t count;
	const char *scan;             /* SQL: the table to read */
	enum geometry_from geometry;  /* resolved: never AUTO */
	const char *geometry_raw;     /* SQL over the scan for a source geometry */
	struct crs crs;               /* of the geometry as the source has it */
	struct strings notes;         /* renamed columns and the like, for the report */
};

/* What all layouts of a run share. */
struct layout_context {
	struct engine *engine;
	const struct spec *spec;
	const recloser_setting *settings;
	size_t setting_count;
	struct crs crs;               /* of the dataset: pinned, declared, or taken from the first source that has one */
	/* With `geometry: {from: {lookup: ...}}`: the reference file, and what lookup.c knows of it once it is open. */
	const struct input *lookup_input;
	struct lookup_state *lookup;
	const struct source_facts *lookup_facts;
	const char *spool;            /* a directory for temporary files */
};

/* RECLOSER_USAGE for a pattern or a time zone of the spec that the engine does not understand. */
recloser_status layout_check_words(struct arena *arena, struct engine *engine, const struct spec *spec, recloser_error *error) RC_CHECKED;

/* Match the block's columns to the source's. RECLOSER_REFUSED when a column is not there (with what is) or is there twice;
 * RECLOSER_USAGE when a `--set` value or an expression is wrong. */
recloser_status layout_plan(struct arena *arena, struct layout_context *context, struct source *source, const struct input *input,
                            const struct block *block, size_t ordinal, struct layout **out, recloser_error *error) RC_CHECKED;

/* At the end of the reason of a row whose coordinates are inside the CRS's bounds once x and y are exchanged. */
#define SWAPPED_WORDS ", but inside with x and y exchanged"

/* The SELECT described above. */
recloser_status layout_select(struct arena *arena, struct layout_context *context, struct layout *layout, const char **out,
                              recloser_error *error) RC_CHECKED;

/* The text that `pattern` finds in `text`: its groups joined with one blank, or the whole match; NULL when it finds nothing. */
recloser_status layout_extract(struct arena *arena, struct engine *engine, const char *pattern, const char *text, const char **out,
                               recloser_error *error) RC_CHECKED;

/* Source column names that the identity of this block rests on, for `data: first_key`. */
struct strings layout_identity_names(struct arena *arena, const struct spec *spec, const struct block *block);

#endif
