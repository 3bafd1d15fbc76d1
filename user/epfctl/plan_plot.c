// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* epfctl plan --plot: the memory that each of several errors takes. */
#include "cmd.h"
#include "plot.h"

#include <math.h>

#include "kinds/compare.h"

/* Budgets beside the one that is asked for: two decades to each side, two in a decade. */
#define STEPS 4
#define STEPS_DECADE 2.0

static void print_point(FILE *to, const struct epf_planned *p)
{
	fprintf(to, "%.17g %.17g %llu\n", p->budget, p->fpr, p->bytes);
}

/* A budget that the options do not allow has no point. */
static void print_curve(FILE *to, const struct epf_plan_request *asked,
			const struct epf_planned *plan)
{
	struct epf_plan_request r = *asked;
	struct epf_planned other;
	enum epf_plan_fault fault;
	int i;

	r.limit = 0; /* it may be below other budgets, and takes no memory */
	for (i = -STEPS; i <= STEPS && !interrupted; i++) {
		r.budget = plan->budget * pow(10, i / STEPS_DECADE);
		if (!i)
			print_point(to, plan);
		else if (!epf_plan(&r, &other, &fault))
			print_point(to, &other);
	}
}

/* Of an axis whose tics are round numbers. */
static const char *plan_plot_unit_of(__u64 bytes, double *scale)
{
	static const char *const names[] = { "KiB", "MiB", "GiB", "TiB" };
	size_t i = 0;

	*scale = 1024;
	while (i + 1 < ARRAY_SIZE(names) && (double)bytes >= 1024 * *scale) {
		*scale *= 1024;
		i++;
	}
	return names[i];
}

static void print_script(FILE *to, const struct epf_plan_request *asked,
			 const struct epf_planned *plan)
{
	double scale;
	const char *unit = plan_plot_unit_of(plan->bytes, &scale);

	fprintf(to, "# budget, predicted rate, bytes\n$curve << END\n");
	print_curve(to, asked, plan);
	fprintf(to, "END\n$chosen << END\n");
	print_point(to, plan);
	fprintf(to,
		"END\n"
		"set title '%s: memory for %.6g keys in a window'\n"
		"set xlabel 'predicted false-positive rate at the worst phase'\n"
		"set logscale x\nset xrange [*:*] noextend\nset format x '1e%%T'\n"
		"set ylabel 'memory in %s'\nset yrange [0:*]\n"
		"plot $curve using 2:($3/%.17g) with linespoints lt 1 title 'other budgets', "
		"$chosen using 2:($3/%.17g) with points lt 2 title 'budget %s: %s, predicted %s'\n",
		epf_kind_name(plan->params.kind), plan->keys, unit, scale, scale,
		fmt_rate(plan->budget).s, fmt_bytes(plan->bytes).s, fmt_rate(plan->fpr).s);
}

int plan_plot(const struct epf_plan_request *asked, const struct epf_planned *plan,
	      const char *path)
{
	FILE *script;

	if (asked->nr_lines || asked->has_shape)
		return fail("--plot shows sizes that follow from a budget: leave out --lines, "
			    "--bits-per-key and the shape behind --kind");
	catch_signals();
	script = plot_begin(path);
	if (!script)
		return EXIT_FAIL;
	print_script(script, asked, plan);
	return plot_file(script, path);
}
