/* SPDX-License-Identifier: Apache-2.0
 * What an object store means by a status, told in one sentence to whoever runs the load. */
#include "store/http.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/gdal.h"

static const char *element(struct arena *arena, const struct http_answer *answer, const char *path)
{
	if (answer->body_count == 0 || *answer->body != '<')
		return "";
	CPLXMLNode *tree = gdal()->CPLParseXMLString(answer->body);
	const char *value = tree ? gdal()->CPLGetXMLValue(tree, path, "") : "";
	const char *copy = arena_strdup(arena, value);
	gdal()->CPLDestroyXMLNode(tree);
	return copy;
}

enum { MOST_SKEW = 14 * 60 }; /* seconds; stores allow a quarter of an hour */

struct known {
	const char *code, *sentence, *hint;
};
static const struct known known_codes[] = {
	{"NoSuchBucket", "there is no such bucket", "make it, or correct `root:` in the spec"},
	{"ContainerNotFound", "there is no such container", "make it, or correct `root:` in the spec"},
	{"InvalidAccessKeyId", "the store does not know this access key", "look at AWS_ACCESS_KEY_ID or AWS_PROFILE"},
	{"XAdminUserNotFound", "the store does not know this access key", "look at AWS_ACCESS_KEY_ID or AWS_PROFILE"},
	{"InvalidAccessKey", "the store does not know this access key", "look at AWS_ACCESS_KEY_ID or AWS_PROFILE"},
	{"SignatureDoesNotMatch", "the secret key is wrong", "look at AWS_SECRET_ACCESS_KEY or AWS_PROFILE"},
	{"AuthenticationFailed", "the account key is wrong",
	 "look at AZURE_STORAGE_ACCESS_KEY or AZURE_STORAGE_CONNECTION_STRING"},
	{"AuthorizationFailure", "the account key is wrong",
	 "look at AZURE_STORAGE_ACCESS_KEY or AZURE_STORAGE_CONNECTION_STRING"},
	{"ExpiredToken", "the credentials have expired", "get new ones"},
	{"InvalidToken", "the session token is not valid", "look at AWS_SESSION_TOKEN"},
	{"AccessDenied", "the store does not allow this",
	 "the key needs the right to read, write, list and delete under the root"},
	{"AllAccessDisabled", "the store does not allow this", "ask whoever runs it"},
	{"PermanentRedirect", "the bucket is in another region", "set AWS_REGION to the bucket's region"},
	{"AuthorizationHeaderMalformed", "the bucket is in another region", "set AWS_REGION to the bucket's region"},
	{"EntityTooLarge", "the object is larger than the store takes in one piece", "use a finer partition"},
	{"KeyTooLongError", "the key is longer than the store takes (1,024 bytes)",
	 "use shorter partition values or a shorter prefix"},
};

/* Seconds that this machine's clock is ahead of the store's; 0 where it does not tell. */
static long ahead_of(const struct http_answer *answer)
{
	time_t theirs = curl_getdate(answer->date, NULL);
	return theirs > 0 ? (long)(clock_now_us() / 1000000 - (int64_t)theirs) : 0;
}

static enum bucket_answer skewed(const struct http_answer *answer, const char *where, recloser_error *error)
{
	long seconds = ahead_of(answer);
	if (seconds)
		error_set(error, RECLOSER_IO, "store.clock", "the clock of this machine is %ld minutes %s the store's",
				  labs(seconds) / 60, seconds > 0 ? "ahead of" : "behind");
	else
		error_set(error, RECLOSER_IO, "store.clock", "the clock of this machine is too far from the store's");
	error_where(error, "%s", where);
	error_hint(error, "set the clock; requests are signed with the time");
	return BUCKET_FAILED;
}

static enum bucket_answer refused(struct arena *arena, const struct http_answer *answer, const char *code, const char *doing,
								  const char *where, recloser_error *error)
{
	const char *message = element(arena, answer, "=Error.Message");
	/* Azure says of a late request what it says of a wrong key. */
	if (strcmp(code, "RequestTimeTooSkewed") == 0 || (answer->status == 403 && labs(ahead_of(answer)) > MOST_SKEW))
		return skewed(answer, where, error);
	for (size_t i = 0; i < sizeof known_codes / sizeof *known_codes; i++)
		if (strcmp(code, known_codes[i].code) == 0) {
			error_set(error, RECLOSER_IO, "store.refused", "%s", known_codes[i].sentence);
			error_where(error, "%s", where);
			error_hint(error, "%s", known_codes[i].hint);
			return BUCKET_FAILED;
		}
	if (answer->status == 403 && !*code) {
		error_set(error, RECLOSER_IO, "store.refused", "the store refuses these credentials for this");
		error_where(error, "%s", where);
		error_hint(error, "look at the access key, its secret and what the key is allowed to do");
		return BUCKET_FAILED;
	}
	error_set(error, RECLOSER_IO, "store.refused", "the store refused to %s: %d %s%s%s", doing, answer->status, code,
			  *message ? ", " : "", message);
	error_where(error, "%s", where);
	return BUCKET_FAILED;
}

enum bucket_answer http_meaning(struct arena *arena, const struct http_answer *answer, const char *doing, const char *where,
								bool conditional, recloser_error *error)
{
	const char *code = *answer->code ? arena_strdup(arena, answer->code) : element(arena, answer, "=Error.Code");
	switch (answer->status) {
	case 404:
		/* Some servers answer 404 to a key they do not know. An answer without a code is one to HEAD. */
		if (!*code || strcmp(code, "NoSuchKey") == 0 || strcmp(code, "BlobNotFound") == 0 || strcmp(code, "NotFound") == 0)
			return BUCKET_ABSENT;
		break;
	case 304: /* of a GET with a condition, where a server mixes the two up */
	case 412:
		if (conditional)
			return BUCKET_LOST;
		break;
	case 409:
		if (conditional)
			return strcmp(code, "BlobAlreadyExists") == 0 ? BUCKET_LOST : BUCKET_LOOK;
		break;
	case 429:
	case 503:
		error_set(error, RECLOSER_IO, "store.busy", "the object store asks to come back later (%d %s)", answer->status,
				  code);
		error_where(error, "%s", where);
		return BUCKET_BUSY;
	case 408:
	case 500:
	case 502:
	case 504:
		error_set(error, RECLOSER_IO, "store.failing", "the object store failed to %s (%d %s)", doing, answer->status, code);
		error_where(error, "%s", where);
		return BUCKET_UNKNOWN;
	default:
		break;
	}
	if (strcmp(code, "RequestTimeout") == 0) {
		error_set(error, RECLOSER_IO, "store.failing", "the object store waited too long for the body");
		return BUCKET_UNKNOWN;
	}
	return refused(arena, answer, code, doing, where, error);
}
