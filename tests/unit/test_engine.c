/* SPDX-License-Identifier: Apache-2.0
 * Statements, results as text, errors, and sources read through rc_scan. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "engine/engine.h"
#include "source/source.h"

static struct arena *arena;
static struct engine *engine;
static recloser_error error;

static int open_engine(void **state)
{
	(void)state;
	arena = arena_new(NULL);
	error_clear(&error);
	struct engine_options options = {.threads = 2, .memory_bytes = 512u << 20};
	return engine_open(arena, &options, &engine, &error) == RECLOSER_OK ? 0 : -1;
}

static int close_engine(void **state)
{
	(void)state;
	arena_free(arena);
	return 0;
}

static struct rows query(const char *sql)
{
	struct rows rows;
	error_clear(&error);
	recloser_status status = engine_query(engine, arena, "test", sql, &rows, &error);
	if (status != RECLOSER_OK)
		print_error("%s: %s\n", sql, error.what);
	assert_int_equal(status, RECLOSER_OK);
	return rows;
}

static const char *one(const char *sql)
{
	struct rows rows = query(sql);
	assert_int_equal(rows.row_count, 1);
	return rows_at(&rows, 0, 0);
}

static void cells_are_text(void **state)
{
	(void)state;
	struct rows rows = query("SELECT 1 AS a, 'x''y' AS b, NULL AS c, true AS d, 0.1::DOUBLE AS e, power(2, 81) AS f, DATE "
							 "'2026-07-01' AS g, 12.50::DECIMAL(9,2) AS h, [1, 2] AS i, 3::DOUBLE AS j, "
							 "170141183460469231731687303715884105727::HUGEINT;");
	static const char *const expected[] = {"1",
										   "x'y",
										   NULL,
										   "true",
										   "0.1",
										   "2.4178516392292583e+24",
										   "2026-07-01",
										   "12.50",
										   "[1, 2]",
										   "3",
										   "170141183460469231731687303715884105727"};
	assert_int_equal(rows.column_count, 11);
	for (size_t i = 0; i < 11; i++) {
		if (expected[i])
			assert_string_equal(rows_at(&rows, 0, i), expected[i]);
		else
			assert_null(rows_at(&rows, 0, i));
	}
	assert_string_equal(rows.names[1], "b");
	assert_string_equal(rows.types[7], "DECIMAL(9,2)");
	assert_string_equal(rows.types[8], "INTEGER[]");
	assert_int_equal(rows_int(&rows, 0, 0), 1);
	assert_int_equal(rows_int(&rows, 0, 2), 0);
	assert_null(rows_at(&rows, 1, 0));
}

static void order_survives_the_casts(void **state)
{
	(void)state;
	struct rows rows =
		query("SELECT (DATE '2000-01-01' + i::INTEGER) AS d, i FROM range(200000) t(i) ORDER BY hash(i) -- comment");
	assert_int_equal(rows.row_count, 200000);
	struct rows plain = query("SELECT i FROM range(200000) t(i) ORDER BY hash(i)");
	for (size_t r = 0; r < 200000; r += 97)
		assert_string_equal(rows_at(&rows, r, 1), rows_at(&plain, r, 0));
}

static void statements_without_rows(void **state)
{
	(void)state;
	assert_string_equal(one("CREATE TABLE t AS SELECT 1 AS a"), "1"); /* the count of rows */
	query("INSERT INTO t VALUES (2)");
	assert_int_equal(query("CREATE TABLE u (a INTEGER)").row_count, 0);
	assert_int_equal(query("SELECT a FROM t WHERE a > 5").row_count, 0);
	assert_int_equal(engine_run(engine, "test", "DELETE FROM t; INSERT INTO t VALUES (7); INSERT INTO t VALUES (8)", &error),
					 RECLOSER_OK);
	assert_string_equal(one("SELECT sum(a) FROM t"), "15");
	assert_int_equal(engine_runf(engine, "test", &error, "INSERT INTO t VALUES (%d)", 5), RECLOSER_OK);
	assert_string_equal(one("SELECT sum(a) FROM t"), "20");
}

static void describes_without_running(void **state)
{
	(void)state;
	struct rows rows;
	assert_int_equal(engine_describe(engine, arena, "SELECT 1::BIGINT AS a, error('no') AS b, {'x': 1::FLOAT} AS \"the s\"",
									 &rows, &error),
					 RECLOSER_OK);
	assert_int_equal(rows.row_count, 3);
	assert_string_equal(rows_at(&rows, 0, 0), "a");
	assert_string_equal(rows_at(&rows, 0, 1), "BIGINT");
	assert_string_equal(rows_at(&rows, 2, 0), "the s");
	assert_string_equal(rows_at(&rows, 2, 1), "STRUCT(x FLOAT)");
}

static void failures_say_what_was_done(void **state)
{
	(void)state;
	assert_int_equal(engine_run(engine, "sort the rows", "SELECT * FROM nowhere", &error), RECLOSER_IO);
	assert_string_equal(error.code, "engine.failed");
	assert_non_null(strstr(error.what, "could not sort the rows: Catalog Error: Table with name nowhere"));
	assert_null(strchr(error.what, '\n'));
	error_clear(&error);
	struct rows rows;
	assert_int_equal(engine_query(engine, arena, "count", "SELECT 'a'::INTEGER FROM range(3)", &rows, &error), RECLOSER_IO);
	error_clear(&error);
	assert_int_equal(engine_query(engine, arena, "count", "SELECT", &rows, &error), RECLOSER_IO);
	error_clear(&error);
	/* Too large for 512 MB, and there is nowhere to spill to. */
	assert_int_equal(
		engine_run(engine, "sort",
				   "CREATE TABLE big AS SELECT i, repeat(i::VARCHAR, 20) AS t FROM range(20000000) r(i) ORDER BY hash(i)",
				   &error),
		RECLOSER_IO);
	assert_string_equal(error.code, "engine.memory");
	assert_non_null(strstr(error.hint, "--memory"));
}

static void settings_hold(void **state)
{
	(void)state;
	struct engine *second;
	assert_int_equal(engine_connect(arena, engine, &second, &error), RECLOSER_OK);
	engine = second;
	assert_string_equal(one("SELECT current_setting('TimeZone')"), "UTC");
	assert_string_equal(one("SELECT current_setting('threads')::INTEGER"), "2");
	assert_string_equal(one("SELECT TIMESTAMPTZ '2026-07-01 06:00:00+02'"), "2026-07-01 04:00:00+00");
	assert_string_equal(
		one("SELECT current_setting('autoinstall_known_extensions') OR current_setting('autoload_known_extensions')"),
		"false");
	assert_string_equal(engine_version(), "v1.5.6");
}

static void quoting(void **state)
{
	(void)state;
	assert_string_equal(sql_text(arena, "it's"), "'it''s'");
	assert_string_equal(sql_text(arena, NULL), "NULL");
	assert_string_equal(sql_name(arena, "a \"b\""), "\"a \"\"b\"\"\"");
}

/* ---- sources ---- */

struct fake {
	int64_t left, fail_at;
	int started, stopped;
};

static size_t fake_next(struct source *source, void *own, struct chunk *chunk, recloser_error *failure)
{
	struct fake *fake = source->impl;
	assert_ptr_equal(own, fake);
	size_t rows = 0;
	for (; rows < CHUNK_ROWS && fake->left > 0; rows++, fake->left--) {
		if (fake->left == fake->fail_at) {
			error_set(failure, RECLOSER_REFUSED, "source.bad_byte", "the file is not UTF-8");
			error_where(failure, "line %d", 17);
			error_hint(failure, "declare encoding");
			return 0;
		}
		chunk_put_int(chunk, SOURCE_ROW, rows, fake->left);
		chunk_put_null(chunk, SOURCE_LINE, rows);
		chunk_put_int(chunk, SOURCE_OFFSET, rows, 100 * fake->left);
		chunk_put_null(chunk, SOURCE_FAULT, rows);
		char text[40];
		int length = snprintf(text, sizeof text, "text %d which is longer than inlined", (int)fake->left);
		if (fake->left % 3)
			chunk_put_text(chunk, SOURCE_FIXED, rows, text, (size_t)length);
		else
			chunk_put_null(chunk, SOURCE_FIXED, rows);
		chunk_put_double(chunk, SOURCE_FIXED + 1, rows, (double)fake->left / 2);
		chunk_put_bool(chunk, SOURCE_FIXED + 2, rows, fake->left % 2 == 0);
		chunk_put_int(chunk, SOURCE_FIXED + 3, rows, 20000 + fake->left % 10);
		chunk_put_int(chunk, SOURCE_FIXED + 4, rows, INT64_C(1750000000000000));
		chunk_put_int(chunk, SOURCE_FIXED + 5, rows, INT64_C(1750000000000001));
		chunk_put_int(chunk, SOURCE_FIXED + 6, rows, INT64_C(3600000001));
		chunk_put_text(chunk, SOURCE_FIXED + 7, rows, "\x01\x00\xff", 3);
	}
	return rows;
}

static void *fake_start(struct source *source)
{
	((struct fake *)source->impl)->started++;
	return source->impl;
}

static void fake_stop(struct source *source, void *own)
{
	assert_ptr_equal(own, source->impl);
	((struct fake *)source->impl)->stopped++;
}

static const struct source_ops fake_ops = {fake_next, fake_start, fake_stop, false};
static struct source_column fake_columns[] = {
	{.name = "a\"; DROP", .type = CELL_TEXT}, {.name = "", .type = CELL_DOUBLE},     {.name = "c", .type = CELL_BOOLEAN},
	{.name = "d", .type = CELL_DATE},         {.name = "e", .type = CELL_TIMESTAMP}, {.name = "f", .type = CELL_TIMESTAMPTZ},
	{.name = "g", .type = CELL_TIME},         {.name = "h", .type = CELL_GEOMETRY},
};

static const char *scan(struct source *source, const char *select)
{
	uint64_t id;
	assert_int_equal(engine_offer(engine, source, &id, &error), RECLOSER_OK);
	return arena_printf(arena, "SELECT %s FROM rc_scan(%llu)", select, (unsigned long long)id);
}

static void reads_a_source(void **state)
{
	(void)state;
	struct fake fake = {.left = 5000};
	struct source source = {.ops = &fake_ops, .columns = fake_columns, .column_count = 8, .impl = &fake};
	query(arena_printf(arena, "CREATE TABLE s AS %s", scan(&source, "*")));
	assert_int_equal(fake.started, 1);
	assert_int_equal(fake.stopped, 1);
	struct rows rows = query("DESCRIBE s");
	static const char *const types[] = {"BIGINT", "BIGINT",  "BIGINT", "VARCHAR",   "VARCHAR",
										"DOUBLE", "BOOLEAN", "DATE",   "TIMESTAMP", "TIMESTAMP WITH TIME ZONE",
										"TIME",   "BLOB"};
	assert_int_equal(rows.row_count, 12);
	for (size_t i = 0; i < 12; i++)
		assert_string_equal(rows_at(&rows, i, 1), types[i]);
	assert_string_equal(rows_at(&rows, 4, 0), "c0");
	rows = query(
		"SELECT count(*), sum(_row), count(_line), sum(_offset), count(_fault), count(c0), sum(c1), count(*) FILTER (c2), "
		"min(c3), max(c4), max(c5), max(c6), max(hex(c7)), max(c0), count(DISTINCT c0) FROM s");
	static const char *const expected[] = {"5000",
										   "12502500",
										   "0",
										   "1250250000",
										   "0",
										   "3334",
										   "6251250",
										   "2500",
										   "2024-10-04",
										   "2025-06-15 15:06:40",
										   "2025-06-15 15:06:40.000001+00",
										   "01:00:00.000001",
										   "0100FF",
										   "text 998 which is longer than inlined",
										   "3334"};
	for (size_t i = 0; i < 15; i++)
		assert_string_equal(rows_at(&rows, 0, i), expected[i]);
}

static void reads_only_what_is_named(void **state)
{
	(void)state;
	struct fake fake = {.left = 5000};
	struct source source = {.ops = &fake_ops, .columns = fake_columns, .column_count = 8, .impl = &fake};
	assert_string_equal(one(scan(&source, "count(*)")), "5000");
	fake.left = 2500;
	assert_string_equal(one(scan(&source, "max(c0)")), "text 998 which is longer than inlined");
	fake.left = 2500;
	struct rows rows = query(scan(&source, "sum(c1), count(c0), sum(_row)"));
	assert_string_equal(rows_at(&rows, 0, 0), "1563125");
	assert_string_equal(rows_at(&rows, 0, 1), "1667");
	assert_string_equal(rows_at(&rows, 0, 2), "3126250");
	assert_int_equal(fake.started, 3);
	assert_int_equal(fake.stopped, 3);
}

static void the_readers_error_comes_through(void **state)
{
	(void)state;
	struct fake fake = {.left = 5000, .fail_at = 100};
	struct source source = {.ops = &fake_ops, .columns = fake_columns, .column_count = 8, .impl = &fake};
	const char *sql = scan(&source, "*");
	assert_int_equal(engine_runf(engine, "read", &error, "CREATE TABLE s AS %s", sql), RECLOSER_REFUSED);
	assert_string_equal(error.code, "source.bad_byte");
	assert_string_equal(error.what, "the file is not UTF-8");
	assert_string_equal(error.where, "line 17");
	assert_string_equal(error.hint, "declare encoding");
	assert_int_equal(fake.stopped, fake.started);
	/* The same source again, now whole. */
	fake = (struct fake){.left = 10};
	assert_string_equal(one(arena_printf(arena, "SELECT count(*) FROM (%s)", sql)), "10");
	error_clear(&error);
	assert_int_equal(engine_run(engine, "read", "SELECT * FROM rc_scan(999)", &error), RECLOSER_IO);
}

/* A source that several threads read at once: each takes the next thousand of what is left. */
static size_t shared_next(struct source *source, void *own, struct chunk *chunk, recloser_error *failure)
{
	(void)own;
	(void)failure;
	struct fake *fake = source->impl;
	int64_t first = __atomic_fetch_add(&fake->left, 1000, __ATOMIC_SEQ_CST);
	if (first >= 1000000)
		return 0;
	for (size_t row = 0; row < 1000; row++) {
		chunk_put_int(chunk, SOURCE_ROW, row, first + (int64_t)row);
		chunk_put_null(chunk, SOURCE_FAULT, row);
	}
	return 1000;
}

static void many_threads_read_a_source(void **state)
{
	(void)state;
	static const struct source_ops ops = {.next = shared_next, .parallel = true};
	struct fake fake = {0};
	struct source source = {.ops = &ops, .impl = &fake};
	struct rows rows = query(scan(&source, "count(*), sum(_row), count(DISTINCT _row), count(_fault)"));
	assert_string_equal(rows_at(&rows, 0, 0), "1000000");
	assert_string_equal(rows_at(&rows, 0, 1), "499999500000");
	assert_string_equal(rows_at(&rows, 0, 2), "1000000");
	assert_string_equal(rows_at(&rows, 0, 3), "0");
}

/* ---- memory ---- */

static void spills_and_cleans_up(void **state)
{
	(void)state;
	char directory[] = "/tmp/rc_engine_XXXXXX";
	assert_non_null(mkdtemp(directory));
	struct arena *own = arena_new(NULL);
	struct engine *small;
	const char *spill = arena_printf(own, "%s/spill", directory);
	struct engine_options options = {.threads = 1, .memory_bytes = 96u << 20, .spill = spill};
	assert_int_equal(engine_open(own, &options, &small, &error), RECLOSER_OK);
	assert_int_equal(access(spill, F_OK), -1); /* not before it is needed */
	assert_int_equal(
		engine_run(small, "sort",
				   "CREATE TABLE big AS SELECT i, repeat(i::VARCHAR, 20) AS t FROM range(2000000) r(i) ORDER BY hash(i)",
				   &error),
		RECLOSER_OK);
	assert_int_equal(access(spill, F_OK), 0);
	struct rows rows;
	assert_int_equal(engine_query(small, own, "count", "SELECT count(*), sum(i) FROM big", &rows, &error), RECLOSER_OK);
	assert_string_equal(rows_at(&rows, 0, 1), "1999999000000");
	char copy[64];
	snprintf(copy, sizeof copy, "%s", spill);
	arena_free(own);
	rmdir(copy); /* it may stay, but empty */
	assert_int_equal(rmdir(directory), 0);
}

/* ---- expressions of a spec ---- */

static recloser_status check(const char *expression)
{
	static const char *names[] = {"a", "b", "queue_id", "user", "Capacity MW"};
	const struct strings columns = {names, 5};
	error_clear(&error);
	return engine_check_expression(engine, arena, expression, &columns, &error);
}

static void plain_expressions_pass(void **state)
{
	(void)state;
	static const char *const good[] = {
		"a",
		"A + 1",
		"\"Capacity MW\" >= 0 AND b IS NOT NULL",
		"CASE WHEN a > 1 THEN upper(b) ELSE lower(b) END",
		"a BETWEEN 1 AND 2 OR b IN ('x', 'it''s)', '--')",
		"ltrim(queue_id, '0') || '-' || coalesce(b, '')",
		"a::DECIMAL(9,2) + TRY_CAST(b AS DOUBLE)",
		"a::JSON ->> '$.x'",
		"b -> 'x'",
		"list_transform(string_split(b, ','), lambda x: trim(x))",
		"[x * 2 for x in [1, 2, 3] if x > 1]",
		"split_part(b, '-', 2)",
		"nullif(b, '')",
		"list_sum([1, 2])",
		"b LIKE 'GIA%' AND regexp_matches(b, '[0-9]+')",
		"strftime(a, '%Y-%m')",
		"a AT TIME ZONE 'America/Chicago'",
		"extract(year FROM a)",
		"DATE '2026-07-01' + INTERVAL 1 DAY",
		"{'x': a}.x",
		"a /* in between */ + 1",
		"user",
		"18446744073709551615 + a",
		"a IS DISTINCT FROM b",
		"main.lower(b)",
	};
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		if (check(good[i]) != RECLOSER_OK)
			print_error("%s\n", error.what);
		assert_int_equal(error.status, RECLOSER_OK);
	}
}

static void attacks_are_refused(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"",
		" ",
		"1) from read_csv('x'); --",
		"1) from read_csv('x') where (1",
		"(select 1)",
		"exists(select 1)",
		"a = any(select 1)",
		"a IN (select 1)",
		"now()",
		"current_timestamp",
		"current_date",
		"current_user",
		"random()",
		"uuid()",
		"getenv('HOME')",
		"current_setting('x')",
		"getvariable('x')",
		"read_text('/etc/passwd')",
		"a from read_text('/etc/passwd')",
		"a; drop table b",
		"a;",
		"a, b",
		"a AS c",
		"a c",
		"a -- rest",
		"-- all",
		"a /* open",
		"'open",
		"\"open",
		"$$open",
		"a)",
		"(a",
		"a) + (b",
		"*",
		"COLUMNS(*)",
		"count(*)",
		"sum(a)",
		"sum(a) OVER ()",
		"row_number() OVER ()",
		"a LIMIT 1",
		"a WHERE b",
		"a UNION SELECT b",
		"a USING SAMPLE 1",
		"a QUALIFY true",
		"DISTINCT a",
		"?",
		"$1",
		"$name",
		"#1",
		"nextval('s')",
		"json_serialize_plan('SELECT * FROM read_csv(''x'')')",
		"query('select 1')",
		"unnest([1])",
		"ago(INTERVAL 1 DAY)",
		"age(a::TIMESTAMP)",
		"geomean(a)",
		"get_block_size('memory')",
		"pg_sleep(1)",
		"error('x')",
		"nowhere(a)",
		"other.lower(a)",
		"a::mytype",
		"a::main.mytype",
		"a::STRUCT(x mytype)",
		"lower(DISTINCT b)",
		"lower(b) FILTER (a)",
		"grouping(a)",
		"a COLLATE nocase",
		"read_text('/etc/passwd') -> 'x'",
		"list_transform([1], lambda x: random())",
		"list_transform([1], lambda x: y)",
		"DEFAULT",
		"current_localtimestamp()",
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		if (check(bad[i]) != RECLOSER_USAGE)
			print_error("passed: %s\n", bad[i]);
		assert_int_equal(error.status, RECLOSER_USAGE);
		assert_string_equal(error.code, "spec.expression");
	}
	check("queue_di = 'x'");
	assert_non_null(strstr(error.what, "\"queue_di\", which is not there"));
	assert_string_equal(error.hint, "did you mean \"queue_id\"?");
	error_clear(&error);
	assert_int_equal(engine_check_expression(engine, arena, "anything + 1", NULL, &error), RECLOSER_OK);
	assert_int_equal(engine_check_expression(engine, arena, "current_date", NULL, &error), RECLOSER_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_engine, close_engine)
		TEST(cells_are_text),
		TEST(order_survives_the_casts),
		TEST(statements_without_rows),
		TEST(describes_without_running),
		TEST(failures_say_what_was_done),
		TEST(settings_hold),
		TEST(quoting),
		TEST(reads_a_source),
		TEST(reads_only_what_is_named),
		TEST(the_readers_error_comes_through),
		TEST(many_threads_read_a_source),
		TEST(spills_and_cleans_up),
		TEST(plain_expressions_pass),
		TEST(attacks_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
