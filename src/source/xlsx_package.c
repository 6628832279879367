/* SPDX-License-Identifier: Apache-2.0
 * The parts of a workbook, found by their relationships and not by their usual names: _rels/.rels leads to the workbook, its
 * own relationships to the sheets, the shared texts and the styles. */
#include "source/xlsx.h"

#include <stdlib.h>
#include <string.h>

#include "base/gdal.h"

/* ---- what kind of file is it? ---- */

static recloser_status refuse(recloser_error *error, const char *path, const char *what, const char *hint)
{
	error_set(error, RECLOSER_REFUSED, "xlsx.format", "%s %s", path, what);
	return error_hint(error, "%s", hint);
}

/* Does the file hold these UTF-16 letters in its first bytes? The directory of a compound file names its streams so. */
static bool holds_utf16(const unsigned char *bytes, size_t count, const char *word)
{
	size_t length = strlen(word);
	for (size_t i = 0; i + 2 * length <= count; i++) {
		size_t k = 0;
		while (k < length && bytes[i + 2 * k] == (unsigned char)word[k] && bytes[i + 2 * k + 1] == 0)
			k++;
		if (k == length)
			return true;
	}
	return false;
}

/* The names are in the directory; its first sector and the sectors' size are in the header of the file. */
static recloser_status refuse_compound(const char *path, VSILFILE *file, recloser_error *error)
{
	unsigned char header[512] = {0}, bytes[8192];
	gdal()->VSIFSeekL(file, 0, SEEK_SET);
	gdal()->VSIFReadL(header, 1, sizeof header, file);
	uint64_t sector = header[48] | (uint64_t)header[49] << 8 | (uint64_t)header[50] << 16 | (uint64_t)header[51] << 24;
	gdal()->VSIFSeekL(file, (sector + 1) << (header[30] == 12 ? 12 : 9), SEEK_SET);
	size_t count = gdal()->VSIFReadL(bytes, 1, sizeof bytes, file);
	if (holds_utf16(bytes, count, "EncryptedPackage"))
		return refuse(error, path, "is protected by a password",
					  "remove the password in a spreadsheet program and save it as .xlsx");
	return refuse(error, path, "is an old binary workbook (.xls), whatever its name says",
				  "rename it to .xls, or save it as .xlsx in a spreadsheet program");
}

/* A zip begins with a local file header; an empty one with the end of the directory. */
static recloser_status look_at_head(const char *path, const char *name, uint64_t *bytes, recloser_error *error)
{
	static const unsigned char compound[8] = {0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1};
	unsigned char head[8] = {0};
	VSILFILE *file = gdal()->VSIFOpenL(path, "rb");
	if (!file) {
		error_set(error, RECLOSER_IO, "xlsx.open", "cannot open %s", name);
		return error_hint(error, "check the path and the permissions");
	}
	size_t count = gdal()->VSIFReadL(head, 1, sizeof head, file);
	recloser_status status = RECLOSER_OK;
	if (count == sizeof head && memcmp(head, compound, sizeof head) == 0)
		status = refuse_compound(name, file, error);
	else if (count == 0)
		status = refuse(error, name, "is empty", "the download has probably failed: get the file again");
	else if (count < 4 || memcmp(head, "PK\3\4", 4) != 0)
		status = refuse(error, name, "is not a workbook: it is no zip archive",
						"if it is text or a web page under the wrong name, say `format: csv`, or fetch it again");
	gdal()->VSIFSeekL(file, 0, SEEK_END);
	*bytes = gdal()->VSIFTellL(file);
	gdal()->VSIFCloseL(file);
	return status;
}

static void free_list(void *pointer)
{
	gdal()->CSLDestroy(pointer);
}

static recloser_status list_parts(struct xlsx_archive *archive, recloser_error *error)
{
	struct arena *arena = archive->arena;
	gdal()->CPLPushErrorHandler(gdal()->CPLQuietErrorHandler);
	char **names = gdal()->VSIReadDirRecursive(archive->root);
	gdal()->CPLPopErrorHandler();
	if (names)
		arena_defer(arena, free_list, names);
	for (char **name = names; name && *name; name++)
		strings_add(arena, &archive->parts, *name);
	if (!archive->parts.count)
		return refuse(error, archive->path, "is cut short or damaged: its list of parts can't be read",
					  "fetch it again and compare its size");
	if (xlsx_part(archive, "xl/workbook.bin"))
		return refuse(error, archive->path, "is a binary workbook (.xlsb)", "save it as .xlsx in a spreadsheet program");
	if (xlsx_part(archive, "content.xml") && xlsx_part(archive, "mimetype"))
		return refuse(error, archive->path, "is an OpenDocument file (.ods)", "rename it to .ods, or save it as .xlsx");
	return RECLOSER_OK;
}

/* ---- relationships ---- */

struct relation {
	struct relation *next;
	char *id, *type, *target;
};
struct relations {
	struct xlsx_handlers handlers;
	struct relation *first;
};

/* `word` of a type "http://.../relationships/word". */
static bool type_is(const char *type, const char *word)
{
	const char *slash = strrchr(type, '/');
	return strcmp(slash ? slash + 1 : type, word) == 0;
}

static void relation_start(void *user, const char *element, const char **attributes)
{
	struct relations *relations = user;
	const char *id = xlsx_attribute(attributes, "Id"), *type = xlsx_attribute(attributes, "Type");
	const char *target = xlsx_attribute(attributes, "Target"), *mode = xlsx_attribute(attributes, "TargetMode");
	if (strcmp(element, "Relationship") != 0 || !id || !type || !target || (mode && strcmp(mode, "External") == 0))
		return;
	struct relation *relation = calloc(1, sizeof *relation);
	if (relation) {
		relation->next = relations->first;
		relations->first = relation;
		relation->id = strdup(id);
		relation->type = strdup(type);
		relation->target = strdup(target);
	}
	if (!relation || !relation->id || !relation->type || !relation->target)
		xlsx_stop_memory(&relations->handlers);
}

static void free_relations(void *pointer)
{
	struct relations *relations = pointer;
	while (relations->first) {
		struct relation *relation = relations->first;
		relations->first = relation->next;
		free(relation->id);
		free(relation->type);
		free(relation->target);
		free(relation);
	}
}

static recloser_status read_relations(struct xlsx_archive *archive, const char *part, struct relations **out,
									  recloser_error *error)
{
	struct relations *relations = arena_alloc(archive->arena, sizeof *relations);
	arena_defer(archive->arena, free_relations, relations);
	relations->handlers = (struct xlsx_handlers){.start = relation_start, .user = relations};
	*out = relations;
	const char *found = xlsx_part(archive, part);
	if (!found)
		return refuse(error, archive->path,
					  arena_printf(archive->arena, "is a zip archive but not a workbook: it has no %s", part),
					  "if a workbook is inside, say which one with `member:`");
	return xlsx_parse(archive, found, &relations->handlers, error);
}

/* A target is relative to the folder of the part that refers to it, or absolute within the package. */
static const char *resolve(struct arena *arena, const char *from, const char *target)
{
	if (*target == '/')
		return target + 1;
	const char *slash = strrchr(from, '/');
	char *folder = arena_strndup(arena, from, slash ? (size_t)(slash - from) : 0);
	for (;;) {
		if (text_starts(target, "./"))
			target += 2;
		else if (text_starts(target, "../")) {
			char *up = strrchr(folder, '/');
			*(up ? up : folder) = '\0';
			target += 3;
		} else
			break;
	}
	return *folder ? arena_printf(arena, "%s/%s", folder, target) : target;
}

static const char *part_of_type(struct xlsx_archive *archive, const struct relations *relations, const char *from,
								const char *type)
{
	for (const struct relation *r = relations->first; r; r = r->next)
		if (type_is(r->type, type))
			return xlsx_part(archive, resolve(archive->arena, from, r->target));
	return NULL;
}

/* ---- workbook.xml ---- */

struct listed {
	char *name, *id;
	bool hidden;
};
struct workbook {
	struct xlsx_handlers handlers;
	struct listed *listed;
	size_t count;
	bool date_1904;
};

static bool is_true(const char *value)
{
	return value && (strcmp(value, "1") == 0 || strcmp(value, "true") == 0 || strcmp(value, "on") == 0);
}

static void list_sheet(struct workbook *workbook, const char **attributes)
{
	const char *name = xlsx_attribute(attributes, "name"), *id = xlsx_relation(attributes);
	const char *state = xlsx_attribute(attributes, "state");
	if (!name || !id || workbook->count >= XLSX_SHEETS) {
		xlsx_stop(&workbook->handlers, "its list of sheets is wrong");
		return;
	}
	struct listed *grown = realloc(workbook->listed, (workbook->count + 1) * sizeof *grown);
	if (!grown) {
		xlsx_stop_memory(&workbook->handlers);
		return;
	}
	workbook->listed = grown;
	struct listed *sheet = &grown[workbook->count++];
	sheet->name = strdup(name);
	sheet->id = strdup(id);
	sheet->hidden = state && strcmp(state, "visible") != 0;
	if (!sheet->name || !sheet->id)
		xlsx_stop_memory(&workbook->handlers);
}

static void workbook_start(void *user, const char *element, const char **attributes)
{
	struct workbook *workbook = user;
	if (strcmp(element, "workbookPr") == 0)
		workbook->date_1904 = is_true(xlsx_attribute(attributes, "date1904"));
	else if (strcmp(element, "sheet") == 0)
		list_sheet(workbook, attributes);
}

static void free_workbook(void *pointer)
{
	struct workbook *workbook = pointer;
	for (size_t i = 0; i < workbook->count; i++) {
		free(workbook->listed[i].name);
		free(workbook->listed[i].id);
	}
	free(workbook->listed);
}

static recloser_status read_workbook(struct xlsx_book *book, const char *part, const struct relations *relations,
									 recloser_error *error)
{
	struct arena *arena = book->archive.arena;
	struct workbook *workbook = arena_alloc(arena, sizeof *workbook);
	arena_defer(arena, free_workbook, workbook);
	workbook->handlers = (struct xlsx_handlers){.start = workbook_start, .user = workbook};
	RC_TRY(xlsx_parse(&book->archive, part, &workbook->handlers, error));
	book->date_1904 = workbook->date_1904;
	book->sheets = arena_array(arena, workbook->count + 1, sizeof *book->sheets);
	for (size_t i = 0; i < workbook->count; i++) {
		const struct relation *r = relations->first;
		while (r && strcmp(r->id, workbook->listed[i].id) != 0)
			r = r->next;
		if (!r || !type_is(r->type, "worksheet"))
			continue; /* a chart, a dialog, a macro sheet: no cells */
		const char *target = resolve(arena, part, r->target), *found = xlsx_part(&book->archive, target);
		struct xlsx_sheet *sheet = &book->sheets[book->sheet_count++];
		sheet->name = workbook->listed[i].name;
		sheet->part = found ? found : target; /* a missing part is told when the sheet is read */
		sheet->hidden = workbook->listed[i].hidden;
	}
	return RECLOSER_OK;
}

/* ---- sharedStrings.xml ---- */

struct shared {
	struct xlsx_handlers handlers;
	struct xlsx_book *book;
	size_t from;
	int phonetic;
	bool in_item, in_text;
};

static void shared_start(void *user, const char *element, const char **attributes)
{
	struct shared *shared = user;
	(void)attributes;
	if (strcmp(element, "si") == 0) {
		shared->in_item = true;
		shared->from = shared->book->strings->count;
	} else if (strcmp(element, "rPh") == 0)
		shared->phonetic++; /* how to pronounce it: not part of the text */
	else if (strcmp(element, "t") == 0)
		shared->in_text = shared->in_item && !shared->phonetic;
}

static void shared_text(void *user, const char *bytes, int count)
{
	struct shared *shared = user;
	if (!shared->in_text)
		return;
	void *at = xlsx_pool_add(shared->book->strings, (size_t)count);
	if (at)
		memcpy(at, bytes, (size_t)count);
	else
		xlsx_stop_memory(&shared->handlers);
}

static void shared_end(void *user, const char *element)
{
	struct shared *shared = user;
	if (strcmp(element, "t") == 0)
		shared->in_text = false;
	else if (strcmp(element, "rPh") == 0)
		shared->phonetic--;
	else if (strcmp(element, "si") == 0) {
		shared->in_item = false;
		xlsx_unescape(shared->book->strings, shared->from);
		size_t *end = xlsx_pool_add(shared->book->string_ends, sizeof *end);
		if (end)
			*end = shared->book->strings->count;
		else
			xlsx_stop_memory(&shared->handlers);
	}
}

/* ---- styles.xml ---- */

struct styles {
	struct xlsx_handlers handlers;
	struct xlsx_book *book;
	struct custom {
		int64_t id;
		enum xlsx_style style;
	} * custom;
	size_t count;
	bool in_formats, in_cells;
};

static void add_custom(struct styles *styles, const char **attributes)
{
	const char *code = xlsx_attribute(attributes, "formatCode");
	if (!code || styles->count >= XLSX_FORMATS) {
		xlsx_stop(&styles->handlers,
				  code ? "it has more number formats than a workbook may" : "a number format has no text");
		return;
	}
	struct custom *grown = realloc(styles->custom, (styles->count + 1) * sizeof *grown);
	if (!grown) {
		xlsx_stop_memory(&styles->handlers);
		return;
	}
	styles->custom = grown;
	grown[styles->count].id = xlsx_number(xlsx_attribute(attributes, "numFmtId"), INT32_MAX);
	grown[styles->count++].style = xlsx_style_of_format(code);
}

static enum xlsx_style style_of(const struct styles *styles, int64_t id)
{
	for (size_t i = 0; i < styles->count; i++)
		if (styles->custom[i].id == id)
			return styles->custom[i].style;
	return xlsx_style_of_builtin(id);
}

static void styles_start(void *user, const char *element, const char **attributes)
{
	struct styles *styles = user;
	if (strcmp(element, "numFmts") == 0)
		styles->in_formats = true;
	else if (strcmp(element, "cellXfs") == 0)
		styles->in_cells = true;
	else if (strcmp(element, "numFmt") == 0 && styles->in_formats)
		add_custom(styles, attributes);
	else if (strcmp(element, "xf") == 0 && styles->in_cells) {
		char *style = xlsx_pool_add(styles->book->styles, 1);
		if (style)
			*style = (char)style_of(styles, xlsx_number(xlsx_attribute(attributes, "numFmtId"), INT32_MAX));
		else
			xlsx_stop_memory(&styles->handlers);
	}
}

static void styles_end(void *user, const char *element)
{
	struct styles *styles = user;
	if (strcmp(element, "numFmts") == 0)
		styles->in_formats = false;
	else if (strcmp(element, "cellXfs") == 0)
		styles->in_cells = false;
}

static void free_styles(void *pointer)
{
	free(((struct styles *)pointer)->custom);
}

/* ---- all of it ---- */

static recloser_status read_shared(struct xlsx_book *book, const char *part, recloser_error *error)
{
	struct shared *shared = arena_alloc(book->archive.arena, sizeof *shared);
	shared->book = book;
	shared->handlers = (struct xlsx_handlers){.start = shared_start, .end = shared_end, .text = shared_text, .user = shared};
	return xlsx_parse(&book->archive, part, &shared->handlers, error);
}

static recloser_status read_styles(struct xlsx_book *book, const char *part, recloser_error *error)
{
	struct styles *styles = arena_alloc(book->archive.arena, sizeof *styles);
	arena_defer(book->archive.arena, free_styles, styles);
	styles->book = book;
	styles->handlers = (struct xlsx_handlers){.start = styles_start, .end = styles_end, .user = styles};
	return xlsx_parse(&book->archive, part, &styles->handlers, error);
}

recloser_status xlsx_book_open(struct arena *arena, const char *path, const char *name, struct xlsx_book *book,
							   recloser_error *error)
{
	RC_TRY(gdal_load(error));
	memset(book, 0, sizeof *book);
	struct xlsx_archive *archive = &book->archive;
	archive->arena = arena;
	archive->path = name;
	archive->root = arena_printf(arena, "/vsizip/{%s}", path);
	book->strings = xlsx_pool_new(arena, &archive->budget);
	book->string_ends = xlsx_pool_new(arena, &archive->budget);
	book->styles = xlsx_pool_new(arena, &archive->budget);
	RC_TRY(look_at_head(path, name, &archive->packed, error));
	RC_TRY(list_parts(archive, error));

	struct relations *package, *relations;
	RC_TRY(read_relations(archive, "_rels/.rels", &package, error));
	const char *workbook = part_of_type(archive, package, "", "officeDocument");
	if (!workbook || !text_ends(workbook, ".xml"))
		return refuse(error, name, "is an Office file but not a workbook", "give the workbook itself");
	const char *slash = strrchr(workbook, '/');
	int folder = slash ? (int)(slash - workbook) + 1 : 0;
	const char *rels = arena_printf(arena, "%.*s_rels/%s.rels", folder, workbook, workbook + folder);
	RC_TRY(read_relations(archive, rels, &relations, error));
	RC_TRY(read_workbook(book, workbook, relations, error));
	const char *strings = part_of_type(archive, relations, workbook, "sharedStrings");
	if (strings)
		RC_TRY(read_shared(book, strings, error));
	const char *styles = part_of_type(archive, relations, workbook, "styles");
	return styles ? read_styles(book, styles, error) : RECLOSER_OK;
}
