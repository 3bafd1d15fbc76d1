/* SPDX-License-Identifier: GPL-2.0 */
/* Errors, warnings and log lines on standard error, one line each. */
#ifndef EPF_COMMON_ERROR_H
#define EPF_COMMON_ERROR_H

#include <stdbool.h>

/* The exit codes of every verb. */
enum {
	EXIT_YES = 0,      /* done; yes; all present */
	EXIT_ABSENT = 1,   /* definitely absent */
	EXIT_FAIL = 2,     /* usage, or failure */
	EXIT_UNKNOWN = 3,  /* the filter cannot tell */
	EXIT_SIGNAL = 128, /* plus the number of the signal that ended it */
};

/* @on: print errors and warnings as JSON, one object per line, from now on;
 * otherwise as text. While @out_mode is JSON they are always JSON.
 */
void out_json_errors(bool on);
/* Print "error: ..." or {"error":"..."} as one line on standard error.
 * Return: EXIT_FAIL.
 */
int fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Print a line on standard error that is neither an error nor a warning. */
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* If standard error is the journal, begin those lines with their priorities. */
void out_levels(void);

#endif /* EPF_COMMON_ERROR_H */
