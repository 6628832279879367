/* SPDX-License-Identifier: Apache-2.0
 * recloser_key and the versions. */
#include <string.h>

#include "base/error.h"
#include "batch/key.h"
#include "engine/engine.h"

recloser_status recloser_key(const char *const *values, size_t count, bool escape, char out[25], recloser_error *error)
{
	error_clear(error);
	out[0] = '\0';
	if (count == 0)
		return error_set(error, RECLOSER_USAGE, "key.no_values", "a key needs at least one value");
	struct key *key = key_new(escape);
	if (!key)
		return error_set(error, RECLOSER_IO, "memory", "out of memory");
	key_start(key);
	for (size_t i = 0; i < count; i++)
		key_add(key, values[i], strlen(values[i]));
	key_end(key, out);
	key_free(key);
	return RECLOSER_OK;
}

const char *recloser_version(void)
{
	return RECLOSER_VERSION;
}

const char *recloser_engine_version(void)
{
	return engine_version();
}
