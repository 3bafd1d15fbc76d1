// SPDX-License-Identifier: GPL-2.0
/*
 * A locked kind while its oldest epoch is being emptied: its counts, and two concurrent
 * requests for a snapshot. The module of the stress test stops the sweep half-way
 * (broken/epf/estimate.h); half.sh loads it.
 */
#include "epftest.h"

#include <pthread.h>

#define PARAMETERS "/sys/module/epochfilter/parameters/"
#define BROKEN PARAMETERS "broken"
#define HASTY 2048 /* as in torture/broken/epf/estimate.h */
#define HALF 4096
#define LATER 8192
#define EPOCHS 5u
#define KEYS 100u /* keys of an epoch, so few that there is no false positive */

static void set_broken(unsigned int flags)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", flags);
	test_demand(!test_write(BROKEN, text));
}

static int make(void)
{
	struct epf_params p = test_locked_params("mod-half", EPF_KIND_GE, EPOCHS * 2 * KEYS);
	struct epf_shape shape = { 0 };

	shape.ge.segment_bits = 1 << 17; /* the sweep takes the lock several times */
	shape.ge.epochs = EPOCHS;
	shape.ge.bits = 10;
	return test_make_kind(&p, &shape);
}

static bool stopped(void *unused)
{
	return test_number(PARAMETERS "halves", "") > 0;
}

/* A rotation that is requested but not awaited ends its epoch as far as the sweep goes. */
static void stop_half_way(int fd)
{
	struct epf_rotate_args r = { .size = sizeof(r), .count = 1 };

	test_demand(!test_write(PARAMETERS "halves", "0"));
	set_broken(HASTY | HALF);
	test_demand(test_ioctl(fd, EPF_IOC_ROTATE, &r) == -EINTR);
	test_demand(test_wait(stopped, NULL));
	set_broken(HALF);
}

/* Insert KEYS + i keys of stream i in epoch i. */
static void fill(int fd)
{
	__u32 i;

	for (i = 0; i <= EPOCHS; i++) {
		test_insert(fd, i, 0, KEYS + i);
		if (i < EPOCHS)
			test_demand(!epf_filter_rotate(fd, 1, NULL));
	}
}

#define COVERED_POINTS 6
static void try_covered(void)
{
	const __u32 all = EPOCHS * KEYS + EPOCHS * (EPOCHS + 1) / 2;
	int fd = make();
	struct epf_info info;
	__u64 e;

	fill(fd);
	info = test_info(fd);
	e = info.epoch;
	tap_ok(info.covered_inserts == all + KEYS && info.covered_ns == info.epochs[EPOCHS].age_ns,
	       "the window and the current epoch are covered");
	stop_half_way(fd);
	info = test_info(fd);
	test_is((long long)info.epoch, (long long)e, "half swept: the epoch is the same");
	test_is(test_count(fd, 0, 0, KEYS), 0, "the oldest is not found");
	test_is((long long)info.covered_inserts, all, "nor covered");
	test_is((long long)info.covered_ns, (long long)info.epochs[EPOCHS - 1].age_ns,
		"nor is its time");
	set_broken(0);
	test_demand(test_wait_epoch(fd, e + 1));
	test_is((long long)test_info(fd).covered_inserts, all, "swept: as many are covered");
	close(fd);
}

struct beginner {
	pthread_t thread;
	int fd;
	long ret;
};

static void *begin(void *arg)
{
	struct beginner *b = arg;
	b->ret = test_snap_begin(b->fd, EPF_PIN_MAX_NS, NULL);
	return NULL;
}

static bool pinned(void *arg)
{
	return test_info(*(int *)arg).flags & EPF_INFO_PINNED;
}

/* The call holds the filter while it waits for the sweep. */
static void start(struct beginner *b)
{
	test_demand(!pthread_create(&b->thread, NULL, begin, b));
	test_demand(test_wait(pinned, &b->fd));
}

/* The pin of the first caller expires while it waits, and a second one begins. */
#define TWO_POINTS 3
static void try_two(void)
{
	struct beginner first = { .fd = make() };
	struct beginner second = { .fd = test_open("mod-half") };

	fill(first.fd);
	stop_half_way(first.fd);
	start(&first);
	set_broken(HALF | LATER);
	tap_ok(!test_pinned(first.fd), "a pin expires although its caller still waits");
	start(&second);
	set_broken(LATER);
	pthread_join(first.thread, NULL);
	pthread_join(second.thread, NULL);
	test_is(second.ret, 0, "the later caller has the snapshot");
	test_is(first.ret, -EBUSY, "and the earlier one has not");
	close(first.fd);
	close(second.fd);
	test_demand(!test_destroy("mod-half", 0));
	set_broken(0);
}

int main(void)
{
	test_begin(COVERED_POINTS + TWO_POINTS);
	try_covered();
	try_two();
	return test_end();
}
