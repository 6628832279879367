/* SPDX-License-Identifier: Apache-2.0
 * `source:`, `sources:` and `common:`: how the files of a publisher are recognised and read. */
#include "spec/parts.h"

#include <string.h>

enum {
	HEADER_WITHIN = 100, /* rows that `find` looks at when nothing is said */
	MOST_COLUMNS =
		50000 /* of all blocks together: each holds a copy of the shared ones, so a small file could ask for gigabytes */
};

static recloser_status read_header_rows(const struct reader *reader, const struct field *field, const struct node *value,
										void *target)
{
	struct header *header = target;
	size_t most = sizeof header->rows / sizeof *header->rows;
	if (value->kind != NODE_LIST || !value->count || value->count > most)
		return fault_at(reader, value->mark, "spec.kind", "\"rows\" must be a list of 1 to %zu row numbers", most);
	for (size_t i = 0; i < value->count; i++) {
		RC_TRY(field_number(reader, field, value->members[i].value, &header->rows[i]));
		if (i && header->rows[i] <= header->rows[i - 1])
			return fault_at(reader, value->members[i].mark, "spec.number", "\"rows\" must grow");
	}
	header->row_count = (int)value->count;
	header->kind = HEADER_ROW;
	return RECLOSER_OK;
}

static recloser_status read_header_map(const struct reader *reader, const struct node *value, struct header *header)
{
	static const struct field fields[] = {
		{"find", field_names, offsetof(struct header, find), NULL},
		{"within", field_number, offsetof(struct header, within), NULL},
		{"rows", read_header_rows, 0, NULL},
	};
	RC_TRY(fields_read(reader, value, "\"header\"", fields, 3, header));
	if (header->kind != HEADER_ROW) {
		header->kind = HEADER_FIND;
		if (!header->find.count)
			return fault_at(reader, value->mark, "spec.no_value",
							"\"header\" needs find: [names of columns] or rows: [numbers]");
		if (!header->within)
			header->within = HEADER_WITHIN;
	} else if (header->find.count || header->within) {
		return fault_at(reader, value->mark, "spec.contradiction", "\"header\" has rows or find, not both");
	}
	return RECLOSER_OK;
}

static recloser_status read_header(const struct reader *reader, const struct field *field, const struct node *value,
								   void *target)
{
	struct header *header = target;
	memset(header, 0, sizeof *header);
	if (value->kind == NODE_MAP)
		return read_header_map(reader, value, header);
	const char *text;
	RC_TRY(text_value(reader, field->name, value, &text));
	int row = whole_number(text);
	if (row > 0) {
		header->kind = HEADER_ROW;
		header->rows[0] = row;
		header->row_count = 1;
		return RECLOSER_OK;
	}
	if (strcmp(text, "none") == 0) {
		header->kind = HEADER_NONE;
		return RECLOSER_OK;
	}
	fault_at(reader, value->mark, "spec.value", "\"header\" can't be \"%s\"", text);
	return error_hint(reader->error,
					  "write a row number from 1, none, {rows: [1, 2]} or {find: [Name, Other Name], within: 60}");
}

static recloser_status read_data(const struct reader *reader, const struct field *field, const struct node *value,
								 void *target)
{
	struct block *block = target;
	const char *text;
	RC_TRY(text_value(reader, field->name, value, &text));
	block->data_row = 0;
	int row = whole_number(text);
	if (row > 0) {
		block->data = DATA_ROW;
		block->data_row = row;
	} else if (strcmp(text, "first_key") == 0) {
		block->data = DATA_FIRST_KEY;
	} else if (strcmp(text, "next") == 0) {
		block->data = DATA_NEXT;
	} else {
		fault_at(reader, value->mark, "spec.value", "\"data\" can't be \"%s\"", text);
		return error_hint(reader->error,
						  "write first_key (the first row whose identity is filled), next (right below the header) or a row "
						  "number");
	}
	return RECLOSER_OK;
}

static recloser_status read_end(const struct reader *reader, const struct field *field, const struct node *value,
								void *target)
{
	static const struct field fields[] = {{"find", field_text, 0, NULL}};
	struct block *block = target;
	block->end_find = NULL;
	if (value->kind == NODE_MAP) {
		block->end = END_FIND;
		RC_TRY(fields_read(reader, value, "\"end\"", fields, 1, &block->end_find));
		return block->end_find
				   ? RECLOSER_OK
				   : fault_at(reader, value->mark, "spec.no_value", "\"end\" needs find: the text that begins the row");
	}
	const char *text;
	RC_TRY(text_value(reader, field->name, value, &text));
	block->end = strcmp(text, "blank") == 0 ? END_BLANK : END_NONE;
	if (block->end == END_BLANK || strcmp(text, "none") == 0)
		return RECLOSER_OK;
	fault_at(reader, value->mark, "spec.value", "\"end\" can't be \"%s\"", text);
	return error_hint(reader->error, "write blank (the first blank row), none or {find: \"NOTES:\"}");
}

/* The characters of CSV are single bytes: the tokenizer compares bytes, and no publisher uses others. */
static recloser_status read_csv_sign(const struct reader *reader, const struct field *field, const struct node *value,
									 void *target)
{
	static const char *const names[] = {"tab", "comma", "semicolon", "pipe", "blank", "\\t", NULL};
	const char *text;
	RC_TRY(text_value(reader, field->name, value, &text));
	bool quote = field->name[0] == 'q';
	if (quote && strcmp(text, "none") == 0) {
		*(char *)target = '\1';
		return RECLOSER_OK;
	}
	int named = quote ? -1 : word_index(names, text);
	char sign = named >= 0 ? "\t,;| \t"[named] : text[0];
	bool usable = (sign >= ' ' && sign < 127) || (sign == '\t' && !quote);
	if ((named < 0 && strlen(text) != 1) || !usable) {
		fault_at(reader, value->mark, "spec.value", "\"%s\" must be one ASCII character, not \"%s\"", field->name, text);
		return error_hint(reader->error, quote ? "quote: \"'\" or quote: none" : "delimiter: \";\" or delimiter: tab");
	}
	*(char *)target = sign;
	return RECLOSER_OK;
}

static recloser_status read_csv(const struct reader *reader, const struct field *field, const struct node *value,
								void *target)
{
	static const struct field fields[] = {
		{"delimiter", read_csv_sign, offsetof(struct block, delimiter), NULL},
		{"quote", read_csv_sign, offsetof(struct block, quote), NULL},
	};
	(void)field;
	struct block *block = target;
	RC_TRY(fields_read(reader, value, "\"csv\"", fields, 2, block));
	char delimiter = block->delimiter ? block->delimiter : ',', quote = block->quote ? block->quote : '"';
	if (delimiter == quote)
		return fault_at(reader, value->mark, "spec.contradiction", "\"delimiter\" and \"quote\" are the same character");
	return RECLOSER_OK;
}

static recloser_status read_missing(const struct reader *reader, const struct field *field, const struct node *value,
									void *target)
{
	struct block *block = target;
	block->missing_given = true;
	return field_texts(reader, field, value, &block->missing);
}

static const char *const format_words[] = {"csv", "json", "parquet", "xlsx", "ogr", NULL};

static recloser_status read_format(const struct reader *reader, const struct field *field, const struct node *value,
								   void *target)
{
	int index = 0;
	RC_TRY(field_word(reader, field, value, &index));
	*(const char **)target = format_words[index];
	return RECLOSER_OK;
}

static const char *const name_words[] = {"keep", "snake", NULL};

static recloser_status read_name_form(const struct reader *reader, const struct field *field, const struct node *value,
									  void *target)
{
	int index = 0;
	RC_TRY(field_word(reader, field, value, &index));
	*(bool *)target = index == 1;
	return RECLOSER_OK;
}

static recloser_status read_columns(const struct reader *reader, const struct field *field, const struct node *value,
									void *target)
{
	struct block *block = target;
	(void)field;
	return columns_read(reader, value, &block->columns, &block->column_count);
}

static const char *const space_words[] = {"keep", "trim", "squeeze", NULL};
static const char *const several_words[] = {"refuse", "union", "last", NULL};

#define IN_BLOCK(member) offsetof(struct block, member), NULL
static const struct field block_fields[] = {
	{"files", field_text, IN_BLOCK(files)},
	{"sheet", field_names, IN_BLOCK(sheet)},
	{"not_sheet", field_names, IN_BLOCK(not_sheet)},
	{"layer", field_names, IN_BLOCK(layer)},
	{"not_layer", field_names, IN_BLOCK(not_layer)},
	{"member", field_text, IN_BLOCK(member)},
	{"records", field_text, IN_BLOCK(records)},
	{"format", read_format, offsetof(struct block, format), format_words},
	{"header", read_header, IN_BLOCK(header)},
	{"data", read_data, 0, NULL},
	{"end", read_end, 0, NULL},
	{"csv", read_csv, 0, NULL},
	{"encoding", field_text, IN_BLOCK(encoding)},
	{"missing", read_missing, 0, NULL},
	{"space", field_word, offsetof(struct block, space), space_words},
	{"skip", field_text, IN_BLOCK(skip)},
	{"several", field_word, offsetof(struct block, several), several_words},
	{"names", read_name_form, offsetof(struct block, snake_names), name_words},
	{"columns", read_columns, 0, NULL}, /* the last one: `common` has it not */
};
enum { BLOCK_FIELDS = sizeof block_fields / sizeof *block_fields };

/* A column's `missing` adds to its source's. */
static void merge_missing(struct arena *arena, struct block *block)
{
	if (!block->missing_given)
		strings_add(arena, &block->missing, "");
	for (size_t i = 0; i < block->column_count; i++) {
		struct column *column = &block->columns[i];
		struct strings merged = {NULL, 0};
		for (size_t k = 0; k < column->missing.count; k++)
			if (!strings_has(&merged, column->missing.at[k]))
				strings_add(arena, &merged, column->missing.at[k]);
		for (size_t k = 0; k < block->missing.count; k++)
			if (!strings_has(&merged, block->missing.at[k]))
				strings_add(arena, &merged, block->missing.at[k]);
		column->missing = merged;
	}
}

static recloser_status block_read(const struct reader *reader, const struct node *value, const char *of,
								  const struct block *common, struct block *block)
{
	*block = *common;
	block->mark = value->mark;
	/* Restating a shared column must not change it for the other blocks. */
	block->columns = columns_copy(reader->arena, common->columns, common->column_count);
	RC_TRY(fields_read(reader, value, of, block_fields, BLOCK_FIELDS, block));
	merge_missing(reader->arena, block);
	return RECLOSER_OK;
}

/* `columns` counts those of all blocks. */
static recloser_status source_read(const struct reader *reader, const struct node *value, const struct block *common,
								   size_t *columns, struct source_spec *source)
{
	const char *of = source->name ? arena_printf(reader->arena, "source \"%s\"", source->name) : "\"source\"";
	source->block_count = value->kind == NODE_LIST ? value->count : 1;
	if (!source->block_count)
		return fault_at(reader, value->mark, "spec.no_value", "%s has no blocks", of);
	*columns += source->block_count * (common->column_count + 1);
	if (*columns > MOST_COLUMNS)
		return fault_at(reader, value->mark, "spec.size", "the blocks have more than %d columns together", MOST_COLUMNS);
	source->blocks = arena_array(reader->arena, source->block_count, sizeof *source->blocks);
	for (size_t i = 0; i < source->block_count; i++) {
		const struct node *node = value->kind == NODE_LIST ? value->members[i].value : value;
		RC_TRY(block_read(reader, node, of, common, &source->blocks[i]));
	}
	return RECLOSER_OK;
}

/* The name is a partition value and the word behind --source. */
static recloser_status check_source_name(const struct reader *reader, const struct member *member)
{
	const char *name = member->name;
	bool blank_end = *name == ' ' || (*name && name[strlen(name) - 1] == ' ');
	bool control = false;
	for (const char *at = name; *at; at++)
		control |= (unsigned char)*at < 0x20;
	if (!*name || blank_end || control || strlen(name) > 100)
		return fault_at(reader, member->mark, "spec.name", "\"%s\" can't be the name of a source", name);
	return RECLOSER_OK;
}

static recloser_status common_read(const struct reader *reader, const struct node *top, struct block *common)
{
	const struct node *value = node_get(top, "common"), *columns = node_get(top, "columns");
	memset(common, 0, sizeof *common);
	if (value) {
		RC_TRY(field_need_map(reader, value, "\"common\""));
		for (size_t i = 0; i < value->count; i++) {
			if (strcmp(value->members[i].name, "columns") != 0)
				continue;
			fault_at(reader, value->members[i].mark, "spec.unknown_field", "\"common\" has no field \"columns\"");
			return error_hint(reader->error, "columns that all sources share stand at the top level of the spec");
		}
		RC_TRY(fields_read(reader, value, "\"common\"", block_fields, BLOCK_FIELDS - 1, common));
	}
	return columns ? columns_read(reader, columns, &common->columns, &common->column_count) : RECLOSER_OK;
}

recloser_status sources_read(const struct reader *reader, const struct node *top, struct spec *spec)
{
	const struct node *one = node_get(top, "source"), *many = node_get(top, "sources");
	struct block common;
	size_t columns = 0;
	RC_TRY(common_read(reader, top, &common));
	if (one && many)
		return fault_at(reader, many->mark, "spec.contradiction", "a spec has \"source\" or \"sources\", not both");
	if (!one && !many) {
		fault_at(reader, top->mark, "spec.missing_field", "the spec names no source");
		return error_hint(reader->error, "write source: {files: \"*.csv\"}, or sources: with a name for each publisher");
	}
	spec->source_count = 1;
	if (many) {
		RC_TRY(field_need_map(reader, many, "\"sources\""));
		spec->source_count = many->count;
		if (!many->count)
			return fault_at(reader, many->mark, "spec.no_value", "\"sources\" names no source");
	}
	spec->sources = arena_array(reader->arena, spec->source_count, sizeof *spec->sources);
	for (size_t i = 0; i < spec->source_count; i++) {
		struct source_spec *source = &spec->sources[i];
		const struct node *value = one ? one : many->members[i].value;
		source->mark = one ? one->mark : many->members[i].mark;
		source->name = one ? NULL : many->members[i].name;
		if (many)
			RC_TRY(check_source_name(reader, &many->members[i]));
		RC_TRY(source_read(reader, value, &common, &columns, source));
	}
	return RECLOSER_OK;
}
