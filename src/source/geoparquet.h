/* SPDX-License-Identifier: Apache-2.0
 * What a GeoParquet file says of itself (the `geo` entry of its footer, versions 0.1 to 1.1 and the drafts of 2.0; else the
 * geometry types of Parquet itself), checked against the specification, and the faults of rows that contradict it. A claim
 * that does not hold is worse than none: readers skip by a wrong bbox, and a declared winding decides what is inside. */
#ifndef RECLOSER_SOURCE_GEOPARQUET_H
#define RECLOSER_SOURCE_GEOPARQUET_H

#include <jansson.h>

#include "source/source.h"

struct geoparquet {
	json_t *json;         /* the entry; NULL: there is none */
	const char *primary;  /* the primary column; without an entry the first column of Parquet's geometry type, or NULL */
	json_t *column;       /* the primary column's object in the entry */
	const char *encoding; /* "WKB", "point", "linestring", ... */
	const char *covering; /* a column that is made from the geometry and not data; NULL: none */
};

/* `path`: where the engine reads the file. RECLOSER_REFUSED when the entry is not what the specification asks for. */
recloser_status geoparquet_read(struct arena *arena, const struct source_request *request, const char *path,
								struct geoparquet *out, recloser_error *error);
/* CRS, and the members of the entry that are kept, into `facts`. */
recloser_status geoparquet_facts(struct arena *arena, const struct source_request *request, const char *path,
								 const struct geoparquet *geo, struct source_facts *facts, recloser_error *error);
/* The primary column as WKB, from an expression for it and the engine's type of it. */
recloser_status geoparquet_wkb(struct arena *arena, const struct source_request *request, const struct geoparquet *geo,
							   const char *expression, const char *type, const char **out, recloser_error *error);
/* An expression over the geometry `wkb`: the text of the row's fault (source.h), or null. "CAST(NULL AS VARCHAR)" when
 * nothing is claimed. */
const char *geoparquet_faults(struct arena *arena, const struct geoparquet *geo, const char *wkb);
/* What is worth telling about the geometry as a whole, into `facts->notes`. */
recloser_status geoparquet_notes(struct arena *arena, const struct source_request *request, const char *path,
								 const struct geoparquet *geo, const char *wkb, struct source_facts *facts,
								 recloser_error *error);

#endif
