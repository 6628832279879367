/* SPDX-License-Identifier: Apache-2.0
 * A cell as text. Numbers are written with the fewest digits that give the same double, so that an id never gains ".0" and a
 * capacity never ends in 000000003; the kinds that a sheet keeps apart from text (dates, booleans) get one spelling each.
 *
 * Days. The 1900 calendar counts 1900-01-01 as 1 and has a 1900-02-29 as 60, a day that never was, so counting from
 * 1899-12-30 is right from 61 on and one short before. The 1904 calendar counts 1904-01-01 as 0 and has no such hole. */
#include "source/xlsx.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MS_PER_DAY INT64_C(86400000)

/* The civil date of a day counted from 1970-01-01, by shifting the year to begin in March. */
static void civil(int64_t days, int64_t *year, int *month, int *day)
{
	int64_t z = days + 719468; /* from 0000-03-01 */
	int64_t era = (z >= 0 ? z : z - 146096) / 146097;
	int64_t in_era = z - era * 146097;
	int64_t year_of_era = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
	int64_t in_year = in_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	int64_t shifted = (5 * in_year + 2) / 153;
	*day = (int)(in_year - (153 * shifted + 2) / 5 + 1);
	*month = (int)(shifted < 10 ? shifted + 3 : shifted - 9);
	*year = year_of_era + era * 400 + (*month <= 2);
}

static void put_number(struct xlsx_value *value, double number)
{
	value->length = number_shortest(number, value->buffer);
	value->text = value->buffer;
}

/* "HH:MM:SS[.mmm]" with as many hours as there are. */
static int print_clock(char *out, size_t size, int64_t ms)
{
	int64_t seconds = ms / 1000;
	int length =
		snprintf(out, size, "%02lld:%02d:%02d", (long long)(seconds / 3600), (int)(seconds / 60 % 60), (int)(seconds % 60));
	if (ms % 1000)
		length += snprintf(out + length, size - (size_t)length, ".%03d", (int)(ms % 1000));
	return length;
}

static void put_duration(struct xlsx_value *value, double days)
{
	if (fabs(days) > 1e6) {
		put_number(value, days);
		value->fault = "the duration is longer than a sheet can show";
		return;
	}
	int64_t ms = llround(fabs(days) * (double)MS_PER_DAY);
	int sign = days < 0 && ms ? snprintf(value->buffer, 2, "-") : 0;
	value->length = (size_t)(sign + print_clock(value->buffer + sign, sizeof value->buffer - 1, ms));
	value->text = value->buffer;
}

/* Milliseconds since the calendar's day 0, rounded as a whole so that 23:59:59.9996 carries into the next day. */
static void put_date(struct xlsx_value *value, double serial, enum xlsx_style style, bool date_1904)
{
	put_number(value, serial);
	if (serial < 0) {
		value->fault = "a date before the workbook's calendar begins";
		return;
	}
	int64_t beyond = date_1904 ? 2957004 : 2958466;
	int64_t ms = serial < (double)beyond ? llround(serial * (double)MS_PER_DAY) : beyond * MS_PER_DAY;
	int64_t day = ms / MS_PER_DAY, rest = ms % MS_PER_DAY;
	if (day >= beyond) {
		value->fault = "a date after 9999-12-31";
		return;
	}
	/* Less than a day: a time. The 1904 calendar has a day 0, so there it takes the format to tell. */
	if (day == 0 && (!date_1904 || style == STYLE_TIME)) {
		value->length = (size_t)print_clock(value->buffer, sizeof value->buffer, ms);
		return;
	}
	if (!date_1904 && day == 60) {
		value->fault = "1900-02-29 never was, except in this calendar";
		return;
	}
	int64_t year;
	int month, of_month;
	civil(day + (date_1904 ? -24107 : day < 60 ? -25568 : -25569), &year, &month, &of_month);
	int length = snprintf(value->buffer, sizeof value->buffer, "%04lld-%02d-%02d", (long long)year, month, of_month);
	if (rest) {
		value->buffer[length++] = 'T';
		length += print_clock(value->buffer + length, sizeof value->buffer - (size_t)length, rest);
	}
	value->length = (size_t)length;
}

static bool digits(const char *text, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (text[i] < '0' || text[i] > '9')
			return false;
	return true;
}

/* t="d" holds ISO 8601 already. A midnight is left out as for other date cells; the rest stays as it is written. */
static void put_iso_date(struct xlsx_value *value)
{
	const char *t = value->text;
	bool dated = value->length >= 10 && digits(t, 4) && t[4] == '-' && digits(t + 5, 2) && t[7] == '-' && digits(t + 8, 2);
	bool timed = value->length >= 8 && digits(t, 2) && t[2] == ':' && digits(t + 3, 2) && t[5] == ':' && digits(t + 6, 2);
	if (!dated && !timed)
		value->fault = "a date cell that holds no date";
	if (!dated || value->length < 19 || memcmp(t + 10, "T00:00:00", 9) != 0)
		return;
	for (size_t i = 19; i < value->length; i++)
		if (t[i] != '.' && t[i] != '0')
			return;
	value->length = 10;
}

void xlsx_cell_value(const struct xlsx_grid *grid, const struct xlsx_cell *cell, struct xlsx_value *value)
{
	const struct xlsx_book *book = grid->book;
	value->fault = NULL;
	value->text = cell->length ? grid->texts->at + cell->offset : ""; /* numbers have no length */
	value->length = cell->length;
	switch (cell->kind) {
	case CELL_SHARED: {
		const size_t *ends = (const size_t *)book->string_ends->at, index = (size_t)cell->number;
		size_t from = index ? ends[index - 1] : 0;
		value->length = ends[index] - from;
		value->text = value->length ? book->strings->at + from : "";
		break;
	}
	case CELL_NUMBER:
		if (cell->style == STYLE_DURATION)
			put_duration(value, cell->number);
		else if (cell->style == STYLE_PLAIN)
			put_number(value, cell->number);
		else
			put_date(value, cell->number, cell->style, book->date_1904);
		break;
	case CELL_LOGICAL:
		value->text = cell->number != 0 ? "true" : "false";
		value->length = strlen(value->text);
		break;
	case CELL_ISO_DATE:
		put_iso_date(value);
		break;
	case CELL_ERROR:
		value->fault = "the cell holds an error";
		break;
	case CELL_NO_RESULT:
		value->text = "";
		value->length = 0;
		value->fault = "the formula was saved without its result";
		break;
	case CELL_MALFORMED:
		value->fault = "the cell's content is not of its type";
		break;
	default: /* CELL_INLINE */
		break;
	}
}

bool xlsx_cell_filled(const struct xlsx_grid *grid, const struct xlsx_cell *cell)
{
	if (!cell)
		return false;
	if (cell->kind != CELL_SHARED && cell->kind != CELL_INLINE)
		return true;
	struct xlsx_value value;
	xlsx_cell_value(grid, cell, &value);
	for (size_t i = 0; i < value.length; i++) {
		unsigned char c = (unsigned char)value.text[i];
		if (c == 0xC2 && i + 1 < value.length && (unsigned char)value.text[i + 1] == 0xA0)
			i++; /* a blank that does not break lines */
		else if (c != ' ' && (c < '\t' || c > '\r'))
			return true;
	}
	return false;
}

const char *xlsx_cell_text(struct arena *arena, const struct xlsx_grid *grid, const struct xlsx_cell *cell)
{
	struct xlsx_value value;
	if (!cell)
		return "";
	xlsx_cell_value(grid, cell, &value);
	return arena_strndup(arena, value.text, value.length);
}

void xlsx_letter(uint32_t column, char out[4])
{
	char reversed[4];
	int count = 0, at = 0;
	for (uint32_t rest = column + 1; rest && count < 3; rest = (rest - 1) / 26)
		reversed[count++] = (char)('A' + (rest - 1) % 26);
	while (count)
		out[at++] = reversed[--count];
	out[at] = '\0';
}
