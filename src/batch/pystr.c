/* SPDX-License-Identifier: Apache-2.0
 * Numbers, dates and times as Python's str() writes them.
 *
 * The engine's own double-to-text is not used anywhere: it is wrong for 2^81, 2^91 and 2^807. */
#include "batch/pystr.h"

#include <math.h>
#include <string.h>

#include "base/number.h"

static size_t finish(char *out, char *end)
{
	*end = '\0';
	return (size_t)(end - out);
}

static char *put_bytes(char *to, const char *bytes, size_t count)
{
	memcpy(to, bytes, count);
	return to + count;
}

static char *put_digits(char *to, uint64_t value, int width)
{
	for (int i = width - 1; i >= 0; i--) {
		to[i] = (char)('0' + value % 10);
		value /= 10;
	}
	return to + width;
}

static char *put_uint128(char *to, unsigned __int128 value)
{
	char digits[40];
	int count = 0;
	do {
		digits[count++] = (char)('0' + (int)(value % 10));
		value /= 10;
	} while (value);
	while (count)
		*to++ = digits[--count];
	return to;
}

static char *put_uint(char *to, uint64_t value)
{
	char digits[20];
	int count = 0;
	do {
		digits[count++] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	while (count)
		*to++ = digits[--count];
	return to;
}

size_t pystr_none(char *out)
{
	memcpy(out, "None", 5);
	return 4;
}

size_t pystr_bool(bool value, char *out)
{
	memcpy(out, value ? "True" : "False", value ? 5 : 6);
	return value ? 4 : 5;
}

size_t pystr_int(int64_t value, char *out)
{
	char *to = out;
	if (value < 0)
		*to++ = '-';
	return finish(out, put_uint(to, value < 0 ? 0 - (uint64_t)value : (uint64_t)value));
}

size_t pystr_uint(uint64_t value, char *out)
{
	return finish(out, put_uint(out, value));
}

size_t pystr_int128(__int128 value, char *out)
{
	char *to = out;
	if (value < 0)
		*to++ = '-';
	return finish(out, put_uint128(to, value < 0 ? 0 - (unsigned __int128)value : (unsigned __int128)value));
}

/* ---- doubles ---- */

/* Python's repr: fixed from 1e-4 up to below 1e16, else with an exponent of at least two digits. */
static char *put_exponent_form(char *to, const char *digits, size_t count, int exponent)
{
	*to++ = digits[0];
	if (count > 1) {
		*to++ = '.';
		to = put_bytes(to, digits + 1, count - 1);
	}
	*to++ = 'e';
	*to++ = exponent < 0 ? '-' : '+';
	int size = exponent < 0 ? -exponent : exponent;
	return put_digits(to, (uint64_t)size, size >= 100 ? 3 : 2);
}

static char *put_fixed_form(char *to, const char *digits, int count, int exponent)
{
	if (exponent < 0) {
		to = put_bytes(to, "0.", 2);
		for (int i = -1; i > exponent; i--)
			*to++ = '0';
		return put_bytes(to, digits, (size_t)count);
	}
	for (int i = 0; i <= exponent; i++)
		*to++ = i < count ? digits[i] : '0';
	if (count <= exponent + 1)
		return put_bytes(to, ".0", 2);
	*to++ = '.';
	return put_bytes(to, digits + exponent + 1, (size_t)(count - exponent - 1));
}

size_t pystr_double(double value, char *out)
{
	if (isnan(value)) /* without its sign, which Python does not show */
		return finish(out, put_bytes(out, "nan", 3));
	char *to = out;
	if (signbit(value))
		*to++ = '-';
	if (isinf(value))
		return finish(out, put_bytes(to, "inf", 3));
	char digits[NUMBER_DIGITS];
	int exponent;
	size_t count = number_digits(value, digits, &exponent);
	if (exponent < -4 || exponent >= 16)
		return finish(out, put_exponent_form(to, digits, count, exponent));
	return finish(out, put_fixed_form(to, digits, (int)count, exponent));
}

/* ---- decimals ---- */

/* Python's Decimal keeps the scale; it changes to an exponent when the first digit stands below the sixth place. */
size_t pystr_decimal(__int128 unscaled, int scale, char *out)
{
	char digits[48], *to = out;
	unsigned __int128 size = unscaled < 0 ? 0 - (unsigned __int128)unscaled : (unsigned __int128)unscaled;
	int count = (int)(put_uint128(digits, size) - digits);
	int exponent = count - 1 - scale;
	if (unscaled < 0)
		*to++ = '-';
	if (exponent < -6) {
		*to++ = digits[0];
		if (count > 1) {
			*to++ = '.';
			to = put_bytes(to, digits + 1, (size_t)count - 1);
		}
		to = put_bytes(to, "E-", 2);
		return finish(out, put_uint128(to, (unsigned)-exponent));
	}
	int whole = count - scale; /* digits before the point; below 1 a zero stands there */
	if (whole < 1)
		*to++ = '0';
	else
		to = put_bytes(to, digits, (size_t)whole);
	if (scale > 0)
		*to++ = '.';
	for (int at = whole; at < count; at++)
		*to++ = at >= 0 ? digits[at] : '0';
	return finish(out, to);
}

/* ---- dates and times ---- */

enum { DAY_FIRST = -719162, DAY_LAST = 2932896 }; /* 0001-01-01 and 9999-12-31 */
static const int64_t DAY_US = 86400000000;

/* The proleptic Gregorian calendar, with years that begin in March so that the leap day comes last. */
static char *put_date(char *to, int64_t days)
{
	int64_t shifted = days + 719468; /* days since 0000-03-01 */
	int64_t era = shifted / 146097;  /* never negative in the range */
	int64_t of_era = shifted % 146097;
	int64_t year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	int64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	int64_t march_month = (5 * of_year + 2) / 153;
	int64_t day = of_year - (153 * march_month + 2) / 5 + 1;
	int64_t month = march_month < 10 ? march_month + 3 : march_month - 9;
	int64_t year = era * 400 + year_of_era + (month <= 2);
	to = put_digits(to, (uint64_t)year, 4);
	*to++ = '-';
	to = put_digits(to, (uint64_t)month, 2);
	*to++ = '-';
	return put_digits(to, (uint64_t)day, 2);
}

static char *put_time(char *to, int64_t us)
{
	int64_t seconds = us / 1000000, rest = us % 1000000;
	to = put_digits(to, (uint64_t)(seconds / 3600), 2);
	*to++ = ':';
	to = put_digits(to, (uint64_t)(seconds / 60 % 60), 2);
	*to++ = ':';
	to = put_digits(to, (uint64_t)(seconds % 60), 2);
	if (rest) {
		*to++ = '.';
		to = put_digits(to, (uint64_t)rest, 6);
	}
	return to;
}

size_t pystr_date(int64_t days, char *out)
{
	if (days < DAY_FIRST || days > DAY_LAST) {
		*out = '\0';
		return 0;
	}
	return finish(out, put_date(out, days));
}

size_t pystr_timestamp(int64_t us, char *out)
{
	int64_t days = us / DAY_US, rest = us % DAY_US;
	if (rest < 0) {
		rest += DAY_US;
		days--;
	}
	if (pystr_date(days, out) == 0)
		return 0;
	out[10] = ' ';
	return finish(out, put_time(out + 11, rest));
}

size_t pystr_timestamptz(int64_t us, char *out)
{
	size_t length = pystr_timestamp(us, out);
	if (length == 0)
		return 0;
	memcpy(out + length, "+00:00", 7);
	return length + 6;
}

size_t pystr_time(int64_t us, char *out)
{
	if (us < 0 || us >= DAY_US) { /* 24:00:00 is a time to the engine, not to Python */
		*out = '\0';
		return 0;
	}
	return finish(out, put_time(out, us));
}

size_t pystr_uuid(const uint8_t big_endian[16], char *out)
{
	static const char digits[] = "0123456789abcdef";
	char *to = out;
	for (int i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*to++ = '-';
		*to++ = digits[big_endian[i] >> 4];
		*to++ = digits[big_endian[i] & 15];
	}
	return finish(out, to);
}
