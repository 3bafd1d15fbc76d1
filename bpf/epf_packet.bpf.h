/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packet digests in an XDP program that has no module to ask: what
 * bpf_epf_xdp_digest() returns, by the same text (include/epf/packet.h).
 * Tried on Linux 6.1 and later; its helpers came with 5.17 and 5.18.
 *
 * The key of a plain flow is made from the packet in place. Every other packet
 * takes the long way: the core's parser, which gets its bytes by epf_pkt_at(),
 * from the first buffer by direct loads and from any other by
 * bpf_xdp_load_bytes().
 *
 * The long way consists of global functions. The verifier checks each of them
 * once, apart from its callers, and treats the memory passed to it as unknown.
 * Otherwise it would follow every sum of header lengths separately.
 *
 * The keyed function is passed by reference and has to be in memory that the program
 * may write, a map's or its own: a global function takes no other.
 *
 * All memory is on the stack, at most 416 bytes beside the caller's frame. A
 * per-CPU map would be shared: where softirqs are threads (PREEMPT_RT), a second
 * packet can arrive on the CPU while the first is being hashed.
 */
#ifndef EPF_PACKET_BPF_H
#define EPF_PACKET_BPF_H

#ifdef EPF_SEGMENTS_H
#error "include epf_packet.bpf.h before <epf/packet.h>"
#endif

#ifndef __VMLINUX_H__
#include <linux/bpf.h>
#endif
#include <bpf/bpf_helpers.h>

#include <epf/hash.h>
#include <linux/epochfilter.h>

#define EPF_XDP_READ 65535 /* bytes that bpf_xdp_load_bytes() reaches */
#define EPF_XDP_DIRECT 8191 /* up to which packets are read in place */
#define EPF_XDP_CHUNK 128 /* bytes hashed at a time in place; a multiple of 8 */
#define EPF_XDP_HALVES 6 /* chunks at a time, of EPF_HASH_NH */
#define EPF_XDP_COPY 64 /* likewise of a copy */

/* One load each from a packet, at any offset, or from an aligned copy. */
typedef __u64 __attribute__((may_alias)) epf_xdp_word;
typedef __u32 __attribute__((may_alias)) epf_xdp_half;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define epf_get_le64(p) (*(const epf_xdp_word *)(p))
#endif

struct epf_xdp_words {
	__u64 word[9];
};

/* How far a digest is in half a block of EPF_HASH_NH. */
EPF_FN __u32 epf_xdp_half_done(const struct epf_sip *sip)
{
	return (__u32)(sip->len - EPF_NH_HEAD) % EPF_XDP_CHUNK;
}

/* @n bytes, but no more than @most, nor beyond the half block. */
EPF_FN __u32 epf_xdp_most(const struct epf_sip *sip, __u32 n, __u32 most)
{
	__u32 left = EPF_XDP_CHUNK - epf_xdp_half_done(sip);

	if (sip->kind == EPF_HASH_NH && left < most)
		most = left;
	return n < most ? n : most;
}

/* Are the next words to be compressed? If not, no word before the next half block
 * is. So a run of words that goes no further is treated alike, which spares the
 * verifier a branch for each of them.
 */
EPF_FN bool epf_xdp_compress(const struct epf_sip *sip)
{
	return sip->kind == EPF_HASH_NH && sip->len >= EPF_NH_HEAD;
}

/* One word, as epf_nh_add(): read in halves, which shifts nothing. */
EPF_FN void epf_xdp_nh(__u64 sum[2], const __u8 *p, const epf_xdp_half *k)
{
	__u32 low = *(const epf_xdp_half *)p;
	__u32 high = *(const epf_xdp_half *)(p + 4);

	sum[0] += (__u64)(low + k[0]) * (high + k[1]);
	sum[1] += (__u64)(low + k[2]) * (high + k[3]);
}

/* The whole words of @n bytes into SipHash. @kind is a constant: the verifier would ask
 * at each word. Return: how many.
 */
EPF_FN __u32 epf_xdp_sip(struct epf_sip *to, const struct epf_xdp_words *p,
			 __u32 n, __u64 kind)
{
	struct epf_sip s = *to;
	__u32 i;

	s.kind = kind;
	for (i = 0; i < 8 && 8 * i + 8 <= n; i++)
		epf_sip_word(&s, p->word[i]);
	memcpy(to->v, s.v, sizeof(s.v));
	return i;
}

/* Absorb @n <= sizeof(*p) bytes of @p, all of which go into SipHash; the digest ends at
 * a word boundary, as in what follows.
 */
EPF_FN_APART int epf_xdp_update(struct epf_sip *to, struct epf_xdp_words *p,
				__u32 n)
{
	__u32 i, rest = n & 7;

	if (!to || !p)
		return 0;
	if (to->kind == EPF_HASH_SIPHASH24)
		i = epf_xdp_sip(to, p, n, EPF_HASH_SIPHASH24);
	else
		i = epf_xdp_sip(to, p, n, EPF_HASH_SIPHASH13);
	i = epf_opaque(i); /* at most 8, which the verifier cannot infer */
	to->len += n;
	to->tail = 0;
	if (rest && i <= 8)
		to->tail = p->word[i] << (64 - 8 * rest) >> (64 - 8 * rest);
	return 0;
}

/* The same of whole words that are compressed, of one half block. */
EPF_FN_APART int epf_xdp_nh_update(struct epf_sip *to, const struct epf_hash *h,
				   struct epf_xdp_words *p, __u32 n)
{
	__u32 i, at;

	if (!to || !h || !p)
		return 0;
	at = (__u32)(to->len - EPF_NH_HEAD) / 8 % EPF_NH_WORDS;
	for (i = 0; i < 8 && 8 * i + 8 <= n; i++)
		epf_nh_add(to->nh, &h->nh[(at + i) % EPF_NH_WORDS], p->word[i]);
	to->len += n;
	if (at + i == EPF_NH_WORDS)
		epf_nh_seal(to);
	return 0;
}

/* A packet's head is the beginning of its key: no word of it is compressed. */
#define epf_sip_update(s, h, p, n) \
	((void)(h), epf_xdp_update(s, (struct epf_xdp_words *)(p), n))

/**
 * struct epf_xdp_ask - what the long way works on
 * @digest: result
 * @opts: options, checked or not
 * @off: of the byte to be read next. Here and not on the stack, so that the
 *	verifier does not track it
 */
struct epf_xdp_ask {
	__u64 digest;
	struct epf_pkt_opts opts;
	volatile __u64 off;
};

/**
 * struct epf_pkt - a packet, for headers.h
 * @ctx: of the program
 * @ask: what is under way
 * @unread: set where bytes that are there cannot be read
 * @len: bytes, fragments included
 */
struct epf_pkt {
	struct xdp_md *ctx;
	struct epf_xdp_ask *ask;
	bool *unread;
	__u32 len;
};

/* Empty: epf_xdp_digest() has tried the plain packets before. */
EPF_FN const __u8 *epf_pkt_first(const struct epf_pkt *pkt, __u32 *len)
{
	(void)pkt;
	*len = 0;
	return NULL;
}

/* @n bytes from @p, which may be anywhere in a packet, to @to, which is aligned;
 * @n is a constant.
 */
EPF_FN void epf_xdp_copy(__u8 *to, const __u8 *p, __u32 n)
{
	__u32 i;

	for (i = 0; i + 8 <= n; i += 8)
		*(epf_xdp_word *)(to + i) = *(const epf_xdp_word *)(p + i);
	if (n & 4)
		*(epf_xdp_half *)(to + i) = *(const epf_xdp_half *)(p + i);
	for (i += n & 4; i < n; i++)
		to[i] = p[i];
}

/* @n bytes at @off, in @room, or NULL; @n is a constant. */
EPF_FN const __u8 *epf_pkt_at(const struct epf_pkt *pkt, __u32 off, __u32 n,
			      __u8 *room)
{
	const __u8 *p = (const __u8 *)(long)pkt->ctx->data;

	pkt->ask->off = off;
	off = pkt->ask->off;
	if (off <= EPF_XDP_DIRECT) {
		p += off;
		if (p + n <= (const __u8 *)(long)pkt->ctx->data_end) {
			epf_xdp_copy(room, p, n);
			return room;
		}
	}
	return bpf_xdp_load_bytes(pkt->ctx, off, room, n) ? NULL : room;
}

/* Load 1 to @most bytes at @off. The bounds are checked on @n - 1, because the
 * verifier of Linux 6.1 learns nothing from "n != 0". Return: false if @n is out
 * of range or the bytes cannot be read.
 */
EPF_FN bool epf_xdp_load(struct xdp_md *ctx, __u32 off, void *to, __u32 n,
			 __u32 most)
{
	__u32 last = epf_opaque(n - 1);

	return last < most && !bpf_xdp_load_bytes(ctx, off, to, last + 1);
}

/* The @n < 8 bytes at @off as a word. In the first buffer that is one load of the
 * eight bytes which end there. Return: false if @n is 0 or they cannot be read.
 */
EPF_FN bool epf_xdp_some(struct xdp_md *ctx, __u32 off, __u32 n, __u64 *m)
{
	const __u8 *p = (const __u8 *)(long)ctx->data;
	__u32 from = epf_opaque(off + n - 8);

	*m = 0;
	if (from <= EPF_XDP_DIRECT) {
		p += from;
		if (p + 8 <= (const __u8 *)(long)ctx->data_end) {
			*m = epf_get_le64(p) >> 1 >> (63 - 8 * n);
			return n;
		}
	}
	return epf_xdp_load(ctx, off, m, n, 7);
}

/* Absorb what is left of a chunk, at most EPF_XDP_COPY bytes, from any buffer.
 * Return: how many, or 0: they cannot be read.
 */
EPF_FN_APART int epf_xdp_piece(struct xdp_md *ctx, struct epf_sip *sip,
			       const struct epf_hash *h, __u32 off, __u32 n)
{
	struct epf_xdp_words p = { { 0 } };
	__u64 m;

	if (!sip || !h)
		return 0;
	if (n < 8) {
		if (!epf_xdp_some(ctx, off, n, &m))
			return 0;
		epf_sip_some(sip, h, m, n);
		return n;
	}
	n = epf_xdp_most(sip, n, EPF_XDP_COPY) & ~7u;
	if (!epf_xdp_load(ctx, off, &p, n, EPF_XDP_COPY))
		return 0;
	if (epf_xdp_compress(sip))
		epf_xdp_nh_update(sip, h, &p, n);
	else
		epf_xdp_update(sip, &p, n);
	return n;
}

/* Up to EPF_XDP_CHUNK of @n bytes at @p, but none beyond @end; as epf_xdp_sip().
 * Return: bytes.
 */
EPF_FN __u32 epf_xdp_sip_words(struct epf_sip *to, const __u8 *p,
			       const __u8 *end, __u32 n, __u64 kind)
{
	struct epf_sip s = *to;
	__u32 i;

	s.kind = kind;
	for (i = 0; i < EPF_XDP_CHUNK && i + 8 <= n; i += 8) {
		if (p + i + 8 > end)
			break;
		epf_sip_word(&s, epf_get_le64(p + i));
	}
	memcpy(to->v, s.v, sizeof(s.v));
	return i;
}

/* Absorb the whole words that lie in the first buffer, of the @n bytes at @off; all of
 * them go into SipHash. Return: bytes.
 */
EPF_FN_APART int epf_xdp_words_at(struct xdp_md *ctx, struct epf_sip *sip,
				  __u32 off, __u32 n)
{
	const __u8 *p = (const __u8 *)(long)ctx->data;
	const __u8 *end = (const __u8 *)(long)ctx->data_end;
	__u32 done;

	off = epf_opaque(off);
	if (!sip || off > EPF_XDP_DIRECT)
		return 0;
	p += off;
	if (sip->kind == EPF_HASH_SIPHASH24)
		done = epf_xdp_sip_words(sip, p, end, n, EPF_HASH_SIPHASH24);
	else
		done = epf_xdp_sip_words(sip, p, end, n, EPF_HASH_SIPHASH13);
	sip->len += done;
	return done;
}

/* The same of words that are compressed, of one half block. */
EPF_FN_APART int epf_xdp_nh_words(struct xdp_md *ctx, struct epf_sip *sip,
				  const struct epf_hash *h, __u32 off, __u32 n)
{
	const __u8 *p = (const __u8 *)(long)ctx->data;
	const __u8 *end = (const __u8 *)(long)ctx->data_end;
	const __u8 *k;
	__u64 sum[2];
	__u32 i, at;

	off = epf_opaque(off);
	if (!sip || !h || off > EPF_XDP_DIRECT)
		return 0;
	p += off;
	at = (__u32)(sip->len - EPF_NH_HEAD) % EPF_NH_BLOCK;
	sum[0] = sip->nh[0];
	sum[1] = sip->nh[1];
	k = (const __u8 *)h->nh;
	for (i = 0; i < EPF_XDP_CHUNK && i + 8 <= n; i += 8) {
		if (p + 8 > end)
			break;
		epf_xdp_nh(sum, p, (const epf_xdp_half *)(k + ((at + i) & (EPF_NH_BLOCK - 8))));
		p += 8;
	}
	sip->nh[0] = sum[0];
	sip->nh[1] = sum[1];
	sip->len += i;
	if (i && at + i == EPF_NH_BLOCK)
		epf_nh_seal(sip);
	return i;
}

/* Bytes of a packet, from @ask->off to @end, on their way into a digest. */
struct epf_xdp_walk {
	struct xdp_md *ctx;
	struct epf_xdp_ask *ask;
	struct epf_sip *sip;
	const struct epf_hash *hash;
	__u32 end;
};

/* The half block at @p under key words @k. */
EPF_FN void epf_xdp_half_block(struct epf_sip *sip, const __u8 *p,
			       const epf_xdp_half *k)
{
	__u64 sum[2] = { sip->nh[0], sip->nh[1] };
	__u32 i;

	_Pragma("clang loop unroll(full)")
	for (i = 0; i < EPF_XDP_CHUNK; i += 8) {
		/* else all is loaded first, for which there is no stack */
		__asm__ volatile("" : "+r"(sum[0]), "+r"(sum[1]) :: "memory");
		epf_xdp_nh(sum, p + i, k + i / 4);
	}
	sip->nh[0] = sum[0];
	sip->nh[1] = sum[1];
}

/* Absorb up to EPF_XDP_HALVES half blocks of EPF_HASH_NH, of the @n bytes at @off, at
 * the beginning of one. Return: bytes, or 0: that is not in the first buffer.
 */
EPF_FN_APART int epf_xdp_half_blocks(struct xdp_md *ctx, struct epf_sip *sip,
				     const struct epf_hash *h, __u32 off,
				     __u32 n)
{
	const __u8 *p = (const __u8 *)(long)ctx->data;
	const __u8 *end = (const __u8 *)(long)ctx->data_end;
	const __u64 *k;
	__u32 i, half;

	off = epf_opaque(off);
	if (!sip || !h || off > EPF_XDP_DIRECT)
		return 0;
	p += off;
	for (i = 0; i < EPF_XDP_HALVES; i++, p += EPF_XDP_CHUNK) {
		if (p + EPF_XDP_CHUNK > end || n < EPF_XDP_CHUNK * (i + 1))
			break;
		half = (__u32)(sip->len - EPF_NH_HEAD) / EPF_XDP_CHUNK % 2;
		k = h->nh + half * EPF_XDP_CHUNK / 8;
		epf_xdp_half_block(sip, p, (const epf_xdp_half *)k);
		sip->len += EPF_XDP_CHUNK;
		if (half)
			epf_nh_seal(sip);
	}
	return i * EPF_XDP_CHUNK;
}

/* Absorb EPF_XDP_CHUNK bytes; @kind is a constant. */
EPF_FN void epf_xdp_absorb(struct epf_sip *to, const __u8 *p, __u64 kind)
{
	struct epf_sip s = *to;
	__u32 i;

	s.kind = kind;
	for (i = 0; i < EPF_XDP_CHUNK; i += 8)
		epf_sip_word(&s, epf_get_le64(p + i));
	s.len += EPF_XDP_CHUNK;
	*to = s;
}

/* Absorb the chunk at @off. Return: false if it is not in the first buffer. */
EPF_FN bool epf_xdp_direct(struct epf_xdp_walk *w, __u32 off)
{
	const __u8 *p = (const __u8 *)(long)w->ctx->data;

	off = epf_opaque(off);
	if (off > EPF_XDP_DIRECT)
		return false;
	p += off;
	if (p + EPF_XDP_CHUNK > (const __u8 *)(long)w->ctx->data_end)
		return false;
	if (w->sip->kind == EPF_HASH_SIPHASH24)
		epf_xdp_absorb(w->sip, p, EPF_HASH_SIPHASH24);
	else
		epf_xdp_absorb(w->sip, p, EPF_HASH_SIPHASH13);
	return true;
}

/* Absorb the next bytes of EPF_HASH_NH that lie in the first buffer. Return: how many. */
EPF_FN __u32 epf_xdp_nh_step(struct epf_xdp_walk *w, __u32 off, __u32 n)
{
	__u32 done = 0, most = epf_xdp_most(w->sip, n, EPF_XDP_CHUNK);

	if (!epf_xdp_compress(w->sip))
		return epf_xdp_words_at(w->ctx, w->sip, off, most);
	if (most == EPF_XDP_CHUNK)
		done = epf_xdp_half_blocks(w->ctx, w->sip, w->hash, off, n);
	if (done)
		return done;
	return epf_xdp_nh_words(w->ctx, w->sip, w->hash, off, most);
}

/* Absorb the next bytes. Return: 0, or 1 to end the loop. */
static long epf_xdp_step(__u32 i, struct epf_xdp_walk *w)
{
	__u32 off = w->ask->off, n = w->end - off, done = EPF_XDP_CHUNK;

	(void)i;
	if (w->sip->kind == EPF_HASH_NH)
		done = epf_xdp_nh_step(w, off, n);
	else if (n < EPF_XDP_CHUNK || !epf_xdp_direct(w, off))
		done = epf_xdp_words_at(w->ctx, w->sip, off, n);
	if (!done)
		done = epf_xdp_piece(w->ctx, w->sip, w->hash, off, n);
	w->ask->off = off + done;
	return !done;
}

/* Absorb bytes up to the next word boundary of the digest. */
EPF_FN void epf_xdp_align(struct epf_xdp_walk *w)
{
	__u32 off = w->ask->off, left = w->end - off, n = -w->sip->len & 7;
	__u64 m;

	n = n < left ? n : left;
	if (!epf_xdp_some(w->ctx, off, n, &m))
		return;
	epf_sip_some(w->sip, w->hash, m, n);
	w->ask->off = off + n;
}

EPF_FN void epf_pkt_sip(struct epf_sip *sip, const struct epf_hash *h,
			const struct epf_pkt *pkt, __u32 off, __u32 end)
{
	struct epf_xdp_walk w = { pkt->ctx, pkt->ask, sip, h, end };

	pkt->ask->off = off;
	epf_xdp_align(&w);
	bpf_loop(EPF_XDP_READ / EPF_XDP_COPY + 2, epf_xdp_step, &w, 0);
	*pkt->unread = pkt->ask->off != end;
}

#define EPF_PKT_READER
#include <epf/packet.h>
#undef epf_get_le64
#undef epf_sip_update

/* Return: as epf_pkt_control(), or -EINVAL. */
EPF_FN_APART int epf_xdp_control(struct xdp_md *ctx, struct epf_xdp_ask *ask)
{
	struct epf_pkt pkt = { ctx, ask, NULL, 0 };

	if (!ask || epf_pkt_opts_check(&ask->opts))
		return -EINVAL;
	pkt.len = bpf_xdp_get_buff_len(ctx);
	return epf_pkt_control(&pkt, &ask->opts);
}

/* Return: as epf_pkt_start(), or 1: epf_xdp_rest() is to follow. */
EPF_FN int epf_xdp_start(struct xdp_md *ctx, struct epf_xdp_ask *ask,
			 const struct epf_hash *h, struct epf_take *t,
			 const struct epf_pkt_opts *o)
{
	struct epf_pkt pkt = { ctx, ask, NULL, 0 };
	bool rest = false;
	int err;

	pkt.len = bpf_xdp_get_buff_len(ctx);
	err = epf_pkt_start(h, &pkt, o, &ask->digest, t, &rest);
	return err ? err : rest;
}

EPF_FN_APART int epf_xdp_flow(struct xdp_md *ctx, struct epf_xdp_ask *ask,
			      const struct epf_hash *h, struct epf_take *t)
{
	struct epf_pkt_opts o;

	if (!ask || !h || !t)
		return -EINVAL;
	o = ask->opts;
	o.key = EPF_PKT_FLOW;
	return epf_xdp_start(ctx, ask, h, t, &o);
}

/* Keys EPF_PKT_FRAME and EPF_PKT_PACKET. */
EPF_FN_APART int epf_xdp_packet(struct xdp_md *ctx, struct epf_xdp_ask *ask,
				const struct epf_hash *h, struct epf_take *t)
{
	struct epf_pkt_opts o;

	if (!ask || !h || !t)
		return -EINVAL;
	o = ask->opts;
	return o.key == EPF_PKT_FLOW ? -EINVAL : epf_xdp_start(ctx, ask, h, t, &o);
}

/* Hash what epf_xdp_flow() or epf_xdp_packet() left. */
EPF_FN_APART int epf_xdp_rest(struct xdp_md *ctx, struct epf_xdp_ask *ask,
			      const struct epf_hash *h, struct epf_take *t)
{
	bool unread = false;
	struct epf_pkt pkt = { ctx, ask, &unread, 0 };

	if (!ask || !h || !t)
		return -EINVAL;
	ask->digest = epf_take_rest(t, h, &pkt);
	return unread ? -EMSGSIZE : 0;
}

EPF_FN_APART int epf_xdp_digest_any(struct xdp_md *ctx,
				    struct epf_xdp_ask *ask,
				    const struct epf_hash *h)
{
	struct epf_take t = { 0 };
	int err;

	if (!ask || !h)
		return -EINVAL;
	err = epf_xdp_control(ctx, ask);
	if (!err)
		err = ask->opts.key == EPF_PKT_FLOW ?
			      epf_xdp_flow(ctx, ask, h, &t) :
			      epf_xdp_packet(ctx, ask, h, &t);
	return err > 0 ? epf_xdp_rest(ctx, ask, h, &t) : err;
}

/**
 * epf_xdp_digest() - the digest of a packet
 * @ctx: of an XDP program; fragments are read too
 * @h: keyed function
 * @opts: which bytes make it the same packet; others may be writing them
 * @digest: result
 *
 * Return: as bpf_epf_xdp_digest(), but never -ENODEV; and -EMSGSIZE: the key
 * needs bytes beyond the first 65,535, which no helper of the kernel reads.
 */
static __always_inline int epf_xdp_digest(struct xdp_md *ctx,
					  const struct epf_hash *h,
					  const struct epf_pkt_opts *opts,
					  __u64 *digest)
{
	const __u8 *p = (const __u8 *)(long)ctx->data;
	struct epf_xdp_ask ask;
	__u64 first, tail;
	int err;

	ask.opts = epf_pkt_opts_read(opts);
	if (p + 38 <= (const __u8 *)(long)ctx->data_end &&
	    epf_flow_plain(p, 38, &ask.opts, &first, &tail)) {
		*digest = epf_digest_words(h, first, tail, 14);
		return 0;
	}
	ask.digest = ask.off = 0;
	err = epf_xdp_digest_any(ctx, &ask, h);
	*digest = ask.digest;
	return err;
}

#endif /* EPF_PACKET_BPF_H */
