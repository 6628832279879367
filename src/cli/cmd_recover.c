/* SPDX-License-Identifier: Apache-2.0
 *
 * recloser recover: finish what an interrupted run decided.
 */
#include "command.h"
#include "options.h"
#include "output.h"
#include "progress.h"

static int run(const struct command *self, int argc, char **argv)
{
	struct common common = COMMON_DEFAULTS;
	bool rebuild = false;
	const struct option options[] = {
		{"rebuild", 0, OPTION_FLAG, &rebuild, NULL, "make a lost ledger again from commits, archive and live files"},
		WAIT_OPTION(common),
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
		recloser_status status = recloser_recover(&call, rebuild, &result, &error);
		progress_end(&progress);
		code = output_finish_writing(common.json, status, result, &error);
	}
	command_line_free(&line);
	return code;
}

const struct command command_recover = {
	.name = "recover",
	.usage = "SPEC",
	.summary = "finish what an interrupted run decided, and sweep what it left",
	.about =
		"Finish the run that was decided last if it was cut short, remove the staging folders of dead runs, and say what "
		"was "
		"found. Every load does this by itself before it begins: the command is for looking, and for a dataset that is not "
		"about to be loaded.",
	.examples = "  recloser recover queue.yaml\n",
	.run = run,
};
