/* SPDX-License-Identifier: Apache-2.0
 * Steps 3 and 4: the sources' tables are opened, matched, converted and united; bad rows are set aside, partitions found,
 * doubles and revisions resolved. */
#include <string.h>

#include "base/json.h"
#include "engine/functions.h"
#include "run/run.h"

struct opened {
	struct layout **layouts;
	size_t count, capacity;
};

static void keep(struct run *run, struct opened *opened, struct layout *layout)
{
	if (opened->count == opened->capacity) {
		size_t capacity = opened->capacity ? opened->capacity * 2 : 8;
		opened->layouts = arena_grow(run->arena, opened->layouts, opened->count * sizeof *opened->layouts, capacity * sizeof *opened->layouts);
		opened->capacity = capacity;
	}
	opened->layouts[opened->count++] = layout;
}

/* The dataset's CRS: what is pinned, else `to_crs`, else that of the first source. */
static recloser_status settle_crs(struct run *run, const struct layout *layout, bool first, recloser_error *error)
{
	const struct geometry_spec *geometry = &run->spec->geometry;
	struct crs *crs = &run->context.crs;
	if (layout->geometry == GEOMETRY_NONE)
		return RECLOSER_OK;
	if (first) {
		const json_t *pinned = run->dataset->config ? json_object_get(run->dataset->config, "crs") : NULL;
		struct crs wanted = layout->crs;
		recloser_status status = geometry->to_crs ? crs_read(run->arena, geometry->to_crs, &wanted, error) : RECLOSER_OK;
		if (status != RECLOSER_OK) {
			error_where(error, "%s, line %d", run->spec->path, geometry->mark.line);
			return status;
		}
		*crs = wanted;
		if (json_is_object(pinned)) {
			RC_TRY(crs_read(run->arena, json_compact(run->arena, pinned), crs, error));
			if (!wanted.projjson || !crs_same(&wanted, crs)) {
				error_set(error, RECLOSER_REFUSED, "dataset.crs", "the dataset is in %s, this load would be in %s", crs->id ? crs->id : "another CRS",
				          wanted.id ? wanted.id : "another");
				error_where(error, "%s", layout->input->path);
				return error_hint(error, "transform with geometry: {to_crs: %s}", crs->id ? crs->id : "...");
			}
		}
		return RECLOSER_OK;
	}
	if (!geometry->to_crs && (!layout->crs.projjson != !crs->projjson || (crs->projjson && !crs_same(&layout->crs, crs)))) {
		error_set(error, RECLOSER_REFUSED, "source.crs", "%s is in another CRS than the sources before it", layout->input->name);
		error_where(error, "%s: %s, not %s", layout->input->path, layout->crs.id ? layout->crs.id : "a CRS without a code", crs->id ? crs->id : "the other");
		return error_hint(error, "bring them together with geometry: {to_crs: EPSG:4326}");
	}
	return RECLOSER_OK;
}

static recloser_status open_input(struct run *run, const struct input *input, struct opened *opened, recloser_error *error)
{
	const struct source_spec *source = input->source;
	for (size_t b = 0; b < source->block_count; b++) {
		const struct block *block = &source->blocks[b];
		bool named = run->options->source || strcmp(input->path, "-") == 0;
		if (!named && block->files && !text_matches(block->files, input->name, false))
			continue;
		struct source_request request = {.engine = run->engine, .input = input, .block = block, .spec = run->spec,
		                                 .identity = layout_identity_names(run->arena, run->spec, block),
		                                 .spool = staging_directory(run->staging)};
		struct source **sources;
		size_t count;
		RC_TRY(source_open(run->arena, &request, &sources, &count, error));
		for (size_t i = 0; i < count; i++) {
			struct layout *layout;
			RC_TRY(layout_plan(run->arena, &run->context, sources[i], input, block, opened->count, &layout, error));
			RC_TRY(settle_crs(run, layout, opened->count == 0, error));
			ticker_watch_source(run->ticker, sources[i]);
			keep(run, opened, layout);
		}
	}
	return RECLOSER_OK;
}

static recloser_status check_settings(const struct run *run, recloser_error *error)
{
	for (size_t i = 0; i < run->options->setting_count; i++)
		if (!spec_takes_setting(run->spec, run->options->settings[i].column)) {
			error_set(error, RECLOSER_USAGE, "set.unknown", "--set %s: the spec has no column that takes its value from the caller",
			          run->options->settings[i].column);
			error_where(error, "%s", run->spec->path);
			return error_hint(error, "declare it: columns: {%s: {set: required}}", run->options->settings[i].column);
		}
	return RECLOSER_OK;
}

static recloser_status start_engine(struct run *run, recloser_error *error)
{
	const recloser_common *common = &run->options->common;
	struct engine_options options = {.threads = common->threads, .memory_bytes = common->memory_bytes};
	options.spill = run->spec->temp_directory ? run->spec->temp_directory
	                                          : arena_printf(run->arena, "%s/spill", staging_directory(run->staging));
	RC_TRY(engine_open(run->arena, &options, &run->engine, error));
	ticker_watch_engine(run->ticker, run->arena, run->engine);
	RC_TRY(functions_register(run->engine, error));
	run->context = (struct layout_context){.engine = run->engine, .spec = run->spec, .settings = run->options->settings,
	                                       .setting_count = run->options->setting_count, .lookup_input = run->lookup,
	                                       .spool = staging_directory(run->staging)};
	/* A broken geometry in a GeoParquet file shall be a fault of its row (source/parquet.c). */
	return engine_run(run->engine, "set up the engine", "SET GLOBAL enable_geoparquet_conversion = false", error);
}

static recloser_status refuse_empty(const struct run *run, recloser_error *error)
{
	error_set(error, RECLOSER_REFUSED, "source.no_rows", "the source has no rows");
	error_where(error, "%s", run->inputs[0].path);
	return error_hint(error, "an empty file replaces nothing; --allow-empty says that it is meant");
}

/* A partition that neither the source nor the dataset has is a slip of the pen; one that the source has no rows of is not. */
static recloser_status check_only(struct run *run, recloser_error *error)
{
	struct strings unknown = {0}, partitions = {0};
	const char *near = NULL;
	RC_TRY(batch_has(run->batch, run->options->only, run->options->only_count, &unknown, &near, error));
	if (unknown.count)
		RC_TRY(ledger_partitions(run->dataset, run->arena, &partitions, error));
	for (size_t i = 0; i < unknown.count; i++) {
		size_t length = strlen(unknown.at[i]);
		bool known = false;
		for (size_t k = 0; k < partitions.count && !known; k++)
			known = text_starts(partitions.at[k], unknown.at[i]) && (partitions.at[k][length] == '\0' || partitions.at[k][length] == '/');
		if (known)
			continue;
		error_set(error, RECLOSER_USAGE, "cli.only", "--only %s: neither the source nor the dataset has such a partition", unknown.at[i]);
		error_where(error, "%s", run->inputs[0].path);
		return near ? error_hint(error, "the source has, for instance, %s", near) : error_hint(error, "the source has no partition at all");
	}
	return RECLOSER_OK;
}

recloser_status run_read(struct run *run, recloser_error *error)
{
	RC_TRY(check_settings(run, error));
	if (!run->staging)
		RC_TRY(run_begin_staging(run, error));
	RC_TRY(start_engine(run, error));
	RC_TRY(layout_check_words(run->arena, run->engine, run->spec, error));
	struct opened opened = {0};
	run_progress(run, "read", 0, 0, 0);
	for (size_t i = 0; i < run->input_count; i++)
		RC_TRY(open_input(run, &run->inputs[i], &opened, error));
	RC_TRY(batch_read(run->arena, &run->context, opened.layouts, opened.count, &run->batch, error));
	struct batch *batch = run->batch;
	run_progress(run, "check", batch->rows_in, 0, 0);
	if (batch->rows_in == 0 && !run->options->allow_empty)
		return refuse_empty(run, error);
	RC_TRY(batch_quarantine(batch, error));
	RC_TRY(check_only(run, error));
	RC_TRY(batch_only(batch, run->options->only, run->options->only_count, error));
	RC_TRY(batch_find_parts(batch, error));
	return batch_resolve(batch, error);
}
