/* SPDX-License-Identifier: Apache-2.0
 * The OGR source inside. A source is one layer; each has a dataset handle of its own, since a handle serves one thread at
 * a time and two layers may be read at once.
 *
 * Features are read one by one and not through GDAL's Arrow stream: the stream drops the zone of times and turns
 * unsigned and mixed values into what its column type allows. */
#ifndef RECLOSER_SOURCE_OGR_H
#define RECLOSER_SOURCE_OGR_H

#include "base/gdal.h"
#include "source/source.h"

/* What to hand to GDAL for an input, which may be inside a zip. */
struct ogr_place {
	const char *path;             /* as GDAL takes it */
	const struct input *replaced; /* not NULL: a member that another reader knows, spooled under this input */
};
recloser_status ogr_locate(struct arena *arena, const struct source_request *request, struct ogr_place *out,
						   recloser_error *error) RC_CHECKED;

/* What was found out about Shapefiles before GDAL opens them. */
struct ogr_shapes {
	struct strings notes;   /* for the report */
	struct strings lacking; /* layers whose .dbf is not there, so that they have no columns */
};
/* Are the files of the Shapefiles at `path` whole? RECLOSER_REFUSED when one is cut off or missing that GDAL needs; nothing is
 * said about other formats. */
recloser_status ogr_check_shapes(struct arena *arena, const struct source_request *request, const char *path,
								 struct ogr_shapes *out, recloser_error *error) RC_CHECKED;

/* The dataset at `path`, closed with the arena. Shapefiles are looked at first, unless `shapes` is NULL: they were before. */
recloser_status ogr_dataset(struct arena *arena, const struct source_request *request, const char *path,
							struct ogr_shapes *shapes, GDALDatasetH *out, recloser_error *error) RC_CHECKED;
/* The indices of the layers that the block asks for. */
recloser_status ogr_choose(struct arena *arena, const struct source_request *request, GDALDatasetH dataset, int **layers,
						   size_t *count, recloser_error *error) RC_CHECKED;

/* How one column is filled. */
enum ogr_reading {
	OGR_INTEGER,
	OGR_DOUBLE,
	OGR_BOOLEAN,
	OGR_TEXT,
	OGR_DATE,
	OGR_TIME,
	OGR_STAMP,       /* no zone in any value */
	OGR_STAMP_ZONE,  /* a zone in every value */
	OGR_STAMP_MIXED, /* a zone in some: text */
	OGR_LIST,        /* JSON text */
	OGR_BYTES,
	OGR_FID,
	OGR_SHAPE
};
struct ogr_column {
	enum ogr_reading reading;
	int field; /* its index in the layer */
};

struct ogr_source {
	struct source source;
	const char *name; /* of the input, for messages */
	OGRLayerH layer;
	struct ogr_column *columns; /* beside source.columns */
	const char *encoding;       /* of texts that GDAL leaves as they are; NULL: they must be UTF-8 */
	bool raw;                   /* every text is in that encoding; else only what is not UTF-8 */
	bool sheet;                 /* the feature id is the row of a sheet */
};
/* Columns and facts of a layer. */
recloser_status ogr_describe(struct arena *arena, const struct source_request *request, struct ogr_source *source,
							 recloser_error *error) RC_CHECKED;
extern const struct source_ops ogr_ops;

#endif
