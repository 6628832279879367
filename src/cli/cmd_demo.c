/* SPDX-License-Identifier: Apache-2.0
 *
 * recloser demo: the same publication loaded again, in three ways.
 */
#include <stdio.h>

#include "command.h"
#include "options.h"
#include "output.h"
#include "progress.h"

/* The demonstration's lines are its data: they go to stdout as it happens, except when an object was asked for. */
static void say(void *arg, const char *text)
{
	progress_end(arg);
	fputs(text, stdout);
	fflush(stdout);
}

static int run(const struct command *self, int argc, char **argv)
{
	struct common common = COMMON_DEFAULTS;
	recloser_demo_options demo = {.directory = "recloser-demo"};
	int64_t rows = 0;
	const struct option options[] = {
		{"rows", 0, OPTION_COUNT, &rows, "N", "rows of the publication (default: 1200000; at least 1200)"},
		ENGINE_OPTIONS(common),
		OUTPUT_OPTIONS(common),
		OPTIONS_END,
	};
	struct command_line line;
	enum parse_outcome parsed = options_parse(self, options, argc, argv, 0, 1, &line);
	int code = parsed == PARSE_HELPED ? output_flush(RECLOSER_OK) : RECLOSER_USAGE;
	if (parsed == PARSE_GO_ON) {
		struct progress progress;
		demo.common = common_for_call(&common, NULL, &progress);
		if (line.operand_count > 0)
			demo.directory = line.operands[0];
		demo.rows = (uint64_t)rows;
		if (!common.json) {
			demo.say = say;
			demo.say_arg = &progress;
		}
		recloser_result *result = NULL;
		recloser_error error = {0};
		recloser_status status = recloser_demo(&demo, &result, &error);
		progress_end(&progress);
		code = output_finish(common.json, status, result, &error);
	}
	command_line_free(&line);
	return code;
}

const struct command command_demo = {
	.name = "demo",
	.usage = "[DIR]",
	.summary = "the same 1.2 million rows loaded twice: append, mutable key, recloser",
	.about =
		"Make a publication of 1.2 million queue projects and a second delivery of it in which 700,000 rows carry a newer "
		"last_updated and nothing else changed. Load both by plain append, by a merge on a key that holds last_updated, and "
		"by "
		"recloser; print rows, capacity and SHA-256 as they are. Then load the second once more, read one partition of 612, "
		"and "
		"load a batch with revisions in it.\n"
		"Everything is made in DIR (default: recloser-demo), which must be absent, empty, or of an earlier demo. Needs "
		"about 1 GB "
		"of disk and no network.",
	.examples = "  recloser demo\n"
				"  recloser demo --rows 12000 /tmp/small\n",
	.run = run,
};
