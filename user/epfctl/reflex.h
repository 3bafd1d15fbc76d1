/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reflexive attachments: what an interface sends is learnt, what it receives is asked
 * for with the key reversed. Functions print their errors and return 0 or a negative
 * errno, unless they say otherwise.
 *
 * Beside what xdp.h tells of attachments, one of these owns a program at tc egress
 * and, if it asks at tc, one at tc ingress. It learns before it asks, and goes on
 * learning until it has stopped asking.
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
	OPT_ASK,
	OPT_CLSACT,
	OPT_WITHIN,
	OPT_REFLEX_END,
};
#define REFLEX_LONGS \
	{ "reflexive", no_argument, NULL, OPT_REFLEXIVE }, \
	{ "match", required_argument, NULL, OPT_MATCH }, \
	{ "else", required_argument, NULL, OPT_ELSE }, \
	{ "if-unknown", required_argument, NULL, OPT_IF_UNKNOWN }, \
	{ "ask", required_argument, NULL, OPT_ASK }, \
	{ "clsact", no_argument, NULL, OPT_CLSACT }, \
	{ "within", required_argument, NULL, OPT_WITHIN }
#define REFLEX_HELP \
"Accept only answers: what INTERFACE sends is learnt, what it receives is looked\n" \
"up with source and destination exchanged, and nothing else is done with it:\n" \
"  --reflexive         do that; --filter names the filter, which must exist\n" \
"  --match PROTO[:sport=LIST]  only packets of udp, tcp or any protocol with\n" \
"                      ports, from ports such as 53,123,6000-6010; may be given\n" \
"                      again\n" \
"  --within N|DURATION  answers are what was sent so many epochs ago at the most,\n" \
"                      or so long ago, rounded up to epochs (the whole window)\n" \
"  --else drop|accept|mark=VALUE/MASK  what is done about a packet that answers\n" \
"                      none\n" \
"  --if-unknown drop|accept|mark=VALUE/MASK  likewise where the filter does not\n" \
"                      know\n" \
"  --fragments drop|pass  likewise about fragments but the first\n" \
"                      (both have to be given with --else drop)\n" \
"  --ask xdp|tc        ask in XDP, or at tc ingress, where marks can be set (xdp)\n" \
"  --clsact            filters of a clsact qdisc, also where Linux has tcx (6.6)\n"

/**
 * struct reflex_want - the options
 * @on: --reflexive was given
 * @rule: what the programs are to do; the keys in it are not set
 * @ask_tc: ask at tc ingress
 * @clsact: tc programs are to be filters of a qdisc
 * @said: which options were given, bits by option less OPT_REFLEXIVE
 * @fragments: OPT_FRAGMENTS was given, which without OPT_REFLEXIVE is one of the key
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

/* As promise_option(). */
bool reflex_option(struct reflex_want *want, int opt, const char *arg);
/* Do the options go together, and with @opts? Sets the keys of the rule. Else an error. */
bool reflex_ok(struct reflex_want *want, struct epf_pkt_opts *opts);
/* Set when a key is too old for @rule, of a filter of @params. Else an error. */
bool reflex_within(const struct reflex_want *want, const struct epf_params *params,
		   struct epf_reflex_rule *rule);
/* A number of a mark, up to @end: decimal, or hex after 0x. @rest: behind @end. Silent. */
bool parse_bits(const char *text, char end, __u32 *bits, const char **rest);
/* Of them, for netfilter hooks (nf.h): was @opt given; a verdict, else an error; is one
 * of those of @rule a mark?
 */
bool reflex_said(const struct reflex_want *want, int opt);
bool reflex_parse_act(const char *what, const char *arg,
		      struct epf_reflex_act *act);
bool reflex_marks(const struct epf_reflex_rule *rule);
/* "drop", "mark=0x1/0x3", or @pass */
struct text reflex_act_text(const struct epf_reflex_act *act, const char *pass);
/* "--match udp:sport=53", and as a list; @sep: ":sport=" */
void reflex_print_match(const struct epf_reflex_rule *rule, const char *sep);
json_t *reflex_json_match(const struct epf_reflex_rule *rule, const char *sep);
/* " --within 10s", if it is asked for, and as members of @o */
void reflex_print_within(const struct epf_reflex_rule *rule);
void reflex_json_within(const struct epf_reflex_rule *rule, json_t *o);
/* "--match udp:sport=53 --else drop --if-unknown accept --fragments pass" */
void reflex_print(const struct epf_reflex_rule *rule);
json_t *reflex_json(const struct epf_reflex_rule *rule);
/* What is done about @reason at ingress: "pass", "drop" or "mark". */
const char *reflex_verdict(const struct epf_reflex_rule *rule,
			   enum epf_reflex_reason reason);
extern const char *const reflex_reason_names[EPF_REFLEX_REASONS];

/* reflex_show.c: parts of what xdp_show() and xdp_json() tell, and counters */
void reflex_show(const struct xdp_state *s);
void reflex_show_faults(const char *ifname, const struct xdp_state *s);
void reflex_show_counts(const struct xdp_state *s);
json_t *reflex_json_sides(const struct xdp_state *s);
json_t *reflex_json_counts(const struct xdp_state *s);

/* reflex.c: attach, detach, read; @conf has what is there */
int reflex_attach(const struct xdp_want *want, struct epf_xdp_conf *conf);
int reflex_detach(const char *ifname, struct xdp_state *state);
/* Have @obj use the maps that are pinned, and those of the filter. Silent. */
int reflex_maps(const struct xdp_want *want, struct bpf_object *obj);
/* Silent. */
int reflex_read(const char *ifname, struct xdp_state *state);

/* tc.c: programs at tc hooks, by links where there are tcx, else by filters of a clsact
 * qdisc. Silent.
 */

/* Attach program @fd and note it in @conf->tc[@side]. A link is pinned. */
int tc_attach(int fd, const char *ifname, enum epf_reflex_side side, bool clsact,
	      struct epf_xdp_conf *conf);
int tc_detach(const char *ifname, enum epf_reflex_side side,
	      const struct epf_xdp_conf *conf);
bool tc_live(const char *ifname, enum epf_reflex_side side,
	     const struct epf_xdp_conf *conf);
/* Remove the qdisc that was made for @conf, unless others have filters in it. */
void tc_unmake(const struct epf_xdp_conf *conf);

#endif /* EPFCTL_REFLEX_H */
