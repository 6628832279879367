/* SPDX-License-Identifier: Apache-2.0
 * A chunk that keeps what is put into it, so that a source can be tested without the engine. One row of the result is a
 * list of texts in column order; numbers are printed, a null is NULL. */
#ifndef RECLOSER_TEST_CSV_DOUBLE_H
#define RECLOSER_TEST_CSV_DOUBLE_H

#include "source/source.h"

struct cell {
	char *at; /* NULL: null */
	size_t count;
};
struct table {
	struct cell *cells;
	size_t columns, rows;
};

/* Read all rows with `threads` threads, ordered by SOURCE_ROW. On failure `error` is set and the table is empty. */
struct table read_all(struct source *source, int threads, recloser_error *error);
void table_free(struct table *table);
/* The text of a cell; "(null)" for a null. */
const char *cell_text(const struct table *table, size_t row, size_t column);

#endif
