// SPDX-License-Identifier: GPL-2.0
/*
 * Filters whose epochs end by the wall clock, also while the wall clock is set.
 *
 * At any speed of the machine: only the first epoch may be shorter than ceil(T/7), none
 * is shorter than the core allows for its beginning, and a key must be present if less
 * than T of CLOCK_MONOTONIC lies between the moment before its insertion and the moment
 * after its test. Timers may be late without bound, so the test can only wait for
 * boundaries at their multiples.
 */
#include "../locked.h"
#include "epftest.h"

#include <epf/window.h>

#include <stdlib.h>
#include <time.h>

#define T (5600 * MS)
#define EPOCH_NS (T / 7)
#define BATCH 16u
#define BATCHES_MAX 100000u

static __u64 pitch, near;

static struct epf_params params(const char *name)
{
	struct epf_params p = test_params(name, 1 << 14, 2, 16, 0);

	test_set_span(&p, T);
	return p;
}

static long create(const struct epf_params *p, __u32 flags)
{
	const struct epf_create_opts o = { .size = sizeof(o), .flags = flags, .key = test_key };
	long ret = epf_dev_create_opts(test_dev, p, &o, NULL);

	test_demand(!ret || ret == -EINVAL);
	return ret;
}

static int make(const char *name, __u32 flags)
{
	struct epf_params p = params(name);

	test_destroy(name, EPF_DESTROY_FORCE);
	test_demand(!create(&p, flags));
	return test_open(name);
}

static __u64 wall(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * SEC + ts.tv_nsec;
}

static void set_wall(__u64 ns)
{
	struct timespec ts = { .tv_sec = ns / SEC, .tv_nsec = ns % SEC };

	test_demand(!clock_settime(CLOCK_REALTIME, &ts));
}

/**
 * struct look - the state of a filter at one moment
 * @info: its information
 * @wall: the wall clock just before
 * @slack: upper bound of the time since @wall
 */
struct look {
	struct epf_info info;
	__u64 wall;
	__u64 slack;
};

static struct look look(int fd)
{
	struct look l = { .wall = wall() };

	l.info = test_info(fd);
	l.slack = wall() - l.wall;
	return l;
}

/* Has every ended epoch the required length? */
static bool long_enough(const struct look *l)
{
	__u32 i;

	for (i = 1; i < EPF_EPOCHS && l->info.epochs[i].epoch; i++)
		if (l->info.epochs[i].epoch != EPF_EPOCH_FIRST &&
		    l->info.epochs[i].age_ns - l->info.epochs[i - 1].age_ns < EPOCH_NS)
			return false;
	return true;
}

/* Did no epoch end before the core allows it, as far as the times are known? */
static bool on_time(const struct look *l)
{
	struct epf_window w;
	__u32 i;

	test_demand(!epf_window_init(&w, EPF_MODE_TIME, 0, 0, T) && !epf_window_align(&w));
	for (i = 1; i < EPF_EPOCHS && l->info.epochs[i].epoch; i++) {
		const struct epf_epoch_info *e = &l->info.epochs[i];
		bool first = e->epoch == EPF_EPOCH_FIRST;
		__u64 lasted = e->age_ns - e[-1].age_ns;
		__u64 a = epf_window_lasts(&w, l->wall - e->age_ns, first);
		__u64 b = epf_window_lasts(&w, l->wall + l->slack - e->age_ns, first);

		if (lasted + l->slack < (a < b ? a : b))
			return false;
	}
	return true;
}

/* Are the last @n boundaries near their multiples? */
static bool at_multiples(const struct look *l, __u32 n)
{
	__u32 i;

	for (i = 0; i < n; i++) {
		__u64 past = (l->wall - l->info.epochs[i].age_ns) % pitch;

		if (!l->info.epochs[i].epoch || past > near)
			return false;
	}
	return true;
}

#define REFUSED_POINTS 6
static void try_refused(void)
{
	struct epf_params p = params("mod-align-no");
	__u8 mode;

	p.window_inserts = 700;
	for (mode = EPF_MODE_EITHER; mode <= EPF_MODE_BOTH; mode++) {
		p.mode = mode;
		test_is(create(&p, EPF_CREATE_ALIGN), -EINVAL, "mode %u cannot be aligned: EINVAL",
			mode);
	}
	p.mode = EPF_MODE_COUNT;
	p.window_ns = 0;
	test_is(create(&p, EPF_CREATE_ALIGN), -EINVAL, "insertions cannot be aligned: EINVAL");
	p = params("mod-align-no");
	p.kind = EPF_KIND_GE;
	test_is(create(&p, EPF_CREATE_ALIGN), -EINVAL, "locked kinds cannot be aligned: EINVAL");
	p = params("mod-align-no");
	test_is(create(&p, EPF_CREATE_MASK + 1), -EINVAL, "an unknown flag: EINVAL");
	test_is(test_open(p.name), -ENOENT, "none of them is there");
}

static bool flagged(int fd)
{
	return test_info(fd).flags & EPF_INFO_ALIGNED;
}

/* Turn @to into a filter of a locked kind. */
static void restore_locked(int to)
{
	struct epf_params p = test_locked_params("mod-align-d", EPF_KIND_GE, 0);
	struct epf_shape shape = locked_shape(EPF_KIND_GE);
	struct epf_snap_file file;
	int from;

	test_set_span(&p, T);
	from = test_make_kind(&p, &shape);
	test_demand(!epf_snap_copy(from, &file, NULL, NULL));
	test_demand(!epf_snap_restore(to, &file));
	epf_snap_close(&file);
	close(from);
}

#define KEPT_POINTS 7
static void try_kept(void)
{
	int a = make("mod-align-a", EPF_CREATE_ALIGN);
	int b = make("mod-align-b", 0);
	int c = test_make_plain("mod-align-c", 700);

	tap_ok(flagged(a) && !flagged(b), "EPF_IOC_INFO tells which is aligned");
	test_demand(!epf_filter_clear(a));
	tap_ok(flagged(a), "clear leaves it");
	test_demand(!epf_dev_swap(test_dev, "mod-align-a", "mod-align-b"));
	tap_ok(!flagged(a) && flagged(b), "swap takes it along");
	test_copy(a, b);
	tap_ok(flagged(b), "a restored filter stays aligned");
	test_copy(b, a);
	tap_ok(!flagged(a), "and does not become it");
	test_copy(c, b);
	tap_ok(!flagged(b), "one that gets a window of insertions is not");
	close(b);
	b = make("mod-align-b", EPF_CREATE_ALIGN);
	restore_locked(b);
	tap_ok(!flagged(b), "nor one that becomes a locked kind");
	close(a);
	close(b);
	close(c);
}

/**
 * struct run - a filter that is inserted into
 * @before: earliest time of the insertion of batch i
 */
static struct run {
	int fd;
	__u64 before[BATCHES_MAX];
	__u64 n;
	__u64 oldest;
	__u64 lost;
	__u64 checked;
	bool short_one;
	bool early_one;
} run;

static void check_batch(__u64 i)
{
	long present = test_count(run.fd, 1, i * BATCH, BATCH);

	test_demand(present >= 0);
	if (test_now() - run.before[i] > T)
		return;
	run.checked++;
	run.lost += present != BATCH;
}

/* Insert a batch, look up one near the end of the window and any other, and check the
 * epochs.
 */
static struct look turn(bool clock_is_steady)
{
	struct look l;

	test_demand(run.n < BATCHES_MAX);
	run.before[run.n] = test_now();
	test_insert(run.fd, 1, run.n * BATCH, BATCH);
	run.n++;
	while (run.oldest < run.n - 1 && test_now() - run.before[run.oldest] > T)
		run.oldest++;
	check_batch(run.oldest);
	check_batch(run.oldest + epf_word(run.n, 1) % (run.n - run.oldest));
	l = look(run.fd);
	run.short_one |= !long_enough(&l);
	run.early_one |= clock_is_steady && !on_time(&l);
	return l;
}

/* Run until @boundaries are at their multiples. */
static bool align(__u32 boundaries, bool clock_is_steady)
{
	__u64 start = test_now();
	struct look l;

	do {
		l = turn(clock_is_steady);
		if (at_multiples(&l, boundaries))
			return true;
		test_sleep(5 * MS);
	} while (test_now() - start < PATIENCE_NS);
	return false;
}

#define STEADY_POINTS 3
static void try_steady(void)
{
	run.fd = make("mod-align", EPF_CREATE_ALIGN);
	tap_ok(align(6, true), "boundaries fall on multiples of the pitch");
	tap_ok(!run.short_one && !run.early_one, "no epoch is shorter than it has to be");
	tap_ok(!run.lost && run.checked, "%llu batches due, %llu lost", run.checked, run.lost);
}

static const __s64 steps[] = {
	EPOCH_NS / 3,  -(__s64)EPOCH_NS / 3,  10 * SEC + 77 * MS, -(__s64)(20 * SEC + 111 * MS),
	EPOCH_NS / 40, -(__s64)EPOCH_NS / 40,
};

#define STEP_POINTS (ARRAY_LEN(steps) + 2)
static void try_steps(void)
{
	__s64 all = 0;
	size_t i;

	for (i = 0; i < ARRAY_LEN(steps); i++) {
		set_wall(wall() + (__u64)steps[i]);
		all += steps[i];
		tap_ok(align(2, false), "set by %lld ms: boundaries are at multiples again",
		       steps[i] / (__s64)MS);
	}
	tap_ok(!run.short_one, "no epoch is shorter than T/7");
	tap_ok(!run.lost, "%llu batches due, %llu lost", run.checked, run.lost);
	set_wall(wall() - (__u64)all);
}

int main(void)
{
	bool may_set = getenv("EPF_VM");
	struct epf_window w = { 0 };

	test_begin(REFUSED_POINTS + KEPT_POINTS + STEADY_POINTS + (may_set ? STEP_POINTS : 1));
	test_demand(!epf_window_init(&w, EPF_MODE_TIME, 0, 0, T) && !epf_window_align(&w));
	pitch = w.align_ns;
	near = epf_align_near(pitch);
	try_refused();
	try_kept();
	try_steady();
	if (may_set)
		try_steps();
	else
		test_skip("the clock is set", "only in a VM of this suite");
	close(run.fd);
	return test_end();
}
