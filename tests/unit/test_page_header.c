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
	static const unsigned char list[] = {0x15, 0x00, 0x15, 0x00, 0x15, 0x00, 0x29, 0x15, 0x00},
							   negative[] = {0x15, 0x00, 0x15, 0x00, 0x15, 0x01, 0x2c, 0x15, 0x02, 0x00, 0x00},
							   no_count[] = {0x15, 0x00, 0x15, 0x00, 0x15, 0x00, 0x00},
							   endless[] = {0x15, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00};
	unsigned char deep[64];
	struct page_header header;
	(void)state;
	memset(deep, 0x1c, sizeof deep); /* a struct in a struct in a struct ... */
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
		if (page_header_read(noise, noise + sizeof noise, &header))
			assert_true(header.header_bytes > 0 && header.header_bytes <= (int64_t)sizeof noise && header.compressed_bytes >= 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_each_kind),
		cmocka_unit_test(refuses_each_cut),
		cmocka_unit_test(refuses_what_is_none),
		cmocka_unit_test(survives_noise),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
