/* SPDX-License-Identifier: Apache-2.0
 * The versions of a moment as a view for DuckDB, and as a tree of their own. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hive.h"
#include "base/json.h"
#include "history/history.h"

/* ---- SQL ---- */

/* A view outlives the directory that it was made in. */
static const char *absolute(struct arena *arena, const char *path)
{
	char here[4096];
	if (*path == '/' || strstr(path, "://") || !getcwd(here, sizeof here))
		return path;
	return arena_printf(arena, "%s/%s", here, strncmp(path, "./", 2) == 0 ? path + 2 : path);
}

/* The type that a record says of a column, or NULL. */
static const char *column_type_of(const struct record *record, const char *name)
{
	const json_t *schema = json_object_get(record->json, "schema");
	for (size_t i = 0; i < json_array_size(schema); i++) {
		const char *its = json_get_text(json_array_get(schema, i), "name");
		if (its && strcmp(its, name) == 0)
			return json_get_text(json_array_get(schema, i), "type");
	}
	return NULL;
}

/* Do all the files hold all the partition columns? Not for sure where the spec keeps them in the path, nor in adopted files.
 */
static bool columns_in_files(const struct history *h, const struct moment *moment)
{
	if (h->spec->partition_columns == PARTITION_PATH)
		return false;
	for (size_t i = 0; i < moment->count; i++)
		for (size_t c = 0; c < h->spec->partition.count; c++) {
			const char *type = column_type_of(moment->at[i].record, h->spec->partition.at[c]);
			if (!type || (h->spec->partition_columns == PARTITION_DICTIONARY && strcmp(type, "VARCHAR") != 0))
				return false;
		}
	return true;
}

static const char *file_list(const struct history *h, const struct moment *moment)
{
	struct text out = text_on(h->arena);
	for (size_t i = 0; i < moment->count; i++)
		if (moment->at[i].kept.file)
			text_addf(&out, "%s\n    %s", out.length ? "," : "", sql_text(h->arena, absolute(h->arena, moment->at[i].kept.file)));
	return out.at;
}

static const char *value_type(const struct moment *moment, const char *column)
{
	for (size_t i = 0; i < moment->count; i++) {
		const char *type = column_type_of(moment->at[i].record, column);
		if (type)
			return type;
	}
	return "VARCHAR";
}

/* The partition columns stand in the paths only, and the archive's paths are not theirs: they come from a list beside. */
static const char *select_with_list(const struct history *h, const struct moment *moment)
{
	struct arena *arena = h->arena;
	const struct strings *columns = &h->spec->partition;
	struct text hidden = text_on(arena), taken = text_on(arena), names = text_on(arena), values = text_on(arena);
	for (size_t c = 0; c < columns->count; c++) {
		const char *name = sql_name(arena, columns->at[c]);
		text_addf(&hidden, "%s%s", c ? ", " : "", sql_text(arena, columns->at[c]));
		text_addf(&taken, ", CAST(place.%s AS %s) AS %s", name, value_type(moment, columns->at[c]), name);
		text_addf(&names, ", %s", name);
	}
	for (size_t i = 0; i < moment->count; i++) {
		const char **parts = partition_values(arena, columns, moment->at[i].record->partition);
		if (!moment->at[i].kept.file || !parts)
			continue;
		text_addf(&values, "%s\n    (%s", values.length ? "," : "", sql_text(arena, absolute(arena, moment->at[i].kept.file)));
		for (size_t c = 0; c < columns->count; c++)
			text_addf(&values, ", %s", sql_text(arena, parts[c]));
		text_add(&values, ")");
	}
	return arena_printf(arena,
						"SELECT version.* EXCLUDE (recloser_file)%s\n"
						"FROM (SELECT COLUMNS(name -> name NOT IN (%s)) FROM read_parquet([%s],\n"
						"    hive_partitioning = false, union_by_name = true, filename = 'recloser_file')) version\n"
						"JOIN (VALUES%s) place(file%s) ON place.file = version.recloser_file",
						taken.at, hidden.at, file_list(h, moment), values.at, names.at);
}

static const char *view_name(struct arena *arena, const struct history *h, const struct moment *moment)
{
	char *name = arena_printf(arena, "%s_%s", h->dataset->name,
							  strncmp(moment->shown, "tag ", 4) == 0 ? moment->shown + 4 : moment->shown);
	for (char *at = name; *at; at++)
		if (!(*at >= '0' && *at <= '9') && !(*at >= 'A' && *at <= 'Z') && !(*at >= 'a' && *at <= 'z'))
			*at = '_';
	return sql_name(arena, name);
}

/* What no view can keep still: the files that the next load replaces, as comments. */
static const char *unsteady(const struct history *h, const struct moment *moment)
{
	enum { SHOWN = 5 };
	struct text out = text_on(h->arena);
	size_t count = 0;
	for (size_t i = 0; i < moment->count; i++)
		if (moment->at[i].kept.live && ++count <= SHOWN)
			text_addf(&out, "-- reads the live file of %s, which no archived one equals: the next load of it changes this view\n",
					  partition_shown(moment->at[i].record->partition));
	if (count > SHOWN)
		text_addf(&out, "-- and those of %zu more partitions\n", count - SHOWN);
	return out.length ? out.at : "";
}

const char *as_of_sql(const struct history *h, const struct moment *moment)
{
	struct arena *arena = h->arena;
	const char *select =
		h->spec->partition.count == 0 || columns_in_files(h, moment)
			? arena_printf(arena, "SELECT * FROM read_parquet([%s],\n    hive_partitioning = false, union_by_name = true)",
						   file_list(h, moment))
			: select_with_list(h, moment);
	return arena_printf(arena, "-- %s as of %s\n%sCREATE OR REPLACE VIEW %s AS\n%s;\n", h->dataset->name, moment->shown,
						unsteady(h, moment), view_name(arena, h, moment), select);
}

/* ---- a tree ---- */

static recloser_status check_target(struct history *h, const char *directory, recloser_error *error)
{
	struct fs *fs = h->dataset->fs;
	struct strings names = {0};
	int failed = fs->ops->list(fs, directory, h->arena, &names);
	if (failed == ENOENT || (failed == 0 && names.count == 0))
		return RECLOSER_OK;
	if (failed && failed != ENOTDIR)
		return error_errno(error, "store.list", failed, "list", directory);
	error_set(error, RECLOSER_USAGE, "as_of.directory", "%s is %s", directory, failed ? "a file" : "not empty");
	return error_hint(error, "name a directory that is absent or empty");
}

/* A copy, not a link: a link would share its bytes with the archive, and one program that writes in place would spoil both.
 * Where the file system can, the copy shares its blocks. */
static recloser_status copy_one(struct history *h, const struct moment_version *version, const char *directory,
								recloser_error *error)
{
	struct fs *fs = h->dataset->fs;
	struct fs_file *file;
	const char *folder = path_in(h->arena, directory, version->record->partition, "");
	const char *to = path_in(h->arena, folder, "part.parquet", "");
	const char *from;
	RC_TRY(version_file(h->dataset, h->arena, version->kept.record, &from, error));
	RC_TRY(make_directory(h->dataset, h->arena, folder, error));
	int failed = fs->ops->copy(fs, from, to);
	partition_forget(h->dataset, version->record->partition);
	if (failed)
		return error_errno(error, "store.copy", failed, "copy to", to);
	failed = fs->ops->open(fs, to, false, &file);
	if (failed)
		return error_errno(error, "store.open", failed, "open", to);
	failed = fs->ops->sync(fs, file);
	fs->ops->close(fs, file);
	if (failed)
		return error_errno(error, "store.sync", failed, "sync", to);
	return version_sound(h->dataset, version->record, to, error);
}

recloser_status as_of_copy(struct history *h, const struct moment *moment, const char *directory, recloser_error *error)
{
	struct fs *fs = h->dataset->fs;
	size_t length = strlen(directory);
	while (length > 1 && directory[length - 1] == '/')
		length--;
	directory = arena_strndup(h->arena, directory, length);
	const char *beside = arena_printf(h->arena, "%s.%s", directory, clock_run_id(h->arena));
	RC_TRY(check_target(h, directory, error));
	recloser_status status = make_directory(h->dataset, h->arena, beside, error);
	for (size_t i = 0; i < moment->count && status == RECLOSER_OK; i++)
		status = copy_one(h, &moment->at[i], beside, error);
	if (status == RECLOSER_OK) {
		int failed = fs->ops->rename(fs, beside, directory); /* takes the place of an empty directory */
		if (failed)
			status = error_errno(error, "store.rename", failed, "make", directory);
	}
	if (status != RECLOSER_OK)
		remove_tree(fs, h->arena, beside, NULL);
	return status;
}
