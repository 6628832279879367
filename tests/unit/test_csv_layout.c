/* SPDX-License-Identifier: Apache-2.0
 * The CSV source: header, begin and end of the table, delimiters, names of columns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "csv_bench.h"

static void header_rows(void **state)
{
	struct bench *b = *state;
	const char *text = "Report,\n\"July, 2025\",x\ngroup,,\nid,\"name\nof it\",\n1,2,3\n";
	b->block.header = (struct header){.kind = HEADER_ROW, .rows = {4}, .row_count = 1};
	read_text(b, text);
	assert_string_equal(names(b), "id|name\nof it|");
	assert_string_equal(place(b, 0), "1 6 48");
	assert_string_equal(strings_join(b->arena, &b->source->facts.above, "|"), "Report|\n|July, 2025|x|\n|group|\n");
	assert_int_equal(source_find(b->arena, b->source, "NAME OF it"), 1);
	b->block.header = (struct header){.kind = HEADER_ROW, .rows = {3, 4}, .row_count = 2};
	read_text(b, text);
	assert_string_equal(names(b), "group id|name\nof it|");
	assert_string_equal(strings_join(b->arena, &b->source->facts.above, "|"), "Report|\n|July, 2025|x|\n");
	b->block.header = (struct header){.kind = HEADER_ROW, .rows = {9}, .row_count = 1};
	assert_int_equal(open_bytes(b, text, strlen(text)), RECLOSER_REFUSED);
	assert_string_equal(b->error.what, "`header: 9`, but the file has only 6 lines");
}

static void header_found(void **state)
{
	struct bench *b = *state;
	b->block.header = (struct header){.kind = HEADER_FIND, .within = 4};
	strings_add(b->arena, &b->block.header.find, "queue  id");
	strings_add(b->arena, &b->block.header.find, "NAME");
	read_text(b, "title\n\nQueue ID,x\n Queue\tID ,Name\n1,2\n");
	assert_string_equal(names(b), " Queue\tID |Name");
	assert_string_equal(place(b, 0), "1 5 34");
	assert_string_equal(strings_join(b->arena, &b->source->facts.above, "|"), "title|\n|Queue ID|x|\n");
	b->block.header.within = 3;
	assert_int_equal(open_bytes(b, "title\n\nQueue ID,x\nQueue ID,Name\n1,2\n", 36), RECLOSER_REFUSED);
	assert_string_equal(b->error.code, "csv.no_header");
	assert_string_equal(b->error.hint, "Line 3 holds 1 of the 2 words.");
}

static void no_header(void **state)
{
	struct bench *b = *state;
	b->block.header.kind = HEADER_NONE;
	read_text(b, "1,2,3\n4,5,6\n");
	assert_string_equal(names(b), "column_1|column_2|column_3");
	assert_int_equal(b->table.rows, 2);
	assert_string_equal(place(b, 0), "1 1 0");
}

static void data_start(void **state)
{
	struct bench *b = *state;
	const char *text = "id,mw,state\n,MW,\n\n ,-,\n7,10,TX\n,11,TX\n8,12,TX\n";
	b->block.data = DATA_FIRST_KEY;
	strings_add(b->arena, &b->identity, "ID");
	read_text(b, text);
	assert_int_equal(b->table.rows, 3);
	assert_int_equal(b->source->counts.before, 2);
	assert_int_equal(b->source->counts.blank_lines, 1);
	assert_string_equal(row(b, 0), "7|10|TX");
	assert_string_equal(place(b, 0), "1 5 23");
	assert_string_equal(row(b, 1), "|11|TX");
	b->block.data = DATA_ROW;
	b->block.data_row = 6;
	read_text(b, text);
	assert_int_equal(b->table.rows, 2);
	assert_int_equal(b->source->counts.before, 3);
	assert_int_equal(b->source->counts.blank_lines, 1);
	assert_string_equal(place(b, 0), "1 6 31");
	b->block.data_row = 1;
	assert_int_equal(open_bytes(b, text, strlen(text)), RECLOSER_REFUSED);
	assert_string_equal(b->error.code, "csv.data_in_header");
	b->block.data = DATA_NEXT;
	read_text(b, text);
	assert_int_equal(b->table.rows, 5);
}

static void table_ends(void **state)
{
	struct bench *b = *state;
	b->block.end = END_BLANK;
	read_text(b, "a,b\n\n1,2\n3,4\n,\"\"\nNotes:\n\n\"open,x\n");
	assert_int_equal(b->table.rows, 2);
	assert_int_equal(b->source->counts.trailing, 3); /* the empty row, the word, the rest behind the open quote */
	assert_int_equal(b->source->counts.blank_lines, 2);
	read_text(b, "a,b\n1,2\n\nx,y\nz\n");
	assert_int_equal(b->table.rows, 1);
	assert_int_equal(b->source->counts.trailing, 2);
	assert_int_equal(b->source->counts.blank_lines, 1);
	b->block.end = END_FIND;
	b->block.end_find = "total*|note:";
	read_text(b, "a,b\n1,2\n\n3,total\n,  Total  MW\n5,6\n");
	assert_int_equal(b->table.rows, 2);
	assert_string_equal(row(b, 1), "3|total");
	assert_int_equal(b->source->counts.trailing, 2);
	assert_int_equal(b->source->counts.blank_lines, 1);
	read_text(b, "a,b\n1,2\n");
	assert_int_equal(b->table.rows, 1);
	assert_int_equal(b->source->counts.trailing, 0);
}

static void names_found(void **state)
{
	struct bench *b = *state;
	read_text(b, "State,,Study\tName,state ,X\n1,2,3,4,5\n");
	assert_int_equal(source_find(b->arena, b->source, "study name"), 2);
	assert_int_equal(source_find(b->arena, b->source, "STATE"), -2);
	assert_int_equal(source_find(b->arena, b->source, "Stat"), -1);
	assert_int_equal(source_find(b->arena, b->source, ""), -1);
	assert_int_equal(source_find(b->arena, b->source, "x"), 4);
}

static void delimiters(void **state)
{
	struct bench *b = *state;
	read_text(b, "id;mw;\"a;b\"\n1;2;3\n");
	assert_int_equal(b->source->column_count, 1);
	assert_int_equal(b->source->facts.notes.count, 1);
	assert_string_equal(b->source->facts.notes.at[0], "the header has 1 column with the delimiter \",\" and 3 with \";\": "
													  "if that is meant, declare csv: {delimiter: \";\"}");
	read_text(b, "id,mw\n1,2\n");
	assert_int_equal(b->source->facts.notes.count, 0);
	const char *tabs = "id\tm,w\n1\t2\n";
	write_file(b->file, tabs, strlen(tabs));
	assert_int_equal(open_named(b, b->file, "X.TSV"), RECLOSER_OK);
	assert_int_equal(b->source->column_count, 2);
	assert_int_equal(open_named(b, b->file, "x.tsv.gz"), RECLOSER_OK);
	assert_int_equal(b->source->column_count, 2);
	b->block.delimiter = ',';
	assert_int_equal(open_named(b, b->file, "x.tsv"), RECLOSER_OK);
	assert_string_equal(b->source->columns[0].name, "id\tm");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(header_rows), TEST(header_found), TEST(no_header),  TEST(data_start),
		TEST(table_ends),  TEST(names_found),  TEST(delimiters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
