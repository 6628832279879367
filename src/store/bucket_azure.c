/* SPDX-License-Identifier: Apache-2.0
 * Azure Blob Storage. Signed with the account's key (SharedKey), because GDAL writes anything over 4 MB as an append blob,
 * which readers see grow. A blob here is put by one request, or for large files as blocks that one conditional request
 * makes a blob of. Azure has no list "after" a key, so those before are left out here. */
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/gdal.h"
#include "store/bucket_s3.h"
#include "store/http.h"

static const uint64_t ONE_PIECE = UINT64_C(64) << 20, BLOCK = UINT64_C(32) << 20; /* without VSIAZ_CHUNK_SIZE */
static const char service_version[] = "2021-08-06";

struct azure {
	const char *account;
	const char *endpoint;      /* "https://ACCOUNT.blob.core.windows.net", or of an emulator with the account in its path */
	const char *endpoint_path; /* "" or "/devstoreaccount1" */
	const char *container, *prefix;
	uint8_t key[128];
	int key_count;
	uint64_t one_piece, block; /* a longer body is put in blocks of so many bytes */
	struct arena *arena;
	struct http *http;
};

/* One request as it is signed and sent. */
struct call {
	const char *method, *key; /* key NULL: the container */
	struct strings query;     /* "name=value", not escaped, sorted by name */
	struct strings ms;        /* "x-ms-...: value", sorted by name */
	const char *if_match, *if_none_match, *content_md5, *content_type;
	const struct bucket_body *body;
	uint64_t from, count;
	struct bucket_sink *sink;
};

static struct azure *azure_of(struct bucket *bucket)
{
	return bucket->impl;
}

static const char *where(struct bucket *bucket, struct arena *arena, const char *key)
{
	return arena_printf(arena, "%s/%s", bucket->url, key);
}

static const char *base64_of(struct arena *arena, const uint8_t *bytes, int count)
{
	unsigned char *out = arena_alloc(arena, (size_t)count * 2 + 4);
	EVP_EncodeBlock(out, bytes, count);
	return (const char *)out;
}

static const char *date_text(struct arena *arena)
{
	static const char days[][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
	static const char months[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
	time_t now = (time_t)(clock_now_us() / 1000000);
	struct tm utc;
	gmtime_r(&now, &utc);
	return arena_printf(arena, "%s, %02d %s %04d %02d:%02d:%02d GMT", days[utc.tm_wday], utc.tm_mday, months[utc.tm_mon],
						utc.tm_year + 1900, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

static const char *or_nothing(const char *text)
{
	return text ? text : "";
}

static const char *signature_of(const struct azure *azure, struct arena *arena, const struct call *call, const char *path)
{
	struct text text = text_on(arena);
	uint8_t digest[32];
	unsigned size = sizeof digest;
	text_addf(&text, "%s\n\n\n", call->method);
	if (call->count)
		text_addf(&text, "%llu", (unsigned long long)call->count);
	text_addf(&text, "\n%s\n%s\n\n\n%s\n%s\n\n\n", or_nothing(call->content_md5), or_nothing(call->content_type),
			  or_nothing(call->if_match), or_nothing(call->if_none_match));
	for (size_t i = 0; i < call->ms.count; i++) {
		size_t name = strcspn(call->ms.at[i], ":");
		text_addf(&text, "%.*s:%s\n", (int)name, call->ms.at[i], call->ms.at[i] + name + 2);
	}
	text_addf(&text, "/%s%s", azure->account, path);
	for (size_t i = 0; i < call->query.count; i++) {
		size_t name = strcspn(call->query.at[i], "=");
		text_addf(&text, "\n%.*s:%s", (int)name, call->query.at[i], call->query.at[i] + name + 1);
	}
	if (!HMAC(EVP_sha256(), azure->key, azure->key_count, (const unsigned char *)text.at, text.length, digest, &size))
		arena_out_of_memory(arena);
	return base64_of(arena, digest, sizeof digest);
}

static const char *query_text(struct arena *arena, const struct strings *query)
{
	struct text out = text_on(arena);
	for (size_t i = 0; i < query->count; i++) {
		size_t name = strcspn(query->at[i], "=");
		text_addf(&out, "%c%.*s=%s", i ? '&' : '?', (int)name, query->at[i],
				  http_escape(arena, query->at[i] + name + 1, false));
	}
	return out.length ? out.at : "";
}

static void add_header(struct arena *arena, struct strings *headers, const char *name, const char *value)
{
	if (value)
		strings_add(arena, headers, arena_printf(arena, "%s: %s", name, value));
}

static enum bucket_answer exchange(struct bucket *bucket, struct arena *arena, struct call *call, struct http_answer *answer,
								   recloser_error *error)
{
	const struct azure *azure = azure_of(bucket);
	struct http_request request = {
		.method = call->method, .body = call->body, .body_from = call->from, .body_count = call->count, .sink = call->sink};
	const char *path = call->key ? arena_printf(arena, "%s/%s/%s%s", azure->endpoint_path, azure->container,
												http_escape(arena, azure->prefix, true), http_escape(arena, call->key, true))
								 : arena_printf(arena, "%s/%s", azure->endpoint_path, azure->container);
	if (call->body && !call->count)
		call->count = call->body->count;
	strings_add(arena, &call->ms, arena_printf(arena, "x-ms-date: %s", date_text(arena)));
	strings_add(arena, &call->ms, arena_printf(arena, "x-ms-version: %s", service_version));
	strings_sort(&call->ms);
	const char *signature = signature_of(azure, arena, call, path);
	request.headers = call->ms;
	add_header(arena, &request.headers, "Content-MD5", call->content_md5);
	add_header(arena, &request.headers, "Content-Type", call->content_type);
	add_header(arena, &request.headers, "If-Match", call->if_match);
	add_header(arena, &request.headers, "If-None-Match", call->if_none_match);
	strings_add(arena, &request.headers, arena_printf(arena, "Authorization: SharedKey %s:%s", azure->account, signature));
	request.url = arena_printf(arena, "%s%s%s", azure->endpoint, path, query_text(arena, &call->query));
	return http_send(azure->http, arena, &request, answer, error);
}

static enum bucket_answer meaning(struct bucket *bucket, struct arena *arena, const struct http_answer *answer,
								  const char *doing, const char *key, bool conditional, recloser_error *error)
{
	return http_meaning(arena, answer, doing, where(bucket, arena, key), conditional, error);
}

static void take(const struct http_answer *answer, struct bucket_found *found)
{
	memset(found, 0, sizeof *found);
	memccpy(found->token, answer->etag, '\0', sizeof found->token - 1);
	found->bytes = answer->length > 0 ? (uint64_t)answer->length : 0;
}

/* ---- put ---- */

static void add_condition(struct call *call, enum bucket_when when, const char *token)
{
	call->if_none_match = when == BUCKET_IF_ABSENT ? "*" : NULL;
	call->if_match = when == BUCKET_IF_MATCH ? token : NULL;
}

/* Content-MD5 of a part of the body: a block is checked as it comes, the list says nothing of bytes. */
static enum bucket_answer block_md5(struct arena *arena, const struct bucket_body *body, uint64_t from, uint64_t count,
									const char **out, recloser_error *error)
{
	uint8_t md5[16];
	unsigned size = sizeof md5;
	const unsigned char *bytes = (const unsigned char *)body->bytes + (body->file ? 0 : from);
	void *part = NULL;
	if (body->file) {
		int descriptor = open(body->file, O_RDONLY | O_CLOEXEC);
		part = descriptor < 0 ? NULL : mmap(NULL, (size_t)count, PROT_READ, MAP_PRIVATE, descriptor, (off_t)from);
		int failed = errno;
		if (descriptor >= 0)
			close(descriptor);
		if (descriptor < 0 || part == MAP_FAILED) {
			error_errno(error, "store.file", failed, "read", body->file);
			return BUCKET_FAILED;
		}
		bytes = part;
	}
	bool done = EVP_Digest(bytes, (size_t)count, md5, &size, EVP_md5(), NULL) == 1;
	if (part)
		munmap(part, (size_t)count);
	if (!done)
		arena_out_of_memory(arena);
	*out = base64_of(arena, md5, sizeof md5);
	return BUCKET_DONE;
}

/* Blocks have no effect until the list of them is put. Their names are of this body, so that two writers do not mix. */
static enum bucket_answer put_blocks(struct bucket *bucket, struct arena *arena, const char *key,
									 const struct bucket_body *body, struct text *names, recloser_error *error)
{
	const uint64_t block = azure_of(bucket)->block;
	text_add(names, "<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>");
	for (uint64_t from = 0, n = 0; from < body->count; from += block, n++) {
		struct http_answer answer;
		const char *name = arena_printf(arena, "%.32s-%08llu", body->sha256, (unsigned long long)n);
		const char *id = base64_of(arena, (const uint8_t *)name, (int)strlen(name));
		struct call call = {.method = "PUT",
							.key = key,
							.body = body,
							.from = from,
							.count = body->count - from < block ? body->count - from : block};
		strings_add(arena, &call.query, arena_printf(arena, "blockid=%s", id));
		strings_add(arena, &call.query, "comp=block");
		enum bucket_answer out = block_md5(arena, body, from, call.count, &call.content_md5, error);
		if (out == BUCKET_DONE)
			out = exchange(bucket, arena, &call, &answer, error);
		if (out == BUCKET_DONE && answer.status != 201)
			out = meaning(bucket, arena, &answer, "write a block", key, false, error);
		if (out == BUCKET_ABSENT)
			out = BUCKET_FAILED;
		if (out != BUCKET_DONE)
			return out == BUCKET_UNKNOWN ? BUCKET_BUSY : out; /* nothing can be seen of it yet */
		text_addf(names, "<Latest>%s</Latest>", id);
	}
	text_add(names, "</BlockList>");
	return BUCKET_DONE;
}

static enum bucket_answer put(struct bucket *bucket, const char *key, const struct bucket_body *body, enum bucket_when when,
							  const char *token, struct bucket_found *found, recloser_error *error)
{
	struct arena *arena = arena_new(azure_of(bucket)->arena);
	struct call call = {.method = "PUT", .key = key, .content_type = "application/octet-stream", .body = body};
	struct http_answer answer;
	struct bucket_body list;
	struct text names = text_on(arena);
	enum bucket_answer out = BUCKET_DONE;
	const char *md5 = base64_of(arena, body->md5, sizeof body->md5);
	add_condition(&call, when, token);
	if (body->count > azure_of(bucket)->one_piece) {
		out = put_blocks(bucket, arena, key, body, &names, error);
		bucket_body_bytes(&list, names.at, names.length);
		call.body = &list;
		call.content_type = NULL;
		strings_add(arena, &call.ms, arena_printf(arena, "x-ms-blob-content-md5: %s", md5));
		strings_add(arena, &call.query, "comp=blocklist");
	} else {
		call.content_md5 = md5;
		strings_add(arena, &call.ms, "x-ms-blob-type: BlockBlob");
	}
	if (out == BUCKET_DONE)
		out = exchange(bucket, arena, &call, &answer, error);
	if (out == BUCKET_DONE && answer.status == 400 && strcmp(answer.code, "InvalidBlockList") == 0) {
		/* Whoever else made this blob since has thrown our blocks away. */
		out = when == BUCKET_ALWAYS ? BUCKET_BUSY : BUCKET_LOST;
		if (out == BUCKET_BUSY)
			error_set(error, RECLOSER_IO, "store.busy", "another writer took the blocks of a blob away");
	} else if (out == BUCKET_DONE && answer.status != 201) {
		out = meaning(bucket, arena, &answer, "write a blob", key, when != BUCKET_ALWAYS, error);
		if (out == BUCKET_ABSENT)
			out = when == BUCKET_IF_MATCH ? BUCKET_LOST : BUCKET_FAILED;
	} else if (out == BUCKET_DONE && found) {
		take(&answer, found);
		found->bytes = body->count;
	}
	arena_free(arena);
	return out;
}

/* ---- the others ---- */

static enum bucket_answer get(struct bucket *bucket, const char *key, const char *token, struct bucket_sink *sink,
							  struct bucket_found *found, recloser_error *error)
{
	struct arena *arena = arena_new(azure_of(bucket)->arena);
	struct call call = {.method = "GET", .key = key, .sink = sink, .if_match = token};
	struct http_answer answer;
	enum bucket_answer out = exchange(bucket, arena, &call, &answer, error);
	if (out == BUCKET_DONE && answer.status != 200)
		out = meaning(bucket, arena, &answer, "read a blob", key, token != NULL, error);
	else if (out == BUCKET_DONE && found)
		take(&answer, found);
	arena_free(arena);
	return out;
}

static enum bucket_answer head(struct bucket *bucket, const char *key, struct bucket_found *found, recloser_error *error)
{
	struct arena *arena = arena_new(azure_of(bucket)->arena);
	struct call call = {.method = "HEAD", .key = key};
	struct http_answer answer;
	enum bucket_answer out = exchange(bucket, arena, &call, &answer, error);
	if (out == BUCKET_DONE && answer.status != 200)
		out = meaning(bucket, arena, &answer, "look at a blob", key, false, error);
	else if (out == BUCKET_DONE)
		take(&answer, found);
	arena_free(arena);
	return out;
}

static enum bucket_answer remove_object(struct bucket *bucket, const char *key, recloser_error *error)
{
	struct arena *arena = arena_new(azure_of(bucket)->arena);
	struct call call = {.method = "DELETE", .key = key};
	struct http_answer answer;
	enum bucket_answer out = exchange(bucket, arena, &call, &answer, error);
	if (out == BUCKET_DONE && answer.status != 202)
		out = meaning(bucket, arena, &answer, "remove a blob", key, false, error);
	arena_free(arena);
	return out == BUCKET_ABSENT ? BUCKET_DONE : out;
}

static const char *quoted(struct arena *arena, const char *etag)
{
	return *etag == '"' || *etag == '\0' ? arena_strdup(arena, etag) : arena_printf(arena, "\"%s\"", etag);
}

static void read_page(const struct azure *azure, struct arena *arena, const struct bucket_listing *what, CPLXMLNode *result,
					  struct bucket_page *out)
{
	CPLXMLNode *blobs = gdal()->CPLGetXMLNode(result, "Blobs");
	size_t skip = strlen(azure->prefix), count = 0;
	for (const CPLXMLNode *node = blobs ? blobs->psChild : NULL; node; node = node->psNext)
		count++;
	out->at = arena_array(arena, count + 1, sizeof *out->at);
	for (CPLXMLNode *node = blobs ? blobs->psChild : NULL; node; node = node->psNext) {
		const char *key = gdal()->CPLGetXMLValue(node, "Name", "");
		if (node->eType != CXT_Element || strcmp(node->pszValue, "Blob") != 0 || strncmp(key, azure->prefix, skip) != 0)
			continue;
		if (what->after && strcmp(key + skip, what->after) <= 0)
			continue;
		time_t changed = curl_getdate(gdal()->CPLGetXMLValue(node, "Properties.Last-Modified", ""), NULL);
		struct bucket_object *object = &out->at[out->count++];
		object->key = arena_strdup(arena, key + skip);
		object->token = quoted(arena, gdal()->CPLGetXMLValue(node, "Properties.Etag", ""));
		object->bytes = strtoull(gdal()->CPLGetXMLValue(node, "Properties.Content-Length", "0"), NULL, 10);
		object->changed_us = changed > 0 ? (int64_t)changed * 1000000 : 0;
	}
	const char *next = gdal()->CPLGetXMLValue(result, "NextMarker", "");
	out->next = *next ? arena_strdup(arena, next) : NULL;
}

static enum bucket_answer list(struct bucket *bucket, struct arena *arena, const struct bucket_listing *what,
							   struct bucket_page *out, recloser_error *error)
{
	const struct azure *azure = azure_of(bucket);
	struct arena *scratch = arena_new(arena);
	struct call call = {.method = "GET"};
	struct http_answer answer;
	memset(out, 0, sizeof *out);
	strings_add(scratch, &call.query, "comp=list");
	if (what->next)
		strings_add(scratch, &call.query, arena_printf(scratch, "marker=%s", what->next));
	if (what->most)
		strings_add(scratch, &call.query, arena_printf(scratch, "maxresults=%d", what->most));
	strings_add(scratch, &call.query, arena_printf(scratch, "prefix=%s%s", azure->prefix, what->prefix));
	strings_add(scratch, &call.query, "restype=container");
	enum bucket_answer got = exchange(bucket, scratch, &call, &answer, error);
	if (got == BUCKET_DONE && answer.status != 200) {
		got = meaning(bucket, scratch, &answer, "list blobs", what->prefix, false, error);
	} else if (got == BUCKET_DONE) {
		const char *body = *answer.body == '<' ? answer.body : strchr(answer.body, '<'); /* a byte order mark comes first */
		CPLXMLNode *tree = gdal()->CPLParseXMLString(body ? body : "");
		CPLXMLNode *result = tree ? gdal()->CPLGetXMLNode(tree, "=EnumerationResults") : NULL;
		if (result)
			read_page(azure, arena, what, result, out);
		else
			got = BUCKET_UNKNOWN;
		gdal()->CPLDestroyXMLNode(tree);
	}
	if (got == BUCKET_ABSENT)
		got = BUCKET_FAILED;
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
	struct bucket *other = arena_alloc(arena, sizeof *other);
	struct azure *azure = arena_alloc(arena, sizeof *azure);
	*other = *bucket;
	*azure = *azure_of(bucket);
	azure->arena = arena;
	other->impl = azure;
	other->counts = arena_alloc(arena, sizeof *other->counts);
	azure->http = http_on(arena, other->counts);
	return other;
}

static const struct bucket_ops azure_ops = {"azure", put, get, head, list, NULL, remove_object, again};

static const char *member(struct arena *arena, const char *connection, const char *name)
{
	size_t length = strlen(name);
	for (const char *at = connection; at && *at; at += strcspn(at, ";"), at += *at == ';')
		if (strncmp(at, name, length) == 0 && at[length] == '=')
			return arena_strndup(arena, at + length + 1, strcspn(at + length + 1, ";"));
	return NULL;
}

static recloser_status read_settings(struct arena *arena, struct azure *azure, const char **key, recloser_error *error)
{
	const char *connection = http_setting("AZURE_STORAGE_CONNECTION_STRING"), *endpoint = NULL;
	azure->account = http_setting("AZURE_STORAGE_ACCOUNT");
	*key = http_setting("AZURE_STORAGE_ACCESS_KEY");
	if (connection) {
		const char *scheme = member(arena, connection, "DefaultEndpointsProtocol");
		const char *suffix = member(arena, connection, "EndpointSuffix");
		azure->account = member(arena, connection, "AccountName");
		*key = member(arena, connection, "AccountKey");
		endpoint = member(arena, connection, "BlobEndpoint");
		if (!endpoint && azure->account)
			endpoint = arena_printf(arena, "%s://%s.blob.%s", scheme ? scheme : "https", azure->account,
									suffix ? suffix : "core.windows.net");
	}
	if (!azure->account || !*key) {
		error_set(error, RECLOSER_IO, "store.credentials", "there are no credentials for az");
		error_where(error, "AZURE_STORAGE_CONNECTION_STRING, or AZURE_STORAGE_ACCOUNT and AZURE_STORAGE_ACCESS_KEY");
		return error_hint(error, "set one of them; tokens and managed identities are not supported");
	}
	if (!endpoint)
		endpoint = arena_printf(arena, "https://%s.blob.core.windows.net", azure->account);
	const char *host = strstr(endpoint, "://");
	host = host ? host + 3 : endpoint;
	const char *path = strchr(host, '/');
	azure->endpoint = path ? arena_strndup(arena, endpoint, (size_t)(path - endpoint)) : endpoint;
	azure->endpoint_path = path && path[1] ? arena_strndup(arena, path, strlen(path) - text_ends(path, "/")) : "";
	return RECLOSER_OK;
}

recloser_status bucket_azure(struct arena *arena, const char *url, struct bucket **out, recloser_error *error)
{
	struct bucket *bucket = arena_alloc(arena, sizeof *bucket);
	struct azure *azure = arena_alloc(arena, sizeof *azure);
	const char *key;
	bucket_url_split(arena, url, &azure->container, &azure->prefix);
	RC_TRY(read_settings(arena, azure, &key, error));
	size_t length = strlen(key);
	if (length % 4 == 0 && length / 4 * 3 <= sizeof azure->key)
		azure->key_count = EVP_DecodeBlock(azure->key, (const unsigned char *)key, (int)length);
	if (azure->key_count <= 0) {
		error_set(error, RECLOSER_IO, "store.credentials", "the account key is not the base64 text that Azure hands out");
		return error_where(error, "AZURE_STORAGE_ACCESS_KEY or AccountKey");
	}
	azure->key_count -= text_ends(key, "==") ? 2 : text_ends(key, "=") ? 1 : 0;
	const char *chunk = http_setting("VSIAZ_CHUNK_SIZE"); /* megabytes */
	long megabytes = chunk ? strtol(chunk, NULL, 10) : 0;
	bool given = megabytes > 0 && megabytes <= 4000; /* the most of a block */
	azure->block = given ? (uint64_t)megabytes << 20 : BLOCK;
	azure->one_piece = given ? azure->block : ONE_PIECE;
	azure->arena = arena;
	*bucket = (struct bucket){.ops = &azure_ops, .impl = azure, .url = arena_strdup(arena, url)};
	bucket->server = arena_printf(arena, "%s%s/%s", azure->endpoint, azure->endpoint_path, azure->container);
	bucket->counts = arena_alloc(arena, sizeof *bucket->counts);
	azure->http = http_on(arena, bucket->counts);
	*out = bucket;
	return RECLOSER_OK;
}
