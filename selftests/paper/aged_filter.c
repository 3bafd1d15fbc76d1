// SPDX-License-Identifier: GPL-2.0
/*
 * Section aged: filters in use, and means over them.
 */
#include "aged.h"

/* Quantile 0.9995 of Student's t for 8 and for 24 filters. */
#define T_999_QUICK 5.408
#define T_999 3.768
#define Z_999 3.291 /* of the normal distribution, two-sided 99.9 % */

void mean_add(struct mean *m, double v)
{
	m->sum += v;
	m->squares += v * v;
	m->n++;
}

double mean_of(const struct mean *m)
{
	return m->sum / m->n;
}

static double margin(const struct mean *m)
{
	double var = (m->squares - m->sum * m->sum / m->n) / (m->n - 1);

	return (paper.quick ? T_999_QUICK : T_999) * sqrt(var > 0 ? var / m->n : 0);
}

double mean_low(const struct mean *m)
{
	return mean_of(m) - margin(m);
}

double mean_high(const struct mean *m)
{
	return mean_of(m) + margin(m);
}

bool mean_is(const struct mean *m, double predicted)
{
	return m->n == nr_filters && mean_low(m) <= predicted && predicted <= mean_high(m);
}

bool hits_are(double hits, double expected)
{
	return fabs(hits - expected) <= Z_999 * sqrt(expected);
}

__u64 key_of(__u64 seed, __u64 n)
{
	return epf_word(epf_word(seed, 1), n);
}

__u64 probe_of(__u64 seed, __u64 n)
{
	return epf_word(epf_word(seed, 2), n);
}

static __u64 *zeroed(__u64 words)
{
	__u64 *word = aligned_alloc(64, words * sizeof(__u64));

	if (!word)
		abort();
	memset(word, 0, words * sizeof(__u64));
	return word;
}

/* What the two kinds share. */
#define AGED(kind)                                                                       \
	struct epf_##kind kind##_new(const struct epf_##kind##_shape *s)                 \
	{                                                                                \
		struct epf_##kind f = { .word = zeroed(epf_##kind##_words(s)) };         \
                                                                                         \
		if (epf_##kind##_init(&f, s))                                            \
			abort();                                                         \
		return f;                                                                \
	}                                                                                \
	void kind##_free(struct epf_##kind *f)                                           \
	{                                                                                \
		free(f->word);                                                           \
	}                                                                                \
	void kind##_fill(struct epf_##kind *f, __u64 seed, unsigned int generations,     \
			 unsigned int keys)                                              \
	{                                                                                \
		__u64 n;                                                                 \
                                                                                         \
		for (n = 0; n < (__u64)generations * keys; n++) {                        \
			if (n && n % keys == 0)                                          \
				epf_##kind##_rotate(f);                                  \
			epf_##kind##_insert(f, key_of(seed, n));                         \
		}                                                                        \
	}                                                                                \
	bool kind##_counted(const struct epf_##kind *f, __u64 digest, double *accesses)  \
	{                                                                                \
		struct epf_seek q = epf_seek_begin(&f->ring);                            \
                                                                                         \
		while (q.at >= 0) {                                                      \
			++*accesses;                                                     \
			if (epf_seek_step(&q, epf_##kind##_hit(f, digest, (__u32)q.at))) \
				return true;                                             \
		}                                                                        \
		return false;                                                            \
	}
AGED(apbf)
AGED(apbbf)

struct epf_rates apbf_rates(const struct epf_apbf *f)
{
	struct epf_rates r = { .k = f->ring.k, .l = f->ring.l };
	__u32 i;

	for (i = 0; i < r.k + r.l; i++) {
		const __u64 *word = f->word + epf_aged_place(&f->ring, i) * f->slice_words;
		__u64 set = 0, w;

		for (w = 0; w < f->slice_words; w++)
			set += epf_popcount(word[w]);
		r.r[i] = (double)set / (double)f->shape.slice_bits;
	}
	return r;
}

struct epf_apbf_shape apbf_for_window(unsigned int k, unsigned int l, unsigned int window,
				      unsigned int *keys)
{
	struct epf_apbf_shape s = { .k = k, .l = l };

	*keys = (window + l - 1) / l;
	s.slice_bits = (__u64)ceil(*keys * k / log(2));
	return s;
}

/* The probability that one bit of each part of a block is set, if the same bits are chosen
 * in each.
 */
static double block_hit(const struct epf_apbbf *f, const __u64 *block)
{
	__u32 part = 1u << f->part_shift, j, bit;
	double hit = 1;

	for (j = 0; j < f->shape.bits; j++) {
		unsigned int set = 0;

		for (bit = j * part; bit < (j + 1) * part; bit++)
			set += block[bit / 64] >> (bit & 63) & 1;
		hit *= (double)set / part;
	}
	return hit;
}

struct epf_rates apbbf_rates(const struct epf_apbbf *f)
{
	struct epf_rates r = { .k = f->ring.k, .l = f->ring.l };
	__u32 words = f->shape.block_bits / 64, i;

	for (i = 0; i < r.k + r.l; i++) {
		const __u64 *slice = f->word + epf_aged_place(&f->ring, i) * f->slice_words;
		double sum = 0;
		__u64 n;

		for (n = 0; n < f->shape.nr_blocks; n++)
			sum += block_hit(f, slice + n * words);
		r.r[i] = sum / (double)f->shape.nr_blocks;
	}
	return r;
}
