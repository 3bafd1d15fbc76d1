/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kind dict: fingerprints with a generation, in a dictionary.
 *
 * Naor and Yogev, "Tight Bounds for Sliding Bloom Filters", section 2: a hash of
 * the key to [M], here M = buckets * slots * 2^rem_bits, is kept in a dictionary
 * with the generation of its last insertion. Of the current generation and the c
 * before it all fingerprints are kept, others count as deleted (2.4), and a scan
 * goes round two cells a step to take them out (2.5).
 *
 * Fingerprint. The digest as a fraction of 2^64 times buckets; of what is left
 * times slots; of what is left the top rem_bits. The whole parts are bucket and
 * slot, and neither is stored. Bucket of one or two lines, from bit 0:
 *
 *   map    slots + cells bits. For each slot as many ones as it has cells, then
 *          a zero: about two bits a cell tell what a remainder longer by
 *          log2(slots) would, and a search compares the cells of one slot, less
 *          than one in the mean. A word-parallel compare has nothing to do here.
 *   marks  spill and pass, each a generation and a bit: it is set
 *   cells  remainder << tag_bits | generation, in the order of their slots
 *
 * All zero: empty. Bits beyond the cells in use hold anything.
 *
 * Backyard. A fingerprint whose bucket is full of live cells goes to one of two
 * buckets of a second table, the emptier, and the spill mark of its own bucket
 * gets its generation; while that lasts, tests and inserts look there too. Its
 * place comes from words 1 and 2 of the digest, with so many bits that two keys
 * agree with a chance of at most 1/M (epf_dict_tables()).
 *
 * Overflow. If both buckets are full as well, the pass mark of the key's own
 * bucket gets the current generation, and until that one has left the window
 * every key of the bucket is present. So an insertion never fails and no key is
 * lost; the price is a share 1/buckets of all keys, see docs/theory/dict.md.
 *
 * Tags do not come round. Generation g counts until the retirement at the end
 * of g + c, and its tag is used again when g + 2^tag_bits begins. In between lie
 * P = 2^tag_bits - c - 1 whole generations, in each of which at least 1/P of all
 * buckets is visited, in a cyclic order: so all are, and whatever carries the
 * old tag is gone. At two cells an insertion and n/c insertions a generation a
 * visit of all takes .6 (c + 1) generations, if there are 1.2 cells for each of
 * the n + n/c keys: 3 of P = 3 (c = 4, 3 bits), 6 of 6 (c = 9, 4 bits), 12 of 12
 * (c = 19, 5 bits), 24 of 24 (c = 39, 6 bits). Then epf_dict_sweep() has nothing
 * left to do and rotation is O(1). Where generations are shorter than that, or
 * empty, it visits what is missing.
 *
 * The filter is owned: one caller at a time is inside these functions.
 *
 * Window law: retire only when the current generation is complete. Then the keys
 * of c complete generations are found at every moment: from the retirement on
 * those of the current one and of c - 1 before it, otherwise of c before it.
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
#define EPF_DICT_CELL_MAX 62u	   /* bits */
#define EPF_DICT_CELLS_MIN 4u	   /* of a bucket */
#define EPF_DICT_LINES_MAX 2u
#define EPF_DICT_BUCKETS_MAX (1ULL << 30)
#define EPF_DICT_WORDS_MAX (1ULL << 34) /* 128 GiB */

/**
 * struct epf_dict_shape - what the creator chooses
 * @buckets: of the first table, 1 .. EPF_DICT_BUCKETS_MAX
 * @yard: of the backyard, 1 .. EPF_DICT_BUCKETS_MAX
 * @generations: c, complete generations that make the window: 2 and up, at most
 *	2^tag_bits - 2
 * @tag_bits: bits of a generation, EPF_DICT_TAG_MIN .. EPF_DICT_TAG_MAX
 * @rem_bits: bits of a remainder in the first table, 1 .. EPF_DICT_REM_MAX
 * @slots: of a bucket of the first table, 1 and up, so that at least
 *	EPF_DICT_CELLS_MIN cells are left
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
	__u32 width;	/* bits of a cell */
	__u32 map;	/* bits of the map: where the marks begin */
	__u32 first;	/* where the cells begin */
};

/**
 * struct epf_dict - a filter, by reference; trivially copyable
 * @word: epf_dict_words() words, zeroed, 64-byte aligned, owned by the caller
 * @shape: checked
 * @table: the first table and the backyard
 * @scan: bucket that is visited next, those of the backyard after the others
 * @visited: buckets since the current generation began
 * @due: cells that the scan may visit
 * @now: tag of the current generation
 * @retired: the oldest generation counts no more
 * @room: NULL: nothing is counted; by tag
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

/* Where a key belongs in a table. */
struct epf_dict_place {
	__u64 *bucket;
	__u64 rem;
	__u32 slot;
};

#define EPF_DICT_NEVER 0xffffffffu /* an age */

/* What of a bucket is neither map nor cells. */
EPF_FN __u32 epf_dict_marks(const struct epf_dict_shape *s)
{
	return 2 * (s->tag_bits + 1);
}

/* Set out @t, of which buckets, slots and rem_bits are set. Return: is there
 * room for cells?
 */
EPF_FN bool epf_dict_set_out(struct epf_dict_table *t,
			     const struct epf_dict_shape *s)
{
	__u32 bits = s->lines * 512 - epf_dict_marks(s);

	t->width = t->rem_bits + s->tag_bits;
	t->cells = t->slots < bits ? (bits - t->slots) / (t->width + 1) : 0;
	t->map = t->slots + t->cells;
	t->first = t->map + epf_dict_marks(s);
	return t->cells >= EPF_DICT_CELLS_MIN &&
	       t->width <= EPF_DICT_CELL_MAX &&
	       t->buckets * t->slots <= ~0ULL >> t->rem_bits;
}

/* The backyard with remainders of @rem_bits; a slot a cell, and the rest. */
EPF_FN bool epf_dict_yard(struct epf_dict_table *t,
			  const struct epf_dict_shape *s, __u32 rem_bits)
{
	__u32 bits = s->lines * 512 - epf_dict_marks(s);
	__u32 width = rem_bits + s->tag_bits;

	t->buckets = s->yard;
	t->rem_bits = rem_bits;
	t->slots = bits - bits / (width + 2) * (width + 1);
	return epf_dict_set_out(t, s);
}

/* Both tables. A key agrees with one stored in the first table with a chance of
 * 1/M. With one stored in the backyard it agrees if that lies in one of the two
 * buckets it asks, with a chance of 2 / (buckets * slots * 2^rem_bits) there:
 * remainders are the shortest that keep this at 1/M too.
 */
EPF_FN bool epf_dict_tables(struct epf_dict_table t[2],
			    const struct epf_dict_shape *s)
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
	       s->yard <= EPF_DICT_BUCKETS_MAX && s->lines &&
	       s->lines <= EPF_DICT_LINES_MAX && s->slots &&
	       s->slots < 512 * s->lines && s->rem_bits &&
	       s->rem_bits <= EPF_DICT_REM_MAX &&
	       s->tag_bits >= EPF_DICT_TAG_MIN &&
	       s->tag_bits <= EPF_DICT_TAG_MAX &&
	       s->generations >= EPF_DICT_GENERATIONS_MIN &&
	       s->generations <= (1u << s->tag_bits) - 2;
}

/**
 * epf_dict_words() - memory of a filter
 * @s: any numbers
 *
 * Return: words, a multiple of 8; 0 when a number is out of its range or the
 * filter larger than EPF_DICT_WORDS_MAX.
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
 * @f: all but @f->word is set
 * @s: shape
 *
 * Return: 0, or -EINVAL where epf_dict_words() is 0.
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
		word[1] = (word[1] & ~(mask >> (64 - shift))) |
			  v >> (64 - shift);
}

/* Move bits @at .. @end - @n - 1 up by @n, 1 .. 63. What is then in the gap is
 * not defined: the caller fills it.
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

/* Position of one of the bits set, of which @below are below it. */
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

/* Where in the map the cells of @slot begin; the first of them is the cell of
 * that number less @slot.
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

/* Cells in use. */
EPF_FN __u32 epf_dict_used(const struct epf_dict_table *t, const __u64 *bucket)
{
	__u32 i, n = 0;

	for (i = 0; i < t->map >> 6; i++)
		n += epf_popcount(bucket[i]);
	return n + epf_popcount(bucket[i] & ((1ULL << (t->map & 63)) - 1));
}

/* Age of what bears @tag; it counts below epf_dict_counted(). */
EPF_FN __u32 epf_dict_age(const struct epf_dict *f, __u64 tag)
{
	return (f->now - (__u32)tag) & ((1u << f->shape.tag_bits) - 1);
}

/* Generations that count, of which the youngest has age 0. */
EPF_FN __u32 epf_dict_counted(const struct epf_dict *f)
{
	return f->shape.generations + !f->retired;
}

EPF_FN bool epf_dict_live(const struct epf_dict *f, __u64 tag)
{
	return epf_dict_age(f, tag) < epf_dict_counted(f);
}

EPF_FN __u32 epf_dict_mark_at(const struct epf_dict *f,
			      const struct epf_dict_table *t,
			      enum epf_dict_mark mark)
{
	return t->map + (__u32)mark * (f->shape.tag_bits + 1);
}

/* Age of a mark of the first table; EPF_DICT_NEVER: not set or stale. */
EPF_FN __u32 epf_dict_marked(const struct epf_dict *f, const __u64 *bucket,
			     enum epf_dict_mark mark)
{
	__u64 v = epf_dict_get(bucket,
			       epf_dict_mark_at(f, &f->table[0], mark),
			       f->shape.tag_bits + 1);

	return v >> f->shape.tag_bits && epf_dict_live(f, v) ?
		       epf_dict_age(f, v) : EPF_DICT_NEVER;
}

/* Something that was of age @age, or EPF_DICT_NEVER, is of the current generation
 * from now on; it lets as many keys pass as @cells cells.
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
	*was -= *was < cells ? *was : cells; /* it may have been estimated */
}

/* Cells that a bucket of the first table stands for. */
EPF_FN __u64 epf_dict_passes(const struct epf_dict *f)
{
	return (__u64)f->shape.slots << f->shape.rem_bits;
}

EPF_FN void epf_dict_mark(struct epf_dict *f, __u64 *bucket,
			  enum epf_dict_mark mark)
{
	epf_dict_put(bucket, epf_dict_mark_at(f, &f->table[0], mark),
		     f->shape.tag_bits + 1,
		     1ULL << f->shape.tag_bits | f->now);
}

/* Where the live cell of a place begins; 0: there is none. */
EPF_FN __u32 epf_dict_find(const struct epf_dict *f,
			   const struct epf_dict_table *t,
			   const struct epf_dict_place *p)
{
	__u32 pos = epf_dict_start(p->bucket, p->slot);
	__u32 at = t->first + (pos - p->slot) * t->width;

	for (; p->bucket[pos >> 6] >> (pos & 63) & 1; pos++, at += t->width) {
		__u64 cell = epf_dict_get(p->bucket, at, t->width);

		if (cell >> f->shape.tag_bits == p->rem &&
		    epf_dict_live(f, cell))
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
	epf_dict_put(p->bucket, at, t->width,
		     p->rem << f->shape.tag_bits | f->now);
	epf_dict_take(f, EPF_DICT_NEVER, 1);
}

/* Replace the map of a bucket. */
EPF_FN void epf_dict_remap(const struct epf_dict_table *t, __u64 *bucket,
			   const __u64 *map)
{
	__u64 mask = (1ULL << (t->map & 63)) - 1;
	__u32 i;

	for (i = 0; i < t->map >> 6; i++)
		bucket[i] = map[i];
	bucket[i] = (bucket[i] & ~mask) | map[i];
}

EPF_FN void epf_dict_clean_mark(struct epf_dict *f, __u64 *bucket,
				enum epf_dict_mark mark)
{
	if (epf_dict_marked(f, bucket, mark) == EPF_DICT_NEVER)
		epf_dict_put(bucket,
			     epf_dict_mark_at(f, &f->table[0], mark),
			     f->shape.tag_bits + 1, 0);
}

/* Take the stale cells out of a bucket. Return: cells left. */
EPF_FN_BIG __u32 epf_dict_clean(struct epf_dict *f,
				const struct epf_dict_table *t, __u64 *bucket)
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
		epf_dict_put(bucket, t->first + left * t->width, t->width,
			     cell);
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

/* Bucket @nr of both tables, those of the backyard after the others, without
 * what is stale.
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

/* Can bucket @nr be this kind's? All that the functions here rest on is that its
 * map has no more ones than there are cells: so every slot has its zero, and no
 * search leaves the map. What else is in it are keys.
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

/* Two cells of the scan; a bucket is visited when all of its cells are due. */
EPF_FN void epf_dict_step(struct epf_dict *f)
{
	f->due += EPF_DICT_SCAN;
	if (f->due < f->table[0].cells)
		return;
	f->due -= f->table[0].cells;
	epf_dict_visit(f);
}

/* The place of a key in the first table, and its two in the backyard. */
EPF_FN void epf_dict_place(const struct epf_dict *f, struct epf_dict_place *p,
			   __u64 digest)
{
	const struct epf_dict_table *t = &f->table[0];
	__u64 nr = epf_mul(digest, t->buckets, &digest);

	p->bucket = epf_dict_bucket(f, nr);
	p->slot = (__u32)epf_mul(digest, t->slots, &digest);
	p->rem = digest >> (64 - t->rem_bits);
}

EPF_FN void epf_dict_places(const struct epf_dict *f,
			    struct epf_dict_place p[2], __u64 digest)
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

/* The current generation for the cell of a place. Return: is there one? */
EPF_FN bool epf_dict_renew(struct epf_dict *f, const struct epf_dict_table *t,
			   const struct epf_dict_place *p)
{
	__u32 at = epf_dict_find(f, t, p);

	if (at) {
		epf_dict_take(f, epf_dict_age(f, epf_dict_get(p->bucket, at,
							f->shape.tag_bits)),
			       1);
		epf_dict_put(p->bucket, at, f->shape.tag_bits, f->now);
	}
	return at;
}

/* Is there, after stale cells went, room for one more? */
EPF_FN bool epf_dict_room(struct epf_dict *f, const struct epf_dict_table *t,
			  __u64 *bucket)
{
	return epf_dict_used(t, bucket) < t->cells ||
	       epf_dict_clean(f, t, bucket) < t->cells;
}

/* Put a key into the backyard; the emptier bucket, by live cells. Return: had
 * it room?
 */
EPF_FN_BIG bool epf_dict_spill(struct epf_dict *f,
			       const struct epf_dict_place p[2])
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
	epf_dict_take(f, epf_dict_marked(f, bucket, EPF_DICT_PASS),
		       epf_dict_passes(f));
	epf_dict_mark(f, bucket, EPF_DICT_PASS);
}

/* A key that is not in its bucket: in the backyard if it is there, then in the
 * bucket if that has room, then in the backyard. A key of the backyard keeps
 * the spill mark of its bucket young.
 */
EPF_FN_BIG void epf_dict_insert_new(struct epf_dict *f, __u64 digest,
				    const struct epf_dict_place *home)
{
	bool spilt = epf_dict_marked(f, home->bucket, EPF_DICT_SPILL) !=
		     EPF_DICT_NEVER;
	bool room = epf_dict_room(f, &f->table[0], home->bucket);
	struct epf_dict_place p[2];

	if (room && !spilt) {
		epf_dict_add(f, &f->table[0], home);
		return;
	}
	epf_dict_places(f, p, digest);
	if (epf_dict_renew(f, &f->table[1], &p[0]) ||
	    epf_dict_renew(f, &f->table[1], &p[1]))
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
EPF_FN __u32 epf_dict_ask(const struct epf_dict *f,
			  const struct epf_dict_table *t,
			  const struct epf_dict_place *p)
{
	__u32 at = epf_dict_find(f, t, p);

	return at ? epf_dict_age(f, epf_dict_get(p->bucket, at,
						 f->shape.tag_bits)) :
		    EPF_DICT_NEVER;
}

/* The younger age of the two buckets of the backyard. */
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
 * epf_dict_retire() - the oldest generation counts no more
 * @f: filter, whose current generation is complete
 */
EPF_FN void epf_dict_retire(struct epf_dict *f)
{
	f->retired = 1;
}

/* Have so many buckets been visited that tags do not come round? */
EPF_FN bool epf_dict_swept(const struct epf_dict *f)
{
	__u64 passes = (1u << f->shape.tag_bits) - f->shape.generations - 1;

	return f->visited * passes >= f->shape.buckets + f->shape.yard;
}

/**
 * epf_dict_sweep() - visit the buckets that insertions left to visit
 * @f: filter, retired
 * @at: what the call before returned; 0 to begin with
 * @n: words to visit at most, 1 and up, and at least one bucket
 *
 * Return: @at of the next call; 0: done.
 */
EPF_FN __u64 epf_dict_sweep(struct epf_dict *f, __u64 at, __u64 n)
{
	__u64 words = 8 * f->shape.lines;

	(void)at; /* the place is @f->scan, which insertions move too */
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
