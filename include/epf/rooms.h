/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How much a filter of a locked kind may grow before its error reaches a limit, see room.h.
 * Integers only. One source for the module and for user space, so both fail open at the
 * same key.
 *
 *   ge       p^k for the share p of set bits, and what double hashing adds, together with
 *            the other epochs: gauge_epochs.h.
 *   gebl     The mean over blocks of what is found there, together with the others.
 *   apbf, apbbf, tlbf
 *            A run of k hits begins at slice a if slice a - 1 does not hit and slices
 *            a .. a + k - 1 do. The sum of that probability over a is the expected number
 *            of runs, and so at least the probability of one. New keys set bits in the
 *            slices 0 .. k-1: if a share u of the unset bits in one of the smallest is set,
 *            the share is also u in the others of its size, and less in proportion in
 *            larger ones. For a slice with blocks, the probability used is that of blocks
 *            which are equally full.
 *   dict     A cell matches with probability at most 1 / M; a pass mark lets a bucket of
 *            keys pass. So M cells, or as many as marks stand for, err always.
 *   chain    As for lanes (capacity.h), for each table.
 *
 * When room->stale is set, epf_KIND_set_room() must run before the next key is inserted: it
 * takes some microseconds.
 */
#ifndef EPF_ROOMS_H
#define EPF_ROOMS_H

#include "gauge_aged.h"
#include "gauge_chain.h"
#include "gauge_dict.h"
#include "gauge_epochs.h"

#define EPF_ROOM_STEPS 24 /* bits to which a share is searched */

/* ---------------------------------------------------------------- ge ---- */

/* Number of set bits of a segment whose error is @rest. */
EPF_FN_BIG __u64 epf_ge_bits_at(const struct epf_ge *f, __u64 rest)
{
	__u64 fill = 0, bit;

	for (bit = EPF_Q56_ONE; bit; bit >>= 1)
		if ((fill | bit) <= EPF_Q56_ONE &&
		    epf_pow_q56(fill | bit, f->shape.bits) <= rest)
			fill |= bit;
	return epf_room_part(fill, f->shape.segment_bits);
}

/* What double hashing adds if the current segment has @set set bits. */
EPF_FN_BIG __u64 epf_ge_room_more(const struct epf_ge *f, __u64 set)
{
	__u64 s = f->shape.segment_bits;
	struct epf_ge_union u;
	__u64 all = 0, fill;
	__u32 age;

	u.from = 0;
	u.to = epf_ge_counted(f);
	for (age = 0; age < u.to; age++) {
		fill = epf_frac_q56(age ? f->room->share[epf_ge_segment(f, age)] :
					  set, s);
		all = epf_either_q56(all, epf_pow_q56(fill, f->shape.bits));
		u.power[age] = fill;
		u.root[age] = epf_sqrt_q56(fill);
	}
	return epf_ge_gauge_more(&u, &f->shape, all);
}

/**
 * epf_ge_set_room() - how far the current epoch may be filled
 * @f: filter that counts
 */
EPF_FN_BIG void epf_ge_set_room(struct epf_ge *f)
{
	struct epf_room *r = f->room;
	__u64 any = 0, more, fill;
	__u32 age;

	for (age = 1; age < epf_ge_counted(f); age++) {
		fill = epf_frac_q56(r->share[epf_ge_segment(f, age)],
				    f->shape.segment_bits);
		any = epf_either_q56(any, epf_pow_q56(fill, f->shape.bits));
	}
	more = epf_ge_room_more(f, epf_ge_bits_at(f, epf_room_rest(r, any)));
	any = any + more < EPF_Q56_ONE ? any + more : EPF_Q56_ONE;
	epf_room_set(r, f->now, epf_ge_bits_at(f, epf_room_rest(r, any)));
}

/**
 * epf_ge_set_shares() - set from samples what the segments hold
 * @f: filter that counts, loaded
 * @g: its estimator
 *
 * The functions of the other kinds do the same.
 */
EPF_FN_BIG void epf_ge_set_shares(struct epf_ge *f, const struct epf_gauge *g)
{
	__u32 age;

	for (age = 0; age < epf_ge_counted(f); age++)
		f->room->share[epf_ge_segment(f, age)] = epf_room_part(
			epf_gauge_fill(g, age), f->shape.segment_bits);
	f->room->stale = 1;
}

/**
 * epf_ge_count() - count from now on
 * @f: empty filter
 * @r: zeroed except for its limit
 *
 * The functions of the other kinds do the same.
 */
EPF_FN void epf_ge_count(struct epf_ge *f, struct epf_room *r)
{
	f->room = r;
	epf_ge_set_room(f);
}

/* -------------------------------------------------------------- gebl ---- */

EPF_FN_BIG void epf_gebl_set_room(struct epf_gebl *f)
{
	struct epf_room *r = f->room;
	__u64 all = epf_room_blocks(r, f->shape.blocks), any = 0;
	__u32 age;

	for (age = 1; age < epf_gebl_counted(f); age++)
		any = epf_either_q56(
			any,
			epf_frac_q56(r->share[epf_gebl_segment(f, age)], all));
	epf_room_set(r, f->now, epf_room_part(epf_room_rest(r, any), all));
}

EPF_FN_BIG void epf_gebl_set_shares(struct epf_gebl *f,
				    const struct epf_gauge *g)
{
	__u64 all = epf_room_blocks(f->room, f->shape.blocks);
	__u32 age;

	for (age = 0; age < epf_gebl_counted(f); age++)
		f->room->share[epf_gebl_segment(f, age)] = epf_room_part(
			epf_gauge_mean(g->chance[age], g->samples), all);
	f->room->stale = 1;
}

EPF_FN_BIG void epf_gebl_count(struct epf_gebl *f, struct epf_room *r)
{
	__u32 i;

	r->shift = epf_room_shift(f->shape.blocks);
	for (i = 0; i < f->shape.bits; i++)
		r->inverse[i] = (1ULL << 63) / (f->shape.block_bits - i);
	f->room = r;
	epf_gebl_set_room(f);
}

/* -------------------------------------------------- slices that age ---- */

/**
 * struct epf_front - slices of which the first k take keys
 * @row: their probabilities
 * @k: number of slices that take keys
 * @nr: slices
 * @bits: of a key in a slice
 */
struct epf_front {
	struct epf_room_row *row;
	__u32 k;
	__u32 nr;
	__u32 bits;
};

/* The probability of a hit in slice @i < k, if a share @u of the unset bits were set. */
EPF_FN __u64 epf_front_hit(const struct epf_front *s, __u32 i, __u64 u)
{
	__u64 p = s->row->hit[i];

	p += epf_mul_q56(EPF_Q56_ONE - p, epf_mul_q56(u, s->row->ratio[i]));
	return epf_pow_q56(p, s->bits);
}

/* Prepare everything that does not depend on u. */
EPF_FN_BIG void epf_front_begin(struct epf_front *s)
{
	struct epf_room_row *row = s->row;
	__u64 q = EPF_Q56_ONE, before;
	__u32 a, i;

	for (a = 0; a < s->k && a + s->k <= s->nr; a++) {
		row->tail[a] = q;
		if (a + s->k < s->nr)
			q = epf_mul_q56(q, row->hit[a + s->k]);
	}
	row->fixed = 0;
	for (a = s->k; a + s->k <= s->nr; a++) {
		before = a == s->k ? epf_front_hit(s, a - 1, 0) :
				     row->hit[a - 1];
		for (q = EPF_Q56_ONE - before, i = a; i < a + s->k; i++)
			q = epf_mul_q56(q, row->hit[i]);
		row->fixed += q;
	}
}

/* The expected number of runs, at most one. */
EPF_FN_BIG __u64 epf_front_error(const struct epf_front *s, __u64 u)
{
	__u64 run = EPF_Q56_ONE, sum = s->row->fixed, q, hit, before;
	__u32 a = s->k;

	for (hit = epf_front_hit(s, a - 1, u); a--; hit = before) {
		before = a ? epf_front_hit(s, a - 1, u) : 0;
		run = epf_mul_q56(run, hit);
		if (a + s->k > s->nr)
			continue;
		q = epf_mul_q56(run, s->row->tail[a]);
		sum += epf_mul_q56(q, EPF_Q56_ONE - before);
	}
	return sum < EPF_Q56_ONE ? sum : EPF_Q56_ONE;
}

/* The sum of what the probabilities of slices 0 .. k-1 may grow by, q56. */
EPF_FN_BIG __u64 epf_front_room(const struct epf_front *s, __u64 limit)
{
	__u64 u = 0, bit, sum = 0;
	__u32 i;

	if (epf_front_error(s, 0) > limit)
		return 0;
	for (i = 1; i <= EPF_ROOM_STEPS; i++) {
		bit = EPF_Q56_ONE >> i;
		if (epf_front_error(s, u | bit) <= limit)
			u |= bit;
	}
	for (i = 0; i < s->k; i++)
		sum += epf_front_hit(s, i, u) - epf_front_hit(s, i, 0);
	return sum;
}

EPF_FN_BIG void epf_apbf_set_room(struct epf_apbf *f)
{
	struct epf_room *r = f->room;
	struct epf_front s = { &r->row, f->ring.k, epf_aged_counted(&f->ring),
			       1 };
	__u32 i;

	for (i = 0; i < s.nr; i++)
		r->row.hit[i] = epf_frac_q56(
			r->share[epf_aged_place(&f->ring, i)],
			f->shape.slice_bits);
	for (i = 0; i < s.k; i++)
		r->row.ratio[i] = EPF_Q56_ONE;
	epf_front_begin(&s);
	r->most = epf_room_part(epf_front_room(&s, r->limit_q56),
				f->shape.slice_bits);
	r->grown = 0;
	r->stale = 0;
}

EPF_FN_BIG void epf_apbf_set_shares(struct epf_apbf *f,
				    const struct epf_gauge *g)
{
	__u32 i;

	for (i = 0; i < epf_aged_counted(&f->ring); i++)
		f->room->share[epf_aged_place(&f->ring, i)] = epf_room_part(
			epf_gauge_fill(g, i), f->shape.slice_bits);
	f->room->stale = 1;
}

EPF_FN void epf_apbf_count(struct epf_apbf *f, struct epf_room *r)
{
	f->room = r;
	epf_apbf_set_room(f);
}

/* The @n-th root, @n a power of two. */
EPF_FN_BIG __u64 epf_room_root(__u64 q, __u32 n)
{
	for (; n > 1; n /= 2)
		q = epf_sqrt_q56(q);
	return q;
}

EPF_FN_BIG void epf_apbbf_set_room(struct epf_apbbf *f)
{
	struct epf_room *r = f->room;
	struct epf_front s = { &r->row, f->ring.k, epf_aged_counted(&f->ring),
			       f->shape.bits };
	__u64 all = epf_room_blocks(r, f->shape.nr_blocks), hit;
	__u32 i;

	for (i = 0; i < s.nr; i++) {
		hit = epf_frac_q56(r->share[epf_aged_place(&f->ring, i)], all);
		r->row.hit[i] = i < s.k ? epf_room_root(hit, s.bits) : hit;
	}
	for (i = 0; i < s.k; i++)
		r->row.ratio[i] = EPF_Q56_ONE;
	epf_front_begin(&s);
	r->most = epf_room_part(epf_front_room(&s, r->limit_q56), all);
	r->grown = 0;
	r->stale = 0;
}

EPF_FN_BIG void epf_apbbf_set_shares(struct epf_apbbf *f,
				     const struct epf_gauge *g)
{
	struct epf_row row = epf_aged_row(&f->ring, f->shape.block_bits);
	__u64 all = epf_room_blocks(f->room, f->shape.nr_blocks);
	__u32 i;

	for (i = 0; i < row.nr; i++)
		f->room->share[epf_aged_place(&f->ring, i)] =
			epf_room_part(epf_row_hit(g, row, i), all);
	f->room->stale = 1;
}

EPF_FN void epf_apbbf_count(struct epf_apbbf *f, struct epf_room *r)
{
	r->shift = epf_room_shift(f->shape.nr_blocks);
	f->room = r;
	epf_apbbf_set_room(f);
}

/* The slices that count, at least those that take keys: after a pause the next key makes
 * them count again.
 */
EPF_FN __u32 epf_tlbf_front(const struct epf_tlbf *f)
{
	__u32 live = epf_tlbf_live(f, f->now_ns);

	return live > f->shape.k ? live : f->shape.k;
}

EPF_FN_BIG void epf_tlbf_set_room(struct epf_tlbf *f)
{
	struct epf_room *r = f->room;
	struct epf_front s = { &r->row, f->shape.k, epf_tlbf_front(f), 1 };
	__u64 least = ~0ULL, words;
	__u32 i;

	for (i = 0; i < s.nr; i++) {
		words = epf_tlbf_at(f, i)->words;
		least = i < s.k && words < least ? words : least;
		r->row.hit[i] = epf_frac_q56(
			r->share[(f->head + i) % EPF_TLBF_SLICES], 64 * words);
	}
	for (i = 0; i < s.k; i++)
		r->row.ratio[i] = epf_frac_q56(least, epf_tlbf_at(f, i)->words);
	epf_front_begin(&s);
	r->most = epf_front_room(&s, r->limit_q56);
	r->grown = 0;
	r->stale = 0;
}

EPF_FN_BIG void epf_tlbf_set_shares(struct epf_tlbf *f,
				    const struct epf_gauge *g)
{
	__u32 i, place;

	for (i = 0; i < epf_tlbf_live(f, f->now_ns); i++) {
		place = (f->head + i) % EPF_TLBF_SLICES;
		f->room->share[place] = epf_room_part(
			epf_gauge_fill(g, place), 64 * epf_tlbf_at(f, i)->words);
	}
	f->room->stale = 1;
}

/* The filter has no slice yet. */
EPF_FN void epf_tlbf_count(struct epf_tlbf *f, struct epf_room *r)
{
	f->room = r;
	r->stale = 1;
}

/* -------------------------------------------------------------- dict ---- */

EPF_FN_BIG void epf_dict_set_room(struct epf_dict *f)
{
	__u32 mask = (1u << f->shape.tag_bits) - 1, age;
	__u64 m = f->shape.buckets * epf_dict_passes(f), all = 0, most;

	for (age = 0; age < epf_dict_counted(f); age++)
		all += f->room->share[(f->now - age) & mask];
	most = epf_room_part(f->room->limit_q56, m);
	f->room->most = most > all ? most - all : 0;
	f->room->grown = 0;
	f->room->stale = 0;
}

/* Scale @n of the samples taken to all @buckets. */
EPF_FN __u64 epf_dict_scaled(const struct epf_gauge *g, __u64 n, __u64 buckets)
{
	return g->samples ? n * buckets / g->samples : 0;
}

EPF_FN_BIG void epf_dict_set_shares(struct epf_dict *f,
				    const struct epf_gauge *g)
{
	__u32 mask = (1u << f->shape.tag_bits) - 1, age;

	for (age = 0; age < epf_dict_counted(f); age++)
		f->room->share[(f->now - age) & mask] =
			epf_dict_scaled(g, g->set[age], f->shape.buckets) +
			epf_dict_scaled(g, g->seen[age], f->shape.yard) +
			epf_dict_scaled(g, g->chance[age] / EPF_GAUGE_ONE,
					f->shape.buckets) *
				epf_dict_passes(f);
	f->room->stale = 1;
}

EPF_FN void epf_dict_count(struct epf_dict *f, struct epf_room *r)
{
	f->room = r;
	epf_dict_set_room(f);
}

/* ------------------------------------------------------------- chain ---- */

/* How many times larger the largest table is than table @i, as a power of two. */
EPF_FN __u32 epf_chain_scale(const struct epf_chain *f, __u32 i)
{
	__u32 shift = 0;

	while (f->table[i].lines << shift < f->shape.lines_max)
		shift++;
	return shift;
}

/* The error of a lane of table @i that has taken @keys keys. */
EPF_FN_BIG __u64 epf_chain_lane_q56(const struct epf_chain *f, __u32 i,
				    __u64 keys)
{
	__u32 shift = epf_chain_scale(f, i);

	return keys > ~0ULL >> shift ?
		       EPF_Q56_ONE :
		       epf_capacity_q56(&f->room->capacity, keys << shift);
}

EPF_FN_BIG void epf_chain_set_room(struct epf_chain *f)
{
	struct epf_room *r = f->room;
	__u64 any = 0, e;
	__u32 i;

	if (!f->nr)
		return;
	for (i = 0; i < f->nr; i++)
		for (e = f->epoch - EPF_LIVE_EPOCHS;
		     e <= f->table[i].last && (i || e < f->epoch); e++)
			any = epf_either_q56(
				any, epf_chain_lane_q56(f, i,
					r->share[EPF_LANES * i + (e & 7)]));
	epf_room_set(r, f->epoch & 7,
		     epf_capacity_keys(&r->capacity, epf_room_rest(r, any)) >>
			     epf_chain_scale(f, 0));
}

EPF_FN_BIG void epf_chain_set_shares(struct epf_chain *f,
				     const struct epf_chain_gauge *g)
{
	__u32 i, l;

	for (i = 0; i < f->nr; i++)
		for (l = 0; l < EPF_LANES; l++)
			f->room->share[EPF_LANES * i + l] =
				epf_capacity_keys(
					&f->room->capacity,
					epf_fill_lane_q56(&g->fill[i],
							  f->shape.parts, l)) >>
				epf_chain_scale(f, i);
	f->room->stale = 1;
}

/* The filter has no table yet. @w: working memory. Return: 0 or -EINVAL. */
EPF_FN_BIG int epf_chain_count(struct epf_chain *f, struct epf_room *r,
			       struct epf_capacity_work *w)
{
	struct epf_geom g;

	if (epf_geom_init(&g, f->shape.lines_max, f->shape.parts,
			  f->shape.bits))
		return -EINVAL;
	epf_capacity_init(&r->capacity, &g, r->limit_q56, w);
	f->room = r;
	r->stale = 1;
	return 0;
}

#endif /* EPF_ROOMS_H */
