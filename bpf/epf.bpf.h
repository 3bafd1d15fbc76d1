/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A filter in your own BPF program: XDP, tc, cgroup_skb, socket filter, netfilter. The
 * names are the same for both backends:
 *
 *   epf_key_test(key, len)             was the key inserted inside the window?
 *   epf_key_insert(key, len)
 *   epf_key_test_and_insert(key, len)  the verdict before, and the insertion
 *   epf_packet_test(ctx, opts), epf_packet_insert(ctx, opts),
 *   epf_packet_test_and_insert(ctx, opts)
 *                                      the same for a packet; XDP only
 *   epf_key_insert_new(key, len), epf_packet_insert_new(ctx, opts)
 *                                      the verdict, and an insertion unless the key is
 *                                      present: seeing a key again does not restart its
 *                                      window
 *
 * and with EPF_CLUSTER defined before this is included (docs/PROGRAMS.md, "A cluster")
 *
 *   epf_key_test_cluster(key, len), epf_key_test_and_insert_cluster(key, len),
 *   epf_packet_test_cluster(ctx, opts), epf_packet_test_and_insert_cluster(ctx, opts)
 *                                      the same verdict, of all hosts of the cluster; only
 *                                      the filter of this host is inserted into
 *
 * A key is 1 .. EPF_KEY_MAX initialized bytes: on the stack, in a map value or in a packet.
 * With the module, bytes from bpf_dynptr_slice() must be copied first. The length of a key
 * is a constant. 'epfctl test' finds a key by the same bytes.
 *
 * Verdicts:
 *
 *   0        absent; of an insertion: inserted
 *   1 + age  present; age in epochs, 0 .. 7
 *   -ENOSPC  do not know: the error may be above the filter's limit
 *   -ETIME   do not know: nobody ends the filter's epochs (pure BPF)
 *   -ENODEV  nothing was done: the filter was destroyed, or the loader chose none
 *   -EBUSY   nothing was done: four programs that this one interrupts use the filter on
 *            this CPU (the module), or the loader chose none
 *   -EINVAL  nothing was done: a length, or options, out of range
 *   -EHOSTUNREACH  do not know, of a cluster: absent on this host, and data of another host
 *            are missing
 *
 * and for packets those of epf_kfunc.bpf.h. With -ENOSPC, -ETIME
 * and -EHOSTUNREACH the key was inserted. A
 * program that drops repeats should pass packets with a negative verdict.
 *
 * The backend is chosen when the program is compiled. By default the filter is pure BPF and
 * its operations become a part of the program: Linux 6.1 and later, netfilter 6.4. With
 * -DEPF_MODULE they are functions of the module, which cgroup_skb, socket filter and
 * netfilter programs can call on 6.4 and later. The filter is chosen when the program is
 * loaded; one object uses one filter:
 *
 *   pure BPF  use the filter's maps "table", "lines", "cpus" and "journals", which are
 *             pinned in /sys/fs/bpf/epochfilter/NAME, in place of epf_table, epf_lines,
 *             epf_cpus and epf_journals (bpf_map__reuse_fd(), or "map name ... pinned ..."
 *             of bpftool). Without the last one the filter's journal, if it has one, counts
 *             the insertions as lost
 *   module    run the program epf_choose once with the filter's id as its context (struct
 *             epf_choice), before other programs of the object are attached
 *   cluster   also use the pinned map /sys/fs/bpf/epochfilter-cluster/NAME in place of
 *             epf_cover, and do the same for the filter of all that its value names, with
 *             epf_all_table, epf_all_lines and epf_all_cpus, or with epf_choose_all
 *
 * With pure BPF the verifier rejects programs that may sleep, including syscall programs:
 * nothing would wait for them before a lane is reused (epf/lanes.h, O3). The verifier does
 * not notice callbacks of other programs that may sleep (bpf_wq, bpf_task_work): they must
 * not call these functions. With the module, each call is a section of its own; syscall
 * programs may call the functions, other programs that may sleep may not.
 */
#ifndef EPF_OWN_BPF_H
#define EPF_OWN_BPF_H

#ifdef EPF_MODULE
#include "epf_own_module.bpf.h"
#ifdef EPF_CLUSTER
#include "epf_own_all_module.bpf.h"
#endif
#else
#include "epf_own_inline.bpf.h"
#ifdef EPF_CLUSTER
#include "epf_own_all_inline.bpf.h"
#endif
#endif

/* If another CPU inserts the key between test and insertion, it is inserted twice, which is
 * harmless. A key with the verdict "do not know" is inserted, because it must be found
 * later. After an error nothing is inserted.
 */
static __always_inline int epf_own_lacks(int verdict)
{
	return !verdict || verdict == -ENOSPC || verdict == -ETIME;
}

static __always_inline int epf_key_insert_new(const void *key, __u32 len)
{
	int verdict = epf_key_test(key, len);
	int err = epf_own_lacks(verdict) ? epf_key_insert(key, len) : 0;

	return err ? err : verdict;
}

static __always_inline int epf_packet_insert_new(struct xdp_md *ctx, struct epf_pkt_opts *opts)
{
	int verdict = epf_packet_test(ctx, opts);
	int err = epf_own_lacks(verdict) ? epf_packet_insert(ctx, opts) : 0;

	return err ? err : verdict;
}

#endif /* EPF_OWN_BPF_H */
