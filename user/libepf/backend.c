// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "backend.h"
#include "epf.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct epf_backend *added;
static enum epf_backend_choice chosen;

void epf_backend_add(const struct epf_backend *b)
{
	added = b;
}

void epf_backend_choose(enum epf_backend_choice choice)
{
	chosen = choice;
}

bool epf_backend_chosen(bool module, bool other)
{
	return (module && chosen != EPF_BACKEND_OTHER) || (other && chosen != EPF_BACKEND_MODULE);
}

static int open_module(void)
{
	/* Commands are checked by capability, not by the open mode. */
	int fd = open(EPF_DEVICE, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int open_other(void)
{
	return added ? added->open() : -ENOENT;
}

static bool is_missing(int fd)
{
	return fd == -ENOENT || fd == -ENXIO || fd == -ENODEV;
}

int epf_backend_open_of(enum epf_backend_choice choice)
{
	int dev, other;

	if (choice == EPF_BACKEND_OTHER)
		return open_other();
	dev = open_module();
	if (choice == EPF_BACKEND_MODULE || !is_missing(dev))
		return dev;
	other = open_other();
	return other < 0 ? dev : other;
}

int epf_backend_open(void)
{
	return epf_backend_open_of(chosen);
}

int epf_backend_second(int dev)
{
	if (chosen != EPF_BACKEND_AUTO || !epf_is_module(dev))
		return -ENOENT;
	return open_other();
}

/* Return: the backend that owns @fd; NULL: the module. */
static const struct epf_backend *backend_of(int fd)
{
	return added && added->owns(fd) ? added : NULL;
}

bool epf_is_module(int fd)
{
	return !backend_of(fd);
}

int epf_call(int fd, unsigned long cmd, void *arg)
{
	const struct epf_backend *b = backend_of(fd);
	int ret;

	if (b)
		return b->call(fd, cmd, arg);
	ret = ioctl(fd, cmd, arg);
	return ret < 0 ? -errno : ret;
}

void *epf_map(int fd, size_t bytes, off_t at)
{
	const struct epf_backend *b = backend_of(fd);

	return b ? b->map(fd, bytes, at) : mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, at);
}

int epf_wait(int fd, int ms)
{
	const struct epf_backend *b = backend_of(fd);
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLPRI };

	if (b)
		return b->wait(fd, ms);
	if (poll(&p, 1, ms) < 0)
		return -errno;
	return p.revents;
}

void epf_close(int fd)
{
	const struct epf_backend *b = backend_of(fd);

	if (b)
		b->close(fd);
	else
		close(fd);
}
