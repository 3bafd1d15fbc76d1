// SPDX-License-Identifier: GPL-2.0
/*
 * A query in all threads. Threads take chunks by a counter; a chunk is a whole
 * number of bitmap bytes, so no two threads write one byte. What a thread has
 * counted is added up after it was joined.
 */
#include "engine.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define CHUNK_KEYS (16 * EPF_STEP_KEYS)
#define COUNTERS 4u /* of one age, so that equal ones need not wait */

EPF_ASSERT(EPF_STEP_KEYS % EPF_BLOCK_KEYS == 0, "a step is of whole blocks");
EPF_ASSERT(EPF_BLOCK_KEYS % 8 == 0, "a block is of whole bitmap bytes");
EPF_ASSERT(EPF_AGE_ABSENT == 255, "absent is a set top bit, ages are not");

/**
 * struct run - a query under way
 * @look: of the engine
 * @view: what is asked
 * @lens: of it
 * @keys: all
 * @a: where answers go
 * @next: first key that no thread has taken; grows past the end
 * @done: keys answered
 * @stop: somebody wants an end
 */
struct run {
	epf_look_fn look;
	const struct epf_view *view;
	struct epf_lens lens;
	const struct epf_keys *keys;
	struct epf_answer *a;
	__u64 next;
	__u64 done;
	int stop;
};

/**
 * struct worker - what one thread has
 * @run: all share it
 * @thread: or this one, if it is the first
 * @count: keys by age; absent ones are in the last
 */
struct worker {
	struct run *run;
	pthread_t thread;
	__u64 count[COUNTERS][2 * EPF_LANES];
};

/* Whose own stack holds them: a step's digests, if they have to be made, and
 * its ages.
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
	for (i = 0; i < EPF_LANES; i++)
		l->flip[i] = epf_lane_tag(v->epoch, i) | ~EPF_TAG_MASK;
	for (hit = 0; hit < 1u << EPF_LANES; hit++) {
		l->age[hit] = EPF_AGE_ABSENT;
		for (age = EPF_LANES; age--;)
			if (hit >> ((v->epoch - age) & 7) & 1)
				l->age[hit] = (unsigned char)age;
	}
}

/* The digests of @n keys from @first on, and zeros up to @all. Whole steps of
 * digests are taken where they are.
 */
static const unsigned char *digests(const struct run *r, __u64 first, __u32 n,
				    __u32 all, unsigned char *buf)
{
	const struct epf_keys *k = r->keys;
	const unsigned char *key = k->data;
	__u32 i;

	if (!k->len) {
		key += first * sizeof(__u64);
		if (n == all)
			return key;
		memcpy(buf, key, n * sizeof(__u64));
	}
	key += first * k->len;
	for (i = 0; k->len && i < n; i++) {
		__u64 d = epf_digest(&r->view->hash, key + i * k->len, k->len);

		memcpy(buf + i * sizeof(d), &d, sizeof(d));
	}
	memset(buf + n * sizeof(__u64), 0, (all - n) * sizeof(__u64));
	return buf;
}

/* Bit i: byte i of @age has no top bit. */
static unsigned char present_bits(const unsigned char *age)
{
	__u64 low = ~epf_get_le64(age) >> 7 & 0x0101010101010101ULL;

	return (unsigned char)(low * 0x0102040810204080ULL >> 56);
}

static void step(struct worker *w, __u64 first, __u32 n)
{
	const struct run *r = w->run;
	__u32 all = (n + EPF_BLOCK_KEYS - 1) & ~(EPF_BLOCK_KEYS - 1);
	struct step s;
	__u32 i;

	r->look(&r->lens, digests(r, first, n, all, s.digest), all, s.age);
	memset(s.age + n, EPF_AGE_ABSENT, all - n);
	for (i = 0; i < n; i += 8)
		r->a->bitmap[(first + i) / 8] = present_bits(s.age + i);
	for (i = 0; i < n; i++)
		w->count[i % COUNTERS][s.age[i] % (2 * EPF_LANES)]++;
	if (r->a->ages)
		memcpy(r->a->ages + first, s.age, n);
}

/* Return: keys taken, 0 at the end. */
static __u64 chunk(struct worker *w)
{
	struct run *r = w->run;
	__u64 first = __atomic_fetch_add(&r->next, CHUNK_KEYS, __ATOMIC_RELAXED);
	__u64 at, end;

	if (first >= r->keys->n || __atomic_load_n(&r->stop, __ATOMIC_RELAXED))
		return 0;
	end = r->keys->n - first < CHUNK_KEYS ? r->keys->n : first + CHUNK_KEYS;
	for (at = first; at < end; at += EPF_STEP_KEYS)
		step(w, at, end - at < EPF_STEP_KEYS ? (__u32)(end - at) :
						       EPF_STEP_KEYS);
	__atomic_fetch_add(&r->done, end - first, __ATOMIC_RELAXED);
	return end - first;
}

static void *helper(void *arg)
{
	while (chunk(arg))
		;
	return NULL;
}

/* The calling thread: it works too, and tells how far all are. */
static void lead(struct worker *w)
{
	struct run *r = w->run;

	while (chunk(w)) {
		__u64 done = __atomic_load_n(&r->done, __ATOMIC_RELAXED);

		if (r->a->progress &&
		    r->a->progress(r->a->ctx, done, r->keys->n))
			__atomic_store_n(&r->stop, 1, __ATOMIC_RELAXED);
	}
}

static unsigned int cpus(void)
{
	cpu_set_t set;
	long n;

	if (!sched_getaffinity(0, sizeof(set), &set))
		return (unsigned int)CPU_COUNT(&set);
	n = sysconf(_SC_NPROCESSORS_ONLN); /* more than the set has room for */
	return n < 1 ? 1 : (unsigned int)n;
}

static unsigned int threads_of(const struct run *r)
{
	unsigned int n = r->a->threads ? r->a->threads : cpus();
	__u64 chunks = r->keys->n / CHUNK_KEYS + 1;

	if (n > EPF_AUDIT_THREADS_MAX)
		n = EPF_AUDIT_THREADS_MAX;
	return n < chunks ? n : (unsigned int)chunks;
}

static void add_up(struct epf_answer *a, const struct worker *w)
{
	__u32 age, i;

	for (age = 0; age < EPF_LANES; age++)
		for (i = 0; i < COUNTERS; i++) {
			a->ages_of[age] += w->count[i][age];
			a->present += w->count[i][age];
		}
}

/* @w has room for @nr; as many threads as there are to be had. */
static void run_workers(struct run *r, struct worker *w, unsigned int nr)
{
	unsigned int started, i;

	for (i = 0; i < nr; i++)
		w[i].run = r;
	for (started = 1; started < nr; started++)
		if (pthread_create(&w[started].thread, NULL, helper,
				   &w[started]))
			break;
	lead(w);
	for (i = 1; i < started; i++)
		pthread_join(w[i].thread, NULL);
	for (i = 0; i < started; i++)
		add_up(r->a, &w[i]);
}

static bool sound(const struct epf_keys *k, const struct epf_answer *a)
{
	size_t bytes = k->len ? k->len : sizeof(__u64);

	return k->len <= EPF_KEY_MAX && k->n <= SIZE_MAX / bytes &&
	       (!k->n || (k->data && a->bitmap)) &&
	       a->threads <= EPF_AUDIT_THREADS_MAX;
}

int epf_audit_run(epf_look_fn look, const struct epf_view *v,
		  const struct epf_keys *keys, struct epf_answer *a)
{
	struct run r = { .look = look, .view = v, .keys = keys, .a = a };
	struct worker one = { 0 };
	struct worker *many;
	unsigned int nr;

	if (!sound(keys, a))
		return -EINVAL;
	lens_init(&r.lens, v);
	memset(a->ages_of, 0, sizeof(a->ages_of));
	a->present = 0;
	nr = threads_of(&r);
	many = nr > 1 ? calloc(nr, sizeof(*many)) : NULL;
	run_workers(&r, many ? many : &one, many ? nr : 1);
	free(many);
	/* an epoch that the caller reads now is not older than a lane read */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (r.stop)
		return -ECANCELED;
	a->bitmap_xxh3 = XXH3_64bits(a->bitmap, (keys->n + 7) / 8);
	return 0;
}
