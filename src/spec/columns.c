/* SPDX-License-Identifier: Apache-2.0
 * `columns:`: one column's fields, and how a source restates what all sources share. */
#include "spec/parts.h"

#include <string.h>

static const char *const type_words[] = {"text",      "integer",     "double", "decimal", "boolean", "date",
										 "timestamp", "timestamptz", "time",   "uuid",    "json",    NULL};

const char *column_type_word(enum column_type type)
{
	return type == TYPE_UNSET ? "unset" : type_words[type - TYPE_TEXT];
}

/* Names that other tools have for our types: the edit distance would not find them. */
static const char *known_elsewhere(const char *word)
{
	static const char *const pairs[][2] = {
		{"string", "text"},           {"str", "text"},
		{"varchar", "text"},          {"char", "text"},
		{"int", "integer"},           {"bigint", "integer"},
		{"int64", "integer"},         {"long", "integer"},
		{"float", "double"},          {"real", "double"},
		{"number", "double"},         {"float64", "double"},
		{"numeric", "decimal(18,3)"}, {"bool", "boolean"},
		{"datetime", "timestamp"},    {"timestamp with time zone", "timestamptz"},
	};
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		if (text_equal_nocase(word, pairs[i][0]))
			return pairs[i][1];
	return NULL;
}

static int parse_digits(const char **at)
{
	*at += strspn(*at, " ");
	char digits[4] = "";
	size_t count = strspn(*at, "0123456789");
	if (!count || count > 3)
		return -1;
	memcpy(digits, *at, count);
	*at += count;
	*at += strspn(*at, " ");
	return whole_number(digits);
}

/* decimal(p,s) with 1 <= p <= 38 and s <= p, or decimal(p). */
static bool parse_decimal(const char *text, struct column *column)
{
	const char *at = text + strlen("decimal(");
	int precision = parse_digits(&at), scale = 0;
	if (*at == ',') {
		at++;
		scale = parse_digits(&at);
	}
	if (strcmp(at, ")") != 0 || precision < 1 || precision > 38 || scale < 0 || scale > precision)
		return false;
	column->type = TYPE_DECIMAL;
	column->precision = precision;
	column->scale = scale;
	return true;
}

static recloser_status read_type(const struct reader *reader, const struct field *field, const struct node *value,
								 void *target)
{
	struct column *column = target;
	const char *text;
	RC_TRY(text_value(reader, field->name, value, &text));
	column->precision = column->scale = 0;
	if (text_starts(text, "decimal")) {
		if (text_starts(text, "decimal(") && parse_decimal(text, column))
			return RECLOSER_OK;
		fault_at(reader, value->mark, "spec.type", "\"%s\" is not a decimal type", text);
		return error_hint(reader->error,
						  "write decimal(10,2): at most 38 digits, 2 of them after the point; inside { } put the value in "
						  "quotes, because of its comma: type: \"decimal(10,2)\"");
	}
	int index = word_index(type_words, text);
	if (index >= 0) {
		column->type = (enum column_type)(TYPE_TEXT + index);
		return RECLOSER_OK;
	}
	const char *meant = known_elsewhere(text);
	if (!meant)
		return refuse_word(reader, field->name, value, type_words);
	fault_at(reader, value->mark, "spec.unknown_word", "there is no type \"%s\"", text);
	return error_hint(reader->error, "did you mean %s?", meant);
}

/* ---- origins ---- */

static recloser_status read_from(const struct reader *reader, const struct field *field, const struct node *value,
								 void *target)
{
	struct column *column = target;
	RC_TRY(field_names(reader, field, value, &column->from));
	if (!column->from.count)
		return fault_at(reader, value->mark, "spec.no_value", "\"from\" must name a column of the source");
	column->origin = ORIGIN_FROM;
	return RECLOSER_OK;
}

/* "AF" or "32". The largest sheets end at XFD, column 16,384; text files may go on. */
static int column_number(const char *text)
{
	int number = whole_number(text);
	if (number >= 0)
		return number <= 100000 ? number : 0;
	size_t length = strlen(text);
	if (!length || length > 3)
		return 0;
	for (number = 0; *text; text++) {
		char upper = *text >= 'a' && *text <= 'z' ? (char)(*text - 32) : *text;
		if (upper < 'A' || upper > 'Z')
			return 0;
		number = number * 26 + (upper - 'A' + 1);
	}
	return number;
}

static recloser_status read_at(const struct reader *reader, const struct field *field, const struct node *value,
							   void *target)
{
	struct column *column = target;
	const char *text;
	RC_TRY(text_value(reader, field->name, value, &text));
	column->at = column_number(text);
	if (column->at < 1)
		return fault_at(reader, value->mark, "spec.number", "\"at\" is a column's letter (AF) or number from 1, not \"%s\"",
						text);
	column->origin = ORIGIN_AT;
	return RECLOSER_OK;
}

static recloser_status read_pattern(const struct reader *reader, const struct field *field, const struct node *value,
									void *target)
{
	struct column *column = target;
	RC_TRY(field_text(reader, field, value, &column->pattern));
	column->origin = field->name[0] == 'n' ? ORIGIN_NAME : field->name[0] == 'p' ? ORIGIN_PATH : ORIGIN_ABOVE;
	return RECLOSER_OK;
}

static recloser_status read_value(const struct reader *reader, const struct field *field, const struct node *value,
								  void *target)
{
	struct column *column = target;
	RC_TRY(field_any(reader, field, value, &column->value));
	column->origin = ORIGIN_VALUE;
	return RECLOSER_OK;
}

/* `set: required`, or `set: {default: x}` for a value that the command line may replace. */
static recloser_status read_set(const struct reader *reader, const struct field *field, const struct node *value,
								void *target)
{
	static const struct field fields[] = {{"default", field_any, 0, NULL}};
	static const char *const words[] = {"required", NULL};
	struct column *column = target;
	column->origin = ORIGIN_SET;
	if (value->kind == NODE_MAP && value->count)
		return fields_read(reader, value, "\"set\"", fields, 1, &column->value);
	const char *text;
	RC_TRY(text_value(reader, field->name, value, &text));
	if (word_index(words, text) == 0)
		return RECLOSER_OK;
	fault_at(reader, value->mark, "spec.unknown_word", "\"set\" can't be \"%s\"", text);
	return error_hint(reader->error, "write set: required, or set: {default: \"%s\"}; for a fixed text use value: \"%s\"",
					  text, text);
}

static recloser_status read_sql(const struct reader *reader, const struct field *field, const struct node *value,
								void *target)
{
	struct column *column = target;
	RC_TRY(field_text(reader, field, value, &column->sql));
	column->origin = ORIGIN_SQL;
	return RECLOSER_OK;
}

/* ---- what happens to the value ---- */

static recloser_status read_map_entries(const struct reader *reader, const struct field *field, const struct node *value,
										void *target)
{
	struct column *column = target;
	RC_TRY(field_need_map(reader, value, "\"map\""));
	column->map = arena_array(reader->arena, value->count ? value->count : 1, sizeof *column->map);
	column->map_count = value->count;
	for (size_t i = 0; i < value->count; i++) {
		column->map[i].from = value->members[i].name;
		RC_TRY(text_value(reader, field->name, value->members[i].value, &column->map[i].to));
	}
	return RECLOSER_OK;
}

/* The directives that have a pattern of their own in the batch (times.c); with any other a value would pass unread or never. */
static recloser_status check_directives(const struct reader *reader, const struct mark mark, const char *format)
{
	static const char known[] = "YymdHIMSjfbBaApz%", padded[] = "mdHIMSj"; /* %-d: without a leading zero */
	for (const char *at = strchr(format, '%'); at;) {
		const char *letter = at[1] == '-' ? at + 2 : at + 1;
		bool good = *letter && strchr(letter == at + 1 ? known : padded, *letter) && !(*letter == 'z' && letter[1]);
		if (!good) {
			fault_at(reader, mark, "spec.format", "\"%s\" is no format: there is no %.*s%s", format, (int)(letter - at + (*letter != 0)), at,
					 *letter == 'z' ? " but at its end" : "");
			return error_hint(reader->error, "there are %%Y %%y %%m %%d %%j %%H %%I %%M %%S %%f %%p %%b %%B %%a %%A, and %%z at the end");
		}
		at = strchr(letter + 1, '%');
	}
	return RECLOSER_OK;
}

static recloser_status read_formats(const struct reader *reader, const struct field *field, const struct node *value,
									void *target)
{
	struct strings *formats = target;
	RC_TRY(field_names(reader, field, value, formats));
	for (size_t i = 0; i < formats->count; i++) {
		const char *format = formats->at[i];
		const struct mark mark = value->kind == NODE_LIST ? value->members[i].mark : value->mark;
		if (i == COLUMN_FORMATS)
			return fault_at(reader, mark, "spec.format", "a column has %d formats at most", COLUMN_FORMATS);
		if (strcmp(format, "iso") == 0 || strcmp(format, "excel") == 0)
			continue;
		if (!strchr(format, '%')) {
			fault_at(reader, mark, "spec.format", "\"%s\" is not a format of dates or times", format);
			return error_hint(reader->error, "write iso, excel (a serial day), or a pattern such as \"%%m/%%d/%%Y\"");
		}
		RC_TRY(check_directives(reader, mark, format));
	}
	return RECLOSER_OK;
}

static recloser_status read_as(const struct reader *reader, const struct field *field, const struct node *value,
							   void *target)
{
	RC_TRY(field_text(reader, field, value, target));
	if (strchr(value->text, '%'))
		return RECLOSER_OK;
	fault_at(reader, value->mark, "spec.format", "\"as\" writes a time as text and needs a pattern, not \"%s\"",
			 value->text);
	return error_hint(reader->error, "as: \"%%Y-%%m\" gives 2026-07");
}

/* decimal and thousands: one character; two bytes or three are one in UTF-8 (a thin blank, for instance). */
static recloser_status read_sign(const struct reader *reader, const struct field *field, const struct node *value,
								 void *target)
{
	const char *text;
	RC_TRY(text_value(reader, field->name, value, &text));
	size_t characters = 0;
	for (const char *at = text; *at; at++)
		characters += ((unsigned char)*at & 0xC0) != 0x80;
	if (characters != 1 || (*text >= '0' && *text <= '9'))
		return fault_at(reader, value->mark, "spec.value", "\"%s\" must be one character that is no digit, not \"%s\"",
						field->name, text);
	*(const char **)target = text;
	return RECLOSER_OK;
}

static const char *const time_words[] = {"keep", "drop", NULL};

static recloser_status read_time(const struct reader *reader, const struct field *field, const struct node *value,
								 void *target)
{
	int index = 0;
	RC_TRY(field_word(reader, field, value, &index));
	*(bool *)target = index == 1;
	return RECLOSER_OK;
}

#define IN_COLUMN(member) offsetof(struct column, member), NULL
static const struct field column_fields[] = {
	{"type", read_type, 0, NULL},
	{"from", read_from, 0, NULL},
	{"at", read_at, 0, NULL},
	{"name", read_pattern, 0, NULL},
	{"path", read_pattern, 0, NULL},
	{"above", read_pattern, 0, NULL},
	{"value", read_value, 0, NULL},
	{"set", read_set, 0, NULL},
	{"sql", read_sql, 0, NULL},
	{"required", field_flag, IN_COLUMN(required)},
	{"optional", field_flag, IN_COLUMN(optional)},
	{"keep", field_flag, IN_COLUMN(keep)},
	{"match", field_text, IN_COLUMN(match)},
	{"map", read_map_entries, 0, NULL},
	{"missing", field_texts, IN_COLUMN(missing)},
	{"default", field_any, IN_COLUMN(otherwise)},
	{"pad", field_number, IN_COLUMN(pad)},
	{"format", read_formats, IN_COLUMN(format)},
	{"as", read_as, IN_COLUMN(as)},
	{"zone", field_text, IN_COLUMN(zone)},
	{"time", read_time, offsetof(struct column, time_drop), time_words},
	{"decimal", read_sign, IN_COLUMN(decimal)},
	{"thousands", read_sign, IN_COLUMN(thousands)},
	{"true", field_names, IN_COLUMN(true_words)},
	{"false", field_names, IN_COLUMN(false_words)},
	{"check", field_text, IN_COLUMN(check)},
};

/* A column has one origin. One that is named here puts the inherited one out of force. */
static recloser_status forget_origin(const struct reader *reader, const struct member *member, struct column *column)
{
	static const char *const origins[] = {"from", "at", "name", "path", "above", "value", "set", "sql", NULL};
	const struct member *found = NULL;
	for (size_t i = 0; i < member->value->count; i++) {
		const struct member *field = &member->value->members[i];
		if (word_index(origins, field->name) < 0)
			continue;
		if (found) {
			fault_at(reader, field->mark, "spec.origins", "column \"%s\" has two origins, \"%s\" and \"%s\"", member->name,
					 found->name, field->name);
			return error_hint(reader->error,
							  "a column comes from one of from, at, name, path, above, value, set and sql; put the value "
							  "in quotes if the second one belongs to it");
		}
		found = field;
	}
	if (found) {
		memset(&column->from, 0, sizeof column->from);
		column->at = 0;
		column->pattern = column->value = column->sql = NULL;
		column->origin_given = true;
	}
	return RECLOSER_OK;
}

/* The array doubles at powers of two, so that the count tells the capacity. */
struct column *column_append(struct arena *arena, struct column **columns, size_t *count, const char *name, struct mark mark)
{
	if ((*count & (*count - 1)) == 0)
		*columns = arena_grow(arena, *columns, *count * sizeof **columns, (*count ? *count * 2 : 1) * sizeof **columns);
	struct column *column = &(*columns)[(*count)++];
	memset(column, 0, sizeof *column);
	column->name = name;
	column->mark = mark;
	column->origin = ORIGIN_FROM;
	column->keep = true;
	return column;
}

struct column *columns_copy(struct arena *arena, const struct column *columns, size_t count)
{
	size_t capacity = 1;
	while (capacity < count)
		capacity *= 2;
	struct column *copy = arena_array(arena, capacity, sizeof *copy);
	if (count)
		memcpy(copy, columns, count * sizeof *copy);
	return copy;
}

recloser_status columns_read(const struct reader *reader, const struct node *map, struct column **columns, size_t *count)
{
	RC_TRY(field_need_map(reader, map, "\"columns\""));
	for (size_t i = 0; i < map->count; i++) {
		const struct member *member = &map->members[i];
		const char *of = arena_printf(reader->arena, "column \"%s\"", member->name);
		if (member->value->kind == NODE_TEXT && member->value->plain && !*member->value->text) {
			fault_at(reader, member->mark, "spec.no_value", "column \"%s\" has no fields", member->name);
			return error_hint(reader->error, "write %s: {} for a text column of that name", member->name);
		}
		RC_TRY(field_need_map(reader, member->value, of));
		struct column *column = NULL;
		for (size_t k = 0; k < *count && !column; k++)
			if (strcmp((*columns)[k].name, member->name) == 0)
				column = &(*columns)[k];
		if (!column)
			column = column_append(reader->arena, columns, count, member->name, member->mark);
		column->mark = member->mark;
		RC_TRY(forget_origin(reader, member, column));
		RC_TRY(fields_read(reader, member->value, of, column_fields, sizeof column_fields / sizeof *column_fields, column));
	}
	return RECLOSER_OK;
}
