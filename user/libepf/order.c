// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "order.h"

#include <string.h>

/* Of each kind: the 64-bit numbers at the beginning of its shape, which 32-bit ones follow. */
#define LONG_NUMBERS(kind, first_short) (offsetof(struct epf_shape_##kind, first_short) / 8)
static const __u8 long_numbers[EPF_KIND_MAX + 1] = {
	[EPF_KIND_LANES] = 0, /* no shape, zeros */
	[EPF_KIND_GE] = LONG_NUMBERS(ge, epochs),
	[EPF_KIND_GEBL] = LONG_NUMBERS(gebl, block_bits),
	[EPF_KIND_APBF] = LONG_NUMBERS(apbf, k),
	[EPF_KIND_APBBF] = LONG_NUMBERS(apbbf, k),
	[EPF_KIND_TLBF] = LONG_NUMBERS(tlbf, k),
	[EPF_KIND_DICT] = LONG_NUMBERS(dict, generations),
	[EPF_KIND_CHAIN] = LONG_NUMBERS(chain, load),
	[EPF_KIND_ELASTIC] = LONG_NUMBERS(elastic, line_words),
};

static void swap16(__u16 *v)
{
	*v = __builtin_bswap16(*v);
}

static void swap32(__u32 *v)
{
	*v = __builtin_bswap32(*v);
}

/* All 64-bit numbers from @first to the end of the struct, where @end is. */
static void swap_to(__u64 *first, const void *end)
{
	for (; first < (const __u64 *)end; first++)
		*first = __builtin_bswap64(*first);
}

void epf_order_words(void *to, const void *from, size_t bytes)
{
	const __u64 *word = from;
	__u64 *out = to;
	size_t i;

	if (!EPF_ORDER_SWAPS) {
		memmove(to, from, bytes);
		return;
	}
	for (i = 0; i < bytes / sizeof(*word); i++)
		out[i] = __builtin_bswap64(word[i]);
}

void epf_order_header(struct epf_snap_header *h)
{
	if (!EPF_ORDER_SWAPS)
		return;
	swap_to(&h->magic, &h->version);
	swap32(&h->version);
	swap32(&h->header_bytes);
	swap16(&h->params.lines_per_key);
	swap16(&h->params.bits_per_key);
	swap_to(&h->params.nr_lines, h + 1);
}

void epf_order_desc(struct epf_key_desc *d)
{
	if (!EPF_ORDER_SWAPS)
		return;
	swap16(&d->flags);
	swap32(&d->max_bytes);
}

static void swap_shape(struct epf_shape *s, __u8 kind)
{
	__u64 *shorts = s->all + long_numbers[kind];
	__u32 *v;

	swap_to(s->all, shorts);
	for (v = (__u32 *)shorts; v < (__u32 *)(s + 1); v++)
		swap32(v);
}

void epf_order_locked(struct epf_snap_locked *s, __u8 kind)
{
	if (!EPF_ORDER_SWAPS)
		return;
	swap32(&s->size);
	swap32(&s->nr);
	swap_to(&s->words, &s->shape);
	swap_shape(&s->shape, kind);
	swap_to(&s->epoch, s + 1);
}
