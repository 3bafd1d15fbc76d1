/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What 'attach' and 'detach' do, for 'apply' and 'export' too. */
#ifndef EPFCTL_ATTACH_H
#define EPFCTL_ATTACH_H

#include "ingress.h"
#include "nf.h"
#include "reflex.h"
#include "xdp.h"

extern const struct option attach_longs[];

/* cmd_attach.c: functions print their errors. One attachment is parsed at a time: the next
 * one replaces the options of the last.
 */
bool attach_parse(int argc, char **argv, struct xdp_want *want);
/* Set what depends on the filter, which must exist. */
bool attach_find(struct xdp_want *want);
/* Attach what was parsed last. Return: exit status. */
int attach_run(struct xdp_want *want);
/* Detach interface or hook @name. Return: exit status. */
int detach_run(const char *name);

/**
 * struct attach_words - an attachment, wanted or read, as far as options tell
 * @want: filter, packet key, action, marks, mode, place and VLAN offload; an attachment that
 *	was read has no more of it
 * @ask_tc: the asking program is at tc
 * @clsact: programs at tc are filters of a clsact qdisc
 * @reflex: rule, with EPF_XDP_REFLEX
 * @nf: rule, with EPF_XDP_NETFILTER
 * @ingress: rule, with EPF_XDP_ADMIT and EPF_XDP_LOG
 */
struct attach_words {
	struct xdp_want want;
	bool ask_tc;
	bool clsact;
	const struct epf_reflex_rule *reflex;
	const struct epf_nf_rule *nf;
	const struct epf_ingress_rule *ingress;
};

/* The attachment that was parsed last; valid until the next one is. */
struct attach_words attach_wanted(const struct xdp_want *want);

/* attach_words.c */

/**
 * struct attached - an attachment, read back
 * @words: its options
 * @live: it works; otherwise only what it left behind is there
 * @filter: room for a name; "": the filter is gone
 * @xdp: private
 * @nf: private
 */
struct attached {
	struct attach_words words;
	bool live;
	char filter[EPF_NAME_LEN];
	struct xdp_state xdp;
	struct nf_state nf;
};

/* Return: 0; -ENOENT: nothing is attached; another error. Prints none. */
int attached_read(const char *name, struct attached *a);
/* The options, as 'attach' takes them: "--filter seen --key packet". The caller frees it.
 * NULL: out of memory.
 */
char *attach_text(const struct attach_words *words);
/* Choices that 'attach' made because @asked leaves them open become those of @asked. */
void attach_concede(struct attach_words *is, const struct attach_words *asked);

#endif /* EPFCTL_ATTACH_H */
