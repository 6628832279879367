/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a spec: read whole, or refused with a reason and a place. The digest of a spec's meaning depends on nothing
 * but its text.
 */
#include "fuzz.h"

#include <setjmp.h>
#include <string.h>

#include "spec/spec.h"

static recloser_status parse(struct arena *arena, const uint8_t *bytes, size_t count, struct spec **spec,
							 recloser_error *error)
{
	*spec = NULL;
	error_clear(error);
	return spec_parse(arena, "fuzz.yaml", (const char *)bytes, count, spec, error);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	struct arena *arena = arena_new(NULL);
	if (arena == NULL || setjmp(*arena_guard(arena)) != 0)
		abort();
	struct spec *spec, *again;
	recloser_error error = {0};
	recloser_status status = parse(arena, bytes, count, &spec, &error);
	PROMISE(status == error.status);
	if (status == RECLOSER_OK) {
		PROMISE(spec != NULL);
		PROMISE(parse(arena, bytes, count, &again, &error) == RECLOSER_OK);
		PROMISE(strcmp(spec->meaning, again->meaning) == 0 && strcmp(spec->shape, again->shape) == 0);
	} else {
		PROMISE(status == RECLOSER_USAGE);
		PROMISE(error.what[0] != '\0' && error.code[0] != '\0');
		PROMISE(strstr(error.where, "fuzz.yaml") != NULL);
	}
	arena_free(arena);
	return 0;
}
