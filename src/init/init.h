/* SPDX-License-Identifier: Apache-2.0
 * A first spec for a file: what can be seen in the file is proposed with its reason, what can't is left to the user as a
 * commented line with what was seen. Nothing is guessed silently, and the proposal is tried before it is handed out.
 *
 *   init_call.c      the public call
 *   init_open.c      how the file is to be read: encoding, delimiter, table, header
 *   init_encoding.c  which encoding its bytes are
 *   init_dialect.c   which signs part its fields
 *   init_header.c    which row is the header
 *   init_survey.c    its rows into a table of the engine; counts of every column; heading rows and footers
 *   init_types.c     which type each text column could take, by the very conversions of a load
 *   init_keys.c      which columns identify a row, measured, and why not the others
 *   init_change.c    with two publications: what changes for equal keys
 *   init_parts.c     what could partition, from columns and from the file's name
 *   init_geometry.c  where the geometry is
 *   init_write.c     the YAML
 *   init_try.c       the proposal is loaded, as a dry run */
#ifndef RECLOSER_INIT_INIT_H
#define RECLOSER_INIT_INIT_H

#include <jansson.h>

#include "base/hive.h"
#include "base/text.h"
#include "engine/engine.h"
#include "geo/crs.h"
#include "source/source.h"
#include "spec/spec.h"

/* One column of the source and what was found out about it. */
struct init_column {
	size_t index;             /* c<index> in the survey's table */
	const char *source_name;  /* "" when it has none */
	const char *name;         /* in the dataset */
	const char *label;        /* for messages */
	const char *at;           /* letter or number: where the name does not find it; else NULL */
	const char *engine_type;
	bool text;                /* VARCHAR */
	bool geometry;            /* the source's own, left out of everything below */
	uint64_t filled, distinct;
	uint64_t longest;         /* characters, of texts */
	const char *low, *high;   /* smallest and largest value, as text */
	/* What is proposed. TYPE_UNSET: as it is. `rule` has the format, the signs and the missing words. */
	enum column_type type;
	struct column rule;
	const char *reason;       /* the comment beside it, or NULL */
	bool coordinate;          /* one of the geometry's columns */
	bool row_number, never;   /* no part of a key, for the reason why_not */
	const char *why_not;
	int cost;                 /* how reluctantly it goes into a key */
	bool listed;              /* has a line under `columns` */
	bool typed;               /* its type is said there though the source has it: a partition column would be text */
	const char *otherwise;    /* `default:` or NULL */
	bool compared;            /* with the other publication */
	uint64_t changed;         /* keys for which it differs there */
};

/* A set of columns that tells rows apart, or nearly. */
enum { KEY_COLUMNS = 3 };
struct init_key {
	size_t at[KEY_COLUMNS], count;
	uint64_t distinct, missing; /* different values; rows in which a field is missing */
	bool unique;                /* but for exact doubles and rows in which a field is missing */
	uint64_t matched;           /* keys that the other publication has, too */
};

struct init_part {
	const char *column;       /* its name in the dataset */
	size_t index;             /* of the column, or SIZE_MAX: from the file's name */
	const char *line;         /* the line under `columns`, for one from the file's name */
	uint64_t values, blank, least, most;
	enum numeral numeral;     /* what all its values are, to readers of a path */
	bool chosen;
};

struct init {
	struct arena *arena;
	const recloser_init_options *options;
	struct engine *engine;
	const char *spool;        /* a directory of this call's own */
	struct input inputs[2];
	size_t input_count;
	const char *dataset;
	const char *key_column;   /* "asset_key", or another where the source has that */

	struct block block;       /* how to read it */
	const char *format;       /* as source_facts has it */
	bool sheet;               /* a workbook's */
	struct strings read_lines;/* lines of the block, ready to be written, with their comments */
	struct strings said;      /* comments over the spec */
	const char *files;        /* the pattern */
	bool several_sheets;      /* others have nearly the same header: */
	struct strings shared;    /* the squeezed names that all of them have */
	bool space;               /* values with blanks at their ends */
	bool heading_rows;        /* rows under the header that explain it, in a text file */

	struct source *source;
	struct init_column *columns;
	size_t column_count;
	uint64_t rows, bytes;     /* bytes: of the rows as Parquet */
	const char *first_fault;  /* of the rows that can't be read, or NULL */
	uint64_t distinct_rows;   /* without exact doubles, which collapse */
	uint64_t outliers;        /* values that are left to quarantine because all others of their columns have a type */
	bool snake;

	struct init_key key;      /* count 0: none */
	struct init_key *others;  /* further ones that identify, for the comments */
	size_t other_count;
	uint64_t matched, only_old, only_new; /* keys of two publications */

	struct init_part *parts;
	size_t part_count;
	const char *geometry_line, *geometry_comment;
	struct strings hints;     /* commented lines at the end: publisher, revision, maps */

	const char *tried;        /* what a load of the proposal came to */
	bool loads;
};

/* A request for input `which`, read as the block says and by nothing else. */
struct source_request init_request(const struct init *init, size_t which, const struct block *block);
/* Open its (first) table; `scan` is the SQL that reads it. */
recloser_status init_scan(struct init *init, size_t which, const struct block *block, struct source **out, const char **scan,
                          recloser_error *error) RC_CHECKED;
recloser_status init_encoding(struct init *init, recloser_error *error) RC_CHECKED;
recloser_status init_dialect(struct init *init, recloser_error *error) RC_CHECKED;
/* The index of the header among the rows (each a list of cells, "" for blank ones); -1 when none looks like one. */
int init_header(struct arena *arena, const struct strings *rows, size_t count);
/* Is this cell text, and not a number, a date or a boolean? */
bool init_is_words(const char *cell);
recloser_status init_open(struct init *init, recloser_error *error) RC_CHECKED;
/* Rows of input `which` into the table init_<which>, and of the first the columns. */
recloser_status init_survey(struct init *init, recloser_error *error) RC_CHECKED;
/* A line under the block, with a comment or NULL. */
void init_read_line(struct init *init, const char *line, const char *comment);
recloser_status init_rows(struct init *init, size_t which, recloser_error *error) RC_CHECKED;
recloser_status init_types(struct init *init, recloser_error *error) RC_CHECKED;
recloser_status init_geometry(struct init *init, recloser_error *error) RC_CHECKED;
recloser_status init_keys(struct init *init, recloser_error *error) RC_CHECKED;
recloser_status init_change(struct init *init, struct init_key *keys, size_t count, recloser_error *error) RC_CHECKED;
recloser_status init_parts(struct init *init, recloser_error *error) RC_CHECKED;
/* The pattern for `files:` and the parts of the name that tell a period. */
void init_name(struct init *init);
const char *init_write(struct init *init);
recloser_status init_try(struct init *init, const char *yaml, recloser_error *error) RC_CHECKED;

/* A scalar as YAML takes it for this very text: quoted where it must be. */
const char *init_scalar(struct arena *arena, const char *text);
const char *init_list(struct arena *arena, const struct strings *texts);
/* "1 row", "12 rows"; "1 row has", "12 rows have". */
const char *init_rows_text(struct arena *arena, uint64_t count);
const char *init_rows_have(struct arena *arena, uint64_t count);
/* The words of a name: "Queue Date (UTC)" has "queue", "date", "utc". */
bool init_name_has(struct arena *arena, const char *name, const char *const *words);
/* Its first or last word is this one. */
bool init_name_is(struct arena *arena, const char *name, const char *word);

#endif
