/* SPDX-License-Identifier: Apache-2.0
 * A source is one table inside one input: a CSV file, one sheet, one layer, one array of records. It says its columns and
 * hands out its rows in chunks, each with its record number, line and byte offset, and with the fault that was found in
 * reading it, so that nothing is lost without a word.
 *
 * Opening may fail (the file is not what it says); reading rows fails only for what ends the whole source. What is wrong
 * with one record is a fault of that record: the row is still handed out, with `fault` set, and ends in quarantine. */
#ifndef RECLOSER_SOURCE_SOURCE_H
#define RECLOSER_SOURCE_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/digest.h"
#include "engine/chunk.h"
#include "spec/spec.h"

struct engine;

struct source_column {
	const char *name;   /* as written in the source; "" when it has none */
	const char *letter; /* "AF" in sheets, else NULL */
	enum cell_type type;
	/* JSON only: every value seen was of one narrow kind, so an unlisted column may take that type. */
	enum column_type narrowest;
};

/* The fixed columns that come before the source's own in every chunk, in this order. */
enum {
	SOURCE_ROW,    /* CELL_INTEGER: record number in this source, from 1 (the sheet's row number in sheets) */
	SOURCE_LINE,   /* CELL_INTEGER: line, from 1; null where there are no lines */
	SOURCE_OFFSET, /* CELL_INTEGER: byte offset in the decoded text; null where there is none */
	SOURCE_FAULT,  /* CELL_TEXT: null, or reason, column and value with 0x1F between: "wrong number of fields\x1f\x1f12 instead of 13" */
	SOURCE_FIXED   /* the number of these */
};

/* What a source says about itself once it is open; the strings hang on the arena it was opened with. */
struct source_facts {
	const char *format;         /* "csv", "json", "geojson", "parquet", "xlsx", "ogr:GPKG" */
	const char *encoding;       /* of text sources: as used, "UTF-8" */
	const char *sheet;          /* sheet or layer name, or NULL */
	bool date_1904;             /* sheets: the workbook's calendar */
	bool serial_dates;          /* sheets: a number in a date column is a serial day */
	int geometry_column;        /* index into columns, -1: none */
	const char *crs_projjson;   /* NULL: the source says nothing */
	bool crs_unknown;           /* the source says that it has no CRS (GeoParquet crs: null) */
	const char *geo_extra;      /* JSON object with `edges`, `orientation`, `epoch` to keep, or NULL */
	struct strings above;       /* texts of the cells over the header, row by row; "\n" ends a row */
	const char *lacks;          /* the file with the columns that should be beside it and is not: "lines.dbf"; or NULL */
	struct strings notes;       /* things to say in the report: hidden sheets left alone, geometry columns not taken */
	const char *scan_sql;       /* engine-native sources (Parquet): a SELECT that gives the fixed and own columns; else NULL */
	uint64_t bytes;             /* size of the decoded input where known, for progress */
};

/* Counted while reading; complete when the scan is over. */
struct source_counts {
	uint64_t rows;         /* handed out, faulty ones included */
	uint64_t blank_lines;
	uint64_t trailing;     /* rows after the end of the table (notes, legends) */
	uint64_t before;       /* rows between the header and the first row with identity */
};

/* How far a scan has come, for who watches it from another thread: written and read with __atomic operations only. */
struct source_reached {
	uint64_t rows, bytes; /* bytes of the decoded text; 0 where a source can't tell */
};

struct source;
struct source_ops {
	/* Fill up to CHUNK_ROWS rows; 0 rows: the end. `own` was made by `start`. Called by one thread at a time unless
	 * `parallel`; then each engine thread has its own `own`. Must not use the arena or jump. */
	size_t (*next)(struct source *source, void *own, struct chunk *chunk, recloser_error *error);
	void *(*start)(struct source *source); /* may be NULL */
	void (*stop)(struct source *source, void *own);
	bool parallel;
};

struct source {
	const struct source_ops *ops; /* NULL for engine-native sources */
	struct source_column *columns;
	size_t column_count;
	struct source_facts facts;
	struct source_counts counts;
	struct source_reached reached;
	void *impl;
};

/* One input file, known by its bytes. */
struct input {
	const char *path;          /* as given */
	const char *name;          /* the part after the last slash; for standard input: "stdin" */
	const char *read_path;     /* where to read it: the same, or a spooled copy of standard input */
	char sha256[SHA256_HEX];
	uint64_t bytes;
	const struct source_spec *source;
	const char *etag;          /* of remote inputs, or NULL */
};

/* Which columns of the source must be filled for a row to be data (`data: first_key`): names as the spec has them, each a
 * list of alternatives. */
struct source_request {
	struct engine *engine;   /* for formats that the engine reads by itself */
	const struct input *input;
	const struct block *block;
	const struct spec *spec;
	struct strings identity; /* source column names or letters that make the identity; may be empty */
	const char *spool;       /* a directory for temporary files, on the dataset's file system */
};

/* All tables of one input that the block asks for: one for most formats, several for a list of sheets or layers.
 * Failures: RECLOSER_REFUSED when the content is not what it should be, RECLOSER_IO when it can't be read. Everything
 * opened hangs on the arena. */
recloser_status source_open(struct arena *arena, const struct source_request *request, struct source ***out,
                            size_t *count, recloser_error *error) RC_CHECKED;

/* The readers behind it; each decides by itself how many sources it gives. */
typedef recloser_status source_reader(struct arena *arena, const struct source_request *request, struct source ***out,
                                      size_t *count, recloser_error *error);
source_reader csv_open, json_open, parquet_open, xlsx_open, ogr_open;
/* The reader by the block's `format`, else by a file's name; NULL when neither tells. */
source_reader *source_reader_for(const struct block *block, const char *name);

/* The reader that source_open would take: by the block's `format`, the name, else the first bytes. RECLOSER_USAGE for a format
 * that is none; RECLOSER_IO. */
recloser_status source_reader_of(const struct source_request *request, source_reader **out, recloser_error *error) RC_CHECKED;
/* The names of the tables in the input: visible sheets or layers; none where the format has one table without a name. */
recloser_status source_tables(struct arena *arena, const struct source_request *request, struct strings *out,
                              recloser_error *error) RC_CHECKED;

/* What the engine says in reading a source, but for a lack of memory or room, is about the source: broken pages of a Parquet file,
 * a codec it does not know, a name that is not UTF-8. Makes of an error that the engine gave RECLOSER_REFUSED, with the input's
 * path; leaves others as they are. Gives the status back. */
recloser_status source_blame(const struct input *input, recloser_status status, recloser_error *error);
/* Put a fault text together: reason, column, value with 0x1F between; cut to fit `size`. Returns its length. */
size_t source_fault(char *buffer, size_t size, const char *reason, const char *column, const char *value, size_t value_length);
/* Find a column by one of the names a spec gives: squeezed and case-blind, a letter in sheets. -1 none, -2 several. */
int source_find(struct arena *arena, const struct source *source, const char *name);

#endif
