/* SPDX-License-Identifier: Apache-2.0
 * What the pages of a Parquet file hold against what its footer says. */
#include "source/parquet_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "engine/engine.h"
#include "source/page_header.h"
#include "source/spool.h"

/* A header is some dozens of bytes, or more with long extremes in its statistics. The file is not mapped: all of it would be
 * counted as this process's memory. */
enum { WINDOW_FIRST = 512, WINDOW_MOST = 16 << 20, CRC_STEP = 64 << 10, DEEPEST = 64 };

struct pages {
	const struct input *input;
	int descriptor;
	unsigned char *window;
	size_t capacity;
};

/* Doubled, so that what is left behind on the arena is no more than what is used. */
static void make_room(struct arena *arena, struct pages *pages, size_t wanted)
{
	if (wanted <= pages->capacity)
		return;
	while (pages->capacity < wanted)
		pages->capacity = pages->capacity ? pages->capacity * 2 : WINDOW_FIRST;
	pages->window = arena_alloc(arena, pages->capacity);
}

/* Fill the window from `offset` on with `wanted` bytes, fewer at the end of the file. */
static recloser_status fill(const struct pages *pages, int64_t offset, size_t wanted, size_t *count, recloser_error *error)
{
	for (*count = 0; *count < wanted;) {
		ssize_t got = pread(pages->descriptor, pages->window + *count, wanted - *count, (off_t)offset + (off_t)*count);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_errno(error, "io.read", errno, "read", pages->input->path);
		if (got == 0)
			break;
		*count += (size_t)got;
	}
	return RECLOSER_OK;
}

/* The header at `offset`; *found is false when there is none. */
static recloser_status read_header(struct arena *arena, struct pages *pages, int64_t offset, struct page_header *out, bool *found,
								   recloser_error *error)
{
	for (size_t window = WINDOW_FIRST;; window *= 2) {
		size_t count;
		make_room(arena, pages, window);
		RC_TRY(fill(pages, offset, window, &count, error));
		*found = page_header_read(pages->window, pages->window + count, out);
		if (*found || count < window || window >= WINDOW_MOST)
			return RECLOSER_OK;
	}
}

/* What the footer says of a chunk, and of its column. */
struct claim {
	int64_t row_group, values, rows, begin, bytes;
	int64_t definition, repetition; /* the highest levels that the schema allows; negative: not known */
	const char *column, *codec, *encodings;
};

static recloser_status refuse(recloser_error *error, const struct input *input, const struct claim *claim, const char *what)
{
	error_set(error, RECLOSER_REFUSED, "source.damaged", "the Parquet file contradicts itself: %s", what);
	error_where(error, "%s, row group %" PRId64 ", column %s", input->path, claim->row_group, claim->column);
	return error_hint(error, "its writer made it so, or it was damaged; fetch it again, or tell the publisher");
}

/* ---- one page ---- */

/* One word of "PLAIN, RLE, RLE_DICTIONARY". The dictionary's indices have two names, of which writers put either. */
static bool has_encoding(const char *list, int64_t encoding)
{
	const char *name = page_encoding_name(encoding);
	if (name && (strcmp(name, "PLAIN_DICTIONARY") == 0 || strcmp(name, "RLE_DICTIONARY") == 0))
		return strstr(list, "_DICTIONARY") != NULL;
	size_t length = name ? strlen(name) : 0;
	for (const char *at = list; name && *at; at += strcspn(at, ","), at += strspn(at, ", "))
		if (strncmp(at, name, length) == 0 && (at[length] == ',' || !at[length]))
			return true;
	return false;
}

/* What a header says against the footer: the engine would take the page's bytes for others. NULL: nothing. */
static const char *wrong_header(struct arena *arena, const struct claim *claim, const struct page_header *header)
{
	bool plain = header->is_plain || strcmp(claim->codec, "UNCOMPRESSED") == 0;
	if (plain && header->bytes != header->compressed_bytes)
		return arena_printf(arena, "it is not compressed, but is said to take %" PRId64 " bytes for %" PRId64, header->compressed_bytes,
							header->bytes);
	if (!page_has_values(header))
		return NULL;
	if (*claim->encodings && !has_encoding(claim->encodings, header->encoding))
		return arena_printf(arena, "it is encoded as %s, which its footer does not list (%s)",
							page_encoding_name(header->encoding) ? page_encoding_name(header->encoding) : "nothing that is known",
							claim->encodings);
	int64_t levels = header->repetition_bytes + header->definition_bytes;
	if (levels > header->compressed_bytes)
		return arena_printf(arena, "its levels would take %" PRId64 " of its %" PRId64 " bytes", levels, header->compressed_bytes);
	return NULL;
}

/* The levels of a version 2 page: repetition, then definition. A length that is wrong moves all values that stand behind. */
static recloser_status wrong_levels(struct arena *arena, struct pages *pages, const struct claim *claim, int64_t offset,
									const struct page_header *header, const char **wrong, recloser_error *error)
{
	size_t repetition = (size_t)header->repetition_bytes, levels = repetition + (size_t)header->definition_bytes, count;
	if (!header->is_v2 || claim->definition < 0)
		return RECLOSER_OK;
	make_room(arena, pages, levels);
	RC_TRY(fill(pages, offset, levels, &count, error));
	const unsigned char *at = pages->window;
	if (count < levels || !page_levels_hold(at, at + repetition, claim->repetition, header->values) ||
		!page_levels_hold(at + repetition, at + levels, claim->definition, header->values))
		*wrong = arena_printf(arena, "its levels, %" PRId64 " and %" PRId64 " bytes, are not those of its %" PRId64 " values",
							  header->repetition_bytes, header->definition_bytes, header->values);
	return RECLOSER_OK;
}

/* The engine does not look at it. */
static recloser_status wrong_crc(struct arena *arena, struct pages *pages, int64_t offset, const struct page_header *header,
								 const char **wrong, recloser_error *error)
{
	uLong crc = crc32(0, NULL, 0);
	size_t count = 0;
	if (!header->has_crc)
		return RECLOSER_OK;
	make_room(arena, pages, CRC_STEP);
	for (int64_t left = header->compressed_bytes; left > 0; left -= (int64_t)count, offset += (int64_t)count) {
		RC_TRY(fill(pages, offset, left < CRC_STEP ? (size_t)left : CRC_STEP, &count, error));
		if (count == 0)
			break;
		crc = crc32(crc, pages->window, (uInt)count);
	}
	if (crc != header->crc)
		*wrong = arena_printf(arena, "its CRC is %08lx, its header says %08" PRIx32, crc, header->crc);
	return RECLOSER_OK;
}

/* `offset`: of the page, behind its header. */
static recloser_status check_page(struct arena *arena, struct pages *pages, const struct claim *claim, int64_t offset,
								  const struct page_header *header, recloser_error *error)
{
	const char *wrong = wrong_header(arena, claim, header);
	if (!wrong)
		RC_TRY(wrong_levels(arena, pages, claim, offset, header, &wrong, error));
	if (!wrong)
		RC_TRY(wrong_crc(arena, pages, offset, header, &wrong, error));
	if (!wrong)
		return RECLOSER_OK;
	return refuse(error, pages->input, claim,
				  arena_printf(arena, "of the page whose header stands at byte %" PRId64 ": %s", offset - header->header_bytes, wrong));
}

/* ---- one chunk ---- */

/* Writers before PARQUET-816 left the header of the dictionary out of the chunk's length. */
static bool ends_well(const struct claim *claim, int64_t at, int64_t dictionary_header)
{
	int64_t behind = at - claim->begin - claim->bytes;
	return behind == 0 || behind == dictionary_header;
}

static recloser_status check_chunk(struct arena *arena, struct pages *pages, const struct claim *claim, recloser_error *error)
{
	const struct input *input = pages->input;
	int64_t values = 0, at = claim->begin, bytes = (int64_t)input->bytes, dictionary_header = 0;
	if (at < 0 || at >= bytes)
		return refuse(error, input, claim, arena_printf(arena, "its pages would begin at byte %" PRId64, at));
	if (claim->bytes < 0 || claim->bytes > bytes - at)
		return refuse(error, input, claim, arena_printf(arena, "its pages would take %" PRId64 " bytes from byte %" PRId64 " on", claim->bytes, at));
	while (values < claim->values || at < claim->begin + claim->bytes) {
		struct page_header header;
		bool found;
		RC_TRY(read_header(arena, pages, at, &header, &found, error));
		if (!found || header.compressed_bytes > bytes - at - header.header_bytes)
			return refuse(error, input, claim,
						  arena_printf(arena, "%" PRId64 " of %" PRId64 " values are there, then byte %" PRId64 " begins no page", values,
									   claim->values, at));
		if (page_has_values(&header))
			values += header.values;
		else if (at == claim->begin)
			dictionary_header = header.header_bytes;
		at += header.header_bytes;
		RC_TRY(check_page(arena, pages, claim, at, &header, error));
		at += header.compressed_bytes;
	}
	if (values != claim->values)
		return refuse(error, input, claim,
					  arena_printf(arena, "its pages hold %" PRId64 " values, its footer says %" PRId64, values, claim->values));
	if (!ends_well(claim, at, dictionary_header))
		return refuse(error, input, claim,
					  arena_printf(arena, "its pages take %" PRId64 " bytes, its footer says %" PRId64, at - claim->begin, claim->bytes));
	if (claim->repetition == 0 && values != claim->rows)
		return refuse(error, input, claim,
					  arena_printf(arena, "it holds %" PRId64 " values, but its row group %" PRId64 " rows", values, claim->rows));
	return RECLOSER_OK;
}

/* ---- all chunks ---- */

/* The highest levels of the schema's leaves, in their order, which is that of the columns. */
struct leaves {
	const struct rows *schema;
	struct levels {
		int64_t definition, repetition;
	} *at;
	size_t count;
};

/* The element in row `row` of the schema and what is below it, which comes behind it; the row after them. */
static size_t walk_schema(struct leaves *leaves, size_t row, struct levels levels, int depth)
{
	const struct rows *schema = leaves->schema;
	if (row >= schema->row_count || depth > DEEPEST)
		return schema->row_count;
	const char *repetition = rows_at(schema, row, 0);
	int64_t children = rows_int(schema, row, 1);
	bool root = depth == 0, repeated = !root && repetition && strcmp(repetition, "REPEATED") == 0;
	levels.repetition += repeated;
	levels.definition += repeated || (!root && repetition && strcmp(repetition, "OPTIONAL") == 0);
	if (children == 0)
		leaves->at[leaves->count++] = levels;
	row++;
	for (int64_t i = 0; i < children && row < schema->row_count; i++)
		row = walk_schema(leaves, row, levels, depth + 1);
	return row;
}

static struct claim claim_of(const struct rows *chunks, size_t i, const struct leaves *leaves)
{
	size_t leaf = (size_t)rows_int(chunks, i, 4);
	struct levels levels = leaf < leaves->count ? leaves->at[leaf] : (struct levels){-1, -1};
	return (struct claim){.row_group = rows_int(chunks, i, 0), .values = rows_int(chunks, i, 1), .begin = rows_int(chunks, i, 2),
						  .column = rows_at(chunks, i, 3), .rows = rows_int(chunks, i, 5), .bytes = rows_int(chunks, i, 6),
						  .codec = rows_at(chunks, i, 7), .encodings = rows_at(chunks, i, 8), .definition = levels.definition,
						  .repetition = levels.repetition};
}

static recloser_status ask_footer(struct arena *arena, const struct source_request *request, const char *path, struct rows *chunks,
								  struct rows *schema, recloser_error *error)
{
	const char *file = sql_text(arena, path);
	/* Where the engine begins to read: at the dictionary, if the footer has one. */
	RC_TRY(engine_query(
		request->engine, arena, "list the column chunks",
		arena_printf(arena,
					 "SELECT row_group_id, num_values, CASE WHEN dictionary_page_offset >= 4 THEN dictionary_page_offset"
					 " ELSE data_page_offset END, path_in_schema, column_id, row_group_num_rows, total_compressed_size,"
					 " coalesce(compression, ''), coalesce(encodings, '') FROM parquet_metadata(%s) WHERE num_values > 0",
					 file),
		chunks, error));
	return engine_query(request->engine, arena, "look at the schema",
						arena_printf(arena, "SELECT repetition_type, num_children FROM parquet_schema(%s)", file), schema, error);
}

static recloser_status check_all(struct arena *arena, const struct source_request *request, const char *path, recloser_error *error)
{
	struct rows chunks, schema;
	int *descriptor = descriptor_on(arena);
	RC_TRY(ask_footer(arena, request, path, &chunks, &schema, error));
	struct leaves leaves = {.schema = &schema, .at = arena_array(arena, schema.row_count + 1, sizeof *leaves.at)};
	walk_schema(&leaves, 0, (struct levels){0, 0}, 0);
	*descriptor = open(path, O_RDONLY | O_CLOEXEC);
	if (*descriptor < 0)
		return error_errno(error, "io.open", errno, "open", request->input->path);
	struct pages pages = {.input = request->input, .descriptor = *descriptor};
	for (size_t i = 0; i < chunks.row_count; i++) {
		struct claim claim = claim_of(&chunks, i, &leaves);
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
