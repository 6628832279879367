/* SPDX-License-Identifier: Apache-2.0
 * Partitions that follow each other: `series: month` in a spec. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hive.h"
#include "history/history.h"

static bool number(const char *text, size_t count, int64_t *out)
{
	*out = 0;
	for (size_t i = 0; i < count; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		*out = *out * 10 + (text[i] - '0');
	}
	return true;
}

/* 202607 and 20260731: months and days without hyphens. */
static enum series_kind digits_value(const char *value, size_t length, int64_t *ordinal)
{
	int64_t all, time;
	char day[] = "YYYY-MM-DD";
	if (!number(value, length, &all))
		return SERIES_NONE;
	if (length == 6 && all % 100 >= 1 && all % 100 <= 12) {
		*ordinal = all / 100 * 12 + all % 100 - 1;
		return SERIES_MONTH_DIGITS;
	}
	if (length != 8)
		return SERIES_NONE;
	memcpy(day, value, 4);
	memcpy(day + 5, value + 4, 2);
	memcpy(day + 8, value + 6, 2);
	if (!when_begin(day, &time))
		return SERIES_NONE;
	*ordinal = time / (86400 * (int64_t)1000000);
	return SERIES_DAY_DIGITS;
}

enum series_kind series_value(const char *value, int64_t *ordinal)
{
	int64_t year, part, time;
	size_t length = strlen(value);
	if (length == 6 || length == 8)
		return digits_value(value, length, ordinal);
	if (length < 4 || !number(value, 4, &year))
		return SERIES_NONE;
	if (length == 4) {
		*ordinal = year;
		return SERIES_YEAR;
	}
	if (length == 7 && value[4] == '-' && value[5] == 'Q' && value[6] >= '1' && value[6] <= '4') {
		*ordinal = year * 4 + (value[6] - '1');
		return SERIES_QUARTER;
	}
	if (length == 7 && value[4] == '-' && number(value + 5, 2, &part) && part >= 1 && part <= 12) {
		*ordinal = year * 12 + part - 1;
		return SERIES_MONTH;
	}
	if (length == 10 && when_begin(value, &time)) {
		*ordinal = time / (86400 * (int64_t)1000000);
		return SERIES_DAY;
	}
	return SERIES_NONE;
}

const char *series_text(struct arena *arena, enum series_kind kind, int64_t ordinal)
{
	if (kind == SERIES_YEAR)
		return arena_printf(arena, "%04lld", (long long)ordinal);
	if (kind == SERIES_QUARTER)
		return arena_printf(arena, "%04lld-Q%lld", (long long)(ordinal / 4), (long long)(ordinal % 4 + 1));
	if (kind == SERIES_MONTH)
		return arena_printf(arena, "%04lld-%02lld", (long long)(ordinal / 12), (long long)(ordinal % 12 + 1));
	if (kind == SERIES_MONTH_DIGITS)
		return arena_printf(arena, "%04lld%02lld", (long long)(ordinal / 12), (long long)(ordinal % 12 + 1));
	const char *day = clock_text(arena, ordinal * 86400 * 1000000);
	if (kind == SERIES_DAY_DIGITS)
		return arena_printf(arena, "%.4s%.2s%.2s", day, day + 5, day + 8);
	return arena_printf(arena, "%.10s", day);
}

/* ---- lines ---- */

struct member {
	const char *group, *partition, *value;
};

static int by_group(const void *one, const void *other)
{
	const struct member *a = one, *b = other;
	int order = strcmp(a->group, b->group);
	return order ? order : text_in_order(a->value, b->value);
}

static const char *without(struct arena *arena, const struct strings *columns, const char *const *values, size_t left_out)
{
	struct strings names = {0}, rest = {0};
	for (size_t i = 0; i < columns->count; i++)
		if (i != left_out) {
			strings_add(arena, &names, columns->at[i]);
			strings_add(arena, &rest, values[i]);
		}
	return partition_path(arena, &names, rest.at);
}

static size_t series_index(const struct spec *spec)
{
	size_t at = 0;
	while (at < spec->partition.count && !(spec->series && strcmp(spec->partition.at[at], spec->series) == 0))
		at++;
	return at;
}

recloser_status series_lines(struct dataset *dataset, struct arena *arena, const struct spec *spec, struct line **out,
							 size_t *count, recloser_error *error)
{
	struct strings all = {0};
	size_t series = series_index(spec), members = 0;
	RC_TRY(ledger_partitions(dataset, arena, &all, error));
	struct member *at = arena_array(arena, all.count + 1, sizeof *at);
	for (size_t i = 0; i < all.count; i++) {
		const char **values = partition_values(arena, &spec->partition, all.at[i]);
		if (!values)
			continue; /* of an earlier partitioning */
		bool in_series = series < spec->partition.count;
		at[members++] = (struct member){in_series ? without(arena, &spec->partition, values, series) : all.at[i], all.at[i],
										in_series ? values[series] : ""};
	}
	if (members)
		qsort(at, members, sizeof *at, by_group);
	*out = arena_array(arena, members + 1, sizeof **out);
	*count = 0;
	for (size_t i = 0; i < members; i++) {
		if (i == 0 || strcmp(at[i].group, at[i - 1].group) != 0) {
			(*out)[(*count)++] = (struct line){.group = at[i].group,
											   .partitions = arena_array(arena, members - i, sizeof(char *)),
											   .values = arena_array(arena, members - i, sizeof(char *))};
		}
		struct line *line = &(*out)[*count - 1];
		line->partitions[line->count] = at[i].partition;
		line->values[line->count++] = at[i].value;
	}
	return RECLOSER_OK;
}

/* ---- gaps ---- */

static int by_number(const void *one, const void *other)
{
	int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;
	return (a > b) - (a < b);
}

/* Months, quarters and years: the smallest distance between neighbours. Days: the commonest, since a weekly publication is a
 * day late now and then; the smaller one when two are as common. `at` is sorted. */
static int64_t usual_step(struct arena *arena, enum series_kind kind, const int64_t *at, size_t count)
{
	int64_t *steps = arena_array(arena, count, sizeof *steps), best = 1;
	size_t best_count = 0;
	for (size_t i = 1; i < count; i++)
		steps[i - 1] = at[i] - at[i - 1];
	qsort(steps, count - 1, sizeof *steps, by_number);
	for (size_t i = 0, run = 0; i + 1 < count; i++) {
		run = i > 0 && steps[i] == steps[i - 1] ? run + 1 : 1;
		if (run > best_count && steps[i] > 0) {
			best_count = kind == SERIES_DAY || kind == SERIES_DAY_DIGITS ? run : SIZE_MAX;
			best = steps[i];
		}
	}
	return best;
}

void series_gaps(struct arena *arena, const struct line *line, struct strings *out)
{
	enum { MOST = 1000 };
	int64_t *at = arena_array(arena, line->count + 1, sizeof *at);
	enum series_kind kind = SERIES_NONE;
	for (size_t i = 0; i < line->count; i++) {
		enum series_kind its = series_value(line->values[i], &at[i]);
		if (its == SERIES_NONE || (i > 0 && its != kind))
			return; /* not a calendar that is known here */
		kind = its;
	}
	if (line->count < 2)
		return;
	qsort(at, line->count, sizeof *at, by_number);
	int64_t step = usual_step(arena, kind, at, line->count);
	for (size_t i = 1; i < line->count; i++)
		for (int64_t value = at[i - 1] + step; value < at[i] && out->count < MOST; value += step)
			strings_add(arena, out, series_text(arena, kind, value));
}
