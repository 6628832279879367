/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/json.h"
#include "base/number.h"
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
	    "SELECT %s AS path, rc_content_batch(_rc_digest%s) FROM batch%s ORDER BY path", path, geometry, group.at), &rows, error));
	/* Both are sorted by the bytes of the path. */
	for (size_t i = 0; i < batch->part_count; i++) {
		parts[i].batch_part = &batch->parts[i];
		if (i >= rows.row_count || (!one && strcmp(rows_at(&rows, i, 0), batch->parts[i].path) != 0))
			return error_set(error, RECLOSER_IO, "engine.content", "the content pass lost partition %s", batch->parts[i].path);
		RC_TRY(content_read(arena, &format->schema, rows_at(&rows, i, 1), &parts[i].content, error));
		types |= parts[i].content.geometry.types;
	}
	choose_covering(format, types);
	for (size_t i = 0; i < batch->part_count && batch->has_geometry; i++)
		parts[i].geo = geo_entry(arena, format, &parts[i].content.geometry);
	return RECLOSER_OK;
}

/* ---- the file ---- */

/* In GeoParquet 1.1 a geometry is bytes that the `geo` entry explains; in 2.0 it is Parquet's own geometry type, with the CRS in
 * the type as well. Either way the `geo` entry is ours: the engine is told to write none. */
static const char *geometry_column(const struct part_format *format, struct arena *arena, const char *column)
{
	const char *name = sql_name(arena, column);
	if (!format_is_native(format->spec))
		return name;
	return arena_printf(arena, "st_setcrs(st_geomfromwkb(%s), %s) AS %s", name, sql_text(arena, format->crs.projjson), name);
}

static const char *select_columns(const struct part_format *format, struct arena *arena)
{
	struct text out = text_on(arena);
	for (size_t i = 0; i < format->batch->column_count; i++) {
		const struct batch_column *column = &format->batch->columns[i];
		if (!column->partition || strings_has(&format->in_file, column->name))
			text_addf(&out, "%s%s", out.length ? ", " : "",
			          column->geometry ? geometry_column(format, arena, column->name) : sql_name(arena, column->name));
	}
	if (format->covering)
		text_addf(&out, ", rc_bbox(%s) AS bbox", sql_name(arena, format->spec->geometry.column));
	return out.at;
}

static const char *order_of(const struct part_format *format, struct arena *arena, const struct part *part)
{
	const struct wkb_facts *box = &part->content.geometry;
	if (format->spec->order == ORDER_SOURCE)
		return "_rc_src, _rc_row";
	if (format->spec->order == ORDER_HILBERT && format->batch->has_geometry && box->any) {
		struct text out = text_on(arena);
		text_addf(&out, "rc_hilbert(%s", sql_name(arena, format->spec->geometry.column));
		const double edges[4] = {box->minimum[0], box->minimum[1], box->maximum[0], box->maximum[1]};
		for (int i = 0; i < 4; i++) {
			char digits[64];
			number_shortest(edges[i], digits);
			text_addf(&out, ", CAST('%s' AS DOUBLE)", digits);
		}
		text_addf(&out, ") NULLS LAST, %s", batch_order_sql(arena, format->batch));
		return out.at;
	}
	return batch_order_sql(arena, format->batch);
}

/* The partition's declared values as a JSON object, in partition order: what a file that was moved still says of itself. */
static const char *partition_entry(struct arena *arena, const struct strings *columns, const char *const *values)
{
	json_t *object = json_new_object(arena);
	for (size_t i = 0; i < columns->count; i++)
		json_put_text(arena, object, columns->at[i], values[i]);
	return json_compact(arena, object);
}

static const char *key_entry(struct arena *arena, const struct spec *spec)
{
	json_t *object = json_new_object(arena), *fields = json_new_array(arena);
	json_put_text(arena, object, "column", spec->key_column);
	for (size_t i = 0; i < spec->identity_count; i++)
		json_add_text(arena, fields, spec->identity[i].column ? spec->identity[i].column : spec->identity[i].sql);
	json_put(arena, object, spec->key_id ? "id" : "identity", spec->key_id ? json_on(arena, json_string(spec->key_id)) : fields);
	if (!spec->key_id)
		json_put_text(arena, object, "hash", spec->key_escape ? "sha256/24, escaped" : "sha256/24");
	return json_compact(arena, object);
}

static void metadata_of(const struct part_format *format, struct arena *arena, const struct part *part, struct strings *out)
{
	if (part->geo) {
		strings_add(arena, out, "geo");
		strings_add(arena, out, part->geo);
	}
	strings_add(arena, out, "recloser:partition");
	strings_add(arena, out, partition_entry(arena, &format->spec->partition, part->batch_part->values));
	strings_add(arena, out, "recloser:key");
	strings_add(arena, out, key_entry(arena, format->spec));
	strings_add(arena, out, "recloser:shape");
	strings_add(arena, out, format->spec->shape);
}

recloser_status part_write(const struct part_format *format, struct engine *engine, struct arena *arena, struct part *part,
                           const char *file, recloser_error *error)
{
	const char *columns = select_columns(format, arena);
	struct strings metadata = {0};
	metadata_of(format, arena, part, &metadata);
	struct text entries = text_on(arena);
	for (size_t i = 0; i < metadata.count; i += 2)
		text_addf(&entries, "%s%s: %s", i ? ", " : "", sql_name(arena, metadata.at[i]), sql_text(arena, metadata.at[i + 1]));
	if (format->dictionary.count) {
		const char *schema;
		const char *select = arena_printf(arena, "SELECT %s FROM batch", columns);
		RC_TRY(arrow_schema_text(engine, arena, select, &format->dictionary, &metadata, &schema, error));
		text_addf(&entries, ", \"ARROW:schema\": '%s'", schema);
	}
	part->file = file;
	const char *sql = arena_printf(arena,
	    "COPY (SELECT %s FROM %s ORDER BY %s) TO %s (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 3, "
	    "ROW_GROUP_SIZE %d, GEOPARQUET_VERSION 'NONE', KV_METADATA {%s})",
	    columns, part->batch_part->rows_sql, order_of(format, arena, part), sql_text(arena, file), ROW_GROUP_ROWS, entries.at);
	const char *name = *part->batch_part->path ? part->batch_part->path : "the one partition";
	RC_TRY(engine_run(engine, arena_printf(arena, "sort and write %s", name), sql, error));
	return sha256_file(file, part->sha256, &part->bytes, error);
}
