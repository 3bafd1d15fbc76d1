// SPDX-License-Identifier: GPL-2.0
/*
 * A window in time gets ten times the rate that it was sized for, for a whole window,
 * and then that rate. Saturation and recovery show in the state, by poll(2), in the
 * trace and in the counters; verdicts fail open meanwhile. The filter only gets
 * insertions.
 */
#include "epftest.h"

#include <poll.h>
#include <stdlib.h>

#define TRACING "/sys/kernel/tracing/"
#define EVENT TRACING "events/epochfilter/epf_saturate/enable"
#define KEYS 700u /* keys of a window, at the planned rate */
#define EPOCH_KEYS (KEYS / 7)
#define EPOCH_NS SEC

static int make(void)
{
	struct epf_params p = test_params("mod-saturate", 64, 1, 1, 0);
	struct epf_size_req req = { KEYS, 1e-4, 0, 2 };
	struct epf_size size;

	test_demand(!epf_size(&req, &size));
	p.nr_lines = size.nr_lines;
	p.lines_per_key = size.lines_per_key;
	p.bits_per_key = size.bits_per_key;
	test_set_span(&p, 7 * EPOCH_NS);
	p.budget_ppt = EPF_RATE_ONE / 10000;
	p.limit_ppt = 2 * p.budget_ppt;
	return test_make(&p);
}

/* Insert @nr keys of stream @s in each of the next @epochs epochs. */
static void drive(int fd, __u64 s, __u32 nr, __u32 epochs)
{
	__u32 i;

	for (i = 0; i < epochs; i++) {
		test_insert(fd, s, i * nr, nr);
		test_demand(test_wait_epoch(fd, test_info(fd).epoch + 1));
	}
}

/* Return: what poll() reports about saturation, within @ns. */
static int news(int fd, __u64 ns)
{
	struct pollfd p = { .fd = fd, .events = POLLPRI };

	test_demand(poll(&p, 1, ns / MS) >= 0);
	return p.revents;
}

static bool traced(const char *text)
{
	FILE *file = fopen(TRACING "trace", "re");
	char line[512];
	bool found = false;

	test_demand(file);
	while (fgets(line, sizeof(line), file))
		found |= strstr(line, "epf_saturate: ") && strstr(line, text);
	fclose(file);
	return found;
}

/* Return: keys of stream @s found, and whether the batch reported that it failed open. */
static long ask(int fd, __u64 s, __u32 nr, bool *open)
{
	__u64 keys[EPOCH_KEYS];
	struct epf_batch b = test_batch(keys, nr);

	test_draw(keys, s, 0, nr);
	test_demand(!test_ioctl(fd, EPF_IOC_TEST, &b));
	*open = b.flags & EPF_BATCH_SATURATED;
	return b.present;
}

#define NORMAL_POINTS 2
static void try_normal(int fd)
{
	__u64 e = test_info(fd).epoch;
	bool open;
	long nr;

	drive(fd, 1, EPOCH_KEYS, 3);
	nr = ask(fd, 1, EPOCH_KEYS, &open);
	tap_ok(nr == EPOCH_KEYS || test_info(fd).epoch >= e + EPF_EPOCHS,
	       "at its own rate it answers, unless the window is over");
	tap_ok(!open && !test_saturated(&fd) && !traced("saturated=1"), "and is not saturated");
}

#define FLOOD_POINTS 6
static void try_flood(int fd)
{
	struct epf_info before = test_info(fd), info;
	bool open;

	drive(fd, 2, 10 * EPOCH_KEYS, 7);
	test_is(news(fd, 0), 0, "EPF_IOC_INFO has seen the news");
	info = test_info(fd);
	tap_ok(info.flags & EPF_INFO_SATURATED && info.fpr_ppt > info.params.limit_ppt,
	       "ten times the rate: saturated, at %llu ppm", info.fpr_ppt / 1000000);
	test_is(info.stats.saturations, before.stats.saturations + 1, "once, and so until now");
	tap_ok(traced("saturated=1"), "it is traced");
	test_insert(fd, 3, 0, EPOCH_KEYS);
	test_is(ask(fd, 3, EPOCH_KEYS, &open), 0, "what is in the window is told absent");
	tap_ok(open && test_info(fd).stats.failed_open == before.stats.failed_open + EPOCH_KEYS,
	       "the batch says so, and it is counted");
}

/* Are keys inserted in epoch @e or later found while they are in the window? */
static bool found(int fd, __u64 e)
{
	bool open;
	long nr = ask(fd, 4, EPOCH_KEYS, &open);

	return (nr == EPOCH_KEYS && !open) || test_info(fd).epoch > e + 7;
}

#define RECOVER_POINTS 5
static void try_recover(int fd)
{
	__u64 flooded = test_info(fd).epoch - 1, e;
	int other = test_open("mod-saturate"); /* a descriptor that does not check again */

	test_info(other);
	drive(fd, 5, EPOCH_KEYS, 3);
	tap_ok(test_saturated(&fd) || test_info(fd).epoch > flooded + 7,
	       "still saturated while the flood is inside");
	e = test_info(fd).epoch;
	test_insert(fd, 4, 0, EPOCH_KEYS);
	test_is(news(other, PATIENCE_NS), POLLPRI, "poll tells of the recovery");
	close(other);
	tap_ok(test_wait(test_recovered, &fd), "when the flood has left");
	tap_ok(found(fd, e), "what was inserted before is found");
	tap_ok(traced("saturated=0"), "it is traced");
}

/* A descriptor that has not checked since is notified by poll(). */
#define POLL_POINTS 2
static void try_poll(int fd)
{
	struct epf_info info = test_info(fd);

	tap_ok(!(info.flags & EPF_INFO_SATURATED), "it is not saturated");
	test_insert(fd, 6, 0, 20 * KEYS);
	test_is(news(fd, PATIENCE_NS), POLLPRI, "a flood at once: poll tells of it");
}

int main(void)
{
	int fd;

	test_begin(NORMAL_POINTS + FLOOD_POINTS + RECOVER_POINTS + POLL_POINTS);
	test_demand(!test_write(TRACING "trace", "\n"));
	test_demand(!test_write(EVENT, "1"));
	fd = make();
	try_normal(fd);
	try_flood(fd);
	try_recover(fd);
	try_poll(fd);
	test_write(EVENT, "0");
	close(fd);
	return test_end();
}
