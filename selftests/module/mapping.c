// SPDX-License-Identifier: GPL-2.0
/*
 * The lines as user space sees them: a read-only mapping of the same words that the
 * module works on, for as long as the mapping exists.
 */
#include "epftest.h"

#include <epf/lanes.h>

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define LINES 1024u
#define BYTES (LINES * 64ul)
#define KEYS 500u

static void *map(int fd, int prot, int flags, size_t bytes, off_t off)
{
	return mmap(NULL, bytes, prot, flags, fd, off);
}

static void *map_lines(int fd)
{
	void *at = map(fd, PROT_READ, MAP_SHARED, BYTES, 0);

	test_demand(at != MAP_FAILED);
	return at;
}

static bool refused(int err, void *at)
{
	if (at != MAP_FAILED)
		return false;
	return errno == err;
}

static sigjmp_buf back;

static void jump(int sig)
{
	siglongjmp(back, sig);
}

/* The signal that touching @at gives, or 0. */
static int touch(const volatile char *at, bool write)
{
	struct sigaction act = { .sa_handler = jump }, old[2];
	int sig;

	sigaction(SIGSEGV, &act, &old[0]);
	sigaction(SIGBUS, &act, &old[1]);
	sig = sigsetjmp(back, 1);
	if (!sig && write)
		*(volatile char *)at = 1;
	else if (!sig)
		(void)*at;
	sigaction(SIGSEGV, &old[0], NULL);
	sigaction(SIGBUS, &old[1], NULL);
	return sig;
}

/* Write past the protection, as a debugger does. */
static bool poke_refused(const void *at)
{
	int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	bool no;

	test_demand(fd >= 0);
	no = pwrite(fd, "x", 1, (off_t)(uintptr_t)at) < 0;
	close(fd);
	return no;
}

/* Another process writes to it, with process_vm_writev(2) and ptrace(2). */
static bool strangers_refused(char *at)
{
	struct iovec from = { "x", 1 }, to = { at, 1 };
	bool no;
	pid_t pid = fork();

	test_demand(pid >= 0);
	if (!pid) {
		test_demand(!ptrace(PTRACE_TRACEME, 0, NULL, NULL));
		raise(SIGSTOP);
		_exit(0);
	}
	test_demand(waitpid(pid, NULL, 0) == pid);
	no = process_vm_writev(pid, &from, 1, &to, 1, 0) < 0 &&
	     ptrace(PTRACE_POKEDATA, pid, at, (void *)1L) < 0;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return no;
}

/* A child inherits the mapping, but no right to make it writable. */
static bool child_refused(char *at)
{
	int status;
	pid_t pid = fork();

	test_demand(pid >= 0);
	if (!pid)
		_exit(mprotect(at, PAGE, PROT_READ | PROT_WRITE) < 0 &&
		      touch(at, true) == SIGSEGV && poke_refused(at));
	test_demand(waitpid(pid, &status, 0) == pid);
	return status == 1 << 8;
}

/* Moving the mapping does not change that. */
static bool moved_refused(int fd)
{
	void *to = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *at = mremap(map_lines(fd), BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	bool no;

	test_demand(at == to);
	no = mprotect(at, BYTES, PROT_READ | PROT_WRITE) < 0 && touch(at, true) == SIGSEGV;
	munmap(at, BYTES);
	return no;
}

/* The kernel writes for a caller only where the caller could write. */
static bool kernel_refused(char *at)
{
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	bool no;

	test_demand(zero >= 0);
	no = read(zero, at, 1) < 0 && errno == EFAULT && madvise(at, BYTES, MADV_REMOVE) < 0;
	close(zero);
	return no;
}

static bool reopen_refused(int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDWR | O_CLOEXEC) < 0 && write(fd, "x", 1) < 0 && ftruncate(fd, 0) < 0;
}

#define FOREIGN_POINTS 6
static void try_foreign(int fd)
{
	char *at = map_lines(fd);

	tap_ok(strangers_refused(at), "process_vm_writev and PTRACE_POKEDATA cannot write to it");
	tap_ok(child_refused(at), "nor can a child that inherits it");
	tap_ok(moved_refused(fd), "nor can a process that moves it");
	tap_ok(kernel_refused(at), "read(2) into it: EFAULT; no holes in it");
	tap_ok(reopen_refused(fd), "the descriptor cannot be opened anew or written");
	test_is(test_count(fd, 1, 0, KEYS), 0, "the filter is as empty as ever");
	munmap(at, BYTES);
}

#define READONLY_POINTS 8
static void try_readonly(int fd)
{
	char *at = map_lines(fd);
	char *mine;

	tap_ok(refused(EACCES, map(fd, PROT_READ | PROT_WRITE, MAP_SHARED, BYTES, 0)),
	       "PROT_WRITE: EACCES");
	tap_ok(refused(EACCES, map(fd, PROT_WRITE, MAP_SHARED, BYTES, 0)),
	       "PROT_WRITE alone: EACCES");
	tap_ok(refused(EACCES, map(fd, PROT_READ | PROT_WRITE, MAP_PRIVATE, BYTES, 0)),
	       "a private copy to write to: EACCES");
	tap_ok(mprotect(at, BYTES, PROT_READ | PROT_WRITE) < 0 && errno == EACCES,
	       "mprotect to PROT_WRITE: EACCES");
	mine = map(fd, PROT_READ, MAP_PRIVATE, BYTES, 0);
	tap_ok(mine != MAP_FAILED && mprotect(mine, BYTES, PROT_READ | PROT_WRITE) < 0 &&
		       errno == EACCES,
	       "mprotect of a private mapping: EACCES");
	test_is(touch(at, true), SIGSEGV, "a store: SIGSEGV");
	tap_ok(poke_refused(at) && poke_refused(mine), "/proc/self/mem cannot write to it");
	tap_ok(mremap(at, BYTES, 2 * BYTES, MREMAP_MAYMOVE) == MAP_FAILED,
	       "it cannot be made longer");
	munmap(at, BYTES);
	munmap(mine, BYTES);
}

#define RANGE_POINTS 6
static void try_range(int fd)
{
	struct epf_params p = test_params("mod-part", 65, 1, 5, 700);
	char *whole = map_lines(fd);
	int part = test_make(&p);
	char *at;

	tap_ok(refused(EINVAL, map(fd, PROT_READ, MAP_SHARED, BYTES + 1, 0)),
	       "a page more than there are: EINVAL");
	tap_ok(refused(EINVAL, map(fd, PROT_READ, MAP_SHARED, PAGE, BYTES)),
	       "behind the lines: EINVAL");
	tap_ok(map(fd, PROT_READ, MAP_SHARED, 2 * PAGE, 1ul << 62) == MAP_FAILED &&
		       map(fd, PROT_READ, MAP_SHARED, 1ul << 40, 0) == MAP_FAILED,
	       "absurd offsets and lengths are refused");
	at = map(fd, PROT_READ, MAP_SHARED, 2 * PAGE, 3 * PAGE);
	tap_ok(at != MAP_FAILED && !memcmp(at, whole + 3 * PAGE, 2 * PAGE),
	       "a part at an offset is that part");
	munmap(at, 2 * PAGE);
	test_insert(part, 1, 0, 600);
	at = map(part, PROT_READ, MAP_SHARED, 2 * PAGE, 0);
	tap_ok(at != MAP_FAILED && !touch(at + 2 * PAGE - 1, false) && !at[PAGE + 64] &&
		       !memcmp(at + PAGE + 64, at + PAGE + 65, PAGE - 65),
	       "behind the last of 65 lines there are zeros");
	tap_ok(refused(EINVAL, map(part, PROT_READ, MAP_SHARED, 3 * PAGE, 0)),
	       "65 lines are two pages");
	munmap(at, 2 * PAGE);
	munmap(whole, BYTES);
	close(part);
}

/* Does the module report the ages that the core finds in @lines? */
static bool same_verdicts(int fd, struct epf_line *lines)
{
	struct epf_info info = test_info(fd);
	struct epf_lanes f = { .line = lines, .epoch = &info.epoch };
	__u64 keys[2 * KEYS];
	__u8 ages[2 * KEYS];
	struct epf_batch b = test_batch(keys, 2 * KEYS);
	struct epf_probe probe;
	__u32 i;

	b.ages = (uintptr_t)ages;
	test_demand(!epf_geom_init(&f.geom, info.params.nr_lines, info.params.lines_per_key,
				   info.params.bits_per_key));
	test_draw(keys, 1, 0, b.count);
	test_demand(!test_ioctl(fd, EPF_IOC_TEST, &b));
	for (i = 0; i < b.count; i++) {
		int verdict = ages[i] == EPF_AGE_ABSENT ? EPF_ABSENT : EPF_PRESENT + ages[i];

		epf_probe(&f, keys[i], &probe);
		if (epf_lanes_test(&f, &probe) != verdict)
			return false;
	}
	return true;
}

#define CONTENT_POINTS 4
static void try_content(int fd)
{
	struct epf_line *lines = map_lines(fd);

	test_insert(fd, 1, 0, KEYS);
	test_demand(test_info(fd).epoch > EPF_EPOCH_FIRST);
	tap_ok(same_verdicts(fd, lines), "the core finds in the mapping what the module answers");
	test_insert(fd, 1, KEYS, KEYS / 2);
	tap_ok(same_verdicts(fd, lines), "also what is inserted afterwards");
	test_demand(!epf_filter_rotate(fd, 3, NULL));
	tap_ok(same_verdicts(fd, lines), "also after rotations");
	test_demand(!epf_filter_clear(fd));
	tap_ok(same_verdicts(fd, lines) && !test_count(fd, 1, 0, KEYS),
	       "also when nothing is left");
	munmap(lines, BYTES);
}

static int in_child(const char *at, const char *want)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(memcmp(at, want, BYTES) ? 1 : 0);
	test_demand(pid > 0 && waitpid(pid, &status, 0) == pid);
	return status;
}

#define LIFE_POINTS 10
static void try_life(void)
{
	static char copy[BYTES];
	int fd = test_make_plain("mod-life", 1 << 20);
	char *at = map_lines(fd);
	struct epf_ref_args a = { .size = sizeof(a) };
	int fd2;

	test_insert(fd, 1, 0, KEYS);
	memcpy(copy, at, BYTES);
	close(fd);
	test_is(memcmp(at, copy, BYTES), 0, "a mapping outlives its descriptor");
	test_is(test_destroy("mod-life", 0), -EBUSY, "and holds the filter: EBUSY");
	fd = test_open("mod-life");
	test_is(test_info(fd).users, 2, "both are users");
	test_is(in_child(at, copy), 0, "a child inherits it");
	munmap(at + PAGE, PAGE);
	test_is(memcmp(at + 2 * PAGE, copy + 2 * PAGE, BYTES - 2 * PAGE), 0,
		"a hole can be made in it");
	munmap(at, BYTES);
	test_is(test_info(fd).users, 1, "unmapped, it is no user");
	at = map_lines(fd);
	test_demand(!test_destroy("mod-life", EPF_DESTROY_FORCE));
	fd2 = test_make_plain("mod-life", 700);
	test_insert(fd2, 2, 0, KEYS);
	test_is(memcmp(at, copy, BYTES), 0, "destroyed by force, its contents stay");
	tap_ok(refused(ENODEV, map(fd, PROT_READ, MAP_SHARED, BYTES, 0)),
	       "it cannot be mapped anew: ENODEV");
	close(fd);
	test_is(memcmp(at, copy, BYTES), 0, "also without the descriptor");
	munmap(at, BYTES);
	close(fd2);
	strcpy(a.name.name, "mod-life");
	test_is(test_ioctl(test_dev, EPF_IOC_DESTROY, &a), 0, "nothing is held any longer");
}

#define SWAP_POINTS 3
static void try_swap(void)
{
	int a = test_make_plain("mod-swap-a", 1 << 20);
	int b = test_make_plain("mod-swap-b", 1 << 20);
	struct epf_line *at = map_lines(a);
	struct epf_line *new;

	test_insert(a, 1, 0, KEYS);
	test_demand(!epf_dev_swap(test_dev, "mod-swap-a", "mod-swap-b"));
	test_insert(b, 1, KEYS, KEYS / 2);
	tap_ok(same_verdicts(b, at), "after a swap a mapping goes with the contents");
	new = map_lines(a);
	tap_ok(same_verdicts(a, new), "a new one is of the new contents");
	tap_ok(memcmp(at, new, BYTES), "these are two");
	munmap(at, BYTES);
	munmap(new, BYTES);
	close(a);
	close(b);
}

/* Return: the number of page faults when touching each page of @at, from one end or the
 * other.
 */
static long faults(const volatile char *at, size_t pages, bool down)
{
	struct rusage before, after;
	size_t i;

	getrusage(RUSAGE_SELF, &before);
	for (i = 0; i < pages; i++)
		(void)at[(down ? pages - 1 - i : i) * PAGE];
	getrusage(RUSAGE_SELF, &after);
	return after.ru_minflt - before.ru_minflt;
}

/* A fault maps up to 64 surrounding pages, and none outside its mapping. */
#define AROUND_POINTS 7
/* Return: KiB that the process is charged for the mapping that contains @at; -1: no
 * such mapping.
 */
static long long counted_kib(const void *at)
{
	unsigned long long first, end, look = (uintptr_t)at;
	FILE *f = fopen("/proc/self/smaps", "re");
	long long kib = -1;
	bool here = false;
	char line[512];

	test_demand(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%llx-%llx ", &first, &end) == 2)
			here = first <= look && look < end;
		else if (here && !strncmp(line, "Rss:", 4))
			kib = strtoll(line + 4, NULL, 10);
	}
	fclose(f);
	return kib;
}

static void try_around(void)
{
	const size_t pages = 1000, bytes = pages * PAGE, hole = 100 * PAGE;
	struct epf_params p = test_params("mod-around", bytes / 64, 1, 5, 1 << 20);
	int fd = test_make(&p);
	char *up, *down, *part;

	test_insert(fd, 1, 0, 50000);
	up = map(fd, PROT_READ, MAP_SHARED, bytes, 0);
	down = map(fd, PROT_READ, MAP_SHARED, bytes, 0);
	part = map(fd, PROT_READ, MAP_SHARED, 90 * PAGE, 37 * PAGE);
	test_demand(up != MAP_FAILED && down != MAP_FAILED && part != MAP_FAILED);
	munmap(up + hole, PAGE);
	test_demand(faults(up, 100, false) <= 100 / 64 + 3);
	tap_ok(touch(up + hole, false) == SIGSEGV, "a hole in it stays one");
	tap_ok(faults(up + hole + PAGE, pages - 101, false) <= 899 / 64 + 4,
	       "a fault maps many pages");
	tap_ok(faults(down, pages, true) <= 1000 / 64 + 3, "also backwards");
	tap_ok(!memcmp(up, down, hole) &&
		       !memcmp(up + hole + PAGE, down + hole + PAGE, bytes - hole - PAGE),
	       "the same pages");
	tap_ok(!memcmp(part, down + 37 * PAGE, 90 * PAGE), "and those of a part");
	munmap(down, bytes);
	down = map(fd, PROT_READ, MAP_SHARED, bytes, 0);
	test_demand(down != MAP_FAILED);
	tap_ok(same_verdicts(fd, (struct epf_line *)down),
	       "they come again when they were given back");
	tap_ok(counted_kib(down) == 0 && counted_kib(&fd) > 0,
	       "and are not memory of the process that looks at them");
	munmap(up, bytes);
	munmap(down, bytes);
	munmap(part, 90 * PAGE);
	close(fd);
}

int main(void)
{
	int fd;

	test_begin(READONLY_POINTS + FOREIGN_POINTS + RANGE_POINTS + CONTENT_POINTS + LIFE_POINTS +
		   SWAP_POINTS + AROUND_POINTS);
	fd = test_make_plain("mod-mapping", 700);
	try_readonly(fd);
	try_foreign(fd);
	try_range(fd);
	try_content(fd);
	try_life();
	try_swap();
	try_around();
	return test_end();
}
