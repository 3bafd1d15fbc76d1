/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Errors as one line of text. */
#ifndef RECORDS_REC_ERROR_H
#define RECORDS_REC_ERROR_H

#include "records/records.h"

/**
 * rec_error_set() - set the text of an error
 * @e: set
 * @err: negative errno
 * @fmt: as for printf
 *
 * Return: @err.
 */
int rec_error_set(struct rec_error *e, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif /* RECORDS_REC_ERROR_H */
