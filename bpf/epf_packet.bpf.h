/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packet digests in an XDP program without the module: the same result as
 * bpf_epf_xdp_digest(), from the same source (include/epf/packet.h). Tested on Linux 6.1
 * and later; its helpers came with 5.17 and 5.18. With EPF_TC the same in a tc program, for
 * a socket buffer; with EPF_NF in a program of a netfilter hook (Linux 6.4), where a packet
 * begins with its IP header, keys are those derived from flows, and the link type is
 * EPF_LINK_IP.
 *
 * The key of a plain flow is made from the packet in place. Every other packet takes the
 * general path: the core's parser, which gets its bytes from epf_pkt_at(), in the first
 * buffer by direct loads and in any other by epf_load_bytes().
 *
 * The general path consists of global functions. The verifier checks each of them once,
 * apart from its callers, and treats the memory passed to it as unknown. Otherwise it would
 * follow every sum of header lengths separately.
 *
 * The keyed function is passed by reference and must be in memory that the program may
 * write, in a map or its own: a global function takes no other.
 *
 * All memory is on the stack, at most 416 bytes beside the caller's frame. A per-CPU map
 * would be shared: where softirqs are threads (PREEMPT_RT), a second packet can arrive on
 * the CPU while the first is being hashed.
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

#include <epf/exts.h>
#include <epf/hash.h>
#include <linux/epochfilter.h>

/* The context: its type, its bytes, its interface, a copy of some bytes. A global function
 * takes a context only if the name of its type is the one that the program's type demands.
 */
#ifdef EPF_NF
#include "epf_nf_ctx.bpf.h"
#elif defined(EPF_TC)
#define epf_ctx __sk_buff
#define epf_ctx_len(ctx) ((ctx)->len)
#define epf_ctx_iface(ctx) ((ctx)->ifindex)
#define epf_load_bytes bpf_skb_load_bytes
#else
#define epf_ctx xdp_md
#define epf_ctx_len(ctx) bpf_xdp_get_buff_len(ctx)
#define epf_ctx_iface(ctx) ((ctx)->ingress_ifindex)
#define epf_load_bytes bpf_xdp_load_bytes
#endif

#define EPF_XDP_READ 65535  /* bytes that bpf_xdp_load_bytes() reaches */
#define EPF_XDP_DIRECT 8191 /* packets up to this length are read in place */
#define EPF_XDP_CHUNK 128   /* bytes hashed at a time in place; a multiple of 8 */
#define EPF_XDP_CHUNKS 6    /* chunks at a time, for EPF_HASH_NH */
#define EPF_XDP_COPY 64     /* bytes hashed at a time from a copy */

/* One load each from a packet, at any offset, or from an aligned copy. */
typedef __u64 __attribute__((may_alias)) epf_xdp_word;
typedef __u32 __attribute__((may_alias)) epf_xdp_half;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define epf_get_le64(p) (*(const epf_xdp_word *)(p))
#endif

#if EPF_NH_BLOCK % EPF_XDP_CHUNK
#error "a block is chunks"
#endif

/* Bytes of the current chunk that an EPF_HASH_NH digest has absorbed. */
EPF_FN __u32 epf_xdp_chunk_done(const struct epf_sip *sip)
{
	return sip->len % EPF_XDP_CHUNK;
}

/* Index of the next word in its block. A finished block is sealed before the next begins. */
EPF_FN_APART int epf_xdp_place(struct epf_sip *sip)
{
	return sip ? epf_nh_place(sip, sip->len / 8) : 0;
}

/* @n bytes, but at most @most; for EPF_HASH_NH whole pairs of words of one chunk. */
EPF_FN __u32 epf_xdp_most(const struct epf_sip *sip, __u32 n, __u32 most)
{
	__u32 left = EPF_XDP_CHUNK - epf_xdp_chunk_done(sip);

	n = n < most ? n : most;
	if (sip->kind != EPF_HASH_NH)
		return n;
	return (n < left ? n : left) & ~15u;
}

/* For EPF_HASH_NH: must the next word be absorbed alone, because it is the second of a
 * pair, or the last of @n bytes?
 */
EPF_FN bool epf_xdp_single(const struct epf_sip *sip, __u32 n)
{
	return n < 16 || sip->len & 8;
}

/**
 * struct epf_xdp_ask - working data of the general path
 * @digest: result
 * @off: offset of the next byte. Here and not on the stack, so that the verifier does not
 *	track it
 * @exts: extension headers, for the same reason; before there is a digest, and with the
 *	same offset
 * @opts: options, checked or not
 */
struct epf_xdp_ask {
	union {
		struct epf_exts exts;
		struct {
			__u64 digest;
			volatile __u32 off;
		};
	};
	struct epf_pkt_opts opts;
};

EPF_ASSERT(__builtin_offsetof(struct epf_xdp_ask, off) ==
		   __builtin_offsetof(struct epf_xdp_ask, exts.off),
	   "one offset");

/**
 * struct epf_pkt - a packet, for headers.h
 * @ctx: of the program
 * @ask: working data
 * @unread: set if existing bytes cannot be read
 * @len: bytes, fragments included
 */
struct epf_pkt {
	struct epf_ctx *ctx;
	struct epf_xdp_ask *ask;
	bool *unread;
	__u32 len;
};

/* Empty: epf_xdp_digest() has already tried plain packets. */
EPF_FN const __u8 *epf_pkt_first(const struct epf_pkt *pkt, __u32 *len)
{
	(void)pkt;
	*len = 0;
	return NULL;
}

/* Load 1 to @most bytes at @off. The bounds are checked on @n - 1, because the verifier of
 * Linux 6.1 learns nothing from "n != 0". Return: false if @n is out of range or the bytes
 * cannot be read.
 */
EPF_FN bool epf_xdp_load(struct epf_ctx *ctx, __u32 off, void *to, __u32 n, __u32 most)
{
	__u32 last = epf_opaque(n - 1);

	return last < most && !epf_load_bytes(ctx, off, to, last + 1);
}

/* Bytes of a packet, from @ask->off to @end, on their way into a digest. */
struct epf_xdp_walk {
	struct epf_ctx *ctx;
	struct epf_xdp_ask *ask;
	struct epf_sip *sip;
	const struct epf_hash *hash;
	__u32 end;
};

#if defined(EPF_NO_PERFMON) || defined(EPF_NF)
#include "epf_packet_copy.bpf.h"
#else
#include "epf_packet_direct.bpf.h"
#endif

EPF_FN void epf_pkt_sip(struct epf_sip *sip, const struct epf_hash *h, const struct epf_pkt *pkt,
			__u32 off, __u32 end)
{
	struct epf_xdp_walk w = { pkt->ctx, pkt->ask, sip, h, end };

	pkt->ask->off = off;
	epf_xdp_align(&w);
	bpf_loop(EPF_XDP_READ / EPF_XDP_COPY + 2, epf_xdp_step, &w, 0);
	*pkt->unread = pkt->ask->off != end;
}

EPF_FN struct epf_exts *epf_exts_at(const struct epf_pkt *pkt, struct epf_exts *room)
{
	(void)room;
	return &pkt->ask->exts;
}

EPF_FN void epf_exts_follow(const struct epf_pkt *pkt, struct epf_exts *e);

#define epf_digest_array(h, word, len) epf_xdp_array(h, word, len)
#define EPF_EXTS_FOLLOW
#define EPF_PKT_READER
#include <epf/packet.h>
#undef epf_get_le64
#undef epf_sip_update
#undef epf_digest_array

struct epf_xdp_chain {
	struct epf_ctx *ctx;
	struct epf_xdp_ask *ask;
};

/* Return: as epf_exts_step(). */
static long epf_xdp_ext(__u32 i, struct epf_xdp_chain *c)
{
	struct epf_pkt pkt = { c->ctx, c->ask, NULL, 0 };

	(void)i;
	return epf_exts_step(&pkt, &c->ask->exts) ? 1 : 0;
}

/* By itself, because the stack of its callers has no place that may hold pointers. */
EPF_FN_APART int epf_xdp_exts(struct epf_ctx *ctx, struct epf_xdp_ask *ask)
{
	struct epf_xdp_chain c = { ctx, ask };

	return ask ? bpf_loop(EPF_IP6_EXT_MAX, epf_xdp_ext, &c, 0) : 0;
}

EPF_FN void epf_exts_follow(const struct epf_pkt *pkt, struct epf_exts *e)
{
	(void)e;
	epf_xdp_exts(pkt->ctx, pkt->ask);
}

/* Return: as epf_pkt_control(), or -EINVAL. */
EPF_FN_APART int epf_xdp_control(struct epf_ctx *ctx, struct epf_xdp_ask *ask)
{
	struct epf_pkt pkt = { ctx, ask, NULL, 0 };

	if (!ask || epf_pkt_opts_check(&ask->opts))
		return -EINVAL;
	pkt.len = epf_ctx_len(ctx);
	return epf_pkt_control(&pkt, &ask->opts);
}

/* Working data of epf_flow_digest(). */
struct epf_xdp_found {
	struct epf_flow flow;
	struct epf_l3 l3;
	struct epf_pkt_scope scope;
};

/* Return: as epf_l3_find(). */
EPF_FN_APART int epf_xdp_l3(struct epf_ctx *ctx, struct epf_xdp_ask *ask,
			    struct epf_xdp_found *found)
{
	struct epf_pkt pkt = { ctx, ask, NULL, 0 };

	if (!ask || !found)
		return -EINVAL;
	pkt.len = epf_ctx_len(ctx);
	return epf_l3_find(&pkt, ask->opts.link, &found->l3);
}

/* Return: as epf_flow_find(). */
EPF_FN_APART int epf_xdp_find(struct epf_ctx *ctx, struct epf_xdp_ask *ask,
			      struct epf_xdp_found *found)
{
	struct epf_pkt pkt = { ctx, ask, NULL, 0 };

	if (!ask || !found)
		return -EINVAL;
	return epf_flow_find(&pkt, &ask->opts, &found->l3, &found->flow);
}

/* Return: as epf_flow_make(). */
EPF_FN_APART int epf_xdp_make(struct epf_xdp_ask *ask, const struct epf_hash *h,
			      struct epf_xdp_found *found)
{
	if (!ask || !h || !found)
		return -EINVAL;
	return epf_flow_make(h, &ask->opts, &found->scope, &found->l3, &found->flow, &ask->digest);
}

/* Flows, and keys derived from them. Return: as epf_flow_digest(). */
EPF_FN_APART int epf_xdp_flow(struct epf_ctx *ctx, struct epf_xdp_ask *ask,
			      const struct epf_hash *h)
{
	struct epf_xdp_found found = { 0 };
	int err;

	if (!ask || !h)
		return -EINVAL;
	found.scope.iface = epf_ctx_iface(ctx);
	err = epf_xdp_l3(ctx, ask, &found);
	if (!err)
		err = epf_xdp_find(ctx, ask, &found);
	if (err > 0) /* an ICMP error */
		err = epf_xdp_find(ctx, ask, &found);
	return err ? err : epf_xdp_make(ask, h, &found);
}

#ifndef EPF_NF /* flows only */
/* Keys EPF_PKT_FRAME and EPF_PKT_PACKET. Return: as epf_pkt_start(). */
EPF_FN_APART int epf_xdp_packet(struct epf_ctx *ctx, struct epf_xdp_ask *ask,
				const struct epf_hash *h, struct epf_take *t)
{
	struct epf_pkt pkt = { ctx, ask, NULL, 0 };

	if (!ask || !h || !t || ask->opts.key >= EPF_PKT_FLOW)
		return -EINVAL;
	pkt.len = epf_ctx_len(ctx);
	return epf_pkt_start(h, &pkt, &ask->opts, t);
}

/* Hash what epf_xdp_packet() left. */
EPF_FN_APART int epf_xdp_rest(struct epf_ctx *ctx, struct epf_xdp_ask *ask,
			      const struct epf_hash *h, struct epf_take *t)
{
	bool unread = false;
	struct epf_pkt pkt = { ctx, ask, &unread, 0 };

	if (!ask || !h || !t)
		return -EINVAL;
	ask->digest = epf_take_rest(t, h, &pkt);
	return unread ? -EMSGSIZE : 0;
}

EPF_FN_APART int epf_xdp_whole(struct epf_ctx *ctx, struct epf_xdp_ask *ask,
			       const struct epf_hash *h)
{
	struct epf_take t = { 0 };
	int err;

	if (!ask || !h)
		return -EINVAL;
	err = epf_xdp_packet(ctx, ask, h, &t);
	return err ? err : epf_xdp_rest(ctx, ask, h, &t);
}

/* Part of the caller, to save stack. */
EPF_FN int epf_xdp_digest_any(struct epf_ctx *ctx, struct epf_xdp_ask *ask,
			      const struct epf_hash *h)
{
	int err = epf_xdp_control(ctx, ask);

	if (err)
		return err;
	if (ask->opts.key >= EPF_PKT_FLOW) {
		err = epf_xdp_flow(ctx, ask, h);
		if (err != -EPROTO || !(ask->opts.flags & EPF_PKT_NONIP_FRAME))
			return err;
		ask->opts.key = EPF_PKT_FRAME;
	}
	return epf_xdp_whole(ctx, ask, h);
}

/**
 * epf_xdp_digest() - the digest of a packet
 * @ctx: of an XDP program; fragments are read too
 * @h: keyed function
 * @opts: which bytes make it the same packet; others may be writing them
 * @digest: result
 *
 * Return: as bpf_epf_xdp_digest(), but never -ENODEV; and -EMSGSIZE: the key needs bytes
 * beyond the first 65,535, which no helper of the kernel reads.
 */
static __always_inline int epf_xdp_digest(struct epf_ctx *ctx, const struct epf_hash *h,
					  const struct epf_pkt_opts *opts, __u64 *digest)
{
	const __u8 *p = (const __u8 *)(long)ctx->data;
	struct epf_xdp_ask ask = { .opts = epf_pkt_opts_read(opts) };
	__u64 first, tail;
	int err;

	if (p + 38 <= (const __u8 *)(long)ctx->data_end &&
	    epf_flow_plain(p, 38, &ask.opts, &first, &tail)) {
		*digest = epf_digest_words(h, first, tail, 14);
		return 0;
	}
	if (ask.opts.flags & EPF_PKT_MARK) /* packets have no mark here */
		return -EINVAL;
	err = epf_xdp_digest_any(ctx, &ask, h);
	*digest = ask.digest;
	return err;
}
#endif

#endif /* EPF_PACKET_BPF_H */
