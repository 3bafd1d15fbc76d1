/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs at netfilter hooks. Functions print their errors and return 0 or a negative
 * errno, unless they say otherwise.
 *
 * The name of a hook is "nf:prerouting:-310", with ":ip" or ":ip6" behind it if it belongs
 * to one family only. Names of interfaces have no ':', so the functions of xdp_pin.c take
 * either. An attachment owns a directory of pins with up to two links, one for each family.
 * The program and the network namespace live as long as the links.
 */
#ifndef EPFCTL_NF_H
#define EPFCTL_NF_H

#include <string.h>

#include "epf/nf.h"
#include "reflex.h"

enum {
	OPT_HOOK = OPT_LONG + 128,
	OPT_LEARN,
	OPT_IF_NEW,
	OPT_IF_RECENT,
	OPT_IN,
	OPT_OUT,
	OPT_NF_END,
};
#define NF_LONGS                                                                                  \
	{ "hook", required_argument, NULL, OPT_HOOK }, { "learn", no_argument, NULL, OPT_LEARN }, \
		{ "if-new", no_argument, NULL, OPT_IF_NEW },                                      \
		{ "in", required_argument, NULL, OPT_IN },                                        \
		{ "out", required_argument, NULL, OPT_OUT },                                      \
	{                                                                                         \
		"if-recent", required_argument, NULL, OPT_IF_RECENT                               \
	}
/* clang-format off */
#define NF_HELP \
"At a netfilter hook of this network namespace, in place of INTERFACE (Linux\n" \
"6.4):\n" \
"  --hook nf:HOOK:PRIORITY[:ip|ip6]  prerouting, input, forward, output or\n" \
"                      postrouting, such as 'nf:prerouting:-310' or, by the\n" \
"                      names of nft, 'nf:prerouting:raw-10'; for IPv4 and\n" \
"                      IPv6, or for one of them\n" \
"  --in INTERFACE, --out INTERFACE  judge only packets that come in, or leave,\n" \
"                      through it\n" \
"  --learn             insert the key of every packet that is matched; without\n" \
"                      --if-recent and --else all packets are accepted\n" \
"  --if-new            with --learn: insert only keys that are not present\n" \
"  --if-recent drop|accept|mark=VALUE/MASK  what happens to packets whose key is\n" \
"                      present (accept); only the module can set marks\n" \
"  --else drop|accept|mark=VALUE/MASK  what happens to all others (accept)\n" \
"  --within, --if-unknown, --if-malformed, --no-control, --fragments, --match\n" \
"                      PROTO[:sport=LIST|:dport=LIST]  as above; --if-unknown and\n" \
"                      --fragments are required where something is dropped, and\n" \
"                      there malformed packets are dropped, too\n"
/* clang-format on */

#define NF_FAMILIES 2

/**
 * struct nf_hook - a hook of netfilter
 * @name: as above
 * @hook: enum nf_inet_hooks
 * @prio: priority of the program
 * @family: the families that it is attached for: ip, ip6
 */
struct nf_hook {
	char name[XDP_NAME_BYTES];
	__u32 hook;
	__s32 prio;
	bool family[NF_FAMILIES];
};

/**
 * struct nf_want - the options
 * @on: OPT_HOOK was given
 * @hook: which hook
 * @said: which other options were given; the bit of an option is its value less OPT_HOOK
 * @recent: the verdict of OPT_IF_RECENT
 * @rule: set by nf_ok()
 */
struct nf_want {
	bool on;
	struct nf_hook hook;
	__u32 said;
	struct epf_reflex_act recent;
	struct epf_nf_rule rule;
};

/**
 * struct nf_state - what is attached to a hook, read back
 * @conf: as attached
 * @rule: as attached
 * @counts: summed over CPUs
 * @here: the hook belongs to this network namespace
 * @live: by family: there is a link
 */
struct nf_state {
	struct epf_xdp_conf conf;
	struct epf_nf_rule rule;
	struct epf_counts counts;
	bool here;
	bool live[NF_FAMILIES];
};

static inline bool nf_is_name(const char *name)
{
	return !strncmp(name, EPF_NF_NAME, sizeof(EPF_NF_NAME) - 1);
}

/* nfopts.c: options, and the rule as text */

/* Like plan_option(). */
bool nf_option(struct nf_want *want, int opt, const char *arg);
/* The name of the hook that @arg means, in any network namespace. Return: false: an error
 * is printed.
 */
bool nf_name(const char *arg, char name[XDP_NAME_BYTES]);
/* Do the options fit together, to those of @reflex and to @opts? Sets the rule, except for
 * what reflex_within() sets. If not, prints an error.
 */
bool nf_ok(struct nf_want *want, const struct reflex_want *reflex, struct epf_pkt_opts *opts);
/* Warn if the rule learns what other hosts send through this one, from any side. */
void nf_warn_learns(const struct nf_want *want);
/* Does the rule set no marks, or is @filter the module's? If not, prints an error. */
bool nf_can_mark(const struct nf_want *want, const char *filter, bool bpf);
/* " --learn --match udp:sport=53 --else drop" */
void nf_print(FILE *out, const struct epf_nf_rule *rule);
json_t *nf_json(const struct epf_nf_rule *rule);

/* nf.c */
int nf_attach(const struct xdp_want *want, const struct nf_want *nf);
int nf_detach(const char *name);
/* Prints no errors. -ENOENT: nothing is attached. */
int nf_read(const char *name, struct nf_state *state);
extern const char *const nf_family_names[NF_FAMILIES];

/* nf_show.c: what is attached, and its counters. Prints no errors.
 * @list: an array to add it to; NULL: print it. Return: as nf_read(); 1: nothing is
 * attached, but something was left behind.
 */
int nf_status(const char *name, json_t *list);

#endif /* EPFCTL_NF_H */
