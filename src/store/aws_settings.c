/* SPDX-License-Identifier: Apache-2.0
 * AWS_* settings first, then the profile in ~/.aws, as GDAL does. GDAL's own search is not open to callers (it hands out
 * signed URLs only), so roles of machines and single sign-on are not found: for them there is
 * `aws configure export-credentials --format env`. */
#include "store/aws_settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/http.h"

static const char *trimmed(struct arena *arena, const char *text, size_t length)
{
	while (length && strchr(" \t\r\n", *text))
		text++, length--;
	while (length && strchr(" \t\r\n", text[length - 1]))
		length--;
	return arena_strndup(arena, text, length);
}

static void close_file(void *file)
{
	fclose(file);
}

/* Settings of one section of an INI file. What is not there stays as it was. */
static void read_profile(struct arena *arena, const char *path, const char *section, struct sigv4_key *key)
{
	struct arena *scratch = arena_new(arena);
	char line[4096];
	bool inside = false;
	FILE *file = path ? fopen(path, "re") : NULL;
	if (file)
		arena_defer(scratch, close_file, file);
	while (file && fgets(line, sizeof line, file)) {
		char *equals = strchr(line, '='), *close = strchr(line, ']');
		if (line[0] == '[' && close) {
			inside = strcmp(trimmed(scratch, line + 1, (size_t)(close - line) - 1), section) == 0;
			continue;
		}
		if (!inside || !equals || line[0] == '#' || line[0] == ';')
			continue;
		const char *name = trimmed(scratch, line, (size_t)(equals - line));
		const char *value = trimmed(arena, equals + 1, strlen(equals + 1));
		if (strcmp(name, "aws_access_key_id") == 0)
			key->access = value;
		else if (strcmp(name, "aws_secret_access_key") == 0)
			key->secret = value;
		else if (strcmp(name, "aws_session_token") == 0)
			key->token = value;
		else if (strcmp(name, "region") == 0 && !key->region)
			key->region = value;
	}
	arena_free(scratch);
}

static const char *aws_file(struct arena *arena, const char *setting, const char *name)
{
	const char *path = http_setting(setting), *home = getenv("HOME");
	return path ? path : home ? arena_printf(arena, "%s/.aws/%s", home, name) : NULL;
}

static recloser_status find_key(struct arena *arena, struct sigv4_key *key, recloser_error *error)
{
	const char *profile = http_setting("AWS_PROFILE");
	if (!profile)
		profile = http_setting("AWS_DEFAULT_PROFILE");
	key->region = http_setting("AWS_REGION");
	if (!key->region)
		key->region = http_setting("AWS_DEFAULT_REGION");
	if (http_setting_on("AWS_NO_SIGN_REQUEST", false))
		return RECLOSER_OK;
	key->access = http_setting("AWS_ACCESS_KEY_ID");
	key->secret = http_setting("AWS_SECRET_ACCESS_KEY");
	key->token = http_setting("AWS_SESSION_TOKEN");
	bool given = key->access && key->secret;
	struct sigv4_key found = {.region = key->region};
	const char *name = profile ? profile : "default";
	read_profile(arena, aws_file(arena, "AWS_SHARED_CREDENTIALS_FILE", "credentials"), name, &found);
	const char *section = strcmp(name, "default") == 0 ? name : arena_printf(arena, "profile %s", name);
	read_profile(arena, aws_file(arena, "AWS_CONFIG_FILE", "config"), section, &found);
	key->region = found.region;
	if (given)
		return RECLOSER_OK;
	*key = found;
	if (found.access && found.secret)
		return RECLOSER_OK;
	error_set(error, RECLOSER_IO, "store.credentials", "there are no credentials for s3");
	error_where(error, "%s",
				profile ? arena_printf(arena, "profile %s", profile) : "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, ~/.aws");
	return error_hint(error,
					  "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; for roles and single sign-on: "
					  "eval $(aws configure export-credentials --format env)");
}

static const char *without_scheme(const char *endpoint, bool *https)
{
	if (text_starts(endpoint, "http://")) {
		*https = false;
		return endpoint + 7;
	}
	if (text_starts(endpoint, "https://")) {
		*https = true;
		return endpoint + 8;
	}
	return endpoint;
}

recloser_status aws_settings_read(struct arena *arena, const char *bucket, struct aws_settings *out, recloser_error *error)
{
	RC_TRY(find_key(arena, &out->key, error));
	if (!out->key.region)
		out->key.region = "us-east-1";
	const char *endpoint = http_setting("AWS_S3_ENDPOINT");
	out->https = http_setting_on("AWS_HTTPS", true);
	if (!endpoint)
		endpoint = arena_printf(arena, "s3.%s.amazonaws.com", out->key.region);
	endpoint = without_scheme(endpoint, &out->https);
	out->endpoint = arena_strndup(arena, endpoint, strcspn(endpoint, "/"));
	/* A certificate for *.endpoint does not hold for a name with more dots. */
	out->virtual_hosting = http_setting_on("AWS_VIRTUAL_HOSTING", !strchr(bucket, '.'));
	return RECLOSER_OK;
}
