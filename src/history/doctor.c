/* SPDX-License-Identifier: Apache-2.0
 * doctor: the parts in their order, and how a finding is told. Nothing is changed; what needs changing is a hint. */
#include <stdarg.h>
#include <string.h>

#include "base/json.h"
#include "history/doctor.h"

void doctor_say(struct doctor *doctor, const char *area, enum finding finding, const char *hint, const char *format, ...)
{
	static const char *const words[] = {"fact", "advice", "fault"};
	struct arena *arena = doctor->h->arena;
	json_t *json = json_new_object(arena);
	va_list args;
	va_start(args, format);
	const char *what = arena_vprintf(arena, format, args);
	va_end(args);
	json_put_text(arena, json, "area", area);
	json_put_text(arena, json, "finding", words[finding]);
	json_put_text(arena, json, "what", what);
	json_put_text(arena, json, "hint", hint);
	json_add(arena, doctor->findings, json);
	doctor->advice += finding == FINDING_ADVICE;
	doctor->faults += finding == FINDING_FAULT;
	text_addf(&doctor->h->text, "  %-9s %s%s\n", area, finding == FINDING_FAULT ? "FAULT: " : "", what);
	if (hint)
		text_addf(&doctor->h->text, "            %s\n", hint);
}

static recloser_status collect(struct doctor *doctor, recloser_error *error)
{
	struct history *h = doctor->h;
	struct strings partitions = {0};
	RC_TRY(ledger_partitions(h->dataset, h->arena, &partitions, error));
	doctor->parts = arena_array(h->arena, partitions.count + 1, sizeof *doctor->parts);
	for (size_t i = 0; i < partitions.count; i++) {
		struct record *newest;
		RC_TRY(ledger_newest(h->dataset, h->arena, partitions.at[i], &newest, error));
		if (newest)
			doctor->parts[doctor->part_count++] = (struct live_part){partitions.at[i], newest};
	}
	return series_lines(h->dataset, h->arena, h->spec, &doctor->lines, &doctor->line_count, error);
}

static recloser_status guarantees(struct doctor *doctor, recloser_error *error)
{
	struct history *h = doctor->h;
	json_t *can;
	recloser_error problem = {0};
	recloser_status status = dataset_guarantees(h->dataset, h->arena, &can, &problem);
	if (status == RECLOSER_IO && !h->dataset->bucket) { /* it is tried by writing: not on a read-only mount */
		doctor_say(doctor, "store", FINDING_FACT, NULL, "what the file system promises can't be tried here: %s", problem.what);
		return RECLOSER_OK;
	}
	if (status != RECLOSER_OK && error)
		*error = problem;
	RC_TRY(status);
	if (!can)
		return RECLOSER_OK;
	json_put(h->arena, h->json, "store", can);
	const json_t *sentences = json_object_get(can, "sentences");
	const char *type = json_get_text(can, json_get_text(can, "server") ? "server" : "type");
	if (json_array_size(sentences) == 0)
		doctor_say(doctor, "store", FINDING_FACT, NULL, "%s: whole guarantees, for two writers, a crash and a power cut",
				   type && *type ? type : "this file system");
	for (size_t i = 0; i < json_array_size(sentences); i++)
		doctor_say(doctor, "store", FINDING_ADVICE, NULL, "%s", json_string_value(json_array_get(sentences, i)));
	return RECLOSER_OK;
}

/* One side of the dataset. A file that can't be read is a finding, and no reason to keep the others back. */
static recloser_status look(struct doctor *doctor, recloser_status (*side)(struct doctor *, recloser_error *), recloser_error *error)
{
	recloser_error problem = {0};
	recloser_status status = side(doctor, &problem);
	if (status == RECLOSER_IO && strcmp(problem.code, "engine.failed") == 0) {
		doctor_say(doctor, "files", FINDING_FAULT, "`recloser verify` names the file, `recloser restore` brings a version of it back",
				   "a file can't be read, so that not all was looked at: %s", problem.what);
		return RECLOSER_OK;
	}
	if (status != RECLOSER_OK && error && error->status == RECLOSER_OK)
		*error = problem;
	return status;
}

static recloser_status examine(struct doctor *doctor, recloser_error *error)
{
	RC_TRY(collect(doctor, error));
	if (doctor->part_count == 0) {
		doctor_say(doctor, "grain", FINDING_FACT, NULL, "nothing loaded yet");
		return doctor_order(doctor, error);
	}
	RC_TRY(look(doctor, doctor_grain, error));
	RC_TRY(look(doctor, doctor_order, error));
	RC_TRY(look(doctor, guarantees, error));
	RC_TRY(look(doctor, doctor_series, error));
	return look(doctor, doctor_twice, error); /* last: in a bucket it lets go of what was fetched */
}

recloser_status doctor(struct history *h, bool quick, recloser_error *error)
{
	struct doctor doctor = {.h = h, .quick = quick, .findings = json_new_array(h->arena)};
	text_addf(&h->text, "%s  %s\n", h->dataset->name, h->dataset->tree);
	RC_TRY(examine(&doctor, error));
	json_put_text(h->arena, h->json, "dataset", h->dataset->name);
	json_put_text(h->arena, h->json, "outcome", doctor.faults ? "fault" : doctor.advice ? "advice" : "sound");
	json_put_int(h->arena, h->json, "faults", (int64_t)doctor.faults);
	json_put_int(h->arena, h->json, "advice", (int64_t)doctor.advice);
	json_put(h->arena, h->json, "findings", doctor.findings);
	text_addf(&h->text, "%s fault%s, %s piece%s of advice\n", text_count(h->arena, doctor.faults),
			  doctor.faults == 1 ? "" : "s", text_count(h->arena, doctor.advice), doctor.advice == 1 ? "" : "s");
	if (!doctor.faults)
		return RECLOSER_OK;
	return error_set(error, RECLOSER_FAULT, "doctor.fault", "something is wrong with what is stored: the report says what");
}
