/* SPDX-License-Identifier: Apache-2.0
 * The proposal as YAML, each decision with its reason beside it. */
#include <inttypes.h>
#include <string.h>

#include "init/init.h"

enum { COMMENT_AT = 58, WIDTH = 118 };

/* ---- scalars ---- */

const char *init_scalar(struct arena *arena, const char *text)
{
	bool plain = *text && strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", *text) && text[strlen(text) - 1] != ' ';
	for (const char *p = text; *p; p++)
		plain = plain && ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') || (unsigned char)*p >= 0x80
		                  || strchr("_ .-/()%+", *p) || (*p == ':' && p[1] && p[1] != ' '));
	if (plain)
		return text;
	struct text out = text_on(arena);
	text_add(&out, "\"");
	for (const char *p = text; *p; p++) {
		if (*p == '"' || *p == '\\')
			text_addf(&out, "\\%c", *p);
		else if (*p == '\n' || *p == '\r' || *p == '\t')
			text_add(&out, *p == '\n' ? "\\n" : *p == '\r' ? "\\r" : "\\t");
		else if ((unsigned char)*p < 0x20 || *p == 0x7F)
			text_addf(&out, "\\x%02x", (unsigned)*p);
		else
			text_add_n(&out, p, 1);
	}
	text_add(&out, "\"");
	return out.at;
}

const char *init_list(struct arena *arena, const struct strings *texts)
{
	struct text out = text_on(arena);
	text_add(&out, "[");
	for (size_t i = 0; i < texts->count; i++)
		text_addf(&out, "%s%s", i ? ", " : "", init_scalar(arena, texts->at[i]));
	text_add(&out, "]");
	return out.at;
}

/* ---- lines ---- */

/* A comment of any length in lines that fit, each with `lead` before it. */
static void comment(struct text *out, const char *lead, const char *what)
{
	while (*what) {
		while (*what == ' ' && lead[strlen(lead) - 1] == ' ' && what[1] != ' ')
			what++;
		size_t room = WIDTH - strlen(lead), length = strcspn(what, "\r\n");
		if (length > room) {
			length = room;
			while (length > room / 2 && what[length] != ' ')
				length--;
			while (length > 0 && ((unsigned char)what[length] & 0xC0) == 0x80)
				length--;
		}
		text_addf(out, "%s%.*s\n", lead, (int)length, what);
		what += length;
		what += strspn(what, "\r\n");
	}
}

static size_t columns_of(const char *text)
{
	size_t count = 0;
	for (; *text; text++)
		count += ((unsigned char)*text & 0xC0) != 0x80;
	return count;
}

static void line(struct text *out, const char *what, const char *why)
{
	text_add(out, what);
	if (why && *why) {
		size_t width = columns_of(what);
		text_addf(out, "%*s# ", width < COMMENT_AT ? (int)(COMMENT_AT - width) : 2, "");
		for (const char *p = why; *p; p++)
			text_add_n(out, (unsigned char)*p < 0x20 ? " " : p, 1);
	}
	text_add(out, "\n");
}

/* ---- key ---- */

static const char *key_names(const struct init *init, const struct init_key *key)
{
	struct strings names = {0};
	for (size_t i = 0; i < key->count; i++)
		strings_add(init->arena, &names, init->columns[key->at[i]].name);
	return init_list(init->arena, &names);
}

static const char *measured(const struct init *init, const struct init_key *key)
{
	struct text out = text_on(init->arena);
	uint64_t there = init->rows - key->missing;
	text_addf(&out, "%s different value%s in %s", text_count(init->arena, key->distinct), key->distinct == 1 ? "" : "s", init_rows_text(init->arena, there));
	if (key->missing)
		text_addf(&out, "; missing in %s, which will be quarantined", text_count(init->arena, key->missing));
	if (init->input_count > 1 && key->matched)
		text_addf(&out, "; %s found again in the other file", text_count(init->arena, key->matched));
	return out.at;
}

static void key_warning(const struct init *init, struct text *out)
{
	const struct init_key *key = &init->key;
	bool counter = false;
	for (size_t i = 0; i < key->count; i++)
		counter |= init->columns[key->at[i]].row_number;
	if (counter)
		comment(out, "# ", "Nothing but a count of the rows identifies them: it loads, but if the publisher counts anew, every row will look new. "
		                   "Look for columns that name a row, or take geometry into the identity.");
	if (key->unique && init->distinct_rows < init->rows)
		comment(out, "# ", arena_printf(init->arena, "%s exact doubles of other rows; they collapse.", text_count(init->arena, init->rows - init->distinct_rows)));
	if (!key->unique && init->rows - key->missing > key->distinct)
		comment(out, "# ", arena_printf(init->arena, "No set of columns identifies every row: %s the key of another one, and of "
		                   "those the last is kept. Say what tells them apart, or which is later: revision.",
		                   init_rows_have(init->arena, init->rows - key->missing - key->distinct)));
}

/* Single columns that are unique, or called an id, and still are no key. */
static void refused_keys(const struct init *init, struct text *out)
{
	static const char *const id_words[] = {"id", "code", "number", "key", "no", NULL};
	for (size_t i = 0, said = 0; i < init->column_count && said < 8; i++) {
		const struct init_column *column = &init->columns[i];
		bool unique = column->distinct == init->rows, used = false;
		for (size_t k = 0; k < init->key.count; k++)
			used |= init->key.at[k] == i;
		if (used || column->geometry || column->filled == 0)
			continue;
		if (unique && column->never) {
			text_addf(out, "# not %s: unique, but %s\n", column->label, column->why_not);
			said++;
		} else if (!unique && init_name_has(init->arena, column->label, id_words) && column->distinct * 2 > init->rows) {
			text_addf(out, "# not %s: %s different values in %s rows\n", column->label, text_count(init->arena, column->distinct),
			          text_count(init->arena, column->filled));
			said++;
		}
	}
}

static void changes(const struct init *init, struct text *out)
{
	if (init->input_count < 2)
		return;
	struct text list = text_on(init->arena);
	for (uint64_t most = UINT64_MAX;;) { /* by falling counts */
		uint64_t next = 0;
		for (size_t i = 0; i < init->column_count; i++)
			if (init->columns[i].changed < most && init->columns[i].changed > next)
				next = init->columns[i].changed;
		if (next == 0)
			break;
		for (size_t i = 0; i < init->column_count; i++)
			if (init->columns[i].changed == next)
				text_addf(&list, "%s%s (%s)", list.length ? ", " : "", init->columns[i].geometry ? "geometry" : init->columns[i].label,
				          text_count(init->arena, next));
		most = next;
	}
	comment(out, "# ", arena_printf(init->arena, "Against %s: %s rows are in both, %s only in this file, %s only in the other.", init->inputs[1].name,
	        text_count(init->arena, init->matched), text_count(init->arena, init->only_old), text_count(init->arena, init->only_new)));
	comment(out, "# ", list.length ? arena_printf(init->arena, "Columns that change between them for equal keys, and so never belong in a key: %s.", list.at)
	                               : "No column changes between them for equal keys.");
}

static void key_lines(const struct init *init, struct text *out)
{
	const struct init_key *key = &init->key;
	text_add(out, "\n");
	key_warning(init, out);
	const char *column = strcmp(init->key_column, "asset_key") == 0 ? "" : arena_printf(init->arena, ", column: %s", init->key_column);
	line(out, arena_printf(init->arena, "key: {identity: %s%s}", key_names(init, key), column), measured(init, key));
	for (size_t i = 0, said = 0; i < init->other_count && said < 4; i++)
		if (init->others[i].count && said++ < 4)
			line(out, arena_printf(init->arena, "# key: {identity: %s}", key_names(init, &init->others[i])), "would do as well");
	refused_keys(init, out);
	changes(init, out);
}

/* ---- partition ---- */

static void part_lines(const struct init *init, struct text *out)
{
	struct arena *arena = init->arena;
	struct strings chosen = {0};
	uint64_t each = init->rows ? init->bytes / init->rows : 0;
	const struct init_part *column = NULL;
	for (int from_name = 0; from_name < 2; from_name++) /* what comes from the name goes last: it is the series */
		for (size_t i = 0; i < init->part_count; i++)
			if (init->parts[i].chosen && (init->parts[i].index == SIZE_MAX) == (from_name == 1))
				strings_add(arena, &chosen, init->parts[i].column);
	for (size_t i = 0; i < init->part_count; i++)
		if (init->parts[i].chosen && init->parts[i].index != SIZE_MAX)
			column = &init->parts[i];
	const char *why = column ? arena_printf(arena, "%s folders of %s to %s rows, %s to %s", text_count(arena, column->values), text_count(arena, column->least),
	                                        text_count(arena, column->most), text_bytes(arena, column->least * each), text_bytes(arena, column->most * each))
	                         : arena_printf(arena, "one file%s of %s, about %s", chosen.count ? " each" : "", init_rows_text(arena, init->rows), text_bytes(arena, init->bytes));
	line(out, arena_printf(arena, "partition: %s", init_list(arena, &chosen)), why);
	for (size_t i = 0; i < init->part_count; i++) {
		const struct init_part *part = &init->parts[i];
		if (!part->chosen)
			line(out, arena_printf(arena, "# or by %s", part->column),
			     arena_printf(arena, "%s folders of %s to %s rows%s%s", text_count(arena, part->values), text_count(arena, part->least), text_count(arena, part->most),
			                  part->blank ? arena_printf(arena, "; missing in %s", text_count(arena, part->blank)) : "",
			                  part->numeral == NUMERAL_PADDED ? "; but to readers of a path 01 is 1: take a name or a code with letters" : ""));
	}
	bool month = strings_has(&chosen, "month");
	if (month)
		line(out, "series: month", "each month follows the one before: diff and guards compare them");
}

/* ---- columns ---- */

static const char *column_fields(const struct init *init, const struct init_column *column)
{
	struct arena *arena = init->arena;
	struct strings fields = {0};
	if (column->at)
		strings_add(arena, &fields, arena_printf(arena, "at: %s", column->at));
	else if (strcmp(column->source_name, column->name) != 0) {
		struct text one = text_on(arena);
		for (const char *p = column->source_name; *p; p++)
			text_add_n(&one, *p == '\n' || *p == '\r' || *p == '\t' ? " " : p, 1);
		strings_add(arena, &fields, arena_printf(arena, "from: %s", init_scalar(arena, one.at)));
	}
	if ((column->text || column->typed) && column->type != TYPE_UNSET)
		strings_add(arena, &fields, arena_printf(arena, "type: %s", column_type_word(column->type)));
	if (column->type != TYPE_UNSET && column->rule.format.count)
		strings_add(arena, &fields, arena_printf(arena, "format: %s", column->rule.format.count == 1 ? init_scalar(arena, column->rule.format.at[0])
		                                                                                          : init_list(arena, &column->rule.format)));
	if (column->rule.thousands && column->type != TYPE_UNSET)
		strings_add(arena, &fields, arena_printf(arena, "thousands: \"%s\"", column->rule.thousands));
	if (column->rule.decimal && column->type != TYPE_UNSET)
		strings_add(arena, &fields, arena_printf(arena, "decimal: \"%s\"", column->rule.decimal));
	if (column->type != TYPE_UNSET && column->rule.missing.count)
		strings_add(arena, &fields, arena_printf(arena, "missing: %s", init_list(arena, &column->rule.missing)));
	if (column->otherwise)
		strings_add(arena, &fields, arena_printf(arena, "default: %s", column->otherwise));
	bool in_key = false;
	for (size_t i = 0; i < init->key.count; i++)
		in_key |= &init->columns[init->key.at[i]] == column;
	if (init->several_sheets && !column->at && !in_key && !strings_has(&init->shared, text_squeezed(arena, column->source_name)))
		strings_add(arena, &fields, "optional: true");
	if (!fields.count)
		strings_add(arena, &fields, "required: false");
	return strings_join(arena, &fields, ", ");
}

static bool has_line(const struct init_column *column)
{
	if (!column->listed || column->geometry)
		return false;
	/* By its own name and as it is: the key or the partition names it, and that is enough. */
	return column->at || strcmp(column->source_name, column->name) != 0 || column->otherwise || column->typed || (column->text && column->type != TYPE_UNSET);
}

static void column_lines(const struct init *init, struct text *out)
{
	struct text lines = text_on(init->arena);
	size_t left = 0, listed = 0;
	for (size_t i = 0; i < init->part_count; i++)
		if (init->parts[i].line && init->parts[i].chosen && ++listed)
			line(&lines, arena_printf(init->arena, "  %s", init->parts[i].line), "from the file's name");
	for (size_t i = 0; i < init->column_count; i++) {
		const struct init_column *column = &init->columns[i];
		if (has_line(column) && ++listed)
			line(&lines, arena_printf(init->arena, "  %s: {%s}", init_scalar(init->arena, column->name), column_fields(init, column)), column->reason);
		else if (column->reason)
			line(&lines, arena_printf(init->arena, "  # %s", column->name), column->reason);
		else
			left++;
	}
	if (lines.length) {
		text_add(out, listed ? "\ncolumns:\n" : "\n# columns:\n"); /* of comments alone YAML makes an empty text */
		text_add(out, lines.at);
	}
	if (left && !lines.length)
		text_add(out, "\n");
	if (left)
		text_addf(out, "%s# %zu more column%s kept as %s\n", lines.length ? "  " : "", left, left == 1 ? " is" : "s are", left == 1 ? "it is" : "they are");
}

/* ---- the whole ---- */

static void head(const struct init *init, struct text *out)
{
	struct arena *arena = init->arena;
	comment(out, "# ", arena_printf(arena, "A first spec for %s: %s, %zu column%s, %s. Read it before you load with it.", init->inputs[0].name,
	        init_rows_text(arena, init->rows), init->column_count, init->column_count == 1 ? "" : "s", init->format));
	if (init->tried)
		comment(out, "# ", init->tried);
	for (size_t i = 0; i < init->said.count; i++)
		comment(out, init->said.at[i][0] == ' ' ? "#  " : "# ", init->said.at[i]);
}

const char *init_write(struct init *init)
{
	struct arena *arena = init->arena;
	struct text out = text_on(arena);
	head(init, &out);
	text_addf(&out, "dataset: %s\nroot: %s\n", init->dataset, init_scalar(arena, init->options->root ? init->options->root : "lake"));
	text_addf(&out, "source:\n  files: %s\n", init_scalar(arena, init->files));
	for (size_t i = 0; i < init->read_lines.count; i++)
		text_addf(&out, "  %s\n", init->read_lines.at[i]);
	if (init->snake)
		line(&out, "  names: snake", "unlisted columns become plant_code, capacity_mw");
	if (init->space)
		line(&out, "  space: trim", "some values have blanks at their ends");
	key_lines(init, &out);
	part_lines(init, &out);
	if (init->geometry_line)
		line(&out, init->geometry_line, init->geometry_comment);
	else if (init->geometry_comment)
		comment(&out, "# ", init->geometry_comment);
	column_lines(init, &out);
	if (init->hints.count)
		text_add(&out, "\n# What only you can know:\n");
	for (size_t i = 0; i < init->hints.count; i++)
		text_addf(&out, "# %s\n", init->hints.at[i]);
	return out.at;
}
