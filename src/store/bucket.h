/* SPDX-License-Identifier: Apache-2.0
 * Every side effect on a dataset that lies in an object store goes through this table: bucket_s3 (S3 and what speaks it),
 * bucket_azure and bucket_gcs are the real ones, bucket_retry wraps one of them, and tests bring one in memory.
 *
 * Keys are relative to the root that the bucket was opened with. A token is what the store calls the state of one object
 * (ETag, generation): equal tokens of one key mean equal bytes, and a write on the condition of a token acts only while the
 * object still has it.
 *
 * An answer is not a status, because losing a race is no error and because a call without an answer may have acted, or may
 * act later. `error` is set for BUCKET_FAILED, BUCKET_BUSY and BUCKET_UNKNOWN only. */
#ifndef RECLOSER_STORE_BUCKET_H
#define RECLOSER_STORE_BUCKET_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/text.h"

enum bucket_answer {
	BUCKET_DONE,
	BUCKET_ABSENT, /* no such object */
	BUCKET_LOST, /* the condition did not hold, said plainly to the only request that was sent: nothing was changed by it */
	BUCKET_LOOK, /* the condition does not hold, but that may be one's own doing: look */
	BUCKET_BUSY, /* asked to come back later, or not reached at all; the retrying bucket never gives this */
	BUCKET_UNKNOWN, /* no answer: it may have acted, or may act later */
	BUCKET_FAILED   /* refused for a reason that a repetition does not cure */
};

#define BUCKET_TOKEN 160 /* longest token and the NUL */

struct bucket_counts {
	uint64_t requests, retries, bytes_sent, bytes_received;
};

/* What is put: bytes in memory, or a file. Made by the two functions below, which digest it. */
struct bucket_body {
	const void *bytes;
	const char *file; /* NULL: bytes */
	uint64_t count;
	char sha256[SHA256_HEX];
	uint8_t md5[16];
};
void bucket_body_bytes(struct bucket_body *body, const void *bytes, size_t count);
recloser_status bucket_body_file(struct bucket_body *body, const char *file, recloser_error *error) RC_CHECKED;

enum bucket_when { BUCKET_ALWAYS, BUCKET_IF_ABSENT, BUCKET_IF_MATCH };

struct bucket_found {
	char token[BUCKET_TOKEN];
	uint64_t bytes;
	unsigned turn; /* of a copy that was sent again: it is at bucket_copy_name(to, turn) */
};

/* Where a get leaves what it got: in memory when `file` is NULL, else in that file, which is made or replaced. */
struct bucket_sink {
	struct arena *arena;
	const char *file;
	char *bytes; /* out; a NUL follows */
	size_t count;
	char sha256[SHA256_HEX];
	char md5[33];
};

struct bucket_object {
	const char *key, *token;
	uint64_t bytes;
	int64_t changed_us; /* as the store says; 0: unknown */
};
struct bucket_listing {
	const char *prefix;
	const char *after; /* keys after this one only; NULL: all */
	const char *next;  /* of the page before; NULL: the first page */
	int most;          /* 0: as many as the store gives, usually 1,000 */
};
struct bucket_page {
	struct bucket_object *at;
	size_t count;
	const char *next; /* NULL: this was the last page */
};

struct bucket;
struct bucket_ops {
	const char *name; /* "s3", "azure", "gcs", "memory" */
	/* `token` for BUCKET_IF_MATCH. found->token is the new one, "" where the store does not say. */
	enum bucket_answer (*put)(struct bucket *, const char *key, const struct bucket_body *body, enum bucket_when when,
							  const char *token, struct bucket_found *found, recloser_error *error);
	/* `token` (may be NULL): only while the object has it, else BUCKET_LOST. */
	enum bucket_answer (*get)(struct bucket *, const char *key, const char *token, struct bucket_sink *sink,
							  struct bucket_found *found, recloser_error *error);
	enum bucket_answer (*head)(struct bucket *, const char *key, struct bucket_found *found, recloser_error *error);
	/* Sorted by key. Never BUCKET_ABSENT: nothing there is an empty page. */
	enum bucket_answer (*list)(struct bucket *, struct arena *arena, const struct bucket_listing *what,
							   struct bucket_page *out, recloser_error *error);
	/* NULL where the store has no copy of its own. `token` is the source's; not all servers look at it, so look at found.
	 * Each one that is sent again goes to another name, since the one before may act later, on what is there then. */
	enum bucket_answer (*copy)(struct bucket *, const char *from, const char *token, const char *to,
							   struct bucket_found *found, recloser_error *error);
	/* BUCKET_DONE also when it was not there. */
	enum bucket_answer (*remove)(struct bucket *, const char *key, recloser_error *error);
	/* Another way to the same store, for use in another thread; its counts are its own. */
	struct bucket *(*again)(struct bucket *, struct arena *arena);
};

struct bucket {
	const struct bucket_ops *ops;
	void *impl;
	const char *url;    /* of the root: "s3://lake/prefix" */
	const char *server; /* what a probe's result belongs to: endpoint and bucket */
	struct bucket_counts *counts;
};

/* The bucket of s3://, az:// or gs:// URL, with retries around it. Takes settings and credentials where GDAL's file systems
 * take theirs: configuration options and the environment (docs/object-stores.md). Sends nothing yet. RECLOSER_USAGE for a
 * URL that names no bucket; RECLOSER_IO without credentials. */
recloser_status bucket_open(struct arena *arena, const char *url, struct bucket **out, recloser_error *error) RC_CHECKED;
recloser_status bucket_s3(struct arena *arena, const char *url, struct bucket **out, recloser_error *error) RC_CHECKED;
recloser_status bucket_gcs(struct arena *arena, const char *url, struct bucket **out, recloser_error *error) RC_CHECKED;
recloser_status bucket_azure(struct arena *arena, const char *url, struct bucket **out, recloser_error *error) RC_CHECKED;
bool bucket_is_url(const char *root);

/* A bucket that repeats what another answers with BUCKET_BUSY or BUCKET_UNKNOWN, after growing pauses, up to a limit. A
 * conditional put is repeated only after BUCKET_BUSY; its BUCKET_UNKNOWN goes to the caller, who has to look. */
struct bucket_retry_options {
	int tries;          /* in all; 0: 6, or one more than GDAL_HTTP_MAX_RETRY */
	double first_pause; /* seconds, doubled each time; 0: 0.3, or GDAL_HTTP_RETRY_DELAY */
};
struct bucket *bucket_retry(struct arena *arena, struct bucket *inner, const struct bucket_retry_options *options);
const char *bucket_copy_name(struct arena *arena, const char *to, unsigned turn); /* "to" or "to.1", "to.2" ... */

/* ---- what a store does and does not honour, by trial ---- */

struct bucket_abilities {
	bool create_once;  /* of N concurrent puts on the condition that nothing is there, one acts */
	bool match;        /* a put with a stale token is refused, and of N concurrent ones with the right token one acts */
	bool checksum;     /* a body that is not what its digest says is refused */
	bool list_current; /* what was put is listed, what was removed is not */
	bool copy_checks;  /* a copy on the condition of a stale token is refused; not needed, only noted */
	bool md5_tokens;   /* a token is the MD5 of the bytes, so that a read that mixes two states can be told */
};
/* Tries it out under `prefix` (which it leaves empty): some 50 requests. RECLOSER_IO when the store can't be used at all. */
recloser_status bucket_probe(struct bucket *bucket, struct arena *arena, const char *prefix, struct bucket_abilities *out,
							 recloser_error *error) RC_CHECKED;
/* Does this token say that the bytes are others? Only where it has the form of an MD5, and tokens are such here. */
bool bucket_token_denies(const struct bucket_abilities *can, const char *token, const char *md5);
/* Members named as in the struct, `server`, and `sentences`: one for each guarantee that is missing. */
json_t *bucket_abilities_json(struct arena *arena, const struct bucket *bucket, const struct bucket_abilities *can);
bool bucket_abilities_read(const json_t *json, const struct bucket *bucket, struct bucket_abilities *out);

#endif
