/* SPDX-License-Identifier: Apache-2.0
 * Where S3 is and who we are, from the settings that GDAL's /vsis3/ takes. */
#ifndef RECLOSER_STORE_AWS_SETTINGS_H
#define RECLOSER_STORE_AWS_SETTINGS_H

#include "store/sigv4.h"

struct aws_settings {
	struct sigv4_key key;
	const char *endpoint; /* host and port */
	bool https;
	bool virtual_hosting; /* the bucket in the host name rather than in the path */
};
recloser_status aws_settings_read(struct arena *arena, const char *bucket, struct aws_settings *out,
								  recloser_error *error) RC_CHECKED;

#endif
