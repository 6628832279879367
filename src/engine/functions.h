/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off: a table */
/* The functions that recloser adds to the engine. All but those that put values aside are pure; all treat NULL as described.
 *
 *   rc_key(a, b, ...) -> VARCHAR            the key of these fields (any identity type; NULL is Python's None); NULL when a
 *                                           field has no form in Python: a year outside 1 to 9999, infinity, nanoseconds
 *   rc_key_escaped(a, b, ...)               the same with `key: {escape: true}`
 *   rc_text(a) -> VARCHAR                   Python's str() of one value; NULL stays NULL
 *   rc_point(x, y) -> BLOB                  stored WKB; NULL when either is NULL
 *   rc_segment(x0, y0, x1, y1) -> BLOB
 *   rc_wkb(BLOB) -> BLOB                    any WKB or EWKB to the stored form; NULL when it is not sound (empty is kept)
 *   rc_wkb_fault(BLOB) -> VARCHAR           NULL when sound, else why not ("the geometry is empty" too)
 *   rc_wkb_outside(BLOB, minx, miny, maxx, maxy) -> VARCHAR   NULL when inside, else "longitude 181 is outside -180 to 180" form
 *   rc_wkb_swapped(BLOB, minx, miny, maxx, maxy) -> BOOLEAN   outside as it is, inside once x and y are exchanged
 *   rc_wkb_srid(BLOB) -> INTEGER            of an EWKB; NULL: none
 *   rc_wkb_type(BLOB) -> VARCHAR            "Point", "MultiPolygon Z"
 *   rc_wkb_clockwise(BLOB) -> BOOLEAN      of the stored form: a ring is wound against counterclockwise orientation
 *   rc_wkb_long_edge(BLOB) -> BOOLEAN      of the stored form: an edge over more than 180 degrees of longitude
 *   rc_arrow_wkb(VARCHAR, ANY) -> BLOB     GeoArrow's lists of structs to WKB; the word is the encoding, "linestring"
 *   rc_hex(VARCHAR) -> BLOB                 NULL when it is no hexadecimal text
 *   rc_wkt(VARCHAR) -> BLOB                 WKT or EWKT, SRID dropped; NULL when it is none
 *   rc_wkt_srid(VARCHAR) -> INTEGER
 *   rc_linearize(BLOB) -> BLOB
 *   rc_invalid(BLOB) -> VARCHAR             GEOS' reason; NULL when valid
 *   rc_point_on_surface(BLOB) -> BLOB
 *   rc_centroid(BLOB) -> BLOB
 *   rc_transform(BLOB, from VARCHAR, to VARCHAR) -> BLOB   PROJJSON texts; NULL when it can't be transformed
 *   rc_bbox(BLOB) -> STRUCT(xmin FLOAT, ymin FLOAT, xmax FLOAT, ymax FLOAT)   NULL for NULL and empty
 *   rc_hilbert(BLOB, minx, miny, maxx, maxy) -> UBIGINT
 *   rc_aside_text(VARCHAR) -> UHUGEINT      puts the value into a file and gives its place there; not pure. Where the engine may spill
 *   rc_text_at(UHUGEINT) -> VARCHAR         the value at a place
 *   rc_aside_bytes(BLOB) -> UHUGEINT, rc_bytes_at(UHUGEINT) -> BLOB
 *   rc_twice(UBIGINT) -> VARCHAR            an aggregate: the numbers that occur more than once, "17,4711", "" when none does;
 *                                           NULL when they are more than a million. NULL is no number
 *
 * and, made anew for each schema by content_register (engine/content.h), the aggregate rc_content(columns...). */
/* clang-format on */
#ifndef RECLOSER_ENGINE_FUNCTIONS_H
#define RECLOSER_ENGINE_FUNCTIONS_H

#include "engine/engine.h"

recloser_status functions_register(struct engine *engine, recloser_error *error) RC_CHECKED;

#endif
