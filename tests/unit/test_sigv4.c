/* SPDX-License-Identifier: Apache-2.0
 * Signatures against the worked examples that Amazon publishes for S3 ("Signature Calculations for the Authorization
 * Header"), and the order of headers that those do not cover. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/clock.h"
#include "store/sigv4.h"

static const char empty[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
static const struct sigv4_key key = {"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", NULL, "us-east-1"};

static const char *authorization(struct arena *arena, const char *path, const char *query, const char *header)
{
	struct sigv4_request request = {.method = "GET",
									.host = "examplebucket.s3.amazonaws.com",
									.path = path,
									.query = query,
									.payload = empty,
									.now_us = clock_parse("2013-05-24T00:00:00Z")};
	if (header)
		strings_add(arena, &request.headers, header);
	struct strings headers = sigv4_sign(arena, &sigv4_amazon, &key, &request);
	return headers.at[headers.count - 1];
}

static void test_examples(void **state)
{
	struct arena *arena = arena_new(NULL);
	(void)state;
	assert_string_equal(
		authorization(arena, "/test.txt", "", "range: bytes=0-9"),
		"Authorization: AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
		"SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
		"Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
	assert_non_null(strstr(authorization(arena, "/", "lifecycle=", NULL),
						   "Signature=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"));
	assert_non_null(strstr(authorization(arena, "/", "max-keys=2&prefix=J", NULL),
						   "Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"));
	arena_free(arena);
}

static void test_order_and_token(void **state)
{
	struct arena *arena = arena_new(NULL);
	struct sigv4_key with_token = key;
	struct sigv4_request request = {
		.method = "PUT", .host = "h", .path = "/b/k", .query = "", .payload = empty, .now_us = 0};
	(void)state;
	with_token.token = "session";
	strings_add(arena, &request.headers, "x-amz-copy-source-if-match: \"e\"");
	strings_add(arena, &request.headers, "x-amz-copy-source: /b/j");
	struct strings headers = sigv4_sign(arena, &sigv4_amazon, &with_token, &request);
	assert_non_null(strstr(headers.at[headers.count - 1], "SignedHeaders=host;x-amz-content-sha256;x-amz-copy-source;"
														  "x-amz-copy-source-if-match;x-amz-date;x-amz-security-token,"));
	headers = sigv4_sign(arena, &sigv4_google, &key,
						 &(struct sigv4_request){.method = "GET", .host = "h", .path = "/", .query = "", .payload = empty});
	assert_non_null(strstr(headers.at[headers.count - 1],
						   "GOOG4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/19700101/us-east-1/storage/goog4_request"));
	headers = sigv4_sign(arena, &sigv4_amazon, &(struct sigv4_key){.region = "r"}, &request);
	assert_string_equal(headers.at[0], "host: h");
	assert_int_equal(headers.count, 3); /* unsigned */
	arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_examples), cmocka_unit_test(test_order_and_token)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
