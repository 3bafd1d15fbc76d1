// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Hash keys in files, which nobody but their owner may read. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "create.h"

#define HEX_DIGITS 32

/* A name without '/' is a credential, where systemd has given this process some. */
static void locate(const char *path, char full[PATH_MAX])
{
	const char *dir = getenv("CREDENTIALS_DIRECTORY");

	if (dir && !strchr(path, '/'))
		snprintf(full, PATH_MAX, "%s/%s", dir, path);
	else
		snprintf(full, PATH_MAX, "%s", path);
}

static bool private(const char *path, const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		fail("--key-file %s: not a regular file", path);
	else if (st->st_uid && st->st_uid != geteuid())
		fail("--key-file %s: belongs to user %u: root must own it", path, st->st_uid);
	else if (st->st_mode & 077)
		fail("--key-file %s: others may use it, mode %o: 'chmod 600' it", path,
		     st->st_mode & 07777);
	else
		return true;
	return false;
}

bool read_key_file(const char *path, __u64 key[2])
{
	char full[PATH_MAX], text[HEX_DIGITS + 3] = "";
	struct stat st;
	ssize_t len;
	bool good;
	int fd;

	locate(path, full);
	fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st)) {
		fail_errno(errno, "--key-file %s: %m", full);
		if (fd >= 0)
			close(fd);
		return false;
	}
	good = private(full, &st);
	len = good ? read(fd, text, sizeof(text) - 1) : 0;
	close(fd);
	if (len > 0 && text[len - 1] == '\n')
		text[len - 1] = 0;
	good = good && parse_hash_key("--key-file", text, key);
	explicit_bzero(text, sizeof(text));
	return good;
}
