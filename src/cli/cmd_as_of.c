/* SPDX-License-Identifier: Apache-2.0
 *
 * recloser as-of: what was live then.
 */
#include "command.h"
#include "options.h"
#include "output.h"
#include "progress.h"

static int run(const struct command *self, int argc, char **argv)
{
	struct common common = COMMON_DEFAULTS;
	recloser_as_of_options as_of = {0};
	bool list = false;
	const struct option options[] = {
		{"list", 0, OPTION_FLAG, &list, NULL, "one line a partition; the default"},
		{"sql", 0, OPTION_FLAG, &as_of.sql, NULL, "a CREATE VIEW statement for DuckDB, with absolute paths"},
		{"copy", 0, OPTION_TEXT, &as_of.directory, "DIR",
		 "copy the files into DIR, absent or empty, as a dataset tree that any reader opens; each is proved by its SHA-256"},
		OUTPUT_OPTIONS(common),
		OPTIONS_END,
	};
	struct command_line line;
	enum parse_outcome parsed = options_parse(self, options, argc, argv, 2, 2, &line);
	int code = parsed == PARSE_HELPED ? output_flush(RECLOSER_OK) : RECLOSER_USAGE;
	if (parsed == PARSE_GO_ON && list && (as_of.sql || common.json))
		code = usage_error(self, "--list, --json and --sql are three forms of one answer: choose one");
	else if (parsed == PARSE_GO_ON) {
		struct progress progress;
		as_of.common = common_for_call(&common, line.operands[0], &progress);
		as_of.at = line.operands[1];
		recloser_result *result = NULL;
		recloser_error error = {0};
		recloser_status status = recloser_as_of(&as_of, &result, &error);
		progress_end(&progress);
		code = output_finish(common.json, status, result, &error);
	}
	command_line_free(&line);
	return code;
}

const struct command command_as_of = {
	.name = "as-of",
	.usage = "SPEC DATE|TIME|TAG",
	.summary = "the files that were live then, as a list, a view or a copy",
	.about = "For every partition, the version that was live at the end of a day, at a time, or that a tag pins. Days and "
			 "times are "
			 "UTC, as in the ledger.\n"
			 "The files are archived ones, which nobody replaces; where only the live file has the bytes, that is said.\n"
			 "A version whose bytes were pruned since is named, with the prune that removed them; the exit code is 1 then, "
			 "and nothing is copied.",
	.examples = "  recloser as-of queue.yaml 2026-03-31\n"
				"  recloser as-of queue.yaml 2026-03-31T12:00Z --sql | duckdb queue.duckdb\n"
				"  recloser as-of queue.yaml q2-filing --copy q2\n",
	.run = run,
};
