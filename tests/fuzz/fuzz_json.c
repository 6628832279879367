/* SPDX-License-Identifier: Apache-2.0
 *
 * Any UTF-8 as JSON: the scanner gets to the end of every value it hands out or says what is wrong, inside the text.
 */
#include "fuzz.h"

#include <string.h>

#include "base/json_scan.h"
#include "base/text.h"

static void walk(const char *text, size_t count);

static void look_at(const struct value *value)
{
	int64_t number;
	char *out;
	switch (value->kind) {
	case VALUE_OBJECT:
	case VALUE_ARRAY:
		walk(value->at, value->count);
		break;
	case VALUE_TEXT:
		out = malloc(value->count > 0 ? value->count : 1);
		PROMISE(out != NULL);
		PROMISE(json_unescape(value, out) <= value->count);
		free(out);
		(void)value_is(value, "type");
		break;
	case VALUE_INTEGER:
		if (value_int64(value, &number))
			PROMISE(value->count <= 20);
		/* fall through */
	case VALUE_NUMBER:
		(void)value_double(value);
		(void)value_exact(value);
		break;
	default:
		break;
	}
}

/* The members or elements of one object or array, or one value. */
static void walk(const char *text, size_t count)
{
	struct json_scan scan = json_scan_of(text, count);
	struct value name, value;
	json_scan_space(&scan);
	if (scan.at < scan.end && (*scan.at == '{' || *scan.at == '[')) {
		bool object = *scan.at == '{';
		scan.at++;
		for (bool first = true; object ? json_scan_member(&scan, first, &name) : json_scan_element(&scan, first);
			 first = false) {
			if (object)
				look_at(&name);
			if (!json_scan_value(&scan, &value))
				break;
			PROMISE(value.at >= text && value.at + value.count <= text + count);
			look_at(&value);
		}
	} else if (json_scan_value(&scan, &value)) {
		look_at(&value);
	}
	PROMISE(scan.at >= text && scan.at <= text + count);
	PROMISE(scan.soft == NULL || (scan.soft_at >= text && scan.soft_at <= text + count));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	const char *text = (const char *)bytes;
	if (text_utf8_fault(text, count) == SIZE_MAX)
		walk(text, count);
	return 0;
}
