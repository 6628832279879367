/* SPDX-License-Identifier: Apache-2.0
 * Cells of an identity as Python's str() writes them, from the engine's vectors. Called from engine threads: malloc only. */
#ifndef RECLOSER_ENGINE_IDENTITY_H
#define RECLOSER_ENGINE_IDENTITY_H

#include "batch/pystr.h"
#include "engine/cell.h"

/* What must be known of a type to write its cells; `words` are an ENUM's. */
struct identity_type {
	duckdb_type id, physical;
	int scale;
	uint32_t word_count;
	char **words;
};

/* NULL, or a static text that says why cells of this type can't be part of an identity. Free it in both cases. */
const char *identity_type_read(struct identity_type *out, duckdb_logical_type type);
void identity_type_free(struct identity_type *type);
/* False: no memory. */
bool identity_type_copy(struct identity_type *to, const struct identity_type *from);

/* Room for a text that is not in the vector itself. */
struct identity_buffer {
	char fixed[PYSTR_MAX];
	char *hex;
	size_t capacity;
};

enum identity_form {
	IDENTITY_TEXT,    /* `*text` and `*length` are set; they last until the buffer's next use */
	IDENTITY_NO_FORM, /* Python has no such value: a year outside 1 to 9999, a nanosecond */
	IDENTITY_NO_MEMORY
};
/* The cell must not be null. */
enum identity_form identity_text(const struct identity_type *type, const void *data, idx_t row,
								 struct identity_buffer *buffer, const char **text, size_t *length);

#endif
