/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * XDP programs with a rule: --admit passes known senders during an attack, --log-new
 * records the first packet of each flow. Functions print their errors and return 0 or a
 * negative errno, unless they say otherwise.
 *
 * In addition to what xdp.h says about attachments, one of these owns only maps.
 */
#ifndef EPFCTL_INGRESS_H
#define EPFCTL_INGRESS_H

#include "cmd.h"
#include "common/pktopts.h"
#include "xdp.h"
#include "epf/ingress.h"

enum {
	OPT_ADMIT = OPT_LONG + 96,
	OPT_NEW_RATE,
	OPT_LOG_NEW,
	OPT_LOG_RATE,
	OPT_INGRESS_UNKNOWN,   /* --if-unknown, which --reflexive also has */
	OPT_INGRESS_MALFORMED, /* --if-malformed, the same */
	OPT_INGRESS_END,
};
#define INGRESS_LONGS                                                  \
	{ "admit", required_argument, NULL, OPT_ADMIT },               \
		{ "new-rate", required_argument, NULL, OPT_NEW_RATE }, \
		{ "log-new", no_argument, NULL, OPT_LOG_NEW },         \
	{                                                              \
		"log-rate", required_argument, NULL, OPT_LOG_RATE      \
	}
/* clang-format off */
#define INGRESS_HELP \
"Admit known senders during an attack, or log each flow once. Both need --filter\n" \
"(a filter of the module: Linux 6.9):\n" \
"  --admit RATE[/BURST]  up to RATE packets/s, all pass and are learnt. Above it,\n" \
"                      packets whose key is in the filter pass, and others at\n" \
"                      --new-rate (key peer; BURST: a tenth of RATE; RATE 0:\n" \
"                      always above)\n" \
"  --new-rate RATE[/BURST]  packets/s that pass above that rate although they are\n" \
"                      not in the filter; 0: none\n" \
"  --if-unknown drop|accept  what happens above the rate where the filter does\n" \
"                      not know\n" \
"  --if-malformed drop|pass  what happens above the rate to packets whose headers\n" \
"                      cannot be followed (drop)\n" \
"  --log-new           pass every packet, and record the first packet of each\n" \
"                      flow for 'epfctl log INTERFACE' (key flow)\n" \
"  --log-rate RATE[/BURST]  write up to RATE records/s (1000); others are counted\n"
/* clang-format on */

/**
 * struct ingress_want - the options
 * @action: EPF_XDP_ADMIT, EPF_XDP_LOG, or 0: neither was asked for
 * @rule: the rule of the program; ingress_ok() sets its key
 * @said: which options were given; the bit of an option is its value less OPT_ADMIT
 */
struct ingress_want {
	__u32 action;
	struct epf_ingress_rule rule;
	__u32 said;
};

/* ingressopts.c: options, and the rule as text */

/* Like plan_option(). */
bool ingress_option(struct ingress_want *want, int opt, const char *arg);
/* Do the options fit together and to @opts? Sets the key of the rule. If not, prints an
 * error.
 */
bool ingress_ok(struct ingress_want *want, struct epf_pkt_opts *opts);
/* " --admit 100000/10000 --new-rate 100/10 --if-unknown drop" */
void ingress_print(FILE *out, __u32 action, const struct epf_ingress_rule *rule);
json_t *ingress_json(__u32 action, const struct epf_ingress_rule *rule);

/* ingress_show.c */
struct outcome_view ingress_counts(const struct xdp_state *s);

/* ingress.c: attach, detach, read; @conf describes the attachment */

/* Is @action one of these? */
bool ingress_is(__u32 action);
const char *ingress_program(__u32 action);
enum xdp_obj ingress_object(const struct xdp_want *want);
int ingress_attach(const struct xdp_want *want, struct epf_xdp_conf *conf);
/* Let @obj use the pinned maps and those of the filter. Prints no errors. */
int ingress_maps(const struct xdp_want *want, struct bpf_object *obj);
/* Let the program pass everything from now on. From another network namespace it cannot be
 * detached.
 */
void ingress_disarm(const char *ifname);
/* Prints no errors. */
int ingress_read(const char *ifname, struct xdp_state *state);

#endif /* EPFCTL_INGRESS_H */
