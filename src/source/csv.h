/* SPDX-License-Identifier: Apache-2.0
 * The parts of the CSV reader, for each other. The grammar is RFC 4180 as files in the wild have it:
 *
 *   A record ends at CR, LF or CRLF. A field that begins with the quote ends at the next quote that is not doubled; within
 *   it everything is text. A quote anywhere else is a plain byte. Text between a closing quote and the next delimiter is a
 *   fault of the record. A line without a byte, or of blanks only where there is more than one column, is a blank line.
 *
 * Two readers share that grammar: a field at a time (header, start and end of the table) and the scan (all the rest). */
#ifndef RECLOSER_SOURCE_CSV_H
#define RECLOSER_SOURCE_CSV_H

#include <pthread.h>

#include "source/source.h"

struct csv_dialect {
	char delimiter;
	int quote; /* -1: none */
};

struct csv {
	struct source source;
	struct csv_dialect dialect;
	const char *name;              /* of the file, for messages */
	const char *text, *end;        /* the whole text; faults are placed relative to it */
	const char *table, *table_end; /* the records of the table */
	uint64_t table_line;           /* the line of `table` */
	/* The splitter: hands out stretches of whole records, in order, to one thread at a time. */
	pthread_mutex_t lock;
	const char *next;
	uint64_t next_row, next_line;
	recloser_error failure; /* once set, every thread gets it */
};

/* One field as it lies in the text. For a quoted one [at, at + count) is the part within the quotes, still with its
 * doubled quotes; with text after the closing quote it is the whole field as written. */
struct csv_field {
	const char *at;
	size_t count;
	bool doubled;      /* holds doubled quotes to be halved */
	bool trailing;     /* text after the closing quote */
	bool unclosed;     /* the text ended before the closing quote */
	const char *after; /* the delimiter, the line end, or the end of the text */
};

static inline bool csv_is_line_end(char c)
{
	return c == '\n' || c == '\r';
}
/* After the line end at `at`, CRLF being one. */
static inline const char *csv_after_line_end(const char *at, const char *end)
{
	return at + (*at == '\r' && end - at > 1 && at[1] == '\n' ? 2 : 1);
}
/* The closing quote of a field whose text begins at `at`, or NULL. */
const char *csv_closing_quote(const char *at, const char *end, char quote, bool *doubled);
/* How many line ends lie in [at, to). A CR before `to` counts by itself even where an LF follows. */
uint64_t csv_line_ends(const char *at, const char *to);

struct csv_field csv_field_at(const struct csv_dialect *dialect, const char *at, const char *end);
/* A quoted field, given that *at is the quote. */
struct csv_field csv_quoted_at(const struct csv_dialect *dialect, const char *at, const char *end);
/* Copy the text of a field, doubled quotes halved; `to` has room for `count` bytes. Returns the length. */
size_t csv_unquote(const struct csv_field *field, char quote, char *to);
/* Is the line at `at` blank: no byte, or blanks only where `columns` > 1? */
bool csv_blank_line(const struct csv_dialect *dialect, size_t columns, const char *at, const char *end);
/* Is there nothing in the field but blanks? */
bool csv_blank_field(const struct csv_field *field);

/* A record taken apart, on an arena. */
struct csv_record {
	struct strings cells;
	const char *at, *after; /* after: the begin of the next line */
	uint64_t line, lines;   /* where it begins, and how many it spans */
	const char *unclosed;   /* the quote that is not closed, or NULL */
};
struct csv_record csv_record_at(struct arena *arena, const struct csv_dialect *dialect, const char *at, const char *end,
								uint64_t line);

/* Find the header, name the columns, find where the table begins and ends; fills source.columns, facts, counts, table. */
recloser_status csv_layout(struct arena *arena, const struct source_request *request, struct csv *csv,
						   recloser_error *error) RC_CHECKED;
recloser_status csv_unclosed(const struct csv *csv, const char *quote, uint64_t line, recloser_error *error);

extern const struct source_ops csv_ops;

#endif
