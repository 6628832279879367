/* SPDX-License-Identifier: Apache-2.0
 * Where things are in a CSV text: header, cells over it, begin and end of the table. All of it is found when the source is
 * opened, so that the parallel reader afterwards knows one range of whole records and needs no rules. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "source/csv_scan.h"
#include "source/csv.h"

enum { DEFAULT_WITHIN = 60 };

/* A place between two records. */
struct place {
	const char *at;
	uint64_t line;
};

recloser_status csv_unclosed(const struct csv *csv, const char *quote, uint64_t line, recloser_error *error)
{
	error_set(error, RECLOSER_REFUSED, "csv.unclosed_quote",
			  "a quote opens a field that no quote closes, so the rest of the file would be one field");
	error_where(error, "%s, line %" PRIu64 ", byte %zu", csv->name, line, (size_t)(quote - csv->text));
	return error_hint(error, "The file may be cut short. If its quotes are plain characters, declare csv: {quote: none}.");
}

/* One record walked over without keeping its cells. */
struct step {
	struct place next;
	struct csv_field filled; /* its first field with something in it; `at` NULL: none */
	bool wanted;             /* a field of the wanted columns has something in it */
	const char *unclosed;
};

static struct step step_over(const struct csv *csv, struct place from, const char *end, const bool *wanted)
{
	struct step step = {{from.at, from.line}, {0}, false, NULL};
	const char *at = from.at;
	for (size_t column = 0;; column++) {
		struct csv_field field = csv_field_at(&csv->dialect, at, end);
		if (field.unclosed)
			step.unclosed = at;
		if (!csv_blank_field(&field)) {
			if (!step.filled.at)
				step.filled = field;
			if (wanted && column < csv->source.column_count && wanted[column])
				step.wanted = true;
		}
		at = field.after;
		if (at == end || *at != csv->dialect.delimiter)
			break;
		at++;
	}
	step.next.at = at < end ? csv_after_line_end(at, end) : end;
	step.next.line += csv_line_ends(from.at, step.next.at);
	return step;
}

/* Skip blank lines; returns how many. */
static uint64_t skip_blank(const struct csv *csv, size_t columns, struct place *place, const char *end)
{
	uint64_t count = 0;
	while (place->at < end && csv_blank_line(&csv->dialect, columns, place->at, end)) {
		while (place->at < end && !csv_is_line_end(*place->at))
			place->at++;
		if (place->at < end)
			place->at = csv_after_line_end(place->at, end);
		place->line++;
		count++;
	}
	return count;
}

/* The begin of a physical line, from 1; quotes do not matter, as in the editor in which somebody counted it. */
static recloser_status line_begin(const struct csv *csv, int line, const char *what, struct place *out,
								  recloser_error *error)
{
	struct csv_scan scan = csv_scan_from(csv->text, csv->end, '\n', '\r', '\n');
	const char *at = csv->text;
	uint64_t now = 1;
	while (at < csv->end && now < (uint64_t)line) {
		const char *hit = csv_scan_next(&scan);
		if (hit == csv->end) {
			at = csv->end;
			break;
		}
		at = csv_after_line_end(hit, csv->end);
		csv_scan_seek(&scan, at);
		now++;
	}
	if (now < (uint64_t)line || at == csv->end) {
		error_set(error, RECLOSER_REFUSED, "csv.no_such_line", "`%s: %d`, but the file has only %" PRIu64 " lines", what,
				  line, at == csv->end && at > csv->text && csv_is_line_end(at[-1]) ? now - 1 : now);
		return error_where(error, "%s", csv->name);
	}
	*out = (struct place){at, now};
	return RECLOSER_OK;
}

static recloser_status header_record(struct arena *arena, const struct csv *csv, struct place at, struct csv_record *out,
									 recloser_error *error)
{
	*out = csv_record_at(arena, &csv->dialect, at.at, csv->end, at.line);
	if (out->unclosed)
		return csv_unclosed(csv, out->unclosed, at.line + csv_line_ends(at.at, out->unclosed), error);
	if (memchr(at.at, '\0', (size_t)(out->after - at.at))) {
		error_set(error, RECLOSER_REFUSED, "csv.header_nul", "the header holds a NUL byte");
		return error_where(error, "%s, line %" PRIu64, csv->name, at.line);
	}
	return RECLOSER_OK;
}

/* The texts over the header, for columns that are taken from there. */
static void keep_above(struct arena *arena, struct csv *csv, const char *header)
{
	struct place place = {csv->text, 1};
	while (place.at < header) {
		csv->source.counts.blank_lines += skip_blank(csv, 2, &place, header);
		if (place.at >= header)
			return;
		struct csv_record record = csv_record_at(arena, &csv->dialect, place.at, header, place.line);
		for (size_t i = 0; i < record.cells.count; i++)
			if (record.cells.at[i][0])
				strings_add(arena, &csv->source.facts.above, record.cells.at[i]);
		strings_add(arena, &csv->source.facts.above, "\n");
		place = (struct place){record.after, record.line + record.lines};
	}
}

/* How many of the words are cells of the record, both squeezed and case-blind. */
static size_t words_found(struct arena *arena, const struct csv_record *record, const struct strings *words)
{
	size_t found = 0;
	for (size_t w = 0; w < words->count; w++) {
		const char *word = text_squeezed(arena, words->at[w]);
		for (size_t i = 0; i < record->cells.count; i++)
			if (strcmp(word, text_squeezed(arena, record->cells.at[i])) == 0) {
				found++;
				break;
			}
	}
	return found;
}

static recloser_status find_header(struct arena *arena, const struct csv *csv, const struct header *header,
								   struct place *out, recloser_error *error)
{
	int within = header->within > 0 ? header->within : DEFAULT_WITHIN;
	size_t most = 0;
	uint64_t most_line = 0;
	struct place place = {csv->text, 1};
	while (place.at < csv->end) {
		skip_blank(csv, 2, &place, csv->end);
		if (place.at == csv->end || place.line > (uint64_t)within)
			break;
		struct csv_record record = csv_record_at(arena, &csv->dialect, place.at, csv->end, place.line);
		if (record.unclosed)
			return csv_unclosed(csv, record.unclosed, place.line + csv_line_ends(place.at, record.unclosed), error);
		size_t found = words_found(arena, &record, &header->find);
		if (found == header->find.count) {
			*out = place;
			return RECLOSER_OK;
		}
		if (found > most) {
			most = found;
			most_line = place.line;
		}
		place = (struct place){record.after, record.line + record.lines};
	}
	error_set(error, RECLOSER_REFUSED, "csv.no_header", "no line among the first %d holds all the header words: %s", within,
			  strings_join(arena, &header->find, ", "));
	error_where(error, "%s", csv->name);
	if (most)
		return error_hint(error, "Line %" PRIu64 " holds %zu of the %zu words.", most_line, most, header->find.count);
	return error_hint(error, "Check the words, the delimiter and `within`.");
}

/* `header: {rows: [1, 2]}`: the filled cells of one column joined with a blank. */
static recloser_status join_rows(struct arena *arena, const struct csv *csv, const struct header *header,
								 struct csv_record *out, recloser_error *error)
{
	for (int row = 0; row < header->row_count; row++) {
		struct place place;
		struct csv_record record;
		RC_TRY(line_begin(csv, header->rows[row], "header", &place, error));
		RC_TRY(header_record(arena, csv, place, &record, error));
		if (row == 0) {
			*out = record;
			continue;
		}
		for (size_t i = 0; i < record.cells.count; i++) {
			if (i == out->cells.count)
				strings_add(arena, &out->cells, record.cells.at[i]);
			else if (!out->cells.at[i][0])
				out->cells.at[i] = record.cells.at[i];
			else if (record.cells.at[i][0])
				out->cells.at[i] = arena_printf(arena, "%s %s", out->cells.at[i], record.cells.at[i]);
		}
		if (record.at < out->at)
			out->at = record.at;
		if (record.after > out->after) {
			out->after = record.after;
			out->line = record.line;
			out->lines = record.lines;
		}
	}
	return RECLOSER_OK;
}

static recloser_status locate_header(struct arena *arena, struct csv *csv, const struct header *header,
									 struct csv_record *out, recloser_error *error)
{
	struct place place = {csv->text, 1};
	if (header->kind == HEADER_ROW) {
		RC_TRY(join_rows(arena, csv, header, out, error));
		keep_above(arena, csv, out->at);
		return RECLOSER_OK;
	}
	if (header->kind == HEADER_FIND) {
		RC_TRY(find_header(arena, csv, header, &place, error));
		keep_above(arena, csv, place.at);
	} else {
		csv->source.counts.blank_lines += skip_blank(csv, 2, &place, csv->end);
	}
	return header_record(arena, csv, place, out, error);
}

/* A header that another delimiter would split further was probably read with the wrong one: said, never decided. */
static void note_delimiter(struct arena *arena, struct csv *csv, const struct csv_record *header)
{
	static const char others[] = ",;\t|";
	size_t columns = header->cells.count, most = columns;
	char best = 0;
	for (const char *other = others; *other; other++) {
		struct csv_dialect dialect = {*other, csv->dialect.quote};
		size_t count = *other == csv->dialect.delimiter
						   ? 0
						   : csv_record_at(arena, &dialect, header->at, header->after, header->line).cells.count;
		if (count > most) {
			most = count;
			best = *other;
		}
	}
	if (!best)
		return;
	const char *word = best == '\t' ? "\\t" : arena_printf(arena, "%c", best);
	const char *used = csv->dialect.delimiter == '\t' ? "\\t" : arena_printf(arena, "%c", csv->dialect.delimiter);
	strings_add(arena, &csv->source.facts.notes,
				arena_printf(arena,
							 "the header has %zu column%s with the delimiter \"%s\" and %zu with \"%s\": if that is meant, "
							 "declare csv: {delimiter: \"%s\"}",
							 columns, columns == 1 ? "" : "s", used, most, word, word));
}

static void name_columns(struct arena *arena, struct csv *csv, const struct csv_record *header, bool numbered)
{
	struct source *source = &csv->source;
	source->column_count = header->cells.count;
	source->columns = arena_array(arena, source->column_count, sizeof *source->columns);
	for (size_t i = 0; i < source->column_count; i++) {
		source->columns[i].name = numbered ? arena_printf(arena, "column_%zu", i + 1) : header->cells.at[i];
		source->columns[i].type = CELL_TEXT;
		source->columns[i].narrowest = TYPE_TEXT;
	}
}

/* Move to `to`, counting what lies between. A record that reaches over `to` ends there: `data: N` counts lines. */
static void count_between(const struct csv *csv, struct place *place, const char *to, uint64_t *rows, uint64_t *blank)
{
	while (place->at < to) {
		*blank += skip_blank(csv, csv->source.column_count, place, to);
		if (place->at >= to)
			return;
		*place = step_over(csv, *place, to, NULL).next;
		(*rows)++;
	}
}

/* `data: first_key`: pass over rows that name nothing (units, heading rows). */
static recloser_status skip_to_key(struct arena *arena, const struct source_request *request, struct csv *csv,
								   struct place *place, recloser_error *error)
{
	bool *wanted = arena_array(arena, csv->source.column_count, sizeof *wanted), any = false;
	for (size_t i = 0; i < request->identity.count; i++) {
		int column = source_find(arena, &csv->source, request->identity.at[i]);
		if (column >= 0)
			any = wanted[column] = true;
	}
	while (any && place->at < csv->end) {
		csv->source.counts.blank_lines += skip_blank(csv, csv->source.column_count, place, csv->end);
		if (place->at == csv->end)
			break;
		struct step step = step_over(csv, *place, csv->end, wanted);
		if (step.unclosed)
			return csv_unclosed(csv, step.unclosed, place->line + csv_line_ends(place->at, step.unclosed), error);
		if (step.wanted)
			break;
		csv->source.counts.before++;
		*place = step.next;
	}
	return RECLOSER_OK;
}

static recloser_status begin_table(struct arena *arena, const struct source_request *request, struct csv *csv,
								   struct place *place, recloser_error *error)
{
	const struct block *block = request->block;
	if (block->data == DATA_FIRST_KEY)
		return skip_to_key(arena, request, csv, place, error);
	if (block->data == DATA_ROW) {
		struct place begin;
		RC_TRY(line_begin(csv, block->data_row, "data", &begin, error));
		if (begin.at < place->at) {
			error_set(error, RECLOSER_REFUSED, "csv.data_in_header",
					  "`data: %d` lies above the end of the header, line %" PRIu64, block->data_row, place->line - 1);
			return error_where(error, "%s", csv->name);
		}
		count_between(csv, place, begin.at, &csv->source.counts.before, &csv->source.counts.blank_lines);
		*place = begin;
	}
	return RECLOSER_OK;
}

/* Does the first filled cell of a record match? Long cells are compared by their beginning. */
static bool ends_table(const struct csv *csv, const struct csv_field *filled, const char *pattern)
{
	char cell[512];
	struct csv_field part = *filled;
	if (part.count >= sizeof cell)
		part.count = sizeof cell - 1;
	cell[csv_unquote(&part, (char)csv->dialect.quote, cell)] = '\0';
	char *put = cell;
	for (const char *at = cell; *at; at++) {
		bool blank = *at == ' ' || (*at >= '\t' && *at <= '\r');
		if (!blank)
			*put++ = *at;
		else if (put > cell && put[-1] != ' ')
			*put++ = ' ';
	}
	if (put > cell && put[-1] == ' ')
		put--;
	*put = '\0';
	return text_matches(pattern, cell, true);
}

/* What is left out below the table is said: how much, and where the first of it is. */
static void tell_rest(struct arena *arena, struct csv *csv, struct place rest)
{
	enum { WORDS = 60 };
	uint64_t count = csv->source.counts.trailing;
	skip_blank(csv, csv->source.column_count, &rest, csv->end);
	if (!count || rest.at == csv->end)
		return;
	size_t length = 0, left = (size_t)(csv->end - rest.at);
	while (length < left && length < WORDS && !csv_is_line_end(rest.at[length]) && rest.at[length])
		length++;
	bool whole = length == left || csv_is_line_end(rest.at[length]);
	while (!whole && length && ((unsigned char)rest.at[length] & 0xC0) == 0x80)
		length--;
	strings_add(arena, &csv->source.facts.notes,
				arena_printf(arena, "%s row%s below the table %s left out (first: line %" PRIu64 ", \"%.*s%s\")",
							 text_count(arena, count), count == 1 ? "" : "s", count == 1 ? "is" : "are", rest.line,
							 (int)length, rest.at, whole ? "" : "..."));
}

/* `end: blank` and `end: {find: ...}`. A blank line before the first row ends nothing. */
static recloser_status end_table(struct arena *arena, const struct source_request *request, struct csv *csv,
								 recloser_error *error)
{
	const struct block *block = request->block;
	csv->table_end = csv->end;
	if (block->end != END_BLANK && block->end != END_FIND)
		return RECLOSER_OK;
	struct place place = {csv->table, csv->table_line};
	bool any = false;
	while (place.at < csv->end) {
		struct place line = place;
		uint64_t blank = skip_blank(csv, csv->source.column_count, &place, csv->end);
		if (blank && any && block->end == END_BLANK) {
			place = line;
			break;
		}
		if (place.at == csv->end)
			return RECLOSER_OK;
		struct step step = step_over(csv, place, csv->end, NULL);
		if (block->end == END_BLANK ? !step.filled.at && any
									: step.filled.at && ends_table(csv, &step.filled, block->end_find))
			break;
		if (step.unclosed)
			return csv_unclosed(csv, step.unclosed, place.line + csv_line_ends(place.at, step.unclosed), error);
		any = true;
		place = step.next;
	}
	csv->table_end = place.at;
	struct place rest = place;
	count_between(csv, &place, csv->end, &csv->source.counts.trailing, &csv->source.counts.blank_lines);
	tell_rest(arena, csv, rest);
	return RECLOSER_OK;
}

recloser_status csv_layout(struct arena *arena, const struct source_request *request, struct csv *csv, recloser_error *error)
{
	struct csv_record header;
	RC_TRY(locate_header(arena, csv, &request->block->header, &header, error));
	bool numbered = request->block->header.kind == HEADER_NONE;
	name_columns(arena, csv, &header, numbered);
	note_delimiter(arena, csv, &header);
	struct place place = {numbered ? header.at : header.after, numbered ? header.line : header.line + header.lines};
	RC_TRY(begin_table(arena, request, csv, &place, error));
	csv->table = place.at;
	csv->table_line = place.line;
	return end_table(arena, request, csv, error);
}
