// SPDX-License-Identifier: GPL-2.0
#include "beside.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The mode @path has, or that a new file gets. */
static mode_t file_mode(const char *path)
{
	struct stat st;
	mode_t mask;

	if (!stat(path, &st))
		return st.st_mode & 0777;
	mask = umask(0);
	umask(mask);
	return 0666 & ~mask;
}

char *beside_resolve(const char *path)
{
	char *full = realpath(path, NULL);
	char *copy[2] = { strdup(path), strdup(path) };
	char *dir;

	if (!full && copy[0] && copy[1]) {
		dir = realpath(dirname(copy[0]), NULL);
		if (dir && asprintf(&full, "%s/%s", dir, basename(copy[1])) < 0)
			full = NULL;
		free(dir);
	}
	free(copy[0]);
	free(copy[1]);
	return full;
}

int beside_open(struct beside *b, const char *path)
{
	int fd, err;

	memset(b, 0, sizeof(*b));
	if (!access(path, F_OK) && access(path, W_OK))
		return -errno;
	b->path = beside_resolve(path);
	if (!b->path)
		return -errno;
	if (asprintf(&b->temp, "%s.XXXXXX", b->path) < 0)
		b->temp = NULL;
	fd = b->temp ? mkostemp(b->temp, O_CLOEXEC) : -1;
	if (fd >= 0) {
		fchmod(fd, file_mode(b->path));
		return fd;
	}
	err = b->temp ? -errno : -ENOMEM;
	free(b->temp);
	b->temp = NULL;
	beside_discard(b);
	return err;
}

int beside_commit(struct beside *b)
{
	int err = rename(b->temp, b->path) ? -errno : 0;

	if (!err) {
		free(b->temp);
		b->temp = NULL;
	}
	beside_discard(b);
	return err;
}

void beside_discard(struct beside *b)
{
	if (b->temp)
		unlink(b->temp);
	free(b->temp);
	free(b->path);
	b->temp = b->path = NULL;
}
