/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Digests: keyed 64-bit hashes of byte strings. Pure functions, no shared memory; any
 * context.
 *
 * SipHash-c-d (Aumasson and Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012,
 * section 2): c rounds a word, d rounds at the end, 64-bit output. EPF_HASH_SIPHASH13 is
 * c=1 d=3, EPF_HASH_SIPHASH24 is c=2 d=4.
 *
 * EPF_HASH_NH is for long keys; docs/theory/nh.md has definition and bounds. A key of up to
 * EPF_SHORT_MAX bytes is hashed as with EPF_HASH_SIPHASH13. In a longer key, NH (Black,
 * Halevi, Krawczyk, Krovetz and Rogaway, "UMAC: fast and secure message authentication",
 * CRYPTO 1999, section 4) with words of 64 bits compresses each block of EPF_NH_BLOCK bytes
 * (the last one may be shorter) to 16 bytes. These results and the length of the key are
 * the words of SipHash-1-3. The highest byte of SipHash's last word, which for a short key
 * is its length, is then EPF_NH_END.
 */
#ifndef EPF_HASH_H
#define EPF_HASH_H

#include "shim.h"

#include <linux/epochfilter.h>

#define EPF_SHORT_MAX 64u /* keys of up to so many bytes are never compressed */
#define EPF_NH_BLOCK 512u /* bytes compressed to 16 */
#define EPF_NH_WORDS (EPF_NH_BLOCK / 8)
#define EPF_NH_KEY 254u /* highest byte of SipHash's last word for key words, */
#define EPF_NH_END 255u /* and for compressed keys */

/**
 * struct epf_hash - a keyed digest function; see epf_hash_init()
 * @key: 128-bit secret
 * @kind: enum epf_hash_id
 * @nh: key words of EPF_HASH_NH, derived from @key; other kinds do not use them
 */
struct epf_hash {
	__u64 key[2];
	__u64 kind;
	__u64 nh[EPF_NH_WORDS];
};

/**
 * struct epf_sip - a digest in progress
 * @v: the four state words
 * @tail: bytes not yet hashed, little-endian, the low (@len mod 8) bytes
 * @len: bytes taken so far
 * @kind: as in struct epf_hash, but EPF_HASH_NH only if the key is compressed
 * @nh: EPF_HASH_NH: the sum of the current block
 * @even: EPF_HASH_NH: if the block has an odd number of words so far, the last of them,
 *	which waits for the next one
 */
struct epf_sip {
	__u64 v[4];
	__u64 tail;
	__u32 len;
	__u32 kind;
	struct epf_sum nh;
	__u64 even;
};

EPF_FN void epf_sip_round(struct epf_sip *s)
{
	s->v[0] += s->v[1];
	s->v[2] += s->v[3];
	s->v[1] = epf_rotl(s->v[1], 13) ^ s->v[0];
	s->v[3] = epf_rotl(s->v[3], 16) ^ s->v[2];
	s->v[0] = epf_rotl(s->v[0], 32);
	s->v[2] += s->v[1];
	s->v[0] += s->v[3];
	s->v[1] = epf_rotl(s->v[1], 17) ^ s->v[2];
	s->v[3] = epf_rotl(s->v[3], 21) ^ s->v[0];
	s->v[2] = epf_rotl(s->v[2], 32);
}

/* Absorb one whole word; the caller has no bytes waiting in the tail. */
EPF_FN void epf_sip_word(struct epf_sip *s, __u64 m)
{
	s->v[3] ^= m;
	epf_sip_round(s);
	if (s->kind == EPF_HASH_SIPHASH24)
		epf_sip_round(s);
	s->v[0] ^= m;
}

EPF_FN void epf_sip_start(struct epf_sip *s, const struct epf_hash *h, __u32 kind)
{
	/* "somepseudorandomlygeneratedbytes", section 2.1 of the paper */
	s->v[0] = h->key[0] ^ 0x736f6d6570736575ULL;
	s->v[1] = h->key[1] ^ 0x646f72616e646f6dULL;
	s->v[2] = h->key[0] ^ 0x6c7967656e657261ULL;
	s->v[3] = h->key[1] ^ 0x7465646279746573ULL;
	s->tail = 0;
	s->len = 0;
	s->kind = kind;
	epf_sum_zero(&s->nh);
	s->even = 0;
}

EPF_FN bool epf_hash_long(const struct epf_hash *h, __u32 len)
{
	return len > EPF_SHORT_MAX && h->kind == EPF_HASH_NH;
}

/**
 * epf_sip_init() - begin a digest
 * @s: digest in progress
 * @h: keyed function
 * @len: bytes of the key: the total that will be absorbed
 */
EPF_FN void epf_sip_init(struct epf_sip *s, const struct epf_hash *h, __u32 len)
{
	__u32 kind = (__u32)h->kind;

	if (kind == EPF_HASH_NH && len <= EPF_SHORT_MAX)
		kind = EPF_HASH_SIPHASH13;
	epf_sip_start(s, h, kind);
}

/* The digest of the absorbed words and the tail. */
EPF_FN __u64 epf_sip_end(struct epf_sip *s)
{
	epf_sip_word(s, s->tail | (__u64)s->len << 56);
	s->v[2] ^= 0xff;
	epf_sip_round(s);
	epf_sip_round(s);
	epf_sip_round(s);
	if (s->kind == EPF_HASH_SIPHASH24)
		epf_sip_round(s);
	return s->v[0] ^ s->v[1] ^ s->v[2] ^ s->v[3];
}

/* Key word @i of NH. */
EPF_FN __u64 epf_nh_key(const struct epf_hash *h, __u32 i)
{
	struct epf_sip s;

	epf_sip_start(&s, h, EPF_HASH_SIPHASH13);
	s.tail = i;
	s.len = EPF_NH_KEY;
	return epf_sip_end(&s);
}

/**
 * epf_hash_init() - make a keyed digest function
 * @h: result
 * @key0: first half of the secret
 * @key1: second half
 * @kind: enum epf_hash_id
 */
EPF_FN_BIG void epf_hash_init(struct epf_hash *h, __u64 key0, __u64 key1, __u32 kind)
{
	__u32 i;

	h->key[0] = key0;
	h->key[1] = key1;
	h->kind = kind;
	for (i = 0; i < EPF_NH_WORDS; i++)
		h->nh[i] = kind == EPF_HASH_NH ? epf_nh_key(h, i) : 0;
}

/* Add words @a and @b of a block, under key words @i and @i + 1; @i is even. */
#ifndef EPF_NO_PERFMON
EPF_FN void epf_nh_add(struct epf_sum *sum, const struct epf_hash *h, __u32 i, __u64 a, __u64 b)
{
	epf_sum_add(sum, a + h->nh[i], b + h->nh[i + 1]);
}
#else /* no variable offset into memory: read all words up to @n, keep two */
EPF_FN void epf_nh_find(__u64 k[2], const struct epf_hash *h, __u32 i, __u32 n)
{
	__u64 keep;
	__u32 j;

	EPF_UNROLL_ALL
	for (j = 0; j < n; j += 2) {
		keep = 0 - (((__u64)epf_opaque(i ^ j) - 1) >> 63);
		/* else all words are loaded first, and the stack has no room for them */
		__asm__ volatile("" : "+r"(keep), "+r"(k[0]), "+r"(k[1])::"memory");
		k[0] |= h->nh[j] & keep;
		k[1] |= h->nh[j + 1] & keep;
	}
}

EPF_FN_APART int epf_nh_add(struct epf_sum *sum, const struct epf_hash *h, __u32 i, __u64 a,
			    __u64 b)
{
	__u64 k[2] = { 0, 0 };

	if (!sum || !h)
		return 0;
	if (i < 8) /* headers need only these */
		epf_nh_find(k, h, i, 8);
	else
		epf_nh_find(k, h, i, EPF_NH_WORDS);
	epf_sum_add(sum, a + k[0], b + k[1]);
	return 0;
}
#endif

/* End the block. */
EPF_FN void epf_nh_seal(struct epf_sip *s)
{
	s->kind = EPF_HASH_NH; /* a constant, so it is not tested for each word */
	epf_sip_word(s, epf_sum_low(&s->nh));
	epf_sip_word(s, epf_sum_high(&s->nh));
	epf_sum_zero(&s->nh);
}

/* The index of word @at of the key in its block. A block is sealed when the next one
 * begins.
 */
EPF_FN __u32 epf_nh_place(struct epf_sip *s, __u32 at)
{
	if (at && at % EPF_NH_WORDS == 0)
		epf_nh_seal(s);
	return at % EPF_NH_WORDS;
}

/* Absorb word @at of the key, which is a whole word. */
EPF_FN void epf_hash_word(struct epf_sip *s, const struct epf_hash *h, __u32 at, __u64 m)
{
	if (s->kind != EPF_HASH_NH) {
		epf_sip_word(s, m);
	} else if (at % 2) {
		epf_nh_add(&s->nh, h, at & (EPF_NH_WORDS - 2), s->even, m);
	} else {
		epf_nh_place(s, at);
		s->even = m;
	}
}

/* The last @n of @len bytes, as the low bytes of a word; @n < 8, @n <= @len. */
EPF_FN __u64 epf_get_le_last(const __u8 *p, __u32 len, __u32 n)
{
	__u64 v = 0;

	if (len >= 8)
		return epf_get_le64(p + len - 8) >> 1 >> (63 - 8 * n);
	while (n--)
		v = v << 8 | p[--len];
	return v;
}

/* Absorb the whole words of @p from @done on. Return: bytes of @p absorbed so far. */
EPF_FN __u32 epf_sip_words(struct epf_sip *s, const __u8 *p, __u32 done, __u32 len, __u32 kind)
{
	s->kind = kind; /* a constant, so it is not tested for each word */
	for (; len - done >= 8; done += 8)
		epf_sip_word(s, epf_get_le64(p + done));
	return done;
}

/* Add the pair of words at @p, under the key words @k. */
EPF_FN void epf_nh_pair(struct epf_sum *sum, const __u64 *k, const __u8 *p)
{
	epf_sum_add(sum, epf_get_le64(p) + k[0], epf_get_le64(p + 8) + k[1]);
}

/* Absorb the pairs of words of the @len bytes at @p. The first is word @at of the key,
 * which begins a pair. Return: bytes that are left, 0 .. 15.
 */
EPF_FN __u32 epf_nh_run(struct epf_sip *s, const struct epf_hash *h, __u32 at, const __u8 *p,
			__u32 len)
{
	__u32 i, room = (EPF_NH_WORDS - epf_nh_place(s, at)) / 2; /* pairs left in the block */
	const __u64 *k = h->nh + EPF_NH_WORDS - 2 * room;
	__u32 n = room % 8 < len / 16 ? room % 8 : len / 16;

	room -= n;
	for (len -= 16 * n; n; n--, p += 16, k += 2)
		epf_nh_pair(&s->nh, k, p);
	for (; len >= 128; len -= 128, p += 128, k += 16, room -= 8) {
		if (!room) {
			epf_nh_seal(s);
			room = EPF_NH_WORDS / 2;
			k = h->nh;
		}
		EPF_UNROLL
		for (i = 0; i < 8; i++)
			epf_nh_pair(&s->nh, k + 2 * i, p + 16 * i);
	}
	if (!room && len >= 16) {
		epf_nh_seal(s);
		k = h->nh;
	}
	for (; len >= 16; len -= 16, p += 16, k += 2)
		epf_nh_pair(&s->nh, k, p);
	return len;
}

/* Absorb the whole words of @p from @done on; the first is word @at of the key. Return:
 * bytes of @p absorbed so far.
 */
EPF_FN __u32 epf_nh_words(struct epf_sip *s, const struct epf_hash *h, const __u8 *p, __u32 at,
			  __u32 done, __u32 len)
{
	__u32 n;

	s->kind = EPF_HASH_NH; /* a constant, so it is not tested for each word */
	if (at % 2 && len - done >= 8) {
		epf_hash_word(s, h, at++, epf_get_le64(p + done));
		done += 8;
	}
	if (len - done >= 16) {
		n = (len - done) / 16;
		epf_nh_run(s, h, at, p + done, len - done);
		at += 2 * n;
		done += 16 * n;
	}
	if (len - done >= 8) {
		epf_hash_word(s, h, at, epf_get_le64(p + done));
		done += 8;
	}
	return done;
}

/**
 * epf_sip_update() - absorb bytes
 * @to: digest in progress
 * @h: keyed function
 * @data: @len bytes
 * @len: any length; the way a message is split into calls does not matter
 */
EPF_FN_BIG void epf_sip_update(struct epf_sip *to, const struct epf_hash *h, const void *data,
			       __u32 len)
{
	const __u8 *p = (const __u8 *)data;
	struct epf_sip s = *to; /* a copy, which @data cannot alias */
	__u32 at = s.len / 8;
	__u32 held = s.len & 7;
	__u32 done = 0;
	__u64 m;

	s.len += len;
	if (held) {
		m = len < 8 ? epf_get_le_last(p, len, len) : epf_get_le64(p);
		s.tail |= m << 8 * held;
		if (held + len < 8) {
			*to = s;
			return;
		}
		epf_hash_word(&s, h, at++, s.tail);
		done = 8 - held;
	}
	if (s.kind == EPF_HASH_NH)
		done = epf_nh_words(&s, h, p, at, done, len);
	else
		done = s.kind ? epf_sip_words(&s, p, done, len, EPF_HASH_SIPHASH24) :
				epf_sip_words(&s, p, done, len, EPF_HASH_SIPHASH13);
	s.tail = epf_get_le_last(p, len, len - done);
	*to = s;
}

/**
 * epf_sip_some() - absorb up to eight bytes that are in a register
 * @s: digest in progress
 * @h: keyed function
 * @m: the bytes, little-endian; all bits above @n bytes are 0
 * @n: 0 .. 8
 */
EPF_FN_BIG void epf_sip_some(struct epf_sip *s, const struct epf_hash *h, __u64 m, __u32 n)
{
	__u32 at = s->len / 8;
	__u32 held = s->len & 7;

	s->len += n;
	s->tail |= m << 8 * held;
	if (held + n < 8)
		return;
	epf_hash_word(s, h, at, s->tail);
	s->tail = m >> 1 >> (63 - 8 * held);
}

/* Finish the last block, and put the length of the key after the blocks. */
EPF_FN void epf_nh_end(struct epf_sip *s, const struct epf_hash *h)
{
	__u32 words = (s->len + 7) / 8;

	if (s->len & 7)
		epf_hash_word(s, h, words - 1, s->tail);
	if (words % 2)
		epf_hash_word(s, h, words, 0);
	epf_nh_seal(s);
	s->tail = s->len;
	s->len = EPF_NH_END;
}

/* Return: the digest of all bytes absorbed. */
EPF_FN __u64 epf_sip_final(struct epf_sip *s, const struct epf_hash *h)
{
	if (s->kind == EPF_HASH_NH)
		epf_nh_end(s, h);
	return epf_sip_end(s);
}

EPF_FN __u64 epf_digest_rounds(const struct epf_hash *h, const void *key, __u32 len, __u32 kind)
{
	const __u8 *p = (const __u8 *)key;
	struct epf_sip s;

	epf_sip_start(&s, h, kind);
	epf_sip_words(&s, p, 0, len, kind);
	s.tail = epf_get_le_last(p, len, len & 7);
	s.len = len;
	return epf_sip_end(&s);
}

EPF_FN __u64 epf_words_rounds(const struct epf_hash *h, __u64 first, __u64 tail, __u32 len,
			      __u32 kind)
{
	struct epf_sip s;

	epf_sip_start(&s, h, kind);
	epf_sip_word(&s, first);
	s.tail = tail;
	s.len = len;
	return epf_sip_end(&s);
}

/**
 * epf_digest_words() - the digest of a key of 8 to 15 bytes, in registers
 * @h: keyed function
 * @first: its first eight bytes, little-endian
 * @tail: the other bytes, little-endian
 * @len: 8 .. 15
 *
 * Return: the same as epf_digest() of the same bytes.
 */
EPF_FN __u64 epf_digest_words(const struct epf_hash *h, __u64 first, __u64 tail, __u32 len)
{
	if (h->kind == EPF_HASH_SIPHASH24) /* tested once, not for each word */
		return epf_words_rounds(h, first, tail, len, EPF_HASH_SIPHASH24);
	return epf_words_rounds(h, first, tail, len, EPF_HASH_SIPHASH13);
}

EPF_FN __u64 epf_array_rounds(const struct epf_hash *h, const __u64 *word, __u32 len, __u32 kind)
{
	struct epf_sip s;
	__u32 i;

	epf_sip_start(&s, h, kind);
	for (i = 0; 8 * i + 8 <= len; i++)
		epf_sip_word(&s, word[i]);
	s.tail = word[i];
	s.len = len;
	return epf_sip_end(&s);
}

/**
 * epf_digest_array() - the digest of a short key that is held in words
 * @h: keyed function
 * @word: its bytes, little-endian, zero after the end of the key; one word more than the
 *	key fills
 * @len: 0 .. EPF_SHORT_MAX
 *
 * Return: the same as epf_digest() of the same bytes.
 */
EPF_FN __u64 epf_digest_array(const struct epf_hash *h, const __u64 *word, __u32 len)
{
	if (h->kind == EPF_HASH_SIPHASH24) /* tested once, not for each word */
		return epf_array_rounds(h, word, len, EPF_HASH_SIPHASH24);
	return epf_array_rounds(h, word, len, EPF_HASH_SIPHASH13);
}

/**
 * epf_digest_short() - the digest of a short key
 * @h: keyed function
 * @key: @len bytes
 * @len: 0 .. EPF_SHORT_MAX
 *
 * Return: the same as epf_digest() of the same bytes.
 */
EPF_FN __u64 epf_digest_short(const struct epf_hash *h, const void *key, __u32 len)
{
	if (h->kind == EPF_HASH_SIPHASH24) /* tested once, not for each word */
		return epf_digest_rounds(h, key, len, EPF_HASH_SIPHASH24);
	return epf_digest_rounds(h, key, len, EPF_HASH_SIPHASH13);
}

/* Add the last pair of a key. Its @n bytes, 1 .. 15, are at @p, after others. */
EPF_FN void epf_nh_last(struct epf_sum *sum, const __u64 *k, const __u8 *p, __u32 n)
{
	__u64 m = epf_get_le64(p + n - 8);

	if (n > 8)
		epf_sum_add(sum, epf_get_le64(p) + k[0], (m >> (8 * (16 - n))) + k[1]);
	else
		epf_sum_add(sum, (m >> (8 * (8 - n))) + k[0], k[1]);
}

/**
 * epf_digest_nh() - the digest of a long key
 * @h: keyed function, EPF_HASH_NH
 * @first: first words of the key
 * @n: number of these words; even, and less than a block
 * @key: the bytes that follow them; if @n is not 0, the eight bytes before must be readable
 * @len: number of these bytes; together with @first more than EPF_SHORT_MAX
 *
 * Return: the same as epf_digest() of the same bytes.
 */
EPF_FN_BIG __u64 epf_digest_nh(const struct epf_hash *h, const __u64 *first, __u32 n,
			       const void *key, __u32 len)
{
	const __u8 *p = (const __u8 *)key;
	__u32 i, rest, all = 8 * n + len;
	struct epf_sip s;

	epf_sip_start(&s, h, EPF_HASH_NH);
	for (i = 0; i < n; i += 2)
		epf_nh_add(&s.nh, h, i, first[i], first[i + 1]);
	rest = epf_nh_run(&s, h, n, p, len);
	if (rest)
		epf_nh_last(&s.nh, h->nh + epf_nh_place(&s, (all - rest) / 8), p + len - rest,
			    rest);
	epf_nh_seal(&s);
	s.tail = all;
	s.len = EPF_NH_END;
	return epf_sip_end(&s);
}

/**
 * epf_digest() - the digest of one key
 * @h: keyed function
 * @key: @len bytes
 * @len: 0 and up; the kernel interfaces take 1..EPF_KEY_MAX
 *
 * Return: 64 bits, equal to epf_sip_update() of the same bytes.
 */
EPF_FN __u64 epf_digest(const struct epf_hash *h, const void *key, __u32 len)
{
	if (epf_hash_long(h, len))
		return epf_digest_nh(h, NULL, 0, key, len);
	return epf_digest_short(h, key, len);
}

EPF_FN __u64 epf_from_rounds(const struct epf_hash *h, const __u64 *first, __u32 n, const __u8 *p,
			     __u32 len, __u32 kind)
{
	struct epf_sip s;
	__u32 i;

	epf_sip_start(&s, h, kind);
	for (i = 0; i < n; i++)
		epf_sip_word(&s, first[i]);
	epf_sip_words(&s, p, 0, len, kind);
	s.tail = epf_get_le64(p + len - 8) >> 1 >> (63 - 8 * (len & 7));
	s.len = 8 * n + len;
	return epf_sip_end(&s);
}

/**
 * epf_digest_from() - the digest of a key whose beginning is in registers
 * @h: keyed function
 * @first: first words of the key
 * @n: number of these words; even, and less than a block
 * @p: the bytes that follow them; the eight bytes before must be readable
 * @len: number of these bytes
 *
 * Return: the same as epf_digest() of the same bytes.
 */
EPF_FN __u64 epf_digest_from(const struct epf_hash *h, const __u64 *first, __u32 n, const __u8 *p,
			     __u32 len)
{
	if (epf_hash_long(h, 8 * n + len))
		return epf_digest_nh(h, first, n, p, len);
	if (h->kind == EPF_HASH_SIPHASH24) /* tested once, not for each word */
		return epf_from_rounds(h, first, n, p, len, EPF_HASH_SIPHASH24);
	return epf_from_rounds(h, first, n, p, len, EPF_HASH_SIPHASH13);
}

/**
 * epf_word() - word @i of the stream that a digest seeds
 * @digest: the seed, and word 0
 * @i: 0 and up
 *
 * SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
 * OOPSLA 2014, figure 14, with Stafford's variant 13 mixer): a bijection of 64 bits, so no
 * entropy of the digest is lost.
 */
EPF_FN __u64 epf_word(__u64 digest, __u32 i)
{
	__u64 x = digest + i * 0x9e3779b97f4a7c15ULL;

	if (!i)
		return digest;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

#endif /* EPF_HASH_H */
