// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Time-limited Bloom filter: filters in this process, prediction, sizing.
 */
#include "tlbf.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define K_MAX 64 /* the largest k to try; 30 half-full slices have a rate of 1e-9 */
#define LINE 64

static __u64 *slice_new(__u64 words)
{
	__u64 bytes = (words * 8 + LINE - 1) & ~(LINE - 1ULL);
	void *memory = aligned_alloc(LINE, bytes);

	return memory ? memset(memory, 0, bytes) : NULL;
}

/* Allocate and add the planned slice. Return: false if there is no memory. */
static bool tlbf_supply(struct epf_tlbf_owner *o, __u64 now_ns)
{
	__u64 words = epf_tlbf_plan(&o->f, now_ns);
	__u64 *word = NULL;

	if (words &&
	    (!o->max_words || (o->words <= o->max_words && words <= o->max_words - o->words)))
		word = slice_new(words);
	if (!word)
		return false;
	epf_tlbf_add(&o->f, now_ns, word, words);
	o->words += words;
	if (o->words > o->words_peak)
		o->words_peak = o->words;
	return true;
}

int epf_tlbf_open(struct epf_tlbf_owner *o, const struct epf_tlbf_shape *s, __u64 max_words,
		  __u64 now_ns)
{
	int ret = epf_tlbf_init(&o->f, s, now_ns);

	o->words = o->words_peak = o->refused = 0;
	o->max_words = max_words;
	while (!ret && o->f.nr < s->keep)
		if (!tlbf_supply(o, now_ns))
			ret = -ENOMEM;
	if (ret == -ENOMEM)
		epf_tlbf_close(o);
	return ret;
}

void epf_tlbf_close(struct epf_tlbf_owner *o)
{
	if (o->f.spare.words)
		free(o->f.spare.word);
	while (o->f.nr)
		free(epf_tlbf_at(&o->f, --o->f.nr)->word);
}

void epf_tlbf_care(struct epf_tlbf_owner *o, __u64 now_ns)
{
	__u64 *word, words;

	while ((word = epf_tlbf_expired(&o->f, now_ns, &words))) {
		free(word);
		o->words -= words;
	}
	if (epf_tlbf_due(&o->f, now_ns) && !tlbf_supply(o, now_ns))
		o->refused++;
}

void epf_tlbf_put(struct epf_tlbf_owner *o, __u64 digest, __u64 now_ns)
{
	epf_tlbf_care(o, now_ns);
	epf_tlbf_insert(&o->f, digest, now_ns);
	epf_tlbf_care(o, now_ns);
}

static double tlbf_share(const struct epf_tlbf *f, __u32 i, enum epf_tlbf_fill fill)
{
	const struct epf_tlbf_slice *s = epf_tlbf_at(f, i);
	double bits = 64.0 * (double)s->words;
	__u64 set = 0, w;

	if (fill == EPF_TLBF_KEYS)
		return -expm1((double)epf_tlbf_keys(f, i) * log1p(-1 / bits));
	for (w = 0; w < s->words; w++)
		set += epf_popcount(s->word[w]);
	return (double)set / bits;
}

double epf_tlbf_fpr(const struct epf_tlbf *f, enum epf_tlbf_fill fill, __u64 now_ns)
{
	__u32 live = epf_tlbf_live(f, now_ns), i;
	double r[EPF_TLBF_SLICES];

	for (i = 0; i < live; i++)
		r[i] = tlbf_share(f, i, fill);
	return epf_aged_run(r, live, f->shape.k);
}

void epf_tlbf_steady(unsigned int k, unsigned int l, struct epf_rates *rates)
{
	unsigned int i;

	rates->k = k;
	rates->l = l + 1;
	rates->phase = 1;
	for (i = 0; i < k + l + 1; i++)
		rates->r[i] = i < k ? -expm1(-log(2) * (i + 1) / k) : .5;
}

static double steady_fpr(unsigned int k, unsigned int l)
{
	struct epf_rates rates;

	epf_tlbf_steady(k, l, &rates);
	return epf_aged_fpr(&rates);
}

/* Words of one slice, with capacity for at least one key per generation. */
static double slice_words(const struct epf_tlbf_req *req, unsigned int k, unsigned int l)
{
	double keys = ceil(req->rate * (double)req->span_ns / 1e9 / l);

	return ceil(k * fmax(keys, 1) / log(2) / 64);
}

static bool tlbf_sound(const struct epf_tlbf_req *req)
{
	return req->span_ns && req->span_ns <= EPF_TLBF_NS_MAX && req->rate > 0 &&
	       isfinite(req->rate) && req->budget >= 1e-9 && req->budget <= .5 && req->slack >= 0 &&
	       req->max_slices <= EPF_AGED_SLICES_MAX;
}

static void tlbf_take(const struct epf_tlbf_req *req, unsigned int k, unsigned int l,
		      struct epf_tlbf_size *size)
{
	struct epf_tlbf_shape *s = &size->shape;

	s->span_ns = req->span_ns;
	s->words_first = (__u64)slice_words(req, k, l);
	s->words_min = (k + 43) / 44; /* a word has a capacity of 44 keys */
	s->words_max = EPF_TLBF_WORDS_MAX;
	s->k = s->keep = k;
	s->l = l;
	s->timed = 1;
	size->words = s->words_first * (k + l + 1);
	size->fpr = steady_fpr(k, l);
	size->late_ns = req->span_ns / l;
}

int epf_tlbf_size(const struct epf_tlbf_req *req, struct epf_tlbf_size *size)
{
	unsigned int slices = req->max_slices, k, l;
	double best = INFINITY;

	if (!tlbf_sound(req))
		return -EINVAL;
	if (!slices || slices == EPF_AGED_SLICES_MAX)
		slices = EPF_AGED_SLICES_MAX - 1;
	for (k = 1; k <= K_MAX; k++) {
		for (l = 1; k + l <= slices; l++) {
			double one = slice_words(req, k, l);

			if (one > (double)EPF_TLBF_WORDS_MAX || one * (k + l + 1) >= best ||
			    req->span_ns < l ||
			    (req->slack > 0 && epf_aged_slack(k, l) > req->slack) ||
			    steady_fpr(k, l) > req->budget)
				continue;
			best = one * (k + l + 1);
			tlbf_take(req, k, l, size);
		}
	}
	return best < INFINITY ? 0 : -ENOSPC;
}
