/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * elastic: its estimator, its room, its state in snapshots, its row (kind.h).
 *
 * The estimator: an absent key falls on one of the b buckets of a line, so it meets an item of
 * width w with probability 1 / (b 2^w). An item that another one of its epoch equals, as some do
 * after they were shortened, does not count. So the probabilities of an epoch add up, and those
 * of epochs are independent. An epoch that is accepted whole lets every key pass. The error is
 * the mean over lines.
 *
 * The room: the weight of all items (epf_elastic_weight()), divided by that of the whole filter,
 * is the mean number of items that an absent key meets. The error is less, by about half its
 * square.
 */
#ifndef EPF_KIND_ELASTIC_H
#define EPF_KIND_ELASTIC_H

#include "elastic.h"
#include "estimator.h"
#include "image.h"
#include "kind_fixed.h"
#include "room.h"

#include <linux/epochfilter.h>

/* --------------------------------------------- false-positive rate ---- */

EPF_FN __u32 epf_elastic_item(const struct epf_elastic_work *w, __u32 i)
{
	return w->item[w->l.first + (i >> 4)] >> 4 * (i & 15) & 15;
}

/* Is item @i, whose remainder ends at bit @top, equal to one from @from on, of its bucket? */
EPF_FN bool epf_elastic_is_twin(const struct epf_elastic_work *w, __u32 i, __u32 top,
				struct epf_elastic_place from)
{
	__u32 item = epf_elastic_item(w, i), width = epf_elastic_width(&w->l, item);
	__u32 mask = w->l.words - 1, rest = epf_elastic_get(w->item, mask, top, width);
	__u32 other;

	for (; from.item < i; from.item++) {
		other = epf_elastic_item(w, from.item);
		from.top -= epf_elastic_width(&w->l, other);
		if (!((other ^ item) & 14) &&
		    epf_elastic_get(w->item, mask, from.top, width) == rest)
			return true;
	}
	return false;
}

/* Number of items of tag t, in byte t, that an earlier one of their epoch equals. @w: a copy
 * of the line in @w->item.
 */
EPF_FN_BIG __u64 epf_elastic_twins(const struct epf_elastic_work *w)
{
	__u32 i = w->l.base, end = i + w->l.count, top = 64 * w->l.words, item;
	struct epf_elastic_place bucket = { i, top };
	__u64 twins = 0;

	for (; i < end; i++) {
		item = epf_elastic_item(w, i);
		top -= epf_elastic_width(&w->l, item);
		twins += (__u64)epf_elastic_is_twin(w, i, top, bucket) << (item & 14) * 4;
		if (item & 1) {
			bucket.item = i + 1;
			bucket.top = top;
		}
	}
	return twins;
}

/* What line @nr holds, of any contents; @w has its unpacked head and a copy of it. Return: false:
 * it has more items than a line, or could not be read, as epf_elastic_read().
 */
EPF_FN_BIG bool epf_elastic_holds(const struct epf_elastic *f, __u64 nr, struct epf_elastic_work *w,
				  struct epf_elastic_load *h)
{
	if (!epf_elastic_read(f, nr, w->item))
		return false;
	epf_elastic_unpack(&w->l, f->shape.line_words, w->item[f->shape.line_words >> 3]);
	if (w->l.base + w->l.count > 16 * (w->l.words - w->l.first))
		return false;
	h->n = epf_elastic_tally(w);
	h->wide = w->l.wide;
	h->whole = w->l.whole;
	return true;
}

/* The probability that a key meets an item of tag @t, q56. */
EPF_FN __u64 epf_elastic_meets(const struct epf_elastic_load *h, __u32 words, __u32 t)
{
	__u32 all = EPF_ELASTIC_WIDTH_MAX + 5 + (words >> 3); /* log2 of a line's weight */
	__u64 p = epf_elastic_weight(h, words, t) << (56 - all);

	return p < EPF_Q56_ONE ? p : EPF_Q56_ONE;
}

/**
 * epf_elastic_sample() - take one more sample
 * @g: samples so far
 * @f: filter
 * @random: chooses the place
 *
 * Reads a line. Inserters may be at work: a line that they do not leave alone is no sample.
 */
EPF_FN void epf_elastic_sample(struct epf_estimator *g, const struct epf_elastic *f, __u64 random)
{
	__u32 counted = epf_elastic_counted(f, f->phase), lag, age, t;
	__u64 miss = EPF_Q56_ONE, p;
	struct epf_elastic_work w;
	struct epf_elastic_load h, met;

	if (!epf_elastic_holds(f, epf_mulhi(random, f->shape.nr_lines), &w, &h))
		return;
	met = h;
	met.n -= epf_elastic_twins(&w);
	lag = epf_elastic_lag(f->phase, w.l.stamp);
	for (t = 0; t < EPF_ELASTIC_TAGS; t++) {
		age = epf_elastic_age(&w.l, lag, t);
		if (age >= counted)
			continue;
		p = epf_elastic_meets(&met, w.l.words, t);
		miss = epf_mul_q56(miss, EPF_Q56_ONE - p);
		g->chance[age] += p >> EPF_ESTIMATOR_SHIFT;
		g->set[age] += epf_elastic_byte(h.n, t) * (4 + epf_elastic_byte(h.wide, t));
	}
	g->any += (EPF_Q56_ONE - miss) >> EPF_ESTIMATOR_SHIFT;
	g->samples++;
}

/* The same as epf_ge_rate_q56(). */
EPF_FN __u64 epf_elastic_rate_q56(const struct epf_estimator *g, const struct epf_elastic *f)
{
	(void)f;
	return epf_estimator_mean(g->any, g->samples);
}

/**
 * epf_elastic_layer_q56() - the part of one epoch in it
 * @g: samples
 * @f: filter
 * @age: of the epoch
 * @fill_q56: set to the share of the memory that its items take
 *
 * Return: the probability that such a key meets one of its items, whatever the others
 * hold; 0 for an epoch that does not count.
 */
EPF_FN __u64 epf_elastic_layer_q56(const struct epf_estimator *g, const struct epf_elastic *f,
				   __u32 age, __u64 *fill_q56)
{
	*fill_q56 = 0;
	if (age >= epf_elastic_counted(f, f->phase))
		return 0;
	*fill_q56 = epf_ratio_q56(g->set[age], g->samples * 64 * f->shape.line_words);
	return epf_estimator_mean(g->chance[age], g->samples);
}

/* ------------------------------------------------------------ room ---- */

EPF_FN_BIG void epf_elastic_set_room(struct epf_elastic *f)
{
	epf_elastic_see(f->room);
}

EPF_FN_BIG void epf_elastic_set_shares(struct epf_elastic *f, const struct epf_estimator *g)
{
	struct epf_room *r = f->room;
	__u32 age, t;

	memset(r->share, 0, sizeof(r->share));
	memset(&r->tags, 0, sizeof(r->tags));
	for (age = 0; age < epf_elastic_counted(f, f->phase); age++) {
		t = (__u32)((f->phase >> 1) - age) & 7;
		r->share[t] = epf_room_part(epf_estimator_mean(g->chance[age], g->samples),
					    epf_elastic_all(&f->shape));
		r->tags.sum[t] = r->share[t] >> r->shift << r->shift;
	}
}

/* What share[] may hold back is at most a 128th of the room. */
EPF_FN_BIG void epf_elastic_count(struct epf_elastic *f, struct epf_room *r)
{
	__u64 most = epf_room_part(r->limit_q56, epf_elastic_all(&f->shape));

	while ((__u64)EPF_ROOM_PLACES << (r->shift + 1) <= most >> 7)
		r->shift++;
	r->most = most - EPF_ROOM_PLACES * ((1ULL << r->shift) - 1);
	r->stale = 1;
	f->room = r;
}

/* ------------------------------------------------------- snapshots ---- */

EPF_FN struct epf_elastic_shape epf_elastic_shape_of(const struct epf_shape *s)
{
	struct epf_elastic_shape to;

	to.nr_lines = s->elastic.lines;
	to.line_words = s->elastic.line_words;
	to.epochs = s->elastic.epochs;
	return to;
}

/* Stamps say no more of an epoch. Which part of the lines the next sweep visits follows
 * from it, too.
 */
EPF_FN void epf_elastic_save(const struct epf_elastic *f, struct epf_snap_locked *s)
{
	s->words = epf_elastic_words(&f->shape);
	s->now = (f->phase >> 1) & (EPF_ELASTIC_STAMPS - 1);
}

/* The owner must check every line. */
EPF_FN int epf_elastic_load(struct epf_elastic *f, const struct epf_snap_locked *s)
{
	if (!epf_image_plain(s, epf_elastic_words(&f->shape), EPF_ELASTIC_STAMPS - 1))
		return -EINVAL;
	f->phase = 2 * s->now;
	return 0;
}

/* Has the line as many ends of buckets as buckets, and is the last item one? */
EPF_FN_BIG bool epf_elastic_ends(const struct epf_elastic_work *w)
{
	__u32 i = w->l.base, end = i + w->l.count, ends = 0, last = 1, k;

	for (; i < end; i++) {
		last = epf_elastic_item(w, i) & 1;
		ends += last;
	}
	for (k = 0; k < w->l.first; k++)
		ends -= epf_popcount(w->item[k]);
	return last && !ends;
}

/* Are the widths those of the core: at most 15, and the least of an epoch without items? */
EPF_FN bool epf_elastic_widths_sound(const struct epf_elastic_load *h, __u64 head)
{
	__u64 more = head >> EPF_ELASTIC_MORE;
	__u32 t, n;

	for (t = 0; t < EPF_ELASTIC_TAGS; t++) {
		n = epf_elastic_byte(h->n, t);
		if (epf_elastic_byte(h->wide, t) > EPF_ELASTIC_WIDTH_MAX ||
		    (!n && more >> 3 * t & 7) || (n && h->whole >> t & 1))
			return false;
	}
	return true;
}

/**
 * epf_elastic_sound() - may line @nr be changed?
 * @f: filter, loaded
 * @nr: number of a line, of untrusted contents
 *
 * Insertions rely on it: items and remainders fit, as many buckets end as have items, and
 * the stamp is that of an epoch after the last but one sweep.
 */
EPF_FN_BIG bool epf_elastic_sound(const struct epf_elastic *f, __u64 nr)
{
	__u32 words = f->shape.line_words, k;
	const __u64 *line = f->word + nr * words;
	__u64 head = line[words >> 3], any = 0;
	struct epf_elastic_work w;
	struct epf_elastic_load h;

	for (k = 0; k < words; k++)
		any |= line[k];
	if (!head || head >> EPF_ELASTIC_LOCK & 1)
		return !any;
	return epf_elastic_holds(f, nr, &w, &h) && (w.l.count || h.whole) &&
	       !!h.whole == (head >> EPF_ELASTIC_WHOLE & 1) &&
	       epf_elastic_lag(f->phase, w.l.stamp) < EPF_ELASTIC_CHUNKS + EPF_ELASTIC_TAGS &&
	       epf_elastic_widths_sound(&h, head) &&
	       epf_elastic_need(h.n, h.wide) <= epf_elastic_room(&w.l, h.whole) &&
	       epf_elastic_ends(&w);
}

/* ------------------------------------------------------------- row ---- */

#if EPF_TABLES

EPF_FN_BIG bool epf_elastic_row_sound(const struct epf_locked *f, __u32 i, __u64 at, __u64 n)
{
	__u64 words = f->elastic.shape.line_words, nr;

	(void)i;
	for (nr = at / words; nr < (at + n) / words; nr++)
		if (!epf_elastic_sound(&f->elastic, nr))
			return false;
	return true;
}

EPF_FN_BIG void epf_elastic_row_copy(const struct epf_locked *f, __u32 i, __u64 at, __u64 *to,
				     __u64 n)
{
	__u64 words = f->elastic.shape.line_words, line[EPF_ELASTIC_WORDS_MAX];

	(void)i;
	for (; n; n -= words, to += words, at += words) {
		words = n < words ? n : words;
		epf_elastic_copy(&f->elastic, at / f->elastic.shape.line_words, line);
		memcpy(to, line, words * sizeof(*to));
	}
}

EPF_FN_BIG int epf_elastic_row_test_and_insert(struct epf_locked *f, __u64 digest, bool keep)
{
	return epf_elastic_test_and_insert(&f->elastic, digest, keep);
}

/* The member tidy of the row, and those after it. */
#define EPF_ELASTIC_ROW_END \
	NULL, .copy = epf_elastic_row_copy, .test_and_insert = epf_elastic_row_test_and_insert

EPF_FIXED_KIND(elastic, epochs, s.epochs, s.epochs + 1, epf_elastic_row_sound, EPF_ELASTIC_ROW_END);

#endif /* EPF_TABLES */

#endif /* EPF_KIND_ELASTIC_H */
