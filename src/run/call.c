/* SPDX-License-Identifier: Apache-2.0 */
#include "run/call.h"

#include "base/hive.h"
#include "engine/functions.h"
#include "store/scratch.h"

#define PATIENCE 1.0 /* seconds in which a run that has renamed records, unless it is stopped or killed */

static recloser_status guarded(struct arena *arena, call_work *work, const void *options, bool writes, recloser_result **out,
                               recloser_error *error)
{
	if (setjmp(*arena_guard(arena)) == 0)
		return work(arena, options, out, error);
	error_set(error, writes ? RECLOSER_UNCLEAR : RECLOSER_IO, "memory", "out of memory");
	return writes ? error_hint(error, "what was decided stands: run again, the next command finishes it") : RECLOSER_IO;
}

static recloser_status in_arena(call_work *work, const void *options, bool writes, recloser_result **out, recloser_error *error)
{
	recloser_error own;
	recloser_error *told = error ? error : &own;
	error_clear(told);
	if (out)
		*out = NULL;
	struct arena *arena = arena_new(NULL);
	if (!arena)
		return error_set(told, RECLOSER_IO, "memory", "out of memory");
	recloser_status status = guarded(arena, work, options, writes, out, told);
	arena_free(arena);
	return status;
}

recloser_status call_run(call_work *work, const void *options, recloser_result **out, recloser_error *error)
{
	return in_arena(work, options, false, out, error);
}

recloser_status call_run_writing(call_work *work, const void *options, recloser_result **out, recloser_error *error)
{
	return in_arena(work, options, true, out, error);
}

recloser_status call_dataset(struct arena *arena, const struct spec *spec, struct dataset **out, recloser_error *error)
{
	struct bucket *bucket;
	if (!bucket_is_url(spec->root)) {
		RC_TRY(dataset_open(arena, fs_posix(arena), spec->root, spec->dataset, out, error));
		(*out)->patience = PATIENCE;
		return RECLOSER_OK;
	}
	RC_TRY(bucket_open(arena, spec->root, &bucket, error));
	struct dataset_options options = {
		.single_writer = spec->single_writer, .no_checksums = spec->no_checksums, .temp = spec->temp_directory};
	return dataset_open_bucket(arena, fs_posix(arena), bucket, &options, spec->root, spec->dataset, out, error);
}

recloser_status call_open(struct arena *arena, const char *spec_path, struct spec **spec, struct dataset **dataset, recloser_error *error)
{
	RC_TRY(spec_read(arena, spec_path, spec, error));
	return call_dataset(arena, *spec, dataset, error);
}

recloser_status call_engine(struct arena *arena, const recloser_common *common, const char *temporary, struct engine **out,
                            recloser_error *error)
{
	struct engine_options options = {.threads = common->threads, .memory_bytes = common->memory_bytes};
	recloser_error ignored = {0}; /* without a place to spill what fits into memory is still done */
	if (scratch_make(arena, temporary, &options.spill, &ignored) != RECLOSER_OK)
		options.spill = NULL;
	RC_TRY(engine_open(arena, &options, out, error));
	RC_TRY(functions_register(*out, error));
	return engine_run(*out, "set up the engine", "SET GLOBAL enable_geoparquet_conversion = false", error);
}

recloser_status call_partitions(struct arena *arena, struct dataset *dataset, const char *const *wanted, size_t count,
                                struct ledger_heads *out, recloser_error *error)
{
	struct ledger_heads all;
	RC_TRY(live_heads(dataset, arena, &all, error));
	*out = (struct ledger_heads){.at = arena_array(arena, all.count + 1, sizeof *out->at)};
	for (size_t k = 0; k < count; k++) {
		bool hit = false;
		for (size_t i = 0; i < all.count; i++)
			hit |= partition_within(all.at[i].partition, wanted[k]);
		if (!hit) {
			error_set(error, RECLOSER_USAGE, "cli.partition", "the dataset has no partition %s", wanted[k]);
			return error_hint(error, all.count ? "it has, for instance, %s" : "nothing was loaded into it yet%s", all.count ? all.at[0].partition : "");
		}
	}
	for (size_t i = 0; i < all.count; i++) {
		bool hit = count == 0;
		for (size_t k = 0; k < count; k++)
			hit |= partition_within(all.at[i].partition, wanted[k]);
		if (hit)
			out->at[out->count++] = all.at[i];
	}
	return RECLOSER_OK;
}
