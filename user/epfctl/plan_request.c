// SPDX-License-Identifier: GPL-2.0
/* Options of plan and create: from what the user asks of a filter to its parameters. */
#include "cmd.h"

#include <errno.h>
#include <string.h>

#include "epf/window.h"

#define BUDGET_DEFAULT 1e-4
#define BUDGET_LEAST 1e-9
#define BUDGET_MOST 0.5
#define LIMIT_FACTOR 2 /* budget to limit */

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

static bool parse_mode(struct plan_request *p, const char *arg)
{
	for (p->mode = 0; p->mode <= EPF_MODE_MAX; p->mode++)
		if (!strcmp(arg, mode_name(p->mode))) {
			p->has_mode = true;
			return true;
		}
	fail("--mode '%s' is none of count, time, either, both", arg);
	return false;
}

static bool parse_limit(struct plan_request *p, const char *arg)
{
	if (strcmp(arg, "never"))
		return parse_rate("--limit", arg, &p->limit);
	p->limit = 1;
	return true;
}

bool plan_option(struct plan_request *p, int opt, const char *arg)
{
	switch (opt) {
	case 'W':
		return parse_count("--window", arg, EPF_INSERTS_MAX,
				   &p->window);
	case 'T':
		return parse_ns("--time", arg, &p->time_ns);
	case 'b':
		return parse_rate("--budget", arg, &p->budget);
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
		return parse_count("--lines-per-key", arg, EPF_PARTS_MAX,
				   &p->lines_per_key);
	case OPT_BITS_PER_KEY:
		return parse_count("--bits-per-key", arg,
				   EPF_PARTS_MAX * EPF_PART_BITS_MAX,
				   &p->bits_per_key);
	}
	return false; /* next_option() has printed why */
}

/* The mode that --window and --time mean. Return: false: an error is printed. */
static bool derive_mode(const struct plan_request *p, __u32 *mode)
{
	if (!p->window && !p->time_ns) {
		fail("no window given: use --window COUNT, --time DURATION, or both");
		return false;
	}
	if (p->window && p->time_ns) {
		*mode = p->mode;
		if (p->has_mode && *mode >= EPF_MODE_EITHER)
			return true;
		fail("--window and --time together need --mode either or "
		     "--mode both");
		return false;
	}
	*mode = p->window ? EPF_MODE_COUNT : EPF_MODE_TIME;
	if (!p->has_mode || p->mode == *mode)
		return true;
	fail("--mode %s does not go with %s alone", mode_name(p->mode),
	     p->window ? "--window" : "--time");
	return false;
}

/* Distinct keys that a window holds at most; 0: unknown. */
static double keys_of(const struct plan_request *p, __u32 mode)
{
	double by_time = p->pps * (double)p->time_ns / (double)NS_PER_SEC;
	double by_count = (double)p->window;

	if (mode == EPF_MODE_COUNT || mode == EPF_MODE_EITHER)
		return by_count;
	if (!p->pps)
		return 0;
	if (by_time < 1)
		by_time = 1;
	return mode == EPF_MODE_BOTH && by_count > by_time ? by_count : by_time;
}

static bool plan_explicit(const struct plan_request *p, struct planned *plan)
{
	struct epf_params *params = &plan->params;
	struct epf_geom g;

	if (!p->nr_lines || !p->lines_per_key || !p->bits_per_key) {
		fail("an explicit geometry takes all of --lines, "
		     "--lines-per-key and --bits-per-key");
		return false;
	}
	if (p->max_bytes && p->nr_lines * EPF_LINE_BYTES > p->max_bytes) {
		fail("--lines %llu take %s, which is above --memory",
		     p->nr_lines, fmt_bytes(p->nr_lines * EPF_LINE_BYTES).s);
		return false;
	}
	if (epf_geom_init(&g, p->nr_lines, (__u32)p->lines_per_key,
			  (__u32)p->bits_per_key)) {
		fail("no such geometry: --lines-per-key is 1, 2 or 4; --lines and "
		     "--bits-per-key are multiples of it; --lines is %llu..%llu, "
		     "at most %llu for each line of a key; a key has 1..%u bits in "
		     "each of its lines", EPF_LINES_MIN, EPF_LINES_MAX,
		     EPF_PART_LINES_MAX, EPF_PART_BITS_MAX);
		return false;
	}
	params->nr_lines = p->nr_lines;
	params->lines_per_key = (__u16)p->lines_per_key;
	params->bits_per_key = (__u16)p->bits_per_key;
	if (plan->keys)
		plan->fpr = epf_size_fpr(p->nr_lines, params->lines_per_key,
					 params->bits_per_key,
					 plan->keys / EPF_LIVE_EPOCHS);
	return true;
}

static bool size_failed(int err, const struct plan_request *p,
			const struct planned *plan, double budget,
			const struct epf_size *size)
{
	if (err == -ENOSPC)
		fail("%s cannot hold %.4g keys at %s, the best is %s: raise "
		     "--memory or --budget",
		     fmt_bytes(p->max_bytes).s, plan->keys, fmt_rate(budget).s,
		     fmt_rate(size->fpr).s);
	else if (err == -E2BIG)
		fail("%.4g keys at %s need more than the %s a filter may have",
		     plan->keys, fmt_rate(budget).s,
		     fmt_bytes(EPF_LINES_MAX * EPF_LINE_BYTES).s);
	else
		fail("sizing the filter: %s", strerror(-err));
	return false;
}

/* Are the options in range? If not, the error names the one that is not. */
static bool can_be_sized(const struct plan_request *p, double budget)
{
	if (budget < BUDGET_LEAST || budget > BUDGET_MOST)
		fail("--budget %s is out of range: 1e-9 to 0.5",
		     fmt_rate(budget).s);
	else if (p->lines_per_key == 3)
		fail("--lines-per-key 3: it is 1, 2 or 4");
	else if (p->max_bytes && p->max_bytes < EPF_LINES_MIN * EPF_LINE_BYTES)
		fail("--memory %s is too small: the smallest filter takes %s",
		     fmt_bytes(p->max_bytes).s,
		     fmt_bytes(EPF_LINES_MIN * EPF_LINE_BYTES).s);
	else
		return true;
	return false;
}

static bool plan_sized(const struct plan_request *p, struct planned *plan,
		       double budget)
{
	struct epf_size_req req = {
		.keys_per_window = plan->keys,
		.budget = budget,
		.max_bytes = p->max_bytes,
		.lines_per_key = (unsigned int)p->lines_per_key,
	};
	struct epf_size size = { 0 };
	int err;

	if (!plan->keys) {
		fail("a window of time needs --rate PPS to be sized, or an "
		     "explicit geometry");
		return false;
	}
	if (!can_be_sized(p, budget))
		return false;
	err = epf_size(&req, &size);
	if (err)
		return size_failed(err, p, plan, budget, &size);
	plan->params.nr_lines = size.nr_lines;
	plan->params.lines_per_key = (__u16)size.lines_per_key;
	plan->params.bits_per_key = (__u16)size.bits_per_key;
	plan->fpr = size.fpr;
	return true;
}

static bool plan_lanes(const struct plan_request *p, struct planned *plan,
		       double budget, bool explicit)
{
	if (explicit ? !plan_explicit(p, plan) : !plan_sized(p, plan, budget))
		return false;
	plan->bytes = plan->params.nr_lines * EPF_LINE_BYTES;
	plan->epochs = EPF_LIVE_EPOCHS;
	plan->slack = 1.0 / EPF_LIVE_EPOCHS;
	if (!p->slack || p->slack >= plan->slack)
		return true;
	fail("--kind lanes keeps keys a seventh of the window longer, which is "
	     "above --slack: 'epfctl plan --compare' shows other kinds");
	return false;
}

bool plan_geometry(const struct plan_request *p, struct planned *plan)
{
	double budget = p->budget ? p->budget : BUDGET_DEFAULT;
	bool explicit = p->nr_lines || p->bits_per_key;
	struct epf_params *params = &plan->params;
	double limit;
	__u32 mode;

	memset(plan, 0, sizeof(*plan));
	if (!derive_mode(p, &mode))
		return false;
	params->mode = (__u8)mode;
	params->window_inserts = p->window;
	params->window_ns = p->time_ns;
	plan->keys = keys_of(p, mode);
	if (p->kind ? !kind_plan(p, plan, budget) :
		      !plan_lanes(p, plan, budget, explicit))
		return false;
	if (explicit && !p->budget && plan->fpr)
		budget = plan->fpr; /* the rate of this geometry */
	limit = p->limit ? p->limit : LIMIT_FACTOR * budget;
	if (limit < budget) {
		fail("--limit %s is below the budget of %s",
		     fmt_rate(limit).s, fmt_rate(budget).s);
		return false;
	}
	params->budget_ppt = rate_to_ppt(budget);
	params->limit_ppt = rate_to_ppt(limit);
	return true;
}
