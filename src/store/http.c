/* SPDX-License-Identifier: Apache-2.0
 * libcurl runs inside callbacks that must not leave by a jump, so what arrives is kept in memory of its own until the
 * request is over, and handed to the arena then. */
#include "store/http.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/gdal.h"

enum { MOST_BODY = 16 << 20, MOST_IN_MEMORY = 1 << 30 }; /* of an answer that is read as text, and of an object */

struct http {
	CURL *curl;
	struct bucket_counts *counts;
	char problem[CURL_ERROR_SIZE];
};

struct transfer {
	const struct bucket_body *body;
	uint64_t from, count, sent;
	int from_file, to_file;
	struct bucket_sink *sink;
	struct sha256 *digest;
	EVP_MD_CTX *md5;
	struct http_answer *answer;
	CURL *curl;
	char *received;
	size_t received_count, received_capacity;
	uint64_t total;
	int file_error; /* errno of one of the two files */
	bool too_large;
};

static void free_http(void *pointer)
{
	struct http *http = pointer;
	curl_easy_cleanup(http->curl);
}

struct http *http_on(struct arena *arena, struct bucket_counts *counts)
{
	struct http *http = arena_alloc(arena, sizeof *http);
	http->counts = counts;
	http->curl = curl_easy_init();
	if (!http->curl)
		arena_out_of_memory(arena);
	arena_defer(arena, free_http, http);
	return http;
}

/* ---- settings ---- */

const char *http_setting(const char *name)
{
	const char *value = gdal()->CPLGetConfigOption(name, NULL);
	return value && *value ? value : NULL;
}

bool http_setting_on(const char *name, bool otherwise)
{
	const char *value = http_setting(name);
	return value ? gdal()->CPLTestBool(value) : otherwise;
}

static long seconds_of(const char *name, long otherwise)
{
	const char *value = http_setting(name);
	long number = value ? strtol(value, NULL, 10) : 0;
	return number > 0 ? number : otherwise;
}

const char *http_escape(struct arena *arena, const char *text, bool path)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~";
	struct text out = text_on(arena);
	for (const char *at = text; *at; at++) {
		if (strchr(plain, *at) || (path && *at == '/'))
			text_add_n(&out, at, 1);
		else
			text_addf(&out, "%%%02X", (unsigned)(unsigned char)*at);
	}
	return out.length ? out.at : "";
}

/* ---- callbacks: no arena, no jump ---- */

static size_t send_body(char *buffer, size_t size, size_t items, void *pointer)
{
	struct transfer *t = pointer;
	uint64_t left = t->count - t->sent;
	size_t count = size * items < left ? size * items : (size_t)left;
	if (count == 0)
		return 0;
	if (!t->body->file) {
		memcpy(buffer, (const char *)t->body->bytes + t->from + t->sent, count);
	} else {
		ssize_t got = pread(t->from_file, buffer, count, (off_t)(t->from + t->sent));
		if (got <= 0) {
			t->file_error = got < 0 ? errno : EIO; /* the file has become shorter */
			return CURL_READFUNC_ABORT;
		}
		count = (size_t)got;
	}
	t->sent += count;
	return count;
}

/* libcurl rewinds to send a body a second time, after a kept connection died. That would hide that the first may have
 * been acted upon. */
static int refuse_rewind(void *pointer, curl_off_t offset, int origin)
{
	const struct transfer *t = pointer;
	return t->sent == 0 && offset == 0 && origin == SEEK_SET ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL;
}

static bool keep(struct transfer *t, const char *bytes, size_t count)
{
	if (t->received_count + count + 1 > t->received_capacity) {
		size_t capacity = (t->received_count + count + 1) * 2;
		char *grown = realloc(t->received, capacity);
		if (!grown)
			return false;
		t->received = grown;
		t->received_capacity = capacity;
	}
	memcpy(t->received + t->received_count, bytes, count);
	t->received_count += count;
	t->received[t->received_count] = '\0';
	return true;
}

static size_t receive_body(char *bytes, size_t size, size_t items, void *pointer)
{
	struct transfer *t = pointer;
	size_t count = size * items;
	long status = 0;
	t->total += count;
	curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &status);
	if (t->sink && status == 200) {
		sha256_add(t->digest, bytes, count);
		(void)EVP_DigestUpdate(t->md5, bytes, count);
		if (t->sink->file) {
			for (size_t done = 0; done < count;) {
				ssize_t put = write(t->to_file, bytes + done, count - done);
				if (put < 0 && errno == EINTR)
					continue;
				if (put < 0) {
					t->file_error = errno;
					return 0;
				}
				done += (size_t)put;
			}
			return count;
		}
	}
	t->too_large = t->received_count + count > (t->sink && status == 200 ? MOST_IN_MEMORY : MOST_BODY);
	if (!t->too_large && keep(t, bytes, count))
		return count;
	t->file_error = ENOMEM;
	return 0;
}

static void take(const char *line, size_t count, const char *name, char *out, size_t size)
{
	size_t length = strlen(name);
	if (count <= length || strncasecmp(line, name, length) != 0 || line[length] != ':')
		return;
	line += length + 1;
	count -= length + 1;
	while (count && (*line == ' ' || *line == '\t'))
		line++, count--;
	while (count && (line[count - 1] == '\r' || line[count - 1] == '\n' || line[count - 1] == ' '))
		count--;
	if (count >= size)
		return; /* a token cut short would be another's: none instead */
	memcpy(out, line, count);
	out[count] = '\0';
}

static size_t receive_header(char *line, size_t size, size_t items, void *pointer)
{
	struct transfer *t = pointer;
	struct http_answer *answer = t->answer;
	char length[32] = "";
	if (size * items > 5 && memcmp(line, "HTTP/", 5) == 0) /* the answer after a redirection */
		answer->etag[0] = answer->generation[0] = answer->code[0] = '\0';
	take(line, size * items, "etag", answer->etag, sizeof answer->etag);
	take(line, size * items, "date", answer->date, sizeof answer->date);
	take(line, size * items, "x-goog-generation", answer->generation, sizeof answer->generation);
	take(line, size * items, "x-ms-error-code", answer->code, sizeof answer->code);
	take(line, size * items, "content-length", length, sizeof length);
	if (*length)
		answer->length = strtoll(length, NULL, 10);
	return size * items;
}

/* ---- one request ---- */

static void set_common(struct http *http, const struct http_request *request, struct curl_slist *headers)
{
	CURL *curl = http->curl;
	const char *bundle = http_setting("CURL_CA_BUNDLE");
	curl_easy_reset(curl); /* keeps connections */
	http->problem[0] = '\0';
	curl_easy_setopt(curl, CURLOPT_URL, request->url);
	curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	/* Servers hang up on who is silent for a few seconds, as a load is while it stages; a put on such a connection is lost.
	 */
	curl_easy_setopt(curl, CURLOPT_MAXAGE_CONN, 4L);
	curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, request->follow ? 1L : 0L);
	curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 10L);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, http->problem);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "recloser/" RECLOSER_VERSION);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, seconds_of("GDAL_HTTP_CONNECTTIMEOUT", 10));
	curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, seconds_of("GDAL_HTTP_LOW_SPEED_TIME", 60));
	curl_easy_setopt(curl, CURLOPT_TIMEOUT, seconds_of("GDAL_HTTP_TIMEOUT", 0));
	if (!bundle)
		bundle = http_setting("SSL_CERT_FILE");
	if (bundle)
		curl_easy_setopt(curl, CURLOPT_CAINFO, bundle);
}

static void set_transfer(struct http *http, const struct http_request *request, struct transfer *t)
{
	CURL *curl = http->curl;
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, receive_body);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, t);
	curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, receive_header);
	curl_easy_setopt(curl, CURLOPT_HEADERDATA, t);
	if (strcmp(request->method, "HEAD") == 0)
		curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
	else if (strcmp(request->method, "PUT") == 0) {
		curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
		curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)t->count);
		curl_easy_setopt(curl, CURLOPT_READFUNCTION, send_body);
		curl_easy_setopt(curl, CURLOPT_READDATA, t);
		curl_easy_setopt(curl, CURLOPT_SEEKFUNCTION, refuse_rewind);
		curl_easy_setopt(curl, CURLOPT_SEEKDATA, t);
	} else if (strcmp(request->method, "GET") != 0)
		curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
}

static const char *host_of(struct arena *arena, const char *url)
{
	const char *start = strstr(url, "://");
	start = start ? start + 3 : url;
	return arena_strndup(arena, start, strcspn(start, "/?"));
}

static enum bucket_answer failure(struct http *http, struct arena *arena, const struct http_request *request, CURLcode code,
								  const struct transfer *t, recloser_error *error)
{
	const char *host = host_of(arena, request->url), *why = *http->problem ? http->problem : curl_easy_strerror(code);
	if (t->too_large) {
		error_set(error, RECLOSER_IO, "store.too_large", "the object store's answer is larger than %d MB",
				  (t->sink ? MOST_IN_MEMORY : MOST_BODY) >> 20);
		error_where(error, "%s", request->url);
		return BUCKET_FAILED;
	}
	if (t->file_error) {
		error_errno(error, "store.file", t->file_error, t->sink ? "keep what came from the store in" : "read",
					t->sink && t->sink->file   ? t->sink->file
					: t->body && t->body->file ? t->body->file
											   : host);
		return BUCKET_FAILED;
	}
	switch (code) {
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
	case CURLE_COULDNT_CONNECT:
		error_set(error, RECLOSER_IO, "store.unreachable", "the object store can't be reached: %s", why);
		error_where(error, "%s", host);
		error_hint(error, "check the network and the endpoint setting (AWS_S3_ENDPOINT, AWS_HTTPS); nothing was changed");
		return BUCKET_BUSY;
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_CONNECT_ERROR:
		error_set(error, RECLOSER_IO, "store.tls", "no trusted connection to the object store: %s", why);
		error_where(error, "%s", host);
		error_hint(error, "CURL_CA_BUNDLE names a file of certificates to trust; AWS_HTTPS=NO is for servers without TLS");
		return BUCKET_FAILED;
	default:
		error_set(error, RECLOSER_IO, "store.no_answer", "the object store gave no answer to %s: %s", request->method, why);
		error_where(error, "%s", host);
		if (code == CURLE_GOT_NOTHING && text_starts(request->url, "http://"))
			error_hint(error, "run again when the store is well; if it wants TLS, do without AWS_HTTPS=NO");
		return BUCKET_UNKNOWN;
	}
}

/* A file that is left half is no file: the caller never reads it, since the answer is not BUCKET_DONE. */
static bool open_files(struct transfer *t, recloser_error *error)
{
	if (t->body && t->body->file && (t->from_file = open(t->body->file, O_RDONLY | O_CLOEXEC)) < 0) {
		error_errno(error, "store.file", errno, "open", t->body->file);
		return false;
	}
	if (t->sink && t->sink->file && (t->to_file = open(t->sink->file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) < 0) {
		error_errno(error, "store.file", errno, "make", t->sink->file);
		return false;
	}
	return true;
}

static bool close_files(struct transfer *t)
{
	if (t->from_file >= 0)
		close(t->from_file);
	return t->to_file < 0 || close(t->to_file) == 0;
}

static void end_sink(struct transfer *t)
{
	uint8_t digest[32];
	unsigned size = sizeof digest;
	if (!t->sink || t->answer->status != 200)
		return;
	sha256_end(t->digest, digest);
	hex_of(digest, sizeof digest, t->sink->sha256);
	(void)EVP_DigestFinal_ex(t->md5, digest, &size);
	hex_of(digest, 16, t->sink->md5);
}

static void hand_over(struct transfer *t, struct arena *arena)
{
	struct arena *to = t->sink && t->answer->status == 200 ? t->sink->arena : arena;
	char *copy = to ? arena_alloc(to, t->received_count + 1) : NULL;
	if (!copy)
		return;
	if (t->received_count)
		memcpy(copy, t->received, t->received_count);
	if (to == arena && !(t->sink && t->answer->status == 200)) {
		t->answer->body = copy;
		t->answer->body_count = t->received_count;
	} else {
		t->sink->bytes = copy;
		t->sink->count = t->sink->file ? (size_t)t->total : t->received_count;
	}
}

static void free_received(void *pointer)
{
	struct transfer *t = pointer;
	free(t->received);
	sha256_free(t->digest);
	EVP_MD_CTX_free(t->md5);
}

enum bucket_answer http_send(struct http *http, struct arena *arena, const struct http_request *request,
							 struct http_answer *answer, recloser_error *error)
{
	struct arena *scratch = arena_new(arena);
	struct curl_slist *headers = NULL;
	struct transfer *t = arena_alloc(scratch, sizeof *t);
	*t = (struct transfer){.body = request->body,
						   .from = request->body_from,
						   .from_file = -1,
						   .to_file = -1,
						   .sink = request->sink,
						   .answer = answer,
						   .curl = http->curl};
	t->count = request->body_count ? request->body_count : request->body ? request->body->count : 0;
	*answer = (struct http_answer){.length = -1, .body = ""};
	arena_defer(scratch, free_received, t);
	t->digest = sha256_new();
	t->md5 = EVP_MD_CTX_new();
	if (!t->digest || !t->md5 || EVP_DigestInit_ex(t->md5, EVP_md5(), NULL) != 1)
		arena_out_of_memory(arena);
	if (!open_files(t, error)) {
		(void)close_files(t);
		arena_free(scratch);
		return BUCKET_FAILED;
	}
	headers = curl_slist_append(headers, "Expect:");
	for (size_t i = 0; i < request->headers.count; i++)
		headers = curl_slist_append(headers, request->headers.at[i]);
	set_common(http, request, headers);
	set_transfer(http, request, t);
	http->counts->requests++;
	CURLcode code = curl_easy_perform(http->curl);
	curl_slist_free_all(headers);
	bool closed = close_files(t);
	http->counts->bytes_sent += t->sent;
	http->counts->bytes_received += t->total;
	long status = 0;
	curl_easy_getinfo(http->curl, CURLINFO_RESPONSE_CODE, &status);
	answer->status = (int)status;
	if (!closed && !t->file_error)
		t->file_error = EIO;
	end_sink(t);
	enum bucket_answer out =
		code == CURLE_OK && !t->file_error ? BUCKET_DONE : failure(http, arena, request, code, t, error);
	if (out != BUCKET_DONE)
		answer->status = 0;
	else
		hand_over(t, arena);
	arena_free(scratch);
	return out;
}
