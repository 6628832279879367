/* SPDX-License-Identifier: Apache-2.0
 * Step 2: which file is whose, and its fingerprint. */
#include <string.h>
#include <sys/stat.h>

#include "run/run.h"
#include "source/input.h"
#include "store/remote.h"

static const char *name_of(struct arena *arena, const char *path)
{
	if (remote_is(path))
		return remote_name(arena, path);
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static bool takes(const struct source_spec *source, const char *name)
{
	for (size_t i = 0; i < source->block_count; i++)
		if (!source->blocks[i].files || text_matches(source->blocks[i].files, name, false))
			return true;
	return false;
}

static recloser_status unknown_source(const struct run *run, recloser_error *error)
{
	struct strings names = {0};
	for (size_t i = 0; i < run->spec->source_count; i++)
		if (run->spec->sources[i].name)
			strings_add(run->arena, &names, run->spec->sources[i].name);
	error_set(error, RECLOSER_USAGE, "cli.source", "the spec has no source called %s", run->options->source);
	if (names.count)
		return error_hint(error, "it has %s", strings_join(run->arena, &names, ", "));
	return error_hint(error, "its one source has no name: leave --source out");
}

static recloser_status not_recognised(const struct run *run, const char *path, size_t hits, recloser_error *error)
{
	struct strings patterns = {0};
	for (size_t i = 0; i < run->spec->source_count; i++)
		for (size_t k = 0; k < run->spec->sources[i].block_count; k++) {
			const char *name = run->spec->sources[i].name, *files = run->spec->sources[i].blocks[k].files;
			strings_add(run->arena, &patterns, arena_printf(run->arena, "%s%s%s", name ? name : "", name ? ": " : "", files ? files : "*"));
		}
	error_set(error, RECLOSER_USAGE, "source.not_recognised",
	          hits ? "%s is recognised by several sources of the spec" : "%s is not recognised by any source of the spec", path);
	error_where(error, "files: %s", strings_join(run->arena, &patterns, "; "));
	return error_hint(error, run->spec->source_count > 1 ? "say whose it is: --source NAME" : "correct `files:` in the spec, or rename the file");
}

/* The source of one file: the one that --source names, else the only one whose `files` matches its name. */
static recloser_status recognise(const struct run *run, const char *path, const struct source_spec **out, recloser_error *error)
{
	const struct spec *spec = run->spec;
	size_t hits = 0;
	*out = NULL;
	for (size_t i = 0; i < spec->source_count; i++) {
		const struct source_spec *source = &spec->sources[i];
		if (run->options->source ? source->name && strcmp(source->name, run->options->source) == 0 : takes(source, name_of(run->arena, path))) {
			*out = source;
			hits++;
		}
	}
	if (!run->options->source && strcmp(path, "-") == 0 && spec->source_count == 1) {
		*out = &spec->sources[0];
		return RECLOSER_OK;
	}
	if (hits == 1)
		return RECLOSER_OK;
	return run->options->source ? unknown_source(run, error) : not_recognised(run, path, hits, error);
}

static bool is_folder(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The files that were named, folders replaced by what the spec matches in them. */
static recloser_status named_files(struct run *run, struct strings *out, recloser_error *error)
{
	for (size_t i = 0; i < run->options->file_count; i++) {
		const char *path = run->options->files[i];
		bool folder = strcmp(path, "-") != 0 && is_folder(path);
		struct strings found = {0};
		RC_TRY(input_expand(run->arena, path, &found, error));
		size_t before = out->count;
		for (size_t k = 0; k < found.count; k++) {
			bool wanted = !folder;
			for (size_t s = 0; folder && s < run->spec->source_count; s++)
				wanted |= takes(&run->spec->sources[s], name_of(run->arena, found.at[k]));
			if (wanted)
				strings_add(run->arena, out, found.at[k]);
		}
		if (out->count == before) {
			error_set(error, RECLOSER_USAGE, "source.empty_folder", "no file in this folder is recognised by the spec");
			error_where(error, "%s", path);
			return error_hint(error, "look at `files:` in %s", run->spec->path);
		}
	}
	if (out->count == 0)
		return error_set(error, RECLOSER_USAGE, "cli.no_files", "no file to load was named");
	return RECLOSER_OK;
}

/* The reference layer counts as a source: rows change when it changes. */
static recloser_status open_lookup(struct run *run, recloser_error *error)
{
	if (run->spec->geometry.from != GEOMETRY_LOOKUP)
		return RECLOSER_OK;
	struct input *lookup = arena_alloc(run->arena, sizeof *lookup);
	RC_TRY(input_open(run->arena, spec_resolve(run->arena, run->spec, run->spec->geometry.lookup.file), NULL, lookup, error));
	run->lookup = lookup;
	return RECLOSER_OK;
}

recloser_status run_begin_staging(struct run *run, recloser_error *error)
{
	if (run->options->dry_run)
		return staging_try(run->dataset, run->arena, run->id, run->spec->temp_directory, &run->staging, error);
	return staging_begin(run->dataset, run->arena, run->id, &run->staging, error);
}

recloser_status run_inputs(struct run *run, recloser_error *error)
{
	RC_TRY(open_lookup(run, error));
	struct strings files = {0};
	RC_TRY(named_files(run, &files, error));
	run->inputs = arena_array(run->arena, files.count, sizeof *run->inputs);
	for (size_t i = 0; i < files.count; i++) {
		const struct source_spec *source;
		RC_TRY(recognise(run, files.at[i], &source, error));
		/* Standard input is read once: it is kept beside the staged files, so the run's staging begins here. */
		if (strcmp(files.at[i], "-") == 0 && !run->staging)
			RC_TRY(run_begin_staging(run, error));
		RC_TRY(input_open(run->arena, files.at[i], run->staging ? staging_directory(run->staging) : NULL, &run->inputs[i], error));
		run->inputs[i].source = source;
		run->input_count++;
		for (size_t k = 0; k < i; k++)
			if (strcmp(run->inputs[k].sha256, run->inputs[i].sha256) == 0 && run->inputs[k].source == source) {
				error_set(error, RECLOSER_USAGE, "source.twice", "two of the files have the same bytes");
				error_where(error, "%s and %s", run->inputs[k].path, run->inputs[i].path);
				return error_hint(error, "name it once");
			}
	}
	return RECLOSER_OK;
}
