/* SPDX-License-Identifier: Apache-2.0
 * A chunk in plain memory, so that a source can be tested cell by cell without the engine. A test that includes this must
 * not link the engine. */
#ifndef RECLOSER_TEST_CHUNK_DOUBLE_H
#define RECLOSER_TEST_CHUNK_DOUBLE_H

#include "engine/chunk.h"

struct chunk *chunk_double_new(size_t columns);
void chunk_double_free(struct chunk *chunk);
/* NULL for null, else text; integers in decimal. Valid until the chunk is filled again. */
const char *chunk_double_at(const struct chunk *chunk, size_t column, size_t row);

#endif
