// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* epfctl plan: compute the size of a filter, and what it will promise. */
#include "cmd.h"
#include "plot.h"

#include <math.h>

#include "epf/window.h"

enum { OPT_COMPARE = OPT_PROMISE_END, OPT_PLOT, OPT_CLUSTER };

static const struct option longs[] = {
	PROMISE_LONGS,
	KIND_LONGS,
	{ "compare", no_argument, NULL, OPT_COMPARE },
	{ "plot", required_argument, NULL, OPT_PLOT },
	{ "cluster", required_argument, NULL, OPT_CLUSTER },
	{ 0 },
};

static const char plot_help[] =
	"      --plot FILE         draw memory against error, by gnuplot, for this budget\n"
	"                          and others around it: FILE.svg or FILE.png\n";

/* How long a key is kept: at least the window; at most as long as all epochs that count
 * last when each of them is complete.
 */
struct kept {
	__u64 min_inserts, max_inserts;
	__u64 min_ns, max_ns;
};

static struct kept kept_by(const struct epf_planned *plan)
{
	__u64 epochs = (__u64)round(plan->epochs * (1 + plan->slack));
	const struct epf_params *p = &plan->params;
	struct epf_window w = { 0 }; /* stays 0 for a boundary that the plan lacks */

	epf_window_init_epochs(&w, p->mode, p->refresh, p->window_inserts, p->window_ns,
			       plan->epochs);
	return (struct kept){
		.min_inserts = p->window_inserts,
		.max_inserts = epochs * w.epoch_inserts,
		.min_ns = p->window_ns,
		.max_ns = epochs * w.epoch_ns,
	};
}

/* @more: a member to add, or NULL */
static void plan_print_json(const struct epf_planned *plan, const struct kept *kept, json_t *more)
{
	json_t *o = params_json(&plan->params, &plan->shape);
	__u64 bytes = plan->bytes;

	json_object_del(o, "name");
	json_object_del(o, "hash");
	json_object_del(o, "refresh");
	json_object_set_new(o, "memory_bytes", json_integer((json_int_t)bytes));
	pace_json(o, &plan->params);
	if (plan->keys) {
		json_object_set_new(o, "keys", json_real(plan->keys));
		json_object_set_new(o, "memory_bits_per_key",
				    json_real(8.0 * (double)bytes / plan->keys));
		json_object_set_new(o, "predicted_fpr", json_real(plan->fpr));
	}
	if (kept->min_inserts)
		json_object_set_new(o, "kept_inserts",
				    json_pack("{sI sI}", "min", (json_int_t)kept->min_inserts,
					      "max", (json_int_t)kept->max_inserts));
	if (kept->min_ns)
		json_object_set_new(o, "kept_ns",
				    json_pack("{sI sI}", "min", (json_int_t)kept->min_ns, "max",
					      (json_int_t)kept->max_ns));
	if (more)
		json_object_set_new(o, "cluster", more);
	out_json(o);
}

static void plan_print_text(const struct epf_planned *plan, const struct kept *kept)
{
	__u64 bytes = plan->bytes;

	params_print(&plan->params, &plan->shape, plan->epochs);
	printf("  %-12s %s\n", "memory", fmt_bytes(bytes).s);
	if (plan->keys)
		printf("  %-12s %.6g in a window, %.4g bits of memory each\n"
		       "  %-12s %s at the worst phase\n",
		       "keys", plan->keys, 8.0 * (double)bytes / plan->keys, "predicted",
		       fmt_rate(plan->fpr).s);
	if (kept->min_inserts)
		printf("  %-12s at least %llu, at most %llu insertions\n", "kept",
		       kept->min_inserts, kept->max_inserts);
	if (kept->min_ns)
		printf("  %-12s at least %s, at most %s\n", "kept", fmt_ns(kept->min_ns).s,
		       fmt_ns(kept->max_ns).s);
}

/**
 * struct asked - the command line
 * @p: window and error
 * @plot: file of --plot, or NULL
 * @comparing: --compare
 * @hosts: of --cluster, or 0
 */
struct asked {
	struct epf_plan_request p;
	const char *plot;
	bool comparing;
	__u64 hosts;
};

static bool plan_cmd_option(struct asked *a, int opt, const char *arg)
{
	if (opt == OPT_COMPARE)
		a->comparing = true;
	else if (opt == OPT_PLOT)
		a->plot = arg;
	else if (opt == OPT_CLUSTER)
		return parse_count("--cluster", arg, PLAN_CLUSTER_HOSTS_MAX, &a->hosts);
	else
		return kind_option(&a->p, opt, arg);
	return true;
}

/* Do the options go together? */
static bool together(const struct asked *a)
{
	if (a->plot && !plot_named(a->plot))
		return false;
	if (a->comparing && a->plot)
		fail("--plot shows one kind: leave out --compare");
	else if (a->hosts && (a->comparing || a->plot))
		fail("--cluster sizes one kind: leave out --compare and --plot");
	else
		return true;
	return false;
}

static int plan_print_plan(const struct asked *a, const struct epf_planned *plan)
{
	struct cluster_plan *cluster = NULL;
	struct kept kept = kept_by(plan);

	if (a->hosts && !plan_cluster(&a->p, a->hosts, &cluster))
		return EXIT_FAIL;
	pace_warn(&a->p, &plan->params);
	if (out_mode != OUT_TEXT) {
		plan_print_json(plan, &kept, cluster ? plan_cluster_json(cluster, a->hosts) : NULL);
		return EXIT_YES;
	}
	plan_print_text(plan, &kept);
	if (cluster)
		plan_cluster_print(cluster, a->hosts);
	return EXIT_YES;
}

int cmd_plan(int argc, char **argv)
{
	static char help[4096];
	const struct spec spec = {
		.usage = "plan (--window COUNT | --time DURATION --rate PPS) "
			 "[--compare | --plot FILE | --cluster HOSTS] [options]",
		.help = help,
		.shorts = PROMISE_SHORTS,
		.longs = longs,
	};
	struct asked a = { 0 };
	struct epf_plan_request first;
	struct epf_planned plan;
	int opt;

	snprintf(help, sizeof(help), "%s%s%s%s%s", plan_help, kind_help, compare_help, plot_help,
		 plan_cluster_help);
	while ((opt = next_option(argc, argv, &spec)) >= 0)
		if (!plan_cmd_option(&a, opt, optarg))
			return EXIT_FAIL;
	first = a.p;
	if (a.comparing)
		first.slack = 0; /* compare() checks it for each kind */
	if (!operands(argc, argv, 0, 0, &spec) || !together(&a) || !plan_geometry(&first, &plan))
		return EXIT_FAIL;
	if (a.comparing)
		return compare(&a.p, &plan);
	if (a.plot && plan_plot(&a.p, &plan, a.plot))
		return EXIT_FAIL;
	plan.params.hash = EPF_HASH_NH; /* the default of create */
	return plan_print_plan(&a, &plan);
}
