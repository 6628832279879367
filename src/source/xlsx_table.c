/* SPDX-License-Identifier: Apache-2.0
 * Where the table is on its sheet. A sheet is a page: titles, run dates and legends stand around the table, the header moves
 * from month to month and may be followed by rows that explain it.
 *
 * The default rules, and why:
 * - The header is the first filled row, unless the spec says its number or its words.
 * - Rows under the header whose identity cells are not filled explain the header, as long as they hold nothing but texts. A
 *   row with a number, a date or a boolean is data even without identity: it is handed out and ends in quarantine, where
 *   leaving it out would lose it.
 * - Where the table ends is in xlsx_end.c. What is left out above and below it is counted. */
#include "source/xlsx.h"

#include <stdlib.h>
#include <string.h>

static recloser_status where(const struct xlsx_table_job *job)
{
	return error_where(job->error, "%s, sheet \"%s\"", job->request->input->name, job->source->facts.sheet);
}

/* ---- header ---- */

/* How many of the words stand in this row, each as the whole of a cell. */
static size_t words_in_row(const struct xlsx_table_job *job, size_t index, const struct strings *words, struct arena *scratch)
{
	const struct xlsx_row *row = xlsx_grid_row(job->grid, index);
	const struct xlsx_cell *cells = xlsx_row_cells(job->grid, row);
	struct strings texts = {0};
	for (uint32_t i = 0; i < row->count; i++)
		if (xlsx_cell_filled(job->grid, &cells[i]))
			strings_add(scratch, &texts, text_squeezed(scratch, xlsx_cell_text(scratch, job->grid, &cells[i])));
	size_t found = 0;
	for (size_t i = 0; i < words->count; i++)
		found += strings_has(&texts, words->at[i]);
	return found;
}

static recloser_status header_not_found(const struct xlsx_table_job *job, const struct strings *words, int within, size_t best,
										size_t most)
{
	const struct header *header = &job->request->block->header;
	const char *wanted = strings_join(job->arena, &header->find, ", ");
	error_set(job->error, RECLOSER_REFUSED, "xlsx.header", "no row has the header words %s in its cells", wanted);
	where(job);
	if (!most)
		return error_hint(job->error, "none of rows 1 to %d has any of them: check the sheet, the words and `within`",
						  within);
	const struct xlsx_row *row = xlsx_grid_row(job->grid, best);
	struct strings texts = {0};
	for (uint32_t i = 0; i < row->count && texts.count < 12; i++)
		strings_add(job->arena, &texts, xlsx_cell_text(job->arena, job->grid, &xlsx_row_cells(job->grid, row)[i]));
	return error_hint(job->error, "row %u has %zu of %zu; its cells are: %s", row->row, most, words->count,
					  strings_join(job->arena, &texts, " | "));
}

static recloser_status find_by_words(const struct xlsx_table_job *job, uint32_t *out)
{
	const struct header *header = &job->request->block->header;
	int within = header->within;
	struct arena *scratch = arena_new(job->arena);
	struct strings words = {0};
	for (size_t i = 0; i < header->find.count; i++)
		strings_add(scratch, &words, text_squeezed(scratch, header->find.at[i]));
	size_t best = 0, most = 0;
	for (size_t i = 0; i < job->grid->row_count && xlsx_grid_row(job->grid, i)->row <= (uint32_t)within; i++) {
		size_t found = words_in_row(job, i, &words, scratch);
		if (found > most) {
			most = found;
			best = i;
		}
		if (found == words.count)
			break;
	}
	recloser_status status = RECLOSER_OK;
	if (!most || most < words.count)
		status = header_not_found(job, &words, within, best, most);
	else
		*out = xlsx_grid_row(job->grid, best)->row;
	arena_free(scratch);
	return status;
}

/* The sheet rows of the header; none for `header: none`. */
static recloser_status header_rows(const struct xlsx_table_job *job, uint32_t rows[4], int *count)
{
	const struct header *header = &job->request->block->header;
	size_t first = 0;
	*count = 0;
	switch (header->kind) {
	case HEADER_NONE:
		return RECLOSER_OK;
	case HEADER_ROW:
		for (; *count < header->row_count && *count < 4; ++*count)
			rows[*count] = (uint32_t)header->rows[*count];
		return RECLOSER_OK;
	case HEADER_FIND:
		*count = 1;
		return find_by_words(job, rows);
	default:
		break;
	}
	while (first < job->grid->row_count && !xlsx_row_filled(job->grid, first))
		first++;
	if (first < job->grid->row_count)
		rows[(*count)++] = xlsx_grid_row(job->grid, first)->row;
	return RECLOSER_OK;
}

/* Merged areas that touch the header. */
struct merges {
	const struct xlsx_merge **at;
	size_t count;
};

static struct merges merges_of(const struct xlsx_table_job *job, const uint32_t *rows, int count)
{
	const struct xlsx_merge *all = (const struct xlsx_merge *)job->grid->merges->at;
	struct merges merges = {arena_array(job->arena, job->grid->merge_count + 1, sizeof *merges.at), 0};
	for (size_t i = 0; i < job->grid->merge_count && merges.count < XLSX_COLUMNS; i++)
		for (int k = 0; k < count; k++)
			if (all[i].top <= rows[k] && rows[k] <= all[i].bottom) {
				merges.at[merges.count++] = &all[i];
				break;
			}
	return merges;
}

static const char *cell_at(const struct xlsx_table_job *job, uint32_t row, uint32_t column)
{
	size_t index = xlsx_grid_find(job->grid, row);
	if (index == job->grid->row_count || xlsx_grid_row(job->grid, index)->row != row)
		return "";
	const struct xlsx_cell *cell = xlsx_row_cell(job->grid, xlsx_grid_row(job->grid, index), column);
	return xlsx_cell_filled(job->grid, cell) ? xlsx_cell_text(job->arena, job->grid, cell) : "";
}

/* What header row k says about a column. A merged title speaks for every column under it, except in the last row, where it
 * would give several columns one name; an area that spans header rows is said once. */
static const char *header_part(const struct xlsx_table_job *job, const struct merges *merges, const uint32_t *rows, int k,
							   int count, uint32_t column)
{
	for (size_t i = 0; i < merges->count; i++) {
		const struct xlsx_merge *m = merges->at[i];
		if (rows[k] < m->top || rows[k] > m->bottom || column < m->left || column > m->right)
			continue;
		if (k && rows[k - 1] >= m->top && rows[k - 1] <= m->bottom)
			return "";
		bool last = k == count - 1 || rows[count - 1] <= m->bottom;
		return last && column != m->left ? "" : cell_at(job, m->top, m->left);
	}
	return cell_at(job, rows[k], column);
}

static const char *header_name(const struct xlsx_table_job *job, const struct merges *merges, const uint32_t *rows, int count,
							   uint32_t column)
{
	struct strings parts = {0};
	for (int k = 0; k < count; k++) {
		const char *part = header_part(job, merges, rows, k, count, column);
		if (*part)
			strings_add(job->arena, &parts, part);
	}
	return strings_join(job->arena, &parts, " ");
}

/* One more than the last filled column of grid rows `from` to `end`, or `width` if that is more. */
static size_t width_of(const struct xlsx_grid *grid, size_t from, size_t end, size_t width)
{
	for (size_t i = from; i < end; i++) {
		const struct xlsx_row *row = xlsx_grid_row(grid, i);
		const struct xlsx_cell *cells = xlsx_row_cells(grid, row);
		for (uint32_t k = row->count; k-- > 0 && cells[k].column >= width;)
			if (xlsx_cell_filled(grid, &cells[k]))
				width = cells[k].column + (size_t)1;
	}
	return width;
}

/* Columns run from A without a gap, so that a column's number is its place on the sheet. */
static void set_width(const struct xlsx_table_job *job, size_t width)
{
	struct source *source = job->source;
	size_t old = source->column_count;
	if (width <= old)
		return;
	source->columns =
		arena_grow(job->arena, source->columns, old * sizeof *source->columns, width * sizeof *source->columns);
	source->column_count = width;
	for (size_t i = old; i < width; i++) {
		char letter[4];
		xlsx_letter((uint32_t)i, letter);
		source->columns[i] =
			(struct source_column){.name = "", .letter = arena_strdup(job->arena, letter), .type = CELL_TEXT};
	}
}

static void name_columns(const struct xlsx_table_job *job, const uint32_t *rows, int count)
{
	const struct xlsx_grid *grid = job->grid;
	size_t width = count ? 0 : width_of(grid, 0, grid->row_count, 0);
	for (int k = 0; k < count; k++) {
		size_t index = xlsx_grid_find(grid, rows[k]);
		if (index < grid->row_count && xlsx_grid_row(grid, index)->row == rows[k])
			width = width_of(grid, index, index + 1, width);
	}
	set_width(job, width);
	struct merges merges = merges_of(job, rows, count);
	for (size_t i = 0; i < width && count; i++)
		job->source->columns[i].name = header_name(job, &merges, rows, count, (uint32_t)i);
}

/* ---- first row ---- */

struct identity_cells {
	uint32_t *columns;
	size_t count;
};

static struct identity_cells identity_columns(const struct xlsx_table_job *job)
{
	const struct strings *names = &job->request->identity;
	struct identity_cells identity = {arena_array(job->arena, names->count + 1, sizeof *identity.columns), 0};
	for (size_t i = 0; i < names->count; i++) {
		int column = source_find(job->arena, job->source, names->at[i]);
		if (column == -1) /* a place instead of a name: `at: 3` */
			column = (int)xlsx_number(names->at[i], (int64_t)job->source->column_count) - 1;
		if (column >= 0)
			identity.columns[identity.count++] = (uint32_t)column;
	}
	return identity;
}

static bool identity_filled(const struct xlsx_table_job *job, const struct identity_cells *identity, size_t index)
{
	const struct xlsx_row *row = xlsx_grid_row(job->grid, index);
	for (size_t i = 0; i < identity->count; i++)
		if (!xlsx_cell_filled(job->grid, xlsx_row_cell(job->grid, row, identity->columns[i])))
			return false;
	return true;
}

static bool only_texts(const struct xlsx_table_job *job, size_t index)
{
	const struct xlsx_row *row = xlsx_grid_row(job->grid, index);
	for (uint32_t i = 0; i < row->count; i++) {
		uint8_t kind = xlsx_row_cells(job->grid, row)[i].kind;
		if (kind == CELL_NUMBER || kind == CELL_LOGICAL || kind == CELL_ISO_DATE)
			return false;
	}
	return true;
}

/* Sheet rows from `from` up to grid row `index` that have nothing in them. */
static uint64_t blank_before(const struct xlsx_table_job *job, uint32_t from, size_t index)
{
	uint64_t blank = 0;
	uint32_t row = from;
	for (size_t i = xlsx_grid_find(job->grid, from); i < index; i++) {
		uint32_t here = xlsx_grid_row(job->grid, i)->row;
		blank += here - row + !xlsx_row_filled(job->grid, i);
		row = here + 1;
	}
	if (index < job->grid->row_count && xlsx_grid_row(job->grid, index)->row > row)
		blank += xlsx_grid_row(job->grid, index)->row - row;
	return blank;
}

static void find_first(const struct xlsx_table_job *job, uint32_t after_header)
{
	const struct block *block = job->request->block;
	const struct xlsx_grid *grid = job->grid;
	struct xlsx_table *table = job->table;
	uint32_t from =
		block->data == DATA_ROW && (uint32_t)block->data_row > after_header ? (uint32_t)block->data_row : after_header;
	size_t i = xlsx_grid_find(grid, after_header), explained = 0;
	for (; i < grid->row_count && xlsx_grid_row(grid, i)->row < from; i++)
		explained += xlsx_row_filled(grid, i);
	struct identity_cells identity = identity_columns(job);
	bool first_key = (block->data == DATA_DEFAULT || block->data == DATA_FIRST_KEY) && identity.count;
	for (; i < grid->row_count; i++) {
		if (!xlsx_row_filled(grid, i))
			continue;
		if (!first_key || identity_filled(job, &identity, i) || !only_texts(job, i))
			break;
		explained++;
	}
	table->first = i;
	table->before = explained;
	table->blank = i < grid->row_count ? blank_before(job, after_header, i) : 0;
}

/* ---- what is said about it ---- */

static void tell_above(const struct xlsx_table_job *job, uint32_t header)
{
	struct strings *above = &job->source->facts.above;
	for (size_t i = 0; i < job->grid->row_count && xlsx_grid_row(job->grid, i)->row < header; i++) {
		const struct xlsx_row *row = xlsx_grid_row(job->grid, i);
		bool any = false;
		for (uint32_t k = 0; k < row->count; k++) {
			const struct xlsx_cell *cell = &xlsx_row_cells(job->grid, row)[k];
			if (!xlsx_cell_filled(job->grid, cell))
				continue;
			strings_add(job->arena, above, xlsx_cell_text(job->arena, job->grid, cell));
			any = true;
		}
		if (any)
			strings_add(job->arena, above, "\n");
	}
}

/* A double holds fifteen digits of any whole number; a sixteenth was lost when the cell was typed. */
static void tell_rounded(const struct xlsx_table_job *job)
{
	uint64_t count = 0;
	char letter[4] = "";
	uint32_t row_number = 0;
	for (struct xlsx_place at = {0}; xlsx_table_has(job->table, &at); at.row++) {
		const struct xlsx_row *row = xlsx_grid_row(job->grid, at.row);
		for (uint32_t k = 0; k < row->count; k++) {
			const struct xlsx_cell *cell = &xlsx_row_cells(job->grid, row)[k];
			if (cell->kind != CELL_NUMBER || cell->style != STYLE_PLAIN || (cell->number < 1e15 && cell->number > -1e15))
				continue;
			if (!count++) {
				xlsx_letter(cell->column, letter);
				row_number = row->row;
			}
		}
	}
	if (count)
		strings_add(job->arena, &job->source->facts.notes,
					arena_printf(job->arena,
								 "sheet \"%s\": %s number cell%s of more than 15 digits (first %s%u); Excel has already "
								 "rounded such numbers, ids of this length must be stored as text",
								 job->source->facts.sheet, text_count(job->arena, count), count == 1 ? "" : "s", letter,
								 row_number));
}

recloser_status xlsx_table_find(struct arena *arena, const struct source_request *request, const struct xlsx_grid *grid,
								struct source *source, struct xlsx_table *table, recloser_error *error)
{
	struct xlsx_table_job job = {arena, request, grid, source, table, error};
	uint32_t rows[4] = {0};
	int count = 0;
	memset(table, 0, sizeof *table);
	RC_TRY(header_rows(&job, rows, &count));
	uint32_t first = count ? rows[0] : 1, last = 0;
	for (int k = 0; k < count; k++) {
		first = rows[k] < first ? rows[k] : first;
		last = rows[k] > last ? rows[k] : last;
	}
	name_columns(&job, rows, count);
	if (count && !source->column_count) {
		error_set(error, RECLOSER_REFUSED, "xlsx.header", "header row %u is empty", last);
		where(&job);
		return error_hint(error, "give its number as the sheet shows it, or its words: header: {find: [...]}");
	}
	find_first(&job, last + 1);
	RC_TRY(xlsx_end_find(&job));
	/* Columns without a name count as well, as far as there is data in them. */
	for (size_t i = 0; i < table->part_count; i++)
		set_width(&job, width_of(grid, table->parts[i].first, table->parts[i].end, source->column_count));
	size_t end = table->parts[table->part_count - 1].end;
	if (end > table->first)
		table->blank += blank_before(&job, xlsx_grid_row(grid, table->first)->row, end - 1);
	tell_above(&job, first);
	tell_rounded(&job);
	source->counts.before = table->before;
	source->counts.trailing = table->trailing;
	source->counts.blank_lines = table->blank;
	return RECLOSER_OK;
}
