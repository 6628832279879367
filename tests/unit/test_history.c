/* SPDX-License-Identifier: Apache-2.0
 * Times as they are typed, steps of a series, names of tags, and why a version came to be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/json.h"
#include "history/history.h"

static struct arena *arena;

static int begin(void **state)
{
	(void)state;
	arena = arena_new(NULL);
	return arena ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	arena_free(arena);
	return 0;
}

/* ---- when.c ---- */

static int64_t us(const char *text)
{
	int64_t parsed = clock_parse(text);
	assert_true(parsed >= 0);
	return parsed;
}

static void times_begin_and_end(void **state)
{
	static const struct {
		const char *text, *begin, *end;
	} cases[] = {
		{"2026-07-31", "2026-07-31T00:00:00.000000Z", "2026-07-31T23:59:59.999999Z"},
		{"2024-02-29", "2024-02-29T00:00:00.000000Z", "2024-02-29T23:59:59.999999Z"},
		{"2026-07-31T12:00Z", "2026-07-31T12:00:00.000000Z", "2026-07-31T12:00:59.999999Z"},
		{"2026-07-31 12:00", "2026-07-31T12:00:00.000000Z", "2026-07-31T12:00:59.999999Z"},
		{"2026-07-31T12:00:05", "2026-07-31T12:00:05.000000Z", "2026-07-31T12:00:05.999999Z"},
		{"2026-07-31T12:00:05.25Z", "2026-07-31T12:00:05.250000Z", "2026-07-31T12:00:05.259999Z"},
		{"2026-07-31T12:00:05.123456Z", "2026-07-31T12:00:05.123456Z", "2026-07-31T12:00:05.123456Z"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int64_t time;
		assert_true(when_begin(cases[i].text, &time));
		assert_int_equal(time, us(cases[i].begin));
		assert_true(when_end(cases[i].text, &time));
		assert_int_equal(time, us(cases[i].end));
	}
}

static void no_times(void **state)
{
	static const char *const words[] = {"",
										"2026",
										"2026-7-1",
										"2026-02-29",
										"2026-13-01",
										"2026-00-10",
										"2026-07-32",
										"2026-07-31T",
										"2026-07-31T24:00",
										"2026-07-31T12:60",
										"2026-07-31T12:00:61",
										"2026-07-31T12:00+02:00",
										"2026-07-31T12:00:05.",
										"2026-07-31x",
										"2026-07-31T12:00:05.1234567Z",
										"today",
										"q2-filing"};
	(void)state;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		int64_t time;
		assert_false(when_begin(words[i], &time));
		assert_false(when_end(words[i], &time));
	}
}

static void spans(void **state)
{
	static const struct {
		const char *span, *now, *then;
	} cases[] = {
		{"90 days", "2026-07-31T04:12:00.000000Z", "2026-05-02T04:12:00.000000Z"},
		{"2w", "2026-01-05T00:00:00.000000Z", "2025-12-22T00:00:00.000000Z"},
		{"1 month", "2026-03-31T10:00:00.000000Z", "2026-02-28T10:00:00.000000Z"},
		{"1 month", "2024-03-31T10:00:00.000000Z", "2024-02-29T10:00:00.000000Z"},
		{"6 months", "2026-01-15T00:00:00.000001Z", "2025-07-15T00:00:00.000001Z"},
		{"12 months", "2026-01-15T00:00:00.000000Z", "2025-01-15T00:00:00.000000Z"},
		{"2y", "2024-02-29T00:00:00.000000Z", "2022-02-28T00:00:00.000000Z"},
		{"0d", "2026-01-15T00:00:00.000000Z", "2026-01-15T00:00:00.000000Z"},
	};
	static const char *const no_spans[] = {"",        "days",       "5",         "5 hours",
										   "-5 days", "5 days ago", "1.5 years", "99999999 days"};
	(void)state;
	int64_t time;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_true(when_before(cases[i].span, us(cases[i].now), &time));
		assert_int_equal(time, us(cases[i].then));
	}
	for (size_t i = 0; i < sizeof no_spans / sizeof *no_spans; i++)
		assert_false(when_before(no_spans[i], 0, &time));
}

/* ---- series.c ---- */

static void values_of_a_series(void **state)
{
	static const struct {
		const char *value;
		enum series_kind kind;
	} cases[] = {{"2026", SERIES_YEAR},      {"2026-Q3", SERIES_QUARTER}, {"2026-07", SERIES_MONTH},
				 {"2026-07-31", SERIES_DAY}, {"1969-12-31", SERIES_DAY},  {"2026-13", SERIES_NONE},
				 {"2026-Q5", SERIES_NONE},   {"july", SERIES_NONE},       {"2026-7", SERIES_NONE},
				 {"2026-02-30", SERIES_NONE}, {"202607", SERIES_MONTH_DIGITS}, {"20260731", SERIES_DAY_DIGITS},
				 {"202613", SERIES_NONE},     {"20260230", SERIES_NONE},       {"20260a", SERIES_NONE}};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int64_t ordinal;
		assert_int_equal(series_value(cases[i].value, &ordinal), cases[i].kind);
		if (cases[i].kind != SERIES_NONE && cases[i].value[0] == '2')
			assert_string_equal(series_text(arena, cases[i].kind, ordinal), cases[i].value);
	}
}

static const char *gaps(const char *const *values, size_t count)
{
	struct line line = {.group = "", .values = (const char **)values, .count = count};
	struct strings missing = {0};
	series_gaps(arena, &line, &missing);
	return missing.count ? strings_join(arena, &missing, " ") : "";
}

static void gaps_of_a_series(void **state)
{
	static const char *const monthly[] = {"2025-11", "2026-02", "2026-01", "2026-05"};
	static const char *const quarterly[] = {"2025-03", "2025-06", "2025-12", "2026-03"};
	static const char *const weekly[] = {"2026-01-05", "2026-01-12", "2026-01-26", "2026-02-02"};
	static const char *const whole[] = {"2024", "2025", "2026"}, *const words[] = {"a", "c"},
							 *const mixed[] = {"2024", "2025-01", "2025-04"};
	(void)state;
	assert_string_equal(gaps(monthly, 4), "2025-12 2026-03 2026-04");
	assert_string_equal(gaps(quarterly, 4), "2025-09");
	assert_string_equal(gaps(weekly, 4), "2026-01-19");
	assert_string_equal(gaps(whole, 3), "");
	assert_string_equal(gaps(words, 2), "");
	assert_string_equal(gaps(mixed, 3), "");
	assert_string_equal(gaps(monthly, 1), "");
	assert_string_equal(gaps(monthly, 0), "");
}

/* ---- tags, reasons ---- */

static void names_of_tags(void **state)
{
	static const char *const good[] = {"q2", "board_2026.v1", "2026", "2026-Q2", "A-b"};
	static const char *const bad[] = {
		"", ".", "..", "a/b", "-x", "2026-07-31", "2026-07-31T12:00Z", "a b", "\xC3\xA9t\xC3\xA9"};
	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		assert_true(tag_name_good(good[i]));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(tag_name_good(bad[i]));
}

static const char *reason(const char *kind, int64_t seq, const char *text)
{
	json_t *json;
	recloser_error error = {0};
	assert_int_equal(json_parse(arena, text, strlen(text), "record", &json, &error), RECLOSER_OK);
	return version_reason(arena, &(struct record){.kind = kind, .seq = seq, .json = json});
}

static void reasons(void **state)
{
	(void)state;
	assert_string_equal(reason("version", 1, "{\"new_keys\": 5, \"sources\": [{\"name\": \"a.csv\"}]}"),
						"first version, from a.csv");
	assert_string_equal(reason("version", 2,
							   "{\"new_keys\": 1240, \"disappeared\": 25, \"revised\": 3, \"sources\": [{\"name\": \"a\"}, "
							   "{\"name\": \"b\"}]}"),
						"keys: 1,240 new, 25 gone, 3 revised, from a, b");
	assert_string_equal(
		reason("version", 2, "{\"sources\": [{\"name\": \"a\"}, {\"name\": \"b\"}, {\"name\": \"c\"}, {\"name\": \"d\"}]}"),
		"keys unchanged, from a, b, c and 1 more");
	assert_string_equal(reason("restored", 4, "{\"restored_from\": {\"seq\": 2}}"), "restored from seq 2");
	assert_string_equal(reason("adopted", 3, "{\"reappeared\": 1}"), "adopted: another program put the bytes of seq 1 back");
	assert_string_equal(reason("adopted", 3, "{}"), "adopted: another program put this file here");
	assert_string_equal(reason("version", 3, "{\"rebuilt\": true}"),
						"known by its archived file only: its record was made again");
}

static void what_was_pruned(void **state)
{
	static const char text[] = "[{\"run\": \"r1\", \"at\": \"2026-01-02T00:00:00Z\", \"state\": \"done\", \"versions\": "
							   "[{\"partition\": \"a=1\", \"seq\": 2}]},"
							   " {\"run\": \"r2\", \"at\": \"2026-01-03T00:00:00Z\", \"state\": \"announced\", "
							   "\"versions\": [{\"partition\": \"a=1\", \"seq\": 3}]}]";
	json_t *prunes;
	recloser_error error = {0};
	(void)state;
	assert_int_equal(json_parse(arena, text, strlen(text), "prunes", &prunes, &error), RECLOSER_OK);
	assert_string_equal(pruned_how(arena, prunes, "a=1", 2), "pruned on 2026-01-02 by run r1");
	assert_null(pruned_how(arena, prunes, "a=1", 1));
	assert_null(pruned_how(arena, prunes, "a=2", 2));
	assert_false(prune_announced(prunes, "a=1", 2));
	assert_true(prune_announced(prunes, "a=1", 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(times_begin_and_end, begin, end),
		cmocka_unit_test_setup_teardown(no_times, begin, end),
		cmocka_unit_test_setup_teardown(spans, begin, end),
		cmocka_unit_test_setup_teardown(values_of_a_series, begin, end),
		cmocka_unit_test_setup_teardown(gaps_of_a_series, begin, end),
		cmocka_unit_test_setup_teardown(names_of_tags, begin, end),
		cmocka_unit_test_setup_teardown(reasons, begin, end),
		cmocka_unit_test_setup_teardown(what_was_pruned, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
