/* SPDX-License-Identifier: Apache-2.0
 * What is compared with what, and what is said of it; the comparing is diff_sql.c's. */
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "history/diff.h"

enum { JSON_ROWS = 1000, TEXT_ROWS = 20, VALUE_SHOWN = 60 };

/* ---- sides ---- */

static const char *table_of(struct arena *arena, const char *file)
{
	return arena_printf(arena, "read_parquet(%s, hive_partitioning = false)", sql_text(arena, file));
}

static recloser_status live_side(struct history *h, const char *partition, struct diff_side *out, recloser_error *error)
{
	struct record *newest;
	enum live_state live;
	RC_TRY(live_newest(h->dataset, h->arena, partition, &newest, &live, error));
	*out = (struct diff_side){.partition = partition};
	if (live == LIVE_SOUND || live == LIVE_FOREIGN) {
		const char *file;
		RC_TRY(live == LIVE_SOUND ? version_file(h->dataset, h->arena, newest, &file, error)
								  : live_file(h->dataset, h->arena, partition, &file, error));
		out->relation = table_of(h->arena, file);
		out->seq = live == LIVE_SOUND ? newest->seq : 0;
		out->loaded_at = live == LIVE_SOUND ? newest->loaded_at : NULL;
		out->label = live == LIVE_SOUND ? arena_printf(h->arena, "live, seq %" PRId64 "%s", newest->seq,
													   newest->unfinished ? " of a run that is not finished" : "")
										: "live, put there by another program";
		return RECLOSER_OK;
	}
	error_set(error, RECLOSER_FAULT, "version.lost", "the live file is missing");
	error_where(error, "%s", live_path(h->dataset, h->arena, partition));
	return newest ? error_hint(error, "recloser restore %s %s %" PRId64 " brings it back", h->spec->path, partition,
							   newest->seq)
				  : RECLOSER_FAULT;
}

static recloser_status seq_side(struct history *h, const char *partition, int64_t seq, struct diff_side *out,
								recloser_error *error)
{
	struct record *record, *newest;
	const char *file;
	struct kept kept;
	json_t *prunes;
	RC_TRY(ledger_newest(h->dataset, h->arena, partition, &newest, error));
	RC_TRY(ledger_read(h->dataset, h->arena, partition, seq, &record, error));
	if (!record || strcmp(record->kind, "void") == 0) {
		error_set(error, RECLOSER_USAGE, "diff.seq", "%s has no version %" PRId64, partition_shown(partition), seq);
		return error_hint(error, "recloser history %s %s lists them", h->spec->path, partition);
	}
	RC_TRY(version_kept(h->dataset, h->arena, record, newest, NULL, &kept, error));
	if (!kept.file) {
		RC_TRY(prunes_read(h->dataset, h->arena, &prunes, error));
		const char *how = pruned_how(h->arena, prunes, partition, seq);
		return error_set(error, RECLOSER_FAULT, "version.lost", "seq %" PRId64 " of %s is not to be had: %s", seq,
						 partition_shown(partition), how ? how : "its archived file is gone");
	}
	RC_TRY(version_file(h->dataset, h->arena, kept.record, &file, error));
	*out = (struct diff_side){.label = arena_printf(h->arena, "seq %" PRId64, seq),
							  .partition = partition,
							  .seq = seq,
							  .relation = table_of(h->arena, file),
							  .loaded_at = record->loaded_at};
	return RECLOSER_OK;
}

/* "live" or a seq. */
static recloser_status named_side(struct history *h, const char *partition, const char *name, struct diff_side *out,
								  recloser_error *error)
{
	int64_t seq = 0;
	const char *at = name;
	for (; *at >= '0' && *at <= '9' && seq < INT64_MAX / 100; at++)
		seq = seq * 10 + (*at - '0');
	if (strcmp(name, "live") == 0)
		return live_side(h, partition, out, error);
	if (*at == '\0' && seq > 0)
		return seq_side(h, partition, seq, out, error);
	error_set(error, RECLOSER_USAGE, "diff.version", "\"%s\" is no version", name);
	return error_hint(error, "a number as recloser history shows it, \"live\", or another partition such as month=2026-07");
}

/* The partition before this one in the series, or NULL. */
static recloser_status preceding(struct history *h, const char *partition, const char **out, recloser_error *error)
{
	struct line *lines;
	size_t count;
	*out = NULL;
	if (!h->spec->series)
		return RECLOSER_OK;
	RC_TRY(series_lines(h->dataset, h->arena, h->spec, &lines, &count, error));
	for (size_t i = 0; i < count; i++)
		for (size_t k = 1; k < lines[i].count; k++)
			if (strcmp(lines[i].partitions[k], partition) == 0)
				*out = lines[i].partitions[k - 1];
	return RECLOSER_OK;
}

static recloser_status before_live(struct history *h, const char *partition, struct diff_side *out, recloser_error *error)
{
	struct versions versions;
	const char *before;
	struct record *newest;
	enum live_state live;
	RC_TRY(live_newest(h->dataset, h->arena, partition, &newest, &live, error));
	RC_TRY(versions_of(h->dataset, h->arena, partition, &versions, error));
	size_t recorded = newest && newest->unfinished ? 1 : 2; /* counted from the end, the version before the live one */
	if (versions.count >= recorded)
		return seq_side(h, partition, versions.at[versions.count - recorded]->seq, out, error);
	RC_TRY(preceding(h, partition, &before, error));
	if (before)
		return live_side(h, before, out, error);
	error_set(error, RECLOSER_USAGE, "diff.one_version", "%s has one version: there is nothing before it",
			  partition_shown(partition));
	return error_hint(error, "name another partition to compare it with, or --file FILE");
}

recloser_status diff_sides(struct history *h, const recloser_diff_options *options, struct diff_side *older,
						   struct diff_side *newer, recloser_error *error)
{
	const char *partition, *other;
	RC_TRY(partition_named(h->dataset, h->arena, options->partition, &partition, error));
	if (options->file)
		return options->a ? named_side(h, partition, options->a, older, error) : live_side(h, partition, older, error);
	if (options->a && strchr(options->a, '=')) {
		if (options->b)
			return error_set(error, RECLOSER_USAGE, "diff.three",
							 "two partitions are compared by their live versions: \"%s\" is one word too many", options->b);
		RC_TRY(partition_named(h->dataset, h->arena, options->a, &other, error));
		RC_TRY(live_side(h, partition, older, error));
		return live_side(h, other, newer, error);
	}
	RC_TRY(options->a ? named_side(h, partition, options->a, older, error) : before_live(h, partition, older, error));
	return options->b ? named_side(h, partition, options->b, newer, error) : live_side(h, partition, newer, error);
}

/* ---- telling ---- */

static json_t *side_json(struct arena *arena, const struct diff_side *side, uint64_t rows)
{
	json_t *json = json_new_object(arena);
	json_put_text(arena, json, "label", side->label);
	json_put_text(arena, json, "partition", side->partition);
	if (side->seq)
		json_put_int(arena, json, "seq", side->seq);
	json_put_text(arena, json, "loaded_at", side->loaded_at);
	json_put_int(arena, json, "rows", (int64_t)rows);
	return json;
}

/* Cut between characters; line breaks would tear the table. */
static const char *shown(struct arena *arena, const char *value)
{
	if (!value)
		return "missing";
	size_t length = strlen(value), cut = length;
	if (length > VALUE_SHOWN) {
		cut = VALUE_SHOWN;
		while (cut > 0 && ((unsigned char)value[cut] & 0xC0) == 0x80)
			cut--;
	}
	char *copy = arena_printf(arena, "\"%.*s%s\"", (int)cut, value, cut < length ? "..." : "");
	for (char *at = copy; *at; at++)
		if ((unsigned char)*at < 0x20)
			*at = ' ';
	return copy;
}

static void tell_columns(struct history *h, const struct diff_found *found)
{
	struct arena *arena = h->arena;
	json_t *columns = json_new_array(arena);
	for (size_t i = 0; i < found->columns.row_count; i++) {
		static const char *const names[] = {"changed", "white_space", "letter_case", "date_style", "value"};
		json_t *json = json_new_object(arena);
		struct text forms = text_on(arena);
		json_put_text(arena, json, "column", rows_at(&found->columns, i, 0));
		for (size_t k = 0; k < 5; k++)
			json_put_int(arena, json, names[k], rows_int(&found->columns, i, k + 1));
		json_add(arena, columns, json);
		static const char *const words[] = {"white space", "letter case or white space", "date style"};
		for (size_t k = 0; k < 3; k++)
			if (rows_int(&found->columns, i, k + 2))
				text_addf(&forms, "%s%s in %s only", forms.length ? ", " : "   ", rows_at(&found->columns, i, k + 2),
						  words[k]);
		text_addf(&h->text, "  %-28s %10s changed%s\n", rows_at(&found->columns, i, 0), rows_at(&found->columns, i, 1),
				  forms.length ? forms.at : "");
	}
	json_put(arena, h->json, "columns", columns);
	if (found->only_form)
		text_addf(&h->text, "  every change is one of white space, letter case or date style only\n");
	json_put_bool(arena, h->json, "form_only", found->only_form);
}

static void tell_schema(struct history *h, const struct diff_found *found)
{
	static const char *const words[] = {"column only in the newer side", "column only in the older side", "type changed"};
	const struct strings *const lists[] = {&found->columns_added, &found->columns_removed, &found->columns_retyped};
	static const char *const names[] = {"columns_added", "columns_removed", "columns_retyped"};
	for (size_t k = 0; k < 3; k++) {
		json_t *array = json_new_array(h->arena);
		for (size_t i = 0; i < lists[k]->count; i++) {
			json_add_text(h->arena, array, lists[k]->at[i]);
			text_addf(&h->text, "  %s: %s\n", words[k], lists[k]->at[i]);
		}
		json_put(h->arena, h->json, names[k], array);
	}
}

/* Columns of found->rows: change, key, identity fields ..., column, old, new, kind. */
static void tell_rows(struct history *h, const struct diff_found *found, uint64_t text_limit)
{
	struct arena *arena = h->arena;
	const struct rows *rows = &found->rows;
	json_t *list = json_new_array(arena);
	size_t last = rows->column_count - 4;
	for (size_t i = 0; i < rows->row_count; i++) {
		const char *change = rows_at(rows, i, 0), *column = rows_at(rows, i, last);
		json_t *json = json_new_object(arena), *identity = json_new_object(arena);
		struct text name = text_on(arena);
		json_put_text(arena, json, "change", change);
		json_put_text(arena, json, "key", rows_at(rows, i, 1));
		for (size_t c = 2; c < last; c++) {
			const char *value = rows_at(rows, i, c);
			json_put_text(arena, identity, rows->names[c], value);
			text_addf(&name, "%s%s", name.length ? ", " : "", value ? value : "");
		}
		json_put(arena, json, "identity", identity);
		json_put_text(arena, json, "column", column);
		json_put_text(arena, json, "old", rows_at(rows, i, last + 1));
		json_put_text(arena, json, "new", rows_at(rows, i, last + 2));
		json_put_text(arena, json, "kind", rows_at(rows, i, last + 3));
		json_add(arena, list, json);
		if (i >= text_limit)
			continue;
		text_addf(&h->text, "  %-8s %s", change, name.length ? name.at : rows_at(rows, i, 1));
		if (column)
			text_addf(&h->text, "   %s   %s -> %s", column, shown(arena, rows_at(rows, i, last + 1)),
					  shown(arena, rows_at(rows, i, last + 2)));
		text_add(&h->text, "\n");
	}
	json_put(arena, h->json, "rows", list);
	json_put_bool(arena, h->json, "rows_complete", found->change_rows <= rows->row_count);
	if (found->change_rows > text_limit)
		text_addf(&h->text, "  ... %s lines in all: --limit N shows more, --output FILE.pq writes all\n",
				  text_count(arena, found->change_rows));
}

recloser_status diff(struct history *h, const recloser_diff_options *options, const struct diff_side *older,
					 const struct diff_side *newer, recloser_error *error)
{
	struct arena *arena = h->arena;
	struct diff_found found = {0};
	RC_TRY(diff_compare(h, older, newer, options->limit ? options->limit : JSON_ROWS, options->output, &found, error));
	bool same =
		found.added + found.removed + found.changed == 0 && found.columns_added.count + found.columns_removed.count == 0;
	json_put_text(arena, h->json, "dataset", h->dataset->name);
	json_put_text(arena, h->json, "outcome", same ? "same" : "different");
	json_put(arena, h->json, "older", side_json(arena, older, found.older_rows));
	json_put(arena, h->json, "newer", side_json(arena, newer, found.newer_rows));
	json_put_int(arena, h->json, "added", (int64_t)found.added);
	json_put_int(arena, h->json, "removed", (int64_t)found.removed);
	json_put_int(arena, h->json, "changed", (int64_t)found.changed);
	json_put_int(arena, h->json, "unchanged", (int64_t)found.unchanged);
	json_put_text(arena, h->json, "output", options->output);
	text_addf(&h->text, "%s  %s, %s  ->  %s%s%s\n", h->dataset->name, partition_shown(older->partition), older->label,
			  strcmp(older->partition, newer->partition) == 0 ? "" : partition_shown(newer->partition),
			  strcmp(older->partition, newer->partition) == 0 ? "" : ", ", newer->label);
	text_addf(&h->text, "  %s rows -> %s rows: %s added, %s removed, %s changed, %s unchanged\n",
			  text_count(arena, found.older_rows), text_count(arena, found.newer_rows), text_count(arena, found.added),
			  text_count(arena, found.removed), text_count(arena, found.changed), text_count(arena, found.unchanged));
	tell_schema(h, &found);
	tell_columns(h, &found);
	tell_rows(h, &found, options->limit ? options->limit : TEXT_ROWS);
	if (options->output)
		text_addf(&h->text, "  written to %s\n", options->output);
	return RECLOSER_OK;
}
