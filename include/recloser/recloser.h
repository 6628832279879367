/* SPDX-License-Identifier: Apache-2.0
 *
 * recloser: load grid datasets into Hive-partitioned GeoParquet so that running a load again is a no-op.
 *
 * The shape of the API
 *   Every command of the program is one call here: it takes a plain options struct and gives back a
 *   recloser_result (what happened, as JSON and as text) and a recloser_error (why it did not).
 *   The library never prints, never exits and keeps no state between calls. Calls on different
 *   datasets may run in different threads; one call uses its own threads inside.
 *
 * Ownership
 *   Strings inside options belong to the caller and are only read during the call.
 *   A recloser_result belongs to the caller: give it back with recloser_result_free. Strings got from it
 *   live as long as it does. A recloser_error is a plain struct owned by the caller; nothing in it is allocated.
 *
 * Failure
 *   A call that refuses, is held back, or meets another writer still gives a result where it has anything to say:
 *   `*out` is NULL only when nothing at all could be said. The returned status is the program's exit code.
 */
#ifndef RECLOSER_RECLOSER_H
#define RECLOSER_RECLOSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define RECLOSER_API __attribute__((visibility("default")))
#define RECLOSER_MUST_CHECK __attribute__((warn_unused_result))
#else
#define RECLOSER_API
#define RECLOSER_MUST_CHECK
#endif

/* Append-only: numbers keep their meaning for ever. They are the exit codes of the program. */
typedef enum recloser_status {
	RECLOSER_OK = 0,        /* done: changed or unchanged */
	RECLOSER_FAULT = 1,     /* verification found a fault in what is stored */
	RECLOSER_USAGE = 2,     /* the command line, or what stands in the spec, is wrong */
	RECLOSER_REFUSED = 3,   /* preflight refused what the source holds; nothing changed */
	RECLOSER_HELD = 4,      /* a policy held a partition back */
	RECLOSER_CONFLICT = 5,  /* another writer was first, or holds the dataset */
	RECLOSER_IO = 6,        /* a file (the spec, too) can't be opened; input, output, memory or store failure; nothing changed */
	RECLOSER_UNCLEAR = 7    /* live but not yet durable, or the store's state is unclear: run again */
} recloser_status;

/* What went wrong, for the person who reads it. Every field is UTF-8, cut at its size, "" when there is nothing to say. */
typedef struct recloser_error {
	recloser_status status;
	char code[32];   /* a stable word for programs: "spec.unknown_field", "source.no_rows" */
	char what[1024]; /* what is wrong */
	char where[512]; /* file, line, row, column, value, partition */
	char hint[1024]; /* what to do */
} recloser_error;

typedef struct recloser_result recloser_result;

/* The result as one JSON object, indented, newline at the end. */
RECLOSER_API const char *recloser_result_json(const recloser_result *result);
/* The same for a reader at a terminal. stdout material of the command: data, not talk. */
RECLOSER_API const char *recloser_result_text(const recloser_result *result);
RECLOSER_API void recloser_result_free(recloser_result *result);

/* Told to the caller while a call runs, when something begins and a few times a second, from one thread at a time but not
 * always the caller's; any field may be zero. `rows` and `bytes` are of the phase. */
typedef struct recloser_progress {
	const char *phase; /* "hash", "read", "check", "stage", "verify", "commit", "wait" */
	const char *note;  /* free text, for instance for whom one waits; may be NULL */
	uint64_t rows, bytes, bytes_total;
	uint64_t partitions, partitions_total;
	double done; /* of the phase, 0 to 1; 0 when it can't be told */
} recloser_progress;

/* What all commands share. Zero it first; zero means the default everywhere. */
typedef struct recloser_common {
	const char *spec_path;
	int threads;           /* engine threads; 0: one a processor */
	uint64_t memory_bytes; /* budget of the engine; 0: half of the machine's memory */
	double wait_seconds;   /* how long to wait for another writer; negative: not at all; 0: the default, 60 */
	void (*progress)(void *arg, const recloser_progress *progress);
	void *progress_arg;
} recloser_common;

/* One `--set column=value`. */
typedef struct recloser_setting {
	const char *column, *value;
} recloser_setting;

typedef struct recloser_init_options {
	recloser_common common;    /* spec_path is not used */
	const char *const *files;  /* one file, or two publications of one source */
	size_t file_count;
	const char *dataset;       /* name of the dataset, or NULL: from the first file's name */
	const char *root;          /* as written into the spec; NULL: "lake" */
	const char *format;        /* csv, json, parquet, xlsx or ogr; NULL: by name and content */
	const char *table;         /* the sheet or layer; NULL: the largest */
	const char *records;       /* where the records are in a JSON document, or NULL */
	const char *encoding;      /* of a text file, or NULL: found out */
	const char *output;        /* write the spec to this file, which must not be there; NULL: it is the result's text */
} recloser_init_options;

/* Propose a spec for a file: the result's text is commented YAML, its JSON has the same findings, the YAML and whether a load by it
 * succeeds. With two files, columns that change between them are named and kept out of the key.
 * Statuses: OK, USAGE, REFUSED, IO. */
RECLOSER_API RECLOSER_MUST_CHECK recloser_status recloser_init(const recloser_init_options *options,
                                                               recloser_result **out, recloser_error *error);

typedef struct recloser_load_options {
	recloser_common common;
	const char *const *files; /* paths, globs are the shell's affair; "-" is standard input; a folder means the files in it that the spec matches */
	size_t file_count;
	const char *source;       /* --source NAME, or NULL to recognise each file by the spec's `files` */
	const recloser_setting *settings;
	size_t setting_count;
	const char *const *only;  /* --only PARTITION: "state=TX/month=2026-07", prefixes allowed */
	size_t only_count;
	const char *const *accept; /* --accept GUARD: guards that may pass this once */
	size_t accept_count;
	const char *backfill_from, *backfill_to; /* --backfill A..B, both inclusive; "" and "": everything; NULL: the window */
	bool dry_run, force, allow_empty;
} recloser_load_options;

/* Load files into the dataset of a spec. Statuses: OK, USAGE, REFUSED, HELD, CONFLICT, IO, UNCLEAR. */
RECLOSER_API RECLOSER_MUST_CHECK recloser_status recloser_load(const recloser_load_options *options,
                                                               recloser_result **out, recloser_error *error);

typedef struct recloser_verify_options {
	recloser_common common;
	const char *const *partitions; /* none: all of them */
	size_t partition_count;
	int64_t expect_rows;           /* negative: not asked for */
	bool quick;                    /* sizes, times and inodes against the records; no file is read */
	bool cold;                     /* ask the kernel to drop cached pages first, so that the disk is read */
	bool archive;                  /* read every archived version too, for its SHA-256 */
	const char *tag;               /* verify the versions that this tag pins, in the archive, instead of what is live; or NULL */
} recloser_verify_options;

/* Re-read live partitions and assert what their records say. Statuses: OK, FAULT, USAGE, IO. */
RECLOSER_API RECLOSER_MUST_CHECK recloser_status recloser_verify(const recloser_verify_options *options,
                                                                 recloser_result **out, recloser_error *error);

/* Partitions, rows, bytes, seq, load date and source of what is live. Statuses: OK, USAGE, IO. */
RECLOSER_API RECLOSER_MUST_CHECK recloser_status recloser_status_of(const recloser_common *common,
                                                                    recloser_result **out, recloser_error *error);

/* Finish what an interrupted run decided, sweep what dead runs left, and say what was found.
 * `rebuild`: make a lost ledger again from commits, archive and live files. Statuses: OK, USAGE, CONFLICT, IO, UNCLEAR. */
RECLOSER_API RECLOSER_MUST_CHECK recloser_status recloser_recover(const recloser_common *common, bool rebuild,
                                                                  recloser_result **out, recloser_error *error);

/* The key of one row: each value is text as the spec's `text` type would hold it. The first 24 hexadecimal digits of
 * SHA-256 over the values joined with "|". `key` receives 25 bytes. `escape`: as `key: {escape: true}` in a spec. */
RECLOSER_API RECLOSER_MUST_CHECK recloser_status recloser_key(const char *const *values, size_t count, bool escape,
                                                              char key[25], recloser_error *error);

typedef struct recloser_demo_options {
	recloser_common common;   /* spec_path is not used: the demonstration writes its own */
	const char *directory;    /* absent, empty, or of an earlier demonstration, which is then removed */
	uint64_t rows;            /* of the publication; 0: 1,200,000; at least 1,200 */
	void (*say)(void *arg, const char *text); /* told what happens as it happens, whole lines; may be NULL */
	void *say_arg;
} recloser_demo_options;

/* Load one publication twice by appending, by merging on a key with a mutable field, and by recloser_load, and compare.
 * What was told to `say` is not repeated in the result's text; its JSON has all figures.
 * Statuses: OK, FAULT when a figure is not what it has to be, and those of recloser_load. */
RECLOSER_API RECLOSER_MUST_CHECK recloser_status recloser_demo(const recloser_demo_options *options,
                                                               recloser_result **out, recloser_error *error);

/* ---- versions over time ----
 * A partition may be named whole ("iso=ercot/state=TX/month=2025-07") or by as many of its parts as make it the only one
 * ("month=2025-07"). A version is named by its seq. */

typedef struct recloser_history_options {
	recloser_common common;
	const char *partition;
} recloser_history_options;

/* The versions of a partition and why each came to be. Statuses: OK, USAGE, IO. */
RECLOSER_API RECLOSER_MUST_CHECK recloser_status recloser_history(const recloser_history_options *options,
                                                                  recloser_result **out, recloser_error *error);

typedef struct recloser_as_of_options {
	recloser_common common;
	const char *at;        /* "2026-07-31" (to the end of that day), "2026-07-31T12:00Z", both in UTC, or the name of a tag */
	bool sql;              /* the text is a CREATE VIEW statement for DuckDB */
	const char *directory; /* also copy the files into this directory, absent or empty, as a plain dataset tree; or NULL */
} recloser_as_of_options;

/* For every partition the version that was live then. FAULT: a version of them was pruned away, is lost, or is damaged; nothing
 * is copied then. Statuses: OK, FAULT, USAGE, IO. */
RECLOSER_API RECLOSER_MUST_CHECK recloser_status recloser_as_of(const recloser_as_of_options *options, recloser_result **out,
                                                                recloser_error *error);

typedef struct recloser_diff_options {
	recloser_common common;
	const char *partition;
	/* What to compare, older first. Each is a seq of `partition`, or "live". `a` may be another partition instead: then its
	 * live version is the newer side. Without `b` the newer side is the live version; without `a` the older one is the version
	 * before the live one, or else the preceding partition of the series. */
	const char *a, *b;
	/* A file that was not loaded is the newer side, read as a load would read it; then `b` is not used. */
	const char *file, *source;
	const recloser_setting *settings;
	size_t setting_count;
	const char *output; /* write all changes to this Parquet file; or NULL */
	uint64_t limit;     /* rows in the result; 0: 1,000 in the JSON and 20 in the text */
} recloser_diff_options;

/* Added, removed and changed keys, and old and new value by column. Statuses: OK, FAULT (a version is not to be had), USAGE,
 * REFUSED (the file), IO. */
RECLOSER_API RECLOSER_MUST_CHECK recloser_status recloser_diff(const recloser_diff_options *options, recloser_result **out,
                                                               recloser_error *error);

typedef struct recloser_restore_options {
	recloser_common common;
	const char *partition;
	int64_t seq;
} recloser_restore_options;

/* Make the bytes of an earlier version live again, as a new version. Statuses: OK, FAULT (the version is not to be had or not
 * what its record says), USAGE, CONFLICT, IO, UNCLEAR. */
RECLOSER_API RECLOSER_MUST_CHECK recloser_status recloser_restore(const recloser_restore_options *options,
                                                                  recloser_result **out, recloser_error *error);

typedef struct recloser_prune_options {
	recloser_common common;
	int64_t keep;           /* keep this many newest versions of each partition, the live one included; 0: not given */
	const char *older_than; /* a date, or a span such as "90 days", "6 months": versions replaced before then may go; or NULL */
	bool yes;               /* do it; otherwise it is only told */
} recloser_prune_options;

/* Remove archived versions that every given rule lets go. Live and tagged versions and those of an open commit stay; records
 * stay, too. Statuses: OK, USAGE, CONFLICT, IO, UNCLEAR. */
RECLOSER_API RECLOSER_MUST_CHECK recloser_status recloser_prune(const recloser_prune_options *options, recloser_result **out,
                                                                recloser_error *error);

typedef struct recloser_tag_options {
	recloser_common common;
	const char *name; /* NULL: list the tags */
	const char *at;   /* pin what was live then, as for recloser_as_of; NULL: what is live now */
	bool remove;      /* take the tag away; the versions stay until they are pruned */
} recloser_tag_options;

/* Pin versions under a name, so that as-of and verify find them and prune keeps them. Statuses: OK, FAULT, USAGE, IO. */
RECLOSER_API RECLOSER_MUST_CHECK recloser_status recloser_tag(const recloser_tag_options *options, recloser_result **out,
                                                              recloser_error *error);

typedef struct recloser_why_options {
	recloser_common common; /* spec_path may be NULL */
	const char *file;       /* any part file, wherever it was copied to */
	const char *root;       /* without a spec: look at all datasets of this root; NULL: of the roots above `file` and above the
	                         * working directory */
} recloser_why_options;

/* Which version of what a file is, found by its bytes, or else by its rows. FAULT: none. Statuses: OK, FAULT, USAGE, IO. */
RECLOSER_API RECLOSER_MUST_CHECK recloser_status recloser_why(const recloser_why_options *options, recloser_result **out,
                                                              recloser_error *error);

typedef struct recloser_doctor_options {
	recloser_common common;
	bool quick; /* records and names only; no data file is read */
} recloser_doctor_options;

/* Advice on the grain of the partitions, what is left over or foreign, what the store guarantees, gaps in a series, drift of
 * columns and of spelled values, keys that do not last. Changes nothing. FAULT: something is wrong with what is stored.
 * Statuses: OK, FAULT, USAGE, IO. */
RECLOSER_API RECLOSER_MUST_CHECK recloser_status recloser_doctor(const recloser_doctor_options *options, recloser_result **out,
                                                                 recloser_error *error);

/* "0.1.0" and "v1.5.6". */
RECLOSER_API const char *recloser_version(void);
RECLOSER_API const char *recloser_engine_version(void);

#ifdef __cplusplus
}
#endif
#endif
