/* SPDX-License-Identifier: Apache-2.0
 * Numbers at unaligned addresses in either byte order. */
#ifndef RECLOSER_GEO_ENDIAN_H
#define RECLOSER_GEO_ENDIAN_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
enum { host_is_little = 0 };
#else
enum { host_is_little = 1 };
#endif

static inline uint32_t load_u32(const uint8_t *at, bool swap)
{
	uint32_t value;
	memcpy(&value, at, sizeof value);
	return swap ? __builtin_bswap32(value) : value;
}

static inline double load_double(const uint8_t *at, bool swap)
{
	uint64_t bits;
	double value;
	memcpy(&bits, at, sizeof bits);
	if (swap)
		bits = __builtin_bswap64(bits);
	memcpy(&value, &bits, sizeof value);
	return value;
}

static inline void store_u32_little(uint8_t *at, uint32_t value)
{
	if (!host_is_little)
		value = __builtin_bswap32(value);
	memcpy(at, &value, sizeof value);
}

static inline void store_double_little(uint8_t *at, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	if (!host_is_little)
		bits = __builtin_bswap64(bits);
	memcpy(at, &bits, sizeof bits);
}

#endif
