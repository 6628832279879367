/* SPDX-License-Identifier: Apache-2.0
 * `geometry:`: where the geometry of a row comes from, in which CRS it is and how it is written. */
#include "spec/parts.h"

#include <string.h>

static recloser_status read_line_parts(const struct reader *reader, const struct field *field, const struct node *value,
									   void *target)
{
	const char **parts = target;
	if (value->kind != NODE_LIST || value->count != 4)
		return fault_at(reader, value->mark, "spec.kind", "\"line\" must name four columns: [x0, y0, x1, y1]");
	for (size_t i = 0; i < 4; i++)
		RC_TRY(field_text(reader, field, value->members[i].value, &parts[i]));
	return RECLOSER_OK;
}

static recloser_status read_on(const struct reader *reader, const struct field *field, const struct node *value,
							   void *target)
{
	struct lookup *lookup = target;
	RC_TRY(field_need_map(reader, value, "\"on\""));
	if (!value->count)
		return fault_at(reader, value->mark, "spec.no_value", "\"on\" needs {column of the dataset: column of the layer}");
	lookup->on = arena_array(reader->arena, value->count, sizeof *lookup->on);
	lookup->on_count = value->count;
	for (size_t i = 0; i < value->count; i++) {
		lookup->on[i].from = value->members[i].name;
		RC_TRY(text_value(reader, field->name, value->members[i].value, &lookup->on[i].to));
	}
	return RECLOSER_OK;
}

static const char *const as_words[] = {"geometry", "point_on_surface", "centroid", NULL};

static recloser_status read_lookup_as(const struct reader *reader, const struct field *field, const struct node *value,
									  void *target)
{
	struct lookup *lookup = target;
	int index = 0;
	RC_TRY(field_word(reader, field, value, &index));
	lookup->point_on_surface = index == 1;
	lookup->centroid = index == 2;
	return RECLOSER_OK;
}

/* `fold: [case, accents]`: what a comparison of names looks over. */
static recloser_status read_fold(const struct reader *reader, const struct field *field, const struct node *value,
								 void *target)
{
	static const char *const words[] = {"case", "accents", NULL};
	struct lookup *lookup = target;
	struct strings folds;
	RC_TRY(field_names(reader, field, value, &folds));
	for (size_t i = 0; i < folds.count; i++)
		if (word_index(words, folds.at[i]) < 0)
			return refuse_word(reader, field->name, value->kind == NODE_LIST ? value->members[i].value : value, words);
	lookup->fold_case = strings_has(&folds, "case");
	lookup->fold_accents = strings_has(&folds, "accents");
	return RECLOSER_OK;
}

static recloser_status read_lookup(const struct reader *reader, const struct field *field, const struct node *value,
								   void *target)
{
	static const struct field fields[] = {
		{"file", field_text, offsetof(struct lookup, file), NULL},
		{"layer", field_text, offsetof(struct lookup, layer), NULL},
		{"on", read_on, 0, NULL},
		{"as", read_lookup_as, 0, as_words},
		{"fold", read_fold, 0, NULL},
		{"words", field_names, offsetof(struct lookup, drop_words), NULL},
	};
	struct lookup *lookup = target;
	(void)field;
	RC_TRY(fields_read(reader, value, "\"lookup\"", fields, sizeof fields / sizeof *fields, lookup));
	if (lookup->file && lookup->on_count)
		return RECLOSER_OK;
	fault_at(reader, value->mark, "spec.missing_field", "\"lookup\" needs file and on");
	return error_hint(reader->error,
					  "{lookup: {file: counties.gpkg, on: {state: STUSPS, county: NAME}, as: point_on_surface}}");
}

static recloser_status fault_from(const struct reader *reader, struct mark mark, const char *what)
{
	fault_at(reader, mark, "spec.geometry", "geometry: %s", what);
	return error_hint(reader->error,
					  "from is source, {lon: a, lat: b}, {wkt: a}, {wkb: a}, {line: [x0, y0, x1, y1]}, {column: a} or "
					  "{lookup: {...}}");
}

static recloser_status read_from_map(const struct reader *reader, const struct node *value, struct geometry_spec *geometry)
{
	const size_t parts = offsetof(struct geometry_spec, parts);
	const size_t second = parts + sizeof geometry->parts[0];
	const struct field fields[] = {
		{"lon", field_text, parts, NULL},
		{"lat", field_text, second, NULL},
		{"wkt", field_text, parts, NULL},
		{"wkb", field_text, parts, NULL},
		{"column", field_text, parts, NULL},
		{"line", read_line_parts, parts, NULL},
		{"lookup", read_lookup, offsetof(struct geometry_spec, lookup), NULL},
	};
	RC_TRY(fields_read(reader, value, "\"from\" of the geometry", fields, sizeof fields / sizeof *fields, geometry));
	if (node_get(value, "lon") || node_get(value, "lat")) {
		geometry->from = GEOMETRY_LON_LAT;
		if (value->count == 2 && node_get(value, "lon") && node_get(value, "lat"))
			return RECLOSER_OK;
		return fault_from(reader, value->mark, "a point needs both lon and lat and nothing else");
	}
	if (value->count != 1)
		return fault_from(reader, value->mark, value->count ? "it comes from one thing only" : "\"from\" says nothing");
	static const struct {
		const char *name;
		enum geometry_from from;
	} kinds[] = {{"wkt", GEOMETRY_WKT},
				 {"wkb", GEOMETRY_WKB},
				 {"column", GEOMETRY_SOURCE},
				 {"line", GEOMETRY_LINE},
				 {"lookup", GEOMETRY_LOOKUP}};
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strcmp(value->members[0].name, kinds[i].name) == 0)
			geometry->from = kinds[i].from;
	return RECLOSER_OK;
}

static recloser_status read_from(const struct reader *reader, const struct field *field, const struct node *value,
								 void *target)
{
	struct geometry_spec *geometry = target;
	if (value->kind == NODE_MAP)
		return read_from_map(reader, value, geometry);
	const char *text;
	RC_TRY(text_value(reader, field->name, value, &text));
	if (strcmp(text, "source") != 0)
		return fault_from(reader, value->mark, arena_printf(reader->arena, "\"from\" can't be \"%s\"", text));
	geometry->from = GEOMETRY_SOURCE;
	return RECLOSER_OK;
}

static recloser_status read_crs(const struct reader *reader, const struct field *field, const struct node *value,
								void *target)
{
	RC_TRY(field_text(reader, field, value, target));
	if (whole_number(value->text) < 0)
		return RECLOSER_OK;
	fault_at(reader, value->mark, "spec.crs", "\"%s\" needs the authority before the code, not \"%s\"", field->name,
			 value->text);
	return error_hint(reader->error, "%s: EPSG:%s", field->name, value->text);
}

static recloser_status read_types(const struct reader *reader, const struct field *field, const struct node *value,
								  void *target)
{
	static const char *const words[] = {"Point",        "LineString",         "Polygon", "MultiPoint", "MultiLineString",
										"MultiPolygon", "GeometryCollection", NULL};
	struct strings *types = target;
	RC_TRY(field_names(reader, field, value, types));
	for (size_t i = 0; i < types->count; i++)
		if (word_index(words, types->at[i]) < 0)
			return refuse_word(reader, field->name, value->kind == NODE_LIST ? value->members[i].value : value, words);
	return RECLOSER_OK;
}

static const char *const missing_words[] = {"quarantine", "allow", NULL};
static const char *const covering_words[] = {"auto", "on", "off", NULL};
static const char *const curve_words[] = {"refuse", "linearize", NULL};

#define IN_GEOMETRY(member) offsetof(struct geometry_spec, member)
static const struct field geometry_fields[] = {
	{"column", field_text, IN_GEOMETRY(column), NULL},
	{"crs", read_crs, IN_GEOMETRY(crs), NULL},
	{"to_crs", read_crs, IN_GEOMETRY(to_crs), NULL},
	{"from", read_from, 0, NULL},
	{"missing", field_word, IN_GEOMETRY(missing), missing_words},
	{"covering", field_word, IN_GEOMETRY(covering), covering_words},
	{"curves", field_word, IN_GEOMETRY(curves), curve_words},
	{"types", read_types, IN_GEOMETRY(types), NULL},
	{"check_valid", field_flag, IN_GEOMETRY(check_valid), NULL},
};

recloser_status geometry_read(const struct reader *reader, const struct node *value, struct geometry_spec *geometry)
{
	geometry->column = "geometry";
	geometry->from = GEOMETRY_AUTO;
	geometry->mark = (struct mark){1, 1};
	if (!value)
		return RECLOSER_OK;
	geometry->mark = value->mark;
	if (value->kind == NODE_TEXT && strcmp(value->text, "none") == 0) {
		geometry->from = GEOMETRY_NONE;
		return RECLOSER_OK;
	}
	if (value->kind == NODE_TEXT && *value->text) {
		fault_at(reader, value->mark, "spec.geometry", "\"geometry\" can't be \"%s\"", value->text);
		return error_hint(reader->error, "write none, or {crs: EPSG:4326, from: {lon: longitude, lat: latitude}}");
	}
	RC_TRY(fields_read(reader, value, "\"geometry\"", geometry_fields, sizeof geometry_fields / sizeof *geometry_fields,
					   geometry));
	/* Whoever says anything about the geometry wants one: a source without it is then refused, not loaded without. */
	if (geometry->from == GEOMETRY_AUTO)
		geometry->from = GEOMETRY_SOURCE;
	if (geometry->to_crs && strcmp(geometry->to_crs, "unknown") == 0)
		return fault_at(reader, node_get(value, "to_crs")->mark, "spec.crs", "\"to_crs\" can't be unknown");
	if (geometry->to_crs && geometry->crs && strcmp(geometry->crs, "unknown") == 0)
		return fault_at(reader, node_get(value, "to_crs")->mark, "spec.crs",
						"coordinates of an unknown CRS can't be transformed");
	return RECLOSER_OK;
}
