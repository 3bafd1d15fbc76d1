// SPDX-License-Identifier: GPL-2.0
/*
 * Every word of two filters that differ in all of them, of each kind, before and after a
 * swap, a restore and a clear (../carried.h); and what a locked kind covers while it
 * sweeps its oldest epoch.
 */
#include "../carried.h"
#include "../locked.h"
#include "epftest.h"

#include <epf/keydesc.h>
#include <pthread.h>

#define FEW 30u
#define FLOOD 4000u
#define PAUSE_NS (20 * MS)
#define LIMIT (EPF_RATE_ONE / 10)

/**
 * struct side - one of the two filters
 * @name: its name
 * @fd: the filter
 * @file: snapshot of it
 * @before: what it was
 */
struct side {
	const char *name;
	int fd;
	struct epf_snap_file file;
	struct carried_look before;
};

static struct side two[2] = { { .name = "mod-carried-a" }, { .name = "mod-carried-b" } };

static struct carried_look look(int fd)
{
	struct carried_look l = { .info = test_info(fd) };

	test_demand(!epf_filter_key(fd, l.key));
	return l;
}

/* Filter 1 differs from filter 0 in all parameters that its kind has. */
static void make(struct side *s, __u32 kind, __u64 nr)
{
	struct epf_params p = kind ? test_locked_params(s->name, kind, 1u << (20 + nr)) :
				     test_params(s->name, 64u << nr, 2, 10, 1u << (20 + nr));
	struct epf_shape shape = locked_shape(kind);
	const __u64 key[2] = { 5 + nr, 6 + nr };
	const struct epf_create_opts o = { .size = sizeof(o),
					   .shape = kind ? &shape : NULL,
					   .key = key };

	p.refresh = nr ? EPF_FIRST_SEEN : EPF_REFRESH;
	p.budget_ppt = p.limit_ppt = LIMIT >> nr;
	if (test_is_resizable(kind))
		test_set_span(&p, (100 + nr) * SEC);
	else if (kind)
		shape.all[0] += nr; /* every kind has its size at this place */
	test_destroy(s->name, EPF_DESTROY_FORCE);
	test_demand(!epf_dev_create_opts(test_dev, &p, &o, NULL));
	s->fd = test_open(s->name);
	test_demand(s->fd >= 0);
}

/* Filter 0 has a few keys, and filter 1 more than its limit allows. */
static void fill(struct side *s, __u64 nr)
{
	struct epf_key_desc d = epf_key_desc_plain(nr ? EPF_KEYS_DIGEST : EPF_KEYS_ADDRESS);
	struct epf_journal_args j = { .size = sizeof(j), .order = 4, .shards = 1 };

	test_demand(!epf_filter_describe(s->fd, &d));
	test_sleep(PAUSE_NS);
	test_insert(s->fd, nr, 0, FEW / 2);
	test_demand(!epf_filter_rotate(s->fd, 1 + (__u32)nr, NULL));
	test_insert(s->fd, nr, FEW, FEW);
	test_demand(!epf_filter_rotate(s->fd, 1, NULL));
	test_insert(s->fd, nr, 2 * FEW, nr ? FLOOD : FEW / 3);
	test_demand(test_count(s->fd, nr, 2 * FEW, 9 + nr) >= 0);
	test_demand(test_count(s->fd, 7, 0, 5 + nr) >= 0);
	test_demand(test_ioctl(s->fd, EPF_IOC_JOURNAL, &j) ==
		    (test_info(s->fd).params.kind ? -EOPNOTSUPP : 0));
	test_sleep(PAUSE_NS);
}

static void apply(enum carried_op op)
{
	__u32 i;

	if (op == CARRIED_SWAP)
		test_demand(!epf_dev_swap(test_dev, two[0].name, two[1].name));
	for (i = 0; i < 2 && op == CARRIED_RESTORE; i++)
		test_demand(!epf_snap_restore(two[!i].fd, &two[i].file));
	for (i = 0; i < 2 && op >= CARRIED_CLEAR; i++)
		test_demand(!epf_filter_clear(two[i].fd));
}

/* Does the filter with the contents, or parameters, of filter 0 still open at its limit? */
static bool limited(int fd)
{
	test_insert(fd, 9, 0, FLOOD);
	return test_saturated(&fd);
}

#define CARRIED_POINTS 3
static void carried(__u32 kind, enum carried_op op)
{
	bool clears = op >= CARRIED_CLEAR;
	__u32 i, wrong = 0;
	__u64 began;

	for (i = 0; i < 2; i++) {
		make(&two[i], kind, i);
		fill(&two[i], i);
		two[i].before = look(two[i].fd);
		test_demand(!epf_snap_copy(two[i].fd, &two[i].file, NULL, NULL));
	}
	began = test_now();
	apply(op);
	for (i = 0; i < 2; i++) {
		struct carried_look now = look(two[i].fd);

		wrong += carried_wrong(op, &now, &two[i].before, &two[clears ? i : !i].before,
				       test_now() - began);
	}
	if (!test_is_resizable(kind))
		wrong += !limited(two[!clears].fd);
	tap_ok(!wrong, "%s: %s: each word is kept, given, or new: %u wrong", locked_name(kind),
	       carried_names[op], wrong);
	for (i = 0; i < 2; i++) {
		epf_snap_close(&two[i].file);
		close(two[i].fd);
	}
}

/* ------------------------------------------------------------- a sweep ---- */

#define SWEPT_BITS (1u << 25)
#define SWEPT_EPOCHS 5u
#define TRIES 20u

static void *rotate(void *fd)
{
	test_demand(!epf_filter_rotate(*(int *)fd, 1, NULL));
	return NULL;
}

/* End an epoch. Return: has the oldest one been left out before the next began? */
static bool left_out(int fd)
{
	struct epf_info before = test_info(fd), now;
	bool seen = false;
	pthread_t id;

	test_demand(!pthread_create(&id, NULL, rotate, &fd));
	for (now = before; now.epoch == before.epoch; now = test_info(fd))
		seen |= now.covered_ns < before.covered_ns;
	pthread_join(id, NULL);
	return seen;
}

#define SWEEP_POINTS 1
static void sweep(void)
{
	struct epf_params p = test_locked_params("mod-carried-a", EPF_KIND_GE, 1u << 30);
	const struct epf_shape shape = {
		.ge = { .segment_bits = SWEPT_BITS, .epochs = SWEPT_EPOCHS, .bits = 6 }
	};
	int fd = test_make_kind(&p, &shape);
	__u32 i;
	bool seen = false;

	for (i = 0; i < SWEPT_EPOCHS + TRIES && !seen; i++) {
		test_insert(fd, 1, i, 1);
		if (i < SWEPT_EPOCHS)
			test_demand(!epf_filter_rotate(fd, 1, NULL));
		else
			seen = left_out(fd);
	}
	tap_ok(seen, "an epoch that is being swept is not covered any more");
	close(fd);
}

int main(void)
{
	__u32 kind;

	test_begin((EPF_KIND_MAX + 1) * CARRIED_POINTS + SWEEP_POINTS);
	for (kind = 0; kind <= EPF_KIND_MAX; kind++) {
		carried(kind, CARRIED_SWAP);
		carried(kind, CARRIED_RESTORE);
		carried(kind, test_is_resizable(kind) ? CARRIED_ANEW : CARRIED_CLEAR);
	}
	sweep();
	return test_end();
}
