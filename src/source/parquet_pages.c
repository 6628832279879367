/* SPDX-License-Identifier: Apache-2.0
 * What the pages of a Parquet file hold against what its footer says. */
#include "source/parquet_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/engine.h"
#include "source/page_header.h"

struct mapped {
	const unsigned char *at;
	size_t bytes;
};

static void unmap(void *slot)
{
	struct mapped *file = slot;
	if (file->bytes)
		munmap((void *)(uintptr_t)file->at, file->bytes);
}

static recloser_status map_file(struct arena *arena, const struct input *input, const char *path, struct mapped **out,
								recloser_error *error)
{
	struct mapped *file = arena_alloc(arena, sizeof *file);
	int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	if (descriptor < 0)
		return error_errno(error, "io.open", errno, "open", input->path);
	void *at = mmap(NULL, input->bytes, PROT_READ, MAP_SHARED, descriptor, 0);
	int failed = at == MAP_FAILED ? errno : 0;
	close(descriptor);
	if (failed)
		return error_errno(error, "io.read", failed, "map", input->path);
	*file = (struct mapped){at, input->bytes};
	arena_defer(arena, unmap, file);
	*out = file;
	return RECLOSER_OK;
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

static recloser_status check_chunk(struct arena *arena, const struct input *input, const struct mapped *file,
								   const struct claim *claim, recloser_error *error)
{
	int64_t values = 0;
	const unsigned char *end = file->at + file->bytes;
	if (claim->offset < 0 || (uint64_t)claim->offset >= file->bytes)
		return refuse(error, input, claim, arena_printf(arena, "its pages would begin at byte %" PRId64, claim->offset));
	for (const unsigned char *at = file->at + claim->offset; values < claim->values;) {
		struct page_header header;
		if (!page_header_read(at, end, &header))
			return refuse(error, input, claim,
						  arena_printf(arena, "%" PRId64 " of %" PRId64 " values are there, then byte %td begins no page", values,
									   claim->values, at - file->at));
		if (page_has_values(&header))
			values += header.values;
		at = header.page + header.compressed_bytes;
	}
	if (values == claim->values)
		return RECLOSER_OK;
	return refuse(error, input, claim,
				  arena_printf(arena, "its pages hold %" PRId64 " values, its footer says %" PRId64, values, claim->values));
}

recloser_status parquet_check_pages(struct arena *arena, const struct source_request *request, const char *path,
									recloser_error *error)
{
	struct rows chunks;
	struct mapped *file = NULL;
	RC_TRY(engine_query(request->engine, arena, "list the column chunks",
						arena_printf(arena,
									 "SELECT row_group_id, num_values, data_page_offset, path_in_schema FROM parquet_metadata(%s)"
									 " WHERE num_values > 0",
									 sql_text(arena, path)),
						&chunks, error));
	RC_TRY(map_file(arena, request->input, path, &file, error));
	for (size_t i = 0; i < chunks.row_count; i++) {
		struct claim claim = {rows_int(&chunks, i, 0), rows_int(&chunks, i, 1), rows_int(&chunks, i, 2), rows_at(&chunks, i, 3)};
		RC_TRY(check_chunk(arena, request->input, file, &claim, error));
	}
	return RECLOSER_OK;
}
