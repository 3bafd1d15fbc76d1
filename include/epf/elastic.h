/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Kind elastic: lines of fingerprints that become shorter when a line fills.
 *
 * A key selects one line, one bucket in it, and a remainder of 15 bits. The line keeps the
 * items of its keys in the order of their buckets. An item is the tag of its epoch (epoch
 * mod 8) and the upper w bits of the remainder; w is the width of the epoch in this line.
 * When one more item would not fit, the widest epoch of the line drops the lowest bit of
 * its remainders, as often as needed. So a crowded line costs error, never a key. If all
 * widths are 0 and the item still does not fit, the oldest epoch of the line is accepted
 * whole: its items go, and every key that is looked up counts as one of that epoch.
 *
 * Widths of a line differ by at most EPF_ELASTIC_SPREAD: only the widest is made narrower,
 * and a new epoch is no more above the least. elastic_line.h has the layout of a line and
 * the code that reads and writes it.
 *
 * Time. The stamp is the epoch of the last change, modulo 1024. A test computes the age of
 * a group from the stamp and the current epoch, so rotation changes no line. The first
 * insert in a new epoch drops what has left the window, chooses the width of the new epoch
 * and stamps the line. The sweep visits a 256th of the lines in each rotation and empties
 * those that have nothing left in the window: so a stamp is never more than 256 + 7 epochs
 * old, and cannot become valid again.
 *
 * The line lock. The contract of the slab kinds is one caller at a time; these functions
 * require less. The head's lowest bit is the lock of the line:
 *
 *   E1  Insert and sweep set it by CAS, read the phase after that, and clear it by CAS,
 *       both full barriers. Every stamp was therefore written under the lock from a phase
 *       read under it, and phases only grow: no line is ever stamped later than the phase
 *       that its next holder reads. Cases: line-lock, line-unlock, line-sweep-lock,
 *       line-stamp, line-early, line-lock-order, line-unlock-order.
 *   E2  After the unlocking CAS an inserter reads the phase again, ordered, and inserts
 *       again if the epoch has changed: as with O2 of lanes.h, the item was visible while
 *       its epoch was current. Cases: line-reread, line-ordered.
 *   E3  A test takes no lock. It reads phase, head and words, in this order and all with
 *       acquire, then head and phase again. Its result counts if it saw a single unlocked
 *       head and a single epoch. A word of a later holder comes with that holder's lock and
 *       phase, so the last reads show it (line-blind, line-once, line-words-order,
 *       line-write-order), and the words are not older than the head (line-head-order). The
 *       stamp of the line is not later than the epoch, which comes with the head, nor 1024
 *       epochs before it, because the sweeps come with the phase (line-begin-order,
 *       line-epoch-order): ages are right. And no unlocked head comes twice in one epoch:
 *       each change either makes one more epoch accepted whole, or leaves these and adds an
 *       item; nothing expires except in the change that writes a new stamp. Stamps repeat
 *       after 1024 epochs, for a test that slept so long: the phase shows it (line-long).
 *       Only the head 0 may repeat sooner, and with it a test finds nothing whatever the
 *       words are. The head bounds all indices, so reading a torn line does no harm.
 *   E4  A test that met the lock, a change or the end of an epoch EPF_ELASTIC_TRIES times
 *       answers "present": an error, but no lost key. It never waits for a holder that was
 *       interrupted, so it may run in any context.
 *   E5  Inserters wait. Another inserter on its CPU must not interrupt a holder: in the
 *       kernel, bottom halves (or interrupts) are disabled, as for any spin lock. The lock
 *       is held for less than a microsecond.
 *   E6  Whoever rotates waits for the holder of a line only to sweep that line; to retire
 *       and to advance are stores that wait for nobody. An inserter never waits for a
 *       rotation: one that was overtaken inserts again (E2).
 *
 * Counting. With a room (room.h) each change adds the weights that it creates, under the
 * lock of its line; see epf_elastic_grow().
 *
 * Cases are those of selftests/explore, as in lanes.h. With EPF_PRIVATE all of this is
 * plain loads and stores.
 */
#ifndef EPF_ELASTIC_H
#define EPF_ELASTIC_H

#include "elastic_line.h"
#include "room.h"

#define EPF_ELASTIC_TAGS 8u
#define EPF_ELASTIC_EPOCHS_MIN 2u
#define EPF_ELASTIC_EPOCHS_MAX 7u
#define EPF_ELASTIC_LINES_MAX (1ULL << 31)
#define EPF_ELASTIC_SPREAD 7u   /* largest difference between widths of a line */
#define EPF_ELASTIC_AHEAD 3u    /* width of a new epoch above the least width */
#define EPF_ELASTIC_SHARE 7u    /* 64ths of a line that a new epoch adds */
#define EPF_ELASTIC_CHUNKS 256u /* rotations in which all lines are swept */

/* Tries of a test, see E4: some microseconds, which is longer than a line stays locked. The
 * explorer has fewer.
 */
#ifndef EPF_ELASTIC_TRIES
#define EPF_ELASTIC_TRIES 64
#endif

/**
 * struct epf_elastic_shape - parameters chosen at creation
 * @nr_lines: 1 .. EPF_ELASTIC_LINES_MAX
 * @line_words: 16, or 8
 * @epochs: r, number of complete epochs in the window: 2 .. 7
 */
struct epf_elastic_shape {
	__u64 nr_lines;
	__u32 line_words;
	__u32 epochs;
};

/**
 * struct epf_elastic - a filter, by reference; trivially copyable
 * @word: epf_elastic_words() words, zeroed, 64-byte aligned, owned by the caller
 * @shape: checked
 * @phase: twice the epoch; odd from its retirement to the next epoch
 * @room: what is counted; NULL: nothing
 */
struct epf_elastic {
	__u64 *word;
	struct epf_elastic_shape shape;
	__u64 phase;
	struct epf_room *room;
};

/* The place of a key. */
struct epf_elastic_key {
	__u64 *line;
	__u32 bucket;
	__u32 remainder;
};

/**
 * epf_elastic_words() - memory of a filter
 * @s: any numbers
 *
 * Return: words, a multiple of 8; 0 when a number is out of its range.
 */
EPF_FN __u64 epf_elastic_words(const struct epf_elastic_shape *s)
{
	if (!s->nr_lines || s->nr_lines > EPF_ELASTIC_LINES_MAX ||
	    (s->line_words != EPF_ELASTIC_WORDS_MAX &&
	     s->line_words != EPF_ELASTIC_WORDS_MAX / 2) ||
	    s->epochs < EPF_ELASTIC_EPOCHS_MIN || s->epochs > EPF_ELASTIC_EPOCHS_MAX)
		return 0;
	return s->nr_lines * s->line_words;
}

/**
 * epf_elastic_init() - check a shape and begin with an empty filter
 * @f: everything but @f->word is set
 * @s: shape
 *
 * Return: 0, or -EINVAL if epf_elastic_words() is 0.
 */
EPF_FN int epf_elastic_init(struct epf_elastic *f, const struct epf_elastic_shape *s)
{
	if (!epf_elastic_words(s))
		return -EINVAL;
	f->shape = *s;
	f->phase = 0;
	f->room = NULL;
	return 0;
}

/* The line comes from word 0 of the digest's stream; bucket and then remainder are the
 * topmost bits of word 1.
 */
EPF_FN void epf_elastic_locate(const struct epf_elastic *f, __u64 digest,
			       struct epf_elastic_key *key)
{
	__u32 bits = f->shape.line_words >> 3; /* bits of the bucket beyond 5 */
	__u64 x = epf_word(digest, 1);

	key->line = f->word + epf_mulhi(digest, f->shape.nr_lines) * f->shape.line_words;
	key->bucket = (__u32)(x >> (59 - bits));
	key->remainder = (__u32)(x << (5 + bits) >> (64 - EPF_ELASTIC_WIDTH_MAX));
}

/* Least age of an item from @p to the end of its bucket with the key's
 * remainder.
 */
EPF_FN __u32 epf_elastic_match(const struct epf_elastic_key *key, const struct epf_elastic_line *l,
			       struct epf_elastic_place p, __u32 lag)
{
	__u32 end = l->base + l->count, age, width, best = ~0u;
	const __u64 *line = key->line;
	__u64 x;

	for (; p.item < end; p.item++) {
		x = epf_load_acquire(line + l->first + (p.item >> 4)) >> 4 * (p.item & 15);
		width = epf_elastic_width(l, x);
		p.top -= width;
		age = epf_elastic_age(l, lag, x >> 1 & 7);
		if (age < best && epf_elastic_get(line, l->words - 1, p.top, width) ==
					  key->remainder >> (EPF_ELASTIC_WIDTH_MAX - width))
			best = age;
		if (x & 1)
			break;
	}
	return best;
}

/* Least age among the epochs accepted whole. */
EPF_FN __u32 epf_elastic_youngest(const struct epf_elastic_line *l, __u32 lag)
{
	__u32 tag, best = ~0u;

	for (tag = 0; l->whole >> tag; tag++)
		if (l->whole >> tag & 1 && epf_elastic_age(l, lag, tag) < best)
			best = epf_elastic_age(l, lag, tag);
	return best;
}

/* Number of epochs by which the line with @stamp is behind @phase. */
EPF_FN __u32 epf_elastic_lag(__u64 phase, __u32 stamp)
{
	return ((__u32)(phase >> 1) - stamp) & (EPF_ELASTIC_STAMPS - 1);
}

/* Number of epochs that count; the youngest has age 0. */
EPF_FN __u32 epf_elastic_counted(const struct epf_elastic *f, __u64 phase)
{
	return f->shape.epochs + !(phase & 1);
}

/* The answer from an unlocked line with @head. */
EPF_FN_BIG int epf_elastic_look(const struct epf_elastic *f, const struct epf_elastic_key *key,
				__u64 head, __u64 phase)
{
	__u64 items = epf_load_acquire(key->line + (key->bucket >> 6));
	__u32 lag, age = ~0u, best = ~0u;
	struct epf_elastic_place p;
	struct epf_elastic_line l;

	items = items >> (key->bucket & 63) & 1;
	if (!items && !(head >> EPF_ELASTIC_WHOLE & 1))
		return EPF_ABSENT;
	epf_elastic_unpack(&l, f->shape.line_words, head);
	lag = epf_elastic_lag(phase, l.stamp);
	if (lag >= epf_elastic_counted(f, phase))
		return EPF_ABSENT;
	if (l.whole)
		best = epf_elastic_youngest(&l, lag);
	if (items) {
		epf_elastic_find(&p, key->line, &l, key->bucket, false);
		age = epf_elastic_match(key, &l, p, lag);
	}
	best = age < best ? age : best;
	return best < epf_elastic_counted(f, phase) ? EPF_PRESENT + (int)best : EPF_ABSENT;
}

/**
 * epf_elastic_test() - was the digest inserted inside the window?
 * @f: filter
 * @digest: of the key
 *
 * Context: any; does not wait.
 * Return: EPF_ABSENT, or EPF_PRESENT + age in epochs, 0 .. r.
 */
EPF_FN int epf_elastic_test(const struct epf_elastic *f, __u64 digest)
{
	__u32 first = f->shape.line_words >> 3;
	struct epf_elastic_key key;
	__u64 head, phase;
	int i, verdict;

	epf_elastic_locate(f, digest, &key);
	for (i = 0; i < EPF_ELASTIC_TRIES; i++) {
		phase = epf_load_acquire(&f->phase);
		head = epf_load_acquire(key.line + first);
		if (head >> EPF_ELASTIC_LOCK & 1)
			continue;
		verdict = epf_elastic_look(f, &key, head, phase);
		if (epf_load(key.line + first) == head && !((epf_load(&f->phase) ^ phase) >> 1))
			return verdict;
	}
	return EPF_PRESENT;
}

/* The whole filter, in units of weight: see epf_elastic_weight(). */
EPF_FN __u64 epf_elastic_all(const struct epf_elastic_shape *s)
{
	return s->nr_lines * 8 * s->line_words << EPF_ELASTIC_WIDTH_MAX;
}

/* The weight of tags in room @r, by all changes that have reached @sum. */
EPF_FN_BIG __u64 epf_elastic_weighed(const struct epf_room *r)
{
	__u64 all = 0, gone;
	__u32 t;

	for (t = 0; t < EPF_ELASTIC_TAGS; t++) {
		gone = epf_load_acquire(&r->tags.gone[t]);
		all += epf_load(&r->tags.sum[t]) - gone; /* @gone was @sum once */
	}
	return all;
}

/**
 * epf_elastic_grow() - add to the weight of a tag
 * @r: room
 * @part: any number; callers with different ones seldom write the same cache line
 * @t: tag
 * @n: weight
 *
 * Any number of callers. Words of a room, each written by atomic additions alone unless
 * stated otherwise:
 *
 *   share        by @part and @t, all that was added. What it passes of multiples of
 *                2^@shift goes on to @sum, so the words of @share together hold back less
 *                than EPF_ROOM_PLACES of these; @most allows for that. What they held back
 *                of an earlier epoch counts for the present one.
 *   tags.sum     by @t. Only ever grows.
 *   tags.gone    @sum when the epoch of @t retired. Written by whoever rotates; its release
 *                pairs with the acquire of epf_elastic_weighed(), which therefore sees a
 *                @sum that is not smaller. An addition to a retired epoch by an inserter
 *                that had read the phase before counts too much until that tag retires
 *                again, never too little.
 *   grown        a total. An inserter whose addition makes it reach @most stores it after
 *                the addition; whoever rotates, or judges, replaces it by a CAS, a full
 *                barrier, and sums once more (epf_elastic_see()). Either the sum then has
 *                that addition, or the store of the inserter comes after the CAS.
 */
EPF_FN_BIG void epf_elastic_grow(struct epf_room *r, __u32 part, __u32 t, __u64 n)
{
	__u64 old = epf_fetch_add(&r->share[(part & 31) * EPF_ELASTIC_TAGS + t], n);
	__u64 more = ((old + n) >> r->shift) - (old >> r->shift), all;

	if (!more)
		return;
	epf_fetch_add(&r->tags.sum[t], more << r->shift);
	all = epf_elastic_weighed(r);
	if (all >= r->most)
		epf_store_release(&r->grown, all);
}

/* Bring @grown up to date. One caller at a time. */
EPF_FN_BIG void epf_elastic_see(struct epf_room *r)
{
	__u64 old = epf_load(&r->grown), all;

	epf_cas(&r->grown, &old, epf_elastic_weighed(r));
	all = epf_elastic_weighed(r);
	if (all >= r->most)
		epf_store_release(&r->grown, all);
}

/* The line has room for the key, whose bucket is at @p. */
EPF_FN void epf_elastic_add(struct epf_elastic_work *w, const struct epf_elastic_key *key,
			    struct epf_elastic_place p, __u32 used)
{
	__u32 width = epf_elastic_width(&w->l, w->tag << 1);
	__u64 *bucket = &w->item[key->bucket >> 6];
	__u64 bit = 1ULL << (key->bucket & 63);
	bool first = !(*bucket & bit);

	epf_elastic_push_item(w, epf_elastic_bit(&w->l, p.item), w->tag << 1 | first);
	epf_elastic_push_rest(w, p.top, used, width,
			      key->remainder >> (EPF_ELASTIC_WIDTH_MAX - width));
	*bucket |= bit;
	w->l.count++;
}

EPF_FN __u32 epf_elastic_byte(__u64 bytes, __u32 t)
{
	return bytes >> 8 * t & 255;
}

/* Bits that the items and their remainders take. */
EPF_FN __u32 epf_elastic_need(__u64 n, __u64 wide)
{
	__u32 t, bits = 0;

	for (t = 0; t < EPF_ELASTIC_TAGS; t++)
		bits += epf_elastic_byte(n, t) * (4 + epf_elastic_byte(wide, t));
	return bits;
}

/* Least width of an epoch with items; EPF_ELASTIC_WIDTH_MAX if there is none. */
EPF_FN __u32 epf_elastic_least(__u64 n, __u64 wide)
{
	__u32 t, least = EPF_ELASTIC_WIDTH_MAX;

	for (t = 0; t < EPF_ELASTIC_TAGS; t++)
		if (epf_elastic_byte(n, t) && epf_elastic_byte(wide, t) < least)
			least = epf_elastic_byte(wide, t);
	return least;
}

/* Width of a new epoch: the least width plus EPF_ELASTIC_AHEAD; up to EPF_ELASTIC_SPREAD
 * above the least while a quarter more items than there are would still have room. So a
 * line recovers soon from a burst.
 */
EPF_FN __u32 epf_elastic_begin(__u64 n, __u64 wide, __u32 room)
{
	__u32 least = epf_elastic_least(n, wide);
	__u32 width = least + EPF_ELASTIC_SPREAD;
	__u32 more = epf_elastic_sum(n) / 4 + 1;

	room -= epf_elastic_need(n, wide);
	while (width > least + EPF_ELASTIC_AHEAD && more * (4 + width) > room)
		width--;
	return width < EPF_ELASTIC_WIDTH_MAX ? width : EPF_ELASTIC_WIDTH_MAX;
}

/* The widest epoch with items; if several are equal, the oldest. */
EPF_FN __u32 epf_elastic_widest(__u64 n, __u64 wide, __u32 now)
{
	__u32 i, t, best = now;
	int width = -1;

	for (i = 1; i <= EPF_ELASTIC_TAGS; i++) {
		t = (now + i) & 7;
		if (epf_elastic_byte(n, t) && (int)epf_elastic_byte(wide, t) > width) {
			width = (int)epf_elastic_byte(wide, t);
			best = t;
		}
	}
	return best;
}

/* Encode widths for the head. */
EPF_FN __u64 epf_elastic_pack(__u64 n, __u64 wide)
{
	__u32 t, least = epf_elastic_least(n, wide);
	__u64 pack = (__u64)least << EPF_ELASTIC_LEAST;

	for (t = 0; t < EPF_ELASTIC_TAGS; t++)
		if (epf_elastic_byte(n, t))
			pack |= (__u64)(epf_elastic_byte(wide, t) - least)
				<< (EPF_ELASTIC_MORE + 3 * t);
	return pack;
}

/* Remove from @n the epochs that are out of the window. Return: the others. */
EPF_FN __u64 epf_elastic_expire(struct epf_elastic_line *l, __u64 n, __u32 lag, __u32 counted)
{
	__u32 t;

	for (t = 0; t < EPF_ELASTIC_TAGS; t++)
		if (epf_elastic_age(l, lag, t) >= counted) {
			n &= ~(255ULL << 8 * t);
			l->whole &= ~(1u << t);
		}
	return n;
}

/* Narrow the widths until the items fit. Return: the widths. */
EPF_FN __u64 epf_elastic_narrow(struct epf_elastic_work *w, __u64 *n, __u64 wide)
{
	__u32 t, need = epf_elastic_need(*n, wide);

	while (need > epf_elastic_room(&w->l, w->l.whole)) {
		t = epf_elastic_widest(*n, wide, w->tag);
		if (epf_elastic_byte(wide, t)) {
			wide -= 1ULL << 8 * t;
			need -= epf_elastic_byte(*n, t);
		} else {
			w->l.whole |= 1u << t;
			*n &= ~(255ULL << 8 * t);
			need = epf_elastic_need(*n, wide);
		}
	}
	return wide;
}

/* What a line holds, by tag. */
struct epf_elastic_load {
	__u64 n, wide;
	__u32 whole;
};

/* How likely a key of a random bucket is to meet an item of tag @t, if each width w meets it
 * with 2^-w: in units of 2^-15, and of one of @words * 8 buckets.
 */
EPF_FN __u64 epf_elastic_weight(const struct epf_elastic_load *h, __u32 words, __u32 t)
{
	if (h->whole >> t & 1)
		return 8ULL * words << EPF_ELASTIC_WIDTH_MAX;
	return (__u64)epf_elastic_byte(h->n, t)
	       << (EPF_ELASTIC_WIDTH_MAX - (epf_elastic_byte(h->wide, t) & 15));
}

/* Count what narrowing adds: from @was to @is, of the tags that count. */
EPF_FN_BIG void epf_elastic_weigh(const struct epf_elastic *f, __u32 part,
				  const struct epf_elastic_work *w,
				  const struct epf_elastic_load *was,
				  const struct epf_elastic_load *is, __u64 phase)
{
	__u32 counted = epf_elastic_counted(f, phase), words = w->l.words, t;
	__u64 before, after;

	for (t = 0; t < EPF_ELASTIC_TAGS; t++) {
		before = epf_elastic_weight(was, words, t);
		after = epf_elastic_weight(is, words, t);
		if (after > before && ((w->tag - t) & 7) < counted)
			epf_elastic_grow(f->room, part, t, after - before);
	}
}

/* Make room for at least one more item. If an epoch begins, drop what is out of the window,
 * and make room for most of the items to come; otherwise for two.
 */
EPF_FN_BIG void epf_elastic_resize(const struct epf_elastic *f, __u32 part,
				   struct epf_elastic_work *w, __u64 phase, bool begin)
{
	__u32 lag = epf_elastic_lag(phase, w->l.stamp);
	__u32 counted = epf_elastic_counted(f, phase);
	__u64 n = epf_elastic_tally(w), wide = w->l.wide, kept;
	__u32 shift = 8 * w->tag, more = 2, room;
	struct epf_elastic_load was, is;

	if (begin) {
		n = epf_elastic_expire(&w->l, n, lag, counted);
		room = epf_elastic_room(&w->l, w->l.whole);
		wide &= ~(255ULL << shift);
		wide |= (__u64)epf_elastic_begin(n, wide, room) << shift;
		more = 1 + (epf_elastic_sum(n) * EPF_ELASTIC_SHARE >> 6);
	}
	kept = was.n = n;
	was.wide = wide;
	was.whole = w->l.whole;
	n += (__u64)more << shift;
	wide = epf_elastic_narrow(w, &n, wide);
	w->widths = epf_elastic_pack(n, wide);
	for (shift = 0; shift < 64; shift += 8)
		if (!(n >> shift & 255))
			kept &= ~(255ULL << shift);
	is.n = kept;
	is.wide = wide;
	is.whole = w->l.whole;
	if (f->room)
		epf_elastic_weigh(f, part, w, &was, &is, phase);
	epf_elastic_repack(w, kept, wide,
			   EPF_ELASTIC_HEAD_ITEMS + (w->l.whole ? EPF_ELASTIC_WHOLE_ITEMS : 0));
}

/* Insert into a locked line with @head. Return: its new head. */
EPF_FN_BIG __u64 epf_elastic_change(const struct epf_elastic *f, const struct epf_elastic_key *key,
				    __u64 head, __u64 phase)
{
	struct epf_elastic_place p;
	struct epf_elastic_work w;
	__u32 lag, used, width;
	bool begin;

	epf_elastic_unpack(&w.l, f->shape.line_words, head);
	w.widths = head & EPF_ELASTIC_WIDTHS;
	w.tag = (phase >> 1) & 7;
	lag = epf_elastic_lag(phase, w.l.stamp);
	begin = lag || !(w.l.count || w.l.whole);
	used = epf_elastic_find(&p, key->line, &w.l, key->bucket, true);
	if (!begin && (w.l.whole >> w.tag & 1 ||
		       (epf_load(key->line + (key->bucket >> 6)) >> (key->bucket & 63) & 1 &&
			!epf_elastic_match(key, &w.l, p, lag))))
		return head;
	epf_elastic_open(&w, key->line, used);
	if (begin || used + epf_elastic_width(&w.l, w.tag << 1) + 4 * (w.l.count + 1) >
			     epf_elastic_room(&w.l, w.l.whole)) {
		epf_elastic_resize(f, key->remainder, &w, phase, begin);
		used = epf_elastic_find(&p, w.item, &w.l, key->bucket, true);
	}
	if (!(w.l.whole >> w.tag & 1)) {
		epf_elastic_add(&w, key, p, used);
		width = epf_elastic_width(&w.l, w.tag << 1);
		if (f->room)
			epf_elastic_grow(f->room, key->remainder, w.tag,
					 1ULL << (EPF_ELASTIC_WIDTH_MAX - width));
	}
	return epf_elastic_close(&w, key->line, phase);
}

/* Return: the head, now locked. */
EPF_FN __u64 epf_elastic_lock(__u64 *head)
{
	__u64 old;

	for (;;) {
		old = epf_load(head);
		if (!(old >> EPF_ELASTIC_LOCK & 1) &&
		    epf_cas(head, &old, old | 1ULL << EPF_ELASTIC_LOCK))
			return old;
	}
}

/* @old: what epf_elastic_lock() returned */
EPF_FN void epf_elastic_unlock(__u64 *head, __u64 old, __u64 new_head)
{
	old |= 1ULL << EPF_ELASTIC_LOCK;
	epf_cas(head, &old, new_head); /* nobody else changes a locked head */
}

/**
 * epf_elastic_insert() - insert a digest into the current epoch
 * @f: filter
 * @digest: of the key
 *
 * Context: another inserter on this CPU must not interrupt this, see E5.
 */
EPF_FN void epf_elastic_insert(struct epf_elastic *f, __u64 digest)
{
	__u32 first = f->shape.line_words >> 3;
	struct epf_elastic_key key;
	__u64 head, phase;

	epf_elastic_locate(f, digest, &key);
	do {
		head = epf_elastic_lock(key.line + first);
		phase = epf_load(&f->phase);
		epf_elastic_unlock(key.line + first, head,
				   epf_elastic_change(f, &key, head, phase));
	} while ((epf_load_ordered(&f->phase) ^ phase) >> 1);
}

/**
 * epf_elastic_test_and_insert() - test, and insert under the same hold of the line lock
 * @f: filter
 * @digest: of the key
 * @keep: do not insert a key that is present
 *
 * Of several callers with one new key exactly one gets EPF_ABSENT.
 *
 * Context: as epf_elastic_insert().
 * Return: as epf_elastic_test(), without E4.
 */
EPF_FN int epf_elastic_test_and_insert(struct epf_elastic *f, __u64 digest, bool keep)
{
	__u32 first = f->shape.line_words >> 3;
	struct epf_elastic_key key;
	__u64 head, phase;
	int verdict;

	epf_elastic_locate(f, digest, &key);
	head = epf_elastic_lock(key.line + first);
	phase = epf_load(&f->phase);
	verdict = epf_elastic_look(f, &key, head, phase);
	if (verdict && keep) {
		epf_elastic_unlock(key.line + first, head, head);
		return verdict;
	}
	epf_elastic_unlock(key.line + first, head, epf_elastic_change(f, &key, head, phase));
	if ((epf_load_ordered(&f->phase) ^ phase) >> 1)
		epf_elastic_insert(f, digest);
	return verdict;
}

/**
 * epf_elastic_read() - copy a line as it is between two changes, without the lock
 * @f: filter, in which no epoch ends meanwhile
 * @nr: number of the line
 * @to: the words of a line
 *
 * Return: false: it was locked, or it changed, EPF_ELASTIC_TRIES times. Otherwise the copy
 * is whole, as with a test (E3).
 */
EPF_FN bool epf_elastic_read(const struct epf_elastic *f, __u64 nr, __u64 *to)
{
	__u32 words = f->shape.line_words, first = words >> 3, k;
	const __u64 *line = f->word + nr * words;
	__u64 head;
	int i;

	for (i = 0; i < EPF_ELASTIC_TRIES; i++) {
		head = epf_load_acquire(line + first);
		if (head >> EPF_ELASTIC_LOCK & 1)
			continue;
		for (k = 0; k < words; k++)
			to[k] = epf_load_acquire(line + k);
		to[first] = head;
		if (epf_load(line + first) == head)
			return true;
	}
	return false;
}

/**
 * epf_elastic_copy() - copy a line under its lock, as it is between two changes
 * @f: filter
 * @nr: number of the line
 * @to: the words of a line
 *
 * Context: as epf_elastic_insert().
 */
EPF_FN void epf_elastic_copy(const struct epf_elastic *f, __u64 nr, __u64 *to)
{
	__u32 words = f->shape.line_words, first = words >> 3, k;
	__u64 *line = f->word + nr * words;
	__u64 head = epf_elastic_lock(line + first);

	for (k = 0; k < words; k++)
		to[k] = epf_load(line + k);
	to[first] = head;
	epf_elastic_unlock(line + first, head, head);
}

/**
 * epf_elastic_retire() - stop counting the oldest epoch
 * @f: filter, whose current epoch is complete
 */
EPF_FN void epf_elastic_retire(struct epf_elastic *f)
{
	__u32 t = (__u32)((f->phase >> 1) - f->shape.epochs) & 7;
	struct epf_room *r = f->room;

	epf_store_release(&f->phase, f->phase | 1);
	if (r) /* late additions count too much, see epf_elastic_grow() */
		epf_store_release(&r->tags.gone[t], epf_load(&r->tags.sum[t]));
}

/* Empty a line in which nothing counts any more. */
EPF_FN void epf_elastic_empty(struct epf_elastic *f, __u64 *line)
{
	__u32 first = f->shape.line_words >> 3, k;
	struct epf_elastic_line l;
	__u64 head, old;

	if (!epf_load(line + first))
		return;
	head = old = epf_elastic_lock(line + first);
	epf_elastic_unpack(&l, f->shape.line_words, old);
	if (epf_elastic_lag(f->phase, l.stamp) >= epf_elastic_counted(f, f->phase)) {
		for (k = 0; k < l.words; k++)
			if (k != first)
				epf_store_release(line + k, 0);
		head = 0;
	}
	epf_elastic_unlock(line + first, old, head);
}

/**
 * epf_elastic_sweep() - empty a part of the lines that are out of the window
 * @f: filter, retired
 * @at: first word of the part, of those due in this rotation; 0 to begin with
 * @n: largest number of words to visit, 1 and up; at least one line is visited
 *
 * Return: @at of the next call; 0: done.
 */
EPF_FN __u64 epf_elastic_sweep(struct epf_elastic *f, __u64 at, __u64 n)
{
	__u64 c = (f->phase >> 1) & (EPF_ELASTIC_CHUNKS - 1);
	__u64 nr = f->shape.nr_lines, words = f->shape.line_words;
	__u64 first = c * nr / EPF_ELASTIC_CHUNKS * words;
	__u64 all = (c + 1) * nr / EPF_ELASTIC_CHUNKS * words - first;

	for (n = n < all ? n : all; at < all; at += words) {
		epf_elastic_empty(f, f->word + first + at);
		if (n <= words)
			break;
		n -= words;
	}
	return at + words < all ? at + words : 0;
}

/**
 * epf_elastic_advance() - a new epoch begins
 * @f: filter, retired and swept
 */
EPF_FN void epf_elastic_advance(struct epf_elastic *f)
{
	epf_store_release(&f->phase, (f->phase | 1) + 1);
}

/**
 * epf_elastic_rotate() - end the current epoch at once
 * @f: filter
 */
EPF_FN void epf_elastic_rotate(struct epf_elastic *f)
{
	epf_elastic_retire(f);
	epf_elastic_sweep(f, 0, ~0ULL);
	epf_elastic_advance(f);
}

#endif /* EPF_ELASTIC_H */
