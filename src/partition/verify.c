/* SPDX-License-Identifier: Apache-2.0
 * Verification reads what landed, never the batch in memory (design invariant I8). The same pass serves the staged file
 * before it goes live and the `verify` command a year later. */
#include <inttypes.h>
#include <string.h>

#include "base/hive.h"
#include "base/json.h"
#include "partition/part.h"

struct reading {
	struct arena *arena;
	const struct part_check *check;
	struct strings *faults;
	struct rows described; /* the file's columns */
	const char *source;    /* read_parquet(...) */
};

static void fault(struct reading *reading, const char *format, ...) RC_PRINTF(2, 3);
static void fault(struct reading *reading, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	strings_add(reading->arena, reading->faults, arena_vprintf(reading->arena, format, args));
	va_end(args);
}

static const char *type_in_file(const struct reading *reading, const char *column)
{
	for (size_t i = 0; i < reading->described.row_count; i++)
		if (strcmp(rows_at(&reading->described, i, 0), column) == 0)
			return rows_at(&reading->described, i, 1);
	return NULL;
}

static void check_schema(struct reading *reading)
{
	const struct part_check *check = reading->check;
	for (size_t i = 0; i < check->column_count; i++) {
		const struct batch_column *column = &check->columns[i];
		const char *type = type_in_file(reading, column->name);
		if (!type && !column->partition)
			fault(reading, "column %s is missing", column->name);
		else if (type && strcmp(type, column->type) != 0)
			fault(reading, "column %s is %s instead of %s", column->name, type, column->type);
	}
	for (size_t i = 0; check->columns && i < reading->described.row_count; i++) {
		const char *name = rows_at(&reading->described, i, 0);
		bool known = check->has_geometry && strcmp(name, "bbox") == 0;
		for (size_t k = 0; k < check->column_count && !known; k++)
			known = strcmp(name, check->columns[k].name) == 0;
		if (!known)
			fault(reading, "column %s is not one of the record's", name);
	}
}

static recloser_status check_footer(struct reading *reading, recloser_error *error)
{
	const struct part_check *check = reading->check;
	struct arena *arena = reading->arena;
	struct rows rows;
	RC_TRY(engine_query(check->engine, arena, "read the footer", arena_printf(arena,
	    "SELECT decode(key), decode(value) FROM parquet_kv_metadata(%s)", sql_text(arena, check->file)), &rows, error));
	const char *geo = NULL, *partition = NULL;
	for (size_t i = 0; i < rows.row_count; i++) {
		if (strcmp(rows_at(&rows, i, 0), "geo") == 0)
			geo = rows_at(&rows, i, 1);
		if (strcmp(rows_at(&rows, i, 0), "recloser:partition") == 0)
			partition = rows_at(&rows, i, 1);
	}
	if (check->has_geometry && !geo)
		fault(reading, "the footer has no `geo` entry");
	if (check->geo && geo && strcmp(geo, check->geo) != 0)
		fault(reading, "the footer's `geo` entry is not the one that was to be written");
	json_t *object = NULL;
	recloser_error ignored = {0};
	if (!partition || json_parse(arena, partition, strlen(partition), "recloser:partition", &object, &ignored) != RECLOSER_OK) {
		fault(reading, "the footer does not say which partition the file belongs to");
		return RECLOSER_OK;
	}
	const char **values = partition_values(arena, &check->spec->partition, check->path);
	for (size_t i = 0; values && i < check->spec->partition.count; i++) {
		const char *said = json_get_text(object, check->spec->partition.at[i]);
		if (!said || strcmp(said, values[i]) != 0)
			fault(reading, "the footer says %s=%s, the path %s", check->spec->partition.at[i], said ? said : "(nothing)", values[i]);
	}
	return RECLOSER_OK;
}

/* Counts of rows whose in-file partition columns say something else than the path: one more column each of the content pass. */
static const char *partition_counts(struct reading *reading, struct strings *names)
{
	const struct part_check *check = reading->check;
	struct arena *arena = reading->arena;
	struct text out = text_on(arena);
	const char **values = partition_values(arena, &check->spec->partition, check->path);
	if (!values)
		fault(reading, "the path does not name the partition columns %s", strings_join(arena, &check->spec->partition, ", "));
	for (size_t i = 0; values && i < check->spec->partition.count; i++) {
		const char *name = check->spec->partition.at[i];
		if (!type_in_file(reading, name))
			continue; /* in the path only */
		text_addf(&out, ", count(*) FILTER (WHERE CAST(%s AS VARCHAR) IS DISTINCT FROM %s)", sql_name(arena, name), sql_text(arena, values[i]));
		strings_add(arena, names, arena_printf(arena, "%s than %s", name, values[i]));
	}
	return out.at;
}

static struct content_schema schema_of(struct reading *reading)
{
	const struct part_check *check = reading->check;
	struct content_schema schema = {.crs_id = check->crs_id ? check->crs_id : ""};
	schema.columns = arena_array(reading->arena, reading->described.row_count + 1, sizeof *schema.columns);
	for (size_t i = 0; i < reading->described.row_count; i++) {
		const char *name = rows_at(&reading->described, i, 0);
		if (check->has_geometry && strcmp(name, "bbox") == 0)
			continue; /* derived */
		schema.columns[schema.count++] = (struct content_column){
			.name = name, .type = rows_at(&reading->described, i, 1), .in_fingerprint = !strings_has(&check->spec->partition, name),
			.is_key = strcmp(name, check->spec->key_column) == 0,
			.is_geometry = check->has_geometry && strcmp(name, check->spec->geometry.column) == 0};
	}
	return schema;
}

static recloser_status check_content(struct reading *reading, struct content *content, recloser_error *error)
{
	const struct part_check *check = reading->check;
	struct arena *arena = reading->arena;
	struct content_schema schema = schema_of(reading);
	struct rows rows;
	struct content found;
	char digest[SHA256_HEX];
	struct text names = text_on(arena);
	for (size_t i = 0; i < schema.count; i++)
		text_addf(&names, "%s\t%s\n", schema.columns[i].name, schema.columns[i].type);
	text_addf(&names, "%s", schema.crs_id);
	sha256_of(names.at, names.length, digest);
	const char *function = arena_printf(arena, "rc_content_%.16s", digest); /* one a schema, however many files have it */
	RC_TRY(content_register(check->engine, arena, function, &schema, error));
	struct strings strayed = {0};
	const char *counts = partition_counts(reading, &strayed);
	RC_TRY(engine_query(check->engine, arena, "read the file back", arena_printf(arena, "SELECT %s%s FROM %s",
	    content_call(arena, function, &schema), counts, reading->source), &rows, error));
	for (size_t i = 0; i < strayed.count; i++)
		if (rows_int(&rows, 0, i + 1))
			fault(reading, "%" PRId64 " rows have another %s", rows_int(&rows, 0, i + 1), strayed.at[i]);
	RC_TRY(content_read(arena, &schema, rows_at(&rows, 0, 0), &found, error));
	if (check->rows >= 0 && found.rows != (uint64_t)check->rows)
		fault(reading, "%" PRIu64 " rows instead of %" PRId64, found.rows, check->rows);
	if (!type_in_file(reading, check->spec->key_column))
		fault(reading, "the key column %s is missing", check->spec->key_column);
	if (found.key_null)
		fault(reading, "%" PRIu64 " rows have no key", found.key_null);
	if (found.duplicate_keys)
		fault(reading, "%" PRIu64 " keys occur more than once", found.duplicate_keys);
	if (check->has_geometry && check->spec->geometry.missing != GEOMETRY_ALLOW && found.geometry_null)
		fault(reading, "%" PRIu64 " rows have no geometry", found.geometry_null);
	if (found.geometry_faults)
		fault(reading, "%" PRIu64 " geometries are not sound: %s", found.geometry_faults, wkb_fault_text(found.first_fault));
	if (check->fingerprint && strcmp(check->fingerprint, found.fingerprint) != 0)
		fault(reading, "the content fingerprint is %s instead of %s", found.fingerprint, check->fingerprint);
	if (content)
		*content = found;
	return RECLOSER_OK;
}

static recloser_status check_order(struct reading *reading, recloser_error *error)
{
	const struct part_check *check = reading->check;
	const struct spec *spec = check->spec;
	struct arena *arena = reading->arena;
	struct text fields = text_on(arena);
	if (!check->order || spec->order != ORDER_IDENTITY)
		return RECLOSER_OK;
	for (size_t i = 0; i < spec->identity_count; i++)
		if (!(spec->identity[i].column && strings_has(&spec->partition, spec->identity[i].column)))
			text_addf(&fields, "%s%s", fields.length ? ", " : "", spec->identity[i].column
			          ? sql_name(arena, spec->identity[i].column) : arena_printf(arena, "(%s)", spec->identity[i].sql));
	text_addf(&fields, "%s%s", fields.length ? ", " : "", sql_name(arena, spec->key_column));
	struct rows rows;
	RC_TRY(engine_query(check->engine, arena, "look at the order", arena_printf(arena,
	    "SELECT count(*) FROM (SELECT row(%s) AS this, lag(row(%s)) OVER (ORDER BY file_row_number) AS before"
	    " FROM read_parquet(%s, hive_partitioning=false, file_row_number=true)) WHERE before >= this",
	    fields.at, fields.at, sql_text(arena, check->file)), &rows, error));
	if (rows_int(&rows, 0, 0))
		fault(reading, "%s rows are out of the order of the identity", rows_at(&rows, 0, 0));
	return RECLOSER_OK;
}

static recloser_status read_all(struct reading *reading, struct content *content, uint64_t *row_groups, recloser_error *error)
{
	const struct part_check *check = reading->check;
	struct arena *arena = reading->arena;
	struct rows rows;
	RC_TRY(engine_describe(check->engine, arena, arena_printf(arena, "SELECT * FROM %s", reading->source), &reading->described, error));
	RC_TRY(engine_query(check->engine, arena, "read the footer", arena_printf(arena,
	    "SELECT num_row_groups FROM parquet_file_metadata(%s)", sql_text(arena, check->file)), &rows, error));
	if (row_groups)
		*row_groups = (uint64_t)rows_int(&rows, 0, 0);
	check_schema(reading);
	RC_TRY(check_footer(reading, error));
	RC_TRY(check_content(reading, content, error));
	return check_order(reading, error);
}

recloser_status part_verify(struct arena *arena, const struct part_check *check, struct strings *faults, struct content *content,
                            uint64_t *row_groups, recloser_error *error)
{
	struct reading reading = {.arena = arena, .check = check, .faults = faults};
	reading.source = arena_printf(arena, "read_parquet(%s, hive_partitioning=false)", sql_text(arena, check->file));
	recloser_error problem = {0};
	recloser_status status = read_all(&reading, content, row_groups, &problem);
	/* A file that the engine can't read is a finding; running out of memory or disk is not. */
	if (status == RECLOSER_IO && strcmp(problem.code, "engine.memory") != 0) {
		fault(&reading, "the file can't be read: %s", problem.what);
		return RECLOSER_OK;
	}
	if (status != RECLOSER_OK && error && error->status == RECLOSER_OK)
		*error = problem;
	return status;
}
