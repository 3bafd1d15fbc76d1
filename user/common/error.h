/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
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
/* Errors and warnings name this verb in JSON; NULL: none. */
void out_verb(const char *verb);
/* Those of the calling thread also name where the command stands, "FILE:LINE"; NULL: nowhere.
 * Both strings must stay valid.
 */
void out_at(const char *at);
/* Print "error: ..." or {"error":"...","verb":"...","status":2} as one line on standard
 * error. Return: EXIT_FAIL.
 */
int fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Likewise, with @err (errno, positive or negative) by name in JSON and as %m in @fmt. */
int fail_errno(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Likewise, for a command that will exit with @status, which is returned. */
int fail_as(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Print a line on standard error that is neither an error nor a warning. */
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Call @note for each error and warning, too, in the thread that reports it. */
void out_notes(void (*note)(const char *kind, const char *line));
/* If standard error is the journal, begin those lines with their priorities. */
void out_levels(void);

#endif /* EPF_COMMON_ERROR_H */
