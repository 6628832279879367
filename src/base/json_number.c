/* SPDX-License-Identifier: Apache-2.0
 * Numbers as JSON spells them: the nearest double, and whether it says the same. */
#define _GNU_SOURCE /* strtod_l */
#include "base/json_scan.h"

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DIGITS = 780 }; /* a double has at most 767 significant digits */

/* A number taken apart: the first digits as an integer, and the power of ten that belongs to it. */
struct parts {
	bool negative;
	uint64_t mantissa;  /* of the first 19 significant digits */
	int significant;    /* without leading and trailing zeros; capped at MOST_DIGITS */
	int64_t exponent;   /* value = 0.d1d2d3... * 10^exponent over all significant digits */
	int64_t shift;      /* value = mantissa * 10^shift when significant <= 19 */
	char digits[MOST_DIGITS];
};

static int64_t exponent_of(const char *at, const char *end)
{
	bool minus = at < end && *at == '-';
	int64_t number = 0;
	if (at < end && (*at == '-' || *at == '+'))
		at++;
	for (; at < end && number < 100000000; at++)
		number = number * 10 + (*at - '0');
	return minus ? -number : number;
}

static void take_apart(const struct value *number, struct parts *parts)
{
	const char *at = number->at, *end = at + number->count;
	int64_t before = 0; /* digits before the point, counted from the first that is not 0; negative: zeros after it */
	bool point = false;
	int trailing = 0;
	memset(parts, 0, offsetof(struct parts, digits));
	if (*at == '-') {
		parts->negative = true;
		at++;
	}
	for (; at < end && *at != 'e' && *at != 'E'; at++) {
		if (*at == '.') {
			point = true;
			continue;
		}
		if (*at == '0' && parts->significant == 0 && trailing == 0) {
			before -= point;
			continue;
		}
		before += !point;
		if (*at == '0') {
			trailing++;
			continue;
		}
		for (; trailing > 0 && parts->significant < MOST_DIGITS; trailing--)
			parts->digits[parts->significant++] = '0';
		trailing = 0;
		if (parts->significant < MOST_DIGITS)
			parts->digits[parts->significant++] = *at;
	}
	for (int i = 0; i < parts->significant && i < 19; i++)
		parts->mantissa = parts->mantissa * 10 + (uint64_t)(parts->digits[i] - '0');
	parts->exponent = before + (at < end ? exponent_of(at + 1, end) : 0);
	parts->shift = parts->exponent - parts->significant;
}

static locale_t c_locale;
static void make_locale(void)
{
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static double by_library(const struct value *number)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, make_locale);
	char small[128], *copy = number->count < sizeof small ? small : malloc(number->count + 1);
	if (!copy)
		return NAN;
	memcpy(copy, number->at, number->count);
	copy[number->count] = '\0';
	double result = c_locale ? strtod_l(copy, NULL, c_locale) : strtod(copy, NULL);
	if (copy != small)
		free(copy);
	return result;
}

static double to_double(const struct value *number, const struct parts *parts)
{
	static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
	                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
	/* Both numbers are exact in a double, so that the one rounding of the division or product is the right one. */
	if (parts->significant <= 19 && parts->mantissa <= 9007199254740992u && parts->shift >= -22 && parts->shift <= 22) {
		double value = (double)parts->mantissa;
		value = parts->shift < 0 ? value / powers[-parts->shift] : value * powers[parts->shift];
		return parts->negative ? -value : value;
	}
	return by_library(number);
}

double value_double(const struct value *number)
{
	struct parts parts;
	take_apart(number, &parts);
	return to_double(number, &parts);
}

bool value_exact(const struct value *number)
{
	struct parts parts;
	take_apart(number, &parts);
	if (parts.significant == 0)
		return true;
	if (parts.significant <= 15 && parts.exponent > -300 && parts.exponent < 300)
		return true; /* 15 digits always survive a double */
	if (parts.significant >= MOST_DIGITS)
		return false;
	double value = to_double(number, &parts);
	if (!isfinite(value) || value == 0)
		return false;
	/* Only digits and the exponent are compared: the locale may have another point. */
	char printed[MOST_DIGITS + 32];
	snprintf(printed, sizeof printed, "%.*e", parts.significant - 1, fabs(value));
	const char *at = printed;
	for (int i = 0; i < parts.significant; at++)
		if (*at >= '0' && *at <= '9') {
			if (*at != parts.digits[i++])
				return false;
		} else if (*at == 'e' || *at == '\0') {
			return false;
		}
	const char *exponent = strchr(at, 'e');
	return exponent && strtoll(exponent + 1, NULL, 10) == parts.exponent - 1;
}

bool value_int64(const struct value *number, int64_t *out)
{
	bool negative = *number->at == '-';
	const char *at = number->at + negative, *end = number->at + number->count;
	uint64_t limit = (uint64_t)INT64_MAX + negative, result = 0;
	if (number->kind != VALUE_INTEGER || end - at > 19 || (negative && *at == '0'))
		return false;
	for (; at < end; at++)
		result = result * 10 + (uint64_t)(*at - '0');
	if (result > limit)
		return false;
	*out = negative ? (int64_t)(0 - result) : (int64_t)result;
	return true;
}
