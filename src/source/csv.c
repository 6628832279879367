/* SPDX-License-Identifier: Apache-2.0
 * Opening a CSV source. */
#include <string.h>

#include "source/bytes.h"
#include "source/csv.h"

static void destroy_lock(void *pointer)
{
	pthread_mutex_destroy(pointer);
}

static bool begins_nocase(const char *at, size_t count, const char *word)
{
	for (; *word; word++, at++, count--) {
		char c = count ? *at : '\0';
		if (c >= 'A' && c <= 'Z')
			c = (char)(c + 32);
		if (c != *word)
			return false;
	}
	return true;
}

/* What is no table at all: nothing, blanks only, or the page that a server sends instead of a file. */
static recloser_status refuse_no_table(const struct bytes *bytes, const char *name, recloser_error *error)
{
	const char *at = bytes->at, *end = at + bytes->count;
	while (at < end && (*at == ' ' || (*at >= '\t' && *at <= '\r')))
		at++;
	if (at == end) {
		error_set(error, RECLOSER_REFUSED, "source.empty",
				  bytes->count ? "the file holds nothing but blank lines" : "the file is empty");
		error_where(error, "%s", name);
		return error_hint(error, "The download has probably failed; get the file again.");
	}
	if (begins_nocase(at, (size_t)(end - at), "<!doctype html") || begins_nocase(at, (size_t)(end - at), "<html")) {
		error_set(error, RECLOSER_REFUSED, "source.html", "this is an HTML page, not a CSV file");
		error_where(error, "%s", name);
		return error_hint(
			error,
			"Probably a download error: the server sent a message or a login page. Open the file in a browser to read it.");
	}
	return RECLOSER_OK;
}

/* .tsv and .tab say their delimiter; what the spec declares comes first. */
static struct csv_dialect dialect_of(const struct block *block, const char *name)
{
	struct csv_dialect dialect = {',', '"'};
	static const char *const tabbed[] = {".tsv", ".tab", ".tsv.gz", ".tab.gz", ".tsv.zst", ".tab.zst"};
	for (size_t i = 0; i < sizeof tabbed / sizeof *tabbed; i++) {
		size_t length = strlen(name), suffix = strlen(tabbed[i]);
		if (length >= suffix && text_equal_nocase(name + length - suffix, tabbed[i]))
			dialect.delimiter = '\t';
	}
	if (block->delimiter)
		dialect.delimiter = block->delimiter;
	if (block->quote)
		dialect.quote = block->quote == '\1' ? -1 : (unsigned char)block->quote;
	return dialect;
}

recloser_status csv_open(struct arena *arena, const struct source_request *request, struct source ***out, size_t *count,
						 recloser_error *error)
{
	const struct input *input = request->input;
	struct bytes bytes;
	RC_TRY(bytes_open(arena, input->read_path, request->block->encoding, request->spool, &bytes, error));
	RC_TRY(refuse_no_table(&bytes, input->name, error));
	struct csv *csv = arena_alloc(arena, sizeof *csv);
	csv->name = input->name;
	csv->dialect = dialect_of(request->block, input->name);
	csv->text = bytes.at;
	csv->end = bytes.at + bytes.count;
	csv->source.ops = &csv_ops;
	csv->source.impl = csv;
	csv->source.facts =
		(struct source_facts){.format = "csv", .encoding = bytes.encoding, .geometry_column = -1, .bytes = bytes.count};
	RC_TRY(csv_layout(arena, request, csv, error));
	csv->next = csv->table;
	csv->next_line = csv->table_line;
	csv->next_row = 1;
	pthread_mutex_init(&csv->lock, NULL);
	arena_defer(arena, destroy_lock, &csv->lock);
	*out = arena_array(arena, 1, sizeof **out);
	(*out)[0] = &csv->source;
	*count = 1;
	return RECLOSER_OK;
}
