#define _GNU_SOURCE /* mkostemps */
/* SPDX-License-Identifier: Apache-2.0
 * Archives: which member of a zip is meant, and making it readable. A format of several files is read inside the zip; a
 * single file is taken out first, since readers that jump about in it would unpack it again and again. */
#include "source/ogr.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/gdal.h"
#include "geo/quiet.h"
#include "source/spool.h"

enum { MOST_LISTED = 12 };

static const char *extension_of(const char *name)
{
	const char *slash = strrchr(name, '/'), *dot = strrchr(slash ? slash : name, '.');
	return dot ? dot : "";
}

static bool has_extension(const char *name, const char *const *extensions)
{
	for (const char *extension = extension_of(name); *extensions; extensions++)
		if (text_equal_nocase(extension, *extensions))
			return true;
	return false;
}

/* Not GDAL's: text, JSON, Parquet and workbooks have readers of their own. */
static bool is_for_another(const struct source_request *request, const char *name)
{
	source_reader *reader = source_reader_for(request->block, name);
	return reader && reader != ogr_open;
}

/* A MapInfo table is .tab beside a .dat; alone, .tab is text with tabs. */
static bool is_mapinfo(const struct strings *entries, const char *name)
{
	size_t stem = strlen(name) - strlen(extension_of(name));
	if (!text_equal_nocase(extension_of(name), ".tab"))
		return false;
	for (size_t i = 0; i < entries->count; i++)
		if (strncmp(entries->at[i], name, stem) == 0 && text_equal_nocase(entries->at[i] + stem, ".dat"))
			return true;
	return false;
}

static bool is_several_files(const struct strings *entries, const char *name)
{
	static const char *const several[] = {".shp", ".gdb", ".mif", NULL};
	return has_extension(name, several) || is_mapinfo(entries, name);
}

/* How likely a member is the table: by its name one, text that may be a note, anything else. Of the members that match,
 * those of the best rank are meant; the files beside a .shp are thus passed over. */
static int rank_of(const struct strings *entries, const char *name)
{
	static const char *const known[] = {".shp", ".gdb", ".gpkg", ".fgb",    ".kml", ".kmz", ".gml", ".mif", ".ods",
										".xls", ".dxf", ".gpx",  ".sqlite", ".jml", ".gmt", ".osm", ".pbf", NULL};
	static const char *const text[] = {".txt", NULL};
	static const struct block by_name;
	if (has_extension(name, text))
		return 1;
	return has_extension(name, known) || is_mapinfo(entries, name) || source_reader_for(&by_name, name) ? 0 : 2;
}

/* Handles are put into boxes that hang on the arena before the handle is there: running out of memory leaks none. */
static void destroy_list(void *box)
{
	gdal()->CSLDestroy(*(char ***)box);
}

static void close_member(void *box)
{
	VSILFILE *file = *(VSILFILE **)box;
	if (file)
		gdal()->VSIFCloseL(file);
}

static void remove_copy(void *path)
{
	unlink(path);
}

/* Every file in the archive, and every .gdb folder as one. */
static recloser_status list_entries(struct arena *arena, const struct source_request *request, const char *root,
									struct strings *out, recloser_error *error)
{
	struct quiet quiet;
	char ***listed = arena_alloc(arena, sizeof *listed);
	arena_defer(arena, destroy_list, listed);
	quiet_begin(&quiet);
	*listed = gdal()->VSIReadDirRecursive(root);
	quiet_end(&quiet);
	if (!*listed) {
		error_set(error, RECLOSER_REFUSED, "zip.open", "the file is no zip archive, or it is damaged or empty");
		return error_where(error, "%s", request->input->name);
	}
	for (char **entry = *listed; *entry; entry++) {
		size_t length = strlen(*entry);
		const char *slash = strrchr(*entry, '/'), *base = slash ? slash + 1 : *entry;
		bool folder = length && (*entry)[length - 1] == '/';
		const char *name = arena_strndup(arena, *entry, folder ? length - 1 : length);
		if (text_starts(name, "__MACOSX") || *base == '.' || strstr(name, ".gdb/"))
			continue;
		if (!folder || text_equal_nocase(extension_of(name), ".gdb"))
			strings_add(arena, out, name);
	}
	return RECLOSER_OK;
}

static bool member_matches(const char *pattern, const char *name)
{
	const char *slash = strrchr(name, '/');
	return text_matches(pattern, name, true) || text_matches(pattern, slash ? slash + 1 : name, true);
}

static void choose_members(struct arena *arena, const char *pattern, const struct strings *entries, struct strings *out)
{
	for (int rank = 0; rank <= (pattern ? 2 : 1) && out->count == 0; rank++)
		for (size_t i = 0; i < entries->count; i++)
			if (rank_of(entries, entries->at[i]) == rank && (!pattern || member_matches(pattern, entries->at[i])))
				strings_add(arena, out, entries->at[i]);
}

static const char *listing(struct arena *arena, const struct strings *names)
{
	struct strings few = {names->at, names->count < MOST_LISTED ? names->count : MOST_LISTED};
	return arena_printf(arena, "%s%s", strings_join(arena, &few, ", "), names->count > MOST_LISTED ? ", ..." : "");
}

/* Shapefiles side by side are layers of one dataset. */
static const char *common_folder(struct arena *arena, const struct strings *members)
{
	const char *first = members->at[0], *slash = strrchr(first, '/');
	size_t folder = slash ? (size_t)(slash - first) : 0;
	for (size_t i = 0; i < members->count; i++) {
		const char *at = members->at[i], *last = strrchr(at, '/');
		if (!text_equal_nocase(extension_of(at), ".shp") || (last ? (size_t)(last - at) : 0) != folder ||
			strncmp(at, first, folder) != 0)
			return NULL;
	}
	return arena_strndup(arena, first, folder);
}

static recloser_status take_out(struct arena *arena, const struct source_request *request, const char *path,
								const char *member, const char **copy, recloser_error *error)
{
	const char *extension = extension_of(member), *directory = spool_directory(request->spool);
	char *name = arena_printf(arena, "%s/member-XXXXXX%s", directory, extension), *buffer = arena_alloc(arena, 1 << 16);
	VSILFILE **from = arena_alloc(arena, sizeof(VSILFILE *));
	int *to = descriptor_on(arena);
	arena_defer(arena, remove_copy, name); /* before it is there: the name with its X's is nobody's */
	arena_defer(arena, close_member, (void *)from);
	struct quiet quiet;
	quiet_begin(&quiet);
	*from = gdal()->VSIFOpenL(path, "rb");
	quiet_end(&quiet);
	if (!*from) {
		error_set(error, RECLOSER_REFUSED, "zip.member", "the member %s cannot be unpacked: %s", member, quiet.text);
		error_where(error, "%s", request->input->name);
		return error_hint(error, "it may be encrypted or packed in a way that GDAL does not know");
	}
	*to = mkostemps(name, (int)strlen(extension), O_CLOEXEC);
	if (*to < 0)
		return error_errno(error, "io.spool", errno, "make a temporary file in", directory);
	for (;;) {
		quiet_begin(&quiet);
		size_t got = gdal()->VSIFReadL(buffer, 1, 1 << 16, *from);
		bool end = got == 0 && gdal()->VSIFEofL(*from);
		quiet_end(&quiet);
		if (got == 0 && (!end || quiet.failed)) {
			error_set(error, RECLOSER_REFUSED, "zip.member", "the member %s is damaged%s%s", member,
					  quiet.text[0] ? ": " : "", quiet.text);
			return error_where(error, "%s", request->input->name);
		}
		if (got == 0)
			break;
		RC_TRY(write_all(*to, buffer, got, name, error));
	}
	*copy = name;
	return RECLOSER_OK;
}

static recloser_status locate_member(struct arena *arena, const struct source_request *request,
									 const struct strings *entries, const char *root, const char *member,
									 struct ogr_place *out, recloser_error *error)
{
	out->path = arena_printf(arena, "%s/%s", root, member);
	bool ours = !request->block->format || source_reader_for(request->block, member) == ogr_open;
	if (ours && is_several_files(entries, member))
		return RECLOSER_OK;
	RC_TRY(take_out(arena, request, out->path, member, &out->path, error));
	if (is_for_another(request, member)) {
		const char *slash = strrchr(member, '/');
		struct input *input = arena_alloc(arena, sizeof *input);
		*input = *request->input;
		input->read_path = out->path;
		input->name = slash ? slash + 1 : member;
		out->replaced = input;
	}
	return RECLOSER_OK;
}

recloser_status ogr_locate(struct arena *arena, const struct source_request *request, struct ogr_place *out,
						   recloser_error *error)
{
	static const char *const archives[] = {".zip", ".shz", NULL};
	const struct input *input = request->input;
	const char *pattern = request->block->member;
	struct strings entries = {0}, members = {0};
	RC_TRY(gdal_load(error));
	*out = (struct ogr_place){.path = input->read_path};
	if (!pattern && !has_extension(input->name, archives))
		return RECLOSER_OK;
	const char *root = arena_printf(arena, "/vsizip/{%s}", input->read_path);
	RC_TRY(list_entries(arena, request, root, &entries, error));
	choose_members(arena, pattern, &entries, &members);
	if (members.count == 1)
		return locate_member(arena, request, &entries, root, members.at[0], out, error);
	const char *folder = members.count && !pattern ? common_folder(arena, &members) : NULL;
	if (folder) {
		out->path = *folder ? arena_printf(arena, "%s/%s", root, folder) : root;
		return RECLOSER_OK;
	}
	if (members.count == 0) {
		const char *what = pattern ? arena_printf(arena, "no member of the zip is called \"%s\"", pattern)
								   : "the zip holds no file of a known format";
		error_set(error, RECLOSER_REFUSED, "zip.member", "%s", what);
		error_where(error, "%s", input->name);
		return error_hint(error, "its members are %s", listing(arena, &entries));
	}
	error_set(error, RECLOSER_REFUSED, "zip.member", "the zip holds several files that could be meant: %s",
			  listing(arena, &members));
	error_where(error, "%s", input->name);
	return error_hint(error, "name one by `member:` in the source's block");
}
