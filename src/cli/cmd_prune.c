/* SPDX-License-Identifier: Apache-2.0
 *
 * recloser prune: retention.
 */
#include "command.h"
#include "options.h"
#include "output.h"
#include "progress.h"

static int run(const struct command *self, int argc, char **argv)
{
	struct common common = COMMON_DEFAULTS;
	recloser_prune_options prune = {0};
	const struct option options[] = {
		{"keep", 0, OPTION_COUNT, &prune.keep, "N", "keep the newest N versions of each partition, the live one among them"},
		{"older-than", 0, OPTION_TEXT, &prune.older_than, "DATE|SPAN",
		 "let go what was replaced before this date, or before this long ago: 90 days, 6 months, 2y; as-of any later day "
		 "still works"},
		{"yes", 0, OPTION_FLAG, &prune.yes, NULL, "do it; otherwise it is only told"},
		WAIT_OPTION(common),
		OUTPUT_OPTIONS(common),
		OPTIONS_END,
	};
	struct command_line line;
	enum parse_outcome parsed = options_parse(self, options, argc, argv, 1, 1, &line);
	int code = parsed == PARSE_HELPED ? output_flush(RECLOSER_OK) : RECLOSER_USAGE;
	if (parsed == PARSE_GO_ON) {
		struct progress progress;
		prune.common = common_for_call(&common, line.operands[0], &progress);
		recloser_result *result = NULL;
		recloser_error error = {0};
		recloser_status status = recloser_prune(&prune, &result, &error);
		progress_end(&progress);
		code = output_finish_writing(common.json, status, result, &error);
	}
	command_line_free(&line);
	return code;
}

const struct command command_prune = {
	.name = "prune",
	.usage = "SPEC",
	.summary = "remove old versions from the archive: what would go, and then go",
	.about = "Say which archived versions the given rules let go and how many bytes would come free; with --yes remove "
			 "them. With both "
			 "rules a version goes only when both let it.\n"
			 "Live versions, versions that a tag pins and those of a commit that is not finished always stay. The records "
			 "stay, too, and "
			 "a record says what was pruned, when and by which rule.",
	.examples = "  recloser prune queue.yaml --keep 12\n"
				"  recloser prune queue.yaml --older-than '2 years' --keep 3 --yes\n",
	.run = run,
};
