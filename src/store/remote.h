/* SPDX-License-Identifier: Apache-2.0
 * Reading one object or file from a URL: s3://, az://, gs://, https://, http://, and GDAL's /vsis3/, /vsiaz/, /vsigs/ and
 * /vsicurl/ names for the same. */
#ifndef RECLOSER_STORE_REMOTE_H
#define RECLOSER_STORE_REMOTE_H

#include "store/bucket.h"

bool remote_is(const char *path);
/* The name of the file: the last part of the path, without a query. */
const char *remote_name(struct arena *arena, const char *path);

struct remote {
	char etag[BUCKET_TOKEN]; /* "" where the server says none */
	char sha256[SHA256_HEX];
	uint64_t bytes;
};
/* Into `file`, which is made or replaced, with retries. RECLOSER_IO when there is no such object or it can't be read. */
recloser_status remote_fetch(struct arena *arena, const char *path, const char *file, struct remote *out,
							 recloser_error *error) RC_CHECKED;

#endif
