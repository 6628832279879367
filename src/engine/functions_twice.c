/* SPDX-License-Identifier: Apache-2.0
 * rc_twice: which numbers occur more than once. The engine's own grouping keeps a table of all that occur; here each is eight
 * bytes that are sorted, beside the digests of keys and within the same bound (digests.h). */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/functions_parts.h"

/* More than these are no list: who asks looks at the rows in another way then. */
enum { LIST_MOST = 1 << 20, DIGITS = 21 };

static struct digests **digests_of(duckdb_aggregate_state state)
{
	return (struct digests **)state;
}

static idx_t state_size(duckdb_function_info info)
{
	(void)info;
	return sizeof(struct digests *);
}

static void state_init(duckdb_function_info info, duckdb_aggregate_state state)
{
	(void)info;
	*digests_of(state) = NULL;
}

static void state_destroy(duckdb_aggregate_state *states, idx_t count)
{
	for (idx_t i = 0; i < count; i++) {
		struct digests *digests = *digests_of(states[i]);
		if (digests)
			digests_free(digests);
		free(digests);
		*digests_of(states[i]) = NULL;
	}
}

static void say_failed(duckdb_function_info info, int failed)
{
	char text[256];
	aside_failed(failed, "numbers of rows", text, sizeof text);
	duckdb_aggregate_function_set_error(info, text);
}

static int add(struct digest_room *room, duckdb_aggregate_state state, uint64_t number)
{
	struct digests **digests = digests_of(state);
	if (!*digests) {
		*digests = calloc(1, sizeof **digests);
		if (!*digests)
			return ENOMEM;
		(*digests)->room = room;
	}
	return digests_add(*digests, (struct digest128){.high = number});
}

static void state_update(duckdb_function_info info, duckdb_data_chunk input, duckdb_aggregate_state *states)
{
	struct digest_room *room = duckdb_aggregate_function_get_extra_info(info);
	struct argument numbers = argument_at(input, 0);
	idx_t count = duckdb_data_chunk_get_size(input);
	int failed = 0;
	for (idx_t row = 0; row < count && !failed; row++)
		if (valid_at(numbers.validity, row))
			failed = add(room, states[row], ((const uint64_t *)numbers.data)[row]);
	if (failed)
		say_failed(info, failed);
}

static void state_combine(duckdb_function_info info, duckdb_aggregate_state *source, duckdb_aggregate_state *target, idx_t count)
{
	int failed = 0;
	for (idx_t i = 0; i < count && !failed; i++) {
		struct digests **from = digests_of(source[i]), **to = digests_of(target[i]);
		if (*from && *to) {
			failed = digests_move(*to, *from);
		} else if (*from) {
			*to = *from;
			*from = NULL;
		}
	}
	if (failed)
		say_failed(info, failed);
}

/* "17,4711,..." in the making. */
struct list {
	char *at;
	size_t length, capacity, count;
};

static int put(void *to, const struct digest128 *digest)
{
	struct list *list = to;
	if (++list->count > LIST_MOST)
		return 0;
	if (list->capacity - list->length < DIGITS + 1) {
		size_t larger = list->capacity ? list->capacity * 2 : 1024;
		char *at = realloc(list->at, larger);
		if (!at)
			return ENOMEM;
		list->at = at;
		list->capacity = larger;
	}
	list->length += (size_t)snprintf(list->at + list->length, DIGITS + 1, "%s%" PRIu64, list->length ? "," : "", digest->high);
	return 0;
}

static void state_finalize(duckdb_function_info info, duckdb_aggregate_state *states, duckdb_vector result, idx_t count, idx_t offset)
{
	for (idx_t i = 0; i < count; i++) {
		struct digests *digests = *digests_of(states[i]);
		struct list list = {0};
		uint64_t doubled = 0;
		int failed = digests ? digests_doubled(digests, &doubled, put, &list) : 0;
		if (failed)
			say_failed(info, failed);
		else if (doubled > LIST_MOST)
			result_null(result, offset + i);
		else
			result_bytes(result, offset + i, list.at ? list.at : "", list.length);
		free(list.at);
		if (failed)
			return;
	}
}

recloser_status twice_register(struct engine *engine, recloser_error *error)
{
	duckdb_aggregate_function function = duckdb_create_aggregate_function();
	duckdb_logical_type number = duckdb_create_logical_type(DUCKDB_TYPE_UBIGINT), text = duckdb_create_logical_type(DUCKDB_TYPE_VARCHAR);
	duckdb_aggregate_function_set_name(function, "rc_twice");
	duckdb_aggregate_function_add_parameter(function, number);
	duckdb_aggregate_function_set_return_type(function, text);
	duckdb_aggregate_function_set_special_handling(function);
	duckdb_aggregate_function_set_functions(function, state_size, state_init, state_update, state_combine, state_finalize);
	duckdb_aggregate_function_set_destructor(function, state_destroy);
	duckdb_aggregate_function_set_extra_info(function, engine->shared->digests, NULL);
	duckdb_state state = duckdb_register_aggregate_function(engine->connection, function);
	duckdb_destroy_aggregate_function(&function);
	duckdb_destroy_logical_type(&number);
	duckdb_destroy_logical_type(&text);
	if (state == DuckDBError)
		return error_set(error, RECLOSER_IO, "engine.open", "could not add rc_twice to the engine");
	return RECLOSER_OK;
}
