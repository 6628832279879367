/* SPDX-License-Identifier: Apache-2.0
 *
 * recloser tag: pin versions under a name.
 */
#include "command.h"
#include "options.h"
#include "output.h"
#include "progress.h"

static int run(const struct command *self, int argc, char **argv)
{
	struct common common = COMMON_DEFAULTS;
	recloser_tag_options tag = {0};
	bool list = false;
	const struct option options[] = {
		{"at", 0, OPTION_TEXT, &tag.at, "DATE|TIME|TAG",
		 "pin what was live then, as recloser as-of tells it, instead of what is live now"},
		{"delete", 0, OPTION_FLAG, &tag.remove, NULL, "take the tag away; the versions stay until they are pruned"},
		{"list", 0, OPTION_FLAG, &list, NULL, "list the tags; the default without NAME"},
		OUTPUT_OPTIONS(common),
		OPTIONS_END,
	};
	struct command_line line;
	enum parse_outcome parsed = options_parse(self, options, argc, argv, 1, 2, &line);
	int code = parsed == PARSE_HELPED ? output_flush(RECLOSER_OK) : RECLOSER_USAGE;
	bool named = parsed == PARSE_GO_ON && line.operand_count == 2;
	if (parsed == PARSE_GO_ON && named == list && (list || tag.remove || tag.at != NULL))
		code = usage_error(self, list ? "--list takes no NAME" : "something is missing: the NAME of the tag");
	else if (parsed == PARSE_GO_ON && tag.remove && tag.at != NULL)
		code = usage_error(self, "--delete and --at do not go together");
	else if (parsed == PARSE_GO_ON) {
		struct progress progress;
		tag.common = common_for_call(&common, line.operands[0], &progress);
		tag.name = named ? line.operands[1] : NULL;
		recloser_result *result = NULL;
		recloser_error error = {0};
		recloser_status status = recloser_tag(&tag, &result, &error);
		progress_end(&progress);
		code = output_finish_writing(common.json, status, result, &error);
	}
	command_line_free(&line);
	return code;
}

const struct command command_tag = {
	.name = "tag",
	.usage = "SPEC [NAME]",
	.summary = "pin the current versions under a name, so that a figure can be made again",
	.about = "Write down which version of every partition is live, under a name. recloser as-of and recloser verify --tag "
			 "take the name; "
			 "recloser prune keeps what a tag pins. A tag does not move: to use a name again, delete it first.\n"
			 "A run that was decided and cut short is finished first.",
	.examples = "  recloser tag queue.yaml q2-filing\n"
				"  recloser tag queue.yaml board-2025 --at 2025-12-31\n"
				"  recloser as-of queue.yaml q2-filing --copy q2\n",
	.run = run,
};
