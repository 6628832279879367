/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text text_on(struct arena *arena)
{
	struct text text = {arena, (char *)"", 0, 0};
	return text;
}

void text_add_n(struct text *text, const char *bytes, size_t count)
{
	size_t need = text->length + count + 1;
	if (need > text->capacity) {
		size_t capacity = text->capacity ? text->capacity * 2 : 128;
		while (capacity < need)
			capacity *= 2;
		text->at = arena_grow(text->arena, text->capacity ? text->at : NULL, text->length, capacity);
		text->capacity = capacity;
	}
	memcpy(text->at + text->length, bytes, count);
	text->length += count;
	text->at[text->length] = '\0';
}

void text_add(struct text *text, const char *string)
{
	text_add_n(text, string, strlen(string));
}

void text_addf(struct text *text, const char *format, ...)
{
	va_list args, again;
	va_start(args, format);
	va_copy(again, args);
	char small[256];
	int length = vsnprintf(small, sizeof small, format, args);
	if (length >= 0 && (size_t)length < sizeof small)
		text_add_n(text, small, (size_t)length);
	else
		text_add(text, arena_vprintf(text->arena, format, again));
	va_end(again);
	va_end(args);
}

void text_clear(struct text *text)
{
	text->length = 0;
	if (text->capacity)
		text->at[0] = '\0';
}

void strings_add(struct arena *arena, struct strings *strings, const char *string)
{
	/* Grows by doubling at powers of two, so that the count alone tells the capacity. */
	size_t count = strings->count;
	if ((count & (count - 1)) == 0) {
		size_t capacity = count ? count * 2 : 1;
		strings->at = arena_grow(arena, (void *)strings->at, count * sizeof *strings->at, capacity * sizeof *strings->at);
	}
	strings->at[strings->count++] = string;
}

bool strings_has(const struct strings *strings, const char *string)
{
	for (size_t i = 0; i < strings->count; i++)
		if (strcmp(strings->at[i], string) == 0)
			return true;
	return false;
}

const char *strings_join(struct arena *arena, const struct strings *strings, const char *between)
{
	struct text text = text_on(arena);
	for (size_t i = 0; i < strings->count; i++) {
		if (i)
			text_add(&text, between);
		text_add(&text, strings->at[i]);
	}
	return text.at;
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void strings_sort(struct strings *strings)
{
	if (strings->count > 1)
		qsort((void *)strings->at, strings->count, sizeof *strings->at, by_bytes);
}

static unsigned char lower(unsigned char c)
{
	return c >= 'A' && c <= 'Z' ? (unsigned char)(c + 32) : c;
}

bool text_equal_nocase(const char *a, const char *b)
{
	for (; *a && *b; a++, b++)
		if (lower((unsigned char)*a) != lower((unsigned char)*b))
			return false;
	return *a == *b;
}

bool text_starts(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool text_ends(const char *text, const char *suffix)
{
	size_t n = strlen(text), m = strlen(suffix);
	return n >= m && strcmp(text + n - m, suffix) == 0;
}

/* The length of white space at `p`: ASCII blanks and controls used as such, and U+00A0 (C2 A0) as sheets have it. */
static size_t space_at(const char *p)
{
	unsigned char c = (unsigned char)*p;
	if (c == ' ' || (c >= '\t' && c <= '\r'))
		return 1;
	return c == 0xC2 && (unsigned char)p[1] == 0xA0 ? 2 : 0;
}

const char *text_squeezed(struct arena *arena, const char *text)
{
	char *out = arena_alloc(arena, strlen(text) + 1), *end = out;
	bool pending = false;
	while (*text) {
		size_t space = space_at(text);
		if (space) {
			pending = end != out;
			text += space;
			continue;
		}
		if (pending)
			*end++ = ' ';
		pending = false;
		unsigned char c = (unsigned char)*text++;
		/* U+00C0..U+00DE fold to U+00E0..U+00FE: in UTF-8 the second byte gains 0x20; U+00D7 is a sign. */
		if (end != out && (unsigned char)end[-1] == 0xC3 && c >= 0x80 && c <= 0x9E && c != 0x97)
			c = (unsigned char)(c + 0x20);
		*end++ = (char)lower(c);
	}
	*end = '\0';
	return out;
}

static size_t least(size_t a, size_t b, size_t c)
{
	size_t m = a < b ? a : b;
	return m < c ? m : c;
}

/* Levenshtein's distance over lower-cased bytes, two rows at a time; words over 63 bytes are not compared. */
static size_t distance(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b), row[64];
	if (n > 63 || m > 63)
		return SIZE_MAX;
	for (size_t j = 0; j <= m; j++)
		row[j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			size_t same = lower((unsigned char)a[i - 1]) == lower((unsigned char)b[j - 1]);
			size_t next = least(row[j] + 1, row[j - 1] + 1, diagonal + !same);
			diagonal = row[j];
			row[j] = next;
		}
	}
	return row[m];
}

const char *text_nearest(const char *word, const char *const *candidates, size_t count)
{
	const char *best = NULL;
	size_t limit = strlen(word) / 3 + 1, best_distance = limit + 1;
	for (size_t i = 0; i < count; i++) {
		size_t d = distance(word, candidates[i]);
		if (d < best_distance) {
			best_distance = d;
			best = candidates[i];
		}
	}
	return best;
}

static bool class_has(const char **pattern, unsigned char c, bool fold)
{
	const char *p = *pattern + 1;
	bool negate = *p == '!' || *p == '^', found = false;
	if (negate)
		p++;
	for (bool first = true; *p && (first || *p != ']'); first = false) {
		unsigned char low = (unsigned char)*p++, high = low;
		if (p[0] == '-' && p[1] && p[1] != ']') {
			high = (unsigned char)p[1];
			p += 2;
		}
		found |= c >= low && c <= high;
		if (fold)
			found |= lower(c) >= lower(low) && lower(c) <= lower(high);
	}
	*pattern = *p ? p + 1 : p;
	return found != negate;
}

static bool match_one(const char *p, const char *p_end, const char *t, bool fold)
{
	for (; p < p_end; t++) {
		if (*p == '*') {
			while (p < p_end && *p == '*')
				p++;
			for (; *t; t++)
				if (match_one(p, p_end, t, fold))
					return true;
			return p == p_end;
		}
		if (!*t)
			return false;
		if (*p == '?')
			p++;
		else if (*p == '[' && memchr(p, ']', (size_t)(p_end - p))) {
			if (!class_has(&p, (unsigned char)*t, fold))
				return false;
		} else {
			unsigned char a = (unsigned char)*p++, b = (unsigned char)*t;
			if (fold ? lower(a) != lower(b) : a != b)
				return false;
		}
	}
	return !*t;
}

bool text_matches(const char *pattern, const char *text, bool fold_case)
{
	for (;;) {
		const char *end = strchr(pattern, '|');
		if (match_one(pattern, end ? end : pattern + strlen(pattern), text, fold_case))
			return true;
		if (!end)
			return false;
		pattern = end + 1;
	}
}

/* Well-formed UTF-8 as in Table 3-7 of the Unicode Standard: no overlong forms, no surrogates, nothing over U+10FFFF. */
size_t text_utf8_fault(const char *bytes, size_t count)
{
	const unsigned char *p = (const unsigned char *)bytes;
	size_t i = 0;
	while (i < count) {
		if (count - i >= 8) { /* eight ASCII bytes at a time: most data is that */
			uint64_t word;
			memcpy(&word, p + i, 8);
			if (!(word & 0x8080808080808080u)) {
				i += 8;
				continue;
			}
		}
		unsigned char c = p[i];
		if (c < 0x80) {
			i++;
			continue;
		}
		size_t more = c >= 0xC2 && c <= 0xDF ? 1 : (c & 0xF0) == 0xE0 ? 2 : c >= 0xF0 && c <= 0xF4 ? 3 : 0;
		if (!more || count - i <= more)
			return i;
		unsigned char low = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;
		unsigned char high = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
		if (p[i + 1] < low || p[i + 1] > high)
			return i;
		for (size_t k = 2; k <= more; k++)
			if ((p[i + k] & 0xC0) != 0x80)
				return i;
		i += more + 1;
	}
	return SIZE_MAX;
}

const char *text_count(struct arena *arena, uint64_t number)
{
	char digits[32];
	int length = snprintf(digits, sizeof digits, "%" PRIu64, number);
	struct text text = text_on(arena);
	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			text_add(&text, ",");
		text_add_n(&text, digits + i, 1);
	}
	return text.at;
}

const char *text_bytes(struct arena *arena, uint64_t bytes)
{
	if (bytes < 1000)
		return arena_printf(arena, "%" PRIu64 " B", bytes);
	if (bytes < 100000)
		return arena_printf(arena, "%.1f kB", (double)bytes / 1e3);
	if (bytes < 1000000000)
		return arena_printf(arena, "%.1f MB", (double)bytes / 1e6);
	return arena_printf(arena, "%.1f GB", (double)bytes / 1e9);
}

int text_in_order(const char *a, const char *b)
{
	size_t digits_a = strspn(a, "0123456789"), digits_b = strspn(b, "0123456789");
	if (digits_a && digits_b && !a[digits_a] && !b[digits_b]) {
		a += strspn(a, "0");
		b += strspn(b, "0");
		size_t length_a = strlen(a), length_b = strlen(b);
		if (length_a != length_b)
			return length_a < length_b ? -1 : 1;
	}
	return strcmp(a, b);
}

const char *text_snake(struct arena *arena, const char *name)
{
	const char *squeezed = text_squeezed(arena, name);
	struct text out = text_on(arena);
	for (const char *p = squeezed; *p; p++) {
		bool word = (*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') || (unsigned char)*p >= 0x80;
		if (word)
			text_add_n(&out, p, 1);
		else if (out.length && out.at[out.length - 1] != '_')
			text_add(&out, "_");
	}
	while (out.length && out.at[out.length - 1] == '_')
		out.at[--out.length] = '\0';
	return out.length ? out.at : "column";
}
