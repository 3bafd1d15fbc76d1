// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Admit known senders under attack. Below a rate of packets everything passes and is
 * learnt. Above it, packets found in the filter pass, and of the others as many as there
 * are tokens. Those are learnt too, so that a host that was admitted once stays admitted;
 * dropped packets are not. So an attack adds no more keys than there are tokens, and known
 * keys are refreshed.
 *
 * The rate is that of all packets that have a key, or should have one. Each is counted
 * once, before its verdict, dropped or not.
 */
#include "ingress.bpf.h"

/* Count a packet if it is @judged. Return: is the rate exceeded? */
static __always_inline bool measure(struct ingress *in, bool judged)
{
	const struct epf_bucket *rate = &in->rule->rate;
	__u64 now = epf_bucket_now(rate, bpf_ktime_get_coarse_ns());
	__u64 n = in->counts->pending + judged;

	if (n >= in->rule->slice && epf_meter_add(rate, &in->shared->level, now, n))
		n = 0;
	in->counts->pending = n;
	return epf_meter_above(rate, &in->shared->level, now);
}

static __always_inline bool drops(const struct ingress *in, __u32 outcome)
{
	return in->rule->drops >> outcome & 1;
}

/* Above the rate: is the packet passed on and its key inserted? @found: verdict. */
static __always_inline bool admitted(struct ingress *in, int found)
{
	if (found > 0)
		return true;
	return found ? !drops(in, epf_outcome_of(found)) : ingress_token(in);
}

/* Return: enum epf_outcome. */
static __always_inline __u32 look(struct epf_ctx *ctx, struct ingress *in,
				  const struct ingress_packet *p, bool above)
{
	int found = 0, ret;

	if (above) {
		found = ingress_cluster(ctx, in->rule, p, ingress_test(p));
		if (!admitted(in, found))
			return found ? epf_outcome_of(found) : EPF_OUT_LEFT_OUT;
	}
	ret = ingress_insert(ctx, in->rule, p);
	if (!above)
		found = ingress_cluster(ctx, in->rule, p, ret);
	if (found > 0)
		return EPF_OUT_RECENT;
	return found ? epf_outcome_of(found) : EPF_OUT_ABSENT;
}

SEC("xdp")
int xdp_admit(struct xdp_md *ctx)
{
	struct ingress_packet p;
	struct ingress in;
	__u32 outcome;
	bool above;
	int err;

	if (!ingress_maps(&in))
		return XDP_PASS;
	err = ingress_find(ctx, in.rule, &p);
	outcome = err ? epf_outcome_of(err) : EPF_OUT_ABSENT;
	above = measure(&in, !err || outcome >= EPF_OUT_HIDDEN);
	if (!err)
		outcome = look(ctx, &in, &p, above);
	ingress_count(ctx, &in, above, outcome);
	return above && drops(&in, outcome) ? XDP_DROP : XDP_PASS;
}

char _license[] SEC("license") = "Dual BSD/GPL";
