/* SPDX-License-Identifier: Apache-2.0
 * Bytes of text sources: marks, encodings, compression, and what is said when they are not what they should be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <zlib.h>
#include <zstd.h>

#include "source/bytes.h"
#include "source/unpack.h"

struct bench {
	struct arena *arena;
	char directory[64], file[128];
	struct bytes bytes;
	recloser_error error;
};

static int set_up(void **state)
{
	struct bench *b = calloc(1, sizeof *b);
	b->arena = arena_new(NULL);
	strcpy(b->directory, "/tmp/recloser-bytes-XXXXXX");
	if (!mkdtemp(b->directory))
		return -1;
	snprintf(b->file, sizeof b->file, "%s/f", b->directory);
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;
	arena_free(b->arena);
	unlink(b->file);
	/* Nothing of the spool may be left by name. */
	int left = rmdir(b->directory);
	free(b);
	return left;
}

static recloser_status open_bytes(struct bench *b, const char *encoding, const char *content, size_t count)
{
	FILE *file = fopen(b->file, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(content, 1, count, file), count);
	fclose(file);
	error_clear(&b->error);
	recloser_status status = bytes_open(b->arena, b->file, encoding, b->directory, &b->bytes, &b->error);
	assert_int_equal(status, b->error.status);
	return status;
}

#define OPEN(encoding, literal) open_bytes(b, encoding, literal, sizeof(literal) - 1)
#define GIVES(encoding, literal, text)                                                                                      \
	do {                                                                                                                    \
		assert_int_equal(OPEN(encoding, literal), RECLOSER_OK);                                                             \
		assert_int_equal(b->bytes.count, sizeof(text) - 1);                                                                 \
		assert_memory_equal(b->bytes.at, text, sizeof(text) - 1);                                                           \
	} while (0)

static const char *where(struct bench *b, const char *rest)
{
	return arena_printf(b->arena, "%s%s", b->file, rest);
}

static void plain(void **state)
{
	struct bench *b = *state;
	GIVES(NULL, "abc\n", "abc\n");
	assert_string_equal(b->bytes.encoding, "UTF-8");
	GIVES(NULL, "", "");
	GIVES(NULL, "\xEF\xBB\xBF", "");
	GIVES(NULL,
		  "\xEF\xBB\xBF"
		  "a\xC3\xA9",
		  "a\xC3\xA9");
	GIVES("utf-8",
		  "\xEF\xBB\xBF"
		  "a\xC3\xA9",
		  "a\xC3\xA9");
	GIVES("UTF8", "a", "a");
	/* Only one mark is a mark. */
	GIVES(NULL,
		  "\xEF\xBB\xBF\xEF\xBB\xBF"
		  "a",
		  "\xEF\xBB\xBF"
		  "a");
	GIVES(NULL, "a\0b", "a\0b");
}

static void not_there(void **state)
{
	struct bench *b = *state;
	recloser_error *error = &b->error;
	assert_int_equal(bytes_open(b->arena, where(b, ".no"), NULL, b->directory, &b->bytes, error), RECLOSER_IO);
	assert_string_equal(error->what, arena_printf(b->arena, "cannot open %s.no: No such file or directory", b->file));
	error_clear(error);
	assert_int_equal(bytes_open(b->arena, b->directory, NULL, b->directory, &b->bytes, error), RECLOSER_IO);
	assert_non_null(strstr(error->what, "Is a directory"));
}

static void wide_with_a_mark(void **state)
{
	struct bench *b = *state;
	GIVES(NULL,
		  "\xFF\xFE"
		  "a\0\xE9\0\n\0",
		  "a\xC3\xA9\n");
	assert_string_equal(b->bytes.encoding, "UTF-16LE");
	GIVES(NULL,
		  "\xFE\xFF"
		  "\0a\0\xE9",
		  "a\xC3\xA9");
	assert_string_equal(b->bytes.encoding, "UTF-16BE");
	/* A pair of surrogates is one character. */
	GIVES(NULL, "\xFF\xFE\x3D\xD8\x00\xDE", "\xF0\x9F\x98\x80");
	GIVES(NULL,
		  "\xFF\xFE\0\0"
		  "a\0\0\0",
		  "a");
	GIVES(NULL,
		  "\0\0\xFE\xFF"
		  "\0\0\0a",
		  "a");
	GIVES(NULL, "\xFF\xFE", "");
	GIVES("utf-16",
		  "\xFE\xFF"
		  "\0a",
		  "a");
	GIVES("UTF-16", "a\0", "a");
	GIVES("UTF-16LE",
		  "\xFF\xFE"
		  "a\0",
		  "a");
	GIVES("utf-16be", "\0a", "a");
}

static void wide_damaged(void **state)
{
	struct bench *b = *state;
	assert_int_equal(OPEN(NULL, "\xFF\xFE"
								"a\0\n\0b"),
					 RECLOSER_REFUSED);
	assert_string_equal(b->error.what, "the text ends in the middle of a character of UTF-16LE");
	assert_string_equal(b->error.where, where(b, ", line 2, byte 6: 0x62"));
	assert_int_equal(OPEN(NULL, "\xFF\xFE"
								"a\0\x00\xDC"
								"b\0"),
					 RECLOSER_REFUSED);
	assert_string_equal(b->error.what, "a byte is not of the declared encoding UTF-16LE");
	assert_string_equal(b->error.where, where(b, ", line 1, byte 4: 0x00"));
}

static void wide_without_a_mark(void **state)
{
	struct bench *b = *state;
	assert_int_equal(OPEN(NULL, "i\0d\0,\0b\0\n\0"), RECLOSER_REFUSED);
	assert_string_equal(b->error.what, "the file is full of NUL bytes and looks like UTF-16LE without a mark");
	assert_string_equal(b->error.hint, "Declare `encoding: UTF-16LE`.");
	assert_int_equal(OPEN(NULL, "\0i\0d\0,\0b\0\n"), RECLOSER_REFUSED);
	assert_string_equal(b->error.hint, "Declare `encoding: UTF-16BE`.");
}

static void binary_under_a_text_name(void **state)
{
	struct bench *b = *state;
	assert_int_equal(OPEN(NULL, "PK\3\4\x14\0\6\0"), RECLOSER_REFUSED);
	assert_string_equal(b->error.code, "source.not_text");
	assert_string_equal(b->error.what, "the file is not a text but a ZIP archive or an XLSX workbook");
	assert_string_equal(b->error.hint, "Unpack it, or declare `format: xlsx`.");
	assert_int_equal(OPEN("windows-1252", "\xD0\xCF\x11\xE0\xA1\xB1"), RECLOSER_REFUSED);
	assert_int_equal(OPEN(NULL, "\xFD"
								"7zXZ\0....."),
					 RECLOSER_REFUSED);
	GIVES(NULL, "PK,7z,%PDF\n", "PK,7z,%PDF\n");
}

static void declared(void **state)
{
	struct bench *b = *state;
	static const char *const names[] = {"windows-1252", "Windows-1252", "cp1252", "CP1252", "windows1252"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		GIVES(names[i],
			  "R\xEDo \x96 \x80"
			  "5",
			  "R\xC3\xADo \xE2\x80\x93 \xE2\x82\xAC"
			  "5");
	static const char *const latin[] = {"latin1", "latin-1", "ISO-8859-1", "iso8859-1", "Latin1"};
	for (size_t i = 0; i < sizeof latin / sizeof *latin; i++)
		GIVES(latin[i], "\xFD\xC1", "\xC3\xBD\xC3\x81");
	static const char *const mac[] = {"macintosh", "MacRoman", "mac-roman", "x-mac-roman"};
	for (size_t i = 0; i < sizeof mac / sizeof *mac; i++)
		GIVES(mac[i], "R\x92o", "R\xC3\xADo");
	GIVES("shift_jis", "\x96\xBC\x91O", "\xE5\x90\x8D\xE5\x89\x8D");
	GIVES("Shift-JIS", "\x96\xBC", "\xE5\x90\x8D");
	/* A mark that says otherwise than the spec is not removed in silence: it is text of that encoding. */
	GIVES("windows-1252", "\xFF\xFE", "\xC3\xBF\xC3\xBE");
	assert_int_equal(OPEN("windows-1255x", "a"), RECLOSER_USAGE);
	assert_string_equal(b->error.what, "there is no encoding of the name \"windows-1255x\"");
}

static void declared_but_wrong(void **state)
{
	struct bench *b = *state;
	assert_int_equal(OPEN("windows-1252", "a\r\nb\rc\x81"
										  "d\n"),
					 RECLOSER_REFUSED);
	assert_string_equal(b->error.code, "source.encoding");
	assert_string_equal(b->error.what, "a byte is not of the declared encoding windows-1252");
	assert_string_equal(b->error.where, where(b, ", line 3, byte 6: 0x81"));
	assert_int_equal(OPEN("shift_jis", "ab\n\x96"), RECLOSER_REFUSED);
	assert_string_equal(b->error.where, where(b, ", line 2, byte 3: 0x96"));
	assert_int_equal(OPEN("utf-8", "\xFF\xFE"
								   "a\0"),
					 RECLOSER_REFUSED);
	assert_string_equal(b->error.hint, "It begins with the mark of UTF-16LE: leave `encoding` out, or declare that.");
}

static void undeclared(void **state)
{
	struct bench *b = *state;
	assert_int_equal(OPEN(NULL, "id,name\nQ1,R\xC3\xADo\nQ2,Norte \x96 Sur,3\nQ3,\x8E\n"), RECLOSER_REFUSED);
	assert_string_equal(b->error.code, "source.encoding");
	assert_string_equal(b->error.what, "the file is not UTF-8");
	assert_string_equal(b->error.where, where(b, ", line 3, byte 25: 0x96"));
	assert_string_equal(b->error.hint, "Declare `encoding:`. The place reads:\n"
									   "  \"Q2,Norte \xE2\x80\x93 Sur,3\" in windows-1252\n"
									   "  \"Q2,Norte \xC3\xB1 Sur,3\" in macintosh");
	/* A byte that Windows-1252 has not, far behind the first bad one. */
	assert_int_equal(OPEN(NULL, "Nari\x96o\nx\n\x8F\n"), RECLOSER_REFUSED);
	assert_string_equal(b->error.hint, "Declare `encoding:`. The place reads:\n"
									   "  \"Nari\xC3\xB1o\" in macintosh\n"
									   "  (windows-1252 has no characters for some bytes of this file)");
	/* Cut in the middle of a character. */
	assert_int_equal(OPEN(NULL, "a\xC3"), RECLOSER_REFUSED);
	assert_string_equal(b->error.where, where(b, ", line 1, byte 1: 0xC3"));
	assert_int_equal(OPEN(NULL, "\xED\xA0\x80"), RECLOSER_REFUSED); /* a surrogate */
	assert_int_equal(OPEN(NULL, "\xC0\x80"), RECLOSER_REFUSED);     /* overlong */
}

/* Larger than the decoder's buffer, so that pieces meet within characters and line ends. */
static void large_decoded(void **state)
{
	struct bench *b = *state;
	enum { PAIRS = 300001 };
	char *content = malloc(2 * PAIRS + 1);
	for (size_t i = 0; i < PAIRS; i++)
		memcpy(content + 2 * i, i % 3 == 0 ? "\r\n" : "\xE9\x80", 2);
	assert_int_equal(open_bytes(b, "windows-1252", content, 2 * PAIRS), RECLOSER_OK);
	assert_int_equal(b->bytes.count, 100001 * 2 + 200000 * 5);
	for (size_t i = 0, at = 0; i < PAIRS; i++) {
		size_t length = i % 3 == 0 ? 2 : 5;
		assert_memory_equal(b->bytes.at + at, i % 3 == 0 ? "\r\n" : "\xC3\xA9\xE2\x82\xAC", length);
		at += length;
	}
	content[2 * PAIRS] = '\x8D';
	assert_int_equal(open_bytes(b, "windows-1252", content, 2 * PAIRS + 1), RECLOSER_REFUSED);
	assert_string_equal(b->error.where, where(b, ", line 100002, byte 600002: 0x8D"));
	free(content);
}

/* ---- compression ---- */

static size_t gzip(const char *content, size_t count, char *out, size_t size)
{
	z_stream stream = {0};
	assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	stream.next_in = (Bytef *)content;
	stream.avail_in = (uInt)count;
	stream.next_out = (Bytef *)out;
	stream.avail_out = (uInt)size;
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	deflateEnd(&stream);
	return size - stream.avail_out;
}

static size_t zstd(const char *content, size_t count, char *out, size_t size)
{
	ZSTD_CCtx *context = ZSTD_createCCtx();
	ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
	size_t got = ZSTD_compress2(context, out, size, content, count);
	ZSTD_freeCCtx(context);
	assert_false(ZSTD_isError(got));
	return got;
}

typedef size_t packer(const char *, size_t, char *, size_t);

static void packed(struct bench *b, packer *pack, const char *word)
{
	char out[4096];
	size_t first = pack("id,name\n", 8, out, sizeof out);
	assert_int_equal(open_bytes(b, NULL, out, first), RECLOSER_OK);
	assert_int_equal(b->bytes.count, 8);
	assert_memory_equal(b->bytes.at, "id,name\n", 8);
	/* Several members or frames are one text. */
	size_t all = first + pack("1,R\xC3\xADo\n", 7, out + first, sizeof out - first);
	assert_int_equal(open_bytes(b, NULL, out, all), RECLOSER_OK);
	assert_int_equal(b->bytes.count, 15);
	assert_memory_equal(b->bytes.at, "id,name\n1,R\xC3\xADo\n", 15);
	/* Cut anywhere but between the two: refused. Within the first four bytes it is not even known as compressed. */
	for (size_t cut = 4; cut < all; cut++) {
		recloser_status status = open_bytes(b, NULL, out, cut);
		assert_int_equal(status, cut == first ? RECLOSER_OK : RECLOSER_REFUSED);
		if (cut == first)
			continue;
		assert_string_equal(b->error.code, "source.damaged");
		assert_string_equal(b->error.what, arena_printf(b->arena, "the %s stream ends in the middle", word));
	}
	/* A flipped bit anywhere never passes for the content. */
	for (size_t i = 4; i < all; i++) {
		out[i] ^= 0x10;
		if (open_bytes(b, NULL, out, all) == RECLOSER_OK)
			assert_memory_equal(b->bytes.at, "id,name\n1,R\xC3\xADo\n", b->bytes.count);
		out[i] ^= 0x10;
	}
	memcpy(out + all, "junk", 4);
	assert_int_equal(open_bytes(b, NULL, out, all + 4), RECLOSER_REFUSED);
	assert_string_equal(b->error.code, "source.damaged");
	/* An empty text, and an encoding inside. */
	assert_int_equal(open_bytes(b, NULL, out, pack("", 0, out, sizeof out)), RECLOSER_OK);
	assert_int_equal(b->bytes.count, 0);
	assert_int_equal(open_bytes(b, NULL, out,
								pack("\xFF\xFE"
									 "a\0",
									 4, out, sizeof out)),
					 RECLOSER_OK);
	assert_int_equal(b->bytes.count, 1);
	assert_int_equal(open_bytes(b, NULL, out, pack("a\xE9", 2, out, sizeof out)), RECLOSER_REFUSED);
	assert_string_equal(b->error.where, where(b, ", line 1, byte 1: 0xE9"));
	size_t head = pack("{\"a\": 1}", 8, out, sizeof out);
	char peek[8];
	assert_int_equal(unpack_peek(packing_of(out, head), out, head, peek, sizeof peek), 8);
	assert_memory_equal(peek, "{\"a\": 1}", 8);
}

static void gzipped(void **state)
{
	struct bench *b = *state;
	packed(b, gzip, "gzip");
	char out[256];
	size_t count = gzip("a\n", 2, out, sizeof out);
	memset(out + count, 0, 100);
	assert_int_equal(open_bytes(b, NULL, out, count + 100), RECLOSER_OK);
	assert_int_equal(b->bytes.count, 2);
}

static void zstandard(void **state)
{
	packed(*state, zstd, "zstd");
}

/* Content larger than the buffers, hardly compressible and highly compressible. */
static void large_packed(void **state)
{
	struct bench *b = *state;
	enum { COUNT = 3000000 };
	char *content = malloc(COUNT), *out = malloc(COUNT + COUNT / 10);
	unsigned seed = 5;
	for (size_t i = 0; i < COUNT; i++) {
		seed = seed * 1103515245u + 12345u;
		content[i] = i < COUNT / 2 ? (char)(' ' + (seed >> 16) % 90) : 'x';
	}
	packer *const packers[] = {gzip, zstd};
	for (size_t i = 0; i < 2; i++) {
		size_t count = packers[i](content, COUNT, out, COUNT + COUNT / 10);
		assert_int_equal(open_bytes(b, NULL, out, count), RECLOSER_OK);
		assert_int_equal(b->bytes.count, COUNT);
		assert_memory_equal(b->bytes.at, content, COUNT);
		assert_int_equal(open_bytes(b, NULL, out, count / 2), RECLOSER_REFUSED);
	}
	free(content);
	free(out);
}

/* Allocation number N fails, for every N: the call leaves through the guard, and freeing the arena gives everything back. */
static size_t allocations_left;

static void *failing_alloc(size_t bytes)
{
	return allocations_left-- ? malloc(bytes) : NULL;
}

static void memory_runs_out(void **state)
{
	struct bench *b = *state;
	static const struct arena_hooks hooks = {failing_alloc, free};
	char packed_content[256];
	size_t count = zstd("R\xEDo\n", 4, packed_content, sizeof packed_content);
	for (int kind = 0; kind < 2; kind++) {
		if (kind)
			count = gzip("R\xEDo\n", 4, packed_content, sizeof packed_content);
		assert_int_equal(open_bytes(b, "cp1252", packed_content, count), RECLOSER_OK);
		volatile bool passed = false;
		for (volatile size_t fail = 1; !passed && fail < 100; fail++) {
			allocations_left = fail;
			arena_set_hooks(&hooks);
			struct arena *volatile arena = arena_new(NULL);
			if (setjmp(*arena_guard(arena)) == 0) {
				struct bytes bytes;
				assert_int_equal(bytes_open(arena, b->file, "cp1252", b->directory, &bytes, &b->error), RECLOSER_OK);
				assert_int_equal(bytes.count, 5);
				passed = true;
			}
			arena_free(arena);
		}
		arena_set_hooks(NULL);
		assert_true(passed);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(plain),
		TEST(not_there),
		TEST(wide_with_a_mark),
		TEST(wide_damaged),
		TEST(wide_without_a_mark),
		TEST(binary_under_a_text_name),
		TEST(declared),
		TEST(declared_but_wrong),
		TEST(undeclared),
		TEST(large_decoded),
		TEST(gzipped),
		TEST(zstandard),
		TEST(large_packed),
		TEST(memory_runs_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
