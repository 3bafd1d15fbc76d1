/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The bytes of a packet in place, as far as they are in the first buffer, for programs that
 * are loaded with CAP_PERFMON. Included by epf_packet.bpf.h.
 */
#ifndef EPF_PACKET_DIRECT_BPF_H
#define EPF_PACKET_DIRECT_BPF_H

struct epf_xdp_words {
	__u64 word[9];
};

/* Absorb the whole words of @n bytes into SipHash. @kind is a constant, because the
 * verifier would follow a test at each word. Return: number of words.
 */
EPF_FN __u32 epf_xdp_sip(struct epf_sip *to, const struct epf_xdp_words *p, __u32 n, __u32 kind)
{
	struct epf_sip s = *to;
	__u32 i;

	s.kind = kind;
	for (i = 0; i < 8 && 8 * i + 8 <= n; i++)
		epf_sip_word(&s, p->word[i]);
	memcpy(to->v, s.v, sizeof(s.v));
	return i;
}

/* Absorb @n <= sizeof(*p) bytes of @p into SipHash; the digest is at a word boundary, here
 * and in the functions below.
 */
EPF_FN_APART int epf_xdp_update(struct epf_sip *to, struct epf_xdp_words *p, __u32 n)
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

/* The same for EPF_HASH_NH, from word @at of a block on, which begins a pair; all bytes
 * belong to one block.
 */
EPF_FN_APART int epf_xdp_nh_update(struct epf_sip *to, const struct epf_hash *h,
				   struct epf_xdp_words *p, __u32 at, __u32 n)
{
	__u32 i;

	if (!to || !h || !p)
		return 0;
	for (i = 0; i < 8 && 8 * i + 16 <= n; i += 2)
		epf_nh_add(&to->nh, h, (at + i) & (EPF_NH_WORDS - 2), p->word[i], p->word[i + 1]);
	i = epf_opaque(i); /* at most 8, which the verifier cannot infer */
	to->len += n;
	if (n & 8 && i <= 8) {
		to->even = p->word[i];
		i++;
	}
	to->tail = 0;
	if (n & 7 && i <= 8)
		to->tail = p->word[i] << (64 - 8 * (n & 7)) >> (64 - 8 * (n & 7));
	return 0;
}

/* Copy @n bytes from @p, anywhere in a packet, to @to, which is aligned; @n is a constant. */
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
EPF_FN const __u8 *epf_pkt_at(const struct epf_pkt *pkt, __u32 off, __u32 n, __u8 *room)
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
	return epf_load_bytes(pkt->ctx, off, room, n) ? NULL : room;
}

/* The @n <= 8 bytes at @off as a word. In the first buffer that is one load of the eight
 * bytes that end there. Return: false if @n is 0 or they cannot be read.
 */
EPF_FN bool epf_xdp_some(struct epf_ctx *ctx, __u32 off, __u32 n, __u64 *m)
{
	const __u8 *p = (const __u8 *)(long)ctx->data;
	__u32 from = epf_opaque(off + n - 8);

	*m = 0;
	if (from <= EPF_XDP_DIRECT) {
		p += from;
		if (p + 8 <= (const __u8 *)(long)ctx->data_end) {
			*m = epf_get_le64(p) >> ((64 - 8 * n) & 63);
			return n;
		}
	}
	return epf_xdp_load(ctx, off, m, n, 8);
}

/* Absorb the rest of a chunk, at most EPF_XDP_COPY bytes, from any buffer. Return: number
 * of bytes, or 0: they cannot be read.
 */
EPF_FN_APART int epf_xdp_piece(struct epf_ctx *ctx, struct epf_sip *sip, const struct epf_hash *h,
			       __u32 off, __u32 n)
{
	struct epf_xdp_words p = { { 0 } };
	bool nh;
	__u64 m;

	if (!sip || !h)
		return 0;
	nh = sip->kind == EPF_HASH_NH;
	if (n < 8 || (nh && epf_xdp_single(sip, n))) {
		n = n < 8 ? n : 8;
		if (!epf_xdp_some(ctx, off, n, &m))
			return 0;
		epf_sip_some(sip, h, m, n);
		return n;
	}
	n = epf_xdp_most(sip, n, EPF_XDP_COPY) & ~7u;
	if (!epf_xdp_load(ctx, off, &p, n, EPF_XDP_COPY))
		return 0;
	if (nh)
		epf_xdp_nh_update(sip, h, &p, epf_xdp_place(sip), n);
	else
		epf_xdp_update(sip, &p, n);
	return n;
}

/* Absorb up to EPF_XDP_CHUNK of @n bytes at @p, but none beyond @end, as epf_xdp_sip().
 * Return: number of bytes.
 */
EPF_FN __u32 epf_xdp_sip_words(struct epf_sip *to, const __u8 *p, const __u8 *end, __u32 n,
			       __u32 kind)
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

/* Absorb those whole words of the @n bytes at @off that are in the first buffer; all of
 * them go into SipHash. Return: number of bytes.
 */
EPF_FN_APART int epf_xdp_words_at(struct epf_ctx *ctx, struct epf_sip *sip, __u32 off, __u32 n)
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

/* The same for EPF_HASH_NH: whole pairs of words of one chunk. */
EPF_FN_APART int epf_xdp_nh_words(struct epf_ctx *ctx, struct epf_sip *sip,
				  const struct epf_hash *h, __u32 off, __u32 n)
{
	const __u8 *p = (const __u8 *)(long)ctx->data;
	const __u8 *end = (const __u8 *)(long)ctx->data_end;
	struct epf_sum sum;
	__u32 i, at;

	off = epf_opaque(off);
	if (!sip || !h || off > EPF_XDP_DIRECT || p + off + 16 > end)
		return 0;
	p += off;
	at = epf_xdp_place(sip);
	sum = sip->nh;
	for (i = 0; i < EPF_XDP_CHUNK && i + 16 <= n; i += 16) {
		if (p + 16 > end)
			break;
		epf_nh_add(&sum, h, (at + i / 8) & (EPF_NH_WORDS - 2), epf_get_le64(p),
			   epf_get_le64(p + 8));
		p += 16;
	}
	sip->nh = sum;
	sip->len += i;
	return i;
}

/* Absorb the chunk at @p under key words @k. */
EPF_FN void epf_xdp_nh_chunk(struct epf_sip *sip, const __u8 *p, const __u64 *k)
{
	struct epf_sum sum = sip->nh;
	__u32 i;

	_Pragma("clang loop unroll(full)")
	for (i = 0; i < EPF_XDP_CHUNK; i += 16) {
		/* else everything is loaded first, and the stack has no room for it */
		__asm__ volatile("" : "+r"(sum.low), "+r"(sum.mid), "+r"(sum.high)::"memory");
		epf_sum_add(&sum, epf_get_le64(p + i) + k[i / 8],
			    epf_get_le64(p + i + 8) + k[i / 8 + 1]);
	}
	sip->nh = sum;
}

/* Absorb up to EPF_XDP_CHUNKS chunks of EPF_HASH_NH, from the @n bytes at @off, which begin
 * a chunk. Return: number of bytes, or 0: they are not in the first buffer.
 */
EPF_FN_APART int epf_xdp_nh_chunks(struct epf_ctx *ctx, struct epf_sip *sip,
				   const struct epf_hash *h, __u32 off, __u32 n)
{
	const __u8 *p = (const __u8 *)(long)ctx->data;
	const __u8 *end = (const __u8 *)(long)ctx->data_end;
	__u32 i, at;

	off = epf_opaque(off);
	if (!sip || !h || off > EPF_XDP_DIRECT)
		return 0;
	p += off;
	for (i = 0; i < EPF_XDP_CHUNKS; i++, p += EPF_XDP_CHUNK) {
		if (p + EPF_XDP_CHUNK > end || n < EPF_XDP_CHUNK * (i + 1))
			break;
		at = epf_xdp_place(sip) & (EPF_NH_WORDS - EPF_XDP_CHUNK / 8);
		epf_xdp_nh_chunk(sip, p, h->nh + at);
		sip->len += EPF_XDP_CHUNK;
	}
	return i * EPF_XDP_CHUNK;
}

/* Absorb EPF_XDP_CHUNK bytes; @kind is a constant. */
EPF_FN void epf_xdp_absorb(struct epf_sip *to, const __u8 *p, __u32 kind)
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

/* Absorb the next bytes for EPF_HASH_NH that are in the first buffer. Return: their number.
 */
EPF_FN __u32 epf_xdp_nh_step(struct epf_xdp_walk *w, __u32 off, __u32 n)
{
	__u32 done = 0, most = epf_xdp_most(w->sip, n, EPF_XDP_CHUNK);

	if (epf_xdp_single(w->sip, n))
		return 0;
	if (most == EPF_XDP_CHUNK)
		done = epf_xdp_nh_chunks(w->ctx, w->sip, w->hash, off, n);
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

/* Absorb the head of a packet, which is the beginning of its key. */
EPF_FN void epf_xdp_head(struct epf_sip *s, const struct epf_hash *h, struct epf_xdp_words *p,
			 __u32 n)
{
	if (s->kind == EPF_HASH_NH)
		epf_xdp_nh_update(s, h, p, 0, n);
	else
		epf_xdp_update(s, p, n);
}
#define epf_sip_update(s, h, p, n) epf_xdp_head(s, h, (struct epf_xdp_words *)(p), n)

/* A flow's key, in memory that has the size epf_xdp_update() requires. */
EPF_FN __u64 epf_xdp_array(const struct epf_hash *h, const __u64 *word, __u32 len)
{
	struct epf_sip s;

	epf_sip_init(&s, h, len);
	epf_xdp_update(&s, (struct epf_xdp_words *)word, len);
	return epf_sip_end(&s);
}

#endif /* EPF_PACKET_DIRECT_BPF_H */
