/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Definitions that the XDP programs of bpf/ share with the tool that attaches them: maps,
 * counters, the mark. No functions.
 *
 * An interface has one slot map and one conf map. They are pinned below EPF_XDP_PINS in a
 * directory named '@' and the interface, with ':' in place of '.', which the BPF file
 * system does not allow and interface names do not contain. Directories without '@' are
 * filters (epf/bpf.h).
 */
#ifndef EPF_XDP_H
#define EPF_XDP_H

#include "outcome.h"

#include <linux/epochfilter.h>

#define EPF_XDP_BPFFS "/sys/fs/bpf"
#define EPF_XDP_PINS EPF_XDP_BPFFS "/epochfilter"
#define EPF_XDP_PIN_SLOT "slot"
#define EPF_XDP_PIN_CONF "conf"
#define EPF_XDP_PIN_COUNTS "counts" /* of programs that have no slot: struct epf_counts */
#define EPF_XDP_PIN_MARK "mark"     /* link of tc_mark, with EPF_XDP_MARK */
#define EPF_XDP_PIN_HELD "held" /* the filter, if it belongs to the module and there is no slot */
/* The same two for the filter of all of a cluster, if it belongs to the module. */
#define EPF_XDP_PIN_ALL_SLOT "allslot"
#define EPF_XDP_PIN_ALL_HELD "allheld"

enum epf_xdp_action {
	EPF_XDP_DROP = 0,
	EPF_XDP_COUNT = 1,
	EPF_XDP_MARK = 2,
	EPF_XDP_REFLEX = 3,    /* another program: epf/reflex.h */
	EPF_XDP_NETFILTER = 4, /* another hook: epf/nf.h */
	EPF_XDP_ADMIT = 5,     /* others: epf/ingress.h */
	EPF_XDP_LOG = 6,
	EPF_XDP_MATCH = 7, /* no hook: epf/match.h */
	EPF_XDP_ACTIONS
};

/* A reference. A file that includes this and holds references defines it first. */
#ifndef EPF_XDP_REF
#define EPF_XDP_REF __u64 /* reads as 0 */
#endif

/**
 * struct epf_xdp_slot - the one value of the slot map, per CPU
 * @filter: reference; not in the slot while this CPU works on a packet. For a pure BPF
 *	filter it is 0, and nothing is ever busy
 * @opts: how the key is made; here because the verifier requires it to be writable
 * @counts: of the first side; EPF_OUT_RECENT: dropped, counted or marked, as @action says
 *
 * Only its own CPU writes it, in softirq, which does not nest; the bind programs write it
 * before and after the interface has its program. If softirqs are threads and two of one
 * CPU can take packets of one interface (PREEMPT_RT), the second finds the slot empty: its
 * packet is passed as EPF_OUT_BUSY, and if both count at once, one count may be lost.
 */
struct epf_xdp_slot {
	EPF_XDP_REF filter;
	struct epf_pkt_opts opts;
	struct epf_counts counts;
};

/**
 * struct epf_xdp_bind - argument of the bind programs
 * @id: filter
 * @reserved: zero
 * @opts: packet key
 */
struct epf_xdp_bind {
	__u32 id;
	__u32 reserved;
	struct epf_pkt_opts opts;
};

/* VLAN tags that a network card removes. */
enum epf_xdp_vlan {
	EPF_XDP_VLAN_C = 1, /* rx-vlan-hw-parse: 802.1Q */
	EPF_XDP_VLAN_S = 2, /* rx-vlan-stag-hw-parse: 802.1ad */
};

/* The owner of the filter. */
enum epf_xdp_backend {
	EPF_XDP_MODULE,
	EPF_XDP_BPF, /* pure BPF, see epf/bpf.h */
};

/**
 * struct epf_xdp_tc - a program at a tc hook
 * @prog_id: number; 0: there is none
 * @handle: of the filter of the clsact qdisc
 * @prio: likewise; 0: the program is no filter but has a link, which is pinned
 */
struct epf_xdp_tc {
	__u32 prog_id;
	__u32 handle;
	__u32 prio;
};

/**
 * struct epf_xdp_conf - the one value of the conf map, for status and detach
 * @id: filter
 * @opts: packet key
 * @action: enum epf_xdp_action
 * @mark: first mark, with EPF_XDP_MARK
 * @prog_id: of the XDP program
 * @ifindex: of the interface, which may be gone by now
 * @mode: XDP_FLAGS_DRV_MODE or XDP_FLAGS_SKB_MODE
 * @prio: place among other programs; 0: attached without a dispatcher
 * @vlan_off: offloads (enum epf_xdp_vlan) that detach switches on again
 * @backend: enum epf_xdp_backend
 * @made: attaching created the filter, and detaching removes it
 * @holder: process that was started to end the filter's epochs, or 0
 * @filter: its name
 * @tc: with EPF_XDP_REFLEX: programs at tc, by enum epf_reflex_side
 * @qdisc_made: their clsact qdisc was made for them
 * @mark_mask: with EPF_XDP_MARK: the bits of the mark that are written
 * @all_id: id of the filter of all, of the same backend; 0: no cluster
 * @cluster: name of the cluster, or ""
 * @cover_id: the kernel's id of the cover map that the programs have
 */
struct epf_xdp_conf {
	__u32 id;
	struct epf_pkt_opts opts;
	__u32 action;
	__u32 mark;
	__u32 prog_id;
	__u32 ifindex;
	__u32 mode;
	__u32 prio;
	__u32 vlan_off;
	__u32 backend;
	__u32 made;
	__u32 holder;
	char filter[EPF_NAME_LEN];
	struct epf_xdp_tc tc[2];
	__u32 qdisc_made;
	__u32 mark_mask;
	__u32 all_id;
	char cluster[EPF_NAME_LEN];
	__u32 cover_id;
};

#define EPF_XDP_MARK_DEFAULT 0xef00

/**
 * struct epf_xdp_marks - configuration of tc_mark, set when it is loaded
 * @first: mark of a repeat of age 0; with any other age added it stays within @mask
 * @mask: the bits that are written; the others do not change
 */
struct epf_xdp_marks {
	__u32 first;
	__u32 mask;
};

#define EPF_XDP_META_MAGIC 0x45504631 /* "EPF1" */

/**
 * struct epf_xdp_meta - what action mark puts before the packet
 * @magic: EPF_XDP_META_MAGIC
 * @age: of the repeat, in epochs
 */
struct epf_xdp_meta {
	__u32 magic;
	__u32 age;
};

#endif /* EPF_XDP_H */
