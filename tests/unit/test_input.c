/* SPDX-License-Identifier: Apache-2.0
 * Inputs: fingerprints, standard input, pipes, folders, sources of several files; and the choice of a reader. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "source/input.h"
#include "source/spool.h"

static const char abc_sha256[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

struct bench {
	struct arena *arena;
	char directory[64], spool[80];
	recloser_error error;
};

static int set_up(void **state)
{
	struct bench *b = calloc(1, sizeof *b);
	b->arena = arena_new(NULL);
	strcpy(b->directory, "/tmp/recloser-input-XXXXXX");
	if (!mkdtemp(b->directory))
		return -1;
	snprintf(b->spool, sizeof b->spool, "%s/spool", b->directory);
	*state = b;
	return mkdir(b->spool, 0700);
}

static int tear_down(void **state)
{
	struct bench *b = *state;
	arena_free(b->arena);
	int left = rmdir(b->spool); /* nothing may be left in it */
	char command[128];
	snprintf(command, sizeof command, "rm -r '%s'", b->directory);
	int removed = system(command);
	free(b);
	return left || removed;
}

static const char *path(struct bench *b, const char *name)
{
	return arena_printf(b->arena, "%s/%s", b->directory, name);
}

static void write_file(struct bench *b, const char *name, const char *content)
{
	FILE *file = fopen(path(b, name), "wb");
	assert_non_null(file);
	fputs(content, file);
	fclose(file);
}

static struct input open_input(struct bench *b, const char *at)
{
	struct input input;
	error_clear(&b->error);
	assert_int_equal(input_open(b->arena, at, b->spool, &input, &b->error), RECLOSER_OK);
	return input;
}

static void one_file(void **state)
{
	struct bench *b = *state;
	write_file(b, "a b.csv", "abc");
	struct input input = open_input(b, path(b, "a b.csv"));
	assert_string_equal(input.name, "a b.csv");
	assert_string_equal(input.path, path(b, "a b.csv"));
	assert_string_equal(input.read_path, input.path);
	assert_string_equal(input.sha256, abc_sha256);
	assert_int_equal(input.bytes, 3);
	assert_int_equal(input_open(b->arena, path(b, "none"), b->spool, &input, &b->error), RECLOSER_IO);
	error_clear(&b->error);
	assert_int_equal(input_open(b->arena, b->directory, b->spool, &input, &b->error), RECLOSER_IO);
}

static void copied(struct bench *b, const struct input *input)
{
	char content[8] = {0};
	assert_string_equal(input->sha256, abc_sha256);
	assert_int_equal(input->bytes, 3);
	assert_true(strncmp(input->read_path, b->spool, strlen(b->spool)) == 0);
	FILE *file = fopen(input->read_path, "rb");
	assert_non_null(file);
	assert_int_equal(fread(content, 1, sizeof content, file), 3);
	fclose(file);
	assert_string_equal(content, "abc");
}

static void standard_input(void **state)
{
	struct bench *b = *state;
	int ends[2], saved = dup(STDIN_FILENO);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "abc", 3), 3);
	close(ends[1]);
	dup2(ends[0], STDIN_FILENO);
	struct input input = open_input(b, "-");
	dup2(saved, STDIN_FILENO);
	close(saved);
	close(ends[0]);
	assert_string_equal(input.path, "-");
	assert_string_equal(input.name, "stdin");
	copied(b, &input);
}

static void system_directory(void **state)
{
	struct bench *b = *state;
	setenv("TMPDIR", b->spool, 1);
	assert_string_equal(spool_directory(NULL), b->spool);
	setenv("TMPDIR", "", 1);
	assert_string_equal(spool_directory(NULL), "/tmp");
	unsetenv("TMPDIR");
	assert_string_equal(spool_directory(NULL), "/tmp");
	assert_string_equal(spool_directory("a"), "a");
}

static void named_pipe(void **state)
{
	struct bench *b = *state;
	assert_int_equal(mkfifo(path(b, "p.csv"), 0600), 0);
	pid_t child = fork();
	if (child == 0) {
		int writing = open(path(b, "p.csv"), O_WRONLY);
		_exit(write(writing, "abc", 3) == 3 ? 0 : 1);
	}
	struct input input = open_input(b, path(b, "p.csv"));
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_string_equal(input.name, "p.csv");
	copied(b, &input);
}

static void folders(void **state)
{
	struct bench *b = *state;
	assert_int_equal(mkdir(path(b, "in"), 0700), 0);
	assert_int_equal(mkdir(path(b, "in/sub"), 0700), 0);
	assert_int_equal(mkdir(path(b, "in/x.gdb"), 0700), 0);
	write_file(b, "in/b.csv", "");
	write_file(b, "in/B.csv", "");
	write_file(b, "in/a.csv", "");
	write_file(b, "in/.hidden", "");
	assert_int_equal(symlink("a.csv", path(b, "in/link.csv")), 0);
	struct strings files = {0};
	assert_int_equal(input_expand(b->arena, path(b, "in"), &files, &b->error), RECLOSER_OK);
	assert_int_equal(input_expand(b->arena, path(b, "in/b.csv"), &files, &b->error), RECLOSER_OK);
	assert_int_equal(input_expand(b->arena, "-", &files, &b->error), RECLOSER_OK);
	assert_int_equal(input_expand(b->arena, path(b, "in/x.gdb"), &files, &b->error), RECLOSER_OK);
	static const char *const expected[] = {"in/B.csv", "in/a.csv", "in/b.csv", "in/link.csv", "in/b.csv", NULL, "in/x.gdb"};
	assert_int_equal(files.count, 7);
	for (size_t i = 0; i < files.count; i++)
		assert_string_equal(files.at[i], expected[i] ? path(b, expected[i]) : "-");
	struct strings slash = {0};
	assert_int_equal(input_expand(b->arena, path(b, "in/"), &slash, &b->error), RECLOSER_OK);
	assert_string_equal(slash.at[0], path(b, "in/B.csv"));
	assert_int_equal(input_expand(b->arena, path(b, "none"), &slash, &b->error), RECLOSER_IO);
}

static void shapefile(void **state)
{
	struct bench *b = *state;
	write_file(b, "s.shp", "shape");
	write_file(b, "s.dbf", "one");
	write_file(b, "s.txt", "notes");
	write_file(b, "other.dbf", "x");
	struct input first = open_input(b, path(b, "s.shp"));
	assert_int_equal(first.bytes, 8);
	write_file(b, "s.txt", "other notes");
	assert_string_equal(open_input(b, path(b, "s.shp")).sha256, first.sha256);
	write_file(b, "s.dbf", "two");
	assert_string_not_equal(open_input(b, path(b, "s.shp")).sha256, first.sha256);
	write_file(b, "s.dbf", "one");
	write_file(b, "s.prj", "");
	assert_string_not_equal(open_input(b, path(b, "s.shp")).sha256, first.sha256);
	/* Under another name it is the same source. */
	write_file(b, "t.shp", "shape");
	write_file(b, "t.dbf", "one");
	assert_string_equal(open_input(b, path(b, "t.shp")).sha256, first.sha256);
}

static void file_geodatabase(void **state)
{
	struct bench *b = *state;
	assert_int_equal(mkdir(path(b, "g.gdb"), 0700), 0);
	write_file(b, "g.gdb/a.gdbtable", "abc");
	struct input first = open_input(b, path(b, "g.gdb/"));
	assert_string_equal(first.name, "g.gdb");
	assert_int_equal(first.bytes, 3);
	write_file(b, "g.gdb/a.gdbtable", "abd");
	assert_string_not_equal(open_input(b, path(b, "g.gdb")).sha256, first.sha256);
}

/* ---- the choice of a reader: the readers are replaced by ones that say their name ---- */

static const char *chosen;
#define READER(name)                                                                                                        \
	recloser_status name##_open(struct arena *arena, const struct source_request *request, struct source ***out,            \
								size_t *count, recloser_error *error)                                                       \
	{                                                                                                                       \
		(void)arena, (void)request, (void)out, (void)count, (void)error;                                                    \
		chosen = #name;                                                                                                     \
		return RECLOSER_OK;                                                                                                 \
	}
READER(csv)
READER(json)
READER(parquet)
READER(xlsx)
READER(ogr)

static const char *choice(struct bench *b, const char *name, const char *content, size_t count, const char *format)
{
	struct input input = {.path = path(b, "content"), .name = name, .read_path = path(b, "content")};
	FILE *file = fopen(input.read_path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(content, 1, count, file), count);
	fclose(file);
	struct block block = {.format = format};
	struct source_request request = {.input = &input, .block = &block};
	struct source **sources;
	size_t sources_count;
	chosen = "none";
	error_clear(&b->error);
	(void)!source_open(b->arena, &request, &sources, &sources_count, &b->error);
	return chosen;
}
#define CHOICE(name, content) choice(b, name, content, sizeof(content) - 1, NULL)

static void reader_by_name(void **state)
{
	struct bench *b = *state;
	static const char *const names[][2] = {
		{"a.csv", "csv"},         {"a.CSV", "csv"},       {"a.tsv", "csv"},
		{"a.txt", "csv"},         {"a.csv.gz", "csv"},    {"a.CSV.ZST", "csv"},
		{"a.json", "json"},       {"a.geo.json", "json"}, {"a.geojson", "json"},
		{"a.ndjson", "json"},     {"a.jsonl.gz", "json"}, {"a.jsonl", "json"},
		{"a.parquet", "parquet"}, {"a.pq", "parquet"},    {"a.geoparquet", "parquet"},
		{"a.xlsx", "xlsx"},       {"a.XLSM", "xlsx"},     {"a.shp", "ogr"},
		{"a.gpkg", "ogr"},        {"a.fgb", "ogr"},       {"a.kml", "ogr"},
		{"a.xls", "ogr"},         {"a.zip", "ogr"},       {"a.dbf", "ogr"},
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		assert_string_equal(CHOICE(names[i][0], "PAR1"), names[i][1]);
	assert_string_equal(choice(b, "a.csv", "", 0, "json"), "json");
	assert_string_equal(choice(b, "a.parquet", "", 0, "CSV"), "csv");
	assert_string_equal(choice(b, "a.csv", "", 0, "yaml"), "none");
	assert_string_equal(b->error.code, "spec.format");
}

static void reader_by_content(void **state)
{
	struct bench *b = *state;
	assert_string_equal(CHOICE("stdin", "PAR1...."), "parquet");
	assert_string_equal(CHOICE("stdin", "PK\3\4...."), "xlsx");
	assert_string_equal(CHOICE("stdin", "  \n{\"a\": 1}"), "json");
	assert_string_equal(CHOICE("stdin", "\xEF\xBB\xBF[1]"), "json");
	assert_string_equal(CHOICE("stdin", "id,name\n"), "csv");
	assert_string_equal(CHOICE("stdin", ""), "csv");
	assert_string_equal(CHOICE("stdin", "\xFF\xFEi\0d\0"), "csv");
	assert_string_equal(CHOICE("stdin", "SQLite format 3\0"), "ogr");
	assert_string_equal(CHOICE("stdin", "<?xml version=\"1.0\"?><kml>"), "ogr");
	assert_string_equal(CHOICE("queue.2025", "id,name\n"), "csv");
	/* gzip of "[1]" */
	assert_string_equal(CHOICE("data.gz", "\x1f\x8b\x08\0\0\0\0\0\0\x03\x8b\x36\x8c\x05\0\x56\x1d\x94\x8c\x03\0\0\0"),
						"json");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(one_file),  TEST(standard_input),   TEST(system_directory), TEST(named_pipe),        TEST(folders),
		TEST(shapefile), TEST(file_geodatabase), TEST(reader_by_name),   TEST(reader_by_content),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
