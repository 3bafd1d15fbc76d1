/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Time stamps from text. */
#ifndef RECORDS_STAMP_H
#define RECORDS_STAMP_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/types.h>

/* Is @form a format for stamp_parse()? */
bool stamp_form_ok(const char *form);

/**
 * stamp_parse() - read a time stamp
 * @text: stamp, without a NUL; brackets and blanks around it are ignored
 * @len: its bytes
 * @form: "s", "ms", "us", "ns": a number of these since 1970, perhaps with a fraction;
 *	a format of strptime(3), which has a '%'; NULL: seconds since 1970, ISO 8601
 *	(2026-03-01 12:00:00.5, also with T and a zone), or as in access logs
 *	(01/Mar/2026:12:00:00 +0100)
 * @ns: result, since 1970, above 0 and below 2^62
 *
 * Without a zone the time is local time.
 *
 * Return: whether @text is one.
 */
bool stamp_parse(const char *text, size_t len, const char *form, __u64 *ns);

#endif /* RECORDS_STAMP_H */
