/* SPDX-License-Identifier: Apache-2.0
 * Which sheets of a workbook are meant, and the sources they make. Only sheets that a person sees can be chosen: what a
 * publisher hides is scaffolding, or an earlier state that was not meant to go out. */
#include "source/xlsx.h"

#include <stdlib.h>
#include <string.h>

struct xlsx_impl {
	struct xlsx_grid grid;
	struct xlsx_table table;
	const bool *wanted; /* one a column */
	struct source source;
};

/* ---- rows ---- */

struct cursor {
	struct xlsx_place at;
	struct xlsx_value value;
	char fault[512];
};

static void *start(struct source *source)
{
	struct cursor *cursor = malloc(sizeof *cursor);
	if (cursor)
		cursor->at = (struct xlsx_place){0};
	source->counts.rows = 0;
	return cursor;
}

static void stop(struct source *source, void *own)
{
	(void)source;
	free(own);
}

/* The first cell of a row that can't be taken speaks for the row. */
static size_t describe_fault(const struct source *source, struct cursor *cursor, const struct xlsx_cell *cell)
{
	const struct source_column *column = &source->columns[cell->column];
	return source_fault(cursor->fault, sizeof cursor->fault, cursor->value.fault,
						*column->name ? column->name : column->letter, cursor->value.text, cursor->value.length);
}

static void put_row(const struct source *source, struct cursor *cursor, const struct xlsx_row *row, struct chunk *chunk,
					size_t at)
{
	const struct xlsx_impl *impl = source->impl;
	const struct xlsx_cell *cells = xlsx_row_cells(&impl->grid, row);
	size_t fault = 0;
	uint32_t next = 0;
	for (size_t column = 0; column < source->column_count; column++) {
		if (next == row->count || cells[next].column != column) {
			chunk_put_null(chunk, column + SOURCE_FIXED, at);
			continue;
		}
		const struct xlsx_cell *cell = &cells[next++];
		xlsx_cell_value(&impl->grid, cell, &cursor->value);
		if (cursor->value.fault && !fault && impl->wanted[column])
			fault = describe_fault(source, cursor, cell);
		if (cell->kind == CELL_NO_RESULT)
			chunk_put_null(chunk, column + SOURCE_FIXED, at);
		else
			chunk_put_text(chunk, column + SOURCE_FIXED, at, cursor->value.text, cursor->value.length);
	}
	chunk_put_int(chunk, SOURCE_ROW, at, row->row);
	chunk_put_null(chunk, SOURCE_LINE, at);
	chunk_put_null(chunk, SOURCE_OFFSET, at);
	if (fault)
		chunk_put_text(chunk, SOURCE_FAULT, at, cursor->fault, fault);
	else
		chunk_put_null(chunk, SOURCE_FAULT, at);
}

static size_t next(struct source *source, void *own, struct chunk *chunk, recloser_error *error)
{
	const struct xlsx_impl *impl = source->impl;
	struct cursor *cursor = own;
	size_t count = 0;
	if (!cursor) {
		error_set(error, RECLOSER_IO, "memory", "out of memory");
		return 0;
	}
	for (; count < CHUNK_ROWS && xlsx_table_has(&impl->table, &cursor->at); cursor->at.row++)
		if (xlsx_row_filled(&impl->grid, cursor->at.row))
			put_row(source, cursor, xlsx_grid_row(&impl->grid, cursor->at.row), chunk, count++);
	source->counts.rows += count;
	return count;
}

static const struct source_ops ops = {.next = next, .start = start, .stop = stop};

/* ---- sheets ---- */

struct choice {
	struct arena *arena;
	const struct source_request *request;
	const struct xlsx_book *book;
	struct strings visible, hidden;    /* names, for messages */
	const struct xlsx_sheet **allowed; /* visible, not excluded by not_sheet */
	size_t allowed_count;
	const struct xlsx_sheet **chosen;
	size_t chosen_count;
};

static const char *quoted(struct arena *arena, const struct strings *names)
{
	return names->count ? arena_printf(arena, "\"%s\"", strings_join(arena, names, "\", \"")) : "none";
}

/* A name means itself before it is taken for a pattern: there are sheets called "Data [2020]". */
static bool sheet_is(struct arena *arena, const char *wanted, const char *name)
{
	return strcmp(text_squeezed(arena, wanted), text_squeezed(arena, name)) == 0;
}

static bool sheet_matches(struct arena *arena, const char *wanted, const char *name)
{
	return sheet_is(arena, wanted, name) || text_matches(text_squeezed(arena, wanted), text_squeezed(arena, name), true);
}

static void sort_out(struct choice *choice)
{
	const struct xlsx_book *book = choice->book;
	const struct strings *not_sheet = &choice->request->block->not_sheet;
	choice->allowed = arena_array(choice->arena, book->sheet_count + 1, sizeof *choice->allowed);
	choice->chosen = arena_array(choice->arena, book->sheet_count + 1, sizeof *choice->chosen);
	for (size_t i = 0; i < book->sheet_count; i++) {
		const struct xlsx_sheet *sheet = &book->sheets[i];
		strings_add(choice->arena, sheet->hidden ? &choice->hidden : &choice->visible, sheet->name);
		bool excluded = sheet->hidden;
		for (size_t k = 0; k < not_sheet->count; k++)
			excluded |= sheet_matches(choice->arena, not_sheet->at[k], sheet->name);
		if (!excluded)
			choice->allowed[choice->allowed_count++] = sheet;
	}
}

static recloser_status refuse(const struct choice *choice, const char *code, const char *what, recloser_error *error)
{
	error_set(error, RECLOSER_REFUSED, code, "%s", what);
	error_where(error, "%s", choice->request->input->name);
	return error_hint(error, "its visible sheets are %s", quoted(choice->arena, &choice->visible));
}

static void choose(struct choice *choice, const struct xlsx_sheet *sheet)
{
	for (size_t i = 0; i < choice->chosen_count; i++)
		if (choice->chosen[i] == sheet)
			return; /* two entries of a list that mean one sheet mean it once */
	choice->chosen[choice->chosen_count++] = sheet;
}

static recloser_status not_there(const struct choice *choice, const char *wanted, recloser_error *error)
{
	for (size_t i = 0; i < choice->hidden.count; i++)
		if (sheet_matches(choice->arena, wanted, choice->hidden.at[i]))
			return refuse(choice, "xlsx.sheet",
						  arena_printf(choice->arena, "sheet \"%s\" is hidden, and hidden sheets are left alone",
									   choice->hidden.at[i]),
						  error);
	return refuse(choice, "xlsx.sheet", arena_printf(choice->arena, "there is no visible sheet \"%s\"", wanted), error);
}

/* One entry of `sheet`: a name, else a pattern that meets one sheet, else the number of a visible tab from 1. */
static recloser_status choose_entry(struct choice *choice, const char *wanted, recloser_error *error)
{
	struct strings met = {0};
	const struct xlsx_sheet *sheet = NULL;
	for (size_t i = 0; i < choice->allowed_count; i++)
		if (sheet_is(choice->arena, wanted, choice->allowed[i]->name)) {
			choose(choice, choice->allowed[i]);
			return RECLOSER_OK;
		}
	for (size_t i = 0; i < choice->allowed_count; i++)
		if (sheet_matches(choice->arena, wanted, choice->allowed[i]->name)) {
			sheet = choice->allowed[i];
			strings_add(choice->arena, &met, sheet->name);
		}
	if (met.count > 1) {
		error_set(error, RECLOSER_REFUSED, "xlsx.sheet", "\"%s\" meets several sheets: %s", wanted,
				  quoted(choice->arena, &met));
		error_where(error, "%s", choice->request->input->name);
		return error_hint(
			error, "write the name of one, leave the others out with `not_sheet`, or list those that belong together");
	}
	int64_t number = met.count ? 0 : xlsx_number(wanted, (int64_t)choice->visible.count);
	for (size_t i = 0; number > 0 && i < choice->allowed_count; i++)
		if (strcmp(choice->allowed[i]->name, choice->visible.at[number - 1]) == 0)
			sheet = choice->allowed[i];
	if (!sheet)
		return not_there(choice, wanted, error);
	choose(choice, sheet);
	return RECLOSER_OK;
}

static recloser_status choose_sheets(struct choice *choice, recloser_error *error)
{
	const struct strings *wanted = &choice->request->block->sheet;
	sort_out(choice);
	if (!choice->book->sheet_count)
		return refuse(choice, "xlsx.sheet", "it has no worksheet", error);
	for (size_t i = 0; i < wanted->count; i++)
		RC_TRY(choose_entry(choice, wanted->at[i], error));
	if (wanted->count)
		return RECLOSER_OK;
	if (choice->allowed_count != 1) {
		const char *what = choice->allowed_count ? "it has several sheets and the spec does not say which one"
												 : "it has no visible sheet that `not_sheet` leaves";
		refuse(choice, "xlsx.sheet", what, error);
		return choice->allowed_count ? error_hint(error, "say `sheet:` with one of %s, or a list of them",
												  quoted(choice->arena, &choice->visible))
									 : RECLOSER_REFUSED;
	}
	choose(choice, choice->allowed[0]);
	return RECLOSER_OK;
}

/* ---- opening ---- */

static recloser_status open_sheet(struct arena *arena, const struct source_request *request, struct xlsx_book *book,
								  const struct xlsx_sheet *sheet, struct source **out, recloser_error *error)
{
	struct xlsx_impl *impl = arena_alloc(arena, sizeof *impl);
	struct source *source = &impl->source;
	RC_TRY(xlsx_grid_read(arena, book, sheet, &impl->grid, error));
	source->ops = &ops;
	source->impl = impl;
	source->facts.format = "xlsx";
	source->facts.sheet = sheet->name;
	source->facts.date_1904 = book->date_1904;
	source->facts.serial_dates = true;
	source->facts.geometry_column = -1;
	source->facts.bytes = impl->grid.bytes;
	RC_TRY(xlsx_table_find(arena, request, &impl->grid, source, &impl->table, error));
	impl->wanted = xlsx_wanted(arena, request, source);
	*out = source;
	return RECLOSER_OK;
}

recloser_status xlsx_open(struct arena *arena, const struct source_request *request, struct source ***out, size_t *count,
						  recloser_error *error)
{
	struct xlsx_book *book = arena_alloc(arena, sizeof *book);
	RC_TRY(xlsx_book_open(arena, request->input->read_path, request->input->name, book, error));
	struct choice choice = {.arena = arena, .request = request, .book = book};
	RC_TRY(choose_sheets(&choice, error));
	*out = arena_array(arena, choice.chosen_count, sizeof **out);
	for (size_t i = 0; i < choice.chosen_count; i++)
		RC_TRY(open_sheet(arena, request, book, choice.chosen[i], &(*out)[i], error));
	*count = choice.chosen_count;
	if (choice.hidden.count)
		strings_add(arena, &(*out)[0]->facts.notes,
					arena_printf(arena, "hidden sheets left alone: %s", quoted(arena, &choice.hidden)));
	return RECLOSER_OK;
}
