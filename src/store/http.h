/* SPDX-License-Identifier: Apache-2.0
 * One HTTP request and its answer, over libcurl. Nothing is repeated here behind the caller's back, not even by libcurl on
 * a connection that died: whether a request was sent once is what the commit protocol needs to know. */
#ifndef RECLOSER_STORE_HTTP_H
#define RECLOSER_STORE_HTTP_H

#include "store/bucket.h"

struct http; /* a connection that is kept */
struct http *http_on(struct arena *arena, struct bucket_counts *counts);

struct http_request {
	const char *method; /* GET, HEAD, PUT, DELETE */
	const char *url;    /* escaped, sent as it is */
	struct strings headers;
	const struct bucket_body *body; /* NULL: none */
	uint64_t body_from, body_count; /* the part of a file that is sent; 0 and 0: all of it */
	struct bucket_sink *sink;       /* filled when the status is 200; else the body is in the answer */
	bool follow;                    /* redirections, as web servers send them */
};
struct http_answer {
	int status; /* 0: none came */
	char etag[BUCKET_TOKEN], generation[32], date[64], code[64];
	int64_t length;
	const char *body; /* at most 16 MB; "" when it went to the sink, which takes a gigabyte in memory */
	size_t body_count;
};
/* BUCKET_DONE: there is an answer, whatever its status. BUCKET_BUSY: nothing was sent. BUCKET_UNKNOWN: sent, but no whole
 * answer. BUCKET_FAILED: the sink's or the body's file failed, or a certificate. */
enum bucket_answer http_send(struct http *http, struct arena *arena, const struct http_request *request,
							 struct http_answer *answer, recloser_error *error);

/* Every byte but A-Za-z0-9_-.~ as %XX; '/' stays when `path`. */
const char *http_escape(struct arena *arena, const char *text, bool path);
/* A setting as GDAL has it: configuration option, else environment; NULL when unset or empty. */
const char *http_setting(const char *name);
bool http_setting_on(const char *name, bool otherwise);

/* What a status that is no success means, when `conditional` was a write or read on a condition. Sets `error` from the
 * XML that stores answer with, in one sentence. */
enum bucket_answer http_meaning(struct arena *arena, const struct http_answer *answer, const char *doing, const char *where,
								bool conditional, recloser_error *error);

#endif
