#define _GNU_SOURCE /* mkostemps */
/* SPDX-License-Identifier: Apache-2.0
 * Inputs that lie elsewhere are read once, into a file beside the staged ones, and then like any other. */
#include "source/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source/spool.h"
#include "store/remote.h"

static void remove_copy(void *path)
{
	unlink(path);
}

recloser_status input_fetch(struct arena *arena, const char *spool, struct input *out, recloser_error *error)
{
	struct remote remote;
	out->name = remote_name(arena, out->path);
	/* With the name's ending, by which some readers know their format. */
	const char *dot = strrchr(out->name, '.');
	size_t ending = dot && strlen(dot) < 12 ? strlen(dot) : 0;
	char *copy = arena_printf(arena, "%s/input-XXXXXX%s", spool_directory(spool), ending ? dot : "");
	int descriptor = mkostemps(copy, (int)ending, O_CLOEXEC);
	if (descriptor < 0)
		return error_errno(error, "io.spool", errno, "make a temporary file in", spool_directory(spool));
	close(descriptor);
	arena_defer(arena, remove_copy, copy);
	RC_TRY(remote_fetch(arena, out->path, copy, &remote, error));
	memcpy(out->sha256, remote.sha256, sizeof out->sha256);
	out->bytes = remote.bytes;
	out->etag = *remote.etag ? arena_strdup(arena, remote.etag) : NULL;
	out->read_path = copy;
	return RECLOSER_OK;
}
