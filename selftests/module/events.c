// SPDX-License-Identifier: GPL-2.0
/*
 * Events and states that a filter reports: poll(2) for rotation, saturation and forced
 * destruction, for every kind, and the answers and counts of a saturated filter.
 */
#include "sized.h"

#include <kinds/compare.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>

/* Return: pending events, without waiting. */
static int events(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLPRI };

	test_demand(poll(&p, 1, 0) >= 0);
	return p.revents;
}

struct awaited {
	int fd;
	int events;
};

static bool have_events(void *arg)
{
	const struct awaited *a = arg;

	return events(a->fd) == a->events;
}

static bool wait_events(int fd, int which)
{
	struct awaited a = { fd, which };

	return test_wait(have_events, &a);
}

#define NOT_WOKEN 255

/* Sleep in poll(2). poll() checks once more when its time is over, which does not
 * count.
 */
static int sleep_in_poll(int fd, int which)
{
	struct pollfd p = { .fd = fd, .events = which };
	__u64 start = test_now();

	if (poll(&p, 1, PATIENCE_NS / MS) != 1 || test_now() - start >= PATIENCE_NS)
		return NOT_WOKEN;
	return p.revents;
}

/* A thread sleeps in poll(2) while @act happens. Return: the event that woke it. */
static int woken_by(int fd, int which, void (*act)(int fd))
{
	int status;
	pid_t pid = fork();

	test_demand(pid >= 0);
	if (!pid)
		_exit(sleep_in_poll(fd, which));
	test_sleep(100 * MS);
	act(fd);
	test_demand(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void rotate(int fd)
{
	test_demand(!epf_filter_rotate(fd, 1, NULL));
}

static void insert_epoch(int fd)
{
	test_insert(fd, 1, 0, 150);
}

static void destroy(int fd)
{
	test_demand(!test_destroy("mod-events", EPF_DESTROY_FORCE));
}

static void exchange(int fd)
{
	test_demand(!epf_dev_swap(test_dev, "mod-events", "mod-other"));
}

#define POLL_POINTS 15
static void try_poll(void)
{
	int fd = test_make_plain("mod-events", 700);
	int other = test_make_plain("mod-other", 700);
	int fd2;

	test_is(events(fd), 0, "nothing has happened to a new descriptor");
	rotate(fd);
	tap_ok(wait_events(fd, POLLIN), "a rotation: POLLIN");
	fd2 = test_open("mod-events");
	test_is(events(fd2), 0, "a descriptor opened later is not told");
	test_is(events(fd), POLLIN, "POLLIN stays until EPF_IOC_INFO");
	test_info(fd);
	test_is(events(fd), 0, "EPF_IOC_INFO has seen it");
	test_is(woken_by(fd, POLLIN, rotate), POLLIN, "a rotation wakes a thread in poll()");
	test_is(events(fd2), POLLIN, "each descriptor is told");
	test_info(fd2);
	test_is(events(fd), POLLIN, "and is served by its own EPF_IOC_INFO");
	test_info(fd);
	test_is(woken_by(fd, POLLIN, insert_epoch), POLLIN, "a rotation by count wakes it, too");
	test_info(fd);
	test_is(woken_by(fd, POLLIN, exchange), POLLIN, "so does a swap");
	test_info(fd);
	test_info(other);
	test_is(woken_by(other, POLLIN, exchange), POLLIN, "so it does for the second of the two");
	test_info(fd);
	test_info(other);
	test_is(woken_by(other, POLLIN, rotate), POLLIN, "which hears of its own contents");
	test_info(fd);
	test_is(woken_by(fd, POLLIN, rotate), POLLIN, "and what becomes of the new contents");
	test_info(fd);
	close(fd2);
	test_is(woken_by(fd, POLLIN, destroy), POLLHUP,
		"destruction by force: POLLHUP wakes a thread in poll()");
	test_is(events(fd) & POLLHUP, POLLHUP, "POLLHUP stays");
	close(fd);
	close(other);
}

/* Sized for 1000 keys at about 1e-4; 20000 are inserted. */
#define KEYS 20000u
static struct epf_params overfilled(__u8 refresh)
{
	struct epf_params p = test_params("mod-events", 64, 2, 8, 1ULL << 30);

	p.refresh = refresh;
	p.budget_ppt = EPF_RATE_ONE / 10000;
	p.limit_ppt = EPF_RATE_ONE / 1000;
	return p;
}

static bool estimated(void *arg)
{
	struct epf_info info = test_info(*(int *)arg);

	return info.fpr_ppt > info.params.limit_ppt;
}

/* Test the first @n digests of stream @s; bitmap and number must agree. */
static struct epf_batch ask(int fd, unsigned long cmd, __u64 s, __u32 n)
{
	static __u64 keys[1000];
	static __u8 bitmap[125];
	struct epf_batch b = test_batch(keys, n);
	__u32 i, set = 0;

	test_draw(keys, s, 0, n);
	memset(bitmap, 0, sizeof(bitmap));
	if (cmd != EPF_IOC_INSERT)
		b.bitmap = (uintptr_t)bitmap;
	test_demand(!test_ioctl(fd, cmd, &b));
	for (i = 0; i < n; i++)
		set += bitmap[i / 8] >> i % 8 & 1;
	test_demand(b.present == set);
	return b;
}

/* Get the ages of @n digests of stream @s, which were never inserted. Return: how many
 * are EPF_AGE_UNKNOWN; *@absent: how many are EPF_AGE_ABSENT.
 */
static __u32 ask_ages(int fd, __u32 flags, __u64 s, __u32 n, __u32 *absent)
{
	static __u64 keys[1000];
	static __u8 ages[1000];
	struct epf_batch b = test_batch(keys, n);
	__u32 i, unknown = 0;

	b.flags |= flags;
	b.ages = (uintptr_t)ages;
	test_draw(keys, s, 0, n);
	test_demand(!test_ioctl(fd, EPF_IOC_TEST, &b));
	for (*absent = 0, i = 0; i < n; i++) {
		unknown += ages[i] == EPF_AGE_UNKNOWN;
		*absent += ages[i] == EPF_AGE_ABSENT;
	}
	return unknown;
}

/* In a saturated filter each key is either found, or certainly absent. */
#define UNKNOWN_POINTS 3
static void try_unknown(void)
{
	struct epf_params p = overfilled(EPF_REFRESH);
	__u32 absent, unknown;
	int fd = test_make(&p);

	test_insert(fd, 3, 0, 1000); /* a third of all other keys is found too */
	unknown = ask_ages(fd, EPF_BATCH_UNKNOWN, 3, 1000, &absent);
	tap_ok(unknown == 1000, "keys in a saturated filter are unknown");
	unknown = ask_ages(fd, EPF_BATCH_UNKNOWN, 9, 1000, &absent);
	tap_ok(unknown && absent && unknown + absent == 1000,
	       "of the others %u are unknown, %u absent", unknown, absent);
	unknown = ask_ages(fd, 0, 9, 1000, &absent);
	tap_ok(absent == 1000, "a caller that did not ask for this gets \"absent\"");
	close(fd);
}

#define SATURATE_POINTS 10
static int try_saturate(void)
{
	struct epf_params p = overfilled(EPF_REFRESH);
	struct epf_info info;
	struct epf_batch b;
	int fd = test_make(&p);

	test_insert(fd, 1, 0, 100);
	b = ask(fd, EPF_IOC_TEST, 1, 100);
	tap_ok(b.present == 100 && !(b.flags & EPF_BATCH_SATURATED) && !test_saturated(&fd),
	       "a filter within its budget answers");
	test_insert(fd, 1, 0, KEYS);
	tap_ok(test_wait(test_saturated, &fd), "filled twenty times: saturated");
	test_wait(estimated, &fd); /* it opens earlier than that */
	info = test_info(fd);
	tap_ok(info.fpr_ppt > p.limit_ppt && info.epochs[0].fpr_ppt > 0 &&
		       info.epochs[0].fill_ppt > EPF_RATE_ONE / 2,
	       "its estimated error, %llu ppm, is above the limit", info.fpr_ppt / 1000000);
	test_is(info.stats.saturations, 1, "that is counted");
	b = ask(fd, EPF_IOC_TEST, 1, 1000);
	tap_ok(!b.present && b.flags & EPF_BATCH_SATURATED,
	       "verdicts fail open, and the batch says so");
	b = ask(fd, EPF_IOC_TEST_AND_INSERT, 1, 1000);
	tap_ok(!b.present && b.flags & EPF_BATCH_SATURATED, "those of TEST_AND_INSERT too");
	info = test_info(fd);
	tap_ok(info.stats.failed_open == 2000 && info.stats.misses == 2000 &&
		       info.stats.hits == 100,
	       "both are counted as failed open");
	b = ask(fd, EPF_IOC_INSERT, 3, 100);
	tap_ok(!(b.flags & EPF_BATCH_SATURATED), "a batch without verdicts does not say so");
	test_is(test_info(fd).stats.inserts, 100 + KEYS + 1000 + 100, "insertions go on");
	b = ask(fd, EPF_IOC_TEST, 9, 100);
	test_is(b.present, 0, "a key never inserted is absent");
	return fd;
}

#define RECOVER_POINTS 7
static void try_recover(int fd)
{
	struct epf_info info;

	test_info(fd);
	test_demand(!epf_filter_rotate(fd, 4, NULL));
	tap_ok(test_saturated(&fd), "saturated while the keys are in the window");
	test_insert(fd, 2, 0, 200);
	test_demand(!epf_filter_rotate(fd, 4, NULL));
	tap_ok(test_wait(test_recovered, &fd), "it recovers when they are out");
	test_is(test_count(fd, 2, 0, 200), 200, "what was inserted meanwhile is found");
	info = test_info(fd);
	tap_ok(info.fpr_ppt <= info.params.limit_ppt, "its estimated error is within the limit");
	test_is(info.stats.saturations, 1, "it was saturated once");
	test_insert(fd, 4, 0, KEYS);
	tap_ok(wait_events(fd, POLLPRI) || wait_events(fd, POLLPRI | POLLIN),
	       "saturation: POLLPRI");
	test_info(fd);
	test_demand(!epf_filter_clear(fd));
	tap_ok(wait_events(fd, POLLPRI | POLLIN),
	       "recovery: POLLPRI, and POLLIN for the rotations");
	close(fd);
}

/* A key reported absent must be inserted. */
#define FIRST_SEEN_POINTS 3
static void try_first_seen(void)
{
	struct epf_params p = overfilled(EPF_FIRST_SEEN);
	int fd = test_make(&p);
	struct epf_batch b;

	test_insert(fd, 1, 0, KEYS);
	tap_ok(test_wait(test_saturated, &fd), "first-seen: saturated");
	test_demand(!epf_filter_rotate(fd, 4, NULL));
	b = ask(fd, EPF_IOC_TEST_AND_INSERT, 1, 200);
	test_is(b.present, 0, "first-seen: present keys are told absent");
	test_demand(!epf_filter_rotate(fd, 4, NULL));
	tap_ok(test_wait(test_recovered, &fd) && test_count(fd, 1, 0, 200) == 200,
	       "first-seen: and are found when the others are gone");
	close(fd);
}

/* The limit of 1 is never reached. */
#define NEVER_POINTS 2
static void try_never(void)
{
	struct epf_params p = overfilled(EPF_REFRESH);
	struct epf_info info;
	int fd;

	p.limit_ppt = EPF_RATE_ONE;
	fd = test_make(&p);
	test_insert(fd, 1, 0, KEYS);
	test_demand(!epf_filter_rotate(fd, 1, NULL));
	info = test_info(fd);
	tap_ok(!(info.flags & EPF_INFO_SATURATED) && info.fpr_ppt > EPF_RATE_ONE / 2,
	       "without a limit it never saturates, at %llu ppm", info.fpr_ppt / 1000000);
	test_is(test_count(fd, 1, 0, KEYS), KEYS, "all keys are found");
	close(fd);
}

/* ---- locked kinds ---- */

#define LOCKED_KEYS 1400u
#define LOCKED_ERROR .01

struct kind {
	__u32 kind;
	const char *name;
	bool fixed; /* its epochs may end by count */
};

/* Return: a shape for LOCKED_KEYS; a resizable kind must not grow. */
static struct epf_shape locked_shape_of(const struct kind *k)
{
	struct epf_compared row = test_sized(k->kind, LOCKED_KEYS, LOCKED_ERROR);

	if (k->kind == EPF_KIND_TLBF)
		row.shape.tlbf.words_max = row.shape.tlbf.words_first;
	if (k->kind == EPF_KIND_CHAIN)
		row.shape.chain.lines_max = row.shape.chain.lines_first;
	return row.shape;
}

/* Make a filter with a window of insertions or, if @ns is given, of time. */
static int make_locked(const struct kind *k, __u64 ns)
{
	struct epf_params p = test_locked_params("mod-events", k->kind, ns ? 0 : LOCKED_KEYS);
	struct epf_shape shape = locked_shape_of(k);

	if (ns)
		test_set_span(&p, ns);
	p.limit_ppt = (__u64)(5 * LOCKED_ERROR * (double)EPF_RATE_ONE);
	return test_make_kind(&p, &shape);
}

static void insert_window(int fd)
{
	test_insert(fd, 5, 0, LOCKED_KEYS);
}

static void wait_idle(int fd)
{
}

/* Another filter takes all available memory, so that no slice or table is added, by
 * which a filter would recover by itself.
 */
#define TOTAL_MIB "/sys/module/epochfilter/parameters/max_total_mib"
#define HOARD "mod-events-hoard"
static long long total_mib;

static void deny_memory(void)
{
	struct epf_params p = test_params(HOARD, 2 << 20 >> 6, 1, 5, 1000);

	total_mib = test_number(TOTAL_MIB, "");
	close(test_make(&p));
	test_demand(!test_write(TOTAL_MIB, "1"));
}

static void allow_memory(void)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", total_mib);
	test_demand(!test_write(TOTAL_MIB, text));
	test_destroy(HOARD, 0);
}

/* Insert up to the key that opens the filter, and no further: no other event wakes the
 * worker.
 */
static void flood(int fd)
{
	int again = test_open("mod-events"); /* @fd must not see the event */
	__u64 i;

	for (i = 0; !test_saturated(&again); i++) {
		test_demand(i < 20 * LOCKED_KEYS);
		test_insert(fd, 6, i, 1);
	}
	close(again);
}

static void clear(int fd)
{
	allow_memory();
	test_demand(!epf_filter_clear(fd));
}

/* Epochs end by themselves. */
static void try_locked_pace(const struct kind *k)
{
	int fd = make_locked(k, k->fixed ? 0 : 700 * MS);

	test_insert(fd, 5, 0, 10);
	test_is(woken_by(fd, POLLIN, k->fixed ? insert_window : wait_idle), POLLIN,
		"%s: the end of an epoch, by %s, wakes who polls", k->name,
		k->fixed ? "count" : "time");
	close(fd);
}

#define LOCKED_POINTS 10
static void try_locked(const struct kind *k)
{
	int other = test_make_plain("mod-other", 700);
	int fd = make_locked(k, 7 * 3600 * SEC);
	int fd2;

	test_is(events(fd), 0, "%s: nothing has happened", k->name);
	test_insert(fd, 5, 0, 10);
	test_is(woken_by(fd, POLLIN, rotate), POLLIN, "a rotation wakes");
	fd2 = test_open("mod-events");
	test_info(fd);
	tap_ok(!events(fd) && !events(fd2),
	       "INFO has seen it; a descriptor opened later is not told");
	deny_memory();
	test_is(woken_by(fd, POLLPRI, flood), POLLPRI, "saturation wakes");
	test_info(fd);
	test_is(events(fd) & POLLPRI, 0, "INFO has seen it");
	test_is(woken_by(fd, POLLPRI, clear), POLLPRI, "recovery wakes");
	test_info(fd);
	test_is(events(fd2) & POLLIN, POLLIN, "the other descriptor is told");
	test_info(other);
	test_is(woken_by(other, POLLIN, exchange), POLLIN, "a swap wakes who polls what was lanes");
	test_insert(other, 5, 0, 10);
	test_info(other);
	test_info(fd);
	test_is(woken_by(other, POLLIN, rotate), POLLIN, "and then hears of it as %s", k->name);
	exchange(fd);
	test_info(fd);
	test_is(woken_by(fd, POLLIN | POLLPRI, destroy), POLLHUP, "destruction by force wakes");
	close(fd);
	close(fd2);
	close(other);
}

static void try_kinds(void)
{
	__u32 kind;

	for (kind = 1; kind <= EPF_KIND_MAX; kind++) {
		struct kind k = { kind, epf_kind_name(kind), !test_is_resizable(kind) };

		try_locked_pace(&k);
		try_locked(&k);
	}
}

int main(void)
{
	test_begin((int)EPF_KIND_MAX * (LOCKED_POINTS + 1) + POLL_POINTS + SATURATE_POINTS +
		   UNKNOWN_POINTS + RECOVER_POINTS + FIRST_SEEN_POINTS + NEVER_POINTS);
	try_poll();
	try_recover(try_saturate());
	try_unknown();
	try_first_seen();
	try_never();
	try_kinds();
	return test_end();
}
