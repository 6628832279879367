/* SPDX-License-Identifier: Apache-2.0
 * What one writing command needs throughout: what the file system can do, and the descriptor for syncfs. */
#include "commit/protocol.h"

static void close_session(void *pointer)
{
	struct session *session = pointer;
	session->dataset->fs->ops->close(session->dataset->fs, session->everything);
	session->everything = NULL;
}

recloser_status session_open(struct dataset *dataset, struct arena *arena, const char *directory, struct session *out,
							 recloser_error *error)
{
	*out = (struct session){.dataset = dataset, .arena = arena};
	/* Opened before the first staged byte: syncfs reports what went wrong since the descriptor was opened. */
	int failed = dataset->fs->ops->open(dataset->fs, directory, false, &out->everything);
	if (failed)
		return error_errno(error, "store.open", failed, "open", directory);
	arena_defer(arena, close_session, out);
	RC_TRY(probe(dataset, arena, directory, &out->can, error));
	if (!out->can.syncfs)
		close_session(out);
	if (!out->can.hard_links && !out->can.rename_new && !out->can.locks) {
		error_set(error, RECLOSER_IO, "store.unsafe",
				  "this file system (%s) has neither hard links, nor a rename that does not replace, nor locks",
				  out->can.type);
		error_where(error, "%s", dataset->control);
		return error_hint(error, "two writers could not be told apart; put the dataset on another file system");
	}
	return RECLOSER_OK;
}
