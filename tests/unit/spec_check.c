/* SPDX-License-Identifier: Apache-2.0
 * For tests: reads specs and says, one line for each argument, OK or the error as "code: what (where) hint". */
#include "spec/spec.h"

#include <stdio.h>

int main(int argc, char **argv)
{
	int failures = 0;
	for (int i = 1; i < argc; i++) {
		struct arena *arena = arena_new(NULL);
		recloser_error error = {0};
		struct spec *spec;
		if (!arena || setjmp(*arena_guard(arena)) != 0) {
			fprintf(stderr, "out of memory\n");
			return 99;
		}
		if (spec_read(arena, argv[i], &spec, &error) == RECLOSER_OK) {
			printf("OK\n");
		} else {
			printf("%s: %s (%s) %s\n", error.code, error.what, error.where, error.hint);
			failures++;
		}
		arena_free(arena);
	}
	return failures ? 2 : 0;
}
