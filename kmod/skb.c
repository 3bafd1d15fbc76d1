// SPDX-License-Identifier: GPL-2.0
/*
 * Packets in socket buffers, at netfilter hooks: the functions that xt_epf calls.
 *
 * They may be called in process context. A packet that a process sends reaches
 * LOCAL_OUT with softirqs on, and the task may be preempted and migrated (nf_tables).
 * So a softirq of the same CPU, or another task, may use the same filter between any
 * two instructions. Nothing is lost by that:
 *
 * - The filter is held by the rule's own reference, not in a per-CPU slot that another
 *   context could find empty.
 * - Lines are changed by locked read-modify-write instructions; each per-CPU counter by
 *   one instruction, or by a compare-and-exchange that fails after an interruption
 *   (epf_table_count()). It does not matter on which CPU each of them runs.
 * - The section of O3 in lanes.h is an RCU section, which may be preempted.
 * - Locks (of the locked kinds; at the end of an epoch, where it is only tried) are
 *   taken with interrupts off.
 *
 * So this file disables nothing.
 */
#include <linux/skbuff.h>

#include "filter.h"
#include "compat.h"
#include "skb.h"

#include <epf/rule.h>

#include <linux/capability.h>

/**
 * epf_skb_filter() - get a filter for a rule
 * @name: NUL-terminated within EPF_NAME_LEN
 *
 * The caller may insert afterwards, and names do not belong to a network namespace. So
 * it needs the capability that changing a filter through the device needs, which root
 * of a user namespace does not have.
 *
 * Context: process; sleeps.
 * Return: a reference, or an error pointer: -EPERM, -EINVAL, -ENOENT.
 */
struct epf_filter *epf_skb_filter(const char *name)
{
	struct epf_name by = {};

	if (!capable(CAP_NET_ADMIN))
		return ERR_PTR(-EPERM);
	if (strscpy(by.name, name, sizeof(by.name)) < 0)
		return ERR_PTR(-EINVAL);
	return epf_filter_find(&by);
}
EPF_EXPORT(epf_skb_filter);

/**
 * epf_skb_put() - release a filter
 * @f: from epf_skb_filter()
 *
 * Context: any; never waits. No packet uses the filter any more.
 */
void epf_skb_put(struct epf_filter *f)
{
	epf_filter_put(f);
}
EPF_EXPORT(epf_skb_put);

/**
 * epf_skb_filter_id() - get the id of a filter
 * @f: from epf_skb_filter()
 */
u32 epf_skb_filter_id(const struct epf_filter *f)
{
	return f->id;
}
EPF_EXPORT(epf_skb_filter_id);

/* Does every epoch of @t last at least epoch_ns, except the first one of an aligned
 * window?
 */
static bool epf_skb_has_clock(const struct epf_table *t)
{
	return !t->locked && (t->window.mode == EPF_MODE_TIME || t->window.mode == EPF_MODE_BOTH);
}

static bool epf_skb_key_sound(const struct epf_pkt_opts *o)
{
	const u16 flags = EPF_PKT_REVERSE | EPF_PKT_ERRORS | EPF_PKT_FIRST | EPF_PKT_ZONE;

	return o->link == EPF_LINK_IP && o->key >= EPF_PKT_FLOW && !(o->flags & ~flags) &&
	       !epf_pkt_opts_check(o);
}

/* Record how the keys of @f are made, so that user space can test the same keys. */
static void epf_skb_describe(struct epf_filter *f, const struct epf_pkt_opts *o)
{
	struct epf_key_desc desc = epf_key_desc_packet(o);
	struct epf_table *t = epf_filter_table(f);

	if (!t)
		return;
	epf_table_describe(t, &desc);
	epf_table_put(t);
}

/**
 * epf_skb_check() - check whether a filter can serve a rule
 * @f: from epf_skb_filter()
 * @r: unchecked
 *
 * If it can, and the rule inserts, the filter records how its keys are made. If the
 * filter was destroyed, only the rule itself is checked.
 *
 * Context: process; sleeps.
 * Return: 0, -EINVAL, -ERANGE, -EOPNOTSUPP (epochfilter_xt.h).
 */
int epf_skb_check(struct epf_filter *f, const struct xt_epf_rule *r)
{
	const struct epf_table *t;
	int err = 0;

	if (!epf_skb_key_sound(&r->key) || !epf_rule_sound(r))
		return -EINVAL;
	rcu_read_lock();
	t = rcu_dereference(f->table);
	if (t && r->within_ns)
		err = !epf_skb_has_clock(t)              ? -EOPNOTSUPP :
		      r->within_ns > t->params.window_ns ? -ERANGE :
							   0;
	rcu_read_unlock();
	if (!err && r->learn)
		epf_skb_describe(f, &r->key);
	return err;
}
EPF_EXPORT(epf_skb_check);

static int epf_skb_recent(const struct epf_table *t, const struct xt_epf_rule *r, int ret)
{
	return epf_rule_recent(r, ret, t->window.epoch_ns);
}

static int epf_skb_lookup(struct epf_table *t, const struct sk_buff *skb,
			  const struct xt_epf_rule *r)
{
	u64 d;
	int ret;

	ret = epf_skb_digest(t, skb, skb_network_offset(skb), 0, &r->key, &d);
	if (ret)
		return ret;
	if (!r->ask)
		return epf_table_op(t, d, OP_INSERT);
	if (r->within_ns && !epf_skb_has_clock(t)) {
		/* The contents were swapped since the check. Insert all the same. */
		if (r->learn)
			epf_table_op(t, d, OP_INSERT);
		return -EOPNOTSUPP;
	}
	if (r->learn == XT_EPF_LEARN)
		return epf_skb_recent(t, r, epf_table_op(t, d, OP_TEST_AND_INSERT));
	ret = epf_skb_recent(t, r, epf_table_op(t, d, OP_TEST));
	/* Also after "do not know": insertion goes on while a filter is saturated. */
	if (ret <= 0 && r->learn)
		epf_table_op(t, d, OP_INSERT);
	return ret;
}

/**
 * epf_skb_look() - test a packet, and insert it, as a rule says
 * @f: from epf_skb_filter()
 * @skb: IPv4 or IPv6, with its network header set
 * @r: rule that epf_skb_check() has accepted for @f
 *
 * The whole call uses one table, whatever a swap does meanwhile.
 *
 * Context: any, see above.
 * Return:
 * * 1: recent
 * * 0: new; if the rule asks nothing: inserted
 * * -ENOSPC: do not know, the filter is saturated; the insertion took place
 * * -ENODEV: do not know, the filter was destroyed
 * * -EOPNOTSUPP: do not know, a swap has given the filter contents without times; the
 *   insertion took place
 * * -ENODATA: the packet ends before the bytes that the key needs
 * * -EBADMSG: a header contradicts itself
 * * -ENOMSG: a fragment, which has no ports (EPF_PKT_FIRST)
 */
int epf_skb_look(struct epf_filter *f, const struct sk_buff *skb, const struct xt_epf_rule *r)
{
	struct epf_table *t;
	int ret = -ENODEV;

	rcu_read_lock();
	t = rcu_dereference(f->table);
	if (likely(t))
		ret = epf_skb_lookup(t, skb, r);
	rcu_read_unlock();
	return ret;
}
EPF_EXPORT(epf_skb_look);
