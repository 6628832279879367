/* SPDX-License-Identifier: Apache-2.0
 * WKB: every type in every dimension, byte order and dialect; every truncation; every fault; and the stored form.
 *
 * Geometries are written by a small builder here, so that expected bytes do not come from the code under test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "geo/wkb.h"

enum dialect { ISO, EWKB, EWKB_SRID };

struct builder {
	uint8_t at[4096];
	size_t count;
	bool little;
	enum dialect dialect;
	int dimension; /* 0 XY, 1 XYZ, 2 XYM, 3 XYZM */
	int depth;
};

static void put_bytes(struct builder *b, const void *bytes, size_t count)
{
	/* the tests run on little-endian hosts */
	const uint8_t *from = bytes;
	for (size_t i = 0; i < count; i++)
		b->at[b->count++] = b->little ? from[i] : from[count - 1 - i];
}
static void put_u32(struct builder *b, uint32_t value)
{
	put_bytes(b, &value, 4);
}
static void put_double(struct builder *b, double value)
{
	put_bytes(b, &value, 8);
}
static void put_head(struct builder *b, uint32_t type)
{
	b->at[b->count++] = b->little;
	if (b->dialect == ISO) {
		put_u32(b, type + 1000 * (uint32_t)b->dimension);
		return;
	}
	bool srid = b->dialect == EWKB_SRID && b->depth == 0;
	put_u32(b,
			type | (b->dimension & 1 ? 0x80000000u : 0) | (b->dimension & 2 ? 0x40000000u : 0) | (srid ? 0x20000000u : 0));
	if (srid)
		put_u32(b, 4326);
}
static void put_position(struct builder *b, double x, double y)
{
	put_double(b, x);
	put_double(b, y);
	if (b->dimension & 1)
		put_double(b, x + 100);
	if (b->dimension & 2)
		put_double(b, y + 1000);
}
static void put_ring(struct builder *b, double size)
{
	put_u32(b, 4);
	put_position(b, 0, 0);
	put_position(b, size, 0);
	put_position(b, 0, size);
	put_position(b, 0, 0);
}

/* One geometry of each type whose box is always 0 0 10 10, but for the point at 3 4. */
static void put_geometry(struct builder *b, int type)
{
	put_head(b, (uint32_t)type);
	b->depth++;
	switch (type) {
	case 1:
		put_position(b, 3, 4);
		break;
	case 2:
	case 8:
		put_u32(b, 3);
		put_position(b, 0, 0);
		put_position(b, 10, 10);
		put_position(b, 5, 5);
		break;
	case 3:
	case 17:
		put_u32(b, type == 3 ? 2 : 1);
		put_ring(b, 10);
		if (type == 3)
			put_ring(b, 2);
		break;
	case 4:
		put_u32(b, 3);
		put_head(b, 1), put_position(b, 0, 0);
		put_head(b, 1), put_position(b, 10, 10);
		put_head(b, 1), put_position(b, 10, 0);
		break;
	case 5:
	case 9:
	case 11:
		put_u32(b, 2);
		put_geometry(b, 2);
		put_geometry(b, type == 5 ? 2 : 8);
		break;
	case 6:
	case 12:
	case 15:
		put_u32(b, 2);
		put_geometry(b, 3);
		put_geometry(b, 3);
		break;
	case 7:
		put_u32(b, 4);
		put_geometry(b, 1);
		put_geometry(b, 5);
		put_geometry(b, 6);
		put_geometry(b, 2);
		break;
	case 10:
		put_u32(b, 1);
		put_geometry(b, 8);
		break;
	case 16:
		put_u32(b, 1);
		put_geometry(b, 17);
		break;
	default:
		fail();
	}
	b->depth--;
}

static struct builder build(int type, int dimension, bool little, enum dialect dialect)
{
	struct builder b = {.little = little, .dialect = dialect, .dimension = dimension};
	put_geometry(&b, type);
	return b;
}

static enum wkb_fault walk(const struct builder *b, struct wkb_facts *facts)
{
	/* An exact copy on the heap, so that a read past the end is found by the sanitizer. */
	uint8_t *copy = malloc(b->count ? b->count : 1);
	assert_non_null(copy);
	memcpy(copy, b->at, b->count);
	enum wkb_fault fault = wkb_walk(copy, b->count, facts);
	free(copy);
	return fault;
}
static enum wkb_fault fault_of(const struct builder *b)
{
	struct wkb_facts facts = {0};
	return walk(b, &facts);
}

static void check_one(int type, int dimension, bool little, enum dialect dialect)
{
	struct builder b = build(type, dimension, little, dialect);
	struct builder stored = build(type, dimension, true, ISO);
	struct wkb_facts facts = {0};
	assert_int_equal(walk(&b, &facts), WKB_SOUND);
	double low = type == 1 ? 3 : 0, high = type == 1 ? 3 : 10, low_y = type == 1 ? 4 : 0, high_y = type == 1 ? 4 : 10;
	assert_true(facts.any);
	assert_true(facts.minimum[0] == low && facts.maximum[0] == high && facts.minimum[1] == low_y &&
				facts.maximum[1] == high_y);
	assert_int_equal(facts.any_z, (dimension & 1) != 0);
	assert_int_equal(facts.any_m, (dimension & 2) != 0);
	if (facts.any_z)
		assert_true(facts.minimum[2] == low + 100 && facts.maximum[2] == high + 100);
	if (facts.any_m)
		assert_true(facts.minimum[3] == low_y + 1000 && facts.maximum[3] == high_y + 1000);
	assert_int_equal(facts.types, 1u << (type - 1 + 8 * dimension));
	assert_int_equal(facts.srid, dialect == EWKB_SRID ? 4326 : 0);
	assert_int_equal(facts.standard, b.count == stored.count && memcmp(b.at, stored.at, b.count) == 0);
	uint8_t out[4096];
	assert_int_equal(wkb_store(b.at, b.count, out), stored.count);
	assert_memory_equal(out, stored.at, stored.count);
}

static void test_every_form(void **state)
{
	(void)state;
	for (int type = 1; type <= 7; type++)
		for (int dimension = 0; dimension < 4; dimension++)
			for (int little = 0; little < 2; little++)
				for (int dialect = ISO; dialect <= EWKB_SRID; dialect++)
					check_one(type, dimension, little, (enum dialect)dialect);
}

static void test_curves(void **state)
{
	(void)state;
	static const int types[] = {8, 9, 10, 11, 12, 15, 16, 17};
	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
		for (int dimension = 0; dimension < 4; dimension++)
			for (int little = 0; little < 2; little++) {
				struct builder b = build(types[i], dimension, little, ISO);
				struct wkb_facts facts = {0};
				assert_int_equal(walk(&b, &facts), WKB_CURVE);
				assert_false(facts.any);
				assert_int_equal(facts.types, 0);
			}
	struct builder b = {.little = true};
	put_head(&b, 7);
	put_u32(&b, 1);
	put_geometry(&b, 8);
	assert_int_equal(fault_of(&b), WKB_CURVE); /* also inside a collection */
	b.count -= 8;
	assert_int_equal(fault_of(&b), WKB_TRUNCATED);
}

static void test_truncation(void **state)
{
	(void)state;
	static const int types[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 15, 16, 17};
	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
		for (int dimension = 0; dimension < 4; dimension++)
			for (int dialect = ISO; dialect <= EWKB_SRID; dialect++) {
				struct builder b = build(types[i], dimension, dialect != EWKB, (enum dialect)dialect);
				size_t whole = b.count;
				for (b.count = 0; b.count < whole; b.count++) {
					assert_int_equal(fault_of(&b), WKB_TRUNCATED);
					uint8_t out[4096];
					assert_int_equal(wkb_store(b.at, b.count, out), 0);
				}
				b.count = whole + 1;
				b.at[whole] = 0;
				assert_int_equal(fault_of(&b), WKB_TRAILING);
			}
}

static void test_huge_counts(void **state)
{
	(void)state;
	for (int type = 2; type <= 7; type++) {
		struct builder b = {.little = true};
		put_head(&b, (uint32_t)type);
		put_u32(&b, 0xffffffffu);
		assert_int_equal(fault_of(&b), WKB_TRUNCATED);
	}
}

static void test_marks_and_types(void **state)
{
	(void)state;
	struct builder b = build(1, 0, true, ISO);
	b.at[0] = 2;
	assert_int_equal(fault_of(&b), WKB_BYTE_ORDER);
	static const uint32_t bad[] = {0, 13, 14, 18, 999, 4001, 1013, 0x10000001u};
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct builder c = {.little = true};
		c.at[c.count++] = 1;
		put_u32(&c, bad[i]);
		put_position(&c, 1, 2);
		assert_int_equal(fault_of(&c), WKB_TYPE);
	}
}

static void put_multi(struct builder *b, uint32_t type, int part, int part_dimension)
{
	put_head(b, type);
	put_u32(b, 1);
	b->depth++;
	b->dimension = part_dimension;
	put_geometry(b, part);
}

static void test_parts(void **state)
{
	(void)state;
	static const struct {
		uint32_t type;
		int part;
	} wrong[] = {{4, 2}, {4, 4}, {5, 1}, {5, 8}, {6, 2}, {6, 10}, {9, 3}, {12, 2}, {15, 2}, {16, 3}};
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		struct builder b = {.little = true};
		put_multi(&b, wrong[i].type, wrong[i].part, 0);
		assert_int_equal(fault_of(&b), WKB_CHILD);
	}
	for (int part = 0; part < 4; part++)
		for (int whole = 0; whole < 4; whole++) {
			struct builder b = {.little = true, .dimension = whole};
			put_multi(&b, 7, 1, part);
			assert_int_equal(fault_of(&b), part == whole ? WKB_SOUND : WKB_CHILD);
		}
	/* Parts in the other byte order than the whole are allowed and become the stored form. */
	struct builder b = {.little = false};
	put_head(&b, 4);
	put_u32(&b, 1);
	b.little = true;
	put_geometry(&b, 1);
	struct wkb_facts facts = {0};
	assert_int_equal(walk(&b, &facts), WKB_SOUND);
	assert_false(facts.standard);
	struct builder stored = {.little = true};
	put_head(&stored, 4);
	put_u32(&stored, 1);
	put_geometry(&stored, 1);
	uint8_t out[256];
	assert_int_equal(wkb_store(b.at, b.count, out), stored.count);
	assert_memory_equal(out, stored.at, stored.count);
}

static void test_srid_of_parts(void **state)
{
	(void)state;
	struct builder b = {.little = true, .dialect = EWKB_SRID};
	put_head(&b, 4);
	put_u32(&b, 1);
	put_geometry(&b, 1); /* depth 0: carries the SRID again */
	struct wkb_facts facts = {0};
	assert_int_equal(walk(&b, &facts), WKB_SOUND);
	assert_int_equal(facts.srid, 4326);
	b.at[18] = 0x11; /* another SRID in the part */
	assert_int_equal(fault_of(&b), WKB_CHILD);
}

static void test_empty(void **state)
{
	(void)state;
	for (int type = 2; type <= 7; type++)
		for (int dimension = 0; dimension < 4; dimension++) {
			struct builder b = {.little = false, .dimension = dimension};
			put_head(&b, (uint32_t)type);
			put_u32(&b, 0);
			struct wkb_facts facts = {0};
			assert_int_equal(walk(&b, &facts), WKB_EMPTY);
			assert_false(facts.any || facts.any_z || facts.any_m);
			assert_int_equal(facts.types, 1u << (type - 1 + 8 * dimension));
			uint8_t out[64];
			assert_int_equal(wkb_store(b.at, b.count, out), 9);
		}
	/* Empty at a lower level: a collection of an empty line and a multi point of an empty point. */
	struct builder b = {.little = true};
	put_head(&b, 7);
	put_u32(&b, 2);
	put_head(&b, 2), put_u32(&b, 0);
	put_head(&b, 4), put_u32(&b, 1);
	put_head(&b, 1), put_double(&b, NAN), put_double(&b, NAN);
	assert_int_equal(fault_of(&b), WKB_EMPTY);
	/* One coordinate anywhere makes it sound. */
	struct builder c = {.little = true};
	put_head(&c, 4);
	put_u32(&c, 2);
	put_head(&c, 1), put_double(&c, NAN), put_double(&c, NAN);
	put_head(&c, 1), put_double(&c, 1), put_double(&c, 2);
	struct wkb_facts facts = {0};
	assert_int_equal(walk(&c, &facts), WKB_SOUND);
	assert_true(facts.minimum[0] == 1 && facts.maximum[1] == 2);
}

static void test_nan_points(void **state)
{
	(void)state;
	uint64_t odd_bits = 0xfff8000000000123u;
	double odd;
	memcpy(&odd, &odd_bits, 8);
	struct builder plain = {.little = true}, b = {.little = true};
	put_head(&plain, 1), put_double(&plain, NAN), put_double(&plain, NAN);
	put_head(&b, 1), put_double(&b, odd), put_double(&b, NAN);
	struct wkb_facts facts = {0};
	assert_int_equal(walk(&plain, &facts), WKB_EMPTY);
	assert_true(facts.standard);
	assert_int_equal(facts.types, 1);
	memset(&facts, 0, sizeof facts);
	assert_int_equal(walk(&b, &facts), WKB_EMPTY);
	assert_false(facts.standard);
	uint8_t out[21];
	assert_int_equal(wkb_store(b.at, b.count, out), 21);
	assert_memory_equal(out, plain.at, 21);
	/* z NaN with x and y there: no height; the range of heights stays without it. */
	struct builder z = {.little = true, .dimension = 1};
	put_head(&z, 1), put_double(&z, 1), put_double(&z, 2), put_double(&z, NAN);
	memset(&facts, 0, sizeof facts);
	assert_int_equal(walk(&z, &facts), WKB_SOUND);
	assert_true(facts.any && !facts.any_z);
	/* x and y NaN but a height: neither empty nor a point */
	struct builder w = {.little = true, .dimension = 1};
	put_head(&w, 1), put_double(&w, NAN), put_double(&w, NAN), put_double(&w, 3);
	assert_int_equal(fault_of(&w), WKB_NOT_FINITE);
}

static void test_not_finite(void **state)
{
	(void)state;
	static const double bad[][3] = {{INFINITY, 1, 1}, {1, -INFINITY, 1}, {NAN, 1, 1}, {1, NAN, 1}, {1, 1, INFINITY}};
	for (size_t i = 0; i < 5; i++) {
		struct builder point = {.little = true, .dimension = 1}, line = point;
		put_head(&point, 1);
		put_head(&line, 2), put_u32(&line, 2);
		for (int k = 0; k < 3; k++)
			put_double(&point, bad[i][k]);
		for (int k = 0; k < 3; k++)
			put_double(&line, bad[i][k]);
		for (int k = 0; k < 3; k++)
			put_double(&line, 7);
		struct wkb_facts facts = {.any = true, .minimum = {1}, .maximum = {1}, .types = 1}, before = facts;
		assert_int_equal(walk(&point, &facts), WKB_NOT_FINITE);
		assert_int_equal(walk(&line, &facts), WKB_NOT_FINITE);
		assert_memory_equal(&facts, &before, sizeof facts); /* a fault leaves the facts alone */
	}
	struct builder both = {.little = true};
	put_head(&both, 2), put_u32(&both, 2), put_position(&both, NAN, NAN), put_position(&both, 1, 1);
	assert_int_equal(fault_of(&both), WKB_NOT_FINITE); /* an empty point is no vertex of a line */
}

static void test_rings(void **state)
{
	(void)state;
	for (uint32_t count = 0; count < 4; count++) {
		struct builder b = {.little = true};
		put_head(&b, 3), put_u32(&b, 1), put_u32(&b, count);
		for (uint32_t i = 0; i < count; i++)
			put_position(&b, 1, 1);
		assert_int_equal(fault_of(&b), WKB_RING);
	}
	struct builder open = {.little = false};
	put_head(&open, 3), put_u32(&open, 1), put_u32(&open, 4);
	put_position(&open, 0, 0), put_position(&open, 1, 0), put_position(&open, 1, 1), put_position(&open, 0, 1);
	assert_int_equal(fault_of(&open), WKB_RING);
	struct builder nan = {.little = true};
	put_head(&nan, 3), put_u32(&nan, 1), put_u32(&nan, 4);
	put_position(&nan, NAN, 0), put_position(&nan, 1, 0), put_position(&nan, 1, 1), put_position(&nan, NAN, 0);
	assert_int_equal(fault_of(&nan), WKB_NOT_FINITE);
	struct builder line = {.little = true};
	put_head(&line, 2), put_u32(&line, 1), put_position(&line, 1, 1);
	assert_int_equal(fault_of(&line), WKB_LINE);
}

static void test_depth(void **state)
{
	(void)state;
	for (int levels = 31; levels <= 34; levels++) {
		struct builder b = {.little = true};
		for (int i = 0; i < levels; i++)
			put_head(&b, 7), put_u32(&b, 1);
		put_geometry(&b, 1);
		assert_int_equal(fault_of(&b), levels <= 32 ? WKB_SOUND : WKB_DEPTH);
	}
}

static void test_add(void **state)
{
	(void)state;
	struct wkb_facts all = {0}, nothing = {0};
	struct builder point = build(1, 1, true, ISO), line = build(2, 0, false, EWKB_SRID);
	assert_int_equal(walk(&point, &all), WKB_SOUND);
	assert_true(all.standard);
	assert_int_equal(walk(&line, &all), WKB_SOUND);
	assert_false(all.standard);
	assert_int_equal(all.srid, 4326);
	assert_int_equal(all.types, 1u << 8 | 1u << 1);
	assert_true(all.minimum[0] == 0 && all.maximum[0] == 10 && all.minimum[2] == 103 && all.maximum[2] == 103);
	struct wkb_facts copy = all, into = {0};
	wkb_facts_add(&copy, &nothing);
	assert_memory_equal(&copy, &all, sizeof all);
	wkb_facts_add(&into, &all);
	assert_true(into.minimum[0] == 0 && into.maximum[1] == 10 && into.types == all.types && into.any_z && !into.any_m);
}

static void test_made(void **state)
{
	(void)state;
	uint8_t point[WKB_POINT_BYTES], line[WKB_SEGMENT_BYTES];
	wkb_point(3, 4, point);
	struct builder expected = build(1, 0, true, ISO);
	assert_int_equal(expected.count, WKB_POINT_BYTES);
	assert_memory_equal(point, expected.at, WKB_POINT_BYTES);
	wkb_segment(1, 2, 3, 4, line);
	struct builder segment = {.little = true};
	put_head(&segment, 2), put_u32(&segment, 2), put_position(&segment, 1, 2), put_position(&segment, 3, 4);
	assert_int_equal(segment.count, WKB_SEGMENT_BYTES);
	assert_memory_equal(line, segment.at, WKB_SEGMENT_BYTES);
}

static void test_hex(void **state)
{
	(void)state;
	/* PostGIS: SELECT 'SRID=4326;POINT(-104.5 -32)'::geometry */
	static const char hex[] = "0101000020E61000000000000000205Ac000000000000040c0";
	uint8_t out[64];
	size_t count = wkb_from_hex(hex, sizeof hex - 1, out);
	assert_int_equal(count, 25);
	struct wkb_facts facts = {0};
	assert_int_equal(wkb_walk(out, count, &facts), WKB_SOUND);
	assert_int_equal(facts.srid, 4326);
	assert_true(facts.minimum[0] == -104.5 && facts.minimum[1] == -32);
	assert_int_equal(wkb_from_hex("012", 3, out), 0);
	assert_int_equal(wkb_from_hex("0g", 2, out), 0);
	assert_int_equal(wkb_from_hex("", 0, out), 0);
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(wkb_type_name(0), "Point");
	assert_string_equal(wkb_type_name(6), "GeometryCollection");
	assert_string_equal(wkb_type_name(5 + 8), "MultiPolygon Z");
	assert_string_equal(wkb_type_name(1 + 16), "LineString M");
	assert_string_equal(wkb_type_name(2 + 24), "Polygon ZM");
	assert_null(wkb_type_name(7));
	assert_null(wkb_type_name(31));
	assert_null(wkb_type_name(32));
	assert_null(wkb_type_name(-1));
	for (int fault = WKB_SOUND; fault <= WKB_EMPTY; fault++)
		for (int other = WKB_SOUND; other < fault; other++)
			assert_string_not_equal(wkb_fault_text((enum wkb_fault)fault), wkb_fault_text((enum wkb_fault)other));
}

static void test_floats(void **state)
{
	(void)state;
	static const double values[] = {0.1, -0.1, 1.0, -97.123456789, 1e300, -1e300, 5e-324, 0};
	for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
		float down = wkb_float_down(values[i]), up = wkb_float_up(values[i]);
		assert_true((double)down <= values[i] && values[i] <= (double)up);
		assert_true(down == up ? (double)down == values[i] : nextafterf(down, INFINITY) == up);
	}
	assert_true(wkb_float_down(1.0) == 1.0f && wkb_float_up(1.0) == 1.0f);
}

static uint64_t hilbert_at(double x, double y)
{
	struct wkb_facts facts = {.any = true, .minimum = {x, y}, .maximum = {x, y}};
	static const double extent[4] = {0, 0, 65536, 65536};
	return wkb_hilbert(&facts, extent);
}

/* A Hilbert curve visits each cell once and each step goes to a neighbour: checked on the whole lower left 64 x 64 corner.
 */
static void test_hilbert(void **state)
{
	(void)state;
	enum { SIDE = 64 };
	static int x_of[SIDE * SIDE], y_of[SIDE * SIDE];
	static bool seen[SIDE * SIDE];
	for (int x = 0; x < SIDE; x++)
		for (int y = 0; y < SIDE; y++) {
			uint64_t position = hilbert_at(x + 0.5, y + 0.5);
			assert_true(position < SIDE * SIDE && !seen[position]);
			seen[position] = true;
			x_of[position] = x;
			y_of[position] = y;
		}
	for (int i = 1; i < SIDE * SIDE; i++)
		assert_int_equal(abs(x_of[i] - x_of[i - 1]) + abs(y_of[i] - y_of[i - 1]), 1);
	assert_int_equal(hilbert_at(65535.5, 0.5), 0xffffffffu);
	assert_int_equal(hilbert_at(1e9, -5), 0xffffffffu); /* clamped */
	struct wkb_facts empty = {0};
	static const double flat[4] = {5, 5, 5, 5};
	assert_int_equal(wkb_hilbert(&empty, flat), 0);
	struct wkb_facts point = {.any = true, .minimum = {5, 5}, .maximum = {5, 5}};
	assert_int_equal(wkb_hilbert(&point, flat), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_form),
		cmocka_unit_test(test_curves),
		cmocka_unit_test(test_truncation),
		cmocka_unit_test(test_huge_counts),
		cmocka_unit_test(test_marks_and_types),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_srid_of_parts),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_nan_points),
		cmocka_unit_test(test_not_finite),
		cmocka_unit_test(test_rings),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_add),
		cmocka_unit_test(test_made),
		cmocka_unit_test(test_hex),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_floats),
		cmocka_unit_test(test_hilbert),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
