/* SPDX-License-Identifier: Apache-2.0
 * GeoJSON geometries (RFC 7946) straight to WKB. GDAL's reader takes half a position for a whole one and passes over what
 * it does not understand; here every number is exact and anything else is said.
 *
 * A geometry is XY, or XYZ as soon as one position has a height; then positions without one get NaN, which the stored
 * form knows as "no value". What dimension it is shows only while reading: reading starts with XY and, at the first
 * height, starts again with XYZ. */
#include "geo/crs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_scan.h"
#include "geo/endian.h"

enum { MOST_DEPTH = 32 };

struct builder {
	uint8_t *at;
	size_t count, room;
	bool z;      /* three numbers a position */
	bool want_z; /* a height was met while z is false */
	const char *wrong;
};

static const struct {
	const char *name;
	int levels; /* how many arrays are around a position's own */
} types[] = {{"Point", 0},           {"LineString", 1},   {"Polygon", 2},           {"MultiPoint", 1},
			 {"MultiLineString", 2}, {"MultiPolygon", 3}, {"GeometryCollection", 0}};
enum { POINT = 1, LINE_STRING, POLYGON, MULTI_POINT, MULTI_LINE_STRING, MULTI_POLYGON, COLLECTION };

static bool fail(struct builder *builder, const char *wrong)
{
	if (!builder->wrong)
		builder->wrong = wrong;
	return false;
}

static bool reserve(struct builder *builder, size_t more)
{
	if (builder->count + more <= builder->room)
		return true;
	size_t room = builder->room ? 2 * builder->room : 64;
	while (room < builder->count + more)
		room *= 2;
	uint8_t *grown = realloc(builder->at, room);
	if (!grown)
		return fail(builder, "out of memory");
	builder->at = grown;
	builder->room = room;
	return true;
}

static bool put_head(struct builder *builder, int type)
{
	if (!reserve(builder, 5))
		return false;
	builder->at[builder->count] = 1;
	store_u32_little(builder->at + builder->count + 1, (uint32_t)type + (builder->z ? 1000 : 0));
	builder->count += 5;
	return true;
}

/* Room for a count that is filled in when it is known; returns its place. */
static bool put_count(struct builder *builder, size_t *place)
{
	if (!reserve(builder, 4))
		return false;
	*place = builder->count;
	builder->count += 4;
	return true;
}

static bool put_position(struct builder *builder, const double *position)
{
	int ordinates = builder->z ? 3 : 2;
	if (!reserve(builder, 24))
		return false;
	for (int i = 0; i < ordinates; i++, builder->count += 8)
		store_double_little(builder->at + builder->count, position[i]);
	return true;
}

/* An array of two or three numbers; an empty one is the empty point. */
static bool read_position(struct json_scan *scan, struct builder *builder, bool may_be_empty)
{
	double position[3] = {NAN, NAN, NAN};
	int count = 0;
	struct value value;
	json_scan_space(scan);
	if (scan->at >= scan->end || *scan->at != '[')
		return fail(builder, "a position in the geometry is no array of numbers");
	scan->at++;
	for (bool first = true; json_scan_element(scan, first); first = false) {
		if (!json_scan_value(scan, &value))
			break;
		if (value.kind != VALUE_INTEGER && value.kind != VALUE_NUMBER)
			return fail(builder, "a coordinate in the geometry is no number");
		if (count == 3)
			return fail(builder, "a position in the geometry has more than three numbers");
		position[count++] = value_double(&value);
	}
	if (scan->wrong)
		return fail(builder, scan->wrong);
	if (count == 1 || (count == 0 && !may_be_empty))
		return fail(builder, "a position in the geometry has fewer than two numbers");
	if (count == 3 && !builder->z)
		builder->want_z = true;
	return put_position(builder, position);
}

/* `levels` arrays around positions: each is a count and its elements; parts of the multi types have a head of their own. */
static bool read_positions(struct json_scan *scan, struct builder *builder, int type, int levels)
{
	if (levels == 0)
		return read_position(scan, builder, type == POINT);
	size_t place;
	uint32_t count = 0;
	json_scan_space(scan);
	if (scan->at >= scan->end || *scan->at != '[')
		return fail(builder, "the geometry's coordinates are not nested as its type says");
	if (!put_count(builder, &place))
		return false;
	scan->at++;
	int part = type == MULTI_POINT ? POINT : type == MULTI_LINE_STRING ? LINE_STRING : type == MULTI_POLYGON ? POLYGON : 0;
	for (bool first = true; json_scan_element(scan, first); first = false, count++) {
		if (part && !put_head(builder, part))
			return false;
		if (!read_positions(scan, builder, part, levels - 1))
			return false;
	}
	if (scan->wrong)
		return fail(builder, scan->wrong);
	store_u32_little(builder->at + place, count);
	return true;
}

struct members {
	int type;
	struct value coordinates, geometries; /* `at` NULL: absent */
};

static bool read_members(struct json_scan *scan, struct builder *builder, struct members *members)
{
	struct value name, value;
	bool typed = false;
	memset(members, 0, sizeof *members);
	json_scan_space(scan);
	if (scan->at >= scan->end || *scan->at != '{')
		return fail(builder, "the geometry is no object");
	scan->at++;
	for (bool first = true; json_scan_member(scan, first, &name); first = false) {
		if (!json_scan_value(scan, &value))
			break;
		bool twice = false;
		if (value_is(&name, "type")) {
			twice = typed;
			typed = true;
			for (int i = 0; i < COLLECTION; i++)
				if (value_is(&value, types[i].name))
					members->type = i + 1;
		} else if (value_is(&name, "coordinates")) {
			twice = members->coordinates.at != NULL;
			members->coordinates = value;
		} else if (value_is(&name, "geometries")) {
			twice = members->geometries.at != NULL;
			members->geometries = value;
		}
		if (twice)
			return fail(builder, "the geometry has a member twice");
	}
	if (scan->wrong)
		return fail(builder, scan->wrong);
	if (!members->type)
		return fail(builder, "the geometry is of no type that GeoJSON has");
	return true;
}

static bool read_geometry(struct json_scan *scan, struct builder *builder, int depth)
{
	struct members members;
	if (depth > MOST_DEPTH)
		return fail(builder, "the geometry is nested too deeply");
	if (!read_members(scan, builder, &members) || !put_head(builder, members.type))
		return false;
	if (members.type != COLLECTION) {
		if (!members.coordinates.at)
			return fail(builder, "the geometry has no coordinates");
		struct json_scan inside = json_scan_of(members.coordinates.at, members.coordinates.count);
		return read_positions(&inside, builder, members.type, types[members.type - 1].levels);
	}
	if (!members.geometries.at || members.geometries.kind != VALUE_ARRAY)
		return fail(builder, "the geometry collection has no geometries");
	size_t place;
	uint32_t count = 0;
	if (!put_count(builder, &place))
		return false;
	struct json_scan inside = json_scan_of(members.geometries.at + 1, members.geometries.count - 1);
	for (bool first = true; json_scan_element(&inside, first); first = false, count++)
		if (!read_geometry(&inside, builder, depth + 1))
			return false;
	store_u32_little(builder->at + place, count);
	return true;
}

const char *geometry_from_geojson(const char *text, size_t count, uint8_t **out, size_t *out_count)
{
	struct builder builder = {0};
	for (int attempt = 0; attempt < 2; attempt++) {
		struct json_scan scan = json_scan_of(text, count);
		builder.count = 0;
		builder.z = builder.want_z;
		if (!read_geometry(&scan, &builder, 0))
			break;
		json_scan_space(&scan);
		if (scan.at != scan.end)
			fail(&builder, "the geometry has text behind it");
		if (builder.wrong || builder.z == builder.want_z)
			break;
	}
	if (builder.wrong) {
		free(builder.at);
		return builder.wrong;
	}
	*out = builder.at;
	*out_count = builder.count;
	return NULL;
}
