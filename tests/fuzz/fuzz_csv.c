#define _GNU_SOURCE /* memfd_create */
/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a CSV file: refused with a reason, or read to its end, every cell of every row handed out, as UTF-8, and
 * record numbers going up.
 */
#include "fuzz.h"

#include <setjmp.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/text.h"
#include "engine/chunk.h"
#include "source/source.h"

/* The engine's chunk, as one that only looks. */
struct chunk {
	size_t columns;
	int64_t record; /* the last seen */
	uint8_t put[CHUNK_ROWS * 64];
};
enum { MOST_COLUMNS = 64 };

static void note(struct chunk *chunk, size_t column, size_t row)
{
	PROMISE(column < chunk->columns && row < CHUNK_ROWS);
	chunk->put[row * chunk->columns + column] = 1;
}

void chunk_put_null(struct chunk *chunk, size_t column, size_t row)
{
	note(chunk, column, row);
}

void chunk_put_text(struct chunk *chunk, size_t column, size_t row, const char *bytes, size_t count)
{
	note(chunk, column, row);
	PROMISE(text_utf8_fault(bytes, count) == SIZE_MAX);
}

void chunk_put_int(struct chunk *chunk, size_t column, size_t row, int64_t value)
{
	note(chunk, column, row);
	if (column == SOURCE_ROW) {
		PROMISE(value > chunk->record);
		chunk->record = value;
	}
}

void chunk_put_double(struct chunk *chunk, size_t column, size_t row, double value)
{
	(void)value;
	note(chunk, column, row);
}

void chunk_put_bool(struct chunk *chunk, size_t column, size_t row, int value)
{
	(void)value;
	note(chunk, column, row);
}

static void read_all(struct source *source)
{
	static struct chunk chunk;
	chunk.columns = source->column_count + SOURCE_FIXED;
	chunk.record = 0;
	if (chunk.columns > MOST_COLUMNS)
		return;
	recloser_error error = {0};
	void *own = source->ops->start != NULL ? source->ops->start(source) : NULL;
	uint64_t rows = 0;
	for (size_t got; memset(chunk.put, 0, sizeof chunk.put), (got = source->ops->next(source, own, &chunk, &error)) > 0;) {
		PROMISE(got <= CHUNK_ROWS);
		for (size_t i = 0; i < got * chunk.columns; i++)
			PROMISE(chunk.put[i] == 1);
		rows += got;
	}
	if (source->ops->stop != NULL)
		source->ops->stop(source, own);
	if (error.status == RECLOSER_OK)
		PROMISE(source->counts.rows == rows);
	else
		PROMISE(error.what[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	int descriptor = memfd_create("fuzz", 0);
	PROMISE(descriptor >= 0 && write(descriptor, bytes, count) == (ssize_t)count);
	char path[64];
	snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
	struct arena *arena = arena_new(NULL);
	if (arena == NULL || setjmp(*arena_guard(arena)) != 0)
		abort();
	struct input input = {.path = "fuzz.csv", .name = "fuzz.csv", .read_path = path};
	struct block block = {0};
	struct source_request request = {.input = &input, .block = &block, .spool = "/tmp"};
	struct source **sources = NULL;
	size_t source_count = 0;
	recloser_error error = {0};
	recloser_status status = csv_open(arena, &request, &sources, &source_count, &error);
	PROMISE(status == error.status);
	if (status == RECLOSER_OK) {
		PROMISE(source_count == 1);
		read_all(sources[0]);
	} else {
		PROMISE(status == RECLOSER_REFUSED && error.what[0] != '\0');
	}
	arena_free(arena);
	close(descriptor);
	return 0;
}
