/* SPDX-License-Identifier: Apache-2.0
 * Blocks of growing size, and one list of things to undo. Children are part of that list, so that the order of
 * destruction is the reverse of creation over memory, handles and child arenas alike. */
#include "base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BLOCK = 4096, LARGEST_BLOCK = 1 << 20, ALIGN = 16 };

struct block {
	struct block *previous;
	size_t used, size;
	/* the bytes follow, ALIGN-aligned */
};

struct undo {
	struct undo *previous;
	void (*function)(void *);
	void *pointer;
};

struct arena {
	struct arena *parent;
	struct block *newest;
	struct undo *undo;
	struct undo *in_parent; /* the parent's entry for this arena */
	size_t next_size;
	jmp_buf guard;
};

static struct arena_hooks hooks;

void arena_set_hooks(const struct arena_hooks *replacement)
{
	if (replacement)
		hooks = *replacement;
	else
		memset(&hooks, 0, sizeof hooks);
}

static void *take(size_t bytes)
{
	return hooks.alloc ? hooks.alloc(bytes) : malloc(bytes);
}

static void give_back(void *pointer)
{
	if (hooks.release)
		hooks.release(pointer);
	else
		free(pointer);
}

static void free_child(void *pointer)
{
	struct arena *child = pointer;
	child->in_parent = NULL;
	arena_free(child);
}

struct arena *arena_new(struct arena *parent)
{
	struct arena *arena = take(sizeof *arena);
	if (!arena) {
		if (parent)
			arena_out_of_memory(parent);
		return NULL;
	}
	memset(arena, 0, sizeof *arena);
	arena->parent = parent;
	arena->next_size = FIRST_BLOCK;
	if (parent) {
		arena_defer(parent, free_child, arena);
		arena->in_parent = parent->undo;
	}
	return arena;
}

void arena_free(struct arena *arena)
{
	if (!arena)
		return;
	if (arena->in_parent)
		arena->in_parent->function = NULL; /* the entry stays in the parent, without effect */
	while (arena->undo) {
		struct undo *entry = arena->undo;
		arena->undo = entry->previous;
		if (entry->function)
			entry->function(entry->pointer);
	}
	while (arena->newest) {
		struct block *block = arena->newest;
		arena->newest = block->previous;
		give_back(block);
	}
	give_back(arena);
}

jmp_buf *arena_guard(struct arena *arena)
{
	return &arena->guard;
}

_Noreturn void arena_out_of_memory(struct arena *arena)
{
	while (arena->parent)
		arena = arena->parent;
	longjmp(arena->guard, 1);
}

static size_t header_bytes(void)
{
	return (sizeof(struct block) + ALIGN - 1) / ALIGN * ALIGN;
}

static struct block *add_block(struct arena *arena, size_t bytes)
{
	size_t size = arena->next_size > bytes ? arena->next_size : bytes;
	struct block *block = size > SIZE_MAX - header_bytes() ? NULL : take(header_bytes() + size);
	if (!block)
		return NULL;
	block->used = 0;
	block->size = size;
	block->previous = arena->newest;
	arena->newest = block;
	if (arena->next_size < LARGEST_BLOCK)
		arena->next_size *= 2;
	return block;
}

static void *try_alloc(struct arena *arena, size_t bytes)
{
	if (bytes > SIZE_MAX - ALIGN)
		return NULL;
	bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
	struct block *block = arena->newest;
	if (!block || block->size - block->used < bytes)
		block = add_block(arena, bytes);
	if (!block)
		return NULL;
	char *at = (char *)block + header_bytes() + block->used;
	block->used += bytes;
	return memset(at, 0, bytes);
}

void *arena_alloc(struct arena *arena, size_t bytes)
{
	void *at = try_alloc(arena, bytes);
	if (!at)
		arena_out_of_memory(arena);
	return at;
}

void *arena_array(struct arena *arena, size_t count, size_t each)
{
	if (each != 0 && count > SIZE_MAX / each)
		arena_out_of_memory(arena);
	return arena_alloc(arena, count * each);
}

void *arena_grow(struct arena *arena, void *old, size_t old_bytes, size_t new_bytes)
{
	void *at = arena_alloc(arena, new_bytes);
	if (old)
		memcpy(at, old, old_bytes < new_bytes ? old_bytes : new_bytes);
	return at;
}

char *arena_strndup(struct arena *arena, const char *text, size_t length)
{
	char *copy = arena_alloc(arena, length + 1);
	memcpy(copy, text, length);
	return copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
	return arena_strndup(arena, text, strlen(text));
}

char *arena_vprintf(struct arena *arena, const char *format, va_list args)
{
	va_list again;
	va_copy(again, args);
	int length = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (length < 0)
		arena_out_of_memory(arena);
	char *at = arena_alloc(arena, (size_t)length + 1);
	vsnprintf(at, (size_t)length + 1, format, args);
	return at;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	char *at = arena_vprintf(arena, format, args);
	va_end(args);
	return at;
}

void arena_defer(struct arena *arena, void (*function)(void *), void *pointer)
{
	struct undo *entry = try_alloc(arena, sizeof *entry);
	if (!entry) {
		function(pointer); /* nobody else will know of it */
		arena_out_of_memory(arena);
	}
	entry->function = function;
	entry->pointer = pointer;
	entry->previous = arena->undo;
	arena->undo = entry;
}
