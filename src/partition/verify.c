/* SPDX-License-Identifier: Apache-2.0
 * Verification reads what landed, never the batch in memory (design invariant I8). The same questions serve the staged file
 * before it goes live and the `verify` command a year later. */
#include "partition/verify.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/hive.h"
#include "base/json.h"

static void fault(struct arena *arena, struct strings *faults, const char *format, ...) RC_PRINTF(3, 4);
static void fault(struct arena *arena, struct strings *faults, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	strings_add(arena, faults, arena_vprintf(arena, format, args));
	va_end(args);
}

/* ---- schema and footer ---- */

/* The engine looks at the mark at the end only; other readers refuse a file without the one at its beginning. */
void verify_mark(struct arena *arena, const struct part_check *check, struct strings *faults)
{
	char mark[4] = {0};
	int descriptor = open(check->file, O_RDONLY | O_CLOEXEC);
	bool marked = descriptor >= 0 && pread(descriptor, mark, sizeof mark, 0) == sizeof mark && memcmp(mark, "PAR1", sizeof mark) == 0;
	if (descriptor >= 0)
		close(descriptor);
	if (!marked)
		fault(arena, faults, "it does not begin with PAR1");
}

const char *verify_type(const struct rows *described, const char *column)
{
	for (size_t i = 0; i < described->row_count; i++)
		if (strcmp(rows_at(described, i, 0), column) == 0)
			return rows_at(described, i, 1);
	return NULL;
}

/* The box of each geometry, which we write where the spec wants a covering; a source may have a column `bbox` of its own. */
static bool is_covering(const struct part_check *check, const struct rows *described, size_t column)
{
	return check->has_geometry && strcmp(rows_at(described, column, 0), "bbox") == 0 &&
	       text_starts(rows_at(described, column, 1), "STRUCT(xmin ");
}

void verify_columns(struct arena *arena, const struct part_check *check, const struct rows *described, struct strings *faults)
{
	for (size_t i = 0; i < check->column_count; i++) {
		const struct batch_column *column = &check->columns[i];
		const char *type = verify_type(described, column->name);
		if (!type && !column->partition)
			fault(arena, faults, "column %s is missing", column->name);
		else if (type && strcmp(type, column->type) != 0 && !(column->geometry && text_starts(type, "GEOMETRY")))
			fault(arena, faults, "column %s is %.60s instead of %s", column->name, type, column->type);
	}
	for (size_t i = 0; check->columns && i < described->row_count; i++) {
		const char *name = rows_at(described, i, 0);
		bool known = is_covering(check, described, i);
		for (size_t k = 0; k < check->column_count && !known; k++)
			known = strcmp(name, check->columns[k].name) == 0;
		if (!known)
			fault(arena, faults, "column %s is not one of the record's", name);
	}
	if (!verify_type(described, check->spec->key_column))
		fault(arena, faults, "the key column %s is missing", check->spec->key_column);
}

void verify_footer(struct arena *arena, const struct part_check *check, const char *geo, const char *partition, struct strings *faults)
{
	if (check->has_geometry && !geo)
		fault(arena, faults, "the footer has no `geo` entry");
	if (check->geo && geo && strcmp(geo, check->geo) != 0)
		fault(arena, faults, "the footer's `geo` entry is not the one that was to be written");
	json_t *object = NULL;
	recloser_error ignored = {0};
	if (!partition || json_parse(arena, partition, strlen(partition), "recloser:partition", &object, &ignored) != RECLOSER_OK) {
		fault(arena, faults, "the footer does not say which partition the file belongs to");
		return;
	}
	const char **values = partition_values(arena, &check->spec->partition, check->path);
	if (!values)
		fault(arena, faults, "the path does not name the partition columns %s", strings_join(arena, &check->spec->partition, ", "));
	for (size_t i = 0; values && i < check->spec->partition.count; i++) {
		const char *said = json_get_text(object, check->spec->partition.at[i]);
		if (!said || strcmp(said, values[i]) != 0)
			fault(arena, faults, "the footer says %s=%s, the path %s", check->spec->partition.at[i], said ? said : "(nothing)", values[i]);
	}
}

/* ---- content ---- */

struct content_schema verify_schema(struct arena *arena, const struct part_check *check, const struct rows *described)
{
	struct content_schema schema = {.crs_id = check->crs_id ? check->crs_id : ""};
	schema.columns = arena_array(arena, described->row_count + 1, sizeof *schema.columns);
	for (size_t i = 0; i < described->row_count; i++) {
		const char *name = rows_at(described, i, 0);
		if (is_covering(check, described, i))
			continue; /* made of the geometry */
		schema.columns[schema.count++] = (struct content_column){
			.name = name, .type = rows_at(described, i, 1), .in_fingerprint = !strings_has(&check->spec->partition, name),
			.is_key = strcmp(name, check->spec->key_column) == 0,
			.is_geometry = check->has_geometry && strcmp(name, check->spec->geometry.column) == 0};
	}
	return schema;
}

recloser_status verify_function(struct arena *arena, const struct part_check *check, const struct content_schema *schema,
                                const char **name, recloser_error *error)
{
	struct text all = text_on(arena);
	char digest[SHA256_HEX];
	for (size_t i = 0; i < schema->count; i++)
		text_addf(&all, "%s\t%s\t%d%d%d\n", schema->columns[i].name, schema->columns[i].type, schema->columns[i].in_fingerprint,
		          schema->columns[i].is_key, schema->columns[i].is_geometry);
	text_add(&all, schema->crs_id);
	sha256_of(all.at, all.length, digest);
	*name = arena_printf(arena, "rc_content_%.32s", digest);
	return content_register(check->engine, arena, *name, schema, error);
}

recloser_status verify_content(struct arena *arena, const struct part_check *check, const struct content_schema *schema,
                               const char *returned, struct part_verdict *verdict, recloser_error *error)
{
	struct content *found = &verdict->content;
	struct strings *faults = &verdict->faults;
	RC_TRY(content_read(arena, schema, returned, found, error));
	if (check->rows >= 0 && found->rows != (uint64_t)check->rows)
		fault(arena, faults, "%" PRIu64 " rows instead of %" PRId64, found->rows, check->rows);
	if (found->key_null)
		fault(arena, faults, "%" PRIu64 " rows have no key", found->key_null);
	if (found->duplicate_keys)
		fault(arena, faults, "%" PRIu64 " keys occur more than once", found->duplicate_keys);
	if (check->has_geometry && check->spec->geometry.missing != GEOMETRY_ALLOW && found->geometry_null)
		fault(arena, faults, "%" PRIu64 " rows have no geometry", found->geometry_null);
	if (found->geometry_faults)
		fault(arena, faults, "%" PRIu64 " geometries are not sound: %s", found->geometry_faults, wkb_fault_text(found->first_fault));
	if (check->has_geometry && found->geometry.types && !found->geometry.standard)
		fault(arena, faults, "some geometries are not in the form that is stored (little-endian ISO WKB)");
	if (check->fingerprint && strcmp(check->fingerprint, found->fingerprint) != 0)
		fault(arena, faults, "the content fingerprint is %s instead of %s", found->fingerprint, check->fingerprint);
	return RECLOSER_OK;
}

/* ---- one file ---- */

struct reading {
	struct arena *arena;
	const struct part_check *check;
	struct part_verdict *verdict;
	struct rows described; /* the file's columns */
	const char *source;    /* read_parquet(...) */
};

static recloser_status read_footer(struct reading *reading, recloser_error *error)
{
	const struct part_check *check = reading->check;
	struct arena *arena = reading->arena;
	const char *file = sql_text(arena, check->file), *geo = NULL, *partition = NULL;
	struct rows rows;
	RC_TRY(engine_query(check->engine, arena, "read the footer", arena_printf(arena,
	    "SELECT num_row_groups FROM parquet_file_metadata(%s)", file), &rows, error));
	reading->verdict->row_groups = (uint64_t)rows_int(&rows, 0, 0);
	RC_TRY(engine_query(check->engine, arena, "read the footer", arena_printf(arena,
	    "SELECT decode(key), decode(value) FROM parquet_kv_metadata(%s)", file), &rows, error));
	for (size_t i = 0; i < rows.row_count; i++) {
		if (strcmp(rows_at(&rows, i, 0), "geo") == 0)
			geo = rows_at(&rows, i, 1);
		if (strcmp(rows_at(&rows, i, 0), "recloser:partition") == 0)
			partition = rows_at(&rows, i, 1);
	}
	verify_footer(arena, check, geo, partition, &reading->verdict->faults);
	return RECLOSER_OK;
}

/* Rows whose in-file partition columns say something else than the path: one more column each of the content pass. */
static const char *stray_counts(struct reading *reading, struct strings *names)
{
	const struct part_check *check = reading->check;
	struct arena *arena = reading->arena;
	struct text out = text_on(arena);
	const char **values = partition_values(arena, &check->spec->partition, check->path);
	for (size_t i = 0; values && i < check->spec->partition.count; i++) {
		const char *name = check->spec->partition.at[i];
		if (!verify_type(&reading->described, name))
			continue; /* in the path only */
		text_addf(&out, ", count(*) FILTER (WHERE CAST(%s AS VARCHAR) IS DISTINCT FROM %s)", sql_name(arena, name), sql_text(arena, values[i]));
		strings_add(arena, names, arena_printf(arena, "%s than %s", name, values[i]));
	}
	return out.at;
}

static recloser_status read_content(struct reading *reading, recloser_error *error)
{
	const struct part_check *check = reading->check;
	struct arena *arena = reading->arena;
	struct content_schema schema = verify_schema(arena, check, &reading->described);
	struct strings strayed = {0};
	const char *function;
	struct rows rows;
	RC_TRY(verify_function(arena, check, &schema, &function, error));
	const char *counts = stray_counts(reading, &strayed);
	RC_TRY(engine_query(check->engine, arena, "read the file back", arena_printf(arena, "SELECT %s%s FROM %s",
	    content_call(arena, function, &schema), counts, reading->source), &rows, error));
	for (size_t i = 0; i < strayed.count; i++)
		if (rows_int(&rows, 0, i + 1))
			fault(arena, &reading->verdict->faults, "%" PRId64 " rows have another %s", rows_int(&rows, 0, i + 1), strayed.at[i]);
	return verify_content(arena, check, &schema, rows_at(&rows, 0, 0), reading->verdict, error);
}

/* The fields that rows are sorted by, or NULL when the file can't tell: an expression may rest on what is not stored, such as the
 * row's number in its source. */
static const char *order_fields(struct reading *reading)
{
	const struct part_check *check = reading->check;
	const struct spec *spec = check->spec;
	struct arena *arena = reading->arena;
	struct text fields = text_on(arena);
	struct strings stored = {0};
	for (size_t i = 0; i < reading->described.row_count; i++)
		strings_add(arena, &stored, rows_at(&reading->described, i, 0));
	for (size_t i = 0; i < spec->identity_count; i++) {
		const struct identity *identity = &spec->identity[i];
		recloser_error unknown = {0};
		if (identity->column && strings_has(&spec->partition, identity->column))
			continue;
		if (identity->sql && engine_check_expression(check->engine, arena, identity->sql, &stored, &unknown) != RECLOSER_OK)
			return NULL;
		text_addf(&fields, "%s, ", identity->column ? sql_name(arena, identity->column) : arena_printf(arena, "(%s)", identity->sql));
	}
	text_add(&fields, sql_name(arena, spec->key_column));
	return fields.at;
}

static recloser_status read_order(struct reading *reading, recloser_error *error)
{
	const struct part_check *check = reading->check;
	struct arena *arena = reading->arena;
	const char *fields = check->order && check->spec->order == ORDER_IDENTITY ? order_fields(reading) : NULL;
	if (!fields)
		return RECLOSER_OK;
	struct rows rows;
	/* Where a column of the dataset is called as the engine calls a row's number, rows are taken as they come: a window without an order
	 * is streamed, by one thread and from the file's begin. */
	bool taken = false;
	for (size_t i = 0; i < reading->described.row_count; i++)
		taken |= text_equal_nocase(rows_at(&reading->described, i, 0), "file_row_number");
	RC_TRY(engine_query(check->engine, arena, "look at the order", arena_printf(arena,
	    "SELECT count(*) FROM (SELECT row(%s) AS this, lag(row(%s)) OVER (%s) AS before FROM read_parquet(%s, hive_partitioning=false%s))"
	    " WHERE before >= this",
	    fields, fields, taken ? "" : "ORDER BY file_row_number", sql_text(arena, check->file), taken ? "" : ", file_row_number=true"), &rows,
	    error));
	if (rows_int(&rows, 0, 0))
		fault(arena, &reading->verdict->faults, "%s rows are out of the order of the identity", rows_at(&rows, 0, 0));
	return RECLOSER_OK;
}

static recloser_status read_all(struct reading *reading, recloser_error *error)
{
	const struct part_check *check = reading->check;
	RC_TRY(engine_describe(check->engine, reading->arena, arena_printf(reading->arena, "SELECT * FROM %s", reading->source),
	                       &reading->described, error));
	verify_mark(reading->arena, check, &reading->verdict->faults);
	verify_columns(reading->arena, check, &reading->described, &reading->verdict->faults);
	RC_TRY(read_footer(reading, error));
	RC_TRY(read_content(reading, error));
	return read_order(reading, error);
}

recloser_status part_verify(struct arena *arena, const struct part_check *check, struct part_verdict *verdict, recloser_error *error)
{
	struct reading reading = {.arena = arena, .check = check, .verdict = verdict};
	reading.source = arena_printf(arena, "read_parquet(%s, hive_partitioning=false)", sql_text(arena, check->file));
	recloser_error problem = {0};
	recloser_status status = read_all(&reading, &problem);
	/* A file that the engine can't read is a finding; running out of memory or disk is not. */
	if (status == RECLOSER_IO && strcmp(problem.code, "engine.memory") != 0) {
		fault(arena, &verdict->faults, "the file can't be read: %s", problem.what);
		return RECLOSER_OK;
	}
	if (status != RECLOSER_OK && error && error->status == RECLOSER_OK)
		*error = problem;
	return status;
}

recloser_status part_describe_adopted(struct arena *arena, struct engine *engine, const char *file, json_t *record, recloser_error *error)
{
	struct rows rows;
	if (!file)
		return RECLOSER_OK;
	RC_TRY(engine_query(engine, arena, "count the rows of a file that is adopted", arena_printf(arena,
	    "SELECT CAST(sum(num_rows) AS BIGINT) FROM parquet_file_metadata(%s)", sql_text(arena, file)), &rows, error));
	json_t *described = json_object_get(record, "file");
	if (!described) {
		described = json_new_object(arena);
		json_put(arena, record, "file", described);
	}
	json_put_int(arena, described, "rows", rows_int(&rows, 0, 0));
	return RECLOSER_OK;
}
