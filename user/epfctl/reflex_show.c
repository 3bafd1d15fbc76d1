// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which programs a reflexive attachment has, and its counters, as text and as JSON. */
#include "reflex.h"
#include "outcome.h"

static const char *const side_names[EPF_REFLEX_SIDES] = {
	[EPF_REFLEX_ASK] = "ask",
	[EPF_REFLEX_LEARN] = "learn",
};

/* Packets that are sent are passed in any case. */
static const char *reflex_show_verdict(const void *of, unsigned int side, enum epf_outcome outcome)
{
	const struct xdp_state *s = of;

	return side == EPF_REFLEX_ASK ? reflex_verdict(&s->rule, outcome) : "pass";
}

struct outcome_view reflex_counts(const struct xdp_state *s)
{
	bool control = reflex_passes_control(&s->rule);
	__u32 learn = outcome_possible(false, control, false) | OUTCOME(OTHER);
	__u32 ask = outcome_possible(true, control, s->conf.cluster[0]) | OUTCOME(OTHER);

	if (s->rule.within)
		ask |= OUTCOME(OLDER) | OUTCOME(UNTIMED);
	return (struct outcome_view){
		.counts = &s->counts,
		.side = side_names,
		.possible = { [EPF_REFLEX_ASK] = ask,
			      [EPF_REFLEX_LEARN] = learn | OUTCOME(LEARNT) },
		.verdict = reflex_show_verdict,
		.of = s,
	};
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
