/* SPDX-License-Identifier: Apache-2.0
 *
 * Progress on stderr: on a terminal one line that is rewritten, once a call has taken a second; elsewhere a plain line
 * every few seconds. Nothing with --quiet.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "options.h"

struct progress {
	bool terminal, shown;
	double started, began, printed; /* the call, its phase, the last line: seconds of a clock that only goes forward */
	char phase[16];
	char note[160];          /* whom one was last said to wait for */
};

/* The part of a call's options that is the same everywhere; `progress` must outlive the call. */
recloser_common common_for_call(const struct common *common, const char *spec, struct progress *progress);
/* Take the rewritten line away, so that output begins at an empty one. */
void progress_end(struct progress *progress);

#endif
