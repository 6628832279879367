/* SPDX-License-Identifier: Apache-2.0
 * What the tests of the CSV source share: a block to set rules in, a file to write, and ways to look at the rows. */
#ifndef RECLOSER_TEST_CSV_BENCH_H
#define RECLOSER_TEST_CSV_BENCH_H

#include "csv_double.h"
#include "spec/spec.h"

struct bench {
	struct arena *arena;
	char directory[64], file[128];
	struct block block;
	struct strings identity;
	struct source *source;
	struct table table;
	recloser_error error;
};

int bench_set_up(void **state);
int bench_tear_down(void **state);
#define TEST(name) cmocka_unit_test_setup_teardown(name, bench_set_up, bench_tear_down)

void write_file(const char *path, const char *bytes, size_t count);
/* csv_open on a file, under a name; gives b->source or b->error. */
recloser_status open_named(struct bench *b, const char *path, const char *name);
recloser_status open_bytes(struct bench *b, const char *bytes, size_t count);
/* Open and read all rows with one thread into b->table; must succeed. */
void read_bytes(struct bench *b, const char *bytes, size_t count);
void read_text(struct bench *b, const char *text);

/* Own cells of a row joined with "|"; the fault, if any, after " !" with its 0x1F shown as "/". */
const char *row(struct bench *b, size_t index);
/* "row line offset" */
const char *place(struct bench *b, size_t index);
/* Column names joined with "|". */
const char *names(struct bench *b);

#endif
