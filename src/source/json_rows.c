/* SPDX-License-Identifier: Apache-2.0
 * The second pass: records to rows. Runs on the engine's threads, each with a `filler` of its own. */
#include "source/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "geo/crs.h"

enum { FAULT_BYTES = 600, NAME_BYTES = 256 };

struct filler {
	struct json_source *source;
	struct chunk *chunk;
	size_t row, guess;
	uint64_t serial; /* of the record, so that `seen` needs no clearing */
	uint64_t *seen;  /* per column: the serial of the last record that had it */
	char *buffer;    /* for texts with escapes */
	size_t room;
	char fault[FAULT_BYTES];
	size_t fault_length;
	bool no_memory, strange; /* strange: a member that the first pass did not see */
};

static void *start(struct source *source)
{
	struct json_source *json = source->impl;
	struct filler *filler = calloc(1, sizeof *filler);
	if (!filler)
		return NULL;
	filler->source = json;
	filler->seen = calloc(source->column_count + 1, sizeof *filler->seen);
	if (!filler->seen) {
		free(filler);
		return NULL;
	}
	return filler;
}

static void stop(struct source *source, void *own)
{
	struct filler *filler = own;
	(void)source;
	if (filler) {
		free(filler->seen);
		free(filler->buffer);
		free(filler);
	}
}

/* The first fault of a record is kept. */
static void blame(struct filler *filler, const char *reason, const char *column, const char *value, size_t count)
{
	if (!filler->fault_length)
		filler->fault_length = source_fault(filler->fault, sizeof filler->fault, reason, column, value, count);
}

static void blame_soft(struct filler *filler, struct json_scan *scan, const char *column, const struct value *value)
{
	blame(filler, scan->soft, column, value->at, value->count);
	scan->soft = NULL;
}

static bool make_room(struct filler *filler, size_t count)
{
	if (count <= filler->room)
		return true;
	char *grown = realloc(filler->buffer, count);
	if (!grown) {
		filler->no_memory = true;
		return false;
	}
	filler->buffer = grown;
	filler->room = count;
	return true;
}

static void put(struct filler *filler, size_t column, const struct value *value)
{
	size_t at = SOURCE_FIXED + column;
	filler->seen[column] = filler->serial;
	if (value->kind == VALUE_NULL)
		chunk_put_null(filler->chunk, at, filler->row);
	else if (value->kind != VALUE_TEXT || !value->escaped)
		chunk_put_text(filler->chunk, at, filler->row, value->at, value->count);
	else if (make_room(filler, value->count))
		chunk_put_text(filler->chunk, at, filler->row, filler->buffer, json_unescape(value, filler->buffer));
	else
		chunk_put_null(filler->chunk, at, filler->row);
}

static void fill_member(void *arg, struct json_scan *scan, const struct value *name, const struct value *value)
{
	struct filler *filler = arg;
	const char *plain = name->at;
	size_t count = name->count;
	if (name->escaped) {
		if (!make_room(filler, name->count))
			return;
		count = json_unescape(name, filler->buffer);
		plain = filler->buffer;
	}
	size_t column = json_column_find(&filler->source->columns, plain, count, filler->guess);
	if (column == SIZE_MAX) {
		filler->strange = true;
		return;
	}
	const char *known = filler->source->columns.at[column].name;
	filler->guess = column + 1;
	if (scan->soft)
		blame_soft(filler, scan, known, value);
	if (filler->seen[column] == filler->serial)
		blame(filler, "member twice", known, value->at, value->count);
	else
		put(filler, column, value);
}

static void fill_geometry(void *arg, const struct value *value)
{
	struct filler *filler = arg;
	size_t column = filler->source->geometry_column;
	if (value->kind == VALUE_NULL)
		return;
	uint8_t *wkb;
	size_t count;
	const char *wrong = geometry_from_geojson(value->at, value->count, &wkb, &count);
	if (wrong) {
		blame(filler, wrong, filler->source->source.columns[column].name, value->at, value->count);
		return;
	}
	filler->seen[column] = filler->serial;
	chunk_put_text(filler->chunk, SOURCE_FIXED + column, filler->row, (const char *)wkb, count);
	free(wkb);
}

static void fill_id(void *arg, struct json_scan *scan, const struct value *value)
{
	struct filler *filler = arg;
	if (filler->source->id_column == SIZE_MAX)
		return;
	if (scan->soft)
		blame_soft(filler, scan, "feature_id", value);
	put(filler, filler->source->id_column, value);
}

static void fill_foreign(void *arg, const struct value *name)
{
	(void)arg;
	(void)name;
}

/* What ends the source: the text is mapped, and a file that is changed meanwhile changes under the reader. */
static size_t give_up(const struct filler *filler, recloser_error *error)
{
	const struct input *input = filler->source->request.input;
	if (filler->no_memory)
		error_set(error, RECLOSER_IO, "memory", "out of memory");
	else
		error_set(error, RECLOSER_IO, "source.changed", "the file changed while it was read");
	error_where(error, "%s", input->name);
	return 0;
}

/* One record is scanned and put; false when the source has ended for good. */
static bool fill_row(struct filler *filler, struct json_cursor *cursor, const struct json_visitor *visitor)
{
	struct json_source *source = filler->source;
	struct chunk *chunk = filler->chunk;
	if (!json_cursor_next(cursor))
		return false;
	filler->serial++;
	filler->guess = 0;
	filler->fault_length = 0;
	chunk_put_int(chunk, SOURCE_ROW, filler->row, (int64_t)cursor->number);
	chunk_put_int(chunk, SOURCE_LINE, filler->row, (int64_t)cursor->line);
	chunk_put_int(chunk, SOURCE_OFFSET, filler->row, cursor->start - source->place.begin);
	const char *wrong = json_visit(&cursor->scan, source->place.features, visitor);
	struct value rest = {.at = cursor->start, .count = (size_t)(cursor->scan.at - cursor->start)};
	if (cursor->scan.wrong) {
		wrong = cursor->scan.wrong;
		filler->fault_length = 0; /* this is the better reason */
		if (source->place.array || cursor->number < 2)
			return false;
		json_cursor_skip_line(cursor);
		rest.count = (size_t)(cursor->scan.at - cursor->start);
	}
	if (wrong)
		blame(filler, wrong, "", rest.at, rest.count);
	if (cursor->scan.soft)
		blame_soft(filler, &cursor->scan, "", &rest);
	for (size_t column = 0; column < source->source.column_count; column++)
		if (filler->seen[column] != filler->serial)
			chunk_put_null(chunk, SOURCE_FIXED + column, filler->row);
	if (filler->fault_length)
		chunk_put_text(chunk, SOURCE_FAULT, filler->row, filler->fault, filler->fault_length);
	else
		chunk_put_null(chunk, SOURCE_FAULT, filler->row);
	return !filler->no_memory && !filler->strange;
}

static size_t next(struct source *source, void *own, struct chunk *chunk, recloser_error *error)
{
	struct json_source *json = source->impl;
	struct filler *filler = own;
	if (!filler) {
		error_set(error, RECLOSER_IO, "memory", "out of memory");
		return 0;
	}
	pthread_mutex_lock(&json->lock);
	size_t number = json->next < json->checkpoint_count ? json->next++ : SIZE_MAX;
	uint64_t left = number == SIZE_MAX ? 0 : json->record_count - (uint64_t)number * CHUNK_ROWS;
	size_t rows = left < CHUNK_ROWS ? (size_t)left : CHUNK_ROWS;
	source->counts.rows += rows;
	if (rows)
		__atomic_store_n(&source->reached.bytes, (uint64_t)(json->checkpoints[number].at - json->place.begin), __ATOMIC_RELAXED);
	pthread_mutex_unlock(&json->lock);
	struct json_visitor visitor = {filler, fill_member, fill_geometry, fill_id, fill_foreign};
	struct json_cursor cursor = json_cursor_of(&json->place);
	if (rows) {
		cursor.scan.at = cursor.counted = json->checkpoints[number].at;
		cursor.line = json->checkpoints[number].line;
		cursor.first = number == 0;
		cursor.number = (uint64_t)number * CHUNK_ROWS;
	}
	filler->chunk = chunk;
	for (filler->row = 0; filler->row < rows; filler->row++)
		if (!fill_row(filler, &cursor, &visitor))
			return give_up(filler, error);
	return rows;
}

const struct source_ops json_ops = {.next = next, .start = start, .stop = stop, .parallel = true};
