/* SPDX-License-Identifier: Apache-2.0
 * Finding the few bytes that matter in a CSV text. A scan looks at 64 bytes at a time and keeps one bit for each byte that
 * is one of up to three marks, so that the cost a byte is a fraction of a comparison, and the reader only ever sees marks.
 *
 * Nothing outside [at, end) is read: the last bytes of a mapped file may be the last bytes of a page. */
#ifndef RECLOSER_SOURCE_CSV_SCAN_H
#define RECLOSER_SOURCE_CSV_SCAN_H

#include <stddef.h>
#include <stdint.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

struct csv_scan {
	const char *block; /* where the bits of `marks` start */
	const char *end;
	uint64_t marks; /* bit i: block[i] is a mark that was not given out yet */
	char wanted[3];
};

static inline uint64_t csv_scan_plain(const struct csv_scan *scan, size_t count)
{
	uint64_t marks = 0;
	for (size_t i = 0; i < count; i++) {
		char c = scan->block[i];
		marks |= (uint64_t)((c == scan->wanted[0]) | (c == scan->wanted[1]) | (c == scan->wanted[2])) << i;
	}
	return marks;
}

static inline uint64_t csv_scan_block(const struct csv_scan *scan)
{
	size_t left = (size_t)(scan->end - scan->block);
	if (left < 64)
		return csv_scan_plain(scan, left);
#ifdef __SSE2__
	const __m128i a = _mm_set1_epi8(scan->wanted[0]), b = _mm_set1_epi8(scan->wanted[1]), c = _mm_set1_epi8(scan->wanted[2]);
	uint64_t marks = 0;
	for (int i = 0; i < 4; i++) {
		__m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(scan->block + 16 * i));
		__m128i hits =
			_mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, a), _mm_cmpeq_epi8(bytes, b)), _mm_cmpeq_epi8(bytes, c));
		marks |= (uint64_t)(uint32_t)_mm_movemask_epi8(hits) << (16 * i);
	}
	return marks;
#else
	return csv_scan_plain(scan, 64);
#endif
}

/* Look for marks from `at` on. Cheap when `at` is within the block that was looked at last. */
static inline void csv_scan_seek(struct csv_scan *scan, const char *at)
{
	size_t ahead = (size_t)(at - scan->block);
	if (ahead < 64) {
		scan->marks &= ~(uint64_t)0 << ahead;
		return;
	}
	scan->block = at;
	scan->marks = csv_scan_block(scan);
}

static inline struct csv_scan csv_scan_from(const char *at, const char *end, char a, char b, char c)
{
	struct csv_scan scan = {.block = at, .end = end, .wanted = {a, b, c}};
	scan.marks = csv_scan_block(&scan);
	return scan;
}

/* The next mark, or `end`. */
static inline const char *csv_scan_next(struct csv_scan *scan)
{
	while (scan->marks == 0) {
		if (scan->end - scan->block <= 64)
			return scan->end;
		scan->block += 64;
		scan->marks = csv_scan_block(scan);
	}
	const char *at = scan->block + __builtin_ctzll(scan->marks);
	scan->marks &= scan->marks - 1;
	return at;
}

#endif
