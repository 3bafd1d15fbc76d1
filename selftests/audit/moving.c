// SPDX-License-Identifier: GPL-2.0
/*
 * The window property of an audit in place, on a filter that changes meanwhile. The
 * epoch is E when the audit begins and F when it ends:
 *
 *   1. a key inserted before the audit in one of the epochs F-7 .. F is present,
 *   2. with the age it has at E;
 *   3. a key of an epoch before E-7 or after E is absent. (2 and 3 hold if F is less
 *      than E + 25.)
 *
 * First, rotations and insertions happen at given points of the audit, in its own
 * thread; then in another thread, at arbitrary points. Each key is inserted once, and
 * filters are so sparse that false positives do not occur.
 */
#include "sim.h"

#include <pthread.h>

#define CHUNK 65536u /* keys between two calls of progress */
#define CHUNKS 4u
#define SLOTS 12u /* epochs that keys are taken from: E-9 .. E+2 */
#define OLDEST 9u

/**
 * struct moving - a filter and its history
 * @inserted: insertions in the current epoch so far
 * @steps: epochs to end at each call of progress
 * @settles: copy the lines first
 */
struct moving {
	struct sim sim;
	__u32 inserted;
	__u32 steps;
	bool settles;
	__u64 done; /* insertions since the first epoch */
	int stop;
};

static void insert_one(struct moving *m)
{
	struct sim *s = &m->sim;

	sim_insert(s, sim_digest(s, s->epoch, m->inserted++));
	__atomic_store_n(&m->done, m->done + 1, __ATOMIC_RELEASE);
}

/* Rotate as the module does: scan a sixteenth of the lines, then end the epoch. */
static void rotate(struct moving *m)
{
	struct sim *s = &m->sim;
	__u64 piece = s->params.nr_lines / 16;

	epf_lanes_scan(&s->f, s->epoch % 16 * piece, piece);
	epf_store_release(&s->epoch, s->epoch + 1);
	m->inserted = 0;
}

static void finish_epoch(struct moving *m)
{
	while (m->inserted < m->sim.per_epoch)
		insert_one(m);
	rotate(m);
}

static void moving_init(struct moving *m, __u32 parts, __u32 k, __u64 lines, __u32 per_epoch)
{
	memset(m, 0, sizeof(*m));
	sim_init(&m->sim, lines, parts, k, 0);
	m->sim.per_epoch = per_epoch;
}

/**
 * What is known when the audit begins, and when it ends.
 */
struct moment {
	__u64 done;
	__u64 begin, end;
};

/* Return: the epoch and number of the key at position @i of the audit. */
static __u64 asked_epoch(const struct moment *t, __u64 i)
{
	return t->begin + i % SLOTS - OLDEST;
}

static __u32 asked_number(const struct sim *s, __u64 i)
{
	return (__u32)(epf_word(i, 1) % s->per_epoch);
}

static const char *judge(const struct moving *m, const struct moment *t, __u64 i, unsigned char age)
{
	__u64 epoch = asked_epoch(t, i);
	__u64 place = (epoch - EPF_EPOCH_FIRST) * m->sim.per_epoch + asked_number(&m->sim, i);
	bool real = epoch >= EPF_EPOCH_FIRST;
	bool before = real && place < t->done;

	if (before && t->end - epoch < EPF_LANES && age == EPF_AGE_ABSENT)
		return "a key of the window is absent";
	if (age == EPF_AGE_ABSENT || t->end - t->begin >= 25)
		return NULL;
	if (!real || epoch > t->begin || t->begin - epoch >= EPF_LANES)
		return "a key of no epoch of the window is present";
	return age == t->begin - epoch ? NULL : "an age is wrong";
}

static void ask_for(const struct moving *m, const struct moment *t, __u64 *digest, __u64 n)
{
	__u64 i;

	for (i = 0; i < n; i++)
		digest[i] = sim_digest(&m->sim, asked_epoch(t, i), asked_number(&m->sim, i));
}

/* Run one audit of @n keys in place, and set @t. */
static const char *audit(struct moving *m, const struct epf_engine *e, __u64 *digest, __u64 n,
			 struct epf_answer *a, struct moment *t)
{
	struct epf_keys keys = { .data = digest, .n = n };
	const char *broken = NULL;
	struct epf_view v;
	__u64 i;

	t->done = __atomic_load_n(&m->done, __ATOMIC_ACQUIRE);
	t->begin = epf_load_acquire(&m->sim.epoch);
	ask_for(m, t, digest, n);
	if (epf_view_init(&v, m->sim.f.line, &m->sim.params, NULL, t->begin) ||
	    (m->settles && epf_view_settle(&v)))
		return "error";
	t->end = epf_load(&m->sim.epoch); /* epoch of the copy */
	if (e->query(&v, &keys, a))
		broken = "error";
	if (!m->settles)
		t->end = epf_load(&m->sim.epoch);
	epf_view_close(&v);
	for (i = 0; i < n && !broken; i++)
		broken = judge(m, t, i, a->ages[i]);
	return broken;
}

static int move_on(void *ctx, __u64 done, __u64 all)
{
	struct moving *m = ctx;
	__u32 i;

	for (i = 0; i < m->steps; i++)
		finish_epoch(m);
	for (i = 0; i < m->sim.per_epoch / CHUNKS / 2; i++)
		insert_one(m);
	return 0;
}

/* ------------------------------------------------- at given places ---- */

static const char *stepped(const struct epf_engine *e, __u32 parts, __u32 k, __u32 steps,
			   __u64 *digest, struct epf_answer *a)
{
	const char *broken = NULL;
	struct moving m;
	struct moment t;
	__u32 phase;

	moving_init(&m, parts, k, 8192 * parts, 300);
	m.steps = steps;
	a->threads = 1;
	a->progress = move_on;
	a->ctx = &m;
	for (phase = 0; phase < 8 && !broken; phase++) {
		while (m.sim.epoch < 48 || m.sim.epoch % 8 != phase)
			finish_epoch(&m);
		broken = audit(&m, e, digest, CHUNKS * CHUNK, a, &t);
	}
	sim_free(&m.sim);
	return broken;
}

static void every_place(__u64 *digest, struct epf_answer *a)
{
	static const __u32 steps[] = { 0, 1, 2, 6 }; /* in each of four calls */
	const char *broken[ENGINES_MAX] = { NULL };
	const struct epf_engine *e;
	unsigned int i, j;

	for (i = 0; (e = epf_engine_at(i)); i++)
		for (j = 0; e->usable() && j < 4 && !broken[i]; j++)
			broken[i] = stepped(e, 1u << j % 3, 5 * (1u << j % 3), steps[j], digest, a);
	claim_engines(broken, "the law at every phase, with 0 to 24 rotations meanwhile");
}

/* ------------------------------------------------- in another thread ---- */

static void *insert_all_the_time(void *arg)
{
	struct moving *m = arg;

	while (!__atomic_load_n(&m->stop, __ATOMIC_RELAXED))
		finish_epoch(m);
	return NULL;
}

/* Return: number of audits during which epochs ended, but not too many. */
static unsigned int race(struct moving *m, __u64 *digest, struct epf_answer *a, const char **broken)
{
	unsigned int moved = 0, round, i;
	const struct epf_engine *e;
	struct moment t;

	a->progress = NULL;
	a->threads = 2;
	for (round = 0; round < 200 && moved < 100; round++)
		for (i = 0; (e = epf_engine_at(i)); i++) {
			if (broken[i] || !e->usable())
				continue;
			m->settles = round % 2;
			broken[i] = audit(m, e, digest, CHUNK + 99, a, &t);
			moved += t.end > t.begin && t.end - t.begin < EPF_LANES;
		}
	return moved;
}

static void other_thread(__u64 *digest, struct epf_answer *a)
{
	const char *broken[ENGINES_MAX] = { NULL };
	unsigned int moved;
	pthread_t thread;
	struct moving m;

	moving_init(&m, 2, 24, 1 << 17, 20000);
	while (m.sim.epoch < 40)
		finish_epoch(&m);
	if (pthread_create(&thread, NULL, insert_all_the_time, &m))
		abort();
	moved = race(&m, digest, a, broken);
	__atomic_store_n(&m.stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	sim_free(&m.sim);
	claim_engines(broken,
		      "the law, inserted and rotated by another thread, in place and of copies");
	printf("# one to seven epochs ended in %u of the audits\n", moved);
}

int main(void)
{
	__u64 *digest = must(malloc(CHUNKS * CHUNK * sizeof(*digest)));
	struct epf_answer a = {
		.bitmap = must(malloc(CHUNKS * CHUNK / 8)),
		.ages = must(malloc(CHUNKS * CHUNK)),
	};

	tap_plan(2 * engines());
	every_place(digest, &a);
	other_thread(digest, &a);
	free(a.bitmap);
	free(a.ages);
	free(digest);
	return tap_end();
}
