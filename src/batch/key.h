/* SPDX-License-Identifier: Apache-2.0
 * The key: SHA-256 over the identity fields' texts joined with "|", the first 24 hexadecimal digits. */
#ifndef RECLOSER_BATCH_KEY_H
#define RECLOSER_BATCH_KEY_H

#include <stdbool.h>
#include <stddef.h>

enum { KEY_DIGITS = 24 };

/* A key in the making; one a thread, used for many rows. malloc only: lives in engine threads. */
struct key;
struct key *key_new(bool escape); /* escape: "|" and "\" inside a field get a "\" before them */
void key_free(struct key *key);
void key_start(struct key *key);
void key_add(struct key *key, const char *text, size_t count);
void key_end(struct key *key, char out[KEY_DIGITS + 1]);

#endif
