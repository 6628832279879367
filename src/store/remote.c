/* SPDX-License-Identifier: Apache-2.0
 * One request gives bytes and ETag together, so that what is noted is what was read. A server on the web is a bucket that
 * can only be read. */
#include "store/remote.h"

#include <string.h>

#include "base/gdal.h"
#include "store/http.h"

static const struct {
	const char *prefix, *url;
} forms[] = {
	{"s3://", "s3://"},          {"az://", "az://"},
	{"gs://", "gs://"},          {"https://", "https://"},
	{"http://", "http://"},      {"/vsis3/", "s3://"},
	{"/vsiaz/", "az://"},        {"/vsigs/", "gs://"},
	{"/vsicurl/", ""},           {"/vsis3_streaming/", "s3://"},
	{"/vsicurl_streaming/", ""},
};

static const char *url_of(struct arena *arena, const char *path)
{
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		if (text_starts(path, forms[i].prefix))
			return arena_printf(arena, "%s%s", forms[i].url, path + strlen(forms[i].prefix));
	return NULL;
}

bool remote_is(const char *path)
{
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		if (text_starts(path, forms[i].prefix))
			return true;
	return false;
}

const char *remote_name(struct arena *arena, const char *path)
{
	bool web = strstr(path, "http://") || strstr(path, "https://");
	size_t length = web ? strcspn(path, "?#") : strlen(path), begin = length;
	while (begin > 0 && path[begin - 1] != '/')
		begin--;
	return arena_strndup(arena, path + begin, length - begin);
}

/* ---- the web as a bucket ---- */

struct web {
	struct arena *arena;
	struct http *http;
};

static enum bucket_answer get(struct bucket *bucket, const char *url, const char *token, struct bucket_sink *sink,
							  struct bucket_found *found, recloser_error *error)
{
	struct web *web = bucket->impl;
	struct arena *arena = arena_new(web->arena);
	struct http_request request = {.method = "GET", .url = url, .sink = sink, .follow = true};
	struct http_answer answer;
	(void)token;
	enum bucket_answer out = http_send(web->http, arena, &request, &answer, error);
	if (out == BUCKET_DONE && answer.status == 404)
		out = BUCKET_ABSENT;
	else if (out == BUCKET_DONE && (answer.status == 401 || answer.status == 403)) {
		error_set(error, RECLOSER_IO, "io.open", "the server refuses to hand this file out (%d)", answer.status);
		error_where(error, "%s", url);
		out = BUCKET_FAILED;
	} else if (out == BUCKET_DONE && answer.status != 200)
		out = http_meaning(arena, &answer, "hand out a file", url, false, error);
	if (out == BUCKET_DONE) {
		memset(found, 0, sizeof *found);
		memccpy(found->token, answer.etag, '\0', sizeof found->token - 1);
	}
	arena_free(arena);
	return out;
}

static const struct bucket_ops web_ops = {.name = "web", .get = get};

static struct bucket *web_bucket(struct arena *arena)
{
	struct bucket *bucket = arena_alloc(arena, sizeof *bucket);
	struct web *web = arena_alloc(arena, sizeof *web);
	*bucket = (struct bucket){
		.ops = &web_ops, .impl = web, .url = "", .server = "", .counts = arena_alloc(arena, sizeof *bucket->counts)};
	web->arena = arena;
	web->http = http_on(arena, bucket->counts);
	return bucket_retry(arena, bucket, NULL);
}

static recloser_status open_store(struct arena *arena, const char *url, struct bucket **bucket, const char **key,
								  recloser_error *error)
{
	if (!bucket_is_url(url)) {
		RC_TRY(gdal_load(error)); /* its settings */
		*bucket = web_bucket(arena);
		*key = url;
		return RECLOSER_OK;
	}
	const char *name = strstr(url, "://") + 3, *slash = strchr(name, '/');
	if (!slash || !slash[1]) {
		error_set(error, RECLOSER_IO, "io.open", "%s names a bucket, not an object", url);
		return error_hint(error, "name the object: s3://bucket/path/file.csv");
	}
	*key = slash + 1;
	return bucket_open(arena, arena_strndup(arena, url, (size_t)(slash - url)), bucket, error);
}

recloser_status remote_fetch(struct arena *arena, const char *path, const char *file, struct remote *out,
							 recloser_error *error)
{
	struct bucket *bucket = NULL;
	struct bucket_found found = {{0}, 0, 0};
	struct bucket_sink sink = {.arena = arena, .file = file};
	const char *key = NULL;
	memset(out, 0, sizeof *out);
	RC_TRY(open_store(arena, url_of(arena, path), &bucket, &key, error));
	enum bucket_answer answer = bucket->ops->get(bucket, key, NULL, &sink, &found, error);
	if (answer == BUCKET_ABSENT) {
		error_set(error, RECLOSER_IO, "io.open", "cannot open %s: there is no such object", path);
		return error_hint(error, "look at the address");
	}
	if (answer != BUCKET_DONE)
		return error && error->status != RECLOSER_OK ? error->status
													 : error_set(error, RECLOSER_IO, "io.read", "cannot read %s", path);
	memcpy(out->etag, found.token, sizeof out->etag);
	memcpy(out->sha256, sink.sha256, sizeof out->sha256);
	out->bytes = sink.count;
	return RECLOSER_OK;
}
