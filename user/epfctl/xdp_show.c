// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* An attachment as text and as JSON. */
#include <linux/if_link.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "ebpf/ebpf.h"
#include "ingress.h"
#include "common/pktopts.h"
#include "outcome.h"
#include "reflex.h"

static const char *action_name(__u32 action)
{
	static const char *const names[EPF_XDP_ACTIONS] = {
		[EPF_XDP_DROP] = "drop",   [EPF_XDP_COUNT] = "count",
		[EPF_XDP_MARK] = "mark",   [EPF_XDP_REFLEX] = "reflexive",
		[EPF_XDP_ADMIT] = "admit", [EPF_XDP_LOG] = "log-new",
	};

	return action < EPF_XDP_ACTIONS ? names[action] : "unknown";
}

/* Is the asking program in XDP? */
static bool in_xdp(const struct epf_xdp_conf *conf)
{
	return !conf->tc[EPF_REFLEX_ASK].prog_id;
}

static const char *xdp_show_mode_of(const struct epf_xdp_conf *conf)
{
	return conf->mode == XDP_FLAGS_SKB_MODE ? "generic" : "native";
}

/* Does the pure BPF filter of @conf still exist? */
static bool bpf_there(const struct epf_xdp_conf *conf)
{
	struct ebpf_filter *f;
	__u32 id = 0;

	if (ebpf_open(conf->filter, &f))
		return false;
	ebpf_id(f, &id);
	ebpf_close(f);
	return id == conf->id;
}

bool xdp_held(const struct epf_xdp_conf *conf)
{
	return conf->backend != EPF_XDP_BPF || ebpf_held(conf->filter);
}

/* Its name; "": it is gone or cannot be asked. */
static void module_name(__u32 id, char name[EPF_NAME_LEN])
{
	struct epf_info info;
	int dev = epf_dev_open();
	int filter = dev < 0 ? dev : epf_dev_filter_id(dev, id);

	name[0] = 0;
	if (filter >= 0 && !epf_filter_info(filter, &info))
		memcpy(name, info.params.name, EPF_NAME_LEN);
	if (filter >= 0)
		close(filter);
	if (dev >= 0)
		close(dev);
}

void xdp_filter_name(const struct epf_xdp_conf *conf, char name[EPF_NAME_LEN])
{
	name[0] = 0;
	if (conf->backend != EPF_XDP_BPF)
		module_name(conf->id, name);
	else if (bpf_there(conf))
		memcpy(name, conf->filter, EPF_NAME_LEN);
}

/* The tags are part of the key ("counted"), are not, or should be but are hidden. */
static const char *vlan_tags(const struct xdp_state *s)
{
	if (!vlan_counts(&s->conf.opts))
		return "ignored";
	return s->blind ? "hidden" : "counted";
}

bool xdp_passes_control(const struct epf_xdp_conf *conf)
{
	return conf->opts.flags & EPF_PKT_PASS_CONTROL;
}

static bool mirror(const struct epf_xdp_conf *conf)
{
	return conf->action != EPF_XDP_REFLEX && !xdp_passes_control(conf);
}

/* What happens to repeats; all else is passed. */
static const char *xdp_show_verdict(const void *of, unsigned int side, enum epf_outcome outcome)
{
	const struct xdp_state *s = of;

	(void)side;
	if (outcome != EPF_OUT_RECENT || s->conf.action == EPF_XDP_COUNT)
		return "pass";
	return action_name(s->conf.action);
}

static struct outcome_view xdp_show_counts(const struct xdp_state *s)
{
	if (s->conf.action == EPF_XDP_REFLEX)
		return reflex_counts(s);
	if (ingress_is(s->conf.action))
		return ingress_counts(s);
	return (struct outcome_view){
		.counts = &s->counts,
		.possible = { outcome_possible(true, xdp_passes_control(&s->conf),
					       s->conf.cluster[0]) |
			      OUTCOME(NOT_IP) | OUTCOME(BUSY) },
		.verdict = xdp_show_verdict,
		.of = s,
	};
}

json_t *xdp_json(const char *ifname, const struct xdp_state *s)
{
	struct outcome_view counts = xdp_show_counts(s);
	bool bpf = s->conf.backend == EPF_XDP_BPF;
	char filter[EPF_NAME_LEN];
	json_t *o;

	xdp_filter_name(&s->conf, filter);
	o = json_pack("{s:s, s:I, s:b, s:b, s:s*, s:I, s:o, s:b, s:s, s:s, s:s, s:I, s:I}",
		      "interface", ifname, "ifindex", (json_int_t)s->conf.ifindex, "here", s->here,
		      "attached", s->live, "filter", filter[0] ? filter : NULL, "filter_id",
		      (json_int_t)s->conf.id, "key", pkt_json(&s->conf.opts), "mirror",
		      mirror(&s->conf), "vlan_tags", vlan_tags(s), "action",
		      action_name(s->conf.action), "mode", xdp_show_mode_of(&s->conf), "prio",
		      (json_int_t)s->conf.prio, "program", (json_int_t)s->conf.prog_id);
	if (s->conf.action == EPF_XDP_REFLEX)
		json_object_set_new(o, "reflexive", reflex_json_sides(s));
	if (ingress_is(s->conf.action))
		json_object_set_new(o, "rates", ingress_json(s->conf.action, &s->ingress));
	if (s->conf.action == EPF_XDP_MARK)
		json_object_update_new(o, json_pack("{s:I, s:I}", "mark", (json_int_t)s->conf.mark,
						    "mark_mask", (json_int_t)s->conf.mark_mask));
	json_object_set_new(o, "backend", json_string(bpf ? "bpf" : "module"));
	if (bpf)
		json_object_set_new(o, "held", json_boolean(xdp_held(&s->conf)));
	cluster_json(&s->conf, o);
	json_object_set_new(o, "counters", outcome_json(&counts));
	json_object_set_new(o, "effects", outcome_effects(&s->counts));
	return o;
}

/* Show which programs are where. */
static void show_place(const struct xdp_state *s)
{
	const struct epf_xdp_conf *c = &s->conf;

	if (in_xdp(c)) {
		printf(", %s mode", xdp_show_mode_of(c));
		if (c->prio)
			printf(", prio %u", c->prio);
		printf(", program %u", c->prog_id);
	}
	if (c->action == EPF_XDP_REFLEX)
		reflex_show(s);
}

void xdp_show(const char *ifname, const struct xdp_state *s)
{
	struct outcome_view counts = xdp_show_counts(s);
	const struct epf_xdp_conf *c = &s->conf;
	char filter[EPF_NAME_LEN];

	xdp_filter_name(c, filter);
	printf("%s: ", ifname);
	if (filter[0])
		printf("filter %s%s, key ", filter, c->backend == EPF_XDP_BPF ? " (pure BPF)" : "");
	else
		printf("filter %u (gone), key ", c->id);
	pkt_print(&c->opts);
	if (c->cluster[0])
		printf(" --cluster %s", c->cluster);
	if (c->action == EPF_XDP_REFLEX)
		reflex_print(stdout, &s->rule);
	if (ingress_is(c->action))
		ingress_print(stdout, c->action, &s->ingress);
	printf("%s%s, %s", mirror(c) ? " --mirror" : "", c->vlan_off ? " --vlan-offload off" : "",
	       action_name(c->action));
	if (c->action == EPF_XDP_MARK)
		printf(c->mark_mask == ~0u ? " from 0x%x" : " from 0x%x/0x%x", c->mark,
		       c->mark_mask);
	show_place(s);
	printf("%s\n", s->live ? "" :
		       s->here ? " (gone: 'epfctl detach' removes the rest)" :
				 " (in another network namespace)");
	if (filter[0] && !xdp_held(c))
		printf("  nobody ends the epochs of '%s', so %s: run 'epfctl hold %s'\n", filter,
		       c->action == EPF_XDP_REFLEX || ingress_is(c->action) ? "it does not know" :
									      "repeats pass",
		       filter);
	cluster_show(ifname, c);
	if (c->action == EPF_XDP_REFLEX)
		reflex_show_faults(ifname, s);
	if (s->blind)
		printf("  warning: the card takes VLAN tags off, so they do not "
		       "count: run 'ethtool -K %s rxvlan off'\n",
		       ifname);
	outcome_print(&counts);
}
