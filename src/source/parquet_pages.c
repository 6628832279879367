/* SPDX-License-Identifier: Apache-2.0
 * What the pages of a Parquet file hold against what its footer says. */
#include "source/parquet_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "engine/engine.h"
#include "source/page_header.h"
#include "source/spool.h"

/* A header is some dozens of bytes, or more with long extremes in its statistics. The file is not mapped: all of it would be
 * counted as this process's memory. */
enum { WINDOW_FIRST = 512, WINDOW_MOST = 16 << 20 };

struct pages {
	const struct input *input;
	int descriptor;
	unsigned char *window;
	size_t capacity;
};

/* The header at `offset`; *found is false when there is none. */
static recloser_status read_header(struct arena *arena, struct pages *pages, int64_t offset, struct page_header *out, bool *found,
								   recloser_error *error)
{
	for (;;) {
		size_t count = 0;
		while (count < pages->capacity) {
			ssize_t got = pread(pages->descriptor, pages->window + count, pages->capacity - count, (off_t)offset + (off_t)count);
			if (got < 0 && errno == EINTR)
				continue;
			if (got < 0)
				return error_errno(error, "io.read", errno, "read", pages->input->path);
			if (got == 0)
				break;
			count += (size_t)got;
		}
		*found = page_header_read(pages->window, pages->window + count, out);
		if (*found || count < pages->capacity || pages->capacity >= WINDOW_MOST)
			return RECLOSER_OK;
		pages->capacity *= 2;
		pages->window = arena_alloc(arena, pages->capacity);
	}
}

/* What the footer says of a chunk. */
struct claim {
	int64_t row_group, values, offset;
	const char *column;
};

static recloser_status refuse(recloser_error *error, const struct input *input, const struct claim *claim, const char *what)
{
	error_set(error, RECLOSER_REFUSED, "source.damaged", "the Parquet file contradicts itself: %s", what);
	error_where(error, "%s, row group %" PRId64 ", column %s", input->path, claim->row_group, claim->column);
	return error_hint(error, "its writer made it so, or it was damaged; fetch it again, or tell the publisher");
}

static recloser_status check_chunk(struct arena *arena, struct pages *pages, const struct claim *claim, recloser_error *error)
{
	const struct input *input = pages->input;
	int64_t values = 0, at = claim->offset, bytes = (int64_t)input->bytes;
	if (at < 0 || at >= bytes)
		return refuse(error, input, claim, arena_printf(arena, "its pages would begin at byte %" PRId64, at));
	while (values < claim->values) {
		struct page_header header;
		bool found;
		RC_TRY(read_header(arena, pages, at, &header, &found, error));
		if (!found || header.compressed_bytes > bytes - at - header.header_bytes)
			return refuse(error, input, claim,
						  arena_printf(arena, "%" PRId64 " of %" PRId64 " values are there, then byte %" PRId64 " begins no page", values,
									   claim->values, at));
		if (page_has_values(&header))
			values += header.values;
		at += header.header_bytes + header.compressed_bytes;
	}
	if (values == claim->values)
		return RECLOSER_OK;
	return refuse(error, input, claim,
				  arena_printf(arena, "its pages hold %" PRId64 " values, its footer says %" PRId64, values, claim->values));
}

static recloser_status check_all(struct arena *arena, const struct source_request *request, const char *path, recloser_error *error)
{
	struct rows chunks;
	int *descriptor = descriptor_on(arena);
	RC_TRY(engine_query(request->engine, arena, "list the column chunks",
						arena_printf(arena,
									 "SELECT row_group_id, num_values, data_page_offset, path_in_schema FROM parquet_metadata(%s)"
									 " WHERE num_values > 0",
									 sql_text(arena, path)),
						&chunks, error));
	*descriptor = open(path, O_RDONLY | O_CLOEXEC);
	if (*descriptor < 0)
		return error_errno(error, "io.open", errno, "open", request->input->path);
	struct pages pages = {.input = request->input, .descriptor = *descriptor, .window = arena_alloc(arena, WINDOW_FIRST),
						  .capacity = WINDOW_FIRST};
	for (size_t i = 0; i < chunks.row_count; i++) {
		struct claim claim = {rows_int(&chunks, i, 0), rows_int(&chunks, i, 1), rows_int(&chunks, i, 2), rows_at(&chunks, i, 3)};
		RC_TRY(check_chunk(arena, &pages, &claim, error));
	}
	return RECLOSER_OK;
}

recloser_status parquet_check_pages(struct arena *arena, const struct source_request *request, const char *path,
									recloser_error *error)
{
	struct arena *scratch = arena_new(arena); /* the descriptor goes with it: a run may have a thousand inputs */
	recloser_status status = check_all(scratch, request, path, error);
	arena_free(scratch);
	return status;
}
