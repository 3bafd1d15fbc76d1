// SPDX-License-Identifier: GPL-2.0
/*
 * Preloaded. Large mappings of files (32 MiB and up) are read piece by piece, and each
 * piece takes at least longer than a turn of the agent. The file EPF_SLOW records the
 * order of events:
 *
 *	piece	the next MiB is about to be read, by whichever thread
 *	asked	a thread writes to bitmap.out
 *	joined	the main thread waits for another one to end
 *
 * At the first piece the reader waits while the file EPF_SLOW.hold exists. With
 * cli/inject.c preloaded after it, filters of that device have a journal, which stays
 * empty, and one snapshot at a time.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <linux/epochfilter.h>

#define LARGE (32u << 20)
#define PIECE (1u << 20)
#define RECORDS_AT 4096u
#define REGIONS 8

static struct region {
	char *at;
	size_t bytes;
} region[REGIONS];

static void event(const char *line)
{
	const char *path = getenv("EPF_SLOW");
	int fd = (int)syscall(SYS_open, path, O_WRONLY | O_CREAT | O_APPEND, 0600);

	syscall(SYS_write, fd, line, strlen(line));
	syscall(SYS_close, fd);
}

static void hold(void)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s.hold", getenv("EPF_SLOW"));
	while (!syscall(SYS_access, path, F_OK))
		nanosleep(&ms, NULL);
}

/* Last at least that long, even if signals interrupt; a turn has 50 ms. */
static void outlast_turn(void)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += 60000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL))
		;
}

static void touched(int number, siginfo_t *info, void *context)
{
	char *addr = info->si_addr;
	size_t at, left;
	int i;

	for (i = 0; i < REGIONS; i++)
		if (region[i].at && addr >= region[i].at && addr < region[i].at + region[i].bytes)
			break;
	if (i == REGIONS) {
		signal(number, SIG_DFL);
		return;
	}
	event("piece\n");
	hold();
	outlast_turn();
	at = (size_t)(addr - region[i].at) / PIECE * PIECE;
	left = region[i].bytes - at;
	mprotect(region[i].at + at, left < PIECE ? left : PIECE, PROT_READ);
}

static void slow_down(char *at, size_t bytes)
{
	struct sigaction act = { .sa_sigaction = touched, .sa_flags = SA_SIGINFO | SA_NODEFER };
	int i;

	for (i = 0; i < REGIONS; i++)
		if (!region[i].at) {
			region[i] = (struct region){ at, bytes };
			sigaction(SIGSEGV, &act, NULL);
			mprotect(at, bytes, PROT_NONE);
			return;
		}
}

void *mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
	void *map;

	if (offset == (off_t)EPF_MMAP_JOURNAL) {
		fd = -1;
		flags = MAP_PRIVATE | MAP_ANONYMOUS;
		offset = 0;
	}
	map = (void *)syscall(SYS_mmap, at, bytes, prot, flags, fd, offset);
	if (map != MAP_FAILED && fd >= 0 && prot == PROT_READ && bytes >= LARGE)
		slow_down(map, bytes);
	return map;
}

int munmap(void *at, size_t bytes)
{
	int i;

	for (i = 0; i < REGIONS; i++)
		if (region[i].at == at)
			region[i].at = NULL;
	return (int)syscall(SYS_munmap, at, bytes);
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t at)
{
	char self[32], path[PATH_MAX];
	ssize_t n;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	n = readlink(self, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = 0;
	if (strstr(path, "/bitmap.out"))
		event("asked\n");
	return syscall(SYS_pwrite64, fd, data, len, at);
}

int pthread_join(pthread_t thread, void **value)
{
	int (*next)(pthread_t, void **) = dlsym(RTLD_NEXT, "pthread_join");

	if (getpid() == syscall(SYS_gettid))
		event("joined\n");
	return next(thread, value);
}

static int journal(struct epf_journal_args *a)
{
	a->shards = 1;
	a->records = RECORDS_AT;
	a->bytes = RECORDS_AT + (sizeof(struct epf_journal_record) << a->order);
	return 0;
}

/* Return: is another one under way? */
static int snapshot(unsigned long cmd)
{
	static int begun;
	int busy = cmd == EPF_IOC_SNAP_BEGIN && begun;

	if (cmd == EPF_IOC_SNAP_BEGIN)
		begun = 1;
	if (cmd == EPF_IOC_SNAP_END)
		begun = 0;
	return busy;
}

int ioctl(int fd, unsigned long cmd, ...)
{
	int (*next)(int, unsigned long, ...) = dlsym(RTLD_NEXT, "ioctl");
	va_list args;
	void *arg;

	va_start(args, cmd);
	arg = va_arg(args, void *);
	va_end(args);
	if (snapshot(cmd)) {
		errno = EBUSY;
		return -1;
	}
	return cmd == EPF_IOC_JOURNAL ? journal(arg) : next(fd, cmd, arg);
}
