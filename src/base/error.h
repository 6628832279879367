/* SPDX-License-Identifier: Apache-2.0
 * Errors inside the library: every fallible function returns a recloser_status and takes `struct recloser_error *` last.
 * Expected outcomes (unchanged, held) are not errors. The first error wins: a function that fails while cleaning up
 * after a failure does not overwrite it. Running out of memory is the one exception to returning: see arena.h. */
#ifndef RECLOSER_BASE_ERROR_H
#define RECLOSER_BASE_ERROR_H

#include "recloser/recloser.h"

#define RC_PRINTF(format_at, args_at) __attribute__((format(printf, format_at, args_at)))
#define RC_CHECKED __attribute__((warn_unused_result))

/* Fill `error` (if it is not NULL and still RECLOSER_OK) and return `status`. `code` is a stable dotted word. */
recloser_status error_set(recloser_error *error, recloser_status status, const char *code, const char *what_format, ...)
    RC_PRINTF(4, 5);
/* Add to an error that was just set. Both return the error's status, so that they can be returned in turn. */
recloser_status error_where(recloser_error *error, const char *format, ...) RC_PRINTF(2, 3);
recloser_status error_hint(recloser_error *error, const char *format, ...) RC_PRINTF(2, 3);
/* An errno of a file operation, with the path: "cannot open lake/x: No such file or directory", and a hint where
 * the number tells what to do. RECLOSER_IO. */
recloser_status error_errno(recloser_error *error, const char *code, int number, const char *doing, const char *path);
void error_clear(recloser_error *error);

/* Return on failure. */
#define RC_TRY(call)                                                                                                   \
	do {                                                                                                               \
		recloser_status rc_try_status_ = (call);                                                                       \
		if (rc_try_status_ != RECLOSER_OK)                                                                             \
			return rc_try_status_;                                                                                     \
	} while (0)

#endif
