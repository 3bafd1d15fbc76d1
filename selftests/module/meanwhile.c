// SPDX-License-Identifier: GPL-2.0
/*
 * Requests during other operations: rotations while a snapshot begins; a filter whose
 * contents are being exchanged; two others that are being swapped; memory that is being
 * freed; and the worker, which sleeps until a snapshot that blocks it has ended.
 */
#include "sized.h"

#include "kinds/compare.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>

#define NAME "mod-meanwhile"
#define KINDS (EPF_KIND_MAX + 1)
#define SPAN (360000 * SEC) /* its timer fires once an hour at most */
#define TRACING "/sys/kernel/tracing/"
#define EVENT TRACING "events/workqueue/workqueue_execute_start/enable"
#define TOTAL_MIB "/sys/module/epochfilter/parameters/max_total_mib"
#define MIB (1ULL << 20)

/* Create a filter of any kind; @window_ns: for kinds and modes with time, or 0. */
static int make(__u32 kind, __u64 window, __u64 window_ns)
{
	struct epf_params p = test_locked_params(NAME, kind, window);
	struct epf_compared c;

	if (kind == EPF_KIND_LANES)
		p = test_params(NAME, window / 8, 2, 10, window);
	if (window_ns)
		test_set_span(&p, window_ns);
	if (kind == EPF_KIND_LANES)
		return test_make(&p);
	c = test_sized(kind, (double)window, 1e-3);
	return test_make_kind(&p, &c.shape);
}

static int make_usual(__u32 kind)
{
	return make(kind, 20000, test_is_resizable(kind) ? SPAN : 0);
}

/* ------------------------------------- a snapshot begins, epochs end ---- */

/**
 * struct rotator - a thread that ends epochs until it fails
 * @fd: filter
 * @stop: it must stop
 * @done: number of rotations; written by the thread, a plain number
 * @err: result of the last try; written before @over
 * @over: it has stopped
 */
struct rotator {
	pthread_t id;
	int fd;
	bool stop;
	__u64 done;
	int err;
	bool over;
};

static void *rotate(void *arg)
{
	struct rotator *r = (struct rotator *)arg;
	int err = 0;

	while (!err && !__atomic_load_n(&r->stop, __ATOMIC_RELAXED)) {
		err = epf_filter_rotate(r->fd, EPF_EPOCHS, NULL);
		__atomic_store_n(&r->done, r->done + 1, __ATOMIC_RELAXED);
	}
	r->err = err;
	__atomic_store_n(&r->over, true, __ATOMIC_RELEASE);
	return NULL;
}

static bool is_going(void *arg)
{
	return __atomic_load_n(&((struct rotator *)arg)->done, __ATOMIC_RELAXED);
}

static bool is_over(void *arg)
{
	return __atomic_load_n(&((struct rotator *)arg)->over, __ATOMIC_ACQUIRE);
}

/* Does a beginning snapshot make a rotation fail at once instead of waiting? */
static bool refuses(int fd)
{
	struct rotator r = { .fd = fd };
	bool well;

	test_demand(!pthread_create(&r.id, NULL, rotate, &r));
	test_demand(test_wait(is_going, &r));
	test_demand(!test_snap_begin(fd, EPF_PIN_MAX_NS, NULL));
	well = test_wait(is_over, &r) && test_pinned(fd);
	__atomic_store_n(&r.stop, true, __ATOMIC_RELAXED);
	test_demand(!test_snap_end(fd, NULL));
	pthread_join(r.id, NULL);
	return well && r.err == -EBUSY;
}

#define ROTATE_POINTS (2 * KINDS - 2)
static void try_rotate(__u32 kind)
{
	int fd = make_usual(kind), i, well = 0, exact = 0;
	int rounds = (int)test_rounds(2, 8);
	__u64 e;

	for (i = 0; i < rounds; i++) {
		well += refuses(fd);
		e = test_info(fd).epoch;
		test_demand(!epf_filter_rotate(fd, 1, NULL));
		exact += test_info(fd).epoch == e + 1;
	}
	test_is(well, rounds, "%s: a snapshot begins: ROTATE: EBUSY",
		kind ? epf_kind_name(kind) : "lanes");
	if (!test_is_resizable(kind)) /* whose epochs the clock ends */
		test_is(exact, rounds, "epochs that were left do not end");
	close(fd);
}

/* ------------------------------------------- contents are exchanged ---- */

#define ASKED 12

/**
 * struct restorer - a thread that exchanges the contents
 * @fd: filter
 * @file: snapshot to restore
 * @stop: it must stop
 * @done: number of restores; @wrong: of these, with an error
 */
struct restorer {
	pthread_t id;
	int fd;
	struct epf_snap_file file;
	bool stop;
	__u64 done, wrong;
};

static void *restore(void *arg)
{
	struct restorer *r = (struct restorer *)arg;

	while (!__atomic_load_n(&r->stop, __ATOMIC_RELAXED)) {
		r->wrong += !!epf_snap_restore(r->fd, &r->file);
		__atomic_store_n(&r->done, r->done + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static bool has_begun(void *arg)
{
	return __atomic_load_n(&((struct restorer *)arg)->done, __ATOMIC_ACQUIRE);
}

static long journal(int fd, __u32 flags, __u32 order)
{
	struct epf_journal_args a = {
		.size = sizeof(a), .flags = flags, .order = order, .shards = order ? 1 : 0
	};

	return test_ioctl(fd, EPF_IOC_JOURNAL, &a);
}

/* Begin a journal that has probably ended by then. */
static bool keeps_journal(int fd)
{
	return !journal(fd, 0, 4) && !journal(fd, EPF_JOURNAL_END, 0);
}

#define EXCHANGE_POINTS 3
static void try_exchange(__u32 kind)
{
	struct restorer r = { .fd = make_usual(kind) };
	int i, wrong = 0;

	test_insert(r.fd, 1, 0, 1000);
	test_demand(!epf_snap_copy(r.fd, &r.file, NULL, NULL));
	test_demand(!pthread_create(&r.id, NULL, restore, &r));
	test_demand(test_wait(has_begun, &r));
	for (i = 0; i < ASKED; i++) {
		wrong += !!epf_filter_rotate(r.fd, 1, NULL);
		wrong += !!epf_filter_clear(r.fd);
		wrong += kind == EPF_KIND_LANES && !keeps_journal(r.fd);
	}
	__atomic_store_n(&r.stop, true, __ATOMIC_RELAXED);
	pthread_join(r.id, NULL);
	test_is(wrong, 0, "%s: contents are exchanged: ROTATE, CLEAR%s",
		kind ? epf_kind_name(kind) : "lanes", kind ? "" : ", JOURNAL");
	test_is(r.wrong, 0, "RESTORE meanwhile");
	test_demand(!epf_snap_restore(r.fd, &r.file));
	test_is(test_count(r.fd, 1, 0, 1000), 1000, "and then: all are found");
	epf_snap_close(&r.file);
	close(r.fd);
}

/* ----------------------------------------------- others are swapped ---- */

#define SWAPS 100

static __u64 swaps_done; /* written by the thread */

static void *swap_others(void *unused)
{
	while (swaps_done < SWAPS) {
		test_demand(!epf_dev_swap(test_dev, NAME "-2", NAME "-3"));
		__atomic_store_n(&swaps_done, swaps_done + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static __u64 swaps(void)
{
	return __atomic_load_n(&swaps_done, __ATOMIC_ACQUIRE);
}

/* Ask, as epfctl does, for the state of a filter and map it. */
static void ask_and_map(void)
{
	int fd = test_open(NAME);
	void *map;

	test_demand(fd >= 0 && test_info(fd).id);
	map = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	test_demand(map != MAP_FAILED);
	munmap(map, PAGE);
	close(fd);
}

/* How often this thread has gone to sleep by itself, as it does to wait for a lock. */
static long times_slept(void)
{
	struct rusage used;

	test_demand(!getrusage(RUSAGE_THREAD, &used));
	return used.ru_nvcsw;
}

#define SWAP_POINTS 1
static void try_swap(void)
{
	struct epf_params other = test_params(NAME "-2", 1024, 2, 10, 700);
	struct epf_params third = test_params(NAME "-3", 1024, 2, 10, 700);
	int fd = make_usual(EPF_KIND_LANES), a = test_make(&other), b = test_make(&third);
	pthread_t thread;
	__u64 asked = 0;
	long slept;

	test_demand(!pthread_create(&thread, NULL, swap_others, NULL));
	for (slept = times_slept(); swaps() < SWAPS; asked++)
		ask_and_map();
	slept = times_slept() - slept;
	pthread_join(thread, NULL);
	tap_ok(slept < SWAPS / 4,
	       "%d swaps of others: %llu times OPEN, INFO and mmap sleep %ld times", SWAPS, asked,
	       slept);
	close(fd);
	close(a);
	close(b);
	test_demand(!test_destroy(other.name, 0) && !test_destroy(third.name, 0));
}

/* ---------------------------------------------- memory comes back ---- */

static void limit(__u64 mib)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", mib);
	test_demand(!test_write(TOTAL_MIB, text));
}

/* The initial memory of a resizable kind is small. */
static __u64 grow(int fd, __u64 bytes)
{
	__u64 i;

	for (i = 0; i < 200 && test_info(fd).memory_bytes < bytes; i++) {
		test_insert(fd, 1, i * 50000, 50000);
		test_demand(!epf_filter_rotate(fd, 1, NULL));
	}
	return test_info(fd).memory_bytes;
}

/* There is memory for the contents and their replacement only. */
#define RESTORE_POINTS 1
static void try_restore(__u32 kind)
{
	int fd = make(kind, MIB, test_is_resizable(kind) ? SPAN : 0), i, wrong = 0;
	int times = (int)test_rounds(3, 20);
	__u64 bytes = grow(fd, MIB + MIB / 4);
	struct epf_snap_file file;

	test_demand(bytes > MIB);
	test_demand(!epf_snap_copy(fd, &file, NULL, NULL));
	limit((2 * bytes + MIB - 1) / MIB);
	for (i = 0; i < times; i++)
		wrong += !!epf_snap_restore(fd, &file);
	limit(0);
	test_is(wrong, 0, "%s: memory for two: RESTORE %d times",
		kind ? epf_kind_name(kind) : "lanes", times);
	epf_snap_close(&file);
	close(fd);
}

/* There is memory for either a journal of some MiB or another filter. */
#define JOURNAL_ORDER 17
#define JOURNAL_POINTS 1
static void try_journal(void)
{
	struct epf_params p = test_params(NAME "-2", 2 * MIB / 64, 2, 10, 700);
	int fd = make_usual(EPF_KIND_LANES), i, wrong = 0;
	int times = (int)test_rounds(3, 20);

	test_demand(!journal(fd, 0, JOURNAL_ORDER));
	limit(test_info(fd).memory_bytes / MIB + 1);
	test_demand(!journal(fd, EPF_JOURNAL_END, 0));
	for (i = 0; i < times; i++) {
		close(test_make(&p));
		test_demand(!test_destroy(p.name, 0));
		wrong += !!journal(fd, 0, JOURNAL_ORDER);
		wrong += !!journal(fd, EPF_JOURNAL_END, 0);
	}
	limit(0);
	test_is(wrong, 0, "memory of a filter destroyed: JOURNAL %d times", times);
	close(fd);
}

/* ------------------------------------------------- the worker rests ---- */

static bool is_late(void *arg)
{
	return test_info(*(int *)arg).stats.delayed;
}

/* Return: number of trace lines about the worker of filters. */
static int times_run(void)
{
	FILE *file = fopen(TRACING "trace", "re");
	char line[512];
	int n = 0;

	test_demand(file);
	while (fgets(line, sizeof(line), file))
		n += line[0] != '#' && strstr(line, "epf_table_work");
	fclose(file);
	return n;
}

/* The timer finds an epoch overdue once a millisecond. */
#define REST_POINTS 4
static void try_rest(__u32 kind)
{
	int fd = make(kind, 20000, 70 * MS), before, n;
	const char *name = kind ? epf_kind_name(kind) : "lanes";
	__u64 e;

	test_demand(!test_snap_begin(fd, EPF_PIN_MAX_NS, NULL));
	tap_ok(test_wait(is_late, &fd), "%s: an epoch is late", name);
	test_sleep(100 * MS);
	before = times_run();
	test_demand(!test_write(EVENT, "1"));
	test_sleep(SEC);
	n = times_run() - before;
	tap_ok(n <= 2 && test_pinned(fd), "pinned: the worker runs %d times", n);
	e = test_info(fd).epoch;
	test_demand(!test_snap_end(fd, NULL));
	tap_ok(test_wait_epoch(fd, e + 3), "then epochs end");
	test_demand(!test_write(EVENT, "0"));
	n = times_run() - before;
	tap_ok(n, "and it does (%d times)", n);
	close(fd);
}

int main(void)
{
	__u32 kind;

	test_begin(ROTATE_POINTS + KINDS * (EXCHANGE_POINTS + RESTORE_POINTS) + SWAP_POINTS +
		   JOURNAL_POINTS + 2 * REST_POINTS + 1);
	for (kind = 0; kind < KINDS; kind++) {
		try_rotate(kind);
		try_exchange(kind);
		try_restore(kind);
	}
	try_swap();
	try_journal();
	try_rest(EPF_KIND_LANES);
	try_rest(EPF_KIND_GE);
	tap_ok(test_kernel_calm(), "the kernel has not complained");
	return test_end();
}
