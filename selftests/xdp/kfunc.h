/* SPDX-License-Identifier: GPL-2.0 */
/* What kfunc.c and its programs share. */
#ifndef EPF_KFUNC_H
#define EPF_KFUNC_H

#include <linux/epochfilter.h>

/**
 * struct kfunc - memory of the programs, which user space writes meanwhile
 * @opts: packet options
 * @len: length of @key
 * @filter: id of the filter
 * @calls: calls of the functions so far
 * @bad: of these, calls with an impossible result
 * @gone: of these, calls with ENODEV
 * @got: a filter was found
 * @digest: output
 * @key: bytes of the key
 */
struct kfunc {
	struct epf_pkt_opts opts;
	__u32 len;
	__u32 filter;
	__u64 calls;
	__u64 bad;
	__u64 gone;
	__u32 got;
	__u32 reserved;
	__u64 digest;
	__u8 key[2 * EPF_KEY_MAX];
};

#endif /* EPF_KFUNC_H */
