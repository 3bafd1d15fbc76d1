// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See secret.h. */
#include "cluster/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "records/rec_error.h"

/* Return: a descriptor of the file, which is checked; a negative errno. */
static int secret_open(const char *path, struct rec_error *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	const char *why = NULL;

	if (fd < 0 || fstat(fd, &st))
		return rec_error_set(e, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		why = "not a regular file";
	else if (st.st_uid && st.st_uid != geteuid())
		why = "belongs to another user";
	else if (st.st_mode & 077)
		why = "others can read or write it: use mode 600";
	if (!why)
		return fd;
	close(fd);
	return rec_error_set(e, -EACCES, "%s: %s", path, why);
}

int secret_check(const char *path, struct rec_error *e)
{
	int fd = secret_open(path, e);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

int secret_read(const char *path, char *text, size_t room, struct rec_error *e)
{
	int fd = secret_open(path, e);
	ssize_t n;

	if (fd < 0)
		return fd;
	n = read(fd, text, room);
	close(fd);
	if (n < 0)
		return rec_error_set(e, -errno, "%s: %s", path, strerror(errno));
	if ((size_t)n == room)
		return rec_error_set(e, -EFBIG, "%s: longer than %zu bytes", path, room - 1);
	text[n] = 0;
	return 0;
}
