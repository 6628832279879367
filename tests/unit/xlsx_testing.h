/* SPDX-License-Identifier: Apache-2.0
 * What the tests of the workbook reader share: one arena and error a test, opening, and rows as texts. */
#ifndef RECLOSER_TEST_XLSX_TESTING_H
#define RECLOSER_TEST_XLSX_TESTING_H

#include "source/xlsx.h"

#define SHARED TEST_SOURCE_DIR "/../../shared"

extern struct arena *arena;
extern recloser_error error;
extern bool keep_columns; /* the spec's `other_columns: keep` */

struct opened {
	struct source **sources;
	size_t count;
	recloser_status status;
};

int set_up(void **state);
int tear_down(void **state);

struct strings list(const char *const *words);
#define LIST(...) list((const char *const[]){__VA_ARGS__, NULL})

struct opened open_with(const char *path, const struct block *block, struct strings identity);
/* Must succeed; the test is skipped where the file is not here. */
struct opened open_ok(const char *path, const struct block *block, struct strings identity);

/* Rows as "row|cell|cell ...", a null as "~", a fault behind "!". */
struct strings rows_of(struct source *source);
size_t count_rows(struct source *source);
/* The cell of the row with this sheet number, in the column of this name. */
const char *cell_of(struct source *source, int row, const char *column);

#endif
