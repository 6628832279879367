/* SPDX-License-Identifier: Apache-2.0
 * Partitions beside the ones of this load: the one before in a series, and those that the source no longer mentions. */
#include <string.h>

#include "base/hive.h"
#include "run/run.h"

static size_t column_at(const struct strings *columns, const char *name)
{
	for (size_t i = 0; i < columns->count; i++)
		if (strcmp(columns->at[i], name) == 0)
			return i;
	return columns->count;
}

static recloser_status live_list(struct run *run, recloser_error *error)
{
	if (run->ledger_known || !run->dataset->config)
		return RECLOSER_OK;
	run->ledger_known = true;
	return ledger_partitions(run->dataset, run->arena, &run->ledger, error);
}

/* The partition that differs only in the series column and stands nearest before this one: July's reference is June. */
recloser_status run_find_before(struct run *run, const struct batch_part *part, const char **path, const char ***values, recloser_error *error)
{
	const struct strings *columns = &run->spec->partition;
	*path = NULL;
	if (!run->spec->series)
		return RECLOSER_OK;
	size_t series = column_at(columns, run->spec->series);
	RC_TRY(live_list(run, error));
	const char *best = NULL;
	for (size_t i = 0; i < run->ledger.count && series < columns->count; i++) {
		const char **other = partition_values(run->arena, columns, run->ledger.at[i]);
		bool same = other != NULL;
		for (size_t c = 0; same && c < columns->count; c++)
			same = c == series || strcmp(other[c], part->values[c]) == 0;
		if (!same || strcmp(other[series], part->values[series]) >= 0 || (best && strcmp(other[series], best) <= 0))
			continue;
		best = other[series];
		*path = run->ledger.at[i];
		*values = other;
	}
	return RECLOSER_OK;
}

/* The scope of a load: the partition columns that have one value in all of it. A live partition inside the scope that the load
 * does not mention is absent; outside it (another month, another publisher) nothing follows. */
recloser_status run_find_absent(struct run *run, recloser_error *error)
{
	const struct strings *columns = &run->spec->partition;
	if (run->part_count == 0 || columns->count == 0 || !run->dataset->config || run->options->only_count)
		return RECLOSER_OK;
	bool *scope = arena_array(run->arena, columns->count, sizeof *scope), any = false, all = true;
	for (size_t c = 0; c < columns->count; c++) {
		scope[c] = true;
		for (size_t i = 1; i < run->part_count; i++)
			scope[c] &= strcmp(run->parts[i].part.batch_part->values[c], run->parts[0].part.batch_part->values[c]) == 0;
		any |= scope[c];
		all &= scope[c];
	}
	if (!any || all)
		return RECLOSER_OK;
	RC_TRY(live_list(run, error));
	size_t next = 0; /* both lists are sorted by the bytes of the path */
	for (size_t k = 0; k < run->ledger.count; k++) {
		while (next < run->part_count && strcmp(run->parts[next].part.batch_part->path, run->ledger.at[k]) < 0)
			next++;
		if (next < run->part_count && strcmp(run->parts[next].part.batch_part->path, run->ledger.at[k]) == 0)
			continue;
		const char **values = partition_values(run->arena, columns, run->ledger.at[k]);
		bool inside = values != NULL;
		for (size_t c = 0; inside && c < columns->count; c++)
			inside = !scope[c] || strcmp(values[c], run->parts[0].part.batch_part->values[c]) == 0;
		if (inside)
			strings_add(run->arena, &run->absent, run->ledger.at[k]);
	}
	return RECLOSER_OK;
}
