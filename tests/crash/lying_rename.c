/* SPDX-License-Identifier: Apache-2.0
 * Preloaded into the program under test: the first rename onto a part.parquet takes place and then reports an I/O error, as a
 * file server does that answered too late. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static atomic_int told;

static int is_part(const char *to)
{
	size_t length = strlen(to), ending = strlen("/part.parquet");
	return length > ending && strcmp(to + length - ending, "/part.parquet") == 0;
}

static int lie(int result, const char *to)
{
	if (result != 0 || !is_part(to) || atomic_fetch_add(&told, 1) > 0)
		return result;
	errno = EIO;
	return -1;
}

int rename(const char *from, const char *to)
{
	static int (*real)(const char *, const char *);
	if (!real)
		real = (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
	return lie(real(from, to), to);
}

int renameat(int from_directory, const char *from, int to_directory, const char *to)
{
	static int (*real)(int, const char *, int, const char *);
	if (!real)
		real = (int (*)(int, const char *, int, const char *))dlsym(RTLD_NEXT, "renameat");
	return lie(real(from_directory, from, to_directory, to), to);
}
