/* SPDX-License-Identifier: Apache-2.0
 * Reference systems by name or definition, and how far their coordinates reach. */
#include "geo/crs.h"

#include <math.h>
#include <string.h>

#include "base/gdal.h"
#include "geo/quiet.h"
#include "geo/srs.h"

/* What PROJ gave. */
struct found {
	char *projjson;
	char id[64];
	bool geographic;
	double bounds[4];
};

/* PROJ's own guessing also opens files and addresses that a text may name, so only the forms that cannot be one pass. */
static OGRErr set_from_text(OGRSpatialReferenceH srs, const char *text)
{
	text += strspn(text, " \t\r\n");
	char name[64];
	if (strncmp(text, "OGC:", 4) == 0 && strlen(text) < 40) {
		/* By the short name GDAL makes the system itself, without its authority. */
		snprintf(name, sizeof name, "urn:ogc:def:crs:OGC::%s", text + 4);
		text = name;
	}
	bool address = strncmp(text, "http://www.opengis.net/def/crs/", 31) == 0 ||
				   strncmp(text, "http://opengis.net/def/crs/", 27) == 0 ||
				   strncmp(text, "https://www.opengis.net/def/crs/", 32) == 0;
	if (*text == '{' || address || (strchr(text, ':') && !strpbrk(text, "[/\\")))
		return gdal()->OSRSetFromUserInput(srs, text);
	if (strchr(text, '[')) {
		char *rest = (char *)text;
		return gdal()->OSRImportFromWkt(srs, &rest);
	}
	return *text == '+' ? gdal()->OSRImportFromProj4(srs, text) : OGRERR_UNSUPPORTED_SRS;
}

void srs_free(OGRSpatialReferenceH srs)
{
	if (srs)
		gdal()->OSRRelease(srs); /* complains about NULL */
}

OGRSpatialReferenceH srs_new(const char *text)
{
	OGRSpatialReferenceH srs = gdal()->OSRNewSpatialReference(NULL);
	if (!srs)
		return NULL;
	if (set_from_text(srs, text) != OGRERR_NONE) {
		gdal()->OSRRelease(srs);
		return NULL;
	}
	gdal()->OSRSetAxisMappingStrategy(srs, OAMS_TRADITIONAL_GIS_ORDER);
	return srs;
}

static void set_bounds(double bounds[4], double minx, double miny, double maxx, double maxy)
{
	bounds[0] = minx;
	bounds[1] = miny;
	bounds[2] = maxx;
	bounds[3] = maxy;
}

/* The area of use in the system's own units, widened by half its width and height on each side: publishers do use a
 * zone beyond its edge, and what the bounds are for is to find swapped, scaled and foreign coordinates. */
static bool projected_bounds(OGRSpatialReferenceH srs, double bounds[4])
{
	double west, south, east, north, box[4];
	if (!gdal()->OSRGetAreaOfUse(srs, &west, &south, &east, &north, NULL) || west < -180)
		return false;
	OGRSpatialReferenceH degrees = srs_new("OGC:CRS84");
	OGRCoordinateTransformationH transformation = degrees ? gdal()->OCTNewCoordinateTransformation(degrees, srs) : NULL;
	bool right = transformation &&
				 gdal()->OCTTransformBounds(transformation, west, south, east, north, &box[0], &box[1], &box[2], &box[3], 21);
	gdal()->OCTDestroyCoordinateTransformation(transformation);
	srs_free(degrees);
	if (!right || !isfinite(box[0]) || !isfinite(box[1]) || !isfinite(box[2]) || !isfinite(box[3]))
		return false;
	double x = (box[2] - box[0]) / 2, y = (box[3] - box[1]) / 2;
	if (x < 0 || y < 0)
		return false;
	set_bounds(bounds, box[0] - x, box[1] - y, box[2] + x, box[3] + y);
	return true;
}

static void find_bounds(OGRSpatialReferenceH srs, struct found *found)
{
	if (found->geographic) {
		/* 180 degrees in the system's unit, which is a gradian in some old ones. */
		double radians = gdal()->OSRGetAngularUnits(srs, NULL);
		double half = fabs(radians - M_PI / 180) < 1e-12 || !(radians > 0) ? 180 : M_PI / radians;
		set_bounds(found->bounds, -half, -half / 2, half, half / 2);
	} else if (!gdal()->OSRIsProjected(srs) || !projected_bounds(srs, found->bounds)) {
		set_bounds(found->bounds, -INFINITY, -INFINITY, INFINITY, INFINITY);
	}
}

static bool find(const char *text, struct found *found)
{
	static const char *const one_line[] = {"MULTILINE=NO", NULL};
	OGRSpatialReferenceH srs = srs_new(text);
	if (!srs)
		return false;
	bool right = gdal()->OSRExportToPROJJSON(srs, &found->projjson, one_line) == OGRERR_NONE && found->projjson;
	if (right) {
		const char *authority = gdal()->OSRGetAuthorityName(srs, NULL), *code = gdal()->OSRGetAuthorityCode(srs, NULL);
		if (authority && code)
			snprintf(found->id, sizeof found->id, "%s:%s", authority, code);
		found->geographic = gdal()->OSRIsGeographic(srs);
		find_bounds(srs, found);
	}
	srs_free(srs);
	return right;
}

static void free_found(void *found)
{
	gdal()->VSIFree(((struct found *)found)->projjson);
}

recloser_status crs_read(struct arena *arena, const char *text, struct crs *out, recloser_error *error)
{
	/* On the arena before PROJ fills it, so that running out of memory below leaks nothing. */
	struct found *found = arena_alloc(arena, sizeof *found);
	struct quiet quiet;
	RC_TRY(gdal_load(error));
	arena_defer(arena, free_found, found);
	quiet_begin(&quiet);
	bool right = find(text, found);
	quiet_end(&quiet);
	if (!right) {
		error_set(error, RECLOSER_USAGE, "crs.unknown", "\"%.200s\" is no coordinate reference system that PROJ knows%s%s",
				  text, quiet.text[0] ? ": " : "", quiet.text);
		return error_hint(error, "write a code such as EPSG:4326 or OGC:CRS84, or the system's WKT or PROJJSON");
	}
	out->projjson = found->projjson;
	out->id = found->id[0] ? found->id : NULL;
	out->geographic = found->geographic;
	memcpy(out->bounds, found->bounds, sizeof out->bounds);
	return RECLOSER_OK;
}

bool crs_same(const struct crs *a, const struct crs *b)
{
	static const char *const loosely[] = {"CRITERION=EQUIVALENT_EXCEPT_AXIS_ORDER_GEOGCRS",
										  "IGNORE_DATA_AXIS_TO_SRS_AXIS_MAPPING=YES", NULL};
	if (!a->projjson || !b->projjson)
		return a->projjson == b->projjson;
	if (strcmp(a->projjson, b->projjson) == 0)
		return true;
	struct quiet quiet;
	quiet_begin(&quiet);
	OGRSpatialReferenceH one = srs_new(a->projjson), other = srs_new(b->projjson);
	bool same = one && other && gdal()->OSRIsSameEx(one, other, loosely);
	srs_free(one);
	srs_free(other);
	quiet_end(&quiet);
	return same;
}
