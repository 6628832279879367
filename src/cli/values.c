/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers on a command line. Written by hand because strtod takes hexadecimal, infinity, leading blanks and the
 * locale's comma, and strtoll takes signs: none of these is meant by someone who types a size.
 */
#include "values.h"

#include <string.h>
#include <strings.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool value_count(const char *text, int64_t most, int64_t *out)
{
	int64_t number = 0;
	if (!is_digit(*text))
		return false;
	for (; is_digit(*text); text++) {
		int digit = *text - '0';
		if (number > (most - digit) / 10)
			return false;
		number = number * 10 + digit;
	}
	if (*text != '\0')
		return false;
	*out = number;
	return true;
}

/* "12.5" as 125 over 10; at most 18 digits, so that the parts fit. Returns what follows the number, or NULL. */
static const char *decimal(const char *text, uint64_t *digits, uint64_t *scale)
{
	int seen = 0;
	*digits = 0;
	*scale = 1;
	for (; is_digit(*text); text++, seen++)
		*digits = *digits * 10 + (uint64_t)(*text - '0');
	if (seen == 0 || seen > 18)
		return NULL;
	if (*text != '.')
		return text;
	text++;
	if (!is_digit(*text))
		return NULL;
	for (; is_digit(*text); text++, seen++) {
		*digits = *digits * 10 + (uint64_t)(*text - '0');
		*scale *= 10;
		if (seen >= 18)
			return NULL;
	}
	return text;
}

bool value_size(const char *text, uint64_t *bytes)
{
	static const struct {
		const char *name;
		uint64_t bytes;
	} units[] = {{"", 1},
				 {"B", 1},
				 {"K", 1000},
				 {"KB", 1000},
				 {"KIB", 1ull << 10},
				 {"M", 1000000},
				 {"MB", 1000000},
				 {"MIB", 1ull << 20},
				 {"G", 1000000000},
				 {"GB", 1000000000},
				 {"GIB", 1ull << 30},
				 {"T", 1000000000000},
				 {"TB", 1000000000000},
				 {"TIB", 1ull << 40}};
	uint64_t digits, scale;
	const char *unit = decimal(text, &digits, &scale);
	if (unit == NULL)
		return false;
	while (*unit == ' ')
		unit++;
	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
		if (strcasecmp(unit, units[i].name) != 0)
			continue;
		/* In parts, as the product may not fit where the quotient does. */
		uint64_t whole = digits / scale, rest = digits % scale;
		if (whole > UINT64_MAX / 2 / units[i].bytes)
			return false;
		uint64_t product = whole * units[i].bytes + (uint64_t)((double)rest / (double)scale * (double)units[i].bytes);
		if (product == 0)
			return false;
		*bytes = product;
		return true;
	}
	return false;
}

bool value_seconds(const char *text, double *out)
{
	uint64_t digits, scale;
	const char *rest = decimal(text, &digits, &scale);
	if (rest != NULL && strcmp(rest, "s") == 0)
		rest++;
	if (rest == NULL || *rest != '\0')
		return false;
	*out = (double)digits / (double)scale;
	return true;
}
