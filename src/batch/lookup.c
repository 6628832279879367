/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/lookup.h"

#include <string.h>

#include "batch/convert.h"

struct lookup_state {
	struct source *source;
	const char *words; /* pattern of the words to leave out, or NULL */
};

/* ---- comparing ---- */

static const char *folded(struct arena *arena, const struct lookup *lookup, const char *text)
{
	if (lookup->fold_accents)
		text = arena_printf(arena, "strip_accents(nfc_normalize(%s))", text);
	if (lookup->fold_case)
		text = arena_printf(arena, "lower(%s)", text);
	return text;
}

const char *lookup_compared(struct arena *arena, const struct layout_context *context, const char *value, const char *type)
{
	const struct lookup *lookup = &context->spec->geometry.lookup;
	const char *text = folded(arena, lookup, convert_plain_text(arena, type, value));
	if (context->lookup->words)
		text = arena_printf(arena, "trim(regexp_replace(regexp_replace(%s, %s, ' ', 'g'), '\\s+', ' ', 'g'))", text,
		                    sql_text(arena, context->lookup->words));
	return arena_printf(arena, "nullif(%s, '')", text);
}

const char *lookup_told(struct arena *arena, const struct lookup *lookup, const char *const *texts)
{
	struct text out = text_on(arena);
	for (size_t i = 0; i < lookup->on_count; i++)
		text_addf(&out, "%s%s || coalesce(%s, '(missing)')", i ? " || " : "",
		          sql_text(arena, arena_printf(arena, "%s%s=", i ? ", " : "", lookup->on[i].from)), texts[i]);
	return out.at;
}

/* Whole words only, folded as the texts are; several that follow each other go together. */
static recloser_status word_pattern(struct arena *arena, struct layout_context *context, const char **out, recloser_error *error)
{
	const struct lookup *lookup = &context->spec->geometry.lookup;
	struct text select = text_on(arena);
	*out = NULL;
	if (lookup->drop_words.count == 0)
		return RECLOSER_OK;
	text_add(&select, "SELECT ");
	for (size_t i = 0; i < lookup->drop_words.count; i++)
		text_addf(&select, "%sregexp_escape(%s)", i ? " || '|' || " : "", folded(arena, lookup, sql_text(arena, lookup->drop_words.at[i])));
	struct rows rows;
	RC_TRY(engine_query(context->engine, arena, "read the words of the lookup", select.at, &rows, error));
	const char *words = rows_at(&rows, 0, 0);
	*out = arena_printf(arena, "(?:^|\\s)(?:%s)(?:\\s+(?:%s))*(?:\\s|$)", words, words);
	return RECLOSER_OK;
}

/* ---- the layer ---- */

static recloser_status open_layer(struct arena *arena, const struct layout_context *context, struct source **out, recloser_error *error)
{
	const struct lookup *lookup = &context->spec->geometry.lookup;
	/* The layer is read by its own words: of the spec only where it is counts, so it gets a block and a spec of its own. */
	struct block *block = arena_alloc(arena, sizeof *block);
	struct spec *spec = arena_alloc(arena, sizeof *spec);
	*spec = (struct spec){.path = context->spec->path, .directory = context->spec->directory, .other_columns_keep = true,
	                      .geometry = {.from = GEOMETRY_AUTO, .column = "geometry"}};
	if (lookup->layer)
		strings_add(arena, &block->layer, lookup->layer);
	struct source_request request = {.engine = context->engine, .input = context->lookup_input, .block = block, .spec = spec,
	                                 .spool = context->spool};
	struct source **sources;
	size_t count;
	RC_TRY(source_open(arena, &request, &sources, &count, error));
	if (count != 1) {
		error_set(error, RECLOSER_REFUSED, "lookup.layer", "the lookup file has %zu layers", count);
		error_where(error, "%s", lookup->file);
		return error_hint(error, "name one: lookup: {file: ..., layer: NAME}");
	}
	*out = sources[0];
	if ((*out)->facts.geometry_column >= 0)
		return RECLOSER_OK;
	error_set(error, RECLOSER_REFUSED, "lookup.no_geometry", "the lookup file has no geometry");
	error_where(error, "%s", lookup->file);
	return error_hint(error, "a lookup takes the geometry that the file has by its format (GeoPackage, shapefile, GeoJSON, GeoParquet, ...)");
}

static recloser_status column_of(struct arena *arena, const struct lookup *lookup, const struct source *source, const char *name, int *out,
                                 recloser_error *error)
{
	*out = source_find(arena, source, name);
	if (*out >= 0 && *out != source->facts.geometry_column)
		return RECLOSER_OK;
	struct strings names = {0};
	for (size_t i = 0; i < source->column_count; i++)
		if ((int)i != source->facts.geometry_column)
			strings_add(arena, &names, source->columns[i].name);
	const char *near = text_nearest(name, names.at, names.count);
	error_set(error, RECLOSER_REFUSED, "lookup.column", *out == -2 ? "the lookup file has several columns %s" : "the lookup file has no column %s",
	          name);
	error_where(error, "%s; it has: %s", lookup->file, strings_join(arena, &names, ", "));
	return near && *out == -1 ? error_hint(error, "is it %s?", near) : error_hint(error, "on: {column of the dataset: column of the layer}");
}

static recloser_status fill_table(struct arena *arena, struct layout_context *context, const char *scan, recloser_error *error)
{
	const struct lookup *lookup = &context->spec->geometry.lookup;
	const struct source *source = context->lookup->source;
	struct rows types;
	RC_TRY(engine_describe(context->engine, arena, arena_printf(arena, "SELECT * FROM %s", scan), &types, error));
	struct text sql = text_on(arena);
	const char **texts = arena_array(arena, lookup->on_count, sizeof *texts);
	text_add(&sql, "CREATE TABLE rc_lookup AS SELECT _row AS n, _fault AS fault");
	for (size_t i = 0; i < lookup->on_count; i++) {
		int index;
		RC_TRY(column_of(arena, lookup, source, lookup->on[i].to, &index, error));
		const char *value = arena_printf(arena, "c%d", index), *type = rows_at(&types, (size_t)index + SOURCE_FIXED, 1);
		text_addf(&sql, ", %s AS k%zu", lookup_compared(arena, context, value, type), i);
		texts[i] = convert_plain_text(arena, type, value);
	}
	const char *geometry = arena_printf(arena, "CAST(c%d AS BLOB)", source->facts.geometry_column);
	const char *function = lookup->point_on_surface ? "rc_point_on_surface" : lookup->centroid ? "rc_centroid" : "";
	text_addf(&sql, ", %s AS told, %s(%s) AS g, %s IS NOT NULL AS had FROM %s", lookup_told(arena, lookup, texts), function, geometry, geometry,
	          scan);
	recloser_status status = engine_run(context->engine, arena_printf(arena, "read %s", context->lookup_input->name), sql.at, error);
	return source_blame(context->lookup_input, status, error);
}

/* ---- what makes a layer no reference ---- */

static recloser_status refuse_broken(struct arena *arena, struct layout_context *context, recloser_error *error)
{
	const struct lookup *lookup = &context->spec->geometry.lookup;
	struct rows rows;
	RC_TRY(engine_query(context->engine, arena, "look at the lookup",
	                    "SELECT n, coalesce(split_part(fault, chr(31), 1), 'no point can be found for its geometry'), told FROM rc_lookup"
	                    " WHERE fault IS NOT NULL OR (had AND g IS NULL) ORDER BY n LIMIT 1", &rows, error));
	if (rows.row_count == 0)
		return RECLOSER_OK;
	error_set(error, RECLOSER_REFUSED, "lookup.feature", "a feature of the lookup file can't be read: %s", rows_at(&rows, 0, 1));
	error_where(error, "%s, feature %s: %s", lookup->file, rows_at(&rows, 0, 0), rows_at(&rows, 0, 2));
	return error_hint(error, "repair the file; rows must not lose their geometry by a broken reference");
}

static recloser_status refuse_doubles(struct arena *arena, struct layout_context *context, recloser_error *error)
{
	const struct lookup *lookup = &context->spec->geometry.lookup;
	struct text keys = text_on(arena), there = text_on(arena);
	for (size_t i = 0; i < lookup->on_count; i++) {
		text_addf(&keys, "%sk%zu", i ? ", " : "", i);
		text_addf(&there, "%sk%zu IS NOT NULL", i ? " AND " : "", i);
	}
	struct rows rows;
	RC_TRY(engine_query(context->engine, arena, "look for doubles in the lookup", arena_printf(arena,
	    "SELECT min(n), max(n), arg_min(told, n), arg_max(told, n), count(*), count(*) OVER () FROM rc_lookup WHERE %s GROUP BY %s"
	    " HAVING count(*) > 1 ORDER BY 1 LIMIT 1", there.at, keys.at), &rows, error));
	if (rows.row_count == 0)
		return RECLOSER_OK;
	error_set(error, RECLOSER_REFUSED, "lookup.double", "%s features of the lookup file answer to the same values%s%s", rows_at(&rows, 0, 4),
	          strcmp(rows_at(&rows, 0, 5), "1") == 0 ? "" : "; so it is with as many groups as ",
	          strcmp(rows_at(&rows, 0, 5), "1") == 0 ? "" : rows_at(&rows, 0, 5));
	error_where(error, "%s, features %s (%s) and %s (%s)", lookup->file, rows_at(&rows, 0, 0), rows_at(&rows, 0, 2), rows_at(&rows, 0, 1),
	            rows_at(&rows, 0, 3));
	return error_hint(error, "add a column to `on` that tells them apart%s", lookup->fold_case || lookup->fold_accents || lookup->drop_words.count
	                  ? ", or leave out less by `fold` and `words`" : "");
}

recloser_status lookup_open(struct arena *arena, struct layout_context *context, recloser_error *error)
{
	if (context->lookup)
		return RECLOSER_OK;
	struct lookup_state *state = arena_alloc(arena, sizeof *state);
	if (context->spec->geometry.lookup.point_on_surface || context->spec->geometry.lookup.centroid)
		RC_TRY(geometry_ready(error));
	RC_TRY(open_layer(arena, context, &state->source, error));
	RC_TRY(word_pattern(arena, context, &state->words, error));
	context->lookup = state;
	context->lookup_facts = &state->source->facts;
	const char *scan;
	if (state->source->facts.scan_sql) {
		scan = arena_printf(arena, "(%s)", state->source->facts.scan_sql);
	} else {
		uint64_t id;
		RC_TRY(engine_offer(context->engine, state->source, &id, error));
		scan = arena_printf(arena, "rc_scan(%llu)", (unsigned long long)id);
	}
	RC_TRY(fill_table(arena, context, scan, error));
	RC_TRY(refuse_broken(arena, context, error));
	return refuse_doubles(arena, context, error);
}

/* ---- report ---- */

recloser_status lookup_report(struct arena *arena, const struct layout_context *context, struct strings *warnings, recloser_error *error)
{
	enum { SHOWN = 6 };
	if (!context->lookup)
		return RECLOSER_OK;
	struct rows rows;
	RC_TRY(engine_query(context->engine, arena, "count rows without a feature",
	    "SELECT _rc_lookup, count(*), sum(count(*)) OVER (), count(*) OVER () FROM batch WHERE _rc_lookup IS NOT NULL GROUP BY 1"
	    " ORDER BY 2 DESC, 1 LIMIT 6", &rows, error));
	if (rows.row_count == 0)
		return RECLOSER_OK;
	struct text line = text_on(arena);
	uint64_t count = (uint64_t)rows_int(&rows, 0, 2), spellings = (uint64_t)rows_int(&rows, 0, 3);
	text_addf(&line, "%s row%s found no feature in %s: ", text_count(arena, count), count == 1 ? "" : "s", context->lookup_input->name);
	for (size_t i = 0; i < rows.row_count; i++)
		text_addf(&line, "%s%s (%s)", i ? "; " : "", rows_at(&rows, i, 0), text_count(arena, (uint64_t)rows_int(&rows, i, 1)));
	if (spellings > SHOWN)
		text_addf(&line, "; and %s more spellings", text_count(arena, spellings - SHOWN));
	strings_add(arena, warnings, line.at);
	return RECLOSER_OK;
}
