/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static void release(void *value)
{
	json_decref(value);
}

json_t *json_on(struct arena *arena, json_t *value)
{
	if (!value)
		arena_out_of_memory(arena);
	arena_defer(arena, release, value);
	return value;
}

json_t *json_new_object(struct arena *arena)
{
	return json_on(arena, json_object());
}

json_t *json_new_array(struct arena *arena)
{
	return json_on(arena, json_array());
}

static void put_new(struct arena *arena, json_t *object, const char *name, json_t *value)
{
	if (!value || json_object_set_new(object, name, value) != 0)
		arena_out_of_memory(arena);
}

void json_put(struct arena *arena, json_t *object, const char *name, json_t *value)
{
	put_new(arena, object, name, json_incref(value));
}

/* Texts of ours are UTF-8 by then; bytes that are not (a file name) are shown with replacement marks, never lost as null. */
static json_t *text_value(const char *text)
{
	if (!text)
		return json_null();
	json_t *value = json_string(text);
	if (value)
		return value;
	char *copy = strdup(text);
	if (!copy)
		return NULL;
	for (size_t at; (at = text_utf8_fault(copy, strlen(copy))) != SIZE_MAX;)
		copy[at] = '?';
	value = json_string(copy);
	free(copy);
	return value;
}

void json_put_text(struct arena *arena, json_t *object, const char *name, const char *text)
{
	put_new(arena, object, name, text_value(text));
}

void json_put_int(struct arena *arena, json_t *object, const char *name, int64_t number)
{
	put_new(arena, object, name, json_integer(number));
}

void json_put_real(struct arena *arena, json_t *object, const char *name, double number)
{
	json_t *value = json_real(number); /* NULL for NaN and infinity, which JSON has not */
	put_new(arena, object, name, value ? value : json_null());
}

void json_put_bool(struct arena *arena, json_t *object, const char *name, bool value)
{
	put_new(arena, object, name, json_boolean(value));
}

void json_add(struct arena *arena, json_t *array, json_t *value)
{
	if (json_array_append(array, value) != 0)
		arena_out_of_memory(arena);
}

void json_add_text(struct arena *arena, json_t *array, const char *text)
{
	json_t *value = text_value(text);
	if (!value || json_array_append_new(array, value) != 0)
		arena_out_of_memory(arena);
}

const char *json_get_text(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

int64_t json_get_int(const json_t *object, const char *name, int64_t otherwise)
{
	const json_t *value = json_object_get(object, name);
	return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

bool json_get_bool(const json_t *object, const char *name, bool otherwise)
{
	const json_t *value = json_object_get(object, name);
	return json_is_boolean(value) ? json_is_true(value) : otherwise;
}

static const char *dump(struct arena *arena, const json_t *value, size_t flags, const char *after)
{
	char *text = json_dumps(value, flags | JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
	if (!text)
		arena_out_of_memory(arena);
	arena_defer(arena, free, text);
	return *after ? arena_printf(arena, "%s%s", text, after) : text;
}

const char *json_text(struct arena *arena, const json_t *value)
{
	return dump(arena, value, JSON_INDENT(2), "\n");
}

const char *json_compact(struct arena *arena, const json_t *value)
{
	return dump(arena, value, JSON_COMPACT, "");
}

recloser_status json_parse(struct arena *arena, const char *bytes, size_t count, const char *path, json_t **out,
                           recloser_error *error)
{
	json_error_t problem;
	json_t *value = json_loadb(bytes, count, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &problem);
	if (!value) {
		if (json_error_code(&problem) == json_error_out_of_memory)
			arena_out_of_memory(arena);
		error_set(error, RECLOSER_IO, "json.malformed", "%s is not valid JSON: %s", path, problem.text);
		return error_where(error, "%s, line %d, column %d", path, problem.line, problem.column);
	}
	*out = json_on(arena, value);
	return RECLOSER_OK;
}
