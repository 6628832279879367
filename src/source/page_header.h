/* SPDX-License-Identifier: Apache-2.0
 * The header that stands before each page of a Parquet file: parquet.thrift, PageHeader, in Thrift's compact protocol. */
#ifndef RECLOSER_SOURCE_PAGE_HEADER_H
#define RECLOSER_SOURCE_PAGE_HEADER_H

#include <stdbool.h>
#include <stdint.h>

struct page_header {
	int64_t type, bytes, compressed_bytes; /* bytes: when it is not compressed */
	int64_t values, encoding;              /* of data pages, nulls among the values */
	/* Of data pages of version 2, whose levels stand before the values and are never compressed; 0 in others. */
	int64_t definition_bytes, repetition_bytes;
	bool is_v2, is_plain; /* is_plain: says that it is not compressed, whatever the chunk is */
	bool has_crc;
	uint32_t crc;
	int64_t header_bytes; /* behind them the page begins */
};

/* Read the header at `at`. `end`: behind the last byte that may be read, in the header or behind it. False: not a header, or cut. */
bool page_header_read(const unsigned char *at, const unsigned char *end, struct page_header *out);
bool page_has_values(const struct page_header *header);
/* The encoding's name in the format, of which the engine's list of a chunk's encodings is made; NULL: there is no such encoding. */
const char *page_encoding_name(int64_t encoding);

/* Are the levels between `at` and `end`, runs of the RLE/bit-packed hybrid, those of `values` values and nothing more? Looks at
 * the head of each run only. `highest`: the highest level there can be. */
bool page_levels_hold(const unsigned char *at, const unsigned char *end, int64_t highest, int64_t values);

#endif
