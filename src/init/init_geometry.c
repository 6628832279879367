/* SPDX-License-Identifier: Apache-2.0
 * Where the geometry is: the source's own, a column of well-known text or binary, or a pair of longitude and latitude known by
 * its names and its range. A CRS that the file does not say is assumed only where the numbers can be degrees, and said to be. */
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "batch/convert.h"
#include "init/init.h"

static const char *const lon_words[] = {"lon", "lng", "long", "longitude", "longitud", "xcoord", "x", NULL};
static const char *const lat_words[] = {"lat", "latitude", "latitud", "ycoord", "y", NULL};

/* SQL: the column as a number, NULL where it has none. */
static const char *number_of(const struct init *init, const struct init_column *column)
{
	static const struct source_facts plain;
	const char *name = arena_printf(init->arena, "c%zu", column->index);
	if (!column->text)
		return arena_printf(init->arena, "try_cast(%s AS DOUBLE)", name);
	struct column rule = column->rule;
	rule.type = TYPE_DOUBLE;
	return convert_text(init->arena, &rule, TYPE_DOUBLE, &plain, name).value;
}

static void put(struct init *init, const char *line, const char *comment)
{
	init->geometry_line = line;
	init->geometry_comment = comment;
}

/* Degrees? The box of the geometry in `sql` (a BLOB over init_0), and how many rows have none. */
struct extent {
	bool any, degrees;
	uint64_t missing, faulty;
	const char *fault;
};
static recloser_status extent_of(struct init *init, const char *sql, struct extent *out, recloser_error *error)
{
	struct rows rows;
	RC_TRY(engine_query(init->engine, init->arena, "look at the geometry", arena_printf(init->arena,
	    "SELECT count(b), min(b.xmin) >= -180.1 AND max(b.xmax) <= 180.1 AND min(b.ymin) >= -90.1 AND max(b.ymax) <= 90.1,"
	    " count(*) FILTER (g IS NULL), count(*) FILTER (f IS NOT NULL), any_value(f ORDER BY _row)"
	    " FROM (SELECT _row, g, rc_wkb_fault(g) AS f, rc_bbox(rc_wkb(g)) AS b FROM (SELECT _row, %s AS g FROM init_0))", sql), &rows, error));
	out->any = rows_int(&rows, 0, 0) > 0;
	out->degrees = rows_at(&rows, 0, 1) && strcmp(rows_at(&rows, 0, 1), "true") == 0;
	out->missing = (uint64_t)rows_int(&rows, 0, 2);
	out->faulty = (uint64_t)rows_int(&rows, 0, 3);
	out->fault = rows_at(&rows, 0, 4);
	return RECLOSER_OK;
}

static const char *assumed(const struct extent *extent)
{
	return extent->degrees ? "EPSG:4326" : "unknown";
}

static const char *assumed_comment(struct arena *arena, const struct extent *extent, const char *what)
{
	return extent->degrees ? arena_printf(arena, "%s; the CRS is assumed: the file does not say it", what)
	                       : arena_printf(arena, "%s; the file does not say its CRS, and these are no degrees: write its code", what);
}

static const char *missing_part(struct init *init, uint64_t missing)
{
	if (missing == 0)
		return "";
	strings_add(init->arena, &init->said, arena_printf(init->arena, "%s no geometry: `missing: allow` keeps them.", init_rows_have(init->arena, missing)));
	return ", missing: allow";
}

/* ---- the source's own ---- */

static recloser_status own_geometry(struct init *init, recloser_error *error)
{
	struct arena *arena = init->arena;
	const struct source_facts *facts = &init->source->facts;
	struct extent extent;
	struct crs crs = {0};
	RC_TRY(extent_of(init, arena_printf(arena, "CAST(c%d AS BLOB)", facts->geometry_column), &extent, error));
	if (facts->crs_projjson)
		RC_TRY(crs_read(arena, facts->crs_projjson, &crs, error));
	const char *curves = extent.fault && strstr(extent.fault, "curve") ? ", curves: linearize" : "";
	if (extent.faulty)
		strings_add(arena, &init->said, arena_printf(arena, "%s geometr%s: %s%s.", text_count(arena, extent.faulty), extent.faulty == 1 ? "y" : "ies",
		            extent.fault, *curves ? "; `curves: linearize` makes lines of them" : ""));
	const char *missing = missing_part(init, extent.missing + (extent.fault && strstr(extent.fault, "empty") ? extent.faulty : 0));
	if (facts->crs_projjson || facts->crs_unknown) {
		const char *id = crs.id ? crs.id : facts->crs_projjson ? "a CRS without a code" : "an unknown CRS, as it says";
		if (!*curves && !*missing)
			put(init, NULL, arena_printf(arena, "geometry: the file's own, in %s", id));
		else
			put(init, arena_printf(arena, "geometry: {%s}", *curves ? arena_printf(arena, "%s%s", curves + 2, missing) : missing + 2),
			    arena_printf(arena, "the file's own, in %s", id));
		return RECLOSER_OK;
	}
	put(init, arena_printf(arena, "geometry: {crs: %s%s%s}", assumed(&extent), curves, missing), assumed_comment(arena, &extent, "the file's own"));
	return RECLOSER_OK;
}

/* ---- well-known text and binary ---- */

static recloser_status try_shape(struct init *init, struct init_column *column, bool wkt, bool *taken, recloser_error *error)
{
	struct arena *arena = init->arena;
	struct rows rows;
	struct extent extent;
	if (wkt)
		RC_TRY(geometry_ready(error));
	const char *shape = arena_printf(arena, wkt ? "rc_wkt(c%zu)" : "rc_hex(c%zu)", column->index);
	const char *srid = arena_printf(arena, wkt ? "rc_wkt_srid(c%zu)" : "rc_wkb_srid(rc_hex(c%zu))", column->index);
	RC_TRY(extent_of(init, shape, &extent, error));
	if (!extent.any || (extent.missing - (init->rows - column->filled) + extent.faulty) * 10 > column->filled)
		return RECLOSER_OK;
	RC_TRY(engine_query(init->engine, arena, "look for the SRID", arena_printf(arena, "SELECT min(%s), max(%s) FROM init_0", srid, srid), &rows, error));
	const char *low = rows_at(&rows, 0, 0), *high = rows_at(&rows, 0, 1);
	bool said = low && strcmp(low, high) == 0;
	const char *missing = missing_part(init, init->rows - column->filled);
	put(init, arena_printf(arena, "geometry: {crs: %s, from: {%s: %s}%s}", said ? arena_printf(arena, "EPSG:%s", low) : assumed(&extent), wkt ? "wkt" : "wkb",
	                       init_scalar(arena, column->source_name[0] ? text_squeezed(arena, column->source_name) : column->name), missing),
	    said ? "the SRID stands in the values" : assumed_comment(arena, &extent, wkt ? "well-known text" : "hexadecimal WKB"));
	column->coordinate = *taken = true;
	return RECLOSER_OK;
}

static recloser_status shapes(struct init *init, bool *taken, recloser_error *error)
{
	for (size_t i = 0; i < init->column_count && !*taken; i++) {
		struct init_column *column = &init->columns[i];
		if (!column->text || !column->filled || !column->source_name[0])
			continue;
		struct rows rows;
		RC_TRY(engine_query(init->engine, init->arena, "look for shapes", arena_printf(init->arena,
		    "SELECT count(*) FILTER (regexp_matches(upper(left(v, 60)), '^(SRID=[0-9]+;)? *(POINT|LINESTRING|POLYGON|MULTI|GEOMETRYCOLLECTION)[ ZM]*(\\(|EMPTY)')),"
		    " count(*) FILTER (regexp_matches(v, '^0[01][0-9A-Fa-f]{20,}$')), count(*) FROM (SELECT c%zu AS v FROM init_0 WHERE c%zu IS NOT NULL LIMIT 500)", i, i),
		    &rows, error));
		int64_t total = rows_int(&rows, 0, 2);
		if (rows_int(&rows, 0, 0) * 10 >= total * 9)
			RC_TRY(try_shape(init, column, true, taken, error));
		else if (rows_int(&rows, 0, 1) * 10 >= total * 9)
			RC_TRY(try_shape(init, column, false, taken, error));
	}
	return RECLOSER_OK;
}

/* ---- longitude and latitude ---- */

/* The column whose name says it, the earliest word of the list first, and whose values are numbers. */
static struct init_column *by_name(struct init *init, const char *const *words)
{
	for (size_t w = 0; words[w]; w++) {
		const char *const one[] = {words[w], NULL};
		for (size_t i = 0; i < init->column_count; i++) {
			struct init_column *column = &init->columns[i];
			bool number = column->type == TYPE_DOUBLE || column->type == TYPE_INTEGER;
			if (number && !column->geometry && column->source_name[0] && init_name_has(init->arena, column->source_name, one))
				return column;
		}
	}
	return NULL;
}

static recloser_status lon_lat(struct init *init, recloser_error *error)
{
	struct arena *arena = init->arena;
	struct init_column *lon = by_name(init, lon_words), *lat = by_name(init, lat_words);
	struct rows rows;
	if (!lon || !lat || lon == lat)
		return RECLOSER_OK;
	const char *x = number_of(init, lon), *y = number_of(init, lat);
	RC_TRY(engine_query(init->engine, arena, "look at the coordinates", arena_printf(arena,
	    "SELECT count(*) FILTER (x IS NOT NULL AND y IS NOT NULL), count(*) FILTER (abs(x) <= 180 AND abs(y) <= 90),"
	    " count(*) FILTER (abs(x) <= 90 AND abs(y) <= 180), count(*) FILTER (x IS NULL AND y IS NULL) FROM (SELECT %s AS x, %s AS y FROM init_0)", x, y),
	    &rows, error));
	int64_t both = rows_int(&rows, 0, 0), inside = rows_int(&rows, 0, 1), swapped = rows_int(&rows, 0, 2);
	if (both == 0)
		return RECLOSER_OK;
	if (inside * 100 < both * 95) {
		const char *why = swapped * 100 >= both * 95 ? "longitude and latitude seem to be swapped" : "they are outside of degrees: a projected CRS? then say which";
		strings_add(arena, &init->hints, arena_printf(arena, "geometry: {crs: EPSG:4326, from: {lon: %s, lat: %s}}   # %s", init_scalar(arena, lon->name),
		                                              init_scalar(arena, lat->name), why));
		return RECLOSER_OK;
	}
	if (inside < both)
		strings_add(arena, &init->said, arena_printf(arena, "%s coordinates that are no degrees, and will be quarantined.",
		                                             init_rows_have(arena, (uint64_t)(both - inside))));
	lon->coordinate = lat->coordinate = true;
	struct init_column *two[] = {lon, lat};
	for (int i = 0; i < 2; i++)
		if (two[i]->text) {
			two[i]->type = two[i]->rule.type = TYPE_DOUBLE;
			two[i]->listed = true;
		}
	const char *missing = missing_part(init, (uint64_t)rows_int(&rows, 0, 3));
	for (int i = 0; i < 2; i++)
		two[i]->listed = true;
	put(init, arena_printf(arena, "geometry: {crs: EPSG:4326, from: {lon: %s, lat: %s}%s}", init_scalar(arena, lon->name), init_scalar(arena, lat->name), missing),
	    "the CRS is assumed: the file does not say it");
	return RECLOSER_OK;
}

recloser_status init_geometry(struct init *init, recloser_error *error)
{
	bool taken = false;
	if (init->source->facts.geometry_column >= 0)
		return own_geometry(init, error);
	RC_TRY(shapes(init, &taken, error));
	return taken ? RECLOSER_OK : lon_lat(init, error);
}
