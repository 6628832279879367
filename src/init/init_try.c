/* SPDX-License-Identifier: Apache-2.0
 * The proof of a proposal: a load of the file by it, up to the verified files, in a directory of this call's own. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "init/init.h"

static recloser_status write_file(const char *path, const char *text, recloser_error *error)
{
	int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (descriptor < 0)
		return error_errno(error, "io.create", errno, "create", path);
	size_t count = strlen(text), done = 0;
	while (done < count) {
		ssize_t wrote = write(descriptor, text + done, count - done);
		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0) {
			int number = errno;
			close(descriptor);
			return error_errno(error, "io.write", number, "write", path);
		}
		done += (size_t)wrote;
	}
	return close(descriptor) == 0 ? RECLOSER_OK : error_errno(error, "io.write", errno, "write", path);
}

static const char *outcome(struct init *init, const json_t *report)
{
	struct arena *arena = init->arena;
	struct text out = text_on(arena);
	static const struct { const char *name, *word; } fates[] = {{"superseded", "superseded"}, {"collapsed", "collapsed"}, {"filtered", "filtered"},
	                                                            {"quarantined", "quarantined"}};
	text_addf(&out, "Tried: it loads. %s in, %s written", init_rows_text(arena, (uint64_t)json_get_int(report, "rows_in", 0)),
	          text_count(arena, (uint64_t)json_get_int(report, "rows_written", 0)));
	for (size_t i = 0; i < sizeof fates / sizeof *fates; i++)
		if (json_get_int(report, fates[i].name, 0))
			text_addf(&out, ", %s %s", text_count(arena, (uint64_t)json_get_int(report, fates[i].name, 0)), fates[i].word);
	size_t parts = json_array_size(json_object_get(report, "partitions"));
	text_addf(&out, ", in %s partition%s.", text_count(arena, parts), parts == 1 ? "" : "s");
	return out.at;
}

/* No word on the proposal, which was not tried then. */
static bool machine_lacks(const recloser_error *refused)
{
	return strcmp(refused->code, "memory") == 0 || strcmp(refused->code, "gdal.missing") == 0;
}

recloser_status init_try(struct init *init, const char *yaml, recloser_error *error)
{
	struct arena *arena = init->arena;
	struct spec *spec;
	const char *path = arena_printf(arena, "%s/spec.yaml", init->spool);
	RC_TRY(spec_parse(arena, path, yaml, strlen(yaml), &spec, error));
	RC_TRY(write_file(path, yaml, error));
	const char *files[] = {init->inputs[0].path};
	recloser_load_options load = {.common = init->options->common, .files = files, .file_count = 1, .dry_run = true};
	load.common.spec_path = path;
	recloser_result *result = NULL;
	recloser_error refused = {0};
	recloser_status status = recloser_load(&load, &result, &refused);
	json_t *report = NULL;
	init->loads = status == RECLOSER_OK;
	if (init->loads && result && json_parse(arena, recloser_result_json(result), strlen(recloser_result_json(result)), "report", &report, &refused) == RECLOSER_OK)
		init->tried = outcome(init, report);
	else
		init->tried = arena_printf(arena, "Tried: it does not load yet. %s\n%s\n%s", refused.what, refused.where, refused.hint);
	recloser_result_free(result);
	if (status != RECLOSER_IO || !machine_lacks(&refused))
		return RECLOSER_OK;
	error_set(error, status, refused.code, "%s", refused.what);
	error_where(error, "%s", refused.where);
	return error_hint(error, "%s", refused.hint);
}
