// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A query in all threads. A chunk is a whole number of bitmap bytes, so no two
 * threads write the same byte. The counts of a thread are added after its join.
 */
#include "engine.h"

#include <endian.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define CHUNK_KEYS (16 * EPF_STEP_KEYS)
#define COUNTERS 4u /* of one age, so that equal ones need not wait */

EPF_ASSERT(EPF_STEP_KEYS % EPF_BLOCK_KEYS == 0, "a step is of whole blocks");
EPF_ASSERT(EPF_BLOCK_KEYS % 8 == 0, "a block is of whole bitmap bytes");
EPF_ASSERT(EPF_AGE_ABSENT == EPF_AGES_MAX, "absent is behind all ages");

/**
 * struct run - a query under way
 * @look: of the engine
 * @view: what is asked
 * @lens: of it
 * @keys: all
 * @a: where answers go
 */
struct run {
	epf_look_fn look;
	const struct epf_view *view;
	struct epf_lens lens;
	const struct epf_keys *keys;
	struct epf_answer *a;
};

/**
 * struct worker - what one thread has
 * @run: all share it
 * @count: keys by age; absent ones are the last
 */
struct worker {
	const struct run *run;
	__u64 count[COUNTERS][EPF_AGES_MAX + 1];
};

/* Buffers on a thread's own stack: the digests of a step, if they must be
 * computed, and its ages.
 */
struct step {
	unsigned char digest[EPF_STEP_KEYS * sizeof(__u64)];
	unsigned char age[EPF_STEP_KEYS];
} __attribute__((aligned(EPF_LINE_BYTES)));

static void lens_init(struct epf_lens *l, const struct epf_view *v)
{
	__u32 hit, age, i;

	l->f.line = (struct epf_line *)(uintptr_t)v->lines; /* only read */
	l->f.epoch = NULL;
	l->f.geom = v->geom;
	l->epoch = v->epoch;
	l->asked = v->asked;
	for (i = 0; i < EPF_LANES; i++)
		l->flip[i] = epf_lane_tag(v->epoch, i) | ~EPF_TAG_MASK;
	for (hit = 0; hit < 1u << EPF_LANES; hit++) {
		l->age[hit] = EPF_AGE_ABSENT;
		for (age = EPF_LANES; age--;)
			if (hit >> ((v->epoch - age) & 7) & 1)
				l->age[hit] = (unsigned char)age;
	}
}

static bool is_little(const struct epf_keys *k)
{
	return k->little || htole64(1) == 1;
}

/* The digests of @n keys from @first on, little-endian, and zeros up to @all. Whole steps of
 * digests are used in place.
 */
static const unsigned char *run_digests(const struct run *r, __u64 first, __u32 n, __u32 all,
					unsigned char *buf)
{
	const struct epf_keys *k = r->keys;
	const unsigned char *key = k->data;
	__u32 i;

	if (!k->len) {
		key += first * sizeof(__u64);
		if (n == all && is_little(k))
			return key;
		memcpy(buf, key, n * sizeof(__u64));
	}
	key += first * k->len;
	for (i = 0; i < n && (k->len || !is_little(k)); i++) {
		__u64 d;

		if (k->len)
			d = epf_digest(&r->view->hash, key + i * k->len, k->len);
		else
			memcpy(&d, key + i * sizeof(d), sizeof(d));
		d = htole64(d);
		memcpy(buf + i * sizeof(d), &d, sizeof(d));
	}
	memset(buf + n * sizeof(__u64), 0, (all - n) * sizeof(__u64));
	return buf;
}

/* Bit i is set if byte i of @age is not EPF_AGE_ABSENT (all ones). */
static unsigned char present_bits(const unsigned char *age)
{
	const __u64 most = 0x7f7f7f7f7f7f7f7fULL;
	__u64 lacks = ~epf_get_le64(age);
	__u64 low;

	low = (((lacks & most) + most) | lacks) >> 7 & 0x0101010101010101ULL;
	return (unsigned char)(low * 0x0102040810204080ULL >> 56);
}

static void run_step(struct worker *w, __u64 first, __u32 n)
{
	const struct run *r = w->run;
	__u32 all = (n + EPF_BLOCK_KEYS - 1) & ~(EPF_BLOCK_KEYS - 1);
	struct step s;
	__u32 i;

	r->look(&r->lens, run_digests(r, first, n, all, s.digest), all, s.age);
	memset(s.age + n, EPF_AGE_ABSENT, all - n);
	for (i = 0; i < n; i += 8)
		r->a->bitmap[(first + i) / 8] = present_bits(s.age + i);
	for (i = 0; i < n; i++)
		w->count[i % COUNTERS][s.age[i]]++;
	if (r->a->ages)
		memcpy(r->a->ages + first, s.age, n);
}

static void chunk(void *self, __u64 first, __u64 n)
{
	struct worker *w = self;
	__u64 at, end = first + n;

	for (at = first; at < end; at += EPF_STEP_KEYS)
		run_step(w, at, end - at < EPF_STEP_KEYS ? (__u32)(end - at) : EPF_STEP_KEYS);
}

static void run_add_up(struct epf_answer *a, const struct worker *w)
{
	__u32 age, i;

	for (age = 0; age < EPF_AGES_MAX; age++)
		for (i = 0; i < COUNTERS; i++) {
			a->ages_of[age] += w->count[i][age];
			a->present += w->count[i][age];
		}
}

/* @w has room for @nr. Return: was the query stopped? */
static bool run_workers(const struct run *r, struct worker *w, unsigned int nr)
{
	struct epf_par par = {
		.work = chunk,
		.n = r->keys->n,
		.step = CHUNK_KEYS,
		.progress = r->a->progress,
		.ctx = r->a->ctx,
	};
	unsigned int i;

	for (i = 0; i < nr; i++)
		w[i].run = r;
	epf_par_run(&par, w, sizeof(*w), nr);
	for (i = 0; i < nr; i++)
		run_add_up(r->a, &w[i]);
	return par.stop;
}

bool epf_audit_sound(const struct epf_keys *k, const struct epf_answer *a)
{
	size_t bytes = k->len ? k->len : sizeof(__u64);

	return k->len <= EPF_KEY_MAX && k->n <= SIZE_MAX / bytes &&
	       (!k->n || (k->data && a->bitmap)) && a->threads <= EPF_AUDIT_THREADS_MAX;
}

int epf_audit_run(epf_look_fn look, const struct epf_view *v, const struct epf_keys *keys,
		  struct epf_answer *a)
{
	return v->asked ? -EOPNOTSUPP : epf_audit_run_any(look, v, keys, a);
}

int epf_audit_run_any(epf_look_fn look, const struct epf_view *v, const struct epf_keys *keys,
		      struct epf_answer *a)
{
	struct run r = { .look = look, .view = v, .keys = keys, .a = a };
	struct worker one = { 0 };
	struct worker *many;
	unsigned int nr;
	bool stopped;

	if (!epf_audit_sound(keys, a))
		return -EINVAL;
	lens_init(&r.lens, v);
	memset(a->ages_of, 0, sizeof(a->ages_of));
	a->present = 0;
	nr = epf_par_threads(a->threads, keys->n, CHUNK_KEYS);
	many = nr > 1 ? calloc(nr, sizeof(*many)) : NULL;
	stopped = run_workers(&r, many ? many : &one, many ? nr : 1);
	free(many);
	/* an epoch that the caller reads now is not older than a lane read */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (stopped)
		return -ECANCELED;
	a->bitmap_xxh3 = XXH3_64bits(a->bitmap, (keys->n + 7) / 8);
	return 0;
}
