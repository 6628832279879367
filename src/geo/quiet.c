/* SPDX-License-Identifier: Apache-2.0
 * The collecting error handler. */
#include "geo/quiet.h"

#include <string.h>

#include "base/gdal.h"

static void CPL_STDCALL collect(CPLErr class, CPLErrorNum number, const char *message)
{
	(void)number;
	struct quiet *quiet = gdal()->CPLGetErrorHandlerUserData();
	if (!quiet || class < CE_Warning || quiet->failed)
		return;
	quiet->failed = class >= CE_Failure;
	strncpy(quiet->text, message, sizeof quiet->text - 1);
	quiet->text[sizeof quiet->text - 1] = '\0';
}

void quiet_begin(struct quiet *quiet)
{
	quiet->text[0] = '\0';
	quiet->failed = false;
	gdal()->CPLPushErrorHandlerEx(collect, quiet);
}

void quiet_end(struct quiet *quiet)
{
	(void)quiet;
	gdal()->CPLPopErrorHandler();
	gdal()->CPLErrorReset();
}
