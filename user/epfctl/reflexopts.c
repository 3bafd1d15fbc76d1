// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The rule of a reflexive attachment: from options, to text and JSON. */
#include "reflex.h"

#include <errno.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define PORTS 65536u
#define BIT(opt) (1u << ((opt)-OPT_REFLEXIVE))

static bool bad_match(const char *arg)
{
	fail("--match '%s': must be udp, tcp or any, or one of these and ':sport=' with "
	     "ports such as 53,123,6000-6010",
	     arg);
	return false;
}

/* Parse a port at *@text, and move *@text behind it. */
static bool parse_port(const char **text, __u32 *port)
{
	const char *p = *text;
	__u32 v = 0;

	for (; isdigit((unsigned char)*p) && v < PORTS; p++)
		v = 10 * v + (__u32)(*p - '0');
	if (p == *text || v >= PORTS)
		return false;
	*text = p;
	*port = v;
	return true;
}

static void set_ports(struct epf_reflex_rule *rule, int proto, __u32 from, __u32 to)
{
	__u32 port;

	rule->any[proto] = 1;
	for (port = from; port <= to; port++)
		rule->port[proto][port / 32] |= 1u << port % 32;
}

/* Parse the ports of @list, for the protocols @first to @last. */
static bool parse_ports(struct epf_reflex_rule *rule, int first, int last, const char *list)
{
	__u32 from, to;
	int proto;

	do {
		if (!parse_port(&list, &from))
			return false;
		to = from;
		if (*list == '-') {
			list++;
			if (!parse_port(&list, &to) || to < from)
				return false;
		}
		for (proto = first; proto <= last; proto++)
			set_ports(rule, proto, from, to);
	} while (*list++ == ',');
	return !list[-1];
}

static bool parse_match(struct reflex_want *want, const char *arg)
{
	struct epf_reflex_rule *rule = &want->rule;
	static const struct {
		const char *name;
		int first, last;
	} protos[] = {
		{ "udp", EPF_REFLEX_UDP, EPF_REFLEX_UDP },
		{ "tcp", EPF_REFLEX_TCP, EPF_REFLEX_TCP },
		{ "any", 0, EPF_REFLEX_PROTOS - 1 },
	};
	static const char sport[] = ":sport=", dport[] = ":dport=";
	size_t i, len = strcspn(arg, ":");
	const char *list = arg[len] ? arg + len : ":sport=0-65535";
	bool to = !strncmp(list, dport, strlen(dport));

	for (i = 0; i < ARRAY_SIZE(protos); i++) {
		if (strlen(protos[i].name) != len || memcmp(arg, protos[i].name, len))
			continue;
		want->sport |= !to && arg[len];
		if (to)
			want->dport = arg;
		return ((to || !strncmp(list, sport, strlen(sport))) &&
			parse_ports(rule, protos[i].first, protos[i].last, list + strlen(sport))) ||
		       bad_match(arg);
	}
	return bad_match(arg);
}

bool parse_bits(const char *text, char end, __u32 *bits, const char **rest)
{
	bool hex = text[0] == '0' && (text[1] | 0x20) == 'x';
	unsigned long v;
	char *stop;

	errno = 0;
	v = strtoul(text, &stop, hex ? 16 : 10);
	if (errno || !isdigit((unsigned char)*text) || *stop != end || v > 0xffffffffUL)
		return false;
	*bits = (__u32)v;
	*rest = stop + 1;
	return true;
}

bool reflex_parse_act(const char *what, const char *arg, struct epf_reflex_act *act)
{
	memset(act, 0, sizeof(*act));
	if (!strcmp(arg, "accept"))
		return true;
	act->verdict = EPF_REFLEX_DROP;
	if (!strcmp(arg, "drop"))
		return true;
	act->verdict = EPF_REFLEX_MARK;
	if (!strncmp(arg, "mark=", 5) && parse_bits(arg + 5, '/', &act->value, &arg) &&
	    parse_bits(arg, 0, &act->mask, &arg) && act->mask && !(act->value & ~act->mask))
		return true;
	fail("%s: must be drop, accept or mark=VALUE/MASK, where MASK contains all bits "
	     "of VALUE",
	     what);
	return false;
}

static bool parse_unknown(struct epf_reflex_rule *rule, const char *arg)
{
	struct epf_reflex_act act;
	int i;

	if (!reflex_parse_act("--if-unknown", arg, &act))
		return false;
	for (i = EPF_OUT_UNKNOWN; i < EPF_OUTCOMES; i++)
		rule->act[i] = act;
	return true;
}

void reflex_set_malformed(struct epf_reflex_rule *rule, struct epf_reflex_act act)
{
	rule->act[EPF_OUT_NOT_IP] = rule->act[EPF_OUT_TRUNCATED] = act;
	rule->act[EPF_OUT_MALFORMED] = act;
}

static bool reflexopts_parse_malformed(struct epf_reflex_rule *rule, const char *arg)
{
	struct epf_reflex_act act = { EPF_REFLEX_PASS, 0, 0 };
	bool good = !strcmp(arg, "pass") || reflex_parse_act("--if-malformed", arg, &act);

	reflex_set_malformed(rule, act);
	return good;
}

struct epf_reflex_act reflex_malformed(const struct epf_reflex_rule *rule)
{
	const struct epf_reflex_act *recent = &rule->act[EPF_OUT_RECENT];

	return recent->verdict == EPF_REFLEX_DROP ? *recent : rule->act[EPF_OUT_ABSENT];
}

/* Parse one of two words. */
static bool parse_either(const char *what, const char *arg, const char *no, const char *yes,
			 bool *is)
{
	*is = !strcmp(arg, yes);
	if (*is || !strcmp(arg, no))
		return true;
	fail("%s '%s': not %s or %s", what, arg, no, yes);
	return false;
}

bool reflex_option(struct reflex_want *want, int opt, const char *arg)
{
	struct epf_reflex_act *acts = want->rule.act;
	bool drop;

	if (opt == OPT_FRAGMENTS)
		want->fragments = true;
	else
		want->said |= BIT(opt);
	switch (opt) {
	case OPT_REFLEXIVE:
		want->on = true;
		return true;
	case OPT_MATCH:
		return parse_match(want, arg);
	case OPT_ELSE:
		if (!reflex_parse_act("--else", arg, &acts[EPF_OUT_ABSENT]))
			return false;
		acts[EPF_OUT_OLDER] = acts[EPF_OUT_ABSENT];
		return true;
	case OPT_WITHIN:
		want->within = arg;
		return true;
	case OPT_IF_UNKNOWN:
		return parse_unknown(&want->rule, arg);
	case OPT_IF_MALFORMED:
		return reflexopts_parse_malformed(&want->rule, arg);
	case OPT_FRAGMENTS:
		if (!parse_either("--fragments", arg, "pass", "drop", &drop))
			return false;
		acts[EPF_OUT_FRAGMENT].verdict = drop ? EPF_REFLEX_DROP : EPF_REFLEX_PASS;
		return true;
	case OPT_ASK:
		return parse_either("--ask", arg, "xdp", "tc", &want->ask_tc);
	case OPT_CLSACT:
		want->clsact = true;
		return true;
	case OPT_NO_CONTROL:
		return true;
	}
	return false;
}

bool reflex_said(const struct reflex_want *want, int opt)
{
	return want->said & BIT(opt);
}

bool reflex_marks(const struct epf_reflex_rule *rule)
{
	int i;

	for (i = 0; i < EPF_OUTCOMES; i++)
		if (rule->act[i].verdict == EPF_REFLEX_MARK)
			return true;
	return false;
}

/* A flow is learnt as it is, and looked up reversed. A peer is the source of a packet that
 * comes in, so it is learnt reversed. A conversation is the same in both directions.
 */
static void set_keys(struct epf_reflex_rule *rule, const struct epf_pkt_opts *opts, bool control)
{
	struct epf_pkt_opts *ask = &rule->opts[EPF_REFLEX_ASK];
	struct epf_pkt_opts *learn = &rule->opts[EPF_REFLEX_LEARN];

	*ask = *learn = *opts;
	if (control)
		ask->flags = learn->flags |= EPF_PKT_PASS_CONTROL;
	ask->flags |= EPF_PKT_ERRORS;
	if (opts->key == EPF_PKT_FLOW)
		ask->flags |= EPF_PKT_REVERSE;
	if (opts->key == EPF_PKT_PEER || opts->key == EPF_PKT_PEER_PORT)
		learn->flags |= EPF_PKT_REVERSE;
	if (opts->key != EPF_PKT_PEER) {
		ask->flags |= EPF_PKT_FIRST;
		learn->flags |= EPF_PKT_FIRST;
	}
}

bool reflex_ok(struct reflex_want *want, struct epf_pkt_opts *opts)
{
	bool drops = want->rule.act[EPF_OUT_ABSENT].verdict == EPF_REFLEX_DROP;

	if (!reflex_said(want, OPT_IF_MALFORMED))
		reflex_set_malformed(&want->rule, reflex_malformed(&want->rule));
	if (!want->on && want->said)
		fail("--match, --within, --else, --if-unknown, --if-malformed, --no-control, "
		     "--ask and --clsact go with --hook or --reflexive only");
	if (!want->on)
		return !want->said;
	if (want->dport)
		return bad_match(want->dport);
	if (opts->key < EPF_PKT_FLOW || opts->flags & ~EPF_PKT_ZONE)
		fail("--reflexive needs --key flow, conversation, peer or peer-port, and "
		     "goes with no other option of the key than --prefix and --zone");
	else if (!reflex_said(want, OPT_MATCH))
		fail("--reflexive needs --match: 'udp:sport=53' for answers of DNS "
		     "servers, 'any' for everything that has ports");
	else if (!reflex_said(want, OPT_ELSE))
		fail("--reflexive needs --else: what happens to a packet that "
		     "answers none");
	else if (drops && !reflex_said(want, OPT_IF_UNKNOWN))
		fail("--else drop needs --if-unknown drop or accept: what happens "
		     "while the filter does not know (saturated, or nobody ends its "
		     "epochs)");
	else if (drops && !want->fragments)
		fail("--else drop needs --fragments drop or pass: only the first "
		     "fragment of a datagram has ports");
	else if (reflex_marks(&want->rule) && !want->ask_tc)
		fail("mark=VALUE/MASK needs --ask tc: packets have no mark in XDP");
	else {
		set_keys(&want->rule, opts, !reflex_said(want, OPT_NO_CONTROL));
		return true;
	}
	return false;
}

bool reflex_within(const struct reflex_want *want, const struct epf_params *params,
		   struct epf_reflex_rule *rule)
{
	return !want->within || parse_within(want->within, params, &rule->within, &rule->within_ns);
}

static bool has_port(const __u32 *ports, __u32 port)
{
	return port < PORTS && ports[port / 32] >> port % 32 & 1;
}

/* "udp:sport=53,1000-1010"; @sep: ":sport=" */
static void put_match(FILE *out, const char *proto, const char *sep, const __u32 *ports)
{
	__u32 from, to = 0;

	fputs(proto, out);
	for (from = 0; from < PORTS; from = to + 1) {
		for (; from < PORTS && !has_port(ports, from); from++)
			;
		for (to = from; has_port(ports, to + 1); to++)
			;
		if (from >= PORTS || (!from && to == PORTS - 1))
			break;
		fprintf(out, "%s%u", sep, from);
		if (to > from)
			fprintf(out, "-%u", to);
		sep = ",";
	}
}

/* Print protocol @i on its own? Not if 'any' has said the same. */
static bool reflexopts_told(const struct epf_reflex_rule *rule, int i)
{
	return rule->any[i] &&
	       (i == EPF_REFLEX_PORTS ||
		memcmp(rule->port[i], rule->port[EPF_REFLEX_PORTS], sizeof(rule->port[i])));
}

static const char *const proto_names[EPF_REFLEX_PROTOS] = { "udp", "tcp", "any" };

struct text reflex_act_text(const struct epf_reflex_act *act, const char *pass)
{
	struct text t;

	if (act->verdict == EPF_REFLEX_MARK)
		snprintf(t.s, sizeof(t.s), "mark=0x%x/0x%x", act->value, act->mask);
	else
		snprintf(t.s, sizeof(t.s), "%s", act->verdict == EPF_REFLEX_DROP ? "drop" : pass);
	return t;
}

void reflex_print_match(FILE *out, const struct epf_reflex_rule *rule, const char *sep)
{
	int i;

	for (i = EPF_REFLEX_PROTOS - 1; i >= 0; i--)
		if (reflexopts_told(rule, i)) {
			fputs(" --match ", out);
			put_match(out, proto_names[i], sep, rule->port[i]);
		}
}

void reflex_print_within(FILE *out, const struct epf_reflex_rule *rule)
{
	if (rule->within)
		fprintf(out, " --within %s", within_text(rule->within, rule->within_ns).s);
}

void reflex_print_malformed(FILE *out, const struct epf_reflex_rule *rule)
{
	const struct epf_reflex_act *act = &rule->act[EPF_OUT_MALFORMED];
	struct epf_reflex_act usual = reflex_malformed(rule);

	if (memcmp(act, &usual, sizeof(usual)))
		fprintf(out, " --if-malformed %s", reflex_act_text(act, "pass").s);
}

bool reflex_passes_control(const struct epf_reflex_rule *rule)
{
	return rule->opts[EPF_REFLEX_ASK].flags & EPF_PKT_PASS_CONTROL;
}

void reflex_print(FILE *out, const struct epf_reflex_rule *rule)
{
	reflex_print_match(out, rule, ":sport=");
	reflex_print_within(out, rule);
	fprintf(out, " --else %s", reflex_act_text(&rule->act[EPF_OUT_ABSENT], "accept").s);
	fprintf(out, " --if-unknown %s", reflex_act_text(&rule->act[EPF_OUT_ERROR], "accept").s);
	reflex_print_malformed(out, rule);
	fprintf(out, " --fragments %s", reflex_act_text(&rule->act[EPF_OUT_FRAGMENT], "pass").s);
	if (!reflex_passes_control(rule))
		fputs(" --no-control", out);
}

static json_t *match_json(const char *proto, const char *sep, const __u32 *ports)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	json_t *o;

	if (!out)
		return NULL;
	put_match(out, proto, sep, ports);
	fclose(out);
	o = json_string(text);
	free(text);
	return o;
}

json_t *reflex_json_match(const struct epf_reflex_rule *rule, const char *sep)
{
	json_t *match = json_array();
	int i;

	for (i = EPF_REFLEX_PROTOS - 1; i >= 0; i--)
		if (reflexopts_told(rule, i))
			json_array_append_new(match,
					      match_json(proto_names[i], sep, rule->port[i]));
	return match;
}

void reflex_json_within(const struct epf_reflex_rule *rule, json_t *o)
{
	if (!rule->within)
		return;
	json_object_set_new(o, "within_epochs", json_integer(rule->within - 1));
	if (rule->within_ns)
		json_object_set_new(o, "within_ns", json_integer((json_int_t)rule->within_ns));
}

json_t *reflex_json(const struct epf_reflex_rule *rule)
{
	json_t *o =
		json_pack("{s:o, s:s, s:s, s:s, s:s}", "match", reflex_json_match(rule, ":sport="),
			  "else", reflex_act_text(&rule->act[EPF_OUT_ABSENT], "accept").s,
			  "if_unknown", reflex_act_text(&rule->act[EPF_OUT_ERROR], "accept").s,
			  "if_malformed", reflex_act_text(&rule->act[EPF_OUT_MALFORMED], "pass").s,
			  "fragments", reflex_act_text(&rule->act[EPF_OUT_FRAGMENT], "pass").s);

	json_object_set_new(o, "no_control", json_boolean(!reflex_passes_control(rule)));
	reflex_json_within(rule, o);
	return o;
}

const char *reflex_verdict(const struct epf_reflex_rule *rule, enum epf_outcome outcome)
{
	switch (rule->act[outcome].verdict) {
	case EPF_REFLEX_DROP:
		return "drop";
	case EPF_REFLEX_MARK:
		return "mark";
	default:
		return "pass";
	}
}
