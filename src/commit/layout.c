/* SPDX-License-Identifier: Apache-2.0
 * Where the files of a dataset are. Numbers have eight digits so that they sort as text; more digits are fine. */
#include "commit/protocol.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

const char *path_in(struct arena *arena, const char *base, const char *partition, const char *leaf)
{
	return arena_printf(arena, "%s%s%s%s%s", base, *partition ? "/" : "", partition, *leaf ? "/" : "", leaf);
}

const char *path_control(const struct dataset *dataset, struct arena *arena, const char *relative)
{
	return path_in(arena, dataset->control, relative, "");
}

const char *path_commit(const struct dataset *dataset, struct arena *arena, int64_t number)
{
	return arena_printf(arena, "%s/commits/%08" PRId64 ".json", dataset->control, number);
}

const char *path_record(const struct dataset *dataset, struct arena *arena, const char *partition, int64_t seq)
{
	return path_in(arena, path_control(dataset, arena, "ledger"), partition, arena_printf(arena, "%08" PRId64 ".json", seq));
}

const char *path_staging(const struct dataset *dataset, struct arena *arena, const char *run)
{
	return path_in(arena, path_control(dataset, arena, "staging"), run, "");
}

const char *path_staged(const struct dataset *dataset, struct arena *arena, const char *run, const char *partition,
						const char *kind)
{
	return path_in(arena, path_staging(dataset, arena, run), partition, strcmp(kind, "adopted") == 0 ? "adopted" : "part");
}

const char *path_staged_record(const struct dataset *dataset, struct arena *arena, const char *run, const char *partition,
							   const char *kind)
{
	return path_in(arena, path_staging(dataset, arena, run), partition,
				   strcmp(kind, "adopted") == 0 ? "adopted.json" : "record.json");
}

const char *archive_name(struct arena *arena, const char *loaded_at, const char *partition, int64_t seq)
{
	return path_in(arena, arena_printf(arena, "archive/load_date=%.10s", loaded_at), partition,
				   arena_printf(arena, "part.parquet.%08" PRId64, seq));
}

const char *path_temporary(const struct dataset *dataset, struct arena *arena)
{
	return path_in(arena, path_control(dataset, arena, "tmp"), clock_run_id(arena), "");
}

const char *path_parent(struct arena *arena, const char *path)
{
	const char *slash = strrchr(path, '/');
	if (!slash)
		return ".";
	return slash == path ? "/" : arena_strndup(arena, path, (size_t)(slash - path));
}

int64_t number_of(const char *name)
{
	char *end;
	if (*name < '0' || *name > '9')
		return 0;
	long long number = strtoll(name, &end, 10);
	return strcmp(end, ".json") == 0 && number > 0 ? (int64_t)number : 0;
}

bool is_partition_path(const char *relative)
{
	while (*relative) {
		size_t length = strcspn(relative, "/");
		const char *equals = memchr(relative, '=', length);
		if (!equals || equals == relative || equals == relative + length - 1)
			return false;
		relative += length;
		if (*relative == '/' && *++relative == '\0')
			return false;
	}
	return true;
}

static recloser_status too_long(const char *path, size_t most, recloser_error *error)
{
	error_set(error, RECLOSER_IO, "store.name_too_long", "a name is longer than this file system takes (%zu bytes)", most);
	error_where(error, "%s", path);
	return error_hint(error, "use shorter partition values, or a root with a shorter path");
}

static recloser_status check_lengths(const char *path, unsigned name_max, recloser_error *error)
{
	if (strlen(path) >= PATH_MAX)
		return too_long(path, PATH_MAX - 1, error);
	for (const char *at = path; *at;) {
		size_t length = strcspn(at, "/");
		if (length > name_max)
			return too_long(path, name_max, error);
		at += length + (at[length] == '/');
	}
	return RECLOSER_OK;
}

recloser_status path_lengths(const struct dataset *dataset, struct arena *arena, const char *run, const char *partition,
							 unsigned name_max, recloser_error *error)
{
	const char *any_date = "0000-00-00";
	const char *paths[] = {
		path_in(arena, dataset->tree, partition, "part.parquet"),
		path_staged_record(dataset, arena, run, partition, "adopted"),
		path_record(dataset, arena, partition, 1),
		path_control(dataset, arena, archive_name(arena, any_date, partition, 1)),
	};
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		RC_TRY(check_lengths(paths[i], name_max, error));
	return RECLOSER_OK;
}
