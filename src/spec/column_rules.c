/* SPDX-License-Identifier: Apache-2.0
 * The rules of one column by itself, and of the names of a block's columns among each other. What follows from them is
 * filled in here too: the type of a value that can only be text, the format that a parsed time defaults to. */
#include "spec/parts.h"

#include <string.h>

static bool is_temporal(enum column_type type)
{
	return type == TYPE_DATE || type == TYPE_TIMESTAMP || type == TYPE_TIMESTAMPTZ || type == TYPE_TIME;
}

static bool is_number(enum column_type type)
{
	return type == TYPE_INTEGER || type == TYPE_DOUBLE || type == TYPE_DECIMAL;
}

static recloser_status needs_type(const struct reader *reader, const struct column *column, const char *field,
								  const char *types)
{
	fault_at(reader, column->mark, "spec.column", "column \"%s\" has \"%s\", which needs the type %s", column->name, field,
			 types);
	if (column->type == TYPE_UNSET)
		return error_hint(reader->error, "the column has no type yet");
	return error_hint(reader->error, "the column's type is %s", column_type_word(column->type));
}

static recloser_status check_names(const struct reader *reader, const struct block *block, size_t index)
{
	const struct column *column = &block->columns[index];
	const char *name = column->name;
	bool control = false;
	for (const char *at = name; *at; at++)
		control |= (unsigned char)*at < 0x20 || *at == 0x7F;
	if (!*name || control || strlen(name) > 255 || name[strspn(name, " ")] == '\0')
		return fault_at(reader, column->mark, "spec.name", "\"%s\" can't be the name of a column", name);
	if (*name == '_') {
		fault_at(reader, column->mark, "spec.name", "column \"%s\": names that begin with _ are reserved", name);
		const char *rest = name + strspn(name, "_");
		return error_hint(reader->error, "name it otherwise and say where it comes from: %s: {from: %s}", *rest ? rest : "NAME", name);
	}
	for (size_t i = 0; i < index; i++) {
		if (!text_equal_nocase(block->columns[i].name, name))
			continue;
		fault_at(reader, column->mark, "spec.name", "columns \"%s\" and \"%s\" differ only by letter case",
				 block->columns[i].name, name);
		return error_hint(reader->error, "SQL and many readers can't tell them apart; rename one");
	}
	return RECLOSER_OK;
}

/* The fields that take a time apart, or write one as text. */
static recloser_status check_times(const struct reader *reader, const struct column *column)
{
	enum column_type type = column->type;
	if (column->as && type != TYPE_UNSET && type != TYPE_TEXT && !(is_temporal(type) && type != TYPE_TIME))
		return needs_type(reader, column, "as", "text");
	if (column->as)
		return RECLOSER_OK;
	if (column->format.count && !is_temporal(type))
		return needs_type(reader, column, "format", "date, timestamp, timestamptz or time");
	if (column->zone && (!is_temporal(type) || type == TYPE_TIME))
		return needs_type(reader, column, "zone", "date, timestamp or timestamptz");
	if (column->time_drop && type != TYPE_DATE)
		return needs_type(reader, column, "time: drop", "date");
	return RECLOSER_OK;
}

static recloser_status check_values(const struct reader *reader, const struct column *column)
{
	enum column_type type = column->type;
	if ((column->decimal || column->thousands) && !is_number(type))
		return needs_type(reader, column, column->decimal ? "decimal" : "thousands", "integer, double or decimal");
	const char *decimal = column->decimal ? column->decimal : ".";
	if (column->thousands && strcmp(decimal, column->thousands) == 0) {
		fault_at(reader, column->mark, "spec.column",
				 "column \"%s\": the decimal sign and the sign between thousands are both \"%s\"", column->name, decimal);
		return error_hint(reader->error, "with thousands: \".\" also say decimal: \",\"");
	}
	if ((column->true_words.count || column->false_words.count) && type != TYPE_BOOLEAN)
		return needs_type(reader, column, column->true_words.count ? "true" : "false", "boolean");
	for (size_t i = 0; i < column->true_words.count; i++)
		if (strings_has(&column->false_words, column->true_words.at[i]))
			return fault_at(reader, column->mark, "spec.column", "column \"%s\": \"%s\" is both true and false",
							column->name, column->true_words.at[i]);
	if (column->pad && type != TYPE_TEXT && type != TYPE_UNSET)
		return needs_type(reader, column, "pad", "text");
	if (column->pad > 1000)
		return fault_at(reader, column->mark, "spec.column", "column \"%s\": \"pad\" can be 1000 at most", column->name);
	if (column->required && column->optional) {
		fault_at(reader, column->mark, "spec.column", "column \"%s\" is both required and optional", column->name);
		return error_hint(reader->error,
						  "required: a missing value is quarantined; optional: the source need not have the column");
	}
	if (column->optional && column->origin != ORIGIN_FROM && column->origin != ORIGIN_AT)
		return fault_at(reader, column->mark, "spec.column",
						"column \"%s\" is optional but does not come from the source's columns", column->name);
	return RECLOSER_OK;
}

/* A column of the source takes the source's type where none is said; everything else begins as text. */
static void settle_type(struct arena *arena, struct column *column)
{
	if (column->origin == ORIGIN_FROM && !column->from.count)
		strings_add(arena, &column->from, column->name);
	if (column->as) {
		column->type = TYPE_TEXT;
		if (!column->format.count) {
			column->format = (struct strings){NULL, 0};
			strings_add(arena, &column->format, "iso");
		}
	}
	bool text_origin = column->origin == ORIGIN_NAME || column->origin == ORIGIN_PATH || column->origin == ORIGIN_ABOVE ||
					   column->origin == ORIGIN_VALUE || column->origin == ORIGIN_SET;
	if (column->type == TYPE_UNSET && (text_origin || column->pad || column->match))
		column->type = TYPE_TEXT;
}

recloser_status columns_check(const struct reader *reader, struct block *block)
{
	for (size_t i = 0; i < block->column_count; i++) {
		struct column *column = &block->columns[i];
		RC_TRY(check_names(reader, block, i));
		RC_TRY(check_times(reader, column));
		RC_TRY(check_values(reader, column));
		settle_type(reader->arena, column);
	}
	return RECLOSER_OK;
}
