/* SPDX-License-Identifier: Apache-2.0
 *
 * What a call of the library came to, for the one who typed the command: data on stdout, errors on stderr.
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "recloser/recloser.h"

/* Print the result (JSON if asked for) and the error, free the result, give the exit code. */
int output_finish(bool json, recloser_status status, recloser_result *result, const recloser_error *error);

/* The same for a command that changes a dataset: what it did stands even when it can't be told, so that is no RECLOSER_IO, which
 * promises that nothing changed, but RECLOSER_UNCLEAR. Run again, it says what is there. */
int output_finish_writing(bool json, recloser_status status, recloser_result *result, const recloser_error *error);

/* A JSON text with its quotes; bytes that are not UTF-8 are taken as they are. */
void output_json_text(FILE *stream, const char *text);

/* Flush stdout: RECLOSER_IO with a word on stderr when what was printed did not arrive, else `code`. */
int output_flush(int code);

#endif
