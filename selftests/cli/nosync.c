// SPDX-License-Identifier: GPL-2.0
/*
 * A library to preload that makes syncing a file do nothing, or, if EPF_SYNC_FAILS is a part of
 * its name, fail.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int fsync(int fd)
{
	const char *fails = getenv("EPF_SYNC_FAILS");
	char self[32], name[PATH_MAX] = "";

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	if (fails && readlink(self, name, sizeof(name) - 1) > 0 && strstr(name, fails)) {
		errno = EIO;
		return -1;
	}
	return fd < 0;
}
