// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * How fast the epochs of a filter can end. An epoch of lanes cannot end before the grace
 * period that began seven epochs earlier is over. So a window must last that long.
 */
#include "cmd.h"

#include <math.h>

#define GRACE_NS 30000000ULL /* in a busy kernel; an idle one takes 10 ms */

/* Insertions per second at which a window of insertions lasts GRACE_NS. 0: insertions
 * do not end the epochs, or not alone.
 */
static double max_rate(const struct epf_params *p)
{
	if (p->kind != EPF_KIND_LANES || p->mode == EPF_MODE_TIME || p->mode == EPF_MODE_BOTH)
		return 0;
	return (double)p->window_inserts * (double)NS_PER_SEC / GRACE_NS;
}

void pace_print(const struct epf_params *p)
{
	if (max_rate(p))
		printf("  %-12s up to %.3g insertions/s without failing open\n", "pace",
		       max_rate(p));
}

void pace_json(json_t *o, const struct epf_params *p)
{
	if (max_rate(p))
		json_object_set_new(o, "max_rate", json_integer((json_int_t)max_rate(p)));
}

void pace_warn(const struct epf_plan_request *p, const struct epf_params *params)
{
	__u64 ns = params->mode == EPF_MODE_COUNT ? 0 : params->window_ns;
	double least = ceil(p->pps * GRACE_NS / (double)NS_PER_SEC);

	if (max_rate(params) && p->pps > max_rate(params))
		warn("%.4g insertions/s fill this window in less than a grace "
		     "period of the kernel (10 to 30 ms), and it then fails "
		     "open: use --window %.0f or more",
		     p->pps, least);
	else if (params->kind == EPF_KIND_LANES && ns && ns < GRACE_NS &&
		 params->mode != EPF_MODE_BOTH)
		warn("--time is shorter than a grace period of the kernel (10 "
		     "to 30 ms): epochs end late, and it then fails open: use "
		     "--time 30ms or more");
}
