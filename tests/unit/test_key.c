/* SPDX-License-Identifier: Apache-2.0
 * Texts and keys against tests/vectors/key.tsv, which plain Python made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/digest.h"
#include "batch/key.h"
#include "batch/pystr.h"

static size_t unescape(char *text)
{
	char *to = text;
	for (const char *from = text; *from; from++) {
		if (*from != '\\') {
			*to++ = *from;
			continue;
		}
		from++;
		*to++ = *from == 't' ? '\t' : *from == 'n' ? '\n' : *from;
	}
	*to = '\0';
	return (size_t)(to - text);
}

static __int128 read_int128(const char *text, const char **end)
{
	bool negative = *text == '-';
	__int128 value = 0;
	for (text += negative; *text >= '0' && *text <= '9'; text++)
		value = value * 10 - (*text - '0'); /* downward, as the smallest has no positive twin */
	if (end)
		*end = text;
	return negative ? value : -value;
}

static size_t read_uuid(const char *literal, char *out)
{
	uint8_t bytes[16] = {0};
	int digits = 0;
	for (; *literal; literal++) {
		if (*literal == '-')
			continue;
		char one[2] = {*literal, '\0'};
		bytes[digits / 2] = (uint8_t)(bytes[digits / 2] << 4 | strtol(one, NULL, 16));
		digits++;
	}
	assert_int_equal(digits, 32);
	return pystr_uuid(bytes, out);
}

static size_t value_text(const char *type, char *literal, char *out)
{
	if (strcmp(type, "none") == 0)
		return pystr_none(out);
	if (strcmp(type, "bool") == 0)
		return pystr_bool(*literal == '1', out);
	if (strcmp(type, "int") == 0)
		return pystr_int(strtoll(literal, NULL, 10), out);
	if (strcmp(type, "uint") == 0)
		return pystr_uint(strtoull(literal, NULL, 10), out);
	if (strcmp(type, "huge") == 0)
		return pystr_int128(read_int128(literal, NULL), out);
	if (strcmp(type, "double") == 0)
		return pystr_double(strtod(literal, NULL), out);
	if (strcmp(type, "decimal") == 0) {
		const char *slash;
		__int128 unscaled = read_int128(literal, &slash);
		return pystr_decimal(unscaled, atoi(slash + 1), out);
	}
	if (strcmp(type, "date") == 0)
		return pystr_date(strtoll(literal, NULL, 10), out);
	if (strcmp(type, "timestamp") == 0)
		return pystr_timestamp(strtoll(literal, NULL, 10), out);
	if (strcmp(type, "timestamptz") == 0)
		return pystr_timestamptz(strtoll(literal, NULL, 10), out);
	if (strcmp(type, "time") == 0)
		return pystr_time(strtoll(literal, NULL, 10), out);
	if (strcmp(type, "uuid") == 0)
		return read_uuid(literal, out);
	assert_string_equal(type, "text");
	strcpy(out, literal);
	return unescape(out);
}

static void vectors(void **state)
{
	(void)state;
	FILE *file = fopen(TEST_SOURCE_DIR "/vectors/key.tsv", "r");
	struct key *key = key_new(false);
	assert_non_null(file);
	assert_non_null(key);
	char line[4096];
	int lines = 0;
	while (fgets(line, sizeof line, file)) {
		line[strcspn(line, "\n")] = '\0';
		char *literal = strchr(line, '\t'), *text, *expected, out[2048], made[KEY_DIGITS + 1];
		assert_non_null(literal);
		*literal++ = '\0';
		assert_non_null(text = strchr(literal, '\t'));
		*text++ = '\0';
		assert_non_null(expected = strchr(text, '\t'));
		*expected++ = '\0';
		unescape(text);
		size_t length = value_text(line, literal, out);
		assert_string_equal(out, text);
		assert_int_equal(length, strlen(text));
		key_start(key);
		key_add(key, out, length);
		key_add(key, "x", 1);
		key_end(key, made);
		assert_string_equal(made, expected);
		lines++;
	}
	assert_true(lines >= 60);
	key_free(key);
	fclose(file);
}

static void make(bool escape, const char *const *fields, size_t count, char out[KEY_DIGITS + 1])
{
	struct key *key = key_new(escape);
	assert_non_null(key);
	key_start(key);
	for (size_t i = 0; i < count; i++)
		key_add(key, fields[i], strlen(fields[i]));
	key_end(key, out);
	key_free(key);
}

static void of_text(const char *text, char out[KEY_DIGITS + 1])
{
	char hex[SHA256_HEX];
	sha256_of(text, strlen(text), hex);
	snprintf(out, KEY_DIGITS + 1, "%.24s", hex);
}

static void escaping_keeps_fields_apart(void **state)
{
	(void)state;
	char one[KEY_DIGITS + 1], two[KEY_DIGITS + 1], expected[KEY_DIGITS + 1];
	const char *left[] = {"a|b", "c"}, *right[] = {"a", "b|c"};
	make(false, left, 2, one);
	make(false, right, 2, two);
	assert_string_equal(one, two);
	make(true, left, 2, one);
	make(true, right, 2, two);
	assert_string_not_equal(one, two);
	of_text("a\\|b|c", expected);
	assert_string_equal(one, expected);
	const char *slash[] = {"a\\", "|"};
	make(true, slash, 2, one);
	of_text("a\\\\|\\|", expected);
	assert_string_equal(one, expected);
}

/* Fields that end before, at and after the edge of the buffer. */
static void any_length(void **state)
{
	(void)state;
	char field[1400], joined[2900], made[KEY_DIGITS + 1], expected[KEY_DIGITS + 1];
	for (size_t length = 0; length < sizeof field - 1; length += 7) {
		memset(field, 'q', length);
		field[length] = '\0';
		snprintf(joined, sizeof joined, "%s|%s|", field, field);
		const char *fields[] = {field, field, ""};
		make(false, fields, 3, made);
		of_text(joined, expected);
		assert_string_equal(made, expected);
		make(true, fields, 3, made);
		assert_string_equal(made, expected);
	}
	/* No field, and one empty field, are both the empty text. */
	make(false, NULL, 0, made);
	of_text("", expected);
	assert_string_equal(made, expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors),
		cmocka_unit_test(escaping_keeps_fields_apart),
		cmocka_unit_test(any_length),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
