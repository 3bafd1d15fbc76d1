/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Chain of lanes tables: the window is a time T, the rate is not known, and the memory
 * follows it. Each table is a complete array of lanes.h, of a power of two of lines.
 * Integers only.
 *
 * Table i = 0 .. nr-1 is the i-th youngest; insertions go to table 0, a test looks in all
 * tables that count. They share one epoch, of E = ceil(T/7) ns. A table is made for
 *
 *	b = floor(lines * load / 1024)  keys an epoch
 *
 * and table 0 is full when it has taken b keys in the current epoch. Then the reserve, a
 * larger table prepared by the owner's worker, becomes table 0. A table is wanted early
 * (the rate rises) when at the rate of a sample an epoch brings more than b keys, or the
 * rest of this one more than table 0 has room for. It has the smallest lines_min * 2^j
 * lines with
 *
 *	b >= 5/4 * rate * E
 *
 * but at least twice those of table 0, four times if there is another table already, and at
 * most lines_max.
 *
 * The sample is the keys since the second last mark. A mark is made when the last is
 * floor(E/16) ns old; if that is twice as old, the new mark replaces both. With fewer than
 * 32 keys the sample begins with the epoch. With still fewer it begins with the epoch
 * before, if that had keys. A sample of less than floor(E/16) ns counts as that long.
 *
 * The filter is low when the last 8 epochs with keys that ended since table 0 came had less
 * than b/4 each, the rate does not rise, and there are smaller tables. Then a smaller one,
 * sized by the same rule for the most keys of those 8, becomes table 0 as soon as it is
 * there. Epochs without keys do not count.
 *
 * A reserve goes back when it is not what is wanted. A smaller one: if the filter is not
 * low. Another: if the filter is low, if the rate has risen above what the reserve is made
 * for, and if no rise was seen during a whole epoch. Table i > 0 goes back 8 epochs after
 * its last insertion, when all its lanes are out of the window by their tags.
 *
 * The owner manages the memory: epf_chain_plan() says how much the next table needs,
 * epf_chain_add() hands it over, epf_chain_expired() gives back tables that are no longer
 * needed. While table 0 is full and no reserve is there, and when all EPF_CHAIN_TABLES
 * places are taken, table 0 takes more keys than it should: the error grows, but no key is
 * lost. If tables come in time, no lane of any has more than b keys, so the error is at
 * most nr times that of a table filled to b.
 *
 * Epochs lie on a grid of E ns. They end when time is set, several at once if it was not
 * set for long. The epoch's number advances at most to 8 beyond that of the last insertion
 * (then no lane counts; a longer gap adds no epochs), and no further than the scan of stale
 * tags allows (window.h), which the owner runs with epf_chain_scan(). Grid time that passes
 * beyond that is added to the current epoch, never taken from it.
 *
 * Window property: every key inserted at now - T or later is always found. A key is whole
 * in one table, an epoch ends no earlier than its E ns, and eight are kept. The owner
 * supplies the time, and it does not go back: a time earlier than the latest counts as the
 * latest.
 *
 * Staleness property: a key that was last inserted 8 E = T + T/7 ago or longer is absent,
 * except by chance, if no scan was late. A scan that lags by 8 epochs for d ns adds d,
 * rounded up to epochs.
 *
 * One caller at a time; a lock is enough. An owner without one would need: nr and the
 * tables published as one pointer by a release store, and read once by an insertion or
 * test, inside a section that a grace period waits for; a table freed after such a period.
 * An insertion that read the old table 0 may end in it after the switch: O2 of lanes.h
 * holds per table, but the 8 epochs of the old table begin when the grace period after the
 * switch is over. Counts per CPU as for rotation (epf_pending_add()), each for one table
 * and epoch; last written only where it changes. O3: epoch x begins after a grace period
 * that began after epoch x - 8 ended, so a gap takes two rotations. The scan and the
 * rotation exclude one another.
 */
#ifndef EPF_CHAIN_H
#define EPF_CHAIN_H

#include "room.h"
#include "window.h"

#define EPF_CHAIN_TABLES 8u
#define EPF_CHAIN_MOST 2u /* tables of the largest size that are all the memory: one and the next */
#define EPF_CHAIN_LOAD_SHIFT 10
#define EPF_CHAIN_LOAD_MAX (1u << 20)
#define EPF_CHAIN_SAMPLE_KEYS 32u
#define EPF_CHAIN_SAMPLE_PART 16u /* of E */

/**
 * struct epf_chain_shape - parameters chosen at creation
 * @span_ns: T, 1 .. EPF_NS_MAX
 * @lines_first: of the first table
 * @lines_min: of any; at least EPF_LINES_MIN and so that b is 1 and up
 * @lines_max: up to epf_chain_lines_max(); min <= first <= max, all powers of two
 * @load: keys an epoch may bring per 1024 lines, 1 .. EPF_CHAIN_LOAD_MAX
 * @parts: L: 1, 2 or 4
 * @bits: k, L .. EPF_PART_BITS_MAX * L, a multiple of L
 */
struct epf_chain_shape {
	__u64 span_ns;
	__u64 lines_first;
	__u64 lines_min;
	__u64 lines_max;
	__u32 load;
	__u32 parts;
	__u32 bits;
};

/**
 * struct epf_chain_table - one table
 * @line: its memory, zeroed when handed over
 * @lines: number of lines; 0: no table
 * @last: epoch of its last insertion; before one, the epoch when it became table 0
 * @scanned: chunks scanned, on the scale of the epoch
 * @at: lines done of the chunk under scan
 * @keys: inserted into the lanes of epoch e, at e mod 8; valid while its lanes are
 */
struct epf_chain_table {
	struct epf_line *line;
	__u64 lines;
	__u64 last;
	__u64 scanned;
	__u64 at;
	__u64 keys[EPF_LANES];
};

/* @taken keys had been inserted by @ns. */
struct epf_chain_mark {
	__u64 ns;
	__u64 taken;
};

/* @keys keys in @ns ns, above 0. */
struct epf_chain_rate {
	__u64 keys;
	__u64 ns;
};

/**
 * struct epf_chain - a filter
 * @shape: as given
 * @epoch_ns: E
 * @now_ns: latest time the owner supplied
 * @epoch: the current one
 * @start_ns: when it began, or a whole number of E later
 * @taken: keys inserted
 * @begun: number of them before the current epoch
 * @before: number of them in the epoch before, if that ended when this one began
 * @quiet: epochs with keys since table 0 came, all with less than b/4
 * @most: keys of the fullest of them
 * @mark: the last two
 * @spare: the reserve: handed over and not yet in use
 * @wanted: epoch when it was handed over, or when a rise was seen since
 * @nr: tables
 * @table: the youngest first
 * @room: lane l of table i at 8 i + l; NULL: nothing is counted
 */
struct epf_chain {
	struct epf_chain_shape shape;
	__u64 epoch_ns;
	__u64 now_ns;
	__u64 epoch;
	__u64 start_ns;
	__u64 taken;
	__u64 begun;
	__u64 before;
	__u64 quiet;
	__u64 most;
	struct epf_chain_mark mark[2];
	struct epf_chain_table spare;
	__u64 wanted;
	__u32 nr;
	struct epf_chain_table table[EPF_CHAIN_TABLES];
	struct epf_room *room;
};

/* b of a table with @lines lines. */
EPF_FN __u64 epf_chain_budget(const struct epf_chain *f, __u64 lines)
{
	return lines * f->shape.load >> EPF_CHAIN_LOAD_SHIFT;
}

EPF_FN bool epf_chain_power(__u64 lines)
{
	return lines && !(lines & (lines - 1));
}

/* The most lines of a table with @parts lines per key. */
EPF_FN __u64 epf_chain_lines_max(__u32 parts)
{
	return parts * EPF_PART_LINES_MAX < EPF_LINES_MAX ? parts * EPF_PART_LINES_MAX :
							    EPF_LINES_MAX;
}

EPF_FN bool epf_chain_shape_sound(const struct epf_chain_shape *s)
{
	struct epf_geom g;

	if (!s->span_ns || s->span_ns > EPF_NS_MAX)
		return false;
	if (epf_geom_init(&g, s->lines_min, s->parts, s->bits) ||
	    epf_geom_init(&g, s->lines_max, s->parts, s->bits))
		return false;
	if (!epf_chain_power(s->lines_first) || !epf_chain_power(s->lines_min) ||
	    !epf_chain_power(s->lines_max))
		return false;
	if (s->lines_min > s->lines_first || s->lines_first > s->lines_max)
		return false;
	return s->load <= EPF_CHAIN_LOAD_MAX && s->lines_min * s->load >> EPF_CHAIN_LOAD_SHIFT;
}

/**
 * epf_chain_init() - check a shape, make a filter without tables
 * @f: filter
 * @s: shape
 * @now_ns: on the owner's clock
 *
 * The owner then hands over the table planned, and inserts no key before that.
 *
 * Return: 0, or -EINVAL when a number is out of its range.
 */
EPF_FN int epf_chain_init(struct epf_chain *f, const struct epf_chain_shape *s, __u64 now_ns)
{
	if (!epf_chain_shape_sound(s))
		return -EINVAL;
	memset(f, 0, sizeof(*f));
	f->shape = *s;
	f->epoch_ns = (s->span_ns + EPF_LIVE_EPOCHS - 1) / EPF_LIVE_EPOCHS;
	f->now_ns = now_ns;
	f->epoch = EPF_EPOCH_FIRST;
	f->start_ns = now_ns;
	f->mark[0].ns = now_ns;
	f->mark[1].ns = now_ns;
	return 0;
}

EPF_FN __u64 epf_chain_later(const struct epf_chain *f, __u64 now_ns)
{
	return now_ns > f->now_ns ? now_ns : f->now_ns;
}

/* Does table @i have lanes that count at @epoch? */
EPF_FN bool epf_chain_counts(const struct epf_chain *f, __u32 i, __u64 epoch)
{
	return epoch - f->table[i].last < EPF_LANES;
}

/* The epoch at that time: tests need not set the time. */
EPF_FN __u64 epf_chain_epoch(const struct epf_chain *f, __u64 now_ns)
{
	__u64 ns = epf_chain_later(f, now_ns) - f->start_ns;
	__u64 e, limit;
	__u32 i;

	if (ns < f->epoch_ns || !f->nr)
		return f->epoch;
	e = ns / f->epoch_ns;
	e = f->epoch + (e < EPF_LANES ? e : EPF_LANES);
	limit = f->table[0].last + EPF_LANES;
	for (i = 0; i < f->nr && epf_chain_counts(f, i, f->epoch); i++)
		if (f->table[i].scanned + EPF_SCAN_LAG < limit)
			limit = f->table[i].scanned + EPF_SCAN_LAG;
	return e < limit ? e : limit;
}

/* Keys that table 0 may still take in its epoch. */
EPF_FN __u64 epf_chain_room(const struct epf_chain *f, __u64 now_ns)
{
	__u64 b = epf_chain_budget(f, f->table[0].lines);
	__u64 n = f->table[0].keys[f->epoch & 7];

	if (epf_chain_epoch(f, now_ns) != f->epoch)
		return b;
	return b > n ? b - n : 0;
}

/* Does @r bring more than @keys in @ns? */
EPF_FN bool epf_chain_above(const struct epf_chain_rate *r, __u64 ns, __u64 keys)
{
	__u64 come_low, may_low;
	__u64 come = epf_mul(r->keys, ns, &come_low);
	__u64 may = epf_mul(keys, r->ns, &may_low);

	return come > may || (come == may && come_low > may_low);
}

/* The sample. */
EPF_FN_BIG struct epf_chain_rate epf_chain_rate(const struct epf_chain *f, __u64 now_ns)
{
	__u64 now = epf_chain_later(f, now_ns);
	__u64 least = f->epoch_ns / EPF_CHAIN_SAMPLE_PART;
	struct epf_chain_rate r;

	r.keys = f->taken - f->mark[1].taken;
	r.ns = now - f->mark[1].ns;
	if (r.keys < EPF_CHAIN_SAMPLE_KEYS) {
		r.keys = f->taken - f->begun;
		r.ns = now - f->start_ns;
	}
	if (r.keys < EPF_CHAIN_SAMPLE_KEYS && f->before) {
		r.keys += f->before;
		r.ns += f->epoch_ns;
	}
	if (r.ns < least)
		r.ns = least;
	if (!r.ns)
		r.ns = 1;
	return r;
}

/* Number of lines for 5/4 of a rate. */
EPF_FN_BIG __u64 epf_chain_fitting(const struct epf_chain *f, struct epf_chain_rate r)
{
	__u64 lines = f->shape.lines_min;

	r.keys *= 5;
	while (lines < f->shape.lines_max &&
	       epf_chain_above(&r, f->epoch_ns, 4 * epf_chain_budget(f, lines)))
		lines *= 2;
	return lines;
}

/* Does the rate rise above what table 0 is made for? */
EPF_FN_BIG bool epf_chain_rising(const struct epf_chain *f, __u64 now_ns)
{
	struct epf_chain_rate r = epf_chain_rate(f, now_ns);
	__u64 b = epf_chain_budget(f, f->table[0].lines);
	__u64 age = epf_chain_later(f, now_ns) - f->start_ns;
	__u64 left = age < f->epoch_ns ? f->epoch_ns - age : 0;
	__u64 room = epf_chain_room(f, now_ns);

	return !room || epf_chain_above(&r, f->epoch_ns, b) || epf_chain_above(&r, left, room);
}

EPF_FN bool epf_chain_low(const struct epf_chain *f, __u64 now_ns)
{
	return f->quiet >= EPF_LANES && f->table[0].lines > f->shape.lines_min &&
	       !epf_chain_rising(f, now_ns);
}

/* Must another table become table 0? */
EPF_FN bool epf_chain_due(const struct epf_chain *f, __u64 now_ns)
{
	return f->nr && (!epf_chain_room(f, now_ns) || epf_chain_low(f, now_ns));
}

/* Will another table have to become table 0 soon? Then a worker should prepare one. */
EPF_FN bool epf_chain_soon(const struct epf_chain *f, __u64 now_ns)
{
	return f->nr && (epf_chain_rising(f, now_ns) || epf_chain_low(f, now_ns));
}

/**
 * epf_chain_plan() - number of words for the next table
 * @f: filter
 * @now_ns: on the owner's clock
 *
 * Return: words, 8 a line; 0: no table is accepted now, because one is already handed over
 * or all places are taken.
 */
EPF_FN_BIG __u64 epf_chain_plan(const struct epf_chain *f, __u64 now_ns)
{
	const struct epf_chain_shape *s = &f->shape;
	struct epf_chain_rate low = { f->most, f->epoch_ns };
	__u64 least = f->table[0].lines * (f->nr > 1 ? 4 : 2);
	__u64 lines;

	if (f->spare.lines || f->nr == EPF_CHAIN_TABLES)
		return 0;
	if (!f->nr)
		return EPF_LANES * s->lines_first;
	if (epf_chain_low(f, now_ns))
		return EPF_LANES * epf_chain_fitting(f, low);
	lines = epf_chain_fitting(f, epf_chain_rate(f, now_ns));
	if (lines < least)
		lines = least;
	return EPF_LANES * (lines < s->lines_max ? lines : s->lines_max);
}

/* Another table becomes table 0. */
EPF_FN_BIG void epf_chain_room_switch(struct epf_room *r)
{
	__u32 i, last = EPF_LANES * EPF_CHAIN_TABLES;

	for (i = last; --i >= EPF_LANES;)
		r->share[i] = r->share[i - EPF_LANES];
	for (i = 0; i < EPF_LANES; i++)
		epf_room_next(r, i);
}

/* The reserve becomes table 0. */
EPF_FN_BIG void epf_chain_switch(struct epf_chain *f)
{
	__u32 i;

	for (i = f->nr++; i > 0; i--)
		f->table[i] = f->table[i - 1];
	if (f->room)
		epf_chain_room_switch(f->room);
	f->table[0] = f->spare;
	f->table[0].last = f->epoch;
	f->table[0].scanned = f->epoch;
	f->spare.lines = 0;
	f->quiet = 0;
	f->most = 0;
}

/* End the current epoch; the next is @epoch. Lanes of @epoch and of those between are
 * stale, and so are their counts.
 */
EPF_FN_BIG void epf_chain_turn(struct epf_chain *f, __u64 epoch)
{
	__u64 got = f->taken - f->begun;
	__u64 e;

	if (got && 4 * got >= epf_chain_budget(f, f->table[0].lines)) {
		f->quiet = 0;
		f->most = 0;
	} else if (got) {
		f->quiet++;
		f->most = got > f->most ? got : f->most;
	}
	for (e = f->epoch + 1; e <= epoch; e++) {
		f->table[0].keys[e & 7] = 0;
		if (f->room)
			epf_room_next(f->room, e & 7);
	}
	f->before = epoch == f->epoch + 1 ? got : 0;
	f->begun = f->taken;
	f->epoch = epoch;
}

/* Make a mark if the last is old. */
EPF_FN void epf_chain_note(struct epf_chain *f)
{
	__u64 part = f->epoch_ns / EPF_CHAIN_SAMPLE_PART;
	__u64 old = f->now_ns - f->mark[0].ns;
	struct epf_chain_mark now = { f->now_ns, f->taken };

	if (old < part)
		return;
	f->mark[1] = old < 2 * part ? f->mark[0] : now;
	f->mark[0] = now;
}

/* Is the reserve what table 0 must become? */
EPF_FN bool epf_chain_ready(const struct epf_chain *f)
{
	if (f->spare.lines < f->table[0].lines)
		return f->spare.lines && epf_chain_low(f, f->now_ns);
	return !epf_chain_room(f, f->now_ns);
}

/**
 * epf_chain_tick() - set the time; end epochs and switch tables if due
 * @f: filter
 * @now_ns: on the owner's clock
 */
EPF_FN_BIG void epf_chain_tick(struct epf_chain *f, __u64 now_ns)
{
	__u64 e = epf_chain_epoch(f, now_ns);
	__u64 ns;

	f->now_ns = epf_chain_later(f, now_ns);
	ns = f->now_ns - f->start_ns;
	if (e != f->epoch)
		epf_chain_turn(f, e);
	if (ns >= f->epoch_ns)
		f->start_ns += ns - ns % f->epoch_ns;
	epf_chain_note(f);
	if (f->nr && epf_chain_ready(f))
		epf_chain_switch(f);
}

/**
 * epf_chain_add() - hand over the next table
 * @f: filter
 * @now_ns: on the owner's clock
 * @word: zeroed, 64-byte aligned; must stay until it is given back
 * @words: its size, 8 times a power of two in the shape's range; preferably what was
 *	planned last
 *
 * Return: whether it was accepted; false if no table is accepted now (epf_chain_plan()) or
 * @words is not such a number.
 */
EPF_FN_BIG bool epf_chain_add(struct epf_chain *f, __u64 now_ns, __u64 *word, __u64 words)
{
	__u64 lines = words / EPF_LANES;

	if (f->spare.lines || f->nr == EPF_CHAIN_TABLES || words % EPF_LANES ||
	    !epf_chain_power(lines) || lines < f->shape.lines_min || lines > f->shape.lines_max)
		return false;
	epf_chain_tick(f, now_ns);
	memset(&f->spare, 0, sizeof(f->spare));
	f->spare.line = (struct epf_line *)word;
	f->spare.lines = lines;
	f->wanted = f->epoch;
	if (!f->nr || epf_chain_ready(f))
		epf_chain_switch(f);
	return true;
}

/* Is there a reserve that is not what is wanted? */
EPF_FN_BIG bool epf_chain_useless(struct epf_chain *f)
{
	__u64 now = f->now_ns;

	if (!f->spare.lines || f->spare.lines < f->table[0].lines)
		return f->spare.lines;
	if (epf_chain_rising(f, now)) {
		f->wanted = f->epoch;
		return epf_chain_fitting(f, epf_chain_rate(f, now)) > f->spare.lines;
	}
	return epf_chain_low(f, now) || f->epoch - f->wanted > 1;
}

/**
 * epf_chain_expired() - set the time, give back a table that is no longer needed
 * @f: filter
 * @now_ns: on the owner's clock
 * @words: set to its words
 *
 * Return: its memory, which again belongs to the owner; NULL: there is none. Repeat until
 * then.
 */
EPF_FN_BIG __u64 *epf_chain_expired(struct epf_chain *f, __u64 now_ns, __u64 *words)
{
	struct epf_chain_table *t = &f->spare;

	epf_chain_tick(f, now_ns);
	if (!epf_chain_useless(f)) {
		if (f->nr < 2 || epf_chain_counts(f, f->nr - 1, f->epoch))
			return NULL;
		t = &f->table[--f->nr];
	}
	*words = EPF_LANES * t->lines;
	t->lines = 0;
	return (__u64 *)t->line;
}

/* Table @i as a filter of lanes.h. L is 1, 2 or 4. */
EPF_FN struct epf_lanes epf_chain_lanes(const struct epf_chain *f, __u32 i)
{
	const struct epf_chain_shape *s = &f->shape;
	struct epf_lanes lanes;

	lanes.line = f->table[i].line;
	lanes.epoch = (__u64 *)&f->epoch;
	lanes.geom.part_lines = f->table[i].lines >> s->parts / 2;
	lanes.geom.parts = (__u16)s->parts;
	epf_geom_set_bits(&lanes.geom, s->bits >> s->parts / 2);
	return lanes;
}

/**
 * epf_chain_scan() - empty stale lanes, because tags repeat after 32 epochs
 * @f: filter
 * @n: largest number of lines to visit; an epoch makes a 16th of all due
 *
 * If it is not done for 8 epochs, the epoch cannot end.
 *
 * Return: whether more is due.
 */
EPF_FN_BIG bool epf_chain_scan(struct epf_chain *f, __u64 n)
{
	__u32 i;

	for (i = 0; i < f->nr; i++) {
		struct epf_chain_table *t = &f->table[i];
		struct epf_lanes lanes = epf_chain_lanes(f, i);
		__u64 chunk = t->lines / EPF_SCAN_CHUNKS, part;

		while (t->scanned < f->epoch) {
			if (!n)
				return true;
			part = chunk - t->at < n ? chunk - t->at : n;
			epf_lanes_scan(&lanes, t->scanned % EPF_SCAN_CHUNKS * chunk + t->at, part);
			n -= part;
			t->at += part;
			if (t->at < chunk)
				continue;
			t->at = 0;
			t->scanned++;
		}
	}
	return false;
}

/**
 * epf_chain_insert() - insert a key
 * @f: filter with at least one table
 * @digest: key
 * @now_ns: on the owner's clock
 *
 * An epoch that is over ends before the key; a full table is replaced after it.
 */
EPF_FN_BIG void epf_chain_insert(struct epf_chain *f, __u64 digest, __u64 now_ns)
{
	struct epf_lanes lanes;
	struct epf_probe p;
	bool grew = false;
	__u64 into = 0;

	epf_chain_tick(f, now_ns);
	lanes = epf_chain_lanes(f, 0);
	epf_probe(&lanes, digest, &p);
	epf_lanes_insert_into(&lanes, &p, &into, &grew);
	if (f->room)
		epf_room_grow(f->room, f->epoch & 7, grew);
	f->table[0].keys[f->epoch & 7]++;
	f->table[0].last = f->epoch;
	f->taken++;
	epf_chain_tick(f, f->now_ns);
}

/* The verdict; with @any, EPF_PRESENT and some age if that is quicker. A table has no key
 * younger than its last one.
 */
EPF_FN_BIG int epf_chain_look(const struct epf_chain *f, __u64 digest, __u64 now_ns, bool any)
{
	__u64 e = epf_chain_epoch(f, now_ns);
	__u64 best = EPF_LANES;
	struct epf_probe p;
	__u32 i;

	for (i = 0; i < f->nr && e - f->table[i].last < best; i++) {
		struct epf_lanes lanes = epf_chain_lanes(f, i);
		int v;

		epf_probe(&lanes, digest, &p);
		v = epf_lanes_look(&p, e, (__u32)(e - f->table[i].last));
		if (v && (__u64)(v - EPF_PRESENT) < best)
			best = (__u64)(v - EPF_PRESENT);
		if (v && any)
			break;
	}
	return best < EPF_LANES ? EPF_PRESENT + (int)best : EPF_ABSENT;
}

/**
 * epf_chain_query() - is the key present
 * @f: filter
 * @digest: key
 * @now_ns: on the owner's clock
 */
EPF_FN bool epf_chain_query(const struct epf_chain *f, __u64 digest, __u64 now_ns)
{
	return epf_chain_look(f, digest, now_ns, true) != EPF_ABSENT;
}

/**
 * epf_chain_test() - is the key present, and since when
 * @f: filter
 * @digest: key
 * @now_ns: on the owner's clock
 *
 * A key is never reported older than it is.
 *
 * Return: EPF_ABSENT, or EPF_PRESENT + age in epochs, 0 .. 7; a gap of more than 8 epochs
 * without insertions does not count.
 */
EPF_FN int epf_chain_test(const struct epf_chain *f, __u64 digest, __u64 now_ns)
{
	return epf_chain_look(f, digest, now_ns, false);
}

#endif /* EPF_CHAIN_H */
