// SPDX-License-Identifier: GPL-2.0
/* epfctl plan: compute the size of a filter, and what it will promise. */
#include "cmd.h"
#include "plot.h"

#include <math.h>

#include "epf/window.h"

enum { OPT_COMPARE = OPT_PROMISE_END, OPT_PLOT };

static const struct option longs[] = {
	PROMISE_LONGS,
	KIND_LONGS,
	{ "compare", no_argument, NULL, OPT_COMPARE },
	{ "plot", required_argument, NULL, OPT_PLOT },
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

static void print_json(const struct epf_planned *plan, const struct kept *kept)
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
	out_json(o);
}

static void print_text(const struct epf_planned *plan, const struct kept *kept)
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

int cmd_plan(int argc, char **argv)
{
	static char help[4096];
	const struct spec spec = {
		.usage = "plan (--window COUNT | --time DURATION --rate PPS) "
			 "[--compare | --plot FILE] [options]",
		.help = help,
		.shorts = PROMISE_SHORTS,
		.longs = longs,
	};
	const char *plot = NULL;
	bool comparing = false;
	struct epf_plan_request p = { 0 }, first;
	struct epf_planned plan;
	struct kept kept;
	int opt;

	snprintf(help, sizeof(help), "%s%s%s%s", plan_help, kind_help, compare_help, plot_help);
	while ((opt = next_option(argc, argv, &spec)) >= 0) {
		if (opt == OPT_COMPARE)
			comparing = true;
		else if (opt == OPT_PLOT)
			plot = optarg;
		else if (!kind_option(&p, opt, optarg))
			return EXIT_FAIL;
	}
	first = p;
	if (comparing)
		first.slack = 0; /* compare() checks it for each kind */
	if (!operands(argc, argv, 0, 0, &spec) || (plot && !plot_named(plot)))
		return EXIT_FAIL;
	if (comparing && plot)
		return fail("--plot shows one kind: leave out --compare");
	if (!plan_geometry(&first, &plan))
		return EXIT_FAIL;
	if (comparing)
		return compare(&p, &plan);
	if (plot && plan_plot(&p, &plan, plot))
		return EXIT_FAIL;
	pace_warn(&p, &plan.params);
	kept = kept_by(&plan);
	if (out_mode == OUT_TEXT)
		print_text(&plan, &kept);
	else
		print_json(&plan, &kept);
	return EXIT_YES;
}
