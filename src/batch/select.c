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
#include "batch/select.h"

#include <string.h>

#include "batch/convert.h"

void layers_wrap(struct layers *layers, const char *added)
{
	if (*added)
		layers->sql = arena_printf(layers->arena, "SELECT *%s\nFROM (%s)", added, layers->sql);
}

void layers_fault(struct layers *layers, const char *condition, const char *reason, const char *column, const char *value)
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

bool field_through_text(const struct field *field)
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
	if (!field_through_text(field)) {
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
		layers_fault(layers, arena_printf(arena, "%s IS NOT NULL AND %s IS NULL", clean, result), conversion.reason, field->name, plain);
	}
	if (field->column && field->column->match)
		layers_fault(layers, arena_printf(arena, "NOT regexp_matches(%s, %s)", plain, sql_text(arena, field->column->match)),
		          arena_printf(arena, "does not match %s", field->column->match), field->name, plain);
}

static void apply(struct layers *layers, struct step *step)
{
	layers_wrap(layers, step->clean.at);
	layers_wrap(layers, step->convert.at);
	layers_wrap(layers, step->name.at);
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

recloser_status layers_check(struct layers *layers, const char *expression, const char *used_for, int line, bool with_sql,
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
		RC_TRY(layers_check(layers, field->column->sql, field->name, field->column->mark.line, false, error));
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
	layers_wrap(layers, raw.at);
	apply(layers, &step);
	return RECLOSER_OK;
}

/* The engine's type of a field under its own name. */
const char *field_engine_type(struct arena *arena, const struct field *field)
{
	bool declared = field->type != TYPE_UNSET && (field->column || field_through_text(field));
	return declared ? convert_engine_type(arena, field->column, field->type) : field->raw_type;
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
	layers_wrap(layers, arena_printf(arena, ", (%s) AS _rc_bad", bad.at));
	layers_wrap(layers, arena_printf(arena,
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
		RC_TRY(layers_check(layers, layout->block->skip, "skip", layout->block->mark.line, true, error));
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
	RC_TRY(layers_geometry(&layers, error));
	RC_TRY(layers_identity(&layers, error));
	layers_required(&layers);
	layers_partition(&layers);
	RC_TRY(layers_checks(&layers, error));
	judge(&layers);
	RC_TRY(final_layer(&layers, error));
	*out = layers.sql;
	return RECLOSER_OK;
}
