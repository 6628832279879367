/* SPDX-License-Identifier: Apache-2.0
 * What the files of this folder share; the only header that includes duckdb.h, included by nobody outside. */
#ifndef RECLOSER_ENGINE_DUCK_H
#define RECLOSER_ENGINE_DUCK_H

#include <duckdb.h>
#include <pthread.h>

#include "engine/digests.h"
#include "engine/engine.h"

/* A source that queries may read as rc_scan(id). Lives until the last connection is closed; `failure` is what its reader
 * said last, so that a failed statement can give back the reader's error instead of the engine's words for it. */
struct offered {
	struct offered *next;
	struct engine_shared *shared;
	uint64_t id;
	struct source *source;
	recloser_error failure;
};

/* A content pass that the engine knows by `name`, and for what: the same may be asked for again. */
struct content_name {
	struct content_name *next;
	char *name, *schema;
};

/* What all connections to one database have in common. Counted, since the arenas of connections may go in any order. */
struct engine_shared {
	duckdb_database database;
	uint64_t memory_bytes;
	int64_t threads;      /* that may be at work, those which give statements among them */
	pthread_mutex_t lock; /* over everything below */
	int connections;
	uint64_t last_id;
	struct offered *offered;
	struct content_name *content_names;
	struct digest_room *digests; /* of the keys that content passes collect */
	struct spill *aside;         /* values that stand aside while rows are sorted; NULL: the engine has nowhere to spill */
	pthread_mutex_t adding; /* one content pass is looked up and added at a time; taken before `lock` */
};

struct engine {
	struct engine_shared *shared;
	duckdb_connection connection;
};

/* Turn a message of the engine into an error: "could not <doing>: <first line>", with advice where there is some. */
recloser_status engine_failed(struct engine *engine, const char *doing, const char *message, recloser_error *error);

/* functions_aside.c: why `what` could not be put into a nameless file, from an errno, in the words that the engine has for a full
 * disk and for want of memory (engine_failed knows them). */
void aside_failed(int failed, const char *what, char *out, size_t size);

/* scan.c */
recloser_status scan_register(struct engine *engine, recloser_error *error) RC_CHECKED;
/* The reader's error when `message` comes from a failed rc_scan. */
bool scan_failure(struct engine_shared *shared, const char *message, recloser_error *error);

/* logical.c: "DECIMAL(18,3)", "STRUCT(a INTEGER, b VARCHAR[])". */
const char *logical_name(struct arena *arena, duckdb_logical_type type);
/* The types of the columns that a SELECT gives; they hang on the arena. */
recloser_status logical_types(struct engine *engine, struct arena *arena, const char *doing, const char *select,
							  duckdb_logical_type **types, const char ***names, size_t *count,
							  recloser_error *error) RC_CHECKED;

static inline bool valid_at(const uint64_t *validity, idx_t row)
{
	return !validity || (validity[row >> 6] >> (row & 63) & 1);
}

#endif
