// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The rule of a netfilter hook: from options, to text and JSON. */
#include "nf.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <linux/netfilter_ipv4.h>
#include <stdlib.h>

#define BIT(opt) (1u << ((opt)-OPT_HOOK))

/* By enum nf_inet_hooks. */
static const char *const hooks[] = { "prerouting", "input", "forward", "output", "postrouting" };

static bool bad_hook(const char *arg)
{
	fail("--hook '%s': must be nf:HOOK:PRIORITY: prerouting, input, forward, output "
	     "or postrouting, a number such as -310 or a name of nft such as raw or raw-10, and "
	     "':ip' or ':ip6' for only one family",
	     arg);
	return false;
}

/* The names that nft has for priorities. */
static const struct {
	const char *name;
	__s32 prio;
} places[] = {
	{ "raw", NF_IP_PRI_RAW },           { "mangle", NF_IP_PRI_MANGLE },
	{ "dstnat", NF_IP_PRI_NAT_DST },    { "filter", NF_IP_PRI_FILTER },
	{ "security", NF_IP_PRI_SECURITY }, { "srcnat", NF_IP_PRI_NAT_SRC },
};

/* The name of a place at @text. Return: its end; NULL: there is no place of that name */
static const char *parse_place(const char *text, __s32 *prio)
{
	size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz"), i;

	for (i = 0; i < ARRAY_SIZE(places); i++)
		if (strlen(places[i].name) == len && !memcmp(places[i].name, text, len)) {
			*prio = places[i].prio;
			return text + len;
		}
	return NULL;
}

/* Parse "-310", "raw" or "raw+5" at @text, up to ':' or the end. Return: its end, or NULL. */
static const char *nfopts_parse_prio(const char *text, __s32 *prio)
{
	const char *behind = parse_place(text, prio);
	long v, base = behind ? *prio : 0;
	char *end;

	if (behind && (!*behind || *behind == ':'))
		return behind;
	text = behind ?: text;
	if (!isdigit((unsigned char)text[*text == '-' || (behind && *text == '+')]) ||
	    (behind && isdigit((unsigned char)*text)))
		return NULL;
	errno = 0;
	v = strtol(text, &end, 10);
	if (errno || v < INT_MIN || v > INT_MAX || (*end && *end != ':'))
		return NULL;
	v += base;
	*prio = (__s32)v;
	return v < INT_MIN || v > INT_MAX ? NULL : end;
}

static bool parse_family(const char *text, bool family[NF_FAMILIES])
{
	bool ip6 = !strcmp(text, ":ip6"), ip = !strcmp(text, ":ip");

	family[0] = !ip6;
	family[1] = !ip;
	return ip || ip6 || !*text || !strcmp(text, ":inet");
}

static bool parse_hook(struct nf_hook *hook, const char *arg)
{
	const char *name = arg + sizeof(EPF_NF_NAME) - 1, *rest = NULL;
	size_t len;

	if (!nf_is_name(arg))
		return bad_hook(arg);
	len = strcspn(name, ":");
	for (hook->hook = 0; hook->hook < ARRAY_SIZE(hooks); hook->hook++)
		if (strlen(hooks[hook->hook]) == len && !memcmp(name, hooks[hook->hook], len))
			break;
	if (hook->hook < ARRAY_SIZE(hooks) && name[len])
		rest = nfopts_parse_prio(name + len + 1, &hook->prio);
	if (!rest || !parse_family(rest, hook->family))
		return bad_hook(arg);
	if (hook->prio == INT_MIN || hook->prio == INT_MAX) {
		fail("--hook '%s': the kernel keeps priorities %d and %d for its own "
		     "hooks",
		     arg, INT_MIN, INT_MAX);
		return false;
	}
	snprintf(hook->name, sizeof(hook->name), EPF_NF_NAME "%s:%d%s", hooks[hook->hook],
		 hook->prio,
		 !hook->family[0] ? ":ip6" :
		 !hook->family[1] ? ":ip" :
				    "");
	return true;
}

bool nf_name(const char *arg, char name[XDP_NAME_BYTES])
{
	int len = (int)strcspn(arg, "@");
	char text[XDP_NAME_BYTES];
	struct nf_hook hook;

	if (len >= XDP_NAME_BYTES)
		return bad_hook(arg);
	snprintf(text, sizeof(text), "%.*s", len, arg);
	if (!parse_hook(&hook, text))
		return false;
	snprintf(name, XDP_NAME_BYTES, "%.32s%.30s", hook.name, arg + len);
	return true;
}

/* "--in eth0" */
static bool parse_iface(const char *option, const char *arg, struct epf_nf_iface *iface)
{
	size_t len = strlen(arg), i;
	bool good = len && len < sizeof(iface->name) && !strpbrk(arg, "/:");

	for (i = 0; good && i < len; i++)
		good = arg[i] > ' ' && arg[i] <= '~'; /* JSON has it as text */
	if (!good) {
		fail("%s '%s': not the name of an interface", option, arg);
		return false;
	}
	memset(iface, 0, sizeof(*iface));
	memcpy(iface->name, arg, len);
	memset(iface->mask, 0xff, len + 1);
	return true;
}

bool nf_option(struct nf_want *want, int opt, const char *arg)
{
	want->said |= BIT(opt);
	switch (opt) {
	case OPT_HOOK:
		want->on = true;
		return parse_hook(&want->hook, arg);
	case OPT_IF_RECENT:
		return reflex_parse_act("--if-recent", arg, &want->recent);
	case OPT_IN:
		return parse_iface("--in", arg, &want->rule.in);
	case OPT_OUT:
		return parse_iface("--out", arg, &want->rule.out);
	case OPT_LEARN:
	case OPT_IF_NEW:
		return true;
	}
	return false;
}

static bool nfopts_said(const struct nf_want *want, int opt)
{
	return want->said & BIT(opt);
}

/* Do packets without ports have this key? Then fragments have it, too. */
static bool portless(const struct nf_want *want, const struct epf_pkt_opts *opts)
{
	return want->rule.all && opts->key == EPF_PKT_PEER;
}

/* The error if an option is missing or does not fit the others; NULL: none. */
static const char *nfopts_misfit(const struct nf_want *want, const struct reflex_want *reflex,
				 const struct epf_pkt_opts *opts)
{
	const struct epf_nf_rule *rule = &want->rule;
	bool asks = rule->op & EPF_NF_ASK;
	bool drops = rule->of.act[EPF_OUT_RECENT].verdict == EPF_REFLEX_DROP ||
		     rule->of.act[EPF_OUT_ABSENT].verdict == EPF_REFLEX_DROP;

	if (opts->key < EPF_PKT_FLOW)
		return "--hook needs --key flow, conversation, peer or peer-port";
	if (reflex->dport && reflex->sport)
		return "--match takes source ports or destination ports at one hook, not "
		       "both";
	if (!asks && (reflex->fragments || reflex_said(reflex, OPT_IF_UNKNOWN) ||
		      reflex_said(reflex, OPT_IF_MALFORMED) || reflex->within))
		return "--fragments, --if-unknown, --if-malformed and --within need a lookup: "
		       "give --if-recent or --else together with --learn";
	if (nfopts_said(want, OPT_IN) && want->hook.hook == NF_INET_LOCAL_OUT)
		return "--in does not go with output, where packets have come in nowhere";
	if (nfopts_said(want, OPT_OUT) && want->hook.hook < NF_INET_FORWARD)
		return "--out goes with forward, output and postrouting only: before these no "
		       "interface is chosen";
	if (nfopts_said(want, OPT_IF_NEW) && !nfopts_said(want, OPT_LEARN))
		return "--if-new goes with --learn only";
	if (drops && !reflex_said(reflex, OPT_IF_UNKNOWN))
		return "a hook that drops needs --if-unknown drop or accept: what happens "
		       "while the filter does not know (saturated, or nobody ends its "
		       "epochs)";
	if (reflex->fragments && portless(want, opts))
		return "--fragments does not go with --key peer, which uses no ports";
	if (drops && !reflex->fragments && !portless(want, opts))
		return "a hook that drops needs --fragments drop or pass: only the first "
		       "fragment of a datagram has ports";
	return NULL;
}

static __u32 op_of(const struct nf_want *want, const struct reflex_want *reflex)
{
	__u32 op = 0;

	if (nfopts_said(want, OPT_LEARN))
		op |= EPF_NF_LEARN;
	if (!op || nfopts_said(want, OPT_IF_RECENT) || reflex_said(reflex, OPT_ELSE))
		op |= EPF_NF_ASK;
	if (nfopts_said(want, OPT_IF_NEW))
		op |= EPF_NF_IF_NEW;
	return op;
}

bool nf_ok(struct nf_want *want, const struct reflex_want *reflex, struct epf_pkt_opts *opts)
{
	struct epf_nf_rule *rule = &want->rule;
	const char *why;

	if (!want->on && want->said)
		fail("--learn, --if-new, --if-recent, --in and --out go with --hook only");
	if (!want->on)
		return !want->said;
	rule->of = reflex->rule;
	rule->of.act[EPF_OUT_RECENT] = want->recent;
	if (!reflex_said(reflex, OPT_IF_MALFORMED))
		reflex_set_malformed(&rule->of, reflex_malformed(&rule->of));
	rule->op = op_of(want, reflex);
	rule->all = !reflex_said(reflex, OPT_MATCH);
	rule->dport = !!reflex->dport;
	why = nfopts_misfit(want, reflex, opts);
	if (why) {
		fail("%s", why);
		return false;
	}
	opts->link = EPF_LINK_IP;
	if (!portless(want, opts) && opts->key != EPF_PKT_PEER)
		opts->flags |= EPF_PKT_FIRST;
	if (!reflex_said(reflex, OPT_NO_CONTROL))
		opts->flags |= EPF_PKT_PASS_CONTROL;
	rule->of.opts[EPF_REFLEX_ASK] = rule->of.opts[EPF_REFLEX_LEARN] = *opts;
	return true;
}

void nf_warn_learns(const struct nf_want *want)
{
	bool passing = want->hook.hook == NF_INET_FORWARD ||
		       want->hook.hook == NF_INET_POST_ROUTING;

	if (passing && nfopts_said(want, OPT_LEARN) && !nfopts_said(want, OPT_IN) &&
	    !nfopts_said(want, OPT_OUT))
		warn("'%s' with --learn also learns what strangers send through this host: name "
		     "the interface that leads to them by --out",
		     want->hook.name);
}

bool nf_can_mark(const struct nf_want *want, const char *filter, bool bpf)
{
	if (!bpf || !reflex_marks(&want->rule.of))
		return true;
	fail("'%s' is pure BPF, and at a netfilter hook only the module can set marks: use "
	     "a filter of 'epfctl --backend module create', or set marks before the hook, "
	     "by 'attach INTERFACE --action mark' or '--reflexive --ask tc'",
	     filter);
	return false;
}

static const char *sep(const struct epf_nf_rule *rule)
{
	return rule->dport ? ":dport=" : ":sport=";
}

static struct text act(const struct epf_nf_rule *rule, enum epf_outcome outcome, const char *pass)
{
	return reflex_act_text(&rule->of.act[outcome], pass);
}

static const char *iface_name(const struct epf_nf_iface *iface)
{
	return iface->mask[0] ? (const char *)iface->name : NULL;
}

void nf_print(FILE *out, const struct epf_nf_rule *rule)
{
	if (iface_name(&rule->in))
		fprintf(out, " --in %s", iface_name(&rule->in));
	if (iface_name(&rule->out))
		fprintf(out, " --out %s", iface_name(&rule->out));
	if (rule->op & EPF_NF_LEARN)
		fputs(" --learn", out);
	if (rule->op & EPF_NF_IF_NEW)
		fputs(" --if-new", out);
	if (!rule->all)
		reflex_print_match(out, &rule->of, sep(rule));
	if (!reflex_passes_control(&rule->of))
		fputs(" --no-control", out);
	if (!(rule->op & EPF_NF_ASK))
		return;
	fprintf(out, " --if-recent %s", act(rule, EPF_OUT_RECENT, "accept").s);
	reflex_print_within(out, &rule->of);
	fprintf(out, " --else %s", act(rule, EPF_OUT_ABSENT, "accept").s);
	fprintf(out, " --if-unknown %s", act(rule, EPF_OUT_ERROR, "accept").s);
	reflex_print_malformed(out, &rule->of);
	if (!rule->all || rule->of.opts[0].key != EPF_PKT_PEER)
		fprintf(out, " --fragments %s", act(rule, EPF_OUT_FRAGMENT, "pass").s);
}

json_t *nf_json(const struct epf_nf_rule *rule)
{
	json_t *o = json_pack("{s:b, s:b, s:b, s:s*, s:s*, s:b}", "asks", !!(rule->op & EPF_NF_ASK),
			      "learns", !!(rule->op & EPF_NF_LEARN), "if_new",
			      !!(rule->op & EPF_NF_IF_NEW), "in", iface_name(&rule->in), "out",
			      iface_name(&rule->out), "no_control",
			      !reflex_passes_control(&rule->of));

	if (!rule->all)
		json_object_set_new(o, "match", reflex_json_match(&rule->of, sep(rule)));
	if (!(rule->op & EPF_NF_ASK))
		return o;
	reflex_json_within(&rule->of, o);
	json_object_update_new(o, json_pack("{s:s, s:s, s:s, s:s, s:s}", "if_recent",
					    act(rule, EPF_OUT_RECENT, "accept").s, "else",
					    act(rule, EPF_OUT_ABSENT, "accept").s, "if_unknown",
					    act(rule, EPF_OUT_ERROR, "accept").s, "if_malformed",
					    act(rule, EPF_OUT_MALFORMED, "pass").s, "fragments",
					    act(rule, EPF_OUT_FRAGMENT, "pass").s));
	return o;
}
