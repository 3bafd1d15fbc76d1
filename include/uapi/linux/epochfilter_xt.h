/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The iptables match "epf", revision 0: what iptables and the module xt_epf hand
 * each other. Rules are checked when they are added:
 *
 *   EPERM       the caller lacks CAP_NET_ADMIN in the initial user namespace
 *   ENOENT      there is no filter of that name
 *   EINVAL      a number out of its range, or options that contradict each other
 *   ERANGE      @within_ns is longer than the filter's window
 *   EOPNOTSUPP  @within_ns, of a filter whose epochs do not last at least a seventh
 *               of a time (kind lanes, modes time and both have such epochs)
 *   ENOMEM
 */
#ifndef _UAPI_LINUX_EPOCHFILTER_XT_H
#define _UAPI_LINUX_EPOCHFILTER_XT_H

#include <linux/epochfilter.h>
#include <linux/epochfilter_packet.h>

/* What a packet counts as. */
enum xt_epf_is {
	XT_EPF_UNSAID = 0,
	XT_EPF_RECENT = 1,
	XT_EPF_NEW = 2,
	XT_EPF_IS
};

/* What is inserted. */
enum xt_epf_learn {
	XT_EPF_LEARN_NOTHING = 0,
	XT_EPF_LEARN = 1,     /* every packet: its window begins again */
	XT_EPF_LEARN_NEW = 2, /* what is not recent; only where something is asked */
	XT_EPF_LEARNS
};

#define XT_EPF_WITHIN_MAX 254 /* epochs */

/**
 * struct xt_epf_rule - what a rule asks of a filter
 * @key: of packets; link EPF_LINK_IP, key EPF_PKT_FLOW or a later one; flags
 *	EPF_PKT_REVERSE, EPF_PKT_ERRORS, EPF_PKT_FIRST, EPF_PKT_ZONE
 * @within_ns: recent is what was inserted in so many ns, or up to two epochs
 *	before; 0: @within
 * @within: recent is what was inserted in the current epoch or so many before it;
 *	0: in the window
 * @ask: enum xt_epf_is: the match holds for packets that are that. XT_EPF_UNSAID:
 *	nothing is asked, and it holds for those that were inserted
 * @learn: enum xt_epf_learn; where nothing is asked it is XT_EPF_LEARN
 * @unknown: enum xt_epf_is: what packets count as to which the filter has no answer;
 *	said if and only if something is asked
 * @fragments: likewise, fragments without a key; said if and only if something is
 *	asked and the key has EPF_PKT_FIRST
 */
struct xt_epf_rule {
	struct epf_pkt_opts key;
	__aligned_u64 within_ns;
	__u32 within;
	__u8 ask;
	__u8 learn;
	__u8 unknown;
	__u8 fragments;
};

/**
 * struct xt_epf_info - the match of a rule
 * @name: of the filter, NUL-terminated
 * @rule: what is asked
 * @use: the kernel's; user space sees and writes 0
 */
struct xt_epf_info {
	char name[EPF_NAME_LEN];
	struct xt_epf_rule rule;
	struct epf_xt_use *use __attribute__((aligned(8)));
};

#endif /* _UAPI_LINUX_EPOCHFILTER_XT_H */
