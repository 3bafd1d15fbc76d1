// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Options of plan and create, and what to do about a filter that cannot be. */
#include "cmd.h"

#include <errno.h>
#include <string.h>

#include "epf/geometry.h"
#include "epf/window.h"
#include "kinds/compare.h"

const char plan_help[] =
	"  -W, --window COUNT      remember the last COUNT insertions\n"
	"  -T, --time DURATION     remember the insertions of the last 10s, 500ms, 1h\n"
	"      --rate PPS          insertions per second to size for; --time needs it\n"
	"      --mode MODE         count and time follow from the options above; if both\n"
	"                          are given, choose one of these.\n"
	"                          either: an epoch ends at whichever boundary comes\n"
	"                          first, and the error is bounded;\n"
	"                          both: at whichever comes last, and the coverage is\n"
	"                          bounded\n"
	"  -b, --budget RATE       false-positive rate at the worst phase, such as 1e-4,\n"
	"                          0.01% or 100ppm (default 1e-4)\n"
	"      --limit RATE|never  fail open above this estimated rate (default: twice\n"
	"                          the budget)\n"
	"      --memory SIZE       use at most this much memory: 64M, 2GiB, ...\n"
	"      --lines-per-key L   1, 2 or 4 (default: what takes the least memory)\n"
	"      --lines N --bits-per-key K\n"
	"                          explicit geometry, with --lines-per-key\n";

static bool parse_mode(struct epf_plan_request *p, const char *arg)
{
	for (p->mode = 0; p->mode <= EPF_MODE_MAX; p->mode++)
		if (!strcmp(arg, mode_name(p->mode))) {
			p->has_mode = true;
			return true;
		}
	fail("--mode '%s' is none of count, time, either, both", arg);
	return false;
}

static bool parse_limit(struct epf_plan_request *p, const char *arg)
{
	if (strcmp(arg, "never"))
		return parse_rate("--limit", arg, &p->limit);
	p->limit = 1;
	return true;
}

bool plan_option(struct epf_plan_request *p, int opt, const char *arg)
{
	switch (opt) {
	case 'W':
		return parse_count("--window", arg, EPF_INSERTS_MAX, &p->window);
	case 'T':
		return parse_ns("--time", arg, &p->time_ns);
	case 'b':
		return parse_budget(arg, &p->budget);
	case OPT_MODE:
		return parse_mode(p, arg);
	case OPT_RATE:
		return parse_pps("--rate", arg, &p->pps);
	case OPT_LIMIT:
		return parse_limit(p, arg);
	case OPT_MEMORY:
		return parse_bytes("--memory", arg, &p->max_bytes);
	case OPT_LINES:
		return parse_count("--lines", arg, EPF_LINES_MAX, &p->nr_lines);
	case OPT_LINES_PER_KEY:
		return parse_count("--lines-per-key", arg, EPF_PARTS_MAX, &p->lines_per_key);
	case OPT_BITS_PER_KEY:
		return parse_count("--bits-per-key", arg, EPF_PARTS_MAX * EPF_PART_BITS_MAX,
				   &p->bits_per_key);
	}
	return false; /* next_option() has printed why */
}

static void geometry_failed(const struct epf_plan_request *p, enum epf_plan_fault fault)
{
	if (fault == EPF_PLAN_PARTIAL)
		fail("an explicit geometry takes all of --lines, "
		     "--lines-per-key and --bits-per-key");
	else if (fault == EPF_PLAN_LINES_MEMORY)
		fail("--lines %llu take %s, which is above --memory", p->nr_lines,
		     fmt_bytes(p->nr_lines * EPF_LINE_BYTES).s);
	else
		fail("no such geometry: --lines-per-key is 1, 2 or 4; --lines and "
		     "--bits-per-key are multiples of it; --lines is %llu..%llu, "
		     "at most %llu for each line of a key; a key has 1..%u bits in "
		     "each of its lines",
		     EPF_LINES_MIN, EPF_LINES_MAX, EPF_PART_LINES_MAX, EPF_PART_BITS_MAX);
}

static void size_failed(const struct epf_plan_request *p, const struct epf_planned *plan,
			enum epf_plan_fault fault, int err)
{
	if (fault == EPF_PLAN_FULL)
		fail("%s cannot hold %.4g keys at %s, the best is %s: raise "
		     "--memory or --budget",
		     fmt_bytes(p->max_bytes).s, plan->keys, fmt_rate(plan->budget).s,
		     fmt_rate(plan->fpr).s);
	else if (fault == EPF_PLAN_TOO_MANY)
		fail("%.4g keys at %s need more than the %s a filter may have", plan->keys,
		     fmt_rate(plan->budget).s, fmt_bytes(EPF_LINES_MAX * EPF_LINE_BYTES).s);
	else
		fail_errno(-err, "sizing the filter: %m");
}

static void kind_failed(const struct epf_plan_request *p, const struct epf_planned *plan,
			enum epf_plan_fault fault)
{
	const char *kind = epf_kind_name(p->kind);

	if (fault == EPF_PLAN_KIND_GEOMETRY)
		fail("--lines, --lines-per-key and --bits-per-key go with "
		     "--kind lanes only");
	else if (fault == EPF_PLAN_KIND_TIME)
		fail("--kind %s has a window of time: give --time DURATION and --rate "
		     "PPS, not --window",
		     kind);
	else if (fault == EPF_PLAN_KIND_RANGE)
		fail("out of range for --kind %s: --budget must be %s to 0.5, and the "
		     "least --slack depends on the kind",
		     kind, p->kind == EPF_KIND_ELASTIC ? "1e-5" : "1e-9");
	else if (fault == EPF_PLAN_KIND_SHAPE)
		fail("no filter of --kind %s has this shape: 'epfctl plan -j --kind %s' prints one",
		     kind, kind);
	else if (fault == EPF_PLAN_KIND_SLACK)
		fail("--kind %s:... is a shape, which leaves nothing to size: leave --slack out",
		     kind);
	else if (fault == EPF_PLAN_KIND_MEMORY)
		fail("--kind %s takes %s, which is above --memory", kind, fmt_bytes(plan->bytes).s);
	else
		fail("--kind %s cannot hold %.4g keys at %s%s: 'epfctl plan "
		     "--compare' shows which kinds can",
		     kind, plan->keys, fmt_rate(plan->budget).s,
		     p->slack ? " with that --slack" : "");
}

static void window_failed(const struct epf_plan_request *p, enum epf_plan_fault fault)
{
	if (fault == EPF_PLAN_NO_WINDOW)
		fail("no window given: use --window COUNT, --time DURATION, or both");
	else if (fault == EPF_PLAN_TWO_WINDOWS)
		fail("--window and --time together need --mode either or "
		     "--mode both");
	else if (fault == EPF_PLAN_MODE)
		fail("--mode %s does not go with %s alone", mode_name(p->mode),
		     p->window ? "--window" : "--time");
	else if (p->kind)
		fail("--kind %s needs --rate PPS to be sized", epf_kind_name(p->kind));
	else
		fail("a window of time needs --rate PPS to be sized, or an "
		     "explicit geometry");
}

static void plan_failed(const struct epf_plan_request *p, const struct epf_planned *plan,
			enum epf_plan_fault fault, int err)
{
	switch (fault) {
	case EPF_PLAN_NO_WINDOW:
	case EPF_PLAN_TWO_WINDOWS:
	case EPF_PLAN_MODE:
	case EPF_PLAN_NO_RATE:
		window_failed(p, fault);
		break;
	case EPF_PLAN_PARTIAL:
	case EPF_PLAN_LINES_MEMORY:
	case EPF_PLAN_GEOMETRY:
		geometry_failed(p, fault);
		break;
	case EPF_PLAN_BUDGET_RANGE:
		fail("--budget %s is out of range: 1e-9 to 0.5", fmt_rate(plan->budget).s);
		break;
	case EPF_PLAN_LINES_PER_KEY:
		fail("--lines-per-key %llu: it is 1, 2 or 4", p->lines_per_key);
		break;
	case EPF_PLAN_MEMORY_LEAST:
		fail("--memory %s is too small: the smallest filter takes %s",
		     fmt_bytes(p->max_bytes).s, fmt_bytes(EPF_LINES_MIN * EPF_LINE_BYTES).s);
		break;
	case EPF_PLAN_SLACK:
		fail("--kind lanes keeps keys a seventh of the window longer, which is "
		     "above --slack: 'epfctl plan --compare' shows other kinds");
		break;
	case EPF_PLAN_LIMIT:
		fail("--limit %s is below the budget of %s", fmt_rate(plan->limit).s,
		     fmt_rate(plan->budget).s);
		break;
	case EPF_PLAN_FULL:
	case EPF_PLAN_TOO_MANY:
	case EPF_PLAN_SIZING:
		size_failed(p, plan, fault, err);
		break;
	default:
		kind_failed(p, plan, fault);
	}
}

bool plan_geometry(const struct epf_plan_request *p, struct epf_planned *plan)
{
	enum epf_plan_fault fault;
	int err = epf_plan(p, plan, &fault);

	if (!fault)
		return true;
	plan_failed(p, plan, fault, err);
	return false;
}

/* Aligned epochs are longer, so they hold more keys. */
bool plan_aligned(struct epf_plan_request *p, struct epf_planned *plan)
{
	struct epf_window window = { 0 };

	if (p->kind || p->window || epf_window_init(&window, EPF_MODE_TIME, 0, 0, p->time_ns)) {
		fail("--align needs a window of --time alone, and --kind lanes");
		return false;
	}
	p->pps *= (double)epf_align_pitch(window.epoch_ns) / (double)window.epoch_ns;
	return plan_geometry(p, plan);
}
