/* SPDX-License-Identifier: Apache-2.0
 * The joined text is collected in a buffer and digested in one piece: a call of the digest costs as much as its work on a
 * short text. A longer text goes on in pieces, so nothing grows. */
#include "batch/key.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"

enum { BUFFER = 512 };

struct key {
	struct sha256 *digest;
	bool escape, begun;
	size_t used;
	char buffer[BUFFER];
};

struct key *key_new(bool escape)
{
	struct key *key = calloc(1, sizeof *key);
	if (!key)
		return NULL;
	key->escape = escape;
	key->digest = sha256_new();
	if (!key->digest) {
		free(key);
		return NULL;
	}
	return key;
}

void key_free(struct key *key)
{
	if (!key)
		return;
	sha256_free(key->digest);
	free(key);
}

void key_start(struct key *key)
{
	sha256_start(key->digest);
	key->begun = false;
	key->used = 0;
}

static void put(struct key *key, const char *bytes, size_t count)
{
	if (count > BUFFER - key->used) {
		sha256_add(key->digest, key->buffer, key->used);
		key->used = 0;
		if (count > BUFFER) {
			sha256_add(key->digest, bytes, count);
			return;
		}
	}
	memcpy(key->buffer + key->used, bytes, count);
	key->used += count;
}

/* With "\" before each "|" and "\" of a field, a bare "|" can only be a joint, so that different identities never give the
 * same text. */
static void put_escaped(struct key *key, const char *bytes, size_t count)
{
	size_t from = 0;
	for (size_t i = 0; i < count; i++) {
		if (bytes[i] != '|' && bytes[i] != '\\')
			continue;
		put(key, bytes + from, i - from);
		put(key, "\\", 1);
		from = i;
	}
	put(key, bytes + from, count - from);
}

void key_add(struct key *key, const char *text, size_t count)
{
	if (key->begun)
		put(key, "|", 1);
	key->begun = true;
	if (key->escape)
		put_escaped(key, text, count);
	else
		put(key, text, count);
}

void key_end(struct key *key, char out[KEY_DIGITS + 1])
{
	uint8_t bytes[32];
	sha256_add(key->digest, key->buffer, key->used);
	sha256_end(key->digest, bytes);
	hex_of(bytes, KEY_DIGITS / 2, out);
}
