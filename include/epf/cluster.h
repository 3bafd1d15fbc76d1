/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the packet path of a cluster shares with epfagent: the cover of the filter of all,
 * and the rule that makes one verdict of two filters. Pure functions; any context.
 *
 * A host has a local filter, of its own traffic, and a filter of all, with the digests of
 * all other hosts. A program inserts into the local filter and, if that says "absent", only
 * looks into the filter of all. "Absent" there is an answer as long as the data of all hosts
 * are in it; the agent says until when that is certain, in the word @until_ns.
 *
 * The map is pinned as EPF_CLUSTER_PINS/NAME, with ':' in place of '.', which the BPF file
 * system does not allow. It has one value. It belongs to one filter of all: the agent writes
 * everything but @until_ns once, before it pins the map, and makes another map for another
 * filter or for other contents. Programs keep the map that they were attached with: if the
 * agent has made another one, theirs stays expired, until they are attached again.
 */
#ifndef EPF_CLUSTER_H
#define EPF_CLUSTER_H

#include "window.h"

#include <linux/epochfilter.h>

#define EPF_CLUSTER_PINS "/sys/fs/bpf/epochfilter-cluster"
#define EPF_CLUSTER_MAGIC 0x3252564f43465045ULL /* "EPFCOVR2" */
#define EPF_CLUSTER_TICK_NS 10000000ULL /* margin that the agent subtracts from its promise */

/* The owner of both filters; the numbers are those of enum epf_xdp_backend. */
enum epf_cluster_backend {
	EPF_CLUSTER_MODULE,
	EPF_CLUSTER_BPF,
};

/**
 * struct epf_cluster_cover - the one value of the cover map
 * @magic: EPF_CLUSTER_MAGIC
 * @until_ns: "absent" of the filter of all is an answer before this time (CLOCK_MONOTONIC);
 *	0: it is none now
 * @serial: pure BPF: of the contents of the filter of all (struct epf_bpf_slot); after a
 *	swap or a restore they have another, and the cover is not about them
 * @all_id: id of the filter of all
 * @local_id: id of the local filter
 * @backend: enum epf_cluster_backend
 * @reserved: zero
 * @window_ns: "absent" is an answer if both filters retain what was inserted in this time
 * @all: name of the filter of all
 * @local: name of the local filter, whose new keys the agent publishes
 *
 * The agent alone writes @until_ns, by a store-release, after it has inserted what the
 * promise needs. Programs load it (acquire) before they look into the filter of all. So if
 * a program finds the word of a later promise, it also finds the insertions from before
 * that promise. If the agent dies, stops, or lags behind, the word stays as it is and the
 * time passes: nobody has to withdraw a promise. Programs compare it with the exact clock: the
 * coarse one, which costs less, may be late by any time where a hypervisor stops the CPU that
 * moves it on.
 *
 * Nor does it depend on the agent what the filters themselves have lost. After both have said
 * "absent", programs ask both since when they retain everything (epf_state_since() of
 * window.h, which has the ordering). Whoever clears, rotates, swaps or restores one of them
 * makes that time later, before a key can be missed, and "absent" is an answer again when it
 * is @window_ns ago.
 *
 * The clock stands still while the host is suspended, and then the promise lasts for as long
 * as was left of it: at most the lag that the cluster allows.
 */
struct epf_cluster_cover {
	__u64 magic;
	__u64 until_ns;
	__u64 serial;
	__u32 all_id;
	__u32 local_id;
	__u32 backend;
	__u32 reserved;
	__u64 window_ns;
	char all[EPF_NAME_LEN];
	char local[EPF_NAME_LEN];
};
EPF_ASSERT(sizeof(struct epf_cluster_cover) == 48 + 2 * EPF_NAME_LEN, "no padding");

/* Until when are the data of all hosts in the filter of all? Ask before looking into that
 * filter: if the agent moves the time on in between, the insertions from before that may be
 * missing.
 */
EPF_FN __u64 epf_cluster_until(const struct epf_cluster_cover *c)
{
	return epf_load_acquire(&c->until_ns);
}

/**
 * epf_cluster_covered() - is "absent" of both filters an answer?
 * @c: cover
 * @until: epf_cluster_until(), from before the filter of all was asked
 * @since: epf_state_since() of both filters, the later one, from after they were asked
 * @now_ns: from after that
 *
 * Compared as signed, because a window may be longer than the time since boot.
 */
EPF_FN bool epf_cluster_covered(const struct epf_cluster_cover *c, __u64 until, __u64 since,
				__u64 now_ns)
{
	return now_ns < until && (__s64)(now_ns - c->window_ns) >= (__s64)since;
}

/* The later of two times of epf_state_since(). */
EPF_FN __u64 epf_cluster_later(__u64 a, __u64 b)
{
	return (__s64)a > (__s64)b ? a : b;
}

/**
 * epf_cluster_verdict() - one verdict of two filters
 * @local: verdict of the local filter
 * @all: verdict of the filter of all, if @local is 0
 * @covered: epf_cluster_covered(), if both are 0
 *
 * A key that another host has inserted is present, covered or not. An error of the filter of
 * all says that a key was found but that this is not reliable (-ENOSPC, -ETIME), or that the
 * filter cannot be asked, which is the same as a missing host.
 *
 * Return: a verdict; -EHOSTUNREACH: do not know, because data of a host are missing.
 */
EPF_FN int epf_cluster_verdict(int local, int all, bool covered)
{
	if (local)
		return local;
	if (all > 0 || all == -ENOSPC || all == -ETIME)
		return all;
	return !all && covered ? 0 : -EHOSTUNREACH;
}

#endif /* EPF_CLUSTER_H */
