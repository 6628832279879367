/* SPDX-License-Identifier: Apache-2.0
 * Each format becomes one arm of a CASE: a pattern that admits its spellings, and the moment that such a text means.
 * Offsets are taken apart by pattern and subtracted: no text is ever cast to a type with a zone. */
#include "batch/times.h"

#include <string.h>

#include "engine/engine.h"

#define OFFSET_PATTERN "(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)"
/* Up to microseconds; more digits only if they are zeros (MISO writes seven). */
#define FRACTION_PATTERN "(?:[.,][0-9]{1,6}0*)"
/* From year 1 on: what comes before, Python's dates and most readers have not. */
#define YEAR_PATTERN "(?:000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})"
#define ISO_DATE_PATTERN YEAR_PATTERN "-[0-9]{2}-[0-9]{2}"
#define ISO_PLAIN_PATTERN ISO_DATE_PATTERN "(?:[T ][0-9]{2}:[0-9]{2}:[0-9]{2})?"
#define ISO_LOCAL_PATTERN ISO_DATE_PATTERN "[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}" FRACTION_PATTERN "?)?"

struct arm {
	const char *guard;  /* SQL condition over the text */
	const char *moment; /* SQL TIMESTAMP as written, offset ignored */
	const char *offset; /* SQL INTERVAL east of UTC, or NULL when the form has none */
};

static const char *offset_interval(struct arena *arena, const char *text)
{
	const char *o = arena_printf(arena, "regexp_extract(%s, '(" OFFSET_PATTERN ")$', 1)", text);
	return arena_printf(arena,
	    "(CASE WHEN ends_with(%s, 'Z') THEN INTERVAL 0 SECOND ELSE to_seconds("
	    "(CASE WHEN starts_with(%s, '-') THEN -1 ELSE 1 END) * (CAST(substr(%s, 2, 2) AS INTEGER) * 3600"
	    " + (CASE WHEN length(%s) > 3 THEN CAST(right(%s, 2) AS INTEGER) ELSE 0 END) * 60)) END)",
	    text, o, o, o, o);
}

static struct arm iso_plain(struct arena *arena, const char *text)
{
	struct arm arm = {arena_printf(arena, "regexp_full_match(%s, '" ISO_PLAIN_PATTERN "')", text),
	                  arena_printf(arena, "try_cast(%s AS TIMESTAMP)", text), NULL};
	return arm;
}

/* A time of the day in the long form: minutes only, fractions, an offset. */
static struct arm iso_long(struct arena *arena, const char *text, bool offset)
{
	struct arm arm;
	arm.guard = arena_printf(arena, "regexp_full_match(%s, '" ISO_LOCAL_PATTERN "%s')", text, offset ? " ?" OFFSET_PATTERN : "");
	arm.moment = arena_printf(arena,
	    "(try_cast(substr(%s, 1, 10) || ' ' || rpad(regexp_extract(substr(%s, 12), '^[0-9:]+'), 8, ':00') AS TIMESTAMP)"
	    " + to_microseconds(CAST(rpad(substr(regexp_extract(%s, '[.,]([0-9]+)', 1), 1, 6), 6, '0') AS BIGINT)))",
	    text, text, text);
	arm.offset = offset ? offset_interval(arena, text) : NULL;
	return arm;
}

/* The spellings that a strptime format may meet, as a pattern. The spec was read with no directive but these. */
static const char *format_pattern(struct arena *arena, const char *format)
{
	struct text pattern = text_on(arena);
	for (const char *p = format; *p; p++) {
		if (*p != '%') {
			if (strchr(".^$*+?()[]{}|\\/", *p))
				text_add(&pattern, "\\");
			text_add_n(&pattern, p, 1);
			continue;
		}
		switch (*++p) {
		case '-': p++; text_add(&pattern, "[0-9]{1,2}"); break;
		case 'Y': text_add(&pattern, YEAR_PATTERN); break;
		case 'y': text_add(&pattern, "[0-9]{2}"); break;
		case 'm': case 'd': case 'H': case 'I': case 'M': case 'S': text_add(&pattern, "[0-9]{1,2}"); break;
		case 'j': text_add(&pattern, "[0-9]{1,3}"); break;
		case 'f': text_add(&pattern, "[0-9]{1,6}"); break;
		case 'b': case 'B': case 'a': case 'A': text_add(&pattern, "[A-Za-z]+"); break;
		case 'p': text_add(&pattern, "[AaPp][Mm]"); break;
		case 'z': text_add(&pattern, OFFSET_PATTERN); break;
		case '%': text_add(&pattern, "%"); break;
		default: break;
		}
	}
	return pattern.at;
}

static struct arm strptime_arm(struct arena *arena, const char *format, const char *text)
{
	struct arm arm;
	const char *pattern = format_pattern(arena, format);
	bool offset = text_ends(format, "%z");
	const char *bare_format = offset ? arena_strndup(arena, format, strlen(format) - 2) : format;
	const char *bare_text = offset ? arena_printf(arena, "regexp_replace(%s, '" OFFSET_PATTERN "$', '')", text) : text;
	arm.guard = arena_printf(arena, "regexp_full_match(%s, %s)", text, sql_text(arena, pattern));
	arm.moment = arena_printf(arena, "try_strptime(%s, %s)", bare_text, sql_text(arena, bare_format));
	arm.offset = offset ? offset_interval(arena, text) : NULL;
	return arm;
}

/* Serial days of a sheet. In the 1900 calendar day 60 is 1900-02-29, which never was: days before it count from one day
 * later than days after it. */
static struct arm serial_arm(struct arena *arena, bool date_1904, const char *text)
{
	const char *n = arena_printf(arena, "try_cast(%s AS DOUBLE)", text);
	const char *base = date_1904 ? "TIMESTAMP '1904-01-01'"
	    : arena_printf(arena, "(CASE WHEN %s < 60 THEN TIMESTAMP '1899-12-31' ELSE TIMESTAMP '1899-12-30' END)", n);
	struct arm arm;
	arm.guard = arena_printf(arena, "regexp_full_match(%s, '[0-9]{1,7}(\\.[0-9]+)?')", text);
	arm.moment = arena_printf(arena,
	    "(CASE WHEN %s < 2958466%s THEN %s + to_days(CAST(floor(%s) AS INTEGER))"
	    " + to_microseconds(CAST(round((%s - floor(%s)) * 86400000) AS BIGINT) * 1000) END)",
	    n, date_1904 ? "" : arena_printf(arena, " AND %s >= 1 AND NOT (%s >= 60 AND %s < 61)", n, n, n), base, n, n, n);
	arm.offset = NULL;
	return arm;
}

struct arms {
	struct arm at[3 * COLUMN_FORMATS + 4]; /* iso makes three; a sheet adds iso and serial days by itself */
	size_t count;
};

static void add(struct arms *arms, struct arm arm)
{
	arms->at[arms->count++] = arm;
}

static void add_iso(struct arena *arena, struct arms *arms, const char *text)
{
	add(arms, iso_plain(arena, text));
	add(arms, iso_long(arena, text, false));
	add(arms, iso_long(arena, text, true));
}

static struct arms arms_of(struct arena *arena, const struct column *column, const struct source_facts *facts, const char *text)
{
	struct arms arms = {.count = 0};
	bool iso = false, serial = false;
	size_t formats = column ? column->format.count : 0;
	for (size_t i = 0; i < formats; i++) {
		const char *format = column->format.at[i];
		if (strcmp(format, "iso") == 0) {
			add_iso(arena, &arms, text);
			iso = true;
		} else if (strcmp(format, "excel") == 0) {
			add(&arms, serial_arm(arena, facts && facts->date_1904, text));
			serial = true;
		} else {
			add(&arms, strptime_arm(arena, format, text));
		}
	}
	/* A sheet's date cells arrive as ISO text whatever the spec says of its text cells, and its numbers are serial days. */
	bool sheet = facts && facts->serial_dates;
	if (!iso && (formats == 0 || sheet))
		add_iso(arena, &arms, text);
	if (!serial && sheet)
		add(&arms, serial_arm(arena, facts->date_1904, text));
	return arms;
}

/* In UTC where the text has an offset, and back to local time of `zone`; without a zone an offset has no place in a plain
 * timestamp, and the arm gives NULL. */
static const char *local_moment(struct arena *arena, const struct arm *arm, const char *zone)
{
	if (!arm->offset)
		return arm->moment;
	if (!zone)
		return "NULL";
	return arena_printf(arena, "timezone(%s, timezone('UTC', %s - %s))", sql_text(arena, zone), arm->moment, arm->offset);
}

static const char *zoned_moment(struct arena *arena, const struct arm *arm, const char *zone)
{
	if (arm->offset)
		return arena_printf(arena, "timezone('UTC', %s - %s)", arm->moment, arm->offset);
	return zone ? arena_printf(arena, "timezone(%s, %s)", sql_text(arena, zone), arm->moment) : "NULL";
}

static const char *cases(struct arena *arena, const struct arms *arms, const char *zone,
                         const char *(*moment)(struct arena *, const struct arm *, const char *), const char *type)
{
	struct text out = text_on(arena);
	text_add(&out, "CASE");
	for (size_t i = 0; i < arms->count; i++)
		text_addf(&out, " WHEN %s THEN %s", arms->at[i].guard, moment(arena, &arms->at[i], zone));
	text_addf(&out, " ELSE CAST(NULL AS %s) END", type);
	return out.at;
}

const char *times_timestamp(struct arena *arena, const struct column *column, const struct source_facts *facts, const char *text)
{
	struct arms arms = arms_of(arena, column, facts, text);
	return cases(arena, &arms, column ? column->zone : NULL, local_moment, "TIMESTAMP");
}

const char *times_timestamptz(struct arena *arena, const struct column *column, const struct source_facts *facts, const char *text)
{
	struct arms arms = arms_of(arena, column, facts, text);
	return cases(arena, &arms, column ? column->zone : NULL, zoned_moment, "TIMESTAMP WITH TIME ZONE");
}

const char *times_time(struct arena *arena, const char *text)
{
	return arena_printf(arena,
	    "CASE WHEN regexp_full_match(%s, '[0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\\.[0-9]{1,6})?)?')"
	    " THEN try_cast(%s AS TIME) END", text, text);
}

const char *times_formats(struct arena *arena, const struct column *column)
{
	if (column->format.count == 0)
		return "ISO form (2026-07-31)";
	struct strings words = {0};
	for (size_t i = 0; i < column->format.count; i++) {
		const char *format = column->format.at[i];
		strings_add(arena, &words, strcmp(format, "iso") == 0 ? "ISO form" : strcmp(format, "excel") == 0 ? "a serial day" : format);
	}
	return strings_join(arena, &words, " or ");
}
