/* SPDX-License-Identifier: Apache-2.0
 * A thin layer over jansson: values hang on an arena, a failed allocation leaves by arena_out_of_memory, and files of
 * ours are read with an error that names the member. Insertion order is kept in what is written. */
#ifndef RECLOSER_BASE_JSON_H
#define RECLOSER_BASE_JSON_H

#include <jansson.h>

#include "base/arena.h"

json_t *json_on(struct arena *arena, json_t *value); /* takes the reference; NULL means no memory */
json_t *json_new_object(struct arena *arena);
json_t *json_new_array(struct arena *arena);
/* Setters for members of objects that hang on `arena`; NULL text gives null. */
void json_put(struct arena *arena, json_t *object, const char *name, json_t *value); /* value is kept by a new reference */
void json_put_text(struct arena *arena, json_t *object, const char *name, const char *text);
void json_put_int(struct arena *arena, json_t *object, const char *name, int64_t number);
void json_put_real(struct arena *arena, json_t *object, const char *name, double number);
void json_put_bool(struct arena *arena, json_t *object, const char *name, bool value);
void json_add(struct arena *arena, json_t *array, json_t *value);
void json_add_text(struct arena *arena, json_t *array, const char *text);

const char *json_get_text(const json_t *object, const char *name); /* NULL when absent, null or not a text */
int64_t json_get_int(const json_t *object, const char *name, int64_t otherwise);
bool json_get_bool(const json_t *object, const char *name, bool otherwise);

/* Indented, members in insertion order, newline at the end: what is stored and printed. */
const char *json_text(struct arena *arena, const json_t *value);
/* One line, keys in insertion order, no blanks: what is hashed. */
const char *json_compact(struct arena *arena, const json_t *value);
recloser_status json_parse(struct arena *arena, const char *bytes, size_t count, const char *path, json_t **out,
                           recloser_error *error) RC_CHECKED;

#endif
