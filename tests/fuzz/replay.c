/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a fuzz target without a fuzzer: over the files of a folder, and over copies of each that are damaged in ways that
 * follow from the copy's number, so that a failure can be had again. RECLOSER_TEST_FULL=1 makes a hundred times as many.
 */
#include "fuzz.h"

#include <dirent.h>
#include <string.h>

enum { LARGEST = 1 << 20 };

/* xorshift64: the same numbers everywhere. */
static uint64_t next_number(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* One to eight changes: a bit, a byte, a range removed or doubled, the end cut off. Returns the new length. */
static size_t damage(uint8_t *bytes, size_t count, uint64_t *state)
{
	static const char telling[] = "\0\xff\"'\\,;:{}[]\n\r\t #&*|-0919eE.\x80\xc3";
	for (uint64_t changes = 1 + next_number(state) % 8; changes > 0 && count > 0; changes--) {
		size_t at = (size_t)(next_number(state) % count);
		size_t length = (size_t)(next_number(state) % (count - at) % 64) + 1;
		switch (next_number(state) % 6) {
		case 0:
			bytes[at] ^= (uint8_t)(1u << next_number(state) % 8);
			break;
		case 1:
			bytes[at] = (uint8_t)next_number(state);
			break;
		case 2:
			bytes[at] = (uint8_t)telling[next_number(state) % (sizeof telling - 1)];
			break;
		case 3:
			memmove(bytes + at, bytes + at + length, count - at - length);
			count -= length;
			break;
		case 4:
			if (count + length <= LARGEST) {
				memmove(bytes + at + length, bytes + at, count - at);
				count += length;
			}
			break;
		default:
			count = at;
		}
	}
	return count;
}

static void replay(const char *path, unsigned long copies)
{
	static uint8_t seed[LARGEST], bytes[LARGEST];
	FILE *file = fopen(path, "rb");
	PROMISE(file != NULL);
	size_t count = fread(seed, 1, LARGEST, file);
	fclose(file);
	LLVMFuzzerTestOneInput(seed, count);
	for (unsigned long copy = 1; copy <= copies; copy++) {
		uint64_t state = copy * 0x9E3779B97F4A7C15u;
		memcpy(bytes, seed, count);
		size_t damaged = damage(bytes, count, &state);
		/* Of its own size, so that the sanitizers see a byte too far. */
		uint8_t *exact = malloc(damaged > 0 ? damaged : 1);
		PROMISE(exact != NULL);
		memcpy(exact, bytes, damaged);
		LLVMFuzzerTestOneInput(exact, damaged);
		free(exact);
	}
}

int main(int argc, char **argv)
{
	PROMISE(argc == 2);
	const char *full = getenv("RECLOSER_TEST_FULL");
	unsigned long copies = full != NULL && strcmp(full, "1") == 0 ? 50000 : 500;
	DIR *directory = opendir(argv[1]);
	PROMISE(directory != NULL);
	unsigned long files = 0;
	for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
		char path[4096];
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
		replay(path, copies);
		files++;
	}
	closedir(directory);
	PROMISE(files > 0);
	printf("%lu seeds, %lu damaged copies of each\n", files, copies);
	return 0;
}
