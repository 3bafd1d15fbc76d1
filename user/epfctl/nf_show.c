// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is attached to a netfilter hook, and its counters, as text and as JSON. */
#include "nf.h"
#include "outcome.h"

static const char *nf_show_verdict(const void *of, unsigned int side, enum epf_outcome outcome)
{
	const struct nf_state *s = of;

	(void)side;
	return reflex_verdict(&s->rule.of, outcome);
}

static struct outcome_view nf_counts(const struct nf_state *s)
{
	bool asks = s->rule.op & EPF_NF_ASK;
	__u32 set = outcome_possible(asks, reflex_passes_control(&s->rule.of), s->conf.cluster[0]) |
		    OUTCOME(OTHER);

	if (!asks)
		set |= OUTCOME(LEARNT) | (s->rule.op & EPF_NF_IF_NEW ? OUTCOME(KNOWN) : 0);
	else if (s->rule.of.within)
		set |= OUTCOME(OLDER) | OUTCOME(UNTIMED);
	return (struct outcome_view){
		.counts = &s->counts,
		.possible = { set },
		.verdict = nf_show_verdict,
		.of = s,
	};
}

static bool nf_show_any_live(const struct nf_state *s)
{
	return s->live[0] || s->live[1];
}

static void nf_show_link(const char *name, const struct nf_state *s)
{
	const struct epf_xdp_conf *c = &s->conf;
	struct outcome_view counts = nf_counts(s);
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
	outcome_print(&counts);
}

static json_t *nf_show_json_of(const char *name, const struct nf_state *s)
{
	const struct epf_xdp_conf *c = &s->conf;
	struct outcome_view counts = nf_counts(s);
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
		      "counters", outcome_json(&counts));
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
