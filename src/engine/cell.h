/* SPDX-License-Identifier: Apache-2.0
 * Reading cells of the engine's vectors whose bytes are not simply a C type. */
#ifndef RECLOSER_ENGINE_CELL_H
#define RECLOSER_ENGINE_CELL_H

#include <string.h>

#include "engine/duck.h"

static inline __int128 cell_int128(const void *data, idx_t row)
{
	__int128 value;
	memcpy(&value, (const char *)data + 16 * row, 16);
	return value;
}

/* A decimal is stored in the smallest integer that holds its digits. */
static inline __int128 cell_decimal(duckdb_type physical, const void *data, idx_t row)
{
	switch (physical) {
	case DUCKDB_TYPE_SMALLINT:
		return ((const int16_t *)data)[row];
	case DUCKDB_TYPE_INTEGER:
		return ((const int32_t *)data)[row];
	case DUCKDB_TYPE_BIGINT:
		return ((const int64_t *)data)[row];
	default:
		return cell_int128(data, row);
	}
}

/* A UUID is stored as a signed number with its first bit turned, so that it sorts like its text. */
static inline void cell_uuid(const void *data, idx_t row, uint8_t out[16])
{
	unsigned __int128 bits = (unsigned __int128)cell_int128(data, row) ^ (unsigned __int128)1 << 127;
	for (int i = 15; i >= 0; i--, bits >>= 8)
		out[i] = (uint8_t)bits;
}

/* Which word of an ENUM. */
static inline uint32_t cell_enum(duckdb_type physical, const void *data, idx_t row)
{
	switch (physical) {
	case DUCKDB_TYPE_UTINYINT:
		return ((const uint8_t *)data)[row];
	case DUCKDB_TYPE_USMALLINT:
		return ((const uint16_t *)data)[row];
	default:
		return ((const uint32_t *)data)[row];
	}
}

#endif
