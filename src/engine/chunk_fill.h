/* SPDX-License-Identifier: Apache-2.0
 * The inside of a chunk, for the scan that hands it to a source. */
#ifndef RECLOSER_ENGINE_CHUNK_FILL_H
#define RECLOSER_ENGINE_CHUNK_FILL_H

#include "engine/chunk.h"
#include "engine/duck.h"

/* One logical column; `vector` is NULL when the statement does not read it, and then puts have no effect. */
struct chunk_column {
	enum cell_type type;
	duckdb_vector vector;
	void *data;
	uint64_t *validity; /* NULL until the first null of the chunk */
};

struct chunk {
	size_t column_count;
	struct chunk_column columns[];
};

#endif
