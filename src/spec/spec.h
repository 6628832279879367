/* SPDX-License-Identifier: Apache-2.0
 * The spec: one YAML file a dataset, read into one validated struct. Whoever holds a `struct spec` may rely on every rule
 * of docs/spec.md that can be decided without looking at a source; nothing downstream checks them again.
 *
 * What all blocks share (`common:`, `columns:`) is merged here: each block carries its own complete column list, the shared
 * columns first. To these are added, where they are not listed: columns that the key, `partition` or `revision` names
 * (ORIGIN_FROM their own name; a partition column is TYPE_TEXT, the others TYPE_UNSET), and the publisher's column
 * (ORIGIN_VALUE with the source's name). `from` of an ORIGIN_FROM column is never empty; a partition column is TYPE_TEXT or
 * TYPE_INTEGER; a column that does not come from the source's columns or `sql` is never TYPE_UNSET. */
#ifndef RECLOSER_SPEC_SPEC_H
#define RECLOSER_SPEC_SPEC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/text.h"

/* Line and column in the spec file, from 1. */
struct mark {
	int line, column;
};

enum column_type {
	TYPE_UNSET, /* not declared: text from CSV and sheets, the source's own elsewhere */
	TYPE_TEXT,
	TYPE_INTEGER, /* BIGINT */
	TYPE_DOUBLE,
	TYPE_DECIMAL, /* precision, scale */
	TYPE_BOOLEAN,
	TYPE_DATE,
	TYPE_TIMESTAMP,
	TYPE_TIMESTAMPTZ,
	TYPE_TIME,
	TYPE_UUID,
	TYPE_JSON
};
const char *column_type_word(enum column_type type);

/* A column has one origin. */
enum origin {
	ORIGIN_FROM,  /* a source column by name; `from` has the alternatives (the column's own name when nothing is said) */
	ORIGIN_AT,    /* by letter or number: `at` is 1-based */
	ORIGIN_NAME,  /* `pattern` in the source file's name */
	ORIGIN_PATH,  /* `pattern` in its whole path */
	ORIGIN_ABOVE, /* `pattern` in the cells over the header */
	ORIGIN_VALUE, /* the text `value` */
	ORIGIN_SET,   /* from --set; `value` is the default, NULL when required */
	ORIGIN_SQL    /* the expression `sql` over source columns and source_name, source_path, sheet, row_number */
};

struct map_entry {
	const char *from, *to;
};

enum { COLUMN_FORMATS = 8 }; /* at most, of one column */
struct column {
	const char *name;
	struct mark mark;
	enum column_type type;
	int precision, scale;
	enum origin origin;
	bool origin_given; /* false: ORIGIN_FROM with its own name because nothing was said */
	struct strings from;
	int at;
	const char *pattern, *value, *sql;
	bool required; /* a missing value is quarantined */
	bool optional; /* the source need not have the column: null then */
	bool keep;     /* false: read but not written */
	const char *match; /* only this part of the text (first group, or the whole match); no match: quarantined */
	struct map_entry *map;
	size_t map_count;
	struct strings missing; /* its own and the source's, merged */
	const char *otherwise;  /* `default:` for a missing value; NULL: none */
	int pad;                /* left zeros up to this many characters */
	struct strings format;  /* strptime formats whose directives are known ones, and the words iso and excel */
	const char *as;         /* strftime format to write a parsed time as text; `type` is TYPE_TEXT then, and `format` is not empty */
	const char *zone;
	bool time_drop;         /* `time: drop` */
	const char *decimal, *thousands;
	struct strings true_words, false_words;
	const char *check;      /* an expression over the written columns that must not be false */
};

enum header_kind {
	HEADER_DEFAULT, /* the first line of a text file, the first filled row of a sheet */
	HEADER_NONE,    /* `header: none`: columns are column_1, column_2 ... (letters in sheets) */
	HEADER_ROW,     /* `header: 31`, `header: {rows: [1, 2]}`: `rows`, 1-based */
	HEADER_FIND     /* `header: {find: [..], within: 60}` */
};
struct header {
	enum header_kind kind;
	int rows[4];
	int row_count;
	struct strings find;
	int within;
};

enum data_start { DATA_DEFAULT, DATA_FIRST_KEY, DATA_NEXT, DATA_ROW }; /* `data: first_key | next | 36` */
enum table_end { END_DEFAULT, END_BLANK, END_NONE, END_FIND };           /* `end: blank | none | {find: ...}` */
enum space { SPACE_KEEP, SPACE_TRIM, SPACE_SQUEEZE };
enum several { SEVERAL_REFUSE, SEVERAL_UNION, SEVERAL_LAST };

/* One layout of one publisher's files. */
struct block {
	struct mark mark;
	const char *files;   /* pattern on the file's name, `|` between alternatives; NULL: any */
	struct strings sheet, not_sheet, layer, not_layer; /* patterns, or numbers as text */
	const char *member;  /* pattern of a member inside a zip */
	const char *records; /* dotted path to the array of records in a JSON document */
	const char *format;  /* `format: csv | json | parquet | xlsx | ogr` where the name does not tell; NULL */
	struct header header;
	enum data_start data;
	int data_row;
	enum table_end end;
	const char *end_find;
	char delimiter, quote; /* 0: default "," and '"'; quote '\1' : none */
	const char *encoding;  /* NULL: UTF-8 or what the mark says */
	struct strings missing;
	bool missing_given;    /* default is [""] */
	enum space space;
	const char *skip;      /* expression: true rows are left out and counted as filtered */
	enum several several;
	bool snake_names;      /* `names: snake` */
	struct column *columns;
	size_t column_count;
};

struct source_spec {
	const char *name; /* NULL for the single unnamed source */
	struct mark mark;
	struct block *blocks;
	size_t block_count;
};

enum policy { POLICY_ALLOW, POLICY_WARN, POLICY_HOLD, POLICY_REFUSE, POLICY_CARRY };

/* Added to the dataset by `disappeared: carry`: true in rows that the source no longer had. */
#define CARRIED_COLUMN "carried"
const char *policy_word(enum policy policy);

/* Below the threshold a thing is only counted; above it the policy applies. */
struct threshold {
	double share;  /* 0.01 is 1 %; negative: no share given */
	int64_t count; /* negative: no count given */
};
bool threshold_exceeded(const struct threshold *threshold, uint64_t count, uint64_t of);

struct guard {
	enum policy policy;
	struct threshold max;
	bool given; /* named in the spec */
};
struct total {
	const char *column;
	struct guard guard; /* max.share is the largest change */
};

struct identity {
	const char *column; /* in every block, or the geometry's; or */
	const char *sql;
	struct mark mark;
};

enum geometry_missing { GEOMETRY_QUARANTINE, GEOMETRY_ALLOW };
enum geometry_from {
	GEOMETRY_NONE,   /* no geometry: `geometry: none`, or nothing said and the source has none */
	GEOMETRY_AUTO,   /* nothing said: the source's own where it has one */
	GEOMETRY_SOURCE,
	GEOMETRY_LON_LAT,
	GEOMETRY_WKT,
	GEOMETRY_WKB,
	GEOMETRY_LINE,
	GEOMETRY_LOOKUP
};
enum covering { COVERING_AUTO, COVERING_ON, COVERING_OFF };
enum curves { CURVES_REFUSE, CURVES_LINEARIZE };
enum order { ORDER_IDENTITY, ORDER_HILBERT, ORDER_SOURCE };
enum partition_copy { PARTITION_DICTIONARY, PARTITION_PLAIN, PARTITION_PATH };
enum schema_policy { SCHEMA_GROW, SCHEMA_FREEZE };

struct lookup {
	const char *file, *layer; /* the file as written: relative to the spec's directory */
	struct map_entry *on;     /* dataset column -> layer column */
	size_t on_count;
	bool fold_case, fold_accents;
	struct strings drop_words; /* `words: [County, Parish]` */
	bool point_on_surface;     /* `as: point_on_surface`; else the geometry itself (`as: geometry`) or its centroid */
	bool centroid;
};

struct geometry_spec {
	enum geometry_from from;
	struct mark mark;
	const char *column;      /* name in the dataset, "geometry" */
	const char *crs;         /* "EPSG:4326", "unknown", or NULL: the source's own */
	const char *to_crs;
	const char *parts[4];    /* lon, lat; or wkt; or wkb; or x0, y0, x1, y1: a column of the block by its name, else of the
	                          * source; for SOURCE (`from: {column: shape}`): the source's geometry column, or NULL */
	enum geometry_missing missing;
	enum covering covering;
	enum curves curves;
	struct strings types;    /* allowed type names; none: all */
	bool check_valid;
	struct lookup lookup;
};

struct freshness {
	const char *column; /* NULL: no window */
	int count;
	char unit; /* 'd', 'w', 'm', 'y' */
};

struct spec {
	const char *path, *directory;
	const char *dataset;
	const char *root; /* as meant: absolute or relative to the working directory, or s3://... */
	struct source_spec *sources;
	size_t source_count;
	const char *publisher_column; /* NULL: none */
	const char *publisher_value;  /* for the single unnamed source */
	const char *key_column;       /* "asset_key" */
	struct identity *identity;    /* with `id`: that one column */
	size_t identity_count;
	const char *key_id;           /* `key: {id: plant_code}`: used as it is, without a hash */
	bool key_escape;
	struct strings partition;
	const char *series;
	const char *revision;         /* column, or NULL */
	bool ties_refuse;
	struct geometry_spec geometry;
	bool other_columns_keep;
	struct guard quarantine, disappeared, key_churn, older, repeated, moved;
	struct total *totals;
	size_t total_count;
	struct freshness freshness;
	enum order order;
	enum partition_copy partition_columns;
	enum schema_policy schema;
	const char *geoparquet; /* "1.1" (default) or "2.0" */
	bool archive_sources;
	bool single_writer;     /* `store: {single_writer: true}` */
	bool no_checksums;      /* `store: {no_checksums: true}` */
	const char *temp_directory; /* `temp: DIR` for spilling; NULL: inside _recloser */
	/* Digests. `text_sha256`: the file's bytes. `meaning`: everything that can change what a load does, so that a comment
	 * does not. `shape`: only what shapes the bytes of a partition (columns, types, key, partition, geometry, order). */
	char text_sha256[SHA256_HEX], meaning[SHA256_HEX], shape[SHA256_HEX];
};

/* Read and validate. A file that can't be opened or read is RECLOSER_IO; all else is RECLOSER_USAGE with file, line and
 * column, the offending word, the nearest allowed one and, where YAML's own syntax bit, the advice to put the value in
 * quotes. `out` is set on success only. */
recloser_status spec_read(struct arena *arena, const char *path, struct spec **out, recloser_error *error) RC_CHECKED;
/* The same from memory; `path` is for messages and relative paths. */
recloser_status spec_parse(struct arena *arena, const char *path, const char *bytes, size_t count, struct spec **out,
                           recloser_error *error) RC_CHECKED;

/* A path that the spec names, as seen from the working directory. */
const char *spec_resolve(struct arena *arena, const struct spec *spec, const char *path);
/* The column of a block by its written name, or NULL. */
const struct column *block_column(const struct block *block, const char *name);
/* The name of the column that `--set` may fill, over all blocks. */
bool spec_takes_setting(const struct spec *spec, const char *column);

#endif
