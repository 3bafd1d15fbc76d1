// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Kind elastic: predicted false-positive rate and sizing.
 *
 * The rate of a line depends on the number of items of each epoch in it and on
 * their width, and these depend on the history of the line, because widths only
 * fall. So there is no closed form, and the rate is simulated. LINES
 * independent lines take EPOCHS epochs of a Poisson number of keys each. They
 * follow the rules of the core (its functions for first widths and narrowing),
 * but with counts in place of items. Then the current epoch gets its share. A
 * key never inserted falls on one of the b buckets of a line and is found with
 * probability
 *
 *	1 - product over epochs of (1 - 1 / (b 2^w))^n
 *
 * A key that meets its own fingerprint in its epoch is not stored. The
 * simulation models this as well.
 */
#include "elastic.h"

#include <math.h>

#define FPR_MIN 1e-5
#define FPR_MAX 0.5
#define LINES 16384
#define LINES_ROUGH 2048
#define EPOCHS 30      /* a first window and three more */
#define LOAD_MAX 100.0 /* keys of an epoch in a line; beyond it every key is reported */
#define STEPS 11       /* steps of the rough search */
#define STEP 1.004     /* factor of the load in the fine search: 3 per cent of the rate */

/* A line, as counts of items. */
struct crowd {
	struct epf_elastic_work w; /* only whole, tag and sizes are used */
	__u64 n, wide;             /* items and width of each tag, in bytes */
	__u32 epochs;
	__u64 seed;
	__u32 draws;
};

static double elastic_draw(struct crowd *c)
{
	return (double)(epf_word(c->seed, ++c->draws) >> 11) * 0x1p-53;
}

static unsigned int poisson(struct crowd *c, double mean)
{
	double p = elastic_draw(c), least = exp(-mean);
	unsigned int n = 0;

	for (; p > least; n++)
		p *= elastic_draw(c);
	return n;
}

static double one_of(const struct crowd *c, __u32 tag)
{
	double buckets = 8.0 * c->w.l.words;

	return 1 / ldexp(buckets, (int)epf_elastic_byte(c->wide, tag));
}

static void crowd_begin(struct crowd *c)
{
	__u32 room, t;

	for (t = 0; t < EPF_ELASTIC_TAGS; t++)
		if (((c->w.tag - t) & 7) > c->epochs || t == c->w.tag) {
			c->n &= ~(255ULL << 8 * t);
			c->w.l.whole &= ~(1u << t);
		}
	room = epf_elastic_room(&c->w.l, c->w.l.whole);
	c->wide &= ~(255ULL << 8 * c->w.tag);
	c->wide |= (__u64)epf_elastic_begin(c->n, c->wide, room) << 8 * c->w.tag;
}

/* Make room for @more items of the current epoch. */
static void crowd_room(struct crowd *c, __u32 more)
{
	__u64 add = (__u64)more << 8 * c->w.tag;

	c->n += add;
	c->wide = epf_elastic_narrow(&c->w, &c->n, c->wide);
	if (!(c->w.l.whole >> c->w.tag & 1))
		c->n -= add;
}

/* Begin a new epoch and insert @keys keys. */
static void crowd_epoch(struct crowd *c, unsigned int keys)
{
	__u64 one;

	c->w.tag = (c->w.tag + 1) & 7;
	one = 1ULL << 8 * c->w.tag;
	crowd_begin(c);
	if (keys)
		crowd_room(c, 1 + (epf_elastic_sum(c->n) * EPF_ELASTIC_SHARE >> 6));
	for (; keys && !(c->w.l.whole >> c->w.tag & 1); keys--) {
		if (elastic_draw(c) < epf_elastic_byte(c->n, c->w.tag) * one_of(c, c->w.tag))
			continue;
		if (epf_elastic_need(c->n + one, c->wide) > epf_elastic_room(&c->w.l, c->w.l.whole))
			crowd_room(c, 2);
		if (!(c->w.l.whole >> c->w.tag & 1))
			c->n += one;
	}
}

static double crowd_fpr(const struct crowd *c)
{
	double miss = 0;
	__u32 t;

	if (c->w.l.whole)
		return 1;
	for (t = 0; t < EPF_ELASTIC_TAGS; t++)
		miss += epf_elastic_byte(c->n, t) * log1p(-one_of(c, t));
	return -expm1(miss);
}

static double elastic_one_line(const struct epf_elastic_shape *s, double load, double now,
			       __u64 seed)
{
	struct crowd c = { .epochs = s->epochs, .seed = seed };
	int e;

	epf_elastic_unpack(&c.w.l, s->line_words, 0);
	for (e = 0; e < EPOCHS; e++)
		crowd_epoch(&c, poisson(&c, load));
	crowd_epoch(&c, poisson(&c, now));
	return crowd_fpr(&c);
}

/* @load, @now: keys per line of the earlier epochs and of the current epoch
 */
static double mean_line(const struct epf_elastic_shape *s, double load, double now, int lines)
{
	double sum = 0;
	int i;

	for (i = 0; i < lines; i++)
		sum += elastic_one_line(s, load, now, epf_word(0xe1a571c, (__u32)i));
	return sum / lines;
}

double epf_elastic_fpr(const struct epf_elastic_shape *s, double epoch_keys, double now_keys)
{
	double load = epoch_keys / (double)s->nr_lines;
	double now = now_keys / (double)s->nr_lines;

	if (!epf_elastic_words(s) || !(load >= 0) || !(now >= 0) || load > LOAD_MAX ||
	    now > LOAD_MAX)
		return 1;
	return mean_line(s, load, now, LINES);
}

static bool req_fine(const struct epf_elastic_req *req)
{
	return req->keys_per_window >= 1 && req->keys_per_window <= 1e18 &&
	       req->budget >= FPR_MIN && req->budget <= FPR_MAX &&
	       (!req->slack || req->slack >= 1.0 / EPF_ELASTIC_EPOCHS_MAX) &&
	       (!req->line_words || req->line_words == EPF_ELASTIC_WORDS_MAX ||
		req->line_words == EPF_ELASTIC_WORDS_MAX / 2);
}

/* Return: the most keys of an epoch per line that keep the budget, to a factor STEP. */
static double search_load(const struct epf_elastic_shape *s, double budget)
{
	double low = 0.25, high = 3.0 * s->line_words, load;
	int i;

	for (i = 0; i < STEPS; i++) {
		load = sqrt(low * high);
		if (mean_line(s, load, load, LINES_ROUGH) <= budget)
			low = load;
		else
			high = load;
	}
	while (mean_line(s, low, low, LINES) <= budget)
		low *= STEP;
	while (mean_line(s, low, low, LINES) > budget)
		low /= STEP;
	return low;
}

/* The search takes half a second and depends on nothing else, so that each thread keeps the
 * last result: filters that are created one after another mostly have one budget.
 */
static double load_for(const struct epf_elastic_shape *s, double budget)
{
	static __thread __u32 words, epochs;
	static __thread double of, load;

	if (words != s->line_words || epochs != s->epochs || of != budget) {
		load = search_load(s, budget);
		words = s->line_words;
		epochs = s->epochs;
		of = budget;
	}
	return load;
}

int epf_elastic_size(const struct epf_elastic_req *req, struct epf_elastic_size *size)
{
	struct epf_elastic_shape s = { 1, req->line_words, EPF_ELASTIC_EPOCHS_MAX };
	double keys, lines;

	if (!req_fine(req))
		return -EINVAL;
	if (!s.line_words)
		s.line_words = EPF_ELASTIC_WORDS_MAX;
	keys = ceil(req->keys_per_window / s.epochs);
	lines = ceil(keys / load_for(&s, req->budget));
	if (lines > (double)EPF_ELASTIC_LINES_MAX)
		return -E2BIG;
	s.nr_lines = (__u64)lines;
	size->shape = s;
	size->bytes = epf_elastic_words(&s) * sizeof(__u64);
	size->fpr = epf_elastic_fpr(&s, keys, keys);
	return req->max_bytes && size->bytes > req->max_bytes ? -ENOSPC : 0;
}
