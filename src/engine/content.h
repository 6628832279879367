/* SPDX-License-Identifier: Apache-2.0
 * One pass over rows in the engine that gives everything verification and the content fingerprint need: an aggregate
 * function over all columns, made for one schema.
 *
 * The content fingerprint `c1` (docs/format.md): XXH3-128 of each row's typed, tagged values in column-name order, summed
 * modulo 2^128 over the rows, with schema text and row count under SHA-256. It depends on neither row order nor encoding nor
 * engine version. Partition columns and the covering column stay out. */
#ifndef RECLOSER_ENGINE_CONTENT_H
#define RECLOSER_ENGINE_CONTENT_H

#include "engine/engine.h"
#include "geo/wkb.h"

struct content_column {
	const char *name;
	const char *type;    /* the engine's type name, as engine_describe gives it */
	bool in_fingerprint; /* false: partition columns, covering, helper columns */
	bool is_key, is_geometry;
};

struct content_schema {
	struct content_column *columns;
	size_t count;
	const char *crs_id; /* for the geometry's class in the schema text: "EPSG:4326" or the SHA-256 of the PROJJSON, or "" */
};

struct content {
	uint64_t rows;
	uint64_t sum[2]; /* low, high */
	uint64_t key_null, geometry_null, geometry_faults;
	enum wkb_fault first_fault;
	struct wkb_facts geometry; /* of the sound ones; `standard`: each is in the stored form */
	uint64_t duplicate_keys;   /* keys that occur more than once (128-bit digests of the keys compared) */
	char fingerprint[80];      /* "c1:<64 digits>" */
};

/* Register the aggregate as `name` on this engine for this schema; the same name again is fine for the same schema only. It
 * takes one argument a column in the order of the schema and returns a VARCHAR that content_read understands, one for each
 * group of a GROUP BY. With is_key set on a column, keys are collected and checked for doubles.
 * RECLOSER_USAGE with the column's name when a type has no canonical form (INTERVAL, BIT, TIMETZ, HUGEINT, UNION). */
recloser_status content_register(struct engine *engine, struct arena *arena, const char *name,
								 const struct content_schema *schema, recloser_error *error) RC_CHECKED;
/* The same in two steps, for rows that are looked at more than once. The function `name` gives the digest of a row as UHUGEINT,
 * from one argument a column; the aggregate `name` of content_register_sum adds digests up, and takes the geometry beside them
 * where the schema has one: sum(digest) or sum(digest, geometry). It gives back what content_register's does, but for the keys. */
recloser_status content_register_row(struct engine *engine, struct arena *arena, const char *name,
									 const struct content_schema *schema, recloser_error *error) RC_CHECKED;
recloser_status content_register_sum(struct engine *engine, struct arena *arena, const char *name,
									 const struct content_schema *schema, recloser_error *error) RC_CHECKED;
/* The call of what takes columns: name("a", "b", ...). */
const char *content_call(struct arena *arena, const char *name, const struct content_schema *schema);
/* Read what the aggregate returned; no rows have a fingerprint too. NULL (no group at all) gives zeros and "". */
recloser_status content_read(struct arena *arena, const struct content_schema *schema, const char *returned,
							 struct content *out, recloser_error *error) RC_CHECKED;

/* The columns of a SELECT as the engine describes them: looked at once, for any number of files that hold them. */
struct arrow_columns;
recloser_status arrow_columns_of(struct engine *engine, struct arena *arena, const char *select,
								 const struct arrow_columns **out, recloser_error *error) RC_CHECKED;
/* The entry for the footer that tells Arrow's readers that partition columns are dictionaries: base64 of the encapsulated
 * IPC schema of these columns, with `metadata` (names and values in turn) inside. */
recloser_status arrow_schema_text(struct arena *arena, const struct arrow_columns *columns,
								  const struct strings *dictionary_columns, const struct strings *metadata, const char **out,
								  recloser_error *error) RC_CHECKED;

#endif
