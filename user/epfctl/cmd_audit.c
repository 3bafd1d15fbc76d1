// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* epfctl audit: which of many keys does a filter hold? This file has the options. */
#include "cmd_audit.h"
#include "cmd.h"
#include "common/torn.h"
#include "plot.h"
#include "recopts.h"

#include <signal.h>
#include <string.h>

#define PROBE_MAX (1ULL << 40)
#define UNIT_MAX (1ULL << 40)

enum {
	OPT_KEY_LEN = OPT_REC_END,
	OPT_DIGESTS,
	OPT_ABSENT,
	OPT_ENGINE,
	OPT_DEVICES,
	OPT_PLACE,
	OPT_THREADS,
	OPT_PROBE,
	OPT_RESUME,
	OPT_AGENT,
	OPT_NO_AGENT,
	OPT_ANY_KEYS,
	OPT_PLOT,
	OPT_UNIT,
	OPT_COPY,
};

static const struct option longs[] = {
	REC_LONGS,
	{ "key-len", required_argument, NULL, OPT_KEY_LEN },
	{ "digests", no_argument, NULL, OPT_DIGESTS },
	PKT_LONGS,
	{ "bitmap", required_argument, NULL, 'b' },
	{ "ages", required_argument, NULL, 'a' },
	{ "records", required_argument, NULL, 'o' },
	{ "absent", no_argument, NULL, OPT_ABSENT },
	{ "engine", required_argument, NULL, OPT_ENGINE },
	{ "devices", required_argument, NULL, OPT_DEVICES },
	{ "place", required_argument, NULL, OPT_PLACE },
	{ "threads", required_argument, NULL, OPT_THREADS },
	{ "probe", required_argument, NULL, OPT_PROBE },
	{ "resume", no_argument, NULL, OPT_RESUME },
	{ "agent", required_argument, NULL, OPT_AGENT },
	{ "no-agent", no_argument, NULL, OPT_NO_AGENT },
	{ "any-keys", no_argument, NULL, OPT_ANY_KEYS },
	{ "plot", required_argument, NULL, OPT_PLOT },
	{ "unit", required_argument, NULL, OPT_UNIT },
	{ "copy", required_argument, NULL, OPT_COPY },
	{ 0 },
};

static const struct spec spec = {
	.usage = "audit [options] FILTER|SNAPSHOT KEYS ...",
	/* clang-format off */
	.help =
"Find which keys of a file a filter holds, and how old they are. KEYS '-' is\n"
"standard input. Outputs are given once for each KEYS.\n"
"  -F, --format FORMAT  column, csv, json, nfdump, ipfix, pcap; auto (default):\n"
"                      column with --key-len, otherwise by the first bytes\n"
"  --key-len N         column: keys of N bytes, without gaps\n"
"  --digests           ready digests in place of keys: eight bytes in a column,\n"
"                      16 hex digits in csv and json\n"
REC_HELP
PKT_HELP("frame")
"  -b, --bitmap FILE   write a bit for each key: bit i mod 8 of byte i / 8 is set\n"
"                      when key i is present\n"
"  -a, --ages FILE     write a byte for each key: its age in epochs, or 255\n"
"  -o, --records FILE  write the records that are present; '-': standard output\n"
"  --absent            with -o: write the records that are absent\n"
"  --plot FILE         draw the ages of matches as bars, by gnuplot: FILE.svg or\n"
"                      FILE.png\n"
"  --engine NAME       scalar, ring, avx2, avx512, cuda; auto (default)\n"
"  --devices LIST      with --engine cuda: all GPUs, or those with these numbers\n"
"                      (0,1; default: 0)\n"
"  --place copy|live   copy a filter first, or ask it in place; auto (default)\n"
"  --threads N         use at most N threads (default: as many as CPUs)\n"
"  --probe N           also ask for N random keys, and print the actual error\n"
"  --resume            continue where the same command was interrupted, and save\n"
"                      what that takes; for a snapshot, with -b\n"
"  --agent SOCKET      let epfagent do the audit, through this socket\n"
"  --unit N            under MPI: keys of a column that a rank takes at a time,\n"
"                      or of lines 64 times as many bytes (default: about 256\n"
"                      units)\n"
"  --copy shared|own   under MPI: one copy of the snapshot for each node, or for\n"
"                      each rank, which is faster; auto (default): own where all\n"
"                      of a node take at most a quarter of its free memory\n"
"  --any-keys          ask although the filter's keys are made of something else\n"
"  --no-agent          never let epfagent do the audit\n",
	/* clang-format on */
	.shorts = REC_SHORTS "b:a:o:",
	.longs = longs,
};

static bool take_engine(struct audit_ask *ask, const char *arg)
{
	ask->spec.engine = epf_engine_find(arg);
	if (ask->spec.engine || !strcmp(arg, "auto"))
		return true;
	fail("--engine '%s' is none of auto, scalar, ring, avx2, avx512, cuda", arg);
	return false;
}

static bool take_devices(struct audit_ask *ask, const char *arg)
{
	ask->devices = true;
	if (!epf_gpu_devices(arg))
		return true;
	fail("--devices '%s': give all, or different numbers from 0 to 15 with commas between",
	     arg);
	return false;
}

static bool take_place(struct audit_ask *ask, const char *arg)
{
	int place;

	for (place = TARGET_AUTO; place <= TARGET_LIVE; place++) {
		if (strcmp(arg, target_place_name(place)))
			continue;
		ask->place = place;
		return true;
	}
	fail("--place '%s' is none of auto, copy, live", arg);
	return false;
}

static bool take_out(struct audit_ask *ask, int what, const char *arg)
{
	if (ask->nr_out[what] == AUDIT_KEYS_MAX) {
		fail("more than %d outputs of one kind: run the command again for "
		     "the others",
		     AUDIT_KEYS_MAX);
		return false;
	}
	ask->out[what][ask->nr_out[what]++] = arg;
	return true;
}

static bool audit_take_number(const char *what, const char *arg, __u64 max, __u32 *to)
{
	__u64 v;

	if (!parse_count(what, arg, max, &v))
		return false;
	*to = (__u32)v;
	return true;
}

static bool take_unit(struct audit_ask *ask, const char *arg)
{
	if (!parse_count("--unit", arg, UNIT_MAX, &ask->unit_keys))
		return false;
	if (ask->unit_keys % 8)
		return fail("--unit %s: give a multiple of 8, so that no two units share a byte "
			    "of the bitmap",
			    arg),
		       false;
	return true;
}

static bool take_copy(struct audit_ask *ask, const char *arg)
{
	static const char *const names[] = {
		[RANKS_COPY_AUTO] = "auto", [RANKS_COPY_SHARED] = "shared", [RANKS_COPY_OWN] = "own"
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(arg, names[i]))
			continue;
		ask->copy = (enum ranks_copy)i;
		return true;
	}
	fail("--copy '%s' is none of auto, shared, own", arg);
	return false;
}

static bool audit_take_option(struct audit_ask *ask, int opt, const char *arg)
{
	struct rec_spec *r = &ask->spec.records;

	switch (opt) {
	case 'b':
		return take_out(ask, OUT_BITMAP, arg);
	case 'a':
		return take_out(ask, OUT_AGES, arg);
	case 'o':
		return take_out(ask, OUT_RECORDS, arg);
	case OPT_PLOT:
		return plot_named(arg) && take_out(ask, OUT_PLOT, arg);
	case OPT_KEY_LEN:
		return audit_take_number("--key-len", arg, EPF_KEY_MAX, &ask->spec.key_len);
	case OPT_THREADS:
		return audit_take_number("--threads", arg, EPF_AUDIT_THREADS_MAX,
					 &ask->spec.threads);
	case OPT_PROBE:
		return parse_count("--probe", arg, PROBE_MAX, &ask->probe);
	case OPT_UNIT:
		return take_unit(ask, arg);
	case OPT_COPY:
		return take_copy(ask, arg);
	case OPT_ENGINE:
		return take_engine(ask, arg);
	case OPT_DEVICES:
		return take_devices(ask, arg);
	case OPT_PLACE:
		return take_place(ask, arg);
	case OPT_AGENT:
		ask->agent = arg;
		return true;
	}
	ask->digests |= opt == OPT_DIGESTS;
	ask->spec.absent |= opt == OPT_ABSENT;
	ask->resume |= opt == OPT_RESUME;
	ask->no_agent |= opt == OPT_NO_AGENT;
	r->any_keys |= opt == OPT_ANY_KEYS;
	return opt == OPT_DIGESTS || opt == OPT_ABSENT || opt == OPT_RESUME ||
	       opt == OPT_NO_AGENT || opt == OPT_ANY_KEYS || rec_option(r, opt, arg);
}

/* Does the option say what the key of a packet is? Then the filter's record does not. */
static bool is_pkt_option(int opt)
{
	return opt >= OPT_KEY && opt < OPT_PKT_END;
}

/* Auto is a column if an option says so. The default key of flow records is the flow. */
static void settle_format(struct audit_ask *ask, bool has_key, bool has_opts)
{
	struct rec_spec *r = &ask->spec.records;

	if (r->format == REC_AUTO && ask->spec.key_len)
		r->format = REC_COLUMN;
	if (!has_key && (r->format == REC_NFDUMP || r->format == REC_IPFIX))
		r->pkt.key = EPF_PKT_FLOW;
	r->digest = ask->digests && r->format != REC_COLUMN;
	r->as_filter = !has_opts;
}

static bool has_twice(const struct audit_ask *ask, const char *name)
{
	int i, n = 0;

	for (i = 0; i < ask->nr_keys; i++)
		n += !strcmp(ask->keys[i], name);
	return n > 1;
}

/* The error for options that contradict each other; NULL: none do. */
static const char *audit_contradiction(const struct audit_ask *ask)
{
	const struct rec_spec *r = &ask->spec.records;
	bool column = r->format == REC_COLUMN;
	int i;

	if (column && !ask->spec.key_len == !ask->digests)
		return "a column needs either --key-len N or --digests";
	if (!column && ask->spec.key_len)
		return "--key-len goes with --format column";
	if (column && ask->nr_out[OUT_RECORDS])
		return "--records: a column has no records, use --bitmap";
	if (ask->spec.absent && !ask->nr_out[OUT_RECORDS])
		return "--absent goes with --records";
	if (ask->agent && (ask->no_agent || ask->place != TARGET_AUTO))
		return "--agent goes with neither --no-agent nor --place";
	if (ask->devices && !(ask->spec.engine && epf_engine_far(ask->spec.engine)))
		return "--devices goes with --engine cuda";
	if (ask->devices && ask->agent)
		return "--devices does not go with --agent: EPF_CUDA_DEVICES in the agent's "
		       "environment says which devices it uses";
	if (ask->agent && ask->probe)
		return "--probe does not go with --agent: leave --agent out";
	if (has_twice(ask, "-"))
		return "KEYS '-' can be given only once";
	for (i = 0; i < AUDIT_OUTS; i++)
		if (ask->nr_out[i] && ask->nr_out[i] != ask->nr_keys)
			return "give each output as often as there are KEYS, or not "
			       "at all";
	for (i = 0; i < ask->nr_out[OUT_RECORDS]; i++)
		if (!strcmp(ask->out[OUT_RECORDS][i], "-") && out_mode != OUT_TEXT)
			return "-j and --records '-' both need standard output: "
			       "give the records a name";
	return NULL;
}

int cmd_audit(int argc, char **argv)
{
	struct audit_ask ask = { .place = TARGET_AUTO };
	bool has_key = false, has_opts = false;
	const char *why;
	int opt;

	while ((opt = next_option(argc, argv, &spec)) >= 0) {
		if (!audit_take_option(&ask, opt, optarg))
			return EXIT_FAIL;
		has_key |= opt == OPT_KEY;
		has_opts |= is_pkt_option(opt);
	}
	if (!operands(argc, argv, 2, 1 + AUDIT_KEYS_MAX, &spec))
		return EXIT_FAIL;
	ask.target = argv[optind++];
	while (optind < argc)
		ask.keys[ask.nr_keys++] = argv[optind++];
	settle_format(&ask, has_key, has_opts);
	why = audit_contradiction(&ask);
	if (why)
		return fail("%s", why);
	if (!pkt_options_ok(&ask.spec.records.pkt, EPF_PKT_VLAN))
		return EXIT_FAIL;
	ask.spec.records.stop = &interrupted;
	catch_signals();
	catch_torn();
	signal(SIGPIPE, SIG_IGN); /* get a write error instead, to clean up */
	return audit_run(&ask) ? EXIT_FAIL : EXIT_YES;
}
