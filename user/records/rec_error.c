// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "records/rec_error.h"

#include <stdarg.h>
#include <stdio.h>

int rec_error_set(struct rec_error *e, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	return err;
}
