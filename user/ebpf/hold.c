// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * One process at a time ends the epochs of a filter: the one that holds the lock on the
 * directory "rotator". When it dies the lock is released, and the next process continues
 * from the words in the map. While there is none, programs find the filter overdue
 * (@until) and answer "do not know".
 *
 * In a window of time an epoch is overdue HOLD_NS after its end; in a window of insertions
 * the filter is overdue when no process has checked it for HOLD_NS. It is therefore checked
 * more often than that.
 */
#include "ebpf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define HOLD_NS EPF_BPF_HOLD_NS
#define LOOK_MAX_NS 250000000ULL /* if only time ends epochs */
#define LOOK_NS 10000000ULL      /* if insertions do, and there were none */
#define LOOK_MIN_NS 200000ULL
#define ESTIMATE_NS 100000000ULL
#define LOCKED_NS 1000000ULL /* retry interval if the filter is locked */

/**
 * struct ebpf_hold - a filter whose epochs this process ends
 * @filter: filter
 * @lock: descriptor of "rotator"
 * @hz: jiffies per second
 * @at_ns: time of the last check, on the kernel's clock
 * @epoch: epoch at that time
 * @inserts: insertions of that epoch at that time
 * @estimated_ns: time of the last error sample
 * @locked_ns: since when the filter has been locked, on the kernel's clock; 0: it is not
 */
struct ebpf_hold {
	struct ebpf_filter *filter;
	int lock;
	__u64 hz;
	__u64 at_ns;
	__u64 epoch;
	__u64 inserts;
	__u64 estimated_ns;
	__u64 locked_ns;
};

static int open_rotator(const char *name)
{
	int fd = open(ebpf_path(name, "rotator").text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static bool ticks(const char *name, bool *timed)
{
	struct ebpf_filter *f;
	bool on;

	*timed = false;
	if (ebpf_open(name, &f))
		return false;
	*timed = ebpf_timed(f);
	on = *timed && ebpf_ticks(f);
	ebpf_close(f);
	return on;
}

bool ebpf_held(const char *name)
{
	bool timed, held = ticks(name, &timed);
	int fd = timed ? -1 : open_rotator(name);

	if (fd < 0)
		return held;
	held = flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
	close(fd);
	return held;
}

int ebpf_holder(const char *name)
{
	char line[256], want[64];
	struct stat st;
	int pid = 0, got;
	FILE *f;

	if (stat(ebpf_path(name, "rotator").text, &st))
		return 0;
	snprintf(want, sizeof(want), " %02x:%02x:%lu ", major(st.st_dev), minor(st.st_dev),
		 (unsigned long)st.st_ino);
	f = fopen("/proc/locks", "re");
	while (f && !pid && fgets(line, sizeof(line), f))
		if (strstr(line, "FLOCK") && strstr(line, want) &&
		    sscanf(line, "%*s %*s %*s %*s %d", &got) == 1)
			pid = got;
	if (f)
		fclose(f);
	return pid > 0 ? pid : 0; /* a process of another namespace is hidden */
}

static int clocks(struct ebpf_filter *f, struct epf_bpf_ops *ops)
{
	ops->op = EPF_BPF_TEST;
	ops->count = 0;
	ops->serial = ebpf_slot(f)->serial;
	return ebpf_ops_run(f, ops);
}

/* When the monotonic clock is 0, jiffies is 300 s before 2^32. Kernels have one of a few
 * rates: choose the one that fits best.
 */
static __u64 hold_rate_of(__u64 jiffies, __u64 now_ns)
{
	static const __u64 rates[] = { 100, 250, 300, 1000, 24, 48, 128, 200, 256, 1024, 1200 };
	__u64 best = rates[0], least = ~0ULL;
	size_t i;

	for (i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		__u64 hz = rates[i];
		__u64 at = (1ULL << 32) - 300 * hz + now_ns / 1000000 * hz / 1000;
		__u64 off = at > jiffies ? at - jiffies : jiffies - at;

		if (off / hz < least) {
			least = off / hz;
			best = hz;
		}
	}
	return best;
}

int ebpf_rate(struct ebpf_filter *f, __u64 *hz)
{
	struct epf_bpf_ops ops;
	int ret = clocks(f, &ops);

	if (!ret)
		*hz = hold_rate_of(ops.jiffies, ops.now_ns);
	return ret;
}

int ebpf_overdue_at(struct ebpf_filter *f, __u64 *jiffies)
{
	struct epf_bpf_ops ops;
	int ret = clocks(f, &ops);

	if (!ret)
		*jiffies = ops.jiffies +
			   HOLD_NS / 1000000 * hold_rate_of(ops.jiffies, ops.now_ns) / 1000 + 1;
	return ret;
}

/* Taking the lock repairs what a killed process left. Return: 0: not timed; -EOPNOTSUPP: a
 * timer ends the epochs; another negative errno.
 */
static int is_timed(struct ebpf_filter *f)
{
	int ret = ebpf_timed(f) ? ebpf_begin(f) : 0;

	if (!ebpf_timed(f) || ret)
		return ret;
	ebpf_end(f);
	return (ebpf_ticks(f) ? 0 : ebpf_timer_start(f)) ?: -EOPNOTSUPP;
}

int ebpf_hold_begin(const char *name, struct ebpf_hold **hold)
{
	struct ebpf_hold *h = calloc(1, sizeof(*h));
	struct epf_bpf_ops ops;
	int ret;

	if (!h)
		return -ENOMEM;
	ret = h->lock = open_rotator(name);
	if (ret >= 0 && flock(h->lock, LOCK_EX | LOCK_NB))
		ret = errno == EWOULDBLOCK ? -EBUSY : -errno;
	if (ret >= 0)
		ret = ebpf_open(name, &h->filter);
	if (!ret)
		ret = is_timed(h->filter);
	if (!ret)
		ret = clocks(h->filter, &ops);
	if (ret) {
		ebpf_hold_end(h);
		return ret;
	}
	h->filter->lock_ms = 0;
	h->hz = hold_rate_of(ops.jiffies, ops.now_ns);
	__atomic_store_n(&h->filter->shared->yields, 0, __ATOMIC_RELAXED);
	*hold = h;
	return 0;
}

void ebpf_hold_yield(struct ebpf_hold *h)
{
	__atomic_store_n(&h->filter->shared->yields, 1, __ATOMIC_RELAXED);
}

void ebpf_hold_end(struct ebpf_hold *h)
{
	if (h->lock >= 0)
		close(h->lock);
	if (h->filter)
		ebpf_close(h->filter);
	free(h);
}

/* With the lock held: set the time until which verdicts are valid. */
static void set_until(struct ebpf_hold *h, const struct epf_bpf_ops *clock)
{
	struct epf_bpf_slot *s = ebpf_slot(h->filter);
	__u64 ends = clock->now_ns, more;

	if (s->params.mode == EPF_MODE_TIME)
		ends = ebpf_ends_ns(h->filter, clock->now_ns);
	if ((__s64)(ends - clock->now_ns) < 0)
		ends = clock->now_ns;
	if (s->pin_until_ns > ends)
		ends = s->pin_until_ns;
	more = ends - clock->now_ns + HOLD_NS;
	epf_store_release(&s->until, clock->jiffies + more / 1000000 * h->hz / 1000 + 1);
}

static int end_if_due(struct ebpf_hold *h, const struct epf_bpf_ops *clock)
{
	struct ebpf_filter *f = h->filter;
	struct epf_bpf_slot *s;
	int ret = ebpf_begin(f);

	if (ret)
		return ret;
	h->locked_ns = 0;
	s = ebpf_slot(f);
	if (ebpf_due(f, clock->now_ns))
		ret = ebpf_rotate(f, clock->now_ns);
	if (ret == -EAGAIN || ret == -EBUSY) {
		epf_bpf_delayed(s);
		ret = 0;
	}
	if (!ret)
		set_until(h, clock);
	ebpf_end(f);
	return ret;
}

static int hold_estimate(struct ebpf_hold *h, __u64 now_ns)
{
	struct ebpf_filter *f = h->filter;
	int ret;

	if (ebpf_slot(f)->estimated == ebpf_slot(f)->state.epoch &&
	    now_ns - h->estimated_ns < ESTIMATE_NS)
		return 0;
	ret = ebpf_begin(f);
	if (ret)
		return ret;
	ret = ebpf_estimate(f);
	ebpf_end(f);
	h->estimated_ns = now_ns;
	return ret;
}

/* The time until the next check: half of the time to the epoch's end, at the rate of
 * insertions since the last check.
 */
static __u64 until_look(struct ebpf_hold *h, __u64 now_ns)
{
	const struct epf_bpf_slot *s = ebpf_slot(h->filter);
	__u64 inserts = ebpf_inserts(h->filter);
	__u64 wait = LOOK_MAX_NS, came, left;
	struct epf_window w = epf_bpf_window(s);

	if (w.mode != EPF_MODE_COUNT) {
		left = ebpf_ends_ns(h->filter, now_ns);
		wait = left > now_ns ? left - now_ns : LOOK_MIN_NS;
	}
	came = s->state.epoch == h->epoch && inserts > h->inserts ? inserts - h->inserts : 0;
	if (w.mode != EPF_MODE_TIME) {
		left = inserts < w.epoch_inserts ? w.epoch_inserts - inserts : 0;
		left = came ? (__u64)((double)(now_ns - h->at_ns) * (double)left / (double)came /
				      2) :
			      LOOK_NS;
		left = left < LOOK_NS ? left : LOOK_NS;
		wait = wait < left ? wait : left;
	}
	h->at_ns = now_ns;
	h->epoch = s->state.epoch;
	h->inserts = inserts;
	wait = wait < LOOK_MAX_NS ? wait : LOOK_MAX_NS;
	return wait > LOOK_MIN_NS ? wait : LOOK_MIN_NS;
}

/* Return: -ETIMEDOUT: the filter is locked. */
static int do_step(struct ebpf_hold *h, const struct epf_bpf_ops *clock)
{
	struct ebpf_filter *f = h->filter;
	int ret = end_if_due(h, clock);

	if (!ret && ebpf_slot(f)->quiet < ebpf_slot(f)->state.epoch)
		ret = ebpf_grace(f);
	if (!ret)
		ret = ebpf_scan(f);
	return ret ?: hold_estimate(h, clock->now_ns);
}

/* Return: 1; -ETIMEDOUT: the filter has been locked for EBPF_LOCK_MS. */
static int locked(struct ebpf_hold *h, __u64 now_ns)
{
	if (!h->locked_ns)
		h->locked_ns = now_ns;
	return now_ns - h->locked_ns < EBPF_LOCK_MS * 1000000ULL ? 1 : -ETIMEDOUT;
}

int ebpf_hold_step(struct ebpf_hold *h, __u64 *wait_ns)
{
	struct epf_bpf_ops ops;
	int ret = clocks(h->filter, &ops);

	if (!ret)
		ret = do_step(h, &ops);
	if (ret == -ETIMEDOUT) {
		*wait_ns = LOCKED_NS;
		return locked(h, ops.now_ns);
	}
	if (!ret)
		*wait_ns = until_look(h, ops.now_ns);
	return ret;
}
