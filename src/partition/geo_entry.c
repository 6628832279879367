/* SPDX-License-Identifier: Apache-2.0
 * The `geo` entry of a footer, as GeoParquet 1.1 defines it (https://geoparquet.org/releases/v1.1.0/) and 2.0 keeps it. Written by hand, since
 * its numbers shall be the shortest that read back and its CRS the pinned text. */
#include <string.h>

#include "base/number.h"
#include "partition/part.h"

static void add_number(struct text *out, double value)
{
	char digits[64];
	number_shortest(value, digits);
	text_add(out, digits);
}

/* GeoParquet has no word for a type with M; an empty list says that the types are not known, which no reader takes amiss. */
static void add_types(struct text *out, uint32_t types)
{
	bool first = true;
	if (types >> 16)
		types = 0;
	text_add(out, "\"geometry_types\":[");
	for (int bit = 0; bit < 32; bit++) {
		const char *name = types >> bit & 1 ? wkb_type_name(bit) : NULL;
		if (!name)
			continue;
		text_addf(out, "%s\"%s\"", first ? "" : ",", name);
		first = false;
	}
	text_add(out, "]");
}

static void add_bbox(struct text *out, const struct wkb_facts *facts)
{
	int dimensions = facts->any_z ? 3 : 2;
	text_add(out, ",\"bbox\":[");
	for (int side = 0; side < 2; side++)
		for (int i = 0; i < dimensions; i++) {
			if (side || i)
				text_add(out, ",");
			add_number(out, side ? facts->maximum[i] : facts->minimum[i]);
		}
	text_add(out, "]");
}

const char *geo_entry(struct arena *arena, const struct part_format *format, const struct wkb_facts *facts)
{
	struct text out = text_on(arena);
	const char *column = format->spec->geometry.column;
	text_addf(&out, "{\"version\":\"%s\",\"primary_column\":\"%s\",\"columns\":{\"%s\":{\"encoding\":\"WKB\",",
	          format_is_native(format->spec) ? "2.0.0" : "1.1.0", column, column);
	add_types(&out, facts->types);
	text_addf(&out, ",\"crs\":%s", format->crs.projjson ? format->crs.projjson : "null");
	if (format->geo_extra) {
		/* `{"edges":"spherical"}` without its braces */
		size_t length = strlen(format->geo_extra);
		text_add(&out, ",");
		text_add_n(&out, format->geo_extra + 1, length - 2);
	}
	if (facts->any)
		add_bbox(&out, facts);
	if (format->covering)
		text_add(&out, ",\"covering\":{\"bbox\":{\"xmin\":[\"bbox\",\"xmin\"],\"ymin\":[\"bbox\",\"ymin\"],"
		               "\"xmax\":[\"bbox\",\"xmax\"],\"ymax\":[\"bbox\",\"ymax\"]}}");
	text_add(&out, "}}}");
	return out.at;
}
