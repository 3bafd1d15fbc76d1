// SPDX-License-Identifier: GPL-2.0
#include "../params.h"
#include "epftest.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "query/kinds.h"

#define PREFIX "mod-"
#define CHUNK 4096u
/* Taint: machine check, bad page, oops, warning, soft lockup. */
#define BAD_TAINT (1 << 4 | 1 << 5 | 1 << 7 | 1 << 9 | 1 << 14)

const __u64 test_key[2] = { 0x0123456789abcdef, 0xfedcba9876543210 };
int test_dev = -1;

/* EPF_KO, or the module built beside this program. Return: 0 or -errno. */
static int load_module(void)
{
	const char *ko = getenv("EPF_KO");
	char path[PATH_MAX] = "";
	int fd, ret;

	if (!ko) {
		ret = readlink("/proc/self/exe", path, sizeof(path) - 1);
		test_demand(ret > 0);
		strcpy(strrchr(path, '/'), "/../../kmod/epochfilter.ko");
		ko = path;
	}
	fd = open(ko, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = syscall(SYS_finit_module, fd, "", 0) ? -errno : 0;
	close(fd);
	return ret;
}

static void skip_all(const char *reason)
{
	tap_skip_all(reason);
	exit(TAP_SKIPPED);
}

void test_open_device(void)
{
	if (geteuid())
		skip_all("needs root");
	test_dev = epf_dev_open();
	if (test_dev == -ENOENT && getenv("EPF_VM") && !load_module())
		test_dev = epf_dev_open();
	if (test_dev == -ENOENT)
		skip_all("the module is not loaded");
	test_demand(test_dev >= 0);
}

void test_remove_filters(void)
{
	struct epf_info info;
	__u32 *ids;
	int i, fd, nr = epf_dev_list(test_dev, &ids);

	for (i = 0; i < nr; i++) {
		fd = epf_dev_filter_id(test_dev, ids[i]);
		if (fd < 0)
			continue;
		info = test_info(fd);
		close(fd);
		if (!strncmp(info.params.name, PREFIX, strlen(PREFIX)))
			test_destroy(info.params.name, EPF_DESTROY_FORCE);
	}
	free(ids);
}

void test_demanded(bool cond, const char *text, const char *file, int line)
{
	if (cond)
		return;
	printf("Bail out! %s:%d: %s: %s\n", file, line, text, strerror(errno));
	exit(1);
}

long test_ioctl(int fd, unsigned long cmd, void *arg)
{
	int ret = ioctl(fd, cmd, arg);

	return ret < 0 ? -errno : ret;
}

struct epf_params test_params(const char *name, __u64 nr_lines, __u32 parts, __u32 bits,
			      __u64 window)
{
	struct epf_params p = { PARAMS(nr_lines, parts, bits, window) };

	test_demand(strlen(name) < sizeof(p.name));
	strcpy(p.name, name);
	return p;
}

struct epf_params test_locked_params(const char *name, __u32 kind, __u64 window)
{
	struct epf_params p = test_params(name, 0, 0, 0, window);

	p.kind = kind;
	return p;
}

bool test_is_resizable(__u32 kind)
{
	const struct epf_kind_ops *ops = epf_kind_ops(kind);

	return ops && ops->resizable;
}

void test_set_span(struct epf_params *p, __u64 span_ns)
{
	p->mode = EPF_MODE_TIME;
	p->window_inserts = 0;
	p->window_ns = span_ns;
}

int test_make(const struct epf_params *params)
{
	return test_make_kind(params, NULL);
}

int test_make_kind(const struct epf_params *params, const struct epf_shape *shape)
{
	const struct epf_create_opts o = { .size = sizeof(o), .shape = shape, .key = test_key };
	int ret = test_destroy(params->name, EPF_DESTROY_FORCE);

	test_demand(!ret || ret == -ENOENT);
	ret = epf_dev_create_opts(test_dev, params, &o, NULL);
	errno = -ret;
	test_demand(!ret);
	ret = test_open(params->name);
	test_demand(ret >= 0);
	return ret;
}

int test_make_plain(const char *name, __u64 window)
{
	struct epf_params p = test_params(name, 1024, 2, 10, window);

	return test_make(&p);
}

int test_open(const char *name)
{
	return epf_dev_filter(test_dev, name);
}

long test_destroy(const char *name, __u32 flags)
{
	return epf_dev_destroy(test_dev, name, flags & EPF_DESTROY_FORCE);
}

struct epf_info test_info(int fd)
{
	struct epf_info info;

	test_demand(!epf_filter_info(fd, &info));
	return info;
}

static long snap(int fd, unsigned long cmd, __u64 pin_ns, struct epf_snap *s)
{
	struct epf_snap args = { .size = sizeof(args), .pin_ns = pin_ns };
	long ret = test_ioctl(fd, cmd, &args);

	if (s)
		*s = args;
	return ret;
}

long test_snap_begin(int fd, __u64 pin_ns, struct epf_snap *s)
{
	return snap(fd, EPF_IOC_SNAP_BEGIN, pin_ns, s);
}

long test_snap_end(int fd, struct epf_snap *s)
{
	return snap(fd, EPF_IOC_SNAP_END, 0, s);
}

long test_snap_read(int fd, __u32 flags, __u64 at, __u64 bytes, void *to)
{
	struct epf_snap_read r = {
		.size = sizeof(r),
		.flags = flags,
		.offset = at,
		.bytes = bytes,
		.data = (uintptr_t)to,
	};

	return test_ioctl(fd, EPF_IOC_SNAP_READ, &r);
}

long test_restore(int fd, const struct epf_snap_header *h, const void *from)
{
	struct epf_restore r = { .size = sizeof(r), .header = *h, .lines = (uintptr_t)from };

	return test_ioctl(fd, EPF_IOC_RESTORE, &r);
}

void test_copy(int from, int to)
{
	struct epf_snap s;
	size_t bytes;
	void *lines;

	test_demand(!test_snap_begin(from, SEC, &s));
	bytes = s.header.params.nr_lines * 64;
	lines = mmap(NULL, bytes, PROT_READ, MAP_SHARED, from, 0);
	test_demand(lines != MAP_FAILED);
	test_demand(!test_snap_end(from, &s));
	test_demand(!test_restore(to, &s.header, lines));
	munmap(lines, bytes);
}

bool test_pinned(int fd)
{
	return test_info(fd).flags & EPF_INFO_PINNED;
}

bool test_saturated(void *fd)
{
	return test_info(*(int *)fd).flags & EPF_INFO_SATURATED;
}

bool test_recovered(void *fd)
{
	return !test_saturated(fd);
}

__u32 test_nr_filters(void)
{
	struct epf_list l = { .size = sizeof(l) };

	test_demand(!test_ioctl(test_dev, EPF_IOC_LIST, &l));
	return l.count;
}

bool test_unpinned(void *fd)
{
	return !test_pinned(*(int *)fd);
}

void test_draw(__u64 *digests, __u64 s, __u64 first, __u32 n)
{
	__u32 i;

	for (i = 0; i < n; i++)
		digests[i] = test_digest(s, first + i);
}

struct epf_batch test_batch(__u64 *digests, __u32 count)
{
	return (struct epf_batch){
		.size = sizeof(struct epf_batch),
		.flags = EPF_BATCH_DIGESTS,
		.count = count,
		.keys = (uintptr_t)digests,
	};
}

long test_digests(int fd, unsigned long cmd, __u64 s, __u64 first, __u64 n)
{
	__u64 digests[CHUNK];
	struct epf_batch b = test_batch(digests, 0);
	long present = 0;
	int ret;

	for (; n; n -= b.count, first += b.count, present += b.present) {
		b.count = n < CHUNK ? n : CHUNK;
		test_draw(digests, s, first, b.count);
		ret = test_ioctl(fd, cmd, &b);
		if (ret)
			return ret;
	}
	return present;
}

void test_insert(int fd, __u64 s, __u64 first, __u64 n)
{
	test_demand(!test_digests(fd, EPF_IOC_INSERT, s, first, n));
}

long test_count(int fd, __u64 s, __u64 first, __u64 n)
{
	return test_digests(fd, EPF_IOC_TEST, s, first, n);
}

bool test_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return !sched_setaffinity(0, sizeof(set), &set);
}

__u64 test_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * SEC + ts.tv_nsec;
}

void test_sleep(__u64 ns)
{
	struct timespec ts = { .tv_sec = ns / SEC, .tv_nsec = ns % SEC };

	nanosleep(&ts, NULL);
}

unsigned int test_rounds(unsigned int few, unsigned int many)
{
	return getenv("EPF_THOROUGH") ? many : few;
}

bool test_wait(bool (*met)(void *arg), void *arg)
{
	__u64 start = test_now(), pause = 5 * MS;

	while (!met(arg)) {
		if (test_now() - start > PATIENCE_NS)
			return false;
		test_sleep(pause);
		pause = pause < 100 * MS ? 2 * pause : pause; /* @met may be slow in a guest */
	}
	return true;
}

struct epoch_wait {
	int fd;
	__u64 epoch;
};

static bool epoch_reached(void *arg)
{
	const struct epoch_wait *w = arg;

	return test_info(w->fd).epoch >= w->epoch;
}

bool test_wait_epoch(int fd, __u64 epoch)
{
	struct epoch_wait w = { fd, epoch };

	return test_wait(epoch_reached, &w);
}

void *test_guarded(size_t pages)
{
	char *map = mmap(NULL, (pages + 1) * PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	test_demand(map != MAP_FAILED);
	test_demand(!mprotect(map + pages * PAGE, PAGE, PROT_NONE));
	return map;
}

long long test_number(const char *path, const char *name)
{
	FILE *file = fopen(path, "re");
	long long n = -1;
	char line[512];

	test_demand(file);
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, name, strlen(name)))
			continue;
		n = strtoll(line + strlen(name), NULL, 10);
		break;
	}
	fclose(file);
	return n;
}

int test_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int ret;

	if (fd < 0)
		return -errno;
	ret = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

bool test_kernel_calm(void)
{
	return !(test_number("/proc/sys/kernel/tainted", "") & BAD_TAINT);
}
