/* SPDX-License-Identifier: Apache-2.0
 * JSON and GeoJSON files as a source: an array of records, a member that holds one, JSON lines, or features. */
#include "source/json.h"

#include <inttypes.h>
#include <string.h>

#include "geo/crs.h"

static void destroy_lock(void *lock)
{
	pthread_mutex_destroy(lock);
}

/* The `crs` member of GeoJSON 2008. RFC 7946 has none: then it is longitude and latitude on WGS 84. */
static const char *crs_text(struct arena *arena, const struct value *crs)
{
	struct json_scan scan = json_scan_of(crs->at, crs->count);
	struct value name, value, type = {0}, found = {0};
	scan.at++;
	for (bool first = true; json_scan_member(&scan, first, &name) && json_scan_value(&scan, &value); first = false) {
		if (value_is(&name, "type"))
			type = value;
		if (!value_is(&name, "properties") || value.kind != VALUE_OBJECT)
			continue;
		struct json_scan inside = json_scan_of(value.at, value.count);
		inside.at++;
		for (bool one = true; json_scan_member(&inside, one, &name) && json_scan_value(&inside, &value); one = false)
			if (value_is(&name, "name") || value_is(&name, "code"))
				found = value;
	}
	if (!found.at)
		return NULL;
	char *text = arena_alloc(arena, found.count + 1);
	if (found.kind == VALUE_TEXT)
		json_unescape(&found, text);
	else
		memcpy(text, found.at, found.count);
	if (value_is(&type, "EPSG"))
		return arena_printf(arena, "EPSG:%s", text);
	return strcmp(text, "CRS84") == 0 ? "OGC:CRS84" : text;
}

/* A system that nothing understands is left for the spec to name; without GDAL nothing is understood. */
static recloser_status find_crs(struct arena *arena, struct json_source *json, recloser_error *error)
{
	struct source_facts *facts = &json->source.facts;
	const struct value *member = &json->place.crs;
	const char *text = "OGC:CRS84";
	if (member->at && member->kind == VALUE_NULL) {
		facts->crs_unknown = true;
		return RECLOSER_OK;
	}
	if (member->at)
		text = member->kind == VALUE_OBJECT ? crs_text(arena, member) : NULL;
	struct crs crs;
	RC_TRY(geometry_ready(error));
	if (text && crs_read(arena, text, &crs, NULL) == RECLOSER_OK)
		facts->crs_projjson = crs.projjson;
	else
		strings_add(arena, &facts->notes,
					text ? arena_printf(arena, "the file's crs \"%s\" is not known", text)
						 : "the file's crs member is not understood");
	return RECLOSER_OK;
}

static bool has_column(const struct json_columns *columns, const char *name)
{
	return json_column_find(columns, name, strlen(name), SIZE_MAX) != SIZE_MAX;
}

/* The members, then what features have beside their properties. */
static void make_columns(struct arena *arena, struct json_source *json)
{
	struct source *source = &json->source;
	struct json_columns *members = &json->columns;
	size_t count = members->count;
	source->columns = arena_array(arena, count + 2, sizeof *source->columns);
	for (size_t i = 0; i < count; i++)
		source->columns[i] =
			(struct source_column){members->at[i].name, NULL, CELL_TEXT, json_column_type(members->at[i].kinds)};
	if (json->id_column != SIZE_MAX && has_column(members, "feature_id")) {
		json->id_column = SIZE_MAX;
		strings_add(arena, &source->facts.notes, "the features' own ids are not read: a property is called feature_id");
	}
	if (json->id_column != SIZE_MAX) {
		json->id_column = count;
		source->columns[count++] = (struct source_column){"feature_id", NULL, CELL_TEXT, json_column_type(json->id_kinds)};
	}
	source->facts.geometry_column = -1;
	json->geometry_column = SIZE_MAX;
	if (json->place.features) {
		const char *name = has_column(members, "geometry") ? "feature_geometry" : "geometry";
		if (has_column(members, "geometry"))
			strings_add(arena, &source->facts.notes,
						"a property is called geometry, so the features' own is feature_geometry");
		json->geometry_column = count;
		source->facts.geometry_column = (int)count;
		source->columns[count++] = (struct source_column){name, NULL, CELL_GEOMETRY, TYPE_UNSET};
	}
	source->column_count = count;
}

recloser_status json_open(struct arena *arena, const struct source_request *request, struct source ***out, size_t *count,
						  recloser_error *error)
{
	struct json_source *json = arena_alloc(arena, sizeof *json);
	struct source *source = &json->source;
	struct bytes bytes;
	json->request = *request;
	RC_TRY(bytes_open(arena, request->input->read_path, request->block->encoding, request->spool, &bytes, error));
	RC_TRY(json_find(arena, request, &bytes, &json->place, error));
	RC_TRY(json_survey(arena, json, error));
	make_columns(arena, json);
	source->facts.format = json->place.features ? "geojson" : "json";
	source->facts.encoding = bytes.encoding;
	source->facts.bytes = bytes.count;
	if (json->place.features)
		RC_TRY(find_crs(arena, json, error));
	pthread_mutex_init(&json->lock, NULL);
	arena_defer(arena, destroy_lock, &json->lock);
	source->ops = &json_ops;
	source->impl = json;
	*out = arena_alloc(arena, sizeof **out);
	**out = source;
	*count = 1;
	return RECLOSER_OK;
}
