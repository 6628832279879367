/* SPDX-License-Identifier: Apache-2.0
 * A reader of Thrift's compact protocol, as far as page headers need it. It reads files of strangers: every step is bounded. */
#include "source/page_header.h"

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

/* Field 1 of the struct that comes next, an i32: num_values in the headers of both kinds of data page. */
static int64_t first_number(struct reader *r)
{
	int64_t field = 0, number = -1;
	for (enum thrift type; (type = next_field(r, &field)) != THRIFT_STOP;) {
		if (field == 1 && type == THRIFT_I32)
			number = next_zigzag(r);
		else
			skip_value(r, type, 1);
	}
	return number;
}

enum page_type { PAGE_DATA, PAGE_INDEX, PAGE_DICTIONARY, PAGE_DATA_V2 };

bool page_has_values(const struct page_header *header)
{
	return header->type == PAGE_DATA || header->type == PAGE_DATA_V2;
}

bool page_header_read(const unsigned char *at, const unsigned char *end, struct page_header *out)
{
	enum { TYPE = 1, COMPRESSED = 3, DATA = 5, DATA_V2 = 8 };
	struct reader reader = {.at = at, .end = end};
	int64_t field = 0;
	*out = (struct page_header){.type = -1, .compressed_bytes = -1, .values = -1};
	for (enum thrift type; (type = next_field(&reader, &field)) != THRIFT_STOP;) {
		if (field == TYPE && type == THRIFT_I32)
			out->type = next_zigzag(&reader);
		else if (field == COMPRESSED && type == THRIFT_I32)
			out->compressed_bytes = next_zigzag(&reader);
		else if ((field == DATA || field == DATA_V2) && type == THRIFT_STRUCT)
			out->values = first_number(&reader);
		else
			skip_value(&reader, type, 0);
	}
	out->header_bytes = reader.at - at;
	return !reader.bad && out->type >= 0 && out->compressed_bytes >= 0 && (!page_has_values(out) || out->values >= 0);
}
