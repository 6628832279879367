/* SPDX-License-Identifier: Apache-2.0
 * How the file is to be read: which table of it, and from which row. Each decision becomes a line of the block. */
#include <inttypes.h>
#include <string.h>

#include "init/init.h"
#include "source/bytes.h"
#include "source/csv.h"

enum { PREVIEW = 150, WITHIN_DEFAULT = 60 };

/* The first rows of a table, as texts, with the place of each. */
struct preview {
	struct strings *rows;
	uint64_t *places; /* line or sheet row */
	size_t count;
	uint64_t total;   /* rows in the whole table, where known */
};

void init_read_line(struct init *init, const char *line, const char *comment)
{
	strings_add(init->arena, &init->read_lines, comment ? arena_printf(init->arena, "%-55s # %s", line, comment) : line);
}

struct source_request init_request(const struct init *init, size_t which, const struct block *block)
{
	static const struct spec plain = {.path = "", .directory = ".", .other_columns_keep = true,
	                                  .geometry = {.from = GEOMETRY_AUTO, .column = "geometry"}};
	return (struct source_request){.engine = init->engine, .input = &init->inputs[which], .block = block, .spec = &plain, .spool = init->spool};
}

recloser_status init_scan(struct init *init, size_t which, const struct block *block, struct source **out, const char **scan,
                          recloser_error *error)
{
	struct block *kept = arena_alloc(init->arena, sizeof *kept); /* the source looks at it as long as it lives */
	*kept = *block;
	struct source_request request = init_request(init, which, kept);
	struct source **sources;
	size_t count;
	RC_TRY(source_open(init->arena, &request, &sources, &count, error));
	*out = sources[0];
	if (sources[0]->facts.scan_sql) {
		*scan = arena_printf(init->arena, "(%s)", sources[0]->facts.scan_sql);
		return RECLOSER_OK;
	}
	uint64_t id;
	RC_TRY(engine_offer(init->engine, sources[0], &id, error));
	*scan = arena_printf(init->arena, "rc_scan(%" PRIu64 ")", id);
	return RECLOSER_OK;
}

/* A name on one line, its letters as they are. */
static const char *one_line(struct arena *arena, const char *name)
{
	struct text out = text_on(arena);
	for (const char *p = name; *p; p++) {
		bool blank = *p == ' ' || (*p >= '\t' && *p <= '\r');
		if (!blank)
			text_add_n(&out, p, 1);
		else if (out.length && out.at[out.length - 1] != ' ')
			text_add(&out, " ");
	}
	while (out.length && out.at[out.length - 1] == ' ')
		out.at[--out.length] = '\0';
	return out.at;
}

/* ---- previews ---- */

static recloser_status preview_text(struct init *init, struct preview *out, recloser_error *error)
{
	struct bytes bytes;
	RC_TRY(bytes_open(init->arena, init->inputs[0].read_path, init->block.encoding, init->spool, &bytes, error));
	const char *at = bytes.at, *end = bytes.at + bytes.count;
	struct csv_dialect dialect = {init->block.delimiter, init->block.quote};
	uint64_t line = 1;
	while (at < end && out->count < PREVIEW) {
		struct csv_record record = csv_record_at(init->arena, &dialect, at, end, line);
		if (record.unclosed)
			break;
		bool blank = true;
		for (size_t i = 0; i < record.cells.count; i++)
			blank &= record.cells.at[i][strspn(record.cells.at[i], " \t")] == '\0';
		if (!blank) {
			out->rows[out->count] = record.cells;
			out->places[out->count++] = line;
		}
		at = record.after;
		line += record.lines;
	}
	return RECLOSER_OK;
}

static recloser_status preview_sheet(struct init *init, const char *sheet, struct preview *out, recloser_error *error)
{
	struct block block = {.header = {.kind = HEADER_NONE}, .data = DATA_NEXT, .end = END_NONE};
	struct source *source;
	const char *scan;
	struct rows rows, total;
	strings_add(init->arena, &block.sheet, sheet);
	RC_TRY(init_scan(init, 0, &block, &source, &scan, error));
	if (source->column_count == 0)
		return RECLOSER_OK;
	recloser_status status = engine_query(init->engine, init->arena, "look at the sheet",
	                                      arena_printf(init->arena, "SELECT count(*) FROM %s", scan), &total, error);
	RC_TRY(source_blame(&init->inputs[0], status, error));
	out->total = (uint64_t)rows_int(&total, 0, 0);
	RC_TRY(engine_query(init->engine, init->arena, "look at the sheet", arena_printf(init->arena,
	    "SELECT * EXCLUDE (_line, _offset, _fault) FROM %s ORDER BY _row LIMIT %d", scan, PREVIEW), &rows, error));
	for (size_t r = 0; r < rows.row_count; r++) {
		for (size_t c = 1; c < rows.column_count; c++)
			strings_add(init->arena, &out->rows[r], rows_at(&rows, r, c) ? rows_at(&rows, r, c) : "");
		out->places[r] = (uint64_t)rows_int(&rows, r, 0);
	}
	out->count = rows.row_count;
	return RECLOSER_OK;
}

static struct preview *preview_new(struct arena *arena)
{
	struct preview *preview = arena_alloc(arena, sizeof *preview);
	preview->rows = arena_array(arena, PREVIEW, sizeof *preview->rows);
	preview->places = arena_array(arena, PREVIEW, sizeof *preview->places);
	return preview;
}

/* ---- header ---- */

static void header_by_words(struct init *init, const struct preview *preview, size_t row)
{
	struct arena *arena = init->arena;
	struct header *header = &init->block.header;
	*header = (struct header){.kind = HEADER_FIND, .within = WITHIN_DEFAULT};
	for (size_t pass = 0; pass < 2 && header->find.count < 2; pass++)
		for (size_t i = 0; i < preview->rows[row].count && header->find.count < 2; i++) {
			const char *cell = one_line(arena, preview->rows[row].at[i]);
			bool everywhere = !init->several_sheets || strings_has(&init->shared, text_squeezed(arena, cell));
			if (init_is_words(cell) && (pass || (strlen(cell) <= 40 && everywhere)) && !strings_has(&header->find, cell))
				strings_add(arena, &header->find, cell);
		}
	if (preview->places[row] + 20 > WITHIN_DEFAULT)
		header->within = (int)preview->places[row] + 40;
	const char *within = header->within == WITHIN_DEFAULT ? "" : arena_printf(arena, ", within: %d", header->within);
	init_read_line(init, arena_printf(arena, "header: {find: %s%s}", init_list(arena, &header->find), within),
	               arena_printf(arena, "row %" PRIu64 " here; found by its words wherever it moves", preview->places[row]));
}

static bool any_words(const struct strings *row)
{
	bool any = false;
	for (size_t i = 0; i < row->count; i++)
		any |= init_is_words(row->at[i]);
	return any;
}

static void find_header(struct init *init, const struct preview *preview)
{
	int row = init_header(init->arena, preview->rows, preview->count);
	if (row > 0)
		header_by_words(init, preview, (size_t)row);
	else if (row < 0 && preview->count > 0 && !any_words(&preview->rows[0])) {
		init->block.header.kind = HEADER_NONE;
		init_read_line(init, "header: none", "no row looks like names of columns");
	} else if (row < 0)
		strings_add(init->arena, &init->said, "No row looks like a header for certain; the first one is taken.");
}

/* ---- tables ---- */

/* The names in the header, squeezed. */
static struct strings header_names(struct arena *arena, const struct preview *preview)
{
	struct strings names = {0};
	int row = init_header(arena, preview->rows, preview->count);
	for (size_t i = 0; row >= 0 && i < preview->rows[row].count; i++)
		if (preview->rows[row].at[i][0])
			strings_add(arena, &names, text_squeezed(arena, preview->rows[row].at[i]));
	return names;
}

/* Nearly all names of the shorter one are in the other. */
static bool headers_alike(const struct strings *a, const struct strings *b)
{
	size_t same = 0, fewer = a->count < b->count ? a->count : b->count, more = a->count < b->count ? b->count : a->count;
	for (size_t i = 0; i < a->count; i++)
		same += strings_has(b, a->at[i]);
	return fewer >= 2 && same * 10 >= fewer * 8 && fewer * 10 >= more * 6;
}

static void offer_sheets(struct init *init, const struct strings *names, struct preview **previews, size_t best)
{
	struct arena *arena = init->arena;
	struct strings same = {0}, rest = {0};
	struct strings header = header_names(arena, previews[best]);
	init->shared = header;
	for (size_t i = 0; i < names->count; i++) {
		struct strings other = header_names(arena, previews[i]);
		bool alike = headers_alike(&header, &other);
		strings_add(arena, alike || i == best ? &same : &rest, names->at[i]);
		if (!alike || i == best)
			continue;
		struct strings both = {0};
		for (size_t k = 0; k < init->shared.count; k++)
			if (strings_has(&other, init->shared.at[k]))
				strings_add(arena, &both, init->shared.at[k]);
		init->shared = both;
		init->several_sheets = true;
	}
	init_read_line(init, arena_printf(arena, "sheet: %s", init_scalar(arena, names->at[best])),
	               arena_printf(arena, "the largest of %zu visible sheets", names->count));
	if (same.count > 1)
		init_read_line(init, arena_printf(arena, "# sheet: %s", init_list(arena, &same)), "instead, if they are one table: the headers are alike");
	if (rest.count)
		strings_add(arena, &init->said, arena_printf(arena, "Other sheets: %s.", strings_join(arena, &rest, ", ")));
}

static recloser_status open_workbook(struct init *init, recloser_error *error)
{
	struct arena *arena = init->arena;
	struct source_request request = init_request(init, 0, &init->block);
	struct strings names = {0};
	size_t best = 0;
	RC_TRY(source_tables(arena, &request, &names, error));
	if (init->options->table)
		names = (struct strings){.at = (const char **)&init->options->table, .count = 1};
	struct preview **previews = arena_array(arena, names.count + 1, sizeof *previews);
	previews[0] = preview_new(arena);
	for (size_t i = 0; i < names.count; i++) {
		previews[i] = preview_new(arena);
		RC_TRY(preview_sheet(init, names.at[i], previews[i], error));
		if (previews[i]->total > previews[best]->total)
			best = i;
	}
	if (names.count)
		strings_add(arena, &init->block.sheet, names.at[best]);
	if (names.count > 1)
		offer_sheets(init, &names, previews, best);
	else if (init->options->table)
		init_read_line(init, arena_printf(arena, "sheet: %s", init_scalar(arena, names.at[0])), NULL);
	find_header(init, previews[best]);
	init->sheet = true;
	return RECLOSER_OK;
}

static recloser_status open_layers(struct init *init, recloser_error *error)
{
	struct arena *arena = init->arena;
	struct source_request request = init_request(init, 0, &init->block);
	struct strings names = {0}, rest = {0};
	size_t best = 0;
	int64_t most = -1;
	RC_TRY(source_tables(arena, &request, &names, error));
	if (init->options->table) {
		strings_add(arena, &init->block.layer, init->options->table);
		init_read_line(init, arena_printf(arena, "layer: %s", init_scalar(arena, init->options->table)), NULL);
	}
	if (names.count < 2 || init->options->table)
		return RECLOSER_OK;
	for (size_t i = 0; i < names.count; i++) {
		struct block block = {.delimiter = 0};
		struct source *source;
		const char *scan;
		struct rows rows;
		strings_add(arena, &block.layer, names.at[i]);
		RC_TRY(init_scan(init, 0, &block, &source, &scan, error));
		recloser_status status = engine_query(init->engine, arena, "count the layer", arena_printf(arena, "SELECT count(*) FROM %s", scan),
		                                      &rows, error);
		RC_TRY(source_blame(&init->inputs[0], status, error));
		if (rows_int(&rows, 0, 0) > most) {
			most = rows_int(&rows, 0, 0);
			best = i;
		}
	}
	for (size_t i = 0; i < names.count; i++)
		if (i != best)
			strings_add(arena, &rest, names.at[i]);
	strings_add(arena, &init->block.layer, names.at[best]);
	init_read_line(init, arena_printf(arena, "layer: %s", init_scalar(arena, names.at[best])), "the largest; every layer has a spec of its own");
	strings_add(arena, &init->said, arena_printf(arena, "Other layers: %s.", strings_join(arena, &rest, ", ")));
	return RECLOSER_OK;
}

recloser_status init_open(struct init *init, recloser_error *error)
{
	source_reader *reader;
	struct source_request request = init_request(init, 0, &init->block);
	const recloser_init_options *options = init->options;
	init->block.format = options->format;
	init->block.records = options->records;
	init->block.encoding = options->encoding;
	RC_TRY(source_reader_of(&request, &reader, error));
	if (options->format)
		init_read_line(init, arena_printf(init->arena, "format: %s", options->format), NULL);
	if (options->encoding)
		init_read_line(init, arena_printf(init->arena, "encoding: %s", init_scalar(init->arena, options->encoding)), NULL);
	if (options->records)
		init_read_line(init, arena_printf(init->arena, "records: %s", init_scalar(init->arena, options->records)), NULL);
	if (reader == csv_open) {
		struct preview *preview = preview_new(init->arena);
		RC_TRY(init_encoding(init, error));
		RC_TRY(init_dialect(init, error));
		RC_TRY(preview_text(init, preview, error));
		find_header(init, preview);
		return RECLOSER_OK;
	}
	if (reader == xlsx_open)
		return open_workbook(init, error);
	return reader == ogr_open ? open_layers(init, error) : RECLOSER_OK;
}
