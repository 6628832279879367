/* SPDX-License-Identifier: Apache-2.0
 *
 * The program: finds the command, runs it, exits with its code.
 *
 * Signals keep their default action: a load may be stopped at any instant, and whoever comes next finishes or sweeps it.
 */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "help.h"
#include "options.h"
#include "output.h"

/* In the order of a dataset's life, which is the order of `recloser --help`. */
static const struct command *const COMMANDS[] = {
	&command_init,    &command_load,   &command_verify, &command_status, &command_history, &command_diff,
	&command_as_of,   &command_restore, &command_prune, &command_tag,     &command_why,
	&command_doctor,  &command_recover, &command_key,   &command_demo,    NULL,
};

static const struct command *find(const char *name)
{
	for (const struct command *const *command = COMMANDS; *command != NULL; command++) {
		if (strcmp((*command)->name, name) == 0)
			return *command;
	}
	return NULL;
}

static int unknown_command(const char *name)
{
	const char *names[sizeof COMMANDS / sizeof COMMANDS[0] + 2] = {"help", "version"};
	size_t count = 2;
	for (const struct command *const *command = COMMANDS; *command != NULL; command++)
		names[count++] = (*command)->name;
	const char *near = nearest(name, names, count);
	if (near != NULL)
		return usage_error(NULL, "there is no command \"%s\"; did you mean %s?", name, near);
	return usage_error(NULL, "there is no command \"%s\"", name);
}

static int version(int argc, char **argv)
{
	if (argc == 1) {
		printf("recloser %s, DuckDB %s\n", recloser_version(), recloser_engine_version());
	} else if (argc == 2 && strcmp(argv[1], "--json") == 0) {
		fputs("{\"recloser\": ", stdout);
		output_json_text(stdout, recloser_version());
		fputs(", \"engine\": ", stdout);
		output_json_text(stdout, recloser_engine_version());
		fputs("}\n", stdout);
	} else {
		return usage_error(NULL, "recloser version takes nothing but --json");
	}
	return output_flush(RECLOSER_OK);
}

static int help(int argc, char **argv)
{
	if (argc < 2) {
		help_program(COMMANDS);
		return output_flush(RECLOSER_OK);
	}
	const struct command *command = find(argv[1]);
	if (command == NULL)
		return unknown_command(argv[1]);
	char dashed[] = "--help";
	char *words[] = {argv[1], dashed, NULL};
	return command->run(command, 2, words);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return usage_error(NULL, "a command is needed");
	const char *word = argv[1];
	if (strcmp(word, "help") == 0)
		return help(argc - 1, argv + 1);
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		return help(1, argv);
	if (strcmp(word, "version") == 0 || strcmp(word, "--version") == 0)
		return version(argc - 1, argv + 1);
	if (word[0] == '-')
		return usage_error(NULL, "options come after the command, not before it: \"%s\"", word);
	const struct command *command = find(word);
	if (command == NULL)
		return unknown_command(word);
	return command->run(command, argc - 1, argv + 1);
}
