/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/convert.h"

#include <string.h>

#include "batch/times.h"
#include "engine/engine.h"

#define NUMBER_PATTERN "[+-]?(?:[0-9]+\\.?[0-9]*|\\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?"

/* White space as people see it: blanks, line breaks, tabs, and U+00A0. */
#define SPACE_CLASS "[\\s\\x{00A0}]"

static const char *clean_space(struct arena *arena, enum space space, const char *raw)
{
	switch (space) {
	case SPACE_TRIM:
		return arena_printf(arena, "regexp_replace(regexp_replace(%s, '^" SPACE_CLASS "+', ''), '" SPACE_CLASS "+$', '')", raw);
	case SPACE_SQUEEZE:
		/* Most texts have nothing to squeeze; the test is far cheaper than the replacement. */
		return arena_printf(arena,
		    "(CASE WHEN regexp_matches(%s, '^" SPACE_CLASS "|" SPACE_CLASS "$|" SPACE_CLASS "{2}|[\\t\\r\\n\\x0b\\x0c\\x{00A0}]')"
		    " THEN trim(regexp_replace(%s, '" SPACE_CLASS "+', ' ', 'g')) ELSE %s END)", raw, raw, raw);
	default:
		return raw;
	}
}

static const char *clean_match(struct arena *arena, const char *pattern, const char *text)
{
	/* The first group where the pattern has one (an escaped or special bracket is none), else the whole match. */
	bool group = false;
	for (const char *p = pattern; *p; p++) {
		if (*p == '\\' && p[1])
			p++;
		else if (*p == '(' && p[1] != '?')
			group = true;
	}
	const char *quoted = sql_text(arena, pattern);
	return arena_printf(arena, "(CASE WHEN regexp_matches(%s, %s) THEN regexp_extract(%s, %s, %d) END)", text, quoted, text,
	                    quoted, group ? 1 : 0);
}

static const char *clean_map(struct arena *arena, const struct column *column, const char *text)
{
	struct text out = text_on(arena);
	text_addf(&out, "(CASE %s", text);
	for (size_t i = 0; i < column->map_count; i++)
		text_addf(&out, " WHEN %s THEN %s", sql_text(arena, column->map[i].from), sql_text(arena, column->map[i].to));
	text_addf(&out, " ELSE %s END)", text);
	return out.at;
}

static const char *clean_missing(struct arena *arena, const struct strings *missing, const char *text)
{
	if (missing->count == 0)
		return text;
	if (missing->count == 1)
		return arena_printf(arena, "nullif(%s, %s)", text, sql_text(arena, missing->at[0]));
	struct text out = text_on(arena);
	text_addf(&out, "(CASE WHEN %s IN (", text);
	for (size_t i = 0; i < missing->count; i++)
		text_addf(&out, "%s%s", i ? ", " : "", sql_text(arena, missing->at[i]));
	text_addf(&out, ") THEN NULL ELSE %s END)", text);
	return out.at;
}

const char *convert_clean(struct arena *arena, const struct column *column, const struct block *block, const char *raw)
{
	const char *text = clean_space(arena, block->space, raw);
	if (!column)
		return clean_missing(arena, &block->missing, text);
	if (column->match)
		text = clean_match(arena, column->match, text);
	if (column->map_count)
		text = clean_map(arena, column, text);
	text = clean_missing(arena, &column->missing, text);
	if (column->otherwise)
		text = arena_printf(arena, "coalesce(%s, %s)", text, sql_text(arena, column->otherwise));
	if (column->pad > 0)
		text = arena_printf(arena, "(CASE WHEN length(%s) < %d THEN lpad(%s, %d, '0') ELSE %s END)", text, column->pad, text,
		                    column->pad, text);
	return text;
}

/* The number in the engine's spelling, and the condition under which the text is one: thousands in groups of three, the
 * declared decimal sign. */
struct numeral {
	const char *guard, *plain;
};

static struct numeral numeral(struct arena *arena, const struct column *column, const char *text, const char *pattern)
{
	struct numeral out = {NULL, text};
	const char *thousands = column ? column->thousands : NULL, *decimal = column ? column->decimal : NULL;
	const char *grouped = "TRUE";
	if (thousands && *thousands) {
		const char *sign = strchr(".^$*+?()[]{}|\\", *thousands) ? arena_printf(arena, "\\%s", thousands) : thousands;
		const char *point = decimal && *decimal == ',' ? "," : "\\.";
		const char *group_pattern = arena_printf(arena, "[+-]?(?:[0-9]{1,3}(?:%s[0-9]{3})+|[0-9]*)(?:%s[0-9]*)?(?:[eE].*)?", sign, point);
		grouped = arena_printf(arena, "regexp_full_match(%s, %s)", text, sql_text(arena, group_pattern));
		out.plain = arena_printf(arena, "replace(%s, %s, '')", out.plain, sql_text(arena, thousands));
	}
	if (decimal && strcmp(decimal, ".") != 0) {
		grouped = arena_printf(arena, "%s AND NOT contains(%s, '.')", grouped, out.plain);
		out.plain = arena_printf(arena, "replace(%s, %s, '.')", out.plain, sql_text(arena, decimal));
	}
	const char *whole = arena_printf(arena, "regexp_full_match(%s, '%s')", out.plain, pattern);
	out.guard = strcmp(grouped, "TRUE") == 0 ? whole : arena_printf(arena, "%s AND %s", grouped, whole);
	return out;
}

/* "-999999" in `missing:` means the number, however it is spelled in the source. */
static const char *missing_numbers(struct arena *arena, const struct column *column, const char *type, const char *pattern,
                                   const char *value)
{
	struct text list = text_on(arena);
	for (size_t i = 0; column && i < column->missing.count; i++) {
		const char *word = sql_text(arena, column->missing.at[i]);
		if (column->missing.at[i][0] != '\0')
			text_addf(&list, "%s(CASE WHEN regexp_full_match(%s, '%s') THEN try_cast(%s AS %s) END)", list.length ? ", " : "", word,
			          pattern, word, type);
	}
	return list.length == 0 ? value : arena_printf(arena, "(CASE WHEN list_contains([%s], %s) THEN NULL ELSE %s END)", list.at, value, value);
}

static const char *to_integer(struct arena *arena, const struct column *column, const char *text)
{
	struct numeral n = numeral(arena, column, text, "[+-]?[0-9]{1,19}(?:\\.0*)?");
	return arena_printf(arena, "CASE WHEN %s THEN try_cast(regexp_replace(%s, '\\.0*$', '') AS BIGINT) END", n.guard, n.plain);
}

static const char *to_double(struct arena *arena, const struct column *column, const char *text)
{
	struct numeral n = numeral(arena, column, text, NUMBER_PATTERN);
	/* 1e400 reads as infinity: no number that was written. */
	return arena_printf(arena, "CASE WHEN %s THEN nullif(nullif(try_cast(%s AS DOUBLE), 'inf'), '-inf') END", n.guard, n.plain);
}

static const char *to_decimal(struct arena *arena, const struct column *column, const char *text)
{
	const char *pattern = arena_printf(arena, "[+-]?(?:[0-9]+(?:\\.[0-9]{0,%d}0*)?|\\.[0-9]{1,%d}0*)", column->scale,
	                                   column->scale > 0 ? column->scale : 1);
	struct numeral n = numeral(arena, column, text, pattern);
	return arena_printf(arena, "CASE WHEN %s THEN try_cast(%s AS DECIMAL(%d,%d)) END", n.guard, n.plain, column->precision,
	                    column->scale);
}

static void words(struct arena *arena, struct text *out, const struct strings *given, const char *defaults)
{
	if (given->count == 0) {
		text_add(out, defaults);
		return;
	}
	for (size_t i = 0; i < given->count; i++)
		text_addf(out, "%slower(%s)", i ? ", " : "", sql_text(arena, given->at[i]));
}

static const char *to_boolean(struct arena *arena, const struct column *column, const char *text)
{
	static const struct strings none;
	struct text out = text_on(arena);
	text_addf(&out, "CASE WHEN lower(%s) IN (", text);
	words(arena, &out, column ? &column->true_words : &none, "'true', 't'");
	text_addf(&out, ") THEN TRUE WHEN lower(%s) IN (", text);
	words(arena, &out, column ? &column->false_words : &none, "'false', 'f'");
	text_add(&out, ") THEN FALSE END");
	return out.at;
}

/* A text that was parsed as a time and is written in another form: `format: "%B %Y", as: "%Y-%m"`. */
static struct conversion to_text(struct arena *arena, const struct column *column, const struct source_facts *facts, const char *text)
{
	struct conversion out = {text, NULL};
	if (!column || !column->as)
		return out;
	out.value = arena_printf(arena, "strftime(%s, %s)", times_timestamp(arena, column, facts, text), sql_text(arena, column->as));
	out.reason = arena_printf(arena, "not a date in %s", times_formats(arena, column));
	return out;
}

struct conversion convert_text(struct arena *arena, const struct column *column, enum column_type type,
                               const struct source_facts *facts, const char *text)
{
	struct conversion out = {text, NULL};
	switch (type) {
	case TYPE_UNSET:
	case TYPE_TEXT:
		return to_text(arena, column, facts, text);
	case TYPE_INTEGER:
		out.value = to_integer(arena, column, text);
		out.reason = "not a whole number of 64 bits";
		break;
	case TYPE_DOUBLE:
		out.value = to_double(arena, column, text);
		out.reason = "not a number";
		break;
	case TYPE_DECIMAL:
		out.value = to_decimal(arena, column, text);
		out.reason = arena_printf(arena, "not a number that decimal(%d,%d) holds exactly", column->precision, column->scale);
		break;
	case TYPE_BOOLEAN:
		out.value = to_boolean(arena, column, text);
		out.reason = "neither a true word nor a false word";
		break;
	case TYPE_DATE:
		out.value = times_timestamp(arena, column, facts, text);
		out.reason = arena_printf(arena, "not a date in %s%s", times_formats(arena, column),
		                          column->time_drop ? "" : " (a time of day needs `time: drop`, an offset needs `zone:`)");
		break;
	case TYPE_TIMESTAMP:
		out.value = times_timestamp(arena, column, facts, text);
		out.reason = arena_printf(arena, "not a timestamp in %s%s", times_formats(arena, column),
		                          column && column->zone ? "" : " without an offset");
		break;
	case TYPE_TIMESTAMPTZ:
		out.value = times_timestamptz(arena, column, facts, text);
		out.reason = arena_printf(arena, "not a timestamp in %s%s", times_formats(arena, column),
		                          column && column->zone ? "" : " with an offset");
		break;
	case TYPE_TIME:
		out.value = times_time(arena, text);
		out.reason = "not a time of day (HH:MM[:SS[.ffffff]])";
		break;
	case TYPE_UUID:
		out.value = arena_printf(arena, "CASE WHEN regexp_full_match(%s, '[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}')"
		                         " THEN try_cast(%s AS UUID) END", text, text);
		out.reason = "not a UUID";
		break;
	case TYPE_JSON:
		out.value = arena_printf(arena, "CASE WHEN json_valid(%s) THEN %s END", text, text);
		out.reason = "not JSON";
		break;
	}
	return out;
}

const char *convert_refine(struct arena *arena, const struct column *column, enum column_type type,
                           const struct source_facts *facts, const char *value)
{
	switch (type) {
	case TYPE_INTEGER: return missing_numbers(arena, column, "BIGINT", "[+-]?[0-9]{1,19}", value);
	case TYPE_DOUBLE: return missing_numbers(arena, column, "DOUBLE", NUMBER_PATTERN, value);
	case TYPE_DATE:
		if ((column && column->time_drop) || facts->serial_dates)
			return arena_printf(arena, "CAST(%s AS DATE)", value);
		return arena_printf(arena, "(CASE WHEN %s = date_trunc('day', %s) THEN CAST(%s AS DATE) END)", value, value, value);
	default: return value;
	}
}

const char *convert_plain_text(struct arena *arena, const char *engine_type, const char *value)
{
	if (strcmp(engine_type, "VARCHAR") == 0)
		return value;
	if (strcmp(engine_type, "DOUBLE") == 0 || strcmp(engine_type, "FLOAT") == 0)
		return arena_printf(arena, "regexp_replace(rc_text(CAST(%s AS DOUBLE)), '\\.0$', '')", value);
	if (text_starts(engine_type, "TIMESTAMP") && strcmp(engine_type, "TIMESTAMP WITH TIME ZONE") != 0)
		return arena_printf(arena, "replace(rc_text(CAST(%s AS TIMESTAMP)), ' ', 'T')", value);
	if (strcmp(engine_type, "TIMESTAMP WITH TIME ZONE") == 0)
		return arena_printf(arena, "replace(rc_text(%s), ' ', 'T')", value);
	if (strcmp(engine_type, "BLOB") == 0 || text_starts(engine_type, "GEOMETRY"))
		return arena_printf(arena, "lower(hex(CAST(%s AS BLOB)))", value);
	return arena_printf(arena, "CAST(%s AS VARCHAR)", value);
}

const char *convert_json(struct arena *arena, const char *engine_type, const char *value)
{
	if (strcmp(engine_type, "DOUBLE") == 0 || strcmp(engine_type, "FLOAT") == 0)
		return arena_printf(arena, "CASE WHEN isfinite(%s) THEN to_json(%s) ELSE to_json(%s) END", value, value,
		                    convert_plain_text(arena, engine_type, value));
	if (!strstr(engine_type, "DOUBLE") && !strstr(engine_type, "FLOAT"))
		return value;
	return arena_printf(arena, "CASE WHEN regexp_matches(CAST(to_json(%s) AS VARCHAR), '[\\[:,]-?(NaN|Infinity)[,\\]}]')"
	                    " THEN to_json(CAST(%s AS VARCHAR)) ELSE to_json(%s) END", value, value, value);
}

static bool is_integer_type(const char *type)
{
	static const char *const types[] = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"};
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (strcmp(type, types[i]) == 0)
			return true;
	return false;
}

bool convert_is_direct(const char *from, enum column_type type)
{
	switch (type) {
	case TYPE_UNSET: return true;
	case TYPE_TEXT: return strcmp(from, "VARCHAR") == 0;
	case TYPE_INTEGER: return is_integer_type(from);
	case TYPE_DOUBLE:
		return strcmp(from, "DOUBLE") == 0 || strcmp(from, "FLOAT") == 0
		    || (is_integer_type(from) && strcmp(from, "BIGINT") != 0); /* a BIGINT over 2^53 would be rounded */
	case TYPE_BOOLEAN: return strcmp(from, "BOOLEAN") == 0;
	case TYPE_DATE: return strcmp(from, "DATE") == 0;
	case TYPE_TIMESTAMP:
		return strcmp(from, "TIMESTAMP") == 0 || strcmp(from, "TIMESTAMP_S") == 0 || strcmp(from, "TIMESTAMP_MS") == 0
		    || strcmp(from, "DATE") == 0;
	case TYPE_TIMESTAMPTZ: return strcmp(from, "TIMESTAMP WITH TIME ZONE") == 0;
	case TYPE_TIME: return strcmp(from, "TIME") == 0;
	case TYPE_UUID: return strcmp(from, "UUID") == 0;
	case TYPE_DECIMAL:
	case TYPE_JSON: return false;
	}
	return false;
}

const char *convert_engine_type(struct arena *arena, const struct column *column, enum column_type type)
{
	switch (type) {
	case TYPE_INTEGER: return "BIGINT";
	case TYPE_DOUBLE: return "DOUBLE";
	case TYPE_DECIMAL: return arena_printf(arena, "DECIMAL(%d,%d)", column->precision, column->scale);
	case TYPE_BOOLEAN: return "BOOLEAN";
	case TYPE_DATE: return "DATE";
	case TYPE_TIMESTAMP: return "TIMESTAMP";
	case TYPE_TIMESTAMPTZ: return "TIMESTAMP WITH TIME ZONE";
	case TYPE_TIME: return "TIME";
	case TYPE_UUID: return "UUID";
	case TYPE_UNSET:
	case TYPE_TEXT:
	case TYPE_JSON: break;
	}
	return "VARCHAR";
}

const char *convert_unstorable(const char *type)
{
	static const struct { const char *start, *advice; } refused[] = {
		{"HUGEINT", "declare it as text or decimal(38,0)"},
		{"UHUGEINT", "declare it as text or decimal(38,0)"},
		{"INTERVAL", "declare it as text"},
		{"TIME WITH TIME ZONE", "declare it as text or time"},
		{"BIT", "declare it as text"},
		{"BIGNUM", "declare it as text"},
		{"UNION", "declare it as json"},
		{"VARIANT", "declare it as text"},
	};
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		if (text_starts(type, refused[i].start))
			return refused[i].advice;
	return NULL;
}
