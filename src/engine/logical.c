/* SPDX-License-Identifier: Apache-2.0
 * Types of the engine: their names, and those of a query's columns. */
#include "engine/duck.h"

static const struct {
	duckdb_type id;
	const char *name;
} plain_types[] = {
	{DUCKDB_TYPE_BOOLEAN, "BOOLEAN"},
	{DUCKDB_TYPE_TINYINT, "TINYINT"},
	{DUCKDB_TYPE_SMALLINT, "SMALLINT"},
	{DUCKDB_TYPE_INTEGER, "INTEGER"},
	{DUCKDB_TYPE_BIGINT, "BIGINT"},
	{DUCKDB_TYPE_UTINYINT, "UTINYINT"},
	{DUCKDB_TYPE_USMALLINT, "USMALLINT"},
	{DUCKDB_TYPE_UINTEGER, "UINTEGER"},
	{DUCKDB_TYPE_UBIGINT, "UBIGINT"},
	{DUCKDB_TYPE_FLOAT, "FLOAT"},
	{DUCKDB_TYPE_DOUBLE, "DOUBLE"},
	{DUCKDB_TYPE_TIMESTAMP, "TIMESTAMP"},
	{DUCKDB_TYPE_TIMESTAMP_S, "TIMESTAMP_S"},
	{DUCKDB_TYPE_TIMESTAMP_MS, "TIMESTAMP_MS"},
	{DUCKDB_TYPE_TIMESTAMP_NS, "TIMESTAMP_NS"},
	{DUCKDB_TYPE_TIMESTAMP_TZ, "TIMESTAMP WITH TIME ZONE"},
	{DUCKDB_TYPE_DATE, "DATE"},
	{DUCKDB_TYPE_TIME, "TIME"},
	{DUCKDB_TYPE_TIME_NS, "TIME_NS"},
	{DUCKDB_TYPE_TIME_TZ, "TIME WITH TIME ZONE"},
	{DUCKDB_TYPE_INTERVAL, "INTERVAL"},
	{DUCKDB_TYPE_HUGEINT, "HUGEINT"},
	{DUCKDB_TYPE_UHUGEINT, "UHUGEINT"},
	{DUCKDB_TYPE_VARCHAR, "VARCHAR"},
	{DUCKDB_TYPE_BLOB, "BLOB"},
	{DUCKDB_TYPE_GEOMETRY, "GEOMETRY"},
	{DUCKDB_TYPE_UUID, "UUID"},
	{DUCKDB_TYPE_BIT, "BIT"},
	{DUCKDB_TYPE_BIGNUM, "BIGNUM"},
	{DUCKDB_TYPE_ENUM, "ENUM"},
	{DUCKDB_TYPE_UNION, "UNION"},
	{DUCKDB_TYPE_VARIANT, "VARIANT"},
	{DUCKDB_TYPE_SQLNULL, "NULL"},
};

static const char *plain_name(duckdb_type id)
{
	for (size_t i = 0; i < sizeof plain_types / sizeof *plain_types; i++)
		if (plain_types[i].id == id)
			return plain_types[i].name;
	return "UNKNOWN";
}

static const char *name_and_free(struct arena *arena, duckdb_logical_type type)
{
	const char *name = logical_name(arena, type);
	duckdb_destroy_logical_type(&type);
	return name;
}

static const char *struct_name(struct arena *arena, duckdb_logical_type type)
{
	struct text text = text_on(arena);
	text_add(&text, "STRUCT(");
	for (idx_t i = 0; i < duckdb_struct_type_child_count(type); i++) {
		char *field = duckdb_struct_type_child_name(type, i);
		text_addf(&text, "%s%s ", i ? ", " : "", sql_name(arena, field));
		duckdb_free(field);
		text_add(&text, name_and_free(arena, duckdb_struct_type_child_type(type, i)));
	}
	text_add(&text, ")");
	return text.at;
}

const char *logical_name(struct arena *arena, duckdb_logical_type type)
{
	duckdb_type id = duckdb_get_type_id(type);
	switch (id) {
	case DUCKDB_TYPE_DECIMAL:
		return arena_printf(arena, "DECIMAL(%d,%d)", duckdb_decimal_width(type), duckdb_decimal_scale(type));
	case DUCKDB_TYPE_LIST:
		return arena_printf(arena, "%s[]", name_and_free(arena, duckdb_list_type_child_type(type)));
	case DUCKDB_TYPE_ARRAY:
		return arena_printf(arena, "%s[%llu]", name_and_free(arena, duckdb_array_type_child_type(type)),
							(unsigned long long)duckdb_array_type_array_size(type));
	case DUCKDB_TYPE_MAP:
		return arena_printf(arena, "MAP(%s, %s)", name_and_free(arena, duckdb_map_type_key_type(type)),
							name_and_free(arena, duckdb_map_type_value_type(type)));
	case DUCKDB_TYPE_STRUCT:
		return struct_name(arena, type);
	default:
		return plain_name(id);
	}
}

static void free_prepared(void *pointer)
{
	duckdb_destroy_prepare(pointer);
}

static void free_type(void *pointer)
{
	duckdb_destroy_logical_type(pointer);
}

recloser_status logical_types(struct engine *engine, struct arena *arena, const char *doing, const char *select,
							  duckdb_logical_type **types, const char ***names, size_t *count, recloser_error *error)
{
	duckdb_prepared_statement *prepared = arena_alloc(arena, sizeof *prepared);
	arena_defer(arena, free_prepared, prepared);
	if (duckdb_prepare(engine->connection, select, prepared) == DuckDBError)
		return engine_failed(engine, doing, duckdb_prepare_error(*prepared), error);
	*count = duckdb_prepared_statement_column_count(*prepared);
	*types = arena_array(arena, *count, sizeof **types);
	*names = arena_array(arena, *count, sizeof **names);
	for (size_t i = 0; i < *count; i++) {
		(*types)[i] = duckdb_prepared_statement_column_logical_type(*prepared, i);
		arena_defer(arena, free_type, &(*types)[i]);
		char *name = (char *)duckdb_prepared_statement_column_name(*prepared, i);
		(*names)[i] = arena_strdup(arena, name ? name : "");
		duckdb_free(name);
	}
	return RECLOSER_OK;
}
