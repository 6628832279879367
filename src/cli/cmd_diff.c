/* SPDX-License-Identifier: Apache-2.0
 *
 * recloser diff: what changed between two versions.
 */
#include "command.h"
#include "options.h"
#include "output.h"
#include "progress.h"

static int call(const struct common *common, recloser_diff_options *diff, const struct command_line *line)
{
	struct progress progress;
	diff->common = common_for_call(common, line->operands[0], &progress);
	diff->partition = line->operand_count > 1 ? line->operands[1] : "";
	diff->a = line->operand_count > 2 ? line->operands[2] : NULL;
	diff->b = line->operand_count > 3 ? line->operands[3] : NULL;
	recloser_result *result = NULL;
	recloser_error error = {0};
	recloser_status status = recloser_diff(diff, &result, &error);
	progress_end(&progress);
	return output_finish(common->json, status, result, &error);
}

static int run(const struct command *self, int argc, char **argv)
{
	struct common common = COMMON_DEFAULTS;
	recloser_diff_options diff = {0};
	struct settings settings = {0};
	int64_t limit = 0;
	const struct option options[] = {
		{"file", 0, OPTION_TEXT, &diff.file, "FILE", "compare with this file as if it were loaded; it is not"},
		{"source", 0, OPTION_TEXT, &diff.source, "NAME", "the source of the spec the file belongs to"},
		{"set", 0, OPTION_SETTINGS, &settings, "COLUMN=VALUE", "as for a load of the file; may be repeated"},
		{"output", 'o', OPTION_TEXT, &diff.output, "FILE.pq",
		 "write all changes to a Parquet file, one line a changed value"},
		{"limit", 0, OPTION_COUNT, &limit, "N", "changes to print (default: 20, and 1,000 with --json)"},
		ENGINE_OPTIONS(common),
		OUTPUT_OPTIONS(common),
		OPTIONS_END,
	};
	struct command_line line;
	enum parse_outcome parsed = options_parse(self, options, argc, argv, 1, 4, &line);
	int code = parsed == PARSE_HELPED ? output_flush(RECLOSER_OK) : RECLOSER_USAGE;
	if (parsed == PARSE_GO_ON && diff.file != NULL && line.operand_count > 3)
		code = usage_error(self, "--file is the newer side: \"%s\" is one word too many", line.operands[3]);
	else if (parsed == PARSE_GO_ON) {
		diff.limit = (uint64_t)limit;
		diff.settings = settings.at;
		diff.setting_count = settings.count;
		code = call(&common, &diff, &line);
	}
	command_line_free(&line);
	return code;
}

const struct command command_diff = {
	.name = "diff",
	.usage = "SPEC [PARTITION [A [B]]]",
	.summary = "added, removed and changed keys, with old and new value by column",
	.about =
		"Compare two versions by key. A and B are version numbers or \"live\"; B is the live version unless said, A the one "
		"before it. A partition that has one version is compared with the preceding one of the series. When A is another "
		"partition, the live versions of both are compared.\n"
		"Text that differs in white space, in letter case or in the style of a date only is counted apart.",
	.examples = "  recloser diff queue.yaml month=2020-07\n"
				"  recloser diff queue.yaml month=2020-07 1 3 --json\n"
				"  recloser diff queue.yaml month=2025-06 month=2025-07 --output changes.pq\n"
				"  recloser diff queue.yaml month=2025-07 --file GIS_Report_July2025.xlsx\n",
	.run = run,
};
