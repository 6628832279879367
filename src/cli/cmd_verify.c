/* SPDX-License-Identifier: Apache-2.0
 *
 * recloser verify: re-read what is live and hold it against its records.
 */
#include "command.h"
#include "options.h"
#include "output.h"
#include "progress.h"

static int run(const struct command *self, int argc, char **argv)
{
	struct common common = COMMON_DEFAULTS;
	recloser_verify_options verify = {.expect_rows = -1};
	const struct option options[] = {
		{"expect-rows", 0, OPTION_COUNT, &verify.expect_rows, "N",
		 "fail unless the partitions that were asked for hold this many rows together"},
		{"quick", 0, OPTION_FLAG, &verify.quick, NULL, "compare sizes, times and inodes only; no file is read"},
		{"cold", 0, OPTION_FLAG, &verify.cold, NULL,
		 "drop the files' cached pages first, so that what is read comes from the disk"},
		{"archive", 0, OPTION_FLAG, &verify.archive, NULL,
		 "read every archived version too and compare its SHA-256; without it their presence and size are looked at"},
		{"tag", 0, OPTION_TEXT, &verify.tag, "NAME",
		 "verify the versions that this tag pins, in the archive, instead of what is live"},
		ENGINE_OPTIONS(common),
		OUTPUT_OPTIONS(common),
		OPTIONS_END,
	};
	struct command_line line;
	enum parse_outcome parsed = options_parse(self, options, argc, argv, 1, SIZE_MAX, &line);
	int code = parsed == PARSE_HELPED ? output_flush(RECLOSER_OK) : RECLOSER_USAGE;
	if (parsed == PARSE_GO_ON && verify.quick && verify.cold) {
		code = usage_error(self, "--quick reads no file, so --cold has nothing to do with it");
	} else if (parsed == PARSE_GO_ON && verify.archive && (verify.quick || verify.tag)) {
		code = usage_error(self, "--archive reads all versions: it goes with neither --quick nor --tag");
	} else if (parsed == PARSE_GO_ON) {
		struct progress progress;
		verify.common = common_for_call(&common, line.operands[0], &progress);
		verify.partitions = (const char *const *)line.operands + 1;
		verify.partition_count = line.operand_count - 1;
		recloser_result *result = NULL;
		recloser_error error = {0};
		recloser_status status = recloser_verify(&verify, &result, &error);
		progress_end(&progress);
		code = output_finish(common.json, status, result, &error);
	}
	command_line_free(&line);
	return code;
}

const struct command command_verify = {
	.name = "verify",
	.usage = "SPEC [PARTITION...]",
	.summary = "re-read live partitions and assert what their records say",
	.about =
		"Read every live partition, or those named, and compare it with its record: bytes, rows, one row a key, partition "
		"values equal to the path, schema, geometry, and the fingerprint of the content. Versions in the "
		"archive must be there in their size, unless prune removed them. A fault is exit code 1 and is "
		"named with its partition. Nothing is written.",
	.examples = "  recloser verify queue.yaml\n"
				"  recloser verify queue.yaml state=TX/month=2026-07 --expect-rows 1879\n",
	.run = run,
};
