/* SPDX-License-Identifier: Apache-2.0
 * Limits and what happens beyond them: quarantine, disappeared, guards, totals, freshness. */
#include "spec/parts.h"

#include <string.h>

static const char *const policy_words[] = {"allow", "warn", "hold", "refuse", "carry", NULL};
static const char *const guard_words[] = {"allow", "warn", "hold", "refuse", NULL};

const char *policy_word(enum policy policy)
{
	return policy_words[policy];
}

/* A share is rarely exact in binary (29 % of 100 comes out below 29), so a count that equals it must not exceed it. */
bool threshold_exceeded(const struct threshold *threshold, uint64_t count, uint64_t of)
{
	if (threshold->share < 0 && threshold->count < 0)
		return count > 0;
	if (threshold->count >= 0 && count > (uint64_t)threshold->count)
		return true;
	return threshold->share >= 0 && (double)count > threshold->share * (double)of * (1 + 1e-12);
}

void policies_default(struct spec *spec)
{
	const struct threshold nothing = {-1, -1};
	spec->quarantine = (struct guard){POLICY_REFUSE, {0.01, -1}, false};
	spec->disappeared = (struct guard){POLICY_WARN, {0, -1}, false};
	spec->key_churn = (struct guard){POLICY_WARN, {0.2, -1}, false};
	spec->older = (struct guard){POLICY_HOLD, nothing, false};
	spec->repeated = (struct guard){POLICY_WARN, nothing, false};
	spec->moved = (struct guard){POLICY_WARN, nothing, false};
}

/* "12.5" as a number, without the locale's idea of a decimal point; negative when it is none. */
static double plain_decimal(const char *text, size_t length)
{
	double number = 0, unit = 1;
	bool point = false, digits = false;
	if (length > 12)
		return -1;
	for (size_t i = 0; i < length; i++) {
		if (text[i] == '.' && !point) {
			point = true;
		} else if (text[i] >= '0' && text[i] <= '9') {
			number = number * 10 + (text[i] - '0');
			unit *= point ? 10 : 1;
			digits = true;
		} else {
			return -1;
		}
	}
	return digits ? number / unit : -1;
}

/* `20%` or a number of rows. */
static recloser_status read_threshold(const struct reader *reader, const struct field *field, const struct node *value,
									  void *target)
{
	struct threshold *threshold = target;
	const char *text;
	RC_TRY(text_value(reader, field->name, value, &text));
	size_t length = strlen(text);
	*threshold = (struct threshold){-1, -1};
	if (length && text[length - 1] == '%') {
		double percent = plain_decimal(text, length - 1);
		threshold->share = percent < 0 ? -1 : percent / 100;
	} else {
		threshold->count = whole_number(text);
	}
	if (threshold->share >= 0 || threshold->count >= 0)
		return RECLOSER_OK;
	fault_at(reader, value->mark, "spec.number", "\"%s\" must be a share such as 1%% or a number of rows, not \"%s\"",
			 field->name, text);
	return RECLOSER_USAGE;
}

static recloser_status read_guard(const struct reader *reader, const char *name, const char *const *words,
								  const struct node *value, struct guard *guard)
{
	const struct field policy = {name, field_word, 0, words};
	const struct field fields[] = {
		{"policy", field_word, offsetof(struct guard, policy), words},
		{"max", read_threshold, offsetof(struct guard, max), NULL},
	};
	guard->given = true;
	if (value->kind == NODE_TEXT)
		return policy.read(reader, &policy, value, &guard->policy);
	return fields_read(reader, value, arena_printf(reader->arena, "\"%s\"", name), fields, 2, guard);
}

recloser_status field_guard(const struct reader *reader, const struct field *field, const struct node *value, void *target)
{
	return read_guard(reader, field->name, guard_words, value, target);
}

recloser_status field_carried(const struct reader *reader, const struct field *field, const struct node *value, void *target)
{
	return read_guard(reader, field->name, policy_words, value, target);
}

recloser_status field_guards(const struct reader *reader, const struct field *field, const struct node *value, void *target)
{
	static const struct field fields[] = {
		{"key_churn", field_guard, offsetof(struct spec, key_churn), NULL},
		{"older", field_guard, offsetof(struct spec, older), NULL},
		{"repeated", field_guard, offsetof(struct spec, repeated), NULL},
		{"moved", field_guard, offsetof(struct spec, moved), NULL},
	};
	(void)field;
	return fields_read(reader, value, "\"guards\"", fields, 4, target);
}

static recloser_status read_change(const struct reader *reader, const struct field *field, const struct node *value,
								   void *target)
{
	struct threshold *threshold = target;
	RC_TRY(read_threshold(reader, field, value, target));
	if (threshold->share >= 0)
		return RECLOSER_OK;
	fault_at(reader, value->mark, "spec.number", "\"max_change\" must be a share such as 20%%, not \"%s\"", value->text);
	return error_hint(reader->error, "max_change: %s%%", value->text);
}

recloser_status field_totals(const struct reader *reader, const struct field *field, const struct node *value, void *target)
{
	static const struct field fields[] = {
		{"max_change", read_change, offsetof(struct guard, max), NULL},
		{"policy", field_word, offsetof(struct guard, policy), guard_words},
	};
	struct spec *spec = target;
	(void)field;
	RC_TRY(field_need_map(reader, value, "\"totals\""));
	spec->totals = arena_array(reader->arena, value->count ? value->count : 1, sizeof *spec->totals);
	spec->total_count = value->count;
	for (size_t i = 0; i < value->count; i++) {
		struct total *total = &spec->totals[i];
		const char *of = arena_printf(reader->arena, "the total of \"%s\"", value->members[i].name);
		*total = (struct total){value->members[i].name, {POLICY_HOLD, {-1, -1}, true}};
		RC_TRY(fields_read(reader, value->members[i].value, of, fields, 2, &total->guard));
		if (total->guard.max.share < 0)
			return fault_at(reader, value->members[i].mark, "spec.missing_field",
							"%s needs max_change, as in {max_change: 20%%}", of);
	}
	return RECLOSER_OK;
}

/* "3 months" */
static recloser_status read_window(const struct reader *reader, const struct field *field, const struct node *value,
								   void *target)
{
	static const char *const units[] = {"day", "days", "week", "weeks", "month", "months", "year", "years", NULL};
	struct freshness *freshness = target;
	const char *text;
	RC_TRY(text_value(reader, field->name, value, &text));
	size_t digits = strspn(text, "0123456789");
	const char *number = arena_strndup(reader->arena, text, digits);
	int unit = text[digits] == ' ' ? word_index(units, text + digits + strspn(text + digits, " ")) : -1;
	freshness->count = whole_number(number);
	if (unit < 0 || freshness->count < 1) {
		fault_at(reader, value->mark, "spec.value", "\"window\" can't be \"%s\"", text);
		return error_hint(reader->error, "write a number and days, weeks, months or years: window: 3 months");
	}
	freshness->unit = "dwmy"[unit / 2];
	return RECLOSER_OK;
}

recloser_status field_freshness(const struct reader *reader, const struct field *field, const struct node *value,
								void *target)
{
	static const struct field fields[] = {
		{"column", field_text, offsetof(struct freshness, column), NULL},
		{"window", read_window, 0, NULL},
	};
	struct freshness *freshness = target;
	(void)field;
	RC_TRY(fields_read(reader, value, "\"freshness\"", fields, 2, target));
	if (freshness->column && freshness->count)
		return RECLOSER_OK;
	return fault_at(reader, value->mark, "spec.missing_field", "\"freshness\" needs column and window");
}
