/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a firewall rule asks of a filter (struct xt_epf_rule), for the module and for
 * programs that are pure BPF. Pure functions; any context.
 */
#ifndef EPF_RULE_H
#define EPF_RULE_H

#include "hash.h"
#include "outcome.h"

#include <linux/epochfilter_xt.h>

/* Is the rule complete and free of contradictions? This does not check its key. */
EPF_FN bool epf_rule_sound(const struct xt_epf_rule *r)
{
	if (r->ask >= XT_EPF_IS || r->learn >= XT_EPF_LEARNS || r->unknown >= XT_EPF_IS ||
	    r->malformed >= XT_EPF_IS || r->fragments >= XT_EPF_IS || r->reserved)
		return false;
	if (!r->ask)
		return r->learn == XT_EPF_LEARN && !r->unknown && !r->malformed && !r->fragments &&
		       !r->within && !r->within_ns;
	return r->unknown && r->within <= XT_EPF_WITHIN_MAX && !(r->within && r->within_ns) &&
	       !r->fragments == !(r->key.flags & EPF_PKT_FIRST);
}

/**
 * epf_rule_recent() - was the key inserted recently enough for the rule?
 * @r: rule
 * @ret: the filter's answer: 0, 1 + age, or a negative errno
 * @epoch_ns: no epoch is shorter than this; at most 2^60, with r->within_ns
 *
 * If N epochs lie between, at least N - 1 whole ones have passed. So every key inserted
 * within the time counts as recent.
 *
 * Return: 1: yes; 0: no, or it was not found; otherwise @ret.
 */
EPF_FN int epf_rule_recent(const struct xt_epf_rule *r, int ret, __u64 epoch_ns)
{
	__u32 age = (__u32)ret - 1;

	if (ret <= 0)
		return ret;
	if (r->within_ns)
		return !age || (age - 1) * epoch_ns < r->within_ns;
	return !r->within || age <= r->within;
}

/**
 * epf_rule_outcome() - what a packet's key was found to be
 * @asks: the rule asks something
 * @ret: of epf_rule_recent() or, if it asks nothing, of the insertion
 *
 * Return: enum epf_outcome.
 */
EPF_FN __u32 epf_rule_outcome(bool asks, int ret)
{
	if (ret < 0)
		return epf_outcome_of(ret);
	return ret ? EPF_OUT_RECENT : asks ? EPF_OUT_ABSENT : EPF_OUT_LEARNT;
}

/**
 * epf_rule_holds() - does the match hold for a packet?
 * @r: rule
 * @outcome: enum epf_outcome, of epf_rule_outcome()
 *
 * What the packet hides counts as @r->malformed says, by default as not found, since its sender
 * chooses it; what the filter does not know counts as @r->unknown says.
 *
 * Return: does it hold?
 */
EPF_FN bool epf_rule_holds(const struct xt_epf_rule *r, __u32 outcome)
{
	__u8 is = XT_EPF_NEW;

	if (!r->ask)
		return outcome == EPF_OUT_LEARNT;
	if (outcome == EPF_OUT_RECENT)
		is = XT_EPF_RECENT;
	else if (outcome == EPF_OUT_FRAGMENT)
		is = r->fragments;
	else if (outcome >= EPF_OUT_UNKNOWN)
		is = r->unknown;
	else if (outcome >= EPF_OUT_NOT_IP && r->malformed == XT_EPF_RECENT)
		is = XT_EPF_RECENT;
	return is == r->ask;
}

#endif /* EPF_RULE_H */
