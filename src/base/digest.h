/* SPDX-License-Identifier: Apache-2.0
 * SHA-256 by OpenSSL. */
#ifndef RECLOSER_BASE_DIGEST_H
#define RECLOSER_BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

#define SHA256_HEX 65 /* 64 digits and the NUL */

struct sha256; /* a running digest; NULL-safe free */
struct sha256 *sha256_new(void); /* NULL: no memory */
void sha256_free(struct sha256 *digest);
void sha256_start(struct sha256 *digest);
void sha256_add(struct sha256 *digest, const void *bytes, size_t count);
void sha256_end(struct sha256 *digest, uint8_t out[32]);

void sha256_of(const void *bytes, size_t count, char hex[SHA256_HEX]);
void hex_of(const uint8_t *bytes, size_t count, char *hex); /* 2 * count digits and a NUL, lower case */
/* Of a whole file, read in blocks; `bytes` may be NULL. */
recloser_status sha256_file(const char *path, char hex[SHA256_HEX], uint64_t *bytes, recloser_error *error) RC_CHECKED;

#endif
