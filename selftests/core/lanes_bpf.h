/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by lanes.bpf.c and lanes_bpf.c. */
#ifndef LANES_BPF_H
#define LANES_BPF_H

#include <epf/window.h>

/**
 * struct lanes_shared - the filter without its lines, and one operation
 * @state: epochs
 * @geom: shape
 * @digest: digest of the key
 * @first_seen: see epf_lanes_test_and_insert_into()
 * @verdict: result; not set by an insertion
 * @epoch: result; not set by a test
 * @lanes: result; not set by a test
 * @grew: result of an insertion
 */
struct lanes_shared {
	struct epf_state state;
	struct epf_geom geom;
	__u64 digest;
	__u32 first_seen;
	int verdict;
	__u64 epoch;
	__u64 lanes;
	__u32 grew;
};

#endif /* LANES_BPF_H */
