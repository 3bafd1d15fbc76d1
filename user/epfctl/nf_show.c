// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is attached to a netfilter hook, and its counters, as text and as JSON. */
#include "nf.h"

static const char *reason_name(int reason)
{
	return reason == EPF_NF_KNOWN ? "known" : reflex_reason_names[reason];
}

/* Packets with a reason that only hooks have are accepted. */
static const char *nf_show_verdict(const struct epf_nf_rule *rule, int reason)
{
	if (reason >= EPF_REFLEX_REASONS)
		return "accept";
	switch (rule->of.act[reason].verdict) {
	case EPF_REFLEX_DROP:
		return "drop";
	case EPF_REFLEX_MARK:
		return "mark";
	default:
		return "accept";
	}
}

/* Can a packet have this reason? */
static bool nf_show_possible(const struct epf_nf_rule *rule, bool clustered, int reason)
{
	bool asks = rule->op & EPF_NF_ASK;

	switch (reason) {
	case EPF_REFLEX_LEARNT:
		return !asks;
	case EPF_NF_KNOWN:
		return !asks && (rule->op & EPF_NF_IF_NEW);
	case EPF_REFLEX_CONTROL:
		return reflex_passes_control(&rule->of);
	case EPF_REFLEX_OLDER:
		return asks && rule->of.within;
	case EPF_REFLEX_RECENT:
	case EPF_REFLEX_ABSENT:
	case EPF_REFLEX_SATURATED:
	case EPF_REFLEX_OVERDUE:
		return asks;
	case EPF_REFLEX_UNCOVERED:
		return asks && clustered;
	}
	return true;
}

static bool nf_show_any_live(const struct nf_state *s)
{
	return s->live[0] || s->live[1];
}

static void show_counts(const struct nf_state *s)
{
	int i;

	for (i = 0; i < EPF_NF_REASONS; i++)
		if (s->count[i].packets)
			printf("  %-9s %-6s %12llu packets %16llu bytes\n", reason_name(i),
			       nf_show_verdict(&s->rule, i), s->count[i].packets,
			       s->count[i].bytes);
}

static void nf_show_link(const char *name, const struct nf_state *s)
{
	const struct epf_xdp_conf *c = &s->conf;
	struct epf_pkt_opts key = c->opts;
	char filter[EPF_NAME_LEN];
	int i;

	key.flags &= (__u16)~EPF_PKT_FIRST; /* the rule has it */
	xdp_filter_name(c, filter);
	printf("%s: ", name);
	if (filter[0])
		printf("filter %s%s, key ", filter, c->backend == EPF_XDP_BPF ? " (pure BPF)" : "");
	else
		printf("filter %u (gone), key ", c->id);
	pkt_print(&key);
	if (c->cluster[0])
		printf(" --cluster %s", c->cluster);
	nf_print(stdout, &s->rule);
	printf(", program %u at", c->prog_id);
	for (i = 0; i < NF_FAMILIES; i++)
		if (s->live[i])
			printf(" %s", nf_family_names[i]);
	printf("%s%s\n", nf_show_any_live(s) ? "" : " no hook ('epfctl detach' removes the rest)",
	       s->here ? "" : " (in another network namespace)");
	if (filter[0] && !xdp_held(c))
		printf("  nobody ends the epochs of '%s', so it does not know: "
		       "run 'epfctl hold %s'\n",
		       filter, filter);
	cluster_show(name, c);
	show_counts(s);
}

static json_t *nf_show_json_counts(const struct nf_state *s)
{
	json_t *all = json_object();
	int i;

	for (i = 0; i < EPF_NF_REASONS; i++)
		if (nf_show_possible(&s->rule, s->conf.cluster[0], i))
			json_object_set_new(all, reason_name(i),
					    json_pack("{s:s, s:I, s:I}", "verdict",
						      nf_show_verdict(&s->rule, i), "packets",
						      (json_int_t)s->count[i].packets, "bytes",
						      (json_int_t)s->count[i].bytes));
	return all;
}

static json_t *nf_show_json_of(const char *name, const struct nf_state *s)
{
	const struct epf_xdp_conf *c = &s->conf;
	char filter[EPF_NAME_LEN];
	json_t *families = json_array();
	bool bpf = c->backend == EPF_XDP_BPF;
	json_t *o;
	int i;

	xdp_filter_name(c, filter);
	for (i = 0; i < NF_FAMILIES; i++)
		if (s->live[i])
			json_array_append_new(families, json_string(nf_family_names[i]));
	o = json_pack("{s:s, s:b, s:b, s:o, s:s*, s:I, s:o, s:s, s:o, s:I, s:s, s:o}", "hook", name,
		      "here", s->here, "attached", nf_show_any_live(s), "families", families,
		      "filter", filter[0] ? filter : NULL, "filter_id", (json_int_t)c->id, "key",
		      pkt_json(&c->opts), "action", "netfilter", "netfilter", nf_json(&s->rule),
		      "program", (json_int_t)c->prog_id, "backend", bpf ? "bpf" : "module",
		      "counters", nf_show_json_counts(s));
	if (bpf)
		json_object_set_new(o, "held", json_boolean(xdp_held(c)));
	cluster_json(c, o);
	return o;
}

int nf_status(const char *name, json_t *list)
{
	struct nf_state state;
	int err = nf_read(name, &state);

	if (err)
		return err;
	if (list)
		json_array_append_new(list, nf_show_json_of(name, &state));
	else if (out_mode == OUT_TEXT)
		nf_show_link(name, &state);
	else
		out_json(nf_show_json_of(name, &state));
	return nf_show_any_live(&state) ? 0 : 1;
}
