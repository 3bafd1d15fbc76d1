/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Digests: keyed 64-bit hashes of byte strings. Pure functions, no shared
 * memory; any context.
 *
 * SipHash-c-d (Aumasson and Bernstein, "SipHash: a fast short-input PRF",
 * INDOCRYPT 2012, section 2): c rounds a word, d rounds at the end, 64-bit
 * output. EPF_HASH_SIPHASH13 is c=1 d=3, EPF_HASH_SIPHASH24 is c=2 d=4.
 *
 * EPF_HASH_NH is for long keys; docs/theory/nh.md has definition and bounds.
 * A key of up to EPF_NH_HEAD bytes: as EPF_HASH_SIPHASH13. A longer one:
 * SipHash-1-3 of its first EPF_NH_HEAD bytes, 16 bytes for each block of
 * EPF_NH_BLOCK bytes behind them (the last one may be shorter), and the length
 * of the key in 4 bytes. The 16 bytes are NH (Black, Halevi, Krawczyk, Krovetz
 * and Rogaway, "UMAC: fast and secure message authentication", CRYPTO 1999,
 * section 4) of the block, under key words i and under key words i + 1.
 */
#ifndef EPF_HASH_H
#define EPF_HASH_H

#include "shim.h"

#include <linux/epochfilter.h>

#define EPF_NH_HEAD 64u	  /* bytes that are not compressed */
#define EPF_NH_BLOCK 256u /* bytes that become 16 */
#define EPF_NH_WORDS (EPF_NH_BLOCK / 8)

/**
 * struct epf_hash - a keyed digest function; see epf_hash_init()
 * @key: 128-bit secret
 * @kind: enum epf_hash_id
 * @nh: key words of EPF_HASH_NH, made from @key; no other kind looks at them
 */
struct epf_hash {
	__u64 key[2];
	__u64 kind;
	__u64 nh[EPF_NH_WORDS + 1];
};

/**
 * struct epf_sip - a digest in progress
 * @v: the four state words
 * @tail: bytes not yet hashed, little-endian, the low (@len mod 8) bytes
 * @len: bytes taken so far
 * @kind: as in struct epf_hash
 * @nh: of EPF_HASH_NH, both sums of the block that is begun
 */
struct epf_sip {
	__u64 v[4];
	__u64 tail;
	__u64 len;
	__u64 kind;
	__u64 nh[2];
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

EPF_FN void epf_sip_init(struct epf_sip *s, const struct epf_hash *h)
{
	/* "somepseudorandomlygeneratedbytes", section 2.1 of the paper */
	s->v[0] = h->key[0] ^ 0x736f6d6570736575ULL;
	s->v[1] = h->key[1] ^ 0x646f72616e646f6dULL;
	s->v[2] = h->key[0] ^ 0x6c7967656e657261ULL;
	s->v[3] = h->key[1] ^ 0x7465646279746573ULL;
	s->tail = 0;
	s->len = 0;
	s->kind = h->kind;
	s->nh[0] = 0;
	s->nh[1] = 0;
}

/* The digest of what was absorbed as words, and of the tail. */
EPF_FN __u64 epf_sip_end(struct epf_sip *s)
{
	epf_sip_word(s, s->tail | s->len << 56);
	s->v[2] ^= 0xff;
	epf_sip_round(s);
	epf_sip_round(s);
	epf_sip_round(s);
	if (s->kind == EPF_HASH_SIPHASH24)
		epf_sip_round(s);
	return s->v[0] ^ s->v[1] ^ s->v[2] ^ s->v[3];
}

/* Key word @i of NH: SipHash-1-3 of 64 bytes 0 and @i. No key is hashed as a string
 * of 72 bytes: it has up to 64, or 84, 100, 116 ...
 */
EPF_FN __u64 epf_nh_key(const struct epf_hash *h, __u32 i)
{
	struct epf_sip s;
	__u32 n;

	epf_sip_init(&s, h);
	for (n = 0; n < EPF_NH_HEAD; n += 8)
		epf_sip_word(&s, 0);
	epf_sip_word(&s, i);
	s.len = EPF_NH_HEAD + 8;
	return epf_sip_end(&s);
}

/**
 * epf_hash_init() - make a keyed digest function
 * @h: result
 * @key0: first half of the secret
 * @key1: second half
 * @kind: enum epf_hash_id
 */
EPF_FN_BIG void epf_hash_init(struct epf_hash *h, __u64 key0, __u64 key1,
			      __u32 kind)
{
	__u32 i;

	h->key[0] = key0;
	h->key[1] = key1;
	h->kind = kind;
	for (i = 0; i <= EPF_NH_WORDS; i++)
		h->nh[i] = kind == EPF_HASH_NH ? epf_nh_key(h, i) : 0;
}

/* One word of a block, under key words @k[0] and @k[1]; sums modulo 2^64 of
 * products of sums modulo 2^32.
 */
EPF_FN void epf_nh_add(__u64 sum[2], const __u64 *k, __u64 m)
{
	sum[0] += (__u64)(__u32)(m + k[0]) *
		  (__u32)((m >> 32) + (k[0] >> 32));
	sum[1] += (__u64)(__u32)(m + k[1]) *
		  (__u32)((m >> 32) + (k[1] >> 32));
}

/* The same, under key words @i and @i + 1; @i < EPF_NH_WORDS. */
#ifndef EPF_NO_PERFMON
EPF_FN void epf_nh_add_at(__u64 sum[2], const struct epf_hash *h, __u32 i,
			  __u64 m)
{
	epf_nh_add(sum, &h->nh[i], m);
}
#else /* no offset into memory may be a variable: all are read, two are kept */
EPF_FN_APART int epf_nh_add_at(__u64 (*sum)[2], const struct epf_hash *h,
			       __u32 i, __u64 m)
{
	__u64 k[2] = { 0, 0 }, keep;
	__u32 j;

	if (!sum || !h)
		return 0;
	EPF_UNROLL_ALL
	for (j = 0; j < EPF_NH_WORDS; j++) {
		keep = 0 - (((__u64)epf_opaque(i ^ j) - 1) >> 63);
		/* else all is loaded first, for which there is no stack */
		__asm__ volatile("" : "+r"(keep), "+r"(k[0]), "+r"(k[1]) :: "memory");
		k[0] |= h->nh[j] & keep;
		k[1] |= h->nh[j + 1] & keep;
	}
	epf_nh_add(*sum, k, m);
	return 0;
}
#define epf_nh_add_at(sum, h, i, m) epf_nh_add_at(&(sum), h, i, m)
#endif

/* The block is over. */
EPF_FN void epf_nh_seal(struct epf_sip *s)
{
	epf_sip_word(s, s->nh[0]);
	epf_sip_word(s, s->nh[1]);
	s->nh[0] = 0;
	s->nh[1] = 0;
}

/* Absorb word @at of the key, a whole one. */
EPF_FN void epf_hash_word(struct epf_sip *s, const struct epf_hash *h,
			  __u32 at, __u64 m)
{
	__u32 i = (at - EPF_NH_HEAD / 8) % EPF_NH_WORDS;

	if (s->kind != EPF_HASH_NH || at < EPF_NH_HEAD / 8) {
		epf_sip_word(s, m);
		return;
	}
	epf_nh_add_at(s->nh, h, i, m);
	if (i == EPF_NH_WORDS - 1)
		epf_nh_seal(s);
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

/* Absorb the whole words of @p from @done on. Return: bytes done then. */
EPF_FN __u32 epf_sip_words(struct epf_sip *s, const __u8 *p, __u32 done,
			   __u32 len, __u64 kind)
{
	s->kind = kind; /* a constant: not asked at each word */
	for (; len - done >= 8; done += 8)
		epf_sip_word(s, epf_get_le64(p + done));
	return done;
}

/* Absorb up to @n words of @p, from word @at of the key on, which are of one block.
 * Return: how many.
 */
EPF_FN __u32 epf_nh_run(struct epf_sip *s, const struct epf_hash *h,
			const __u8 *p, __u32 at, __u32 n)
{
	__u32 i = (at - EPF_NH_HEAD / 8) % EPF_NH_WORDS, k;
	__u64 sum[2] = { s->nh[0], s->nh[1] };

	n = n < EPF_NH_WORDS - i ? n : EPF_NH_WORDS - i;
	for (k = 0; k < n; k++)
		epf_nh_add(sum, &h->nh[i + k], epf_get_le64(p + 8 * k));
	s->nh[0] = sum[0];
	s->nh[1] = sum[1];
	if (i + n == EPF_NH_WORDS)
		epf_nh_seal(s);
	return n;
}

/* As epf_sip_words(), for EPF_HASH_NH, from word @at of the key on. */
EPF_FN __u32 epf_nh_words(struct epf_sip *s, const struct epf_hash *h,
			  const __u8 *p, __u32 at, __u32 done, __u32 len)
{
	__u32 n;

	s->kind = EPF_HASH_NH;
	for (; len - done >= 8 && at < EPF_NH_HEAD / 8; done += 8, at++)
		epf_sip_word(s, epf_get_le64(p + done));
	for (; len - done >= 8; done += 8 * n, at += n)
		n = epf_nh_run(s, h, p + done, at, (len - done) / 8);
	return done;
}

/**
 * epf_sip_update() - absorb bytes
 * @to: digest in progress
 * @h: keyed function
 * @data: @len bytes
 * @len: any length; how a message is cut into calls does not matter
 */
EPF_FN_BIG void epf_sip_update(struct epf_sip *to, const struct epf_hash *h,
			       const void *data, __u32 len)
{
	const __u8 *p = (const __u8 *)data;
	struct epf_sip s = *to; /* which @data cannot alias */
	__u32 at = (__u32)(s.len / 8);
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
		done = s.kind ? epf_sip_words(&s, p, done, len,
					      EPF_HASH_SIPHASH24) :
				epf_sip_words(&s, p, done, len,
					      EPF_HASH_SIPHASH13);
	s.tail = epf_get_le_last(p, len, len - done);
	*to = s;
}

/**
 * epf_sip_some() - absorb up to eight bytes that are in a register
 * @s: digest in progress
 * @h: keyed function
 * @m: the bytes, little-endian; what lies above @n bytes is 0
 * @n: 0 .. 8
 */
EPF_FN_BIG void epf_sip_some(struct epf_sip *s, const struct epf_hash *h,
			     __u64 m, __u32 n)
{
	__u32 at = (__u32)(s->len / 8);
	__u32 held = s->len & 7;

	s->len += n;
	s->tail |= m << 8 * held;
	if (held + n < 8)
		return;
	epf_hash_word(s, h, at, s->tail);
	s->tail = m >> 1 >> (63 - 8 * held);
}

/* What stands behind the blocks: the last of them as it is, and the length. */
EPF_FN void epf_nh_end(struct epf_sip *s, const struct epf_hash *h)
{
	__u32 rest = (__u32)s->len - EPF_NH_HEAD; /* 1 and up */

	if (rest & 7)
		epf_hash_word(s, h, (__u32)(s->len / 8), s->tail);
	if ((rest + 7) / 8 % EPF_NH_WORDS)
		epf_nh_seal(s);
	s->tail = (__u32)s->len;
	s->len = EPF_NH_HEAD + 4 +
		 16 * ((rest + EPF_NH_BLOCK - 1) / EPF_NH_BLOCK);
}

/* Return: the digest of all bytes absorbed. */
EPF_FN __u64 epf_sip_final(struct epf_sip *s, const struct epf_hash *h)
{
	if (s->kind == EPF_HASH_NH && s->len > EPF_NH_HEAD)
		epf_nh_end(s, h);
	return epf_sip_end(s);
}

EPF_FN __u64 epf_digest_rounds(const struct epf_hash *h, const void *key,
			       __u32 len, __u64 kind)
{
	const __u8 *p = (const __u8 *)key;
	struct epf_sip s;

	epf_sip_init(&s, h);
	epf_sip_words(&s, p, 0, len, kind);
	s.tail = epf_get_le_last(p, len, len & 7);
	s.len = len;
	return epf_sip_end(&s);
}

EPF_FN __u64 epf_words_rounds(const struct epf_hash *h, __u64 first,
			      __u64 tail, __u32 len, __u64 kind)
{
	struct epf_sip s;

	epf_sip_init(&s, h);
	s.kind = kind;
	epf_sip_word(&s, first);
	s.tail = tail;
	s.len = len;
	return epf_sip_end(&s);
}

/**
 * epf_digest_words() - the digest of a key of 8 to 15 bytes, in registers
 * @h: keyed function
 * @first: its first eight bytes, little-endian
 * @tail: the others, likewise
 * @len: 8 .. 15
 *
 * Return: as epf_digest() of the same bytes.
 */
EPF_FN __u64 epf_digest_words(const struct epf_hash *h, __u64 first,
			      __u64 tail, __u32 len)
{
	if (h->kind == EPF_HASH_SIPHASH24) /* asked once, not at each word */
		return epf_words_rounds(h, first, tail, len, EPF_HASH_SIPHASH24);
	return epf_words_rounds(h, first, tail, len, EPF_HASH_SIPHASH13);
}

EPF_FN __u64 epf_array_rounds(const struct epf_hash *h, const __u64 *word,
			      __u32 len, __u64 kind)
{
	struct epf_sip s;
	__u32 i;

	epf_sip_init(&s, h);
	s.kind = kind;
	for (i = 0; 8 * i + 8 <= len; i++)
		epf_sip_word(&s, word[i]);
	s.tail = word[i];
	s.len = len;
	return epf_sip_end(&s);
}

/**
 * epf_digest_array() - the digest of a short key that is held in words
 * @h: keyed function
 * @word: its bytes, little-endian; one word more than are full, and 0 where the key
 *	ends
 * @len: 0 .. EPF_NH_HEAD
 *
 * Return: as epf_digest() of the same bytes.
 */
EPF_FN __u64 epf_digest_array(const struct epf_hash *h, const __u64 *word,
			      __u32 len)
{
	if (h->kind == EPF_HASH_SIPHASH24) /* asked once, not at each word */
		return epf_array_rounds(h, word, len, EPF_HASH_SIPHASH24);
	return epf_array_rounds(h, word, len, EPF_HASH_SIPHASH13);
}

/**
 * epf_digest_short() - the digest of one key that is short
 * @h: keyed function
 * @key: @len bytes
 * @len: 0 .. EPF_NH_HEAD
 *
 * Return: as epf_digest() of the same bytes.
 */
EPF_FN __u64 epf_digest_short(const struct epf_hash *h, const void *key,
			      __u32 len)
{
	if (h->kind == EPF_HASH_SIPHASH24) /* asked once, not at each word */
		return epf_digest_rounds(h, key, len, EPF_HASH_SIPHASH24);
	return epf_digest_rounds(h, key, len, EPF_HASH_SIPHASH13);
}

EPF_FN_BIG __u64 epf_digest_nh(const struct epf_hash *h, const void *key,
			       __u32 len)
{
	const __u8 *p = (const __u8 *)key;
	struct epf_sip s;
	__u32 done;

	epf_sip_init(&s, h);
	done = epf_nh_words(&s, h, p, 0, 0, len);
	s.tail = epf_get_le_last(p, len, len - done);
	s.len = len;
	return epf_sip_final(&s, h);
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
	if (len > EPF_NH_HEAD && h->kind == EPF_HASH_NH)
		return epf_digest_nh(h, key, len);
	return epf_digest_short(h, key, len);
}

/**
 * epf_word() - word @i of the stream that a digest starts
 * @digest: the seed, itself word 0
 * @i: 0 and up
 *
 * SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
 * generators", OOPSLA 2014, figure 14, with Stafford's variant 13 mixer): a
 * bijection of 64 bits, so no entropy of the digest is lost.
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
