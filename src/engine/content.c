/* SPDX-License-Identifier: Apache-2.0
 * The content pass as an aggregate function: the engine spreads it over row groups and threads, and nothing is materialised.
 *
 * A state is one pointer to what was found so far, made with the first row of its group, so that ten thousand groups cost
 * what they hold. Buffers belong to a call, not to a state. Rows are put down a few hundred at a time: the buffer stays in
 * the processor's cache while the digest reads it. */
#include "engine/content.h"

#define XXH_INLINE_ALL
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

#include "base/digest.h"
#include "engine/content_type.h"
#include "engine/digests.h"

enum { BATCH = 256, RETURNED = 1024 };

/* ---- what is known of the schema; belongs to the engine once the function is registered ---- */

struct content_plan {
	size_t column_count, node_count, hashed_count;
	struct content_type *types;
	size_t *nodes;           /* where each column's vectors begin */
	size_t *hashed;          /* the fingerprint's columns in byte order of their names */
	ptrdiff_t key, geometry; /* -1: none */
	char *schema_text;
	pthread_mutex_t lock; /* over the list */
	struct found *all;    /* every state that is not given back yet */
};

/* What was found in one group by one thread. */
struct found {
	struct content_plan *plan;
	struct found *previous, *next; /* in the plan's list */
	uint64_t rows, key_null, geometry_null, geometry_faults;
	uint64_t low, high;
	enum wkb_fault first_fault;
	struct wkb_facts geometry;
	struct digests keys;
};

static struct found *new_found(struct content_plan *plan)
{
	struct found *found = calloc(1, sizeof *found);
	if (!found)
		return NULL;
	found->plan = plan;
	pthread_mutex_lock(&plan->lock);
	found->next = plan->all;
	if (plan->all)
		plan->all->previous = found;
	plan->all = found;
	pthread_mutex_unlock(&plan->lock);
	return found;
}

static void free_found(struct found *found)
{
	struct content_plan *plan = found->plan;
	pthread_mutex_lock(&plan->lock);
	if (found->previous)
		found->previous->next = found->next;
	else
		plan->all = found->next;
	if (found->next)
		found->next->previous = found->previous;
	pthread_mutex_unlock(&plan->lock);
	digests_free(&found->keys);
	free(found);
}

/* The engine does not destroy all states of a grouping that failed half-way, so those that are left go with the plan, which
 * it does give back. */
static void free_plan(void *pointer)
{
	struct content_plan *plan = pointer;
	while (plan->all)
		free_found(plan->all);
	pthread_mutex_destroy(&plan->lock);
	for (size_t i = 0; i < plan->column_count; i++)
		content_type_free(&plan->types[i]);
	free(plan->types);
	free(plan->nodes);
	free(plan->hashed);
	free(plan->schema_text);
	free(plan);
}

static struct content_plan *new_plan(size_t columns)
{
	struct content_plan *plan = calloc(1, sizeof *plan);
	if (!plan)
		return NULL;
	pthread_mutex_init(&plan->lock, NULL);
	plan->types = calloc(columns + 1, sizeof *plan->types);
	plan->nodes = calloc(columns + 1, sizeof *plan->nodes);
	plan->hashed = calloc(columns + 1, sizeof *plan->hashed);
	plan->key = plan->geometry = -1;
	if (plan->types && plan->nodes && plan->hashed)
		return plan;
	free_plan(plan);
	return NULL;
}

/* ---- states ---- */

static struct found **found_of(duckdb_aggregate_state state)
{
	return (struct found **)state;
}

static idx_t state_size(duckdb_function_info info)
{
	(void)info;
	return sizeof(struct found *);
}

static void state_init(duckdb_function_info info, duckdb_aggregate_state state)
{
	(void)info;
	*found_of(state) = NULL;
}

static void state_destroy(duckdb_aggregate_state *states, idx_t count)
{
	for (idx_t i = 0; i < count; i++) {
		struct found *found = *found_of(states[i]);
		if (found)
			free_found(found);
		*found_of(states[i]) = NULL;
	}
}

static void out_of_memory(duckdb_function_info info)
{
	duckdb_aggregate_function_set_error(info, "Out of Memory Error: no memory for the content pass");
}

/* ---- rows ---- */

static void add_digest(struct found *found, XXH128_hash_t digest)
{
	found->low += digest.low64;
	found->high += digest.high64 + (found->low < digest.low64);
}

/* One pass over the vectors of a chunk. */
struct pass {
	const struct content_plan *plan;
	struct content_vector *vectors;
	uint8_t *buffer;
	size_t capacity;
};

static bool fixed_size(duckdb_type id)
{
	switch (id) {
	case DUCKDB_TYPE_VARCHAR:
	case DUCKDB_TYPE_BLOB:
	case DUCKDB_TYPE_GEOMETRY:
	case DUCKDB_TYPE_ENUM:
	case DUCKDB_TYPE_LIST:
	case DUCKDB_TYPE_ARRAY:
	case DUCKDB_TYPE_MAP:
	case DUCKDB_TYPE_STRUCT:
		return false;
	default:
		return true;
	}
}

static bool make_room(struct pass *pass, idx_t from, idx_t to)
{
	size_t need = 1;
	for (size_t k = 0; k < pass->plan->hashed_count; k++) {
		size_t column = pass->plan->hashed[k];
		const struct content_type *type = &pass->plan->types[column];
		const struct content_vector *vector = &pass->vectors[pass->plan->nodes[column]];
		if (fixed_size(type->id)) {
			need += CONTENT_FIXED * (to - from);
			continue;
		}
		for (idx_t row = from; row < to; row++)
			need += content_size(type, vector, row);
	}
	if (need <= pass->capacity)
		return true;
	free(pass->buffer);
	pass->capacity = need * 2;
	pass->buffer = malloc(pass->capacity);
	return pass->buffer != NULL;
}

static bool hash_rows(struct pass *pass, idx_t count, duckdb_aggregate_state *states)
{
	const struct content_plan *plan = pass->plan;
	for (idx_t from = 0; from < count; from += BATCH) {
		idx_t to = from + BATCH < count ? from + BATCH : count;
		size_t ends[BATCH];
		if (!make_room(pass, from, to))
			return false;
		uint8_t *at = pass->buffer;
		for (idx_t row = from; row < to; row++) {
			for (size_t k = 0; k < plan->hashed_count; k++)
				at = content_put(&plan->types[plan->hashed[k]], &pass->vectors[plan->nodes[plan->hashed[k]]], row, at);
			ends[row - from] = (size_t)(at - pass->buffer);
		}
		size_t begin = 0;
		for (idx_t row = from; row < to; row++) {
			size_t end = ends[row - from];
			add_digest(*found_of(states[row]), XXH3_128bits(pass->buffer + begin, end - begin));
			begin = end;
		}
	}
	return true;
}

/* The key is compared by a digest of its canonical bytes, of which text is the plain case. */
static bool collect_keys(struct pass *pass, idx_t count, duckdb_aggregate_state *states)
{
	const struct content_type *type = &pass->plan->types[pass->plan->key];
	const struct content_vector *vector = &pass->vectors[pass->plan->nodes[pass->plan->key]];
	for (idx_t row = 0; row < count; row++) {
		struct found *found = *found_of(states[row]);
		if (!valid_at(vector->validity, row)) {
			found->key_null++;
			continue;
		}
		size_t need = content_size(type, vector, row);
		if (need > pass->capacity) {
			free(pass->buffer);
			pass->capacity = need * 2;
			pass->buffer = malloc(pass->capacity);
			if (!pass->buffer)
				return false;
		}
		uint8_t *end = content_put(type, vector, row, pass->buffer);
		XXH128_hash_t digest = XXH3_128bits(pass->buffer, (size_t)(end - pass->buffer));
		if (!digests_add(&found->keys, (struct digest128){digest.high64, digest.low64}))
			return false;
	}
	return true;
}

static void look_at_geometry(struct pass *pass, idx_t count, duckdb_aggregate_state *states)
{
	const struct content_vector *vector = &pass->vectors[pass->plan->nodes[pass->plan->geometry]];
	for (idx_t row = 0; row < count; row++) {
		struct found *found = *found_of(states[row]);
		if (!valid_at(vector->validity, row)) {
			found->geometry_null++;
			continue;
		}
		duckdb_string_t *wkb = (duckdb_string_t *)vector->data + row;
		enum wkb_fault fault = wkb_walk(duckdb_string_t_data(wkb), duckdb_string_t_length(*wkb), &found->geometry);
		if (fault == WKB_SOUND || fault == WKB_EMPTY)
			continue;
		if (!found->geometry_faults++)
			found->first_fault = fault;
	}
}

static bool ready_states(struct content_plan *plan, idx_t count, duckdb_aggregate_state *states)
{
	for (idx_t row = 0; row < count; row++) {
		struct found **found = found_of(states[row]);
		if (!*found)
			*found = new_found(plan);
		if (!*found)
			return false;
		(*found)->rows++;
	}
	return true;
}

static void state_update(duckdb_function_info info, duckdb_data_chunk input, duckdb_aggregate_state *states)
{
	struct content_plan *plan = duckdb_aggregate_function_get_extra_info(info);
	idx_t count = duckdb_data_chunk_get_size(input);
	struct pass pass = {.plan = plan, .vectors = malloc((plan->node_count + 1) * sizeof *pass.vectors)};
	bool good = pass.vectors && ready_states(plan, count, states);
	if (good) {
		struct content_vector *next = pass.vectors;
		for (size_t c = 0; c < plan->column_count; c++)
			content_vectors(&plan->types[c], duckdb_data_chunk_get_vector(input, c), &next);
		good = hash_rows(&pass, count, states);
	}
	if (good && plan->key >= 0)
		good = collect_keys(&pass, count, states);
	if (good && plan->geometry >= 0)
		look_at_geometry(&pass, count, states);
	if (!good)
		out_of_memory(info);
	free(pass.vectors);
	free(pass.buffer);
}

static bool merge(struct found *to, struct found *from)
{
	to->rows += from->rows;
	to->key_null += from->key_null;
	to->geometry_null += from->geometry_null;
	if (!to->geometry_faults)
		to->first_fault = from->first_fault;
	to->geometry_faults += from->geometry_faults;
	add_digest(to, (XXH128_hash_t){.low64 = from->low, .high64 = from->high});
	wkb_facts_add(&to->geometry, &from->geometry);
	return digests_move(&to->keys, &from->keys);
}

static void state_combine(duckdb_function_info info, duckdb_aggregate_state *source, duckdb_aggregate_state *target,
						  idx_t count)
{
	for (idx_t i = 0; i < count; i++) {
		struct found **from = found_of(source[i]), **to = found_of(target[i]);
		if (!*from)
			continue;
		if (!*to) {
			*to = *from;
			*from = NULL;
		} else if (!merge(*to, *from)) {
			out_of_memory(info);
			return;
		}
	}
}

/* ---- the result: numbers in hexadecimal with blanks between, the fingerprint first ---- */

static bool make_fingerprint(const struct content_plan *plan, const struct found *found, char hex[SHA256_HEX])
{
	static const char head[] = "recloser-content-1\n";
	struct sha256 *digest = sha256_new();
	if (!digest)
		return false;
	uint8_t numbers[24], out[32];
	const uint64_t values[3] = {found->rows, found->low, found->high};
	for (int i = 0; i < 24; i++)
		numbers[i] = (uint8_t)(values[i / 8] >> 8 * (i % 8));
	sha256_add(digest, head, sizeof head - 1);
	sha256_add(digest, plan->schema_text, strlen(plan->schema_text));
	sha256_add(digest, "\n", 1);
	sha256_add(digest, numbers, sizeof numbers);
	sha256_end(digest, out);
	sha256_free(digest);
	hex_of(out, sizeof out, hex);
	return true;
}

static uint64_t bits_of(double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	return bits;
}

static int write_found(const char *fingerprint, struct found *found, char *out)
{
	const struct wkb_facts *facts = &found->geometry;
	const uint64_t values[] = {
		found->rows,
		found->low,
		found->high,
		found->key_null,
		found->geometry_null,
		found->geometry_faults,
		found->first_fault,
		digests_doubled(&found->keys),
		facts->any,
		facts->any_z,
		facts->any_m,
		facts->types,
		(uint32_t)facts->srid,
		facts->standard,
	};
	int length = snprintf(out, RETURNED, "%s", fingerprint);
	for (size_t i = 0; i < sizeof values / sizeof *values; i++)
		length += snprintf(out + length, RETURNED - (size_t)length, " %" PRIx64, values[i]);
	for (int i = 0; i < 4; i++)
		length += snprintf(out + length, RETURNED - (size_t)length, " %" PRIx64 " %" PRIx64, bits_of(facts->minimum[i]),
						   bits_of(facts->maximum[i]));
	return length;
}

static void state_finalize(duckdb_function_info info, duckdb_aggregate_state *states, duckdb_vector result, idx_t count,
						   idx_t offset)
{
	const struct content_plan *plan = duckdb_aggregate_function_get_extra_info(info);
	for (idx_t i = 0; i < count; i++) {
		struct found none = {0}, *found = *found_of(states[i]) ? *found_of(states[i]) : &none;
		char hex[SHA256_HEX], text[RETURNED];
		if (!make_fingerprint(plan, found, hex)) {
			out_of_memory(info);
			return;
		}
		int length = write_found(hex, found, text);
		duckdb_unsafe_vector_assign_string_element_len(result, offset + i, text, (idx_t)length);
	}
}

recloser_status content_read(struct arena *arena, const struct content_schema *schema, const char *returned,
							 struct content *out, recloser_error *error)
{
	(void)arena;
	(void)schema;
	*out = (struct content){0};
	if (!returned)
		return RECLOSER_OK;
	uint64_t values[22];
	const char *at = strchr(returned, ' ');
	size_t digits = at ? (size_t)(at - returned) : 0;
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		if (digits != SHA256_HEX - 1 || *at != ' ')
			return error_set(error, RECLOSER_IO, "engine.content",
							 "the content pass gave back something else than it should");
		char *end;
		values[i] = strtoull(at + 1, &end, 16);
		at = end;
	}
	snprintf(out->fingerprint, sizeof out->fingerprint, "c1:%.64s", returned);
	out->rows = values[0];
	out->sum[0] = values[1];
	out->sum[1] = values[2];
	out->key_null = values[3];
	out->geometry_null = values[4];
	out->geometry_faults = values[5];
	out->first_fault = (enum wkb_fault)values[6];
	out->duplicate_keys = values[7];
	struct wkb_facts *facts = &out->geometry;
	facts->any = values[8] != 0;
	facts->any_z = values[9] != 0;
	facts->any_m = values[10] != 0;
	facts->types = (uint32_t)values[11];
	facts->srid = (int32_t)(uint32_t)values[12];
	facts->standard = values[13] != 0;
	for (size_t i = 0; i < 4; i++) {
		memcpy(&facts->minimum[i], &values[14 + 2 * i], sizeof(double));
		memcpy(&facts->maximum[i], &values[15 + 2 * i], sizeof(double));
	}
	return RECLOSER_OK;
}

/* ---- registering ---- */

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

static recloser_status add_function(struct engine *engine, const char *name, const struct content_schema *schema,
									duckdb_logical_type *types, struct content_plan *plan, recloser_error *error)
{
	duckdb_aggregate_function function = duckdb_create_aggregate_function();
	duckdb_logical_type text = duckdb_create_logical_type(DUCKDB_TYPE_VARCHAR),
						any = duckdb_create_logical_type(DUCKDB_TYPE_ANY);
	duckdb_aggregate_function_set_name(function, name);
	for (size_t i = 0; i < schema->count; i++)
		duckdb_aggregate_function_add_parameter(function, is_geometry_type(schema->columns[i].type) ? any : types[i]);
	duckdb_aggregate_function_set_return_type(function, text);
	duckdb_aggregate_function_set_special_handling(function);
	duckdb_aggregate_function_set_functions(function, state_size, state_init, state_update, state_combine, state_finalize);
	duckdb_aggregate_function_set_destructor(function, state_destroy);
	duckdb_aggregate_function_set_extra_info(function, plan, free_plan);
	duckdb_state state = duckdb_register_aggregate_function(engine->connection, function);
	duckdb_destroy_aggregate_function(&function);
	duckdb_destroy_logical_type(&text);
	duckdb_destroy_logical_type(&any);
	if (state == DuckDBError)
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
		free_plan(*held);
}

static recloser_status register_plan(struct engine *engine, struct arena *scratch, const char *name,
									 const struct content_schema *schema, recloser_error *error)
{
	struct content_plan **held = arena_alloc(scratch, sizeof(struct content_plan *));
	arena_defer(scratch, free_held, held);
	struct content_plan *plan = *held = new_plan(schema->count);
	duckdb_logical_type *types;
	if (!plan)
		arena_out_of_memory(scratch);
	RC_TRY(read_types(engine, scratch, schema, plan, &types, error));
	sort_hashed(plan, schema);
	plan->schema_text = strdup(schema_text(scratch, plan, schema));
	if (!plan->schema_text)
		arena_out_of_memory(scratch);
	*held = NULL;
	return add_function(engine, name, schema, types, plan, error);
}

recloser_status content_register(struct engine *engine, struct arena *arena, const char *name,
								 const struct content_schema *schema, recloser_error *error)
{
	struct arena *scratch = arena_new(arena);
	const char *text = signature(scratch, schema);
	bool known = false;
	recloser_status status = look_up(engine->shared, name, text, &known, error);
	if (status == RECLOSER_OK && !known) {
		status = register_plan(engine, scratch, name, schema, error);
		if (status == RECLOSER_OK)
			status = remember(engine->shared, name, text, error);
	}
	arena_free(scratch);
	return status;
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
