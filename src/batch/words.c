/* SPDX-License-Identifier: Apache-2.0
 * The words of a spec that only the engine can judge, asked before a source is opened: otherwise the first file that meets a
 * pattern with an open bracket would seem to be the one that is wrong. */
#include <string.h>

#include "batch/layout.h"
#include "engine/engine.h"

struct words {
	struct arena *arena;
	struct engine *engine;
	const struct spec *spec;
	struct strings asked; /* a pattern that ten blocks share is asked about once */
};

/* `question` is a SELECT that fails when the word is wrong. */
static recloser_status ask(struct words *words, const struct column *column, const char *field, const char *word, const char *question,
                           const char *hint, recloser_error *error)
{
	struct rows rows;
	recloser_error problem = {0};
	if (strings_has(&words->asked, question))
		return RECLOSER_OK;
	strings_add(words->arena, &words->asked, question);
	if (engine_query(words->engine, words->arena, "look at the spec", question, &rows, &problem) == RECLOSER_OK)
		return RECLOSER_OK;
	if (strcmp(problem.code, "engine.failed") != 0) {
		*error = problem;
		return problem.status;
	}
	const char *said = strstr(problem.what, "Error: ");
	error_set(error, RECLOSER_USAGE, "spec.word", "column \"%s\": %s: %s is not understood: %.200s", column->name, field, word,
	          said ? said + strlen("Error: ") : problem.what);
	error_where(error, "%s, line %d", words->spec->path, column->mark.line);
	return error_hint(error, "%s", hint);
}

static recloser_status ask_pattern(struct words *words, const struct column *column, const char *field, const char *pattern, recloser_error *error)
{
	if (!pattern)
		return RECLOSER_OK;
	return ask(words, column, field, pattern,
	           arena_printf(words->arena, "SELECT regexp_matches('', %s)", sql_text(words->arena, pattern)),
	           "patterns are RE2 regular expressions; a sign that stands for itself is written with a backslash: \\(", error);
}

static recloser_status ask_column(struct words *words, const struct column *column, recloser_error *error)
{
	static const struct { enum origin origin; const char *field; } patterns[] = {
		{ORIGIN_NAME, "name"}, {ORIGIN_PATH, "path"}, {ORIGIN_ABOVE, "above"}};
	RC_TRY(ask_pattern(words, column, "match", column->match, error));
	for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
		if (column->origin == patterns[i].origin)
			RC_TRY(ask_pattern(words, column, patterns[i].field, column->pattern, error));
	if (column->as)
		RC_TRY(ask(words, column, "as", column->as,
		           arena_printf(words->arena, "SELECT strftime(TIMESTAMP '2000-01-01', %s)", sql_text(words->arena, column->as)),
		           "write a pattern such as \"%Y-%m\"", error));
	if (!column->zone)
		return RECLOSER_OK;
	return ask(words, column, "zone", column->zone,
	           arena_printf(words->arena, "SELECT timezone(%s, TIMESTAMP '2000-01-01')", sql_text(words->arena, column->zone)),
	           "zones are named as in the IANA database: America/Chicago, UTC", error);
}

recloser_status layout_check_words(struct arena *arena, struct engine *engine, const struct spec *spec, recloser_error *error)
{
	struct words words = {.arena = arena, .engine = engine, .spec = spec};
	for (size_t s = 0; s < spec->source_count; s++)
		for (size_t b = 0; b < spec->sources[s].block_count; b++) {
			const struct block *block = &spec->sources[s].blocks[b];
			for (size_t c = 0; c < block->column_count; c++)
				RC_TRY(ask_column(&words, &block->columns[c], error));
		}
	return RECLOSER_OK;
}
