/* SPDX-License-Identifier: Apache-2.0
 * The content pass as an aggregate function: the engine spreads it over row groups and threads, and nothing is materialised.
 *
 * A state is one pointer to what was found so far, made with the first row of its group, so that ten thousand groups cost
 * what they hold. Buffers belong to a call, not to a state. Rows are put down a few hundred at a time: the buffer stays in
 * the processor's cache while the digest reads it. */
#include "engine/content_pass.h"

#define XXH_INLINE_ALL
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

#include "base/digest.h"

enum { BATCH = 256, RETURNED = 1024 };

/* ---- plans and states: where they come from and go to ---- */

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
	found->keys.room = plan->room;
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
void content_plan_free(void *pointer)
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

struct content_plan *content_plan_new(size_t columns, struct digest_room *room)
{
	struct content_plan *plan = calloc(1, sizeof *plan);
	if (!plan)
		return NULL;
	pthread_mutex_init(&plan->lock, NULL);
	plan->types = calloc(columns + 1, sizeof *plan->types);
	plan->nodes = calloc(columns + 1, sizeof *plan->nodes);
	plan->hashed = calloc(columns + 1, sizeof *plan->hashed);
	plan->key = plan->geometry = -1;
	plan->room = room;
	if (plan->types && plan->nodes && plan->hashed)
		return plan;
	content_plan_free(plan);
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

/* `failed` is an errno of the digests. */
static void say_failed(duckdb_function_info info, int failed)
{
	char text[256];
	aside_failed(failed, "digests of the keys", text, sizeof text);
	duckdb_aggregate_function_set_error(info, text);
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

/* Where the columns' cells are. Beside digests only the geometry is looked at. */
static void look_at_vectors(struct pass *pass, duckdb_data_chunk input)
{
	const struct content_plan *plan = pass->plan;
	for (size_t c = 0; c < plan->column_count; c++) {
		struct content_vector *next = pass->vectors + plan->nodes[c];
		if (!plan->digested)
			content_vectors(&plan->types[c], duckdb_data_chunk_get_vector(input, c), &next);
		else if ((ptrdiff_t)c == plan->geometry)
			content_vectors(&plan->types[c], duckdb_data_chunk_get_vector(input, 1), &next);
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

/* The digests of at most BATCH rows. */
static bool digest_rows(struct pass *pass, idx_t from, idx_t to, XXH128_hash_t *out)
{
	const struct content_plan *plan = pass->plan;
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
		out[row - from] = XXH3_128bits(pass->buffer + begin, end - begin);
		begin = end;
	}
	return true;
}

static bool hash_rows(struct pass *pass, idx_t count, duckdb_aggregate_state *states)
{
	XXH128_hash_t digests[BATCH];
	for (idx_t from = 0; from < count; from += BATCH) {
		idx_t to = from + BATCH < count ? from + BATCH : count;
		if (!digest_rows(pass, from, to, digests))
			return false;
		for (idx_t row = from; row < to; row++)
			add_digest(*found_of(states[row]), digests[row - from]);
	}
	return true;
}

/* Of rows whose digests were made before. */
static void add_digests(duckdb_vector vector, idx_t count, duckdb_aggregate_state *states)
{
	const duckdb_uhugeint *digests = duckdb_vector_get_data(vector);
	for (idx_t row = 0; row < count; row++)
		add_digest(*found_of(states[row]), (XXH128_hash_t){.low64 = digests[row].lower, .high64 = digests[row].upper});
}

/* The key is compared by a digest of its canonical bytes, of which text is the plain case. */
static int collect_keys(struct pass *pass, idx_t count, duckdb_aggregate_state *states)
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
				return ENOMEM;
		}
		uint8_t *end = content_put(type, vector, row, pass->buffer);
		XXH128_hash_t digest = XXH3_128bits(pass->buffer, (size_t)(end - pass->buffer));
		int failed = digests_add(&found->keys, (struct digest128){digest.high64, digest.low64});
		if (failed)
			return failed;
	}
	return 0;
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
	int failed = pass.vectors && ready_states(plan, count, states) ? 0 : ENOMEM;
	if (!failed) {
		look_at_vectors(&pass, input);
		if (plan->digested)
			add_digests(duckdb_data_chunk_get_vector(input, 0), count, states);
		else
			failed = hash_rows(&pass, count, states) ? 0 : ENOMEM;
	}
	if (!failed && plan->key >= 0 && !plan->digested)
		failed = collect_keys(&pass, count, states);
	if (!failed && plan->geometry >= 0)
		look_at_geometry(&pass, count, states);
	if (failed)
		say_failed(info, failed);
	free(pass.vectors);
	free(pass.buffer);
}

static int merge(struct found *to, struct found *from)
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
		} else {
			int failed = merge(*to, *from);
			if (failed) {
				say_failed(info, failed);
				return;
			}
		}
	}
}

/* ---- the result ---- */

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

static int write_found(const char *fingerprint, const struct found *found, uint64_t doubled, char *out)
{
	const struct wkb_facts *facts = &found->geometry;
	uint64_t values[RETURNED_COUNT] = {
		[RETURNED_ROWS] = found->rows,
		[RETURNED_LOW] = found->low,
		[RETURNED_HIGH] = found->high,
		[RETURNED_KEY_NULL] = found->key_null,
		[RETURNED_GEOMETRY_NULL] = found->geometry_null,
		[RETURNED_GEOMETRY_FAULTS] = found->geometry_faults,
		[RETURNED_FIRST_FAULT] = found->first_fault,
		[RETURNED_DUPLICATE_KEYS] = doubled,
		[RETURNED_ANY] = facts->any,
		[RETURNED_ANY_Z] = facts->any_z,
		[RETURNED_ANY_M] = facts->any_m,
		[RETURNED_TYPES] = facts->types,
		[RETURNED_SRID] = (uint32_t)facts->srid,
		[RETURNED_STANDARD] = facts->standard,
	};
	memcpy(&values[RETURNED_MINIMUM], facts->minimum, sizeof facts->minimum);
	memcpy(&values[RETURNED_MAXIMUM], facts->maximum, sizeof facts->maximum);
	int length = snprintf(out, RETURNED, "%s", fingerprint);
	for (size_t i = 0; i < RETURNED_COUNT; i++)
		length += snprintf(out + length, RETURNED - (size_t)length, " %" PRIx64, values[i]);
	return length;
}

static void state_finalize(duckdb_function_info info, duckdb_aggregate_state *states, duckdb_vector result, idx_t count,
						   idx_t offset)
{
	const struct content_plan *plan = duckdb_aggregate_function_get_extra_info(info);
	for (idx_t i = 0; i < count; i++) {
		struct found none = {0}, *found = *found_of(states[i]) ? *found_of(states[i]) : &none;
		char hex[SHA256_HEX], text[RETURNED];
		uint64_t doubled;
		int failed = digests_doubled(&found->keys, &doubled, NULL, NULL);
		if (failed) {
			say_failed(info, failed);
			return;
		}
		if (!make_fingerprint(plan, found, hex)) {
			say_failed(info, ENOMEM);
			return;
		}
		int length = write_found(hex, found, doubled, text);
		duckdb_unsafe_vector_assign_string_element_len(result, offset + i, text, (idx_t)length);
	}
}

void content_pass_functions(duckdb_aggregate_function function)
{
	duckdb_aggregate_function_set_special_handling(function);
	duckdb_aggregate_function_set_functions(function, state_size, state_init, state_update, state_combine, state_finalize);
	duckdb_aggregate_function_set_destructor(function, state_destroy);
}

/* ---- the digests by themselves ---- */

static void make_digests(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
	const struct content_plan *plan = duckdb_scalar_function_get_extra_info(info);
	duckdb_uhugeint *to = duckdb_vector_get_data(output);
	idx_t count = duckdb_data_chunk_get_size(input);
	struct pass pass = {.plan = plan, .vectors = malloc((plan->node_count + 1) * sizeof *pass.vectors)};
	bool good = pass.vectors != NULL;
	if (good)
		look_at_vectors(&pass, input);
	for (idx_t from = 0; good && from < count; from += BATCH) {
		XXH128_hash_t digests[BATCH];
		idx_t end = from + BATCH < count ? from + BATCH : count;
		good = digest_rows(&pass, from, end, digests);
		for (idx_t row = from; good && row < end; row++)
			to[row] = (duckdb_uhugeint){.lower = digests[row - from].low64, .upper = digests[row - from].high64};
	}
	if (!good)
		duckdb_scalar_function_set_error(info, "out of memory");
	free(pass.vectors);
	free(pass.buffer);
}

void content_row_function(duckdb_scalar_function function)
{
	duckdb_scalar_function_set_special_handling(function);
	duckdb_scalar_function_set_function(function, make_digests);
}
