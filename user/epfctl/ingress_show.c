// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The counters of --admit and --log-new, as text and as JSON. */
#include "ingress.h"

static const char *const side_names[EPF_INGRESS_SIDES] = {
	[EPF_INGRESS_BELOW] = "below",
	[EPF_INGRESS_ABOVE] = "above",
};

static const char *const reason_names[EPF_INGRESS_REASONS] = {
	[EPF_INGRESS_RECENT] = "recent",       [EPF_INGRESS_NEW] = "new",
	[EPF_INGRESS_LEFT_OUT] = "left_out",   [EPF_INGRESS_RING_FULL] = "ring_full",
	[EPF_INGRESS_CONTROL] = "control",     [EPF_INGRESS_NOT_IP] = "not_ip",
	[EPF_INGRESS_FRAGMENT] = "fragment",   [EPF_INGRESS_TRUNCATED] = "truncated",
	[EPF_INGRESS_MALFORMED] = "malformed", [EPF_INGRESS_SATURATED] = "saturated",
	[EPF_INGRESS_OVERDUE] = "overdue",     [EPF_INGRESS_NO_FILTER] = "no_filter",
	[EPF_INGRESS_ERROR] = "error",         [EPF_INGRESS_UNCOVERED] = "uncovered",
};

/* For --log-new, new means that a record was written. */
static const char *ingress_show_name_of(const struct xdp_state *s, int reason)
{
	return s->conf.action == EPF_XDP_LOG && reason == EPF_INGRESS_NEW ? "recorded" :
									    reason_names[reason];
}

/* Can a packet of @side have this reason? */
static bool ingress_show_possible(const struct xdp_state *s, int side, int reason)
{
	if (reason == EPF_INGRESS_UNCOVERED && !s->conf.cluster[0])
		return false;
	if (s->conf.action == EPF_XDP_LOG)
		return side == EPF_INGRESS_BELOW;
	if (reason == EPF_INGRESS_LEFT_OUT)
		return side == EPF_INGRESS_ABOVE;
	return reason != EPF_INGRESS_RING_FULL;
}

static const char *ingress_show_verdict(const struct xdp_state *s, int side, int reason)
{
	return side == EPF_INGRESS_ABOVE && s->ingress.drops >> reason & 1 ? "drop" : "pass";
}

/* --log-new has only one side, so it is not printed. */
static void show_one(const struct xdp_state *s, int side, int reason)
{
	const struct epf_xdp_count *c = &s->ingress_counts.side[side][reason];

	if (!c->packets)
		return;
	if (s->conf.action == EPF_XDP_LOG)
		printf("  %-9s", ingress_show_name_of(s, reason));
	else
		printf("  %s %-9s %s", side_names[side], ingress_show_name_of(s, reason),
		       ingress_show_verdict(s, side, reason));
	printf(" %12llu packets %16llu bytes\n", c->packets, c->bytes);
}

void ingress_show_counts(const struct xdp_state *s)
{
	int side, i;

	for (side = 0; side < EPF_INGRESS_SIDES; side++)
		for (i = 0; i < EPF_INGRESS_REASONS; i++)
			show_one(s, side, i);
}

static json_t *side_json(const struct xdp_state *s, int side)
{
	json_t *o = json_object();
	int i;

	for (i = 0; i < EPF_INGRESS_REASONS; i++) {
		const struct epf_xdp_count *c = &s->ingress_counts.side[side][i];

		if (ingress_show_possible(s, side, i))
			json_object_set_new(o, ingress_show_name_of(s, i),
					    json_pack("{s:s, s:I, s:I}", "verdict",
						      ingress_show_verdict(s, side, i), "packets",
						      (json_int_t)c->packets, "bytes",
						      (json_int_t)c->bytes));
	}
	return o;
}

json_t *ingress_json_counts(const struct xdp_state *s)
{
	json_t *all;
	int side;

	if (s->conf.action == EPF_XDP_LOG)
		return side_json(s, EPF_INGRESS_BELOW);
	all = json_object();
	for (side = 0; side < EPF_INGRESS_SIDES; side++)
		json_object_set_new(all, side_names[side], side_json(s, side));
	return all;
}
