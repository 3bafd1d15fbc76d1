/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Byte order of files: snapshots, and the states of audits. Files are little-endian, memory is in
 * the order of the CPU. The functions convert between them, either way, and change nothing on a
 * little-endian CPU.
 */
#ifndef LIBEPF_ORDER_H
#define LIBEPF_ORDER_H

#include <linux/epochfilter.h>

#include <stddef.h>

/* Does this CPU have another order than files? A test may say that it does. */
#ifndef EPF_ORDER_SWAPS
#define EPF_ORDER_SWAPS (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
#endif

static inline __u64 epf_order_u64(__u64 v)
{
	return EPF_ORDER_SWAPS ? __builtin_bswap64(v) : v;
}

/* @bytes: a multiple of 8. @to may be @from. */
void epf_order_words(void *to, const void *from, size_t bytes);
void epf_order_header(struct epf_snap_header *h);
void epf_order_desc(struct epf_key_desc *d);
/* @kind: of the filter, a known one. */
void epf_order_locked(struct epf_snap_locked *s, __u8 kind);

#endif /* LIBEPF_ORDER_H */
