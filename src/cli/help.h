/* SPDX-License-Identifier: Apache-2.0
 *
 * Help on stdout, made from the command and its option table.
 */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "options.h"

void help_command(const struct command *command, const struct option *options);
void help_program(const struct command *const *commands);

#endif
