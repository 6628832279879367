/* SPDX-License-Identifier: Apache-2.0
 * One run of `load`, in the order that survives a bad batch (docs/architecture.md):
 *   open, fingerprint, read, preflight, guards, stage, verify, commit, report.
 * Each step is one function on `struct run`; run.c calls them in turn. */
#ifndef RECLOSER_RUN_RUN_H
#define RECLOSER_RUN_RUN_H

#include "batch/batch.h"
#include "commit/commit.h"
#include "partition/part.h"
#include "run/ticker.h"
#include "source/source.h"

enum part_outcome { PART_NEW, PART_REPLACED, PART_UNCHANGED, PART_HELD, PART_FROZEN, PART_CONFLICT };
const char *part_outcome_word(enum part_outcome outcome);

/* What a partition is compared with. */
struct reference {
	const char *path;          /* its partition */
	const char **values;
	const char *file;          /* readable by the engine */
	struct record *record;
	const json_t *schema;      /* its columns, [{name, type, mark}] */
	bool own;                  /* the live version of the same partition; false: the partition before it in the series */
};

/* One partition of this run. */
struct run_part {
	struct part part;
	struct record *base;       /* the live version that the guards saw, or NULL */
	enum live_state live;
	struct reference *reference; /* NULL: nothing to compare with */
	enum part_outcome outcome;
	bool differs;              /* frozen, and the source has other rows */
	const char *held_by;       /* the guard that held it, or NULL */
	uint64_t gone, fresh, revised; /* keys against the reference */
	uint64_t carried;          /* rows kept from the live version by `disappeared: carry` */
	json_t *changed;           /* how often each column changed; NULL: nothing was compared */
	json_t *totals;            /* {column: {now, before}}; NULL: none are declared */
	json_t *guards;            /* [{guard, did, what}]: what the guards had to say; NULL: nothing */
	struct strings accepted;   /* guards that would have held or refused it and were let pass */
	struct strings said, said_of_moves; /* of the run's warnings, those that come of what it was asked, and of its keys elsewhere */
	int64_t seq;
};

struct run {
	struct arena *arena;
	const recloser_load_options *options;
	const char *id;
	double started;
	struct spec *spec;
	struct dataset *dataset;
	const char *level;         /* of the way to the control directory, what was there before this run (dataset_level) */
	struct input *inputs;
	size_t input_count;
	const struct input *lookup; /* the reference layer of `geometry: {from: {lookup: ...}}`, or NULL */
	const char *fingerprint;   /* of everything that decides what this run does */
	const char *attempt;       /* the same without --accept, --only and --backfill: retries of one load share it */
	struct staging *staging;
	struct engine *engine;
	struct ticker *ticker;
	struct layout_context context;
	struct batch *batch;       /* NULL until read */
	struct part_format format;
	struct run_part *parts;
	size_t part_count;
	struct commit_report commit;
	struct strings warnings, absent, accepted;
	struct strings *saying;    /* where the warnings of now belong as well, or NULL (guards.c) */
	struct strings ledger;     /* the partitions that have a record; read when first asked for */
	const char ***ledger_values; /* of each, in the order of the partition columns; NULL: not a path of this layout */
	bool ledger_known;
	struct neighbour *neighbours; /* schema.c: versions of other partitions that new ones are compared with */
	size_t neighbour_count;
	bool neighbours_known;
	struct repeated *repetitions; /* repeated.c: of each input, where its bytes have been loaded */
	const char *window_start;  /* first day of the freshness window, NULL: none */
	bool attempt_known;        /* the time of the first attempt stands under attempts/ */
	uint64_t held, frozen, disappeared, moved, carried;
	uint64_t rows_written, rows_unchanged;
	const char *quarantine_path, *disappeared_path; /* relative to the control directory, or NULL */
	const char *equals_run;    /* the earlier run that this one repeats, or NULL */
	json_t *repeated;          /* its report */
	volatile int *decided;     /* set once the commit may have been decided: memory that runs out later is no "nothing changed" */
};

/* inputs.c */
recloser_status run_begin_staging(struct run *run, recloser_error *error) RC_CHECKED;
recloser_status run_inputs(struct run *run, recloser_error *error) RC_CHECKED;
/* remember.c: the run that did the same before, if it is still live everywhere. */
recloser_status run_recall(struct run *run, recloser_error *error) RC_CHECKED;
/* `through`: the run came to its end, and may be recalled. */
recloser_status run_remember(struct run *run, json_t *report, bool through, recloser_error *error) RC_CHECKED;
/* A JSON file of the control directory; NULL when there is none. */
recloser_status run_read_json(struct run *run, const char *relative, json_t **out, recloser_error *error) RC_CHECKED;
/* read.c */
recloser_status run_read(struct run *run, recloser_error *error) RC_CHECKED;
/* compare.c: the live versions, and what becomes of each partition against them. */
recloser_status run_compare(struct run *run, recloser_error *error) RC_CHECKED;
recloser_status run_compare_part(struct run *run, struct run_part *part, recloser_error *error) RC_CHECKED;
recloser_status run_locate(struct run *run, struct run_part *part, recloser_error *error) RC_CHECKED;
recloser_status run_own_reference(struct run *run, struct run_part *part, recloser_error *error) RC_CHECKED;
/* schema.c: the columns against those of the versions that they will be read together with. */
recloser_status run_check_schema(struct run *run, struct run_part *part, recloser_error *error) RC_CHECKED;
json_t *run_columns_of(struct run *run, const char *file); /* of any Parquet file; none where it is no Parquet */
/* keys.c: keys against the reference. */
bool reference_has(const struct reference *reference, const char *column);
const char *reference_published(const struct reference *reference); /* SQL behind its table: rows that were carried over left out */
struct strings run_compared_columns(struct run *run, const struct reference *reference);
const char *run_reference_table(struct run *run, const struct reference *reference); /* SQL */
const char *run_own_rows(struct run *run, const struct run_part *part); /* SQL: its rows in the batch, none carried over */
recloser_status run_count_keys(struct run *run, struct run_part *part, recloser_error *error) RC_CHECKED;
recloser_status run_list_gone(struct run *run, struct run_part *part, recloser_error *error) RC_CHECKED;
recloser_status run_name_gone(struct run *run, const struct run_part *part, const char **out, recloser_error *error) RC_CHECKED;
recloser_status run_forget_gone(struct run *run, const struct run_part *part, recloser_error *error) RC_CHECKED;
recloser_status run_write_disappeared(struct run *run, recloser_error *error) RC_CHECKED;
/* carry.c: `disappeared: carry`. */
recloser_status run_carry(struct run *run, recloser_error *error) RC_CHECKED;
/* guards.c: policies on what was counted. */
/* What makes the key, as records keep it: {"identity": [...]} or {"id": ...}, and "escape". */
json_t *run_key_json(const struct run *run);
/* NULL: the keys of the reference are made as those of this run (or its record does not tell). Else what is different. */
const char *run_other_identity(const struct run *run, const struct reference *reference);
void run_warn(struct run *run, const char *text);
/* What was said of a partition against a version that is not the one in question any more, or (`moves`) at all, was not so. */
void run_unsay(struct run *run, struct run_part *part, bool moves);
recloser_status run_check_accept(const struct run *run, recloser_error *error) RC_CHECKED;
recloser_status run_guard_part(struct run *run, struct run_part *part, recloser_error *error) RC_CHECKED;
bool run_is_source(const struct record *record, const struct input *input); /* did this file give the version rows? */
/* repeated.c: bytes that are live already, under another name. */
bool run_is_told(const struct spec *spec, const struct source_spec *source, const char *column); /* by name or caller, not by rows */
recloser_status run_guard_repeated(struct run *run, struct run_part *part, recloser_error *error) RC_CHECKED;
/* moves.c: keys that are now in another partition. */
recloser_status run_guard_moves(struct run *run, recloser_error *error) RC_CHECKED;
recloser_status run_apply_policy(struct run *run, struct run_part *part, const char *name, enum policy policy, const char *what,
                                 recloser_error *error) RC_CHECKED;
/* series.c: the partition before, and those that the source no longer mentions. */
recloser_status run_find_before(struct run *run, const struct batch_part *part, const char **path, const char ***values,
                                recloser_error *error) RC_CHECKED;
/* Live partitions that may not have the keys of one that is new and follows none: `columns` are those that tell one publication from
 * another (month, publisher), and in these the two are equal. Those of the load, and absent ones, are not among them. */
recloser_status run_find_others(struct run *run, struct strings *columns, struct strings *others, recloser_error *error) RC_CHECKED;
recloser_status run_find_absent(struct run *run, recloser_error *error) RC_CHECKED;
/* window.c: freshness. */
recloser_status run_check_backfill(const struct run *run, recloser_error *error) RC_CHECKED;
recloser_status run_open_window(struct run *run, recloser_error *error) RC_CHECKED;
recloser_status run_note_attempt(struct run *run, recloser_error *error) RC_CHECKED;
recloser_status run_close_window(struct run *run, recloser_error *error) RC_CHECKED;
const char *run_as_date(struct arena *arena, const char *value); /* "2026", "2026-07", "20260715": with hyphens; NULL: no date */
bool run_is_frozen(struct run *run, const struct run_part *part);
/* stage.c */
recloser_status run_stage(struct run *run, recloser_error *error) RC_CHECKED;
/* decide.c */
/* RECLOSER_USAGE when the spec's partition columns or key column are not those that the dataset was begun with. */
recloser_status run_check_config(const struct run *run, recloser_error *error) RC_CHECKED;
recloser_status run_commit(struct run *run, recloser_error *error) RC_CHECKED;
/* report.c */
json_t *run_report(struct run *run, const char *outcome);
void run_report_store(const struct run *run, json_t *report);
const char *run_report_text(struct run *run, const char *outcome, const json_t *report);
void run_progress(const struct run *run, const char *phase, uint64_t rows, uint64_t parts, uint64_t parts_total);

#endif
