/* SPDX-License-Identifier: Apache-2.0
 * Writing a FlatBuffer front to back: a table is put down with empty references, what it refers to follows and fills them
 * in. So nothing has to be known beforehand, and the result is as small as one written back to front. */
#ifndef RECLOSER_ENGINE_FLATBUFFER_H
#define RECLOSER_ENGINE_FLATBUFFER_H

#include <stdint.h>

#include "base/arena.h"

enum { FLAT_FIELDS = 8 };

struct flat {
	struct arena *arena;
	uint8_t *at;
	size_t count, capacity;
};

/* A place is an offset of a reference (4 bytes) or of a field's bytes. Place 0 is the root's reference. */
struct flat flat_on(struct arena *arena);
/* A table with `fields` fields of these widths in bytes: 1, 2, 4, 8, or 0 for one that is absent. `places[i]` is where
 * field i is; its bytes are zero. */
void flat_table(struct flat *flat, size_t reference, const uint8_t *widths, int fields, size_t *places);
void flat_set(struct flat *flat, size_t place, uint64_t value, int bytes);
void flat_text(struct flat *flat, size_t reference, const char *text);
/* A vector of references; gives the place of the first, the others follow every 4 bytes. */
size_t flat_vector(struct flat *flat, size_t reference, size_t count);
void flat_pad(struct flat *flat, size_t align);

#endif
