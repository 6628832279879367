/* SPDX-License-Identifier: Apache-2.0
 * The canonical bytes of a value, and the class of its type, as the content fingerprint `c1` takes them (docs/format.md).
 * Called from engine threads: malloc only. */
#ifndef RECLOSER_ENGINE_CONTENT_TYPE_H
#define RECLOSER_ENGINE_CONTENT_TYPE_H

#include "engine/cell.h"

/* A type as a tree. Children: a list's elements, a struct's members in byte order of their names, a map's key and value. */
struct content_type {
	duckdb_type id, physical;
	int width, scale; /* decimals */
	idx_t array_size;
	char *name;   /* a member's name */
	idx_t place;  /* a member's place in the engine's struct */
	char **words; /* an ENUM's */
	uint32_t word_count;
	struct content_type *children;
	size_t child_count;
};

/* NULL, or the name of the type that has no canonical form, or "memory". Free it in every case. */
const char *content_type_read(struct content_type *out, duckdb_logical_type type);
void content_type_free(struct content_type *type);
size_t content_type_nodes(const struct content_type *type);

/* "int", "decimal(9,2)", "list(struct(a text, b real))". */
const char *content_type_class(struct arena *arena, const struct content_type *type);

/* The vectors of one chunk, in the order of a walk through the tree: content_type_nodes() of them. */
struct content_vector {
	const void *data;
	const uint64_t *validity;
};
void content_vectors(const struct content_type *type, duckdb_vector vector, struct content_vector **next);

/* At most how many bytes the cell takes, and writing it; the end is returned. */
size_t content_size(const struct content_type *type, const struct content_vector *vector, idx_t row);
uint8_t *content_put(const struct content_type *type, const struct content_vector *vector, idx_t row, uint8_t *to);
/* Of a cell that is no list, struct or map and holds no bytes; including its tag. */
enum { CONTENT_FIXED = 18 };

#endif
