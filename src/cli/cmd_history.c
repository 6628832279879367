/* SPDX-License-Identifier: Apache-2.0
 *
 * recloser history: the versions of a partition.
 */
#include "command.h"
#include "options.h"
#include "output.h"
#include "progress.h"

static int run(const struct command *self, int argc, char **argv)
{
	struct common common = COMMON_DEFAULTS;
	const struct option options[] = {
		OUTPUT_OPTIONS(common),
		OPTIONS_END,
	};
	struct command_line line;
	enum parse_outcome parsed = options_parse(self, options, argc, argv, 1, 2, &line);
	int code = parsed == PARSE_HELPED ? output_flush(RECLOSER_OK) : RECLOSER_USAGE;
	if (parsed == PARSE_GO_ON) {
		struct progress progress;
		recloser_history_options history = {.common = common_for_call(&common, line.operands[0], &progress)};
		history.partition = line.operand_count > 1 ? line.operands[1] : "";
		recloser_result *result = NULL;
		recloser_error error = {0};
		recloser_status status = recloser_history(&history, &result, &error);
		progress_end(&progress);
		code = output_finish(common.json, status, result, &error);
	}
	command_line_free(&line);
	return code;
}

const struct command command_history = {
	.name = "history",
	.usage = "SPEC [PARTITION]",
	.summary = "the versions of a partition, and why each came to be",
	.about = "List every version that was ever live in a partition, newest first: its number, when it was loaded, by which "
			 "run, its "
			 "rows, bytes and SHA-256, and why it came to be: how many keys were new, gone or revised and from which "
			 "source, or which "
			 "version it restored.\n"
			 "PARTITION is the whole path or as many parts of it as make it the only one; a dataset without partitions "
			 "needs none.",
	.examples = "  recloser history queue.yaml iso=ercot/state=TX/month=2025-07\n"
				"  recloser history queue.yaml month=2025-07 --json | jq '.versions[] | {seq, why}'\n",
	.run = run,
};
