/* SPDX-License-Identifier: Apache-2.0
 * gzip and zstd undone, recognised by their first bytes and not by the name. */
#ifndef RECLOSER_SOURCE_UNPACK_H
#define RECLOSER_SOURCE_UNPACK_H

#include <stdbool.h>

#include "base/arena.h"

enum packing { PACKING_NONE, PACKING_GZIP, PACKING_ZSTD };
enum packing packing_of(const char *at, size_t count);

/* All members of a gzip file or all frames of a zstd file, into a spool file that is mapped. A stream that is cut short,
 * damaged or followed by something else is RECLOSER_REFUSED. */
recloser_status unpack(struct arena *arena, enum packing packing, const char *path, const char *spool, const char **at,
					   size_t *count, recloser_error *error) RC_CHECKED;
/* The first bytes of what is inside, up to `size`, to see what it is; 0 when they can't be had. Nothing is allocated on
 * an arena, and damage is not reported: whoever opens the file meets it again. */
size_t unpack_peek(enum packing packing, const char *at, size_t count, char *out, size_t size);

#endif
