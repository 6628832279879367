/* SPDX-License-Identifier: Apache-2.0
 * Matching: which source column feeds which dataset column. The SELECT is built in select.c. */
#include "batch/layout.h"

#include <string.h>

#include "batch/convert.h"
#include "batch/lookup.h"

static const char *in_source(struct arena *arena, const struct layout *layout)
{
	const char *sheet = layout->source->facts.sheet;
	return sheet ? arena_printf(arena, "%s, %s", layout->input->name, sheet) : layout->input->name;
}

/* ---- constants: what is the same for every row of the source ---- */

static size_t pattern_groups(const char *pattern)
{
	size_t groups = 0;
	for (const char *p = pattern; *p; p++) {
		if (*p == '\\' && p[1])
			p++;
		else if (*p == '(' && p[1] != '?')
			groups++;
	}
	return groups;
}

recloser_status layout_extract(struct arena *arena, struct engine *engine, const char *pattern, const char *text, const char **out,
                               recloser_error *error)
{
	struct text sql = text_on(arena);
	const char *quoted_pattern = sql_text(arena, pattern), *quoted_text = sql_text(arena, text);
	text_addf(&sql, "SELECT CASE WHEN regexp_matches(%s, %s) THEN ", quoted_text, quoted_pattern);
	size_t groups = pattern_groups(pattern);
	if (groups == 0)
		text_addf(&sql, "regexp_extract(%s, %s)", quoted_text, quoted_pattern);
	for (size_t i = 1; i <= groups && i <= 9; i++)
		text_addf(&sql, "%sregexp_extract(%s, %s, %zu)", i > 1 ? " || ' ' || " : "", quoted_text, quoted_pattern, i);
	text_add(&sql, " END");
	struct rows rows;
	RC_TRY(engine_query(engine, arena, arena_printf(arena, "apply the pattern %s", pattern), sql.at, &rows, error));
	*out = rows_at(&rows, 0, 0);
	return RECLOSER_OK;
}

static recloser_status from_above(struct arena *arena, struct layout_context *context, struct layout *layout,
                                  const struct column *column, const char **out, recloser_error *error)
{
	const struct strings *above = &layout->source->facts.above;
	bool take_next = false, has_group = pattern_groups(column->pattern) > 0;
	*out = NULL;
	for (size_t i = 0; i < above->count && !*out; i++) {
		const char *cell = above->at[i];
		if (strcmp(cell, "\n") == 0) {
			take_next = false;
			continue;
		}
		if (take_next) {
			*out = cell;
			break;
		}
		const char *found;
		RC_TRY(layout_extract(arena, context->engine, column->pattern, cell, &found, error));
		if (found && has_group)
			*out = found;
		else if (found)
			take_next = true; /* no group: the value is the next filled cell of that row */
	}
	return RECLOSER_OK;
}

static const char *setting_of(const struct layout_context *context, const char *name)
{
	for (size_t i = context->setting_count; i > 0; i--)
		if (strcmp(context->settings[i - 1].column, name) == 0)
			return context->settings[i - 1].value;
	return NULL;
}

static recloser_status constant_of(struct arena *arena, struct layout_context *context, struct layout *layout,
                                   const struct column *column, const char **out, recloser_error *error)
{
	const char *where = NULL;
	*out = NULL;
	switch (column->origin) {
	case ORIGIN_VALUE:
		*out = column->value;
		return RECLOSER_OK;
	case ORIGIN_SET:
		*out = setting_of(context, column->name);
		if (!*out)
			*out = column->value;
		if (*out)
			return RECLOSER_OK;
		error_set(error, RECLOSER_USAGE, "set.required", "column %s is only known to the caller, and no --set gives it", column->name);
		error_where(error, "%s, line %d", context->spec->path, column->mark.line);
		return error_hint(error, "add --set %s=VALUE", column->name);
	case ORIGIN_NAME:
		where = layout->input->name;
		break;
	case ORIGIN_PATH:
		where = layout->input->path;
		break;
	case ORIGIN_ABOVE:
		RC_TRY(from_above(arena, context, layout, column, out, error));
		where = "the cells over the header";
		break;
	default:
		return RECLOSER_OK;
	}
	if (column->origin != ORIGIN_ABOVE)
		RC_TRY(layout_extract(arena, context->engine, column->pattern, where, out, error));
	if (*out || column->optional || column->otherwise)
		return RECLOSER_OK;
	error_set(error, RECLOSER_REFUSED, "source.no_match", "column %s: the pattern %s finds nothing in %s", column->name,
	          column->pattern, where);
	error_where(error, "%s", in_source(arena, layout));
	return error_hint(error, "correct the pattern in %s, line %d, or rename the file as the publisher does", context->spec->path,
	                  column->mark.line);
}

/* ---- source columns ---- */

static const char *column_label(const struct source_column *column, size_t index, struct arena *arena)
{
	if (column->name[0])
		return column->name;
	return column->letter ? arena_printf(arena, "(column %s)", column->letter) : arena_printf(arena, "(column %zu)", index + 1);
}

static const char *column_list(struct arena *arena, const struct source *source)
{
	struct text list = text_on(arena);
	for (size_t i = 0; i < source->column_count; i++) {
		if (list.length > 600)
			return arena_printf(arena, "%s, ... (%zu columns)", list.at, source->column_count);
		text_addf(&list, "%s%s", i ? ", " : "", column_label(&source->columns[i], i, arena));
	}
	return list.at;
}

/* A text file that is read with another delimiter than its own has one wide column, or a few. */
static const char *other_delimiter(const struct layout *layout)
{
	static const struct { char sign; const char *name; } signs[] = {{';', "semicolon"}, {'\t', "tab"}, {'|', "pipe"}, {',', "comma"}};
	const struct source *source = layout->source;
	char used = layout->block->delimiter ? layout->block->delimiter : ',';
	if (strcmp(source->facts.format, "csv") != 0 || source->column_count == 0)
		return NULL;
	for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
		size_t count = 0;
		for (const char *at = source->columns[0].name; (at = strchr(at, signs[i].sign)) != NULL; at++)
			count++;
		if (signs[i].sign != used && count >= source->column_count)
			return signs[i].name;
	}
	return NULL;
}

static recloser_status not_there(struct arena *arena, const struct layout *layout, const char *dataset_column,
                                 const struct strings *wanted, recloser_error *error)
{
	const struct source *source = layout->source;
	struct strings names = {0};
	for (size_t i = 0; i < source->column_count; i++)
		if (source->columns[i].name[0])
			strings_add(arena, &names, source->columns[i].name);
	const char *first = wanted->count ? wanted->at[0] : dataset_column;
	const char *near = text_nearest(first, names.at, names.count);
	error_set(error, RECLOSER_REFUSED, "source.missing_column", "column %s not found (for %s)",
	          strings_join(arena, wanted, " or "), dataset_column);
	error_where(error, "%s; it has: %s", in_source(arena, layout), column_list(arena, source));
	const char *delimiter = other_delimiter(layout);
	if (delimiter)
		return error_hint(error, "the columns seem to be separated by another sign: csv: {delimiter: %s}", delimiter);
	if (source->facts.lacks)
		return error_hint(error, "%s, which holds the columns, is missing: put it beside the file, as it is where that comes from", source->facts.lacks);
	if (names.count == (source->facts.geometry_column >= 0))
		return error_hint(error, "the source has no columns but its geometry: it may be empty");
	if (near)
		return error_hint(error, "did the publisher rename it to \"%s\"? then write %s: {from: [%s, \"%s\"]}", near, dataset_column, first, near);
	return error_hint(error, "name the column with `from:`, or say `optional: true` if it may be absent");
}

static recloser_status find_from(struct arena *arena, const struct layout *layout, const struct column *column, int *index,
                                 recloser_error *error)
{
	for (size_t i = 0; i < column->from.count; i++) {
		*index = source_find(arena, layout->source, column->from.at[i]);
		if (*index >= 0)
			return RECLOSER_OK;
		if (*index == -2) {
			error_set(error, RECLOSER_REFUSED, "source.ambiguous_column", "column \"%s\" is there more than once", column->from.at[i]);
			error_where(error, "%s; it has: %s", in_source(arena, layout), column_list(arena, layout->source));
			return error_hint(error, "take one by its position: %s: {at: NUMBER}", column->name);
		}
	}
	return column->optional ? RECLOSER_OK : not_there(arena, layout, column->name, &column->from, error);
}

static recloser_status find_at(struct arena *arena, const struct layout *layout, const struct column *column, int *index,
                               recloser_error *error)
{
	*index = column->at - 1;
	if ((size_t)column->at <= layout->source->column_count)
		return RECLOSER_OK;
	*index = -1;
	if (column->optional)
		return RECLOSER_OK;
	error_set(error, RECLOSER_REFUSED, "source.missing_column", "column %s is to be taken at position %d, but there are %zu columns",
	          column->name, column->at, layout->source->column_count);
	return error_where(error, "%s", in_source(arena, layout));
}

static void take_source_column(struct arena *arena, const struct layout *layout, const struct rows *types, int index,
                               struct field *field)
{
	const struct source_column *source = &layout->source->columns[index];
	field->raw = arena_printf(arena, "c%d", index);
	field->raw_type = rows_at(types, (size_t)index + SOURCE_FIXED, 1);
	field->source_name = column_label(source, (size_t)index, arena);
}

static recloser_status plan_listed(struct arena *arena, struct layout_context *context, struct layout *layout,
                                   const struct column *column, const struct rows *types, bool *used, struct field *field,
                                   recloser_error *error)
{
	*field = (struct field){.name = column->name, .column = column, .type = column->type, .source_name = column->name,
	                        .raw = "CAST(NULL AS VARCHAR)", .raw_type = "VARCHAR", .written = column->keep};
	if (column->origin == ORIGIN_SQL) {
		field->raw = NULL;
		return RECLOSER_OK;
	}
	if (column->origin == ORIGIN_FROM || column->origin == ORIGIN_AT) {
		int index = -1;
		RC_TRY(column->origin == ORIGIN_AT ? find_at(arena, layout, column, &index, error)
		                                   : find_from(arena, layout, column, &index, error));
		if (index < 0)
			return RECLOSER_OK;
		used[index] = true;
		take_source_column(arena, layout, types, index, field);
		if (field->type == TYPE_UNSET && strcmp(field->raw_type, "VARCHAR") == 0)
			field->type = layout->source->columns[index].narrowest;
		return RECLOSER_OK;
	}
	const char *constant;
	RC_TRY(constant_of(arena, context, layout, column, &constant, error));
	if (constant)
		field->raw = arena_printf(arena, "CAST(%s AS VARCHAR)", sql_text(arena, constant));
	return RECLOSER_OK;
}

/* ---- unlisted columns ---- */

static bool name_taken(const struct layout *layout, const struct spec *spec, const char *name)
{
	if (text_equal_nocase(name, spec->key_column))
		return true;
	if (layout->geometry != GEOMETRY_NONE
	    && (text_equal_nocase(name, spec->geometry.column) || text_equal_nocase(name, "bbox")))
		return true;
	if (spec->disappeared.policy == POLICY_CARRY && text_equal_nocase(name, CARRIED_COLUMN))
		return true;
	for (size_t i = 0; i < layout->count; i++)
		if (text_equal_nocase(layout->fields[i].name, name))
			return true;
	return false;
}

static recloser_status unlisted_name(struct arena *arena, const struct spec *spec, struct layout *layout, size_t index,
                                     const char **out, recloser_error *error)
{
	const struct source_column *column = &layout->source->columns[index];
	const char *wanted = column->name;
	if (!wanted[0])
		wanted = column->letter ? arena_printf(arena, "column_%s", text_squeezed(arena, column->letter))
		                        : arena_printf(arena, "column_%zu", index + 1);
	else if (layout->block->snake_names)
		wanted = text_snake(arena, wanted);
	if (spec->other_columns_keep && text_equal_nocase(wanted, spec->key_column)) {
		error_set(error, RECLOSER_REFUSED, "source.reserved_column", "the source has a column of its own called %s, the name of the key column",
		          wanted);
		error_where(error, "%s", in_source(arena, layout));
		return error_hint(error, "rename the key with `key: {column: NAME}`, or take the source's column under another name: "
		                  "publisher_key: {from: %s}", wanted);
	}
	const char *name = text_starts(wanted, "_rc_") ? arena_printf(arena, "column%s", wanted) : wanted;
	for (int n = 2; name_taken(layout, spec, name); n++)
		name = arena_printf(arena, "%s_%d", wanted, n);
	if (spec->other_columns_keep && strcmp(name, wanted) != 0)
		strings_add(arena, &layout->notes, arena_printf(arena, "the unlisted column %s is kept as %s, since %s is taken", wanted, name, wanted));
	*out = name;
	return RECLOSER_OK;
}

/* The unlisted column that holds the whole geometry as text or bytes: it is the geometry, and not kept beside it. -1: none. */
static int shape_column(struct arena *arena, const struct spec *spec, const struct layout *layout)
{
	const char *part = spec->geometry.parts[0];
	if (!part || (layout->geometry != GEOMETRY_WKT && layout->geometry != GEOMETRY_WKB))
		return -1;
	for (size_t k = 0; k < layout->count; k++)
		if (strcmp(layout->fields[k].name, part) == 0)
			return -1; /* a column of the dataset goes before one of the source */
	return source_find(arena, layout->source, part);
}

static recloser_status plan_unlisted(struct arena *arena, struct layout_context *context, struct layout *layout,
                                     const struct rows *types, const bool *used, recloser_error *error)
{
	int shape = shape_column(arena, context->spec, layout);
	for (size_t i = 0; i < layout->source->column_count; i++) {
		if (used[i] || (int)i == layout->source->facts.geometry_column)
			continue;
		struct field field = {.name = "_rc_shape"};
		if ((int)i != shape) {
			field.written = context->spec->other_columns_keep;
			RC_TRY(unlisted_name(arena, context->spec, layout, i, &field.name, error));
		}
		take_source_column(arena, layout, types, (int)i, &field);
		field.type = strcmp(field.raw_type, "VARCHAR") == 0 ? layout->source->columns[i].narrowest : TYPE_UNSET;
		const char *advice = field.written ? convert_unstorable(field.raw_type) : NULL;
		if (advice) {
			error_set(error, RECLOSER_REFUSED, "source.unstorable_type", "column %s is of type %s, which a Parquet file can't hold exactly",
			          field.name, field.raw_type);
			error_where(error, "%s", in_source(arena, layout));
			return error_hint(error, "%s", advice);
		}
		layout->fields[layout->count++] = field;
	}
	return RECLOSER_OK;
}

/* ---- geometry ---- */

static recloser_status source_crs(struct arena *arena, struct layout_context *context, struct layout *layout, recloser_error *error)
{
	const struct geometry_spec *geometry = &context->spec->geometry;
	bool looked_up = layout->geometry == GEOMETRY_LOOKUP;
	const struct source_facts *facts = looked_up ? context->lookup_facts : &layout->source->facts;
	const char *where = looked_up ? geometry->lookup.file : in_source(arena, layout);
	bool own = facts->crs_projjson && (looked_up || layout->geometry == GEOMETRY_SOURCE);
	struct crs from_source = {0};
	if (own)
		RC_TRY(crs_read(arena, facts->crs_projjson, &from_source, error));
	if (geometry->crs && strcmp(geometry->crs, "unknown") != 0) {
		recloser_status status = crs_read(arena, geometry->crs, &layout->crs, error);
		if (status != RECLOSER_OK) {
			error_where(error, "%s, line %d", context->spec->path, geometry->mark.line);
			return status;
		}
		if (!own || crs_same(&layout->crs, &from_source))
			return RECLOSER_OK;
		error_set(error, RECLOSER_REFUSED, "source.crs", "the source says its coordinates are in %s, the spec says %s",
		          from_source.id ? from_source.id : "another CRS", geometry->crs);
		error_where(error, "%s", where);
		return error_hint(error, "leave `crs:` out to keep the source's own, or transform with `to_crs: %s`", geometry->crs);
	}
	if (own) {
		layout->crs = from_source;
		return RECLOSER_OK;
	}
	if (geometry->crs || facts->crs_unknown)
		return RECLOSER_OK; /* unknown, and said so */
	error_set(error, RECLOSER_REFUSED, "source.no_crs", "the geometry has no CRS: neither the source nor the spec names one");
	error_where(error, "%s", where);
	return error_hint(error, "say which it is: geometry: {crs: EPSG:4326}; or `crs: unknown`, which is written as null");
}

static recloser_status plan_geometry(struct arena *arena, struct layout_context *context, struct layout *layout, recloser_error *error)
{
	const struct source *source = layout->source;
	const struct geometry_spec *geometry = &context->spec->geometry;
	int own = source->facts.geometry_column;
	layout->geometry = geometry->from;
	if (layout->geometry == GEOMETRY_AUTO)
		layout->geometry = own >= 0 ? GEOMETRY_SOURCE : GEOMETRY_NONE;
	if (layout->geometry == GEOMETRY_SOURCE) {
		int index = geometry->parts[0] ? source_find(arena, source, geometry->parts[0]) : own;
		if (index < 0) {
			error_set(error, RECLOSER_REFUSED, "source.no_geometry", "the source has no geometry");
			error_where(error, "%s; it has: %s", in_source(arena, layout), column_list(arena, source));
			return error_hint(error, "make it from columns: geometry: {from: {lon: NAME, lat: NAME}}; or say `geometry: none`");
		}
		layout->geometry_raw = arena_printf(arena, "c%d", index);
	}
	if (layout->geometry == GEOMETRY_NONE)
		return RECLOSER_OK;
	if (layout->geometry == GEOMETRY_LOOKUP)
		RC_TRY(lookup_open(arena, context, error));
	return source_crs(arena, context, layout, error);
}

/* ---- the whole ---- */

struct strings layout_identity_names(struct arena *arena, const struct spec *spec, const struct block *block)
{
	struct strings names = {0};
	for (size_t i = 0; i < spec->identity_count; i++) {
		const struct column *column = spec->identity[i].column ? block_column(block, spec->identity[i].column) : NULL;
		if (!column || column->otherwise || (column->origin != ORIGIN_FROM && column->origin != ORIGIN_AT))
			continue;
		if (column->origin == ORIGIN_AT)
			strings_add(arena, &names, arena_printf(arena, "%d", column->at));
		for (size_t k = 0; column->origin == ORIGIN_FROM && k < column->from.count; k++)
			strings_add(arena, &names, column->from.at[k]);
	}
	return names;
}

recloser_status layout_plan(struct arena *arena, struct layout_context *context, struct source *source, const struct input *input,
                            const struct block *block, size_t ordinal, struct layout **out, recloser_error *error)
{
	struct layout *layout = arena_alloc(arena, sizeof *layout);
	*layout = (struct layout){.source = source, .input = input, .block = block, .ordinal = ordinal};
	if (source->facts.scan_sql) {
		layout->scan = arena_printf(arena, "(%s)", source->facts.scan_sql);
	} else {
		uint64_t id;
		RC_TRY(engine_offer(context->engine, source, &id, error));
		layout->scan = arena_printf(arena, "rc_scan(%llu)", (unsigned long long)id);
	}
	struct rows types;
	RC_TRY(engine_describe(context->engine, arena, arena_printf(arena, "SELECT * FROM %s", layout->scan), &types, error));
	layout->fields = arena_array(arena, block->column_count + source->column_count, sizeof *layout->fields);
	bool *used = arena_array(arena, source->column_count + 1, sizeof *used);
	RC_TRY(plan_geometry(arena, context, layout, error));
	for (size_t i = 0; i < block->column_count; i++) {
		RC_TRY(plan_listed(arena, context, layout, &block->columns[i], &types, used, &layout->fields[layout->count], error));
		layout->count++;
	}
	if (layout->geometry == GEOMETRY_SOURCE && context->spec->geometry.parts[0])
		used[source_find(arena, source, context->spec->geometry.parts[0])] = true;
	RC_TRY(plan_unlisted(arena, context, layout, &types, used, error));
	*out = layout;
	return RECLOSER_OK;
}
