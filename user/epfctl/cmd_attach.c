// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* epfctl attach, detach: programs on an interface, or at a netfilter hook. */
#include <ctype.h>
#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach.h"
#include "epf/keydesc.h"
#include "desc.h"
#include "ingress.h"
#include "common/pktopts.h"
#include "nf.h"
#include "pin.h"

enum {
	OPT_ACTION = OPT_PKT_END,
	OPT_MARK,
	OPT_XDP_MODE,
	OPT_PRIO,
	OPT_NO_DISPATCHER,
	OPT_MIRROR,
	OPT_VLAN_OFFLOAD,
	OPT_ROTATE,
	OPT_CLUSTER,
};

EPF_ASSERT((int)OPT_KEY == (int)OPT_KEYS_END && (int)OPT_CLUSTER < (int)OPT_REFLEXIVE,
	   "options of packets come after those of keys");

const struct option attach_longs[] = {
	{ "filter", required_argument, NULL, 'f' },
	PKT_LONGS,
	{ "action", required_argument, NULL, OPT_ACTION },
	{ "mark", required_argument, NULL, OPT_MARK },
	{ "mode", required_argument, NULL, OPT_XDP_MODE },
	{ "prio", required_argument, NULL, OPT_PRIO },
	{ "no-dispatcher", no_argument, NULL, OPT_NO_DISPATCHER },
	{ "mirror", no_argument, NULL, OPT_MIRROR },
	{ "vlan-offload", required_argument, NULL, OPT_VLAN_OFFLOAD },
	{ "rotate", required_argument, NULL, OPT_ROTATE },
	{ "cluster", required_argument, NULL, OPT_CLUSTER },
	REFLEX_LONGS,
	NF_LONGS,
	INGRESS_LONGS,
	{ 0 },
};

static const struct spec attach_spec = {
	.usage = "attach [--filter NAME] [options] INTERFACE | --hook nf:HOOK:PRIORITY",
	/* clang-format off */
	.help =
"Look up every packet that INTERFACE receives in a filter, and insert it; or,\n"
"with --reflexive, pass only answers to packets that it has sent.\n"
"  -f, --filter NAME   the filter, which must exist (default: the filter with the\n"
"                      name of INTERFACE; if there is none, it is created, for\n"
"                      1 s of up to 1M packets/s)\n"
"  --rotate WHO        who ends the epochs of a pure BPF filter that is created:\n"
"                      the 'kernel' (default where it can), or a 'process' that\n"
"                      attach starts, and that lasts while it is attached\n"
"  --cluster NAME      what is absent in the filter is looked up in the filter of\n"
"                      all hosts of a cluster, too (epfagent(8)); while data of a\n"
"                      host are missing, it is not known whether it is new\n"
PKT_HELP("packet")
"  --action drop|count|mark  what happens to repeats (drop)\n"
"  --mark N[/MASK]     with mark: repeats get the packet mark N plus their age in\n"
"                      epochs, 0 to 7 (0xef00); only bits of MASK are written\n"
"  --mode auto|native|generic  in the driver, or behind it (auto)\n"
"  --prio N            place among the XDP programs, low numbers first (50)\n"
"  --no-dispatcher     attach the program alone, without libxdp\n"
"  --mirror            INTERFACE only listens: look up control packets and\n"
"                      packets that are not IP, too\n"
"  --vlan-offload off  let the card leave VLAN tags in packets, until detach\n"
"Some packets are always passed, and counted by reason (see 'epfctl status'):\n"
"malformed and truncated packets; all packets while the filter fails open;\n"
"without --mirror packets that are not IP and control packets (neighbour\n"
"discovery, DHCP, BFD, OSPF, VRRP, IGMP, MLD, and packets to link-local\n"
"addresses).\n"
"\n" REFLEX_HELP "\n" NF_HELP "\n" INGRESS_HELP,
	/* clang-format on */
	.shorts = "f:",
	.longs = attach_longs,
};

static int choice(const char *what, const char *arg, const char *const *names, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		if (!strcmp(arg, names[i]))
			return i;
	fail("%s '%s': not %s, %s or %s", what, arg, names[0], names[1], names[2]);
	return -1;
}

/* Do all marks, from @mark for age 0 on, fit into @mask? */
static bool ages_within(__u64 mark, __u32 mask)
{
	__u64 age;

	for (age = 0; age < EPF_EPOCHS; age++)
		if ((mark + age) & ~(__u64)mask)
			return false;
	return true;
}

/* Decimal, or hex after 0x. The bits behind '/' are written; without '/' all bits are. */
static bool parse_mark(const char *arg, struct xdp_want *want)
{
	const char *slash = strchr(arg, '/'), *rest;

	want->mark_mask = ~0u;
	if (parse_bits(arg, slash ? '/' : 0, &want->mark, &rest) && want->mark &&
	    (!slash || parse_bits(rest, 0, &want->mark_mask, &rest)) &&
	    ages_within(want->mark, want->mark_mask))
		return true;
	fail("--mark '%s': not a number from 1 to 0x%x, or VALUE/MASK where MASK has all "
	     "bits of VALUE and of the %d numbers that follow",
	     arg, 0xffffffffU - (EPF_EPOCHS - 1), EPF_EPOCHS - 1);
	return false;
}

static bool attach_parse_prio(const char *arg, __u32 *prio)
{
	__u64 n;

	if (!parse_count("--prio", arg, 0x7fffffff, &n))
		return false;
	if (!n)
		fail("--prio 0: places are counted from 1");
	*prio = (__u32)n;
	return n;
}

static struct reflex_want reflex;
static struct nf_want nf;
static struct ingress_want ingress;

static bool attach_option(struct xdp_want *want, int opt, const char *arg)
{
	static const char *const actions[] = { "drop", "count", "mark" };
	static const char *const modes[] = { "auto", "native", "generic" };
	int i;

	switch (opt) {
	case 'f':
		want->filter = arg;
		return true;
	case OPT_ACTION:
		i = choice("--action", arg, actions, ARRAY_SIZE(actions));
		want->action = (__u32)i;
		return i >= 0;
	case OPT_XDP_MODE:
		i = choice("--mode", arg, modes, ARRAY_SIZE(modes));
		want->mode = (enum xdp_mode)i;
		return i >= 0;
	case OPT_MARK:
		return parse_mark(arg, want);
	case OPT_PRIO:
		return attach_parse_prio(arg, &want->prio);
	case OPT_NO_DISPATCHER:
		want->prio = 0;
		return true;
	case OPT_MIRROR:
		want->mirror = true;
		return true;
	case OPT_VLAN_OFFLOAD:
		want->vlan_off = !strcmp(arg, "off");
		if (!want->vlan_off)
			fail("--vlan-offload '%s': only off is possible", arg);
		return want->vlan_off;
	case OPT_ROTATE:
		return parse_rotate(arg, &want->rotate);
	case OPT_CLUSTER:
		want->cluster = arg;
		return true;
	}
	if (opt >= OPT_REFLEXIVE && opt < OPT_REFLEX_END)
		return reflex_option(&reflex, opt, arg);
	if (opt >= OPT_HOOK && opt < OPT_NF_END)
		return nf_option(&nf, opt, arg);
	if (opt >= OPT_ADMIT && opt < OPT_INGRESS_END)
		return ingress_option(&ingress, opt, arg);
	return pkt_option(&want->opts, opt, arg);
}

/* On a port that carries traffic, most packets that are equal were sent again on purpose.
 * So control packets are passed, and a key that finds little else is refused.
 * Return: false: an error is printed.
 */
static bool harmless(struct xdp_want *want)
{
	struct epf_pkt_opts *o = &want->opts;

	if (want->mirror)
		return true;
	if (o->flags & EPF_PKT_NONIP_FRAME) {
		fail("--nonip frame needs --mirror: frames that are not IP (ARP, "
		     "LLDP) are repeated on purpose");
		return false;
	}
	if (o->key == EPF_PKT_FRAME && want->action == EPF_XDP_DROP) {
		fail("--key frame would drop what hosts repeat on purpose: "
		     "give --mirror if '%s' only listens, otherwise --key packet or "
		     "--action count",
		     want->ifname);
		return false;
	}
	o->flags |= EPF_PKT_PASS_CONTROL;
	return true;
}

/* The options of 'attach' other than the filter. */
struct told {
	bool key;
	const char *fragments;
	const char *unknown;
	const char *malformed;
	bool action; /* or another option that goes with duplicate removal only */
	bool alone;
	bool placed;
	bool mode;
};

static void attach_tell(struct told *told, int opt, const char *arg)
{
	if (opt == OPT_FRAGMENTS)
		told->fragments = arg;
	if (opt == OPT_IF_UNKNOWN)
		told->unknown = arg;
	if (opt == OPT_IF_MALFORMED)
		told->malformed = arg;
	told->key |= opt == OPT_KEY;
	told->action |= opt == OPT_ACTION || opt == OPT_MARK || opt == OPT_MIRROR ||
			opt == OPT_VLAN_OFFLOAD || opt == OPT_ROTATE;
	told->alone |= opt == OPT_NO_DISPATCHER;
	told->placed |= opt == OPT_PRIO;
	told->mode |= opt == OPT_XDP_MODE;
}

/* Are the options of a reflexive attachment valid? If not, prints an error. */
static bool reflexive(struct xdp_want *want, const struct told *told)
{
	if (!want->filter)
		fail("--reflexive needs --filter: 'epfctl create' makes one, for the "
		     "time that answers may take");
	else if (told->action)
		fail("--action, --mark, --mirror, --vlan-offload and --rotate do not "
		     "go with --reflexive");
	else if (reflex.ask_tc && (told->alone || told->placed || told->mode))
		fail("--mode, --prio and --no-dispatcher are for XDP: they do not go "
		     "with --ask tc");
	else if (reflex_ok(&reflex, &want->opts)) {
		want->action = EPF_XDP_REFLEX;
		want->reflex = &reflex;
		return true;
	}
	return false;
}

/* Are the options of a netfilter hook valid? If not, prints an error. */
static bool netfilter(struct xdp_want *want, const struct told *told)
{
	if (!want->filter)
		fail("--hook needs --filter: 'epfctl create' makes one");
	else if (told->action || told->alone || told->placed || told->mode)
		fail("--action, --mark, --mirror, --vlan-offload, --rotate, --mode, --prio "
		     "and --no-dispatcher do not go with --hook");
	else if (reflex.on || reflex_said(&reflex, OPT_ASK) || reflex_said(&reflex, OPT_CLSACT))
		fail("--reflexive, --ask and --clsact are for interfaces: they do not go "
		     "with --hook");
	else if (ingress.action)
		fail("--admit and --log-new are for interfaces: they do not go with --hook");
	else if (ingress_ok(&ingress, &want->opts) && nf_ok(&nf, &reflex, &want->opts)) {
		want->ifname = nf.hook.name;
		want->action = EPF_XDP_NETFILTER;
		return true;
	}
	return false;
}

/* With --reflexive and --hook, --fragments is a verdict; otherwise it is part of the key. */
static bool fragments_option(struct xdp_want *want, const char *arg)
{
	if (!arg)
		return true;
	return reflex.on || nf.on ? reflex_option(&reflex, OPT_FRAGMENTS, arg) :
				    pkt_option(&want->opts, OPT_FRAGMENTS, arg);
}

/* Are the options of --admit or --log-new valid? If not, prints an error. */
static bool of_ingress(struct xdp_want *want, const struct told *told)
{
	const char *name = ingress.action == EPF_XDP_LOG ? "--log-new" : "--admit";

	if (reflex.on || reflex.said)
		fail("the options of --reflexive do not go with %s", name);
	else if (!want->filter)
		fail("%s needs --filter: 'epfctl create' makes one, for the time that "
		     "keys stay known",
		     name);
	else if (told->action)
		fail("--action, --mark, --mirror, --vlan-offload and --rotate do not "
		     "go with %s",
		     name);
	else if (nf_ok(&nf, &reflex, &want->opts) && ingress_ok(&ingress, &want->opts)) {
		want->action = ingress.action;
		want->ingress = &ingress;
		return true;
	}
	return false;
}

/* An option that is @of_ingress for --admit and --log-new, and otherwise @of_reflex. */
static bool either_option(int of_ingress, int of_reflex, const char *arg)
{
	if (!arg)
		return true;
	return ingress.action ? ingress_option(&ingress, of_ingress, arg) :
				reflex_option(&reflex, of_reflex, arg);
}

/* Is the meaning of @opt known only when all options are? */
static bool comes_last(int opt)
{
	return opt == OPT_FRAGMENTS || opt == OPT_IF_UNKNOWN || opt == OPT_IF_MALFORMED;
}

static bool last_options(struct xdp_want *want, const struct told *told)
{
	return fragments_option(want, told->fragments) &&
	       either_option(OPT_INGRESS_UNKNOWN, OPT_IF_UNKNOWN, told->unknown) &&
	       either_option(OPT_INGRESS_MALFORMED, OPT_IF_MALFORMED, told->malformed);
}

/* The default key. */
static __u8 usual_key(void)
{
	if (ingress.action == EPF_XDP_ADMIT)
		return EPF_PKT_PEER;
	return reflex.on || nf.on || ingress.action ? EPF_PKT_FLOW : EPF_PKT_PACKET;
}

/* Does --cluster fit the other options? If not, prints an error. */
static bool cluster_ok(const struct xdp_want *want)
{
	if (!want->cluster)
		return true;
	if (!want->filter)
		fail("--cluster needs --filter: the filter that epfagent publishes to the cluster");
	else if (reflex.within)
		fail("--within does not go with --cluster: the ages of other hosts' keys are "
		     "those of the filter of all");
	else if (nf.on && !(nf.rule.op & EPF_NF_ASK))
		fail("--cluster goes with a lookup only: give --if-recent or --else, or leave "
		     "--cluster out");
	else
		return true;
	return false;
}

static bool attach_options(int argc, char **argv, struct xdp_want *want)
{
	struct told told = { .key = false };
	int opt;

	while ((opt = next_option(argc, argv, &attach_spec)) >= 0) {
		if (opt == '?' || (!comes_last(opt) && !attach_option(want, opt, optarg)))
			return false;
		attach_tell(&told, opt, optarg);
	}
	if (!told.key)
		want->opts.key = usual_key();
	if (!operands(argc, argv, !nf.on, !nf.on, &attach_spec) || !last_options(want, &told) ||
	    !pkt_options_ok(&want->opts, EPF_PKT_IFACE | (nf.on ? EPF_PKT_MARK : EPF_PKT_VLAN)))
		return false;
	if (nf.on)
		return netfilter(want, &told);
	want->ifname = argv[optind];
	if (want->mark && want->action != EPF_XDP_MARK)
		fail("--mark goes with --action mark only");
	else if (told.alone && told.placed)
		fail("--prio and --no-dispatcher exclude each other");
	else if (want->rotate != ROTATE_ANY && want->filter)
		fail("--rotate does not go with --filter: 'create' has said who ends "
		     "the epochs of a filter that exists");
	else if (ingress.action)
		return of_ingress(want, &told);
	else if (reflex.on)
		return nf_ok(&nf, &reflex, &want->opts) && ingress_ok(&ingress, &want->opts) &&
		       reflexive(want, &told);
	else
		return nf_ok(&nf, &reflex, &want->opts) && reflex_ok(&reflex, &want->opts) &&
		       ingress_ok(&ingress, &want->opts) && harmless(want);
	return false;
}

bool attach_parse(int argc, char **argv, struct xdp_want *want)
{
	memset(want, 0, sizeof(*want));
	want->prio = XDP_PRIO_DEFAULT;
	want->opts.key = EPF_PKT_PACKET;
	memset(&reflex, 0, sizeof(reflex));
	memset(&nf, 0, sizeof(nf));
	memset(&ingress, 0, sizeof(ingress));
	if (!attach_options(argc, argv, want) || !cluster_ok(want))
		return false;
	if (want->action == EPF_XDP_MARK && !want->mark) {
		want->mark = EPF_XDP_MARK_DEFAULT;
		want->mark_mask = ~0u;
	}
	if (reflex.ask_tc || nf.on)
		want->prio = 0;
	return true;
}

/* Set id and backend of the filter. Return: false: an error is printed. */
static bool attach_find_filter(struct xdp_want *want)
{
	struct epf_info info;
	int filter = open_filter(want->filter);
	int err;

	if (filter < 0)
		return false;
	err = epf_filter_info(filter, &info);
	want->bpf = !epf_is_module(filter);
	epf_close(filter);
	if (err) {
		fail_call(err, "reading", want->filter);
		return false;
	}
	if (nf.on && !nf_can_mark(&nf, info.params.name, want->bpf))
		return false;
	if (!reflex_within(&reflex, &info.params, nf.on ? &nf.rule.of : &reflex.rule))
		return false;
	want->id = info.id;
	memcpy(want->name, info.params.name, sizeof(want->name));
	want->filter = want->name; /* it may have been an id */
	return !want->cluster || cluster_find(want);
}

/* Make a filter and start its holder, if none was named. After an error @want says what
 * was begun.
 */
static bool provide(struct xdp_want *want, bool named)
{
	if (!named && default_filter(want))
		return false;
	return attach_find_filter(want) && (named || !default_holder(want));
}

/* Undo what was begun for @want. */
static void attach_withdraw(const struct xdp_want *want)
{
	struct epf_xdp_conf conf = {
		.id = want->id,
		.made = want->made,
		.holder = want->holder,
		.backend = want->bpf ? EPF_XDP_BPF : EPF_XDP_MODULE,
	};

	if (!want->filter)
		return;
	snprintf(conf.filter, sizeof(conf.filter), "%s", want->filter);
	default_undo(&conf);
}

static void attach_report(const struct xdp_want *want, bool named)
{
	struct xdp_state state;

	if (nf.on) {
		nf_status(want->ifname, NULL);
		return;
	}
	if (xdp_read(want->ifname, &state))
		return; /* another process has detached it in the meantime */
	if (out_mode != OUT_TEXT) {
		out_json(xdp_json(want->ifname, &state));
		return;
	}
	xdp_show(want->ifname, &state);
	if (!named)
		default_show(want);
}

/* Tell the module which keys the program inserts, for audits. */
static void describe(const struct xdp_want *want)
{
	struct epf_key_desc before = { 0 }, desc;
	int filter;

	if (nf.on && !(nf.rule.op & EPF_NF_LEARN))
		return; /* it inserts no keys */
	filter = open_filter(want->filter);
	if (filter < 0)
		return;
	desc = epf_key_desc_packet(want->reflex ? &want->reflex->rule.opts[EPF_REFLEX_LEARN] :
						  &want->opts);
	epf_filter_describe(filter, &before);
	epf_filter_describe(filter, &desc);
	epf_close(filter);
	if (desc.kind == EPF_KEYS_MIXED && before.kind != EPF_KEYS_MIXED)
		warn("'%s' already held other keys: from now on its keys are of "
		     "several kinds",
		     want->filter);
}

struct attach_words attach_wanted(const struct xdp_want *want)
{
	return (struct attach_words){
		.want = *want,
		.ask_tc = reflex.ask_tc,
		.clsact = reflex.clsact,
		.reflex = want->reflex ? &want->reflex->rule : NULL,
		.nf = nf.on ? &nf.rule : NULL,
		.ingress = want->ingress ? &want->ingress->rule : NULL,
	};
}

bool attach_find(struct xdp_want *want)
{
	return attach_find_filter(want);
}

/* On a port that carries traffic few want this. */
static void warn_drops(const struct xdp_want *want)
{
	__u8 key = want->opts.key;

	if (key >= EPF_PKT_FLOW && want->action == EPF_XDP_DROP && !want->mirror)
		warn("--key %s --action drop passes one packet of a %s and "
		     "drops the others",
		     epf_key_packet_name(key),
		     key == EPF_PKT_PEER_PORT ? "peer and port" : epf_key_packet_name(key));
}

int attach_run(struct xdp_want *want)
{
	bool named = want->filter, alone;

	warn_drops(want);
	if (nf.on)
		nf_warn_learns(&nf);
	if (want->prio && !shared_attach) {
		warn("this epfctl was built without libxdp: no other XDP program can share '%s'",
		     want->ifname);
		want->prio = 0;
	}
	alone = want->prio && !caps_admin();
	if (alone)
		want->prio = 0;
	if (!provide(want, named) || (nf.on ? nf_attach(want, &nf) : xdp_attach(want))) {
		attach_withdraw(want);
		return EXIT_FAIL;
	}
	if (alone)
		warn("libxdp needs CAP_SYS_ADMIN: no other XDP program can share "
		     "'%s'",
		     want->ifname);
	describe(want);
	return EXIT_YES;
}

int cmd_attach(int argc, char **argv)
{
	struct xdp_want want;
	bool named;

	if (!attach_parse(argc, argv, &want))
		return EXIT_FAIL;
	named = want.filter;
	if (attach_run(&want))
		return EXIT_FAIL;
	attach_report(&want, named);
	return EXIT_YES;
}

static const struct option detach_longs[] = {
	{ "hook", required_argument, NULL, OPT_HOOK },
	{ 0 },
};

static const struct spec detach_spec = {
	.usage = "detach INTERFACE | --hook nf:HOOK:PRIORITY | PATH",
	/* clang-format off */
	.help =
"Remove the program of INTERFACE, and release the filter. The filter stays,\n"
"unless 'attach' created it and no other program uses it. What an interface that\n"
"no longer exists has left behind is removed, too. PATH is where 'epfctl pin' has\n"
"pinned a program; rules that use it keep it.\n"
"  --hook NAME         the program at a netfilter hook, by its name in 'epfctl\n"
"                      status'\n",
	/* clang-format on */
	.shorts = "",
	.longs = detach_longs,
};

/* Is anything attached to @name? If not, prints an error. */
static bool there(const char *name)
{
	char path[XDP_PATH_BYTES];

	xdp_pin_path(path, name, NULL);
	if (!access(path, F_OK) || errno != ENOENT)
		return true;
	if (!open_bpffs_there())
		fail("%s", open_no_bpffs());
	else if (nf_is_name(name))
		fail("nothing is attached at '%s': 'epfctl status' shows the hooks in use", name);
	else
		fail("nothing is attached to '%s': 'epfctl status' shows the interfaces "
		     "in use",
		     name);
	return false;
}

int detach_run(const char *name)
{
	struct xdp_state state;
	int err;

	if (nf_is_name(name))
		return there(name) && !nf_detach(name) ? EXIT_YES : EXIT_FAIL;
	if (!there(name))
		return EXIT_FAIL;
	err = xdp_read(name, &state);
	if (xdp_detach(name))
		return EXIT_FAIL;
	if (!err)
		default_undo(&state.conf);
	return EXIT_YES;
}

int cmd_detach(int argc, char **argv)
{
	const char *name = NULL;
	char hook[XDP_NAME_BYTES];
	int opt;

	while ((opt = next_option(argc, argv, &detach_spec)) >= 0) {
		if (opt == '?')
			return EXIT_FAIL;
		name = optarg;
	}
	if (!operands(argc, argv, !name, !name, &detach_spec))
		return EXIT_FAIL;
	if (name || nf_is_name(argv[optind]))
		return nf_name(name ?: argv[optind], hook) ? detach_run(hook) : EXIT_FAIL;
	if (pin_is_path(argv[optind]))
		return pin_remove(argv[optind]) ? EXIT_FAIL : EXIT_YES;
	return detach_run(argv[optind]);
}
