// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The match "epf" of iptables and ip6tables: options to struct xt_epf_rule and back.
 * Loaded by libxtables.
 *
 * A match cannot have options that iptables itself has, such as --insert and --fragments:
 * hence --learn and --frags.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xtables.h>

#include <linux/epochfilter_xt.h>
#include <linux/netfilter_ipv4/ip_tables.h>
#include <linux/netfilter_ipv6/ip6_tables.h>

#include "epf/packet.h"
#include "desc.h"

enum {
	O_NAME,
	O_KEY,
	O_PREFIX,
	O_REVERSE,
	O_ERRORS,
	O_ZONE,
	O_FRAGS,
	O_RECENT,
	O_NEW,
	O_WITHIN,
	O_LEARN,
	O_LEARN_NEW,
	O_UNKNOWN,
	O_MALFORMED,
};
#define F(option) (1u << (option))

static const char name_chars[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				 "abcdefghijklmnopqrstuvwxyz0123456789._-";

static const struct xt_option_entry options[] = {
	{ .name = "name", .id = O_NAME, .type = XTTYPE_STRING, .flags = XTOPT_MAND },
	{ .name = "key", .id = O_KEY, .type = XTTYPE_STRING, .flags = XTOPT_MAND },
	{ .name = "prefix", .id = O_PREFIX, .type = XTTYPE_STRING },
	{ .name = "reverse", .id = O_REVERSE, .type = XTTYPE_NONE },
	{ .name = "errors", .id = O_ERRORS, .type = XTTYPE_NONE },
	{ .name = "zone", .id = O_ZONE, .type = XTTYPE_STRING },
	{ .name = "frags", .id = O_FRAGS, .type = XTTYPE_STRING },
	{ .name = "recent", .id = O_RECENT, .type = XTTYPE_NONE, .excl = F(O_NEW) },
	{ .name = "new", .id = O_NEW, .type = XTTYPE_NONE, .excl = F(O_RECENT) },
	{ .name = "within", .id = O_WITHIN, .type = XTTYPE_STRING },
	{ .name = "learn", .id = O_LEARN, .type = XTTYPE_NONE, .excl = F(O_LEARN_NEW) },
	{ .name = "learn-new", .id = O_LEARN_NEW, .type = XTTYPE_NONE, .excl = F(O_LEARN) },
	{ .name = "unknown", .id = O_UNKNOWN, .type = XTTYPE_STRING },
	{ .name = "if-malformed", .id = O_MALFORMED, .type = XTTYPE_STRING },
	XTOPT_TABLEEND,
};

static const struct {
	const char *name;
	__u64 ns;
} units[] = {
	{ "d", 86400000000000ULL },
	{ "h", 3600000000000ULL },
	{ "m", 60000000000ULL },
	{ "s", 1000000000ULL },
	{ "ms", 1000000ULL },
	{ "us", 1000ULL },
	{ "ns", 1ULL },
};
#define UNITS (sizeof(units) / sizeof(units[0]))

static void help(void)
{
	/* clang-format off */
	printf(
"epf match options (epochfilter):\n"
"  --name FILTER        a filter of 'epfctl list', which the rule holds\n"
"  --key KEY            flow, conversation, peer or peer-port\n"
"  --prefix V4[,V6]     use the first bits of a peer's address, so many of IPv4\n"
"                       and of IPv6\n"
"  --reverse            use the key of the packets that this one answers\n"
"  --errors             an ICMP error counts as an answer to the packet that it\n"
"                       carries\n"
"  --zone N             keys are equal only in the same zone, 0 to 65535\n"
"  --frags WHAT         id: fragments have the key of their datagram's id\n"
"                       (default); otherwise all but the first have no key, and\n"
"                       count as recent (accept) or as new (drop)\n"
"  --recent             match packets that were inserted in the window\n"
"  --new                match all others\n"
"  --within AGE         only packets inserted in the last AGE epochs are recent,\n"
"                       or within a time like 10s\n"
"  --learn              insert the packet; without --recent and --new, match if\n"
"                       it was inserted\n"
"  --learn-new          insert it if it is not recent\n"
"  --unknown WHAT       if the filter has no answer, a packet counts as recent\n"
"                       (accept) or as new (drop); required with --recent\n"
"                       and --new\n"
"  --if-malformed WHAT  a packet whose headers cannot be followed counts as\n"
"                       recent (pass) or as new (drop, the default)\n");
	/* clang-format on */
}

static void init(struct xt_entry_match *m)
{
	struct xt_epf_info *info = (struct xt_epf_info *)m->data;

	info->rule.key.link = EPF_LINK_IP;
}

static void parse_name(struct xt_epf_info *info, const char *arg)
{
	size_t len = strlen(arg);

	if (!len || len >= sizeof(info->name) || arg[0] == '.' || strspn(arg, name_chars) != len)
		xtables_error(
			PARAMETER_PROBLEM,
			"epf: --name '%s' is not the name of a filter; 'epfctl list' shows the filters",
			arg);
	strcpy(info->name, arg);
}

static void parse_key(struct epf_pkt_opts *o, const char *arg)
{
	__u8 key;

	for (key = EPF_PKT_FLOW; key < EPF_PKT_KEYS; key++)
		if (!strcmp(arg, epf_key_packet_name(key)))
			break;
	if (key == EPF_PKT_KEYS)
		xtables_error(PARAMETER_PROBLEM,
			      "epf: --key '%s': not flow, conversation, peer or peer-port", arg);
	o->key = key;
}

static void parse_prefix(struct epf_pkt_opts *o, const char *arg)
{
	__u32 prefix;

	if (!epf_prefix_parse(arg, &prefix))
		xtables_error(
			PARAMETER_PROBLEM,
			"epf: --prefix '%s': not 8 to 32 bits for IPv4 and, after a comma, 8 to 128 for IPv6",
			arg);
	o->max_bytes = (o->max_bytes & ~0xffffu) | prefix;
}

static void parse_zone(struct epf_pkt_opts *o, const char *arg)
{
	__u32 zone;

	if (!epf_zone_parse(arg, &zone))
		xtables_error(PARAMETER_PROBLEM, "epf: --zone '%s': not a number from 0 to 65535",
			      arg);
	o->max_bytes = (o->max_bytes & 0xffff) | EPF_PKT_IN_ZONE(zone);
	o->flags |= EPF_PKT_ZONE;
}

/* "accept" is recent, "drop" is new. */
static __u8 parse_is(const char *arg)
{
	if (!strcmp(arg, "accept"))
		return XT_EPF_RECENT;
	return strcmp(arg, "drop") ? XT_EPF_UNSAID : XT_EPF_NEW;
}

static const char *is_text(__u8 is)
{
	return is == XT_EPF_RECENT ? "accept" : "drop";
}

static void parse_fragments(struct xt_epf_rule *r, const char *arg)
{
	r->fragments = parse_is(arg);
	if (r->fragments)
		r->key.flags |= EPF_PKT_FIRST;
	else if (strcmp(arg, "id"))
		xtables_error(PARAMETER_PROBLEM, "epf: --frags '%s': not id, accept or drop", arg);
}

/* Set the age to @n @unit. Return: false: too large, or an unknown unit. */
static bool within_ns(struct xt_epf_rule *r, __u64 n, const char *unit)
{
	size_t i;

	for (i = 0; i < UNITS; i++)
		if (!strcmp(unit, units[i].name))
			break;
	if (i == UNITS || n > (1ULL << 62) / units[i].ns)
		return false;
	r->within_ns = n * units[i].ns;
	return true;
}

static void parse_within(struct xt_epf_rule *r, const char *arg)
{
	bool good = arg[0] >= '0' && arg[0] <= '9';
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(arg, &end, 10);
	good = good && n && !errno;
	if (good && *end)
		good = within_ns(r, n, end);
	else if (good && n <= XT_EPF_WITHIN_MAX)
		r->within = (__u16)n;
	else
		good = false;
	if (!good)
		xtables_error(
			PARAMETER_PROBLEM,
			"epf: --within '%s': not 1 to %d epochs, nor a time like 10s or 500ms", arg,
			XT_EPF_WITHIN_MAX);
}

static void parse_unknown(struct xt_epf_rule *r, const char *arg)
{
	r->unknown = parse_is(arg);
	if (!r->unknown)
		xtables_error(PARAMETER_PROBLEM, "epf: --unknown '%s': not accept or drop", arg);
}

static void parse_malformed(struct xt_epf_rule *r, const char *arg)
{
	r->malformed = strcmp(arg, "pass") ? XT_EPF_NEW : XT_EPF_RECENT;
	if (r->malformed == XT_EPF_NEW && strcmp(arg, "drop"))
		xtables_error(PARAMETER_PROBLEM, "epf: --if-malformed '%s': not pass or drop", arg);
}

static void parse(struct xt_option_call *cb)
{
	struct xt_epf_info *info = cb->data;
	struct xt_epf_rule *r = &info->rule;

	xtables_option_parse(cb);
	switch (cb->entry->id) {
	case O_NAME:
		parse_name(info, cb->arg);
		break;
	case O_KEY:
		parse_key(&r->key, cb->arg);
		break;
	case O_PREFIX:
		parse_prefix(&r->key, cb->arg);
		break;
	case O_ZONE:
		parse_zone(&r->key, cb->arg);
		break;
	case O_REVERSE:
		r->key.flags |= EPF_PKT_REVERSE;
		break;
	case O_ERRORS:
		r->key.flags |= EPF_PKT_ERRORS;
		break;
	case O_FRAGS:
		parse_fragments(r, cb->arg);
		break;
	case O_RECENT:
		r->ask = XT_EPF_RECENT;
		break;
	case O_NEW:
		r->ask = XT_EPF_NEW;
		break;
	case O_WITHIN:
		parse_within(r, cb->arg);
		break;
	case O_LEARN:
		r->learn = XT_EPF_LEARN;
		break;
	case O_LEARN_NEW:
		r->learn = XT_EPF_LEARN_NEW;
		break;
	case O_UNKNOWN:
		parse_unknown(r, cb->arg);
		break;
	case O_MALFORMED:
		parse_malformed(r, cb->arg);
		break;
	}
}

/* Return: why options do not go together, or NULL. Two CPUs may insert one key at once,
 * so --learn-new alone would be no different from --learn.
 */
static const char *misfit(const struct xt_epf_rule *r, unsigned int given)
{
	if ((given & F(O_PREFIX)) && r->key.key < EPF_PKT_PEER)
		return "--prefix goes with --key peer and peer-port only";
	if ((given & F(O_REVERSE)) && r->key.key == EPF_PKT_CONVERSATION)
		return "--reverse does not go with --key conversation, which has both directions";
	if (r->fragments && r->key.key == EPF_PKT_PEER)
		return "--frags does not go with --key peer, which uses no ports";
	if (!r->ask && !r->learn)
		return "no action given: use --recent, --new or --learn";
	if (!r->ask && r->learn == XT_EPF_LEARN_NEW)
		return "--learn-new goes with --recent or --new; without them use --learn, which does the same";
	if (!r->ask && (given & F(O_WITHIN)))
		return "--within goes with --recent or --new";
	if (!r->ask && (r->unknown || r->malformed))
		return "--unknown and --if-malformed go with --recent or --new";
	if (r->ask && !r->unknown)
		return "--recent and --new need --unknown accept (recent) or drop (new): what a packet counts as if the filter has no answer";
	return NULL;
}

/* Does the kernel report that it has no such match? The question makes it load the module. */
static bool kernel_lacks(int family, int level, int option)
{
	struct xt_get_revision rev = { .name = "epf" };
	socklen_t len = sizeof(rev);
	int fd, err = 0;

	if (!access("/proc/net/xt_epf", F_OK))
		return false;
	fd = socket(family, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);
	if (fd < 0)
		return false;
	if (getsockopt(fd, level, option, &rev, &len))
		err = errno;
	close(fd);
	return err == ENOENT || err == EPROTONOSUPPORT;
}

/* @lacks: kernel_lacks() */
static void check(struct xt_fcheck_call *cb, bool (*lacks)(void))
{
	struct xt_epf_info *info = cb->data;
	const char *why = misfit(&info->rule, cb->xflags);

	if (why)
		xtables_error(PARAMETER_PROBLEM, "epf: %s", why);
	/* A rule that only inserts has no verdict for fragments. */
	if (!info->rule.ask)
		info->rule.fragments = XT_EPF_UNSAID;
	if (lacks())
		xtables_error(
			OTHER_PROBLEM,
			"epf: the kernel has no match epf: run 'modprobe xt_epf'; if that fails, run 'make install-module' of epochfilter");
}

static bool lacks4(void)
{
	return kernel_lacks(AF_INET, IPPROTO_IP, IPT_SO_GET_REVISION_MATCH);
}

static bool lacks6(void)
{
	return kernel_lacks(AF_INET6, IPPROTO_IPV6, IP6T_SO_GET_REVISION_MATCH);
}

static void check4(struct xt_fcheck_call *cb)
{
	check(cb, lacks4);
}

static void check6(struct xt_fcheck_call *cb)
{
	check(cb, lacks6);
}

static void within_text(const struct xt_epf_rule *r)
{
	size_t i = 0;

	if (r->within)
		printf(" --within %u", r->within);
	if (!r->within_ns)
		return;
	while (r->within_ns % units[i].ns)
		i++;
	printf(" --within %llu%s", (unsigned long long)(r->within_ns / units[i].ns), units[i].name);
}

static void save(const void *ip, const struct xt_entry_match *match)
{
	const struct xt_epf_info *info = (const struct xt_epf_info *)match->data;
	const struct xt_epf_rule *r = &info->rule;
	struct epf_pkt_opts key = r->key;
	char text[EPF_DESC_TEXT];

	(void)ip;
	key.flags &= (__u16)~EPF_PKT_FIRST; /* printed as --frags */
	epf_pkt_opts_text(&key, text);
	printf(" --name %.*s --key %s", EPF_NAME_LEN - 1, info->name, text);
	if (r->key.flags & EPF_PKT_FIRST)
		printf(" --frags %s", is_text(r->ask ? r->fragments : XT_EPF_NEW));
	if (r->ask)
		printf(r->ask == XT_EPF_RECENT ? " --recent" : " --new");
	within_text(r);
	if (r->learn)
		printf(r->learn == XT_EPF_LEARN ? " --learn" : " --learn-new");
	if (r->ask)
		printf(" --unknown %s", is_text(r->unknown));
	if (r->malformed == XT_EPF_RECENT)
		printf(" --if-malformed pass");
}

static void print(const void *ip, const struct xt_entry_match *match, int numeric)
{
	(void)numeric;
	printf(" epf");
	save(ip, match);
}

#define EPF_MATCH(of, checks)                                                                   \
	{                                                                                       \
		.version = XTABLES_VERSION, .name = "epf", .family = of,                        \
		.size = XT_ALIGN(sizeof(struct xt_epf_info)),                                   \
		.userspacesize = offsetof(struct xt_epf_info, use), .help = help, .init = init, \
		.print = print, .save = save, .x6_parse = parse, .x6_fcheck = checks,           \
		.x6_options = options,                                                          \
	}

static struct xtables_match matches[] = {
	EPF_MATCH(NFPROTO_IPV4, check4),
	EPF_MATCH(NFPROTO_IPV6, check6),
};

/* libxtables looks for a constructor of this kind. */
static void __attribute__((constructor)) enter(void)
{
	xtables_register_matches(matches, sizeof(matches) / sizeof(matches[0]));
}
