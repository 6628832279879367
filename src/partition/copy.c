/* SPDX-License-Identifier: Apache-2.0
 * The COPY that writes a part: its rows sorted, its columns in file order, its footer.
 *
 * A sort moves every byte of every column that goes through it, twice where memory is short. So what is the same in all rows of
 * a part (its partition values) or is made of other columns (key, bounding box, Parquet's own geometry) is put around the sort,
 * and text that repeats goes through it as numbers. */
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "base/number.h"
#include "partition/part.h"

/* From this many rows on text is looked at for repetition: below, the looking costs more than it saves. A column with more
 * different values than this in a part, or longer ones in all, stays text: each row group repeats them. These are in the
 * bytes of a file (docs/format.md). */
enum { WORDS_ROWS = ROW_GROUP_ROWS, WORDS_MOST = 4096, WORDS_BYTES = 65536 };


/* zstd's level. Pages of so few rows come out no larger with the least of it, and a fifth of the writing is saved. */
enum { FEW_ROWS = 10000, LEVEL_FEW = 1, LEVEL = 3 };

struct copy {
	const struct part_format *format;
	const struct part *part; /* NULL: any, to ask for the columns' types */
	struct engine *engine;
	struct arena *arena;
	const char **words;      /* for each column of the batch the name of its type of words, or NULL */
};

/* ---- what goes around the sort ---- */

/* One value in all rows of a part. */
static bool is_constant(const struct copy *copy, const struct batch_column *column)
{
	return copy->part && column->partition && batch_is_plain(column->type);
}

static const char *value_of(const void *context, const struct batch_column *column)
{
	const struct copy *copy = context;
	const struct strings *partition = &copy->format->spec->partition;
	for (size_t i = 0; is_constant(copy, column) && i < partition->count; i++)
		if (strcmp(partition->at[i], column->name) == 0)
			return arena_printf(copy->arena, "CAST(%s AS %s)", sql_text(copy->arena, copy->part->batch_part->values[i]), column->type);
	return sql_name(copy->arena, column->name);
}

static const char *key_again(const struct copy *copy)
{
	return batch_key_sql(copy->arena, copy->format->batch, value_of, copy);
}

/* In GeoParquet 1.1 a geometry is bytes that the `geo` entry explains; in 2.0 it is Parquet's own geometry type, with the CRS in
 * the type as well. Either way the `geo` entry is ours: the engine is told to write none. */
static const char *geometry_value(const struct copy *copy, const char *name)
{
	if (!format_is_native(copy->format->spec))
		return name;
	return arena_printf(copy->arena, "st_setcrs(st_geomfromwkb(%s), %s)", name, sql_text(copy->arena, copy->format->crs.projjson));
}

static bool in_file(const struct copy *copy, const struct batch_column *column)
{
	return !column->partition || strings_has(&copy->format->in_file, column->name);
}

static const char *outer_columns(const struct copy *copy)
{
	const struct part_format *format = copy->format;
	const char *key = key_again(copy);
	struct text out = text_on(copy->arena);
	for (size_t i = 0; i < format->batch->column_count; i++) {
		const struct batch_column *column = &format->batch->columns[i];
		if (!in_file(copy, column))
			continue;
		const char *name = sql_name(copy->arena, column->name);
		const char *value = column->key && key ? key : column->geometry ? geometry_value(copy, name) : value_of(copy, column);
		text_addf(&out, "%s%s AS %s", out.length ? ", " : "", value, name);
	}
	if (format->covering)
		text_addf(&out, ", rc_bbox(%s) AS bbox", sql_name(copy->arena, format->spec->geometry.column));
	return out.at;
}

/* "text" or "bytes": the column goes through the sort as a place. Words are short whatever they are made of. */
static const char *aside_type(const struct copy *copy, size_t column)
{
	const struct batch *batch = copy->format->batch;
	if (copy->words && copy->words[column])
		return NULL;
	return batch->columns[column].aside ? batch->columns[column].aside : batch_aside_type(batch, &copy->part->batch_part->widths, column);
}

/* The place of a value: gathered rows have it. */
static const char *place_of(const struct copy *copy, size_t column)
{
	const struct batch_column *it = &copy->format->batch->columns[column];
	const char *place = arena_printf(copy->arena, BATCH_PLACE "%zu", column);
	return it->aside ? place : arena_printf(copy->arena, "rc_aside_%s(%s) AS %s", aside_type(copy, column), sql_name(copy->arena, it->name), place);
}

/* What sorted rows bring back: ", rc_text_at(_rc_place_3) AS notes". */
static const char *brought_back(const struct copy *copy)
{
	struct text out = text_on(copy->arena);
	for (size_t i = 0; i < copy->format->batch->column_count; i++) {
		const char *type = aside_type(copy, i);
		if (type)
			text_addf(&out, ", rc_%s_at(" BATCH_PLACE "%zu) AS %s", type, i, sql_name(copy->arena, copy->format->batch->columns[i].name));
	}
	return out.length ? out.at : "";
}

static const char *sorted_columns(const struct copy *copy)
{
	const struct batch *batch = copy->format->batch;
	bool key = key_again(copy) == NULL;
	struct text out = text_on(copy->arena);
	for (size_t i = 0; i < batch->column_count; i++) {
		const struct batch_column *column = &batch->columns[i];
		const char *name = sql_name(copy->arena, column->name);
		if (!in_file(copy, column) || is_constant(copy, column) || (column->key && !key))
			continue;
		text_add(&out, out.length ? ", " : "");
		if (copy->words && copy->words[i])
			text_addf(&out, "CAST(%s AS %s) AS ", name, copy->words[i]);
		text_add(&out, aside_type(copy, i) ? place_of(copy, i) : name);
	}
	return out.at;
}

/* ---- the order ---- */

static const char *order_of(const struct copy *copy)
{
	const struct part_format *format = copy->format;
	const struct wkb_facts *box = &copy->part->content.geometry;
	if (format->spec->order == ORDER_SOURCE)
		return "_rc_src, _rc_row";
	if (format->spec->order == ORDER_HILBERT && format->batch->has_geometry && box->any) {
		struct text out = text_on(copy->arena);
		text_addf(&out, "rc_hilbert(%s", sql_name(copy->arena, format->spec->geometry.column));
		const double edges[4] = {box->minimum[0], box->minimum[1], box->maximum[0], box->maximum[1]};
		for (int i = 0; i < 4; i++) {
			char digits[64];
			number_shortest(edges[i], digits);
			text_addf(&out, ", CAST('%s' AS DOUBLE)", digits);
		}
		text_addf(&out, ") NULLS LAST, %s", batch_order_sql(copy->arena, format->batch));
		return out.at;
	}
	return batch_order_sql(copy->arena, format->batch);
}

/* ---- words: text that repeats ---- */

/* What rows are sorted by stays text: the smallest and largest value of each row group, which readers pass over groups by, are
 * for words those of the whole part. */
static bool may_be_words(const struct copy *copy, const struct batch_column *column)
{
	const struct spec *spec = copy->format->spec;
	bool identity = false;
	for (size_t i = 0; i < spec->identity_count; i++)
		identity |= spec->identity[i].column && strcmp(spec->identity[i].column, column->name) == 0;
	return strcmp(column->type, "VARCHAR") == 0 && !column->partition && !column->key && !column->geometry && !identity;
}

/* A column with too many different values in some of the rows has too many in all of them: most are told apart by the first
 * rows at hand, whichever they are. Numbers of them are counted, as the values themselves may be long. */
static recloser_status sample_words(const struct copy *copy, const struct strings *names, struct rows *out, recloser_error *error)
{
	struct text counts = text_on(copy->arena), columns = text_on(copy->arena);
	for (size_t i = 0; i < names->count; i++) {
		text_addf(&counts, "%scount(DISTINCT hash(%s))", i ? ", " : "", names->at[i]);
		text_addf(&columns, "%s%s", i ? ", " : "", names->at[i]);
	}
	return engine_query(copy->engine, copy->arena, "look for text that repeats", arena_printf(copy->arena,
	    "SELECT %s FROM (SELECT %s FROM %s LIMIT %d)", counts.at, columns.at, copy->part->batch_part->rows_sql, WORDS_ROWS / 2), out, error);
}

/* The different values of one column as a type of this connection, in their order, so that the bytes depend on them alone. They are
 * listed first: a type can't be spilled, and the first rows may not have shown millions of them. */
static recloser_status make_words(struct copy *copy, size_t column, const char *name, recloser_error *error)
{
	struct rows rows;
	struct arena *arena = copy->arena;
	const char *type = arena_printf(arena, "rc_words_%zu", column);
	RC_TRY(engine_runf(copy->engine, "list the words of a column", error,
	    "CREATE OR REPLACE TEMP TABLE rc_words AS SELECT DISTINCT %s AS word FROM %s AND %s IS NOT NULL LIMIT %d", name,
	    copy->part->batch_part->rows_sql, name, WORDS_MOST + 1));
	RC_TRY(engine_query(copy->engine, arena, "count the words of a column", "SELECT count(*), CAST(sum(strlen(word)) AS BIGINT) FROM rc_words",
	                    &rows, error));
	int64_t count = rows_int(&rows, 0, 0), bytes = rows_int(&rows, 0, 1);
	if (count == 0 || count > WORDS_MOST || bytes > WORDS_BYTES)
		return RECLOSER_OK;
	copy->words[column] = type;
	return engine_runf(copy->engine, "make a type of words", error,
	                   "DROP TYPE IF EXISTS %s; CREATE TEMP TYPE %s AS ENUM (SELECT word FROM rc_words ORDER BY word)", type, type);
}

static recloser_status find_words(struct copy *copy, recloser_error *error)
{
	const struct batch *batch = copy->format->batch;
	if (copy->part->batch_part->rows < WORDS_ROWS)
		return RECLOSER_OK;
	struct strings names = {0};
	size_t *columns = arena_array(copy->arena, batch->column_count + 1, sizeof *columns);
	for (size_t i = 0; i < batch->column_count; i++)
		if (may_be_words(copy, &batch->columns[i])) {
			columns[names.count] = i;
			strings_add(copy->arena, &names, sql_name(copy->arena, batch->columns[i].name));
		}
	if (names.count == 0)
		return RECLOSER_OK;
	struct rows sample;
	RC_TRY(sample_words(copy, &names, &sample, error));
	copy->words = arena_array(copy->arena, batch->column_count + 1, sizeof *copy->words);
	for (size_t i = 0; i < names.count; i++)
		if (rows_int(&sample, 0, i) <= WORDS_MOST)
			RC_TRY(make_words(copy, columns[i], names.at[i], error));
	return RECLOSER_OK;
}

/* ---- the footer ---- */

/* The partition's declared values as a JSON object, in partition order: what a file that was moved still says of itself. */
static const char *partition_entry(struct arena *arena, const struct strings *columns, const char *const *values)
{
	json_t *object = json_new_object(arena);
	for (size_t i = 0; i < columns->count; i++)
		json_put_text(arena, object, columns->at[i], values[i]);
	return json_compact(arena, object);
}

static const char *key_entry(struct arena *arena, const struct spec *spec)
{
	json_t *object = json_new_object(arena), *fields = json_new_array(arena);
	json_put_text(arena, object, "column", spec->key_column);
	for (size_t i = 0; i < spec->identity_count; i++)
		json_add_text(arena, fields, spec->identity[i].column ? spec->identity[i].column : spec->identity[i].sql);
	json_put(arena, object, spec->key_id ? "id" : "identity", spec->key_id ? json_on(arena, json_string(spec->key_id)) : fields);
	if (!spec->key_id)
		json_put_text(arena, object, "hash", spec->key_escape ? "sha256/24, escaped" : "sha256/24");
	return json_compact(arena, object);
}

static void metadata_of(const struct copy *copy, struct strings *out)
{
	const struct spec *spec = copy->format->spec;
	struct arena *arena = copy->arena;
	if (copy->part->geo) {
		strings_add(arena, out, "geo");
		strings_add(arena, out, copy->part->geo);
	}
	strings_add(arena, out, "recloser:partition");
	strings_add(arena, out, partition_entry(arena, &spec->partition, copy->part->batch_part->values));
	strings_add(arena, out, "recloser:key");
	strings_add(arena, out, key_entry(arena, spec));
	strings_add(arena, out, "recloser:shape");
	strings_add(arena, out, spec->shape);
}

static recloser_status footer_entries(const struct copy *copy, const char **out, recloser_error *error)
{
	struct arena *arena = copy->arena;
	struct strings metadata = {0};
	metadata_of(copy, &metadata);
	struct text entries = text_on(arena);
	for (size_t i = 0; i < metadata.count; i += 2)
		text_addf(&entries, "%s%s: %s", i ? ", " : "", sql_name(arena, metadata.at[i]), sql_text(arena, metadata.at[i + 1]));
	if (copy->format->arrow) {
		const char *schema;
		RC_TRY(arrow_schema_text(arena, copy->format->arrow, &copy->format->dictionary, &metadata, &schema, error));
		text_addf(&entries, ", \"ARROW:schema\": '%s'", schema);
	}
	*out = entries.at;
	return RECLOSER_OK;
}

/* ---- the statement ---- */

recloser_status copy_columns(struct part_format *format, recloser_error *error)
{
	struct arena *arena = format->batch->arena;
	const struct copy any = {.format = format, .engine = format->engine, .arena = arena};
	if (format->dictionary.count == 0)
		return RECLOSER_OK;
	return arrow_columns_of(format->engine, arena, arena_printf(arena, "SELECT %s FROM batch", outer_columns(&any)), &format->arrow, error);
}

/* Wide rows: fewer of them make a row group, so that neither who writes it nor who reads it must hold gigabytes. In the bytes of a
 * file, and so by nothing but its rows (docs/format.md). */
static uint64_t group_rows(const struct copy *copy)
{
	double bytes = batch_row_bytes(copy->format->batch, &copy->part->batch_part->widths);
	if (bytes * ROW_GROUP_ROWS <= ROW_GROUP_BYTES)
		return ROW_GROUP_ROWS;
	uint64_t vectors = (uint64_t)(ROW_GROUP_BYTES / (bytes * GROUP_STEP)), group = vectors ? vectors * GROUP_STEP : GROUP_STEP;
	/* What comes last out of the sort, within a step of a group, is not cut by several threads, but is by one: so it is one group. */
	uint64_t last = copy->part->batch_part->rows % ROW_GROUP_ROWS;
	return last > group && last < group + GROUP_STEP ? group + GROUP_STEP : group;
}

/* Rows that come in their order are written as they come where they are one row group whatever vectors they come in. Of more, the
 * ends of groups would follow how the rows lie in the table: by their number, the memory, the threads and what else was loaded. */
static bool as_they_come(const struct batch_part *rows, uint64_t group)
{
	return rows->sorted && rows->rows + 2 * GROUP_STEP <= group;
}

recloser_status part_write(const struct part_format *format, struct engine *engine, struct arena *arena, struct part *part,
                           const char *file, recloser_error *error)
{
	struct copy copy = {.format = format, .part = part, .engine = engine, .arena = arena};
	const struct batch_part *rows = part->batch_part;
	const char *entries, *name = *rows->path ? rows->path : "the one partition";
	RC_TRY(find_words(&copy, error));
	RC_TRY(footer_entries(&copy, &entries, error));
	part->file = file;
	uint64_t group = group_rows(&copy);
	const char *order = as_they_come(rows, group) ? "" : arena_printf(arena, " ORDER BY %s", order_of(&copy));
	const char *sql = arena_printf(arena,
	    "COPY (SELECT %s FROM (SELECT *%s FROM (SELECT %s FROM %s%s))) TO %s (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL %d, "
	    "ROW_GROUP_SIZE %" PRIu64 ", GEOPARQUET_VERSION 'NONE', KV_METADATA {%s})",
	    outer_columns(&copy), brought_back(&copy), sorted_columns(&copy), rows->rows_sql, order, sql_text(arena, file),
	    rows->rows < FEW_ROWS ? LEVEL_FEW : LEVEL, group, entries);
	recloser_status status = engine_run(engine, arena_printf(arena, "sort and write %s", name), sql, error);
	RC_TRY(batch_blame_width(format->batch, &rows->widths, status, error));
	return sha256_file(file, part->sha256, &part->bytes, error);
}
