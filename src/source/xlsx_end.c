/* SPDX-License-Identifier: Apache-2.0
 * Where the table on a sheet ends. Publishers put notes, legends and totals below it, after a blank row; but a blank row is
 * also what somebody leaves in the middle of a table, and to end there would lose every row after it.
 *
 * What is below a blank row comes in groups of rows without a blank one between them. Without `end` each group is judged by
 * the rows above the first blank row that have two cells or more, since a single cell is a note:
 * - Its first row is a record when it fills every column that all of them fill, with the same kind of value (text, number,
 *   date, boolean) where all of them have the same, and has as many cells as the emptiest of them. Then the group is read
 *   whole. A row that begins with "total" or repeats the header is no record.
 * - A row is doubtful when it is a record by its cells but not by their kinds or words, or has more than two thirds of the
 *   cells of the emptiest. A group with a record or a doubtful row that does not begin with a record is refused: it may be
 *   the table's rest or a second table, and either guess would be wrong somewhere.
 * - Any other group is notes: left out, counted and told.
 * The columns that all rows fill become fewer with every row; judged by few rows, records are doubtful, never notes. */
#include "source/xlsx.h"

#include <string.h>

enum { WORDS_BYTES = 80, LEAST_CELLS = 2 };

enum likeness { NO_RECORD, DOUBTFUL, RECORD };

enum value_kind { KIND_NONE, KIND_ANY, KIND_TEXT, KIND_NUMBER, KIND_DATE, KIND_LOGICAL };

struct end_job {
	const struct xlsx_table_job *of;
	/* What all rows above the first blank one fill, with the kind that all have. */
	uint8_t *kinds; /* by column; KIND_NONE: not filled by all */
	size_t width, rows, fewest;
	/* Rows below the end, and rows below a blank row that are read. */
	uint64_t left, more;
	size_t first_left, first_more;
};

bool xlsx_row_filled(const struct xlsx_grid *grid, size_t index)
{
	const struct xlsx_row *row = xlsx_grid_row(grid, index);
	const struct xlsx_cell *cells = xlsx_row_cells(grid, row);
	for (uint32_t i = 0; i < row->count; i++)
		if (xlsx_cell_filled(grid, &cells[i]))
			return true;
	return false;
}

static uint8_t kind_of(const struct xlsx_cell *cell)
{
	switch (cell->kind) {
	case CELL_SHARED:
	case CELL_INLINE:
		return KIND_TEXT;
	case CELL_NUMBER:
		return cell->style == STYLE_PLAIN ? KIND_NUMBER : KIND_DATE;
	case CELL_ISO_DATE:
		return KIND_DATE;
	case CELL_LOGICAL:
		return KIND_LOGICAL;
	default: /* errors, formulas without a result: nobody knows what they would be */
		return KIND_ANY;
	}
}

static size_t cells_filled(const struct xlsx_grid *grid, size_t index)
{
	const struct xlsx_row *row = xlsx_grid_row(grid, index);
	const struct xlsx_cell *cells = xlsx_row_cells(grid, row);
	size_t count = 0;
	for (uint32_t i = 0; i < row->count; i++)
		count += xlsx_cell_filled(grid, &cells[i]);
	return count;
}

/* ---- what the rows above have in common ---- */

static void learn_row(struct end_job *job, size_t index)
{
	const struct xlsx_row *row = xlsx_grid_row(job->of->grid, index);
	const struct xlsx_cell *cells = xlsx_row_cells(job->of->grid, row);
	size_t filled = cells_filled(job->of->grid, index);
	uint32_t next = 0;
	if (filled < LEAST_CELLS)
		return;
	for (size_t column = 0; column < job->width; column++) {
		while (next < row->count && cells[next].column < column)
			next++;
		bool there = next < row->count && cells[next].column == column && xlsx_cell_filled(job->of->grid, &cells[next]);
		uint8_t kind = there ? kind_of(&cells[next]) : KIND_NONE;
		if (!job->rows)
			job->kinds[column] = kind;
		else if (job->kinds[column] != KIND_NONE && job->kinds[column] != kind)
			job->kinds[column] = there ? KIND_ANY : KIND_NONE;
	}
	if (!job->rows || filled < job->fewest)
		job->fewest = filled;
	job->rows++;
}

static void learn(struct end_job *job, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++) {
		const struct xlsx_row *row = xlsx_grid_row(job->of->grid, i);
		const struct xlsx_cell *cells = xlsx_row_cells(job->of->grid, row);
		if (row->count && cells[row->count - 1].column >= job->width)
			job->width = cells[row->count - 1].column + (size_t)1;
	}
	job->kinds = arena_array(job->of->arena, job->width + 1, sizeof *job->kinds);
	for (size_t i = first; i < end; i++)
		learn_row(job, i);
}

/* ---- is a row like them? ---- */

static bool is_total(struct arena *scratch, const struct end_job *job, size_t index)
{
	static const char *const words[] = {"total", "totals", "grand total", "subtotal", "sub-total", "sum"};
	const struct xlsx_row *row = xlsx_grid_row(job->of->grid, index);
	const struct xlsx_cell *cells = xlsx_row_cells(job->of->grid, row);
	uint32_t i = 0;
	while (i < row->count && !xlsx_cell_filled(job->of->grid, &cells[i]))
		i++;
	if (i == row->count)
		return false;
	const char *text = text_squeezed(scratch, xlsx_cell_text(scratch, job->of->grid, &cells[i]));
	for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
		size_t length = strlen(words[k]);
		unsigned char after = text_starts(text, words[k]) ? (unsigned char)text[length] : 'x';
		if (after < 0x80 && !(after >= 'a' && after <= 'z') && !(after >= '0' && after <= '9'))
			return true;
	}
	return false;
}

static bool repeats_header(struct arena *scratch, const struct end_job *job, size_t index)
{
	const struct xlsx_row *row = xlsx_grid_row(job->of->grid, index);
	const struct xlsx_cell *cells = xlsx_row_cells(job->of->grid, row);
	for (uint32_t i = 0; i < row->count; i++) {
		if (!xlsx_cell_filled(job->of->grid, &cells[i]))
			continue;
		const char *name = cells[i].column < job->of->source->column_count ? job->of->source->columns[cells[i].column].name : "";
		if (strcmp(text_squeezed(scratch, xlsx_cell_text(scratch, job->of->grid, &cells[i])), text_squeezed(scratch, name)) != 0)
			return false;
	}
	return true;
}

/* Are all the columns filled that all rows above fill, and with values of their kind? */
static bool fills_columns(const struct end_job *job, size_t index, bool *same_kinds)
{
	const struct xlsx_row *row = xlsx_grid_row(job->of->grid, index);
	*same_kinds = true;
	for (size_t column = 0; column < job->width; column++) {
		if (job->kinds[column] == KIND_NONE)
			continue;
		const struct xlsx_cell *cell = xlsx_row_cell(job->of->grid, row, (uint32_t)column);
		if (!xlsx_cell_filled(job->of->grid, cell))
			return false;
		uint8_t kind = kind_of(cell);
		*same_kinds &= kind == job->kinds[column] || kind == KIND_ANY || job->kinds[column] == KIND_ANY;
	}
	return true;
}

static enum likeness likeness_of(struct arena *scratch, const struct end_job *job, size_t index)
{
	size_t filled = cells_filled(job->of->grid, index);
	bool same_kinds;
	if (!job->rows || filled < LEAST_CELLS || is_total(scratch, job, index))
		return NO_RECORD;
	if (filled >= job->fewest && fills_columns(job, index, &same_kinds))
		return same_kinds && !repeats_header(scratch, job, index) ? RECORD : DOUBTFUL;
	return 3 * filled > 2 * job->fewest ? DOUBTFUL : NO_RECORD;
}

/* ---- groups ---- */

/* The first row from `i` on that is blank or does not follow on the one before it. */
static size_t group_end(const struct xlsx_grid *grid, size_t i)
{
	uint32_t expected = i < grid->row_count ? xlsx_grid_row(grid, i)->row : 0;
	while (i < grid->row_count && xlsx_grid_row(grid, i)->row == expected && xlsx_row_filled(grid, i)) {
		expected++;
		i++;
	}
	return i;
}

static size_t group_begin(const struct xlsx_grid *grid, size_t i)
{
	while (i < grid->row_count && !xlsx_row_filled(grid, i))
		i++;
	return i;
}

/* What a person would look for to find the row: its cells, cut at a whole character. */
static const char *words_of(const struct end_job *job, size_t index)
{
	const struct xlsx_row *row = xlsx_grid_row(job->of->grid, index);
	struct text words = text_on(job->of->arena);
	for (uint32_t i = 0; i < row->count && words.length < WORDS_BYTES; i++) {
		const struct xlsx_cell *cell = &xlsx_row_cells(job->of->grid, row)[i];
		if (!xlsx_cell_filled(job->of->grid, cell))
			continue;
		for (const char *at = xlsx_cell_text(job->of->arena, job->of->grid, cell); *at && words.length <= WORDS_BYTES; at++) {
			bool blank = *at == ' ' || (*at >= '\t' && *at <= '\r');
			if (!blank)
				text_add_n(&words, at, 1);
			else if (words.length && words.at[words.length - 1] != ' ')
				text_add(&words, " ");
		}
		if (words.at[words.length - 1] != ' ')
			text_add(&words, " ");
	}
	size_t count = words.length;
	if (count <= WORDS_BYTES)
		return arena_strndup(job->of->arena, words.at, count ? count - 1 : 0);
	for (count = WORDS_BYTES; count && ((unsigned char)words.at[count] & 0xC0) == 0x80;)
		count--;
	return arena_printf(job->of->arena, "%.*s...", (int)count, words.at);
}

static void add_part(struct end_job *job, size_t first, size_t end)
{
	struct xlsx_table *table = job->of->table;
	size_t old = table->part_count * sizeof *table->parts;
	table->parts = arena_grow(job->of->arena, table->parts, old, old + sizeof *table->parts);
	table->parts[table->part_count++] = (struct xlsx_part){first, end};
}

static void leave_out(struct end_job *job, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++) {
		if (!xlsx_row_filled(job->of->grid, i))
			continue;
		if (!job->left++)
			job->first_left = i;
	}
}

static recloser_status refuse_group(const struct end_job *job, size_t first, size_t end, size_t doubtful)
{
	uint32_t from = xlsx_grid_row(job->of->grid, first)->row, to = xlsx_grid_row(job->of->grid, end - 1)->row;
	const struct xlsx_part *above = &job->of->table->parts[0];
	uint32_t blank = xlsx_grid_row(job->of->grid, above->end - 1)->row + 1;
	struct text rows = text_on(job->of->arena);
	text_addf(&rows, from == to ? "row %u below a blank row" : "rows %u to %u below a blank row", from, to);
	error_set(job->of->error, RECLOSER_REFUSED, "xlsx.end",
			  "%s may belong to the table or not: %zu of %zu %s filled like the rows above, but not the first in every way",
			  rows.at, doubtful, end - first, doubtful == 1 ? "is" : "are");
	error_where(job->of->error, "%s, sheet \"%s\", row %u: \"%s\"", job->of->request->input->name,
				job->of->source->facts.sheet, from, words_of(job, first));
	return error_hint(
		job->of->error,
		"say it in the source's block: `end: blank` ends the table at its first blank row, row %u; `end: none` reads "
		"all rows below; `end: {find: WORDS}` ends it at the row with these words",
		blank);
}

/* Without `end`: what follows is read, refused or left out by what it looks like. */
static recloser_status judge_groups(struct end_job *job, size_t i)
{
	struct arena *scratch = arena_new(job->of->arena);
	recloser_status status = RECLOSER_OK;
	while (status == RECLOSER_OK && (i = group_begin(job->of->grid, i)) < job->of->grid->row_count) {
		size_t end = group_end(job->of->grid, i), alike = 0;
		enum likeness first = likeness_of(scratch, job, i);
		for (size_t k = i; k < end && first != RECORD; k++)
			alike += likeness_of(scratch, job, k) != NO_RECORD;
		if (first == RECORD) {
			if (!job->more)
				job->first_more = i;
			job->more += end - i;
			add_part(job, i, end);
		} else if (alike) {
			status = refuse_group(job, i, end, alike);
		} else {
			leave_out(job, i, end);
		}
		i = end;
	}
	arena_free(scratch);
	return status;
}

static bool row_matches(const struct end_job *job, size_t index, const char *pattern, struct arena *scratch)
{
	const struct xlsx_row *row = xlsx_grid_row(job->of->grid, index);
	for (uint32_t i = 0; i < row->count; i++) {
		const char *text = xlsx_cell_text(scratch, job->of->grid, &xlsx_row_cells(job->of->grid, row)[i]);
		if (text_matches(pattern, text_squeezed(scratch, text), true))
			return true;
	}
	return false;
}

/* `end: none` and `end: {find: ...}`: one part, blank rows within. */
static void end_declared(struct end_job *job)
{
	const struct block *block = job->of->request->block;
	const struct xlsx_grid *grid = job->of->grid;
	struct arena *scratch = arena_new(job->of->arena);
	const char *pattern = block->end == END_FIND ? text_squeezed(scratch, block->end_find) : NULL;
	size_t end = job->of->table->first;
	while (end < grid->row_count && !(pattern && xlsx_row_filled(grid, end) && row_matches(job, end, pattern, scratch)))
		end++;
	size_t rest = end;
	while (end > job->of->table->first && !xlsx_row_filled(grid, end - 1))
		end--; /* a table does not end in blank rows */
	add_part(job, job->of->table->first, end);
	leave_out(job, rest, grid->row_count);
	arena_free(scratch);
}

/* ---- what is said about it ---- */

static void tell(const struct end_job *job)
{
	const char *sheet = job->of->source->facts.sheet;
	struct strings *notes = &job->of->source->facts.notes;
	if (job->more)
		strings_add(
			job->of->arena, notes,
			arena_printf(
				job->of->arena,
				"sheet \"%s\": %s row%s below a blank row %s read as well, being filled like the records above (first: row "
				"%u, \"%s\"); `end: blank` would end the table there",
				sheet, text_count(job->of->arena, job->more), job->more == 1 ? "" : "s", job->more == 1 ? "is" : "are",
				xlsx_grid_row(job->of->grid, job->first_more)->row, words_of(job, job->first_more)));
	if (job->left)
		strings_add(job->of->arena, notes,
					arena_printf(job->of->arena, "sheet \"%s\": %s row%s below the table %s left out (first: row %u, \"%s\")",
								 sheet, text_count(job->of->arena, job->left), job->left == 1 ? "" : "s",
								 job->left == 1 ? "is" : "are", xlsx_grid_row(job->of->grid, job->first_left)->row,
								 words_of(job, job->first_left)));
}

recloser_status xlsx_end_find(const struct xlsx_table_job *of)
{
	struct end_job job = {.of = of};
	struct xlsx_table *table = of->table;
	enum table_end declared = of->request->block->end;
	size_t end = group_end(of->grid, table->first);
	if (declared == END_NONE || declared == END_FIND) {
		end_declared(&job);
	} else {
		add_part(&job, table->first, end);
		if (declared == END_BLANK) {
			leave_out(&job, end, of->grid->row_count);
		} else {
			learn(&job, table->first, end);
			RC_TRY(judge_groups(&job, end));
		}
	}
	table->trailing = job.left;
	tell(&job);
	return RECLOSER_OK;
}
