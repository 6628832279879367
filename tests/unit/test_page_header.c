/* SPDX-License-Identifier: Apache-2.0
 * Page headers: whole ones of each kind, cut ones, and ones made of noise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "source/page_header.h"

/* Each is followed by its page: 3 bytes. By hand from parquet.thrift: (field delta << 4 | type), zigzag numbers. */
static const unsigned char data_page[] = {
	0x15, 0x00,                                     /* 1 type: DATA_PAGE */
	0x15, 0x1a, 0x15, 0x06,                         /* 2 uncompressed: 13, 3 compressed: 3 */
	0x2c, 0x15, 0x2a, 0x15, 0x00, 0x15, 0x06, 0x15, 0x06, /* 5 data header: 21 values, PLAIN, RLE, RLE */
	0x1c, 0x18, 0x02, 'h', 'i', 0x36, 0x02, 0x00, 0x00,   /*   5 statistics: 1 max "hi", 4 distinct (i64) 1; both end */
	0x00, 'a', 'b', 'c',
};
static const unsigned char dictionary_page[] = {
	0x15, 0x04, 0x15, 0x06, 0x15, 0x06, 0x4c, 0x15, 0x08, 0x15, 0x00, 0x11, 0x00, 0x00, 'a', 'b', 'c',
};
static const unsigned char data_page_v2[] = {
	0x15, 0x06, 0x15, 0x06, 0x15, 0x06, 0x5c, 0x15, 0xd0, 0x0f, 0x15, 0x02, 0x15, 0xd0, 0x0f, 0x15, 0x10, 0x15, 0x04, 0x15,
	0x00, 0x12, 0x00, 0x00, 'a', 'b', 'c',
};

static void check(const unsigned char *bytes, size_t count, bool has_values, int64_t values)
{
	struct page_header header;
	assert_true(page_header_read(bytes, bytes + count, &header));
	assert_int_equal(page_has_values(&header), has_values);
	if (has_values)
		assert_int_equal(header.values, values);
	assert_int_equal(header.compressed_bytes, 3);
	assert_int_equal(header.header_bytes, count - 3);
}

static void reads_each_kind(void **state)
{
	(void)state;
	check(data_page, sizeof data_page, true, 21);
	check(dictionary_page, sizeof dictionary_page, false, 0);
	check(data_page_v2, sizeof data_page_v2, true, 1000);
}

/* All that is read of a header. */
static void reads_each_field(void **state)
{
	static const unsigned char v2[] = {
		0x15, 0x06, 0x15, 0x64, 0x15, 0x06, 0x15, 0x03, /* DATA_PAGE_V2, 50 bytes, 3 compressed, CRC -2 */
		0x4c, 0x15, 0xd0, 0x0f, 0x15, 0x02, 0x15, 0xc8, 0x0f, 0x15, 0x12, 0x15, 0x04, 0x15, 0x02, 0x12, 0x00, 0x00, 'a', 'b', 'c',
	}; /* 8: 1,000 values, 1 null, 996 rows, BYTE_STREAM_SPLIT, 2 bytes of definition and 1 of repetition levels, not compressed */
	struct page_header header;
	(void)state;
	assert_true(page_header_read(v2, v2 + sizeof v2, &header));
	assert_int_equal(header.bytes, 50);
	assert_true(header.has_crc && header.is_v2 && header.is_plain);
	assert_int_equal(header.crc, 0xfffffffe);
	assert_int_equal(header.definition_bytes, 2);
	assert_int_equal(header.repetition_bytes, 1);
	assert_string_equal(page_encoding_name(header.encoding), "BYTE_STREAM_SPLIT");
	assert_true(page_header_read(data_page, data_page + sizeof data_page, &header));
	assert_true(!header.has_crc && !header.is_v2 && !header.is_plain);
	assert_string_equal(page_encoding_name(header.encoding), "PLAIN");
	assert_null(page_encoding_name(1));
	assert_null(page_encoding_name(10));
	assert_null(page_encoding_name(-1));
}

static bool holds(int64_t highest, int64_t values, const char *hex)
{
	size_t count = strlen(hex) / 2;
	unsigned char *bytes = malloc(count + 1), *at = bytes + 1; /* of exact size */
	for (size_t i = 0; i < count; i++)
		at[i] = (unsigned char)strtoul((char[]){hex[2 * i], hex[2 * i + 1], 0}, NULL, 16);
	bool result = page_levels_hold(at, at + count, highest, values);
	free(bytes);
	return result;
}

static void counts_levels(void **state)
{
	(void)state;
	assert_true(holds(1, 100, "c80101"));            /* a run of 100 */
	assert_true(holds(1, 12, "0803" "03ff"));        /* a run of 4, eight in one group of a bit each */
	assert_true(holds(1, 12, "05ff0f"));             /* two groups, the second of them half needed */
	assert_true(holds(1, 3, "0307"));                /* one group, three values of it needed */
	assert_true(holds(3, 12, "05" "ffffff"));        /* two bits each; the byte that would be beyond is not written */
	assert_true(holds(3, 12, "05" "ffffffff"));
	assert_true(holds(300, 2, "04" "2c01"));         /* nine bits take two bytes */
	assert_true(holds(0, 68, ""));
	assert_true(holds(0, 68, "8801"));               /* runs of values without bits */
	assert_true(holds(1, 0, ""));
	assert_false(holds(1, 100, "c80101" "00"));      /* a byte too many */
	assert_false(holds(1, 100, "c801"));             /* one too few */
	assert_false(holds(1, 101, "c80101"));
	assert_false(holds(1, 99, "c80101"));
	assert_false(holds(1, 12, "05ff"));
	assert_false(holds(1, 12, "07ffffff"));          /* a group of which nothing is needed */
	assert_false(holds(1, 12, "0000" "05ffff"));     /* a run of nothing */
	assert_false(holds(0, 68, "8601"));
	assert_false(holds(0, 68, "03"));
	assert_false(holds(1, 1, "ffffffffffffffffffff7f"));
	assert_false(holds(3, INT32_MAX, "feffffffffffffffff01" "01"));
	assert_false(holds(3, INT32_MAX, "ffffffffffffffffff01" "01"));
	assert_false(holds(1, 1, ""));
}

/* Copies of exact size, so that a sanitizer sees a read behind the end. Only the page may be missing. */
static void refuses_each_cut(void **state)
{
	(void)state;
	for (size_t count = 0; count < sizeof data_page - 3; count++) {
		struct page_header header;
		unsigned char *cut = malloc(count + 1);
		memcpy(cut + 1, data_page, count);
		assert_false(page_header_read(cut + 1, cut + 1 + count, &header));
		free(cut);
	}
}

static void refuses_what_is_none(void **state)
{
	static const unsigned char other_kind[] = {0x15, 0x00, 0x15, 0x06, 0x15, 0x06, 0x5c, 0x15, 0x02, 0x15, 0x00, 0x15, 0x02, 0x15, 0x00, 0x00, 0x00};
	static const unsigned char list[] = {0x15, 0x00, 0x15, 0x00, 0x15, 0x00, 0x29, 0x15, 0x00},
							   negative[] = {0x15, 0x00, 0x15, 0x00, 0x15, 0x01, 0x2c, 0x15, 0x02, 0x00, 0x00},
							   no_count[] = {0x15, 0x00, 0x15, 0x00, 0x15, 0x00, 0x00},
							   endless[] = {0x15, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00};
	unsigned char deep[64];
	struct page_header header;
	(void)state;
	memset(deep, 0x1c, sizeof deep); /* a struct in a struct in a struct ... */
	assert_false(page_header_read(other_kind, other_kind + sizeof other_kind, &header)); /* a page of version 1 with the header of 2 */
	assert_false(page_header_read(list, list + sizeof list, &header));
	assert_false(page_header_read(negative, negative + sizeof negative, &header));
	assert_false(page_header_read(no_count, no_count + sizeof no_count, &header));
	assert_false(page_header_read(endless, endless + sizeof endless, &header));
	assert_false(page_header_read(deep, deep + sizeof deep, &header));
}

/* Whatever the bytes, a header that is taken lies before the end, and its page has a length. */
static void survives_noise(void **state)
{
	uint64_t seed = 42;
	(void)state;
	for (int i = 0; i < 200000; i++) {
		unsigned char noise[sizeof data_page];
		struct page_header header;
		memcpy(noise, data_page, sizeof noise);
		for (int k = 0; k < 4; k++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			noise[(seed >> 33) % sizeof noise] = (unsigned char)(seed >> 56);
		}
		if (page_levels_hold(noise, noise + sizeof noise, i % 6, i))
			assert_true(i > 0);
		if (page_header_read(noise, noise + sizeof noise, &header))
			assert_true(header.header_bytes > 0 && header.header_bytes <= (int64_t)sizeof noise && header.compressed_bytes >= 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_each_kind),
		cmocka_unit_test(reads_each_field),
		cmocka_unit_test(counts_levels),
		cmocka_unit_test(refuses_each_cut),
		cmocka_unit_test(refuses_what_is_none),
		cmocka_unit_test(survives_noise),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
