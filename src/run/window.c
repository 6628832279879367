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
	return arena_printf(run->arena, "attempts/%s.json", run->fingerprint);
}

/* The first day inside the window, as "2026-08-30". */
static const char *window_start(struct run *run, int64_t now_us)
{
	time_t seconds = (time_t)(now_us / 1000000);
	struct tm t;
	gmtime_r(&seconds, &t);
	const struct freshness *freshness = &run->spec->freshness;
	switch (freshness->unit) {
	case 'y': t.tm_year -= freshness->count; break;
	case 'm': t.tm_mon -= freshness->count; break;
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
	if (!run->spec->freshness.column)
		return RECLOSER_OK;
	RC_TRY(control_read(run->dataset, run->arena, attempt_name(run), &bytes, &count, error));
	if (bytes) {
		json_t *attempt;
		RC_TRY(json_parse(run->arena, bytes, count, attempt_name(run), &attempt, error));
		const char *time = json_get_text(attempt, "first");
		first = time && clock_parse(time) > 0 ? clock_parse(time) : first;
	} else if (!run->options->dry_run && run->dataset->config) {
		json_t *attempt = json_new_object(run->arena);
		json_put_text(run->arena, attempt, "first", clock_text(run->arena, first));
		json_put_text(run->arena, attempt, "run", run->id);
		const char *text = json_text(run->arena, attempt);
		RC_TRY(control_write(run->dataset, run->arena, attempt_name(run), text, strlen(text), error));
	}
	run->window_start = window_start(run, first);
	return RECLOSER_OK;
}

recloser_status run_close_window(struct run *run, recloser_error *error)
{
	return run->window_start ? control_remove(run->dataset, run->arena, attempt_name(run), error) : RECLOSER_OK;
}

/* "2026-07" is inside when its last day is: a value is compared with as much of the start as it has. */
static bool before(const char *value, const char *start)
{
	return strncmp(value, start, strlen(value) < strlen(start) ? strlen(value) : strlen(start)) < 0;
}

static bool in_backfill(const struct run *run, const char *value)
{
	const char *from = run->options->backfill_from, *to = run->options->backfill_to;
	if (!from && !to)
		return false;
	/* Both ends are inside: a month names all its days. */
	return (!from || !*from || !before(value, from)) && (!to || !*to || strncmp(value, to, strlen(to)) <= 0);
}

bool run_is_frozen(const struct run *run, const struct run_part *part)
{
	const struct strings *partition = &run->spec->partition;
	if (!run->window_start || !part->base)
		return false;
	for (size_t i = 0; i < partition->count; i++)
		if (strcmp(partition->at[i], run->spec->freshness.column) == 0) {
			const char *value = part->part.batch_part->values[i];
			return before(value, run->window_start) && !in_backfill(run, value);
		}
	return false;
}
