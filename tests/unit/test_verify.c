/* SPDX-License-Identifier: Apache-2.0
 * Reading back a part file: each thing that can be wrong with it is told, by itself and among others that are verified with
 * it. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/functions.h"
#include "partition/part.h"

static const char spec_text[] = "dataset: queue\nroot: lake\nsource: {files: \"*.csv\"}\nkey: {identity: [id]}\npartition: "
								"[state]\ncolumns: {mw: {type: double}}\n";
static const struct batch_column columns[] = {
	{.name = "asset_key", .type = "VARCHAR", .key = true},
	{.name = "id", .type = "VARCHAR"},
	{.name = "mw", .type = "DOUBLE"},
};
enum { COLUMNS = sizeof columns / sizeof *columns };
#define ROWS "('A', 'A', 1.5::DOUBLE), ('B', 'B', NULL), ('C', 'C', 3)"
#define TEXAS "{\"state\":\"TX\"}"

static struct arena *arena;
static struct engine *engine;
static struct spec *spec;
static recloser_error error;
static char folder[] = "/tmp/recloser-verify-XXXXXX";
static char sound_fingerprint[80];
static int files;

static void good(recloser_status status)
{
	if (status != RECLOSER_OK)
		print_error("%s\n", error.what);
	assert_int_equal(status, RECLOSER_OK);
}

static const char *write_file(const char *rows, const char *names, const char *partition)
{
	const char *file = arena_printf(arena, "%s/%d.parquet", folder, files++);
	good(engine_runf(
		engine, "test", &error,
		"COPY (SELECT * FROM (VALUES %s) t(%s)) TO '%s' (FORMAT parquet, KV_METADATA {'recloser:partition': '%s'})", rows,
		names, file, partition));
	return file;
}

static struct part_check check_of(const char *file)
{
	return (struct part_check){.engine = engine,
							   .spec = spec,
							   .file = file,
							   .path = "state=TX",
							   .columns = columns,
							   .column_count = COLUMNS,
							   .rows = 3,
							   .fingerprint = *sound_fingerprint ? sound_fingerprint : NULL};
}

static int open_all(void **state)
{
	(void)state;
	arena = arena_new(NULL);
	struct engine_options options = {.threads = 2, .memory_bytes = 1u << 30};
	if (!mkdtemp(folder) || engine_open(arena, &options, &engine, &error) != RECLOSER_OK ||
		functions_register(engine, &error) != RECLOSER_OK ||
		spec_parse(arena, "test.yaml", spec_text, sizeof spec_text - 1, &spec, &error) != RECLOSER_OK) {
		print_error("%s\n", error.what);
		return -1;
	}
	struct part_check check = check_of(write_file(ROWS, "asset_key, id, mw", TEXAS));
	struct part_verdict verdict = {0};
	good(part_verify(arena, &check, &verdict, &error));
	for (size_t i = 0; i < verdict.faults.count; i++)
		print_error("%s\n", verdict.faults.at[i]);
	assert_int_equal(verdict.faults.count, 0);
	assert_int_equal(verdict.content.rows, 3);
	snprintf(sound_fingerprint, sizeof sound_fingerprint, "%s", verdict.content.fingerprint);
	return 0;
}

static int close_all(void **state)
{
	(void)state;
	for (int i = 0; i < files; i++)
		unlink(arena_printf(arena, "%s/%d.parquet", folder, i));
	rmdir(folder);
	arena_free(arena);
	return 0;
}

static bool told(const struct part_verdict *verdict, const char *fault)
{
	for (size_t i = 0; i < verdict->faults.count; i++)
		if (strstr(verdict->faults.at[i], fault))
			return true;
	print_error("not among %zu faults: %s; first: %s\n", verdict->faults.count, fault,
				verdict->faults.count ? verdict->faults.at[0] : "");
	return false;
}

/* `fault` is found in this file when it is alone, and in no other when it stands between two that are sound. */
static void expect(struct part_check wrong, const char *fault)
{
	const char *sound = write_file(ROWS, "asset_key, id, mw", TEXAS);
	struct part_check checks[] = {check_of(sound), wrong, check_of(sound)};
	struct part_verdict alone = {0}, among[3] = {{.read = false}};
	checks[2].file = write_file(ROWS, "asset_key, id, mw", TEXAS);
	good(part_verify(arena, &wrong, &alone, &error));
	assert_true(told(&alone, fault));
	good(parts_verify(arena, checks, 3, among, &error));
	assert_int_equal(among[0].faults.count, 0);
	assert_int_equal(among[2].faults.count, 0);
	assert_true(told(&among[1], fault));
}

static void sound_files_pass(void **state)
{
	struct part_check checks[] = {
		check_of(write_file(ROWS, "asset_key, id, mw", TEXAS)),
		check_of(write_file("('C', 'C', 3), ('A', 'A', 1.5::DOUBLE), ('B', 'B', NULL)", "asset_key, id, mw", TEXAS))};
	struct part_verdict verdicts[2] = {{.read = false}};
	(void)state;
	good(parts_verify(arena, checks, 2, verdicts, &error)); /* the order of rows is no part of the content */
	assert_int_equal(verdicts[0].faults.count, 0);
	assert_int_equal(verdicts[1].faults.count, 0);
	assert_string_equal(verdicts[1].content.fingerprint, sound_fingerprint);
}

static void content_is_compared(void **state)
{
	(void)state;
	expect(check_of(write_file("('A', 'A', 1.5::DOUBLE), ('B', 'B', NULL), ('C', 'C', 4)", "asset_key, id, mw", TEXAS)),
		   "content fingerprint is");
	expect(check_of(write_file("('A', 'A', 1.5::DOUBLE), ('B', 'B', 0), ('C', 'C', 3)", "asset_key, id, mw", TEXAS)),
		   "content fingerprint is");
	expect(check_of(write_file("('A', 'A', 1.5::DOUBLE), ('B', 'B', NULL)", "asset_key, id, mw", TEXAS)),
		   "2 rows instead of 3");
}

/* Each with the rows and the fingerprint that it was to have, so that nothing else gives it away. */
static void keys_are_looked_at(void **state)
{
	static const char *const rows[][2] = {
		{"('A', 'A', 1.5::DOUBLE), ('A', 'A', 1.5::DOUBLE), ('C', 'C', 3)", "1 keys occur more than once"},
		{"('A', 'A', 1.5::DOUBLE), (NULL, 'B', NULL), ('C', 'C', 3)", "1 rows have no key"}};
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct part_check wrong = check_of(write_file(rows[i][0], "asset_key, id, mw", TEXAS));
		struct part_verdict first = {0};
		wrong.fingerprint = NULL;
		good(part_verify(arena, &wrong, &first, &error));
		wrong.fingerprint = first.content.fingerprint;
		expect(wrong, rows[i][1]);
	}
}

static void schema_is_compared(void **state)
{
	struct part_check no_columns = check_of(write_file(ROWS, "other, id, mw", TEXAS));
	(void)state;
	expect(check_of(write_file(ROWS, "asset_key, id, power", TEXAS)), "column mw is missing");
	expect(check_of(write_file(ROWS, "asset_key, id, power", TEXAS)), "column power is not one of the record's");
	expect(check_of(write_file("('A', 'A', 1), ('B', 'B', NULL), ('C', 'C', 3)", "asset_key, id, mw", TEXAS)),
		   "column mw is INTEGER instead of DOUBLE");
	no_columns.columns = NULL;
	no_columns.column_count = 0;
	expect(no_columns, "the key column asset_key is missing");
}

static void partition_is_compared(void **state)
{
	static const struct batch_column with_state[] = {{.name = "asset_key", .type = "VARCHAR", .key = true},
													 {.name = "id", .type = "VARCHAR"},
													 {.name = "mw", .type = "DOUBLE"},
													 {.name = "state", .type = "VARCHAR", .partition = true}};
	(void)state;
	expect(check_of(write_file(ROWS, "asset_key, id, mw", "{\"state\":\"NM\"}")), "the footer says state=NM, the path TX");
	expect(check_of(write_file(ROWS, "asset_key, id, mw", "{}")), "the footer says state=(nothing)");
	struct part_check strayed = check_of(write_file(
		"('A', 'A', 1.5::DOUBLE, 'TX'), ('B', 'B', NULL, 'NM'), ('C', 'C', 3, 'TX')", "asset_key, id, mw, state", TEXAS));
	strayed.columns = with_state;
	strayed.column_count = 4;
	expect(strayed, "another state than TX");
}

static void order_is_looked_at(void **state)
{
	struct part_check wrong =
		check_of(write_file("('B', 'B', NULL), ('A', 'A', 1.5::DOUBLE), ('C', 'C', 3)", "asset_key, id, mw", TEXAS));
	(void)state;
	wrong.order = true;
	expect(wrong, "1 rows are out of the order");
}

static void damaged_files_are_told(void **state)
{
	const char *file = write_file(ROWS, "asset_key, id, mw", TEXAS);
	(void)state;
	assert_int_equal(truncate(file, 100), 0);
	expect(check_of(file), "the file can't be read");
	file = write_file(ROWS, "asset_key, id, mw", TEXAS);
	int descriptor = open(file, O_WRONLY);
	assert_int_equal(pwrite(descriptor, "T", 1, 0), 1);
	close(descriptor);
	expect(check_of(file), "it does not begin with PAR1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sound_files_pass),   cmocka_unit_test(content_is_compared),   cmocka_unit_test(keys_are_looked_at),
		cmocka_unit_test(schema_is_compared), cmocka_unit_test(partition_is_compared), cmocka_unit_test(order_is_looked_at),
		cmocka_unit_test(damaged_files_are_told),
	};
	return cmocka_run_group_tests(tests, open_all, close_all);
}
