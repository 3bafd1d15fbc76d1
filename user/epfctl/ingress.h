/* SPDX-License-Identifier: GPL-2.0 */
/*
 * XDP programs with a rule of their own: --admit passes what is known while under
 * attack, --log-new records the first packet of each flow. Functions print their errors
 * and return 0 or a negative errno, unless they say otherwise.
 *
 * Beside what xdp.h tells of attachments, one of these owns nothing but maps.
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
	OPT_INGRESS_UNKNOWN, /* --if-unknown, which --reflexive has too */
	OPT_INGRESS_END,
};
#define INGRESS_LONGS \
	{ "admit", required_argument, NULL, OPT_ADMIT }, \
	{ "new-rate", required_argument, NULL, OPT_NEW_RATE }, \
	{ "log-new", no_argument, NULL, OPT_LOG_NEW }, \
	{ "log-rate", required_argument, NULL, OPT_LOG_RATE }
#define INGRESS_HELP \
"Admit what is known while INTERFACE is under attack, or log each flow once, of a\n" \
"filter that has to be named (of the module: Linux 6.9):\n" \
"  --admit RATE[/BURST]  up to RATE packets/s all pass and are learnt; above it\n" \
"                      what is in the filter, and what is new at --new-rate (key\n" \
"                      peer; BURST: a tenth of RATE; RATE 0: always above)\n" \
"  --new-rate RATE[/BURST]  likewise, of what is new; 0: none\n" \
"  --if-unknown drop|accept  what is done above it where the filter does not know\n" \
"  --log-new           pass all, and record the first packet of each flow for\n" \
"                      'epfctl log INTERFACE' (key flow)\n" \
"  --log-rate RATE[/BURST]  up to RATE records/s (1000); others are counted\n"

/**
 * struct ingress_want - the options
 * @action: EPF_XDP_ADMIT, EPF_XDP_LOG, or 0: neither was asked for
 * @rule: what the program is to do; the key in it is not set
 * @said: which options were given, bits by option less OPT_ADMIT
 */
struct ingress_want {
	__u32 action;
	struct epf_ingress_rule rule;
	__u32 said;
};

/* ingressopts.c: options, and the rule as text */

/* As promise_option(). */
bool ingress_option(struct ingress_want *want, int opt, const char *arg);
/* Do the options go together, and with @opts? Sets the key of the rule. Else an error. */
bool ingress_ok(struct ingress_want *want, struct epf_pkt_opts *opts);
/* " --admit 100000/10000 --new-rate 100/10 --if-unknown drop" */
void ingress_print(__u32 action, const struct epf_ingress_rule *rule);
json_t *ingress_json(__u32 action, const struct epf_ingress_rule *rule);

/* ingress_show.c: counters, and whether the rate is exceeded */
void ingress_show_counts(const struct xdp_state *s);
json_t *ingress_json_counts(const struct xdp_state *s);

/* ingress.c: attach, detach, read; @conf has what is there */

/* Is @action one of these? */
bool ingress_is(__u32 action);
const char *ingress_program(__u32 action);
enum xdp_obj ingress_object(const struct xdp_want *want);
int ingress_attach(const struct xdp_want *want, struct epf_xdp_conf *conf);
/* Have @obj use the maps that are pinned, and those of the filter. Silent. */
int ingress_maps(const struct xdp_want *want, struct bpf_object *obj);
/* From another network namespace the program cannot be reached: it passes everything
 * from now on.
 */
void ingress_disarm(const char *ifname);
/* Silent. */
int ingress_read(const char *ifname, struct xdp_state *state);

#endif /* EPFCTL_INGRESS_H */
