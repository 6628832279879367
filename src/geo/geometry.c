/* SPDX-License-Identifier: Apache-2.0
 * Geometry work that is left to GDAL and GEOS: text to WKB, curves to lines, validity, a point on a surface. Called from
 * the engine's threads, so everything here is on the heap and says what is wrong by a static text. */
#include "geo/crs.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "geo/quiet.h"
#include "geo/shape.h"
#include "geo/wkb.h"

static const char no_memory[] = "out of memory";

recloser_status geometry_ready(recloser_error *error)
{
	return gdal_load(error);
}

OGRGeometryH shape_from_wkb(const void *wkb, size_t count)
{
	OGRGeometryH shape = NULL;
	if (gdal()->OGR_G_CreateFromWkbEx(wkb, NULL, &shape, count) != OGRERR_NONE) {
		gdal()->OGR_G_DestroyGeometry(shape);
		return NULL;
	}
	return shape;
}

const char *shape_to_wkb(OGRGeometryH shape, uint8_t **out, size_t *out_count)
{
	size_t count = gdal()->OGR_G_WkbSizeEx(shape);
	uint8_t *bytes = malloc(count);
	if (!bytes)
		return no_memory;
	if (gdal()->OGR_G_ExportToIsoWkb(shape, wkbNDR, bytes) != OGRERR_NONE) {
		free(bytes);
		return "the geometry has no well-known binary form";
	}
	*out = bytes;
	*out_count = count;
	return NULL;
}

/* GDAL's reader takes "1x" for 1; a token that begins as a number must be one to its end. */
static bool number_token(const char *at, const char *end)
{
	if (*at == '+' || *at == '-')
		at++;
	const char *digits = at;
	while (at < end && isdigit((unsigned char)*at))
		at++;
	size_t count = (size_t)(at - digits);
	if (at < end && *at == '.') {
		digits = ++at;
		while (at < end && isdigit((unsigned char)*at))
			at++;
		count += (size_t)(at - digits);
	}
	if (count == 0)
		return false;
	if (at < end && (*at == 'e' || *at == 'E')) {
		at++;
		if (at < end && (*at == '+' || *at == '-'))
			at++;
		digits = at;
		while (at < end && isdigit((unsigned char)*at))
			at++;
		if (at == digits)
			return false;
	}
	return at == end;
}

static bool numbers_are_whole(const char *at)
{
	for (;;) {
		at += strspn(at, " \t\r\n(),");
		if (!*at)
			return true;
		size_t count = strcspn(at, " \t\r\n(),");
		if (strchr("0123456789+-.", *at) && !number_token(at, at + count))
			return false;
		at += count;
	}
}

/* "SRID=4326;" before the geometry, as PostGIS writes it. */
static const char *skip_srid(const char *text, int32_t *srid)
{
	if (strncasecmp(text, "SRID=", 5) != 0)
		return text;
	text += 5;
	int64_t number = 0;
	int digits = 0;
	for (; *text >= '0' && *text <= '9' && digits < 10; text++, digits++)
		number = number * 10 + (*text - '0');
	if (!digits || *text != ';' || number > INT32_MAX)
		return NULL;
	*srid = (int32_t)number;
	return text + 1;
}

static const char *wkt_to_wkb(char *text, uint8_t **out, size_t *out_count, int32_t *srid)
{
	static const char not_wkt[] = "not a geometry in well-known text";
	const char *at = skip_srid(text + strspn(text, " \t\r\n"), srid);
	if (!at || !numbers_are_whole(at))
		return not_wkt;
	char *rest = (char *)at;
	OGRGeometryH shape = NULL;
	OGRErr status = gdal()->OGR_G_CreateFromWkt(&rest, NULL, &shape);
	const char *wrong = not_wkt;
	if (status == OGRERR_NONE && shape && rest[strspn(rest, " \t\r\n;")] == '\0')
		wrong = shape_to_wkb(shape, out, out_count);
	gdal()->OGR_G_DestroyGeometry(shape);
	return wrong;
}

const char *geometry_from_wkt(const char *text, size_t count, uint8_t **out, size_t *out_count, int32_t *srid)
{
	*srid = 0;
	if (memchr(text, '\0', count))
		return "not a geometry in well-known text";
	char *copy = malloc(count + 1);
	if (!copy)
		return no_memory;
	memcpy(copy, text, count);
	copy[count] = '\0';
	struct quiet quiet;
	quiet_begin(&quiet);
	const char *wrong = wkt_to_wkb(copy, out, out_count, srid);
	quiet_end(&quiet);
	free(copy);
	return wrong;
}

/* Surfaces of flat patches become multi polygons; curves lines of 4 degrees a step. Takes `shape`; NULL when it fails. */
static OGRGeometryH linear(OGRGeometryH shape)
{
	OGRwkbGeometryType type = gdal()->OGR_GT_Flatten(gdal()->OGR_G_GetGeometryType(shape));
	if (type == wkbPolyhedralSurface || type == wkbTIN)
		return gdal()->OGR_G_ForceTo(shape, wkbMultiPolygon, NULL);
	if (type == wkbTriangle)
		return gdal()->OGR_G_ForceTo(shape, wkbPolygon, NULL);
	if (type != wkbGeometryCollection) {
		OGRGeometryH lines = gdal()->OGR_G_GetLinearGeometry(shape, 4.0, NULL);
		gdal()->OGR_G_DestroyGeometry(shape);
		return lines;
	}
	/* Part by part: a collection may hold both. */
	OGRGeometryH collection = gdal()->OGR_G_CreateGeometry(wkbGeometryCollection);
	gdal()->OGR_G_Set3D(collection, gdal()->OGR_G_Is3D(shape));
	gdal()->OGR_G_SetMeasured(collection, gdal()->OGR_G_IsMeasured(shape));
	for (int i = 0; collection && i < gdal()->OGR_G_GetGeometryCount(shape); i++) {
		OGRGeometryH part = linear(gdal()->OGR_G_Clone(gdal()->OGR_G_GetGeometryRef(shape, i)));
		if (!part || gdal()->OGR_G_AddGeometryDirectly(collection, part) != OGRERR_NONE) {
			gdal()->OGR_G_DestroyGeometry(part);
			gdal()->OGR_G_DestroyGeometry(collection);
			collection = NULL;
		}
	}
	gdal()->OGR_G_DestroyGeometry(shape);
	return collection;
}

const char *geometry_linearize(const void *wkb, size_t count, uint8_t **out, size_t *out_count)
{
	const char *wrong = "the curve cannot be turned into lines";
	struct quiet quiet;
	quiet_begin(&quiet);
	OGRGeometryH shape = shape_from_wkb(wkb, count);
	shape = shape ? linear(shape) : NULL;
	if (shape)
		wrong = shape_to_wkb(shape, out, out_count);
	gdal()->OGR_G_DestroyGeometry(shape);
	quiet_end(&quiet);
	return wrong;
}

const char *geometry_invalid(const void *wkb, size_t count, char *buffer, size_t size)
{
	struct quiet quiet;
	quiet_begin(&quiet);
	OGRGeometryH shape = shape_from_wkb(wkb, count);
	bool valid = shape && gdal()->OGR_G_IsValid(shape);
	gdal()->OGR_G_DestroyGeometry(shape);
	quiet_end(&quiet);
	if (valid)
		return NULL;
	/* GDAL passes on GEOS' reason as a warning. */
	snprintf(buffer, size, "%s", quiet.text[0] ? quiet.text : "the geometry is not valid");
	return buffer;
}

static OGRGeometryH centroid_of(OGRGeometryH shape)
{
	OGRGeometryH point = gdal()->OGR_G_CreateGeometry(wkbPoint);
	if (point && (gdal()->OGR_G_Centroid(shape, point) != OGRERR_NONE || gdal()->OGR_G_IsEmpty(point))) {
		gdal()->OGR_G_DestroyGeometry(point);
		point = NULL;
	}
	return point;
}

/* One point for a geometry; takes nothing that has none. */
static const char *point_of(const void *wkb, size_t count, OGRGeometryH (*find)(OGRGeometryH), const char *refused, uint8_t **out,
							size_t *out_count)
{
	struct quiet quiet;
	quiet_begin(&quiet);
	OGRGeometryH shape = shape_from_wkb(wkb, count);
	OGRGeometryH point = shape ? find(shape) : NULL;
	const char *wrong = point ? shape_to_wkb(point, out, out_count) : refused;
	gdal()->OGR_G_DestroyGeometry(point);
	gdal()->OGR_G_DestroyGeometry(shape);
	quiet_end(&quiet);
	return wrong;
}

const char *geometry_point_on_surface(const void *wkb, size_t count, uint8_t **out, size_t *out_count)
{
	return point_of(wkb, count, gdal()->OGR_G_PointOnSurface, "the geometry has no point on its surface", out, out_count);
}

const char *geometry_centroid(const void *wkb, size_t count, uint8_t **out, size_t *out_count)
{
	return point_of(wkb, count, centroid_of, "the geometry has no centroid", out, out_count);
}
