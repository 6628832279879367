/* SPDX-License-Identifier: Apache-2.0
 * Memory and handles of one call.
 *
 * The one rule: whatever a public call allocates or opens hangs on an arena, and freeing the arena gives all of it
 * back, newest first. So the code between needs no clean-up labels and no ownership comments: a pointer got from an
 * arena lives as long as the arena.
 *
 * Running out of memory does not return: arena_alloc leaves through the guard that the public call set (arena_guard),
 * the call frees its arena and reports RECLOSER_IO "out of memory". Nothing decided is lost by that, since a commit is
 * finished by whoever comes next. Code that is called back by a foreign library (the engine, GDAL, expat) must never
 * leave that way: it uses malloc and tells the library that it failed.
 */
#ifndef RECLOSER_BASE_ARENA_H
#define RECLOSER_BASE_ARENA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "base/error.h"

struct arena;

/* NULL when there is no memory for even that. Children are freed with their parent and leave through its guard. */
struct arena *arena_new(struct arena *parent);
void arena_free(struct arena *arena); /* runs the deferred functions, newest first; NULL is fine */

/* Where to go when memory runs out. Used once, in the public call:
 *     if (setjmp(*arena_guard(arena)) != 0) { arena_free(arena); return error_set(...); }
 */
jmp_buf *arena_guard(struct arena *arena);
_Noreturn void arena_out_of_memory(struct arena *arena);

void *arena_alloc(struct arena *arena, size_t bytes); /* aligned for any type, zeroed, never NULL */
void *arena_array(struct arena *arena, size_t count, size_t each); /* the product is checked */
void *arena_grow(struct arena *arena, void *old, size_t old_bytes, size_t new_bytes); /* copies; old stays until the arena goes */
char *arena_strdup(struct arena *arena, const char *text);
char *arena_strndup(struct arena *arena, const char *text, size_t length);
char *arena_printf(struct arena *arena, const char *format, ...) RC_PRINTF(2, 3);
char *arena_vprintf(struct arena *arena, const char *format, va_list args) RC_PRINTF(2, 0);

/* Run `function(pointer)` when the arena is freed; at once when there is no memory to note it, before leaving. */
void arena_defer(struct arena *arena, void (*function)(void *), void *pointer);

/* Allocation goes through these so that a test can fail call number N. NULL resets. */
struct arena_hooks {
	void *(*alloc)(size_t bytes);
	void (*release)(void *pointer);
};
void arena_set_hooks(const struct arena_hooks *hooks);

#endif
