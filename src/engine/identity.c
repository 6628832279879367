/* SPDX-License-Identifier: Apache-2.0
 * One switch from the engine's types to Python's forms; docs/key.md has the table. */
#include "engine/identity.h"

#include <stdlib.h>

#include "base/digest.h"

static const char *type_refused(duckdb_type id)
{
	switch (id) {
	case DUCKDB_TYPE_SQLNULL:
	case DUCKDB_TYPE_VARCHAR:
	case DUCKDB_TYPE_BOOLEAN:
	case DUCKDB_TYPE_TINYINT:
	case DUCKDB_TYPE_SMALLINT:
	case DUCKDB_TYPE_INTEGER:
	case DUCKDB_TYPE_BIGINT:
	case DUCKDB_TYPE_UTINYINT:
	case DUCKDB_TYPE_USMALLINT:
	case DUCKDB_TYPE_UINTEGER:
	case DUCKDB_TYPE_UBIGINT:
	case DUCKDB_TYPE_HUGEINT:
	case DUCKDB_TYPE_DOUBLE:
	case DUCKDB_TYPE_DECIMAL:
	case DUCKDB_TYPE_DATE:
	case DUCKDB_TYPE_TIME:
	case DUCKDB_TYPE_TIMESTAMP:
	case DUCKDB_TYPE_TIMESTAMP_S:
	case DUCKDB_TYPE_TIMESTAMP_MS:
	case DUCKDB_TYPE_TIMESTAMP_NS:
	case DUCKDB_TYPE_TIMESTAMP_TZ:
	case DUCKDB_TYPE_UUID:
	case DUCKDB_TYPE_ENUM:
	case DUCKDB_TYPE_BLOB:
	case DUCKDB_TYPE_GEOMETRY:
		return NULL;
	case DUCKDB_TYPE_FLOAT:
		return "a FLOAT has two texts in Python (0.1 and 0.10000000149011612): cast it to DOUBLE or DECIMAL";
	default:
		return "this type has no one text in Python: cast it to VARCHAR, or leave it out of the identity";
	}
}

const char *identity_type_read(struct identity_type *out, duckdb_logical_type type)
{
	*out = (struct identity_type){.id = duckdb_get_type_id(type)};
	if (out->id == DUCKDB_TYPE_DECIMAL) {
		out->physical = duckdb_decimal_internal_type(type);
		out->scale = duckdb_decimal_scale(type);
	}
	if (out->id == DUCKDB_TYPE_ENUM) {
		out->physical = duckdb_enum_internal_type(type);
		uint32_t count = duckdb_enum_dictionary_size(type);
		out->words = calloc(count ? count : 1, sizeof *out->words);
		if (!out->words)
			return "out of memory";
		for (; out->word_count < count; out->word_count++) {
			char *word = duckdb_enum_dictionary_value(type, out->word_count);
			out->words[out->word_count] = word ? strdup(word) : NULL;
			duckdb_free(word);
			if (!out->words[out->word_count])
				return "out of memory";
		}
	}
	return type_refused(out->id);
}

void identity_type_free(struct identity_type *type)
{
	for (uint32_t i = 0; i < type->word_count; i++)
		free(type->words[i]);
	free(type->words);
	type->words = NULL;
	type->word_count = 0;
}

bool identity_type_copy(struct identity_type *to, const struct identity_type *from)
{
	*to = *from;
	to->words = NULL;
	to->word_count = 0;
	if (!from->words)
		return true;
	to->words = calloc(from->word_count ? from->word_count : 1, sizeof *to->words);
	if (!to->words)
		return false;
	for (; to->word_count < from->word_count; to->word_count++) {
		to->words[to->word_count] = strdup(from->words[to->word_count]);
		if (!to->words[to->word_count])
			return false;
	}
	return true;
}

/* A time in some unit as microseconds; false when it is outside or finer. `per_us` is the unit's number in a microsecond, or
 * negative: microseconds in the unit. */
static bool microseconds(int64_t value, int64_t per_us, int64_t *us)
{
	if (per_us > 0) {
		*us = value / per_us;
		return value % per_us == 0;
	}
	return !__builtin_mul_overflow(value, -per_us, us);
}

static size_t timestamp_text(int64_t value, int64_t per_us, char *out)
{
	int64_t us;
	return microseconds(value, per_us, &us) ? pystr_timestamp(us, out) : 0;
}

static enum identity_form hex_text(const duckdb_string_t *string, struct identity_buffer *buffer, const char **text,
								   size_t *length)
{
	size_t count = duckdb_string_t_length(*string), need = 2 * count + 1;
	if (need > buffer->capacity) {
		char *larger = realloc(buffer->hex, need * 2);
		if (!larger)
			return IDENTITY_NO_MEMORY;
		buffer->hex = larger;
		buffer->capacity = need * 2;
	}
	hex_of((const uint8_t *)duckdb_string_t_data((duckdb_string_t *)string), count, buffer->hex);
	*text = buffer->hex;
	*length = 2 * count;
	return IDENTITY_TEXT;
}

static size_t number_text(const struct identity_type *type, const void *data, idx_t row, char *out)
{
	switch (type->id) {
	case DUCKDB_TYPE_BOOLEAN:
		return pystr_bool(((const bool *)data)[row], out);
	case DUCKDB_TYPE_TINYINT:
		return pystr_int(((const int8_t *)data)[row], out);
	case DUCKDB_TYPE_SMALLINT:
		return pystr_int(((const int16_t *)data)[row], out);
	case DUCKDB_TYPE_INTEGER:
		return pystr_int(((const int32_t *)data)[row], out);
	case DUCKDB_TYPE_BIGINT:
		return pystr_int(((const int64_t *)data)[row], out);
	case DUCKDB_TYPE_UTINYINT:
		return pystr_uint(((const uint8_t *)data)[row], out);
	case DUCKDB_TYPE_USMALLINT:
		return pystr_uint(((const uint16_t *)data)[row], out);
	case DUCKDB_TYPE_UINTEGER:
		return pystr_uint(((const uint32_t *)data)[row], out);
	case DUCKDB_TYPE_UBIGINT:
		return pystr_uint(((const uint64_t *)data)[row], out);
	case DUCKDB_TYPE_HUGEINT:
		return pystr_int128(cell_int128(data, row), out);
	case DUCKDB_TYPE_DOUBLE:
		return pystr_double(((const double *)data)[row], out);
	case DUCKDB_TYPE_DECIMAL:
		return pystr_decimal(cell_decimal(type->physical, data, row), type->scale, out);
	default:
		return 0;
	}
}

static size_t time_text(duckdb_type id, const void *data, idx_t row, char *out)
{
	if (id == DUCKDB_TYPE_DATE)
		return pystr_date(((const int32_t *)data)[row], out);
	int64_t value = ((const int64_t *)data)[row];
	switch (id) {
	case DUCKDB_TYPE_TIME:
		return pystr_time(value, out);
	case DUCKDB_TYPE_TIMESTAMP:
		return timestamp_text(value, 1, out);
	case DUCKDB_TYPE_TIMESTAMP_S:
		return timestamp_text(value, -1000000, out);
	case DUCKDB_TYPE_TIMESTAMP_MS:
		return timestamp_text(value, -1000, out);
	case DUCKDB_TYPE_TIMESTAMP_NS:
		return timestamp_text(value, 1000, out);
	case DUCKDB_TYPE_TIMESTAMP_TZ:
		return pystr_timestamptz(value, out);
	default:
		return 0;
	}
}

enum identity_form identity_text(const struct identity_type *type, const void *data, idx_t row,
								 struct identity_buffer *buffer, const char **text, size_t *length)
{
	*text = buffer->fixed;
	switch (type->id) {
	case DUCKDB_TYPE_VARCHAR: {
		duckdb_string_t *string = (duckdb_string_t *)data + row;
		*text = duckdb_string_t_data(string);
		*length = duckdb_string_t_length(*string);
		return IDENTITY_TEXT;
	}
	case DUCKDB_TYPE_ENUM: {
		uint32_t word = cell_enum(type->physical, data, row);
		*text = word < type->word_count ? type->words[word] : "";
		*length = strlen(*text);
		return IDENTITY_TEXT;
	}
	case DUCKDB_TYPE_BLOB:
	case DUCKDB_TYPE_GEOMETRY:
		return hex_text((const duckdb_string_t *)data + row, buffer, text, length);
	case DUCKDB_TYPE_UUID: {
		uint8_t bytes[16];
		cell_uuid(data, row, bytes);
		*length = pystr_uuid(bytes, buffer->fixed);
		return IDENTITY_TEXT;
	}
	default:
		*length = number_text(type, data, row, buffer->fixed);
		if (*length == 0)
			*length = time_text(type->id, data, row, buffer->fixed);
		return *length ? IDENTITY_TEXT : IDENTITY_NO_FORM;
	}
}
