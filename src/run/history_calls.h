/* SPDX-License-Identifier: Apache-2.0
 * What the public calls over src/history share. */
#ifndef RECLOSER_RUN_HISTORY_CALLS_H
#define RECLOSER_RUN_HISTORY_CALLS_H

#include "history/history.h"

/* Spec and dataset opened, and an engine where it is asked for. */
recloser_status history_begin(struct arena *arena, const recloser_common *common, bool engine, struct history *out,
							  recloser_error *error) RC_CHECKED;
/* The result of what was said; none when nothing was. Returns `status`. */
recloser_status history_end(struct history *h, recloser_status status, recloser_result **out, recloser_error *error);

#endif
