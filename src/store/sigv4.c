/* SPDX-License-Identifier: Apache-2.0
 * The canonical form of a request, and a key that is made of date, region and service. Headers rather than a signed URL:
 * copies carry their source and condition in headers that must be under the signature. */
#include "store/sigv4.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/digest.h"

const struct sigv4_dialect sigv4_amazon = {"AWS4-HMAC-SHA256", "AWS4", "aws4_request", "s3", "x-amz-"};
const struct sigv4_dialect sigv4_google = {"GOOG4-HMAC-SHA256", "GOOG4", "goog4_request", "storage", "x-goog-"};

static void hmac(struct arena *arena, const void *key, size_t key_count, const char *text, uint8_t out[32])
{
	unsigned count = 32;
	if (!HMAC(EVP_sha256(), key, (int)key_count, (const unsigned char *)text, strlen(text), out, &count))
		arena_out_of_memory(arena);
}

static const char *name_of(struct arena *arena, const char *header)
{
	return arena_strndup(arena, header, strcspn(header, ":"));
}

static const char *signature_of(struct arena *arena, const struct sigv4_dialect *dialect, const struct sigv4_key *key,
								const char *day, const char *text)
{
	uint8_t step[32];
	char *hex = arena_alloc(arena, 65);
	const char *secret = arena_printf(arena, "%s%s", dialect->secret_prefix, key->secret);
	hmac(arena, secret, strlen(secret), day, step);
	hmac(arena, step, sizeof step, key->region, step);
	hmac(arena, step, sizeof step, dialect->service, step);
	hmac(arena, step, sizeof step, dialect->terminator, step);
	hmac(arena, step, sizeof step, text, step);
	hex_of(step, sizeof step, hex);
	return hex;
}

/* By name alone: "x-amz-copy-source" comes before "x-amz-copy-source-if-match", though ':' does not come before '-'. */
static void sort_by_name(struct strings *headers)
{
	for (size_t i = 1; i < headers->count; i++)
		for (size_t k = i; k > 0; k--) {
			const char *one = headers->at[k - 1], *other = headers->at[k];
			size_t first = strcspn(one, ":"), second = strcspn(other, ":");
			int order = memcmp(one, other, first < second ? first : second);
			if (order < 0 || (order == 0 && first <= second))
				break;
			headers->at[k - 1] = other;
			headers->at[k] = one;
		}
}

/* The headers under the signature, in the order of their names: host comes before x-. */
static struct strings signed_headers(struct arena *arena, const struct sigv4_dialect *dialect, const struct sigv4_key *key,
									 const struct sigv4_request *request, const char *moment)
{
	struct strings out = {0}, own = {0};
	strings_add(arena, &out, arena_printf(arena, "host: %s", request->host));
	for (size_t i = 0; i < request->headers.count; i++)
		strings_add(arena, &own, request->headers.at[i]);
	if (key->access) {
		strings_add(arena, &own, arena_printf(arena, "%scontent-sha256: %s", dialect->header, request->payload));
		strings_add(arena, &own, arena_printf(arena, "%sdate: %s", dialect->header, moment));
		if (key->token)
			strings_add(arena, &own, arena_printf(arena, "%ssecurity-token: %s", dialect->header, key->token));
	}
	sort_by_name(&own);
	for (size_t i = 0; i < own.count; i++)
		strings_add(arena, &out, own.at[i]);
	return out;
}

struct strings sigv4_sign(struct arena *arena, const struct sigv4_dialect *dialect, const struct sigv4_key *key,
						  const struct sigv4_request *request)
{
	char moment[32], day[16], hex[SHA256_HEX];
	time_t seconds = (time_t)(request->now_us / 1000000);
	struct tm utc;
	gmtime_r(&seconds, &utc);
	snprintf(moment, sizeof moment, "%04d%02d%02dT%02d%02d%02dZ", (utc.tm_year + 1900) % 10000, (utc.tm_mon + 1) % 100,
			 utc.tm_mday % 100, utc.tm_hour % 100, utc.tm_min % 100, utc.tm_sec % 100);
	snprintf(day, sizeof day, "%.8s", moment);
	struct strings headers = signed_headers(arena, dialect, key, request, moment), names = {0};
	if (!key->access)
		return headers;
	struct text canonical = text_on(arena);
	text_addf(&canonical, "%s\n%s\n%s\n", request->method, request->path, request->query);
	for (size_t i = 0; i < headers.count; i++) {
		const char *name = name_of(arena, headers.at[i]);
		text_addf(&canonical, "%s:%s\n", name, headers.at[i] + strlen(name) + 2);
		strings_add(arena, &names, name);
	}
	const char *list = strings_join(arena, &names, ";");
	text_addf(&canonical, "\n%s\n%s", list, request->payload);
	sha256_of(canonical.at, canonical.length, hex);
	const char *scope = arena_printf(arena, "%s/%s/%s/%s", day, key->region, dialect->service, dialect->terminator);
	const char *text = arena_printf(arena, "%s\n%s\n%s\n%s", dialect->algorithm, moment, scope, hex);
	strings_add(arena, &headers,
				arena_printf(arena, "Authorization: %s Credential=%s/%s, SignedHeaders=%s, Signature=%s", dialect->algorithm,
							 key->access, scope, list, signature_of(arena, dialect, key, day, text)));
	return headers;
}
