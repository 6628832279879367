/* SPDX-License-Identifier: Apache-2.0
 *
 * Progress on stderr (progress.h).
 */
#include "progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* Seconds. A terminal is patient for one and likes four updates a second; a log wants few lines. */
static const double TERMINAL_FIRST = 1.0, TERMINAL_EVERY = 0.25, PLAIN_FIRST = 5.0, PLAIN_EVERY = 5.0;

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Appends at the end of the line and never past it. */
__attribute__((format(printf, 3, 4))) static void add(char *line, size_t size, const char *format, ...)
{
	size_t length = strlen(line);
	va_list args;
	va_start(args, format);
	vsnprintf(line + length, size - length, format, args);
	va_end(args);
}

static void add_count(char *line, size_t size, uint64_t number)
{
	if (number >= 1000) {
		add_count(line, size, number / 1000);
		add(line, size, ",%03u", (unsigned)(number % 1000));
	} else {
		add(line, size, "%u", (unsigned)number);
	}
}

/* Seconds that the phase will still take if it goes on as it went; negative when that is a guess. */
static double seconds_left(const recloser_progress *told, double in_phase)
{
	return told->done >= 0.03 && told->done < 1 && in_phase >= 0.5 ? in_phase * (1 - told->done) / told->done : -1;
}

static void add_left(char *line, size_t size, double left)
{
	if (left >= 120)
		add(line, size, ", about %.0f min left", left / 60);
	else if (left >= 0)
		add(line, size, ", about %.0f s left", left < 1 ? 1 : left);
}

static void describe(const recloser_progress *told, double elapsed, double in_phase, char *line, size_t size)
{
	line[0] = '\0';
	add(line, size, "%-7s", told->phase != NULL ? told->phase : "");
	if (told->rows > 0) {
		add(line, size, "  ");
		add_count(line, size, told->rows);
		add(line, size, " rows");
	}
	if (told->bytes_total > 0)
		add(line, size, "  %.1f of %.1f MB", (double)told->bytes / 1e6, (double)told->bytes_total / 1e6);
	else if (told->bytes > 0)
		add(line, size, "  %.1f MB", (double)told->bytes / 1e6);
	if (told->partitions_total > 1)
		add(line, size, "  partition %llu of %llu", (unsigned long long)told->partitions,
			(unsigned long long)told->partitions_total);
	if (told->note != NULL && told->note[0] != '\0')
		add(line, size, "  %s", told->note);
	add(line, size, "  %.0f s", elapsed);
	add_left(line, size, seconds_left(told, in_phase));
}

static size_t terminal_width(void)
{
	struct winsize window;
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 20)
		return window.ws_col;
	return 80;
}

/* The bytes of `line` that fit into `columns`, never half a character. */
static int cut(const char *line, size_t columns)
{
	size_t at = 0, used = 0;
	for (; line[at] != '\0'; at++) {
		if (((unsigned char)line[at] & 0xC0) != 0x80 && ++used > columns)
			break;
	}
	return (int)at;
}

static void told(void *arg, const recloser_progress *what)
{
	struct progress *progress = arg;
	double time = now();
	if (what->phase != NULL && strcmp(progress->phase, what->phase) != 0) {
		snprintf(progress->phase, sizeof progress->phase, "%s", what->phase);
		progress->began = time;
	}
	double first = progress->terminal ? TERMINAL_FIRST : PLAIN_FIRST;
	double every = progress->terminal ? TERMINAL_EVERY : PLAIN_EVERY;
	/* Waiting for somebody is said at once: nothing else would tell why nothing happens. */
	bool news = what->phase != NULL && strcmp(what->phase, "wait") == 0 && what->note != NULL &&
				strncmp(progress->note, what->note, sizeof progress->note - 1) != 0;
	if (!news && (time - progress->started < first || time - progress->printed < every))
		return;
	if (news)
		snprintf(progress->note, sizeof progress->note, "%s", what->note);
	progress->printed = time;
	char line[512];
	describe(what, time - progress->started, time - progress->began, line, sizeof line);
	if (progress->terminal)
		fprintf(stderr, "\r%.*s\033[K", cut(line, terminal_width() - 1), line);
	else
		fprintf(stderr, "%s\n", line);
	fflush(stderr);
	progress->shown = true;
}

recloser_common common_for_call(const struct common *common, const char *spec, struct progress *progress)
{
	const char *kind = getenv("TERM");
	*progress = (struct progress){
		.terminal = isatty(STDERR_FILENO) == 1 && kind != NULL && strcmp(kind, "dumb") != 0,
		.started = now(),
	};
	return (recloser_common){
		.spec_path = spec,
		.threads = common->threads,
		.memory_bytes = common->memory_bytes,
		/* In the library 0 is the default and less than 0 is not at all; on the command line 0 is not at all. */
		.wait_seconds = common->wait_seconds < 0   ? 0
						: common->wait_seconds > 0 ? common->wait_seconds
												   : -1,
		.progress = common->quiet ? NULL : told,
		.progress_arg = progress,
	};
}

void progress_end(struct progress *progress)
{
	if (progress->shown && progress->terminal)
		fputs("\r\033[K", stderr);
	progress->shown = false;
}
