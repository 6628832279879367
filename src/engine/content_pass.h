/* SPDX-License-Identifier: Apache-2.0
 * Between registering a content pass and running it: what is known of the schema, the engine's
 * callbacks, and the form of what they give back. */
#ifndef RECLOSER_ENGINE_CONTENT_PASS_H
#define RECLOSER_ENGINE_CONTENT_PASS_H

#include "engine/content.h"
#include "engine/content_type.h"
#include "engine/digests.h"

/* What is known of the schema; belongs to the engine once the function is registered. */
struct content_plan {
	size_t column_count, node_count, hashed_count;
	struct content_type *types;
	size_t *nodes;           /* where each column's vectors begin */
	size_t *hashed;          /* the fingerprint's columns in byte order of their names */
	ptrdiff_t key, geometry; /* -1: none */
	bool digested;           /* the aggregate takes the rows' digests, and the geometry if there is one, instead of the columns */
	char *schema_text;
	struct digest_room *room; /* of the engine: for the digests of the keys */
	pthread_mutex_t lock; /* over the list */
	struct found *all;    /* every state that is not given back yet */
};

struct content_plan *content_plan_new(size_t columns, struct digest_room *room); /* NULL: no memory */
void content_plan_free(void *plan);

/* The aggregate's functions; its extra information is the plan. */
void content_pass_functions(duckdb_aggregate_function function);
/* The function that gives a row's digest; its extra information is a plan too. */
void content_row_function(duckdb_scalar_function function);

/* The parts of what the aggregate returns: the fingerprint's 64 digits, then these numbers in hexadecimal, blanks between.
 */
enum {
	RETURNED_ROWS,
	RETURNED_LOW,
	RETURNED_HIGH,
	RETURNED_KEY_NULL,
	RETURNED_GEOMETRY_NULL,
	RETURNED_GEOMETRY_FAULTS,
	RETURNED_FIRST_FAULT,
	RETURNED_DUPLICATE_KEYS,
	RETURNED_ANY,
	RETURNED_ANY_Z,
	RETURNED_ANY_M,
	RETURNED_TYPES,
	RETURNED_SRID,
	RETURNED_STANDARD,
	RETURNED_MINIMUM,                        /* the bits of four doubles */
	RETURNED_MAXIMUM = RETURNED_MINIMUM + 4, /* and of four more */
	RETURNED_COUNT = RETURNED_MAXIMUM + 4
};

#endif
