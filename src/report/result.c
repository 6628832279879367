/* SPDX-License-Identifier: Apache-2.0 */
#include "report/result.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"

struct recloser_result {
	char *json, *text;
};

struct recloser_result *result_new(struct arena *arena, const json_t *json, const char *text)
{
	return result_of_texts(json_text(arena, json), text);
}

struct recloser_result *result_of_texts(const char *json, const char *text)
{
	struct recloser_result *result = calloc(1, sizeof *result);
	if (!result)
		return NULL;
	result->json = strdup(json);
	result->text = strdup(text);
	if (result->json && result->text)
		return result;
	recloser_result_free(result);
	return NULL;
}

void result_add_error(struct arena *arena, json_t *json, const recloser_error *error)
{
	static const char *const members[] = {"code", "what", "where", "hint"};
	const char *const values[] = {error->code, error->what, error->where, error->hint};
	json_t *object = json_new_object(arena);
	for (size_t i = 0; i < 4; i++)
		json_put_text(arena, object, members[i], values[i][0] ? values[i] : NULL);
	json_put(arena, json, "error", object);
}

json_t *result_strings(struct arena *arena, const char *const *at, size_t count)
{
	json_t *array = json_new_array(arena);
	for (size_t i = 0; i < count; i++)
		json_add_text(arena, array, at[i]);
	return array;
}

const char *recloser_result_json(const recloser_result *result)
{
	return result ? result->json : "{}\n";
}

const char *recloser_result_text(const recloser_result *result)
{
	return result ? result->text : "";
}

void recloser_result_free(recloser_result *result)
{
	if (!result)
		return;
	free(result->json);
	free(result->text);
	free(result);
}
