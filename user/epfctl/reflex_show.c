// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The counters of a reflexive attachment, as text and as JSON. */
#include "reflex.h"

static const char *const side_names[EPF_REFLEX_SIDES] = {
	[EPF_REFLEX_ASK] = "ask",
	[EPF_REFLEX_LEARN] = "learn",
};

/* Can a packet of @side have this reason? */
static bool reflex_show_possible(const struct xdp_state *s, int side, int reason)
{
	switch (reason) {
	case EPF_REFLEX_LEARNT:
		return side == EPF_REFLEX_LEARN;
	case EPF_REFLEX_CONTROL:
		return reflex_passes_control(&s->rule);
	case EPF_REFLEX_OLDER:
		return side == EPF_REFLEX_ASK && s->rule.within;
	case EPF_REFLEX_RECENT:
	case EPF_REFLEX_ABSENT:
	case EPF_REFLEX_SATURATED:
	case EPF_REFLEX_OVERDUE:
		return side == EPF_REFLEX_ASK;
	case EPF_REFLEX_UNCOVERED:
		return side == EPF_REFLEX_ASK && s->conf.cluster[0];
	}
	return true;
}

/* Packets that are sent are passed in any case. */
static const char *reflex_show_verdict(const struct xdp_state *s, int side, int reason)
{
	return side == EPF_REFLEX_ASK ? reflex_verdict(&s->rule, (enum epf_reflex_reason)reason) :
					"pass";
}

void reflex_show_counts(const struct xdp_state *s)
{
	int side, i;

	for (side = 0; side < EPF_REFLEX_SIDES; side++)
		for (i = 0; i < EPF_REFLEX_REASONS; i++)
			if (s->counts.side[side][i].packets)
				printf("  %-5s %-9s %s %12llu packets %16llu "
				       "bytes\n",
				       side_names[side], reflex_reason_names[i],
				       reflex_show_verdict(s, side, i),
				       s->counts.side[side][i].packets,
				       s->counts.side[side][i].bytes);
}

json_t *reflex_json_counts(const struct xdp_state *s)
{
	json_t *all = json_object(), *o;
	int side, i;

	for (side = 0; side < EPF_REFLEX_SIDES; side++) {
		o = json_object();
		for (i = 0; i < EPF_REFLEX_REASONS; i++)
			if (reflex_show_possible(s, side, i))
				json_object_set_new(
					o, reflex_reason_names[i],
					json_pack("{s:s, s:I, s:I}", "verdict",
						  reflex_show_verdict(s, side, i), "packets",
						  (json_int_t)s->counts.side[side][i].packets,
						  "bytes",
						  (json_int_t)s->counts.side[side][i].bytes));
		json_object_set_new(all, side_names[side], o);
	}
	return all;
}

static const char *how(const struct epf_xdp_tc *tc)
{
	return tc->prio ? "clsact" : "tcx";
}

void reflex_show(const struct xdp_state *s)
{
	const struct epf_xdp_tc *ask = &s->conf.tc[EPF_REFLEX_ASK];
	const struct epf_xdp_tc *learn = &s->conf.tc[EPF_REFLEX_LEARN];

	if (ask->prog_id)
		printf(", asks at tc ingress (%s), program %u", how(ask), ask->prog_id);
	printf(", learns at tc egress (%s), program %u", how(learn), learn->prog_id);
}

void reflex_show_faults(const char *ifname, const struct xdp_state *s)
{
	if (!s->here || s->live)
		return;
	if (s->asks)
		printf("  warning: the learning program is gone, so answers count as "
		       "unsolicited: run 'epfctl detach %s'\n",
		       ifname);
	else
		printf("  warning: the asking program is gone: run 'epfctl detach %s'\n", ifname);
}

json_t *reflex_json_sides(const struct xdp_state *s)
{
	const struct epf_xdp_tc *ask = &s->conf.tc[EPF_REFLEX_ASK];
	const struct epf_xdp_tc *learn = &s->conf.tc[EPF_REFLEX_LEARN];
	json_t *o = reflex_json(&s->rule);

	json_object_set_new(o, "ask",
			    json_pack("{s:s, s:b, s:I}", "hook", ask->prog_id ? how(ask) : "xdp",
				      "attached", s->asks, "program",
				      (json_int_t)(ask->prog_id ? ask->prog_id : s->conf.prog_id)));
	json_object_set_new(o, "learn",
			    json_pack("{s:s, s:b, s:I}", "hook", how(learn), "attached", s->learns,
				      "program", (json_int_t)learn->prog_id));
	return o;
}
