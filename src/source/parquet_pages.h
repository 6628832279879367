/* SPDX-License-Identifier: Apache-2.0
 * A Parquet file says twice how many values a column chunk holds: in its footer, and in the header of each page. The engine
 * goes by the footer and never adds the pages up; a writer that got one of the two wrong would lose rows without a word. */
#ifndef RECLOSER_SOURCE_PARQUET_PAGES_H
#define RECLOSER_SOURCE_PARQUET_PAGES_H

#include "source/source.h"

/* Walk the page headers of every chunk and add their values up. `path` is the local file. RECLOSER_REFUSED names row group,
 * column and both counts, or the page whose header can't be read. Touches the headers only, not the pages.
 * Format: parquet.thrift, PageHeader, in Thrift's compact protocol. */
recloser_status parquet_check_pages(struct arena *arena, const struct source_request *request, const char *path,
									recloser_error *error) RC_CHECKED;

#endif
