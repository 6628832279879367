/* SPDX-License-Identifier: Apache-2.0
 * The one way in which values and names get into statements. */
#include <string.h>

#include "engine/engine.h"

static const char *quoted(struct arena *arena, const char *value, char mark)
{
	size_t length = strlen(value), marks = 0;
	for (const char *at = value; *at; at++)
		marks += *at == mark;
	char *out = arena_alloc(arena, length + marks + 3), *to = out;
	*to++ = mark;
	for (const char *at = value; *at; at++) {
		if (*at == mark)
			*to++ = mark;
		*to++ = *at;
	}
	*to = mark;
	return out;
}

const char *sql_text(struct arena *arena, const char *value)
{
	return value ? quoted(arena, value, '\'') : "NULL";
}

const char *sql_name(struct arena *arena, const char *name)
{
	return quoted(arena, name, '"');
}
