/* SPDX-License-Identifier: Apache-2.0
 * The rules that need more than one part of the spec, and the columns that follow from them. */
#include "spec/parts.h"

#include <string.h>

struct rules {
	const struct reader *reader;
	const struct node *top;
	struct spec *spec;
	struct block **blocks; /* of all sources */
	size_t block_count;
};

/* The place of a top-level field, or of one entry of its list. */
static struct mark place(const struct rules *rules, const char *name, size_t index)
{
	const struct node *value = node_get(rules->top, name);
	if (!value)
		return rules->top->mark;
	return value->kind == NODE_LIST && index < value->count ? value->members[index].mark : value->mark;
}

/* The place of a field inside a top-level mapping, or of the top-level field itself. */
static struct mark place_in(const struct rules *rules, const char *name, const char *inner)
{
	const struct node *value = node_get(node_get(rules->top, name), inner);
	return value ? value->mark : place(rules, name, 0);
}

static struct column *find(struct block *block, const char *name)
{
	return (struct column *)block_column(block, name);
}

static bool is_geometry(const struct spec *spec, const char *name)
{
	return spec->geometry.from != GEOMETRY_NONE && strcmp(name, spec->geometry.column) == 0;
}

/* A column that some field names and `columns` does not list is a plain column of the source. */
static void imply(const struct rules *rules, const char *name, struct mark mark)
{
	for (size_t b = 0; b < rules->block_count; b++) {
		struct block *block = rules->blocks[b];
		if (find(block, name))
			continue;
		struct column *column = column_append(rules->reader->arena, &block->columns, &block->column_count, name, mark);
		column->missing = block->missing;
	}
}

/* ---- key ---- */

static recloser_status check_key(const struct rules *rules)
{
	const struct reader *reader = rules->reader;
	struct spec *spec = rules->spec;
	struct mark mark = place(rules, "key", 0);
	if (spec->key_id && spec->identity_count)
		return fault_at(reader, mark, "spec.key", "\"key\" has both id and identity");
	if (spec->key_id && spec->key_escape)
		return fault_at(reader, mark, "spec.key", "\"key\" has both id and escape: an id is used as it is");
	if (!spec->key_id && !spec->identity_count) {
		fault_at(reader, place_in(rules, "key", "identity"), "spec.key", "the key has no identity field");
		return error_hint(reader->error,
						  "name the smallest set of columns that tells rows apart and never changes: identity: [queue_id]; "
						  "without a key a second load could only append or delete");
	}
	if (spec->key_id)
		imply(rules, spec->key_id, place_in(rules, "key", "id"));
	for (size_t i = 0; i < spec->identity_count; i++)
		if (spec->identity[i].column && !is_geometry(spec, spec->identity[i].column))
			imply(rules, spec->identity[i].column, spec->identity[i].mark);
	return RECLOSER_OK;
}

static recloser_status must_be_kept(const struct rules *rules, const char *name, struct mark mark, const char *role)
{
	for (size_t b = 0; b < rules->block_count; b++) {
		struct block *block = rules->blocks[b];
		const struct column *column = find(block, name);
		if (!column || column->keep)
			continue;
		fault_at(rules->reader, mark, "spec.keep", "%s \"%s\" is not written (keep: false)", role, name);
		return error_hint(rules->reader->error, "it is needed when the next version is compared; take keep: false off");
	}
	return RECLOSER_OK;
}

static recloser_status check_identity_column(const struct rules *rules, const char *name, struct mark mark)
{
	for (size_t b = 0; b < rules->block_count; b++) {
		struct block *block = rules->blocks[b];
		if (find(block, name)->type != TYPE_JSON)
			continue;
		fault_at(rules->reader, mark, "spec.key", "identity field \"%s\" is JSON, which has several spellings for one value",
				 name);
		return error_hint(rules->reader->error, "use a text column, or {sql: ...} that takes one value out of it");
	}
	return must_be_kept(rules, name, mark, "identity field");
}

static recloser_status check_identity_columns(const struct rules *rules)
{
	const struct spec *spec = rules->spec;
	if (spec->key_id)
		return check_identity_column(rules, spec->key_id, place_in(rules, "key", "id"));
	for (size_t i = 0; i < spec->identity_count; i++)
		if (spec->identity[i].column && !is_geometry(spec, spec->identity[i].column))
			RC_TRY(check_identity_column(rules, spec->identity[i].column, spec->identity[i].mark));
	return RECLOSER_OK;
}

/* ---- publisher ---- */

static recloser_status check_publisher_shape(const struct rules *rules)
{
	const struct spec *spec = rules->spec;
	const struct reader *reader = rules->reader;
	bool unnamed = !spec->sources[0].name;
	struct mark mark = place(rules, "publisher", 0);
	if (!spec->publisher_column) {
		if (spec->source_count == 1)
			return RECLOSER_OK;
		fault_at(reader, place(rules, "sources", 0), "spec.publisher", "the spec has %zu sources and no \"publisher\"",
				 spec->source_count);
		return error_hint(reader->error,
						  "write publisher: iso and put iso among the partition columns: a whole partition is replaced at "
						  "once, so each needs one authority");
	}
	if (unnamed && !spec->publisher_value) {
		fault_at(reader, mark, "spec.publisher", "a single unnamed source has no name for \"%s\" to take",
				 spec->publisher_column);
		return error_hint(reader->error, "write publisher: {column: %s, value: ERCOT}, or name the source under sources:",
						  spec->publisher_column);
	}
	if (!unnamed && spec->publisher_value) {
		fault_at(reader, place_in(rules, "publisher", "value"), "spec.publisher",
				 "named sources give the publisher by their names, so \"value\" has no place");
		return error_hint(reader->error, "write publisher: %s", spec->publisher_column);
	}
	return RECLOSER_OK;
}

/* The publisher's column holds the source's name as written, in every block. */
static recloser_status add_publisher(const struct rules *rules)
{
	const struct spec *spec = rules->spec;
	const char *name = spec->publisher_column;
	RC_TRY(check_publisher_shape(rules));
	if (!name)
		return RECLOSER_OK;
	imply(rules, name, place_in(rules, "publisher", "column"));
	for (size_t i = 0; i < spec->source_count; i++)
		for (size_t k = 0; k < spec->sources[i].block_count; k++) {
			struct column *column = find(&spec->sources[i].blocks[k], name);
			if (column->origin_given || (column->type != TYPE_UNSET && column->type != TYPE_TEXT)) {
				fault_at(rules->reader, column->mark, "spec.publisher",
						 "the publisher's column \"%s\" holds the source's name as text", name);
				return error_hint(rules->reader->error,
								  "take its origin and type away, or keep the source's own column under another name");
			}
			column->origin = ORIGIN_VALUE;
			column->origin_given = true;
			column->type = TYPE_TEXT;
			column->value = spec->sources[i].name ? spec->sources[i].name : spec->publisher_value;
		}
	return RECLOSER_OK;
}

/* ---- partition ---- */

static recloser_status check_partition_type(const struct rules *rules, const char *name, struct mark mark,
											struct column *column)
{
	if (column->type == TYPE_UNSET)
		column->type = TYPE_TEXT;
	if (column->type == TYPE_TEXT || column->type == TYPE_INTEGER)
		return RECLOSER_OK;
	fault_at(rules->reader, mark, "spec.partition", "partition column \"%s\" is of type %s; text and integer can partition",
			 name, column_type_word(column->type));
	if (column->type == TYPE_DATE || column->type == TYPE_TIMESTAMP || column->type == TYPE_TIMESTAMPTZ)
		return error_hint(rules->reader->error, "write it as text: as: \"%%Y-%%m\" makes 2026-07 of a date");
	return error_hint(rules->reader->error, "give it type: text");
}

static recloser_status check_partition_name(const struct rules *rules, const char *name, struct mark mark)
{
	const struct spec *spec = rules->spec;
	if (is_geometry(spec, name))
		return fault_at(rules->reader, mark, "spec.partition", "the geometry can't partition");
	if (text_equal_nocase(name, spec->key_column))
		return fault_at(rules->reader, mark, "spec.partition",
						"the key \"%s\" can't partition: every row would be a partition", name);
	if (!name[strcspn(name, "/=%\\")])
		return RECLOSER_OK;
	fault_at(rules->reader, mark, "spec.partition", "partition column \"%s\" holds a sign that paths give a meaning", name);
	return error_hint(rules->reader->error, "name it without / \\ = and %%, and say where it comes from with from:");
}

static recloser_status check_partition(const struct rules *rules)
{
	struct spec *spec = rules->spec;
	const struct reader *reader = rules->reader;
	for (size_t i = 0; i < spec->partition.count; i++) {
		const char *name = spec->partition.at[i];
		struct mark mark = place(rules, "partition", i);
		RC_TRY(check_partition_name(rules, name, mark));
		imply(rules, name, mark);
		for (size_t b = 0; b < rules->block_count; b++)
			RC_TRY(check_partition_type(rules, name, mark, find(rules->blocks[b], name)));
		RC_TRY(must_be_kept(rules, name, mark, "partition column"));
	}
	if (spec->source_count > 1 && !strings_has(&spec->partition, spec->publisher_column)) {
		fault_at(reader, place(rules, "partition", SIZE_MAX), "spec.partition",
				 "the publisher's column \"%s\" is not among the partition columns of a spec with %zu sources",
				 spec->publisher_column, spec->source_count);
		return error_hint(reader->error,
						  "a load replaces a whole partition, so each partition needs one authority; rows of one state come "
						  "from several publishers: partition: [%s%s%s]",
						  spec->publisher_column, spec->partition.count ? ", " : "",
						  strings_join(reader->arena, &spec->partition, ", "));
	}
	if (spec->series && !strings_has(&spec->partition, spec->series))
		return fault_at(reader, place(rules, "series", 0), "spec.series",
						"\"series\" names \"%s\", which is no partition column", spec->series);
	if (spec->freshness.column && !strings_has(&spec->partition, spec->freshness.column))
		return fault_at(reader, place_in(rules, "freshness", "column"), "spec.freshness",
						"\"freshness\" names \"%s\", which is no partition column", spec->freshness.column);
	return RECLOSER_OK;
}

/* ---- revision, totals ---- */

static recloser_status check_revision(const struct rules *rules)
{
	const struct spec *spec = rules->spec;
	if (!spec->revision)
		return RECLOSER_OK;
	const struct node *value = node_get(rules->top, "revision");
	struct mark mark = value->kind == NODE_MAP ? place_in(rules, "revision", "column") : value->mark;
	if (is_geometry(spec, spec->revision))
		return fault_at(rules->reader, mark, "spec.revision", "the geometry can't order revisions");
	imply(rules, spec->revision, mark);
	for (size_t b = 0; b < rules->block_count; b++) {
		struct block *block = rules->blocks[b];
		const struct column *column = find(block, spec->revision);
		if (column->type != TYPE_BOOLEAN && column->type != TYPE_UUID && column->type != TYPE_JSON)
			continue;
		fault_at(rules->reader, mark, "spec.revision", "revision column \"%s\" is of type %s, which has no order in time",
				 spec->revision, column_type_word(column->type));
		return error_hint(rules->reader->error, "use a date, a timestamp or a number");
	}
	return must_be_kept(rules, spec->revision, mark, "revision column");
}

static recloser_status check_totals(const struct rules *rules)
{
	const struct spec *spec = rules->spec;
	const struct node *totals = node_get(rules->top, "totals");
	for (size_t i = 0; i < spec->total_count; i++) {
		const char *name = spec->totals[i].column;
		struct mark mark = totals->members[i].mark;
		bool found = false;
		for (size_t b = 0; b < rules->block_count; b++) {
			struct block *block = rules->blocks[b];
			const struct column *column = find(block, name);
			if (!column)
				continue;
			found = true;
			if (column->type == TYPE_INTEGER || column->type == TYPE_DOUBLE || column->type == TYPE_DECIMAL)
				continue;
			fault_at(rules->reader, mark, "spec.totals", "the total of \"%s\" can't be made: its type is %s", name,
					 column_type_word(column->type));
			return error_hint(rules->reader->error, "give the column a number type: %s: {type: double}", name);
		}
		if (!found) {
			fault_at(rules->reader, mark, "spec.totals", "\"totals\" names \"%s\", which is not listed under columns", name);
			return error_hint(rules->reader->error, "list it with a number type: %s: {type: double}", name);
		}
		RC_TRY(must_be_kept(rules, name, mark, "the column of a total"));
	}
	return RECLOSER_OK;
}

/* ---- geometry ---- */

static recloser_status check_coordinates(const struct rules *rules)
{
	const struct geometry_spec *geometry = &rules->spec->geometry;
	size_t parts = geometry->from == GEOMETRY_LON_LAT ? 2 : geometry->from == GEOMETRY_LINE ? 4 : 0;
	for (size_t i = 0; i < parts; i++)
		for (size_t b = 0; b < rules->block_count; b++) {
			struct block *block = rules->blocks[b];
			const struct column *column = find(block, geometry->parts[i]);
			enum column_type type = column ? column->type : TYPE_UNSET;
			if (type == TYPE_UNSET || type == TYPE_INTEGER || type == TYPE_DOUBLE || type == TYPE_DECIMAL)
				continue;
			fault_at(rules->reader, geometry->mark, "spec.geometry", "coordinate \"%s\" is of type %s", column->name,
					 column_type_word(type));
			return error_hint(rules->reader->error, "give the column type: double");
		}
	return RECLOSER_OK;
}

static recloser_status check_geometry(const struct rules *rules)
{
	const struct spec *spec = rules->spec;
	const struct geometry_spec *geometry = &spec->geometry;
	const struct reader *reader = rules->reader;
	if (geometry->from == GEOMETRY_NONE) {
		if (spec->order != ORDER_HILBERT)
			return RECLOSER_OK;
		return fault_at(reader, place(rules, "order", 0), "spec.geometry", "order: hilbert needs a geometry");
	}
	if (*geometry->column == '_' || text_equal_nocase(geometry->column, spec->key_column))
		return fault_at(reader, place_in(rules, "geometry", "column"), "spec.geometry",
						"\"%s\" can't be the name of the geometry column", geometry->column);
	for (size_t b = 0; b < rules->block_count; b++) {
		const struct block *block = rules->blocks[b];
		for (size_t i = 0; i < block->column_count; i++) {
			const struct column *column = &block->columns[i];
			if (column->keep && text_equal_nocase(column->name, geometry->column)) {
				fault_at(reader, column->mark, "spec.name", "column \"%s\" has the name of the geometry column",
						 column->name);
				return error_hint(reader->error,
								  "rename one of them: geometry: {column: shape}, or geometry: none if there is none");
			}
			bool covering = geometry->from != GEOMETRY_AUTO && geometry->covering != COVERING_OFF;
			if (column->keep && covering && text_equal_nocase(column->name, "bbox")) {
				fault_at(reader, column->mark, "spec.name", "column \"%s\" has the name of the covering of the geometry",
						 column->name);
				return error_hint(reader->error, "rename it, or write geometry: {covering: off}");
			}
		}
	}
	return check_coordinates(rules);
}

static recloser_status check_key_column(const struct rules *rules)
{
	const struct spec *spec = rules->spec;
	if (*spec->key_column == '_' || strlen(spec->key_column) > 255)
		return fault_at(rules->reader, place_in(rules, "key", "column"), "spec.name",
						"\"%s\" can't be the name of the key column", spec->key_column);
	for (size_t b = 0; b < rules->block_count; b++) {
		const struct block *block = rules->blocks[b];
		for (size_t i = 0; i < block->column_count; i++) {
			if (!text_equal_nocase(block->columns[i].name, spec->key_column))
				continue;
			fault_at(rules->reader, block->columns[i].mark, "spec.name", "column \"%s\" has the name of the key column",
					 block->columns[i].name);
			return error_hint(rules->reader->error,
							  "keep it under another name (source_%s: {from: %s}), or rename the key: key: {column: my_key}",
							  spec->key_column, block->columns[i].name);
		}
	}
	return RECLOSER_OK;
}

/* The column that `disappeared: carry` adds. */
static recloser_status check_carried(const struct rules *rules)
{
	const struct spec *spec = rules->spec;
	if (spec->disappeared.policy != POLICY_CARRY)
		return RECLOSER_OK;
	if (text_equal_nocase(spec->key_column, CARRIED_COLUMN) || text_equal_nocase(spec->geometry.column, CARRIED_COLUMN))
		return fault_at(rules->reader, place(rules, "disappeared", 0), "spec.name",
						"\"carried\" is the column that disappeared: carry adds; key and geometry need another name");
	for (size_t b = 0; b < rules->block_count; b++) {
		const struct block *block = rules->blocks[b];
		for (size_t i = 0; i < block->column_count; i++) {
			const struct column *column = &block->columns[i];
			if (!column->keep || !text_equal_nocase(column->name, CARRIED_COLUMN))
				continue;
			fault_at(rules->reader, column->mark, "spec.name", "column \"%s\" has the name of the column that disappeared: carry adds",
					 column->name);
			return error_hint(rules->reader->error, "keep it under another name: source_carried: {from: %s}", column->name);
		}
	}
	return RECLOSER_OK;
}

static recloser_status check_blocks(const struct rules *rules)
{
	for (size_t b = 0; b < rules->block_count; b++)
		RC_TRY(columns_check(rules->reader, rules->blocks[b]));
	return RECLOSER_OK;
}

static void gather_blocks(struct rules *rules)
{
	const struct spec *spec = rules->spec;
	size_t count = 0;
	for (size_t i = 0; i < spec->source_count; i++)
		count += spec->sources[i].block_count;
	rules->blocks = arena_array(rules->reader->arena, count, sizeof *rules->blocks);
	for (size_t i = 0; i < spec->source_count; i++)
		for (size_t k = 0; k < spec->sources[i].block_count; k++)
			rules->blocks[rules->block_count++] = &spec->sources[i].blocks[k];
}

recloser_status spec_validate(const struct reader *reader, const struct node *top, struct spec *spec)
{
	struct rules rules = {reader, top, spec, NULL, 0};
	gather_blocks(&rules);
	RC_TRY(check_key(&rules));
	RC_TRY(add_publisher(&rules));
	/* Types are settled before they are compared with what partitions, revisions and totals need, and once more for the
	 * columns that these imply; a settled column passes again. */
	RC_TRY(check_blocks(&rules));
	RC_TRY(check_partition(&rules));
	RC_TRY(check_revision(&rules));
	RC_TRY(check_blocks(&rules));
	RC_TRY(check_identity_columns(&rules));
	RC_TRY(check_totals(&rules));
	RC_TRY(check_key_column(&rules));
	RC_TRY(check_carried(&rules));
	return check_geometry(&rules);
}
