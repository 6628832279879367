/* SPDX-License-Identifier: Apache-2.0
 * What prunes have announced and done. A prune is one file prunes/<run>.json: `state` is "announced" while it deletes, then
 * "done", or "cut short" once a later prune found it so. */
#include <string.h>

#include "base/json.h"
#include "history/history.h"

recloser_status prunes_read(struct dataset *dataset, struct arena *arena, json_t **out, recloser_error *error)
{
	struct strings names = {0};
	const char *directory = path_control(dataset, arena, "prunes");
	RC_TRY(control_list(dataset, arena, "prunes", &names, error));
	*out = json_new_array(arena);
	for (size_t i = 0; i < names.count; i++) {
		json_t *prune;
		RC_TRY(file_read_json(dataset, arena, path_in(arena, directory, names.at[i], ""), &prune, error));
		if (json_is_object(prune))
			json_add(arena, *out, prune);
	}
	return RECLOSER_OK;
}

static bool names(const json_t *prune, const char *partition, int64_t seq)
{
	const json_t *versions = json_object_get(prune, "versions");
	for (size_t i = 0; i < json_array_size(versions); i++) {
		const json_t *version = json_array_get(versions, i);
		const char *its = json_get_text(version, "partition");
		if (its && json_get_int(version, "seq", 0) == seq && strcmp(its, partition) == 0)
			return true;
	}
	return false;
}

const char *pruned_how(struct arena *arena, const json_t *prunes, const char *partition, int64_t seq)
{
	for (size_t i = json_array_size(prunes); i > 0; i--) {
		const json_t *prune = json_array_get(prunes, i - 1);
		const char *at = json_get_text(prune, "at"), *run = json_get_text(prune, "run");
		if (names(prune, partition, seq))
			return arena_printf(arena, "pruned on %.10s by run %s", at ? at : "an unknown day", run ? run : "unknown");
	}
	return NULL;
}

bool prune_announced(const json_t *prunes, const char *partition, int64_t seq)
{
	for (size_t i = 0; i < json_array_size(prunes); i++) {
		const json_t *prune = json_array_get(prunes, i);
		const char *state = json_get_text(prune, "state");
		if (state && strcmp(state, "announced") == 0 && names(prune, partition, seq))
			return true;
	}
	return false;
}
