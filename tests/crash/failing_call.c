/* SPDX-License-Identifier: Apache-2.0
 * Preloaded into the program under test: something happens at call number FAULT_AT of those that change files.
 *
 *   FAULT_ACTION  kill (before the call), stop (the same with SIGSTOP), short (half of a write, the rest is the program's
 *                 affair; other calls do not count), lie (link and rename take place and report EIO, as a file server does
 *                 that answers too late; others do not count), alter (a disk that keeps another byte than it was given; bytes
 *                 count here, not calls), or an error: EIO, ENOSPC, EDQUOT, EINTR, ENOLCK
 *   FAULT_AT      1, 2, ...; 0: at each call
 *   FAULT_CALLS   "rename,linkat": only these count; absent: all below but flock
 *   FAULT_PATH    a part of the path (of either path) that a call must have to count
 *   FAULT_LOG     a file that receives the call at which it happened; it stays absent when there were fewer
 *
 * One count over all of them, so that 1, 2, 3, ... goes through a run in its own order. What libraries do counts, too, by
 * whatever name they call it; what the C library does inside itself does not, and strace's injection is there for that. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum action { NOTHING, KILL, STOP, SHORT, LIE, ALTER, ERROR };

static enum action action;
static int error_number;
static long fault_at;
static const char *only_calls, *only_path, *log_path;
static atomic_long seen;

__attribute__((constructor)) static void begin(void)
{
	static const struct {
		const char *name;
		enum action action;
		int error_number;
	} known[] = {{"kill", KILL, 0},         {"stop", STOP, 0},       {"short", SHORT, 0},
				 {"lie", LIE, EIO},         {"alter", ALTER, 0},     {"EIO", ERROR, EIO},     {"ENOSPC", ERROR, ENOSPC},
				 {"EDQUOT", ERROR, EDQUOT}, {"EINTR", ERROR, EINTR}, {"ENOLCK", ERROR, ENOLCK}};
	const char *word = getenv("FAULT_ACTION"), *at = getenv("FAULT_AT");
	fault_at = at ? strtol(at, NULL, 10) : 1;
	only_calls = getenv("FAULT_CALLS");
	only_path = getenv("FAULT_PATH");
	log_path = getenv("FAULT_LOG");
	for (size_t i = 0; word && i < sizeof known / sizeof *known; i++)
		if (strcmp(known[i].name, word) == 0) {
			action = known[i].action;
			error_number = known[i].error_number;
		}
}

static int is_in_list(const char *list, const char *name)
{
	size_t length = strlen(name);
	for (const char *at = list; (at = strstr(at, name)) != NULL; at += length)
		if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
			return 1;
	return 0;
}

static int counts(const char *call, const char *from, const char *to)
{
	if (only_calls ? !is_in_list(only_calls, call) : strcmp(call, "flock") == 0)
		return 0;
	return !only_path || strstr(from, only_path) || (to && strstr(to, only_path));
}

/* By system calls, since the functions are ours. */
static void note(long number, const char *call, const char *from, const char *to)
{
	char line[9000];
	int descriptor = log_path ? (int)syscall(SYS_openat, AT_FDCWD, log_path, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;
	if (descriptor < 0)
		return;
	int length = snprintf(line, sizeof line, "%ld %s %s%s%s\n", number, call, from, to ? " " : "", to ? to : "");
	(void)!syscall(SYS_write, descriptor, line, (size_t)length);
	syscall(SYS_close, descriptor);
}

/* Whether this call is the one; returns only if the process shall go on. */
static int hit(const char *call, const char *from, const char *to)
{
	if (action == NOTHING || !counts(call, from, to))
		return 0;
	long number = atomic_fetch_add(&seen, 1) + 1;
	if (fault_at && number != fault_at)
		return 0;
	note(number, call, from, to);
	if (action == KILL || action == STOP)
		kill(getpid(), action == KILL ? SIGKILL : SIGSTOP);
	return action != STOP;
}

static int fails(const char *call, const char *from, const char *to)
{
	if (action == SHORT || action == LIE || action == ALTER || !hit(call, from, to))
		return 0;
	errno = error_number;
	return 1;
}

/* What a call that gave `result` reports. */
static int told(int result, const char *call, const char *from, const char *to)
{
	if (action != LIE || result != 0 || !hit(call, from, to))
		return result;
	errno = error_number;
	return -1;
}

static const char *path_of(int descriptor, char *out, size_t size)
{
	char link[64];
	snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
	ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, out, size - 1);
	out[length > 0 ? length : 0] = '\0';
	return out;
}

static int fails_on(const char *call, int descriptor)
{
	char path[4096];
	return fails(call, path_of(descriptor, path, sizeof path), NULL);
}

/* What is left of a write: all of it, half, or nothing (-1). Talk to a terminal or a pipe changes no file. */
static ssize_t share_of(const char *call, int descriptor, size_t bytes)
{
	char path[4096];
	if (descriptor <= STDERR_FILENO)
		return (ssize_t)bytes;
	path_of(descriptor, path, sizeof path);
	if (action == SHORT)
		return bytes > 1 && hit(call, path, NULL) ? (ssize_t)(bytes / 2) : (ssize_t)bytes;
	return fails(call, path, NULL) ? -1 : (ssize_t)bytes;
}

/* What a disk that alters a byte keeps of these. A copy is never freed: there is one in the life of a process. */
static const void *kept_of(const char *call, int descriptor, const void *bytes, size_t count)
{
	char path[4096];
	if (action != ALTER || descriptor <= STDERR_FILENO || !counts(call, path_of(descriptor, path, sizeof path), NULL))
		return bytes;
	long before = atomic_fetch_add(&seen, (long)count);
	unsigned char *copy = fault_at > before && fault_at <= before + (long)count ? malloc(count) : NULL;
	if (!copy)
		return bytes;
	memcpy(copy, bytes, count);
	copy[fault_at - before - 1] ^= 4;
	note(fault_at, call, path, NULL);
	return copy;
}

/* The function behind the one of this name that is ours. */
#define REAL(name)                                                                                                          \
	static __typeof__(&name) real;                                                                                          \
	if (!real)                                                                                                              \
	real = (__typeof__(real))dlsym(RTLD_NEXT, #name)

/* ---- content ---- */

ssize_t write(int descriptor, const void *bytes, size_t count)
{
	REAL(write);
	ssize_t share = share_of("write", descriptor, count);
	return share < 0 ? -1 : real(descriptor, kept_of("write", descriptor, bytes, (size_t)share), (size_t)share);
}

#define PWRITE(name)                                                                                                        \
	ssize_t name(int descriptor, const void *bytes, size_t count, off_t at)                                                 \
	{                                                                                                                       \
		REAL(name);                                                                                                         \
		ssize_t share = share_of("pwrite", descriptor, count);                                                              \
		return share < 0 ? -1 : real(descriptor, kept_of("pwrite", descriptor, bytes, (size_t)share), (size_t)share, at);   \
	}
PWRITE(pwrite)
PWRITE(pwrite64)

#define ON_DESCRIPTOR(name)                                                                                                 \
	int name(int descriptor)                                                                                                \
	{                                                                                                                       \
		REAL(name);                                                                                                         \
		return fails_on(#name, descriptor) ? -1 : real(descriptor);                                                         \
	}
ON_DESCRIPTOR(fsync)
ON_DESCRIPTOR(fdatasync)
ON_DESCRIPTOR(syncfs)

#define FTRUNCATE(name)                                                                                                     \
	int name(int descriptor, off_t size)                                                                                    \
	{                                                                                                                       \
		REAL(name);                                                                                                         \
		return fails_on("ftruncate", descriptor) ? -1 : real(descriptor, size);                                             \
	}
FTRUNCATE(ftruncate)
FTRUNCATE(ftruncate64)

int fchmod(int descriptor, mode_t mode)
{
	REAL(fchmod);
	return fails_on("fchmod", descriptor) ? -1 : real(descriptor, mode);
}

int flock(int descriptor, int operation)
{
	REAL(flock);
	return fails_on("flock", descriptor) ? -1 : real(descriptor, operation);
}

/* ---- names ---- */

static mode_t mode_of(int flags, va_list more)
{
	return flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, mode_t) : 0;
}

#define OPEN(name)                                                                                                          \
	int name(const char *path, int flags, ...)                                                                              \
	{                                                                                                                       \
		REAL(name);                                                                                                         \
		va_list more;                                                                                                       \
		va_start(more, flags);                                                                                              \
		mode_t mode = mode_of(flags, more);                                                                                 \
		va_end(more);                                                                                                       \
		return flags & O_CREAT && fails("open", path, NULL) ? -1 : real(path, flags, mode);                                 \
	}
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                                                        \
	int name(int directory, const char *path, int flags, ...)                                                               \
	{                                                                                                                       \
		REAL(name);                                                                                                         \
		va_list more;                                                                                                       \
		va_start(more, flags);                                                                                              \
		mode_t mode = mode_of(flags, more);                                                                                 \
		va_end(more);                                                                                                       \
		return flags & O_CREAT && fails("open", path, NULL) ? -1 : real(directory, path, flags, mode);                      \
	}
OPENAT(openat)
OPENAT(openat64)

#define ON_PATH(name)                                                                                                       \
	int name(const char *path)                                                                                              \
	{                                                                                                                       \
		REAL(name);                                                                                                         \
		return fails(#name, path, NULL) ? -1 : real(path);                                                                  \
	}
ON_PATH(unlink)
ON_PATH(rmdir)

#define ON_PATH_MODE(name)                                                                                                  \
	int name(const char *path, mode_t mode)                                                                                 \
	{                                                                                                                       \
		REAL(name);                                                                                                         \
		return fails(#name, path, NULL) ? -1 : real(path, mode);                                                            \
	}
ON_PATH_MODE(mkdir)
ON_PATH_MODE(chmod)

int mkdirat(int directory, const char *path, mode_t mode)
{
	REAL(mkdirat);
	return fails("mkdirat", path, NULL) ? -1 : real(directory, path, mode);
}

int unlinkat(int directory, const char *path, int flags)
{
	REAL(unlinkat);
	return fails("unlinkat", path, NULL) ? -1 : real(directory, path, flags);
}

#define ON_TWO_PATHS(name)                                                                                                  \
	int name(const char *from, const char *to)                                                                              \
	{                                                                                                                       \
		REAL(name);                                                                                                         \
		return fails(#name, from, to) ? -1 : told(real(from, to), #name, from, to);                                         \
	}
ON_TWO_PATHS(link)
ON_TWO_PATHS(rename)

int linkat(int from_directory, const char *from, int to_directory, const char *to, int flags)
{
	REAL(linkat);
	return fails("linkat", from, to) ? -1 : told(real(from_directory, from, to_directory, to, flags), "linkat", from, to);
}

int renameat(int from_directory, const char *from, int to_directory, const char *to)
{
	REAL(renameat);
	return fails("renameat", from, to) ? -1 : told(real(from_directory, from, to_directory, to), "renameat", from, to);
}

int renameat2(int from_directory, const char *from, int to_directory, const char *to, unsigned flags)
{
	REAL(renameat2);
	return fails("renameat2", from, to) ? -1
										: told(real(from_directory, from, to_directory, to, flags), "renameat2", from, to);
}
