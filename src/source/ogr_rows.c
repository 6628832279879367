/* SPDX-License-Identifier: Apache-2.0
 * Features to rows. GDAL's errors during a feature are faults of that row; an error instead of a feature ends the source. */
#include "source/ogr.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "geo/quiet.h"
#include "source/ogr_text.h"

enum { FAULT_BYTES = 600 };

struct filler {
	struct ogr_source *ogr;
	struct ogr_text text;
	struct chunk *chunk;
	OGRFeatureH feature;
	size_t row;
	int64_t number, last; /* running number; the last row number given */
	uint8_t *shape;       /* a buffer for WKB */
	size_t shape_room;
	char fault[FAULT_BYTES];
	size_t fault_length;
	bool no_memory;
	struct quiet stopped; /* a parser gave up with the last feature it had */
};

static void *start(struct source *source)
{
	struct ogr_source *ogr = source->impl;
	struct filler *filler = calloc(1, sizeof *filler);
	struct quiet quiet;
	if (!filler)
		return NULL;
	filler->ogr = ogr;
	if (!ogr_text_open(&filler->text, ogr->encoding, ogr->raw)) {
		free(filler);
		return NULL;
	}
	quiet_begin(&quiet);
	gdal()->OGR_L_ResetReading(ogr->layer);
	quiet_end(&quiet);
	source->counts.rows = 0;
	return filler;
}

static void stop(struct source *source, void *own)
{
	struct filler *filler = own;
	(void)source;
	if (filler) {
		ogr_text_close(&filler->text);
		free(filler->shape);
		free(filler);
	}
}

/* The first fault of a row is kept; a value that is not UTF-8 is shown with question marks. */
static void blame(struct filler *filler, const char *reason, const char *column, const char *value)
{
	char shown[256];
	size_t count = 0;
	if (filler->fault_length)
		return;
	bool utf8 = text_utf8_fault(value, strlen(value)) == SIZE_MAX;
	for (; count < sizeof shown && value[count]; count++)
		shown[count] = utf8 || (unsigned char)value[count] < 0x80 ? value[count] : '?';
	filler->fault_length = source_fault(filler->fault, sizeof filler->fault, reason, column, shown, count);
}

static void put_text(struct filler *filler, size_t column, const char *text)
{
	const char *plain;
	size_t count;
	if (ogr_text_convert(&filler->text, text, strlen(text), &plain, &count)) {
		chunk_put_text(filler->chunk, SOURCE_FIXED + column, filler->row, plain, count);
		return;
	}
	char reason[120];
	if (filler->ogr->encoding)
		snprintf(reason, sizeof reason, "the text is not %.60s", filler->ogr->encoding);
	else
		snprintf(reason, sizeof reason, "the text is not UTF-8: declare its encoding by `encoding:`");
	blame(filler, reason, filler->ogr->source.columns[column].name, text);
	chunk_put_null(filler->chunk, SOURCE_FIXED + column, filler->row);
}

/* ---- dates and times ---- */

struct moment {
	int year, month, day, hour, minute, flag;
	float second;
};

/* Days since 1970 in the proleptic Gregorian calendar: years begin in March, so that the leap day is the last. */
static int64_t days_of(int year, int month, int day)
{
	int64_t y = month <= 2 ? year - 1 : year;
	int64_t era = (y >= 0 ? y : y - 399) / 400, of_era = y - era * 400;
	int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static int days_in(int year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	return days[month - 1] + (month == 2 && year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
}

static bool right_date(const struct moment *m)
{
	return m->month >= 1 && m->month <= 12 && m->day >= 1 && m->day <= days_in(m->year, m->month);
}

static bool right_time(const struct moment *m)
{
	return m->hour >= 0 && m->hour < 24 && m->minute >= 0 && m->minute < 60 && m->second >= 0 && m->second < 60;
}

/* GDAL keeps seconds as a float: milliseconds are what it can hold. */
static int64_t microseconds(const struct moment *m)
{
	return ((m->hour * INT64_C(60) + m->minute) * 60) * 1000000 + llround((double)m->second * 1000) * 1000;
}

/* 100 is UTC, a step of one is a quarter of an hour. */
static int zone_minutes(const struct moment *m)
{
	return (m->flag - 100) * 15;
}

static int64_t stamp_of(const struct moment *m)
{
	return days_of(m->year, m->month, m->day) * INT64_C(86400000000) + microseconds(m);
}

static void put_mixed(struct filler *filler, size_t column, const struct moment *m)
{
	char text[64], *at = text;
	int64_t of_day = microseconds(m);
	at += snprintf(at, 40, "%04d-%02d-%02dT%02d:%02d:%02d", m->year, m->month, m->day, m->hour, m->minute,
				   (int)(of_day / 1000000 % 60));
	if (of_day % 1000000)
		at += snprintf(at, 8, ".%03d", (int)(of_day % 1000000 / 1000));
	int zone = zone_minutes(m), size = abs(zone);
	if (m->flag == 100)
		at += snprintf(at, 4, "Z");
	else if (m->flag > 1)
		at += snprintf(at, 12, "%c%02d:%02d", zone < 0 ? '-' : '+', size / 60 % 24, size % 60);
	chunk_put_text(filler->chunk, SOURCE_FIXED + column, filler->row, text, (size_t)(at - text));
}

static void put_moment(struct filler *filler, size_t column, int field, enum ogr_reading reading)
{
	struct moment m = {0};
	size_t at = SOURCE_FIXED + column;
	gdal()->OGR_F_GetFieldAsDateTimeEx(filler->feature, field, &m.year, &m.month, &m.day, &m.hour, &m.minute,
									   &m.second, &m.flag);
	if ((reading != OGR_TIME && !right_date(&m)) || (reading != OGR_DATE && !right_time(&m))) {
		blame(filler, "no such date or time", filler->ogr->source.columns[column].name,
			  gdal()->OGR_F_GetFieldAsString(filler->feature, field));
		chunk_put_null(filler->chunk, at, filler->row);
		return;
	}
	if (reading == OGR_DATE)
		chunk_put_int(filler->chunk, at, filler->row, days_of(m.year, m.month, m.day));
	else if (reading == OGR_TIME)
		chunk_put_int(filler->chunk, at, filler->row, microseconds(&m));
	else if (reading == OGR_STAMP_MIXED)
		put_mixed(filler, column, &m);
	else
		chunk_put_int(filler->chunk, at, filler->row,
					  stamp_of(&m) - (reading == OGR_STAMP_ZONE ? zone_minutes(&m) * INT64_C(60000000) : 0));
}

/* ---- lists: JSON text ---- */

/* `at` has room for six times the text and two quotes. */
static size_t quote(char *at, const char *text, size_t count)
{
	char *to = at;
	*to++ = '"';
	for (size_t i = 0; i < count; i++) {
		unsigned char c = (unsigned char)text[i];
		if (c == '"' || c == '\\') {
			*to++ = '\\';
			*to++ = (char)c;
		} else if (c < 0x20) {
			to += snprintf(to, 7, "\\u%04x", c);
		} else {
			*to++ = (char)c;
		}
	}
	*to++ = '"';
	return (size_t)(to - at);
}

static char *grow(struct filler *filler, char *list, size_t need)
{
	char *grown = realloc(list, need);
	if (!grown) {
		free(list);
		filler->no_memory = true;
	}
	return grown;
}

static char *list_of_texts(struct filler *filler, size_t column, int field, size_t *length)
{
	char **texts = gdal()->OGR_F_GetFieldAsStringList(filler->feature, field);
	char *list = grow(filler, NULL, 3);
	size_t used = 0;
	if (list)
		list[used++] = '[';
	for (int i = 0; list && texts && texts[i]; i++) {
		const char *plain;
		size_t count;
		if (!ogr_text_convert(&filler->text, texts[i], strlen(texts[i]), &plain, &count)) {
			blame(filler, "a text of the list is not UTF-8", filler->ogr->source.columns[column].name, texts[i]);
			plain = "";
			count = 0;
		}
		list = grow(filler, list, used + 6 * count + 6);
		if (!list)
			break;
		if (i)
			list[used++] = ',';
		used += quote(list + used, plain, count);
	}
	if (list)
		list[used++] = ']';
	*length = used;
	return list;
}

static char *list_of_numbers(struct filler *filler, int field, OGRFieldType type, size_t *length)
{
	int count = 0;
	const int *narrow = type == OFTIntegerList ? gdal()->OGR_F_GetFieldAsIntegerList(filler->feature, field, &count) : NULL;
	const GIntBig *wide =
		type == OFTInteger64List ? gdal()->OGR_F_GetFieldAsInteger64List(filler->feature, field, &count) : NULL;
	const double *real = type == OFTRealList ? gdal()->OGR_F_GetFieldAsDoubleList(filler->feature, field, &count) : NULL;
	char *list = grow(filler, NULL, (size_t)count * (NUMBER_MAX + 1) + 3);
	size_t used = 0;
	if (!list)
		return NULL;
	list[used++] = '[';
	for (int i = 0; i < count; i++) {
		if (i)
			list[used++] = ',';
		if (real && !isfinite(real[i]))
			used += (size_t)snprintf(list + used, 5, "null"); /* JSON has no word for it */
		else if (real)
			used += number_shortest(real[i], list + used);
		else
			used += (size_t)snprintf(list + used, 24, "%" PRId64, narrow ? (int64_t)narrow[i] : (int64_t)wide[i]);
	}
	list[used++] = ']';
	*length = used;
	return list;
}

static void put_list(struct filler *filler, size_t column, int field)
{
	OGRFieldType type = gdal()->OGR_Fld_GetType(gdal()->OGR_F_GetFieldDefnRef(filler->feature, field));
	size_t length;
	char *list = type == OFTStringList ? list_of_texts(filler, column, field, &length)
									   : list_of_numbers(filler, field, type, &length);
	if (list)
		chunk_put_text(filler->chunk, SOURCE_FIXED + column, filler->row, list, length);
	else
		chunk_put_null(filler->chunk, SOURCE_FIXED + column, filler->row);
	free(list);
}

/* ---- rows ---- */

static void put_shape(struct filler *filler, size_t column)
{
	size_t at = SOURCE_FIXED + column;
	OGRGeometryH shape = gdal()->OGR_F_GetGeometryRef(filler->feature);
	size_t count = shape ? gdal()->OGR_G_WkbSizeEx(shape) : 0;
	if (count > filler->shape_room) {
		uint8_t *grown = realloc(filler->shape, 2 * count);
		if (!grown) {
			filler->no_memory = true;
			shape = NULL;
		} else {
			filler->shape = grown;
			filler->shape_room = 2 * count;
		}
	}
	if (!shape) {
		chunk_put_null(filler->chunk, at, filler->row);
	} else if (gdal()->OGR_G_ExportToIsoWkb(shape, wkbNDR, filler->shape) != OGRERR_NONE) {
		blame(filler, "the geometry has no well-known binary form", filler->ogr->source.columns[column].name,
			  gdal()->OGR_G_GetGeometryName(shape));
		chunk_put_null(filler->chunk, at, filler->row);
	} else {
		chunk_put_text(filler->chunk, at, filler->row, (const char *)filler->shape, count);
	}
}

static void put_bytes(struct filler *filler, size_t column, int field)
{
	int count = 0;
	const GByte *bytes = gdal()->OGR_F_GetFieldAsBinary(filler->feature, field, &count);
	chunk_put_text(filler->chunk, SOURCE_FIXED + column, filler->row, bytes ? (const char *)bytes : "", (size_t)count);
}

static void put_cell(struct filler *filler, size_t column)
{
	const struct ogr_column *from = &filler->ogr->columns[column];
	OGRFeatureH feature = filler->feature;
	size_t at = SOURCE_FIXED + column;
	if (from->reading < OGR_FID && !gdal()->OGR_F_IsFieldSetAndNotNull(feature, from->field)) {
		chunk_put_null(filler->chunk, at, filler->row);
		return;
	}
	switch (from->reading) {
	case OGR_INTEGER:
		chunk_put_int(filler->chunk, at, filler->row, gdal()->OGR_F_GetFieldAsInteger64(feature, from->field));
		break;
	case OGR_DOUBLE:
		chunk_put_double(filler->chunk, at, filler->row, gdal()->OGR_F_GetFieldAsDouble(feature, from->field));
		break;
	case OGR_BOOLEAN:
		chunk_put_bool(filler->chunk, at, filler->row, gdal()->OGR_F_GetFieldAsInteger(feature, from->field) != 0);
		break;
	case OGR_TEXT:
		put_text(filler, column, gdal()->OGR_F_GetFieldAsString(feature, from->field));
		break;
	case OGR_LIST:
		put_list(filler, column, from->field);
		break;
	case OGR_BYTES:
		put_bytes(filler, column, from->field);
		break;
	case OGR_FID:
		chunk_put_int(filler->chunk, at, filler->row, gdal()->OGR_F_GetFID(feature));
		break;
	case OGR_SHAPE:
		put_shape(filler, column);
		break;
	default:
		put_moment(filler, column, from->field, from->reading);
	}
}

/* The running number; in sheets the row, which is the feature id as long as that goes up. */
static int64_t row_number(struct filler *filler)
{
	int64_t fid = gdal()->OGR_F_GetFID(filler->feature);
	filler->number++;
	filler->last = filler->ogr->sheet && fid > filler->last ? fid : filler->ogr->sheet ? filler->last + 1 : filler->number;
	return filler->last;
}

static void fill_row(struct filler *filler, const struct quiet *quiet)
{
	const struct source *source = &filler->ogr->source;
	filler->fault_length = 0;
	chunk_put_int(filler->chunk, SOURCE_ROW, filler->row, row_number(filler));
	chunk_put_null(filler->chunk, SOURCE_LINE, filler->row);
	chunk_put_null(filler->chunk, SOURCE_OFFSET, filler->row);
	if (quiet->failed)
		blame(filler, "GDAL could not read the row rightly", "", quiet->text);
	for (size_t column = 0; column < source->column_count; column++)
		put_cell(filler, column);
	if (filler->fault_length)
		chunk_put_text(filler->chunk, SOURCE_FAULT, filler->row, filler->fault, filler->fault_length);
	else
		chunk_put_null(filler->chunk, SOURCE_FAULT, filler->row);
}

static size_t give_up(const struct filler *filler, const struct quiet *quiet, recloser_error *error)
{
	if (filler->no_memory)
		error_set(error, RECLOSER_IO, "memory", "out of memory");
	else
		error_set(error, RECLOSER_REFUSED, "ogr.read", "the layer cannot be read to its end: %s", quiet->text);
	error_where(error, "%s, layer %s, after row %" PRId64, filler->ogr->name, filler->ogr->source.facts.sheet, filler->last);
	if (!filler->no_memory)
		error_hint(error, "the file seems to be cut off or damaged: download it again");
	return 0;
}

/* Drivers of sheets hand out blank rows, which are no records in any other format. */
static bool is_blank_row(const struct filler *filler)
{
	if (!filler->ogr->sheet)
		return false;
	for (int i = 0; i < gdal()->OGR_F_GetFieldCount(filler->feature); i++)
		if (gdal()->OGR_F_IsFieldSetAndNotNull(filler->feature, i))
			return false;
	return true;
}

static size_t next(struct source *source, void *own, struct chunk *chunk, recloser_error *error)
{
	struct filler *filler = own;
	filler->chunk = chunk;
	for (filler->row = 0; filler->row < CHUNK_ROWS;) {
		struct quiet quiet;
		quiet_begin(&quiet);
		filler->feature = gdal()->OGR_L_GetNextFeature(filler->ogr->layer);
		bool blank = filler->feature && !quiet.failed && is_blank_row(filler);
		if (filler->feature) {
			if (blank)
				(void)row_number(filler);
			else
				fill_row(filler, &quiet);
			gdal()->OGR_F_Destroy(filler->feature);
		}
		source->counts.blank_lines += blank;
		quiet_end(&quiet);
		/* Drivers of XML hand out what they have when the file breaks off, and say the end of the layer afterwards. */
		if (filler->feature && quiet.failed && strstr(quiet.text, "XML parsing of"))
			filler->stopped = quiet;
		else if (!filler->feature && !quiet.failed)
			quiet = filler->stopped;
		filler->no_memory |= filler->text.no_memory;
		if (filler->no_memory || (!filler->feature && quiet.failed))
			return give_up(filler, &quiet, error);
		if (!filler->feature)
			break;
		filler->row += !blank;
	}
	source->counts.rows += filler->row;
	return filler->row;
}

const struct source_ops ogr_ops = {.next = next, .start = start, .stop = stop, .parallel = false};
