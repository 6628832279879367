/* SPDX-License-Identifier: Apache-2.0
 * Making a content pass for one schema, calling it, and reading what it gave back. */
#include "engine/content.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/digest.h"
#include "engine/content_pass.h"

/* ---- the plan ---- */

static void sort_hashed(struct content_plan *plan, const struct content_schema *schema)
{
	for (size_t i = 0; i < schema->count; i++) {
		if (!schema->columns[i].in_fingerprint)
			continue;
		size_t to = plan->hashed_count++;
		for (; to > 0 && strcmp(schema->columns[i].name, schema->columns[plan->hashed[to - 1]].name) < 0; to--)
			plan->hashed[to] = plan->hashed[to - 1];
		plan->hashed[to] = i;
	}
}

/* One line a column, in the order of the row bytes: name, tab, class. */
static const char *schema_text(struct arena *arena, const struct content_plan *plan, const struct content_schema *schema)
{
	struct text text = text_on(arena);
	for (size_t k = 0; k < plan->hashed_count; k++) {
		size_t column = plan->hashed[k];
		const char *class = content_type_class(arena, &plan->types[column]);
		if (schema->columns[column].is_geometry)
			class = arena_printf(arena, "geometry(%s)", schema->crs_id ? schema->crs_id : "");
		text_addf(&text, "%s%s\t%s", k ? "\n" : "", schema->columns[column].name, class);
	}
	return text.at ? text.at : "";
}

/* A geometry type's name may hold a reference system that the engine prints but does not read, and its cells are bytes. */
static bool is_geometry_type(const char *type)
{
	return text_starts(type, "GEOMETRY");
}

static recloser_status read_types(struct engine *engine, struct arena *arena, const struct content_schema *schema,
								  struct content_plan *plan, duckdb_logical_type **types, recloser_error *error)
{
	struct text select = text_on(arena);
	for (size_t i = 0; i < schema->count; i++)
		text_addf(&select, "%sCAST(NULL AS %s)", i ? ", " : "SELECT ",
				  is_geometry_type(schema->columns[i].type) ? "BLOB" : schema->columns[i].type);
	const char **names;
	size_t count;
	RC_TRY(logical_types(engine, arena, "look at the types of the content", schema->count ? select.at : "SELECT 1", types,
						 &names, &count, error));
	for (size_t i = 0; i < schema->count; i++) {
		const char *refused = content_type_read(&plan->types[plan->column_count++], (*types)[i]);
		if (refused) {
			error_set(error, RECLOSER_USAGE, "engine.type", "the column \"%s\" is %s, which is not stored",
					  schema->columns[i].name, refused);
			return error_hint(
				error, "give the column another type in the spec: text, integer, double, decimal(p,s), date, timestamp");
		}
		plan->nodes[i] = plan->node_count;
		plan->node_count += content_type_nodes(&plan->types[i]);
		if (schema->columns[i].is_key)
			plan->key = (ptrdiff_t)i;
		if (schema->columns[i].is_geometry)
			plan->geometry = (ptrdiff_t)i;
	}
	return RECLOSER_OK;
}

/* What a name is registered as. */
enum form { FORM_PASS, FORM_ROW, FORM_SUM };

static bool add_row(struct engine *engine, const char *name, const struct content_schema *schema, duckdb_logical_type *types,
					struct content_plan *plan)
{
	duckdb_scalar_function function = duckdb_create_scalar_function();
	duckdb_logical_type digest = duckdb_create_logical_type(DUCKDB_TYPE_UHUGEINT),
						any = duckdb_create_logical_type(DUCKDB_TYPE_ANY);
	duckdb_scalar_function_set_name(function, name);
	for (size_t i = 0; i < schema->count; i++)
		duckdb_scalar_function_add_parameter(function, is_geometry_type(schema->columns[i].type) ? any : types[i]);
	duckdb_scalar_function_set_return_type(function, digest);
	content_row_function(function);
	duckdb_scalar_function_set_extra_info(function, plan, content_plan_free);
	duckdb_state state = duckdb_register_scalar_function(engine->connection, function);
	duckdb_destroy_scalar_function(&function);
	duckdb_destroy_logical_type(&digest);
	duckdb_destroy_logical_type(&any);
	return state == DuckDBSuccess;
}

static void add_parameters(duckdb_aggregate_function function, const struct content_schema *schema, duckdb_logical_type *types,
						   const struct content_plan *plan)
{
	duckdb_logical_type any = duckdb_create_logical_type(DUCKDB_TYPE_ANY),
						digest = duckdb_create_logical_type(DUCKDB_TYPE_UHUGEINT);
	if (plan->digested)
		duckdb_aggregate_function_add_parameter(function, digest);
	for (size_t i = 0; i < schema->count; i++)
		if (!plan->digested || schema->columns[i].is_geometry)
			duckdb_aggregate_function_add_parameter(function, is_geometry_type(schema->columns[i].type) ? any : types[i]);
	duckdb_destroy_logical_type(&any);
	duckdb_destroy_logical_type(&digest);
}

static bool add_aggregate(struct engine *engine, const char *name, const struct content_schema *schema,
						  duckdb_logical_type *types, struct content_plan *plan)
{
	duckdb_aggregate_function function = duckdb_create_aggregate_function();
	duckdb_logical_type text = duckdb_create_logical_type(DUCKDB_TYPE_VARCHAR);
	duckdb_aggregate_function_set_name(function, name);
	add_parameters(function, schema, types, plan);
	duckdb_aggregate_function_set_return_type(function, text);
	content_pass_functions(function);
	duckdb_aggregate_function_set_extra_info(function, plan, content_plan_free);
	duckdb_state state = duckdb_register_aggregate_function(engine->connection, function);
	duckdb_destroy_aggregate_function(&function);
	duckdb_destroy_logical_type(&text);
	return state == DuckDBSuccess;
}

static recloser_status add_function(struct engine *engine, const char *name, enum form form,
									const struct content_schema *schema, duckdb_logical_type *types,
									struct content_plan *plan, recloser_error *error)
{
	plan->digested = form == FORM_SUM;
	bool added = form == FORM_ROW ? add_row(engine, name, schema, types, plan)
								  : add_aggregate(engine, name, schema, types, plan);
	if (!added)
		return error_set(error, RECLOSER_IO, "engine.content", "could not add the content pass %s to the engine", name);
	return RECLOSER_OK;
}

/* Everything that makes two passes the same. */
static const char *signature(struct arena *arena, const struct content_schema *schema)
{
	struct text text = text_on(arena);
	for (size_t i = 0; i < schema->count; i++) {
		const struct content_column *column = &schema->columns[i];
		text_addf(&text, "%s\t%s\t%d%d%d\n", column->name, column->type, column->in_fingerprint, column->is_key,
				  column->is_geometry);
	}
	text_add(&text, schema->crs_id ? schema->crs_id : "");
	return text.at;
}

/* Is the name taken already? By the same schema: `*known` and nothing to do. By another one: an error. */
static recloser_status look_up(struct engine_shared *shared, const char *name, const char *schema, bool *known,
							   recloser_error *error)
{
	bool other = false;
	pthread_mutex_lock(&shared->lock);
	for (struct content_name *at = shared->content_names; at && !*known && !other; at = at->next) {
		bool same_name = strcmp(at->name, name) == 0;
		*known = same_name && strcmp(at->schema, schema) == 0;
		other = same_name && !*known;
	}
	pthread_mutex_unlock(&shared->lock);
	return other ? error_set(error, RECLOSER_IO, "engine.content", "the content pass %s is taken by another schema", name)
				 : RECLOSER_OK;
}

static recloser_status remember(struct engine_shared *shared, const char *name, const char *schema, recloser_error *error)
{
	struct content_name *entry = calloc(1, sizeof *entry);
	if (entry) {
		entry->name = strdup(name);
		entry->schema = strdup(schema);
	}
	if (!entry || !entry->name || !entry->schema) {
		if (entry) {
			free(entry->name);
			free(entry->schema);
		}
		free(entry);
		return error_set(error, RECLOSER_IO, "memory", "out of memory");
	}
	pthread_mutex_lock(&shared->lock);
	entry->next = shared->content_names;
	shared->content_names = entry;
	pthread_mutex_unlock(&shared->lock);
	return RECLOSER_OK;
}

/* The plan while it is ours: until the engine has the function. */
static void free_held(void *pointer)
{
	struct content_plan **held = pointer;
	if (*held)
		content_plan_free(*held);
}

static recloser_status register_plan(struct engine *engine, struct arena *scratch, const char *name, enum form form,
									 const struct content_schema *schema, recloser_error *error)
{
	struct content_plan **held = arena_alloc(scratch, sizeof(struct content_plan *));
	arena_defer(scratch, free_held, held);
	struct content_plan *plan = *held = content_plan_new(schema->count, engine->shared->digests);
	duckdb_logical_type *types;
	if (!plan)
		arena_out_of_memory(scratch);
	RC_TRY(read_types(engine, scratch, schema, plan, &types, error));
	sort_hashed(plan, schema);
	plan->schema_text = strdup(schema_text(scratch, plan, schema));
	if (!plan->schema_text)
		arena_out_of_memory(scratch);
	*held = NULL;
	return add_function(engine, name, form, schema, types, plan, error);
}

static void done_adding(void *pointer)
{
	struct engine_shared *shared = pointer;
	pthread_mutex_unlock(&shared->adding);
}

/* Workers over several connections come with the same schema at once: the second one must find what the first has added. */
static recloser_status register_as(struct engine *engine, struct arena *arena, const char *name, enum form form,
								   const struct content_schema *schema, recloser_error *error)
{
	struct arena *scratch = arena_new(arena);
	pthread_mutex_lock(&engine->shared->adding);
	arena_defer(scratch, done_adding, engine->shared); /* also when memory runs out below */
	const char *text = signature(scratch, schema);
	bool known = false;
	recloser_status status = look_up(engine->shared, name, text, &known, error);
	if (status == RECLOSER_OK && !known) {
		status = register_plan(engine, scratch, name, form, schema, error);
		if (status == RECLOSER_OK)
			status = remember(engine->shared, name, text, error);
	}
	arena_free(scratch);
	return status;
}

recloser_status content_register(struct engine *engine, struct arena *arena, const char *name,
								 const struct content_schema *schema, recloser_error *error)
{
	return register_as(engine, arena, name, FORM_PASS, schema, error);
}

recloser_status content_register_row(struct engine *engine, struct arena *arena, const char *name,
									 const struct content_schema *schema, recloser_error *error)
{
	return register_as(engine, arena, name, FORM_ROW, schema, error);
}

recloser_status content_register_sum(struct engine *engine, struct arena *arena, const char *name,
									 const struct content_schema *schema, recloser_error *error)
{
	return register_as(engine, arena, name, FORM_SUM, schema, error);
}

const char *content_call(struct arena *arena, const char *name, const struct content_schema *schema)
{
	struct text text = text_on(arena);
	text_addf(&text, "%s(", name);
	for (size_t i = 0; i < schema->count; i++)
		text_addf(&text, "%s%s", i ? ", " : "", sql_name(arena, schema->columns[i].name));
	text_add(&text, ")");
	return text.at;
}

recloser_status content_read(struct arena *arena, const struct content_schema *schema, const char *returned,
							 struct content *out, recloser_error *error)
{
	(void)arena;
	(void)schema;
	*out = (struct content){0};
	if (!returned)
		return RECLOSER_OK;
	uint64_t values[RETURNED_COUNT];
	const char *at = strchr(returned, ' ');
	size_t digits = at ? (size_t)(at - returned) : 0;
	for (size_t i = 0; i < RETURNED_COUNT; i++) {
		if (digits != SHA256_HEX - 1 || *at != ' ')
			return error_set(error, RECLOSER_IO, "engine.content",
							 "the content pass gave back something else than it should");
		char *end;
		values[i] = strtoull(at + 1, &end, 16);
		at = end;
	}
	snprintf(out->fingerprint, sizeof out->fingerprint, "c1:%.64s", returned);
	out->rows = values[RETURNED_ROWS];
	out->sum[0] = values[RETURNED_LOW];
	out->sum[1] = values[RETURNED_HIGH];
	out->key_null = values[RETURNED_KEY_NULL];
	out->geometry_null = values[RETURNED_GEOMETRY_NULL];
	out->geometry_faults = values[RETURNED_GEOMETRY_FAULTS];
	out->first_fault = (enum wkb_fault)values[RETURNED_FIRST_FAULT];
	out->duplicate_keys = values[RETURNED_DUPLICATE_KEYS];
	struct wkb_facts *facts = &out->geometry;
	facts->any = values[RETURNED_ANY] != 0;
	facts->any_z = values[RETURNED_ANY_Z] != 0;
	facts->any_m = values[RETURNED_ANY_M] != 0;
	facts->types = (uint32_t)values[RETURNED_TYPES];
	facts->srid = (int32_t)(uint32_t)values[RETURNED_SRID];
	facts->standard = values[RETURNED_STANDARD] != 0;
	memcpy(facts->minimum, &values[RETURNED_MINIMUM], sizeof facts->minimum);
	memcpy(facts->maximum, &values[RETURNED_MAXIMUM], sizeof facts->maximum);
	return RECLOSER_OK;
}
