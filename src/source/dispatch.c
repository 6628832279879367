/* SPDX-License-Identifier: Apache-2.0
 * Which reader a source gets: by what the spec says, else by the name, else by the first bytes. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/encoding.h"
#include "source/source.h"
#include "source/unpack.h"

static const struct {
	const char *word; /* of `format:` */
	source_reader *reader;
	const char *extensions[7];
} formats[] = {
	{"csv", csv_open, {".csv", ".tsv", ".tab", ".txt", NULL}},
	{"json", json_open, {".json", ".geojson", ".ndjson", ".jsonl", ".geojsonl", ".geojsons", NULL}},
	{"parquet", parquet_open, {".parquet", ".geoparquet", ".pq", NULL}},
	{"xlsx", xlsx_open, {".xlsx", ".xlsm", NULL}},
	{"ogr", ogr_open, {NULL}},
};
enum { FORMATS = sizeof formats / sizeof *formats };

static source_reader *by_word(const char *word)
{
	for (size_t i = 0; i < FORMATS; i++)
		if (text_equal_nocase(word, formats[i].word))
			return formats[i].reader;
	return NULL;
}

static bool ends_with(const char *name, size_t length, const char *suffix)
{
	size_t n = strlen(suffix);
	if (length <= n)
		return false;
	for (size_t i = 0; i < n; i++) {
		char c = name[length - n + i];
		if ((c >= 'A' && c <= 'Z' ? c + 32 : c) != suffix[i])
			return false;
	}
	return true;
}

/* Text may be compressed, so `.csv.gz` is `.csv`; the binary formats compress by themselves. */
static source_reader *by_name(const char *name)
{
	size_t length = strlen(name);
	bool packed = false;
	if (ends_with(name, length, ".gz")) {
		length -= 3;
		packed = true;
	} else if (ends_with(name, length, ".zst")) {
		length -= 4;
		packed = true;
	}
	for (size_t i = 0; i < FORMATS; i++)
		for (size_t k = 0; formats[i].extensions[k]; k++)
			if (ends_with(name, length, formats[i].extensions[k]))
				return packed && formats[i].reader != csv_open && formats[i].reader != json_open ? NULL : formats[i].reader;
	return NULL;
}

/* Only text is recognised by its looks: everything that holds a NUL is left to GDAL, which knows its formats by their bytes.
 */
static source_reader *by_content(const char *at, size_t count)
{
	size_t mark;
	const char *encoding = encoding_by_mark(at, count, &mark);
	if (count >= 4 && memcmp(at, "PAR1", 4) == 0)
		return parquet_open;
	if (count >= 4 && memcmp(at, "PK\3\4", 4) == 0)
		return xlsx_open;
	if (encoding && mark != 3)
		return csv_open;
	at += mark;
	count -= mark;
	while (count > 0 && (*at == ' ' || (*at >= '\t' && *at <= '\r'))) {
		at++;
		count--;
	}
	if (count > 0 && (*at == '{' || *at == '['))
		return json_open;
	if (count > 5 && (memcmp(at, "<?xml", 5) == 0 || memcmp(at, "<kml", 4) == 0))
		return ogr_open;
	return count > 0 && memchr(at, '\0', count) ? ogr_open : csv_open;
}

static recloser_status look(const struct input *input, source_reader **out, recloser_error *error)
{
	char head[4096], inner[4096];
	int descriptor = open(input->read_path, O_RDONLY | O_CLOEXEC);
	if (descriptor < 0)
		return error_errno(error, "io.open", errno, "open", input->path);
	size_t count = 0;
	ssize_t got;
	while (count < sizeof head &&
		   ((got = read(descriptor, head + count, sizeof head - count)) > 0 || (got < 0 && errno == EINTR)))
		count += got > 0 ? (size_t)got : 0;
	int number = got < 0 ? errno : 0;
	close(descriptor);
	if (number)
		return error_errno(error, "io.read", number, "read", input->path);
	enum packing packing = packing_of(head, count);
	if (packing == PACKING_NONE)
		*out = by_content(head, count);
	else
		*out = by_content(inner, unpack_peek(packing, head, count, inner, sizeof inner));
	return RECLOSER_OK;
}

/* A known extension of another format goes to GDAL unseen; only where there is none do the bytes decide. */
static bool tells_nothing(const char *name)
{
	const char *dot = strrchr(name, '.');
	return !dot || ends_with(name, strlen(name), ".gz") || ends_with(name, strlen(name), ".zst") ||
		   ends_with(name, strlen(name), ".dat") || ends_with(name, strlen(name), ".data") ||
		   strspn(dot + 1, "0123456789") == strlen(dot + 1);
}

source_reader *source_reader_for(const struct block *block, const char *name)
{
	return block->format ? by_word(block->format) : by_name(name);
}

/* What is inside an archive is for ogr_open to find out; it gives a member that another reader knows to that one. */
static bool is_archive(const struct source_request *request)
{
	const char *name = request->input->name;
	return request->block->member || ends_with(name, strlen(name), ".zip") || ends_with(name, strlen(name), ".shz");
}

recloser_status source_reader_of(const struct source_request *request, source_reader **out, recloser_error *error)
{
	const struct input *input = request->input;
	const char *format = request->block->format;
	source_reader *reader = source_reader_for(request->block, input->name);
	if (format && !reader) {
		error_set(error, RECLOSER_USAGE, "spec.format", "there is no format \"%s\"", format);
		return error_hint(error, "Formats are csv, json, parquet, xlsx and ogr.");
	}
	if (is_archive(request))
		reader = ogr_open;
	struct stat status;
	if (!reader && tells_nothing(input->name) && stat(input->read_path, &status) == 0 && S_ISREG(status.st_mode))
		RC_TRY(look(input, &reader, error));
	*out = reader ? reader : ogr_open;
	return RECLOSER_OK;
}

recloser_status source_open(struct arena *arena, const struct source_request *request, struct source ***out, size_t *count,
							recloser_error *error)
{
	source_reader *reader;
	RC_TRY(source_reader_of(request, &reader, error));
	return source_blame(request->input, reader(arena, request, out, count, error), error);
}
