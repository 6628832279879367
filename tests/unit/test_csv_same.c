/* SPDX-License-Identifier: Apache-2.0
 * The CSV source gives the same whoever reads: any number of threads, the field reader, a text cut anywhere, and Python on
 * real files (RECLOSER_REAL_FILES is the folder that holds them). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "csv_bench.h"
#include "source/csv.h"
#include "source/csv_scan.h"

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
			bool line_ended = cut && (text[cut - 1] == '\n' || text[cut - 1] == '\r');
			assert_true(b->error.status == RECLOSER_OK || strcmp(b->error.code, "csv.unclosed_quote") == 0 ||
						(strcmp(b->error.code, "csv.cut_off") == 0 && !line_ended));
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
	const struct CMUnitTest tests[] = {
		TEST(threads_change_nothing),
		TEST(scan_agrees_with_the_field_reader),
		TEST(scan_finds_every_mark),
		TEST(cut_at_every_byte),
		TEST(real_files),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
