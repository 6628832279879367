/* SPDX-License-Identifier: Apache-2.0
 *
 * recloser why: the story of a part file.
 */
#include "command.h"
#include "options.h"
#include "output.h"
#include "progress.h"

static int run(const struct command *self, int argc, char **argv)
{
	struct common common = COMMON_DEFAULTS;
	recloser_why_options why = {0};
	const char *spec = NULL;
	const struct option options[] = {
		{"spec", 0, OPTION_TEXT, &spec, "SPEC", "look in the dataset of this spec only"},
		{"root", 0, OPTION_TEXT, &why.root, "DIR",
		 "look in all datasets of this root (default: roots above the file and above here)"},
		ENGINE_OPTIONS(common),
		OUTPUT_OPTIONS(common),
		OPTIONS_END,
	};
	struct command_line line;
	enum parse_outcome parsed = options_parse(self, options, argc, argv, 1, 1, &line);
	int code = parsed == PARSE_HELPED ? output_flush(RECLOSER_OK) : RECLOSER_USAGE;
	if (parsed == PARSE_GO_ON && spec != NULL && why.root != NULL)
		code = usage_error(self, "--spec and --root do not go together");
	else if (parsed == PARSE_GO_ON) {
		struct progress progress;
		why.common = common_for_call(&common, spec, &progress);
		why.file = line.operands[0];
		recloser_result *result = NULL;
		recloser_error error = {0};
		recloser_status status = recloser_why(&why, &result, &error);
		progress_end(&progress);
		code = output_finish(common.json, status, result, &error);
	}
	command_line_free(&line);
	return code;
}

const struct command command_why = {
	.name = "why",
	.usage = "FILE",
	.summary = "where a part file comes from: dataset, version, sources, spec, and what replaced it",
	.about = "Find the version that a file is by its content alone, wherever it was copied and whatever it is called now: "
			 "by the SHA-256 "
			 "of its bytes, and when another program wrote the same rows again, by the fingerprint of its rows.\n"
			 "The exit code is 1 when no version is known that this file could be.",
	.examples = "  recloser why ~/Downloads/texas.parquet --root lake\n"
				"  recloser why lake/queue/iso=ercot/state=TX/month=2025-07/part.parquet\n",
	.run = run,
};
