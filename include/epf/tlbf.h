/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Time-limited Bloom filter: slices that age as in apbf.h, but the window is a time T, and
 * slices are added, sized and retired by the rate of the insertions. "Time-limited Bloom
 * Filter", ACM SAC 2023 and its longer version, section 6; numbers in brackets are its
 * equations. Integers only.
 *
 * Slice i = 0 .. nr-1 is the i-th youngest. A key sets one bit in each of the slices 0 ..
 * k-1, in slice i
 *
 *	floor(epf_word(digest, fn) * m / 2^64)
 *
 * fn = 0 .. k-1 belongs to the slice and is that of the next older one plus 1, modulo k: k
 * functions serve any number of slices, because any k in a row differ.
 *
 * Capacity c is the number of keys that leave a slice of m bits half full: floor(m ln 2). A
 * generation ends, and a shift is due, when it has u keys (4, 5):
 *
 *	u = min over i < k of ceil((c_i - n_i) / (k - i)), at least 1
 *
 * and, if the shape is timed, when it has keys and is T/l old. (The paper has no such end;
 * without it there is no bound on how long a key stays.) A slice that leaves place k-1 was
 * last updated at the filter's last insertion; it no longer counts when that was before now
 * - T (3).
 *
 * The next slice gets the capacity that lets a generation last T/l (6, 7):
 *
 *	g' = ceil(g * floor(T/l) / t)	 g keys in t ns since the last shift
 *	c  = count + i g'
 *
 * where i shifts are left when the last slice that allows fewer than g' keys a generation
 * has left place k-1, and count keys fit in before. m = ceil(c / ln 2) (8), then rounded up
 * to whole words, within the bounds of the shape.
 *
 * A timed filter deviates where the paper's rules fail:
 *
 *	gap	a generation older than T/l counts as T/l or, if longer, up to
 *		its last key: silence does not count as a low rate
 *	sample	g and t cover further generations, within the last T/l, until
 *		there are 32 keys and T/64l, and t is at least that: a single
 *		interval does not count as a rate
 *	late	if the generation has more than u keys, c = k g': (7) would expect
 *		the next generations to be short, because full slices call for
 *		that, and a slice that was late once would be late again
 *
 * The owner manages the memory of slices: epf_tlbf_plan() says how much the next one needs,
 * epf_tlbf_add() hands it over, at any time before or after the shift is due,
 * epf_tlbf_expired() gives back slices that no longer count. While a slice is due and not
 * handed over, and when slices that count take all places of the ring, the youngest slices
 * take more keys than they should: the error grows, but no key is lost. If all slices come
 * in time, n_i <= c_i.
 *
 * Window property: every key inserted at now - T or later is always found. The owner
 * supplies the time, and it does not go back: a time earlier than the latest counts as the
 * latest.
 *
 * Staleness property, timed only: if time and slices come in time, a key that was last
 * inserted more than T + T/l ago is absent, except by chance; a slice that is d ns late
 * makes this T + T/l + d.
 *
 * One caller at a time.
 */
#ifndef EPF_TLBF_H
#define EPF_TLBF_H

#include "aged.h"
#include "room.h"

#define EPF_TLBF_SLICES 256u            /* places; a power of two */
#define EPF_TLBF_WORDS_MAX (1ULL << 32) /* of a slice, 32 GiB */
#define EPF_TLBF_NS_MAX (1ULL << 62)    /* T: 146 years */
#define EPF_TLBF_KEYS_MAX (1ULL << 40)  /* target of a generation */

#define EPF_TLBF_SAMPLE_KEYS 32u
#define EPF_TLBF_SAMPLE_PART 64u /* of T/l */

#define EPF_TLBF_LN2 0xb17217f7d1cf79abULL   /* ln 2 * 2^64 */
#define EPF_TLBF_LOG2E 0x71547652b82fe177ULL /* (1 / ln 2 - 1) * 2^64 */

/**
 * struct epf_tlbf_shape - parameters chosen at creation
 * @span_ns: T, l .. EPF_TLBF_NS_MAX
 * @words_first: of a slice before any rate is known, words_min .. words_max
 * @words_min: of a slice, so that it has a capacity of k keys
 * @words_max: of a slice, up to EPF_TLBF_WORDS_MAX
 * @k: slices a key is in, 1 and up
 * @l: generations that a steady rate makes in T, 1 and up; k + l <= EPF_AGED_SLICES_MAX
 * @keep: slices never given back, k .. k + l; k + l is the paper's
 * @timed: 1: also end generations by time, and handle gaps, samples and late slices as
 *	above; 0: the paper's rules
 */
struct epf_tlbf_shape {
	__u64 span_ns;
	__u64 words_first;
	__u64 words_min;
	__u64 words_max;
	__u32 k;
	__u32 l;
	__u32 keep;
	__u32 timed;
};

/**
 * struct epf_tlbf_slice - one slice
 * @word: its memory, zeroed when handed over
 * @words: number of words, m / 64
 * @begin_ns: when this became slice 0 and a generation began; if that generation was idle
 *	for more than T/l, the time of its first key
 * @since: keys the filter had taken then
 * @until: keys the filter had taken when it left place k-1; before that meaningless
 * @last_ns: time of its last key, set at the same moment; 0 if it never had one
 * @fn: number of its hash function
 */
struct epf_tlbf_slice {
	__u64 *word;
	__u64 words;
	__u64 begin_ns;
	__u64 since;
	__u64 until;
	__u64 last_ns;
	__u32 fn;
};

/**
 * struct epf_tlbf - a filter
 * @shape: as given
 * @generation_ns: floor(T/l)
 * @now_ns: latest time the owner supplied
 * @last_ns: time of the last key; 0 before it
 * @taken: keys inserted
 * @quota: u
 * @spare: the reserve: handed over and not yet in use; without words: none
 * @nr: slices
 * @head: place of slice 0; slice i is in place (head + i) mod EPF_TLBF_SLICES
 * @slice: the ring
 * @room: by place; NULL: nothing is counted
 */
struct epf_tlbf {
	struct epf_tlbf_shape shape;
	__u64 generation_ns;
	__u64 now_ns;
	__u64 last_ns;
	__u64 taken;
	__u64 quota;
	struct epf_tlbf_slice spare;
	__u32 nr;
	__u32 head;
	struct epf_tlbf_slice slice[EPF_TLBF_SLICES];
	struct epf_room *room;
};

/* Slices of the largest size that are all the memory a filter may have: those of a steady rate, of
 * which one more than l leave k, and the reserve.
 */
EPF_FN __u64 epf_tlbf_most(__u32 k, __u32 l)
{
	return (__u64)k + l + 2;
}

/* Number of keys that leave so many words half full. */
EPF_FN __u64 epf_tlbf_capacity(__u64 words)
{
	return epf_mulhi(64 * words, EPF_TLBF_LN2);
}

/* Words of ceil(c / ln 2) bits. Exact below 2^40, where c / ln 2 is farther from a whole
 * number than the error of the constant.
 */
EPF_FN __u64 epf_tlbf_words(__u64 c)
{
	__u64 bits = c + epf_mulhi(c, EPF_TLBF_LOG2E) + 1;

	return (bits + 63) / 64;
}

EPF_FN bool epf_tlbf_shape_sound(const struct epf_tlbf_shape *s)
{
	if (!s->k || !s->l || s->k >= EPF_AGED_SLICES_MAX || s->l > EPF_AGED_SLICES_MAX - s->k)
		return false;
	if (s->span_ns < s->l || s->span_ns > EPF_TLBF_NS_MAX)
		return false;
	if (s->words_min > s->words_first || s->words_first > s->words_max ||
	    s->words_max > EPF_TLBF_WORDS_MAX)
		return false;
	return epf_tlbf_capacity(s->words_min) >= s->k && s->keep >= s->k &&
	       s->keep <= s->k + s->l && s->timed <= 1;
}

/**
 * epf_tlbf_init() - check a shape, make a filter without slices
 * @f: filter
 * @s: shape
 * @now_ns: on the owner's clock
 *
 * The owner then hands over slices as planned, until there are @s->keep, and inserts no key
 * before that.
 *
 * Return: 0, or -EINVAL when a number is out of its range.
 */
EPF_FN int epf_tlbf_init(struct epf_tlbf *f, const struct epf_tlbf_shape *s, __u64 now_ns)
{
	if (!epf_tlbf_shape_sound(s))
		return -EINVAL;
	memset(f, 0, sizeof(*f));
	f->shape = *s;
	f->generation_ns = s->span_ns / s->l;
	f->now_ns = now_ns;
	return 0;
}

/* Slice @i, below nr. */
EPF_FN const struct epf_tlbf_slice *epf_tlbf_at(const struct epf_tlbf *f, __u32 i)
{
	return &f->slice[(f->head + i) % EPF_TLBF_SLICES];
}

EPF_FN __u64 epf_tlbf_later(const struct epf_tlbf *f, __u64 now_ns)
{
	return now_ns > f->now_ns ? now_ns : f->now_ns;
}

/* A slice that was last updated before this time no longer counts (3). */
EPF_FN __u64 epf_tlbf_limit(const struct epf_tlbf *f, __u64 now_ns)
{
	__u64 now = epf_tlbf_later(f, now_ns);

	return now > f->shape.span_ns ? now - f->shape.span_ns : 0;
}

/* Number of slices that count, the youngest ones; 0 if none does. */
EPF_FN __u32 epf_tlbf_live(const struct epf_tlbf *f, __u64 now_ns)
{
	__u64 limit = epf_tlbf_limit(f, now_ns);
	__u32 n = f->nr;

	if (f->last_ns < limit)
		return 0;
	while (n > f->shape.k && epf_tlbf_at(f, n - 1)->last_ns < limit)
		n--;
	return n;
}

/* Number of keys in slice @i. */
EPF_FN __u64 epf_tlbf_keys(const struct epf_tlbf *f, __u32 i)
{
	const struct epf_tlbf_slice *s = epf_tlbf_at(f, i);

	return (i < f->shape.k ? f->taken : s->until) - s->since;
}

/* Keys that slice @i < k may still take after @more keys. */
EPF_FN __u64 epf_tlbf_room(const struct epf_tlbf *f, __u32 i, __u64 more)
{
	__u64 c = epf_tlbf_capacity(epf_tlbf_at(f, i)->words);
	__u64 n = epf_tlbf_keys(f, i) + more;

	return c > n ? c - n : 0;
}

/* u (4, 5). */
EPF_FN_BIG __u64 epf_tlbf_quota(const struct epf_tlbf *f)
{
	__u32 k = f->shape.k, i;
	__u64 least = EPF_TLBF_KEYS_MAX, u;

	for (i = 0; i < k; i++) {
		u = (epf_tlbf_room(f, i, 0) + k - i - 1) / (k - i);
		if (u < least)
			least = u;
	}
	return least ? least : 1;
}

/* How long slice @i has taken keys, or did. */
EPF_FN __u64 epf_tlbf_age(const struct epf_tlbf *f, __u32 i, __u64 now_ns)
{
	return epf_tlbf_later(f, now_ns) - epf_tlbf_at(f, i)->begin_ns;
}

/* Number of keys of the current generation. */
EPF_FN __u64 epf_tlbf_generation(const struct epf_tlbf *f)
{
	return f->taken - epf_tlbf_at(f, 0)->since;
}

/* Must the current generation end? */
EPF_FN bool epf_tlbf_due(const struct epf_tlbf *f, __u64 now_ns)
{
	__u64 age = epf_tlbf_age(f, 0, now_ns);
	__u64 g = epf_tlbf_generation(f);

	return g >= f->quota || (g && f->shape.timed && age >= f->generation_ns);
}

/* Is it half over? Then a worker should prepare the next slice. */
EPF_FN bool epf_tlbf_soon(const struct epf_tlbf *f, __u64 now_ns)
{
	__u64 age = epf_tlbf_age(f, 0, now_ns);
	__u64 g = epf_tlbf_generation(f);

	return 2 * g >= f->quota || (g && f->shape.timed && age >= f->generation_ns / 2);
}

/* ceil(a * b / c), at most EPF_TLBF_KEYS_MAX, at least 1; @c > 0. */
EPF_FN_BIG __u64 epf_tlbf_scale(__u64 a, __u64 b, __u64 c)
{
	__u64 low, high = epf_mul(a, b, &low), top;
	__u32 i;

	if (high >= c)
		return EPF_TLBF_KEYS_MAX;
	for (i = 0; i < 64; i++) { /* the remainder stays in high, below c */
		top = high >> 63;
		high = high << 1 | low >> 63;
		low <<= 1;
		if (top || high >= c) {
			high -= c;
			low |= 1;
		}
	}
	if (low >= EPF_TLBF_KEYS_MAX)
		return EPF_TLBF_KEYS_MAX;
	low += high != 0;
	return low ? low : 1;
}

/* t of a timed generation older than T/l: without the gap at its end. */
EPF_FN __u64 epf_tlbf_lasted(const struct epf_tlbf *f)
{
	__u64 t = f->last_ns - epf_tlbf_at(f, 0)->begin_ns;

	return t > f->generation_ns ? t : f->generation_ns;
}

/* g' (6), for a generation with keys. */
EPF_FN_BIG __u64 epf_tlbf_goal(const struct epf_tlbf *f, __u64 now_ns)
{
	__u64 least = f->generation_ns / EPF_TLBF_SAMPLE_PART;
	__u64 g = epf_tlbf_generation(f), t = epf_tlbf_age(f, 0, now_ns);
	__u32 i;

	if (!f->shape.timed)
		return epf_tlbf_scale(g, f->generation_ns, t ? t : 1);
	if (t > f->generation_ns)
		return epf_tlbf_scale(g, f->generation_ns, epf_tlbf_lasted(f));
	for (i = 1; i < f->nr && (g < EPF_TLBF_SAMPLE_KEYS || t < least) &&
		    epf_tlbf_age(f, i, now_ns) <= f->generation_ns;
	     i++) {
		g = f->taken - epf_tlbf_at(f, i)->since;
		t = epf_tlbf_age(f, i, now_ns);
	}
	t = t > least ? t : least;
	return epf_tlbf_scale(g, f->generation_ns, t ? t : 1);
}

/* The capacity (7) for a target of g' = @goal keys a generation, if @more keys come before
 * the shift; then slice j >= 1 will be what slice j-1 is now.
 */
EPF_FN_BIG __u64 epf_tlbf_wanted(const struct epf_tlbf *f, __u64 goal, __u64 more)
{
	__u64 count = 0, room, least;
	__u32 i = f->shape.k, j, limit;

	while (i > 1) {
		limit = 0;
		least = 0;
		for (j = 1; j < i; j++) {
			room = epf_tlbf_room(f, j - 1, more);
			room = room > count ? room - count : 0;
			if (!limit || room * (i - limit) < least * (i - j)) {
				limit = j;
				least = room;
			}
		}
		if (goal * (i - limit) <= least)
			break;
		count += least;
		i = limit;
	}
	return count + i * goal;
}

/**
 * epf_tlbf_plan() - number of words for the next slice
 * @f: filter
 * @now_ns: on the owner's clock
 *
 * Before the shift is due, the generation is assumed to get u - g more keys or, if timed
 * and less, g' - g. Without a key in it: the size of slice 0.
 *
 * Return: words; 0: no slice is accepted now, because one is already handed over or all
 * places are taken.
 */
EPF_FN_BIG __u64 epf_tlbf_plan(const struct epf_tlbf *f, __u64 now_ns)
{
	const struct epf_tlbf_shape *s = &f->shape;
	__u64 g = epf_tlbf_generation(f);
	__u64 goal, more = 0, c, words;

	if (f->spare.words || f->nr == EPF_TLBF_SLICES)
		return 0;
	if (f->nr < s->keep)
		return s->words_first;
	if (!g)
		return epf_tlbf_at(f, 0)->words;
	goal = epf_tlbf_goal(f, now_ns);
	if (!epf_tlbf_due(f, now_ns)) {
		more = f->quota - g;
		if (s->timed && goal < f->quota)
			more = goal > g ? goal - g : 0;
	}
	c = s->timed && g > f->quota ? s->k * goal : epf_tlbf_wanted(f, goal, more);
	words = epf_tlbf_words(c);
	if (words < s->words_min)
		return s->words_min;
	return words < s->words_max ? words : s->words_max;
}

/* Slice k-1 takes no more keys; the reserve becomes slice 0. */
EPF_FN_BIG void epf_tlbf_shift(struct epf_tlbf *f)
{
	__u32 k = f->shape.k;
	struct epf_tlbf_slice *s;

	if (f->nr >= k) {
		s = &f->slice[(f->head + k - 1) % EPF_TLBF_SLICES];
		s->until = f->taken;
		s->last_ns = f->last_ns;
	}
	f->spare.begin_ns = f->now_ns;
	f->spare.since = f->taken;
	f->spare.fn = f->nr ? (epf_tlbf_at(f, 0)->fn + 1) % k : 0;
	f->head = (f->head + EPF_TLBF_SLICES - 1) % EPF_TLBF_SLICES;
	f->slice[f->head] = f->spare;
	if (f->room)
		epf_room_next(f->room, f->head);
	f->spare.words = 0;
	f->nr++;
	f->quota = epf_tlbf_quota(f);
}

/**
 * epf_tlbf_tick() - set the time; shift if one is due and a slice is there
 * @f: filter
 * @now_ns: on the owner's clock
 */
EPF_FN void epf_tlbf_tick(struct epf_tlbf *f, __u64 now_ns)
{
	f->now_ns = epf_tlbf_later(f, now_ns);
	if (f->spare.words && epf_tlbf_due(f, f->now_ns))
		epf_tlbf_shift(f);
}

/**
 * epf_tlbf_add() - hand over the next slice
 * @f: filter
 * @now_ns: on the owner's clock
 * @word: zeroed; must stay until it is given back
 * @words: its size, words_min .. words_max; preferably what was planned last
 *
 * Return: whether it was accepted; false if no slice is accepted now (epf_tlbf_plan()) or
 * @words is out of its range.
 */
EPF_FN bool epf_tlbf_add(struct epf_tlbf *f, __u64 now_ns, __u64 *word, __u64 words)
{
	if (f->spare.words || f->nr == EPF_TLBF_SLICES || words < f->shape.words_min ||
	    words > f->shape.words_max)
		return false;
	f->spare.word = word;
	f->spare.words = words;
	f->now_ns = epf_tlbf_later(f, now_ns);
	if (f->nr < f->shape.keep)
		epf_tlbf_shift(f);
	else
		epf_tlbf_tick(f, now_ns);
	return true;
}

/**
 * epf_tlbf_expired() - give back a slice that no longer counts
 * @f: filter
 * @now_ns: on the owner's clock
 * @words: set to its words
 *
 * Return: its memory, which again belongs to the owner; NULL: there is none, or no more
 * than @keep slices are left. Repeat until then.
 */
EPF_FN __u64 *epf_tlbf_expired(struct epf_tlbf *f, __u64 now_ns, __u64 *words)
{
	const struct epf_tlbf_slice *oldest;

	f->now_ns = epf_tlbf_later(f, now_ns);
	if (f->nr <= f->shape.keep)
		return NULL;
	oldest = epf_tlbf_at(f, f->nr - 1);
	if (oldest->last_ns >= epf_tlbf_limit(f, now_ns))
		return NULL;
	f->nr--;
	*words = oldest->words;
	return oldest->word;
}

/* The word of slice @i that has the bit of @digest, and that bit. */
EPF_FN __u64 *epf_tlbf_locate(const struct epf_tlbf *f, __u64 digest, __u32 i, __u64 *mask)
{
	const struct epf_tlbf_slice *s = epf_tlbf_at(f, i);
	__u64 bit = epf_mulhi(epf_word(digest, s->fn), 64 * s->words);

	*mask = 1ULL << (bit & 63);
	return s->word + bit / 64;
}

EPF_FN bool epf_tlbf_hit(const struct epf_tlbf *f, __u64 digest, __u32 i)
{
	__u64 mask;

	return *epf_tlbf_locate(f, digest, i, &mask) & mask;
}

/* Slice @i has one more bit set. */
EPF_FN void epf_tlbf_grow(struct epf_tlbf *f, __u32 i)
{
	struct epf_room *r = f->room;

	r->share[(f->head + i) % EPF_TLBF_SLICES]++;
	r->grown += EPF_Q56_ONE / (64 * epf_tlbf_at(f, i)->words) + 1;
}

/**
 * epf_tlbf_insert() - insert a key
 * @f: filter with at least k slices
 * @digest: key
 * @now_ns: on the owner's clock
 *
 * A generation that is over by time ends before the key, a full one after it.
 */
EPF_FN void epf_tlbf_insert(struct epf_tlbf *f, __u64 digest, __u64 now_ns)
{
	__u64 mask, *word;
	__u32 i;

	epf_tlbf_tick(f, now_ns);
	if (f->shape.timed && !epf_tlbf_generation(f) &&
	    epf_tlbf_age(f, 0, now_ns) > f->generation_ns)
		f->slice[f->head].begin_ns = f->now_ns; /* the generation was idle */
	for (i = 0; i < f->shape.k; i++) {
		word = epf_tlbf_locate(f, digest, i, &mask);
		if (f->room && !(*word & mask))
			epf_tlbf_grow(f, i);
		*word |= mask;
	}
	f->taken++;
	f->last_ns = f->now_ns;
	epf_tlbf_tick(f, f->now_ns);
}

/* Algorithm 1 over the slices that count. Return: its state at the first slice. */
EPF_FN struct epf_seek epf_tlbf_seek(const struct epf_tlbf *f, __u64 now_ns)
{
	__u32 live = epf_tlbf_live(f, now_ns);
	struct epf_aged a;
	struct epf_seek q;

	a.k = f->shape.k;
	a.l = live - a.k; /* live is k or more, or 0 */
	a.base = 0;
	a.retired = 0;
	q = epf_seek_begin(&a);
	if (!live)
		q.at = -1;
	return q;
}

/**
 * epf_tlbf_query() - is the key present: Algorithm 1 as printed
 * @f: filter
 * @digest: key
 * @now_ns: on the owner's clock
 */
EPF_FN bool epf_tlbf_query(const struct epf_tlbf *f, __u64 digest, __u64 now_ns)
{
	struct epf_seek q = epf_tlbf_seek(f, now_ns);

	while (q.at >= 0)
		if (epf_seek_step(&q, epf_tlbf_hit(f, digest, (__u32)q.at)))
			return true;
	return false;
}

/**
 * epf_tlbf_test() - is the key present, and since when
 * @f: filter
 * @digest: key
 * @now_ns: on the owner's clock
 *
 * The search continues after a run, as in epf_apbf_test(). A key is never reported older
 * than it is.
 *
 * Return: EPF_ABSENT, or EPF_PRESENT + age in shifts, 0 .. nr - k.
 */
EPF_FN int epf_tlbf_test(const struct epf_tlbf *f, __u64 digest, __u64 now_ns)
{
	struct epf_seek q = epf_tlbf_seek(f, now_ns);
	int verdict = EPF_ABSENT;

	while (q.at >= 0)
		if (epf_seek_step(&q, epf_tlbf_hit(f, digest, (__u32)q.at)))
			verdict = EPF_PRESENT + epf_seek_younger(&q);
	return verdict;
}

#endif /* EPF_TLBF_H */
