/* SPDX-License-Identifier: Apache-2.0
 * Numbers as JSON spells them: the nearest double, and whether it says the same. */
#include "base/json_scan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

enum { MOST_DIGITS = 780 }; /* a double has at most 767 significant digits */

/* A number taken apart: 0.d1d2d3... * 10^exponent. */
struct parts {
	int significant; /* digits without leading and trailing zeros; capped at MOST_DIGITS */
	int64_t exponent;
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
	parts->significant = 0;
	if (*at == '-')
		at++;
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
	parts->exponent = before + (at < end ? exponent_of(at + 1, end) : 0);
}

double value_double(const struct value *number)
{
	double value;
	if (number_parse(number->at, number->count, &value))
		return value;
	return *number->at == '-' ? -INFINITY : INFINITY;
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
	double value = value_double(number);
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
