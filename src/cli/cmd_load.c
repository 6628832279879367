/* SPDX-License-Identifier: Apache-2.0
 *
 * recloser load: files into the dataset of a spec.
 */
#include "command.h"
#include "options.h"
#include "output.h"
#include "progress.h"

static int run(const struct command *self, int argc, char **argv)
{
	struct common common = COMMON_DEFAULTS;
	recloser_load_options load = {0};
	struct settings settings = {0};
	struct texts only = {0}, accept = {0};
	struct range backfill = {0};
	const struct option options[] = {
		{"set", 0, OPTION_SETTINGS, &settings, "COLUMN=VALUE",
		 "the value of a column that only the caller knows (`set: required` in the spec); may be repeated"},
		{"source", 0, OPTION_TEXT, &load.source, "NAME",
		 "the source of the spec these files belong to, where their names do not tell"},
		{"only", 0, OPTION_TEXTS, &only, "PARTITION",
		 "load this partition, or those below it, and leave the others alone; may be repeated"},
		{"dry-run", 0, OPTION_FLAG, &load.dry_run, NULL,
		 "read, check, stage and verify, say what would change, and change nothing; needs no right to write there"},
		{"backfill", 0, OPTION_RANGE, &backfill, "A..B",
		 "also replace partitions outside the freshness window: all of them, or those from A to B, both included; either "
		 "end "
		 "may be left out"},
		{"accept", 0, OPTION_TEXTS, &accept, "GUARD",
		 "let this guard pass once (disappeared, key_churn, totals, older, repeated, moved); recorded with the run; may "
		 "be "
		 "repeated"},
		{"allow-empty", 0, OPTION_FLAG, &load.allow_empty, NULL, "a source without rows is not refused"},
		{"force", 0, OPTION_FLAG, &load.force, NULL,
		 "read and check the files even if this very load was done before; partitions with equal rows still keep their "
		 "bytes"},
		WAIT_OPTION(common),
		ENGINE_OPTIONS(common),
		OUTPUT_OPTIONS(common),
		OPTIONS_END,
	};
	struct command_line line;
	enum parse_outcome parsed = options_parse(self, options, argc, argv, 2, SIZE_MAX, &line);
	int code = parsed == PARSE_HELPED ? output_flush(RECLOSER_OK) : RECLOSER_USAGE;
	if (parsed == PARSE_GO_ON) {
		struct progress progress;
		load.common = common_for_call(&common, line.operands[0], &progress);
		load.files = (const char *const *)line.operands + 1;
		load.file_count = line.operand_count - 1;
		load.settings = settings.at;
		load.setting_count = settings.count;
		load.only = only.at;
		load.only_count = only.count;
		load.accept = accept.at;
		load.accept_count = accept.count;
		load.backfill_from = backfill.from;
		load.backfill_to = backfill.to;
		recloser_result *result = NULL;
		recloser_error error = {0};
		recloser_status status = recloser_load(&load, &result, &error);
		progress_end(&progress);
		code = output_finish_writing(common.json, status, result, &error);
	}
	command_line_free(&line);
	return code;
}

const struct command command_load = {
	.name = "load",
	.usage = "SPEC FILE...",
	.summary = "load files into the dataset of a spec",
	.about =
		"Read the files as the spec says, check every row, and replace the partitions whose rows changed. Each partition is "
		"written aside, read back and verified before it goes live in one step, and the version before it stays in the "
		"archive. "
		"A load that was done before is recognised by its input and changes nothing; so is a partition whose rows are the "
		"same.\n"
		"Rows that cannot be loaded are kept in quarantine with the reason. If there are more of them than the spec allows, "
		"or a "
		"guard of the spec refuses, nothing changes at all.\n"
		"FILE is a path, a folder (the files in it that the spec's `files` matches), or - for standard input.",
	.examples = "  recloser load queue.yaml GIS_Report_July2025.xlsx\n"
				"  recloser load queue.yaml --source MISO --set month=2026-07 'GI Interactive Queue.csv'\n"
				"  recloser load queue.yaml --dry-run --json incoming/\n",
	.run = run,
};
