/* SPDX-License-Identifier: Apache-2.0
 * A scanner over JSON text that stays where it is (RFC 8259, strict). It hands out values as ranges of the text, so that
 * a reader keeps the source's own spelling of numbers and pays for nothing it does not look at.
 *
 * Two kinds of mistakes are kept apart. `wrong`: the structure is broken and scanning cannot go on. `soft`: something
 * inside a text is not allowed (a bad escape, half a surrogate pair, a raw control character), but its end is certain.
 *
 * Members of an object are walked so; elements of an array likewise with json_scan_element:
 *     scan.at++;                                   // past the brace
 *     for (bool first = true; json_scan_member(&scan, first, &name); first = false)
 *         if (!json_scan_value(&scan, &value)) break;
 *     if (scan.wrong) ...
 *
 * Nothing here allocates, but for the conversion of very long numbers. The text must be valid UTF-8. */
#ifndef RECLOSER_BASE_JSON_SCAN_H
#define RECLOSER_BASE_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_scan {
	const char *begin, *at, *end;
	int depth;
	const char *wrong, *hint; /* static texts; `at` is where it is wrong */
	const char *soft, *soft_at;
};

enum value_kind {
	VALUE_NULL,
	VALUE_FALSE,
	VALUE_TRUE,
	VALUE_INTEGER, /* digits, perhaps with a minus */
	VALUE_NUMBER,  /* with a fraction or an exponent */
	VALUE_TEXT,
	VALUE_OBJECT,
	VALUE_ARRAY
};

struct value {
	enum value_kind kind;
	bool escaped;   /* VALUE_TEXT: it has a backslash in it */
	const char *at; /* as spelled; of a text, what is between the quotes */
	size_t count;
};

struct json_scan json_scan_of(const char *text, size_t count);
void json_scan_space(struct json_scan *scan); /* to the next character that is no white space, or the end */
/* The next value, white space before it skipped. False: `wrong` is set. */
bool json_scan_value(struct json_scan *scan, struct value *out);
/* True: there is a member, `name` is its name and the colon is behind; false: the end, or `wrong`. */
bool json_scan_member(struct json_scan *scan, bool first, struct value *name);
/* True: a value comes next; false: the end, or `wrong`. */
bool json_scan_element(struct json_scan *scan, bool first);
/* Set `wrong` at the place that is being looked at, with a hint drawn from what stands there. Returns false. */
bool json_scan_fail(struct json_scan *scan, const char *wrong);
/* Is what was `wrong` that the text ends too early? */
bool json_scan_cut_off(const struct json_scan *scan);

/* The text that a VALUE_TEXT means. `out` holds `count` bytes or more; returns the length. What `soft` complains of becomes
 * U+FFFD or a question mark. */
size_t json_unescape(const struct value *value, char *out);
bool value_is(const struct value *value, const char *text); /* a text that means `text` */

/* The nearest double, infinite when there is none. `number` is a VALUE_INTEGER or VALUE_NUMBER. */
double value_double(const struct value *number);
/* Does the nearest double, printed with as many digits as the source has, spell the same number? */
bool value_exact(const struct value *number);
/* A VALUE_INTEGER that fits 64 bits; -0 does not. */
bool value_int64(const struct value *number, int64_t *out);

#endif
