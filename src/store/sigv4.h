/* SPDX-License-Identifier: Apache-2.0
 * Signature version 4 in the request's headers, as S3 and, in a dialect of its own, Google's XML interface take it. */
#ifndef RECLOSER_STORE_SIGV4_H
#define RECLOSER_STORE_SIGV4_H

#include "base/arena.h"
#include "base/text.h"

struct sigv4_dialect {
	const char *algorithm, *secret_prefix, *terminator, *service;
	const char *header; /* prefix of the store's own headers: "x-amz-" */
};
extern const struct sigv4_dialect sigv4_amazon, sigv4_google;

struct sigv4_key {
	const char *access, *secret, *token; /* token: NULL without one. access NULL: requests are not signed */
	const char *region;
};

struct sigv4_request {
	const char *method, *host;
	const char *path;       /* escaped */
	const char *query;      /* escaped and sorted, "" for none */
	struct strings headers; /* "name: value", of the store's own prefix, names in lower case and sorted */
	const char *payload;    /* hexadecimal SHA-256 of the body */
	int64_t now_us;
};
/* The headers to send: host, the given ones, date, digest and the signature. */
struct strings sigv4_sign(struct arena *arena, const struct sigv4_dialect *dialect, const struct sigv4_key *key,
						  const struct sigv4_request *request);

#endif
