// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* epfctl plan --compare: every kind of filter, sized for the same promise. */
#include "cmd.h"

#include <errno.h>

#include "kinds/compare.h"

/* clang-format off */
const char compare_help[] =
"      --compare           print all kinds of filters, each sized for the same\n"
"                          promise: memory, bits a key, lines of 64 bytes that an\n"
"                          insertion touches, lines that a test touches of an\n"
"                          absent and of a present key, error, how long keys stay\n"
"                          after the window\n";
/* clang-format on */

static const char *unable(int err)
{
	return err == -EINVAL ? "does not have such a filter" :
	       err == -ENOMEM ? "not enough memory to compute it" :
				"cannot keep the promise";
}

static json_t *compared_json(const struct epf_compared *c, double keys)
{
	if (c->err)
		return json_pack("{ss ss}", "kind", c->kind, "error", unable(c->err));
	return json_pack("{ss sI sf sf sf s{sf sf sf} ss}", "kind", c->kind, "memory_bytes",
			 (json_int_t)c->bytes, "memory_bits_per_key", 8.0 * (double)c->bytes / keys,
			 "predicted_fpr", c->fpr, "slack", c->slack, "lines", "insert",
			 c->lines_insert, "absent", c->lines_absent, "present", c->lines_present,
			 "promise", c->promise);
}

static void print_compared(const struct epf_compared *c, double keys)
{
	if (c->err) {
		printf("%-8s %s\n", c->kind, unable(c->err));
		return;
	}
	printf("%-8s %10s %7.4g  %7.3g %7.3g %7.3g  %8s  %5.1f%%\n", c->kind, fmt_bytes(c->bytes).s,
	       8.0 * (double)c->bytes / keys, c->lines_insert, c->lines_absent, c->lines_present,
	       fmt_rate(c->fpr).s, 100 * c->slack);
}

static void compare_print_text(const struct epf_compared *rows, double keys)
{
	int i;

	printf("%-8s %10s %7s  %7s %7s %7s  %8s  %6s\n", "kind", "memory", "bits", "insert",
	       "absent", "present", "error", "stale");
	for (i = 0; i < EPF_COMPARE_KINDS; i++)
		print_compared(&rows[i], keys);
	printf("\n%-8s %s\n", "kind", "promise");
	for (i = 0; i < EPF_COMPARE_KINDS; i++)
		if (!rows[i].err)
			print_wrapped(9, "%-8s %s", rows[i].kind, rows[i].promise);
}

static void compare_print_json(const struct epf_compared *rows, double keys)
{
	json_t *all = json_array();
	int i;

	for (i = 0; i < EPF_COMPARE_KINDS; i++)
		json_array_append_new(all, compared_json(&rows[i], keys));
	out_json(all);
}

static bool comparable(const struct epf_plan_request *p)
{
	if (!p->kind && !p->nr_lines && !p->lines_per_key && !p->max_bytes)
		return true;
	fail("--compare sizes each kind by itself: leave out --kind, --lines, "
	     "--lines-per-key and --memory");
	return false;
}

int compare(const struct epf_plan_request *p, const struct epf_planned *plan)
{
	struct epf_compared rows[EPF_COMPARE_KINDS];
	struct epf_compare_req req = {
		.keys_per_window = plan->keys,
		.budget = (double)plan->params.budget_ppt / EPF_RATE_ONE,
		.slack = p->slack,
	};

	if (!comparable(p))
		return EXIT_FAIL;
	epf_compare(&req, rows);
	if (out_mode == OUT_TEXT)
		compare_print_text(rows, plan->keys);
	else
		compare_print_json(rows, plan->keys);
	return EXIT_YES;
}
