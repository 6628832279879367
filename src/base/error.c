/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

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

recloser_status error_errno(recloser_error *error, const char *code, int number, const char *doing, const char *path)
{
	char reason[128];
	/* The GNU form may return a constant instead of filling the buffer; the XSI form is selected by CMake. */
	if (strerror_r(number, reason, sizeof reason) != 0)
		snprintf(reason, sizeof reason, "error %d", number);
	error_set(error, RECLOSER_IO, code, "cannot %s %s: %s", doing, path, reason);
	return error ? error->status : RECLOSER_IO;
}

void error_clear(recloser_error *error)
{
	if (error)
		memset(error, 0, sizeof *error);
}
