/* SPDX-License-Identifier: Apache-2.0
 * A local directory for one command, where the dataset itself lies elsewhere. */
#ifndef RECLOSER_STORE_SCRATCH_H
#define RECLOSER_STORE_SCRATCH_H

#include "base/arena.h"

/* Makes a directory of its own in `parent` (NULL: $TMPDIR, else /tmp), readable by its owner only, and removes those that
 * killed commands of this user left there. It goes with the arena. */
recloser_status scratch_make(struct arena *arena, const char *parent, const char **out, recloser_error *error) RC_CHECKED;

#endif
