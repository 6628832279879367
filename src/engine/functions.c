/* SPDX-License-Identifier: Apache-2.0
 * Registering the functions. They are few words each, so that a statement reads like its intent. */
#include "engine/functions.h"

#include "engine/functions_parts.h"

static duckdb_logical_type box_type(void)
{
	const char *names[] = {"xmin", "ymin", "xmax", "ymax"};
	duckdb_logical_type number = duckdb_create_logical_type(DUCKDB_TYPE_FLOAT);
	duckdb_logical_type members[] = {number, number, number, number};
	duckdb_logical_type box = duckdb_create_struct_type(members, names, 4);
	duckdb_destroy_logical_type(&number);
	return box;
}

static void add_parameters(duckdb_scalar_function handle, const duckdb_type *parameters)
{
	for (; *parameters != DUCKDB_TYPE_INVALID; parameters++) {
		duckdb_logical_type type = duckdb_create_logical_type(*parameters);
		if (*parameters == DUCKDB_TYPE_ANY)
			duckdb_scalar_function_set_varargs(handle, type);
		else
			duckdb_scalar_function_add_parameter(handle, type);
		duckdb_destroy_logical_type(&type);
	}
}

static recloser_status add(struct engine *engine, const struct function *function, recloser_error *error)
{
	duckdb_scalar_function handle = duckdb_create_scalar_function();
	duckdb_logical_type result =
		function->result == DUCKDB_TYPE_STRUCT ? box_type() : duckdb_create_logical_type(function->result);
	duckdb_scalar_function_set_name(handle, function->name);
	add_parameters(handle, function->parameters);
	duckdb_scalar_function_set_return_type(handle, result);
	duckdb_scalar_function_set_special_handling(handle); /* each looks at nulls by itself */
	duckdb_scalar_function_set_function(handle, function->call);
	if (function->extra)
		duckdb_scalar_function_set_extra_info(handle, (void *)function->extra, NULL);
	if (function->bind)
		duckdb_scalar_function_set_bind(handle, function->bind);
	if (function->init)
		duckdb_scalar_function_set_init(handle, function->init);
	duckdb_state state = duckdb_register_scalar_function(engine->connection, handle);
	duckdb_destroy_logical_type(&result);
	duckdb_destroy_scalar_function(&handle);
	if (state == DuckDBError)
		return error_set(error, RECLOSER_IO, "engine.open", "could not add %s to the engine", function->name);
	return RECLOSER_OK;
}

recloser_status functions_register(struct engine *engine, recloser_error *error)
{
	const struct function *const tables[] = {functions_key, functions_wkb, functions_convert, functions_arrow};
	for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
		for (const struct function *function = tables[t]; function->name; function++)
			RC_TRY(add(engine, function, error));
	RC_TRY(twice_register(engine, error));
	return aside_register(engine, error);
}
