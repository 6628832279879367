/* SPDX-License-Identifier: Apache-2.0
 * What bucket_s3.c and bucket_gcs.c share. */
#ifndef RECLOSER_STORE_BUCKET_S3_H
#define RECLOSER_STORE_BUCKET_S3_H

#include "store/aws_settings.h"
#include "store/bucket.h"

struct s3_dialect {
	const struct sigv4_dialect *sign;
	bool generations; /* the token is a generation number, and conditions are headers of the store's own */
};
extern const struct s3_dialect s3_amazon, s3_google;

struct s3 {
	const struct s3_dialect *dialect;
	struct sigv4_key key;
	const char *host, *bucket;
	const char *prefix; /* "" or ends in '/' */
	bool https, bucket_in_path;
	struct arena *arena;
	struct http *http;
};
/* A bucket with these settings; arena and http are filled in. */
struct bucket *s3_bucket(struct arena *arena, const char *url, const struct s3 *settings);
/* "s3://lake/a/b" -> "lake" and "a/b/". */
void bucket_url_split(struct arena *arena, const char *url, const char **bucket, const char **prefix);

#endif
