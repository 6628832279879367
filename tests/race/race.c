/* SPDX-License-Identifier: Apache-2.0
 * Writers race for one dataset on the real file system; after each round all promises of the commit protocol are looked at.
 *
 *   race [--rounds N] [--seed N] [--directory DIR] [--keep]
 *
 * A round forks two or three writers that replace the same two partitions, a reader, and sometimes a process that recovers
 * in a loop. Pauses are put before random calls, a writer may be killed or stopped for a while, and in some rounds locks
 * vanish. Then the parent recovers and checks:
 *   - both partitions hold the bytes of one batch, whole; the reader never met anything else, nor a hole
 *   - the ledger is contiguous and describes what is live, and every version is archived with its bytes (check_dataset)
 *   - whoever reported success has a version in the ledger, and whoever has one did not report a conflict
 * Part files are text: the commit layer does not look into them. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "commit_fixture.h"
#include "fs_test.h"

enum { MOST_WRITERS = 3, LINES = 40, ROUNDS_PER_ROOT = 50, CHECK_FAILED = 90 };
enum vanish { LOCKS_WORK, NO_DATASET_LOCK, NO_LOCKS };
static const char *const partitions[] = {"state=TX/month=2026-07", "state=OK/month=2026-07"};

struct round {
	const char *root;
	unsigned number, writers;
	enum vanish vanish;
	bool sweeper;
};

struct result { /* what a writer tells through its pipe */
	recloser_status status;
	char what[200];
};

struct writer {
	pid_t process;
	int pipe;
	char run[40];
	bool killed, told;
	struct result result;
};

struct tally {
	unsigned long loaded, conflicts, failed, killed, stopped, foreign;
};

static _Noreturn void fault(const struct round *round, const char *what)
{
	fprintf(stderr, "race: round %u: %s\nleft for inspection: %s\n", round->number, what, round->root);
	exit(1);
}

static unsigned below(unsigned bound)
{
	return (unsigned)(random() % bound);
}

static void pause_us(unsigned us)
{
	nanosleep(&(struct timespec){us / 1000000, (long)(us % 1000000) * 1000}, NULL);
}

/* ---- content that shows whether it is whole ---- */

static const char *content_of(struct arena *arena, const char *run, const char *partition)
{
	struct text text = text_on(arena);
	for (int i = 0; i < LINES; i++)
		text_addf(&text, "%s %s\n", run, partition);
	return text.at;
}

/* The run that wrote it, or NULL when it is not whole. */
static const char *run_of(struct arena *arena, const char *content, const char *partition)
{
	size_t length = strcspn(content, " ");
	const char *run = arena_strndup(arena, content, length);
	return strcmp(content_of(arena, run, partition), content) == 0 ? run : NULL;
}

/* ---- children ---- */

static int disturb(void *arg, enum fs_call call, const char *path, const char *to)
{
	const struct round *round = arg;
	(void)to;
	if (call == CALL_LOCK &&
		(round->vanish == NO_LOCKS || (round->vanish == NO_DATASET_LOCK && text_ends(path, "queue/lock"))))
		return ENOLCK;
	if (below(40) == 0)
		pause_us(below(3) ? below(200) : below(3000));
	return 0;
}

static struct fs *disturbed(const struct round *round, struct arena *arena)
{
	struct fs_hook hook = {(void *)round, disturb, NULL};
	return fs_wrap(arena, fs_posix(arena), &hook);
}

static _Noreturn void write_batch(const struct round *round, const struct writer *writer, int out)
{
	struct arena *arena = arena_new(NULL);
	struct run_options options = {.wait_seconds = below(3) ? 10 : 0, .config = true};
	struct batch batches[2];
	struct outcome outcome;
	struct result result;
	memset(&result, 0, sizeof result);
	for (int i = 0; i < 2; i++)
		batches[i] = (struct batch){partitions[i], content_of(arena, writer->run, partitions[i])};
	run_batches(disturbed(round, arena), arena, round->root, writer->run, batches, 2, &options, &outcome);
	result.status = outcome.status;
	snprintf(result.what, sizeof result.what, "%.190s", outcome.error.what);
	if (write(out, &result, sizeof result) != (ssize_t)sizeof result)
		_exit(CHECK_FAILED);
	_exit(0);
}

static _Noreturn void read_for_ever(const struct round *round)
{
	for (bool met[2] = {false, false};;) {
		struct arena *arena = arena_new(NULL);
		struct fs *fs = fs_posix(arena);
		for (int i = 0; i < 2; i++) {
			const char *content = live_content(fs, arena, round->root, partitions[i]);
			if (content ? run_of(arena, content, partitions[i]) == NULL && strcmp(content, "foreign") != 0 : met[i]) {
				fprintf(stderr, "race: round %u: a reader met %s in %s\n", round->number,
						content ? "a broken file" : "a hole", partitions[i]);
				_exit(CHECK_FAILED);
			}
			met[i] = met[i] || content;
		}
		arena_free(arena);
		pause_us(50);
	}
}

/* With locks that work, also where those of the writers vanish: it takes them for dead and sweeps their staging. */
static _Noreturn void recover_for_ever(const struct round *round)
{
	struct round locked = *round;
	locked.vanish = LOCKS_WORK;
	for (;;) {
		struct arena *arena = arena_new(NULL);
		struct dataset *dataset;
		struct recovery found;
		recloser_error error = {0};
		if (dataset_open(arena, disturbed(&locked, arena), round->root, "queue", &dataset, &error) == RECLOSER_OK)
			(void)!recover(dataset, arena, false, &found, &error); /* may lose a race; what it leaves is checked */
		arena_free(arena);
		pause_us(below(2000));
	}
}

static pid_t start_helper(const struct round *round, void (*work)(const struct round *))
{
	pid_t process = fork();
	if (process == 0) {
		srandom((unsigned)getpid() ^ round->number);
		work(round);
	}
	return process;
}

static void start_writer(const struct round *round, struct writer *writer, unsigned index)
{
	int ends[2];
	memset(writer, 0, sizeof *writer);
	snprintf(writer->run, sizeof writer->run, "r%u-%u", round->number, index);
	if (pipe(ends) != 0)
		fault(round, "pipe");
	unsigned seed = (unsigned)random();
	writer->process = fork();
	if (writer->process == 0) {
		close(ends[0]);
		srandom(seed);
		write_batch(round, writer, ends[1]);
	}
	close(ends[1]);
	writer->pipe = ends[0];
}

/* ---- the parent's part ---- */

static void torment(struct writer *writers, unsigned count, struct tally *tally)
{
	struct writer *victim = &writers[below(count)];
	pause_us(below(4) ? below(3000) : below(20000));
	switch (below(4)) {
	case 0:
		victim->killed = true;
		tally->killed++;
		kill(victim->process, SIGKILL);
		break;
	case 1:
		tally->stopped++;
		kill(victim->process, SIGSTOP);
		pause_us(below(30000));
		kill(victim->process, SIGCONT);
		break;
	default:
		break;
	}
}

static void collect(const struct round *round, struct writer *writer, struct tally *tally)
{
	int status;
	writer->told = read(writer->pipe, &writer->result, sizeof writer->result) == (ssize_t)sizeof writer->result;
	close(writer->pipe);
	waitpid(writer->process, &status, 0);
	if (!writer->told && !writer->killed)
		fault(round, "a writer died by itself");
	if (!writer->told)
		return;
	tally->loaded += writer->result.status == RECLOSER_OK;
	tally->conflicts += writer->result.status == RECLOSER_CONFLICT;
	if (writer->result.status == RECLOSER_OK || writer->result.status == RECLOSER_CONFLICT)
		return;
	tally->failed++;
	if (round->vanish != NO_LOCKS) /* there a sweeper may take staging away from a living run: it fails, nothing more */
		fault(round, writer->result.what);
}

static void stop_helper(const struct round *round, pid_t process)
{
	int status;
	kill(process, SIGKILL);
	waitpid(process, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == CHECK_FAILED)
		fault(round, "see above");
}

/* How many versions, and voids, a run has in the ledger. */
static void count_records(const struct round *round, struct arena *arena, struct dataset *dataset, const char *run,
						  unsigned *versions, unsigned *voids, unsigned *all_voids)
{
	*versions = *voids = 0;
	for (int i = 0; i < 2; i++) {
		struct record *record;
		recloser_error error = {0};
		for (int64_t seq = 1;; seq++) {
			if (ledger_read(dataset, arena, partitions[i], seq, &record, &error) != RECLOSER_OK)
				fault(round, error.what);
			if (!record)
				break;
			bool is_void = strcmp(record->kind, "void") == 0;
			*all_voids += is_void;
			if (!record->run || strcmp(record->run, run) != 0)
				continue;
			*voids += is_void;
			*versions += strcmp(record->kind, "version") == 0;
		}
	}
}

static void check_writer(const struct round *round, struct arena *arena, struct dataset *dataset,
						 const struct writer *writer, unsigned *all_voids)
{
	unsigned versions, voids;
	count_records(round, arena, dataset, writer->run, &versions, &voids, all_voids);
	/* Where writers have no locks and a sweeper with locks takes them for dead, a finisher that comes late to a commit that was
	 * closed under it may record void under a number that another run has planned: that run is then live in one partition
	 * and a conflict in the other. It must not have been told as success; the next check sees to that. */
	if (versions + voids != 0 && versions + voids != 2 && round->vanish != NO_LOCKS)
		fault(round, "a run is recorded in one partition only");
	if (voids && round->vanish != NO_LOCKS)
		fault(round, "a run became void although nobody took its staging away");
	if (writer->told && writer->result.status == RECLOSER_OK && versions != 2)
		fault(round, "success was reported for a version that the ledger does not have");
	if (writer->told && writer->result.status == RECLOSER_CONFLICT && versions == 2)
		fault(round, "a conflict was reported for a version that became live");
}

static void check_live(const struct round *round, struct fs *fs, struct arena *arena, bool same_run)
{
	const char *runs[2];
	for (int i = 0; i < 2; i++) {
		const char *content = live_content(fs, arena, round->root, partitions[i]);
		runs[i] = content ? run_of(arena, content, partitions[i]) : "nothing";
		if (content && !runs[i] && strcmp(content, "foreign") != 0)
			fault(round, "a live file is not whole");
		if (!runs[i])
			runs[i] = "foreign";
	}
	if (same_run && strcmp(runs[0], runs[1]) != 0)
		fault(round, arena_printf(arena, "the partitions are of different runs: %s and %s", runs[0], runs[1]));
}

/* A foreign file stays until a run adopts it, which may be rounds later when all writers are killed. */
static bool foreign_is_live(const struct round *round, struct fs *fs, struct arena *arena)
{
	const char *content = live_content(fs, arena, round->root, partitions[0]);
	return content && strcmp(content, "foreign") == 0;
}

static void check_round(const struct round *round, const struct writer *writers)
{
	struct arena *arena = arena_new(NULL);
	struct fs *fs = fs_posix(arena);
	struct dataset *dataset;
	struct recovery found;
	recloser_error error = {0};
	unsigned voids = 0;
	if (dataset_open(arena, fs, round->root, "queue", &dataset, &error) != RECLOSER_OK ||
		recover(dataset, arena, false, &found, &error) != RECLOSER_OK)
		fault(round, error.what);
	if (found.living.count)
		fault(round, "a dead run is taken for a living one");
	bool loaded = false;
	for (unsigned i = 0; i < round->writers; i++) {
		check_writer(round, arena, dataset, &writers[i], &voids);
		loaded = loaded || (writers[i].told && writers[i].result.status == RECLOSER_OK);
	}
	bool foreign = foreign_is_live(round, fs, arena);
	if (foreign && loaded)
		fault(round, "success was reported, and a file from before is live");
	const char *wrong = foreign ? NULL : check_dataset(fs, arena, round->root);
	if (wrong)
		fault(round, wrong);
	check_live(round, fs, arena, voids == 0 && !foreign);
	arena_free(arena);
}

/* Between rounds another program may put a file over a live one. */
static void put_foreign(const struct round *round, struct tally *tally)
{
	struct arena *arena = arena_new(NULL);
	const char *live = arena_printf(arena, "%s/queue/%s/part.parquet", round->root, partitions[0]);
	const char *aside = arena_printf(arena, "%s/foreign", round->root);
	struct stat stat_of_live;
	bool put = stat(live, &stat_of_live) == 0 && below(12) == 0;
	FILE *file = put ? fopen(aside, "w") : NULL;
	if (file) {
		fputs("foreign", file);
		fclose(file);
		put = rename(aside, live) == 0;
	}
	tally->foreign += put;
	arena_free(arena);
}

static void play_round(const struct round *round, struct tally *tally)
{
	struct writer writers[MOST_WRITERS];
	put_foreign(round, tally);
	pid_t reader = start_helper(round, read_for_ever);
	pid_t sweeper = round->sweeper ? start_helper(round, recover_for_ever) : 0;
	for (unsigned i = 0; i < round->writers; i++)
		start_writer(round, &writers[i], i);
	torment(writers, round->writers, tally);
	for (unsigned i = 0; i < round->writers; i++)
		collect(round, &writers[i], tally);
	if (sweeper)
		stop_helper(round, sweeper);
	stop_helper(round, reader);
	check_round(round, writers);
}

static void remove_root(const char *root)
{
	struct arena *arena = arena_new(NULL);
	const char *command[] = {"rm", "-rf", root, NULL};
	pid_t process = fork();
	if (process == 0) {
		execvp(command[0], (char *const *)command);
		_exit(1);
	}
	waitpid(process, NULL, 0);
	arena_free(arena);
}

struct settings {
	unsigned rounds, seed;
	const char *directory;
	bool keep;
};

static bool parse(int count, char **arguments, struct settings *out)
{
	static const struct option options[] = {
		{"rounds", required_argument, NULL, 'r'},
		{"seed", required_argument, NULL, 's'},
		{"directory", required_argument, NULL, 'd'},
		{"keep", no_argument, NULL, 'k'},
		{NULL, 0, NULL, 0},
	};
	*out = (struct settings){.rounds = 200, .seed = 1};
	for (int option; (option = getopt_long(count, arguments, "", options, NULL)) != -1;) {
		if (option == 'r')
			out->rounds = (unsigned)strtoul(optarg, NULL, 10);
		else if (option == 's')
			out->seed = (unsigned)strtoul(optarg, NULL, 10);
		else if (option == 'd')
			out->directory = optarg;
		else if (option == 'k')
			out->keep = true;
		else
			return false;
	}
	if (!out->directory) /* syncs cost nothing in memory, and the race is not about them */
		out->directory = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : ".";
	return optind == count;
}

int main(int count, char **arguments)
{
	struct settings settings;
	struct tally tally = {0};
	char root[300] = "";
	if (!parse(count, arguments, &settings)) {
		fprintf(stderr, "usage: race [--rounds N] [--seed N] [--directory DIR] [--keep]\n");
		return 2;
	}
	srandom(settings.seed);
	for (unsigned i = 0; i < settings.rounds; i++) {
		if (i % ROUNDS_PER_ROOT == 0) {
			if (i && !settings.keep)
				remove_root(root);
			snprintf(root, sizeof root, "%.240s/recloser-race-%ld-%u", settings.directory, (long)getpid(), i);
			if (mkdir(root, 0777) != 0) {
				perror(root);
				return 1;
			}
		}
		struct round round = {root, i, 2 + below(2), below(3) ? LOCKS_WORK : (enum vanish)(1 + below(2)), below(3) == 0};
		play_round(&round, &tally);
	}
	if (!settings.keep)
		remove_root(root);
	printf("%u rounds, seed %u: %lu loaded, %lu conflicts, %lu failed (locks gone), %lu killed, %lu stopped, %lu foreign "
		   "files\n",
		   settings.rounds, settings.seed, tally.loaded, tally.conflicts, tally.failed, tally.killed, tally.stopped,
		   tally.foreign);
	return 0;
}
