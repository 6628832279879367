/* SPDX-License-Identifier: Apache-2.0
 * The geometry layers of the SELECT: where a geometry comes from (coordinates, text, a column, a reference layer), the form it is
 * stored in, and what can be wrong with it. */
#include "batch/select.h"

#include <math.h>
#include <string.h>

#include "base/number.h"
#include "batch/convert.h"
#include "batch/lookup.h"

/* A coordinate column: a dataset column of that name, else a source column; as a DOUBLE, with its own fault when it is text. */
static recloser_status coordinate(struct layers *layers, const char *part, const char **out, recloser_error *error)
{
	struct arena *arena = layers->arena;
	struct layout *layout = layers->layout;
	const struct field *field = NULL;
	const char *wanted = text_squeezed(arena, part);
	for (size_t k = 0; k < layout->count && !field; k++)
		if (strcmp(layout->fields[k].name, part) == 0)
			field = &layout->fields[k];
	for (size_t k = 0; k < layout->count && !field; k++)
		if (strcmp(text_squeezed(arena, layout->fields[k].source_name ? layout->fields[k].source_name : layout->fields[k].name), wanted) == 0)
			field = &layout->fields[k];
	if (!field) {
		error_set(error, RECLOSER_REFUSED, "source.missing_column", "the geometry's column %s is not there", part);
		error_where(error, "%s", layout->input->name);
		return error_hint(error, "geometry: {from: ...} names dataset columns or columns of the source");
	}
	const char *name = sql_name(arena, field->name);
	bool text = field->type == TYPE_TEXT || (field->type == TYPE_UNSET && strcmp(field->raw_type, "VARCHAR") == 0);
	if (!text) {
		*out = arena_printf(arena, "CAST(%s AS DOUBLE)", name);
		return RECLOSER_OK;
	}
	struct conversion number = convert_text(arena, field->column, TYPE_DOUBLE, &layout->source->facts, name);
	layers_fault(layers, arena_printf(arena, "%s IS NOT NULL AND trim(%s) <> '' AND (%s) IS NULL", name, name, number.value),
	          number.reason, field->name, name);
	*out = number.value;
	return RECLOSER_OK;
}

static const char *text_part(struct layers *layers, const char *part)
{
	struct layout *layout = layers->layout;
	const char *wanted = text_squeezed(layers->arena, part);
	for (size_t k = 0; k < layout->count; k++)
		if (strcmp(layout->fields[k].name, part) == 0)
			return sql_name(layers->arena, layout->fields[k].name);
	for (size_t k = 0; k < layout->count; k++)
		if (layout->fields[k].source_name && strcmp(text_squeezed(layers->arena, layout->fields[k].source_name), wanted) == 0)
			return sql_name(layers->arena, layout->fields[k].name);
	return NULL;
}

static const char *field_raw_type(const struct layout *layout, const char *quoted, struct arena *arena)
{
	for (size_t k = 0; k < layout->count; k++)
		if (strcmp(sql_name(arena, layout->fields[k].name), quoted) == 0)
			return layout->fields[k].raw_type;
	return "VARCHAR";
}

static recloser_status geometry_from_text(struct layers *layers, const char **raw, recloser_error *error)
{
	struct arena *arena = layers->arena;
	const struct geometry_spec *spec = &layers->context->spec->geometry;
	const char *part = text_part(layers, spec->parts[0]);
	if (!part) {
		error_set(error, RECLOSER_REFUSED, "source.missing_column", "the geometry's column %s is not there", spec->parts[0]);
		return error_where(error, "%s", layers->layout->input->name);
	}
	bool wkt = layers->layout->geometry == GEOMETRY_WKT;
	const char *type = field_raw_type(layers->layout, part, arena);
	if (!wkt && (strcmp(type, "BLOB") == 0 || text_starts(type, "GEOMETRY"))) {
		*raw = arena_printf(arena, "CAST(%s AS BLOB)", part);
		return RECLOSER_OK;
	}
	if (wkt)
		RC_TRY(geometry_ready(error));
	const char *text = arena_printf(arena, "nullif(trim(%s), '')", part);
	*raw = arena_printf(arena, wkt ? "rc_wkt(%s)" : "rc_hex(%s)", text);
	layers->written_geometry = text;
	layers_fault(layers, arena_printf(arena, "%s IS NOT NULL AND %s IS NULL", text, *raw), wkt ? "not well-known text" : "not hexadecimal WKB",
	          spec->column, part);
	const char *srid = wkt ? arena_printf(arena, "rc_wkt_srid(%s)", text) : arena_printf(arena, "rc_wkb_srid(%s)", *raw);
	const char *declared = layers->layout->crs.id && text_starts(layers->layout->crs.id, "EPSG:") ? layers->layout->crs.id + 5 : NULL;
	if (declared)
		layers_fault(layers, arena_printf(arena, "%s <> %s", srid, declared),
		          arena_printf(arena, "the SRID inside is not the declared %s", layers->layout->crs.id), spec->column,
		          arena_printf(arena, "CAST(%s AS VARCHAR)", srid));
	return RECLOSER_OK;
}

/* Beside each row what it is compared by; then the feature that has the same. */
static recloser_status join_lookup(struct layers *layers, recloser_error *error)
{
	struct arena *arena = layers->arena;
	const struct lookup *lookup = &layers->context->spec->geometry.lookup;
	struct text keys = text_on(arena), on = text_on(arena);
	const char **texts = arena_array(arena, lookup->on_count, sizeof *texts);
	for (size_t i = 0; i < lookup->on_count; i++) {
		const struct field *field = NULL;
		for (size_t k = 0; k < layers->layout->count && !field; k++)
			if (strcmp(layers->layout->fields[k].name, lookup->on[i].from) == 0)
				field = &layers->layout->fields[k];
		if (!field) {
			error_set(error, RECLOSER_REFUSED, "source.missing_column", "the lookup's column %s is not there", lookup->on[i].from);
			error_where(error, "%s", layers->layout->input->name);
			return error_hint(error, "on: {column of the dataset: column of the layer}");
		}
		const char *name = sql_name(arena, field->name), *type = field_engine_type(arena, field);
		text_addf(&keys, ", %s AS _rc_l%zu", lookup_compared(arena, layers->context, name, type), i);
		text_addf(&on, "%sb._rc_l%zu = l.k%zu", i ? " AND " : "", i, i);
		texts[i] = convert_plain_text(arena, type, name);
	}
	layers_wrap(layers, keys.at);
	layers->sql = arena_printf(arena, "SELECT b.*, l.n AS _rc_n, l.g AS _rc_g\nFROM (%s) b LEFT JOIN rc_lookup l ON %s", layers->sql, on.at);
	layers_wrap(layers, arena_printf(arena, ", CASE WHEN _rc_n IS NULL AND _rc_flaw IS NULL THEN %s END AS _rc_lookup", lookup_told(arena, lookup, texts)));
	return RECLOSER_OK;
}

static recloser_status geometry_raw(struct layers *layers, const char **raw, recloser_error *error)
{
	struct arena *arena = layers->arena;
	const struct geometry_spec *spec = &layers->context->spec->geometry;
	const char *c[4];
	switch (layers->layout->geometry) {
	case GEOMETRY_SOURCE:
		*raw = "CAST(_rc_g AS BLOB)";
		return RECLOSER_OK;
	case GEOMETRY_LOOKUP:
		RC_TRY(join_lookup(layers, error));
		*raw = "_rc_g";
		return RECLOSER_OK;
	case GEOMETRY_LON_LAT:
		for (int i = 0; i < 2; i++)
			RC_TRY(coordinate(layers, spec->parts[i], &c[i], error));
		*raw = arena_printf(arena, "rc_point(%s, %s)", c[0], c[1]);
		layers_fault(layers, arena_printf(arena, "((%s) IS NULL) <> ((%s) IS NULL)", c[0], c[1]), "only one of the two coordinates is there",
		          spec->column, NULL);
		return RECLOSER_OK;
	case GEOMETRY_LINE:
		for (int i = 0; i < 4; i++)
			RC_TRY(coordinate(layers, spec->parts[i], &c[i], error));
		*raw = arena_printf(arena, "rc_segment(%s, %s, %s, %s)", c[0], c[1], c[2], c[3]);
		return RECLOSER_OK;
	default:
		return geometry_from_text(layers, raw, error);
	}
}

/* SQL of a bound; a system whose reach PROJ does not know is endless. */
static const char *bound_sql(struct arena *arena, double bound)
{
	char text[NUMBER_MAX];
	if (isinf(bound))
		return bound < 0 ? "CAST('-infinity' AS DOUBLE)" : "CAST('infinity' AS DOUBLE)";
	number_shortest(bound, text);
	return arena_printf(arena, "CAST('%s' AS DOUBLE)", text);
}

/* Coordinates that can't be of this system; exchanged ones are said to be, since there is no other likely reason. */
static void outside_fault(struct layers *layers, const char *condition, const char *geometry, const double bounds[4])
{
	struct arena *arena = layers->arena;
	const char *arguments = arena_printf(arena, "%s, %s, %s, %s, %s", geometry, bound_sql(arena, bounds[0]), bound_sql(arena, bounds[1]),
	                                     bound_sql(arena, bounds[2]), bound_sql(arena, bounds[3]));
	const char *outside = arena_printf(arena, "rc_wkb_outside(%s)", arguments);
	layers_fault(layers, arena_printf(arena, "%s AND %s IS NOT NULL", condition, outside), NULL, layers->context->spec->geometry.column,
	          arena_printf(arena, "(%s || CASE WHEN rc_wkb_swapped(%s) THEN '" SWAPPED_WORDS "' ELSE '' END)", outside, arguments));
}

static void geometry_faults(struct layers *layers, const char *stored)
{
	struct arena *arena = layers->arena;
	const struct geometry_spec *spec = &layers->context->spec->geometry;
	const char *fault = "rc_wkb_fault(_rc_g1)";
	const char *empty = "rc_wkb_fault(_rc_g1) = 'the geometry is empty'";
	bool allow = spec->missing == GEOMETRY_ALLOW;
	bool looked_up = layers->layout->geometry == GEOMETRY_LOOKUP;
	if (!allow && looked_up)
		layers_fault(layers, "_rc_lookup IS NOT NULL", NULL, spec->column,
		          arena_printf(arena, "%s || _rc_lookup",
		                       sql_text(arena, arena_printf(arena, "no feature of %s for ", layers->context->lookup_input->name))));
	const char *missing = looked_up ? "_rc_g0 IS NULL AND _rc_lookup IS NULL"
	    : layers->written_geometry ? arena_printf(arena, "%s IS NULL", layers->written_geometry) /* else it is there, but broken */
	                               : "_rc_g0 IS NULL";
	if (!allow)
		layers_fault(layers, missing, "geometry is missing", spec->column, NULL);
	layers_fault(layers, allow ? arena_printf(arena, "%s IS NOT NULL AND NOT (%s)", fault, empty) : arena_printf(arena, "%s IS NOT NULL", fault),
	          NULL, spec->column, fault);
	layers_fault(layers, arena_printf(arena, "_rc_g0 IS NOT NULL AND _rc_g1 IS NULL"),
	          "the geometry can't be brought into the form that is stored", spec->column, NULL);
	if (layers->context->crs.projjson)
		outside_fault(layers, arena_printf(arena, "%s IS NULL", fault), stored, layers->context->crs.bounds);
	if (spec->types.count) {
		struct text list = text_on(arena);
		for (size_t i = 0; i < spec->types.count; i++)
			text_addf(&list, "%s%s", i ? ", " : "", sql_text(arena, spec->types.at[i]));
		const char *type = arena_printf(arena, "regexp_replace(rc_wkb_type(%s), ' Z?M?$', '')", stored);
		layers_fault(layers, arena_printf(arena, "%s IS NULL AND %s NOT IN (%s)", fault, type, list.at),
		          arena_printf(arena, "a geometry type that the spec does not allow (%s)", strings_join(arena, &spec->types, ", ")),
		          spec->column, type);
	}
	if (spec->check_valid)
		layers_fault(layers, arena_printf(arena, "%s IS NULL AND rc_invalid(%s) IS NOT NULL", fault, stored), NULL, spec->column,
		          arena_printf(arena, "rc_invalid(%s)", stored));
}

recloser_status layers_geometry(struct layers *layers, recloser_error *error)
{
	struct arena *arena = layers->arena;
	struct layout *layout = layers->layout;
	const struct geometry_spec *spec = &layers->context->spec->geometry;
	if (layout->geometry == GEOMETRY_NONE)
		return RECLOSER_OK;
	const char *raw = NULL, *moved = "_rc_g0";
	if (spec->curves == CURVES_LINEARIZE || spec->check_valid)
		RC_TRY(geometry_ready(error));
	RC_TRY(geometry_raw(layers, &raw, error));
	layers_wrap(layers, arena_printf(arena, ", %s AS _rc_g0", raw));
	if (spec->curves == CURVES_LINEARIZE)
		moved = arena_printf(arena, "rc_linearize(%s)", moved);
	const struct crs *to = &layers->context->crs;
	if (layout->crs.projjson && to->projjson && !crs_same(&layout->crs, to)) {
		/* A transformation makes something of coordinates that are none of its system, so they are looked at before it. */
		outside_fault(layers, "TRUE", "_rc_g0", layout->crs.bounds);
		moved = arena_printf(arena, "rc_transform(rc_wkb(%s), %s, %s)", moved, sql_text(arena, layout->crs.projjson),
		                     sql_text(arena, to->projjson));
	}
	layers_wrap(layers, arena_printf(arena, ", %s AS _rc_g1", moved));
	layers_wrap(layers, arena_printf(arena, ", rc_wkb(_rc_g1) AS %s", sql_name(arena, spec->column)));
	geometry_faults(layers, sql_name(arena, spec->column));
	return RECLOSER_OK;
}
