/* SPDX-License-Identifier: GPL-2.0 */
/*
 * attach, detach and status for options.c: their arguments are consistent, and a printed
 * rule, given as options, is the same rule again.
 */
#ifndef FUZZ_OPTIONS_ATTACH_H
#define FUZZ_OPTIONS_ATTACH_H

static bool drops(const struct epf_reflex_rule *rule, enum epf_outcome outcome)
{
	return rule->act[outcome].verdict == EPF_REFLEX_DROP;
}

/* A rule printed as options gives the same rule again. */
static void rule_again(const struct xdp_want *want)
{
	const struct epf_reflex_rule *rule = &want->reflex->rule;
	struct epf_pkt_opts opts = want->opts;
	struct reflex_want again = { .on = true };
	char *word, *rest;
	int side;

	for (side = 0; side < EPF_REFLEX_SIDES; side++)
		law(!epf_pkt_opts_check(&rule->opts[side]), "reflexive: keys");
	law(!drops(rule, EPF_OUT_RECENT) && !drops(rule, EPF_OUT_OTHER) &&
		    !drops(rule, EPF_OUT_CONTROL) && !drops(rule, EPF_OUT_LOCAL_GROUP),
	    "reflexive: answers, control packets and what is not matched are passed");
	law(rule->within <= EPF_EPOCHS && rule->within != 1, "reflexive: ages");
	sink_clear();
	reflex_print(stdout, rule);
	fflush(stdout);
	if (sink_out.len + 1 >= SINK_BYTES) /* the output is incomplete */
		return;
	word = strtok_r(sink_out.text, " ", &rest);
	for (; word; word = strtok_r(NULL, " ", &rest)) {
		int opt = !strcmp(word, "--match")        ? OPT_MATCH :
			  !strcmp(word, "--within")       ? OPT_WITHIN :
			  !strcmp(word, "--else")         ? OPT_ELSE :
			  !strcmp(word, "--if-unknown")   ? OPT_IF_UNKNOWN :
			  !strcmp(word, "--if-malformed") ? OPT_IF_MALFORMED :
			  !strcmp(word, "--no-control")   ? OPT_NO_CONTROL :
							    OPT_FRAGMENTS;

		if (opt != OPT_NO_CONTROL)
			word = strtok_r(NULL, " ", &rest);
		law(word && reflex_option(&again, opt, word), "a rule is printed");
	}
	again.ask_tc = want->reflex->ask_tc;
	law(reflex_ok(&again, &opts) && reflex_within(&again, &some, &again.rule),
	    "of options that go together");
	law(!memcmp(&again.rule, rule, sizeof(*rule)), "which mean the same again");
	sink_clear();
}

/* One option of a printed rule, and its word. */
static void nf_word(struct nf_want *nf, struct reflex_want *reflex, const char *name, char **rest)
{
	static const struct option known[] = {
		NF_LONGS, REFLEX_LONGS, { "fragments", required_argument, NULL, OPT_FRAGMENTS }
	};
	const struct option *is = known;
	const char *word = NULL;

	while (strcmp(name + 2, is->name))
		is++;
	if (is->has_arg)
		word = strtok_r(NULL, " ", rest);
	law(is->val >= OPT_HOOK ? nf_option(nf, is->val, word) :
				  reflex_option(reflex, is->val, word),
	    "hook: a rule is printed");
}

/* The rule of a hook printed as options gives the same rule again. */
static void nf_again(const struct xdp_want *want, const struct nf_want *nf)
{
	struct epf_pkt_opts opts = want->opts;
	struct reflex_want reflex = { .on = false };
	struct nf_want again = { .on = true, .hook = nf->hook };
	char *word, *rest;

	sink_clear();
	nf_print(stdout, &nf->rule);
	fflush(stdout);
	if (sink_out.len + 1 >= SINK_BYTES) /* the output is incomplete */
		return;
	word = strtok_r(sink_out.text, " ", &rest);
	for (; word; word = strtok_r(NULL, " ", &rest))
		nf_word(&again, &reflex, word, &rest);
	law(nf_ok(&again, &reflex, &opts) && reflex_within(&reflex, &some, &again.rule.of),
	    "hook: of options that go together");
	law(!memcmp(&again.rule, &nf->rule, sizeof(nf->rule)), "hook: which mean the same again");
	sink_clear();
}

bool read_key_file(const char *path, __u64 key[2])
{
	key[0] = key[1] = strlen(path);
	return true;
}

bool cluster_find(struct xdp_want *want)
{
	law(want->cluster && want->filter, "a cluster: with a filter");
	return true;
}

int nf_attach(const struct xdp_want *want, const struct nf_want *nf)
{
	const struct epf_nf_rule *rule = &nf->rule;
	char name[XDP_NAME_BYTES];
	struct epf_pkt_opts printed = want->opts;

	law(!epf_pkt_opts_check(&want->opts) && want->opts.link == EPF_LINK_IP &&
		    want->opts.key >= EPF_PKT_FLOW,
	    "hook: packet options");
	printed.flags &= (__u16)~EPF_PKT_PASS_CONTROL; /* --no-control stands for this flag */
	options_again(&printed);
	law(nf_name(nf->hook.name, name) && !strcmp(name, nf->hook.name) &&
		    !strcmp(name, want->ifname),
	    "hook: its name is its name");
	law(nf->hook.family[0] || nf->hook.family[1], "hook: a family");
	law(rule->op & (EPF_NF_ASK | EPF_NF_LEARN) && rule->of.within <= EPF_EPOCHS &&
		    rule->of.within != 1,
	    "hook: what is done");
	law(!reflex_marks(&rule->of), "hook: no marks");
	nf_again(want, nf);
	return 0;
}

int nf_detach(const char *name)
{
	law(nf_is_name(name), "detach: a hook");
	return 0;
}

int pin_remove(const char *path)
{
	law(pin_is_path(path), "detach: a path");
	return 0;
}

int nf_status(const char *name, json_t *list)
{
	law(nf_is_name(name) && !list, "attach: a hook");
	if (out_mode == OUT_TEXT)
		printf("%s\n", name);
	else
		out_json(json_string(name));
	return 0;
}

/* The same for a rule of --admit or --log-new. */
static void ingress_again(const struct xdp_want *want)
{
	static const struct option known[] = { INGRESS_LONGS };
	const struct epf_ingress_rule *rule = &want->ingress->rule;
	struct ingress_want again = { .action = 0 };
	struct epf_pkt_opts opts = want->opts;
	char *word, *rest;

	law(!epf_pkt_opts_check(&rule->opts) && opts.key >= EPF_PKT_FLOW &&
		    opts.flags & EPF_PKT_PASS_CONTROL,
	    "ingress: key");
	sink_clear();
	ingress_print(stdout, want->action, rule);
	fflush(stdout);
	word = strtok_r(sink_out.text, " ", &rest);
	for (; word; word = strtok_r(NULL, " ", &rest)) {
		int opt = !strcmp(word, "--if-malformed") ? OPT_INGRESS_MALFORMED :
							    OPT_INGRESS_UNKNOWN;
		bool has_arg = true;
		size_t i;

		for (i = 0; i < ARRAY_SIZE(known); i++)
			if (!strcmp(word + 2, known[i].name)) {
				opt = known[i].val;
				has_arg = known[i].has_arg;
			}
		word = has_arg ? strtok_r(NULL, " ", &rest) : word;
		law(word && ingress_option(&again, opt, word), "a rule is printed");
	}
	law(ingress_ok(&again, &opts), "of options that go together");
	law(again.action == want->action && !memcmp(&again.rule, rule, sizeof(*rule)),
	    "which mean the same again");
	sink_clear();
}

int xdp_attach(const struct xdp_want *want)
{
	struct epf_pkt_opts printed = want->opts;

	law(!epf_pkt_opts_check(&want->opts), "attach: packet options");
	printed.flags &= (__u16)~EPF_PKT_PASS_CONTROL; /* --mirror stands for this flag */
	options_again(&printed);
	law(want->id && name_is_sound(want->filter), "attach: filter");
	law(want->action < EPF_XDP_ACTIONS && want->action != EPF_XDP_NETFILTER &&
		    want->mode <= XDP_GENERIC,
	    "attach: kinds");
	law(!want->reflex == (want->action != EPF_XDP_REFLEX), "attach: reflexive");
	if (want->reflex) {
		rule_again(want);
		return 0;
	}
	law(!want->ingress == (want->action != EPF_XDP_ADMIT && want->action != EPF_XDP_LOG),
	    "attach: ingress");
	if (want->ingress) {
		ingress_again(want);
		return 0;
	}
	law(!want->mark == (want->action != EPF_XDP_MARK) &&
		    want->mark <= 0xffffffff - (EPF_EPOCHS - 1),
	    "attach: mark");
	law(!want->mark || !((want->mark | (want->mark + EPF_EPOCHS - 1)) & ~want->mark_mask),
	    "attach: bits of the mark");
	law(want->mirror == !(want->opts.flags & EPF_PKT_PASS_CONTROL),
	    "attach: control packets are passed but on mirror ports");
	law(want->mirror || want->action != EPF_XDP_DROP || want->opts.key != EPF_PKT_FRAME,
	    "attach: frame on a mirror port");
	return 0;
}

int xdp_read(const char *ifname, struct xdp_state *state)
{
	memset(state, 0, sizeof(*state));
	return 0;
}

void xdp_show(const char *ifname, const struct xdp_state *state)
{
	printf("%s\n", ifname);
}

json_t *xdp_json(const char *ifname, const struct xdp_state *state)
{
	return pkt_json(&state->conf.opts);
}

/* Without a filter name, epfctl names and makes one itself. */
int default_filter(struct xdp_want *want)
{
	want->filter = "made";
	return 0;
}

int default_holder(struct xdp_want *want)
{
	return 0;
}

void default_show(const struct xdp_want *want)
{
	law(want->filter && want->filter[0], "attach: a filter");
}

void default_undo(const struct epf_xdp_conf *conf)
{
}

int xdp_detach(const char *ifname)
{
	return 0;
}

void xdp_pin_path(char path[XDP_PATH_BYTES], const char *ifname, const char *name)
{
	strcpy(path, strlen(ifname) % 2 ? "/nowhere" : "/");
}

#endif /* FUZZ_OPTIONS_ATTACH_H */
