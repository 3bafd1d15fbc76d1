// SPDX-License-Identifier: GPL-2.0
/* A library to preload: files are synced in vain. */
#include <unistd.h>

int fsync(int fd)
{
	return fd < 0;
}
