/* SPDX-License-Identifier: Apache-2.0
 * The content pass: what must not change the fingerprint, what must, and what else it finds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/digest.h"
#include "engine/content.h"
#include "engine/functions.h"

static struct arena *arena;
static struct engine *engine;
static recloser_error error;
static int names;

static int open_engine(void **state)
{
	(void)state;
	arena = arena_new(NULL);
	error_clear(&error);
	struct engine_options options = {.threads = 2, .memory_bytes = 1u << 30};
	if (engine_open(arena, &options, &engine, &error) != RECLOSER_OK)
		return -1;
	return functions_register(engine, &error) == RECLOSER_OK ? 0 : -1;
}

static int close_engine(void **state)
{
	(void)state;
	arena_free(arena);
	return 0;
}

static void run(const char *sql)
{
	error_clear(&error);
	if (engine_run(engine, "test", sql, &error) != RECLOSER_OK)
		print_error("%s\n", error.what);
	assert_int_equal(error.status, RECLOSER_OK);
}

/* The schema of a query: `key` and `geometry` by name, `bbox` and `part` left out of the fingerprint. */
static struct content_schema schema_of(const char *select)
{
	struct rows described;
	if (engine_describe(engine, arena, select, &described, &error) != RECLOSER_OK)
		print_error("%s: %s\n", select, error.what);
	assert_int_equal(error.status, RECLOSER_OK);
	struct content_schema schema = {.count = described.row_count, .crs_id = "EPSG:4326"};
	schema.columns = arena_array(arena, schema.count, sizeof *schema.columns);
	for (size_t i = 0; i < schema.count; i++) {
		const char *name = rows_at(&described, i, 0);
		schema.columns[i] = (struct content_column){.name = name,
													.type = rows_at(&described, i, 1),
													.in_fingerprint = strcmp(name, "bbox") != 0 && strcmp(name, "part") != 0,
													.is_key = strcmp(name, "key") == 0,
													.is_geometry = strcmp(name, "geometry") == 0};
	}
	return schema;
}

static struct content content_of(const char *select)
{
	struct content_schema schema = schema_of(select);
	const char *name = arena_printf(arena, "rc_content_%d", ++names);
	struct rows rows;
	struct content content;
	error_clear(&error);
	if (content_register(engine, arena, name, &schema, &error) != RECLOSER_OK)
		print_error("%s: %s\n", select, error.what);
	assert_int_equal(error.status, RECLOSER_OK);
	const char *sql = arena_printf(arena, "SELECT %s FROM (%s) AS q", content_call(arena, name, &schema), select);
	if (engine_query(engine, arena, "test", sql, &rows, &error) != RECLOSER_OK)
		print_error("%s\n", error.what);
	assert_int_equal(error.status, RECLOSER_OK);
	assert_int_equal(content_read(arena, &schema, rows_at(&rows, 0, 0), &content, &error), RECLOSER_OK);
	return content;
}

static void same(const char *a, const char *b)
{
	struct content left = content_of(a), right = content_of(b);
	if (strcmp(left.fingerprint, right.fingerprint) != 0)
		print_error("differ: %s\n        %s\n", a, b);
	assert_string_equal(left.fingerprint, right.fingerprint);
}

static void differ(const char *a, const char *b)
{
	struct content left = content_of(a), right = content_of(b);
	if (strcmp(left.fingerprint, right.fingerprint) == 0)
		print_error("the same: %s\n          %s\n", a, b);
	assert_string_not_equal(left.fingerprint, right.fingerprint);
}

/* The bytes of format.md, written down by hand for one row. XXH3-128 of them as the reference library gives it. */
static void the_definition(void **state)
{
	(void)state;
	struct content none = content_of("SELECT 1 AS a WHERE false");
	assert_int_equal(none.rows, 0);
	char text[128], hex[SHA256_HEX];
	size_t length = (size_t)snprintf(text, sizeof text, "recloser-content-1\na\tint\n");
	memset(text + length, 0, 24);
	sha256_of(text, length + 24, hex);
	assert_string_equal(none.fingerprint + 3, hex);
	assert_memory_equal(none.fingerprint, "c1:", 3);
	/* A row (b = 'x', a = 1): 02 01000000 00000000, then 06 01000000 78. */
	struct content one = content_of("SELECT 'x' AS b, 1 AS a");
	assert_int_equal(one.rows, 1);
	assert_int_equal(one.sum[0], UINT64_C(0x7c30498656698a93));
	assert_int_equal(one.sum[1], UINT64_C(0x8f938522c7232d83));
}

#define TABLE                                                                                                               \
	"SELECT i AS id, 'name ' || i AS name, CASE WHEN i % 5 <> 0 THEN i / 7 END AS d, DATE '2020-01-01' + (i % "             \
	"1000)::INTEGER AS day, "                                                                                               \
	"(i * 1.5)::DECIMAL(12,2) AS money, TIMESTAMP '2026-07-01' + to_seconds(i) AS at, i % 3 = 0 AS flag, rc_point(i % "     \
	"180, i % 90) AS geometry, "                                                                                            \
	"[i, NULL] AS list, {'b': i, 'a': 'x'} AS s, sha256(i::VARCHAR)[:24] AS key FROM range(20000) r(i)"

static void order_does_not_show(void **state)
{
	(void)state;
	run("CREATE TABLE t AS " TABLE);
	struct content content = content_of("SELECT * FROM t");
	assert_int_equal(content.rows, 20000);
	assert_int_equal(content.duplicate_keys, 0);
	assert_int_equal(content.key_null, 0);
	assert_int_equal(content.geometry_null, 0);
	assert_int_equal(content.geometry_faults, 0);
	assert_true(content.geometry.any && content.geometry.standard);
	assert_true(content.geometry.maximum[0] == 179 && content.geometry.maximum[1] == 89);
	assert_true(content.geometry.minimum[0] == 0 && !content.geometry.any_z);
	assert_int_equal(content.geometry.types, 1);
	same("SELECT * FROM t", "SELECT * FROM t ORDER BY hash(id)");
	same("SELECT * FROM t", "SELECT s, list, geometry, key, flag, \"at\", money, day, d, name, id FROM t ORDER BY id DESC");
	same("SELECT * FROM t", "SELECT *, 1 AS part, rc_bbox(geometry) AS bbox FROM t");
	same("SELECT * FROM t", "SELECT * FROM (SELECT * FROM t WHERE id < 7777 UNION ALL SELECT * FROM t WHERE id >= 7777)");
	run("SET threads = 1");
	struct content alone = content_of("SELECT * FROM t");
	assert_string_equal(alone.fingerprint, content.fingerprint);
}

static void changes_show(void **state)
{
	(void)state;
	run("CREATE TABLE t AS " TABLE);
	differ("SELECT * FROM t", "SELECT * REPLACE (CASE WHEN id = 9999 THEN d + 0.01 ELSE d END AS d) FROM t");
	differ("SELECT * FROM t", "SELECT * FROM t UNION ALL SELECT * FROM t WHERE id = 3");
	differ("SELECT * FROM t", "SELECT * FROM t WHERE id <> 3");
	differ("SELECT * FROM t UNION ALL SELECT * FROM t WHERE id = 3",
		   "SELECT * FROM t UNION ALL SELECT * FROM t WHERE id = 4");
	differ("SELECT * FROM t", "SELECT * RENAME (name AS title) FROM t");
	differ("SELECT * FROM t", "SELECT * REPLACE (id::VARCHAR AS id) FROM t");
	differ("SELECT NULL::VARCHAR AS a", "SELECT '' AS a");
	differ("SELECT 'ab' AS a, 'c' AS b", "SELECT 'a' AS a, 'bc' AS b");
	differ("SELECT 'x' AS a, 'y' AS b UNION ALL SELECT 'z', 'w'", "SELECT 'x' AS a, 'w' AS b UNION ALL SELECT 'z', 'y'");
	differ("SELECT [1, 2] AS a", "SELECT [1, 2, NULL] AS a");
	differ("SELECT NULL::INTEGER[] AS a", "SELECT []::INTEGER[] AS a");
	differ("SELECT {'a': 1, 'b': 2} AS a", "SELECT {'a': 2, 'b': 1} AS a");
	differ("SELECT 'a' AS a", "SELECT 'a'::BLOB AS a");
	differ("SELECT 1.50::DECIMAL(9,2) AS a", "SELECT 1.5::DECIMAL(9,1) AS a");
	differ("SELECT 'é' AS a", "SELECT 'e' || chr(769) AS a"); /* no normalisation */
	differ("SELECT 1::DOUBLE AS a", "SELECT 1 AS a");
	differ("SELECT TIMESTAMP '2026-07-01' AS a", "SELECT TIMESTAMPTZ '2026-07-01 00:00:00+00' AS a");
	differ("SELECT 'infinity'::TIMESTAMP AS a", "SELECT '-infinity'::TIMESTAMP AS a");
	differ("SELECT 18446744073709551615::UBIGINT AS a", "SELECT -1::BIGINT AS a");
	struct content_schema schema = schema_of("SELECT rc_point(1, 2) AS geometry");
	struct content first = content_of("SELECT rc_point(1, 2) AS geometry"), second;
	schema.crs_id = "EPSG:5070";
	struct rows rows;
	assert_int_equal(content_register(engine, arena, "rc_other_crs", &schema, &error), RECLOSER_OK);
	assert_int_equal(engine_query(engine, arena, "test", "SELECT rc_other_crs(rc_point(1, 2))", &rows, &error), RECLOSER_OK);
	assert_int_equal(content_read(arena, &schema, rows_at(&rows, 0, 0), &second, &error), RECLOSER_OK);
	assert_string_not_equal(first.fingerprint, second.fingerprint);
}

static void widths_do_not_show(void **state)
{
	(void)state;
	static const char *const integers[] = {"TINYINT", "SMALLINT", "INTEGER", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"};
	for (size_t i = 0; i < sizeof integers / sizeof *integers; i++)
		same(arena_printf(arena, "SELECT 7::%s AS a UNION ALL SELECT NULL", integers[i]),
			 "SELECT 7::BIGINT AS a UNION ALL SELECT NULL");
	same("SELECT -7::TINYINT AS a", "SELECT -7::BIGINT AS a");
	same("SELECT 0.5::FLOAT AS a", "SELECT 0.5::DOUBLE AS a");
	same("SELECT 0.1::FLOAT AS a", "SELECT 0.1::FLOAT::DOUBLE AS a");
	same("SELECT -0.0::DOUBLE AS a", "SELECT 0.0::DOUBLE AS a");
	same("SELECT 'nan'::DOUBLE AS a", "SELECT -('nan'::DOUBLE) AS a");
	same("SELECT 'nan'::FLOAT AS a", "SELECT 'nan'::DOUBLE AS a");
	same("SELECT TIMESTAMP_S '1969-12-31 23:59:58' AS a", "SELECT TIMESTAMP '1969-12-31 23:59:58' AS a");
	same("SELECT TIMESTAMP_MS '1969-12-31 23:59:58.001' AS a", "SELECT TIMESTAMP_NS '1969-12-31 23:59:58.001' AS a");
	same("SELECT 'infinity'::TIMESTAMP AS a", "SELECT 'infinity'::TIMESTAMP_NS AS a");
	same("SELECT 'a'::ENUM('b', 'a') AS a", "SELECT 'a' AS a");
	same("SELECT TIME '10:00:00.5' AS a", "SELECT TIME_NS '10:00:00.5' AS a");
	same("SELECT [1::TINYINT] AS a", "SELECT [1::BIGINT] AS a");
	same("SELECT [1, 2]::INTEGER[2] AS a", "SELECT [1, 2] AS a");
	same("SELECT {'b': 1, 'a': 'x'} AS a", "SELECT {'a': 'x', 'b': 1} AS a");
	same("SELECT MAP {'k': 1} AS a", "SELECT [{'key': 'k', 'value': 1}] AS a");
	same("SELECT 12345.67::DECIMAL(9,2) AS a", "SELECT 12345.67::DECIMAL(9,2) AS a");
	same("SELECT '[1]'::JSON AS a", "SELECT '[1]' AS a");
	same("SELECT rc_wkt('POINT (1 2)') AS geometry", "SELECT 'POINT (1 2)'::GEOMETRY AS geometry");
	same("SELECT 9223372036854775807::UBIGINT AS a", "SELECT 9223372036854775807::BIGINT AS a");
	/* Dictionary and constant vectors. */
	same("SELECT 'x' AS a, i FROM range(5000) r(i)",
		 "SELECT CASE WHEN i < 9000 THEN 'x' ELSE 'y' END AS a, i FROM range(5000) r(i)");
}

static void files_keep_it(void **state)
{
	(void)state;
	char directory[] = "/tmp/rc_content_XXXXXX";
	assert_non_null(mkdtemp(directory));
	run("CREATE TABLE t AS SELECT *, uuid_of AS u, MAP {'k': id} AS m, TIME '10:00' AS time, id::UBIGINT + "
		"9223372036854775808 AS big, "
		"(TIMESTAMP '2026-07-01' + to_microseconds(id)) AT TIME ZONE 'UTC' AS tz, (id % 7)::FLOAT AS f, "
		"'word'::ENUM('word') AS e "
		"FROM (SELECT *, md5(id::VARCHAR)::UUID AS uuid_of FROM (" TABLE "))");
	run("ALTER TABLE t ALTER big TYPE UBIGINT");
	struct content before = content_of("SELECT * FROM t");
	static const char *const options[] = {"COMPRESSION zstd, ROW_GROUP_SIZE 2048", "COMPRESSION snappy, PARQUET_VERSION v2",
										  "COMPRESSION uncompressed, DICTIONARY_SIZE_LIMIT 1"};
	for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
		const char *path = arena_printf(arena, "%s/%zu.parquet", directory, i);
		run(arena_printf(arena, "COPY (SELECT * FROM t ORDER BY hash(id + %zu)) TO '%s' (FORMAT parquet, %s)", i, path,
						 options[i]));
		struct content after =
			content_of(arena_printf(arena, "SELECT * FROM read_parquet('%s', hive_partitioning = false)", path));
		assert_string_equal(after.fingerprint, before.fingerprint);
		assert_int_equal(after.geometry.types, before.geometry.types);
		assert_int_equal(unlink(path), 0);
	}
	assert_int_equal(rmdir(directory), 0);
}

static void keys_and_geometry(void **state)
{
	(void)state;
	struct content content =
		content_of("SELECT CASE WHEN i < 10 THEN NULL WHEN i < 20 THEN 'a' WHEN i < 30 THEN 'b' ELSE i::VARCHAR END AS key, "
				   "CASE WHEN i % 100 = 0 THEN NULL WHEN i % 100 = 1 THEN ''::BLOB WHEN i % 100 = 2 THEN "
				   "unhex('0101000000000000000000F87F000000000000F87F') "
				   "ELSE rc_point(i, -i) END AS geometry FROM range(10000) r(i)");
	assert_int_equal(content.rows, 10000);
	assert_int_equal(content.key_null, 10);
	assert_int_equal(content.duplicate_keys, 2);
	assert_int_equal(content.geometry_null, 100);
	assert_int_equal(content.geometry_faults, 100);
	assert_int_equal(content.first_fault, WKB_TRUNCATED);
	assert_true(content.geometry.minimum[0] == 3 && content.geometry.maximum[0] == 9999);
	assert_true(content.geometry.minimum[1] == -9999 && content.geometry.maximum[1] == -3);
	/* Large, with every key twice, and one three times. */
	content = content_of("SELECT (i % 300000)::VARCHAR AS key FROM range(600001) r(i)");
	assert_int_equal(content.duplicate_keys, 300000);
	content = content_of("SELECT 'one' AS key FROM range(100000) r(i)");
	assert_int_equal(content.duplicate_keys, 1);
	content = content_of("SELECT unhex('00000000013FF00000000000004000000000000000') AS geometry");
	assert_int_equal(content.geometry_faults, 0);
	assert_false(content.geometry.standard);
}

static void groups(void **state)
{
	(void)state;
	run("CREATE TABLE t AS SELECT i % 10000 AS part, i::VARCHAR AS key, i AS value FROM range(300000) r(i)");
	struct content_schema schema = schema_of("SELECT * FROM t");
	assert_int_equal(content_register(engine, arena, "rc_grouped", &schema, &error), RECLOSER_OK);
	assert_int_equal(content_register(engine, arena, "rc_grouped", &schema, &error), RECLOSER_OK); /* known already */
	struct rows rows;
	const char *sql = arena_printf(arena, "SELECT part, %s FROM t GROUP BY part ORDER BY part",
								   content_call(arena, "rc_grouped", &schema));
	assert_int_equal(engine_query(engine, arena, "test", sql, &rows, &error), RECLOSER_OK);
	assert_int_equal(rows.row_count, 10000);
	for (size_t i = 0; i < rows.row_count; i += 1234) {
		struct content one, alone = content_of(arena_printf(arena, "SELECT * FROM t WHERE part = %zu", i));
		assert_int_equal(content_read(arena, &schema, rows_at(&rows, i, 1), &one, &error), RECLOSER_OK);
		assert_int_equal(one.rows, 30);
		assert_string_equal(one.fingerprint, alone.fingerprint);
	}
	schema.crs_id = "EPSG:1";
	assert_int_equal(content_register(engine, arena, "rc_grouped", &schema, &error), RECLOSER_IO);
	/* A statement that fails half-way gives its states back. */
	error_clear(&error);
	assert_int_equal(engine_run(engine, "test",
								"SELECT part, rc_grouped(part, key, CASE WHEN value = 299999 THEN error('stop')::BIGINT "
								"ELSE value END) FROM t GROUP BY part",
								&error),
					 RECLOSER_IO);
}

/* Digests that were kept beside the rows add up to what one pass over the columns finds. */
static void digests_add_up(void **state)
{
	(void)state;
	run("CREATE TABLE t AS " TABLE);
	struct content_schema schema = schema_of("SELECT * FROM t");
	schema.crs_id = "EPSG:4326";
	assert_int_equal(content_register_row(engine, arena, "rc_digest", &schema, &error), RECLOSER_OK);
	assert_int_equal(content_register_sum(engine, arena, "rc_total", &schema, &error), RECLOSER_OK);
	run(arena_printf(arena, "CREATE TABLE kept AS SELECT id, geometry, %s AS digest FROM t", content_call(arena, "rc_digest", &schema)));
	static const char *const wheres[] = {"TRUE", "id % 3 = 1", "id = 77", "FALSE"};
	for (size_t i = 0; i < sizeof wheres / sizeof *wheres; i++) {
		struct rows rows;
		struct content found, due = content_of(arena_printf(arena, "SELECT * FROM t WHERE %s", wheres[i]));
		const char *sql = arena_printf(arena, "SELECT rc_total(digest, geometry) FROM kept WHERE %s", wheres[i]);
		assert_int_equal(engine_query(engine, arena, "test", sql, &rows, &error), RECLOSER_OK);
		assert_int_equal(content_read(arena, &schema, rows_at(&rows, 0, 0), &found, &error), RECLOSER_OK);
		assert_string_equal(found.fingerprint, due.fingerprint);
		assert_int_equal(found.rows, due.rows);
		assert_memory_equal(&found.geometry.minimum, &due.geometry.minimum, sizeof due.geometry.minimum);
		assert_memory_equal(&found.geometry.maximum, &due.geometry.maximum, sizeof due.geometry.maximum);
		assert_int_equal(found.geometry.types, due.geometry.types);
	}
	struct rows rows;
	assert_int_equal(engine_query(engine, arena, "test",
								  "SELECT count(DISTINCT digest), count(*) FROM (SELECT digest FROM kept UNION ALL SELECT digest FROM kept)",
								  &rows, &error),
					 RECLOSER_OK);
	assert_int_equal(rows_int(&rows, 0, 0) * 2, rows_int(&rows, 0, 1));
}

static void types_without_a_form(void **state)
{
	(void)state;
	static const char *const bad[] = {"HUGEINT",          "INTERVAL",          "BIT",       "TIME WITH TIME ZONE",
									  "UNION(a INTEGER)", "STRUCT(a HUGEINT)", "INTERVAL[]"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct content_column column = {.name = "odd", .type = bad[i], .in_fingerprint = true};
		struct content_schema schema = {.columns = &column, .count = 1};
		error_clear(&error);
		assert_int_equal(content_register(engine, arena, "rc_bad", &schema, &error), RECLOSER_USAGE);
		assert_non_null(strstr(error.what, "\"odd\""));
	}
}

static void what_is_not_ours_is_refused(void **state)
{
	(void)state;
	struct content_schema schema = {0};
	struct content content;
	static const char *const bad[] = {"", "x", "0123 1 2", "zz"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		error_clear(&error);
		assert_int_equal(content_read(arena, &schema, bad[i], &content, &error), RECLOSER_IO);
	}
	error_clear(&error);
	assert_int_equal(content_read(arena, &schema, NULL, &content, &error), RECLOSER_OK);
	assert_int_equal(content.rows, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_engine, close_engine)
		TEST(the_definition),
		TEST(order_does_not_show),
		TEST(changes_show),
		TEST(widths_do_not_show),
		TEST(files_keep_it),
		TEST(keys_and_geometry),
		TEST(groups),
		TEST(digests_add_up),
		TEST(types_without_a_form),
		TEST(what_is_not_ours_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
