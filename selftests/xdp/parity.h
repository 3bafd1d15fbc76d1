/* SPDX-License-Identifier: GPL-2.0 */
/* One operation, from parity.c to parity.bpf.c and back. */
#ifndef EPF_PARITY_H
#define EPF_PARITY_H

#include <linux/epochfilter.h>

enum parity_op {
	PARITY_TEST,
	PARITY_INSERT,
	PARITY_TEST_AND_INSERT,
	PARITY_OPS
};

/**
 * struct parity - shared memory of the two
 * @filter: id
 * @op: enum parity_op
 * @by_digest: of @digest, else of @key
 * @len: of @key
 * @opts: of packets
 * @skip: bytes dropped in front of a packet first, whose first buffer then ends
 *	as much sooner
 * @first: out: bytes of a packet's first buffer, before that
 * @ret: out: verdict, or a negative errno
 * @digest: in; out: of the key or the packet
 * @key: bytes
 */
struct parity {
	__u32 filter;
	__u32 op;
	__u32 by_digest;
	__u32 len;
	struct epf_pkt_opts opts;
	__u32 skip;
	__u32 first;
	__s64 ret;
	__u64 digest;
	__u8 key[EPF_KEY_MAX];
};

#endif /* EPF_PARITY_H */
