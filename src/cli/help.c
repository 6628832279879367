/* SPDX-License-Identifier: Apache-2.0
 *
 * Help on stdout. Lines are 78 columns wide whatever the terminal, so that help reads the same in a page, a mail and a log.
 */
#include "help.h"

#include <stdio.h>
#include <string.h>

enum { WIDTH = 78, OPTION_COLUMN = 28 };

/* Print `text` from column `column` on, lines after the first indented by `indent`. A blank line stays one. */
static void print_wrapped(const char *text, size_t indent, size_t column)
{
	while (*text != '\0') {
		if (*text == '\n') {
			fputs("\n\n", stdout);
			text += strspn(text, "\n");
			column = (size_t)printf("%*s", (int)indent, "");
			continue;
		}
		size_t length = strcspn(text, " \n");
		if (column > indent && column + 1 + length > WIDTH) {
			printf("\n%*s", (int)indent, "");
			column = indent;
		}
		if (column > indent) {
			putchar(' ');
			column++;
		}
		fwrite(text, 1, length, stdout);
		column += length;
		text += length;
		text += strspn(text, " ");
	}
	putchar('\n');
}

static void print_option(const struct option *option)
{
	char name[64];
	int length;
	const char *letter = option->letter != 0 ? (const char[]){'-', option->letter, ',', ' ', '\0'} : "";
	if (option->kind == OPTION_RANGE)
		length = snprintf(name, sizeof name, "  %s--%s[=%s]", letter, option->name, option->value_name);
	else if (option->value_name != NULL)
		length = snprintf(name, sizeof name, "  %s--%s %s", letter, option->name, option->value_name);
	else
		length = snprintf(name, sizeof name, "  %s--%s", letter, option->name);
	fputs(name, stdout);
	if (length + 2 > OPTION_COLUMN)
		printf("\n%*s", OPTION_COLUMN, "");
	else
		printf("%*s", OPTION_COLUMN - length, "");
	print_wrapped(option->help, OPTION_COLUMN, OPTION_COLUMN);
}

void help_command(const struct command *command, const struct option *options)
{
	printf("usage: recloser %s [options] %s\n\n", command->name, command->usage);
	print_wrapped(command->about, 0, 0);
	fputs("\nOptions\n", stdout);
	for (; options->kind != OPTION_END; options++)
		print_option(options);
	print_option(&(const struct option){"help", 'h', OPTION_FLAG, NULL, NULL, "this text"});
	if (command->examples != NULL)
		printf("\nExamples\n%s", command->examples);
}

static const struct {
	recloser_status status;
	const char *meaning;
} EXIT_CODES[] = {
	{RECLOSER_OK, "done, changed or unchanged"},
	{RECLOSER_FAULT, "verification found a fault in what is stored"},
	{RECLOSER_USAGE, "the command line is wrong, or what stands in the spec"},
	{RECLOSER_REFUSED, "the source was refused before anything changed"},
	{RECLOSER_HELD, "a policy held a partition back"},
	{RECLOSER_CONFLICT, "another writer was first, or holds the dataset"},
	{RECLOSER_IO, "a file can't be opened, the spec included; input, output, memory or store failed; nothing changed"},
	{RECLOSER_UNCLEAR, "live but not yet durable, or the store's state is unclear: run again"},
};

void help_program(const struct command *const *commands)
{
	fputs("usage: recloser COMMAND [options] ...\n\n", stdout);
	print_wrapped(
		"Load grid datasets into Hive-partitioned GeoParquet, so that running a load again is a no-op and a reader "
		"never sees half of one.",
		0, 0);
	fputs("\nCommands\n", stdout);
	for (; *commands != NULL; commands++)
		printf("  %-10s %s\n", (*commands)->name, (*commands)->summary);
	printf("  %-10s %s\n", "help", "what a command does and its options: recloser help load");
	printf("  %-10s %s\n", "version", "versions of recloser and its engine; --json");
	fputs("\nPARTITION is written as its directory is: state=TX/month=2026-07. SPEC is a dataset's YAML file.\n"
		  "stdout is data, stderr is talk; --json prints one object. `--` ends the options.\n\nExit codes\n",
		  stdout);
	for (size_t i = 0; i < sizeof EXIT_CODES / sizeof EXIT_CODES[0]; i++)
		printf("  %d  %s\n", (int)EXIT_CODES[i].status, EXIT_CODES[i].meaning);
}
