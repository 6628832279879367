/* SPDX-License-Identifier: Apache-2.0
 * All rows of a source in plain memory, for sources with typed columns and geometry. A test that includes this must not link
 * the engine. Cells are texts: numbers printed with 17 digits at most, dates and times as their number, a null as NULL. */
#ifndef RECLOSER_TEST_GRID_DOUBLE_H
#define RECLOSER_TEST_GRID_DOUBLE_H

#include "source/source.h"

struct grid_cell {
	char *at; /* NULL: null */
	size_t count;
	bool put; /* told at all */
};
struct grid {
	const struct source *source;
	struct grid_cell *cells;
	size_t columns, rows;
};

/* Read to the end with `threads` threads (1 for sources that are not parallel), ordered by SOURCE_ROW. Aborts where a
 * source breaks the rules of chunk.h. On failure `error` is set and the grid is empty. */
struct grid grid_read(struct source *source, int threads, recloser_error *error);
void grid_free(struct grid *grid);
/* By the column's name, row from 0; "(null)" for a null, "(no such column)" when there is none. */
const char *grid_at(const struct grid *grid, size_t row, const char *column);
const struct grid_cell *grid_cell(const struct grid *grid, size_t row, const char *column); /* NULL: no such column */
/* SOURCE_ROW and the other fixed ones; a fault's 0x1F shows as '|'. */
const char *grid_fixed(const struct grid *grid, size_t row, int column);
/* A folder of real files: RECLOSER_REAL_FILES, else beside the source tree. NULL, and a word is said, when absent. */
const char *grid_real(const char *file, char *path, size_t size);
const char *grid_case(const char *file, char *path, size_t size);

#endif
