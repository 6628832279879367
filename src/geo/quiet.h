/* SPDX-License-Identifier: Apache-2.0
 * GDAL talks through a global error handler. For the length of one call it is turned to a buffer on the stack; GDAL keeps
 * the handlers of each thread apart, so threads do not meet. */
#ifndef RECLOSER_GEO_QUIET_H
#define RECLOSER_GEO_QUIET_H

#include <stdbool.h>

struct quiet {
	char text[512]; /* the first error, else the last warning; "" when there was none */
	bool failed;    /* an error, not only warnings */
};
void quiet_begin(struct quiet *quiet); /* `quiet` must stay where it is until quiet_end */
void quiet_end(struct quiet *quiet);

#endif
