/* SPDX-License-Identifier: Apache-2.0
 *
 * recloser status: what is live.
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
	enum parse_outcome parsed = options_parse(self, options, argc, argv, 1, 1, &line);
	int code = parsed == PARSE_HELPED ? output_flush(RECLOSER_OK) : RECLOSER_USAGE;
	if (parsed == PARSE_GO_ON) {
		struct progress progress;
		recloser_common call = common_for_call(&common, line.operands[0], &progress);
		recloser_result *result = NULL;
		recloser_error error = {0};
		recloser_status status = recloser_status_of(&call, &result, &error);
		progress_end(&progress);
		code = output_finish(common.json, status, result, &error);
	}
	command_line_free(&line);
	return code;
}

const struct command command_status = {
	.name = "status",
	.usage = "SPEC",
	.summary = "partitions, rows, bytes, seq, load date and source of what is live",
	.about =
		"List the live partitions with their rows, bytes, version number, load date and source, from the ledger. Nothing is "
		"written and no data file is read: `recloser verify` does that.",
	.examples = "  recloser status queue.yaml --json | jq '.partitions[] | select(.rows == 0)'\n",
	.run = run,
};
