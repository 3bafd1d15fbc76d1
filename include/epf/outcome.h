/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a rule found out about a packet: one list for every hook, for the module and pure BPF,
 * for "status" and JSON. Each packet has one outcome on its side of a rule. Pure functions;
 * any context.
 *
 * The order is by who decides that it is so, because a default may follow only from some:
 *
 *   answers      of the filter
 *   the rule     did not ask it
 *   the packet   hides its key, which is its sender's choice: EPF_OUT_HIDDEN to the next one
 *   the filter   its cluster or this host does not know: EPF_OUT_UNKNOWN and all later ones
 */
#ifndef EPF_OUTCOME_H
#define EPF_OUTCOME_H

#include "shim.h"

#include <linux/epochfilter.h>

/* X(NAME, name, errno): the error that means it; 0: none does. Kinds of control packets have
 * numbers of their own (EPF_CONTROL).
 */
/* clang-format off */
#define EPF_OUTCOME_LIST(X)                                                              \
	X(RECENT,       recent,       0)            /* in the filter, as recently as asked */ \
	X(OLDER,        older,        0)            /* in it, but from longer ago */          \
	X(ABSENT,       absent,       0)            /* not in it */                           \
	X(LEARNT,       learnt,       0)            /* inserted, and nothing was asked */     \
	X(KNOWN,        known,        0)            /* present, so not inserted again */      \
	X(OTHER,        other,        0)            /* the rule does not match it */          \
	X(RESERVED_MAC, reserved_mac, 0)            /* enum epf_control, in its order */      \
	X(ND,           nd,           0)                                                      \
	X(GROUP_MEMBER, group_member, 0)                                                      \
	X(DHCP,         dhcp,         0)                                                      \
	X(BFD,          bfd,          0)                                                      \
	X(OSPF,         ospf,         0)                                                      \
	X(VRRP,         vrrp,         0)                                                      \
	X(LOCAL_GROUP,  local_group,  0)                                                      \
	X(LEFT_OUT,     left_out,     0)            /* absent, and no token was left */       \
	X(NOT_IP,       not_ip,       EPROTO)       /* the key needs IP */                    \
	X(FRAGMENT,     fragment,     ENOMSG)       /* has no ports, which the rule needs */  \
	X(TRUNCATED,    truncated,    ENODATA)      /* ends before the key does */            \
	X(MALFORMED,    malformed,    EBADMSG)      /* a header contradicts itself */         \
	X(SATURATED,    saturated,    ENOSPC)       /* the error may be above its limit */    \
	X(OVERDUE,      overdue,      ETIME)        /* nobody ends the filter's epochs */     \
	X(UNTIMED,      untimed,      EOPNOTSUPP)   /* contents without times, after a swap */ \
	X(UNCOVERED,    uncovered,    EHOSTUNREACH) /* absent; a host's data are missing */   \
	X(NO_FILTER,    no_filter,    ENODEV)       /* destroyed by force */                  \
	X(BUSY,         busy,         EBUSY)        /* another packet of this CPU has it */   \
	X(ERROR,        error,        EINVAL)       /* any other error */
/* clang-format on */

enum epf_outcome {
#define X(NAME, name, err) EPF_OUT_##NAME,
	EPF_OUTCOME_LIST(X)
#undef X
		EPF_OUTCOMES,
	EPF_OUT_CONTROL = EPF_OUT_RESERVED_MAC, /* the first kind */
	EPF_OUT_HIDDEN = EPF_OUT_TRUNCATED,
	EPF_OUT_UNKNOWN = EPF_OUT_SATURATED,
};
#define EPF_OUTCOME_ROOM 32u

EPF_ASSERT(EPF_OUTCOMES <= EPF_OUTCOME_ROOM, "sets of outcomes are 32 bits");
EPF_ASSERT(EPF_OUT_LOCAL_GROUP - EPF_OUT_CONTROL == EPF_CONTROL_LAST - 1, "every kind has one");

/* Sets: kinds of control packets, what the packet hides, and what the filter does not know. */
#define EPF_OUT_SET_CONTROL ((1u << EPF_OUT_LEFT_OUT) - (1u << EPF_OUT_CONTROL))
#define EPF_OUT_SET_HIDDEN ((1u << EPF_OUT_UNKNOWN) - (1u << EPF_OUT_HIDDEN))
#define EPF_OUT_SET_UNKNOWN (~0u << EPF_OUT_UNKNOWN)

/* What could not be done with a packet, which has an outcome besides. */
enum epf_effect {
	EPF_EFFECT_UNMARKED,  /* XDP: no room for the mark */
	EPF_EFFECT_RING_FULL, /* no record was written */
	EPF_EFFECTS
};

struct epf_count {
	__u64 packets;
	__u64 bytes;
};

#define EPF_COUNT_SIDES 2u

/**
 * struct epf_counts - the packets of a rule, on one CPU
 * @by: by the rule's side and enum epf_outcome: the answering and the learning program
 *	(epf/reflex.h), or below and above a rate (epf/ingress.h); otherwise the first
 * @effect: packets, by enum epf_effect
 * @pending: packets not yet added to the level of a rate
 *
 * XDP and tc programs add plainly: bottom halves are off there, so programs of one side do
 * not interrupt one another, except on PREEMPT_RT, where a count may be lost. Programs of
 * netfilter hooks and iptables add atomically: in process context the same program may
 * interrupt one, and kernels before August 2025 may move it to another CPU.
 */
struct epf_counts {
	struct epf_count by[EPF_COUNT_SIDES][EPF_OUTCOME_ROOM];
	__u64 effect[EPF_EFFECTS];
	__u64 pending;
};

/**
 * epf_outcome_of() - what an error means for a packet
 * @err: negative: an errno, or -(EPF_CONTROL + enum epf_control)
 *
 * Return: enum epf_outcome.
 */
EPF_FN __u32 epf_outcome_of(int err)
{
	__u32 control = (__u32)-err - (EPF_CONTROL + 1);

	if (control < EPF_CONTROL_LAST)
		return EPF_OUT_CONTROL + control;
#define X(NAME, name, number)             \
	if ((number) && err == -(number)) \
		return EPF_OUT_##NAME;
	EPF_OUTCOME_LIST(X)
#undef X
	return EPF_OUT_ERROR;
}

#endif /* EPF_OUTCOME_H */
