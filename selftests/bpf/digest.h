/* SPDX-License-Identifier: GPL-2.0 */
/* What digest.c and its program share. */
#ifndef DIGEST_H
#define DIGEST_H

#include <epf/hash.h>
#include <linux/epochfilter.h>

/**
 * struct digest_shared - input and output of one run
 * @hash: keyed function
 * @opts: packet options, valid or not
 * @skip: bytes before the frame
 * @iface: interface that the packet came from
 * @ret: result of epf_xdp_digest()
 * @digest: the digest
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
