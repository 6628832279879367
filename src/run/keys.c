/* SPDX-License-Identifier: Apache-2.0
 * The keys of a partition against its reference: the version it replaces, or, where partitions follow each other in a series
 * (`series: month`) and this one is new, the partition before it. Counted: gone, new and revised keys, and how often each
 * column changed. The rows that are gone are listed with their last known values. */
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "batch/convert.h"
#include "run/run.h"

enum { COLUMNS_COUNTED = 400 };

static const json_t *reference_column(const struct reference *reference, const char *name)
{
	for (size_t i = 0; i < json_array_size(reference->schema); i++) {
		const json_t *column = json_array_get(reference->schema, i);
		if (strcmp(json_get_text(column, "name"), name) == 0)
			return column;
	}
	return NULL;
}

bool reference_has(const struct reference *reference, const char *column)
{
	return reference_column(reference, column) != NULL;
}

const char *reference_published(const struct reference *reference)
{
	for (size_t i = 0; i < json_array_size(reference->schema); i++)
		if (json_is_true(json_object_get(json_array_get(reference->schema, i), "mark")))
			return " WHERE NOT coalesce(" CARRIED_COLUMN ", FALSE)";
	return "";
}

/* A row that was carried over, or has come back after it was, is not revised by that: the mark is no compared column. */
struct strings run_compared_columns(struct run *run, const struct reference *reference)
{
	struct strings columns = {0};
	for (size_t i = 0; i < run->batch->column_count; i++) {
		const struct batch_column *column = &run->batch->columns[i];
		if (!column->partition && !column->key && !column->mark && reference_has(reference, column->name))
			strings_add(run->arena, &columns, column->name);
	}
	return columns;
}

static const char *type_in_batch(const struct run *run, const char *name)
{
	for (size_t i = 0; i < run->batch->column_count; i++)
		if (strcmp(run->batch->columns[i].name, name) == 0)
			return run->batch->columns[i].type;
	return "VARCHAR";
}

/* A geometry of Parquet's own type is brought into the form that the batch has. */
static const char *file_table(struct run *run, const struct reference *reference)
{
	struct arena *arena = run->arena;
	const char *table = arena_printf(arena, "read_parquet(%s, hive_partitioning=false)", sql_text(arena, reference->file));
	const char *geo = json_get_text(reference->record->json, "geo"), *name = sql_name(arena, run->spec->geometry.column);
	if (!geo || !text_starts(geo, "{\"version\":\"2."))
		return table;
	return arena_printf(arena, "(SELECT * REPLACE (CAST(st_asbinary(%s) AS BLOB) AS %s) FROM %s)", name, name, table);
}

/* Partition columns come from the path: the file has them or not (`partition_columns: path`), whatever the spec says today. */
const char *run_reference_table(struct run *run, const struct reference *reference)
{
	struct arena *arena = run->arena;
	const struct strings *partition = &run->spec->partition;
	const char *file = file_table(run, reference);
	struct text names = text_on(arena), values = text_on(arena);
	for (size_t i = 0; i < partition->count && reference->values; i++) {
		text_addf(&names, "%s%s", i ? ", " : "", sql_text(arena, partition->at[i]));
		text_addf(&values, ", CAST(%s AS %s) AS %s", sql_text(arena, reference->values[i]), type_in_batch(run, partition->at[i]),
		          sql_name(arena, partition->at[i]));
	}
	if (!names.length)
		return file;
	return arena_printf(arena, "(SELECT COLUMNS(lambda c: c NOT IN (%s))%s FROM %s)", names.at, values.at, file);
}

const char *run_own_rows(struct run *run, const struct run_part *part)
{
	return arena_printf(run->arena, "(SELECT * FROM %s AND _rc_src >= 0)", part->part.batch_part->rows_sql);
}

static const char *differs(struct arena *arena, const char *column)
{
	const char *name = sql_name(arena, column);
	return arena_printf(arena, "l.%s IS DISTINCT FROM b.%s", name, name);
}

/* ` REPLACE (md5_number("notes") AS "notes")`: a join holds the values of one side, and where they are an eighth of the memory or more
 * 16 bytes of digest do for a long one. What is decided by a digest here is a count, never whether a partition is replaced. */
static const char *digested(struct run *run, const struct run_part *part, const struct strings *columns)
{
	enum { JOIN_PART = 8 };
	const struct batch *batch = run->batch;
	const struct batch_widths *widths = &part->part.batch_part->widths;
	struct text out = text_on(run->arena);
	if (batch_row_bytes(batch, widths) * (double)widths->rows * JOIN_PART < (double)engine_memory(run->engine))
		return "";
	for (size_t i = 0; i < batch->column_count; i++) {
		const char *name = batch->columns[i].name;
		const json_t *live = reference_column(part->reference, name);
		bool alike = live && strcmp(json_get_text(live, "type"), batch->columns[i].type) == 0;
		if (!alike || !strings_has(columns, name) || !batch_is_long(batch, widths, i))
			continue;
		text_addf(&out, "%smd5_number(%s) AS %s", out.length ? ", " : " REPLACE (", sql_name(run->arena, name), sql_name(run->arena, name));
	}
	if (out.length)
		text_add(&out, ")");
	return out.length ? out.at : "";
}

recloser_status run_count_keys(struct run *run, struct run_part *part, recloser_error *error)
{
	struct arena *arena = run->arena;
	const char *key = sql_name(arena, run->spec->key_column);
	const char *both = arena_printf(arena, "b.%s IS NOT NULL AND l.%s IS NOT NULL", key, key);
	struct strings columns = run_compared_columns(run, part->reference);
	const char *sums = digested(run, part, &columns);
	struct text any = text_on(arena), each = text_on(arena);
	for (size_t i = 0; i < columns.count; i++) {
		text_addf(&any, "%s%s", i ? " OR " : "", differs(arena, columns.at[i]));
		if (i < COLUMNS_COUNTED)
			text_addf(&each, ", count(*) FILTER (WHERE %s AND %s)", both, differs(arena, columns.at[i]));
	}
	struct rows rows;
	RC_TRY(engine_query(run->engine, arena, "compare with the live version", arena_printf(arena,
	    "SELECT count(*) FILTER (WHERE b.%s IS NULL), count(*) FILTER (WHERE l.%s IS NULL), count(*) FILTER (WHERE %s AND (%s))%s\n"
	    "FROM (SELECT *%s FROM %s) l FULL JOIN (SELECT *%s FROM %s) b ON l.%s = b.%s",
	    key, key, both, columns.count ? any.at : "FALSE", each.at, sums, run_reference_table(run, part->reference), sums,
	    part->part.batch_part->rows_sql, key, key), &rows, error));
	part->gone = (uint64_t)rows_int(&rows, 0, 0);
	part->fresh = (uint64_t)rows_int(&rows, 0, 1);
	part->revised = (uint64_t)rows_int(&rows, 0, 2);
	part->changed = json_new_object(arena);
	for (size_t i = 0; i < columns.count && i < COLUMNS_COUNTED; i++)
		if (rows_int(&rows, 0, i + 3))
			json_put_int(arena, part->changed, columns.at[i], rows_int(&rows, 0, i + 3));
	return RECLOSER_OK;
}

/* The whole last row as JSON, bytes left out. */
static const char *last_row_json(struct run *run, const struct reference *reference)
{
	const json_t *schema = reference->schema;
	struct text out = text_on(run->arena);
	text_add(&out, "json_object(");
	bool first = true;
	for (size_t i = 0; i < json_array_size(schema); i++) {
		const json_t *column = json_array_get(schema, i);
		const char *name = json_get_text(column, "name");
		if (strcmp(json_get_text(column, "type"), "BLOB") == 0 || strings_has(&run->spec->partition, name))
			continue;
		const char *value = arena_printf(run->arena, "l.%s", sql_name(run->arena, name));
		text_addf(&out, "%s%s, %s", first ? "" : ", ", sql_text(run->arena, name), convert_json(run->arena, json_get_text(column, "type"), value));
		first = false;
	}
	text_add(&out, ")");
	return out.at;
}

/* The columns of the list are fixed; an identity field of one of their names, in any case, gets an underscore. */
static const char *listed_as(struct run *run, const char *column)
{
	static const char *const taken[] = {"partition", "last_seq", "row", "_rc_in", "_rc_series"};
	bool clash = text_equal_nocase(column, run->spec->key_column);
	for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
		clash |= text_equal_nocase(column, taken[i]);
	return sql_name(run->arena, clash ? arena_printf(run->arena, "%s_", column) : column);
}

/* Identity fields that the list shows: no expressions, no geometry (its bytes are nothing to read), and what the version has. */
static struct strings listed_identity(struct run *run)
{
	const struct spec *spec = run->spec;
	struct strings columns = {0};
	for (size_t i = 0; i < spec->identity_count; i++) {
		const char *column = spec->identity[i].column;
		if (column && strcmp(column, spec->geometry.column) != 0)
			strings_add(run->arena, &columns, column);
	}
	return columns;
}

static const char *series_value(struct run *run, const struct run_part *part)
{
	const struct spec *spec = run->spec;
	for (size_t p = 0; p < spec->partition.count && spec->series; p++)
		if (strcmp(spec->partition.at[p], spec->series) == 0)
			return sql_text(run->arena, part->part.batch_part->values[p]);
	return "NULL";
}

static recloser_status make_list(struct run *run, const struct strings *identity, recloser_error *error)
{
	struct text names = text_on(run->arena);
	for (size_t i = 0; i < identity->count; i++)
		text_addf(&names, ", %s VARCHAR", listed_as(run, identity->at[i]));
	return engine_runf(run->engine, "make the list of disappeared rows", error,
	    "CREATE TABLE IF NOT EXISTS disappeared (\"partition\" VARCHAR, %s VARCHAR%s, last_seq BIGINT, \"row\" VARCHAR, _rc_in VARCHAR, _rc_series VARCHAR)",
	    sql_name(run->arena, run->spec->key_column), names.at);
}

recloser_status run_list_gone(struct run *run, struct run_part *part, recloser_error *error)
{
	struct arena *arena = run->arena;
	struct strings identity = listed_identity(run);
	struct text fields = text_on(arena);
	for (size_t i = 0; i < identity.count; i++) {
		bool known = reference_has(part->reference, identity.at[i]) || strings_has(&run->spec->partition, identity.at[i]);
		text_addf(&fields, ", %s", known ? arena_printf(arena, "CAST(l.%s AS VARCHAR)", sql_name(arena, identity.at[i])) : "NULL");
	}
	const char *key = sql_name(arena, run->spec->key_column);
	RC_TRY(make_list(run, &identity, error));
	return engine_runf(run->engine, "list disappeared rows", error,
	    "INSERT INTO disappeared SELECT %s, l.%s%s, %" PRId64 ", CAST(%s AS VARCHAR), %s, %s FROM %s l"
	    " ANTI JOIN (SELECT %s FROM %s) b ON l.%s = b.%s",
	    sql_text(arena, part->reference->path), key, fields.at, part->reference->record->seq, last_row_json(run, part->reference),
	    sql_text(arena, part->part.batch_part->path), series_value(run, part), run_reference_table(run, part->reference), key,
	    part->part.batch_part->rows_sql, key, key);
}

/* The first few, by their identity fields where those are to be read, else by the key: "Q1, Q2, Q7, ..." */
recloser_status run_name_gone(struct run *run, const struct run_part *part, const char **out, recloser_error *error)
{
	enum { NAMED = 3 };
	struct arena *arena = run->arena;
	struct strings identity = listed_identity(run);
	struct text fields = text_on(arena), names = text_on(arena);
	for (size_t i = 0; i < identity.count; i++)
		if (!strings_has(&run->spec->partition, identity.at[i]))
			text_addf(&fields, ", %s", listed_as(run, identity.at[i]));
	const char *name = fields.length ? arena_printf(arena, "concat_ws(' '%s)", fields.at) : sql_name(arena, run->spec->key_column);
	struct rows rows;
	RC_TRY(engine_query(run->engine, arena, "name disappeared keys", arena_printf(arena,
	    "SELECT %s FROM disappeared WHERE _rc_in = %s ORDER BY 1 LIMIT %d", name, sql_text(arena, part->part.batch_part->path), NAMED), &rows, error));
	for (size_t i = 0; i < rows.row_count; i++)
		text_addf(&names, "%s%s", i ? ", " : "", rows_at(&rows, i, 0));
	if (part->gone > rows.row_count)
		text_add(&names, ", ...");
	*out = names.at;
	return RECLOSER_OK;
}

/* Before a partition is looked at again: what was listed against a version that is not live any more. */
recloser_status run_forget_gone(struct run *run, const struct run_part *part, recloser_error *error)
{
	if (part->gone == 0)
		return RECLOSER_OK;
	run->disappeared -= part->gone;
	return engine_runf(run->engine, "forget what was listed", error, "DELETE FROM disappeared WHERE _rc_in = %s",
	                   sql_text(run->arena, part->part.batch_part->path));
}

recloser_status run_write_disappeared(struct run *run, recloser_error *error)
{
	if (run->disappeared == 0 && !run->disappeared_path)
		return RECLOSER_OK;
	const char *staged = arena_printf(run->arena, "%s/disappeared.pq", staging_directory(run->staging));
	static const char *const longs[] = {"row", NULL};
	const struct sorted_copy copy = {.table = "disappeared", .hidden = "_rc_in, _rc_series", .order = "1, 2", .longs = longs, .file = staged};
	RC_TRY(engine_copy_sorted(run->engine, run->arena, "write the list of disappeared rows", &copy, error));
	run->disappeared_path = arena_printf(run->arena, "disappeared/%s.pq", run->id);
	return control_adopt(run->dataset, run->arena, staged, run->disappeared_path, error);
}
