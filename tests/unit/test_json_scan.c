/* SPDX-License-Identifier: Apache-2.0
 * The JSON scanner: the grammar, texts and their escapes, and numbers as spelled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_scan.h"

/* An exact copy on the heap, so that a read past the end is found by the sanitizer. */
static bool whole(const char *text, size_t count, struct json_scan *scan, struct value *value)
{
	char *copy = malloc(count ? count : 1);
	memcpy(copy, text, count);
	*scan = json_scan_of(copy, count);
	bool right = json_scan_value(scan, value);
	if (right) {
		json_scan_space(scan);
		right = scan->at == scan->end;
	}
	size_t offset = (size_t)(scan->at - copy);
	free(copy);
	scan->begin = scan->end = NULL;
	scan->at = text + offset;
	return right;
}

static void test_right(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		enum value_kind kind;
	} right[] = {{"null", VALUE_NULL},
				 {"true", VALUE_TRUE},
				 {" false ", VALUE_FALSE},
				 {"0", VALUE_INTEGER},
				 {"-0", VALUE_INTEGER},
				 {"12", VALUE_INTEGER},
				 {"1.5", VALUE_NUMBER},
				 {"-1.5e+10", VALUE_NUMBER},
				 {"1E5", VALUE_NUMBER},
				 {"\"\"", VALUE_TEXT},
				 {"\"a\\n\\u00e9\"", VALUE_TEXT},
				 {"[]", VALUE_ARRAY},
				 {"[ ]", VALUE_ARRAY},
				 {"[1,[2,{}]]", VALUE_ARRAY},
				 {"{}", VALUE_OBJECT},
				 {"{\"a\": {\"b\" : [ ] } , \"c\":1}", VALUE_OBJECT},
				 {"\r\n\t 1", VALUE_INTEGER}};
	for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
		struct json_scan scan;
		struct value value;
		if (!whole(right[i].text, strlen(right[i].text), &scan, &value))
			fail_msg("%s", right[i].text);
		assert_int_equal(value.kind, right[i].kind);
		assert_null(scan.soft);
	}
}

static void test_wrong(void **state)
{
	(void)state;
	static const char *const wrong[] = {"",
										" ",
										"nul",
										"True",
										"NaN",
										"-Infinity",
										"+1",
										".5",
										"1.",
										"01",
										"-",
										"1e",
										"1e+",
										"0x10",
										"'a'",
										"\"a",
										"\"a\\",
										"\"a\\\"",
										"[1,]",
										"[1 2]",
										"[,1]",
										"[",
										"[1",
										"{",
										"{\"a\"}",
										"{\"a\":}",
										"{\"a\":1,}",
										"{a:1}",
										"{\"a\":1 \"b\":2}",
										"{1:2}",
										"// c\n1",
										"[1 /* c */]",
										"1 2",
										"]",
										"}",
										"\357\273\2771",
										"\f1"};
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		struct json_scan scan;
		struct value value;
		if (whole(wrong[i], strlen(wrong[i]), &scan, &value))
			fail_msg("%s was taken", wrong[i]);
	}
	/* nested as deep as allowed, and deeper */
	char deep[600];
	struct json_scan scan;
	struct value value;
	memset(deep, '[', 300);
	memset(deep + 300, ']', 300);
	assert_true(whole(deep + 44, 512, &scan, &value));
	assert_false(whole(deep + 43, 514, &scan, &value));
	assert_string_equal(scan.wrong, "values nested too deeply");
	assert_null(strstr(scan.hint, "comma"));
}

static void hint_is(const char *text, const char *hint)
{
	struct json_scan scan;
	struct value value;
	assert_false(whole(text, strlen(text), &scan, &value));
	if (!strstr(scan.hint, hint))
		fail_msg("%s: %s", text, scan.hint);
}

static void test_hints(void **state)
{
	(void)state;
	hint_is("[1, NaN]", "NaN");
	hint_is("[1, -Infinity]", "Infinity"); /* found at the minus */
	hint_is("{'a': 1}", "double quotes");
	hint_is("[1, // one\n 2]", "comments");
	hint_is("[1, 2, ]", "comma before the end");
	hint_is("[1 \"2\"]", "comma is missing");
	hint_is("{\"a\": 1", "cut off");
	static const char *const cut[] = {"[\"a", "[{\"a\": \"b", "[\"a\\", "[\"a\\\"", "[{\"a", "[1.", "[-", "[1e", "[1e+", "[t", "[1, nul", "[fals"};
	for (size_t i = 0; i < sizeof cut / sizeof *cut; i++)
		hint_is(cut[i], "cut off");
	hint_is("[1.]", "RFC 8259");
	hint_is("[nul]", "RFC 8259");
	hint_is("[tru, 1]", "RFC 8259");
	struct json_scan scan;
	struct value value;
	assert_false(whole("{\"a\":}", 6, &scan, &value));
	assert_null(strstr(scan.hint, "comma"));
}

static void test_cut_anywhere(void **state)
{
	(void)state;
	static const char text[] = " {\"a\\u00e9\": [1.5e-3, \"x\\ud83d\\ude00\", null, true], \"b\": {\"c\": false}}";
	struct json_scan scan;
	struct value value;
	assert_true(whole(text, sizeof text - 1, &scan, &value));
	for (size_t count = 0; count < sizeof text - 1; count++)
		assert_false(whole(text, count, &scan, &value));
}

static void unescaped_is(const char *text, const char *expected, const char *soft)
{
	struct json_scan scan = json_scan_of(text, strlen(text));
	struct value value;
	char out[200];
	assert_true(json_scan_value(&scan, &value));
	assert_int_equal(value.kind, VALUE_TEXT);
	size_t count = json_unescape(&value, out);
	assert_true(count <= value.count);
	out[count] = '\0';
	assert_string_equal(out, expected);
	if (soft)
		assert_string_equal(scan.soft, soft);
	else
		assert_null(scan.soft);
	assert_int_equal(value_is(&value, expected), true);
}

static void test_texts(void **state)
{
	(void)state;
	unescaped_is("\"plain\"", "plain", NULL);
	unescaped_is("\"\"", "", NULL);
	unescaped_is("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", NULL);
	unescaped_is("\"\\u0041\\u00e9\\u20AC\\ud83D\\ude00\"", "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", NULL);
	unescaped_is("\"\\ud83d\"", "\xef\xbf\xbd", "a broken \\u escape inside a text");
	unescaped_is("\"\\ude00\\ud83d\"", "\xef\xbf\xbd\xef\xbf\xbd", "a broken \\u escape inside a text");
	unescaped_is("\"\\ud83d\\u0041\"",
				 "\xef\xbf\xbd"
				 "A",
				 "a broken \\u escape inside a text");
	unescaped_is("\"\\u00g1\"", "?00g1", "a broken \\u escape inside a text");
	unescaped_is("\"\\x41\"", "?x41", "an unknown escape inside a text");
	unescaped_is("\"\\\xc3\xa9\"", "?\xc3\xa9", "an unknown escape inside a text");
	unescaped_is("\"a\tb\"", "a\tb", "a control character inside a text");
	struct value name = {VALUE_TEXT, true, "\\u0061", 6};
	assert_true(value_is(&name, "a"));
	assert_false(value_is(&name, "b"));
}

static struct value number(const char *text)
{
	struct json_scan scan = json_scan_of(text, strlen(text));
	struct value value;
	assert_true(json_scan_value(&scan, &value));
	assert_int_equal(value.count, strlen(text));
	return value;
}

static void test_doubles(void **state)
{
	(void)state;
	static const char *const texts[] = {"0",
										"-0",
										"1",
										"-1.5",
										"0.1",
										"1e22",
										"1e23",
										"9007199254740993",
										"-97.123456789012345",
										"5e-324",
										"2.2250738585072014e-308",
										"1.7976931348623157e308",
										"0.000001",
										"123456789e-3",
										"146.24896407899996",
										"1e-400",
										"4.35",
										"100e0"};
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		struct value value = number(texts[i]);
		double expected = strtod(texts[i], NULL), got = value_double(&value);
		assert_memory_equal(&got, &expected, sizeof got);
	}
	struct value large = number("1e400"), small = number("-1e400");
	assert_true(value_double(&large) == INFINITY && value_double(&small) == -INFINITY);
}

static void test_exact(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		bool exact;
	} cases[] = {{"0", true},
				 {"-0.00", true},
				 {"1.10", true},
				 {"1e3", true},
				 {"0.1", true},
				 {"33.458665000000003", true},
				 {"22846.450805761062", true},
				 {"0.12345678901234567", false},
				 {"9007199254740992", true},
				 {"9007199254740993", false},
				 {"2305843009223239036", false},
				 {"2305843009213693952", true},
				 {"100000000000000000000", true},
				 {"1e400", false},
				 {"1e-400", false},
				 {"5e-324", true},
				 {"3e-324", false},
				 {"0.1000000000000000055511151231257827021181583404541015625", true},
				 {"0.1000000000000000055511151231257827021181583404541015624", false},
				 {"123456789012345000000000000000e-15", true}};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct value value = number(cases[i].text);
		if (value_exact(&value) != cases[i].exact)
			fail_msg("%s", cases[i].text);
	}
	char many[2000];
	memset(many, '7', sizeof many);
	many[1] = '.';
	many[sizeof many - 1] = '\0';
	struct value value = number(many);
	assert_false(value_exact(&value));
	assert_true(fabs(value_double(&value) - 70.0 / 9) < 1e-15);
}

static void test_integers(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		bool fits;
		int64_t value;
	} cases[] = {{"0", true, 0},
				 {"-1", true, -1},
				 {"-0", false, 0},
				 {"9223372036854775807", true, INT64_MAX},
				 {"9223372036854775808", false, 0},
				 {"-9223372036854775808", true, INT64_MIN},
				 {"-9223372036854775809", false, 0},
				 {"99999999999999999999", false, 0},
				 {"1.0", false, 0},
				 {"2305843009223239037", true, 2305843009223239037}};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct value value = number(cases[i].text);
		int64_t got = 0;
		assert_int_equal(value_int64(&value, &got), cases[i].fits);
		if (cases[i].fits)
			assert_true(got == cases[i].value);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_right),        cmocka_unit_test(test_wrong),    cmocka_unit_test(test_hints),
		cmocka_unit_test(test_cut_anywhere), cmocka_unit_test(test_texts),    cmocka_unit_test(test_doubles),
		cmocka_unit_test(test_exact),        cmocka_unit_test(test_integers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
