/* SPDX-License-Identifier: Apache-2.0
 * The JSON source: where records are found, what is refused, what is a fault of one record, cells, types, GeoJSON; small
 * cases, real files against Python's json, and that the number of threads changes nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "geo/crs.h"
#include "geo/wkb.h"
#include "grid_double.h"

struct bench {
	struct arena *arena;
	char directory[64], file[128];
	struct block block;
	struct input input;
	struct source_request request;
	struct source *source;
	struct grid grid;
	recloser_error error;
};

static int set_up(void **state)
{
	struct bench *b = calloc(1, sizeof *b);
	b->arena = arena_new(NULL);
	strcpy(b->directory, "/tmp/recloser-json-XXXXXX");
	if (!mkdtemp(b->directory))
		return -1;
	snprintf(b->file, sizeof b->file, "%s/t.json", b->directory);
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;
	grid_free(&b->grid);
	arena_free(b->arena);
	unlink(b->file);
	rmdir(b->directory);
	free(b);
	return 0;
}

static recloser_status open_path(struct bench *b, const char *path)
{
	struct source **sources;
	size_t count;
	b->input = (struct input){.path = path, .name = "t.json", .read_path = path};
	b->request = (struct source_request){.input = &b->input, .block = &b->block, .spool = b->directory};
	grid_free(&b->grid);
	error_clear(&b->error);
	recloser_status status = json_open(b->arena, &b->request, &sources, &count, &b->error);
	assert_int_equal(status, b->error.status);
	if (status == RECLOSER_OK) {
		assert_int_equal(count, 1);
		b->source = sources[0];
	}
	return status;
}

static void write_text(struct bench *b, const char *text, size_t count)
{
	FILE *file = fopen(b->file, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, count, file), count);
	fclose(file);
}

/* Open and read to the end. */
static void load(struct bench *b, const char *text)
{
	write_text(b, text, strlen(text));
	if (open_path(b, b->file) != RECLOSER_OK)
		fail_msg("%s: %s (%s)", text, b->error.what, b->error.where);
	b->grid = grid_read(b->source, 1, &b->error);
	assert_int_equal(b->error.status, RECLOSER_OK);
	assert_int_equal(b->source->counts.rows, b->grid.rows);
}

static void load_path(struct bench *b, const char *path, int threads)
{
	if (open_path(b, path) != RECLOSER_OK)
		fail_msg("%s: %s (%s)", path, b->error.what, b->error.where);
	b->grid = grid_read(b->source, threads, &b->error);
	assert_int_equal(b->error.status, RECLOSER_OK);
}

static void refused(struct bench *b, const char *text, const char *what, const char *where, const char *hint)
{
	write_text(b, text, strlen(text));
	if (open_path(b, b->file) != RECLOSER_REFUSED)
		fail_msg("%s: status %d", text, b->error.status);
	if (!strstr(b->error.what, what) || !strstr(b->error.where, where) || !strstr(b->error.hint, hint))
		fail_msg("%s: what \"%s\", where \"%s\", hint \"%s\"", text, b->error.what, b->error.where, b->error.hint);
}

static void columns_are(struct bench *b, const char *expected)
{
	struct strings names = {0};
	for (size_t i = 0; i < b->source->column_count; i++)
		strings_add(b->arena, &names, b->source->columns[i].name);
	assert_string_equal(names.count ? strings_join(b->arena, &names, " ") : "", expected);
}

static enum column_type type_of(struct bench *b, const char *name)
{
	for (size_t i = 0; i < b->source->column_count; i++)
		if (strcmp(b->source->columns[i].name, name) == 0)
			return b->source->columns[i].narrowest;
	fail_msg("no column %s", name);
	return TYPE_UNSET;
}

#define CELL(row, column, expected) assert_string_equal(grid_at(&b->grid, row, column), expected)
#define FAULT(row, expected) assert_string_equal(grid_fixed(&b->grid, row, SOURCE_FAULT), expected)

static void test_places(void **state)
{
	struct bench *b = *state;
	static const char *const same[] = {
		"[{\"a\":1,\"b\":\"x\"},{\"b\":\"y\",\"c\":null}]",
		" [ {\"a\" : 1 , \"b\":\"x\"}\n,\n{\"b\":\"y\",\"c\":null} ] \n",
		"{\"data\":[{\"a\":1,\"b\":\"x\"},{\"b\":\"y\",\"c\":null}],\"n\":2,\"list\":[1,2],\"none\":[]}",
		"{\"a\":1,\"b\":\"x\"}\n{\"b\":\"y\",\"c\":null}\n",
		"{\"a\":1,\"b\":\"x\"}{\"b\":\"y\",\"c\":null}",
		"{\"a\":1,\n\"b\":\"x\"}\n\n{\"b\":\"y\",\n\"c\":null}",
		"\xef\xbb\xbf[{\"a\":1,\"b\":\"x\"},{\"b\":\"y\",\"c\":null}]",
		"\x1e{\"a\":1,\"b\":\"x\"}\n\x1e{\"b\":\"y\",\"c\":null}\n",
	};
	for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
		load(b, same[i]);
		columns_are(b, "a b c");
		assert_int_equal(b->grid.rows, 2);
		CELL(0, "a", "1");
		CELL(0, "b", "x");
		CELL(0, "c", "(null)");
		CELL(1, "a", "(null)");
		CELL(1, "b", "y");
		CELL(1, "c", "(null)");
		FAULT(0, "(null)");
		FAULT(1, "(null)");
		assert_string_equal(b->source->facts.format, "json");
		assert_int_equal(b->source->facts.geometry_column, -1);
		assert_null(b->source->facts.crs_projjson);
	}
	load(b, "[]");
	assert_int_equal(b->grid.rows, 0);
	columns_are(b, "");
	load(b, "{\"items\": [], \"total\": 0}");
	assert_int_equal(b->grid.rows, 0);
	load(b, "{\"a\": 1}");
	assert_int_equal(b->grid.rows, 1);
	load(b, "[{}]");
	assert_int_equal(b->grid.rows, 1);
}

static void test_records_path(void **state)
{
	struct bench *b = *state;
	static const char text[] =
		"{\"meta\":{\"rows\":[{\"x\":0}]},\"a\":{\"b\":[{\"x\":1}],\"b.c\":[{\"x\":2}]},\"a.d\":[{\"x\":3}],\"n\":5,"
		"\"deep\":{\"er\":{\"list\":[]}}}";
	static const struct {
		const char *path, *x;
	} right[] = {{"a.b", "1"}, {"a.b.c", "2"}, {"a.d", "3"}, {"meta.rows", "0"}};
	for (size_t i = 0; i < 4; i++) {
		b->block.records = right[i].path;
		load(b, text);
		assert_int_equal(b->grid.rows, 1);
		CELL(0, "x", right[i].x);
	}
	b->block.records = "deep.er.list";
	load(b, text);
	assert_int_equal(b->grid.rows, 0);
	b->block.records = "a.z";
	refused(b, text, "\"z\" (records: a.z) is not in the document", "t.json", "b, b.c");
	b->block.records = "n";
	refused(b, text, "is no array of records", "t.json", "meta, a, a.d, n, deep");
	b->block.records = "n.m";
	refused(b, text, "is no array of records", "t.json", "");
	refused(b, "[{\"a\":1}]", "array", "t.json", "leave `records:` out");
	refused(b, "{\"n\":[{\"a\":1}]}\n{\"n\":[]}", "second document", "line 2, byte offset 16", "");
}

static void test_refused(void **state)
{
	struct bench *b = *state;
	refused(b, "", "empty", "t.json", "[]");
	refused(b, " \n ", "empty", "t.json", "");
	refused(b, "<!DOCTYPE html>\n<html><body>404</body></html>", "an HTML page, not JSON", "t.json", "error page");
	refused(b, "\n<HTML lang=en>", "an HTML page", "t.json", "");
	refused(b, "<?xml version=\"1.0\"?><kml/>", "XML", "t.json", "");
	refused(b, "a,b\n1,2\n", "neither an array nor an object", "line 1, byte offset 0", "format:");
	refused(b, "42", "neither", "offset 0", "");
	refused(b, "[{\"a\":1},]", "something other than a value after a comma", "line 1, byte offset 9",
			"comma before the end");
	refused(b, "[{\"a\":1},\n{\"a\":1,}]", "name in double quotes", "line 2, byte offset 17", "comma before the end");
	refused(b, "[{\"a\":NaN}]", "no value", "line 1, byte offset 6", "NaN");
	refused(b, "[{\"a\":1} // no\n]", "after an element", "byte offset 9", "comments");
	refused(b, "[{'a':1}]", "double quotes", "byte offset 2", "double quotes only");
	refused(b, "[{\"a\":1}\n{\"a\":2}]", "after an element", "line 2, byte offset 9", "comma is missing");
	refused(b, "[{\"a\":1}", "after an element", "byte offset 8", "cut off");
	refused(b, "[{\"a\":\"x", "closing quote", "byte offset 6", "");
	refused(b, "[{\"a\":1}] x", "after the end of the document", "byte offset 10", "");
	refused(b, "{\"data\":[{\"a\":1}]} x", "after the end of the document", "byte offset 19", "");
	refused(b, "{\"data\":[{\"a\":1}", "after an element", "byte offset 16", "cut off");
	refused(b, "{\"a\":[{\"x\":1}],\"b\":[{\"x\":1}]}", "several members are arrays of records: a, b", "t.json", "records:");
	refused(b, "[[1,2],[3,4]]", "none of the records is an object", "t.json", "");
	refused(b, "[1,2]\n[3,4]", "after the end", "line 2, byte offset 6", "lines must hold objects");
	refused(b, "[null]", "none of the records is an object", "t.json", "");
	refused(b, "{\"type\":\"FeatureCollection\"}", "no array of features", "t.json", "");
	refused(b, "{\"type\":\"Topology\",\"objects\":{}}", "TopoJSON", "t.json", "format: ogr");
	refused(b, "{\"spatialReference\":{},\"features\":[{\"attributes\":{}}]}", "ESRI JSON", "t.json", "ogr");
}

static void test_too_many_members(void **state)
{
	struct bench *b = *state;
	struct text text = text_on(b->arena);
	text_add(&text, "[");
	for (int i = 0; i < 5000; i++)
		text_addf(&text, "%s{\"id%d\":1}", i ? "," : "", i);
	text_add(&text, "]");
	refused(b, text.at, "more than 4,096 different members", "t.json", "map");
}

static void test_faults(void **state)
{
	struct bench *b = *state;
	load(b, "[{\"a\":1},\n5,\n{\"a\":2,\"a\":3},\n{\"a\":\"\\ud800x\"},\n{\"a\":\"\\q\"},\n{\"a\":[\"\\q\"],\"b\":1},\nnull,"
			"\n{\"a\\q\":1,\"a\":4},{\"a\":\"x\ty\"}]");
	assert_int_equal(b->grid.rows, 9);
	FAULT(0, "(null)");
	FAULT(1, "the record is no object||5");
	CELL(1, "a", "(null)");
	FAULT(2, "member twice|a|3");
	CELL(2, "a", "2");
	FAULT(3, "a broken \\u escape inside a text|a|\\ud800x");
	FAULT(4, "an unknown escape inside a text|a|\\q");
	FAULT(5, "an unknown escape inside a text|a|[\"\\q\"]");
	CELL(5, "b", "1");
	FAULT(6, "the record is no object||null");
	FAULT(7, "an unknown escape inside a text|a?q|1");
	CELL(7, "a", "4");
	FAULT(8, "a control character inside a text|a|x\ty");
	assert_string_equal(grid_fixed(&b->grid, 3, SOURCE_ROW), "4");
	assert_string_equal(grid_fixed(&b->grid, 3, SOURCE_LINE), "4");
	assert_string_equal(grid_fixed(&b->grid, 3, SOURCE_OFFSET), "28");
}

/* In JSON lines a broken record ends with its line. */
static void test_broken_line(void **state)
{
	struct bench *b = *state;
	load(b, "{\"a\":1}\n{\"a\":2,}\n{\"a\":3\n{\"a\":4}\nrest\n{\"a\":\"5}\n{\"a\":6}\n{\"a\"\n");
	assert_int_equal(b->grid.rows, 8);
	FAULT(0, "(null)");
	FAULT(1, "something other than a member's name in double quotes||{\"a\":2,}");
	FAULT(2, "something other than \",\" or \"}\" after a member||{\"a\":3");
	FAULT(3, "(null)");
	CELL(3, "a", "4");
	FAULT(4, "something that is no value||rest");
	FAULT(6, "(null)");
	CELL(6, "a", "6");
	FAULT(7, "something other than \":\" after a member's name||{\"a\"");
	assert_string_equal(grid_fixed(&b->grid, 7, SOURCE_LINE), "8");
	/* Nor at the end of the file without a line end: there more than this record is missing. */
	refused(b, "{\"a\":1}\n{\"a\":2}\n{\"a\"", "after a member's name", "line 3", "cut off");
	/* Not where records go over lines: then nobody knows where the next begins. */
	refused(b, "{\n\"a\":1}\n{\n\"a\":2,}\n{\n\"a\":3}", "name in double quotes", "line 4", "comma before the end");
	refused(b, "{\"a\":1,}\n{\"a\":2}\n", "name in double quotes", "line 1", "");
}

static void test_types(void **state)
{
	struct bench *b = *state;
	load(b, "[{\"i\":1,\"d\":1.5,\"b\":true,\"t\":\"x\",\"m\":1,\"id\":\"2\",\"big\":12345678901234567890,\"mix\":"
			"9007199254740993,\"ok\":9007199254740992,"
			"\"long\":0.12345678901234567,\"n\":null,\"o\":{\"x\": 1},\"exp\":1e3,\"zero\":-0,\"huge\":1e400,\"bm\":true},"
			"{\"i\":-9223372036854775808,\"d\":2,\"b\":false,\"t\":null,\"m\":\"1\",\"id\":1,\"big\":1,\"mix\":0.5,\"ok\":0."
			"5,\"long\":1,\"n\":null,\"o\":[1, 2],"
			"\"exp\":1.10,\"zero\":1,\"huge\":1,\"bm\":0}]");
	static const struct {
		const char *name;
		enum column_type type;
		const char *first, *second;
	} expected[] = {{"i", TYPE_INTEGER, "1", "-9223372036854775808"},
					{"d", TYPE_DOUBLE, "1.5", "2"},
					{"b", TYPE_BOOLEAN, "true", "false"},
					{"t", TYPE_TEXT, "x", "(null)"},
					{"m", TYPE_TEXT, "1", "1"},
					{"id", TYPE_TEXT, "2", "1"},
					{"big", TYPE_TEXT, "12345678901234567890", "1"},
					{"mix", TYPE_TEXT, "9007199254740993", "0.5"},
					{"ok", TYPE_DOUBLE, "9007199254740992", "0.5"},
					{"long", TYPE_TEXT, "0.12345678901234567", "1"},
					{"n", TYPE_TEXT, "(null)", "(null)"},
					{"o", TYPE_TEXT, "{\"x\": 1}", "[1, 2]"},
					{"exp", TYPE_DOUBLE, "1e3", "1.10"},
					{"zero", TYPE_DOUBLE, "-0", "1"},
					{"huge", TYPE_TEXT, "1e400", "1"},
					{"bm", TYPE_TEXT, "true", "0"}};
	for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
		if (type_of(b, expected[i].name) != expected[i].type)
			fail_msg("%s is %s", expected[i].name, "of another type");
		CELL(0, expected[i].name, expected[i].first);
		CELL(1, expected[i].name, expected[i].second);
	}
	load(b, "[{\"mix\":9007199254740993},{\"mix\":1}]");
	assert_int_equal(type_of(b, "mix"), TYPE_INTEGER);
}

static void test_names_and_texts(void **state)
{
	struct bench *b = *state;
	load(
		b,
		"[{\"\\u0061\":\"\\u00e9\\n\\ud83d\\ude00\",\"\":\"\"},{\"a\":\"x\\u0000y\",\"long name \xc3\xa9\":[\"\\u0041\"]}]");
	columns_are(b, "a  long name \xc3\xa9");
	CELL(0, "a", "\xc3\xa9\n\xf0\x9f\x98\x80");
	CELL(0, "", "");
	assert_int_equal(grid_cell(&b->grid, 1, "a")->count, 3);
	CELL(1, "long name \xc3\xa9", "[\"\\u0041\"]"); /* a nested value stays as written */
	b->block.encoding = "windows-1252";
	write_text(b, "[{\"a\":\"\xe9\"}]", 11);
	assert_int_equal(open_path(b, b->file), RECLOSER_OK);
	b->grid = grid_read(b->source, 1, &b->error);
	CELL(0, "a", "\xc3\xa9");
	b->block.encoding = NULL;
	write_text(b, "[{\"a\":\"\xe9\"}]", 11);
	assert_int_equal(open_path(b, b->file), RECLOSER_REFUSED);
	assert_true(strstr(b->error.where, "7") && strstr(b->error.hint, "encoding"));
}

static struct wkb_facts facts_of(struct bench *b, size_t row, enum wkb_fault expected)
{
	const struct grid_cell *cell = grid_cell(&b->grid, row, b->source->columns[b->source->facts.geometry_column].name);
	struct wkb_facts facts = {0};
	assert_non_null(cell->at);
	assert_int_equal(wkb_walk(cell->at, cell->count, &facts), expected);
	assert_true(facts.standard);
	return facts;
}

#define FEATURES(list) "{\"type\":\"FeatureCollection\",\"features\":[" list "]}"
#define FEATURE(geometry) "{\"type\":\"Feature\",\"properties\":{\"a\":1},\"geometry\":" geometry "}"

static void test_geojson_columns(void **state)
{
	struct bench *b = *state;
	load(
		b,
		FEATURES(
			"{\"type\":\"Feature\",\"id\":\"w1\",\"properties\":{\"b\":1},\"geometry\":null,\"tippecanoe\":{},\"bbox\":[1]},"
			"{\"type\":\"Feature\",\"properties\":null},{\"type\":\"Feature\",\"id\":2,\"properties\":{\"a\":true}}"));
	columns_are(b, "b a feature_id geometry");
	assert_int_equal(b->source->facts.geometry_column, 3);
	assert_int_equal(b->source->columns[3].type, CELL_GEOMETRY);
	assert_string_equal(b->source->facts.format, "geojson");
	assert_non_null(strstr(b->source->facts.crs_projjson, "CRS84"));
	CELL(0, "feature_id", "w1");
	CELL(1, "feature_id", "(null)");
	CELL(2, "feature_id", "2");
	CELL(2, "a", "true");
	CELL(0, "geometry", "(null)");
	assert_int_equal(b->source->facts.notes.count, 1);
	assert_non_null(strstr(b->source->facts.notes.at[0], "tippecanoe"));
	load(b, FEATURES("{\"type\":\"Feature\",\"id\":1,\"properties\":{\"feature_id\":5,\"geometry\":\"g\"},\"geometry\":{"
					 "\"type\":\"Point\",\"coordinates\":[1,2]}}"));
	columns_are(b, "feature_id geometry feature_geometry");
	CELL(0, "feature_id", "5");
	CELL(0, "geometry", "g");
	assert_int_equal(b->source->facts.geometry_column, 2);
	facts_of(b, 0, WKB_SOUND);
	assert_int_equal(b->source->facts.notes.count, 2);
	load(b, FEATURES(""));
	columns_are(b, "geometry");
	assert_int_equal(b->grid.rows, 0);
	/* Features also as lines, alone and in a bare array. */
	static const char *const others[] = {FEATURE("null") "\n" FEATURE("null"), "[" FEATURE("null") "," FEATURE("null") "]",
										 "\x1e" FEATURE("null") "\n\x1e" FEATURE("null") "\n"};
	for (size_t i = 0; i < 3; i++) {
		load(b, others[i]);
		columns_are(b, "a geometry");
		assert_int_equal(b->grid.rows, 2);
		assert_string_equal(b->source->facts.format, "geojson");
	}
	load(b, FEATURE("null"));
	assert_int_equal(b->grid.rows, 1);
}

static void test_geojson_faults(void **state)
{
	struct bench *b = *state;
	load(b, FEATURES(FEATURE("{\"type\":\"Point\",\"coordinates\":[1]}") "," FEATURE("{\"type\":\"Circle\",\"coordinates\":["
																					 "1,2]}") "," FEATURE("{\"coordinates\":"
																										  "[1,2]}") "," FEATURE("5") "," FEATURE(
				"{\"type\":\"LineString\",\"coordinates\":[1,2]}") "," FEATURE("{\"type\":\"Point\",\"coordinates\":[\"1\","
																			   "2]}") "," FEATURE("{\"type\":\"Point\","
																								  "\"coordinates\":[1,2,3,4]"
																								  "}") ",{\"type\":"
																									   "\"Feature\","
																									   "\"properties\":7},"
																									   "{\"properties\":{"
																									   "\"a\":2}},{\"type\":"
																									   "\"Feature\","
																									   "\"properties\":{},"
																									   "\"properties\":{}}"
																									   "," FEATURE(
																										   "{\"type\":"
																										   "\"Point\","
																										   "\"type\":"
																										   "\"Point\","
																										   "\"coordinates\":"
																										   "[1,2]}")));
	static const char *const faults[] = {"fewer than two numbers|geometry|{\"type\":\"Point\",\"coordinates\":[1]}",
										 "of no type that GeoJSON has|geometry|",
										 "of no type that GeoJSON has|geometry|",
										 "the geometry is no object|geometry|5",
										 "no array of numbers|geometry|",
										 "a coordinate in the geometry is no number|geometry|",
										 "more than three numbers|geometry|",
										 "properties are no object||",
										 "no GeoJSON feature||",
										 "member twice||",
										 "member twice|geometry|"};
	for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
		if (!strstr(grid_fixed(&b->grid, i, SOURCE_FAULT), faults[i]))
			fail_msg("row %zu: %s", i, grid_fixed(&b->grid, i, SOURCE_FAULT));
		CELL(i, "geometry", "(null)");
	}
	CELL(0, "a", "1");
}

static void test_geometries(void **state)
{
	struct bench *b = *state;
	static const struct {
		const char *json, *wkt;
		enum wkb_fault fault;
	} cases[] = {
		{"{\"type\":\"Point\",\"coordinates\":[-97.123456789012345,31.5e0]}", "POINT (-97.123456789012345 31.5)", WKB_SOUND},
		{"{\"coordinates\":[1,2,3],\"type\":\"Point\"}", "POINT Z (1 2 3)", WKB_SOUND},
		{"{\"type\":\"Point\",\"coordinates\":[]}", "POINT EMPTY", WKB_EMPTY},
		{"{\"type\":\"LineString\",\"coordinates\":[]}", "LINESTRING EMPTY", WKB_EMPTY},
		{"{\"type\":\"LineString\",\"coordinates\":[[1,2],[3,4]]}", "LINESTRING (1 2, 3 4)", WKB_SOUND},
		{"{\"type\":\"Polygon\",\"coordinates\":[[[0,0],[4,0],[0,4],[0,0]],[[1,1],[2,1],[1,2],[1,1]]]}",
		 "POLYGON ((0 0, 4 0, 0 4, 0 0), (1 1, 2 1, 1 2, 1 1))", WKB_SOUND},
		{"{\"type\":\"MultiPoint\",\"coordinates\":[[1,2],[3,4]]}", "MULTIPOINT ((1 2), (3 4))", WKB_SOUND},
		{"{\"type\":\"MultiLineString\",\"coordinates\":[[[1,2],[3,4]],[[5,6],[7,8]]]}",
		 "MULTILINESTRING ((1 2, 3 4), (5 6, 7 8))", WKB_SOUND},
		{"{\"type\":\"MultiPolygon\",\"coordinates\":[[[[0,0],[4,0],[0,4],[0,0]]],[]]}",
		 "MULTIPOLYGON (((0 0, 4 0, 0 4, 0 0)), EMPTY)", WKB_SOUND},
		{"{\"type\":\"GeometryCollection\",\"geometries\":[{\"type\":\"Point\",\"coordinates\":[1,2]},{\"type\":"
		 "\"MultiPoint\",\"coordinates\":[[3,4]]}]}",
		 "GEOMETRYCOLLECTION (POINT (1 2), MULTIPOINT ((3 4)))", WKB_SOUND},
		{"{\"type\":\"GeometryCollection\",\"geometries\":[]}", "GEOMETRYCOLLECTION EMPTY", WKB_EMPTY},
		{"{\"type\":\"Polygon\",\"coordinates\":[[[0,0],[4,0],[0,4]]]}", NULL, WKB_RING},
		{"{\"type\":\"Point\",\"coordinates\":[1e999,2]}", NULL, WKB_NOT_FINITE},
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		load(b, arena_printf(b->arena, FEATURES(FEATURE("%s")), cases[i].json));
		FAULT(0, "(null)");
		const struct grid_cell *cell = grid_cell(&b->grid, 0, "geometry");
		struct wkb_facts facts = {0};
		assert_int_equal(wkb_walk(cell->at, cell->count, &facts), cases[i].fault);
		uint8_t *expected;
		size_t count;
		int32_t srid;
		if (!cases[i].wkt)
			continue;
		assert_null(geometry_from_wkt(cases[i].wkt, strlen(cases[i].wkt), &expected, &count, &srid));
		assert_int_equal(cell->count, count);
		assert_memory_equal(cell->at, expected, count);
		free(expected);
	}
	/* A height at some vertices only: the others have none, and none is not zero. */
	load(b, FEATURES(FEATURE("{\"type\":\"LineString\",\"coordinates\":[[1,2],[3,4,5]]}")));
	struct wkb_facts facts = facts_of(b, 0, WKB_SOUND);
	assert_int_equal(facts.types, 1u << 9);
	assert_true(facts.minimum[2] == 5 && facts.maximum[2] == 5);
}

static void crs_is(struct bench *b, const char *member, const char *id)
{
	load(b, arena_printf(b->arena, "{\"type\":\"FeatureCollection\",\"crs\":%s,\"features\":[]}", member));
	struct crs crs;
	if (!id) {
		assert_null(b->source->facts.crs_projjson);
		return;
	}
	assert_non_null(b->source->facts.crs_projjson);
	assert_int_equal(crs_read(b->arena, b->source->facts.crs_projjson, &crs, NULL), RECLOSER_OK);
	assert_string_equal(crs.id, id);
	assert_false(b->source->facts.crs_unknown);
}

static void test_crs_member(void **state)
{
	struct bench *b = *state;
	crs_is(b, "{\"type\":\"name\",\"properties\":{\"name\":\"EPSG:4326\"}}", "EPSG:4326");
	crs_is(b, "{\"type\":\"name\",\"properties\":{\"name\":\"urn:ogc:def:crs:OGC:1.3:CRS84\"}}", "OGC:CRS84");
	crs_is(b, "{\"type\":\"name\",\"properties\":{\"name\":\"urn:ogc:def:crs:OGC::CRS84\"}}", "OGC:CRS84");
	crs_is(b, "{\"type\":\"name\",\"properties\":{\"name\":\"CRS84\"}}", "OGC:CRS84");
	crs_is(b, "{\"properties\":{\"name\":\"urn:ogc:def:crs:EPSG::3857\"},\"type\":\"name\"}", "EPSG:3857");
	crs_is(b, "{\"type\":\"EPSG\",\"properties\":{\"code\":26914}}", "EPSG:26914");
	crs_is(b, "null", NULL);
	assert_true(b->source->facts.crs_unknown);
	crs_is(b, "{\"type\":\"link\",\"properties\":{\"href\":\"http://x\"}}", NULL);
	assert_int_equal(b->source->facts.notes.count, 1);
	crs_is(b, "{\"type\":\"name\",\"properties\":{\"name\":\"EPSG:99999\"}}", NULL);
	assert_non_null(strstr(b->source->facts.notes.at[0], "EPSG:99999"));
	assert_false(b->source->facts.crs_unknown);
}

static void test_cases(void **state)
{
	struct bench *b = *state;
	char path[600];
	if (!grid_case("19-null-empty-words/queue.json", path, sizeof path))
		return;
	load_path(b, path, 1);
	assert_int_equal(b->grid.rows, 5);
	static const char *const names[] = {"(null)", "", "None", "nan", "NULL"};
	for (size_t i = 0; i < 5; i++)
		CELL(i, "poi_name", names[i]);
	assert_null(grid_cell(&b->grid, 0, "poi_name")->at);
	assert_non_null(grid_cell(&b->grid, 1, "poi_name")->at);
	assert_int_equal(type_of(b, "capacity_mw"), TYPE_INTEGER);
	assert_int_equal(type_of(b, "lon"), TYPE_DOUBLE);

	load_path(b, grid_case("39-null-geometry-counted/five.geojson", path, sizeof path), 1);
	assert_int_equal(b->grid.rows, 5);
	facts_of(b, 0, WKB_SOUND);
	facts_of(b, 1, WKB_SOUND);
	CELL(2, "geometry", "(null)");
	CELL(3, "geometry", "(null)");
	facts_of(b, 4, WKB_EMPTY);
	CELL(4, "asset", "S5");

	load_path(b, grid_case("41-two-kinds-of-id/ids.geojson", path, sizeof path), 1);
	columns_are(b, "id state feature_id geometry");
	CELL(0, "id", "A-1");
	CELL(1, "id", "A-2");
	CELL(2, "id", "30");
	CELL(2, "feature_id", "9");
	assert_int_equal(type_of(b, "id"), TYPE_TEXT);
	assert_int_equal(type_of(b, "feature_id"), TYPE_INTEGER);

	load_path(b, grid_case("42-json-mixed-property/mix.geojson", path, sizeof path), 1);
	assert_int_equal(type_of(b, "note"), TYPE_TEXT);
	static const char *const notes[] = {
		"42", "astring", "{\n     \"nested\": 75\n    }", "[\n     1,\n     2\n    ]", "true", "(null)", "3.5"};
	for (size_t i = 0; i < 7; i++)
		CELL(i, "note", notes[i]);

	load_path(b, grid_case("44-geojson-19-digit-id/big.geojson", path, sizeof path), 1);
	CELL(0, "feature_no", "2305843009223239036");
	CELL(1, "feature_no", "2305843009223239037");
	assert_int_equal(type_of(b, "feature_no"), TYPE_INTEGER);

	load_path(b, grid_case("38-points-with-height/z.geojson", path, sizeof path), 1);
	assert_int_equal(facts_of(b, 0, WKB_SOUND).types, 1u << 8);
	assert_true(facts_of(b, 0, WKB_SOUND).maximum[2] == 120.5 && facts_of(b, 1, WKB_SOUND).maximum[2] == 98);
}

/* LENGTH:BYTES, or '-'. */
static const char *next_cell(FILE *file, char **buffer, size_t *count)
{
	int c = fgetc(file);
	*count = 0;
	if (c == '-')
		return NULL;
	for (; c >= '0' && c <= '9'; c = fgetc(file))
		*count = 10 * *count + (size_t)(c - '0');
	assert_int_equal(c, ':');
	*buffer = realloc(*buffer, *count + 1);
	assert_int_equal(fread(*buffer, 1, *count, file), *count);
	(*buffer)[*count] = '\0';
	return *buffer;
}

static void compare_with_python(struct bench *b, const char *path, const char *member)
{
	FILE *file =
		popen(arena_printf(b->arena, "python3 '%s/unit/json_expected.py' '%s' %s", TEST_SOURCE_DIR, path, member), "r");
	size_t columns = b->source->column_count - (b->source->facts.geometry_column >= 0), count;
	char *buffer = NULL;
	assert_non_null(file);
	for (size_t i = 0; i < columns; i++)
		assert_string_equal(next_cell(file, &buffer, &count), b->source->columns[i].name);
	assert_int_equal(fgetc(file), '\n');
	for (size_t row = 0; row < b->grid.rows; row++) {
		for (size_t i = 0; i < columns; i++) {
			const struct grid_cell *cell = &b->grid.cells[row * b->grid.columns + SOURCE_FIXED + i];
			const char *expected = next_cell(file, &buffer, &count);
			if (!expected || !cell->at) {
				assert_true(!expected && !cell->at);
				continue;
			}
			bool nested = *expected == '{' || *expected == '[';
			if (nested ? *cell->at != *expected : cell->count != count || memcmp(cell->at, expected, count) != 0)
				fail_msg("%s, row %zu, %s: %s, not %s", path, row + 1, b->source->columns[i].name, cell->at, expected);
		}
		assert_int_equal(fgetc(file), '\n');
	}
	assert_int_equal(fgetc(file), EOF);
	assert_int_equal(pclose(file), 0);
	free(buffer);
}

static void test_real(void **state)
{
	struct bench *b = *state;
	static const struct {
		const char *file, *member;
		size_t rows;
		bool geojson;
	} files[] = {{"commongrid/pricing-nodes.json", "", 4065, false},
				 {"australia/australia_power_plants.geo.json", "", 536, true},
				 {"eia860-2012-geojson/coal.geojson", "", 0, true},
				 {"eia860-2012-geojson/solar.geojson", "", 0, true},
				 {"duckdb-fixtures/json/sample_utf8_bom.json", "users", 3, false},
				 {"geopandas/null_geom.geojson", "", 2, true},
				 {"grid-intel-lines/transmission_lines.geojson", "", 1095, true},
				 {"aep-ohio/aep_ohio_transmission_upgrades_points.geojson", "", 0, true}};
	bool python = system("python3 -c 'import json' >/dev/null 2>&1") == 0;
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		char path[600];
		if (!grid_real(files[i].file, path, sizeof path))
			continue;
		load_path(b, path, 1);
		if (files[i].rows)
			assert_int_equal(b->grid.rows, files[i].rows);
		assert_string_equal(b->source->facts.format, files[i].geojson ? "geojson" : "json");
		for (size_t row = 0; row < b->grid.rows; row++)
			FAULT(row, "(null)");
		if (python)
			compare_with_python(b, path, files[i].member);
		else
			print_message("skipped: no python3 to compare with\n");
		for (size_t row = 0; files[i].geojson && row < b->grid.rows; row++)
			if (grid_cell(&b->grid, row, "geometry")->at)
				facts_of(b, row, WKB_SOUND);
	}
}

/* More rows than a chunk: line, offset and cells are right in every chunk, and threads change nothing. */
static void test_threads(void **state)
{
	struct bench *b = *state;
	enum { ROWS = 3 * CHUNK_ROWS + 17 };
	for (int form = 0; form < 3; form++) {
		struct text text = text_on(b->arena);
		text_add(&text, form == 0 ? "[\n" : form == 1 ? "" : "{\"type\":\"FeatureCollection\",\n\"features\":[\n");
		static size_t offsets[ROWS];
		for (int i = 0; i < ROWS; i++) {
			offsets[i] = text.length;
			text_addf(&text,
					  form == 2 ? "{\"type\":\"Feature\",\"geometry\":{\"type\":\"Point\",\"coordinates\":[%d,1]},"
								  "\"properties\":{\"a\":\"\\u0041%d\"%s}}"
								: "{\"b\":%d,\"a\":\"\\u0041%d\"%s}",
					  i, i, i % 5 ? "" : ",\"c\":[1]");
			if (form != 1 && i + 1 < ROWS)
				text_add(&text, ",");
			text_add(&text, "\n");
		}
		text_add(&text, form == 0 ? "]" : form == 1 ? "" : "]}");
		write_text(b, text.at, text.length);
		for (int threads = 1; threads <= 4; threads += 3) {
			load_path(b, b->file, threads);
			assert_int_equal(b->grid.rows, ROWS);
			assert_int_equal(b->source->counts.rows, ROWS);
			for (int i = 0; i < ROWS; i++) {
				char expected[32];
				snprintf(expected, sizeof expected, "A%d", i);
				CELL((size_t)i, "a", expected);
				CELL((size_t)i, "c", i % 5 ? "(null)" : "[1]");
				assert_int_equal(atoi(grid_fixed(&b->grid, (size_t)i, SOURCE_ROW)), i + 1);
				assert_int_equal(atoi(grid_fixed(&b->grid, (size_t)i, SOURCE_LINE)), i + (form == 0   ? 2
																						  : form == 1 ? 1
																									  : 3));
				assert_int_equal(atoi(grid_fixed(&b->grid, (size_t)i, SOURCE_OFFSET)), (int)offsets[i]);
			}
		}
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_places),          TEST(test_records_path),   TEST(test_refused),    TEST(test_too_many_members),
		TEST(test_faults),          TEST(test_broken_line),    TEST(test_types),      TEST(test_names_and_texts),
		TEST(test_geojson_columns), TEST(test_geojson_faults), TEST(test_geometries), TEST(test_crs_member),
		TEST(test_cases),           TEST(test_real),           TEST(test_threads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
