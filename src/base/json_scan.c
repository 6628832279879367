/* SPDX-License-Identifier: Apache-2.0
 * The scanner: white space, texts, values. */
#include "base/json_scan.h"

#include <string.h>

enum { MOST_DEPTH = 256 }; /* recursion: values inside values */

struct json_scan json_scan_of(const char *text, size_t count)
{
	return (struct json_scan){.begin = text, .at = text, .end = text + count};
}

void json_scan_space(struct json_scan *scan)
{
	const char *at = scan->at;
	while (at < scan->end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
		at++;
	scan->at = at;
}

static const char cut_off[] = "the file seems to be cut off: download it again";

bool json_scan_cut_off(const struct json_scan *scan)
{
	return scan->hint == cut_off;
}

/* Does the text end before what stands here does: a text without its quote, a number or a word that is not whole? */
static bool breaks_off(const struct json_scan *scan)
{
	static const char *const words[] = {"true", "false", "null"};
	const char *at = scan->at, *end = scan->end;
	size_t left = (size_t)(end - at);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (left < strlen(words[i]) && memcmp(at, words[i], left) == 0)
			return true; /* also where nothing is left */
	if (*at == '"') {
		for (at++; at < end && *at != '"'; at++)
			at += *at == '\\';
		return at >= end;
	}
	if (*at != '-' && (*at < '0' || *at > '9'))
		return false;
	while (at < end && (strchr("+-.eE", *at) ? *at != '\0' : *at >= '0' && *at <= '9'))
		at++;
	return at == end;
}

static const char *hint_for(const struct json_scan *scan)
{
	size_t left = (size_t)(scan->end - scan->at);
	if (breaks_off(scan))
		return cut_off;
	if (*scan->at == '\'')
		return "JSON has double quotes only";
	if (*scan->at == '/' || *scan->at == '#')
		return "JSON has no comments";
	const char *before = scan->at;
	while (before > scan->begin && strchr(" \n\r\t", before[-1]))
		before--;
	if ((*scan->at == '}' || *scan->at == ']') && before > scan->begin && before[-1] == ',')
		return "JSON has no comma before the end of a list";
	if ((left >= 3 && memcmp(scan->at, "NaN", 3) == 0) || (left >= 3 && memcmp(scan->at, "Inf", 3) == 0) ||
		(left >= 4 && memcmp(scan->at, "-Inf", 4) == 0))
		return "JSON has no NaN and no Infinity: write null";
	if (scan->depth > MOST_DEPTH)
		return "this is hardly a table; `records` names the array that holds the rows";
	if (*scan->at == '"' || *scan->at == '{' || *scan->at == '[')
		return "a comma is missing";
	return "this is no JSON (RFC 8259)";
}

bool json_scan_fail(struct json_scan *scan, const char *wrong)
{
	if (!scan->wrong) {
		scan->wrong = wrong;
		scan->hint = hint_for(scan);
	}
	return false;
}

static void complain(struct json_scan *scan, const char *at, const char *soft)
{
	if (!scan->soft) {
		scan->soft = soft;
		scan->soft_at = at;
	}
}

/* Four hexadecimal digits, or -1. */
static int unit_at(const char *at, const char *end)
{
	int unit = 0;
	if (end - at < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		char c = at[i];
		int digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
		if (digit < 0)
			return -1;
		unit = unit << 4 | digit;
	}
	return unit;
}

/* The code point of the escape at `at`, which is at a backslash, and where it ends. -1: no right escape. */
static int32_t escape_at(const char *at, const char *end, const char **after)
{
	static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	*after = at + 1;
	if (end - at < 2)
		return -1;
	const char *letter = at[1] ? strchr(letters, at[1]) : NULL;
	if (!letter && at[1] != 'u')
		return -1;
	*after = at + 2;
	if (letter)
		return (unsigned char)meant[letter - letters];
	int unit = unit_at(at + 2, end);
	if (unit < 0)
		return -1;
	*after = at + 6;
	if (unit < 0xd800 || unit > 0xdfff)
		return unit;
	int low = unit < 0xdc00 && end - at >= 12 && at[6] == '\\' && at[7] == 'u' ? unit_at(at + 8, end) : -1;
	if (low < 0xdc00 || low > 0xdfff)
		return -1;
	*after = at + 12;
	return 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
}

/* At the opening quote. */
static bool scan_text(struct json_scan *scan, struct value *out)
{
	const char *at = scan->at + 1, *start = at;
	out->kind = VALUE_TEXT;
	out->escaped = false;
	for (;;) {
		while (at < scan->end && *at != '"' && *at != '\\' && (unsigned char)*at >= 0x20)
			at++;
		if (at >= scan->end)
			return json_scan_fail(scan, "a text without its closing quote");
		if (*at == '"')
			break;
		if (*at != '\\') {
			complain(scan, at++, "a control character inside a text");
			continue;
		}
		out->escaped = true;
		const char *after;
		if (escape_at(at, scan->end, &after) < 0)
			complain(scan, at,
					 at + 1 < scan->end && at[1] == 'u' ? "a broken \\u escape inside a text"
														: "an unknown escape inside a text");
		at = after;
	}
	out->at = start;
	out->count = (size_t)(at - start);
	scan->at = at + 1;
	return true;
}

static const char *digits(const char *at, const char *end)
{
	while (at < end && *at >= '0' && *at <= '9')
		at++;
	return at;
}

static bool scan_number(struct json_scan *scan, struct value *out)
{
	const char *at = scan->at, *end = scan->end;
	out->kind = VALUE_INTEGER;
	out->at = at;
	if (*at == '-')
		at++;
	const char *whole = at;
	at = digits(at, end);
	if (at == whole)
		return json_scan_fail(scan, "something that is no value");
	if (*whole == '0' && at > whole + 1)
		return json_scan_fail(scan, "a number with a leading zero");
	if (at < end && *at == '.') {
		out->kind = VALUE_NUMBER;
		const char *fraction = ++at;
		if ((at = digits(at, end)) == fraction)
			return json_scan_fail(scan, "a number without digits after its point");
	}
	if (at < end && (*at == 'e' || *at == 'E')) {
		out->kind = VALUE_NUMBER;
		at++;
		if (at < end && (*at == '+' || *at == '-'))
			at++;
		const char *exponent = at;
		if ((at = digits(at, end)) == exponent)
			return json_scan_fail(scan, "a number without digits in its exponent");
	}
	out->count = (size_t)(at - out->at);
	scan->at = at;
	return true;
}

static bool scan_word(struct json_scan *scan, struct value *out, const char *word, enum value_kind kind)
{
	size_t count = strlen(word);
	if ((size_t)(scan->end - scan->at) < count || memcmp(scan->at, word, count) != 0)
		return json_scan_fail(scan, "something that is no value");
	*out = (struct value){kind, false, scan->at, count};
	scan->at += count;
	return true;
}

static bool scan_inside(struct json_scan *scan, struct value *out, enum value_kind kind)
{
	const char *start = scan->at++;
	struct value name, inner;
	if (++scan->depth > MOST_DEPTH)
		return json_scan_fail(scan, "values nested too deeply");
	for (bool first = true;; first = false) {
		if (!(kind == VALUE_OBJECT ? json_scan_member(scan, first, &name) : json_scan_element(scan, first)))
			break;
		if (!json_scan_value(scan, &inner))
			return false;
	}
	scan->depth--;
	*out = (struct value){kind, false, start, (size_t)(scan->at - start)};
	return !scan->wrong;
}

bool json_scan_value(struct json_scan *scan, struct value *out)
{
	json_scan_space(scan);
	if (scan->at >= scan->end)
		return json_scan_fail(scan, "the end of the text where a value should be");
	switch (*scan->at) {
	case '"':
		return scan_text(scan, out);
	case '{':
		return scan_inside(scan, out, VALUE_OBJECT);
	case '[':
		return scan_inside(scan, out, VALUE_ARRAY);
	case 't':
		return scan_word(scan, out, "true", VALUE_TRUE);
	case 'f':
		return scan_word(scan, out, "false", VALUE_FALSE);
	case 'n':
		return scan_word(scan, out, "null", VALUE_NULL);
	default:
		return scan_number(scan, out);
	}
}

/* After '{' or '[' (`first`) or a value: the comma or the end. True: something follows. */
static bool scan_between(struct json_scan *scan, bool first, char closing)
{
	json_scan_space(scan);
	if (scan->at < scan->end && *scan->at == closing) {
		scan->at++;
		return false;
	}
	if (first)
		return true;
	if (scan->at >= scan->end || *scan->at != ',')
		return json_scan_fail(scan, closing == '}' ? "something other than \",\" or \"}\" after a member"
												   : "something other than \",\" or \"]\" after an element");
	scan->at++;
	return true;
}

bool json_scan_member(struct json_scan *scan, bool first, struct value *name)
{
	if (!scan_between(scan, first, '}'))
		return false;
	json_scan_space(scan);
	if (scan->at >= scan->end || *scan->at != '"')
		return json_scan_fail(scan, "something other than a member's name in double quotes");
	if (!scan_text(scan, name))
		return false;
	json_scan_space(scan);
	if (scan->at >= scan->end || *scan->at != ':')
		return json_scan_fail(scan, "something other than \":\" after a member's name");
	scan->at++;
	return true;
}

bool json_scan_element(struct json_scan *scan, bool first)
{
	if (!scan_between(scan, first, ']'))
		return false;
	json_scan_space(scan);
	if (scan->at >= scan->end || *scan->at == ']')
		return json_scan_fail(scan, "something other than a value after a comma");
	return true;
}

static size_t put_code_point(char *out, int32_t code)
{
	if (code < 0x80) {
		out[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		out[0] = (char)(0xc0 | code >> 6);
		out[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		out[0] = (char)(0xe0 | code >> 12);
		out[1] = (char)(0x80 | (code >> 6 & 0x3f));
		out[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | code >> 18);
	out[1] = (char)(0x80 | (code >> 12 & 0x3f));
	out[2] = (char)(0x80 | (code >> 6 & 0x3f));
	out[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

/* No escape is shorter than what it means; of a wrong one, what is too short for U+FFFD becomes a question mark. */
size_t json_unescape(const struct value *value, char *out)
{
	const char *at = value->at, *end = at + value->count;
	char *to = out;
	while (at < end) {
		const char *next = memchr(at, '\\', (size_t)(end - at));
		size_t plain = (size_t)((next ? next : end) - at);
		memcpy(to, at, plain);
		to += plain;
		if (!next)
			break;
		int32_t code = escape_at(next, end, &at);
		if (code < 0)
			code = at - next >= 3 ? 0xfffd : '?';
		to += put_code_point(to, code);
	}
	return (size_t)(to - out);
}

bool value_is(const struct value *value, const char *text)
{
	size_t count = strlen(text);
	if (value->kind != VALUE_TEXT)
		return false;
	if (!value->escaped)
		return value->count == count && memcmp(value->at, text, count) == 0;
	char meant[256];
	return value->count <= sizeof meant && json_unescape(value, meant) == count && memcmp(meant, text, count) == 0;
}
