/* SPDX-License-Identifier: Apache-2.0
 * Digests of what the spec means: SHA-256 of a canonical JSON text of the validated struct. Comments, formatting, quotes,
 * the order of fields whose order means nothing, and writing a default out do not change them. Paths of this machine
 * (root, temp) are left out, so that a checkout elsewhere gives the same digests. Fields are named by the order of the
 * code, so a change here makes every first load after an upgrade look at its files again, and nothing worse. */
#include "spec/parts.h"

#include "base/json.h"

#include <string.h>

static void put_texts(struct arena *arena, json_t *object, const char *name, const struct strings *strings)
{
	json_t *array = json_new_array(arena);
	for (size_t i = 0; i < strings->count; i++)
		json_add_text(arena, array, strings->at[i]);
	json_put(arena, object, name, array);
}

/* Lists of which only the members count. */
static void put_set(struct arena *arena, json_t *object, const char *name, const struct strings *strings)
{
	struct strings sorted = {arena_array(arena, strings->count + 1, sizeof *sorted.at), strings->count};
	if (strings->count)
		memcpy((void *)sorted.at, (const void *)strings->at, strings->count * sizeof *sorted.at);
	strings_sort(&sorted);
	put_texts(arena, object, name, &sorted);
}

static void put_map(struct arena *arena, json_t *object, const char *name, const struct map_entry *entries, size_t count)
{
	json_t *map = json_new_object(arena);
	struct strings names = {NULL, 0};
	for (size_t i = 0; i < count; i++)
		strings_add(arena, &names, entries[i].from);
	strings_sort(&names);
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < count; k++)
			if (strcmp(names.at[i], entries[k].from) == 0)
				json_put_text(arena, map, names.at[i], entries[k].to);
	json_put(arena, object, name, map);
}

/* Name and type as written: what a column is to the readers of the dataset. */
static json_t *column_shape(struct arena *arena, const struct column *column)
{
	json_t *object = json_new_object(arena);
	json_put_text(arena, object, "name", column->name);
	json_put_text(arena, object, "type", column_type_word(column->type));
	json_put_int(arena, object, "precision", column->precision);
	json_put_int(arena, object, "scale", column->scale);
	return object;
}

static json_t *column_meaning(struct arena *arena, const struct column *column)
{
	json_t *object = column_shape(arena, column);
	json_put_int(arena, object, "origin", column->origin);
	put_texts(arena, object, "from", &column->from);
	json_put_int(arena, object, "at", column->at);
	json_put_text(arena, object, "pattern", column->pattern);
	json_put_text(arena, object, "value", column->value);
	json_put_text(arena, object, "sql", column->sql);
	json_put_bool(arena, object, "required", column->required);
	json_put_bool(arena, object, "optional", column->optional);
	json_put_bool(arena, object, "keep", column->keep);
	json_put_text(arena, object, "match", column->match);
	put_map(arena, object, "map", column->map, column->map_count);
	put_set(arena, object, "missing", &column->missing);
	json_put_text(arena, object, "default", column->otherwise);
	json_put_int(arena, object, "pad", column->pad);
	put_texts(arena, object, "format", &column->format);
	json_put_text(arena, object, "as", column->as);
	json_put_text(arena, object, "zone", column->zone);
	json_put_bool(arena, object, "time_drop", column->time_drop);
	json_put_text(arena, object, "decimal", column->decimal ? column->decimal : ".");
	json_put_text(arena, object, "thousands", column->thousands);
	put_set(arena, object, "true", &column->true_words);
	put_set(arena, object, "false", &column->false_words);
	json_put_text(arena, object, "check", column->check);
	return object;
}

static void put_header(struct arena *arena, json_t *object, const struct block *block)
{
	json_t *rows = json_new_array(arena);
	for (int i = 0; i < block->header.row_count; i++)
		json_add(arena, rows, json_on(arena, json_integer(block->header.rows[i])));
	json_put_int(arena, object, "header", block->header.kind);
	json_put(arena, object, "rows", rows);
	put_set(arena, object, "find", &block->header.find);
	json_put_int(arena, object, "within", block->header.within);
	json_put_int(arena, object, "data", block->data);
	json_put_int(arena, object, "data_row", block->data_row);
	json_put_int(arena, object, "end", block->end);
	json_put_text(arena, object, "end_find", block->end_find);
}

static json_t *block_meaning(struct arena *arena, const struct block *block)
{
	json_t *object = json_new_object(arena), *columns = json_new_array(arena);
	json_put_text(arena, object, "files", block->files);
	put_texts(arena, object, "sheet", &block->sheet);
	put_set(arena, object, "not_sheet", &block->not_sheet);
	put_texts(arena, object, "layer", &block->layer);
	put_set(arena, object, "not_layer", &block->not_layer);
	json_put_text(arena, object, "member", block->member);
	json_put_text(arena, object, "records", block->records);
	json_put_text(arena, object, "format", block->format);
	put_header(arena, object, block);
	json_put_int(arena, object, "delimiter", block->delimiter ? block->delimiter : ',');
	json_put_int(arena, object, "quote", block->quote ? block->quote : '"');
	json_put_text(arena, object, "encoding", block->encoding);
	put_set(arena, object, "missing", &block->missing);
	json_put_int(arena, object, "space", block->space);
	json_put_text(arena, object, "skip", block->skip);
	json_put_int(arena, object, "several", block->several);
	json_put_bool(arena, object, "snake_names", block->snake_names);
	for (size_t i = 0; i < block->column_count; i++)
		json_add(arena, columns, column_meaning(arena, &block->columns[i]));
	json_put(arena, object, "columns", columns);
	return object;
}

/* Sources by name: in which order they are written means nothing. */
static const struct source_spec **sorted_sources(struct arena *arena, const struct spec *spec)
{
	const struct source_spec **sorted = arena_array(arena, spec->source_count, sizeof *sorted);
	for (size_t i = 0; i < spec->source_count; i++) {
		size_t at = i;
		for (; at && strcmp(sorted[at - 1]->name, spec->sources[i].name) > 0; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = &spec->sources[i];
	}
	return sorted;
}

static void put_guard(struct arena *arena, json_t *object, const char *name, const struct guard *guard)
{
	json_t *inner = json_new_object(arena);
	json_put_text(arena, inner, "policy", policy_word(guard->policy));
	json_put_real(arena, inner, "share", guard->max.share);
	json_put_int(arena, inner, "count", guard->max.count);
	json_put(arena, object, name, inner);
}

static json_t *totals_meaning(struct arena *arena, const struct spec *spec)
{
	json_t *object = json_new_object(arena);
	struct strings names = {NULL, 0};
	for (size_t i = 0; i < spec->total_count; i++)
		strings_add(arena, &names, spec->totals[i].column);
	strings_sort(&names);
	for (size_t i = 0; i < names.count; i++)
		for (size_t k = 0; k < spec->total_count; k++)
			if (strcmp(spec->totals[k].column, names.at[i]) == 0)
				put_guard(arena, object, names.at[i], &spec->totals[k].guard);
	return object;
}

/* The columns that any block writes, each pair of name and type once, where it is met first. */
static json_t *written_columns(struct arena *arena, const struct spec *spec)
{
	const struct source_spec **sources = sorted_sources(arena, spec);
	json_t *array = json_new_array(arena);
	for (size_t i = 0; i < spec->source_count; i++)
		for (size_t b = 0; b < sources[i]->block_count; b++)
			for (size_t c = 0; c < sources[i]->blocks[b].column_count; c++) {
				const struct column *column = &sources[i]->blocks[b].columns[c];
				if (!column->keep)
					continue;
				json_t *shape = column_shape(arena, column);
				bool met = false;
				for (size_t k = 0; k < json_array_size(array) && !met; k++)
					met = json_equal(json_array_get(array, k), shape);
				if (!met)
					json_add(arena, array, shape);
			}
	return array;
}

static json_t *key_shape(struct arena *arena, const struct spec *spec)
{
	json_t *object = json_new_object(arena), *identity = json_new_array(arena);
	json_put_text(arena, object, "column", spec->key_column);
	json_put_text(arena, object, "id", spec->key_id);
	json_put_bool(arena, object, "escape", spec->key_escape);
	for (size_t i = 0; i < spec->identity_count; i++) {
		json_t *entry = json_new_object(arena);
		json_put_text(arena, entry, "column", spec->identity[i].column);
		json_put_text(arena, entry, "sql", spec->identity[i].sql);
		json_add(arena, identity, entry);
	}
	json_put(arena, object, "identity", identity);
	return object;
}

static json_t *geometry_shape(struct arena *arena, const struct geometry_spec *geometry)
{
	json_t *object = json_new_object(arena);
	json_put_bool(arena, object, "none", geometry->from == GEOMETRY_NONE);
	json_put_text(arena, object, "column", geometry->column);
	json_put_text(arena, object, "crs", geometry->crs);
	json_put_text(arena, object, "to_crs", geometry->to_crs);
	json_put_int(arena, object, "covering", geometry->covering);
	json_put_int(arena, object, "curves", geometry->curves);
	return object;
}

static json_t *geometry_meaning(struct arena *arena, const struct geometry_spec *geometry)
{
	json_t *object = geometry_shape(arena, geometry), *parts = json_new_array(arena), *lookup = json_new_object(arena);
	json_put_int(arena, object, "from", geometry->from);
	for (size_t i = 0; i < 4; i++)
		json_add_text(arena, parts, geometry->parts[i]);
	json_put(arena, object, "parts", parts);
	json_put_int(arena, object, "missing", geometry->missing);
	put_set(arena, object, "types", &geometry->types);
	json_put_bool(arena, object, "check_valid", geometry->check_valid);
	const struct lookup *from = &geometry->lookup;
	json_put_text(arena, lookup, "file", from->file);
	json_put_text(arena, lookup, "layer", from->layer);
	put_map(arena, lookup, "on", from->on, from->on_count);
	json_put_bool(arena, lookup, "fold_case", from->fold_case);
	json_put_bool(arena, lookup, "fold_accents", from->fold_accents);
	put_set(arena, lookup, "words", &from->drop_words);
	json_put_int(arena, lookup, "as", from->point_on_surface ? 1 : from->centroid ? 2 : 0);
	json_put(arena, object, "lookup", lookup);
	return object;
}

static json_t *spec_shape(struct arena *arena, const struct spec *spec)
{
	json_t *object = json_new_object(arena);
	json_put(arena, object, "columns", written_columns(arena, spec));
	json_put(arena, object, "key", key_shape(arena, spec));
	put_texts(arena, object, "partition", &spec->partition);
	json_put_int(arena, object, "partition_columns", spec->partition_columns);
	json_put(arena, object, "geometry", geometry_shape(arena, &spec->geometry));
	json_put_bool(arena, object, "other_columns", spec->other_columns_keep);
	json_put_int(arena, object, "order", spec->order);
	json_put_text(arena, object, "geoparquet", spec->geoparquet);
	return object;
}

static json_t *spec_meaning(struct arena *arena, const struct spec *spec)
{
	json_t *object = spec_shape(arena, spec), *sources = json_new_array(arena);
	const struct source_spec **sorted = sorted_sources(arena, spec);
	json_put_text(arena, object, "dataset", spec->dataset);
	for (size_t i = 0; i < spec->source_count; i++) {
		json_t *source = json_new_object(arena), *blocks = json_new_array(arena);
		for (size_t k = 0; k < sorted[i]->block_count; k++)
			json_add(arena, blocks, block_meaning(arena, &sorted[i]->blocks[k]));
		json_put_text(arena, source, "name", sorted[i]->name);
		json_put(arena, source, "blocks", blocks);
		json_add(arena, sources, source);
	}
	json_put(arena, object, "sources", sources);
	json_put_text(arena, object, "publisher", spec->publisher_column);
	json_put_text(arena, object, "publisher_value", spec->publisher_value);
	json_put_text(arena, object, "series", spec->series);
	json_put_text(arena, object, "revision", spec->revision);
	json_put_bool(arena, object, "ties_refuse", spec->ties_refuse);
	json_put(arena, object, "geometry_from", geometry_meaning(arena, &spec->geometry));
	put_guard(arena, object, "quarantine", &spec->quarantine);
	put_guard(arena, object, "disappeared", &spec->disappeared);
	put_guard(arena, object, "key_churn", &spec->key_churn);
	put_guard(arena, object, "older", &spec->older);
	put_guard(arena, object, "repeated", &spec->repeated);
	put_guard(arena, object, "moved", &spec->moved);
	json_put(arena, object, "totals", totals_meaning(arena, spec));
	json_put_text(arena, object, "freshness", spec->freshness.column);
	json_put_int(arena, object, "window", spec->freshness.count);
	json_put_int(arena, object, "window_unit", spec->freshness.unit);
	json_put_int(arena, object, "schema", spec->schema);
	json_put_bool(arena, object, "archive_sources", spec->archive_sources);
	return object;
}

void spec_digest(struct arena *arena, const char *bytes, size_t count, struct spec *spec)
{
	struct arena *own = arena_new(arena);
	const char *meaning = json_compact(own, spec_meaning(own, spec)), *shape = json_compact(own, spec_shape(own, spec));
	sha256_of(bytes, count, spec->text_sha256);
	sha256_of(meaning, strlen(meaning), spec->meaning);
	sha256_of(shape, strlen(shape), spec->shape);
	arena_free(own);
}
