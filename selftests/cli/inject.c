// SPDX-License-Identifier: GPL-2.0
/*
 * Preloaded into epfctl: replaces the device by a directory, and injects faults.
 *
 *   EPF_FAKE=DIR     /dev/epochfilter; filter NAME is DIR/NAME (its header, as
 *                    in a snapshot) and DIR/NAME.lines, which is what a
 *                    descriptor of the filter is open on
 *   EPF_AGENT_AT=SOCKET  what is found where epfagent's socket is looked for
 *   EPF_STRUCK=FILE  made when the fault strikes
 *   EPF_FAULT=WHAT:N:HOW  the N-th WHAT from main() on, 1 and up
 *	alloc:N:fail	allocation: NULL
 *	ioctl:N:fail	command of the device: ENOMEM
 *	disk:N:fail	step of writing a file: ENOSPC, of a write after half
 *	disk:N:kill	SIGKILL before it, in the middle of a write
 *	disk:N:int	SIGINT before it
 *	disk:N:cut	the power fails before it: see power_cut()
 *	disk:N:run	EPF_RUN, a command of the shell, before it
 *	io:N:short	transfer of data, in or out: half of it, and no error
 *	agent:N:int	connecting to an agent: SIGINT before it
 *   EPF_LIE=file|dir syncing that does nothing and says it did
 *   EPF_PLAIN=1      a file system that cannot exchange files
 *
 * One thread, one file written.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <linux/epochfilter.h>

#define LINE_BYTES 64u

enum what { NONE, ALLOC, IOCTL, DISK, AGENT, IO };

static enum what kind; /* NONE: not in main(), or no fault requested */
static int countdown;
static char how;                /* f, k, i, c, r */
static char path_old[PATH_MAX]; /* a second name of the file that is replaced */

/**
 * struct disk - the state that a power cut may lose
 * @temp: the file being written
 * @target: its name after the renaming, or ""
 * @fd: descriptor of the file being written
 * @synced: its contents are on disk
 * @dir_synced: the renaming is on disk
 */
static struct {
	char temp[PATH_MAX];
	char target[PATH_MAX];
	int fd;
	bool synced;
	bool dir_synced;
} disk = { .fd = -1 };

static const char *setting(const char *name)
{
	const char *value = getenv(name);

	return value ? value : "";
}

static bool strikes(enum what what)
{
	if (kind != what || --countdown)
		return false;
	kind = NONE;
	close((int)syscall(SYS_open, setting("EPF_STRUCK"), O_WRONLY | O_CREAT, 0600));
	return true;
}

/* Drop what was not synced: half of the contents become zeros, the rest is cut off, and
 * the directory has the old name again.
 */
static void power_cut(void)
{
	static const char zeros[4096];
	struct stat st;

	if (disk.fd >= 0 && !disk.synced && !fstat(disk.fd, &st)) {
		syscall(SYS_ftruncate, disk.fd, st.st_size / 2);
		syscall(SYS_pwrite64, disk.fd, zeros, sizeof(zeros), 0);
	}
	if (disk.target[0] && !disk.dir_synced) {
		syscall(SYS_rename, disk.target, disk.temp);
		if (path_old[0])
			syscall(SYS_rename, path_old, disk.target);
	}
	syscall(SYS_kill, getpid(), SIGKILL);
}

/* Run the command in a process without this library. */
static void run(void)
{
	const char *command = setting("EPF_RUN");

	unsetenv("LD_PRELOAD");
	if (system(command))
		abort();
}

/* One step of writing. Return: must it fail? */
static bool disk_step(void)
{
	if (!strikes(DISK))
		return false;
	if (how == 'c')
		power_cut();
	if (how == 'k')
		syscall(SYS_kill, getpid(), SIGKILL);
	if (how == 'i') {
		syscall(SYS_kill, getpid(), SIGINT);
		return false;
	}
	if (how == 'r') {
		run();
		return false;
	}
	errno = ENOSPC;
	return true;
}

/* Allocation: uses the C library's own names, so that no symbol lookup allocates. */
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t nr, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);

static bool no_memory(void)
{
	if (!strikes(ALLOC))
		return false;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t bytes)
{
	return no_memory() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t nr, size_t bytes)
{
	return no_memory() ? NULL : __libc_calloc(nr, bytes);
}

void *realloc(void *old, size_t bytes)
{
	return no_memory() ? NULL : __libc_realloc(old, bytes);
}

/* Writing */
static void full_path(char *to, int dir, const char *name)
{
	char self[32];
	ssize_t n;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", dir);
	n = syscall(SYS_readlink, self, to, PATH_MAX);
	if (n < 0)
		abort();
	snprintf(to + n, PATH_MAX - (size_t)n, "/%s", name);
}

int openat(int dir, const char *name, int flags, ...)
{
	va_list args;
	mode_t mode;
	int fd;

	va_start(args, flags);
	mode = va_arg(args, mode_t);
	va_end(args);
	if (flags & O_EXCL && disk_step())
		return -1;
	fd = (int)syscall(SYS_openat, dir, name, flags, mode);
	if (flags & O_EXCL && fd >= 0) {
		disk.fd = fd;
		full_path(disk.temp, dir, name);
	}
	return fd;
}

int fallocate(int fd, int mode, off_t at, off_t bytes)
{
	if (disk_step())
		return -1;
	return (int)syscall(SYS_fallocate, fd, mode, at, bytes);
}

/* Return: the bytes of a transfer that are carried out. */
static size_t carried(size_t bytes)
{
	return bytes > 1 && strikes(IO) ? bytes / 2 : bytes;
}

ssize_t read(int fd, void *to, size_t bytes)
{
	return syscall(SYS_read, fd, to, carried(bytes));
}

ssize_t pread(int fd, void *to, size_t bytes, off_t at)
{
	return syscall(SYS_pread64, fd, to, carried(bytes), at);
}

ssize_t write(int fd, const void *data, size_t bytes)
{
	return syscall(SYS_write, fd, data, carried(bytes));
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at)
{
	bool whole = kind != DISK || countdown != 1 || strchr("cir", how);

	if (!whole)
		syscall(SYS_pwrite64, fd, data, bytes / 2, at);
	if (disk_step())
		return -1;
	disk.synced = false;
	return syscall(SYS_pwrite64, fd, data, carried(bytes), at);
}

int fsync(int fd)
{
	bool file = fd == disk.fd;

	if (disk_step())
		return -1;
	if (strcmp(setting("EPF_LIE"), file ? "file" : "dir")) {
		disk.synced |= file;
		disk.dir_synced |= !file && disk.target[0];
	}
	return 0;
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned int flags)
{
	int err;

	if (flags && *setting("EPF_PLAIN")) {
		errno = EINVAL;
		return -1;
	}
	if (disk_step())
		return -1;
	full_path(disk.target, to_dir, to);
	snprintf(path_old, sizeof(path_old), "%s/.replaced", setting("EPF_FAKE"));
	unlink(path_old);
	if (link(disk.target, path_old))
		path_old[0] = 0;
	if (!syscall(SYS_renameat2, from_dir, from, to_dir, to, flags))
		return 0;
	err = errno;
	disk.target[0] = 0; /* nothing to undo */
	if (path_old[0])
		syscall(SYS_unlink, path_old);
	errno = err;
	return -1;
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	return renameat2(from_dir, from, to_dir, to, 0);
}

/* Closing keeps a second name of the file for power_cut(). */
int close(int fd)
{
	if (fd == disk.fd && fd >= 0) {
		if (disk_step()) {
			syscall(SYS_close, fd);
			return -1;
		}
		disk.fd = dup(fd);
	}
	return (int)syscall(SYS_close, fd);
}

/* The agent */
#define AGENT_SOCKET "/run/epochfilter/agent.sock"

int access(const char *path, int mode)
{
	if (!strcmp(path, AGENT_SOCKET) && *setting("EPF_AGENT_AT"))
		path = setting("EPF_AGENT_AT");
	return (int)syscall(SYS_access, path, mode);
}

int connect(int fd, const struct sockaddr *to, socklen_t len)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };

	if (to->sa_family == AF_UNIX && strikes(AGENT))
		syscall(SYS_kill, getpid(), SIGINT);
	if (to->sa_family == AF_UNIX && *setting("EPF_AGENT_AT") &&
	    !strcmp(((const struct sockaddr_un *)to)->sun_path, AGENT_SOCKET)) {
		snprintf(un.sun_path, sizeof(un.sun_path), "%s", setting("EPF_AGENT_AT"));
		to = (const struct sockaddr *)&un;
		len = sizeof(un);
	}
	return (int)syscall(SYS_connect, fd, to, len);
}

/* The device */
static int fake(const char *name, const char *suffix, int flags)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%.31s%s", setting("EPF_FAKE"), name, suffix);
	return (int)syscall(SYS_open, path, flags | O_CLOEXEC, 0600);
}

/* Return: the name of the filter that @fd is open on. */
static void name_of(int fd, char name[EPF_NAME_LEN])
{
	char proc[64], path[PATH_MAX] = "";
	char *slash, *end;

	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
	if (readlink(proc, path, sizeof(path) - 1) < 0)
		abort();
	slash = strrchr(path, '/');
	end = strstr(slash, ".lines");
	if (!end)
		abort();
	*end = 0;
	strcpy(name, slash + 1);
}

static void header_io(const char *name, struct epf_snap_header *h, bool out)
{
	int fd = fake(name, "", out ? O_WRONLY | O_CREAT : O_RDONLY);

	if (syscall(out ? SYS_write : SYS_read, fd, h, sizeof(*h)) != (long)sizeof(*h))
		abort();
	syscall(SYS_close, fd);
}

static int do_create(struct epf_create *a)
{
	struct epf_snap_header h = {
		.magic = EPF_SNAP_MAGIC,
		.version = EPF_SNAP_VERSION,
		.header_bytes = sizeof(h),
		.params = a->params,
		.key = { 1, 2 },
		.epoch_begin = 8,
		.epoch_end = 8,
	};
	int fd = fake(a->params.name, ".lines", O_WRONLY | O_CREAT | O_EXCL);

	if (fd < 0)
		return -1;
	syscall(SYS_ftruncate, fd, a->params.nr_lines * LINE_BYTES);
	syscall(SYS_close, fd);
	header_io(a->params.name, &h, true);
	a->id = 1;
	return 0;
}

static int do_destroy(const struct epf_ref_args *a)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%.31s", setting("EPF_FAKE"), a->name.name);
	syscall(SYS_unlink, path);
	strcat(path, ".lines");
	return (int)syscall(SYS_unlink, path);
}

static int do_restore(int filter, const struct epf_restore *a)
{
	struct epf_snap_header h = a->header;
	long bytes = (long)(h.params.nr_lines * LINE_BYTES);
	char name[EPF_NAME_LEN];
	int fd;

	name_of(filter, name);
	fd = fake(name, ".lines", O_WRONLY | O_TRUNC);
	if (syscall(SYS_write, fd, a->lines, bytes) != bytes)
		abort();
	syscall(SYS_close, fd);
	strcpy(h.params.name, name);
	header_io(name, &h, true);
	return 0;
}

static int do_snap(int filter, struct epf_snap *a)
{
	char name[EPF_NAME_LEN];

	name_of(filter, name);
	header_io(name, &a->header, false);
	return 0;
}

/* The name of the filter that was asked last, which the number of any filter, 1, opens again. */
static char asked[EPF_NAME_LEN];

static int do_info(int filter, struct epf_info *a)
{
	struct epf_snap_header h;

	name_of(filter, asked);
	header_io(asked, &h, false);
	a->params = h.params;
	a->id = 1;
	return 0;
}

static int do_open(const struct epf_ref_args *a)
{
	return fake(a->name.id ? asked : a->name.name, ".lines", O_RDONLY);
}

int ioctl(int fd, unsigned long cmd, ...)
{
	va_list args;
	void *arg;

	va_start(args, cmd);
	arg = va_arg(args, void *);
	va_end(args);
	if (_IOC_TYPE(cmd) != EPF_IOC_MAGIC)
		return (int)syscall(SYS_ioctl, fd, cmd, arg);
	if (strikes(IOCTL)) {
		errno = ENOMEM;
		return -1;
	}
	switch (cmd) {
	case EPF_IOC_CREATE:
		return do_create(arg);
	case EPF_IOC_DESTROY:
		return do_destroy(arg);
	case EPF_IOC_OPEN:
		return do_open(arg);
	case EPF_IOC_INFO:
		return do_info(fd, arg);
	case EPF_IOC_SNAP_BEGIN:
	case EPF_IOC_SNAP_END:
		return do_snap(fd, arg);
	case EPF_IOC_RESTORE:
		return do_restore(fd, arg);
	}
	errno = ENOTTY;
	return -1;
}

int open(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = va_arg(args, mode_t);
	va_end(args);
	if (!strcmp(path, EPF_DEVICE))
		return (int)syscall(SYS_open, "/dev/null", O_RDONLY);
	if (flags & O_DIRECTORY && disk_step())
		return -1;
	return (int)syscall(SYS_open, path, flags, mode);
}

/* Faults count from main() on, because the loader's own calls must not fail. */
static int (*real_main)(int argc, char **argv, char **envp);

static int counted_main(int argc, char **argv, char **envp)
{
	static const char *const names[] = { "", "alloc", "ioctl", "disk", "agent", "io" };
	char name[16], action;
	int nr, i;

	if (sscanf(setting("EPF_FAULT"), "%15[a-z]:%d:%c", name, &nr, &action) == 3) {
		for (i = ALLOC; i <= IO; i++)
			if (!strcmp(name, names[i]))
				kind = (enum what)i;
		countdown = nr;
		how = action;
	}
	nr = real_main(argc, argv, envp);
	if (kind == DISK && how == 'c') {
		countdown = 1;
		disk_step(); /* the last place: all output is finished */
	}
	kind = NONE;
	return nr;
}

int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void),
		      void (*fini)(void), void (*end)(void), void *stack)
{
	int (*real)(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void),
		    void (*)(void), void *) = dlsym(RTLD_NEXT, "__libc_start_main");

	real_main = main;
	return real(counted_main, argc, argv, init, fini, end, stack);
}
