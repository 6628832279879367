/* SPDX-License-Identifier: Apache-2.0
 * Texts to UTF-8 by the declared encoding. GDAL can recode too, but what does not fit it drops with a warning. */
#include "source/ogr_text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "source/encoding.h"

static const iconv_t no_converter = (iconv_t)-1;

bool ogr_text_open(struct ogr_text *text, const char *encoding, bool always)
{
	*text = (struct ogr_text){.converter = no_converter, .always = always};
	if (!encoding || encoding_is_utf8(encoding)) {
		text->always = false;
		return true;
	}
	text->converter = iconv_open("UTF-8", encoding);
	return text->converter != no_converter;
}

void ogr_text_close(struct ogr_text *text)
{
	if (text->converter != no_converter)
		iconv_close(text->converter);
	free(text->buffer);
}

static char *make_room(struct ogr_text *text, size_t count)
{
	if (count > text->room) {
		char *grown = realloc(text->buffer, count);
		if (!grown) {
			text->no_memory = true;
			return NULL;
		}
		text->buffer = grown;
		text->room = count;
	}
	return text->buffer;
}

static bool is_ascii(const char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if ((unsigned char)bytes[i] >= 0x80)
			return false;
	return true;
}

bool ogr_text_convert(struct ogr_text *text, const char *bytes, size_t count, const char **out, size_t *out_count)
{
	*out = bytes;
	*out_count = count;
	if (is_ascii(bytes, count))
		return true; /* every encoding of a .dbf holds ASCII as it is */
	bool utf8 = text_utf8_fault(bytes, count) == SIZE_MAX;
	if (utf8 && !text->always)
		return true;
	if (text->converter == no_converter)
		return false;
	char *from = (char *)bytes, *to = make_room(text, 4 * count);
	size_t left = count, room = 4 * count;
	if (!to)
		return false;
	iconv(text->converter, NULL, NULL, NULL, NULL);
	if (iconv(text->converter, &from, &left, &to, &room) == (size_t)-1 || left ||
		iconv(text->converter, NULL, NULL, &to, &room) == (size_t)-1)
		return false;
	*out = text->buffer;
	*out_count = 4 * count - room;
	return true;
}
