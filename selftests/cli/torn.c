// SPDX-License-Identifier: GPL-2.0
/*
 * Preloaded: the file EPF_TORN is truncated to EPF_TORN_BYTES bytes when it has been mapped, and
 * EPF_TORN_AFTER more calls of mmap() are done.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef void *(*map_fn)(void *at, size_t bytes, int prot, int flags, int fd, off_t from);

static bool is_torn(int fd)
{
	const char *name = getenv("EPF_TORN");
	struct stat mapped, torn;

	return name && fd >= 0 && !fstat(fd, &mapped) && !stat(name, &torn) &&
	       mapped.st_ino == torn.st_ino && mapped.st_dev == torn.st_dev;
}

static void tear(int fd)
{
	static int left = -1; /* calls; -1: not mapped yet */

	if (left < 0 && is_torn(fd))
		left = atoi(getenv("EPF_TORN_AFTER"));
	else if (left > 0)
		left--;
	else
		return;
	if (!left && truncate(getenv("EPF_TORN"), atol(getenv("EPF_TORN_BYTES"))))
		abort();
}

static void *map(const char *symbol, void *at, size_t bytes, int prot, int flags, int fd,
		 off_t from)
{
	map_fn real = (map_fn)dlsym(RTLD_NEXT, symbol);
	void *to = real(at, bytes, prot, flags, fd, from);

	tear(fd);
	return to;
}

void *mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t from)
{
	return map("mmap", at, bytes, prot, flags, fd, from);
}

void *mmap64(void *at, size_t bytes, int prot, int flags, int fd, off_t from)
{
	return map("mmap64", at, bytes, prot, flags, fd, from);
}
