/* SPDX-License-Identifier: Apache-2.0 */
#include "base/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <unistd.h>

struct sha256 {
	EVP_MD_CTX *context;
	EVP_MD *algorithm; /* fetched once: the implicit fetch costs more than a short digest */
};

struct sha256 *sha256_new(void)
{
	struct sha256 *digest = calloc(1, sizeof *digest);
	if (!digest)
		return NULL;
	digest->context = EVP_MD_CTX_new();
	digest->algorithm = EVP_MD_fetch(NULL, "SHA256", NULL);
	if (!digest->context || !digest->algorithm) {
		sha256_free(digest);
		return NULL;
	}
	sha256_start(digest);
	return digest;
}

void sha256_free(struct sha256 *digest)
{
	if (!digest)
		return;
	EVP_MD_CTX_free(digest->context);
	EVP_MD_free(digest->algorithm);
	free(digest);
}

void sha256_start(struct sha256 *digest)
{
	EVP_DigestInit_ex2(digest->context, digest->algorithm, NULL);
}

void sha256_add(struct sha256 *digest, const void *bytes, size_t count)
{
	EVP_DigestUpdate(digest->context, bytes, count);
}

void sha256_end(struct sha256 *digest, uint8_t out[32])
{
	EVP_DigestFinal_ex(digest->context, out, NULL);
}

void hex_of(const uint8_t *bytes, size_t count, char *hex)
{
	static const char digits[] = "0123456789abcdef";
	for (size_t i = 0; i < count; i++) {
		*hex++ = digits[bytes[i] >> 4];
		*hex++ = digits[bytes[i] & 15];
	}
	*hex = '\0';
}

void sha256_of(const void *bytes, size_t count, char hex[SHA256_HEX])
{
	uint8_t out[32];
	EVP_Digest(bytes, count, out, NULL, EVP_sha256(), NULL);
	hex_of(out, sizeof out, hex);
}

static recloser_status digest_descriptor(int descriptor, const char *path, char *buffer, size_t size,
                                         struct sha256 *digest, uint64_t *total, recloser_error *error)
{
	for (;;) {
		ssize_t got = read(descriptor, buffer, size);
		if (got == 0)
			return RECLOSER_OK;
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_errno(error, "io.read", errno, "read", path);
		sha256_add(digest, buffer, (size_t)got);
		*total += (uint64_t)got;
	}
}

recloser_status sha256_file(const char *path, char hex[SHA256_HEX], uint64_t *bytes, recloser_error *error)
{
	enum { BUFFER = 1 << 18 };
	int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	if (descriptor < 0)
		return error_errno(error, "io.open", errno, "open", path);
	char *buffer = malloc(BUFFER);
	struct sha256 *digest = sha256_new();
	uint64_t total = 0;
	recloser_status status = buffer && digest
	    ? digest_descriptor(descriptor, path, buffer, BUFFER, digest, &total, error)
	    : error_set(error, RECLOSER_IO, "memory", "out of memory");
	if (status == RECLOSER_OK) {
		uint8_t out[32];
		sha256_end(digest, out);
		hex_of(out, sizeof out, hex);
		if (bytes)
			*bytes = total;
	}
	sha256_free(digest);
	free(buffer);
	close(descriptor);
	return status;
}
