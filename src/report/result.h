/* SPDX-License-Identifier: Apache-2.0
 * What a public call gives back: one JSON object and one text, made when the call ends. */
#ifndef RECLOSER_REPORT_RESULT_H
#define RECLOSER_REPORT_RESULT_H

#include <jansson.h>

#include "base/arena.h"

/* Copies both; the result outlives the arena. NULL when there is no memory. */
struct recloser_result *result_new(struct arena *arena, const json_t *json, const char *text);
/* The same from finished texts. */
struct recloser_result *result_of_texts(const char *json, const char *text);
/* {"error": {code, what, where, hint}} beside what `json` has already. */
void result_add_error(struct arena *arena, json_t *json, const recloser_error *error);
json_t *result_strings(struct arena *arena, const char *const *at, size_t count);

#endif
