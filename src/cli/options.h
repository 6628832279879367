/* SPDX-License-Identifier: Apache-2.0
 *
 * Options of a command: one table that drives parsing, the usage line and the help text. A table stands beside the
 * variables it fills:
 *
 *     const struct option options[] = {
 *             {"dry-run", 0, OPTION_FLAG, &load.dry_run, NULL, "stop before anything goes live"},
 *             COMMON_OPTIONS(common),
 *             OPTIONS_END,
 *     };
 *
 * Written `--name value`, `--name=value`, or `-x value` where there is a letter. Options and operands may come in any
 * order; `--` ends the options; `-` alone is an operand. An option that is not in the table is refused with the nearest
 * one that is. Numbers are parsed whole or refused.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "command.h"

enum option_kind {
	OPTION_END,
	OPTION_FLAG,     /* bool */
	OPTION_TEXT,     /* const char * */
	OPTION_TEXTS,    /* struct texts; may be given again and again */
	OPTION_SETTINGS, /* struct settings; COLUMN=VALUE, again and again */
	OPTION_RANGE,    /* struct range; the value may be left out, or is A..B, A.., ..B or A */
	OPTION_COUNT,    /* int64_t, 0 or more */
	OPTION_THREADS,  /* int, 1 to 1024 */
	OPTION_SIZE,     /* uint64_t bytes: 300MB, 1.5GiB */
	OPTION_SECONDS   /* double, 0 or more */
};

struct option {
	const char *name; /* without the dashes */
	char letter;      /* or 0 */
	enum option_kind kind;
	void *value;
	const char *value_name; /* in the help */
	const char *help;
};
/* clang-format off */
#define OPTIONS_END {NULL, 0, OPTION_END, NULL, NULL, NULL}
/* clang-format on */

struct texts {
	const char **at;
	size_t count;
};
struct settings {
	recloser_setting *at;
	size_t count;
};
struct range {
	const char *from, *to; /* NULL, NULL: not given; "" is an open end */
};

/* What stands on a command line; free it when the command is done. Operands and values are parts of argv, which is
 * changed: operands move to its front, values are cut where they have two halves. */
struct command_line {
	char **operands;
	size_t operand_count;
	void *blocks[16]; /* what the lists live in: one a list option */
	size_t block_count;
};

/* Options every command with a spec has. */
struct common {
	bool json, quiet;
	int threads;
	uint64_t memory_bytes;
	double wait_seconds; /* negative: not given */
};
/* clang-format off */
#define COMMON_DEFAULTS {.wait_seconds = -1}
#define OUTPUT_OPTIONS(common) \
	{"json", 0, OPTION_FLAG, &(common).json, NULL, "print the result as one JSON object"}, \
	{"quiet", 'q', OPTION_FLAG, &(common).quiet, NULL, "no progress on stderr; errors still are"}
#define ENGINE_OPTIONS(common) \
	{"threads", 0, OPTION_THREADS, &(common).threads, "N", "threads of the engine (default: one a processor)"}, \
	{"memory", 0, OPTION_SIZE, &(common).memory_bytes, "SIZE", \
	 "memory of the engine before it spills: 300MB, 2GB, 1.5GiB (default: half of the machine's)"}
#define WAIT_OPTION(common) \
	{"wait", 0, OPTION_SECONDS, &(common).wait_seconds, "SECONDS", \
	 "how long to wait for another writer (default: 60; 0: not at all)"}
/* clang-format on */

enum parse_outcome {
	PARSE_GO_ON,
	PARSE_HELPED, /* --help was asked for and printed: exit 0 */
	PARSE_WRONG   /* said on stderr: exit RECLOSER_USAGE */
};

/* Fill what the table points to. At least `least` operands are needed, at most `most`. */
enum parse_outcome options_parse(const struct command *command, const struct option *options, int argc, char **argv,
								 size_t least, size_t most, struct command_line *line);
void command_line_free(struct command_line *line);

/* "recloser: ..." on stderr, with where the help is. Returns RECLOSER_USAGE. */
int usage_error(const struct command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The nearest of the words to `word`, or NULL when none is near enough to be meant. */
const char *nearest(const char *word, const char *const *words, size_t count);

#endif
