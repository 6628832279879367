/* SPDX-License-Identifier: Apache-2.0
 * Workbooks (Office Open XML, .xlsx and .xlsm), between the files of this reader only:
 *
 *   xlsx_xml.c      one part of the package through expat, with every limit on what an archive may do
 *   xlsx_package.c  which parts there are: sheets, shared strings, date formats, the calendar
 *   xlsx_format.c   is a number format a date, a time, a duration?
 *   xlsx_sheet.c    one sheet into a grid of filled cells
 *   xlsx_cells.c    a cell as text
 *   xlsx_table.c    the table on the sheet: header and first row
 *   xlsx_end.c      where it ends, and what is below
 *   xlsx_wanted.c   which of its columns are loaded
 *   xlsx.c          which sheets, and the source they make
 *
 * Parsing runs inside expat's callbacks, so everything here grows by malloc in `struct xlsx_pool` and is handed to the
 * arena to free. A part is read once, front to back; nothing of the package is unpacked to disk. */
#ifndef RECLOSER_SOURCE_XLSX_H
#define RECLOSER_SOURCE_XLSX_H

#include <expat.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/number.h"
#include "source/source.h"

/* Limits of the file format, and of what one workbook may cost. */
enum {
	XLSX_ROWS = 1048576,
	XLSX_COLUMNS = 16384,
	XLSX_RATIO = 400, /* unpacked : packed, once XLSX_RATIO_FROM bytes were unpacked */
	XLSX_RATIO_FROM = 64 << 20,
	XLSX_SHEETS = 10000,
	XLSX_FORMATS = 10000
};
#define XLSX_UNPACKED_MAX (UINT64_C(8) << 30)
#define XLSX_MEMORY_MAX (UINT64_C(2) << 30)

/* Memory that all pools of one workbook take together. */
struct xlsx_budget {
	uint64_t used, unpacked;
	bool no_memory, too_large;
};

/* A growing range of bytes; growth fails by returning NULL and marking the budget. Freed by arena_defer. */
struct xlsx_pool {
	struct xlsx_budget *budget;
	char *at;
	size_t count, capacity;
};
struct xlsx_pool *xlsx_pool_new(struct arena *arena, struct xlsx_budget *budget);
void *xlsx_pool_add(struct xlsx_pool *pool, size_t bytes);

/* ---- xlsx_xml.c ---- */
/* An element of the spreadsheet namespace (transitional or strict), or of a relationships part; "" for any other one. */
typedef void xlsx_start(void *user, const char *element, const char **attributes);
typedef void xlsx_end(void *user, const char *element);
typedef void xlsx_text(void *user, const char *bytes, int count);
struct xlsx_handlers {
	xlsx_start *start;
	xlsx_end *end;
	xlsx_text *text;
	void *user;
	const char *failed; /* set by a handler to stop: what is wrong, a constant string */
	bool no_memory;
	XML_Parser parser;
};
void xlsx_stop(struct xlsx_handlers *handlers, const char *what);
void xlsx_stop_memory(struct xlsx_handlers *handlers); /* malloc or a pool failed */
/* The value of an attribute without namespace, or NULL; xlsx_relation: the one named r:id. */
const char *xlsx_attribute(const char **attributes, const char *name);
const char *xlsx_relation(const char **attributes);

struct xlsx_archive {
	struct arena *arena;
	const char *path;     /* for messages */
	const char *root;     /* "/vsizip/{...}" */
	uint64_t packed;      /* size of the file */
	struct strings parts; /* names of its members */
	struct xlsx_budget budget;
};
/* The member of this name (letter case does not count), or NULL. */
const char *xlsx_part(const struct xlsx_archive *archive, const char *name);
recloser_status xlsx_parse(struct xlsx_archive *archive, const char *part, struct xlsx_handlers *handlers,
						   recloser_error *error) RC_CHECKED;
/* An unsigned number of digits only, up to `most`; -1 otherwise. */
int64_t xlsx_number(const char *text, int64_t most);

/* Collect text with `_x000D_` turned to the character meant. */
bool xlsx_unescape(struct xlsx_pool *pool, size_t from);

/* ---- xlsx_format.c ---- */
enum xlsx_style { STYLE_PLAIN, STYLE_DATE, STYLE_TIME, STYLE_DURATION };
enum xlsx_style xlsx_style_of_format(const char *format);
enum xlsx_style xlsx_style_of_builtin(int64_t id);

/* ---- xlsx_package.c ---- */
struct xlsx_sheet {
	const char *name, *part;
	bool hidden; /* hidden or very hidden */
};
struct xlsx_book {
	struct xlsx_archive archive;
	struct xlsx_sheet *sheets; /* worksheets only, in the order of the tabs */
	size_t sheet_count;
	bool date_1904;
	struct xlsx_pool *strings;     /* shared texts, one after the other */
	struct xlsx_pool *string_ends; /* size_t each: where text i ends in `strings` */
	struct xlsx_pool *styles;      /* one byte a cell format: enum xlsx_style */
};
/* `path` is read, `name` is what messages call it. */
recloser_status xlsx_book_open(struct arena *arena, const char *path, const char *name, struct xlsx_book *book,
							   recloser_error *error) RC_CHECKED;

/* ---- xlsx_sheet.c ---- */
enum xlsx_kind {
	CELL_SHARED,    /* number: index into the shared texts */
	CELL_INLINE,    /* offset, length in the grid's texts */
	CELL_NUMBER,    /* number, with a style */
	CELL_LOGICAL,   /* number: 0 or 1 */
	CELL_ISO_DATE,  /* text as in CELL_INLINE */
	CELL_ERROR,     /* text as in CELL_INLINE: "#N/A" */
	CELL_NO_RESULT, /* a formula that was saved without its value */
	CELL_MALFORMED  /* text as in CELL_INLINE: what the cell holds and is no value of its type */
};
struct xlsx_cell {
	uint16_t column; /* from 0 */
	uint8_t kind, style;
	uint32_t length;
	union {
		double number;
		uint64_t offset;
	};
};
struct xlsx_row {
	uint32_t row; /* from 1 */
	uint32_t count;
	uint64_t first; /* index of its first cell */
};
struct xlsx_merge {
	uint32_t top, bottom, left, right; /* rows from 1, columns from 0 */
};
/* Filled cells only: an empty cell with a format is nothing. Rows ascend, columns ascend within a row. */
struct xlsx_grid {
	const struct xlsx_book *book;
	struct xlsx_pool *rows, *cells, *texts, *merges;
	size_t row_count, merge_count;
	uint64_t bytes; /* of XML */
};
recloser_status xlsx_grid_read(struct arena *arena, struct xlsx_book *book, const struct xlsx_sheet *sheet,
							   struct xlsx_grid *grid, recloser_error *error) RC_CHECKED;
const struct xlsx_row *xlsx_grid_row(const struct xlsx_grid *grid, size_t index);
const struct xlsx_cell *xlsx_row_cells(const struct xlsx_grid *grid, const struct xlsx_row *row);
/* The cell in this column of the row, or NULL. */
const struct xlsx_cell *xlsx_row_cell(const struct xlsx_grid *grid, const struct xlsx_row *row, uint32_t column);
/* The index of the first row that is not above sheet row `row`; row_count when there is none. */
size_t xlsx_grid_find(const struct xlsx_grid *grid, uint32_t row);

/* ---- xlsx_cells.c ---- */
enum { XLSX_VALUE_MAX = 64 };
struct xlsx_value {
	const char *text; /* in the workbook's memory or in `buffer`; not NUL-terminated */
	size_t length;
	const char *fault; /* NULL, or why the cell can't be taken */
	char buffer[XLSX_VALUE_MAX];
};
/* Never fails: a cell that holds no value has a fault, and its text is what a person should see. */
void xlsx_cell_value(const struct xlsx_grid *grid, const struct xlsx_cell *cell, struct xlsx_value *value);
/* Something a person sees: anything but blanks. */
bool xlsx_cell_filled(const struct xlsx_grid *grid, const struct xlsx_cell *cell);
const char *xlsx_cell_text(struct arena *arena, const struct xlsx_grid *grid, const struct xlsx_cell *cell);
/* "AF" for 31. `out` needs 4 bytes. */
void xlsx_letter(uint32_t column, char out[4]);

/* ---- xlsx_table.c ---- */
/* Rows by their index in the grid, not by sheet row. */
struct xlsx_part {
	size_t first, end;
};
struct xlsx_table {
	size_t first;            /* the first data row */
	struct xlsx_part *parts; /* the data rows, ascending; one at least. Blank rows in them are left out while reading. */
	size_t part_count;
	uint64_t before, trailing, blank;
};
/* Where on a sheet is the table? What xlsx_table.c and xlsx_end.c work on. */
struct xlsx_table_job {
	struct arena *arena;
	const struct source_request *request;
	const struct xlsx_grid *grid;
	struct source *source;
	struct xlsx_table *table;
	recloser_error *error;
};
/* A walk over the rows of all parts: from {0}, while xlsx_table_has, then row++. */
struct xlsx_place {
	size_t part, row;
};
static inline bool xlsx_table_has(const struct xlsx_table *table, struct xlsx_place *at)
{
	for (; at->part < table->part_count; at->part++) {
		if (at->row < table->parts[at->part].first)
			at->row = table->parts[at->part].first;
		if (at->row < table->parts[at->part].end)
			return true;
	}
	return false;
}
/* Fills source->columns, facts.above, facts.notes and counts, and says where the rows are. */
recloser_status xlsx_table_find(struct arena *arena, const struct source_request *request, const struct xlsx_grid *grid,
								struct source *source, struct xlsx_table *table, recloser_error *error) RC_CHECKED;

/* ---- xlsx_end.c ---- */
/* Fills table->parts and trailing from table->first on, and says in facts.notes what is read or left out below a blank row.
 */
recloser_status xlsx_end_find(const struct xlsx_table_job *of) RC_CHECKED;
bool xlsx_row_filled(const struct xlsx_grid *grid, size_t index);

/* ---- xlsx_wanted.c ---- */
/* One for each column: does the load look at it? Only there does a cell that can't be taken count against its row. */
const bool *xlsx_wanted(struct arena *arena, const struct source_request *request, const struct source *source);

#endif
