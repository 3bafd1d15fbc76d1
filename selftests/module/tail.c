// SPDX-License-Identifier: GPL-2.0
/*
 * Tails (libepf/tail.h) of filters of the module: what is handed out is what was inserted,
 * beside a mirror as well; nothing is lost unnoticed. ../ebpf/tail.c tries the same and more
 * without the module.
 */
#include "../mirrored.h"
#include "../tailed.h"
#include "epftest.h"

#define NAME "mod-tail"
#define LINES 65536u

static struct epf_params shape(__u32 parts)
{
	return test_params(NAME, LINES, parts, 8, EPF_LIVE_EPOCHS * 1000000);
}

static int begin(__u32 parts, __u32 order, struct epf_tail **t)
{
	struct epf_params p = shape(parts);
	int fd = test_make(&p);

	tailed_forget();
	test_demand(!epf_tail_open(fd, order, t));
	return fd;
}

static void end(int fd, struct epf_tail *t)
{
	epf_tail_end(t);
	close(fd);
}

static bool on(int fd)
{
	return test_info(fd).flags & EPF_INFO_JOURNAL;
}

#define NEW_POINTS (6 * TAILED_NEW)
static void try_new(void)
{
	struct epf_tail *t;
	__u32 parts;
	int fd;

	for (parts = 1; parts <= 4; parts *= 2) {
		fd = begin(parts, ORDER, &t);
		tailed_new(fd, t, parts, EPF_IOC_INSERT, "insert");
		end(fd, t);
		fd = begin(parts, ORDER, &t);
		tailed_new(fd, t, parts, EPF_IOC_TEST_AND_INSERT, "test-and-insert");
		end(fd, t);
	}
}

static void try_race(void)
{
	struct epf_tail *t;
	int fd = begin(2, ORDER, &t), second = test_open(NAME);

	tailed_race(fd, second, t);
	close(second);
	end(fd, t);
}

static void try_overrun(void)
{
	struct epf_tail *t;
	int fd = begin(1, 4, &t);

	tailed_overrun(fd, t);
	end(fd, t);
}

/* Has the mirror the lines of the filter? CPUs keep counts back, as the window is long. */
static bool same_lines(int fd, struct epf_mirror *m)
{
	struct mirrored d;

	mirrored_equal(fd, m, &d);
	return d.ret >= 0 && d.set && !d.words;
}

/* A mirror and a tail have one journal. */
#define SHARED_POINTS 5
static void try_shared(void)
{
	struct epf_tail *t;
	struct epf_mirror *m;
	int fd = begin(2, ORDER, &t);

	test_is(epf_mirror_open(fd, ORDER, 0, &m), 0, "a mirror beside a tail");
	test_demand(tailed_insert(fd, EPF_IOC_INSERT, 0, 500));
	tap_ok(same_lines(fd, m) && tailed_read_all(t, 100) == 500 && !lost, "both get all");
	epf_mirror_close(m);
	test_demand(tailed_insert(fd, EPF_IOC_INSERT, 500, 500));
	tap_ok(on(fd) && tailed_read_all(t, 100) == 500 && tailed_handed(0, 1000, 1, 1) && !lost,
	       "without the mirror the tail goes on");
	test_demand(!epf_mirror_open(fd, ORDER, 0, &m));
	epf_tail_close(t);
	test_demand(tailed_insert(fd, EPF_IOC_INSERT, 1000, 500));
	tap_ok(on(fd) && same_lines(fd, m), "without the tail the mirror does");
	epf_mirror_close(m);
	tap_ok(!on(fd), "without both there is no journal");
	close(fd);
}

#define STALE_POINTS 3
static void try_stale(void)
{
	struct epf_tail *t;
	int fd = begin(1, ORDER, &t), fd_b = test_make_plain("mod-tail-2", 700);

	test_demand(!epf_dev_swap(test_dev, NAME, "mod-tail-2"));
	test_is(epf_tail_read(t, room, 100, &lost), -ESTALE, "swapped: ESTALE");
	test_demand(!epf_tail_renew(t) && tailed_insert(fd, EPF_IOC_INSERT, 0, 10));
	tap_ok(tailed_read_all(t, 100) == 10 && !lost, "renewed it goes on");
	test_demand(!test_destroy(NAME, EPF_DESTROY_FORCE));
	tap_ok(epf_tail_read(t, room, 100, &lost) == -ESTALE && epf_tail_renew(t) < 0 &&
		       epf_tail_read(t, room, 100, &lost) == -ESTALE,
	       "destroyed by force: ESTALE, and no renewal");
	close(fd_b);
	end(fd, t);
}

static long call(int fd, __u32 flags, __u32 order)
{
	struct epf_journal_args a = { .size = sizeof(a), .flags = flags, .order = order };

	return test_ioctl(fd, EPF_IOC_JOURNAL, &a);
}

#define CALL_POINTS 3
static void try_call(void)
{
	int fd = test_make_plain(NAME, 700);

	test_is(call(fd, EPF_JOURNAL_SYNC, 0), -EINVAL, "SYNC without a journal: EINVAL");
	test_demand(!call(fd, 0, 4));
	tap_ok(call(fd, EPF_JOURNAL_SYNC, 4) == -EINVAL &&
		       call(fd, EPF_JOURNAL_SYNC | EPF_JOURNAL_END, 0) == -EINVAL,
	       "SYNC with anything else: EINVAL");
	tap_ok(!call(fd, EPF_JOURNAL_SYNC, 0) && on(fd), "SYNC, and the journal goes on");
	close(fd);
}

int main(void)
{
	test_begin(NEW_POINTS + TAILED_RACE + TAILED_OVERRUN + SHARED_POINTS + STALE_POINTS +
		   CALL_POINTS + 1);
	try_new();
	try_race();
	try_overrun();
	try_shared();
	try_stale();
	try_call();
	tap_ok(test_kernel_calm(), "the kernel has not complained");
	return test_end();
}
