/* SPDX-License-Identifier: Apache-2.0 */
#include "spec/fields.h"

#include <string.h>

static size_t word_count(const char *const *words)
{
	size_t count = 0;
	while (words[count])
		count++;
	return count;
}

static const char *list_words(struct arena *arena, const char *const *words, size_t count)
{
	struct text text = text_on(arena);
	for (size_t i = 0; i < count; i++)
		text_addf(&text, "%s%s", i ? ", " : "", words[i]);
	return text.at;
}

static recloser_status unknown_field(const struct reader *reader, const struct member *member, const char *of,
									 const struct field *fields, size_t count)
{
	const char **names = arena_array(reader->arena, count, sizeof *names);
	for (size_t i = 0; i < count; i++)
		names[i] = fields[i].name;
	fault_at(reader, member->mark, "spec.unknown_field", "%s has no field \"%s\"", of, member->name);
	/* {from: Name, full} makes a field "full" without a value out of what follows the comma. */
	if (member->value->kind == NODE_TEXT && member->value->plain && !*member->value->text)
		return error_hint(reader->error, "if it belongs to the value before it, put the value in quotes");
	const char *near = text_nearest(member->name, names, count);
	if (near)
		return error_hint(reader->error, "did you mean \"%s\"?", near);
	return error_hint(reader->error, "its fields are %s", list_words(reader->arena, names, count));
}

recloser_status field_need_map(const struct reader *reader, const struct node *value, const char *of)
{
	if (value->kind == NODE_MAP)
		return RECLOSER_OK;
	fault_at(reader, value->mark, "spec.kind", "%s must be a mapping, not %s", of,
			 value->kind == NODE_LIST ? "a list" : "a text");
	return error_hint(reader->error, "write its fields as `name: value`, one a line, or as {name: value, name: value}");
}

recloser_status fields_read(const struct reader *reader, const struct node *map, const char *of, const struct field *fields,
							size_t count, void *into)
{
	RC_TRY(field_need_map(reader, map, of));
	for (size_t i = 0; i < map->count; i++) {
		const struct member *member = &map->members[i];
		const struct field *field = NULL;
		for (size_t k = 0; k < count && !field; k++)
			if (strcmp(fields[k].name, member->name) == 0)
				field = &fields[k];
		if (!field)
			return unknown_field(reader, member, of, fields, count);
		RC_TRY(field->read(reader, field, member->value, (char *)into + field->offset));
	}
	return RECLOSER_OK;
}

recloser_status text_value(const struct reader *reader, const char *name, const struct node *value, const char **out)
{
	if (value->kind != NODE_TEXT) {
		fault_at(reader, value->mark, "spec.kind", "\"%s\" must be one text, not %s", name,
				 value->kind == NODE_LIST ? "a list" : "a mapping");
		return error_hint(reader->error, "put the value in quotes if it begins with [ or {");
	}
	if (value->plain && !*value->text) {
		fault_at(reader, value->mark, "spec.no_value", "\"%s\" has no value", name);
		return error_hint(reader->error,
						  "put the value in quotes when it is a sign such as \",\" or begins with #; an empty text is \"\"");
	}
	*out = value->text;
	return RECLOSER_OK;
}

static bool is_blank(const char *text)
{
	return text[strspn(text, " \t\r\n")] == '\0';
}

recloser_status field_any(const struct reader *reader, const struct field *field, const struct node *value, void *target)
{
	return text_value(reader, field->name, value, target);
}

recloser_status field_text(const struct reader *reader, const struct field *field, const struct node *value, void *target)
{
	const char *text = NULL;
	RC_TRY(text_value(reader, field->name, value, &text));
	if (is_blank(text))
		return fault_at(reader, value->mark, "spec.no_value", "\"%s\" must not be blank", field->name);
	*(const char **)target = text;
	return RECLOSER_OK;
}

recloser_status field_texts(const struct reader *reader, const struct field *field, const struct node *value, void *target)
{
	struct strings *strings = target;
	const char *text = NULL;
	/* A fresh list: what was there may be shared with the defaults that were copied. */
	memset(strings, 0, sizeof *strings);
	if (value->kind != NODE_LIST) {
		RC_TRY(text_value(reader, field->name, value, &text));
		strings_add(reader->arena, strings, text);
		return RECLOSER_OK;
	}
	for (size_t i = 0; i < value->count; i++) {
		RC_TRY(text_value(reader, field->name, value->members[i].value, &text));
		strings_add(reader->arena, strings, text);
	}
	return RECLOSER_OK;
}

recloser_status field_names(const struct reader *reader, const struct field *field, const struct node *value, void *target)
{
	struct strings *strings = target;
	RC_TRY(field_texts(reader, field, value, target));
	for (size_t i = 0; i < strings->count; i++) {
		struct mark mark = value->kind == NODE_LIST ? value->members[i].mark : value->mark;
		if (is_blank(strings->at[i]))
			return fault_at(reader, mark, "spec.no_value", "\"%s\" must not be blank", field->name);
		for (size_t k = 0; k < i; k++)
			if (strcmp(strings->at[i], strings->at[k]) == 0)
				return fault_at(reader, mark, "spec.duplicate_entry", "\"%s\" names \"%s\" twice", field->name,
								strings->at[i]);
	}
	return RECLOSER_OK;
}

int word_index(const char *const *words, const char *word)
{
	for (int i = 0; words[i]; i++)
		if (strcmp(words[i], word) == 0)
			return i;
	return -1;
}

recloser_status refuse_word(const struct reader *reader, const char *name, const struct node *value,
							const char *const *words)
{
	size_t count = word_count(words);
	const char *near = text_nearest(value->text, words, count);
	fault_at(reader, value->mark, "spec.unknown_word", "\"%s\" can't be \"%s\"", name, value->text);
	return error_hint(reader->error, "it is one of %s%s%s%s", list_words(reader->arena, words, count),
					  near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

recloser_status field_word(const struct reader *reader, const struct field *field, const struct node *value, void *target)
{
	const char *text = NULL;
	RC_TRY(text_value(reader, field->name, value, &text));
	int index = word_index(field->words, text);
	if (index < 0)
		return refuse_word(reader, field->name, value, field->words);
	*(int *)target = index;
	return RECLOSER_OK;
}

recloser_status field_flag(const struct reader *reader, const struct field *field, const struct node *value, void *target)
{
	static const char *const words[] = {"false", "true", NULL};
	const char *text = NULL;
	RC_TRY(text_value(reader, field->name, value, &text));
	int index = word_index(words, text);
	if (index < 0)
		return refuse_word(reader, field->name, value, words);
	*(bool *)target = index == 1;
	return RECLOSER_OK;
}

int whole_number(const char *text)
{
	size_t digits = strspn(text, "0123456789");
	if (!digits || digits > 9 || text[digits])
		return -1;
	int number = 0;
	for (; *text; text++)
		number = number * 10 + (*text - '0');
	return number;
}

recloser_status field_number(const struct reader *reader, const struct field *field, const struct node *value, void *target)
{
	const char *text = NULL;
	RC_TRY(text_value(reader, field->name, value, &text));
	int number = whole_number(text);
	if (number < 1)
		return fault_at(reader, value->mark, "spec.number", "\"%s\" must be a whole number from 1, not \"%s\"", field->name,
						text);
	*(int *)target = number;
	return RECLOSER_OK;
}
