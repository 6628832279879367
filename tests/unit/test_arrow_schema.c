/* SPDX-License-Identifier: Apache-2.0
 * The ARROW:schema entry against tests/vectors/arrow_schema.tsv, whose lines pyarrow has read (arrow_schema.py there). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "engine/content.h"

static struct arena *arena;
static struct engine *engine;
static recloser_error error;

static int open_engine(void **state)
{
	(void)state;
	arena = arena_new(NULL);
	error_clear(&error);
	struct engine_options options = {.threads = 1, .memory_bytes = 512u << 20};
	return engine_open(arena, &options, &engine, &error) == RECLOSER_OK ? 0 : -1;
}

static int close_engine(void **state)
{
	(void)state;
	arena_free(arena);
	return 0;
}

/* Odd lines carry metadata, so that both cases are there. */
static void vectors(void **state)
{
	(void)state;
	static const char *dictionary_names[] = {"state", "year"};
	static const char *pairs[] = {"geo", "{\"version\":\"1.1.0\"}", "recloser:partition", "{\"state\":\"TX\"}"};
	const struct strings dictionaries = {dictionary_names, 2}, metadata = {pairs, 4};
	FILE *file = fopen(TEST_SOURCE_DIR "/vectors/arrow_schema.tsv", "r");
	assert_non_null(file);
	static char line[16384];
	int lines = 0;
	while (fgets(line, sizeof line, file)) {
		line[strcspn(line, "\n")] = '\0';
		char *shown = strchr(line, '\t');
		assert_non_null(shown);
		*shown++ = '\0';
		char *expected = strchr(shown, '\t');
		assert_non_null(expected);
		*expected++ = '\0';
		const struct arrow_columns *columns;
		const char *made;
		assert_int_equal(arrow_columns_of(engine, arena, line, &columns, &error), RECLOSER_OK);
		assert_int_equal(arrow_schema_text(arena, columns, &dictionaries, lines % 2 ? NULL : &metadata, &made, &error), RECLOSER_OK);
		assert_string_equal(made, expected);
		lines++;
	}
	fclose(file);
	assert_int_equal(lines, 7);
}

static void types_that_are_not_stored(void **state)
{
	(void)state;
	const struct arrow_columns *columns;
	const char *made;
	assert_int_equal(arrow_columns_of(engine, arena, "SELECT INTERVAL 1 DAY AS odd", &columns, &error), RECLOSER_OK);
	assert_int_equal(arrow_schema_text(arena, columns, NULL, NULL, &made, &error), RECLOSER_USAGE);
	assert_non_null(strstr(error.what, "\"odd\" is INTERVAL"));
	error_clear(&error);
	assert_int_equal(arrow_columns_of(engine, arena, "SELECT FROM", &columns, &error), RECLOSER_IO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(vectors, open_engine, close_engine),
		cmocka_unit_test_setup_teardown(types_that_are_not_stored, open_engine, close_engine),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
