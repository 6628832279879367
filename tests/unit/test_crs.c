/* SPDX-License-Identifier: Apache-2.0
 * Reference systems, their bounds, and the geometry work done by GDAL and GEOS. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "geo/crs.h"
#include "geo/wkb.h"

static struct arena *arena;

static int start(void **state)
{
	(void)state;
	arena = arena_new(NULL);
	return arena ? 0 : -1;
}
static int stop(void **state)
{
	(void)state;
	arena_free(arena);
	return 0;
}

static struct crs read_ok(const char *text)
{
	struct crs crs = {0};
	recloser_error error = {0};
	if (crs_read(arena, text, &crs, &error) != RECLOSER_OK)
		fail_msg("%s: %s", text, error.what);
	assert_int_equal(error.status, RECLOSER_OK);
	return crs;
}

static void test_codes(void **state)
{
	(void)state;
	static const struct {
		const char *text, *id;
		bool geographic;
	} known[] = {{"EPSG:4326", "EPSG:4326", true},
				 {"EPSG:3857", "EPSG:3857", false},
				 {"EPSG:5070", "EPSG:5070", false},
				 {"EPSG:26914", "EPSG:26914", false},
				 {"OGC:CRS84", "OGC:CRS84", true},
				 {"urn:ogc:def:crs:OGC:1.3:CRS84", "OGC:CRS84", true},
				 {"urn:ogc:def:crs:EPSG::4326", "EPSG:4326", true},
				 {"http://www.opengis.net/def/crs/EPSG/0/4269", "EPSG:4269", true}};
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
		struct crs crs = read_ok(known[i].text);
		assert_string_equal(crs.id, known[i].id);
		assert_int_equal(crs.geographic, known[i].geographic);
		assert_null(strchr(crs.projjson, '\n'));
		assert_int_equal(crs.projjson[0], '{');
		struct crs again = read_ok(crs.projjson); /* a round trip gives the same text, id and bounds */
		assert_string_equal(again.projjson, crs.projjson);
		assert_string_equal(again.id, crs.id);
		assert_memory_equal(again.bounds, crs.bounds, sizeof crs.bounds);
		assert_true(crs_same(&crs, &again));
	}
}

static void test_unknown(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"EPSG:99999", "",      "nonsense",          "/etc/passwd",   "http://127.0.0.1:1/crs",
		"{}",         "EPSG:", "GEOGCS[\"broken\"", "{\"type\": 1}", "/vsicurl/http://127.0.0.1:1/x:y"};
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct crs crs = {0};
		recloser_error error = {0};
		if (crs_read(arena, bad[i], &crs, &error) != RECLOSER_USAGE)
			fail_msg("%s was understood", bad[i]);
		assert_string_equal(error.code, "crs.unknown");
		assert_true(error.hint[0] != '\0');
	}
}

static bool inside(const struct crs *crs, double x, double y)
{
	return x >= crs->bounds[0] && y >= crs->bounds[1] && x <= crs->bounds[2] && y <= crs->bounds[3];
}

static void test_bounds(void **state)
{
	(void)state;
	struct crs degrees = read_ok("EPSG:4326"), utm = read_ok("EPSG:26914"), albers = read_ok("EPSG:5070"),
			   mercator = read_ok("EPSG:3857");
	static const double world[4] = {-180, -90, 180, 90};
	assert_memory_equal(degrees.bounds, world, sizeof world);
	assert_true(inside(&utm, 620000, 3300000));
	assert_true(inside(&utm, 166000, 3300000) && inside(&utm, 834000, 3300000)); /* the zone's edges */
	assert_false(inside(&utm, 3300000, 620000 - 1e7));
	assert_false(inside(&utm, 3300000, 620000)); /* swapped */
	assert_true(inside(&albers, -2000000, 1500000) && inside(&albers, 2200000, 2900000));
	assert_false(inside(&albers, 1e8, 0));
	assert_true(inside(&mercator, -20037508, 5000000) && inside(&mercator, -10800000, 3600000));
	assert_false(inside(&mercator, 1e9, 0));
	/* Nothing is known of a local system: everything is inside. */
	struct crs local = read_ok("LOCAL_CS[\"site\",UNIT[\"metre\",1]]");
	assert_null(local.id);
	assert_true(inside(&local, 1e12, -1e12));
	struct crs grads = read_ok("EPSG:4807");
	assert_true(fabs(grads.bounds[2] - 200) < 1e-9 && fabs(grads.bounds[3] - 100) < 1e-9);
}

static void test_same(void **state)
{
	(void)state;
	struct crs epsg = read_ok("EPSG:4326"), ogc = read_ok("OGC:CRS84"), nad83 = read_ok("EPSG:4269"), none = {0};
	struct crs wkt = read_ok("GEOGCS[\"WGS 84\",DATUM[\"WGS_1984\",SPHEROID[\"WGS 84\",6378137,298.257223563]],"
							 "PRIMEM[\"Greenwich\",0],UNIT[\"degree\",0.0174532925199433]]");
	assert_true(crs_same(&epsg, &ogc));
	assert_true(crs_same(&epsg, &wkt));
	assert_false(crs_same(&epsg, &nad83));
	assert_false(crs_same(&epsg, &none));
	assert_true(crs_same(&none, &none));
}

static void check_point(const uint8_t *wkb, size_t count, double x, double y, double tolerance)
{
	struct wkb_facts facts = {0};
	assert_int_equal(wkb_walk(wkb, count, &facts), WKB_SOUND);
	assert_true(facts.standard);
	if (fabs(facts.minimum[0] - x) > tolerance || fabs(facts.minimum[1] - y) > tolerance)
		fail_msg("got %.9f %.9f, not %.9f %.9f", facts.minimum[0], facts.minimum[1], x, y);
}

static void test_wkt(void **state)
{
	(void)state;
	uint8_t *wkb;
	size_t count;
	int32_t srid;
	static const struct {
		const char *text;
		uint32_t types;
		int32_t srid;
	} good[] = {{"POINT (1.5 -2)", 1u << 0, 0},
				{" SRID=4326;POINT(1.5 -2)", 1u << 0, 4326},
				{"point z (1.5 -2 3)", 1u << 8, 0},
				{"POINT (1.5 -2 3)", 1u << 8, 0},
				{"LINESTRING M (1.5 -2 5, 3 4 6)", 1u << 17, 0},
				{"MULTIPOLYGON (((1.5 -2, 3 -2, 3 4, 1.5 -2)))", 1u << 5, 0},
				{"GEOMETRYCOLLECTION (POINT (1.5 -2), LINESTRING (3 4, 5 6))\n", 1u << 6, 0}};
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		const char *wrong = geometry_from_wkt(good[i].text, strlen(good[i].text), &wkb, &count, &srid);
		if (wrong)
			fail_msg("%s: %s", good[i].text, wrong);
		struct wkb_facts facts = {0};
		assert_int_equal(wkb_walk(wkb, count, &facts), WKB_SOUND);
		assert_int_equal(facts.types, good[i].types);
		assert_int_equal(srid, good[i].srid);
		assert_true(facts.standard && facts.minimum[0] == 1.5 && facts.minimum[1] == -2);
		free(wkb);
	}
	static const char *const bad[] = {"",
									  "POINT",
									  "POINT (1)",
									  "POINT (1 2",
									  "POINT (1x 2)",
									  "POINT (1 2) rest",
									  "CIRCLE (1 2 3)",
									  "SRID=;POINT(1 2)",
									  "SRID=99999999999;POINT(1 2)",
									  "POINT (1,2)",
									  "POINT (0x10 2)",
									  "POINT (1e 2)",
									  "LINESTRING (1 2, 3)"};
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		if (!geometry_from_wkt(bad[i], strlen(bad[i]), &wkb, &count, &srid)) {
			fail_msg("%s was understood", bad[i]);
		}
	assert_non_null(geometry_from_wkt("POINT(1 2)\0", 11, &wkb, &count, &srid));
	assert_null(geometry_from_wkt("POINT(1 2)xx", 10, &wkb, &count, &srid)); /* only `count` bytes are read */
	free(wkb);
	assert_null(geometry_from_wkt("POINT EMPTY", 11, &wkb, &count, &srid));
	struct wkb_facts facts = {0};
	assert_int_equal(wkb_walk(wkb, count, &facts), WKB_EMPTY);
	free(wkb);
}

static void *from_wkt(const char *text, size_t *count)
{
	uint8_t *wkb;
	int32_t srid;
	assert_null(geometry_from_wkt(text, strlen(text), &wkb, count, &srid));
	return wkb;
}

static void test_linearize(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint32_t types;
	} curves[] = {{"CIRCULARSTRING (0 0, 1 1, 2 0)", 1u << 1},
				  {"CURVEPOLYGON (CIRCULARSTRING (0 0, 2 2, 4 0, 2 -2, 0 0))", 1u << 2},
				  {"TIN (((0 0, 1 0, 0 1, 0 0)))", 1u << 5},
				  {"POLYHEDRALSURFACE Z (((0 0 0, 1 0 0, 0 1 1, 0 0 0)))", 1u << 13},
				  {"TRIANGLE ((0 0, 1 0, 0 1, 0 0))", 1u << 2},
				  {"GEOMETRYCOLLECTION (CIRCULARSTRING (0 0, 1 1, 2 0), TIN (((0 0, 1 0, 0 1, 0 0))))", 1u << 6},
				  {"MULTICURVE (CIRCULARSTRING (0 0, 1 1, 2 0), (3 3, 4 4))", 1u << 4}};
	for (size_t i = 0; i < sizeof curves / sizeof curves[0]; i++) {
		size_t count, out_count;
		uint8_t *wkb = from_wkt(curves[i].text, &count), *out;
		struct wkb_facts facts = {0};
		assert_int_equal(wkb_walk(wkb, count, &facts), WKB_CURVE);
		assert_null(geometry_linearize(wkb, count, &out, &out_count));
		assert_int_equal(wkb_walk(out, out_count, &facts), WKB_SOUND);
		assert_int_equal(facts.types, curves[i].types);
		free(wkb);
		free(out);
	}
	uint8_t *out;
	size_t out_count;
	assert_non_null(geometry_linearize("\1\2", 2, &out, &out_count));
}

static void test_valid(void **state)
{
	(void)state;
	char reason[200];
	size_t count;
	void *square = from_wkt("POLYGON ((0 0, 1 0, 1 1, 0 1, 0 0))", &count);
	assert_null(geometry_invalid(square, count, reason, sizeof reason));
	free(square);
	void *bow = from_wkt("POLYGON ((0 0, 1 1, 1 0, 0 1, 0 0))", &count);
	const char *found = geometry_invalid(bow, count, reason, sizeof reason);
	assert_non_null(found);
	assert_non_null(strstr(found, "Self-intersection"));
	free(bow);
}

static void test_on_surface(void **state)
{
	(void)state;
	size_t count, out_count;
	uint8_t *out;
	/* A horseshoe, whose centroid lies outside. */
	void *shape = from_wkt("POLYGON ((0 0, 10 0, 10 10, 8 10, 8 2, 2 2, 2 10, 0 10, 0 0))", &count);
	assert_null(geometry_point_on_surface(shape, count, &out, &out_count));
	struct wkb_facts facts = {0};
	assert_int_equal(wkb_walk(out, out_count, &facts), WKB_SOUND);
	double x = facts.minimum[0], y = facts.minimum[1];
	assert_true(x > 0 && x < 10 && y > 0 && y < 10 && !(x > 2 && x < 8 && y > 2));
	free(out);
	free(shape);
}

static void test_transform(void **state)
{
	(void)state;
	/* x is east on both sides, also for EPSG:4326, whose own order is north first. */
	struct crs degrees = read_ok("EPSG:4326"), mercator = read_ok("EPSG:3857"), utm = read_ok("EPSG:26914");
	struct transform *to = transform_new(degrees.projjson, mercator.projjson),
					 *back = transform_new(utm.projjson, degrees.projjson);
	assert_non_null(to);
	assert_non_null(back);
	uint8_t point[WKB_POINT_BYTES], *out;
	size_t count;
	wkb_point(-97, 31, point);
	assert_null(transform_wkb(to, point, sizeof point, &out, &count));
	/* R = 6378137: R * lon and R * ln(tan(45 deg + lat / 2)) */
	check_point(out, count, 6378137 * (-97 * M_PI / 180), 6378137 * log(tan(M_PI / 4 + 31 * M_PI / 360)), 1e-5);
	free(out);
	wkb_point(500000, 3300000, point); /* on the central meridian of zone 14 */
	assert_null(transform_wkb(back, point, sizeof point, &out, &count));
	check_point(out, count, -99, 29.8305, 1e-3);
	free(out);
	wkb_point(-97, 95, point);
	assert_non_null(transform_wkb(to, point, sizeof point, &out, &count));
	assert_non_null(transform_wkb(to, "x", 1, &out, &count));
	transform_free(to);
	transform_free(back);
	transform_free(NULL);
	assert_null(transform_new(degrees.projjson, "nonsense"));
}

struct work {
	struct transform *transform;
	int wrong;
};
static void *transform_many(void *argument)
{
	struct work *work = argument;
	for (int i = 0; i < 500; i++) {
		uint8_t point[WKB_POINT_BYTES], *out;
		size_t count;
		wkb_point(-97 + i * 0.001, 31, point);
		struct wkb_facts facts = {0};
		if (transform_wkb(work->transform, point, sizeof point, &out, &count)) {
			work->wrong++;
			continue;
		}
		if (wkb_walk(out, count, &facts) != WKB_SOUND ||
			fabs(facts.minimum[0] - 6378137 * ((-97 + i * 0.001) * M_PI / 180)) > 1e-4)
			work->wrong++;
		free(out);
	}
	return NULL;
}

static void test_threads(void **state)
{
	(void)state;
	struct crs degrees = read_ok("OGC:CRS84"), mercator = read_ok("EPSG:3857");
	struct work work[4];
	pthread_t threads[4];
	struct transform *transform = transform_new(degrees.projjson, mercator.projjson);
	for (int i = 0; i < 4; i++) {
		work[i] = (struct work){transform, 0};
		assert_int_equal(pthread_create(&threads[i], NULL, transform_many, &work[i]), 0);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(work[i].wrong, 0);
	}
	transform_free(transform);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_codes),   cmocka_unit_test(test_unknown),    cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_same),    cmocka_unit_test(test_wkt),        cmocka_unit_test(test_linearize),
		cmocka_unit_test(test_valid),   cmocka_unit_test(test_on_surface), cmocka_unit_test(test_transform),
		cmocka_unit_test(test_threads),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
