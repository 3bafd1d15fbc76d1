// SPDX-License-Identifier: GPL-2.0
/*
 * The fixed-size kinds in the kernel: every verdict and age equals that of the core in
 * this process; the window property at every phase; reported information; and refused
 * parameters.
 *
 * One CPU, as in lockstep.c.
 */
#include "../locked.h"
#include "epftest.h"

#include <math.h>
#include <pthread.h>

#define WINDOW 300u
#define KEYS 900u /* different keys, more than the window */
#define ROUNDS 400u
#define BATCH 40u

/**
 * struct pair - a filter in the kernel and one in this process
 * @fd: the kernel's filter
 * @here: the filter in this process
 * @shape: shape of both
 * @epoch_inserts: insertions that end an epoch
 * @inserts: insertions in the current epoch
 * @first_seen: do not insert what is present
 * @drawn: random numbers so far
 */
struct pair {
	int fd;
	struct locked here;
	struct epf_shape shape;
	__u64 epoch_inserts;
	__u64 inserts;
	bool first_seen;
	__u32 drawn;
};

static __u32 below(struct pair *p, __u32 n)
{
	return epf_word(p->here.kind, ++p->drawn) % n;
}

static void put(struct pair *p, __u64 digest)
{
	locked_insert(&p->here, digest);
	if (++p->inserts < p->epoch_inserts)
		return;
	locked_rotate(&p->here);
	p->inserts = 0;
}

static int do_here(struct pair *p, unsigned long cmd, __u64 digest)
{
	int verdict = cmd == EPF_IOC_INSERT ? 0 : locked_test(&p->here, digest);

	if (cmd == EPF_IOC_INSERT ||
	    (cmd == EPF_IOC_TEST_AND_INSERT && !(p->first_seen && verdict)))
		put(p, digest);
	return verdict;
}

static bool same_answer(const __u8 *bitmap, const __u8 *ages, __u32 i, int verdict)
{
	return (bitmap[i / 8] >> i % 8 & 1) == (verdict > 0) &&
	       ages[i] == (verdict ? verdict - EPF_PRESENT : EPF_AGE_ABSENT);
}

/* Run a random batch in both. */
static bool same_batch(struct pair *p)
{
	static const unsigned long cmds[] = { EPF_IOC_TEST, EPF_IOC_INSERT,
					      EPF_IOC_TEST_AND_INSERT };
	unsigned long cmd = cmds[below(p, ARRAY_LEN(cmds))];
	__u8 bitmap[BATCH / 8], ages[BATCH];
	__u64 digests[BATCH];
	struct epf_batch b = test_batch(digests, 1 + below(p, BATCH));
	__u32 i;

	for (i = 0; i < b.count; i++)
		digests[i] = test_digest(1, below(p, KEYS));
	if (cmd != EPF_IOC_INSERT) {
		b.bitmap = (uintptr_t)bitmap;
		b.ages = (uintptr_t)ages;
	}
	if (test_ioctl(p->fd, cmd, &b) || b.done != b.count)
		return false;
	for (i = 0; i < b.count; i++) {
		int verdict = do_here(p, cmd, digests[i]);

		if (b.bitmap && !same_answer(bitmap, ages, i, verdict)) {
			struct epf_info info = test_info(p->fd);

			printf("# key %u of %u: age %u, here %d; epoch %llu of %llu insertions, %llu in all, here %llu\n",
			       i, b.count, ages[i], verdict - EPF_PRESENT, info.epoch,
			       info.epochs[0].inserts, info.stats.inserts, p->inserts);
			return false;
		}
	}
	return true;
}

/* Rotate or clear explicitly, at times. */
static bool same_turn(struct pair *p)
{
	__u32 i, n = 1 + below(p, 3);

	if (below(p, 3)) {
		if (epf_filter_rotate(p->fd, n, NULL))
			return false;
	} else {
		n = locked_slices(p->here.kind, &p->shape);
		if (epf_filter_clear(p->fd))
			return false;
	}
	for (i = 0; i < n; i++)
		locked_rotate(&p->here);
	p->inserts = 0;
	return true;
}

static bool same(struct pair *p, __u32 rounds)
{
	__u32 i;

	for (i = 0; i < rounds; i++)
		if ((!below(p, 50) && !same_turn(p)) || !same_batch(p)) {
			printf("# round %u\n", i);
			return false;
		}
	return true;
}

static int make(__u32 kind, __u8 refresh, __u64 window)
{
	struct epf_params params = test_locked_params("mod-kinds", kind, window);
	struct epf_shape shape = locked_shape(kind);

	params.refresh = refresh;
	return test_make_kind(&params, &shape);
}

#define LOCKSTEP_POINTS 3
static void lockstep(__u32 kind, __u8 refresh)
{
	struct epf_shape shape = locked_shape(kind);
	struct pair p = { .first_seen = refresh == EPF_FIRST_SEEN, .shape = shape };
	struct epf_info info;

	test_demand(locked_init(&p.here, kind, &shape));
	p.epoch_inserts = (WINDOW + p.here.epochs - 1) / p.here.epochs;
	p.fd = make(kind, refresh, WINDOW);
	tap_ok(same(&p, ROUNDS), "%s, %s: equal in %u batches", locked_name(kind),
	       refresh ? "first-seen" : "refresh", ROUNDS);
	info = test_info(p.fd);
	tap_ok(info.stats.rotations >= 40 && info.stats.hits > 50,
	       "that was %llu inserts, %llu hits, %llu misses, %llu rotations", info.stats.inserts,
	       info.stats.hits, info.stats.misses, info.stats.rotations);
	locked_rotate(&p.here);
	tap_ok(!same(&p, 20), "noticed: a rotation on one side only");
	locked_free(&p.here);
	close(p.fd);
}

/* Are the last W insertions present, after each one of three windows? */
static bool all_found(int fd)
{
	__u64 i, first;

	for (i = 1; i <= 3 * WINDOW; i++) {
		test_insert(fd, 2, i, 1);
		first = i > WINDOW ? i - WINDOW + 1 : 1;
		if (test_count(fd, 2, first, i - first + 1) != (long)(i - first + 1)) {
			printf("# lost after insertion %llu\n", i);
			return false;
		}
	}
	return true;
}

/* Fresh keys: as many as estimated are present, within chance and the sampling error of
 * so small a filter. The keys are the same in each run, but the kernel's sample is
 * random: its standard deviation is at most 1 %, and the bound is 18 of these or more.
 */
static void estimate_holds(int fd, const char *name)
{
	double n = 20000, want, got, off;

	test_demand(!epf_filter_rotate(fd, 1, NULL)); /* this makes a new estimate */
	want = (double)test_info(fd).fpr_ppt / EPF_RATE_ONE;
	got = (double)test_count(fd, 3, 0, (__u64)n) / n;
	off = got > want ? got - want : want - got;
	tap_ok(want > 0 && off <= .1 * want + 4 * sqrt(want / n),
	       "%s: estimated error %.4f, measured %.4f # chance 1e-20", name, want, got);
}

#define LAW_POINTS 9
static void laws(__u32 kind)
{
	struct epf_shape shape = locked_shape(kind);
	__u32 epochs = locked_epochs(kind, &shape);
	__u32 each = (WINDOW + epochs - 1) / epochs;
	int fd = make(kind, EPF_REFRESH, WINDOW);
	struct epf_info info;

	info = test_info(fd);
	tap_ok(info.covered_ns == info.age_ns && !info.covered_inserts,
	       "%s: all of a new one's time is covered", locked_name(kind));
	test_insert(fd, 6, 0, each + 1);
	info = test_info(fd);
	tap_ok(info.covered_ns == info.age_ns && info.covered_inserts == each + 1 &&
		       info.epochs[1].inserts == each,
	       "likewise a little later, with its %u insertions", each + 1);
	test_demand(!epf_filter_clear(fd));
	tap_ok(all_found(fd), "%s: the last %u insertions at every phase", locked_name(kind),
	       WINDOW);
	info = test_info(fd);
	tap_ok(info.covered_inserts >= WINDOW && info.covered_inserts <= (epochs + 1) * each,
	       "covered: %llu insertions", info.covered_inserts);
	tap_ok(info.window_epochs == epochs && info.slices > epochs &&
		       info.needs == (EPF_NEEDS_LOCK | EPF_NEEDS_WORKER) &&
		       !memcmp(&info.shape, &shape, sizeof(shape)) && info.params.kind == kind &&
		       !info.params.nr_lines,
	       "told: %u epochs of %u slices, needs a lock and a worker", info.window_epochs,
	       info.slices);
	estimate_holds(fd, locked_name(kind));
	info = test_info(fd); /* the current epoch was ended for that */
	tap_ok(info.epochs[2].inserts == each && info.epochs[2].fill_ppt &&
		       info.epochs[2].fill_ppt < EPF_RATE_ONE,
	       "an epoch of %llu, %.2f full", info.epochs[2].inserts,
	       (double)info.epochs[2].fill_ppt / EPF_RATE_ONE);
	test_demand(!epf_filter_clear(fd));
	test_is(test_count(fd, 2, 2 * WINDOW, WINDOW), 0, "cleared: none of them is left");
	test_is(test_info(fd).covered_inserts, 0, "and covered is nothing");
	close(fd);
}

/* Filled to ten times its window in one epoch, which does not end by count. */
#define FLOOD_POINTS 4
static void flood(__u32 kind)
{
	struct epf_params params = test_locked_params("mod-kinds", kind, 0);
	struct epf_shape shape = locked_shape(kind);
	struct epf_batch b = { .size = sizeof(b), .flags = EPF_BATCH_DIGESTS, .count = 1 };
	__u64 digest = test_digest(4, 1);
	struct epf_info info;
	int fd;

	params.mode = EPF_MODE_TIME;
	params.window_ns = 3600 * SEC;
	params.limit_ppt = EPF_RATE_ONE / 5;
	fd = test_make_kind(&params, &shape);
	test_insert(fd, 4, 0, 10 * WINDOW);
	test_demand(!epf_filter_rotate(fd, 1, NULL));
	info = test_info(fd);
	tap_ok(info.flags & EPF_INFO_SATURATED, "%s: a flood saturates it, %.2f", locked_name(kind),
	       (double)info.fpr_ppt / EPF_RATE_ONE);
	b.keys = (uintptr_t)&digest;
	test_is(test_ioctl(fd, EPF_IOC_TEST, &b), 0, "asked for a key in it");
	tap_ok((b.flags & EPF_BATCH_SATURATED) && !b.present, "it fails open");
	test_demand(!epf_filter_clear(fd));
	info = test_info(fd);
	tap_ok(!(info.flags & EPF_INFO_SATURATED) && !info.fpr_ppt, "cleared: it has recovered");
	close(fd);
}

/**
 * struct sighting - threads that test and insert the same new keys
 * @fd: filter
 * @absent: "absent" answers of all threads
 */
struct sighting {
	int fd;
	__u32 absent;
};

#define SIGHTINGS 2000u

static void *sight(void *arg)
{
	struct sighting *s = arg;
	__u32 i;

	for (i = 0; i < SIGHTINGS; i++) {
		long present = test_digests(s->fd, EPF_IOC_TEST_AND_INSERT, 5, i, 1);

		__atomic_fetch_add(&s->absent, !present, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* So roomy that there are no false positives for so few keys. */
static struct epf_shape roomy(__u32 kind)
{
	struct epf_shape s = locked_shape(kind);

	if (kind == EPF_KIND_DICT) {
		s.dict.buckets = 400;
		s.dict.yard = 40;
		s.dict.rem_bits = 30;
		s.dict.slots = 8;
	} else {
		s.all[0] *= 2000; /* every kind has its size at this place */
	}
	return s;
}

#define SIGHT_POINTS 1
static void sightings(__u32 kind)
{
	struct epf_params params = test_locked_params("mod-kinds", kind, 4 * SIGHTINGS);
	struct epf_shape shape = roomy(kind);
	struct sighting s = { .fd = test_make_kind(&params, &shape) };
	pthread_t id[3];
	__u32 i;

	for (i = 0; i < ARRAY_LEN(id); i++)
		test_demand(!pthread_create(&id[i], NULL, sight, &s));
	for (i = 0; i < ARRAY_LEN(id); i++)
		pthread_join(id[i], NULL);
	test_is(s.absent, SIGHTINGS, "%s: of three sightings of each key exactly one is new",
		locked_name(kind));
	close(s.fd);
}

/* Swap with a filter of lanes, in both directions, while both are in use. */
#define SWAP_POINTS 2
static void swaps(__u32 kind)
{
	int a = make(kind, EPF_REFRESH, WINDOW);
	int b = test_make_plain("mod-kinds-lanes", WINDOW);
	long found = 0;

	test_insert(a, 6, 0, 50);
	test_insert(b, 7, 0, 50);
	test_demand(!epf_dev_swap(test_dev, "mod-kinds", "mod-kinds-lanes"));
	found = test_count(b, 6, 0, 50) + test_count(a, 7, 0, 50);
	test_is(found, 100, "%s: swapped with lanes, all keys are there", locked_name(kind));
	tap_ok(test_info(a).params.kind == EPF_KIND_LANES && test_info(b).params.kind == kind &&
		       !test_info(a).needs && test_info(b).needs,
	       "and so are the kinds");
	close(a);
	close(b);
}

#define NO_POINTS 1
static void no_mapping(__u32 kind)
{
	int fd = make(kind, EPF_REFRESH, WINDOW);
	void *map = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);

	test_is(map == MAP_FAILED ? -errno : 0, -EOPNOTSUPP, "%s: no mapping", locked_name(kind));
	close(fd);
}

/* Return: the age reported for the only key of @fd. */
static __u8 age_told(int fd, __u32 flags)
{
	__u64 digest = test_digest(6, 1);
	__u8 age = 0;
	struct epf_batch b = test_batch(&digest, 1);

	b.flags |= flags;
	b.ages = (uintptr_t)&age;
	test_demand(!test_ioctl(fd, EPF_IOC_TEST, &b));
	return age;
}

/* The largest possible ages stand for "absent" and "unknown". */
#define OLD_GENERATIONS 254u
#define OLD_POINTS 3
static void old_ages(void)
{
	struct epf_params p = test_locked_params("mod-kinds", EPF_KIND_DICT, 1000000);
	struct epf_shape shape = locked_shape(EPF_KIND_DICT);
	__u32 age;
	int fd;

	shape.dict.generations = OLD_GENERATIONS;
	shape.dict.tag_bits = 8;
	shape.dict.rem_bits = 20;
	shape.dict.slots = 8;
	fd = test_make_kind(&p, &shape);
	test_insert(fd, 6, 1, 1);
	for (age = 0; age < OLD_GENERATIONS - 1; age++)
		test_demand(!epf_filter_rotate(fd, 1, NULL));
	tap_ok(age_told(fd, 0) == 253 && age_told(fd, EPF_BATCH_UNKNOWN) == 253,
	       "253 epochs on: an age of 253");
	test_demand(!epf_filter_rotate(fd, 1, NULL));
	tap_ok(age_told(fd, 0) == 254 && age_told(fd, EPF_BATCH_UNKNOWN) == 253,
	       "one more: 254, or 253 where 254 is \"do not know\"");
	test_demand(!epf_filter_rotate(fd, 1, NULL));
	tap_ok(age_told(fd, 0) == EPF_AGE_ABSENT &&
		       age_told(fd, EPF_BATCH_UNKNOWN) == EPF_AGE_ABSENT,
	       "one more: absent");
	close(fd);
}

int main(void)
{
	__u32 kinds[EPF_KIND_MAX], nr = locked_fixed_kinds(kinds), i;

	test_demand(test_pin(0));
	test_begin((int)nr * (2 * LOCKSTEP_POINTS + LAW_POINTS + FLOOD_POINTS + SIGHT_POINTS +
			      SWAP_POINTS + NO_POINTS) +
		   OLD_POINTS);
	for (i = 0; i < nr; i++) {
		lockstep(kinds[i], EPF_REFRESH);
		lockstep(kinds[i], EPF_FIRST_SEEN);
		laws(kinds[i]);
		flood(kinds[i]);
		sightings(kinds[i]);
		swaps(kinds[i]);
		no_mapping(kinds[i]);
	}
	old_ages();
	return test_end();
}
