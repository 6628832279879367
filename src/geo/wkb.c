/* SPDX-License-Identifier: Apache-2.0
 * The walk over well-known binary. One recursive reader serves checking and rewriting: it reads a geometry in either
 * byte order, ISO or EWKB, adds what it meets to the facts and, when asked, writes the stored form as it goes. */
#include "geo/wkb.h"

#include <math.h>
#include <string.h>

#include "geo/endian.h"

enum {
	WKB_MOST_DEPTH = 32,
	POINT = 1,
	LINE_STRING,
	POLYGON,
	MULTI_POINT,
	MULTI_LINE_STRING,
	MULTI_POLYGON,
	COLLECTION,
	CIRCULAR_STRING,
	COMPOUND_CURVE,
	CURVE_POLYGON,
	MULTI_CURVE,
	MULTI_SURFACE,
	POLYHEDRAL_SURFACE = 15,
	TIN,
	TRIANGLE
};

/* Which types may be the parts of a type; types 13 and 14 are abstract and never written. */
#define IS(type) (1u << (type))
static const uint32_t parts_of[] = {
	[MULTI_POINT] = IS(POINT),
	[MULTI_LINE_STRING] = IS(LINE_STRING),
	[MULTI_POLYGON] = IS(POLYGON),
	[COLLECTION] = 0x39ffe,
	[COMPOUND_CURVE] = IS(LINE_STRING) | IS(CIRCULAR_STRING),
	[CURVE_POLYGON] = IS(LINE_STRING) | IS(CIRCULAR_STRING) | IS(COMPOUND_CURVE),
	[MULTI_CURVE] = IS(LINE_STRING) | IS(CIRCULAR_STRING) | IS(COMPOUND_CURVE),
	[MULTI_SURFACE] = IS(POLYGON) | IS(CURVE_POLYGON),
	[POLYHEDRAL_SURFACE] = IS(POLYGON),
	[TIN] = IS(TRIANGLE),
	[TRIANGLE] = 0,
};

struct walk {
	const uint8_t *at, *end;
	uint8_t *out; /* where the stored form goes; NULL: only look */
	struct wkb_facts facts;
	bool curve;
};

struct head {
	bool swap;                /* the other byte order than this machine's */
	unsigned type, dimension; /* class: 0 XY, 1 XYZ, 2 XYM, 3 XYZM */
	unsigned ordinates;
};

const char *wkb_fault_text(enum wkb_fault fault)
{
	switch (fault) {
	case WKB_SOUND:
		return "the WKB is sound";
	case WKB_TRUNCATED:
		return "the WKB ends too early";
	case WKB_TRAILING:
		return "the WKB has bytes after the geometry";
	case WKB_BYTE_ORDER:
		return "the WKB has a byte order mark other than 0 and 1";
	case WKB_TYPE:
		return "the WKB has an unknown geometry type";
	case WKB_CURVE:
		return "the geometry is a curve or surface";
	case WKB_CHILD:
		return "the WKB has a part that its geometry type does not allow";
	case WKB_NOT_FINITE:
		return "the geometry has a coordinate that is not finite";
	case WKB_RING:
		return "the geometry has a ring that is not closed or has fewer than four points";
	case WKB_LINE:
		return "the geometry has a line of one point";
	case WKB_DEPTH:
		return "the geometry is nested too deeply";
	case WKB_EMPTY:
		return "the geometry is empty";
	}
	return "the WKB is not sound";
}

static enum wkb_fault take_count(struct walk *walk, bool swap, uint32_t *out)
{
	if (walk->end - walk->at < 4)
		return WKB_TRUNCATED;
	*out = load_u32(walk->at, swap);
	walk->at += 4;
	return WKB_SOUND;
}

static void emit(struct walk *walk, uint32_t number)
{
	if (walk->out) {
		store_u32_little(walk->out, number);
		walk->out += 4;
	}
}

/* Byte order, type and SRID. The SRID of a part may only repeat that of the whole. */
static enum wkb_fault take_head(struct walk *walk, int depth, struct head *head)
{
	if (walk->at == walk->end)
		return WKB_TRUNCATED;
	uint8_t mark = *walk->at;
	if (mark > 1)
		return WKB_BYTE_ORDER;
	walk->at++;
	head->swap = (mark == 1) != host_is_little;
	uint32_t code;
	enum wkb_fault fault = take_count(walk, head->swap, &code);
	if (fault)
		return fault;
	uint32_t flags = code & 0xe0000000u, iso = code & 0x1fffffffu;
	if (iso >= 4000)
		return WKB_TYPE;
	head->type = iso % 1000;
	head->dimension = iso / 1000 | (flags & 0x80000000u ? 1 : 0) | (flags & 0x40000000u ? 2 : 0);
	head->ordinates = 2 + (head->dimension & 1) + (head->dimension >> 1);
	if (flags & 0x20000000u) {
		uint32_t srid;
		if ((fault = take_count(walk, head->swap, &srid)) != WKB_SOUND)
			return fault;
		if (depth > 0 && (int32_t)srid != walk->facts.srid)
			return WKB_CHILD;
		walk->facts.srid = (int32_t)srid;
	}
	if (head->type < POINT || head->type > TRIANGLE || head->type == 13 || head->type == 14)
		return WKB_TYPE;
	if (mark != 1 || flags)
		walk->facts.standard = false;
	if (walk->out)
		*walk->out++ = 1;
	emit(walk, head->type + 1000 * head->dimension);
	return WKB_SOUND;
}

static void widen(double value, double *minimum, double *maximum, bool any)
{
	if (!any || value < *minimum)
		*minimum = value;
	if (!any || value > *maximum)
		*maximum = value;
}

/* There are many NaN; the stored form has one, so that equal geometries have equal bytes. */
static double one_nan(struct walk *walk, double value)
{
	const uint64_t quiet = 0x7ff8000000000000u;
	if (!isnan(value))
		return value;
	if (memcmp(&value, &quiet, sizeof quiet) != 0)
		walk->facts.standard = false;
	memcpy(&value, &quiet, sizeof quiet);
	return value;
}

static void emit_position(struct walk *walk, const struct head *head, const double *position)
{
	for (unsigned i = 0; walk->out && i < head->ordinates; i++, walk->out += 8)
		store_double_little(walk->out, position[i]);
	walk->at += 8 * head->ordinates;
}

/* Heights and measures may be NaN: files without a value for some vertices are common, and x and y still hold. */
static enum wkb_fault take_extra(struct walk *walk, const struct head *head, double *position)
{
	struct wkb_facts *facts = &walk->facts;
	for (unsigned i = 2; i < head->ordinates; i++) {
		if (isinf(position[i]))
			return WKB_NOT_FINITE;
		if (isnan(position[i])) {
			position[i] = one_nan(walk, position[i]);
			continue;
		}
		bool z = i == 2 && (head->dimension & 1);
		bool *any = z ? &facts->any_z : &facts->any_m;
		unsigned slot = z ? 2 : 3;
		widen(position[i], &facts->minimum[slot], &facts->maximum[slot], *any);
		*any = true;
	}
	return WKB_SOUND;
}

/* The empty point is written with NaN throughout. */
static enum wkb_fault take_empty_point(struct walk *walk, const struct head *head, double *position)
{
	for (unsigned i = 0; i < head->ordinates; i++) {
		if (!isnan(position[i]))
			return WKB_NOT_FINITE;
		position[i] = one_nan(walk, position[i]);
	}
	emit_position(walk, head, position);
	return WKB_SOUND;
}

/* `count` positions at walk->at, which are known to be there. */
static enum wkb_fault take_positions(struct walk *walk, const struct head *head, uint32_t count)
{
	struct wkb_facts *facts = &walk->facts;
	double position[4];
	for (uint32_t i = 0; i < count; i++) {
		for (unsigned k = 0; k < head->ordinates; k++)
			position[k] = load_double(walk->at + 8 * k, head->swap);
		if (!isfinite(position[0]) || !isfinite(position[1])) {
			if (head->type == POINT && isnan(position[0]) && isnan(position[1]))
				return take_empty_point(walk, head, position);
			return WKB_NOT_FINITE;
		}
		widen(position[0], &facts->minimum[0], &facts->maximum[0], facts->any);
		widen(position[1], &facts->minimum[1], &facts->maximum[1], facts->any);
		facts->any = true;
		if (head->ordinates > 2) {
			enum wkb_fault fault = take_extra(walk, head, position);
			if (fault)
				return fault;
		}
		emit_position(walk, head, position);
	}
	return WKB_SOUND;
}

static enum wkb_fault take_line(struct walk *walk, const struct head *head, bool ring)
{
	uint32_t count;
	enum wkb_fault fault = take_count(walk, head->swap, &count);
	if (fault)
		return fault;
	size_t each = 8 * (size_t)head->ordinates;
	if (count > (size_t)(walk->end - walk->at) / each)
		return WKB_TRUNCATED;
	if (count == 1 && !ring)
		return WKB_LINE;
	if (ring) {
		if (count < 4)
			return WKB_RING;
		const uint8_t *last = walk->at + (count - 1) * each;
		if (load_double(walk->at, head->swap) != load_double(last, head->swap) ||
			load_double(walk->at + 8, head->swap) != load_double(last + 8, head->swap)) {
			/* A NaN is unequal to itself; name the better reason. */
			fault = take_positions(walk, head, count);
			return fault ? fault : WKB_RING;
		}
	}
	emit(walk, count);
	return take_positions(walk, head, count);
}

static enum wkb_fault take_geometry(struct walk *walk, int depth, const struct head *parent, struct head *head);

static enum wkb_fault take_parts(struct walk *walk, int depth, const struct head *head)
{
	uint32_t count;
	enum wkb_fault fault = take_count(walk, head->swap, &count);
	if (fault)
		return fault;
	emit(walk, count);
	for (uint32_t i = 0; i < count && fault == WKB_SOUND; i++) {
		struct head part;
		fault = take_geometry(walk, depth + 1, head, &part);
	}
	return fault;
}

static enum wkb_fault take_rings(struct walk *walk, const struct head *head)
{
	uint32_t count;
	enum wkb_fault fault = take_count(walk, head->swap, &count);
	if (fault)
		return fault;
	emit(walk, count);
	for (uint32_t i = 0; i < count && fault == WKB_SOUND; i++)
		fault = take_line(walk, head, true);
	return fault;
}

/* Recursion is bounded by WKB_MOST_DEPTH. */
static enum wkb_fault take_geometry(struct walk *walk, int depth, const struct head *parent, struct head *head)
{
	if (depth > WKB_MOST_DEPTH)
		return WKB_DEPTH;
	enum wkb_fault fault = take_head(walk, depth, head);
	if (fault)
		return fault;
	if (parent && (!(parts_of[parent->type] & IS(head->type)) || parent->dimension != head->dimension))
		return WKB_CHILD;
	if (head->type > COLLECTION)
		walk->curve = true;
	switch (head->type) {
	case POINT:
		if ((size_t)(walk->end - walk->at) < 8 * (size_t)head->ordinates)
			return WKB_TRUNCATED;
		return take_positions(walk, head, 1);
	case LINE_STRING:
	case CIRCULAR_STRING:
		return take_line(walk, head, false);
	case POLYGON:
	case TRIANGLE:
		return take_rings(walk, head);
	default:
		return take_parts(walk, depth, head);
	}
}

static void add_range(struct wkb_facts *to, const struct wkb_facts *other, int slot, bool any)
{
	widen(other->minimum[slot], &to->minimum[slot], &to->maximum[slot], any);
	widen(other->maximum[slot], &to->minimum[slot], &to->maximum[slot], true);
}

/* Nearly all geometries of most datasets are plain points in the stored form, which need no walk. */
static bool take_plain_point(const uint8_t *bytes, size_t count, struct wkb_facts *facts)
{
	if (count != WKB_POINT_BYTES || bytes[0] != 1 || load_u32(bytes + 1, !host_is_little) != POINT)
		return false;
	double x = load_double(bytes + 5, !host_is_little), y = load_double(bytes + 13, !host_is_little);
	if (!isfinite(x) || !isfinite(y))
		return false;
	widen(x, &facts->minimum[0], &facts->maximum[0], facts->any);
	widen(y, &facts->minimum[1], &facts->maximum[1], facts->any);
	facts->standard |= !facts->types;
	facts->any = true;
	facts->types |= 1;
	return true;
}

enum wkb_fault wkb_walk(const void *bytes, size_t count, struct wkb_facts *facts)
{
	if (take_plain_point(bytes, count, facts))
		return WKB_SOUND;
	struct walk walk = {.at = bytes, .end = (const uint8_t *)bytes + count, .facts = {.standard = true}};
	struct head head;
	enum wkb_fault fault = take_geometry(&walk, 0, NULL, &head);
	if (fault)
		return fault;
	if (walk.at != walk.end)
		return WKB_TRAILING;
	if (walk.curve)
		return WKB_CURVE;
	walk.facts.types = (uint32_t)1 << (head.type - 1 + 8 * head.dimension);
	wkb_facts_add(facts, &walk.facts);
	return walk.facts.any ? WKB_SOUND : WKB_EMPTY;
}

void wkb_facts_add(struct wkb_facts *to, const struct wkb_facts *other)
{
	if (!other->types)
		return; /* nothing was walked */
	if (other->any) {
		add_range(to, other, 0, to->any);
		add_range(to, other, 1, to->any);
		to->any = true;
	}
	if (other->any_z) {
		add_range(to, other, 2, to->any_z);
		to->any_z = true;
	}
	if (other->any_m) {
		add_range(to, other, 3, to->any_m);
		to->any_m = true;
	}
	to->standard = other->standard && (to->standard || !to->types);
	to->types |= other->types;
	if (!to->srid)
		to->srid = other->srid;
}

size_t wkb_store(const void *bytes, size_t count, void *out)
{
	struct walk walk = {.at = bytes, .end = (const uint8_t *)bytes + count, .out = out};
	struct head head;
	if (take_geometry(&walk, 0, NULL, &head) != WKB_SOUND || walk.at != walk.end)
		return 0;
	return (size_t)(walk.out - (uint8_t *)out);
}
