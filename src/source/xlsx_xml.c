#define _GNU_SOURCE /* struct stat64, which GDAL's VSIStatBufL is */
/* SPDX-License-Identifier: Apache-2.0
 * Parts of the package through expat. A workbook comes from outside, so this is where it is kept in bounds: no document type
 * (and so no entities), a limit on the unpacked bytes of all parts together and on how many times larger than the file they
 * are, and a limit on memory.
 *
 * Names arrive as "namespace<US>local". The spreadsheet namespace has two spellings, transitional and strict, and some
 * programs write a prefix; after this file nobody needs to know. */
#include "source/xlsx.h"

#include <stdlib.h>
#include <string.h>

#include "base/gdal.h"

#define SEPARATOR '\x1f'

static void pool_free(void *pointer)
{
	struct xlsx_pool *pool = pointer;
	free(pool->at);
}

struct xlsx_pool *xlsx_pool_new(struct arena *arena, struct xlsx_budget *budget)
{
	struct xlsx_pool *pool = arena_alloc(arena, sizeof *pool);
	pool->budget = budget;
	arena_defer(arena, pool_free, pool);
	return pool;
}

void *xlsx_pool_add(struct xlsx_pool *pool, size_t bytes)
{
	if (bytes > pool->capacity - pool->count) {
		size_t capacity = pool->capacity ? pool->capacity : 1024;
		while (capacity - pool->count < bytes)
			capacity += capacity / 2;
		if (pool->budget->used + (capacity - pool->capacity) > XLSX_MEMORY_MAX) {
			pool->budget->too_large = true;
			return NULL;
		}
		char *at = realloc(pool->at, capacity);
		if (!at) {
			pool->budget->no_memory = true;
			return NULL;
		}
		pool->budget->used += capacity - pool->capacity;
		pool->at = at;
		pool->capacity = capacity;
	}
	void *added = pool->at + pool->count;
	pool->count += bytes;
	return added;
}

/* ---- names ---- */

static const char *local_name(const char *name)
{
	static const char *const spaces[] = {
		"http://schemas.openxmlformats.org/spreadsheetml/2006/main",
		"http://purl.oclc.org/ooxml/spreadsheetml/main",
		"http://schemas.openxmlformats.org/package/2006/relationships",
	};
	const char *at = strchr(name, SEPARATOR);
	if (!at)
		return name; /* no namespace at all: careless writers */
	for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
		if (strlen(spaces[i]) == (size_t)(at - name) && memcmp(spaces[i], name, (size_t)(at - name)) == 0)
			return at + 1;
	return "";
}

const char *xlsx_attribute(const char **attributes, const char *name)
{
	for (; *attributes; attributes += 2)
		if (strcmp(attributes[0], name) == 0)
			return attributes[1];
	return NULL;
}

const char *xlsx_relation(const char **attributes)
{
	const char *id = xlsx_attribute(attributes, "http://schemas.openxmlformats.org/officeDocument/2006/relationships\x1fid");
	return id ? id : xlsx_attribute(attributes, "http://purl.oclc.org/ooxml/officeDocument/relationships\x1fid");
}

int64_t xlsx_number(const char *text, int64_t most)
{
	int64_t value = 0;
	if (!text || !*text)
		return -1;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return -1;
		value = value * 10 + (*text - '0');
		if (value > most)
			return -1;
	}
	return value;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The UTF-16 unit of "_xHHHH_" at `p`, or -1. */
static int escape_at(const char *p, size_t left)
{
	if (left < 7 || p[0] != '_' || p[1] != 'x' || p[6] != '_')
		return -1;
	int unit = 0;
	for (int i = 2; i < 6; i++) {
		int digit = hex_digit(p[i]);
		if (digit < 0)
			return -1;
		unit = unit * 16 + digit;
	}
	return unit;
}

static char *put_utf8(char *out, uint32_t c)
{
	if (c < 0x80)
		*out++ = (char)c;
	else if (c < 0x800) {
		*out++ = (char)(0xC0 | c >> 6);
		*out++ = (char)(0x80 | (c & 0x3F));
	} else if (c < 0x10000) {
		*out++ = (char)(0xE0 | c >> 12);
		*out++ = (char)(0x80 | (c >> 6 & 0x3F));
		*out++ = (char)(0x80 | (c & 0x3F));
	} else {
		*out++ = (char)(0xF0 | c >> 18);
		*out++ = (char)(0x80 | (c >> 12 & 0x3F));
		*out++ = (char)(0x80 | (c >> 6 & 0x3F));
		*out++ = (char)(0x80 | (c & 0x3F));
	}
	return out;
}

/* Texts shrink in place. Half a surrogate pair stays spelled out, since it has no UTF-8. */
bool xlsx_unescape(struct xlsx_pool *pool, size_t from)
{
	char *end = pool->at + pool->count, *in = pool->at + from;
	if (pool->count == from || !memchr(in, '_', (size_t)(end - in)))
		return false;
	char *out = in;
	bool changed = false;
	while (in < end) {
		int unit = escape_at(in, (size_t)(end - in)), low;
		if (unit >= 0xD800 && unit < 0xDC00 && (low = escape_at(in + 7, (size_t)(end - in - 7))) >= 0xDC00 && low < 0xE000) {
			out = put_utf8(out, 0x10000u + ((uint32_t)(unit - 0xD800) << 10) + (uint32_t)(low - 0xDC00));
			in += 14;
		} else if (unit >= 0 && (unit < 0xD800 || unit > 0xDFFF)) {
			out = put_utf8(out, (uint32_t)unit);
			in += 7;
		} else {
			*out++ = *in++;
			continue;
		}
		changed = true;
	}
	pool->count = (size_t)(out - pool->at);
	return changed;
}

/* ---- one part ---- */

void xlsx_stop(struct xlsx_handlers *handlers, const char *what)
{
	if (!handlers->failed)
		handlers->failed = what;
	XML_StopParser(handlers->parser, XML_FALSE);
}

void xlsx_stop_memory(struct xlsx_handlers *handlers)
{
	handlers->no_memory = true;
	xlsx_stop(handlers, "out of memory");
}

static void XMLCALL on_start(void *data, const XML_Char *name, const XML_Char **attributes)
{
	struct xlsx_handlers *handlers = data;
	handlers->start(handlers->user, local_name(name), (const char **)attributes);
}

static void XMLCALL on_end(void *data, const XML_Char *name)
{
	struct xlsx_handlers *handlers = data;
	if (handlers->end && !handlers->failed)
		handlers->end(handlers->user, local_name(name));
}

static void XMLCALL on_text(void *data, const XML_Char *bytes, int count)
{
	struct xlsx_handlers *handlers = data;
	if (handlers->text && !handlers->failed)
		handlers->text(handlers->user, bytes, count);
}

static void XMLCALL on_doctype(void *data, const XML_Char *name, const XML_Char *system, const XML_Char *public, int subset)
{
	(void)name, (void)system, (void)public, (void)subset;
	xlsx_stop(data, "it declares a document type, which no workbook does");
}

const char *xlsx_part(const struct xlsx_archive *archive, const char *name)
{
	for (size_t i = 0; i < archive->parts.count; i++)
		if (text_equal_nocase(archive->parts.at[i], name))
			return archive->parts.at[i];
	return NULL;
}

static void free_parser(void *pointer)
{
	XML_ParserFree(pointer);
}

static void pop_handler(void *pointer)
{
	(void)pointer;
	gdal()->CPLPopErrorHandler();
}

static void close_file(void *pointer)
{
	gdal()->VSIFCloseL(pointer);
}

static recloser_status damaged(const struct xlsx_archive *archive, const char *part, const char *what, recloser_error *error)
{
	error_set(error, RECLOSER_REFUSED, "xlsx.damaged", "%s is not a readable workbook: %s", archive->path, what);
	error_where(error, "part %s", part);
	return error_hint(error, "open and save it again in a spreadsheet program, or fetch it anew");
}

static recloser_status over_limit(const struct xlsx_archive *archive, const char *part, const char *what,
								  recloser_error *error)
{
	error_set(error, RECLOSER_REFUSED, "xlsx.too_large", "%s unpacks to more than a workbook may: %s", archive->path, what);
	error_where(error, "part %s", part);
	return error_hint(error, "if the file is what it should be, save the sheet as CSV and load that");
}

/* What went wrong, in the order of how much it explains. */
static recloser_status failure(struct xlsx_archive *archive, const char *part, const struct xlsx_handlers *handlers,
							   recloser_error *error)
{
	if (archive->budget.too_large)
		return over_limit(archive, part, "its cells and texts need more than 2 GiB of memory", error);
	if (archive->budget.no_memory || handlers->no_memory)
		arena_out_of_memory(archive->arena);
	if (handlers->failed)
		return damaged(archive, part, handlers->failed, error);
	enum XML_Error code = XML_GetErrorCode(handlers->parser);
	if (code == XML_ERROR_NO_MEMORY)
		arena_out_of_memory(archive->arena);
	const char *what = arena_printf(archive->arena, "%s in line %lu, column %lu of the XML", XML_ErrorString(code),
									(unsigned long)XML_GetCurrentLineNumber(handlers->parser),
									(unsigned long)XML_GetCurrentColumnNumber(handlers->parser) + 1);
	return damaged(archive, part, what, error);
}

/* `size`: what the archive's directory says that the part unpacks to. */
static recloser_status feed(struct xlsx_archive *archive, const char *part, VSILFILE *file, uint64_t size,
							struct xlsx_handlers *handlers, recloser_error *error)
{
	enum { BLOCK = 1 << 16 };
	for (uint64_t done = 0;;) {
		void *block = XML_GetBuffer(handlers->parser, BLOCK);
		if (!block)
			return failure(archive, part, handlers, error);
		size_t count = gdal()->VSIFReadL(block, 1, BLOCK, file);
		bool last = count < BLOCK;
		done += count;
		/* GDAL hands out the bytes even when their check sum is wrong; it only says so. */
		if ((last && done != size) || gdal()->CPLGetLastErrorType() >= CE_Failure)
			return damaged(archive, part, "the archive ends in the middle or its bytes are wrong", error);
		archive->budget.unpacked += count;
		if (archive->budget.unpacked > XLSX_UNPACKED_MAX)
			return over_limit(archive, part, "more than 8 GiB", error);
		if (archive->budget.unpacked > XLSX_RATIO_FROM && archive->budget.unpacked / XLSX_RATIO > archive->packed)
			return over_limit(archive, part, "more than 400 times its size", error);
		if (XML_ParseBuffer(handlers->parser, (int)count, last) != XML_STATUS_OK || handlers->failed)
			return failure(archive, part, handlers, error);
		if (last)
			return RECLOSER_OK;
	}
}

recloser_status xlsx_parse(struct xlsx_archive *archive, const char *part, struct xlsx_handlers *handlers,
						   recloser_error *error)
{
	struct arena *call = arena_new(archive->arena);
	const char *path = arena_printf(call, "%s/%s", archive->root, part);
	gdal()->CPLPushErrorHandler(gdal()->CPLQuietErrorHandler); /* the library never prints */
	arena_defer(call, pop_handler, NULL);
	gdal()->CPLErrorReset();
	VSIStatBufL stat;
	VSILFILE *file = gdal()->VSIStatL(path, &stat) == 0 ? gdal()->VSIFOpenL(path, "rb") : NULL;
	recloser_status status;
	if (!file) {
		status = damaged(archive, part, "the part is missing or can't be unpacked", error);
	} else {
		arena_defer(call, close_file, file);
		handlers->parser = XML_ParserCreateNS(NULL, SEPARATOR);
		if (!handlers->parser)
			arena_out_of_memory(archive->arena);
		arena_defer(call, free_parser, handlers->parser);
		XML_SetUserData(handlers->parser, handlers);
		XML_SetElementHandler(handlers->parser, on_start, on_end);
		XML_SetCharacterDataHandler(handlers->parser, on_text);
		XML_SetStartDoctypeDeclHandler(handlers->parser, on_doctype);
		status = feed(archive, part, file, (uint64_t)stat.st_size, handlers, error);
	}
	arena_free(call);
	return status;
}
