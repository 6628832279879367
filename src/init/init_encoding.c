/* SPDX-License-Identifier: Apache-2.0
 * The encoding of a text file. Valid UTF-8, or a mark at the beginning, is certain. Everything else is a choice between the
 * two that publishers' programs write, Windows-1252 and Mac Roman: the bytes are read in both, and the reading in which the
 * letters stand inside words and the signs between them is proposed, with the places shown. */
#include <string.h>

#include "init/init.h"
#include "source/bytes.h"
#include "source/encoding.h"

enum { PLACES = 3, AROUND = 14 };

/* One character of UTF-8 at `at`; its length in *count. */
static uint32_t character_at(const char *at, const char *end, size_t *count)
{
	unsigned char c = (unsigned char)*at;
	size_t n = c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
	uint32_t code = c < 0x80 ? c : c & (0xFFu >> (n + 1));
	for (size_t i = 1; i < n && at + i < end; i++)
		code = code << 6 | ((unsigned char)at[i] & 0x3F);
	*count = (size_t)(end - at) < n ? (size_t)(end - at) : n;
	return code;
}

static bool is_small(uint32_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 0xDF && c <= 0xFF && c != 0xF7);
}

static bool is_capital(uint32_t c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 0xC0 && c <= 0xDE && c != 0xD7) || c == 0x160 || c == 0x17D || c == 0x178 || c == 0x152;
}

static bool is_letter(uint32_t c)
{
	return is_small(c) || is_capital(c) || c == 0x161 || c == 0x17E || c == 0x153;
}

/* Dashes, quotes, the degree sign, a hard blank: signs that people write between words. */
static bool is_usual_sign(uint32_t c)
{
	return (c >= 0x2010 && c <= 0x2026) || c == 0xB0 || c == 0xB2 || c == 0xB3 || c == 0xBD || c == 0xA0 || c == 0xAE || c == 0x2122;
}

/* Does this character make sense between these two? */
static int sense(uint32_t before, uint32_t c, uint32_t after)
{
	if (is_usual_sign(c)) /* an apostrophe stands in words, a dash does not */
		return c == 0x2019 || c == 0xA0 || !(is_letter(before) && is_letter(after)) ? 1 : 0;
	if (!is_letter(c))
		return -1;
	if (!is_letter(before) && !is_letter(after))
		return -1;
	return is_capital(c) && is_small(before) ? -1 : 1; /* a capital in the middle of a small word */
}

static long score_of(const struct bytes *bytes)
{
	long score = 0;
	uint32_t before = ' ';
	const char *end = bytes->at + bytes->count;
	size_t count;
	for (const char *at = bytes->at; at < end; at += count) {
		uint32_t c = character_at(at, end, &count);
		if (c >= 0x80 && at + count < end) {
			size_t next;
			score += sense(before, c, character_at(at + count, end, &next));
		}
		before = c;
	}
	return score;
}

/* The surroundings of the first places that are not ASCII. */
static struct strings places_of(struct arena *arena, const struct bytes *bytes)
{
	struct strings places = {0};
	const char *end = bytes->at + bytes->count, *beyond = bytes->at;
	for (const char *at = bytes->at; at < end && places.count < PLACES; at++) {
		if ((unsigned char)*at < 0x80 || at < beyond)
			continue;
		const char *from = at, *to = at;
		while (from > bytes->at && at - from < AROUND && from[-1] != '\n' && from[-1] != '\r')
			from--;
		while (to < end && to - at < AROUND && *to != '\n' && *to != '\r')
			to++;
		while (from < at && ((unsigned char)*from & 0xC0) == 0x80)
			from++;
		while (to < end && ((unsigned char)*to & 0xC0) == 0x80)
			to++;
		strings_add(arena, &places, arena_strndup(arena, from, (size_t)(to - from)));
		beyond = to;
	}
	return places;
}

static void say_places(struct init *init, const char *name, const struct bytes *bytes)
{
	struct strings places = places_of(init->arena, bytes);
	for (size_t i = 0; i < places.count; i++)
		strings_add(init->arena, &init->said, arena_printf(init->arena, "  in %s: %s", name, places.at[i]));
}

static recloser_status choose_one(struct init *init, recloser_error *error)
{
	struct arena *arena = init->arena;
	struct bytes windows, mac;
	recloser_error ignored = {0};
	const char *path = init->inputs[0].read_path;
	bool fits = bytes_open(arena, path, "windows-1252", init->spool, &windows, &ignored) == RECLOSER_OK;
	RC_TRY(bytes_open(arena, path, "macintosh", init->spool, &mac, error));
	bool is_windows = fits && score_of(&windows) >= score_of(&mac);
	init->block.encoding = is_windows ? "windows-1252" : "macintosh";
	strings_add(arena, &init->said, arena_printf(arena, "The file is not UTF-8. Of these readings of its first such places %s makes more sense; look at them:",
	                                             init->block.encoding));
	if (fits)
		say_places(init, "windows-1252", &windows);
	else
		strings_add(arena, &init->said, "  windows-1252 has no characters for some of its bytes");
	say_places(init, "macintosh", &mac);
	init_read_line(init, arena_printf(arena, "encoding: %s", init->block.encoding), NULL);
	return RECLOSER_OK;
}

recloser_status init_encoding(struct init *init, recloser_error *error)
{
	struct bytes bytes;
	recloser_error refused = {0};
	if (init->options->encoding)
		return RECLOSER_OK; /* init_open has taken it */
	recloser_status status = bytes_open(init->arena, init->inputs[0].read_path, NULL, init->spool, &bytes, &refused);
	if (status == RECLOSER_REFUSED)
		return choose_one(init, error);
	if (status != RECLOSER_OK) {
		*error = refused;
		return status;
	}
	if (bytes.encoding && !encoding_is_utf8(bytes.encoding))
		strings_add(init->arena, &init->said, arena_printf(init->arena, "Encoding: %s, by the mark at its beginning.", bytes.encoding));
	return RECLOSER_OK;
}
