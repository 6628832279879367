/* SPDX-License-Identifier: Apache-2.0
 * For tests: reads specs and says, one line for each argument, OK or the error as "code: what (where) hint". */
#include "spec/spec.h"

#include <stdio.h>
#include <stdlib.h>

/* Nonzero for a spec that is refused. */
static int check(const char *path)
{
	struct arena *arena = arena_new(NULL);
	recloser_error error = {0};
	struct spec *spec;
	if (!arena || setjmp(*arena_guard(arena)) != 0) {
		fprintf(stderr, "out of memory\n");
		exit(99);
	}
	recloser_status status = spec_read(arena, path, &spec, &error);
	if (status == RECLOSER_OK)
		printf("OK\n");
	else
		printf("%s: %s (%s) %s\n", error.code, error.what, error.where, error.hint);
	arena_free(arena);
	return status != RECLOSER_OK;
}

int main(int argc, char **argv)
{
	int failures = 0;
	for (int i = 1; i < argc; i++)
		failures += check(argv[i]);
	return failures ? 2 : 0;
}
