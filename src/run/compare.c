/* SPDX-License-Identifier: Apache-2.0
 * Step 5: each partition against its live version. Equal content is unchanged and costs no encoding; otherwise the schema must
 * agree, and the keys that are gone, new or revised are counted. What the spec's policies make of that is decided here. */
#include <inttypes.h>
#include <string.h>

#include "base/hive.h"
#include "base/json.h"
#include "run/run.h"

static const char *shown(const struct run_part *part)
{
	const char *path = part->part.batch_part->path;
	return *path ? path : "the one partition";
}

/* Once: a partition that is compared a second time, under the lock, repeats what it had to say. */
static void warn(struct run *run, const char *text)
{
	if (!strings_has(&run->warnings, text))
		strings_add(run->arena, &run->warnings, text);
}

/* ---- policies ---- */

static bool accepted(const struct run *run, const char *guard)
{
	for (size_t i = 0; i < run->options->accept_count; i++)
		if (strcmp(run->options->accept[i], guard) == 0)
			return true;
	return false;
}

/* What a policy does with something that went over its threshold: nothing, a warning, the partition held, the run refused. */
static recloser_status apply_policy(struct run *run, struct run_part *part, const char *name, enum policy policy, const char *what,
                                    recloser_error *error)
{
	if (accepted(run, name)) {
		warn(run, arena_printf(run->arena, "%s; accepted by --accept %s", what, name));
		return RECLOSER_OK;
	}
	switch (policy) {
	case POLICY_ALLOW:
		return RECLOSER_OK;
	case POLICY_WARN:
	case POLICY_CARRY:
		warn(run, what);
		return RECLOSER_OK;
	case POLICY_HOLD:
		part->outcome = PART_HELD;
		part->held_by = name;
		warn(run, arena_printf(run->arena, "%s; held: the live version stays (--accept %s to let it pass once)", what, name));
		return RECLOSER_OK;
	case POLICY_REFUSE:
		break;
	}
	error_set(error, RECLOSER_REFUSED, "guard", "%s", what);
	error_where(error, "%s, guard %s", shown(part), name);
	return error_hint(error, "look at the source; --accept %s lets it pass once", name);
}

/* ---- schema ---- */

static const char *batch_type(const struct batch *batch, const char *name)
{
	for (size_t i = 0; i < batch->column_count; i++)
		if (strcmp(batch->columns[i].name, name) == 0)
			return batch->columns[i].type;
	return NULL;
}

static bool widened(const char *from, const char *to)
{
	static const char *const pairs[][2] = {{"INTEGER", "BIGINT"}, {"SMALLINT", "BIGINT"}, {"SMALLINT", "INTEGER"}, {"FLOAT", "DOUBLE"}};
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		if (strcmp(from, pairs[i][0]) == 0 && strcmp(to, pairs[i][1]) == 0)
			return true;
	return false;
}

static recloser_status check_column(struct run *run, const struct run_part *part, const char *name, const char *live_type,
                                    recloser_error *error)
{
	const char *type = batch_type(run->batch, name);
	if (!type) {
		error_set(error, RECLOSER_REFUSED, "schema.missing", "column %s is in the live version but not in this load", name);
		error_where(error, "%s, seq %" PRId64, shown(part), part->base->seq);
		return error_hint(error, "if the publisher renamed it, name both: columns: {%s: {from: [%s, NEW NAME]}}; "
		                  "if it may be gone: %s: {optional: true}", name, name, name);
	}
	if (strcmp(type, live_type) == 0 || widened(live_type, type))
		return RECLOSER_OK;
	error_set(error, RECLOSER_REFUSED, "schema.retyped", "column %s is %s in the live version and %s in this load", name, live_type, type);
	error_where(error, "%s, seq %" PRId64, shown(part), part->base->seq);
	return error_hint(error, "declare its type in the spec: columns: {%s: {type: ...}}", name);
}

static recloser_status check_schema(struct run *run, const struct run_part *part, recloser_error *error)
{
	const json_t *schema = json_object_get(part->base->json, "schema");
	if (!json_is_array(schema))
		return RECLOSER_OK;
	size_t known = 0;
	for (size_t i = 0; i < json_array_size(schema); i++) {
		const json_t *column = json_array_get(schema, i);
		RC_TRY(check_column(run, part, json_get_text(column, "name"), json_get_text(column, "type"), error));
		known++;
	}
	for (size_t i = 0; i < run->batch->column_count && known < run->batch->column_count; i++) {
		const char *name = run->batch->columns[i].name;
		bool there = false;
		for (size_t k = 0; k < json_array_size(schema) && !there; k++)
			there = strcmp(json_get_text(json_array_get(schema, k), "name"), name) == 0;
		if (there)
			continue;
		if (run->spec->schema == SCHEMA_FREEZE) {
			error_set(error, RECLOSER_REFUSED, "schema.new", "column %s is new, and the spec freezes the schema", name);
			return error_where(error, "%s, seq %" PRId64, shown(part), part->base->seq);
		}
		warn(run, arena_printf(run->arena, "column %s is new", name));
	}
	return RECLOSER_OK;
}

/* ---- keys ---- */

static const char *live_columns_equal(struct run *run, const struct run_part *part)
{
	const json_t *schema = json_object_get(part->base->json, "schema");
	struct text out = text_on(run->arena);
	for (size_t i = 0; i < json_array_size(schema); i++) {
		const char *name = json_get_text(json_array_get(schema, i), "name");
		if (strings_has(&run->spec->partition, name) || strcmp(name, run->spec->key_column) == 0)
			continue;
		const char *column = sql_name(run->arena, name);
		text_addf(&out, "%sl.%s IS DISTINCT FROM b.%s", out.length ? " OR " : "", column, column);
	}
	return out.length ? out.at : "FALSE";
}

static const char *live_table(struct run *run, const struct run_part *part)
{
	const char *path = live_path(run->dataset, run->arena, part->part.batch_part->path);
	return arena_printf(run->arena, "read_parquet(%s, hive_partitioning=false)", sql_text(run->arena, path));
}

static recloser_status count_keys(struct run *run, struct run_part *part, recloser_error *error)
{
	struct arena *arena = run->arena;
	const char *key = sql_name(arena, run->spec->key_column);
	struct rows rows;
	RC_TRY(engine_query(run->engine, arena, "compare with the live version", arena_printf(arena,
	    "SELECT count(*) FILTER (WHERE b.%s IS NULL), count(*) FILTER (WHERE l.%s IS NULL),\n"
	    "       count(*) FILTER (WHERE b.%s IS NOT NULL AND l.%s IS NOT NULL AND (%s))\n"
	    "FROM %s l FULL JOIN (SELECT * FROM batch WHERE %s) b ON l.%s = b.%s",
	    key, key, key, key, live_columns_equal(run, part), live_table(run, part), part->part.batch_part->where, key, key), &rows, error));
	part->gone = (uint64_t)rows_int(&rows, 0, 0);
	part->fresh = (uint64_t)rows_int(&rows, 0, 1);
	part->revised = (uint64_t)rows_int(&rows, 0, 2);
	return RECLOSER_OK;
}

/* The identity fields as text; the whole last row as JSON, bytes left out. */
static const char *last_row_json(struct run *run, const struct run_part *part)
{
	const json_t *schema = json_object_get(part->base->json, "schema");
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

static recloser_status list_gone(struct run *run, struct run_part *part, recloser_error *error)
{
	struct arena *arena = run->arena;
	const struct spec *spec = run->spec;
	struct text fields = text_on(arena), names = text_on(arena);
	for (size_t i = 0; i < spec->identity_count; i++) {
		const char *column = spec->identity[i].column;
		if (!column || strcmp(column, spec->geometry.column) == 0)
			continue;
		const char **values = NULL;
		size_t p = 0;
		while (p < spec->partition.count && strcmp(spec->partition.at[p], column) != 0)
			p++;
		if (p < spec->partition.count)
			values = part->part.batch_part->values;
		const char *value = values ? sql_text(arena, values[p]) : arena_printf(arena, "CAST(l.%s AS VARCHAR)", sql_name(arena, column));
		text_addf(&fields, ", %s", value);
		text_addf(&names, ", %s VARCHAR", sql_name(arena, column));
	}
	const char *key = sql_name(arena, spec->key_column);
	RC_TRY(engine_runf(run->engine, "make the list of disappeared rows", error,
	    "CREATE TABLE IF NOT EXISTS disappeared (\"partition\" VARCHAR, %s VARCHAR%s, last_seq BIGINT, \"row\" VARCHAR)", key, names.at));
	return engine_runf(run->engine, "list disappeared rows", error,
	    "INSERT INTO disappeared SELECT %s, l.%s%s, %" PRId64 ", CAST(%s AS VARCHAR) FROM %s l ANTI JOIN (SELECT %s FROM batch WHERE %s) b ON l.%s = b.%s ORDER BY 2",
	    sql_text(arena, part->part.batch_part->path), key, fields.at, part->base->seq, last_row_json(run, part), live_table(run, part), key,
	    part->part.batch_part->where, key, key);
}

recloser_status run_write_disappeared(struct run *run, recloser_error *error)
{
	if (run->disappeared == 0)
		return RECLOSER_OK;
	const char *staged = arena_printf(run->arena, "%s/disappeared.pq", staging_directory(run->staging));
	RC_TRY(engine_runf(run->engine, "write the list of disappeared rows", error,
	    "COPY (SELECT * FROM disappeared ORDER BY 1, 2) TO %s (FORMAT parquet, COMPRESSION zstd)", sql_text(run->arena, staged)));
	run->disappeared_path = arena_printf(run->arena, "disappeared/%s.pq", run->id);
	return control_adopt(run->dataset, run->arena, staged, run->disappeared_path, error);
}

static recloser_status judge_gone(struct run *run, struct run_part *part, recloser_error *error)
{
	const struct guard *guard = &run->spec->disappeared;
	if (part->gone == 0)
		return RECLOSER_OK;
	run->disappeared += part->gone;
	RC_TRY(list_gone(run, part, error));
	if (!threshold_exceeded(&guard->max, part->gone, part->base->rows))
		return RECLOSER_OK;
	const char *what = arena_printf(run->arena, "%s: %s of %s keys of the live version are gone", shown(part), text_count(run->arena, part->gone),
	                                text_count(run->arena, part->base->rows));
	return apply_policy(run, part, "disappeared", guard->policy, what, error);
}

/* ---- one partition ---- */

/* A fingerprint of another kind, or none, is made again from the file, which is proved to be the record's. */
static recloser_status base_fingerprint(struct run *run, struct run_part *part, const char **out, recloser_error *error)
{
	*out = part->base->content_fingerprint;
	if (*out && text_starts(*out, "c1:"))
		return RECLOSER_OK;
	struct content content = {0};
	struct strings faults = {0};
	struct part_check check = {.engine = run->engine, .spec = run->spec, .path = part->part.batch_part->path, .rows = -1,
	                           .file = live_path(run->dataset, run->arena, part->part.batch_part->path),
	                           .crs_id = run->format.schema.crs_id, .has_geometry = run->batch->has_geometry};
	RC_TRY(part_verify(run->arena, &check, &faults, &content, NULL, error));
	*out = faults.count ? "" : arena_strdup(run->arena, content.fingerprint);
	return RECLOSER_OK;
}

/* Readers of a folder may take any file in it for data. */
static recloser_status warn_of_neighbours(struct run *run, const struct run_part *part, recloser_error *error)
{
	struct strings names = {0};
	RC_TRY(live_neighbours(run->dataset, run->arena, part->part.batch_part->path, &names, error));
	if (names.count)
		warn(run, arena_printf(run->arena, "%s: %s beside part.parquet %s not recloser's; left alone, but readers may take %s for data", shown(part),
		                       strings_join(run->arena, &names, ", "), names.count == 1 ? "is" : "are", names.count == 1 ? "it" : "them"));
	return RECLOSER_OK;
}

recloser_status run_compare_part(struct run *run, struct run_part *part, recloser_error *error)
{
	const char *path = part->part.batch_part->path, *fingerprint;
	RC_TRY(ledger_newest(run->dataset, run->arena, path, &part->base, error));
	RC_TRY(live_state(run->dataset, run->arena, path, part->base, &part->live, error));
	part->gone = part->fresh = part->revised = 0;
	part->seq = part->base ? part->base->seq : 0;
	part->outcome = part->base || part->live == LIVE_FOREIGN ? PART_REPLACED : PART_NEW;
	RC_TRY(warn_of_neighbours(run, part, error));
	if (part->live == LIVE_FOREIGN)
		warn(run, arena_printf(run->arena, "%s: the live file is not one that recloser wrote; it is archived and recorded as adopted", shown(part)));
	if (part->live == LIVE_MISSING)
		warn(run, arena_printf(run->arena, "%s: the live file of seq %" PRId64 " is missing", shown(part), part->base->seq));
	if (!part->base || part->live != LIVE_SOUND)
		return RECLOSER_OK;
	RC_TRY(base_fingerprint(run, part, &fingerprint, error));
	if (strcmp(fingerprint, part->part.content.fingerprint) == 0) {
		part->outcome = PART_UNCHANGED;
		return RECLOSER_OK;
	}
	RC_TRY(check_schema(run, part, error));
	RC_TRY(count_keys(run, part, error));
	return judge_gone(run, part, error);
}

/* ---- partitions that the source no longer mentions ---- */

/* The scope of a load: the partition columns that have one value in all of it. A live partition inside the scope that the load
 * does not mention is absent; outside it (another month, another publisher) nothing follows. */
static recloser_status find_absent(struct run *run, recloser_error *error)
{
	const struct strings *columns = &run->spec->partition;
	struct strings live = {0};
	if (run->part_count == 0 || columns->count == 0 || !run->dataset->config)
		return RECLOSER_OK;
	bool *scope = arena_array(run->arena, columns->count, sizeof *scope), any = false, all = true;
	for (size_t c = 0; c < columns->count; c++) {
		scope[c] = true;
		for (size_t i = 1; i < run->part_count; i++)
			scope[c] &= strcmp(run->parts[i].part.batch_part->values[c], run->parts[0].part.batch_part->values[c]) == 0;
		any |= scope[c];
		all &= scope[c];
	}
	if (!any || all || run->options->only_count)
		return RECLOSER_OK;
	RC_TRY(ledger_partitions(run->dataset, run->arena, &live, error));
	for (size_t k = 0; k < live.count; k++) {
		bool inside = true, mentioned = false;
		for (size_t i = 0; i < run->part_count && !mentioned; i++)
			mentioned = strcmp(run->parts[i].part.batch_part->path, live.at[k]) == 0;
		if (mentioned)
			continue;
		const char **values = partition_values(run->arena, columns, live.at[k]);
		for (size_t c = 0; values && c < columns->count; c++)
			inside &= !scope[c] || strcmp(values[c], run->parts[0].part.batch_part->values[c]) == 0;
		if (values && inside)
			strings_add(run->arena, &run->absent, live.at[k]);
	}
	return RECLOSER_OK;
}

recloser_status run_compare(struct run *run, recloser_error *error)
{
	const json_t *pinned = run->dataset->config ? json_object_get(run->dataset->config, "covering") : NULL;
	RC_TRY(part_format_make(run->batch, json_is_boolean(pinned) ? json_is_true(pinned) : -1, &run->format, error));
	run->part_count = run->batch->part_count;
	run->parts = arena_array(run->arena, run->part_count + 1, sizeof *run->parts);
	struct part *parts = arena_array(run->arena, run->part_count + 1, sizeof *parts);
	RC_TRY(parts_content(&run->format, parts, error));
	for (size_t i = 0; i < run->part_count; i++) {
		run->parts[i].part = parts[i];
		RC_TRY(run_compare_part(run, &run->parts[i], error));
	}
	return find_absent(run, error);
}
