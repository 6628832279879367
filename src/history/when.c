/* SPDX-License-Identifier: Apache-2.0
 * Times as a person types them. UTC, by the calendar that the C library's time functions would give, but without them: they
 * know time zones, and the answer must not depend on one. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "history/history.h"

static const int64_t SECOND = 1000000, MINUTE = 60 * (int64_t)1000000, HOUR = 3600 * (int64_t)1000000,
					 DAY = 86400 * (int64_t)1000000;

/* Days since 1970-01-01 of the proleptic Gregorian calendar; years are counted from March, so that the leap day is the last.
 */
static int64_t days_of(int64_t year, int month, int day)
{
	year -= month <= 2;
	int64_t era = (year >= 0 ? year : year - 399) / 400, in_era = year - era * 400;
	int64_t in_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	return era * 146097 + in_era * 365 + in_era / 4 - in_era / 100 + in_year - 719468;
}

static void date_of(int64_t days, int64_t *year, int *month, int *day)
{
	days += 719468;
	int64_t era = (days >= 0 ? days : days - 146096) / 146097, in_era = days - era * 146097;
	int64_t of_era = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
	int64_t in_year = in_era - (365 * of_era + of_era / 4 - of_era / 100), shifted = (5 * in_year + 2) / 153;
	*day = (int)(in_year - (153 * shifted + 2) / 5 + 1);
	*month = (int)(shifted < 10 ? shifted + 3 : shifted - 9);
	*year = of_era + era * 400 + (*month <= 2);
}

static int month_days(int64_t year, int month)
{
	return (int)(month == 12 ? 31 : days_of(year, month + 1, 1) - days_of(year, month, 1));
}

/* `count` digits exactly. */
static bool digits(const char **text, int count, int *out)
{
	*out = 0;
	for (; count > 0; count--, ++*text) {
		if (**text < '0' || **text > '9')
			return false;
		*out = *out * 10 + (**text - '0');
	}
	return true;
}

static bool fraction(const char **text, int64_t *us, int64_t *unit)
{
	*unit = SECOND;
	for (int count = 0; **text >= '0' && **text <= '9'; ++*text, count++) {
		if (count == 6)
			return false;
		*unit /= 10;
		*us += (**text - '0') * *unit;
	}
	return *unit < SECOND;
}

/* Hours and what follows them. */
static bool clock_part(const char **text, int64_t *us, int64_t *unit)
{
	int hour, minute, second;
	if (!digits(text, 2, &hour) || **text != ':')
		return false;
	++*text;
	if (!digits(text, 2, &minute) || hour > 23 || minute > 59)
		return false;
	*us += hour * HOUR + minute * MINUTE;
	*unit = MINUTE;
	if (**text != ':')
		return true;
	++*text;
	if (!digits(text, 2, &second) || second > 59)
		return false;
	*us += second * SECOND;
	*unit = SECOND;
	if (**text != '.')
		return true;
	++*text;
	return fraction(text, us, unit);
}

static bool parse(const char *text, int64_t *begin, int64_t *unit)
{
	int year, month, day;
	if (!digits(&text, 4, &year) || *text++ != '-' || !digits(&text, 2, &month) || *text++ != '-' || !digits(&text, 2, &day))
		return false;
	if (month < 1 || month > 12 || day < 1 || day > month_days(year, month))
		return false;
	*begin = days_of(year, month, day) * DAY;
	*unit = DAY;
	if (*text == '\0')
		return true;
	if (*text != 'T' && *text != ' ')
		return false;
	text++;
	if (!clock_part(&text, begin, unit))
		return false;
	return strcmp(text, "") == 0 || strcmp(text, "Z") == 0;
}

bool when_begin(const char *text, int64_t *out)
{
	int64_t unit;
	return parse(text, out, &unit);
}

bool when_end(const char *text, int64_t *out)
{
	int64_t unit;
	if (!parse(text, out, &unit))
		return false;
	*out += unit - 1;
	return true;
}

static int64_t months_before(int64_t now, int64_t months)
{
	int64_t days = now / DAY - (now % DAY < 0), year;
	int month, day;
	date_of(days, &year, &month, &day);
	int64_t all = year * 12 + month - 1 - months;
	year = all / 12 - (all % 12 < 0);
	month = (int)(all - year * 12) + 1;
	int last = month_days(year, month);
	return days_of(year, month, day < last ? day : last) * DAY + (now - days * DAY);
}

bool when_before(const char *span, int64_t now, int64_t *out)
{
	int64_t count = 0;
	const char *at = span;
	for (; *at >= '0' && *at <= '9'; at++) {
		count = count * 10 + (*at - '0');
		if (count > 1000000)
			return false;
	}
	if (at == span)
		return false;
	while (*at == ' ')
		at++;
	static const struct {
		const char *word;
		int days, months;
	} units[] = {{"d", 1, 0}, {"day", 1, 0},   {"days", 1, 0},   {"w", 7, 0},  {"week", 7, 0},  {"weeks", 7, 0},
				 {"m", 0, 1}, {"month", 0, 1}, {"months", 0, 1}, {"y", 0, 12}, {"year", 0, 12}, {"years", 0, 12}};
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (strcmp(at, units[i].word) == 0) {
			*out = units[i].days ? now - count * units[i].days * DAY : months_before(now, count * units[i].months);
			return true;
		}
	return false;
}

const char *when_shown(struct arena *arena, const char *loaded_at)
{
	if (!loaded_at || strlen(loaded_at) < 16)
		return loaded_at ? loaded_at : "";
	return arena_printf(arena, "%.10s %.5s", loaded_at, loaded_at + 11);
}
