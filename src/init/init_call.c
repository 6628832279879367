#define _XOPEN_SOURCE 700 /* nftw */
/* SPDX-License-Identifier: Apache-2.0
 * recloser_init. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "init/init.h"
#include "report/result.h"
#include "run/call.h"
#include "source/input.h"

/* ---- a directory of this call's own ---- */

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *place)
{
	(void)st;
	(void)kind;
	(void)place;
	(void)remove(path);
	return 0;
}

static void remove_spool(void *path)
{
	(void)nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static recloser_status make_spool(struct init *init, recloser_error *error)
{
	const char *base = getenv("TMPDIR");
	char *path = arena_printf(init->arena, "%s/recloser-init-XXXXXX", base && *base ? base : "/tmp");
	if (!mkdtemp(path))
		return error_errno(error, "io.create", errno, "create", path);
	init->spool = path;
	arena_defer(init->arena, remove_spool, path);
	return RECLOSER_OK;
}

/* ---- what was found, for programs ---- */

static json_t *key_json(struct init *init, const struct init_key *key)
{
	json_t *json = json_new_object(init->arena), *names = json_new_array(init->arena);
	for (size_t i = 0; i < key->count; i++)
		json_add_text(init->arena, names, init->columns[key->at[i]].name);
	json_put(init->arena, json, "identity", names);
	json_put_int(init->arena, json, "distinct", (int64_t)key->distinct);
	json_put_int(init->arena, json, "missing", (int64_t)key->missing);
	json_put_bool(init->arena, json, "unique", key->unique);
	if (init->input_count > 1)
		json_put_int(init->arena, json, "matched", (int64_t)key->matched);
	return json;
}

static json_t *column_json(struct init *init, const struct init_column *column)
{
	json_t *json = json_new_object(init->arena);
	json_put_text(init->arena, json, "name", column->geometry ? "geometry" : column->name);
	json_put_text(init->arena, json, "source", column->source_name);
	json_put_text(init->arena, json, "type", column->type == TYPE_UNSET ? NULL : column_type_word(column->type));
	json_put_int(init->arena, json, "filled", (int64_t)column->filled);
	json_put_int(init->arena, json, "distinct", (int64_t)column->distinct);
	json_put(init->arena, json, "missing_words", result_strings(init->arena, column->rule.missing.at, column->rule.missing.count));
	json_put_text(init->arena, json, "reason", column->reason);
	json_put_text(init->arena, json, "no_key", column->why_not);
	if (column->compared)
		json_put_int(init->arena, json, "changed", (int64_t)column->changed);
	return json;
}

static json_t *report_of(struct init *init, const char *yaml)
{
	struct arena *arena = init->arena;
	json_t *json = json_new_object(arena), *columns = json_new_array(arena), *keys = json_new_array(arena), *parts = json_new_array(arena);
	json_put_text(arena, json, "file", init->inputs[0].path);
	json_put_text(arena, json, "format", init->format);
	json_put_int(arena, json, "rows", (int64_t)init->rows);
	json_put_bool(arena, json, "loads", init->loads);
	json_put_text(arena, json, "tried", init->tried);
	if (init->key.count)
		json_add(arena, keys, key_json(init, &init->key));
	for (size_t i = 0; i < init->other_count; i++)
		if (init->others[i].count)
			json_add(arena, keys, key_json(init, &init->others[i]));
	json_put(arena, json, "keys", keys);
	for (size_t i = 0; i < init->part_count; i++) {
		json_t *part = json_new_object(arena);
		json_put_text(arena, part, "column", init->parts[i].column);
		json_put_bool(arena, part, "chosen", init->parts[i].chosen);
		json_put_int(arena, part, "values", (int64_t)init->parts[i].values);
		json_add(arena, parts, part);
	}
	json_put(arena, json, "partition", parts);
	for (size_t i = 0; i < init->column_count; i++)
		json_add(arena, columns, column_json(init, &init->columns[i]));
	json_put(arena, json, "columns", columns);
	if (init->input_count > 1) {
		json_put_text(arena, json, "other", init->inputs[1].path);
		json_put_int(arena, json, "in_both", (int64_t)init->matched);
		json_put_int(arena, json, "only_here", (int64_t)init->only_old);
		json_put_int(arena, json, "only_there", (int64_t)init->only_new);
	}
	json_put_text(arena, json, "spec", yaml);
	return json;
}

/* ---- the call ---- */

static recloser_status open_files(struct init *init, recloser_error *error)
{
	const recloser_init_options *options = init->options;
	if (options->file_count < 1 || options->file_count > 2)
		return error_set(error, RECLOSER_USAGE, "init.files", "one file, or two publications of one source");
	for (size_t i = 0; i < options->file_count; i++) {
		if (strcmp(options->files[i], "-") == 0) {
			error_set(error, RECLOSER_USAGE, "init.stdin", "a spec is for files; standard input has no name to recognise");
			return error_hint(error, "save it under the name that it has with its publisher");
		}
		RC_TRY(input_open(init->arena, options->files[i], init->spool, &init->inputs[i], error));
		init->input_count++;
	}
	return RECLOSER_OK;
}

static recloser_status refuse_empty(const struct init *init, recloser_error *error)
{
	if (init->first_fault) {
		error_set(error, RECLOSER_REFUSED, "source.no_rows", "no row of the file can be read: %s", init->first_fault);
		error_where(error, "%s", init->inputs[0].path);
		return error_hint(error, "if its texts are in another encoding, say so: --encoding windows-1252");
	}
	error_set(error, RECLOSER_REFUSED, "source.no_rows", "there are no rows to learn from");
	error_where(error, "%s", init->inputs[0].path);
	return error_hint(error, "take a file with rows in it");
}

static recloser_status save(const struct init *init, const char *yaml, recloser_error *error)
{
	const char *path = init->options->output;
	int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (descriptor < 0 && errno == EEXIST) {
		error_set(error, RECLOSER_USAGE, "init.exists", "%s is there already", path);
		return error_hint(error, "a spec that somebody has edited is not overwritten; write to another name and compare");
	}
	if (descriptor < 0)
		return error_errno(error, "io.create", errno, "create", path);
	size_t count = strlen(yaml), done = 0;
	int number = 0;
	while (done < count && !number) {
		ssize_t wrote = write(descriptor, yaml + done, count - done);
		if (wrote >= 0)
			done += (size_t)wrote;
		else if (errno != EINTR)
			number = errno;
	}
	if (close(descriptor) != 0 && !number)
		number = errno;
	return number ? error_errno(error, "io.write", number, "write", path) : RECLOSER_OK;
}

static recloser_status init_work(struct arena *arena, const void *given, recloser_result **out, recloser_error *error)
{
	struct init *init = arena_alloc(arena, sizeof *init);
	*init = (struct init){.arena = arena, .options = given};
	RC_TRY(make_spool(init, error));
	RC_TRY(call_engine(arena, &init->options->common, NULL, &init->engine, error));
	RC_TRY(open_files(init, error));
	init_name(init);
	RC_TRY(init_open(init, error));
	RC_TRY(init_survey(init, error));
	if (init->rows == 0)
		return refuse_empty(init, error);
	RC_TRY(init_types(init, error));
	RC_TRY(init_geometry(init, error));
	RC_TRY(init_keys(init, error));
	RC_TRY(init_parts(init, error));
	RC_TRY(init_try(init, init_write(init), error));
	const char *yaml = init_write(init);
	if (init->options->output)
		RC_TRY(save(init, yaml, error));
	const char *text = init->options->output ? arena_printf(arena, "%s\n%s\n", init->options->output, init->tried) : yaml;
	*out = result_new(arena, report_of(init, yaml), text);
	return RECLOSER_OK;
}

recloser_status recloser_init(const recloser_init_options *options, recloser_result **out, recloser_error *error)
{
	return call_run(init_work, options, out, error);
}
