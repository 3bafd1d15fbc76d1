// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *input_name(const char *name)
{
	return strcmp(name, "-") ? name : "standard input";
}

int open_input(const char *name, struct stat *st)
{
	int fd = strcmp(name, "-") ? open(name, O_RDONLY | O_CLOEXEC) :
				     fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
	int err = errno;

	if (fd >= 0 && !fstat(fd, st)) {
		if (!S_ISDIR(st->st_mode))
			return fd;
		err = EISDIR;
	} else if (fd >= 0) {
		err = errno;
	}
	if (fd >= 0)
		close(fd);
	fail_errno(err, "%s: %m", input_name(name));
	return -1;
}
