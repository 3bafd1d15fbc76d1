// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* epfctl build: make a snapshot of files of records. This file has the options. */
#include "build.h"
#include "recopts.h"

#include <string.h>

#include "records/stamp.h"

enum {
	OPT_STAMP = OPT_REC_END,
	OPT_STAMP_FORMAT,
	OPT_UNTIL,
	OPT_LIKE,
	OPT_NAME,
	OPT_FIRST_SEEN,
	OPT_STRICT,
	OPT_HASH,
	OPT_ALIGN,
	OPT_KEEP_GOING,
	OPT_DIGESTS,
	OPT_FORCE,
};

static const struct option longs[] = {
	PROMISE_LONGS,
	KIND_LONGS,
	REC_LONGS,
	{ "digests", no_argument, NULL, OPT_DIGESTS },
	PKT_LONGS,
	{ "stamp", required_argument, NULL, OPT_STAMP },
	{ "stamp-format", required_argument, NULL, OPT_STAMP_FORMAT },
	{ "until", required_argument, NULL, OPT_UNTIL },
	{ "like", required_argument, NULL, OPT_LIKE },
	{ "name", required_argument, NULL, OPT_NAME },
	{ "first-seen", no_argument, NULL, OPT_FIRST_SEEN },
	{ "strict", no_argument, NULL, OPT_STRICT },
	{ "hash", required_argument, NULL, OPT_HASH },
	{ "align", no_argument, NULL, OPT_ALIGN },
	{ "keep-going", no_argument, NULL, OPT_KEEP_GOING },
	{ "force", no_argument, NULL, OPT_FORCE },
	{ 0 },
};

/* clang-format off */
static const char records_help[] =
"Records:\n"
"  -F, --format FORMAT  csv, json, nfdump, ipfix, pcap; auto (default): by the\n"
"                      first bytes\n"
"  --stamp LIST        csv, json: the fields of the time stamp, joined by blanks\n"
"  --stamp-format F    s, ms, us, ns since 1970, or a format of strptime(3);\n"
"                      default: seconds, ISO 8601, or as in access logs\n"
"  --until TIME        leave out later records, and end the window then (default:\n"
"                      at the last record)\n"
"  --digests           csv, json: ready digests of 16 hex digits in place of keys\n"
REC_HELP
"  --keep-going        treat a damaged file as one that ends at the damage\n"
PKT_HELP("frame or flow")
"The filter:\n"
"  --like SNAPSHOT     with its window, geometry, hash and hash key, so that both\n"
"                      can be merged\n"
"  --align             end epochs by the wall clock, for 'merge'\n"
"  --first-seen        a repeat does not restart its window\n"
"  --hash HASH         nh (default), siphash13 or siphash24\n"
"  --strict            the same as --hash siphash24\n"
"  --name NAME         of the filter in the snapshot (default: that of OUT)\n"
"  --force             write it also if its error is above the limit\n"
"exit status: 0 written, 1 not: the error is above the limit, 2 failure\n";
/* clang-format on */

static bool take_time(struct build_ask *ask, const char *arg)
{
	if (stamp_parse(arg, strlen(arg), NULL, &ask->until_ns))
		return true;
	fail("cannot read --until '%s': give seconds since 1970, or "
	     "'2026-03-01 12:00:00'",
	     arg);
	return false;
}

static bool take_name(struct build_ask *ask, const char *arg)
{
	if (!parse_name(arg))
		return false;
	strcpy(ask->name, arg);
	return true;
}

static bool build_take_option(struct build_ask *ask, int opt, const char *arg)
{
	struct rec_spec *r = &ask->records;

	switch (opt) {
	case OPT_STAMP:
		r->stamp = arg;
		return true;
	case OPT_STAMP_FORMAT:
		r->stamp_form = arg;
		return true;
	case OPT_UNTIL:
		return take_time(ask, arg);
	case OPT_LIKE:
		ask->like = arg;
		return true;
	case OPT_NAME:
		return take_name(ask, arg);
	case OPT_FIRST_SEEN:
		ask->first_seen = true;
		return true;
	case OPT_STRICT:
		ask->hash = EPF_HASH_SIPHASH24;
		return true;
	case OPT_HASH:
		return parse_hash("--hash", arg, &ask->hash);
	case OPT_ALIGN:
		ask->align = true;
		return true;
	case OPT_KEEP_GOING:
		ask->keep_going = true;
		return true;
	case OPT_FORCE:
		ask->force = true;
		return true;
	case OPT_DIGESTS:
		r->digest = true;
		return true;
	}
	if (opt == 'F' || (opt >= OPT_KEY && opt < OPT_REC_END))
		return rec_option(r, opt, arg);
	return kind_option(&ask->plan_request, opt, arg);
}

/* Does the option shape the filter, which --like does? */
static bool is_shape(int opt)
{
	return opt == 'W' || opt == 'T' || opt == 'b' || opt == OPT_FIRST_SEEN ||
	       opt == OPT_STRICT || opt == OPT_HASH || (opt >= OPT_MODE && opt < OPT_PROMISE_END);
}

/* The name of OUT without its ending, if a filter can be named so. */
static void name_filter(struct build_ask *ask)
{
	static const char good[] = "0123456789._-"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "abcdefghijklmnopqrstuvwxyz";
	const char *base = strrchr(ask->out, '/');
	size_t len;

	if (*ask->name)
		return;
	base = base ? base + 1 : ask->out;
	len = strlen(base);
	if (len > 4 && !strcmp(base + len - 4, ".epf"))
		len -= 4;
	if (!len || len >= EPF_NAME_LEN || *base == '.' || strspn(base, good) < len) {
		strcpy(ask->name, "built");
		return;
	}
	memcpy(ask->name, base, len);
}

/* The error for options that contradict each other; NULL: none do. */
static const char *build_contradiction(const struct build_ask *ask, bool shaped)
{
	int i, standard = 0;

	for (i = 0; i < ask->nr_files; i++)
		standard += !strcmp(ask->files[i], "-");
	if (standard > 1)
		return "'-' can be given only once";
	if (ask->like && shaped)
		return "--like goes with no option that shapes the filter";
	if (ask->plan_request.kind)
		return "a snapshot can be built of --kind lanes only: leave --kind out";
	if (!ask->like && !ask->plan_request.time_ns)
		return "no window given: use --time DURATION and --rate PPS, or --like SNAPSHOT";
	if (!strcmp(ask->out, "-"))
		return "OUT must be the name of a file, not '-'";
	return NULL;
}

int cmd_build(int argc, char **argv)
{
	static char help[8192];
	static const struct spec spec = {
		.usage = "build OUT (--time DURATION --rate PPS | --like SNAPSHOT) "
			 "[options] FILE ...",
		.help = help,
		.shorts = PROMISE_SHORTS REC_SHORTS,
		.longs = longs,
	};
	struct build_ask ask = {
		.hash = EPF_HASH_NH,
		.records = { .stamps = true, .as_filter = true, .stop = &interrupted }
	};
	struct build_result result = { 0 };
	bool shaped = false;
	const char *why;
	int opt, ret;

	snprintf(help, sizeof(help), "%s%s", plan_help, records_help);
	while ((opt = next_option(argc, argv, &spec)) >= 0) {
		if (!build_take_option(&ask, opt, optarg))
			return EXIT_FAIL;
		shaped |= is_shape(opt);
		if (opt >= OPT_KEY && opt < OPT_PKT_END)
			ask.records.as_filter = false;
	}
	if (!operands(argc, argv, 2, 1 + BUILD_FILES_MAX, &spec))
		return EXIT_FAIL;
	ask.out = argv[optind];
	ask.files = argv + optind + 1;
	ask.nr_files = argc - optind - 1;
	name_filter(&ask);
	why = build_contradiction(&ask, shaped);
	if (why)
		return fail("%s", why);
	if (!pkt_options_ok(&ask.records.pkt, EPF_PKT_VLAN))
		return EXIT_FAIL;
	catch_signals();
	ret = build_run(&ask, &result);
	if (ret)
		return ret;
	if (out_mode == OUT_TEXT)
		build_print(&ask, &result);
	else
		out_json(build_json(&ask, &result));
	return EXIT_YES;
}
