/* SPDX-License-Identifier: GPL-2.0 */
/* What digest.c and its program share. */
#ifndef DIGEST_H
#define DIGEST_H

#include <epf/hash.h>
#include <linux/epochfilter.h>

/**
 * struct digest_shared - the question and the answer of one run
 * @hash: keyed function
 * @opts: packet key, sound or not
 * @skip: bytes that the frame begins after
 * @iface: that the packet came from
 * @ret: of epf_xdp_digest()
 * @digest: its result
 */
struct digest_shared {
	struct epf_hash hash;
	struct epf_pkt_opts opts;
	__u32 skip;
	__u32 iface;
	__s64 ret;
	__u64 digest;
};

#endif /* DIGEST_H */
