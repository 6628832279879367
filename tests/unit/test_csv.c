/* SPDX-License-Identifier: Apache-2.0
 * The CSV source: grammar, layout, faults, counts, and that the number of threads changes nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "csv_double.h"
#include "source/csv.h"
#include "source/csv_scan.h"
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

static int set_up(void **state)
{
	struct bench *b = calloc(1, sizeof *b);
	b->arena = arena_new(NULL);
	strcpy(b->directory, "/tmp/recloser-csv-XXXXXX");
	if (!mkdtemp(b->directory))
		return -1;
	snprintf(b->file, sizeof b->file, "%s/t.csv", b->directory);
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;
	table_free(&b->table);
	arena_free(b->arena);
	unlink(b->file);
	rmdir(b->directory);
	free(b);
	return 0;
}

static void write_file(const char *path, const char *bytes, size_t count)
{
	FILE *file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, count, file), count);
	fclose(file);
}

static recloser_status open_named(struct bench *b, const char *path, const char *name)
{
	struct input *input = arena_alloc(b->arena, sizeof *input);
	*input = (struct input){.path = path, .name = name, .read_path = path};
	struct source_request request = {.input = input, .block = &b->block, .identity = b->identity, .spool = b->directory};
	struct source **sources;
	size_t count;
	error_clear(&b->error);
	b->source = NULL;
	recloser_status status = csv_open(b->arena, &request, &sources, &count, &b->error);
	if (status == RECLOSER_OK) {
		assert_int_equal(count, 1);
		b->source = sources[0];
	}
	assert_int_equal(status, b->error.status);
	return status;
}

static recloser_status open_bytes(struct bench *b, const char *bytes, size_t count)
{
	write_file(b->file, bytes, count);
	return open_named(b, b->file, "t.csv");
}

static void read_bytes(struct bench *b, const char *bytes, size_t count)
{
	assert_int_equal(open_bytes(b, bytes, count), RECLOSER_OK);
	table_free(&b->table);
	b->table = read_all(b->source, 1, &b->error);
	assert_int_equal(b->error.status, RECLOSER_OK);
	assert_int_equal(b->source->counts.rows, b->table.rows);
}

static void read_text(struct bench *b, const char *text)
{
	read_bytes(b, text, strlen(text));
}

/* Own cells of a row joined with "|"; the fault, if any, after " !" with its 0x1F shown as "/". */
static const char *row(struct bench *b, size_t index)
{
	assert_true(index < b->table.rows);
	struct text text = text_on(b->arena);
	for (size_t i = SOURCE_FIXED; i < b->table.columns; i++) {
		if (i > SOURCE_FIXED)
			text_add(&text, "|");
		text_add(&text, cell_text(&b->table, index, i));
	}
	if (b->table.cells[index * b->table.columns + SOURCE_FAULT].at) {
		text_add(&text, " !");
		text_add(&text, cell_text(&b->table, index, SOURCE_FAULT));
		for (char *p = text.at; *p; p++)
			if (*p == '\x1f')
				*p = '/';
	}
	return text.at;
}

/* "row line offset" */
static const char *place(struct bench *b, size_t index)
{
	return arena_printf(b->arena, "%s %s %s", cell_text(&b->table, index, SOURCE_ROW),
						cell_text(&b->table, index, SOURCE_LINE), cell_text(&b->table, index, SOURCE_OFFSET));
}

static const char *names(struct bench *b)
{
	struct strings list = {0};
	for (size_t i = 0; i < b->source->column_count; i++)
		strings_add(b->arena, &list, b->source->columns[i].name);
	return strings_join(b->arena, &list, "|");
}

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

/* Text that is nasty in a repeatable way. */
static const char *random_text(struct arena *arena, unsigned seed, size_t rows)
{
	static const char *const cells[] = {"",
										"a",
										"\"\"",
										"\"x,y\"",
										"\"l1\r\nl2\nl3\"",
										"5\" pipe",
										"\"q\"\"q\"",
										"\"bad\"tail",
										"a b c",
										"\xC3\xA9\xC3\xA9",
										"\"\n\n\"",
										"0123456789012345678901234567890123456789",
										" \"s\" ",
										"#"};
	struct text text = text_on(arena);
	text_add(&text, "a,b,c\r\n");
	for (size_t i = 0; i < rows; i++) {
		seed = seed * 1103515245u + 12345u;
		size_t fields = (seed >> 16) % 50 == 0 ? 4 : (seed >> 16) % 50 == 1 ? 2 : 3;
		for (size_t k = 0; k < fields; k++) {
			seed = seed * 1103515245u + 12345u;
			text_add(&text, cells[(seed >> 16) % (sizeof cells / sizeof *cells)]);
			if (k + 1 < fields)
				text_add(&text, ",");
		}
		seed = seed * 1103515245u + 12345u;
		text_add(&text, (seed >> 16) % 3 == 0 ? "\r" : (seed >> 16) % 3 == 1 ? "\n" : "\r\n");
		if ((seed >> 20) % 40 == 0)
			text_add(&text, "\n");
	}
	return text.at;
}

static bool same_tables(const struct table *a, const struct table *b)
{
	if (a->rows != b->rows || a->columns != b->columns)
		return false;
	for (size_t i = 0; i < a->rows * a->columns; i++) {
		const struct cell *x = &a->cells[i], *y = &b->cells[i];
		if (!x->at != !y->at || x->count != y->count || (x->at && memcmp(x->at, y->at, x->count) != 0))
			return false;
	}
	return true;
}

static void threads_change_nothing(void **state)
{
	struct bench *b = *state;
	for (unsigned seed = 1; seed <= 3; seed++) {
		const char *text = random_text(b->arena, seed, 30000);
		read_text(b, text);
		assert_true(b->table.rows > 29000);
		uint64_t blank = b->source->counts.blank_lines;
		for (int threads = 2; threads <= 8; threads *= 2) {
			assert_int_equal(open_bytes(b, text, strlen(text)), RECLOSER_OK);
			struct table other = read_all(b->source, threads, &b->error);
			assert_true(same_tables(&b->table, &other));
			assert_int_equal(b->source->counts.blank_lines, blank);
			table_free(&other);
		}
	}
}

/* Reading a record by its offset, a field at a time, gives what the scan gave: the two readers share one grammar. */
static void scan_agrees_with_the_field_reader(void **state)
{
	struct bench *b = *state;
	const char *text = random_text(b->arena, 7, 3000), *end = text + strlen(text);
	read_text(b, text);
	struct csv_dialect dialect = {',', '"'};
	const char *at = text;
	uint64_t line = 1;
	size_t index = 0;
	struct csv_record record = csv_record_at(b->arena, &dialect, at, end, line);
	while ((at = record.after) < end) {
		line += record.lines;
		record = csv_record_at(b->arena, &dialect, at, end, line);
		if (csv_blank_line(&dialect, 3, at, end))
			continue;
		assert_true(index < b->table.rows);
		assert_string_equal(place(b, index),
							arena_printf(b->arena, "%zu %zu %zu", index + 1, (size_t)line, (size_t)(at - text)));
		for (size_t i = 0; i < 2 && i < record.cells.count; i++)
			assert_string_equal(cell_text(&b->table, index, SOURCE_FIXED + i), record.cells.at[i]);
		assert_int_equal(record.cells.count != 3 || strstr(row(b, index), "\"bad\"tail"),
						 strchr(row(b, index), '!') != NULL);
		index++;
	}
	assert_int_equal(index, b->table.rows);
}

/* The scan against a look at each byte, at every alignment and with jumps ahead. */
static void scan_finds_every_mark(void **state)
{
	(void)state;
	enum { COUNT = 1000 };
	char *text = malloc(COUNT); /* exactly, so that a sanitizer sees a step too far */
	unsigned seed = 11;
	for (int density = 1; density < 100; density += 7) {
		for (size_t i = 0; i < COUNT; i++) {
			seed = seed * 1103515245u + 12345u;
			text[i] = (int)((seed >> 16) % 100) < density ? "\n\r,"[(seed >> 24) % 3] : 'x';
		}
		for (size_t begin = 0; begin < 130; begin += 3) {
			const char *end = text + COUNT, *at = text + begin;
			struct csv_scan scan = csv_scan_from(at, end, '\n', '\r', ',');
			for (size_t k = 0; at < end; k++) {
				const char *expected = at;
				while (expected < end && *expected == 'x')
					expected++;
				assert_ptr_equal(csv_scan_next(&scan), expected);
				size_t jump = k % 5 == 4 ? k * 7 % 150 : 1;
				at = (size_t)(end - expected) > jump ? expected + jump : end;
				csv_scan_seek(&scan, at);
			}
			assert_ptr_equal(csv_scan_next(&scan), end);
		}
	}
	free(text);
}

static void cut_at_every_byte(void **state)
{
	struct bench *b = *state;
	const char *text = "Title\n\xC3\xA9"
					   "a,\"b\n\",c\r\n1,\"2\"\"\",3\r\n\r\n\"x\"y,,\n1,2,3,4\n,,\nEnd,\"\"\n";
	const size_t count = strlen(text);
	for (int variant = 0; variant < 8; variant++) {
		b->block = (struct block){.end = variant & 1 ? END_BLANK : END_DEFAULT,
								  .data = variant & 2 ? DATA_FIRST_KEY : DATA_DEFAULT};
		if (variant & 4)
			b->block.header = (struct header){.kind = HEADER_ROW, .rows = {2}, .row_count = 1};
		b->identity = (struct strings){0};
		strings_add(b->arena, &b->identity, "c");
		for (size_t cut = 0; cut <= count; cut++) {
			if (open_bytes(b, text, cut) != RECLOSER_OK)
				continue;
			struct table table = read_all(b->source, 1, &b->error);
			assert_true(b->error.status == RECLOSER_OK || strcmp(b->error.code, "csv.unclosed_quote") == 0);
			if (b->error.status == RECLOSER_OK)
				assert_int_equal(table.rows, b->source->counts.rows);
			table_free(&table);
		}
	}
}

/* ---- against another implementation ---- */

static bool have_python(void)
{
	return system("python3 -c 'import csv' >/dev/null 2>&1") == 0;
}

/* Python's csv module reads the file; its cells come back with a length before each. */
static void compare_with_python(struct bench *b, const char *path, const char *encoding, char quote)
{
	const char *out = arena_printf(b->arena, "%s/expected", b->directory);
	const char *command = arena_printf(b->arena, "python3 '%s/unit/csv_expected.py' '%s' '%s' \"%c\" > '%s'",
									   TEST_SOURCE_DIR, path, encoding, quote, out);
	if (quote == '"')
		command = arena_printf(b->arena, "python3 '%s/unit/csv_expected.py' '%s' '%s' '\"' > '%s'", TEST_SOURCE_DIR, path,
							   encoding, out);
	assert_int_equal(system(command), 0);
	b->block.encoding = strcmp(encoding, "utf-8-sig") == 0 || strcmp(encoding, "utf-16") == 0 ? NULL : encoding;
	b->block.quote = quote;
	b->block.header.kind = HEADER_NONE;
	assert_int_equal(open_named(b, path, path), RECLOSER_OK);
	table_free(&b->table);
	b->table = read_all(b->source, 2, &b->error);
	assert_int_equal(b->error.status, RECLOSER_OK);
	FILE *file = fopen(out, "rb");
	assert_non_null(file);
	size_t rows = 0, fields, length, compared = 0;
	while (fscanf(file, "%zu", &fields) == 1) {
		assert_true(rows < b->table.rows);
		for (size_t i = 0; i < fields; i++) {
			assert_int_equal(fscanf(file, "%zu:", &length), 1);
			char *cell = malloc(length + 1);
			assert_int_equal(fread(cell, 1, length, file), length);
			cell[length] = '\0';
			if (i < b->source->column_count) {
				assert_string_equal(cell_text(&b->table, rows, SOURCE_FIXED + i), cell);
				compared++;
			}
			free(cell);
		}
		assert_int_equal(fields != b->source->column_count,
						 b->table.cells[rows * b->table.columns + SOURCE_FAULT].at != NULL);
		rows++;
	}
	fclose(file);
	unlink(out);
	assert_int_equal(rows, b->table.rows);
	assert_true(compared > 0);
}

static void real_files(void **state)
{
	struct bench *b = *state;
	static const struct {
		const char *path, *encoding;
		char quote;
		size_t rows, columns;
	} files[] = {
		{"argentina/argentina_power_plants_general.csv", "utf-8-sig", '"', 450, 12},
		{"australia/NGER_2017-2018.csv", "windows-1252", '"', 0, 14},
		{"miso-queue/miso_gi_interactive_queue.csv", "utf-8-sig", '"', 0, 0},
		{"wri-countries/Algeria.csv", "utf-8-sig", '"', 54, 39},
		{"entsoe-gridkit/links.csv", "utf-8-sig", '\'', 63, 8},
		{"entsoe-gridkit/generators.csv", "utf-8-sig", '\'', 2583, 6},
		{"duckdb-fixtures/csv/encodings/latin1.csv", "latin1", '"', 0, 2},
		{"duckdb-fixtures/csv/encodings/latin1.csv.gz", "latin1", '"', 0, 2},
		{"duckdb-fixtures/csv/encodings/only_latin1.csv", "latin1", '"', 0, 2},
		{"duckdb-fixtures/csv/encodings/shift_jis.csv", "shift_jis", '"', 0, 2},
		{"duckdb-fixtures/csv/encodings/utf16.csv", "utf-16", '"', 0, 2},
		{"duckdb-fixtures/csv/encodings/utf16.csv.gz", "utf-16", '"', 0, 2},
		{"duckdb-fixtures/csv/encodings/only_utf16.csv", "utf-16", '"', 0, 2},
		{"duckdb-fixtures/csv/auto/utf8bom.csv", "utf-8-sig", '"', 0, 0},
	};
	const char *root = getenv("RECLOSER_REAL_FILES");
	if (!root || !have_python()) {
		print_message("skipped: RECLOSER_REAL_FILES is not set, or there is no python3\n");
		skip();
	}
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		const char *path = arena_printf(b->arena, "%s/%s", root, files[i].path);
		if (access(path, R_OK) != 0) {
			print_message("absent: %s\n", files[i].path);
			continue;
		}
		compare_with_python(b, path, files[i].encoding, files[i].quote);
		print_message("%s: %zu rows of %zu equal\n", files[i].path, b->table.rows, b->source->column_count);
		if (files[i].rows)
			assert_int_equal(b->table.rows, files[i].rows);
		if (files[i].columns)
			assert_int_equal(b->source->column_count, files[i].columns);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(plain_table),
		TEST(every_line_end),
		TEST(quotes),
		TEST(no_quotes_and_other_quotes),
		TEST(faults_keep_the_row),
		TEST(quote_after_junk),
		TEST(unclosed_quote),
		TEST(blank_lines),
		TEST(header_rows),
		TEST(header_found),
		TEST(no_header),
		TEST(data_start),
		TEST(table_ends),
		TEST(names_found),
		TEST(fault_texts),
		TEST(no_table),
		TEST(delimiters),
		TEST(marks_and_utf16),
		TEST(wide_and_long),
		TEST(threads_change_nothing),
		TEST(scan_agrees_with_the_field_reader),
		TEST(scan_finds_every_mark),
		TEST(cut_at_every_byte),
		TEST(real_files),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
