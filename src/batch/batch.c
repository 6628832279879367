/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/batch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hive.h"
#include "batch/lookup.h"

const char *batch_path_sql(struct arena *arena, const struct strings *partition)
{
	struct text out = text_on(arena);
	for (size_t i = 0; i < partition->count; i++)
		text_addf(&out, "%s'%s%s=' || url_encode(CAST(%s AS VARCHAR))", i ? " || " : "", i ? "/" : "",
		          partition_encoded(arena, partition->at[i]), sql_name(arena, partition->at[i]));
	return partition->count ? out.at : "''";
}

const char *batch_order_sql(struct arena *arena, const struct batch *batch)
{
	const struct spec *spec = batch->context->spec;
	struct text out = text_on(arena);
	for (size_t i = 0; i < spec->identity_count; i++) {
		const struct identity *identity = &spec->identity[i];
		if (identity->column && strings_has(&spec->partition, identity->column))
			continue;
		const char *name = identity->column ? sql_name(arena, identity->column) : arena_printf(arena, "_rc_i%zu", i);
		text_addf(&out, "%s%s", out.length ? ", " : "", name);
	}
	/* Rows of one identity have one key, and of those one is left. So the identity is a total order where different values are
	 * never equal in an order: of numbers, 0.0 and -0.0 are. Where all of it is partition columns, a part is one row. */
	if (out.length == 0 || !batch_key_sql(arena, batch, NULL, NULL))
		text_addf(&out, "%s%s", out.length ? ", " : "", sql_name(arena, spec->key_column));
	return out.at;
}

/* ---- uniting the sources' columns ---- */

static int type_width(const char *type)
{
	static const char *const integers[] = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT"};
	for (int i = 0; i < 4; i++)
		if (strcmp(type, integers[i]) == 0)
			return i + 1;
	return strcmp(type, "FLOAT") == 0 ? 11 : strcmp(type, "DOUBLE") == 0 ? 12 : 0;
}

/* The wider of two types of one kind, or NULL when they are different things. */
static const char *wider(const char *a, const char *b)
{
	if (strcmp(a, b) == 0)
		return a;
	int wa = type_width(a), wb = type_width(b);
	if (wa && wb && wa / 10 == wb / 10)
		return wa > wb ? a : b;
	return NULL;
}

static recloser_status unite(struct batch *batch, const struct layout *layout, const struct rows *described, recloser_error *error)
{
	const struct spec *spec = batch->context->spec;
	for (size_t i = 0; i < described->row_count; i++) {
		const char *name = rows_at(described, i, 0), *type = rows_at(described, i, 1);
		if (text_starts(name, "_rc_"))
			continue;
		if (text_starts(type, "ENUM"))
			type = "VARCHAR";
		struct batch_column *known = NULL;
		for (size_t k = 0; k < batch->column_count && !known; k++)
			if (strcmp(batch->columns[k].name, name) == 0)
				known = &batch->columns[k];
		if (!known) {
			batch->columns[batch->column_count++] = (struct batch_column){
				.name = name, .type = type, .partition = strings_has(&spec->partition, name), .key = strcmp(name, spec->key_column) == 0,
				.geometry = layout->geometry != GEOMETRY_NONE && strcmp(name, spec->geometry.column) == 0};
			continue;
		}
		const char *both = wider(known->type, type);
		if (!both) {
			error_set(error, RECLOSER_REFUSED, "batch.types", "column %s is %s in %s but %s in an earlier source of this run", name, type,
			          layout->input->name, known->type);
			return error_hint(error, "declare its type: columns: {%s: {type: text}}", name);
		}
		known->type = both;
	}
	return RECLOSER_OK;
}

/* The geometry goes last, where readers of tables expect it; the order is otherwise that of first appearance. */
static void geometry_last(struct batch *batch)
{
	for (size_t i = 0; i + 1 < batch->column_count; i++)
		if (batch->columns[i].geometry) {
			struct batch_column geometry = batch->columns[i];
			memmove(&batch->columns[i], &batch->columns[i + 1], (batch->column_count - i - 1) * sizeof *batch->columns);
			batch->columns[batch->column_count - 1] = geometry;
			break;
		}
	batch->has_geometry = batch->column_count && batch->columns[batch->column_count - 1].geometry;
}

/* A column's definition. The key is a generated column where it can be: 24 letters a row that are neither held nor spilled. */
static void define(struct text *sql, const struct batch *batch, const struct batch_column *column)
{
	text_addf(sql, ", %s %s", sql_name(batch->arena, column->name), column->type);
	if (column->key && batch->key_sql)
		text_addf(sql, " GENERATED ALWAYS AS (%s) VIRTUAL", batch->key_sql);
	else if (column->mark)
		text_add(sql, " DEFAULT FALSE");
}

static recloser_status create_table(struct batch *batch, const struct strings *helpers, recloser_error *error)
{
	struct text sql = text_on(batch->arena);
	if (batch->context->spec->disappeared.policy != POLICY_CARRY) /* carried rows bring the key that they had */
		batch->key_sql = batch_key_sql(batch->arena, batch, NULL, NULL);
	text_add(&sql, "CREATE TABLE batch (_rc_src INTEGER, _rc_row BIGINT, _rc_fault VARCHAR, _rc_group UBIGINT, _rc_digest UHUGEINT");
	for (size_t i = 0; i < helpers->count; i++)
		text_addf(&sql, ", %s", helpers->at[i]);
	for (size_t i = 0; i < batch->column_count; i++)
		define(&sql, batch, &batch->columns[i]);
	text_add(&sql, "); CREATE TABLE rc_sources (src INTEGER, name VARCHAR, sheet VARCHAR, input VARCHAR);"
	         " CREATE TABLE rc_gone (_rc_src INTEGER, _rc_row BIGINT)");
	return engine_run(batch->context->engine, "make the batch table", sql.at, error);
}

/* ---- what is made of each row as it is read ---- */

struct content_schema batch_content_schema(const struct batch *batch, const char *crs_id)
{
	struct content_schema schema = {.count = batch->column_count, .crs_id = crs_id};
	schema.columns = arena_array(batch->arena, batch->column_count + 1, sizeof *schema.columns);
	for (size_t i = 0; i < batch->column_count; i++) {
		const struct batch_column *column = &batch->columns[i];
		schema.columns[i] = (struct content_column){.name = column->name, .type = column->type, .in_fingerprint = !column->partition,
		                                            .is_geometry = column->geometry};
	}
	return schema;
}

/* A column as it will stand in the table: in its united type, also where this source has it in a narrower one or not at all. */
static const char *stored_value(struct arena *arena, const struct batch_column *column, const struct rows *described)
{
	const char *name = sql_name(arena, column->name);
	for (size_t i = 0; i < described->row_count; i++)
		if (strcmp(rows_at(described, i, 0), column->name) == 0)
			return strcmp(rows_at(described, i, 1), column->type) == 0 ? name : arena_printf(arena, "CAST(%s AS %s)", name, column->type);
	return column->mark ? "FALSE" : arena_printf(arena, "CAST(NULL AS %s)", column->type);
}

/* Two numbers stand for a row while its values are at hand: `_rc_group`, equal where partition and key are, by which keys that
 * occur twice are looked for; and `_rc_digest`, its share of the content fingerprint, which also tells exact doubles. */
static const char *with_digests(const struct batch *batch, const char *select, const struct rows *described)
{
	struct arena *arena = batch->arena;
	struct text group = text_on(arena), values = text_on(arena);
	for (size_t i = 0; i < batch->column_count; i++) {
		const struct batch_column *column = &batch->columns[i];
		const char *value = stored_value(arena, column, described);
		text_addf(&values, "%s%s", i ? ", " : "", value);
		if (column->partition || column->key)
			text_addf(&group, "%s%s", group.length ? ", " : "", value);
	}
	const char *made = batch->key_sql ? arena_printf(arena, " EXCLUDE (%s)", sql_name(arena, batch->context->spec->key_column)) : "";
	return arena_printf(arena, "SELECT *%s, hash(%s) AS _rc_group, rc_row_digest(%s) AS _rc_digest\nFROM (%s)", made, group.at, values.at,
	                    select);
}

recloser_status batch_digest_carried(struct batch *batch, recloser_error *error)
{
	struct content_schema schema = batch_content_schema(batch, NULL);
	return engine_runf(batch->context->engine, "digest rows that were carried over", error, "UPDATE batch SET _rc_digest = %s WHERE _rc_src = -1",
	                   content_call(batch->arena, "rc_row_digest", &schema));
}

static recloser_status fill(struct batch *batch, struct layout *layout, const char *select, recloser_error *error)
{
	struct engine *engine = batch->context->engine;
	struct arena *arena = batch->arena;
	RC_TRY(engine_runf(engine, "note the source", error, "INSERT INTO rc_sources VALUES (%zu, %s, %s, %s)", layout->ordinal,
	                   sql_text(arena, layout->input->name), sql_text(arena, layout->source->facts.sheet),
	                   sql_text(arena, layout->input->path)));
	const char *doing = arena_printf(arena, "read %s", layout->input->name);
	struct rows inserted;
	recloser_status status = engine_query(engine, arena, doing, arena_printf(arena, "INSERT INTO batch BY NAME %s", select), &inserted, error);
	if (status != RECLOSER_OK)
		return source_blame(layout->input, status, error);
	uint64_t rows = (uint64_t)rows_int(&inserted, 0, 0);
	batch->rows_in += layout->source->counts.rows;
	batch->filtered += layout->source->counts.rows - rows;
	for (size_t i = 0; i < layout->notes.count; i++)
		strings_add(arena, &batch->warnings, layout->notes.at[i]);
	for (size_t i = 0; i < layout->source->facts.notes.count; i++)
		strings_add(arena, &batch->warnings, layout->source->facts.notes.at[i]);
	return RECLOSER_OK;
}

recloser_status batch_read(struct arena *arena, struct layout_context *context, struct layout **layouts, size_t count,
                           struct batch **out, recloser_error *error)
{
	struct batch *batch = arena_alloc(arena, sizeof *batch);
	*batch = (struct batch){.arena = arena, .context = context, .layouts = layouts, .layout_count = count};
	size_t most = 3;
	for (size_t i = 0; i < count; i++)
		most += layouts[i]->count + 2;
	batch->columns = arena_array(arena, most, sizeof *batch->columns);
	const char **selects = arena_array(arena, count, sizeof *selects);
	struct rows *described = arena_array(arena, count, sizeof *described);
	struct strings helpers = {0};
	for (size_t i = 0; i < count; i++) {
		RC_TRY(layout_select(arena, context, layouts[i], &selects[i], error));
		RC_TRY(engine_describe(context->engine, arena, selects[i], &described[i], error));
		RC_TRY(unite(batch, layouts[i], &described[i], error));
	}
	for (size_t k = 0; count && k < described[0].row_count; k++)
		if (text_starts(rows_at(&described[0], k, 0), "_rc_i") || strcmp(rows_at(&described[0], k, 0), "_rc_lookup") == 0)
			strings_add(arena, &helpers, arena_printf(arena, "%s %s", rows_at(&described[0], k, 0), rows_at(&described[0], k, 1)));
	if (context->spec->disappeared.policy == POLICY_CARRY)
		batch->columns[batch->column_count++] = (struct batch_column){.name = CARRIED_COLUMN, .type = "BOOLEAN", .mark = true};
	geometry_last(batch);
	RC_TRY(create_table(batch, &helpers, error));
	struct content_schema schema = batch_content_schema(batch, NULL);
	RC_TRY(content_register_row(context->engine, arena, "rc_row_digest", &schema, error));
	for (size_t i = 0; i < count; i++)
		RC_TRY(fill(batch, layouts[i], with_digests(batch, selects[i], &described[i]), error));
	*out = batch;
	return lookup_report(arena, context, &batch->warnings, error);
}

/* ---- taking rows out ---- */

#define WITHOUT_GONE "CREATE VIEW batch AS SELECT * FROM rc_rows ANTI JOIN rc_gone USING (_rc_src, _rc_row)"

recloser_status batch_take_out(struct batch *batch, const char *doing, const char *rows_sql, uint64_t *count, recloser_error *error)
{
	struct rows gone;
	RC_TRY(engine_query(batch->context->engine, batch->arena, doing, arena_printf(batch->arena,
	    "INSERT INTO rc_gone SELECT _rc_src, _rc_row FROM %s", rows_sql), &gone, error));
	uint64_t taken = (uint64_t)rows_int(&gone, 0, 0);
	if (count)
		*count += taken;
	if (taken == 0 || batch->holed)
		return RECLOSER_OK;
	batch->holed = true;
	return engine_run(batch->context->engine, doing,
	    "ALTER TABLE batch RENAME TO rc_rows; " WITHOUT_GONE, error);
}

recloser_status batch_settle(struct batch *batch, recloser_error *error)
{
	if (!batch->holed)
		return RECLOSER_OK;
	batch->holed = false;
	return engine_run(batch->context->engine, "close the gaps of rows that were taken out",
	    "CREATE TABLE rc_whole AS SELECT * FROM batch; DROP VIEW batch; DROP TABLE rc_rows; ALTER TABLE rc_whole RENAME TO batch", error);
}

recloser_status batch_lighten(struct batch *batch, recloser_error *error)
{
	if (batch->gathered)
		return RECLOSER_OK; /* they were left behind */
	const char *table = batch->holed ? "rc_rows" : "batch";
	return engine_runf(batch->context->engine, "drop what only judged the rows", error,
	    "%sALTER TABLE %s DROP COLUMN _rc_fault; ALTER TABLE %s DROP COLUMN _rc_group; ALTER TABLE %s DROP COLUMN _rc_digest%s",
	    batch->holed ? "DROP VIEW batch; " : "", table, table, table, batch->holed ? "; " WITHOUT_GONE : "");
}

/* ---- partitions ---- */

/* Is there a row, good or in quarantine, in a partition at or below `wanted`? Otherwise *near is one that is spelled like it. */
static recloser_status look_for(struct batch *batch, const char *wanted, bool *found, const char **near, recloser_error *error)
{
	struct arena *arena = batch->arena;
	struct rows rows;
	struct strings paths = {0};
	const char *path = batch_path_sql(arena, &batch->context->spec->partition);
	const char *aside = batch->quarantined ? " UNION ALL SELECT partition FROM quarantine" : "";
	size_t depth = 1;
	for (const char *at = wanted; *at; at++)
		depth += *at == '/';
	RC_TRY(engine_query(batch->context->engine, arena, "look for a partition", arena_printf(arena,
	    "SELECT DISTINCT array_to_string(string_split(p, '/')[:%zu], '/') AS head, head = %s FROM"
	    " (SELECT %s AS p FROM batch WHERE _rc_fault IS NULL%s) WHERE p IS NOT NULL ORDER BY 2 DESC, 1 LIMIT 1000", depth,
	    sql_text(arena, wanted), path, aside), &rows, error));
	for (size_t i = 0; i < rows.row_count; i++)
		strings_add(arena, &paths, rows_at(&rows, i, 0));
	*found = rows.row_count && rows_at(&rows, 0, 1) && strcmp(rows_at(&rows, 0, 1), "true") == 0;
	*near = text_nearest(wanted, paths.at, paths.count);
	if (!*near && paths.count)
		*near = paths.at[0];
	return RECLOSER_OK;
}

recloser_status batch_has(struct batch *batch, const char *const *wanted, size_t count, struct strings *unknown, const char **near,
                          recloser_error *error)
{
	for (size_t i = 0; i < count; i++) {
		bool found;
		const char *other;
		RC_TRY(look_for(batch, wanted[i], &found, &other, error));
		if (found)
			continue;
		strings_add(batch->arena, unknown, wanted[i]);
		*near = other;
	}
	return RECLOSER_OK;
}

recloser_status batch_only(struct batch *batch, const char *const *wanted, size_t count, recloser_error *error)
{
	if (count == 0)
		return RECLOSER_OK;
	struct arena *arena = batch->arena;
	struct text keep = text_on(arena);
	const char *path = batch_path_sql(arena, &batch->context->spec->partition);
	for (size_t i = 0; i < count; i++) {
		const char *text = sql_text(arena, wanted[i]);
		text_addf(&keep, "%s(%s) = %s OR starts_with(%s, %s || '/')", i ? " OR " : "", path, text, path, text);
	}
	return batch_take_out(batch, "leave out other partitions", arena_printf(arena, "batch WHERE _rc_fault IS NULL AND NOT (%s)", keep.at),
	                      &batch->filtered, error);
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct batch_part *)a)->path, ((const struct batch_part *)b)->path);
}

static const char *rows_of(struct arena *arena, const struct strings *partition, const char **values)
{
	struct text out = text_on(arena);
	text_add(&out, "batch WHERE TRUE");
	for (size_t i = 0; i < partition->count; i++)
		text_addf(&out, " AND %s = %s", sql_name(arena, partition->at[i]), sql_text(arena, values[i]));
	return out.at;
}

/* What all values of a level are together. */
static enum numeral numerals(const struct batch *batch, size_t level)
{
	enum numeral all = NUMERAL_PLAIN;
	for (size_t k = 0; k < batch->part_count && all != NUMERAL_NONE; k++) {
		enum numeral one = partition_numeral(batch->parts[k].values[level]);
		if (one != NUMERAL_PLAIN)
			all = one;
	}
	return all;
}

/* A reader that takes a path for something else, and what to do about it. */
static const char *lookalike(const struct batch *batch, size_t level, const char *value, const char *taken_for)
{
	struct arena *arena = batch->arena;
	const char *column = batch->context->spec->partition.at[level];
	bool in_file = batch->context->spec->partition_columns != PARTITION_PATH;
	enum numeral all = numerals(batch, level);
	const char *said = arena_printf(arena, "some readers take %s=%s in a path for %s%s", column, value, taken_for, in_file ? "; the file holds it as text" : "");
	if (all == NUMERAL_NONE)
		return arena_printf(arena, "%s. A prefix (US%s) or a form such as 2026-07 avoids that", said, value);
	if (in_file)
		said = arena_printf(arena, "%s, and while every value of %s is a number, pandas, geopandas and pyarrow.parquet read the dataset "
		                    "with partitioning=None only", said, column);
	if (all == NUMERAL_PLAIN)
		return arena_printf(arena, "%s. %s: {type: integer} makes it a number to all of them, in a dataset that begins with it", said, column);
	return arena_printf(arena, "%s. A prefix keeps it text to all of them: partition by another column, such as %s_code: {sql: \"'US' || %s\"}%s",
	                    said, column, column, in_file ? "; with partition_columns: path they read a number" : "");
}

/* Values that a file system which folds letter case or Unicode forms would put into one folder; and values that readers of
 * a path take for something else. One warning a column. */
static recloser_status look_at_values(struct batch *batch, recloser_error *error)
{
	const struct strings *partition = &batch->context->spec->partition;
	struct arena *arena = batch->arena;
	for (size_t i = 0; i < partition->count && batch->part_count; i++) {
		struct rows rows;
		struct text values = text_on(arena);
		for (size_t k = 0; k < batch->part_count; k++)
			text_addf(&values, "%s(%s)", k ? ", " : "", sql_text(arena, batch->parts[k].values[i]));
		RC_TRY(engine_query(batch->context->engine, arena, "compare partition values", arena_printf(arena,
		    "SELECT string_agg(v, ', ' ORDER BY v) FROM (SELECT DISTINCT v FROM (VALUES %s) t(v))"
		    " GROUP BY lower(nfc_normalize(v)) HAVING count(*) > 1 ORDER BY 1 LIMIT 3", values.at), &rows, error));
		for (size_t k = 0; k < rows.row_count; k++)
			strings_add(arena, &batch->warnings, arena_printf(arena,
			    "partition values of %s differ only by letter case or Unicode form: %s; they are kept apart", partition->at[i], rows_at(&rows, k, 0)));
		const char *taken_for = NULL, *value = NULL;
		for (size_t k = 0; k < batch->part_count && !taken_for; k++) {
			value = batch->parts[k].values[i];
			taken_for = partition_lookalike(value);
		}
		bool integer = false;
		for (size_t k = 0; k < batch->column_count; k++)
			integer |= strcmp(batch->columns[k].name, partition->at[i]) == 0 && strcmp(batch->columns[k].type, "BIGINT") == 0;
		if (taken_for && !integer)
			strings_add(arena, &batch->warnings, lookalike(batch, i, value, taken_for));
	}
	return RECLOSER_OK;
}

static enum several several_of(const struct batch *batch, size_t ordinal)
{
	return batch->layouts[ordinal]->block->several;
}

/* Two files for one partition: a second delivery, or one half each? Only the user can say. */
static recloser_status check_several(struct batch *batch, recloser_error *error)
{
	struct arena *arena = batch->arena;
	struct rows rows;
	const char *path_sql = batch_path_sql(arena, &batch->context->spec->partition);
	RC_TRY(engine_query(batch->context->engine, arena, "look for partitions from several files", arena_printf(arena,
	    "SELECT path, min(_rc_src), string_agg(DISTINCT input, ', ' ORDER BY input)"
	    " FROM (SELECT DISTINCT %s AS path, _rc_src FROM batch) b JOIN rc_sources s ON b._rc_src = s.src"
	    " GROUP BY path HAVING count(DISTINCT input) > 1 ORDER BY path", path_sql), &rows, error));
	for (size_t i = 0; i < rows.row_count; i++) {
		size_t ordinal = (size_t)rows_int(&rows, i, 1);
		enum several several = several_of(batch, ordinal);
		if (several == SEVERAL_UNION)
			continue;
		const char *path = rows_at(&rows, i, 0);
		if (several == SEVERAL_REFUSE) {
			error_set(error, RECLOSER_REFUSED, "batch.several", "%zu partition%s would come from several files of this run", rows.row_count,
			          rows.row_count == 1 ? "" : "s");
			error_where(error, "%s from %s", *path ? path : "the one partition", rows_at(&rows, i, 2));
			return error_hint(error, "load them one after the other, or say in the source what it means: "
			                  "`several: union` (each holds a part) or `several: last` (each is complete, the last one counts)");
		}
		const char *same = arena_printf(arena, "%s = %s", path_sql, sql_text(arena, path));
		RC_TRY(batch_take_out(batch, "keep the last file", arena_printf(arena,
		    "batch WHERE %s AND _rc_src IN (SELECT src FROM rc_sources WHERE input <> (SELECT s.input FROM rc_sources s"
		    " WHERE s.src = (SELECT max(_rc_src) FROM batch WHERE %s)))", same, same), &batch->superseded, error));
	}
	return RECLOSER_OK;
}

/* The files behind the ordinals "0,2,3"; two sheets of one workbook are one file. */
static void name_inputs(struct batch *batch, struct batch_part *part, const char *ordinals)
{
	part->inputs = arena_array(batch->arena, batch->layout_count, sizeof *part->inputs);
	for (const char *at = ordinals; *at; at += strcspn(at, ","), at += *at == ',') {
		const struct input *input = batch->layouts[strtoul(at, NULL, 10)]->input;
		if (part->input_count == 0 || part->inputs[part->input_count - 1] != input)
			part->inputs[part->input_count++] = input;
	}
}

/* Every row that came in stands in a partition or was counted when it left (design invariant I7). */
static recloser_status add_up(const struct batch *batch, recloser_error *error)
{
	uint64_t found = batch->filtered + batch->quarantined + batch->superseded;
	for (size_t i = 0; i < batch->part_count; i++)
		found += batch->parts[i].rows;
	if (found == batch->rows_in)
		return RECLOSER_OK;
	error_set(error, RECLOSER_IO, "batch.lost", "%" PRIu64 " rows came in, and %" PRIu64 " are accounted for", batch->rows_in, found);
	return error_hint(error, "nothing was made live; this is a fault of recloser or of this machine's memory: run again, and report it");
}

recloser_status batch_find_parts(struct batch *batch, recloser_error *error)
{
	struct arena *arena = batch->arena;
	const struct strings *partition = &batch->context->spec->partition;
	if (batch->layout_count > 1)
		RC_TRY(check_several(batch, error));
	struct text sql = text_on(arena);
	text_addf(&sql, "SELECT count(*), %s", batch->layout_count > 1 ? "array_to_string(list_sort(list(DISTINCT _rc_src)), ',')" : "'0'");
	for (size_t i = 0; i < partition->count; i++)
		text_addf(&sql, ", CAST(%s AS VARCHAR)", sql_name(arena, partition->at[i]));
	text_add(&sql, " FROM batch");
	for (size_t i = 0; i < partition->count; i++)
		text_addf(&sql, "%s%s", i ? ", " : " GROUP BY ", sql_name(arena, partition->at[i]));
	struct rows rows;
	RC_TRY(engine_query(batch->context->engine, arena, "find the partitions", sql.at, &rows, error));
	batch->parts = arena_array(arena, rows.row_count + 1, sizeof *batch->parts);
	for (size_t r = 0; r < rows.row_count; r++) {
		uint64_t count = (uint64_t)rows_int(&rows, r, 0);
		if (count == 0)
			continue; /* no partition columns and no rows */
		struct batch_part *part = &batch->parts[batch->part_count++];
		part->values = arena_array(arena, partition->count + 1, sizeof *part->values);
		for (size_t i = 0; i < partition->count; i++)
			part->values[i] = rows_at(&rows, r, i + 2);
		name_inputs(batch, part, rows_at(&rows, r, 1));
		part->path = partition_path(arena, partition, part->values);
		part->rows_sql = rows_of(arena, partition, part->values);
		part->number = -1;
		part->rows_in = part->rows = count;
	}
	if (batch->part_count == 1) /* all there is: no row need be asked where it belongs */
		batch->parts[0].rows_sql = "batch WHERE TRUE";
	qsort(batch->parts, batch->part_count, sizeof *batch->parts, by_path);
	RC_TRY(add_up(batch, error));
	return look_at_values(batch, error);
}
