/* SPDX-License-Identifier: Apache-2.0
 * Well-known binary, walked by hand: what it holds, whether it is sound, and the one form that is stored.
 * The stored form is little-endian ISO WKB (OGC 06-103r4): type + 1000 for Z, 2000 for M, 3000 for ZM, no SRID.
 * Pure functions: no allocation on arenas, no GDAL; callable from engine threads. */
#ifndef RECLOSER_GEO_WKB_H
#define RECLOSER_GEO_WKB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wkb_fault {
	WKB_SOUND,
	WKB_TRUNCATED,
	WKB_TRAILING,   /* bytes after the geometry */
	WKB_BYTE_ORDER, /* the mark is neither 0 nor 1 */
	WKB_TYPE,       /* an unknown type number */
	WKB_CURVE,      /* a curve, surface or TIN: sound, but not storable as it is */
	WKB_CHILD,      /* a part of another type or dimension than its parent allows */
	WKB_NOT_FINITE, /* x or y not finite (both NaN are an empty point), or z or m infinite (NaN there: no value) */
	WKB_RING,       /* a ring of fewer than four points or not closed */
	WKB_LINE,       /* a line of one point: GEOS refuses to read it */
	WKB_DEPTH,      /* nested deeper than 32 */
	WKB_EMPTY       /* sound, but without any coordinate */
};
const char *wkb_fault_text(enum wkb_fault fault); /* "the WKB ends too early" */

/* What is in one geometry, or, added up, in many. */
struct wkb_facts {
	double minimum[4], maximum[4]; /* x y z m; valid only as far as `any`, `any_z`, `any_m` say */
	bool any, any_z, any_m;
	uint32_t types; /* bit (type - 1) + 8 * dimension class (0 XY, 1 XYZ, 2 XYM, 3 XYZM), type 1 to 7 */
	int32_t srid;   /* of an EWKB; 0: none */
	bool standard;  /* it is already in the stored form; of many: all of them are */
};
/* Walk one geometry and add it to `facts`. EWKB flags and both byte orders are understood. WKB_EMPTY is reported only for
 * a geometry without coordinates; its type still counts. With any other fault `facts` stays as it was. */
enum wkb_fault wkb_walk(const void *bytes, size_t count, struct wkb_facts *facts);
void wkb_facts_add(struct wkb_facts *to, const struct wkb_facts *other);
/* Write the stored form of a sound geometry to `out` (at most `count` bytes); returns its length, 0 when it is not sound.
 * The NaN of empty points becomes the one quiet NaN, so that equal geometries have equal bytes. */
size_t wkb_store(const void *bytes, size_t count, void *out);
/* A point in the stored form: 21 bytes. */
enum { WKB_POINT_BYTES = 21 };
void wkb_point(double x, double y, uint8_t out[WKB_POINT_BYTES]);
/* A line of two points: 41 bytes. */
enum { WKB_SEGMENT_BYTES = 41 };
void wkb_segment(double x0, double y0, double x1, double y1, uint8_t out[WKB_SEGMENT_BYTES]);
/* Hexadecimal digits to bytes; 0 when it is no such text. `out` holds count / 2 bytes. */
size_t wkb_from_hex(const char *text, size_t count, uint8_t *out);

/* Of a geometry in the stored form: has a polygon an outer ring that runs clockwise, or a hole that does not? Has a line or a
 * ring an edge over more than 180 degrees of longitude? (wkb_course.c) */
bool wkb_clockwise(const void *bytes, size_t count);
bool wkb_long_edge(const void *bytes, size_t count);

/* Names as GeoParquet writes them, for bit `bit` of `types`: "Point", "MultiPolygon Z"; NULL for unused bits. */
const char *wkb_type_name(int bit);

/* The box in floats, rounded outward. */
float wkb_float_down(double value);
float wkb_float_up(double value);
/* Position along a Hilbert curve of order 16 over the given extent, of the box's centre; 0 for an empty geometry. */
uint64_t wkb_hilbert(const struct wkb_facts *facts, const double extent[4]);

#endif
