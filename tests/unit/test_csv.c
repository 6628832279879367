/* SPDX-License-Identifier: Apache-2.0
 * The CSV source: grammar, faults of records, what is no table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "csv_bench.h"

static void plain_table(void **state)
{
	struct bench *b = *state;
	read_text(b, "id,name\n1,Elm\n2,Oak\n");
	assert_string_equal(names(b), "id|name");
	assert_int_equal(b->table.rows, 2);
	assert_string_equal(row(b, 0), "1|Elm");
	assert_string_equal(row(b, 1), "2|Oak");
	assert_string_equal(place(b, 0), "1 2 8");
	assert_string_equal(place(b, 1), "2 3 14");
	assert_string_equal(b->source->facts.format, "csv");
	assert_string_equal(b->source->facts.encoding, "UTF-8");
	assert_int_equal(b->source->facts.bytes, 20);
	assert_int_equal(b->source->facts.geometry_column, -1);
}

static void every_line_end(void **state)
{
	struct bench *b = *state;
	read_text(b, "a,b\r\n1,2\r3,4\n5,6\r\n\r\n7,8");
	assert_int_equal(b->table.rows, 4);
	assert_string_equal(row(b, 3), "7|8");
	assert_string_equal(place(b, 1), "2 3 9");
	assert_string_equal(place(b, 2), "3 4 13");
	assert_string_equal(place(b, 3), "4 6 20");
	assert_int_equal(b->source->counts.blank_lines, 1);
}

static void quotes(void **state)
{
	struct bench *b = *state;
	read_text(b, "a,b,c\n\"x, \"\"y\"\"\",\"\",\"two\r\nlines\"\n5\" pipe,a\"b, \"z\"\n\"\"\"\",\"1\n2\n3\",\n");
	assert_int_equal(b->table.rows, 3);
	assert_string_equal(row(b, 0), "x, \"y\"||two\r\nlines");
	assert_string_equal(row(b, 1), "5\" pipe|a\"b| \"z\"");
	assert_string_equal(row(b, 2), "\"|1\n2\n3|");
	assert_string_equal(place(b, 1), "2 4 33");
	assert_string_equal(place(b, 2), "3 5 50");
	/* Quoted and empty is empty text, not null. */
	assert_non_null(b->table.cells[SOURCE_FIXED + 1].at);
}

static void no_quotes_and_other_quotes(void **state)
{
	struct bench *b = *state;
	b->block.quote = '\1';
	read_text(b, "a,b\n\"x,y\n\"1\",2\n");
	assert_string_equal(row(b, 0), "\"x|y");
	assert_string_equal(row(b, 1), "\"1\"|2");
	b->block.quote = '\'';
	b->block.delimiter = ';';
	read_text(b, "a;b\n'x;y';'it''s \"so\"'\n");
	assert_string_equal(row(b, 0), "x;y|it's \"so\"");
}

static void faults_keep_the_row(void **state)
{
	struct bench *b = *state;
	static const char text[] = "a,b,c\n1,2\n1,2,3,4,\"5\"\n\"x\"y,2,3\nn\0l,2,3\n\"q\" ,2\nok,2,3\n";
	read_bytes(b, text, sizeof text - 1);
	assert_int_equal(b->table.rows, 6);
	assert_string_equal(row(b, 0), "1|2|(null) !wrong number of fields//2 instead of 3");
	assert_string_equal(row(b, 1), "1|2|3,4,\"5\" !wrong number of fields//5 instead of 3");
	assert_string_equal(row(b, 2), "\"x\"y|2|3 !text after a closing quote/a/byte 22: \"x\"y");
	assert_string_equal(row(b, 3), "n|2|3 !NUL byte/a/n?l");
	assert_int_equal(b->table.cells[3 * b->table.columns + SOURCE_FIXED].count, 3);
	assert_string_equal(row(b, 4), "\"q\" |2|(null) !text after a closing quote/a/byte 39: \"q\" ");
	assert_string_equal(row(b, 5), "ok|2|3");
	assert_string_equal(place(b, 5), "6 7 46");
}

static void quote_after_junk(void **state)
{
	struct bench *b = *state;
	/* Quotes in the text after a closing quote are plain; the next record is not swallowed. */
	read_text(b, "a,b\n\"x\"y\"z,2\n3,4\n");
	assert_int_equal(b->table.rows, 2);
	assert_string_equal(row(b, 0), "\"x\"y\"z|2 !text after a closing quote/a/byte 4: \"x\"y\"z");
	assert_string_equal(row(b, 1), "3|4");
}

static void unclosed_quote(void **state)
{
	struct bench *b = *state;
	assert_int_equal(open_bytes(b, "a,b\n1,2\n\"x\ny\",\"z\n3,4\n", 22), RECLOSER_OK);
	b->table = read_all(b->source, 2, &b->error);
	assert_int_equal(b->error.status, RECLOSER_REFUSED);
	assert_string_equal(b->error.code, "csv.unclosed_quote");
	assert_string_equal(b->error.where, "t.csv, line 4, byte 14");
	assert_int_equal(open_bytes(b, "a,\"b\n1,2\n", 9), RECLOSER_REFUSED);
	assert_string_equal(b->error.where, "t.csv, line 1, byte 2");
}

static void blank_lines(void **state)
{
	struct bench *b = *state;
	read_text(b, "\n\na,b\n\n1,2\n  \t\n# no comment,x\n\n\n");
	assert_int_equal(b->source->counts.blank_lines, 6);
	assert_int_equal(b->table.rows, 2);
	assert_string_equal(place(b, 0), "1 5 7");
	assert_string_equal(row(b, 1), "# no comment|x");
	assert_string_equal(place(b, 1), "2 7 15");
	/* With one column a blank is a value. */
	read_text(b, "a\nx\n \n\ny\n");
	assert_int_equal(b->table.rows, 3);
	assert_string_equal(row(b, 1), " ");
	assert_int_equal(b->source->counts.blank_lines, 1);
}

static void fault_texts(void **state)
{
	(void)state;
	char buffer[32];
	size_t length = source_fault(buffer, sizeof buffer, "not a number", "mw", "TBD", 3);
	assert_int_equal(length, 19);
	assert_memory_equal(buffer, "not a number\x1fmw\x1fTBD", 19);
	/* Cut between characters: 29 bytes of room, then a character of two bytes. */
	length = source_fault(buffer, 8, "abc", "d", "x\xC3\xA9\xC3\xA9", 5);
	assert_int_equal(length, 7);
	assert_memory_equal(buffer,
						"abc\x1f"
						"d\x1fx",
						7);
	length = source_fault(buffer, sizeof buffer, "r", NULL, "a\0b\x1f", 4);
	assert_memory_equal(buffer,
						"r\x1f\x1f"
						"a?b?",
						length);
	assert_int_equal(length, 7);
}

static void no_table(void **state)
{
	struct bench *b = *state;
	assert_int_equal(open_bytes(b, "", 0), RECLOSER_REFUSED);
	assert_string_equal(b->error.code, "source.empty");
	assert_string_equal(b->error.what, "the file is empty");
	assert_int_equal(open_bytes(b, "\xEF\xBB\xBF\r\n \n", 7), RECLOSER_REFUSED);
	assert_string_equal(b->error.code, "source.empty");
	const char *page = "\n<!DOCTYPE html><html>404</html>";
	assert_int_equal(open_bytes(b, page, strlen(page)), RECLOSER_REFUSED);
	assert_string_equal(b->error.code, "source.html");
	assert_int_equal(open_bytes(b, "<HTML>", 6), RECLOSER_REFUSED);
	assert_string_equal(b->error.code, "source.html");
	/* Only a header: no rows, and that is the load's to judge. */
	read_text(b, "a,b\n");
	assert_int_equal(b->table.rows, 0);
	read_text(b, "a,b");
	assert_int_equal(b->table.rows, 0);
}

static void marks_and_utf16(void **state)
{
	struct bench *b = *state;
	read_text(b, "\xEF\xBB\xBFqueue_id,b\nR\xC3\xADo,2\n");
	assert_string_equal(names(b), "queue_id|b");
	assert_string_equal(row(b, 0), "R\xC3\xADo|2");
	assert_string_equal(place(b, 0), "1 2 11");
	read_bytes(b,
			   "\xFE\xFF\0a\0,\0b\0\n\0\xED\0,\0"
			   "1",
			   16);
	assert_string_equal(row(b, 0), "\xC3\xAD|1");
	assert_string_equal(b->source->facts.encoding, "UTF-16BE");
}

static void wide_and_long(void **state)
{
	struct bench *b = *state;
	enum { COLUMNS = 5000, CELL = 10 << 20 };
	struct text text = text_on(b->arena);
	for (int line = 0; line < 20; line++)
		for (int i = 0; i < COLUMNS; i++)
			text_addf(&text, "%d%s", line * COLUMNS + i, i + 1 < COLUMNS ? "," : "\n");
	read_text(b, text.at);
	assert_int_equal(b->table.rows, 19);
	assert_string_equal(cell_text(&b->table, 18, SOURCE_FIXED + 4999), "99999");
	char *big = arena_alloc(b->arena, CELL + 32);
	memcpy(big, "a,b\n\"", 5);
	memset(big + 5, '\n', CELL);
	memcpy(big + 5, "\"\"", 2);
	memcpy(big + 5 + CELL, "\",2\n3,4\n", 8);
	read_bytes(b, big, CELL + 13);
	assert_int_equal(b->table.rows, 2);
	assert_int_equal(b->table.cells[SOURCE_FIXED].count, CELL - 1);
	assert_string_equal(place(b, 1), arena_printf(b->arena, "2 %d %d", CELL - 2 + 3, CELL + 9));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(plain_table),         TEST(every_line_end),   TEST(quotes),          TEST(no_quotes_and_other_quotes),
		TEST(faults_keep_the_row), TEST(quote_after_junk), TEST(unclosed_quote),  TEST(blank_lines),
		TEST(fault_texts),         TEST(no_table),         TEST(marks_and_utf16), TEST(wide_and_long),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
