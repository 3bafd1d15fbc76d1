// SPDX-License-Identifier: GPL-2.0
/* epfctl plan: the size of a filter, and what it will promise. */
#include "cmd.h"

#include "epf/window.h"

enum { OPT_COMPARE = OPT_PROMISE_END, OPT_SLACK };

static const struct option longs[] = {
	PROMISE_LONGS,
	{ "compare", no_argument, NULL, OPT_COMPARE },
	{ "slack", required_argument, NULL, OPT_SLACK },
	{ 0 },
};

/* How long a key is kept: at least the window, at most eight whole epochs. */
struct kept {
	__u64 min_inserts, max_inserts;
	__u64 min_ns, max_ns;
};

static struct kept kept_by(const struct epf_params *p)
{
	struct epf_window w = { 0 }; /* stays so where no plan has them */

	epf_window_init(&w, p->mode, p->refresh, p->window_inserts,
			p->window_ns);
	return (struct kept){
		.min_inserts = p->window_inserts,
		.max_inserts = EPF_LANES * w.epoch_inserts,
		.min_ns = p->window_ns,
		.max_ns = EPF_LANES * w.epoch_ns,
	};
}

static void print_json(const struct planned *plan, const struct kept *kept)
{
	json_t *o = params_json(&plan->params);
	__u64 bytes = plan->params.nr_lines * EPF_LINE_BYTES;

	json_object_del(o, "name");
	json_object_del(o, "hash");
	json_object_del(o, "refresh");
	json_object_set_new(o, "memory_bytes", json_integer((json_int_t)bytes));
	if (plan->keys) {
		json_object_set_new(o, "keys", json_real(plan->keys));
		json_object_set_new(o, "memory_bits_per_key",
				    json_real(8.0 * (double)bytes / plan->keys));
		json_object_set_new(o, "predicted_fpr", json_real(plan->fpr));
	}
	if (kept->min_inserts)
		json_object_set_new(o, "kept_inserts", json_pack("{sI sI}",
			"min", (json_int_t)kept->min_inserts,
			"max", (json_int_t)kept->max_inserts));
	if (kept->min_ns)
		json_object_set_new(o, "kept_ns", json_pack("{sI sI}",
			"min", (json_int_t)kept->min_ns,
			"max", (json_int_t)kept->max_ns));
	out_json(o);
}

static void print_text(const struct planned *plan, const struct kept *kept)
{
	__u64 bytes = plan->params.nr_lines * EPF_LINE_BYTES;

	params_print(&plan->params);
	printf("  %-12s %s\n", "memory", fmt_bytes(bytes).s);
	if (plan->keys)
		printf("  %-12s %.6g in a window, %.4g bits of memory each\n"
		       "  %-12s %s at the worst phase\n",
		       "keys", plan->keys, 8.0 * (double)bytes / plan->keys,
		       "predicted", fmt_rate(plan->fpr).s);
	if (kept->min_inserts)
		printf("  %-12s at least %llu, at most %llu insertions\n",
		       "kept", kept->min_inserts, kept->max_inserts);
	if (kept->min_ns)
		printf("  %-12s at least %s, at most %s\n", "kept",
		       fmt_ns(kept->min_ns).s, fmt_ns(kept->max_ns).s);
}

static bool option(struct promise *p, struct comparison *c, int opt,
		   const char *arg)
{
	switch (opt) {
	case OPT_COMPARE:
		return c->wanted = true;
	case OPT_SLACK:
		return parse_rate("--slack", arg, &c->slack);
	}
	return promise_option(p, opt, arg);
}

int cmd_plan(int argc, char **argv)
{
	static char help[2048];
	const struct spec spec = {
		.usage = "plan (--window COUNT | --time DURATION --rate PPS) "
			 "[--compare [--slack SHARE]] [options]",
		.help = help,
		.shorts = PROMISE_SHORTS,
		.longs = longs,
	};
	struct comparison comparison = { 0 };
	struct promise p = { 0 };
	struct planned plan;
	struct kept kept;
	int opt;

	snprintf(help, sizeof(help), "%s%s", promise_help, compare_help);
	while ((opt = next_option(argc, argv, &spec)) >= 0)
		if (!option(&p, &comparison, opt, optarg))
			return EXIT_FAIL;
	if (!operands(argc, argv, 0, 0, &spec) || !promise_plan(&p, &plan))
		return EXIT_FAIL;
	if (comparison.wanted || comparison.slack)
		return compare(&p, &plan, &comparison);
	kept = kept_by(&plan.params);
	if (out_mode == OUT_TEXT)
		print_text(&plan, &kept);
	else
		print_json(&plan, &kept);
	return EXIT_YES;
}
