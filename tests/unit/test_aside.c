/* SPDX-License-Identifier: Apache-2.0
 * Values that stand aside: what was put is what comes back, of any length and from any thread, and failures are told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/spill.h"
#include "engine/engine.h"
#include "engine/functions.h"

static char parent[64], directory[96];
static struct arena *arena;
static struct engine *engine;
static recloser_error error;

static int open_engine(void **state)
{
	(void)state;
	snprintf(parent, sizeof parent, "/tmp/rc_aside_XXXXXX");
	if (!mkdtemp(parent))
		return -1;
	snprintf(directory, sizeof directory, "%s/spill", parent);
	arena = arena_new(NULL);
	error_clear(&error);
	struct engine_options options = {.threads = 2, .memory_bytes = 1u << 30, .spill = directory};
	if (engine_open(arena, &options, &engine, &error) != RECLOSER_OK)
		return -1;
	return functions_register(engine, &error) == RECLOSER_OK ? 0 : -1;
}

/* Nothing stays behind: neither the file, nor the directory that was made for it. */
static int close_engine(void **state)
{
	(void)state;
	arena_free(arena);
	return rmdir(parent);
}

static const char *value(const char *select)
{
	struct rows rows;
	error_clear(&error);
	if (engine_query(engine, arena, "test", select, &rows, &error) != RECLOSER_OK)
		print_error("%s\n", error.what);
	assert_int_equal(error.status, RECLOSER_OK);
	assert_int_equal(rows.row_count, 1);
	return rows_at(&rows, 0, 0);
}

/* Lengths about those in which values are put into the file. */
static void lengths(void **state)
{
	(void)state;
	static const int some[] = {0, 1, 12, 13, 4096, 262143, 262144, 262145, 3000000};
	for (size_t i = 0; i < sizeof some / sizeof *some; i++)
		assert_string_equal(value(arena_printf(arena, "SELECT w = rc_text_at(rc_aside_text(w)) AND strlen(w) = %d FROM (SELECT repeat('x', %d) AS w)", some[i], some[i])),
		                    "true");
	assert_null(value("SELECT rc_text_at(rc_aside_text(CAST(NULL AS VARCHAR)))"));
	assert_null(value("SELECT rc_bytes_at(rc_aside_bytes(CAST(NULL AS BLOB)))"));
	assert_string_equal(value("SELECT hex(rc_bytes_at(rc_aside_bytes('\\x00\\xFF\\x00'::BLOB)))"), "00FF00");
	assert_string_equal(value("SELECT rc_text_at(rc_aside_text('Río Seco'))"), "Río Seco");
}

/* Rows of several threads, short and long, with nulls among them, through a sort. */
static void through_a_sort(void **state)
{
	(void)state;
	assert_int_equal(engine_run(engine, "make rows",
		"CREATE TABLE t AS SELECT i, CASE WHEN i % 7 = 0 THEN NULL WHEN i % 1000 = 1 THEN repeat(md5(CAST(i AS VARCHAR)), 20000)"
		" ELSE repeat(md5(CAST(i AS VARCHAR)), CAST(i % 5 AS INTEGER)) END AS w FROM range(30000) r(i)", &error), RECLOSER_OK);
	assert_int_equal(engine_run(engine, "sort rows",
		"CREATE TABLE s AS SELECT i, rc_text_at(p) AS w, rc_bytes_at(q) AS b FROM"
		" (SELECT i, rc_aside_text(w) AS p, rc_aside_bytes(CAST(w AS BLOB)) AS q FROM t ORDER BY hash(i))", &error), RECLOSER_OK);
	assert_string_equal(value("SELECT count(*) FROM t JOIN s USING (i) WHERE t.w IS NOT DISTINCT FROM s.w AND CAST(t.w AS BLOB) IS NOT DISTINCT FROM s.b"),
	                    "30000");
	assert_string_equal(value("SELECT count(*) FROM s WHERE w IS NULL"), "4286");
}

static void failures_are_told(void **state)
{
	(void)state;
	struct rlimit was, little;
	struct rows rows;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	little = (struct rlimit){.rlim_cur = 65536, .rlim_max = was.rlim_max};
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
	recloser_status status = engine_query(engine, arena, "sort", "SELECT rc_aside_text(repeat('x', 100000))", &rows, &error);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	assert_int_equal(status, RECLOSER_IO);
	assert_non_null(strstr(error.what, "can't put values aside: File too large"));
}

/* The file itself. */
static void the_file(void **state)
{
	(void)state;
	char bytes[8] = "";
	uint64_t offset;
	struct spill *spill = spill_new(directory);
	assert_int_equal(access(directory, F_OK), -1); /* nothing on disk before it is needed */
	assert_int_equal(spill_reserve(spill, 4, &offset), 0);
	assert_int_equal(offset, 0);
	assert_int_equal(spill_reserve(spill, 4, &offset), 0);
	assert_int_equal(offset, 4);
	assert_int_equal(spill_put(spill, "efgh", 4, 4), 0);
	assert_int_equal(spill_put(spill, "abcd", 4, 0), 0);
	assert_int_equal(spill_get(spill, bytes, 6, 2), 0);
	assert_memory_equal(bytes, "cdefgh", 6);
	assert_int_equal(spill_get(spill, bytes, 4, 6), EIO); /* beyond what was put */
	spill_empty(spill);
	assert_int_equal(spill_reserve(spill, 1, &offset), 0);
	assert_int_equal(offset, 0);
	assert_int_equal(spill_get(spill, bytes, 1, 0), EIO);
	spill_free(spill);
	assert_int_equal(access(directory, F_OK), -1);
	spill_free(NULL);
	spill = spill_new("/nonexistent/spill");
	assert_int_equal(spill_reserve(spill, 1, &offset), ENOENT);
	spill_free(spill);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(lengths, open_engine, close_engine),
		cmocka_unit_test_setup_teardown(through_a_sort, open_engine, close_engine),
		cmocka_unit_test_setup_teardown(failures_are_told, open_engine, close_engine),
		cmocka_unit_test_setup_teardown(the_file, open_engine, close_engine),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
