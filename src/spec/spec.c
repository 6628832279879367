/* SPDX-License-Identifier: Apache-2.0
 * The top level of the spec: the fields that stand alone, the paths, and the order in which the parts are read. */
#include "spec/spec.h"

#include "spec/parts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static recloser_status read_publisher(const struct reader *reader, const struct field *field, const struct node *value,
									  void *target)
{
	static const struct field fields[] = {
		{"column", field_text, offsetof(struct spec, publisher_column), NULL},
		{"value", field_text, offsetof(struct spec, publisher_value), NULL},
	};
	struct spec *spec = target;
	if (value->kind == NODE_TEXT)
		return field_text(reader, field, value, &spec->publisher_column);
	RC_TRY(fields_read(reader, value, "\"publisher\"", fields, 2, spec));
	if (!spec->publisher_column)
		return fault_at(reader, value->mark, "spec.missing_field", "\"publisher\" needs column");
	return RECLOSER_OK;
}

static recloser_status read_identity_entry(const struct reader *reader, const struct node *value, struct identity *entry)
{
	static const struct field fields[] = {{"sql", field_text, offsetof(struct identity, sql), NULL}};
	static const struct field name = {"identity", field_text, 0, NULL};
	entry->mark = value->mark;
	if (value->kind == NODE_TEXT)
		return field_text(reader, &name, value, &entry->column);
	RC_TRY(fields_read(reader, value, "an entry of \"identity\"", fields, 1, entry));
	if (!entry->sql)
		return fault_at(reader, value->mark, "spec.no_value",
						"an entry of \"identity\" is a column's name or {sql: \"...\"}");
	return RECLOSER_OK;
}

static recloser_status read_identity(const struct reader *reader, const struct field *field, const struct node *value,
									 void *target)
{
	struct spec *spec = target;
	(void)field;
	spec->identity_count = value->kind == NODE_LIST ? value->count : 1;
	spec->identity = arena_array(reader->arena, spec->identity_count + 1, sizeof *spec->identity);
	for (size_t i = 0; i < spec->identity_count; i++) {
		struct identity *entry = &spec->identity[i];
		RC_TRY(read_identity_entry(reader, value->kind == NODE_LIST ? value->members[i].value : value, entry));
		for (size_t k = 0; k < i && entry->column; k++)
			if (spec->identity[k].column && strcmp(spec->identity[k].column, entry->column) == 0)
				return fault_at(reader, entry->mark, "spec.duplicate_entry", "\"identity\" names \"%s\" twice",
								entry->column);
	}
	return RECLOSER_OK;
}

static recloser_status read_key(const struct reader *reader, const struct field *field, const struct node *value,
								void *target)
{
	static const struct field fields[] = {
		{"identity", read_identity, 0, NULL},
		{"id", field_text, offsetof(struct spec, key_id), NULL},
		{"column", field_text, offsetof(struct spec, key_column), NULL},
		{"escape", field_flag, offsetof(struct spec, key_escape), NULL},
	};
	(void)field;
	if (value->kind != NODE_MAP) {
		fault_at(reader, value->mark, "spec.kind", "\"key\" must be a mapping");
		return error_hint(reader->error,
						  "write key: {identity: [queue_id]}, or key: {id: queue_id} for an id that is stable by itself");
	}
	return fields_read(reader, value, "\"key\"", fields, sizeof fields / sizeof *fields, target);
}

static const char *const ties_words[] = {"last", "refuse", NULL};

static recloser_status read_ties(const struct reader *reader, const struct field *field, const struct node *value,
								 void *target)
{
	int index = 0;
	RC_TRY(field_word(reader, field, value, &index));
	*(bool *)target = index == 1;
	return RECLOSER_OK;
}

static recloser_status read_revision(const struct reader *reader, const struct field *field, const struct node *value,
									 void *target)
{
	static const struct field fields[] = {
		{"column", field_text, offsetof(struct spec, revision), NULL},
		{"ties", read_ties, offsetof(struct spec, ties_refuse), ties_words},
	};
	struct spec *spec = target;
	if (value->kind == NODE_TEXT)
		return field_text(reader, field, value, &spec->revision);
	RC_TRY(fields_read(reader, value, "\"revision\"", fields, 2, spec));
	if (spec->revision || node_get(value, "ties"))
		return RECLOSER_OK;
	return fault_at(reader, value->mark, "spec.missing_field", "\"revision\" needs column or ties");
}

static recloser_status read_other_columns(const struct reader *reader, const struct field *field, const struct node *value,
										  void *target)
{
	int index = 0;
	RC_TRY(field_word(reader, field, value, &index));
	*(bool *)target = index == 0;
	return RECLOSER_OK;
}

static recloser_status read_archive(const struct reader *reader, const struct field *field, const struct node *value,
									void *target)
{
	static const struct field fields[] = {{"sources", field_flag, offsetof(struct spec, archive_sources), NULL}};
	(void)field;
	return fields_read(reader, value, "\"archive\"", fields, 1, target);
}

static recloser_status read_store(const struct reader *reader, const struct field *field, const struct node *value,
								  void *target)
{
	static const struct field fields[] = {{"single_writer", field_flag, offsetof(struct spec, single_writer), NULL},
										  {"no_checksums", field_flag, offsetof(struct spec, no_checksums), NULL}};
	(void)field;
	return fields_read(reader, value, "\"store\"", fields, 2, target);
}

static const char *const geoparquet_words[] = {"1.1", "2.0", NULL};

static recloser_status read_geoparquet(const struct reader *reader, const struct field *field, const struct node *value,
									   void *target)
{
	int index = 0;
	RC_TRY(field_word(reader, field, value, &index));
	*(const char **)target = geoparquet_words[index];
	return RECLOSER_OK;
}

static recloser_status read_geometry(const struct reader *reader, const struct field *field, const struct node *value,
									 void *target)
{
	(void)field;
	return geometry_read(reader, value, target);
}

/* Read by sources_read, which needs several of them at once. */
static recloser_status read_elsewhere(const struct reader *reader, const struct field *field, const struct node *value,
									  void *target)
{
	(void)reader, (void)field, (void)value, (void)target;
	return RECLOSER_OK;
}

static const char *const other_words[] = {"keep", "drop", NULL};
static const char *const order_words[] = {"identity", "hilbert", "source", NULL};
static const char *const copy_words[] = {"dictionary", "plain", "path", NULL};
static const char *const schema_words[] = {"grow", "freeze", NULL};

#define IN_SPEC(member) offsetof(struct spec, member)
static const struct field spec_fields[] = {
	{"dataset", field_text, IN_SPEC(dataset), NULL},
	{"root", field_text, IN_SPEC(root), NULL},
	{"common", read_elsewhere, 0, NULL},
	{"source", read_elsewhere, 0, NULL},
	{"sources", read_elsewhere, 0, NULL},
	{"columns", read_elsewhere, 0, NULL},
	{"publisher", read_publisher, 0, NULL},
	{"key", read_key, 0, NULL},
	{"partition", field_names, IN_SPEC(partition), NULL},
	{"series", field_text, IN_SPEC(series), NULL},
	{"revision", read_revision, 0, NULL},
	{"geometry", read_geometry, IN_SPEC(geometry), NULL},
	{"other_columns", read_other_columns, IN_SPEC(other_columns_keep), other_words},
	{"quarantine", field_guard, IN_SPEC(quarantine), NULL},
	{"disappeared", field_carried, IN_SPEC(disappeared), NULL},
	{"totals", field_totals, 0, NULL},
	{"guards", field_guards, 0, NULL},
	{"freshness", field_freshness, IN_SPEC(freshness), NULL},
	{"order", field_word, IN_SPEC(order), order_words},
	{"partition_columns", field_word, IN_SPEC(partition_columns), copy_words},
	{"schema", field_word, IN_SPEC(schema), schema_words},
	{"geoparquet", read_geoparquet, IN_SPEC(geoparquet), geoparquet_words},
	{"archive", read_archive, 0, NULL},
	{"store", read_store, 0, NULL},
	{"temp", field_text, IN_SPEC(temp_directory), NULL},
};

/* ---- paths ---- */

static const char *directory_of(struct arena *arena, const char *path)
{
	const char *slash = strrchr(path, '/');
	if (!slash)
		return ".";
	return slash == path ? "/" : arena_strndup(arena, path, (size_t)(slash - path));
}

/* A path of the spec as seen from the working directory; trailing slashes go, so that paths built on it are alike. */
static const char *resolve(struct arena *arena, const char *directory, const char *path)
{
	while (text_starts(path, "./") && path[2] && path[2] != '/')
		path += 2;
	char *joined = *path == '/' || strstr(path, "://") || strcmp(directory, ".") == 0
					   ? arena_strdup(arena, path)
					   : arena_printf(arena, "%s%s%s", directory, text_ends(directory, "/") ? "" : "/", path);
	size_t length = strlen(joined);
	while (length > 1 && joined[length - 1] == '/')
		joined[--length] = '\0';
	return joined;
}

const char *spec_resolve(struct arena *arena, const struct spec *spec, const char *path)
{
	return resolve(arena, spec->directory, path);
}

static recloser_status check_root(const struct reader *reader, const struct node *top, const char *root)
{
	const char *scheme = strstr(root, "://");
	if (!scheme)
		return RECLOSER_OK;
	struct mark mark = node_get(top, "root")->mark;
	if (!text_starts(root, "s3://") && !text_starts(root, "az://") && !text_starts(root, "gs://")) {
		fault_at(reader, mark, "spec.root", "a dataset can't be kept at \"%.*s\"", (int)(scheme - root + 3), root);
		return error_hint(reader->error, "root is a folder, or s3://, az:// or gs:// with bucket and prefix");
	}
	if (!scheme[3] || scheme[3] == '/')
		return fault_at(reader, mark, "spec.root", "\"root\" names no bucket");
	return RECLOSER_OK;
}

/* The name is a folder that readers must not take for hidden, and part of an object's name. */
static recloser_status check_dataset(const struct reader *reader, const struct node *top, const char *name)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
	if (name[strspn(name, allowed)] == '\0' && *name != '_' && *name != '-' && strlen(name) <= 100)
		return RECLOSER_OK;
	fault_at(reader, node_get(top, "dataset")->mark, "spec.name", "\"%s\" can't be the name of a dataset", name);
	return error_hint(reader->error,
					  "it is the name of a folder: letters, digits, _ and -, beginning with a letter or digit");
}

static recloser_status need_fields(const struct reader *reader, const struct node *top)
{
	static const struct {
		const char *name, *hint;
	} needed[] = {
		{"dataset", "dataset: queue names the folder below root"},
		{"root", "root: lake names the folder (or s3://bucket/prefix) that holds the dataset"},
		{"key", "write key: {identity: [columns that name a row]}; without a key a second load could only append or delete"},
		{"partition", "write partition: [state, month], or partition: [] for one file"},
	};
	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
		if (node_get(top, needed[i].name))
			continue;
		fault_at(reader, top->mark, "spec.missing_field", "the spec has no \"%s\"", needed[i].name);
		return error_hint(reader->error, "%s", needed[i].hint);
	}
	return RECLOSER_OK;
}

/* A stable id is an identity of one field; only the way from it to the key differs (key_id). */
static void identity_from_id(struct arena *arena, struct spec *spec)
{
	spec->identity = arena_array(arena, 1, sizeof *spec->identity);
	spec->identity[0] = (struct identity){.column = spec->key_id};
	spec->identity_count = 1;
}

recloser_status spec_parse(struct arena *arena, const char *path, const char *bytes, size_t count, struct spec **out,
						   recloser_error *error)
{
	const struct reader reader = {arena, path, bytes, count, error};
	if (count > SPEC_MAX_BYTES) {
		error_set(error, RECLOSER_USAGE, "spec.size", "the spec is larger than 1 MiB");
		return error_where(error, "%s", path);
	}
	const struct node *top;
	RC_TRY(yaml_tree_read(&reader, &top));
	struct spec *spec = arena_alloc(arena, sizeof *spec);
	spec->path = path;
	spec->directory = directory_of(arena, path);
	spec->key_column = "asset_key";
	spec->other_columns_keep = true;
	spec->geoparquet = geoparquet_words[0];
	policies_default(spec);
	RC_TRY(geometry_read(&reader, NULL, &spec->geometry));
	RC_TRY(fields_read(&reader, top, "a spec", spec_fields, sizeof spec_fields / sizeof *spec_fields, spec));
	RC_TRY(need_fields(&reader, top));
	RC_TRY(check_dataset(&reader, top, spec->dataset));
	RC_TRY(check_root(&reader, top, spec->root));
	spec->root = resolve(arena, spec->directory, spec->root);
	if (spec->temp_directory)
		spec->temp_directory = resolve(arena, spec->directory, spec->temp_directory);
	RC_TRY(sources_read(&reader, top, spec));
	RC_TRY(spec_validate(&reader, top, spec));
	spec_digest(arena, bytes, count, spec);
	if (spec->key_id)
		identity_from_id(arena, spec);
	*out = spec;
	return RECLOSER_OK;
}

static void close_file(void *file)
{
	fclose(file);
}

recloser_status spec_read(struct arena *arena, const char *path, struct spec **out, recloser_error *error)
{
	FILE *file = fopen(path, "rb");
	if (!file)
		return error_errno(error, "spec.open", errno, "open", path);
	struct arena *reading = arena_new(arena);
	arena_defer(reading, close_file, file);
	char *bytes = arena_alloc(reading, SPEC_MAX_BYTES + 1);
	size_t count = fread(bytes, 1, SPEC_MAX_BYTES + 1, file);
	recloser_status status = ferror(file) ? error_errno(error, "spec.read", errno, "read", path)
										  : spec_parse(arena, arena_strdup(arena, path), bytes, count, out, error);
	arena_free(reading); /* the struct holds copies of what it keeps */
	return status;
}

const struct column *block_column(const struct block *block, const char *name)
{
	for (size_t i = 0; i < block->column_count; i++)
		if (strcmp(block->columns[i].name, name) == 0)
			return &block->columns[i];
	return NULL;
}

bool spec_takes_setting(const struct spec *spec, const char *column)
{
	for (size_t i = 0; i < spec->source_count; i++)
		for (size_t k = 0; k < spec->sources[i].block_count; k++) {
			const struct column *found = block_column(&spec->sources[i].blocks[k], column);
			if (found && found->origin == ORIGIN_SET)
				return true;
		}
	return false;
}
