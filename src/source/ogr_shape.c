/* SPDX-License-Identifier: Apache-2.0
 * Is a Shapefile whole? It is three files with headers that say how long each is and how many records it has, and a download
 * that broke off shows there. GDAL does not look: it gives empty rows for a cut .shp, and of a cut .dbf it dies (ADJUST_TYPE
 * reads every record and takes for granted that it is there). So the headers are compared before it opens anything. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/gdal.h"
#include "geo/quiet.h"
#include "source/ogr.h"

enum { DBF_HEADER = 32, SHAPE_HEADER = 100, SHX_RECORD = 8, SHAPE_CODE = 9994 };

struct shape_part {
	const char *name; /* without folders; NULL: there is no such file */
	uint64_t bytes;
	unsigned char head[DBF_HEADER];
	size_t count; /* of head */
};

struct shape_job {
	struct arena *arena;
	const struct source_request *request;
	struct ogr_shapes *shapes;
	recloser_error *error;
};

static uint32_t big_endian(const unsigned char *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static uint32_t little_endian(const unsigned char *at)
{
	return (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[1] << 8 | at[0];
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static bool look_at(struct arena *arena, const char *path, struct shape_part *part)
{
	struct quiet quiet;
	quiet_begin(&quiet);
	VSILFILE *file = gdal()->VSIFOpenL(path, "rb");
	if (file) {
		part->count = gdal()->VSIFReadL(part->head, 1, sizeof part->head, file);
		if (gdal()->VSIFSeekL(file, 0, SEEK_END) == 0)
			part->bytes = gdal()->VSIFTellL(file);
		gdal()->VSIFCloseL(file);
	}
	quiet_end(&quiet);
	if (file)
		part->name = arena_strdup(arena, base_of(path));
	return file != NULL;
}

/* The file of this ending beside the others, which GDAL takes in small and in capital letters. */
static struct shape_part part_of(struct arena *arena, const char *stem, const char *small, const char *capital)
{
	struct shape_part part = {0};
	if (!look_at(arena, arena_printf(arena, "%s%s", stem, small), &part))
		(void)look_at(arena, arena_printf(arena, "%s%s", stem, capital), &part);
	return part;
}

static recloser_status cut_off(const struct shape_job *job, const struct shape_part *part, const char *promised)
{
	error_set(job->error, RECLOSER_REFUSED, "ogr.cut", "%s is cut off: it has %s bytes and %s", part->name,
			  text_count(job->arena, part->bytes), promised);
	error_where(job->error, "%s", job->request->input->path);
	return error_hint(job->error, "download it again, with the other files of the Shapefile, which belong together");
}

/* A .shp or .shx counts its length in words of two bytes. */
static recloser_status check_shape(const struct shape_job *job, const struct shape_part *part)
{
	if (!part->name)
		return RECLOSER_OK;
	if (part->count >= 4 && big_endian(part->head) != SHAPE_CODE)
		return RECLOSER_OK; /* something else, which GDAL will say */
	if (part->count < DBF_HEADER)
		return cut_off(job, part, "its header alone takes 100");
	uint64_t promised = 2 * (uint64_t)big_endian(part->head + 24);
	return part->bytes < promised
			   ? cut_off(job, part, arena_printf(job->arena, "by its header %s", text_count(job->arena, promised)))
			   : RECLOSER_OK;
}

static uint32_t table_records(const struct shape_part *table)
{
	return little_endian(table->head + 4);
}

static recloser_status check_table(const struct shape_job *job, const struct shape_part *part)
{
	if (!part->name)
		return RECLOSER_OK;
	if (part->count < DBF_HEADER)
		return cut_off(job, part, "its header alone takes more than 32");
	uint64_t header = part->head[8] | (uint64_t)part->head[9] << 8, each = part->head[10] | (uint64_t)part->head[11] << 8;
	uint64_t promised = header + table_records(part) * each;
	if (part->bytes >= promised)
		return RECLOSER_OK;
	return cut_off(job, part,
				   arena_printf(job->arena, "by its header %s: %" PRIu64 " and %s records of %" PRIu64,
								text_count(job->arena, promised), header, text_count(job->arena, table_records(part)),
								each));
}

/* Each shape has its record in the table, at the same place. */
static recloser_status check_counts(const struct shape_job *job, const struct shape_part *index,
									const struct shape_part *table)
{
	struct arena *arena = job->arena;
	if (index->count < DBF_HEADER || table->count < DBF_HEADER || big_endian(index->head) != SHAPE_CODE)
		return RECLOSER_OK;
	uint64_t bytes = 2 * (uint64_t)big_endian(index->head + 24);
	uint64_t shapes = bytes < SHAPE_HEADER ? 0 : (bytes - SHAPE_HEADER) / SHX_RECORD, records = table_records(table);
	if (records > shapes)
		strings_add(arena, &job->shapes->notes,
					arena_printf(arena, "%s has %s records for %s shapes: what has no shape is not read", table->name,
								 text_count(arena, records), text_count(arena, shapes)));
	if (records >= shapes)
		return RECLOSER_OK;
	error_set(job->error, RECLOSER_REFUSED, "ogr.cut", "%s has %s records and %s has %s shapes: they are not of one edition",
			  table->name, text_count(arena, records), index->name, text_count(arena, shapes));
	error_where(job->error, "%s", job->request->input->path);
	return error_hint(job->error, "download all files of the Shapefile again, together");
}

/* `stem` is the path without its ending. */
static recloser_status check_set(const struct shape_job *job, const char *stem)
{
	struct arena *arena = job->arena;
	struct shape_part shapes = part_of(arena, stem, ".shp", ".SHP"), index = part_of(arena, stem, ".shx", ".SHX"),
					  table = part_of(arena, stem, ".dbf", ".DBF");
	RC_TRY(check_shape(job, &shapes));
	RC_TRY(check_shape(job, &index));
	RC_TRY(check_table(job, &table));
	if (!shapes.name || shapes.count < 4 || big_endian(shapes.head) != SHAPE_CODE)
		return RECLOSER_OK; /* a table by itself, or no Shapefile */
	if (!index.name) {
		error_set(job->error, RECLOSER_REFUSED, "ogr.missing", "%s.shx is missing, which says where in %s each shape is",
				  base_of(stem), shapes.name);
		error_where(job->error, "%s", job->request->input->path);
		return error_hint(job->error,
						  "put it beside the .shp, as it is where the file comes from; load the .zip if there is one");
	}
	if (!table.name) {
		strings_add(arena, &job->shapes->lacking, arena_strdup(arena, base_of(stem)));
		return RECLOSER_OK;
	}
	return check_counts(job, &index, &table);
}

static const char *stem_of(struct arena *arena, const char *path)
{
	static const char *const endings[] = {".shp", ".shx", ".dbf"};
	size_t length = strlen(path);
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
		if (length > 4 && text_equal_nocase(path + length - 4, endings[i]))
			return arena_strndup(arena, path, length - 4);
	return NULL;
}

static void destroy_list(void *box)
{
	gdal()->CSLDestroy(*(char ***)box);
}

/* A folder inside a zip, of which all Shapefiles are layers. */
static recloser_status check_folder(const struct shape_job *job, const char *path)
{
	struct quiet quiet;
	char ***listed = arena_alloc(job->arena, sizeof *listed);
	arena_defer(job->arena, destroy_list, listed);
	quiet_begin(&quiet);
	*listed = gdal()->VSIReadDirRecursive(path);
	quiet_end(&quiet);
	for (char **entry = *listed; entry && *entry; entry++) {
		size_t length = strlen(*entry);
		if (length > 4 && !strchr(*entry, '/') && text_equal_nocase(*entry + length - 4, ".shp"))
			RC_TRY(check_set(job, arena_printf(job->arena, "%s/%.*s", path, (int)length - 4, *entry)));
	}
	return RECLOSER_OK;
}

recloser_status ogr_check_shapes(struct arena *arena, const struct source_request *request, const char *path,
								 struct ogr_shapes *out, recloser_error *error)
{
	struct shape_job job = {arena, request, out, error};
	const char *stem = stem_of(arena, path);
	*out = (struct ogr_shapes){0};
	if (stem)
		return check_set(&job, stem);
	size_t length = strlen(path);
	bool folder = text_starts(path, "/vsizip/") && !text_ends(path, ".gdb") && !(length > 4 && path[length - 4] == '.');
	return folder ? check_folder(&job, path) : RECLOSER_OK;
}
