/* SPDX-License-Identifier: Apache-2.0
 * Python's texts of single values. tests/vectors/pystr_powers.tsv holds repr(2.0 ** n) for every n that has one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "batch/pystr.h"

static const char *repr(double value)
{
	static char text[PYSTR_MAX];
	size_t length = pystr_double(value, text);
	assert_int_equal(length, strlen(text));
	return text;
}

static void powers_of_two(void **state)
{
	(void)state;
	FILE *file = fopen(TEST_SOURCE_DIR "/vectors/pystr_powers.tsv", "r");
	assert_non_null(file);
	char line[128];
	int lines = 0;
	while (fgets(line, sizeof line, file)) {
		line[strcspn(line, "\n")] = '\0';
		char *text = strchr(line, '\t');
		assert_non_null(text);
		*text++ = '\0';
		double value = ldexp(1.0, atoi(line));
		assert_string_equal(repr(value), text);
		assert_string_equal(repr(-value) + 1, text);
		assert_int_equal(repr(-value)[0], '-');
		lines++;
	}
	fclose(file);
	assert_int_equal(lines, 2098);
}

static void layouts(void **state)
{
	(void)state;
	assert_string_equal(repr(0.0), "0.0");
	assert_string_equal(repr(-0.0), "-0.0");
	assert_string_equal(repr(1e15), "1000000000000000.0");
	assert_string_equal(repr(1e16), "1e+16");
	assert_string_equal(repr(1.5e16), "1.5e+16");
	assert_string_equal(repr(9999999999999998.0), "9999999999999998.0");
	assert_string_equal(repr(0.0001), "0.0001");
	assert_string_equal(repr(0.00001), "1e-05");
	assert_string_equal(repr(1e100), "1e+100");
	assert_string_equal(repr(5e-324), "5e-324");
	assert_string_equal(repr(DBL_MAX), "1.7976931348623157e+308");
	assert_string_equal(repr(-(double)NAN), "nan");
	assert_string_equal(repr((double)INFINITY), "inf");
	assert_string_equal(repr(-(double)INFINITY), "-inf");
	assert_string_equal(repr(0.1f), "0.10000000149011612");
}

/* What is written reads back, and no shorter text does. */
static void random_doubles_read_back(void **state)
{
	(void)state;
	uint64_t seed = 0x9e3779b97f4a7c15u;
	for (int i = 0; i < 200000; i++) {
		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		double value;
		memcpy(&value, &seed, sizeof value);
		if (!isfinite(value))
			continue;
		assert_true(strtod(repr(value), NULL) == value);
	}
}

static void locale_has_no_say(void **state)
{
	(void)state;
	if (!setlocale(LC_NUMERIC, "de_DE.UTF-8") && !setlocale(LC_NUMERIC, "fr_FR.UTF-8")) {
		print_message("no locale with a decimal comma is installed\n");
		skip();
	}
	assert_string_equal(repr(0.1), "0.1");
	assert_string_equal(repr(1.2345678901234567e-7), "1.2345678901234566e-07");
	setlocale(LC_NUMERIC, "C");
}

static void out_of_pythons_years(void **state)
{
	(void)state;
	char text[PYSTR_MAX];
	assert_int_equal(pystr_date(-719163, text), 0);
	assert_int_equal(pystr_date(2932897, text), 0);
	assert_int_equal(pystr_date(INT32_MAX, text), 0);
	assert_int_equal(pystr_timestamp(INT64_MAX, text), 0);
	assert_int_equal(pystr_timestamp(INT64_MIN, text), 0);
	assert_int_equal(pystr_timestamptz(-INT64_MAX, text), 0);
	assert_int_equal(pystr_time(86400000000, text), 0);
	assert_int_equal(pystr_time(-1, text), 0);
}

/* Every day between the first and the last, against a calendar that counts. */
static void every_day(void **state)
{
	(void)state;
	static const int months[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	int year = 1, month = 1, day = 1;
	for (int64_t days = -719162; days <= 2932896; days++) {
		char text[PYSTR_MAX], expected[48];
		assert_int_equal(pystr_date(days, text), 10);
		if (day == 1 || day > 27) {
			snprintf(expected, sizeof expected, "%04d-%02d-%02d", year, month, day);
			assert_string_equal(text, expected);
		}
		int leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
		if (++day > months[month - 1] + (month == 2 && leap)) {
			day = 1;
			if (++month > 12) {
				month = 1;
				year++;
			}
		}
	}
	assert_int_equal(year, 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(powers_of_two),
		cmocka_unit_test(layouts),
		cmocka_unit_test(random_doubles_read_back),
		cmocka_unit_test(locale_has_no_say),
		cmocka_unit_test(out_of_pythons_years),
		cmocka_unit_test(every_day),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
