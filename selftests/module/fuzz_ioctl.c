// SPDX-License-Identifier: GPL-2.0
/*
 * Hostile input: random calls of everything the device has, from several threads and
 * processes at once. Structs are mostly valid, with fields, sizes and pointers changed.
 * Meanwhile descriptors are made, duplicated, closed and inherited, and mappings are
 * made, read and cut; some of the argument memory changes while the kernel reads it.
 * Some threads have no capabilities; signals arrive all the time. Limits are low, so
 * that they are reached.
 *
 * The test points: every command also succeeds at times (else this would test little),
 * the kernel logs no complaint, limits hold, and afterwards everything is released:
 * filters, the memory charged by the module, the memory of the machine, and the module
 * itself, which unloads.
 *
 *	fuzz_ioctl [CALLS [SEED]]		or EPF_FUZZ_CALLS, EPF_FUZZ_SEED
 *
 * A seed repeats the calls of each thread, not their interleaving.
 */
#include "fuzz.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#define CALLS test_rounds(30000, 100000)
#define THREADS 16
#define PLAIN_THREADS 2 /* threads without capabilities */
#define MAX_COMMANDS 32
#define MAX_ERRNO 4096
#define MAX_FILTERS "10"
#define MAX_FILTER_MIB "8"
#define MAX_TOTAL_MIB "8"
#define TOTAL_BYTES (8ull << 20)
#define PARAMS "/sys/module/epochfilter/parameters/"
#define PASS_CALLS 250000u /* calls in a pass, at most; there are at least four passes */
#define MORE_PASSES 20     /* extra passes until each command has succeeded, at most */

static int fds[FUZZ_FDS]; /* -1: none */
char *fuzz_shifting;
char *fuzz_readonly;
char *fuzz_image;
struct epf_snap_header fuzz_header;

static __u64 tried[MAX_COMMANDS], succeeded[MAX_COMMANDS];
static __u64 errors[MAX_ERRNO / 64]; /* one bit per errno seen */
static char *shared; /* the page behind fuzz_readonly: all threads put arguments there */
static __u64 calls_each;
static __u64 over_limit;

/* Choose where the kernel reads the arguments: mostly in valid memory, or ending at a
 * page's end, or where other threads write, or perhaps in unmapped memory.
 */
static void *place(struct fuzzer *f, const union fuzz_args *a, size_t size)
{
	__u64 where = fuzz_draw(f, 64);
	char *at = f->args;

	if (where < 2)
		return (void *)(uintptr_t)fuzz_hostile(f);
	if (where < 14) {
		memcpy(shared, a, sizeof(*a));
		return where < 8 ? shared : fuzz_readonly;
	}
	if (where < 18)
		at += PAGE - (size + 15) / 16 * 16;
	memcpy(at, a, at == f->args ? PAGE : size);
	return at;
}

static int draw_fd(struct fuzzer *f)
{
	return __atomic_load_n(&fds[fuzz_draw(f, FUZZ_FDS)], __ATOMIC_RELAXED);
}

/* Put @fd into the pool. The old descriptor is closed, even if another thread uses it. */
static void keep_fd(struct fuzzer *f, int fd)
{
	int *at = &fds[fuzz_draw(f, FUZZ_FDS)];

	fd = __atomic_exchange_n(at, fd, __ATOMIC_RELAXED);
	if (fd >= 0)
		close(fd);
}

static void count(__u64 *n)
{
	__atomic_fetch_add(n, 1, __ATOMIC_RELAXED);
}

static void note(size_t nr, int ret, int err)
{
	count(&tried[nr]);
	if (ret >= 0)
		count(&succeeded[nr]);
	else
		__atomic_fetch_or(&errors[err / 64], 1ull << err % 64, __ATOMIC_RELAXED);
}

static void after(const struct fuzzer *f, const struct fuzz_command *c, const void *at)
{
	if (c->cmd == EPF_IOC_SNAP_END && at == f->args)
		memcpy(&fuzz_header, &((const struct epf_snap *)at)->header, sizeof(fuzz_header));
	else if (c->cmd == EPF_IOC_INFO && at == f->args &&
		 ((const struct epf_info *)at)->memory_bytes > TOTAL_BYTES)
		count(&over_limit);
}

static void call_ioctl(struct fuzzer *f)
{
	const struct fuzz_command *c = fuzz_draw_command(f);
	unsigned long cmd = c->cmd;
	union fuzz_args a = { 0 };
	bool odd = !fuzz_draw(f, 3);
	void *at;
	int fd, ret;

	fuzz_fill(f, c, odd, &a);
	if (odd && !fuzz_draw(f, 32))
		cmd ^= 1ul << fuzz_draw(f, 32);
	at = place(f, &a, c->size);
	fd = c->control == !!fuzz_draw(f, 128) ? test_dev : draw_fd(f);
	ret = ioctl(fd, cmd, at);
	note(c - fuzz_commands, ret, errno);
	if (ret > 0)
		keep_fd(f, ret); /* also if a changed command number became OPEN */
	else if (!ret && cmd == c->cmd)
		after(f, c, at);
}

static void drop_map(struct fuzz_map *m)
{
	if (m->at)
		munmap(m->at, m->bytes);
	m->at = NULL;
}

static void call_mmap(struct fuzzer *f)
{
	struct fuzz_map *m = &f->maps[fuzz_draw(f, FUZZ_MAPS)];
	int prot = fuzz_draw(f, 8) ? PROT_READ : (int)fuzz_draw(f, 8);
	off_t off = fuzz_draw(f, 4) ? 0 : (off_t)(fuzz_draw(f, 64) * PAGE);

	off += fuzz_draw(f, 3) ? 0 : (off_t)EPF_MMAP_JOURNAL;
	drop_map(m);
	m->bytes = PAGE << fuzz_draw(f, fuzz_draw(f, 16) ? 8 : 30);
	m->at = mmap(NULL, m->bytes, prot, fuzz_draw(f, 4) ? MAP_SHARED : MAP_PRIVATE, draw_fd(f),
		     off);
	if (m->at == MAP_FAILED)
		m->at = NULL;
}

/* Let the kernel read the mapping, because it reports unreadable memory as an error. */
static void read_map(struct fuzzer *f)
{
	struct fuzz_map *m = &f->maps[fuzz_draw(f, FUZZ_MAPS)];
	int pipe_fds[2];
	ssize_t ret;

	if (!m->at || pipe(pipe_fds))
		return;
	ret = write(pipe_fds[1], m->at + fuzz_draw(f, m->bytes), 64);
	(void)ret; /* EFAULT in unmapped memory */
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}

static void cut_map(struct fuzzer *f)
{
	struct fuzz_map *m = &f->maps[fuzz_draw(f, FUZZ_MAPS)];
	void *moved;
	size_t at;

	if (!m->at)
		return;
	at = fuzz_draw(f, m->bytes / PAGE) * PAGE;
	switch (fuzz_draw(f, 4)) {
	case 0:
		munmap(m->at + at, PAGE);
		break;
	case 1:
		mprotect(m->at, m->bytes, (int)fuzz_draw(f, 8));
		break;
	case 2:
		madvise(m->at, m->bytes, (int)fuzz_draw(f, 26));
		break;
	default:
		at = PAGE << fuzz_draw(f, 4);
		moved = mremap(m->at, m->bytes, at, MREMAP_MAYMOVE);
		if (moved == MAP_FAILED)
			break;
		m->at = moved;
		m->bytes = at;
	}
}

static void call_poll(struct fuzzer *f)
{
	struct pollfd p[3];
	int i;

	for (i = 0; i < 3; i++)
		p[i] = (struct pollfd){ .fd = draw_fd(f), .events = POLLIN | POLLPRI };
	poll(p, 3, fuzz_draw(f, 16) ? 0 : 1);
}

static void shift(struct fuzzer *f)
{
	switch (fuzz_draw(f, 4)) {
	case 0:
		mprotect(fuzz_shifting, PAGE, PROT_READ);
		break;
	case 1:
		mprotect(fuzz_shifting, 2 * PAGE, PROT_READ | PROT_WRITE);
		break;
	case 2:
		mprotect(fuzz_shifting + PAGE, PAGE, PROT_NONE);
		break;
	default:
		madvise(fuzz_shifting, PAGE, MADV_DONTNEED);
	}
}

static void on_alarm(int sig)
{
}

/* Switch signals that interrupt sleeping calls on or off. */
static void alarms(bool on)
{
	struct itimerval t = { 0 };
	struct sigaction act = { .sa_handler = on_alarm };

	if (on)
		t.it_interval.tv_usec = t.it_value.tv_usec = 20000;
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
}

static void call_any(struct fuzzer *f);

/* A child inherits descriptors and mappings, uses them, and releases them. */
static void call_fork(struct fuzzer *f)
{
	pid_t pid = fork();
	int i;

	if (!pid) {
		alarms(true); /* it does not inherit the timer */
		for (i = 0; i < 16; i++)
			call_ioctl(f);
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static void call_any(struct fuzzer *f)
{
	switch (fuzz_draw(f, 64)) {
	case 0:
	case 1:
		call_mmap(f);
		break;
	case 2:
		read_map(f);
		break;
	case 3:
		cut_map(f);
		break;
	case 4:
	case 5:
		call_poll(f);
		break;
	case 6:
		keep_fd(f, dup(draw_fd(f)));
		break;
	case 7:
		if (!fuzz_draw(f, 8))
			keep_fd(f, -1);
		break;
	case 8:
	case 9:
		shift(f);
		break;
	case 10:
		if (!fuzz_draw(f, 64))
			call_fork(f);
		break;
	default:
		call_ioctl(f);
	}
}

static void drop_capabilities(void)
{
	struct __user_cap_header_struct h = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct none[2] = { 0 };

	test_demand(!syscall(SYS_capset, &h, none));
}

static void *fuzz(void *arg)
{
	struct fuzzer *f = arg;
	__u64 n;
	int i;

	if (f->plain)
		drop_capabilities();
	for (n = 0; n < calls_each; n++)
		call_any(f);
	for (i = 0; i < FUZZ_MAPS; i++)
		drop_map(&f->maps[i]);
	return NULL;
}

/* Remove all filters, because changed names and ids have created and hit any filters. */
static void remove_filters(void)
{
	struct epf_ref_args a = { .size = sizeof(a), .flags = EPF_DESTROY_FORCE };
	int i, nr;
	__u32 *ids;

	nr = epf_dev_list(test_dev, &ids);
	test_demand(nr >= 0);
	for (i = 0; i < nr; i++) {
		a.name.id = ids[i];
		test_demand(!test_ioctl(test_dev, EPF_IOC_DESTROY, &a));
	}
	free(ids);
}

/* Map @pages and an inaccessible one far from all other memory, so that a pointer with
 * some bits changed hits nothing that this program needs.
 */
static char *far_pages(size_t pages)
{
	static __u64 next = 1ull << 44;
	char *at = mmap((void *)next, (pages + 1) * PAGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	test_demand(at == (char *)next);
	test_demand(!mprotect(at + pages * PAGE, PAGE, PROT_NONE));
	next += 1ull << 26;
	return at;
}

static void run(__u64 calls, __u64 *seed)
{
	static struct fuzzer fuzzers[THREADS];
	int i;

	calls_each = calls / THREADS;
	for (i = 0; i < THREADS; i++) {
		struct fuzzer *f = &fuzzers[i];

		if (!f->args) {
			f->args = far_pages(1);
			f->data = far_pages(FUZZ_DATA_PAGES);
			f->plain = i < PLAIN_THREADS;
		}
		f->rng = ++*seed << 32;
	}
	alarms(true);
	for (i = 0; i < THREADS; i++)
		test_demand(!pthread_create(&fuzzers[i].id, NULL, fuzz, &fuzzers[i]));
	for (i = 0; i < THREADS; i++)
		pthread_join(fuzzers[i].id, NULL);
	alarms(false);
	for (i = 0; i < FUZZ_FDS; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
	remove_filters();
}

static bool can_make(__u64 lines)
{
	struct epf_params p = test_params("mod-fuzz-all", lines, 1, 7, 700);
	int ret = epf_dev_create(test_dev, &p, NULL, NULL);

	if (!ret)
		test_demand(!test_destroy(p.name, 0));
	return !ret;
}

/* Return: lines of the largest filter within the limit on all memory; fewer if the
 * module has already charged some.
 */
static __u64 most_lines(void)
{
	__u64 low = 64, high = TOTAL_BYTES / 64 + 1, mid;

	while (high - low > 1) {
		mid = (low + high) / 2;
		if (can_make(mid))
			low = mid;
		else
			high = mid;
	}
	return low;
}

static long long available(void)
{
	return test_number("/proc/meminfo", "MemAvailable:");
}

/**
 * struct pass - one part of the calls, and its memory
 * @before: memory available before, KiB
 * @margin: memory that may be missing afterwards, KiB
 */
struct pass {
	long long before, margin;
};

static bool back(void *arg)
{
	const struct pass *p = arg;

	return p->before - available() < p->margin;
}

static bool all_succeeded(void)
{
	size_t i;

	for (i = 0; i < fuzz_nr_commands && succeeded[i]; i++)
		;
	return i == fuzz_nr_commands;
}

/* A leak is missing after every pass, but other memory that the machine takes is not: one pass
 * without a loss is enough. Long runs detect leaks of 4 bytes per call.
 */
static void passes(__u64 all, __u64 *seed)
{
	__u64 nr = all / PASS_CALLS < 4 ? 4 : all / PASS_CALLS;
	__u64 calls = all / nr;
	struct pass p = { .margin = 2048 + (long long)(calls * 4 / 1024) };
	bool kept = false;
	__u64 i;

	run(calls, seed); /* fills caches that stay allocated */
	for (i = 1; i < nr; i++) {
		p.before = available();
		run(calls, seed);
		printf("# %llu calls\n", (i + 1) * calls);
		kept = kept || test_wait(back, &p);
	}
	for (i = 0; i < MORE_PASSES && !all_succeeded(); i++)
		run(calls, seed);
	tap_ok(kept, "memory available %lld -> %lld KiB, less than %lld missing", p.before,
	       available(), p.margin);
}

static void report(void)
{
	size_t i;

	for (i = 0; i < fuzz_nr_commands; i++)
		printf("# %s: %llu calls, %llu succeeded\n", fuzz_commands[i].name, tried[i],
		       succeeded[i]);
	printf("# errors:");
	for (i = 1; i < MAX_ERRNO; i++)
		if (errors[i / 64] >> i % 64 & 1)
			printf(" %s", strerrorname_np((int)i));
	printf("\n");
	tap_ok(all_succeeded(), "every command has also succeeded");
}

/* Restored at the end, because other tests need the module's defaults. */
static const char *const limits[][2] = {
	{ PARAMS "max_filters", MAX_FILTERS },
	{ PARAMS "max_filter_mib", MAX_FILTER_MIB },
	{ PARAMS "max_total_mib", MAX_TOTAL_MIB },
};

static void set_limits(bool low, long long was[3])
{
	char text[24];
	size_t i;

	for (i = 0; i < ARRAY_LEN(limits); i++) {
		if (low)
			was[i] = test_number(limits[i][0], "");
		snprintf(text, sizeof(text), "%lld", was[i]);
		test_demand(!test_write(limits[i][0], low ? limits[i][1] : text));
	}
}

static __u64 number(int argc, char **argv, int i, const char *env, __u64 other)
{
	const char *text = argc > i ? argv[i] : getenv(env);

	return text ? strtoull(text, NULL, 0) : other;
}

/* Map one page twice, once writable and once not. */
static void set_up_shared(void)
{
	int page = memfd_create("fuzz", MFD_CLOEXEC);

	test_demand(page >= 0 && !ftruncate(page, PAGE));
	shared = far_pages(1);
	fuzz_readonly = far_pages(1);
	test_demand(mmap(shared, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, page, 0) ==
		    shared);
	test_demand(mmap(fuzz_readonly, PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, page, 0) ==
		    fuzz_readonly);
	close(page);
}

static void set_up(void)
{
	int i;

	for (i = 0; i < FUZZ_FDS; i++)
		fds[i] = -1;
	set_up_shared();
	fuzz_shifting = far_pages(2);
	fuzz_image = far_pages(FUZZ_IMAGE_PAGES);
	memset(fuzz_image, 0x5a, FUZZ_IMAGE_PAGES * PAGE);
}

/* The module of the kinds may not have been loaded. */
static bool remove_module(void *name)
{
	return !syscall(SYS_delete_module, name, O_NONBLOCK) || errno == ENOENT;
}

/* The memory of destroyed filters, which hold the kinds' module, is freed a moment
 * later.
 */
static void unload(void)
{
	close(test_dev);
	tap_ok(test_wait(remove_module, "epochfilter_kinds"), "the module of the kinds unloads");
	tap_ok(remove_module("epochfilter"), "the module unloads");
}

int main(int argc, char **argv)
{
	__u64 calls = number(argc, argv, 1, "EPF_FUZZ_CALLS", CALLS);
	__u64 seed = number(argc, argv, 2, "EPF_FUZZ_SEED", 1);
	long long was[ARRAY_LEN(limits)];
	__u64 lines, start;
	__u32 *ids;

	if (!getenv("EPF_VM")) {
		tap_skip_all("not in a VM: it hits whatever filters there are");
		return TAP_SKIPPED;
	}
	test_begin(7);
	set_up();
	set_limits(true, was);
	lines = most_lines();
	printf("# %llu calls of %u threads, seed %llu\n", calls, THREADS, seed);
	start = test_now();
	passes(calls, &seed);
	printf("# %llu ms\n", (test_now() - start) / MS);
	report();
	tap_ok(!over_limit, "no filter was larger than all may be together");
	test_is(epf_dev_list(test_dev, &ids), 0, "no filter is left");
	test_is(most_lines(), lines, "nothing is charged: so many lines fit as before");
	set_limits(false, was);
	unload();
	return tap_end();
}
