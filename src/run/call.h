/* SPDX-License-Identifier: Apache-2.0
 * What every public call does around its work: an arena, the guard for memory that runs out, an error that is there. */
#ifndef RECLOSER_RUN_CALL_H
#define RECLOSER_RUN_CALL_H

#include "base/arena.h"
#include "commit/commit.h"
#include "engine/engine.h"
#include "spec/spec.h"

typedef recloser_status call_work(struct arena *arena, const void *options, recloser_result **out, recloser_error *error);
recloser_status call_run(call_work *work, const void *options, recloser_result **out, recloser_error *error) RC_CHECKED;
/* For work that changes something: memory that runs out leaves it RECLOSER_UNCLEAR how far that came. */
recloser_status call_run_writing(call_work *work, const void *options, recloser_result **out, recloser_error *error) RC_CHECKED;

/* The dataset of a spec, on a file system or in a bucket. */
recloser_status call_dataset(struct arena *arena, const struct spec *spec, struct dataset **out, recloser_error *error) RC_CHECKED;
/* The spec and its dataset, nothing created. */
recloser_status call_open(struct arena *arena, const char *spec_path, struct spec **spec, struct dataset **dataset,
                          recloser_error *error) RC_CHECKED;
/* An engine for reading what is stored, with our functions. What does not fit into its memory goes to a directory of its own in
 * `temporary` (the spec's `temp`; NULL: the system's), not into the dataset, which may be read-only. */
recloser_status call_engine(struct arena *arena, const recloser_common *common, const char *temporary, struct engine **out,
                            recloser_error *error) RC_CHECKED;
/* The partitions of the dataset that `wanted` names (all when there are none); RECLOSER_USAGE for one that names nothing. */
recloser_status call_partitions(struct arena *arena, struct dataset *dataset, const char *const *wanted, size_t count,
                                struct ledger_heads *out, recloser_error *error) RC_CHECKED;

#endif
