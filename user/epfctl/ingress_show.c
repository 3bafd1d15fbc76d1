// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the counters of --admit and --log-new mean. */
#include "ingress.h"
#include "outcome.h"

static const char *const side_names[EPF_INGRESS_SIDES] = {
	[EPF_INGRESS_BELOW] = "below",
	[EPF_INGRESS_ABOVE] = "above",
};

static const char *ingress_show_verdict(const void *of, unsigned int side, enum epf_outcome outcome)
{
	const struct xdp_state *s = of;

	return side == EPF_INGRESS_ABOVE && s->ingress.drops >> outcome & 1 ? "drop" : "pass";
}

struct outcome_view ingress_counts(const struct xdp_state *s)
{
	__u32 set = outcome_possible(true, xdp_passes_control(&s->conf), s->conf.cluster[0]) |
		    OUTCOME(NOT_IP);
	bool admits = s->conf.action == EPF_XDP_ADMIT;

	return (struct outcome_view){
		.counts = &s->counts,
		.side = admits ? side_names : NULL,
		.possible = { [EPF_INGRESS_BELOW] = admits ? set : set | OUTCOME(LEFT_OUT),
			      [EPF_INGRESS_ABOVE] = set | OUTCOME(LEFT_OUT) },
		.verdict = ingress_show_verdict,
		.of = s,
	};
}
