/* SPDX-License-Identifier: Apache-2.0
 * Other encodings into UTF-8, and a good word when bytes are not what was said. */
#ifndef RECLOSER_SOURCE_ENCODING_H
#define RECLOSER_SOURCE_ENCODING_H

#include <stdbool.h>

#include "base/arena.h"
#include "source/spool.h"

/* Is that a name of UTF-8? */
bool encoding_is_utf8(const char *name);
/* UTF-16 or UTF-32 by the mark at the begin of the text, or NULL; `mark_bytes` is the length of the mark (also UTF-8's). */
const char *encoding_by_mark(const char *at, size_t count, size_t *mark_bytes);
/* UTF-16 or UTF-32 without a mark, seen by its many NUL bytes; or NULL. */
const char *encoding_by_nuls(const char *at, size_t count);

/* Decode all of it into `spool`. An unknown name is RECLOSER_USAGE; a byte that is not of the encoding is
 * RECLOSER_REFUSED with its line and offset. */
recloser_status encoding_decode(struct arena *arena, const char *name, const char *path, const char *at, size_t count,
								struct spool *spool, recloser_error *error) RC_CHECKED;
/* The error for a text that should be UTF-8 and is not at `fault`: what the place would read in likely encodings. */
recloser_status encoding_refuse(struct arena *arena, const char *path, const char *at, size_t count, size_t fault,
								recloser_error *error);

#endif
