/* SPDX-License-Identifier: Apache-2.0
 * Google Cloud Storage through its XML interface with HMAC keys. The same requests as S3 in another dialect; what has not
 * been run against a real server is named in docs/object-stores.md. */
#include <string.h>

#include "store/bucket_s3.h"
#include "store/http.h"

recloser_status bucket_gcs(struct arena *arena, const char *url, struct bucket **out, recloser_error *error)
{
	struct s3 s3 = {.dialect = &s3_google, .https = true, .bucket_in_path = true};
	const char *endpoint = http_setting("CPL_GS_ENDPOINT");
	bucket_url_split(arena, url, &s3.bucket, &s3.prefix);
	s3.key.access = http_setting("GS_ACCESS_KEY_ID");
	s3.key.secret = http_setting("GS_SECRET_ACCESS_KEY");
	s3.key.region = "auto";
	if (http_setting_on("GS_NO_SIGN_REQUEST", false))
		s3.key.access = NULL;
	else if (!s3.key.access || !s3.key.secret) {
		error_set(error, RECLOSER_IO, "store.credentials", "there are no credentials for gs");
		error_where(error, "GS_ACCESS_KEY_ID, GS_SECRET_ACCESS_KEY");
		return error_hint(error, "make an HMAC key for the service account and set both");
	}
	if (!endpoint)
		endpoint = "storage.googleapis.com";
	if (text_starts(endpoint, "http://")) {
		s3.https = false;
		endpoint += strlen("http://");
	} else if (text_starts(endpoint, "https://"))
		endpoint += strlen("https://");
	s3.host = arena_strndup(arena, endpoint, strcspn(endpoint, "/"));
	*out = s3_bucket(arena, url, &s3);
	return RECLOSER_OK;
}
