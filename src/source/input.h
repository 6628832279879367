/* SPDX-License-Identifier: Apache-2.0
 * Input files: their fingerprint, standard input made readable twice, and folders. */
#ifndef RECLOSER_SOURCE_INPUT_H
#define RECLOSER_SOURCE_INPUT_H

#include "source/source.h"

/* Fingerprint the input at `path`. "-" (standard input) and whatever else can be read only once is copied into the
 * directory `spool` (NULL: the system's for temporary files) first; the copy is removed with the arena. The fingerprint is
 * the SHA-256 of the bytes; of a source that is several files (a shapefile, a .gdb folder) it covers all of them.
 * RECLOSER_IO when it can't be read. `source` is left NULL for the caller. */
recloser_status input_open(struct arena *arena, const char *path, const char *spool, struct input *out,
						   recloser_error *error) RC_CHECKED;
/* What input_open does for a URL (store/remote.h has the forms): out->path is set, the rest is filled in, the ETag too. */
recloser_status input_fetch(struct arena *arena, const char *spool, struct input *out, recloser_error *error) RC_CHECKED;

/* Add the files that `path` stands for: itself, or the regular files in a folder, sorted by bytes, hidden ones left out.
 * A .gdb folder is one input. */
recloser_status input_expand(struct arena *arena, const char *path, struct strings *out, recloser_error *error) RC_CHECKED;

#endif
