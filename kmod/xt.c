// SPDX-License-Identifier: GPL-2.0
/*
 * xt_epf: the iptables match "epf". It is a separate module, so that epochfilter itself
 * does not need xtables.
 *
 * A rule holds its filter. Rules of one network namespace that use the same filter share
 * a struct epf_xt_use, which holds the reference and counts their packets. So counters
 * survive the way in which iptables-legacy changes a rule: it checks all rules anew and
 * then destroys the old ones.
 *
 * A filter that was destroyed by force can be found by its name for as long as rules
 * hold it. Otherwise iptables-legacy could no longer change any other rule of the same
 * table.
 *
 * A match may be called in process context. A packet that a process sends reaches
 * LOCAL_OUT with softirqs on, and the task may be preempted and migrated (nf_tables).
 * So a softirq of the same CPU, or another task, may use the same filter between any
 * two instructions. Nothing is lost by that, for the reasons in kfunc_held.c, and
 * because the filter is held by the rule's own reference, not in a per-CPU slot that
 * another context could find empty. So this file disables nothing.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "filter.h"
#include "compat.h"
#include "kind.h"

#include <epf/rule.h>

#include <linux/capability.h>
#include <linux/epochfilter_xt.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/netfilter/x_tables.h>
#include <linux/percpu.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/seq_file_net.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

static_assert(sizeof(struct xt_epf_info) == 64);

static const char *const outcome_names[EPF_OUTCOMES] = {
#define X(NAME, name, err) #name,
	EPF_OUTCOME_LIST(X)
#undef X
};

/* The outcomes that are always shown. */
#define SHOWN                                                                                      \
	(BIT(EPF_OUT_RECENT) | BIT(EPF_OUT_ABSENT) | BIT(EPF_OUT_LEARNT) | BIT(EPF_OUT_FRAGMENT) | \
	 BIT(EPF_OUT_TRUNCATED) | BIT(EPF_OUT_MALFORMED) | BIT(EPF_OUT_SATURATED) |                \
	 BIT(EPF_OUT_UNTIMED) | BIT(EPF_OUT_NO_FILTER))

struct counts {
	u64 of[EPF_OUTCOMES];
};

/**
 * struct epf_xt_use - the rules of a network namespace that use the same filter
 * @list: in @uses
 * @net: namespace; it outlives its rules
 * @filter: by reference
 * @counts: packets by result
 * @rules: number of rules; @lock
 * @name: of the filter; constant
 */
struct epf_xt_use {
	struct list_head list;
	struct net *net;
	struct epf_filter *filter;
	struct counts __percpu *counts;
	unsigned int rules;
	char name[EPF_NAME_LEN];
};

static LIST_HEAD(uses); /* @lock */
static DEFINE_MUTEX(lock);

/* ------------------------------------------------------- one packet ---- */

/* Does every epoch of @t last at least epoch_ns, except the first one of an aligned
 * window?
 */
static bool epf_xt_has_clock(const struct epf_table *t)
{
	return !t->locked && (t->window.mode == EPF_MODE_TIME || t->window.mode == EPF_MODE_BOTH);
}

static int epf_xt_recent(const struct epf_table *t, const struct xt_epf_rule *r, int ret)
{
	return epf_rule_recent(r, ret, t->window.epoch_ns);
}

static int epf_xt_lookup(struct epf_table *t, const struct sk_buff *skb,
			 const struct xt_epf_rule *r)
{
	u64 d;
	int ret;

	ret = epf_skb_digest(t, skb, skb_network_offset(skb), 0, &r->key, &d);
	if (ret)
		return ret;
	if (!r->ask)
		return epf_table_op(t, d, OP_INSERT);
	if (r->within_ns && !epf_xt_has_clock(t)) {
		/* The contents were swapped since the check. Insert all the same. */
		if (r->learn)
			epf_table_op(t, d, OP_INSERT);
		return -EOPNOTSUPP;
	}
	if (r->learn == XT_EPF_LEARN)
		return epf_xt_recent(t, r, epf_table_op(t, d, OP_TEST_AND_INSERT));
	ret = epf_xt_recent(t, r, epf_table_op(t, d, OP_TEST));
	/* Also after "do not know": insertion goes on while a filter is saturated. */
	if (ret <= 0 && r->learn)
		epf_table_op(t, d, OP_INSERT);
	return ret;
}

/* Test a packet with its network header set, and insert it, as the rule says. The whole call
 * uses one table, whatever a swap does meanwhile. Return:
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
static int epf_xt_look(struct epf_filter *f, const struct sk_buff *skb, const struct xt_epf_rule *r)
{
	struct epf_table *t;
	int ret = -ENODEV;

	rcu_read_lock();
	t = rcu_dereference(f->table);
	if (likely(t))
		ret = epf_xt_lookup(t, skb, r);
	rcu_read_unlock();
	return ret;
}

/* Also called in process context: see above. */
static bool epf_mt(const struct sk_buff *skb, struct xt_action_param *par)
{
	const struct xt_epf_info *info = par->matchinfo;
	u32 outcome;
	int ret = epf_xt_look(info->use->filter, skb, &info->rule);

	outcome = epf_rule_outcome(info->rule.ask, ret);
	this_cpu_inc(info->use->counts->of[outcome]);
	return epf_rule_holds(&info->rule, outcome);
}

/* ------------------------------------------------- rules and filters ---- */

static bool epf_xt_key_sound(const struct epf_pkt_opts *o)
{
	const u16 flags = EPF_PKT_REVERSE | EPF_PKT_ERRORS | EPF_PKT_FIRST | EPF_PKT_ZONE;

	return o->link == EPF_LINK_IP && o->key >= EPF_PKT_FLOW && !(o->flags & ~flags) &&
	       !epf_pkt_opts_check(o);
}

/* Record how the keys of @f are made, so that user space can test the same keys. */
static void epf_xt_describe(struct epf_filter *f, const struct epf_pkt_opts *o)
{
	struct epf_key_desc desc = epf_key_desc_packet(o);
	struct epf_table *t = epf_filter_table(f);

	if (!t)
		return;
	epf_table_describe(t, &desc);
	epf_table_put(t);
}

/* Can @f serve the rule @r, which is unchecked? If so, and if the rule inserts, the filter
 * records how its keys are made. If the filter was destroyed, only the rule itself is checked.
 * Return: 0, -EINVAL, -ERANGE, -EOPNOTSUPP (epochfilter_xt.h).
 */
static int epf_xt_check_rule(struct epf_filter *f, const struct xt_epf_rule *r)
{
	const struct epf_table *t;
	int err = 0;

	if (!epf_xt_key_sound(&r->key) || !epf_rule_sound(r))
		return -EINVAL;
	rcu_read_lock();
	t = rcu_dereference(f->table);
	if (t && r->within_ns)
		err = !epf_xt_has_clock(t)               ? -EOPNOTSUPP :
		      r->within_ns > t->params.window_ns ? -ERANGE :
							   0;
	rcu_read_unlock();
	if (!err && r->learn)
		epf_xt_describe(f, &r->key);
	return err;
}

/* Get the filter for a rule, by reference. The caller may insert afterwards, and names do not
 * belong to a network namespace. So it needs the capability that changing a filter through
 * the device needs, which root of a user namespace does not have. Return: an error pointer:
 * -EPERM, -EINVAL, -ENOENT.
 */
static struct epf_filter *epf_xt_filter(const char *name)
{
	struct epf_name by = {};

	if (!capable(CAP_NET_ADMIN))
		return ERR_PTR(-EPERM);
	if (strscpy(by.name, name, sizeof(by.name)) < 0)
		return ERR_PTR(-EINVAL);
	return epf_filter_find(&by);
}

/* Find the use of @f or, if @f is an error pointer, the use of @name. Caller holds
 * @lock.
 */
static struct epf_xt_use *epf_xt_find(const struct net *net, const struct epf_filter *f,
				      const char *name)
{
	struct epf_xt_use *use;

	lockdep_assert_held(&lock);
	list_for_each_entry(use, &uses, list)
		if (use->net == net && (IS_ERR(f) ? !strcmp(use->name, name) : use->filter == f))
			return use;
	return NULL;
}

/* Add a use of @f, which takes over the caller's reference. Caller holds @lock. */
static struct epf_xt_use *epf_xt_add(struct net *net, struct epf_filter *f, const char *name)
{
	struct epf_xt_use *use = kzalloc(sizeof(*use), GFP_KERNEL_ACCOUNT);

	lockdep_assert_held(&lock);
	if (!use)
		return NULL;
	use->counts = alloc_percpu_gfp(struct counts, GFP_KERNEL_ACCOUNT);
	if (!use->counts) {
		kfree(use);
		return NULL;
	}
	use->net = net;
	use->filter = f;
	strscpy(use->name, name, sizeof(use->name));
	list_add_tail(&use->list, &uses);
	return use;
}

/* Get the use of the filter called @name, or of a destroyed one of that name. Caller
 * holds @lock.
 */
static struct epf_xt_use *epf_xt_get_locked(struct net *net, const char *name)
{
	struct epf_filter *f = epf_xt_filter(name);
	struct epf_xt_use *use;

	lockdep_assert_held(&lock);
	if (IS_ERR(f) && PTR_ERR(f) != -ENOENT)
		return ERR_CAST(f);
	use = epf_xt_find(net, f, name);
	if (IS_ERR(f))
		return use ?: ERR_CAST(f);
	if (use) {
		epf_filter_put(f);
		return use;
	}
	use = epf_xt_add(net, f, name);
	if (use)
		return use;
	epf_filter_put(f);
	return ERR_PTR(-ENOMEM);
}

static struct epf_xt_use *epf_xt_get(struct net *net, const char *name)
{
	struct epf_xt_use *use;

	mutex_lock(&lock);
	use = epf_xt_get_locked(net, name);
	if (!IS_ERR(use))
		use->rules++;
	mutex_unlock(&lock);
	return use;
}

static void epf_xt_put(struct epf_xt_use *use)
{
	bool last;

	mutex_lock(&lock);
	last = !--use->rules;
	if (last)
		list_del(&use->list);
	mutex_unlock(&lock);
	if (!last)
		return;
	epf_filter_put(use->filter);
	free_percpu(use->counts);
	kfree(use);
}

/* iptables shows an errno at most, so the reason goes to the kernel's log. */
static int epf_xt_refuse(const char *name, int err)
{
	switch (err) {
	case -EPERM:
		pr_info_ratelimited(
			"rule refused: filters belong to the initial user namespace; CAP_NET_ADMIN is needed there\n");
		break;
	case -ENOENT:
		pr_info_ratelimited(
			"rule refused: no filter '%s'; create it first (epfctl create)\n", name);
		break;
	case -ERANGE:
		pr_info_ratelimited(
			"filter '%s': --within is longer than its window; use a shorter time\n",
			name);
		break;
	case -EOPNOTSUPP:
		pr_info_ratelimited(
			"filter '%s' has no epochs of fixed duration; give --within as a number of epochs\n",
			name);
		break;
	case -EINVAL:
		pr_info_ratelimited(
			"rule refused: invalid filter name, or unknown or contradictory options; use the iptables extension of this release\n");
		break;
	}
	return err;
}

static int epf_mt_check(const struct xt_mtchk_param *par)
{
	struct xt_epf_info *info = par->matchinfo;
	int err;

	if (strnlen(info->name, sizeof(info->name)) == sizeof(info->name))
		return epf_xt_refuse("", -EINVAL);
	info->use = epf_xt_get(par->net, info->name);
	if (IS_ERR(info->use))
		return epf_xt_refuse(info->name, PTR_ERR(info->use));
	err = epf_xt_check_rule(info->use->filter, &info->rule);
	if (!err)
		return 0;
	epf_xt_put(info->use);
	return epf_xt_refuse(info->name, err);
}

static void epf_mt_destroy(const struct xt_mtdtor_param *par)
{
	const struct xt_epf_info *info = par->matchinfo;

	epf_xt_put(info->use);
}

#define EPF_MATCH(of)                                                                     \
	{                                                                                 \
		.name = "epf", .family = of, .match = epf_mt, .checkentry = epf_mt_check, \
		.destroy = epf_mt_destroy, .matchsize = sizeof(struct xt_epf_info),       \
		.usersize = offsetof(struct xt_epf_info, use), .me = THIS_MODULE,         \
	}

static struct xt_match matches[] = {
	EPF_MATCH(NFPROTO_IPV4),
	EPF_MATCH(NFPROTO_IPV6),
};

static void epf_xt_show_use(struct seq_file *m, const struct epf_xt_use *use)
{
	struct counts sum = {};
	int cpu, i;

	for_each_possible_cpu(cpu)
		for (i = 0; i < EPF_OUTCOMES; i++)
			sum.of[i] += READ_ONCE(per_cpu_ptr(use->counts, cpu)->of[i]);
	seq_printf(m, "%s id %u rules %u", use->name, use->filter->id, use->rules);
	for (i = 0; i < EPF_OUTCOMES; i++)
		if (sum.of[i] || SHOWN & BIT(i))
			seq_printf(m, " %s %llu", outcome_names[i], sum.of[i]);
	seq_putc(m, '\n');
}

/* /proc/net/xt_epf: a line for each filter that rules of this namespace use. It has the
 * name of the filter, then pairs of a name and a number.
 */
static int epf_xt_show(struct seq_file *m, void *v)
{
	const struct epf_xt_use *use;

	mutex_lock(&lock);
	list_for_each_entry(use, &uses, list)
		if (use->net == seq_file_single_net(m))
			epf_xt_show_use(m, use);
	mutex_unlock(&lock);
	return 0;
}

static int __net_init epf_xt_net_init(struct net *net)
{
	return proc_create_net_single("xt_epf", 0400, net->proc_net, epf_xt_show, NULL) ? 0 :
											  -ENOMEM;
}

/* The rules of the namespace may be destroyed after this. */
static void __net_exit epf_xt_net_exit(struct net *net)
{
	remove_proc_entry("xt_epf", net->proc_net);
}

static struct pernet_operations net_ops = {
	.init = epf_xt_net_init,
	.exit = epf_xt_net_exit,
};

static int __init epf_mt_init(void)
{
	static const struct epf_sizes built = { EPF_SIZES };
	int err = epf_kinds_fit(&built);

	if (!err)
		err = register_pernet_subsys(&net_ops);
	if (err)
		return err;
	err = xt_register_matches(matches, ARRAY_SIZE(matches));
	if (err)
		unregister_pernet_subsys(&net_ops);
	return err;
}

/* Rules pin the module, so there are none left. */
static void __exit epf_mt_exit(void)
{
	xt_unregister_matches(matches, ARRAY_SIZE(matches));
	unregister_pernet_subsys(&net_ops);
}

module_init(epf_mt_init);
module_exit(epf_mt_exit);
EPF_IMPORT();
MODULE_LICENSE("GPL");
MODULE_VERSION(EPF_VERSION);
MODULE_AUTHOR("The epochfilter authors");
MODULE_DESCRIPTION("iptables match: was a packet seen recently? (epochfilter)");
MODULE_ALIAS("ipt_epf");
MODULE_ALIAS("ip6t_epf");
