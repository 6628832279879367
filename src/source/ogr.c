/* SPDX-License-Identifier: Apache-2.0
 * What GDAL's vector drivers read, as sources: opening the dataset and choosing layers. */
#include "source/ogr.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/gdal.h"
#include "geo/quiet.h"

/* Drivers that fetch from elsewhere or follow what a file refers to: an input is its own bytes and nothing else. */
static const char *const shut_out[] = {
	"OGR_VRT",  "WFS",  "OAPIF",    "OGCAPI",     "CSW",           "GMLAS",      "HTTP",  "EEDA",
	"PLSCENES", "NGW",  "Carto",    "AmigoCloud", "Elasticsearch", "PostgreSQL", "MySQL", "MSSQLSpatial",
	"ODBC",     "PGeo", "OGR_OGDI", "GPSBabel",   "Memory",        NULL};
static char **allowed; /* made once, never changed */

static void register_drivers(void)
{
	gdal()->GDALAllRegister();
	for (int i = 0; i < gdal()->GDALGetDriverCount(); i++) {
		GDALDriverH driver = gdal()->GDALGetDriver(i);
		const char *name = gdal()->GDALGetDriverShortName(driver);
		if (gdal()->GDALGetMetadataItem(driver, GDAL_DCAP_VECTOR, NULL) && gdal()->CSLFindString((CSLConstList)shut_out, name) < 0)
			allowed = gdal()->CSLAddString(allowed, name);
	}
}

/* GDAL builds differ. Without its own driver a file is of "no format that GDAL knows", or another driver takes it for what it is
 * built on: a GeoPackage for the tables of a SQLite database. */
static const char *missing_driver(const char *name)
{
	static const char *const drivers[][2] = {
		{".fgb", "FlatGeobuf"}, {".gpkg", "GPKG"}, {".shp", "ESRI Shapefile"}, {".dbf", "ESRI Shapefile"}, {".ods", "ODS"}, {".xls", "XLS"}};
	for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++) {
		size_t length = strlen(name), end = strlen(drivers[i][0]);
		if (length > end && strcasecmp(name + length - end, drivers[i][0]) == 0)
			return gdal()->CSLFindString((CSLConstList)allowed, drivers[i][1]) < 0 ? drivers[i][1] : NULL;
	}
	return NULL;
}

static void close_dataset(void *box)
{
	GDALDatasetH dataset = *(GDALDatasetH *)box;
	struct quiet quiet;
	quiet_begin(&quiet);
	if (dataset)
		gdal()->GDALClose(dataset);
	quiet_end(&quiet);
}

static bool is_sheet_driver(const char *name)
{
	return strcmp(name, "XLS") == 0 || strcmp(name, "ODS") == 0 || strcmp(name, "XLSX") == 0;
}

/* The first row of a sheet is its header, is not, or GDAL shall see; these drivers know no other row. */
static const char *sheet_headers(const struct header *header)
{
	if (header->kind == HEADER_NONE)
		return "DISABLE";
	return header->kind == HEADER_ROW && header->row_count == 1 && header->rows[0] == 1 ? "FORCE" : "AUTO";
}

static bool header_is_elsewhere(const struct header *header)
{
	return header->kind == HEADER_FIND || (header->kind == HEADER_ROW && (header->row_count != 1 || header->rows[0] != 1));
}

static const char *const sheet_options[] = {"OGR_XLS_HEADERS", "OGR_ODS_HEADERS", "OGR_XLSX_HEADERS"};

/* The options of a driver hold for this thread and call. Layers read their header when they are first described. */
static GDALDatasetH open_quietly(const struct source_request *request, const char *path)
{
	const char *shape[] = {"ADJUST_TYPE=YES", request->block->encoding ? "ENCODING=" : NULL, NULL};
	const char *gml[] = {"WRITE_GFS=NO", "DOWNLOAD_SCHEMA=NO", NULL};
	const char *none[] = {NULL};
	GDALDriverH driver = gdal()->GDALIdentifyDriverEx(path, GDAL_OF_VECTOR, (const char *const *)allowed, NULL);
	const char *name = driver ? gdal()->GDALGetDriverShortName(driver) : "";
	const char **options = strcmp(name, "ESRI Shapefile") == 0 ? shape : strcmp(name, "GML") == 0 ? gml : none;
	for (size_t i = 0; i < 3; i++)
		gdal()->CPLSetThreadLocalConfigOption(sheet_options[i], sheet_headers(&request->block->header));
	GDALDatasetH dataset = gdal()->GDALOpenEx(path, GDAL_OF_VECTOR | GDAL_OF_READONLY, (const char *const *)allowed,
									  (const char *const *)options, NULL);
	for (int i = 0; dataset && i < gdal()->GDALDatasetGetLayerCount(dataset); i++)
		gdal()->OGR_L_GetLayerDefn(gdal()->GDALDatasetGetLayer(dataset, i));
	for (size_t i = 0; i < 3; i++)
		gdal()->CPLSetThreadLocalConfigOption(sheet_options[i], NULL);
	return dataset;
}

recloser_status ogr_dataset(struct arena *arena, const struct source_request *request, const char *path,
							struct ogr_shapes *shapes, GDALDatasetH *out, recloser_error *error)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct quiet quiet;
	/* The box hangs on the arena before the dataset is there: running out of memory leaks none. */
	GDALDatasetH *box = arena_alloc(arena, sizeof(GDALDatasetH));
	arena_defer(arena, close_dataset, (void *)box);
	pthread_once(&once, register_drivers);
	const char *missing = missing_driver(request->input->name);
	if (missing) {
		error_set(error, RECLOSER_REFUSED, "ogr.driver", "this GDAL has no %s driver, which the file needs", missing);
		error_where(error, "%s", request->input->path);
		return error_hint(error, "`ogrinfo --formats` lists what it has: install a GDAL with the driver, or save the file as CSV, GeoJSON or Parquet");
	}
	if (shapes)
		RC_TRY(ogr_check_shapes(arena, request, path, shapes, error));
	quiet_begin(&quiet);
	*box = open_quietly(request, path);
	quiet_end(&quiet);
	if (!*box) {
		error_set(error, RECLOSER_REFUSED, "ogr.open", "GDAL cannot read the file%s%s", quiet.text[0] ? ": " : "",
				  quiet.text[0] ? quiet.text : ": it is of no format that GDAL knows, or damaged");
		error_where(error, "%s", request->input->name);
		return error_hint(error, "if it is text, JSON, Parquet or a workbook, say so by `format:` in the source's block");
	}
	*out = *box;
	return RECLOSER_OK;
}

/* ---- layers ---- */

struct choice {
	struct arena *arena;
	const struct source_request *request;
	struct strings names, left; /* all layers; those that not_layer leaves */
	int *chosen;
	size_t count;
};

/* A name means itself before it is taken for a pattern. */
static bool layer_is(struct choice *choice, const char *wanted, const char *name)
{
	return strcmp(text_squeezed(choice->arena, wanted), text_squeezed(choice->arena, name)) == 0;
}

static bool layer_matches(struct choice *choice, const char *wanted, const char *name)
{
	return layer_is(choice, wanted, name) ||
		   text_matches(text_squeezed(choice->arena, wanted), text_squeezed(choice->arena, name), true);
}

static const char *quoted(struct choice *choice, const struct strings *names)
{
	return names->count ? arena_printf(choice->arena, "\"%s\"", strings_join(choice->arena, names, "\", \"")) : "none";
}

static bool is_left(struct choice *choice, int layer)
{
	const struct strings *not_layer = &choice->request->block->not_layer;
	for (size_t i = 0; i < not_layer->count; i++)
		if (layer_matches(choice, not_layer->at[i], choice->names.at[layer]))
			return false;
	return true;
}

static void choose(struct choice *choice, int layer)
{
	for (size_t i = 0; i < choice->count; i++)
		if (choice->chosen[i] == layer)
			return; /* two entries of a list that mean one layer mean it once */
	choice->chosen[choice->count++] = layer;
}

static recloser_status refuse_layers(struct choice *choice, const char *what, recloser_error *error)
{
	error_set(error, RECLOSER_REFUSED, "ogr.layer", "%s", what);
	error_where(error, "%s", choice->request->input->name);
	return error_hint(error, "its layers are %s", quoted(choice, &choice->names));
}

/* "1" to the number of layers, else -1. */
static int layer_number(const char *text, size_t count)
{
	char *end;
	long number = strtol(text, &end, 10);
	return *text >= '0' && *text <= '9' && *end == '\0' && number >= 1 && (size_t)number <= count ? (int)number - 1 : -1;
}

/* One entry of `layer`: a name, else a pattern that meets one layer, else a number from 1; "*" alone means all. */
static recloser_status choose_entry(struct choice *choice, const char *wanted, recloser_error *error)
{
	struct strings met = {0};
	int found = -1, layers = (int)choice->names.count;
	bool all = strcmp(wanted, "*") == 0;
	for (int i = 0; i < layers; i++)
		if (layer_is(choice, wanted, choice->names.at[i])) {
			choose(choice, i);
			return RECLOSER_OK;
		}
	for (int i = 0; i < layers; i++) {
		if (!layer_matches(choice, wanted, choice->names.at[i]) || !is_left(choice, i))
			continue;
		found = i;
		strings_add(choice->arena, &met, choice->names.at[i]);
		if (all)
			choose(choice, i);
	}
	if (all && met.count)
		return RECLOSER_OK;
	if (met.count > 1) {
		error_set(error, RECLOSER_REFUSED, "ogr.layer", "\"%s\" meets several layers: %s", wanted, quoted(choice, &met));
		error_where(error, "%s", choice->request->input->name);
		return error_hint(
			error, "write the name of one, leave the others out with `not_layer`, or list those that belong together");
	}
	if (found < 0)
		found = layer_number(wanted, choice->names.count);
	if (found < 0)
		return refuse_layers(choice, arena_printf(choice->arena, "there is no layer \"%s\"", wanted), error);
	choose(choice, found);
	return RECLOSER_OK;
}

recloser_status ogr_choose(struct arena *arena, const struct source_request *request, GDALDatasetH dataset, int **layers,
						   size_t *count, recloser_error *error)
{
	struct choice choice = {.arena = arena, .request = request};
	const struct strings *wanted = &request->block->layer;
	int total = gdal()->GDALDatasetGetLayerCount(dataset), last = -1;
	for (int i = 0; i < total; i++)
		strings_add(arena, &choice.names, arena_strdup(arena, gdal()->OGR_L_GetName(gdal()->GDALDatasetGetLayer(dataset, i))));
	choice.chosen = arena_array(arena, (size_t)total + 1, sizeof *choice.chosen);
	for (int i = 0; i < total; i++)
		if (is_left(&choice, i)) {
			last = i;
			strings_add(arena, &choice.left, choice.names.at[i]);
		}
	for (size_t i = 0; i < wanted->count; i++)
		RC_TRY(choose_entry(&choice, wanted->at[i], error));
	if (!wanted->count) {
		if (choice.left.count == 0)
			return refuse_layers(&choice, total ? "no layer is left by `not_layer`" : "the file has no layer", error);
		if (choice.left.count > 1) {
			refuse_layers(&choice, "the file has several layers and the spec does not say which one", error);
			return error_hint(error, "say `layer:` with one of %s, a list of them, or \"*\"", quoted(&choice, &choice.left));
		}
		choose(&choice, last);
	}
	*layers = choice.chosen;
	*count = choice.count;
	return RECLOSER_OK;
}

/* ---- opening ---- */

static recloser_status open_layer(struct arena *arena, const struct source_request *request, GDALDatasetH dataset, int layer,
								  struct source **out, recloser_error *error)
{
	struct ogr_source *ogr = arena_alloc(arena, sizeof *ogr);
	const char *driver = gdal()->GDALGetDriverShortName(gdal()->GDALGetDatasetDriver(dataset));
	ogr->sheet = is_sheet_driver(driver);
	if (ogr->sheet && header_is_elsewhere(&request->block->header)) {
		error_set(error, RECLOSER_REFUSED, "ogr.header", "in %s files the header can only be the first row", driver);
		error_where(error, "%s", request->input->name);
		return error_hint(error, "save it as .xlsx, where it can be anywhere");
	}
	ogr->name = request->input->name;
	ogr->layer = gdal()->GDALDatasetGetLayer(dataset, layer);
	ogr->encoding = request->block->encoding;
	ogr->raw = ogr->encoding && strcmp(driver, "ESRI Shapefile") == 0;
	struct source *source = &ogr->source;
	source->facts.format = arena_printf(arena, "ogr:%s", driver);
	source->facts.sheet = arena_strdup(arena, gdal()->OGR_L_GetName(ogr->layer));
	source->facts.bytes = request->input->bytes;
	RC_TRY(ogr_describe(arena, request, ogr, error));
	source->ops = &ogr_ops;
	source->impl = ogr;
	*out = source;
	return RECLOSER_OK;
}

static void tell_lacking(struct arena *arena, const struct ogr_shapes *shapes, struct source *source)
{
	if (!strings_has(&shapes->lacking, source->facts.sheet))
		return;
	source->facts.lacks = arena_printf(arena, "%s.dbf", source->facts.sheet);
	strings_add(arena, &source->facts.notes,
				arena_printf(arena, "%s is not there, so the shapes have no columns", source->facts.lacks));
}

recloser_status ogr_open(struct arena *arena, const struct source_request *request, struct source ***out, size_t *count,
						 recloser_error *error)
{
	struct ogr_place place;
	struct ogr_shapes shapes;
	GDALDatasetH dataset;
	int *layers;
	RC_TRY(ogr_locate(arena, request, &place, error));
	if (place.replaced) {
		struct source_request inner = *request;
		inner.input = place.replaced;
		return source_reader_for(request->block, place.replaced->name)(arena, &inner, out, count, error);
	}
	RC_TRY(ogr_dataset(arena, request, place.path, &shapes, &dataset, error));
	RC_TRY(ogr_choose(arena, request, dataset, &layers, count, error));
	*out = arena_array(arena, *count, sizeof **out);
	for (size_t i = 0; i < *count; i++) {
		if (i > 0)
			RC_TRY(ogr_dataset(arena, request, place.path, NULL, &dataset, error));
		RC_TRY(open_layer(arena, request, dataset, layers[i], &(*out)[i], error));
		tell_lacking(arena, &shapes, (*out)[i]);
	}
	for (size_t i = 0; i < shapes.notes.count && *count; i++)
		strings_add(arena, &(*out)[0]->facts.notes, shapes.notes.at[i]);
	return RECLOSER_OK;
}
