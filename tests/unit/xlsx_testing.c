/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "chunk_double.h"
#include "xlsx_testing.h"

struct arena *arena;
recloser_error error;
bool keep_columns = true;

int set_up(void **state)
{
	(void)state;
	arena = arena_new(NULL);
	error_clear(&error);
	return 0;
}

int tear_down(void **state)
{
	(void)state;
	arena_free(arena);
	return 0;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

struct strings list(const char *const *words)
{
	struct strings strings = {0};
	for (; words && *words; words++)
		strings_add(arena, &strings, *words);
	return strings;
}

struct opened open_with(const char *path, const struct block *block, struct strings identity)
{
	struct input *input = arena_alloc(arena, sizeof *input);
	input->path = input->read_path = path;
	input->name = base_name(path);
	struct spec *spec = arena_alloc(arena, sizeof *spec);
	spec->other_columns_keep = keep_columns;
	struct source_request request = {.input = input, .block = block, .spec = spec, .identity = identity, .spool = "."};
	struct opened opened = {0};
	opened.status = xlsx_open(arena, &request, &opened.sources, &opened.count, &error);
	return opened;
}

struct opened open_ok(const char *path, const struct block *block, struct strings identity)
{
	if (access(path, R_OK) != 0) {
		print_message("the file %s is not here\n", path);
		skip();
	}
	struct opened opened = open_with(path, block, identity);
	if (opened.status != RECLOSER_OK)
		print_error("%s [%s] %s\n", error.what, error.where, error.hint);
	assert_int_equal(opened.status, RECLOSER_OK);
	return opened;
}

struct strings rows_of(struct source *source)
{
	struct strings rows = {0};
	size_t width = source->column_count + SOURCE_FIXED, count;
	struct chunk *chunk = chunk_double_new(width);
	void *own = source->ops->start(source);
	while ((count = source->ops->next(source, own, chunk, &error)) > 0) {
		for (size_t r = 0; r < count; r++) {
			struct text text = text_on(arena);
			text_add(&text, chunk_double_at(chunk, SOURCE_ROW, r));
			assert_null(chunk_double_at(chunk, SOURCE_LINE, r));
			assert_null(chunk_double_at(chunk, SOURCE_OFFSET, r));
			for (size_t c = SOURCE_FIXED; c < width; c++) {
				const char *cell = chunk_double_at(chunk, c, r);
				text_addf(&text, "|%s", cell ? cell : "~");
			}
			const char *fault = chunk_double_at(chunk, SOURCE_FAULT, r);
			if (fault)
				text_addf(&text, "!%s", fault);
			strings_add(arena, &rows, text.at);
		}
	}
	source->ops->stop(source, own);
	chunk_double_free(chunk);
	assert_int_equal(rows.count, source->counts.rows);
	return rows;
}

size_t count_rows(struct source *source)
{
	return rows_of(source).count;
}

const char *cell_of(struct source *source, int row, const char *column)
{
	int index = source_find(arena, source, column);
	assert_true(index >= 0);
	struct strings rows = rows_of(source);
	const char *start = arena_printf(arena, "%d|", row);
	for (size_t i = 0; i < rows.count; i++) {
		if (!text_starts(rows.at[i], start))
			continue;
		char *copy = arena_strdup(arena, rows.at[i] + strlen(start)), *at = copy;
		for (int k = 0; k < index; k++)
			at = strchr(at, '|') + 1;
		at[strcspn(at, "|!")] = '\0';
		return at;
	}
	return NULL;
}
