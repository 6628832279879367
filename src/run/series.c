/* SPDX-License-Identifier: Apache-2.0
 * Partitions beside the ones of this load: the one before in a series, and those that the source no longer mentions. */
#include <stdlib.h>
#include <string.h>

#include "base/hive.h"
#include "base/json.h"
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
	RC_TRY(partitions_beside(run->dataset, run->arena, &run->ledger, error));
	run->ledger_values = arena_array(run->arena, run->ledger.count + 1, sizeof *run->ledger_values);
	for (size_t i = 0; i < run->ledger.count; i++)
		run->ledger_values[i] = partition_values(run->arena, &run->spec->partition, run->ledger.at[i]);
	return RECLOSER_OK;
}

static bool same_but(const struct strings *columns, size_t series, const char **one, const char **other)
{
	for (size_t c = 0; c < columns->count; c++)
		if (c != series && strcmp(one[c], other[c]) != 0)
			return false;
	return true;
}

/* Does this very load bring a partition between the two? Then it is that one that comes before, and it has no live version. */
static bool has_between(const struct run *run, size_t series, const char **from, const char **to)
{
	for (size_t i = 0; i < run->batch->part_count; i++) {
		const char **values = run->batch->parts[i].values;
		if (same_but(&run->spec->partition, series, values, to) && text_in_order(values[series], from[series]) > 0
		    && text_in_order(values[series], to[series]) < 0)
			return true;
	}
	return false;
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
		const char **other = run->ledger_values[i];
		if (!other || !same_but(columns, series, other, part->values) || text_in_order(other[series], part->values[series]) >= 0
		    || (best && text_in_order(other[series], best) <= 0))
			continue;
		best = other[series];
		*path = run->ledger.at[i];
		*values = other;
	}
	if (best && has_between(run, series, *values, part->values))
		*path = NULL;
	return RECLOSER_OK;
}

/* ---- absent ---- */

/* What a load speaks for. */
struct scope {
	bool *fixed;          /* the partition columns that have one value in all of it */
	const char **values;  /* these values, in their places */
	size_t series;        /* the series column, or columns->count */
	json_t *together;     /* where the columns alone don't tell: an object of the partitions of the run before; else NULL */
};

/* The run that made the newest of the versions that this load is compared with: what came together with them then. */
static recloser_status run_before(struct run *run, json_t **partitions, recloser_error *error)
{
	const struct record *newest = NULL;
	char *bytes = NULL;
	size_t count;
	json_t *report;
	*partitions = NULL;
	for (size_t i = 0; i < run->part_count; i++) {
		const struct run_part *part = &run->parts[i];
		const struct record *record = part->base ? part->base : part->reference ? part->reference->record : NULL;
		if (record && record->run && record->loaded_at && (!newest || strcmp(record->loaded_at, newest->loaded_at) > 0))
			newest = record;
	}
	if (!newest)
		return RECLOSER_OK;
	const char *name = arena_printf(run->arena, "runs/%s.json", newest->run);
	RC_TRY(control_read(run->dataset, run->arena, name, &bytes, &count, error));
	if (!bytes)
		return RECLOSER_OK;
	RC_TRY(json_parse(run->arena, bytes, count, name, &report, error));
	if (json_array_size(json_object_get(report, "sources")) <= run->input_count) /* half of its files now: half of its partitions */
		*partitions = json_object_get(report, "partitions");
	return RECLOSER_OK;
}

/* A load of one state may be all that there is for one state, or a file of all states in which only one is left. Then only
 * what came in one run with it before is missed, in the same month and of the same publisher. */
static recloser_status find_scope(struct run *run, struct scope *scope, recloser_error *error)
{
	const struct strings *columns = &run->spec->partition;
	const struct spec *spec = run->spec;
	size_t fixed = 0;
	*scope = (struct scope){.fixed = arena_array(run->arena, columns->count, sizeof *scope->fixed), .series = columns->count,
	                        .values = run->parts[0].part.batch_part->values};
	for (size_t c = 0; c < columns->count; c++) {
		scope->fixed[c] = true;
		for (size_t i = 1; i < run->part_count; i++)
			scope->fixed[c] &= strcmp(run->parts[i].part.batch_part->values[c], scope->values[c]) == 0;
		fixed += scope->fixed[c];
	}
	if (spec->series)
		scope->series = column_at(columns, spec->series);
	if (fixed != 0 && fixed != columns->count)
		return RECLOSER_OK;
	for (size_t c = 0; c < columns->count && fixed; c++)
		scope->fixed[c] = c == scope->series || (spec->publisher_column && strcmp(columns->at[c], spec->publisher_column) == 0)
			|| (spec->freshness.column && strcmp(columns->at[c], spec->freshness.column) == 0);
	json_t *partitions;
	RC_TRY(run_before(run, &partitions, error));
	scope->together = json_new_object(run->arena);
	for (size_t i = 0; i < json_array_size(partitions); i++) {
		const char *partition = json_get_text(json_array_get(partitions, i), "partition");
		if (partition)
			json_put_bool(run->arena, scope->together, partition, true);
	}
	return RECLOSER_OK;
}

static bool inside(const struct strings *columns, const struct scope *scope, const char **values, bool any_series)
{
	for (size_t c = 0; c < columns->count; c++)
		if (scope->fixed[c] && !(any_series && c == scope->series) && strcmp(values[c], scope->values[c]) != 0)
			return false;
	return true;
}

static bool came_together(const struct scope *scope, const char *path)
{
	return !scope->together || json_object_get(scope->together, path);
}

static int by_path(const void *path, const void *part)
{
	return strcmp(path, ((const struct run_part *)part)->part.batch_part->path);
}

/* The run's parts are sorted by the bytes of their paths. */
static bool in_load(const struct run *run, const char *path)
{
	return run->part_count && bsearch(path, run->parts, run->part_count, sizeof *run->parts, by_path);
}

/* Where this month is new as a whole, a state of the month before that has no part in it is absent as well. */
static void find_without_successor(struct run *run, const struct scope *scope, const char ***live)
{
	const struct strings *columns = &run->spec->partition;
	const char *before = NULL;
	for (size_t k = 0; k < run->ledger.count; k++)
		if (live[k] && inside(columns, scope, live[k], true) && text_in_order(live[k][scope->series], scope->values[scope->series]) < 0
		    && (!before || text_in_order(live[k][scope->series], before) > 0))
			before = live[k][scope->series];
	for (size_t k = 0; k < run->ledger.count && before; k++) {
		if (!live[k] || strcmp(live[k][scope->series], before) != 0 || !inside(columns, scope, live[k], true)
		    || !came_together(scope, run->ledger.at[k]))
			continue;
		const char **values = arena_array(run->arena, columns->count, sizeof *values);
		for (size_t c = 0; c < columns->count; c++)
			values[c] = c == scope->series ? scope->values[c] : live[k][c];
		const char *successor = partition_path(run->arena, columns, values);
		if (!in_load(run, successor) && !strings_has(&run->ledger, successor))
			strings_add(run->arena, &run->absent, run->ledger.at[k]);
	}
}

/* What the spec and the caller say of a partition column without looking at a row, or NULL. */
static const char *told(const struct run *run, const char *column)
{
	const struct spec *spec = run->spec;
	for (size_t i = 0; i < run->options->setting_count; i++)
		if (strcmp(run->options->settings[i].column, column) == 0)
			return run->options->settings[i].value;
	if (!spec->publisher_column || strcmp(spec->publisher_column, column) != 0)
		return NULL;
	for (size_t i = 1; i < run->input_count; i++)
		if (run->inputs[i].source != run->inputs[0].source)
			return NULL;
	return run->inputs[0].source->name ? run->inputs[0].source->name : spec->publisher_value;
}

/* A source without rows mentions nothing: absent is what is live of this publisher, in the newest month where there is a series. */
static recloser_status find_all_absent(struct run *run, recloser_error *error)
{
	const struct strings *columns = &run->spec->partition;
	const char *newest = NULL;
	struct scope scope = {.fixed = arena_array(run->arena, columns->count + 1, sizeof *scope.fixed),
	                      .values = arena_array(run->arena, columns->count + 1, sizeof *scope.values), .series = columns->count};
	for (size_t c = 0; c < columns->count; c++) {
		scope.values[c] = told(run, columns->at[c]);
		scope.fixed[c] = scope.values[c] != NULL;
	}
	if (run->spec->series)
		scope.series = column_at(columns, run->spec->series);
	RC_TRY(live_list(run, error));
	for (int pass = 0; pass < 2; pass++) { /* the first finds the newest month, the second what lies in it */
		for (size_t k = 0; k < run->ledger.count; k++) {
			const char **values = partition_values(run->arena, columns, run->ledger.at[k]);
			if (!values || !inside(columns, &scope, values, false))
				continue;
			if (pass == 1)
				strings_add(run->arena, &run->absent, run->ledger.at[k]);
			else if (scope.series < columns->count && (!newest || text_in_order(values[scope.series], newest) > 0))
				newest = values[scope.series];
		}
		if (newest) {
			scope.fixed[scope.series] = true;
			scope.values[scope.series] = newest;
		}
	}
	return RECLOSER_OK;
}

/* A live partition inside the scope of a load that the load does not mention is absent; outside it (another month, another
 * publisher) nothing follows. */
recloser_status run_find_absent(struct run *run, recloser_error *error)
{
	const struct strings *columns = &run->spec->partition;
	struct scope scope;
	if (!run->dataset->config || run->options->only_count)
		return RECLOSER_OK;
	if (run->part_count == 0)
		return find_all_absent(run, error);
	if (columns->count == 0)
		return RECLOSER_OK;
	RC_TRY(find_scope(run, &scope, error));
	if (scope.together && json_object_size(scope.together) == 0)
		return RECLOSER_OK;
	RC_TRY(live_list(run, error));
	const char ***live = run->ledger_values;
	for (size_t k = 0; k < run->ledger.count; k++)
		if (live[k] && inside(columns, &scope, live[k], false) && !in_load(run, run->ledger.at[k]) && came_together(&scope, run->ledger.at[k]))
			strings_add(run->arena, &run->absent, run->ledger.at[k]);
	if (scope.series < columns->count && scope.fixed[scope.series])
		find_without_successor(run, &scope, live);
	return RECLOSER_OK;
}

/* ---- partitions beside new ones ---- */

static bool is_brand_new(const struct run_part *part)
{
	return part->outcome == PART_NEW && !part->base && !part->reference;
}

/* A column that tells one publication from another: keys recur in each, so that they are compared inside one only. What its values
 * look like counts as well, for a spec need not say that months follow each other. */
static bool tells_publications(const struct run *run, size_t column)
{
	const struct spec *spec = run->spec;
	const char *name = spec->partition.at[column];
	if ((spec->series && strcmp(spec->series, name) == 0) || (spec->freshness.column && strcmp(spec->freshness.column, name) == 0))
		return true;
	for (size_t i = 0; i < run->input_count; i++)
		if (run_is_told(spec, run->inputs[i].source, name))
			return true;
	for (size_t i = 0; i < run->part_count; i++)
		if (is_brand_new(&run->parts[i]) && run_as_date(run->arena, run->parts[i].part.batch_part->values[column]))
			return true;
	return false;
}

static const char *publication_of(struct run *run, const bool *tells, const struct strings *columns, const char **values)
{
	const char **of = arena_array(run->arena, columns->count + 1, sizeof *of);
	size_t count = 0;
	for (size_t c = 0; c < run->spec->partition.count; c++)
		if (tells[c])
			of[count++] = values[c];
	return partition_path(run->arena, columns, of);
}

recloser_status run_find_others(struct run *run, struct strings *columns, struct strings *others, recloser_error *error)
{
	const struct strings *partition = &run->spec->partition;
	bool *tells = arena_array(run->arena, partition->count + 1, sizeof *tells);
	json_t *publications = json_new_object(run->arena);
	for (size_t c = 0; c < partition->count; c++)
		if ((tells[c] = tells_publications(run, c)))
			strings_add(run->arena, columns, partition->at[c]);
	for (size_t i = 0; i < run->part_count && columns->count < partition->count; i++)
		if (is_brand_new(&run->parts[i]))
			json_put_bool(run->arena, publications, publication_of(run, tells, columns, run->parts[i].part.batch_part->values), true);
	if (json_object_size(publications) == 0 || run->options->only_count)
		return RECLOSER_OK;
	RC_TRY(live_list(run, error));
	for (size_t k = 0; k < run->ledger.count; k++) {
		const char **values = run->ledger_values[k];
		if (values && !in_load(run, run->ledger.at[k]) && json_object_get(publications, publication_of(run, tells, columns, values))
		    && !strings_has(&run->absent, run->ledger.at[k]))
			strings_add(run->arena, others, run->ledger.at[k]);
	}
	return RECLOSER_OK;
}
