// SPDX-License-Identifier: GPL-2.0
/*
 * Preloaded. Raises SIGKILL before the EPF_DIE-th call that changes a directory or a
 * file (1 and up), in whichever thread; half of a write is done. It then creates the
 * file EPF_DIED. While the file EPF_NO_THREADS exists, no thread can be created. If
 * EPF_NO_LISTEN is set, listening fails.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int calls;

static int dies(void)
{
	const char *at = getenv("EPF_DIE");

	return at && __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST) == atoi(at);
}

static void die(void)
{
	const char *path = getenv("EPF_DIED");

	if (path)
		syscall(SYS_creat, path, 0600);
	raise(SIGKILL);
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t at)
{
	ssize_t (*next)(int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, "pwrite");

	if (dies()) {
		next(fd, data, len / 2, at);
		die();
	}
	return next(fd, data, len, at);
}

ssize_t write(int fd, const void *data, size_t len)
{
	ssize_t (*next)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");

	if (fd > 2 && len > 8 && dies()) { /* not a log line, not an eventfd */
		next(fd, data, len / 2);
		die();
	}
	return next(fd, data, len);
}

int fsync(int fd)
{
	if (dies())
		die();
	return (int)syscall(SYS_fsync, fd);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	if (dies())
		die();
	return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, 0);
}

int unlinkat(int dir, const char *name, int flags)
{
	if (dies())
		die();
	return (int)syscall(SYS_unlinkat, dir, name, flags);
}

int listen(int fd, int backlog)
{
	if (!getenv("EPF_NO_LISTEN"))
		return (int)syscall(SYS_listen, fd, backlog);
	errno = EADDRINUSE;
	return -1;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *),
		    void *) = dlsym(RTLD_NEXT, "pthread_create");
	const char *path = getenv("EPF_NO_THREADS");

	if (path && !access(path, F_OK))
		return EAGAIN;
	return next(thread, attr, run, arg);
}
