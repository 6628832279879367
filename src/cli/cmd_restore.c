/* SPDX-License-Identifier: Apache-2.0
 *
 * recloser restore: an earlier version becomes live again.
 */
#include "command.h"
#include "options.h"
#include "output.h"
#include "progress.h"
#include "values.h"

static int run(const struct command *self, int argc, char **argv)
{
	struct common common = COMMON_DEFAULTS;
	recloser_restore_options restore = {0};
	const struct option options[] = {
		WAIT_OPTION(common),
		OUTPUT_OPTIONS(common),
		OPTIONS_END,
	};
	struct command_line line;
	enum parse_outcome parsed = options_parse(self, options, argc, argv, 2, 3, &line);
	int code = parsed == PARSE_HELPED ? output_flush(RECLOSER_OK) : RECLOSER_USAGE;
	const char *seq = parsed == PARSE_GO_ON ? line.operands[line.operand_count - 1] : "";
	if (parsed == PARSE_GO_ON && (!value_count(seq, INT64_MAX, &restore.seq) || restore.seq == 0))
		code = usage_error(self, "SEQ is a version number as recloser history shows it, not \"%s\"", seq);
	else if (parsed == PARSE_GO_ON) {
		struct progress progress;
		restore.common = common_for_call(&common, line.operands[0], &progress);
		restore.partition = line.operand_count > 2 ? line.operands[1] : "";
		recloser_result *result = NULL;
		recloser_error error = {0};
		recloser_status status = recloser_restore(&restore, &result, &error);
		progress_end(&progress);
		code = output_finish_writing(common.json, status, result, &error);
	}
	command_line_free(&line);
	return code;
}

const struct command command_restore = {
	.name = "restore",
	.usage = "SPEC [PARTITION] SEQ",
	.summary = "make an earlier version live again, as a new version",
	.about = "The archived file of version SEQ is proved by its SHA-256 and made live by the same steps as a load, with a "
			 "number of its "
			 "own; the version that was live stays in the archive. Also brings a live file back that somebody deleted.",
	.examples = "  recloser history queue.yaml month=2025-07\n"
				"  recloser restore queue.yaml month=2025-07 2\n",
	.run = run,
};
