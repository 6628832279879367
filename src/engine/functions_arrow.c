/* SPDX-License-Identifier: Apache-2.0
 * GeoArrow's encodings, which GeoParquet 1.1 allows beside WKB: a point is a struct of coordinates, a line a list of points,
 * a polygon a list of lines, and so on (https://geoarrow.org/format.html). Here they become WKB. */
#include <stdlib.h>

#include "engine/functions_parts.h"
#include "geo/endian.h"

enum kind { POINT = 1, LINE_STRING, POLYGON, MULTI_POINT, MULTI_LINE_STRING, MULTI_POLYGON };

struct writer {
	uint8_t *bytes;
	size_t count, capacity;
	bool no_memory;
	uint32_t dimension; /* 0, 1000, 2000 or 3000: what is added to a type's number */
	idx_t ordinates;
};

static uint8_t *grow(struct writer *writer, size_t more)
{
	if (writer->count + more > writer->capacity) {
		size_t capacity = (writer->count + more) * 2;
		uint8_t *larger = realloc(writer->bytes, capacity);
		if (!larger) {
			writer->no_memory = true;
			return NULL;
		}
		writer->bytes = larger;
		writer->capacity = capacity;
	}
	uint8_t *at = writer->bytes + writer->count;
	writer->count += more;
	return at;
}

static void put_u32(struct writer *writer, uint32_t value)
{
	uint8_t *at = grow(writer, 4);
	if (at)
		store_u32_little(at, value);
}

static void put_head(struct writer *writer, enum kind kind)
{
	uint8_t *at = grow(writer, 1);
	if (at)
		*at = 1;
	put_u32(writer, (uint32_t)kind + writer->dimension);
}

static void put_point(struct writer *writer, duckdb_vector points, idx_t row)
{
	for (idx_t i = 0; i < writer->ordinates; i++) {
		const double *values = duckdb_vector_get_data(duckdb_struct_vector_get_child(points, i));
		uint8_t *at = grow(writer, 8);
		if (at)
			store_double_little(at, values[row]);
	}
}

static duckdb_list_entry entries_of(duckdb_vector list, idx_t row)
{
	if (!valid_at(duckdb_vector_get_validity(list), row))
		return (duckdb_list_entry){0, 0};
	return ((duckdb_list_entry *)duckdb_vector_get_data(list))[row];
}

static void put_line(struct writer *writer, duckdb_vector list, idx_t row)
{
	duckdb_list_entry entry = entries_of(list, row);
	put_u32(writer, (uint32_t)entry.length);
	for (idx_t i = 0; i < entry.length; i++)
		put_point(writer, duckdb_list_vector_get_child(list), entry.offset + i);
}

static void put_simple(struct writer *writer, enum kind kind, duckdb_vector vector, idx_t row)
{
	put_head(writer, kind);
	if (kind == POINT) {
		put_point(writer, vector, row);
	} else if (kind == LINE_STRING) {
		put_line(writer, vector, row);
	} else {
		duckdb_list_entry entry = entries_of(vector, row);
		put_u32(writer, (uint32_t)entry.length);
		for (idx_t i = 0; i < entry.length; i++)
			put_line(writer, duckdb_list_vector_get_child(vector), entry.offset + i);
	}
}

static void put_geometry(struct writer *writer, enum kind kind, duckdb_vector vector, idx_t row)
{
	if (kind < MULTI_POINT) {
		put_simple(writer, kind, vector, row);
		return;
	}
	duckdb_list_entry entry = entries_of(vector, row);
	put_head(writer, kind);
	put_u32(writer, (uint32_t)entry.length);
	for (idx_t i = 0; i < entry.length; i++)
		put_simple(writer, kind - 3, duckdb_list_vector_get_child(vector), entry.offset + i);
}

static enum kind kind_of(const char *word, size_t count)
{
	static const char *const words[] = {"point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon"};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strlen(words[i]) == count && memcmp(words[i], word, count) == 0)
			return (enum kind)(i + 1);
	return 0;
}

static int lists_of(enum kind kind)
{
	static const int depth[] = {0, 0, 1, 2, 1, 2, 3};
	return depth[kind];
}

/* Is the struct x, y and then z, m or both, all doubles? */
static const char *read_struct(struct writer *writer, duckdb_logical_type type)
{
	writer->ordinates = duckdb_struct_type_child_count(type);
	bool sound = writer->ordinates >= 2 && writer->ordinates <= 4, z = false, m = false;
	for (idx_t i = 0; i < writer->ordinates && sound; i++) {
		duckdb_logical_type member = duckdb_struct_type_child_type(type, i);
		char *name = duckdb_struct_type_child_name(type, i);
		sound = name && name[0] && !name[1] &&
				(i < 2            ? name[0] == "xy"[i]
				 : name[0] == 'z' ? !z && !m
								  : name[0] == 'm' && !m) &&
				duckdb_get_type_id(member) == DUCKDB_TYPE_DOUBLE;
		z |= name && name[0] == 'z';
		m |= name && name[0] == 'm';
		duckdb_free(name);
		duckdb_destroy_logical_type(&member);
	}
	writer->dimension = z && m ? 3000 : m ? 2000 : z ? 1000 : 0;
	return sound ? NULL : "the coordinates are not a struct of the doubles x, y and perhaps z and m";
}

static const char *read_layout(struct writer *writer, enum kind kind, duckdb_vector vector)
{
	if (!kind)
		return "an unknown GeoArrow encoding";
	duckdb_logical_type type = duckdb_vector_get_column_type(vector);
	const char *fault = NULL;
	for (int i = lists_of(kind); i > 0 && !fault; i--) {
		if (duckdb_get_type_id(type) != DUCKDB_TYPE_LIST) {
			fault = "the lists are not nested as the encoding says";
			break;
		}
		duckdb_logical_type child = duckdb_list_type_child_type(type);
		duckdb_destroy_logical_type(&type);
		type = child;
	}
	if (!fault)
		fault = duckdb_get_type_id(type) == DUCKDB_TYPE_STRUCT ? read_struct(writer, type) : "the points are not structs";
	duckdb_destroy_logical_type(&type);
	return fault;
}

static void make_from_arrow(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
	struct argument word = argument_at(input, 0);
	duckdb_vector vector = duckdb_data_chunk_get_vector(input, 1);
	uint64_t *validity = duckdb_vector_get_validity(vector);
	struct writer writer = {0};
	size_t count;
	idx_t rows = duckdb_data_chunk_get_size(input);
	const char *encoding = rows ? argument_bytes(&word, 0, &count) : NULL;
	enum kind kind = encoding ? kind_of(encoding, count) : 0;
	const char *fault = rows ? read_layout(&writer, kind, vector) : NULL;
	for (idx_t row = 0; row < rows && !fault; row++) {
		writer.count = 0;
		if (!valid_at(validity, row)) {
			result_null(output, row);
			continue;
		}
		put_geometry(&writer, kind, vector, row);
		if (writer.no_memory)
			fault = "out of memory";
		else
			result_bytes(output, row, writer.bytes, writer.count);
	}
	if (fault)
		duckdb_scalar_function_set_error(info, fault);
	free(writer.bytes);
}

const struct function functions_arrow[] = {
	{"rc_arrow_wkb", make_from_arrow, DUCKDB_TYPE_BLOB, {DUCKDB_TYPE_VARCHAR, DUCKDB_TYPE_ANY}, NULL, NULL, NULL},
	{0},
};
