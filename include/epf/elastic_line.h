/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lines of the kind elastic: layout, reading, writing. elastic.h explains their use.
 *
 * A line of 16 words (128 bytes, two adjacent cache lines) or 8, from the lowest bit of the
 * first word on:
 *
 *   64 or 128 bits  bucket b has items                     words 0 (and 1)
 *   48 bits         head, see enum epf_elastic_head        word "first": 1 or 2
 *   0 or 8 bits     epochs accepted whole, bit = tag; only with the head's flag
 *   4 bits an item  last of its bucket (bit 0), tag (bits 1 .. 3)
 *   free            zeros
 *   w bits an item  remainders, the first item's topmost
 *
 * In the head an epoch without items has the least width; unused fields are 0. New items
 * come first in their bucket.
 *
 * Reading works on a line while others write it: the head, which is one word, bounds all
 * indices. Writing works on an unpacked copy.
 */
#ifndef EPF_ELASTIC_LINE_H
#define EPF_ELASTIC_LINE_H

#include "lanes.h"

#define EPF_ELASTIC_WORDS_MAX 16u /* of a line */
#define EPF_ELASTIC_WIDTH_MAX 15u /* the remainder of a key */

/**
 * enum epf_elastic_head - first bit of each field of a head
 * @EPF_ELASTIC_LOCK: 1 bit
 * @EPF_ELASTIC_WHOLE: 1 bit, some epochs are accepted whole
 * @EPF_ELASTIC_STAMP: 10 bits
 * @EPF_ELASTIC_COUNT: 8 bits, items; at most 212 fit
 * @EPF_ELASTIC_LEAST: 4 bits, the least width
 * @EPF_ELASTIC_MORE: 8 times 3 bits, the width of each tag above the least
 * @EPF_ELASTIC_REST: first bit after the head
 */
enum epf_elastic_head {
	EPF_ELASTIC_LOCK = 0,
	EPF_ELASTIC_WHOLE = 1,
	EPF_ELASTIC_STAMP = 2,
	EPF_ELASTIC_COUNT = 12,
	EPF_ELASTIC_LEAST = 20,
	EPF_ELASTIC_MORE = 24,
	EPF_ELASTIC_REST = 48,
};

#define EPF_ELASTIC_STAMPS 1024u
#define EPF_ELASTIC_HEAD_ITEMS 12u /* size of the head, in items */
#define EPF_ELASTIC_WHOLE_ITEMS 2u /* size of the epochs accepted whole, in items */
#define EPF_ELASTIC_BYTES 0x0101010101010101ULL
#define EPF_ELASTIC_NIBBLES 0x1111111111111111ULL

/* A head, unpacked. */
struct epf_elastic_line {
	__u64 wide;           /* width of tag t in byte t */
	__u64 of[4], flip[4]; /* see epf_elastic_widths() */
	__u32 words;
	__u32 first; /* the word of the head */
	__u32 stamp;
	__u32 count;
	__u32 whole;
	__u32 base; /* place of item 0, in 4 bits from word @first */
};

/* Set the widths of all tags. */
EPF_FN void epf_elastic_widen(struct epf_elastic_line *l, __u64 wide)
{
	__u32 t;

	l->wide = wide;
	for (t = 0; t < 4; t++) {
		l->of[t] = (wide >> 8 * t & 15) * EPF_ELASTIC_NIBBLES;
		l->flip[t] = l->of[t] ^ (wide >> (8 * t + 32) & 15) * EPF_ELASTIC_NIBBLES;
	}
}

EPF_FN void epf_elastic_unpack(struct epf_elastic_line *l, __u32 words, __u64 head)
{
	__u64 wide = head >> EPF_ELASTIC_MORE & 0xffffff;

	wide = (wide | wide << 20) & 0x00000fff00000fffULL;
	wide = (wide | wide << 10) & 0x003f003f003f003fULL;
	wide = (wide | wide << 5) & 0x0707070707070707ULL;
	epf_elastic_widen(l, wide + (head >> EPF_ELASTIC_LEAST & 15) * EPF_ELASTIC_BYTES);
	l->words = words;
	l->first = words >> 3;
	l->stamp = head >> EPF_ELASTIC_STAMP & (EPF_ELASTIC_STAMPS - 1);
	l->count = head >> EPF_ELASTIC_COUNT & 255;
	l->whole = 0;
	l->base = EPF_ELASTIC_HEAD_ITEMS;
	if (head >> EPF_ELASTIC_WHOLE & 1) {
		l->whole = head >> EPF_ELASTIC_REST & 255;
		l->base += EPF_ELASTIC_WHOLE_ITEMS;
	}
}

/* Width of the epoch of an item. */
EPF_FN __u32 epf_elastic_width(const struct epf_elastic_line *l, __u64 item)
{
	return l->wide >> (item & 14) * 4 & 15;
}

/* Sum of the eight bytes, below 256. */
EPF_FN __u32 epf_elastic_sum(__u64 bytes)
{
	return (__u32)(bytes * EPF_ELASTIC_BYTES >> 56);
}

EPF_FN __u64 epf_elastic_below(__u32 n)
{
	return (1ULL << (n & 63)) - 1;
}

/* Buckets before @bucket that have items. */
EPF_FN __u32 epf_elastic_rank(const __u64 *line, __u32 bucket)
{
	__u64 part = epf_load_acquire(line + (bucket >> 6));
	__u32 rank = epf_popcount(part & epf_elastic_below(bucket));

	return bucket >> 6 ? rank + epf_popcount(epf_load_acquire(line)) : rank;
}

/* First item after those of @rank buckets, in 4 bits from word @first. This counts the ends
 * of buckets by bytes, and finds the byte and then the half in which the count is reached.
 */
EPF_FN __u32 epf_elastic_start(const __u64 *line, const struct epf_elastic_line *l, __u32 rank)
{
	__u64 x, sums;
	__u32 k, bytes, before;

	x = epf_load_acquire(line + l->first) >> 4 * l->base << 4 * l->base;
	if (!rank)
		return l->base;
	for (k = l->first;; x = epf_load_acquire(line + k)) {
		sums = x & EPF_ELASTIC_NIBBLES;
		sums = ((sums + (sums >> 4)) & 0x0303030303030303ULL) * EPF_ELASTIC_BYTES;
		if (rank <= sums >> 56 || ++k == l->words)
			break;
		rank -= (__u32)(sums >> 56);
	}
	bytes = epf_elastic_sum(~((sums | 0x80 * EPF_ELASTIC_BYTES) - rank * EPF_ELASTIC_BYTES) >>
					7 &
				EPF_ELASTIC_BYTES) &
		7;
	before = (__u32)(sums << 8 >> 8 * bytes & 255);
	before += x >> 8 * bytes & 1;
	return 16 * (k - l->first) + 2 * bytes + 1 + (before < rank);
}

/* Replaces 16 items by their widths: the tag's bits, the highest first, select one of
 * eight, then of four, then of two.
 */
EPF_FN __u64 epf_elastic_widths(const struct epf_elastic_line *l, __u64 x)
{
	__u64 m = (x >> 3 & EPF_ELASTIC_NIBBLES) * 15;
	__u64 a = l->of[0] ^ (l->flip[0] & m), b = l->of[1] ^ (l->flip[1] & m);
	__u64 c = l->of[2] ^ (l->flip[2] & m), d = l->of[3] ^ (l->flip[3] & m);

	m = (x >> 2 & EPF_ELASTIC_NIBBLES) * 15;
	a ^= (a ^ c) & m;
	b ^= (b ^ d) & m;
	return a ^ ((a ^ b) & (x >> 1 & EPF_ELASTIC_NIBBLES) * 15);
}

/* Sum of 16 widths. */
EPF_FN __u32 epf_elastic_bits(__u64 widths)
{
	return epf_elastic_sum((widths & 0x0f * EPF_ELASTIC_BYTES) +
			       (widths >> 4 & 0x0f * EPF_ELASTIC_BYTES));
}

/* Bits of the remainders of all items before item @to. *@bits: the same for the items
 * before item @part, which is at most @to.
 */
EPF_FN __u32 epf_elastic_span(const __u64 *line, const struct epf_elastic_line *l, __u32 to,
			      __u32 part, __u32 *bits)
{
	__u64 keep = ~0ULL << 4 * l->base, x;
	__u32 sum = 0, k;

	*bits = 0;
	for (k = 0; 16 * k < to; k++) {
		x = epf_load_acquire(line + l->first + k);
		x = epf_elastic_widths(l, x) & keep;
		keep = ~0ULL;
		if (16 * k + 16 > to)
			x &= epf_elastic_below(4 * to);
		if (part >> 4 == k)
			*bits = sum + epf_elastic_bits(x & epf_elastic_below(4 * part));
		sum += epf_elastic_bits(x);
	}
	if (part >> 4 == k)
		*bits = sum;
	return sum;
}

/* @width bits from bit @at on, @width up to 15. */
EPF_FN __u32 epf_elastic_get(const __u64 *line, __u32 mask, __u32 at, __u32 width)
{
	__u64 low = epf_load_acquire(line + (at >> 6 & mask)) >> (at & 63);
	__u64 high = epf_load_acquire(line + (((at >> 6) + 1) & mask));

	return (__u32)((low | high << 1 << (63 - (at & 63))) & epf_elastic_below(width));
}

/* Age of the epoch with @tag, if the line is @lag epochs old. */
EPF_FN __u32 epf_elastic_age(const struct epf_elastic_line *l, __u32 lag, __u32 tag)
{
	return lag + ((l->stamp - tag) & 7);
}

/* Where the items of a bucket begin or would begin. */
struct epf_elastic_place {
	__u32 item;
	__u32 top; /* first bit above their remainders */
};

/* Return: bits of the remainders of the line, if @all; otherwise the result is meaningless.
 */
EPF_FN __u32 epf_elastic_find(struct epf_elastic_place *p, const __u64 *line,
			      const struct epf_elastic_line *l, __u32 bucket, bool all)
{
	__u32 end = l->base + l->count, part, used;

	p->item = epf_elastic_start(line, l, epf_elastic_rank(line, bucket));
	if (p->item > end)
		p->item = end; /* a torn line */
	used = epf_elastic_span(line, l, all ? end : p->item, p->item, &part);
	p->top = l->words * 64 - part;
	return used;
}

/* A locked line, unpacked: @item has its buckets and items, @rest its remainders, each at
 * its position and zeros elsewhere. Of the two additional words the first takes bits beyond
 * the end, the second what a width of 0 puts after it.
 */
struct epf_elastic_work {
	struct epf_elastic_line l;
	__u32 tag;    /* of the current epoch */
	__u64 widths; /* the fields LEAST and MORE of the head */
	__u64 item[EPF_ELASTIC_WORDS_MAX + 2];
	__u64 rest[EPF_ELASTIC_WORDS_MAX + 2];
};

#define EPF_ELASTIC_WIDTHS ((1ULL << EPF_ELASTIC_REST) - (1ULL << EPF_ELASTIC_LEAST))

/* Bit of item @i. */
EPF_FN __u32 epf_elastic_bit(const struct epf_elastic_line *l, __u32 i)
{
	return 64 * l->first + 4 * i;
}

/* Bits for items and remainders, if @whole epochs are accepted whole. */
EPF_FN __u32 epf_elastic_room(const struct epf_elastic_line *l, __u32 whole)
{
	__u32 base = EPF_ELASTIC_HEAD_ITEMS;

	return 64 * (l->words - l->first) - 4 * (whole ? base + EPF_ELASTIC_WHOLE_ITEMS : base);
}

/* @used: bits of the remainders. */
EPF_FN void epf_elastic_open(struct epf_elastic_work *w, const __u64 *line, __u32 used)
{
	__u32 end = epf_elastic_bit(&w->l, w->l.base + w->l.count);
	__u32 low = 64 * w->l.words - used;
	__u32 k;

	memset(w->item, 0, sizeof(w->item));
	memset(w->rest, 0, sizeof(w->rest));
	for (k = 0; 64 * k < end; k++)
		w->item[k] = epf_load(line + k);
	if (end & 63)
		w->item[k - 1] &= epf_elastic_below(end);
	for (k = low >> 6; k < w->l.words; k++)
		w->rest[k] = epf_load(line + k);
	w->rest[low >> 6] &= ~epf_elastic_below(low);
}

/* Write all words except the head's. Return: the head's word. */
EPF_FN __u64 epf_elastic_close(const struct epf_elastic_work *w, __u64 *line, __u64 phase)
{
	const struct epf_elastic_line *l = &w->l;
	__u64 head = w->item[l->first] | w->rest[l->first];
	__u32 k;

	for (k = 0; k < l->words; k++)
		if (k != l->first)
			epf_store_release(line + k, w->item[k] | w->rest[k]);
	head &= ~epf_elastic_below(4 * l->base);
	if (l->whole)
		head |= (__u64)l->whole << EPF_ELASTIC_REST | 1ULL << EPF_ELASTIC_WHOLE;
	return head | w->widths | (__u64)l->count << EPF_ELASTIC_COUNT |
	       (phase >> 1 & (EPF_ELASTIC_STAMPS - 1)) << EPF_ELASTIC_STAMP;
}

/* Insert 4 bits at bit @at; all items from there on move up. */
EPF_FN void epf_elastic_push_item(struct epf_elastic_work *w, __u32 at, __u64 item)
{
	__u32 k = epf_elastic_bit(&w->l, w->l.base + w->l.count) >> 6;
	__u64 below = epf_elastic_below(at), x;

	for (; k > at >> 6; k--)
		w->item[k] = w->item[k] << 4 | w->item[k - 1] >> 60;
	x = w->item[k];
	w->item[k] = (x & below) | (x & ~below) << 4 | item << (at & 63);
}

/* Insert @width bits below bit @top; all remainders there, @used bits of them in all, move
 * down.
 */
EPF_FN void epf_elastic_push_rest(struct epf_elastic_work *w, __u32 top, __u32 used, __u32 width,
				  __u64 value)
{
	__u32 k = (64 * w->l.words - used - width) >> 6, at = top - width;
	__u64 below = epf_elastic_below(top), part = w->rest[top >> 6] & below;

	if (!width)
		return;
	w->rest[top >> 6] &= ~below;
	for (; k < top >> 6; k++)
		w->rest[k] = w->rest[k] >> width | (k + 1 == top >> 6 ? part : w->rest[k + 1])
							   << (64 - width);
	w->rest[k] |= part >> width;
	w->rest[at >> 6] |= value << (at & 63);
	w->rest[(at >> 6) + 1] |= value >> 1 >> (63 - (at & 63));
}

/* Number of items of tag t, in byte t. */
EPF_FN __u64 epf_elastic_tally(const struct epf_elastic_work *w)
{
	__u32 i = w->l.base, end = i + w->l.count;
	__u64 x = 0, n = 0;

	x = w->item[w->l.first] >> 4 * i;
	while (i < end) {
		n += 1ULL << (x & 14) * 4;
		x >>= 4;
		if (!(++i & 15))
			x = w->item[w->l.first + (i >> 4)];
	}
	return n;
}

/* OR @width bits into bit @at and up. */
EPF_FN void epf_elastic_put(__u64 *word, __u32 at, __u64 value)
{
	word[at >> 6] |= value << (at & 63);
	word[(at >> 6) + 1] |= value >> 1 >> (63 - (at & 63));
}

/* Rewrite the line: items of the tags of @n, in widths of @wide. There are no branches on
 * the ends of buckets, which no CPU predicts.
 */
EPF_FN_BIG void epf_elastic_repack(struct epf_elastic_work *w, __u64 n, __u64 wide, __u32 base)
{
	__u32 i = w->l.base, end = i + w->l.count, from = 64 * w->l.words;
	__u32 k = 0, to = epf_elastic_bit(&w->l, base), top = from, was, is;
	__u64 runs = w->item[0], x = w->item[w->l.first] >> 4 * i, v;
	__u64 some = 0, last; /* the bucket has items, and ends here: 0 or 1 */
	struct epf_elastic_work out;

	memset(out.item, 0, sizeof(out.item));
	memset(out.rest, 0, sizeof(out.rest));
	while (i < end) {
		was = epf_elastic_width(&w->l, x);
		from -= was;
		if (n >> (x & 14) * 4 & 255) {
			is = wide >> (x & 14) * 4 & 15;
			top -= is;
			v = epf_elastic_get(w->rest, 31, from, was);
			epf_elastic_put(out.rest, top, v >> (was - is));
			out.item[to >> 6] |= (x & 14) << (to & 63);
			to += 4;
			some = 1;
		}
		if (!runs)
			runs = w->item[++k];
		last = x & 1;
		out.item[(to - 4) >> 6] |= (some & last) << ((to - 4) & 63);
		out.item[k] |= (runs & -runs) & -(some & last);
		some &= ~last;
		runs &= runs - last;
		x >>= 4;
		if (!(++i & 15))
			x = w->item[w->l.first + (i >> 4)];
	}
	memcpy(w->item, out.item, sizeof(out.item));
	memcpy(w->rest, out.rest, sizeof(out.rest));
	w->l.base = base;
	w->l.count = (to - epf_elastic_bit(&w->l, base)) / 4;
	epf_elastic_widen(&w->l, wide);
}

#endif /* EPF_ELASTIC_LINE_H */
