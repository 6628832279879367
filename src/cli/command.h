/* SPDX-License-Identifier: Apache-2.0
 *
 * One command of the program. Each is a file cmd_NAME.c with one such struct; main.c lists them.
 * The program knows the library by its public header only: it parses, calls, prints.
 *
 * stdout carries the data of a command and nothing else; stderr carries talk: progress, errors.
 * The exit code is the recloser_status of the call.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "recloser/recloser.h"

struct command {
	const char *name;
	const char *usage;    /* what follows the name: "SPEC FILE..." */
	const char *summary;  /* one line of `recloser --help` */
	const char *about;    /* `recloser NAME --help`: paragraphs between blank lines, wrapped when printed */
	const char *examples; /* printed as they are; may be NULL */
	int (*run)(const struct command *self, int argc, char **argv); /* argv[0] is the command's name; returns the exit code */
};

extern const struct command command_init, command_load, command_verify, command_status, command_history, command_diff, command_as_of,
	command_restore, command_prune, command_tag, command_why, command_doctor, command_recover, command_key, command_demo;

#endif
