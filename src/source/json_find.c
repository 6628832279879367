/* SPDX-License-Identifier: Apache-2.0
 * Where the records are: an array, a member that is one, the features of a collection, or values one after another. */
#include "source/json.h"

#include <inttypes.h>
#include <string.h>

recloser_status json_refuse(const struct source_request *request, const struct json_place *place, const char *at,
							const char *what, const char *hint, recloser_error *error)
{
	uint64_t line = 1;
	for (const char *p = place->begin; p < at; p++)
		line += *p == '\n';
	error_set(error, RECLOSER_REFUSED, "json.broken", "%s", what);
	error_where(error, "%s, line %" PRIu64 ", byte offset %" PRIu64, request->input->name, line,
				(uint64_t)(at - place->begin));
	return hint ? error_hint(error, "%s", hint) : RECLOSER_REFUSED;
}

static recloser_status refuse(const struct source_request *request, const char *what, const char *hint,
							  recloser_error *error)
{
	error_set(error, RECLOSER_REFUSED, "json.records", "%s", what);
	error_where(error, "%s", request->input->name);
	return error_hint(error, "%s", hint);
}

static recloser_status broken(const struct source_request *request, const struct json_place *place,
							  const struct json_scan *scan, recloser_error *error)
{
	return json_refuse(request, place, scan->at, scan->wrong, scan->hint, error);
}

/* The members of one object that matter for finding records. */
struct look {
	struct value type, crs;
	struct strings arrays; /* names of members that are arrays with an object in front */
	const char *records;   /* behind the bracket of the last of them */
	const char *empty;     /* of an empty array */
	size_t empty_count;
	struct value features;
	bool esri;
	struct strings names;
};

static const char *name_of(struct arena *arena, const struct value *name)
{
	char *text = arena_alloc(arena, name->count + 1);
	json_unescape(name, text);
	return text;
}

static void look_at_array(struct arena *arena, const struct value *name, const struct value *value, struct look *look)
{
	struct json_scan inside = json_scan_of(value->at + 1, value->count - 1);
	json_scan_space(&inside);
	if (*inside.at == ']') {
		look->empty = value->at + 1;
		look->empty_count++;
	} else if (*inside.at == '{') {
		strings_add(arena, &look->arrays, name_of(arena, name));
		look->records = value->at + 1;
	}
}

/* All members of the object at scan->at; scanning ends behind it. */
static bool look_at_object(struct arena *arena, struct json_scan *scan, struct look *look)
{
	struct value name, value;
	scan->at++;
	for (bool first = true; json_scan_member(scan, first, &name); first = false) {
		if (!json_scan_value(scan, &value))
			return false;
		if (look->names.count < 20)
			strings_add(arena, &look->names, name_of(arena, &name));
		if (value_is(&name, "type"))
			look->type = value;
		else if (value_is(&name, "crs"))
			look->crs = value;
		else if (value_is(&name, "features"))
			look->features = value;
		else if (value_is(&name, "spatialReference") || value_is(&name, "fieldAliases"))
			look->esri = true;
		if (value.kind == VALUE_ARRAY)
			look_at_array(arena, &name, &value, look);
	}
	return !scan->wrong;
}

static bool first_is_feature(struct arena *arena, const struct json_place *place)
{
	struct json_scan scan = json_scan_of(place->records, (size_t)(place->end - place->records));
	struct look look = {0};
	json_scan_space(&scan);
	if (scan.at >= scan.end || *scan.at != '{' || !look_at_object(arena, &scan, &look))
		return false;
	return value_is(&look.type, "Feature") &&
		   (strings_has(&look.names, "properties") || strings_has(&look.names, "geometry"));
}

/* `records: a.b`: a member of the whole name goes before steps at the dots. */
static recloser_status follow(struct arena *arena, const struct source_request *request, const char *path, const char *at,
							  struct json_place *out, recloser_error *error)
{
	struct json_scan scan = json_scan_of(out->begin, (size_t)(out->end - out->begin));
	struct value name, value, whole = {0}, step = {0};
	struct strings names = {0};
	size_t segment = strcspn(path, ".");
	char *head = arena_strndup(arena, path, segment);
	scan.at = at + 1;
	for (bool first = true; json_scan_member(&scan, first, &name) && json_scan_value(&scan, &value); first = false) {
		if (value_is(&name, path))
			whole = value;
		else if (value_is(&name, head))
			step = value;
		if (names.count < 20)
			strings_add(arena, &names, name_of(arena, &name));
	}
	if (scan.wrong)
		return broken(request, out, &scan, error);
	if (whole.at && whole.kind == VALUE_ARRAY) {
		out->records = whole.at + 1;
		return RECLOSER_OK;
	}
	if (!whole.at && step.at && step.kind == VALUE_OBJECT && path[segment])
		return follow(arena, request, path + segment + 1, step.at, out, error);
	const char *what = whole.at || step.at ? "is no array of records" : "is not in the document";
	return refuse(request, arena_printf(arena, "the member \"%s\" (records: %s) %s", path, request->block->records, what),
				  arena_printf(arena, "the members here are: %s", strings_join(arena, &names, ", ")), error);
}

/* One object and nothing behind it. */
static recloser_status find_in_object(struct arena *arena, const struct source_request *request, const struct look *look,
									  const char *object, struct json_place *out, recloser_error *error)
{
	if (value_is(&look->type, "Topology"))
		return refuse(request, "this is TopoJSON, not GeoJSON", "write `format: ogr` in the source's block", error);
	if (look->features.kind == VALUE_ARRAY && look->esri)
		return refuse(request, "this is ESRI JSON, not GeoJSON", "write `format: ogr` in the source's block", error);
	out->array = true;
	if (value_is(&look->type, "FeatureCollection")) {
		if (look->features.kind != VALUE_ARRAY)
			return refuse(request, "the FeatureCollection has no array of features", "it may be cut off or of another kind",
						  error);
		out->features = true;
		out->records = look->features.at + 1;
		out->crs = look->crs;
	} else if (look->arrays.count == 1) {
		out->records = look->records;
	} else if (look->arrays.count > 1) {
		return refuse(
			request,
			arena_printf(arena, "several members are arrays of records: %s", strings_join(arena, &look->arrays, ", ")),
			"name one by `records:` in the source's block", error);
	} else if (look->empty_count == 1) {
		out->records = look->empty;
	} else {
		out->array = false; /* JSON lines with one line */
		out->records = object;
	}
	return RECLOSER_OK;
}

static recloser_status find_from_object(struct arena *arena, const struct source_request *request, struct json_scan *scan,
										struct json_place *out, recloser_error *error)
{
	const char *object = scan->at;
	struct look look = {0};
	if (!look_at_object(arena, scan, &look))
		return broken(request, out, scan, error);
	json_scan_space(scan);
	bool more = scan->at < scan->end;
	if (more && *scan->at != '{' && *scan->at != '\x1e')
		return json_refuse(request, out, scan->at, "text after the end of the document", NULL, error);
	if (request->block->records) {
		if (more)
			return json_refuse(request, out, scan->at, "a second document, while `records:` asks for one", NULL, error);
		out->array = true;
		return follow(arena, request, request->block->records, object, out, error);
	}
	if (!more)
		return find_in_object(arena, request, &look, object, out, error);
	out->records = object;
	return RECLOSER_OK;
}

/* An error page of a web server is the commonest thing that is not what it should be. */
static recloser_status refuse_markup(const struct source_request *request, const struct json_scan *scan,
									 recloser_error *error)
{
	char head[1024];
	size_t count = (size_t)(scan->end - scan->at) < sizeof head - 1 ? (size_t)(scan->end - scan->at) : sizeof head - 1;
	for (size_t i = 0; i < count; i++)
		head[i] = scan->at[i] >= 'A' && scan->at[i] <= 'Z' ? (char)(scan->at[i] | 32) : scan->at[i];
	head[count] = '\0';
	bool html = strstr(head, "<html") || strstr(head, "<!doctype html");
	return refuse(request, html ? "this is an HTML page, not JSON" : "this is XML, not JSON",
				  html ? "the download may have met an error page: open the file and look" : "look what was downloaded",
				  error);
}

recloser_status json_find(struct arena *arena, const struct source_request *request, const struct bytes *bytes,
						  struct json_place *out, recloser_error *error)
{
	struct json_scan scan = json_scan_of(bytes->at, bytes->count);
	*out = (struct json_place){.begin = bytes->at, .end = bytes->at + bytes->count};
	json_scan_space(&scan);
	while (scan.at < scan.end && *scan.at == '\x1e') { /* RFC 8142 puts a record separator before each text */
		scan.at++;
		json_scan_space(&scan);
	}
	if (scan.at >= scan.end)
		return refuse(request, "the file is empty", "an empty list of records would be []", error);
	if (*scan.at == '<')
		return refuse_markup(request, &scan, error);
	if (*scan.at == '{') {
		RC_TRY(find_from_object(arena, request, &scan, out, error));
	} else if (*scan.at == '[') {
		if (request->block->records)
			return refuse(request, "the document is an array, so it has no member to take the records from",
						  "leave `records:` out", error);
		out->array = out->whole = true;
		out->records = scan.at + 1;
	} else {
		return json_refuse(request, out, scan.at, "neither an array nor an object, so no records",
						   "this may be another format: say it by `format:` in the source's block", error);
	}
	out->features = out->features || first_is_feature(arena, out);
	return RECLOSER_OK;
}
