/* SPDX-License-Identifier: Apache-2.0
 * Texts from GDAL that may not be UTF-8. On the heap: used in the engine's threads. */
#ifndef RECLOSER_SOURCE_OGR_TEXT_H
#define RECLOSER_SOURCE_OGR_TEXT_H

#include <iconv.h>
#include <stdbool.h>
#include <stddef.h>

struct ogr_text {
	iconv_t converter; /* (iconv_t)-1: none */
	bool no_memory;    /* set when a text could not be converted for want of memory */
	bool always;       /* convert every text, else only what is not UTF-8 */
	char *buffer;
	size_t room;
};
/* False: iconv does not know the encoding. NULL: texts must be UTF-8. */
bool ogr_text_open(struct ogr_text *text, const char *encoding, bool always);
void ogr_text_close(struct ogr_text *text);
/* `*out` points into `bytes` or the buffer. False: the bytes are not what they should be, or `no_memory`. */
bool ogr_text_convert(struct ogr_text *text, const char *bytes, size_t count, const char **out, size_t *out_count);

#endif
