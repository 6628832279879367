/* SPDX-License-Identifier: Apache-2.0
 * The identity and key layers of the SELECT, and the faults of a row that the spec asks for: missing identity, required and
 * partition values, and the checks. */
#include "batch/select.h"

#include <string.h>

#include "base/hive.h"
#include "batch/convert.h"

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
			return blank_sql(arena, value, field_engine_type(arena, &layout->fields[k]));
	return "FALSE"; /* the geometry */
}

recloser_status layers_identity(struct layers *layers, recloser_error *error)
{
	struct arena *arena = layers->arena;
	const struct spec *spec = layers->context->spec;
	struct text fields = text_on(arena), arguments = text_on(arena);
	for (size_t i = 0; i < spec->identity_count; i++) {
		const struct identity *identity = &spec->identity[i];
		const char *label = identity->column ? identity->column : identity->sql;
		if (identity->sql)
			RC_TRY(layers_check(layers, identity->sql, "key", identity->mark.line, true, error));
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
		layers_fault(layers, may_be_empty ? arena_printf(arena, "_rc_i%zu IS NULL", i) : blank,
		          arena_printf(arena, "identity field %s is missing", label), label, NULL);
	}
	layers_wrap(layers, fields.at);
	const char *key = spec->key_id ? "rc_text(_rc_i0)"
		: arena_printf(arena, "%s(%s)", spec->key_escape ? "rc_key_escaped" : "rc_key", arguments.at);
	layers_wrap(layers, arena_printf(arena, ", %s AS %s", key, sql_name(arena, spec->key_column)));
	layers_fault(layers, arena_printf(arena, "%s IS NULL", sql_name(arena, spec->key_column)), "no key can be made of the identity fields",
	          spec->key_column, NULL);
	return RECLOSER_OK;
}

void layers_required(struct layers *layers)
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
			const char *seen = layout->fields[k].raw_type && field_through_text(&layout->fields[k])
				? arena_printf(layers->arena, "_rc_x%zu", k) : sql_name(layers->arena, column->name);
			layers_fault(layers, arena_printf(layers->arena, "%s IS NULL", seen), "a required value is missing", column->name, NULL);
		}
	}
}

void layers_partition(struct layers *layers)
{
	struct arena *arena = layers->arena;
	const struct strings *partition = &layers->context->spec->partition;
	for (size_t i = 0; i < partition->count; i++) {
		const char *name = partition->at[i];
		const char *value = arena_printf(arena, "CAST(%s AS VARCHAR)", sql_name(arena, name));
		layers_fault(layers, arena_printf(arena, "%s IS NULL OR %s", value, blank_sql(arena, value, "VARCHAR")),
		          arena_printf(arena, "partition column %s is missing", name), name, NULL);
		layers_fault(layers, arena_printf(arena, "%s = '__HIVE_DEFAULT_PARTITION__'", value),
		          "the word that Hive keeps for a missing partition value", name, value);
		layers_fault(layers, arena_printf(arena, "contains(%s, chr(0))", value), "a zero byte, which no path may hold", name, value);
		/* Three bytes for one at the most: short values need no encoding to be measured. */
		size_t room = 255 - strlen(partition_encoded(arena, name)) - 1;
		layers_fault(layers, arena_printf(arena, "CASE WHEN strlen(%s) > %zu THEN strlen(url_encode(%s)) > %zu ELSE FALSE END", value, room / 3, value, room),
		          "too long for a folder name", name, value);
	}
}

recloser_status layers_checks(struct layers *layers, recloser_error *error)
{
	const struct layout *layout = layers->layout;
	for (size_t k = 0; k < layout->count; k++) {
		const struct column *column = layout->fields[k].column;
		if (!column || !column->check)
			continue;
		RC_TRY(layers_check(layers, column->check, "check", column->mark.line, true, error));
		layers_fault(layers, arena_printf(layers->arena, "NOT (%s)", column->check),
		          arena_printf(layers->arena, "check failed: %s", column->check), column->name,
		          arena_printf(layers->arena, "CAST(%s AS VARCHAR)", sql_name(layers->arena, column->name)));
	}
	return RECLOSER_OK;
}
