/* SPDX-License-Identifier: Apache-2.0
 * The header is the first row that is wide enough, whose cells are words, and all different, with rows below it that are of
 * another kind or at least do not repeat it. Titles and dates above are narrow; rows of data hold numbers or repeat. */
#include <string.h>

#include "base/number.h"
#include "init/init.h"

enum { CELL_MOST = 200, BELOW = 25 };

bool init_is_words(const char *cell)
{
	char plain[64];
	size_t count = 0, digits = 0, length = strlen(cell);
	double number;
	if (!*cell || length > CELL_MOST || text_equal_nocase(cell, "true") || text_equal_nocase(cell, "false"))
		return false;
	for (const char *p = cell; *p && count < sizeof plain - 1; p++)
		if (!strchr(",$% ", *p))
			plain[count++] = *p;
	plain[count] = '\0';
	if (count == 0 || number_parse(plain, count, &number))
		return false;
	for (const char *p = cell; *p; p++)
		digits += *p >= '0' && *p <= '9';
	return !(digits >= 4 && strspn(cell, "0123456789-/.: TZ+") == length); /* a date or a time */
}

static size_t filled(const struct strings *row)
{
	size_t count = 0;
	for (size_t i = 0; i < row->count; i++)
		count += row->at[i][0] != '\0';
	return count;
}

static bool wordy_and_different(struct arena *arena, const struct strings *row)
{
	size_t words = 0, cells = 0, repeated = 0;
	struct strings seen = {0};
	for (size_t i = 0; i < row->count; i++) {
		if (!row->at[i][0])
			continue;
		const char *squeezed = text_squeezed(arena, row->at[i]);
		words += init_is_words(row->at[i]);
		repeated += strings_has(&seen, squeezed);
		strings_add(arena, &seen, squeezed);
		cells++;
	}
	return cells >= 2 && words * 5 >= cells * 4 && repeated * 10 <= cells;
}

/* Below the row: columns that hold something else than words, and cells that say what the row says. */
static bool below_differs(struct arena *arena, const struct strings *rows, size_t count, size_t at)
{
	size_t other_kind = 0, same = 0, cells = 0;
	const struct strings *head = &rows[at];
	for (size_t c = 0; c < head->count; c++) {
		if (!head->at[c][0])
			continue;
		size_t words = 0, others = 0;
		const char *name = text_squeezed(arena, head->at[c]);
		for (size_t r = at + 1; r < count && r <= at + BELOW; r++) {
			const char *cell = c < rows[r].count ? rows[r].at[c] : "";
			if (!*cell)
				continue;
			cells++;
			bool is_word = init_is_words(cell);
			words += is_word;
			others += !is_word;
			same += strcmp(text_squeezed(arena, cell), name) == 0;
		}
		other_kind += others > words;
	}
	return cells > 0 && (other_kind > 0 || same == 0);
}

int init_header(struct arena *arena, const struct strings *rows, size_t count)
{
	size_t width = 0;
	struct arena *scratch = arena_new(arena);
	int found = -1;
	for (size_t i = 0; i < count; i++) {
		size_t here = filled(&rows[i]);
		width = here > width ? here : width;
	}
	for (size_t i = 0; i < count && found < 0; i++) {
		size_t here = filled(&rows[i]);
		if (here >= 2 && here * 2 >= width && wordy_and_different(scratch, &rows[i]) && below_differs(scratch, rows, count, i))
			found = (int)i;
	}
	arena_free(scratch);
	return found;
}
