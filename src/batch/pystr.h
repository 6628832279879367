/* SPDX-License-Identifier: Apache-2.0
 * Python's str() of the types that may be part of an identity, in C: the key must be byte for byte what the common Python
 * recipe gives. The forms per type are documented in docs/key.md. */
#ifndef RECLOSER_BATCH_PYSTR_H
#define RECLOSER_BATCH_PYSTR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PYSTR_MAX = 64 }; /* room enough for every form below */

/* Each writes a NUL-terminated text and returns its length. */
size_t pystr_none(char *out);
size_t pystr_bool(bool value, char *out);
size_t pystr_int(int64_t value, char *out);
size_t pystr_uint(uint64_t value, char *out);
size_t pystr_int128(__int128 value, char *out);
size_t pystr_double(double value, char *out); /* shortest digits that read back, Python's layout; needs no locale */
size_t pystr_decimal(__int128 unscaled, int scale, char *out);
/* 0 when the day or time is outside Python's years 1 to 9999. */
size_t pystr_date(int64_t days, char *out);
size_t pystr_timestamp(int64_t us, char *out);   /* "2026-07-01 06:00:00[.ffffff]" */
size_t pystr_timestamptz(int64_t us, char *out); /* the same and "+00:00" */
size_t pystr_time(int64_t us, char *out);
size_t pystr_uuid(const uint8_t big_endian[16], char *out);

#endif
