/* SPDX-License-Identifier: ((GPL-2.0-only WITH Linux-syscall-note) OR BSD-2-Clause) */
/*
 * The iptables match "epf", revision 0: the data that iptables and the module
 * xt_epf exchange. Rules are checked when they are added:
 *
 *   EPERM       the caller lacks CAP_NET_ADMIN in the initial user namespace
 *   ENOENT      there is no filter of that name
 *   EINVAL      a number out of its range, or options that contradict each
 *               other
 *   ERANGE      @within_ns is longer than the filter's window
 *   EOPNOTSUPP  @within_ns, for a filter whose epochs do not last at least a
 *               seventh of a time (kind lanes, modes time and both have such
 *               epochs)
 *   ENOMEM
 */
#ifndef _UAPI_LINUX_EPOCHFILTER_XT_H
#define _UAPI_LINUX_EPOCHFILTER_XT_H

#include <linux/epochfilter.h>
#include <linux/epochfilter_packet.h>

/* The class of a packet. */
enum xt_epf_is { XT_EPF_UNSAID = 0, XT_EPF_RECENT = 1, XT_EPF_NEW = 2, XT_EPF_IS };

/* Which keys are inserted. */
enum xt_epf_learn {
	XT_EPF_LEARN_NOTHING = 0,
	XT_EPF_LEARN = 1,     /* of every packet: its window begins again */
	XT_EPF_LEARN_NEW = 2, /* of packets that are not recent; only if @ask is set */
	XT_EPF_LEARNS
};

#define XT_EPF_WITHIN_MAX 254 /* epochs */

/**
 * struct xt_epf_rule - what a rule asks of a filter
 * @key: of packets; link EPF_LINK_IP, key EPF_PKT_FLOW or a later one; flags
 *	EPF_PKT_REVERSE, EPF_PKT_ERRORS, EPF_PKT_FIRST, EPF_PKT_ZONE
 * @within_ns: a key is recent if it was inserted in so many ns, or up to two
 *	epochs before; 0: see @within
 * @within: a key is recent if it was inserted in the current epoch or so many
 *	before it; 0: in the window
 * @ask: enum xt_epf_is: the match holds for packets of this class.
 *	XT_EPF_UNSAID: there is no lookup, and the match holds for packets that
 *	were inserted
 * @learn: enum xt_epf_learn; XT_EPF_LEARN if @ask is XT_EPF_UNSAID
 * @unknown: enum xt_epf_is: the class of packets for which the filter has no
 *	answer; set if and only if @ask is
 * @malformed: enum xt_epf_is: the class of packets whose headers cannot be
 *	followed, which their senders choose; only if @ask is set.
 *	XT_EPF_UNSAID: as XT_EPF_NEW
 * @reserved: zero
 * @fragments: the class of fragments without a key; set if and only if @ask is
 *	and the key has EPF_PKT_FIRST
 */
struct xt_epf_rule {
	struct epf_pkt_opts key;
	__aligned_u64 within_ns;
	__u16 within;
	__u8 malformed;
	__u8 reserved;
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
