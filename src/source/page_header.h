/* SPDX-License-Identifier: Apache-2.0
 * The header that stands before each page of a Parquet file: parquet.thrift, PageHeader, in Thrift's compact protocol. */
#ifndef RECLOSER_SOURCE_PAGE_HEADER_H
#define RECLOSER_SOURCE_PAGE_HEADER_H

#include <stdbool.h>
#include <stdint.h>

struct page_header {
	int64_t type, compressed_bytes, values; /* values: of data pages, nulls among them */
	int64_t header_bytes;                   /* behind them the page begins */
};

/* Read the header at `at`. `end`: behind the last byte that may be read, in the header or behind it. False: not a header, or cut. */
bool page_header_read(const unsigned char *at, const unsigned char *end, struct page_header *out);
bool page_has_values(const struct page_header *header);

#endif
