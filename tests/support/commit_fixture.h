/* SPDX-License-Identifier: Apache-2.0
 * What tests of the commit layer share: a run of fake part files, and the invariants that must hold whatever happened.
 * The commit layer never looks into a file, so any bytes do. */
#ifndef RECLOSER_TESTS_COMMIT_FIXTURE_H
#define RECLOSER_TESTS_COMMIT_FIXTURE_H

#include "commit/commit.h"

struct batch { /* one partition of one run */
	const char *partition, *content;
};

struct outcome {
	recloser_status status;
	recloser_error error;
	struct commit_report report;
	struct entry entries[4];
	size_t count;
};

struct run_options {
	double wait_seconds;
	bool config;                                               /* bring a dataset.json */
	int64_t (*base_seen)(const char *partition);               /* default: what is in the ledger before the commit */
	void (*before_commit)(void *arg, struct dataset *dataset); /* between staging and the commit */
	void *arg;
};

/* Stage and commit. Ends where the real load would end: with the staging abandoned, unless decided. `options` may be NULL.
 */
void run_batches(struct fs *fs, struct arena *arena, const char *root, const char *run, const struct batch *batches,
				 size_t count, const struct run_options *options, struct outcome *out);

/* The content of the live file, or NULL. */
const char *live_content(struct fs *fs, struct arena *arena, const char *root, const char *partition);
/* NULL when all is well, else what is wrong: ledger contiguous, newest record describes live, every version that is not
 * void archived with its bytes, nothing staged, nothing but part.parquet in the tree. */
const char *check_dataset(struct fs *fs, struct arena *arena, const char *root);
json_t *test_config(struct arena *arena);

#endif
