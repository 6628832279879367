/* SPDX-License-Identifier: Apache-2.0
 * GIS files: layers, archives, encodings, types, times with and without zones, geometry and systems. Small files are made
 * here by GDAL itself; real ones are read where they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cpl_conv.h>
#include <cpl_error.h>
#include <cpl_string.h>
#include <cpl_vsi.h>
#include <gdal.h>
#include <ogr_api.h>
#include <ogr_srs_api.h>

#include "geo/crs.h"
#include "geo/wkb.h"
#include "grid_double.h"

struct bench {
	struct arena *arena;
	char directory[64];
	struct block block;
	struct input input;
	struct source_request request;
	struct source **sources;
	size_t count;
	struct source *source;
	struct grid grid;
	recloser_error error;
};

/* Stand-ins for the readers that are not linked. */
static const char *stood_in;
static recloser_status stand_in(const char *reader, const struct source_request *request, size_t *count,
								recloser_error *error)
{
	stood_in = reader;
	*count = 0;
	if (access(request->input->read_path, R_OK) != 0)
		return error_set(error, RECLOSER_IO, "test", "not readable");
	return RECLOSER_OK;
}
recloser_status parquet_open(struct arena *arena, const struct source_request *request, struct source ***out, size_t *count,
							 recloser_error *error)
{
	(void)arena;
	(void)out;
	return stand_in("parquet", request, count, error);
}
recloser_status xlsx_open(struct arena *arena, const struct source_request *request, struct source ***out, size_t *count,
						  recloser_error *error)
{
	(void)arena;
	(void)out;
	return stand_in("xlsx", request, count, error);
}

static int set_up(void **state)
{
	struct bench *b = calloc(1, sizeof *b);
	b->arena = arena_new(NULL);
	strcpy(b->directory, "/tmp/recloser-ogr-XXXXXX");
	if (!mkdtemp(b->directory))
		return -1;
	GDALAllRegister();
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;
	grid_free(&b->grid);
	arena_free(b->arena);
	CPLPushErrorHandler(CPLQuietErrorHandler);
	VSIRmdirRecursive(b->directory);
	CPLPopErrorHandler();
	free(b);
	return 0;
}

static const char *in(struct bench *b, const char *name)
{
	return arena_printf(b->arena, "%s/%s", b->directory, name);
}

static recloser_status open_path(struct bench *b, const char *path)
{
	const char *slash = strrchr(path, '/');
	b->input = (struct input){.path = path, .name = slash ? slash + 1 : path, .read_path = path};
	b->request = (struct source_request){.input = &b->input, .block = &b->block, .spool = b->directory};
	grid_free(&b->grid);
	error_clear(&b->error);
	stood_in = NULL;
	recloser_status status = source_open(b->arena, &b->request, &b->sources, &b->count, &b->error);
	assert_int_equal(status, b->error.status);
	return status;
}

static void opened(struct bench *b, const char *path, size_t count)
{
	if (open_path(b, path) != RECLOSER_OK)
		fail_msg("%s: %s (%s)", path, b->error.what, b->error.where);
	assert_int_equal(b->count, count);
}

static void read_source(struct bench *b, size_t index)
{
	grid_free(&b->grid);
	b->source = b->sources[index];
	b->grid = grid_read(b->source, 1, &b->error);
	if (b->error.status != RECLOSER_OK)
		fail_msg("%s", b->error.what);
	assert_int_equal(b->source->counts.rows, b->grid.rows);
}

static void load(struct bench *b, const char *path)
{
	opened(b, path, 1);
	read_source(b, 0);
}

static void refused(struct bench *b, const char *path, const char *what, const char *hint)
{
	if (open_path(b, path) != RECLOSER_REFUSED)
		fail_msg("%s: status %d", path, b->error.status);
	if (!strstr(b->error.what, what) || !strstr(b->error.hint, hint))
		fail_msg("%s: what \"%s\", hint \"%s\"", path, b->error.what, b->error.hint);
}

static void columns_are(struct bench *b, const char *expected)
{
	static const char *const types[] = {"text",      "integer",     "double", "boolean", "date",
										"timestamp", "timestamptz", "time",   "blob",    "geometry"};
	struct text text = text_on(b->arena);
	for (size_t i = 0; i < b->source->column_count; i++)
		text_addf(&text, "%s%s:%s", i ? " " : "", b->source->columns[i].name, types[b->source->columns[i].type]);
	assert_string_equal(text.at, expected);
}

static void crs_is(struct bench *b, const char *id)
{
	struct crs crs;
	if (!id) {
		assert_null(b->source->facts.crs_projjson);
		return;
	}
	assert_non_null(b->source->facts.crs_projjson);
	assert_int_equal(crs_read(b->arena, b->source->facts.crs_projjson, &crs, NULL), RECLOSER_OK);
	assert_string_equal(crs.id, id);
}

static struct wkb_facts facts_of(struct bench *b, size_t row, enum wkb_fault expected)
{
	const struct grid_cell *cell = grid_cell(&b->grid, row, b->source->columns[b->source->facts.geometry_column].name);
	struct wkb_facts facts = {0};
	assert_non_null(cell->at);
	assert_int_equal(wkb_walk(cell->at, cell->count, &facts), expected);
	return facts;
}

static bool noted(struct bench *b, const char *word)
{
	for (size_t i = 0; i < b->source->facts.notes.count; i++)
		if (strstr(b->source->facts.notes.at[i], word))
			return true;
	return false;
}

#define CELL(row, column, expected) assert_string_equal(grid_at(&b->grid, row, column), expected)
#define FAULT(row, expected) assert_string_equal(grid_fixed(&b->grid, row, SOURCE_FAULT), expected)

/* ---- small files, made by GDAL ---- */

struct maker {
	GDALDatasetH dataset;
	OGRLayerH layer;
};

static struct maker make(const char *driver, const char *path)
{
	struct maker maker = {0};
	maker.dataset = GDALCreate(GDALGetDriverByName(driver), path, 0, 0, 0, GDT_Unknown, NULL);
	assert_non_null(maker.dataset);
	return maker;
}

static void add_layer(struct maker *maker, const char *name, const char *crs, OGRwkbGeometryType type)
{
	OGRSpatialReferenceH srs = NULL;
	if (crs) {
		srs = OSRNewSpatialReference(NULL);
		assert_int_equal(OSRSetFromUserInput(srs, crs), OGRERR_NONE);
	}
	maker->layer = GDALDatasetCreateLayer(maker->dataset, name, srs, type, NULL);
	assert_non_null(maker->layer);
	if (srs)
		OSRRelease(srs);
}

static void add_field(struct maker *maker, const char *name, OGRFieldType type)
{
	OGRFieldDefnH field = OGR_Fld_Create(name, type);
	assert_int_equal(OGR_L_CreateField(maker->layer, field, 1), OGRERR_NONE);
	OGR_Fld_Destroy(field);
}

/* Texts for the fields in order, NULL: unset. */
static void add_row(struct maker *maker, const char *wkt, const char *const *values)
{
	OGRFeatureH feature = OGR_F_Create(OGR_L_GetLayerDefn(maker->layer));
	for (int i = 0; values && i < OGR_F_GetFieldCount(feature); i++)
		if (values[i] && OGR_Fld_GetType(OGR_F_GetFieldDefnRef(feature, i)) == OFTBinary)
			OGR_F_SetFieldBinary(feature, i, (int)strlen(values[i]), (void *)values[i]);
		else if (values[i])
			OGR_F_SetFieldString(feature, i, values[i]);
	if (wkt) {
		OGRGeometryH shape = NULL;
		char *at = (char *)wkt;
		assert_int_equal(OGR_G_CreateFromWkt(&at, NULL, &shape), OGRERR_NONE);
		OGR_F_SetGeometryDirectly(feature, shape);
	}
	assert_int_equal(OGR_L_CreateFeature(maker->layer, feature), OGRERR_NONE);
	OGR_F_Destroy(feature);
}

static void finish(struct maker *maker)
{
	GDALClose(maker->dataset);
}

static void write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "wb");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* Add a file to a zip. */
static void pack(const char *zip, const char *member, const char *path)
{
	GByte *bytes = NULL;
	vsi_l_offset count = 0;
	assert_true(VSIIngestFile(NULL, path, &bytes, &count, -1));
	VSILFILE *out = VSIFOpenL(CPLSPrintf("/vsizip/%s/%s", zip, member), "wb");
	assert_non_null(out);
	assert_int_equal(VSIFWriteL(bytes, 1, count, out), count);
	VSIFCloseL(out);
	VSIFree(bytes);
}

static void test_layers(void **state)
{
	struct bench *b = *state;
	const char *path = in(b, "many.gpkg");
	struct maker maker = make("GPKG", path);
	static const char *const names[] = {"plants", "lines 2020", "lines 2021", "notes"};
	for (int i = 0; i < 4; i++) {
		add_layer(&maker, names[i], "EPSG:4326", wkbPoint);
		add_field(&maker, "a", OFTInteger);
		add_row(&maker, "POINT (1 2)", &(const char *){arena_printf(b->arena, "%d", i)});
	}
	finish(&maker);
	static const char *wanted[4];
	b->block.layer = (struct strings){wanted, 0};
	refused(b, path, "several layers", "\"plants\", \"lines 2020\", \"lines 2021\", \"notes\"");
	static const struct {
		const char *wanted[2];
		size_t count;
		const char *values;
	} right[] = {{{"plants"}, 1, "0"},
				 {{"PLANTS "}, 1, "0"},
				 {{"*2021"}, 1, "2"},
				 {{"3"}, 1, "2"},
				 {{"notes"}, 1, "3"},
				 {{"*"}, 1, "0123"},
				 {{"lines 2021", "plants"}, 2, "20"},
				 {{"plants", "1"}, 2, "0"}};
	for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
		memcpy(wanted, right[i].wanted, sizeof right[i].wanted);
		b->block.layer.count = right[i].count;
		opened(b, path, strlen(right[i].values));
		for (size_t k = 0; k < b->count; k++) {
			read_source(b, k);
			assert_int_equal(b->grid.rows, 1);
			char value[2] = {right[i].values[k], 0};
			CELL(0, "a", value);
			assert_string_equal(b->source->facts.sheet, names[value[0] - '0']);
		}
	}
	wanted[0] = "lines*";
	b->block.layer.count = 1;
	refused(b, path, "\"lines*\" meets several layers: \"lines 2020\", \"lines 2021\"", "not_layer");
	wanted[0] = "5";
	refused(b, path, "there is no layer \"5\"", "plants");
	static const char *not_wanted[] = {"lines*", "notes"};
	b->block.not_layer = (struct strings){not_wanted, 2};
	b->block.layer.count = 0;
	load(b, path);
	CELL(0, "a", "0");
	b->block.not_layer.count = 1;
	refused(b, path, "several layers", "\"plants\", \"notes\"");
	b->block.not_layer = (struct strings){&(const char *){"*"}, 1};
	refused(b, path, "no layer is left", "plants");
}

/* Two layers of one file may be read at the same time. */
static void test_two_at_once(void **state)
{
	struct bench *b = *state;
	const char *path = in(b, "two.gpkg");
	struct maker maker = make("GPKG", path);
	for (int i = 0; i < 2; i++) {
		add_layer(&maker, i ? "y" : "x", NULL, wkbNone);
		add_field(&maker, "a", OFTInteger);
		GDALDatasetStartTransaction(maker.dataset, 0);
		for (int row = 0; row < CHUNK_ROWS + 5; row++)
			add_row(&maker, NULL, &(const char *){arena_printf(b->arena, "%d", row)});
		GDALDatasetCommitTransaction(maker.dataset);
	}
	finish(&maker);
	b->block.layer = (struct strings){&(const char *){"*"}, 1};
	opened(b, path, 2);
	void *one = b->sources[0]->ops->start(b->sources[0]);
	read_source(b, 1);
	assert_int_equal(b->grid.rows, CHUNK_ROWS + 5);
	CELL(CHUNK_ROWS + 4, "a", "2052");
	b->sources[0]->ops->stop(b->sources[0], one);
	read_source(b, 0);
	assert_int_equal(b->grid.rows, CHUNK_ROWS + 5);
	assert_int_equal(b->source->facts.geometry_column, -1);
}

static void test_types(void **state)
{
	struct bench *b = *state;
	const char *path = in(b, "types.geojson"), *gpkg = in(b, "types.gpkg");
	struct maker maker = make("GPKG", gpkg);
	add_layer(&maker, "t", "EPSG:4326", wkbUnknown);
	add_field(&maker, "i", OFTInteger);
	add_field(&maker, "l", OFTInteger64);
	add_field(&maker, "r", OFTReal);
	add_field(&maker, "s", OFTString);
	add_field(&maker, "d", OFTDate);
	add_field(&maker, "z", OFTDateTime);
	add_field(&maker, "b", OFTBinary);
	OGRFieldDefnH boolean = OGR_Fld_Create("o", OFTInteger);
	OGR_Fld_SetSubType(boolean, OFSTBoolean);
	OGR_L_CreateField(maker.layer, boolean, 1);
	OGR_Fld_Destroy(boolean);
	add_row(&maker, "POINT (1 2)",
			(const char *const[]){"-7", "2305843009223239037", "0.1", "caf\xc3\xa9", "2024-02-29",
								  "2024/02/29 23:59:59.5+00", "AB", "1"});
	add_row(&maker, NULL, NULL);
	add_row(
		&maker, "POLYGON EMPTY",
		(const char *const[]){"0", "-9223372036854775808", "-1e300", "", "1969-12-31", "1969/12/31 00:00:00+00", NULL, "0"});
	finish(&maker);
	load(b, gpkg);
	columns_are(b, "i:integer l:integer r:double s:text d:date z:timestamptz b:blob o:boolean geom:geometry");
	assert_string_equal(b->source->facts.format, "ogr:GPKG");
	assert_int_equal(b->grid.rows, 3);
	static const char *const names[] = {"i", "l", "r", "s", "d", "z", "b", "o"};
	static const char *const first[] = {
		"-7", "2305843009223239037", "0.10000000000000001", "caf\xc3\xa9", "19782", "1709251199500000", "AB", "true"};
	static const char *const last[] = {
		"0", "-9223372036854775808", "-1.0000000000000001e+300", "", "-1", "-86400000000", "(null)", "false"};
	for (size_t i = 0; i < 8; i++) {
		CELL(0, names[i], first[i]);
		CELL(1, names[i], "(null)");
		CELL(2, names[i], last[i]);
	}
	CELL(1, "geom", "(null)");
	facts_of(b, 2, WKB_EMPTY);
	crs_is(b, "EPSG:4326");
	assert_string_equal(grid_fixed(&b->grid, 2, SOURCE_ROW), "3");
	assert_string_equal(grid_fixed(&b->grid, 2, SOURCE_LINE), "(null)");
	assert_true(noted(b, "\"fid\" is not read"));
	/* Lists and times of the day, which GeoJSON by GDAL has. */
	write_text(
		path,
		"{\"type\":\"FeatureCollection\",\"features\":[{\"type\":\"Feature\",\"geometry\":null,\"properties\":"
		"{\"n\":[1,-2],\"w\":[1,9007199254740993],\"f\":[0.1,2.5],\"t\":[\"a\\\"b\",\"\\u00e9\\n\"],\"h\":\"12:30:05\"}}]}");
	b->block.format = "ogr";
	load(b, path);
	columns_are(b, "n:text w:text f:text t:text h:time geometry:geometry");
	CELL(0, "n", "[1,-2]");
	CELL(0, "w", "[1,9007199254740993]");
	CELL(0, "f", "[0.1,2.5]");
	CELL(0, "t", "[\"a\\\"b\",\"\xc3\xa9\\u000a\"]");
	CELL(0, "h", "45005000000");
}

static void test_feature_id(void **state)
{
	struct bench *b = *state;
	const char *path = in(b, "id.gpkg");
	struct maker maker = make("GPKG", path);
	add_layer(&maker, "t", NULL, wkbNone);
	add_field(&maker, "a", OFTInteger);
	for (int i = 0; i < 3; i++)
		add_row(&maker, NULL, &(const char *){"1"});
	assert_int_equal(OGR_L_DeleteFeature(maker.layer, 2), OGRERR_NONE);
	finish(&maker);
	struct column column = {.name = "id", .from = {&(const char *){"FID"}, 1}};
	b->block.columns = &column;
	b->block.column_count = 1;
	load(b, path);
	columns_are(b, "a:integer fid:integer");
	CELL(0, "fid", "1");
	CELL(1, "fid", "3");
	assert_string_equal(grid_fixed(&b->grid, 1, SOURCE_ROW), "2");
}

static void times_are(struct bench *b, const char *first, const char *second, const char *type, const char *expected_first,
					  const char *expected_second)
{
	const char *path = in(b, "times.geojson");
	write_text(path, arena_printf(b->arena,
								  "{\"type\":\"FeatureCollection\",\"features\":["
								  "{\"type\":\"Feature\",\"geometry\":null,\"properties\":{\"t\":\"%s\"}},"
								  "{\"type\":\"Feature\",\"geometry\":null,\"properties\":{\"t\":null}},"
								  "{\"type\":\"Feature\",\"geometry\":null,\"properties\":{\"t\":\"%s\"}}]}",
								  first, second));
	b->block.format = "ogr";
	load(b, path);
	columns_are(b, arena_printf(b->arena, "t:%s geometry:geometry", type));
	CELL(0, "t", expected_first);
	CELL(1, "t", "(null)");
	CELL(2, "t", expected_second);
}

static void test_zones(void **state)
{
	struct bench *b = *state;
	times_are(b, "2024-07-01T12:00:00Z", "2024-07-01T12:00:00Z", "timestamptz", "1719835200000000", "1719835200000000");
	times_are(b, "2024-07-01T12:00:00+05:30", "2024-07-01T12:00:00-06:00", "timestamptz", "1719815400000000",
			  "1719856800000000");
	times_are(b, "2024-07-01T12:00:00", "2024-07-01T12:00:00.25", "timestamp", "1719835200000000", "1719835200250000");
	times_are(b, "2024-07-01T12:00:00", "2024-07-01T12:00:00Z", "text", "2024-07-01T12:00:00", "2024-07-01T12:00:00Z");
	times_are(b, "2024-07-01T12:00:00.25-09:30", "2024-07-01T12:00:00", "text", "2024-07-01T12:00:00.250-09:30",
			  "2024-07-01T12:00:00");
}

static void test_crs(void **state)
{
	struct bench *b = *state;
	static const struct {
		const char *crs, *id;
	} cases[] = {{"EPSG:26914", "EPSG:26914"}, {"EPSG:5070", "EPSG:5070"}, {"EPSG:3857", "EPSG:3857"}, {NULL, NULL}};
	for (size_t i = 0; i < 4; i++) {
		const char *path = in(b, arena_printf(b->arena, "crs%zu.fgb", i));
		struct maker maker = make("FlatGeobuf", path);
		add_layer(&maker, "t", cases[i].crs, wkbPoint);
		add_row(&maker, "POINT (620000.25 3300000.5)", NULL);
		finish(&maker);
		load(b, path);
		crs_is(b, cases[i].id);
		assert_false(b->source->facts.crs_unknown);
		struct wkb_facts facts = facts_of(b, 0, WKB_SOUND);
		assert_true(facts.minimum[0] == 620000.25 && facts.minimum[1] == 3300000.5);
	}
	const char *path = in(b, "none.gpkg"); /* GeoPackage says "undefined" by a system of its own */
	struct maker maker = make("GPKG", path);
	add_layer(&maker, "t", NULL, wkbPoint);
	add_row(&maker, "POINT (1 2)", NULL);
	finish(&maker);
	load(b, path);
	crs_is(b, NULL);
	assert_true(b->source->facts.crs_unknown);
	/* Longitude comes first also where the system's own order is latitude first. */
	path = in(b, "axis.gpkg");
	maker = make("GPKG", path);
	add_layer(&maker, "t", "EPSG:4326", wkbPoint);
	add_row(&maker, "POINT (-97 31)", NULL);
	finish(&maker);
	load(b, path);
	assert_true(facts_of(b, 0, WKB_SOUND).minimum[0] == -97);
}

static void test_archives(void **state)
{
	struct bench *b = *state;
	const char *one = in(b, "one.gpkg"), *zip = in(b, "a.zip"), *csv = in(b, "t.csv"), *note = in(b, "n.txt");
	struct maker maker = make("GPKG", one);
	add_layer(&maker, "t", "EPSG:4326", wkbPoint);
	add_field(&maker, "a", OFTInteger);
	add_row(&maker, "POINT (1 2)", &(const char *){"5"});
	finish(&maker);
	write_text(csv, "a,b\n6,x\n");
	write_text(note, "read me");
	pack(zip, "data/one.gpkg", one);
	pack(zip, "README.txt", note);
	load(b, zip);
	CELL(0, "a", "5");
	assert_string_equal(b->source->facts.format, "ogr:GPKG");
	/* A member that another reader knows goes to that one. */
	const char *text = in(b, "b.zip");
	pack(text, "t.csv", csv);
	load(b, text);
	assert_string_equal(b->source->facts.format, "csv");
	CELL(0, "a", "6");
	CELL(0, "b", "x");
	const char *both = in(b, "c.zip");
	pack(both, "t.csv", csv);
	pack(both, "x/t.csv", csv);
	pack(both, "one.gpkg", one);
	pack(both, "book.xlsx", csv);
	refused(b, both, "several files that could be meant: ", "`member:`");
	b->block.member = "*.GPKG";
	load(b, both);
	CELL(0, "a", "5");
	b->block.member = "x/*.csv";
	load(b, both);
	CELL(0, "a", "6");
	b->block.member = "*.csv";
	refused(b, both, "t.csv, x/t.csv", "`member:`");
	b->block.member = "none*";
	refused(b, both, "no member of the zip is called \"none*\"", "its members are ");
	b->block.member = "book*";
	opened(b, both, 0);
	assert_string_equal(stood_in, "xlsx");
	b->block.member = NULL;
}

static void make_shape(const char *path)
{
	struct maker maker = make("ESRI Shapefile", path);
	const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
	add_layer(&maker, CPLSPrintf("%.*s", (int)(dot - slash - 1), slash + 1), "EPSG:4326", wkbPoint);
	add_field(&maker, "a", OFTInteger);
	add_row(&maker, "POINT (1 2)", &(const char *){"5"});
	finish(&maker);
}

static void test_zipped_shapefiles(void **state)
{
	struct bench *b = *state;
	static const char *const parts[] = {"shp", "shx", "dbf", "prj"};
	const char *zip = in(b, "s.zip"), *note = in(b, "n.txt");
	write_text(note, "read me");
	for (int i = 0; i < 2; i++) {
		const char *name = i ? "two" : "one";
		make_shape(in(b, arena_printf(b->arena, "%s.shp", name)));
		for (int k = 0; k < 4; k++) {
			const char *file = arena_printf(b->arena, "%s.%s", name, parts[k]);
			pack(zip, arena_printf(b->arena, "shapes/%s", file), in(b, file));
		}
		if (i == 0) {
			pack(zip, "shapes/one.VERSION.txt", note);
			load(b, zip);
			CELL(0, "a", "5");
			crs_is(b, "EPSG:4326");
		}
	}
	refused(b, zip, "several layers", "\"one\", \"two\"");
	b->block.layer = (struct strings){&(const char *){"two"}, 1};
	load(b, zip);
	assert_string_equal(b->source->facts.sheet, "two");
	b->block.layer.count = 0;
	b->block.member = "one*";
	load(b, zip);
	assert_string_equal(b->source->facts.sheet, "one");
}

static void test_damaged(void **state)
{
	struct bench *b = *state;
	const char *nothing = in(b, "x.gpkg"), *zip = in(b, "x.zip"), *shape = in(b, "s.shp");
	write_text(nothing, "this is no GeoPackage");
	refused(b, nothing, "GDAL cannot read the file", "format:");
	write_text(zip, "PK this is no zip");
	refused(b, zip, "no zip archive", "");
	/* A VRT would read other files. */
	const char *vrt = in(b, "x.vrt");
	make_shape(shape);
	write_text(
		vrt,
		arena_printf(
			b->arena,
			"<OGRVRTDataSource><OGRVRTLayer name=\"s\"><SrcDataSource>%s</SrcDataSource></OGRVRTLayer></OGRVRTDataSource>",
			shape));
	refused(b, vrt, "GDAL cannot read the file", "");
	/* A .dbf that was cut off: GDAL may die of it, so it is never asked. */
	struct maker maker = make("ESRI Shapefile", in(b, "cut.shp"));
	add_layer(&maker, "cut", NULL, wkbPoint);
	add_field(&maker, "a", OFTInteger);
	for (int i = 0; i < 50; i++)
		add_row(&maker, "POINT (1 2)", &(const char *){"5"});
	finish(&maker);
	assert_int_equal(truncate(in(b, "cut.dbf"), 200), 0);
	refused(b, in(b, "cut.shp"), "cut.dbf is cut off: it has 200 bytes", "download it again");
}

static void test_cases(void **state)
{
	struct bench *b = *state;
	char path[600];
	if (!grid_case("36-projected-gpkg/sub.gpkg", path, sizeof path))
		return;
	load(b, path);
	crs_is(b, "EPSG:26914");
	assert_int_equal(b->grid.rows, 2);
	columns_are(b, "asset:text state:text month:text kv:integer geom:geometry");
	assert_true(facts_of(b, 0, WKB_SOUND).minimum[0] == 620000.25 && facts_of(b, 1, WKB_SOUND).maximum[1] == 3301000);

	b->block.encoding = "ISO-8859-1";
	static const char *const files[] = {"43-dbf-encoding/nocpg.shp", "43-dbf-encoding/wrongcpg.shp"};
	for (size_t i = 0; i < 2; i++) {
		load(b, grid_case(files[i], path, sizeof path));
		assert_int_equal(b->grid.rows, 2);
		CELL(0, "name", "R\xc3\xado Seco");
		CELL(1, "name",
			 "Se\xc3\xb1"
			 "al");
		FAULT(0, "(null)");
	}
	b->block.encoding = NULL;
	for (size_t i = 0; i < 2; i++) {
		load(b, grid_case(files[i], path, sizeof path));
		assert_int_equal(b->grid.rows, 2);
		FAULT(0, "the text is not UTF-8: declare its encoding by `encoding:`|name|R?o Seco");
		CELL(0, "name", "(null)");
		CELL(0, "asset", "S1");
	}
	b->block.encoding = "no-such-encoding";
	assert_int_equal(open_path(b, path), RECLOSER_USAGE);
	assert_string_equal(b->error.code, "spec.encoding");
}

static void test_real(void **state)
{
	struct bench *b = *state;
	static const struct {
		const char *file;
		size_t rows;
		const char *crs, *column, *first;
		uint32_t types;
	} files[] = {
		{"osm-power-gpkg/BO/osm_brut_power_line.gpkg", 361, "EPSG:4326", NULL, NULL, 1u << 1},
		{"osm-power-gpkg/BO/osm_brut_power_substation.gpkg", 231, "EPSG:4326", NULL, NULL, 1u << 0 | 1u << 2 | 1u << 5},
		{"osm-power-gpkg/BO/post_graph_power_lines.gpkg", 248, "EPSG:3857", NULL, NULL, 1u << 1},
		{"osm-power-gpkg/BO/post_graph_power_nodes.gpkg", 470, "EPSG:3857", NULL, NULL, 1u << 0},
		{"boem-shp/CA_OSW_BOEM_CallAreas.shp", 5, "EPSG:4326", NULL, NULL, 1u << (2 + 8)},
		{"naturalearth-shp/naturalearth_lowres.shp", 177, "EPSG:4326", "name", "Fiji", 1u << 2 | 1u << 5},
		{"flatgeobuf/countries_nocrs.fgb", 179, NULL, NULL, NULL, 1u << 5},
		{"flatgeobuf/empty.fgb", 0, "EPSG:4326", NULL, NULL, 0},
		{"pyogrio/line_zm.gpkg", 1, "EPSG:4326", NULL, NULL, 1u << (1 + 24)},
		{"pyogrio/test_gpkg_nulls.gpkg", 4, "EPSG:4326", "col_bool", "true", 1u << 0},
		{"brazil-aneel/UTE.zip", 2924, "EPSG:4326", "Name", "Jaguari\xc3\xbana", 1u << 8},
	};
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		char path[600];
		if (!grid_real(files[i].file, path, sizeof path))
			continue;
		load(b, path);
		if (b->grid.rows != files[i].rows)
			fail_msg("%s: %zu rows", files[i].file, b->grid.rows);
		struct wkb_facts all = {0};
		for (size_t row = 0; row < b->grid.rows; row++) {
			FAULT(row, "(null)");
			const struct grid_cell *cell =
				grid_cell(&b->grid, row, b->source->columns[b->source->facts.geometry_column].name);
			if (cell->at)
				assert_int_equal(wkb_walk(cell->at, cell->count, &all), WKB_SOUND);
		}
		if (all.types != files[i].types)
			fail_msg("%s: types %x", files[i].file, all.types);
		crs_is(b, files[i].crs);
		if (files[i].first)
			CELL(0, files[i].column, files[i].first);
	}
}

static void test_real_cells(void **state)
{
	struct bench *b = *state;
	char path[600];
	if (!grid_real("flatgeobuf/alldatatypes.fgb", path, sizeof path))
		return;
	load(b, path);
	columns_are(
		b,
		"byte:integer ubyte:integer bool:boolean short:integer ushort:integer int:integer uint:integer long:integer "
		"ulong:double float:double double:double string:text json:text datetime:timestamptz binary:blob geometry:geometry");
	static const char *const cells[] = {"-1",
										"255",
										"true",
										"-1",
										"65535",
										"-1",
										"4294967295",
										"-1",
										"1.8446744073709552e+19",
										"0",
										"0",
										"X",
										"X",
										"1582979696000000",
										"X"};
	for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++)
		CELL(0, b->source->columns[i].name, cells[i]);
	load(b, grid_real("pyogrio/test_gpkg_nulls.gpkg", path, sizeof path));
	for (size_t i = 0; i + 1 < b->source->column_count; i++)
		CELL(3, b->source->columns[i].name, "(null)");
	CELL(1, "col_float64", "2.5");
	load(b, grid_real("pyogrio/curve.gpkg", path, sizeof path));
	facts_of(b, 0, WKB_CURVE);
	load(b, grid_real("naturalearth-shp/naturalearth_lowres.shp", path, sizeof path));
	columns_are(b, "pop_est:integer continent:text name:text iso_a3:text gdp_md_est:double geometry:geometry");
	bool ivory = false; /* Latin-1, as its .cpg says */
	for (size_t row = 0; row < b->grid.rows; row++)
		ivory |= strcmp(grid_at(&b->grid, row, "name"), "C\xc3\xb4te d'Ivoire") == 0;
	assert_true(ivory);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_layers),  TEST(test_two_at_once), TEST(test_types),    TEST(test_feature_id),
		TEST(test_zones),   TEST(test_crs),         TEST(test_archives), TEST(test_zipped_shapefiles),
		TEST(test_damaged), TEST(test_cases),       TEST(test_real),     TEST(test_real_cells),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
