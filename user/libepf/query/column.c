// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Columns: files that contain only keys of one length. */
#include "engine.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int column_map_fd(struct epf_column *c, int fd, __u32 bytes)
{
	struct stat st;
	void *map;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -ESPIPE;
	if (st.st_size % bytes)
		return -EBADMSG;
	if (!st.st_size) /* cannot be mapped */
		return 0;
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	madvise(map, (size_t)st.st_size, MADV_SEQUENTIAL);
	c->map = map;
	c->map_bytes = (size_t)st.st_size;
	c->keys.data = map;
	c->keys.n = (__u64)st.st_size / bytes;
	return 0;
}

int epf_column_open_fd(struct epf_column *c, int fd, __u32 len)
{
	int ret;

	memset(c, 0, sizeof(*c));
	if (len > EPF_KEY_MAX)
		return -EINVAL;
	ret = column_map_fd(c, fd, len ? len : sizeof(__u64));
	if (!ret) {
		c->keys.len = len;
		c->keys.little = true;
	}
	return ret;
}

int epf_column_open(struct epf_column *c, const char *path, __u32 len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int ret;

	memset(c, 0, sizeof(*c));
	if (fd < 0)
		return -errno;
	ret = epf_column_open_fd(c, fd, len);
	close(fd);
	return ret;
}

void epf_column_close(struct epf_column *c)
{
	if (c->map)
		munmap(c->map, c->map_bytes);
	memset(c, 0, sizeof(*c));
}

void epf_column_forget(__u64 serial)
{
	epf_cuda_forget(serial);
}
