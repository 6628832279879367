/* SPDX-License-Identifier: Apache-2.0
 * The public calls of src/history: what each needs is opened, and what it says becomes the result, also when it fails. */
#include "base/json.h"
#include "history/history.h"
#include "report/result.h"
#include "run/call.h"
#include "run/history_calls.h"

recloser_status history_begin(struct arena *arena, const recloser_common *common, bool engine, struct history *out,
							  recloser_error *error)
{
	struct spec *spec;
	*out = (struct history){.arena = arena, .json = json_new_object(arena), .text = text_on(arena)};
	RC_TRY(call_open(arena, common->spec_path, &spec, &out->dataset, error));
	out->spec = spec;
	return engine ? call_engine(arena, common, spec->temp_directory, &out->engine, error) : RECLOSER_OK;
}

recloser_status history_end(struct history *h, recloser_status status, recloser_result **out, recloser_error *error)
{
	if (status != RECLOSER_OK && json_object_size(h->json) == 0)
		return status;
	if (status != RECLOSER_OK)
		result_add_error(h->arena, h->json, error);
	*out = result_new(h->arena, h->json, h->text.at ? h->text.at : "");
	return status;
}

/* ---- history, as-of, restore, prune, tag ---- */

static recloser_status history_work(struct arena *arena, const void *given, recloser_result **out, recloser_error *error)
{
	const recloser_history_options *options = given;
	struct history h;
	RC_TRY(history_begin(arena, &options->common, false, &h, error));
	return history_end(&h, history_of(&h, options->partition, error), out, error);
}

recloser_status recloser_history(const recloser_history_options *options, recloser_result **out, recloser_error *error)
{
	return call_run(history_work, options, out, error);
}

static recloser_status as_of_work(struct arena *arena, const void *given, recloser_result **out, recloser_error *error)
{
	const recloser_as_of_options *options = given;
	struct history h;
	RC_TRY(history_begin(arena, &options->common, false, &h, error));
	return history_end(&h, as_of(&h, options, error), out, error);
}

recloser_status recloser_as_of(const recloser_as_of_options *options, recloser_result **out, recloser_error *error)
{
	return call_run(as_of_work, options, out, error);
}

static recloser_status restore_work(struct arena *arena, const void *given, recloser_result **out, recloser_error *error)
{
	const recloser_restore_options *options = given;
	struct history h;
	RC_TRY(history_begin(arena, &options->common, true, &h, error));
	return history_end(&h, restore(&h, options, error), out, error);
}

recloser_status recloser_restore(const recloser_restore_options *options, recloser_result **out, recloser_error *error)
{
	return call_run_writing(restore_work, options, out, error);
}

static recloser_status prune_work(struct arena *arena, const void *given, recloser_result **out, recloser_error *error)
{
	const recloser_prune_options *options = given;
	struct history h;
	RC_TRY(history_begin(arena, &options->common, false, &h, error));
	return history_end(&h, prune(&h, options, error), out, error);
}

recloser_status recloser_prune(const recloser_prune_options *options, recloser_result **out, recloser_error *error)
{
	return call_run_writing(prune_work, options, out, error);
}

static recloser_status tag_work(struct arena *arena, const void *given, recloser_result **out, recloser_error *error)
{
	const recloser_tag_options *options = given;
	struct history h;
	recloser_status status;
	RC_TRY(history_begin(arena, &options->common, false, &h, error));
	if (!options->name)
		status = tag_list(&h, error);
	else if (options->remove)
		status = tag_remove(&h, options->name, error);
	else
		status = tag_make(&h, options->name, options->at, error);
	return history_end(&h, status, out, error);
}

recloser_status recloser_tag(const recloser_tag_options *options, recloser_result **out, recloser_error *error)
{
	return call_run_writing(tag_work, options, out, error);
}

/* ---- why, doctor ---- */

static recloser_status why_work(struct arena *arena, const void *given, recloser_result **out, recloser_error *error)
{
	const recloser_why_options *options = given;
	struct history h = {.arena = arena, .json = json_new_object(arena), .text = text_on(arena)};
	struct dataset **datasets = &h.dataset;
	struct spec *spec;
	size_t count = 1;
	if (options->common.spec_path)
		RC_TRY(call_open(arena, options->common.spec_path, &spec, &h.dataset, error));
	else
		RC_TRY(why_datasets(arena, fs_posix(arena), options->file, options->root, &datasets, &count, error));
	RC_TRY(call_engine(arena, &options->common, NULL, &h.engine, error));
	return history_end(&h, why(&h, options->file, datasets, count, error), out, error);
}

recloser_status recloser_why(const recloser_why_options *options, recloser_result **out, recloser_error *error)
{
	return call_run(why_work, options, out, error);
}

static recloser_status doctor_work(struct arena *arena, const void *given, recloser_result **out, recloser_error *error)
{
	const recloser_doctor_options *options = given;
	struct history h;
	RC_TRY(history_begin(arena, &options->common, !options->quick, &h, error));
	return history_end(&h, doctor(&h, options->quick, error), out, error);
}

recloser_status recloser_doctor(const recloser_doctor_options *options, recloser_result **out, recloser_error *error)
{
	return call_run(doctor_work, options, out, error);
}
