/* SPDX-License-Identifier: Apache-2.0
 * Where to look for the story of a file when nobody says where it belongs: every folder above it, and above the working
 * directory, may be a root. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "history/history.h"

struct finding {
	struct arena *arena;
	struct fs *fs;
	struct dataset **at;
	size_t count;
	struct strings roots;
};

static recloser_status add_root(struct finding *f, const char *root, bool must, recloser_error *error)
{
	struct strings names = {0};
	const char *control = arena_printf(f->arena, "%s/_recloser", strcmp(root, "/") == 0 ? "" : root);
	char *canonical = realpath(root, NULL); /* one folder can be spelled in several ways, or be linked to */
	const char *known = arena_strdup(f->arena, canonical ? canonical : root);
	free(canonical);
	if (strings_has(&f->roots, known))
		return RECLOSER_OK;
	int failed = f->fs->ops->list(f->fs, control, f->arena, &names);
	if (failed && !must)
		return RECLOSER_OK; /* no root, or none that we may look into */
	if (failed) {
		error_errno(error, "why.root", failed, "list", control);
		return error_hint(error, "the root is the folder that holds the datasets and _recloser");
	}
	strings_add(f->arena, &f->roots, known);
	f->at = arena_grow(f->arena, f->at, f->count * sizeof *f->at, (f->count + names.count + 1) * sizeof *f->at);
	for (size_t i = 0; i < names.count; i++) {
		struct fs_stat stat;
		const char *path = path_in(f->arena, control, names.at[i], "");
		if (f->fs->ops->stat(f->fs, path, &stat) != 0 || !stat.is_directory)
			continue;
		RC_TRY(dataset_open(f->arena, f->fs, root, names.at[i], &f->at[f->count], error));
		f->count++;
	}
	return RECLOSER_OK;
}

/* A folder itself and all above it; in each also the roots one level below (`lake` beside the spec). */
static recloser_status add_above(struct finding *f, const char *path, recloser_error *error)
{
	char *at = arena_strdup(f->arena, path);
	for (;;) {
		RC_TRY(add_root(f, *at ? at : "/", false, error));
		char *slash = strrchr(at, '/');
		if (!slash || *at == '\0')
			return RECLOSER_OK;
		*slash = '\0';
	}
}

static recloser_status add_below(struct finding *f, const char *path, recloser_error *error)
{
	struct strings names = {0};
	(void)f->fs->ops->list(f->fs, path, f->arena, &names);
	for (size_t i = 0; i < names.count; i++)
		RC_TRY(add_root(f, path_in(f->arena, path, names.at[i], ""), false, error));
	return RECLOSER_OK;
}

recloser_status why_datasets(struct arena *arena, struct fs *fs, const char *file, const char *root, struct dataset ***out,
							 size_t *count, recloser_error *error)
{
	struct finding f = {.arena = arena, .fs = fs};
	char here[4096];
	if (root)
		RC_TRY(add_root(&f, root, true, error));
	else {
		if (!getcwd(here, sizeof here))
			here[0] = '\0';
		RC_TRY(add_above(&f, *file == '/' ? file : path_in(arena, here, file, ""), error));
		RC_TRY(add_above(&f, here, error));
		RC_TRY(add_below(&f, here, error));
	}
	*out = f.at;
	*count = f.count;
	return RECLOSER_OK;
}
