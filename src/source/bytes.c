/* SPDX-License-Identifier: Apache-2.0
 * From a path to UTF-8 text in memory: map, undo compression, decode, check. A plain UTF-8 file is only mapped and checked.
 */
#include "source/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/encoding.h"
#include "source/spool.h"
#include "source/unpack.h"

static recloser_status map_file(struct arena *arena, const char *path, const char **at, size_t *count, recloser_error *error)
{
	int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	if (descriptor < 0)
		return error_errno(error, "io.open", errno, "open", path);
	struct stat status;
	recloser_status result;
	if (fstat(descriptor, &status) != 0)
		result = error_errno(error, "io.open", errno, "examine", path);
	else if (S_ISDIR(status.st_mode))
		result = error_errno(error, "io.open", EISDIR, "read", path);
	else
		result = map_descriptor(arena, descriptor, *count = (size_t)status.st_size, path, at, error);
	close(descriptor);
	return result;
}

static recloser_status decode(struct arena *arena, const char *encoding, const char *path, const char *spool_directory,
							  const char **at, size_t *count, recloser_error *error)
{
	struct spool spool;
	RC_TRY(spool_open(arena, spool_directory, &spool, error));
	RC_TRY(encoding_decode(arena, encoding, path, *at, *count, &spool, error));
	return spool_map(arena, &spool, at, count, error);
}

/* "UTF-16" and "UTF-32" leave the byte order to the mark; without one it is the order of the machines that write them. */
static const char *with_order(const char *declared, const char *marked)
{
	bool wide = text_equal_nocase(declared, "utf-16") || text_equal_nocase(declared, "utf16");
	if (wide || text_equal_nocase(declared, "utf-32") || text_equal_nocase(declared, "utf32"))
		return marked && !encoding_is_utf8(marked) ? marked : wide ? "UTF-16LE" : "UTF-32LE";
	return declared;
}

static recloser_status check_utf8(struct arena *arena, const char *path, const char *at, size_t count, recloser_error *error)
{
	const char *wide = encoding_by_nuls(at, count);
	if (wide) {
		error_set(error, RECLOSER_REFUSED, "source.encoding",
				  "the file is full of NUL bytes and looks like %s without a mark", wide);
		error_where(error, "%s", path);
		return error_hint(error, "Declare `encoding: %s`.", wide);
	}
	size_t fault = text_utf8_fault(at, count);
	return fault == SIZE_MAX ? RECLOSER_OK : encoding_refuse(arena, path, at, count, fault, error);
}

/* Known binary formats under a text name: an encoding would be the wrong advice. */
static recloser_status refuse_binary(const char *path, const char *at, size_t count, recloser_error *error)
{
	static const struct {
		const char *magic;
		size_t bytes;
		const char *what, *hint;
	} kinds[] = {
		{"PK\3\4", 4, "a ZIP archive or an XLSX workbook", "Unpack it, or declare `format: xlsx`."},
		{"PAR1", 4, "a Parquet file", "Declare `format: parquet`."},
		{"\xD0\xCF\x11\xE0", 4, "an old Excel workbook (.xls)", "Declare `format: ogr`, or save it as .xlsx."},
		{"SQLite format 3", 16, "an SQLite database or a GeoPackage", "Declare `format: ogr`."},
		{"%PDF-", 5, "a PDF document", "Get the table from its publisher as a data file."},
		{"\xFD"
		 "7zXZ",
		 6, "compressed with xz", "Undo it with xz -d, or use gzip or zstd."},
		{"7z\xBC\xAF\x27\x1C", 6, "a 7-Zip archive", "Unpack it first."},
	};
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (count >= kinds[i].bytes && memcmp(at, kinds[i].magic, kinds[i].bytes) == 0) {
			error_set(error, RECLOSER_REFUSED, "source.not_text", "the file is not a text but %s", kinds[i].what);
			error_where(error, "%s", path);
			return error_hint(error, "%s", kinds[i].hint);
		}
	return RECLOSER_OK;
}

recloser_status bytes_open(struct arena *arena, const char *path, const char *encoding, const char *spool, struct bytes *out,
						   recloser_error *error)
{
	const char *at;
	size_t count, mark;
	RC_TRY(map_file(arena, path, &at, &count, error));
	enum packing packing = packing_of(at, count);
	if (packing != PACKING_NONE)
		RC_TRY(unpack(arena, packing, path, spool, &at, &count, error));
	RC_TRY(refuse_binary(path, at, count, error));
	const char *marked = encoding_by_mark(at, count, &mark);
	const char *used = encoding ? with_order(encoding, marked) : marked ? marked : "UTF-8";
	if (encoding_is_utf8(used))
		RC_TRY(check_utf8(arena, path, at, count, error));
	else
		RC_TRY(decode(arena, used, path, spool, &at, &count, error));
	/* The mark is U+FEFF in whatever it was decoded from. */
	if (encoding_by_mark(at, count, &mark) && mark == 3) {
		at += mark;
		count -= mark;
	}
	*out = (struct bytes){.at = at, .count = count, .encoding = encoding_is_utf8(used) ? "UTF-8" : used};
	return RECLOSER_OK;
}
