/* SPDX-License-Identifier: Apache-2.0
 * Parquet and GeoParquet: read by the engine, but looked at here first. The engine is told not to interpret GeoParquet's
 * metadata by itself (enable_geoparquet_conversion is off), so that a broken geometry is a fault of its row and not the end
 * of the load. What the metadata says is checked against the GeoParquet specification (versions 0.1 to 1.1 and 2.0). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/json.h"
#include "engine/engine.h"
#include "source/source.h"

static recloser_status refuse(recloser_error *error, const struct input *input, const char *code, const char *what)
{
	error_set(error, RECLOSER_REFUSED, code, "%s", what);
	return error_where(error, "%s", input->path);
}

/* "PAR1" stands at both ends of a complete file; a cut file is told by its end before the engine meets it. */
static recloser_status check_marks(const struct input *input, recloser_error *error)
{
	char head[4] = {0}, tail[4] = {0};
	int descriptor = open(input->read_path, O_RDONLY | O_CLOEXEC);
	if (descriptor < 0)
		return error_errno(error, "io.open", errno, "open", input->path);
	bool complete = pread(descriptor, head, 4, 0) == 4 && input->bytes >= 12
	    && pread(descriptor, tail, 4, (off_t)input->bytes - 4) == 4;
	close(descriptor);
	if (!complete || memcmp(head, "PAR1", 4) != 0)
		return refuse(error, input, "source.not_parquet", "the file is not Parquet: it does not begin with PAR1");
	if (memcmp(tail, "PAR1", 4) == 0)
		return RECLOSER_OK;
	if (memcmp(tail, "PARE", 4) == 0)
		return refuse(error, input, "source.encrypted", "the Parquet file is encrypted");
	refuse(error, input, "source.cut", "the file is not complete Parquet: bad end marker (PAR1 expected in the last four bytes)");
	return error_hint(error, "it was cut off, probably in the download; fetch it again");
}

/* The engine takes *, ? and [ in a path for a pattern: such a file is read through a link with a plain name. */
static recloser_status plain_path(struct arena *arena, const struct source_request *request, const char **out, recloser_error *error)
{
	*out = request->input->read_path;
	if (!strpbrk(*out, "*?[{"))
		return RECLOSER_OK;
	char *absolute = realpath(*out, NULL);
	if (!absolute)
		return error_errno(error, "io.open", errno, "resolve", *out);
	arena_defer(arena, free, absolute);
	const char *link = arena_printf(arena, "%s/%.16s.parquet", request->spool, request->input->sha256);
	if (symlink(absolute, link) != 0 && errno != EEXIST)
		return error_errno(error, "io.link", errno, "link", link);
	*out = link;
	return RECLOSER_OK;
}

/* ---- what the `geo` entry says ---- */

struct geo {
	json_t *json;          /* NULL: no entry */
	const char *primary;
	json_t *column;        /* the primary column's object */
	bool native;           /* no entry, but a column of Parquet's own geometry type */
};

static recloser_status read_geo(struct arena *arena, const struct source_request *request, const char *path, struct geo *geo,
                                recloser_error *error)
{
	struct rows rows;
	RC_TRY(engine_query(request->engine, arena, "read the file's metadata",
	    arena_printf(arena, "SELECT decode(value) FROM parquet_kv_metadata(%s) WHERE key = 'geo'::BLOB", sql_text(arena, path)), &rows, error));
	if (rows.row_count == 0)
		return RECLOSER_OK;
	const char *text = rows_at(&rows, 0, 0);
	recloser_error problem = {0};
	if (json_parse(arena, text, strlen(text), "the geo metadata", &geo->json, &problem) != RECLOSER_OK || !json_is_object(geo->json))
		return refuse(error, request->input, "source.geo", "the GeoParquet metadata (key geo) is not a valid JSON object");
	json_t *columns = json_object_get(geo->json, "columns");
	if (!json_is_object(columns))
		return refuse(error, request->input, "source.geo", "the GeoParquet metadata has no `columns`");
	geo->primary = json_get_text(geo->json, "primary_column");
	if (!geo->primary)
		return refuse(error, request->input, "source.geo", "the GeoParquet metadata has no `primary_column`");
	geo->column = json_object_get(columns, geo->primary);
	if (!json_is_object(geo->column))
		return refuse(error, request->input, "source.geo",
		              arena_printf(arena, "the GeoParquet metadata names the primary column %s but does not describe it", geo->primary));
	return RECLOSER_OK;
}

static recloser_status check_version(struct arena *arena, const struct source_request *request, const struct geo *geo, recloser_error *error)
{
	static const char *const known[] = {"0.1", "0.2", "0.3", "0.4", "1.0", "1.1", "2.0"};
	const char *version = json_get_text(geo->json, "version");
	if (!version)
		version = json_get_text(geo->json, "schema_version"); /* as 0.1 called it */
	for (size_t i = 0; version && i < sizeof known / sizeof *known; i++)
		if (text_starts(version, known[i]) && strchr(".-", version[3] ? version[3] : '.'))
			return RECLOSER_OK;
	return refuse(error, request->input, "source.geo",
	              arena_printf(arena, "the GeoParquet metadata is of version %s, which is not known", version ? version : "(none)"));
}

/* The CRS of the primary column: absent means OGC:CRS84, null means unknown; before 0.4 it was WKT. */
static recloser_status read_crs(struct arena *arena, const struct source_request *request, const struct geo *geo,
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
		return refuse(error, request->input, "source.geo", "the GeoParquet metadata's `crs` is neither PROJJSON nor null");
	return RECLOSER_OK;
}

static recloser_status read_extra(struct arena *arena, const struct source_request *request, const struct geo *geo,
                                  struct source_facts *facts, recloser_error *error)
{
	static const char *const kept[] = {"edges", "orientation", "epoch"};
	json_t *extra = json_new_object(arena);
	for (size_t i = 0; i < 3; i++) {
		json_t *value = json_object_get(geo->column, kept[i]);
		if (value)
			json_put(arena, extra, kept[i], value);
	}
	const char *edges = json_get_text(extra, "edges"), *orientation = json_get_text(extra, "orientation");
	if (edges && strcmp(edges, "planar") != 0 && strcmp(edges, "spherical") != 0)
		return refuse(error, request->input, "source.geo", arena_printf(arena, "the GeoParquet metadata's `edges` is %s; planar or spherical is known", edges));
	if (orientation && strcmp(orientation, "counterclockwise") != 0)
		return refuse(error, request->input, "source.geo", arena_printf(arena, "the GeoParquet metadata's `orientation` is %s; only counterclockwise is known", orientation));
	if (json_object_get(extra, "epoch") && !json_is_number(json_object_get(extra, "epoch")))
		return refuse(error, request->input, "source.geo", "the GeoParquet metadata's `epoch` is not a number");
	if (json_object_size(extra))
		facts->geo_extra = json_compact(arena, extra);
	return RECLOSER_OK;
}

/* ---- columns ---- */

static enum cell_type cell_of(const char *type)
{
	if (strcmp(type, "VARCHAR") == 0)
		return CELL_TEXT;
	if (text_starts(type, "GEOMETRY"))
		return CELL_GEOMETRY;
	if (strcmp(type, "BLOB") == 0)
		return CELL_BLOB;
	if (strcmp(type, "DOUBLE") == 0 || strcmp(type, "FLOAT") == 0)
		return CELL_DOUBLE;
	if (strcmp(type, "BOOLEAN") == 0)
		return CELL_BOOLEAN;
	if (strcmp(type, "DATE") == 0)
		return CELL_DATE;
	return CELL_INTEGER;
}

static const char *native_crs(struct arena *arena, const char *type)
{
	const char *open = strchr(type, '\''), *end = strrchr(type, '\'');
	return open && end > open + 1 ? arena_strndup(arena, open + 1, (size_t)(end - open - 1)) : "OGC:CRS84";
}

static recloser_status columns_of(struct arena *arena, const struct source_request *request, const struct rows *described,
                                  const struct geo *geo, struct source *source, struct text *scan, recloser_error *error)
{
	source->column_count = described->row_count;
	source->columns = arena_array(arena, described->row_count + 1, sizeof *source->columns);
	source->facts.geometry_column = -1;
	for (size_t i = 0; i < described->row_count; i++) {
		const char *name = rows_at(described, i, 0), *type = rows_at(described, i, 1);
		source->columns[i] = (struct source_column){.name = name, .type = cell_of(type), .narrowest = TYPE_TEXT};
		bool native = text_starts(type, "GEOMETRY");
		const char *column = sql_name(arena, name);
		text_addf(scan, native ? ", CAST(st_asbinary(%s) AS BLOB) AS c%zu" : ", %s AS c%zu", column, i);
		bool primary = geo->primary ? strcmp(name, geo->primary) == 0 : native && source->facts.geometry_column < 0;
		if (primary) {
			source->facts.geometry_column = (int)i;
			if (!geo->primary)
				source->facts.crs_projjson = native_crs(arena, type);
		} else if (native || (geo->json && json_object_get(json_object_get(geo->json, "columns"), name))) {
			strings_add(arena, &source->facts.notes, arena_printf(arena, "the further geometry column %s is kept as bytes", name));
		}
	}
	if (geo->primary && source->facts.geometry_column < 0)
		return refuse(error, request->input, "source.geo",
		              arena_printf(arena, "the GeoParquet metadata's primary column %s is not in the file", geo->primary));
	return RECLOSER_OK;
}

/* In GeoParquet 1.1 a geometry may lie in Arrow's struct and list layouts instead of WKB. */
static recloser_status check_encoding(struct arena *arena, const struct source_request *request, const struct geo *geo,
                                      const struct source *source, recloser_error *error)
{
	const char *encoding = json_get_text(geo->column, "encoding");
	if (!encoding)
		return refuse(error, request->input, "source.geo", "the GeoParquet metadata does not say the geometry's `encoding`");
	enum cell_type type = source->columns[source->facts.geometry_column].type;
	if (strcmp(encoding, "WKB") != 0) {
		refuse(error, request->input, "source.geo_encoding", arena_printf(arena, "the geometry is encoded as %s; WKB is read", encoding));
		return error_hint(error, "write it with WKB: ogr2ogr -lco GEOMETRY_ENCODING=WKB out.parquet in.parquet");
	}
	if (type != CELL_BLOB && type != CELL_GEOMETRY)
		return refuse(error, request->input, "source.geo", "the geometry column does not hold bytes");
	return RECLOSER_OK;
}

recloser_status parquet_open(struct arena *arena, const struct source_request *request, struct source ***out, size_t *count,
                             recloser_error *error)
{
	RC_TRY(check_marks(request->input, error));
	const char *path;
	RC_TRY(plain_path(arena, request, &path, error));
	struct source *source = arena_alloc(arena, sizeof *source);
	source->facts.format = "parquet";
	source->facts.encoding = "UTF-8";
	source->facts.bytes = request->input->bytes;
	const char *file = sql_text(arena, path);
	struct rows described, totals;
	struct geo geo = {0};
	recloser_error problem = {0};
	recloser_status status = engine_describe(request->engine, arena,
	    arena_printf(arena, "SELECT * FROM read_parquet(%s, hive_partitioning=false)", file), &described, &problem);
	if (status == RECLOSER_OK)
		status = engine_query(request->engine, arena, "count the rows",
		    arena_printf(arena, "SELECT num_rows FROM parquet_file_metadata(%s)", file), &totals, &problem);
	if (status != RECLOSER_OK)
		return refuse(error, request->input, "source.not_parquet", arena_printf(arena, "the Parquet file can't be read: %s", problem.what));
	source->counts.rows = (uint64_t)rows_int(&totals, 0, 0);
	RC_TRY(read_geo(arena, request, path, &geo, error));
	struct text scan = text_on(arena);
	text_add(&scan, "SELECT file_row_number + 1 AS _row, CAST(NULL AS BIGINT) AS _line, CAST(NULL AS BIGINT) AS _offset, CAST(NULL AS VARCHAR) AS _fault");
	RC_TRY(columns_of(arena, request, &described, &geo, source, &scan, error));
	if (geo.json) {
		RC_TRY(check_version(arena, request, &geo, error));
		RC_TRY(check_encoding(arena, request, &geo, source, error));
		RC_TRY(read_crs(arena, request, &geo, &source->facts, error));
		RC_TRY(read_extra(arena, request, &geo, &source->facts, error));
	}
	text_addf(&scan, " FROM read_parquet(%s, hive_partitioning=false, file_row_number=true)", file);
	source->facts.scan_sql = scan.at;
	*out = arena_alloc(arena, sizeof **out);
	(*out)[0] = source;
	*count = 1;
	return RECLOSER_OK;
}
