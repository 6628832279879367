/* SPDX-License-Identifier: Apache-2.0
 * Functions over geometry that need GEOS and PROJ; the work is done in src/geo. */
#include <stdlib.h>

#include "engine/functions_parts.h"
#include "geo/crs.h"

/* Asked once a thread and statement, so that a statement without GDAL fails, whoever wrote it, and the process lives on. */
static bool ready(duckdb_init_info info)
{
	recloser_error error = {0};
	if (geometry_ready(&error) == RECLOSER_OK)
		return true;
	duckdb_scalar_function_init_set_error(info, error.what);
	return false;
}

static void need_gdal(duckdb_init_info info)
{
	(void)ready(info);
}

/* Hands the converted bytes to the engine and frees them; a reason why not makes the cell null. */
static void put_converted(duckdb_vector output, idx_t row, const char *refused, uint8_t *bytes, size_t count)
{
	if (refused || !bytes)
		result_null(output, row);
	else
		result_bytes(output, row, bytes, count);
	free(bytes);
}

static void from_wkt(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
	(void)info;
	struct argument wkt = argument_at(input, 0);
	for (idx_t row = 0; row < duckdb_data_chunk_get_size(input); row++) {
		size_t count, made = 0;
		const char *text = argument_bytes(&wkt, row, &count);
		uint8_t *bytes = NULL;
		int32_t srid;
		const char *refused = text ? geometry_from_wkt(text, count, &bytes, &made, &srid) : "null";
		put_converted(output, row, refused, bytes, made);
	}
}

static void wkt_srid(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
	(void)info;
	struct argument wkt = argument_at(input, 0);
	int32_t *to = duckdb_vector_get_data(output);
	for (idx_t row = 0; row < duckdb_data_chunk_get_size(input); row++) {
		size_t count, made = 0;
		const char *text = argument_bytes(&wkt, row, &count);
		uint8_t *bytes = NULL;
		int32_t srid = 0;
		if (text && !geometry_from_wkt(text, count, &bytes, &made, &srid) && srid)
			to[row] = srid;
		else
			result_null(output, row);
		free(bytes);
	}
}

typedef const char *conversion(const void *wkb, size_t count, uint8_t **out, size_t *out_count);

static void convert(conversion *function, duckdb_data_chunk input, duckdb_vector output)
{
	struct argument geometry = argument_at(input, 0);
	for (idx_t row = 0; row < duckdb_data_chunk_get_size(input); row++) {
		size_t count, made = 0;
		const char *wkb = argument_bytes(&geometry, row, &count);
		uint8_t *bytes = NULL;
		const char *refused = wkb ? function(wkb, count, &bytes, &made) : "null";
		put_converted(output, row, refused, bytes, made);
	}
}

static void linearize(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
	(void)info;
	convert(geometry_linearize, input, output);
}

static void point_on_surface(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
	(void)info;
	convert(geometry_point_on_surface, input, output);
}

static void centroid(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
	(void)info;
	convert(geometry_centroid, input, output);
}

static void invalid(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
	(void)info;
	struct argument geometry = argument_at(input, 0);
	for (idx_t row = 0; row < duckdb_data_chunk_get_size(input); row++) {
		size_t count;
		char reason[256];
		const char *wkb = argument_bytes(&geometry, row, &count);
		result_text_or_null(output, row, wkb ? geometry_invalid(wkb, count, reason, sizeof reason) : NULL);
	}
}

/* ---- transformation: one a thread, kept while the two systems stay the same ---- */

struct passage {
	char *from, *to;
	struct transform *transform;
};

static void forget(struct passage *passage)
{
	transform_free(passage->transform);
	free(passage->from);
	free(passage->to);
	*passage = (struct passage){0};
}

static void free_passage(void *pointer)
{
	forget(pointer);
	free(pointer);
}

static void make_passage(duckdb_init_info info)
{
	if (!ready(info))
		return;
	struct passage *passage = calloc(1, sizeof *passage);
	if (passage)
		duckdb_scalar_function_init_set_state(info, passage, free_passage);
	else
		duckdb_scalar_function_init_set_error(info, "out of memory");
}

static bool same(const char *kept, const char *text, size_t count)
{
	return kept && strlen(kept) == count && memcmp(kept, text, count) == 0;
}

/* False: no memory. A pair without a transformation is remembered as such. */
static bool prepare(struct passage *passage, const char *from, size_t from_count, const char *to, size_t to_count)
{
	if (same(passage->from, from, from_count) && same(passage->to, to, to_count))
		return true;
	forget(passage);
	passage->from = strndup(from, from_count);
	passage->to = strndup(to, to_count);
	if (!passage->from || !passage->to) {
		forget(passage);
		return false;
	}
	passage->transform = transform_new(passage->from, passage->to);
	return true;
}

static void transform(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
	struct passage *passage = duckdb_scalar_function_get_state(info);
	struct argument geometry = argument_at(input, 0), from = argument_at(input, 1), to = argument_at(input, 2);
	for (idx_t row = 0; row < duckdb_data_chunk_get_size(input); row++) {
		size_t count, from_count, to_count, made = 0;
		const char *wkb = argument_bytes(&geometry, row, &count);
		const char *a = argument_bytes(&from, row, &from_count), *b = argument_bytes(&to, row, &to_count);
		if (!wkb || !a || !b) {
			result_null(output, row);
			continue;
		}
		if (!prepare(passage, a, from_count, b, to_count)) {
			duckdb_scalar_function_set_error(info, "out of memory");
			return;
		}
		uint8_t *bytes = NULL;
		const char *refused = passage->transform ? transform_wkb(passage->transform, wkb, count, &bytes, &made) : "none";
		put_converted(output, row, refused, bytes, made);
	}
}

#define BLOB DUCKDB_TYPE_BLOB
#define TEXT DUCKDB_TYPE_VARCHAR

const struct function functions_convert[] = {
	{"rc_wkt", from_wkt, BLOB, {TEXT}, NULL, need_gdal, NULL},
	{"rc_wkt_srid", wkt_srid, DUCKDB_TYPE_INTEGER, {TEXT}, NULL, need_gdal, NULL},
	{"rc_linearize", linearize, BLOB, {BLOB}, NULL, need_gdal, NULL},
	{"rc_point_on_surface", point_on_surface, BLOB, {BLOB}, NULL, need_gdal, NULL},
	{"rc_centroid", centroid, BLOB, {BLOB}, NULL, need_gdal, NULL},
	{"rc_invalid", invalid, TEXT, {BLOB}, NULL, need_gdal, NULL},
	{"rc_transform", transform, BLOB, {BLOB, TEXT, TEXT}, NULL, make_passage, NULL},
	{0},
};
