/* SPDX-License-Identifier: Apache-2.0
 * Coordinate reference systems and the geometry work that needs PROJ and GEOS, through GDAL's C API. */
#ifndef RECLOSER_GEO_CRS_H
#define RECLOSER_GEO_CRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct crs {
	const char *projjson; /* one line; NULL: unknown */
	const char *id;       /* "EPSG:4326", "OGC:CRS84", or NULL when it has no authority */
	bool geographic;
	double bounds[4]; /* minx, miny, maxx, maxy of what coordinates (x = east) may be; geographic: -180 -90 180 90 */
};

/* From "EPSG:4326", "OGC:CRS84", WKT or PROJJSON text. RECLOSER_USAGE when nothing understands it. */
recloser_status crs_read(struct arena *arena, const char *text, struct crs *out, recloser_error *error) RC_CHECKED;
/* Do two mean the same (axis order of text aside: GeoParquet's x is always east)? */
bool crs_same(const struct crs *a, const struct crs *b);

/* GDAL does the work of all below but geometry_from_geojson, and they can't say that it is missing: whoever will call one of
 * them asks this before. */
recloser_status geometry_ready(recloser_error *error) RC_CHECKED;

/* Thread-safe helpers called from engine functions: malloc only. The caller frees `*out` with free().
 * 0: fine; else a static text that says what is wrong. */
const char *geometry_from_wkt(const char *text, size_t count, uint8_t **out, size_t *out_count, int32_t *srid);
const char *geometry_from_geojson(const char *text, size_t count, uint8_t **out, size_t *out_count);
/* Curves, surfaces to lines and polygons; GEOS validity: NULL when valid, else GEOS' reason in `buffer`. */
const char *geometry_linearize(const void *wkb, size_t count, uint8_t **out, size_t *out_count);
const char *geometry_invalid(const void *wkb, size_t count, char *buffer, size_t size);
const char *geometry_point_on_surface(const void *wkb, size_t count, uint8_t **out, size_t *out_count);
const char *geometry_centroid(const void *wkb, size_t count, uint8_t **out, size_t *out_count);
/* A transformation that several threads may use; NULL when PROJ has none. */
struct transform;
struct transform *transform_new(const char *from_projjson, const char *to_projjson);
void transform_free(struct transform *transform);
const char *transform_wkb(struct transform *transform, const void *wkb, size_t count, uint8_t **out, size_t *out_count);

#endif
