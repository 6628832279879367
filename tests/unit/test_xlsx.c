/* SPDX-License-Identifier: Apache-2.0
 * The workbook reader on small workbooks: cases with known answers, the rules of the table, the choice of sheets, damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cpl_vsi.h>

#include "xlsx_testing.h"

/* ---- small cases ---- */

static void ids_stay_whole(void **state)
{
	(void)state;
	struct block block = {0};
	struct opened o = open_ok(SHARED "/cases/23-xlsx-first-row-blank-id/ids.xlsx", &block, LIST("queue_id"));
	assert_int_equal(o.count, 1);
	struct source *source = o.sources[0];
	assert_int_equal(source->column_count, 8);
	assert_string_equal(source->columns[0].name, "queue_id");
	assert_string_equal(source->columns[7].letter, "H");
	struct strings rows = rows_of(source);
	assert_int_equal(rows.count, 4);
	/* The first row lacks its id but holds numbers: it is data, and ends in quarantine instead of nowhere. */
	assert_string_equal(rows.at[0], "2|~|Elm|TX|2026-07|10|2026-07-02|-97.2|31.2");
	assert_string_equal(rows.at[1], "3|100143192|Elm|TX|2026-07|10|2026-07-02|-97.2|31.2");
	assert_string_equal(rows.at[2], "4|100143190|Elm|TX|2026-07|10|2026-07-02|-97.2|31.2");
	assert_string_equal(rows.at[3], "5|100123837|Elm|TX|2026-07|10|2026-07-02|-97.2|31.2");
	assert_int_equal(source->counts.before, 0);
	assert_string_equal(source->facts.format, "xlsx");
	assert_string_equal(source->facts.sheet, "Queue");
	assert_true(source->facts.serial_dates);
	assert_false(source->facts.date_1904);
	/* Read twice, the same comes again. */
	assert_int_equal(count_rows(source), 4);
}

static void header_on_row_four(void **state)
{
	(void)state;
	struct block block = {.header = {.kind = HEADER_ROW, .rows = {4}, .row_count = 1}};
	struct opened o = open_ok(SHARED "/cases/32-header-on-row-four/queue.xlsx", &block, LIST("Queue ID"));
	struct source *source = o.sources[0];
	struct strings rows = rows_of(source);
	assert_int_equal(rows.count, 3);
	assert_string_equal(rows.at[0], "6|Q1|Elm|TX|2026-07|10|2026-07-02|-97.1|31.1");
	assert_string_equal(rows.at[2], "8|Q3|Ash|NM|2026-07|30|2026-07-02|-106.2|34.2");
	assert_int_equal(source->counts.before, 1);
	assert_int_equal(source->counts.trailing, 2);
	assert_string_equal(source->columns[4].name, "Capacity");
	assert_string_equal(strings_join(arena, &source->facts.above, ";"),
						"Invented ISO queue report;\n;Run date;2026-07-05;\n");

	block.header = (struct header){.kind = HEADER_FIND, .find = LIST(" queue  ID", "LON"), .within = 100};
	o = open_ok(SHARED "/cases/32-header-on-row-four/queue.xlsx", &block, LIST("Queue ID"));
	assert_int_equal(count_rows(o.sources[0]), 3);

	block.header = (struct header){.kind = HEADER_FIND, .find = LIST("Queue ID", "Longitude"), .within = 100};
	assert_int_equal(open_with(SHARED "/cases/32-header-on-row-four/queue.xlsx", &block, LIST("Queue ID")).status,
					 RECLOSER_REFUSED);
	assert_string_equal(error.code, "xlsx.header");
	assert_non_null(strstr(error.hint, "row 4 has 1 of 2"));

	struct block two = {.header = {.kind = HEADER_ROW, .rows = {4, 5}, .row_count = 2}, .end = END_NONE};
	error_clear(&error);
	o = open_ok(SHARED "/cases/32-header-on-row-four/queue.xlsx", &two, LIST("Queue ID"));
	assert_string_equal(o.sources[0]->columns[4].name, "Capacity (MW)");
	assert_string_equal(o.sources[0]->columns[0].name, "Queue ID");
	assert_int_equal(count_rows(o.sources[0]), 5);
	assert_int_equal(o.sources[0]->counts.blank_lines, 1);
	assert_int_equal(o.sources[0]->counts.before, 0);

	struct block legend = {.header = {.kind = HEADER_ROW, .rows = {4}, .row_count = 1},
						   .data = DATA_ROW,
						   .data_row = 7,
						   .end = END_FIND,
						   .end_find = "legend*"};
	o = open_ok(SHARED "/cases/32-header-on-row-four/queue.xlsx", &legend, LIST("Queue ID"));
	assert_int_equal(count_rows(o.sources[0]), 2);
	assert_int_equal(o.sources[0]->counts.before, 2);
	assert_int_equal(o.sources[0]->counts.trailing, 2);
}

static void nothing_declared(void **state)
{
	(void)state;
	struct block block = {0};
	struct opened o = open_ok(SHARED "/cases/32-header-on-row-four/queue.xlsx", &block, LIST("Queue ID"));
	assert_string_equal(o.sources[0]->columns[0].name, "Invented ISO queue report");
	assert_int_equal(source_find(arena, o.sources[0], "Queue ID"), -1);

	struct block none = {.header = {.kind = HEADER_NONE}};
	o = open_ok(SHARED "/cases/55-serial-numbers-among-dates/dates.xlsx", &none, LIST("3"));
	assert_string_equal(o.sources[0]->columns[2].name, "");
	assert_string_equal(o.sources[0]->columns[2].letter, "C");
	assert_int_equal(count_rows(o.sources[0]), 5);
}

static void serials_among_dates(void **state)
{
	(void)state;
	struct block block = {0};
	struct opened o = open_ok(SHARED "/cases/55-serial-numbers-among-dates/dates.xlsx", &block, LIST("queue_id"));
	struct strings rows = rows_of(o.sources[0]);
	assert_int_equal(rows.count, 4);
	assert_string_equal(rows.at[0], "2|Q1|TX|2023-10-04|-97.1|31.1");
	assert_string_equal(rows.at[1], "3|Q2|TX|45203|-97.2|31.2");
	assert_string_equal(rows.at[2], "4|Q3|TX|10/04/2023|-97.3|31.3");
	assert_string_equal(rows.at[3], "5|Q4|TX|N/A|-97.4|31.4");
}

/* ---- workbooks made here ---- */

#define MAIN_SPACE "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
#define OFFICE "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
#define PACKAGE "http://schemas.openxmlformats.org/package/2006/relationships"

static void add_part(const char *path, const char *name, const char *content)
{
	VSILFILE *part = VSIFOpenL(arena_printf(arena, "/vsizip/%s/%s", path, name), "wb");
	assert_non_null(part);
	assert_int_equal(VSIFWriteL(content, 1, strlen(content), part), strlen(content));
	VSIFCloseL(part);
}

static void remove_book(void *path)
{
	unlink(path);
}

struct sheet_text {
	const char *name, *state, *xml;
};

/* The path of a workbook with these sheets, the last one without a name; deleted with the arena. */
static const char *make_book(const struct sheet_text *sheets, bool date_1904)
{
	static int number;
	const char *path = arena_printf(arena, "xlsx-made-%d-%d.xlsx", (int)getpid(), number++);
	VSILFILE *archive = VSIFOpenL(arena_printf(arena, "/vsizip/%s", path), "wb");
	assert_non_null(archive);
	struct text list = text_on(arena), relations = text_on(arena);
	for (int i = 0; sheets[i].name; i++) {
		text_addf(&list, "<sheet name=\"%s\" state=\"%s\" r:id=\"s%d\"/>", sheets[i].name, sheets[i].state, i);
		text_addf(&relations, "<Relationship Id=\"s%d\" Type=\"" OFFICE "/worksheet\" Target=\"s%d.xml\"/>", i, i);
	}
	add_part(path, "_rels/.rels",
			 "<Relationships xmlns=\"" PACKAGE "\"><Relationship Id=\"w\" Type=\"" OFFICE
			 "/officeDocument\" Target=\"/xl/workbook.xml\"/></Relationships>");
	add_part(path, "xl/_rels/workbook.xml.rels",
			 arena_printf(arena, "<Relationships xmlns=\"" PACKAGE "\">%s</Relationships>", relations.at));
	add_part(path, "xl/workbook.xml",
			 arena_printf(arena,
						  "<workbook xmlns=\"" MAIN_SPACE "\" xmlns:r=\"" OFFICE
						  "\"><workbookPr date1904=\"%d\"/><sheets>%s</sheets></workbook>",
						  date_1904, list.at));
	for (int i = 0; sheets[i].name; i++)
		add_part(path, arena_printf(arena, "xl/s%d.xml", i),
				 arena_printf(arena, "<worksheet xmlns=\"" MAIN_SPACE "\">%s</worksheet>", sheets[i].xml));
	VSIFCloseL(archive);
	arena_defer(arena, remove_book, (void *)path);
	return path;
}

/* A cell of text and a cell of anything else, placed by their order. */
#define T(text) "<c t=\"inlineStr\"><is><t>" text "</t></is></c>"
#define C(attributes, value) "<c " attributes "><v>" value "</v></c>"

static void two_header_rows(void **state)
{
	(void)state;
	static const struct sheet_text sheets[] = {
		{"S", "visible",
		 "<sheetData><row>" T("Queue") "</row><row r=\"3\">" T("Id") T("Capacity") "<c/>" T("Place")
			 T("Note") "</row>"
					   "<row><c/>" T("Summer") T("Winter")
						   T("State") "</row>"
									  "<row>" T("Q1") C("", "5") C("", "6") T("TX")
										  C("t=\"e\"",
											"#N/A") "</row>"
													"<row>" T("Q2") C("", "12345678901234567") "<c><f>1+1</f></c>" T(
														"NM") "</row></sheetData>"
															  "<mergeCells><mergeCell ref=\"A3:A4\"/><mergeCell "
															  "ref=\"B3:C3\"/><mergeCell ref=\"A1:D1\"/></mergeCells>"},
		{0}};
	const char *path = make_book(sheets, true);
	struct block block = {.header = {.kind = HEADER_ROW, .rows = {3, 4}, .row_count = 2}};
	struct source *source = open_ok(path, &block, LIST("Id")).sources[0];
	assert_true(source->facts.date_1904);
	assert_int_equal(source->column_count, 5);
	assert_string_equal(source->columns[0].name, "Id");
	assert_string_equal(source->columns[1].name, "Capacity Summer");
	assert_string_equal(source->columns[2].name, "Capacity Winter");
	assert_string_equal(source->columns[3].name, "Place State");
	assert_string_equal(source->columns[4].name, "Note");
	assert_string_equal(strings_join(arena, &source->facts.above, ";"), "Queue;\n");
	struct strings rows = rows_of(source);
	assert_int_equal(rows.count, 2);
	assert_string_equal(rows.at[0], "5|Q1|5|6|TX|#N/A!the cell holds an error\x1fNote\x1f#N/A");
	assert_string_equal(rows.at[1], "6|Q2|12345678901234568|~|NM|~!the formula was saved without its result\x1f"
									"Capacity Winter\x1f");
	assert_int_equal(source->facts.notes.count, 1);
	assert_non_null(strstr(source->facts.notes.at[0], "1 number cell of more than 15 digits (first B6)"));

	/* Dropped columns do not count against a row, unless an expression names them. */
	struct column columns[] = {{.name = "id", .origin = ORIGIN_FROM, .from = LIST("Id")},
							   {.name = "n", .origin = ORIGIN_VALUE}};
	block.columns = columns;
	block.column_count = 2;
	keep_columns = false;
	rows = rows_of(open_ok(path, &block, LIST("Id")).sources[0]);
	assert_string_equal(rows.at[0], "5|Q1|5|6|TX|#N/A");
	assert_string_equal(rows.at[1], "6|Q2|12345678901234568|~|NM|~");
	columns[1] = (struct column){.name = "n", .origin = ORIGIN_SQL, .sql = "upper(\"note\")"};
	rows = rows_of(open_ok(path, &block, LIST("Id")).sources[0]);
	assert_non_null(strchr(rows.at[0], '!'));
	assert_null(strchr(rows.at[1], '!'));
	keep_columns = true;
}

static void sheets_are_chosen(void **state)
{
	(void)state;
#define ROWS "<sheetData><row>" T("id") "</row><row>" T("1") "</row></sheetData>"
	static const struct sheet_text sheets[] = {{"Old", "hidden", ROWS},
											   {"Data [2020]", "visible", ROWS},
											   {"Notes", "visible", ROWS},
											   {"Secret", "veryHidden", ROWS},
											   {0}};
	const char *path = make_book(sheets, false);
	struct block exact = {.sheet = LIST("data  [2020]")};
	struct opened o = open_ok(path, &exact, LIST("id"));
	assert_string_equal(o.sources[0]->facts.sheet, "Data [2020]");
	assert_string_equal(o.sources[0]->facts.notes.at[0], "hidden sheets left alone: \"Old\", \"Secret\"");

	struct block rest = {.not_sheet = LIST("notes")};
	assert_string_equal(open_ok(path, &rest, LIST("id")).sources[0]->facts.sheet, "Data [2020]");

	struct block pair = {.sheet = LIST("2", "Data*", "Notes")};
	o = open_ok(path, &pair, LIST("id"));
	assert_int_equal(o.count, 2);
	assert_string_equal(o.sources[0]->facts.sheet, "Notes");
	assert_string_equal(o.sources[1]->facts.sheet, "Data [2020]");

	struct block none = {0}, missing = {.sheet = LIST("Queue")}, third = {.sheet = LIST("3")};
	assert_int_equal(open_with(path, &none, LIST("id")).status, RECLOSER_REFUSED);
	assert_string_equal(error.hint, "say `sheet:` with one of \"Data [2020]\", \"Notes\", or a list of them");
	error_clear(&error);
	assert_int_equal(open_with(path, &missing, LIST("id")).status, RECLOSER_REFUSED);
	assert_string_equal(error.hint, "its visible sheets are \"Data [2020]\", \"Notes\"");
	error_clear(&error);
	assert_int_equal(open_with(path, &third, LIST("id")).status, RECLOSER_REFUSED);
}

static void blank_rows(void **state)
{
	(void)state;
	static const struct sheet_text sheets[] = {
		{"S", "visible",
		 "<sheetData><row r=\"2\">" T("id") T("mw") "</row><row r=\"4\">" T("  ") T("unit") "</row><row>" T(
			 " ") "</row>"
				  "<row r=\"6\">" T("a") "</row><row>" T("b") T("") "</row><row>" T(
					  "\xC2\xA0") "</row>"
								  "<row>" T("c") "</row><row r=\"20\">" T("note") "</row><row>" T(" ") "</row></sheetData>"},
		{0}};
	const char *path = make_book(sheets, false);
	struct block block = {0};
	struct source *source = open_ok(path, &block, LIST("id")).sources[0];
	struct strings rows = rows_of(source);
	assert_int_equal(rows.count, 2);
	assert_string_equal(rows.at[0], "6|a|~");
	assert_string_equal(rows.at[1], "7|b|");
	assert_int_equal(source->counts.before, 1);
	assert_int_equal(source->counts.blank_lines, 2); /* 3 and 5 */
	assert_int_equal(source->counts.trailing, 2);

	block.end = END_NONE;
	source = open_ok(path, &block, LIST("id")).sources[0];
	assert_int_equal(count_rows(source), 4);
	assert_int_equal(source->counts.blank_lines, 2 + 1 + 10); /* and 8, and 10 to 19 */
	assert_int_equal(source->counts.trailing, 0);

	block.data = DATA_NEXT;
	source = open_ok(path, &block, LIST("id")).sources[0];
	assert_int_equal(count_rows(source), 5);
	assert_int_equal(source->counts.before, 0);

	/* An identity that is no column here asks for nothing. */
	block = (struct block){0};
	source = open_ok(path, &block, LIST("iso")).sources[0];
	assert_string_equal(rows_of(source).at[0], "4|  |unit");

	static const struct sheet_text empty[] = {{"E", "visible", "<sheetData/>"}, {0}};
	source = open_ok(make_book(empty, false), &block, LIST("id")).sources[0];
	assert_int_equal(count_rows(source), 0);
	assert_int_equal(source->column_count, 0);
}

/* ---- formats ---- */

static void number_formats(void **state)
{
	(void)state;
	static const struct {
		const char *format;
		enum xlsx_style style;
	} cases[] = {
		{"General", STYLE_PLAIN},
		{"0.00", STYLE_PLAIN},
		{"#,##0 \"MW day\"", STYLE_PLAIN},
		{"0.00E+00", STYLE_PLAIN},
		{"@", STYLE_PLAIN},
		{"[Red]0;[Blue]-0", STYLE_PLAIN},
		{"0\\d", STYLE_PLAIN},
		{"_d0", STYLE_PLAIN},
		{"*d0", STYLE_PLAIN},
		{"[$-409]0", STYLE_PLAIN},
		{"0;yyyy", STYLE_PLAIN},
		{"", STYLE_PLAIN},
		{"\"unclosed d", STYLE_PLAIN},
		{"0\\", STYLE_PLAIN},
		{"m/d/yyyy", STYLE_DATE},
		{"[$-409]mmmm\\-yy;@", STYLE_DATE},
		{"mmm", STYLE_DATE},
		{"YYYY-MM-DD HH:MM", STYLE_DATE},
		{"dd\\.mm", STYLE_DATE},
		{"h:mm AM/PM", STYLE_TIME},
		{"mm:ss.0", STYLE_TIME},
		{"[h]:mm:ss", STYLE_DURATION},
		{"[mm]:ss", STYLE_DURATION},
		{"[SS]", STYLE_DURATION},
		{"[h", STYLE_TIME},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (xlsx_style_of_format(cases[i].format) != cases[i].style)
			fail_msg("format %s", cases[i].format);
	assert_int_equal(xlsx_style_of_builtin(14), STYLE_DATE);
	assert_int_equal(xlsx_style_of_builtin(21), STYLE_TIME);
	assert_int_equal(xlsx_style_of_builtin(46), STYLE_DURATION);
	assert_int_equal(xlsx_style_of_builtin(2), STYLE_PLAIN);
	assert_int_equal(xlsx_style_of_builtin(-1), STYLE_PLAIN);
}

static void letters(void **state)
{
	(void)state;
	char letter[4];
	static const struct {
		uint32_t column;
		const char *letter;
	} cases[] = {{0, "A"}, {25, "Z"}, {26, "AA"}, {31, "AF"}, {701, "ZZ"}, {702, "AAA"}, {16383, "XFD"}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		xlsx_letter(cases[i].column, letter);
		assert_string_equal(letter, cases[i].letter);
	}
}

/* ---- damage ---- */

static char *read_file(const char *path, size_t *count)
{
	FILE *file = fopen(path, "rb");
	if (!file) {
		print_message("the file %s is not here\n", path);
		skip();
	}
	char *bytes = arena_alloc(arena, 1 << 20);
	*count = fread(bytes, 1, 1 << 20, file);
	fclose(file);
	return bytes;
}

/* All rows and counts of a workbook as one text, or NULL when it is refused. Under a new name each time, since GDAL
 * remembers archives by name, size and second. */
static const char *read_damaged(const char *folder, const char *bytes, size_t count)
{
	static int number;
	char path[256];
	snprintf(path, sizeof path, "%s/%d.xlsx", folder, number++);
	FILE *file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, count, file), count);
	fclose(file);
	struct block block = {.header = {.kind = HEADER_ROW, .rows = {4}, .row_count = 1}};
	error_clear(&error);
	struct opened o = open_with(path, &block, LIST("Queue ID"));
	unlink(path);
	if (o.status != RECLOSER_OK) {
		assert_int_equal(o.status, RECLOSER_REFUSED);
		assert_true(*error.what && *error.hint);
		return NULL;
	}
	struct strings rows = rows_of(o.sources[0]);
	return arena_printf(arena, "%s\n%d %d", strings_join(arena, &rows, "\n"), (int)o.sources[0]->counts.before,
						(int)o.sources[0]->counts.trailing);
}

/* Whatever happens to a file, it gives its own rows or none. */
static void damaged_files(void **state)
{
	(void)state;
	char folder[] = "xlsx-damaged-XXXXXX";
	size_t count, refused = 0;
	char *bytes = read_file(SHARED "/cases/32-header-on-row-four/queue.xlsx", &count);
	assert_non_null(mkdtemp(folder));
	const char *whole = read_damaged(folder, bytes, count);
	assert_non_null(whole);
	for (size_t length = 0; length < count; length += 61)
		assert_null(read_damaged(folder, bytes, length));
	uint64_t x = 88172645463325252u;
	for (int i = 0; i < 400; i++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		char mask = (char)(1 << (x >> 60 & 7));
		bytes[x % count] ^= mask;
		const char *got = read_damaged(folder, bytes, count);
		bytes[x % count] ^= mask;
		refused += !got;
		if (got)
			assert_string_equal(got, whole);
	}
	assert_in_range(refused, 100, 399);
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(ids_stay_whole, set_up, tear_down),
		cmocka_unit_test_setup_teardown(header_on_row_four, set_up, tear_down),
		cmocka_unit_test_setup_teardown(nothing_declared, set_up, tear_down),
		cmocka_unit_test_setup_teardown(serials_among_dates, set_up, tear_down),
		cmocka_unit_test_setup_teardown(two_header_rows, set_up, tear_down),
		cmocka_unit_test_setup_teardown(sheets_are_chosen, set_up, tear_down),
		cmocka_unit_test_setup_teardown(blank_rows, set_up, tear_down),
		cmocka_unit_test(number_formats),
		cmocka_unit_test(letters),
		cmocka_unit_test_setup_teardown(damaged_files, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
