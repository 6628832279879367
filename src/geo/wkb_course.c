/* SPDX-License-Identifier: Apache-2.0
 * How the points of a geometry follow each other: the winding of rings, and edges that span more than half the globe. Both
 * take the stored form (wkb_store) or what wkb_walk found sound in it; anything else is answered with false. */
#include "geo/wkb.h"

#include <math.h>

#include "geo/endian.h"

enum { LINE_STRING = 2, POLYGON = 3, MOST_DEPTH = 32 };

struct course {
	const uint8_t *at, *end;
	bool clockwise, long_edge;
	int depth;
};

static bool take_u32(struct course *course, uint32_t *value)
{
	if (course->end - course->at < 4)
		return false;
	*value = load_u32(course->at, !host_is_little);
	course->at += 4;
	return true;
}

/* Twice the signed area relative to the first point, so that large coordinates lose nothing in the difference. */
static bool walk_points(struct course *course, uint32_t count, size_t stride, double *area)
{
	double first[2] = {0, 0}, last[2] = {0, 0};
	*area = 0;
	if ((size_t)(course->end - course->at) / stride < count)
		return false;
	for (uint32_t i = 0; i < count; i++, course->at += stride) {
		double point[2] = {load_double(course->at, !host_is_little), load_double(course->at + 8, !host_is_little)};
		if (i == 0) {
			first[0] = point[0];
			first[1] = point[1];
		} else {
			course->long_edge |= fabs(point[0] - last[0]) > 180;
			*area += (last[0] - first[0]) * (point[1] - first[1]) - (point[0] - first[0]) * (last[1] - first[1]);
		}
		last[0] = point[0];
		last[1] = point[1];
	}
	return true;
}

static bool walk_polygon(struct course *course, size_t stride)
{
	uint32_t rings, points;
	double area;
	if (!take_u32(course, &rings))
		return false;
	for (uint32_t i = 0; i < rings; i++) {
		if (!take_u32(course, &points) || !walk_points(course, points, stride, &area))
			return false;
		course->clockwise |= i == 0 ? area < 0 : area > 0;
	}
	return true;
}

static bool walk_geometry(struct course *course)
{
	uint32_t code, count;
	double area;
	if (course->end - course->at < 5 || *course->at++ != 1 || !take_u32(course, &code))
		return false;
	unsigned dimension = code / 1000, type = code % 1000;
	if (dimension > 3 || type < 1 || type > 7)
		return false;
	size_t stride = 8 * (dimension == 0 ? 2 : dimension == 3 ? 4 : 3);
	if (type == 1)
		return walk_points(course, 1, stride, &area);
	if (type == POLYGON)
		return walk_polygon(course, stride);
	if (!take_u32(course, &count))
		return false;
	if (type == LINE_STRING)
		return walk_points(course, count, stride, &area);
	if (++course->depth > MOST_DEPTH)
		return false;
	while (count-- > 0)
		if (!walk_geometry(course))
			return false;
	course->depth--;
	return true;
}

bool wkb_clockwise(const void *bytes, size_t count)
{
	struct course course = {.at = bytes, .end = (const uint8_t *)bytes + count};
	return walk_geometry(&course) && course.clockwise;
}

bool wkb_long_edge(const void *bytes, size_t count)
{
	struct course course = {.at = bytes, .end = (const uint8_t *)bytes + count};
	return walk_geometry(&course) && course.long_edge;
}
