/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Digests: keyed 64-bit hashes of byte strings. Pure functions, no shared
 * memory; any context.
 *
 * SipHash-c-d (Aumasson and Bernstein, "SipHash: a fast short-input PRF",
 * INDOCRYPT 2012, section 2): c rounds a word, d rounds at the end, 64-bit
 * output. EPF_HASH_SIPHASH13 is c=1 d=3, EPF_HASH_SIPHASH24 is c=2 d=4.
 */
#ifndef EPF_HASH_H
#define EPF_HASH_H

#include "shim.h"

/**
 * struct epf_hash - a keyed digest function
 * @key: 128-bit secret
 * @strict: 0 for SipHash-1-3, 1 for SipHash-2-4
 */
struct epf_hash {
	__u64 key[2];
	__u64 strict;
};

/**
 * struct epf_sip - a digest in progress
 * @v: the four state words
 * @tail: bytes not yet hashed, little-endian, the low (@len mod 8) bytes
 * @len: bytes taken so far
 * @strict: as in struct epf_hash
 */
struct epf_sip {
	__u64 v[4];
	__u64 tail;
	__u64 len;
	__u64 strict;
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
	if (s->strict)
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
	s->strict = h->strict;
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
			   __u32 len, __u64 strict)
{
	s->strict = strict; /* a constant: not asked at each word */
	for (; len - done >= 8; done += 8)
		epf_sip_word(s, epf_get_le64(p + done));
	return done;
}

/**
 * epf_sip_update() - absorb bytes
 * @to: digest in progress
 * @data: @len bytes
 * @len: any length; how a message is cut into calls does not matter
 */
EPF_FN_BIG void epf_sip_update(struct epf_sip *to, const void *data, __u32 len)
{
	const __u8 *p = (const __u8 *)data;
	struct epf_sip s = *to; /* which @data cannot alias */
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
		epf_sip_word(&s, s.tail);
		done = 8 - held;
	}
	done = s.strict ? epf_sip_words(&s, p, done, len, 1) :
			  epf_sip_words(&s, p, done, len, 0);
	s.tail = epf_get_le_last(p, len, len - done);
	*to = s;
}

/**
 * epf_sip_some() - absorb up to eight bytes that are in a register
 * @s: digest in progress
 * @m: the bytes, little-endian; what lies above @n bytes is 0
 * @n: 0 .. 8
 */
EPF_FN_BIG void epf_sip_some(struct epf_sip *s, __u64 m, __u32 n)
{
	__u32 held = s->len & 7;

	s->len += n;
	s->tail |= m << 8 * held;
	if (held + n < 8)
		return;
	epf_sip_word(s, s->tail);
	s->tail = m >> 1 >> (63 - 8 * held);
}

EPF_FN __u64 epf_sip_final(struct epf_sip *s)
{
	epf_sip_word(s, s->tail | s->len << 56);
	s->v[2] ^= 0xff;
	epf_sip_round(s);
	epf_sip_round(s);
	epf_sip_round(s);
	if (s->strict)
		epf_sip_round(s);
	return s->v[0] ^ s->v[1] ^ s->v[2] ^ s->v[3];
}

EPF_FN __u64 epf_digest_rounds(const struct epf_hash *h, const void *key,
			       __u32 len, __u64 strict)
{
	const __u8 *p = (const __u8 *)key;
	struct epf_sip s;

	epf_sip_init(&s, h);
	epf_sip_words(&s, p, 0, len, strict);
	s.tail = epf_get_le_last(p, len, len & 7);
	s.len = len;
	return epf_sip_final(&s);
}

EPF_FN __u64 epf_words_rounds(const struct epf_hash *h, __u64 first,
			      __u64 tail, __u32 len, __u64 strict)
{
	struct epf_sip s;

	epf_sip_init(&s, h);
	s.strict = strict;
	epf_sip_word(&s, first);
	s.tail = tail;
	s.len = len;
	return epf_sip_final(&s);
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
	if (h->strict) /* asked once, not at each word */
		return epf_words_rounds(h, first, tail, len, 1);
	return epf_words_rounds(h, first, tail, len, 0);
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
	if (h->strict) /* asked once, not at each word */
		return epf_digest_rounds(h, key, len, 1);
	return epf_digest_rounds(h, key, len, 0);
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
