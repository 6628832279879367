/* SPDX-License-Identifier: Apache-2.0
 *
 * recloser key: the key of a row with these identity fields.
 */
#include "command.h"
#include "options.h"
#include "output.h"

static int run(const struct command *self, int argc, char **argv)
{
	bool json = false, escape = false;
	const struct option options[] = {
		{"escape", 0, OPTION_FLAG, &escape, NULL, "as `key: {escape: true}` in a spec: a | inside a value is no boundary"},
		{"json", 0, OPTION_FLAG, &json, NULL, "print one JSON object"},
		OPTIONS_END,
	};
	struct command_line line;
	enum parse_outcome parsed = options_parse(self, options, argc, argv, 1, SIZE_MAX, &line);
	int code = parsed == PARSE_HELPED ? output_flush(RECLOSER_OK) : RECLOSER_USAGE;
	if (parsed == PARSE_GO_ON) {
		char key[25];
		recloser_error error = {0};
		recloser_status status = recloser_key((const char *const *)line.operands, line.operand_count, escape, key, &error);
		if (status == RECLOSER_OK)
			printf(json ? "{\"key\": \"%s\"}\n" : "%s\n", key);
		code = output_finish(json, status, NULL, &error);
	}
	command_line_free(&line);
	return code;
}

const struct command command_key = {
	.name = "key",
	.usage = "VALUE...",
	.summary = "the key of a row with these identity fields",
	.about =
		"Print the key that a row with these identity fields has: the first 24 hexadecimal digits of the SHA-256 of the "
		"values "
		"joined by \"|\". Each value is taken as the spec's `text` type holds it; a number is written as Python's str() "
		"writes it. A value that begins with a dash comes after `--`.",
	.examples = "  recloser key ercot 25INR0001\n"
				"  recloser key -- -1 north\n",
	.run = run,
};
