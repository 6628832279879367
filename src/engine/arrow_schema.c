/* SPDX-License-Identifier: Apache-2.0
 * The `ARROW:schema` entry of a Parquet footer: an Arrow IPC message with the schema, in base64.
 *
 * Arrow's readers take a Hive partition column from the path as a dictionary and refuse to merge it with plain text in the
 * file; this entry tells them that the file's column is a dictionary too. Every other column is described as Arrow infers it
 * from what the engine's Parquet writer gives, so that the entry changes nothing else. Arrow shows only the metadata that is
 * inside the entry, which is why the footer's own is repeated here. */
#include <string.h>

#include "engine/content.h"
#include "engine/duck.h"
#include "engine/flatbuffer.h"

/* Numbers of Arrow's format (Schema.fbs, Message.fbs). */
enum arrow_type {
	ARROW_NONE = 0,
	ARROW_INT = 2,
	ARROW_FLOAT = 3,
	ARROW_BINARY = 4,
	ARROW_UTF8 = 5,
	ARROW_BOOL = 6,
	ARROW_DECIMAL = 7,
	ARROW_DATE = 8,
	ARROW_TIME = 9,
	ARROW_TIMESTAMP = 10,
	ARROW_LIST = 12,
	ARROW_STRUCT = 13,
	ARROW_FIXED_BINARY = 15,
	ARROW_MAP = 17
};
enum { UNIT_MILLI = 1, UNIT_MICRO = 2, UNIT_NANO = 3 };
enum { PRECISION_SINGLE = 1, PRECISION_DOUBLE = 2 };
enum { METADATA_V5 = 4, HEADER_SCHEMA = 1 };

struct encoder {
	struct flat flat;
	struct arena *arena;
	int64_t next_dictionary;
	const char *refused; /* the type that could not be described */
};

/* ---- types ---- */

static enum arrow_type put_empty(struct flat *flat, size_t reference, enum arrow_type type)
{
	size_t none[1];
	flat_table(flat, reference, NULL, 0, none);
	return type;
}

static enum arrow_type put_int(struct flat *flat, size_t reference, int bits, bool is_signed)
{
	size_t places[2];
	flat_table(flat, reference, (const uint8_t[]){4, 1}, 2, places);
	flat_set(flat, places[0], (uint64_t)bits, 4);
	flat_set(flat, places[1], is_signed, 1);
	return ARROW_INT;
}

/* A table with one small number: a float's precision, a date's unit. */
static enum arrow_type put_short(struct flat *flat, size_t reference, int value, enum arrow_type type)
{
	size_t place;
	flat_table(flat, reference, (const uint8_t[]){2}, 1, &place);
	flat_set(flat, place, (uint64_t)value, 2);
	return type;
}

static enum arrow_type put_time(struct flat *flat, size_t reference, int unit)
{
	size_t places[2];
	flat_table(flat, reference, (const uint8_t[]){2, 4}, 2, places);
	flat_set(flat, places[0], (uint64_t)unit, 2);
	flat_set(flat, places[1], 64, 4);
	return ARROW_TIME;
}

static enum arrow_type put_timestamp(struct flat *flat, size_t reference, int unit, const char *zone)
{
	size_t places[2];
	flat_table(flat, reference, (const uint8_t[]){2, zone ? 4 : 0}, 2, places);
	flat_set(flat, places[0], (uint64_t)unit, 2);
	if (zone)
		flat_text(flat, places[1], zone);
	return ARROW_TIMESTAMP;
}

static enum arrow_type put_decimal(struct flat *flat, size_t reference, duckdb_logical_type type)
{
	size_t places[3];
	flat_table(flat, reference, (const uint8_t[]){4, 4, 4}, 3, places);
	flat_set(flat, places[0], duckdb_decimal_width(type), 4);
	flat_set(flat, places[1], duckdb_decimal_scale(type), 4);
	flat_set(flat, places[2], 128, 4);
	return ARROW_DECIMAL;
}

static enum arrow_type put_fixed_binary(struct flat *flat, size_t reference, int bytes)
{
	size_t place;
	flat_table(flat, reference, (const uint8_t[]){4}, 1, &place);
	flat_set(flat, place, (uint64_t)bytes, 4);
	return ARROW_FIXED_BINARY;
}

static enum arrow_type put_type(struct flat *flat, size_t reference, duckdb_logical_type type)
{
	switch (duckdb_get_type_id(type)) {
	case DUCKDB_TYPE_BOOLEAN:
		return put_empty(flat, reference, ARROW_BOOL);
	case DUCKDB_TYPE_TINYINT:
		return put_int(flat, reference, 8, true);
	case DUCKDB_TYPE_SMALLINT:
		return put_int(flat, reference, 16, true);
	case DUCKDB_TYPE_INTEGER:
		return put_int(flat, reference, 32, true);
	case DUCKDB_TYPE_BIGINT:
		return put_int(flat, reference, 64, true);
	case DUCKDB_TYPE_UTINYINT:
		return put_int(flat, reference, 8, false);
	case DUCKDB_TYPE_USMALLINT:
		return put_int(flat, reference, 16, false);
	case DUCKDB_TYPE_UINTEGER:
		return put_int(flat, reference, 32, false);
	case DUCKDB_TYPE_UBIGINT:
		return put_int(flat, reference, 64, false);
	case DUCKDB_TYPE_FLOAT:
		return put_short(flat, reference, PRECISION_SINGLE, ARROW_FLOAT);
	case DUCKDB_TYPE_DOUBLE:
	case DUCKDB_TYPE_HUGEINT: /* the engine's Parquet writer makes doubles of these two */
	case DUCKDB_TYPE_UHUGEINT:
		return put_short(flat, reference, PRECISION_DOUBLE, ARROW_FLOAT);
	case DUCKDB_TYPE_DECIMAL:
		return put_decimal(flat, reference, type);
	case DUCKDB_TYPE_VARCHAR:
	case DUCKDB_TYPE_ENUM:
		return put_empty(flat, reference, ARROW_UTF8);
	case DUCKDB_TYPE_BLOB:
	case DUCKDB_TYPE_GEOMETRY: /* Arrow reads the physical bytes */
		return put_empty(flat, reference, ARROW_BINARY);
	case DUCKDB_TYPE_UUID:
		return put_fixed_binary(flat, reference, 16);
	case DUCKDB_TYPE_DATE:
		return put_short(flat, reference, 0, ARROW_DATE);
	case DUCKDB_TYPE_TIME:
		return put_time(flat, reference, UNIT_MICRO);
	case DUCKDB_TYPE_TIME_NS:
		return put_time(flat, reference, UNIT_NANO);
	case DUCKDB_TYPE_TIMESTAMP:
	case DUCKDB_TYPE_TIMESTAMP_S: /* written in microseconds */
		return put_timestamp(flat, reference, UNIT_MICRO, NULL);
	case DUCKDB_TYPE_TIMESTAMP_MS:
		return put_timestamp(flat, reference, UNIT_MILLI, NULL);
	case DUCKDB_TYPE_TIMESTAMP_NS:
		return put_timestamp(flat, reference, UNIT_NANO, NULL);
	case DUCKDB_TYPE_TIMESTAMP_TZ:
		return put_timestamp(flat, reference, UNIT_MICRO, "UTC");
	case DUCKDB_TYPE_LIST:
	case DUCKDB_TYPE_ARRAY:
		return put_empty(flat, reference, ARROW_LIST);
	case DUCKDB_TYPE_STRUCT:
		return put_empty(flat, reference, ARROW_STRUCT);
	case DUCKDB_TYPE_MAP:
		return put_empty(flat, reference, ARROW_MAP);
	default:
		return ARROW_NONE;
	}
}

/* ---- fields ---- */

/* A field's children: a struct's members, a list's element, a map's entries. The types are ours to destroy. */
static size_t child_count(duckdb_logical_type type)
{
	switch (duckdb_get_type_id(type)) {
	case DUCKDB_TYPE_STRUCT:
		return duckdb_struct_type_child_count(type);
	case DUCKDB_TYPE_LIST:
	case DUCKDB_TYPE_ARRAY:
	case DUCKDB_TYPE_MAP:
		return 1;
	default:
		return 0;
	}
}

static duckdb_logical_type map_entry(duckdb_logical_type map)
{
	const char *names[] = {"key", "value"};
	duckdb_logical_type members[] = {duckdb_map_type_key_type(map), duckdb_map_type_value_type(map)};
	duckdb_logical_type entry = duckdb_create_struct_type(members, names, 2);
	duckdb_destroy_logical_type(&members[0]);
	duckdb_destroy_logical_type(&members[1]);
	return entry;
}

static duckdb_logical_type child_type(struct arena *arena, duckdb_logical_type type, size_t index, const char **name)
{
	switch (duckdb_get_type_id(type)) {
	case DUCKDB_TYPE_STRUCT: {
		char *given = duckdb_struct_type_child_name(type, index);
		*name = arena_strdup(arena, given ? given : "");
		duckdb_free(given);
		return duckdb_struct_type_child_type(type, index);
	}
	case DUCKDB_TYPE_MAP:
		*name = "key_value";
		return map_entry(type);
	case DUCKDB_TYPE_ARRAY:
		*name = "element";
		return duckdb_array_type_child_type(type);
	default:
		*name = "element";
		return duckdb_list_type_child_type(type);
	}
}

static void put_dictionary(struct encoder *encoder, size_t reference)
{
	size_t places[2];
	flat_table(&encoder->flat, reference, (const uint8_t[]){8, 4}, 2, places);
	flat_set(&encoder->flat, places[0], (uint64_t)encoder->next_dictionary++, 8);
	put_int(&encoder->flat, places[1], 32, true);
}

enum { FIELD_NAME, FIELD_NULLABLE, FIELD_TYPE_NUMBER, FIELD_TYPE, FIELD_DICTIONARY, FIELD_CHILDREN, FIELD_COUNT };

/* `may_be_null` is false for a map's entries and their keys only. */
static void put_field(struct encoder *encoder, size_t reference, const char *name, duckdb_logical_type type, bool dictionary,
					  bool may_be_null)
{
	size_t places[FIELD_COUNT];
	const uint8_t widths[FIELD_COUNT] = {4, 1, 1, 4, dictionary ? 4 : 0, 4};
	struct flat *flat = &encoder->flat;
	flat_table(flat, reference, widths, FIELD_COUNT, places);
	flat_text(flat, places[FIELD_NAME], name);
	flat_set(flat, places[FIELD_NULLABLE], may_be_null, 1);
	enum arrow_type number = put_type(flat, places[FIELD_TYPE], type);
	if (number == ARROW_NONE && !encoder->refused)
		encoder->refused = logical_name(encoder->arena, type);
	flat_set(flat, places[FIELD_TYPE_NUMBER], (uint64_t)number, 1);
	if (dictionary)
		put_dictionary(encoder, places[FIELD_DICTIONARY]);
	size_t count = child_count(type), first = flat_vector(flat, places[FIELD_CHILDREN], count);
	bool map = duckdb_get_type_id(type) == DUCKDB_TYPE_MAP, entry = !may_be_null;
	for (size_t i = 0; i < count; i++) {
		const char *child_name;
		duckdb_logical_type child = child_type(encoder->arena, type, i, &child_name);
		put_field(encoder, first + 4 * i, child_name, child, false, !map && !(entry && i == 0));
		duckdb_destroy_logical_type(&child);
	}
}

static void put_metadata(struct flat *flat, size_t reference, const struct strings *metadata)
{
	size_t first = flat_vector(flat, reference, metadata->count / 2);
	for (size_t i = 0; i + 1 < metadata->count; i += 2) {
		size_t places[2];
		flat_table(flat, first + 2 * i, (const uint8_t[]){4, 4}, 2, places);
		flat_text(flat, places[0], metadata->at[i]);
		flat_text(flat, places[1], metadata->at[i + 1]);
	}
}

/* ---- the message ---- */

static const char *base64(struct arena *arena, const uint8_t *bytes, size_t count)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *out = arena_alloc(arena, (count + 2) / 3 * 4 + 1), *to = out;
	for (size_t i = 0; i < count; i += 3) {
		uint32_t three = (uint32_t)bytes[i] << 16;
		three |= i + 1 < count ? (uint32_t)bytes[i + 1] << 8 : 0;
		three |= i + 2 < count ? bytes[i + 2] : 0;
		*to++ = digits[three >> 18];
		*to++ = digits[three >> 12 & 63];
		*to++ = i + 1 < count ? digits[three >> 6 & 63] : '=';
		*to++ = i + 2 < count ? digits[three & 63] : '=';
	}
	return out;
}

/* The frame of a message in a stream: a mark, the length of the padded FlatBuffer, the FlatBuffer. */
static const char *encapsulated(struct arena *arena, struct flat *flat)
{
	flat_pad(flat, 8);
	uint8_t *out = arena_alloc(arena, flat->count + 8);
	memset(out, 0xff, 4);
	for (int i = 0; i < 4; i++)
		out[4 + i] = (uint8_t)(flat->count >> 8 * i);
	memcpy(out + 8, flat->at, flat->count);
	return base64(arena, out, flat->count + 8);
}

struct arrow_columns {
	duckdb_logical_type *types;
	const char **names;
	size_t count;
};

recloser_status arrow_columns_of(struct engine *engine, struct arena *arena, const char *select,
								 const struct arrow_columns **out, recloser_error *error)
{
	struct arrow_columns *columns = arena_alloc(arena, sizeof *columns);
	*columns = (struct arrow_columns){0};
	RC_TRY(logical_types(engine, arena, "describe the columns for Arrow", select, &columns->types, &columns->names, &columns->count,
						 error));
	*out = columns;
	return RECLOSER_OK;
}

recloser_status arrow_schema_text(struct arena *arena, const struct arrow_columns *columns,
								  const struct strings *dictionary_columns, const struct strings *metadata, const char **out,
								  recloser_error *error)
{
	size_t message[3], schema[3], count = columns->count;
	struct encoder encoder = {.flat = flat_on(arena), .arena = arena};
	struct flat *flat = &encoder.flat;
	bool has_metadata = metadata && metadata->count;
	flat_table(flat, 0, (const uint8_t[]){2, 1, 4}, 3, message);
	flat_set(flat, message[0], METADATA_V5, 2);
	flat_set(flat, message[1], HEADER_SCHEMA, 1);
	flat_table(flat, message[2], (const uint8_t[]){0, 4, has_metadata ? 4 : 0}, 3, schema);
	size_t first = flat_vector(flat, schema[1], count);
	for (size_t i = 0; i < count; i++) {
		bool dictionary = dictionary_columns && strings_has(dictionary_columns, columns->names[i]) &&
						  duckdb_get_type_id(columns->types[i]) == DUCKDB_TYPE_VARCHAR;
		put_field(&encoder, first + 4 * i, columns->names[i], columns->types[i], dictionary, true);
		if (encoder.refused)
			return error_set(error, RECLOSER_USAGE, "engine.type", "the column \"%s\" is %s, which is not stored", columns->names[i],
							 encoder.refused);
	}
	if (has_metadata)
		put_metadata(flat, schema[2], metadata);
	*out = encapsulated(arena, flat);
	return RECLOSER_OK;
}
