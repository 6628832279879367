/* SPDX-License-Identifier: Apache-2.0
 * iconv does the decoding. It stops at the first byte that is not of the declared encoding, which is the point: nothing is
 * replaced, nothing is guessed. */
#include "source/encoding.h"

#include <errno.h>
#include <iconv.h>
#include <string.h>

#include "base/text.h"

/* Spellings that people write and iconv does not know. */
static const struct {
	const char *written, *known;
} spellings[] = {
	{"macroman", "MACINTOSH"},  {"mac-roman", "MACINTOSH"}, {"mac_roman", "MACINTOSH"}, {"x-mac-roman", "MACINTOSH"},
	{"mac", "MACINTOSH"},       {"windows1252", "CP1252"},  {"win1252", "CP1252"},      {"ansi", "CP1252"},
	{"latin-1", "ISO-8859-1"},  {"latin_1", "ISO-8859-1"},  {"latin-9", "ISO-8859-15"}, {"iso8859-1", "ISO-8859-1"},
	{"shift-jis", "SHIFT_JIS"}, {"utf16", "UTF-16"},        {"utf-16", "UTF-16"},       {"utf32", "UTF-32"},
};

static const char *known_name(const char *name)
{
	for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
		if (text_equal_nocase(name, spellings[i].written))
			return spellings[i].known;
	return name;
}

bool encoding_is_utf8(const char *name)
{
	return text_equal_nocase(name, "utf-8") || text_equal_nocase(name, "utf8") || text_equal_nocase(name, "utf_8");
}

const char *encoding_by_mark(const char *at, size_t count, size_t *mark_bytes)
{
	static const struct {
		const char *mark;
		size_t bytes;
		const char *name;
	} marks[] = {
		{"\xEF\xBB\xBF", 3, "UTF-8"},    {"\xFF\xFE\0\0", 4, "UTF-32LE"}, /* before UTF-16LE, whose mark begins it */
		{"\0\0\xFE\xFF", 4, "UTF-32BE"}, {"\xFF\xFE", 2, "UTF-16LE"},     {"\xFE\xFF", 2, "UTF-16BE"},
	};
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
		if (count >= marks[i].bytes && memcmp(at, marks[i].mark, marks[i].bytes) == 0) {
			/* UTF-16LE that begins with a NUL character looks like UTF-32LE; the length tells where it can. */
			if (i == 1 && count % 4 != 0)
				continue;
			*mark_bytes = marks[i].bytes;
			return marks[i].name;
		}
	*mark_bytes = 0;
	return NULL;
}

const char *encoding_by_nuls(const char *at, size_t count)
{
	size_t look = count < 4096 ? count & ~(size_t)3 : 4096, nuls[4] = {0};
	if (look < 8)
		return NULL;
	for (size_t i = 0; i < look; i++)
		nuls[i % 4] += at[i] == '\0';
	size_t each = look / 4, many = each / 2 + each / 4;
	if (nuls[1] >= many && nuls[3] >= many && nuls[0] < many)
		return nuls[2] >= many ? "UTF-32LE" : "UTF-16LE";
	if (nuls[0] >= many && nuls[2] >= many && nuls[3] < many)
		return nuls[1] >= many ? "UTF-32BE" : "UTF-16BE";
	return NULL;
}

/* ---- decoding ---- */

static void close_iconv(void *box)
{
	if (*(iconv_t *)box != (iconv_t)-1)
		iconv_close(*(iconv_t *)box);
}

static recloser_status open_iconv(struct arena *arena, const char *name, const char *path, iconv_t *out,
								  recloser_error *error)
{
	iconv_t *box = arena_alloc(arena, sizeof *box);
	*box = (iconv_t)-1;
	arena_defer(arena, close_iconv, box);
	*out = *box = iconv_open("UTF-8", name);
	if (*out == (iconv_t)-1) {
		if (errno == ENOMEM)
			arena_out_of_memory(arena);
		error_set(error, RECLOSER_USAGE, "spec.encoding", "there is no encoding of the name \"%s\"", name);
		error_where(error, "%s", path);
		return error_hint(
			error, "`iconv -l` lists the names; usual ones are UTF-8, windows-1252, ISO-8859-1, macintosh, UTF-16LE.");
	}
	return RECLOSER_OK;
}

/* Lines of the decoded text, which comes in pieces: a CR at the end of one and an LF at the begin of the next are one. */
struct line_count {
	uint64_t ends;
	bool after_cr;
};

static void count_lines(struct line_count *lines, const char *at, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (at[i] == '\r' || (at[i] == '\n' && !lines->after_cr))
			lines->ends++;
		lines->after_cr = at[i] == '\r';
	}
}

static recloser_status refuse_byte(const char *name, const char *path, const char *at, size_t count, size_t offset,
								   uint64_t line, bool cut, recloser_error *error)
{
	error_set(error, RECLOSER_REFUSED, "source.encoding",
			  cut ? "the text ends in the middle of a character of %s" : "a byte is not of the declared encoding %s", name);
	error_where(error, "%s, line %llu, byte %zu: 0x%02X", path, (unsigned long long)line, offset,
				offset < count ? (unsigned char)at[offset] : 0u);
	return error_hint(error, cut ? "The file is probably cut short, or another encoding is meant."
								 : "Declare the encoding that the publisher uses, or have the file repaired.");
}

recloser_status encoding_decode(struct arena *arena, const char *name, const char *path, const char *at, size_t count,
								struct spool *spool, recloser_error *error)
{
	enum { OUT_BYTES = 1 << 18 };
	iconv_t decoder;
	RC_TRY(open_iconv(arena, known_name(name), path, &decoder, error));
	char *out = arena_alloc(arena, OUT_BYTES), *from = (char *)at;
	size_t left = count;
	struct line_count lines = {0, false};
	for (;;) {
		char *to = out;
		size_t room = OUT_BYTES;
		/* The last call, with no input, writes what a stateful encoding still holds back. */
		size_t result = left ? iconv(decoder, &from, &left, &to, &room) : iconv(decoder, NULL, NULL, &to, &room);
		int number = errno;
		count_lines(&lines, out, OUT_BYTES - room);
		RC_TRY(spool_add(spool, out, OUT_BYTES - room, error));
		if (result != (size_t)-1) {
			if (left == 0 && from == NULL)
				return RECLOSER_OK;
			if (left == 0)
				from = NULL;
			continue;
		}
		if (number == E2BIG)
			continue;
		return refuse_byte(name, path, at, count, count - left, lines.ends + 1, number == EINVAL, error);
	}
}

/* ---- the word for text that is not UTF-8 ---- */

/* The surroundings of a bad byte, from its own line, as an encoding would read them; NULL when it can't. */
static const char *reading_in(struct arena *arena, const char *name, const char *at, size_t count, size_t fault)
{
	size_t from = fault, to = fault + 1;
	while (from > 0 && fault - from < 16 && at[from - 1] != '\n' && at[from - 1] != '\r')
		from--;
	while (to < count && to - fault < 16 && at[to] != '\n' && at[to] != '\r')
		to++;
	/* Not in the middle of a character where good UTF-8 stands before. */
	while (from < fault && ((unsigned char)at[from] & 0xC0) == 0x80)
		from++;
	iconv_t decoder = iconv_open("UTF-8", name);
	if (decoder == (iconv_t)-1)
		return NULL;
	char text[4 * 64 + 1], *in = (char *)at + from, *out = text;
	size_t left = to - from, room = sizeof text - 1;
	size_t result = iconv(decoder, &in, &left, &out, &room);
	iconv_close(decoder);
	if (result == (size_t)-1)
		return NULL;
	for (char *p = text; p < out; p++)
		if ((unsigned char)*p < 0x20)
			*p = ' ';
	return arena_strndup(arena, text, (size_t)(out - text));
}

/* Windows-1252 leaves five bytes undefined; Mac Roman defines all. */
static bool fits_1252(const char *at, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		unsigned char c = (unsigned char)at[i];
		if (c == 0x81 || c == 0x8D || c == 0x8F || c == 0x90 || c == 0x9D)
			return false;
	}
	return true;
}

recloser_status encoding_refuse(struct arena *arena, const char *path, const char *at, size_t count, size_t fault,
								recloser_error *error)
{
	struct line_count lines = {0, false};
	count_lines(&lines, at, fault);
	error_set(error, RECLOSER_REFUSED, "source.encoding", "the file is not UTF-8");
	error_where(error, "%s, line %llu, byte %zu: 0x%02X", path, (unsigned long long)lines.ends + 1, fault,
				(unsigned char)at[fault]);
	size_t mark;
	const char *marked = encoding_by_mark(at, count, &mark);
	if (marked && !encoding_is_utf8(marked))
		return error_hint(error, "It begins with the mark of %s: leave `encoding` out, or declare that.", marked);
	const char *windows = fits_1252(at, count) ? reading_in(arena, "CP1252", at, count, fault) : NULL;
	const char *mac = reading_in(arena, "MACINTOSH", at, count, fault);
	struct text hint = text_on(arena);
	text_add(&hint, "Declare `encoding:`. The place reads:");
	if (windows)
		text_addf(&hint, "\n  \"%s\" in windows-1252", windows);
	if (mac)
		text_addf(&hint, "\n  \"%s\" in macintosh", mac);
	if (!windows)
		text_add(&hint, "\n  (windows-1252 has no characters for some bytes of this file)");
	return error_hint(error, "%s", hint.at);
}
