/* SPDX-License-Identifier: Apache-2.0
 * The freshness window: how far back a load re-examines partitions that are there already. What lies before it is frozen: counted
 * and left alone, unless --backfill names it. A partition that was never loaded is not frozen; there is nothing to protect.
 *
 * The window is that of the first attempt: a run that failed and is tried again next month must not find its own partitions
 * frozen. The time of the first attempt is kept under attempts/ until a run of these inputs gets through. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/json.h"
#include "run/run.h"

static const char *attempt_name(const struct run *run)
{
	return arena_printf(run->arena, "attempts/%s.json", run->attempt);
}

static int days_of(int year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	return month == 1 && year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : days[month];
}

/* Months have no length of their own: three months before 31 May is the last day of February. */
static void months_back(struct tm *t, int months)
{
	int all = (t->tm_year + 1900) * 12 + t->tm_mon - months;
	all = all < 0 ? 0 : all;
	t->tm_year = all / 12 - 1900;
	t->tm_mon = all % 12;
	int days = days_of(all / 12, t->tm_mon);
	t->tm_mday = t->tm_mday < days ? t->tm_mday : days;
}

/* The first day inside the window, as "2026-08-30". */
static const char *window_start(struct run *run, int64_t now_us)
{
	time_t seconds = (time_t)(now_us / 1000000);
	struct tm t;
	gmtime_r(&seconds, &t);
	const struct freshness *freshness = &run->spec->freshness;
	switch (freshness->unit) {
	case 'y': months_back(&t, 12 * freshness->count); break;
	case 'm': months_back(&t, freshness->count); break;
	case 'w': t.tm_mday -= 7 * freshness->count; break;
	default: t.tm_mday -= freshness->count; break;
	}
	timegm(&t); /* brings the fields into their ranges */
	return arena_printf(run->arena, "%04d-%02d-%02d", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday);
}

recloser_status run_open_window(struct run *run, recloser_error *error)
{
	char *bytes;
	size_t count;
	int64_t first = clock_now_us();
	if (!run->spec->freshness.column) {
		if (run->options->backfill_from || run->options->backfill_to)
			run_warn(run, "--backfill has nothing to open: the spec has no freshness window");
		return RECLOSER_OK;
	}
	RC_TRY(control_read(run->dataset, run->arena, attempt_name(run), &bytes, &count, error));
	if (bytes) {
		json_t *attempt;
		RC_TRY(json_parse(run->arena, bytes, count, attempt_name(run), &attempt, error));
		const char *time = json_get_text(attempt, "first");
		first = time && clock_parse(time) > 0 ? clock_parse(time) : first;
		run->attempt_known = true;
	}
	run->window_start = window_start(run, first);
	return RECLOSER_OK;
}

/* Once the guards have let the run pass: a refusal leaves everything as it was, and what is refused once is refused again.
 * From here on it can be cut short or fail with something half done. */
recloser_status run_note_attempt(struct run *run, recloser_error *error)
{
	if (!run->window_start || run->attempt_known || run->options->dry_run || !run->dataset->config)
		return RECLOSER_OK;
	json_t *attempt = json_new_object(run->arena);
	json_put_text(run->arena, attempt, "first", clock_text(run->arena, clock_now_us()));
	json_put_text(run->arena, attempt, "run", run->id);
	const char *text = json_text(run->arena, attempt);
	run->attempt_known = true;
	return control_write(run->dataset, run->arena, attempt_name(run), text, strlen(text), error);
}

/* A run that holds a partition is not through yet: the one that accepts it looks through the same window. */
recloser_status run_close_window(struct run *run, recloser_error *error)
{
	for (size_t i = 0; i < run->part_count; i++)
		if (run->parts[i].outcome == PART_HELD)
			return RECLOSER_OK;
	return run->attempt_known ? control_remove(run->dataset, run->arena, attempt_name(run), error) : RECLOSER_OK;
}

/* ---- values ---- */

/* "2026", "2026-07" and "2026-07-15" as they are, "202607" and "20260715" with hyphens; NULL: no date. */
const char *run_as_date(struct arena *arena, const char *value)
{
	size_t digits = strspn(value, "0123456789"), length = strlen(value);
	if (digits == length && (length == 6 || length == 8))
		return length == 6 ? arena_printf(arena, "%.4s-%s", value, value + 4) : arena_printf(arena, "%.4s-%.2s-%s", value, value + 4, value + 6);
	bool year = digits == 4;
	bool month = year && length >= 7 && value[4] == '-' && strspn(value + 5, "0123456789") == 2;
	bool day = month && length == 10 && value[7] == '-' && strspn(value + 8, "0123456789") == 2;
	return (year && length == 4) || (month && length == 7) || day ? value : NULL;
}

/* "2026-07" is inside when its last day is: a value is compared with as much of the start as it has. */
static bool before(const char *value, const char *start)
{
	return strncmp(value, start, strlen(value) < strlen(start) ? strlen(value) : strlen(start)) < 0;
}

static bool in_backfill(struct run *run, const char *value)
{
	const char *from = run->options->backfill_from, *to = run->options->backfill_to;
	if (!from && !to)
		return false;
	const char *first = from && *from ? run_as_date(run->arena, from) : NULL, *last = to && *to ? run_as_date(run->arena, to) : NULL;
	/* Both ends are inside: a month names all its days. */
	return (!first || !before(value, first)) && (!last || strncmp(value, last, strlen(last)) <= 0);
}

bool run_is_frozen(struct run *run, const struct run_part *part)
{
	const struct strings *partition = &run->spec->partition;
	if (!run->window_start || (!part->base && part->live != LIVE_FOREIGN))
		return false;
	for (size_t i = 0; i < partition->count; i++) {
		if (strcmp(partition->at[i], run->spec->freshness.column) != 0)
			continue;
		const char *text = part->part.batch_part->values[i], *value = run_as_date(run->arena, text);
		if (value)
			return before(value, run->window_start) && !in_backfill(run, value);
		run_warn(run, arena_printf(run->arena, "%s is \"%s\", which is no date (2026, 2026-07, 2026-07-15): the freshness window does not hold for it",
		                           partition->at[i], text));
	}
	return false;
}

/* "last year..now" would silently mean everything, and a range whose ends were exchanged nothing. */
recloser_status run_check_backfill(const struct run *run, recloser_error *error)
{
	const char *ends[] = {run->options->backfill_from, run->options->backfill_to};
	for (size_t i = 0; i < 2; i++) {
		if (!ends[i] || !*ends[i] || run_as_date(run->arena, ends[i]))
			continue;
		error_set(error, RECLOSER_USAGE, "cli.backfill", "--backfill: \"%s\" is no date", ends[i]);
		return error_hint(error, "write a year, a month or a day: 2026, 2026-07, 2026-07-15; a range is 2026-01..2026-06");
	}
	const char *first = ends[0] && *ends[0] ? run_as_date(run->arena, ends[0]) : NULL;
	const char *last = ends[1] && *ends[1] ? run_as_date(run->arena, ends[1]) : NULL;
	/* As far as both are written: 2026-07-15..2026-07 ends with that month's last day. */
	size_t length = first && last ? strlen(first) < strlen(last) ? strlen(first) : strlen(last) : 0;
	if (length && strncmp(first, last, length) > 0) {
		error_set(error, RECLOSER_USAGE, "cli.backfill", "--backfill=%s..%s: the range ends before it begins", ends[0], ends[1]);
		return error_hint(error, "the earlier end stands first: --backfill=%s..%s", ends[1], ends[0]);
	}
	return RECLOSER_OK;
}
