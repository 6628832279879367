/* SPDX-License-Identifier: Apache-2.0
 * References count forward from their own place; a table counts back to its list of fields. All numbers are little-endian
 * and lie at multiples of their size. */
#include "engine/flatbuffer.h"

#include <string.h>

static void add_bytes(struct flat *flat, const void *bytes, size_t count)
{
	if (flat->count + count > flat->capacity) {
		size_t larger = (flat->count + count) * 2 + 256;
		flat->at = arena_grow(flat->arena, flat->at, flat->count, larger);
		flat->capacity = larger;
	}
	if (bytes)
		memcpy(flat->at + flat->count, bytes, count);
	else
		memset(flat->at + flat->count, 0, count);
	flat->count += count;
}

static void add_number(struct flat *flat, uint64_t value, int bytes)
{
	size_t place = flat->count;
	add_bytes(flat, NULL, (size_t)bytes);
	flat_set(flat, place, value, bytes);
}

static void refer_here(struct flat *flat, size_t reference)
{
	flat_set(flat, reference, flat->count - reference, 4);
}

struct flat flat_on(struct arena *arena)
{
	struct flat flat = {.arena = arena};
	add_number(&flat, 0, 4);
	return flat;
}

void flat_set(struct flat *flat, size_t place, uint64_t value, int bytes)
{
	for (int i = 0; i < bytes; i++, value >>= 8)
		flat->at[place + (size_t)i] = (uint8_t)value;
}

void flat_pad(struct flat *flat, size_t align)
{
	while (flat->count % align)
		add_number(flat, 0, 1);
}

void flat_table(struct flat *flat, size_t reference, const uint8_t *widths, int fields, size_t *places)
{
	uint16_t offsets[FLAT_FIELDS] = {0};
	size_t size = 4; /* the way back to the list of fields comes first */
	for (int width = 8; width >= 1; width /= 2) {
		for (int i = 0; i < fields; i++) {
			if (widths[i] != width)
				continue;
			while (size % (size_t)width)
				size++;
			offsets[i] = (uint16_t)size;
			size += (size_t)width;
		}
	}
	size_t list_bytes = 4 + 2 * (size_t)fields;
	flat_pad(flat, 2);
	while ((flat->count + list_bytes) % 8) /* so that the table is aligned for whatever it holds */
		add_number(flat, 0, 2);
	size_t list = flat->count;
	add_number(flat, list_bytes, 2);
	add_number(flat, size, 2);
	for (int i = 0; i < fields; i++)
		add_number(flat, offsets[i], 2);
	size_t table = flat->count;
	refer_here(flat, reference);
	add_number(flat, table - list, 4);
	add_bytes(flat, NULL, size - 4);
	for (int i = 0; i < fields; i++)
		places[i] = offsets[i] ? table + offsets[i] : 0;
}

void flat_text(struct flat *flat, size_t reference, const char *text)
{
	size_t length = strlen(text);
	flat_pad(flat, 4);
	refer_here(flat, reference);
	add_number(flat, length, 4);
	add_bytes(flat, text, length + 1);
}

size_t flat_vector(struct flat *flat, size_t reference, size_t count)
{
	flat_pad(flat, 4);
	refer_here(flat, reference);
	add_number(flat, count, 4);
	size_t first = flat->count;
	add_bytes(flat, NULL, 4 * count);
	return first;
}
