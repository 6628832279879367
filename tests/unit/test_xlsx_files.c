/* SPDX-License-Identifier: Apache-2.0
 * The workbook reader on publishers' files whose figures are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "xlsx_testing.h"

static const struct header ercot_header = {.kind = HEADER_FIND, .within = 60};

static struct source *open_ercot(const char *name)
{
	struct block block = {.header = ercot_header, .sheet = LIST("Project Details*"), .not_sheet = LIST("*Small Gen")};
	block.header.find = LIST("INR", "Project Name");
	struct block *kept = arena_alloc(arena, sizeof *kept);
	*kept = block;
	struct opened o = open_ok(arena_printf(arena, SHARED "/real/ercot-gis/%s", name), kept, LIST("INR", "POI Location"));
	assert_int_equal(o.count, 1);
	return o.sources[0];
}

static void ercot_june_2025(void **state)
{
	(void)state;
	struct source *source = open_ercot("GIS_Report_June2025.xlsx");
	assert_int_equal(count_rows(source), 1866);
	assert_int_equal(source->counts.before, 4);
	assert_string_equal(source->columns[10].name, "Capacity (MW)");
	assert_string_equal(source->columns[11].name, "");
	assert_string_equal(source->columns[11].letter, "L");
	assert_string_equal(cell_of(source, 36, "INR"), "15INR0064b");
	assert_string_equal(cell_of(source, 36, "Projected COD"), "2025-06-30");
	assert_string_equal(cell_of(source, 36, "Capacity (MW)"), "162.1");
	assert_string_equal(cell_of(source, 37, "Capacity (MW)"), "203");
	assert_true(source->facts.notes.count > 0);
	assert_non_null(strstr(source->facts.notes.at[source->facts.notes.count - 1], "\"data_GIM Trends_1\""));
}

static void ercot_july_2025(void **state)
{
	(void)state;
	struct source *source = open_ercot("GIS_Report_July2025.xlsx");
	assert_int_equal(count_rows(source), 1881);
	assert_int_equal(source->counts.before, 4);
}

static void ercot_july_2020(void **state)
{
	(void)state;
	static const char *const names[] = {"GIS_Report_July_2020.xlsx", "GIS_Report_July_2020_CORRECTION.xlsx"};
	for (int i = 0; i < 2; i++) {
		struct source *source = open_ercot(names[i]);
		assert_int_equal(count_rows(source), 503);
		assert_int_equal(source->counts.before, 4);
		assert_string_equal(cell_of(source, 33, "INR"), "11INR0062");
	}
}

static void ercot_two_sheets_meet(void **state)
{
	(void)state;
	struct block block = {.header = ercot_header, .sheet = LIST("project  details*")};
	const char *path = SHARED "/real/ercot-gis/GIS_Report_June2025.xlsx";
	if (access(path, R_OK) != 0)
		skip();
	assert_int_equal(open_with(path, &block, LIST("INR")).status, RECLOSER_REFUSED);
	assert_string_equal(
		error.what,
		"\"project  details*\" meets several sheets: \"Project Details - Large Gen\", \"Project Details - Small Gen\"");

	error_clear(&error);
	struct block none = {0};
	assert_int_equal(open_with(path, &none, LIST("INR")).status, RECLOSER_REFUSED);
	assert_non_null(strstr(error.hint, "\"Summary\""));

	error_clear(&error);
	struct block hidden = {.sheet = LIST("data_GIM Trends_1")};
	assert_int_equal(open_with(path, &hidden, LIST("INR")).status, RECLOSER_REFUSED);
	assert_string_equal(error.what, "sheet \"data_GIM Trends_1\" is hidden, and hidden sheets are left alone");

	struct block fifth = {.header = ercot_header, .sheet = LIST("5")};
	fifth.header.find = LIST("INR", "Project Name");
	assert_string_equal(open_ok(path, &fifth, LIST("INR")).sources[0]->facts.sheet, "Project Details - Large Gen");
}

static void caiso_three_sheets(void **state)
{
	(void)state;
	struct block block = {.sheet =
							  LIST("Grid GenerationQueue", "Completed Generation Projects", "Withdrawn Generation Projects"),
						  .header = {.kind = HEADER_FIND, .within = 100}};
	block.header.find = LIST("Queue Position", "Queue Date");
	struct opened o = open_ok(SHARED "/real/caiso-queue/caiso_queue_report.xlsx", &block, LIST("Queue Position"));
	static const size_t expected[] = {393, 220, 1666};
	uint64_t trailing = 0;
	assert_int_equal(o.count, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(count_rows(o.sources[i]), expected[i]);
		assert_string_equal(o.sources[i]->facts.sheet, block.sheet.at[i]);
		trailing += o.sources[i]->counts.trailing;
		bool dated = false;
		for (size_t k = 0; k < o.sources[i]->facts.above.count; k++)
			dated |= text_starts(o.sources[i]->facts.above.at[k], "Report Run Date: ");
		assert_true(dated);
	}
	assert_int_equal(trailing, 7);
	/* The time of day behind a date-only format is kept. */
	struct strings rows = rows_of(o.sources[0]);
	assert_non_null(strstr(rows.at[0], "T0"));
}

static void one_sheet_files(void **state)
{
	(void)state;
	struct block pjm = {.sheet = LIST("Data")};
	struct opened o = open_ok(SHARED "/real/pjm-queue/pjm_queue.xlsx", &pjm, LIST("Project ID"));
	assert_int_equal(count_rows(o.sources[0]), 8190);
	assert_int_equal(o.sources[0]->counts.trailing, 0);
}

static void eia_plants(void **state)
{
	(void)state;
	struct block block = {.sheet = LIST("Plant"), .header = {.kind = HEADER_FIND, .within = 60}};
	block.header.find = LIST("Plant Code", "State");
	struct opened o = open_ok(SHARED "/real/eia860-plant/2___Plant_Y2017.xlsx", &block, LIST("Plant Code"));
	assert_int_equal(count_rows(o.sources[0]), 10127);
}

static void north_america(void **state)
{
	(void)state;
	struct block block = {.sheet = LIST("1")};
	struct opened o =
		open_ok(SHARED "/real/northamerica/PowerPlantsAllGE100MW_NorthAmerica_201606.xlsx", &block, LIST("Facility Name"));
	assert_int_equal(count_rows(o.sources[0]), 2129);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(ercot_june_2025, set_up, tear_down),
		cmocka_unit_test_setup_teardown(ercot_july_2025, set_up, tear_down),
		cmocka_unit_test_setup_teardown(ercot_july_2020, set_up, tear_down),
		cmocka_unit_test_setup_teardown(ercot_two_sheets_meet, set_up, tear_down),
		cmocka_unit_test_setup_teardown(caiso_three_sheets, set_up, tear_down),
		cmocka_unit_test_setup_teardown(one_sheet_files, set_up, tear_down),
		cmocka_unit_test_setup_teardown(eia_plants, set_up, tear_down),
		cmocka_unit_test_setup_teardown(north_america, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
