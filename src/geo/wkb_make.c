/* SPDX-License-Identifier: Apache-2.0
 * Around the walk: small geometries made by hand, names, boxes in floats, and the place of a box on a Hilbert curve. */
#include "geo/wkb.h"

#include <math.h>

#include "geo/endian.h"

static uint8_t *head(uint8_t *out, uint32_t type)
{
	*out = 1;
	store_u32_little(out + 1, type);
	return out + 5;
}

void wkb_point(double x, double y, uint8_t out[WKB_POINT_BYTES])
{
	out = head(out, 1);
	store_double_little(out, x);
	store_double_little(out + 8, y);
}

void wkb_segment(double x0, double y0, double x1, double y1, uint8_t out[WKB_SEGMENT_BYTES])
{
	out = head(out, 2);
	store_u32_little(out, 2);
	store_double_little(out + 4, x0);
	store_double_little(out + 12, y0);
	store_double_little(out + 20, x1);
	store_double_little(out + 28, y1);
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

size_t wkb_from_hex(const char *text, size_t count, uint8_t *out)
{
	if (count % 2)
		return 0;
	for (size_t i = 0; i < count; i += 2) {
		int high = digit(text[i]), low = digit(text[i + 1]);
		if (high < 0 || low < 0)
			return 0;
		out[i / 2] = (uint8_t)(high << 4 | low);
	}
	return count / 2;
}

const char *wkb_type_name(int bit)
{
	static const char *const names[4][7] = {
		{"Point", "LineString", "Polygon", "MultiPoint", "MultiLineString", "MultiPolygon", "GeometryCollection"},
		{"Point Z", "LineString Z", "Polygon Z", "MultiPoint Z", "MultiLineString Z", "MultiPolygon Z",
		 "GeometryCollection Z"},
		{"Point M", "LineString M", "Polygon M", "MultiPoint M", "MultiLineString M", "MultiPolygon M",
		 "GeometryCollection M"},
		{"Point ZM", "LineString ZM", "Polygon ZM", "MultiPoint ZM", "MultiLineString ZM", "MultiPolygon ZM",
		 "GeometryCollection ZM"},
	};
	return bit >= 0 && bit < 32 && bit % 8 < 7 ? names[bit / 8][bit % 8] : NULL;
}

float wkb_float_down(double value)
{
	float nearest = (float)value;
	return (double)nearest > value ? nextafterf(nearest, -INFINITY) : nearest;
}

float wkb_float_up(double value)
{
	float nearest = (float)value;
	return (double)nearest < value ? nextafterf(nearest, INFINITY) : nearest;
}

/* 0 to 65535, clamped; an extent without width puts everything at 0. */
static uint32_t cell(double minimum, double maximum, double low, double high)
{
	double centre = minimum / 2 + maximum / 2;
	double share = (centre - low) / (high - low);
	if (!(share > 0))
		return 0;
	return share >= 1 ? 65535 : (uint32_t)(share * 65536);
}

uint64_t wkb_hilbert(const struct wkb_facts *facts, const double extent[4])
{
	if (!facts->any)
		return 0;
	uint32_t x = cell(facts->minimum[0], facts->maximum[0], extent[0], extent[2]);
	uint32_t y = cell(facts->minimum[1], facts->maximum[1], extent[1], extent[3]);
	uint64_t position = 0;
	/* From the coarsest quadrant down: each level adds two bits and turns the frame so that the curve stays connected. */
	for (uint32_t side = 1u << 15; side > 0; side >>= 1) {
		uint32_t right = (x & side) ? 1 : 0, upper = (y & side) ? 1 : 0;
		position = position << 2 | ((3 * right) ^ upper);
		if (!upper) {
			if (right) {
				x = 65535 - x;
				y = 65535 - y;
			}
			uint32_t swap = x;
			x = y;
			y = swap;
		}
	}
	return position;
}
