/* SPDX-License-Identifier: Apache-2.0
 * The keys of a partition against its reference: the version it replaces, or, where partitions follow each other in a series
 * (`series: month`) and this one is new, the partition before it. Counted: gone, new and revised keys, and how often each
 * column changed. The rows that are gone are listed with their last known values. */
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "run/run.h"

enum { COLUMNS_COUNTED = 400 };

static const json_t *schema_of(const struct reference *reference)
{
	return json_object_get(reference->record->json, "schema");
}

bool reference_has(const struct reference *reference, const char *column)
{
	const json_t *schema = schema_of(reference);
	for (size_t i = 0; i < json_array_size(schema); i++)
		if (strcmp(json_get_text(json_array_get(schema, i), "name"), column) == 0)
			return true;
	return false;
}

struct strings run_compared_columns(struct run *run, const struct reference *reference)
{
	struct strings columns = {0};
	for (size_t i = 0; i < run->batch->column_count; i++) {
		const struct batch_column *column = &run->batch->columns[i];
		if (!column->partition && !column->key && reference_has(reference, column->name))
			strings_add(run->arena, &columns, column->name);
	}
	return columns;
}

/* A geometry of Parquet's own type is brought into the form that the batch has. */
const char *run_reference_table(struct run *run, const struct reference *reference)
{
	struct arena *arena = run->arena;
	const char *table = arena_printf(arena, "read_parquet(%s, hive_partitioning=false)", sql_text(arena, reference->file));
	const char *geo = json_get_text(reference->record->json, "geo"), *name = sql_name(arena, run->spec->geometry.column);
	if (!geo || !text_starts(geo, "{\"version\":\"2."))
		return table;
	return arena_printf(arena, "(SELECT * REPLACE (CAST(st_asbinary(%s) AS BLOB) AS %s) FROM %s)", name, name, table);
}

static const char *differs(struct arena *arena, const char *column)
{
	const char *name = sql_name(arena, column);
	return arena_printf(arena, "l.%s IS DISTINCT FROM b.%s", name, name);
}

recloser_status run_count_keys(struct run *run, struct run_part *part, recloser_error *error)
{
	struct arena *arena = run->arena;
	const char *key = sql_name(arena, run->spec->key_column);
	const char *both = arena_printf(arena, "b.%s IS NOT NULL AND l.%s IS NOT NULL", key, key);
	struct strings columns = run_compared_columns(run, part->reference);
	struct text any = text_on(arena), each = text_on(arena);
	for (size_t i = 0; i < columns.count; i++) {
		text_addf(&any, "%s%s", i ? " OR " : "", differs(arena, columns.at[i]));
		if (i < COLUMNS_COUNTED)
			text_addf(&each, ", count(*) FILTER (WHERE %s AND %s)", both, differs(arena, columns.at[i]));
	}
	struct rows rows;
	RC_TRY(engine_query(run->engine, arena, "compare with the live version", arena_printf(arena,
	    "SELECT count(*) FILTER (WHERE b.%s IS NULL), count(*) FILTER (WHERE l.%s IS NULL), count(*) FILTER (WHERE %s AND (%s))%s\n"
	    "FROM %s l FULL JOIN (SELECT * FROM batch WHERE %s) b ON l.%s = b.%s",
	    key, key, both, columns.count ? any.at : "FALSE", each.at, run_reference_table(run, part->reference),
	    part->part.batch_part->where, key, key), &rows, error));
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
	const json_t *schema = schema_of(reference);
	struct text out = text_on(run->arena);
	text_add(&out, "json_object(");
	bool first = true;
	for (size_t i = 0; i < json_array_size(schema); i++) {
		const json_t *column = json_array_get(schema, i);
		const char *name = json_get_text(column, "name");
		if (strcmp(json_get_text(column, "type"), "BLOB") == 0 || strings_has(&run->spec->partition, name))
			continue;
		text_addf(&out, "%s%s, l.%s", first ? "" : ", ", sql_text(run->arena, name), sql_name(run->arena, name));
		first = false;
	}
	text_add(&out, ")");
	return out.at;
}

/* The value of an identity field of a gone row: from the file, or from the path where it is a partition column. */
static const char *identity_value(struct run *run, const struct run_part *part, const char *column)
{
	const struct strings *partition = &run->spec->partition;
	for (size_t p = 0; p < partition->count; p++)
		if (strcmp(partition->at[p], column) == 0)
			return sql_text(run->arena, part->reference->values ? part->reference->values[p] : NULL);
	return arena_printf(run->arena, "CAST(l.%s AS VARCHAR)", sql_name(run->arena, column));
}

recloser_status run_list_gone(struct run *run, struct run_part *part, recloser_error *error)
{
	struct arena *arena = run->arena;
	const struct spec *spec = run->spec;
	struct text fields = text_on(arena), names = text_on(arena);
	for (size_t i = 0; i < spec->identity_count; i++) {
		const char *column = spec->identity[i].column;
		if (!column || strcmp(column, spec->geometry.column) == 0)
			continue;
		text_addf(&fields, ", %s", identity_value(run, part, column));
		text_addf(&names, ", %s VARCHAR", sql_name(arena, column));
	}
	const char *key = sql_name(arena, spec->key_column);
	RC_TRY(engine_runf(run->engine, "make the list of disappeared rows", error,
	    "CREATE TABLE IF NOT EXISTS disappeared (\"partition\" VARCHAR, %s VARCHAR%s, last_seq BIGINT, \"row\" VARCHAR, _rc_in VARCHAR)", key,
	    names.at));
	return engine_runf(run->engine, "list disappeared rows", error,
	    "INSERT INTO disappeared SELECT %s, l.%s%s, %" PRId64 ", CAST(%s AS VARCHAR), %s FROM %s l"
	    " ANTI JOIN (SELECT %s FROM batch WHERE %s) b ON l.%s = b.%s ORDER BY 2",
	    sql_text(arena, part->reference->path), key, fields.at, part->reference->record->seq, last_row_json(run, part->reference),
	    sql_text(arena, part->part.batch_part->path), run_reference_table(run, part->reference), key, part->part.batch_part->where, key, key);
}

recloser_status run_write_disappeared(struct run *run, recloser_error *error)
{
	if (run->disappeared == 0)
		return RECLOSER_OK;
	const char *staged = arena_printf(run->arena, "%s/disappeared.pq", staging_directory(run->staging));
	RC_TRY(engine_runf(run->engine, "write the list of disappeared rows", error,
	    "COPY (SELECT * EXCLUDE (_rc_in) FROM disappeared ORDER BY 1, 2) TO %s (FORMAT parquet, COMPRESSION zstd)", sql_text(run->arena, staged)));
	run->disappeared_path = arena_printf(run->arena, "disappeared/%s.pq", run->id);
	return control_adopt(run->dataset, run->arena, staged, run->disappeared_path, error);
}

/* `disappeared: carry`: rows that the source no longer has are kept from the live version, marked. They are put into the batch
 * before its content is looked at, so that everything after treats them as rows of this version. */
recloser_status run_carry(struct run *run, const struct batch_part *part, const struct reference *reference, uint64_t *carried,
                          recloser_error *error)
{
	struct arena *arena = run->arena;
	struct text columns = text_on(arena), values = text_on(arena);
	const char *key = sql_name(arena, run->spec->key_column);
	for (size_t i = 0; i < run->batch->column_count; i++) {
		const struct batch_column *column = &run->batch->columns[i];
		const char *name = sql_name(arena, column->name), *value = NULL;
		for (size_t p = 0; p < run->spec->partition.count; p++)
			if (strcmp(run->spec->partition.at[p], column->name) == 0)
				value = arena_printf(arena, "CAST(%s AS %s)", sql_text(arena, part->values[p]), column->type);
		if (strcmp(column->name, CARRIED_COLUMN) == 0)
			value = "TRUE";
		else if (!value && reference_has(reference, column->name))
			value = arena_printf(arena, "l.%s", name);
		if (!value)
			continue;
		text_addf(&columns, ", %s", name);
		text_addf(&values, ", %s", value);
	}
	for (size_t i = 0; i < run->spec->identity_count; i++)
		if (run->spec->identity[i].sql) {
			text_addf(&columns, ", _rc_i%zu", i);
			text_addf(&values, ", (%s)", run->spec->identity[i].sql);
		}
	if (part->number >= 0) {
		text_add(&columns, ", _rc_part");
		text_addf(&values, ", %" PRId64, part->number);
	}
	struct rows rows;
	RC_TRY(engine_query(run->engine, arena, "carry rows over", arena_printf(arena,
	    "INSERT INTO batch (_rc_src, _rc_row%s) SELECT -1, 0%s FROM %s l ANTI JOIN (SELECT %s FROM batch WHERE %s) b ON l.%s = b.%s",
	    columns.at, values.at, run_reference_table(run, reference), key, part->where, key, key), &rows, error));
	*carried = (uint64_t)rows_int(&rows, 0, 0);
	return RECLOSER_OK;
}
