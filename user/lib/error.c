// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The text of the last error, for each thread. */
#include "lib.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char text[512];

const char *libepf_error(void)
{
	return text;
}

const char *libepf_version(void)
{
	return EPF_VERSION;
}

int lib_fail(int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return err;
}

int lib_errno(int err, const char *what)
{
	char buf[128];

	return lib_fail(err, "%s: %s", what, strerror_r(-err, buf, sizeof(buf)));
}

int lib_no_memory(void)
{
	return lib_fail(-ENOMEM, "out of memory");
}

int lib_snap_fail(int err, const char *path, enum epf_snap_fault fault)
{
	if (fault == EPF_SNAP_IO || err != -EBADMSG)
		return lib_errno(err, path);
	return lib_fail(err, "%s %s: %s", path, epf_snap_fault_text(fault),
			epf_snap_fault_advice(fault));
}
