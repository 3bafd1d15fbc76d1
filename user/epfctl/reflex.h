/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reflexive attachments: what an interface sends is learnt; what it receives is looked up
 * with the key reversed. Functions print their errors and return 0 or a negative errno,
 * unless they say otherwise.
 *
 * In addition to what xdp.h says about attachments, one of these owns a program at tc
 * egress and, if it asks at tc, one at tc ingress. It learns before it asks, and learns
 * until it no longer asks.
 */
#ifndef EPFCTL_REFLEX_H
#define EPFCTL_REFLEX_H

#include "cmd.h"
#include "common/pktopts.h"
#include "xdp.h"
#include "epf/reflex.h"

enum {
	OPT_REFLEXIVE = OPT_LONG + 64,
	OPT_MATCH,
	OPT_ELSE,
	OPT_IF_UNKNOWN,
	OPT_IF_MALFORMED,
	OPT_NO_CONTROL,
	OPT_ASK,
	OPT_CLSACT,
	OPT_WITHIN,
	OPT_REFLEX_END,
};
#define REFLEX_LONGS                                                           \
	{ "reflexive", no_argument, NULL, OPT_REFLEXIVE },                     \
		{ "match", required_argument, NULL, OPT_MATCH },               \
		{ "else", required_argument, NULL, OPT_ELSE },                 \
		{ "if-unknown", required_argument, NULL, OPT_IF_UNKNOWN },     \
		{ "if-malformed", required_argument, NULL, OPT_IF_MALFORMED }, \
		{ "no-control", no_argument, NULL, OPT_NO_CONTROL },           \
		{ "ask", required_argument, NULL, OPT_ASK },                   \
		{ "clsact", no_argument, NULL, OPT_CLSACT },                   \
	{                                                                      \
		"within", required_argument, NULL, OPT_WITHIN                  \
	}
/* clang-format off */
#define REFLEX_HELP \
"Accept only answers: what INTERFACE sends is learnt; what it receives is looked\n" \
"up with source and destination exchanged, and not inserted:\n" \
"  --reflexive         do this; --filter names the filter, which must exist\n" \
"  --match PROTO[:sport=LIST]  judge only packets of udp, tcp or any protocol\n" \
"                      with ports, from ports such as 53,123,6000-6010; may be\n" \
"                      given again\n" \
"  --within N|DURATION  only answers to packets that were sent in the last N\n" \
"                      epochs count, or within a duration, which is rounded up\n" \
"                      to epochs (the whole window)\n" \
"  --else drop|accept|mark=VALUE/MASK  what happens to a packet that answers none\n" \
"  --if-unknown drop|accept|mark=VALUE/MASK  what happens where the filter does\n" \
"                      not know\n" \
"  --if-malformed drop|pass|mark=VALUE/MASK  what happens to a packet whose\n" \
"                      headers cannot be followed (as --else)\n" \
"  --fragments drop|pass  what happens to fragments after the first (this and\n" \
"                      --if-unknown are required with --else drop)\n" \
"  --no-control        judge control packets, too (DHCP, mDNS, BFD and others)\n" \
"  --ask xdp|tc        ask in XDP, or at tc ingress, where marks can be set (xdp)\n" \
"  --clsact            attach to tc by a clsact qdisc, also where Linux has tcx\n" \
"                      (6.6)\n"
/* clang-format on */

/**
 * struct reflex_want - the options
 * @on: --reflexive was given
 * @rule: the rule of the programs; reflex_ok() sets its keys, and what OPT_IF_MALFORMED left
 *	out
 * @ask_tc: ask at tc ingress
 * @clsact: use tc filters of a clsact qdisc
 * @said: which options were given; the bit of an option is its value less OPT_REFLEXIVE
 * @fragments: OPT_FRAGMENTS was given; without OPT_REFLEXIVE it is an option of the key
 * @sport: ports of OPT_MATCH are source ports
 * @within: the text of OPT_WITHIN, or NULL
 * @dport: the last OPT_MATCH whose ports are destination ports, or NULL
 */
struct reflex_want {
	bool on;
	struct epf_reflex_rule rule;
	bool ask_tc;
	bool clsact;
	__u32 said;
	bool fragments;
	bool sport;
	const char *within;
	const char *dport;
};

/* reflexopts.c: options, and the rule as text */

/* Like plan_option(). */
bool reflex_option(struct reflex_want *want, int opt, const char *arg);
/* Do the options fit together and to @opts? Sets the keys of the rule. If not, prints an
 * error.
 */
bool reflex_ok(struct reflex_want *want, struct epf_pkt_opts *opts);
/* Set the age at which a key is too old for @rule; @params: of its filter. If that is not
 * possible, prints an error.
 */
bool reflex_within(const struct reflex_want *want, const struct epf_params *params,
		   struct epf_reflex_rule *rule);
/* Parse a number of a mark, up to @end: decimal, or hex after 0x. @rest: behind @end. Prints
 * no errors.
 */
bool parse_bits(const char *text, char end, __u32 *bits, const char **rest);
/* For netfilter hooks, too (nf.h): was @opt given; parse a verdict, or print an error; does
 * @rule set a mark? What @rule does by default with packets that hide their flow: it drops
 * them if it drops anything, since their senders choose them; otherwise as OPT_ELSE says.
 */
bool reflex_said(const struct reflex_want *want, int opt);
bool reflex_parse_act(const char *what, const char *arg, struct epf_reflex_act *act);
bool reflex_marks(const struct epf_reflex_rule *rule);
struct epf_reflex_act reflex_malformed(const struct epf_reflex_rule *rule);
void reflex_set_malformed(struct epf_reflex_rule *rule, struct epf_reflex_act act);
/* " --if-malformed pass", if that is not the default */
void reflex_print_malformed(FILE *out, const struct epf_reflex_rule *rule);
/* Without OPT_NO_CONTROL. */
bool reflex_passes_control(const struct epf_reflex_rule *rule);
/* "drop", "mark=0x1/0x3", or @pass */
struct text reflex_act_text(const struct epf_reflex_act *act, const char *pass);
/* "--match udp:sport=53", and as a list; @sep: ":sport=" */
void reflex_print_match(FILE *out, const struct epf_reflex_rule *rule, const char *sep);
json_t *reflex_json_match(const struct epf_reflex_rule *rule, const char *sep);
/* " --within 10s", if it was given; and as members of @o */
void reflex_print_within(FILE *out, const struct epf_reflex_rule *rule);
void reflex_json_within(const struct epf_reflex_rule *rule, json_t *o);
/* "--match udp:sport=53 --else drop --if-unknown accept --fragments pass" */
void reflex_print(FILE *out, const struct epf_reflex_rule *rule);
json_t *reflex_json(const struct epf_reflex_rule *rule);
/* What happens to packets with @outcome at ingress: "pass", "drop" or "mark". */
const char *reflex_verdict(const struct epf_reflex_rule *rule, enum epf_outcome outcome);

/* reflex_show.c: parts of what xdp_show() and xdp_json() print, and counters */
void reflex_show(const struct xdp_state *s);
void reflex_show_faults(const char *ifname, const struct xdp_state *s);
json_t *reflex_json_sides(const struct xdp_state *s);
struct outcome_view reflex_counts(const struct xdp_state *s);

/* reflex.c: attach, detach, read; @conf describes the attachment */
int reflex_attach(const struct xdp_want *want, struct epf_xdp_conf *conf);
int reflex_detach(const char *ifname, struct xdp_state *state);
/* Let @obj use the pinned maps and those of the filter. Prints no errors. */
int reflex_maps(const struct xdp_want *want, struct bpf_object *obj);
/* Prints no errors. */
int reflex_read(const char *ifname, struct xdp_state *state);

/* tc.c: programs at tc hooks, by links if the kernel has tcx, otherwise by filters of a
 * clsact qdisc. Prints no errors.
 */

/* Attach program @fd and note it in @conf->tc[@side]. A link is pinned. */
int tc_attach(int fd, const char *ifname, enum epf_reflex_side side, bool clsact,
	      struct epf_xdp_conf *conf);
int tc_detach(const char *ifname, enum epf_reflex_side side, const struct epf_xdp_conf *conf);
bool tc_live(const char *ifname, enum epf_reflex_side side, const struct epf_xdp_conf *conf);
/* Remove the qdisc that was made for @conf, unless it has filters of others. */
void tc_unmake(const struct epf_xdp_conf *conf);

#endif /* EPFCTL_REFLEX_H */
