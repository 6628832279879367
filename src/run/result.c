/* SPDX-License-Identifier: Apache-2.0
 *
 * Results of public calls (result.h).
 */
#include "run/result.h"

#include <setjmp.h>

#include "base/arena.h"

struct recloser_result {
	struct arena *arena; /* holds this struct as well */
	const char *json, *text;
};

recloser_result *result_new(const char *json, const char *text)
{
	struct arena *arena = arena_new(NULL);
	if (arena == NULL)
		return NULL;
	if (setjmp(*arena_guard(arena)) != 0) {
		arena_free(arena);
		return NULL;
	}
	recloser_result *result = arena_alloc(arena, sizeof *result);
	result->arena = arena;
	result->json = arena_strdup(arena, json != NULL ? json : "");
	result->text = arena_strdup(arena, text != NULL ? text : "");
	return result;
}

const char *recloser_result_json(const recloser_result *result)
{
	return result->json;
}

const char *recloser_result_text(const recloser_result *result)
{
	return result->text;
}

void recloser_result_free(recloser_result *result)
{
	if (result != NULL)
		arena_free(result->arena);
}
