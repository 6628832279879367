/* SPDX-License-Identifier: Apache-2.0
 * An object store in memory, whose requests fail as a test wants: not at all, without an answer, later, or with everything
 * after them (the process is dead). Several buckets may lead to one store. It remembers all that ever was live. */
#ifndef RECLOSER_TESTS_BUCKET_MEMORY_H
#define RECLOSER_TESTS_BUCKET_MEMORY_H

#include "store/bucket.h"

struct memory_object {
	const char *key;
	char *bytes;
	size_t count;
	char token[BUCKET_TOKEN];
	bool there;
};

struct memory_put {                         /* sent, and not acted upon yet */
	const char *key, *bytes, *token, *from; /* `from`: a copy */
	size_t count;
	enum bucket_when when;
};

struct memory_store {
	struct arena *arena;
	struct memory_object *objects;
	size_t count, capacity;
	struct memory_put late[8];
	size_t late_count;
	const char **live; /* "key content" in the order in which they became live */
	size_t live_count;
	unsigned list_lag; /* listings do not show the last so many records */
	size_t page;       /* listings come in pages of so many, and an empty one after them; 0: in one */
	bool no_conditions, no_checksums, no_copy, other_copy_tokens;
	bool blind_copies; /* the condition of a copy is not looked at */
};
struct memory_store *memory_store(struct arena *arena);
const struct memory_object *memory_find(const struct memory_store *store, const char *key); /* NULL: not there */
void memory_put(struct memory_store *store, const char *key, const char *content);          /* by another program */
void memory_act_late(struct memory_store *store);

enum memory_fault {
	FAULT_NONE,
	FAULT_LOSE_ANSWER, /* acts, no answer */
	FAULT_DROP,        /* does not act, no answer */
	FAULT_LATE,        /* no answer; a put or a copy acts when memory_act_late is called, anything else does not */
	FAULT_BUSY         /* 503 */
};
struct memory_faults {
	unsigned at; /* number of the request, from 1; 0: none */
	enum memory_fault kind;
	bool puts_only;      /* count conditional puts of live objects only */
	unsigned stop_after; /* requests; 0: never. What follows is refused: the process is dead */
	void (*before)(void *arg, unsigned request);
	void *arg;
	unsigned sent; /* out: requests */
};
/* `faults` may be NULL; it must live as long as the bucket. */
struct bucket *bucket_memory(struct arena *arena, struct memory_store *store, struct memory_faults *faults);

#endif
