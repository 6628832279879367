/* SPDX-License-Identifier: Apache-2.0
 * zlib and libzstd, streaming from one map to a spool file. */
#define ZLIB_CONST
#include "source/unpack.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "source/spool.h"

enum { OUT_BYTES = 1 << 18, IN_MAX = 1 << 30 };
enum { GZIP_WINDOW = 15 + 16 }; /* largest window, gzip wrapper */

enum packing packing_of(const char *at, size_t count)
{
	if (count >= 3 && memcmp(at, "\x1f\x8b\x08", 3) == 0)
		return PACKING_GZIP;
	if (count >= 4 && memcmp(at, "\x28\xb5\x2f\xfd", 4) == 0)
		return PACKING_ZSTD;
	return PACKING_NONE;
}

static recloser_status damaged(const char *word, const char *path, const char *why, uint64_t in, uint64_t out,
							   recloser_error *error)
{
	error_set(error, RECLOSER_REFUSED, "source.damaged", "the %s stream %s", word, why);
	error_where(error, "%s, compressed byte %llu, after %llu bytes of content", path, (unsigned long long)in,
				(unsigned long long)out);
	return error_hint(error, "The file is probably cut or was changed on its way; get it again.");
}

static void end_inflate(void *pointer)
{
	inflateEnd(pointer);
}

/* Some writers pad the last block with zeros; anything else after a member is not part of the file's content. */
static bool only_zeros(const char *at, size_t count)
{
	while (count > 0 && at[count - 1] == '\0')
		count--;
	return count == 0;
}

static recloser_status unpack_gzip(struct arena *arena, const char *path, const char *in, size_t in_count,
								   struct spool *spool, recloser_error *error)
{
	z_stream *stream = arena_alloc(arena, sizeof *stream);
	arena_defer(arena, end_inflate, stream); /* inflateEnd of a zeroed stream does nothing */
	if (inflateInit2(stream, GZIP_WINDOW) != Z_OK)
		arena_out_of_memory(arena);
	char *out = arena_alloc(arena, OUT_BYTES);
	const char *at = in, *end = in + in_count;
	for (;;) {
		stream->next_in = (const Bytef *)at;
		stream->avail_in = (uInt)(end - at < IN_MAX ? end - at : IN_MAX);
		stream->next_out = (Bytef *)out;
		stream->avail_out = OUT_BYTES;
		int result = inflate(stream, Z_NO_FLUSH);
		at = (const char *)stream->next_in;
		size_t made = OUT_BYTES - stream->avail_out;
		RC_TRY(spool_add(spool, out, made, error));
		if (result == Z_MEM_ERROR)
			arena_out_of_memory(arena);
		if (result == Z_STREAM_END) {
			if (only_zeros(at, (size_t)(end - at)))
				return RECLOSER_OK;
			if (packing_of(at, (size_t)(end - at)) != PACKING_GZIP)
				return damaged("gzip", path, end - at < 3 ? "ends in the middle" : "is followed by bytes that are not gzip",
							   (uint64_t)(at - in), spool->bytes, error);
			inflateReset(stream);
			continue;
		}
		if (result == Z_BUF_ERROR || (result == Z_OK && at == end && made == 0))
			return damaged("gzip", path, "ends in the middle", (uint64_t)(at - in), spool->bytes, error);
		if (result != Z_OK)
			return damaged("gzip", path, stream->msg ? stream->msg : "is damaged", (uint64_t)(at - in), spool->bytes, error);
	}
}

static void free_zstd(void *box)
{
	ZSTD_freeDStream(*(ZSTD_DStream **)box);
}

static recloser_status unpack_zstd(struct arena *arena, const char *path, const char *in, size_t in_count,
								   struct spool *spool, recloser_error *error)
{
	ZSTD_DStream **box = arena_alloc(arena, sizeof(ZSTD_DStream *));
	arena_defer(arena, free_zstd, (void *)box);
	ZSTD_DStream *stream = *box = ZSTD_createDStream();
	if (!stream)
		arena_out_of_memory(arena);
	char *out = arena_alloc(arena, OUT_BYTES);
	ZSTD_inBuffer input = {in, in_count, 0};
	for (;;) {
		ZSTD_outBuffer output = {out, OUT_BYTES, 0};
		size_t left = ZSTD_decompressStream(stream, &output, &input);
		RC_TRY(spool_add(spool, out, output.pos, error));
		if (ZSTD_isError(left))
			return damaged("zstd", path, arena_printf(arena, "is damaged (%s)", ZSTD_getErrorName(left)), input.pos,
						   spool->bytes, error);
		if (input.pos < in_count || output.pos == OUT_BYTES)
			continue; /* the next block or frame, or more of this one's content */
		if (left != 0)
			return damaged("zstd", path, "ends in the middle", input.pos, spool->bytes, error);
		return RECLOSER_OK;
	}
}

recloser_status unpack(struct arena *arena, enum packing packing, const char *path, const char *spool_directory,
					   const char **at, size_t *count, recloser_error *error)
{
	struct spool spool;
	RC_TRY(spool_open(arena, spool_directory, &spool, error));
	RC_TRY(packing == PACKING_GZIP ? unpack_gzip(arena, path, *at, *count, &spool, error)
								   : unpack_zstd(arena, path, *at, *count, &spool, error));
	return spool_map(arena, &spool, at, count, error);
}

size_t unpack_peek(enum packing packing, const char *at, size_t count, char *out, size_t size)
{
	if (packing == PACKING_GZIP) {
		z_stream stream = {.next_in = (const Bytef *)at,
						   .avail_in = (uInt)(count < IN_MAX ? count : IN_MAX),
						   .next_out = (Bytef *)out,
						   .avail_out = (uInt)size};
		if (inflateInit2(&stream, GZIP_WINDOW) != Z_OK)
			return 0;
		inflate(&stream, Z_SYNC_FLUSH);
		inflateEnd(&stream);
		return size - stream.avail_out;
	}
	ZSTD_DStream *stream = ZSTD_createDStream();
	if (!stream)
		return 0;
	ZSTD_inBuffer input = {at, count, 0};
	ZSTD_outBuffer output = {out, size, 0};
	while (output.pos < size && input.pos < count && !ZSTD_isError(ZSTD_decompressStream(stream, &output, &input)))
		;
	ZSTD_freeDStream(stream);
	return output.pos;
}
