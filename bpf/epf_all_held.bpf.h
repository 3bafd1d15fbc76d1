/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The filter of all of a cluster, of the module: a second map that holds a filter, which
 * programs only look into. The module makes the key again, from the same bytes.
 */
#ifndef EPF_ALL_HELD_BPF_H
#define EPF_ALL_HELD_BPF_H

#include "epf_cover.bpf.h"
#include "epf_held.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct epf_held);
} epf_all_held SEC(".maps");

/* Both filters said "absent": is that an answer? */
static __always_inline bool epf_held_covered(__u64 until)
{
	__u64 own = bpf_epf_since_held(&epf_held);
	__u64 all = bpf_epf_since_held(&epf_all_held);

	return epf_cover_holds(until, epf_cluster_later(own, all));
}

/* The verdict of the cluster. @verdict: that of the local filter; @ask: an expression that
 * looks into epf_all_held, evaluated if the local filter says "absent".
 */
#define epf_held_cluster(verdict, ask)                                                         \
	({                                                                                     \
		int epf_of_one = (verdict);                                                    \
		if (epf_clustered && !epf_of_one) {                                            \
			__u64 epf_until = epf_cover_until();                                   \
			int epf_of_all = (ask);                                                \
			epf_of_one = epf_cluster_verdict(0, epf_of_all,                        \
							 !epf_of_all &&                        \
								 epf_held_covered(epf_until)); \
		}                                                                              \
		epf_of_one;                                                                    \
	})

#endif /* EPF_ALL_HELD_BPF_H */
