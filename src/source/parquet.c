/* SPDX-License-Identifier: Apache-2.0
 * Parquet and GeoParquet: read by the engine, but looked at here first. The engine is told not to interpret GeoParquet's
 * metadata by itself (enable_geoparquet_conversion is off), so that a broken geometry is a fault of its row and not the end
 * of the load; what the metadata says is looked at in geoparquet.c. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/engine.h"
#include "source/geoparquet.h"
#include "source/parquet_pages.h"

static recloser_status refuse(recloser_error *error, const struct input *input, const char *code, const char *what)
{
	error_set(error, RECLOSER_REFUSED, code, "%s", what);
	return error_where(error, "%s", input->path);
}

/* "PAR1" stands at both ends of a complete file; a cut file is told by its end before the engine meets it. */
static recloser_status check_marks(const struct input *input, recloser_error *error)
{
	char head[4] = {0}, tail[4] = {0};
	int descriptor = open(input->read_path, O_RDONLY | O_CLOEXEC);
	if (descriptor < 0)
		return error_errno(error, "io.open", errno, "open", input->path);
	bool complete =
		pread(descriptor, head, 4, 0) == 4 && input->bytes >= 12 && pread(descriptor, tail, 4, (off_t)input->bytes - 4) == 4;
	close(descriptor);
	if (!complete || memcmp(head, "PAR1", 4) != 0)
		return refuse(error, input, "source.not_parquet", "the file is not Parquet: it does not begin with PAR1");
	if (memcmp(tail, "PAR1", 4) == 0)
		return RECLOSER_OK;
	if (memcmp(tail, "PARE", 4) == 0)
		return refuse(error, input, "source.encrypted", "the Parquet file is encrypted");
	refuse(error, input, "source.cut",
		   "the file is not complete Parquet: bad end marker (PAR1 expected in the last four bytes)");
	return error_hint(error, "it was cut off, probably in the download; fetch it again");
}

/* The engine takes *, ? and [ in a path for a pattern: such a file is read through a link with a plain name. */
static recloser_status plain_path(struct arena *arena, const struct source_request *request, const char **out,
								  recloser_error *error)
{
	*out = request->input->read_path;
	if (!strpbrk(*out, "*?[{"))
		return RECLOSER_OK;
	char *absolute = realpath(*out, NULL);
	if (!absolute)
		return error_errno(error, "io.open", errno, "resolve", *out);
	arena_defer(arena, free, absolute);
	const char *link = arena_printf(arena, "%s/%.16s.parquet", request->spool, request->input->sha256);
	if (symlink(absolute, link) != 0 && errno != EEXIST)
		return error_errno(error, "io.link", errno, "link", link);
	*out = link;
	return RECLOSER_OK;
}

/* ---- columns ---- */

static enum cell_type cell_of(const char *type)
{
	if (strcmp(type, "VARCHAR") == 0)
		return CELL_TEXT;
	if (text_starts(type, "GEOMETRY"))
		return CELL_GEOMETRY;
	if (strcmp(type, "BLOB") == 0)
		return CELL_BLOB;
	if (strcmp(type, "DOUBLE") == 0 || strcmp(type, "FLOAT") == 0)
		return CELL_DOUBLE;
	if (strcmp(type, "BOOLEAN") == 0)
		return CELL_BOOLEAN;
	if (strcmp(type, "DATE") == 0)
		return CELL_DATE;
	return CELL_INTEGER;
}

static recloser_status columns_of(struct arena *arena, const struct source_request *request, const struct rows *described,
								  const struct geoparquet *geo, struct source *source, struct text *list, const char **wkb,
								  recloser_error *error)
{
	source->columns = arena_array(arena, described->row_count + 1, sizeof *source->columns);
	source->facts.geometry_column = -1;
	for (size_t i = 0; i < described->row_count; i++) {
		const char *name = rows_at(described, i, 0), *type = rows_at(described, i, 1), *value = sql_name(arena, name);
		if (geo->covering && strcmp(name, geo->covering) == 0)
			continue; /* made from the geometry: a new one is made where it is wanted */
		size_t at = source->column_count++;
		source->columns[at] = (struct source_column){.name = name, .type = cell_of(type), .narrowest = TYPE_TEXT};
		if (geo->primary && strcmp(name, geo->primary) == 0) {
			RC_TRY(geoparquet_wkb(arena, request, geo, value, type, &value, error));
			source->columns[at].type = CELL_GEOMETRY;
			source->facts.geometry_column = (int)at;
			*wkb = value;
		} else if (text_starts(type, "GEOMETRY") || json_object_get(json_object_get(geo->json, "columns"), name)) {
			strings_add(arena, &source->facts.notes,
						arena_printf(arena, "the further geometry column %s is kept as bytes", name));
			if (text_starts(type, "GEOMETRY"))
				value = arena_printf(arena, "CAST(st_asbinary(%s) AS BLOB)", value);
		}
		text_addf(list, ", %s AS c%zu", value, at);
	}
	if (geo->primary && source->facts.geometry_column < 0)
		return refuse(error, request->input, "source.geo",
					  arena_printf(arena, "the GeoParquet metadata's primary column %s is not in the file", geo->primary));
	return RECLOSER_OK;
}

/* The engine gives a row's number under a name that it then can't read a column by. */
static recloser_status check_names(const struct source_request *request, const struct rows *described, recloser_error *error)
{
	for (size_t i = 0; i < described->row_count; i++)
		if (text_equal_nocase(rows_at(described, i, 0), "file_row_number")) {
			error_set(error, RECLOSER_REFUSED, "source.reserved_column", "a Parquet file with a column called %s can't be read",
					  rows_at(described, i, 0));
			error_where(error, "%s", request->input->name);
			return error_hint(error, "rename the column in the file, or save it as CSV: the engine numbers rows under that name");
		}
	return RECLOSER_OK;
}

/* The engine reads by the row groups and never looks at the file's own number: rows that it does not give would seem to have been
 * left out on purpose. */
static recloser_status check_rows(struct arena *arena, const struct input *input, const struct rows *totals, recloser_error *error)
{
	if (rows_int(totals, 0, 0) == rows_int(totals, 0, 1))
		return RECLOSER_OK;
	refuse(error, input, "source.damaged",
		   arena_printf(arena, "the Parquet file contradicts itself: it says that it holds %s rows, its row groups say %s",
						rows_at(totals, 0, 0), rows_at(totals, 0, 1)));
	return error_hint(error, "its writer made it so, or it was damaged; fetch it again, or tell the publisher");
}

recloser_status parquet_open(struct arena *arena, const struct source_request *request, struct source ***out, size_t *count,
							 recloser_error *error)
{
	RC_TRY(check_marks(request->input, error));
	const char *path;
	RC_TRY(plain_path(arena, request, &path, error));
	struct source *source = arena_alloc(arena, sizeof *source);
	source->facts.format = "parquet";
	source->facts.encoding = "UTF-8";
	source->facts.bytes = request->input->bytes;
	const char *file = sql_text(arena, path);
	struct rows described, totals;
	struct geoparquet geo;
	recloser_error problem = {0};
	recloser_status status = engine_describe(
		request->engine, arena, arena_printf(arena, "SELECT * FROM read_parquet(%s, hive_partitioning=false)", file),
		&described, &problem);
	if (status == RECLOSER_OK)
		status =
			engine_query(request->engine, arena, "count the rows",
						 arena_printf(arena,
									  "SELECT num_rows, (SELECT CAST(coalesce(sum(n), 0) AS BIGINT) FROM (SELECT DISTINCT row_group_id,"
									  " row_group_num_rows AS n FROM parquet_metadata(%s))) FROM parquet_file_metadata(%s)",
									  file, file),
						 &totals, &problem);
	if (status != RECLOSER_OK && strcmp(problem.code, "engine.failed") != 0) { /* memory or room */
		if (error)
			*error = problem;
		return status;
	}
	if (status != RECLOSER_OK) {
		refuse(error, request->input, "source.not_parquet", arena_printf(arena, "the Parquet file can't be read: %s", problem.what));
		return error_hint(error, "it was damaged, or its writer made it so; fetch it again, or tell the publisher");
	}
	RC_TRY(check_rows(arena, request->input, &totals, error));
	RC_TRY(parquet_check_pages(arena, request, path, error));
	source->counts.rows = (uint64_t)rows_int(&totals, 0, 0);
	RC_TRY(geoparquet_read(arena, request, path, &geo, error));
	RC_TRY(check_names(request, &described, error));
	struct text list = text_on(arena);
	const char *wkb = NULL;
	RC_TRY(columns_of(arena, request, &described, &geo, source, &list, &wkb, error));
	RC_TRY(geoparquet_facts(arena, request, path, &geo, &source->facts, error));
	if (wkb)
		RC_TRY(geoparquet_notes(arena, request, path, &geo, wkb, &source->facts, error));
	source->facts.scan_sql = arena_printf(
		arena,
		"SELECT file_row_number + 1 AS _row, CAST(NULL AS BIGINT) AS _line, CAST(NULL AS BIGINT) AS _offset, %s AS _fault%s"
		" FROM read_parquet(%s, hive_partitioning=false, file_row_number=true)",
		wkb ? geoparquet_faults(arena, &geo, wkb) : "CAST(NULL AS VARCHAR)", list.at, file);
	*out = arena_alloc(arena, sizeof **out);
	(*out)[0] = source;
	*count = 1;
	return RECLOSER_OK;
}
