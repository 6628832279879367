/* SPDX-License-Identifier: Apache-2.0
 * Step 2. The lock lets writers wait for each other; no safety rests on it, except where a file system has neither hard
 * links nor a rename that does not replace (place.c). */
#include "commit/protocol.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

static const double FIRST_PAUSE = 0.005, LONGEST_PAUSE = 0.25, TELL_EVERY = 1.0;

bool means_no_locks(int number)
{
	return number == ENOLCK || number == ENOSYS || number == EOPNOTSUPP;
}

const char *lock_text(struct arena *arena, const char *run)
{
	char host[256] = "";
	(void)!gethostname(host, sizeof host - 1);
	return arena_printf(arena, "host %s, pid %ld, run %s, since %s\n", host, (long)getpid(), run,
						clock_text(arena, clock_now_us()));
}

const char *lock_holder(struct dataset *dataset, struct arena *arena)
{
	char *text;
	size_t count;
	int failed = dataset->fs->ops->read(dataset->fs, path_control(dataset, arena, "lock"), arena, &text, &count);
	if (failed || count == 0)
		return "an unknown writer";
	text[strcspn(text, "\n")] = '\0';
	return text;
}

static void pause_for(double seconds)
{
	struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
	(void)nanosleep(&time, NULL);
}

static recloser_status give_up(struct dataset *dataset, struct arena *arena, recloser_error *error)
{
	error_set(error, RECLOSER_CONFLICT, "commit.locked", "another writer holds the dataset: %s",
			  lock_holder(dataset, arena));
	error_where(error, "%s", path_control(dataset, arena, "lock"));
	return error_hint(error, "wait for it with a longer --wait, or stop it; nothing needs to be cleaned up by hand");
}

static void tell(struct dataset *dataset, struct arena *arena, const struct commit_options *options)
{
	struct arena *scratch = arena_new(arena);
	if (options->waiting)
		options->waiting(options->arg, lock_holder(dataset, scratch));
	arena_free(scratch);
}

recloser_status lock_take(struct session *session, const char *run, const struct commit_options *options,
						  struct fs_lock **out, recloser_error *error)
{
	struct dataset *dataset = session->dataset;
	struct fs *fs = dataset->fs;
	struct arena *arena = session->arena;
	const char *path = path_control(dataset, arena, "lock"), *text = lock_text(arena, run);
	double start = clock_monotonic(), told = start - TELL_EVERY, pause = FIRST_PAUSE;
	*out = NULL;
	for (;;) {
		int failed = fs->ops->lock(fs, path, text, out);
		if (failed == 0 || (means_no_locks(failed) && (session->can.hard_links || session->can.rename_new)))
			return RECLOSER_OK;
		if (failed != EWOULDBLOCK && failed != EAGAIN)
			return error_errno(error, "store.lock", failed, "lock", path);
		double now = clock_monotonic();
		if (now - start >= options->wait_seconds)
			return give_up(dataset, arena, error);
		if (now - told >= TELL_EVERY) {
			tell(dataset, arena, options);
			told = now;
		}
		pause_for(pause);
		pause = pause * 2 < LONGEST_PAUSE ? pause * 2 : LONGEST_PAUSE;
	}
}
