// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* epfctl pin: a program for "iptables -m bpf --object-pinned", for a pure BPF filter. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "ebpf/ebpf.h"
#include "epf/keydesc.h"
#include "epf/rule.h"
#include "pin.h"
#include "common/pktopts.h"
#include "outcome.h"

/* EPF_BPF_OUT, set by the Makefile, is where the objects were built. */
__asm__(".pushsection .rodata\n"
	".balign 8\nepf_match_start:\n"
	".incbin \"" EPF_BPF_OUT "/epf_match.bpf.o\"\nepf_match_end:\n"
	".popsection\n");
extern const char __attribute__((visibility("hidden"))) epf_match_start[], epf_match_end[];

enum {
	OPT_FRAGS = OPT_PKT_END,
	OPT_RECENT,
	OPT_NEW,
	OPT_WITHIN,
	OPT_LEARN,
	OPT_LEARN_NEW,
	OPT_UNKNOWN,
	OPT_MALFORMED,
};

const struct option pin_longs[] = {
	{ "key", required_argument, NULL, OPT_KEY },
	{ "prefix", required_argument, NULL, OPT_PREFIX },
	{ "reverse", no_argument, NULL, OPT_REVERSE },
	{ "errors", no_argument, NULL, OPT_ERRORS },
	{ "zone", required_argument, NULL, OPT_ZONE },
	{ "frags", required_argument, NULL, OPT_FRAGS },
	{ "recent", no_argument, NULL, OPT_RECENT },
	{ "new", no_argument, NULL, OPT_NEW },
	{ "within", required_argument, NULL, OPT_WITHIN },
	{ "learn", no_argument, NULL, OPT_LEARN },
	{ "learn-new", no_argument, NULL, OPT_LEARN_NEW },
	{ "unknown", required_argument, NULL, OPT_UNKNOWN },
	{ "if-malformed", required_argument, NULL, OPT_MALFORMED },
	{ 0 },
};

static const struct spec spec = {
	.usage = "pin NAME PATH --key KEY [options]",
	/* clang-format off */
	.help =
"Pin a program that asks the filter NAME, which is pure BPF, at PATH below\n"
"/sys/fs/bpf, and print the match by which rules of iptables use it. Filters of\n"
"the module have a match of their own, -m epf. 'epfctl status PATH' prints the\n"
"counters. To remove the program, 'epfctl detach PATH' or remove PATH.\n"
"  --key KEY           flow, conversation, peer or peer-port\n"
"  --prefix V4[,V6]    use the first bits of a peer's address, so many of IPv4\n"
"                      and of IPv6\n"
"  --reverse           use the key of the answer\n"
"  --errors            an ICMP error counts as an answer to the packet that it\n"
"                      carries\n"
"  --zone N            keys are equal only in the same zone, 0 to 65535\n"
"  --frags id|accept|drop  id: fragments have the key of their datagram's id\n"
"                      (default); otherwise all but the first have no key, and\n"
"                      count as recent (accept) or as new (drop)\n"
"  --recent, --new     the match holds for packets whose key was inserted in the\n"
"                      window; or for all others\n"
"  --within N          only what was inserted in the last N epochs is recent\n"
"  --learn             insert the packet; without --recent and --new the match\n"
"                      holds if it was inserted\n"
"  --learn-new         insert the packet if it is not recent\n"
"  --unknown accept|drop  if the filter has no answer, a packet counts as recent\n"
"                      (accept) or as new (drop); required with --recent and\n"
"                      --new\n"
"  --if-malformed pass|drop  a packet whose headers cannot be followed counts as\n"
"                      recent (pass) or as new (drop)\n",
	/* clang-format on */
	.shorts = "",
	.longs = pin_longs,
};

/* "accept" is recent, "drop" is new. */
static bool parse_is(const char *what, const char *arg, __u8 *is)
{
	*is = !strcmp(arg, "accept") ? XT_EPF_RECENT : XT_EPF_NEW;
	if (*is == XT_EPF_RECENT || !strcmp(arg, "drop"))
		return true;
	fail("%s '%s': not accept or drop", what, arg);
	return false;
}

static bool pin_parse_malformed(struct xt_epf_rule *r, const char *arg)
{
	r->malformed = strcmp(arg, "pass") ? XT_EPF_NEW : XT_EPF_RECENT;
	if (r->malformed == XT_EPF_RECENT || !strcmp(arg, "drop"))
		return true;
	fail("--if-malformed '%s': not pass or drop", arg);
	return false;
}

static bool parse_epochs(struct xt_epf_rule *r, const char *arg)
{
	__u64 n;

	if (!parse_count("--within", arg, XT_EPF_WITHIN_MAX, &n))
		return false;
	r->within = (__u16)n;
	return true;
}

static bool parse_frags(struct xt_epf_rule *r, const char *arg)
{
	if (!strcmp(arg, "id"))
		return true;
	r->key.flags |= EPF_PKT_FIRST;
	return parse_is("--frags", arg, &r->fragments);
}

static bool parse_ask(struct xt_epf_rule *r, __u8 ask)
{
	if (r->ask && r->ask != ask)
		fail("--recent and --new exclude each other: give one of them");
	else
		r->ask = ask;
	return r->ask == ask;
}

static bool option(struct xt_epf_rule *r, int opt, const char *arg)
{
	switch (opt) {
	case OPT_FRAGS:
		return parse_frags(r, arg);
	case OPT_RECENT:
		return parse_ask(r, XT_EPF_RECENT);
	case OPT_NEW:
		return parse_ask(r, XT_EPF_NEW);
	case OPT_WITHIN:
		return parse_epochs(r, arg);
	case OPT_LEARN:
		r->learn = XT_EPF_LEARN;
		return true;
	case OPT_LEARN_NEW:
		r->learn = XT_EPF_LEARN_NEW;
		return true;
	case OPT_UNKNOWN:
		return parse_is("--unknown", arg, &r->unknown);
	case OPT_MALFORMED:
		return pin_parse_malformed(r, arg);
	}
	return pkt_option(&r->key, opt, arg);
}

/* The error if options do not fit together; NULL: none. */
static const char *pin_misfit(const struct xt_epf_rule *r)
{
	if (r->key.key < EPF_PKT_FLOW)
		return "--key must be flow, conversation, peer or peer-port";
	if (!r->ask && !r->learn)
		return "nothing to do: give --recent, --new or --learn";
	if (!r->ask && r->learn == XT_EPF_LEARN_NEW)
		return "--learn-new goes with --recent or --new";
	if (!r->ask && (r->within || r->unknown || r->malformed))
		return "--within, --unknown and --if-malformed go with --recent or --new";
	if (r->ask && !r->unknown)
		return "--recent and --new need --unknown accept (recent) or drop (new): "
		       "what a packet counts as if the filter has no answer";
	return NULL;
}

static bool rule_ok(struct xt_epf_rule *r)
{
	const char *why = pin_misfit(r);

	if (why)
		fail("%s", why);
	if (why || !pkt_options_ok(&r->key, 0))
		return false;
	if (!r->ask)
		r->fragments = XT_EPF_UNSAID;
	if (epf_rule_sound(r) && !epf_pkt_opts_check(&r->key))
		return true;
	fail("these options contradict one another");
	return false;
}

static bool set_rule(struct bpf_object *obj, const struct xt_epf_rule *r)
{
	struct bpf_map *map = bpf_object__find_map_by_name(obj, ".rodata");

	/* The section contains only the rule, or the size differs. */
	if (map && !bpf_map__set_initial_value(map, r, sizeof(*r)))
		return true;
	fail("the BPF object has no room for a rule: rebuild epfctl");
	return false;
}

static int load_failed(const char *name, int err)
{
	if (xdp_obj_needs_perfmon("pinning"))
		return EXIT_FAIL;
	if (err == -EPERM && caps_token_denied("pinning", false))
		return EXIT_FAIL;
	if (err == -EPERM)
		return caps_denied("pinning");
	return fail_errno(-err, "cannot load the program for '%s': %s", name,
			  xdp_obj_complaint()[0] ? xdp_obj_complaint() : strerror(-err));
}

/* The program that does what the rule says; NULL: there is none. */
static struct bpf_program *pin_choose(struct bpf_object *obj, const struct xt_epf_rule *r)
{
	static const char *const asking[XT_EPF_LEARNS] = {
		[XT_EPF_LEARN_NOTHING] = "epf_match",
		[XT_EPF_LEARN] = "epf_match_both",
		[XT_EPF_LEARN_NEW] = "epf_match_new",
	};
	const char *name = r->ask ? asking[r->learn] : "epf_match_learn";
	struct bpf_program *prog = bpf_object__find_program_by_name(obj, name);

	if (prog && bpf_program__set_autoload(prog, true))
		prog = NULL;
	return prog;
}

static int pin_map_fd(struct bpf_object *obj, const char *name)
{
	return bpf_object__find_map_fd_by_name(obj, name);
}

/* Descriptors and the number of the program are set in @want here. */
static int pin_loaded(struct bpf_object *obj, struct bpf_program *prog, struct pin_want *want)
{
	struct bpf_prog_info info = { 0 };
	__u32 len = sizeof(info);

	want->prog = bpf_program__fd(prog);
	want->rule = pin_map_fd(obj, ".rodata");
	want->counts = pin_map_fd(obj, outcome_map.name);
	if (bpf_obj_get_info_by_fd(want->prog, &info, &len))
		return fail_errno(errno, "cannot read the number of the program: %m");
	want->conf.prog_id = info.id;
	return pin_add(want) ? EXIT_FAIL : EXIT_YES;
}

static int load_and_pin(struct bpf_object *obj, struct pin_want *want, const struct xt_epf_rule *r)
{
	const char *name = want->conf.filter;
	struct bpf_program *prog = pin_choose(obj, r);
	int err = ebpf_reuse_maps(obj, name);

	if (err)
		return fail_call(err, "opening", name);
	if (!prog || !set_rule(obj, r))
		return EXIT_FAIL;
	err = bpf_object__load(obj);
	if (err)
		return load_failed(name, err);
	return pin_loaded(obj, prog, want);
}

static int pin_program(struct pin_want *want, const struct xt_epf_rule *r)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "epf_match");
	struct bpf_object *obj = bpf_object__open_mem(epf_match_start,
						      (size_t)(epf_match_end - epf_match_start),
						      &opts);
	int ret;

	if (!obj)
		return fail_errno(errno, "cannot open the BPF object epf_match: %m");
	ret = load_and_pin(obj, want, r);
	bpf_object__close(obj);
	return ret;
}

static void pin_tell(const char *name, const char *path)
{
	if (out_mode == OUT_TEXT)
		printf("%s: -m bpf --object-pinned %s\n", name, path);
	else
		out_json(json_pack("{s:s, s:s, s:s+}", "name", name, "path", path, "match",
				   "-m bpf --object-pinned ", path));
}

int pin_run(const struct pin_request *w, char name[EPF_NAME_LEN])
{
	const struct xt_epf_rule *r = &w->rule;
	struct epf_key_desc desc = epf_key_desc_packet(&r->key);
	int filter = open_filter(w->filter), ret = EXIT_FAIL;
	struct pin_want want = {
		.path = w->path,
		.conf = { .opts = r->key, .action = EPF_XDP_MATCH, .backend = EPF_XDP_BPF },
	};
	struct epf_info info;

	if (filter < 0)
		return EXIT_FAIL;
	if (epf_is_module(filter)) {
		fail("'%s' is a filter of the module: use '-m epf --name %s' in rules", w->filter,
		     w->filter);
	} else if (!epf_filter_info(filter, &info)) {
		want.conf.id = info.id;
		memcpy(want.conf.filter, info.params.name, sizeof(want.conf.filter));
		memcpy(name, info.params.name, sizeof(want.conf.filter));
		ret = pin_program(&want, r);
		if (!ret && r->learn)
			epf_filter_describe(filter, &desc);
	} else {
		fail("cannot read '%s'", w->filter);
	}
	epf_close(filter);
	return ret;
}

bool pin_parse(int argc, char **argv, struct pin_request *w)
{
	int opt;

	*w = (struct pin_request){ .rule.key.link = EPF_LINK_IP };
	while ((opt = next_option(argc, argv, &spec)) >= 0)
		if (opt == '?' || !option(&w->rule, opt, optarg))
			return false;
	if (!operands(argc, argv, 2, 2, &spec) || !rule_ok(&w->rule))
		return false;
	w->filter = argv[optind];
	w->path = argv[optind + 1];
	return true;
}

int cmd_pin(int argc, char **argv)
{
	char name[EPF_NAME_LEN];
	struct pin_request w;

	if (!pin_parse(argc, argv, &w))
		return EXIT_FAIL;
	xdp_obj_quiet();
	if (pin_run(&w, name))
		return EXIT_FAIL;
	pin_tell(name, w.path);
	return EXIT_YES;
}
