#define _GNU_SOURCE /* mkostemp */
/* SPDX-License-Identifier: Apache-2.0
 * Fingerprints of inputs. Everything that a reader will look at is under the digest, since an equal fingerprint is the
 * reason to open nothing: a shapefile whose .dbf alone changed is another source. */
#include "source/input.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/spool.h"
#include "store/remote.h"

static const char *last_part(struct arena *arena, const char *path)
{
	size_t length = strlen(path);
	while (length > 1 && path[length - 1] == '/')
		length--;
	size_t begin = length;
	while (begin > 0 && path[begin - 1] != '/')
		begin--;
	return arena_strndup(arena, path + begin, length - begin);
}

static bool has_suffix(const char *name, const char *suffix)
{
	size_t n = strlen(name), m = strlen(suffix);
	return n >= m && text_equal_nocase(name + n - m, suffix);
}

/* ---- what can be read only once ---- */

static void remove_copy(void *path)
{
	unlink(path);
}

static void free_digest(void *box)
{
	sha256_free(*(struct sha256 **)box);
}

static recloser_status copy_stream(struct arena *arena, int from, const char *path, int to, const char *copy,
								   struct input *out, recloser_error *error)
{
	enum { BUFFER = 1 << 18 };
	char *buffer = arena_alloc(arena, BUFFER);
	struct sha256 **box = arena_alloc(arena, sizeof(struct sha256 *));
	arena_defer(arena, free_digest, (void *)box);
	struct sha256 *digest = *box = sha256_new();
	if (!digest)
		arena_out_of_memory(arena);
	for (;;) {
		ssize_t got = read(from, buffer, BUFFER);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_errno(error, "io.read", errno, "read", path);
		if (got == 0)
			break;
		sha256_add(digest, buffer, (size_t)got);
		RC_TRY(write_all(to, buffer, (size_t)got, copy, error));
		out->bytes += (uint64_t)got;
	}
	uint8_t binary[32];
	sha256_end(digest, binary);
	hex_of(binary, sizeof binary, out->sha256);
	return RECLOSER_OK;
}

static recloser_status spool_stream(struct arena *arena, int from, const char *spool, struct input *out,
									recloser_error *error)
{
	spool = spool_directory(spool);
	/* Named, since readers open it by its path. */
	char *copy = arena_printf(arena, "%s/input-XXXXXX", spool);
	int *to = descriptor_on(arena);
	arena_defer(arena, remove_copy, copy); /* before it is there: the name with its X's is nobody's */
	*to = mkostemp(copy, O_CLOEXEC);
	if (*to < 0)
		return error_errno(error, "io.spool", errno, "make a temporary file in", spool);
	RC_TRY(copy_stream(arena, from, out->name, *to, spool, out, error));
	out->read_path = copy;
	return RECLOSER_OK;
}

/* ---- sources of several files ---- */

static void close_folder(void *box)
{
	DIR *directory = *(DIR **)box;
	if (directory)
		closedir(directory);
}

/* The names in a folder that are regular files (through symbolic links too) and not hidden, sorted. */
static recloser_status files_in(struct arena *arena, const char *folder, struct strings *names, recloser_error *error)
{
	struct strings found = {0};
	struct arena *scratch = arena_new(arena);
	DIR **directory = arena_alloc(scratch, sizeof(DIR *));
	arena_defer(scratch, close_folder, (void *)directory);
	*directory = opendir(folder);
	if (!*directory)
		return error_errno(error, "io.open", errno, "open the folder", folder);
	errno = 0;
	for (struct dirent *entry; (entry = readdir(*directory)); errno = 0) {
		struct stat status;
		if (entry->d_name[0] == '.')
			continue;
		const char *path = arena_printf(scratch, "%s/%s", folder, entry->d_name);
		if (stat(path, &status) == 0 && S_ISREG(status.st_mode))
			strings_add(arena, &found, arena_strdup(arena, entry->d_name));
	}
	int number = errno;
	arena_free(scratch);
	if (number)
		return error_errno(error, "io.read", number, "read the folder", folder);
	strings_sort(&found);
	*names = found;
	return RECLOSER_OK;
}

static recloser_status digest_parts(struct arena *arena, const char *folder, const struct strings *names, struct input *out,
									recloser_error *error)
{
	struct text list = text_on(arena);
	for (size_t i = 0; i < names->count; i++) {
		char hex[SHA256_HEX];
		uint64_t bytes;
		RC_TRY(sha256_file(arena_printf(arena, "%s/%s", folder, names->at[i]), hex, &bytes, error));
		/* By extension: a copy under another name is the same source. */
		const char *extension = strrchr(names->at[i], '.');
		text_addf(&list, "%s %s\n", hex, has_suffix(out->name, ".shp") ? extension : names->at[i]);
		out->bytes += bytes;
	}
	sha256_of(list.at, list.length, out->sha256);
	return RECLOSER_OK;
}

/* The parts of a shapefile that change what is read. Letter case as found. */
static recloser_status digest_shapefile(struct arena *arena, const char *path, struct input *out, recloser_error *error)
{
	static const char *const parts[] = {".shp", ".dbf", ".shx", ".prj", ".cpg"};
	const char *slash = strrchr(path, '/');
	const char *folder = slash ? arena_strndup(arena, path, (size_t)(slash - path) + (slash == path)) : ".";
	size_t stem = strlen(out->name) - 4;
	struct strings all = {0}, names = {0};
	RC_TRY(files_in(arena, folder, &all, error));
	for (size_t i = 0; i < all.count; i++)
		for (size_t p = 0; p < sizeof parts / sizeof *parts; p++)
			if (strlen(all.at[i]) == stem + 4 && strncmp(all.at[i], out->name, stem) == 0 && has_suffix(all.at[i], parts[p]))
				strings_add(arena, &names, all.at[i]);
	return digest_parts(arena, folder, &names, out, error);
}

recloser_status input_open(struct arena *arena, const char *path, const char *spool, struct input *out,
						   recloser_error *error)
{
	*out = (struct input){.path = arena_strdup(arena, path)};
	out->read_path = out->path;
	if (strcmp(path, "-") == 0) {
		out->name = "stdin";
		return spool_stream(arena, STDIN_FILENO, spool, out, error);
	}
	if (remote_is(path))
		return input_fetch(arena, spool, out, error);
	out->name = last_part(arena, path);
	struct stat status;
	if (stat(path, &status) != 0)
		return error_errno(error, "io.open", errno, "open", path);
	if (S_ISDIR(status.st_mode)) {
		struct strings names;
		if (!has_suffix(out->name, ".gdb"))
			return error_errno(error, "io.open", EISDIR, "read", path);
		RC_TRY(files_in(arena, path, &names, error));
		return digest_parts(arena, path, &names, out, error);
	}
	if (S_ISREG(status.st_mode))
		return has_suffix(out->name, ".shp") ? digest_shapefile(arena, path, out, error)
											 : sha256_file(path, out->sha256, &out->bytes, error);
	int *descriptor = descriptor_on(arena);
	*descriptor = open(path, O_RDONLY | O_CLOEXEC);
	if (*descriptor < 0)
		return error_errno(error, "io.open", errno, "open", path);
	return spool_stream(arena, *descriptor, spool, out, error);
}

recloser_status input_expand(struct arena *arena, const char *path, struct strings *out, recloser_error *error)
{
	struct stat status;
	if (strcmp(path, "-") == 0 || remote_is(path) || has_suffix(last_part(arena, path), ".gdb")) {
		strings_add(arena, out, arena_strdup(arena, path));
		return RECLOSER_OK;
	}
	if (stat(path, &status) != 0)
		return error_errno(error, "io.open", errno, "open", path);
	if (!S_ISDIR(status.st_mode)) {
		strings_add(arena, out, arena_strdup(arena, path));
		return RECLOSER_OK;
	}
	struct strings names;
	RC_TRY(files_in(arena, path, &names, error));
	size_t length = strlen(path);
	const char *slash = length && path[length - 1] == '/' ? "" : "/";
	for (size_t i = 0; i < names.count; i++)
		strings_add(arena, out, arena_printf(arena, "%s%s%s", path, slash, names.at[i]));
	return RECLOSER_OK;
}
