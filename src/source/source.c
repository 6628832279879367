/* SPDX-License-Identifier: Apache-2.0
 * What all sources share: the text of a fault, whose fault a failure is, and finding a column by the name a spec gives. */
#include "source/source.h"

#include <stdio.h>
#include <string.h>

/* The length of `count` bytes without a character that was cut in its middle. */
static size_t whole_characters(const char *bytes, size_t count)
{
	size_t back = 0;
	while (back < count && back < 3 && ((unsigned char)bytes[count - 1 - back] & 0xC0) == 0x80)
		back++;
	if (back == count)
		return count;
	unsigned char lead = (unsigned char)bytes[count - 1 - back];
	size_t more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC0 ? 1 : 0;
	return more > back ? count - 1 - back : count;
}

/* NUL and 0x1F would be taken for ends of a part; they show as a question mark. */
static size_t add_part(char *buffer, size_t size, size_t used, const char *part, size_t count)
{
	size_t room = size - used;
	count = whole_characters(part, count < room ? count : room);
	for (size_t i = 0; i < count; i++)
		buffer[used + i] = part[i] == '\0' || part[i] == '\x1f' ? '?' : part[i];
	return used + count;
}

size_t source_fault(char *buffer, size_t size, const char *reason, const char *column, const char *value,
					size_t value_length)
{
	size_t used = add_part(buffer, size, 0, reason, strlen(reason));
	if (used < size)
		buffer[used++] = '\x1f';
	column = column ? column : "";
	used = add_part(buffer, size, used, column, strlen(column));
	if (used < size)
		buffer[used++] = '\x1f';
	return add_part(buffer, size, used, value, value_length);
}

recloser_status source_blame(const struct input *input, recloser_status status, recloser_error *error)
{
	if (status != RECLOSER_IO || !error || strcmp(error->code, "engine.failed") != 0)
		return status;
	snprintf(error->code, sizeof error->code, "source.unreadable");
	error->status = RECLOSER_REFUSED;
	error_where(error, "%s", input->path);
	return error_hint(error, "the file was damaged, or its writer made it so that it can't be read; fetch it again, or tell the publisher");
}

int source_find(struct arena *arena, const struct source *source, const char *name)
{
	const char *wanted = text_squeezed(arena, name);
	int found = -1;
	if (*wanted)
		for (size_t i = 0; i < source->column_count; i++)
			if (strcmp(wanted, text_squeezed(arena, source->columns[i].name)) == 0) {
				if (found >= 0)
					return -2;
				found = (int)i;
			}
	if (found >= 0)
		return found;
	for (size_t i = 0; i < source->column_count; i++)
		if (source->columns[i].letter && text_equal_nocase(source->columns[i].letter, wanted))
			return (int)i;
	return -1;
}
