/* SPDX-License-Identifier: Apache-2.0
 * The functions that recloser adds to the engine, called as statements call them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/digest.h"
#include "engine/engine.h"
#include "engine/functions.h"
#include "geo/crs.h"

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

/* The only cell of SELECT <expression>. */
static const char *value(const char *expression)
{
	struct rows rows;
	error_clear(&error);
	recloser_status status =
		engine_query(engine, arena, "test", arena_printf(arena, "SELECT %s", expression), &rows, &error);
	if (status != RECLOSER_OK)
		print_error("%s: %s\n", expression, error.what);
	assert_int_equal(status, RECLOSER_OK);
	assert_int_equal(rows.row_count, 1);
	return rows_at(&rows, 0, 0);
}

static void expect(const char *expression, const char *expected)
{
	const char *got = value(expression);
	if (!expected) {
		if (got)
			print_error("%s gave %s\n", expression, got);
		assert_null(got);
		return;
	}
	if (!got || strcmp(got, expected) != 0)
		print_error("%s\n", expression);
	assert_non_null(got);
	assert_string_equal(got, expected);
}

/* The engine evaluates constants by itself, so the same is asked of a column too. */
static void expect_key(const char *arguments, const char *joined)
{
	char hex[SHA256_HEX];
	sha256_of(joined, strlen(joined), hex);
	hex[24] = '\0';
	expect(arena_printf(arena, "rc_key(%s)", arguments), hex);
}

static void refuses(const char *expression, const char *word)
{
	struct rows rows;
	error_clear(&error);
	assert_int_equal(engine_query(engine, arena, "test", arena_printf(arena, "SELECT %s", expression), &rows, &error),
					 RECLOSER_IO);
	if (!strstr(error.what, word))
		print_error("%s: %s\n", expression, error.what);
	assert_non_null(strstr(error.what, word));
}

static void keys_of_all_types(void **state)
{
	(void)state;
	expect_key("'ERCOT', '24INR0001'", "ERCOT|24INR0001");
	expect_key("NULL, 'x'", "None|x");
	expect_key("NULL::VARCHAR, NULL::INTEGER", "None|None");
	expect_key("true, false", "True|False");
	expect_key("1::TINYINT, -2::SMALLINT, 3::INTEGER, (-9223372036854775808)::BIGINT", "1|-2|3|-9223372036854775808");
	expect_key("200::UTINYINT, 60000::USMALLINT, 4000000000::UINTEGER, 18446744073709551615::UBIGINT",
			   "200|60000|4000000000|18446744073709551615");
	expect_key("170141183460469231731687303715884105727::HUGEINT", "170141183460469231731687303715884105727");
	expect_key("0.1::DOUBLE, 1e16::DOUBLE, power(2, 81), 'nan'::DOUBLE, '-0.0'::DOUBLE",
			   "0.1|1e+16|2.4178516392292583e+24|nan|-0.0");
	expect_key("12.50::DECIMAL(4,2), 12.5::DECIMAL(9,1), 12.500::DECIMAL(18,3), 0.0000001::DECIMAL(38,7)",
			   "12.50|12.5|12.500|1E-7");
	expect_key("DATE '2026-07-01', TIME '06:30:00', TIME '06:30:00.5'", "2026-07-01|06:30:00|06:30:00.500000");
	expect_key("TIMESTAMP '2026-07-01 06:00:00', TIMESTAMP_S '2026-07-01 06:00:00', TIMESTAMP_MS '2026-07-01 06:00:00.5', "
			   "TIMESTAMP_NS '2026-07-01 06:00:00.000001'",
			   "2026-07-01 06:00:00|2026-07-01 06:00:00|2026-07-01 06:00:00.500000|2026-07-01 06:00:00.000001");
	expect_key("TIMESTAMPTZ '2026-07-01 06:00:00+02'", "2026-07-01 04:00:00+00:00");
	expect_key("'6F9619FF-8B86-D011-B42D-00C04FC964FF'::UUID, '00000000-0000-0000-0000-000000000000'::UUID",
			   "6f9619ff-8b86-d011-b42d-00c04fc964ff|00000000-0000-0000-0000-000000000000");
	expect_key("'b'::ENUM('a', 'b'), NULL::ENUM('a')", "b|None");
	expect_key("'\\x01\\xAB'::BLOB, ''::BLOB", "01ab|");
	expect_key("'Żółć', '😀', ''", "Żółć|😀|");
	expect_key("repeat('long', 1000)", value("repeat('long', 1000)"));
}

static void values_without_a_form(void **state)
{
	(void)state;
	expect("rc_key(DATE '0044-03-15 (BC)')", NULL);
	expect("rc_key('x', DATE 'infinity')", NULL);
	expect("rc_key(TIMESTAMP '-infinity')", NULL);
	expect("rc_key(TIMESTAMP_NS '2026-07-01 06:00:00.000000001')", NULL);
	expect("rc_key(TIME '24:00:00')", NULL);
	expect("rc_text(TIMESTAMP '12026-07-01 00:00:00')", NULL);
	refuses("rc_key(1::FLOAT)", "FLOAT has two texts");
	refuses("rc_key([1])", "no one text in Python");
	refuses("rc_key(INTERVAL 1 DAY)", "no one text in Python");
	refuses("rc_key({'a': 1})", "no one text in Python");
	refuses("rc_key(TIMETZ '10:00:00+01')", "no one text in Python");
	refuses("rc_key()", "");
	refuses("rc_text(1, 2)", "takes one value");
}

static void escaped_keys(void **state)
{
	(void)state;
	assert_string_equal(value("rc_key('a|b', 'c') = rc_key('a', 'b|c')"), "true");
	assert_string_equal(value("rc_key_escaped('a|b', 'c') = rc_key_escaped('a', 'b|c')"), "false");
	assert_string_equal(value("rc_key_escaped('a', 'b') = rc_key('a', 'b')"), "true");
	assert_string_equal(value("rc_key_escaped('a|b\\') = rc_key('a\\|b\\\\')"), "true");
}

static void texts(void **state)
{
	(void)state;
	expect("rc_text(NULL)", NULL);
	expect("rc_text(NULL::DATE)", NULL);
	expect("rc_text(true)", "True");
	expect("rc_text(5e-324::DOUBLE)", "5e-324");
	expect("rc_text('a|b')", "a|b");
	expect("rc_text(TIMESTAMPTZ '2026-07-01 00:00:00+00')", "2026-07-01 00:00:00+00:00");
}

static void many_rows(void **state)
{
	(void)state;
	const char *table = "(SELECT i, CASE WHEN i % 7 <> 0 THEN 'name ' || i END AS t, (CASE WHEN i % 2 = 0 THEN 'x' ELSE "
						"'yy' END)::ENUM('x', 'yy') AS e FROM range(100000) r(i))";
	assert_string_equal(value(arena_printf(arena,
										   "count(*) FROM %s WHERE rc_key(i, t, e) <> left(sha256(i || '|' || coalesce(t, "
										   "'None') || '|' || e::VARCHAR), 24)",
										   table)),
						"0");
	assert_string_equal(value(arena_printf(arena, "count(DISTINCT rc_key(i, t, e)) FROM %s", table)), "100000");
	assert_string_equal(value(arena_printf(arena, "count(*) FROM %s WHERE rc_text(t) IS DISTINCT FROM t", table)), "0");
	assert_string_equal(value("count(*) FROM range(50000) r(i) WHERE rc_wkb(rc_point(i, -i)) <> rc_point(i, -i)"), "0");
}

/* Literals of well-known binary, as hexadecimal. */
#define POINT_1_2 "0101000000000000000000F03F0000000000000040"
#define POINT_1_2_BIG "00000000013FF00000000000004000000000000000"
#define POINT_1_2_EWKB "0101000020E6100000000000000000F03F0000000000000040"
#define POINT_EMPTY "0101000000000000000000F87F000000000000F87F"

static void numbers_that_occur_twice(void **state)
{
	(void)state;
	expect("rc_twice(x) FROM (SELECT 1::UBIGINT AS x WHERE false)", "");
	expect("rc_twice(x) FROM (VALUES (7::UBIGINT), (8), (NULL), (NULL)) t(x)", "");
	expect("rc_twice(x) FROM (VALUES (18446744073709551615::UBIGINT), (7), (8), (7), (NULL), (18446744073709551615), (7), (NULL)) t(x)",
	       "7,18446744073709551615");
	/* Of half a million rows on two threads, 3,000 are there again. */
	expect("len(string_split(rc_twice(hash(i)), ',')) FROM (SELECT i FROM range(500000) r(i) UNION ALL SELECT i * 7 FROM range(3000) r(i))", "3000");
	expect("string_agg(g || ':' || twice, ' ' ORDER BY g) FROM (SELECT i % 3 AS g, rc_twice(CAST(i // 4 AS UBIGINT)) AS twice FROM range(12) r(i) GROUP BY 1)",
	       "0:0 1:1 2:2");
	/* So many are no list. */
	expect("rc_twice(CAST(i // 2 AS UBIGINT)) FROM range(2097152) r(i)", value("string_agg(i, ',' ORDER BY i) FROM range(1048576) r(i)"));
	expect("rc_twice(CAST(i // 2 AS UBIGINT)) FROM range(2097154) r(i)", NULL);
}

static void geometry_is_made(void **state)
{
	(void)state;
	expect("hex(rc_point(1, 2))", POINT_1_2);
	expect("rc_point(1, NULL)", NULL);
	expect("rc_point(NULL, 1)", NULL);
	expect("hex(rc_segment(1, 2, 3, 4))",
		   "010200000002000000000000000000F03F000000000000004000000000000008400000000000001040");
	expect("rc_segment(1, 2, 3, NULL)", NULL);
	expect("hex(rc_wkb(unhex('" POINT_1_2 "')))", POINT_1_2);
	expect("hex(rc_wkb(unhex('" POINT_1_2_BIG "')))", POINT_1_2);
	expect("hex(rc_wkb(unhex('" POINT_1_2_EWKB "')))", POINT_1_2);
	expect("hex(rc_wkb(unhex('" POINT_EMPTY "')))", POINT_EMPTY);
	expect("rc_wkb(unhex('0101000000000000000000F03F'))", NULL);
	expect("rc_wkb(NULL)", NULL);
	expect("hex(rc_hex('0a0B'))", "0A0B");
	expect("rc_hex('0a0')", NULL);
	expect("rc_hex('zz')", NULL);
	expect("rc_hex('')", NULL);
	expect("rc_hex(NULL)", NULL);
	expect("rc_wkb_srid(unhex('" POINT_1_2_EWKB "'))", "4326");
	expect("rc_wkb_srid(unhex('" POINT_1_2 "'))", NULL);
}

static void geometry_is_looked_at(void **state)
{
	(void)state;
	expect("rc_wkb_fault(rc_point(1, 2))", NULL);
	expect("rc_wkb_fault(NULL)", NULL);
	assert_non_null(value("rc_wkb_fault(unhex('0101000000'))"));
	assert_non_null(value("rc_wkb_fault(unhex('" POINT_EMPTY "'))"));
	assert_non_null(value("rc_wkb_fault(''::BLOB)"));
	expect("rc_wkb_outside(rc_point(181, 2), -180, -90, 180, 90)", "longitude 181 is outside -180 to 180");
	expect("rc_wkb_outside(rc_point(18, -90.5), -180, -90, 180, 90)", "latitude -90.5 is outside -90 to 90");
	expect("rc_wkb_outside(rc_point(18, 90), -180, -90, 180, 90)", NULL);
	expect("rc_wkb_outside(rc_point(18, 90), 0, 0, 10, 10)", "x 18 is outside 0 to 10");
	expect("rc_wkb_swapped(rc_point(30, -97), -180, -90, 180, 90)", "true");
	expect("rc_wkb_swapped(rc_point(-97, 30), -180, -90, 180, 90)", "false"); /* inside as it is */
	expect("rc_wkb_swapped(rc_point(30, -197), -180, -90, 180, 90)", "false"); /* outside either way */
	expect("coalesce(rc_wkb_swapped(NULL, -180, -90, 180, 90), false)", "false");
	expect("rc_wkb_swapped(rc_wkt('POINT EMPTY'), -180, -90, 180, 90)", "false");
	expect("rc_wkb_outside(NULL, 0, 0, 10, 10)", NULL);
	expect("rc_wkb_type(rc_point(1, 2))", "Point");
	expect("rc_wkb_type(rc_segment(1, 2, 3, 4))", "LineString");
	expect("rc_wkb_type(unhex('" POINT_EMPTY "'))", "Point");
	expect("rc_wkb_type('x'::BLOB)", NULL);
	expect("rc_bbox(rc_segment(1, 2, 3, -4))", "{'xmin': 1.0, 'ymin': -4.0, 'xmax': 3.0, 'ymax': 2.0}");
	expect(
		"rc_bbox(rc_point(0.1, 0.1)).xmin::DOUBLE < 0.1::DOUBLE AND rc_bbox(rc_point(0.1, 0.1)).xmax::DOUBLE > 0.1::DOUBLE",
		"true");
	expect("rc_bbox(NULL)", NULL);
	expect("rc_bbox(unhex('" POINT_EMPTY "'))", NULL);
	expect("rc_bbox(unhex('" POINT_EMPTY "')).xmin", NULL);
	expect("rc_hilbert(rc_point(0, 0), 0, 0, 10, 10)", "0");
	expect("rc_hilbert(NULL, 0, 0, 10, 10)", NULL);
	expect("count(DISTINCT rc_hilbert(rc_point(i % 100, i // 100), 0, 0, 100, 100)) FROM range(10000) r(i)", "10000");
}

static void geometry_is_converted(void **state)
{
	(void)state;
	expect("hex(rc_wkt('POINT (1 2)'))", POINT_1_2);
	expect("hex(rc_wkt('SRID=4326;POINT (1 2)'))", POINT_1_2);
	expect("rc_wkt_srid('SRID=4326;POINT (1 2)')", "4326");
	expect("rc_wkt_srid('POINT (1 2)')", NULL);
	expect("rc_wkt('POINT (1')", NULL);
	expect("rc_wkt(NULL)", NULL);
	expect("rc_wkb_type(rc_linearize(unhex('"
		   "010800000003000000000000000000000000000000000000000000000000000000000000000000F03F000000000000F03F00000000000000"
		   "000000000000000040')))",
		   "LineString"); /* an arc */
	expect("hex(rc_linearize(rc_point(1, 2)))", POINT_1_2);
	expect("rc_invalid(rc_wkt('POLYGON ((0 0, 1 0, 1 1, 0 0))'))", NULL);
	assert_non_null(strstr(value("rc_invalid(rc_wkt('POLYGON ((0 0, 1 1, 1 0, 0 1, 0 0))'))"), "elf-intersection"));
	expect("rc_wkb_type(rc_point_on_surface(rc_wkt('POLYGON ((0 0, 4 0, 4 4, 0 0))')))", "Point");
	expect("rc_invalid(NULL)", NULL);
	expect("rc_point_on_surface(NULL)", NULL);
	expect("rc_centroid(rc_wkt('POLYGON ((0 0, 2 0, 2 4, 0 4, 0 0))')) = rc_point(1, 2)", "true");
	expect("rc_centroid(rc_wkt('LINESTRING (0 2, 2 2)')) = rc_point(1, 2)", "true");
	expect("rc_centroid(rc_wkt('POLYGON EMPTY'))", NULL);
	expect("rc_centroid(NULL)", NULL);
}

static void geometry_is_transformed(void **state)
{
	(void)state;
	struct crs from, to;
	assert_int_equal(crs_read(arena, "EPSG:4326", &from, &error), RECLOSER_OK);
	assert_int_equal(crs_read(arena, "EPSG:3857", &to, &error), RECLOSER_OK);
	const char *a = sql_text(arena, from.projjson), *b = sql_text(arena, to.projjson);
	const char *box = value(arena_printf(arena, "rc_bbox(rc_transform(rc_point(180, 0), %s, %s)).xmax", a, b));
	assert_string_equal(box, "20037510.0"); /* the float above 20037508.34 */
	expect(arena_printf(arena, "rc_transform(NULL, %s, %s)", a, b), NULL);
	expect("rc_transform(rc_point(1, 2), 'nonsense', 'nonsense')", NULL);
	/* Both ways over many rows and threads gives the points back. */
	assert_string_equal(
		value(arena_printf(
			arena,
			"count(*) FROM (SELECT i, rc_transform(rc_transform(rc_point(i / 1000 - 100, 40), %s, %s), %s, %s) AS g "
			"FROM range(200000) r(i)) WHERE abs(rc_bbox(g).xmin - (i / 1000 - 100)) > 0.001 OR g IS NULL",
			a, b, b, a)),
		"0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_engine, close_engine)
		TEST(keys_of_all_types),
		TEST(values_without_a_form),
		TEST(escaped_keys),
		TEST(texts),
		TEST(many_rows),
		TEST(numbers_that_occur_twice),
		TEST(geometry_is_made),
		TEST(geometry_is_looked_at),
		TEST(geometry_is_converted),
		TEST(geometry_is_transformed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
