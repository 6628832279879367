/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

recloser_status error_set(recloser_error *error, recloser_status status, const char *code, const char *what_format, ...)
{
	if (!error)
		return status;
	if (error->status != RECLOSER_OK)
		return error->status;
	va_list args;
	va_start(args, what_format);
	error->status = status;
	snprintf(error->code, sizeof error->code, "%s", code);
	vsnprintf(error->what, sizeof error->what, what_format, args);
	error->where[0] = error->hint[0] = '\0';
	va_end(args);
	return status;
}

recloser_status error_where(recloser_error *error, const char *format, ...)
{
	if (!error)
		return RECLOSER_IO;
	va_list args;
	va_start(args, format);
	vsnprintf(error->where, sizeof error->where, format, args);
	va_end(args);
	return error->status;
}

recloser_status error_hint(recloser_error *error, const char *format, ...)
{
	if (!error)
		return RECLOSER_IO;
	va_list args;
	va_start(args, format);
	vsnprintf(error->hint, sizeof error->hint, format, args);
	va_end(args);
	return error->status;
}

/* What to do about it, as far as the number tells. */
static const char *errno_hint(int number)
{
	switch (number) {
	case ENOENT: return "look at the spelling of the path, and from which folder it is meant";
	case EACCES:
	case EPERM: return "the user who runs this has no right to it; ls -l says who has";
	case EROFS: return "the file system is mounted read-only";
	case ENOSPC:
	case EDQUOT: return "make room on this file system and run again";
	case EFBIG: return "the size of files is limited here (ulimit -f)";
	case EMFILE:
	case ENFILE: return "raise the limit of open files (ulimit -n)";
	case EISDIR: return "a file is wanted here, not a folder";
	case ENOTDIR: return "something on this path is a file and not a folder";
	case EIO: return "the disk or the connection to it is at fault; the system's log says more";
	default: return NULL;
	}
}

recloser_status error_errno(recloser_error *error, const char *code, int number, const char *doing, const char *path)
{
	char reason[128];
	/* The GNU form may return a constant instead of filling the buffer; the XSI form is selected by CMake. */
	if (strerror_r(number, reason, sizeof reason) != 0)
		snprintf(reason, sizeof reason, "error %d", number);
	bool first = error && error->status == RECLOSER_OK;
	error_set(error, RECLOSER_IO, code, "cannot %s %s: %s", doing, path, reason);
	if (first && errno_hint(number))
		return error_hint(error, "%s", errno_hint(number));
	return error ? error->status : RECLOSER_IO;
}

void error_clear(recloser_error *error)
{
	if (error)
		memset(error, 0, sizeof *error);
}
