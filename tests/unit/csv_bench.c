/* SPDX-License-Identifier: Apache-2.0 */
#include "csv_bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

int bench_set_up(void **state)
{
	struct bench *b = calloc(1, sizeof *b);
	b->arena = arena_new(NULL);
	strcpy(b->directory, "/tmp/recloser-csv-XXXXXX");
	if (!mkdtemp(b->directory))
		return -1;
	snprintf(b->file, sizeof b->file, "%s/t.csv", b->directory);
	*state = b;
	return 0;
}

int bench_tear_down(void **state)
{
	struct bench *b = *state;
	table_free(&b->table);
	arena_free(b->arena);
	unlink(b->file);
	rmdir(b->directory);
	free(b);
	return 0;
}

void write_file(const char *path, const char *bytes, size_t count)
{
	FILE *file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, count, file), count);
	fclose(file);
}

recloser_status open_named(struct bench *b, const char *path, const char *name)
{
	struct input *input = arena_alloc(b->arena, sizeof *input);
	*input = (struct input){.path = path, .name = name, .read_path = path};
	struct source_request request = {.input = input, .block = &b->block, .identity = b->identity, .spool = b->directory};
	struct source **sources;
	size_t count;
	error_clear(&b->error);
	b->source = NULL;
	recloser_status status = csv_open(b->arena, &request, &sources, &count, &b->error);
	if (status == RECLOSER_OK) {
		assert_int_equal(count, 1);
		b->source = sources[0];
	}
	assert_int_equal(status, b->error.status);
	return status;
}

recloser_status open_bytes(struct bench *b, const char *bytes, size_t count)
{
	write_file(b->file, bytes, count);
	return open_named(b, b->file, "t.csv");
}

void read_bytes(struct bench *b, const char *bytes, size_t count)
{
	assert_int_equal(open_bytes(b, bytes, count), RECLOSER_OK);
	table_free(&b->table);
	b->table = read_all(b->source, 1, &b->error);
	assert_int_equal(b->error.status, RECLOSER_OK);
	assert_int_equal(b->source->counts.rows, b->table.rows);
}

void read_text(struct bench *b, const char *text)
{
	read_bytes(b, text, strlen(text));
}

const char *row(struct bench *b, size_t index)
{
	assert_true(index < b->table.rows);
	struct text text = text_on(b->arena);
	for (size_t i = SOURCE_FIXED; i < b->table.columns; i++) {
		if (i > SOURCE_FIXED)
			text_add(&text, "|");
		text_add(&text, cell_text(&b->table, index, i));
	}
	if (b->table.cells[index * b->table.columns + SOURCE_FAULT].at) {
		text_add(&text, " !");
		text_add(&text, cell_text(&b->table, index, SOURCE_FAULT));
		for (char *p = text.at; *p; p++)
			if (*p == '\x1f')
				*p = '/';
	}
	return text.at;
}

const char *place(struct bench *b, size_t index)
{
	return arena_printf(b->arena, "%s %s %s", cell_text(&b->table, index, SOURCE_ROW),
						cell_text(&b->table, index, SOURCE_LINE), cell_text(&b->table, index, SOURCE_OFFSET));
}

const char *names(struct bench *b)
{
	struct strings list = {0};
	for (size_t i = 0; i < b->source->column_count; i++)
		strings_add(b->arena, &list, b->source->columns[i].name);
	return strings_join(b->arena, &list, "|");
}
