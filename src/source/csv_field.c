/* SPDX-License-Identifier: Apache-2.0
 * The CSV grammar, one field or record at a time. */
#include <string.h>

#include "source/csv.h"

const char *csv_closing_quote(const char *at, const char *end, char quote, bool *doubled)
{
	while (at < end) {
		const char *hit = memchr(at, quote, (size_t)(end - at));
		if (!hit)
			return NULL;
		if (hit + 1 == end || hit[1] != quote)
			return hit;
		*doubled = true;
		at = hit + 2;
	}
	return NULL;
}

uint64_t csv_line_ends(const char *at, const char *to)
{
	uint64_t count = 0;
	while (at < to) {
		if (!csv_is_line_end(*at)) {
			at++;
			continue;
		}
		at = csv_after_line_end(at, to);
		count++;
	}
	return count;
}

static const char *field_end(const struct csv_dialect *dialect, const char *at, const char *end)
{
	while (at < end && *at != dialect->delimiter && !csv_is_line_end(*at))
		at++;
	return at;
}

struct csv_field csv_quoted_at(const struct csv_dialect *dialect, const char *at, const char *end)
{
	struct csv_field field = {.at = at + 1};
	const char *close = csv_closing_quote(at + 1, end, (char)dialect->quote, &field.doubled);
	if (!close) {
		field.count = (size_t)(end - field.at);
		field.unclosed = true;
		field.after = end;
		return field;
	}
	field.count = (size_t)(close - field.at);
	field.after = close + 1;
	if (field.after == end || *field.after == dialect->delimiter || csv_is_line_end(*field.after))
		return field;
	field.after = field_end(dialect, field.after, end);
	field.at = at;
	field.count = (size_t)(field.after - at);
	field.doubled = false;
	field.trailing = true;
	return field;
}

struct csv_field csv_field_at(const struct csv_dialect *dialect, const char *at, const char *end)
{
	if (at < end && dialect->quote >= 0 && *at == (char)dialect->quote)
		return csv_quoted_at(dialect, at, end);
	const char *after = field_end(dialect, at, end);
	return (struct csv_field){.at = at, .count = (size_t)(after - at), .after = after};
}

size_t csv_unquote(const struct csv_field *field, char quote, char *to)
{
	if (!field->doubled) {
		memcpy(to, field->at, field->count);
		return field->count;
	}
	const char *at = field->at, *end = at + field->count;
	char *put = to;
	while (at < end) {
		const char *hit = memchr(at, quote, (size_t)(end - at));
		size_t part = (size_t)((hit ? hit + 1 : end) - at);
		memcpy(put, at, part);
		put += part;
		at += part + (hit && hit + 1 < end); /* the second of the two */
	}
	return (size_t)(put - to);
}

bool csv_blank_line(const struct csv_dialect *dialect, size_t columns, const char *at, const char *end)
{
	if (at < end && csv_is_line_end(*at))
		return true;
	if (columns < 2)
		return false;
	while (at < end && (*at == ' ' || *at == '\t') && *at != dialect->delimiter)
		at++;
	return at == end || csv_is_line_end(*at);
}

bool csv_blank_field(const struct csv_field *field)
{
	for (size_t i = 0; i < field->count; i++) {
		char c = field->at[i];
		if (c == '\xC2' && i + 1 < field->count && field->at[i + 1] == '\xA0')
			i++; /* no-break space */
		else if (c != ' ' && !(c >= '\t' && c <= '\r'))
			return false;
	}
	return true;
}

struct csv_record csv_record_at(struct arena *arena, const struct csv_dialect *dialect, const char *at, const char *end,
								uint64_t line)
{
	struct csv_record record = {.at = at, .line = line};
	for (;;) {
		struct csv_field field = csv_field_at(dialect, at, end);
		if (field.unclosed) {
			record.unclosed = at;
			field.count = 0; /* it is the rest of the file, which nobody needs twice */
		}
		char *cell = arena_alloc(arena, field.count + 1);
		csv_unquote(&field, (char)dialect->quote, cell);
		strings_add(arena, &record.cells, cell);
		at = field.after;
		if (at == end || *at != dialect->delimiter)
			break;
		at++;
	}
	record.after = at < end ? csv_after_line_end(at, end) : end;
	record.lines = csv_line_ends(record.at, record.after);
	return record;
}
