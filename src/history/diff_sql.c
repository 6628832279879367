/* SPDX-License-Identifier: Apache-2.0
 * Two tables compared by key in the engine. One join keeps only the rows that differ, with both sides' values side by side;
 * the long form (one line a changed value) is made from that, so that wide tables are joined once. */
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "batch/convert.h"
#include "history/diff.h"
#include "history/diff_long.h"

struct side_column {
	const char *name, *older_type, *newer_type;
};

struct comparing {
	struct history *h;
	const struct diff_side *older, *newer;
	struct side_column *columns; /* common to both */
	size_t column_count;
	struct rows older_schema, newer_schema;
	struct joined_side o, n; /* the two in the join */
	struct strings identity; /* identity fields that both have */
	const char *key;         /* quoted */
};

/* ---- columns ---- */

static const char *type_in(const struct rows *schema, const char *name)
{
	for (size_t i = 0; i < schema->row_count; i++)
		if (strcmp(rows_at(schema, i, 0), name) == 0)
			return rows_at(schema, i, 1);
	return NULL;
}

/* Follows from the rest: partition columns from the path, the covering from the geometry. */
static bool derived(const struct comparing *c, const char *name)
{
	const struct history *h = c->h;
	bool covering = json_get_bool(h->dataset->config, "covering", false);
	return strings_has(&h->spec->partition, name) || (covering && strcmp(name, "bbox") == 0);
}

static recloser_status find_columns(struct comparing *c, struct diff_found *out, recloser_error *error)
{
	struct arena *arena = c->h->arena;
	struct engine *engine = c->h->engine;
	const char *key = c->h->spec->key_column;
	RC_TRY(engine_describe(engine, arena, arena_printf(arena, "SELECT * FROM %s", c->older->relation), &c->older_schema,
						   error));
	RC_TRY(engine_describe(engine, arena, arena_printf(arena, "SELECT * FROM %s", c->newer->relation), &c->newer_schema,
						   error));
	c->columns = arena_array(arena, c->older_schema.row_count + 1, sizeof *c->columns);
	for (size_t i = 0; i < c->older_schema.row_count; i++) {
		const char *name = rows_at(&c->older_schema, i, 0), *type = rows_at(&c->older_schema, i, 1);
		const char *other = type_in(&c->newer_schema, name);
		if (derived(c, name) || strcmp(name, key) == 0)
			continue;
		if (!other)
			strings_add(arena, &out->columns_removed, name);
		else
			c->columns[c->column_count++] = (struct side_column){.name = name, .older_type = type, .newer_type = other};
		if (other && strcmp(other, type) != 0)
			strings_add(arena, &out->columns_retyped, arena_printf(arena, "%s: %s -> %s", name, type, other));
	}
	for (size_t i = 0; i < c->newer_schema.row_count; i++) {
		const char *name = rows_at(&c->newer_schema, i, 0);
		if (!derived(c, name) && !type_in(&c->older_schema, name))
			strings_add(arena, &out->columns_added, name);
	}
	if (type_in(&c->older_schema, key) && type_in(&c->newer_schema, key))
		return RECLOSER_OK;
	error_set(error, RECLOSER_FAULT, "diff.key", "one of the two has no key column %s", key);
	return error_where(error, "%s and %s", c->older->label, c->newer->label);
}

/* Names that the long form has for itself can't be identity fields of it too. */
static void find_identity(struct comparing *c)
{
	static const char *const taken[] = {"change", "column", "old", "new", "kind"};
	const struct spec *spec = c->h->spec;
	for (size_t i = 0; i < spec->identity_count; i++) {
		const char *name = spec->identity[i].column;
		bool clash = !name || strings_has(&spec->partition, name) || strcmp(name, spec->key_column) == 0;
		for (size_t k = 0; k < sizeof taken / sizeof *taken && !clash; k++)
			clash = text_equal_nocase(name, taken[k]);
		const char *type = clash ? NULL : type_in(&c->older_schema, name);
		if (type && strcmp(type, "BLOB") != 0 && type_in(&c->newer_schema, name))
			strings_add(c->h->arena, &c->identity, name);
	}
}

/* ---- SQL ---- */

static const char *as_text(struct arena *arena, const char *expression, const char *type)
{
	if (strcmp(type, "BLOB") == 0)
		return arena_printf(arena, "lower(hex(%s))", expression);
	return arena_printf(arena, "CAST(%s AS VARCHAR)", expression);
}

/* Values of two types are compared as text; text is all that both surely have. */
static const char *differs(struct arena *arena, const struct side_column *column, const char *older, const char *newer)
{
	if (strcmp(column->older_type, column->newer_type) == 0)
		return arena_printf(arena, "%s IS DISTINCT FROM %s", older, newer);
	return arena_printf(arena, "%s IS DISTINCT FROM %s", as_text(arena, older, column->older_type),
						as_text(arena, newer, column->newer_type));
}

/* In the join: where one side stands aside, digests are compared. */
static const char *differs_joined(const struct comparing *c, const struct side_column *column)
{
	struct arena *arena = c->h->arena;
	const char *name = column->name;
	bool aside = joined_is_aside(&c->o, name) || joined_is_aside(&c->n, name);
	if (aside && strcmp(column->older_type, column->newer_type) == 0)
		return arena_printf(arena, "%s IS DISTINCT FROM %s", joined_sum(arena, &c->o, name), joined_sum(arena, &c->n, name));
	return differs(arena, column, joined_value(arena, &c->o, name), joined_value(arena, &c->n, name));
}

static const char *row_json(struct comparing *c, const struct joined_side *side)
{
	struct arena *arena = c->h->arena;
	const struct rows *schema = side->schema;
	struct text out = text_on(arena);
	for (size_t i = 0; i < schema->row_count; i++) {
		const char *name = rows_at(schema, i, 0), *type = rows_at(schema, i, 1);
		if (derived(c, name) || strcmp(type, "BLOB") == 0)
			continue;
		text_addf(&out, "%s%s, %s", out.length ? ", " : "json_object(", sql_text(arena, name),
				  convert_json(arena, type, joined_value(arena, side, name)));
	}
	return arena_printf(arena, "CAST(%s) AS VARCHAR)", out.at);
}

static recloser_status join(struct comparing *c, recloser_error *error)
{
	struct arena *arena = c->h->arena;
	struct text taken = text_on(arena), any = text_on(arena);
	for (size_t i = 0; i < c->column_count; i++) {
		const char *name = c->columns[i].name;
		text_addf(&taken, ",\n  %s AS o%zu, %s AS n%zu", joined_value(arena, &c->o, name), i, joined_value(arena, &c->n, name), i);
		text_addf(&any, " OR %s", differs_joined(c, &c->columns[i]));
	}
	for (size_t i = 0; i < c->identity.count; i++) {
		const char *name = c->identity.at[i];
		text_addf(&taken, ",\n  coalesce(CAST(%s AS VARCHAR), CAST(%s AS VARCHAR)) AS i%zu", joined_value(arena, &c->n, name),
				  joined_value(arena, &c->o, name), i);
	}
	return engine_runf(
		c->h->engine, "compare by key", error,
		"CREATE OR REPLACE TEMP TABLE rc_differing AS SELECT coalesce(o.%s, n.%s) AS k,\n"
		"  CASE WHEN o.%s IS NULL THEN 'added' WHEN n.%s IS NULL THEN 'removed' ELSE 'changed' END AS change,\n"
		"  CASE WHEN o.%s IS NULL THEN %s WHEN n.%s IS NULL THEN %s END AS whole%s\n"
		"FROM %s o FULL JOIN %s n ON o.%s = n.%s\nWHERE o.%s IS NULL OR n.%s IS NULL%s",
		c->key, c->key, c->key, c->key, c->key, row_json(c, &c->n), c->key, row_json(c, &c->o), taken.at,
		joined_relation(arena, &c->o), joined_relation(arena, &c->n), c->key, c->key, c->key, c->key,
		any.length ? any.at : "");
}

/* What a text is when its spelling does not count. Dates are read both ways round, and the same way on both sides. */
static recloser_status make_macros(struct comparing *c, recloser_error *error)
{
#define DAYS                                                                                                                \
	"'%Y-%m-%d', '%Y/%m/%d', '%d-%b-%Y', '%d %b %Y', '%b %d, %Y', '%B %d, %Y', '%d %B %Y', '%Y%m%d', '%Y-%m-%d %H:%M:%S', " \
	"'%Y-%m-%dT%H:%M:%S'"
	return engine_run(
		c->h->engine, "set up the comparison",
		"CREATE OR REPLACE TEMP MACRO rc_plain(x) AS nullif(trim(regexp_replace(x, '[\\s\\p{Z}]+', ' ', 'g')), '');\n"
		"CREATE OR REPLACE TEMP MACRO rc_month_first(x) AS try_strptime(rc_plain(x), [" DAYS
		", '%m/%d/%Y', '%m/%d/%y', '%m-%d-%Y', "
		"'%m/%d/%Y %H:%M:%S', '%m/%d/%Y %H:%M']);\n"
		"CREATE OR REPLACE TEMP MACRO rc_day_first(x) AS try_strptime(rc_plain(x), [" DAYS
		", '%d/%m/%Y', '%d/%m/%y', '%d-%m-%Y', "
		"'%d.%m.%Y', '%d/%m/%Y %H:%M:%S', '%d/%m/%Y %H:%M']);",
		error);
#undef DAYS
}

static const char *kind_of(struct arena *arena, const struct side_column *column, size_t i)
{
	/* A text that was declared a date since, `01/05/2026`, is that day in another style. */
	if (strcmp(column->older_type, "VARCHAR") != 0 && strcmp(column->newer_type, "VARCHAR") != 0)
		return "'value'";
	const char *o = as_text(arena, arena_printf(arena, "o%zu", i), column->older_type);
	const char *n = as_text(arena, arena_printf(arena, "n%zu", i), column->newer_type);
	return arena_printf(
		arena,
		"CASE WHEN rc_plain(%s) IS NOT DISTINCT FROM rc_plain(%s) THEN 'white space'"
		" WHEN lower(rc_plain(%s)) = lower(rc_plain(%s)) THEN 'letter case'"
		" WHEN rc_month_first(%s) = rc_month_first(%s) OR rc_day_first(%s) = rc_day_first(%s) THEN 'date style'"
		" ELSE 'value' END",
		o, n, o, n, o, n, o, n);
}

/* The long form. */
static recloser_status spread(struct comparing *c, recloser_error *error)
{
	struct arena *arena = c->h->arena;
	struct text head = text_on(arena), sql = text_on(arena);
	text_addf(&head, "k AS %s", c->key);
	for (size_t i = 0; i < c->identity.count; i++)
		text_addf(&head, ", i%zu AS %s", i, sql_name(arena, c->identity.at[i]));
	text_addf(&sql,
			  "CREATE OR REPLACE TEMP TABLE rc_changes AS\n"
			  "SELECT change, %s, CAST(NULL AS VARCHAR) AS \"column\", CASE change WHEN 'removed' THEN whole END AS old,\n"
			  "  CASE change WHEN 'added' THEN whole END AS \"new\", CAST(NULL AS VARCHAR) AS kind FROM rc_differing WHERE "
			  "change <> 'changed'",
			  head.at);
	for (size_t i = 0; i < c->column_count; i++) {
		const struct side_column *column = &c->columns[i];
		const char *older = arena_printf(arena, "o%zu", i), *newer = arena_printf(arena, "n%zu", i);
		text_addf(&sql, "\nUNION ALL SELECT change, %s, %s, %s, %s, %s FROM rc_differing WHERE change = 'changed' AND %s",
				  head.at, sql_text(arena, column->name), as_text(arena, older, column->older_type),
				  as_text(arena, newer, column->newer_type), kind_of(arena, column, i),
				  differs(arena, column, older, newer));
	}
	return engine_run(c->h->engine, "list the changes", sql.at, error);
}

/* Sorted as a reader looks for rows: by what identifies them, not by the digits of the key. */
static const char *in_order(const struct comparing *c)
{
	struct text out = text_on(c->h->arena);
	text_add(&out, "change");
	for (size_t i = 0; i < c->identity.count; i++)
		text_addf(&out, ", %s", sql_name(c->h->arena, c->identity.at[i]));
	text_addf(&out, ", %s, \"column\"", c->key);
	return out.at;
}

/* ---- figures ---- */

static recloser_status count(struct comparing *c, struct diff_found *out, recloser_error *error)
{
	struct arena *arena = c->h->arena;
	struct rows rows;
	RC_TRY(engine_query(
		c->h->engine, arena, "count the changes",
		arena_printf(arena,
					 "SELECT count(*) FILTER (WHERE change = 'added'), count(*) FILTER (WHERE change = 'removed'),\n"
					 "  count(*) FILTER (WHERE change = 'changed'), (SELECT count(*) FROM %s), (SELECT count(*) FROM %s),\n"
					 "  (SELECT count(*) FROM rc_changes), (SELECT count(*) FROM rc_changes WHERE kind IS NULL OR kind = "
					 "'value')\nFROM rc_differing",
					 c->older->relation, c->newer->relation),
		&rows, error));
	out->added = (uint64_t)rows_int(&rows, 0, 0);
	out->removed = (uint64_t)rows_int(&rows, 0, 1);
	out->changed = (uint64_t)rows_int(&rows, 0, 2);
	out->older_rows = (uint64_t)rows_int(&rows, 0, 3);
	out->newer_rows = (uint64_t)rows_int(&rows, 0, 4);
	out->change_rows = (uint64_t)rows_int(&rows, 0, 5);
	out->only_form = out->change_rows > 0 && rows_int(&rows, 0, 6) == 0;
	out->unchanged = out->older_rows - out->removed - out->changed;
	return engine_query(c->h->engine, arena, "count the changes by column",
						"SELECT \"column\", count(*) AS changed, count(*) FILTER (WHERE kind = 'white space'), count(*) "
						"FILTER (WHERE kind = 'letter case'),\n"
						"  count(*) FILTER (WHERE kind = 'date style'), count(*) FILTER (WHERE kind = 'value')\n"
						"FROM rc_changes WHERE \"column\" IS NOT NULL GROUP BY 1 ORDER BY changed DESC, 1",
						&out->columns, error);
}

static recloser_status write_out(struct comparing *c, const char *output, recloser_error *error)
{
	if (!output)
		return RECLOSER_OK;
	/* Whole or not at all: under another name first. */
	const char *beside = arena_printf(c->h->arena, "%s.writing", output);
	static const char *const longs[] = {"old", "new", NULL};
	const struct sorted_copy copy = {.table = "rc_changes", .order = in_order(c), .longs = longs, .file = beside};
	RC_TRY(engine_copy_sorted(c->h->engine, c->h->arena, "write the changes", &copy, error));
	int failed = c->h->dataset->fs->ops->rename(c->h->dataset->fs, beside, output);
	return failed ? error_errno(error, "store.rename", failed, "write", output) : RECLOSER_OK;
}

recloser_status diff_compare(struct history *h, const struct diff_side *older, const struct diff_side *newer, uint64_t limit,
							 const char *output, struct diff_found *out, recloser_error *error)
{
	struct comparing c = {.h = h, .older = older, .newer = newer, .key = sql_name(h->arena, h->spec->key_column)};
	RC_TRY(find_columns(&c, out, error));
	find_identity(&c);
	c.o = (struct joined_side){.alias = "o", .relation = older->relation, .schema = &c.older_schema};
	c.n = (struct joined_side){.alias = "n", .relation = newer->relation, .schema = &c.newer_schema};
	RC_TRY(joined_measure(h->engine, h->arena, h->spec->key_column, &c.o, &c.n, error));
	RC_TRY(make_macros(&c, error));
	RC_TRY(join(&c, error));
	RC_TRY(spread(&c, error));
	RC_TRY(count(&c, out, error));
	RC_TRY(engine_query(h->engine, h->arena, "list the changes",
						arena_printf(h->arena, "SELECT * FROM rc_changes ORDER BY %s LIMIT %" PRIu64, in_order(&c), limit), &out->rows,
						error));
	return write_out(&c, output, error);
}
