// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* An attachment as the options of 'attach'. */
#include <stdlib.h>

#include "attach.h"
#include "desc.h"

/* Where the programs of an interface are; a hook says so by its name. */
static void put_place(FILE *out, const struct attach_words *w)
{
	static const char *const modes[] = { "auto", "native", "generic" };

	if (w->nf)
		return;
	if (w->ask_tc)
		fputs(" --ask tc", out);
	if (w->clsact)
		fputs(" --clsact", out);
	if (w->ask_tc)
		return;
	if (w->want.mode != XDP_AUTO)
		fprintf(out, " --mode %s", modes[w->want.mode]);
	if (!w->want.prio)
		fputs(" --no-dispatcher", out);
	else if (w->want.prio != XDP_PRIO_DEFAULT)
		fprintf(out, " --prio %u", w->want.prio);
}

/* Removal of duplicates. */
static void put_dedup(FILE *out, const struct attach_words *w)
{
	if (w->want.action == EPF_XDP_COUNT)
		fputs(" --action count", out);
	if (w->want.action == EPF_XDP_MARK)
		fprintf(out,
			w->want.mark_mask == ~0u ? " --action mark --mark 0x%x" :
						   " --action mark --mark 0x%x/0x%x",
			w->want.mark, w->want.mark_mask);
	if (!(w->want.opts.flags & EPF_PKT_PASS_CONTROL))
		fputs(" --mirror", out);
	if (w->want.vlan_off)
		fputs(" --vlan-offload off", out);
}

char *attach_text(const struct attach_words *w)
{
	struct epf_pkt_opts opts = w->want.opts;
	char key[EPF_DESC_TEXT], *text = NULL;
	FILE *out;
	size_t len;

	if (w->nf || w->reflex)
		opts.flags &= (__u16)~EPF_PKT_FIRST; /* the rule has it */
	epf_pkt_opts_text(&opts, key);
	out = open_memstream(&text, &len);
	if (!out)
		return NULL;
	fprintf(out, "--filter %s --key %s", w->want.filter, key);
	if (w->want.cluster)
		fprintf(out, " --cluster %s", w->want.cluster);
	if (w->nf) {
		nf_print(out, w->nf);
	} else if (w->reflex) {
		fputs(" --reflexive", out);
		reflex_print(out, w->reflex);
	} else if (w->ingress) {
		ingress_print(out, w->want.action, w->ingress);
	} else {
		put_dedup(out, w);
	}
	put_place(out, w);
	return fclose(out) ? NULL : text;
}

void attach_concede(struct attach_words *is, const struct attach_words *asked)
{
	if (asked->want.mode == XDP_AUTO)
		is->want.mode = XDP_AUTO;
	if (!asked->clsact)
		is->clsact = false;
	/* without libxdp, or without CAP_SYS_ADMIN */
	if (!is->want.prio)
		is->want.prio = asked->want.prio;
	/* only offloads that were on are noted */
	is->want.vlan_off |= asked->want.vlan_off;
}

static void of_interface(struct attached *a)
{
	const struct epf_xdp_conf *c = &a->xdp.conf;

	a->live = a->xdp.live;
	a->words.want.mark = c->mark;
	a->words.want.mark_mask = c->mark_mask;
	a->words.want.mode = c->mode == XDP_FLAGS_SKB_MODE ? XDP_GENERIC : XDP_NATIVE;
	a->words.want.prio = c->prio;
	a->words.want.vlan_off = c->vlan_off;
	a->words.reflex = c->action == EPF_XDP_REFLEX ? &a->xdp.rule : NULL;
	a->words.ingress = ingress_is(c->action) ? &a->xdp.ingress : NULL;
	if (!a->words.reflex)
		return;
	a->words.ask_tc = c->tc[EPF_REFLEX_ASK].prog_id;
	a->words.clsact = c->tc[EPF_REFLEX_LEARN].prio;
}

int attached_read(const char *name, struct attached *a)
{
	bool hook = nf_is_name(name);
	const struct epf_xdp_conf *c = hook ? &a->nf.conf : &a->xdp.conf;
	int err = hook ? nf_read(name, &a->nf) : xdp_read(name, &a->xdp);

	if (err)
		return err;
	a->words = (struct attach_words){ .want = { .opts = c->opts, .action = c->action } };
	if (hook) {
		a->words.nf = &a->nf.rule;
		a->live = a->nf.live[0] || a->nf.live[1];
	} else {
		of_interface(a);
	}
	a->words.want.cluster = c->cluster[0] ? c->cluster : NULL;
	xdp_filter_name(c, a->filter);
	a->words.want.filter = a->filter;
	return 0;
}
