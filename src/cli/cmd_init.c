/* SPDX-License-Identifier: Apache-2.0
 *
 * recloser init: a first spec for a file.
 */
#include "command.h"
#include "options.h"
#include "output.h"
#include "progress.h"

static int run(const struct command *self, int argc, char **argv)
{
	struct common common = COMMON_DEFAULTS;
	recloser_init_options init = {0};
	const struct option options[] = {
		{"output", 'o', OPTION_TEXT, &init.output, "SPEC", "write the spec to this file, which must not be there yet (default: to stdout)"},
		{"dataset", 0, OPTION_TEXT, &init.dataset, "NAME", "name of the dataset (default: from the file's name)"},
		{"root", 0, OPTION_TEXT, &init.root, "DIR", "where the dataset will be, relative to the spec (default: lake)"},
		{"format", 0, OPTION_TEXT, &init.format, "FORMAT", "csv, json, parquet, xlsx or ogr, where the file's name does not tell"},
		{"table", 0, OPTION_TEXT, &init.table, "NAME", "the sheet or layer (default: the largest)"},
		{"records", 0, OPTION_TEXT, &init.records, "PATH", "where the array of records is in a JSON document: data.items"},
		{"encoding", 0, OPTION_TEXT, &init.encoding, "NAME", "encoding of a text file, where it is known"},
		ENGINE_OPTIONS(common),
		OUTPUT_OPTIONS(common),
		OPTIONS_END,
	};
	struct command_line line;
	enum parse_outcome parsed = options_parse(self, options, argc, argv, 1, 2, &line);
	int code = parsed == PARSE_HELPED ? output_flush(RECLOSER_OK) : RECLOSER_USAGE;
	if (parsed == PARSE_GO_ON) {
		struct progress progress;
		init.common = common_for_call(&common, NULL, &progress);
		init.files = (const char *const *)line.operands;
		init.file_count = line.operand_count;
		recloser_result *result = NULL;
		recloser_error error = {0};
		recloser_status status = recloser_init(&init, &result, &error);
		progress_end(&progress);
		code = output_finish(common.json, status, result, &error);
	}
	command_line_free(&line);
	return code;
}

const struct command command_init = {
	.name = "init",
	.usage = "FILE [FILE2]",
	.summary = "propose a spec for a file, with the reason beside each line",
	.about =
		"Read the whole file and write a commented spec for it: how it is read, types, missing words, what identifies a row and why "
		"nothing else does, what could partition, geometry and CRS. The proposal is tried by a load that changes nothing, and the "
		"spec says what came of it.\n"
		"FILE2 is another publication of the same source: the columns that change between the two for one and the same row are "
		"named, and kept out of the key.\n"
		"What a file can't tell is left to you as a commented line: the publisher, the revision, time zones, maps.",
	.examples = "  recloser init plants.csv > plants.yaml\n"
				"  recloser init GIS_Report_June2025.xlsx GIS_Report_July2025.xlsx -o ercot.yaml\n",
	.run = run,
};
