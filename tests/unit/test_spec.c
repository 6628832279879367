/* SPDX-License-Identifier: Apache-2.0
 * The spec: what is read, what is merged and implied, what the digests see, and every refusal with its place. The specs
 * that must be refused lie in tests/specs/bad, each beside the lines that its message must hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "spec/spec.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TINY "dataset: queue\nroot: lake\nsource: {files: '*.csv'}\nkey: {identity: [queue_id]}\npartition: [state, month]\n"

static int set_up(void **state)
{
	struct arena *arena = arena_new(NULL);
	*state = arena;
	return arena ? 0 : -1;
}

static int tear_down(void **state)
{
	arena_free(*state);
	return 0;
}

static struct spec *parse(struct arena *arena, const char *path, const char *text)
{
	recloser_error error = {0};
	struct spec *spec = NULL;
	if (spec_parse(arena, path, text, strlen(text), &spec, &error) != RECLOSER_OK)
		fail_msg("%s: %s (%s)", error.code, error.what, error.where);
	return spec;
}

static struct spec *read_good(struct arena *arena, const char *name)
{
	recloser_error error = {0};
	struct spec *spec = NULL;
	const char *path = arena_printf(arena, "%s/specs/good/%s.yaml", TEST_SOURCE_DIR, name);
	if (spec_read(arena, path, &spec, &error) != RECLOSER_OK)
		fail_msg("%s: %s (%s)", error.code, error.what, error.where);
	return spec;
}

static const char *names_of(struct arena *arena, const struct block *block)
{
	struct strings names = {NULL, 0};
	for (size_t i = 0; i < block->column_count; i++)
		strings_add(arena, &names, block->columns[i].name);
	return strings_join(arena, &names, " ");
}

static void test_tiny_and_defaults(void **state)
{
	const struct spec *spec = parse(*state, "specs/queue.yaml", TINY);
	assert_string_equal(spec->dataset, "queue");
	assert_string_equal(spec->root, "specs/lake");
	assert_string_equal(spec->directory, "specs");
	assert_string_equal(spec->key_column, "asset_key");
	assert_string_equal(spec->geoparquet, "1.1");
	assert_true(spec->other_columns_keep);
	assert_int_equal(spec->order, ORDER_IDENTITY);
	assert_int_equal(spec->partition_columns, PARTITION_DICTIONARY);
	assert_int_equal(spec->schema, SCHEMA_GROW);
	assert_int_equal(spec->geometry.from, GEOMETRY_AUTO);
	assert_int_equal(spec->quarantine.policy, POLICY_REFUSE);
	assert_true(spec->quarantine.max.share == 0.01 && spec->quarantine.max.count == -1);
	assert_int_equal(spec->disappeared.policy, POLICY_WARN);
	assert_true(spec->disappeared.max.share == 0);
	assert_int_equal(spec->key_churn.policy, POLICY_WARN);
	assert_true(spec->key_churn.max.share == 0.2);
	assert_int_equal(spec->older.policy, POLICY_HOLD);
	assert_int_equal(spec->moved.policy, POLICY_WARN);
	assert_false(spec->moved.given);
	assert_int_equal(spec->total_count, 0);
	assert_null(spec->freshness.column);
	assert_int_equal(spec->source_count, 1);
	assert_null(spec->sources[0].name);
	const struct block *block = &spec->sources[0].blocks[0];
	assert_int_equal(block->missing.count, 1);
	assert_string_equal(block->missing.at[0], "");
	assert_int_equal(block->space, SPACE_KEEP);
	assert_string_equal(names_of(*state, block), "queue_id state month");
	const struct column *id = block_column(block, "queue_id"), *month = block_column(block, "month");
	assert_int_equal(id->type, TYPE_UNSET);
	assert_false(id->origin_given);
	assert_string_equal(id->from.at[0], "queue_id");
	assert_int_equal(id->mark.line, 4);
	assert_int_equal(id->mark.column, 18);
	assert_int_equal(month->type, TYPE_TEXT);
	assert_int_equal(month->mark.column, 20);
	assert_null(block_column(block, "asset_key"));
}

static void test_paths(void **state)
{
	static const char *const cases[][3] = {
		{"queue.yaml", "lake", "lake"},
		{"/queue.yaml", "lake", "/lake"},
		{"/a/queue.yaml", "./lake//", "/a/lake"},
		{"a/queue.yaml", "/srv/lake/", "/srv/lake"},
		{"a/queue.yaml", "s3://bucket/prefix/", "s3://bucket/prefix"},
		{"a/queue.yaml", "gs://bucket", "gs://bucket"},
		{"a/queue.yaml", "../lake", "a/../lake"},
		{"queue.yaml", ".", "."},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *text =
			arena_printf(*state, "dataset: q\nroot: %s\nsource: {}\nkey: {id: a}\npartition: []\n", cases[i][1]);
		assert_string_equal(parse(*state, cases[i][0], text)->root, cases[i][2]);
	}
}

static void test_merged_columns(void **state)
{
	const struct spec *spec = read_good(*state, "several-publishers");
	assert_int_equal(spec->source_count, 2);
	assert_int_equal(spec->sources[1].block_count, 2);
	const struct block *ercot = &spec->sources[0].blocks[0], *csv = &spec->sources[1].blocks[0],
					   *other = &spec->sources[1].blocks[1];
	assert_string_equal(names_of(*state, ercot), "queue_id capacity_mw state iso");
	assert_string_equal(names_of(*state, csv), "queue_id capacity_mw iso state");
	assert_int_equal(ercot->space, SPACE_SQUEEZE);
	/* What is shared stays, what is restated is the block's own. */
	assert_string_equal(ercot->columns[0].from.at[0], "INR");
	assert_string_equal(csv->columns[0].from.at[0], "Project #");
	assert_int_equal(other->columns[0].origin, ORIGIN_AT);
	assert_int_equal(other->columns[0].at, 2);
	assert_int_equal(other->columns[0].from.count, 0);
	assert_true(ercot->columns[0].required && csv->columns[0].required && other->columns[0].required);
	assert_int_equal(ercot->columns[1].type, TYPE_DECIMAL);
	assert_int_equal(ercot->columns[1].precision, 10);
	assert_int_equal(ercot->columns[1].scale, 2);
	assert_int_equal(ercot->columns[1].missing.count, 2);
	assert_string_equal(ercot->columns[1].missing.at[1], "N/A");
	const struct column *iso = block_column(other, "iso");
	assert_int_equal(iso->origin, ORIGIN_VALUE);
	assert_string_equal(iso->value, "MISO");
	assert_string_equal(block_column(ercot, "iso")->value, "ERCOT");
	assert_int_equal(block_column(ercot, "state")->origin, ORIGIN_VALUE);
	assert_int_equal(block_column(csv, "state")->origin, ORIGIN_FROM);
}

static void test_column_fields(void **state)
{
	const struct spec *spec = read_good(*state, "columns");
	const struct block *block = &spec->sources[0].blocks[0];
	const struct column *month = block_column(block, "month");
	assert_int_equal(month->origin, ORIGIN_NAME);
	assert_int_equal(month->type, TYPE_TEXT);
	assert_string_equal(month->as, "%Y-%m");
	assert_int_equal(block_column(block, "year")->origin, ORIGIN_PATH);
	assert_int_equal(block_column(block, "year")->type, TYPE_INTEGER);
	const struct column *as_of = block_column(block, "as_of");
	assert_int_equal(as_of->origin, ORIGIN_ABOVE);
	assert_true(as_of->time_drop);
	assert_int_equal(as_of->format.count, 3);
	assert_string_equal(block_column(block, "fixed")->value, "");
	assert_null(block_column(block, "asked")->value);
	assert_string_equal(block_column(block, "offered")->value, "none");
	assert_true(spec_takes_setting(spec, "asked") && spec_takes_setting(spec, "offered"));
	assert_false(spec_takes_setting(spec, "fixed") || spec_takes_setting(spec, "absent"));
	assert_string_equal(block_column(block, "table")->sql, "sheet");
	const struct column *twelfth = block_column(block, "twelfth");
	assert_int_equal(twelfth->at, 12);
	assert_true(twelfth->optional);
	assert_int_equal(twelfth->type, TYPE_TEXT);
	const struct column *named = block_column(block, "named");
	assert_string_equal(named->from.at[1], "B, C");
	assert_string_equal(named->map[1].to, "");
	assert_string_equal(named->otherwise, "");
	assert_int_equal(named->pad, 5);
	assert_string_equal(block_column(block, "flag")->false_words.at[1], "no");
	const struct column *x = block_column(block, "x");
	assert_false(x->keep);
	assert_int_equal(x->missing.count, 2);
	assert_string_equal(x->missing.at[0], "TBD");
	assert_int_equal(block_column(block, "bare")->type, TYPE_UNSET);
	assert_true(block_column(block, "bare")->keep);
}

static void test_scalars_stay_text(void **state)
{
	static const char *const words[][2] = {
		{"state", "NO"}, {"code", "01"}, {"number", "1e5"}, {"day", "2020-01-01"}, {"answer", "yes"}};
	const struct block *block = &read_good(*state, "words-stay-text")->sources[0].blocks[0];
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		assert_string_equal(block_column(block, words[i][0])->value, words[i][1]);
	const struct strings *missing = &block_column(block, "answer")->missing;
	assert_string_equal(strings_join(*state, missing, ","), "null,~,-999999,");
}

static void test_comments(void **state)
{
	const struct spec *spec = read_good(*state, "comments");
	const struct block *block = &spec->sources[0].blocks[0];
	assert_string_equal(spec->dataset, "queue");
	assert_string_equal(block_column(block, "queue_id")->from.at[0], "Project Number");
	assert_string_equal(block_column(block, "state")->from.at[0], "State #");
	assert_string_equal(block_column(block, "state")->from.at[1], "Region#2");
}

static void test_blocks(void **state)
{
	const struct block *sheets = &read_good(*state, "sheets")->sources[0].blocks[0];
	assert_string_equal(sheets->sheet.at[0], "1");
	assert_int_equal(sheets->not_sheet.count, 2);
	assert_int_equal(sheets->header.kind, HEADER_ROW);
	assert_int_equal(sheets->header.row_count, 2);
	assert_int_equal(sheets->header.rows[1], 2);
	assert_int_equal(sheets->data, DATA_ROW);
	assert_int_equal(sheets->data_row, 36);
	assert_int_equal(sheets->end, END_FIND);
	assert_string_equal(sheets->end_find, "NOTES:");
	assert_int_equal(sheets->several, SEVERAL_UNION);
	assert_true(sheets->snake_names);
	const struct block *text = &read_good(*state, "text-files")->sources[0].blocks[0];
	assert_int_equal(text->header.kind, HEADER_NONE);
	assert_int_equal(text->delimiter, '\t');
	assert_int_equal(text->quote, '\1');
	assert_int_equal(text->missing.count, 0);
	assert_true(text->missing_given);
	assert_string_equal(text->encoding, "windows-1252");
	assert_string_equal(text->format, "csv");
	const struct block *zip = &read_good(*state, "archives")->sources[0].blocks[0];
	assert_string_equal(zip->member, "plants/*.json");
	assert_string_equal(zip->records, "data.items");
}

static void test_policies(void **state)
{
	const struct spec *spec = read_good(*state, "policies");
	assert_int_equal(spec->quarantine.policy, POLICY_HOLD);
	assert_int_equal(spec->quarantine.max.count, 25);
	assert_true(spec->quarantine.max.share < 0);
	assert_int_equal(spec->disappeared.policy, POLICY_CARRY);
	assert_true(spec->disappeared.max.share == 0.005);
	assert_int_equal(spec->total_count, 1);
	assert_string_equal(spec->totals[0].column, "capacity_mw");
	assert_true(spec->totals[0].guard.max.share == 0.2);
	assert_int_equal(spec->totals[0].guard.policy, POLICY_HOLD);
	assert_int_equal(spec->key_churn.policy, POLICY_HOLD);
	assert_true(spec->key_churn.given);
	assert_int_equal(spec->older.policy, POLICY_REFUSE);
	assert_int_equal(spec->moved.policy, POLICY_ALLOW);
	assert_int_equal(spec->freshness.count, 3);
	assert_int_equal(spec->freshness.unit, 'm');
	assert_string_equal(policy_word(POLICY_CARRY), "carry");
}

static void test_storage_and_geometry(void **state)
{
	const struct spec *spec = read_good(*state, "storage");
	assert_string_equal(spec->root, "s3://bucket/prefix");
	assert_string_equal(spec->geoparquet, "2.0");
	assert_string_equal(spec->temp_directory, "/scratch");
	assert_true(spec->single_writer && spec->no_checksums && spec->archive_sources && spec->ties_refuse);
	assert_string_equal(spec->revision, "published_at");
	assert_false(spec->other_columns_keep);
	assert_int_equal(read_good(*state, "geometry-none")->geometry.from, GEOMETRY_NONE);
	const struct geometry_spec *geometry = &read_good(*state, "geometry-lookup")->geometry;
	assert_int_equal(geometry->from, GEOMETRY_LOOKUP);
	assert_string_equal(geometry->lookup.file, "counties.gpkg");
	assert_string_equal(geometry->lookup.on[1].from, "county");
	assert_string_equal(geometry->lookup.on[1].to, "NAME");
	assert_true(geometry->lookup.point_on_surface && geometry->lookup.fold_case && geometry->lookup.fold_accents);
	assert_false(geometry->lookup.centroid);
	assert_int_equal(geometry->curves, CURVES_LINEARIZE);
	geometry = &read_good(*state, "geometry-forms")->geometry;
	assert_int_equal(geometry->from, GEOMETRY_SOURCE);
	assert_string_equal(geometry->parts[0], "shape");
	assert_int_equal(geometry->covering, COVERING_OFF);
	spec = read_good(*state, "identity-geometry");
	assert_string_equal(spec->identity[1].column, "geometry");
	assert_null(block_column(&spec->sources[0].blocks[0], "geometry"));
	spec = read_good(*state, "escape-and-sql");
	assert_true(spec->key_escape);
	assert_string_equal(spec->identity[1].sql, "ltrim(unit, '0')");
	assert_string_equal(spec->key_column, "my_key");
}

static void test_thresholds(void **state)
{
	(void)state;
	const struct threshold percent = {0.29, -1}, rows = {-1, 10}, zero = {0, -1}, none = {-1, -1};
	assert_false(threshold_exceeded(&percent, 29, 100));
	assert_true(threshold_exceeded(&percent, 30, 100));
	assert_false(threshold_exceeded(&rows, 10, 10));
	assert_true(threshold_exceeded(&rows, 11, 1000));
	assert_false(threshold_exceeded(&zero, 0, 100));
	assert_true(threshold_exceeded(&zero, 1, 1000000));
	assert_false(threshold_exceeded(&none, 0, 0));
	assert_true(threshold_exceeded(&none, 1, 100));
}

static void assert_same(const struct spec *a, const struct spec *b)
{
	assert_string_equal(a->meaning, b->meaning);
	assert_string_equal(a->shape, b->shape);
}

static void test_digests_ignore_form(void **state)
{
	const struct spec *plain = parse(*state, "a.yaml", TINY);
	const struct spec *other =
		parse(*state, "b/c.yaml",
			  "# the same\npartition:\n- state\n- \"month\"   # a comment\nkey:\n  identity: queue_id\n"
			  "source:\n  files: \"*.csv\"\n  missing: \"\"\n  space: keep\nroot: /elsewhere\n"
			  "quarantine: {policy: refuse, max: 1%}\norder: identity\ndataset: 'queue'\n");
	assert_same(plain, other);
	assert_string_not_equal(plain->text_sha256, other->text_sha256);
	static const char *const sources[] = {
		"  A: {files: a, columns: {m: {map: {x: 1, y: 2}}}}\n", "  B: {files: b, not_sheet: [p, q]}\n",
		"  A: {columns: {m: {map: {y: 2, x: 1}}}, files: a}\n", "  B: {not_sheet: [q, p], files: b}\n"};
	const char *form = "dataset: q\nroot: l\nsources:\n%s%spublisher: iso\nkey: {id: a}\npartition: [iso]\n";
	assert_same(parse(*state, "a", arena_printf(*state, form, sources[0], sources[1])),
				parse(*state, "a", arena_printf(*state, form, sources[3], sources[2])));
}

static void test_digests_see_meaning(void **state)
{
	/* Each addition changes the meaning; the second word says whether it changes the bytes of a partition too. */
	static const struct {
		const char *add;
		bool shape;
	} cases[] = {
		{"revision: published_at\n", true}, /* adds a column */
		{"columns: {queue_id: {map: {a: b}}}\n", false},
		{"columns: {queue_id: {from: [INR, Queue ID]}}\n", false},
		{"columns: {state: {}}\n", true}, /* listed columns come first */
		{"columns: {queue_id: {type: text}}\n", true},
		{"columns: {queue_id: {required: true}}\n", false},
		{"columns: {queue_id: {}, mw: {keep: false}}\n", false},
		{"columns: {mw: {type: double}}\n", true},
		{"geometry: none\n", true},
		{"geometry: {crs: EPSG:4326}\n", true},
		{"order: source\n", true},
		{"partition_columns: plain\n", true},
		{"geoparquet: 2.0\n", true},
		{"other_columns: drop\n", true},
		{"schema: freeze\n", false},
		{"series: month\n", false},
		{"quarantine: {max: 2%}\n", false},
		{"guards: {moved: hold}\n", false},
		{"freshness: {column: month, window: 3 months}\n", false},
		{"archive: {sources: true}\n", false},
	};
	const struct spec *plain = parse(*state, "a.yaml", TINY);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct spec *spec = parse(*state, "a.yaml", arena_printf(*state, "%s%s", TINY, cases[i].add));
		assert_string_not_equal(spec->meaning, plain->meaning);
		if ((strcmp(spec->shape, plain->shape) != 0) != cases[i].shape)
			fail_msg("%s: the shape %s", cases[i].add, cases[i].shape ? "stays" : "changes");
	}
	assert_same(plain, parse(*state, "a.yaml", TINY "temp: /scratch\nstore: {single_writer: true}\n"));
}

static int yaml_only(const struct dirent *entry)
{
	return text_ends(entry->d_name, ".yaml");
}

static char *slurp(struct arena *arena, const char *path)
{
	FILE *file = fopen(path, "rb");
	assert_non_null(file);
	char *text = arena_alloc(arena, 1 << 16);
	assert_true(fread(text, 1, (1 << 16) - 1, file) > 0);
	fclose(file);
	return text;
}

static void test_refusals(void **state)
{
	struct dirent **entries;
	int count = scandir(TEST_SOURCE_DIR "/specs/bad", &entries, yaml_only, alphasort), faults = 0;
	assert_true(count > 100);
	for (int i = 0; i < count; i++) {
		recloser_error error = {0};
		struct spec *spec = NULL;
		char *path = arena_printf(*state, "%s/specs/bad/%s", TEST_SOURCE_DIR, entries[i]->d_name);
		assert_int_equal(spec_read(*state, path, &spec, &error), RECLOSER_USAGE);
		assert_int_equal(error.status, RECLOSER_USAGE);
		assert_null(spec);
		const char *said = arena_printf(*state, "%s: %s (%s) %s", error.code, error.what, error.where, error.hint);
		strcpy(path + strlen(path) - strlen("yaml"), "txt");
		for (char *line = strtok(slurp(*state, path), "\n"); line; line = strtok(NULL, "\n"))
			if (!strstr(said, line)) {
				print_error("%s: expected \"%s\" in \"%s\"\n", entries[i]->d_name, line, said);
				faults++;
			}
		free(entries[i]);
	}
	free(entries);
	assert_int_equal(faults, 0);
}

static void assert_refused(struct arena *arena, const char *bytes, size_t count, const char *code)
{
	recloser_error error = {0};
	struct spec *spec = NULL;
	assert_int_equal(spec_parse(arena, "a.yaml", bytes, count, &spec, &error), RECLOSER_USAGE);
	assert_string_equal(error.code, code);
}

static void test_limits(void **state)
{
	size_t large = (1 << 20) + 1;
	char *bytes = arena_alloc(*state, large + 1);
	memset(bytes, '#', large);
	assert_refused(*state, bytes, large, "spec.size");
	memset(bytes, '[', 1000);
	assert_refused(*state, bytes, 1000, "spec.size");
	assert_refused(*state, "dataset: \xE9\n", 11, "spec.encoding");
	assert_refused(*state, "dataset: a\0b\n", 13, "spec.encoding");
	struct text map = text_on(*state);
	for (int i = 0; i <= 10000; i++)
		text_addf(&map, "f%d: 1\n", i);
	assert_refused(*state, map.at, map.length, "spec.size");
	/* Many sources times many shared columns, and many columns by themselves. */
	struct text wide = text_on(*state);
	text_add(&wide, "dataset: q\nroot: l\nkey: {id: c1}\npartition: []\ncolumns:\n");
	for (int i = 0; i < 3000; i++)
		text_addf(&wide, "  c%d: {}\n", i);
	const char *one = arena_printf(*state, "%ssource: {}\n", wide.at);
	assert_int_equal(parse(*state, "a.yaml", one)->sources[0].blocks[0].column_count, 3000);
	text_add(&wide, "sources:\n");
	for (int i = 0; i < 3000; i++)
		text_addf(&wide, "  s%d: {}\n", i);
	assert_refused(*state, wide.at, wide.length, "spec.size");
	recloser_error error = {0};
	struct spec *spec;
	assert_int_equal(spec_read(*state, TEST_SOURCE_DIR "/specs/absent.yaml", &spec, &error), RECLOSER_IO);
	assert_string_equal(error.code, "spec.open");
	error_clear(&error);
	assert_int_equal(spec_read(*state, TEST_SOURCE_DIR "/specs", &spec, &error), RECLOSER_IO);
}

/* A file that was cut, or in which one byte was changed, gives a spec or a message with a place, and nothing else. */
static void test_damage(void **state)
{
	static const char signs[] = "\t\n {}[],:#'\"*&!|>%@\\-\x01\x80";
	static const char *const names[] = {"columns", "several-publishers", "geometry-lookup", "policies", "sheets"};
	for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
		const char *text = slurp(*state, arena_printf(*state, "%s/specs/good/%s.yaml", TEST_SOURCE_DIR, names[n]));
		size_t length = strlen(text);
		for (size_t at = 0; at < 2 * length; at++) {
			struct arena *arena = arena_new(NULL);
			assert_non_null(arena);
			recloser_error error = {0};
			struct spec *spec;
			char *copy = arena_strndup(arena, text, at < length ? at : length);
			if (at >= length)
				copy[at - length] = signs[(at * 7 + n) % (sizeof signs - 1)];
			if (spec_parse(arena, "a.yaml", copy, strlen(copy), &spec, &error) != RECLOSER_OK) {
				assert_int_equal(error.status, RECLOSER_USAGE);
				assert_true(error.what[0] && text_starts(error.where, "a.yaml"));
			}
			arena_free(arena);
		}
	}
}

static size_t allowed;
static void *limited(size_t bytes)
{
	return allowed ? allowed--, malloc(bytes) : NULL;
}

/* Every allocation fails once; what was taken until then is given back (checked where leaks are). */
static void test_out_of_memory(void **state)
{
	const char *text = slurp(*state, TEST_SOURCE_DIR "/specs/good/several-publishers.yaml");
	volatile bool done = false;
	const struct arena_hooks hooks = {limited, free};
	arena_set_hooks(&hooks);
	for (volatile size_t limit = 1; !done && limit < 100000; limit++) {
		allowed = limit;
		recloser_error error = {0};
		struct spec *spec;
		struct arena *arena = arena_new(NULL);
		if (setjmp(*arena_guard(arena)) == 0)
			done = spec_parse(arena, "a.yaml", text, strlen(text), &spec, &error) == RECLOSER_OK;
		arena_free(arena);
	}
	arena_set_hooks(NULL);
	assert_true(done);
}

/* The working drafts for real files, where they are at hand. */
static void test_drafts(void **state)
{
	const char *shared = getenv("RECLOSER_SHARED");
	const char *folder = arena_printf(*state, "%s/specs", shared ? shared : TEST_SOURCE_DIR "/../../shared");
	struct dirent **entries;
	int count = scandir(folder, &entries, yaml_only, alphasort);
	if (count <= 0) {
		print_message("no drafts in %s\n", folder);
		skip();
	}
	for (int i = 0; i < count; i++) {
		recloser_error error = {0};
		struct spec *spec;
		if (spec_read(*state, arena_printf(*state, "%s/%s", folder, entries[i]->d_name), &spec, &error) != RECLOSER_OK)
			fail_msg("%s (%s)", error.what, error.where);
		if (strcmp(entries[i]->d_name, "nyiso.yaml") == 0) {
			const struct block *in_service = &spec->sources[0].blocks[1];
			assert_string_equal(block_column(in_service, "updated")->from.at[0], "Last Update");
			assert_int_equal(block_column(in_service, "updated")->type, TYPE_DATE);
			assert_string_equal(block_column(in_service, "iso")->value, "NYISO");
			assert_string_equal(block_column(in_service, "state")->otherwise, "unknown");
			assert_string_equal(in_service->sheet.at[0], "In Service");
		}
		free(entries[i]);
	}
	free(entries);
	assert_int_equal(count, 17);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tiny_and_defaults),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_merged_columns),
		cmocka_unit_test(test_column_fields),
		cmocka_unit_test(test_scalars_stay_text),
		cmocka_unit_test(test_comments),
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_policies),
		cmocka_unit_test(test_storage_and_geometry),
		cmocka_unit_test(test_thresholds),
		cmocka_unit_test(test_digests_ignore_form),
		cmocka_unit_test(test_digests_see_meaning),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_drafts),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
