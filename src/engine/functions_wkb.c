/* SPDX-License-Identifier: Apache-2.0
 * Functions over well-known binary that need nothing but its bytes. */
#include <stdio.h>
#include <stdlib.h>

#include "base/number.h"
#include "engine/functions_parts.h"
#include "geo/wkb.h"

/* Facts of one cell; false when it is null, unsound, or has no coordinate. */
static bool extent_of(const struct argument *argument, idx_t row, struct wkb_facts *facts)
{
	size_t count;
	const char *bytes = argument_bytes(argument, row, &count);
	*facts = (struct wkb_facts){0};
	return bytes && wkb_walk(bytes, count, facts) == WKB_SOUND && facts->any;
}

/* Numbers that stand in neighbouring arguments: looked up once a chunk. */
struct numbers {
	struct argument at[4];
	int count;
};

static struct numbers numbers_from(duckdb_data_chunk input, idx_t first, int count)
{
	struct numbers numbers = {.count = count};
	for (int i = 0; i < count; i++)
		numbers.at[i] = argument_at(input, first + (idx_t)i);
	return numbers;
}

/* Those of a row; false when one is null. */
static inline bool numbers_of(const struct numbers *numbers, idx_t row, double *out)
{
	for (int i = 0; i < numbers->count; i++) {
		if (!valid_at(numbers->at[i].validity, row))
			return false;
		out[i] = ((double *)numbers->at[i].data)[row];
	}
	return true;
}

/* ---- making ---- */

static void make_point(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
	(void)info;
	struct numbers numbers = numbers_from(input, 0, 2);
	for (idx_t row = 0; row < duckdb_data_chunk_get_size(input); row++) {
		double at[2];
		uint8_t bytes[WKB_POINT_BYTES];
		if (!numbers_of(&numbers, row, at)) {
			result_null(output, row);
			continue;
		}
		wkb_point(at[0], at[1], bytes);
		result_bytes(output, row, bytes, sizeof bytes);
	}
}

static void make_segment(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
	(void)info;
	struct numbers numbers = numbers_from(input, 0, 4);
	for (idx_t row = 0; row < duckdb_data_chunk_get_size(input); row++) {
		double at[4];
		uint8_t bytes[WKB_SEGMENT_BYTES];
		if (!numbers_of(&numbers, row, at)) {
			result_null(output, row);
			continue;
		}
		wkb_segment(at[0], at[1], at[2], at[3], bytes);
		result_bytes(output, row, bytes, sizeof bytes);
	}
}

/* A buffer that is as large as the largest cell so far; NULL when there is no memory. */
static uint8_t *at_least(uint8_t **buffer, size_t *capacity, size_t count)
{
	if (count > *capacity) {
		uint8_t *larger = realloc(*buffer, count * 2);
		if (!larger)
			return NULL;
		*buffer = larger;
		*capacity = count * 2;
	}
	return *buffer;
}

static void make_stored(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
	struct argument geometry = argument_at(input, 0);
	uint8_t *buffer = NULL;
	size_t capacity = 0;
	for (idx_t row = 0; row < duckdb_data_chunk_get_size(input); row++) {
		size_t count;
		const char *bytes = argument_bytes(&geometry, row, &count);
		struct wkb_facts facts = {0};
		enum wkb_fault fault = bytes ? wkb_walk(bytes, count, &facts) : WKB_TRUNCATED;
		if (fault != WKB_SOUND && fault != WKB_EMPTY) {
			result_null(output, row);
		} else if (facts.standard) {
			result_bytes(output, row, bytes, count);
		} else if (at_least(&buffer, &capacity, count)) {
			size_t stored = wkb_store(bytes, count, buffer);
			result_bytes(output, row, buffer, stored);
		} else {
			duckdb_scalar_function_set_error(info, "out of memory");
			break;
		}
	}
	free(buffer);
}

static void make_from_hex(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
	struct argument text = argument_at(input, 0);
	uint8_t *buffer = NULL;
	size_t capacity = 0;
	for (idx_t row = 0; row < duckdb_data_chunk_get_size(input); row++) {
		size_t count;
		const char *digits = argument_bytes(&text, row, &count);
		if (!digits || count < 2) {
			result_null(output, row);
			continue;
		}
		if (!at_least(&buffer, &capacity, count / 2)) {
			duckdb_scalar_function_set_error(info, "out of memory");
			break;
		}
		size_t bytes = wkb_from_hex(digits, count, buffer);
		if (bytes)
			result_bytes(output, row, buffer, bytes);
		else
			result_null(output, row);
	}
	free(buffer);
}

/* ---- looking ---- */

static void tell_fault(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
	(void)info;
	struct argument geometry = argument_at(input, 0);
	uint64_t *validity = result_validity(output);
	for (idx_t row = 0; row < duckdb_data_chunk_get_size(input); row++) {
		size_t count;
		const char *bytes = argument_bytes(&geometry, row, &count);
		struct wkb_facts facts = {0};
		enum wkb_fault fault = bytes ? wkb_walk(bytes, count, &facts) : WKB_SOUND;
		if (fault == WKB_SOUND)
			set_null(validity, row);
		else
			result_text(output, row, wkb_fault_text(fault));
	}
}

/* 180.00000000000006 is 180 after somebody's arithmetic (a tenth of a millimetre in degrees is allowed), not another place. */
#define SLACK 1e-9

static void outside_text(const char *axis, double value, double low, double high, char *out, size_t size)
{
	char numbers[3][NUMBER_MAX];
	number_shortest(value, numbers[0]);
	number_shortest(low, numbers[1]);
	number_shortest(high, numbers[2]);
	snprintf(out, size, "%s %s is outside %s to %s", axis, numbers[0], numbers[1], numbers[2]);
}

static bool within(const double minimum[2], const double maximum[2], const double bounds[4])
{
	return minimum[0] >= bounds[0] - SLACK && minimum[1] >= bounds[1] - SLACK && maximum[0] <= bounds[2] + SLACK &&
		   maximum[1] <= bounds[3] + SLACK;
}

/* Of the axis that is the first to be outside. */
static void say_outside(const struct wkb_facts *facts, const double bounds[4], char *out, size_t size)
{
	bool degrees = bounds[0] == -180 && bounds[2] == 180;
	const char *const axes[2] = {degrees ? "longitude" : "x", degrees ? "latitude" : "y"};
	for (int axis = 0; axis < 2; axis++) {
		bool below = facts->minimum[axis] < bounds[axis] - SLACK;
		if (!below && !(facts->maximum[axis] > bounds[axis + 2] + SLACK))
			continue;
		outside_text(axes[axis], below ? facts->minimum[axis] : facts->maximum[axis], bounds[axis], bounds[axis + 2], out, size);
		return;
	}
}

static void tell_outside(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
	(void)info;
	struct argument geometry = argument_at(input, 0);
	struct numbers numbers = numbers_from(input, 1, 4);
	uint64_t *validity = result_validity(output);
	for (idx_t row = 0; row < duckdb_data_chunk_get_size(input); row++) {
		struct wkb_facts facts;
		double bounds[4];
		char text[160];
		if (!numbers_of(&numbers, row, bounds) || !extent_of(&geometry, row, &facts) || within(facts.minimum, facts.maximum, bounds)) {
			set_null(validity, row);
			continue;
		}
		say_outside(&facts, bounds, text, sizeof text);
		result_text(output, row, text);
	}
}

static void tell_swapped(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
	(void)info;
	struct argument geometry = argument_at(input, 0);
	struct numbers numbers = numbers_from(input, 1, 4);
	bool *to = duckdb_vector_get_data(output);
	for (idx_t row = 0; row < duckdb_data_chunk_get_size(input); row++) {
		struct wkb_facts facts;
		double bounds[4];
		to[row] = false;
		if (!numbers_of(&numbers, row, bounds) || !extent_of(&geometry, row, &facts))
			continue;
		const double minimum[2] = {facts.minimum[1], facts.minimum[0]}, maximum[2] = {facts.maximum[1], facts.maximum[0]};
		to[row] = !within(facts.minimum, facts.maximum, bounds) && within(minimum, maximum, bounds);
	}
}

static void tell_srid(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
	(void)info;
	struct argument geometry = argument_at(input, 0);
	int32_t *to = duckdb_vector_get_data(output);
	for (idx_t row = 0; row < duckdb_data_chunk_get_size(input); row++) {
		size_t count;
		const char *bytes = argument_bytes(&geometry, row, &count);
		struct wkb_facts facts = {0};
		if (bytes)
			(void)wkb_walk(bytes, count, &facts);
		if (facts.srid)
			to[row] = facts.srid;
		else
			result_null(output, row);
	}
}

static void tell_type(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
	(void)info;
	struct argument geometry = argument_at(input, 0);
	for (idx_t row = 0; row < duckdb_data_chunk_get_size(input); row++) {
		size_t count;
		const char *bytes = argument_bytes(&geometry, row, &count), *name = NULL;
		struct wkb_facts facts = {0};
		enum wkb_fault fault = bytes ? wkb_walk(bytes, count, &facts) : WKB_TRUNCATED;
		if ((fault == WKB_SOUND || fault == WKB_EMPTY) && facts.types)
			name = wkb_type_name(__builtin_ctz(facts.types));
		result_text_or_null(output, row, name);
	}
}

/* What `extra` points to: a test on the stored form. */
static void tell_course(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
	bool (*const *test)(const void *, size_t) = duckdb_scalar_function_get_extra_info(info);
	struct argument geometry = argument_at(input, 0);
	bool *to = duckdb_vector_get_data(output);
	for (idx_t row = 0; row < duckdb_data_chunk_get_size(input); row++) {
		size_t count;
		const char *bytes = argument_bytes(&geometry, row, &count);
		if (bytes)
			to[row] = (*test)(bytes, count);
		else
			result_null(output, row);
	}
}

static bool (*const clockwise_test)(const void *, size_t) = wkb_clockwise;
static bool (*const long_edge_test)(const void *, size_t) = wkb_long_edge;

static void tell_box(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
	(void)info;
	struct argument geometry = argument_at(input, 0);
	duckdb_vector members[4];
	float *to[4];
	for (idx_t i = 0; i < 4; i++) {
		members[i] = duckdb_struct_vector_get_child(output, i);
		to[i] = duckdb_vector_get_data(members[i]);
	}
	for (idx_t row = 0; row < duckdb_data_chunk_get_size(input); row++) {
		struct wkb_facts facts;
		if (!extent_of(&geometry, row, &facts)) {
			result_null(output, row);
			for (int i = 0; i < 4; i++)
				result_null(members[i], row);
			continue;
		}
		to[0][row] = wkb_float_down(facts.minimum[0]);
		to[1][row] = wkb_float_down(facts.minimum[1]);
		to[2][row] = wkb_float_up(facts.maximum[0]);
		to[3][row] = wkb_float_up(facts.maximum[1]);
	}
}

static void tell_hilbert(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
	(void)info;
	struct argument geometry = argument_at(input, 0);
	struct numbers numbers = numbers_from(input, 1, 4);
	uint64_t *to = duckdb_vector_get_data(output);
	for (idx_t row = 0; row < duckdb_data_chunk_get_size(input); row++) {
		struct wkb_facts facts;
		double extent[4];
		if (numbers_of(&numbers, row, extent) && extent_of(&geometry, row, &facts))
			to[row] = wkb_hilbert(&facts, extent);
		else
			result_null(output, row);
	}
}

#define BLOB DUCKDB_TYPE_BLOB
#define TEXT DUCKDB_TYPE_VARCHAR
#define REAL DUCKDB_TYPE_DOUBLE

const struct function functions_wkb[] = {
	{"rc_point", make_point, BLOB, {REAL, REAL}, NULL, NULL, NULL},
	{"rc_segment", make_segment, BLOB, {REAL, REAL, REAL, REAL}, NULL, NULL, NULL},
	{"rc_wkb", make_stored, BLOB, {BLOB}, NULL, NULL, NULL},
	{"rc_hex", make_from_hex, BLOB, {TEXT}, NULL, NULL, NULL},
	{"rc_wkb_fault", tell_fault, TEXT, {BLOB}, NULL, NULL, NULL},
	{"rc_wkb_outside", tell_outside, TEXT, {BLOB, REAL, REAL, REAL, REAL}, NULL, NULL, NULL},
	{"rc_wkb_swapped", tell_swapped, DUCKDB_TYPE_BOOLEAN, {BLOB, REAL, REAL, REAL, REAL}, NULL, NULL, NULL},
	{"rc_wkb_srid", tell_srid, DUCKDB_TYPE_INTEGER, {BLOB}, NULL, NULL, NULL},
	{"rc_wkb_type", tell_type, TEXT, {BLOB}, NULL, NULL, NULL},
	{"rc_wkb_clockwise", tell_course, DUCKDB_TYPE_BOOLEAN, {BLOB}, NULL, NULL, &clockwise_test},
	{"rc_wkb_long_edge", tell_course, DUCKDB_TYPE_BOOLEAN, {BLOB}, NULL, NULL, &long_edge_test},
	{"rc_bbox", tell_box, DUCKDB_TYPE_STRUCT, {BLOB}, NULL, NULL, NULL},
	{"rc_hilbert", tell_hilbert, DUCKDB_TYPE_UBIGINT, {BLOB, REAL, REAL, REAL, REAL}, NULL, NULL, NULL},
	{0},
};
