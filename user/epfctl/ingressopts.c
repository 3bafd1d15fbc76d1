// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The rule of --admit and --log-new: from options, to text and JSON. */
#include "ingress.h"

#include <string.h>

#define BIT(opt) (1u << ((opt)-OPT_ADMIT))
#define LOG_RATE 1000

static bool bad_rate(const char *what, const char *arg)
{
	fail("%s '%s': must be RATE or RATE/BURST: packets a second up to 1e9, such as "
	     "100k, and packets at once up to 1e8",
	     what, arg);
	return false;
}

/* A whole number, or 0. */
static bool parse_tokens(const char *what, const char *text, __u64 max, __u64 *n)
{
	*n = 0;
	return !strcmp(text, "0") || parse_count(what, text, max, n);
}

/* "RATE" or "RATE/BURST". The default of BURST is a tenth of RATE. */
static bool parse_bucket(const char *what, const char *arg, struct epf_bucket *b)
{
	size_t len = strcspn(arg, "/");
	char rate_text[32];
	__u64 rate, burst;

	if (!len || len >= sizeof(rate_text) || (arg[len] && !arg[len + 1]))
		return bad_rate(what, arg);
	snprintf(rate_text, sizeof(rate_text), "%.*s", (int)len, arg);
	if (!parse_tokens(what, rate_text, EPF_BUCKET_RATE_MAX, &rate))
		return false;
	burst = rate && rate < 10 ? 1 : rate / 10;
	if (arg[len] && !parse_tokens(what, arg + len + 1, EPF_BUCKET_BURST_MAX, &burst))
		return false;
	return epf_bucket_init(b, rate, burst) || bad_rate(what, arg);
}

/* "drop" puts @outcomes into @drops, @pass takes them out. */
static bool parse_drop(const char *what, const char *arg, const char *pass, __u32 outcomes,
		       __u32 *drops)
{
	*drops &= ~outcomes;
	if (!strcmp(arg, pass))
		return true;
	*drops |= outcomes;
	if (!strcmp(arg, "drop"))
		return true;
	fail("%s '%s': not drop or %s", what, arg, pass);
	return false;
}

bool ingress_option(struct ingress_want *want, int opt, const char *arg)
{
	struct epf_ingress_rule *rule = &want->rule;

	want->said |= BIT(opt);
	switch (opt) {
	case OPT_ADMIT:
		want->action = EPF_XDP_ADMIT;
		return parse_bucket("--admit", arg, &rule->rate);
	case OPT_NEW_RATE:
		return parse_bucket("--new-rate", arg, &rule->fresh);
	case OPT_LOG_NEW:
		want->action = EPF_XDP_LOG;
		return true;
	case OPT_LOG_RATE:
		return parse_bucket("--log-rate", arg, &rule->fresh);
	case OPT_INGRESS_UNKNOWN:
		return parse_drop("--if-unknown", arg, "accept", EPF_OUT_SET_UNKNOWN, &rule->drops);
	case OPT_INGRESS_MALFORMED:
		return parse_drop("--if-malformed", arg, "pass", EPF_OUT_SET_HIDDEN, &rule->drops);
	}
	return false;
}

static bool ingressopts_said(const struct ingress_want *want, int opt)
{
	return want->said & BIT(opt);
}

/* The error if options do not fit together; NULL: none. */
static const char *ingressopts_misfit(const struct ingress_want *want)
{
	if (ingressopts_said(want, OPT_ADMIT) && ingressopts_said(want, OPT_LOG_NEW))
		return "--admit and --log-new exclude each other";
	if (ingressopts_said(want, OPT_NEW_RATE) && !ingressopts_said(want, OPT_ADMIT))
		return "--new-rate goes with --admit only";
	if (ingressopts_said(want, OPT_LOG_RATE) && !ingressopts_said(want, OPT_LOG_NEW))
		return "--log-rate goes with --log-new only";
	if (ingressopts_said(want, OPT_LOG_NEW) && (ingressopts_said(want, OPT_INGRESS_UNKNOWN) ||
						    ingressopts_said(want, OPT_INGRESS_MALFORMED)))
		return "--if-unknown and --if-malformed do not go with --log-new, which "
		       "passes all packets";
	if (!ingressopts_said(want, OPT_ADMIT))
		return NULL;
	if (!ingressopts_said(want, OPT_NEW_RATE))
		return "--admit needs --new-rate: the packets a second that pass above "
		       "its rate although they are not in the filter; 0: none";
	if (!ingressopts_said(want, OPT_INGRESS_UNKNOWN))
		return "--admit needs --if-unknown drop or accept: what happens above "
		       "its rate while the filter does not know (saturated, or nobody "
		       "ends its epochs)";
	return NULL;
}

/* The error if an option of the key does not fit; NULL: none. */
static const char *misfit_key(const struct epf_pkt_opts *opts)
{
	if (opts->key < EPF_PKT_FLOW)
		return "--admit and --log-new need --key flow, conversation, peer or "
		       "peer-port";
	if (opts->flags & EPF_PKT_NONIP_FRAME)
		return "--nonip frame does not go with --admit and --log-new, which pass "
		       "packets that are not IP";
	if (opts->flags & EPF_PKT_VLAN)
		return "--scope vlan does not go with --admit and --log-new, because cards "
		       "may take tags off";
	return NULL;
}

bool ingress_ok(struct ingress_want *want, struct epf_pkt_opts *opts)
{
	const char *why = ingressopts_misfit(want);

	if (!why && want->action)
		why = misfit_key(opts);
	if (why) {
		fail("%s", why);
		return false;
	}
	if (!want->action)
		return true;
	if (want->action == EPF_XDP_ADMIT) {
		want->rule.drops |= 1u << EPF_OUT_LEFT_OUT;
		if (!ingressopts_said(want, OPT_INGRESS_MALFORMED))
			want->rule.drops |= EPF_OUT_SET_HIDDEN;
	}
	if (want->action == EPF_XDP_LOG && !ingressopts_said(want, OPT_LOG_RATE))
		epf_bucket_init(&want->rule.fresh, LOG_RATE, LOG_RATE / 10);
	opts->flags |= EPF_PKT_PASS_CONTROL;
	want->rule.opts = *opts;
	return true;
}

static void put_bucket(FILE *out, const char *option, const struct epf_bucket *b)
{
	fprintf(out, " %s %llu/%llu", option, b->rate, b->burst);
}

static const char *unknown_text(const struct epf_ingress_rule *rule)
{
	return rule->drops & EPF_OUT_SET_UNKNOWN ? "drop" : "accept";
}

static const char *malformed_text(const struct epf_ingress_rule *rule)
{
	return rule->drops & EPF_OUT_SET_HIDDEN ? "drop" : "pass";
}

void ingress_print(FILE *out, __u32 action, const struct epf_ingress_rule *rule)
{
	if (action == EPF_XDP_LOG) {
		fputs(" --log-new", out);
		put_bucket(out, "--log-rate", &rule->fresh);
		return;
	}
	put_bucket(out, "--admit", &rule->rate);
	put_bucket(out, "--new-rate", &rule->fresh);
	fprintf(out, " --if-unknown %s", unknown_text(rule));
	if (!(rule->drops & EPF_OUT_SET_HIDDEN))
		fprintf(out, " --if-malformed %s", malformed_text(rule));
}

static json_t *bucket_json(const struct epf_bucket *b)
{
	return json_pack("{s:I, s:I}", "rate", (json_int_t)b->rate, "burst", (json_int_t)b->burst);
}

json_t *ingress_json(__u32 action, const struct epf_ingress_rule *rule)
{
	if (action == EPF_XDP_LOG)
		return json_pack("{s:o}", "records", bucket_json(&rule->fresh));
	return json_pack("{s:o, s:o, s:s, s:s}", "all", bucket_json(&rule->rate), "new",
			 bucket_json(&rule->fresh), "if_unknown", unknown_text(rule),
			 "if_malformed", malformed_text(rule));
}
