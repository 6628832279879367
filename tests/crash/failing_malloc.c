/* SPDX-License-Identifier: Apache-2.0
 * Preloaded into the program under test: allocation number FAIL_MALLOC_AT that the program's own code asks for gives NULL.
 * Allocations of the engine, GDAL and the C library itself are left alone: what is tested is what recloser does about it.
 * FAIL_MALLOC_COUNT names a file that receives how many there were. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uintptr_t text_from, text_to; /* the program's code */
static long fail_at;
static atomic_long seen;
static void *(*real_malloc)(size_t);
static void *(*real_calloc)(size_t, size_t);

static int find_program(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size;
	(void)unused;
	for (int i = 0; i < info->dlpi_phnum; i++) /* the first object is the program */
		if (info->dlpi_phdr[i].p_type == PT_LOAD && (info->dlpi_phdr[i].p_flags & PF_X)) {
			text_from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
			text_to = text_from + info->dlpi_phdr[i].p_memsz;
		}
	return 1;
}

static void report(void)
{
	const char *path = getenv("FAIL_MALLOC_COUNT");
	FILE *file = path ? fopen(path, "w") : NULL;
	if (!file)
		return;
	fprintf(file, "%ld\n", atomic_load(&seen));
	fclose(file);
}

__attribute__((constructor)) static void begin(void)
{
	const char *at = getenv("FAIL_MALLOC_AT");
	fail_at = at ? strtol(at, NULL, 10) : 0;
	real_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	real_calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
	dl_iterate_phdr(find_program, NULL);
	atexit(report);
}

static int fails(const void *caller)
{
	uintptr_t at = (uintptr_t)caller;
	return text_from && at >= text_from && at < text_to && atomic_fetch_add(&seen, 1) + 1 == fail_at;
}

void *malloc(size_t bytes)
{
	if (!real_malloc)
		real_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	return fails(__builtin_return_address(0)) ? NULL : real_malloc(bytes);
}

/* dlsym itself may allocate with calloc while the real one is being looked up: that comes from here and is never given back. */
static char early[4096];
static size_t early_used;
static int looking_up;

void *calloc(size_t count, size_t each)
{
	if (!real_calloc && !looking_up) { /* another library's start-up comes before ours */
		looking_up = 1;
		real_calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
		looking_up = 0;
	}
	if (!real_calloc) {
		size_t bytes = (count * each + 15) / 16 * 16;
		if (early_used + bytes > sizeof early)
			return NULL;
		early_used += bytes;
		return early + early_used - bytes;
	}
	return fails(__builtin_return_address(0)) ? NULL : real_calloc(count, each);
}
