/* SPDX-License-Identifier: Apache-2.0
 * rc_key, rc_key_escaped and rc_text. The types are looked at once, when the statement is bound; each engine thread has one
 * digest for all its rows. */
#include <stdlib.h>

#include "batch/key.h"
#include "engine/functions_parts.h"
#include "engine/identity.h"

/* ---- bind: the types of the arguments ---- */

struct arguments {
	size_t count;
	struct identity_type types[];
};

static void free_arguments(void *pointer)
{
	struct arguments *arguments = pointer;
	for (size_t i = 0; i < arguments->count; i++)
		identity_type_free(&arguments->types[i]);
	free(arguments);
}

static void *copy_arguments(void *pointer)
{
	const struct arguments *from = pointer;
	struct arguments *to = calloc(1, sizeof *to + from->count * sizeof *to->types);
	if (!to)
		return NULL;
	for (; to->count < from->count; to->count++) {
		if (!identity_type_copy(&to->types[to->count], &from->types[to->count])) {
			identity_type_free(&to->types[to->count]);
			free_arguments(to);
			return NULL;
		}
	}
	return to;
}

static const char *read_argument(duckdb_bind_info info, idx_t index, struct identity_type *out)
{
	duckdb_expression expression = duckdb_scalar_function_bind_get_argument(info, index);
	duckdb_logical_type type = duckdb_expression_return_type(expression);
	const char *refused = identity_type_read(out, type);
	duckdb_destroy_logical_type(&type);
	duckdb_destroy_expression(&expression);
	return refused;
}

static void bind_arguments(duckdb_bind_info info)
{
	size_t count = duckdb_scalar_function_bind_get_argument_count(info);
	struct arguments *arguments = calloc(1, sizeof *arguments + count * sizeof *arguments->types);
	const char *refused = arguments ? NULL : "out of memory";
	for (size_t i = 0; !refused && i < count; i++, arguments->count++)
		refused = read_argument(info, i, &arguments->types[i]);
	if (!refused && count == 0)
		refused = "it needs a value";
	if (refused) {
		duckdb_scalar_function_bind_set_error(info, refused);
		if (arguments)
			free_arguments(arguments);
		return;
	}
	duckdb_scalar_function_set_bind_data(info, arguments, free_arguments);
	duckdb_scalar_function_set_bind_data_copy(info, copy_arguments);
}

/* ---- one digest a thread ---- */

struct maker {
	struct key *key;
	struct identity_buffer buffer;
	size_t capacity;
	struct argument *columns;
};

static void free_maker(void *pointer)
{
	struct maker *maker = pointer;
	key_free(maker->key);
	free(maker->buffer.hex);
	free(maker->columns);
	free(maker);
}

static void make_maker(duckdb_init_info info)
{
	const bool *escape = duckdb_scalar_function_init_get_extra_info(info);
	const struct arguments *arguments = duckdb_scalar_function_init_get_bind_data(info);
	struct maker *maker = calloc(1, sizeof *maker);
	if (maker) {
		maker->key = key_new(escape && *escape);
		maker->capacity = arguments ? arguments->count : 0;
		maker->columns = calloc(maker->capacity ? maker->capacity : 1, sizeof *maker->columns);
	}
	if (!maker || !maker->key || !maker->columns) {
		if (maker)
			free_maker(maker);
		duckdb_scalar_function_init_set_error(info, "out of memory");
		return;
	}
	duckdb_scalar_function_init_set_state(info, maker, free_maker);
}

/* ---- the rows ---- */

static enum identity_form add_fields(struct maker *maker, const struct arguments *arguments, idx_t row)
{
	for (size_t c = 0; c < arguments->count; c++) {
		const struct argument *column = &maker->columns[c];
		const char *text = "None";
		size_t length = 4;
		if (arguments->types[c].id != DUCKDB_TYPE_SQLNULL && valid_at(column->validity, row)) {
			enum identity_form form = identity_text(&arguments->types[c], column->data, row, &maker->buffer, &text, &length);
			if (form != IDENTITY_TEXT)
				return form;
		}
		key_add(maker->key, text, length);
	}
	return IDENTITY_TEXT;
}

static void make_keys(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
	struct maker *maker = duckdb_scalar_function_get_state(info);
	const struct arguments *arguments = duckdb_scalar_function_get_bind_data(info);
	idx_t rows = duckdb_data_chunk_get_size(input);
	for (size_t c = 0; c < arguments->count; c++)
		maker->columns[c] = argument_at(input, c);
	for (idx_t row = 0; row < rows; row++) {
		char key[KEY_DIGITS + 1];
		key_start(maker->key);
		switch (add_fields(maker, arguments, row)) {
		case IDENTITY_TEXT:
			key_end(maker->key, key);
			result_bytes(output, row, key, KEY_DIGITS);
			break;
		case IDENTITY_NO_FORM:
			result_null(output, row);
			break;
		case IDENTITY_NO_MEMORY:
			duckdb_scalar_function_set_error(info, "out of memory");
			return;
		}
	}
}

static void make_texts(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
	struct maker *maker = duckdb_scalar_function_get_state(info);
	const struct arguments *arguments = duckdb_scalar_function_get_bind_data(info);
	struct argument column = argument_at(input, 0);
	idx_t rows = duckdb_data_chunk_get_size(input);
	for (idx_t row = 0; row < rows; row++) {
		const char *text;
		size_t length;
		if (arguments->types[0].id == DUCKDB_TYPE_SQLNULL || !valid_at(column.validity, row)) {
			result_null(output, row);
			continue;
		}
		switch (identity_text(&arguments->types[0], column.data, row, &maker->buffer, &text, &length)) {
		case IDENTITY_TEXT:
			result_bytes(output, row, text, length);
			break;
		case IDENTITY_NO_FORM:
			result_null(output, row);
			break;
		case IDENTITY_NO_MEMORY:
			duckdb_scalar_function_set_error(info, "out of memory");
			return;
		}
	}
}

static void bind_text(duckdb_bind_info info)
{
	if (duckdb_scalar_function_bind_get_argument_count(info) == 1)
		bind_arguments(info);
	else
		duckdb_scalar_function_bind_set_error(info, "rc_text takes one value");
}

static const bool with_escape = true;

const struct function functions_key[] = {
	{"rc_key", make_keys, DUCKDB_TYPE_VARCHAR, {DUCKDB_TYPE_ANY}, bind_arguments, make_maker, NULL},
	{"rc_key_escaped", make_keys, DUCKDB_TYPE_VARCHAR, {DUCKDB_TYPE_ANY}, bind_arguments, make_maker, &with_escape},
	{"rc_text", make_texts, DUCKDB_TYPE_VARCHAR, {DUCKDB_TYPE_ANY}, bind_text, make_maker, NULL},
	{0},
};
