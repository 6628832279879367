/* SPDX-License-Identifier: Apache-2.0
 * Shortest digits, their layout, parsing, and that the locale changes none of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

static void shortest_is(double value, const char *expected)
{
	char out[NUMBER_MAX];
	size_t length = number_shortest(value, out);
	assert_string_equal(out, expected);
	assert_int_equal(length, strlen(expected));
}

static void layouts(void **state)
{
	(void)state;
	shortest_is(0, "0");
	shortest_is(-0.0, "0");
	shortest_is(3, "3");
	shortest_is(-42, "-42");
	shortest_is(100143192, "100143192");
	shortest_is(1.5, "1.5");
	shortest_is(0.1, "0.1");
	shortest_is(33.458665000000003, "33.458665");
	shortest_is(0.1 + 0.2, "0.30000000000000004");
	shortest_is(1e-6, "0.000001");
	shortest_is(1e-7, "1e-7");
	shortest_is(-1.5e-7, "-1.5e-7");
	shortest_is(123456789012345680.0, "123456789012345680");
	shortest_is(1e20, "100000000000000000000");
	shortest_is(1e21, "1e+21");
	shortest_is(1e300, "1e+300");
	shortest_is(DBL_MAX, "1.7976931348623157e+308");
	shortest_is(5e-324, "5e-324");
	shortest_is(HUGE_VAL, "Infinity");
}

/* The doubles whose nearest sixteen digits do not read back although a larger text of that length does. */
static void powers_of_two(void **state)
{
	(void)state;
	shortest_is(ldexp(1, 81), "2.4178516392292583e+24");
	shortest_is(ldexp(1, -44), "5.684341886080802e-14");
	for (int e = -1074; e < 1024; e++) {
		char out[NUMBER_MAX];
		double back = 0, value = ldexp(1, e);
		size_t length = number_shortest(value, out);
		assert_true(number_parse(out, length, &back));
		assert_true(back == value);
	}
}

static void random_bits_read_back(void **state)
{
	(void)state;
	uint64_t x = 88172645463325252u; /* xorshift64 */
	for (int i = 0; i < 100000; i++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		double value, back;
		memcpy(&value, &x, sizeof value);
		if (!isfinite(value))
			continue;
		char out[NUMBER_MAX];
		size_t length = number_shortest(value, out);
		assert_true(number_parse(out, length, &back));
		assert_true(back == value);
		assert_true(strtod(out, NULL) == value);
	}
}

static bool parses(const char *text, double expected)
{
	double out = 12345;
	return number_parse(text, strlen(text), &out) && out == expected;
}

static void parsing(void **state)
{
	(void)state;
	double out;
	assert_true(parses("42", 42));
	assert_true(parses("-0.5", -0.5));
	assert_true(parses(".5", 0.5));
	assert_true(parses("5.", 5));
	assert_true(parses("+1e3", 1000));
	assert_true(parses("1.2345678901234568E+17", 123456789012345680.0));
	assert_true(parses("9007199254740993", 9007199254740992.0));
	assert_true(parses("9007199254740993.00000000000000000000000000000001", 9007199254740994.0));
	assert_true(parses("179769313486231570000000000000000000000e270", DBL_MAX));
	assert_true(parses("0.00000000000000000000000000000000000000000000000000000000", 0));
	static const char *const bad[] = {"",    "-",  ".",  "e5",  "1e",    "1e+",   "0x10", "nan",
									  "inf", "1 ", " 1", "1,5", "1.2.3", "1e400", "1_0"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(number_parse(bad[i], strlen(bad[i]), &out));
}

/* Any locale with a comma will do; where none is installed there is nothing to show. */
static void locale_changes_nothing(void **state)
{
	static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "pl_PL.UTF-8", "de_DE.utf8"};
	const char *set = NULL;
	for (size_t i = 0; i < sizeof names / sizeof *names && !set; i++)
		set = setlocale(LC_NUMERIC, names[i]);
	if (!set)
		skip();
	layouts(state);
	powers_of_two(state);
	parsing(state);
	setlocale(LC_NUMERIC, "C");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layouts), cmocka_unit_test(powers_of_two),          cmocka_unit_test(random_bits_read_back),
		cmocka_unit_test(parsing), cmocka_unit_test(locale_changes_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
