/* SPDX-License-Identifier: Apache-2.0
 * One tag byte, then the value, little-endian. Widths of integers, units of times and encodings of text do not show, so that
 * widening a column or reading it by another engine gives the same bytes. */
#include "engine/content_type.h"

#include <endian.h>
#include <stdlib.h>

enum tag {
	TAG_NULL = 0,
	TAG_BOOL = 1,
	TAG_INT = 2,
	TAG_WIDE_INT = 3, /* above 2^63 - 1 */
	TAG_REAL = 4,
	TAG_DECIMAL = 5,
	TAG_TEXT = 6,
	TAG_BYTES = 7,
	TAG_DATE = 9,
	TAG_TIME = 10,
	TAG_TIMESTAMP = 11,
	TAG_TIMESTAMPTZ = 12,
	TAG_LIST = 13,
	TAG_STRUCT = 14,
	TAG_UUID = 16
};

/* ---- the tree ---- */

static const char *class_of(duckdb_type id)
{
	switch (id) {
	case DUCKDB_TYPE_BOOLEAN:
		return "bool";
	case DUCKDB_TYPE_TINYINT:
	case DUCKDB_TYPE_SMALLINT:
	case DUCKDB_TYPE_INTEGER:
	case DUCKDB_TYPE_BIGINT:
	case DUCKDB_TYPE_UTINYINT:
	case DUCKDB_TYPE_USMALLINT:
	case DUCKDB_TYPE_UINTEGER:
	case DUCKDB_TYPE_UBIGINT:
		return "int";
	case DUCKDB_TYPE_FLOAT:
	case DUCKDB_TYPE_DOUBLE:
		return "real";
	case DUCKDB_TYPE_VARCHAR:
	case DUCKDB_TYPE_ENUM:
		return "text";
	case DUCKDB_TYPE_BLOB:
	case DUCKDB_TYPE_GEOMETRY:
		return "bytes";
	case DUCKDB_TYPE_DATE:
		return "date";
	case DUCKDB_TYPE_TIME:
	case DUCKDB_TYPE_TIME_NS:
		return "time";
	case DUCKDB_TYPE_TIMESTAMP:
	case DUCKDB_TYPE_TIMESTAMP_S:
	case DUCKDB_TYPE_TIMESTAMP_MS:
	case DUCKDB_TYPE_TIMESTAMP_NS:
		return "timestamp";
	case DUCKDB_TYPE_TIMESTAMP_TZ:
		return "timestamptz";
	case DUCKDB_TYPE_UUID:
		return "uuid";
	case DUCKDB_TYPE_DECIMAL:
		return "decimal";
	case DUCKDB_TYPE_LIST:
	case DUCKDB_TYPE_ARRAY:
	case DUCKDB_TYPE_MAP:
		return "list";
	case DUCKDB_TYPE_STRUCT:
		return "struct";
	default:
		return NULL;
	}
}

static const char *refused_name(duckdb_type id)
{
	switch (id) {
	case DUCKDB_TYPE_HUGEINT:
		return "HUGEINT";
	case DUCKDB_TYPE_UHUGEINT:
		return "UHUGEINT";
	case DUCKDB_TYPE_INTERVAL:
		return "INTERVAL";
	case DUCKDB_TYPE_BIT:
		return "BIT";
	case DUCKDB_TYPE_TIME_TZ:
		return "TIME WITH TIME ZONE";
	case DUCKDB_TYPE_UNION:
		return "UNION";
	default:
		return "of a kind that has no canonical form";
	}
}

static const char *read_child(struct content_type *parent, duckdb_logical_type type)
{
	const char *refused = content_type_read(&parent->children[parent->child_count], type);
	parent->child_count++;
	duckdb_destroy_logical_type(&type);
	return refused;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct content_type *)a)->name, ((const struct content_type *)b)->name);
}

static const char *read_members(struct content_type *out, duckdb_logical_type type)
{
	size_t count = duckdb_struct_type_child_count(type);
	out->children = calloc(count ? count : 1, sizeof *out->children);
	if (!out->children)
		return "memory";
	for (size_t i = 0; i < count; i++) {
		struct content_type *member = &out->children[i];
		const char *refused = read_child(out, duckdb_struct_type_child_type(type, i));
		char *name = duckdb_struct_type_child_name(type, i);
		member->place = i;
		member->name = strdup(name ? name : "");
		duckdb_free(name);
		if (refused || !member->name)
			return refused ? refused : "memory";
	}
	qsort(out->children, count, sizeof *out->children, by_name);
	return NULL;
}

static const char *read_words(struct content_type *out, duckdb_logical_type type)
{
	uint32_t count = duckdb_enum_dictionary_size(type);
	out->physical = duckdb_enum_internal_type(type);
	out->words = calloc(count ? count : 1, sizeof *out->words);
	if (!out->words)
		return "memory";
	for (; out->word_count < count; out->word_count++) {
		char *word = duckdb_enum_dictionary_value(type, out->word_count);
		out->words[out->word_count] = strdup(word ? word : "");
		duckdb_free(word);
		if (!out->words[out->word_count])
			return "memory";
	}
	return NULL;
}

static const char *read_elements(struct content_type *out, duckdb_logical_type type)
{
	const char *refused;
	out->children = calloc(2, sizeof *out->children);
	if (!out->children)
		return "memory";
	switch (out->id) {
	case DUCKDB_TYPE_MAP:
		refused = read_child(out, duckdb_map_type_key_type(type));
		return refused ? refused : read_child(out, duckdb_map_type_value_type(type));
	case DUCKDB_TYPE_ARRAY:
		out->array_size = duckdb_array_type_array_size(type);
		return read_child(out, duckdb_array_type_child_type(type));
	default:
		return read_child(out, duckdb_list_type_child_type(type));
	}
}

const char *content_type_read(struct content_type *out, duckdb_logical_type type)
{
	*out = (struct content_type){.id = duckdb_get_type_id(type)};
	switch (out->id) {
	case DUCKDB_TYPE_DECIMAL:
		out->physical = duckdb_decimal_internal_type(type);
		out->width = duckdb_decimal_width(type);
		out->scale = duckdb_decimal_scale(type);
		return NULL;
	case DUCKDB_TYPE_ENUM:
		return read_words(out, type);
	case DUCKDB_TYPE_LIST:
	case DUCKDB_TYPE_ARRAY:
	case DUCKDB_TYPE_MAP:
		return read_elements(out, type);
	case DUCKDB_TYPE_STRUCT:
		return read_members(out, type);
	default:
		return class_of(out->id) ? NULL : refused_name(out->id);
	}
}

void content_type_free(struct content_type *type)
{
	for (size_t i = 0; i < type->child_count; i++)
		content_type_free(&type->children[i]);
	for (uint32_t i = 0; i < type->word_count; i++)
		free(type->words[i]);
	free(type->children);
	free(type->words);
	free(type->name);
	*type = (struct content_type){0};
}

size_t content_type_nodes(const struct content_type *type)
{
	size_t count = 1;
	for (size_t i = 0; i < type->child_count; i++)
		count += content_type_nodes(&type->children[i]);
	return count;
}

const char *content_type_class(struct arena *arena, const struct content_type *type)
{
	struct text text = text_on(arena);
	switch (type->id) {
	case DUCKDB_TYPE_DECIMAL:
		return arena_printf(arena, "decimal(%d,%d)", type->width, type->scale);
	case DUCKDB_TYPE_LIST:
	case DUCKDB_TYPE_ARRAY:
		return arena_printf(arena, "list(%s)", content_type_class(arena, &type->children[0]));
	case DUCKDB_TYPE_MAP:
		return arena_printf(arena, "list(struct(key %s, value %s))", content_type_class(arena, &type->children[0]),
							content_type_class(arena, &type->children[1]));
	case DUCKDB_TYPE_STRUCT:
		text_add(&text, "struct(");
		for (size_t i = 0; i < type->child_count; i++)
			text_addf(&text, "%s%s %s", i ? ", " : "", type->children[i].name,
					  content_type_class(arena, &type->children[i]));
		text_add(&text, ")");
		return text.at;
	default:
		return class_of(type->id);
	}
}

/* ---- vectors ---- */

void content_vectors(const struct content_type *type, duckdb_vector vector, struct content_vector **next)
{
	**next = (struct content_vector){duckdb_vector_get_data(vector), duckdb_vector_get_validity(vector)};
	++*next;
	switch (type->id) {
	case DUCKDB_TYPE_LIST:
		content_vectors(&type->children[0], duckdb_list_vector_get_child(vector), next);
		break;
	case DUCKDB_TYPE_ARRAY:
		content_vectors(&type->children[0], duckdb_array_vector_get_child(vector), next);
		break;
	case DUCKDB_TYPE_MAP: {
		duckdb_vector entries = duckdb_list_vector_get_child(vector);
		for (idx_t i = 0; i < 2; i++)
			content_vectors(&type->children[i], duckdb_struct_vector_get_child(entries, i), next);
		break;
	}
	case DUCKDB_TYPE_STRUCT:
		for (size_t i = 0; i < type->child_count; i++)
			content_vectors(&type->children[i], duckdb_struct_vector_get_child(vector, type->children[i].place), next);
		break;
	default:
		break;
	}
}

/* Which rows of the child vector belong to a row of a list, an array or a map. */
static duckdb_list_entry elements_of(const struct content_type *type, const struct content_vector *vector, idx_t row)
{
	if (type->id == DUCKDB_TYPE_ARRAY)
		return (duckdb_list_entry){.offset = row * type->array_size, .length = type->array_size};
	return ((const duckdb_list_entry *)vector->data)[row];
}

/* ---- bytes ---- */

static inline uint8_t *put_u32(uint8_t *to, uint32_t value)
{
	value = htole32(value);
	memcpy(to, &value, sizeof value);
	return to + sizeof value;
}

static inline uint8_t *put_u64(uint8_t *to, uint64_t value)
{
	value = htole64(value);
	memcpy(to, &value, sizeof value);
	return to + sizeof value;
}

static inline uint8_t *put_tagged(uint8_t *to, enum tag tag, int64_t value)
{
	*to++ = (uint8_t)tag;
	return put_u64(to, (uint64_t)value);
}

static uint8_t *put_unsigned(uint8_t *to, uint64_t value)
{
	if (value <= INT64_MAX)
		return put_tagged(to, TAG_INT, (int64_t)value);
	return put_u64(put_tagged(to, TAG_WIDE_INT, (int64_t)value), 0);
}

/* Minus zero equals zero, and every NaN is one. */
static uint8_t *put_real(uint8_t *to, double value)
{
	uint64_t bits = UINT64_C(0x7ff8000000000000);
	if (value == 0)
		bits = 0;
	else if (value == value)
		memcpy(&bits, &value, sizeof bits);
	return put_tagged(to, TAG_REAL, (int64_t)bits);
}

static uint8_t *put_decimal(uint8_t *to, __int128 value, int scale)
{
	to = put_tagged(to, TAG_DECIMAL, (int64_t)value);
	to = put_u64(to, (uint64_t)((unsigned __int128)value >> 64));
	*to++ = (uint8_t)scale;
	return to;
}

static uint8_t *put_bytes(uint8_t *to, enum tag tag, const char *bytes, uint32_t count)
{
	*to++ = (uint8_t)tag;
	to = put_u32(to, count);
	memcpy(to, bytes, count);
	return to + count;
}

/* Seconds and nanoseconds, whatever the unit; the engine keeps its infinities as the outermost numbers of each unit. */
static uint8_t *put_timestamp(uint8_t *to, enum tag tag, int64_t value, int64_t per_second)
{
	if (value == INT64_MAX || value == -INT64_MAX)
		return put_u32(put_tagged(to, tag, value > 0 ? INT64_MAX : INT64_MIN), 0);
	int64_t seconds = value / per_second, rest = value % per_second;
	if (rest < 0) {
		rest += per_second;
		seconds--;
	}
	return put_u32(put_tagged(to, tag, seconds), (uint32_t)(rest * (1000000000 / per_second)));
}

static uint8_t *put_elements(const struct content_type *type, const struct content_vector *vector, idx_t row, uint8_t *to)
{
	duckdb_list_entry elements = elements_of(type, vector, row);
	const struct content_vector *first = vector + 1, *second = NULL;
	if (type->id == DUCKDB_TYPE_MAP)
		second = first + content_type_nodes(&type->children[0]);
	*to++ = TAG_LIST;
	to = put_u32(to, elements.length);
	for (idx_t i = elements.offset; i < elements.offset + elements.length; i++) {
		if (second)
			*to++ = TAG_STRUCT;
		to = content_put(&type->children[0], first, i, to);
		if (second)
			to = content_put(&type->children[1], second, i, to);
	}
	return to;
}

static uint8_t *put_integer(duckdb_type id, const void *data, idx_t row, uint8_t *to)
{
	switch (id) {
	case DUCKDB_TYPE_TINYINT:
		return put_tagged(to, TAG_INT, ((const int8_t *)data)[row]);
	case DUCKDB_TYPE_SMALLINT:
		return put_tagged(to, TAG_INT, ((const int16_t *)data)[row]);
	case DUCKDB_TYPE_INTEGER:
		return put_tagged(to, TAG_INT, ((const int32_t *)data)[row]);
	case DUCKDB_TYPE_UTINYINT:
		return put_tagged(to, TAG_INT, ((const uint8_t *)data)[row]);
	case DUCKDB_TYPE_USMALLINT:
		return put_tagged(to, TAG_INT, ((const uint16_t *)data)[row]);
	case DUCKDB_TYPE_UINTEGER:
		return put_tagged(to, TAG_INT, ((const uint32_t *)data)[row]);
	case DUCKDB_TYPE_UBIGINT:
		return put_unsigned(to, ((const uint64_t *)data)[row]);
	default:
		return put_tagged(to, TAG_INT, ((const int64_t *)data)[row]);
	}
}

static uint8_t *put_time(duckdb_type id, const void *data, idx_t row, uint8_t *to)
{
	if (id == DUCKDB_TYPE_DATE)
		return put_tagged(to, TAG_DATE, ((const int32_t *)data)[row]);
	int64_t value = ((const int64_t *)data)[row];
	switch (id) {
	case DUCKDB_TYPE_TIME:
		return put_tagged(to, TAG_TIME, value * 1000);
	case DUCKDB_TYPE_TIME_NS:
		return put_tagged(to, TAG_TIME, value);
	case DUCKDB_TYPE_TIMESTAMP_S:
		return put_timestamp(to, TAG_TIMESTAMP, value, 1);
	case DUCKDB_TYPE_TIMESTAMP_MS:
		return put_timestamp(to, TAG_TIMESTAMP, value, 1000);
	case DUCKDB_TYPE_TIMESTAMP_NS:
		return put_timestamp(to, TAG_TIMESTAMP, value, 1000000000);
	default:
		return put_timestamp(to, id == DUCKDB_TYPE_TIMESTAMP_TZ ? TAG_TIMESTAMPTZ : TAG_TIMESTAMP, value, 1000000);
	}
}

static uint8_t *put_string(const struct content_type *type, const void *data, idx_t row, uint8_t *to)
{
	if (type->id == DUCKDB_TYPE_ENUM) {
		uint32_t word = cell_enum(type->physical, data, row);
		const char *text = word < type->word_count ? type->words[word] : "";
		return put_bytes(to, TAG_TEXT, text, (uint32_t)strlen(text));
	}
	duckdb_string_t *string = (duckdb_string_t *)data + row;
	return put_bytes(to, type->id == DUCKDB_TYPE_VARCHAR ? TAG_TEXT : TAG_BYTES, duckdb_string_t_data(string),
					 duckdb_string_t_length(*string));
}

uint8_t *content_put(const struct content_type *type, const struct content_vector *vector, idx_t row, uint8_t *to)
{
	const void *data = vector->data;
	if (!valid_at(vector->validity, row)) {
		*to++ = TAG_NULL;
		return to;
	}
	switch (type->id) {
	case DUCKDB_TYPE_BOOLEAN:
		*to++ = TAG_BOOL;
		*to++ = ((const uint8_t *)data)[row] != 0;
		return to;
	case DUCKDB_TYPE_FLOAT:
		return put_real(to, ((const float *)data)[row]);
	case DUCKDB_TYPE_DOUBLE:
		return put_real(to, ((const double *)data)[row]);
	case DUCKDB_TYPE_DECIMAL:
		return put_decimal(to, cell_decimal(type->physical, data, row), type->scale);
	case DUCKDB_TYPE_VARCHAR:
	case DUCKDB_TYPE_BLOB:
	case DUCKDB_TYPE_GEOMETRY:
	case DUCKDB_TYPE_ENUM:
		return put_string(type, data, row, to);
	case DUCKDB_TYPE_UUID:
		*to++ = TAG_UUID;
		cell_uuid(data, row, to);
		return to + 16;
	case DUCKDB_TYPE_LIST:
	case DUCKDB_TYPE_ARRAY:
	case DUCKDB_TYPE_MAP:
		return put_elements(type, vector, row, to);
	case DUCKDB_TYPE_STRUCT: {
		const struct content_vector *member = vector + 1;
		*to++ = TAG_STRUCT;
		for (size_t i = 0; i < type->child_count; i++) {
			to = content_put(&type->children[i], member, row, to);
			member += content_type_nodes(&type->children[i]);
		}
		return to;
	}
	case DUCKDB_TYPE_DATE:
	case DUCKDB_TYPE_TIME:
	case DUCKDB_TYPE_TIME_NS:
	case DUCKDB_TYPE_TIMESTAMP:
	case DUCKDB_TYPE_TIMESTAMP_S:
	case DUCKDB_TYPE_TIMESTAMP_MS:
	case DUCKDB_TYPE_TIMESTAMP_NS:
	case DUCKDB_TYPE_TIMESTAMP_TZ:
		return put_time(type->id, data, row, to);
	default:
		return put_integer(type->id, data, row, to);
	}
}

size_t content_size(const struct content_type *type, const struct content_vector *vector, idx_t row)
{
	if (!valid_at(vector->validity, row))
		return 1;
	switch (type->id) {
	case DUCKDB_TYPE_VARCHAR:
	case DUCKDB_TYPE_BLOB:
	case DUCKDB_TYPE_GEOMETRY:
		return 5 + duckdb_string_t_length(((const duckdb_string_t *)vector->data)[row]);
	case DUCKDB_TYPE_ENUM: {
		uint32_t word = cell_enum(type->physical, vector->data, row);
		return 5 + (word < type->word_count ? strlen(type->words[word]) : 0);
	}
	case DUCKDB_TYPE_LIST:
	case DUCKDB_TYPE_ARRAY:
	case DUCKDB_TYPE_MAP: {
		duckdb_list_entry elements = elements_of(type, vector, row);
		size_t size = 5 + elements.length; /* a map's entries have a tag each */
		for (size_t c = 0; c < type->child_count; c++) {
			const struct content_vector *child = vector + 1 + (c ? content_type_nodes(&type->children[0]) : 0);
			for (idx_t i = elements.offset; i < elements.offset + elements.length; i++)
				size += content_size(&type->children[c], child, i);
		}
		return size;
	}
	case DUCKDB_TYPE_STRUCT: {
		size_t size = 1;
		const struct content_vector *member = vector + 1;
		for (size_t i = 0; i < type->child_count; i++) {
			size += content_size(&type->children[i], member, row);
			member += content_type_nodes(&type->children[i]);
		}
		return size;
	}
	default:
		return CONTENT_FIXED;
	}
}
