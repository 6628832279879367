/* SPDX-License-Identifier: Apache-2.0
 * Which store a URL names, and the bodies that are put into one. */
#include "store/bucket.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <string.h>
#include <unistd.h>

#include "base/gdal.h"
#include "store/bucket_s3.h"

bool bucket_is_url(const char *root)
{
	return text_starts(root, "s3://") || text_starts(root, "az://") || text_starts(root, "gs://");
}

void bucket_url_split(struct arena *arena, const char *url, const char **bucket, const char **prefix)
{
	const char *name = strstr(url, "://");
	name = name ? name + 3 : url;
	size_t length = strcspn(name, "/");
	const char *rest = name + length;
	*bucket = arena_strndup(arena, name, length);
	while (*rest == '/')
		rest++;
	length = strlen(rest);
	while (length && rest[length - 1] == '/')
		length--;
	*prefix = length ? arena_printf(arena, "%.*s/", (int)length, rest) : "";
}

recloser_status bucket_open(struct arena *arena, const char *url, struct bucket **out, recloser_error *error)
{
	struct bucket *inner;
	const char *name = strstr(url, "://");
	if (!bucket_is_url(url) || !name || strcspn(name + 3, "/") == 0) {
		error_set(error, RECLOSER_USAGE, "store.url", "\"%s\" names no bucket", url);
		return error_hint(error, "s3://, az:// or gs:// with bucket and prefix");
	}
	RC_TRY(gdal_load(error)); /* its settings, and the XML of answers */
	if (text_starts(url, "s3://"))
		RC_TRY(bucket_s3(arena, url, &inner, error));
	else if (text_starts(url, "gs://"))
		RC_TRY(bucket_gcs(arena, url, &inner, error));
	else
		RC_TRY(bucket_azure(arena, url, &inner, error));
	*out = bucket_retry(arena, inner, NULL);
	return RECLOSER_OK;
}

void bucket_body_bytes(struct bucket_body *body, const void *bytes, size_t count)
{
	unsigned size = sizeof body->md5;
	*body = (struct bucket_body){.bytes = bytes, .count = count};
	sha256_of(bytes, count, body->sha256);
	(void)EVP_Digest(bytes, count, body->md5, &size, EVP_md5(), NULL);
}

static int digest_both(int descriptor, struct sha256 *sha256, EVP_MD_CTX *md5, uint64_t *count)
{
	char buffer[1 << 16];
	for (;;) {
		ssize_t got = read(descriptor, buffer, sizeof buffer);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return errno;
		if (got == 0)
			return 0;
		sha256_add(sha256, buffer, (size_t)got);
		if (EVP_DigestUpdate(md5, buffer, (size_t)got) != 1)
			return ENOMEM;
		*count += (uint64_t)got;
	}
}

recloser_status bucket_body_file(struct bucket_body *body, const char *file, recloser_error *error)
{
	uint8_t binary[32];
	unsigned size = sizeof body->md5;
	*body = (struct bucket_body){.file = file};
	int descriptor = open(file, O_RDONLY | O_CLOEXEC);
	if (descriptor < 0)
		return error_errno(error, "store.file", errno, "open", file);
	struct sha256 *sha256 = sha256_new();
	EVP_MD_CTX *md5 = EVP_MD_CTX_new();
	int failed = sha256 && md5 && EVP_DigestInit_ex(md5, EVP_md5(), NULL) == 1 ? 0 : ENOMEM;
	if (!failed)
		failed = digest_both(descriptor, sha256, md5, &body->count);
	if (!failed && EVP_DigestFinal_ex(md5, body->md5, &size) != 1)
		failed = ENOMEM;
	if (!failed) {
		sha256_end(sha256, binary);
		hex_of(binary, sizeof binary, body->sha256);
	}
	sha256_free(sha256);
	EVP_MD_CTX_free(md5);
	close(descriptor);
	return failed ? error_errno(error, "store.file", failed, "read", file) : RECLOSER_OK;
}
