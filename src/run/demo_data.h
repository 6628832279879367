/* SPDX-License-Identifier: Apache-2.0
 *
 * The data of the demonstration: publications made by integer arithmetic over row numbers, so that they are the same
 * everywhere, and the specs that load them.
 */
#ifndef RECLOSER_RUN_DEMO_DATA_H
#define RECLOSER_RUN_DEMO_DATA_H

#include "base/arena.h"
#include "store/fs.h"

enum {
	DEMO_ROWS = 1200000,
	DEMO_ROWS_LEAST = 1200,
	DEMO_TOUCHED_OF_12 = 7, /* so many rows of twelve carry a newer last_updated in the second delivery */
	DEMO_STATES = 51,
	DEMO_MONTHS = 12,
	DEMO_ROWS_A_REGION = 20, /* of each state and month */
	DEMO_REVISED_PROJECTS = 12,
	DEMO_REVISED_ROWS = 18, /* five of the projects come twice, revised; one comes twice, equal */
	DEMO_SUPERSEDED = 5,
	DEMO_COLLAPSED = 1
};

/* SELECTs, in no order; capacities are halves of a MW, so that their sums are exact in every order. */
const char *demo_publication_sql(struct arena *arena, uint64_t rows, bool second_delivery);
const char *demo_regions_sql(struct arena *arena);
const char *demo_revisions_sql(struct arena *arena);

/* The YAML of the two datasets, "queue" and "regions". */
const char *demo_queue_spec(void);
const char *demo_regions_spec(void);

/* Make `directory`, or empty it when it is of an earlier demonstration; it may also be empty. Anything else in it is
 * refused with RECLOSER_USAGE and nothing is touched. */
recloser_status demo_folder(struct fs *fs, struct arena *arena, const char *directory, recloser_error *error) RC_CHECKED;

#endif
