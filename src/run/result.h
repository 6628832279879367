/* SPDX-License-Identifier: Apache-2.0
 *
 * The result of a public call: what happened, as JSON and as text. It outlives the call's arena, so it holds copies on one
 * of its own.
 */
#ifndef RECLOSER_RUN_RESULT_H
#define RECLOSER_RUN_RESULT_H

#include "recloser/recloser.h"

/* Either may be NULL for "". NULL when there is no memory; never leaves by a guard. */
recloser_result *result_new(const char *json, const char *text);

#endif
