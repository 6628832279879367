/* SPDX-License-Identifier: Apache-2.0
 * Number formats. A date in a workbook is a number whose format says so; the format's letters are the only evidence.
 *
 * Only the first section counts (the one for positive numbers). Letters in quotes, behind a backslash, after `_` (width of a
 * character) or `*` (fill) are text. Brackets hold colours, conditions and locales, and also [h], [m], [s]: time that does
 * not wrap at 24 hours, that is, a duration. */
#include "source/xlsx.h"

#include <string.h>

/* Formats that have a number and no text in the file. 27 to 36 and 50 to 58 are dates of the East Asian versions. */
enum xlsx_style xlsx_style_of_builtin(int64_t id)
{
	if ((id >= 14 && id <= 17) || id == 22)
		return STYLE_DATE;
	if ((id >= 18 && id <= 21) || id == 45 || id == 47)
		return STYLE_TIME;
	if (id == 46)
		return STYLE_DURATION;
	if ((id >= 32 && id <= 35) || id == 55 || id == 56)
		return STYLE_TIME;
	return (id >= 27 && id <= 36) || (id >= 50 && id <= 58) ? STYLE_DATE : STYLE_PLAIN;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

/* [h], [hh], [mm], [s]: one of these letters, repeated. */
static bool elapsed(const char *inside, size_t length)
{
	char first = length ? lower(inside[0]) : 0;
	if (first != 'h' && first != 'm' && first != 's')
		return false;
	for (size_t i = 1; i < length; i++)
		if (lower(inside[i]) != first)
			return false;
	return true;
}

/* What is text ends before this: behind the closing quote, the escaped character. */
static const char *skip_text(const char *p)
{
	if (*p == '"') {
		const char *end = strchr(p + 1, '"');
		return end ? end + 1 : p + strlen(p);
	}
	return p[1] ? p + 2 : p + 1;
}

enum xlsx_style xlsx_style_of_format(const char *format)
{
	bool day_or_year = false, month_or_minute = false, hour_or_second = false, duration = false;
	if (text_equal_nocase(format, "General"))
		return STYLE_PLAIN;
	for (const char *p = format; *p && *p != ';';) {
		if (*p == '"' || *p == '\\' || *p == '_' || *p == '*') {
			p = skip_text(p);
			continue;
		}
		const char *close = *p == '[' ? strchr(p, ']') : NULL;
		if (close) {
			duration |= elapsed(p + 1, (size_t)(close - p - 1));
			p = close + 1;
			continue;
		}
		char c = lower(*p++);
		day_or_year |= c == 'd' || c == 'y';
		month_or_minute |= c == 'm';
		hour_or_second |= c == 'h' || c == 's';
	}
	if (duration)
		return STYLE_DURATION;
	if (day_or_year || (month_or_minute && !hour_or_second))
		return STYLE_DATE;
	return hour_or_second ? STYLE_TIME : STYLE_PLAIN;
}
