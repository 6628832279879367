/* SPDX-License-Identifier: Apache-2.0
 * A Parquet file says twice how many values a column chunk holds: in its footer, and in the header of each page. The engine
 * goes by the footer and never adds the pages up; a writer that got one of the two wrong would lose rows without a word. Much
 * else in a header is believed as it stands: one byte of it, altered, gives other values. */
#ifndef RECLOSER_SOURCE_PARQUET_PAGES_H
#define RECLOSER_SOURCE_PARQUET_PAGES_H

#include "source/source.h"

/* Walk the pages of every chunk, and hold their headers against the footer: values, encodings, lengths, levels, and the CRC where
 * there is one. `path` is the local file. RECLOSER_REFUSED names row group, column, page and what contradicts what. Touches the
 * headers only, the levels of version 2, and the pages that have a CRC.
 * Format: parquet.thrift, PageHeader, in Thrift's compact protocol. */
recloser_status parquet_check_pages(struct arena *arena, const struct source_request *request, const char *path,
									recloser_error *error) RC_CHECKED;

#endif
