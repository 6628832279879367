/* SPDX-License-Identifier: Apache-2.0
 *
 * Printing of results and errors (output.h).
 */
#include "output.h"

#include <errno.h>
#include <string.h>

void output_json_text(FILE *stream, const char *text)
{
	putc('"', stream);
	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;
		if (c == '"' || c == '\\')
			fprintf(stream, "\\%c", c);
		else if (c < 0x20)
			fprintf(stream, "\\u%04x", (unsigned)c);
		else
			putc(c, stream);
	}
	putc('"', stream);
}

/* A call that failed before it had a result still gives one object to who asked for JSON. */
static void print_bare_error(const recloser_error *error)
{
	const struct {
		const char *name, *text;
	} members[] = {{"code", error->code}, {"what", error->what}, {"where", error->where}, {"hint", error->hint}};
	fputs("{\n  \"outcome\": \"failed\",\n  \"error\": {", stdout);
	for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
		printf("%s\n    \"%s\": ", i > 0 ? "," : "", members[i].name);
		if (members[i].text[0] != '\0')
			output_json_text(stdout, members[i].text);
		else
			fputs("null", stdout);
	}
	fputs("\n  }\n}\n", stdout);
}

/* Every line of the text indented by two. */
static void print_indented(const char *text)
{
	while (*text != '\0') {
		size_t length = strcspn(text, "\n");
		fprintf(stderr, "  %.*s\n", (int)length, text);
		text += length;
		text += *text == '\n';
	}
}

static void print_error(const recloser_error *error)
{
	fprintf(stderr, "recloser: %s\n", error->what);
	print_indented(error->where);
	print_indented(error->hint);
}

/* `unsaid` instead of success when what was printed did not arrive. */
static int flush_or(int code, int unsaid)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	fprintf(stderr, "recloser: cannot write to stdout: %s\n", strerror(errno));
	if (code == RECLOSER_OK && unsaid == RECLOSER_UNCLEAR)
		fprintf(stderr, "  what was done stands; run again to see what is there\n");
	return code == RECLOSER_OK ? unsaid : code;
}

int output_flush(int code)
{
	return flush_or(code, RECLOSER_IO);
}

static int finish(bool json, recloser_status status, recloser_result *result, const recloser_error *error, int unsaid)
{
	if (result != NULL)
		fputs(json ? recloser_result_json(result) : recloser_result_text(result), stdout);
	else if (json && status != RECLOSER_OK)
		print_bare_error(error);
	int code = flush_or((int)status, unsaid); /* before stderr: in a shared log the figures stand above the reason */
	if (status != RECLOSER_OK && error->what[0] != '\0')
		print_error(error);
	recloser_result_free(result);
	return code;
}

int output_finish(bool json, recloser_status status, recloser_result *result, const recloser_error *error)
{
	return finish(json, status, result, error, RECLOSER_IO);
}

int output_finish_writing(bool json, recloser_status status, recloser_result *result, const recloser_error *error)
{
	return finish(json, status, result, error, RECLOSER_UNCLEAR);
}
