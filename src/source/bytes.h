/* SPDX-License-Identifier: Apache-2.0
 * The bytes of a text source: a file or spooled stream, gzip or zstd undone, turned into UTF-8. The whole text is one
 * contiguous range (mapped where it needs no change, else decoded once), so that readers may point into it.
 *
 * Decoded text goes to an unlinked spool file that is mapped, not to the heap, so that a large .gz does not count
 * against the memory budget. */
#ifndef RECLOSER_SOURCE_BYTES_H
#define RECLOSER_SOURCE_BYTES_H

#include "base/arena.h"
#include "base/text.h"

struct bytes {
	const char *at;
	size_t count;
	const char *encoding; /* what it was decoded from */
};

/* `encoding` NULL: UTF-8, or UTF-16 by its mark (both byte orders). A mark is removed. Failures: RECLOSER_REFUSED with the
 * line and byte offset of the first bad byte, with the advice to declare `encoding:` (and which ones fit the first bad
 * places); RECLOSER_IO. `spool` is a directory for temporary files. */
recloser_status bytes_open(struct arena *arena, const char *path, const char *encoding, const char *spool,
                           struct bytes *out, recloser_error *error) RC_CHECKED;

#endif
