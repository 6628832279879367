/* SPDX-License-Identifier: Apache-2.0
 * What need not be stored of a row, since it can be made of what is: its key, where the identity's columns say it to the letter. */
#include <string.h>

#include "batch/batch.h"

bool batch_is_plain(const char *type)
{
	static const char *const plain[] = {"VARCHAR", "BIGINT", "INTEGER", "DATE", "BOOLEAN"};
	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
		if (strcmp(type, plain[i]) == 0)
			return true;
	return false;
}

static const struct batch_column *stored_column(const struct batch *batch, const char *name)
{
	for (size_t i = 0; i < batch->column_count; i++)
		if (strcmp(batch->columns[i].name, name) == 0)
			return &batch->columns[i];
	return NULL;
}

const char *batch_key_sql(struct arena *arena, const struct batch *batch, batch_value *value, const void *context)
{
	const struct spec *spec = batch->context->spec;
	struct text out = text_on(arena);
	text_add(&out, spec->key_escape ? "rc_key_escaped(" : "rc_key(");
	for (size_t i = 0; i < spec->identity_count; i++) {
		const char *name = spec->identity[i].column;
		const struct batch_column *column = name ? stored_column(batch, name) : NULL;
		if (!column || !batch_is_plain(column->type))
			return NULL;
		text_addf(&out, "%s%s", i ? ", " : "", value ? value(context, column) : sql_name(arena, name));
	}
	text_add(&out, ")");
	return spec->key_id ? NULL : out.at;
}
