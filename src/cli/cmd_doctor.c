/* SPDX-License-Identifier: Apache-2.0
 *
 * recloser doctor: what could be better.
 */
#include "command.h"
#include "options.h"
#include "output.h"
#include "progress.h"

static int run(const struct command *self, int argc, char **argv)
{
	struct common common = COMMON_DEFAULTS;
	recloser_doctor_options doctor = {0};
	const struct option options[] = {
		{"quick", 0, OPTION_FLAG, &doctor.quick, NULL, "look at records and names only: no drift of values, no finer grain"},
		ENGINE_OPTIONS(common),
		OUTPUT_OPTIONS(common),
		OPTIONS_END,
	};
	struct command_line line;
	enum parse_outcome parsed = options_parse(self, options, argc, argv, 1, 1, &line);
	int code = parsed == PARSE_HELPED ? output_flush(RECLOSER_OK) : RECLOSER_USAGE;
	if (parsed == PARSE_GO_ON) {
		struct progress progress;
		doctor.common = common_for_call(&common, line.operands[0], &progress);
		recloser_result *result = NULL;
		recloser_error error = {0};
		recloser_status status = recloser_doctor(&doctor, &result, &error);
		progress_end(&progress);
		code = output_finish(common.json, status, result, &error);
	}
	command_line_free(&line);
	return code;
}

const struct command command_doctor = {
	.name = "doctor",
	.usage = "SPEC",
	.summary = "grain, leftovers, store guarantees, gaps, drift and key health; changes nothing",
	.about =
		"Look at a dataset as one who would take it over: are the files too small or too large, is anything left over or "
		"foreign, "
		"what does the file system promise, are months missing in the series, did columns or spelled values drift from one "
		"publication to the next, do keys last, are keys in more than one partition. Nothing is changed. The exit code is 1 when something is wrong with what is "
		"stored; "
		"advice alone is 0.",
	.examples = "  recloser doctor queue.yaml\n"
				"  recloser doctor queue.yaml --json | jq '.findings[] | select(.area == \"drift\")'\n",
	.run = run,
};
