/* SPDX-License-Identifier: Apache-2.0
 * Step 5, the schema: readers open a tree as one table, with one type a column. So a partition is held against its live version, and
 * one that is new, or brings a new column, against the versions of other partitions that were recorded last: one of each publisher.
 * They have been held against those before them, so a few records tell for the dataset, whatever its size. */
#include <inttypes.h>
#include <string.h>

#include "base/hive.h"
#include "base/json.h"
#include "run/run.h"

/* The version of another partition. All partitions of a load have the same columns, so each is asked once. */
struct neighbour {
	struct record *record;
	const json_t *schema;
	bool from_file;        /* the schema is the file's, not the record's: it tells types, but has columns that we add */
	bool types_agree, agrees;
};

/* What a partition is held against. */
struct standard {
	const char *partition;
	int64_t seq;
	const json_t *schema;
	const char *file;      /* asked whether a column has values at all, where that matters; NULL: never */
	bool own;              /* the live version of the same partition */
};

static const char *shown(const char *path)
{
	return *path ? path : "the one partition";
}

static const char *path_of(const struct run_part *part)
{
	return part->part.batch_part->path;
}

static const char *batch_type(const struct batch *batch, const char *name)
{
	for (size_t i = 0; i < batch->column_count; i++)
		if (strcmp(batch->columns[i].name, name) == 0)
			return batch->columns[i].type;
	return NULL;
}

static bool has_column(const json_t *schema, const char *name)
{
	for (size_t i = 0; i < json_array_size(schema); i++)
		if (strcmp(json_get_text(json_array_get(schema, i), "name"), name) == 0)
			return true;
	return false;
}

static bool widened(const char *from, const char *to)
{
	static const char *const pairs[][2] = {{"INTEGER", "BIGINT"}, {"SMALLINT", "BIGINT"}, {"SMALLINT", "INTEGER"}, {"FLOAT", "DOUBLE"}};
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		if (strcmp(from, pairs[i][0]) == 0 && strcmp(to, pairs[i][1]) == 0)
			return true;
	return false;
}

/* The spec's word for a type of the engine, or NULL. */
static const char *type_word(struct arena *arena, const char *type)
{
	static const char *const pairs[][2] = {{"VARCHAR", "text"}, {"BIGINT", "integer"}, {"DOUBLE", "double"}, {"BOOLEAN", "boolean"},
	    {"DATE", "date"}, {"TIMESTAMP", "timestamp"}, {"TIMESTAMP WITH TIME ZONE", "timestamptz"}, {"TIME", "time"}, {"UUID", "uuid"},
	    {"JSON", "json"}};
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		if (strcmp(type, pairs[i][0]) == 0)
			return pairs[i][1];
	return text_starts(type, "DECIMAL") ? arena_printf(arena, "\"decimal%s\"", type + strlen("DECIMAL")) : NULL;
}

json_t *run_columns_of(struct run *run, const char *file)
{
	struct arena *arena = run->arena;
	struct rows columns = {0};
	recloser_error unreadable = {0};
	json_t *schema = json_new_array(arena);
	if (engine_describe(run->engine, arena, arena_printf(arena, "SELECT * FROM read_parquet(%s, hive_partitioning=false)", sql_text(arena, file)),
	                    &columns, &unreadable) != RECLOSER_OK)
		return schema;
	for (size_t i = 0; i < columns.row_count; i++) {
		json_t *column = json_new_object(arena);
		json_put_text(arena, column, "name", rows_at(&columns, i, 0));
		json_put_text(arena, column, "type", rows_at(&columns, i, 1));
		json_add(arena, schema, column);
	}
	return schema;
}

/* ---- what is said ---- */

static const char *against(const struct run *run, const struct standard *to)
{
	return to->own ? "the live version" : arena_printf(run->arena, "the live version of %s", shown(to->partition));
}

static recloser_status say_where(const struct run_part *part, const struct standard *to, recloser_error *error)
{
	if (to->own)
		return error_where(error, "%s, seq %" PRId64, shown(to->partition), to->seq);
	return error_where(error, "%s, compared with seq %" PRId64 " of %s", shown(path_of(part)), to->seq, shown(to->partition));
}

static recloser_status retyped(const struct run *run, const struct run_part *part, const struct standard *to, const json_t *column,
                               recloser_error *error)
{
	const char *name = json_get_text(column, "name"), *live = json_get_text(column, "type"), *now = batch_type(run->batch, name);
	const char *word = type_word(run->arena, live);
	const char *keep = word ? arena_printf(run->arena, "to keep it, write columns: {%s: {type: %s}}; ", name, word) : "";
	error_set(error, RECLOSER_REFUSED, "schema.retyped", "column %s is %s in %s and %s in this load", name, live, against(run, to), now);
	say_where(part, to, error);
	return error_hint(error, "a tree has one type a column, or readers fail: %sto change it, give the dataset another name with `dataset:` "
	                  "and load the files again, or give the new column another name", keep);
}

static recloser_status missing(const struct run *run, const struct run_part *part, const struct standard *to, const char *name, recloser_error *error)
{
	error_set(error, RECLOSER_REFUSED, "schema.missing", "column %s is in %s but not in this load", name, against(run, to));
	say_where(part, to, error);
	return error_hint(error, "if the publisher renamed it, name both: columns: {%s: {from: [%s, NEW NAME]}}; "
	                  "if it may be gone: %s: {optional: true}", name, name, name);
}

/* ---- one standard ---- */

static const json_t *retyped_column(const struct run *run, const json_t *schema)
{
	for (size_t i = 0; i < json_array_size(schema); i++) {
		const json_t *column = json_array_get(schema, i);
		const char *live = json_get_text(column, "type"), *now = batch_type(run->batch, json_get_text(column, "name"));
		if (now && strcmp(now, live) != 0 && !widened(live, now))
			return column;
	}
	return NULL;
}

static recloser_status check_types(const struct run *run, const struct run_part *part, const struct standard *to, recloser_error *error)
{
	const json_t *column = retyped_column(run, to->schema);
	return column ? retyped(run, part, to, column, error) : RECLOSER_OK;
}

/* A run that reads several publishers gives the columns of each to all: one without a value here is another publisher's, who
 * has no part in this load. */
static recloser_status is_anothers(const struct run *run, const struct standard *to, const char *name, bool *out, recloser_error *error)
{
	struct rows rows;
	*out = false;
	if (!to->file || run->spec->source_count < 2)
		return RECLOSER_OK;
	RC_TRY(engine_query(run->engine, run->arena, "look for values of a column", arena_printf(run->arena,
	    "SELECT count(%s) FROM read_parquet(%s, hive_partitioning=false)", sql_name(run->arena, name), sql_text(run->arena, to->file)), &rows, error));
	*out = rows_int(&rows, 0, 0) == 0;
	return RECLOSER_OK;
}

static recloser_status check_missing(const struct run *run, const struct run_part *part, const struct standard *to, recloser_error *error)
{
	for (size_t i = 0; i < json_array_size(to->schema); i++) {
		const json_t *column = json_array_get(to->schema, i);
		const char *name = json_get_text(column, "name");
		bool anothers;
		if (batch_type(run->batch, name))
			continue;
		if (json_is_true(json_object_get(column, "mark")) && run->spec->disappeared.policy != POLICY_CARRY)
			continue; /* rows were carried over once and are not any more */
		RC_TRY(is_anothers(run, to, name, &anothers, error));
		if (!anothers)
			return missing(run, part, to, name, error);
	}
	return RECLOSER_OK;
}

static recloser_status check_new(struct run *run, const struct run_part *part, const struct standard *to, bool *any, recloser_error *error)
{
	for (size_t i = 0; i < run->batch->column_count; i++) {
		const char *name = run->batch->columns[i].name;
		if (has_column(to->schema, name))
			continue;
		*any = true;
		if (run->spec->schema == SCHEMA_FREEZE) {
			error_set(error, RECLOSER_REFUSED, "schema.new", "column %s is new, and the spec freezes the schema", name);
			say_where(part, to, error);
			return error_hint(error, "to leave it out, write columns: {%s: {keep: false}}; to let it in: schema: grow", name);
		}
		run_warn(run, arena_printf(run->arena, "column %s is new", name));
	}
	return RECLOSER_OK;
}

static recloser_status check_all(struct run *run, const struct run_part *part, const struct standard *to, bool *new_columns, recloser_error *error)
{
	RC_TRY(check_types(run, part, to, error));
	RC_TRY(check_missing(run, part, to, error));
	return check_new(run, part, to, new_columns, error);
}

/* ---- other partitions ---- */

static bool partitions_by_publisher(const struct spec *spec)
{
	return spec->source_count > 1 && spec->publisher_column && strings_has(&spec->partition, spec->publisher_column);
}

/* A record that was made again from a plan has no columns; the file tells. In a bucket plans have them. */
static recloser_status take_schema(struct run *run, struct neighbour *neighbour, recloser_error *error)
{
	const char *file;
	neighbour->schema = json_object_get(neighbour->record->json, "schema");
	if (json_array_size(neighbour->schema) || run->dataset->bucket)
		return RECLOSER_OK;
	neighbour->from_file = true;
	RC_TRY(version_file(run->dataset, run->arena, neighbour->record, &file, error));
	neighbour->schema = run_columns_of(run, file);
	return RECLOSER_OK;
}

static recloser_status find_neighbours(struct run *run, recloser_error *error)
{
	const struct spec *spec = run->spec;
	const char *column = partitions_by_publisher(spec) ? spec->publisher_column : NULL;
	size_t most = column ? spec->source_count : 1, count;
	if (run->neighbours_known || !run->dataset->config)
		return RECLOSER_OK;
	run->neighbours_known = true;
	struct record **records = arena_array(run->arena, most, sizeof *records);
	RC_TRY(versions_recent(run->dataset, run->arena, column, most, records, &count, error));
	run->neighbours = arena_array(run->arena, count + 1, sizeof *run->neighbours);
	for (size_t i = 0; i < count; i++) {
		run->neighbours[i].record = records[i];
		RC_TRY(take_schema(run, &run->neighbours[i], error));
	}
	run->neighbour_count = count;
	return RECLOSER_OK;
}

/* In a bucket known.json was believed; before something is said, the store is asked. */
static recloser_status still_live(struct run *run, const struct neighbour *neighbour, bool *out, recloser_error *error)
{
	struct record *record;
	enum live_state live;
	*out = true;
	if (!run->dataset->bucket)
		return RECLOSER_OK;
	RC_TRY(live_newest(run->dataset, run->arena, neighbour->record->partition, &record, &live, error));
	*out = live == LIVE_SOUND && record->seq == neighbour->record->seq;
	return RECLOSER_OK;
}

static struct standard standard_of(const struct neighbour *neighbour)
{
	return (struct standard){.partition = neighbour->record->partition, .seq = neighbour->record->seq, .schema = neighbour->schema};
}

static recloser_status check_neighbours_types(struct run *run, const struct run_part *part, recloser_error *error)
{
	for (size_t i = 0; i < run->neighbour_count; i++) {
		struct neighbour *neighbour = &run->neighbours[i];
		const struct standard to = standard_of(neighbour);
		bool live = true;
		if (!neighbour->types_agree && retyped_column(run, to.schema)) {
			RC_TRY(still_live(run, neighbour, &live, error));
			if (live)
				RC_TRY(check_types(run, part, &to, error));
		}
		neighbour->types_agree = true;
	}
	return RECLOSER_OK;
}

/* The newest of the same publisher: others have other columns by nature. */
static struct neighbour *nearest(const struct run *run, const struct run_part *part)
{
	const struct strings *columns = &run->spec->partition;
	for (size_t i = 0; i < run->neighbour_count; i++) {
		const char **values = partition_values(run->arena, columns, run->neighbours[i].record->partition);
		bool same = values != NULL;
		for (size_t c = 0; c < columns->count && same && partitions_by_publisher(run->spec); c++)
			same = strcmp(columns->at[c], run->spec->publisher_column) != 0 || strcmp(values[c], part->part.batch_part->values[c]) == 0;
		if (same)
			return &run->neighbours[i];
	}
	return NULL;
}

static bool differs(const struct run *run, const json_t *schema)
{
	bool same = true;
	for (size_t i = 0; i < json_array_size(schema) && same; i++)
		same = batch_type(run->batch, json_get_text(json_array_get(schema, i), "name")) != NULL;
	for (size_t i = 0; i < run->batch->column_count && same; i++)
		same = has_column(schema, run->batch->columns[i].name);
	return !same;
}

static recloser_status check_nearest(struct run *run, const struct run_part *part, recloser_error *error)
{
	struct neighbour *neighbour = nearest(run, part);
	bool live = true, new_columns;
	if (!neighbour || neighbour->agrees || neighbour->from_file)
		return RECLOSER_OK;
	struct standard to = standard_of(neighbour);
	if (differs(run, to.schema)) {
		RC_TRY(still_live(run, neighbour, &live, error));
		if (live && run->spec->source_count > 1)
			RC_TRY(version_file(run->dataset, run->arena, neighbour->record, &to.file, error));
		if (live)
			RC_TRY(check_all(run, part, &to, &new_columns, error));
	}
	neighbour->agrees = true;
	return RECLOSER_OK;
}

/* ---- one partition ---- */

/* The live version that this one replaces; `*rest`: there is something that it does not tell. */
static recloser_status check_own(struct run *run, const struct run_part *part, bool *rest, recloser_error *error)
{
	const json_t *schema = json_object_get(part->base->json, "schema");
	const struct standard to = {.partition = path_of(part), .seq = part->base->seq, .schema = schema, .own = true};
	*rest = !json_is_array(schema);
	return *rest ? RECLOSER_OK : check_all(run, part, &to, rest, error);
}

/* The partition before this one in its series. */
static recloser_status check_before(struct run *run, const struct run_part *part, recloser_error *error)
{
	const struct reference *reference = part->reference;
	const struct standard to = {.partition = reference->path, .seq = reference->record->seq, .schema = reference->schema, .file = reference->file};
	bool told = json_array_size(json_object_get(reference->record->json, "schema")) > 0, new_columns;
	return told ? check_all(run, part, &to, &new_columns, error) : check_types(run, part, &to, error);
}

recloser_status run_check_schema(struct run *run, struct run_part *part, recloser_error *error)
{
	bool sound = part->base && part->live == LIVE_SOUND, rest = true;
	if (sound)
		RC_TRY(check_own(run, part, &rest, error));
	else if (part->reference)
		RC_TRY(check_before(run, part, error));
	if (!rest)
		return RECLOSER_OK;
	RC_TRY(find_neighbours(run, error));
	RC_TRY(check_neighbours_types(run, part, error));
	return sound || part->reference ? RECLOSER_OK : check_nearest(run, part, error);
}
