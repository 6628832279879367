/* SPDX-License-Identifier: Apache-2.0
 * Growing text on an arena, and lists of strings. */
#ifndef RECLOSER_BASE_TEXT_H
#define RECLOSER_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

/* Always NUL-terminated once anything was added; `at` is "" before. Init with text_on(arena). */
struct text {
	struct arena *arena;
	char *at;
	size_t length, capacity;
};
struct text text_on(struct arena *arena);
void text_add(struct text *text, const char *string);
void text_add_n(struct text *text, const char *bytes, size_t count);
void text_addf(struct text *text, const char *format, ...) RC_PRINTF(2, 3);
void text_clear(struct text *text);

struct strings {
	const char **at;
	size_t count;
};
void strings_add(struct arena *arena, struct strings *strings, const char *string);
bool strings_has(const struct strings *strings, const char *string);
const char *strings_join(struct arena *arena, const struct strings *strings, const char *between);
void strings_sort(struct strings *strings); /* by bytes */

/* ASCII only, whatever the locale. */
bool text_equal_nocase(const char *a, const char *b);
bool text_starts(const char *text, const char *prefix);
bool text_ends(const char *text, const char *suffix);
/* White space (also line breaks, NBSP) squeezed to one blank, ends trimmed, ASCII and Latin letters folded to lower case:
 * how column and sheet names are compared. */
const char *text_squeezed(struct arena *arena, const char *text);
/* A column name of it: "Plant Code (EIA)" gives "plant_code_eia"; "column" where nothing is left. */
const char *text_snake(struct arena *arena, const char *name);
/* The nearest of `candidates` to `word` by edit distance, or NULL when none is near enough to be meant. */
/* Order of values that follow each other: numbers as numbers, whatever their digits (week 9 comes before week 10), all else by bytes. */
int text_in_order(const char *a, const char *b);
const char *text_nearest(const char *word, const char *const *candidates, size_t count);
/* fnmatch(3)-like: `*`, `?`, `[...]`, case-blind when asked; `|` between alternatives. */
bool text_matches(const char *pattern, const char *text, bool fold_case);
/* The offset of the first byte that is not UTF-8, or SIZE_MAX. */
size_t text_utf8_fault(const char *bytes, size_t count);
/* 1881 -> "1,881". */
const char *text_count(struct arena *arena, uint64_t number);
/* "0.2 MB", "48 kB" for people. */
const char *text_bytes(struct arena *arena, uint64_t bytes);

#endif
