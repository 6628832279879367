/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hive.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static bool is_plain(unsigned char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || strchr("_-.~", c) != NULL;
}

static void add_encoded(struct text *out, const char *value)
{
	for (; *value; value++) {
		unsigned char c = (unsigned char)*value;
		if (c != '\0' && is_plain(c))
			text_add_n(out, value, 1);
		else
			text_addf(out, "%%%02X", c);
	}
}

const char *partition_path(struct arena *arena, const struct strings *columns, const char *const *values)
{
	struct text out = text_on(arena);
	for (size_t i = 0; i < columns->count; i++) {
		if (i)
			text_add(&out, "/");
		add_encoded(&out, columns->at[i]);
		text_add(&out, "=");
		add_encoded(&out, values[i]);
	}
	return out.at;
}

const char *partition_encoded(struct arena *arena, const char *text)
{
	struct text out = text_on(arena);
	add_encoded(&out, text);
	return out.at;
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static char *decoded(struct arena *arena, const char *text, size_t length)
{
	char *out = arena_alloc(arena, length + 1), *end = out;
	for (size_t i = 0; i < length; i++) {
		if (text[i] == '%' && i + 2 < length && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0) {
			*end++ = (char)(digit(text[i + 1]) * 16 + digit(text[i + 2]));
			i += 2;
		} else {
			*end++ = text[i];
		}
	}
	return out;
}

const char **partition_values(struct arena *arena, const struct strings *columns, const char *path)
{
	const char **values = arena_array(arena, columns->count + 1, sizeof *values);
	for (size_t i = 0; i < columns->count; i++) {
		size_t length = strcspn(path, "/");
		const char *equals = memchr(path, '=', length);
		if (!equals || strcmp(decoded(arena, path, (size_t)(equals - path)), columns->at[i]) != 0)
			return NULL;
		values[i] = decoded(arena, equals + 1, length - (size_t)(equals + 1 - path));
		path += length;
		if (*path == '/')
			path++;
	}
	return *path ? NULL : values;
}

const char *partition_value_fault(const char *column, const char *value)
{
	size_t length = strlen(column) + 1;
	if (!value || !value[strspn(value, " \t\r\n")])
		return "is empty";
	if (strcmp(value, "__HIVE_DEFAULT_PARTITION__") == 0)
		return "is the word that Hive keeps for a missing value";
	for (const char *p = value; *p; p++)
		length += is_plain((unsigned char)*p) ? 1 : 3;
	return length > 255 ? "is longer than a folder name can be" : NULL;
}

static const char *after_digits(const char *text)
{
	while (*text >= '0' && *text <= '9')
		text++;
	return text;
}

static bool is_number(const char *text)
{
	if (*text == '-' || *text == '+')
		text++;
	const char *end = after_digits(text);
	bool digits = end > text;
	if (*end == '.') {
		const char *fraction = after_digits(end + 1);
		digits |= fraction > end + 1;
		end = fraction;
	}
	if (digits && (*end == 'e' || *end == 'E')) {
		const char *exponent = end + 1 + (end[1] == '-' || end[1] == '+');
		if (after_digits(exponent) > exponent)
			end = after_digits(exponent);
	}
	return digits && *end == '\0';
}

static bool has_shape(const char *text, const char *shape)
{
	for (; *shape; text++, shape++)
		if (*shape == '9' ? !(*text >= '0' && *text <= '9') : *text != *shape)
			return false;
	return *text == '\0' || *text == ' ' || *text == 'T';
}

const char *partition_lookalike(const char *value)
{
	static const char *const missing[] = {"null", "nan", "none"}, *const booleans[] = {"true", "false"};
	for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
		if (text_equal_nocase(value, missing[i]))
			return "a missing value";
	for (size_t i = 0; i < sizeof booleans / sizeof *booleans; i++)
		if (text_equal_nocase(value, booleans[i]))
			return "true or false";
	if (is_number(value) || (value[0] == '0' && (value[1] == 'x' || value[1] == 'X')))
		return "a number";
	if (has_shape(value, "9999-99-99"))
		return "a date";
	if (has_shape(value, "99:99") || has_shape(value, "99:99:99"))
		return "a time";
	return NULL;
}

enum numeral partition_numeral(const char *value)
{
	const char *digits = value + (*value == '-');
	if (value[0] == '0' && (value[1] == 'x' || value[1] == 'X')) {
		size_t count = strspn(value + 2, "0123456789abcdefABCDEF");
		return count > 0 && count <= 8 && !value[2 + count] ? NUMERAL_PADDED : NUMERAL_NONE;
	}
	size_t count = strspn(digits, "0123456789"), zeros = strspn(digits, "0");
	if (count == 0 || digits[count] || count - zeros > 10)
		return NUMERAL_NONE;
	long long number = strtoll(value, NULL, 10);
	if (number < INT32_MIN || number > INT32_MAX)
		return NUMERAL_NONE;
	return zeros == 0 || strcmp(value, "0") == 0 ? NUMERAL_PLAIN : NUMERAL_PADDED;
}

bool partition_within(const char *path, const char *wanted)
{
	size_t length = strlen(wanted);
	while (length && wanted[length - 1] == '/')
		length--;
	return strncmp(path, wanted, length) == 0 && (path[length] == '\0' || path[length] == '/' || length == 0);
}
