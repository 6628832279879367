/* SPDX-License-Identifier: Apache-2.0
 * The comparing of two tables by key, for diff.c. */
#ifndef RECLOSER_HISTORY_DIFF_H
#define RECLOSER_HISTORY_DIFF_H

#include "history/history.h"

struct diff_found {
	uint64_t older_rows, newer_rows, added, removed, changed, unchanged;
	uint64_t change_rows; /* in the long form: one an added or removed key, one a changed value */
	bool only_form;       /* something changed, and nothing but white space, letter case or the style of dates */
	struct rows columns;  /* column, changed, white space, letter case, date style, value */
	struct rows rows;     /* change, key, identity fields ..., column, old, new, kind; at most `limit` */
	struct strings columns_added, columns_removed, columns_retyped;
};
/* Partition columns and the covering are left out: they follow from the rest. `output` may be NULL. */
recloser_status diff_compare(struct history *h, const struct diff_side *older, const struct diff_side *newer, uint64_t limit,
							 const char *output, struct diff_found *out, recloser_error *error) RC_CHECKED;

#endif
