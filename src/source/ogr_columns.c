/* SPDX-License-Identifier: Apache-2.0
 * The columns of a layer. The kind of a date and time column is found by looking at every value: a layer may hold times
 * with a zone, without one, or both, and its definition does not say which. */
#include "source/ogr.h"

#include <string.h>

#include "base/gdal.h"
#include "geo/crs.h"
#include "geo/quiet.h"
#include "source/ogr_text.h"

/* What GDAL says of the zone of a time. */
enum { ZONE_UNKNOWN = 0, ZONE_LOCAL = 1 };

struct stamps {
	bool zone, none;
};

static enum ogr_reading reading_of(OGRFieldDefnH field)
{
	bool boolean = gdal()->OGR_Fld_GetSubType(field) == OFSTBoolean;
	switch (gdal()->OGR_Fld_GetType(field)) {
	case OFTInteger:
		return boolean ? OGR_BOOLEAN : OGR_INTEGER;
	case OFTInteger64:
		return OGR_INTEGER;
	case OFTReal:
		return OGR_DOUBLE;
	case OFTDate:
		return OGR_DATE;
	case OFTTime:
		return OGR_TIME;
	case OFTDateTime:
		return OGR_STAMP;
	case OFTBinary:
		return OGR_BYTES;
	case OFTIntegerList:
	case OFTInteger64List:
	case OFTRealList:
	case OFTStringList:
		return OGR_LIST;
	default:
		return OGR_TEXT;
	}
}

static enum cell_type cell_of(enum ogr_reading reading)
{
	static const enum cell_type cells[] = {[OGR_INTEGER] = CELL_INTEGER,  [OGR_DOUBLE] = CELL_DOUBLE,
										   [OGR_BOOLEAN] = CELL_BOOLEAN,  [OGR_TEXT] = CELL_TEXT,
										   [OGR_DATE] = CELL_DATE,        [OGR_TIME] = CELL_TIME,
										   [OGR_STAMP] = CELL_TIMESTAMP,  [OGR_STAMP_ZONE] = CELL_TIMESTAMPTZ,
										   [OGR_STAMP_MIXED] = CELL_TEXT, [OGR_LIST] = CELL_TEXT,
										   [OGR_BYTES] = CELL_BLOB,       [OGR_FID] = CELL_INTEGER,
										   [OGR_SHAPE] = CELL_GEOMETRY};
	return cells[reading];
}

/* One pass over the layer, with everything else left unread. */
static void survey_stamps(struct ogr_source *ogr, struct stamps *stamps, size_t count, const char **ignored)
{
	struct quiet quiet;
	quiet_begin(&quiet);
	gdal()->OGR_L_SetIgnoredFields(ogr->layer, ignored);
	gdal()->OGR_L_ResetReading(ogr->layer);
	for (OGRFeatureH feature; (feature = gdal()->OGR_L_GetNextFeature(ogr->layer)) != NULL; gdal()->OGR_F_Destroy(feature))
		for (size_t i = 0; i < count; i++) {
			int year, month, day, hour, minute, flag;
			float second;
			if (ogr->columns[i].reading == OGR_STAMP && gdal()->OGR_F_IsFieldSetAndNotNull(feature, ogr->columns[i].field) &&
				gdal()->OGR_F_GetFieldAsDateTimeEx(feature, ogr->columns[i].field, &year, &month, &day, &hour, &minute, &second,
										   &flag))
				*(flag > ZONE_LOCAL ? &stamps[i].zone : &stamps[i].none) = true;
		}
	gdal()->OGR_L_SetIgnoredFields(ogr->layer, NULL);
	gdal()->OGR_L_ResetReading(ogr->layer);
	quiet_end(&quiet); /* what is damaged is met again, and said, when the rows are read */
}

static void settle_stamps(struct arena *arena, struct ogr_source *ogr, OGRFeatureDefnH definition)
{
	size_t count = ogr->source.column_count, ignored_count = 0, stamp_count = 0;
	struct stamps *stamps = arena_array(arena, count + 1, sizeof *stamps);
	const char **ignored = arena_array(arena, count + 3, sizeof *ignored);
	for (size_t i = 0; i < count; i++) {
		stamp_count += ogr->columns[i].reading == OGR_STAMP;
		if (ogr->columns[i].reading != OGR_STAMP && ogr->columns[i].reading < OGR_FID)
			ignored[ignored_count++] = gdal()->OGR_Fld_GetNameRef(gdal()->OGR_FD_GetFieldDefn(definition, ogr->columns[i].field));
	}
	if (!stamp_count)
		return;
	ignored[ignored_count++] = "OGR_GEOMETRY";
	ignored[ignored_count++] = "OGR_STYLE";
	survey_stamps(ogr, stamps, count, gdal()->OGR_L_TestCapability(ogr->layer, OLCIgnoreFields) ? ignored : NULL);
	for (size_t i = 0; i < count; i++)
		if (ogr->columns[i].reading == OGR_STAMP && stamps[i].zone)
			ogr->columns[i].reading = stamps[i].none ? OGR_STAMP_MIXED : OGR_STAMP_ZONE;
}

/* The feature id is a row number in most formats and the only id in some, so it is read where the spec names it. */
static bool spec_names(const struct source_request *request, const char *name)
{
	for (size_t i = 0; i < request->block->column_count; i++)
		for (size_t k = 0; k < request->block->columns[i].from.count; k++)
			if (text_equal_nocase(request->block->columns[i].from.at[k], name))
				return true;
	for (size_t i = 0; i < request->identity.count; i++)
		if (text_equal_nocase(request->identity.at[i], name))
			return true;
	return false;
}

static void add_column(struct ogr_source *ogr, const char *name, enum ogr_reading reading, int field)
{
	size_t i = ogr->source.column_count++;
	ogr->columns[i] = (struct ogr_column){reading, field};
	ogr->source.columns[i] = (struct source_column){.name = name, .type = cell_of(reading)};
}

static bool has_column(const struct ogr_source *ogr, const char *name)
{
	for (size_t i = 0; i < ogr->source.column_count; i++)
		if (text_equal_nocase(ogr->source.columns[i].name, name))
			return true;
	return false;
}

static void free_text(void *box)
{
	gdal()->VSIFree(*(char **)box);
}

static void find_crs(struct arena *arena, struct ogr_source *ogr, OGRSpatialReferenceH srs)
{
	static const char *const one_line[] = {"MULTILINE=NO", NULL};
	struct source_facts *facts = &ogr->source.facts;
	const char *name = srs ? gdal()->OSRGetName(srs) : NULL;
	if (!srs)
		return;
	/* GeoPackage has two systems that mean "none". */
	if (name && text_starts(name, "Undefined ")) {
		facts->crs_unknown = true;
		return;
	}
	char **text = arena_alloc(arena, sizeof *text);
	arena_defer(arena, free_text, (void *)text);
	struct quiet quiet;
	quiet_begin(&quiet);
	OGRErr status = gdal()->OSRExportToPROJJSON(srs, text, one_line);
	quiet_end(&quiet);
	struct crs crs;
	if (status == OGRERR_NONE && *text && crs_read(arena, *text, &crs, NULL) == RECLOSER_OK)
		facts->crs_projjson = crs.projjson;
	else
		strings_add(
			arena, &facts->notes,
			arena_printf(arena, "the layer's coordinate reference system \"%s\" is not understood", name ? name : ""));
}

static void describe_geometry(struct arena *arena, struct ogr_source *ogr, OGRFeatureDefnH definition)
{
	struct source_facts *facts = &ogr->source.facts;
	int count = gdal()->OGR_FD_GetGeomFieldCount(definition);
	facts->geometry_column = -1;
	if (count == 0)
		return;
	OGRGeomFieldDefnH field = gdal()->OGR_FD_GetGeomFieldDefn(definition, 0);
	const char *name = gdal()->OGR_GFld_GetNameRef(field);
	name = name && *name ? arena_strdup(arena, name) : "geometry";
	if (has_column(ogr, name)) {
		strings_add(arena, &facts->notes,
					arena_printf(arena, "a field is called %s, so the geometry is feature_geometry", name));
		name = "feature_geometry";
	}
	facts->geometry_column = (int)ogr->source.column_count;
	add_column(ogr, name, OGR_SHAPE, 0);
	find_crs(arena, ogr, gdal()->OGR_GFld_GetSpatialRef(field));
	for (int i = 1; i < count; i++)
		strings_add(arena, &facts->notes,
					arena_printf(arena, "the geometry column \"%s\" is not read, only the first",
								 gdal()->OGR_GFld_GetNameRef(gdal()->OGR_FD_GetGeomFieldDefn(definition, i))));
}

static void close_text(void *text)
{
	ogr_text_close(text);
}

static recloser_status describe_fields(struct arena *arena, struct ogr_source *ogr, OGRFeatureDefnH definition,
									   const struct source_request *request, recloser_error *error)
{
	struct ogr_text *text = arena_alloc(arena, sizeof *text);
	if (!ogr_text_open(text, ogr->encoding, ogr->raw)) {
		error_set(error, RECLOSER_USAGE, "spec.encoding", "the encoding \"%s\" is not known", ogr->encoding);
		error_where(error, "%s", request->input->name);
		return error_hint(error, "names are those of iconv: windows-1252, ISO-8859-1, cp437");
	}
	arena_defer(arena, close_text, text);
	for (int i = 0; i < gdal()->OGR_FD_GetFieldCount(definition); i++) {
		OGRFieldDefnH field = gdal()->OGR_FD_GetFieldDefn(definition, i);
		const char *name = gdal()->OGR_Fld_GetNameRef(field), *plain;
		size_t count;
		if (!ogr_text_convert(text, name, strlen(name), &plain, &count)) {
			error_set(error, RECLOSER_REFUSED, "ogr.encoding", "the name of field %d is not %s", i + 1,
					  ogr->encoding ? ogr->encoding : "UTF-8");
			error_where(error, "%s", request->input->name);
			return error_hint(error, "say by `encoding:` in the source's block what the texts are in");
		}
		add_column(ogr, arena_strndup(arena, plain, count), reading_of(field), i);
	}
	return RECLOSER_OK;
}

recloser_status ogr_describe(struct arena *arena, const struct source_request *request, struct ogr_source *ogr,
							 recloser_error *error)
{
	struct source_facts *facts = &ogr->source.facts;
	struct quiet quiet;
	quiet_begin(&quiet);
	OGRFeatureDefnH definition = gdal()->OGR_L_GetLayerDefn(ogr->layer);
	size_t most = (size_t)gdal()->OGR_FD_GetFieldCount(definition) + 2;
	quiet_end(&quiet);
	if (quiet.failed && most == 2) { /* a layer that is opened late, and is cut off or damaged */
		error_set(error, RECLOSER_REFUSED, "ogr.read", "the layer cannot be read: %s", quiet.text);
		error_where(error, "%s, layer %s", ogr->name, facts->sheet);
		return error_hint(error, "the file seems to be cut off or damaged: download it again");
	}
	ogr->source.columns = arena_array(arena, most, sizeof *ogr->source.columns);
	ogr->columns = arena_array(arena, most, sizeof *ogr->columns);
	RC_TRY(describe_fields(arena, ogr, definition, request, error));
	settle_stamps(arena, ogr, definition);
	for (size_t i = 0; i < ogr->source.column_count; i++)
		ogr->source.columns[i].type = cell_of(ogr->columns[i].reading);
	const char *fid = gdal()->OGR_L_GetFIDColumn(ogr->layer);
	if (*fid && !has_column(ogr, fid)) {
		const char *name = arena_strdup(arena, fid);
		if (spec_names(request, name))
			add_column(ogr, name, OGR_FID, 0);
		else
			strings_add(arena, &facts->notes,
						arena_printf(arena, "the feature id \"%s\" is not read: name it under `columns` to keep it", name));
	}
	describe_geometry(arena, ogr, definition);
	return RECLOSER_OK;
}
