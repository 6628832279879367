/* SPDX-License-Identifier: Apache-2.0
 * Which sign parts the fields of a text file, and which one quotes them: the pair under which the first records have one
 * width. */
#include <string.h>

#include "init/init.h"
#include "source/bytes.h"
#include "source/csv.h"

enum { RECORDS = 80, BYTES = 1 << 20 };

struct fit {
	double share;
	size_t width;
};

/* How often a field begins and ends with the sign: `,'a','b'`. */
static size_t quoted_fields(const char *at, const char *end, char delimiter, char quote)
{
	size_t opened = 0, closed = 0;
	for (const char *p = at; p < end; p++) {
		if (*p != quote)
			continue;
		bool begins = p == at || p[-1] == delimiter || csv_is_line_end(p[-1]);
		bool ends = p + 1 == end || p[1] == delimiter || csv_is_line_end(p[1]);
		opened += begins;
		closed += ends && !begins;
	}
	return opened < closed ? opened : closed;
}

static struct fit fit_of(struct arena *scratch, const struct csv_dialect *dialect, const char *at, const char *end)
{
	size_t widths[RECORDS], count = 0;
	for (uint64_t line = 1; at < end && count < RECORDS; line++) {
		struct csv_record record = csv_record_at(scratch, dialect, at, end, line);
		at = record.after;
		if (record.unclosed)
			break;
		if (record.cells.count > 1 || (record.cells.count == 1 && record.cells.at[0][0]))
			widths[count++] = record.cells.count;
	}
	struct fit best = {0, 1};
	for (size_t i = 0; i < count; i++) {
		size_t same = 0;
		for (size_t k = 0; k < count; k++)
			same += widths[k] == widths[i];
		double share = (double)same / (double)count;
		if (widths[i] > 1 && share > best.share)
			best = (struct fit){share, widths[i]};
	}
	return best;
}

static bool better(const struct fit *a, const struct fit *b)
{
	if (a->share > b->share + 0.05 || a->share < b->share - 0.05)
		return a->share > b->share;
	return a->width > b->width;
}

recloser_status init_dialect(struct init *init, recloser_error *error)
{
	static const char delimiters[] = ",;\t|";
	struct bytes bytes;
	RC_TRY(bytes_open(init->arena, init->inputs[0].read_path, init->block.encoding, init->spool, &bytes, error));
	const char *end = bytes.at + (bytes.count < BYTES ? bytes.count : BYTES);
	struct csv_dialect chosen = {',', '"'};
	struct fit best = {0, 1};
	for (const char *d = delimiters; *d; d++) {
		bool single = quoted_fields(bytes.at, end, *d, '\'') > quoted_fields(bytes.at, end, *d, '"');
		struct csv_dialect dialect = {*d, single ? '\'' : '"'};
		struct arena *scratch = arena_new(init->arena);
		struct fit fit = fit_of(scratch, &dialect, bytes.at, end);
		arena_free(scratch);
		if (better(&fit, &best)) {
			best = fit;
			chosen = dialect;
		}
	}
	struct text line = text_on(init->arena);
	if (chosen.delimiter != ',')
		text_addf(&line, "delimiter: %s", chosen.delimiter == ';' ? "semicolon" : chosen.delimiter == '\t' ? "tab" : "pipe");
	if (chosen.quote != '"')
		text_addf(&line, "%squote: \"'\"", line.length ? ", " : "");
	init->block.delimiter = chosen.delimiter;
	init->block.quote = (char)chosen.quote;
	if (line.length)
		init_read_line(init, arena_printf(init->arena, "csv: {%s}", line.at), NULL);
	return RECLOSER_OK;
}
