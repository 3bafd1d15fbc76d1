// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* epfctl dedup: remove repeated packets from a capture file. This file has the options. */
#include "dedup.h"
#include "dedup_view.h"
#include "records/stamp.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <epf/window.h>

#define WINDOW_DEFAULT 1000000
#define WINDOW_SHORT 5 /* -d, as in editcap */
#define IGNORE_MAX 0xffff
#define BUDGET_DEFAULT 1e-9

enum {
	OPT_FIRST_SEEN = OPT_PKT_END,
	OPT_ACTION,
	OPT_STRICT,
	OPT_REMOVED,
	OPT_KEEP_GOING,
	OPT_EXACT,
	OPT_FILTER,
	OPT_AS,
	OPT_INNER,
	OPT_MASK,
};

static const struct option longs[] = {
	{ "window", required_argument, NULL, 'D' },
	{ "time", required_argument, NULL, 'w' },
	{ "budget", required_argument, NULL, 'b' },
	{ "rate", required_argument, NULL, OPT_RATE },
	{ "memory", required_argument, NULL, OPT_MEMORY },
	PKT_LONGS,
	{ "first-seen", no_argument, NULL, OPT_FIRST_SEEN },
	{ "action", required_argument, NULL, OPT_ACTION },
	{ "strict", no_argument, NULL, OPT_STRICT },
	{ "removed", required_argument, NULL, OPT_REMOVED },
	{ "keep-going", no_argument, NULL, OPT_KEEP_GOING },
	{ "exact", no_argument, NULL, OPT_EXACT },
	{ "filter", no_argument, NULL, OPT_FILTER },
	{ "format", required_argument, NULL, OPT_AS },
	{ "inner", no_argument, NULL, OPT_INNER },
	{ "mask", required_argument, NULL, OPT_MASK },
	{ "ignore", required_argument, NULL, 'I' },
	{ "after", required_argument, NULL, 'A' },
	{ "before", required_argument, NULL, 'B' },
	{ 0 },
};

static const struct spec spec = {
	.usage = "dedup [options] IN OUT",
	/* clang-format off */
	.help =
"Copy a capture without its repeated packets, as an ordinary user and without the\n"
"module. IN is pcap or pcapng, also with several link types. OUT has the format\n"
"of its name's ending, otherwise that of IN. '-' is standard input or output.\n"
"  -D, --window N      look back over N packets (default 1000000)\n"
"  -d                  look back over 5 packets, as -D 5\n"
"  -w, --time T        look back over T seconds (or 10ms, 1h) of time stamps\n"
"      --exact         keep all keys of the window in a table, 43 to 128 bytes\n"
"                      each: a packet is removed if and only if it repeats one\n"
"                      within the window (default if --memory allows it)\n"
"      --filter        use a filter, 10 bytes a key: it also removes repeats\n"
"                      within 8/7 of the window and, with the chance --budget,\n"
"                      packets that are no repeat\n"
"      --memory SIZE   use at most this much memory (default: half of that of the\n"
"                      machine)\n"
"  -b, --budget RATE   for the filter: the chance to remove a packet that is no\n"
"                      repeat (default 1e-9)\n"
"      --rate PPS      for the filter, with -w: packets per second to size it\n"
"                      for; without this option IN is read twice\n"
"  -A, --after TIME    leave out packets with a time stamp before TIME\n"
"  -B, --before TIME   leave out packets with a time stamp of TIME or later\n"
PKT_HELP("frame")
"What is compared:\n"
"  --inner             the innermost packet, without the outer headers of MPLS,\n"
"                      VXLAN and GRE (NVGRE, ERSPAN)\n"
"  --mask LIST         frame, packet: leave out fields: tos (also the traffic\n"
"                      class), seq (TCP sequence and acknowledgment numbers),\n"
"                      options (of TCP), and checksums that cover them\n"
"  -I, --ignore N      frame: leave out the first N bytes\n"
"  --first-seen        a repeat does not restart the window of its packet\n"
"  --action drop|count drop repeats (default), or keep and count them\n"
"  --strict            use SipHash-2-4 in place of nh and SipHash-1-3\n"
"  --format FORMAT     write pcap or pcapng, whatever the names say\n"
"  --removed FILE      write the repeats to FILE\n"
"  --keep-going        treat a damaged capture as one that ends at the damage\n",
	/* clang-format on */
	.shorts = "dD:w:b:I:A:B:",
	.longs = longs,
};

/* Like parse_ns(), but a number without a unit is in seconds. */
static bool parse_seconds(const char *what, const char *text, __u64 *ns)
{
	char with_unit[40];
	size_t len = strlen(text);

	if (!len || len + 2 > sizeof(with_unit) || !strchr("0123456789.", text[len - 1]))
		return parse_ns(what, text, ns);
	snprintf(with_unit, sizeof(with_unit), "%ss", text);
	return parse_ns(what, with_unit, ns);
}

static bool parse_action(const char *arg, bool *count_only)
{
	*count_only = !strcmp(arg, "count");
	if (*count_only || !strcmp(arg, "drop"))
		return true;
	fail("--action '%s': not drop or count", arg);
	return false;
}

static bool dedup_parse_format(const char *arg, int *format)
{
	*format = !strcmp(arg, "pcapng") ? FORMAT_PCAPNG : FORMAT_PCAP;
	if (*format == FORMAT_PCAPNG || !strcmp(arg, "pcap"))
		return true;
	fail("--format '%s': not pcap or pcapng", arg);
	return false;
}

static bool parse_masks(const char *arg, unsigned int *masks)
{
	static const struct {
		const char *name;
		unsigned int mask;
	} known[] = {
		{ "tos", MASK_TOS },
		{ "seq", MASK_SEQ },
		{ "options", MASK_OPTIONS },
	};
	const char *at = arg;
	size_t i, len;

	for (;; at += len + 1) {
		len = strcspn(at, ",");
		for (i = 0; i < ARRAY_SIZE(known); i++)
			if (len == strlen(known[i].name) && !strncmp(at, known[i].name, len))
				break;
		if (i == ARRAY_SIZE(known)) {
			fail("--mask '%s': not a list of tos, seq, options", arg);
			return false;
		}
		*masks |= known[i].mask;
		if (!at[len])
			return true;
	}
}

static bool parse_time(const char *what, const char *arg, __u64 *ns)
{
	if (stamp_parse(arg, strlen(arg), NULL, ns))
		return true;
	fail("%s '%s': not a time such as 2026-03-01T12:00:00Z, or seconds since 1970", what, arg);
	return false;
}

static bool parse_ignore(const char *arg, __u32 *ignore)
{
	__u64 n;

	if (!parse_count("--ignore", arg, IGNORE_MAX, &n))
		return false;
	*ignore = (__u32)n;
	return true;
}

static bool take_method(struct dedup_ask *ask, enum dedup_method method)
{
	if (ask->method == METHOD_ANY || ask->method == method) {
		ask->method = method;
		return true;
	}
	fail("--exact and --filter exclude each other: give one of them");
	return false;
}

static bool dedup_take_option(struct dedup_ask *ask, int opt, const char *arg)
{
	switch (opt) {
	case 'D':
		return parse_count("-D", arg, EPF_INSERTS_MAX, &ask->window);
	case 'd':
		ask->window = WINDOW_SHORT;
		return true;
	case 'w':
		return parse_seconds("-w", arg, &ask->time_ns);
	case 'b':
		return parse_budget(arg, &ask->budget);
	case OPT_RATE:
		return parse_pps("--rate", arg, &ask->pps);
	case OPT_MEMORY:
		return parse_bytes("--memory", arg, &ask->max_bytes);
	case OPT_FIRST_SEEN:
		ask->first_seen = true;
		return true;
	case OPT_ACTION:
		return parse_action(arg, &ask->count_only);
	case OPT_STRICT:
		ask->strict = true;
		return true;
	case OPT_REMOVED:
		ask->removed = arg;
		return true;
	case OPT_KEEP_GOING:
		ask->keep_going = true;
		return true;
	case OPT_EXACT:
		return take_method(ask, METHOD_EXACT);
	case OPT_FILTER:
		return take_method(ask, METHOD_FILTER);
	case OPT_AS:
		return dedup_parse_format(arg, &ask->format);
	case OPT_INNER:
		ask->inner = true;
		return true;
	case OPT_MASK:
		return parse_masks(arg, &ask->masks);
	case 'I':
		return parse_ignore(arg, &ask->ignore);
	case 'A':
		return parse_time("--after", arg, &ask->after_ns);
	case 'B':
		return parse_time("--before", arg, &ask->before_ns);
	}
	return pkt_option(&ask->key, opt, arg);
}

/* The error for options that contradict each other; NULL: none do. */
static const char *dedup_contradiction(const struct dedup_ask *a)
{
	if (a->window && a->time_ns)
		return "-D and -w exclude each other: give one of them";
	if (a->pps && !a->time_ns)
		return "--rate goes with -w";
	if (a->before_ns && a->before_ns <= a->after_ns)
		return "--before must be later than --after";
	if (a->ignore && a->key.key != EPF_PKT_FRAME)
		return "--ignore goes with --key frame";
	if (a->masks && a->key.key != EPF_PKT_FRAME && a->key.key != EPF_PKT_PACKET)
		return "--mask goes with --key frame and packet";
	if (a->removed && a->count_only)
		return "--removed goes with --action drop";
	if (!strcmp(a->out, "-") && out_mode != OUT_TEXT)
		return "-j and OUT '-' both need standard output: give OUT a "
		       "name";
	if (a->removed && !strcmp(a->removed, "-") &&
	    (!strcmp(a->out, "-") || out_mode != OUT_TEXT))
		return "--removed '-': standard output is already in use, "
		       "give the repeats a name";
	if (a->time_ns && !a->pps && a->method == METHOD_FILTER && !strcmp(a->in, "-"))
		return "-w on standard input with --filter needs --rate: it "
		       "cannot be read twice";
	return NULL;
}

static __u64 half_of_memory(void)
{
	return (__u64)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) / 2;
}

int cmd_dedup(int argc, char **argv)
{
	struct dedup_ask ask = {
		.format = -1,
		.budget = BUDGET_DEFAULT,
		.max_bytes = half_of_memory(),
	};
	struct dedup_result result = { 0 };
	const char *why;
	int opt;

	while ((opt = next_option(argc, argv, &spec)) >= 0)
		if (!dedup_take_option(&ask, opt, optarg))
			return EXIT_FAIL;
	if (!operands(argc, argv, 2, 2, &spec))
		return EXIT_FAIL;
	ask.in = argv[optind];
	ask.out = argv[optind + 1];
	why = dedup_contradiction(&ask);
	if (why)
		return fail("%s", why);
	if (!pkt_options_ok(&ask.key, EPF_PKT_VLAN))
		return EXIT_FAIL;
	if (!ask.window && !ask.time_ns)
		ask.window = WINDOW_DEFAULT;
	catch_signals();
	signal(SIGPIPE, SIG_IGN); /* get write errors instead, to clean up */
	signal(SIGXFSZ, SIG_IGN);
	if (dedup_run(&ask, &result))
		return EXIT_FAIL;
	if (out_mode == OUT_TEXT)
		dedup_print(&ask, &result);
	else
		out_json(dedup_json(&ask, &result));
	return EXIT_YES;
}
