/* SPDX-License-Identifier: Apache-2.0
 * One partition on its way from the batch to a verified file: its content pass, its footer, its COPY, and the reading back.
 * The format of a part.parquet is described in docs/format.md. */
#ifndef RECLOSER_PARTITION_PART_H
#define RECLOSER_PARTITION_PART_H

#include "base/json.h"
#include "batch/batch.h"
#include "engine/content.h"

/* A row group's rows, and what the texts and geometries of so many may take together, in bytes: of wide rows there are fewer in a
 * group, in whole vectors of the engine. */
enum { ROW_GROUP_ROWS = 122880, ROW_GROUP_BYTES = 48 * 1024 * 1024, GROUP_STEP = 2048 };

/* What all parts of a run share. */
struct part_format {
	struct engine *engine;
	const struct spec *spec;
	struct batch *batch;
	struct crs crs;             /* the dataset's */
	int pinned;                 /* what the dataset has of a covering: 0, 1, or -1 */
	bool covering;              /* a bbox column is written; known after the content pass */
	const char *geo_extra;      /* JSON members to keep from the source (edges, orientation, epoch), or NULL */
	struct content_schema schema; /* of the batch's stored columns, in file order */
	struct strings in_file;     /* partition columns that stand in the file too */
	struct strings dictionary;  /* those that Arrow's readers shall see as dictionaries */
	const struct arrow_columns *arrow; /* the file's columns, NULL where there are no dictionaries; known after the content pass */
};

struct part {
	struct batch_part *batch_part;
	struct content content;     /* of the rows in the batch */
	const char *geo;            /* the footer's `geo` entry, NULL without geometry */
	const char *file;           /* staged */
	char sha256[SHA256_HEX];
	uint64_t bytes, row_groups;
};

/* Decide what is in the files; make the content aggregate. `covering` is what the dataset has pinned, or -1. */
recloser_status part_format_make(struct batch *batch, int covering, struct part_format *out, recloser_error *error) RC_CHECKED;
/* The content of every part, from the digests that its rows got when they were read; and whether there is a covering.
 * `parts` has batch->part_count elements. */
recloser_status parts_content(struct part_format *format, struct part *parts, recloser_error *error) RC_CHECKED;
/* What copies of all parts have in common, once it is known whether there is a covering (copy.c). */
recloser_status copy_columns(struct part_format *format, recloser_error *error) RC_CHECKED;
/* Write one part to `file`, sorted, with its footer. Not synced here. Several parts may be written at once, each over a
 * connection and with an arena of its own. */
recloser_status part_write(const struct part_format *format, struct engine *engine, struct arena *arena, struct part *part,
                           const char *file, recloser_error *error) RC_CHECKED;

/* `geoparquet: 2.0`: the geometry is of Parquet's own type. */
bool format_is_native(const struct spec *spec);
/* The GeoParquet entry for rows of these facts, of the version that the spec asks for. */
const char *geo_entry(struct arena *arena, const struct part_format *format, const struct wkb_facts *facts);

/* ---- reading back ---- */

struct part_check {
	struct engine *engine;
	const struct spec *spec;
	const char *file, *path;            /* path: the partition's */
	const struct batch_column *columns; /* expected, in file order, the covering not among them; NULL: not checked */
	size_t column_count;
	int64_t rows;                       /* expected; negative: not known */
	const char *fingerprint;            /* expected, or NULL */
	const char *geo;                    /* expected footer entry, or NULL */
	const char *crs_id;                 /* for the fingerprint */
	bool has_geometry;
	bool order;                         /* look at the order of the rows too */
};
/* What was found in one file. */
struct part_verdict {
	struct strings faults;     /* everything that is wrong with it; none: it is as it should be */
	struct content content;
	uint64_t row_groups;
	bool read;
};
/* Of bytes that another program made live, for their record: how many rows they hold. Not a content fingerprint: equal rows in a
 * file that is not written as ours are is no reason to keep it. `file` may be NULL: nothing can be read. */
recloser_status part_describe_adopted(struct arena *arena, struct engine *engine, const char *file, json_t *record,
                                      recloser_error *error) RC_CHECKED;
/* Re-read a file and say everything that is wrong with it, one text each: unreadable, row count, key missing or double,
 * partition columns against the path, geometry missing or unsound, schema, geo entry, order, content. */
recloser_status part_verify(struct arena *arena, const struct part_check *check, struct part_verdict *verdict, recloser_error *error) RC_CHECKED;
/* The same for many files over one engine, in a few statements for all of them where their schemas are equal. */
recloser_status parts_verify(struct arena *arena, const struct part_check *checks, size_t count, struct part_verdict *verdicts,
                             recloser_error *error) RC_CHECKED;

#endif
