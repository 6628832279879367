/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "partition/part.h"

/* ---- the format ---- */

static bool is_text_type(const char *type)
{
	return strcmp(type, "VARCHAR") == 0;
}

/* Which partition columns stand in the file: Arrow's readers take a text copy only with a dictionary type, and no copy of an
 * integer at all (docs/format.md has the readers' matrix). */
static void choose_copies(struct part_format *format)
{
	struct batch *batch = format->batch;
	enum partition_copy copy = format->spec->partition_columns;
	for (size_t i = 0; i < batch->column_count; i++) {
		const struct batch_column *column = &batch->columns[i];
		if (!column->partition || copy == PARTITION_PATH || (copy == PARTITION_DICTIONARY && !is_text_type(column->type)))
			continue;
		strings_add(batch->arena, &format->in_file, column->name);
		if (copy == PARTITION_DICTIONARY)
			strings_add(batch->arena, &format->dictionary, column->name);
	}
}

/* For points in identity order the box costs a third more bytes and prunes nothing. */
static void choose_covering(struct part_format *format, uint32_t types)
{
	const uint32_t points = 0x01010101; /* Point in each of the four dimension classes (wkb.h) */
	const struct spec *spec = format->spec;
	if (!format->batch->has_geometry)
		format->covering = false;
	else if (spec->geometry.covering != COVERING_AUTO)
		format->covering = spec->geometry.covering == COVERING_ON;
	else if (format->pinned >= 0)
		format->covering = format->pinned;
	else
		format->covering = (types & ~points) || spec->order == ORDER_HILBERT;
}

static const char *crs_class(struct arena *arena, const struct crs *crs)
{
	if (crs->id || !crs->projjson)
		return crs->id ? crs->id : "";
	char *hex = arena_alloc(arena, SHA256_HEX);
	sha256_of(crs->projjson, strlen(crs->projjson), hex);
	return hex;
}

bool format_is_native(const struct spec *spec)
{
	return spec->geoparquet && strcmp(spec->geoparquet, "2.0") == 0;
}

static recloser_status check_native(const struct part_format *format, recloser_error *error)
{
	if (!format->batch->has_geometry || !format_is_native(format->spec) || format->crs.projjson)
		return RECLOSER_OK;
	error_set(error, RECLOSER_REFUSED, "geometry.crs", "GeoParquet 2.0 can't hold a geometry whose CRS is unknown");
	return error_hint(error, "say which CRS it is, or leave `geoparquet: 2.0` out: 1.1 writes the CRS as null");
}

recloser_status part_format_make(struct batch *batch, int covering, struct part_format *out, recloser_error *error)
{
	*out = (struct part_format){.engine = batch->context->engine, .spec = batch->context->spec, .batch = batch, .crs = batch->context->crs,
	                            .pinned = covering};
	for (size_t i = 0; i < batch->layout_count && !out->geo_extra; i++)
		if (batch->layouts[i]->geometry == GEOMETRY_SOURCE)
			out->geo_extra = batch->layouts[i]->source->facts.geo_extra;
	RC_TRY(check_native(out, error));
	choose_copies(out);
	out->schema = batch_content_schema(batch, crs_class(batch->arena, &out->crs));
	return content_register_sum(out->engine, batch->arena, "rc_content_batch", &out->schema, error);
}

/* ---- the content pass ---- */

recloser_status parts_content(struct part_format *format, struct part *parts, recloser_error *error)
{
	struct batch *batch = format->batch;
	struct arena *arena = batch->arena;
	struct rows rows;
	bool one = batch->part_count <= 1;
	uint32_t types = 0;
	const char *path = one ? "''" : batch_path_sql(arena, &format->spec->partition);
	const char *geometry = batch->has_geometry ? arena_printf(arena, ", %s", sql_name(arena, format->spec->geometry.column)) : "";
	struct text group = text_on(arena);
	for (size_t i = 0; !one && i < format->spec->partition.count; i++)
		text_addf(&group, "%s%s", i ? ", " : " GROUP BY ", sql_name(arena, format->spec->partition.at[i]));
	RC_TRY(engine_query(format->engine, arena, "fingerprint the content", arena_printf(arena,
	    "SELECT %s AS path, rc_content_batch(_rc_digest%s), %s FROM batch%s ORDER BY path", path, geometry, batch_lengths_sql(arena, batch),
	    group.at), &rows, error));
	/* Both are sorted by the bytes of the path. */
	for (size_t i = 0; i < batch->part_count; i++) {
		parts[i].batch_part = &batch->parts[i];
		if (i >= rows.row_count || (!one && strcmp(rows_at(&rows, i, 0), batch->parts[i].path) != 0))
			return error_set(error, RECLOSER_IO, "engine.content", "the content pass lost partition %s", batch->parts[i].path);
		RC_TRY(content_read(arena, &format->schema, rows_at(&rows, i, 1), &parts[i].content, error));
		if (parts[i].content.rows != batch->parts[i].rows)
			return error_set(error, RECLOSER_IO, "engine.content", "%" PRIu64 " rows instead of %" PRIu64 " are left for partition %s",
			                 parts[i].content.rows, batch->parts[i].rows, batch->parts[i].path);
		batch_take_lengths(arena, batch, &rows, i, 2, &batch->parts[i].widths);
		types |= parts[i].content.geometry.types;
	}
	choose_covering(format, types);
	for (size_t i = 0; i < batch->part_count && batch->has_geometry; i++)
		parts[i].geo = geo_entry(arena, format, &parts[i].content.geometry);
	return copy_columns(format, error);
}
