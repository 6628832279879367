/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzz targets. A target is a file fuzz_NAME.c with the function below and a folder seeds/NAME. It takes any bytes and
 * aborts when a promise of the code under test does not hold.
 *
 * With -DRECLOSER_FUZZ=ON (the preset `fuzz`, clang) each is a libFuzzer program:
 *     build-fuzz/tests/fuzz_spec -max_total_time=60 corpus tests/fuzz/seeds/spec
 * In every other build it is linked with replay.c, and ctest runs it over its seeds and what comes of damaging them.
 */
#ifndef RECLOSER_TEST_FUZZ_H
#define RECLOSER_TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

#define PROMISE(condition)                                                                                                  \
	do {                                                                                                                    \
		if (!(condition)) {                                                                                                 \
			fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);                                  \
			abort();                                                                                                        \
		}                                                                                                                   \
	} while (0)

#endif
