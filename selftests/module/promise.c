// SPDX-License-Identifier: GPL-2.0
/*
 * promise CASE: the error guarantee under a flood, for promise.sh, which loads a module
 * whose grace periods never end ("grace"), whose worker never runs ("worker"), or an
 * unchanged one ("rate": far more than the planned rate).
 *
 * The filter is flooded with distinct keys, far beyond the planned number: five times (ten
 * with EPF_THOROUGH). After every few of them the test looks up keys that were never
 * inserted; those reported present are errors. Until the filter opens, their share may
 * reach the limit. The margin is six standard deviations of so many lookups, plus a tenth
 * of the limit, because a filter's error varies with its keys; chance exceeds it in less
 * than one of 10^7 runs.
 * After it opens there may be no error. A second thread looks up keys all the time, as
 * packets do.
 *
 * An inserted key is reported present or unknown. Then the disabled part is enabled
 * again, and the filter recovers by itself.
 *
 * Locked kinds need no grace period, so in the case "grace" they do what they do in the
 * case "rate", and are left out without EPF_THOROUGH. The fixed-size ones open at exactly
 * the key at which the core in this process does.
 */
#include "../locked.h"
#include "sized.h"

#include <kinds/compare.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#define BROKEN "/sys/module/epochfilter/parameters/broken"
#define GRACE_HELD_UP 512 /* as in torture/broken/epf/estimate.h */
#define WORKER_HELD_UP 1024
#define LIMIT .02
#define KEYS 14000u /* keys of a window */
#define QUESTIONS 2000u
#define CHUNK (KEYS / 7 / 8)

struct filter {
	const char *label;
	__u8 mode, refresh;
	__u32 parts; /* L of lanes */
	__u32 kind;
};

static const struct filter filters[] = {
	{ "count, L=1, refresh", EPF_MODE_COUNT, EPF_REFRESH, 1, 0 },
	{ "count, L=4, first-seen", EPF_MODE_COUNT, EPF_FIRST_SEEN, 4, 0 },
	{ "time, L=2, refresh", EPF_MODE_TIME, EPF_REFRESH, 2, 0 },
	{ "either, L=2, first-seen", EPF_MODE_EITHER, EPF_FIRST_SEEN, 2, 0 },
	{ "both, L=4, refresh", EPF_MODE_BOTH, EPF_REFRESH, 4, 0 },
};

static const struct filter locked[] = {
	{ "ge", EPF_MODE_COUNT, EPF_REFRESH, 0, EPF_KIND_GE },
	{ "gebl", EPF_MODE_TIME, EPF_REFRESH, 0, EPF_KIND_GEBL },
	{ "apbf", EPF_MODE_COUNT, EPF_FIRST_SEEN, 0, EPF_KIND_APBF },
	{ "apbbf", EPF_MODE_EITHER, EPF_REFRESH, 0, EPF_KIND_APBBF },
	{ "dict", EPF_MODE_COUNT, EPF_REFRESH, 0, EPF_KIND_DICT },
	{ "elastic", EPF_MODE_COUNT, EPF_FIRST_SEEN, 0, EPF_KIND_ELASTIC },
	{ "tlbf", EPF_MODE_TIME, EPF_REFRESH, 0, EPF_KIND_TLBF },
	{ "chain", EPF_MODE_TIME, EPF_FIRST_SEEN, 0, EPF_KIND_CHAIN },
};
#define FIXED 6 /* the first ones are of fixed size */

/* Return: keys of a flood, in whole chunks. */
static __u32 flood_keys(void)
{
	return test_rounds(5, 10) * (KEYS / CHUNK * CHUNK);
}

static int make(const struct filter *f, const char *name, const struct epf_shape *shape)
{
	struct epf_params p = f->kind ? test_locked_params(name, f->kind, 0) :
					test_params(name, 64, 1, 1, 0);
	struct epf_size_req req = { KEYS, LIMIT / 2, 0, f->parts };
	struct epf_size size;

	if (!f->kind) {
		test_demand(!epf_size(&req, &size));
		p.nr_lines = size.nr_lines;
		p.lines_per_key = size.lines_per_key;
		p.bits_per_key = size.bits_per_key;
	}
	p.mode = f->mode;
	p.refresh = f->refresh;
	p.window_inserts = f->mode == EPF_MODE_TIME ? 0 : KEYS;
	p.window_ns = f->mode == EPF_MODE_COUNT ? 0 : 7 * 3600 * SEC;
	p.budget_ppt = (__u64)(LIMIT / 2 * (double)EPF_RATE_ONE);
	p.limit_ppt = (__u64)(LIMIT * (double)EPF_RATE_ONE);
	return f->kind ? test_make_kind(&p, shape) : test_make(&p);
}

/* Return: a plan for the same keys; a resizable kind may grow to at most four times
 * that.
 */
static struct epf_compared planned(__u32 kind)
{
	struct epf_compared row = test_sized(kind, KEYS, LIMIT / 2);

	if (kind == EPF_KIND_TLBF)
		row.shape.tlbf.words_max = 4 * row.shape.tlbf.words_first;
	if (kind == EPF_KIND_CHAIN)
		row.shape.chain.lines_max = 4 * row.shape.chain.lines_first;
	return row;
}

static __u64 margin(__u64 questions)
{
	double mean = LIMIT * 1.1 * (double)questions;

	return (__u64)(mean + 6 * sqrt(mean));
}

/* Insert as packets do: without waiting for an overdue rotation. */
static void insert(int fd, __u64 stream, __u64 first, __u32 n)
{
	__u64 keys[CHUNK];
	struct epf_batch b = test_batch(keys, n);

	test_demand(n <= CHUNK);
	test_draw(keys, stream, first, n);
	test_demand(!epf_filter_batch(fd, EPF_IOC_INSERT, &b)); /* also EINTR */
}

static bool is_open(int fd)
{
	return test_info(fd).flags & EPF_INFO_SATURATED;
}

/* A thread that looks up keys that are never inserted: at most one batch for each eighth
 * chunk that the flood inserts, and during it; for each chunk with EPF_THOROUGH.
 */
struct asker {
	pthread_t thread;
	sem_t go;
	int fd;
	bool stop;
	__u64 questions;
	__u64 worst; /* errors of the worst batch */
};

#define ASK 500u
static void *ask(void *arg)
{
	struct asker *a = arg;
	__u64 nr;

	while (!sem_wait(&a->go) && !__atomic_load_n(&a->stop, __ATOMIC_RELAXED)) {
		nr = (__u64)test_count(a->fd, 99, a->questions, ASK);
		a->questions += ASK;
		a->worst = nr > a->worst ? nr : a->worst;
	}
	return NULL;
}

/**
 * struct flood - results of a flood
 * @errors: errors at the worst moment before the filter opened
 * @late: errors after it opened
 * @opened_at: keys inserted before it opened
 */
struct flood {
	__u64 errors, late, opened_at;
};

static struct flood flood(int fd, __u64 stream, struct asker *asker)
{
	struct flood f = { 0 };
	const __u32 every = test_rounds(8, 1), often = test_rounds(4, 1);
	const __u32 chunks = flood_keys() / CHUNK;
	__u64 asked = 0, nr;
	__u32 i;
	bool open;

	for (i = 0; i < chunks; i++) {
		if (i % every == 0)
			sem_post(&asker->go);
		insert(fd, stream, i * CHUNK, CHUNK);
		open = is_open(fd);
		if (!open)
			f.opened_at = (i + 1) * CHUNK;
		if (i % (open ? 16 : often)) /* looks up fewer keys when open */
			continue;
		nr = (__u64)test_count(fd, 98, asked, QUESTIONS);
		asked += QUESTIONS;
		if (open)
			f.late += nr;
		else
			f.errors = nr > f.errors ? nr : f.errors;
	}
	return f;
}

/* Return: how many of the last @nr keys of a flood are reported certainly absent. */
static __u64 lost(int fd, __u64 stream, __u64 first, __u32 nr)
{
	struct epf_batch b = { .size = sizeof(b), .flags = EPF_BATCH_DIGESTS };
	__u64 key, i, missing = 0;

	b.keys = (uintptr_t)&key;
	b.count = 1;
	for (i = first; i < first + nr; i++) {
		key = test_digest(stream, i);
		b.flags = EPF_BATCH_DIGESTS;
		test_demand(!test_ioctl(fd, EPF_IOC_TEST, &b));
		missing += !b.present && !(b.flags & EPF_BATCH_SATURATED);
	}
	return missing;
}

#define FLOOD_POINTS 4
static void try_flood_from(int fd, const char *label, __u64 stream, __u64 least, bool ends)
{
	struct asker a = { .fd = fd };
	struct flood f;

	test_demand(!sem_init(&a.go, 0, 0) && !pthread_create(&a.thread, NULL, ask, &a));
	f = flood(fd, stream, &a);
	__atomic_store_n(&a.stop, true, __ATOMIC_RELAXED);
	sem_post(&a.go);
	pthread_join(a.thread, NULL);
	tap_ok(f.errors <= margin(QUESTIONS),
	       "%s: %llu errors of %u at the worst moment, limit %g, margin %llu", label, f.errors,
	       QUESTIONS, LIMIT, margin(QUESTIONS));
	tap_ok(ends || (is_open(fd) && f.opened_at >= least && !f.late),
	       "%s: %s after %llu keys, and %llu errors then", label,
	       is_open(fd) ? "open" : "its epochs end, closed", f.opened_at, f.late);
	tap_ok(a.worst <= margin(ASK),
	       "%s: beside it %llu errors of %u in the worst batch of %llu, margin %llu", label,
	       a.worst, ASK, a.questions / ASK, margin(ASK));
	tap_ok(!lost(fd, stream, flood_keys() - 64, 64),
	       "%s: what was inserted is present, or not known", label);
}

/* @epochs are in the window: a window as planned does not open the filter. */
static void try_flood(int fd, const char *label, __u64 stream, __u32 epochs, bool ends)
{
	try_flood_from(fd, label, stream, KEYS / epochs, ends);
}

static bool recovered(void *arg)
{
	return !is_open(*(int *)arg);
}

#define RECOVER_POINTS 2
static void try_recover(int fd, const char *label, __u64 stream, __u32 epochs)
{
	__u64 nr;

	while (epochs--)
		test_demand(!epf_filter_rotate(fd, 1, &nr));
	tap_ok(test_wait(recovered, &fd), "%s: when that has left it recovers", label);
	test_insert(fd, stream, 0, KEYS / 28);
	tap_ok(test_count(fd, stream, 0, KEYS / 28) == KEYS / 28 &&
		       (__u64)test_count(fd, 97, 0, QUESTIONS) <= margin(QUESTIONS),
	       "%s: and answers", label);
}

static void set_broken(const char *value)
{
	if (strcmp(value, "0") || !access(BROKEN, W_OK))
		test_demand(!test_write(BROKEN, value));
}

/* A tlbf may add slices up to its largest memory. */
static void try_locked(const struct filter *f, const char *flag, __u64 nr)
{
	struct epf_compared row = planned(f->kind);
	int fd = make(f, "mod-promise", &row.shape);
	bool idle = strtoul(flag, NULL, 0) & WORKER_HELD_UP;
	struct epf_info info;
	__u32 epochs;

	set_broken(flag);
	try_flood(fd, f->label, 20 + nr, row.epochs, !idle);
	set_broken("0");
	info = test_info(fd);
	epochs = info.window_epochs + info.slices + 1;
	if (test_is_resizable(f->kind)) {
		test_demand(!epf_filter_clear(fd)); /* rates decay with time */
		epochs = 0;
	}
	try_recover(fd, f->label, 70 + nr, epochs);
	close(fd);
}

/* Fill as planned, with an empty current epoch. */
static int filled(const struct filter *f, const char *name)
{
	__u32 epochs = EPF_LIVE_EPOCHS, e;
	struct epf_compared row = { 0 };
	int fd;

	if (f->kind) {
		row = planned(f->kind);
		epochs = row.epochs;
	}
	fd = make(f, name, &row.shape);
	for (e = 0; e < epochs; e++) {
		test_insert(fd, 80, e * (KEYS / epochs), KEYS / epochs);
		test_demand(!epf_filter_rotate(fd, 1, NULL));
	}
	return fd;
}

/* The fill of a restored filter is measured, and moves with the contents in a swap, so
 * even then no worker is needed. One more epoch of keys does not fill a filter whose
 * window is one of time.
 */
static void try_restored(const struct filter *f, const char *flag, __u64 nr)
{
	struct epf_snap_file file;
	char label[64];
	int fd = filled(f, "mod-promise");

	snprintf(label, sizeof(label), "%s, restored", f->label);
	test_demand(!epf_snap_copy(fd, &file, NULL, NULL));
	test_demand(!epf_snap_restore(fd, &file));
	epf_snap_close(&file);
	set_broken(flag);
	try_flood_from(fd, label, 30 + nr, 1, false);
	set_broken("0");
	close(fd);
}

static void try_swapped(const struct filter *f, const char *flag, __u64 nr)
{
	int other = filled(f, "mod-promise-2");
	int fd = filled(f, "mod-promise");
	char label[64];

	snprintf(label, sizeof(label), "%s, swapped", f->label);
	test_demand(!epf_dev_swap(test_dev, "mod-promise", "mod-promise-2"));
	set_broken(flag);
	try_flood_from(fd, label, 40 + nr, 1, false);
	set_broken("0");
	close(fd);
	close(other);
	test_demand(!test_destroy("mod-promise-2", 0));
}

#define REPLACED 6 /* filters whose contents are */
static void try_replaced(const char *flag)
{
	const struct filter *lanes = &filters[2], *tlbf = &locked[FIXED];

	try_restored(lanes, flag, 0);
	try_restored(&locked[1], flag, 1);
	try_restored(tlbf, flag, 2);
	try_restored(&locked[FIXED - 1], flag, 3);
	try_swapped(lanes, flag, 0);
	try_swapped(&locked[1], flag, 1);
}

static bool inserts_open(int fd, __u64 digest)
{
	struct epf_batch b = test_batch(&digest, 1);

	test_demand(!epf_filter_batch(fd, EPF_IOC_TEST_AND_INSERT, &b));
	return is_open(fd);
}

/* Some epochs, then a flood: without a worker both filters open at the same key. */
#define AGREE_POINTS 1
static void try_agree(const struct filter *f, unsigned long flags)
{
	struct filter time = *f;
	struct epf_compared row = planned(f->kind);
	static struct epf_room room;
	struct locked here;
	__u64 n, epoch = KEYS / row.epochs - 1, ended;
	bool open = false, same = true;
	__u32 e;
	int fd;

	time.mode = EPF_MODE_TIME;
	time.refresh = EPF_REFRESH;
	fd = make(&time, "mod-promise", &row.shape);
	memset(&room, 0, sizeof(room));
	room.limit_q56 = epf_ppt_to_q56(test_info(fd).params.limit_ppt);
	test_demand(locked_init(&here, f->kind, &row.shape));
	locked_count(&here, &room);
	for (e = 0; e < row.epochs; e++) {
		test_insert(fd, 90, e * epoch, epoch);
		for (n = 0; n < epoch; n++)
			locked_insert(&here, test_digest(90, e * epoch + n));
		test_demand(!epf_filter_rotate(fd, 1, &ended));
		locked_rotate(&here);
	}
	set_broken(flags & WORKER_HELD_UP ? "3072" : "0");
	for (n = 0; n < flood_keys() && !open && same; n++) {
		locked_insert(&here, test_digest(91, n));
		open = epf_room_full(&room);
		same = inserts_open(fd, test_digest(91, n)) == open || !(flags & WORKER_HELD_UP);
	}
	tap_ok(same && open, "%s: opens with key %llu, here and there", f->label, n);
	set_broken("0");
	locked_free(&here);
	close(fd);
}

static void try_case(const char *flag, bool with_locked)
{
	unsigned long flags = strtoul(flag, NULL, 0);
	bool held_up = flags & (GRACE_HELD_UP | WORKER_HELD_UP);
	unsigned int i;
	int fd;

	for (i = 0; i < ARRAY_LEN(filters); i++) {
		const struct filter *f = &filters[i];

		fd = make(f, "mod-promise", NULL);
		set_broken(flag);
		try_flood(fd, f->label, i, EPF_LIVE_EPOCHS,
			  !held_up && (f->mode == EPF_MODE_COUNT || f->mode == EPF_MODE_EITHER));
		set_broken("0");
		try_recover(fd, f->label, 50 + i, EPF_EPOCHS);
		close(fd);
	}
	for (i = 0; with_locked && i < ARRAY_LEN(locked); i++)
		try_locked(&locked[i], flag, i);
	for (i = 0; with_locked && i < FIXED; i++)
		try_agree(&locked[i], flags);
}

/* Repeats add nothing to the error: insert a thousand times the keys of a window. */
#define REPEAT_POINTS 2
static void try_repeats(void)
{
	int fd = make(&filters[2], "mod-promise", NULL);
	__u32 i;

	for (i = 0; i < 100; i++) {
		test_digests(fd, EPF_IOC_TEST_AND_INSERT, 60, 0, KEYS / 8);
		test_insert(fd, 60, 0, KEYS / 8);
	}
	tap_ok(test_info(fd).epochs[0].inserts >= 20 * KEYS && !is_open(fd),
	       "%llu insertions of %u keys in one epoch do not open it",
	       test_info(fd).epochs[0].inserts, KEYS / 8);
	tap_ok(test_count(fd, 60, 0, KEYS / 8) == KEYS / 8, "and are found");
	close(fd);
}

int main(int argc, char **argv)
{
	unsigned long flags = argc > 1 ? strtoul(argv[1], NULL, 0) : 0;
	bool idle = flags & WORKER_HELD_UP;
	bool with_locked = !(flags & GRACE_HELD_UP) || test_rounds(0, 1);
	int floods = ARRAY_LEN(filters) + (with_locked ? ARRAY_LEN(locked) : 0);
	int points = floods * (FLOOD_POINTS + RECOVER_POINTS) + with_locked * FIXED * AGREE_POINTS +
		     idle * REPLACED * FLOOD_POINTS;

	test_demand(argc == 2);
	test_begin(points + REPEAT_POINTS);
	try_case(argv[1], with_locked);
	if (idle)
		try_replaced(argv[1]);
	try_repeats();
	return test_end();
}
