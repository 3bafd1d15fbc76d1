/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The bytes of a packet by copies, for programs that are loaded without CAP_PERFMON. The
 * verifier then also follows branches that a CPU only predicts, and allows no variable
 * offset into a packet, into the stack, or into memory passed to a global function. So all
 * offsets are constants here, all copies go to the beginning of a zeroed buffer, and loops
 * over words are unrolled. Included by epf_packet.bpf.h.
 */
#ifndef EPF_PACKET_COPY_BPF_H
#define EPF_PACKET_COPY_BPF_H

/* The verifier of Linux 6.1 learns nothing from "!= 0", so a caller that checks the pointer
 * has not checked this. With "< 0" compilers may compare pointers, which requires
 * CAP_PERFMON (seen in xdp_dedup_bare).
 */
#ifdef EPF_TC
#define epf_copy_failed(err) ((err) < 0)
#else
#define epf_copy_failed(err) (err)
#endif

/* @n bytes at @off, in @room, or NULL; @n is a constant. */
EPF_FN const __u8 *epf_pkt_at(const struct epf_pkt *pkt, __u32 off, __u32 n, __u8 *room)
{
	pkt->ask->off = off;
	off = pkt->ask->off;
	return epf_copy_failed(epf_load_bytes(pkt->ctx, off, room, n)) ? NULL : room;
}

/* The @n <= 8 bytes at @off as a word. Return: false if @n is 0 or they cannot be read. */
EPF_FN bool epf_xdp_some(struct epf_ctx *ctx, __u32 off, __u32 n, __u64 *m)
{
	*m = 0;
	return epf_xdp_load(ctx, off, m, n, 8);
}

/* Absorb the @n <= 8 bytes at @off. Return: @n, or 0: they cannot be read. */
EPF_FN_APART int epf_xdp_tail(struct epf_ctx *ctx, struct epf_sip *sip, const struct epf_hash *h,
			      __u32 off, __u32 n)
{
	__u64 m;

	if (!sip || !h || !epf_xdp_some(ctx, off, n, &m))
		return 0;
	epf_sip_some(sip, h, m, n);
	return n;
}

/* Absorb the @n bytes of @p; @n and @kind are constants. */
EPF_FN void epf_xdp_absorb(struct epf_sip *to, const __u64 *p, __u32 n, __u32 kind)
{
	struct epf_sip s = *to;
	__u32 i;

	s.kind = kind;
	EPF_UNROLL_ALL
	for (i = 0; i < n / 8; i++)
		epf_sip_word(&s, p[i]);
	memcpy(to->v, s.v, sizeof(s.v));
	to->len += n;
}

/* Absorb the @n bytes at @off, all of which go into SipHash; @n is a constant, and @room
 * has as many bytes. Return: as epf_xdp_tail().
 */
EPF_FN int epf_xdp_run(struct epf_ctx *ctx, struct epf_sip *sip, __u32 off, __u64 *room, __u32 n)
{
	if (!sip || epf_load_bytes(ctx, off, room, n))
		return 0;
	if (sip->kind == EPF_HASH_SIPHASH24)
		epf_xdp_absorb(sip, room, n, EPF_HASH_SIPHASH24);
	else
		epf_xdp_absorb(sip, room, n, EPF_HASH_SIPHASH13);
	return n;
}

EPF_FN_APART int epf_xdp_run128(struct epf_ctx *ctx, struct epf_sip *sip, __u32 off)
{
	__u64 room[16];

	return epf_xdp_run(ctx, sip, off, room, sizeof(room));
}

EPF_FN_APART int epf_xdp_run32(struct epf_ctx *ctx, struct epf_sip *sip, __u32 off)
{
	__u64 room[4];

	return epf_xdp_run(ctx, sip, off, room, sizeof(room));
}

EPF_FN_APART int epf_xdp_run8(struct epf_ctx *ctx, struct epf_sip *sip, __u32 off)
{
	__u64 room[1];

	return epf_xdp_run(ctx, sip, off, room, sizeof(room));
}

/* The digest of a flow's key; @kind is a constant. Each word is at a constant offset. */
EPF_FN __u64 epf_xdp_array_rounds(const struct epf_hash *h, const __u64 *word, __u32 len,
				  __u32 kind)
{
	struct epf_sip s;
	__u32 i;

	epf_sip_start(&s, h, kind);
	EPF_UNROLL_ALL
	for (i = 0; i < EPF_SHORT_MAX / 8; i++) {
		s.tail = word[i];
		if (8 * i + 8 > len)
			break;
		epf_sip_word(&s, word[i]);
	}
	s.len = len;
	return epf_sip_end(&s);
}

EPF_FN __u64 epf_xdp_array(const struct epf_hash *h, const __u64 *word, __u32 len)
{
	if (h->kind == EPF_HASH_SIPHASH24)
		return epf_xdp_array_rounds(h, word, len, EPF_HASH_SIPHASH24);
	return epf_xdp_array_rounds(h, word, len, EPF_HASH_SIPHASH13);
}

/* Absorb the words of the chunk in @p whose bits are set in @which, whole pairs, under the
 * key words @k. The other words are multiplied by 0, because leaving them out would take a
 * branch.
 */
EPF_FN void epf_xdp_nh_chunk(struct epf_sip *sip, const __u64 *p, const __u64 *k, __u64 which)
{
	struct epf_sum sum = sip->nh;
	__u64 keep;
	__u32 i;

	EPF_UNROLL_ALL
	for (i = 0; i < EPF_XDP_CHUNK / 8; i += 2) {
		/* else everything is computed and loaded first, and the stack has no room
		 * for it
		 */
		__asm__ volatile(""
				 : "+r"(which), "+r"(sum.low), "+r"(sum.mid),
				   "+r"(sum.high)::"memory");
		keep = (__u64)((__s64)(which << (63 - i)) >> 63);
		epf_sum_add(&sum, (p[i] + k[i]) & keep, p[i + 1] + k[i + 1]);
	}
	sip->nh = sum;
}

/* Load words @from to @end - 1 of a chunk, where @from is at @off, and the words before
 * them, but nothing from before the packet: a head may be longer in the key than in the
 * packet.
 */
EPF_FN bool epf_xdp_load_chunk(struct epf_ctx *ctx, __u32 off, __u64 *word, __u32 from, __u32 end)
{
	if (off < 8 * from)
		return epf_xdp_load(ctx, off - 8 * from + 16, word + 2, 8 * end - 16,
				    EPF_XDP_CHUNK - 16);
	return epf_xdp_load(ctx, off - 8 * from, word, 8 * end, EPF_XDP_CHUNK);
}

/* Absorb whole pairs of words of one chunk from the @n compressed bytes at @off. The chunk
 * is read from its beginning. Return: as epf_xdp_tail().
 */
EPF_FN_APART int epf_xdp_nh_words(struct epf_ctx *ctx, struct epf_sip *sip,
				  const struct epf_hash *h, __u32 off, __u32 n)
{
	__u64 word[EPF_XDP_CHUNK / 8] = { 0 }, which;
	__u32 at, end, chunk, i;

	if (!sip || !h)
		return 0;
	chunk = epf_xdp_place(sip) / (EPF_XDP_CHUNK / 8);
	at = epf_xdp_chunk_done(sip) / 8;
	end = at + epf_xdp_most(sip, n, EPF_XDP_CHUNK) / 8;
	if (!epf_xdp_load_chunk(ctx, off, word, at, end))
		return 0;
	sip->len += 8 * (end - at);
	which = (1ULL << end) - (1ULL << at);
	EPF_UNROLL_ALL
	for (i = 0; i < EPF_NH_BLOCK / EPF_XDP_CHUNK; i++)
		if (chunk == i)
			epf_xdp_nh_chunk(sip, word, h->nh + i * EPF_XDP_CHUNK / 8, which);
	return 8 * (end - at);
}

/* Absorb the next whole words of the @n bytes at @off, which go into SipHash. */
EPF_FN __u32 epf_xdp_words(struct epf_xdp_walk *w, __u32 off, __u32 n)
{
	n = epf_xdp_most(w->sip, n, EPF_XDP_CHUNK);
	if (n >= 128)
		return epf_xdp_run128(w->ctx, w->sip, off);
	if (n >= 32)
		return epf_xdp_run32(w->ctx, w->sip, off);
	return epf_xdp_run8(w->ctx, w->sip, off);
}

/* Absorb the next bytes. Return: 0, or 1 to end the loop. */
static long epf_xdp_step(__u32 i, struct epf_xdp_walk *w)
{
	__u32 off = w->ask->off, n = w->end - off, done;

	(void)i;
	if (n < 8 || (w->sip->kind == EPF_HASH_NH && epf_xdp_single(w->sip, n)))
		done = epf_xdp_tail(w->ctx, w->sip, w->hash, off, n < 8 ? n : 8);
	else if (w->sip->kind == EPF_HASH_NH)
		done = epf_xdp_nh_words(w->ctx, w->sip, w->hash, off, n);
	else
		done = epf_xdp_words(w, off, n);
	w->ask->off = off + done;
	return !done;
}

/* Absorb bytes up to the next word boundary of the digest. */
EPF_FN void epf_xdp_align(struct epf_xdp_walk *w)
{
	__u32 off = w->ask->off, left = w->end - off, n = -w->sip->len & 7;

	n = n < left ? n : left;
	w->ask->off = off + epf_xdp_tail(w->ctx, w->sip, w->hash, off, n);
}

#endif /* EPF_PACKET_COPY_BPF_H */
