/* SPDX-License-Identifier: Apache-2.0
 * Reading the rows of a CSV table with any number of threads.
 *
 * A splitter behind a lock runs over the text once, looking only at quotes and line ends, and hands each thread a stretch of
 * whole records with the number and line of its first one; so row numbers do not depend on who reads what. It costs a
 * twentieth of the work of taking fields apart, which the threads then do without a lock. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/csv_scan.h"
#include "source/csv.h"

enum { STRETCH_BYTES = 256 << 10, FAULT_BYTES = 512 };

struct stretch {
	const char *at, *end;
	uint64_t row, line; /* of its first record */
	size_t rows;
};

/* ---- the splitter, under the lock ---- */

/* Past a quoted field that opens at `quote`; NULL when nothing closes it. */
static const char *past_quoted(const struct csv *csv, const char *quote, uint64_t *line)
{
	bool doubled;
	const char *close = csv_closing_quote(quote + 1, csv->table_end, *quote, &doubled);
	if (!close)
		return NULL;
	*line += csv_line_ends(quote + 1, close);
	return close + 1;
}

/* A last record that has too few fields and no line end is what a broken download leaves: more rows than this one are not
 * there. */
static recloser_status check_last(const struct csv *csv, const char *record, uint64_t line, recloser_error *error)
{
	size_t fields = 0, columns = csv->source.column_count;
	for (const char *at = record;; at++) {
		at = csv_field_at(&csv->dialect, at, csv->end).after;
		fields++;
		if (at == csv->end)
			break;
	}
	if (fields >= columns)
		return RECLOSER_OK;
	error_set(error, RECLOSER_REFUSED, "csv.cut_off",
			  "the file seems to be cut off: its last line has %zu of %zu fields and no line end", fields, columns);
	error_where(error, "%s, line %" PRIu64, csv->name, line);
	return error_hint(
		error, "download it again. If the line is as it was meant, end it with a line end, and it goes to quarantine; "
			   "if it is a note below the table, say `end: {find: ...}`");
}

static recloser_status cut(struct csv *csv, struct stretch *out, recloser_error *error)
{
	const char *end = csv->table_end, *record = csv->next;
	const char quote = csv->dialect.quote >= 0 ? (char)csv->dialect.quote : '\n';
	struct csv_scan scan = csv_scan_from(record, end, '\n', '\r', quote);
	uint64_t line = csv->next_line, blank = 0;
	*out = (struct stretch){.at = record, .row = csv->next_row, .line = line};
	while (record < end) {
		const char *hit = csv_scan_next(&scan);
		if (hit < end && !csv_is_line_end(*hit)) {
			if (hit != record && hit[-1] != csv->dialect.delimiter)
				continue; /* a quote inside a field is a plain byte */
			const char *after = past_quoted(csv, hit, &line);
			if (!after)
				return csv_unclosed(csv, hit, line, error);
			csv_scan_seek(&scan, after);
			continue;
		}
		bool is_blank = csv_blank_line(&csv->dialect, csv->source.column_count, record, end);
		if (hit == csv->end && !is_blank)
			RC_TRY(check_last(csv, record, line - csv_line_ends(record, hit), error));
		blank += is_blank;
		out->rows += !is_blank;
		line++;
		record = hit < end ? csv_after_line_end(hit, end) : end;
		csv_scan_seek(&scan, record);
		if (out->rows == CHUNK_ROWS || (out->rows > 0 && record - out->at >= STRETCH_BYTES))
			break;
	}
	out->end = csv->next = record;
	csv->next_line = line;
	csv->next_row += out->rows;
	csv->source.counts.rows += out->rows;
	csv->source.counts.blank_lines += blank;
	__atomic_store_n(&csv->source.reached.bytes, (uint64_t)(record - csv->text), __ATOMIC_RELAXED);
	return RECLOSER_OK;
}

static recloser_status take_stretch(struct csv *csv, struct stretch *out, recloser_error *error)
{
	pthread_mutex_lock(&csv->lock);
	if (csv->failure.status == RECLOSER_OK)
		(void)!cut(csv, out, &csv->failure);
	recloser_error failure = {.status = RECLOSER_OK};
	if (csv->failure.status != RECLOSER_OK)
		failure = csv->failure;
	pthread_mutex_unlock(&csv->lock);
	if (failure.status != RECLOSER_OK && error && error->status == RECLOSER_OK)
		*error = failure;
	return failure.status;
}

/* ---- taking fields apart, without the lock ---- */

struct own {
	char *scratch; /* for fields with doubled quotes */
	size_t size;
};

struct reading {
	struct csv *csv;
	struct own *own;
	struct chunk *chunk;
	struct csv_scan scan;
	bool nul; /* the stretch holds a NUL byte somewhere */
	size_t row;
	uint64_t line;  /* of the record; moved on by line ends within its fields */
	size_t columns; /* fields of the record so far */
	char fault[FAULT_BYTES];
	size_t fault_length;
	recloser_error *error;
};

static void set_fault(struct reading *r, const char *reason, size_t column, const char *value, size_t length)
{
	if (r->fault_length)
		return; /* the first one is told */
	const char *name = column < r->csv->source.column_count ? r->csv->source.columns[column].name : "";
	r->fault_length = source_fault(r->fault, sizeof r->fault, reason, name, value, length);
}

static void put_cell(struct reading *r, size_t column, const char *at, size_t count)
{
	if (column < r->csv->source.column_count)
		chunk_put_text(r->chunk, SOURCE_FIXED + column, r->row, at, count);
	if (r->nul && memchr(at, '\0', count))
		set_fault(r, "NUL byte", column, at, count);
}

static bool put_quoted(struct reading *r, size_t column, const struct csv_field *field)
{
	if (!field->doubled) {
		put_cell(r, column, field->at, field->count);
	} else {
		if (field->count > r->own->size) {
			char *more = realloc(r->own->scratch, field->count);
			if (!more) {
				error_set(r->error, RECLOSER_IO, "memory", "out of memory");
				return false;
			}
			r->own->scratch = more;
			r->own->size = field->count;
		}
		put_cell(r, column, r->own->scratch, csv_unquote(field, (char)r->csv->dialect.quote, r->own->scratch));
	}
	if (field->trailing) {
		char value[160];
		int length = snprintf(value, sizeof value, "byte %zu: %.*s", (size_t)(field->at - r->csv->text),
							  (int)(field->count < 100 ? field->count : 100), field->at);
		set_fault(r, "text after a closing quote", column, value, length < 0 ? 0 : (size_t)length);
	}
	return true;
}

/* A record of the wrong width keeps all its text: what is over goes into the last cell as written, for the quarantine. */
static void check_width(struct reading *r, const char *last, const char *end)
{
	size_t columns = r->csv->source.column_count;
	if (r->columns == columns)
		return;
	char value[64];
	int length = snprintf(value, sizeof value, "%zu instead of %zu", r->columns, columns);
	set_fault(r, "wrong number of fields", SIZE_MAX, value, (size_t)length);
	for (size_t i = r->columns; i < columns; i++)
		chunk_put_null(r->chunk, SOURCE_FIXED + i, r->row);
	if (r->columns > columns)
		chunk_put_text(r->chunk, SOURCE_FIXED + columns - 1, r->row, last, (size_t)(end - last));
}

/* One record that begins at `at`; returns where it ends (line end or end of the text), NULL when out of memory. */
static const char *read_record(struct reading *r, const char *at, const char *end)
{
	const struct csv_dialect dialect = r->csv->dialect;
	const size_t columns = r->csv->source.column_count;
	const char *last = at;
	r->columns = 0;
	r->fault_length = 0;
	for (;;) {
		const char *after;
		if (r->columns + 1 == columns)
			last = at;
		if (at < end && dialect.quote >= 0 && *at == (char)dialect.quote) {
			struct csv_field field = csv_quoted_at(&dialect, at, end);
			after = field.after;
			r->line += csv_line_ends(field.at, field.at + field.count);
			if (!put_quoted(r, r->columns, &field))
				return NULL;
			csv_scan_seek(&r->scan, after < end ? after + 1 : end);
		} else {
			after = csv_scan_next(&r->scan);
			put_cell(r, r->columns, at, (size_t)(after - at));
		}
		r->columns++;
		if (after == end || *after != dialect.delimiter) {
			check_width(r, last, after);
			return after;
		}
		at = after + 1;
	}
}

static void put_fixed(struct reading *r, uint64_t row, uint64_t line, const char *at)
{
	chunk_put_int(r->chunk, SOURCE_ROW, r->row, (int64_t)row);
	chunk_put_int(r->chunk, SOURCE_LINE, r->row, (int64_t)line);
	chunk_put_int(r->chunk, SOURCE_OFFSET, r->row, at - r->csv->text);
	if (r->fault_length)
		chunk_put_text(r->chunk, SOURCE_FAULT, r->row, r->fault, r->fault_length);
	else
		chunk_put_null(r->chunk, SOURCE_FAULT, r->row);
}

static size_t read_stretch(struct csv *csv, struct own *own, const struct stretch *stretch, struct chunk *chunk,
						   recloser_error *error)
{
	const char *at = stretch->at, *end = stretch->end;
	struct reading r = {.csv = csv, .own = own, .chunk = chunk, .error = error};
	r.scan = csv_scan_from(at, end, '\n', '\r', csv->dialect.delimiter);
	r.nul = memchr(at, '\0', (size_t)(end - at)) != NULL;
	r.line = stretch->line;
	while (at < end) {
		const char *record = at;
		if (csv_blank_line(&csv->dialect, csv->source.column_count, at, end)) {
			while (at < end && !csv_is_line_end(*at))
				at++;
		} else {
			uint64_t line = r.line;
			at = read_record(&r, at, end);
			if (!at)
				return 0;
			put_fixed(&r, stretch->row + r.row, line, record);
			r.row++;
		}
		r.line++;
		if (at < end)
			at = csv_after_line_end(at, end);
		csv_scan_seek(&r.scan, at);
	}
	return r.row;
}

/* ---- what the engine calls ---- */

static void *csv_start(struct source *source)
{
	(void)source;
	return calloc(1, sizeof(struct own));
}

static void csv_stop(struct source *source, void *pointer)
{
	(void)source;
	struct own *own = pointer;
	if (own)
		free(own->scratch);
	free(own);
}

static size_t csv_next(struct source *source, void *own, struct chunk *chunk, recloser_error *error)
{
	struct csv *csv = source->impl;
	struct stretch stretch;
	if (!own) {
		error_set(error, RECLOSER_IO, "memory", "out of memory");
		return 0;
	}
	if (take_stretch(csv, &stretch, error) != RECLOSER_OK || stretch.rows == 0)
		return 0;
	return read_stretch(csv, own, &stretch, chunk, error);
}

const struct source_ops csv_ops = {.next = csv_next, .start = csv_start, .stop = csv_stop, .parallel = true};
