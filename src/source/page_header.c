/* SPDX-License-Identifier: Apache-2.0
 * A reader of Thrift's compact protocol, as far as page headers need it. It reads files of strangers: every step is bounded. */
#include "source/page_header.h"

#include <stddef.h>

enum thrift {
	THRIFT_STOP, THRIFT_TRUE, THRIFT_FALSE, THRIFT_BYTE, THRIFT_I16, THRIFT_I32, THRIFT_I64, THRIFT_DOUBLE, THRIFT_BINARY,
	THRIFT_LIST, THRIFT_SET, THRIFT_MAP, THRIFT_STRUCT
};
enum { DEEPEST = 8 }; /* a header nests three structs */

/* A read behind the end sets `bad`; from then on everything reads as 0, so that loops end. */
struct reader {
	const unsigned char *at, *end;
	bool bad;
};

static unsigned next_byte(struct reader *r)
{
	if (r->bad || r->at >= r->end) {
		r->bad = true;
		return 0;
	}
	return *r->at++;
}

static uint64_t next_varint(struct reader *r)
{
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		unsigned byte = next_byte(r);
		value |= (uint64_t)(byte & 0x7F) << shift;
		if (!(byte & 0x80))
			return value;
	}
	r->bad = true;
	return 0;
}

static int64_t next_zigzag(struct reader *r)
{
	uint64_t value = next_varint(r);
	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

static void skip_bytes(struct reader *r, uint64_t count)
{
	if (r->bad || count > (uint64_t)(r->end - r->at))
		r->bad = true;
	else
		r->at += count;
}

/* The next field of a struct: its number in `*field`, which holds the one before, and its type. */
static enum thrift next_field(struct reader *r, int64_t *field)
{
	unsigned byte = next_byte(r);
	if (r->bad || (byte & 0x0F) == THRIFT_STOP)
		return THRIFT_STOP;
	*field = byte >> 4 ? *field + (byte >> 4) : next_zigzag(r);
	return (enum thrift)(byte & 0x0F);
}

static void skip_value(struct reader *r, enum thrift type, int depth)
{
	int64_t field = 0;
	if (depth > DEEPEST)
		r->bad = true;
	switch (r->bad ? THRIFT_STOP : type) {
	case THRIFT_TRUE:
	case THRIFT_FALSE:
		return; /* the type is the value */
	case THRIFT_BYTE:
		skip_bytes(r, 1);
		return;
	case THRIFT_I16:
	case THRIFT_I32:
	case THRIFT_I64:
		(void)next_varint(r);
		return;
	case THRIFT_DOUBLE:
		skip_bytes(r, 8);
		return;
	case THRIFT_BINARY:
		skip_bytes(r, next_varint(r));
		return;
	case THRIFT_STRUCT:
		for (enum thrift inner; (inner = next_field(r, &field)) != THRIFT_STOP;)
			skip_value(r, inner, depth + 1);
		return;
	default:
		r->bad = true; /* page headers have no lists, sets and maps */
	}
}

enum page_type { PAGE_DATA, PAGE_INDEX, PAGE_DICTIONARY, PAGE_DATA_V2 };

bool page_has_values(const struct page_header *header)
{
	return header->type == PAGE_DATA || header->type == PAGE_DATA_V2;
}

/* DataPageHeader: the levels of such a page are compressed with it. */
static void read_data(struct reader *r, struct page_header *out)
{
	enum { VALUES = 1, ENCODING = 2 };
	int64_t field = 0;
	for (enum thrift type; (type = next_field(r, &field)) != THRIFT_STOP;) {
		if (field == VALUES && type == THRIFT_I32)
			out->values = next_zigzag(r);
		else if (field == ENCODING && type == THRIFT_I32)
			out->encoding = next_zigzag(r);
		else
			skip_value(r, type, 1);
	}
}

static void read_data_v2(struct reader *r, struct page_header *out)
{
	enum { VALUES = 1, ENCODING = 4, DEFINITION = 5, REPETITION = 6, COMPRESSED = 7 };
	int64_t field = 0;
	out->is_v2 = true;
	for (enum thrift type; (type = next_field(r, &field)) != THRIFT_STOP;) {
		if (field == VALUES && type == THRIFT_I32)
			out->values = next_zigzag(r);
		else if (field == ENCODING && type == THRIFT_I32)
			out->encoding = next_zigzag(r);
		else if (field == DEFINITION && type == THRIFT_I32)
			out->definition_bytes = next_zigzag(r);
		else if (field == REPETITION && type == THRIFT_I32)
			out->repetition_bytes = next_zigzag(r);
		else if (field == COMPRESSED && type == THRIFT_FALSE)
			out->is_plain = true;
		else
			skip_value(r, type, 1);
	}
}

/* All numbers of a header are signed 32-bit ones, and counts. */
static bool is_count(int64_t number)
{
	return number >= 0 && number <= INT32_MAX;
}

/* A page of values has the header of its kind and no other. */
static bool is_whole(const struct page_header *header)
{
	if (!is_count(header->type) || !is_count(header->bytes) || !is_count(header->compressed_bytes))
		return false;
	if (!page_has_values(header))
		return true;
	return is_count(header->values) && is_count(header->encoding) && is_count(header->definition_bytes) &&
		   is_count(header->repetition_bytes) && header->is_v2 == (header->type == PAGE_DATA_V2);
}

bool page_header_read(const unsigned char *at, const unsigned char *end, struct page_header *out)
{
	enum { TYPE = 1, BYTES = 2, COMPRESSED = 3, CRC = 4, DATA = 5, DATA_V2 = 8 };
	struct reader reader = {.at = at, .end = end};
	int64_t field = 0;
	*out = (struct page_header){.type = -1, .bytes = -1, .compressed_bytes = -1, .values = -1, .encoding = -1};
	for (enum thrift type; (type = next_field(&reader, &field)) != THRIFT_STOP;) {
		if (field == TYPE && type == THRIFT_I32)
			out->type = next_zigzag(&reader);
		else if (field == BYTES && type == THRIFT_I32)
			out->bytes = next_zigzag(&reader);
		else if (field == COMPRESSED && type == THRIFT_I32)
			out->compressed_bytes = next_zigzag(&reader);
		else if (field == CRC && type == THRIFT_I32) {
			out->has_crc = true;
			out->crc = (uint32_t)next_zigzag(&reader);
		} else if (field == DATA && type == THRIFT_STRUCT)
			read_data(&reader, out);
		else if (field == DATA_V2 && type == THRIFT_STRUCT)
			read_data_v2(&reader, out);
		else
			skip_value(&reader, type, 0);
	}
	out->header_bytes = reader.at - at;
	return !reader.bad && is_whole(out);
}

const char *page_encoding_name(int64_t encoding)
{
	static const char *const names[] = {"PLAIN", NULL, "PLAIN_DICTIONARY", "RLE", "BIT_PACKED", "DELTA_BINARY_PACKED",
										"DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY", "RLE_DICTIONARY", "BYTE_STREAM_SPLIT"};
	return encoding >= 0 && encoding < (int64_t)(sizeof names / sizeof *names) ? names[encoding] : NULL;
}

/* The last group of eight may go beyond the values; some writers leave the bytes out that would be beyond. Where all levels are
 * 0 there need be no bytes; some writers put the heads of runs, which are then of values without bits. */
bool page_levels_hold(const unsigned char *at, const unsigned char *end, int64_t highest, int64_t values)
{
	struct reader reader = {.at = at, .end = end};
	uint64_t width = 0, left = highest == 0 && at == end ? 0 : (uint64_t)values;
	while (highest >> width)
		width++;
	while (left && !reader.bad) {
		uint64_t head = next_varint(&reader), count = head >> 1, there = (uint64_t)(end - reader.at);
		if (!(head & 1)) {
			skip_bytes(&reader, (width + 7) / 8);
		} else {
			uint64_t groups = (left + 7) / 8, needed = (left * width + 7) / 8;
			if (count > groups)
				return false;
			skip_bytes(&reader, count == groups && there >= needed && there < count * width ? there : count * width);
			count = count == groups ? left : count * 8;
		}
		if (count == 0 || count > left)
			return false;
		left -= count;
	}
	return !reader.bad && left == 0 && reader.at == end;
}
