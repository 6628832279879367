/* SPDX-License-Identifier: Apache-2.0
 * The SELECT of one layout, built as layers: each wraps the one before and adds columns, so that no expression is written
 * twice and each layer reads like one sentence.
 *
 *   raw      _rc_r<k>   what the source has for field k
 *   clean    _rc_x<k>   space, match, map, missing, default, pad
 *   convert  _rc_v<k>   the value behind its guard
 *   name     the field under its own name, beside source_name, source_path, sheet, row_number
 *   sql      fields that are expressions over the others go through the same three steps
 *   geometry _rc_g0, _rc_g1 and the geometry column
 *   key      _rc_i<n> and the key column
 *   judge    _rc_bad; then the fault text, only for bad rows
 *
 * Helper columns begin with _rc_; no name of the user's can (spec.h, layout.c). */
#include "batch/layout.h"

#include <math.h>
#include <string.h>

#include "base/hive.h"
#include "base/number.h"
#include "batch/convert.h"
#include "batch/lookup.h"

struct fault {
	const char *condition, *reason, *column, *value; /* SQL, text, text, SQL of the value as text or NULL */
};

struct layers {
	struct arena *arena;
	struct layout_context *context;
	struct layout *layout;
	const char *sql;
	struct fault *faults;
	size_t fault_count, fault_capacity;
	const char *written_geometry; /* the text a geometry is read from; NULL: it comes otherwise */
};

static void wrap(struct layers *layers, const char *added)
{
	if (*added)
		layers->sql = arena_printf(layers->arena, "SELECT *%s\nFROM (%s)", added, layers->sql);
}

static void add_fault(struct layers *layers, const char *condition, const char *reason, const char *column, const char *value)
{
	if (layers->fault_count == layers->fault_capacity) {
		size_t capacity = layers->fault_capacity ? layers->fault_capacity * 2 : 32;
		layers->faults = arena_grow(layers->arena, layers->faults, layers->fault_count * sizeof *layers->faults,
		                            capacity * sizeof *layers->faults);
		layers->fault_capacity = capacity;
	}
	layers->faults[layers->fault_count++] = (struct fault){condition, reason, column, value};
}

/* ---- fields ---- */

static bool through_text(const struct field *field)
{
	if (strcmp(field->raw_type, "VARCHAR") == 0)
		return true;
	return field->column && !convert_is_direct(field->raw_type, field->type);
}

static void raw_layer(struct layers *layers)
{
	struct layout *layout = layers->layout;
	struct text out = text_on(layers->arena);
	text_add(&out, "SELECT _row AS _rc_row, _line AS _rc_line, _offset AS _rc_offset, _fault AS _rc_flaw");
	for (size_t k = 0; k < layout->count; k++)
		if (layout->fields[k].raw)
			text_addf(&out, ", %s AS _rc_r%zu", layout->fields[k].raw, k);
	if (layout->geometry_raw)
		text_addf(&out, ", %s AS _rc_g", layout->geometry_raw);
	text_addf(&out, "\nFROM %s", layout->scan);
	layers->sql = out.at;
}

/* The three steps for the fields whose raw value stands in the layer below: all with `raw`, or one `sql` field. */
struct step {
	struct text clean, convert, name;
};

static void field_steps(struct layers *layers, size_t k, struct step *step)
{
	struct arena *arena = layers->arena;
	struct layout *layout = layers->layout;
	struct field *field = &layout->fields[k];
	const struct source_facts *facts = &layout->source->facts;
	const char *raw = arena_printf(arena, "_rc_r%zu", k), *clean = arena_printf(arena, "_rc_x%zu", k);
	const char *converted = arena_printf(arena, "_rc_v%zu", k), *name = sql_name(arena, field->name);
	if (!through_text(field)) {
		const char *type = field->type == TYPE_UNSET || !field->column ? NULL : convert_engine_type(arena, field->column, field->type);
		if (text_starts(field->raw_type, "ENUM"))
			type = "VARCHAR";
		const char *value = type ? arena_printf(arena, "CAST(%s AS %s)", raw, type) : raw;
		text_addf(&step->convert, ", %s AS %s", value, converted);
		text_addf(&step->name, ", %s AS %s", convert_refine(arena, field->column, field->type, facts, converted), name);
		return;
	}
	text_addf(&step->clean, ", %s AS %s", convert_clean(arena, field->column, layout->block, convert_plain_text(arena, field->raw_type, raw)), clean);
	struct conversion conversion = convert_text(arena, field->column, field->type, facts, clean);
	text_addf(&step->convert, ", %s AS %s", conversion.value, converted);
	text_addf(&step->name, ", %s AS %s", convert_refine(arena, field->column, field->type, facts, converted), name);
	const char *plain = convert_plain_text(arena, field->raw_type, raw);
	if (conversion.reason) {
		const char *result = field->type == TYPE_DATE ? name : converted;
		add_fault(layers, arena_printf(arena, "%s IS NOT NULL AND %s IS NULL", clean, result), conversion.reason, field->name, plain);
	}
	if (field->column && field->column->match)
		add_fault(layers, arena_printf(arena, "NOT regexp_matches(%s, %s)", plain, sql_text(arena, field->column->match)),
		          arena_printf(arena, "does not match %s", field->column->match), field->name, plain);
}

static void apply(struct layers *layers, struct step *step)
{
	wrap(layers, step->clean.at);
	wrap(layers, step->convert.at);
	wrap(layers, step->name.at);
}

static bool has_field(const struct layout *layout, const char *name)
{
	for (size_t k = 0; k < layout->count; k++)
		if (text_equal_nocase(layout->fields[k].name, name))
			return true;
	return false;
}

static void constants(struct layers *layers, struct text *out)
{
	const struct layout *layout = layers->layout;
	struct arena *arena = layers->arena;
	const struct { const char *name, *value; } words[] = {
		{"source_name", sql_text(arena, layout->input->name)},
		{"source_path", sql_text(arena, layout->input->path)},
		{"sheet", layout->source->facts.sheet ? sql_text(arena, layout->source->facts.sheet) : "CAST(NULL AS VARCHAR)"},
		{"row_number", "_rc_row"},
	};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (!has_field(layout, words[i].name))
			text_addf(out, ", %s AS %s", words[i].value, words[i].name);
}

static void plain_fields(struct layers *layers)
{
	struct step step = {text_on(layers->arena), text_on(layers->arena), text_on(layers->arena)};
	for (size_t k = 0; k < layers->layout->count; k++)
		if (layers->layout->fields[k].raw)
			field_steps(layers, k, &step);
	constants(layers, &step.name);
	apply(layers, &step);
}

/* What an expression of the spec may name: every field, and the words about the source. */
static struct strings visible(struct layers *layers, bool with_sql)
{
	struct strings names = {0};
	static const char *const words[] = {"source_name", "source_path", "sheet", "row_number"};
	for (size_t k = 0; k < layers->layout->count; k++)
		if (with_sql || layers->layout->fields[k].raw)
			strings_add(layers->arena, &names, layers->layout->fields[k].name);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		strings_add(layers->arena, &names, words[i]);
	return names;
}

/* Functions and operators must have a meaning for the types that stand here; binding tells, without running. */
static recloser_status check_types(struct layers *layers, const char *expression, recloser_error *error)
{
	struct rows type;
	recloser_error problem = {0};
	const char *probe = arena_printf(layers->arena, "SELECT (%s) FROM (%s)", expression, layers->sql);
	recloser_status status = engine_describe(layers->context->engine, layers->arena, probe, &type, &problem);
	if (status == RECLOSER_OK)
		return status;
	if (strcmp(problem.code, "engine.failed") != 0) {
		*error = problem;
		return status;
	}
	const char *said = strstr(problem.what, "Error: ");
	error_set(error, RECLOSER_USAGE, "spec.expression", "the expression `%.200s` does not fit its columns: %.300s", expression,
	          said ? said + strlen("Error: ") : problem.what);
	return error_hint(error, "columns of CSV files and sheets are text unless the spec gives a type; try_cast(x AS DOUBLE) is null where it can't be");
}

static recloser_status check(struct layers *layers, const char *expression, const char *used_for, int line, bool with_sql,
                             recloser_error *error)
{
	struct strings names = visible(layers, with_sql);
	recloser_status status = engine_check_expression(layers->context->engine, layers->arena, expression, &names, error);
	if (status == RECLOSER_OK)
		status = check_types(layers, expression, error);
	if (status == RECLOSER_USAGE && error && !error->where[0])
		error_where(error, "%s, line %d: %s: %s", layers->context->spec->path, line, used_for, expression);
	return status;
}

static recloser_status sql_fields(struct layers *layers, recloser_error *error)
{
	struct arena *arena = layers->arena;
	struct layout *layout = layers->layout;
	struct step step = {text_on(arena), text_on(arena), text_on(arena)};
	struct text raw = text_on(arena);
	for (size_t k = 0; k < layout->count; k++) {
		struct field *field = &layout->fields[k];
		if (field->raw)
			continue;
		RC_TRY(check(layers, field->column->sql, field->name, field->column->mark.line, false, error));
		if (field->type == TYPE_UNSET) {
			text_addf(&raw, ", (%s) AS _rc_r%zu", field->column->sql, k);
			struct rows type;
			const char *probe = arena_printf(arena, "SELECT (%s) AS t FROM (%s)", field->column->sql, layers->sql);
			RC_TRY(engine_describe(layers->context->engine, arena, probe, &type, error));
			field->raw_type = rows_at(&type, 0, 1);
		} else {
			text_addf(&raw, ", CAST((%s) AS VARCHAR) AS _rc_r%zu", field->column->sql, k);
			field->raw_type = "VARCHAR";
		}
	}
	if (raw.length == 0)
		return RECLOSER_OK;
	for (size_t k = 0; k < layout->count; k++)
		if (!layout->fields[k].raw)
			field_steps(layers, k, &step);
	wrap(layers, raw.at);
	apply(layers, &step);
	return RECLOSER_OK;
}

/* The engine's type of a field under its own name. */
static const char *field_type(struct arena *arena, const struct field *field)
{
	bool declared = field->type != TYPE_UNSET && (field->column || through_text(field));
	return declared ? convert_engine_type(arena, field->column, field->type) : field->raw_type;
}

/* ---- geometry ---- */

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
	add_fault(layers, arena_printf(arena, "%s IS NOT NULL AND trim(%s) <> '' AND (%s) IS NULL", name, name, number.value),
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
	const char *text = arena_printf(arena, "nullif(trim(%s), '')", part);
	*raw = arena_printf(arena, wkt ? "rc_wkt(%s)" : "rc_hex(%s)", text);
	layers->written_geometry = text;
	add_fault(layers, arena_printf(arena, "%s IS NOT NULL AND %s IS NULL", text, *raw), wkt ? "not well-known text" : "not hexadecimal WKB",
	          spec->column, part);
	const char *srid = wkt ? arena_printf(arena, "rc_wkt_srid(%s)", text) : arena_printf(arena, "rc_wkb_srid(%s)", *raw);
	const char *declared = layers->layout->crs.id && text_starts(layers->layout->crs.id, "EPSG:") ? layers->layout->crs.id + 5 : NULL;
	if (declared)
		add_fault(layers, arena_printf(arena, "%s <> %s", srid, declared),
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
		const char *name = sql_name(arena, field->name), *type = field_type(arena, field);
		text_addf(&keys, ", %s AS _rc_l%zu", lookup_compared(arena, layers->context, name, type), i);
		text_addf(&on, "%sb._rc_l%zu = l.k%zu", i ? " AND " : "", i, i);
		texts[i] = convert_plain_text(arena, type, name);
	}
	wrap(layers, keys.at);
	layers->sql = arena_printf(arena, "SELECT b.*, l.n AS _rc_n, l.g AS _rc_g\nFROM (%s) b LEFT JOIN rc_lookup l ON %s", layers->sql, on.at);
	wrap(layers, arena_printf(arena, ", CASE WHEN _rc_n IS NULL AND _rc_flaw IS NULL THEN %s END AS _rc_lookup", lookup_told(arena, lookup, texts)));
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
		add_fault(layers, arena_printf(arena, "((%s) IS NULL) <> ((%s) IS NULL)", c[0], c[1]), "only one of the two coordinates is there",
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
	add_fault(layers, arena_printf(arena, "%s AND %s IS NOT NULL", condition, outside), NULL, layers->context->spec->geometry.column,
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
		add_fault(layers, "_rc_lookup IS NOT NULL", NULL, spec->column,
		          arena_printf(arena, "%s || _rc_lookup",
		                       sql_text(arena, arena_printf(arena, "no feature of %s for ", layers->context->lookup_input->name))));
	const char *missing = looked_up ? "_rc_g0 IS NULL AND _rc_lookup IS NULL"
	    : layers->written_geometry ? arena_printf(arena, "%s IS NULL", layers->written_geometry) /* else it is there, but broken */
	                               : "_rc_g0 IS NULL";
	if (!allow)
		add_fault(layers, missing, "geometry is missing", spec->column, NULL);
	add_fault(layers, allow ? arena_printf(arena, "%s IS NOT NULL AND NOT (%s)", fault, empty) : arena_printf(arena, "%s IS NOT NULL", fault),
	          NULL, spec->column, fault);
	add_fault(layers, arena_printf(arena, "_rc_g0 IS NOT NULL AND _rc_g1 IS NULL"),
	          "the geometry can't be brought into the form that is stored", spec->column, NULL);
	if (layers->context->crs.projjson)
		outside_fault(layers, arena_printf(arena, "%s IS NULL", fault), stored, layers->context->crs.bounds);
	if (spec->types.count) {
		struct text list = text_on(arena);
		for (size_t i = 0; i < spec->types.count; i++)
			text_addf(&list, "%s%s", i ? ", " : "", sql_text(arena, spec->types.at[i]));
		const char *type = arena_printf(arena, "regexp_replace(rc_wkb_type(%s), ' Z?M?$', '')", stored);
		add_fault(layers, arena_printf(arena, "%s IS NULL AND %s NOT IN (%s)", fault, type, list.at),
		          arena_printf(arena, "a geometry type that the spec does not allow (%s)", strings_join(arena, &spec->types, ", ")),
		          spec->column, type);
	}
	if (spec->check_valid)
		add_fault(layers, arena_printf(arena, "%s IS NULL AND rc_invalid(%s) IS NOT NULL", fault, stored), NULL, spec->column,
		          arena_printf(arena, "rc_invalid(%s)", stored));
}

static recloser_status geometry_layers(struct layers *layers, recloser_error *error)
{
	struct arena *arena = layers->arena;
	struct layout *layout = layers->layout;
	const struct geometry_spec *spec = &layers->context->spec->geometry;
	if (layout->geometry == GEOMETRY_NONE)
		return RECLOSER_OK;
	const char *raw = NULL, *moved = "_rc_g0";
	RC_TRY(geometry_raw(layers, &raw, error));
	wrap(layers, arena_printf(arena, ", %s AS _rc_g0", raw));
	if (spec->curves == CURVES_LINEARIZE)
		moved = arena_printf(arena, "rc_linearize(%s)", moved);
	const struct crs *to = &layers->context->crs;
	if (layout->crs.projjson && to->projjson && !crs_same(&layout->crs, to)) {
		/* A transformation makes something of coordinates that are none of its system, so they are looked at before it. */
		outside_fault(layers, "TRUE", "_rc_g0", layout->crs.bounds);
		moved = arena_printf(arena, "rc_transform(rc_wkb(%s), %s, %s)", moved, sql_text(arena, layout->crs.projjson),
		                     sql_text(arena, to->projjson));
	}
	wrap(layers, arena_printf(arena, ", %s AS _rc_g1", moved));
	wrap(layers, arena_printf(arena, ", rc_wkb(_rc_g1) AS %s", sql_name(arena, spec->column)));
	geometry_faults(layers, sql_name(arena, spec->column));
	return RECLOSER_OK;
}

/* ---- identity, key, checks ---- */

/* Is there nothing in it to tell one row from another? Almost no text begins with a blank, so the test that looks at the whole
 * of it runs only where the first byte says so. */
static const char *blank_sql(struct arena *arena, const char *value, const char *engine_type)
{
	if (strcmp(engine_type, "VARCHAR") == 0)
		return arena_printf(arena, "(CASE WHEN %s < '!' THEN trim(%s, ' \t\r\n') = '' ELSE FALSE END)", value, value);
	if (strcmp(engine_type, "DOUBLE") == 0 || strcmp(engine_type, "FLOAT") == 0)
		return arena_printf(arena, "isnan(%s)", value);
	return "FALSE";
}

static const char *identity_blank(const struct layers *layers, const struct identity *identity, const char *value)
{
	struct arena *arena = layers->arena;
	const struct layout *layout = layers->layout;
	if (!identity->column) /* an expression: whatever it gives is looked at as text */
		return blank_sql(arena, arena_printf(arena, "CAST(%s AS VARCHAR)", value), "VARCHAR");
	for (size_t k = 0; k < layout->count; k++)
		if (strcmp(layout->fields[k].name, identity->column) == 0)
			return blank_sql(arena, value, field_type(arena, &layout->fields[k]));
	return "FALSE"; /* the geometry */
}

static recloser_status identity_layers(struct layers *layers, recloser_error *error)
{
	struct arena *arena = layers->arena;
	const struct spec *spec = layers->context->spec;
	struct text fields = text_on(arena), arguments = text_on(arena);
	for (size_t i = 0; i < spec->identity_count; i++) {
		const struct identity *identity = &spec->identity[i];
		const char *label = identity->column ? identity->column : identity->sql;
		if (identity->sql)
			RC_TRY(check(layers, identity->sql, "key", identity->mark.line, true, error));
		const char *value = identity->sql ? arena_printf(arena, "(%s)", identity->sql) : sql_name(arena, identity->column);
		text_addf(&fields, ", %s AS _rc_i%zu", value, i);
		text_addf(&arguments, "%s_rc_i%zu", i ? ", " : "", i);
		const char *field = arena_printf(arena, "_rc_i%zu", i);
		const char *blank = arena_printf(arena, "%s IS NULL OR %s", field, identity_blank(layers, identity, field));
		/* A field with a `default` may be empty by the user's own word. */
		bool may_be_empty = false;
		const struct column *column = identity->column ? block_column(layers->layout->block, identity->column) : NULL;
		if (column && column->otherwise && column->otherwise[0] == '\0')
			may_be_empty = true;
		add_fault(layers, may_be_empty ? arena_printf(arena, "_rc_i%zu IS NULL", i) : blank,
		          arena_printf(arena, "identity field %s is missing", label), label, NULL);
	}
	wrap(layers, fields.at);
	const char *key = spec->key_id ? "rc_text(_rc_i0)"
		: arena_printf(arena, "%s(%s)", spec->key_escape ? "rc_key_escaped" : "rc_key", arguments.at);
	wrap(layers, arena_printf(arena, ", %s AS %s", key, sql_name(arena, spec->key_column)));
	add_fault(layers, arena_printf(arena, "%s IS NULL", sql_name(arena, spec->key_column)), "no key can be made of the identity fields",
	          spec->key_column, NULL);
	return RECLOSER_OK;
}

static void required_faults(struct layers *layers)
{
	struct layout *layout = layers->layout;
	const struct spec *spec = layers->context->spec;
	for (size_t k = 0; k < layout->count; k++) {
		const struct column *column = layout->fields[k].column;
		if (!column || !column->required)
			continue;
		bool in_identity = false;
		for (size_t i = 0; i < spec->identity_count; i++)
			in_identity |= spec->identity[i].column && strcmp(spec->identity[i].column, column->name) == 0;
		if (!in_identity) {
			/* Missing in the source; a value that did not convert has its own fault. */
			const char *seen = layout->fields[k].raw_type && through_text(&layout->fields[k])
				? arena_printf(layers->arena, "_rc_x%zu", k) : sql_name(layers->arena, column->name);
			add_fault(layers, arena_printf(layers->arena, "%s IS NULL", seen), "a required value is missing", column->name, NULL);
		}
	}
}

static void partition_faults(struct layers *layers)
{
	struct arena *arena = layers->arena;
	const struct strings *partition = &layers->context->spec->partition;
	for (size_t i = 0; i < partition->count; i++) {
		const char *name = partition->at[i];
		const char *value = arena_printf(arena, "CAST(%s AS VARCHAR)", sql_name(arena, name));
		add_fault(layers, arena_printf(arena, "%s IS NULL OR %s", value, blank_sql(arena, value, "VARCHAR")),
		          arena_printf(arena, "partition column %s is missing", name), name, NULL);
		add_fault(layers, arena_printf(arena, "%s = '__HIVE_DEFAULT_PARTITION__'", value),
		          "the word that Hive keeps for a missing partition value", name, value);
		/* Three bytes for one at the most: short values need no encoding to be measured. */
		size_t room = 255 - strlen(partition_encoded(arena, name)) - 1;
		add_fault(layers, arena_printf(arena, "CASE WHEN strlen(%s) > %zu THEN strlen(url_encode(%s)) > %zu ELSE FALSE END", value, room / 3, value, room),
		          "too long for a folder name", name, value);
	}
}

static recloser_status check_faults(struct layers *layers, recloser_error *error)
{
	const struct layout *layout = layers->layout;
	for (size_t k = 0; k < layout->count; k++) {
		const struct column *column = layout->fields[k].column;
		if (!column || !column->check)
			continue;
		RC_TRY(check(layers, column->check, "check", column->mark.line, true, error));
		add_fault(layers, arena_printf(layers->arena, "NOT (%s)", column->check),
		          arena_printf(layers->arena, "check failed: %s", column->check), column->name,
		          arena_printf(layers->arena, "CAST(%s AS VARCHAR)", sql_name(layers->arena, column->name)));
	}
	return RECLOSER_OK;
}

/* ---- judgement ---- */

/* The row as the source has it, for quarantine: every raw value under its source name. */
static const char *row_json(struct layers *layers)
{
	struct layout *layout = layers->layout;
	struct text out = text_on(layers->arena);
	text_add(&out, "json_object(");
	bool first = true;
	for (size_t k = 0; k < layout->count; k++) {
		const struct field *field = &layout->fields[k];
		bool from_source = field->raw && field->raw[0] == 'c'; /* c7, not a literal */
		if (!from_source)
			continue;
		text_addf(&out, "%s%s, %s", first ? "" : ", ", sql_text(layers->arena, field->source_name),
		          convert_plain_text(layers->arena, field->raw_type, arena_printf(layers->arena, "_rc_r%zu", k)));
		first = false;
	}
	text_add(&out, ")");
	return out.at;
}

static void judge(struct layers *layers)
{
	struct arena *arena = layers->arena;
	struct text bad = text_on(arena), list = text_on(arena);
	text_add(&bad, "_rc_flaw IS NOT NULL");
	text_add(&list, "CASE WHEN _rc_flaw IS NOT NULL THEN {'reason': split_part(_rc_flaw, chr(31), 1), "
	                "'column': nullif(split_part(_rc_flaw, chr(31), 2), ''), 'value': nullif(split_part(_rc_flaw, chr(31), 3), '')} END");
	for (size_t i = 0; i < layers->fault_count; i++) {
		const struct fault *fault = &layers->faults[i];
		text_addf(&bad, " OR (%s) IS TRUE", fault->condition);
		const char *value = fault->value ? fault->value : "CAST(NULL AS VARCHAR)";
		/* A fault without a fixed reason carries it in its value: what the geometry functions said. */
		const char *reason = fault->reason ? sql_text(arena, fault->reason) : value;
		text_addf(&list, ",\n CASE WHEN _rc_flaw IS NULL AND (%s) IS TRUE THEN {'reason': %s, 'column': %s, 'value': %s} END",
		          fault->condition, reason, sql_text(arena, fault->column), fault->reason ? value : "CAST(NULL AS VARCHAR)");
	}
	wrap(layers, arena_printf(arena, ", (%s) AS _rc_bad", bad.at));
	wrap(layers, arena_printf(arena,
	    ", CASE WHEN _rc_bad THEN CAST(to_json({'line': _rc_line, 'offset': _rc_offset, 'faults': [%s], 'row': %s}) AS VARCHAR) END AS _rc_fault",
	    list.at, row_json(layers)));
}

static recloser_status final_layer(struct layers *layers, recloser_error *error)
{
	struct arena *arena = layers->arena;
	struct layout *layout = layers->layout;
	const struct spec *spec = layers->context->spec;
	struct text out = text_on(arena);
	text_addf(&out, "SELECT CAST(%zu AS INTEGER) AS _rc_src, _rc_row, _rc_fault, %s", layout->ordinal, sql_name(arena, spec->key_column));
	for (size_t i = 0; i < spec->identity_count; i++)
		if (spec->identity[i].sql)
			text_addf(&out, ", _rc_i%zu", i);
	for (size_t k = 0; k < layout->count; k++)
		if (layout->fields[k].written || strings_has(&spec->partition, layout->fields[k].name))
			text_addf(&out, ", %s", sql_name(arena, layout->fields[k].name));
	if (layout->geometry == GEOMETRY_LOOKUP)
		text_add(&out, ", _rc_lookup");
	if (layout->geometry != GEOMETRY_NONE)
		text_addf(&out, ", %s", sql_name(arena, spec->geometry.column));
	text_addf(&out, "\nFROM (%s)", layers->sql);
	if (layout->block->skip) {
		RC_TRY(check(layers, layout->block->skip, "skip", layout->block->mark.line, true, error));
		text_addf(&out, "\nWHERE NOT (_rc_flaw IS NULL AND (%s) IS TRUE)", layout->block->skip);
	}
	layers->sql = out.at;
	return RECLOSER_OK;
}

recloser_status layout_select(struct arena *arena, struct layout_context *context, struct layout *layout, const char **out,
                              recloser_error *error)
{
	struct layers layers = {.arena = arena, .context = context, .layout = layout};
	raw_layer(&layers);
	plain_fields(&layers);
	RC_TRY(sql_fields(&layers, error));
	RC_TRY(geometry_layers(&layers, error));
	RC_TRY(identity_layers(&layers, error));
	required_faults(&layers);
	partition_faults(&layers);
	RC_TRY(check_faults(&layers, error));
	judge(&layers);
	RC_TRY(final_layer(&layers, error));
	*out = layers.sql;
	return RECLOSER_OK;
}
