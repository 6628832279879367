/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers on a command line. Each returns false, and leaves `*out` alone, unless the whole text is such a number.
 */
#ifndef CLI_VALUES_H
#define CLI_VALUES_H

#include <stdbool.h>
#include <stdint.h>

bool value_count(const char *text, int64_t most, int64_t *out); /* digits only, 0 to `most` */
bool value_size(const char *text, uint64_t *bytes); /* 4096, 300MB, 1.5 GiB; k, M, G, T by 1000, Ki ... by 1024 */
bool value_seconds(const char *text, double *out);  /* 5, 0.25 */

#endif
