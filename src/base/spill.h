/* SPDX-License-Identifier: Apache-2.0
 * A nameless file that grows: for what has no room in memory. It is made when the first byte is put there, a killed process leaves
 * nothing behind, and any thread may put and get. malloc only: lives in engine threads. */
#ifndef RECLOSER_BASE_SPILL_H
#define RECLOSER_BASE_SPILL_H

#include <stddef.h>
#include <stdint.h>

struct spill;

/* `directory`: where the file is made; itself made where it is not there, and removed with the file if it was. NULL: no memory. */
struct spill *spill_new(const char *directory);
void spill_free(struct spill *spill); /* NULL is allowed */

/* These give 0 or an errno, as ENOSPC; a file that is shorter than what was put into it gives EIO. `offset` in bytes. */
int spill_reserve(struct spill *spill, uint64_t bytes, uint64_t *offset); /* a place at the end, not written yet */
int spill_put(struct spill *spill, const void *bytes, size_t count, uint64_t offset);
int spill_get(struct spill *spill, void *bytes, size_t count, uint64_t offset);
/* Everything is forgotten, and the disk gets its room back. Nobody may be reserving, putting or getting. */
void spill_empty(struct spill *spill);

#endif
