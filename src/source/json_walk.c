/* SPDX-License-Identifier: Apache-2.0
 * From record to record, and from member to member inside one. Both passes go this way, so that they see the same. */
#include "source/json.h"

#include <string.h>

struct json_cursor json_cursor_of(const struct json_place *place)
{
	struct json_cursor cursor = {.place = place, .first = true, .line = 1, .counted = place->begin};
	cursor.scan = json_scan_of(place->begin, (size_t)(place->end - place->begin));
	cursor.scan.at = place->records;
	return cursor;
}

uint64_t json_cursor_line(struct json_cursor *cursor)
{
	uint64_t lines = 0;
	for (const char *at = cursor->counted; at < cursor->scan.at; at++)
		lines += *at == '\n';
	cursor->counted = cursor->scan.at;
	return cursor->line += lines;
}

bool json_cursor_next(struct json_cursor *cursor)
{
	struct json_scan *scan = &cursor->scan;
	if (cursor->place->array) {
		if (!json_scan_element(scan, cursor->first))
			return false;
	} else {
		json_scan_space(scan);
		while (scan->at < scan->end && *scan->at == '\x1e') {
			scan->at++;
			json_scan_space(scan);
		}
		if (scan->at >= scan->end)
			return false;
	}
	cursor->first = false;
	cursor->number++;
	cursor->start = scan->at;
	json_cursor_line(cursor);
	return true;
}

void json_cursor_skip_line(struct json_cursor *cursor)
{
	struct json_scan *scan = &cursor->scan;
	const char *newline = memchr(cursor->start, '\n', (size_t)(scan->end - cursor->start));
	scan->at = newline ? newline : scan->end;
	scan->wrong = scan->hint = scan->soft = NULL;
	scan->depth = 0;
}

/* scan->at is at the brace. */
static void visit_members(struct json_scan *scan, const struct json_visitor *visitor)
{
	struct value name, value;
	scan->at++;
	for (bool first = true; json_scan_member(scan, first, &name); first = false) {
		if (!json_scan_value(scan, &value))
			return;
		visitor->member(visitor->arg, scan, &name, &value);
	}
}

enum { HAS_TYPE = 1, HAS_PROPERTIES = 2, HAS_GEOMETRY = 4, HAS_ID = 8 };

static const char *visit_properties(struct json_scan *scan, const struct json_visitor *visitor)
{
	struct value value;
	json_scan_space(scan);
	if (scan->at < scan->end && *scan->at == '{') {
		visit_members(scan, visitor);
		return NULL;
	}
	if (!json_scan_value(scan, &value) || value.kind == VALUE_NULL)
		return NULL;
	return "the feature's properties are no object";
}

static const char *visit_feature(struct json_scan *scan, const struct json_visitor *visitor)
{
	const char *fault = NULL;
	unsigned has = 0;
	struct value name, value;
	scan->at++;
	for (bool first = true; json_scan_member(scan, first, &name) && !scan->wrong; first = false) {
		unsigned which = value_is(&name, "type")         ? HAS_TYPE
						 : value_is(&name, "properties") ? HAS_PROPERTIES
						 : value_is(&name, "geometry")   ? HAS_GEOMETRY
						 : value_is(&name, "id")         ? HAS_ID
														 : 0;
		bool twice = has & which;
		has |= which;
		if (which == HAS_PROPERTIES && !twice) {
			const char *wrong = visit_properties(scan, visitor);
			fault = fault ? fault : wrong;
			continue;
		}
		if (!json_scan_value(scan, &value))
			return fault;
		if (twice)
			fault = "the feature has a member twice";
		else if (which == HAS_TYPE && !value_is(&value, "Feature"))
			fault = "the record is no GeoJSON feature";
		else if (which == HAS_GEOMETRY)
			visitor->geometry(visitor->arg, &value);
		else if (which == HAS_ID)
			visitor->id(visitor->arg, scan, &value);
		else if (which == 0 && !value_is(&name, "bbox"))
			visitor->foreign(visitor->arg, &name);
	}
	return fault || (has & HAS_TYPE) ? fault : "the record is no GeoJSON feature";
}

const char *json_visit(struct json_scan *scan, bool features, const struct json_visitor *visitor)
{
	struct value value;
	if (scan->at < scan->end && *scan->at == '{') {
		if (features)
			return visit_feature(scan, visitor);
		visit_members(scan, visitor);
		return NULL;
	}
	json_scan_value(scan, &value);
	return "the record is no object";
}
