// SPDX-License-Identifier: GPL-2.0
/*
 * A filter of the kernel and one of this process, with the same shape and hash key, get
 * the same operations: every verdict and age is equal, and so are epochs, counts and
 * coverage, over many windows.
 *
 * One CPU only, because the counts that CPUs hold back depend on which thread ran
 * where.
 */
#include "epftest.h"

#include <stdlib.h>

#define KEYS_MAX 200u /* keys of one batch */
#define BYTES_MAX (KEYS_MAX * EPF_KEY_MAX)

/**
 * struct pair - the two filters
 * @fd: the kernel's filter
 * @mem: the filter of this process
 * @keys: number of different keys
 * @seed: seed of the random numbers
 * @drawn: random numbers so far
 */
struct pair {
	int fd;
	struct epf_mem *mem;
	__u32 keys;
	__u64 seed;
	__u32 drawn;
};

/* A batch in each of the forms a key can have. */
struct work {
	struct epf_batch batch;
	unsigned long cmd;
	__u64 digests[KEYS_MAX];
	__u8 bytes[BYTES_MAX];
	__u16 lens[KEYS_MAX];
	__u8 bitmap[KEYS_MAX / 8];
	__u8 ages[KEYS_MAX];
};

static __u32 below(struct pair *p, __u32 n)
{
	return epf_word(p->seed, ++p->drawn) % n;
}

/* Make key @i of @len bytes: equal numbers give equal bytes. */
static void make_key(__u8 *to, __u32 i, __u32 len)
{
	__u32 n;

	for (n = 0; n < len; n++)
		to[n] = epf_word(i, 1 + n / 8) >> 8 * (n % 8);
}

enum form { DIGESTS, EQUAL, LENS, FORMS };

static void draw_keys(struct pair *p, struct work *w, enum form form)
{
	struct epf_batch *b = &w->batch;
	__u32 len = 1 + below(p, EPF_KEY_MAX);
	__u32 i, off = 0;

	for (i = 0; i < b->count; i++) {
		__u32 key = below(p, p->keys);

		/* The length depends on the key, unless it is given. */
		w->lens[i] = form == EQUAL ? len : 1 + key % EPF_KEY_MAX;
		make_key(w->bytes + off, key, w->lens[i]);
		w->digests[i] = epf_mem_digest(p->mem, w->bytes + off, w->lens[i]);
		off += w->lens[i];
	}
	b->keys = (uintptr_t)(form == DIGESTS ? (void *)w->digests : w->bytes);
	b->flags = form == DIGESTS ? EPF_BATCH_DIGESTS : 0;
	b->key_len = form == EQUAL ? len : 0;
	b->lens = form == LENS ? (uintptr_t)w->lens : 0;
}

static void draw_work(struct pair *p, struct work *w)
{
	static const unsigned long cmds[] = { EPF_IOC_TEST, EPF_IOC_INSERT,
					      EPF_IOC_TEST_AND_INSERT };

	memset(w, 0, sizeof(*w));
	w->batch.size = sizeof(w->batch);
	w->batch.count = 1 + below(p, KEYS_MAX);
	w->cmd = cmds[below(p, ARRAY_LEN(cmds))];
	draw_keys(p, w, below(p, FORMS));
	if (w->cmd == EPF_IOC_INSERT)
		return;
	w->batch.bitmap = (uintptr_t)w->bitmap;
	w->batch.ages = (uintptr_t)w->ages;
}

static int mem_op(struct epf_mem *mem, unsigned long cmd, __u64 digest)
{
	if (cmd == EPF_IOC_TEST)
		return epf_mem_test(mem, digest, 0);
	if (cmd == EPF_IOC_TEST_AND_INSERT)
		return epf_mem_test_and_insert(mem, digest, 0);
	epf_mem_insert(mem, digest, 0);
	return 0;
}

/* Run the batch in both, and compare all results. */
static bool same_work(struct pair *p, struct work *w)
{
	__u32 i, present = 0;
	int verdict;

	if (test_ioctl(p->fd, w->cmd, &w->batch) || w->batch.done != w->batch.count)
		return false;
	for (i = 0; i < w->batch.count; i++) {
		verdict = mem_op(p->mem, w->cmd, w->digests[i]);
		present += verdict > 0;
		if (w->cmd == EPF_IOC_INSERT)
			continue;
		if ((w->bitmap[i / 8] >> i % 8 & 1) != (verdict > 0) ||
		    w->ages[i] != (verdict ? verdict - 1 : EPF_AGE_ABSENT)) {
			printf("# key %u of %u: age %u, here %d\n", i, w->batch.count, w->ages[i],
			       verdict - 1);
			return false;
		}
	}
	return w->batch.present == present;
}

/* Counts that CPUs and groups of them hold back, at most 1/16 of an epoch for each, are
 * missing in an epoch that is ended early, and in the coverage; never is there too
 * much.
 */
static bool same_epochs(const struct epf_info *kernel, const struct epf_info *mem)
{
	__u64 kept = mem->params.window_inserts / 7 / 8;
	__u64 cover = mem->covered_inserts - kernel->covered_inserts;
	int i;

	for (i = 0; i < EPF_EPOCHS; i++) {
		const struct epf_epoch_info *a = &kernel->epochs[i];
		const struct epf_epoch_info *b = &mem->epochs[i];

		if (a->epoch != b->epoch || b->inserts - a->inserts > kept)
			return false;
	}
	return kernel->epoch == mem->epoch && cover <= EPF_EPOCHS * kept;
}

static bool same_state(struct pair *p)
{
	struct epf_info kernel = test_info(p->fd);
	struct epf_info mem;
	bool same;

	epf_mem_info(p->mem, 0, &mem);
	same = same_epochs(&kernel, &mem) && kernel.stats.inserts == mem.stats.inserts &&
	       kernel.stats.hits == mem.stats.hits && kernel.stats.misses == mem.stats.misses &&
	       kernel.stats.rotations == mem.stats.rotations;
	if (!same)
		printf("# epoch %llu, here %llu; covered %llu, here %llu\n", kernel.epoch,
		       mem.epoch, kernel.covered_inserts, mem.covered_inserts);
	return same;
}

/* Rotate or clear explicitly, at times. */
static bool same_turn(struct pair *p)
{
	__u32 i, n = 1 + below(p, 4);

	if (below(p, 3)) {
		if (epf_filter_rotate(p->fd, n, NULL))
			return false;
	} else {
		n = EPF_EPOCHS;
		if (epf_filter_clear(p->fd))
			return false;
	}
	for (i = 0; i < n; i++)
		epf_mem_rotate(p->mem, 0);
	return true;
}

static bool same(struct pair *p, __u32 batches)
{
	static struct work w;
	__u32 i;

	for (i = 0; i < batches; i++) {
		if (!below(p, 64) && !same_turn(p))
			return false;
		draw_work(p, &w);
		if (!same_work(p, &w) || !same_state(p)) {
			printf("# batch %u\n", i);
			return false;
		}
	}
	return true;
}

/**
 * struct config - a pair and its work
 * @parts: L
 * @bits: k
 * @lines: few, so that there are false positives, which must be equal
 * @window: W
 * @keys: number of different keys
 * @refresh: enum epf_refresh
 * @hash: enum epf_hash_id
 * @batches: batches to run
 */
static const struct config {
	__u32 parts, bits, lines;
	__u64 window;
	__u32 keys;
	__u8 refresh, hash;
	__u32 batches;
} configs[] = {
	{ 1, 5, 64, 700, 1500, EPF_REFRESH, 0, 200 },
	{ 1, 15, 97, 70, 300, EPF_FIRST_SEEN, 0, 100 },
	{ 2, 8, 128, 700, 2000, EPF_FIRST_SEEN, 1, 200 },
	{ 2, 10, 1024, 5000, 9000, EPF_REFRESH, 0, 400 },
	{ 4, 4, 64, 300, 500, EPF_REFRESH, 1, 100 },
	{ 4, 12, 256, 1000, 3000, EPF_FIRST_SEEN, 0, 200 },
	{ 4, 60, 4096, 30000, 30000, EPF_REFRESH, 0, 1500 },
	{ 2, 2, 64, 1, 20, EPF_REFRESH, 0, 20 },
	{ 1, 7, 80, 350, 900, EPF_FIRST_SEEN, 1, 150 },
};

#define POINTS 3
static void try_config(const struct config *c)
{
	struct epf_params params = test_params("mod-lockstep", c->lines, c->parts, c->bits,
					       c->window);
	struct pair p = { .keys = c->keys, .seed = c->window };
	struct epf_info info;
	int err;

	params.refresh = c->refresh;
	params.hash = c->hash;
	p.fd = test_make(&params);
	p.mem = epf_mem_new(&params, test_key, 0, &err);
	test_demand(p.mem);
	tap_ok(same(&p, c->batches), "L=%u k=%u lines=%u W=%llu %s %s: equal in %u batches",
	       c->parts, c->bits, c->lines, c->window, c->refresh ? "first-seen" : "refresh",
	       c->hash ? "SipHash-2-4" : "SipHash-1-3", c->batches);
	info = test_info(p.fd);
	tap_ok(info.stats.rotations >= 40 && info.stats.hits > 50,
	       "that was %llu inserts, %llu hits, %llu misses, %llu rotations", info.stats.inserts,
	       info.stats.hits, info.stats.misses, info.stats.rotations);
	epf_mem_rotate(p.mem, 0);
	tap_ok(!same(&p, 1), "noticed: a rotation on one side only");
	epf_mem_free(p.mem);
	close(p.fd);
}

int main(void)
{
	size_t i;

	test_demand(test_pin(0));
	test_begin(ARRAY_LEN(configs) * POINTS);
	for (i = 0; i < ARRAY_LEN(configs); i++)
		try_config(&configs[i]);
	return test_end();
}
