/* SPDX-License-Identifier: Apache-2.0
 * The `geo` entry and Parquet's own geometry types (https://geoparquet.org/releases/,
 * https://github.com/apache/parquet-format/blob/master/Geospatial.md). */
#include "source/geoparquet.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "engine/engine.h"
#include "geo/crs.h"

static recloser_status refuse(recloser_error *error, const struct source_request *request, const char *what)
{
	error_set(error, RECLOSER_REFUSED, "source.geo", "%s", what);
	return error_where(error, "%s", request->input->path);
}

/* ---- the entry ---- */

static recloser_status check_version(struct arena *arena, const struct source_request *request, const struct geoparquet *geo,
									 recloser_error *error)
{
	static const char *const known[] = {"0.1", "0.2", "0.3", "0.4", "1.0", "1.1", "2.0"};
	const char *version = json_get_text(geo->json, "version");
	if (!version)
		version = json_get_text(geo->json, "schema_version"); /* as 0.1 called it */
	if (!version)
		return refuse(error, request, "the GeoParquet metadata has no `version`");
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (text_starts(version, known[i]) && strchr(".-", version[3] ? version[3] : '.'))
			return RECLOSER_OK;
	return refuse(error, request,
				  arena_printf(arena, "the GeoParquet metadata is of version %s, which is not known", version));
}

static recloser_status check_members(struct arena *arena, const struct source_request *request, const struct geoparquet *geo,
									 recloser_error *error)
{
	const json_t *column = geo->column, *epoch = json_object_get(column, "epoch"), *bbox = json_object_get(column, "bbox");
	const char *edges = json_get_text(column, "edges"), *orientation = json_get_text(column, "orientation");
	if (!geo->encoding)
		return refuse(error, request, "the GeoParquet metadata does not say the geometry's `encoding`");
	if (edges && strcmp(edges, "planar") != 0 && strcmp(edges, "spherical") != 0)
		return refuse(error, request,
					  arena_printf(arena, "the GeoParquet metadata's `edges` is %s; planar or spherical is known", edges));
	if (orientation && strcmp(orientation, "counterclockwise") != 0)
		return refuse(error, request,
					  arena_printf(arena, "the GeoParquet metadata's `orientation` is %s; only counterclockwise is known",
								   orientation));
	if (epoch && !json_is_number(epoch))
		return refuse(error, request, "the GeoParquet metadata's `epoch` is not a number");
	size_t sides = json_array_size(bbox);
	bool sound = !bbox || sides == 4 || sides == 6;
	for (size_t i = 0; i < sides; i++)
		sound &= json_is_number(json_array_get(bbox, i));
	return sound ? RECLOSER_OK
				 : refuse(error, request, "the GeoParquet metadata's `bbox` is not a list of four or six numbers");
}

static recloser_status read_entry(struct arena *arena, const struct source_request *request, const char *text,
								  struct geoparquet *geo, recloser_error *error)
{
	recloser_error problem = {0};
	if (json_parse(arena, text, strlen(text), "the geo metadata", &geo->json, &problem) != RECLOSER_OK ||
		!json_is_object(geo->json))
		return refuse(error, request, "the GeoParquet metadata (key geo) is not a valid JSON object");
	RC_TRY(check_version(arena, request, geo, error));
	json_t *columns = json_object_get(geo->json, "columns");
	if (!json_is_object(columns))
		return refuse(error, request, "the GeoParquet metadata has no `columns`");
	geo->primary = json_get_text(geo->json, "primary_column");
	if (!geo->primary)
		return refuse(error, request, "the GeoParquet metadata has no `primary_column`");
	geo->column = json_object_get(columns, geo->primary);
	if (!json_is_object(geo->column))
		return refuse(
			error, request,
			arena_printf(arena, "the GeoParquet metadata names the primary column %s but does not describe it in `columns`",
						 geo->primary));
	geo->encoding = json_get_text(geo->column, "encoding");
	const json_t *covering = json_object_get(json_object_get(json_object_get(geo->column, "covering"), "bbox"), "xmin");
	geo->covering = json_string_value(json_array_get(covering, 0));
	return check_members(arena, request, geo, error);
}

recloser_status geoparquet_read(struct arena *arena, const struct source_request *request, const char *path,
								struct geoparquet *out, recloser_error *error)
{
	struct rows rows;
	const char *file = sql_text(arena, path);
	*out = (struct geoparquet){0};
	RC_TRY(engine_query(
		request->engine, arena, "read the file's metadata",
		arena_printf(arena, "SELECT try(decode(value)) FROM parquet_kv_metadata(%s) WHERE key = 'geo'::BLOB", file), &rows,
		error));
	if (rows.row_count) {
		const char *text = rows_at(&rows, 0, 0);
		return text ? read_entry(arena, request, text, out, error)
					: refuse(error, request, "the GeoParquet metadata (key geo) is not UTF-8");
	}
	RC_TRY(engine_query(
		request->engine, arena, "look for geometry columns",
		arena_printf(arena, "SELECT name FROM parquet_schema(%s) WHERE logical_type LIKE 'Geo%%Type(%%' LIMIT 1", file),
		&rows, error));
	out->primary = rows.row_count ? rows_at(&rows, 0, 0) : NULL;
	return RECLOSER_OK;
}

/* ---- CRS ---- */

/* Parquet's own types: "GeometryType(crs=srid:5070)", "GeographyType(crs=<null>, algorithm=SPHERICAL)". The text of a CRS is
 * free; srid:N is read as EPSG's number, projjson:NAME names an entry of the footer. */
static recloser_status native_crs(struct arena *arena, const struct source_request *request, const char *path,
								  const struct geoparquet *geo, struct source_facts *facts, recloser_error *error)
{
	struct rows rows;
	RC_TRY(
		engine_query(request->engine, arena, "look at the geometry column",
					 arena_printf(arena,
								  "WITH s AS (SELECT CAST(logical_type AS VARCHAR) AS t, regexp_extract(CAST(logical_type "
								  "AS VARCHAR), '^Geo[a-z]+Type\\(crs=((?s:.*))\\)$', 1) AS c"
								  " FROM parquet_schema(%s) WHERE name = %s LIMIT 1)"
								  " SELECT regexp_replace(c, ', algorithm=[^,]*$', ''), t LIKE 'Geography%%', (SELECT "
								  "try(decode(value)) FROM parquet_kv_metadata(%s)"
								  "   WHERE 'projjson:' || decode(key) = (SELECT regexp_replace(c, ', algorithm=[^,]*$', "
								  "'') FROM s) LIMIT 1) FROM s",
								  sql_text(arena, path), sql_text(arena, geo->primary), sql_text(arena, path)),
					 &rows, error));
	const char *crs = rows.row_count ? rows_at(&rows, 0, 0) : NULL,
			   *spherical = rows.row_count ? rows_at(&rows, 0, 1) : NULL;
	if (!crs || !*crs || strcmp(crs, "<null>") == 0)
		facts->crs_projjson = "OGC:CRS84";
	else if (text_starts(crs, "projjson:"))
		facts->crs_projjson = rows_at(&rows, 0, 2) ? rows_at(&rows, 0, 2) : crs;
	else
		facts->crs_projjson = text_starts(crs, "srid:") ? arena_printf(arena, "EPSG:%s", crs + 5) : crs;
	if (spherical && strcmp(spherical, "true") == 0)
		facts->geo_extra = "{\"edges\":\"spherical\"}";
	return RECLOSER_OK;
}

/* An absent CRS means OGC:CRS84, null means unknown; before 0.4 it was WKT, which may be there as well as PROJJSON. */
static recloser_status entry_crs(struct arena *arena, const struct source_request *request, const struct geoparquet *geo,
								 struct source_facts *facts, recloser_error *error)
{
	const json_t *crs = json_object_get(geo->column, "crs");
	if (!crs)
		facts->crs_projjson = "OGC:CRS84";
	else if (json_is_null(crs))
		facts->crs_unknown = true;
	else if (json_is_string(crs))
		facts->crs_projjson = json_string_value(crs);
	else if (json_is_object(crs))
		facts->crs_projjson = json_compact(arena, crs);
	else
		return refuse(error, request, "the GeoParquet metadata's `crs` is neither PROJJSON nor null");
	return RECLOSER_OK;
}

/* A CRS that nothing understands is the file's fault, and is told here with its name. An epoch dates coordinates on moving
 * ground; an ensemble of datums (WGS 84 as EPSG:4326) is known to two metres and can't have one. */
static recloser_status check_crs(struct arena *arena, const struct source_request *request, const struct geoparquet *geo,
								 const struct source_facts *facts, recloser_error *error)
{
	struct crs crs;
	recloser_error problem = {0};
	if (!facts->crs_projjson)
		return RECLOSER_OK;
	RC_TRY(geometry_ready(error));
	if (crs_read(arena, facts->crs_projjson, &crs, &problem) != RECLOSER_OK)
		return refuse(error, request,
					  arena_printf(arena, "the geometry's CRS is none that PROJ understands: %.200s", facts->crs_projjson));
	const json_t *epoch = json_object_get(geo->column, "epoch");
	if (epoch && strstr(crs.projjson, "\"datum_ensemble\""))
		return refuse(error, request,
					  arena_printf(arena,
								   "the GeoParquet metadata gives the epoch %g, but its CRS, %s, rests on an ensemble of "
								   "datums and can't have one",
								   json_number_value(epoch), crs.id ? crs.id : "without a code"));
	return RECLOSER_OK;
}

recloser_status geoparquet_facts(struct arena *arena, const struct source_request *request, const char *path,
								 const struct geoparquet *geo, struct source_facts *facts, recloser_error *error)
{
	static const char *const kept[] = {"edges", "orientation", "epoch"};
	if (!geo->primary)
		return RECLOSER_OK;
	if (!geo->json) {
		RC_TRY(native_crs(arena, request, path, geo, facts, error));
		return check_crs(arena, request, geo, facts, error);
	}
	json_t *extra = json_new_object(arena);
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
		json_t *value = json_object_get(geo->column, kept[i]);
		if (value)
			json_put(arena, extra, kept[i], value);
	}
	if (json_object_size(extra))
		facts->geo_extra = json_compact(arena, extra);
	RC_TRY(entry_crs(arena, request, geo, facts, error));
	return check_crs(arena, request, geo, facts, error);
}

/* ---- the column ---- */

static const char *const arrow_encodings[] = {"point",      "linestring",      "polygon",
											  "multipoint", "multilinestring", "multipolygon"};

recloser_status geoparquet_wkb(struct arena *arena, const struct source_request *request, const struct geoparquet *geo,
							   const char *expression, const char *type, const char **out, recloser_error *error)
{
	static const char *const lists[] = {"", "[]", "[][]", "[]", "[][]", "[][][]"};
	if (text_starts(type, "GEOMETRY")) {
		*out = arena_printf(arena, "CAST(st_asbinary(%s) AS BLOB)", expression);
		return RECLOSER_OK;
	}
	if (!geo->encoding || strcmp(geo->encoding, "WKB") == 0) {
		*out = expression;
		return strcmp(type, "BLOB") == 0 ? RECLOSER_OK : refuse(error, request, "the geometry column does not hold bytes");
	}
	for (size_t i = 0; i < sizeof arrow_encodings / sizeof *arrow_encodings; i++)
		if (strcmp(geo->encoding, arrow_encodings[i]) == 0) {
			static const char *const members[] = {"", ", z DOUBLE", ", m DOUBLE", ", z DOUBLE, m DOUBLE"};
			for (size_t k = 0; k < sizeof members / sizeof *members; k++)
				if (strcmp(type, arena_printf(arena, "STRUCT(x DOUBLE, y DOUBLE%s)%s", members[k], lists[i])) == 0) {
					*out = arena_printf(arena, "rc_arrow_wkb('%s', %s)", geo->encoding, expression);
					return RECLOSER_OK;
				}
			return refuse(
				error, request,
				arena_printf(arena, "the geometry column is said to be encoded as %s, but is %s", geo->encoding, type));
		}
	refuse(error, request,
		   arena_printf(arena, "the geometry is encoded as %s, which GeoParquet does not know", geo->encoding));
	return error_hint(error, "write it as WKB: ogr2ogr -lco GEOMETRY_ENCODING=WKB out.parquet in.parquet");
}

/* ---- what rows must keep to ---- */

static void claim(struct arena *arena, struct text *cases, const struct geoparquet *geo, const char *condition,
				  const char *reason, const char *value)
{
	text_addf(cases, " WHEN %s THEN %s || chr(31) || %s || chr(31) || coalesce(%s, '')", condition, sql_text(arena, reason),
			  sql_text(arena, geo->primary), value);
}

/* From 1.0 on the types are a list; empty means not known. It can't say M, and files with heights leave "Z" out often enough
 * (those of the specification's own test data do), so a type is taken to include its forms with more dimensions. */
static void claim_types(struct arena *arena, struct text *cases, const struct geoparquet *geo, const char *wkb)
{
	const json_t *types = json_object_get(geo->column, "geometry_types");
	struct text list = text_on(arena);
	struct strings names = {0};
	for (size_t i = 0; i < json_array_size(types); i++) {
		const char *name = json_string_value(json_array_get(types, i));
		if (!name)
			continue;
		text_addf(&list, "%s%s", list.length ? ", " : "", sql_text(arena, name));
		strings_add(arena, &names, name);
	}
	if (list.length == 0)
		return;
	const char *type = arena_printf(arena, "rc_wkb_type(%s)", wkb);
	/* Nearly every row is of a type as declared; only where it is not is it looked at without its dimensions. */
	claim(arena, cases, geo,
		  arena_printf(
			  arena,
			  "CASE WHEN %s IN (%s) THEN FALSE ELSE %s IS NOT NULL AND replace(%s, ' ZM', ' Z') NOT IN (%s)"
			  " AND regexp_replace(%s, ' Z?M?$', '') NOT IN (%s) END",
			  type, list.at, type, type, list.at, type, list.at),
		  arena_printf(arena, "a geometry type that the file's metadata does not declare (geometry_types: %s)",
					   strings_join(arena, &names, ", ")),
		  type);
}

/* Boxes are often written as floats: half a unit in their last place is no contradiction. With xmin over xmax the box goes
 * across the antimeridian, and every longitude may be in it. */
static void claim_bbox(struct arena *arena, struct text *cases, const struct geoparquet *geo, const char *wkb)
{
	const json_t *bbox = json_object_get(geo->column, "bbox");
	size_t sides = json_array_size(bbox), half = sides / 2;
	if (sides == 0)
		return;
	double b[4] = {json_number_value(json_array_get(bbox, 0)), json_number_value(json_array_get(bbox, 1)),
				   json_number_value(json_array_get(bbox, half)), json_number_value(json_array_get(bbox, half + 1))};
	if (b[0] > b[2]) {
		b[0] = -180;
		b[2] = 180;
	}
	for (int i = 0; i < 4; i++)
		b[i] += (i < 2 ? -1 : 1) * (fabs(b[i]) * 0x1p-23 + 0x1p-40);
	const char *outside = arena_printf(arena, "rc_wkb_outside(%s, %.17g, %.17g, %.17g, %.17g)", wkb, b[0], b[1], b[2], b[3]);
	claim(arena, cases, geo, arena_printf(arena, "%s IS NOT NULL", outside),
		  "outside the bbox that the file's metadata declares", outside);
}

const char *geoparquet_faults(struct arena *arena, const struct geoparquet *geo, const char *wkb)
{
	struct text cases = text_on(arena);
	const char *stored = arena_printf(arena, "rc_wkb(%s)", wkb);
	if (geo->column) {
		claim_types(arena, &cases, geo, wkb);
		claim_bbox(arena, &cases, geo, wkb);
		if (json_get_text(geo->column, "orientation"))
			claim(arena, &cases, geo, arena_printf(arena, "rc_wkb_clockwise(%s)", stored),
				  "a ring is wound clockwise, but the file's metadata declares the orientation counterclockwise", "NULL");
	}
	return cases.length ? arena_printf(arena, "CASE%s END", cases.at) : "CAST(NULL AS VARCHAR)";
}

/* A line from 170 to -170 goes the short way over the antimeridian when its edges are spherical, and right round the globe
 * when whoever drew it thought of a plane. Both look the same, so they are counted and told, not set aside. */
recloser_status geoparquet_notes(struct arena *arena, const struct source_request *request, const char *path,
								 const struct geoparquet *geo, const char *wkb, struct source_facts *facts,
								 recloser_error *error)
{
	struct rows rows;
	const char *edges = geo->column ? json_get_text(geo->column, "edges") : NULL;
	if (!edges || strcmp(edges, "spherical") != 0)
		return RECLOSER_OK;
	RC_TRY(engine_query(
		request->engine, arena, arena_printf(arena, "read %s", request->input->name),
		arena_printf(arena,
					 "SELECT count(*) FROM read_parquet(%s, hive_partitioning=false) WHERE rc_wkb_long_edge(rc_wkb(%s))",
					 sql_text(arena, path), wkb),
		&rows, error));
	if (rows_int(&rows, 0, 0))
		strings_add(arena, &facts->notes,
					arena_printf(arena,
								 "%s row%s with an edge over more than 180 degrees of longitude: as edges are spherical "
								 "here, it crosses the antimeridian",
								 rows_at(&rows, 0, 0), rows_int(&rows, 0, 0) == 1 ? "" : "s"));
	return RECLOSER_OK;
}
