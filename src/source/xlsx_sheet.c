/* SPDX-License-Identifier: Apache-2.0
 * One sheet into a grid: 16 bytes a filled cell and 16 a row, shared texts by their index. A table of 500,000 rows and 20
 * columns takes 170 MB besides its texts; holding it whole is what lets the header be found wherever it is, merged titles be
 * spread (they come after the cells in the file) and the end of the table be known before the first row is handed out. */
#include "source/xlsx.h"

#include <stdlib.h>
#include <string.h>

enum value_type { TYPE_N, TYPE_S, TYPE_STR, TYPE_INLINE, TYPE_B, TYPE_E, TYPE_D };

struct reader {
	struct xlsx_handlers handlers;
	struct xlsx_grid *grid;
	bool in_data, in_row, in_cell, in_text, in_string;
	bool row_named; /* the row element said its number */
	bool unsorted;  /* cells of this row are out of order */
	bool rows_unsorted;
	int phonetic;
	uint32_t row;    /* of the current or last row, from 1 */
	uint32_t column; /* the next cell's, when it does not say */
	uint64_t first;  /* index of the row's first cell */
	enum value_type type;
	uint8_t style;
	bool formula, value;
	uint32_t at; /* column of the current cell */
	size_t from; /* where its text begins */
};

static size_t cell_count(const struct reader *r)
{
	return r->grid->cells->count / sizeof(struct xlsx_cell);
}

/* "AF31" into column and row, both from 1; NULL when it is none, else what follows. Either part may be missing (0). */
static const char *reference(const char *text, uint32_t *column, uint32_t *row)
{
	uint32_t c = 0, r = 0;
	while (*text == '$')
		text++;
	for (; (*text >= 'A' && *text <= 'Z') || (*text >= 'a' && *text <= 'z'); text++) {
		c = c * 26 + (uint32_t)((*text & 0x1F));
		if (c > XLSX_COLUMNS)
			return NULL;
	}
	while (*text == '$')
		text++;
	for (; *text >= '0' && *text <= '9'; text++) {
		r = r * 10 + (uint32_t)(*text - '0');
		if (r > XLSX_ROWS)
			return NULL;
	}
	*column = c;
	*row = r;
	return text;
}

static enum value_type value_type(const char *t)
{
	static const struct {
		const char *word;
		enum value_type type;
	} types[] = {{"n", TYPE_N}, {"s", TYPE_S}, {"str", TYPE_STR}, {"inlineStr", TYPE_INLINE},
				 {"b", TYPE_B}, {"e", TYPE_E}, {"d", TYPE_D}};
	for (size_t i = 0; t && i < sizeof types / sizeof *types; i++)
		if (strcmp(types[i].word, t) == 0)
			return types[i].type;
	return t ? TYPE_STR : TYPE_N;
}

/* ---- start of elements ---- */

static void start_row(struct reader *r, const char **attributes)
{
	const char *named = xlsx_attribute(attributes, "r");
	int64_t row = named ? xlsx_number(named, XLSX_ROWS) : (int64_t)r->row + 1;
	if (row < 1 || row > XLSX_ROWS) {
		xlsx_stop(&r->handlers, "a row has a number that no sheet has");
		return;
	}
	r->rows_unsorted |= (uint32_t)row <= r->row;
	r->row = (uint32_t)row;
	r->row_named = named != NULL;
	r->column = 0;
	r->unsorted = false;
	r->first = cell_count(r);
	r->in_row = true;
}

static void place_cell(struct reader *r, const char *named)
{
	uint32_t column = r->column + 1, row = r->row;
	if (named) {
		const char *rest = reference(named, &column, &row);
		if (!rest || *rest || !column || !row) {
			xlsx_stop(&r->handlers, "a cell has a name that is none");
			return;
		}
		/* Rows without a number are placed by their first cell. */
		if (row != r->row && !r->row_named && cell_count(r) == r->first && row > r->row)
			r->row = row;
		if (row != r->row) {
			xlsx_stop(&r->handlers, "a cell stands in another row than its name says");
			return;
		}
	} else if (column > XLSX_COLUMNS) {
		xlsx_stop(&r->handlers, "a row has more cells than a sheet has columns");
		return;
	}
	r->unsorted |= column <= r->column;
	r->at = column - 1;
	r->column = column;
}

static void start_cell(struct reader *r, const char **attributes)
{
	place_cell(r, xlsx_attribute(attributes, "r"));
	r->type = value_type(xlsx_attribute(attributes, "t"));
	const struct xlsx_pool *styles = r->grid->book->styles;
	int64_t style = xlsx_number(xlsx_attribute(attributes, "s"), UINT32_MAX);
	r->style = style >= 0 && (uint64_t)style < styles->count ? (uint8_t)styles->at[style] : STYLE_PLAIN;
	r->formula = r->value = false;
	r->from = r->grid->texts->count;
	r->in_cell = true;
}

static void add_merge(struct reader *r, const char *ref)
{
	struct xlsx_merge m;
	const char *rest = ref ? reference(ref, &m.left, &m.top) : NULL;
	if (rest && *rest == ':')
		rest = reference(rest + 1, &m.right, &m.bottom);
	if (!rest || *rest || !m.left || !m.top || m.right < m.left || m.bottom < m.top)
		return; /* it only decorates: a wrong one merges nothing */
	m.left--;
	m.right--;
	struct xlsx_merge *added = xlsx_pool_add(r->grid->merges, sizeof m);
	if (added)
		*added = m;
	else
		xlsx_stop_memory(&r->handlers);
}

static void sheet_start(void *user, const char *element, const char **attributes)
{
	struct reader *r = user;
	if (r->in_cell) {
		if (strcmp(element, "v") == 0)
			r->in_text = r->value = true;
		else if (strcmp(element, "f") == 0)
			r->formula = true;
		else if (strcmp(element, "is") == 0)
			r->in_string = r->value = true;
		else if (strcmp(element, "rPh") == 0)
			r->phonetic++;
		else if (strcmp(element, "t") == 0)
			r->in_text = r->in_string && !r->phonetic;
	} else if (r->in_row) {
		if (strcmp(element, "c") == 0)
			start_cell(r, attributes);
	} else if (r->in_data) {
		if (strcmp(element, "row") == 0)
			start_row(r, attributes);
	} else if (strcmp(element, "sheetData") == 0)
		r->in_data = true;
	else if (strcmp(element, "mergeCell") == 0)
		add_merge(r, xlsx_attribute(attributes, "ref"));
}

static void sheet_text(void *user, const char *bytes, int count)
{
	struct reader *r = user;
	if (!r->in_text)
		return;
	void *at = xlsx_pool_add(r->grid->texts, (size_t)count);
	if (at)
		memcpy(at, bytes, (size_t)count);
	else
		xlsx_stop_memory(&r->handlers);
}

/* ---- end of elements ---- */

static void put_cell(struct reader *r, enum xlsx_kind kind, double number)
{
	struct xlsx_cell *cell = xlsx_pool_add(r->grid->cells, sizeof *cell);
	if (!cell) {
		xlsx_stop_memory(&r->handlers);
		return;
	}
	*cell = (struct xlsx_cell){.column = (uint16_t)r->at, .kind = (uint8_t)kind, .style = r->style, .number = number};
	r->grid->texts->count = r->from;
}

static void put_text_cell(struct reader *r, enum xlsx_kind kind)
{
	size_t end = r->grid->texts->count, length = end - r->from;
	if (length > UINT32_MAX) {
		xlsx_stop(&r->handlers, "a cell's text is longer than 4 GiB");
		return;
	}
	put_cell(r, kind, 0);
	r->grid->texts->count = end;
	if (r->handlers.failed)
		return;
	struct xlsx_cell *cell = (struct xlsx_cell *)r->grid->cells->at + (cell_count(r) - 1);
	cell->offset = r->from;
	cell->length = (uint32_t)length;
}

static void put_value(struct reader *r, const char *text, size_t length)
{
	double number;
	switch (r->type) {
	case TYPE_S:
		if (number_parse(text, length, &number) && number >= 0 &&
			number < (double)(r->grid->book->string_ends->count / sizeof(size_t)) && number == (double)(uint64_t)number)
			put_cell(r, CELL_SHARED, number);
		else
			put_text_cell(r, CELL_MALFORMED);
		break;
	case TYPE_B:
		if ((length == 1 && (*text == '0' || *text == '1')) || (length == 4 && memcmp(text, "true", 4) == 0) ||
			(length == 5 && memcmp(text, "false", 5) == 0))
			put_cell(r, CELL_LOGICAL, *text == '1' || *text == 't');
		else
			put_text_cell(r, CELL_MALFORMED);
		break;
	case TYPE_E:
		put_text_cell(r, CELL_ERROR);
		break;
	case TYPE_D:
		put_text_cell(r, CELL_ISO_DATE);
		break;
	default:
		if (number_parse(text, length, &number))
			put_cell(r, CELL_NUMBER, number);
		else
			put_text_cell(r, CELL_MALFORMED);
	}
}

static void end_cell(struct reader *r)
{
	struct xlsx_pool *texts = r->grid->texts;
	r->in_cell = false;
	if (r->type == TYPE_STR || r->type == TYPE_INLINE) {
		if (r->value) {
			xlsx_unescape(texts, r->from);
			put_text_cell(r, CELL_INLINE);
		} else if (r->formula)
			put_cell(r, CELL_NO_RESULT, 0);
		return;
	}
	size_t length = texts->count - r->from, blank = 0;
	const char *text = texts->at + r->from;
	while (length && strchr(" \t\r\n", text[length - 1]))
		length--;
	while (blank < length && strchr(" \t\r\n", text[blank]))
		blank++;
	if (blank < length)
		put_value(r, text + blank, length - blank);
	else if (r->formula)
		put_cell(r, CELL_NO_RESULT, 0);
	else
		texts->count = r->from;
}

static int by_column(const void *a, const void *b)
{
	const struct xlsx_cell *x = a, *y = b;
	return (x->column > y->column) - (x->column < y->column);
}

static void end_row(struct reader *r)
{
	size_t count = cell_count(r) - r->first;
	struct xlsx_cell *cells = (struct xlsx_cell *)r->grid->cells->at + r->first;
	r->in_row = false;
	if (!count)
		return;
	if (r->unsorted) {
		qsort(cells, count, sizeof *cells, by_column);
		for (size_t i = 1; i < count; i++)
			if (cells[i].column == cells[i - 1].column) {
				xlsx_stop(&r->handlers, "a cell stands twice in its row");
				return;
			}
	}
	struct xlsx_row *row = xlsx_pool_add(r->grid->rows, sizeof *row);
	if (row)
		*row = (struct xlsx_row){.row = r->row, .count = (uint32_t)count, .first = r->first};
	else
		xlsx_stop_memory(&r->handlers);
}

static void sheet_end(void *user, const char *element)
{
	struct reader *r = user;
	if (strcmp(element, "v") == 0 || strcmp(element, "t") == 0)
		r->in_text = false;
	else if (strcmp(element, "is") == 0)
		r->in_string = false;
	else if (strcmp(element, "rPh") == 0)
		r->phonetic -= r->phonetic > 0;
	else if (strcmp(element, "c") == 0 && r->in_cell)
		end_cell(r);
	else if (strcmp(element, "row") == 0 && r->in_row)
		end_row(r);
	else if (strcmp(element, "sheetData") == 0)
		r->in_data = false;
}

/* ---- the grid ---- */

static int by_row(const void *a, const void *b)
{
	const struct xlsx_row *x = a, *y = b;
	return (x->row > y->row) - (x->row < y->row);
}

/* Nothing in the format forbids rows out of order; two rows of one number have no meaning. */
static recloser_status sort_rows(struct xlsx_grid *grid, const struct xlsx_sheet *sheet, recloser_error *error)
{
	struct xlsx_row *rows = (struct xlsx_row *)grid->rows->at;
	if (grid->row_count)
		qsort(rows, grid->row_count, sizeof *rows, by_row);
	for (size_t i = 1; i < grid->row_count; i++)
		if (rows[i].row == rows[i - 1].row) {
			error_set(error, RECLOSER_REFUSED, "xlsx.damaged",
					  "%s is not a readable workbook: row %u of sheet \"%s\" stands twice", grid->book->archive.path,
					  rows[i].row, sheet->name);
			return error_hint(error, "open and save it again in a spreadsheet program");
		}
	return RECLOSER_OK;
}

recloser_status xlsx_grid_read(struct arena *arena, struct xlsx_book *book, const struct xlsx_sheet *sheet,
							   struct xlsx_grid *grid, recloser_error *error)
{
	struct xlsx_archive *archive = &book->archive;
	memset(grid, 0, sizeof *grid);
	grid->book = book;
	grid->rows = xlsx_pool_new(arena, &archive->budget);
	grid->cells = xlsx_pool_new(arena, &archive->budget);
	grid->texts = xlsx_pool_new(arena, &archive->budget);
	grid->merges = xlsx_pool_new(arena, &archive->budget);
	struct reader *reader = arena_alloc(arena, sizeof *reader);
	reader->grid = grid;
	reader->handlers = (struct xlsx_handlers){.start = sheet_start, .end = sheet_end, .text = sheet_text, .user = reader};
	uint64_t before = archive->budget.unpacked;
	RC_TRY(xlsx_parse(archive, sheet->part, &reader->handlers, error));
	grid->bytes = archive->budget.unpacked - before;
	grid->row_count = grid->rows->count / sizeof(struct xlsx_row);
	grid->merge_count = grid->merges->count / sizeof(struct xlsx_merge);
	return reader->rows_unsorted ? sort_rows(grid, sheet, error) : RECLOSER_OK;
}

const struct xlsx_row *xlsx_grid_row(const struct xlsx_grid *grid, size_t index)
{
	return (const struct xlsx_row *)grid->rows->at + index;
}

const struct xlsx_cell *xlsx_row_cells(const struct xlsx_grid *grid, const struct xlsx_row *row)
{
	return (const struct xlsx_cell *)grid->cells->at + row->first;
}

const struct xlsx_cell *xlsx_row_cell(const struct xlsx_grid *grid, const struct xlsx_row *row, uint32_t column)
{
	const struct xlsx_cell *cells = xlsx_row_cells(grid, row);
	size_t low = 0, high = row->count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (cells[middle].column < column)
			low = middle + 1;
		else
			high = middle;
	}
	return low < row->count && cells[low].column == column ? &cells[low] : NULL;
}

size_t xlsx_grid_find(const struct xlsx_grid *grid, uint32_t row)
{
	size_t low = 0, high = grid->row_count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (xlsx_grid_row(grid, middle)->row < row)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
