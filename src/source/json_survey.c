/* SPDX-License-Identifier: Apache-2.0
 * The first pass: which columns there are, of which kinds, and where every chunk begins. */
#include "source/json.h"

#include <inttypes.h>
#include <string.h>

/* More members than this are keys of a map, not columns. */
enum { MOST_COLUMNS = 4096 };

static size_t slot_of(const struct json_columns *columns, const char *name, size_t count)
{
	uint64_t hash = 14695981039346656037u; /* FNV-1a */
	for (size_t i = 0; i < count; i++)
		hash = (hash ^ (unsigned char)name[i]) * 1099511628211u;
	size_t slot = (size_t)(hash ^ hash >> 32) & (columns->slot_count - 1);
	while (columns->slots[slot]) {
		const struct json_column *column = &columns->at[columns->slots[slot] - 1];
		if (column->count == count && memcmp(column->name, name, count) == 0)
			break;
		slot = (slot + 1) & (columns->slot_count - 1);
	}
	return slot;
}

size_t json_column_find(const struct json_columns *columns, const char *name, size_t count, size_t guess)
{
	if (guess < columns->count && columns->at[guess].count == count && memcmp(columns->at[guess].name, name, count) == 0)
		return guess;
	if (columns->count == 0)
		return SIZE_MAX;
	uint32_t found = columns->slots[slot_of(columns, name, count)];
	return found ? found - 1 : SIZE_MAX;
}

size_t json_column_add(struct arena *arena, struct json_columns *columns, const char *name, size_t count)
{
	if (columns->count == columns->capacity) {
		size_t capacity = columns->capacity ? 2 * columns->capacity : 64;
		columns->at = arena_grow(arena, columns->at, columns->count * sizeof *columns->at, capacity * sizeof *columns->at);
		columns->capacity = capacity;
		columns->slot_count = 4 * capacity;
		columns->slots = arena_array(arena, columns->slot_count, sizeof *columns->slots);
		for (size_t i = 0; i < columns->count; i++)
			columns->slots[slot_of(columns, columns->at[i].name, columns->at[i].count)] = (uint32_t)i + 1;
	}
	size_t index = columns->count;
	columns->at[index] = (struct json_column){.name = arena_strndup(arena, name, count), .count = count};
	columns->slots[slot_of(columns, name, count)] = (uint32_t)index + 1;
	columns->count++;
	return index;
}

void json_column_note(struct json_column *column, const struct value *value)
{
	int64_t number;
	switch (value->kind) {
	case VALUE_NULL:
		break;
	case VALUE_FALSE:
	case VALUE_TRUE:
		column->kinds |= KIND_BOOLEAN;
		break;
	case VALUE_TEXT:
	case VALUE_OBJECT:
	case VALUE_ARRAY:
		column->kinds |= KIND_TEXT;
		break;
	case VALUE_INTEGER:
		if (value_int64(value, &number)) {
			column->kinds |= KIND_INTEGER;
			if ((number > INT64_C(9007199254740992) || number < -INT64_C(9007199254740992)) && !value_exact(value))
				column->kinds |= KIND_LONG;
		} else {
			/* -0 is a number to keep its sign; anything else is longer than 64 bits. */
			column->kinds |= value->count == 2 ? KIND_NUMBER : KIND_INEXACT;
		}
		break;
	case VALUE_NUMBER:
		if (!(column->kinds & (KIND_TEXT | KIND_INEXACT)) && !value_exact(value))
			column->kinds |= KIND_INEXACT;
		column->kinds |= KIND_NUMBER;
		break;
	}
}

enum column_type json_column_type(unsigned kinds)
{
	if (kinds == KIND_BOOLEAN)
		return TYPE_BOOLEAN;
	if (kinds == KIND_INTEGER || kinds == (KIND_INTEGER | KIND_LONG))
		return TYPE_INTEGER;
	if (kinds == KIND_NUMBER || kinds == (KIND_NUMBER | KIND_INTEGER))
		return TYPE_DOUBLE;
	return TYPE_TEXT;
}

struct survey {
	struct arena *arena;
	struct json_source *source;
	struct json_cursor cursor;
	size_t guess;
	struct json_column id; /* of features */
	bool any_id, too_many;
	struct strings foreign;
};

/* The name without escapes; a short one in `small`. */
static const char *plain_name(struct survey *survey, const struct value *name, char *small, size_t size, size_t *count)
{
	*count = name->count;
	if (!name->escaped)
		return name->at;
	char *to = name->count <= size ? small : arena_alloc(survey->arena, name->count);
	*count = json_unescape(name, to);
	return to;
}

static void see_member(void *arg, struct json_scan *scan, const struct value *name, const struct value *value)
{
	struct survey *survey = arg;
	struct json_columns *columns = &survey->source->columns;
	char small[256];
	size_t count;
	(void)scan;
	const char *plain = plain_name(survey, name, small, sizeof small, &count);
	size_t index = json_column_find(columns, plain, count, survey->guess);
	if (index == SIZE_MAX) {
		if (columns->count == MOST_COLUMNS) {
			survey->too_many = true;
			return;
		}
		index = json_column_add(survey->arena, columns, plain, count);
	}
	survey->guess = index + 1;
	json_column_note(&columns->at[index], value);
}

static void see_geometry(void *arg, const struct value *value)
{
	(void)arg;
	(void)value;
}

static void see_id(void *arg, struct json_scan *scan, const struct value *value)
{
	struct survey *survey = arg;
	(void)scan;
	survey->any_id = true;
	json_column_note(&survey->id, value);
}

static void see_foreign(void *arg, const struct value *name)
{
	struct survey *survey = arg;
	char small[256];
	size_t count;
	const char *plain = plain_name(survey, name, small, sizeof small, &count);
	const char *text = arena_strndup(survey->arena, plain, count);
	if (survey->foreign.count < 20 && !strings_has(&survey->foreign, text))
		strings_add(survey->arena, &survey->foreign, text);
}

static void leave_checkpoint(struct survey *survey)
{
	struct json_source *source = survey->source;
	size_t count = source->checkpoint_count;
	if ((count & (count - 1)) == 0) { /* the capacity is the power of two */
		size_t each = sizeof *source->checkpoints;
		source->checkpoints = arena_grow(survey->arena, source->checkpoints, count * each, (count ? 2 * count : 1) * each);
	}
	source->checkpoints[count] = (struct json_checkpoint){survey->cursor.scan.at, json_cursor_line(&survey->cursor)};
	source->checkpoint_count++;
}

/* A sequence with one record on each line: there a broken record ends with its line. */
static bool begins_line(const struct json_place *place, const char *start)
{
	return start == place->begin || start[-1] == '\n' || start[-1] == '\x1e';
}

/* True: the broken record was skipped. A last line that breaks off without a line end is the end of a download that broke off, and
 * more than this record is missing. */
static bool skip_broken(struct survey *survey, bool lines)
{
	struct json_cursor *cursor = &survey->cursor;
	if (cursor->place->array || !lines || cursor->number < 2 || !begins_line(cursor->place, cursor->start))
		return false;
	if (json_scan_cut_off(&cursor->scan) && !memchr(cursor->start, '\n', (size_t)(cursor->scan.end - cursor->start)))
		return false;
	json_cursor_skip_line(cursor);
	return true;
}

static recloser_status check_end(struct survey *survey, recloser_error *error)
{
	struct json_source *source = survey->source;
	struct json_scan *scan = &survey->cursor.scan;
	if (!source->place.whole)
		return RECLOSER_OK;
	json_scan_space(scan);
	if (scan->at == scan->end)
		return RECLOSER_OK;
	bool lines = *scan->at == '[';
	return json_refuse(&source->request, &source->place, scan->at, "text after the end of the document",
					   lines ? "lines must hold objects, not arrays" : NULL, error);
}

recloser_status json_survey(struct arena *arena, struct json_source *source, recloser_error *error)
{
	struct survey survey = {.arena = arena, .source = source};
	struct json_visitor visitor = {&survey, see_member, see_geometry, see_id, see_foreign};
	struct json_cursor *cursor = &survey.cursor;
	bool lines = !source->place.array;
	uint64_t objects = 0;
	*cursor = json_cursor_of(&source->place);
	for (;;) {
		if (cursor->number % CHUNK_ROWS == 0)
			leave_checkpoint(&survey);
		if (!json_cursor_next(cursor))
			break;
		survey.guess = 0;
		bool object = *cursor->start == '{';
		json_visit(&cursor->scan, source->place.features, &visitor);
		if (cursor->scan.wrong && !skip_broken(&survey, lines))
			break;
		objects += object;
		if (survey.too_many)
			return json_refuse(&source->request, &source->place, cursor->start,
							   "the records have more than 4,096 different members",
							   "the members may be ids of a map: make a list of records from it", error);
		lines = lines && begins_line(&source->place, cursor->start) &&
				!memchr(cursor->start, '\n', (size_t)(cursor->scan.at - cursor->start));
	}
	if (cursor->scan.wrong)
		return json_refuse(&source->request, &source->place, cursor->scan.at, cursor->scan.wrong, cursor->scan.hint, error);
	RC_TRY(check_end(&survey, error));
	if (cursor->number > 0 && objects == 0)
		return json_refuse(&source->request, &source->place, source->place.records, "none of the records is an object",
						   "each record must be an object whose members are the columns", error);
	source->record_count = cursor->number;
	source->checkpoint_count = (size_t)((cursor->number + CHUNK_ROWS - 1) / CHUNK_ROWS);
	source->id_column = survey.any_id ? source->columns.count : SIZE_MAX;
	source->id_kinds = survey.id.kinds;
	if (survey.foreign.count)
		strings_add(arena, &source->source.facts.notes,
					arena_printf(arena, "members of features beside their properties are not read: %s",
								 strings_join(arena, &survey.foreign, ", ")));
	return RECLOSER_OK;
}
