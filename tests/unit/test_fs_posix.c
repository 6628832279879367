/* SPDX-License-Identifier: Apache-2.0
 * The table of store/fs.h on the real file system: what each call promises and which errno it gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "commit_fixture.h"
#include "store/fs.h"

struct state {
	struct arena *arena;
	struct fs *fs;
	char directory[64];
};

static int setup(void **state)
{
	struct arena *arena = arena_new(NULL);
	struct state *s = arena_alloc(arena, sizeof *s);
	s->arena = arena;
	s->fs = fs_posix(arena);
	snprintf(s->directory, sizeof s->directory, "fs_posix.XXXXXX");
	*state = s;
	return mkdtemp(s->directory) ? 0 : -1;
}

static void remove_all(struct fs *fs, struct arena *arena, const char *path)
{
	struct strings names = {0};
	fs->ops->list(fs, path, arena, &names);
	for (size_t i = 0; i < names.count; i++) {
		const char *name = arena_printf(arena, "%s/%s", path, names.at[i]);
		struct fs_stat stat;
		if (fs->ops->stat(fs, name, &stat) == 0 && stat.is_directory)
			remove_all(fs, arena, name);
		else
			fs->ops->unlink(fs, name);
	}
	fs->ops->remove_directory(fs, path);
}

static int teardown(void **state)
{
	struct state *s = *state;
	remove_all(s->fs, s->arena, s->directory);
	arena_free(s->arena);
	return 0;
}

static const char *in(struct state *s, const char *name)
{
	return arena_printf(s->arena, "%s/%s", s->directory, name);
}

static void write_file(struct state *s, const char *name, const char *content)
{
	assert_int_equal(s->fs->ops->write(s->fs, in(s, name), content, strlen(content), 0644, NULL), 0);
}

static void assert_content(struct state *s, const char *name, const char *content)
{
	char *bytes;
	size_t count;
	assert_int_equal(s->fs->ops->read(s->fs, in(s, name), s->arena, &bytes, &count), 0);
	assert_int_equal(count, strlen(content));
	assert_string_equal(bytes, content);
}

static void writes_exclusively_and_reads(void **state)
{
	struct state *s = *state;
	struct fs *fs = s->fs;
	struct fs_stat stat;
	struct fs_file *kept;
	char hex[SHA256_HEX], expected[SHA256_HEX];
	uint64_t bytes;
	write_file(s, "a", "hello");
	assert_int_equal(fs->ops->write(fs, in(s, "a"), "x", 1, 0644, NULL), EEXIST);
	assert_content(s, "a", "hello");
	assert_int_equal(fs->ops->write(fs, in(s, "b"), "world", 5, 0400, &kept), 0);
	assert_int_equal(fs->ops->sync(fs, kept), 0);
	fs->ops->close(fs, kept);
	assert_int_equal(fs->ops->stat(fs, in(s, "b"), &stat), 0);
	assert_int_equal(stat.bytes, 5);
	assert_int_equal(stat.mode, 0400);
	assert_int_equal(stat.links, 1);
	assert_int_equal(stat.owner, getuid());
	assert_false(stat.is_directory);
	assert_int_equal(fs->ops->digest(fs, in(s, "b"), hex, &bytes), 0);
	sha256_of("world", 5, expected);
	assert_string_equal(hex, expected);
	assert_int_equal(bytes, 5);
	assert_int_equal(fs->ops->stat(fs, in(s, "absent"), &stat), ENOENT);
	assert_int_equal(fs->ops->digest(fs, in(s, "absent"), hex, NULL), ENOENT);
}

static void reads_more_than_a_block(void **state)
{
	struct state *s = *state;
	size_t count = 1234567, got;
	char *content = arena_alloc(s->arena, count + 1), *bytes;
	for (size_t i = 0; i < count; i++)
		content[i] = (char)('a' + i % 26);
	assert_int_equal(s->fs->ops->write(s->fs, in(s, "big"), content, count, 0644, NULL), 0);
	assert_int_equal(s->fs->ops->read(s->fs, in(s, "big"), s->arena, &bytes, &got), 0);
	assert_int_equal(got, count);
	assert_memory_equal(bytes, content, count);
	assert_int_equal(s->fs->ops->copy(s->fs, in(s, "big"), in(s, "copy")), 0);
	assert_int_equal(s->fs->ops->read(s->fs, in(s, "copy"), s->arena, &bytes, &got), 0);
	assert_int_equal(got, count);
	assert_memory_equal(bytes, content, count);
	assert_int_equal(s->fs->ops->copy(s->fs, in(s, "big"), in(s, "copy")), EEXIST);
}

static void lists_sorted(void **state)
{
	struct state *s = *state;
	struct strings names = {0};
	write_file(s, "b", "");
	write_file(s, "c", "");
	write_file(s, ".a", "");
	assert_int_equal(s->fs->ops->list(s->fs, s->directory, s->arena, &names), 0);
	assert_string_equal(strings_join(s->arena, &names, " "), ".a b c");
	assert_int_equal(s->fs->ops->list(s->fs, in(s, "absent"), s->arena, &names), ENOENT);
}

static void names_are_exclusive_where_they_must_be(void **state)
{
	struct state *s = *state;
	struct fs *fs = s->fs;
	struct fs_stat one, two;
	write_file(s, "a", "a");
	write_file(s, "b", "b");
	assert_int_equal(fs->ops->link(fs, in(s, "a"), in(s, "b")), EEXIST);
	assert_int_equal(fs->ops->rename_new(fs, in(s, "a"), in(s, "b")), EEXIST);
	assert_int_equal(fs->ops->link(fs, in(s, "a"), in(s, "c")), 0);
	assert_int_equal(fs->ops->stat(fs, in(s, "a"), &one), 0);
	assert_int_equal(fs->ops->stat(fs, in(s, "c"), &two), 0);
	assert_int_equal(one.inode, two.inode);
	assert_int_equal(one.links, 2);
	assert_int_equal(fs->ops->rename_new(fs, in(s, "c"), in(s, "d")), 0);
	assert_int_equal(fs->ops->rename(fs, in(s, "b"), in(s, "d")), 0);
	assert_content(s, "d", "b");
	assert_int_equal(fs->ops->rename(fs, in(s, "b"), in(s, "d")), ENOENT);
	/* Two names of one file: rename does nothing and says success. */
	assert_int_equal(fs->ops->link(fs, in(s, "d"), in(s, "e")), 0);
	assert_int_equal(fs->ops->rename(fs, in(s, "d"), in(s, "e")), 0);
	assert_content(s, "d", "b");
}

static void rename_keeps_inode_and_time(void **state)
{
	struct state *s = *state;
	struct fs_stat before, after;
	write_file(s, "a", "a");
	assert_int_equal(s->fs->ops->stat(s->fs, in(s, "a"), &before), 0);
	assert_int_equal(s->fs->ops->rename(s->fs, in(s, "a"), in(s, "b")), 0);
	assert_int_equal(s->fs->ops->stat(s->fs, in(s, "b"), &after), 0);
	assert_int_equal(before.inode, after.inode);
	assert_int_equal(before.mtime_ns, after.mtime_ns);
}

static void locks_exclude_and_die_with_their_holder(void **state)
{
	struct state *s = *state;
	struct fs *fs = s->fs;
	struct fs_lock *first, *second;
	assert_int_equal(fs->ops->lock(fs, in(s, "lock"), "holder one, a longer text\n", &first), 0);
	assert_int_equal(fs->ops->lock(fs, in(s, "lock"), "two\n", &second), EWOULDBLOCK);
	assert_content(s, "lock", "holder one, a longer text\n");
	fs->ops->unlock(fs, first);
	assert_int_equal(fs->ops->lock(fs, in(s, "lock"), "two\n", &second), 0);
	assert_content(s, "lock", "two\n");
	fs->ops->unlock(fs, second);
	int ready[2];
	char byte;
	assert_int_equal(pipe(ready), 0);
	pid_t child = fork();
	if (child == 0) {
		if (fs->ops->lock(fs, in(s, "lock"), NULL, &first) == 0 && write(ready[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(fs->ops->lock(fs, in(s, "lock"), NULL, &first), EWOULDBLOCK);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(ready[0]);
	close(ready[1]);
	assert_int_equal(fs->ops->lock(fs, in(s, "lock"), NULL, &first), 0);
	fs->ops->unlock(fs, first);
}

static void syncs(void **state)
{
	struct state *s = *state;
	struct fs *fs = s->fs;
	struct fs_file *directory;
	struct fs_traits traits;
	assert_int_equal(fs->ops->sync_directory(fs, s->directory), 0);
	assert_int_equal(fs->ops->sync_directory(fs, in(s, "absent")), ENOENT);
	assert_int_equal(fs->ops->describe(fs, s->directory, &traits), 0);
	assert_true(traits.name_max >= 143);
	assert_int_equal(fs->ops->open(fs, s->directory, false, &directory), 0);
	assert_int_equal(fs->ops->sync_all(fs, directory), traits.syncfs ? 0 : ENOSYS);
	fs->ops->close(fs, directory);
}

static void directories(void **state)
{
	struct state *s = *state;
	struct fs *fs = s->fs;
	struct fs_stat stat;
	assert_int_equal(fs->ops->make_directory(fs, in(s, "d/e")), ENOENT);
	assert_int_equal(fs->ops->make_directory(fs, in(s, "d")), 0);
	assert_int_equal(fs->ops->make_directory(fs, in(s, "d")), EEXIST);
	assert_int_equal(fs->ops->stat(fs, in(s, "d"), &stat), 0);
	assert_true(stat.is_directory);
	write_file(s, "d/f", "");
	assert_int_equal(fs->ops->remove_directory(fs, in(s, "d")), ENOTEMPTY);
	assert_int_equal(fs->ops->unlink(fs, in(s, "d/f")), 0);
	assert_int_equal(fs->ops->remove_directory(fs, in(s, "d")), 0);
}

/* The whole protocol once, for the modes and links that memory does not have. */
static void a_load_on_the_real_file_system(void **state)
{
	struct state *s = *state;
	const struct batch first[] = {{"state=TX/month=2026-07", "one"}}, second[] = {{"state=TX/month=2026-07", "two"}};
	struct run_options options = {.config = true};
	struct outcome out;
	struct fs_stat live, archived;
	mode_t old = umask(077);
	run_batches(s->fs, s->arena, s->directory, "r1", first, 1, &options, &out);
	assert_int_equal(out.status, RECLOSER_OK);
	run_batches(s->fs, s->arena, s->directory, "r2", second, 1, &options, &out);
	umask(old);
	assert_int_equal(out.status, RECLOSER_OK);
	const char *fault = check_dataset(s->fs, s->arena, s->directory);
	if (fault)
		fail_msg("%s", fault);
	assert_int_equal(s->fs->ops->stat(s->fs, in(s, "queue/state=TX/month=2026-07/part.parquet"), &live), 0);
	assert_int_equal(live.mode, 0444);
	const char *archive = arena_printf(s->arena, "_recloser/queue/%s", out.entries[0].archive);
	assert_int_equal(s->fs->ops->stat(s->fs, in(s, archive), &archived), 0);
	assert_int_equal(archived.inode, live.inode);
	assert_int_equal(live.links, 2);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(writes_exclusively_and_reads),
		TEST(reads_more_than_a_block),
		TEST(lists_sorted),
		TEST(names_are_exclusive_where_they_must_be),
		TEST(rename_keeps_inode_and_time),
		TEST(locks_exclude_and_die_with_their_holder),
		TEST(syncs),
		TEST(directories),
		TEST(a_load_on_the_real_file_system),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
