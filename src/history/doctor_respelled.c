/* SPDX-License-Identifier: Apache-2.0
 * Telling of codes that were respelled. One event is one finding: OTH that is BAT for a month and OTH again is seen four times,
 * as a new and as a gone code on the way there and on the way back. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "history/doctor.h"

/* A value as it may stand in a flow mapping of the spec. */
static const char *yaml_word(struct arena *arena, const char *value)
{
	bool plain = isalnum((unsigned char)*value) && value[strlen(value) - 1] != ' ';
	for (const char *at = value; *at && plain; at++)
		plain = isalnum((unsigned char)*at) || strchr("_-+/. ", *at);
	if (plain)
		return value;
	struct text out = text_on(arena);
	text_add(&out, "\"");
	for (const char *at = value; *at; at++)
		text_addf(&out, "%s%c", *at == '"' || *at == '\\' ? "\\" : "", *at);
	text_add(&out, "\"");
	return out.at;
}

static const char *hint_of(struct arena *arena, const struct respelling *one)
{
	return arena_printf(arena, "if they mean the same: columns: {%s: {map: {%s: %s}}}", yaml_word(arena, one->column),
	                    yaml_word(arena, one->to), yaml_word(arena, one->from));
}

/* The respelling that takes this one back, at the next step of its column. */
static struct respelling *way_back(struct doctor *doctor, const struct respelling *there)
{
	for (size_t i = 0; i < doctor->respelled_count; i++) {
		struct respelling *back = &doctor->respelled[i];
		if (back->pair == there->pair + 1 && strcmp(back->column, there->column) == 0 && strcmp(back->from, there->to) == 0
		    && strcmp(back->to, there->from) == 0 && there->fresh && back->gone)
			return back;
	}
	return NULL;
}

static void tell(struct doctor *doctor, struct respelling *one)
{
	const char *hint = hint_of(doctor->h->arena, one);
	struct respelling *back = way_back(doctor, one);
	one->told = true;
	if (back) {
		back->told = true;
		doctor_say(doctor, "drift", FINDING_ADVICE, hint,
		           "%s: \"%s\" is there in %s only; %" PRId64 " of its %" PRId64 " rows were \"%s\" in %s, and %" PRId64
		           " are again in %s", one->column, one->to, one->newer, one->rows, one->of_to, one->from, one->older, back->rows,
		           back->newer);
	} else if (one->fresh && one->gone)
		doctor_say(doctor, "drift", FINDING_ADVICE, hint,
		           "%s: \"%s\" became \"%s\" in %s: %" PRId64 " of its %" PRId64 " rows", one->column, one->from, one->to, one->newer,
		           one->rows, one->of_from);
	else if (one->fresh)
		doctor_say(doctor, "drift", FINDING_ADVICE, hint,
		           "%s: \"%s\" is new in %s; %" PRId64 " of its %" PRId64 " rows were \"%s\" in %s", one->column, one->to, one->newer,
		           one->rows, one->of_to, one->from, one->older);
	else
		doctor_say(doctor, "drift", FINDING_ADVICE, hint,
		           "%s: \"%s\" is gone in %s; %" PRId64 " of its %" PRId64 " rows became \"%s\"", one->column, one->from, one->newer,
		           one->rows, one->of_from, one->to);
}

void doctor_tell_respelled(struct doctor *doctor)
{
	for (size_t i = 0; i < doctor->respelled_count; i++)
		if (!doctor->respelled[i].told)
			tell(doctor, &doctor->respelled[i]);
	doctor->respelled_count = 0;
}
