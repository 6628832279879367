/* SPDX-License-Identifier: Apache-2.0
 * What the files of scalar functions share: the table entry, and reading arguments and writing results row by row. */
#ifndef RECLOSER_ENGINE_FUNCTIONS_PARTS_H
#define RECLOSER_ENGINE_FUNCTIONS_PARTS_H

#include "engine/cell.h"

enum { FUNCTION_PARAMETERS = 6 };

struct function {
	const char *name;
	duckdb_scalar_function_t call;
	duckdb_type result;                          /* DUCKDB_TYPE_STRUCT: the box of rc_bbox */
	duckdb_type parameters[FUNCTION_PARAMETERS]; /* ended by DUCKDB_TYPE_INVALID; ANY alone means any number of anything */
	duckdb_scalar_function_bind_t bind;          /* these two may be NULL */
	duckdb_scalar_function_init_t init;
	const void *extra; /* static data for the callbacks */
};

/* Each ends with an entry without a name. */
extern const struct function functions_key[], functions_wkb[], functions_convert[], functions_arrow[];

/* functions_twice.c, functions_aside.c */
recloser_status twice_register(struct engine *engine, recloser_error *error) RC_CHECKED;
recloser_status aside_register(struct engine *engine, recloser_error *error) RC_CHECKED;

struct argument {
	void *data;
	uint64_t *validity;
};

static inline struct argument argument_at(duckdb_data_chunk input, idx_t column)
{
	duckdb_vector vector = duckdb_data_chunk_get_vector(input, column);
	return (struct argument){duckdb_vector_get_data(vector), duckdb_vector_get_validity(vector)};
}

/* The bytes of a VARCHAR or BLOB cell; NULL when it is null. */
static inline const char *argument_bytes(const struct argument *argument, idx_t row, size_t *count)
{
	*count = 0;
	if (!valid_at(argument->validity, row))
		return NULL;
	duckdb_string_t *string = (duckdb_string_t *)argument->data + row;
	*count = duckdb_string_t_length(*string);
	return duckdb_string_t_data(string);
}

static inline void result_null(duckdb_vector output, idx_t row)
{
	duckdb_vector_ensure_validity_writable(output);
	duckdb_validity_set_row_invalid(duckdb_vector_get_validity(output), row);
}

/* The same for functions that give a null in nearly every row: the bits are asked for once a chunk. */
static inline uint64_t *result_validity(duckdb_vector output)
{
	duckdb_vector_ensure_validity_writable(output);
	return duckdb_vector_get_validity(output);
}

static inline void set_null(uint64_t *validity, idx_t row)
{
	validity[row >> 6] &= ~(UINT64_C(1) << (row & 63));
}

static inline void result_bytes(duckdb_vector output, idx_t row, const void *bytes, size_t count)
{
	duckdb_unsafe_vector_assign_string_element_len(output, row, bytes, count);
}

static inline void result_text(duckdb_vector output, idx_t row, const char *text)
{
	result_bytes(output, row, text, strlen(text));
}

static inline void result_text_or_null(duckdb_vector output, idx_t row, const char *text)
{
	if (text)
		result_text(output, row, text);
	else
		result_null(output, row);
}

#endif
