/* SPDX-License-Identifier: Apache-2.0
 * The C library converts correctly but with the decimal point of the locale. Digits are therefore taken from its output by
 * leaving out whatever stands between them, and texts are handed to it with the locale's own point put in. */
#include "base/number.h"

#include <float.h>
#include <langinfo.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Both sides of the round trip are the C library's, so the point is the same in both, whatever it is. */
static bool reads_back(double value, const char *text)
{
	return strtod(text, NULL) == value;
}

/* Take "d.ddde-XX" apart; trailing zeros go. */
static size_t take_apart(const char *text, char digits[NUMBER_DIGITS], int *exponent)
{
	size_t count = 0;
	const char *p = text;
	for (; *p && *p != 'e'; p++)
		if (*p >= '0' && *p <= '9' && count < NUMBER_DIGITS - 1)
			digits[count++] = *p;
	*exponent = *p ? atoi(p + 1) : 0;
	while (count > 1 && digits[count - 1] == '0')
		count--;
	digits[count] = '\0';
	return count;
}

/* Below a power of two doubles lie twice as dense as above it, so the shortest text may be the next larger one of its
 * length, which rounding to nearest does not give. */
static bool next_larger(double value, char *text)
{
	char *e = strchr(text, 'e');
	for (char *p = e; p-- > text;) {
		if (*p < '0' || *p > '9')
			continue;
		if (*p != '9') {
			++*p;
			return reads_back(value, text);
		}
		*p = '0';
	}
	return false; /* all nines: the longer text serves */
}

size_t number_digits(double value, char digits[NUMBER_DIGITS], int *exponent)
{
	value = fabs(value);
	if (value == 0) {
		memcpy(digits, "0", 2);
		*exponent = 0;
		return 1;
	}
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	bool power_of_two = (bits & 0xFFFFFFFFFFFFFu) == 0;
	char text[64];
	/* Fifteen digits are kept by every normal double, so fewer need not be tried: their zeros are cut off. */
	for (int count = value < DBL_MIN ? 1 : DBL_DIG; count < 17; count++) {
		snprintf(text, sizeof text, "%.*e", count - 1, value);
		if (reads_back(value, text) || (power_of_two && next_larger(value, text)))
			return take_apart(text, digits, exponent);
	}
	snprintf(text, sizeof text, "%.16e", value);
	return take_apart(text, digits, exponent);
}

static char *put_zeros(char *out, int count)
{
	while (count-- > 0)
		*out++ = '0';
	return out;
}

static char *put(char *out, const char *bytes, size_t count)
{
	memcpy(out, bytes, count);
	return out + count;
}

static size_t shortest_whole(double value, char *out)
{
	return (size_t)snprintf(out, NUMBER_MAX, "%lld", (long long)value);
}

size_t number_shortest(double value, char out[NUMBER_MAX])
{
	if (!isfinite(value))
		return (size_t)snprintf(out, NUMBER_MAX, "%s", isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity");
	if (fabs(value) < 1e15 && value == (double)(long long)value)
		return shortest_whole(value, out);
	char digits[NUMBER_DIGITS];
	int exponent;
	size_t count = number_digits(value, digits, &exponent);
	char *p = out;
	if (value < 0)
		*p++ = '-';
	if (exponent >= -6 && exponent < 0) {
		p = put(p, "0.", 2);
		p = put_zeros(p, -exponent - 1);
		p = put(p, digits, count);
	} else if (exponent >= 0 && exponent < 21) {
		size_t whole = (size_t)exponent + 1;
		p = put(p, digits, whole < count ? whole : count);
		if (whole < count) {
			*p++ = '.';
			p = put(p, digits + whole, count - whole);
		}
		p = put_zeros(p, (int)whole - (int)count);
	} else {
		*p++ = digits[0];
		if (count > 1) {
			*p++ = '.';
			p = put(p, digits + 1, count - 1);
		}
		p += snprintf(p, 8, "e%+d", exponent);
	}
	*p = '\0';
	return (size_t)(p - out);
}

struct decimal {
	uint64_t digits; /* the first nineteen */
	int significant; /* how many there are, leading zeros not counted */
	int exponent;    /* of the last of them */
	size_t point;    /* where the point is, SIZE_MAX: nowhere */
	bool negative;
};

static bool scan_exponent(const char *text, size_t length, size_t i, int *out)
{
	int sign = 1, value = 0;
	if (i < length && (text[i] == '+' || text[i] == '-'))
		sign = text[i++] == '-' ? -1 : 1;
	if (i == length)
		return false;
	for (; i < length; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		if (value < 100000)
			value = value * 10 + (text[i] - '0');
	}
	*out = sign * value;
	return true;
}

static bool scan(const char *text, size_t length, struct decimal *d)
{
	size_t i = 0, seen = 0;
	*d = (struct decimal){.point = SIZE_MAX};
	if (i < length && (text[i] == '+' || text[i] == '-'))
		d->negative = text[i++] == '-';
	for (; i < length && text[i] != 'e' && text[i] != 'E'; i++) {
		if (text[i] == '.' && d->point == SIZE_MAX) {
			d->point = i;
			continue;
		}
		if (text[i] < '0' || text[i] > '9')
			return false;
		seen++;
		if (d->significant == 0 && text[i] == '0') {
			d->exponent -= d->point != SIZE_MAX;
			continue;
		}
		if (d->significant++ < 19) {
			d->digits = d->digits * 10 + (uint64_t)(text[i] - '0');
			d->exponent -= d->point != SIZE_MAX;
		} else
			d->exponent += d->point == SIZE_MAX;
	}
	int exponent = 0;
	if (!seen || (i < length && !scan_exponent(text, length, i + 1, &exponent)))
		return false;
	d->exponent += exponent;
	return true;
}

/* The C library's conversion of `text` with the locale's point instead of ours. */
static bool parse_slowly(const char *text, size_t length, size_t point, double *out)
{
	const char *radix = nl_langinfo(RADIXCHAR);
	size_t radix_length = strlen(radix);
	char small[128], *copy = length + radix_length < sizeof small ? small : malloc(length + radix_length + 1);
	if (!copy)
		return false;
	char *p = copy;
	if (point == SIZE_MAX)
		p = put(p, text, length);
	else {
		p = put(p, text, point);
		p = put(p, radix, radix_length);
		p = put(p, text + point + 1, length - point - 1);
	}
	*p = '\0';
	char *end;
	*out = strtod(copy, &end);
	bool all = end == p && isfinite(*out);
	if (copy != small)
		free(copy);
	return all;
}

bool number_parse(const char *text, size_t length, double *out)
{
	static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
									1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
	struct decimal d;
	if (!scan(text, length, &d))
		return false;
	if (d.digits == 0 && d.significant == 0) {
		*out = d.negative ? -0.0 : 0.0;
		return true;
	}
	/* Digits and power are both exact doubles here, so that the one rounding of the operation is the right one. */
	if (d.digits < (UINT64_C(1) << 53) && d.significant <= 19 && d.exponent >= -22 && d.exponent <= 22) {
		double value = (double)d.digits;
		value = d.exponent < 0 ? value / powers[-d.exponent] : value * powers[d.exponent];
		*out = d.negative ? -value : value;
		return true;
	}
	return parse_slowly(text, length, d.point, out);
}
