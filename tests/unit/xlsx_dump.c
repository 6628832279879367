/* SPDX-License-Identifier: Apache-2.0
 * Test only: every cell of every worksheet, one a line: sheet, row, column, kind, value, fault, with tabs between and
 * backslash escapes inside. tests/cli/test_xlsx_openpyxl.py compares this with another reader. Exit 3: refused, the reason
 * on stderr. */
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include "source/xlsx.h"

static void print_escaped(const char *text, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		unsigned char c = (unsigned char)text[i];
		if (c == '\\' || c < 0x20)
			printf("\\x%02x", c);
		else
			putchar(c);
	}
}

static const char *kind_word(const struct xlsx_cell *cell)
{
	static const char *const styles[] = {"number", "date", "time", "duration"};
	switch (cell->kind) {
	case CELL_SHARED:
	case CELL_INLINE:
		return "text";
	case CELL_NUMBER:
		return styles[cell->style];
	case CELL_LOGICAL:
		return "boolean";
	case CELL_ISO_DATE:
		return "iso";
	case CELL_ERROR:
		return "error";
	case CELL_NO_RESULT:
		return "formula";
	default:
		return "malformed";
	}
}

static void dump_cell(const struct xlsx_grid *grid, const char *sheet, uint32_t row, const struct xlsx_cell *cell)
{
	struct xlsx_value value;
	xlsx_cell_value(grid, cell, &value);
	print_escaped(sheet, strlen(sheet));
	printf("\t%u\t%u\t%s\t", row, cell->column + 1u, kind_word(cell));
	print_escaped(value.text, value.length);
	printf("\t%s\n", value.fault ? value.fault : "");
}

static recloser_status dump(struct arena *arena, const char *path, recloser_error *error)
{
	struct xlsx_book *book = arena_alloc(arena, sizeof *book);
	RC_TRY(xlsx_book_open(arena, path, path, book, error));
	for (size_t s = 0; s < book->sheet_count; s++) {
		struct xlsx_grid grid;
		RC_TRY(xlsx_grid_read(arena, book, &book->sheets[s], &grid, error));
		for (size_t r = 0; r < grid.row_count; r++) {
			const struct xlsx_row *row = xlsx_grid_row(&grid, r);
			for (uint32_t c = 0; c < row->count; c++)
				dump_cell(&grid, book->sheets[s].name, row->row, &xlsx_row_cells(&grid, row)[c]);
		}
	}
	return RECLOSER_OK;
}

int main(int argc, char **argv)
{
	struct arena *arena = arena_new(NULL);
	recloser_error error;
	error_clear(&error);
	if (argc != 2 || !arena || setjmp(*arena_guard(arena)) != 0)
		return 2;
	recloser_status status = dump(arena, argv[1], &error);
	if (status != RECLOSER_OK)
		fprintf(stderr, "%s [%s] (%s)\n", error.what, error.where, error.hint);
	arena_free(arena);
	return status == RECLOSER_OK ? 0 : 3;
}
