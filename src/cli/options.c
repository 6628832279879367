/* SPDX-License-Identifier: Apache-2.0
 *
 * Parsing of a command line against an option table (options.h).
 */
#include "options.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "help.h"
#include "values.h"

int usage_error(const struct command *command, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fputs("recloser: ", stderr);
	vfprintf(stderr, format, args);
	va_end(args);
	if (command != NULL)
		fprintf(stderr, "\n  recloser %s --help\n", command->name);
	else
		fputs("\n  recloser --help\n", stderr);
	return RECLOSER_USAGE;
}

/* Edit distance with swaps of neighbours, in three rows; words longer than a row are no typing errors of ours. */
static size_t distance(const char *a, const char *b)
{
	enum { LONGEST = 32 };
	size_t rows[3][LONGEST + 1];
	size_t a_length = strlen(a), b_length = strlen(b);
	if (a_length > LONGEST || b_length > LONGEST)
		return SIZE_MAX;
	size_t *before = rows[0], *above = rows[1], *row = rows[2];
	for (size_t j = 0; j <= b_length; j++)
		above[j] = j;
	for (size_t i = 1; i <= a_length; i++) {
		row[0] = i;
		for (size_t j = 1; j <= b_length; j++) {
			size_t best = above[j - 1] + (a[i - 1] != b[j - 1]);
			if (above[j] + 1 < best)
				best = above[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < best)
				best = before[j - 2] + 1;
			row[j] = best;
		}
		size_t *spare = before;
		before = above;
		above = row;
		row = spare;
	}
	return above[b_length];
}

const char *nearest(const char *word, const char *const *words, size_t count)
{
	const char *best = NULL;
	size_t best_distance = strlen(word) / 3 + 2; /* one more than what counts as near */
	for (size_t i = 0; i < count; i++) {
		size_t this_distance = distance(word, words[i]);
		/* The beginning of a longer word is as good as a small error. */
		if (strlen(word) >= 3 && strncmp(words[i], word, strlen(word)) == 0)
			this_distance = 1;
		if (this_distance < best_distance) {
			best = words[i];
			best_distance = this_distance;
		}
	}
	return best;
}

static void *keep(struct command_line *line, void *block)
{
	if (block == NULL || line->block_count == sizeof line->blocks / sizeof line->blocks[0]) {
		fputs("recloser: out of memory\n", stderr);
		exit(RECLOSER_IO);
	}
	return line->blocks[line->block_count++] = block;
}

void command_line_free(struct command_line *line)
{
	while (line->block_count > 0)
		free(line->blocks[--line->block_count]);
}

static int unknown_option(const struct command *command, const struct option *options, const char *word)
{
	const char *names[64];
	size_t count = 0;
	char name[64];
	const char *dashes = word[1] == '-' ? "--" : "-";
	snprintf(name, sizeof name, "%.*s", (int)strcspn(word + strlen(dashes), "="), word + strlen(dashes));
	names[count++] = "help";
	for (; options->kind != OPTION_END && count < sizeof names / sizeof names[0]; options++)
		names[count++] = options->name;
	const char *near = nearest(name, names, count);
	if (near != NULL)
		return usage_error(command, "there is no option %s%s; did you mean --%s?", dashes, name, near);
	return usage_error(command, "there is no option %s%s", dashes, name);
}

/* A..B, A.., ..B, or A for A..A. Cut in place, like all values: argv is the program's own. */
static void set_range(struct range *range, char *value)
{
	char *dots = strstr(value, "..");
	range->from = range->to = value;
	if (dots != NULL) {
		*dots = '\0';
		range->to = dots + 2;
	}
}

/* `--backfill file.csv`: the next word is the range only when it looks like one and is no file. */
static bool is_range(const char *word)
{
	return word != NULL && strstr(word, "..") != NULL && strchr(word, '/') == NULL && access(word, F_OK) != 0;
}

static bool add_setting(struct command_line *line, int argc, struct settings *settings, char *value)
{
	char *equals = strchr(value, '=');
	if (equals == NULL || equals == value)
		return false;
	if (settings->at == NULL)
		settings->at = keep(line, calloc((size_t)argc, sizeof *settings->at));
	*equals = '\0';
	settings->at[settings->count++] = (recloser_setting){value, equals + 1};
	return true;
}

/* false: the value is not of the option's kind. */
static bool set_value(struct command_line *line, int argc, const struct option *option, char *value)
{
	int64_t number = 0;
	switch (option->kind) {
	case OPTION_TEXT:
		*(const char **)option->value = value;
		return *value != '\0';
	case OPTION_TEXTS: {
		struct texts *texts = option->value;
		if (texts->at == NULL)
			texts->at = keep(line, calloc((size_t)argc, sizeof *texts->at));
		texts->at[texts->count++] = value;
		return *value != '\0';
	}
	case OPTION_SETTINGS:
		return add_setting(line, argc, option->value, value);
	case OPTION_RANGE:
		if (*value == '\0')
			return false;
		set_range(option->value, value);
		return true;
	case OPTION_COUNT:
		return value_count(value, INT64_MAX, option->value);
	case OPTION_THREADS:
		if (!value_count(value, 1024, &number) || number == 0)
			return false;
		*(int *)option->value = (int)number;
		return true;
	case OPTION_SIZE:
		return value_size(value, option->value);
	case OPTION_SECONDS:
		return value_seconds(value, option->value);
	case OPTION_FLAG:
	case OPTION_END:
		break;
	}
	return false;
}

static const char *what_is_meant(enum option_kind kind)
{
	switch (kind) {
	case OPTION_SETTINGS:
		return "COLUMN=VALUE";
	case OPTION_RANGE:
		return "A..B";
	case OPTION_COUNT:
		return "a whole number";
	case OPTION_THREADS:
		return "a whole number from 1 to 1024";
	case OPTION_SIZE:
		return "a size such as 300MB, 2GB or 1.5GiB";
	case OPTION_SECONDS:
		return "seconds, such as 30 or 0.5";
	default:
		return "a value that is not empty";
	}
}

static const struct option *find(const struct option *options, char *word, char **attached)
{
	*attached = NULL;
	for (; options->kind != OPTION_END; options++) {
		if (word[1] != '-') {
			if (options->letter != 0 && word[1] == options->letter && word[2] == '\0')
				return options;
			continue;
		}
		size_t length = strlen(options->name);
		if (strncmp(word + 2, options->name, length) != 0)
			continue;
		if (word[2 + length] == '=')
			*attached = word + 3 + length;
		else if (word[2 + length] != '\0')
			continue;
		return options;
	}
	return NULL;
}

/* One option and its value, the words from argv[*at]. */
static int parse_option(const struct command *command, const struct option *options, int argc, char **argv, int *at,
						struct command_line *line)
{
	char *word = argv[*at], *value;
	const struct option *option = find(options, word, &value);
	if (option == NULL)
		return unknown_option(command, options, word);
	if (option->kind == OPTION_FLAG) {
		if (value != NULL)
			return usage_error(command, "--%s takes no value, not \"%s\"", option->name, value);
		*(bool *)option->value = true;
		return RECLOSER_OK;
	}
	if (option->kind == OPTION_RANGE && value == NULL && !is_range(argv[*at + 1])) {
		*(struct range *)option->value = (struct range){"", ""};
		return RECLOSER_OK;
	}
	if (value == NULL) {
		value = argv[*at + 1];
		if (value == NULL || strcmp(value, "--") == 0)
			return usage_error(command, "--%s needs a value: --%s %s", option->name, option->name, option->value_name);
		++*at;
	}
	if (!set_value(line, argc, option, value))
		return usage_error(command, "--%s wants %s, not \"%s\"", option->name, what_is_meant(option->kind), value);
	return RECLOSER_OK;
}

static bool asks_for_help(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			return true;
	}
	return false;
}

enum parse_outcome options_parse(const struct command *command, const struct option *options, int argc, char **argv,
								 size_t least, size_t most, struct command_line *line)
{
	*line = (struct command_line){.operands = argv + 1};
	if (asks_for_help(argc, argv)) {
		help_command(command, options);
		return PARSE_HELPED;
	}
	bool only_operands = false;
	for (int i = 1; i < argc; i++) {
		if (!only_operands && strcmp(argv[i], "--") == 0) {
			only_operands = true;
		} else if (!only_operands && argv[i][0] == '-' && argv[i][1] != '\0') {
			if (parse_option(command, options, argc, argv, &i, line) != RECLOSER_OK)
				return PARSE_WRONG;
		} else {
			line->operands[line->operand_count++] = argv[i]; /* never overtakes i: operands are fewer than words */
		}
	}
	if (line->operand_count < least || line->operand_count > most) {
		if (line->operand_count > most)
			usage_error(command, "one argument too many: \"%s\"", line->operands[most]);
		else
			usage_error(command, "something is missing: recloser %s %s", command->name, command->usage);
		return PARSE_WRONG;
	}
	return PARSE_GO_ON;
}
