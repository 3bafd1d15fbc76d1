/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Kind dict: fingerprints with a generation, in a dictionary.
 *
 * Naor and Yogev, "Tight Bounds for Sliding Bloom Filters", section 2: a hash of the key to
 * [M], here M = buckets * slots * 2^rem_bits, is kept in a dictionary with the generation
 * of its last insertion. All fingerprints of the current generation and the c before it are
 * kept, others count as deleted (2.4), and a cyclic scan visits two cells a step to remove
 * them (2.5).
 *
 * Fingerprint. Multiply the digest, as a fraction of 2^64, by buckets; multiply the
 * fractional part by slots; of what is then left take the top rem_bits. The whole parts are
 * bucket and slot, and neither is stored. A bucket of one or two lines has, from bit 0:
 *
 *   map     slots + cells bits. For each slot as many ones as it has cells, then a zero:
 *           about two bits per cell do the work of a remainder longer by log2(slots), and a
 *           search compares only the cells of one slot, on average less than one. A
 *           word-parallel compare would gain nothing here.
 *   marks   spill and pass, each a generation and a bit that says the mark is set
 *   cells   remainder << tag_bits | generation, in the order of their slots
 *
 * All zero: empty. Bits beyond the cells in use may have any value.
 *
 * Backyard. A fingerprint whose bucket is full of live cells goes to the emptier of two
 * buckets of a second table, and the spill mark of its own bucket gets its generation;
 * while that lasts, tests and inserts look there too. Its place comes from words 1 and 2 of
 * the digest, with so many bits that two keys match with probability at most 1/M
 * (epf_dict_tables()).
 *
 * Overflow. If both buckets are full as well, the pass mark of the key's own bucket gets
 * the current generation, and until that one has left the window every key of the bucket is
 * present. So an insertion never fails and no key is lost; the price is a share 1/buckets
 * of all keys, see docs/theory/dict.md.
 *
 * Old tags never become valid again. Generation g counts until the retirement at the end of
 * g + c, and its tag is used again when g + 2^tag_bits begins. In between lie P =
 * 2^tag_bits - c - 1 whole generations, in each of which at least 1/P of all buckets is
 * visited, in a cyclic order: so all are visited, and everything with the old tag is gone.
 * At two cells an insertion and n/c insertions a generation, a visit of all takes .6 (c +
 * 1) generations, if there are 1.2 cells for each of the n + n/c keys: 3 of P = 3 (c = 4, 3
 * bits), 6 of 6 (c = 9, 4 bits), 12 of 12 (c = 19, 5 bits), 24 of 24 (c = 39, 6 bits). Then
 * epf_dict_sweep() has nothing left to do and rotation is O(1). If generations are shorter
 * than that, or empty, it visits the missing buckets.
 *
 * Only one caller at a time may be inside these functions.
 *
 * Window property: retire only when the current generation is complete. Then the keys of c
 * complete generations are found at every moment: from the retirement on those of the
 * current one and of c - 1 before it, otherwise of c before it.
 */
#ifndef EPF_DICT_H
#define EPF_DICT_H

#include "lanes.h"
#include "room.h"

#define EPF_DICT_SCAN 2u /* cells a step, section 2.5 */

#define EPF_DICT_GENERATIONS_MIN 2u
#define EPF_DICT_TAG_MIN 2u
#define EPF_DICT_TAG_MAX 8u
#define EPF_DICT_REM_MAX 40u
#define EPF_DICT_CELL_MAX 62u /* bits */
#define EPF_DICT_CELLS_MIN 4u /* of a bucket */
#define EPF_DICT_LINES_MAX 2u
#define EPF_DICT_BUCKETS_MAX (1ULL << 30)
#define EPF_DICT_WORDS_MAX (1ULL << 34) /* 128 GiB */

/**
 * struct epf_dict_shape - parameters chosen at creation
 * @buckets: of the first table, 1 .. EPF_DICT_BUCKETS_MAX
 * @yard: of the backyard, 1 .. EPF_DICT_BUCKETS_MAX
 * @generations: c, number of complete generations in the window: 2 and up, at most
 *	2^tag_bits - 2
 * @tag_bits: bits of a generation, EPF_DICT_TAG_MIN .. EPF_DICT_TAG_MAX
 * @rem_bits: bits of a remainder in the first table, 1 .. EPF_DICT_REM_MAX
 * @slots: of a bucket of the first table, 1 and up, so that at least EPF_DICT_CELLS_MIN
 *	cells are left
 * @lines: of a bucket, 1 or 2
 */
struct epf_dict_shape {
	__u64 buckets;
	__u64 yard;
	__u32 generations;
	__u32 tag_bits;
	__u32 rem_bits;
	__u32 slots;
	__u32 lines;
};

/* One of the two tables; bits and words counted from the start of a bucket. */
struct epf_dict_table {
	__u64 buckets;
	__u32 slots;
	__u32 cells;
	__u32 rem_bits;
	__u32 width; /* bits of a cell */
	__u32 map;   /* bits of the map; the marks follow it */
	__u32 first; /* where the cells begin */
};

/**
 * struct epf_dict - a filter, by reference; trivially copyable
 * @word: epf_dict_words() words, zeroed, 64-byte aligned, owned by the caller
 * @shape: checked
 * @table: the first table and the backyard
 * @scan: bucket to visit next, those of the backyard after the others
 * @visited: buckets visited since the current generation began
 * @due: cells that the scan may visit
 * @now: tag of the current generation
 * @retired: the oldest generation no longer counts
 * @room: by tag; NULL: nothing is counted
 */
struct epf_dict {
	__u64 *word;
	struct epf_dict_shape shape;
	struct epf_dict_table table[2];
	__u64 scan;
	__u64 visited;
	__u32 due;
	__u32 now;
	__u32 retired;
	struct epf_room *room;
};

enum epf_dict_mark { EPF_DICT_SPILL, EPF_DICT_PASS };

/* The place of a key in a table. */
struct epf_dict_place {
	__u64 *bucket;
	__u64 rem;
	__u32 slot;
};

#define EPF_DICT_NEVER 0xffffffffu /* an age */

/* Bits of a bucket that are neither map nor cells. */
EPF_FN __u32 epf_dict_marks(const struct epf_dict_shape *s)
{
	return 2 * (s->tag_bits + 1);
}

/* Compute the layout of @t from its buckets, slots and rem_bits. Return: is there room for
 * cells?
 */
EPF_FN bool epf_dict_set_out(struct epf_dict_table *t, const struct epf_dict_shape *s)
{
	__u32 bits = s->lines * 512 - epf_dict_marks(s);

	t->width = t->rem_bits + s->tag_bits;
	t->cells = t->slots < bits ? (bits - t->slots) / (t->width + 1) : 0;
	t->map = t->slots + t->cells;
	t->first = t->map + epf_dict_marks(s);
	return t->cells >= EPF_DICT_CELLS_MIN && t->width <= EPF_DICT_CELL_MAX &&
	       t->buckets * t->slots <= ~0ULL >> t->rem_bits;
}

/* The backyard with remainders of @rem_bits: one slot per cell; then the layout. */
EPF_FN bool epf_dict_yard(struct epf_dict_table *t, const struct epf_dict_shape *s, __u32 rem_bits)
{
	__u32 bits = s->lines * 512 - epf_dict_marks(s);
	__u32 width = rem_bits + s->tag_bits;

	t->buckets = s->yard;
	t->rem_bits = rem_bits;
	t->slots = bits - bits / (width + 2) * (width + 1);
	return epf_dict_set_out(t, s);
}

/* Both tables. A key matches one stored in the first table with probability 1/M. It matches
 * one stored in the backyard if that is in one of the two buckets the key looks up, with
 * probability 2 / (buckets * slots * 2^rem_bits) there: the remainders are the shortest
 * that keep this at 1/M too.
 */
EPF_FN bool epf_dict_tables(struct epf_dict_table t[2], const struct epf_dict_shape *s)
{
	__u64 pairs;
	__u32 more;

	t[0].buckets = s->buckets;
	t[0].slots = s->slots;
	t[0].rem_bits = s->rem_bits;
	if (!epf_dict_set_out(&t[0], s))
		return false;
	pairs = 2 * s->buckets * s->slots - 1;
	for (more = 0; more <= EPF_DICT_CELL_MAX; more++) {
		if (!epf_dict_yard(&t[1], s, s->rem_bits + more))
			return false;
		if (pairs >> more < t[1].buckets * t[1].slots)
			return true;
	}
	return false;
}

EPF_FN bool epf_dict_in_range(const struct epf_dict_shape *s)
{
	return s->buckets && s->buckets <= EPF_DICT_BUCKETS_MAX && s->yard &&
	       s->yard <= EPF_DICT_BUCKETS_MAX && s->lines && s->lines <= EPF_DICT_LINES_MAX &&
	       s->slots && s->slots < 512 * s->lines && s->rem_bits &&
	       s->rem_bits <= EPF_DICT_REM_MAX && s->tag_bits >= EPF_DICT_TAG_MIN &&
	       s->tag_bits <= EPF_DICT_TAG_MAX && s->generations >= EPF_DICT_GENERATIONS_MIN &&
	       s->generations <= (1u << s->tag_bits) - 2;
}

/**
 * epf_dict_words() - memory of a filter
 * @s: any numbers
 *
 * Return: words, a multiple of 8; 0 when a number is out of its range or the filter is
 * larger than EPF_DICT_WORDS_MAX.
 */
EPF_FN __u64 epf_dict_words(const struct epf_dict_shape *s)
{
	struct epf_dict_table t[2];
	__u64 words;

	if (!epf_dict_in_range(s) || !epf_dict_tables(t, s))
		return 0;
	words = (s->buckets + s->yard) * 8 * s->lines;
	return words <= EPF_DICT_WORDS_MAX ? words : 0;
}

/**
 * epf_dict_init() - check a shape and begin with an empty filter
 * @f: everything but @f->word is set
 * @s: shape
 *
 * Return: 0, or -EINVAL if epf_dict_words() is 0.
 */
EPF_FN int epf_dict_init(struct epf_dict *f, const struct epf_dict_shape *s)
{
	if (!epf_dict_words(s))
		return -EINVAL;
	f->shape = *s;
	epf_dict_tables(f->table, s);
	f->scan = 0;
	f->visited = 0;
	f->due = 0;
	f->now = 0;
	f->retired = 0;
	f->room = NULL;
	return 0;
}

/* @n bits, 1 .. 63, from bit @at of a bucket. */
EPF_FN __u64 epf_dict_get(const __u64 *bucket, __u32 at, __u32 n)
{
	__u32 shift = at & 63;
	__u64 v = bucket[at >> 6] >> shift;

	if (shift + n > 64)
		v |= bucket[(at >> 6) + 1] << (64 - shift);
	return v & ((1ULL << n) - 1);
}

EPF_FN void epf_dict_put(__u64 *bucket, __u32 at, __u32 n, __u64 v)
{
	__u32 shift = at & 63;
	__u64 mask = (1ULL << n) - 1;
	__u64 *word = bucket + (at >> 6);

	word[0] = (word[0] & ~(mask << shift)) | v << shift;
	if (shift + n > 64)
		word[1] = (word[1] & ~(mask >> (64 - shift))) | v >> (64 - shift);
}

/* Move bits @at .. @end - @n - 1 up by @n, 1 .. 63. The contents of the gap are then
 * undefined: the caller fills it.
 */
EPF_FN void epf_dict_open(__u64 *bucket, __u32 at, __u32 end, __u32 n)
{
	__u32 first = at >> 6, i = (end - 1) >> 6;
	__u64 keep = end & 63 ? ~0ULL << (end & 63) : 0;

	for (; i > first; i--) {
		__u64 v = bucket[i] << n | bucket[i - 1] >> (64 - n);

		bucket[i] = (bucket[i] & keep) | (v & ~keep);
		keep = 0;
	}
	keep |= (1ULL << (at & 63)) - 1;
	bucket[i] = (bucket[i] & keep) | (bucket[i] << n & ~keep);
}

/* Position of the set bit that has @below set bits below it. */
EPF_FN __u32 epf_dict_select(__u64 bits, __u32 below)
{
	__u32 width, at = 0;

	for (width = 32; width; width >>= 1) {
		__u32 n = epf_popcount(bits >> at & ((1ULL << width) - 1));

		if (below >= n) {
			below -= n;
			at += width;
		}
	}
	return at;
}

/* Where the cells of @slot begin in the map; the number of their first cell is this minus
 * @slot.
 */
EPF_FN __u32 epf_dict_start(const __u64 *bucket, __u32 slot)
{
	__u32 i, n;

	if (!slot)
		return 0;
	for (i = 0; slot > (n = epf_popcount(~bucket[i])); i++)
		slot -= n;
	return i * 64 + epf_dict_select(~bucket[i], slot - 1) + 1;
}

/* Number of cells in use. */
EPF_FN __u32 epf_dict_used(const struct epf_dict_table *t, const __u64 *bucket)
{
	__u32 i, n = 0;

	for (i = 0; i < t->map >> 6; i++)
		n += epf_popcount(bucket[i]);
	return n + epf_popcount(bucket[i] & ((1ULL << (t->map & 63)) - 1));
}

/* Age of @tag; it counts below epf_dict_counted(). */
EPF_FN __u32 epf_dict_age(const struct epf_dict *f, __u64 tag)
{
	return (f->now - (__u32)tag) & ((1u << f->shape.tag_bits) - 1);
}

/* Number of generations that count; the youngest has age 0. */
EPF_FN __u32 epf_dict_counted(const struct epf_dict *f)
{
	return f->shape.generations + !f->retired;
}

EPF_FN bool epf_dict_live(const struct epf_dict *f, __u64 tag)
{
	return epf_dict_age(f, tag) < epf_dict_counted(f);
}

EPF_FN __u32 epf_dict_mark_at(const struct epf_dict *f, const struct epf_dict_table *t,
			      enum epf_dict_mark mark)
{
	return t->map + (__u32)mark * (f->shape.tag_bits + 1);
}

/* Age of a mark of the first table; EPF_DICT_NEVER: not set or stale. */
EPF_FN __u32 epf_dict_marked(const struct epf_dict *f, const __u64 *bucket, enum epf_dict_mark mark)
{
	__u64 v = epf_dict_get(bucket, epf_dict_mark_at(f, &f->table[0], mark),
			       f->shape.tag_bits + 1);

	return v >> f->shape.tag_bits && epf_dict_live(f, v) ? epf_dict_age(f, v) : EPF_DICT_NEVER;
}

/* Something that had age @age, or EPF_DICT_NEVER, now belongs to the current generation; it
 * lets as many keys pass as @cells cells.
 */
EPF_FN void epf_dict_take(struct epf_dict *f, __u32 age, __u64 cells)
{
	__u32 mask = (1u << f->shape.tag_bits) - 1;
	__u64 *was;

	if (!f->room)
		return;
	epf_room_grow(f->room, f->now, cells);
	if (age == EPF_DICT_NEVER)
		return;
	f->room->grown -= cells;
	was = &f->room->share[(f->now - age) & mask];
	*was -= *was < cells ? *was : cells; /* the old number may be an estimate */
}

/* The number of cells that a bucket of the first table stands for. */
EPF_FN __u64 epf_dict_passes(const struct epf_dict *f)
{
	return (__u64)f->shape.slots << f->shape.rem_bits;
}

EPF_FN void epf_dict_mark(struct epf_dict *f, __u64 *bucket, enum epf_dict_mark mark)
{
	epf_dict_put(bucket, epf_dict_mark_at(f, &f->table[0], mark), f->shape.tag_bits + 1,
		     1ULL << f->shape.tag_bits | f->now);
}

/* Where the live cell of a place begins; 0: there is none. */
EPF_FN __u32 epf_dict_find(const struct epf_dict *f, const struct epf_dict_table *t,
			   const struct epf_dict_place *p)
{
	__u32 pos = epf_dict_start(p->bucket, p->slot);
	__u32 at = t->first + (pos - p->slot) * t->width;

	for (; p->bucket[pos >> 6] >> (pos & 63) & 1; pos++, at += t->width) {
		__u64 cell = epf_dict_get(p->bucket, at, t->width);

		if (cell >> f->shape.tag_bits == p->rem && epf_dict_live(f, cell))
			return at;
	}
	return 0;
}

/* Put a cell of the current generation into a bucket that has room. */
EPF_FN void epf_dict_add(struct epf_dict *f, const struct epf_dict_table *t,
			 const struct epf_dict_place *p)
{
	__u32 pos = epf_dict_start(p->bucket, p->slot);
	__u32 at = t->first + (pos - p->slot) * t->width;

	epf_dict_open(p->bucket, pos, t->map, 1);
	epf_dict_put(p->bucket, pos, 1, 1);
	epf_dict_open(p->bucket, at, t->first + t->cells * t->width, t->width);
	epf_dict_put(p->bucket, at, t->width, p->rem << f->shape.tag_bits | f->now);
	epf_dict_take(f, EPF_DICT_NEVER, 1);
}

/* Replace the map of a bucket. */
EPF_FN void epf_dict_remap(const struct epf_dict_table *t, __u64 *bucket, const __u64 *map)
{
	__u64 mask = (1ULL << (t->map & 63)) - 1;
	__u32 i;

	for (i = 0; i < t->map >> 6; i++)
		bucket[i] = map[i];
	bucket[i] = (bucket[i] & ~mask) | map[i];
}

EPF_FN void epf_dict_clean_mark(struct epf_dict *f, __u64 *bucket, enum epf_dict_mark mark)
{
	if (epf_dict_marked(f, bucket, mark) == EPF_DICT_NEVER)
		epf_dict_put(bucket, epf_dict_mark_at(f, &f->table[0], mark), f->shape.tag_bits + 1,
			     0);
}

/* Remove the stale cells from a bucket. Return: cells left. */
EPF_FN_BIG __u32 epf_dict_clean(struct epf_dict *f, const struct epf_dict_table *t, __u64 *bucket)
{
	__u64 map[8 * EPF_DICT_LINES_MAX] = { 0 };
	__u32 pos, from = t->first, left = 0, slot = 0;

	for (pos = 0; slot < t->slots; pos++) {
		__u64 cell;

		if (!(bucket[pos >> 6] >> (pos & 63) & 1)) {
			slot++;
			continue;
		}
		cell = epf_dict_get(bucket, from, t->width);
		from += t->width;
		if (!epf_dict_live(f, cell))
			continue;
		epf_dict_put(bucket, t->first + left * t->width, t->width, cell);
		map[(slot + left) >> 6] |= 1ULL << ((slot + left) & 63);
		left++;
	}
	epf_dict_remap(t, bucket, map);
	return left;
}

EPF_FN __u64 *epf_dict_bucket(const struct epf_dict *f, __u64 nr)
{
	return f->word + nr * 8 * f->shape.lines;
}

/* Remove what is stale from bucket @nr of both tables; those of the backyard come after the
 * others.
 */
EPF_FN_BIG void epf_dict_tidy(struct epf_dict *f, __u64 nr)
{
	bool yard = nr >= f->shape.buckets;
	__u64 *bucket = epf_dict_bucket(f, nr);

	epf_dict_clean(f, &f->table[yard], bucket);
	if (!yard) {
		epf_dict_clean_mark(f, bucket, EPF_DICT_SPILL);
		epf_dict_clean_mark(f, bucket, EPF_DICT_PASS);
	}
}

/* Can bucket @nr belong to this kind? The functions here only rely on its map having no
 * more ones than there are cells: so every slot has its zero, and no search leaves the map.
 * Everything else in it is keys.
 */
EPF_FN bool epf_dict_sound(const struct epf_dict *f, __u64 nr)
{
	const struct epf_dict_table *t = &f->table[nr >= f->shape.buckets];

	return epf_dict_used(t, epf_dict_bucket(f, nr)) <= t->cells;
}

/* The scan visits a bucket. */
EPF_FN_BIG void epf_dict_visit(struct epf_dict *f)
{
	epf_dict_tidy(f, f->scan);
	f->visited++;
	if (++f->scan == f->shape.buckets + f->shape.yard)
		f->scan = 0;
}

/* Do two cells of the scan; a bucket is visited when all of its cells are due. */
EPF_FN void epf_dict_step(struct epf_dict *f)
{
	f->due += EPF_DICT_SCAN;
	if (f->due < f->table[0].cells)
		return;
	f->due -= f->table[0].cells;
	epf_dict_visit(f);
}

/* The place of a key in the first table, and its two in the backyard. */
EPF_FN void epf_dict_place(const struct epf_dict *f, struct epf_dict_place *p, __u64 digest)
{
	const struct epf_dict_table *t = &f->table[0];
	__u64 nr = epf_mul(digest, t->buckets, &digest);

	p->bucket = epf_dict_bucket(f, nr);
	p->slot = (__u32)epf_mul(digest, t->slots, &digest);
	p->rem = digest >> (64 - t->rem_bits);
}

EPF_FN void epf_dict_places(const struct epf_dict *f, struct epf_dict_place p[2], __u64 digest)
{
	const struct epf_dict_table *t = &f->table[1];
	__u64 part = epf_word(digest, 1);
	__u64 nr = f->shape.buckets + epf_mul(part, t->buckets, &part);

	p[0].bucket = epf_dict_bucket(f, nr);
	p[0].slot = (__u32)epf_mul(part, t->slots, &part);
	p[0].rem = part >> (64 - t->rem_bits);
	p[1] = p[0];
	nr = f->shape.buckets + epf_mulhi(epf_word(digest, 2), t->buckets);
	p[1].bucket = epf_dict_bucket(f, nr);
}

/* Put the current generation into the cell of a place. Return: is there one? */
EPF_FN bool epf_dict_renew(struct epf_dict *f, const struct epf_dict_table *t,
			   const struct epf_dict_place *p)
{
	__u32 at = epf_dict_find(f, t, p);

	if (at) {
		epf_dict_take(f, epf_dict_age(f, epf_dict_get(p->bucket, at, f->shape.tag_bits)),
			      1);
		epf_dict_put(p->bucket, at, f->shape.tag_bits, f->now);
	}
	return at;
}

/* Is there, after removing stale cells, room for one more? */
EPF_FN bool epf_dict_room(struct epf_dict *f, const struct epf_dict_table *t, __u64 *bucket)
{
	return epf_dict_used(t, bucket) < t->cells || epf_dict_clean(f, t, bucket) < t->cells;
}

/* Put a key into the backyard, in the bucket with fewer live cells. Return: did it have
 * room?
 */
EPF_FN_BIG bool epf_dict_spill(struct epf_dict *f, const struct epf_dict_place p[2])
{
	const struct epf_dict_table *t = &f->table[1];
	__u32 a = epf_dict_clean(f, t, p[0].bucket);
	__u32 b = epf_dict_clean(f, t, p[1].bucket);

	if ((a < b ? a : b) >= t->cells)
		return false;
	epf_dict_add(f, t, &p[b < a]);
	return true;
}

/* Every key of the bucket is present from now on. */
EPF_FN void epf_dict_pass(struct epf_dict *f, __u64 *bucket)
{
	epf_dict_take(f, epf_dict_marked(f, bucket, EPF_DICT_PASS), epf_dict_passes(f));
	epf_dict_mark(f, bucket, EPF_DICT_PASS);
}

/* Insert a key that is not in its bucket: in the backyard if it is there, then in the
 * bucket if that has room, then in the backyard. A key of the backyard keeps the spill mark
 * of its bucket young.
 */
EPF_FN_BIG void epf_dict_insert_new(struct epf_dict *f, __u64 digest,
				    const struct epf_dict_place *home)
{
	bool spilt = epf_dict_marked(f, home->bucket, EPF_DICT_SPILL) != EPF_DICT_NEVER;
	bool room = epf_dict_room(f, &f->table[0], home->bucket);
	struct epf_dict_place p[2];

	if (room && !spilt) {
		epf_dict_add(f, &f->table[0], home);
		return;
	}
	epf_dict_places(f, p, digest);
	if (epf_dict_renew(f, &f->table[1], &p[0]) || epf_dict_renew(f, &f->table[1], &p[1]))
		epf_dict_mark(f, home->bucket, EPF_DICT_SPILL);
	else if (room)
		epf_dict_add(f, &f->table[0], home);
	else if (epf_dict_spill(f, p))
		epf_dict_mark(f, home->bucket, EPF_DICT_SPILL);
	else
		epf_dict_pass(f, home->bucket);
}

/**
 * epf_dict_insert() - insert a digest into the current generation
 * @f: filter
 * @digest: of the key
 */
EPF_FN void epf_dict_insert(struct epf_dict *f, __u64 digest)
{
	struct epf_dict_place home;

	epf_dict_step(f);
	epf_dict_place(f, &home, digest);
	if (!epf_dict_renew(f, &f->table[0], &home))
		epf_dict_insert_new(f, digest, &home);
}

/* Age of the live cell of a place. */
EPF_FN __u32 epf_dict_ask(const struct epf_dict *f, const struct epf_dict_table *t,
			  const struct epf_dict_place *p)
{
	__u32 at = epf_dict_find(f, t, p);

	return at ? epf_dict_age(f, epf_dict_get(p->bucket, at, f->shape.tag_bits)) :
		    EPF_DICT_NEVER;
}

/* The younger age in the two buckets of the backyard. */
EPF_FN_BIG __u32 epf_dict_ask_yard(const struct epf_dict *f, __u64 digest)
{
	struct epf_dict_place p[2];
	__u32 a, b;

	epf_dict_places(f, p, digest);
	a = epf_dict_ask(f, &f->table[1], &p[0]);
	b = epf_dict_ask(f, &f->table[1], &p[1]);
	return a < b ? a : b;
}

/**
 * epf_dict_test() - was the digest inserted inside the window?
 * @f: filter
 * @digest: of the key
 *
 * Return: EPF_ABSENT, or EPF_PRESENT + age in generations, 0 .. c.
 */
EPF_FN int epf_dict_test(const struct epf_dict *f, __u64 digest)
{
	struct epf_dict_place home;
	__u32 age, other;

	epf_dict_place(f, &home, digest);
	age = epf_dict_ask(f, &f->table[0], &home);
	other = epf_dict_marked(f, home.bucket, EPF_DICT_PASS);
	if (other < age)
		age = other;
	if (epf_dict_marked(f, home.bucket, EPF_DICT_SPILL) < age) {
		other = epf_dict_ask_yard(f, digest);
		if (other < age)
			age = other;
	}
	return age == EPF_DICT_NEVER ? EPF_ABSENT : EPF_PRESENT + (int)age;
}

/**
 * epf_dict_retire() - stop counting the oldest generation
 * @f: filter, whose current generation is complete
 */
EPF_FN void epf_dict_retire(struct epf_dict *f)
{
	f->retired = 1;
}

/* Have enough buckets been visited, so that no old tag becomes valid again? */
EPF_FN bool epf_dict_swept(const struct epf_dict *f)
{
	__u64 passes = (1u << f->shape.tag_bits) - f->shape.generations - 1;

	return f->visited * passes >= f->shape.buckets + f->shape.yard;
}

/**
 * epf_dict_sweep() - visit the buckets that insertions did not visit
 * @f: filter, retired
 * @at: what the last call returned; 0 to begin with
 * @n: largest number of words to visit, 1 and up; at least one bucket is visited
 *
 * Return: @at of the next call; 0: done.
 */
EPF_FN __u64 epf_dict_sweep(struct epf_dict *f, __u64 at, __u64 n)
{
	__u64 words = 8 * f->shape.lines;

	(void)at; /* the place is @f->scan, which insertions also move */
	for (; n && !epf_dict_swept(f); n -= n < words ? n : words)
		epf_dict_visit(f);
	return epf_dict_swept(f) ? 0 : f->visited;
}

/**
 * epf_dict_advance() - the next generation begins
 * @f: filter, retired and swept
 */
EPF_FN void epf_dict_advance(struct epf_dict *f)
{
	f->now = (f->now + 1) & ((1u << f->shape.tag_bits) - 1);
	f->visited = 0;
	f->retired = 0;
	if (f->room)
		epf_room_next(f->room, f->now);
}

/**
 * epf_dict_rotate() - end the current generation at once
 * @f: filter
 */
EPF_FN void epf_dict_rotate(struct epf_dict *f)
{
	epf_dict_retire(f);
	epf_dict_sweep(f, 0, ~0ULL);
	epf_dict_advance(f);
}

#endif /* EPF_DICT_H */
