/* SPDX-License-Identifier: GPL-2.0 */
/* One operation, from parity.c to parity.bpf.c and back. */
#ifndef EPF_PARITY_H
#define EPF_PARITY_H

#include <linux/epochfilter.h>

enum parity_op { PARITY_TEST, PARITY_INSERT, PARITY_TEST_AND_INSERT, PARITY_OPS };

/**
 * struct parity - shared memory of the two
 * @filter: id of the filter
 * @op: enum parity_op
 * @by_digest: use @digest, else @key
 * @len: length of @key
 * @opts: packet options
 * @skip: bytes to drop from the front of a packet first, which shortens its first
 *	buffer
 * @first: output: bytes of a packet's first buffer, before that
 * @ret: output: verdict, or a negative errno
 * @digest: input; output: digest of the key or the packet
 * @key: bytes of the key
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
