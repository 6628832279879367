/* SPDX-License-Identifier: Apache-2.0
 * GeoArrow's encodings to WKB, and how the points of a geometry follow each other. GEOS' well-known text says what is right.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "engine/engine.h"
#include "engine/functions.h"
#include "geo/wkb.h"

static struct arena *arena;
static struct engine *engine;
static recloser_error error;

static int open_engine(void **state)
{
	(void)state;
	arena = arena_new(NULL);
	error_clear(&error);
	struct engine_options options = {.threads = 2, .memory_bytes = 1u << 30};
	if (engine_open(arena, &options, &engine, &error) != RECLOSER_OK)
		return -1;
	return functions_register(engine, &error) == RECLOSER_OK ? 0 : -1;
}

static int close_engine(void **state)
{
	(void)state;
	arena_free(arena);
	return 0;
}

static const char *value(const char *expression)
{
	struct rows rows;
	error_clear(&error);
	if (engine_query(engine, arena, "test", arena_printf(arena, "SELECT %s", expression), &rows, &error) != RECLOSER_OK)
		return arena_printf(arena, "! %s", error.what);
	return rows_at(&rows, 0, 0);
}

#define P(x, y) "{'x': " #x "::DOUBLE, 'y': " #y "::DOUBLE}"

static void expect_wkt(const char *encoding, const char *arrow, const char *wkt)
{
	const char *got = value(arena_printf(arena, "hex(rc_arrow_wkb('%s', %s))", encoding, arrow));
	const char *wanted = value(arena_printf(arena, "hex(rc_wkt('%s'))", wkt));
	assert_non_null(got);
	assert_string_equal(got, wanted);
}

static void encodings_become_wkb(void **state)
{
	(void)state;
	expect_wkt("point", P(1, 2), "POINT (1 2)");
	expect_wkt("linestring", "[" P(1, 2) ", " P(3, 4) "]", "LINESTRING (1 2, 3 4)");
	expect_wkt("multipoint", "[" P(1, 2) ", " P(3, 4) "]", "MULTIPOINT ((1 2), (3 4))");
	expect_wkt(
		"polygon",
		"[[" P(0, 0) ", " P(4, 0) ", " P(4, 4) ", " P(0, 0) "], [" P(2, 1) ", " P(3, 1) ", " P(3, 2) ", " P(2, 1) "]]",
		"POLYGON ((0 0, 4 0, 4 4, 0 0), (2 1, 3 1, 3 2, 2 1))");
	expect_wkt("multilinestring", "[[" P(0, 0) ", " P(1, 1) "], [" P(5, 5) ", " P(6, 6) ", " P(7, 5) "]]",
			   "MULTILINESTRING ((0 0, 1 1), (5 5, 6 6, 7 5))");
	expect_wkt(
		"multipolygon",
		"[[[" P(0, 0) ", " P(1, 0) ", " P(1, 1) ", " P(0, 0) "]], [[" P(5, 5) ", " P(6, 5) ", " P(6, 6) ", " P(5, 5) "]]]",
		"MULTIPOLYGON (((0 0, 1 0, 1 1, 0 0)), ((5 5, 6 5, 6 6, 5 5)))");
	expect_wkt("linestring",
			   "[{'x': 1::DOUBLE, 'y': 2::DOUBLE, 'z': 3::DOUBLE}, {'x': 4::DOUBLE, 'y': 5::DOUBLE, 'z': 6::DOUBLE}]",
			   "LINESTRING Z (1 2 3, 4 5 6)");
	expect_wkt("linestring",
			   "[{'x': 1::DOUBLE, 'y': 2::DOUBLE, 'm': 3::DOUBLE}, {'x': 4::DOUBLE, 'y': 5::DOUBLE, 'm': 6::DOUBLE}]",
			   "LINESTRING M (1 2 3, 4 5 6)");
	expect_wkt("linestring", "CAST([] AS STRUCT(x DOUBLE, y DOUBLE)[])", "LINESTRING EMPTY");
	assert_null(value("rc_arrow_wkb('point', CAST(NULL AS STRUCT(x DOUBLE, y DOUBLE)))"));
	assert_null(value("rc_arrow_wkb('polygon', CAST(NULL AS STRUCT(x DOUBLE, y DOUBLE)[][]))"));
}

/* Lists are cut out of one long child vector, in many chunks. */
static void many_rows(void **state)
{
	(void)state;
	assert_string_equal(
		value("count(*) FROM (SELECT i, rc_arrow_wkb('linestring', list_transform(range(2 + i % 7), p -> {'x': (i + "
			  "p)::DOUBLE, "
			  "'y': p::DOUBLE})) AS g FROM range(50000) r(i)) WHERE octet_length(g) <> 9 + 16 * (2 + i % 7) OR "
			  "rc_bbox(g).xmin <> i::FLOAT OR rc_bbox(g).ymax <> (1 + i % 7)::FLOAT OR rc_wkb_fault(g) IS NOT NULL"),
		"0");
}

static void other_layouts_are_refused(void **state)
{
	(void)state;
	assert_non_null(strstr(value("rc_arrow_wkb('circle', " P(1, 2) ")"), "unknown GeoArrow encoding"));
	assert_non_null(strstr(value("rc_arrow_wkb('linestring', " P(1, 2) ")"), "not nested"));
	assert_non_null(strstr(value("rc_arrow_wkb('point', [1, 2])"), "not structs"));
	assert_non_null(strstr(value("rc_arrow_wkb('point', {'y': 1::DOUBLE, 'x': 2::DOUBLE})"), "doubles x, y"));
	assert_non_null(strstr(value("rc_arrow_wkb('point', {'x': 1, 'y': 2})"), "doubles x, y"));
	assert_non_null(strstr(value("rc_arrow_wkb('point', {'x': 1::DOUBLE, 'y': 2::DOUBLE, 'z': 1::DOUBLE, 'z2': 1::DOUBLE})"),
						   "doubles x, y"));
}

static void expect_course(const char *wkt, const char *clockwise, const char *long_edge)
{
	assert_string_equal(value(arena_printf(arena, "rc_wkb_clockwise(rc_wkt('%s'))", wkt)), clockwise);
	assert_string_equal(value(arena_printf(arena, "rc_wkb_long_edge(rc_wkt('%s'))", wkt)), long_edge);
}

static void winding_and_long_edges(void **state)
{
	(void)state;
	expect_course("POLYGON ((0 0, 1 0, 1 1, 0 0))", "false", "false");
	expect_course("POLYGON ((0 0, 1 1, 1 0, 0 0))", "true", "false");
	expect_course("POLYGON ((0 0, 9 0, 9 9, 0 0), (2 1, 3 2, 3 1, 2 1))", "false",
				  "false"); /* the hole runs clockwise, as it should */
	expect_course("POLYGON ((0 0, 9 0, 9 9, 0 0), (2 1, 3 1, 3 2, 2 1))", "true", "false");
	expect_course("MULTIPOLYGON Z (((0 0 5, 1 0 5, 1 1 5, 0 0 5)), ((5 5 1, 6 6 1, 6 5 1, 5 5 1)))", "true", "false");
	expect_course("GEOMETRYCOLLECTION (POINT (1 2), POLYGON ((0 0, 1 1, 1 0, 0 0)))", "true", "false");
	expect_course("POLYGON ((10000000 10000000, 10000000.1 10000000, 10000000.1 10000000.1, 10000000 10000000))", "false",
				  "false");
	expect_course("POLYGON EMPTY", "false", "false");
	expect_course("LINESTRING (-179 0, 179 0)", "false", "true");
	expect_course("LINESTRING (-90 0, 90 0)", "false", "false"); /* half the globe is not more than half */
	expect_course("MULTILINESTRING ((0 0, 1 1), (170 0, -170 0))", "false", "true");
	assert_null(value("rc_wkb_clockwise(NULL)"));
	/* Bytes that are no geometry, and every cut of one that is, are answered with no. */
	uint8_t bytes[41];
	wkb_segment(-179, 0, 179, 0, bytes);
	for (size_t count = 0; count < sizeof bytes; count++)
		assert_false(wkb_long_edge(bytes, count) || wkb_clockwise(bytes, count));
	assert_true(wkb_long_edge(bytes, sizeof bytes));
}

static void a_hair_outside_is_inside(void **state)
{
	(void)state;
	assert_null(value("rc_wkb_outside(rc_point(180.00000000000006, 90), -180, -90, 180, 90)"));
	assert_string_equal(value("rc_wkb_outside(rc_point(180.00001, 90), -180, -90, 180, 90)"),
						"longitude 180.00001 is outside -180 to 180");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_engine, close_engine)
		TEST(encodings_become_wkb),     TEST(many_rows), TEST(other_layouts_are_refused), TEST(winding_and_long_edges),
		TEST(a_hair_outside_is_inside),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
