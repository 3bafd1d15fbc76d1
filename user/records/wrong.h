/* SPDX-License-Identifier: GPL-2.0 */
/* Errors as one line of text. */
#ifndef RECORDS_WRONG_H
#define RECORDS_WRONG_H

#include "records.h"

/**
 * audit_wrong() - set the text of an error
 * @e: set
 * @err: negative errno
 * @fmt: as for printf
 *
 * Return: @err.
 */
int audit_wrong(struct rec_error *e, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif /* RECORDS_WRONG_H */
