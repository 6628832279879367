/* SPDX-License-Identifier: Apache-2.0
 * S3 and what speaks it; and Google's store through its XML interface, which differs in the names of its headers and has
 * generations where S3 has ETags (bucket_gcs.c opens it).
 *
 * One request a call. The body's SHA-256 is under the signature and its MD5 in Content-MD5, so that a server keeps no other
 * bytes than ours. */
#include "store/bucket_s3.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/gdal.h"
#include "store/http.h"

static const uint64_t MOST_BYTES = UINT64_C(5) << 30; /* of one PUT and of one copy */
static const char no_body[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

static struct s3 *s3_of(struct bucket *bucket)
{
	return bucket->impl;
}

static const char *where(struct bucket *bucket, struct arena *arena, const char *key)
{
	return arena_printf(arena, "%s/%s", bucket->url, key);
}

static const char *path_of(const struct s3 *s3, struct arena *arena, const char *key)
{
	const char *full = arena_printf(arena, "%s%s", s3->prefix, key);
	return s3->bucket_in_path ? arena_printf(arena, "/%s/%s", s3->bucket, http_escape(arena, full, true))
							  : arena_printf(arena, "/%s", http_escape(arena, full, true));
}

static enum bucket_answer exchange(struct bucket *bucket, struct arena *arena, const char *path, const char *query,
								   struct strings own, const struct strings *others, struct http_request *request,
								   struct http_answer *answer, recloser_error *error)
{
	const struct s3 *s3 = s3_of(bucket);
	struct sigv4_request sign = {.method = request->method,
								 .host = s3->host,
								 .path = path,
								 .query = query,
								 .headers = own,
								 .payload = request->body ? request->body->sha256 : no_body,
								 .now_us = clock_now_us()};
	request->headers = sigv4_sign(arena, s3->dialect->sign, &s3->key, &sign);
	for (size_t i = 0; others && i < others->count; i++)
		strings_add(arena, &request->headers, others->at[i]);
	request->url =
		arena_printf(arena, "%s://%s%s%s%s", s3->https ? "https" : "http", s3->host, path, *query ? "?" : "", query);
	return http_send(s3->http, arena, request, answer, error);
}

static void take_token(const struct s3 *s3, const struct http_answer *answer, struct bucket_found *found)
{
	const char *token = s3->dialect->generations ? answer->generation : answer->etag;
	memset(found, 0, sizeof *found);
	memccpy(found->token, token, '\0', sizeof found->token - 1);
	found->bytes = answer->length > 0 ? (uint64_t)answer->length : 0;
}

static const char *md5_header(struct arena *arena, const struct bucket_body *body)
{
	unsigned char base64[32];
	EVP_EncodeBlock(base64, body->md5, sizeof body->md5);
	return arena_printf(arena, "Content-MD5: %s", (const char *)base64);
}

static void add_condition(const struct s3 *s3, struct arena *arena, enum bucket_when when, const char *token,
						  struct strings *own, struct strings *others)
{
	if (when == BUCKET_ALWAYS)
		return;
	if (s3->dialect->generations)
		strings_add(arena, own,
					arena_printf(arena, "x-goog-if-generation-match: %s", when == BUCKET_IF_ABSENT ? "0" : token));
	else if (when == BUCKET_IF_ABSENT)
		strings_add(arena, others, "If-None-Match: *");
	else
		strings_add(arena, others, arena_printf(arena, "If-Match: %s", token));
}

static enum bucket_answer too_large(struct bucket *bucket, struct arena *arena, const char *key, recloser_error *error)
{
	error_set(error, RECLOSER_IO, "store.too_large",
			  "the partition's file is larger than 5 GiB, which a store takes in one piece");
	error_where(error, "%s", where(bucket, arena, key));
	error_hint(error, "partition by one more column");
	return BUCKET_FAILED;
}

static enum bucket_answer put(struct bucket *bucket, const char *key, const struct bucket_body *body, enum bucket_when when,
							  const char *token, struct bucket_found *found, recloser_error *error)
{
	struct s3 *s3 = s3_of(bucket);
	struct arena *arena = arena_new(s3->arena);
	struct strings own = {0}, others = {0};
	struct http_request request = {.method = "PUT", .body = body};
	struct http_answer answer;
	enum bucket_answer out = body->count > MOST_BYTES ? too_large(bucket, arena, key, error) : BUCKET_DONE;
	add_condition(s3, arena, when, token, &own, &others);
	strings_add(arena, &others, md5_header(arena, body));
	strings_add(arena, &others, "Content-Type: application/octet-stream");
	if (out == BUCKET_DONE)
		out = exchange(bucket, arena, path_of(s3, arena, key), "", own, &others, &request, &answer, error);
	if (out == BUCKET_DONE && answer.status != 200 && answer.status != 201) {
		out = http_meaning(arena, &answer, "write an object", where(bucket, arena, key), when != BUCKET_ALWAYS, error);
		/* If-Match of an object that is not there: S3 says 404. */
		if (out == BUCKET_ABSENT && when == BUCKET_IF_MATCH)
			out = BUCKET_LOST;
		else if (out == BUCKET_ABSENT) {
			error_set(error, RECLOSER_IO, "store.refused", "the store refused to write an object: there is no such bucket");
			error_where(error, "%s", where(bucket, arena, key));
			out = BUCKET_FAILED;
		}
	} else if (out == BUCKET_DONE && found) {
		take_token(s3, &answer, found);
		found->bytes = body->count;
	}
	arena_free(arena);
	return out;
}

static enum bucket_answer get(struct bucket *bucket, const char *key, const char *token, struct bucket_sink *sink,
							  struct bucket_found *found, recloser_error *error)
{
	struct s3 *s3 = s3_of(bucket);
	struct arena *arena = arena_new(s3->arena);
	struct strings own = {0}, others = {0};
	struct http_request request = {.method = "GET", .sink = sink};
	struct http_answer answer;
	add_condition(s3, arena, token ? BUCKET_IF_MATCH : BUCKET_ALWAYS, token, &own, &others);
	enum bucket_answer out = exchange(bucket, arena, path_of(s3, arena, key), "", own, &others, &request, &answer, error);
	if (out == BUCKET_DONE && answer.status != 200)
		out = http_meaning(arena, &answer, "read an object", where(bucket, arena, key), token != NULL, error);
	else if (out == BUCKET_DONE && found)
		take_token(s3, &answer, found);
	/* Not every server looks at the condition of a read. */
	if (out == BUCKET_DONE && token && strcmp(token, s3->dialect->generations ? answer.generation : answer.etag) != 0)
		out = BUCKET_LOST;
	arena_free(arena);
	return out;
}

static enum bucket_answer head(struct bucket *bucket, const char *key, struct bucket_found *found, recloser_error *error)
{
	struct s3 *s3 = s3_of(bucket);
	struct arena *arena = arena_new(s3->arena);
	struct http_request request = {.method = "HEAD"};
	struct http_answer answer;
	enum bucket_answer out =
		exchange(bucket, arena, path_of(s3, arena, key), "", (struct strings){0}, NULL, &request, &answer, error);
	if (out == BUCKET_DONE && answer.status != 200)
		out = http_meaning(arena, &answer, "look at an object", where(bucket, arena, key), false, error);
	else if (out == BUCKET_DONE)
		take_token(s3, &answer, found);
	arena_free(arena);
	return out;
}

/* An error may come in the body of a 200, since a copy begins to answer before it is done. */
static enum bucket_answer copied(struct arena *arena, const struct http_answer *answer, struct bucket_found *found)
{
	CPLXMLNode *tree = answer->body_count ? gdal()->CPLParseXMLString(answer->body) : NULL;
	const CPLXMLNode *result = tree ? gdal()->CPLGetXMLNode(tree, "=CopyObjectResult") : NULL;
	const char *etag = result ? gdal()->CPLGetXMLValue(result, "ETag", "") : "";
	enum bucket_answer out = result ? BUCKET_DONE : BUCKET_UNKNOWN;
	(void)arena;
	memset(found, 0, sizeof *found);
	if (strlen(etag) < sizeof found->token)
		memcpy(found->token, etag, strlen(etag));
	gdal()->CPLDestroyXMLNode(tree);
	return out;
}

static enum bucket_answer copy(struct bucket *bucket, const char *from, const char *token, const char *to,
							   struct bucket_found *found, recloser_error *error)
{
	struct s3 *s3 = s3_of(bucket);
	struct arena *arena = arena_new(s3->arena);
	struct strings own = {0};
	const char *prefix = s3->dialect->sign->header;
	struct bucket_body nothing;
	struct http_request request = {.method = "PUT", .body = &nothing};
	struct http_answer answer;
	bucket_body_bytes(&nothing, "", 0);
	strings_add(arena, &own,
				arena_printf(arena, "%scopy-source: /%s/%s%s", prefix, s3->bucket, http_escape(arena, s3->prefix, true),
							 http_escape(arena, from, true)));
	if (token)
		strings_add(arena, &own,
					arena_printf(arena, "%scopy-source-%s: %s", prefix,
								 s3->dialect->generations ? "if-generation-match" : "if-match", token));
	enum bucket_answer out = exchange(bucket, arena, path_of(s3, arena, to), "", own, NULL, &request, &answer, error);
	if (out == BUCKET_DONE && answer.status != 200)
		out = http_meaning(arena, &answer, "copy an object", where(bucket, arena, from), true, error);
	else if (out == BUCKET_DONE) {
		out = copied(arena, &answer, found);
		if (out == BUCKET_UNKNOWN) {
			error_set(error, RECLOSER_IO, "store.failing", "the object store did not say how a copy ended");
			error_where(error, "%s", where(bucket, arena, from));
		}
	}
	arena_free(arena);
	return out;
}

static enum bucket_answer remove_object(struct bucket *bucket, const char *key, recloser_error *error)
{
	struct s3 *s3 = s3_of(bucket);
	struct arena *arena = arena_new(s3->arena);
	struct http_request request = {.method = "DELETE"};
	struct http_answer answer;
	enum bucket_answer out =
		exchange(bucket, arena, path_of(s3, arena, key), "", (struct strings){0}, NULL, &request, &answer, error);
	if (out == BUCKET_DONE && answer.status != 200 && answer.status != 204)
		out = http_meaning(arena, &answer, "remove an object", where(bucket, arena, key), false, error);
	arena_free(arena);
	return out == BUCKET_ABSENT ? BUCKET_DONE : out;
}

/* ---- listing ---- */

/* False: there is more, and no word of where it begins. */
static bool read_page(const struct s3 *s3, struct arena *arena, const CPLXMLNode *result, struct bucket_page *out)
{
	size_t skip = strlen(s3->prefix), count = 0;
	for (const CPLXMLNode *node = result->psChild; node; node = node->psNext)
		count += node->eType == CXT_Element && strcmp(node->pszValue, "Contents") == 0;
	out->at = arena_array(arena, count + 1, sizeof *out->at);
	for (CPLXMLNode *node = result->psChild; node; node = node->psNext) {
		if (node->eType != CXT_Element || strcmp(node->pszValue, "Contents") != 0)
			continue;
		const char *key = gdal()->CPLGetXMLValue(node, "Key", "");
		if (strncmp(key, s3->prefix, skip) != 0)
			continue;
		struct bucket_object *object = &out->at[out->count++];
		object->key = arena_strdup(arena, key + skip);
		object->token = arena_strdup(arena, gdal()->CPLGetXMLValue(node, s3->dialect->generations ? "Generation" : "ETag", ""));
		object->bytes = strtoull(gdal()->CPLGetXMLValue(node, "Size", "0"), NULL, 10);
		int64_t changed = clock_parse(gdal()->CPLGetXMLValue(node, "LastModified", ""));
		object->changed_us = changed > 0 ? changed : 0;
	}
	const char *next = gdal()->CPLGetXMLValue((CPLXMLNode *)result, "NextContinuationToken", "");
	bool more = strcmp(gdal()->CPLGetXMLValue((CPLXMLNode *)result, "IsTruncated", "false"), "true") == 0;
	out->next = more && *next ? arena_strdup(arena, next) : NULL;
	return !more || *next;
}

static enum bucket_answer list(struct bucket *bucket, struct arena *arena, const struct bucket_listing *what,
							   struct bucket_page *out, recloser_error *error)
{
	struct s3 *s3 = s3_of(bucket);
	struct arena *scratch = arena_new(arena);
	struct text query = text_on(scratch);
	struct http_request request = {.method = "GET"};
	struct http_answer answer;
	memset(out, 0, sizeof *out);
	if (what->next) /* names in their order, as the signature wants them */
		text_addf(&query, "continuation-token=%s&", http_escape(scratch, what->next, false));
	text_add(&query, "list-type=2");
	if (what->most)
		text_addf(&query, "&max-keys=%d", what->most);
	text_addf(&query, "&prefix=%s%s", http_escape(scratch, s3->prefix, false), http_escape(scratch, what->prefix, false));
	if (what->after && !what->next)
		text_addf(&query, "&start-after=%s%s", http_escape(scratch, s3->prefix, false),
				  http_escape(scratch, what->after, false));
	const char *path = s3->bucket_in_path ? arena_printf(scratch, "/%s", s3->bucket) : "/";
	enum bucket_answer got = exchange(bucket, scratch, path, query.at, (struct strings){0}, NULL, &request, &answer, error);
	if (got == BUCKET_DONE && answer.status != 200) {
		got = http_meaning(scratch, &answer, "list objects", where(bucket, scratch, what->prefix), false, error);
		if (got == BUCKET_ABSENT)
			got = BUCKET_FAILED;
	} else if (got == BUCKET_DONE) {
		CPLXMLNode *tree = gdal()->CPLParseXMLString(answer.body);
		const CPLXMLNode *result = tree ? gdal()->CPLGetXMLNode(tree, "=ListBucketResult") : NULL;
		if (!result || !read_page(s3, arena, result, out))
			got = BUCKET_UNKNOWN;
		gdal()->CPLDestroyXMLNode(tree);
	}
	if ((got == BUCKET_FAILED || got == BUCKET_UNKNOWN) && error && error->status == RECLOSER_OK) {
		error_set(error, RECLOSER_IO, "store.failing", "the object store gave no list that can be read");
		error_where(error, "%s", where(bucket, scratch, what->prefix));
	}
	arena_free(scratch);
	return got;
}

/* ---- opening ---- */

static struct bucket *again(struct bucket *bucket, struct arena *arena)
{
	struct bucket *copied_bucket = arena_alloc(arena, sizeof *copied_bucket);
	struct s3 *s3 = arena_alloc(arena, sizeof *s3);
	*copied_bucket = *bucket;
	*s3 = *s3_of(bucket);
	s3->arena = arena;
	copied_bucket->impl = s3;
	copied_bucket->counts = arena_alloc(arena, sizeof *copied_bucket->counts);
	s3->http = http_on(arena, copied_bucket->counts);
	return copied_bucket;
}

static const struct bucket_ops s3_ops = {"s3", put, get, head, list, copy, remove_object, again};
static const struct bucket_ops gcs_ops = {"gcs", put, get, head, list, copy, remove_object, again};

const struct s3_dialect s3_amazon = {&sigv4_amazon, false}, s3_google = {&sigv4_google, true};

struct bucket *s3_bucket(struct arena *arena, const char *url, const struct s3 *settings)
{
	struct bucket *bucket = arena_alloc(arena, sizeof *bucket);
	struct s3 *s3 = arena_alloc(arena, sizeof *s3);
	*s3 = *settings;
	s3->arena = arena;
	bucket->ops = s3->dialect->generations ? &gcs_ops : &s3_ops;
	bucket->impl = s3;
	bucket->url = arena_strdup(arena, url);
	bucket->server = arena_printf(arena, "%s/%s", s3->host, s3->bucket);
	bucket->counts = arena_alloc(arena, sizeof *bucket->counts);
	s3->http = http_on(arena, bucket->counts);
	return bucket;
}

recloser_status bucket_s3(struct arena *arena, const char *url, struct bucket **out, recloser_error *error)
{
	struct aws_settings settings;
	struct s3 s3 = {.dialect = &s3_amazon};
	memset(&settings, 0, sizeof settings);
	bucket_url_split(arena, url, &s3.bucket, &s3.prefix);
	RC_TRY(aws_settings_read(arena, s3.bucket, &settings, error));
	s3.key = settings.key;
	s3.https = settings.https;
	s3.bucket_in_path = !settings.virtual_hosting;
	s3.host = settings.virtual_hosting ? arena_printf(arena, "%s.%s", s3.bucket, settings.endpoint) : settings.endpoint;
	*out = s3_bucket(arena, url, &s3);
	return RECLOSER_OK;
}
