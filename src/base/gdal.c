/* SPDX-License-Identifier: Apache-2.0 */
#include "base/gdal.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The build says which library it was compiled against: its name, by which the system finds it, and where it lay then. A file
 * that is there may want libraries that are not; so where both ways fail, both reasons are told. */
static const char *const places[] = {RECLOSER_GDAL_NAME, RECLOSER_GDAL_FILE};
static const char *const names[] = {
#define GDAL_NAME(name) #name,
	GDAL_FUNCTIONS(GDAL_NAME)
#undef GDAL_NAME
};
enum { COUNT = sizeof names / sizeof *names };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static union {
	struct gdal functions;
	void *at[COUNT]; /* POSIX: a pointer that dlsym gave is one to a function */
} table;
_Static_assert(sizeof(struct gdal) == sizeof table.at, "a member is one pointer");
static char failure[768]; /* "": it is loaded */

static void load(void)
{
	void *library = NULL;
	for (size_t i = 0; i < sizeof places / sizeof *places && !library; i++) {
		library = dlopen(places[i], RTLD_LAZY | RTLD_LOCAL);
		size_t told = strlen(failure);
		if (!library)
			snprintf(failure + told, sizeof failure - told, "%s%s", told ? "; " : "", dlerror());
	}
	if (!library)
		return;
	failure[0] = '\0';
	for (size_t i = 0; i < COUNT; i++) {
		table.at[i] = dlsym(library, names[i]);
		if (!table.at[i] && !failure[0])
			snprintf(failure, sizeof failure, "%s has no %s", RECLOSER_GDAL_NAME, names[i]);
	}
}

recloser_status gdal_load(recloser_error *error)
{
	pthread_once(&once, load);
	if (!failure[0])
		return RECLOSER_OK;
	error_set(error, RECLOSER_IO, "gdal.missing", "GDAL can't be loaded: %s", failure);
	return error_hint(error, "install GDAL, %s; where it lies aside, LD_LIBRARY_PATH says where", RECLOSER_GDAL_NAME);
}

const struct gdal *gdal(void)
{
	recloser_error error = {0};
	if (gdal_load(&error) != RECLOSER_OK) {
		fprintf(stderr, "recloser: %s\n", error.what);
		abort();
	}
	return &table.functions;
}
